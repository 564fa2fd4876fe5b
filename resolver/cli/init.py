"""`ascend-lock init`: a stack for this machine, or a named one, from the matrix of what goes together."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click
from msgspec.structs import replace

from resolver import files
from resolver.cli import options
from resolver.cli.options import Settings, settings
from resolver.config.load import load_systems, read_text
from resolver.config.schema import StackFile
from resolver.errors import InputError, NothingToLock, escaped, harmless
from resolver.i18n import translate
from resolver.model.matrix import LOCKED, CellOutcome, Matrix, stack_text
from resolver.model.patterns import GLIBC
from resolver.model.system import SystemVersion
from resolver.model.target import PLATFORMS
from resolver.report.matrix import read_matrix
from resolver.verify.ascend import ask_npu_smi, check_cann, check_hdk, soc_family
from resolver.verify.findings import CheckContext, LockedStack

# The fields to choose a cell by, and their options, in the order of the prompts.
_FIELDS: Final = {
    "cann": "--cann",
    "soc": "--soc",
    "platform": "--platform",
    "python": "--python",
    "use": "--for",
}
_ANY = "0.0.0"  # the checks compare what they find with a lock's; here only what they find counts
_ASCEND = "/usr/local/Ascend"


class Machine(NamedTuple):
    """What a stack's `[target]` would say of this machine; empty where nothing is known.

    `python` is the one that runs this, and `hdk` the driver.
    """

    python: str
    platform: str
    glibc: str
    cann: str
    hdk: str
    soc: str


@click.command("init")
@click.option(
    "--for",
    "use",
    metavar="USE",
    help="What the machine is for: serve, train, verl, trl, ms-swift, …",
)
@click.option("--cann", metavar="VERSION", help="The machine's CANN, such as 8.5.1.")
@click.option("--soc", metavar="FAMILY", help="The family of its NPUs, such as A2 or A3.")
@click.option("--platform", type=click.Choice(PLATFORMS), help="Its platform.")
@click.option("--python", metavar="X.Y", help="Its Python, such as 3.11.")
@click.option(
    "--glibc",
    metavar="VERSION",
    help="Its glibc, or its system: 2.34, 'openEuler 22.03', 'Kylin V10'.",
)
@click.option("--pre", is_flag=True, help="Take a pre-release if it is newer.")
@options.output("USE.toml")
@settings("language", "own_matrices")
def command(
    run: Settings,
    use: str | None,
    pre: bool,
    glibc: str | None,
    output: Path | None,
    **options_of_target: str | None,
) -> int:
    """Write a stack for a machine and a purpose.

    It has the newest release that the matrix knows to lock there. On a machine with an NPU, what is
    not given is read from it; elsewhere it is asked for on a terminal.
    """
    matrix = read_matrix(run.matrices / "matrix.json")
    machine = this_machine()._asdict()
    fields = {
        key: _spelt(key, value) for key, value in {**options_of_target, "use": use}.items() if value
    }
    if (
        machine["cann"] or machine["soc"]
    ):  # else this is a machine to lock on, not one to install on
        fields = {key: value for key, value in machine.items() if key in _FIELDS and value} | fields
    unknown = [option for key, option in _FIELDS.items() if key not in fields]
    if unknown and not sys.stdin.isatty():
        choices = " ".join(
            f"{option} {'|'.join(_values(key, matrix, fields))}" for key, option in _FIELDS.items()
        )
        raise InputError(
            f"not known of this machine: {', '.join(unknown)}", hint=f"ascend-lock init {choices}"
        )
    chosen = {key: _chosen(key, matrix, fields, run) for key in _FIELDS}
    outcomes = (LOCKED, (CellOutcome.EXPECTED,), (CellOutcome.UNDECIDED,))
    answer = next(filter(None, (matrix.newest(chosen, some, pre=pre) for some in outcomes)), None)
    if answer is None:
        raise _refusal(matrix, chosen, run)
    cell = answer.cell
    row = next(row for row in matrix.uses if row.name == chosen["use"])
    if row.stack:
        run.print_message("init.shipped", stack=row.stack, command=run.command("lock", row.stack))
        return 0
    path = output or Path(f"{chosen['use']}.toml")
    options.require_absent(path)
    own_glibc = _glibc(glibc, run) if glibc else machine["glibc"] if machine["cann"] else ""
    text = stack_text(
        replace(cell, glibc=own_glibc or cell.glibc), row, answer.practices, path.stem
    )
    read_text(text, StackFile, str(path))  # not every name of a file is one of a stack
    files.write(path, text.encode())
    release = f"{cell.package} {cell.release}"
    if answer.reason is not None:
        reason = translate(answer.reason, run.language)
        code = "init.expected" if answer.outcome is CellOutcome.EXPECTED else "init.undecided"
        run.print_message(code, path=path, release=release, reason=reason, date=matrix.date)
    else:
        run.print_message(
            "init.written", path=path, release=release, count=len(answer.pins), date=matrix.date
        )
        if answer.practices:
            run.print_message("init.practices", names=answer.practices)
    if own_glibc and own_glibc != cell.glibc:
        run.print_message("init.glibc", glibc=own_glibc, solved=cell.glibc)
    run.print_message("init.next", command=run.command("lock", str(path)))
    return 0


def _glibc(text: str, run: Settings) -> str:
    """Return the version of glibc that is given, or that a system of this name has.

    Raises InputError.
    """
    systems = load_systems(run.matrices)
    component = systems.content.component.get("glibc") if systems is not None else None
    names = component.names if component is not None else {}
    known = {_plain(name): version for name, version in names.items()}
    if GLIBC.matches(text):
        return text
    if _plain(text) in known:
        return known[_plain(text)]
    hint = f"give its version (ldd --version), or one of {', '.join(names)}"
    raise InputError(
        f"`{escaped(text)}` is no version of glibc, and no system that is known",
        where="--glibc",
        hint=hint,
    )


def _plain(name: str) -> str:
    """Return a system's name without what people write in several ways: openEuler-22.03, openeuler 22.03 LTS."""
    return "".join(
        character for character in name.lower().removesuffix("lts") if character.isalnum()
    )


