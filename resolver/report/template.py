"""Render the templates of shell scripts, of the Containerfile and of pages.

In templates for bash, each value becomes one word of bash, unless a filter marks it. Such a word
does nothing between double quotes, in a comment or in a here-document either (see `word`). So a
template without filters is safe, though perhaps not beautiful. No value may be between single
quotes; a test looks for that. Pages of HTML are escaped in another way, see `render_page`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from functools import lru_cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Undefined

from resolver.i18n import LANGUAGES, templates
from resolver.model import patterns
from resolver.model.text import Language
from resolver.phrase import phrase
from resolver.report.document import one_line

_ACTIVE = frozenset("\"'$`\\")
_IN_QUOTES = re.compile(r"([\"$`\\])")


class Raw(str):
    """Text that is written to a script unchanged, because a filter or its author marked it."""

    __slots__ = ()


@lru_cache(1)
def environment() -> Environment:
    """Return the Jinja environment for templates whose output is bash."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader("resolver.report"), PackageLoader("resolver.ascend")]),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  the output is bash, and Containerfiles
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals |= {
        "languages": LANGUAGES,
        "choose_language": _choose_language(),
        "message": _message,
        "failure": _failure,
        "each": lambda shell: Raw(" ".join([shell] * len(LANGUAGES))),
        "shell": Raw,
        "var": lambda name: Raw(f"${{{name}}}"),
    }
    made.filters |= {"env": _env, "here": _here, "line": _line, "sh": _sh, "words": _words}
    return made


def render(name: str, **values: object) -> str:
    """Return the text that a template for bash makes of these values."""
    return environment().get_template(name).render(values)


def render_page(name: str, **values: object) -> str:
    """Return the HTML that a template makes of these values. The values are escaped."""
    html = environment().overlay(autoescape=True, finalize=None)
    return html.get_template(name).render(values)


def _choose_language() -> Raw:
    """Return shell commands that choose the language of messages by the locale.

    They set `at` to the position of the language among all languages.
    """
    cases = []
    for position, code in enumerate(LANGUAGES):
        if position > 0:
            letters = "".join(f"[{letter}{letter.upper()}]" for letter in code[:2])
            cases.append(f" {letters}*[uU][tT][fF]*8*) at={position} ;;")
    locale = "${LC_ALL:-${LC_MESSAGES:-${LANG-}}}"
    return Raw(f"at=0; case {locale} in{''.join(cases)} esac")


def _message(code: str, **values: object) -> Raw:
    """Return a message of a script in each language, as words between double quotes."""
    return Raw(" ".join(_quoted(code, language, values) for language in LANGUAGES))


def _failure(code: str, hint_of: str = "", **values: object) -> Raw:
    """Return a message and its hint in each language, as words between double quotes.

    There is a line for each language. `hint_of` is the code of another message whose hint is used.
    Without a hint there is an empty word.
    """
    hint_code = f"{hint_of or code}-hint"
    has_hint = hint_code in templates("script.", LANGUAGES[0])
    lines = []
    for language in LANGUAGES:
        hint = _quoted(hint_code, language, values) if has_hint else '""'
        lines.append(f"{_quoted(code, language, values)} {hint}")
    return Raw(" \\\n        ".join(lines))


def _quoted(code: str, language: Language, values: Mapping[str, object]) -> str:
    """Return a message between double quotes. Only values that are marked as shell act there."""
    template = _IN_QUOTES.sub(r"\\\1", templates("script.", language)[code])
    texts: dict[str, Raw] = {}
    for key, value in values.items():
        texts[key] = value if isinstance(value, Raw) else _text(str(value))
    return f'"{template.format(**texts)}"'


def _finalize(value: object) -> str:
    """Return the text of a value in a template, as a word of bash unless it is marked."""
    # An `if` without `else` is undefined, and empty. A name that is not defined at all raises.
    return str(value) if isinstance(value, Raw | Undefined) else word(str(value))


def word(text: str) -> Raw:
    """Return a text as one word of bash, which no character in it can end.

    That holds wherever the word is written, except between single quotes.
    """
    if text.isprintable() and _ACTIVE.isdisjoint(text):
        return _sh(text)
    return Raw("$'" + "".join(map(_escaped, text)) + "'")


def _escaped(char: str) -> str:
    """Return a character in the form that `$'…'` has in bash."""
    if char.isprintable() and char not in _ACTIVE:
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogatepass"))


def _sh(text: str) -> Raw:
    """Return a text as a word that stands alone, quoted as people quote it."""
    return Raw(shlex.quote(text))


def _words(texts: Iterable[str], separator: str = " ") -> Raw:
    """Return texts as words that stand alone, with a separator between them."""
    return Raw(separator.join(map(_sh, texts)))


def _env(variables: Mapping[str, str]) -> Raw:
    """Return variables as assignments before a command, each with a space after it.

    Raise ValueError for a variable that builds must not get.
    """
    for name in variables:
        if not patterns.BUILD_VARIABLE.matches(name):
            raise ValueError(
                phrase(
                    "`{name}` is not {description}",
                    name=name,
                    description=patterns.BUILD_VARIABLE.description,
                )
            )
    return Raw("".join(f"{key}={_sh(variables[key])} " for key in sorted(variables)))


def _here(paths: str | Iterable[str]) -> Raw:
    """Return paths in the lock's folder as words."""
    if isinstance(paths, str):
        paths = [paths]
    return Raw(" ".join(f'"$here/{word(path)}"' for path in paths))


def _line(text: str) -> Raw:
    """Return a text as the rest of a comment's line."""
    return Raw(one_line(text))


def _text(text: str) -> Raw:
    """Return a text as a part of a text between double quotes."""
    return Raw(_IN_QUOTES.sub(r"\\\1", one_line(text)))
