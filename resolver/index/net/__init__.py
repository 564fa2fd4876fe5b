"""Request pages and files from the servers of indexes, on an event loop in one thread."""
