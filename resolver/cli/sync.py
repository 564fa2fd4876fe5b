"""Run `ascend-lock sync STACK`: make an environment on this machine match a lock."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import click
import msgspec
from packaging.version import InvalidVersion, Version

from resolver import files
from resolver.cli import options
from resolver.cli.common import Command
from resolver.cli.console import print_error, print_json, print_line
from resolver.cli.damage import differences, find_damage, prepare_repair
from resolver.cli.environment import (
    Environment,
    environment_python,
    read_environment,
    require_virtual,
)
from resolver.cli.options import Settings, settings
from resolver.cli.selection import NamedLock, lock_of_machine, warn_if_known_outdated
from resolver.errors import InputError, OtherMachine
from resolver.i18n import LANGUAGES, translate
from resolver.model.lock import Lock
from resolver.model.message import Message, message
from resolver.phrase import Phrase, literal, phrase
from resolver.report import verify
from resolver.report.removal import KEPT, removal_script
from resolver.report.script import FILE as INSTALL
from resolver.report.script import installation_note

# The installer whose packages are not touched: pip would remove them only in part.
_NOT_OURS: Final = "conda"
# How many of the last lines of a script that failed are shown.
_SHOWN: Final = 20


class Change(msgspec.Struct, frozen=True):
    """A distribution that is installed, replaced or removed."""

    # The normalized name.
    name: str
    # The version that is there; empty for none.
    before: str
    # The version of the lock; empty for none.
    after: str
    # Some of its files that are missing or changed; empty if its version or its source differs.
    damage: str = ""

    def message(self) -> Message:
        """Return the line that states the change."""
        if not self.before and not self.after:
            return message("sync.finish", name=self.name)
        if not self.after:
            return message("sync.remove", name=self.name, version=self.before)
        if not self.before:
            return message("sync.install", name=self.name, version=self.after)
        if self.damage:
            values = {"name": self.name, "version": self.after, "files": self.damage}
            return message("sync.repair", **values)
        if self.before == self.after:
            return message("sync.reinstall", name=self.name, version=self.after)
        return message("sync.replace", name=self.name, before=self.before, after=self.after)


class Plan(msgspec.Struct, frozen=True):
    """The changes that make an environment match a lock."""

    # The distributions that are missing or differ from the lock, sorted by name.
    install: tuple[Change, ...]
    # The distributions that the lock does not have, sorted by name.
    remove: tuple[Change, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Return all changes, first `install`, then `remove`."""
        return (*self.install, *self.remove)


def _plan_of(lock: Lock, environment: Environment, damage: Mapping[str, str]) -> Plan:
    """Return the changes after which an environment has exactly what a lock has.

    `damage` has files that are missing or changed, by the name of their distribution.
    """
    installed = {distribution.name: distribution for distribution in environment.installed}
    install = []
    for pin in sorted(lock.pin, key=lambda pin: pin.name):
        found = installed.get(pin.name)
        if found is None:
            install.append(Change(pin.name, "", pin.version))
        elif not _is_same(found.version, pin.version):
            install.append(Change(pin.name, found.version, pin.version))
        elif pin.name in damage:
            install.append(Change(pin.name, pin.version, pin.version, damage[pin.name]))
        elif found.note != installation_note(lock, pin):
            install.append(Change(pin.name, pin.version, pin.version))
    known = {*(pin.name for pin in lock.pin), *KEPT}
    extra = {
        distribution.name: distribution.version
        for distribution in environment.installed
        if distribution.installer != _NOT_OURS
    }
    unfinished = {name: "" for name in environment.unfinished if name not in installed}
    remove = [
        Change(name, version, "")
        for name, version in sorted({**unfinished, **extra}.items())
        if name not in known
    ]
    return Plan(tuple(install), tuple(remove))


def _is_same(found: str, locked: str) -> bool:
    """Return whether two texts are the same version. Invalid ones are compared as texts."""
    try:
        return Version(found) == Version(locked)
    except InvalidVersion:
        return found == locked


@click.command("sync", cls=Command)
@options.stack
@options.environment
@click.option(
    "--full",
    is_flag=True,
    help="Compare the contents of every file, not just of a sample.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before something is changed.")
