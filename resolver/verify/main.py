"""The command line of verify.py: its options, the order of the checks, and the exit status."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from resolver.ascend.checks import ask_tool, check_components, check_computation
from resolver.ascend.network import network_checks
from resolver.pip import print_pip_variables
from resolver.verify.built import BuildMachine, keep_wheels, print_built_wheels
from resolver.verify.bytecode import check_bytecode
from resolver.verify.checkouts import check_checkouts, print_changed_files
from resolver.verify.distributions import installed_distributions
from resolver.verify.environment import (
    check_distributions,
    check_interpreter,
    check_lock,
    check_machine,
    check_python,
    check_requirements,
)
from resolver.verify.findings import (
    SECONDS_TO_START,
    CheckContext,
    Group,
    LockedStack,
    printable,
    run_program,
    show_nothing,
)
from resolver.verify.imports import check_imports
from resolver.verify.ownership import Ownership
from resolver.verify.record import check_collisions, check_files
from resolver.verify.report import Report, UnwritableError
from resolver.verify.search_path import SearchPath
from resolver.verify.starter import START_OPTION, serve_starts
from resolver.verify.starts import check_starts
from resolver.verify.strays import check_strays

# Exit statuses.
_USAGE = 2
_INTERRUPTED = 130
_TERMINATED = 143
# The text that a program must print to prove that it is Python.
_PROOF = "python"


def run(text: str, file: str, arguments: Sequence[str]) -> int:
    """Check this machine and environment against a lock, and return the exit status.

    `text` is the data of the lock as JSON, `file` the path of verify.py, and `arguments` are those
    of the command line. The status is 0 if all is as locked, 1 if something differs, and 2 if the
    command is invalid.

    verify.py has started itself isolated, so that modules on PYTHONPATH and in the user's
    site-packages are ignored, and without site, so that no code of the environment runs before it
    is checked.
    """
    if sys.stdout is None:
        # it is closed, and no other file must get its number
        _discard_output()
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if list(arguments) == [START_OPTION]:
        return serve_starts(file)
    lock = LockedStack.parse(text)
    options = _options(arguments, sorted(lock.texts))
    unusable = None
    if options.python:
        texts = lock.texts[_language(options.lang, lock.texts)]
        unusable = _restart(options.python, file, arguments, texts)
        if not options.machine:
            sys.stderr.write(texts["python-unusable-error"].format(**unusable) + "\n")
            return _USAGE
    search_path = SearchPath.of_this_python()
    if options.pip_settings:
        return print_pip_variables()
    if options.changed_files:
        return print_changed_files(lock.pins[options.changed_files])
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    # exit normally, so that programs that were started are ended, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    context = _context(lock, options, file, search_path, unusable)
    report = Report(context, as_json=options.json, lenient=options.skip_system_checks)
    if options.built_wheels or options.keep_wheels:
        return _handle_wheels(context, options)
    if options.machine_rows:
        groups = [check_machine(context), *check_components(context, ask_tool(context))]
        sys.stdout.write("".join(report.install_lines(group) for group in groups))
        return 0
    some_checks = {"machine": _machine_checks, "files": _file_checks}
    return _report_checks(context, report, some_checks.get(context.checks, checks))


def _handle_wheels(context: CheckContext, options: argparse.Namespace) -> int:
    """Carry out --built-wheels or --keep-wheels for install.sh, and return the exit status."""
    machine = BuildMachine.of(context, check_machine(context).machine)
    if options.keep_wheels:
        folder, *wheels = options.keep_wheels
        return keep_wheels(context, machine, folder, wheels)
    folder, *names = options.built_wheels
    return print_built_wheels(context, machine, folder, names)


def _discard_output() -> None:
    """Connect standard output to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _context(
    lock: LockedStack,
    options: argparse.Namespace,
    file: str,
    search_path: SearchPath,
    unusable: Mapping[str, str] | None,
) -> CheckContext:
    """Return the input of all checks, from the lock, the options and `_restart`."""
    program = os.path.abspath(file)
    folder = os.path.dirname(program)
    shows_progress = sys.stderr.isatty() and not options.json
    return CheckContext(
        lock,
        folder,
        dict(os.environ),
        ascend=options.ascend,
        shown_folder=options.lock_folder,
        wheelhouse=os.path.abspath(options.wheelhouse) if options.wheelhouse else _bundle(folder),
        full=options.full,
        language=_language(options.lang, lock.texts),
        program=program,
        quick=options.quick,
        network=options.network,
        checks=_checks_of(options),
        seconds=options.seconds,
        progress=_show_progress if shows_progress else show_nothing,
        search_path=search_path,
        unusable_python=unusable,
    )


