"""`pairs`: what a table has together with releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.fact.base import Fact, Mistake, Need
from resolver.model.text import NOT_EMPTY, Text, is_exact

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class Pairs(Fact, frozen=True, kw_only=True):
    """What a table or a guide has together with releases.

    `ascend-lock pairs` shows it; it decides no lock.
    """

    # A branch, a tag, or a version that is not PEP 440, as upstream writes it; empty for the
    # releases in `versions`.
    release: Text = ""
    # The releases of other projects, and the components of the machine, that it goes with.
    others: Annotated[tuple[Need, ...], NOT_EMPTY] = msgspec.field(name="with")

    def mistakes(self) -> Iterator[Mistake]:
        """Yield that a row names no release."""
        if not self.release and not all(map(_is_one_release, self.versions)):
            yield Mistake(
                "a pairing is about releases by name",
                ("versions",),
                hint='write "==1.2.0", or release = "…" for a branch or tag',
            )

    def applies_to(self, version: Version) -> bool:
        """Return whether the fact is about this release of its project."""
        return not self.release and super().applies_to(version)

    @property
    def cited_needs(self) -> tuple[Need, ...]:
        """Return what the releases go with."""
        return self.others

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return that no lock rests on it."""
        return False


def _is_one_release(versions: SpecifierSet) -> bool:
    return len(versions) == 1 and all(map(is_exact, versions))
