"""Patterns of texts that TOML files, locks, options and file names have in common.

Every reader of such a text uses the pattern from here. A stack is therefore refused if its lock
could not be read, and every other stack has a readable lock.
"""

from __future__ import annotations

import re
from typing import Final

# Classes and characters that match more than ASCII, such as a full-width digit. `int` reads that,
# and a shell does not.
_NOT_ASCII: Final = re.compile(r"\\[bdswBDSW]|[^\x20-\x7e]")


class Pattern:
    """A regular expression for a whole text, with a description and examples for messages.

    Raises ValueError for an expression that could match characters beyond ASCII.
    """

    def __init__(self, expression: str, description: str, *examples: str) -> None:
        if _NOT_ASCII.search(expression):
            raise ValueError(
                f"`{expression}` matches characters that are not ASCII: write [0-9] for a digit"
            )
        # For msgspec, which searches for a pattern anywhere in a text.
        self.whole = rf"\A(?:{expression})\Z"
        self.description = description
        self.examples = examples
        self._compiled = re.compile(self.whole)

    def matches(self, text: str) -> bool:
        """Return whether the whole text has this form."""
        return self._compiled.match(text) is not None


NAME: Final = Pattern(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}",
    "a name of at most 80 letters, digits, `.`, `_` and `-`, beginning with a letter or digit",
)
PYTHON: Final = Pattern(
    r"3\.[0-9]{1,2}(\.[0-9]{1,3})?", "one version of Python", '"3.11"', '"3.11.4"'
)
PYTHON_LINE: Final = Pattern(
    r"3\.[0-9]{1,2}", "a version of Python without a patch number", '"3.11"'
)
GLIBC: Final = Pattern(r"2\.[0-9]{1,3}", "a version of glibc", '"2.28"')
IMAGE: Final = Pattern(
    r"[a-z0-9][A-Za-z0-9._/:@-]{0,254}", "the name of an image with its host and tag"
)
USE: Final = Pattern(
    r"[a-z0-9][a-z0-9-]{0,39}", "a name of lower case letters, digits and `-`", '"serve"'
)
PROJECT: Final = Pattern(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", "the name of a project in its normal form", '"torch-npu"'
)
VERSION: Final = Pattern(r"[A-Za-z0-9.!+_-]{1,200}", "a version", '"2.8.0"')
VARIANT: Final = Pattern(r"[0-9a-z_.]{1,100}", "the label of a wheel variant", '"a3"')
PROPERTY: Final = Pattern(
    r"[a-z0-9_]{1,100} :: [a-z0-9_]{1,100} :: [a-z0-9_.]{1,100}",
    "a property of a wheel variant",
    '"ascend :: npu_type :: a3"',
)
LABEL: Final = Pattern(
    r"[a-z0-9]+(\.[a-z0-9]+)*",
    "a local version label of lower case letters and digits, with dots between them",
    '"empty"',
)
MODULE: Final = Pattern(
    r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*",
    "the name of a module",
    '"torch"',
    '"ray.llm"',
)
VARIABLE: Final = Pattern(
    r"[A-Za-z_][A-Za-z0-9_]*", "the name of an environment variable", '"LD_LIBRARY_PATH"'
)
SHA256: Final = Pattern(r"[0-9a-f]{64}", "a sha256: 64 hexadecimal digits, in lower case")
COMMIT: Final = Pattern(r"[0-9a-f]{40}", "a full commit hash: 40 hexadecimal digits, in lower case")
