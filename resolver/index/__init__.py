"""The contents of indexes, behind one protocol.

Only this package touches the network and the cache.
"""
