"""What is kept on disk: the cache, and what it has of pages and files. Asks no network."""
