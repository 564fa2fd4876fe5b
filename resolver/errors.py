"""What goes wrong, said so that a person can act on it.

Every failure that a user can meet is a `ResolverError`: what happened, where,
why, and a hint. The exit statuses are part of the command's contract.
"""

from __future__ import annotations

from typing import ClassVar


class ResolverError(Exception):
    """A failure with a message for the user.

    `message` says what; `where` is a file with line and key, or an address
    without credentials; `why` the cause; `hint` what to do about it.
    """

    exit_status: ClassVar[int] = 2

    def __init__(self, message: str, *, where: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message]
        if self.where:
            lines.append(f"  at {self.where}")
        if self.why:
            lines.append(f"  {self.why}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class InputError(ResolverError):
    """A stack, fact, option or file on this machine is wrong (exit status 2)."""

    exit_status = 2


class IndexFailure(ResolverError):
    """An index could not be reached, or answered with something unusable (exit status 3)."""

    exit_status = 3


class StaleLock(ResolverError):
    """A lock is no longer what its inputs say (exit status 4)."""

    exit_status = 4


class UndecidedError(ResolverError):
    """No engine could decide within its limits (exit status 3): never told as "no solution"."""

    exit_status = 3


class FactError(InputError):
    """A fact contradicts the index: it matches no release, or names an unknown project."""
