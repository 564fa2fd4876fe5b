"""`optional`: modules and commands that may fail to start."""

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
    """Modules and commands of `package` that may fail to start.

    verify.py starts everything, and reports such a failure with the reason of the fact instead of
    an error. With `needs`, they may fail if one of these requirements is not in the lock. With
    `device`, they may fail on a machine without a working accelerator. With neither, they may fail
    on every machine.
    """

    # The dotted names of the modules.
    modules: tuple[Annotated[str, matching(patterns.MODULE)], ...] = ()
    # The names of entry points: commands, and plugins of vllm.
    scripts: tuple[Text, ...] = ()
    # Requirements of the modules and commands that `package` itself does not have, such as the
    # requirements of an extra.
    needs: tuple[Requirement, ...] = ()
    # Whether they need an accelerator with its driver and toolkit.
    device: bool = False

    def mistakes(self) -> Iterator[Mistake]:
        """Yield a mistake for a row without modules and scripts, or with `device` and `needs`."""
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
        """Return the requirements of the modules and commands."""
        return self.needs

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the projects of `needs`; without `needs`, the modules and commands."""
        if self.needs:
            return projects_of(self.needs)
        return (*self.modules, *self.scripts)

    @property
    def unconfirmed(self) -> Message:
        """Return an audit's remark on the fact.

        Indexes do not say which modules and commands start.
        """
        return message("upstream.remark-starts")

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the lock does not meet all of `needs`, or the fact has no `needs`."""
        if not self.needs:
            return True
        return not all(resolution.meets(need) for need in self.needs)
