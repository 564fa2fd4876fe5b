"""The templates of shell scripts and of the Containerfile.

Each value that a template is given becomes one word of bash, unless a filter marks it. (Pages of
HTML have their own way to be safe: see `render_page`.)

A word (see `word`) does nothing between double quotes, in a comment or in a here-document either,
so a template without a filter is safe, if not always beautiful. Only between single quotes no value
may be; a test looks for that.
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
    """Text that goes into a script as it is, since a filter or its maker says so."""

    __slots__ = ()


@lru_cache(1)
def environment() -> Environment:
    """Return the environment of templates whose output is bash."""
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
    """Return the text that a template of bash makes of these values."""
    return environment().get_template(name).render(values)


def render_page(name: str, **values: object) -> str:
    """Return the text that a template of HTML makes of these values, which are text in it."""
    html = environment().overlay(autoescape=True, finalize=None)
    return html.get_template(name).render(values)


def _choose_language() -> Raw:
    """Return commands that choose the texts of the locale's language.

    They set `at` to the position of these texts among the texts of all languages.
    """
    cases = []
    for position, code in enumerate(LANGUAGES):
        if position > 0:
            letters = "".join(f"[{letter}{letter.upper()}]" for letter in code[:2])
            cases.append(f" {letters}*[uU][tT][fF]*8*) at={position} ;;")
    locale = "${LC_ALL:-${LC_MESSAGES:-${LANG-}}}"
    return Raw(f"at=0; case {locale} in{''.join(cases)} esac")


def _message(code: str, **values: object) -> Raw:
    """Return a text of a script in each language, as words between double quotes."""
    return Raw(" ".join(_quoted(code, language, values) for language in LANGUAGES))


def _failure(code: str, hint_of: str = "", **values: object) -> Raw:
    """Return a text and its hint in each language, as words between double quotes.

    There is a line for each language. `hint_of` is the code of a text whose hint is used instead.
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
    """Return a text between double quotes, where only values that are marked as shell act."""
    template = _IN_QUOTES.sub(r"\\\1", templates("script.", language)[code])
    texts: dict[str, Raw] = {}
    for key, value in values.items():
        texts[key] = value if isinstance(value, Raw) else _text(str(value))
    return f'"{template.format(**texts)}"'


def _finalize(value: object) -> str:
    # An `if` without `else` is undefined, and empty; what is not defined at all raises here.
    return str(value) if isinstance(value, Raw | Undefined) else word(str(value))


def word(text: str) -> Raw:
    """Return the text as one word of bash, which nothing in it can end or act in.

    That holds wherever the word is, except between single quotes.
    """
    if text.isprintable() and _ACTIVE.isdisjoint(text):
        return _sh(text)
    return Raw("$'" + "".join(map(_escaped, text)) + "'")


def _escaped(char: str) -> str:
    if char.isprintable() and char not in _ACTIVE:
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogatepass"))


def _sh(text: str) -> Raw:
    """Return a word that stands by itself, as people quote it."""
    return Raw(shlex.quote(text))


def _words(texts: Iterable[str], separator: str = " ") -> Raw:
    """Return words that stand by themselves, with something between them."""
    return Raw(separator.join(map(_sh, texts)))


def _env(variables: Mapping[str, str]) -> Raw:
    """Return assignments before a command of a build, each with a space after it.

    Raises ValueError for a variable that no build may be given.
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
    """Return files of the lock's folder, as words."""
    if isinstance(paths, str):
        paths = [paths]
    return Raw(" ".join(f'"$here/{word(path)}"' for path in paths))


def _line(text: str) -> Raw:
    """Return the end of a comment's line."""
    return Raw(one_line(text))


def _text(text: str) -> Raw:
    """Return part of a text between double quotes."""
    return Raw(_IN_QUOTES.sub(r"\\\1", one_line(text)))
