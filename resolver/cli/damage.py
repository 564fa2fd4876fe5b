"""Damage of an environment: what verify.py finds of a lock's distributions, and its repair."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from resolver.cli.environment import Environment
from resolver.cli.options import Settings
from resolver.cli.selection import NamedLock
from resolver.errors import InputError
from resolver.phrase import literal, phrase
from resolver.report.verify import FILE

# What another installation of the distribution repairs.
_DAMAGED_FILES: Final = frozenset({"file-missing", "file-changed", "file-unreadable"})
# The same of metadata that pip cannot uninstall by: its folder goes before.
_DAMAGED_RECORD: Final = frozenset({"record-missing", "record-broken"})


class _Finding(msgspec.Struct, frozen=True):
    """A finding in the JSON of verify.py."""

    code: str
    # Such as `wrong`.
    state: str
    what: str
    why: str
    values: dict[str, str]


class _Group(msgspec.Struct, frozen=True):
    """A group of findings."""

    findings: tuple[_Finding, ...]


class _Report(msgspec.Struct, frozen=True):
    """The JSON of verify.py."""

    groups: tuple[_Group, ...]

    @property
    def findings(self) -> list[_Finding]:
        """Return the findings of all groups."""
        return [finding for group in self.groups for finding in group.findings]


class Damage(msgspec.Struct, frozen=True):
    """What is damaged of a lock's distributions."""

    # Some of the files that are missing or changed, by the name of the distribution.
    files: dict[str, str]
    # The folders of metadata that pip cannot uninstall by.
    metadata: tuple[str, ...]


def find_damage(named: NamedLock, python: Path, run: Settings, *, full: bool) -> Damage:
    """Return what is damaged in an environment, without running code of what is installed.

    All files must be there, in their sizes; with `full`, the contents of all are compared. Raise
    InputError if the lock's verify.py cannot tell.
    """
    arguments = ["--files", "--python", str(python), "--lang", run.language]
    report = _report(named, [*arguments, *(["--full"] if full else [])])
    if report is None:
        raise InputError(
            phrase("the lock's verify.py cannot check the files"),
            where=str(named.folder / FILE),
            hint=literal(run.command("lock", named.lock.stack)),
        )
    pins = {pin.name for pin in named.lock.pin}
    files: dict[str, list[str]] = {}
    metadata = []
    for finding in report.findings:
        name = finding.values.get("name", "")
        if name not in pins:
            continue
        if finding.code in _DAMAGED_FILES:
            files.setdefault(name, []).append(finding.values["list"])
        elif finding.code in _DAMAGED_RECORD:
            files.setdefault(name, []).append("RECORD")
            metadata.append(finding.values["folder"])
    return Damage({name: ", ".join(files[name]) for name in sorted(files)}, tuple(metadata))


def prepare_repair(environment: Environment, damage: Damage) -> None:
    """Make install.sh install anew what is damaged.

    Without its note, a distribution is not as locked: install.sh downloads it, and has pip replace
    it then. A run that is killed leaves it so, and the next one goes on.
    """
    for row in environment.installed:
        if row.name in damage.files and row.note_file:
            Path(row.note_file).unlink(missing_ok=True)
    prefix = Path(environment.prefix).resolve()
    for folder in map(Path, damage.metadata):
        if folder.parent.resolve().is_relative_to(prefix) and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)


def differences(named: NamedLock, arguments: Sequence[str]) -> str:
    """Return what differs from the lock, as verify.py tells it; empty if it tells nothing."""
    report = _report(named, arguments)
    findings = report.findings if report else []
    wrong = [f"{row.what} ({row.why})" for row in findings if row.state == "wrong"]
    return "; ".join(wrong)


def _report(named: NamedLock, arguments: Sequence[str]) -> _Report | None:
    """Run the lock's verify.py with our own Python, and return its report; None without one."""
    command = [sys.executable, "-I", str(named.folder / FILE), "--json", *arguments]
    done = subprocess.run(  # noqa: S603  the lock's program
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    try:
        return msgspec.json.decode(done.stdout, type=_Report)
    except msgspec.DecodeError:
        return None
