"""Accept the names that commands had in earlier releases. A hint shows the present name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from resolver.cli import MATRIX_COMMANDS


class FormerName(NamedTuple):
    """A name that a command had in an earlier release."""

    # The former name of the command.
    command: str
    # The present command that does the same.
    current: str
    # An option that made it another command. Its value is the last argument of the present one.
    # Empty for none.
    option: str = ""
    # Words after the name with which it means something else today.
    unless: frozenset[str] = frozenset()

    @property
    def words(self) -> str:
        """Return the former name as it was written on a command line."""
        return f"{self.command} {self.option}".rstrip()

    def rewritten(self, arguments: Sequence[str]) -> list[str] | None:
        """Return arguments with the present name; None if they do not begin with the former one."""
        first, *others = arguments
        if first != self.command or not self.unless.isdisjoint(others):
            return None
        # A misspelled present command, such as `matrix shwo`, is no former name. Neither is the
        # bare command: it lists the present ones, as solving a whole grid takes minutes.
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


# The former names. They will be removed in the release after the next one.
FORMER_NAMES: Final = (
    FormerName("stacks", "lock"),
    FormerName("snapshot", "lock --record"),
    FormerName("pairs", "matrix show"),
    FormerName("matrix", "matrix build", unless=frozenset({*MATRIX_COMMANDS, "-h", "--help"})),
    FormerName("explain", "why", option="--package"),
)


def find_former(arguments: Sequence[str]) -> tuple[FormerName, list[str]] | None:
    """Return the former name that arguments begin with, and the arguments with the present one.

    None if they begin with no former name.
    """
    for former in FORMER_NAMES:
        current = former.rewritten(arguments)
        if current is not None:
            return former, current
    return None
