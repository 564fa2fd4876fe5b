"""Distribution files: the parts of their names, and which of them a target can use."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

import msgspec
from packaging.utils import InvalidWheelFilename, NormalizedName, parse_wheel_filename

from resolver.index.parse.address import NOWHERE
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.release import File, Rejection, RejectionReason
from resolver.model.target import Target
from resolver.model.variant import (
    NO_VARIANTS,
    PLAIN,
    Order,
    TargetFeature,
    VariantTable,
    order_of,
    variant_of,
)

ARCHIVE_ENDINGS: Final = (".tar.gz", ".zip")

# PEP 427, and PEP 825 for the label of a variant.
_WHEEL = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?)"  # distribution
    r"-([^-]+)"  # version
    r"(?:-([0-9]{1,18})([^-]*))?"  # number and suffix of a build
    r"-([^-]+)-([^-]+)-([^-]+)"  # tags for Python, ABI and platform
    r"(?:-([^-]+))?\.whl"  # label of a variant
)
# The distribution and the version in a name that is readable and a wheel's.
_READABLE_WHEEL = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?)-([\w.+!]+)"
    r"(?:-[0-9]{1,18}[\w.+!]*)?(?:-[\w.+!]+){3}(?:-[\w.+!]+)?\.whl",
    re.ASCII,
)
_LONGEST: Final = 255
# The characters of normalized names, versions (PEP 440), build numbers and tags; no name of a file
# is shorter.
_NAME = re.compile(rf"[\w.+!-]{{3,{_LONGEST}}}", re.ASCII)


class WheelParts(NamedTuple):
    """The parts of a wheel's file name, as written. Each tag may be a set joined by dots."""

    distribution: str
    version: str
    # Empty, or the number and the text that PEP 427 sorts by.
    build: tuple[int, str] | tuple[()]
    python: str
    abi: str
    platform: str
    # The label of a variant (PEP 825), empty for a plain wheel.
    label: str = ""


def is_readable(filename: str) -> bool:
    """Return whether a file name has only characters of names of wheels and source archives.

    Another name may mean something else to a shell, a terminal or a file system.
    """
    return _NAME.fullmatch(filename) is not None


def distribution_and_version(filename: str) -> tuple[str, str] | None:
    """Return what `wheel_parts` does of them, faster; None also if the name is not readable."""
    if len(filename) > _LONGEST:
        return None
    match = _READABLE_WHEEL.fullmatch(filename)
    return None if match is None else (match[1], match[2])


def wheel_parts(filename: str) -> WheelParts | None:
    """Return the parts of a wheel's file name, or None if it is not one."""
    match = _WHEEL.fullmatch(filename)
    if match is None:
        return None
    distribution, version, number, suffix, python, abi, platform, label = match.groups(default="")
    build = (int(number), suffix) if number else ()
    return WheelParts(distribution, version, build, python, abi, platform, label)


def label_of(filename: str) -> str:
    """Return the label in the name of a variant wheel; empty for any other file."""
    if filename.count("-") <= _MOST_HYPHENS:
        return ""
    parts = wheel_parts(filename)
    return "" if parts is None else parts.label


# In the name of a plain wheel without a build tag.
_MOST_HYPHENS: Final = 4
_MOST_LABELS: Final = 20


def one_of_each_label(files: Sequence[File]) -> list[File]:
    """Return a variant wheel of each label, the first by name.

    There are a few at most, as opening one takes requests.
    """
    by_label: dict[str, File] = {}
    for file in sorted(files, key=lambda file: file.filename):
        label = label_of(file.filename)
        if label:
            by_label.setdefault(label, file)
    return list(by_label.values())[:_MOST_LABELS]


def plain_name(filename: str) -> str:
    """Return the name of a variant wheel without its label, under which pip installs it.

    Any other name is returned as it is.
    """
    parts = wheel_parts(filename)
    if parts is None or not parts.label:
        return filename
    return filename.removesuffix(f"-{parts.label}.whl") + ".whl"


def archive_version(filename: str, project: NormalizedName) -> str | None:
    """Return the version in the name of a source archive of `project`, as written.

    None if it belongs to another project. The file name alone is ambiguous: `a-b-1.tar.gz` is
    version `1` of `a-b` and version `b-1` (invalid) of `a`.
    """
    for ending in ARCHIVE_ENDINGS:
        if filename.endswith(ending):
            match = prefix_of(project).match(filename)
            if match is None:
                return None
            return filename[match.end() : -len(ending)] or None
    return None


