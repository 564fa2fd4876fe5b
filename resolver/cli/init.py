"""Run `ascend-lock init`: write a stack for a machine and a use, from the solved matrix."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from resolver import files
from resolver.ascend.machine import Machine, this_machine
from resolver.ascend.names import CHIP, TITLES, TOOLKIT
from resolver.cli import options
from resolver.cli.common import Command
from resolver.cli.console import print_json
from resolver.cli.options import Settings, settings
from resolver.cli.questions import ask
from resolver.config.load import load_components
from resolver.config.schema import StackFile
from resolver.config.toml_files import read_text
from resolver.errors import InputError, NothingToLock, did_you_mean
from resolver.i18n import translate
from resolver.model import text as texts
from resolver.model.component import Components
from resolver.model.matrix import LOCKED, Answer, CellOutcome, Matrix, stack_text
from resolver.phrase import EMPTY, Phrase, literal, phrase
from resolver.report.matrix import read_matrix

# The fields by which a cell is chosen, with their options, in the order of the prompts.
_FIELDS: Final = {
    TOOLKIT: f"--{TOOLKIT}",
    CHIP: f"--{CHIP}",
    "platform": "--platform",
    "python": "--python",
    "use": "--for",
}
# The outcomes of cells from which a stack is made: locked ones, else expected ones, else undecided
# ones.
_OUTCOMES: Final = (LOCKED, (CellOutcome.EXPECTED,), (CellOutcome.UNDECIDED,))


@click.command("init", cls=Command)
@click.option(
    "--for",
    "use",
    metavar="USE",
    help="What the machine is for: serve, train, verl, trl, ms-swift, …",
)
@click.option(
    f"--{TOOLKIT}",
    metavar="VERSION",
    help=f"The machine's {TITLES[TOOLKIT]}, such as 8.5.1; the matrix has nothing for `none`.",
)
@click.option(
    f"--{CHIP}",
    metavar="FAMILY",
    help="The family of its chips, such as A2 or A3; the matrix has nothing for `none`.",
)
@click.option("--platform", type=options.PlatformChoice(), help="Its platform.")
@click.option("--python", metavar="X.Y", help="Its Python, such as 3.11.")
@click.option(
    "--glibc",
    metavar="VERSION",
    help="Its glibc, or its system: 2.34, 'openEuler 22.03', 'Kylin V10'.",
)
@click.option("--pre", is_flag=True, help="Take a pre-release if it is newer.")
@options.output("USE.toml")
@settings()
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
    machine = this_machine()
    components = load_components(run.matrices)
    fields = _fields(machine, {**options_of_target, "use": use}, components)
    _require_known(fields, matrix)
    if not sys.stdin.isatty():
        _require_all(fields, matrix)
    for key in _FIELDS:
        fields[key] = _chosen(key, matrix, fields, components, run)
    # An error names them in the order of the options.
    fields = {key: fields[key] for key in _FIELDS}
    answer = _newest(matrix, fields, pre=pre)
    if answer is None:
        raise _refusal(matrix, fields, run)
    cell = answer.cell
    (matrix_use,) = [row for row in matrix.uses if row.name == fields["use"]]
    if matrix_use.stack:
        _print_shipped(matrix_use.stack, run)
        return 0
    path = output or Path(f"{matrix_use.name}.toml")
    options.require_absent(path)
    known_glibc = _known_glibc(glibc, machine, components)
    cell = replace(cell, glibc=known_glibc or cell.glibc)
    text = stack_text(cell, matrix_use, answer.practices, path.stem)
    # Not every name of a file is a name of a stack.
    read_text(text, StackFile, str(path), components)
    files.write(path, text.encode())
    _print_written(path, answer, matrix, run)
    if cell.glibc != answer.cell.glibc:
        run.print_note("init.glibc", glibc=cell.glibc, solved=answer.cell.glibc)
    if not known_glibc:
        run.print_note("init.glibc-assumed", glibc=cell.glibc)
    run.print_note("init.next", command=run.command("lock", str(path)))
    if run.as_json:
        print_json(
            {
                "status": "written",
                "file": str(path),
                "outcome": answer.outcome.value,
                "package": cell.package,
                "release": cell.release,
            }
        )
    return 0


def _print_shipped(stack: str, run: Settings) -> None:
    """Print that a stack ships with the program, so that none is written."""
    if run.as_json:
        print_json({"status": "shipped", "stack": stack})
    else:
        run.print_message("init.shipped", stack=stack, command=run.command("lock", stack))


def _fields(
    machine: Machine, given: Mapping[str, str | None], components: Components
) -> dict[str, str]:
    """Return the values of the fields that are given, or else are known of this machine.

    Raises InputError if a component cannot have its value.
    """
    fields: dict[str, str] = {}
    # Without toolkit and chip, the user locks on this machine for another one.
    if machine.toolkit or machine.chip:
        fields = {
            TOOLKIT: machine.toolkit,
            CHIP: machine.chip,
            "platform": machine.platform,
            "python": machine.python,
        }
    for key, value in given.items():
        if value:
            fields[key] = _read(key, value, components)
    return {key: value for key, value in fields.items() if value}


def _known_glibc(option: str | None, machine: Machine, components: Components) -> str:
    """Return the glibc of --glibc, or else of this machine if the stack is for it; else empty.

    Raises InputError if the value of the option is neither a version nor the name of a system.
    """
    if option:
        return options.glibc_version(option, components["glibc"])
    return machine.glibc if machine.toolkit else ""


def _require_stated(key: str, value: str) -> None:
    """Raise InputError if a component is `none`: the matrix has no cells without a value."""
    if options.states_nothing(value):
        raise InputError(
            phrase("the matrix has stacks only for machines with an accelerator"),
            where=f"{_FIELDS[key]} {value}",
            hint=phrase(
                "for a machine without one: {command}",
                command=f"ascend-lock import FILE --{TOOLKIT} none --{CHIP} none",
            ),
        )


def _require_all(fields: Mapping[str, str], matrix: Matrix) -> None:
    """Raise InputError if a field has no value. It is called if no user can be asked."""
    unknown = [option for key, option in _FIELDS.items() if key not in fields]
    if not unknown:
        return
    words = ["ascend-lock init"]
    for key, option in _FIELDS.items():
        words.append(f"{option} {'|'.join(_values(key, matrix, fields))}")
    raise InputError(
        phrase("not known of this machine: {options}", options=", ".join(unknown)),
        hint=literal(" ".join(words)),
    )


def _newest(matrix: Matrix, fields: Mapping[str, str], *, pre: bool) -> Answer | None:
    """Return the answer for the newest release that locks with these fields; None without one.

    A release that is only expected to lock, or is undecided, is taken if none locks.
    """
    for outcomes in _OUTCOMES:
        answer = matrix.newest(fields, outcomes, pre=pre)
        if answer is not None:
            return answer
    return None


def _print_written(path: Path, answer: Answer, matrix: Matrix, run: Settings) -> None:
    """Print which release a written stack has, and what the matrix knows about it."""
    release = f"{answer.cell.package} {answer.cell.release}"
    if answer.reason is not None:
        code = "init.undecided"
        if answer.outcome is CellOutcome.EXPECTED:
            code = "init.expected"
        reason = translate(answer.reason, run.language)
        run.print_note(
            code,
            path=path,
            release=release,
            reason=reason,
            date=matrix.date,
        )
        return
    count = len(answer.pins)
    run.print_note(
        "init.written",
        path=path,
        release=release,
        count=count,
        date=matrix.date,
    )
    if answer.practices:
        run.print_note("init.practices", names=answer.practices)
    for warning in answer.warnings:
        # The matrix has warnings as text, which begins with the project that it is about.
        if translate(warning, "en").startswith(f"{answer.cell.package}: "):
            run.print_note("init.warned", warning=translate(warning, run.language))


def _chosen(
    key: str, matrix: Matrix, fields: Mapping[str, str], components: Components, run: Settings
) -> str:
    """Return the value of a field. The user is asked if `fields` does not have it.

    The default is the value of the cell that is suggested for the other fields. Raise
    KeyboardInterrupt if the user does not answer.
    """
    if key in fields:
        return fields[key]
    choices = _values(key, matrix, fields)
    suggested = matrix.suggested(fields)
    default = choices[-1]
    if suggested is not None:
        default = suggested.cell.value(key)

    def value_of(answer: str) -> str:
        """Return the value that an answer means. Raises InputError if there is no cell for it."""
        value = _read(key, answer, components)
        if value not in choices:
            raise _no_cell(key, value, matrix, choices)
        return value

    question = translate(f"matrix.page-{key}", run.language)
    return ask(question, choices, default, value_of, run.language)


def _read(key: str, text: str, components: Components) -> str:
    """Return the value of a field, as the matrix writes it.

    Raises InputError if a component cannot have the value.
    """
    if key in (TOOLKIT, CHIP):
        # The matrix writes `8.3.rc2` as 8.3.RC2, and SoCs in capitals.
        _require_stated(key, text)
        return str(options.component(key, text, components))
    if key == "platform":
        return options.platform_name(text)
    return text


def _require_known(fields: Mapping[str, str], matrix: Matrix) -> None:
    """Raise InputError if no cell of the matrix has the value of a field."""
    for key, value in fields.items():
        if value not in _values(key, matrix, {}):
            others = {name: text for name, text in fields.items() if name != key}
            raise _no_cell(key, value, matrix, _values(key, matrix, others))


def _no_cell(key: str, value: str, matrix: Matrix, choices: Sequence[str]) -> InputError:
    """Return the error that a field cannot have a value. The hint has the values that it can."""
    hint = phrase("it has {values}", values=", ".join(choices))
    if key in (TOOLKIT, CHIP):
        hint = phrase(
            "it has {values}; for another machine, make a stack of your requirements: {command}",
            values=", ".join(choices),
            command=f"ascend-lock import FILE {_FIELDS[key]} {value}",
        )
    if key == "use":
        hint = _uses_of(value, matrix) or did_you_mean(value, choices, hint)
    return InputError(
        phrase("the matrix has no cell for `{value}`", value=value),
        where=_FIELDS[key],
        hint=hint,
    )


def _uses_of(project: str, matrix: Matrix) -> Phrase:
    """Return a hint that names the uses whose stacks require a project; empty if none does."""
    names = []
    for use in matrix.uses:
        projects = {texts.requirement(line).name for line in use.requires}
        if texts.name(project) in projects:
            names.append(use.name)
    if not names:
        return EMPTY
    return phrase("`{project}` is in {names}", project=project, names=", ".join(names))


def _values(key: str, matrix: Matrix, fields: Mapping[str, str]) -> list[str]:
    """Return the values of a field in the cells that have these other fields.

    If there are no such cells, return the values in all cells. CANN comes oldest first, uses in the
    order of the grid, everything else sorted.
    """
    cells = [answer.cell for answer in matrix.answers]
    fitting = [cell for cell in cells if all(cell.value(name) == fields[name] for name in fields)]
    values = {cell.value(key) for cell in fitting or cells}
    order: Sequence[str] = sorted(values)
    if key == TOOLKIT:
        order = matrix.toolkits
    elif key == "use":
        order = [use.name for use in matrix.uses]
    return [value for value in order if value in values]


def _refusal(matrix: Matrix, fields: Mapping[str, str], run: Settings) -> NothingToLock:
    """Return the error that no cell locks.

    It has the conflict of the newest release, and the nearest cells that lock.
    """
    refused = matrix.newest(fields, (CellOutcome.CONFLICT,))
    asked = ", ".join(fields.values())
    hint = literal(run.command("matrix", "show"))
    if refused is None or refused.reason is None:
        return NothingToLock(
            phrase("the shipped matrix was not solved for {fields}", fields=asked),
            hint=_solved_beside(matrix, fields) or hint,
        )
    nearest: list[str] = []
    for answer in matrix.ways_out(refused):
        cell = answer.cell
        machine = f"{TITLES[TOOLKIT]} {cell.toolkit}, {TITLES[CHIP]} {cell.chip}"
        nearest.append(f"{cell.package} {cell.release} ({machine})")
    if nearest:
        hint = phrase("nearest: {names}", names=", ".join(nearest))
    reason = translate(refused.reason, run.language)
    return NothingToLock(
        phrase("nothing locks for {fields}", fields=asked),
        why=literal(f"{refused.cell.package} {refused.cell.release}: {reason}"),
        hint=hint,
    )


def _solved_beside(matrix: Matrix, fields: Mapping[str, str]) -> Phrase:
    """Return a hint that names the solved cells which differ in one field; empty without any.

    They have another Python if there are such, else another platform, SoC, CANN or use.
    """
    cells = [answer.cell for answer in matrix.answers if answer.outcome in LOCKED]
    for key in ("python", "platform", CHIP, TOOLKIT, "use"):
        others = {name: text for name, text in fields.items() if name != key}
        if any(all(cell.value(name) == others[name] for name in others) for cell in cells):
            values = ", ".join(_values(key, matrix, others))
            return phrase(
                "with the rest as it is, it has {options}", options=f"{_FIELDS[key]} {values}"
            )
    return EMPTY
