"""The command line: wires I/O together and turns answers into exit statuses."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and exit."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing is to be told of an interrupt among the imports
    from resolver.cli.commands import main as run

    run()
