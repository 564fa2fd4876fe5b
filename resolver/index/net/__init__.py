"""The network: requests, and pages and files that are asked for."""
