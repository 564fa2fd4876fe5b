"""`links`: shared libraries that the binaries of a project's wheels need or provide."""

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
    """The libraries that the binaries of `package` need from other projects, or provide for them.

    resolve/linkage uses these facts to judge whether a wheel can be loaded (docs/solving.md).
    """

    # The projects whose libraries the binaries need. The solver reads the binaries of a release of
    # `package` before it chooses the release.
    to: tuple[NormalizedName, ...] = ()
    # The names of libraries in wheels of `package` that other projects need. They are known even if
    # the wheel was not read.
    provides: tuple[Text, ...] = ()
    # The names of libraries that may be missing, with `*` for any text. Only parts of `package`
    # that are loaded if the machine has these libraries need them.
    optional: tuple[Text, ...] = ()

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake for a row without any of the keys, and for each `?`, `[` or `]`."""
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
        """Return whether a library may be missing, by its name."""
        return any(fnmatchcase(library, pattern) for pattern in self.optional)

    @property
    def named_projects(self) -> tuple[NormalizedName, ...]:
        """Return the projects whose libraries are needed."""
        return self.to

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the names of the libraries that `package` provides."""
        return self.provides

    @property
    def unconfirmed(self) -> Message:
        """Return an audit's remark on the fact.

        Indexes do not say which libraries the binaries of a wheel need.
        """
        return message("upstream.remark-links")

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the pin is a wheel, and the fact says whose libraries it needs."""
        return bool(self.to) and pin.release.file.is_wheel
