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

# Distribution, version, number and suffix of a build, tags for Python, ABI, platform, label of a
# variant (PEP 427, 825)
_WHEEL = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?)-([^-]+)(?:-([0-9]{1,18})([^-]*))?-([^-]+)-([^-]+)-([^-]+)(?:-([^-]+))?\.whl"
)
_LONGEST: Final = 255
# The characters of normalized names, versions (PEP 440), build numbers and tags; no name of a file
# is shorter.
_NAME = re.compile(rf"[\w.+!-]{{3,{_LONGEST}}}", re.ASCII)


class WheelParts(NamedTuple):
    """The parts of a wheel's file name, as written.

    `build` is empty or the pair that PEP 427 sorts by. Each tag may be a set joined by dots.
    `label` is that of a variant (PEP 825), empty for a plain wheel.
    """

    distribution: str
    version: str
    build: tuple[int, str] | tuple[()]
    python: str
    abi: str
    platform: str
    label: str = ""


def is_readable(filename: str) -> bool:
    """Whether a file name has only characters that the specifications of wheels and source archives allow.

    Another name may mean something else to a shell, a terminal or a file system.
    """
    return _NAME.fullmatch(filename) is not None


def wheel_parts(filename: str) -> WheelParts | None:
    """The parts of a wheel's file name, or None if it is not one.

    A variant's ends with its label (PEP 825).
    """
    match = _WHEEL.fullmatch(filename)
    if match is None:
        return None
    distribution, version, number, suffix, python, abi, platform, label = match.groups(default="")
    build = (int(number), suffix) if number else ()
    return WheelParts(distribution, version, build, python, abi, platform, label)


def label_of(filename: str) -> str:
    """Return the label in the name of a variant wheel; empty for any other file."""
    if filename.count("-") <= 4:  # those of a plain wheel
        return ""
    parts = wheel_parts(filename)
    return "" if parts is None else parts.label


_MOST_LABELS: Final = 20


def one_of_each_label(files: Sequence[File]) -> list[File]:
    """Return a variant wheel of each label, the first by name; of a few labels, as opening one takes requests."""
    by_label: dict[str, File] = {}
    for file in sorted(files, key=lambda file: file.filename):
        if label := label_of(file.filename):
            by_label.setdefault(label, file)
    return list(by_label.values())[:_MOST_LABELS]


def plain_name(filename: str) -> str:
    """Return the name of a variant wheel without its label, under which pip installs it; any other name as it is."""
    parts = wheel_parts(filename)
    if parts is None or not parts.label:
        return filename
    return filename.removesuffix(f"-{parts.label}.whl") + ".whl"


def archive_version(filename: str, project: NormalizedName) -> str | None:
    """The version text in the name of a source archive of `project`; None if it belongs to another.

    The file name alone is ambiguous: `a-b-1.tar.gz` is version `1` of `a-b` and version `b-1`
    (invalid) of `a`.
    """
    for ending in ARCHIVE_ENDINGS:
        if filename.endswith(ending):
            match = prefix_of(project).match(filename)
            return filename[match.end() : -len(ending)] or None if match else None
    return None


def starts_with_project(filename: str, project: NormalizedName) -> bool:
    """Whether the name of a file, of any kind, begins with that of `project`."""
    return prefix_of(project).match(filename) is not None


class FileRelease(NamedTuple):
    """The release that a file belongs to by its name."""

    filename: str
    project: NormalizedName
    version: str


def release_of(file: File, is_project: Callable[[str], bool]) -> FileRelease:
    """The release of a file. Raises UnusableFile if its name has no version.

    If the name of a source archive can be split in several ways, it is the first with a project
    that `is_project` accepts, otherwise the first.
    """
    if (parts := wheel_parts(file.filename)) is not None:
        return FileRelease(file.filename, text.name(parts.distribution), parts.version)
    stem = next(
        (file.filename.removesuffix(end) for end in ARCHIVE_ENDINGS if file.filename.endswith(end)),
        "",
    )
    splits = [
        FileRelease(file.filename, text.name(stem[:at]), stem[at + 1 :])
        for at, char in enumerate(stem)
        if char == "-" and at and text.version(stem[at + 1 :]) is not None
    ]
    if not splits:
        raise UnusableFile(f"{file.filename} has no name and version that can be read")
    return next((split for split in splits if is_project(split.project)), splits[0])


@lru_cache(4096)
def prefix_of(project: NormalizedName) -> re.Pattern[str]:
    """Return a pattern of what the names of a project's files begin with, up to the version."""
    return re.compile(
        r"[-_.]+".join(map(re.escape, project.split("-"))) + "-", re.IGNORECASE | re.ASCII
    )


@lru_cache(1 << 16)
def upload_time(uploaded: str) -> dt.datetime | None:
    """An upload time of a page, in UTC; None if it is not RFC 3339, or UTC has no such year."""
    try:
        time = msgspec.convert(uploaded, dt.datetime)
        return (
            time.replace(tzinfo=dt.timezone.utc)
            if time.tzinfo is None
            else time.astimezone(dt.timezone.utc)
        )
    except (msgspec.ValidationError, OverflowError):
        return None


# Which files a target can use

_MOST_TAGS = 1000  # in a compressed tag set; pip would expand all of them


