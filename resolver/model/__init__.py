"""Frozen types that every other part shares. No I/O, no clock, no environment."""
