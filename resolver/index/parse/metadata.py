"""METADATA, PKG-INFO and pyproject.toml (PEP 518, PEP 621), and requirements that setuptools recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement

from resolver import toml
from resolver.errors import WrongRelease
from resolver.index.parse.distribution import FileRelease
from resolver.index.protocol import Catalog, UnusableFile
from resolver.model import text
from resolver.model.release import Archive, CoreMetadata, File

_END: Final = re.compile(
    rb"\n\r?\n|\r\r"
)  # of a header, apart from the carriage return that ends its last line
_MOST_LINES: Final = 50_000  # of a header, which may contain a license
_SHOWN: Final = 300  # characters of a wrong line
MOST_REQUIREMENTS: Final = 10_000  # the distribution with the most extras has about 1,000
MOST_TEXT: Final = (
    2 << 20
)  # characters of all requirements: parsing them takes a second and ten times the memory
_MOST_EXTRAS: Final = 100  # extras named in a marker, and markers whose extras cannot be determined


class Header(NamedTuple):
    """The fields of a metadata file, the version of its format, and the fields that it declares dynamic."""

    metadata: CoreMetadata
    version: tuple[int, int]
    dynamic: frozenset[str]


def read(content: bytes, release: FileRelease, where: str) -> Header:
    """Read METADATA or PKG-INFO; `where` is its address, for a failure.

    Raises UnusableFile if it is invalid, WrongRelease if it is of another release.
    """
    # The description, which is not needed, may be a megabyte in any encoding.
    end = _END.search(content)
    header = content if end is None else content[: end.start() + 1]
    if header.count(b"\n") > _MOST_LINES:
        raise UnusableFile(
            f"the metadata of {release.filename} has a header of more than {_MOST_LINES} lines"
        )
    from packaging.metadata import (
        parse_email,
    )  # which is slow to import, and not needed if the cache has everything

    try:
        raw, unparsed = parse_email(header)
    except Exception as error:  # an e-mail parser fails in many ways on other input
        raise UnusableFile(
            f"the metadata of {release.filename} cannot be parsed: {error}"
        ) from None
    for field in (
        "name",
        "version",
        "metadata-version",
        "requires-dist",
        "requires-python",
        "provides-extra",
    ):
        if field in unparsed:
            raise UnusableFile(
                f"the metadata of {release.filename} has an unreadable field {field.title()}"
            )
    name, version = raw.get("name", ""), raw.get("version", "")
    if not name or not version:
        raise UnusableFile(
            f"the metadata of {release.filename} has no {'Version' if name else 'Name'}"
        )
    check_release(name, version, release, where)
    form = re.fullmatch(r"([12])\.(\d{1,4})", raw.get("metadata_version", "1.0").strip())
    if form is None:
        raise UnusableFile(
            f"the metadata of {release.filename} has the version {raw['metadata_version']!r}"
        )
    metadata = CoreMetadata(
        name,
        version,
        tuple(" ".join(line.split()) for line in raw.get("requires_dist", ())),
        raw.get("requires_python", "").strip(),
        tuple(raw.get("provides_extra", ())),
    )
    check_texts(metadata, release.filename)
    dynamic = frozenset(field.strip().lower() for field in raw.get("dynamic", ()))
    return Header(metadata, (int(form[1]), int(form[2])), dynamic)


def check_release(name: str, version: str, release: FileRelease, where: str) -> None:
    """Raise WrongRelease unless name and version are those in the file's name."""
    if text.name(name) == release.project and text.version(version) == text.version(
        release.version
    ):
        return
    raise WrongRelease(
        f"The metadata of {release.filename} is for a different release.",
        where=where,
        why=f"It says {name} {version}; expected was {release.project} {release.version}.",
        hint="the file was renamed or its index mixes up files; exclude the release with an `excludes` fact",
    )


