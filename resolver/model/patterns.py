"""Patterns of texts that TOML files, locks, options and file names have in common.

Every reader of such a text uses the pattern from here. A stack is therefore refused if its lock
could not be read, and every other stack has a readable lock.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from resolver.phrase import Phrase, phrase

# Classes and characters that match more than ASCII, such as a full-width digit. `int` reads that,
# and a shell does not.
_NOT_ASCII: Final = re.compile(r"\\[bdswBDSW]|[^\x20-\x7e]")


class Pattern:
    """A regular expression for a whole text, with a description and examples for messages.

    Raises ValueError for an expression that could match characters beyond ASCII.
    """

    def __init__(self, expression: str, description: Phrase, *examples: str) -> None:
        if _NOT_ASCII.search(expression):
            raise ValueError(
                phrase(
                    "`{expression}` matches characters that are not ASCII: write [0-9] for a digit",
                    expression=expression,
                )
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
    phrase(
        "a name of at most 80 letters, digits, `.`, `_` and `-`, beginning with a letter or digit"
    ),
)
PYTHON: Final = Pattern(
    r"3\.[0-9]{1,2}(\.[0-9]{1,3})?", phrase("one version of Python"), '"3.11"', '"3.11.4"'
)
PYTHON_LINE: Final = Pattern(
    r"3\.[0-9]{1,2}", phrase("a version of Python without a patch number"), '"3.11"'
)
GLIBC: Final = Pattern(r"2\.[0-9]{1,3}", phrase("a version of glibc"), '"2.28"')
IMAGE: Final = Pattern(
    r"[a-z0-9][A-Za-z0-9._/:@-]{0,254}", phrase("the name of an image with its host and tag")
)
USE: Final = Pattern(
    r"[a-z0-9][a-z0-9-]{0,39}", phrase("a name of lower case letters, digits and `-`"), '"serve"'
)
PROJECT: Final = Pattern(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?",
    phrase("the name of a project in its normal form"),
    '"huggingface-hub"',
)
COMPONENT: Final = Pattern(
    r"[a-z][a-z0-9]{0,39}",
    phrase("the name of a component: lower case letters and digits"),
    '"driver"',
)
VALUE_NAME: Final = Pattern(
    r"[A-Za-z0-9_-]{1,40}", phrase("a name of at most 40 letters, digits, `_` and `-`"), '"A2"'
)
VALUE: Final = Pattern(r"[A-Za-z0-9.!+_-]{1,60}", phrase("a value of a component"), '"8.5.0"')
VERSION: Final = Pattern(r"[A-Za-z0-9.!+_-]{1,200}", phrase("a version"), '"2.8.0"')
VARIANT: Final = Pattern(r"[0-9a-z_.]{1,100}", phrase("the label of a wheel variant"), '"a3"')
PROPERTY: Final = Pattern(
    r"[a-z0-9_]{1,100} :: [a-z0-9_]{1,100} :: [a-z0-9_.]{1,100}",
    phrase("a property of a wheel variant"),
    '"vendor :: chip :: a3"',
)
LABEL: Final = Pattern(
    r"[a-z0-9]+(\.[a-z0-9]+)*",
    phrase("a local version label of lower case letters and digits, with dots between them"),
    '"empty"',
)
MODULE: Final = Pattern(
    r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*",
    phrase("the name of a module"),
    '"torch"',
    '"ray.llm"',
)
_ANY_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]*"
# What a program may be told about Python itself.
_OF_PYTHON: Final = (
    "DONTWRITEBYTECODE|FAULTHANDLER|HASHSEED|IOENCODING|MALLOC|OPTIMIZE|UNBUFFERED|UTF8"
)
# Variables that no fact and no stack may set. They decide which programs, modules and libraries
# run, which settings apply, which hosts are asked and trusted, or where a user's files are. One
# list for whoever reads or writes such a name.
_REFUSED_VARIABLES: Final = (
    # bash: startup files, functions, options and how it finds and splits words
    "BASH[A-Za-z0-9_]*",
    "CDPATH",
    "ENV",
    "EUID",
    "GLOBIGNORE",
    "IFS",
    "POSIXLY_CORRECT",
    "PPID",
    "PROMPT_COMMAND",
    "PS[0-4]",
    "SHELLOPTS",
    "UID",
    # where programs and a user's settings are; toolkits and the environment extend PATH
    "CONDA_PREFIX",
    "HOME",
    "PATH",
    "VIRTUAL_ENV",
    "XDG_CONFIG_[A-Z]+",
    # our own scripts
    "ASCEND_LOCK_[A-Za-z0-9_]*",
    "_?al_[A-Za-z0-9_]*",
    "_ascend_lock_[A-Za-z0-9_]*",
    # pip, uv, git and distutils
    "_?PIP_[A-Za-z0-9_]*",
    "UV_[A-Za-z0-9_]*",
    "GIT_[A-Za-z0-9_]*",
    "SSH_[A-Za-z0-9_]*",
    "DIST_EXTRA_CONFIG",
    # Python: which modules it finds and starts with
    "_+PY[A-Za-z0-9_]*",
    rf"PYTHON(?!(?:{_OF_PYTHON})\Z)[A-Za-z0-9_]*",
    # the dynamic loader and the C library
    r"LD_(?!PRELOAD\Z)[A-Za-z0-9_]*",
    "GCONV_PATH",
    "LOCPATH",
    # other interpreters: which modules they start with
    "NODE_[A-Za-z0-9_]*",
    "PERL5[A-Za-z0-9_]*",
    "RUBY[A-Za-z0-9_]*",
    # which hosts are asked, with which certificates and passwords
    "[A-Za-z0-9_]*_(?:PROXY|proxy)",
    "CURL_[A-Za-z0-9_]*",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "RESOLV_[A-Za-z0-9_]*",
    "[A-Za-z0-9_]*CA_(?:BUNDLE|CERTS)",
    "NETRC",
    "OPENSSL_[A-Za-z0-9_]*",
    "SSL[A-Za-z0-9_]*",
)
# Those that a build may not be given either. Its Python gets none but install.sh's own.
_REFUSED_IN_BUILDS: Final = (
    *_REFUSED_VARIABLES,
    "PYTHON[A-Za-z0-9_]*",
    "LD_[A-Za-z0-9_]*",
    # the date that files in a wheel get
    "SOURCE_DATE_EPOCH",
)


def _variable_but(refused: Sequence[str]) -> str:
    """Return the expression for the name of a variable that none of these expressions matches."""
    return rf"(?!(?:{'|'.join(refused)})\Z){_ANY_VARIABLE}"


VARIABLE_NAME: Final = Pattern(_ANY_VARIABLE, phrase("the name of an environment variable"))
# A variable for what is installed, of a fact or of a stack.
VARIABLE: Final = Pattern(
    _variable_but(_REFUSED_VARIABLES), phrase("an environment variable that a fact may set")
)
# A variable for a build, of a fact.
BUILD_VARIABLE: Final = Pattern(
    _variable_but(_REFUSED_IN_BUILDS),
    phrase("an environment variable that a fact may set for a build"),
)
SHA256: Final = Pattern(r"[0-9a-f]{64}", phrase("a sha256: 64 hexadecimal digits, in lower case"))
COMMIT: Final = Pattern(
    r"[0-9a-f]{40}", phrase("a full commit hash: 40 hexadecimal digits, in lower case")
)
