"""The templates of scripts, and their environment.

Compiled templates are stored beside their sources, like Python's bytecode, since compiling that of install.sh takes
longer than checking a lock. `python -m resolver.render.template` compiles all of them.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket

from resolver.render.text import one_line

_FOLDER: Final = Path(__file__).parent / "templates" / "__pycache__"


@lru_cache(1)
def environment() -> Environment:
    """Templates whose output is bash. Text from elsewhere must pass through `sh` or `line`."""
    made = Environment(
        loader=PackageLoader("resolver.render"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  the output is bash, and Containerfiles
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_Compiled(writes=not sys.dont_write_bytecode),
    )
    made.filters["sh"] = lambda value: shlex.quote(str(value))
    made.filters["here"] = lambda path: f'"$here/{path}"'  # a file in the lock's folder, whose name needs no quoting
    made.filters["line"] = lambda value: one_line(str(value))
    return made


class _Compiled(BytecodeCache):
    """Bytecode, valid only for the same text, the same version of this file, this Python and this Jinja."""

    def __init__(self, *, writes: bool) -> None:
        self._writes = writes

    def get_cache_key(self, name: str, filename: str | None = None) -> str:  # noqa: ARG002
        """Overrides Jinja's, which is of the path as well, and fails if that is not text in the locale's encoding."""
        return sha256(name.encode()).hexdigest()

    def get_source_checksum(self, source: str) -> str:
        """Overrides Jinja's, which does not cover the options."""
        return sha256(Path(__file__).read_bytes() + source.encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load stored bytecode; unreadable files count as absent."""
        with suppress(Exception), _place(bucket).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Store bytecode for the next run, if the folder is writable."""
        with suppress(OSError):
            if self._writes:
                _FOLDER.mkdir(exist_ok=True)
                new = _FOLDER / f"{bucket.key}.{os.getpid()}"
                new.write_bytes(bucket.bytecode_to_string())
                new.replace(_place(bucket))


def _place(bucket: Bucket) -> Path:
    return _FOLDER / f"{bucket.key}.{sys.implementation.cache_tag}"


def _compile() -> None:
    """Compile all of them, regardless of Python's own setting for bytecode."""
    own = environment().overlay(bytecode_cache=_Compiled(writes=True))
    for name in own.list_templates(filter_func=lambda name: name.endswith(".j2") and not name.endswith(".html.j2")):
        own.get_template(name)


if __name__ == "__main__":
    _compile()
