#!/usr/bin/env python3
"""Check whether this machine and environment match the lock: llamafactory for linux-aarch64-py311-cann8.5.1-a2: Fine-tuning with LLaMA-Factory on Ascend A2: with vLLM on CANN 8.5.1, without it on CANN 9.1.0

Made from lock.toml by ascend-lock; do not edit. Run it with the Python of the environment:

    python verify.py [--full] [--quick] [--json] [--lang zh] [--skip-system-checks] [--python PATH]

It changes nothing and needs only Python. Exit status: 0 matches, 1 something
differs, 2 invalid command. The contents of the lock are at the end of this file.
"""

import sys

if sys.version_info < (3, 8):
    sys.stderr.write("error: this is Python %d.%d, but the lock is for 3.11\n" % sys.version_info[:2])
    sys.stderr.write("hint: run verify.py with the Python of the environment, or pass its path\n")
    sys.exit(1)

# A file beside this one, or on PYTHONPATH, could stand for a module of the standard library. So it
# starts itself again without these, with what is a part of the interpreter, before it imports any
# other module. (That is also why annotations are texts: the module __future__ is a file.)
if sys.argv[1:] == ["--start"]:
    # for the imports of a user's program, which has no such folder on its path
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
elif not (sys.flags.isolated and sys.flags.no_site) and "posix" in sys.builtin_module_names:
    import posix

    # Python takes them for its own path and its environment, even isolated, and then forgets one.
    begun_with = list(posix.environ)
    try:
        file = posix.open("/proc/self/environ", posix.O_RDONLY)
        begun_with += [row.partition(b"=")[0] for row in posix.read(file, 4 << 20).split(b"\0")]
        posix.close(file)
    except OSError:
        pass
    for name in (b"PYTHONEXECUTABLE", b"__PYVENV_LAUNCHER__"):
        if name in begun_with:
            sys.stderr.write("error: %s says which Python this is\n" % name.decode())
            sys.stderr.write("hint: unset %s\n" % name.decode())
            sys.exit(2)
    try:
        posix.execv(sys.executable, [sys.executable, "-I", "-S", __file__, *sys.argv[1:]])
    except OSError as error:
        sys.stderr.write("error: %r cannot be run: %s\n" % (sys.executable, error))
        sys.exit(2)

import argparse
import base64
import configparser
import contextlib
import csv
import errno
import fcntl
import functools
import glob
import hashlib
import importlib
import importlib.util
import io
import json
import keyword
import marshal
import mmap
import operator
import os
import platform
import re
import secrets
import select
import shlex
import shutil
import signal
import site
import stat
import subprocess
import sysconfig
import tempfile
import time
import traceback
import unicodedata
import warnings
from collections import Counter, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from email.parser import HeaderParser
from functools import lru_cache, total_ordering
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, PathFinder, SOURCE_SUFFIXES
from itertools import combinations
from types import CodeType
from typing import Any, Dict, IO, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit


# --- address
#
# Functions that split and join addresses (URLs).
#
# For any text they return a result or raise AddressError. The parser of urllib raises several kinds
# of exceptions, some of them only when a part of the result is read. So no other module calls it,
# which ruff's rule TID251 checks. Only `index/net/sendable` calls the parser of httpx.
#
# verify.py contains this module, so it uses only the standard library.

class AddressError(ValueError):
    """A text is not an address.

    The message is a clause ("it cannot be read"). It does not quote the text, which may contain a
    password.
    """

    def __init__(self) -> "None":
        super().__init__("it cannot be read")


class Address(NamedTuple):
    """The parts of an address. A part that the address does not have is an empty text."""

    # The scheme, in lower case.
    scheme: "str"
    # User, password, host and port, as written.
    netloc: "str"
    # The host, in lower case and without the brackets of IPv6.
    host: "str"
    # The port; None if the address has none.
    port: "int | None"
    # The path, with its first slash.
    path: "str"
    # The query, without `?`.
    query: "str"
    # The fragment, without `#`.
    fragment: "str"
    # The user; None if there is no `@`.
    user: "str | None"
    # The password; None if there is no `:` before an `@`.
    password: "str | None"

    def without_query(self) -> "str":
        """Return the address as text, without query and fragment."""
        return urlunsplit((self.scheme, self.netloc, self.path, "", ""))


# Each request splits its address several times, so results are cached. Longer addresses are not
# cached, since an index may send any number of them.
_LONGEST_KEPT = 1000
# How many addresses are cached.
_KEPT = 1000


def split(url: "str") -> "Address":
    """Return the parts of an address. Raises AddressError if the text is not an address."""
    return _split(url) if len(url) > _LONGEST_KEPT else _split_and_keep(url)


def _split(url: "str") -> "Address":
    """Return the parts of an address, without caching them. Raises AddressError."""
    try:
        parts = urlsplit(url)
        return Address(
            scheme=parts.scheme,
            netloc=parts.netloc,
            host=parts.hostname or "",
            # `urlsplit` does not parse the port; reading this attribute may raise ValueError.
            port=parts.port,
            path=parts.path,
            query=parts.query,
            fragment=parts.fragment,
            user=parts.username,
            password=parts.password,
        )
    except ValueError:
        raise AddressError from None


_split_and_keep = lru_cache(_KEPT)(_split)


def join(base: "str", reference: "str") -> "str":
    """Return the absolute address of a link on the page with the address `base`.

    Raises AddressError if one of the two is not an address.
    """
    try:
        return urljoin(base, reference)
    except ValueError:
        raise AddressError from None


# --- redaction
#
# Functions that remove secrets from addresses: user, password, query and fragment.
#
# They also work for addresses that are badly written. If it is uncertain where the host of an address
# begins, only its scheme is shown.
#
# The texts may come from anybody. So a long text is cut first, and each regular expression takes time
# in proportion to the length of its text.
#
# verify.py contains this module, so it uses only the standard library.

# The most characters of a text that are looked at. A path has at most 4,096.
LONGEST = 5_000

# User and password of an address.
_USER = re.compile(r"://[^\s/?#\"']*@")
# A scheme. No scheme is longer than 31 characters. Without a limit, the expression would take time
# in proportion to the square of a text's length.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")
_KNOWN_SCHEME = re.compile(r"(https?|ssh|file)://", re.IGNORECASE)
# The beginning of a query, of a fragment or of parameters.
_QUERY = re.compile(r"[?#;]")
_COMMIT_HASH = re.compile(r"[0-9a-f]{40}")
# A host with a port, or nothing, as in file:///path. Anything else may be part of a password.
_HOST = re.compile(r"(?P<name>[\w.-]*|\[[0-9A-Za-z:.%]+\])(?P<port>:[0-9]+)?")
# A path. It has no `…`: a text that ends with `…` was cut, perhaps before the `@` after a password.
_PATH = re.compile(r"[^\"'`<>\\@…]*")
_REVISION = re.compile(r"[\w.+-]*")
# A revision that cannot be the name of a host.
_TAG = re.compile(r"v[0-9][\w.+-]*")
# The last label of the name of a host with its domain.
_TOP_LEVEL = re.compile(r"[A-Za-z][A-Za-z-]+")
# A word of a line. Other white space does not end a word, since a password may contain it.
_WORD = re.compile(r"[^ \t\n]+")
# Characters that show that a word may contain an address, besides `//` before a letter or digit.
_ADDRESS_MARK = re.compile(r"[A-Za-z]:/|[^@]@+[^@]")
_WORD_CHARACTER = re.compile(r"\w")
_OPENING = "([{<\"'`"
_CLOSING = ")]}>\"'`,.;:"
# Characters that show that a word may be the end of an address whose password contains spaces.
_LOOSE_MARK = re.compile(r"@\w|[^\W…]@")
# What may stand before an address in a word, such as `url=`.
_BEFORE_ADDRESS = re.compile(r"[\w.-]*[=(\[<\"'`]*")


def shown_address(address: "str") -> "str":
    """Return the scheme, the host and the path of an address, without secrets.

    User, password, query and fragment may be secrets, and they may be written without proper
    escapes. If it is uncertain where the host begins, or whether the rest is really a path, only
    the scheme and `…` are returned.
    """
    match = _SCHEME.match(address)
    scheme = match[0] if match else ""
    location = _QUERY.split(address[len(scheme) :], maxsplit=1)[0]
    query = address[len(scheme) + len(location) :]
    authority, slash, path = location.partition("/")
    user, at_sign, host_and_port = authority.rpartition("@")
    host = _HOST.fullmatch(host_and_port)
    lacks_host = at_sign != "" and host_and_port == ""
    if host is None or lacks_host or "@" in query:
        return f"{scheme}…"
    # In `me:12/…@host`, `me` is a user and `12/…` a password.
    may_be_user = host["port"] is not None and not at_sign
    # So may it be in `TOKEN/…@host` without a path. The user of ssh is followed by its host.
    is_ssh_host = at_sign != "" and scheme.endswith("ssh://")
    may_be_user |= authority != "" and not is_ssh_host and "/" not in path.partition("@")[0]
    if not _is_path(path, is_git=scheme.startswith("git+"), may_follow_user=may_be_user):
        return f"{scheme}…"
    # `…@` shows that there was a user: it was removed before, or the address has no scheme.
    hidden = "…@" if user == "…" or (at_sign and not scheme) else ""
    return f"{scheme}{hidden}{host_and_port}{slash}{path}"


def _is_path(path: "str", *, is_git: "bool", may_follow_user: "bool") -> "bool":
    """Return whether a text is certainly a path, and not a part of a password.

    With `is_git` it may end in `@` and a revision of git. `may_follow_user` is set if what stands
    before it may be a user instead of a host.
    """
    before_revision, at_sign, revision = path.partition("@")
    if _PATH.fullmatch(before_revision) is None:
        return False
    if not at_sign:
        return True
    _, dot, last_label = revision.rpartition(".")
    may_be_host = dot != "" and _TOP_LEVEL.fullmatch(last_label) is not None
    form = _TAG if may_follow_user or may_be_host else _REVISION
    is_revision = is_git and form.fullmatch(revision) is not None
    return is_revision or _COMMIT_HASH.fullmatch(revision) is not None


def is_certain(address: "str") -> "bool":
    """Return whether it is certain which parts of an address are host, path and secrets."""
    return "…" not in shown_address(address)


def without_secrets(text: "str") -> "str":
    """Return a text in which each address is replaced by what `shown_address` returns.

    An address ends at the next white space, even if quotes come before it, since a password may
    contain any character. A password may also contain spaces. So if an `@` that belongs to no other
    address follows in the same line, the address ends at the word of the last such `@`.

    A text of more than `LONGEST` characters is cut. A word at the cut is left out, and the last
    address of the cut line counts as if it went on behind the cut.
    """
    if len(text) <= LONGEST:
        return _redacted(text)
    beginning = text[: LONGEST - 1]
    end_of_word = max(map(beginning.rfind, " \t\n"))
    *lines, cut_line = beginning[: end_of_word + 1].split("\n")
    shown = [_line_without_secrets(line) for line in lines]
    end = _line_without_secrets(cut_line, is_cut=True).rstrip("…")
    return "\n".join([*shown, f"{end}…"])


def _redacted(text: "str") -> "str":
    """Return a text of any length without the secrets of addresses."""
    return "\n".join(map(_line_without_secrets, text.split("\n")))


def _line_without_secrets(line: "str", *, is_cut: "bool" = False) -> "str":
    """Return a line without the secrets of addresses.

    With `is_cut`, its last address counts as if it went on behind the end of the line.
    """
    return "".join(_shown_pieces(line, len(line) + 1 if is_cut else _loose_end(line)))


def _loose_end(line: "str") -> "int":
    """Return the end of the last word in a line that may be the end of an address before it.

    The result is 0 if there is no such word.
    """
    end = 0
    for word in _WORD.finditer(line):
        if _LOOSE_MARK.search(word[0]) and not _KNOWN_SCHEME.search(word[0]):
            end = word.end()
    return end


def _shown_pieces(line: "str", loose_end: "int") -> "Iterator[str]":
    """Yield the pieces of a line without secrets.

    An address with a scheme whose word ends before `loose_end` counts as ending there.
    """
    end = 0
    for word in _WORD.finditer(line):
        if word.start() < end or not _may_hold_address(word[0]):
            continue
        yield line[end : word.start()]
        scheme = _SCHEME.search(word[0])
        if scheme is not None and word.end() < loose_end:
            yield f"{scheme[0]}…"
            end = loose_end
        else:
            yield _shown_word(word[0])
            end = word.end()
    yield line[end:]


def _may_hold_address(word: "str") -> "bool":
    """Return whether a word may contain an address."""
    slashes = word.find("//")
    has_location = slashes >= 0 and _WORD_CHARACTER.search(word, slashes) is not None
    return has_location or _ADDRESS_MARK.search(word) is not None


def _shown_word(word: "str") -> "str":
    """Return a word that may contain an address, without secrets."""
    opened = word.lstrip(_OPENING)
    inner = opened.rstrip(_CLOSING)
    opening = word[: len(word) - len(opened)]
    closing = opened[len(inner) :]
    before_at = inner.rpartition("@")[0]
    is_file = inner.startswith("/") and not inner.startswith("//") and ":" not in before_at
    # The word is `@` alone, or `@` before a revision.
    is_revision = not before_at and "/" not in inner
    if is_file or is_revision:
        return word
    scheme = _SCHEME.search(inner)
    start = scheme.start() if scheme is not None else 0
    before = inner[:start]
    if _BEFORE_ADDRESS.fullmatch(before) is None:
        return "…"
    address = shown_address(inner[start:])
    return f"{opening}{before}{address}{closing}" if address else "…"


def without_users(text: "str") -> "str":
    """Return a text without user and password in its addresses, and otherwise unchanged.

    It is used for digests. It is not safe for showing a text to people: see `without_secrets`.
    """
    return _USER.sub("://", text)


# --- pip
#
# The environment variables with which pip is started: only settings about reaching an index.
#
# pip's configuration files and PIP_* variables can add indexes, folders of files, requirements, and
# even projects to build (`[wheel] editable`). A lock has none of these. So pip is started without
# configuration files and without PIP_* variables, except for the allowed settings. Which values these
# have is asked of pip itself.
#
# pip is not started at all if the address of the index or of a proxy cannot be read: pip's error
# would show the address with its password.
#
# verify.py contains this module, so it uses only the standard library.

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

    def __init__(self, setting: "str", shown: "str") -> "None":
        super().__init__(f"{setting} is no address: {shown}")
        # The name of the setting or variable.
        self.setting = setting
        # Its value without secrets (see `redaction.shown_address`).
        self.shown = shown


def allowed_settings(sections: "Mapping[str, Mapping[str, str]]") -> "dict[str, str]":
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


def _by_section(settings: "Mapping[str, str]") -> "dict[str, dict[str, str]]":
    """Return settings by section and name.

    The keys of `settings` are `section.name`, as pip has them.
    """
    sections: "dict[str, dict[str, str]]" = {}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    return sections


def without_pip_settings(environ: "Mapping[str, str]") -> "dict[str, str]":
    """Return environment variables with which pip ignores all of its settings.

    `environ` are the present variables. The PIP_* variables are removed from them.
    """
    others = {name: value for name, value in environ.items() if not name.startswith("PIP_")}
    return {**others, **_NO_FILES}


def pip_variables(python: "str", environ: "Mapping[str, str]") -> "dict[str, str]":
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


def _require_addresses(settings: "Mapping[str, str]", environ: "Mapping[str, str]") -> "None":
    """Raise RefusedAddressError if the index or a proxy is not an address that pip can use."""
    index = settings.get("index-url", "")
    if index and not is_index(index):
        raise RefusedAddressError("index-url", shown_address(index))
    for setting, proxy in _proxies(settings, environ):
        if not is_proxy(proxy):
            raise RefusedAddressError(setting, shown_address(_with_scheme(proxy)))


def _proxies(settings: "Mapping[str, str]", environ: "Mapping[str, str]") -> "Iterator[tuple[str, str]]":
    """Yield the name and the value of each setting or variable that names a proxy."""
    variables = [*_PROXY_VARIABLES, *map(str.lower, _PROXY_VARIABLES)]
    for setting, value in (
        ("proxy", settings.get("proxy", "")),
        *((name, environ.get(name, "")) for name in variables),
    ):
        if value:
            yield setting, value


def is_index(written: "str") -> "bool":
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


def is_proxy(written: "str") -> "bool":
    """Return whether a text is the address of a proxy. The scheme may be missing.

    The result is False if it is uncertain which part is the host and which a secret.
    """
    url = _with_scheme(written)
    if not _is_plain(url):
        return False
    address = split(url)
    return address.scheme in _PROXY_SCHEMES and bool(address.host)


def _with_scheme(proxy: "str") -> "str":
    """Return the address of a proxy; `http` is the scheme if it has none."""
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_plain(written: "str") -> "bool":
    """Return whether all libraries find the same host and password in an address."""
    if not written.isprintable() or _MISREAD.search(written) or not is_certain(written):
        return False
    try:
        split(written)
    except AddressError:
        return False
    return True


def pip_environment(python: "str", environ: "Mapping[str, str]") -> "dict[str, str]":
    """Return all environment variables with which an interpreter's pip is started.

    Raises what `pip_variables` raises.
    """
    return {**without_pip_settings(environ), **pip_variables(python, environ)}


def print_pip_variables() -> "int":
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


# --- system
#
# Versions that do not follow PEP 440, such as the versions of a driver, and their order.
#
# `resolver/ascend/versions.py` parses the texts of such versions. This module compares them.

# The function of each comparison operator.
SIGNS: "dict[str, Callable[[Any, Any], bool]]" = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@total_ordering
@dataclass(frozen=True, eq=False)
class SystemVersion:
    """A version of a component by the rules of its vendor.

    Versions with the same key and build are equal, however they are written. `str` returns the
    version as written.
    """

    # The version as written.
    text: "str"
    # The sort key of the release: all parts of the version except the build, the most important
    # first.
    key: "tuple[Any, ...]"
    # The numbers of the release line: (8, 5) for 8.5.0.
    line: "tuple[int, ...]"
    # The number of a build; None for a release.
    build: "int | None" = None

    def same_release(self, other: "SystemVersion") -> "bool":
        """Return whether both are the same release; the build makes no difference.

        8.5.0.B160 and 8.5.0 are the same release.
        """
        return self.key == other.key

    def before(self, other: "SystemVersion") -> "bool":
        """Return whether this is an earlier release than `other`.

        The build makes no difference: no build of a release is earlier than another one.
        """
        return self.key < other.key

    def holds(self, sign: "str", other: "SystemVersion") -> "bool":
        """Return whether the comparison `self sign other` is true.

        `sign` is a key of SIGNS. The builds are compared only if `other` has a build, so
        8.5.0.B160 == 8.5.0 is true, and 8.5.0 == 8.5.0.B160 is false.
        """
        if other.build is not None:
            return SIGNS[sign](self, other)
        return SIGNS[sign](self.key, other.key)

    def __eq__(self, other: "object") -> "bool":
        if not isinstance(other, SystemVersion):
            return False
        return self.key == other.key and self.build == other.build

    def __lt__(self, other: "SystemVersion") -> "bool":
        return (self.key, _build_rank(self.build)) < (other.key, _build_rank(other.build))

    def __hash__(self) -> "int":
        return hash((self.key, self.build))

    def __str__(self) -> "str":
        return self.text


def _build_rank(build: "int | None") -> "int":
    """Return the rank of a build number in the order of versions; None has the lowest rank.

    So a release without a build comes before its builds, as PEP 440 orders local versions.
    """
    return -1 if build is None else build


# --- names
#
# The names of Ascend's software: components, and projects that run on NPUs with a plugin.

# The components that `checks` can find on a machine: the toolkit, the driver with its firmware, and
# the family of the chip.
TOOLKIT = "cann"
DRIVER = "hdk"
CHIP = "soc"
COMPONENTS = (TOOLKIT, DRIVER, CHIP)
# If this module can be imported, CANN and a driver are installed and active.
DEVICE_MODULE = "torch_npu"
# The plugin of torch. Facts about it say which driver each CANN requires.
TORCH_PLUGIN = "torch-npu"
# The codes of findings of `checks` and `network` that are only warnings.
WARNING_CODES = (
    "cann-file-unreadable",
    "cann-half-active",
    "hdk-file-unreadable",
    "hdk-not-running",
    "hdk-unmet",
    "network-unread",
    "network-unseen",
    "npu-absent",
    "soc-mixed",
    "soc-unknown",
    "soc-unnamed",
)
# The codes of findings about a chip that is not known: for example, because an image is built on a
# machine without NPU.
UNSEEN_CODES = ("soc-unknown", "soc-unnamed")
# The titles of the components in messages.
TITLES = {TOOLKIT: "CANN", DRIVER: "HDK", CHIP: "SoC"}
# Other names that documents use for a project or a component.
ALIASES = {
    TORCH_PLUGIN: ("torchnpu",),
    DRIVER: ("driver", "firmware", "software version", "驱动", "固件"),
}
# The prefix by which a claim about a document names a family of chips: `soc:A2`.
CHIP_CLAIM = f"{CHIP}:"
# How documents spell each family, as regular expressions.
CHIP_SPELLINGS = {
    "A2": r"(?<![A-Za-z0-9])A2(?![A-Za-z0-9])|910B",
    "A3": r"(?<![A-Za-z0-9])A3(?![A-Za-z0-9])|910_93|910C",
    "A5": r"(?<![A-Za-z0-9])A5(?![A-Za-z0-9])|(?<![0-9])950(?![0-9])",
    "310P": r"310P",
}
# Longer titles of the components for an SBOM, whose readers may not know the vendor.
FULL_TITLES = {
    TOOLKIT: "CANN",
    DRIVER: "Ascend HDK",
    CHIP: "Ascend SoC family",
}
SUPPLIER = "Huawei"
# The name of the key `device` in locks of format 2.
FORMER_DEVICE = "npu"
# The project whose releases `matrix` and `pairs` list.
VLLM_PLUGIN = "vllm-ascend"
# Each release of VLLM_PLUGIN needs a certain release of each of these projects.
PARTNERS = ("vllm", "torch", TORCH_PLUGIN, "triton-ascend")
# Projects whose metadata does not say which CANN and which other projects they need.
NEEDING_FACTS = (TORCH_PLUGIN, VLLM_PLUGIN)
# The plugin of each project that runs on NPUs only with a plugin.
PLUGINS = {"torch": TORCH_PLUGIN, "vllm": VLLM_PLUGIN}
# The number of the build, which follows the release in a version of CANN.
_BUILD = re.compile(r"\.B\d+\Z", re.IGNORECASE)


def release_of(version: "str") -> "str":
    """Return a version of CANN without the number of the build: 8.5.0 for 8.5.0.B160."""
    return _BUILD.sub("", version)


# --- versions
#
# Parse versions of CANN and of the driver (HDK), so that they can be compared.
#
# They do not follow PEP 440: `8.5.0.B160` is build 160 of 8.5.0, where PEP 440 would read a beta, and
# `8.1.RC1.alpha001` and `25.3.rc1.2` are valid. The grammar is taken from
# csrc/core/npu/GetCANNInfo.cpp of torch_npu, and from version files of drivers. The order of the
# versions of a release line X.Y is
#
#     X.Y.Tn < X.Y.RCn < X.Y.RCn.p < X.Y.Z < X.Y.Z.p
#
# A version with the suffix alpha, beta or rc precedes the same version without it. That T (test)
# precedes RC is concluded from their names alone.

_FORM = re.compile(
    r"""
    (?P<major>\d{1,9}) \. (?P<minor>\d{1,9}) \.
    (?: (?P<stage>RC|T) (?P<stage_number>\d{1,9}) | (?P<micro>\d{1,9}) )
    (?P<patch> (?: \.\d{1,9} )* )
    (?: [.-] (?P<pre>alpha|beta|rc) \.? (?P<pre_number>\d{1,9})? )?
    (?: \.B (?P<build>\d{1,9}) )?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# The ranks of the stages of a release line; versions with a third number come last.
_STAGES = {"T": 0, "RC": 1}
_FINAL_STAGE = 2
# The ranks of suffixes; versions without a suffix come last.
_PRES = {"alpha": 0, "beta": 1, "rc": 2}
_NOT_PRE = (3, 0)


class _Key(NamedTuple):
    """The sort key of a version: all its parts except the build, the most important first."""

    major: "int"
    minor: "int"
    # The rank of the stage, and its number (RC1) or the third number of the version.
    stage: "tuple[int, int]"
    # Further numbers, without zeros at the end.
    patch: "tuple[int, ...]"
    # The rank of the suffix, and its number.
    pre: "tuple[int, int]"


def parse_version(text: "str") -> "SystemVersion":
    """Return the version of CANN or HDK in a text.

    Raises ValueError, which quotes the text, if it is not such a version.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"`{text}` is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"
        )
    if match["stage"]:
        stage = (_STAGES[match["stage"].upper()], int(match["stage_number"]))
    else:
        stage = (_FINAL_STAGE, int(match["micro"]))
    patch = tuple(int(part) for part in match["patch"].split(".")[1:])
    while patch and patch[-1] == 0:
        patch = patch[:-1]
    pre = _NOT_PRE
    if match["pre"]:
        pre = (_PRES[match["pre"].lower()], int(match["pre_number"] or 0))
    build = int(match["build"]) if match["build"] else None
    key = _Key(int(match["major"]), int(match["minor"]), stage, patch, pre)
    return SystemVersion(text.strip(), key, key[:2], build)


# --- search_path
#
# Find out where Python looks for modules, and which files it runs when it starts.
#
# verify.py runs without Python's module `site` (option -S), so that no code of the environment runs
# before it is checked. Here the functions of `site` are called to make the search path, but the code
# that they would run is only noted.

# The modules that Python imports when it starts, if they exist.
STARTUP_MODULES = ("sitecustomize", "usercustomize")


class PathFile(NamedTuple):
    """A `.pth` file that Python reads when it starts."""

    # The path of the file. Symbolic links in the path of its folder are resolved.
    path: "str"
    # Whether Python executes a line of it.
    runs: "bool"
    # The folders and archives that the file adds to the search path.
    entries: "Sequence[str]"

    @property
    def folder(self) -> "str":
        """Return the folder that contains the file."""
        return os.path.dirname(self.path)


@dataclass
class SearchPath:
    """The folders and archives in which Python looks for modules, in the order of its search."""

    # The entries of `sys.path`.
    entries: "Sequence[str]" = ()
    # The entries of the interpreter itself, which have its standard library.
    own: "Sequence[str]" = ()
    # The `.pth` files, in the order in which Python reads them.
    path_files: "list[PathFile]" = field(default_factory=list)

    @classmethod
    def of_this_python(cls) -> "SearchPath":
        """Return the search path that this Python would have if it had been started with site.

        `sys.path` is set to it.
        """
        found = cls(own=tuple(sys.path))
        with found._noting():
            site.main()
        found.entries = tuple(sys.path)
        return found

    @classmethod
    def of_folders(cls, folders: "Sequence[str]") -> "SearchPath":
        """Return a search path with these folders alone, as if they were site-packages."""
        found = cls()
        path = sys.path[:]
        sys.path.clear()
        try:
            with found._noting():
                known: "set[str]" = set()
                for folder in folders:
                    site.addsitedir(folder, known)
            found.entries = tuple(sys.path)
        finally:
            sys.path[:] = path
        return found

    @contextmanager
    def _noting(self) -> "Iterator[None]":
        """Let the functions of site run no code in the body of `with`; note `.pth` files instead.

        Functions of site are replaced for this, and so is `exec`, which they look up among the
        names of their module.
        """
        names = vars(site)
        replaced = {
            name: names[name] for name in ("addpackage", "execsitecustomize", "execusercustomize")
        }
        lines: "list[str]" = []

        def add(folder: "str", name: "str", known: "set[str]") -> "set[str] | None":
            """Read a `.pth` file as site does, and note it."""
            lines.clear()
            first = len(sys.path)
            try:
                result: "set[str] | None" = replaced["addpackage"](folder, name, known)
            except Exception:
                # Python itself would not start with such a file
                result = known
            path = os.path.join(os.path.realpath(folder), name)
            # site reads the files of a virtual environment twice
            if all(file.path != path for file in self.path_files):
                self.path_files.append(PathFile(path, bool(lines), tuple(sys.path[first:])))
            return result

        names.update(addpackage=add, exec=lines.append)
        names.update(execsitecustomize=_run_nothing, execusercustomize=_run_nothing)
        try:
            yield
        finally:
            names.update(replaced)
            del names["exec"]

    @property
    def folders(self) -> "list[str]":
        """Return the entries that are folders."""
        return [entry for entry in self.entries if os.path.isdir(entry)]

    @property
    def site_folders(self) -> "list[str]":
        """Return the folders in which Python reads `.pth` files: site-packages.

        These are neither the interpreter's own folders nor folders that a `.pth` file adds.
        """
        listed: "set[str]" = set()
        for file in self.path_files:
            listed.update(file.entries)
        return [entry for entry in self.folders if entry not in self.own and entry not in listed]

    def after(self, entry: "str") -> "Sequence[str]":
        """Return an entry and all entries after it, with symbolic links resolved.

        Symbolic links in `entry` must be resolved, too.
        """
        real = [os.path.realpath(path) for path in self.entries]
        return real[real.index(entry) :]


def module_origin(name: "str", entry: "str") -> "str":
    """Return the file or the package's folder that `import NAME` would load from an entry.

    Empty if there is none. A folder without `__init__` does not count, since importing it runs no
    code.
    """
    spec = PathFinder.find_spec(name, [entry])
    if spec is None or not spec.has_location or spec.origin is None:
        return ""
    if spec.submodule_search_locations is not None:
        return os.path.dirname(spec.origin)
    return spec.origin


def _run_nothing() -> "None":
    """Do nothing, in place of a function of site that imports a module."""


# --- findings
#
# Define the context and the results of checks, and functions to read files and run programs.

# The default time limit of a program that is run.
_PROGRAM_SECONDS = 60
# The normalized name of a project.
_NAME = re.compile("[a-z0-9]([a-z0-9-]*[a-z0-9])?")
# The default time limit of each module or command that is started.
SECONDS_TO_START = 300


class LockedDistribution(NamedTuple):
    """A pin of the lock: a distribution that should be installed."""

    # The normalized name.
    name: "str"
    # The version, with its local part.
    version: "str"
    # The number of the stage in which install.sh installs it, from 1.
    stage: "int"
    # True if it is built on this machine, False if it is installed from a wheel.
    built: "bool" = False
    # The sha256 of its files. A build from git has none.
    sha256: "Sequence[str]" = ()
    # The commit from which it is built; empty if it is not from git.
    commit: "str" = ""
    # Whether it is an editable installation of a checkout.
    editable: "bool" = False
    # The label of its wheel variant (PEP 825); empty for a wheel without variant.
    variant: "str" = ""
    # A digest of everything that determines its build; empty if it is not built.
    key: "str" = ""
    # The environment variables of its build, as pairs of name and value.
    env: "Sequence[tuple[str, str]]" = ()
    # The tools that build it, such as `setuptools==80.9.0`.
    tools: "Sequence[str]" = ()

    @property
    def note(self) -> "str":
        """Return the text that install.sh writes beside the metadata of the distribution.

        It is the key of the build, or the sha256 of the files if it is not built.
        """
        return self.key or " ".join(sorted(self.sha256))


class DriverNeed(NamedTuple):
    """A requirement on the driver."""

    # The project with its version, or the stack, that has the requirement, for messages.
    by: "str"
    # The name of the component that stands for the driver.
    component: "str"
    # The requirement as a text, for messages.
    wanted: "str"
    # Alternatives, of which one must hold. Each is a list of comparisons, which must all hold. A
    # comparison is a pair such as `>=` and `25.0.rc1`.
    ranges: "Sequence[Sequence[Sequence[str]]]"
    # True if a driver that does not meet it is an error, False if it is worth a warning.
    binding: "bool"
    # The reason and its source, by language.
    reason: "Mapping[str, str]"


class Excuse(NamedTuple):
    """A fact that allows modules and commands of a distribution to fail when they are started."""

    # The normalized name of the distribution.
    project: "str"
    # The names of the modules.
    modules: "Sequence[str]"
    # The names of the commands.
    scripts: "Sequence[str]"
    # True if they may fail only on a machine without an accelerator.
    device: "bool"
    # The reason, by language.
    reason: "Mapping[str, str]"


@dataclass(frozen=True)
class LockedStack:
    """The data of a lock that verify.py contains."""

    # The name of the stack.
    stack: "str"
    # The name of the target.
    target: "str"
    # The system and the processor, such as `linux-aarch64`.
    platform: "str"
    # Major and minor version of Python, such as `3.11`.
    python: "str"
    # The oldest version of glibc on machines of the target.
    glibc: "str"
    # The values of the target's components, such as `cann`, `hdk` and `soc`, by name.
    system: "Mapping[str, str]" = field(default_factory=dict)
    # The pins by normalized name.
    pins: "Mapping[str, LockedDistribution]" = field(default_factory=dict)
    # The requirements that the lock ignores. Each has the name and the version of the distribution
    # with the requirement, and the name of the required project.
    overrides: "Sequence[Sequence[str]]" = ()
    # Modules that must be importable.
    imports: "Sequence[str]" = ()
    # The environment variables with which modules are imported.
    import_env: "Mapping[str, str]" = field(default_factory=dict)
    # The names of distributions whose files are changed by builds of other pins of the lock.
    rewritten: "Sequence[str]" = ()
    # The names of distributions that must not be installed, each with the reason.
    absent: "Mapping[str, str]" = field(default_factory=dict)
    # The requirements on the driver.
    driver: "Sequence[DriverNeed]" = ()
    # The names of the distributions that lines of the stack require. Their commands must start.
    requested: "Sequence[str]" = ()
    # The modules and commands that may fail to start.
    excuses: "Sequence[Excuse]" = ()
    # The messages of verify.py, by language and code.
    texts: "Mapping[str, Mapping[str, str]]" = field(default_factory=dict)
    # The sha256 of the lock.toml from which verify.py was made.
    digest: "str" = ""

    @classmethod
    def parse(cls, text: "str") -> "LockedStack":
        """Return the data in the JSON at the end of verify.py."""
        fields: "dict[str, Any]" = json.loads(text)
        fields["pins"] = {pin["name"]: LockedDistribution(**pin) for pin in fields["pins"]}
        fields["driver"] = [DriverNeed(**need) for need in fields["driver"]]
        fields["excuses"] = [Excuse(**excuse) for excuse in fields["excuses"]]
        return cls(**fields)


def printable(text: "str") -> "str":
    """Return a text with all characters escaped that do not print, such as control characters."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def is_shared() -> "bool":
    """Return whether this Python is neither in a virtual nor in a conda environment.

    Such a Python is shared with other programs. install.sh decides by the same rule.
    """
    if sys.prefix != sys.base_prefix:
        return False
    return not os.path.isdir(f"{sys.prefix}/conda-meta")


def show_nothing(_: "str") -> "None":
    """Ignore a line of progress, which is the default for `CheckContext.progress`."""


@dataclass(frozen=True)
class CheckContext:
    """The input of every check: the lock, folders of the machine, and options of the command."""

    lock: "LockedStack"
    # The folder of the lock, which contains verify.py.
    folder: "str"
    # The environment variables of the user.
    environ: "Mapping[str, str]"
    # The folder of CANN and the driver.
    ascend: "str" = "/usr/local/Ascend"
    # The folder of the lock that shown commands use; empty if this machine has none yet. It is
    # `folder` if that is None.
    shown_folder: "str | None" = None
    # The folder with wheels that shown commands use; empty for none.
    wheelhouse: "str" = ""
    # True to compare every file with its hash, False to compare a sample.
    full: "bool" = False
    # The language of messages.
    language: "str" = "en"
    # The path of verify.py.
    program: "str" = ""
    # True to skip the check that starts every module and command.
    quick: "bool" = False
    # True to check the network between the accelerators of several nodes.
    network: "bool" = False
    # The checks to make: `all`, `full`, `quick`, `quick+full`, or only those of the `files` or
    # of the `machine`.
    checks: "str" = "all"
    # The time limit for starting one module or command.
    seconds: "float" = SECONDS_TO_START
    # Called with a line that replaces the previous line on the terminal. An empty line removes it.
    progress: "Callable[[str], None]" = show_nothing
    # Where Python looks for modules, and which files it runs when it starts.
    search_path: "SearchPath" = field(default_factory=SearchPath)
    # The `python` of --python and the `reason` why it cannot be run; None if it can.
    unusable_python: "Mapping[str, str] | None" = None

    @property
    def python(self) -> "str":
        """Return the path of the environment's Python, quoted for a shell."""
        return shlex.quote(sys.executable)

    @property
    def install_command(self) -> "str":
        """Return the shell command that installs the lock into this environment."""
        options = ["--python", sys.executable]
        if is_shared():
            options.append("--system")
        return self._install(options)

    @property
    def venv_command(self) -> "str":
        """Return the shell command that makes a new virtual environment and installs the lock."""
        return f"python{self.lock.python} -m venv env && . env/bin/activate && {self._install([])}"

    def _install(self, options: "Sequence[str]") -> "str":
        """Return the shell command that runs install.sh with these options."""
        folder = self.folder if self.shown_folder is None else self.shown_folder
        command = ["bash", f"{folder}/install.sh", *options]
        if self.wheelhouse:
            command += ["--wheelhouse", self.wheelhouse]
        return shlex.join(command)

    def then_install(self, command: "str") -> "str":
        """Return a shell command that removes something, followed by `install_command`.

        For a shared Python, from which nothing should be removed, return `venv_command` instead.
        """
        if is_shared():
            return self.venv_command
        return f"{command} && {self.install_command}"

    def uninstall_command(self, *names: "str", asks: "bool" = False) -> "str":
        """Return the shell command that uninstalls distributions; with `asks`, pip asks before.

        Empty if one of them has no name of a project in its metadata: pip could take it for an
        option, such as `-rhttp://…`.
        """
        if not all(map(is_project_name, names)):
            return ""
        option = "" if asks else " -y"
        return f"{self.python} -m pip uninstall{option} {shlex.join(names)}"

    def reinstall_command(self, *names: "str") -> "str":
        """Return the shell command that uninstalls distributions and then runs install.sh.

        For a name that is none of a project, return the one that makes a new environment.
        """
        command = self.uninstall_command(*names)
        if not command:
            return self.venv_command
        if "pip" in names:
            # install.sh needs a pip, so the one that comes with Python is installed
            command += f" && {self.python} -m ensurepip"
        return self.then_install(command)


def is_project_name(text: "str") -> "bool":
    """Return whether a text is the normalized name of a project.

    The metadata of a distribution may have any other text as its name, also an option of pip.
    """
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True)
class Finding:
    """A difference from the lock, or something that could not be checked."""

    # Identifies the kind of finding. Its messages have this code with -what, -why or -mend
    # appended.
    code: "str"
    # The values of the placeholders in these messages.
    values: "Mapping[str, str]"
    # A shell command that fixes it, which is shown in place of the message `-mend`. Empty if that
    # message is shown.
    remedy: "str" = ""


@dataclass(frozen=True)
class Group:
    """The result of one check."""

    # The name of the check. Its title is the message `group-NAME`.
    name: "str"
    # What is wrong; empty if the check succeeded.
    findings: "Sequence[Finding]"
    # The values of the placeholders in the note.
    values: "Mapping[str, str]" = field(default_factory=dict)
    # The note is the message `note-NOTE`, which is shown if there are no findings. Empty stands for
    # the name of the check.
    note: "str" = ""
    # True if the note is shown even if there are findings.
    counted: "bool" = False
    # The values of a line for each module or command that may fail and did (`Excuse`).
    remarks: "Sequence[Mapping[str, str]]" = ()
    # An object for each module or command that was started, for the JSON report.
    results: "Sequence[Mapping[str, Any]]" = ()
    # Values of this machine by name. The nodes of a cluster are compared by them.
    machine: "Mapping[str, str]" = field(default_factory=dict)


def list_and_count(items: "Sequence[str]", most: "int" = 3) -> "dict[str, str]":
    """Return values for a message: `list` has the first items, `count` the number of all items."""
    text = ", ".join(items[:most])
    if len(items) > most:
        text += ", …"
    return {"list": text, "count": str(len(items))}


class UnreadableError(Exception):
    """A file exists, but cannot be read or has invalid content."""

    def __init__(self, path: "str", why: "str") -> "None":
        """Give the path of the file, and the reason as an English clause."""
        super().__init__(path, why)
        # The values of the messages of a finding about the file.
        self.values = {"path": path, "why": why}


def read_text(path: "str", errors: "str" = "strict") -> "str | None":
    """Return the text of a file in UTF-8; None if there is no file.

    Raises UnreadableError if it cannot be read. Only regular files are read, since a pipe would
    block.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UnreadableError(path, "it is not a regular file")
        with open(path, encoding="utf-8-sig", errors=errors, newline="") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise UnreadableError(path, f"byte {error.start} is not UTF-8") from None
    except OSError as error:
        raise UnreadableError(path, error.strerror or str(error)) from None
    except ValueError as error:
        # the path contains a zero byte
        raise UnreadableError(path, str(error)) from None


def assignments(text: "str") -> "dict[str, str]":
    """Return the values of keys in lines such as `Version=25.3.rc1` or `Chip Name   : 910B4`.

    The keys of the result are in lower case. If a key is repeated, its first line counts.
    """
    values: "dict[str, str]" = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z][\w .-]*?)\s*[=:]\s*(.*?)\s*$", line)
        if match:
            values.setdefault(match[1].lower(), match[2])
    return values


class ProgramResult(NamedTuple):
    """The result of running a program."""

    # The exit status; the negative number of the signal that killed it. None if it could not be
    # started, or exceeded the time limit.
    status: "int | None"
    # The text that it wrote to standard output.
    output: "str"
    # A text for messages: the last line of standard error, or else a description of the status.
    ending: "str"


def run_program(
    command: "Sequence[str]", environ: "Mapping[str, str]", seconds: "int" = _PROGRAM_SECONDS
) -> "ProgramResult":
    """Run a program of the machine or of the environment, and return its result.

    It is killed after `seconds`. Nothing is raised if it cannot be started.
    """
    try:
        done = subprocess.run(  # noqa: S603
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        output = (error.stdout or b"").decode("utf-8", "replace")
        return ProgramResult(None, output, f"it took more than {seconds // 60} minutes")
    except OSError as error:
        return ProgramResult(None, "", error.strerror or str(error))
    except ValueError as error:
        # the command or a variable contains a zero byte
        return ProgramResult(None, "", str(error))
    output = done.stdout.decode("utf-8", "replace")
    return ProgramResult(done.returncode, output, _ending_of(done.returncode, done.stderr))


def _ending_of(status: "int", stderr: "bytes") -> "str":
    """Return the last line of standard error, or a description of the status if it is empty.

    For a program that was killed by a signal, return both.
    """
    errors = stderr.decode("utf-8", "replace").strip().splitlines()
    if status >= 0:
        return errors[-1] if errors else f"exit status {status}"
    killed = f"killed by {signal_name(-status)}"
    return f"{killed}: {errors[-1]}" if errors else killed


def signal_name(number: "int") -> "str":
    """Return the name of a signal, such as `SIGKILL`; its number if it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


# --- conda
#
# List the packages that conda has installed in this environment, from its own metadata.

# What the metadata of a distribution has if conda has installed it.
_INSTALLER = "/INSTALLER"


class CondaPackage(NamedTuple):
    """A package that conda has installed."""

    # The name of the JSON file about it in the folder conda-meta.
    name: "str"
    # The paths of its files; symbolic links in the prefix are resolved. None if its metadata cannot
    # be read.
    files: "frozenset[str] | None"


def conda_packages() -> "Sequence[CondaPackage]":
    """Return the packages in this conda environment; none if it is not a conda environment.

    A virtual environment is never one, even if it has a folder conda-meta.
    """
    if sys.prefix != sys.base_prefix:
        return ()
    folder = f"{os.path.realpath(sys.prefix)}/conda-meta"
    try:
        return _packages_in(folder, os.stat(folder).st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return ()


@functools.lru_cache(maxsize=1)
def _packages_in(folder: "str", _: "int") -> "Sequence[CondaPackage]":
    """Return the packages that the files in a folder conda-meta describe.

    The second argument is the modification time of the folder, so that the cache is renewed.
    """
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    return [CondaPackage(name, _files(folder, name)) for name in names]


def _files(folder: "str", name: "str") -> "frozenset[str] | None":
    """Return the paths of the files of a package; None if its metadata cannot be read.

    It has none if pip has replaced the distribution: conda still lists its files, and those that
    the old RECORD did not list are left.
    """
    files = _listed_files(folder, name)
    return frozenset() if files and any(map(_is_replaced, files)) else files


def _is_replaced(path: "str") -> "bool":
    """Return whether a file is metadata that conda has installed, and that is no longer there.

    That is the INSTALLER of a distribution. It is missing, or names another installer.
    """
    if not path.endswith(f".dist-info{_INSTALLER}"):
        return False
    try:
        return (read_text(path) or "").strip() != "conda"
    except UnreadableError:
        return False


def _listed_files(folder: "str", name: "str") -> "frozenset[str] | None":
    """Return the paths of the files that conda lists; None if its metadata cannot be read."""
    prefix = os.path.dirname(folder)
    try:
        files = json.loads(read_text(f"{folder}/{name}") or "")["files"]
        return frozenset(os.path.normpath(os.path.join(prefix, file)) for file in files)
    except (UnreadableError, ValueError, TypeError, KeyError, RecursionError):
        return None


def is_of_conda(path: "str") -> "bool":
    """Return whether a conda package lists a file.

    Symbolic links in the path of its folder must be resolved.
    """
    return any(path in (package.files or ()) for package in conda_packages())


# --- distributions
#
# Read the installed distributions from their .dist-info and .egg-info entries.

UNKNOWN_SIZE = -1
# The file beside METADATA into which install.sh writes `LockedDistribution.note`.
_NOTE = "ascend-lock.txt"
# A suffix of a version (PEP 440), in any spelling.
_SUFFIX = re.compile(r"[-_.]?(alpha|beta|preview|pre|rc|a|b|c|post|rev|r|dev)[-_.]?(\d*)|-(\d+)")
# The commands that pip names after the Python.
_OF_INSTALLER = re.compile(r"(pip|easy_install)-?[0-9.]*")
# The normal form (PEP 440) of the suffixes that have several spellings.
_SPELLINGS = {
    "alpha": "a",
    "beta": "b",
    "c": "rc",
    "pre": "rc",
    "preview": "rc",
    "rev": "post",
    "r": "post",
}


def canonical_name(name: "str") -> "str":
    """Return the normalized form of a name (PEP 503): `foo-bar-baz` for `Foo.Bar_baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def same_version(left: "str", right: "str") -> "bool":
    """Return whether two texts are the same version by PEP 440, such as `1.0` and `1.0.0`."""
    return left == right or _canonical_version(left) == _canonical_version(right)


def _canonical_version(text: "str") -> "str":
    """Return a text that is the same for all spellings of a version (PEP 440)."""
    without_zeros = re.sub(r"(?<![0-9a-z])0+(?=\d)", "", text.strip().lower())
    public, _, local = without_zeros.partition("+")
    without_epoch = re.sub("^v?(0!)?", "", public)
    release, _, suffixes = _SUFFIX.sub(_canonical_suffix, without_epoch).partition(" ")
    numbers = release.split(".")
    while len(numbers) > 1 and numbers[-1] == "0":
        numbers.pop()
    return f"{'.'.join(numbers)} {suffixes}+{re.sub('[-_]', '.', local)}"


def _canonical_suffix(suffix: "re.Match[str]") -> "str":
    """Return a suffix of a version in its normal form, after a space."""
    kind = suffix[1] or "post"
    # kept as a text: Python refuses to convert thousands of digits to a number
    number = (suffix[2] or suffix[3] or "").lstrip("0") or "0"
    return f" {_SPELLINGS.get(kind, kind)}{number}"


@functools.lru_cache(maxsize=None)
def _real_folder(folder: "str") -> "str":
    """Return the path of a folder without symbolic links."""
    return os.path.realpath(folder)


class RecordRow(NamedTuple):
    """A row of RECORD: a file of a distribution."""

    # The absolute and normalized path.
    path: "str"
    # The algorithm and the hash, such as `sha256=…`, without padding; empty if RECORD has none.
    digest: "str"
    # The size in bytes; UNKNOWN_SIZE if RECORD has none.
    size: "int"


@dataclass(frozen=True)
class InstalledDistribution:
    """An installed distribution, with the content of its metadata."""

    # The normalized name.
    name: "str"
    # The version; empty if the metadata cannot be read.
    version: "str"
    # The folder to which the paths in RECORD are relative: site-packages.
    root: "str"
    # The path of its .dist-info folder, or of its .egg-info folder or file.
    info: "str"
    # The content of INSTALLER; empty if there is no such file.
    installer: "str"
    # The content of direct_url.json (PEP 610); empty if there is no such file.
    direct_url: "Mapping[str, Any]"

    # `functools.cached_property` is not imported by name: that would fail on Python 3.7, before
    # verify.py can say that this Python is too old.
    @functools.cached_property
    def rows(self) -> "Sequence[RecordRow]":
        """Return the rows of RECORD, without compiled files; none if it is missing or invalid."""
        try:
            return self.read_record() or ()
        except UnreadableError:
            return ()

    def read_record(self) -> "Sequence[RecordRow] | None":
        """Return the rows of RECORD, without compiled files; None if there is no RECORD.

        Raises UnreadableError if RECORD is invalid.
        """
        path = f"{self.info}/RECORD"
        text = read_text(path)
        if text is None:
            return None
        rows = []
        table = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            for name, digest, size in table:
                file = os.path.normpath(os.path.join(self.root, name))
                if not file.startswith(f"{self.root}/"):
                    # lib64 of an environment is a link to lib
                    file = os.path.join(_real_folder(os.path.dirname(file)), os.path.basename(file))
                # Python may compile a module again at any time
                is_compiled = file.endswith(".pyc") and "/__pycache__/" in file
                if not is_compiled:
                    rows.append(RecordRow(file, digest.rstrip("="), int(size or UNKNOWN_SIZE)))
        except csv.Error as error:
            raise UnreadableError(path, str(error)) from None
        except ValueError:
            why = f"line {table.line_num} is not path, hash and size"
            raise UnreadableError(path, why) from None
        if not any(row.path == path for row in rows):
            raise UnreadableError(path, "it has no row for itself, so it is truncated")
        return rows

    def commands(self) -> "list[str]":
        """Return the names of the commands that an installer makes for it, sorted.

        Those of pip and easy_install are left out, since pip names them after the Python. There are
        none if entry_points.txt is missing or invalid.
        """
        parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        # names of commands are as written
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        try:
            parser.read_string(read_text(f"{self.info}/entry_points.txt") or "")
        except (UnreadableError, configparser.Error):
            return []
        sections = [name for name in ("console_scripts", "gui_scripts") if parser.has_section(name)]
        names = {name for section in sections for name in parser.options(section)}
        return sorted(name for name in names if not _OF_INSTALLER.fullmatch(name))

    @property
    def editable_folder(self) -> "str":
        """Return the folder of the project if this is an editable installation; otherwise empty."""
        dir_info = self.direct_url.get("dir_info")
        if isinstance(dir_info, dict) and dir_info.get("editable") is True:
            url = str(self.direct_url.get("url", ""))
            return unquote(re.sub("^file://", "", url))
        return self.root if self._is_developed() else ""

    def _is_developed(self) -> "bool":
        """Return whether `setup.py develop` installed it: its .egg-info is a folder without files.

        More precisely, a folder without installed-files.txt.
        """
        if self.info.lower().endswith(".dist-info") or not os.path.isdir(self.info):
            return False
        return not os.path.isfile(f"{self.info}/installed-files.txt")

    @property
    def note(self) -> "str":
        """Return the note that install.sh wrote (`LockedDistribution.note`).

        Empty if install.sh did not install the distribution.

        A file that RECORD does not list is ignored, since it may be of an earlier installation.
        """
        path = f"{self.info}/{_NOTE}"
        if not any(row.path == path for row in self.rows):
            return ""
        try:
            return (read_text(path) or "").strip()
        except UnreadableError:
            return ""

    def variant_labels(self) -> "list[str]":
        """Return the labels in its variant.json (PEP 825); none if that is missing or invalid."""
        try:
            table = json.loads(read_text(f"{self.info}/variant.json") or "{}")
            return [str(label) for label in table["variants"]]
        except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
            return []

    @property
    def is_ours(self) -> "bool":
        """Return whether it is installed in this environment, and that is not shared."""
        return is_ours(self.root)

    @property
    def is_of_conda(self) -> "bool":
        """Return whether conda has installed it.

        INSTALLER must say so, and conda's metadata must list INSTALLER.
        """
        return self.installer == "conda" and is_of_conda(f"{self.info}/INSTALLER")


def is_ours(folder: "str") -> "bool":
    """Return whether a folder is in this environment, and that is not shared with other programs.

    Symbolic links in its path must be resolved. For a shared Python it is always False.
    """
    return not is_shared() and folder.startswith(os.path.realpath(sys.prefix) + "/")


# Distributions by their normalized names.
Installed = Dict[str, InstalledDistribution]


def installed_distributions(
    context: "CheckContext", paths: "Iterable[str]"
) -> "tuple[Installed, list[Finding]]":
    """Return the distributions in the folders of a search path by name, and findings about them.

    If several distributions have the same name, the first one counts, as in Python. The findings
    are about invalid metadata, duplicate names and leftovers of pip.
    """
    installed: "Installed" = {}
    findings = []
    for root in dict.fromkeys(os.path.realpath(path) for path in paths):
        entries: "dict[str, str]" = {}
        for path in _metadata_paths(root):
            entry = os.path.basename(path)
            if entry.startswith("~"):
                # pip gives a distribution such a name while it replaces it
                removal = f"rm -r {shlex.quote(path)}"
                findings.append(Finding("distribution-leftover", {"path": path}, removal))
                continue
            distribution, broken = _read_distribution(context, root, path)
            name = distribution.name
            if name in entries:
                values = {"name": name, "one": entries[name], "other": entry}
                remedy = _remedy_for_twins(context, name, [f"{root}/{entries[name]}", path])
                findings.append(Finding("distribution-twice", values, remedy))
                continue
            entries[name] = entry
            if name not in installed:
                installed[name] = distribution
                findings += broken
    return installed, findings


def _remedy_for_twins(context: "CheckContext", name: "str", paths: "Sequence[str]") -> "str":
    """Return the shell command that uninstalls both distributions with a name and installs again.

    `paths` are the paths of their metadata. pip is called twice, since each call uninstalls one of
    them. pip can uninstall itself only once, so its other metadata is removed as a file.
    """
    uninstall = context.uninstall_command(name)
    if not uninstall:
        return context.venv_command
    if name != "pip":
        return context.then_install(f"{uninstall} && {uninstall}")
    # ensurepip installs nothing if there is metadata of pip, even if its modules are missing
    remove = f"rm -rf {shlex.join(paths)}"
    return context.then_install(f"{uninstall} && {remove} && {context.python} -m ensurepip")


def hidden_distributions(
    context: "CheckContext", installed: "Installed"
) -> "Iterator[InstalledDistribution]":
    """Yield the distributions that Python does not find because another has the same name.

    Only the folders of `installed` are searched. Such a distribution still owns its files.
    """
    found = {distribution.info for distribution in installed.values()}
    for root in sorted({distribution.root for distribution in installed.values()}):
        for path in _metadata_paths(root):
            if path not in found and not os.path.basename(path).startswith("~"):
                yield _read_distribution(context, root, path)[0]


def _metadata_paths(root: "str") -> "list[str]":
    """Return the paths of the .dist-info and .egg-info entries of a folder, sorted.

    As in importlib.metadata, upper and lower case are equal, and in a folder whose name ends in
    `.egg`, an entry EGG-INFO is metadata, too. The list is empty if the folder cannot be read.
    """
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    is_egg = root.lower().endswith(".egg")
    return [f"{root}/{name}" for name in names if is_metadata(name, in_egg=is_egg)]


def is_metadata(name: "str", *, in_egg: "bool" = False) -> "bool":
    """Return whether an entry of site-packages is metadata of a distribution, by its name.

    `in_egg` says that the folder is an egg, in which EGG-INFO is the name.
    """
    lower = name.lower()
    return lower.endswith((".dist-info", ".egg-info")) or (in_egg and lower == "egg-info")


def _read_distribution(
    context: "CheckContext", root: "str", path: "str"
) -> "tuple[InstalledDistribution, list[Finding]]":
    """Return the distribution whose metadata is at a path, and findings about the metadata."""
    name = os.path.basename(path).rpartition(".")[0].partition("-")[0]
    version = installer = ""
    direct_url = {}
    findings = []
    try:
        name, version = _name_and_version(path)
        installer = (read_text(f"{path}/INSTALLER") or "").strip()
        direct_url = _read_object(f"{path}/direct_url.json")
    except UnreadableError as error:
        values = {"name": canonical_name(name), **error.values}
        remedy = context.then_install(f"rm -r {shlex.quote(path)}")
        findings.append(Finding("metadata-broken", values, remedy))
    distribution = InstalledDistribution(
        canonical_name(name), version, root, path, installer, direct_url
    )
    return distribution, findings


def _name_and_version(path: "str") -> "tuple[str, str]":
    """Return the Name and Version in METADATA or PKG-INFO, as written.

    Raises UnreadableError if the file is missing or invalid.
    """
    file = path
    if os.path.isdir(path):
        file = f"{path}/METADATA" if path.lower().endswith(".dist-info") else f"{path}/PKG-INFO"
    # the description may be in any encoding
    text = read_text(file, errors="surrogateescape")
    if text is None:
        raise UnreadableError(file, os.strerror(errno.ENOENT))
    fields = HeaderParser().parsestr(text.partition("\n\n")[0])
    if not fields["Name"] or not fields["Version"]:
        raise UnreadableError(file, "it has no Name or no Version")
    return str(fields["Name"]), str(fields["Version"])


def _read_object(path: "str") -> "dict[str, Any]":
    """Return the object in a JSON file; an empty one if there is no file.

    Raises UnreadableError if the file is invalid.
    """
    try:
        value = json.loads(read_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    if not isinstance(value, dict):
        raise UnreadableError(path, "it is not a JSON object")
    return value


# --- environment
#
# Check the lock.toml, the machine, Python, the installed distributions and their requirements.

# Tools that an environment is made with. They may be installed without being locked.
TOOLS = ("pip", "setuptools", "wheel")
# The number of distributions that a message names.
_LISTED = 8
# If at least this many locked distributions are missing, this may be a wrong environment.
_MANY_MISSING = 10
_PIP_SECONDS = 300
# A line of the output of `pip check`, in either of its forms.
_COMPLAINT = re.compile(
    r"(\S+) (\S+) (?:requires ([A-Za-z0-9._-]+)|has requirement ([A-Za-z0-9._-]+))"
)


def check_lock(context: "CheckContext") -> "Group":
    """Check that the lock.toml beside verify.py is the one from which verify.py was made.

    Without a lock.toml there is no finding.
    """
    path = f"{context.folder}/lock.toml"
    values = {"path": path, "program": context.program, "stack": shlex.quote(context.lock.stack)}
    try:
        text = read_text(path)
    except UnreadableError as error:
        return Group("lock", [Finding("lock-unreadable", {**values, **error.values})], values)
    if text is None:
        return Group("lock", [], values, note="lock-absent")
    if hashlib.sha256(text.encode()).hexdigest() != context.lock.digest:
        return Group("lock", [Finding("lock-differs", values)], values)
    return Group("lock", [], values)


def check_machine(context: "CheckContext") -> "Group":
    """Check that this machine has the system, the processor and the glibc that the lock needs."""
    wanted_system, _, wanted_machine = context.lock.platform.partition("-")
    system, machine = platform.system(), platform.machine()
    findings = []
    if system.lower() != wanted_system:
        findings.append(Finding("system-differs", {"found": system}))
    if machine != wanted_machine:
        findings.append(Finding("processor-differs", {"found": machine, "wanted": wanted_machine}))
    library, glibc = platform.libc_ver()
    if library != "glibc":
        glibc = "-"
    glibc_values = {"found": glibc, "wanted": context.lock.glibc}
    if glibc == "-":
        findings.append(Finding("glibc-missing", glibc_values))
    elif _numbers(glibc) < _numbers(context.lock.glibc):
        findings.append(Finding("glibc-old", glibc_values))
    values = {"system": system, "machine": machine, "glibc": glibc}
    return Group("machine", findings, values, machine={"processor": machine, "glibc": glibc})


def _numbers(version: "str") -> "list[int]":
    """Return the numbers in a version of glibc, such as `2.34`."""
    return [int(part) for part in version.split(".") if part.isdigit()]


def check_python(context: "CheckContext", installed: "Installed") -> "Group":
    """Check that this Python can use the lock's wheels, and is in an environment for the lock.

    A Python that is shared with other programs is only a warning.
    """
    values = _python_values(context)
    finding = _wrong_python(values) or _other_environment(context, installed)
    if finding is None and is_shared():
        finding = Finding("python-shared", values)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def check_interpreter(context: "CheckContext") -> "Group":
    """Check that this Python can use the lock's wheels, for use before an installation.

    If the Python of --python cannot be run, that is the finding, and no Python is checked.
    """
    if context.unusable_python is not None:
        unusable = {**context.unusable_python, "wanted": context.lock.python}
        return Group("python", [Finding("python-unusable", unusable)])
    values = _python_values(context)
    finding = _wrong_python(values)
    if finding is not None and context.shown_folder == "":
        remedy = context.lock.texts[context.language]["python-elsewhere"].format(**values)
        finding = Finding(finding.code, finding.values, remedy)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def _python_values(context: "CheckContext") -> "dict[str, str]":
    """Return the values of the messages of a finding about Python."""
    return {
        "found": platform.python_version(),
        "wanted": context.lock.python,
        "python": sys.executable,
    }


def _wrong_python(values: "Mapping[str, str]") -> "Finding | None":
    """Return a finding if this is another version or implementation of Python than the lock's."""
    kind = platform.python_implementation()
    if kind == "CPython" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        kind = "free-threaded CPython"
    if kind != "CPython":
        return Finding("python-differs", {**values, "found": f"{values['found']} ({kind})"})
    major, minor, _ = platform.python_version_tuple()
    if f"{major}.{minor}" != values["wanted"]:
        return Finding("python-differs", values)
    return None


def _other_environment(context: "CheckContext", installed: "Installed") -> "Finding | None":
    """Return a finding if most locked distributions are missing: this is a wrong environment then.

    Otherwise return None.
    """
    pins = context.lock.pins
    found = sum(name in installed for name in pins)
    missing = len(pins) - found
    if missing < max(_MANY_MISSING, found):
        return None
    install = context.install_command
    if is_shared() or _extra_distributions(context, installed):
        install = context.venv_command
    values = {"found": str(found), "count": str(len(pins))}
    return Finding("environment-other", {**values, "python": sys.executable, "install": install})


def check_distributions(
    context: "CheckContext",
    installed: "Installed",
    broken: "Iterable[Finding]",
    colliding: "Container[str]" = (),
) -> "Group":
    """Check that each pin is installed in its version and from its source, and nothing else is.

    `broken` are the findings of `installed_distributions`. Distributions in `colliding` are not
    reported as unwanted, since `check_collisions` reports them.
    """
    pins = context.lock.pins
    findings = []
    missing = sorted(
        f"{pin.name} {pin.version}" for pin in pins.values() if pin.name not in installed
    )
    if missing:
        values = {**list_and_count(missing, _LISTED), "total": str(len(pins))}
        findings.append(Finding("distribution-missing", values))
    for name in sorted(pins):
        if name in installed:
            findings += _differences_from_pin(pins[name], installed[name])
    for finding in broken:
        is_leftover = finding.code == "distribution-leftover"
        if finding.values.get("name") in pins or (is_leftover and not is_shared()):
            findings.append(finding)
    findings += _unwanted(context, installed, colliding)
    extra = _extra_distributions(context, installed)
    if extra:
        remedy = ""
        if all(installed[name].is_ours for name in extra):
            remedy = context.uninstall_command(*extra, asks=True)
        remedy = remedy or context.venv_command
        findings.append(Finding("distribution-extra", list_and_count(extra, _LISTED), remedy))
    unnoted = [name for name in sorted(pins) if name in installed and not installed[name].note]
    values = {"count": str(len(pins)), "unnoted": str(len(unnoted))}
    note = "distributions-but" if unnoted else "distributions"
    return Group("distributions", findings, values, note)


def _unwanted(
    context: "CheckContext", installed: "Installed", colliding: "Container[str]"
) -> "Iterator[Finding]":
    """Yield a finding for each installed distribution that the lock says must not be installed.

    Distributions in `colliding` are left out.
    """
    for name, reason in sorted(context.lock.absent.items()):
        if name in installed and name not in colliding:
            remedy = context.venv_command
            if installed[name].is_ours:
                remedy = context.reinstall_command(name)
            yield Finding("distribution-unwanted", {"name": name, "reason": reason}, remedy)


def _extra_distributions(context: "CheckContext", installed: "Iterable[str]") -> "list[str]":
    """Return the names of installed distributions that the lock does not mention, sorted.

    pip, setuptools and wheel are left out.
    """
    known = {*context.lock.pins, *context.lock.absent, *TOOLS}
    return sorted(name for name in installed if name not in known)


def _differences_from_pin(
    pin: "LockedDistribution", installed: "InstalledDistribution"
) -> "list[Finding]":
    """Return a finding about the first difference between a distribution and its pin, or none."""
    if installed.version and not same_version(installed.version, pin.version):
        return [_difference("distribution-differs", pin, installed.version)]
    if pin.variant:
        labels = installed.variant_labels()
        if pin.variant not in labels:
            found = f"variant {labels[0]}" if labels else "no variant"
            values = {
                "name": pin.name,
                "wanted": f"{pin.version} [variant {pin.variant}]",
                "found": f"{installed.version} [{found}]",
            }
            return [Finding("distribution-differs", values)]
    if installed.is_of_conda:
        return [_difference("distribution-conda", pin, "")]
    folder = installed.editable_folder
    if not folder:
        source = _other_source(pin, installed.direct_url)
        if source:
            return [_difference("distribution-elsewhere", pin, source)]
        if installed.note not in ("", pin.note):
            return [_difference("distribution-otherwise", pin, "")]
        return []
    if not pin.editable:
        return [_difference("distribution-editable", pin, folder)]
    checkout = os.path.realpath(checkout_folder(pin.name))
    if not f"{os.path.realpath(folder)}/".startswith(f"{checkout}/"):
        return [_difference("distribution-elsewhere", pin, folder)]
    return []


def _difference(code: "str", pin: "LockedDistribution", found: "str") -> "Finding":
    """Return the finding about a distribution that differs from its pin."""
    return Finding(code, {"name": pin.name, "wanted": pin.version, "found": found})


def _other_source(pin: "LockedDistribution", direct_url: "Mapping[str, Any]") -> "str":
    """Return the commit or archive from which a distribution was installed, if it is not the pin's.

    Empty if it is the pin's, or not known. `direct_url` is the content of direct_url.json (PEP
    610), which a distribution from an index does not have.
    """
    url = direct_url.get("url", "")
    vcs = direct_url.get("vcs_info")
    if isinstance(vcs, dict):
        commit = str(vcs.get("commit_id", ""))
        if commit and commit != pin.commit:
            return f"{url}@{commit}"
    archive = direct_url.get("archive_info")
    # a wheel that was built here has a hash of its own
    if isinstance(archive, dict) and pin.sha256 and not pin.built:
        sha256 = _archive_sha256(archive)
        if sha256 and sha256 not in pin.sha256:
            return f"{url} (sha256 {sha256[:12]}…)"
    return ""


def _archive_sha256(archive: "Mapping[str, Any]") -> "str":
    """Return the sha256 in `hashes` or the deprecated `hash` of archive_info (PEP 610), or ""."""
    hashes = archive.get("hashes")
    if isinstance(hashes, dict) and hashes.get("sha256"):
        return str(hashes["sha256"])
    return str(archive.get("hash", "")).partition("sha256=")[2]


def checkout_folder(name: "str") -> "str":
    """Return the folder into which install.sh checks out an editable distribution."""
    return f"{sys.prefix}/src/{name}"


def check_requirements(context: "CheckContext") -> "Group":
    """Check with `pip check` that the requirements of all distributions are met.

    Requirements that the lock ignores are not reported. pip runs isolated, without PYTHONPATH: CANN
    adds distributions there that pip cannot check.
    """
    command = [sys.executable, "-I", "-m", "pip", "check"]
    result = run_program(command, without_pip_settings(context.environ), _PIP_SECONDS)
    if result.ending.endswith("No module named pip"):
        return Group("requirements", [Finding("pip-missing", {"python": context.python})])
    complaints = result.output.splitlines()
    has_result = result.status == 0 or (result.status == 1 and complaints)
    if not has_result:
        return Group("requirements", [Finding("pip-failed", {"error": result.ending})])
    findings = []
    overridden = 0
    for line in complaints:
        if _is_overridden(context, line):
            overridden += 1
        elif line.strip() and not line.startswith("No broken requirements found"):
            findings.append(Finding("requirement-broken", {"complaint": line.strip()}))
    note = "requirements-but" if overridden else "requirements"
    return Group("requirements", findings, {"count": str(overridden)}, note)


def _is_overridden(context: "CheckContext", complaint: "str") -> "bool":
    """Return whether a line of `pip check` is about a requirement that the lock ignores."""
    match = _COMPLAINT.match(complaint)
    if match is None:
        return False
    package = canonical_name(match[1])
    required = canonical_name(match[3] or match[4])
    for locked_package, locked_version, locked_required in context.lock.overrides:
        is_named = (package, required) == (locked_package, locked_required)
        if is_named and same_version(match[2], locked_version):
            return True
    return False


# --- modules
#
# List the top-level modules and the commands of distributions, which the starts check starts.

# Names of files and folders in site-packages that are not meant to be imported.
_NOT_IMPORTED = frozenset(
    [
        "__main__",
        "benchmark",
        "benchmarks",
        "bin",
        "build",
        "conftest",
        "dist",
        "doc",
        "docs",
        "etc",
        "example",
        "examples",
        "include",
        "lib",
        "lib64",
        "noxfile",
        "samples",
        "scripts",
        "setup",
        "share",
        "test",
        "testing",
        "tests",
        "tools",
    ]
)
# The groups of entry points that must be loadable: commands, and plugins that vllm loads each time
# it starts.
_ENTRY_POINT_GROUPS = (
    "console_scripts",
    "gui_scripts",
    "vllm.general_plugins",
    "vllm.platform_plugins",
)
# The file name of a module: `x.py`, or compiled, such as `x.so`, `x.abi3.so` or
# `x.cpython-311-aarch64-linux-gnu.so`.
_MODULE_FILE = re.compile(r"(\w+)(?:\.py|(?:\.abi3|\.cpython-\w+-[\w-]+)?\.so)")
# The number of folders without __init__ (namespace packages) that a module may be in.
_NAMESPACE_DEPTH = 2


class Startable(NamedTuple):
    """A module or command of a distribution."""

    # The normalized name of the distribution.
    project: "str"
    # "module" or "script".
    kind: "str"
    # The dotted name of the module, or the name of the command.
    name: "str"
    # The module to import, and for a command the attribute that it calls (`vllm.cli:main`).
    reference: "str"


def startables(installed: "Installed", with_commands: "Container[str]") -> "list[Startable]":
    """Return the top-level modules of all distributions, and the commands of some of them.

    `with_commands` has the names of the distributions whose commands are returned. A module that
    several distributions have is returned once, for the first of them by name.
    """
    startable = []
    seen = set()
    for name in sorted(installed):
        for module in top_modules(installed[name]):
            if module not in seen:
                seen.add(module)
                startable.append(Startable(name, "module", module, module))
        if name in with_commands:
            for command, reference in _commands(installed[name]):
                startable.append(Startable(name, "script", command, reference))
    return startable


def top_modules(distribution: "InstalledDistribution") -> "list[str]":
    """Return the dotted names of a distribution's top-level modules, sorted.

    In a namespace package, the packages and modules in it count as top-level (`google.protobuf`).
    Modules that are not meant to be imported, such as `tests` and type stubs, are left out.
    """
    start = distribution.root + "/"
    paths = [row.path for row in distribution.rows if row.path.startswith(start)]
    files = [path[len(start) :].split("/") for path in paths]
    packages = {tuple(parts[:-1]) for parts in files if _stem(parts[-1]) == "__init__"}
    names = set()
    for path, parts in zip(paths, files):
        name = _top_module(parts, packages)
        if name and _is_meant(name) and _has_init(path):
            names.add(".".join(name))
    return sorted(names or _listed_modules(distribution))


def _top_module(parts: "Sequence[str]", packages: "set[tuple[str, ...]]") -> "Sequence[str]":
    """Return the parts of the name of the top-level module to which a file belongs.

    `parts` is the path of the file in site-packages, and `packages` has the folders with an
    __init__. Empty if the file belongs to no module.
    """
    *folders, filename = parts
    stem = _stem(filename)
    if not stem:
        return ()
    for depth in range(1, len(folders) + 1):
        if tuple(folders[:depth]) in packages:
            return folders[:depth]
    if len(folders) > _NAMESPACE_DEPTH:
        return ()
    return [*folders, stem]


def _stem(filename: "str") -> "str":
    """Return the module's name in a file name; empty if it is not the file name of a module."""
    match = _MODULE_FILE.fullmatch(filename)
    return match[1] if match and match[1].isidentifier() else ""


def _is_meant(name: "Sequence[str]") -> "bool":
    """Return whether a module can be imported and is meant to be imported.

    `name` has the parts of its dotted name.
    """
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in name):
        return False
    return name[0] not in _NOT_IMPORTED and not name[0].startswith("__editable__")


def _has_init(path: "str") -> "bool":
    """Return whether a file can be imported as a module.

    A `.so` file must contain the name of its PyInit function: other shared libraries do not have
    one. False if the file cannot be read.
    """
    if not path.endswith(".so"):
        return True
    function = f"PyInit_{_stem(os.path.basename(path))}".encode()
    try:
        with open(path, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(function) >= 0
    except (OSError, ValueError):
        # the check of files reports what is wrong with it
        return False


def _listed_modules(distribution: "InstalledDistribution") -> "list[str]":
    """Return the modules in the top_level.txt of an editable installation; otherwise none.

    The RECORD of an editable installation lists no modules.
    """
    if not distribution.editable_folder:
        return []
    names = _metadata_text(distribution, "top_level.txt").split()
    return [name for name in names if _is_meant([name])]


def _commands(distribution: "InstalledDistribution") -> "list[tuple[str, str]]":
    """Return the names of a distribution's commands and plugins, each with `module:attribute`."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    # names of commands differ by case
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(_metadata_text(distribution, "entry_points.txt"))
    except configparser.Error:
        return []
    commands = []
    for group in _ENTRY_POINT_GROUPS:
        if parser.has_section(group):
            for name, value in parser.items(group):
                without_extras = re.split(r"\s*\[", value)[0]
                commands.append((name, without_extras.replace(" ", "")))
    return commands


def _metadata_text(distribution: "InstalledDistribution", name: "str") -> "str":
    """Return the text of a file in the metadata of a distribution; empty if it cannot be read."""
    try:
        return read_text(f"{distribution.info}/{name}") or ""
    except UnreadableError:
        return ""


# --- ownership
#
# Find the owners of files in site-packages.
#
# The owner of a file is the distribution or conda package whose installer lists the file: in RECORD,
# in conda's metadata, or in `installed-files.txt`. A distribution may have none of these lists. Then
# `top_level.txt` may name its modules, and files that may belong to it are not judged.

# The endings of files that Python imports. It imports a `.pyc` without a source as well, unless it
# is in __pycache__.
IMPORTABLE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)
# The content of INSTALLER for installers that always write RECORD, as their last step. Without it,
# the installation was interrupted.
_RECORDING = ("", "pip", "uv")


class Ownership:
    """Tells which files have an owner, and for which files that is not known."""

    def __init__(
        self, context: "CheckContext", installed: "Installed", search_path: "SearchPath"
    ) -> "None":
        """Read the lists of files of all distributions, also of ones that Python does not find."""
        locked_names = {name for name in context.lock.pins if name in installed}
        self._locked = [installed[name] for name in sorted(locked_names)]
        self._locked_names = locked_names
        self._rewritten = frozenset(context.lock.rewritten)
        self.search_path = search_path
        # The paths of all files that have an owner.
        self.files: "set[str]" = set()
        # The paths of the files that locked distributions own.
        self._locked_files: "set[str]" = set()
        # The folders that contain files with an owner, at any depth.
        self.folders: "set[str]" = set()
        # The names of distributions and conda packages without a list of files.
        self.unlisted: "list[str]" = []
        # The paths, without suffix, of modules and packages that may belong to these.
        self._unlisted_modules: "set[str]" = set()
        # The folders in which any module may belong to these.
        self._unlisted_folders: "set[str]" = set()
        # For the path of each entry of site-packages: the names of the owners of the entry itself
        # and of files in it.
        self._owners: "dict[str, set[str]]" = {}
        # The folders that are site-packages or contain distributions, in the order in which Python
        # searches them. The values say whether a folder is in this environment (`is_ours`).
        self.roots: "Mapping[str, bool]" = _roots(installed, search_path)
        # The results of `locked_modules`.
        self._locked_modules: "dict[str, set[str]]" = {}
        everyone = [installed[name] for name in sorted(installed)]
        everyone += hidden_distributions(context, installed)
        listed = {distribution.root for distribution in everyone if distribution.rows}
        for distribution in everyone:
            if distribution.rows:
                self._add_files(distribution.name, [row.path for row in distribution.rows])
            else:
                self._add_without_record(distribution, listed)
        for distribution in self._locked:
            self._locked_files.update(row.path for row in distribution.rows)
        self._add_all_of_conda()
        folders = search_path.folders
        folders += [distribution.editable_folder for distribution in installed.values()]
        # The folders with the modules of this environment: the search path and checkouts.
        self._homes = [os.path.realpath(folder) for folder in folders if folder]
        self._projects = _project_folders(installed.values())
        self._locked_projects = _project_folders(self._locked)

    def _add_without_record(
        self, distribution: "InstalledDistribution", site_packages: "Collection[str]"
    ) -> "None":
        """Add the files or modules of a distribution without RECORD.

        They are read from installed-files.txt or top_level.txt. `site_packages` has the folders of
        the distributions with a RECORD.
        """
        files = lines_of(f"{distribution.info}/installed-files.txt")
        if files:
            self._add_files(distribution.name, _joined(distribution.info, files))
            return
        if distribution.root not in site_packages:
            # an installation by `setup.py develop`, whose folder is not site-packages
            return
        is_wheel = distribution.info.lower().endswith(".dist-info")
        if is_wheel and distribution.installer in _RECORDING:
            return
        self.unlisted.append(distribution.name)
        modules = lines_of(f"{distribution.info}/top_level.txt")
        self._unlisted_modules.update(f"{distribution.root}/{name}" for name in modules)
        if not modules:
            self._unlisted_folders.add(distribution.root)

    def _add_all_of_conda(self) -> "None":
        """Add the files of all conda packages."""
        for package in conda_packages():
            if package.files is not None:
                self._add_files(package.name, package.files)
            else:
                self.unlisted.append(package.name)
                ours = [root for root, is_ours_alone in self.roots.items() if is_ours_alone]
                self._unlisted_folders.update(ours)

    def _add_files(self, owner: "str", paths: "Iterable[str]") -> "None":
        """Add files with their owner."""
        for path in paths:
            self.files.add(path)
            self._add_folders(os.path.dirname(path))
            for root in self.roots:
                start = f"{root}/"
                if path.startswith(start):
                    top = path[len(start) :].partition("/")[0]
                    self._owners.setdefault(start + top, set()).add(owner)

    def _add_folders(self, folder: "str") -> "None":
        """Add a folder and all its parent folders to `folders`."""
        while folder not in self.folders:
            self.folders.add(folder)
            folder = os.path.dirname(folder)

    def owners_of(self, path: "str") -> "Collection[str]":
        """Return the names of the owners of an entry of site-packages, and of files in it.

        `path` is the path of the entry: a file or folder that is directly in site-packages.
        """
        return self._owners.get(path, frozenset())

    def is_of_lock(self, path: "str") -> "bool":
        """Return whether a locked distribution owns a file, or a file in an entry."""
        return path in self._locked_files or not self._locked_names.isdisjoint(self.owners_of(path))

    def is_of_locked_project(self, path: "str") -> "bool":
        """Return whether a path belongs to a locked distribution.

        It does if the distribution owns the file, or if the path is in the folder of its editable
        installation. Symbolic links in the path must be resolved.
        """
        return self.is_of_lock(path) or _is_in_any(path, self._locked_projects)

    def has_entry(self, path: "str") -> "bool":
        """Return whether an entry of the search path belongs to a distribution.

        It does if a distribution owns files in it, or if it is in the folder of an editable
        installation. Symbolic links in the path must be resolved.
        """
        return path in self.files or path in self.folders or _is_in_any(path, self._projects)

    def replacing_files(self) -> "list[str]":
        """Return the files of other owners that are the same module as a locked file.

        Their paths differ only in the suffix or in `/__init__`. Python may import such a file in
        place of the locked one: it prefers a package to a module, and a compiled module to a
        source.
        """
        locked = {module_path(path) for path in self._locked_files if path.endswith(IMPORTABLE)}
        others = [path for path in self.files - self._locked_files if path.endswith(IMPORTABLE)]
        same_modules = [path for path in others if module_path(path) in locked]
        return sorted(path for path in same_modules if os.path.lexists(path))

    def is_rewritten(self, folder: "str") -> "bool":
        """Return whether a build of the lock itself changes files in an entry of site-packages."""
        return not self._rewritten.isdisjoint(self.owners_of(folder))

    def is_known(self, path: "str") -> "bool":
        """Return whether it is known who owns a module or package of site-packages, if anyone.

        It is not known if it may belong to a distribution without a list of files.
        """
        if f"{path}/__init__.py" in self.files:
            return True
        folder, name = os.path.split(path)
        if folder in self._unlisted_folders:
            return False
        return f"{folder}/{module_of(name)}" not in self._unlisted_modules

    def locked_modules(self, entry: "str") -> "set[str]":
        """Return the names of the locked modules in an entry of the search path or in a later one.

        Another module with such a name in this entry would be imported in place of the locked one.
        Symbolic links in the path of the entry must be resolved.
        """
        if entry not in self._locked_modules:
            later = self.search_path.after(entry)
            names: "set[str]" = set()
            for distribution in self._locked:
                if distribution.root in later:
                    names.update(_top_names(distribution))
            self._locked_modules[entry] = names
        return self._locked_modules[entry]

    def fault_in(self, module: "str", *paths: "str | None") -> "tuple[str, str]":
        """Return the first of these paths from which a module must not come, and why.

        The second value is the code of a finding. Both are empty if there is no such path. A path
        may be empty or None.
        """
        for path in paths:
            fault = self.fault_of_import(module, path or "")
            if path and fault:
                return path, fault
        return "", ""

    def fault_of_import(self, module: "str", path: "str") -> "str":
        """Return the code of the finding about the file from which a module is imported.

        Empty if nothing is wrong, or if `path` is empty because the module has no file.
        """
        if not path:
            return ""
        real = os.path.realpath(path)
        if not any(real.startswith(home.rstrip("/") + "/") for home in self._homes):
            return "import-elsewhere"
        return "import-replaced" if self._is_replaced(module, path) else ""

    def _is_replaced(self, module: "str", path: "str") -> "bool":
        """Return whether a file that the lock does not own was imported as a locked module.

        False for files outside of site-packages, and for modules in a folder that the lock itself
        rewrites.
        """
        top = module_of(module)
        for folder in self.search_path.entries:
            root = os.path.realpath(folder)
            if root in self.roots and path.startswith(f"{folder}/"):
                file = root + path[len(folder) :]
                is_lock_file = file in self._locked_files or self.is_rewritten(f"{root}/{top}")
                return top in self.locked_modules(root) and not is_lock_file
        return False


def module_path(path: "str") -> "str":
    """Return the path of a module's file without suffix; for `__init__` the path of its folder."""
    folder, name = os.path.split(path)
    module = module_of(name)
    return folder if module == "__init__" else os.path.join(folder, module)


def _project_folders(distributions: "Iterable[InstalledDistribution]") -> "list[str]":
    """Return the folders of the editable installations, with symbolic links resolved."""
    folders = [distribution.editable_folder for distribution in distributions]
    return [os.path.realpath(folder) for folder in folders if folder]


def _is_in_any(path: "str", folders: "Iterable[str]") -> "bool":
    """Return whether a path is one of these folders or in one of them."""
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _roots(installed: "Installed", search_path: "SearchPath") -> "dict[str, bool]":
    """Return the value of `Ownership.roots`."""
    site_folders = set(map(os.path.realpath, search_path.site_folders))
    with_distributions = {
        distribution.root
        for distribution in installed.values()
        if distribution.editable_folder != distribution.root
    }
    folders = dict.fromkeys(map(os.path.realpath, search_path.folders))
    wanted = site_folders | with_distributions
    return {folder: is_ours(folder) for folder in folders if folder in wanted}


def _top_names(distribution: "InstalledDistribution") -> "Iterator[str]":
    """Yield the names of a distribution's modules and packages that are directly in site-packages.

    For an editable installation, also yield its top-level modules.
    """
    start = distribution.root + "/"
    for row in distribution.rows:
        if row.path.startswith(start):
            top, slash, _ = row.path[len(start) :].partition("/")
            if slash or top.endswith(IMPORTABLE):
                yield module_of(top)
    if distribution.editable_folder:
        for module in top_modules(distribution):
            yield module_of(module)


def module_of(name: "str") -> "str":
    """Return the module's name in the name of a file or folder: the part before the first dot."""
    return name.partition(".")[0]


def _joined(folder: "str", names: "Iterable[str]") -> "list[str]":
    """Return the normalized paths of names that are relative to a folder."""
    return [os.path.normpath(os.path.join(folder, name)) for name in names]


def lines_of(path: "str") -> "list[str]":
    """Return the lines of a file that are not blank, stripped; none if it cannot be read."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


# --- libraries
#
# Recognize libraries of CANN and of the driver that are missing when a module is imported.

# The code of the finding about a module that needs CANN, if CANN is installed but not active.
INACTIVE_TOOLKIT = "import-without-cann"

# The names of the libraries begin with `lib` and one of these. A test checks that all libraries in
# systems.toml do.
_LIBRARY_PREFIXES = (
    "acl_",
    "ascend",
    "atb",
    "dcmi",
    "drv",
    "error_manager",
    "exe_graph",
    "fmk_",
    "ge_",
    "graph",
    "hccl",
    "mmpa",
    "msprofiler",
    "nnopbase",
    "opapi",
    "ops_base",
    "optiling",
    "profapi",
    "runtime",
    "tiling",
    "unified_dlog",
)
# Names of further libraries, without `lib`. They are given completely, since libraries of others
# may begin with them.
_LIBRARY_NAMES = ("c_sec", "platform", "register")
_MISSING_LIBRARY = re.compile(
    rf"(lib(?:(?:{'|'.join(_LIBRARY_PREFIXES)})\w*|{'|'.join(_LIBRARY_NAMES)})\.so[\w.]*)"
    r": cannot open shared object"
)


def missing_library(error: "str") -> "str":
    """Return the library of CANN or of the driver that is missing, from the text of an error.

    Empty if the error is about something else.
    """
    match = _MISSING_LIBRARY.search(error)
    return match[1] if match else ""


def is_on_disk(context: "CheckContext", library: "str") -> "bool":
    """Return whether the active CANN or the driver has a library in a folder for running programs.

    The folder `devlib` is not searched: its libraries are stubs for linking.
    """
    driver = f"{glob.escape(context.ascend)}/driver/lib64"
    folders = [driver, f"{driver}/*"]
    cann = glob.escape(context.environ.get("ASCEND_HOME_PATH", ""))
    if cann:
        folders += [f"{cann}/lib64", f"{cann}/*/lib64"]
    return any(glob.glob(f"{folder}/{library}") for folder in folders)


# --- imports
#
# Check that the modules which the lock lists can be imported by a user's program.
#
# Unlike other checks, this one does not run Python isolated: CANN's set_env.sh adds modules that
# torch_npu needs to PYTHONPATH. Modules on PYTHONPATH or in the user's site-packages may come before
# locked modules. So the check also looks at the file from which each module is imported.
#
# After a module that fails, the remaining modules are imported in a new process, since modules that
# are loaded only in part could make further imports fail.

_IMPORT_SECONDS = 1800
# The beginning of a program that defines `write_row`, which writes an object as a line of JSON.
# Only these lines are written to standard output: what a module prints goes to standard error.
# `python -c` begins the search path with the current folder. The first statement takes it away, and
# needs no file: `sys` is a part of the interpreter.
_WRITE_ROW = """
import sys
sys.path[:] = [path for path in sys.path if path]
import json, os
rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
def write_row(row):
    rows.write(json.dumps(row) + "\\n")
    rows.flush()
"""
# A program that imports modules until one fails. It writes a row for each.
_IMPORT = """
import importlib
for name in json.loads(sys.argv[1]):
    try:
        module = importlib.import_module(name)
        path = getattr(module, "__file__", None)
        folders = list(getattr(module, "__path__", []))
        write_row({"name": name, "path": path or (folders[0] if folders else None)})
    except BaseException as error:
        write_row({"name": name, "error": "%s: %s" % (type(error).__name__, error)})
        break
"""

# A program that finds the file of each module without importing it, and writes a row for each. This
# is done before any module runs, since a module could change its own `__file__`.
_FIND = """
def find(name, path):
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec
    return None
for name in json.loads(sys.argv[1]):
    spec, path, start = None, None, ""
    for part in name.split("."):
        start += part
        spec = find(start, path)
        if spec is None or spec.submodule_search_locations is None:
            break
        path = list(spec.submodule_search_locations)
        start += "."
    is_found = spec is not None and start.rstrip(".") == name
    origin = spec.origin if is_found and spec.has_location else None
    write_row({"name": name, "path": origin or (path[0] if is_found and path else "")})
"""


def import_environ(context: "CheckContext") -> "dict[str, str]":
    """Return the environment variables for importing modules: the user's, then the lock's.

    No module of the current folder may be imported, since a user's program is started elsewhere. So
    PYTHONPATH has no relative folder: an empty one, as a colon at its end adds it, is the current
    one. PYTHONINSPECT is removed: Python would import `readline` before the first line of a
    program.
    """
    environ = {**context.environ, **context.lock.import_env, "PYTHONDONTWRITEBYTECODE": "1"}
    environ.pop("PYTHONINSPECT", None)
    folders = environ.pop("PYTHONPATH", "").split(os.pathsep)
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    if absolute:
        environ["PYTHONPATH"] = os.pathsep.join(absolute)
    return environ


def run_python(
    context: "CheckContext", code: "str", *arguments: "str"
) -> "tuple[list[dict[str, Any]], str]":
    """Run Python code in a new process, with the environment variables of the lock.

    The process is not isolated (`-I`), unlike all others that are started here: it imports what a
    user's program would.

    Return the objects that the code passes to `write_row`, and how the process ended: the last line
    of its standard error, or else its status in words.
    """
    command = [sys.executable, "-c", _WRITE_ROW + code, *arguments]
    result = run_program(command, import_environ(context), _IMPORT_SECONDS)
    rows = []
    for line in result.output.splitlines():
        try:
            rows.append(dict(json.loads(line)))
        except (ValueError, TypeError, RecursionError):
            # the process died while it wrote, or a module wrote into its pipe
            continue
    return rows, result.ending


def module_origins(context: "CheckContext", names: "Sequence[str]") -> "dict[str, str]":
    """Return the file or folder from which each module would be imported, without importing it.

    It is empty for a module that is not found.
    """
    if not names:
        return {}
    rows, _ = run_python(context, _FIND, json.dumps(list(names)))
    return {str(row["name"]): str(row["path"]) for row in rows}


def check_imports(context: "CheckContext", ownership: "Ownership", *, has_device: "bool") -> "Group":
    """Check that the modules which the lock lists can be imported, and come from the lock.

    `has_device` says whether the machine has an accelerator. A machine without one, for example one
    that builds an image, may lack libraries of the toolkit or of the driver. Then a module that
    needs them cannot be tried, which is only a warning.
    """
    untried = list(context.lock.imports)
    origins = module_origins(context, untried)
    findings = []
    while untried:
        rows, ending = run_python(context, _IMPORT, json.dumps(untried))
        errors = [str(row["error"]) for row in rows if "error" in row]
        imported = rows[: len(rows) - len(errors)]
        for row in imported:
            name = row["name"]
            found, fault = ownership.fault_in(name, origins.get(name), row["path"])
            if fault:
                values = _import_values(context, name)
                findings.append(Finding(fault, {**values, "found": found}))
        untried = untried[len(imported) :]
        if untried:
            values = _import_values(context, untried.pop(0))
            if errors:
                findings.append(_import_failure(context, values, errors[0], has_device=has_device))
            else:
                findings.append(Finding("import-died", {**values, "error": ending}))
    return Group("imports", findings, {"list": ", ".join(context.lock.imports)})


def _import_values(context: "CheckContext", name: "str") -> "dict[str, str]":
    """Return the values of the messages of a finding about a module."""
    return {"name": name, "command": shown_command(context, f"import {name}")}


def _import_failure(
    context: "CheckContext", values: "dict[str, str]", error: "str", *, has_device: "bool"
) -> "Finding":
    """Return the finding about a module whose import raised an exception; `error` is its text."""
    first_line = error.partition("\n")[0]
    library = missing_library(first_line)
    if not library:
        return Finding("import-failed", {**values, "error": first_line})
    code = "import-untried"
    if has_device or is_on_disk(context, library):
        code = INACTIVE_TOOLKIT
    return Finding(code, {**values, "library": library})


def shown_command(context: "CheckContext", code: "str") -> "str":
    """Return a shell command that runs Python code as `run_python` does, for users to try."""
    command = f"{context.python} -c {shlex.quote(code)}"
    variables = [
        f"{name}={shlex.quote(value)}" for name, value in sorted(context.lock.import_env.items())
    ]
    if variables:
        return f"env {' '.join(variables)} {command}"
    return command


# --- checks
#
# Check CANN, the driver, the chip, and a computation on the NPU, for `verify` and `init`.
#
# Files of CANN and of the driver are read, and the tool npu-smi is run.
#
# In CANN, `version.info` has an internal number as `Version=8.2.0.0.201`, and the release as
# `version_dir`. `version.cfg` has the active version as `[internal:release]`, and a history of
# installations. So only ascend_toolkit_install.info, `*_running_version` and `version_dir` are read.
#
# npu-smi prints the version of the driver as Software Version, and the name of the chip in parts: an
# A2 has a Chip Type and a Chip Name (`Ascend`, `910B4`), an A3 has a Chip Name and an NPU Name
# (`Ascend910`, `9392`). The numbers of cards need not be consecutive.

# The variables with the folder of the active CANN. set_env.sh sets both; torch_npu reads the first.
_HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
# The folders of the parts of CANN that have a version.info.
_PARTS = ("toolkit", "runtime", "compiler", "opp", "opp_kernel", "hccl")
# ATB_HOME_PATH is a folder such as nnal/atb/latest/atb/cxx_abi_1. The file with the version is in
# `latest`, so at most this many folders are searched, each above the one before.
_NNAL_LEVELS = 4
# A pattern for the names of the chips of each family, from vllm_ascend/device/hardware.py:
# ascend910b1 to ascend910b4-1; ascend910_9391 and so on; ascend310p1 and so on; ascend950.
_FAMILIES = (("A2", r"910b"), ("A3", r"910_9[0-9]{3}"), ("310P", r"310p"), ("A5", r"950"))

# A program that adds two tensors on the first NPU, and writes the result.
_TENSOR = """
import torch, torch_npu
ones = torch.ones(2, 2).npu()
total = float((ones + ones).sum().cpu())
name = torch.npu.get_device_name(0)
write_row({"sum": total, "count": torch.npu.device_count(), "name": name})
"""


class _Release(NamedTuple):
    """The release of one part of CANN, as a file states it."""

    # The name of the part, such as `toolkit`.
    part: "str"
    # The file that states the release.
    path: "str"
    version: "SystemVersion"


def check_components(context: "CheckContext", tool: "NpuTool") -> "Iterator[Group]":
    """Yield the results of the checks of CANN, driver and chip, as far as the lock needs them.

    A further result lists the components of the lock that cannot be checked.
    """
    system = context.lock.system
    if TOOLKIT in system:
        yield _compared(check_cann(context), "found")
    if TORCH_PLUGIN in context.lock.pins or DRIVER in system or _asks_for_hdk(context):
        yield _compared(check_hdk(context, tool), "found")
    if CHIP in system:
        yield _compared(check_soc(context, tool), "chip", npus=str(tool.npus))
    unchecked = [f"{name} {system[name]}" for name in system if name not in COMPONENTS]
    if unchecked:
        yield Group("components", [], {"list": ", ".join(unchecked)})


def _compared(group: "Group", key: "str", **further: "str") -> "Group":
    """Return a group with the values by which the machines of a cluster are compared.

    These are the group's own value with this key, under the name of the group, and `further`.
    """
    return replace(group, machine={group.name: group.values[key], **further})


def _asks_for_hdk(context: "CheckContext") -> "bool":
    """Return whether the lock has a requirement on the driver."""
    return any(need.component == DRIVER for need in context.lock.driver)


def check_computation(context: "CheckContext", tool: "NpuTool") -> "Iterator[Group]":
    """Yield the result of a computation on the NPU, if the lock has torch-npu."""
    if TORCH_PLUGIN in context.lock.pins:
        yield _check_npu(context, tool)


def check_cann(context: "CheckContext") -> "Group":
    """Check that the active CANN has the release in the lock, and all its parts have one release.

    The value `found` of the result is the release of the active CANN; empty if it is not known.
    """
    wanted = context.lock.system[TOOLKIT]
    if not _is_version(wanted):
        return Group("cann", [_unknown_value(TOOLKIT, wanted)], {"found": ""})
    variable = next((name for name in _HOME_VARIABLES if context.environ.get(name)), "")
    home = context.environ.get(variable, "")
    values = {"wanted": wanted, "home": home, "found": "", "variable": variable}
    if not os.path.isdir(home):
        code = "cann-gone" if home else "cann-inactive"
        finding = Finding(code, values, _activation(context, any_release=True))
        return Group("cann", [finding], values)
    record = f"{home}/{platform.machine()}-linux/ascend_toolkit_install.info"
    paths = [record, f"{home}/version.cfg"]
    paths += [f"{home}/{part}/version.info" for part in _PARTS]
    releases = []
    findings = []
    for path in paths:
        try:
            releases += list(_releases(path))
        except UnreadableError as error:
            findings.append(Finding("cann-file-unreadable", error.values))
    if not releases:
        reason = findings[0].values if findings else {"path": record, "why": "no such file"}
        return Group("cann", [Finding("cann-unreadable", {**values, **reason})], values)
    if variable != _HOME_VARIABLES[0]:
        findings.append(Finding("cann-half-active", values, _source_command([home])))
    release = releases[0].version
    values["found"] = str(release)
    if not release.same_release(parse_version(wanted)):
        findings.insert(0, Finding("cann-differs", values, _activation(context, any_release=False)))
    others = [
        f"{other.part} {other.version} ({other.path})"
        for other in releases
        if not other.version.same_release(release)
    ]
    if others:
        findings.append(Finding("cann-parts-differ", {**values, **list_and_count(others)}))
    findings += _nnal_findings(context, release)
    return Group("cann", findings, values)


def _is_version(text: "str") -> "bool":
    """Return whether a text is a version of CANN or HDK."""
    try:
        parse_version(text)
    except ValueError:
        return False
    return True


def _unknown_value(component: "str", wanted: "str") -> "Finding":
    """Return the finding about a component whose value in the lock is not a version.

    Only a lock that was edited by hand has such a value.
    """
    return Finding("component-invalid", {"component": component, "wanted": wanted})


def _releases(path: "str") -> "Iterator[_Release]":
    """Yield the releases of the parts of CANN that a file states, the toolkit first.

    Nothing is yielded if there is no such file. Raises UnreadableError if it is invalid.
    """
    text = read_text(path)
    if text is None:
        return
    values = assignments(text)
    folder, name = os.path.split(path)
    if name == "ascend_toolkit_install.info":
        version = _parse_version(values.get("version", ""), path, "version")
        yield _Release("toolkit", path, version)
    elif name == "version.info" and "version_dir" in values:
        version = _parse_version(values["version_dir"], path, "version_dir")
        yield _Release(os.path.basename(folder), path, version)
    elif name == "version.cfg":
        keys = [key for key in values if key.endswith("_running_version")]
        for key in sorted(keys, key=lambda key: (key != "toolkit_running_version", key)):
            pair = re.fullmatch(r"\[[^\]:]*:([^\]:]+)\]", values[key])
            if pair is None:
                raise UnreadableError(path, f"`{key}` is not [internal:release]")
            part = key[: -len("_running_version")]
            yield _Release(part, path, _parse_version(pair[1], path, key))


def _parse_version(text: "str", path: "str", key: "str") -> "SystemVersion":
    """Return the version in the value `text` of a key of a file.

    Raises UnreadableError if it is empty or not a version.
    """
    if not text:
        raise UnreadableError(path, f"it states nothing for `{key}`")
    try:
        return parse_version(text)
    except ValueError as error:
        raise UnreadableError(path, str(error)) from None


def _nnal_findings(context: "CheckContext", release: "SystemVersion") -> "list[Finding]":
    """Return a finding if the active NNAL has another release than the toolkit; else nothing.

    NNAL is Ascend's Neural Network Acceleration Library, which contains ATB. Its version file has
    lines like `Version : 8.0.0.B100`.
    """
    folder = context.environ.get("ATB_HOME_PATH", "")
    if not folder:
        return []
    try:
        for _ in range(_NNAL_LEVELS):
            path = f"{folder}/version.info"
            found = assignments(read_text(path) or "").get("version")
            if found is not None:
                if _parse_version(found, path, "Version").same_release(release):
                    return []
                values = {"found": found, "wanted": str(release), "path": path}
                return [Finding("nnal-differs", values)]
            folder = os.path.dirname(folder)
    except UnreadableError as error:
        return [Finding("cann-file-unreadable", error.values)]
    return []


def _activation(context: "CheckContext", *, any_release: "bool") -> "str":
    """Return the shell command that activates an installed CANN; empty if none is installed.

    It is a CANN with the release in the lock. With `any_release`, the CANN that is installed as the
    current one is used if there is no such release.
    """
    release = context.lock.system[TOOLKIT]
    names = [f"cann-{release}", f"ascend-toolkit/{release}"]
    if any_release:
        names += ["cann", "ascend-toolkit"]
    roots = [context.ascend]
    if context.environ.get("HOME"):
        roots.append(f"{context.environ['HOME']}/Ascend")
    folders: "list[str]" = []
    for root in roots:
        folders += [f"{root}/{name}" for name in names]
    return _source_command(folders)


def _source_command(folders: "Iterable[str]") -> "str":
    """Return the shell command that sources set_env.sh of the first folder with this file.

    Empty if there is no such folder.
    """
    for folder in folders:
        script = f"{folder}/set_env.sh"
        if os.path.isfile(script):
            return f". {shlex.quote(script)}"
    return ""


class NpuTool(NamedTuple):
    """What npu-smi prints about this machine."""

    # The version of the driver; empty if it is not known.
    driver: "str" = ""
    # The different names of the chips; the name of the first NPU's chip comes first.
    chips: "tuple[str, ...]" = ()
    # The number of NPUs; 0 without npu-smi.
    npus: "int" = 0

    @property
    def chip(self) -> "str":
        """Return the name of the first chip; empty if it is not known."""
        return self.chips[0] if self.chips else ""

    @property
    def has_device(self) -> "bool":
        """Return whether this machine or container has an NPU.

        It has one if npu-smi lists one, or if there is a device file /dev/davinci*.
        """
        return self.npus > 0 or bool(glob.glob("/dev/davinci[0-9]*"))


def ask_tool(context: "CheckContext") -> "NpuTool":
    """Return what npu-smi prints about this machine; the defaults if there is no npu-smi."""
    folders = context.environ.get("PATH", "").split(os.pathsep)
    folders += ["/usr/local/bin", "/usr/local/sbin"]
    # A relative folder on PATH would depend on the current folder.
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    tool = shutil.which("npu-smi", path=os.pathsep.join(absolute))
    if tool is None:
        return NpuTool()

    def output(*arguments: "str") -> "str":
        """Return the output of `npu-smi info` with these arguments; empty if it fails."""
        result = run_program([tool, "info", *arguments], context.environ)
        return result.output if result.status == 0 else ""

    # The number of the card, the number of the chip on it, and the name of each chip.
    chips = re.findall(r"^\s*(\d+)\s+(\d+)\s+\d+\s+(\S.*?)\s*$", output("-m"), re.MULTILINE)
    if not chips:
        return NpuTool()
    driver = assignments(output("-t", "board", "-i", chips[0][0])).get("software version", "")
    names = []
    seen = set()
    for card, chip, short_name in chips:
        # Each call takes a second, and a machine has up to 16 chips of one kind.
        if short_name not in seen:
            seen.add(short_name)
            values = assignments(output("-t", "board", "-i", card, "-c", chip))
            names.append(_chip_name(values))
    return NpuTool(driver, tuple(dict.fromkeys(filter(None, names))), len(chips))


def _chip_name(values: "Mapping[str, str]") -> "str":
    """Return the full name of a chip, such as `Ascend910B4` or `Ascend910_9392`."""
    name = values.get("chip name", "")
    npu_name = values.get("npu name", "")
    if npu_name and npu_name.upper() != "NA":
        return f"{name}_{npu_name}"
    if name.lower().startswith("ascend"):
        return name
    return values.get("chip type", "") + name


def soc_family(name: "str") -> "str":
    """Return the family of a chip, such as `A2` for Ascend910B4; empty for an unknown name."""
    for family, pattern in _FAMILIES:
        if re.search(pattern, name, re.IGNORECASE):
            return family
    return ""


def check_soc(context: "CheckContext", tool: "NpuTool") -> "Group":
    """Check that all chips belong to the family in the lock.

    The binaries of the lock, and the operators of CANN, are made for one family.
    """
    wanted = context.lock.system[CHIP]
    family = soc_family(tool.chip)
    values = {"wanted": wanted, "found": family, "chip": tool.chip or "-"}
    others = [chip for chip in tool.chips if soc_family(chip).upper() != wanted.upper()]
    if tool.chips and not others:
        return Group("soc", [], values)
    if len(others) < len(tool.chips):
        values = {**values, "found": wanted, "list": ", ".join(others)}
        return Group("soc", [Finding("soc-mixed", values)], values)
    if family:
        code = "soc-differs"
    elif tool.chip:
        code = "soc-unnamed"
    else:
        code = "soc-unknown"
    return Group("soc", [Finding(code, values)], values)


def _check_npu(context: "CheckContext", tool: "NpuTool") -> "Group":
    """Check that torch_npu adds two tensors correctly on the first NPU."""
    values = {"count": "0", "name": "-"}
    if not tool.has_device:
        return Group("npu", [Finding("npu-absent", values)], values)
    results, error = run_python(context, _TENSOR)
    if not results:
        command = shown_command(context, "import torch, torch_npu; print(torch.ones(2, 2).npu())")
        return Group("npu", [Finding("npu-failed", {"error": error, "command": command})], values)
    result = results[0]
    name = str(result["name"])
    findings = []
    if result["sum"] != 8.0:
        findings.append(Finding("npu-wrong", {"found": str(result["sum"])}))
    wanted = context.lock.system.get(CHIP, "")
    family = soc_family(name)
    # If npu-smi knows the family, check_soc has compared it.
    if wanted and family and not soc_family(tool.chip) and family.upper() != wanted.upper():
        soc_values = {"wanted": wanted, "found": family, "chip": name}
        findings.append(Finding("soc-differs", soc_values))
    return Group("npu", findings, {"count": str(result["count"]), "name": name})


def check_hdk(context: "CheckContext", tool: "NpuTool") -> "Group":
    """Check that the driver is not older than the lock says, and meets the other requirements.

    The value `found` of the result is the version of the driver; empty if it is not known.
    """
    wanted = context.lock.system.get(DRIVER, "")
    if wanted and not _is_version(wanted):
        return Group("hdk", [_unknown_value(DRIVER, wanted)], {"found": ""})
    needs = [need for need in context.lock.driver if need.component == DRIVER]
    requirements = [f"{need.by}: {need.wanted}" for need in needs]
    if wanted:
        requirements.insert(0, f"hdk >= {wanted}")
    path = f"{context.ascend}/driver/version.info"
    values = {
        "wanted": wanted,
        "found": "",
        "path": path,
        "running": tool.driver,
        "asked": ", ".join(requirements),
    }
    try:
        text = read_text(path)
        if text is not None:
            versions = assignments(text)
            values["found"] = versions.get("version") or versions.get("package_version") or ""
        elif tool.driver:
            values["found"] = tool.driver
            values["path"] = "npu-smi"
        else:
            missing = [Finding("hdk-missing", values)] if wanted else []
            return Group("hdk", missing, values, "hdk-unseen" if needs else "hdk-none")
        version = _parse_version(values["found"], values["path"], "Version")
    except UnreadableError as error:
        code = "hdk-unreadable" if wanted else "hdk-file-unreadable"
        return Group("hdk", [Finding(code, {**values, **error.values})], values)
    findings = []
    if wanted and version.before(parse_version(wanted)):
        findings.append(Finding("hdk-old", values))
    unmet = [need for need in needs if not _is_met(need.ranges, version)]
    # Requirements that make the check fail come first.
    unmet.sort(key=lambda need: not need.binding)
    findings += [_unmet_finding(context, need, values) for need in unmet]
    if tool.driver and not _may_be_release(tool.driver, version):
        findings.append(Finding("hdk-not-running", values))
    return Group("hdk", findings, values, "hdk-met" if requirements else "hdk-any")


def _unmet_finding(context: "CheckContext", need: "DriverNeed", values: "Mapping[str, str]") -> "Finding":
    """Return the finding about a requirement that the driver does not meet."""
    reason = need.reason[context.language]
    code = "hdk-refused" if need.binding else "hdk-unmet"
    return Finding(code, {**values, "by": need.by, "asked": need.wanted, "reason": reason})


def _may_be_release(text: "str", version: "SystemVersion") -> "bool":
    """Return whether a version that npu-smi prints can be this release of the driver.

    True also for a text that is not a version: npu-smi has a form of its own for some.
    """
    try:
        return parse_version(text).same_release(version)
    except ValueError:
        return True


def _is_met(ranges: "Sequence[Sequence[Sequence[str]]]", version: "SystemVersion") -> "bool":
    """Return whether a version is in any of these ranges, which `DriverNeed.ranges` explains.

    A range with a text that is not a version is never met. Only a lock that was edited by hand has
    one.
    """
    for comparisons in ranges:
        with suppress(ValueError):
            if all(_holds(version, sign, text) for sign, text in comparisons):
                return True
    return False


def _holds(version: "SystemVersion", sign: "str", text: "str") -> "bool":
    """Return whether a version satisfies one comparison, such as `>=` and `25.0.rc1`.

    A text such as `25.5.*`, with `==` or `!=`, is compared with the beginning of the version.
    """
    if not text.endswith(".*"):
        return version.holds(sign, parse_version(text))
    line = tuple(int(part) for part in text[:-2].split("."))
    is_in_line = version.line[: len(line)] == line
    return is_in_line == (sign == "==")


# --- network
#
# Check the network between the NPUs of several nodes with `hccn_tool`, a program of the driver.
#
# The rules are from vllm-ascend's guides for several nodes, in which users type the same commands on
# each node: every link must be UP, and every net health must be Success. The documents of HCCL say
# that all NPUs of a job need the same TLS state (error EI0016).

# For each property of a port: the option with which hccn_tool prints it, and a pattern for the
# output whose group is the value.
_ANSWERS: "Mapping[str, tuple[str, str]]" = {
    "link": ("-link", r"link status:[ \t]*(\S+)"),
    "health": ("-net_health", r"net health status:[ \t]*(\S.*?)\s*$"),
    "address": ("-ip", r"ipaddr:[ \t]*(\S+)"),
    "tls": ("-tls", r"tls switch\[(\d+)\]"),
    "mtu": ("-mtu", r"mtu:[ \t]*(\d+)"),
}
# The values of `link` and `health` that are good.
_UP = "UP"
_HEALTHY = "Success"


class _Port(NamedTuple):
    """The network port of an NPU. A value that hccn_tool does not print is empty."""

    # The number of the NPU, from 0.
    number: "int"
    # The state of the link.
    link: "str"
    # The state of the network.
    health: "str"
    # The IP address.
    address: "str"
    # `1` if connections are encrypted (TLS), `0` if not.
    tls: "str"
    # The largest size of a packet, in bytes.
    mtu: "str"


def network_checks(context: "CheckContext", tool: "NpuTool") -> "Iterator[Group]":
    """Yield the result of `check_network` if the option --network is given."""
    if context.network:
        yield check_network(context, tool)


def check_network(context: "CheckContext", tool: "NpuTool") -> "Group":
    """Check the network ports of all NPUs of this machine.

    Each must have a link, an address of its own and a healthy network, and all must have the same
    TLS state. The TLS state and the size of packets are reported as values of the machine, since
    all nodes of a job must have the same.
    """
    program = _hccn_tool(context)
    values = {"count": str(tool.npus), "tls": "-", "mtu": "-"}
    if program is None or tool.npus == 0:
        return Group("network", [Finding("network-unseen", values)], values)
    ports = [_read_port(context, program, number) for number in range(tool.npus)]
    if not any(port.link for port in ports):
        return Group("network", [Finding("network-unread", values)], values)
    machine = {"tls": _values_of(ports, "tls"), "mtu": _values_of(ports, "mtu")}
    values |= {name: value or "-" for name, value in machine.items()}
    findings = [
        *_faulty("network-down", ports, lambda port: port.link != _UP),
        *_faulty("network-unhealthy", ports, lambda port: port.health not in ("", _HEALTHY)),
        *_faulty("network-address-missing", ports, lambda port: not port.address),
        *_shared_addresses(ports),
    ]
    if "/" in machine["tls"]:
        findings.append(Finding("network-tls-mixed", values))
    return Group("network", findings, values, machine=machine)


def _hccn_tool(context: "CheckContext") -> "str | None":
    """Return the path of hccn_tool, on PATH or in the folder of the driver; None without it."""
    path = f"{context.environ.get('PATH', '')}:{context.ascend}/driver/tools"
    return shutil.which("hccn_tool", path=path)


def _read_port(context: "CheckContext", program: "str", number: "int") -> "_Port":
    """Return the port of the NPU with this number, from the output of hccn_tool (`program`)."""
    found = {}
    for name, (option, pattern) in _ANSWERS.items():
        result = run_program([program, "-i", str(number), option, "-g"], context.environ)
        match = re.search(pattern, result.output, re.MULTILINE)
        found[name] = match[1] if match and result.status == 0 else ""
    return _Port(number, **found)


def _values_of(ports: "Sequence[_Port]", name: "str") -> "str":
    """Return the different values of a property of these ports, sorted and separated by `/`."""
    values: "set[str]" = {getattr(port, name) for port in ports}
    return "/".join(sorted(values - {""}))


def _faulty(code: "str", ports: "Sequence[_Port]", is_faulty: "Callable[[_Port], bool]") -> "list[Finding]":
    """Return one finding about all ports for which `is_faulty` is true; nothing without any."""
    faulty = [port for port in ports if is_faulty(port)]
    if not faulty:
        return []
    numbers = ", ".join(str(port.number) for port in faulty)
    states = ", ".join(sorted({port.health or "-" for port in faulty}))
    return [Finding(code, {"numbers": numbers, "states": states})]


def _shared_addresses(ports: "Sequence[_Port]") -> "list[Finding]":
    """Return a finding for each IP address that several NPUs have."""
    numbers: "dict[str, list[str]]" = {}
    for port in ports:
        if port.address:
            numbers.setdefault(port.address, []).append(str(port.number))
    return [
        Finding("network-address-shared", {"address": address, "numbers": ", ".join(owners)})
        for address, owners in numbers.items()
        if len(owners) > 1
    ]


# --- record
#
# Compare installed files with RECORD: sizes and hashes, and files that two distributions have.

# If a distribution has at most this many files and bytes, all its files are hashed.
_SMALL_FILES = 40
_SMALL_BYTES = 1 << 18
# Of a larger distribution, this many modules of at most this many bytes are hashed.
_SAMPLE = 12
_SAMPLE_BYTES = 1 << 18
_CHUNK = 1 << 20


class _SharedFile(NamedTuple):
    """A file that two distributions list with different hashes."""

    # The row in the RECORD of the distribution that should own the file (`_shared_files`).
    owner: "RecordRow"
    # The row in the RECORD of the other distribution.
    other: "RecordRow"


def check_files(
    context: "CheckContext", installed: "Installed", overwritten: "Set[tuple[str, str]]"
) -> "Group":
    """Compare the files of the locked distributions with RECORD.

    With the option --full, files of all other distributions in this environment are compared, too.
    `overwritten` has pairs of a distribution's name and a path: these files were replaced by
    another distribution, and are left out.
    """
    findings = []
    file_count = compared_count = 0
    rewritten = sorted(name for name in context.lock.rewritten if name in installed)
    for name in sorted(context.lock.pins):
        if name not in installed or name in rewritten:
            continue
        distribution = installed[name]
        # conda changes files; invalid METADATA has a finding that reinstalls everything
        if distribution.is_of_conda or not distribution.version:
            continue
        if not distribution.rows:
            findings += _record_findings(context, distribution)
        rows = [row for row in distribution.rows if (name, row.path) not in overwritten]
        hashed = [row for row in rows if row.digest]
        compared = set(hashed if context.full else _sample(hashed))
        file_count += len(rows)
        compared_count += len(compared)
        findings += _file_findings(
            distribution, [*rows, *_missing_commands(distribution)], compared
        )
        if context.full:
            findings += _unhashed_finding(distribution, rows)
    if context.full:
        for distribution in others_here(context, installed):
            hashed = [row for row in distribution.rows if row.digest]
            rows = [row for row in hashed if (distribution.name, row.path) not in overwritten]
            findings += _extra_findings(context, distribution, rows)
    values = {
        "files": str(file_count),
        "compared": str(compared_count),
        "kept": ", ".join(rewritten),
    }
    note = "files-kept" if rewritten else ""
    if not any(name in installed for name in context.lock.pins):
        note = "nothing"
    return Group("files", findings, values, note)


def others_here(context: "CheckContext", installed: "Installed") -> "list[InstalledDistribution]":
    """Return the distributions in this environment that are not locked, such as pip.

    Distributions of conda are left out, since conda changes files after installing them.
    """
    others = [installed[name] for name in sorted(installed) if name not in context.lock.pins]
    return [other for other in others if other.is_ours and not other.is_of_conda]


def _extra_findings(
    context: "CheckContext", distribution: "InstalledDistribution", rows: "Sequence[RecordRow]"
) -> "Iterator[Finding]":
    """Yield one finding about all changed files of a distribution that is not locked.

    Missing files are ignored.
    """
    changed = [
        os.path.relpath(row.path, distribution.root)
        for row in rows
        if _file_code(row, compare=True) == "file-changed"
    ]
    if changed:
        pinned = f"{distribution.name}=={distribution.version}"
        install = f"{context.python} -m pip install --force-reinstall --no-deps"
        about = {"name": distribution.name, "version": distribution.version}
        remedy = f"{install} {shlex.quote(pinned)}"
        if not is_project_name(distribution.name):
            remedy = context.venv_command
        yield Finding("extra-changed", {**about, **list_and_count(changed)}, remedy)


def _record_findings(context: "CheckContext", distribution: "InstalledDistribution") -> "list[Finding]":
    """Return the finding about a distribution whose RECORD is missing or invalid.

    There is none for an editable installation without RECORD.
    """
    values = {
        "name": distribution.name,
        "version": distribution.version,
        "folder": distribution.info,
    }
    remedy = context.then_install(f"rm -r {shlex.quote(distribution.info)}")
    try:
        distribution.read_record()
    except UnreadableError as error:
        return [Finding("record-broken", {**values, **error.values}, remedy)]
    if distribution.editable_folder:
        return []
    return [Finding("record-missing", values, remedy)]


def _file_findings(
    distribution: "InstalledDistribution", rows: "Sequence[RecordRow]", compared: "Set[RecordRow]"
) -> "list[Finding]":
    """Return a finding for the missing, the changed and the unreadable files of a distribution.

    All files in `rows` are compared by size, those in `compared` also by hash.
    """
    paths: "dict[str, list[str]]" = {"file-missing": [], "file-changed": [], "file-unreadable": []}
    for row in rows:
        code = _file_code(row, compare=row in compared)
        if code:
            paths[code].append(os.path.relpath(row.path, distribution.root))
    about = {"name": distribution.name, "version": distribution.version}
    return [
        Finding(code, {**about, **list_and_count(different)})
        for code, different in paths.items()
        if different
    ]


def _missing_commands(distribution: "InstalledDistribution") -> "list[RecordRow]":
    """Return rows for the commands that neither RECORD nor the folder of commands has.

    An installer that was interrupted leaves the RECORD of the wheel, which lists none. There are
    none for a distribution without rows, since `_record_findings` is about it.
    """
    if not distribution.rows:
        return []
    listed = {os.path.basename(row.path) for row in distribution.rows}
    folder = os.path.dirname(sys.executable)
    paths = [os.path.join(folder, name) for name in distribution.commands() if name not in listed]
    return [RecordRow(path, "", UNKNOWN_SIZE) for path in paths if not os.path.lexists(path)]


def _unhashed_finding(
    distribution: "InstalledDistribution", rows: "Sequence[RecordRow]"
) -> "Iterator[Finding]":
    """Yield a finding about files without a hash in RECORD, which cannot be compared.

    RECORD itself has none, and its signatures need not have one, so these are left out.
    """
    names = [os.path.relpath(row.path, distribution.root) for row in rows if not row.digest]
    record = os.path.relpath(f"{distribution.info}/RECORD", distribution.root)
    unhashed = [name for name in names if name not in (record, f"{record}.jws", f"{record}.p7s")]
    if unhashed:
        about = {"name": distribution.name, "version": distribution.version}
        yield Finding("file-unhashed", {**about, **list_and_count(unhashed)})


def _file_code(row: "RecordRow", *, compare: "bool") -> "str":
    """Return the code of the finding about a file; empty if it agrees with RECORD.

    Its hash is computed only with `compare`.
    """
    try:
        status = os.stat(row.path)
    except (FileNotFoundError, NotADirectoryError):
        return "file-missing"
    except (OSError, ValueError):
        return "file-unreadable"
    if row.size not in (UNKNOWN_SIZE, status.st_size):
        return "file-changed"
    if not stat.S_ISREG(status.st_mode):
        return "file-unreadable"
    if not compare:
        return ""
    digest = _digest(row)
    if not digest:
        return "file-unreadable"
    return "" if digest == row.digest else "file-changed"


def _digest(row: "RecordRow") -> "str":
    """Return the hash of a file in the form of RECORD, with the algorithm of its row.

    Empty if the file cannot be read, or the algorithm is not supported.
    """
    algorithm = row.digest.partition("=")[0]
    try:
        digest = hashlib.new(algorithm)
        with open(row.path, "rb") as file:
            while True:
                chunk = file.read(_CHUNK)
                if not chunk:
                    break
                digest.update(chunk)
        encoded = base64.urlsafe_b64encode(digest.digest()).decode()
    except (OSError, ValueError, TypeError):
        # ValueError and TypeError: an unknown algorithm, or one whose digests have any length
        return ""
    return f"{algorithm}={encoded.rstrip('=')}"


def _sample(rows: "Sequence[RecordRow]") -> "Sequence[RecordRow]":
    """Return the rows of the files to hash: all of a small distribution, otherwise a few modules.

    For the same distribution they are always the same.
    """
    size = sum(row.size for row in rows if row.size > 0)
    if len(rows) <= _SMALL_FILES and size <= _SMALL_BYTES:
        return rows
    modules = [row for row in rows if row.path.endswith(".py") and row.size <= _SAMPLE_BYTES]
    return sorted(modules, key=_sample_key)[:_SAMPLE]


def _sample_key(row: "RecordRow") -> "bytes":
    """Return a sort key that looks random, but is the same in every environment."""
    return hashlib.sha256(row.path.rpartition("site-packages")[2].encode()).digest()


def check_collisions(
    context: "CheckContext", installed: "Installed"
) -> "tuple[Group, set[tuple[str, str]]]":
    """Check for files that two distributions list with different hashes.

    Returns the result of the check, and the files that were overwritten: pairs of a distribution's
    name and the path of a file in its RECORD that now has the content of another distribution.
    """
    findings = []
    overwritten = set()
    stages = {name: pin.stage for name, pin in context.lock.pins.items()}
    for (owner, other), files in sorted(_shared_files(installed, stages).items()):
        ours = theirs = 0
        for file in files:
            digest = _digest(file.owner)
            if digest == file.owner.digest:
                ours += 1
                overwritten.add((other, file.other.path))
            elif digest == file.other.digest:
                theirs += 1
                overwritten.add((owner, file.owner.path))
        if other not in stages:
            code = "collision"
        elif theirs and stages[owner] != stages[other]:
            code = "collision-order"
        else:
            continue
        values = {
            "owner": owner,
            "other": other,
            "module": _top_name(installed[owner], files[0].owner.path),
            "count": str(len(files)),
            "ours": str(ours),
            "theirs": str(theirs),
        }
        findings.append(Finding(code, values, context.reinstall_command(other, owner)))
    return Group("collisions", findings), overwritten


def _shared_files(
    installed: "Installed", stages: "Mapping[str, int]"
) -> "dict[tuple[str, str], list[_SharedFile]]":
    """Return the files that two distributions list with different hashes.

    The keys are pairs of names. The first name is the distribution whose file should be on the
    disk, the owner: a locked one, and of two locked ones the one that is installed later.
    """
    claims: "dict[str, list[tuple[str, RecordRow]]]" = {}
    for name in sorted(installed, key=lambda name: (-stages.get(name, 0), name)):
        for row in installed[name].rows:
            if row.digest:
                claims.setdefault(row.path, []).append((name, row))
    shared: "dict[tuple[str, str], list[_SharedFile]]" = {}
    for claimants in claims.values():
        for (owner, owner_row), (other, other_row) in combinations(claimants, 2):
            if owner in stages and owner_row.digest != other_row.digest:
                shared.setdefault((owner, other), []).append(_SharedFile(owner_row, other_row))
    return shared


def _top_name(owner: "InstalledDistribution", path: "str") -> "str":
    """Return the first part of a file's path in site-packages; its name if it is elsewhere."""
    relative = os.path.relpath(path, owner.root)
    if relative.startswith(".."):
        return os.path.basename(relative)
    return relative.split("/")[0]


# --- bytecode
#
# Check that the compiled files which Python runs in place of sources were made from these sources.
#
# Python runs a file of `__pycache__` without reading the source if the file states the modification
# time and the size of the source, or if it is hash-based and unchecked (PEP 552). Neither proves from
# what it was compiled, and RECORD has no hash of it. So each source is compiled here, and the code is
# compared with the code in the compiled file.

# The folder of compiled files beside their sources.
_COMPILED = "__pycache__"
_SOURCE = ".py"
# The endings of compiled files by level of optimization. Python uses those of the levels 1 and 2
# only if it is started with -O and -OO.
_ENDINGS = (".pyc", ".opt-1.pyc", ".opt-2.pyc")
# The header of a compiled file: a magic number, flags, and either the time and size of the source
# or its hash.
_HEADER_BYTES = 16
# The flag that says that the header has the hash of the source.
_HASHED = 1
_MOST_FLAGS = 3
# The attribute of a code object with its instructions as Python runs them first, and with the
# values that these have cached.
_INSTRUCTIONS = "_co_code_adaptive" if sys.version_info >= (3, 11) else "co_code"
# The types of constants that contain other constants.
_COMPOUND = (CodeType, tuple, frozenset)
# The number of files that a shown command removes by name.
_MOST_NAMED = 20


def check_bytecode(context: "CheckContext", installed: "Installed") -> "Group":
    """Check the compiled files of all sources in this environment and in its editable checkouts.

    Compiled files for other Pythons, and those that Python would not use, are ignored.
    """
    compared = 0
    differing = []
    pins = context.lock.pins
    distributions = [installed[name] for name in sorted(pins) if name in installed]
    distributions += others_here(context, installed)
    sources = {distribution.name: _sources(distribution) for distribution in distributions}
    owned: "set[str]" = set()
    for name, own_sources in sources.items():
        if name in pins and pins[name].editable:
            own_sources += _sources_below(checkout_folder(name))
        owned.update(own_sources)
    sources["-"] = [source for source in _top_sources(context) if source not in owned]
    for number, (name, own_sources) in enumerate(sources.items()):
        context.progress(f"{number}/{len(sources)} {name}")
        for source in own_sources:
            for path, level in _compiled_files(source):
                compared += 1
                if not _is_of_source(path, source, level):
                    differing.append(path)
    context.progress("")
    findings = []
    if differing:
        remedy = _removal(context, differing)
        findings.append(Finding("bytecode-differs", list_and_count(differing), remedy))
    return Group("bytecode", findings, {"compared": str(compared)})


def _removal(context: "CheckContext", paths: "Sequence[str]") -> "str":
    """Return the shell command that removes compiled files. Python makes them again when needed."""
    if is_shared():
        return context.venv_command
    if len(paths) <= _MOST_NAMED:
        return shlex.join(["rm", *paths])
    return shlex.join(["find", sys.prefix, "-path", f"*/{_COMPILED}/*.pyc", "-delete"])


def _sources(distribution: "InstalledDistribution") -> "list[str]":
    """Return the sources in the RECORD of a distribution."""
    return [row.path for row in distribution.rows if row.path.endswith(_SOURCE)]


def _top_sources(context: "CheckContext") -> "list[str]":
    """Return the sources that are directly in site-packages, not in a subfolder.

    Some of them, such as the module of virtualenv, are in no RECORD.
    """
    sources = []
    for folder in map(os.path.realpath, context.search_path.site_folders):
        if is_ours(folder):
            sources += [f"{folder}/{name}" for name in _source_names(folder)]
    return sources


def _source_names(folder: "str") -> "list[str]":
    """Return the names of the sources in a folder, sorted."""
    return sorted(name for name in os.listdir(folder) if name.endswith(_SOURCE))


def _sources_below(folder: "str") -> "list[str]":
    """Return the paths of all sources in a checkout, sorted."""
    sources = []
    for parent, folders, names in os.walk(folder):
        if parent == folder and ".git" in folders:
            folders.remove(".git")
        sources += [f"{parent}/{name}" for name in names if name.endswith(_SOURCE)]
    return sorted(sources)


def _compiled_files(source: "str") -> "Iterator[tuple[str, int]]":
    """Yield the existing compiled files of a source, each with its level of optimization."""
    folder, name = os.path.split(source)
    stem = f"{folder}/{_COMPILED}/{name[: -len(_SOURCE)]}.{sys.implementation.cache_tag}"
    for level, ending in enumerate(_ENDINGS):
        if os.path.exists(stem + ending):
            yield stem + ending, level


def _is_of_source(path: "str", source: "str", level: "int") -> "bool":
    """Return whether a compiled file has the code of its source.

    True also if Python would not run the compiled file, or if a file cannot be read. `level` is the
    level of optimization.
    """
    try:
        with open(path, "rb") as file:
            content = file.read()
        with open(source, "rb") as file:
            status = os.fstat(file.fileno())
            text = file.read()
    except OSError:
        # Python cannot read it either, or the check of files reports it
        return True
    if not _is_used(content, status):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # read as Python would when it imports the module; it is not run
            found = marshal.loads(content[_HEADER_BYTES:])  # noqa: S302
            # the name in the compiled file, since the environment may have been moved
            name = getattr(found, "co_filename", source)
            made = compile(text, name, "exec", dont_inherit=True, optimize=level)
        return _is_same_code(found, made)
    except (ValueError, TypeError, EOFError, SyntaxError, RecursionError, MemoryError):
        return False


def _is_used(content: "bytes", status: "os.stat_result") -> "bool":
    """Return whether Python may run a compiled file in place of a source with this status.

    A hash-based file counts as used: whether Python checks the hash depends on an option.
    """
    if len(content) < _HEADER_BYTES or content[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags, seconds, size = (
        int.from_bytes(content[start : start + 4], "little") for start in (4, 8, 12)
    )
    if flags & _HASHED:
        return flags <= _MOST_FLAGS
    is_current = seconds == int(status.st_mtime) & 0xFFFFFFFF
    return flags == 0 and is_current and size == status.st_size & 0xFFFFFFFF


def _is_same_code(found: "object", made: "CodeType") -> "bool":
    """Return whether the code in a compiled file, `found`, does the same as the code of its source.

    From Python 3.11 on, `==` treats a specialized instruction as equal to the general one, and
    ignores the caches of instructions; but Python runs both as they are in the file. So the raw
    instructions are compared. The rest is compared as `marshal` writes it in version 2 of its
    format, which depends only on the content, since it has no references to earlier objects.
    """
    if not _is_same_shape(found, made):
        return False
    if _dumped(found) == _dumped(made):
        return True
    # before 3.11, `marshal` writes sets in any order, and `==` compares every instruction
    is_old = sys.version_info < (3, 11)
    return is_old and found == made and _stack_sizes(found) == _stack_sizes(made)


def _is_same_shape(found: "object", made: "object") -> "bool":
    """Return whether two constants have the same types, lengths and instructions, at all depths."""
    kind = type(made)
    if type(found) is not kind:
        return False
    if kind not in _COMPOUND:
        return True
    if isinstance(made, CodeType):
        if getattr(found, _INSTRUCTIONS) != getattr(made, _INSTRUCTIONS):
            return False
        return _is_same_shape(found.co_consts, made.co_consts)  # type: ignore[attr-defined]
    if len(found) != len(made):  # type: ignore[arg-type]
        return False
    return kind is frozenset or all(map(_is_same_shape, found, made))  # type: ignore[call-overload]


def _dumped(code: "Any") -> "bytes":
    """Return a code object in version 2 of the format of `marshal`."""
    return marshal.dumps(code, 2)


def _stack_sizes(code: "object") -> "list[int]":
    """Return the stack sizes of a code object and of those in it, which `==` does not compare."""
    if not isinstance(code, CodeType):
        return []
    sizes = [code.co_stacksize]
    for constant in code.co_consts:
        sizes += _stack_sizes(constant)
    return sizes


# --- makers
#
# Recognize files that virtualenv, uv and setuptools put into site-packages, by their content.
#
# No RECORD lists these files, so they would otherwise count as files without an owner.

# The module that virtualenv and uv put into environments.
MAKER_MODULE = "_virtualenv.py"
# The file that imports this module each time Python starts.
MAKER_PATH_FILE = "_virtualenv.pth"
# pyvenv.cfg has one of these keys if virtualenv or uv made the environment.
_MAKER_KEYS = ("virtualenv", "uv")
_MAKER_LINE = "import _virtualenv"
# The sha256 of the module in all releases of virtualenv from 20.0 to 21.15, and of uv up to 0.13.
_MAKER_MODULES = frozenset(
    [
        "02943e192823d75212f206e1f2991ac572119882683a95dfbb7a1b913d7b14b5",
        "0278334cdcfab4c746b4416fbd5c2b6e7da937c81e132397d62c361d404ebe0e",
        "095a1099733d28c837bca584f5fb3eb3724e357f8846c015083dc6e9a7b985f3",
        "0aeb86546345c1d0fada097536e35525714d5cdbcc2d8eb3f9912a955044fcff",
        "0f20351ea7e90039c46d3fabdef991f28b1e3ff33eb13ee6f0d5cd21ea0e8b14",
        "119e4eb9c1a39e6ffd220840844bd326fa1bd3acf2f1c9fa0612949aedc228a5",
        "460589e83387d4dfe5fd84d41c5f6979599f5cd080983d73c832549161c80435",
        "684b8c07932ba4a84ac2e5ae9afe49ef04e92bac3d8d4191d455cf09d093e5fc",
        "6cf30c56faf2a55228914dbbd17f8088ed371ebb08f5e7fa6fd931f913fcaf1d",
        "82944bb74841efbcfdc3539e7d60df63f43cc023041eb183abbd56f44e071b45",
        "96245d9e9c0b16fdcd99b470abe101863858120c9bf57752278ec4d7f9b09a94",
        "bd9633de3d8122488d66fcfa0c7f0c9cd0b58e9147938ddf1f8fa76ca12b6ad5",
        "bec6155ff7bfc88f8e79e481f27fd7ee0a3b40eeca9bfeb41f4c4b997b2f8100",
        "c9199315871b11b12df226f890a38e66e63191e1adbfb11a66e6861151b33fca",
        "ce57d5e0d9b5d7356cb42da7450ba8f9359bdf693e335f4c921626943c77e64d",
        "cfb3db86aaa53bb62b5ff764970bec2d71c9228590a0ebec57f6ec926cc0bf1a",
        "e3db5fe06ab41ca9b95dd6463b83836787028a1b55562cc383803bb83001a45c",
        "e3e10c8a19a62a49928c139b8e6824eac92dcdda7639953bcd10921011cbbdff",
        "e8c426ce260f866254ff35cefedc8b3efbd6d1446d99d7a4cdeb0095f98a8b8f",
        "ee52b2e2e720a40885a6b4b90c40e28e5c70e550af74d5efd169eaa5db2a6f6f",
        "f4dfaeb9efc1614890cfa94ed15bbe9b2ee15fbe76d569ef5e435e93e4987dc7",
    ]
)
# The files to which `setup.py develop` and `conda develop` add the folders of projects.
FOLDER_LISTS = ("easy-install.pth", "conda.pth")
# The line that setuptools makes Python run each time it starts, in any release of setuptools.
_SHIM_OF_SETUPTOOLS = re.compile(
    r"import os; (var = 'SETUPTOOLS_USE_DISTUTILS'; )?"
    r"enabled = os\.environ\.get\((var|'SETUPTOOLS_USE_DISTUTILS')(, '(local|stdlib)')?\)"
    r" == 'local'; enabled and __import__\('_distutils_hack'\)\.add_shim\(\);\s*"
)
_SHIM_FILE = "distutils-precedence.pth"


def is_of_virtualenv(path: "str") -> "bool":
    """Return whether a file was put into this environment by virtualenv or uv, and not changed."""
    if not _is_made_by_virtualenv():
        return False
    if os.path.basename(path) == MAKER_PATH_FILE:
        return _text(path).strip() == _MAKER_LINE
    return _sha256(path) in _MAKER_MODULES


def is_of_setuptools(path: "str") -> "bool":
    """Return whether a file is distutils-precedence.pth as setuptools writes it."""
    is_shim = os.path.basename(path) == _SHIM_FILE
    return is_shim and bool(_SHIM_OF_SETUPTOOLS.fullmatch(_text(path)))


def _is_made_by_virtualenv() -> "bool":
    """Return whether virtualenv or uv made this environment, as its pyvenv.cfg says."""
    for line in _text(f"{sys.prefix}/pyvenv.cfg").splitlines():
        if line.partition("=")[0].strip() in _MAKER_KEYS:
            return True
    return False


def _text(path: "str") -> "str":
    """Return the text of a file; empty if it cannot be read."""
    try:
        return read_text(path) or ""
    except UnreadableError:
        return ""


def _sha256(path: "str") -> "str":
    """Return the sha256 of the text of a file."""
    return hashlib.sha256(_text(path).encode()).hexdigest()


# --- startup
#
# Check the code that Python runs each time it starts: lines of `.pth` files, and `sitecustomize`.
#
# A file without an owner is an error. A file of a distribution that is not locked is a warning, as
# the distribution is. A file of virtualenv or uv with unknown content is a warning as well. So is a
# file without an owner in a shared Python, where it may belong to another program.

class StartupCheck:
    """Judges the files that Python runs when it starts, in the folders of this environment."""

    def __init__(self, context: "CheckContext", ownership: "Ownership", judged: "Sequence[str]") -> "None":
        """Judge the files in `judged`: folders of site-packages, with symbolic links resolved."""
        self._context = context
        self._ownership = ownership
        self._judged = judged
        # The names of files, by the code of the finding about them and their folder.
        self._named: "dict[tuple[str, str], list[str]]" = {}
        # The names of files, by the name of the distribution that owns them and is not locked.
        self._added: "dict[str, list[str]]" = {}

    def findings(self) -> "Iterator[Finding]":
        """Yield findings about files that run when Python starts, and folders that they add."""
        importlib.invalidate_caches()
        path_files = [
            file for file in self._ownership.search_path.path_files if file.folder in self._judged
        ]
        for file in path_files:
            self._judge_path_file(file)
        for entry in self._judged:
            self._judge_startup_modules(entry, is_ours_alone=is_ours(entry))
        listed: "dict[str, PathFile]" = {}
        for file in path_files:
            listed.update(dict.fromkeys(file.entries, file))
        for entry, file in listed.items():
            self._judge_startup_modules(entry, is_ours_alone=is_ours(file.folder))
        for (code, folder), names in sorted(self._named.items()):
            yield Finding(code, {**list_and_count(names), "folder": folder})
        for owner, names in sorted(self._added.items()):
            yield Finding("startup-added", {**list_and_count(names), "name": owner})
        yield from self._entry_findings(list(listed))

    def _judge_path_file(self, file: "PathFile") -> "None":
        """Note what is wrong with a `.pth` file."""
        path, ownership = file.path, self._ownership
        name = os.path.basename(path)
        if ownership.is_of_lock(path):
            return
        if path in ownership.files:
            if file.runs:
                self._note_added(path)
        elif name == MAKER_PATH_FILE and is_of_virtualenv(path):
            self._judge_maker_module(file.folder)
        elif file.runs or name not in FOLDER_LISTS:
            self._note_extra(path, is_ours_alone=is_ours(file.folder))

    def _judge_maker_module(self, folder: "str") -> "None":
        """Note if the module that `_virtualenv.pth` imports was changed."""
        path = f"{folder}/{MAKER_MODULE}"
        is_owned = path in self._ownership.files
        if os.path.exists(path) and not is_owned and not is_of_virtualenv(path):
            self._named.setdefault(("startup-changed", folder), []).append(MAKER_MODULE)

    def _judge_startup_modules(self, entry: "str", *, is_ours_alone: "bool") -> "None":
        """Note the modules of STARTUP_MODULES in an entry of the search path.

        `is_ours_alone` says that the entry belongs to this environment, which is not shared.
        """
        for module in STARTUP_MODULES:
            path = module_origin(module, entry)
            if not path or self._ownership.is_of_lock(path):
                continue
            if path in self._ownership.files or self._ownership.owners_of(path):
                self._note_added(path)
            else:
                self._note_extra(path, is_ours_alone=is_ours_alone)

    def _note_added(self, path: "str") -> "None":
        """Note a file of distributions that are not locked, except for the file of setuptools."""
        if not is_of_setuptools(path):
            for owner in self._ownership.owners_of(path) or [os.path.dirname(path)]:
                self._added.setdefault(owner, []).append(os.path.basename(path))

    def _note_extra(self, path: "str", *, is_ours_alone: "bool") -> "None":
        """Note a file without an owner."""
        code = "startup-extra" if is_ours_alone else "startup-unknown"
        folder, name = os.path.split(path)
        self._named.setdefault((code, folder), []).append(name)

    def _entry_findings(self, listed: "Sequence[str]") -> "Iterator[Finding]":
        """Yield findings about the entries of the search path that `.pth` files add."""
        foreign = []
        for entry in listed:
            path = os.path.realpath(entry)
            if path in self._ownership.roots:
                continue
            replacing = self._replacing(entry)
            if replacing:
                yield Finding("module-replaced", {**list_and_count(replacing), "folder": entry})
            elif not self._ownership.has_entry(path):
                foreign.append(entry)
        if foreign:
            yield Finding("path-extra", list_and_count(foreign))

    def _replacing(self, entry: "str") -> "list[str]":
        """Return the files that would be imported from an entry in place of locked modules.

        Their paths are relative to the entry.
        """
        replacing = []
        for name in sorted(self._ownership.locked_modules(os.path.realpath(entry))):
            origin = module_origin(name, entry)
            if origin and not self._ownership.is_of_locked_project(os.path.realpath(origin)):
                replacing.append(os.path.relpath(origin, entry))
        return replacing


# --- strays
#
# Check for strays: files that Python can import or run, but that no distribution owns.
#
# pip removes only files that RECORD lists. A file that an interrupted installation left behind, or
# that somebody copied, is in no RECORD. It remains when the distribution is replaced, and Python can
# still import it, or runs it each time it starts.
#
# A stray is an error if it affects locked distributions: if it is in a folder with files of one, if
# it has the name of a locked module, or if it runs each time Python starts. Otherwise it is only a
# warning, as a distribution is that is not locked.

# The beginning of a module in which ply stores the table of a parser: comments, then the version.
# ply writes it beside the module with the parser.
_TABLE_OF_PLY = re.compile(r"\s*(#.*\s+)+_tabversion\s*=")
# The folder of compiled files, whose names have a tag of a Python before the suffix.
_CACHE_FOLDER = "__pycache__"
# The beginning of a shared library. Other libraries can load it by its name, such as `libz.so.1`.
_ELF = b"\x7fELF"
# A file in the metadata of a distribution that names modules which other programs import.
_ENTRY_POINTS = "entry_points.txt"
# The number of files that a shown command removes by name.
_MOST_REMOVED = 20
# The number of distributions that a message names.
_LISTED_UNJUDGED = 8


def check_strays(context: "CheckContext", installed: "Installed", ownership: "Ownership") -> "Group":
    """Check for strays in all folders of site-packages.

    The note of the result names the distributions whose files could not be judged: they have no
    list of files, or a build of the lock itself rewrites their files.
    """
    locked = {installed[name].root for name in context.lock.pins if name in installed}
    judged = [root for root, is_ours in ownership.roots.items() if is_ours or root in locked]
    sites = [_SitePackages(context, installed, ownership, root) for root in judged]
    findings: "list[Finding]" = []
    for site in sites:
        findings += site.package_findings()
    findings += StartupCheck(context, ownership, judged).findings()
    for root, site in zip(judged, sites):
        findings += site.entry_findings(beside_lock=ownership.roots[root] and root in locked)
    rewritten = [name for name in context.lock.rewritten if name in installed]
    unjudged = sorted({*ownership.unlisted, *rewritten})
    if not unjudged:
        return Group("strays", findings)
    values = list_and_count(unjudged, _LISTED_UNJUDGED)
    return Group("strays", findings, values, note="strays-but", counted=True)


class _SitePackages:
    """One folder with distributions, in which strays are searched."""

    def __init__(
        self, context: "CheckContext", installed: "Installed", ownership: "Ownership", root: "str"
    ) -> "None":
        """Search the folder `root`."""
        self._context = context
        self._ownership = ownership
        self._root = root
        # A stray beside these distributions is an error: beside the locked ones, and beside those
        # that run anyway, as pip does in install.sh and setuptools when Python starts.
        names = {*context.lock.pins, *TOOLS, *_started_distributions(ownership)}
        # conda changes files after it has unpacked them
        self._judged = {
            name for name in names if name in installed and not installed[name].is_of_conda
        }
        self._names = _names_in(root)

    def package_findings(self) -> "Iterator[Finding]":
        """Yield findings about strays in folders in which distributions own files."""
        ownership = self._ownership
        for name in self._names:
            path = f"{self._root}/{name}"
            owners = ownership.owners_of(path)
            is_judged = ownership.is_known(path) and not ownership.is_rewritten(path)
            if not owners or not is_judged or not os.path.isdir(path):
                continue
            if is_metadata(name):
                strays = self._unowned_entry_points(path)
            else:
                strays = list(_unowned_files(path, ownership))
            yield from self._findings_in(strays, sorted(owners))

    def _unowned_entry_points(self, info: "str") -> "list[str]":
        """Return the entry_points.txt in a folder with metadata, if no distribution owns it."""
        path = f"{info}/{_ENTRY_POINTS}"
        is_added = os.path.lexists(path) and path not in self._ownership.files
        return [path] if is_added else []

    def _findings_in(self, strays: "Sequence[str]", owners: "Sequence[str]") -> "Iterator[Finding]":
        """Yield findings about these strays, which are in a folder with files of these owners."""
        locked = [name for name in owners if name in self._judged]
        if not locked:
            yield from self._file_finding("file-added", owners, strays)
            return
        tables = [path for path in strays if _is_table_of_ply(path)]
        yield from self._file_finding("file-added", locked, tables)
        others = [path for path in strays if path not in tables]
        yield from self._file_finding("file-stale", locked, others)

    def _file_finding(
        self, code: "str", owners: "Sequence[str]", paths: "Sequence[str]"
    ) -> "Iterator[Finding]":
        """Yield one finding about these files; nothing if there are none."""
        if paths:
            names = [os.path.relpath(path, self._root) for path in paths]
            values = {"owners": ", ".join(owners), "name": owners[0], **list_and_count(names)}
            yield Finding(code, values, self._removal(["rm", *paths]))

    def _removal(self, command: "Sequence[str]") -> "str":
        """Return a shell command that removes files.

        For many files and for a shared Python, return one that makes a new environment instead.
        """
        if is_shared() or len(command) > _MOST_REMOVED + 1:
            return self._context.venv_command
        return shlex.join(command)

    def entry_findings(self, *, beside_lock: "bool") -> "Iterator[Finding]":
        """Yield findings about entries of site-packages itself: modules that the lock does not own.

        Modules that do not replace a locked one are reported only with `beside_lock`.
        """
        by_role: "dict[str, list[str]]" = {"replacing": [], "other": [], "": []}
        locked_modules = self._ownership.locked_modules(self._root)
        for name in self._names:
            by_role[self._role(name, locked_modules)].append(name)
        replacing, others = by_role["replacing"], by_role["other"]
        start = f"{self._root}/"
        for path in self._ownership.replacing_files():
            name = path[len(start) :]
            if path.startswith(start) and name.partition("/")[0] not in replacing:
                replacing.append(name)
        if replacing:
            removal = self._removal(["rm", "-r", *(f"{self._root}/{name}" for name in replacing)])
            yield self._entry_finding("module-replaced", replacing, removal)
        if others and beside_lock:
            yield self._entry_finding("module-extra", others)

    def _role(self, name: "str", locked_modules: "Collection[str]") -> "str":
        """Return how an entry of site-packages affects the lock.

        "replacing" is a module with the name of a locked one, and "other" is another module without
        owner. Empty stands for all entries that are not reported here.
        """
        path, ownership = f"{self._root}/{name}", self._ownership
        if ownership.is_of_lock(path):
            return ""
        is_owned = path in ownership.files or bool(ownership.owners_of(path))
        if not _is_importable(path, ownership, is_owned=is_owned):
            is_other = not is_owned and ownership.is_known(path) and name not in locked_modules
            is_told = is_other and name not in STARTUP_MODULES and _is_left_behind(path)
            return "other" if is_told else ""
        if module_of(name) in locked_modules:
            return "replacing"
        is_startup_module = module_of(name) in STARTUP_MODULES  # `StartupCheck` reports these
        if is_owned or is_startup_module or (name == MAKER_MODULE and is_of_virtualenv(path)):
            return ""
        return "other" if ownership.is_known(path) else ""

    def _entry_finding(self, code: "str", names: "Sequence[str]", remedy: "str" = "") -> "Finding":
        """Return a finding about entries of this folder."""
        return Finding(code, {**list_and_count(names), "folder": self._root}, remedy)


def _started_distributions(ownership: "Ownership") -> "set[str]":
    """Return the names of distributions with a `.pth` file of which Python runs a line."""
    names: "set[str]" = set()
    for file in ownership.search_path.path_files:
        if file.runs:
            names.update(ownership.owners_of(file.path))
    return names


def _unowned_files(package: "str", ownership: "Ownership") -> "Iterator[str]":
    """Yield the files in a package that can be loaded and that have no owner, folder by folder.

    A symbolic link to a folder is followed if somebody owns files with a path through the link.
    Otherwise the link itself is yielded.
    """
    waiting = [package]
    while waiting:
        folder = waiting.pop()
        subfolders = []
        for entry in entries_in(folder):
            path = f"{folder}/{entry.name}"
            if not is_folder(entry):
                if path not in ownership.files and is_loadable(folder, entry.name):
                    yield path
            elif not entry.is_symlink() or path in ownership.folders:
                subfolders.append(path)
            elif entry.name.isidentifier():
                yield path
        waiting += reversed(subfolders)


def is_loadable(folder: "str", name: "str") -> "bool":
    """Return whether a file is a module that Python can import, or a shared library of any name.

    Compiled files in __pycache__ whose names have a tag (`x.cpython-311.pyc`) cannot be imported.
    Other files there can be, since __pycache__ is a namespace package for Python.
    """
    if name.endswith(".pyc") and "." in name[: -len(".pyc")]:
        return os.path.basename(folder) != _CACHE_FOLDER
    return name.endswith(IMPORTABLE) or ".so." in name or _is_elf(f"{folder}/{name}")


def _is_elf(path: "str") -> "bool":
    """Return whether a file is a regular file with an ELF program or library."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False


def _names_in(folder: "str") -> "list[str]":
    """Return the names of the entries of a folder, sorted; none if it cannot be read."""
    return [entry.name for entry in entries_in(folder)]


def entries_in(folder: "str") -> "list[os.DirEntry[str]]":
    """Return the entries of a folder, sorted by name; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def is_folder(entry: "os.DirEntry[str]") -> "bool":
    """Return whether an entry is a folder or a symbolic link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_importable(path: "str", ownership: "Ownership", *, is_owned: "bool") -> "bool":
    """Return whether an entry of site-packages can be imported.

    A folder counts if somebody owns files in it (`is_owned`), if it is a symbolic link, or if it
    has a file that can be loaded.
    """
    if not os.path.isdir(path):
        return path.endswith(IMPORTABLE)
    if not os.path.basename(path).isidentifier():
        return False
    return is_owned or os.path.islink(path) or any(_unowned_files(path, ownership))


def _is_left_behind(path: "str") -> "bool":
    """Return whether an entry is a folder without files which Python imports as a namespace.

    pip leaves one where it removes a package whose parent folder has no file of its own, or where
    it was killed. What is in __pycache__ does not count. The folder hides nothing: any module of
    its name comes before it.
    """
    name = os.path.basename(path)
    if not name.isidentifier() or name == _CACHE_FOLDER:
        return False
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        for entry in entries_in(folder):
            if entry.name == _CACHE_FOLDER:
                continue
            if entry.is_symlink() or not is_folder(entry):
                return False
            waiting.append(f"{folder}/{entry.name}")
    return os.path.isdir(path)


def _is_table_of_ply(path: "str") -> "bool":
    """Return whether a file is a table that ply wrote when a parser was used the first time."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return False
    return bool(_TABLE_OF_PLY.match(text))


# --- built
#
# Keep wheels that install.sh built from source, for other machines like this one.
#
# A lock cannot have hashes of them, since each build may result in another file. So the wheels are in
# a folder with a file built.toml. That has a table for each wheel: its sha256, the source and the
# tools of its build, and the machine on which it was built. install.sh calls this module through the
# options --keep-wheels and --built-wheels; `lock.built` puts such wheels into a bundle.

BUILT_FILE = "built.toml"
_BUILT_FORMAT = 1
# The ending of the name of a wheel that does not depend on the machine.
_PURE = "-none-any.whl"
# The file name of a wheel. Groups 1 and 2 are the name and the version.
_WHEEL = re.compile(r"([A-Za-z0-9._]+)-([^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl")
# The path of a wheel: a folder named after a hash of its build and its machine, and its file name.
_PLACE = re.compile(rf"[0-9a-f]{{16}}/(?P<name>{_WHEEL.pattern})")
_SHA256 = re.compile("[0-9a-f]{64}")
_GLIBC = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
_BLOCK = 1 << 20
# The keys of a table of built.toml whose values are texts, lists of texts, and tables of texts.
_TEXTS = ("name", "version", "file", "sha256", "key", "commit")
_LISTS = ("source", "tools")
_TABLES = ("env", "machine")


class UnusableWheelError(Exception):
    """A wheel cannot be used on this machine."""

    def __init__(self, code: "str", **values: "str") -> "None":
        """Give the code and the values of the message that says why."""
        super().__init__(code)
        self.code = code
        self.values = values


class BuildMachine(NamedTuple):
    """The properties of a machine on which the result of a build may depend."""

    processor: "str"
    # The version of glibc. A wheel runs with this version or a newer one.
    glibc: "str"
    # Major and minor version.
    python: "str"
    # The target's components, without the driver, which builds do not use.
    system: "Mapping[str, str]"

    @classmethod
    def of(cls, context: "CheckContext", machine: "Mapping[str, str]") -> "BuildMachine":
        """Return this machine. `machine` has the values that `check_machine` found."""
        system = {
            name: value for name, value in sorted(context.lock.system.items()) if name != DRIVER
        }
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return cls(machine["processor"], machine["glibc"], python, system)

    def require_compatible(self, other: "Mapping[str, str]") -> "None":
        """Raise UnusableWheelError if a wheel that was built on another machine may not run here.

        `other` has the properties of that machine, in the form of `values`.
        """
        exact = {"processor": self.processor, "python": self.python, **self.system}
        for name, value in exact.items():
            if other.get(name) != value:
                found = other.get(name, "-")
                raise UnusableWheelError("built-elsewhere", what=name, found=found, here=value)
        glibc = other.get("glibc", "")
        if _numbers_of(glibc) > _numbers_of(self.glibc):
            raise UnusableWheelError(
                "built-elsewhere", what="glibc", found=glibc or "-", here=self.glibc
            )

    def values(self) -> "dict[str, str]":
        """Return the properties as the table `machine` of built.toml."""
        return {
            "processor": self.processor,
            "glibc": self.glibc,
            "python": self.python,
            **self.system,
        }


def _numbers_of(version: "str") -> "list[int]":
    """Return the numbers in a version of glibc; for any other text, a number above all versions."""
    if not _GLIBC.fullmatch(version):
        return [sys.maxsize]
    return [int(part) for part in version.split(".")]


def print_built_wheels(
    context: "CheckContext", machine: "BuildMachine", folder: "str", names: "Iterable[str]"
) -> "int":
    """Print the path of the wheel of each of these pins, one a line, and return the exit status.

    It is 1, and nothing is printed, if a pin has no wheel that can be used here. The reason goes to
    standard error.
    """
    paths = []
    for name in names:
        try:
            paths.append(_usable_wheel(context, machine, folder, name))
        except UnusableWheelError as error:
            _complain(context, error.code, {"name": name, "folder": folder, **error.values})
            return 1
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


def _complain(context: "CheckContext", code: "str", values: "Mapping[str, str]") -> "None":
    """Write a message to standard error."""
    text = context.lock.texts[context.language][code]
    sys.stderr.write(printable(text.format(**values)) + "\n")


def _usable_wheel(context: "CheckContext", machine: "BuildMachine", folder: "str", name: "str") -> "str":
    """Return the path of a wheel in a folder that was built from a pin on a machine like this one.

    Raises UnusableWheelError if there is none.
    """
    try:
        tables = [table for table in _built_rows(folder) if table["name"] == name]
    except UnreadableError as error:
        raise UnusableWheelError("built-unreadable", **error.values) from None
    pin = context.lock.pins.get(name)
    if pin is None or not tables:
        raise UnusableWheelError("built-none")
    reason = UnusableWheelError("built-otherwise")
    for table in tables:
        if table["key"] != pin.key or not is_wheel_of(pin.name, pin.version, table["file"]):
            continue
        try:
            return _checked_wheel(machine, folder, table)
        except UnusableWheelError as error:
            # another wheel of the pin may be for this machine
            reason = error
    raise reason


def _checked_wheel(machine: "BuildMachine", folder: "str", table: "Mapping[str, Any]") -> "str":
    """Return the path of the wheel that a table of built.toml describes.

    Raises UnusableWheelError if it is not for this machine, or if the file has another sha256.
    """
    file = table["file"]
    if not file.endswith(_PURE):
        machine.require_compatible(table.get("machine", {}))
    path = os.path.join(folder, file)
    if not os.path.isfile(path) or _sha256_of(path) != table["sha256"]:
        raise UnusableWheelError("built-changed", file=file)
    return path


def _built_rows(folder: "str") -> "Iterator[dict[str, Any]]":
    """Yield the tables of the built.toml in a folder; none if there is no such file.

    Raises UnreadableError if it is invalid.
    """
    path = os.path.join(folder, BUILT_FILE)
    text = read_text(path)
    if text is not None:
        yield from parse_built(text, path)


def parse_built(text: "str", path: "str") -> "list[dict[str, Any]]":
    """Return the tables of wheels in the text of a built.toml.

    Each has a name, a file, a sha256 and a key, and no key that this program does not know. Raises
    UnreadableError, which names `path`, if the text is invalid.
    """
    try:
        content = _toml().loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    tables = content.get("wheel", [])
    if content.get("format") != _BUILT_FORMAT or not isinstance(tables, list):
        raise UnreadableError(path, f"it does not have format {_BUILT_FORMAT}")
    for number, table in enumerate(tables, 1):
        fault = _fault_of(table)
        if fault:
            raise UnreadableError(path, f"wheel {number}: {fault}")
    return tables


def _fault_of(table: "object") -> "str":
    """Return what is wrong with a table of built.toml; empty if nothing is."""
    if not isinstance(table, dict):
        return "it is not a table"
    for key, value in table.items():
        if not _has_type_of(key, value):
            return f"{key!r} is not a key of a wheel, or has another type"
    if not _PLACE.fullmatch(table.get("file", "")):
        return "`file` is not the place of a wheel"
    if not _SHA256.fullmatch(table.get("sha256", "")):
        return "`sha256` is not one"
    if not table.get("name") or not table.get("key"):
        return "it has no name or no key"
    return ""


def _has_type_of(key: "str", value: "object") -> "bool":
    """Return whether a table of built.toml may have this value for a key. Texts must print."""
    if key in _TEXTS:
        return isinstance(value, str) and value.isprintable()
    if key in _LISTS:
        return isinstance(value, list) and all(_is_text(item) for item in value)
    if key in _TABLES and isinstance(value, dict):
        return all(_is_text(item) for item in (*value, *value.values()))
    return False


def _is_text(value: "object") -> "bool":
    """Return whether a value is a text of characters that print."""
    return isinstance(value, str) and value.isprintable()


def _toml() -> "Any":
    """Return a module that reads TOML: tomllib from Python 3.11 on, otherwise the tomli in pip."""
    try:
        return importlib.import_module("tomllib")
    except ModuleNotFoundError:
        return importlib.import_module("pip._vendor.tomli")


def is_wheel_of(name: "str", version: "str", file: "str") -> "bool":
    """Return whether a file has the name of a wheel of this project and version."""
    match = _WHEEL.fullmatch(os.path.basename(file))
    if match is None:
        return False
    return canonical_name(match[1]) == name and same_version(match[2], version)


def keep_wheels(
    context: "CheckContext", machine: "BuildMachine", folder: "str", wheels: "Sequence[str]"
) -> "int":
    """Copy wheels that were just built to a folder, add them to its built.toml, return the status.

    Other tables of built.toml are kept. A wheel that belongs to no pin is left out, since
    install.sh would not install it.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with _locked(folder) as descriptor:
            tables = {table["file"]: table for table in _built_rows(folder)}
            for wheel in wheels:
                for pin in context.lock.pins.values():
                    if pin.key and is_wheel_of(pin.name, pin.version, wheel):
                        table = _keep(pin, machine, descriptor, wheel)
                        tables[table["file"]] = table
            text = built_text(tables[file] for file in sorted(tables))
            with _replacing(descriptor, BUILT_FILE) as part:
                part.write(text.encode())
    except UnreadableError as error:
        _complain(context, "built-unreadable", error.values)
        return 1
    except OSError as error:
        sys.stderr.write(printable(f"{error.filename or folder}: {error.strerror}") + "\n")
        return 1
    return 0


@contextlib.contextmanager
def _locked(folder: "str") -> "Iterator[int]":
    """Yield a descriptor of the folder, to which no other process adds wheels meanwhile.

    That holds where the file system has locks.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _replacing(folder: "int", name: "str") -> "Iterator[IO[bytes]]":
    """Yield a new file that takes the place of another one of the folder at the end.

    Others may write into the folder as well: no link of theirs is followed.
    """
    temporary = f".{secrets.token_hex(8)}"
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    descriptor = os.open(temporary, how, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            os.fchmod(descriptor, 0o644)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary, dir_fd=folder)
        raise


@contextlib.contextmanager
def _folder_in(folder: "int", name: "str") -> "Iterator[int]":
    """Yield a descriptor of a folder in another one, which is made if it is missing.

    Raises OSError if a link is in its place.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _keep(
    pin: "LockedDistribution", machine: "BuildMachine", folder: "int", wheel: "str"
) -> "dict[str, Any]":
    """Copy a wheel of a pin into a folder, and return its table for built.toml."""
    values = machine.values()
    # two builds, or two machines, may result in wheels with the same name
    place = hashlib.sha256(json.dumps([pin.key, values], sort_keys=True).encode()).hexdigest()[:16]
    name = os.path.basename(wheel)
    digest = hashlib.sha256()
    with _folder_in(folder, place) as inner, _replacing(inner, name) as copy:
        with open(wheel, "rb") as built:
            for chunk in iter(lambda: built.read(_BLOCK), b""):
                digest.update(chunk)
                copy.write(chunk)
    table: "dict[str, Any]" = {
        "name": pin.name,
        "version": pin.version,
        "file": f"{place}/{name}",
        "sha256": digest.hexdigest(),
        "key": pin.key,
    }
    if pin.commit:
        table["commit"] = pin.commit
    else:
        table["source"] = list(pin.sha256)
    table["tools"] = list(pin.tools)
    table["env"] = dict(pin.env)
    table["machine"] = values
    return table


def built_text(tables: "Iterable[Mapping[str, Any]]") -> "str":
    """Return the text of a built.toml with these tables of wheels."""
    lines = [
        "# Wheels that install.sh built from source; `install.sh --built` takes them on machines",
        "# like the one that each was built on. `key` stands for all that determines a build.",
        f"format = {_BUILT_FORMAT}",
    ]
    for table in tables:
        lines += ["", "[[wheel]]"]
        lines += [f"{name} = {_toml_value(value)}" for name, value in table.items()]
    return "\n".join(lines) + "\n"


def _toml_value(value: "Any") -> "str":
    """Return a text, a list of texts or a table of texts in TOML.

    A text is written as in JSON, which TOML allows for all characters but DEL.
    """
    if isinstance(value, dict):
        pairs = [f"{_toml_value(key)} = {_toml_value(item)}" for key, item in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _sha256_of(path: "str") -> "str":
    """Return the sha256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(_BLOCK), b""):
            digest.update(chunk)
    return digest.hexdigest()


# --- checkouts
#
# Check that each editable checkout is at the locked commit and has the files of that commit.
#
# People work in a checkout, so no code of it is run. HEAD is read as a file. git reads the objects of
# the checkout through an empty repository without its settings, hooks and filters. The commit, its
# trees and the files are hashed here, since git does not check the hash of a tree. install.sh notes
# which files the steps and builds of the lock itself have changed, and which modules they have added.

# The file in .git into which install.sh writes `LockedDistribution.key` when the checkout is built.
_MARK = "ascend-lock"
# The file in .git into which install.sh writes the output of `--changed-files`.
_CHANGED = "ascend-lock-changed"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REFERENCE = re.compile(r"refs(/[A-Za-z0-9_+=@-][A-Za-z0-9_.+=@-]*)+")
# The modes of entries of a tree.
_SUBMODULE = "160000"
_TREE = "40000"
# The size of a hash in a tree.
_HASH_BYTES = 20
_GIT_SECONDS = 300


class _Entry(NamedTuple):
    """An entry of a tree of a commit: a file, a submodule or another tree."""

    # The type and permissions, as git writes them.
    mode: "str"
    # The hash of the content as git computes it; for a submodule its commit.
    digest: "str"
    # The path relative to the checkout.
    path: "str"


class _Change(NamedTuple):
    """A file of a checkout that differs from the commit."""

    # `changed` if the commit has the file with another content, `added` if it does not have it, or
    # `hiding` if it does not have it but has another file for a module of the same name.
    kind: "str"
    # The hash of the content as git computes it; `-` if it cannot be read.
    digest: "str"
    # The path relative to the checkout.
    path: "str"

    @property
    def note(self) -> "str":
        """Return the text by which install.sh notes this change."""
        return f"{self.digest} {self.path}"


class _UncomparedError(Exception):
    """The files of a checkout cannot be compared with its commit. The text says why."""


def check_checkouts(context: "CheckContext", installed: "Installed") -> "Group":
    """Check that the checkout of each editable distribution has the files of the locked commit."""
    findings = []
    pins = context.lock.pins
    names = sorted(name for name in pins if pins[name].editable and name in installed)
    for name in names:
        folder = checkout_folder(name)
        move_aside = shlex.join(["mv", folder, f"{folder}.mine"])
        about = {"name": name, "folder": folder, "wanted": pins[name].commit}
        for code, values in _checkout_differences(context, pins[name]):
            remedy = context.then_install(move_aside)
            if code in ("checkout-uncompared", "checkout-added"):
                remedy = ""
            findings.append(Finding(code, {**about, **values}, remedy))
    return Group("checkouts", findings, {"list": ", ".join(names)})


def _checkout_differences(
    context: "CheckContext", pin: "LockedDistribution"
) -> "Iterator[tuple[str, Mapping[str, str]]]":
    """Yield the code and the values of each finding about the checkout of a pin."""
    folder = checkout_folder(pin.name)
    git = f"{folder}/.git"
    try:
        head = _head(git)
        mark = read_text(f"{git}/{_MARK}") or ""
        noted = read_text(f"{git}/{_CHANGED}", errors="surrogateescape") or ""
    except UnreadableError as error:
        yield "checkout-unreadable", error.values
        return
    if head != pin.commit:
        yield "checkout-other", {"found": head or "-"}
        return
    if mark.strip() != pin.key:
        yield "checkout-unmarked", {}
    if pin.name in context.lock.rewritten:
        return
    known = set(noted.split("\0"))
    try:
        changes = [change for change in _changes(folder, pin.commit) if change.note not in known]
    except _UncomparedError as error:
        yield "checkout-uncompared", {"why": str(error)}
        return
    except UnreadableError as error:
        yield "checkout-unreadable", error.values
        return
    codes = {"changed": "checkout-changed", "hiding": "checkout-hidden", "added": "checkout-added"}
    for kind, code in codes.items():
        paths = sorted(change.path for change in changes if change.kind == kind)
        if paths:
            yield code, list_and_count(paths)


def print_changed_files(pin: "LockedDistribution") -> "int":
    """Print the notes of all changes in a checkout for install.sh, and return the exit status.

    Each note is followed by a zero byte.
    """
    try:
        changes = list(_changes(checkout_folder(pin.name), pin.commit))
    except (_UncomparedError, UnreadableError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for change in changes:
        sys.stdout.buffer.write(os.fsencode(f"{change.note}\0"))
    sys.stdout.buffer.flush()
    return 0


def _head(git: "str") -> "str":
    """Return the commit that is checked out; empty if there is none.

    `git` is the folder .git. Raises UnreadableError.
    """
    text = (read_text(f"{git}/HEAD") or "").strip()
    if text.startswith("ref: "):
        text = _commit_of(git, text[len("ref: ") :])
    return text if _COMMIT.fullmatch(text) else ""


def _commit_of(git: "str", reference: "str") -> "str":
    """Return the commit of a reference; empty if there is no such reference.

    `git` is the folder .git. Raises UnreadableError.
    """
    if not _REFERENCE.fullmatch(reference):
        return ""
    text = read_text(f"{git}/{reference}")
    if text:
        return text.strip()
    for line in (read_text(f"{git}/packed-refs") or "").splitlines():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return ""


def _changes(folder: "str", commit: "str", inside: "str" = "") -> "Iterator[_Change]":
    """Yield each file of a checkout that differs from the commit, and each module that was added.

    Submodules that are checked out are compared, too. `inside` is put before all paths: the path of
    the submodule, with a slash. Raises _UncomparedError if git cannot be run, and UnreadableError
    if git lacks an object.
    """
    entries = _entries(folder, commit)
    for entry in entries:
        path = f"{folder}/{entry.path}"
        if entry.mode == _SUBMODULE:
            yield from _submodule_changes(path, entry.digest, f"{inside}{entry.path}")
            continue
        digest = _blob_digest(path)
        if digest != entry.digest:
            yield _Change("changed", digest, f"{inside}{entry.path}")
    modules = {module_path(entry.path) for entry in entries if entry.path.endswith(IMPORTABLE)}
    for name in _added_files(folder, {entry.path for entry in entries}):
        kind = "hiding" if module_path(name) in modules else "added"
        yield _Change(kind, _blob_digest(f"{folder}/{name}"), f"{inside}{name}")


def _submodule_changes(folder: "str", commit: "str", shown_path: "str") -> "Iterator[_Change]":
    """Yield the changes in a submodule; none if it is not checked out.

    `commit` is the commit that it should be at, and `shown_path` its path in the checkout. Raises
    _UncomparedError and UnreadableError.
    """
    git = f"{folder}/.git"
    if not os.path.isdir(git):
        return
    try:
        head = _head(git)
    except UnreadableError as error:
        raise _UncomparedError(error.values["why"]) from None
    if head == commit:
        yield from _changes(folder, commit, f"{shown_path}/")
    else:
        yield _Change("changed", head or "-", shown_path)


def _added_files(folder: "str", known: "Container[str]") -> "Iterator[str]":
    """Yield the paths of files in a checkout that Python can load and that are not `known`.

    `known` has the paths of the commit's files and submodules; submodules are not searched. A
    symbolic link to a folder counts as a file that can be loaded.
    """
    waiting = [""]
    while waiting:
        start = waiting.pop()
        for entry in entries_in(f"{folder}/{start}"):
            path = f"{start}{entry.name}"
            if path in known or entry.name == ".git":
                continue
            if not is_folder(entry):
                if is_loadable(f"{folder}/{start}".rstrip("/"), entry.name):
                    yield path
            elif not entry.is_symlink():
                waiting.append(f"{path}/")
            elif entry.name.isidentifier():
                yield path


def _entries(folder: "str", commit: "str") -> "list[_Entry]":
    """Return the files and submodules of a commit, sorted by path.

    Raises _UncomparedError if git cannot be run, and UnreadableError if an object is missing or its
    content does not have its hash.
    """
    with tempfile.TemporaryDirectory() as empty:
        for name in ("objects", "refs"):
            os.mkdir(f"{empty}/{name}")
        with open(f"{empty}/HEAD", "w", encoding="ascii") as file:
            file.write("ref: refs/heads/none\n")
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environ.update(
            HOME=empty,
            LC_ALL="C",
            GIT_CONFIG_NOSYSTEM="1",
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_NO_REPLACE_OBJECTS="1",
            GIT_DIR=empty,
            GIT_OBJECT_DIRECTORY=f"{folder}/.git/objects",
        )
        text = _read_objects([commit], environ, empty)[commit]
        trees = {"": text[len("tree ") :].partition(b"\n")[0].decode("ascii", "replace")}
        entries = []
        while trees:
            contents = _read_objects(sorted(set(trees.values())), environ, empty)
            inner = {}
            for start, name in trees.items():
                for entry in _tree_entries(contents[name], start):
                    if entry.mode == _TREE:
                        inner[f"{entry.path}/"] = entry.digest
                    else:
                        entries.append(entry)
            trees = inner
    return sorted(entries, key=lambda entry: entry.path)


def _tree_entries(content: "bytes", start: "str") -> "Iterator[_Entry]":
    """Yield the entries of a tree from the content of its object. `start` is put before paths."""
    while content:
        description, _, hash_and_more = content.partition(b"\0")
        mode, _, name = os.fsdecode(description).partition(" ")
        yield _Entry(mode, hash_and_more[:_HASH_BYTES].hex(), f"{start}{name}")
        content = hash_and_more[_HASH_BYTES:]


def _read_objects(names: "list[str]", environ: "Mapping[str, str]", folder: "str") -> "dict[str, bytes]":
    """Return the contents of git objects by name. The name of an object is a hash of its content.

    Raises _UncomparedError if git cannot be run, and UnreadableError if an object is missing or its
    content does not have its hash.
    """
    question = "".join(f"{name}\n" for name in names).encode()
    output = _run_git(["cat-file", "--batch"], environ, folder, question)
    contents = {}
    for name in names:
        head, _, output = output.partition(b"\n")
        _, _, kind_and_size = head.partition(b" ")
        kind, _, size = kind_and_size.partition(b" ")
        content = output[: int(size)] if size.isdigit() else b""
        output = output[len(content) + 1 :] if size.isdigit() else output
        # git identifies content by its sha1
        digest = hashlib.sha1(b"%s %s\0" % (kind, size) + content).hexdigest()  # noqa: S324
        if digest != name:
            path = environ["GIT_OBJECT_DIRECTORY"]
            raise UnreadableError(path, f"the object {name} is missing or not as its name says")
        contents[name] = content
    return contents


def _run_git(
    arguments: "list[str]", environ: "Mapping[str, str]", folder: "str", question: "bytes"
) -> "bytes":
    """Return the standard output of git, with `question` on its standard input.

    The output is incomplete if git fails. Raises _UncomparedError if git cannot be run or takes too
    long.
    """
    try:
        done = subprocess.run(  # noqa: S603
            ["git", *arguments],  # noqa: S607  the git on PATH
            cwd=folder,
            env=dict(environ),
            input=question,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except OSError as error:
        raise _UncomparedError(f"git: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _UncomparedError(f"git took more than {_GIT_SECONDS} s") from None
    return done.stdout


def _blob_digest(path: "str") -> "str":
    """Return git's hash of a file's content or of a symbolic link; `-` if it cannot be read."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            content = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(mode):
            with open(path, "rb") as file:
                content = file.read()
        else:
            return "-"
    except OSError:
        return "-"
    # git identifies content by its sha1
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324


# --- starter
#
# Start modules and commands, each in a child process. `starts` judges the results.
#
# verify.py runs itself for this, not isolated, with the option --start. That process imports torch
# once, and then forks a child for each target. So time is spent only on what is not imported yet, and
# no target can harm another one. Each child has a session of its own. When the child ends or is late,
# all processes that it started are killed, except for those that made a session of their own. A child
# writes its result into a pipe as one line, which is shorter than what a pipe can hold unread.
#
# The parent has no Python threads. Libraries that torch loads may have threads: OpenBLAS handles
# forks itself, and OpenMP starts threads only for the first computation. If a child hangs
# nevertheless, it is killed after the time limit like any other.

# The option with which verify.py runs `serve_starts`.
START_OPTION = "--start"
# Characters of the text of an error, so that a row fits into a pipe, which holds 64 KiB.
_LONGEST_TEXT = 700
# The exceptions of a chain that are followed.
_LONGEST_CHAIN = 20
# Seconds between two checks whether a child has ended.
_PAUSE = 0.02
# Seconds after the time limit within which a killed child should end.
_GRACE = 5


class _Child(NamedTuple):
    """A child process that is running."""

    # The index of its target in the request.
    number: "int"
    # The file descriptor from which its result is read.
    pipe: "int"
    # The time at which it was started, by the monotonic clock.
    begun: "float"


def serve_starts(file: "str") -> "int":
    """Start the targets of a request, and write a row for each; return the exit status.

    The request is a JSON object on standard input. `preload` has the modules to import first,
    `targets` has the modules and commands to start (`module` or `module:attribute`), `seconds` is
    the time limit of each target, and `workers` is the number of targets that run at a time.

    A row is a JSON object on a line of standard output. The first row has `ready`, when the preload
    is imported, and the last row has `done`. The row of a target has its `number`, the `seconds`
    that it took, and one of: the `path` of its module; an `error` with `cause`, `missing` and
    `where`; a `signal`; an exit `status`; or `late`.

    `file` is the path of verify.py. Its folder is removed from `sys.path`, since a user's program
    would not have it there.
    """
    request = json.loads(sys.stdin.read())
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _silence_streams()
    folder = os.path.dirname(os.path.abspath(file))
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != folder]

    def write(row: "Mapping[str, Any]") -> "None":
        """Write a row as a line of JSON."""
        output.write(json.dumps(row) + "\n")
        output.flush()

    seconds = float(request["seconds"])
    # ends this process if an import of the preload hangs
    signal.alarm(int(seconds) + 1)
    for module in request["preload"]:
        importlib.import_module(module)
    signal.alarm(0)
    write({"ready": True})
    _Children(request["targets"], seconds, int(request["workers"]), write).run()
    write({"done": True})
    return 0


class _Children:
    """Runs a child process for each target, a limited number at a time."""

    def __init__(
        self,
        targets: "list[str]",
        seconds: "float",
        workers: "int",
        write: "Callable[[Mapping[str, Any]], None]",
    ) -> "None":
        """Start these targets with a time limit in seconds; `write` is called with each row."""
        self._waiting = deque(enumerate(targets))
        self._seconds = seconds
        self._workers = workers
        self._write = write
        # The children that are running, by process id.
        self._running: "dict[int, _Child]" = {}
        self._parent = os.getppid()

    def run(self) -> "None":
        """Start all targets, and write their rows.

        If this process is terminated, or its parent ends, all children are killed.
        """
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            while self._waiting or self._running:
                while self._waiting and len(self._running) < self._workers:
                    number, target = self._waiting.popleft()
                    self._fork(number, target)
                if not self._report_ended():
                    time.sleep(_PAUSE)
                if os.getppid() != self._parent:
                    break
        finally:
            for process in list(self._running):
                _kill_session(process)

    def _fork(self, number: "int", target: "str") -> "None":
        """Start a child for the target with this number."""
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            _start_and_exit(target, writer, int(self._seconds) + _GRACE)
        os.close(writer)
        self._running[process] = _Child(number, reader, time.monotonic())

    def _report_ended(self) -> "bool":
        """Write the row of each child that has ended or is late; return whether there was any.

        Late children are killed. A child that waits for a driver may not end even then; it is
        reported and left behind.
        """
        any_ended = False
        for process, child in list(self._running.items()):
            age = time.monotonic() - child.begun
            is_late = age > self._seconds
            if is_late:
                _kill_session(process)
            ended, status = os.waitpid(process, os.WNOHANG)
            if not ended and age <= self._seconds + _GRACE:
                continue
            # processes that the child left behind
            _kill_group(process)
            del self._running[process]
            result = {"late": True} if is_late else _result_of(child.pipe, status)
            os.close(child.pipe)
            self._write({"number": child.number, "seconds": round(age, 2), **result})
            any_ended = True
        return any_ended


def _result_of(pipe: "int", status: "int") -> "dict[str, Any]":
    """Return the result that a child wrote into its pipe, or else its signal or exit status.

    `status` is the status that `os.waitpid` returned.
    """
    os.set_blocking(pipe, False)
    try:
        text = os.read(pipe, 1 << 16).decode()
    except BlockingIOError:
        # it wrote nothing, and a process that it left behind keeps the pipe open
        text = ""
    if text.endswith("\n"):
        result: "dict[str, Any]" = json.loads(text)
        return result
    if os.WIFSIGNALED(status):
        return {"signal": signal_name(os.WTERMSIG(status))}
    return {"status": os.WEXITSTATUS(status)}


def _kill_session(process: "int") -> "None":
    """Kill a child that was not waited for yet, and the processes of its session."""
    # it may not have a session of its own yet
    os.kill(process, signal.SIGKILL)
    _kill_group(process)


def _kill_group(process: "int") -> "None":
    """Kill all processes in the process group of a child, which itself may have ended."""
    # there may be no such group any more
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def _start_and_exit(target: "str", pipe: "int", seconds: "int") -> "None":
    """Start a target in this process, a child, write the result into a pipe, and exit.

    The process exits at once, without running Python's exit handlers. After `seconds` it is killed.
    """
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # ends this child even if the parent was killed
        signal.alarm(seconds)
        sys.argv[:] = [target.partition(":")[0]]
        try:
            result: "dict[str, Any]" = {"path": _load(target)}
        except BaseException as error:
            result = _failure(error)
        os.write(pipe, (json.dumps(result) + "\n").encode())
    finally:
        os._exit(0)


def _load(target: "str") -> "str":
    """Import the module of a target, look up its attribute, and return the path of the module.

    Empty if the module has no path.
    """
    name, _, attributes = target.partition(":")
    module = importlib.import_module(name)
    if attributes:
        found: "Any" = module
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    path = getattr(module, "__file__", None)
    if path:
        return str(path)
    # a namespace package has folders, but no file
    for folder in getattr(module, "__path__", []):
        return str(folder)
    return ""


def _failure(error: "BaseException") -> "dict[str, Any]":
    """Return the keys of a row about an exception.

    `error` is its text. `cause` is the text of the original exception, at the end of its chain, and
    `where` is the file and line that raised that one. `missing` has the modules and names that are
    missing, as the exceptions of the chain say.
    """
    chain = list(_chain(error))
    missing = [
        str(link.name)[:100]
        for link in chain
        if isinstance(link, (ImportError, NameError)) and getattr(link, "name", None)
    ]
    return {
        "error": _text_of(error),
        "cause": _text_of(chain[-1]),
        "where": _raised_at(chain[-1])[-200:],
        "missing": missing,
    }


def _chain(error: "BaseException") -> "Iterator[BaseException]":
    """Yield an exception, then the one that caused it or was being handled, and so on."""
    link: "BaseException | None" = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            return
        yield link
        if link.__cause__ is not None or link.__suppress_context__:
            link = link.__cause__
        else:
            link = link.__context__


def _text_of(error: "BaseException") -> "str":
    """Return the type and the message of an exception on one line, cut if it is long."""
    text = type(error).__name__
    # a faulty __str__ may raise any exception
    with suppress(Exception):
        message = " ".join(str(error).split())
        if message:
            text = f"{text}: {message}"
    if len(text) > _LONGEST_TEXT:
        return f"{text[: _LONGEST_TEXT - 1]}…"
    return text


def _raised_at(error: "BaseException") -> "str":
    """Return the file and line that raised an exception, relative to site-packages if it is there.

    Lines of Python's import system and of verify.py are skipped. Empty if there are no others.
    """
    site_packages = sysconfig.get_path("purelib") + "/"
    this_program = _raised_at.__code__.co_filename
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = frame.filename
        if path.startswith("<frozen") or path == this_program:
            continue
        if path.startswith(site_packages):
            path = path[len(site_packages) :]
        return f"{path}:{frame.lineno}"
    return ""


def _silence_streams() -> "None":
    """Connect the standard streams of this process and its children to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)


# --- starts
#
# Check that all modules of the locked distributions can be imported, and that commands start.
#
# To start a command means to import its module and to look up the function that it would call. Only
# the commands of distributions that the stack itself names are started. Facts in the lock excuse
# modules and commands that may fail, because they need an optional project or an accelerator.

_MOST_WORKERS = 4  # targets that are started at a time
# If the process that starts targets writes nothing for this many seconds beyond the time limit of
# one start, it is given up.
_SILENCE = 15
# Seconds within which a terminated process should end; then it is killed.
_END_SECONDS = 5
# The number of modules and commands that a message names.
_LISTED_STARTS = 6


class Started(NamedTuple):
    """A module or command that was started, and the result."""

    target: "Startable"
    # The row that `starter.serve_starts` wrote about it.
    row: "Mapping[str, Any]"

    @property
    def failed(self) -> "bool":
        """Return whether the module or command could not be started."""
        return "path" not in self.row

    @property
    def title(self) -> "str":
        """Return a name for messages: `import x`, or the name of the command."""
        return f"import {self.target.name}" if self.target.kind == "module" else self.target.name


class StartRequest(NamedTuple):
    """How to start modules and commands."""

    # The path of verify.py, which is run with the option --start.
    program: "str"
    # The path of the environment's Python.
    python: "str"
    # The environment variables.
    environ: "Mapping[str, str]"
    # The time limit of each start.
    seconds: "float"
    # Called when a start has ended, with the number of all that have ended so far.
    progress: "Callable[[int, Startable], None]"


def start_all(
    request: "StartRequest", targets: "Sequence[Startable]", preload: "Sequence[str]" = ()
) -> "list[Started]":
    """Start modules and commands, and return the results in the same order.

    The modules of `preload` are imported once for all targets. If that fails, the targets are
    started without it.
    """
    rows = _start(request, targets, preload)
    if rows is None and preload:
        rows = _start(request, targets, [])
    unknown = {
        "error": "the process that starts it has ended",
        "cause": "",
        "where": "",
        "missing": [],
    }
    if rows is None:
        rows = {}
    return [Started(target, rows.get(number, unknown)) for number, target in enumerate(targets)]


def _start(
    request: "StartRequest", targets: "Sequence[Startable]", preload: "Sequence[str]"
) -> "dict[int, dict[str, Any]] | None":
    """Start the targets, and return their rows by index; None if the preload failed.

    A target has no row if the process ended before it.
    """
    text = json.dumps(
        {
            "preload": preload,
            "targets": [target.reference for target in targets],
            "seconds": request.seconds,
            "workers": min(_MOST_WORKERS, os.cpu_count() or 1),
        }
    )
    process = subprocess.Popen(  # noqa: S603
        [request.python, request.program, START_OPTION],
        env=dict(request.environ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        return _read_rows(process, text, targets, request)
    finally:
        _end(process)


def _read_rows(
    process: "subprocess.Popen[bytes]", text: "str", targets: "Sequence[Startable]", request: "StartRequest"
) -> "dict[int, dict[str, Any]] | None":
    """Send the request `text` to the start process, and return the rows that it writes.

    There is a row for each target, by the position of the target in `targets`. Reading ends when
    the process says that it is done or closes its pipe, or when it has written nothing for the time
    limit of a start and _SILENCE. None if it did not import the modules of the preload.
    """
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    # if the process has ended already, it has no rows
    with suppress(BrokenPipeError):
        process.stdin.write(text.encode())
        process.stdin.close()
    rows: "dict[int, dict[str, Any]] | None" = None
    for line in _lines(process.stdout.fileno(), request.seconds + _SILENCE):
        row = json.loads(line)
        if row.get("done"):
            break
        if row.get("ready"):
            rows = {}
        elif rows is not None:
            rows[row["number"]] = row
            request.progress(len(rows), targets[row["number"]])
    return rows


def _lines(pipe: "int", seconds: "float") -> "Iterator[bytes]":
    """Yield the lines of a pipe until it is closed, or until nothing comes for `seconds`.

    The time limit is needed: a process that waits for a driver may not end even if it is killed,
    and keeps the pipe open.
    """
    incomplete = b""
    while select.select([pipe], [], [], seconds)[0]:
        content = os.read(pipe, 1 << 16)
        if not content:
            return
        *lines, incomplete = (incomplete + content).split(b"\n")
        yield from lines


def _end(process: "subprocess.Popen[bytes]") -> "None":
    """Terminate a process, which ends its children first; kill it if it does not end.

    If it does not end even then, it is left behind.
    """
    for end in (process.terminate, process.kill):
        end()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
            break
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


class Verdict(NamedTuple):
    """The verdict on the start of a module or command."""

    # "ok"; "elsewhere" if the module does not come from the lock; "excused" if it may fail;
    # "untried" if a library of the toolkit or driver is missing; or "failed".
    outcome: "str"
    # For "excused" the reason, for "untried" the library, for "elsewhere" the code of the finding.
    reason: "str" = ""
    # For "elsewhere" the path from which the module was imported.
    found: "str" = ""


def check_starts(
    context: "CheckContext", installed: "Installed", ownership: "Ownership", *, has_device: "bool"
) -> "Group":
    """Start the modules and commands of the locked distributions, and judge the results.

    Modules that the lock lists are left out, since `check_imports` imports them. `has_device` says
    whether the machine has an accelerator.
    """
    locked = {name: installed[name] for name in context.lock.pins if name in installed}
    targets = [
        target
        for target in startables(locked, context.lock.requested)
        if target.reference not in context.lock.imports
    ]
    modules = [target.name for target in targets if target.kind == "module"]
    origins = module_origins(context, modules)
    preload = ["torch"] if "torch" in locked else []
    started = start_all(_request(context, len(targets), has_device=has_device), targets, preload)
    context.progress("")
    device_works = has_device or any(
        start.target.reference == DEVICE_MODULE and not start.failed for start in started
    )
    judged = [
        (start, _judge(context, start, ownership, origins, device_works=device_works))
        for start in started
    ]
    started_kinds = [start.target.kind for start, verdict in judged if verdict.outcome == "ok"]
    remarks = [
        {"what": start.title, "why": verdict.reason}
        for start, verdict in judged
        if verdict.outcome == "excused"
    ]
    note = "starts-but" if remarks else ""
    if not locked:
        note = "nothing"
    return Group(
        "starts",
        list(_start_findings(context, judged)),
        {
            "modules": str(started_kinds.count("module")),
            "scripts": str(started_kinds.count("script")),
            "excused": str(len(remarks)),
        },
        note=note,
        counted=True,
        remarks=remarks,
        results=[_result(start, verdict) for start, verdict in judged],
    )


def _request(context: "CheckContext", count: "int", *, has_device: "bool") -> "StartRequest":
    """Return how to start `count` targets. Without a device, torch does not load its plugin."""
    environ = import_environ(context)
    if not has_device:
        environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

    def progress(done: "int", target: "Startable") -> "None":
        """Show how many targets were started."""
        context.progress(f"{done}/{count} {target.name}")

    return StartRequest(context.program, sys.executable, environ, context.seconds, progress)


def _judge(
    context: "CheckContext",
    start: "Started",
    ownership: "Ownership",
    origins: "Mapping[str, str]",
    *,
    device_works: "bool",
) -> "Verdict":
    """Return the verdict on a start.

    `origins` has the path from which each module would be imported, by name. With `device_works`,
    excuses that need a missing accelerator do not count.
    """
    row, name = start.row, start.target.name
    if not start.failed:
        if start.target.kind == "module":
            found, fault = ownership.fault_in(name, origins.get(name), row["path"])
            if fault:
                return Verdict("elsewhere", fault, found)
        return Verdict("ok")
    excuse = excuse_of(start.target, context.lock.excuses, device_works=device_works)
    if excuse is not None:
        return Verdict("excused", excuse.reason[context.language])
    library = missing_library(f"{row.get('error', '')} {row.get('cause', '')}")
    if library and not device_works and not is_on_disk(context, library):
        return Verdict("untried", library)
    return Verdict("failed")


def excuse_of(target: "Startable", excuses: "Iterable[Excuse]", *, device_works: "bool") -> "Excuse | None":
    """Return the excuse for a module or command that failed; None if none applies.

    With `device_works`, excuses that need a missing accelerator do not apply.
    """
    for excuse in excuses:
        names = excuse.modules if target.kind == "module" else excuse.scripts
        is_about = excuse.project == target.project and target.name in names
        if is_about and not (excuse.device and device_works):
            return excuse
    return None


def _start_findings(
    context: "CheckContext", judged: "Sequence[tuple[Started, Verdict]]"
) -> "Iterator[Finding]":
    """Yield the findings about starts. Starts that failed for the same reason share a finding."""
    groups: "dict[tuple[str, str], list[Started]]" = {}
    for start, verdict in judged:
        if verdict.outcome == "elsewhere":
            values = {"name": start.target.name, "found": verdict.found}
            yield Finding(verdict.reason, values)
        elif verdict.outcome == "untried":
            groups.setdefault(("start-untried", verdict.reason), []).append(start)
        elif verdict.outcome == "failed":
            groups.setdefault(_code_and_reason(start.row), []).append(start)
    for (code, reason), group in groups.items():
        first = group[0]
        values = {
            **list_and_count([start.title for start in group], _LISTED_STARTS),
            "error": reason,
            "library": reason,
            "where": str(first.row.get("where", "")) or first.target.project,
            "seconds": f"{context.seconds:g}",
            "command": shown_command(context, _python_code(first.target)),
        }
        yield Finding(code, values)


def _code_and_reason(row: "Mapping[str, Any]") -> "tuple[str, str]":
    """Return the code of the finding about a failed start, and the reason for its message.

    `row` is the row of the start.
    """
    if row.get("late"):
        return "start-late", ""
    if "signal" in row:
        return "start-died", f"killed by {row['signal']}"
    if "status" in row:
        return "start-died", f"exit status {row['status']}"
    return "start-failed", str(row["cause"] or row["error"])


def _python_code(target: "Startable") -> "str":
    """Return a line of Python code that starts a module or command, for users to try."""
    module, _, attribute = target.reference.partition(":")
    return f"import {module}; {module}.{attribute}" if attribute else f"import {module}"


def _result(start: "Started", verdict: "Verdict") -> "dict[str, Any]":
    """Return the object about a start for the JSON report."""
    result: "dict[str, Any]" = {
        "project": start.target.project,
        "kind": start.target.kind,
        "name": start.target.name,
        "target": start.target.reference,
        "outcome": verdict.outcome,
    }
    if verdict.reason and verdict.outcome != "elsewhere":
        result["reason"] = verdict.reason
    how = {key: value for key, value in start.row.items() if key not in ("number", "path")}
    return {**result, **how}


# --- report
#
# Print the report: a line for each check as it ends, then all findings; or one JSON object.

# The codes of findings after which nothing else is checked, since they cause further differences.
_FINAL = (
    "lock-differs",
    "system-differs",
    "processor-differs",
    "python-differs",
    "environment-other",
)
# The names of the checks whose findings are warnings with `--skip-system-checks`.
_SYSTEM = ("machine", *COMPONENTS)
# The codes of findings that are warnings: they do not make verify.py fail.
WARNINGS = (
    *WARNING_CODES,
    "checkout-added",
    "checkout-uncompared",
    "distribution-conda",
    "distribution-extra",
    "distribution-leftover",
    "file-added",
    "file-unhashed",
    "import-untried",
    "lock-unreadable",
    "module-extra",
    "path-extra",
    "pip-missing",
    "python-shared",
    "python-unusable",
    "start-untried",
    "startup-added",
    "startup-changed",
    "startup-unknown",
)


class UnwritableError(Exception):
    """Standard output cannot be written. The text is the reason; empty if a pipe was closed."""


class Report:
    """Prints the results of checks, in the language of the context or as JSON."""

    def __init__(self, context: "CheckContext", *, as_json: "bool", lenient: "bool") -> "None":
        """Print JSON or text. With `lenient`, findings about the machine are only warnings."""
        self._context = context
        self._texts = context.lock.texts[context.language]
        self._as_json = as_json
        self._lenient = lenient
        self._groups: "list[dict[str, Any]]" = []
        self._machine: "dict[str, str]" = {}
        # When the checks began. A report that was kept must not pass for one of today.
        self._time = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # The code of a finding of `_FINAL`, after which nothing else should be checked; else empty.
        self.ended_by = ""

    def begin(self) -> "None":
        """Print the first line, which names the stack and the target."""
        lock = self._context.lock
        self._print(self._fill("label-head", {"stack": lock.stack, "target": lock.target}))

    def add(self, group: "Group") -> "None":
        """Print the line of a check, and keep its findings for `end`."""
        row = self._group_row(group)
        self._groups.append(row)
        self._machine.update(group.machine)
        self._print(self._group_line(group, row["state"]))
        for remark in group.remarks:
            self._print(self._fill("label-left-out", remark))
        for finding in row["findings"]:
            if finding["code"] in _FINAL and finding["state"] == "wrong":
                self.ended_by = finding["code"]

    def end(self) -> "int":
        """Print all findings, errors first, and return the exit status: 1 if there is an error."""
        findings: "list[dict[str, Any]]" = []
        for group in self._groups:
            findings += group["findings"]
        findings.sort(key=lambda finding: finding["state"] == "warning")
        wrong = sum(finding["state"] == "wrong" for finding in findings)
        warnings = len(findings) - wrong
        if self._as_json:
            self._write(json.dumps(self._json_object(wrong, warnings), indent=2, ensure_ascii=True))
        for finding in findings:
            self._print("")
            title = self._fill(f"label-{finding['state']}", finding)
            self._print(f"{title}  [{finding['code']}]")
            self._print(self._fill("label-why", finding))
            self._print(self._fill("label-mend", finding))
        self._print("")
        if self.ended_by:
            self._print(self._fill("label-ended", {"code": self.ended_by}))
        counts = {"wrong": str(wrong), "warnings": str(warnings)}
        self._print(self._fill("label-differs" if wrong else "label-as-locked", counts))
        return 1 if wrong else 0

    def install_lines(self, group: "Group") -> "str":
        """Return the lines of a check for install.sh: state, text and remedy, separated by tabs.

        There is a line for each finding, or one line without findings. A chip that is not known is
        reported as ok, since an image may be built on a machine without an accelerator.
        """
        rows = []
        for finding in self._group_row(group)["findings"]:
            if finding["code"] in UNSEEN_CODES:
                rows.append(("ok", finding["what"], ""))
            else:
                text = self._fill("label-because", finding)
                rows.append((finding["state"], text, finding["mend"]))
        if not rows:
            values = {"what": self._texts[f"group-{group.name}"], "why": self._note(group)}
            rows.append(("ok", self._fill("label-because", values), ""))
        return "".join("\t".join(map(printable, row)) + "\n" for row in rows)

    def _json_object(self, wrong: "int", warnings: "int") -> "dict[str, Any]":
        """Return the JSON report, with the numbers of errors and of warnings."""
        lock = self._context.lock
        return {
            "schema": 1,
            "language": self._context.language,
            "status": "differs" if wrong else "as-locked",
            "stack": lock.stack,
            "target": lock.target,
            "lock": lock.digest,
            "python": sys.executable,
            "wrong": wrong,
            "warnings": warnings,
            "ended": bool(self.ended_by),
            "checks": self._context.checks,
            "time": self._time,
            "machine": self._machine,
            "groups": self._groups,
        }

    def _group_row(self, group: "Group") -> "dict[str, Any]":
        """Return the object about the result of a check, as in the JSON report."""
        findings = [self._finding_row(group, finding) for finding in group.findings]
        states = {finding["state"] for finding in findings}
        state = "ok"
        if "wrong" in states:
            state = "wrong"
        elif states:
            state = "warning"
        row = {
            "name": group.name,
            "state": state,
            "values": dict(group.values),
            "findings": findings,
        }
        if group.results:
            row["results"] = list(group.results)
        return row

    def _finding_row(self, group: "Group", finding: "Finding") -> "dict[str, Any]":
        """Return the object about a finding, as in the JSON report, with its messages filled in."""
        context = self._context
        values = {
            "python": context.python,
            "install": context.install_command,
            "fresh": context.venv_command,
            "again": context.reinstall_command(finding.values.get("name", "")),
            **finding.values,
        }
        is_excused = self._lenient and group.name in _SYSTEM
        is_warning = finding.code in WARNINGS or is_excused
        return {
            "code": finding.code,
            "state": "warning" if is_warning else "wrong",
            "what": self._fill(f"{finding.code}-what", values),
            "why": self._fill(f"{finding.code}-why", values),
            "mend": finding.remedy or self._fill(f"{finding.code}-mend", values),
            "values": dict(finding.values),
        }

    def _group_line(self, group: "Group", state: "str") -> "str":
        """Return the line of a check: its title, its state, and its note or what was found."""
        notes = []
        if group.counted or not group.findings:
            notes.append(self._note(group))
        counts: "Counter[str]" = Counter()
        for finding in group.findings:
            # A finding with a list is about all in it.
            values = finding.values
            counts[finding.code] += int(values.get("count", 1)) if "list" in values else 1
        for code, count in counts.items():
            notes.append(self._fill(f"{code}-brief", {"count": str(count)}))
        title = _padded(self._texts[f"group-{group.name}"], 13)
        state_text = _padded(self._texts[f"state-{state}"], 7)
        return f"  {title}  {state_text}  {', '.join(notes)}".rstrip()

    def _note(self, group: "Group") -> "str":
        """Return the note of a check: what is shown if there are no findings."""
        return self._fill(f"note-{group.note or group.name}", group.values)

    def _fill(self, code: "str", values: "Mapping[str, Any]") -> "str":
        """Return the message with this code, with the values filled in; empty if there is none.

        Some notes have no message, and neither have remedies that are commands.
        """
        return self._texts.get(code, "").format(**values)

    def _print(self, line: "str") -> "None":
        """Print a line of the text report; nothing is printed for the JSON report."""
        if not self._as_json:
            self._write(printable(line))

    def _write(self, text: "str") -> "None":
        """Write a text and a line break to standard output. Raises UnwritableError."""
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            raise UnwritableError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None


def _padded(text: "str", width: "int") -> "str":
    """Return a text with spaces appended up to a width in columns. A Chinese character has two."""
    columns = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
    return text + " " * max(width - columns, 0)


# --- main
#
# The command line of verify.py: its options, the order of the checks, and the exit status.

# Exit statuses.
_USAGE = 2
_INTERRUPTED = 130
_TERMINATED = 143
# The text that a program must print to prove that it is Python.
_PROOF = "python"


def run(text: "str", file: "str", arguments: "Sequence[str]") -> "int":
    """Check this machine and environment against a lock, and return the exit status.

    `text` is the data of the lock as JSON, `file` the path of verify.py, and `arguments` are those
    of the command line. The status is 0 if all is as locked, 1 if something differs, and 2 if the
    command is invalid.

    verify.py has started itself isolated, so that modules on PYTHONPATH and in the user's
    site-packages are ignored, and without site, so that no code of the environment runs before it
    is checked.
    """
    if sys.stdout is None:
        # it is closed, and no other file must get its number
        _discard_output()
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if list(arguments) == [START_OPTION]:
        return serve_starts(file)
    lock = LockedStack.parse(text)
    options = _options(arguments, sorted(lock.texts))
    unusable = None
    if options.python:
        texts = lock.texts[_language(options.lang, lock.texts)]
        unusable = _restart(options.python, file, arguments, texts)
        if not options.machine:
            sys.stderr.write(texts["python-unusable-error"].format(**unusable) + "\n")
            return _USAGE
    search_path = SearchPath.of_this_python()
    if options.pip_settings:
        return print_pip_variables()
    if options.changed_files:
        return print_changed_files(lock.pins[options.changed_files])
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    # exit normally, so that programs that were started are ended, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    context = _context(lock, options, file, search_path, unusable)
    report = Report(context, as_json=options.json, lenient=options.skip_system_checks)
    if options.built_wheels or options.keep_wheels:
        return _handle_wheels(context, options)
    if options.machine_rows:
        groups = [check_machine(context), *check_components(context, ask_tool(context))]
        sys.stdout.write("".join(report.install_lines(group) for group in groups))
        return 0
    some_checks = {"machine": _machine_checks, "files": _file_checks}
    return _report_checks(context, report, some_checks.get(context.checks, checks))


def _handle_wheels(context: "CheckContext", options: "argparse.Namespace") -> "int":
    """Carry out --built-wheels or --keep-wheels for install.sh, and return the exit status."""
    machine = BuildMachine.of(context, check_machine(context).machine)
    if options.keep_wheels:
        folder, *wheels = options.keep_wheels
        return keep_wheels(context, machine, folder, wheels)
    folder, *names = options.built_wheels
    return print_built_wheels(context, machine, folder, names)


def _discard_output() -> "None":
    """Connect standard output to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _context(
    lock: "LockedStack",
    options: "argparse.Namespace",
    file: "str",
    search_path: "SearchPath",
    unusable: "Mapping[str, str] | None",
) -> "CheckContext":
    """Return the input of all checks, from the lock, the options and `_restart`."""
    program = os.path.abspath(file)
    folder = os.path.dirname(program)
    shows_progress = sys.stderr.isatty() and not options.json
    return CheckContext(
        lock,
        folder,
        dict(os.environ),
        ascend=options.ascend,
        shown_folder=options.lock_folder,
        wheelhouse=os.path.abspath(options.wheelhouse) if options.wheelhouse else _bundle(folder),
        full=options.full,
        language=_language(options.lang, lock.texts),
        program=program,
        quick=options.quick,
        network=options.network,
        checks=_checks_of(options),
        seconds=options.seconds,
        progress=_show_progress if shows_progress else show_nothing,
        search_path=search_path,
        unusable_python=unusable,
    )


def _checks_of(options: "argparse.Namespace") -> "str":
    """Return which checks the options select, as `CheckContext.checks` names them."""
    if options.machine or options.machine_rows:
        return "machine"
    if options.files:
        return "files"
    if options.quick:
        return "quick+full" if options.full else "quick"
    return "full" if options.full else "all"


def _bundle(folder: "str") -> "str":
    """Return the folder of the bundle that contains a lock's folder as `locks/STACK/TARGET`.

    Empty if the folder is not in a bundle, which `ascend-lock bundle` makes.
    """
    top = os.path.normpath(f"{folder}/../../..")
    return top if os.path.isfile(f"{top}/bundle.json") else ""


def _report_checks(
    context: "CheckContext", report: "Report", checks_of: "Callable[[CheckContext], Iterator[Group]]"
) -> "int":
    """Make the checks, print the report, and return the exit status."""
    try:
        report.begin()
        for group in checks_of(context):
            report.add(group)
            if report.ended_by:
                break
        return report.end()
    except UnwritableError as error:
        _discard_output()
        if str(error):
            sys.stderr.write(f"error: the report cannot be written: {error}\n")
            return _USAGE
        # the pipe is closed: `verify.py | head` has read enough
        return 1
    except MemoryError:
        sys.stderr.write("error: out of memory\n")
        sys.stderr.write("hint: check `ulimit -v`, or a container's limit of memory\n")
        return _USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was changed\n")
        return _INTERRUPTED


def _machine_checks(context: "CheckContext") -> "Iterator[Group]":
    """Yield the results of the checks that need no environment, for use before an installation."""
    yield check_machine(context)
    yield check_interpreter(context)
    tool = ask_tool(context)
    yield from check_components(context, tool)
    yield from network_checks(context, tool)


def _file_checks(context: "CheckContext") -> "Iterator[Group]":
    """Yield the results of the checks of installed files, which run no code of the environment.

    `ascend-lock sync` uses them to find damage that it repairs.
    """
    yield check_lock(context)
    installed, broken = installed_distributions(context, context.search_path.folders)
    _, overwritten = check_collisions(context, installed)
    yield check_distributions(context, installed, broken)
    yield check_files(context, installed, overwritten)


def checks(context: "CheckContext") -> "Iterator[Group]":
    """Yield the results of all checks that the lock and the options ask for, quick ones first."""
    yield check_lock(context)
    yield check_machine(context)
    # The components come before Python: they differ, too, if this is the wrong environment.
    tool = ask_tool(context)
    yield from check_components(context, tool)
    yield from network_checks(context, tool)
    installed, broken = installed_distributions(context, context.search_path.folders)
    yield check_python(context, installed)
    collisions, overwritten = check_collisions(context, installed)
    colliding = {finding.values["other"] for finding in collisions.findings}
    yield check_distributions(context, installed, broken, colliding)
    yield check_files(context, installed, overwritten)
    if context.full:
        yield check_bytecode(context, installed)
    if any(pin.editable for pin in context.lock.pins.values()):
        yield check_checkouts(context, installed)
    yield collisions
    ownership = Ownership(context, installed, context.search_path)
    yield check_strays(context, installed, ownership)
    yield check_requirements(context)
    if context.lock.imports:
        yield check_imports(context, ownership, has_device=tool.has_device)
    if not context.quick:
        yield check_starts(context, installed, ownership, has_device=tool.has_device)
    yield from check_computation(context, tool)


def _restart(
    python: "str", file: "str", arguments: "Sequence[str]", texts: "Mapping[str, str]"
) -> "dict[str, str]":
    """Run verify.py with another Python, isolated and without site, in place of this process.

    Before, check that the program is a Python: another program might exit with status 0. If it is
    not, return its path and what is wrong with it, for the messages `texts`.
    """
    path = os.path.abspath(python)
    result = run_program([path, "-I", "-S", "-c", f"print({_PROOF!r})"], os.environ)
    if result.output.split() == [_PROOF]:
        command = [path, "-I", "-S", os.path.abspath(file), *arguments, "--python="]
        os.execv(path, command)  # noqa: S606
    reason = texts["python-unusable-other"] if result.status == 0 else result.ending
    return {"python": path, "reason": reason}


def _language(option: "str | None", languages: "Collection[str]") -> "str":
    """Return the language of messages, from the option or the locale; English if there is none."""
    environ = os.environ
    locale = option or environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG")
    language = (locale or "en")[:2].lower()
    return language if language in languages else "en"


def _add_options_of_install(parser: "argparse.ArgumentParser") -> "None":
    """Add the options with which install.sh and `ascend-lock sync` call verify.py.

    They are no part of the help: what they print is for these programs.
    """
    hidden = argparse.SUPPRESS
    # Prints what is wrong with the machine and its components. Each row has a state, what it is and
    # how to mend it, separated by tabs.
    parser.add_argument("--machine-rows", action="store_true", help=hidden)
    # Prints the variables that pip gets from install.sh.
    parser.add_argument("--pip-settings", action="store_true", help=hidden)
    # Prints what install.sh notes of an editable checkout that it has built.
    parser.add_argument("--changed-files", metavar="NAME", help=hidden)
    # Prints the wheels in DIR that were built of these pins for a machine like this one.
    parser.add_argument("--built-wheels", nargs="+", metavar=("DIR", "NAME"), help=hidden)
    # Copies wheels that install.sh has just built to DIR, and notes there how.
    parser.add_argument("--keep-wheels", nargs="+", metavar=("DIR", "WHEEL"), help=hidden)


def _options(arguments: "Sequence[str]", languages: "Sequence[str]") -> "argparse.Namespace":
    """Return the options of the command line. Exits with status 2 if they are invalid."""
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Check whether this machine and environment match the lock. Changes nothing.",
        epilog="Exit status: 0 matches, 1 something differs, 2 invalid command.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--python",
        metavar="PATH",
        help="the environment's Python (default: the one that runs this)",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="compare every file, not just a sample, and bytecode with its source",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="import only the modules that the stack lists, instead of all of them",
    )
    parser.add_argument(
        "--network",
        action="store_true",
        help="also check the network between the accelerators of several nodes",
    )
    parser.add_argument(
        "--seconds",
        type=_positive,
        metavar="N",
        default=SECONDS_TO_START,
        help="how long each module or command may take to start (default: %(default)s)",
    )
    parser.add_argument(
        "--machine",
        action="store_true",
        help="check only the machine, its components and its Python, before an installation",
    )
    parser.add_argument(
        "--files",
        action="store_true",
        help="check only what is installed and its files, and start nothing of it",
    )
    _add_options_of_install(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object and nothing else"
    )
    parser.add_argument("--lang", choices=languages, help="the language (default: by locale)")
    parser.add_argument(
        "--skip-system-checks",
        action="store_true",
        help="only warn if the machine does not match the lock",
    )
    parser.add_argument(
        "--wheelhouse", metavar="DIR", help="use this folder in the commands that fix things"
    )
    parser.add_argument(
        "--lock-folder",
        metavar="DIR",
        help="where the lock is, in these commands, if this file is a copy; empty: not here yet",
    )
    parser.add_argument(
        "--ascend",
        metavar="DIR",
        default=os.environ.get("ASCEND_LOCK_ROOT") or "/usr/local/Ascend",
        help="where driver and toolkit are installed"
        " (default: $ASCEND_LOCK_ROOT, else /usr/local/Ascend)",
    )
    return parser.parse_args(arguments)


def _positive(text: "str") -> "float":
    """Return the number of seconds in an option.

    Raises ArgumentTypeError unless it is a number above 0 and below a million.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of seconds above 0")
    return number


def _show_progress(line: "str") -> "None":
    """Show a line on the terminal in place of the previous one. An empty line removes that."""
    sys.stderr.write(f"\r{printable(line)[:70]}\x1b[K")
    sys.stderr.flush()


# --- what the lock says

LOCK = r"""
{
"stack": "llamafactory",
"target": "linux-aarch64-py311-cann8.5.1-a2",
"platform": "linux-aarch64",
"python": "3.11",
"glibc": "2.35",
"system": {"cann": "8.5.1", "soc": "A2"},
"overrides": [["vllm", "0.18.0", "opencv-python-headless"]],
"imports": ["torch", "transformers"],
"import_env": {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
"rewritten": [],
"absent": {"triton": "triton and triton-ascend both install a package named `triton`. Files such as triton/__init__.py and triton/_C/libtriton.so are in both: the one installed last overwrites those of the other, and uninstalling either one deletes files of both. Up to triton-ascend 3.2.0 they must therefore not be in the same environment. On x86_64, torch from PyPI and xgrammar require triton; the guides uninstall it by hand."},
"driver": [{"by": "CANN 8.5.1", "component": "hdk", "wanted": "hdk >= 25.0.rc1", "ranges": [[[">=", "25.0.rc1"]]], "binding": false, "reason": {"en": "CANN 8.5.X needs HDK (driver and firmware) 25.0.X, 25.2.X, 25.3.X, 25.5.X or newer. (vendor: hiascend.com/document/detail/en/canncommercial/850/releasenote/releasenote_0000.html (2026-11-23); gitcode.com/cann/release-management/blob/master/9.1.0/release-notes.md (2026-11-23); gitcode.com/Ascend/ascend-deployer/blob/master/downloader/software/CANN_8.5.0.json (2026-11-23))", "zh": "CANN 8.5.X \u9700\u8981 HDK\uff08\u9a71\u52a8\u548c\u56fa\u4ef6\uff0925.0.X\u300125.2.X\u300125.3.X\u300125.5.X \u6216\u66f4\u65b0\u7684\u7248\u672c\u3002\uff08\u5382\u5546\uff1ahiascend.com/document/detail/en/canncommercial/850/releasenote/releasenote_0000.html (2026-11-23); gitcode.com/cann/release-management/blob/master/9.1.0/release-notes.md (2026-11-23); gitcode.com/Ascend/ascend-deployer/blob/master/downloader/software/CANN_8.5.0.json (2026-11-23)\uff09"}}],
"requested": ["deepspeed", "llamafactory", "torch", "torch-npu", "torchvision", "vllm", "vllm-ascend"],
"excuses": [{"project": "gguf", "modules": [], "scripts": ["gguf-editor-gui"], "device": false, "reason": {"en": "The editor with windows is the extra `gui` of the project.", "zh": "\u56fe\u5f62\u754c\u9762\u7684\u7f16\u8f91\u5668\u5c5e\u4e8e\u8be5\u9879\u76ee\u7684\u9644\u52a0\u4f9d\u8d56\u7ec4\uff08extra\uff09`gui`\u3002"}}, {"project": "torch", "modules": [], "scripts": ["torchfrtrace"], "device": false, "reason": {"en": "The command `torchfrtrace` of these releases is in the module tools.flight_recorder, which their wheels do not have. From 2.10.0 on it is in torch.distributed.flight_recorder.", "zh": "\u8fd9\u4e9b\u7248\u672c\u7684\u547d\u4ee4 `torchfrtrace` \u4f4d\u4e8e\u6a21\u5757 tools.flight_recorder\uff0c\u800c\u5176 wheel \u4e2d\u6ca1\u6709\u8be5\u6a21\u5757\u3002\u4ece 2.10.0 \u8d77\u4f4d\u4e8e torch.distributed.flight_recorder\u3002"}}],
"digest": "bbe8e4d384d8f893592b3fec89130b471f17a4321ca953cb3d89b34ef86c88cd",
"pins": [
{"name": "accelerate", "version": "1.11.0", "stage": 6, "sha256": ["a628fa6beb069b8e549460fc449135d5bd8d73e7a11fd09f0bc9fc4ace7f06f1"]},
{"name": "aiofiles", "version": "24.1.0", "stage": 6, "sha256": ["b4ec55f4195e3eb5d7abd1bf7e061763e864dd4954231fb8539a0ef8bb8260e5"]},
{"name": "aiohappyeyeballs", "version": "2.6.2", "stage": 6, "sha256": ["4708045e2d7a6c6bdf8aafa8ed39649eaf926a4543b54560659129e3365953c4"]},
{"name": "aiohttp", "version": "3.14.1", "stage": 6, "sha256": ["d3b1a184a9a8f548a6b73f1e26b96b052193e4b3175ed7342aaf1151a1f00a04"]},
{"name": "aiosignal", "version": "1.4.0", "stage": 6, "sha256": ["053243f8b92b990551949e63930a839ff0cf0b0ebbe0597b0f3fb19e1a0fe82e"]},
{"name": "annotated-doc", "version": "0.0.4", "stage": 6, "sha256": ["571ac1dc6991c450b25a9c2d84a3705e2ae7a53467b5d111c24fa8baabbed320"]},
{"name": "annotated-types", "version": "0.7.0", "stage": 6, "sha256": ["1f02e8b43a8fbbc3f3e0d4f0f4bfc8131bcb4eebe8849b8e5c773f3a1c582a53"]},
{"name": "anthropic", "version": "0.109.1", "stage": 6, "sha256": ["ce7d94a7657f2aa29338cca448945eac621b4f62c1794cf461cb32847223e9b8"]},
{"name": "antlr4-python3-runtime", "version": "4.9.3", "stage": 2, "built": true, "key": "e650ff9e372da437de6c3c6c930802ef", "env": [], "tools": ["cmake==4.3.2", "filelock==3.29.4", "fsspec==2025.3.0", "grpcio==1.81.1", "grpcio-tools==1.71.2", "jinja2==3.1.6", "markupsafe==3.0.3", "mpmath==1.3.0", "nanobind==2.9.2", "networkx==3.6.1", "ninja==1.13.0", "packaging==26.2", "protobuf==5.29.5", "setuptools==80.10.2", "sympy==1.14.0", "torch==2.7.0", "typing-extensions==4.15.0", "wheel==0.47.0"], "sha256": ["f224469b4168294902bb1efa80a8bf7855f24c99aef99cbefc1bcd3cce77881b"]},
{"name": "anyio", "version": "4.13.0", "stage": 6, "sha256": ["08b310f9e24a9594186fd75b4f73f4a4152069e3853f1ed8bfbf58369f4ad708"]},
{"name": "apache-tvm-ffi", "version": "0.1.12", "stage": 6, "sha256": ["0fec41a0633af57bcae552d662cfd096c57db685b752d1898087ca484f060e9f", "9892c39a037bcf0e4ca0da1693f1193ccc2c0f02b899402e88011847980d98f6"]},
{"name": "arctic-inference", "version": "0.1.1", "stage": 2, "built": true, "key": "504193cdfe4a765fa5a7c9dfd791e119", "env": [], "tools": ["cmake==4.3.2", "filelock==3.29.4", "fsspec==2025.3.0", "grpcio==1.81.1", "grpcio-tools==1.71.2", "jinja2==3.1.6", "markupsafe==3.0.3", "mpmath==1.3.0", "nanobind==2.9.2", "networkx==3.6.1", "ninja==1.13.0", "packaging==26.2", "protobuf==5.29.5", "setuptools==80.10.2", "sympy==1.14.0", "torch==2.7.0", "typing-extensions==4.15.0", "wheel==0.47.0"], "sha256": ["36857e2fbe3ead34821a04be98dfab95086050c1e38199c8fdfe308234fdcf63"]},
{"name": "astor", "version": "0.8.1", "stage": 6, "sha256": ["070a54e890cefb5b3739d19f30f5a5ec840ffc9c50ffa7d23cc9fc1a38ebbfc5"]},
{"name": "attrs", "version": "26.1.0", "stage": 6, "sha256": ["c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309"]},
{"name": "av", "version": "16.0.0", "stage": 6, "sha256": ["6954d8d9fd21f9a9f38f5376cf622223b8cd9c883520e2fdf7cde95a58bcc652"]},
{"name": "blake3", "version": "1.0.8", "stage": 6, "sha256": ["7fcfe81b3ae3fb5d2e88be0d3259603ff95f0d5ed69f655c28fdaef31e49a470"]},
{"name": "blinker", "version": "1.9.0", "stage": 6, "sha256": ["ba0efaa9080b619ff2f3459d1d500c57bddea4a6b424b60a91141db6fd2f08bc"]},
{"name": "brotli", "version": "1.2.0", "stage": 6, "sha256": ["350c8348f0e76fff0a0fd6c26755d2653863279d086d3aa2c290a6a7251135dd"]},
{"name": "cachetools", "version": "7.1.4", "stage": 6, "sha256": ["323dc4127934744db5b54eb4924482d7edafbf9554e820d1531c2e08c0e4ef54"]},
{"name": "cbor2", "version": "6.1.2", "stage": 6, "sha256": ["9f81ab0e74671b0ff9b7e30386e2ab8d40ee1049d13c1680b57ab1b1cd95c81a"]},
{"name": "certifi", "version": "2026.5.20", "stage": 6, "sha256": ["3c52e209ba0a4ad7aebe60436a4ab349c39e1e602e8c134221e546902ad25897"]},
{"name": "cffi", "version": "2.0.0", "stage": 6, "sha256": ["730cacb21e1bdff3ce90babf007d0a0917cc3e6492f336c2f0134101e0944f93"]},
{"name": "charset-normalizer", "version": "3.4.7", "stage": 6, "sha256": ["202389074300232baeb53ae2569a60901f7efadd4245cf3a3bf0617d60b439d7", "3dce51d0f5e7951f8bb4900c257dad282f49190fdbebecd4ba99bcc41fef404d"]},
{"name": "click", "version": "8.4.1", "stage": 6, "sha256": ["482be17c6991b8c19c5429a1e995d9b0efdbb63172824c41f99965dc0ade8ec2"]},
{"name": "cloudpickle", "version": "3.1.2", "stage": 6, "sha256": ["9acb47f6afd73f60dc1df93bb801b472f05ff42fa6c84167d25cb206be1fbf4a"]},
{"name": "cmake", "version": "4.3.2", "stage": 6, "sha256": ["ca739ab0d8960261fdb1bb6e1e6c16b9cd033ae0a98341483cc233ba7c81b22b"]},
{"name": "compressed-tensors", "version": "0.13.0", "stage": 6, "sha256": ["3518799c9baf034eb642efb551db6b0537b8713d45a64fe4def26f7f8d6cabec"]},
{"name": "contourpy", "version": "1.3.3", "stage": 6, "sha256": ["929ddf8c4c7f348e4c0a5a3a714b5c8542ffaa8c22954862a46ca1813b667ee7"]},
{"name": "cryptography", "version": "49.0.0", "stage": 6, "sha256": ["ccac2bfebc306b862133e3bb71f3f6ee8bb525240089b2d952e4144b3a6d5da7", "53ecee2e23f7169b6117e99fc8a944e5e50f79e69758a83b52a00cb98ab2b2d2", "36d1709f992593689b45bda411498d62c6e365f2ca00b84657d4dadd24de16db", "28d8b15e6275f12c8a207dc309dfa957903c927d08d0cc937ee3f63f200693cc", "0f21641cf4b30fca7aee061ced0ec7ad7b073518088b7c9969a297c0ae796c69", "f78ff2c9ed8dc2d036b0f4d640e22522213d047c1b14e61205a7e55c80a494d4"]},
{"name": "cycler", "version": "0.12.1", "stage": 6, "sha256": ["85cef7cff222d8644161529808465972e51340599459b8ac3ccbac5a854e0d30"]},
{"name": "datasets", "version": "4.0.0", "stage": 6, "sha256": ["7ef95e62025fd122882dbce6cb904c8cd3fbc829de6669a5eb939c77d50e203d"]},
{"name": "decorator", "version": "5.3.1", "stage": 6, "sha256": ["f47fe6fdbd2edd623ecfe36875d37aba411624e2670dd395dddae1358689bb3c"]},
{"name": "deepspeed", "version": "0.18.4", "stage": 2, "built": true, "key": "43a2fc7dc08ffd68069eee142fef4843", "env": [], "tools": ["cmake==4.3.2", "filelock==3.29.4", "fsspec==2025.3.0", "grpcio==1.81.1", "grpcio-tools==1.71.2", "jinja2==3.1.6", "markupsafe==3.0.3", "mpmath==1.3.0", "nanobind==2.9.2", "networkx==3.6.1", "ninja==1.13.0", "packaging==26.2", "protobuf==5.29.5", "setuptools==80.10.2", "sympy==1.14.0", "torch==2.7.0", "typing-extensions==4.15.0", "wheel==0.47.0"], "sha256": ["4702fb79890cb10f2399bf19254c96d83dc618c9011d77ed37499033b86b4198"]},
{"name": "depyf", "version": "0.20.0", "stage": 6, "sha256": ["d31effad4261cebecb58955d832e448ace88f432328f95f82fd99c30fd9308d4"]},
{"name": "detect-installer", "version": "0.1.0", "stage": 6, "sha256": ["034fb20fd665c36e6ba52b8821525ea07fb4f7f938cac459df889fb33801528a"]},
{"name": "dill", "version": "0.3.8", "stage": 6, "sha256": ["c36ca9ffb54365bdd2f8eb3eff7d2a21237f8452b57ace88b1ac615b7e815bd7"]},
{"name": "diskcache", "version": "5.6.3", "stage": 6, "sha256": ["5e31b2d5fbad117cc363ebaf6b689474db18a1f6438bc82358b024abd4c2ca19"]},
{"name": "distro", "version": "1.9.0", "stage": 6, "sha256": ["7bffd925d65168f85027d8da9af6bddab658135b840670a223589bc0c8ef02b2"]},
{"name": "dnspython", "version": "2.8.0", "stage": 6, "sha256": ["01d9bbc4a2d76bf0db7c1f729812ded6d912bd318d3b1cf81d30c0f845dbf3af"]},
{"name": "docstring-parser", "version": "0.18.0", "stage": 6, "sha256": ["b3fcbed555c47d8479be0796ef7e19c2670d428d72e96da63f3a40122860374b"]},
{"name": "einops", "version": "0.8.2", "stage": 6, "sha256": ["54058201ac7087911181bfec4af6091bb59380360f069276601256a76af08193"]},
{"name": "email-validator", "version": "2.3.0", "stage": 6, "sha256": ["80f13f623413e6b197ae73bb10bf4eb0908faf509ad8362c5edeb0be7fd450b4"]},
{"name": "fastapi", "version": "0.123.10", "stage": 6, "sha256": ["0503b7b7bc71bc98f7c90c9117d21fdf6147c0d74703011b87936becc86985c1"]},
{"name": "fastapi-cli", "version": "0.0.24", "stage": 6, "sha256": ["4a1f78ed798f106b4fee85ca93b85d8fe33c0a3570f775964d37edb80b8f0edc"]},
{"name": "fastapi-cloud-cli", "version": "0.20.0", "stage": 6, "sha256": ["dcbf071fc659ae2d3fb30e221a661c3fa240b7d5091203cf941face31f6d7860"]},
{"name": "fastar", "version": "0.11.0", "stage": 6, "sha256": ["891f72ce42a5e28a74fbd4d5fbf1a3ac1a1163d13cbc200cbd005fb0fabc54bd"]},
{"name": "ffmpy", "version": "1.0.0", "stage": 6, "sha256": ["5640e5f0fd03fb6236d0e119b16ccf6522db1c826fdf35dcb87087b60fd7504f"]},
{"name": "filelock", "version": "3.29.4", "stage": 6, "sha256": ["dac1648087d5115554850d113e7dd8c83ab2d38e3435dde2d4f163847e57b767"]},
{"name": "fire", "version": "0.7.1", "stage": 6, "sha256": ["e43fd8a5033a9001e7e2973bab96070694b9f12f2e0ecf96d4683971b5ab1882"]},
{"name": "flask", "version": "3.1.3", "stage": 6, "sha256": ["f4bcbefc124291925f1a26446da31a5178f9483862233b23c0c96a20701f670c"]},
{"name": "fonttools", "version": "4.63.0", "stage": 6, "sha256": ["2c14b4fd138c4bafcca294765c547914e1aa431ae1ca94ab99d8db08c958bd3b", "445af2eab030a16b9171ea8bdda7ebf7d96bda2df88ee182a464252f6e05e20d"]},
{"name": "frozenlist", "version": "1.8.0", "stage": 6, "sha256": ["957e7c38f250991e48a9a73e6423db1bb9dd14e722a10f6b8bb8e16a0f55f695", "0c18a16eab41e82c295618a77502e17b195883241c563b00f0aa5106fc4eaa0d"]},
{"name": "fsspec", "version": "2025.3.0", "stage": 6, "sha256": ["efb87af3efa9103f94ca91a7f8cb7a4df91af9f74fc106c9c7ea0efd7277c1b3"]},
{"name": "gguf", "version": "0.19.0", "stage": 6, "sha256": ["70bcd10edfe697fb2dad6e40af2234b9d8ece9a41a99761405121ebda1c3c1cd"]},
{"name": "googleapis-common-protos", "version": "1.75.0", "stage": 6, "sha256": ["961ed60399c457ceb0ee8f285a84c870aabc9c6a832b9d37bb281b5bebde43ed"]},
{"name": "gradio", "version": "5.50.0", "stage": 6, "sha256": ["d06770d57cdda9b703ef9cf767ac93a890a0e12d82679a310eef74203a3673f4"]},
{"name": "gradio-client", "version": "1.14.0", "stage": 6, "sha256": ["9a2f5151978411e0f8b55a2d38cddd0a94491851149d14db4af96f5a09774825"]},
{"name": "groovy", "version": "0.1.2", "stage": 6, "sha256": ["7f7975bab18c729a257a8b1ae9dcd70b7cafb1720481beae47719af57c35fa64"]},
{"name": "grpcio", "version": "1.81.1", "stage": 6, "sha256": ["a3acb384427816dd5d470f47e62137b87f74da694faa8a50147012cf40df276a"]},
{"name": "h11", "version": "0.16.0", "stage": 6, "sha256": ["63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86"]},
{"name": "h2", "version": "4.3.0", "stage": 6, "sha256": ["c438f029a25f7945c69e0ccf0fb951dc3f73a5f6412981daee861431b70e2bdd"]},
{"name": "hf-transfer", "version": "0.1.9", "stage": 6, "sha256": ["8fd0167c4407a3bc4cdd0307e65ada2294ec04f1813d8a69a5243e379b22e9d8"]},
{"name": "hf-xet", "version": "1.5.1", "stage": 6, "sha256": ["a93df2039190502835b1db8cd7e178b0b7b889fe9ab51299d5ced26e0dd879a4"]},
{"name": "hjson", "version": "3.1.0", "stage": 6, "sha256": ["65713cdcf13214fb554eb8b4ef803419733f4f5e551047c9b711098ab7186b89"]},
{"name": "hpack", "version": "4.1.0", "stage": 6, "sha256": ["157ac792668d995c657d93111f46b4535ed114f0c9c8d672271bbec7eae1b496"]},
{"name": "httpcore", "version": "1.0.9", "stage": 6, "sha256": ["2d400746a40668fc9dec9810239072b40b4484b640a8c38fd654a024c7a1bf55"]},
{"name": "httptools", "version": "0.8.0", "stage": 6, "sha256": ["bbb8caadb2b742d293169d2b458b5c001ef70e3158704aa3d3ef9597624c5d1d"]},
{"name": "httpx", "version": "0.28.1", "stage": 6, "sha256": ["d909fcccc110f8c7faf814ca82a9a4d816bc5a6dbfea25d6591d6985b8ba59ad"]},
{"name": "httpx-sse", "version": "0.4.3", "stage": 6, "sha256": ["0ac1c9fe3c0afad2e0ebb25a934a59f4c7823b60792691f779fad2c5568830fc"]},
{"name": "huggingface-hub", "version": "0.36.2", "stage": 6, "sha256": ["48f0c8eac16145dfce371e9d2d7772854a4f591bcb56c9cf548accf531d54270"]},
{"name": "hypercorn", "version": "0.18.0", "stage": 6, "sha256": ["225e268f2c1c2f28f6d8f6db8f40cb8c992963610c5725e13ccfcddccb24b1cd"]},
{"name": "hyperframe", "version": "6.1.0", "stage": 6, "sha256": ["b03380493a519fce58ea5af42e4a42317bf9bd425596f7a0835ffce80f1a42e5"]},
{"name": "idna", "version": "3.18", "stage": 6, "sha256": ["7f952cbe720b688055e3f87de14f5c3e5fdaa8bc3928985c4077ca689de849a2"]},
{"name": "ijson", "version": "3.5.0", "stage": 6, "sha256": ["1111a1c5ac79119c5d6e836f900c1a53844b50a18af38311baa6bb61e2645aca"]},
{"name": "interegular", "version": "0.3.3", "stage": 6, "sha256": ["b0c07007d48c89d6d19f7204972d369b2a77222722e126b6aa63aa721dc3b19c"]},
{"name": "itsdangerous", "version": "2.2.0", "stage": 6, "sha256": ["c6242fc49e35958c8b15141343aa660db5fc54d4f13a1db01a3f5891b98700ef"]},
{"name": "jinja2", "version": "3.1.6", "stage": 6, "sha256": ["85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67"]},
{"name": "jiter", "version": "0.15.0", "stage": 6, "sha256": ["392b8ab019e5502d08aff85c6272209c24bc2cbe706ea82a56368f524236614a"]},
{"name": "jmespath", "version": "1.1.0", "stage": 6, "sha256": ["a5663118de4908c91729bea0acadca56526eb2698e83de10cd116ae0f4e97c64"]},
{"name": "jsonschema", "version": "4.26.0", "stage": 6, "sha256": ["d489f15263b8d200f8387e64b4c3a75f06629559fb73deb8fdfb525f2dab50ce"]},
{"name": "jsonschema-specifications", "version": "2025.9.1", "stage": 6, "sha256": ["98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe"]},
{"name": "kiwisolver", "version": "1.5.0", "stage": 6, "sha256": ["ff710414307fefa903e0d9bdf300972f892c23477829f49504e59834f4195398"]},
{"name": "lark", "version": "1.2.2", "stage": 6, "sha256": ["c2276486b02f0f1b90be155f2c8ba4a8e194d42775786db622faccd652d8e80c"]},
{"name": "llamafactory", "version": "0.9.5", "stage": 6, "sha256": ["10776e9b259798bf65f6c5343f6298f0302e92e9cd47472abe29eef69e286c6a"]},
{"name": "llguidance", "version": "1.3.0", "stage": 6, "sha256": ["6f6caca5d78db7f76e1fbb0fff8607b861c32d47fa3d5dee2fc49de27ee269df"]},
{"name": "llvmlite", "version": "0.47.0", "stage": 6, "sha256": ["12a69d4bb05f402f30477e21eeabe81911e7c251cecb192bed82cd83c9db10d8"]},
{"name": "lm-format-enforcer", "version": "0.11.3", "stage": 6, "sha256": ["cf586350875def1ae7a8fba84fcbbfc8371424b6c9d05c1fcba70aa233fbf06f"]},
{"name": "loguru", "version": "0.7.3", "stage": 6, "sha256": ["31a33c10c8e1e10422bfd431aeb5d351c7cf7fa671e3c4df004162264b28220c"]},
{"name": "markdown-it-py", "version": "4.2.0", "stage": 6, "sha256": ["9f7ebbcd14fe59494226453aed97c1070d83f8d24b6fc3a3bcf9a38092641c4a"]},
{"name": "markupsafe", "version": "3.0.3", "stage": 6, "sha256": ["6b5420a1d9450023228968e7e6a9ce57f65d148ab56d2313fcd589eee96a7a50"]},
{"name": "matplotlib", "version": "3.11.0", "stage": 6, "sha256": ["5106c444d0bf966eee2853548c03772af4ab7199118e086c62fbac8ccb07c055"]},
{"name": "mcp", "version": "1.27.2", "stage": 6, "sha256": ["d6ff5160c6ca65d93013626efb3fc249de683c30b2d8570755ceddd490344de5"]},
{"name": "mdurl", "version": "0.1.2", "stage": 6, "sha256": ["84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8"]},
{"name": "memcache-hybrid", "version": "1.0.4", "stage": 6, "sha256": ["c848732ba43fe08a6badc808412fc45381f6c00779915301d1d77d9404bb7f56"]},
{"name": "memfabric-hybrid", "version": "1.0.8", "stage": 6, "sha256": ["47941c56f9b70302e5e4fb4b95d968d0afe7f5fbdfde70db0685ead14cef437a"]},
{"name": "mistral-common", "version": "1.11.3", "stage": 6, "sha256": ["dbfcef9d0c892727ee08a080f0c1039baed5430b291f5425ffd88892bf09e52c"]},
{"name": "model-hosting-container-standards", "version": "0.1.15", "stage": 6, "sha256": ["849e08c4732203ee861c8c24966b4e916ea4420fa324b430f7f74a1e1fe8811a"]},
{"name": "modelscope", "version": "1.37.1", "stage": 6, "sha256": ["7f7af2dd37339188cbd3c18a858b1297b8a75222b9a0fbf176c7df8189cac39a"]},
{"name": "mpmath", "version": "1.3.0", "stage": 6, "sha256": ["a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c"]},
{"name": "msgpack", "version": "1.2.0", "stage": 6, "sha256": ["50fe6434de89073273026dd032a62e8b63f8857a261d7a2df5b07c9e72f3a8f7"]},
{"name": "msgspec", "version": "0.21.1", "stage": 6, "sha256": ["d3124010b3815451494c85ff345e693cb9fe5889cfcbbef39ed8622e0e72319c"]},
{"name": "multidict", "version": "6.7.1", "stage": 6, "sha256": ["2e2d2ed645ea29f31c4c7ea1552fcfd7cb7ba656e1eafd4134a6620c9f5fdd9e", "55d97cc6dae627efa6a6e548885712d4864b81110ac76fa4e534c03819fa4a56"]},
{"name": "multiprocess", "version": "0.70.16", "stage": 6, "sha256": ["af4cabb0dac72abfb1e794fa7855c325fd2b55a10a44628a3c1ad3311c04127a", "c4a9944c67bd49f823687463660a2d6daae94c289adff97e0f9d696ba6371d02", "a0bafd3ae1b732eac64be2e72038231c1ba97724b60b09400d68f229fcc2fbf3", "a71d82033454891091a226dfc319d0cfa8019a4e888ef9ca910372a446de4435"]},
{"name": "networkx", "version": "3.6.1", "stage": 6, "sha256": ["d47fbf302e7d9cbbb9e2555a0d267983d2aa476bac30e90dfbe5669bd57f3762"]},
{"name": "ninja", "version": "1.13.0", "stage": 6, "sha256": ["3d00c692fb717fd511abeb44b8c5d00340c36938c12d6538ba989fe764e79630"]},
{"name": "numba", "version": "0.65.1", "stage": 6, "sha256": ["7ed425a43b0a5f9772f2f4e2dd0bbd12eabecae1af0b24efcfd4e053f012aac6"]},
{"name": "numpy", "version": "1.26.4", "stage": 6, "sha256": ["7ab55401287bfec946ced39700c053796e7cc0e3acbef09993a9ad2adba6ca6e"]},
{"name": "omegaconf", "version": "2.3.1", "stage": 6, "sha256": ["3d701d14e9a8828f1edd28bb70b725908b34277cdd72cf7d6a83f94dadc6b6a0"]},
{"name": "openai", "version": "2.24.0", "stage": 6, "sha256": ["fed30480d7d6c884303287bde864980a4b137b60553ffbcf9ab4a233b7a73d94"]},
{"name": "openai-harmony", "version": "0.0.8", "stage": 6, "sha256": ["e4f709815924ec325b9a890e6ab2bbb0ceec8e319a4e257328eb752cf36b2efc"]},
{"name": "opencv-python-headless", "version": "4.11.0.86", "stage": 6, "sha256": ["6efabcaa9df731f29e5ea9051776715b1bdd1845d7c9530065c7951d2a2899eb"]},
{"name": "opentelemetry-api", "version": "1.42.1", "stage": 6, "sha256": ["51a69edacadbc03a8950ace1c4c21099cacc538820ac2c9e36277e78cebba714"]},
{"name": "opentelemetry-exporter-otlp", "version": "1.42.1", "stage": 6, "sha256": ["aedd54545bb0587cd45210abdc8be545af9c01413f3307786e276df1e3c83bee"]},
{"name": "opentelemetry-exporter-otlp-proto-common", "version": "1.42.1", "stage": 6, "sha256": ["f48d395ab815b444da118868977e9798ea354c25737d5cf39578ae894011c140"]},
{"name": "opentelemetry-exporter-otlp-proto-grpc", "version": "1.42.1", "stage": 6, "sha256": ["0ae1177e2038b18a929b3098215243631ef91136cba26b7e2b12790ceb7e87cc"]},
{"name": "opentelemetry-exporter-otlp-proto-http", "version": "1.42.1", "stage": 6, "sha256": ["00a16da1b312a1d6c7233d600d557c91df71125af73020f3b9a7765bd699d59d"]},
{"name": "opentelemetry-proto", "version": "1.42.1", "stage": 6, "sha256": ["dedb74cba2886c59c7789b227a7a670613025a07489040050aedff6e5c0fb43c"]},
{"name": "opentelemetry-sdk", "version": "1.42.1", "stage": 6, "sha256": ["083cd4bbfaa5aa7b5a9e552430d9951219967cfb27aa61feb13a77aba1fc839d"]},
{"name": "opentelemetry-semantic-conventions", "version": "0.63b1", "stage": 6, "sha256": ["dfe5ef4dee82586b746f522b818ceb298d00b3d59f660042bd79404bff8d0682"]},
{"name": "opentelemetry-semantic-conventions-ai", "version": "0.5.1", "stage": 6, "sha256": ["25aeb22bd261543b4898a73824026d96770e5351209c7d07a0b1314762b1f6e4"]},
{"name": "orjson", "version": "3.11.9", "stage": 6, "sha256": ["48ee05097750de0ff69ed5b7bbcf0732182fd57a24043dcc2a1da780a5ead3a5"]},
{"name": "outlines-core", "version": "0.2.11", "stage": 6, "sha256": ["b31d5fc83b78aad282dd667b8d6e684614481fe08a7609ce0ce45dee64cd2991"]},
{"name": "packaging", "version": "26.2", "stage": 6, "sha256": ["5fc45236b9446107ff2415ce77c807cee2862cb6fac22b8a73826d0693b0980e"]},
{"name": "pandas", "version": "2.3.3", "stage": 6, "sha256": ["b468d3dad6ff947df92dcb32ede5b7bd41a9b3cceef0a30ed925f6d01fb8fa66"]},
{"name": "pandas-stubs", "version": "3.0.3.260530", "stage": 6, "sha256": ["a6277eb1c8cebf48d9b2413fcd2e9a6b4ff479c934a223c29eacbc3058c4cb55"]},
{"name": "partial-json-parser", "version": "0.2.1.1.post7", "stage": 6, "sha256": ["145119e5eabcf80cbb13844a6b50a85c68bf99d376f8ed771e2a3c3b03e653ae"]},
{"name": "peft", "version": "0.18.1", "stage": 6, "sha256": ["0bf06847a3551e3019fc58c440cffc9a6b73e6e2962c95b52e224f77bbdb50f1"]},
{"name": "pillow", "version": "11.3.0", "stage": 6, "sha256": ["643f189248837533073c405ec2f0bb250ba54598cf80e8c1e043381a60632f58", "7d1aa4de119a0ecac0a34a9c8bde33f34022e2e8f99104e47a3ca392fd60e37d"]},
{"name": "pip", "version": "26.1.2", "stage": 1, "sha256": ["382ff9f685ee3bc25864f820aa50505825f10f5458ffff07e30a6d96e5715cab"]},
{"name": "priority", "version": "2.0.0", "stage": 6, "sha256": ["6f8eefce5f3ad59baf2c080a664037bb4725cd0a790d53d59ab4059288faf6aa"]},
{"name": "prometheus-client", "version": "0.25.0", "stage": 6, "sha256": ["d5aec89e349a6ec230805d0df882f3807f74fd6c1a2fa86864e3c2279059fed1"]},
{"name": "prometheus-fastapi-instrumentator", "version": "7.1.0", "stage": 6, "sha256": ["978130f3c0bb7b8ebcc90d35516a6fe13e02d2eb358c8f83887cdef7020c31e9"]},
{"name": "propcache", "version": "0.5.2", "stage": 6, "sha256": ["2293949b855ce597f2826452d17c2d545fb5622379c4ea6fdf525e9b8e8a2511", "be1ddfcbb376e3de5d2e2db1d58d6d67463e6b4f9f040c000de8e300295465fe"]},
{"name": "protobuf", "version": "6.33.6", "stage": 6, "sha256": ["e2afbae9b8e1825e3529f88d514754e094278bb95eadc0e199751cdd9a2e82a2", "77179e006c476e69bf8e8ce866640091ec42e1beb80b213c3900006ecfba6901"]},
{"name": "psutil", "version": "7.2.2", "stage": 6, "sha256": ["b0726cecd84f9474419d67252add4ac0cd9811b04d61123054b9fb6f57df6e9e"]},
{"name": "py-cpuinfo", "version": "9.0.0", "stage": 6, "sha256": ["859625bc251f64e21f077d099d4162689c762b5d6a4c3c97553d56241c9674d5"]},
{"name": "pyarrow", "version": "24.0.0", "stage": 6, "sha256": ["0b3537c00fb8d384f15ac1e79b6eb6db04a16514c8c1d22e59a9b95c8ba42868"]},
{"name": "pybase64", "version": "1.4.3", "stage": 6, "sha256": ["7cd1c47dfceb9c7bd3de210fb4e65904053ed2d7c9dce6d107f041ff6fbd7e21"]},
{"name": "pybind11", "version": "3.0.4", "stage": 6, "sha256": ["961720ee652da51d531b7b2451a6bd2bc042b0106e6d9baa48ecb7d58034ce63"]},
{"name": "pycountry", "version": "26.2.16", "stage": 6, "sha256": ["115c4baf7cceaa30f59a4694d79483c9167dbce7a9de4d3d571c5f3ea77c305a"]},
{"name": "pycparser", "version": "3.0", "stage": 6, "sha256": ["b727414169a36b7d524c1c3e31839a521725078d7b2ff038656844266160a992"]},
{"name": "pydantic", "version": "2.12.3", "stage": 6, "sha256": ["6986454a854bc3bc6e5443e1369e06a3a456af9d339eda45510f517d9ea5c6bf"]},
{"name": "pydantic-core", "version": "2.41.4", "stage": 6, "sha256": ["eae547b7315d055b0de2ec3965643b0ab82ad0106a7ffd29615ee9f266a02827"]},
{"name": "pydantic-extra-types", "version": "2.11.1", "stage": 6, "sha256": ["1722ea2bddae5628ace25f2aa685b69978ef533123e5638cfbddb999e0100ec1"]},
{"name": "pydantic-settings", "version": "2.14.1", "stage": 6, "sha256": ["6e3c7edfd8277687cdc598f56e5cff0e9bfff0910a3749deaa8d4401c3a2b9de"]},
{"name": "pydub", "version": "0.25.1", "stage": 6, "sha256": ["65617e33033874b59d87db603aa1ed450633288aefead953b30bded59cb599a6"]},
{"name": "pygments", "version": "2.20.0", "stage": 6, "sha256": ["81a9e26dd42fd28a23a2d169d86d7ac03b46e2f8b59ed4698fb4785f946d0176"]},
{"name": "pyjwt", "version": "2.13.0", "stage": 6, "sha256": ["66adcc2aff09b3f1bbd95fc1e1577df8ac8723c978552fd43304c8a290ac5728"]},
{"name": "pyparsing", "version": "3.3.2", "stage": 6, "sha256": ["850ba148bd908d7e2411587e247a1e4f0327839c40e2e5e6d05a007ecc69911d"]},
{"name": "python-dateutil", "version": "2.9.0.post0", "stage": 6, "sha256": ["a8b2bc7bffae282281c8140a97d3aa9c14da0b136dfe83f850eea9a5f7470427"]},
{"name": "python-dotenv", "version": "1.2.2", "stage": 6, "sha256": ["1d8214789a24de455a8b8bd8ae6fe3c6b69a5e3d64aa8a8e5d68e694bbcb285a"]},
{"name": "python-json-logger", "version": "4.1.0", "stage": 6, "sha256": ["132994765cf75bf44554be9aa49b06ef2345d23661a96720262716438141b6b2"]},
{"name": "python-multipart", "version": "0.0.32", "stage": 6, "sha256": ["ff6d3f776f16878c894e52e107296ffc890e913c611b1a4ec6c44e2821fe2e23"]},
{"name": "pytz", "version": "2026.2", "stage": 6, "sha256": ["04156e608bee23d3792fd45c94ae47fae1036688e75032eea2e3bf0323d1f126"]},
{"name": "pyyaml", "version": "6.0.3", "stage": 6, "sha256": ["10892704fc220243f5305762e276552a0395f7beb4dbf9b14ec8fd43b57f126c"]},
{"name": "pyzmq", "version": "27.1.0", "stage": 6, "sha256": ["c895a6f35476b0c3a54e3eb6ccf41bf3018de937016e6e18748317f25d4e925f"]},
{"name": "quart", "version": "0.20.0", "stage": 6, "sha256": ["003c08f551746710acb757de49d9b768986fd431517d0eb127380b656b98b8f1"]},
{"name": "referencing", "version": "0.37.0", "stage": 6, "sha256": ["381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231"]},
{"name": "regex", "version": "2026.5.9", "stage": 6, "sha256": ["992604d02e6d9c6d786c24a706a71ecffe1020fc1ef264044474cd81fa2c3919"]},
{"name": "requests", "version": "2.34.2", "stage": 6, "sha256": ["2a0d60c172f83ac6ab31e4554906c0f3b3588d37b5cb939b1c061f4907e278e0"]},
{"name": "rich", "version": "15.0.0", "stage": 6, "sha256": ["33bd4ef74232fb73fe9279a257718407f169c09b78a87ad3d296f548e27de0bb"]},
{"name": "rich-toolkit", "version": "0.20.1", "stage": 6, "sha256": ["2a6d5f8e15759b9eba5a9ee63da10b275359ead20e5a0fc92bd5b4dbae8ce4bf"]},
{"name": "rignore", "version": "0.7.6", "stage": 6, "sha256": ["16b63047648a916a87be1e51bb5c009063f1b8b6f5afe4f04f875525507e63dc"]},
{"name": "rpds-py", "version": "2026.5.1", "stage": 6, "sha256": ["d0efbe45632665e53e3db8fe1e5692db58fc5cb9bab4459d570b83efefe11164"]},
{"name": "ruff", "version": "0.15.17", "stage": 6, "sha256": ["6ba0c1e4f95bcb3869d0d30cbd5917071ef2e28665abfec970cdab0492c713ed"]},
{"name": "safehttpx", "version": "0.1.7", "stage": 6, "sha256": ["c4f4a162db6993464d7ca3d7cc4af0ffc6515a606dfd220b9f82c6945d869cde"]},
{"name": "safetensors", "version": "0.8.0", "stage": 6, "sha256": ["7a46e5ff292c356d6991e60942ba7f79817682d3a2cef0702136448cb9c4d235"]},
{"name": "scipy", "version": "1.17.1", "stage": 6, "sha256": ["744b2bf3640d907b79f3fd7874efe432d1cf171ee721243e350f55234b4cec4c"]},
{"name": "semantic-version", "version": "2.10.0", "stage": 6, "sha256": ["de78a3b8e0feda74cabc54aab2da702113e33ac9d9eb9d2389bcf1f58b7d9177"]},
{"name": "sentencepiece", "version": "0.2.1", "stage": 6, "sha256": ["0a0d15781a171d188b661ae4bde1d998c303f6bd8621498c50c671bd45a4798e"]},
{"name": "sentry-sdk", "version": "2.62.0", "stage": 6, "sha256": ["27f61d13a86c3c1648dec666dd5a64f79772dd6a84b446f11866601ecab24f6f"]},
{"name": "setproctitle", "version": "1.3.7", "stage": 6, "sha256": ["a20fb1a3974e2dab857870cf874b325b8705605cb7e7e8bcbb915bca896f52a9"]},
{"name": "setuptools", "version": "80.10.2", "stage": 1, "sha256": ["95b30ddfb717250edb492926c92b5221f7ef3fbcc2b07579bcd4a27da21d0173"]},
{"name": "setuptools-scm", "version": "10.0.5", "stage": 6, "sha256": ["f611037d8aae618221503b8fa89319f073438252ae3420e01c9ceec249131a0a"]},
{"name": "shellingham", "version": "1.5.4", "stage": 6, "sha256": ["7ecfff8f2fd72616f7481040475a65b2bf8af90a56c89140852d1120324e8686"]},
{"name": "shtab", "version": "1.8.0", "stage": 6, "sha256": ["f0922a82174b4007e06ac0bac4f79abd826c5cca88e201bfd927f889803c571d"]},
{"name": "six", "version": "1.17.0", "stage": 6, "sha256": ["4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274"]},
{"name": "sniffio", "version": "1.3.1", "stage": 6, "sha256": ["2f6da418d1f1e0fddd844478f41680e794e6051915791a034ff65e5f100525a2"]},
{"name": "sse-starlette", "version": "3.4.4", "stage": 6, "sha256": ["3f4dd50d8aed2771a091f3a83000323fc3844541c16b4fe585ae2420cc6df973"]},
{"name": "starlette", "version": "0.50.0", "stage": 6, "sha256": ["9e5391843ec9b6e472eed1365a78c8098cfceb7a74bfd4d6b1c0c0095efb3bca"]},
{"name": "supervisor", "version": "4.3.0", "stage": 6, "sha256": ["0bcb763fddafba410f35cbde226aa7f8514b9fb82eb05a0c85f6588d1c13f8db"]},
{"name": "sympy", "version": "1.14.0", "stage": 6, "sha256": ["e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5"]},
{"name": "termcolor", "version": "3.3.0", "stage": 6, "sha256": ["cf642efadaf0a8ebbbf4bc7a31cec2f9b5f21a9f726f4ccbb08192c9c26f43a5"]},
{"name": "tiktoken", "version": "0.13.0", "stage": 6, "sha256": ["059c8ecf554eb5b41e6e054ba467b871b03277d267dee7244380aca4359747d4"]},
{"name": "tokenizers", "version": "0.22.2", "stage": 6, "sha256": ["2249487018adec45d6e3554c71d46eb39fa8ea67156c640f7513eb26f318cec7"]},
{"name": "tomlkit", "version": "0.13.3", "stage": 6, "sha256": ["c89c649d79ee40629a9fda55f8ace8c6a1b42deb912b2a8fd8d942ddadb606b0"]},
{"name": "torch", "version": "2.9.0", "stage": 3, "sha256": ["c596708b5105d0b199215acf0c9be7c1db5f1680d88eddadf4b75a299259a677"]},
{"name": "torch-npu", "version": "2.9.0", "stage": 4, "sha256": ["6f2bda402cb03b292e6f2327b2e20e8dd688ad5e16642edc184ff4340783ddb2"]},
{"name": "torchaudio", "version": "2.9.0", "stage": 6, "sha256": ["914f1408142bdeda1ca9f834dd04967625fccc75893bd1504a018a13a04f1b66"]},
{"name": "torchdata", "version": "0.11.0", "stage": 6, "sha256": ["52b940fbbe0e00fb21cabddf528449d1bec5bfb0d0823b7487b15f951658ee33"]},
{"name": "torchvision", "version": "0.24.0", "stage": 6, "sha256": ["bbd63bf4ebff84c48c50123eba90526cc9f794fe45bc9f5dd07cec19e8c62bce"]},
{"name": "tqdm", "version": "4.68.2", "stage": 6, "sha256": ["d4240441fb5353290b87d6a85968c9decc131a99b8c7faa28269d829de669ede"]},
{"name": "transformers", "version": "4.57.6", "stage": 6, "sha256": ["4c9e9de11333ddfe5114bc872c9f370509198acf0b87a832a0ab9458e2bd0550"]},
{"name": "triton-ascend", "version": "3.2.0", "stage": 5, "sha256": ["69a9aecd6fa8b0beb798d16989bb24bc8a1ad61ded71526d6099d4179c428043"]},
{"name": "trl", "version": "0.24.0", "stage": 6, "sha256": ["a9145b7d4a4a33778de117bda48530f0cf5b2ac25acc07db80ad04836f490dfc"]},
{"name": "typer", "version": "0.26.7", "stage": 6, "sha256": ["5c87cfbc5d34491c5346ebf49c23e18d56ccb863268d3a8d592b26087c2f5e58"]},
{"name": "typing-extensions", "version": "4.15.0", "stage": 6, "sha256": ["f0fa19c6845758ab08074a0cfa8b7aecb71c999ca73d62883bc25cc018c4e548"]},
{"name": "typing-inspection", "version": "0.4.2", "stage": 6, "sha256": ["4ed1cacbdc298c220f1bd249ed5287caa16f34d44ef4e9c3d0cbad5b521545e7"]},
{"name": "tyro", "version": "0.8.14", "stage": 6, "sha256": ["1904bffb0e4d5e16c5eb50c518c89a368a44d56405f79b316c58e1206c102e87"]},
{"name": "tzdata", "version": "2026.2", "stage": 6, "sha256": ["bbe9af844f658da81a5f95019480da3a89415801f6cc966806612cc7169bffe7"]},
{"name": "urllib3", "version": "2.7.0", "stage": 6, "sha256": ["9fb4c81ebbb1ce9531cce37674bbc6f1360472bc18ca9a553ede278ef7276897"]},
{"name": "uvicorn", "version": "0.49.0", "stage": 6, "sha256": ["ba3d14c3ee7e41c6c654c46c9eb489d33213cdd30aa1696eab1374337c13f68f"]},
{"name": "uvloop", "version": "0.22.1", "stage": 6, "sha256": ["53c85520781d84a4b8b230e24a5af5b0778efdb39142b424990ff1ef7c48ba21"]},
{"name": "vcs-versioning", "version": "1.1.1", "stage": 6, "sha256": ["b541e2ba79fc6aaa3850f8a7f88af43d97c1c80649c01142ee4146eddbc599e4"]},
{"name": "vllm", "version": "0.18.0", "stage": 7, "built": true, "key": "afd9b04e6992e03308a97a999842dad6", "env": [["TORCH_DEVICE_BACKEND_AUTOLOAD", "0"], ["VLLM_TARGET_DEVICE", "empty"], ["VLLM_VERSION_OVERRIDE", "0.18.0"]], "tools": ["cmake==4.3.2", "jinja2==3.1.6", "ninja==1.13.0", "packaging==26.2", "setuptools==80.10.2", "setuptools-scm==10.0.5", "torch==2.9.0", "wheel==0.47.0"], "sha256": ["9a1bee091db8dbb4664a2a09cd9c61912e9912a44af1ce12b8593a231d05971c"]},
{"name": "vllm-ascend", "version": "0.18.0", "stage": 8, "sha256": ["5395dc4065dea188d0fead4a01c20243a92101a27b4e79c23aeacda844a3f690"]},
{"name": "watchfiles", "version": "1.2.0", "stage": 6, "sha256": ["89d8c2394a065ca86f5d2910ff263ae67c127e1376ccc4f9fc35c71db879f80a"]},
{"name": "websockets", "version": "15.0.1", "stage": 6, "sha256": ["d99e5546bf73dbad5bf3547174cd6cb8ba7273062a23808ffea025ecb1cf8562", "f7a866fbc1e97b5c617ee4116daaa09b722101d4a3c170c787450ba409f9736f"]},
{"name": "werkzeug", "version": "3.1.8", "stage": 6, "sha256": ["63a77fb8892bf28ebc3178683445222aa500e48ebad5ec77b0ad80f8726b1f50"]},
{"name": "wheel", "version": "0.47.0", "stage": 6, "sha256": ["212281cab4dff978f6cedd499cd893e1f620791ca6ff7107cf270781e587eced"]},
{"name": "wsproto", "version": "1.3.2", "stage": 6, "sha256": ["61eea322cdf56e8cc904bd3ad7573359a242ba65688716b0710a5eb12beab584"]},
{"name": "xgrammar", "version": "0.2.2", "stage": 6, "sha256": ["b9cdee0cba22bcddd2e5c8ec1922a5c8f683185c498e8a1b35908e48681b2879"]},
{"name": "xxhash", "version": "3.7.0", "stage": 6, "sha256": ["363c139bf15e1ac5f136b981d3c077eb551299b1effede7f12faa010b8590a60"]},
{"name": "yarl", "version": "1.24.2", "stage": 6, "sha256": ["0a6377060e7927187a42b7eb202090cbe2b34933a4eeaf90e3bd9e33432e5cae", "2783d9226db8797636cd6896e4de81feed252d1db72265686c9558d97a4d94b9"]}
],
"texts": {
"en": {
"built-none": "{folder} has no wheel of {name}, so it is built",
"built-otherwise": "the wheel of {name} in {folder} was built from another source, with other tools or variables, so it is built again",
"built-elsewhere": "the wheel of {name} in {folder} was built for another machine: its {what} is {found}, here it is {here}. {name} is built instead",
"built-changed": "{file} in {folder} is missing or was changed after it was built, so {name} is built",
"built-unreadable": "{path} cannot be read: {why}",
"group-network": "network",
"note-network": "{count} NPUs, TLS {tls}, MTU {mtu}",
"network-unseen-brief": "not checked",
"network-unseen-what": "the network between NPUs was not checked: this machine has no NPU or no hccn_tool",
"network-unseen-why": "only hccn_tool of the driver knows the network ports of NPUs",
"network-unseen-mend": "run this on a node with NPUs; in a container, mount /usr/local/Ascend/driver",
"network-unread-brief": "{count} without a state",
"network-unread-what": "hccn_tool reports no link state for {count} NPUs",
"network-unread-why": "it may need root, or this chip may have no network ports of its own",
"network-unread-mend": "run `hccn_tool -i 0 -link -g` and read its message",
"network-down-brief": "link down",
"network-down-what": "the network link is not UP on NPU {numbers}",
"network-down-why": "a job on several nodes waits for this NPU until it times out",
"network-down-mend": "check the cable and the optical module, then `hccn_tool -i N -link -g`",
"network-unhealthy-brief": "unhealthy",
"network-unhealthy-what": "the network health is {states} on NPU {numbers}",
"network-unhealthy-why": "the NPU cannot reach its health-check address, usually its gateway",
"network-unhealthy-mend": "compare `hccn_tool -i N -netdetect -g` and `hccn_tool -i N -gateway -g` with a healthy node",
"network-address-missing-brief": "no address",
"network-address-missing-what": "NPU {numbers} has no network address",
"network-address-missing-why": "other nodes cannot connect to it",
"network-address-missing-mend": "set one: hccn_tool -i N -ip -s address ADDRESS netmask MASK",
"network-address-shared-brief": "one address twice",
"network-address-shared-what": "NPUs {numbers} have the same network address {address}",
"network-address-shared-why": "messages for one of them reach the other",
"network-address-shared-mend": "give one of them another address: hccn_tool -i N -ip -s address ADDRESS netmask MASK",
"network-tls-mixed-brief": "TLS on some only",
"network-tls-mixed-what": "TLS is on for some NPUs and off for others ({tls})",
"network-tls-mixed-why": "HCCL refuses a job whose NPUs differ in it (EI0016)",
"network-tls-mixed-mend": "use the same state on all NPUs of all nodes: off is `hccn_tool -i N -tls -s enable 0`, on is `enable 1`",
"system-differs-brief": "another system",
"system-differs-what": "this is {found}, but the lock is for Linux",
"system-differs-why": "its files are built for Linux",
"system-differs-mend": "run this on the machine that the lock is for",
"processor-differs-brief": "another processor",
"processor-differs-what": "this machine is {found}, but the lock is for {wanted}",
"processor-differs-why": "the lock's compiled files run only on {wanted}",
"processor-differs-mend": "run this on the machine that the lock is for, or set platform = \"linux-{found}\" in the stack's target and lock again",
"glibc-missing-brief": "no glibc",
"glibc-missing-what": "the C library is not glibc",
"glibc-missing-why": "the lock's wheels need glibc {wanted} or newer",
"glibc-missing-mend": "use a system with glibc",
"glibc-old-brief": "glibc too old",
"glibc-old-what": "glibc is {found}, but the lock needs {wanted} or newer",
"glibc-old-why": "the lock's compiled files may use functions that an older glibc lacks",
"glibc-old-mend": "set glibc = \"{found}\" in the stack's target and lock again",
"python-differs-brief": "another version",
"python-differs-what": "{python} is Python {found}, but the lock is for {wanted}",
"python-differs-why": "wheels with compiled modules work with only one minor version of CPython",
"python-differs-mend": "{fresh}",
"python-elsewhere": "name a Python {wanted} of this machine, or install one",
"python-unusable-brief": "not checked",
"python-unusable-what": "{python} cannot be run, so no Python was checked",
"python-unusable-why": "{reason}",
"python-unusable-mend": "name a Python {wanted} that runs: --python PATH",
"python-unusable-error": "error: {python} cannot be run: {reason}\nhint: pass --python PATH of an environment",
"python-unusable-other": "it does not run as Python",
"python-shared-brief": "no environment",
"python-shared-what": "{python} is not in a virtual or conda environment",
"python-shared-why": "other programs share these distributions and may change them",
"python-shared-mend": "{fresh}",
"lock-differs-brief": "made from another lock",
"lock-differs-what": "{program} was not made from the lock beside it, {path}",
"lock-differs-why": "one of the two was changed or belongs to another lock, so these checks would not be the lock's",
"lock-differs-mend": "copy the whole folder again; on the machine where you lock, `ascend-lock check {stack}` tells whether its files match",
"lock-unreadable-brief": "unreadable",
"lock-unreadable-what": "the lock could not be read from {path}: {why}",
"lock-unreadable-why": "it is unknown whether this program was made from it",
"lock-unreadable-mend": "make it readable, or copy the whole folder again",
"environment-other-brief": "another environment",
"environment-other-what": "{python} has {found} of the lock's {count} distributions",
"environment-other-why": "this is not the environment that install.sh installed into, or the installation did not finish",
"environment-other-mend": "activate that environment, or pass --python PATH; to install it: {install}",
"cann-inactive-brief": "not active",
"cann-inactive-what": "CANN is not active: ASCEND_HOME_PATH is not set",
"cann-inactive-why": "torch_npu finds CANN's libraries through it",
"cann-inactive-mend": "install CANN {wanted}, then source its set_env.sh",
"cann-gone-brief": "active one is gone",
"cann-gone-what": "the active CANN does not exist: {variable} is {home}, which is not a folder",
"cann-gone-why": "it was moved or removed after set_env.sh was sourced",
"cann-gone-mend": "source the set_env.sh of CANN {wanted} in a new shell",
"cann-half-active-brief": "half active",
"cann-half-active-what": "ASCEND_TOOLKIT_HOME is {home}, but ASCEND_HOME_PATH is not set",
"cann-half-active-why": "torch_npu finds CANN's libraries through ASCEND_HOME_PATH and cannot be imported without",
"cann-half-active-mend": "source CANN's set_env.sh, which sets both",
"component-invalid-brief": "invalid value in the lock",
"component-invalid-what": "the lock states {component} {wanted}, which is no version of CANN or HDK",
"component-invalid-why": "the machine cannot be compared with it; ascend-lock does not write such a lock",
"component-invalid-mend": "state the version in the stack's target and lock again",
"cann-unreadable-brief": "unreadable",
"cann-unreadable-what": "the CANN release in {home} could not be read from {path}: {why}",
"cann-unreadable-why": "it is unknown whether this is {wanted}, and the installation may be incomplete",
"cann-unreadable-mend": "source the set_env.sh of CANN {wanted}, or reinstall it if this is its folder",
"cann-file-unreadable-brief": "version file unreadable",
"cann-file-unreadable-what": "the CANN version file {path} could not be read: {why}",
"cann-file-unreadable-why": "the installation may be incomplete",
"cann-file-unreadable-mend": "reinstall that part of CANN",
"cann-differs-brief": "another version",
"cann-differs-what": "CANN is {found}, but the lock is for {wanted} (active: {home})",
"cann-differs-why": "torch_npu and the packages that use it are built for specific CANN releases",
"cann-differs-mend": "install and activate CANN {wanted}, or set cann = \"{found}\" in the stack's target and lock again",
"cann-parts-differ-brief": "{count} parts of other versions",
"cann-parts-differ-what": "CANN is {found}, but parts of it are from a different release: {list} ({count} in all)",
"cann-parts-differ-why": "operators and libraries of different releases fail at run time when they are mixed",
"cann-parts-differ-mend": "reinstall the toolkit, operators and NNAL of CANN {found}",
"nnal-differs-brief": "NNAL of another version",
"nnal-differs-what": "NNAL is {found}, but CANN is {wanted} ({path})",
"nnal-differs-why": "NNAL must be the same release as the toolkit",
"nnal-differs-mend": "install Ascend-cann-nnal {wanted}",
"hdk-missing-brief": "missing",
"hdk-missing-what": "no driver (HDK) was found: {path} does not exist",
"hdk-missing-why": "the lock is for {wanted} or newer",
"hdk-missing-mend": "install HDK {wanted} or newer; in a container, mount /usr/local/Ascend/driver",
"hdk-unreadable-brief": "unreadable",
"hdk-unreadable-what": "the version of the driver (HDK) could not be read from {path}: {why}",
"hdk-unreadable-why": "it is unknown whether this is {wanted} or newer",
"hdk-unreadable-mend": "reinstall the driver, HDK {wanted} or newer",
"hdk-file-unreadable-brief": "version file unreadable",
"hdk-file-unreadable-what": "the version of the driver (HDK) could not be read from {path}: {why}",
"hdk-file-unreadable-why": "the installation may be incomplete",
"hdk-file-unreadable-mend": "reinstall the driver",
"hdk-old-brief": "too old",
"hdk-old-what": "the driver (HDK) is {found}, but the lock is for {wanted} or newer ({path})",
"hdk-old-why": "an older driver may lack what the stack uses",
"hdk-old-mend": "install HDK {wanted} or newer on the machine (a container uses its host's) and restart it, or set hdk = \"{found}\" in the stack's target and lock again",
"hdk-refused-brief": "unsuitable",
"hdk-refused-what": "the driver (HDK) is {found}, and {by} needs {asked} ({path})",
"hdk-refused-why": "{reason}",
"hdk-refused-mend": "install driver and firmware that meet {asked} on the machine (a container uses its host's) and restart it",
"hdk-unmet-brief": "unsuitable",
"hdk-unmet-what": "the driver (HDK) is {found}, and {by} asks for {asked} ({path})",
"hdk-unmet-why": "{reason}",
"hdk-unmet-mend": "install driver and firmware that meet {asked} on the machine (a container uses its host's) and restart it",
"hdk-not-running-brief": "another one is running",
"hdk-not-running-what": "{path} says the driver is {found}, but npu-smi says {running}",
"hdk-not-running-why": "a new driver takes effect only after a restart",
"hdk-not-running-mend": "restart the machine",
"soc-unknown-brief": "unknown",
"soc-unknown-what": "the SoC is unknown: npu-smi is missing, does not run or shows no NPU",
"soc-unknown-why": "the lock's binaries and CANN's operators are for {wanted}",
"soc-unknown-mend": "run this on a machine with NPUs; in a container, pass the devices and mount npu-smi and /usr/local/Ascend/driver, whose lib64 npu-smi needs in LD_LIBRARY_PATH",
"soc-unnamed-brief": "unknown chip",
"soc-unnamed-what": "npu-smi reports the chip {chip}, which belongs to no known SoC family",
"soc-unnamed-why": "the lock's binaries and CANN's operators are for {wanted}",
"soc-unnamed-mend": "compare the chip with component.soc in matrices/systems.toml",
"soc-mixed-brief": "several families",
"soc-mixed-what": "this machine has chips of several families: beside {found} also {list}",
"soc-mixed-why": "the lock's binaries and CANN's operators are for {wanted}; a program that runs on another chip fails",
"soc-mixed-mend": "let programs see only the NPUs of {wanted}: ASCEND_RT_VISIBLE_DEVICES",
"soc-differs-brief": "another family",
"soc-differs-what": "the SoC is {found} ({chip}), but the lock is for {wanted}",
"soc-differs-why": "binaries and operators for another SoC load but fail when they run",
"soc-differs-mend": "set soc = \"{found}\" in the stack's target and lock again",
"npu-absent-brief": "not tested",
"npu-absent-what": "this machine has no NPU, so the NPU test was not run",
"npu-absent-why": "only a test on an NPU shows whether torch_npu works",
"npu-absent-mend": "run this on a machine with NPUs",
"npu-failed-brief": "failed",
"npu-failed-what": "a tensor computation on the NPU failed: {error}",
"npu-failed-why": "nothing that uses torch_npu will work",
"npu-failed-mend": "see the full message: {command}",
"npu-wrong-brief": "wrong result",
"npu-wrong-what": "the sum of a test tensor on the NPU is {found} instead of 8.0",
"npu-wrong-why": "operators for another SoC or release give wrong results",
"npu-wrong-mend": "check that CANN's operator package matches the SoC",
"distribution-missing-brief": "{count} missing",
"distribution-missing-what": "missing {count} of the lock's {total} distributions: {list}",
"distribution-missing-why": "programs that need them fail when they use them",
"distribution-missing-mend": "{install}",
"distribution-differs-brief": "{count} of another version",
"distribution-differs-what": "{name} is {found}, but the lock has {wanted}",
"distribution-differs-why": "the lock's versions were resolved together",
"distribution-differs-mend": "{install}",
"distribution-elsewhere-brief": "{count} from elsewhere",
"distribution-elsewhere-what": "{name} {wanted} was installed from a different source: {found}",
"distribution-elsewhere-why": "the version matches the lock, but the files may not",
"distribution-elsewhere-mend": "{again}",
"distribution-otherwise-brief": "{count} of another file or build",
"distribution-otherwise-what": "{name} {wanted} was installed from another file than the lock's, or built in another way",
"distribution-otherwise-why": "the version is the same, but install.sh noted other hashes, another commit, other variables or other tools when it installed it",
"distribution-otherwise-mend": "{again}",
"distribution-editable-brief": "{count} editable",
"distribution-editable-what": "{name} {wanted} is an editable installation of {found}",
"distribution-editable-why": "its files are whatever that folder contains now",
"distribution-editable-mend": "{again}",
"distribution-conda-brief": "{count} from conda",
"distribution-conda-what": "{name} {wanted} was installed by conda",
"distribution-conda-why": "it is conda's own build, not the lock's file, so its files were not compared",
"distribution-conda-mend": "{again}",
"distribution-twice-brief": "{count} installed twice",
"distribution-twice-what": "{name} is installed twice: {one} and {other}",
"distribution-twice-why": "an installation was interrupted, and files of both are mixed",
"distribution-leftover-brief": "{count} left over",
"distribution-leftover-what": "an interrupted installation left {path} behind",
"distribution-leftover-why": "pip warns about it every time; nothing uses it",
"distribution-unwanted-brief": "{count} unwanted",
"distribution-unwanted-what": "{name} is installed but must not be: {reason}",
"distribution-unwanted-why": "the lock excludes it",
"distribution-extra-brief": "{count} extra",
"distribution-extra-what": "not in the lock: {list} ({count} in all)",
"distribution-extra-why": "the lock says nothing about them, and their files were not checked",
"metadata-broken-brief": "metadata unreadable: {count}",
"metadata-broken-what": "{path} of {name} cannot be read: {why}",
"metadata-broken-why": "pip and other tools cannot tell what is installed",
"record-missing-brief": "RECORD missing: {count}",
"record-missing-what": "{name} {version} has no RECORD in {folder}",
"record-missing-why": "its files cannot be checked, and pip cannot uninstall it",
"record-broken-brief": "RECORD unreadable: {count}",
"record-broken-what": "{path} of {name} {version} cannot be read: {why}",
"record-broken-why": "its files cannot be checked, and pip cannot uninstall it",
"file-missing-brief": "{count} missing",
"file-missing-what": "files of {name} {version} are missing: {list} ({count} in all)",
"file-missing-why": "something removed or overwrote a part of it",
"file-missing-mend": "{again}",
"file-changed-brief": "{count} changed",
"file-changed-what": "files of {name} {version} were changed after installation: {list} ({count} in all)",
"file-changed-why": "what runs is not what the lock pins",
"file-changed-mend": "{again}",
"extra-changed-brief": "{count} changed outside of the lock",
"extra-changed-what": "files of {name} {version}, which the lock does not have, were changed after installation: {list} ({count} in all)",
"extra-changed-why": "it is in the same environment and may run code there, even at each start of Python, that its installer did not write",
"extra-changed-mend": "install {name} again",
"file-unreadable-brief": "{count} unreadable",
"file-unreadable-what": "files of {name} {version} cannot be read: {list} ({count} in all)",
"file-unreadable-why": "their content could not be compared with the lock",
"file-unreadable-mend": "{again}",
"file-unhashed-brief": "{count} without a hash",
"file-unhashed-what": "RECORD of {name} {version} has no hash of {list} ({count} in all)",
"file-unhashed-why": "so nothing tells whether they are as they were installed",
"file-unhashed-mend": "install.sh completes it when it installs: {again}",
"bytecode-differs-brief": "{count} compiled ones differ",
"bytecode-differs-what": "{count} compiled files that Python runs do not match their sources: {list}",
"bytecode-differs-why": "Python runs files in __pycache__ without comparing them with the source, and RECORD has no hash of them; another patch release of Python compiled them, or somebody put them there",
"bytecode-differs-mend": "remove them: Python compiles the sources again",
"file-stale-brief": "{count} of no distribution",
"file-stale-what": "files in the packages of {owners} belong to no distribution: {list} ({count} in all)",
"file-stale-why": "they can be imported although the lock does not have them; an interrupted installation left them, or somebody added them",
"file-added-brief": "{count} added",
"file-added-what": "files were added to the packages of {owners}: {list} ({count} in all)",
"file-added-why": "no distribution has them; a program wrote them, an interrupted installation left them, or somebody added them",
"startup-extra-brief": "{count} run at each start",
"startup-extra-what": "files in {folder} that run at each start of Python belong to no distribution: {list} ({count} in all)",
"startup-extra-why": "the lock says nothing about them, and their code runs in every program of this environment",
"startup-extra-mend": "remove them, or install what you have put there as a distribution: an interrupted installation leaves such files, too",
"startup-unknown-brief": "{count} run at each start, of unknown origin",
"startup-unknown-what": "files in {folder} that run at each start of Python may belong to no distribution: {list} ({count} in all)",
"startup-unknown-why": "no list of files has them, but the folder is shared with other programs or has distributions without such a list",
"startup-unknown-mend": "remove them unless somebody needs them: an interrupted installation leaves such files, too",
"startup-changed-brief": "{count} run at each start, changed",
"startup-changed-what": "{list} in {folder} is not as any known release of virtualenv or uv makes it",
"startup-changed-why": "it runs at each start of Python, and no distribution has it: a newer release made it, or somebody changed it",
"startup-changed-mend": "compare it with that of the tool that made this environment, or remove it with the `.pth` file beside it",
"startup-added-brief": "{count} run at each start, outside of the lock",
"startup-added-what": "files of {name}, which the lock does not have, run at each start of Python: {list} ({count} in all)",
"startup-added-why": "their code runs in every program of this environment",
"startup-added-mend": "uninstall {name} unless you need it",
"module-replaced-brief": "{count} hide locked ones",
"module-replaced-what": "modules in {folder} have the names of locked modules, but belong to no locked distribution: {list} ({count} in all)",
"module-replaced-why": "Python can import them in place of what the lock has",
"module-extra-brief": "{count} extra",
"module-extra-what": "modules in {folder} belong to no distribution: {list} ({count} in all)",
"module-extra-why": "the lock says nothing about them, and they can be imported",
"module-extra-mend": "remove them unless you have put them there: an interrupted installation leaves such files, too",
"path-extra-brief": "{count} extra on the search path",
"path-extra-what": "folders or archives that no distribution has are on the search path of Python: {list} ({count} in all)",
"path-extra-why": "`.pth` files add them; what is in them can be imported, and was not judged",
"path-extra-mend": "remove their lines from easy-install.pth or conda.pth unless you need them",
"checkout-other-brief": "{count} at another commit",
"checkout-other-what": "{name} is at commit {found} in {folder}, the lock has {wanted}",
"checkout-other-why": "it is installed as this folder, so Python runs what is in there",
"checkout-unmarked-brief": "{count} without our mark",
"checkout-unmarked-what": "{folder} does not have the mark that install.sh leaves for {name} at commit {wanted}",
"checkout-unmarked-why": "the mark .git/ascend-lock says that it was built with the steps and variables of this lock",
"checkout-changed-brief": "{count} changed",
"checkout-changed-what": "files of {name} in {folder} were changed after installation: {list} ({count} in all)",
"checkout-changed-why": "they match neither commit {wanted} nor the steps of the lock that change it",
"checkout-hidden-brief": "{count} hide modules",
"checkout-hidden-what": "files that commit {wanted} does not have hide modules of {name} in {folder}: {list} ({count} in all)",
"checkout-hidden-why": "Python imports them in place of the commit's, and install.sh did not note them",
"checkout-added-brief": "{count} added",
"checkout-added-what": "modules that commit {wanted} does not have were added to {name} in {folder}: {list} ({count} in all)",
"checkout-added-why": "they can be imported, and install.sh did not note them when it built the checkout",
"checkout-added-mend": "remove them unless you have put them there",
"checkout-unreadable-brief": "{count} unreadable",
"checkout-unreadable-what": "the checkout of {name} cannot be read: {path}: {why}",
"checkout-unreadable-why": "without it nothing tells which commit is installed",
"checkout-uncompared-brief": "{count} not compared",
"checkout-uncompared-what": "files of {name} in {folder} were not compared with commit {wanted}: {why}",
"checkout-uncompared-why": "only git can list the files of a commit; the commit itself is the lock's",
"checkout-uncompared-mend": "install git, then run this again",
"collision-brief": "{count} with what is not in the lock",
"collision-what": "{other}, which is not in the lock, installs the same module `{module}` as {owner}: of {count} files that differ, {theirs} are now from {other} and {ours} from {owner}",
"collision-why": "the one installed last takes effect, and uninstalling either breaks both",
"collision-order-brief": "{count} in the wrong order",
"collision-order-what": "{other} and {owner} both install the module `{module}`, and {owner} must be installed last: of {count} files that differ, {theirs} are now from {other} and {ours} from {owner}",
"collision-order-why": "the one installed last takes effect",
"requirement-broken-brief": "{count} unmet",
"requirement-broken-what": "pip check reports: {complaint}",
"requirement-broken-why": "the lock's facts do not expect this",
"requirement-broken-mend": "{install}",
"pip-missing-brief": "no pip",
"pip-missing-what": "{python} has no pip, so pip check could not be run",
"pip-missing-why": "it is unknown whether all requirements are met",
"pip-missing-mend": "{python} -m ensurepip",
"pip-failed-brief": "pip failed",
"pip-failed-what": "pip check failed: {error}",
"pip-failed-why": "it is unknown whether all requirements are met",
"pip-failed-mend": "see the full message: {python} -I -m pip check",
"import-failed-brief": "{count} failed",
"import-failed-what": "import {name} failed: {error}",
"import-failed-why": "the stack needs it",
"import-failed-mend": "see the full message: {command}",
"import-without-cann-brief": "{count} without CANN",
"import-without-cann-what": "import {name} failed: {library} of CANN or its driver was not found",
"import-without-cann-why": "it loads torch_npu, which is linked against CANN's libraries; LD_LIBRARY_PATH must include their folder",
"import-without-cann-mend": "source the activate.sh next to this file and run this again; if it still fails, CANN or its driver lacks files",
"import-untried-brief": "{count} not tested",
"import-untried-what": "import {name} was not tested: this machine has no NPU and no {library} of CANN or its driver",
"import-untried-why": "it loads torch_npu, which is linked against that library",
"import-untried-mend": "run this on a machine with NPUs",
"import-died-brief": "{count} crashed",
"import-died-what": "Python crashed on import {name}: {error}",
"import-died-why": "the stack needs it",
"import-died-mend": "see the full message: {command}",
"import-elsewhere-brief": "{count} from elsewhere",
"import-elsewhere-what": "import {name} loads {found}, which is not in this environment",
"import-elsewhere-why": "PYTHONPATH or the user's site-packages take precedence over the lock's files",
"import-elsewhere-mend": "unset PYTHONPATH, source CANN's set_env.sh again, and try PYTHONNOUSERSITE=1",
"import-replaced-brief": "{count} replaced",
"import-replaced-what": "import {name} loads {found}, which belongs to no locked distribution",
"import-replaced-why": "it has the name of a locked module, and Python imports it instead",
"import-replaced-mend": "remove {found}, and run install.sh again",
"start-failed-brief": "{count} failed",
"start-failed-what": "{list} cannot be started: {error}",
"start-failed-why": "raised at {where}; modules and commands of the lock that fail like this: {count}",
"start-failed-mend": "see the full message: {command}",
"start-died-brief": "{count} crashed",
"start-died-what": "Python crashed when it started {list}: {error}",
"start-died-why": "modules and commands of the lock that crash like this: {count}",
"start-died-mend": "see the full message: {command}",
"start-late-brief": "{count} not ended in time",
"start-late-what": "not started after {seconds} s: {list}",
"start-late-why": "it hangs, or this machine is slow; modules and commands that take so long: {count}",
"start-late-mend": "try it alone: {command}; for a slow machine: verify.py --seconds 900",
"start-untried-brief": "{count} not tested",
"start-untried-what": "not tried, as this machine has no NPU and no {library} of CANN or its driver: {list}",
"start-untried-why": "modules and commands that need that library: {count}",
"start-untried-mend": "run this on a machine with NPUs",
"group-lock": "lock",
"group-machine": "machine",
"group-python": "Python",
"group-cann": "CANN",
"group-hdk": "driver (HDK)",
"group-components": "other components",
"group-soc": "SoC",
"group-distributions": "distributions",
"group-files": "files",
"group-bytecode": "bytecode",
"group-checkouts": "checkouts",
"note-distributions-but": "{count} at the lock's versions; {unnoted} of them were not installed by install.sh, so it is unknown which files they are from",
"note-checkouts": "at the lock's commits: {list}",
"group-collisions": "collisions",
"group-strays": "unowned",
"group-requirements": "requirements",
"group-imports": "imports",
"group-starts": "starts",
"group-npu": "NPU",
"note-lock": "verify.py matches lock.toml",
"note-lock-absent": "not compared: there is no lock.toml beside verify.py",
"note-machine": "{system}, {machine}, glibc {glibc}",
"note-python": "{found} ({python})",
"note-cann": "{found} ({home})",
"note-hdk-any": "{found}; the lock requires no particular version",
"note-hdk-met": "{found}; required: {asked}",
"note-hdk-unseen": "none found; required: {asked}",
"note-hdk-none": "none found; the lock requires none",
"note-components": "{list}: there is no check for these, look at them yourself",
"note-soc": "{found} ({chip})",
"note-distributions": "{count}, as locked",
"note-files": "{files} present with the right size, {compared} compared by hash",
"note-files-kept": "{files} present with the right size, {compared} compared by hash; not checked: {kept}, which the stack rewrites",
"note-nothing": "not checked: nothing of the lock is installed",
"note-collisions": "none",
"note-strays-but": "not checked: files that may belong to {list} ({count} in all), whose files are not listed or are rewritten",
"note-bytecode": "{compared} compiled files match their sources",
"note-strays": "every module belongs to a distribution",
"note-requirements": "pip check reports no problem",
"note-requirements-but": "pip check reports only problems that the lock expects ({count})",
"note-imports": "{list}",
"note-starts": "imported {modules} modules, loaded {scripts} commands",
"note-starts-but": "imported {modules} modules, loaded {scripts} commands; {excused} may fail, for these reasons:",
"note-npu": "{count}, the first is {name}; tensor computation works",
"state-ok": "ok",
"state-warning": "warning",
"state-wrong": "ERROR",
"label-head": "{stack} for {target}",
"label-wrong": "error: {what}",
"label-warning": "warning: {what}",
"label-why": "   why: {why}",
"label-mend": "   fix: {mend}",
"label-because": "{what}: {why}",
"label-left-out": "                        {what} fails: {why}",
"label-ended": "Nothing was checked after [{code}], because further results depend on it.",
"label-as-locked": "matches the lock (errors: 0, warnings: {warnings})",
"label-differs": "differs from the lock (errors: {wrong}, warnings: {warnings})"
},
"zh": {
"built-none": "{folder} 中没有 {name} 的 wheel，将从源码构建",
"built-otherwise": "{folder} 中 {name} 的 wheel 是用其他源码、工具或变量构建的，将重新构建",
"built-elsewhere": "{folder} 中 {name} 的 wheel 是为另一种机器构建的：其 {what} 为 {found}，本机为 {here}。将从源码构建 {name}",
"built-changed": "{folder} 中的 {file} 缺失或在构建后被改动，将从源码构建 {name}",
"built-unreadable": "无法读取 {path}：{why}",
"group-network": "网络",
"note-network": "{count} 个 NPU，TLS {tls}，MTU {mtu}",
"network-unseen-brief": "未检查",
"network-unseen-what": "没有检查 NPU 之间的网络：本机没有 NPU 或 hccn_tool",
"network-unseen-why": "NPU 网口的信息只能由驱动的 hccn_tool 获得",
"network-unseen-mend": "请在有 NPU 的节点上执行；在容器中请挂载 /usr/local/Ascend/driver",
"network-unread-brief": "{count} 个没有状态",
"network-unread-what": "hccn_tool 没有给出 {count} 个 NPU 的链路状态",
"network-unread-why": "它可能需要 root 权限，或这种芯片没有自己的网口",
"network-unread-mend": "请执行 `hccn_tool -i 0 -link -g` 查看输出",
"network-down-brief": "链路断开",
"network-down-what": "NPU {numbers} 的网络链路不是 UP",
"network-down-why": "多机任务会等待该 NPU，直到超时",
"network-down-mend": "请检查线缆和光模块，然后执行 `hccn_tool -i N -link -g`",
"network-unhealthy-brief": "不健康",
"network-unhealthy-what": "NPU {numbers} 的网络健康状态为 {states}",
"network-unhealthy-why": "该 NPU 无法访问用于健康检测的地址（通常是网关）",
"network-unhealthy-mend": "请与正常节点比较 `hccn_tool -i N -netdetect -g` 和 `hccn_tool -i N -gateway -g`",
"network-address-missing-brief": "没有地址",
"network-address-missing-what": "NPU {numbers} 没有网络地址",
"network-address-missing-why": "其他节点无法连接它",
"network-address-missing-mend": "请设置：hccn_tool -i N -ip -s address 地址 netmask 掩码",
"network-address-shared-brief": "地址重复",
"network-address-shared-what": "NPU {numbers} 的网络地址相同：{address}",
"network-address-shared-why": "发给其中一个 NPU 的消息会到达另一个",
"network-address-shared-mend": "请为其中一个设置其他地址：hccn_tool -i N -ip -s address 地址 netmask 掩码",
"network-tls-mixed-brief": "仅部分开启 TLS",
"network-tls-mixed-what": "部分 NPU 开启了 TLS，部分未开启（{tls}）",
"network-tls-mixed-why": "NPU 的 TLS 状态不一致时，HCCL 会拒绝该任务（EI0016）",
"network-tls-mixed-mend": "请将所有节点的所有 NPU 设为相同状态：关闭用 `hccn_tool -i N -tls -s enable 0`，开启用 `enable 1`",
"system-differs-brief": "系统不同",
"system-differs-what": "本机系统是 {found}，而锁文件用于 Linux",
"system-differs-why": "其中的文件都是为 Linux 构建的",
"system-differs-mend": "请在锁文件对应的机器上运行",
"processor-differs-brief": "处理器不同",
"processor-differs-what": "本机是 {found}，而锁文件用于 {wanted}",
"processor-differs-why": "锁文件中的编译文件只能在 {wanted} 上运行",
"processor-differs-mend": "请在锁文件对应的机器上运行；或在软件栈的目标中设置 platform = \"linux-{found}\" 并重新锁定",
"glibc-missing-brief": "没有 glibc",
"glibc-missing-what": "C 库不是 glibc",
"glibc-missing-why": "锁文件中的 wheel 需要 glibc {wanted} 或更高版本",
"glibc-missing-mend": "请使用基于 glibc 的系统",
"glibc-old-brief": "glibc 过旧",
"glibc-old-what": "glibc 是 {found}，而锁文件需要 {wanted} 或更高版本",
"glibc-old-why": "锁文件中的编译文件可能用到旧版 glibc 没有的函数",
"glibc-old-mend": "请在软件栈的目标中设置 glibc = \"{found}\" 并重新锁定",
"python-differs-brief": "版本不同",
"python-differs-what": "{python} 是 Python {found}，而锁文件用于 {wanted}",
"python-differs-why": "含有编译模块的 wheel 只适用于一个 CPython 次版本",
"python-differs-mend": "{fresh}",
"python-elsewhere": "指定本机的 Python {wanted}，没有则先安装",
"python-unusable-brief": "未检查",
"python-unusable-what": "{python} 无法运行，因此没有检查 Python",
"python-unusable-why": "{reason}",
"python-unusable-mend": "指定可以运行的 Python {wanted}：--python PATH",
"python-unusable-error": "错误：{python} 无法运行：{reason}\n提示：用 --python PATH 指定环境的 Python",
"python-unusable-other": "它不是 Python",
"python-shared-brief": "不是环境",
"python-shared-what": "{python} 不在虚拟环境或 conda 环境中",
"python-shared-why": "其他程序也使用这些软件包，并可能改动它们",
"python-shared-mend": "{fresh}",
"lock-differs-brief": "由其他锁文件生成",
"lock-differs-what": "{program} 不是由同目录的锁文件 {path} 生成的",
"lock-differs-why": "其中一个被改动过，或属于另一个锁文件，因此检查的内容会与锁文件不符",
"lock-differs-mend": "请重新复制整个目录；在锁定所用的机器上，`ascend-lock check {stack}` 会说明目录中的文件是否一致",
"lock-unreadable-brief": "无法读取",
"lock-unreadable-what": "无法从 {path} 读取锁文件：{why}",
"lock-unreadable-why": "无法确定本程序是否由它生成",
"lock-unreadable-mend": "请使其可读，或重新复制整个目录",
"environment-other-brief": "是其他环境",
"environment-other-what": "锁文件的 {count} 个软件包，{python} 中安装了 {found} 个",
"environment-other-why": "它不是 install.sh 安装到的环境，或安装没有完成",
"environment-other-mend": "请激活该环境，或用 --python PATH 指定；如需安装：{install}",
"cann-inactive-brief": "未激活",
"cann-inactive-what": "CANN 未激活：ASCEND_HOME_PATH 未设置",
"cann-inactive-why": "torch_npu 通过它找到 CANN 的库",
"cann-inactive-mend": "请安装 CANN {wanted}，然后 source 它的 set_env.sh",
"cann-gone-brief": "激活的已不存在",
"cann-gone-what": "已激活的 CANN 不存在：{variable} 是 {home}，没有这个目录",
"cann-gone-why": "source set_env.sh 之后，它被移动或删除了",
"cann-gone-mend": "请在新的 shell 中 source CANN {wanted} 的 set_env.sh",
"cann-half-active-brief": "未完全激活",
"cann-half-active-what": "ASCEND_TOOLKIT_HOME 是 {home}，但 ASCEND_HOME_PATH 未设置",
"cann-half-active-why": "torch_npu 通过 ASCEND_HOME_PATH 找到 CANN 的库，没有它就无法导入",
"cann-half-active-mend": "请 source CANN 的 set_env.sh，它会设置这两个变量",
"component-invalid-brief": "锁文件中的值无效",
"component-invalid-what": "锁文件写的是 {component} {wanted}，这不是 CANN 或 HDK 的版本号",
"component-invalid-why": "无法与机器比较；ascend-lock 不会写出这样的锁文件",
"component-invalid-mend": "请在软件栈的目标中写明版本并重新锁定",
"cann-unreadable-brief": "无法读取",
"cann-unreadable-what": "无法从 {path} 读出 {home} 中 CANN 的版本：{why}",
"cann-unreadable-why": "无法确定它是否为 {wanted}，安装也可能不完整",
"cann-unreadable-mend": "请 source CANN {wanted} 的 set_env.sh；如果这就是它的目录，请重新安装",
"cann-file-unreadable-brief": "版本文件无法读取",
"cann-file-unreadable-what": "无法读取 CANN 的版本文件 {path}：{why}",
"cann-file-unreadable-why": "安装可能不完整",
"cann-file-unreadable-mend": "请重新安装 CANN 的这一部分",
"cann-differs-brief": "版本不同",
"cann-differs-what": "CANN 是 {found}，而锁文件用于 {wanted}（已激活：{home}）",
"cann-differs-why": "torch_npu 及使用它的软件包是为特定的 CANN 版本构建的",
"cann-differs-mend": "请安装并激活 CANN {wanted}，或在软件栈的目标中设置 cann = \"{found}\" 并重新锁定",
"cann-parts-differ-brief": "{count} 个部分版本不同",
"cann-parts-differ-what": "CANN 是 {found}，但其中有些部分是其他版本：{list}（共 {count} 个）",
"cann-parts-differ-why": "不同版本的算子和库混用，会在运行时失败",
"cann-parts-differ-mend": "请重新安装 CANN {found} 的 toolkit、算子包和 NNAL",
"nnal-differs-brief": "NNAL 版本不同",
"nnal-differs-what": "NNAL 是 {found}，而 CANN 是 {wanted}（{path}）",
"nnal-differs-why": "NNAL 必须与 toolkit 版本相同",
"nnal-differs-mend": "请安装 Ascend-cann-nnal {wanted}",
"hdk-missing-brief": "未检测到",
"hdk-missing-what": "未检测到驱动（HDK）：{path} 不存在",
"hdk-missing-why": "锁文件需要 {wanted} 或更高版本",
"hdk-missing-mend": "请安装 HDK {wanted} 或更高版本；在容器中请挂载 /usr/local/Ascend/driver",
"hdk-unreadable-brief": "无法读取",
"hdk-unreadable-what": "无法从 {path} 读出驱动（HDK）的版本：{why}",
"hdk-unreadable-why": "无法确定它是否为 {wanted} 或更高版本",
"hdk-unreadable-mend": "请重新安装驱动，HDK {wanted} 或更高版本",
"hdk-file-unreadable-brief": "版本文件无法读取",
"hdk-file-unreadable-what": "无法从 {path} 读出驱动（HDK）的版本：{why}",
"hdk-file-unreadable-why": "安装可能不完整",
"hdk-file-unreadable-mend": "请重新安装驱动",
"hdk-old-brief": "过旧",
"hdk-old-what": "驱动（HDK）是 {found}，而锁文件需要 {wanted} 或更高版本（{path}）",
"hdk-old-why": "旧驱动可能缺少软件栈用到的功能",
"hdk-old-mend": "请在机器上安装 HDK {wanted} 或更高版本（容器使用宿主机的驱动）并重启；或在软件栈的目标中设置 hdk = \"{found}\" 并重新锁定",
"hdk-refused-brief": "不适用",
"hdk-refused-what": "驱动（HDK）是 {found}，而 {by} 需要 {asked}（{path}）",
"hdk-refused-why": "{reason}",
"hdk-refused-mend": "请在机器上安装满足 {asked} 的驱动和固件（容器使用宿主机的驱动）并重启",
"hdk-unmet-brief": "不符合要求",
"hdk-unmet-what": "驱动（HDK）是 {found}，而 {by} 要求 {asked}（{path}）",
"hdk-unmet-why": "{reason}",
"hdk-unmet-mend": "请在机器上安装满足 {asked} 的驱动和固件（容器使用宿主机的驱动）并重启",
"hdk-not-running-brief": "运行的是其他版本",
"hdk-not-running-what": "{path} 中的驱动版本是 {found}，而 npu-smi 显示 {running}",
"hdk-not-running-why": "新驱动在重启后才会生效",
"hdk-not-running-mend": "请重启机器",
"soc-unknown-brief": "未知",
"soc-unknown-what": "无法确定 SoC：没有 npu-smi，或它无法运行，或没有显示 NPU",
"soc-unknown-why": "锁文件中的二进制文件和 CANN 的算子用于 {wanted}",
"soc-unknown-mend": "请在有 NPU 的机器上运行；在容器中请映射 NPU 设备，并挂载 npu-smi 和 /usr/local/Ascend/driver（npu-smi 需要后者的 lib64 在 LD_LIBRARY_PATH 中）",
"soc-unnamed-brief": "未知芯片",
"soc-unnamed-what": "npu-smi 显示的芯片 {chip} 不属于任何已知的 SoC 系列",
"soc-unnamed-why": "锁文件中的二进制文件和 CANN 的算子用于 {wanted}",
"soc-unnamed-mend": "请对照 matrices/systems.toml 中的 component.soc",
"soc-mixed-brief": "有多个系列",
"soc-mixed-what": "本机有多个系列的芯片：除 {found} 外还有 {list}",
"soc-mixed-why": "锁文件中的二进制文件和 CANN 的算子用于 {wanted}；程序在其他芯片上运行会失败",
"soc-mixed-mend": "请用 ASCEND_RT_VISIBLE_DEVICES 让程序只使用 {wanted} 的 NPU",
"soc-differs-brief": "系列不同",
"soc-differs-what": "SoC 是 {found}（{chip}），而锁文件用于 {wanted}",
"soc-differs-why": "用于其他 SoC 的二进制文件和算子可以加载，但运行时会失败",
"soc-differs-mend": "请在软件栈的目标中设置 soc = \"{found}\" 并重新锁定",
"npu-absent-brief": "未测试",
"npu-absent-what": "本机没有 NPU，因此没有进行 NPU 测试",
"npu-absent-why": "只有在 NPU 上测试才能确定 torch_npu 能否工作",
"npu-absent-mend": "请在有 NPU 的机器上运行",
"npu-failed-brief": "失败",
"npu-failed-what": "NPU 上的张量计算失败：{error}",
"npu-failed-why": "使用 torch_npu 的程序都无法工作",
"npu-failed-mend": "查看完整信息：{command}",
"npu-wrong-brief": "结果错误",
"npu-wrong-what": "NPU 上测试张量的和是 {found}，应为 8.0",
"npu-wrong-why": "用于其他 SoC 或版本的算子会给出错误结果",
"npu-wrong-mend": "请核对 CANN 算子包与 SoC 是否匹配",
"distribution-missing-brief": "缺少 {count} 个",
"distribution-missing-what": "锁文件的 {total} 个软件包中有 {count} 个未安装：{list}",
"distribution-missing-why": "需要它们的程序会在使用时失败",
"distribution-missing-mend": "{install}",
"distribution-differs-brief": "{count} 个版本不同",
"distribution-differs-what": "{name} 是 {found}，而锁文件中是 {wanted}",
"distribution-differs-why": "锁文件中的版本是一起求解得到的",
"distribution-differs-mend": "{install}",
"distribution-elsewhere-brief": "{count} 个来源不同",
"distribution-elsewhere-what": "{name} {wanted} 是从其他来源安装的：{found}",
"distribution-elsewhere-why": "版本与锁文件相同，但文件可能不同",
"distribution-elsewhere-mend": "{again}",
"distribution-otherwise-brief": "{count} 个文件或构建不同",
"distribution-otherwise-what": "{name} {wanted} 不是用锁文件中的文件安装的，或构建方式不同",
"distribution-otherwise-why": "版本相同，但 install.sh 安装它时记录的哈希、commit、变量或构建工具不同",
"distribution-otherwise-mend": "{again}",
"distribution-editable-brief": "{count} 个可编辑安装",
"distribution-editable-what": "{name} {wanted} 是 {found} 的可编辑安装",
"distribution-editable-why": "它的文件取决于该目录当前的内容",
"distribution-editable-mend": "{again}",
"distribution-conda-brief": "{count} 个由 conda 安装",
"distribution-conda-what": "{name} {wanted} 是由 conda 安装的",
"distribution-conda-why": "它是 conda 自己的构建，不是锁文件中的文件，因此没有比较其文件",
"distribution-conda-mend": "{again}",
"distribution-twice-brief": "{count} 个装了两份",
"distribution-twice-what": "{name} 安装了两份：{one} 和 {other}",
"distribution-twice-why": "安装曾被中断，两份的文件混在一起",
"distribution-leftover-brief": "{count} 个残留",
"distribution-leftover-what": "一次中断的安装留下了 {path}",
"distribution-leftover-why": "pip 每次运行都会警告；没有程序使用它",
"distribution-unwanted-brief": "{count} 个不应安装",
"distribution-unwanted-what": "不应安装 {name}，但已安装：{reason}",
"distribution-unwanted-why": "锁文件排除了它",
"distribution-extra-brief": "多余 {count} 个",
"distribution-extra-what": "不在锁文件中：{list}（共 {count} 个）",
"distribution-extra-why": "锁文件没有涉及它们，也没有检查它们的文件",
"metadata-broken-brief": "元数据无法读取：{count} 个",
"metadata-broken-what": "无法读取 {name} 的 {path}：{why}",
"metadata-broken-why": "pip 等工具无法确定安装了什么",
"record-missing-brief": "缺少 RECORD：{count} 个",
"record-missing-what": "{name} {version} 在 {folder} 中没有 RECORD",
"record-missing-why": "无法检查它的文件，pip 也无法卸载它",
"record-broken-brief": "RECORD 无法读取：{count} 个",
"record-broken-what": "无法读取 {name} {version} 的 {path}：{why}",
"record-broken-why": "无法检查它的文件，pip 也无法卸载它",
"file-missing-brief": "缺少 {count} 个",
"file-missing-what": "{name} {version} 缺少文件：{list}（共 {count} 个）",
"file-missing-why": "它的一部分被删除或覆盖了",
"file-missing-mend": "{again}",
"file-changed-brief": "{count} 个被改动",
"file-changed-what": "{name} {version} 的文件在安装后被改动：{list}（共 {count} 个）",
"file-changed-why": "运行的不是锁文件固定的内容",
"file-changed-mend": "{again}",
"extra-changed-brief": "锁文件之外 {count} 个被改动",
"extra-changed-what": "{name} {version} 不在锁文件中，其文件在安装后被改动：{list}（共 {count} 个）",
"extra-changed-why": "它在同一环境中，其中的代码（甚至在每次启动 Python 时）可能不是安装时写入的代码",
"extra-changed-mend": "请重新安装 {name}",
"file-unreadable-brief": "{count} 个无法读取",
"file-unreadable-what": "无法读取 {name} {version} 的文件：{list}（共 {count} 个）",
"file-unreadable-why": "无法将其内容与锁文件比较",
"file-unreadable-mend": "{again}",
"file-unhashed-brief": "{count} 个没有哈希",
"file-unhashed-what": "{name} {version} 的 RECORD 没有 {list} 的哈希（共 {count} 个）",
"file-unhashed-why": "因此无从得知它们是否与安装时相同",
"file-unhashed-mend": "install.sh 安装时会补全：{again}",
"bytecode-differs-brief": "{count} 个编译文件不一致",
"bytecode-differs-what": "Python 运行的 {count} 个编译文件与源文件不一致：{list}",
"bytecode-differs-why": "Python 运行 __pycache__ 中的文件时不与源文件比较，RECORD 也没有它们的哈希；可能由另一个 Python 补丁版本编译，也可能被人放入",
"bytecode-differs-mend": "请删除它们：Python 会重新编译源文件",
"file-stale-brief": "{count} 个不属于任何软件包",
"file-stale-what": "{owners} 的目录中有不属于任何软件包的文件：{list}（共 {count} 个）",
"file-stale-why": "锁文件中没有它们，但它们可以被导入；可能是中断的安装留下的，也可能是有人添加的",
"file-added-brief": "新增 {count} 个",
"file-added-what": "{owners} 的目录中新增了文件：{list}（共 {count} 个）",
"file-added-why": "它们不属于任何软件包；可能是程序写入的，或中断的安装留下的，也可能是有人添加的",
"startup-extra-brief": "{count} 个随每次启动运行",
"startup-extra-what": "{folder} 中有每次启动 Python 都会运行的文件，但不属于任何软件包：{list}（共 {count} 个）",
"startup-extra-why": "锁文件没有涉及它们，而它们的代码会在此环境的每个程序中运行",
"startup-extra-mend": "请删除；如果是自己放入的，请作为软件包安装：中断的安装也会留下这样的文件",
"startup-unknown-brief": "{count} 个随每次启动运行，来源不明",
"startup-unknown-what": "{folder} 中有每次启动 Python 都会运行的文件，可能不属于任何软件包：{list}（共 {count} 个）",
"startup-unknown-why": "没有文件清单列出它们，但该目录与其他程序共用，或其中有不带清单的软件包",
"startup-unknown-mend": "如果没有人需要，请删除：中断的安装也会留下这样的文件",
"startup-changed-brief": "{count} 个随每次启动运行，内容有异",
"startup-changed-what": "{folder} 中的 {list} 与 virtualenv 或 uv 的任何已知版本写入的内容都不同",
"startup-changed-why": "它在每次启动 Python 时运行，却不属于任何发行包：由更新的版本写入，或被人改动",
"startup-changed-mend": "请与创建此环境的工具所写的内容比较，或将它与旁边的 `.pth` 文件一并删除",
"startup-added-brief": "锁文件之外 {count} 个随每次启动运行",
"startup-added-what": "锁文件之外的 {name} 有每次启动 Python 都会运行的文件：{list}（共 {count} 个）",
"startup-added-why": "它们的代码会在此环境的每个程序中运行",
"startup-added-mend": "如不需要 {name}，请将其卸载",
"module-replaced-brief": "{count} 个与锁定的模块同名",
"module-replaced-what": "{folder} 中的模块与锁定的模块同名，但不属于任何锁定的软件包：{list}（共 {count} 个）",
"module-replaced-why": "Python 可能导入它们，而不是锁文件中的模块",
"module-extra-brief": "多余 {count} 个",
"module-extra-what": "{folder} 中有不属于任何软件包的模块：{list}（共 {count} 个）",
"module-extra-why": "锁文件没有涉及它们，但它们可以被导入",
"module-extra-mend": "如果不是自己放入的，请删除：中断的安装也会留下这样的文件",
"path-extra-brief": "搜索路径中多余 {count} 个",
"path-extra-what": "Python 的搜索路径中有不属于任何发行包的目录或归档：{list}（共 {count} 个）",
"path-extra-why": "它们由 `.pth` 文件加入；其中的内容可以被导入，且没有受到检查",
"path-extra-mend": "如不需要，请从 easy-install.pth 或 conda.pth 中删除相应的行",
"checkout-other-brief": "{count} 个 commit 不同",
"checkout-other-what": "{folder} 中的 {name} 在 commit {found}，而锁文件中是 {wanted}",
"checkout-other-why": "它是以此目录安装的，Python 运行的就是其中的内容",
"checkout-unmarked-brief": "{count} 个没有标记",
"checkout-unmarked-what": "{folder} 没有 install.sh 为 {name} 的 commit {wanted} 留下的标记",
"checkout-unmarked-why": "标记 .git/ascend-lock 说明它是按此锁文件的步骤和变量构建的",
"checkout-changed-brief": "{count} 个被改动",
"checkout-changed-what": "{folder} 中 {name} 的文件在安装后被改动：{list}（共 {count} 个）",
"checkout-changed-why": "它们与 commit {wanted} 不一致，也不是锁文件的步骤修改的结果",
"checkout-hidden-brief": "{count} 个遮住模块",
"checkout-hidden-what": "{folder} 中有提交 {wanted} 之外的文件遮住了 {name} 的模块：{list}（共 {count} 个）",
"checkout-hidden-why": "Python 会导入它们而不是提交中的模块，而 install.sh 没有记录它们",
"checkout-added-brief": "新增 {count} 个",
"checkout-added-what": "{folder} 中的 {name} 多出了提交 {wanted} 之外的模块：{list}（共 {count} 个）",
"checkout-added-why": "它们可以被导入，而 install.sh 构建检出时没有记录它们",
"checkout-added-mend": "如果不是你放置的，请删除",
"checkout-unreadable-brief": "{count} 个无法读取",
"checkout-unreadable-what": "无法读取 {name} 的检出：{path}：{why}",
"checkout-unreadable-why": "没有它就无法确定安装的是哪个 commit",
"checkout-uncompared-brief": "{count} 个未比较",
"checkout-uncompared-what": "没有将 {folder} 中 {name} 的文件与 commit {wanted} 比较：{why}",
"checkout-uncompared-why": "commit 中的文件清单只能由 git 给出；commit 本身与锁文件一致",
"checkout-uncompared-mend": "请安装 git，然后重新运行",
"collision-brief": "与锁文件之外的冲突 {count} 处",
"collision-what": "{other} 不在锁文件中，与 {owner} 安装同一模块 `{module}`：在 {count} 个不同的文件中，{theirs} 个现在来自 {other}，{ours} 个来自 {owner}",
"collision-why": "后安装的生效，卸载任何一个都会破坏两者",
"collision-order-brief": "安装顺序错误 {count} 处",
"collision-order-what": "{other} 与 {owner} 都安装模块 `{module}`，且 {owner} 必须最后安装：在 {count} 个不同的文件中，{theirs} 个现在来自 {other}，{ours} 个来自 {owner}",
"collision-order-why": "后安装的生效",
"requirement-broken-brief": "{count} 项不满足",
"requirement-broken-what": "pip check 报告：{complaint}",
"requirement-broken-why": "不在锁文件的事实预期之内",
"requirement-broken-mend": "{install}",
"pip-missing-brief": "没有 pip",
"pip-missing-what": "{python} 没有 pip，因此没有运行 pip check",
"pip-missing-why": "无法确定依赖是否全部满足",
"pip-missing-mend": "{python} -m ensurepip",
"pip-failed-brief": "pip 运行失败",
"pip-failed-what": "pip check 运行失败：{error}",
"pip-failed-why": "无法确定依赖是否全部满足",
"pip-failed-mend": "查看完整信息：{python} -I -m pip check",
"import-failed-brief": "{count} 个失败",
"import-failed-what": "import {name} 失败：{error}",
"import-failed-why": "软件栈需要它",
"import-failed-mend": "查看完整信息：{command}",
"import-without-cann-brief": "{count} 个缺少 CANN",
"import-without-cann-what": "import {name} 失败：没有找到 CANN 或其驱动的 {library}",
"import-without-cann-why": "它会加载 torch_npu，后者链接到 CANN 的库；LD_LIBRARY_PATH 必须包含这些库的目录",
"import-without-cann-mend": "请 source 同目录的 activate.sh 后重新运行；如果仍然失败，则 CANN 或其驱动缺少文件",
"import-untried-brief": "{count} 个未测试",
"import-untried-what": "没有测试 import {name}：本机没有 NPU，也没有 CANN 或其驱动的 {library}",
"import-untried-why": "它会加载 torch_npu，后者链接到该库",
"import-untried-mend": "请在有 NPU 的机器上运行",
"import-died-brief": "{count} 个崩溃",
"import-died-what": "import {name} 时 Python 崩溃：{error}",
"import-died-why": "软件栈需要它",
"import-died-mend": "查看完整信息：{command}",
"import-elsewhere-brief": "{count} 个来自其他位置",
"import-elsewhere-what": "import {name} 加载的是 {found}，它不在此环境中",
"import-elsewhere-why": "PYTHONPATH 或用户的 site-packages 优先于锁文件中的文件",
"import-elsewhere-mend": "请 unset PYTHONPATH，重新 source CANN 的 set_env.sh，并尝试 PYTHONNOUSERSITE=1",
"import-replaced-brief": "{count} 个被替换",
"import-replaced-what": "import {name} 加载的是 {found}，它不属于任何锁定的软件包",
"import-replaced-why": "它与锁定的模块同名，Python 会导入它",
"import-replaced-mend": "请删除 {found}，然后重新运行 install.sh",
"start-failed-brief": "{count} 个失败",
"start-failed-what": "{list} 执行失败：{error}",
"start-failed-why": "出错位置：{where}；锁文件中同样失败的模块和命令：{count} 个",
"start-failed-mend": "查看完整信息：{command}",
"start-died-brief": "{count} 个崩溃",
"start-died-what": "执行 {list} 时 Python 崩溃：{error}",
"start-died-why": "锁文件中同样崩溃的模块和命令：{count} 个",
"start-died-mend": "查看完整信息：{command}",
"start-late-brief": "{count} 个超时",
"start-late-what": "{seconds} 秒后仍未完成：{list}",
"start-late-why": "它挂起了，或本机较慢；同样耗时的模块和命令：{count} 个",
"start-late-mend": "请单独尝试：{command}；机器较慢时用 verify.py --seconds 900",
"start-untried-brief": "{count} 个未测试",
"start-untried-what": "没有测试，因为本机没有 NPU，也没有 CANN 或其驱动的 {library}：{list}",
"start-untried-why": "需要该库的模块和命令：{count} 个",
"start-untried-mend": "请在有 NPU 的机器上运行",
"group-lock": "锁文件",
"group-machine": "机器",
"group-python": "Python",
"group-cann": "CANN",
"group-hdk": "驱动（HDK）",
"group-components": "其他组件",
"group-soc": "SoC",
"group-distributions": "软件包",
"group-files": "文件",
"group-bytecode": "字节码",
"group-checkouts": "检出",
"note-distributions-but": "{count} 个，版本与锁文件一致；其中 {unnoted} 个不是由 install.sh 安装的，无法确定来自哪个文件",
"note-checkouts": "在锁文件的 commit：{list}",
"group-collisions": "冲突",
"group-strays": "无主文件",
"group-requirements": "依赖",
"group-imports": "导入",
"group-starts": "启动",
"group-npu": "NPU",
"note-lock": "verify.py 与 lock.toml 一致",
"note-lock-absent": "没有比较：verify.py 同目录没有 lock.toml",
"note-machine": "{system}, {machine}, glibc {glibc}",
"note-python": "{found} ({python})",
"note-cann": "{found} ({home})",
"note-hdk-any": "{found}；锁文件不要求特定版本",
"note-hdk-met": "{found}；要求：{asked}",
"note-hdk-unseen": "未检测到；要求：{asked}",
"note-hdk-none": "未检测到；锁文件也不要求",
"note-components": "{list}：没有对应的检查，请自行核对",
"note-soc": "{found} ({chip})",
"note-distributions": "{count} 个，与锁文件一致",
"note-files": "{files} 个文件大小一致，其中 {compared} 个比较了哈希",
"note-files-kept": "{files} 个文件大小一致，其中 {compared} 个比较了哈希；未检查 {kept}（软件栈会改写它）",
"note-nothing": "未检查：锁文件中的内容都没有安装",
"note-collisions": "无",
"note-strays-but": "未检查：可能属于 {list} 的文件（共 {count} 项），它们没有文件清单，或文件会被改写",
"note-bytecode": "{compared} 个编译文件与源文件一致",
"note-strays": "每个模块都属于某个软件包",
"note-requirements": "pip check 没有报告问题",
"note-requirements-but": "pip check 只报告了锁文件预期的问题（{count} 个）",
"note-imports": "{list}",
"note-starts": "已导入 {modules} 个模块，已加载 {scripts} 个命令",
"note-starts-but": "已导入 {modules} 个模块，已加载 {scripts} 个命令；{excused} 个可能失败，原因如下：",
"note-npu": "{count} 个，第一个是 {name}；张量计算正常",
"state-ok": "正常",
"state-warning": "警告",
"state-wrong": "错误",
"label-head": "{stack}，目标 {target}",
"label-wrong": "错误：{what}",
"label-warning": "警告：{what}",
"label-why": "  原因：{why}",
"label-mend": "  修复：{mend}",
"label-because": "{what}：{why}",
"label-left-out": "                        {what} 失败：{why}",
"label-ended": "检查到 [{code}] 为止：其余检查的结果取决于它，请先解决。",
"label-as-locked": "与锁文件一致（错误：0，警告：{warnings}）",
"label-differs": "与锁文件不一致（错误：{wrong}，警告：{warnings}）"
}
}
}
"""

if __name__ == "__main__":
    sys.exit(run(LOCK, __file__, sys.argv[1:]))
