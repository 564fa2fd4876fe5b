"""The environment variables with which pip is started: only settings about reaching an index.

pip's configuration files and PIP_* variables can add indexes, folders of files, requirements, and
even projects to build (`[wheel] editable`). A lock has none of these. So pip is started without
configuration files and without PIP_* variables, except for the allowed settings. Which values these
have is asked of pip itself.

pip is not started at all if the address of the index or of a proxy cannot be read: pip's error
would show the address with its password.

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

# The settings that are passed to pip. Each is an option of `pip install`.
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
# The sections of pip's configuration that apply to `pip install`, the highest precedence last.
# `:env:` are the PIP_* variables.
PIP_SECTIONS = ("global", "install", ":env:")

# The schemes of an index that pip can use.
_INDEX_SCHEMES = ("https", "http", "file")
# The schemes of a proxy that pip's libraries can use.
_PROXY_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
# The variables of proxies that pip reads. It also reads them in lower case.
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
# Characters that make an address ambiguous: for urllib3 a backslash ends the host, and for urllib
# it does not.
_MISREAD = re.compile(r"[\s\\]")
# The beginning of the output for install.sh if a setting is refused. No variable has such a name.
REFUSED = "!"

# The variables with which pip reads no configuration file and asks no questions.
_NO_FILES = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
}
# A program that prints all settings of pip as JSON. It uses the class with which every command of
# pip reads them. `pip config list` is not used: the options `isolated`, `quiet`, `user` and
# `version`, which may be set, would hide settings from it, and `log` would write passwords into a
# file.
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
    """A setting of pip or a proxy variable is not an address that pip can use."""

    def __init__(self, setting: str, shown: str) -> None:
        super().__init__(f"{setting} is no address: {shown}")
        # The name of the setting or variable.
        self.setting = setting
        # Its value without secrets (see `redaction.shown_address`).
        self.shown = shown


def allowed_settings(sections: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the allowed settings by name.

    `sections` has all settings of pip by section and name. As in pip, an empty value counts as no
    value.
    """
    settings = {}
    for section in PIP_SECTIONS:
        for name, value in sections.get(section, {}).items():
            setting = _OTHER_NAMES.get(name, name)
            if value and setting in ALLOWED_SETTINGS:
                settings[setting] = value
    return settings


def _by_section(settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return settings by section and name.

    The keys of `settings` are `section.name`, as pip has them.
    """
    sections: dict[str, dict[str, str]] = {}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    return sections


def without_pip_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return environment variables with which pip ignores all of its settings.

    `environ` are the present variables. The PIP_* variables are removed from them.
    """
    others = {name: value for name, value in environ.items() if not name.startswith("PIP_")}
    return {**others, **_NO_FILES}


def pip_variables(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the PIP_* variables with which an interpreter's pip is started.

    `python` is the interpreter and `environ` its present environment variables. Raises OSError or
    subprocess.CalledProcessError if pip does not run, or cannot read one of its configuration
    files. pip's own message is not shown: it quotes lines of the file, which may contain a
    password. Raises RefusedAddressError if the index or a proxy is not an address that pip can use.
    """
    done = subprocess.run(  # noqa: S603  the interpreter's own pip
        [python, "-I", "-c", _LIST_SETTINGS],
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    # Code of the environment that runs at each start may print before it.
    listed = done.stdout.strip().splitlines()[-1]
    settings = allowed_settings(_by_section(json.loads(listed)))
    _require_addresses(settings, environ)
    variables = dict(_NO_FILES)
    for name, value in settings.items():
        variables[f"PIP_{name.upper().replace('-', '_')}"] = value
    return variables


def _require_addresses(settings: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Raise RefusedAddressError if the index or a proxy is not an address that pip can use."""
    index = settings.get("index-url", "")
    if index and not is_index(index):
        raise RefusedAddressError("index-url", shown_address(index))
    for setting, proxy in _proxies(settings, environ):
        if not is_proxy(proxy):
            raise RefusedAddressError(setting, shown_address(_with_scheme(proxy)))


def _proxies(settings: Mapping[str, str], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each setting or variable that names a proxy."""
    variables = [*_PROXY_VARIABLES, *map(str.lower, _PROXY_VARIABLES)]
    for setting, value in (
        ("proxy", settings.get("proxy", "")),
        *((name, environ.get(name, "")) for name in variables),
    ):
        if value:
            yield setting, value


def is_index(written: str) -> bool:
    """Return whether a text is the address of an index, or an absolute path to an index.

    The result is False for an address with a query or fragment, and for an address of which it is
    uncertain which part is the host and which a secret.
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
    """Return whether a text is the address of a proxy. The scheme may be missing.

    The result is False if it is uncertain which part is the host and which a secret.
    """
    url = _with_scheme(written)
    if not _is_plain(url):
        return False
    address = split(url)
    return address.scheme in _PROXY_SCHEMES and bool(address.host)


def _with_scheme(proxy: str) -> str:
    """Return the address of a proxy; `http` is the scheme if it has none."""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_plain(written: str) -> bool:
    """Return whether all libraries find the same host and password in an address."""
    if not written.isprintable() or _MISREAD.search(written) or not is_certain(written):
        return False
    try:
        split(written)
    except AddressError:
        return False
    return True


def pip_environment(python: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return all environment variables with which an interpreter's pip is started.

    Raises what `pip_variables` raises.
    """
    return {**without_pip_settings(environ), **pip_variables(python, environ)}


def print_pip_variables() -> int:
    r"""Print the variables of `pip_variables` for install.sh, and return the exit status.

    Each variable is printed as `NAME=value`, followed by `\0`. If a setting is refused, only
    `!SETTING=ADDRESS` is printed, with the address without secrets. The status is 1 if pip cannot
    be run, and otherwise 0.
    """
    try:
        variables = pip_variables(sys.executable, os.environ)
        lines = [os.fsencode(f"{name}={value}\0") for name, value in variables.items()]
    except RefusedAddressError as error:
        lines = [f"{REFUSED}{error.setting}={error.shown}\0".encode()]
    except (OSError, subprocess.CalledProcessError):
        return 1
    sys.stdout.buffer.write(b"".join(lines))
    sys.stdout.buffer.flush()
    return 0
