"""`links`: what the binaries of wheels are linked with."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact, Mistake
from resolver.model.text import Text

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class Links(Fact, frozen=True, kw_only=True):
    """How the binaries in wheels of `package` are linked with those of others."""

    # The projects whose libraries they need. Releases with such a fact are judged before they are
    # chosen.
    to: tuple[NormalizedName, ...] = ()
    # The libraries of `package` that others need; known by name even if nobody has read the wheel.
    provides: tuple[Text, ...] = ()
    # Libraries, as patterns with `*`, that only parts need which are loaded if the machine has
    # them.
    optional: tuple[Text, ...] = ()

    def mistakes(self) -> Iterator[Mistake]:
        """Yield that a row says nothing, or a pattern with more than `*`."""
        if not self.to and not self.provides and not self.optional:
            hint = "write `to`, `provides` or `optional`"
            yield Mistake("a fact about links says nothing", ("to",), hint=hint)
        for position, pattern in enumerate(self.optional):
            if any(character in pattern for character in "?[]"):
                yield Mistake(
                    f"`{pattern}` is not a pattern of a library",
                    ("optional", position),
                    why="`*` stands for any text, and `?` and `[` for nothing",
                )

    def is_optional(self, library: str) -> bool:
        """Return whether nothing fails to load if a library is missing."""
        return any(fnmatchcase(library, pattern) for pattern in self.optional)

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects whose libraries are needed."""
        return self.to

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the libraries that others need."""
        return self.provides

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether a pin is a wheel with needs."""
        return bool(self.to) and pin.release.file.is_wheel
