"""Run `ascend-lock fleet REPORT…`: compare the nodes of a cluster by their reports."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from resolver import files
from resolver.cli import options
from resolver.cli.common import Command
from resolver.cli.console import for_stream, print_data, print_json, print_text
from resolver.cli.options import Settings, settings
from resolver.errors import InputError
from resolver.model.text import Language
from resolver.phrase import phrase
from resolver.report.document import Block
from resolver.report.fleet import (
    RUNS_OF_TERMINAL,
    fleet_document,
    fleet_json,
    fleet_status,
    read_fleet,
)
from resolver.report.markup import html_text, markdown_text
from resolver.report.terminal import terminal_text

_formats = click.Choice(["text", "markdown", "html"])
# The exit status, by the status in the JSON.
_EXIT = {"as-locked": 0, "differs": 1, "mixed": 4}


@click.command("fleet", cls=Command)
@click.argument("reports", metavar="REPORT...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--format", "form", type=_formats, default="text", help="Format (default: text).")
@options.output("stdout")
@click.option(
    "--nodes",
    "nodes_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Names of all nodes, one a line: those without a report are errors.",
)
@click.option(
    "--all-nodes", is_flag=True, help="Name every node that differs, however many there are."
)
@settings()
def command(
    run: Settings,
    reports: tuple[Path, ...],
    form: str,
    output: Path | None,
    nodes_file: Path | None,
    all_nodes: bool,
) -> int:
    """Compare the nodes of a cluster by their reports.

    REPORT is a file that `verify.py --json` made, named after its node, or a folder of such files.
    Of a folder, the files in .json are read, or all files if there are none.
    Nodes that are alike are shown together, the largest group first. A report that is more than an
    hour older than the newest one is marked.

    The exit status is 0 if all nodes are as locked and alike, 1 if one differs from its lock or has
    no report, 2 if the command is wrong, and 4 if nodes only differ from each other.
    """
    paths = _report_files(reports)
    fleet = read_fleet(paths, _names(nodes_file) if nodes_file is not None else ())
    if run.as_json:
        if form != "text" or output is not None:
            raise InputError(
                phrase("--json is a format of its own, for stdout"),
                where="--format" if form != "text" else "--output",
            )
        print_json(fleet_json(fleet, run.language))
        return _EXIT[fleet_status(fleet)]
    is_short = form == "text" and output is None and not all_nodes
    blocks = list(fleet_document(fleet, RUNS_OF_TERMINAL if is_short else None))
    if output is not None:
        _write(output, _text(blocks, form, run.language))
        run.print_note("cli.written-to", path=output)
    elif form == "text":
        print_text(for_stream(blocks, run.language, sys.stdout))
    else:
        print_data(_text(blocks, form, run.language))
    return _EXIT[fleet_status(fleet)]


def _text(blocks: Sequence[Block], form: str, language: Language) -> str:
    """Return the comparison in a format. Text is wrapped to the width of a file."""
    if form == "html":
        return html_text(blocks, language)
    if form == "markdown":
        return markdown_text(blocks, language)
    return terminal_text(blocks, language)


def _report_files(reports: tuple[Path, ...]) -> list[Path]:
    """Return the files of reports, each once. Raises InputError if there are none."""
    paths: dict[Path, None] = {}
    for report in reports:
        if report.is_dir():
            listed = [path for path in files.list_files(report, "") if not path.is_dir()]
            named = [path for path in listed if path.name.endswith(".json")]
            paths |= dict.fromkeys(named or listed)
        else:
            paths[report] = None
    if not paths:
        raise InputError(
            phrase("there are no reports to compare"),
            where=", ".join(map(str, reports)) or "REPORT",
            hint=phrase(
                "write one on each node: python verify.py --json > reports/$(hostname).json"
            ),
        )
    return list(paths)


def _names(path: Path) -> list[str]:
    """Return the names in a file with one name on each line. Raises InputError if that fails."""
    try:
        lines = files.read_text(path).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise files.input_error(error, phrase("the names of nodes cannot be read"), path) from None
    return [line.strip() for line in lines if line.strip()]


def _write(output: Path, text: str) -> None:
    """Write the comparison to a file. Raises InputError if that fails."""
    try:
        files.write_output(output, text)
    except OSError as error:
        hint = phrase("name another file with --output")
        raise files.input_error(error, phrase("it could not be written"), output, hint) from None
