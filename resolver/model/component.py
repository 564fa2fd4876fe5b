"""Components of a target: what a machine has that no index serves, such as a driver.

`python` and `glibc` are components of every target. The others, and how their values are written
and compared, are rows of systems.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import InputError, known_names
from resolver.model import patterns
from resolver.model.message import Message, verbatim
from resolver.model.system import SystemVersion
from resolver.phrase import cause, phrase

# A value of a component: a version by the rules of a vendor, a version by PEP 440, or a name.
Value = SystemVersion | Version | str


class Grammar(msgspec.Struct, frozen=True, kw_only=True):
    """How the values of components are written and compared."""

    # Returns the value that a text spells. Raises ValueError if it spells none.
    parse: Callable[[str], Value]
    # Whether values have an order.
    is_ordered: bool = True
    # How many numbers a release line may have: 2 for `8.5.*`.
    line_numbers: int = 9


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """A component of targets."""

    # The name in facts and stacks, in lower case.
    name: str
    # The name as people write it.
    title: str
    # The title in Chinese; may be empty.
    title_zh: str = ""
    grammar: Grammar
    # A value, for messages.
    example: str
    # The values that exist, oldest first.
    known: tuple[Value, ...] = ()
    # Whether a target may only have a known value.
    closed: bool = False
    # Whether the value of a target is the oldest that its machines have.
    minimum: bool = False
    # Whether what was made for one release is likely to work with others of its release line.
    by_line: bool = False
    # Other names that people use for it. On indexes these are names of projects.
    aliases: tuple[str, ...] = ()
    # The Python distributions that come with it, and that no index serves.
    packages: tuple[NormalizedName, ...] = ()
    # The value that machines of some name have, such as a chip's family by the name of the chip.
    names: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def label(self) -> Message:
        """Return the name as people write it, in every language."""
        return verbatim(self.title, self.title_zh)

    def parse(self, text: str) -> Value:
        """Return the value that a text spells. Raise ValueError, which quotes the text."""
        text = text.strip()
        try:
            return self.grammar.parse(text)
        except ValueError:
            kind = phrase("a value")
            if self.grammar.is_ordered:
                kind = phrase("a version")
            what = phrase(
                "`{text}` is not {kind} of {title} such as {example}",
                text=text,
                kind=kind,
                title=self.title,
                example=self.example,
            )
            raise ValueError(what) from None

    def parse_stated(self, text: str) -> Value:
        """Return the value of a machine, which may be given by the name of such machines.

        Raise ValueError, which quotes the text.
        """
        try:
            return self.parse(self.named(text) or text)
        except ValueError as error:
            line = text.strip()
            releases = [str(known) for known in self.known if str(known).startswith(f"{line}.")]
            if not releases:
                raise
            final = f"{line}.0"
            nearest_release = final if final in releases else releases[-1]
            raise ValueError(
                phrase(
                    "{cause}: did you mean {release}?", cause=cause(error), release=nearest_release
                )
            ) from None

    def named(self, text: str) -> str:
        """Return the value that machines of this name have; empty if no such name is known.

        Names are the same in any case and with any separators, and without a final LTS.
        """
        for name, value in self.names.items():
            if _plain(name) == _plain(text):
                return value
        return ""

    def require_known(self, value: Value, where: str) -> None:
        """Raise InputError if the component is closed, and this is none of its known values."""
        if self.closed and self.known and value not in self.known:
            raise InputError(
                phrase("`{value}` is not a known {title}", value=value, title=self.title),
                where=where,
                hint=known_names(map(str, self.known)),
            )


# The components of targets by name.
Components = Mapping[str, Component]


def _name(text: str) -> str:
    """Return a name in capitals. Raise ValueError for a text that is no name."""
    if not patterns.VALUE_NAME.matches(text):
        raise ValueError(
            phrase(
                "`{text}` is not {description}",
                text=text,
                description=patterns.VALUE_NAME.description,
            )
        )
    return text.upper()


def _plain(name: str) -> str:
    """Return a name in one spelling for openEuler-22.03 and openeuler 22.03 LTS."""
    lower = name.lower().removesuffix("lts")
    return "".join(character for character in lower if character.isalnum())


# Versions by PEP 440. `InvalidVersion` is a ValueError.
PEP_440: Final = Grammar(parse=Version)
# Names without an order. Letter case does not count.
NAMES: Final = Grammar(parse=_name, is_ordered=False)

# The components of every target.
BUILT_IN: Final[Components] = {
    "glibc": Component(name="glibc", title="glibc", grammar=PEP_440, example="2.28"),
    "python": Component(name="python", title="Python", grammar=PEP_440, example="3.11"),
}


def find_component(name: str, components: Components) -> Component:
    """Return the component of this name. Raise ValueError if there is none."""
    if name not in components:
        raise ValueError(
            phrase(
                "`{name}` is not a component: known are {components}",
                name=name,
                components=", ".join(components),
            )
        )
    return components[name]


def nearest(value: Value, values: Iterable[Value]) -> tuple[Value, ...]:
    """Return distinct values, the nearest to `value` first, and the newer of two equally near.

    `value` is one of `values`. How near two values are is how many known values are between them.
    """
    ordered = sorted(dict.fromkeys(values), key=lambda other: (isinstance(other, str), other))
    positions = {other: position for position, other in enumerate(ordered)}
    position = positions[value]

    def distance(other: Value) -> tuple[int, bool]:
        is_older = positions[other] < position
        return abs(positions[other] - position), is_older

    return tuple(sorted(ordered, key=distance))
