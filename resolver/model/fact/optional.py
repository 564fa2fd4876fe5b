"""`optional`: what may fail to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from resolver.model import patterns
from resolver.model.fact.base import Fact, Mistake, Need, projects_of
from resolver.model.message import Message, message
from resolver.model.requirement import Requirement
from resolver.model.text import Text, matching
from resolver.phrase import phrase

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class Optional(Fact, frozen=True, kw_only=True):
    """Modules and commands of `package` that may fail to start: verify.py shows the reason.

    With `needs` they may fail if the lock lacks one of these. With `device` they may fail where no
    accelerator works. Otherwise they may always fail.
    """

    # Modules, by dotted name.
    modules: tuple[Annotated[str, matching(patterns.MODULE)], ...] = ()
    # Entry points, by name: commands, and plugins of vllm.
    scripts: tuple[Text, ...] = ()
    # The projects that they need and the lock may lack, such as the requirements of an extra.
    needs: tuple[Requirement, ...] = ()
    # Whether they need an accelerator with its driver and toolkit.
    device: bool = False

    def mistakes(self) -> Iterator[Mistake]:
        """Yield that the row names nothing that is optional, or has both `device` and `needs`."""
        if not self.modules and not self.scripts:
            yield Mistake(
                phrase("a fact about what is optional says what that is"),
                ("modules",),
                hint=phrase('add modules = ["…"] or scripts = ["…"]'),
            )
        if self.device and self.needs:
            yield Mistake(
                phrase("what is optional needs either an accelerator or other projects"),
                ("device",),
                hint=phrase("write a row for each of the two"),
            )

    @property
    def conditions(self) -> tuple[Need, ...]:
        """Return what the modules and commands need."""
        return self.needs

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the projects that are needed; without any, the modules and commands."""
        if self.needs:
            return projects_of(self.needs)
        return (*self.modules, *self.scripts)

    @property
    def unconfirmed(self) -> Message:
        """Return that no index knows what starts."""
        return message("upstream.remark-starts")

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the lock lacks one of `needs`, or there are none."""
        if not self.needs:
            return True
        return not all(resolution.meets(need) for need in self.needs)
