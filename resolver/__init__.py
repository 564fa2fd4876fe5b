"""Locks software stacks for Ascend NPUs from facts, indexes and a target."""

__version__ = "0.1.0"
