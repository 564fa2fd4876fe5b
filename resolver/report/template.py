"""The templates of shell scripts and of the Containerfile.

What they are given is one word unless a filter marks it.

(Pages of HTML have their own way to be safe: see `render_page`.)

A word (`finalize`) does nothing between double quotes, in a comment or in a here-document either,
so a template without a filter is safe, if not always beautiful. Only between single quotes no value
may be; a test looks for that.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined

from resolver.i18n import LANGUAGES, templates
from resolver.model.text import Language
from resolver.report.document import one_line

_ACTIVE = frozenset("\"'$`\\")
_IN_QUOTES = re.compile(r"([\"$`\\])")


class Raw(str):
    """Text that goes into a script as it is: marked by a filter, or by who made it."""

    __slots__ = ()


@lru_cache(1)
def environment() -> Environment:
    """Templates whose output is bash."""
    made = Environment(
        loader=PackageLoader("resolver.report"),
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
    """The text that a template makes of these values."""
    return environment().get_template(name).render(values)


def render_page(name: str, **values: object) -> str:
    """The same of a page of HTML, in which values are text."""
    return environment().overlay(autoescape=True, finalize=None).get_template(name).render(values)


def _choose_language() -> Raw:
    """Commands that set `at` to where, among those of all languages, the texts of the locale's are."""
    others = "".join(
        f" [{code[0]}{code[0].upper()}][{code[1]}{code[1].upper()}]*[uU][tT][fF]*8*) at={at} ;;"
        for at, code in enumerate(LANGUAGES)
        if at
    )
    return Raw(f"at=0; case ${{LC_ALL:-${{LC_MESSAGES:-${{LANG-}}}}}} in{others} esac")


def _message(code: str, **values: object) -> Raw:
    """A text of a script in each language, as words between double quotes."""
    return Raw(" ".join(_quoted(code, language, values) for language in LANGUAGES))


def _failure(code: str, hint_of: str = "", **values: object) -> Raw:
    """The same, each with the text of its hint, or of another's, or an empty word; a line for each language."""
    hint = f"{hint_of or code}-hint"
    hinted = hint in templates("script.", LANGUAGES[0])
    texts = (
        _quoted(code, language, values)
        + " "
        + (_quoted(hint, language, values) if hinted else '""')
        for language in LANGUAGES
    )
    return Raw(" \\\n        ".join(texts))


def _quoted(code: str, language: Language, values: Mapping[str, object]) -> str:
    """A text between double quotes; of the values only what is marked as shell acts in it."""
    form = _IN_QUOTES.sub(r"\\\1", templates("script.", language)[code])
    texts = {
        key: value if isinstance(value, Raw) else _text(str(value)) for key, value in values.items()
    }
    return f'"{form.format(**texts)}"'


def _finalize(value: object) -> str:
    # an `if` without `else` is undefined, and empty; what is not defined at all raises here
    return str(value) if isinstance(value, Raw | Undefined) else word(str(value))


def word(text: str) -> Raw:
    """The text as one word of bash that nothing in it ends or acts in, wherever it is except between single quotes."""
    if text.isprintable() and _ACTIVE.isdisjoint(text):
        return _sh(text)
    return Raw("$'" + "".join(map(_escaped, text)) + "'")


def _escaped(char: str) -> str:
    if char.isprintable() and char not in _ACTIVE:
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogatepass"))


def _sh(text: str) -> Raw:
    """A word that stands by itself, as people quote it."""
    return Raw(shlex.quote(text))


def _words(texts: Iterable[str], separator: str = " ") -> Raw:
    """Such words with something between them."""
    return Raw(separator.join(map(_sh, texts)))


def _env(variables: Mapping[str, str]) -> Raw:
    """Assignments before a command, each with a space after it."""
    return Raw("".join(f"{key}={_sh(value)} " for key, value in sorted(variables.items())))


def _here(paths: str | Iterable[str]) -> Raw:
    """Files of the lock's folder, as words."""
    return Raw(
        " ".join(f'"$here/{word(path)}"' for path in ([paths] if isinstance(paths, str) else paths))
    )


def _line(text: str) -> Raw:
    """The end of a comment's line."""
    return Raw(one_line(text))


def _text(text: str) -> Raw:
    """Part of a text between double quotes."""
    return Raw(_IN_QUOTES.sub(r"\\\1", one_line(text)))