def starts_with_project(filename: str, project: NormalizedName) -> bool:
    """Return whether the name of a file, of any kind, begins with the name of `project`."""
    return prefix_of(project).match(filename) is not None


class FileRelease(NamedTuple):
    """The release that a file belongs to by its name."""

    filename: str
    project: NormalizedName
    # As written.
    version: str


def release_of(file: File, is_project: Callable[[str], bool]) -> FileRelease:
    """Return the release of a file. Raises UnusableFile if its name has no version.

    If the name of a source archive can be split in several ways, it is the first with a project
    that `is_project` accepts, otherwise the first.
    """
    parts = wheel_parts(file.filename)
    if parts is not None:
        return FileRelease(file.filename, text.name(parts.distribution), parts.version)
    releases = _archive_releases(file.filename)
    if not releases:
        raise UnusableFile(f"{file.filename} has no name and version that can be read")
    for release in releases:
        if is_project(release.project):
            return release
    return releases[0]


def _archive_releases(filename: str) -> list[FileRelease]:
    """Return the releases that the name of a source archive can mean, the shortest name first."""
    releases = []
    for ending in ARCHIVE_ENDINGS:
        if filename.endswith(ending):
            stem = filename.removesuffix(ending)
            for hyphen in re.finditer("(?<!^)-", stem):
                name, version = stem[: hyphen.start()], stem[hyphen.end() :]
                if text.version(version) is not None:
                    releases.append(FileRelease(filename, text.name(name), version))
    return releases


@lru_cache(4096)
def prefix_of(project: NormalizedName) -> re.Pattern[str]:
    """Return a pattern of what the names of a project's files begin with, up to the version."""
    words = map(re.escape, project.split("-"))
    return re.compile(r"[-_.]+".join(words) + "-", re.IGNORECASE | re.ASCII)


@lru_cache(1 << 16)
def upload_time(uploaded: str) -> dt.datetime | None:
    """Return an upload time of a page, in UTC.

    None if it is not RFC 3339, or UTC has no such year.
    """
    try:
        time = msgspec.convert(uploaded, dt.datetime)
        if time.tzinfo is None:
            return time.replace(tzinfo=dt.timezone.utc)
        return time.astimezone(dt.timezone.utc)
    except (msgspec.ValidationError, OverflowError):
        return None


# Which files a target can use

_MOST_TAGS = 1000  # in a compressed tag set; pip would expand all of them


def expand_tags(python: str, abi: str, platform: str) -> Iterator[str]:
    """Yield the tags in a compressed tag set (PEP 425) in lower case; none if they are too many."""
    pythons = python.lower().split(".")
    abis = abi.lower().split(".")
    platforms = platform.lower().split(".")
    if len(pythons) * len(abis) * len(platforms) <= _MOST_TAGS:
        for tag in product(pythons, abis, platforms):
            yield "-".join(tag)


class CompatibleFiles(msgspec.Struct, frozen=True):
    """The files of a release that a target can use, and why it cannot use the others."""

    # The best first, as pip prefers them.
    wheels: tuple[File, ...]
    # .tar.gz before .zip.
    archives: tuple[File, ...]
    rejections: tuple[Rejection, ...]


class _RankedWheel(NamedTuple):
    """A wheel that a target can use, with what it is sorted by."""

    # The place of its variant in the order of PEP 825, and the best of its tags.
    rank: tuple[Order, int]
    # The build tag, of which the highest wins, and the file name.
    build: tuple[tuple[int, str], str]
    file: File


