"""The configuration of pip on this machine and the netrc file, read as by pip.

`pip._internal.configuration` takes 40 ms to import, so its rules are repeated here, and a test
compares them with pip's own. `resolver/pip` says which settings are followed, here as by
install.sh; trusted-host, which weakens https, is not.
"""

from __future__ import annotations

import configparser
import locale
import netrc
import os
import sys
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from resolver.errors import InputError
from resolver.files import is_special
from resolver.index.parse.address import Origin, Root, origin_of
from resolver.pip import PIP_SECTIONS, allowed_settings

_TIMEOUT = 15.0  # pip's own
_TIMEOUTS = (1.0, 600.0)
_IGNORED_OPTIONS = ("extra-index-url", "find-links")
_FORM = (
    "a section begins with a line like `[global]`, followed by lines like `timeout = 60`, each once"
)


class PipConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The options in use; empty if not set.

    `timeout` is in seconds. `ignored_options` would add sources of files.
    """

    index_url: str
    cert: str = ""
    client_cert: str = ""
    proxy: str = ""
    timeout: float = _TIMEOUT
    ignored_options: tuple[str, ...] = ()


def read_pip_config() -> PipConfig:
    """The options of `pip install`: PIP_* variables, then [install], then [global] of pip's files."""
    variables = {key[4:]: value for key, value in os.environ.items() if key.startswith("PIP_")}
    sections = {
        **_settings(config_files()),
        ":env:": {_key(key): value for key, value in variables.items()},
    }
    options = allowed_settings(sections)
    return PipConfig(
        index_url=options.get("index-url") or _default_index(),
        cert=_file(options.get("cert", "")),
        client_cert=_file(options.get("client-cert", "")),
        proxy=options.get("proxy", ""),
        timeout=_timeout(options.get("timeout", "")),
        ignored_options=tuple(option for option in _IGNORED_OPTIONS if _is_set(option, sections)),
    )


def _is_set(option: str, sections: Mapping[str, Mapping[str, str]]) -> bool:
    """Return whether pip would follow an option."""
    return any(sections.get(section, {}).get(option) for section in PIP_SECTIONS)


def _file(name: str) -> str:
    return os.path.expanduser(name)  # noqa: PTH111 -- Path would turn an empty text into a dot


def config_files() -> list[str]:
    """The configuration files of pip, the highest precedence last; they need not exist."""
    override = os.environ.get("PIP_CONFIG_FILE")
    if override == os.devnull:
        return []
    from pip._internal.utils import appdirs

    folders = appdirs.site_config_dirs("pip")
    if not (override and Path(override).exists()):
        folders += [_file("~/.pip"), appdirs.user_config_dir("pip")]
    files = [f"{folder}/pip.conf" for folder in (*folders, sys.prefix)]
    return [*files, override] if override else files


def _settings(files: Iterable[str]) -> dict[str, dict[str, str]]:
    settings: dict[str, dict[str, str]] = {}
    for file in files:
        parser = configparser.RawConfigParser()
        encoding = locale.getpreferredencoding(False)
        why = "It is not a regular file." if is_special(Path(file)) else ""
        try:
            if not why:
                parser.read(file, encoding)  # skips a file that cannot be opened, like pip
        except UnicodeDecodeError:
            why = f"It is not {encoding}, the encoding of the locale."
        except configparser.Error as error:
            line = (
                getattr(error, "lineno", None)
                or next(iter(getattr(error, "errors", ())), ("?",))[0]
            )
            why = f"Line {line} cannot stand there."
        if why:  # without a quotation, as there may be a password
            raise InputError(
                "A configuration file of pip cannot be read.", where=file, why=why, hint=_FORM
            )
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


# Users and passwords


class Credentials:
    """User and password of an index for its own origin, or of netrc for a host.

    Raises InputError for a bad netrc.

    An entry of netrc is for the host that it names, and its `default` entry for the hosts of
    configured indexes alone: whatever else an index links or redirects to is told neither.
    """

    def __init__(self) -> None:
        self._of_indexes: dict[Origin, str] = {}
        self._hosts: set[str] = set()  # of configured indexes
        self._netrc = _read_netrc()

    def remember(self, root: Root) -> None:
        """Use the credentials of an index for its own origin.

        If an address has only a user, netrc may have both, as in pip; otherwise the user is a
        token.
        """
        origin = origin_of(root.url)
        self._hosts.add(origin.host)
        if root.password or (root.user and not self._of_netrc(origin)):
            self._of_indexes[origin] = _basic(root.user, root.password)

    def header(self, origin: Origin) -> dict[str, str]:
        """The header field of a request to an origin, if it has one."""
        value = self._of_indexes.get(origin) or self._of_netrc(origin)
        return {"Authorization": value} if value else {}

    def _of_netrc(self, origin: Origin) -> str:
        """The entry of netrc for a host; "" if there is none."""
        if self._netrc is None:
            return ""
        entries = dict(self._netrc.hosts)
        default = entries.pop("default", None)
        entry = entries.get(origin.host) or (default if origin.host in self._hosts else None)
        return _basic(entry[0], entry[2] or "") if entry else ""


def _basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _read_netrc() -> netrc.netrc | None:
    file = os.environ.get("NETRC")
    where = file or "~/.netrc"
    hint = "an entry is `machine HOST login USER password PASSWORD` (NETRC names another file)"
    try:
        if not is_special(Path(where).expanduser()):
            return netrc.netrc(file)
        why = "It is not a regular file."
    except OSError:
        return None
    except UnicodeDecodeError:
        why = "It is not UTF-8."
    except netrc.NetrcParseError as error:  # with a line, the message quotes what may be a password
        if error.lineno is None:  # the file is of another user or accessible to others
            why, hint = error.msg, f"make it accessible only to you: chmod 600 {where}"
        else:
            why = f"Line {error.lineno} or the one before it does not have that form."
    raise InputError("The netrc file cannot be read.", where=where, why=why, hint=hint)