def _checks_of(options: argparse.Namespace) -> str:
    """Return which checks the options select, as `CheckContext.checks` names them."""
    if options.machine or options.machine_rows:
        return "machine"
    if options.files:
        return "files"
    if options.quick:
        return "quick+full" if options.full else "quick"
    return "full" if options.full else "all"


def _bundle(folder: str) -> str:
    """Return the folder of the bundle that contains a lock's folder as `locks/STACK/TARGET`.

    Empty if the folder is not in a bundle, which `ascend-lock bundle` makes.
    """
    top = os.path.normpath(f"{folder}/../../..")
    return top if os.path.isfile(f"{top}/bundle.json") else ""


def _report_checks(
    context: CheckContext, report: Report, checks_of: Callable[[CheckContext], Iterator[Group]]
) -> int:
    """Make the checks, print the report, and return the exit status."""
    try:
        report.begin()
        for group in checks_of(context):
            report.add(group)
            if report.ended_by:
                break
        return report.end()
    except UnwritableError as error:
        _discard_output()
        if str(error):
            sys.stderr.write(f"error: the report cannot be written: {error}\n")
            return _USAGE
        # the pipe is closed: `verify.py | head` has read enough
        return 1
    except MemoryError:
        sys.stderr.write("error: out of memory\n")
        sys.stderr.write("hint: check `ulimit -v`, or a container's limit of memory\n")
        return _USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was changed\n")
        return _INTERRUPTED


def _machine_checks(context: CheckContext) -> Iterator[Group]:
    """Yield the results of the checks that need no environment, for use before an installation."""
    yield check_machine(context)
    yield check_interpreter(context)
    tool = ask_tool(context)
    yield from check_components(context, tool)
    yield from network_checks(context, tool)


def _file_checks(context: CheckContext) -> Iterator[Group]:
    """Yield the results of the checks of installed files, which run no code of the environment.

    `ascend-lock sync` uses them to find damage that it repairs.
    """
    yield check_lock(context)
    installed, broken = installed_distributions(context, context.search_path.folders)
    _, overwritten = check_collisions(context, installed)
    yield check_distributions(context, installed, broken)
    yield check_files(context, installed, overwritten)


def checks(context: CheckContext) -> Iterator[Group]:
    """Yield the results of all checks that the lock and the options ask for, quick ones first."""
    yield check_lock(context)
    yield check_machine(context)
    # The components come before Python: they differ, too, if this is the wrong environment.
    tool = ask_tool(context)
    yield from check_components(context, tool)
    yield from network_checks(context, tool)
    installed, broken = installed_distributions(context, context.search_path.folders)
    yield check_python(context, installed)
    collisions, overwritten = check_collisions(context, installed)
    colliding = {finding.values["other"] for finding in collisions.findings}
    yield check_distributions(context, installed, broken, colliding)
    yield check_files(context, installed, overwritten)
    if context.full:
        yield check_bytecode(context, installed)
    if any(pin.editable for pin in context.lock.pins.values()):
        yield check_checkouts(context, installed)
    yield collisions
    ownership = Ownership(context, installed, context.search_path)
    yield check_strays(context, installed, ownership)
    yield check_requirements(context)
    if context.lock.imports:
        yield check_imports(context, ownership, has_device=tool.has_device)
    if not context.quick:
        yield check_starts(context, installed, ownership, has_device=tool.has_device)
    yield from check_computation(context, tool)