def _spelt(key: str, value: str) -> str:
    """A value as the matrix spells it: CANN `8.3.rc2` is 8.3.RC2, a SoC is in capitals.

    Raises InputError.
    """
    return str(options.component(key, value)) if key in ("cann", "soc") else value


def _chosen(key: str, matrix: Matrix, fields: dict[str, str], run: Settings) -> str:
    """A value that the matrix has; if it is not among the `fields`, the user is prompted for it, and it is added."""
    choices = _values(
        key, matrix, {other: value for other, value in fields.items() if other != key}
    )
    if key not in fields:
        question = translate(f"matrix.page-{key}", run.language)
        shown = {harmless(choice): choice for choice in choices}
        answer = click.prompt(  # noqa: TID251  its texts are harmless
            question, type=click.Choice([*shown]), default=[*shown][-1]
        )
        fields[key] = shown[str(answer)]
    elif fields[key] not in _values(key, matrix, {}):
        what = f"the matrix has no cell for `{fields[key]}`"
        raise InputError(what, where=_FIELDS[key], hint=f"it has {', '.join(choices)}")
    return fields[key]


def _values(key: str, matrix: Matrix, fields: Mapping[str, str]) -> list[str]:
    """The values of a field among the cells with these others, or among all, in an order that people expect."""
    cells = [answer.cell for answer in matrix.answers]
    fitting = [
        cell
        for cell in cells
        if all(getattr(cell, name) == value for name, value in fields.items())
    ]
    values = {getattr(cell, key) for cell in fitting or cells}
    order: Iterable[str] = (
        matrix.canns if key == "cann" else [use.name for use in matrix.uses] if key == "use" else ()
    )
    return [value for value in order if value in values] or sorted(values)


def _refusal(matrix: Matrix, chosen: Mapping[str, str], run: Settings) -> NothingToLock:
    """Why no cell locks: the conflict of the newest release, and the nearest cells that lock."""
    refused = matrix.newest(chosen, (CellOutcome.CONFLICT,))
    what = ", ".join(chosen.values())
    if refused is None or refused.reason is None:
        return NothingToLock(
            f"the vendor's tables have nothing for {what}", hint=run.command("pairs")
        )
    nearest = [
        f"{answer.cell.package} {answer.cell.release} (CANN {answer.cell.cann}, SoC {answer.cell.soc})"
        for answer in matrix.ways_out(refused)
    ]
    return NothingToLock(
        f"nothing locks for {what}",
        why=f"{refused.cell.package} {refused.cell.release}: {translate(refused.reason, run.language)}",
        hint=f"nearest: {', '.join(nearest)}" if nearest else run.command("pairs"),
    )


def this_machine(environ: Mapping[str, str] = os.environ, ascend: str = _ASCEND) -> Machine:
    """By files and npu-smi, with the active or else the current CANN; driver and CANN are installed in `ascend`."""
    lock = LockedStack("", "", "", "", "", {"cann": _ANY})
    context = CheckContext(lock, "", environ, ascend=ascend)
    tool = ask_npu_smi(context)
    library, glibc = platform.libc_ver()
    canns = (
        check_cann(CheckContext(lock, "", env)).values["found"]
        for env in _environments(environ, ascend)
    )
    return Machine(
        python=".".join(platform.python_version_tuple()[:2]),
        platform=f"{platform.system().lower()}-{platform.machine()}",
        glibc=glibc if library == "glibc" else "",
        cann=next(filter(None, map(_release, canns)), ""),
        hdk=_release(check_hdk(context, tool).values["found"]),
        soc=soc_family(tool.chip),
    )


def _environments(environ: Mapping[str, str], ascend: str) -> Iterator[Mapping[str, str]]:
    """The environment, and what it would be with each CANN that an installation makes the current one."""
    yield environ
    if not environ.get("ASCEND_HOME_PATH") and not environ.get("ASCEND_TOOLKIT_HOME"):
        homes = [ascend, *(f"{home}/Ascend" for home in (environ.get("HOME"),) if home)]
        yield from (
            {"ASCEND_HOME_PATH": f"{home}/{name}"}
            for home in homes
            for name in ("cann", "ascend-toolkit/latest")
        )


def _release(text: str) -> str:
    """The text if it is a version of CANN or HDK."""
    try:
        return str(SystemVersion.parse(text))
    except ValueError:
        return ""
