"""Say what to use here in place of commands and options of uv, pip, pip-tools, poetry and pixi."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from resolver.ascend.names import CHIP, FORMER_DEVICE, TOOLKIT
from resolver.phrase import EMPTY, Phrase, literal, phrase

_INSTALL: Final = phrase(
    "ascend-lock sync STACK brings an environment to the lock, "
    "as does the install.sh in the lock's folder on a machine without ascend-lock"
)
_ACTIVATE: Final = phrase("source the activate.sh in the lock's folder: . ./activate.sh")
_UPGRADE: Final = phrase(
    "ascend-lock lock STACK --upgrade, or --upgrade-package NAME for one project"
)
_SHOW: Final = phrase("ascend-lock tree STACK shows who requires what; report.md lists every pin")
_ENVIRONMENT: Final = phrase("python3.11 -m venv env, with the Python of the lock's target")
_CLEAN: Final = literal("ascend-lock cache clear")
_COMPILE: Final = phrase(
    "ascend-lock lock STACK; first, ascend-lock import FILE makes a stack of a file"
)
_BUILD: Final = phrase("install.sh builds what has no wheel; --build-wheels DIR keeps the wheels")
_IMPORT: Final = phrase("ascend-lock import FILE makes a stack of a file")
_FREEZE: Final = phrase(
    "requirements.txt in the lock's folder has every pin with its hashes, "
    "verify says whether the environment has them"
)
_REMOVE: Final = phrase("ascend-lock remove STACK NAME takes it out of a stack")
_VERSION: Final = literal("ascend-lock --version")
_INDEXES: Final = phrase(
    "indexes are in matrices/indexes.toml, pip's settings in `pip config list`"
)
# How to make an index from a bundle.
SERVE: Final = phrase(
    "ascend-lock bundle STACK DIR --index, and then any web server: "
    "python3 -m http.server --directory DIR"
)
_NOTHING: Final = phrase(
    "this program locks, explains, installs and checks; see ascend-lock --help"
)

# The tools whose name some put before a command.
TOOLS: Final = ("conda", "pdm", "pip", "pipenv", "pixi", "poetry", "uv")

# What to do instead of a command that this program does not have.
ANSWERS: Final[Mapping[str, Phrase]] = {
    "about": _VERSION,
    "activate": _ACTIVATE,
    "audit": phrase("an SBOM is what scanners read: ascend-lock export STACK --format sbom"),
    "auth": phrase("credentials are pip's, netrc's and git's own: ascend-lock help indexes"),
    "build": _BUILD,
    "clean": _CLEAN,
    "compile": _COMPILE,
    "completion": literal("ascend-lock help completion"),
    "config": _INDEXES,
    "convert": _IMPORT,
    "create": _ENVIRONMENT,
    "debug": phrase("ascend-lock verify STACK says what is wrong with a machine"),
    "dependencies": _SHOW,
    "download": literal("ascend-lock bundle STACK DIR"),
    "env": _ENVIRONMENT,
    "environment": _ENVIRONMENT,
    "exec": _ACTIVATE,
    "deps": _SHOW,
    "develop": phrase("a stack names commits of git, no folders: ascend-lock import leaves -e out"),
    "downgrade": literal("ascend-lock add STACK NAME==VERSION"),
    "doctor": phrase("ascend-lock verify STACK says what is wrong with a machine"),
    "freeze": _FREEZE,
    "global": _NOTHING,
    "graph": _SHOW,
    "hash": phrase("lock.toml and requirements.txt have the sha256 of every file"),
    "index": phrase("ascend-lock matrix show --package NAME shows which releases go together"),
    "info": _VERSION,
    "inspect": literal("ascend-lock verify STACK --json"),
    "install": _INSTALL,
    "list": _SHOW,
    "new": phrase("ascend-lock init writes a stack"),
    "outdated": literal("ascend-lock check STACK --upstream"),
    "pin": literal("ascend-lock add STACK NAME==VERSION"),
    "pip": _INSTALL,
    "pip-compile": _COMPILE,
    "pip-sync": _INSTALL,
    "platform": phrase("`platform` in [target] of the stack; ascend-lock init writes one"),
    "prune": _CLEAN,
    "publish": _NOTHING,
    "python": _ENVIRONMENT,
    "reinstall": _INSTALL,
    "relock": _UPGRADE,
    "repo": _INDEXES,
    "rm": _REMOVE,
    "resolve": literal("ascend-lock lock STACK --dry-run"),
    "run": _ACTIVATE,
    "search": phrase("ascend-lock matrix show --package NAME shows which releases go together"),
    "self": _VERSION,
    "serve": SERVE,
    "shell": _ACTIVATE,
    "shell-hook": _ACTIVATE,
    "show": _SHOW,
    "solve": literal("ascend-lock lock STACK --dry-run"),
    "status": literal("ascend-lock check STACK"),
    "task": _NOTHING,
    "test": phrase("ascend-lock verify STACK imports what the stack names in [check]"),
    "tool": _NOTHING,
    "unlock": literal("ascend-lock lock STACK --upgrade"),
    "uninstall": _REMOVE,
    "update": _UPGRADE,
    "upgrade": _UPGRADE,
    "upload": _NOTHING,
    "venv": _ENVIRONMENT,
    "validate": literal("ascend-lock check STACK"),
    "version": _VERSION,
    "wheel": _BUILD,
}

_CHECK: Final = phrase(
    "ascend-lock lock STACK --check fails if locking would change anything, "
    "ascend-lock check STACK if an input has changed"
)
_TO_THE_LOCK: Final = phrase(
    "`sync` never changes a lock: leave it out; "
    "ascend-lock lock STACK --check says whether the lock is up to date"
)
_TARGET: Final = phrase("write it into the stack, below [target]")
_HASHES: Final = phrase("every file of a lock has its hashes, and nothing is exported without them")
_WITHOUT: Final = phrase("it has no meaning here: leave it out")
_GROUPS: Final = phrase("a group is named with --group NAME; without one, all groups are meant")
_COLUMNS: Final = phrase(
    "the table has a column for it, or says it below; {options} select its lines",
    options=f"--{TOOLKIT}, --{CHIP}",
)
_NO_INSTALLING: Final = phrase("only `sync` and install.sh install: leave it out")

# What to do instead of an option that a command does not have, by the command and its option. The
# command is named with its group.
OPTION_ANSWERS: Final[Mapping[str, Mapping[str, Phrase]]] = {
    "add": {
        "--dev": _GROUPS,
        "--editable": phrase("a stack names commits of git, no folders"),
        "--no-install": _NO_INSTALLING,
        "--no-sync": _NO_INSTALLING,
        "--optional": _GROUPS,
        "--requirement": _IMPORT,
        "--requirements": _IMPORT,
        "-D": _GROUPS,
        "-G": _GROUPS,
        "-r": _IMPORT,
    },
    "bundle": {"--serve": SERVE},
    "check": {"--frozen": _CHECK, "--lock": _CHECK, "--locked": _CHECK},
    "export": {
        "--generate-hashes": _HASHES,
        "--no-hashes": _HASHES,
        "--output-file": literal("-o FILE"),
        "--without-hashes": _HASHES,
        "-f": literal("--format"),
    },
    "import": {
        "--chip": literal(f"--{CHIP} FAMILY"),
        f"--{FORMER_DEVICE}": literal(f"--{CHIP} FAMILY"),
        "--requirement": _IMPORT,
        "-r": _IMPORT,
    },
    "init": {"--name": literal("-o NAME.toml")},
    "lock": {
        "--all-extras": phrase("an extra stands in the line of its project: NAME[EXTRA]"),
        "--extra": phrase("an extra stands in the line of its project: NAME[EXTRA]"),
        "--frozen": _CHECK,
        "--generate-hashes": _HASHES,
        "--locked": _CHECK,
        "--no-update": phrase("pins stay as they are unless --upgrade is given: leave it out"),
        "--output-file": phrase("a lock is a folder below that of --locks DIR"),
        "--pre": phrase("write it into the stack: prereleases, below [policy]"),
        "--prerelease": phrase("write it into the stack: prereleases, below [policy]"),
        "--refresh": literal("--anew"),
        "--regenerate": literal("--upgrade"),
        "-o": phrase("a lock is a folder below that of --locks DIR"),
        "-r": _IMPORT,
    },
    # Of `matrix` without a command, too: that was its name.
    "matrix build": {
        f"--{TOOLKIT}": literal(f"ascend-lock matrix show --{TOOLKIT} VERSION"),
        "--package": literal("ascend-lock matrix show --package NAME"),
        f"--{CHIP}": literal(f"ascend-lock matrix show --{CHIP} FAMILY"),
    },
    "matrix show": {
        "--platform": _COLUMNS,
        "--python": _COLUMNS,
    },
    "remove": {"--dev": _GROUPS, "--no-sync": _NO_INSTALLING, "-D": _GROUPS, "-G": _GROUPS},
    "sync": {
        "--active": literal("--python PATH"),
        "--check": literal("--dry-run"),
        "--frozen": _TO_THE_LOCK,
        "--inexact": phrase("the install.sh in the lock's folder removes nothing"),
        "--locked": _TO_THE_LOCK,
        "--no-dev": _GROUPS,
        "--reinstall": literal("--full"),
    },
    "tree": {
        "--outdated": literal("ascend-lock check STACK --upstream"),
        "--reverse": literal("--invert"),
        "-i": literal("--invert"),
        "-p": literal("--package"),
    },
    "why": {"--package": literal("ascend-lock why STACK NAME")},
}
# What to do instead of an option that no command has.
_OPTION_ANSWERS: Final[Mapping[str, Phrase]] = {
    "--default-index": _INDEXES,
    "--extra-index-url": _INDEXES,
    "--find-links": _INDEXES,
    "--index": _INDEXES,
    "--index-url": _INDEXES,
    "--no-cache": phrase("ascend-lock cache clear empties the cache; `lock --anew` solves anew"),
    "--no-progress": literal("-q"),
    "--platform": _TARGET,
    "--python": _TARGET,
    "--python-platform": _TARGET,
    "--python-version": _TARGET,
    "--resolution": _WITHOUT,
    "--universal": phrase("a lock is for one target; a stack may have several"),
    "-V": _VERSION,
    "-f": _INDEXES,
    "-i": _INDEXES,
}


# What to write instead of an argument that a command does not have.
_ARGUMENT_ANSWERS: Final[Mapping[str, Phrase]] = {
    "init": phrase("what the stack is for is --for USE, and its file -o NAME.toml"),
    "tree": phrase("ascend-lock tree STACK --package NAME shows what is below a project"),
}


def argument_answer(command: str) -> Phrase:
    """Return what to write instead of an argument that a command does not have; or empty."""
    return _ARGUMENT_ANSWERS.get(command, EMPTY)


def option_answer(command: str, option: str) -> Phrase:
    """Return what to use instead of an option that a command does not have; empty if unknown."""
    answers = OPTION_ANSWERS.get(command, {})
    return answers.get(option) or _OPTION_ANSWERS.get(option) or EMPTY
