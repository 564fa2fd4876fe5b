"""`pairs`: releases of several projects that a table or guide lists together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.fact.base import Fact, Mistake, Need
from resolver.model.text import NOT_EMPTY, Text, is_exact
from resolver.phrase import phrase

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class Pairs(Fact, frozen=True, kw_only=True):
    """Releases of other projects that a table or a guide lists together with one of `package`.

    `ascend-lock matrix show` shows the pairing. No lock depends on it.
    """

    # A branch, a tag, or a version that does not follow PEP 440, as upstream writes it. Empty if
    # the fact is about the releases in `versions`.
    release: Text = ""
    # The releases of other projects and the components of the machine that are listed with it.
    others: Annotated[tuple[Need, ...], NOT_EMPTY] = msgspec.field(name="with")

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake if the row has no `release`, and `versions` are not single releases."""
        names_releases = all(_is_one_release(versions) for versions in self.versions)
        if not self.release and not names_releases:
            yield Mistake(
                phrase("a pairing is about releases by name"),
                ("versions",),
                hint=phrase('write "==1.2.0", or release = "…" for a branch or tag'),
            )

    def applies_to(self, version: Version) -> bool:
        """Return whether the fact is about this version of its project.

        A fact with the key `release` is about no version.
        """
        return not self.release and super().applies_to(version)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return the releases and components that are listed together with `package`."""
        return self.others

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return False: no lock cites a pairing."""
        return False


def _is_one_release(versions: SpecifierSet) -> bool:
    """Return whether a specifier set names a single release: `==1.2.0`."""
    return len(versions) == 1 and all(is_exact(specifier) for specifier in versions)
