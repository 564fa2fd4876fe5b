"""Words that people know from uv, pip, pip-tools, poetry and pixi, and what does the same here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from resolver.phrase import Phrase, literal, phrase

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
_BUILD: Final = phrase("install.sh builds what has no wheel; --build-wheels DIR keeps the wheels")
_VERSION: Final = literal("ascend-lock --version")
_HELP: Final = phrase("ascend-lock --help, or ascend-lock COMMAND --help")
_NOTHING: Final = phrase(
    "this program locks, explains, installs and checks; see ascend-lock --help"
)

# What to do instead of a command that this program does not have.
ANSWERS: Final[Mapping[str, Phrase]] = {
    "about": _VERSION,
    "activate": _ACTIVATE,
    "auth": phrase("credentials are pip's, netrc's and git's own: docs/indexes.md"),
    "build": _BUILD,
    "clean": literal("ascend-lock cache clear"),
    "compile": phrase(
        "ascend-lock lock STACK; first, ascend-lock import FILE makes a stack of a file"
    ),
    "config": phrase("indexes are in matrices/indexes.toml, pip's settings in `pip config list`"),
    "debug": phrase("ascend-lock verify STACK says what is wrong with a machine"),
    "download": literal("ascend-lock bundle STACK DIR"),
    "env": _ENVIRONMENT,
    "exec": _ACTIVATE,
    "freeze": _SHOW,
    "global": _NOTHING,
    "hash": phrase("lock.toml and requirements.txt have the sha256 of every file"),
    "help": _HELP,
    "index": phrase("ascend-lock matrix show --package NAME shows which releases go together"),
    "info": _VERSION,
    "inspect": literal("ascend-lock verify STACK --json"),
    "install": _INSTALL,
    "list": _SHOW,
    "new": phrase("ascend-lock init writes a stack"),
    "outdated": literal("ascend-lock check STACK --upstream"),
    "pip": _INSTALL,
    "publish": _NOTHING,
    "python": _ENVIRONMENT,
    "reinstall": _INSTALL,
    "run": _ACTIVATE,
    "search": phrase("ascend-lock matrix show --package NAME shows which releases go together"),
    "self": _VERSION,
    "shell": _ACTIVATE,
    "shell-hook": _ACTIVATE,
    "show": _SHOW,
    "solve": literal("ascend-lock lock STACK --dry-run"),
    "status": literal("ascend-lock check STACK"),
    "task": _NOTHING,
    "tool": _NOTHING,
    "uninstall": phrase("ascend-lock remove STACK NAME takes it out of a stack"),
    "update": _UPGRADE,
    "upgrade": _UPGRADE,
    "upload": _NOTHING,
    "venv": _ENVIRONMENT,
    "version": _VERSION,
    "wheel": _BUILD,
}
