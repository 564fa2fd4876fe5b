"""Patterns for names, versions and hashes in TOML files, locks, options and file names.

All readers and writers of such a text use the same pattern. So a stack with a text that a lock
cannot have is refused when it is read, and the lock of every other stack can be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from resolver.phrase import Phrase, phrase

# Parts of an expression that can match characters beyond ASCII: `\d` matches a full-width digit,
# which `int` can read and a shell cannot.
_NOT_ASCII: Final = re.compile(r"\\[bdswBDSW]|[^\x20-\x7e]")


class Pattern:
    """A regular expression for a whole text, with a description and examples for error messages.

    Raises ValueError for an expression that can match characters beyond ASCII.
    """

    def __init__(self, expression: str, description: Phrase, *examples: str) -> None:
        if _NOT_ASCII.search(expression):
            raise ValueError(
                phrase(
                    "`{expression}` matches characters that are not ASCII: write [0-9] for a digit",
                    expression=expression,
                )
            )
        # msgspec searches for a pattern anywhere in a text, so the expression is anchored.
        self.whole = rf"\A(?:{expression})\Z"
        self.description = description
        self.examples = examples
        self._compiled = re.compile(self.whole)

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches the expression."""
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
# The variables of Python that a fact or a stack may set, without the prefix `PYTHON`.
_OF_PYTHON: Final = (
    "DONTWRITEBYTECODE|FAULTHANDLER|HASHSEED|IOENCODING|MALLOC|OPTIMIZE|UNBUFFERED|UTF8"
)
# Expressions for the environment variables that no fact and no stack may set. These variables
# decide which programs, modules and libraries run, which settings apply, which hosts are asked and
# trusted, or where a user's files are.
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
    # the scripts of this program: install.sh, activate.sh and verify.py
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
# Expressions for the variables that may not be set for a build. The Python of a build gets only the
# variables `PYTHON…` and `LD_…` that install.sh sets itself.
_REFUSED_IN_BUILDS: Final = (
    *_REFUSED_VARIABLES,
    "PYTHON[A-Za-z0-9_]*",
    "LD_[A-Za-z0-9_]*",
    # the date that files in a wheel get
    "SOURCE_DATE_EPOCH",
)


def _variable_but(refused: Sequence[str]) -> str:
    """Return an expression for all names of variables except the refused ones.

    `refused` has expressions for the refused names.
    """
    return rf"(?!(?:{'|'.join(refused)})\Z){_ANY_VARIABLE}"


VARIABLE_NAME: Final = Pattern(_ANY_VARIABLE, phrase("the name of an environment variable"))
# A variable that a fact or a stack sets when the installed programs run.
VARIABLE: Final = Pattern(
    _variable_but(_REFUSED_VARIABLES), phrase("an environment variable that a fact may set")
)
# A variable that a fact sets for a build.
BUILD_VARIABLE: Final = Pattern(
    _variable_but(_REFUSED_IN_BUILDS),
    phrase("an environment variable that a fact may set for a build"),
)
SHA256: Final = Pattern(r"[0-9a-f]{64}", phrase("a sha256: 64 hexadecimal digits, in lower case"))
COMMIT: Final = Pattern(
    r"[0-9a-f]{40}", phrase("a full commit hash: 40 hexadecimal digits, in lower case")
)
