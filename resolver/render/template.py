"""The templates of scripts, and how they are filled in."""

from __future__ import annotations

import shlex
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from resolver.render.text import one_line


@lru_cache(1)
def environment() -> Environment:
    """Templates whose output is bash. What is not ours passes through `sh` or `line`."""
    made = Environment(
        loader=PackageLoader("resolver.render"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  the output is bash, and Containerfiles
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["sh"] = lambda value: shlex.quote(str(value))
    made.filters["line"] = lambda value: one_line(str(value))
    return made
