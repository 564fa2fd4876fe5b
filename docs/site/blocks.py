"""Blocks of code on the site."""

from __future__ import annotations

import re
from typing import Final

_SHELL: Final = re.compile(r"(?m)^( *)```console\n((?:(?!\1```|\1\$ ).*\n)*)\1```$")


def with_shells(text: str) -> str:
    """Return a page whose blocks of commands without a prompt are blocks of bash.

    Otherwise such lines are coloured as if a command had printed them.
    """
    return _SHELL.sub(r"\1```bash\n\2\1```", text)
