"""The part of a lock that can be checked on a machine."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class LockedDistribution(NamedTuple):
    """A pin. `stage` says when it is installed; `sha256` are its files, of which none is known before for a build.

    `commit` and `editable` speak of a pin from git.
    """

    name: str
    version: str
    stage: int
    built: bool = False
    sha256: tuple[str, ...] = ()
    commit: str = ""
    editable: bool = False


class DriverNeed(NamedTuple):
    """What `by` asks of the driver: any of `ranges`, each of them all of its comparisons, such as `>=` and `25.0.rc1`.

    `wanted` says the same for people, `reason` why and who says so, in each language. Where it is not `binding`, what
    does not meet it is a warning.
    """

    by: str
    wanted: str
    ranges: tuple[tuple[tuple[str, str], ...], ...]
    binding: bool
    strength: str
    source: str
    reason: Mapping[str, str]


@dataclass(frozen=True)
class LockedStack:
    """All that verify.py knows of the lock that it belongs to; `texts` are what it tells, by language and code."""

    stack: str
    target: str
    platform: str
    python: str
    glibc: str
    system: Mapping[str, str] = field(default_factory=dict)
    pins: Mapping[str, LockedDistribution] = field(default_factory=dict)
    overrides: frozenset[tuple[str, str, str]] = frozenset()
    imports: tuple[str, ...] = ()
    import_env: Mapping[str, str] = field(default_factory=dict)
    rewritten: frozenset[str] = frozenset()
    absent: Mapping[str, str] = field(default_factory=dict)
    driver: tuple[DriverNeed, ...] = ()
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> LockedStack:
        """Read the lock's data, which is the last text of this file."""
        raw: dict[str, Any] = json.loads(text)
        pins = [LockedDistribution(**{**pin, "sha256": tuple(pin.get("sha256", ()))}) for pin in raw["pins"]]
        return cls(
            **{
                **raw,
                "pins": {pin.name: pin for pin in pins},
                "overrides": frozenset(map(tuple, raw["overrides"])),
                "imports": tuple(raw["imports"]),
                "rewritten": frozenset(raw.get("rewritten", ())),
                "driver": tuple(DriverNeed(**need) for need in raw.get("driver", ())),
            }
        )


def is_shared() -> bool:
    """Whether this Python is in no virtual or conda environment, as install.sh has it."""
    return sys.prefix == sys.base_prefix and not os.path.isdir(os.path.join(sys.prefix, "conda-meta"))


@dataclass(frozen=True)
class Asked:
    """What this run was asked: the lock, where things are, and how thoroughly."""

    lock: LockedStack
    folder: str
    environ: Mapping[str, str]
    ascend: str = "/usr/local/Ascend"
    wheelhouse: str = ""
    full: bool = False

    @property
    def line(self) -> str:
        """`3.11`, the line of Python that the lock is for."""
        return ".".join(self.lock.python.split(".")[:2])

    @property
    def python(self) -> str:
        """The environment's Python, for commands that are shown."""
        return shlex.quote(sys.executable)

    @property
    def install(self) -> str:
        """The command that installs what is missing."""
        return self._install("--python", sys.executable, *(["--system"] if is_shared() else []))

    @property
    def fresh(self) -> str:
        """The command that makes an environment of its own for the lock."""
        return f"python{self.line} -m venv env && . env/bin/activate && {self._install()}"

    def _install(self, *options: str) -> str:
        wheelhouse = ["--wheelhouse", self.wheelhouse] if self.wheelhouse else []
        return " ".join(map(shlex.quote, ["bash", f"{self.folder}/install.sh", *options, *wheelhouse]))

    def again(self, *names: str) -> str:
        """The command that takes distributions away and installs what the lock has of them.

        Without pip nothing can be installed, so Python's own takes the place of one that goes. From a Python that
        other programs share nothing is taken away.
        """
        if is_shared():
            return self.fresh
        commands = [f"{self.python} -m pip uninstall -y {' '.join(map(shlex.quote, names))}"]
        if "pip" in names:
            commands.append(f"{self.python} -m ensurepip")
        return " && ".join([*commands, self.install])
