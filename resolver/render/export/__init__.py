"""A lock in forms that other tools read. Made on demand; nothing of it stands beside the lock."""
