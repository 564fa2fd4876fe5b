"""Options that several commands share, and their values as `Settings`."""

from __future__ import annotations

import datetime as dt
import functools
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
from click.core import ParameterSource

from resolver.cli.console import Progress, print_line
from resolver.config.load import stack_names
from resolver.errors import InputError
from resolver.i18n import LANGUAGES, translate
from resolver.model.message import message
from resolver.model.problem import PolicyOptions
from resolver.model.requirement import Value, parse_value
from resolver.model.text import Language

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

ALL: Final = "all"  # every stack
_LOCKS: Final = Path("locks")
_LOCAL: Final = Path("matrices")
_MATRICES: Final = "ASCEND_LOCK_MATRICES"
_PACKAGE: Final = Path(__file__).resolve().parents[1]

Command = Callable[..., int]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The shared options of a run: the folders of facts and locks, its output, and how each stack is handled.

    No `targets` means all; `cutoff` and `as_of` replace the stack's own. A conflict is explained
    within so many `seconds`.
    """

    progress: Progress
    language: Language
    own_matrices: Path | None = None
    locks: Path = _LOCKS
    as_json: bool = False
    offline: bool = False
    targets: tuple[str, ...] = ()
    cutoff: dt.datetime | None = None
    as_of: str = ""
    seconds: float = (
        900.0  # for commands without the option: a snapshot has all requests of an explanation
    )

    @property
    def matrices(self) -> Path:
        """The folder of facts, indexes and stacks."""
        return self.own_matrices or _default_matrices()

    @property
    def policy_options(self) -> PolicyOptions:
        """What replaces parts of each stack's policy."""
        return PolicyOptions(exclude_newer=self.cutoff, as_of=self.as_of)

    @property
    def folder_options(self) -> tuple[str, ...]:
        """The options by which another command uses the same folders."""
        facts = () if self.own_matrices is None else ("--matrices", str(self.own_matrices))
        return facts if self.locks == _LOCKS else (*facts, "--locks", str(self.locks))

    @property
    def repeated_options(self) -> tuple[str, ...]:
        """The options for a similar command to have the same result."""
        return ("--offline", *self.folder_options) if self.offline else self.folder_options

    def snapshot_path(self, stack: str) -> Path:
        """The path of the snapshot of a stack to read, whether it exists or not: that of `own_snapshot` first."""
        own = self.own_snapshot(stack)
        return own if own.exists() else output_folder(self.matrices) / "snapshots" / own.name

    def own_snapshot(self, stack: str) -> Path:
        """The path of the snapshot of a stack to write: beside `matrices` if the user has them, otherwise here.

        Those that are in use because there are no others are not the user's, even if they are those
        of a checkout.
        """
        has_own = (
            self.own_matrices is not None or bool(os.environ.get(_MATRICES)) or _LOCAL.is_dir()
        )
        folder = output_folder(self.matrices) if has_own else Path()
        return folder / "snapshots" / f"{stack}.snapshot"

    def command(self, *words: str) -> str:
        """A command about the same folders as it is written in a message, quoted for a shell."""
        return shlex.join(("ascend-lock", *words, *self.folder_options))

    def print_message(self, code: str, /, **values: object) -> None:
        """Print a text of this code on stdout, in the language of the run, with commands as called."""
        print_line(translate(message(code, **values), self.language))


def settings(*names: str) -> Callable[[Command], Command]:
    """Give a command these of the options below, and pass it their values as `Settings`."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(**values: Any) -> int:
            shared = {name: values.pop(name) for name in names}
            language = _language(shared.pop("language", None))
            progress = Progress(language, enabled=False if shared.get("as_json") else None)
            try:
                return command(Settings(progress=progress, language=language, **shared), **values)
            finally:
                progress.clear()

        for name in reversed(names):
            _SHARED[name](wrapper)  # click adds the option to the function itself
        return wrapper

    return decorate


def ships(path: Path) -> bool:
    """Whether it is part of an installation, which the next one replaces; a checkout's own files are its user's."""
    return path.resolve().is_relative_to(_PACKAGE)


def output_folder(path: Path) -> Path:
    """The folder for files made from a stack or the facts: that of these or, if they ship, the current one."""
    return Path() if ships(path) else path.parent


def today() -> dt.date:
    """The day in UTC."""
    return dt.datetime.now(tz=dt.timezone.utc).date()


def _default_matrices() -> Path:
    """`./matrices`, otherwise the folder that ships: the package's own, which in a checkout is a link."""
    if folder := os.environ.get(_MATRICES):
        return Path(folder)
    return _LOCAL if _LOCAL.is_dir() else (_PACKAGE / "matrices").resolve()