@click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
@click.option(
    "--wheelhouse", metavar="DIR", help="Install from this folder, such as a bundle; no network."
)
@click.option(
    "--skip-system-checks",
    is_flag=True,
    help="Only warn if the machine itself differs from the lock's.",
)
@settings("targets")
def command(
    run: Settings,
    stack: str,
    python: str | None,
    full: bool,
    yes: bool,
    dry_run: bool,
    wheelhouse: str | None,
    skip_system_checks: bool,
) -> int:
    """Bring an environment on this machine to STACK's lock.

    Shows what is installed, replaced and removed, and asks first. What has files that are missing
    or changed is installed again. Runs the install.sh of the lock
    and, once that has succeeded, removes what the lock does not have; pip, setuptools and wheel
    stay. A run that was killed is completed by the next one.

    The exit status is 0 if the environment is as locked then, 1 if the machine or the environment
    does not match, or the answer was no, and 2 if the command is wrong.
    """
    named = lock_of_machine(stack, run)
    warn_if_known_outdated(stack, [named.lock], run)
    interpreter = environment_python(python)
    environment = read_environment(interpreter)
    require_virtual(environment, interpreter)
    target = named.lock.target
    if environment.python != target.python_line:
        raise InputError(
            phrase(
                "the lock is for Python {version}, and the environment has {python}",
                version=target.python_line,
                python=environment.python,
            ),
            where=str(interpreter),
            hint=phrase("make one: {command}", command=f"python{target.python_line} -m venv env"),
        )
    if not skip_system_checks:
        _require_machine(named, run)
    damage = find_damage(named, interpreter, run, full=full)
    plan = _plan_of(named.lock, environment, damage.files)
    if plan.changes and not dry_run:
        _require_pip(environment, interpreter)
    # A user who is asked must see what would be changed, even in a quiet run.
    if not run.as_json and not (run.is_quiet and yes):
        _print_plan(plan, environment, run)
    if dry_run:
        return _end("planned" if plan.changes else "current", 0, plan, environment, run)
    if plan.changes and not yes and not _is_confirmed(run):
        run.print_note("sync.declined")
        return 1
    arguments = ["--python", str(interpreter), "--lang", run.language]
    if wheelhouse is not None:
        arguments += ["--wheelhouse", wheelhouse]
    if skip_system_checks:
        arguments.append("--skip-system-checks")
    prepare_repair(environment, damage)
    return _bring(named, arguments, interpreter, plan, environment, run)


def _bring(
    named: NamedLock,
    arguments: list[str],
    interpreter: Path,
    plan: Plan,
    environment: Environment,
    run: Settings,
) -> int:
    """Install what a lock has, remove what it does not have, and return the exit status.

    `arguments` are passed to install.sh and verify.py.
    """
    status, said = _execute([named.folder / INSTALL, *arguments], run)
    after = _plan_of(named.lock, read_environment(interpreter), {})
    if after.install:
        # Nothing is removed before everything is there.
        why = "".join(said.splitlines(keepends=True)[-_SHOWN:]).strip()
        missing = ", ".join(f"{change.name} {change.after}" for change in after.install)
        what = phrase("not everything could be installed: {missing}", missing=missing)
        return _fail(_Failure(what, why), status or 1, plan, environment, run)
    if after.remove:
        names = [change.name for change in after.remove]
        status, said = _remove(names, interpreter, environment, run)
        if not status:
            status = _verify(named, arguments, run)
    if status:
        why = differences(named, arguments) or said.strip()
        what = phrase("{environment} does not match the lock", environment=environment.prefix)
        return _fail(_Failure(what, why), status, plan, environment, run)
    return _end("synced", 0, plan, environment, run)


def _require_machine(named: NamedLock, run: Settings) -> None:
    """Raise OtherMachine if this machine does not match the target, according to verify.py.

    The Python of this program runs it. That of the environment would run code of installed
    packages.
    """
    program = str(named.folder / verify.FILE)
    lines = subprocess.run(  # noqa: S603  the lock's program
        [sys.executable, "-I", program, "--machine-rows", "--lang", run.language],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    ).stdout.decode(errors="replace")
    rows = [line.split("\t") for line in lines.splitlines() if line.count("\t") == 2]
    wrong = [what for state, what, _ in rows if state == "wrong"]
    if not rows:
        raise InputError(
            phrase("the lock's verify.py cannot check the machine"),
            where=program,
            hint=literal(run.command("lock", named.lock.stack)),
        )
    if wrong:
        raise OtherMachine(
            phrase("this machine does not match {name}", name=named.name),
            why=literal("; ".join(wrong)),
            hint=phrase(
                "see ascend-lock verify, or choose another target; --skip-system-checks goes on "
                "nevertheless"
            ),
        )


