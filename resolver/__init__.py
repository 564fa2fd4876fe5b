"""Lock software stacks for Ascend NPUs: versions and files from facts, indexes and a target."""

__version__ = "0.1.0"
