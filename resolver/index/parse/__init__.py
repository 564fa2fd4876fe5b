"""What an index sends, from bytes to types: pages, metadata, archives, names of files.

Asks no network.
"""
