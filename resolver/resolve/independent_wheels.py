"""An independent reading of the names of wheels: which ones a target can use, the best first.

It shares no code with the search. The order of tags is that of the target; the order of variants
is written after PEP 825.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import cache
from typing import Final, NamedTuple

from packaging.tags import parse_tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from resolver.model.release import File
from resolver.model.target import Target
from resolver.model.variant import VariantTable

# The most tags of a wheel. No real wheel has so many.
_MOST_TAGS: Final = 1000


class _VariantRank(NamedTuple):
    """The sort key of a wheel among the variants of its release.

    The order follows PEP 825 ("Variant ordering", step 7).
    """

    # For each property the ranks of its namespace, its feature and its value, sorted.
    keys: tuple[tuple[int, int, int], ...]
    # The label of the variant.
    label: str
    # Whether the file is no variant.
    is_plain: bool = False

    def __lt__(self, other: tuple[object, ...]) -> bool:
        assert isinstance(other, _VariantRank)  # noqa: S101  nothing else is compared
        if self.is_plain or other.is_plain:
            return other.is_plain and not self.is_plain
        for mine, others in zip(self.keys, other.keys, strict=False):
            if mine != others:
                return mine < others
        if len(self.keys) != len(other.keys):
            return len(self.keys) > len(other.keys)
        return self.label < other.label


# The sort key of files that are no variants.
_PLAIN: Final = _VariantRank((), "", is_plain=True)


class FileRank(NamedTuple):
    """The sort key of a file of a release: pip prefers the file with the smallest one."""

    # Whether it is a wheel that the target cannot use.
    is_unfit: bool
    # Whether the index says that it is yanked.
    is_yanked: bool
    # Whether it is a source archive.
    is_archive: bool
    # Its place among the variants of the release.
    variant: _VariantRank
    # The position of its best tag among the tags of the target; 0 for an archive.
    tag: int


_UNFIT: Final = FileRank(True, True, True, _PLAIN, 0)


class IndependentWheels:
    """Ranks the files of releases for one target."""

    def __init__(self, target: Target) -> None:
        """Take the target, with its tags and the properties that it has (PEP 825)."""
        self._target = target

    def is_fit(self, file: File, table: VariantTable) -> bool:
        """Return whether the target can use a wheel, by its tags and its variant.

        `table` has the variants of its release.
        """
        return not self.rank(file, table).is_unfit

    def rank(self, file: File, table: VariantTable) -> FileRank:
        """Return a sort key for the order in which pip prefers the files of a release.

        Wheels come before archives, and yanked files come last. Variants come before plain wheels,
        in the order of PEP 825. Then the best tag decides.
        """
        is_yanked = file.yanked is not None
        if not file.is_wheel:
            return FileRank(False, is_yanked, True, _PLAIN, 0)
        name, label = split_label(file.filename)
        accepted = self._target.tags
        # The last three parts of the name are the tags (PEP 427). They are parsed and cached
        # together, since thousands of wheels have only a few dozen of them.
        parts = name.removesuffix(".whl").split("-")
        tags = _parsed_tags("-".join(parts[-3:])) if len(parts) > 3 else ()
        best = min((accepted[tag] for tag in tags if tag in accepted), default=None)
        variant = self._variant_rank(label, table) if label else _PLAIN
        if best is None or variant is None or parsed_wheel(file.filename) is None:
            return _UNFIT
        return FileRank(False, is_yanked, False, variant, best)

    def variant_components(self, file: File, table: VariantTable) -> set[str]:
        """Return the names of the components that the properties of a variant wheel are about.

        Empty for a file that is no variant wheel. `table` has the variants of its release.
        """
        _, label = split_label(file.filename) if file.is_wheel else ("", "")
        if not label:
            return set()
        properties = table.variants.get(label, {})
        return {
            feature.component for feature in self._target.features if feature.name in properties
        }

    def _variant_rank(self, label: str, table: VariantTable) -> _VariantRank | None:
        """Return the sort key of a variant among the variants of its release.

        None if the target does not have its properties, or the index does not list it.
        """
        if label not in table.variants:
            return _VariantRank((), label) if label == "null" else None
        keys = []
        for feature, values in table.variants[label].items():
            rank = self._feature_rank(feature, values)
            if rank is None:
                return None
            namespace = feature.split(" ")[0]
            namespace_rank = len(table.namespaces)
            if namespace in table.namespaces:
                namespace_rank = table.namespaces.index(namespace)
            keys.append((namespace_rank, *rank))
        return _VariantRank(tuple(sorted(keys)), label)

    def _feature_rank(self, feature: str, values: Iterable[str]) -> tuple[int, int] | None:
        """Return the rank of a feature on the target, and the rank of its best value.

        None if the target has none of the values.
        """
        ranks: list[tuple[int, int]] = []
        for number, known in enumerate(self._target.features):
            if known.name != feature:
                continue
            ranks += [
                (number, known.values.index(value)) for value in values if value in known.values
            ]
        return min(ranks, default=None)


@cache
def parsed_wheel(filename: str) -> tuple[str, Version, Collection[str]] | None:
    """Return project, version and tags in the name of a wheel; None if the name is invalid.

    The label of a variant is removed first, since pip refuses a name with a label.
    """
    try:
        name, version, _, tags = parse_wheel_filename(split_label(filename)[0])
    except InvalidWheelFilename:
        return None
    return name, version, tuple(map(str, tags))


def split_label(filename: str) -> tuple[str, str]:
    """Return the name of a wheel without its variant label, and the label (PEP 825).

    The label is empty if there is none. A name with six parts has either a build tag, which begins
    with a digit, or a label.
    """
    parts = filename.removesuffix(".whl").split("-")
    if len(parts) == 7 or (len(parts) == 6 and not parts[2][:1].isdigit()):
        return "-".join(parts[:-1]) + ".whl", parts[-1]
    return filename, ""


@cache
def _parsed_tags(joined: str) -> Collection[str]:
    """Return the tags in the last three parts of a wheel's name.

    There are none if they are invalid, or too many.
    """
    if math.prod(part.count(".") + 1 for part in joined.split("-")) > _MOST_TAGS:
        return ()
    try:
        return tuple(map(str, parse_tag(joined)))
    except ValueError:
        return ()
