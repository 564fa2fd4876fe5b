"""Keep pages and contents of files on the disk, between runs. No module here uses the network."""
