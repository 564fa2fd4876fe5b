"""`external`: what a build needs of the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from resolver.model.fact.base import Fact
from resolver.model.message import Message, message
from resolver.model.text import NOT_EMPTY

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution

# What a build can need: compilers of C and C++, the headers of Python, and commands.
MachineNeed = Literal["c", "c++", "python-headers", "cmake", "make", "git"]


class External(Fact, frozen=True, kw_only=True):
    """What a build of `package`, from an archive or a commit, needs of the machine.

    install.sh first checks for it, except for what the lock itself installs, such as cmake.
    """

    # What must be there.
    needs: Annotated[tuple[MachineNeed, ...], NOT_EMPTY]

    @property
    def unconfirmed(self) -> Message:
        """Return that no index knows what a build needs of the machine."""
        return message("upstream.remark-machine", needs=", ".join(self.needs))

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the pin is built, from a commit or an archive."""
        return pin.release.source is not None or not pin.release.file.is_wheel
