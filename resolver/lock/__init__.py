"""From a resolution to a lock: files with hashes, stages, what changed. No rendering here."""
