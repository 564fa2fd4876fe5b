"""The command line: connects I/O and turns results into exit statuses."""

from __future__ import annotations

import gc
import signal
from typing import Final

__all__ = ["COMMANDS", "main"]

# In the order of --help. Each is the module of this name beside this one, and its `command`.
COMMANDS: Final = (
    "init",
    "import",
    "add",
    "remove",
    "lock",
    "explain",
    "tree",
    "diff",
    "pairs",
    "matrix",
    "check",
    "facts",
    "verify",
    "bundle",
    "export",
    "snapshot",
    "stacks",
    "cache",
)


def main() -> None:
    """Run the command line of this process and exit."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt during the imports ends silently
    gc.disable()  # a short run creates many objects that live to its end, and hardly any garbage
    from resolver.cli.commands import main as run

    run()
