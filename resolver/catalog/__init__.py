"""What the indexes know, behind one protocol. Only this package touches the network and the cache."""
