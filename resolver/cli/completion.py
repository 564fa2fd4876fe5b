"""Complete names of stacks, targets and projects in a shell. Nothing is solved, no index is asked.

If a file cannot be read, nothing is completed: the command itself reports the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from resolver.cli import COMMANDS
from resolver.cli.common import given
from resolver.cli.console import Progress
from resolver.cli.help import page_names
from resolver.cli.options import ALL, Settings
from resolver.cli.selection import named_locks
from resolver.config.compile import compile_problems
from resolver.config.find_stack import own_stack_names, stack_names
from resolver.config.load import load
from resolver.errors import ResolverError
from resolver.lock import file as lock_file
from resolver.model.problem import Problem
from resolver.model.requirement import Requirement


def stacks(context: click.Context, prefix: str) -> list[CompletionItem]:
    """Return the stacks whose names begin with `prefix`; if there are none, let files complete."""
    names: list[str] = [ALL]
    with suppress(ResolverError):
        matrices = _settings(context).matrices
        names = [*own_stack_names(matrices), *stack_names(matrices), ALL]
    return _items(names, prefix) or [CompletionItem(prefix, type="file")]


def targets(context: click.Context, prefix: str) -> list[CompletionItem]:
    """Return the targets of the stacks on the command line, or else of all locks."""
    names = [problem.target.name for problem in _problems(context)]
    if not names:
        with suppress(ResolverError):
            locks = _settings(context).locks
            names = [path.parent.name for path in locks.glob(f"*/*/{lock_file.NAME}")]
    return _items(sorted(names), prefix)


def projects(context: click.Context, prefix: str) -> list[CompletionItem]:
    """Return the projects in the locks of the stacks on the command line.

    If there are none, return the projects in the lines of these stacks.
    """
    names: set[str] = set()
    run = _settings(context)
    for stack in _stacks(context):
        with suppress(ResolverError):
            for named in named_locks(stack, run):
                names.update(pin.name for pin in named.lock.pin)
    return _items(sorted(names), prefix) or lines(context, prefix)


def lines(context: click.Context, prefix: str) -> list[CompletionItem]:
    """Return the projects that the lines of the stacks on the command line name."""
    names: set[str] = set()
    for problem in _problems(context):
        needs = [root.need for root in problem.stack.requirements]
        names.update(need.name for need in needs if isinstance(need, Requirement))
    return _items(sorted(names), prefix)


def pages(_context: click.Context, prefix: str) -> list[CompletionItem]:
    """Return the pages of the documentation, and the commands."""
    return _items([*page_names(), *COMMANDS], prefix)


def _settings(context: click.Context) -> Settings:
    """Return settings with the folders that the command line names."""
    values = given(context)
    return Settings(
        progress=Progress(enabled=False),
        language="en",
        own_matrices=values.get("own_matrices"),
        own_locks=values.get("own_locks"),
    )


def _stacks(context: click.Context) -> Iterator[str]:
    """Yield the stacks on the command line."""
    # While the value of an option is completed, click has not assigned the arguments to parameters
    # yet.
    yield from context.args
    for name in ("stack", "stacks", "names"):
        value = context.params.get(name)
        if isinstance(value, str):
            yield value
        elif value is not None:
            yield from value


def _problems(context: click.Context) -> Iterator[Problem]:
    """Yield the problems of the stacks on the command line.

    Stacks that cannot be read are skipped.
    """
    for stack in _stacks(context):
        with suppress(ResolverError):
            yield from compile_problems(load(stack, _settings(context).matrices))


def _items(names: Iterable[str], prefix: str) -> list[CompletionItem]:
    """Return the names that begin with `prefix`, each once."""
    fitting = [name for name in dict.fromkeys(names) if name.startswith(prefix)]
    return [CompletionItem(name) for name in fitting]
