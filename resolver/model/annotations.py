"""What a value in a TOML file must be like, as annotations of the fields that take it.

A function among the annotations reads the text: it returns what the field has, and raises ValueError, or InputError
where it has a hint. The texts that it raises hold no credentials.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Final

from resolver.errors import InputError

NOT_EMPTY: Final = "not empty"  # of a list or table
ALONE: Final = "one or a list"  # one element need not be in a list
UNWRITTEN: Final = "no key of the table"
SAME_TABLE: Final = "its keys are those of the table around it"

Where = Annotated[str, "file:line of the table"]
Variables = tuple[tuple[str, str], ...]  # environment variables, sorted by name
RequirementLine = Annotated[str, "a requirement on a project (PEP 508), in its normal form"]
Cutoff = Annotated[datetime, "a moment, or a day that counts to its end"]


def form(pattern: str, description: str, *examples: str) -> Callable[[str], str]:
    """A reader of texts that have this form as a whole."""
    expression = re.compile(pattern)

    def read(text: str) -> str:
        if not expression.fullmatch(text):
            hint = f"write for example {' or '.join(examples)}" if examples else ""
            raise InputError(f"`{text}` is not {description}", hint=hint)
        return text

    return read


def printable(text: str) -> str:
    """A text that scripts contain on one line."""
    if not text.isprintable():
        raise InputError(
            "a text has characters that do not print", hint="write it without line breaks, tabs and control characters"
        )
    return text


def some(text: str) -> str:
    """Any text but an empty one."""
    if not text:
        raise ValueError("it is empty")
    return text


def sentence(text: str) -> str:
    """Words for people, with single spaces between them."""
    if not text.strip():
        raise InputError("the text is empty", hint="say it in a sentence")
    return " ".join(text.split())


Text = Annotated[str, some]
Sentence = Annotated[str, sentence]
