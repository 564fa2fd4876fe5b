"""Components of a target: parts of a machine that no index serves, such as a driver.

Every target has the components `python` and `glibc`. All others are described by entries of
matrices/systems.toml, which say how the values of a component are written and compared.
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
from resolver.phrase import cause, listed, phrase

# A value of a component: a version by the rules of a vendor, a version by PEP 440, or a name.
Value = SystemVersion | Version | str


class Grammar(msgspec.Struct, frozen=True, kw_only=True):
    """The rules by which the values of a component are written and compared."""

    # Returns the value that is written in a text. Raises ValueError if the text is no value.
    parse: Callable[[str], Value]
    # Whether values have an order, as versions do and names of chips do not.
    is_ordered: bool = True
    # The most numbers that a release line may have: 2 if `8.5.*` is one and `8.5.0.*` is not.
    line_numbers: int = 9


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """A component that targets can have, such as a driver: its name, its values, their grammar."""

    # The name in facts and stacks, in lower case.
    name: str
    # The name as people write it.
    title: str
    # The title in Chinese; may be empty.
    title_zh: str = ""
    # How values are written and compared.
    grammar: Grammar
    # An example of a value, for error messages.
    example: str
    # The values that are known to exist, oldest first.
    known: tuple[Value, ...] = ()
    # Whether a target may only have a value of `known`.
    closed: bool = False
    # Whether a target states a minimum: its machines have this value or a newer one.
    minimum: bool = False
    # Whether software that was made for one release of the component is likely to work with other
    # releases of the same release line (8.5.0 and 8.5.2).
    by_line: bool = False
    # Other names that people use for the component. On indexes these are names of projects.
    aliases: tuple[str, ...] = ()
    # The Python distributions that are installed with the component, and that no index serves.
    packages: tuple[NormalizedName, ...] = ()
    # The value of the component by the name of a machine or product: the family of a chip by the
    # name of the chip.
    names: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def label(self) -> Message:
        """Return a message with the title in each language."""
        return verbatim(self.title, self.title_zh)

    def parse(self, text: str) -> Value:
        """Return the value that is written in a text.

        Raises ValueError, with a message that quotes the text, if it is no value of the component.
        """
        text = text.strip()
        try:
            return self.grammar.parse(text)
        except ValueError:
            kind = phrase("a value")
            if self.grammar.is_ordered:
                kind = phrase("a version")
            complaint = phrase(
                "`{text}` is not {kind} of {title} such as {example}",
                text=text,
                kind=kind,
                title=self.title,
                example=self.example,
            )
            raise ValueError(complaint) from None

    def parse_stated(self, text: str) -> Value:
        """Return the value that a target states, as a value or as a key of `names`.

        Raises ValueError, with a message that quotes the text, if it is neither. If the text is
        another spelling of a known value, or the beginning of known values, or ends with one, the
        message names them.
        """
        try:
            return self.parse(self.named(text) or text)
        except ValueError as error:
            known = [str(value) for value in self.known]
            meant = [value for value in known if _plain(value) == _plain(text)]
            meant = meant or [value for value in known if value.startswith(f"{text.strip()}.")]
            word = _last_word(text)
            meant = meant or [value for value in known if _plain(value) == _plain(word)]
            if not meant:
                raise
            complaint = phrase(
                "{cause}: known are {names}", cause=cause(error), names=", ".join(meant)
            )
            if len(meant) == 1:
                complaint = phrase(
                    "{cause}: did you mean {release}?", cause=cause(error), release=meant[0]
                )
            raise ValueError(complaint) from None

    def named(self, text: str) -> str:
        """Return the value that `names` has for a name; empty if it has none.

        Letter case, separators and a final `LTS` make no difference.
        """
        for name, value in self.names.items():
            if _plain(name) == _plain(text):
                return value
        return ""

    def require_known(self, value: Value, where: str, *, takes_names: bool = False) -> None:
        """Raise InputError if the component is closed and the value is not a known one.

        `where` is the file:line that the error shows. `takes_names` says whether a key of `names`
        could be written there, too, so that the hint names two.
        """
        if self.closed and self.known and value not in self.known:
            begun = [
                phrase("{name} is {value}", name=name, value=named)
                for named, name in self._names_begun_by(str(value)).items()
            ]
            known = known_names(map(str, self.known))
            if takes_names and self.names:
                first, *_, last = (*self.names, *self.names)
                known = phrase(
                    "{known}; names such as {first} and {last} can be written, too",
                    known=known,
                    first=first,
                    last=last,
                )
            raise InputError(
                phrase("`{value}` is not a known {title}", value=value, title=self.title),
                where=where,
                hint=listed(begun) or known,
            )

    def _names_begun_by(self, text: str) -> dict[str, str]:
        """Return the shortest key of `names` that begins with a text, by the value for it."""
        shortest: dict[str, str] = {}
        for name, value in self.names.items():
            if _plain(name).startswith(_plain(text)):
                shortest[value] = min(shortest.get(value, name), name, key=len)
        return shortest


# The components of targets by name.
Components = Mapping[str, Component]


def _name(text: str) -> str:
    """Return a name in upper case. Raises ValueError for a text that is no name."""
    if not patterns.VALUE_NAME.matches(text):
        raise ValueError(
            phrase(
                "`{text}` is not {description}",
                text=text,
                description=patterns.VALUE_NAME.description,
            )
        )
    return text.upper()


def _last_word(text: str) -> str:
    """Return the last word of a text, without the `v` of a version: 8.5.1 of `CANN v8.5.1`."""
    word = text.split()[-1] if text.split() else ""
    return word[1:] if word[:1] in "vV" else word


def _plain(name: str) -> str:
    """Return the lower-case letters and digits of a name, without a final `LTS`.

    openEuler-22.03 and openeuler 22.03 LTS give the same result.
    """
    lower = name.lower().removesuffix("lts")
    return "".join(character for character in lower if character.isalnum())


# Versions by PEP 440. `Version` raises InvalidVersion, which is a ValueError.
PEP_440: Final = Grammar(parse=Version)
# Names without an order, such as names of chips. Letter case makes no difference.
NAMES: Final = Grammar(parse=_name, is_ordered=False)

# The components of every target.
BUILT_IN: Final[Components] = {
    "glibc": Component(name="glibc", title="glibc", grammar=PEP_440, example="2.28"),
    "python": Component(name="python", title="Python", grammar=PEP_440, example="3.11"),
}


def find_component(name: str, components: Components) -> Component:
    """Return the component with this name. Raises ValueError if there is none."""
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
    """Return the distinct values, sorted by their distance from `value`.

    The distance of two values is the difference of their positions in the order of all `values`. Of
    two values with the same distance the newer one comes first. `value` must be one of `values`.
    """
    ordered = sorted(dict.fromkeys(values), key=lambda other: (isinstance(other, str), other))
    positions = {other: position for position, other in enumerate(ordered)}
    position = positions[value]

    def distance(other: Value) -> tuple[int, bool]:
        is_older = positions[other] < position
        return abs(positions[other] - position), is_older

    return tuple(sorted(ordered, key=distance))


def are_of_one_line(first: Value, second: Value) -> bool:
    """Return whether two values are versions of one release line; names never are."""
    if isinstance(first, SystemVersion) and isinstance(second, SystemVersion):
        return first.line == second.line
    if isinstance(first, Version) and isinstance(second, Version):
        return first.release[:2] == second.release[:2]
    return False
