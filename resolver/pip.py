"""The environment that pip is started with: only settings that say how an index is reached.

pip's configuration files and PIP_* variables can add indexes, folders of files, requirements, even
projects to build (`[wheel] editable`). A lock names none of these. So pip runs without
configuration files, and with no PIP_* variables except for the allowed settings, which pip itself
is asked for.

It does not run either where one of these addresses, or a proxy of the environment, cannot be read:
pip's own error would show it, with its password.

verify.py contains this module, so it uses only the standard library.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

from resolver.address import AddressError, split
from resolver.redaction import is_certain, shown_address

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

# The schemes of an index, and of a proxy as pip's libraries know them.
_INDEX_SCHEMES = ("https", "http", "file")
_PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
# The variables of proxies that pip reads, in lower case as well.
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# Urllib3 takes a backslash for the end of the host, and urllib does not.
_MISREAD = re.compile(r"[\s\\]")
# What the output for install.sh begins with if a setting is refused. No variable has such a name.
REFUSED = "!"

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


class RefusedAddressError(ValueError):
    """A setting is no address that pip can use."""

    def __init__(self, setting: str, shown: str) -> None:
        super().__init__(f"{setting} is no address: {shown}")
        # The setting or variable.
        self.setting = setting
        # What may be shown of its value.
        self.shown = shown


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
    password. Raises RefusedAddressError if the index or a proxy is no address.
    """
    done = subprocess.run(  # noqa: S603  the interpreter's own pip
        [python, "-I", "-c", _LIST_SETTINGS],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    settings = allowed_settings(by_section(json.loads(done.stdout)))
    _require_addresses(settings, environ)
    variables = dict(_NO_FILES)
    for name, value in settings.items():
        variables[f"PIP_{name.upper().replace('-', '_')}"] = value
    return variables


def _require_addresses(settings: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Raise RefusedAddressError if the index or a proxy is no address that pip can use."""
    index = settings.get("index-url", "")
    if index and not is_index(index):
        raise RefusedAddressError("index-url", shown_address(index))
    for setting, proxy in _proxies(settings, environ):
        if not is_proxy(proxy):
            raise RefusedAddressError(setting, shown_address(_with_scheme(proxy)))


def _proxies(settings: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each setting or variable of a proxy with its value."""
    variables = [*_PROXY_VARIABLES, *map(str.lower, _PROXY_VARIABLES)]
    for setting, value in (
        ("proxy", settings.get("proxy", "")),
        *((name, environ.get(name, "")) for name in variables),
    ):
        if value:
            yield setting, value


def is_index(written: str) -> bool:
    """Return whether a text is the address of an index, or the path of one in a folder.

    It is certain what of it is the host and what a secret; a query is none of an index.
    """
    if not _is_plain(written):
        return False
    address = split(written)
    if address.query or address.fragment:
        return False
    if address.scheme in ("", "file"):
        return not address.netloc and address.path.startswith("/")
    return address.scheme in _INDEX_SCHEMES and bool(address.host)


def is_proxy(written: str) -> bool:
    """Return whether a text is the address of a proxy, which need not have a scheme."""
    url = _with_scheme(written)
    if not _is_plain(url):
        return False
    address = split(url)
    return address.scheme in _PROXY_SCHEMES and bool(address.host)


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_plain(written: str) -> bool:
    """Return whether every library reads the same host and password in a text."""
    if not written.isprintable() or _MISREAD.search(written) or not is_certain(written):
        return False
    try:
        split(written)
    except AddressError:
        return False
    return True


def pip_environment(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return all variables for this interpreter's pip. Raises what `pip_variables` raises."""
    return {**without_pip_settings(environ), **pip_variables(python, environ)}


def print_pip_variables() -> int:
    """Write `NAME=value` of each variable for install.sh, followed by a zero byte.

    If a setting is refused, write only `!SETTING=ADDRESS` with what may be shown of the address.
    Return the exit status.
    """
    try:
        variables = pip_variables(sys.executable, os.environ)
        rows = [os.fsencode(f"{name}={value}\0") for name, value in variables.items()]
    except RefusedAddressError as error:
        rows = [f"{REFUSED}{error.setting}={error.shown}\0".encode()]
    except (OSError, subprocess.CalledProcessError):
        return 1
    sys.stdout.buffer.write(b"".join(rows))
    sys.stdout.buffer.flush()
    return 0
