"""`activate.sh`: sets up a shell to run what install.sh installed."""

from __future__ import annotations

import re
import textwrap

from resolver.model.lock import Lock, LockedExport, LockedFact
from resolver.report.template import Raw, environment
from resolver.report.text import one_line

FILE = "activate.sh"
_WIDTH = 100
_BUILD = re.compile(r"\.B\d+\Z", re.IGNORECASE)


def activation(lock: Lock) -> str:
    """The text of activate.sh."""
    cann = _BUILD.sub("", lock.target.system.get("cann", ""))
    exports = [_export(lock, row) for row in lock.export]
    return environment().get_template("activate.sh.j2").render(lock=lock, cann=cann, exports=exports)


def _export(lock: Lock, row: LockedExport) -> dict[str, object]:
    return {
        "name": row.name,
        "value": row.value,
        "optional": row.optional,
        "why": [line for fact in lock.facts_of(row) for line in _comment(fact, optional=row.optional)],
    }


def _comment(fact: LockedFact, *, optional: bool) -> list[Raw]:
    """A fact's reason and source, in lines that can follow a `#`."""
    text = one_line(f"{'optional: ' if optional else ''}{fact.reason} ({fact.id}: {fact.source})")
    lines = textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return list(map(Raw, lines))
