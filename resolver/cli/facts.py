"""`ascend-lock facts check [NAME…]`: facts compared with what the indexes say today."""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click
from packaging.specifiers import SpecifierSet

from resolver import files
from resolver.audit.compare import DAYS, is_to_come
from resolver.audit.facts import judge, projects_of
from resolver.audit.offers import Offers, archives_of, read_all
from resolver.audit.verdict import Judged, Saying, Verdict
from resolver.cli import options
from resolver.cli.called import as_called
from resolver.cli.catalogs import Catalogs
from resolver.cli.named import ALL
from resolver.cli.options import language_of
from resolver.cli.progress import Progress
from resolver.config.compile import compile_problems
from resolver.config.load import load, readings_folder, stack_names
from resolver.errors import ChangedUpstream, IndexFailure, InputError, did_you_mean
from resolver.index.git import Repositories
from resolver.index.store import readings
from resolver.index.store.cache import default_folder
from resolver.json_text import json_text
from resolver.model import text
from resolver.model.fact import Fact, Sources
from resolver.model.problem import Problem
from resolver.report import words
from resolver.report.upstream import facts as told

_STATUS = {0: "held", IndexFailure.exit_status: "out-of-reach", ChangedUpstream.exit_status: "contradicted"}


@click.group("facts", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> int:
    """Check facts against the indexes, or read archives for them."""
    if context.invoked_subcommand is not None:
        return 0
    sys.stderr.write(f"{context.get_help()}\n")
    return InputError.exit_status


@command.command("check")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--all", "every_line", is_flag=True, help="Print a line for every fact.")
@options.matrices
@options.facts_days
@options.language
@options.as_json
def check(
    names: tuple[str, ...],
    every_line: bool,
    matrices: Path | None,
    facts_days: int | None,
    language: str | None,
    as_json: bool,
) -> int:
    """Compare facts with what the indexes say today.

    NAME is a stack (for its facts), a project (for the facts about it) or the id of a fact; without one, or with `all`,
    all facts are compared. Prints a line for each fact that somebody should look at, or for each one if NAME is a
    project or a fact, and how many hold. Each fact is compared for the first target of the first stack that
    uses it. Changes nothing.
    """
    given = options.elsewhere(matrices)
    matrices = matrices or options.default_matrices()
    names = () if ALL in names else names
    tongue = language_of(language)
    days = DAYS if facts_days is None else facts_days
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    progress = Progress(tongue, enabled=False if as_json else None)
    repositories = Repositories(default_folder(), warn=progress.warn)
    every: list[Judged] = []
    rows = []
    quiet = 0  # facts that need no attention and were not printed
    failures: set[str] = set()
    every_line |= any(name not in _stacks(names, matrices) for name in names)
    with closing(Catalogs(matrices, progress, readings=False)) as catalogs:
        for problem, facts in _wanted(names, matrices):
            with closing(catalogs.live(problem)) as catalog:
                offers = Offers(problem, catalog, problem.facts)
                looked_up = dict.fromkeys(name for fact in facts for name in projects_of(fact))
                catalog.expect((name, SpecifierSet()) for name in looked_up)
                found = []
                for fact in facts:
                    progress.label(words.LOOKING_AT(tongue, fact=fact.id))
                    judged = judge(fact, offers, repositories)
                    found.append(judged)
                    old = (today - fact.checked).days > days
                    ahead = is_to_come(fact.checked, today)
                    rows.append(told.judged_json(judged, old=old, to_come=ahead, language=tongue))
                    if not (every_line or old or ahead or _asks_for_a_look(judged, failures)):
                        quiet += 1
                    elif not as_json:
                        progress.clear()
                        sys.stdout.write(
                            told.line(judged, old_after=days if old else None, to_come=ahead, language=tongue) + "\n"
                        )
            progress.clear()
            if not as_json:
                sys.stdout.write(told.summary(found, str(problem.target), tongue) + "\n")
            every += found
    if not every and not as_json:
        sys.stdout.write(told.summary(every, "", tongue) + "\n")
    if quiet and not as_json:
        arguments = shlex.join(["--all", *names, *given])
        sys.stdout.write(as_called(words.FACTS_LEFT_OUT(tongue, quiet, arguments=arguments)) + "\n")
    status = max(map(_status, every), default=0)
    if as_json:
        answer = {"status": _STATUS[status], "facts": rows}
        sys.stdout.write(json_text(answer) + "\n")
    return status


@command.command("read")
@click.argument("projects", metavar="[PROJECT...]", nargs=-1)
@options.matrices
@click.option("--anew", is_flag=True, help="Also read archives that are already recorded.")
def read(projects: tuple[str, ...], matrices: Path | None, anew: bool) -> int:
    """Read the source archives that facts are about.

    Records what locking needs from each archive, by its sha256, in MATRICES/archives/PROJECT.json, for each PROJECT or
    for all, so that nobody has to download the archives in order to lock.
    """
    matrices = matrices or options.default_matrices()
    folder = readings_folder(matrices)
    progress = Progress()
    with closing(Catalogs(matrices, progress, readings=False)) as catalogs:
        for name in map(text.name, projects or _with_facts(matrices)):
            problem, facts = next(_wanted([name], matrices), (None, []))
            if problem is None:
                raise InputError(f"there is no fact about {name}", hint="a fact's project is its file's name")
            with closing(catalogs.live(problem)) as catalog:
                offers = Offers(problem, catalog, problem.facts)
                found = list(archives_of(name, facts, offers))
                known = [] if anew else readings.read(folder, name)
                rows = list(read_all(found, known, offers, lambda file: progress.label(f"reading {file}")))
            progress.clear()
            if rows:
                try:
                    readings.write(rows, folder, name)
                except OSError as error:
                    instead = "name another folder of facts with --matrices DIR"
                    raise files.refusal(error, f"the readings of {name} cannot be written", folder, instead) from None
            if rows or projects:
                sys.stdout.write(f"{name}: {len(rows)} of {len(found)} archives that facts refer to\n")
    return 0


def _with_facts(matrices: Path) -> list[str]:
    """The projects that facts of any stack are about, except those only about commits."""
    every = (fact for _, facts in _wanted((), matrices) for fact in facts)
    return sorted({fact.package for fact in every if not isinstance(fact, Sources)})


def _status(judged: Judged) -> int:
    if judged.verdict in (Verdict.CONTRADICTED, Verdict.GONE):
        return ChangedUpstream.exit_status
    return IndexFailure.exit_status if any(one.saying is Saying.FAILED for one in judged.remarks) else 0


def _asks_for_a_look(judged: Judged, failures: set[str]) -> bool:
    """Whether an index contradicts the fact, or failed in a way that is not yet in `failures`, to which it is added."""
    why = {str(remark.values["why"]) for remark in judged.remarks if remark.saying is Saying.FAILED} - failures
    failures |= why
    return judged.verdict not in (Verdict.HOLDS, Verdict.UNCHECKED) or bool(why)


def _stacks(names: Sequence[str], matrices: Path) -> list[str]:
    """The names that are those of stacks."""
    known = stack_names(matrices)
    return [name for name in names if name.endswith(".toml") or name in known]


def _wanted(names: Sequence[str], matrices: Path) -> Iterator[tuple[Problem, list[Fact]]]:
    """Facts, each once, with the problem for which they are compared."""
    known = stack_names(matrices)
    stacks = _stacks(names, matrices)
    others = [name for name in names if name not in stacks]
    if others or not names:
        stacks += [name for name in known if name not in stacks]
    problems = [(name, compile_problems(load(name, matrices))[0]) for name in stacks]
    _refuse_unknown(others, [fact for _, problem in problems for fact in _facts(problem)], known)
    seen: set[str] = set()
    for name, problem in problems:
        facts = [
            fact
            for fact in _facts(problem)
            if fact.id not in seen
            and (not names or name in names or fact.id in others or text.name(fact.package) in map(text.name, others))
        ]
        seen |= {fact.id for fact in facts}
        if facts:
            yield problem, facts


def _facts(problem: Problem) -> list[Fact]:
    """The facts of a stack; those that it sets aside are included unchanged, and so are practices that are off."""
    relaxed = {row.fact.id: row.fact for row in problem.stack.relaxed}
    return [fact for fact in problem.facts if fact.id not in relaxed] + [*relaxed.values(), *problem.practices]


def _refuse_unknown(names: Iterable[str], facts: Sequence[Fact], stacks: Sequence[str]) -> None:
    """Raise InputError if a name is neither a project with facts nor the id of a fact."""
    known = {name for fact in facts for name in (fact.id, fact.package)}
    for name in names:
        if name not in known and text.name(name) not in known:
            raise InputError(
                f"there is no stack, no project with facts and no fact `{name}`",
                hint=did_you_mean(name, known.union(stacks), "facts are named by their `id`, see matrices/facts"),
            )
