"""Run `ascend-lock matrix show`: show which versions go together, by facts and without an index."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain

import click
from packaging.utils import NormalizedName, canonicalize_name

from resolver.ascend.names import CHIP, TITLES, TOOLKIT, VLLM_PLUGIN
from resolver.audit.pairs import (
    pairings,
    projects_paired_with,
    projects_with_pairs,
    read_declared,
)
from resolver.cli import options
from resolver.cli.common import Command
from resolver.cli.console import columns, print_json, print_text
from resolver.cli.options import Settings, settings
from resolver.config.fact_rules import compile_facts
from resolver.config.load import load_components, load_facts, readings_folder, wheels_folder
from resolver.errors import InputError, did_you_mean
from resolver.model.fact import Fact
from resolver.phrase import phrase
from resolver.report.pairs import WIDEST, pairs_json, pairs_table
from resolver.report.terminal import WIDTH


@click.command("show", cls=Command)
@click.argument("name", metavar="[PROJECT]", required=False)
@click.option(
    "--package",
    metavar="NAME",
    default=VLLM_PLUGIN,
    help=f"Whose releases (default: {VLLM_PLUGIN}).",
)
@click.option(
    f"--{TOOLKIT}", metavar="VERSION", help=f"Only releases that go with this {TITLES[TOOLKIT]}."
)
@click.option(
    f"--{CHIP}",
    metavar="FAMILY",
    help="Only releases that run on this SoC family, such as A3.",
)
@click.option(
    "--sources",
    is_flag=True,
    help="Name the facts behind each line, with their sources.",
)
@settings()
def command(
    run: Settings, name: str | None, package: str, sources: bool, **given: str | None
) -> int:
    """Show which versions go together on an Ascend machine.

    PROJECT may be given by --package as well.

    A line for each release, newest first, with its vllm, torch, torch-npu, triton-ascend, CANN,
    Python, glibc, SoC and driver, from facts and the recorded metadata of wheels alone. Nothing is
    solved, and no index is asked.
    """
    components = load_components(run.matrices)
    facts = compile_facts(load_facts(run.matrices), components=components)
    package = name or package
    project = canonicalize_name(package)
    _require_pairs(project, package, facts, run)
    system = {
        name: options.component(name, text, components)
        for name in (TOOLKIT, CHIP)
        if (text := given[name]) is not None
    }
    known = components[TOOLKIT].known if TOOLKIT in components else ()
    only_chip = {name: value for name, value in system.items() if name == CHIP}
    declared = read_declared(
        project, facts, readings_folder(run.matrices), wheels_folder(run.matrices)
    )
    usable = pairings(project, facts, declared, known, only_chip)
    if CHIP in system:
        usable = [pairing for pairing in usable if pairing.runs_on(system[CHIP])]
    shown = usable
    if TOOLKIT in system:
        shown = [pairing for pairing in usable if pairing.goes_with(system[TOOLKIT])]
    if run.as_json:
        print_json({"package": project, **given, "releases": pairs_json(shown, run.language)})
    elif shown:
        text = pairs_table(
            shown,
            run.language,
            sources=sources,
            columns=columns(sys.stdout, WIDTH),
            table_columns=columns(sys.stdout, WIDEST),
        )
        print_text(text)
    else:
        toolkits = sorted(
            set(chain.from_iterable(pairing.toolkits for pairing in usable)), reverse=True
        )
        asked = ", ".join(f"{components[name].title} {value}" for name, value in system.items())
        run.print_message(
            "pairs.none",
            project=project,
            asked=asked,
            toolkits=tuple(toolkits) or "-",
        )
    return 0


def _require_pairs(
    project: NormalizedName, package: str, facts: Sequence[Fact], run: Settings
) -> None:
    """Raise InputError if no fact pairs releases of a project.

    `package` is the name of the project as the user gave it.
    """
    known = projects_with_pairs(facts)
    if project in known:
        return
    partners = projects_paired_with(project, facts)
    if partners:
        command = f"ascend-lock matrix show --package {partners[0]}"
        hint = phrase(
            "it is in the pairings of {names}: {command}",
            names=", ".join(partners),
            command=command,
        )
    elif known:
        otherwise = phrase("they pair those of {names}", names=", ".join(known))
        hint = did_you_mean(project, known, otherwise)
    else:
        hint = phrase("see --matrices")
    raise InputError(
        phrase("no fact pairs releases of `{package}`", package=package),
        where=str(run.matrices / "facts"),
        hint=hint,
    )
