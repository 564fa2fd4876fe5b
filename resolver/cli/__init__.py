"""The command line: wires I/O together and turns answers into exit statuses."""

from resolver.cli.main import main

__all__ = ["main"]
