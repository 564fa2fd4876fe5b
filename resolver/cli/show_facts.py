"""Run `ascend-lock facts show NAME…`: show what facts state, why, and where they are from.

Messages cite facts by file and line, and an installed program has its files out of sight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from resolver.cli.common import Command
from resolver.cli.console import print_json, print_text
from resolver.cli.options import Settings, settings
from resolver.config.fact_rules import FactFiles
from resolver.config.load import load_components, load_facts
from resolver.errors import InputError, did_you_mean, escaped
from resolver.i18n import translate
from resolver.model import text
from resolver.model.fact import Fact
from resolver.model.message import message, verbatim
from resolver.phrase import phrase


@click.command("show", cls=Command)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@settings()
def command(run: Settings, names: tuple[str, ...]) -> int:
    """Show facts: what they state, why, and their sources.

    NAME is the id of a fact, a project, or the file:line by which a message cites a fact. For a
    project, these are the facts about it.
    """
    documents = load_facts(run.matrices)
    every = FactFiles(load_components(run.matrices)).facts(documents)
    facts = _named(names, every)
    texts = {document.name: document.text for document in documents}
    if run.as_json:
        print_json({"status": "shown", "facts": [_json(fact, texts, run) for fact in facts]})
        return 0
    for number, fact in enumerate(facts):
        shown = message(
            "facts.shown",
            id=fact.id,
            where=fact.where,
            strength=message(f"strength.{fact.strength}"),
            source=str(fact.source),
            checked=fact.checked.isoformat(),
        )
        row = "".join(f"    {escaped(line)}\n" for line in _row(fact, texts).splitlines())
        gap = "\n" if number else ""
        print_text(f"{gap}{translate(shown, run.language)}\n{row}")
    return 0


def _named(names: Sequence[str], every: Sequence[Fact]) -> list[Fact]:
    """Return the facts that names stand for, in the order of the files.

    Raises InputError for a name without a fact.
    """
    chosen: list[Fact] = []
    for name in names:
        project = text.name(name)
        found = [fact for fact in every if name in (fact.id, fact.where) or fact.package == project]
        if not found:
            known = {fact.id for fact in every} | {fact.package for fact in every}
            otherwise = phrase("facts are named by their `id`, see matrices/facts")
            raise InputError(
                phrase("there is no fact, and no project with facts, `{name}`", name=name),
                hint=did_you_mean(name, known, otherwise),
            )
        chosen += found
    return [fact for fact in every if fact in chosen]


def _row(fact: Fact, texts: Mapping[str, str]) -> str:
    """Return the row of a fact as its file has it."""
    name, _, number = fact.where.rpartition(":")
    lines = texts[name].splitlines()[int(number) - 1 :]
    row = lines[:1]
    for line in lines[1:]:
        if line.startswith("["):
            break
        row.append(line)
    # Comments at the end are about the next row.
    while len(row) > 1 and (not row[-1].strip() or row[-1].startswith("#")):
        row.pop()
    return "\n".join(row)


def _json(fact: Fact, texts: Mapping[str, str], run: Settings) -> dict[str, Any]:
    """Return a fact as an object for JSON."""
    return {
        "id": fact.id,
        "package": fact.package,
        "where": fact.where,
        "reason": translate(verbatim(fact.reason, fact.reason_zh), run.language),
        "strength": str(fact.strength),
        "source": str(fact.source),
        "checked": fact.checked.isoformat(),
        "text": _row(fact, texts),
    }
