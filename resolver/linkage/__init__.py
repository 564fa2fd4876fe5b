"""What binaries need, compared with what a target and the wheels of a lock have."""
