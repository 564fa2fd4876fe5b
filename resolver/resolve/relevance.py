"""Which requirement lines apply on a target, for an extra."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement
from packaging.utils import canonicalize_name

from resolver.model import text
from resolver.model.requirement import Requirement

# A marker of comparisons joined by `and`, the last one `extra == "x"`. A second `;` in a line may be inside a string,
# and so may be the end of the line, unless its quotes are a pair.
_EXTRA = re.compile(r"""^[^;]*;(?!.*\bor\b)(?:[^;]*\band)?\s*extra\s*==\s*(["'])([A-Za-z0-9._-]+)\1\s*$""")


class Relevance:
    """Reads each line once. `markers` is the target's environment (PEP 508)."""

    def __init__(self, markers: Mapping[str, str]) -> None:
        self._markers = markers
        self._read: dict[tuple[str, str], Requirement | None] = {}
        # by file: lines that may apply without an extra, lines that may apply for any, and lines by extra
        self._by_extra: dict[str, tuple[list[str], list[str], dict[str, list[str]]]] = {}

    def of(self, filename: str, lines: Sequence[str], extra: str) -> Sequence[str]:
        """The lines of a file that may apply for an extra, or without one: a file may have thousands of either."""
        if filename not in self._by_extra:
            common: list[str] = []
            unsure: list[str] = []
            those: dict[str, list[str]] = {}
            for line in lines:
                only = _EXTRA.search(line)
                if only is not None:
                    those.setdefault(canonicalize_name(only[2]), []).append(line)
                    continue
                common.append(line)
                named = text.extras_named(line)
                if named is None:
                    unsure.append(line)
                for other in named or ():
                    those.setdefault(other, []).append(line)
            self._by_extra[filename] = common, unsure, those
        common, unsure, those = self._by_extra[filename]
        return [*unsure, *those.get(extra, ())] if extra else common

    def among(self, filename: str, lines: Sequence[str], extra: str) -> Iterator[Requirement]:
        """The requirements among the lines of a file that apply; invalid lines are left out."""
        for line in self.of(filename, lines, extra):
            with suppress(InvalidRequirement):
                requirement = self(line, extra)
                if requirement is not None:
                    yield requirement

    def __call__(self, line: str, extra: str) -> Requirement | None:
        """The requirement of a line if it applies on the target with `extra`, otherwise None.

        With an extra, only if the extra makes it apply. Raises InvalidRequirement.
        """
        key = (line, extra)
        if len(line) > text.LONG:
            return self._hold(text.requirement(line), extra)
        if key not in self._read:
            # Most lines are for extras that nobody requires, and need not be parsed.
            other = _EXTRA.search(line)
            if other is not None and canonicalize_name(other[2]) != extra:
                self._read[key] = None
            else:
                self._read[key] = self._hold(text.requirement(line), extra)
        return self._read[key]

    def _hold(self, requirement: Requirement, extra: str) -> Requirement | None:
        if requirement.marker is None:
            return None if extra else requirement
        try:
            without = requirement.marker.evaluate(self._markers)
            if not extra:
                return requirement if without else None
            counts = not without and requirement.marker.evaluate({**self._markers, "extra": extra})
        except (UndefinedComparison, UndefinedEnvironmentName) as error:
            raise InvalidRequirement(f"the marker of `{requirement}` cannot be evaluated: {error}") from None
        return requirement if counts else None
