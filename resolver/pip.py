"""The environment that pip is started with: only settings that say how an index is reached.

pip's configuration files and PIP_* variables can add indexes, folders of files, requirements, even
projects to build (`[wheel] editable`). A lock names none of these. So pip runs without
configuration files, and with no PIP_* variables except for the allowed settings, which pip itself
is asked for.

verify.py contains this module, so it uses only the standard library.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping

# The settings that pip gets. Each is an option of `pip install`.
ALLOWED_SETTINGS = (
    "index-url",
    "proxy",
    "cert",
    "client-cert",
    "timeout",
    "retries",
    "cache-dir",
    "no-cache-dir",
    "trusted-host",
)
# Other names of these options in pip.
_OTHER_NAMES = {"pypi-url": "index-url", "default-timeout": "timeout"}
# The sections that apply to `pip install`, the highest precedence last. `:env:` has the PIP_*
# variables.
PIP_SECTIONS = ("global", "install", ":env:")

_NO_FILES = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
}
# Writes all settings as JSON. It uses the class with which every command of pip reads them, and not
# `pip config list`, as options of pip can hide settings from a command: `isolated`, `quiet`,
# `user`, `version`. An option `log` would write passwords into a file.
_LIST_SETTINGS = """
import json
from pip._internal.configuration import Configuration

configuration = Configuration(isolated=False, load_only=None)
configuration.load()
settings = {}
for name, value in configuration.items():
    # newer releases of pip have the settings of each file by the name of the file
    settings.update(value if isinstance(value, dict) else {name: value})
print(json.dumps(settings))
"""


def allowed_settings(sections: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the allowed settings by name, from all settings by section and name.

    As in pip, an empty value counts as none.
    """
    settings = {}
    for section in PIP_SECTIONS:
        for name, value in sections.get(section, {}).items():
            setting = _OTHER_NAMES.get(name, name)
            if value and setting in ALLOWED_SETTINGS:
                settings[setting] = value
    return settings


def by_section(settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return settings by section and name, from settings by `section.name`, as pip writes it."""
    sections: dict[str, dict[str, str]] = {}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    return sections


def without_pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a pip that follows no setting at all."""
    others = {name: value for name, value in environ.items() if not name.startswith("PIP_")}
    return {**others, **_NO_FILES}


def pip_variables(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the PIP_* variables for this interpreter's pip, which is to have no others.

    Raises OSError or subprocess.CalledProcessError if pip does not run, or cannot read one of its
    configuration files. What pip says of a file is not shown: it quotes lines, which may have a
    password.
    """
    done = subprocess.run(  # noqa: S603  the interpreter's own pip
        [python, "-I", "-c", _LIST_SETTINGS],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    variables = dict(_NO_FILES)
    settings = by_section(json.loads(done.stdout))
    for name, value in allowed_settings(settings).items():
        variables[f"PIP_{name.upper().replace('-', '_')}"] = value
    return variables


def pip_environment(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return all variables for this interpreter's pip. Raises what `pip_variables` raises."""
    return {**without_pip_settings(environ), **pip_variables(python, environ)}


def print_pip_variables() -> int:
    """Write `NAME=value` of each variable for install.sh, followed by a zero byte.

    Return the exit status.
    """
    try:
        variables = pip_variables(sys.executable, os.environ)
    except (OSError, subprocess.CalledProcessError):
        return 1
    for name, value in variables.items():
        sys.stdout.buffer.write(os.fsencode(f"{name}={value}\0"))
    sys.stdout.buffer.flush()
    return 0
