"""The script that removes what a lock does not have from an environment."""

from __future__ import annotations

from typing import Final

from resolver.report.template import render

# The file in an environment that names what is being removed, so that a killed run is finished.
JOURNAL: Final = ".ascend-lock-removed"


def removal_script() -> str:
    """Return the text of the script, which is for every environment."""
    return render("remove.sh.j2", journal=JOURNAL)
