"""Compare what the binaries of wheels need with what a target and the wheels of a lock provide."""
