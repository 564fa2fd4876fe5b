"""Parse what an index sends into types: pages, metadata, wheels, archives and file names.

No module here uses the network.
"""
