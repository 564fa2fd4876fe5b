"""What became of a lock and of facts on the indexes since they were written. Changes nothing."""