def expand_tags(python: str, abi: str, platform: str) -> Iterator[str]:
    """The tags in a compressed tag set (PEP 425), in lower case; none if they are too many."""
    sets = python.lower().split("."), abi.lower().split("."), platform.lower().split(".")
    few = len(sets[0]) * len(sets[1]) * len(sets[2]) <= _MOST_TAGS
    return map("-".join, product(*sets) if few else ())


class CompatibleFiles(msgspec.Struct, frozen=True):
    """`wheels` best first, as pip prefers them; `archives` .tar.gz before .zip."""

    wheels: tuple[File, ...]
    archives: tuple[File, ...]
    rejections: tuple[Rejection, ...]


class Compatibility:
    """Checks files for a target and a cut-off.

    Variant wheels of which the target has the properties come before plain wheels, in the order of
    PEP 825. Then come tags and build tags, as with plain wheels.
    """

    def __init__(self, target: Target, exclude_newer: dt.datetime | None) -> None:
        self._target = target
        self._cutoff = exclude_newer
        self._key = target.python, target.platform, target.glibc, target.features, exclude_newer
        self._rank = lru_cache(1 << 14)(
            self._rank_of
        )  # the wheels of a project have few different tags
        self._refused_python = lru_cache(1 << 14)(self._refuse_python)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same results."""
        return isinstance(other, Compatibility) and self._key == other._key

    def __call__(
        self, files: tuple[File, ...], variants: VariantTable = NO_VARIANTS
    ) -> CompatibleFiles:
        """Sort the files of a release; yanked ones are usable here."""
        wheels: list[tuple[Order, int, tuple[int, str], File]] = []
        archives: list[File] = []
        rejections: list[Rejection] = []
        counts = Counter(file.filename for file in files)
        rejections += (
            Rejection(name, RejectionReason.TWICE) for name in sorted(counts) if counts[name] > 1
        )
        for file in files:
            if counts[file.filename] > 1:
                continue
            reason, detail = self._refuse(file)
            if reason is None and file.is_wheel:
                parts = wheel_parts(file.filename)
                rank = None if parts is None else self._rank(*parts[3:6])
                order = None if parts is None else self._order(parts.label, variants)
                if parts is None or rank is None:
                    reason, detail = (
                        RejectionReason.TAGS,
                        "-".join(parts[3:6]) if parts is not None else "",
                    )
                elif not _is_valid(plain_name(file.filename) if parts.label else file.filename):
                    reason = RejectionReason.NAME
                elif order is None:
                    reason, detail = RejectionReason.VARIANT, _why_not(parts.label, variants)
                else:
                    wheels.append((order, rank, parts.build or (0, ""), file))
                    continue
            if reason is None:
                archives.append(file)
            else:
                rejections.append(Rejection(file.filename, reason, detail))
        # pip: the best tag wins, then the highest build tag
        wheels.sort(key=lambda row: (row[2], row[3].filename), reverse=True)
        wheels.sort(key=lambda row: row[:2])
        archives.sort(key=lambda file: (not file.filename.endswith(".tar.gz"), file.filename))
        return CompatibleFiles(tuple(row[3] for row in wheels), tuple(archives), tuple(rejections))

    @property
    def features(self) -> Sequence[TargetFeature]:
        """Return what the target has of the properties of variants."""
        return self._target.features

    def python_refusal(self, requires_python: str) -> tuple[RejectionReason, str] | None:
        """The reason and detail of a rejection if the target's Python is not in `requires_python`; else None."""
        return self._refused_python(requires_python) if requires_python else None

    def _refuse_python(self, requires_python: str) -> tuple[RejectionReason, str] | None:
        specifiers = text.python_specifiers(requires_python)
        if specifiers is None:
            return RejectionReason.PYTHON, f"Requires-Python `{requires_python}` cannot be read"
        pythons = self._target.pythons(requires_python)
        admitted = sum(specifiers.contains(python, prereleases=True) for python in pythons)
        if admitted == len(pythons):
            return None
        return (
            RejectionReason.PATCH if admitted else RejectionReason.PYTHON,
            f"Requires-Python {requires_python}",
        )

    def _refuse(self, file: File) -> tuple[RejectionReason | None, str]:
        if file.url == NOWHERE:
            return RejectionReason.ADDRESS, ""
        if (refusal := self.python_refusal(file.requires_python)) is not None:
            return refusal
        if self._cutoff is not None:
            uploaded = upload_time(file.uploaded)
            if uploaded is None:
                return RejectionReason.NO_DATE, ""
            if uploaded >= self._cutoff:
                return RejectionReason.NEWER, file.uploaded
        return None, ""

    def _order(self, label: str, variants: VariantTable) -> Order | None:
        """Return the sort key of a variant, None if the target cannot use it.

        Plain wheels are behind all variants.
        """
        return order_of(label, variants, self._target.features) if label else PLAIN

    def _rank_of(self, python: str, abi: str, platform: str) -> int | None:
        """The rank of the best of a wheel's tags; None if the target accepts none."""
        ranks = self._target.tags
        return min(
            (ranks[tag] for tag in expand_tags(python, abi, platform) if tag in ranks), default=None
        )


def _why_not(label: str, variants: VariantTable) -> str:
    """Return why a target cannot use a variant."""
    if variants.fault:
        return variants.fault
    if label not in variants.variants:
        return f"its index does not say what `{label}` stands for"
    return ", ".join(variant_of(label, variants).properties)


@lru_cache(1 << 14)
def _is_valid(filename: str) -> bool:
    """Whether `packaging`, and so pip, accepts the name."""
    try:
        parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return True
