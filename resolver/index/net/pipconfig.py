"""The configuration of pip on this machine, read as by pip.

`pip._internal.configuration` takes 40 ms to import, so its rules are repeated here, and a test
compares them with pip's own. `resolver/pip` says which settings are followed, here as by
install.sh; trusted-host, which weakens https, is not.
"""

from __future__ import annotations

import configparser
import locale
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from resolver.errors import InputError
from resolver.files import is_special
from resolver.phrase import phrase
from resolver.pip import PIP_SECTIONS, allowed_settings

_TIMEOUT: Final = 15.0  # seconds, as in pip
_SHORTEST_TIMEOUT: Final = 1.0
_LONGEST_TIMEOUT: Final = 600.0
_IGNORED_OPTIONS: Final = ("extra-index-url", "find-links")
_FORM: Final = phrase(
    "a section begins with a line like `[global]`, followed by lines like `timeout = 60`, each once"
)


class PipConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The options in use; empty if not set."""

    index_url: str
    # A bundle of certificates.
    cert: str = ""
    # A file with certificate and key of the user.
    client_cert: str = ""
    proxy: str = ""
    # In seconds.
    timeout: float = _TIMEOUT
    # The names of options that are set and not followed, as they would add sources of files.
    ignored_options: tuple[str, ...] = ()


def read_pip_config() -> PipConfig:
    """Return the options of `pip install`.

    They are from PIP_* variables, then from [install], then from [global] of pip's files. Raises
    InputError.
    """
    variables: dict[str, str] = {}
    for name, value in os.environ.items():
        if name.startswith("PIP_"):
            variables[_key(name.removeprefix("PIP_"))] = value
    sections = {**_settings(config_files()), ":env:": variables}
    options = allowed_settings(sections)
    return PipConfig(
        index_url=options.get("index-url") or _default_index(),
        cert=_expanded(options.get("cert", "")),
        client_cert=_expanded(options.get("client-cert", "")),
        proxy=options.get("proxy", ""),
        timeout=_timeout(options.get("timeout", "")),
        ignored_options=tuple(option for option in _IGNORED_OPTIONS if _is_set(option, sections)),
    )


def _is_set(option: str, sections: Mapping[str, Mapping[str, str]]) -> bool:
    """Return whether pip would follow an option."""
    return any(sections.get(section, {}).get(option) for section in PIP_SECTIONS)


def _expanded(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 -- Path would turn an empty text into a dot


def config_files() -> list[str]:
    """Return the configuration files of pip, the highest precedence last; they need not exist."""
    override = os.environ.get("PIP_CONFIG_FILE")
    if override == os.devnull:
        return []
    from pip._internal.utils import appdirs

    folders = appdirs.site_config_dirs("pip")
    if not (override and Path(override).exists()):
        folders += [_expanded("~/.pip"), appdirs.user_config_dir("pip")]
    folders.append(sys.prefix)
    files = [f"{folder}/pip.conf" for folder in folders]
    if override:
        files.append(override)
    return files


def _settings(files: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the settings in files, by section and name. Raises InputError."""
    settings: dict[str, dict[str, str]] = {}
    for file in files:
        parser = _parsed(file)
        for section in parser.sections():
            values = settings.setdefault(section, {})
            for name, value in parser.items(section):
                values[_key(name)] = value
    return settings


def _parsed(file: str) -> configparser.RawConfigParser:
    """Return the content of a file. Raises InputError.

    The failure quotes nothing of the file, as there may be a password.
    """
    parser = configparser.RawConfigParser()
    encoding = locale.getpreferredencoding(False)
    try:
        if not is_special(Path(file)):
            parser.read(file, encoding)  # skips a file that cannot be opened, like pip
            return parser
        why = phrase("It is not a regular file.")
    except UnicodeDecodeError:
        why = phrase("It is not {encoding}, the encoding of the locale.", encoding=encoding)
    except configparser.Error as error:
        why = phrase("Line {line} cannot stand there.", line=_line_of(error))
    raise InputError(
        phrase("A configuration file of pip cannot be read."), where=file, why=why, hint=_FORM
    )


def _line_of(error: configparser.Error) -> int | str:
    """Return the number of the line that an error is about; a question mark if it has none."""
    number: int | None = getattr(error, "lineno", None)
    if number:
        return number
    for line, _ in getattr(error, "errors", ()):
        return int(line)
    return "?"


def _key(name: str) -> str:
    """Return the name of an option as in the documentation of pip."""
    return name.lower().replace("_", "-").removeprefix("--")


def _timeout(text: str) -> float:
    """Return the timeout that a setting states, or the default for an unreasonable one."""
    try:
        seconds = float(text)
    except ValueError:
        return _TIMEOUT
    return seconds if _SHORTEST_TIMEOUT <= seconds <= _LONGEST_TIMEOUT else _TIMEOUT


def _default_index() -> str:
    from pip._internal.models.index import PyPI

    return PyPI.simple_url
