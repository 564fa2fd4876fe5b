"""Find the language of a run: from `--lang`, or else from the locale, or else English."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Final

from resolver.i18n import LANGUAGES
from resolver.model.text import Language

# The option that names the language.
OPTION: Final = "--lang"


def run_language() -> Language:
    """Return the language of this run.

    `--lang` decides; it is read from sys.argv, since help and errors need it before click parses
    the options. Without it the locale decides, but a stdout that cannot encode Chinese gets
    English.
    """
    named = _named(sys.argv[1:])
    if named is not None:
        return named
    language = _of_locale()
    try:
        "中".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return LANGUAGES[0]
    return language


def _named(arguments: Sequence[str]) -> Language | None:
    """Return the language that the last `--lang` names; None if none names a known language."""
    named = None
    for position, argument in enumerate(arguments):
        if argument == "--":
            break
        option, equals, value = argument.partition("=")
        if option != OPTION:
            continue
        language = value if equals else "".join(arguments[position + 1 : position + 2])
        named = language_of(language) or named
    return named


def language_of(text: str) -> Language | None:
    """Return the language that a text names, such as `zh` or `zh-CN`; None if it names none."""
    language = re.split("[-_.]", text.lower(), maxsplit=1)[0]
    return language if language in LANGUAGES else None


def _of_locale() -> Language:
    """Return the language of the locale; English if it is not supported."""
    variables = os.environ
    locale = variables.get("LC_ALL") or variables.get("LC_MESSAGES") or variables.get("LANG")
    language = (locale or "")[:2].lower()
    return language if language in LANGUAGES else LANGUAGES[0]
