"""The environment that pip is started with: only settings that say how an index is reached.

pip's configuration files and PIP_* variables can add indexes, folders of files, requirements, even
projects to build (`[wheel] editable`). A lock names none of these. So pip runs without
configuration files, and with no PIP_* variables except for the allowed settings, which pip itself
is asked for (`pip config list`).

verify.py contains this module, so it uses only the standard library.
"""

from __future__ import annotations

import ast
import os
import re
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
# The variables of `pip config list`.
_LIST_VARIABLES = {
    # configuration files could set these, which change the list or choose its file
    "PIP_QUIET": "0",
    "PIP_VERBOSE": "0",
    "PIP_USER": "0",
    "PIP_GLOBAL": "0",
    "PIP_SITE": "0",
    # pip would write every setting into its log, with passwords in clear text
    "PIP_LOG": os.devnull,
    # pip would start again as the interpreter that its `python` setting names
    "_PIP_RUNNING_IN_SUBPROCESS": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
_LISTED_SETTING = re.compile(r"(global|install|:env:)\.([a-z0-9-]+)=(['\"].*)")


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


def listed_settings(listed: str) -> dict[str, dict[str, str]]:
    """Return the settings by section and name, from the output of `pip config list`.

    It has lines like `section.name='value'`.
    """
    sections: dict[str, dict[str, str]] = {}
    for line in listed.splitlines():
        match = _LISTED_SETTING.fullmatch(line)
        if match is not None:
            sections.setdefault(match[1], {})[match[2]] = ast.literal_eval(match[3])
    return sections


def without_pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a pip that follows no setting at all."""
    others = {name: value for name, value in environ.items() if not name.startswith("PIP_")}
    return {**others, **_NO_FILES}


def pip_variables(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the PIP_* variables for this interpreter's pip, which is to have no others.

    Raises OSError or subprocess.CalledProcessError if pip does not run, or cannot read one of its
    configuration files. pip has then written to stderr why.
    """
    command = [python, "-I", "-m", "pip", "config", "list"]
    done = subprocess.run(  # noqa: S603  the interpreter's own pip
        command,
        env={**environ, **_LIST_VARIABLES},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    variables = dict(_NO_FILES)
    listed = listed_settings(done.stdout.decode("utf-8", "surrogateescape"))
    for name, value in allowed_settings(listed).items():
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
