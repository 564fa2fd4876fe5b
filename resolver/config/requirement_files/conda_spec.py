"""Reader of conda's package match specifications, such as `conda-forge::numpy=1.26`.

The forms are those of conda's documentation, "Package search and install specifications". Which
project a package is, if any, is decided by `config/conda_names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from packaging.specifiers import InvalidSpecifier

from resolver.config.requirement_files.file_requirements import (
    CondaSpec,
    FileLine,
    FileRequirements,
)
from resolver.model import text as texts

# The most characters of a specification.
_LONGEST: Final = 1_000
_CHANNEL: Final = re.compile(r"([\w./-]{1,80})::(.*)")
# The folder of a platform in a channel.
_SUBFOLDER: Final = re.compile(r"/(?:linux-[a-z0-9_]+|noarch)$")
_NAME: Final = re.compile(r"([A-Za-z0-9_][\w.-]{0,99})(|[\s=<>!~].*)")
# `[version='>=1.2', build=py311_0]` at the end.
_BRACKETS: Final = re.compile(r"([^\[\]]*)\[([^\[\]]*)\]")
_PAIR: Final = re.compile(r"""\s*([a-z_0-9]+)\s*=\s*(?:'([^']*)'|"([^"]*)"|([^\s,'"]*))\s*""")
_OPERATOR: Final = re.compile(r"(===?|[!<>~]=|[<>=])?\s*(\S+)")
_BUILD: Final = re.compile(r"[\w.*|-]+")
# The build of what pip installed, as `conda list --export` writes it.
_FROM_PIP: Final = "pypi_0"
# A file of a package, as `conda list --explicit` names it: NAME-VERSION-BUILD.
_FILE: Final = re.compile(r"(.+)-([^-]+)-([^-]+)\.(?:conda|tar\.bz2)")
# The channels whose packages have the names that their maintainers agreed on. In any other channel
# a package may be somebody's own project or patch.
_PUBLIC_CHANNELS: Final = frozenset(
    (
        "",
        "anaconda",
        "conda-forge",
        "defaults",
        "huggingface",
        "main",
        "nvidia",
        "pkgs/main",
        "pytorch",
        "r",
    )
)
# A version with so many numbers is a whole one, and not the beginning of others.
_WHOLE: Final = 3
# The least number of parts, between slashes, of an address that names a channel.
_PARTS_OF_FILE: Final = 4
# How many cells a row of the table of `conda list` has, without a channel and with one.
_CELLS: Final = (3, 4)
_PYTHON: Final = re.compile(r"==(3\.[0-9]{1,2})\b")
# A line at the beginning of what `conda list --export` and `--explicit` print, and of the table of
# `conda list`.
_HEAD: Final = re.compile(r"# \$ conda create --name <env> --file <this file>\s*")
_TABLE_HEAD: Final = re.compile(r"# Name +Version +Build( +Channel)?\s*")
_HEAD_LINES: Final = 5
_EXPLICIT: Final = "@EXPLICIT"


def is_conda_list(lines: Sequence[str]) -> bool:
    """Return whether lines are what `conda list` prints, alone or with --export or --explicit."""
    return any(_HEAD.fullmatch(line) or _TABLE_HEAD.fullmatch(line) for line in lines[:_HEAD_LINES])


def take_conda(text: str, where: str, result: FileRequirements) -> bool:
    """Add the package in a specification to a result; return False if it cannot be read.

    Python is not a package of the result, but gives the version of Python.
    """
    if text == _EXPLICIT:
        return True
    if len(text) > _LONGEST:
        return False
    spec = _file_spec(text, where) if "://" in text else conda_spec(text, where)
    if spec is None:
        return False
    if spec.name == "python":
        python = _PYTHON.match(spec.specifier or "")
        if python is not None:
            result.python = result.python or python[1]
        elif spec.specifier:
            result.admit(spec.specifier)
    elif spec.name != "pip":
        result.conda.append(spec)
    return True


def conda_spec(text: str, where: str) -> CondaSpec | None:
    """Return a match specification; None if it cannot be read.

    `where` is its place. A version after a single `=` matches all that begin with it: `=1.26`
    means `==1.26.*`. It is taken as the version itself if it has three numbers, as in what
    `conda env export` writes, if a build follows, or if it is a pre-release or the like.
    """
    channel, remainder = "", text.strip()
    if with_channel := _CHANNEL.fullmatch(remainder):
        channel, remainder = with_channel.groups()
    pairs: dict[str, str] | None = {}
    if with_brackets := _BRACKETS.fullmatch(remainder):
        remainder = with_brackets[1].strip()
        pairs = _pairs(with_brackets[2])
    name = _NAME.fullmatch(remainder)
    if name is None or pairs is None:
        return None
    version, build = _version_and_build(name[2])
    version = pairs.get("version", version)
    build = pairs.get("build", build)
    channel = pairs.get("channel", channel)
    if build and not _BUILD.fullmatch(build):
        return None
    specifier = _specifier(version, has_build=build != "")
    if specifier is None:
        version = ""
    separator = "" if not version or version[0] in "=<>!~" else " "
    return CondaSpec(
        name[1].lower(),
        specifier,
        f"{name[1]}{separator}{version}",
        where,
        is_public=_SUBFOLDER.sub("", channel) in _PUBLIC_CHANNELS,
        is_from_pip=build == _FROM_PIP,
    )


