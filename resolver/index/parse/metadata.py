"""Parse core metadata (METADATA, PKG-INFO) and pyproject.toml (PEP 518, PEP 621)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement

from resolver import toml
from resolver.errors import WrongRelease
from resolver.index.parse.distribution import FileRelease
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.release import Archive, CoreMetadata
from resolver.phrase import phrase
from resolver.redaction import without_secrets

if TYPE_CHECKING:
    from packaging.metadata import RawMetadata

T = TypeVar("T")

# A metadata file is a header of fields, an empty line, and the description. This matches the empty
# line. A carriage return before it stays in the header.
_END: Final = re.compile(rb"\n\r?\n|\r\r")
# The Metadata-Version.
_FORMAT: Final = re.compile(r"([12])\.(\d{1,4})")
# The fields that are needed, so that a file is unusable if one of them cannot be read.
_FIELDS: Final = (
    "name",
    "version",
    "metadata-version",
    "requires-dist",
    "requires-python",
    "provides-extra",
)
_MOST_LINES: Final = 50_000  # of a header, which may contain a license
_LONGEST_SHOWN: Final = 300  # characters of an invalid line that a message quotes
MOST_REQUIREMENTS: Final = 10_000  # the distribution with the most extras has about 1,000
# Characters of all requirements together: parsing so many takes a second, and ten times as many
# bytes of memory.
MOST_TEXT: Final = 2 << 20
# The limit for the extras in one marker, and for the markers whose extras cannot be determined.
_MOST_EXTRAS: Final = 100


class Header(NamedTuple):
    """The fields of a metadata file that a lock needs."""

    metadata: CoreMetadata
    # The Metadata-Version.
    version: tuple[int, int]
    # The names in the field Dynamic (PEP 643), in lower case: a wheel may have other values there.
    dynamic: frozenset[str]


def read(content: bytes, release: FileRelease, where: str) -> Header:
    """Return the fields of a METADATA or PKG-INFO file.

    `release` is the release of the distribution that has the file; `where` is its address, which
    an error names. Raises UnusableFile if the metadata is invalid, and WrongRelease if it is for
    another project or version.
    """
    raw = _parsed_header(content, release)
    subject = f"the metadata of {release.filename}"
    name, version = raw.get("name", ""), raw.get("version", "")
    if not name:
        raise UnusableFile(f"{subject} has no Name")
    if not version:
        raise UnusableFile(f"{subject} has no Version")
    check_release(name, version, release, where)
    written_format = raw.get("metadata_version", "1.0")
    match = _FORMAT.fullmatch(written_format.strip())
    if match is None:
        raise UnusableFile(f"{subject} has the version {_brief(written_format)!r}")
    metadata = CoreMetadata(
        name,
        version,
        tuple(" ".join(line.split()) for line in raw.get("requires_dist", ())),
        raw.get("requires_python", "").strip(),
        tuple(raw.get("provides_extra", ())),
    )
    check_texts(metadata, release.filename)
    dynamic = frozenset(field.strip().lower() for field in raw.get("dynamic", ()))
    return Header(metadata, (int(match[1]), int(match[2])), dynamic)


def _parsed_header(content: bytes, release: FileRelease) -> RawMetadata:
    """Return the fields of a metadata file, as `packaging.metadata.parse_email` parses them.

    Raises UnusableFile if a field of `_FIELDS` cannot be read.
    """
    # The description, which is not needed, may be a megabyte in any encoding.
    end = _END.search(content)
    header = content if end is None else content[: end.start() + 1]
    if header.count(b"\n") > _MOST_LINES:
        raise UnusableFile(
            f"the metadata of {release.filename} has a header of more than {_MOST_LINES} lines"
        )
    # Slow to import, and not needed if the cache has everything.
    from packaging.metadata import parse_email

    try:
        raw, unparsed = parse_email(header)
    except Exception as error:  # an e-mail parser fails in many ways on other input
        raise UnusableFile(
            f"the metadata of {release.filename} cannot be parsed: {error}"
        ) from None
    for field in _FIELDS:
        if field in unparsed:
            raise UnusableFile(
                f"the metadata of {release.filename} has an unreadable field {field.title()}"
            )
    return raw


def check_release(name: str, version: str, release: FileRelease, where: str) -> None:
    """Raise WrongRelease unless name and version in metadata are equal to those in the file name.

    `where` is the address of the metadata, which the error names.
    """
    is_project = text.name(name) == release.project
    if is_project and text.version(version) == text.version(release.version):
        return
    raise WrongRelease(
        phrase("The metadata of {file} is for a different release.", file=release.filename),
        where=where,
        why=phrase(
            "It says {name} {version}; expected was {project} {release_version}.",
            name=_brief(name),
            version=_brief(version),
            project=release.project,
            release_version=release.version,
        ),
        hint=phrase(
            "the file was renamed or its index mixes up files; exclude the release with an "
            "`excludes` fact"
        ),
    )


def check_texts(metadata: CoreMetadata, filename: str) -> None:
    """Raise UnusableFile for metadata whose texts are invalid, too many or too long.

    The texts are the requirements (PEP 508), Requires-Python (PEP 440) and the extras. `filename`
    is named in the error.
    """
    requirements = metadata.requires_dist
    _check_count(len(requirements), "requirements", filename)
    _check_count(len(metadata.provides_extra), "extras", filename)
    length = sum(map(len, requirements))
    if length > MOST_TEXT:
        raise UnusableFile(
            f"{filename} has requirements of {length} characters; "
            f"more than {MOST_TEXT} are not read"
        )
    unclear_markers = 0
    for line in requirements:
        extras = text.extras_in_marker(line)
        if extras is None:
            unclear_markers += 1
        has_too_many = extras is not None and len(extras) > _MOST_EXTRAS
        if has_too_many or unclear_markers > _MOST_EXTRAS:
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


def _check_count(count: int, subject: str, filename: str) -> None:
    """Raise UnusableFile for more than MOST_REQUIREMENTS texts of a kind, which `subject` names."""
    if count > MOST_REQUIREMENTS:
        raise UnusableFile(
            f"{filename} has {count} {subject}; more than {MOST_REQUIREMENTS} are not read"
        )


def _brief(line: str) -> str:
    """Return a line of metadata for a message: without passwords, and cut if it is long."""
    line = without_secrets(line)
    return line if len(line) <= _LONGEST_SHOWN else f"{line[:_LONGEST_SHOWN]}…"


# pyproject.toml

# The build requirements of a source tree without build-system.requires. PEP 518 names setuptools
# and wheel.
LEGACY_BUILD: Final = ("setuptools>=40.8.0", "wheel")

# The fields of [project] that a lock needs.
_NEEDED: Final = ("dependencies", "optional-dependencies", "requires-python")


class _BuildSystem(msgspec.Struct):
    """The table [build-system] of a pyproject.toml (PEP 518)."""

    requires: list[str] | None = None


class _Project(msgspec.Struct, rename="kebab"):
    """The keys of the table [project] of a pyproject.toml that are read (PEP 621)."""

    name: str
    version: str = ""
    dynamic: list[str] = []
    dependencies: list[str] = []
    optional_dependencies: dict[str, list[str]] = {}
    requires_python: str = ""


def read_pyproject(content: bytes, release: FileRelease) -> Archive:
    """Return the static metadata and the build requirements in a pyproject.toml.

    The metadata is None, with the reason, if the file has no [project] table, declares a field of
    `_NEEDED` dynamic, or names another project than `release`. Raises UnusableFile if the file is
    invalid.
    """
    try:
        document = toml.loads(content.decode("utf-8-sig"), toml.SOURCE_TREE)
    # TOML errors are ValueErrors. So are bytes that are not UTF-8, and integers of 5,000 digits.
    except (ValueError, RecursionError) as error:
        raise UnusableFile(f"pyproject.toml in {release.filename} is invalid: {error}") from None
    build_requires: tuple[str, ...] | None = None
    build_system = _convert(document, "build-system", _BuildSystem, release)
    if build_system is not None and build_system.requires is not None:
        build_requires = tuple(build_system.requires)
    project = _convert(document, "project", _Project, release)
    if project is None:
        return Archive(None, build_requires, "its pyproject.toml has no [project] table")
    dynamic = [field for field in _NEEDED if field in project.dynamic]
    if dynamic:
        why_dynamic = f"its pyproject.toml calls {' and '.join(dynamic)} dynamic"
        return Archive(None, build_requires, why_dynamic)
    if text.name(project.name) != release.project:
        why_dynamic = f"its pyproject.toml is that of {_brief(project.name)}"
        return Archive(None, build_requires, why_dynamic)
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


def _convert(
    document: dict[str, Any], table: str, shape: type[T], release: FileRelease
) -> T | None:
    """Return a table of a pyproject.toml, converted to the type `shape`; None if it is missing.

    Raises UnusableFile if the table does not have that shape.
    """
    if table not in document:
        return None
    try:
        return msgspec.convert(document[table], shape)
    except msgspec.ValidationError as error:
        raise UnusableFile(
            f"[{table}] of pyproject.toml in {release.filename} is invalid: {error}"
        ) from None


def _of_extra(line: str, extra: str, release: FileRelease) -> str:
    """Return a requirement of an extra as core metadata has it: with the marker `extra == "…"`.

    A marker of its own is kept and joined with `and`. Raises UnusableFile if the line is invalid.
    """
    try:
        text.requirement(line)
        with text.PARSER:
            requirement = Requirement(line)
            marker = f'extra == "{text.name(extra)}"'
            if requirement.marker is not None:
                marker = f"({requirement.marker}) and {marker}"
            requirement.marker = Marker(marker)
    except (InvalidRequirement, ValueError):
        raise UnusableFile(
            f"{release.filename} has the invalid requirement `{_brief(line)}`"
        ) from None
    return str(requirement)
