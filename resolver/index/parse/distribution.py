"""Parse the names of wheels and source archives, and tell which files a target can use.

The readers of pages, metadata and archives call the first part, the solver calls `Compatibility`.
"""

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
# Groups 1 and 2 are the distribution and the version. It matches the names that match both `_WHEEL`
# and `_NAME`.
_READABLE_WHEEL = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?)-([\w.+!]+)"
    r"(?:-[0-9]{1,18}[\w.+!]*)?(?:-[\w.+!]+){3}(?:-[\w.+!]+)?\.whl",
    re.ASCII,
)
_LONGEST: Final = 255
# A name of the characters that may occur in names of projects, versions (PEP 440), build numbers
# and tags. No name of a distribution file is shorter.
_NAME = re.compile(rf"[\w.+!-]{{3,{_LONGEST}}}", re.ASCII)


class WheelParts(NamedTuple):
    """The parts of a wheel's file name (PEP 427), as written.

    Each of the three tags may be a compressed set, joined by dots (PEP 425).
    """

    distribution: str
    version: str
    # The number and the suffix of the build tag, by which PEP 427 sorts; () without a build tag.
    build: tuple[int, str] | tuple[()]
    # The tags for Python, such as `py3` or `py2.py3`.
    python: str
    abi: str
    platform: str
    # The label of a variant (PEP 825); empty for a wheel without variant.
    label: str = ""


def is_readable(filename: str) -> bool:
    """Return whether a file name has only characters that wheels and source archives may have.

    A name with other characters may have a special meaning for a shell, a terminal or a file
    system.
    """
    return _NAME.fullmatch(filename) is not None


def distribution_and_version(filename: str) -> tuple[str, str] | None:
    """Return the distribution and the version in the name of a wheel, as written.

    This is faster than `wheel_parts`. None if it is not the name of a wheel, or if `is_readable` is
    false for it.
    """
    if len(filename) > _LONGEST:
        return None
    match = _READABLE_WHEEL.fullmatch(filename)
    return None if match is None else (match[1], match[2])


def wheel_parts(filename: str) -> WheelParts | None:
    """Return the parts of a wheel's file name; None if it is not the name of a wheel (PEP 427)."""
    match = _WHEEL.fullmatch(filename)
    if match is None:
        return None
    distribution, version, number, suffix, python, abi, platform, label = match.groups(default="")
    build = (int(number), suffix) if number else ()
    return WheelParts(distribution, version, build, python, abi, platform, label)


def label_of(filename: str) -> str:
    """Return the label in the name of a variant wheel (PEP 825); empty for any other file."""
    if filename.count("-") <= _MOST_HYPHENS:
        return ""
    parts = wheel_parts(filename)
    return "" if parts is None else parts.label


# The name of a wheel with neither build tag nor label has this number of hyphens, so a name with
# no more of them has no label.
_MOST_HYPHENS: Final = 4
# The variant wheels that are opened to learn the properties of their labels.
_MOST_LABELS: Final = 20


def one_of_each_label(files: Sequence[File]) -> list[File]:
    """Return one variant wheel of each label: the one whose file name sorts first.

    At most _MOST_LABELS wheels are returned, since each is opened, and that takes requests.
    """
    by_label: dict[str, File] = {}
    for file in sorted(files, key=lambda file: file.filename):
        label = label_of(file.filename)
        if label:
            by_label.setdefault(label, file)
    return list(by_label.values())[:_MOST_LABELS]


def plain_name(filename: str) -> str:
    """Return the file name without the label of a variant; pip installs the wheel under this name.

    A name without a label is returned unchanged.
    """
    parts = wheel_parts(filename)
    if parts is None or not parts.label:
        return filename
    return filename.removesuffix(f"-{parts.label}.whl") + ".whl"


def archive_version(filename: str, project: NormalizedName) -> str | None:
    """Return the version in the name of a source archive of `project`, as written.

    None if the file is not a source archive, or if its name does not begin with the project's.
    The project must be given, since a file name alone is ambiguous: `a-b-1.tar.gz` can be read as
    version `1` of `a-b`, and as version `b-1` (which is invalid) of `a`.
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
    """A file, and the release to which it belongs by its name."""

    filename: str
    project: NormalizedName
    # As written in the file name.
    version: str


def release_of(file: File, is_project: Callable[[str], bool]) -> FileRelease:
    """Return the release to which a file belongs by its name.

    If the name of a source archive can be split into project and version in several ways, the first
    way whose project `is_project` accepts is used, and otherwise the first way. Raises UnusableFile
    if no version can be found in the name.
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
    """Return each release that the name of a source archive can mean, the shortest project first.

    The name is split at each hyphen after which a version (PEP 440) follows.
    """
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
    """Return a pattern for the beginning of a project's file names: its name and a hyphen.

    It matches each spelling of the name that normalizes to `project` (PEP 503).
    """
    words = map(re.escape, project.split("-"))
    return re.compile(r"[-_.]+".join(words) + "-", re.IGNORECASE | re.ASCII)


