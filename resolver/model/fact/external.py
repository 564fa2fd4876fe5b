"""`external`: compilers and other programs of the machine that a build needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from resolver.model.fact.base import Fact
from resolver.model.message import Message, message
from resolver.model.text import NOT_EMPTY

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution

# What a build can need from the machine: compilers of C and C++, the headers of Python, and
# commands.
MachineNeed = Literal["c", "c++", "python-headers", "cmake", "make", "git"]


class External(Fact, frozen=True, kw_only=True):
    """What a build of `package`, from an archive or a commit, needs from the machine.

    install.sh looks for it before it installs anything. It does not look for programs that the lock
    installs for the build, such as cmake.
    """

    # The compilers, headers and commands that the machine must have.
    needs: Annotated[tuple[MachineNeed, ...], NOT_EMPTY]

    @property
    def unconfirmed(self) -> Message:
        """Return an audit's remark on the fact.

        Indexes do not say what a build needs of the machine.
        """
        return message("upstream.remark-machine", needs=", ".join(self.needs))

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the pin is built from a commit or a source archive."""
        return pin.release.source is not None or not pin.release.file.is_wheel