def check_texts(metadata: CoreMetadata, filename: str) -> None:
    """Raise UnusableFile if a requirement or Requires-Python is invalid (PEP 508, 440), or there are too many."""
    for what, texts in (
        ("requirements", metadata.requires_dist),
        ("extras", metadata.provides_extra),
    ):
        if len(texts) > MOST_REQUIREMENTS:
            raise UnusableFile(
                f"{filename} has {len(texts)} {what}; more than {MOST_REQUIREMENTS} are not read"
            )
    if (length := sum(map(len, metadata.requires_dist))) > MOST_TEXT:
        raise UnusableFile(
            f"{filename} has requirements of {length} characters; more than {MOST_TEXT} are not read"
        )
    unclear = 0
    for line in metadata.requires_dist:
        extras = text.extras_in_marker(line)
        unclear += extras is None
        if unclear > _MOST_EXTRAS or (extras is not None and len(extras) > _MOST_EXTRAS):
            raise UnusableFile(
                f"{filename} has the requirement `{_brief(line)}`, which is about too many extras"
            )
        try:
            text.requirement(line)
        except InvalidRequirement as error:
            reason = str(error).partition("\n")[0]
            raise UnusableFile(
                f"{filename} has the invalid requirement `{_brief(line)}`: {reason}"
            ) from None
    if metadata.requires_python and text.python_specifiers(metadata.requires_python) is None:
        raise UnusableFile(
            f"{filename} has the invalid Requires-Python `{_brief(metadata.requires_python)}`"
        )


def _brief(line: str) -> str:
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


# pyproject.toml

# The build requirements of a source tree without build-system.requires (PEP 518: setuptools and
# wheel).
LEGACY_BUILD: Final = ("setuptools>=40.8.0", "wheel")

_NEEDED = ("dependencies", "optional-dependencies", "requires-python")


class _BuildSystem(msgspec.Struct):
    requires: list[str] | None = None


class _Project(msgspec.Struct, rename="kebab"):
    name: str
    version: str = ""
    dynamic: list[str] = []
    dependencies: list[str] = []
    optional_dependencies: dict[str, list[str]] = {}
    requires_python: str = ""


def read_pyproject(content: bytes, release: FileRelease) -> Archive:
    """What a pyproject.toml says of its source tree. Raises UnusableFile if it is invalid."""
    try:
        document = toml.loads(content.decode("utf-8-sig"), toml.SOURCE_TREE)
    except (
        ValueError,
        RecursionError,
    ) as error:  # besides tomli's own: bytes that are not text, `int` of 5,000 digits
        raise UnusableFile(f"pyproject.toml in {release.filename} is invalid: {error}") from None
    build = _convert(document, "build-system", _BuildSystem, release)
    build_requires = tuple(build.requires) if build and build.requires is not None else None
    project = _convert(document, "project", _Project, release)
    if project is None:
        return Archive(None, build_requires, "its pyproject.toml has no [project] table")
    if dynamic := [field for field in _NEEDED if field in project.dynamic]:
        return Archive(
            None, build_requires, f"its pyproject.toml calls {' and '.join(dynamic)} dynamic"
        )
    if text.name(project.name) != release.project:
        return Archive(None, build_requires, f"its pyproject.toml is that of {project.name}")
    lines = list(project.dependencies)
    for extra, requirements in project.optional_dependencies.items():
        lines += [_of_extra(line, extra, release) for line in requirements]
    metadata = CoreMetadata(
        project.name,
        project.version or release.version,
        tuple(lines),
        project.requires_python,
        tuple(project.optional_dependencies),
    )
    check_texts(metadata, release.filename)
    return Archive(metadata, build_requires)


def _convert(document: dict[str, Any], table: str, shape: type[Any], release: FileRelease) -> Any:
    if table not in document:
        return None
    try:
        return msgspec.convert(document[table], shape)
    except msgspec.ValidationError as error:
        raise UnusableFile(
            f"[{table}] of pyproject.toml in {release.filename} is invalid: {error}"
        ) from None


def _of_extra(line: str, extra: str, release: FileRelease) -> str:
    """The requirement as in core metadata: with a marker for the extra."""
    try:
        text.requirement(line)
        requirement = Requirement(line)
        marker = f'extra == "{text.name(extra)}"'
        requirement.marker = Marker(
            f"({requirement.marker}) and {marker}" if requirement.marker else marker
        )
    except (InvalidRequirement, ValueError) as error:
        raise UnusableFile(
            f"{release.filename} has the invalid requirement `{line}`: {error}"
        ) from None
    return str(requirement)