def _require_no_link(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
    """Return the folder of locks. Raise InputError if nobody named it and it is a link.

    Whoever proposes a change to a repository can make it one, and locks would be written where it
    leads.
    """
    is_named = context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT
    if not is_named and value.is_symlink():
        why = f"It leads to {value.readlink()}."
        hint = "if that is meant, name it: --locks DIR"
        raise InputError(
            "the folder of locks is a link, which is not followed",
            where=str(value),
            why=why,
            hint=hint,
        )
    return value


def _language(option: str | None) -> Language:
    """That of the option; without one Chinese if the locale is and the encoding of stdout has it, or English."""
    if option is None:
        locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
        option = locale[:2].lower()
        try:
            "中".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
        except (UnicodeEncodeError, LookupError):
            return "en"
    return option if option in LANGUAGES else LANGUAGES[0]


def _complete_stack(
    _context: click.Context, _parameter: click.Parameter, prefix: str
) -> list[CompletionItem]:
    """The stacks whose names begin so, for completion in a shell; otherwise, files."""
    from click.shell_completion import CompletionItem  # only while completing

    names = [name for name in (*stack_names(_default_matrices()), ALL) if name.startswith(prefix)]
    return [CompletionItem(name) for name in names] or [CompletionItem(prefix, type="file")]


def _read_moment(
    _context: click.Context, _parameter: click.Parameter, value: dt.datetime | None
) -> dt.datetime | None:
    from resolver.config.decode import cutoff_moment  # most runs have none

    try:
        return value and cutoff_moment(value if value.tzinfo else value.date())
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _read_as_of(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str:
    from resolver.model.as_of import read_as_of

    try:
        return read_as_of(value) if value else ""
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def stacks(name: str, metavar: str, *, required: bool = True) -> Callable[[Command], Command]:
    """An argument of any number of stacks."""
    return click.argument(
        name, metavar=metavar, nargs=-1, required=required, shell_complete=_complete_stack
    )


def component(name: str, text: str) -> Value:
    """The value of the option that is named after a component of a machine. Raises InputError."""
    try:
        return parse_value(name, text)
    except ValueError as error:
        raise InputError(str(error), where=f"--{name}") from None


def output(default: str) -> Callable[[Command], Command]:
    """The file that a command writes."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"File to write (default: {default}).",
    )


def require_absent(path: Path) -> None:
    """Raise InputError where something is already."""
    if os.path.lexists(path):
        hint = "move it out of the way, or name another file with --output"
        raise InputError(
            f"`{path}` already exists; nothing was written", where=str(path), hint=hint
        )


stack = click.argument("stack", shell_complete=_complete_stack)
_SHARED: Final[Mapping[str, Callable[[Command], Command]]] = {
    "language": click.option(
        "--lang",
        "language",
        type=click.Choice(LANGUAGES),
        help="Language of the output (default: by locale).",
    ),
    "own_matrices": click.option(
        "--matrices",
        "own_matrices",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of facts, indexes and stacks, in place of ./matrices or, without that, the one that ships.",
    ),
    "locks": click.option(
        "--locks",
        type=click.Path(path_type=Path, file_okay=False),
        default=_LOCKS,
        callback=_require_no_link,
        help="Folder of locks (default: ./locks).",
    ),
    "as_json": click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else."
    ),
    "offline": click.option(
        "--offline",
        is_flag=True,
        help="Use only the cache, or the snapshot that ships with the stack; no network.",
    ),
    "targets": click.option(
        "--target",
        "targets",
        multiple=True,
        metavar="NAME",
        help="Only this target; may be repeated.",
    ),
    "cutoff": click.option(  # a day (to its end) or a moment
        "--exclude-newer",
        "cutoff",
        type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S%z"]),
        callback=_read_moment,
        metavar="DATE",
        help="Ignore anything uploaded after this day.",
    ),
    "as_of": click.option(
        "--as-of",
        callback=_read_as_of,
        metavar="DATE|newest|auto",
        help="Prefer releases uploaded by this day (default: the stack's, or two weeks after what it pins).",
    ),
    "seconds": click.option(
        "--explain-seconds",
        "seconds",
        type=click.FloatRange(min=0.1),
        default=60.0,
        metavar="N",
        help="Time limit for explaining a conflict; what was found by then is reported (default: 60).",
    ),
}
facts_days = click.option(
    "--facts-days",
    type=click.IntRange(min=0),
    metavar="N",
    help="Report facts checked more than N days ago (default: 180 when asking the indexes, else none).",
)