def _restart(
    python: str, file: str, arguments: Sequence[str], texts: Mapping[str, str]
) -> dict[str, str]:
    """Run verify.py with another Python, isolated and without site, in place of this process.

    Before, check that the program is a Python: another program might exit with status 0. If it is
    not, return its path and what is wrong with it, for the messages `texts`.
    """
    path = os.path.abspath(python)
    result = run_program([path, "-I", "-S", "-c", f"print({_PROOF!r})"], os.environ)
    if result.output.split() == [_PROOF]:
        command = [path, "-I", "-S", os.path.abspath(file), *arguments, "--python="]
        os.execv(path, command)  # noqa: S606
    reason = texts["python-unusable-other"] if result.status == 0 else result.ending
    return {"python": path, "reason": reason}


def _language(option: str | None, languages: Collection[str]) -> str:
    """Return the language of messages, from the option or the locale; English if there is none."""
    environ = os.environ
    locale = option or environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG")
    language = (locale or "en")[:2].lower()
    return language if language in languages else "en"


def _add_options_of_install(parser: argparse.ArgumentParser) -> None:
    """Add the options with which install.sh and `ascend-lock sync` call verify.py.

    They are no part of the help: what they print is for these programs.
    """
    hidden = argparse.SUPPRESS
    # Prints what is wrong with the machine and its components. Each row has a state, what it is and
    # how to mend it, separated by tabs.
    parser.add_argument("--machine-rows", action="store_true", help=hidden)
    # Prints the variables that pip gets from install.sh.
    parser.add_argument("--pip-settings", action="store_true", help=hidden)
    # Prints what install.sh notes of an editable checkout that it has built.
    parser.add_argument("--changed-files", metavar="NAME", help=hidden)
    # Prints the wheels in DIR that were built of these pins for a machine like this one.
    parser.add_argument("--built-wheels", nargs="+", metavar=("DIR", "NAME"), help=hidden)
    # Copies wheels that install.sh has just built to DIR, and notes there how.
    parser.add_argument("--keep-wheels", nargs="+", metavar=("DIR", "WHEEL"), help=hidden)


def _options(arguments: Sequence[str], languages: Sequence[str]) -> argparse.Namespace:
    """Return the options of the command line. Exits with status 2 if they are invalid."""
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Check whether this machine and environment match the lock. Changes nothing.",
        epilog="Exit status: 0 matches, 1 something differs, 2 invalid command.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="the environment's Python (default: the one that runs this)",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="compare every file, not just a sample, and bytecode with its source",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="import only the modules that the stack lists, instead of all of them",
    )
    parser.add_argument(
        "--network",
        action="store_true",
        help="also check the network between the accelerators of several nodes",
    )
    parser.add_argument(
        "--seconds",
        type=_positive,
        metavar="N",
        default=SECONDS_TO_START,
        help="how long each module or command may take to start (default: %(default)s)",
    )
    parser.add_argument(
        "--machine",
        action="store_true",
        help="check only the machine, its components and its Python, before an installation",
    )
    parser.add_argument(
        "--files",
        action="store_true",
        help="check only what is installed and its files, and start nothing of it",
    )
    _add_options_of_install(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object and nothing else"
    )
    parser.add_argument("--lang", choices=languages, help="the language (default: by locale)")
    parser.add_argument(
        "--skip-system-checks",
        action="store_true",
        help="only warn if the machine does not match the lock",
    )
    parser.add_argument(
        "--wheelhouse", metavar="DIR", help="use this folder in the commands that fix things"
    )
    parser.add_argument(
        "--lock-folder",
        metavar="DIR",
        help="where the lock is, in these commands, if this file is a copy; empty: not here yet",
    )
    parser.add_argument(
        "--ascend",
        metavar="DIR",
        default=os.environ.get("ASCEND_LOCK_ROOT") or "/usr/local/Ascend",
        help="where driver and toolkit are installed"
        " (default: $ASCEND_LOCK_ROOT, else /usr/local/Ascend)",
    )
    return parser.parse_args(arguments)


def _positive(text: str) -> float:
    """Return the number of seconds in an option.

    Raises ArgumentTypeError unless it is a number above 0 and below a million.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of seconds above 0")
    return number


def _show_progress(line: str) -> None:
    """Show a line on the terminal in place of the previous one. An empty line removes that."""
    sys.stderr.write(f"\r{printable(line)[:70]}\x1b[K")
    sys.stderr.flush()
