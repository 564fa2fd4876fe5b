"""Frozen types that all other packages share.

Nothing here does I/O, reads a clock or reads the environment.
"""
