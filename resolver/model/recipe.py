"""How a project is made from its sources: what it needs, what is patched, how it is built."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from packaging.utils import NormalizedName
from packaging.version import Version


class Move(msgspec.Struct, frozen=True):
    """A file of the checkout takes the place of another: `mv before after`."""

    before: str
    after: str


class Comment(msgspec.Struct, frozen=True):
    """Lines of a file that a regular expression (Python's) finds are commented out; one must be found."""

    pattern: str
    file: str


class Run(msgspec.Struct, frozen=True):
    """A command in the checkout. With `wheels`, a glob that matches one file, it builds the wheel."""

    command: tuple[str, ...]
    wheels: str = ""


Step = Move | Comment | Run


class Submodule(msgspec.Struct, frozen=True):
    """A repository inside the checkout: its folder, its address, and the commit that the one around it names."""

    path: str
    git: str
    commit: str


def container(path: str, paths: Iterable[str]) -> str:
    """Which of the submodules at `paths` the one at `path` is in, the innermost; nothing for the checkout itself."""
    return max((one for one in paths if path.startswith(f"{one}/")), key=len, default="")


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a project at one commit. `version` is what the build calls itself.

    `requires` are PEP 508 lines as in core metadata, with `extra == "x"` in their markers. `drop` names what
    the project's own metadata asks for and this leaves out on purpose.
    `rewrites` are distributions whose installed files the project changes when it is built or installed.
    `submodules` are in the checkout, each after the one that it is in.
    """

    version: Version
    requires: tuple[str, ...]
    drop: tuple[NormalizedName, ...] = ()
    requires_python: str = ""
    build_requires: tuple[str, ...]
    isolation: bool = True
    editable: bool = False
    env: tuple[tuple[str, str], ...] = ()  # `{version}` stands for the version
    steps: tuple[Step, ...] = ()
    rewrites: tuple[NormalizedName, ...] = ()
    submodules: tuple[Submodule, ...] = ()

    @property
    def script(self) -> Run | None:
        """The step that builds the wheel, where a script does."""
        return next((step for step in self.steps if isinstance(step, Run) and step.wheels), None)
