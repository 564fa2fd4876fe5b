"""`ascend-lock pairs`: which versions go together, as facts say; nothing is solved, and no index is asked."""

from __future__ import annotations

import sys

import click
from packaging.utils import canonicalize_name

from resolver.audit.pairs import pairings, projects_paired_with, projects_with_pairs, read_declared
from resolver.cli import options
from resolver.cli.console import columns, print_json, print_text
from resolver.cli.options import Settings, settings
from resolver.config.compile import known_values
from resolver.config.decode import require_known_soc
from resolver.config.fact_rules import compile_facts
from resolver.config.load import load_facts, load_systems, readings_folder, wheels_folder
from resolver.errors import InputError, did_you_mean
from resolver.model.target import component_name
from resolver.report.pairs import WIDEST, pairs_json, pairs_table
from resolver.report.terminal import WIDTH


@click.command("pairs")
@click.option(
    "--package",
    metavar="NAME",
    default="vllm-ascend",
    help="Whose releases (default: vllm-ascend).",
)
@click.option("--cann", metavar="VERSION", help="Only releases that go with this CANN.")
@click.option(
    "--soc", metavar="FAMILY", help="Only releases that run on this SoC family, such as A3."
)
@click.option(
    "--sources", is_flag=True, help="Name the facts behind each line, with their sources."
)
@settings("own_matrices", "language", "as_json")
def command(run: Settings, package: str, cann: str | None, soc: str | None, sources: bool) -> int:
    """Show which versions go together on an Ascend machine.

    A line for each release, newest first, with its vllm, torch, torch-npu, triton-ascend, CANN,
    Python, glibc, SoC and driver, from facts and the recorded metadata of wheels alone. Nothing is
    solved, and no index is asked.
    """
    known = known_values(load_systems(run.matrices))
    facts = compile_facts(load_facts(run.matrices), known=known)
    name, names = canonicalize_name(package), projects_with_pairs(facts)
    if name not in names:
        hint = did_you_mean(
            name, names, f"they pair those of {', '.join(names)}" if names else "see --matrices"
        )
        if naming := projects_paired_with(name, facts):
            hint = f"it is in the pairings of {', '.join(naming)}: ascend-lock pairs --package {naming[0]}"
        raise InputError(
            f"no fact pairs releases of `{package}`", where=str(run.matrices / "facts"), hint=hint
        )
    given = {"cann": cann, "soc": soc}
    components = {
        part: options.component(part, text) for part, text in given.items() if text is not None
    }
    if "soc" in components:
        require_known_soc(components["soc"], known, "--soc")
    declared = read_declared(
        name, facts, readings_folder(run.matrices), wheels_folder(run.matrices)
    )
    soc_alone = {part: value for part, value in components.items() if part == "soc"}
    every = pairings(name, facts, declared, known.get("cann", ()), soc_alone)
    usable = [row for row in every if "soc" not in components or row.runs_on(components["soc"])]
    rows = [row for row in usable if "cann" not in components or row.goes_with(components["cann"])]
    if run.as_json:
        print_json({"package": name, **given, "releases": pairs_json(rows, run.language)})
    elif rows:
        widths = {
            "columns": columns(sys.stdout, WIDTH),
            "table_columns": columns(sys.stdout, WIDEST),
        }
        print_text(pairs_table(rows, run.language, sources=sources, **widths))
    else:
        canns = sorted({release for row in usable for release in row.canns}, reverse=True)
        values = ", ".join(f"{component_name(part)} {value}" for part, value in components.items())
        run.print_message("pairs.none", project=name, asked=values, canns=tuple(canns) or "-")
    return 0
