"""Define the options that several commands share, and their values as `Settings`."""

from __future__ import annotations

import datetime as dt
import functools
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from resolver.cli.common import given
from resolver.cli.console import Progress, print_line
from resolver.cli.group import FORMER
from resolver.cli.language import run_language
from resolver.cli.usage import bad_value
from resolver.errors import InputError, escaped
from resolver.i18n import translate
from resolver.model.component import Component, Components, Value, find_component
from resolver.model.message import message
from resolver.model.patterns import GLIBC
from resolver.model.problem import PolicyOptions, Problem
from resolver.model.slips import full_width_hint
from resolver.model.target import PLATFORMS
from resolver.model.text import Language
from resolver.phrase import cause, phrase

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The word that stands for all stacks on a command line.
ALL: Final = "all"
# Other names of processors, and the names that targets use.
_PROCESSORS: Final = {
    "arm64": "aarch64",
    "arm": "aarch64",
    "armv8": "aarch64",
    "amd64": "x86_64",
    "x64": "x86_64",
    "x86-64": "x86_64",
    "x86": "x86_64",
}
# The value of an option for a component that the target does not state.
NONE: Final = "none"
# Words for the newest releases, in place of a day.
_NEWEST: Final = ("latest", "now", "today")
# What names of systems have after the name and the version: `LTS`, a service pack, a code name.
_UPDATE: Final = re.compile(r"(?:[\s-]*(?:LTS|SP\s?\d{1,2}|\([^()]*\)))+\s*\Z", re.IGNORECASE)
# The number of an update at the end of a version.
_NUMBER: Final = re.compile(r"(?<=\d)\.\d+\s*\Z")
_LOCKS: Final = Path("locks")
_LOCAL_MATRICES: Final = Path("matrices")
# The environment variable that names the folder of facts, indexes and stacks.
_MATRICES_VARIABLE: Final = "ASCEND_LOCK_MATRICES"
_PACKAGE: Final = Path(__file__).resolve().parents[1]

Command = Callable[..., int]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run that several commands share."""

    # Prints progress and warnings to stderr.
    progress: Progress
    # The language of the output.
    language: Language
    # The folder of facts, indexes and stacks that the user named; None for the default.
    own_matrices: Path | None = None
    # The folder of locks that the user named; None for the default.
    own_locks: Path | None = None
    # Whether to print one JSON object and nothing else on stdout.
    as_json: bool = False
    # Whether to work without network access.
    offline: bool = False
    # The names of the targets to handle; empty for all.
    targets: tuple[str, ...] = ()
    # The moment that replaces the stack's own `exclude-newer`.
    cutoff: dt.datetime | None = None
    # The day that replaces the stack's own `as-of`; empty for the stack's.
    as_of: str = ""
    # The time limit for the explanation of a conflict, in seconds.
    seconds: float = 900.0

    @property
    def matrices(self) -> Path:
        """Return the folder of facts, indexes and stacks."""
        return self.own_matrices or _default_matrices()

    @property
    def has_own_matrices(self) -> bool:
        """Return whether the user chose the folder of facts, or the current folder has it."""
        is_named = self.own_matrices is not None or bool(os.environ.get(_MATRICES_VARIABLE))
        return is_named or _is_beside()

    @property
    def locks(self) -> Path:
        """Return the folder of locks.

        Raises InputError if it is the default folder and a link: a proposed change to a repository
        could turn the folder into a link, and locks would be written where it leads.
        """
        if self.own_locks is not None:
            return self.own_locks
        if _LOCKS.is_symlink():
            raise InputError(
                phrase("the folder of locks is a link, which is not followed"),
                where=str(_LOCKS),
                why=phrase("It leads to {path}.", path=_LOCKS.readlink()),
                hint=phrase("if that is meant, name it: --locks DIR"),
            )
        return _LOCKS

    @property
    def policy_options(self) -> PolicyOptions:
        """Return the options that replace parts of each stack's policy."""
        return PolicyOptions(exclude_newer=self.cutoff, as_of=self.as_of)

    @property
    def folder_options(self) -> tuple[str, ...]:
        """Return the options with which another command uses the same folders."""
        words: list[str] = []
        if self.own_matrices is not None:
            words += ["--matrices", str(self.own_matrices)]
        if self.own_locks not in (None, _LOCKS):
            words += ["--locks", str(self.own_locks)]
        return tuple(words)

    @property
    def repeated_options(self) -> tuple[str, ...]:
        """Return the options with which a similar command gives the same result."""
        if self.offline:
            return ("--offline", *self.folder_options)
        return self.folder_options

    def snapshot_path(self, stack: str) -> Path:
        """Return the path of the snapshot to read for a stack, whether it exists or not.

        A snapshot of the user's own comes before the one beside the facts.
        """
        own = self.own_snapshot(stack)
        if own.exists():
            return own
        return output_folder(self.matrices) / "snapshots" / own.name

    def own_snapshot(self, stack: str) -> Path:
        """Return the path of the snapshot to write for a stack.

        It is beside `matrices` if the user chose that folder: by an option, by the environment, or
        because the current folder has it. Otherwise it is in the current folder, because files that
        ship with the program are not the user's.
        """
        folder = output_folder(self.matrices) if self.has_own_matrices else Path()
        return folder / "snapshots" / f"{stack}.snapshot"

    def lock_folder(self, problem: Problem) -> Path:
        """Return the folder of a target's lock."""
        return self.locks / problem.stack.name / problem.target.name

    def command(self, *words: str) -> str:
        """Return a command that uses the same folders, quoted for a shell."""
        return shlex.join(("ascend-lock", *words, *self.folder_options))

    @property
    def is_quiet(self) -> bool:
        """Return whether only errors, and results that were asked for, are printed."""
        return self.progress.verbosity < 0

    def print_message(self, code: str, /, **values: object) -> None:
        """Print a result on stdout: the message with this code, in the language of the run."""
        print_line(translate(message(code, **values), self.language))

    def print_note(self, code: str, /, **values: object) -> None:
        """Print on stdout what was done or what to do next: the message with this code.

        A note is no result. It is left out if the run is quiet, or if stdout is for JSON.
        """
        if not self.is_quiet and not self.as_json:
            self.print_message(code, **values)


