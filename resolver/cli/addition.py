"""Decide what a line that is added to a stack does to its other lines, for `ascend-lock add`.

The bounds in the other lines are never loosened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.explain.stack_text import StackText
from resolver.model import text as texts
from resolver.model.fact import Need
from resolver.model.requirement import Requirement, name_of


class Addition(NamedTuple):
    """The effect of adding a line to a stack."""

    # The code and the values of the message about it.
    code: str
    values: dict[str, object]
    # The line that the stack gets; empty if its lines stay as they are.
    line: str = ""
    # The numbers of the lines that it replaces.
    replaced: tuple[int, ...] = ()

    def applied_to(self, document: StackText, group: str) -> StackText:
        """Return the text of the stack with the line in a group, or in the lines of every group."""
        if not self.line:
            return document
        if not self.replaced:
            return document.with_new_line(self.line, group)
        first, *others = self.replaced
        return document.with_line(first, self.line).without_lines(others)


def added(line: str, need: Need, old_needs: Mapping[int, Need]) -> Addition:
    """Return the effect of adding a line to a stack that has these requirements, by number.

    The line replaces lines about the same project or component. If it has a marker, it only
    replaces lines with the same marker. What the replaced lines ask for is kept if it is compatible
    with the new line: their bounds, their extras, and a commit if the new line names no version.
    """
    replaced = [number for number, old in old_needs.items() if _replaces(need, old)]
    if isinstance(need, Requirement):
        replaced = [number for number in replaced if not _stays(old_needs[number], need)]
    if not replaced:
        return Addition("edit.added", {"line": line}, line)
    old_lines = tuple(str(old_needs[number]) for number in replaced)
    joined = _joined(need, [old_needs[number] for number in replaced])
    if old_lines == (str(joined),) and str(joined) == str(need):
        return Addition("edit.unchanged", {"line": line})
    if str(joined) == str(need):
        return Addition("edit.replaced", {"old": old_lines, "new": line}, line, tuple(replaced))
    if len(replaced) == 1 and str(joined) == old_lines[0]:
        return Addition("edit.kept", {"old": old_lines, "new": line})
    result = str(joined).replace('"', "'")
    values: dict[str, object] = {"old": old_lines, "new": result, "line": line}
    return Addition("edit.joined", values, result, tuple(replaced))


def _replaces(new: Need, old: Need) -> bool:
    """Return whether a new line replaces an old one."""
    if isinstance(new, Requirement) and isinstance(old, Requirement):
        return new.name == old.name and (new.marker is None or new.marker == old.marker)
    return name_of(new) == name_of(old)


def _stays(old: Need, new: Requirement) -> bool:
    """Return whether an old line must stay beside a new one that would replace it.

    That is so if the old line has a marker that the new line does not have, and a version bound
    that some release can meet together with the new line.
    """
    if not isinstance(old, Requirement) or old.marker is None or old.marker == new.marker:
        return False
    return bool(old.url or str(old.specifier)) and _goes_together(old, new)


def _joined(new: Need, old_needs: Sequence[Need]) -> Need:
    """Return a new line with what old lines ask for, as far as it is compatible."""
    if not isinstance(new, Requirement) or new.url:
        return new
    joined = new
    for old in old_needs:
        if not isinstance(old, Requirement) or not _goes_together(old, joined):
            continue
        extras = tuple(sorted({*joined.extras, *old.extras}))
        joined = replace(joined, extras=extras, url=old.url)
        if not old.url:
            joined = replace(joined, specifier=_both(old.specifier, joined.specifier))
    return joined


def _goes_together(old: Requirement, new: Requirement) -> bool:
    """Return whether some release may meet both lines.

    The version at a commit is not known here. So a line with a commit is only compatible with a new
    line that names no version and no commit.
    """
    if old.url or new.url:
        return not str(new.specifier) and not new.url
    return _has_common_version(old.specifier, new.specifier)


def _both(old: SpecifierSet, new: SpecifierSet) -> SpecifierSet:
    """Return specifiers that admit what both admit. If one of them is a pin, it is returned."""
    for pin in (new, old):
        if any(map(texts.is_exact, pin)):
            return pin
    return old & new


def _has_common_version(first: SpecifierSet, second: SpecifierSet) -> bool:
    """Return whether some version may meet both specifiers.

    Only versions that the specifiers name, and versions next to these, are tried.
    """
    both = first & second
    if not str(both):
        return True
    return any(both.contains(version, prereleases=True) for version in _versions_near(both))


def _versions_near(specifiers: SpecifierSet) -> Iterator[Version]:
    """Yield the versions that specifiers name, and versions just before and after each."""
    yield Version("0")
    for specifier in specifiers:
        named = texts.version(specifier.version.removesuffix(".*"))
        if named is None:
            continue
        yield named
        numbers = named.release
        yield Version(f"{named.base_version}.dev0")
        yield Version(f"{named.base_version}.post1")
        # A version in the series of a wildcard, and the version after the series.
        yield Version(".".join(map(str, (*numbers, 1))))
        yield Version(".".join(map(str, (*numbers[:-1], numbers[-1] + 1))))
        if numbers[-1] > 0:
            yield Version(".".join(map(str, (*numbers[:-1], numbers[-1] - 1))))
