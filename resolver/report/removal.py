"""Render the script that removes packages which a lock does not have from an environment."""

from __future__ import annotations

from typing import Final

from resolver.report.template import render

# Tools of an environment, which stay even if the lock does not have them.
KEPT: Final = frozenset({"pip", "setuptools", "wheel", "distribute", "pkg-resources"})
# The file in an environment that lists what is being removed. With it, the next run finishes a run
# that was killed.
JOURNAL: Final = ".ascend-lock-removed"


def removal_script() -> str:
    """Return the text of the script. It is the same for every environment."""
    return render("remove.sh.j2", journal=JOURNAL)
