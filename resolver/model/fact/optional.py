"""`optional`: what may fail to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from resolver.model import patterns
from resolver.model.fact.base import Fact, Mistake, Need
from resolver.model.requirement import Requirement
from resolver.model.text import Text, matching

if TYPE_CHECKING:
    from resolver.model.resolution import Pin, Resolution


class Optional(Fact, frozen=True, kw_only=True):
    """Modules and commands of `package` that may fail to start: verify.py tells the reason.

    The excuse holds wherever one of `needs` is not in the lock; with `npu`, where there is no NPU
    that works; with neither, always.
    """

    # Modules by their dotted names, as they are imported.
    modules: tuple[Annotated[str, matching(patterns.MODULE)], ...] = ()
    # Entry points by their names: commands, and plugins of vllm.
    scripts: tuple[Text, ...] = ()
    # What they need of other projects: those of an extra that was not asked for.
    needs: tuple[Requirement, ...] = ()
    # Whether they need an NPU with its driver and CANN.
    npu: bool = False

    def mistakes(self) -> Iterator[Mistake]:
        """Yield that a row names nothing that is optional, or two things that it needs."""
        if not self.modules and not self.scripts:
            yield Mistake(
                "a fact about what is optional says what that is",
                ("modules",),
                hint='add modules = ["…"] or scripts = ["…"]',
            )
        if self.npu and self.needs:
            yield Mistake(
                "what is optional needs either an NPU or other projects",
                ("npu",),
                hint="write a row for each of the two",
            )

    @property
    def conditions(self) -> tuple[Need, ...]:
        """Return what the modules and commands need."""
        return self.needs

    @property
    def mentions(self) -> tuple[str, ...]:
        """Return the projects that are needed, or else what may fail to start."""
        needed = tuple(need.name for need in self.needs)
        return needed or (*self.modules, *self.scripts)

    def concerns_pin(self, pin: Pin, resolution: Resolution) -> bool:
        """Return whether the lock lacks something that is needed, if anything is."""
        return not self.needs or not all(map(resolution.meets, self.needs))