def _require_pip(environment: Environment, python: Path) -> None:
    """Raise InputError if an environment has no pip, with which install.sh installs."""
    if environment.has_pip:
        return
    interpreter = shlex.quote(str(python))
    raise InputError(
        phrase("the environment has no pip"),
        where=environment.prefix,
        hint=phrase(
            "{command}; with uv: {uv}",
            command=f"{interpreter} -m ensurepip",
            uv=f"uv pip install --python {interpreter} pip",
        ),
    )


def _print_plan(plan: Plan, environment: Environment, run: Settings) -> None:
    """Print what would be installed, replaced and removed."""
    if not plan.changes:
        run.print_note("sync.current", environment=environment.prefix)
        return
    run.print_message("sync.plan", environment=environment.prefix, python=environment.python)
    for change in plan.changes:
        print_line(f"  {translate(change.message(), run.language)}")
    run.print_message("sync.counts", installed=len(plan.install), removed=len(plan.remove))


def _is_confirmed(run: Settings) -> bool:
    """Return whether the user says yes. Raises InputError if there is no terminal to ask on."""
    if run.as_json or not sys.stdin.isatty():
        raise InputError(
            phrase("nobody can be asked whether to change the environment"),
            hint=phrase(
                "--yes changes it without asking; --dry-run only shows what would be changed",
            ),
        )
    return click.confirm(translate("sync.ask", run.language), err=True)


def _execute(words: list[str | Path], run: Settings) -> tuple[int, str]:
    """Run a script of bash. Return its exit status, and its errors if they were not shown.

    Its output goes to stderr if stdout is for JSON. In a quiet run it is not shown.
    """
    command = ["bash", *map(str, words)]
    if run.is_quiet:
        done = subprocess.run(  # noqa: S603  a script of the lock
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
        return done.returncode, done.stderr.decode(errors="replace")
    output = sys.stderr.fileno() if run.as_json else None
    return subprocess.run(command, stdout=output, check=False).returncode, ""  # noqa: S603


def _remove(
    names: list[str], python: Path, environment: Environment, run: Settings
) -> tuple[int, str]:
    """Remove distributions from an environment. Return the exit status, and errors not shown."""
    language = str(LANGUAGES.index(run.language))
    with TemporaryDirectory(prefix=".ascend-lock-") as folder:
        script = Path(folder) / "remove.sh"
        files.write(script, removal_script().encode())
        return _execute([script, environment.prefix, python, language, *names], run)


def _verify(named: NamedLock, arguments: list[str], run: Settings) -> int:
    """Check the environment again after packages were removed. Return the exit status."""
    output: int | None = sys.stderr.fileno() if run.as_json else None
    if run.is_quiet:
        output = subprocess.DEVNULL
    program = str(named.folder / verify.FILE)
    command = [sys.executable, "-I", program, *arguments]
    return subprocess.run(command, stdout=output, check=False).returncode  # noqa: S603


class _Failure(msgspec.Struct, frozen=True):
    """Why an environment does not match its lock after a run."""

    # What happened.
    what: Phrase
    # The differences, or the output of the script; empty if that was shown.
    why: str


def _fail(failure: _Failure, code: int, plan: Plan, environment: Environment, run: Settings) -> int:
    """Report the failure of a run where nothing else has done so, and return the exit status."""
    if run.as_json:
        reason = {"message": str(failure.what), "why": failure.why}
        return _end("failed", code, plan, environment, run, **reason)
    if run.is_quiet:
        print_error(OtherMachine(failure.what, why=literal(failure.why)), run.language)
    return code


def _end(
    status: str,
    code: int,
    plan: Plan,
    environment: Environment,
    run: Settings,
    **reason: str,
) -> int:
    """Print the result as JSON if that is wanted, and return the exit status."""
    if run.as_json:
        document: dict[str, Any] = {
            "status": status,
            "environment": environment.prefix,
            **msgspec.to_builtins(plan),
            **reason,
        }
        print_json(document)
    return code
