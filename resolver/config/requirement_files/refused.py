"""Files of other tools that are not read, with the commands that export requirements from them.

Each command is as the documentation of its tool has it.
"""

from __future__ import annotations

import re
from typing import Final

from resolver.errors import InputError
from resolver.phrase import phrase

_PIP_FREEZE: Final = "pip freeze > requirements.txt"
# The command by the name of the file.
_COMMANDS: Final = {
    "Pipfile": "pipenv requirements > requirements.txt",
    "Pipfile.lock": "pipenv requirements > requirements.txt",
    "poetry.lock": "poetry export -f requirements.txt --output requirements.txt",
    "uv.lock": "uv export -o requirements.txt",
    "pdm.lock": "pdm export -o requirements.txt",
    "pixi.lock": "pixi workspace export conda-environment environment.yml",
    "pixi.toml": "pixi workspace export conda-environment environment.yml",
    "setup.py": "pip-compile setup.py",
    "setup.cfg": "pip-compile setup.cfg",
}
_CONDA_LOCK: Final = re.compile(r"(.*\.)?conda-lock\.ya?ml")
# The endings of other files that hold no list of requirements.
_ENDINGS: Final = (".lock", ".py", ".cfg", ".ipynb", ".json", ".whl", ".zip", ".gz")


def require_readable(name: str, where: str) -> None:
    """Raise InputError if a file of this name is not read. Its hint has the command to run.

    `where` is the place in the error.
    """
    command = _command(name)
    if command:
        raise InputError(
            phrase("a file such as `{name}` cannot be imported", name=name),
            where=where,
            hint=phrase(
                "export what it asks for, and import the file that is written: {command}",
                command=command,
            ),
        )


def _command(name: str) -> str:
    """Return the command that exports the requirements of a file; empty if the file is read."""
    if _CONDA_LOCK.fullmatch(name):
        return "conda-lock render --kind env"
    if name in _COMMANDS:
        return _COMMANDS[name]
    return _PIP_FREEZE if name.endswith(_ENDINGS) else ""
