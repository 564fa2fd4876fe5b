"""The configuration of pip on this machine, read as pip reads it.

`pip._internal.configuration` takes 120 ms to import, so its rules are repeated here, and a test compares them with
`pip config list`. extra-index-url, find-links
and trusted-host are deliberately not followed: they mix names or weaken https.
"""

from __future__ import annotations

import configparser
import locale
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from resolver.errors import InputError
from resolver.files import is_special

_TIMEOUT = 15.0  # pip's own
_TIMEOUTS = (1.0, 600.0)
_BESIDE = ("extra-index-url", "find-links")
_FORM = "a section begins with a line like `[global]`, followed by lines like `timeout = 60`, each once"


class PipConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The options that matter here; empty if not set. `timeout` is in seconds.

    `beside` names the options set for further sources of files, which are ignored.
    """

    index_url: str
    cert: str = ""
    client_cert: str = ""
    proxy: str = ""
    timeout: float = _TIMEOUT
    beside: tuple[str, ...] = ()


def read_pip_config(environ: Mapping[str, str] | None = None) -> PipConfig:
    """The options of `pip install`: PIP_* variables, then [install], then [global] of pip's files."""
    environ = os.environ if environ is None else environ
    options: dict[str, str] = {}
    settings = _settings(config_files(environ))
    variables = {key[4:]: value for key, value in environ.items() if key.startswith("PIP_")}
    for section in (settings.get("global", {}), settings.get("install", {}), variables):
        # pip skips an option with an empty value, so a weaker place still counts.
        options |= {_key(key): value for key, value in section.items() if value}
    return PipConfig(
        index_url=options.get("index-url") or options.get("pypi-url") or _default_index(),
        cert=_file(options.get("cert", "")),
        client_cert=_file(options.get("client-cert", "")),
        proxy=options.get("proxy", ""),
        timeout=_timeout(options.get("timeout") or options.get("default-timeout") or ""),
        beside=tuple(option for option in _BESIDE if option in options),
    )


def _file(name: str) -> str:
    return os.path.expanduser(name)  # noqa: PTH111 -- Path would turn an empty text into a dot


def config_files(environ: Mapping[str, str]) -> list[str]:
    """The configuration files of pip, weakest first; they need not exist."""
    own = environ.get("PIP_CONFIG_FILE")
    if own == os.devnull:
        return []
    folders, for_user = _folders(environ)
    if not (own and Path(own).exists()):
        folders += ["~/.pip", for_user]
    files = [f"{os.path.expanduser(folder)}/pip.conf" for folder in (*folders, sys.prefix)]  # noqa: PTH111
    return [*files, own] if own else files


def _folders(environ: Mapping[str, str]) -> tuple[list[str], str]:
    """The folders of pip's settings for all users and for this user."""
    if sys.platform == "darwin":
        from pip._internal.utils import appdirs

        return appdirs.site_config_dirs("pip"), appdirs.user_config_dir("pip")
    # Like pip's appdirs on other systems, whose import takes 10 ms.
    for_all = environ.get("XDG_CONFIG_DIRS", "").strip() or "/etc/xdg"
    for_user = environ.get("XDG_CONFIG_HOME", "").strip() or "~/.config"
    return [*(f"{one.rstrip('/')}/pip" for one in for_all.split(":")), "/etc"], f"{for_user}/pip"


def _settings(files: Iterable[str]) -> dict[str, dict[str, str]]:
    settings: dict[str, dict[str, str]] = {}
    for file in files:
        parser = configparser.RawConfigParser()
        encoding = locale.getpreferredencoding(False)
        why = "It is not a regular file." if is_special(Path(file)) else ""
        try:
            if not why:
                parser.read(file, encoding)  # which passes over one that cannot be opened, as pip does
        except UnicodeDecodeError:
            why = f"It is not {encoding}, the encoding of the locale."
        except configparser.Error as error:
            line = getattr(error, "lineno", None) or next(iter(getattr(error, "errors", ())), ("?",))[0]
            why = f"Line {line} cannot stand there."
        if why:  # which quotes nothing, as there may be a password
            raise InputError("A configuration file of pip cannot be read.", where=file, why=why, hint=_FORM)
        for section in parser.sections():
            values = settings.setdefault(section, {})
            values.update({_key(key): value for key, value in parser.items(section)})
    return settings


def _key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _timeout(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return _TIMEOUT
    return seconds if _TIMEOUTS[0] <= seconds <= _TIMEOUTS[1] else _TIMEOUT


def _default_index() -> str:
    from pip._internal.models.index import PyPI

    return PyPI.simple_url
