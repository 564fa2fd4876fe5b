"""`pairs`: releases that a table or guide has together."""

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
    """What a table or a guide has together with releases of `package`.

    `ascend-lock matrix show` shows it. No lock depends on it.
    """

    # A branch, a tag, or a version that does not follow PEP 440, as upstream writes it. Empty for
    # the releases in `versions`.
    release: Text = ""
    # The releases of other projects, and the components of the machine, in the same row.
    others: Annotated[tuple[Need, ...], NOT_EMPTY] = msgspec.field(name="with")

    def mistakes(self) -> Iterator[Mistake]:
        """Yield that the row does not name its releases one by one."""
        names_releases = all(_is_one_release(versions) for versions in self.versions)
        if not self.release and not names_releases:
            yield Mistake(
                phrase("a pairing is about releases by name"),
                ("versions",),
                hint=phrase('write "==1.2.0", or release = "…" for a branch or tag'),
            )

    def applies_to(self, version: Version) -> bool:
        """Return whether the fact is about this release of its project, not about a branch."""
        return not self.release and super().applies_to(version)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return what is in the same row."""
        return self.others

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return False: no lock rests on it."""
        return False


def _is_one_release(versions: SpecifierSet) -> bool:
    return len(versions) == 1 and all(is_exact(specifier) for specifier in versions)
