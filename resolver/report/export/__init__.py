"""A lock in formats of other tools. Made on demand, and not stored beside the lock."""
