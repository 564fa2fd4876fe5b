"""Run the command line: parse arguments, do the input and output, and return exit statuses.

Each command is a module here, which is imported when the command is called.
"""

from __future__ import annotations

import gc
import signal
from typing import Final

__all__ = ["COMMANDS", "MATRIX_COMMANDS", "main"]

# The module and function of each command, in the order of --help.
COMMANDS: Final = {
    "init": "init.command",
    "import": "import.command",
    "add": "edit.add",
    "remove": "edit.remove",
    "lock": "lock.command",
    "sync": "sync.command",
    "explain": "explain.command",
    "why": "why.command",
    "tree": "tree.command",
    "diff": "diff.command",
    "matrix": "matrix.command",
    "check": "check.command",
    "facts": "facts.command",
    "verify": "verify.command",
    "fleet": "fleet.command",
    "bundle": "bundle.command",
    "export": "export.command",
    "cache": "cache.command",
    "help": "help.command",
}
# The module and function of each command of `matrix`.
MATRIX_COMMANDS: Final = {
    "show": "matrix_show.command",
    "build": "matrix_build.command",
    "diff": "matrix_diff.command",
}


def main() -> None:
    """Run the command line of this process and exit."""
    # An interrupt during the imports ends silently.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # A short run creates many objects that live to its end, and hardly any garbage.
    gc.disable()
    from resolver.cli.commands import main as run

    run()
