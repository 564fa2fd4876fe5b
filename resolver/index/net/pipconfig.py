"""Read the configuration of pip on this machine, by the rules of pip.

Importing `pip._internal.configuration` takes 40 ms, so its rules are repeated here, and a test
compares the results. `resolver.pip` says which settings are followed, here and in install.sh.
trusted-host is ignored, since it weakens https.
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

_TIMEOUT: Final = 15.0  # seconds; the default of pip
# A timeout beyond these limits, in seconds, is ignored.
_SHORTEST_TIMEOUT: Final = 1.0
_LONGEST_TIMEOUT: Final = 600.0
_IGNORED_OPTIONS: Final = ("extra-index-url", "find-links")
_FORM: Final = phrase(
    "a section begins with a line like `[global]`, followed by lines like `timeout = 60`, each once"
)


class PipConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The options of pip that are followed. An option that is not set is empty, unless noted."""

    # The address of the default index; that of pip if it is not set.
    index_url: str
    # The path of a bundle of trusted certificates.
    cert: str = ""
    # The path of a file with the user's certificate and key.
    client_cert: str = ""
    # The address of a proxy, perhaps with a password.
    proxy: str = ""
    # The timeout of a connection in seconds; the default of pip if it is not set.
    timeout: float = _TIMEOUT
    # The names of options that are set, but not followed: they would add further sources of files.
    ignored_options: tuple[str, ...] = ()


def read_pip_config() -> PipConfig:
    """Return the options that `pip install` would use on this machine.

    PIP_* variables take precedence over the section [install] of pip's configuration files, and
    that over [global]. Raises InputError if a file cannot be read.
    """
    variables: dict[str, str] = {}
    for name, value in os.environ.items():
        if name.startswith("PIP_"):
            variables[_key(name.removeprefix("PIP_"))] = value
    sections = {**_settings(_config_files()), ":env:": variables}
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
    """Return whether an option is set in a section that `pip install` reads."""
    return any(sections.get(section, {}).get(option) for section in PIP_SECTIONS)


def _expanded(path: str) -> str:
    """Return a path with `~` replaced by the home folder; an empty path stays empty."""
    return os.path.expanduser(path)  # noqa: PTH111 -- Path would turn an empty text into a dot


def _config_files() -> list[str]:
    """Return the paths of pip's configuration files, the one of highest precedence last.

    The files need not exist.
    """
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
    """Return the settings in these files by section and name; later files override earlier ones.

    Raises InputError if a file cannot be read.
    """
    settings: dict[str, dict[str, str]] = {}
    for file in files:
        parser = _parsed(file)
        for section in parser.sections():
            values = settings.setdefault(section, {})
            for name, value in parser.items(section):
                values[_key(name)] = value
    return settings


def _parsed(file: str) -> configparser.RawConfigParser:
    """Return the sections of a configuration file; none if it cannot be opened.

    Raises InputError if it is invalid. The error does not quote the file, which may have a
    password.
    """
    parser = configparser.RawConfigParser()
    encoding = locale.getpreferredencoding(False)
    try:
        if not is_special(Path(file)):
            parser.read(file, encoding)  # skips a file that cannot be opened, as pip does
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
    """Return the number of the line in which a file is invalid; `?` if it is not known."""
    number: int | None = getattr(error, "lineno", None)
    if number:
        return number
    for line, _ in getattr(error, "errors", ()):
        return int(line)
    return "?"


def _key(name: str) -> str:
    """Return the name of an option as pip's documentation spells it, such as `index-url`."""
    return name.lower().replace("_", "-").removeprefix("--")


def _timeout(text: str) -> float:
    """Return the timeout in a setting, in seconds.

    The default of pip stands for a text that is not a number, and for one beyond the limits.
    """
    try:
        seconds = float(text)
    except ValueError:
        return _TIMEOUT
    return seconds if _SHORTEST_TIMEOUT <= seconds <= _LONGEST_TIMEOUT else _TIMEOUT


def _default_index() -> str:
    """Return the address of pip's default index."""
    from pip._internal.models.index import PyPI

    return PyPI.simple_url
