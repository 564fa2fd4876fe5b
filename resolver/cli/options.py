"""Options that several commands share, and where things are by default."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def default_matrices() -> Path:
    """`./matrices`, else the folder that stands beside the installed package."""
    if named := os.environ.get("ASCEND_LOCK_MATRICES"):
        return Path(named)
    here = Path("matrices")
    beside = Path(__file__).resolve().parents[2] / "matrices"
    return here if here.is_dir() or not beside.is_dir() else beside


def matrices(function: _Command) -> _Command:
    """--matrices DIR."""
    return click.option(
        "--matrices",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of facts and stacks (default: ./matrices).",
    )(function)


def elsewhere(matrices: Path | None) -> tuple[str, ...]:
    """The option by which another command finds the folder of facts and stacks that this one was given."""
    return () if matrices is None else ("--matrices", str(matrices))


def again(matrices: Path | None, *, offline: bool) -> tuple[str, ...]:
    """The options by which the same command, or its like, finds what this one found."""
    return (*(("--offline",) if offline else ()), *elsewhere(matrices))


def locks(function: _Command) -> _Command:
    """--locks DIR."""
    return click.option(
        "--locks",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("locks"),
        show_default="./locks",
        help="Folder of locks.",
    )(function)


def explain_seconds(function: _Command) -> _Command:
    """--explain-seconds N."""
    return click.option(
        "--explain-seconds",
        type=click.FloatRange(min=0.1),
        default=60.0,
        show_default=True,
        metavar="N",
        help="How long to search for ways out of a conflict; those found by then are reported.",
    )(function)


def facts_days(function: _Command) -> _Command:
    """--facts-days N."""
    return click.option(
        "--facts-days",
        type=click.IntRange(min=0),
        metavar="N",
        help="Report facts last checked more than N days ago (180 if the indexes are asked).",
    )(function)


def language(function: _Command) -> _Command:
    """--lang en|zh."""
    return click.option(
        "--lang", "language", type=click.Choice(["en", "zh"]), help="Language of reports (default: by locale)."
    )(function)


def read_moment(_context: click.Context, _parameter: click.Parameter, value: str | None) -> dt.datetime | None:
    """A day or a moment: 2026-01-31 (to its end) or 2026-01-31T12:00:00Z."""
    from resolver.matrix.compile import moment  # most runs name none

    if value is None:
        return None
    try:
        if len(value) == len("2026-01-31"):
            return moment(dt.date.fromisoformat(value))
        return moment(dt.datetime.fromisoformat(value.replace("Z", "+00:00")))
    except ValueError:
        raise click.BadParameter(f"`{value}` is not a date such as 2026-01-31") from None
