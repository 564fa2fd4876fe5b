"""Options shared by several commands, default locations, and the language of a run."""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from resolver.cli.named import ALL
from resolver.config.load import stack_names
from resolver.errors import InputError
from resolver.model.text import Language

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_LOCKS: Final = Path("locks")


def default_matrices() -> Path:
    """`./matrices`, otherwise the folder beside the installed package."""
    if named := os.environ.get("ASCEND_LOCK_MATRICES"):
        return Path(named)
    here = Path("matrices")
    beside = Path(__file__).resolve().parents[2] / "matrices"
    return here if here.is_dir() or not beside.is_dir() else beside


def completed(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The stacks whose names begin so, for completion in a shell; otherwise, files."""
    from click.shell_completion import CompletionItem  # only while completing

    names = [name for name in (*stack_names(default_matrices()), ALL) if name.startswith(begun)]
    return [CompletionItem(name) for name in names] or [CompletionItem(begun, type="file")]


def _only(context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> str:
    if (len(value) == 1 and value[0] != ALL) or context.resilient_parsing:
        return "".join(value[:1])
    command = f"ascend-lock {context.info_name}"
    hint = "see `ascend-lock stacks` for their names" if ALL in value else f"{command} {value[0]}"
    raise InputError(f"`{command}` takes one stack at a time", hint=hint)


stack = click.argument("stack", nargs=-1, required=True, metavar="STACK", callback=_only, shell_complete=completed)
matrices = click.option(
    "--matrices",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of facts, indexes and stacks, in place of ./matrices or, without that, the one that ships.",
)


def elsewhere(matrices: Path | None, locks: Path = _LOCKS) -> tuple[str, ...]:
    """The options for another command to use the folders that this one was given."""
    facts = () if matrices is None else ("--matrices", str(matrices))
    return facts if locks == _LOCKS else (*facts, "--locks", str(locks))


def again(matrices: Path | None, locks: Path, *, offline: bool) -> tuple[str, ...]:
    """The options for the same or a similar command to have the same result."""
    return (*(("--offline",) if offline else ()), *elsewhere(matrices, locks))


def _read_moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> dt.datetime | None:
    from resolver.config.decode import cutoff  # most runs have none

    if value is None:
        return None
    try:
        if len(value) == len("2026-01-31"):
            return cutoff(dt.date.fromisoformat(value))
        return cutoff(dt.datetime.fromisoformat(value.replace("Z", "+00:00")))
    except ValueError:
        raise click.BadParameter(f"`{value}` is not a date such as 2026-01-31") from None


locks = click.option(
    "--locks",
    type=click.Path(path_type=Path, file_okay=False),
    default=_LOCKS,
    help="Folder of locks (default: ./locks).",
)
explain_seconds = click.option(
    "--explain-seconds",
    type=click.FloatRange(min=0.1),
    default=60.0,
    metavar="N",
    help="Time limit for explaining a conflict; what was found by then is reported (default: 60).",
)
facts_days = click.option(
    "--facts-days",
    type=click.IntRange(min=0),
    metavar="N",
    help="Report facts checked more than N days ago (default: 180 when asking the indexes, else none).",
)
language = click.option(
    "--lang", "language", type=click.Choice(["en", "zh"]), help="Language of the output (default: by locale)."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else.")
offline = click.option(
    "--offline", is_flag=True, help="Use only the cache, or the snapshot that ships with the stack; no network."
)
exclude_newer = click.option(  # a day (to its end) or a moment: 2026-01-31 or 2026-01-31T12:00:00Z
    "--exclude-newer", callback=_read_moment, metavar="DATE", help="Ignore anything uploaded after this day."
)


def language_of(wanted: str | None) -> Language:
    """The language of reports: as wanted, otherwise Chinese if the locale is and stdout can show it, or English."""
    if wanted in ("en", "zh"):
        return "zh" if wanted == "zh" else "en"
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.lower().startswith("zh") and _shows_chinese() else "en"
    return "en"


def _shows_chinese() -> bool:
    """Whether the encoding of stdout has the characters, which would otherwise all be escaped."""
    try:
        "中".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
