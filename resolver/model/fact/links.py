"""`links`: the libraries that the binaries of wheels need or provide."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from packaging.utils import NormalizedName

from resolver.model.fact.base import Fact, Mistake
from resolver.model.message import Message, message
from resolver.model.text import Text
from resolver.phrase import phrase

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class Links(Fact, frozen=True, kw_only=True):
    """Which libraries of other projects the binaries of `package` need, or provide for others."""

    # The projects whose libraries the binaries need. The solver reads the binaries of a release
    # before it chooses the release.
    to: tuple[NormalizedName, ...] = ()
    # The names of libraries of `package` that others need, for wheels that nobody has read.
    provides: tuple[Text, ...] = ()
    # Patterns, with `*`, of libraries that may be missing: the parts that need them are loaded only
    # if the machine has them.
    optional: tuple[Text, ...] = ()

    def mistakes(self) -> Iterator[Mistake]:
        """Yield that the row says nothing, and the patterns with more than `*`."""
        if not self.to and not self.provides and not self.optional:
            hint = phrase("write `to`, `provides` or `optional`")
            yield Mistake(phrase("a fact about links says nothing"), ("to",), hint=hint)
        for position, pattern in enumerate(self.optional):
            if any(character in pattern for character in "?[]"):
                yield Mistake(
                    phrase("`{pattern}` is not a pattern of a library", pattern=pattern),
                    ("optional", position),
                    why=phrase("`*` stands for any text, and `?` and `[` for nothing"),
                )

    def is_optional(self, library: str) -> bool:
        """Return whether a library may be missing."""
        return any(fnmatchcase(library, pattern) for pattern in self.optional)

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects whose libraries are needed."""
        return self.to

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the libraries that it provides."""
        return self.provides

    @property
    def unconfirmed(self) -> Message:
        """Return that no index knows the libraries of a wheel."""
        return message("upstream.remark-links")

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the pin is a wheel that needs libraries."""
        return bool(self.to) and pin.release.file.is_wheel
