"""The one way in which pip is started: with those of its settings that say how an index is reached, and no others.

pip's configuration files and PIP_* variables can add indexes, folders of files, requirements, even
projects to build (`[wheel] editable`). None of these is named by a lock. So pip runs without
configuration files, and without a variable of its own except for the allowed settings, which pip
itself is asked for (`pip config list`).

Standard library only, as verify.py contains this module.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Mapping

# The settings that are followed. Each is an option of `pip install`.
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
# The sections that count for `pip install`, the highest precedence last. The last one stands for
# PIP_* variables.
PIP_SECTIONS = ("global", "install", ":env:")

_PIP_PREFIX = "PIP_"
_NO_FILES = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
}
# What would change the list, or the file that it is made from, if a configuration file says so.
_PLAIN_LIST = {f"PIP_{name}": "0" for name in ("QUIET", "VERBOSE", "USER", "GLOBAL", "SITE")}
# pip would write every setting into its log, and the password of an address is in clear text there.
_NO_LOG = {"PIP_LOG": os.devnull}
# pip then does not start again as the interpreter that its `python` setting names.
_AS_STARTED = {"_PIP_RUNNING_IN_SUBPROCESS": "1"}
_LISTED_SETTING = re.compile(r"(global|install|:env:)\.([a-z0-9-]+)=(['\"].*)")


def allowed_settings(sections: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the values of the allowed settings by name, from those of pip's sections.

    As in pip, an empty value counts as none.
    """
    settings: dict[str, str] = {}
    for section in PIP_SECTIONS:
        for name, value in sections.get(section, {}).items():
            setting = _OTHER_NAMES.get(name, name)
            if value and setting in ALLOWED_SETTINGS:
                settings[setting] = value
    return settings


def listed_settings(listed: str) -> dict[str, dict[str, str]]:
    """Return the settings by section in what `pip config list` prints: a line `section.name='value'` for each."""
    sections: dict[str, dict[str, str]] = {}
    for line in listed.splitlines():
        match = _LISTED_SETTING.fullmatch(line)
        if match is not None:
            sections.setdefault(match[1], {})[match[2]] = ast.literal_eval(match[3])
    return sections


def without_pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a pip that follows no setting at all."""
    others = {name: value for name, value in environ.items() if not name.startswith(_PIP_PREFIX)}
    return {**others, **_NO_FILES}


def pip_variables(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the PIP_* variables for this interpreter's pip, the only ones that it may have.

    Raises OSError or subprocess.CalledProcessError if pip does not run, or cannot read a file of
    its configuration; it has then written why to stderr.
    """
    asking = {
        **environ,
        **_PLAIN_LIST,
        **_NO_LOG,
        **_AS_STARTED,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    command = [python, "-I", "-m", "pip", "config", "list"]
    done = subprocess.run(  # noqa: S603  the interpreter's own pip
        command, env=asking, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True
    )
    settings = allowed_settings(listed_settings(done.stdout.decode("utf-8", "surrogateescape")))
    named = {
        _PIP_PREFIX + name.upper().replace("-", "_"): value for name, value in settings.items()
    }
    return {**_NO_FILES, **named}


def pip_environment(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for this interpreter's pip; `pip_variables` says what it raises."""
    return {**without_pip_settings(environ), **pip_variables(python, environ)}


def print_pip_variables() -> int:
    """Write `NAME=value` of each variable, ended by a zero byte, for install.sh; return the exit status."""
    try:
        variables = pip_variables(sys.executable, os.environ)
    except (OSError, subprocess.CalledProcessError):
        return 1
    for name, value in variables.items():
        sys.stdout.buffer.write(os.fsencode(f"{name}={value}\0"))
    sys.stdout.buffer.flush()
    return 0