@lru_cache(1 << 16)
def upload_time(uploaded: str) -> dt.datetime | None:
    """Return the upload time of a file, as a page states it, in UTC.

    A time without a zone is taken for UTC. None if `uploaded` is not a time (RFC 3339), or if
    its year in UTC is out of the range of `datetime`.
    """
    try:
        time = msgspec.convert(uploaded, dt.datetime)
        if time.tzinfo is None:
            return time.replace(tzinfo=dt.timezone.utc)
        return time.astimezone(dt.timezone.utc)
    except (msgspec.ValidationError, OverflowError):
        return None


# Which files a target can use

_MOST_TAGS = 1000  # in a compressed tag set; pip has no such limit


def expand_tags(python: str, abi: str, platform: str) -> Iterator[str]:
    """Yield each tag of a compressed tag set (PEP 425) in lower case.

    Nothing is yielded if the set has more than _MOST_TAGS tags.
    """
    pythons = python.lower().split(".")
    abis = abi.lower().split(".")
    platforms = platform.lower().split(".")
    if len(pythons) * len(abis) * len(platforms) <= _MOST_TAGS:
        for tag in product(pythons, abis, platforms):
            yield "-".join(tag)


class CompatibleFiles(msgspec.Struct, frozen=True):
    """The files of a release that a target can use, and why it cannot use the others."""

    # The best wheel first. The order is that of pip, with variants (PEP 825) before other wheels.
    wheels: tuple[File, ...]
    # .tar.gz before .zip, then by file name.
    archives: tuple[File, ...]
    # The other files, each with a reason.
    rejections: tuple[Rejection, ...]


class _RankedWheel(NamedTuple):
    """A wheel that a target can use, with its sort keys."""

    # The rank of its variant (PEP 825), then the rank of its best tag. The lowest rank wins.
    rank: tuple[Order, int]
    # The build tag, then the file name. Of wheels with equal ranks the highest wins.
    build: tuple[tuple[int, str], str]
    file: File


class Compatibility:
    """A callable that says which files of a release a target can use.

    The cut-off `exclude_newer` rules out files that were uploaded at that time or later; None means
    that there is no cut-off.

    Wheels are sorted by variant, in the order of PEP 825, then by tag and build tag, as pip does.
    Wheels without a variant come after all variant wheels.
    """

    def __init__(self, target: Target, exclude_newer: dt.datetime | None) -> None:
        """Check files for `target`, with a cut-off that has a time zone, or without one."""
        self._target = target
        self._cutoff = exclude_newer
        self._key = target.python, target.platform, target.glibc, target.features, exclude_newer
        # Caches: the wheels of a project have few different tags.
        self._rank = lru_cache(1 << 14)(self._rank_of)
        self._refused_python = lru_cache(1 << 14)(self._refuse_python)

    def __eq__(self, other: object) -> bool:
        """Return whether both give the same results for all files."""
        return isinstance(other, Compatibility) and self._key == other._key

    def __call__(
        self, files: tuple[File, ...], variants: VariantTable = NO_VARIANTS
    ) -> CompatibleFiles:
        """Return which files of a release the target can use, and why it cannot use the others.

        `variants` says what the labels of the release's variant wheels stand for. A file that is
        listed with several sha256 is rejected. Yanked files are not rejected here.
        """
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
        """Return a wheel with its sort keys, or why the target cannot use it by its name."""
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
        # PLAIN is the rank of wheels without variant, which come after all variants.
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
        """Return the properties of the target that variants can require (PEP 825)."""
        return self._target.features

    def python_refusal(self, requires_python: str) -> tuple[RejectionReason, str] | None:
        """Return the reason and the detail of a rejection if the target's Python is ruled out.

        `requires_python` is a specifier of Python versions; empty means any version. None if all
        Pythons that the target stands for are admitted.
        """
        return self._refused_python(requires_python) if requires_python else None

    def _refuse_python(self, requires_python: str) -> tuple[RejectionReason, str] | None:
        """Return what `python_refusal` returns, without the cache and for a text that is not empty.

        The reason is PATCH if only some patch releases of the target's Python are admitted.
        """
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
        """Return why a file is rejected by its address, Python or upload time; None if it is not.

        This applies to wheels and source archives alike.
        """
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
        """Return the rank of the best tag in a compressed tag set; the lowest rank is the best.

        None if the target accepts none of the tags.
        """
        ranks = self._target.tags
        accepted = [ranks[tag] for tag in expand_tags(python, abi, platform) if tag in ranks]
        return min(accepted, default=None)


def _why_not(label: str, variants: VariantTable) -> str:
    """Return why a target cannot use the variant with this label, as the detail of a rejection."""
    if variants.fault:
        return variants.fault
    if label not in variants.variants:
        return f"its index does not say what `{label}` stands for"
    return ", ".join(variant_of(label, variants).properties)


@lru_cache(1 << 14)
def _is_valid(filename: str) -> bool:
    """Return whether `packaging`, which pip uses, accepts the name of a wheel."""
    try:
        parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return True
