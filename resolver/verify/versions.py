"""Names and versions of distributions as the lock spells them."""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"""
    v? (?: (?P<epoch>\d+) ! )? (?P<release> \d+ (?: \.\d+ )* )
    (?: [-_.]? (?P<pre> alpha|beta|preview|pre|rc|a|b|c ) [-_.]? (?P<pre_number>\d*) )?
    (?: -(?P<implied>\d+) | [-_.]? (?P<post> post|rev|r ) [-_.]? (?P<post_number>\d*) )?
    (?: [-_.]? (?P<dev>dev) [-_.]? (?P<dev_number>\d*) )?
    (?: \+ (?P<local> [a-z0-9]+ (?: [-_.][a-z0-9]+ )* ) )?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_SPELLINGS = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def canonical_name(name: str) -> str:
    """PEP 503: `Foo.Bar_baz` is `foo-bar-baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def canonical_version(text: str) -> str:
    """PEP 440's normal form, `2024.1.5` of `2024.01.05`; a text that is no version stays as it is."""
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return text
    epoch = int(match["epoch"] or 0)
    version = f"{epoch}!" if epoch else ""
    version += _counted(match["release"], ".")
    if match["pre"]:
        pre = match["pre"].lower()
        version += f"{_SPELLINGS.get(pre, pre)}{int(match['pre_number'] or 0)}"
    if match["implied"] or match["post"]:
        version += f".post{int(match['implied'] or match['post_number'] or 0)}"
    if match["dev"]:
        version += f".dev{int(match['dev_number'] or 0)}"
    if match["local"]:
        version += "+" + _counted(re.sub("[-_]", ".", match["local"].lower()), ".")
    return version


def same_version(one: str, other: str) -> bool:
    """Whether two canonical texts spell one version: `1.0` is `1.0.0`."""
    return one == other or _trimmed(one) == _trimmed(other)


def _trimmed(text: str) -> str:
    match = _VERSION.fullmatch(text)
    if match is None:
        return text
    start, end = match.span("release")
    return text[:start] + re.sub(r"(\.0)+$", "", match["release"]) + text[end:]


def _counted(text: str, mark: str) -> str:
    return mark.join(str(int(part)) if part.isdigit() else part for part in text.split(mark))
