"""Names that commands had in earlier releases: they still work, with a hint at the new name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from resolver.cli import MATRIX_COMMANDS


class FormerName(NamedTuple):
    """A name of an earlier release."""

    # The command that had it.
    command: str
    # The words of the command that does the same today.
    current: str
    # The option that had a meaning of its own: its value is the last argument today.
    option: str = ""
    # Words with which the command means something else today.
    unless: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """Return the name as it was written on a command line."""
        return f"{self.command} {self.option}".rstrip()

    def rewritten(self, arguments: Sequence[str]) -> list[str] | None:
        """Return arguments with today's name; None if they do not begin with this one."""
        first, *others = arguments
        if first != self.command or not self.unless.isdisjoint(others):
            return None
        # A word that is misspelt today, such as `matrix shwo`, is none of an earlier release. The
        # bare command shows what there is today: solving a whole grid takes minutes.
        if self.unless and not any(word.startswith("-") for word in others[:1]):
            return None
        if not self.option:
            return [*self.current.split(), *others]
        for number, word in enumerate(others):
            option, equals, value = word.partition("=")
            if option != self.option:
                continue
            before, after = others[:number], others[number + 1 :]
            if not equals:
                values, after = after[:1], after[1:]
            else:
                values = [value]
            return [*self.current.split(), *before, *after, *values]
        return None


# To be dropped with the release after the next.
FORMER_NAMES: Final = (
    FormerName("stacks", "lock"),
    FormerName("snapshot", "lock --record"),
    FormerName("pairs", "matrix show"),
    FormerName("matrix", "matrix build", unless=frozenset({*MATRIX_COMMANDS, "-h", "--help"})),
    FormerName("explain", "why", option="--package"),
)


def find_former(arguments: Sequence[str]) -> tuple[FormerName, list[str]] | None:
    """Return the former name that arguments begin with, and the arguments with today's name."""
    for former in FORMER_NAMES:
        current = former.rewritten(arguments)
        if current is not None:
            return former, current
    return None
