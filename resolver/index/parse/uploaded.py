"""When a file was uploaded: RFC 3339 on a page (PEP 700), in whole seconds in a snapshot."""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache

_RFC3339 = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))?(?P<zone>[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


@lru_cache(1 << 16)
def moment(uploaded: str) -> dt.datetime | None:
    """An upload time as a page gives it, in UTC; None if it is not RFC 3339, or UTC has no such year."""
    match = _RFC3339.fullmatch(uploaded)
    if match is None:
        return None
    # Python 3.10 reads microseconds and nothing longer
    fraction = f".{match['fraction'][:6]:0<6}" if match["fraction"] else ""
    zone = match["zone"] if match["zone"] not in (None, "", "Z", "z") else "+00:00"
    try:
        return dt.datetime.fromisoformat(f"{match['moment']}{fraction}{zone}").astimezone(dt.timezone.utc)
    except (ValueError, OverflowError):
        return None


def in_whole_seconds(uploaded: str) -> str:
    """An upload time in UTC and whole seconds, `2025-11-20T09:59:00Z`; empty if it is not one."""
    found = moment(uploaded)
    return "" if found is None else moment_text(int(found.timestamp()))


def moment_text(seconds: int) -> str:
    """The text of a moment that is given in seconds since 1970."""
    return dt.datetime.fromtimestamp(seconds, dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
