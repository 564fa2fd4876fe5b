"""The network: requests, pages and files that are asked for, and the process beside that helps with it."""