def _file_spec(text: str, where: str) -> CondaSpec | None:
    """Return the specification of the file of a package at an address; None for another text."""
    parts = text.partition("#")[0].split("/")
    name = _FILE.fullmatch(parts[-1])
    if name is None:
        return None
    # The address ends with CHANNEL/PLATFORM/FILE. Without a channel, `/` is none that is public.
    channel = parts[-3] if len(parts) >= _PARTS_OF_FILE else "/"
    return conda_spec(f"{channel or '/'}::{name[1]}=={name[2]}={name[3]}", where)


def _pairs(text: str) -> dict[str, str] | None:
    """Return the key-value pairs in brackets; None if they cannot be read."""
    pairs = {}
    position = 0
    while position < len(text):
        pair = _PAIR.match(text, position)
        if pair is None or (pair.end() < len(text) and text[pair.end()] != ","):
            return None
        pairs[pair[1]] = pair[2] or pair[3] or pair[4] or ""
        position = pair.end() + 1
    return pairs


def _version_and_build(text: str) -> tuple[str, str]:
    """Return the version with its operators, and the build, of what follows a name.

    Both may be empty. They are parted by `=`, or by white space that no comma or operator
    explains.
    """
    words = re.sub(r"\s*(,|\||[=!<>~]+)\s*", r"\1", text.strip()).split()
    if not words:
        return "", ""
    version, *builds = words
    match = re.fullmatch(r"(={0,2}[^=<>!~,|]+)=([^=]+)", version)
    if match is not None and not builds:
        return match[1], match[2]
    return version, " ".join(builds)


def _specifier(version: str, *, has_build: bool) -> str | None:
    """Return the specifier of PEP 440 for the versions of conda; None if there is none.

    `has_build` says that the version is one, as its build follows.
    """
    if version.lstrip("=") in ("", "*"):
        return ""
    clauses = []
    for clause in version.split(","):
        match = _OPERATOR.fullmatch(clause)
        if match is None:
            return None
        translated = _clause(match[1] or "", match[2], has_build=has_build)
        if translated is None:
            return None
        clauses.append(translated)
    specifier = ",".join(clauses)
    try:
        texts.specifier_set(specifier)
    except InvalidSpecifier:  # such as `~=1`, or `1.26b1*`
        return None
    return specifier


def _clause(operator: str, version: str, *, has_build: bool) -> str | None:
    """Return one clause of a specifier, or None."""
    # Conda reads `1.2*` as `1.2.*`.
    number = re.sub(r"\.?\*$", "", version)
    begins = number != version
    parsed = texts.version(number)
    if parsed is None or (begins and operator not in ("", "=", "==", "!=")):
        return None
    if operator == "=" and not begins:
        # PEP 440 has no wildcard after a pre-release, a post-release or a local label.
        has_suffix = parsed.base_version != str(parsed)
        is_whole = has_build or has_suffix or number.count(".") + 1 >= _WHOLE
        return f"=={number}" if is_whole else f"=={number}.*"
    operator = operator if operator not in ("", "=") else "=="
    return f"{operator}{number}.*" if begins else f"{operator}{number}"


def conda_lines(
    lines: Sequence[str],
    numbered: Iterator[tuple[int, str]],
    path: str,
    result: FileRequirements,
) -> None:
    """Add the packages of a list that conda printed to a result.

    `lines` are those of the file, and `numbered` those without comments, with their numbers.
    """
    is_table = any(_TABLE_HEAD.fullmatch(line) for line in lines[:_HEAD_LINES])
    for number, text in numbered:
        where = f"{path}:{number}"
        spec = _cells(text) if is_table else text
        if not take_conda(spec, where, result):
            result.leave_out(FileLine("", where), "import.conda")


def _cells(text: str) -> str:
    """Return the specification in a row of the table of `conda list`; empty if it has none.

    Its cells are name, version, build and channel. Only packages of the channel that is conda's
    default have no channel.
    """
    cells = text.split()
    if len(cells) not in _CELLS:
        return ""
    name, version, build, *channel = cells
    return f"{channel[0] if channel else 'defaults'}::{name}=={version}={build}"