def settings(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds shared options to a command.

    `names` are keys of `_SHARED`. The command receives the values of these and of the common
    options as one `Settings`.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(**values: Any) -> int:
            shared = {name: values.pop(name) for name in names}
            run = _settings({**shared, **given(click.get_current_context())})
            _print_current_name(run)
            try:
                return command(run, **values)
            finally:
                run.progress.clear()

        # click adds an option to the function itself.
        for name in reversed(names):
            _SHARED[name](wrapper)
        return wrapper

    return decorate


def _settings(values: Mapping[str, Any]) -> Settings:
    """Return the settings of a run with these values of options."""
    own = dict(values)
    language = own.pop("language", None) or run_language()
    verbosity = own.pop("verbose", 0) - own.pop("quiet", 0)
    is_enabled = False if own.get("as_json") else None
    progress = Progress(language, enabled=is_enabled, verbosity=verbosity)
    return Settings(progress=progress, language=language, **own)


def _print_current_name(run: Settings) -> None:
    """Print on stderr the present name of a command that was called by a former one."""
    former = click.get_current_context().meta.get(FORMER)
    if former is not None:
        values = {"former": former.words, "current": former.current}
        run.progress.say(translate("cli.renamed", run.language, **values))


def ships(path: Path) -> bool:
    """Return whether a path belongs to the installed package.

    Such a file is replaced by the next installation. The files of a checkout are the user's.
    """
    return path.resolve().is_relative_to(_PACKAGE)


def output_folder(path: Path) -> Path:
    """Return the folder for files that are made from the stack or the facts at `path`.

    That is the folder that contains `path`, or the current one if `path` ships with the package.
    """
    return Path() if ships(path) else path.parent


def today() -> dt.date:
    """Return the present day in UTC."""
    return dt.datetime.now(tz=dt.timezone.utc).date()


def _is_beside() -> bool:
    """Return whether the current folder has `./matrices` with a folder of facts."""
    try:
        return (_LOCAL_MATRICES / "facts").is_dir()
    except OSError:
        # Reading its files says why it cannot be read.
        return True


def _default_matrices() -> Path:
    """Return the folder that the environment names, else `./matrices`, else the shipped one.

    A `./matrices` without `facts`, such as one with stacks alone, does not replace the shipped one.
    """
    folder = os.environ.get(_MATRICES_VARIABLE)
    if folder:
        return Path(folder)
    if _is_beside():
        return _LOCAL_MATRICES
    # In a checkout this is a link.
    return (_PACKAGE / "matrices").resolve()


def completed(name: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return the function with which click completes a word in a shell.

    It calls the function with this `name` in `completion`.
    """

    def complete(
        context: click.Context, _parameter: click.Parameter, prefix: str
    ) -> list[CompletionItem]:
        # Only a shell that completes a word needs it.
        from resolver.cli import completion

        items: list[CompletionItem] = getattr(completion, name)(context, prefix)
        return items

    return complete


def _read_moment(
    context: click.Context, parameter: click.Parameter, value: dt.datetime | None
) -> dt.datetime | None:
    """Return the end of a day, or a moment with its time zone; None without a value.

    Raise an error if the value is no valid cut-off.
    """
    # Most runs have no such option.
    from resolver.config.decode import cutoff_moment

    if value is None:
        return None
    try:
        return cutoff_moment(value if value.tzinfo else value.date())
    except ValueError as error:
        raise bad_value(context, parameter, cause(error)) from None


def _read_as_of(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """Return the value of --as-of in normal form; empty without a value.

    Raise an error if it is not valid.
    """
    from resolver.model.as_of import NEWEST, read_as_of

    try:
        return read_as_of(value) if value else ""
    except ValueError as error:
        refusal = bad_value(context, parameter, cause(error))
        if value in _NEWEST:
            hint = phrase("did you mean `{name}`?", name=NEWEST)
            refusal = InputError(**{**refusal.phrases, "hint": hint})
        raise refusal from None


def stacks(name: str, metavar: str, *, required: bool = True) -> Callable[[Command], Command]:
    """Return a decorator that adds an argument for any number of stacks."""
    return click.argument(
        name,
        metavar=metavar,
        nargs=-1,
        required=required,
        shell_complete=completed("stacks"),
    )


def states_nothing(text: str) -> bool:
    """Return whether the value of a component's option is `none`: the target does not state it."""
    return text.strip().lower() == NONE


def component(name: str, text: str, components: Components) -> Value:
    """Return the value of the option for a component of a machine.

    Raises InputError if the component is unknown or cannot have this value.
    """
    where = f"--{name} {text}"
    try:
        component = find_component(name, components)
        value = component.parse_stated(text)
    except ValueError as error:
        raise InputError(cause(error), where=where, hint=full_width_hint(text)) from None
    component.require_known(value, where, takes_names=True)
    return value


def glibc_version(text: str, glibc: Component) -> str:
    """Return the version of glibc in the value of --glibc: itself, or the one of a named system.

    Raises InputError if the text is neither.
    """
    version = text if GLIBC.matches(text) else _glibc_of_system(text, glibc)
    if not version:
        raise InputError(
            phrase(
                "`{text}` is no version of glibc, and no system that is known", text=escaped(text)
            ),
            where=f"--glibc {text}",
            hint=phrase(
                "give its version (ldd --version), or one of {names}",
                names=", ".join(_names_of_systems(glibc)),
            ),
        )
    return version


def _names_of_systems(glibc: Component) -> Iterable[str]:
    """Return one name of each system, the first in systems.toml."""
    first: dict[tuple[str, str], str] = {}
    for name, version in glibc.names.items():
        first.setdefault((version, name.split()[-1]), name)
    return first.values()


def _glibc_of_system(text: str, glibc: Component) -> str:
    """Return the glibc of a system; empty if it is unknown.

    The text may have more than the name of the system: its code name, its service pack or the
    number of an update, as PRETTY_NAME in /etc/os-release. They do not change the glibc.
    """
    name = _UPDATE.sub("", text)
    version = glibc.named(text) or glibc.named(name)
    while not version and _NUMBER.search(name):
        name = _NUMBER.sub("", name)
        version = glibc.named(name)
    return version


def output(default: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the option for the file to write.

    `default` says in its help what happens without the option.
    """
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"File to write (default: {default}).",
    )


def require_absent(path: Path) -> None:
    """Raise InputError if a path exists, also if it is a broken link."""
    if os.path.lexists(path):
        raise InputError(
            phrase("`{path}` already exists; nothing was written", path=path),
            where=str(path),
            hint=phrase("move it out of the way, or name another file with --output"),
        )


class PlatformChoice(click.Choice):  # type: ignore[type-arg]
    """The type of an option for a platform. The name of its processor is enough, by any alias."""

    def __init__(self) -> None:
        super().__init__(PLATFORMS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the platform. Raise click.BadParameter for any other value."""
        return super().convert(platform_name(str(value)), param, ctx)


def platform_name(text: str) -> str:
    """Return the platform that a text names, by itself or by its processor.

    A text that names none is returned unchanged.
    """
    name = text.lower().replace("_", "-").rpartition("linux-")[2]
    platform = f"linux-{_PROCESSORS.get(name, name.replace('-', '_'))}"
    return platform if platform in PLATFORMS else text


stack = click.argument("stack", shell_complete=completed("stacks"))
environment = click.option(
    "--python",
    metavar="PATH",
    help=(
        "The environment's Python, or its folder "
        "(default: the active environment, ./env or ./.venv)."
    ),
)
_SHARED: Final[Mapping[str, Callable[[Command], Command]]] = {
    "targets": click.option(
        "--target",
        "--group",
        "targets",
        multiple=True,
        metavar="NAME",
        shell_complete=completed("targets"),
        help=(
            "Only this target; the beginning of its name will do, or the end after a `-`, "
            "such as a group. May be repeated."
        ),
    ),
    "cutoff": click.option(
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
        help=(
            "Prefer releases uploaded by this day "
            "(default: the stack's, or two weeks after what it pins)."
        ),
    ),
    "seconds": click.option(
        "--explain-seconds",
        "seconds",
        type=click.FloatRange(min=0.1),
        default=60.0,
        metavar="N",
        help=(
            "Time limit for explaining a conflict; "
            "what was found by then is reported (default: 60)."
        ),
    ),
}
facts_days = click.option(
    "--facts-days",
    type=click.IntRange(min=0),
    metavar="N",
    help=(
        "Report facts checked more than N days ago "
        "(default: 180 when asking the indexes, else none)."
    ),
)
