"""Find damaged files of a lock's distributions with verify.py, and prepare their repair."""

from __future__ import annotations

import contextlib
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
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder
from resolver.phrase import literal, phrase
from resolver.report.verify import FILE

# Findings that are repaired by installing the distribution again.
_DAMAGED_FILES: Final = frozenset({"file-missing", "file-changed", "file-unreadable"})
# Findings about metadata with which pip cannot uninstall. Their folder must be removed first.
_DAMAGED_RECORD: Final = frozenset({"record-missing", "record-broken"})


class _Finding(msgspec.Struct, frozen=True):
    """A finding in the JSON of verify.py."""

    # The code of the finding.
    code: str
    # The state, such as `wrong`.
    state: str
    # What was found, in a sentence.
    what: str
    # Why it was found or matters; may be empty.
    why: str
    # The values in the sentence, by name.
    values: dict[str, str]


class _Group(msgspec.Struct, frozen=True):
    """A group of findings in the JSON of verify.py."""

    # The findings of the check.
    findings: tuple[_Finding, ...]


class _Report(msgspec.Struct, frozen=True):
    """The JSON of verify.py."""

    # The groups of findings, one for each check.
    groups: tuple[_Group, ...]

    @property
    def findings(self) -> list[_Finding]:
        """Return the findings of all groups."""
        findings: list[_Finding] = []
        for group in self.groups:
            findings += group.findings
        return findings


class Damage(msgspec.Struct, frozen=True):
    """The damaged distributions of a lock."""

    # Some of the files that are missing or changed, by the name of the distribution.
    files: dict[str, str]
    # The folders of metadata with which pip cannot uninstall.
    metadata: tuple[str, ...]


def find_damage(named: NamedLock, python: Path, run: Settings, *, full: bool) -> Damage:
    """Return what is damaged in an environment. No code of installed packages is run.

    All files must exist and have the right size. With `full`, the contents of all files are
    compared. Raises InputError if the lock's verify.py does not report.
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
    """Make the next install.sh install damaged distributions again.

    Their notes are removed. Without its note, a distribution counts as different from the lock, so
    install.sh replaces it. If the run is killed, this stays so, and the next run continues.
    """
    prefix = Path(environment.prefix).resolve()
    notes = [
        Path(distribution.note_file)
        for distribution in environment.installed
        if distribution.name in damage.files and distribution.note_file
    ]
    with OwnedFolder.open(prefix) as owned:
        # A link in the place of metadata leads to another environment. install.sh refuses it.
        for note in notes:
            name = _name_in(prefix, note.parent)
            if name:
                with contextlib.suppress(OSError):
                    owned.remove(f"{name}/{note.name}")
        for folder in map(Path, damage.metadata):
            name = _name_in(prefix, folder)
            if name and owned.kind(name) is Kind.FOLDER:
                with contextlib.suppress(OSError):
                    owned.remove_tree(name)


def _name_in(prefix: Path, metadata: Path) -> str:
    """Return the name of a folder of metadata in an environment; empty if it is elsewhere.

    Links in the path of site-packages are resolved, but the folder itself may be one.
    """
    folder = metadata.parent.resolve()
    if not folder.is_relative_to(prefix):
        return ""
    return (folder / metadata.name).relative_to(prefix).as_posix()


def differences(named: NamedLock, arguments: Sequence[str]) -> str:
    """Return the differences from the lock that verify.py finds; empty if it reports none."""
    report = _report(named, arguments)
    findings = report.findings if report else []
    wrong = [f"{finding.what} ({finding.why})" for finding in findings if finding.state == "wrong"]
    return "; ".join(wrong)


def _report(named: NamedLock, arguments: Sequence[str]) -> _Report | None:
    """Return the report of the lock's verify.py, run with the Python of this program.

    None if it does not report.
    """
    command = [sys.executable, "-I", str(named.folder / FILE), "--json", *arguments]
    done = subprocess.run(  # noqa: S603  the lock's program
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    try:
        return msgspec.json.decode(done.stdout, type=_Report)
    except msgspec.DecodeError:
        return None