# Requirements of a source archive without static metadata, as its maintainers' machine had them:
# requires.txt, which setuptools writes into archives and no standard covers, or a setup.py without
# any. No lock uses them unless a fact repeats them.

# arguments of setup() that add requirements, or may, such as the content of a dictionary
_REQUIRING = re.compile(r"install_requires|extras_require|setup_requires|[(,]\s*\*\*|pbr\b")

# what a setup.py that depends on its machine uses
_MACHINE_CHECKS = re.compile(
    r"\b(?:platform\.(?:machine|system|platform|processor|uname)|sys\.(?:platform|version_info|maxsize)"
    r"|os\.(?:environ|getenv|uname)|torch\.(?:version|cuda|__version__))\b"
)


class InformalRequirements(NamedTuple):
    """PEP 508 lines as in metadata, the file that has them, and how they got there."""

    where: str
    lines: tuple[str, ...]
    how: str
    # The same file as the source of a fact.
    source: str


def informal_requirements(file: File, catalog: Catalog) -> InformalRequirements | None:
    """The recorded requirements in an archive; None if it has none that metadata could have."""
    distribution = file.filename.rpartition("-")[0]
    for name in dict.fromkeys((distribution, distribution.replace("-", "_"))):
        for folder in (f"{name}.egg-info", f"src/{name}.egg-info"):
            content = _member(file, f"{folder}/requires.txt", catalog)
            if content is not None:
                lines = _valid_lines(_requires_txt_lines(content), file.filename)
                where = f"{file.filename}: {folder}/requires.txt"
                if lines is None:
                    return None
                source = f"{file.filename} {folder}/requires.txt"
                return InformalRequirements(where, lines, _how_recorded(file, catalog), source)
            if (
                _member(file, f"{folder}/SOURCES.txt", catalog) is not None
            ):  # so there are no requirements
                source = f"{file.filename} {folder}/SOURCES.txt"
                return InformalRequirements(
                    f"{file.filename}: {folder}", (), _how_recorded(file, catalog), source
                )
    if (
        _member(file, "pyproject.toml", catalog) is not None
    ):  # its build backend may have them from anywhere
        return None
    script = _member(file, "setup.py", catalog)
    if script is None or _REQUIRING.search(script + (_member(file, "setup.cfg", catalog) or "")):
        return None
    return InformalRequirements(
        f"{file.filename}: setup.py",
        (),
        "neither its setup.py nor its setup.cfg mentions requirements",
        f"{file.filename} setup.py",
    )


def _how_recorded(file: File, catalog: Catalog) -> str:
    """How setuptools recorded requirements, and whether they may be for another machine."""
    how = "setuptools recorded this in it"
    checks = sorted(set(_MACHINE_CHECKS.findall(_member(file, "setup.py", catalog) or "")))
    on = f", but on its authors' machine, and its setup.py checks the machine ({', '.join(checks)})"
    return how + on if checks else how


def _member(file: File, path: str, catalog: Catalog) -> str | None:
    try:
        return catalog.member(file, path)
    except UnusableFile:
        return None


def _valid_lines(lines: Iterator[str], filename: str) -> tuple[str, ...] | None:
    """The lines; None if metadata with them would be unusable, or one has control characters.

    They may be much longer than the file, since each repeats the marker of its section.
    """
    valid: list[str] = []
    length = 0
    for line in lines:
        valid.append(line)
        length += len(line)
        if length > MOST_TEXT or len(valid) > MOST_REQUIREMENTS or not line.isprintable():
            return None
    try:
        check_texts(CoreMetadata("", "", tuple(valid)), filename)
    except UnusableFile:
        return None
    return tuple(valid)


def _requires_txt_lines(content: str) -> Iterator[str]:
    """The requirements in sections `[extra:marker]`, each part of which may be empty; lines may have markers, too."""
    markers: list[str] = []
    for raw in content.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            extra, _, marker = line[1:-1].partition(":")
            markers = [f"({marker})"] if marker and extra else [marker] if marker else []
            markers += [f'extra == "{extra}"'] if extra else []
        elif line and markers:
            requirement, _, marker = line.partition(";")
            yield f"{requirement.strip()} ; {' and '.join([*([f'({marker.strip()})'] if marker else []), *markers])}"
        elif line:
            yield line