class Compatibility:
    """Checks files for a target and a cut-off.

    Variant wheels of which the target has the properties come before plain wheels, in the order of
    PEP 825. Then come tags and build tags, as with plain wheels.
    """

    def __init__(self, target: Target, exclude_newer: dt.datetime | None) -> None:
        self._target = target
        self._cutoff = exclude_newer
        self._key = target.python, target.platform, target.glibc, target.features, exclude_newer
        # The wheels of a project have few different tags.
        self._rank = lru_cache(1 << 14)(self._rank_of)
        self._refused_python = lru_cache(1 << 14)(self._refuse_python)

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same results."""
        return isinstance(other, Compatibility) and self._key == other._key

    def __call__(
        self, files: tuple[File, ...], variants: VariantTable = NO_VARIANTS
    ) -> CompatibleFiles:
        """Sort the files of a release; yanked ones are usable here."""
        wheels: list[_RankedWheel] = []
        archives: list[File] = []
        counts = Counter(file.filename for file in files)
        rejections = [
            Rejection(name, RejectionReason.TWICE) for name in sorted(counts) if counts[name] > 1
        ]
        for file in files:
            if counts[file.filename] > 1:
                continue
            rejection = self._rejection(file)
            if rejection is not None:
                rejections.append(rejection)
            elif file.is_wheel:
                wheel = self._ranked(file, variants)
                if isinstance(wheel, Rejection):
                    rejections.append(wheel)
                else:
                    wheels.append(wheel)
            else:
                archives.append(file)
        # pip: the best tag wins, then the highest build tag.
        wheels.sort(key=lambda wheel: wheel.build, reverse=True)
        wheels.sort(key=lambda wheel: wheel.rank)
        archives.sort(key=lambda file: (not file.filename.endswith(".tar.gz"), file.filename))
        ordered = tuple(wheel.file for wheel in wheels)
        return CompatibleFiles(ordered, tuple(archives), tuple(rejections))

    def _ranked(self, file: File, variants: VariantTable) -> _RankedWheel | Rejection:
        """Return a wheel with its rank, or why its name rules it out."""
        parts = wheel_parts(file.filename)
        if parts is None:
            return Rejection(file.filename, RejectionReason.TAGS)
        tag_rank = self._rank(parts.python, parts.abi, parts.platform)
        if tag_rank is None:
            tags = f"{parts.python}-{parts.abi}-{parts.platform}"
            return Rejection(file.filename, RejectionReason.TAGS, tags)
        name = plain_name(file.filename) if parts.label else file.filename
        if not _is_valid(name):
            return Rejection(file.filename, RejectionReason.NAME)
        # Plain wheels are behind all variants.
        order: Order | None = PLAIN
        if parts.label:
            order = order_of(parts.label, variants, self._target.features)
        if order is None:
            return Rejection(
                file.filename, RejectionReason.VARIANT, _why_not(parts.label, variants)
            )
        build = parts.build or (0, "")
        return _RankedWheel((order, tag_rank), (build, file.filename), file)

    @property
    def features(self) -> Sequence[TargetFeature]:
        """Return what the target has of the properties of variants."""
        return self._target.features

    def python_refusal(self, requires_python: str) -> tuple[RejectionReason, str] | None:
        """Return the reason and detail of a rejection if `requires_python` rules out the target.

        None if it does not.
        """
        return self._refused_python(requires_python) if requires_python else None

    def _refuse_python(self, requires_python: str) -> tuple[RejectionReason, str] | None:
        specifiers = text.python_specifiers(requires_python)
        if specifiers is None:
            return RejectionReason.PYTHON, f"Requires-Python `{requires_python}` cannot be read"
        pythons = self._target.pythons(requires_python)
        detail = f"Requires-Python {requires_python}"
        admitted = [python for python in pythons if specifiers.contains(python, prereleases=True)]
        if len(admitted) == len(pythons):
            return None
        if admitted:
            return RejectionReason.PATCH, detail
        return RejectionReason.PYTHON, detail

    def _rejection(self, file: File) -> Rejection | None:
        """Return why a file of any kind is rejected, None if it is not."""
        if file.url == NOWHERE:
            return Rejection(file.filename, RejectionReason.ADDRESS)
        refusal = self.python_refusal(file.requires_python)
        if refusal is not None:
            return Rejection(file.filename, *refusal)
        if self._cutoff is not None:
            uploaded = upload_time(file.uploaded)
            if uploaded is None:
                return Rejection(file.filename, RejectionReason.NO_DATE)
            if uploaded >= self._cutoff:
                return Rejection(file.filename, RejectionReason.NEWER, file.uploaded)
        return None

    def _rank_of(self, python: str, abi: str, platform: str) -> int | None:
        """Return the rank of the best of a wheel's tags; None if the target accepts none."""
        ranks = self._target.tags
        accepted = [ranks[tag] for tag in expand_tags(python, abi, platform) if tag in ranks]
        return min(accepted, default=None)


def _why_not(label: str, variants: VariantTable) -> str:
    """Return why a target cannot use a variant."""
    if variants.fault:
        return variants.fault
    if label not in variants.variants:
        return f"its index does not say what `{label}` stands for"
    return ", ".join(variant_of(label, variants).properties)


@lru_cache(1 << 14)
def _is_valid(filename: str) -> bool:
    """Return whether `packaging`, and so pip, accepts the name."""
    try:
        parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return True
