#!/usr/bin/env python3
"""Check whether this machine and environment match the lock: mindspeed-llm for linux-aarch64-py310-cann9.1.0-a2: MindSpeed-LLM 26.1.0 (Megatron) training on Ascend A2

Made from lock.toml by ascend-lock; do not edit. Run it with the Python of the environment:

    python verify.py [--full] [--quick] [--json] [--lang zh] [--skip-system-checks] [--python PATH]

It changes nothing and needs only Python. Exit status: 0 matches, 1 something
differs, 2 invalid command. The contents of the lock are at the end of this file.
"""

import sys

if sys.version_info < (3, 8):
    sys.stderr.write("error: this is Python %d.%d, but the lock is for 3.10\n" % sys.version_info[:2])
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
from typing import Any, Dict, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit


# --- address
#
# Addresses (URLs): split into parts, and joined.
#
# Whatever a text holds, these functions return a result or raise AddressError. urllib raises several
# kinds of exceptions, some of them only when a part of the result is read. So no other module calls
# its parser, which ruff's rule TID251 checks; `index/net/sendable` alone calls that of httpx.
#
# verify.py contains this module, so it uses only the standard library.

class AddressError(ValueError):
    """A text is no address. The message is a clause that quotes nothing of the text."""

    def __init__(self) -> "None":
        super().__init__("it cannot be read")


class Address(NamedTuple):
    """The parts of an address. A text is empty if the address has no such part."""

    # In lower case.
    scheme: "str"
    # User, password, host and port, as written.
    netloc: "str"
    # In lower case, without the brackets of IPv6.
    host: "str"
    port: "int | None"
    path: "str"
    query: "str"
    fragment: "str"
    # None if there is no `@`.
    user: "str | None"
    # None if there is no `:` before an `@`.
    password: "str | None"

    def without_query(self) -> "str":
        """Return the address without query and fragment."""
        return urlunsplit((self.scheme, self.netloc, self.path, "", ""))


# Each request splits its address several times. Longer ones, of which an index may send any number,
# are not kept.
_LONGEST_KEPT = 1000
_KEPT = 1000


def split(url: "str") -> "Address":
    """Return the parts of an address. Raises AddressError."""
    return _split(url) if len(url) > _LONGEST_KEPT else _split_and_keep(url)


def _split(url: "str") -> "Address":
    try:
        parts = urlsplit(url)
        return Address(
            scheme=parts.scheme,
            netloc=parts.netloc,
            host=parts.hostname or "",
            # urllib parses the port only here, and may refuse it
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
    """Return the address of a link on the page at `base`. Raises AddressError."""
    try:
        return urljoin(base, reference)
    except ValueError:
        raise AddressError from None


# --- redaction
#
# What people may see of addresses: no user, password, query or fragment.
#
# This holds however badly an address is written. If it is not certain where its host begins, only
# its scheme is shown.
#
# The texts are anybody's, so a long one is cut before it is looked at, and every regular expression
# takes time in proportion to the length of its text.
#
# verify.py contains this module, so it uses only the standard library.

# The most characters of a text that are looked at. A path has at most 4,096.
LONGEST = 5_000

_USER = re.compile(r"://[^\s/?#\"']*@")
# No scheme is longer; without a limit, each letter of a long text would be tried as its beginning.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")
_KNOWN_SCHEME = re.compile(r"(https?|ssh|file)://", re.IGNORECASE)
# The beginning of a query, of a fragment or of parameters.
_QUERY = re.compile(r"[?#;]")
_COMMIT_HASH = re.compile(r"[0-9a-f]{40}")
# A host with a port, or nothing, as in file:///path. Anything else may be part of a password.
_HOST = re.compile(r"(?P<name>[\w.-]*|\[[0-9A-Za-z:.%]+\])(?P<port>:[0-9]+)?")
# What ends in `…` was cut, perhaps before the `@` after a password.
_PATH = re.compile(r"[^\"'`<>\\@…]*")
_REVISION = re.compile(r"[\w.+-]*")
# A revision that is no name of a host.
_TAG = re.compile(r"v[0-9][\w.+-]*")
# A text is cut at no other white space: a password may have it.
_WORD = re.compile(r"[^ \t\n]+")
# What a word has that may hold an address, besides `//` before a letter or digit.
_ADDRESS_MARK = re.compile(r"[A-Za-z]:/|[^@]@+[^@]")
_WORD_CHARACTER = re.compile(r"\w")
_OPENING = "([{<\"'`"
_CLOSING = ")]}>\"'`,.;:"
# What a word has that may end an address whose password has spaces.
_LOOSE_MARK = re.compile(r"@\w|[^\W…]@")
_BEFORE_ADDRESS = re.compile(r"[\w.-]*[=(\[<\"'`]*")


def shown_address(address: "str") -> "str":
    """Return what may be shown of an address: scheme, host and path.

    User, password, query and fragment may be secrets, and need not be escaped properly. If it is
    not certain where the host begins, or whether the path is one, only the scheme is left.
    """
    match = _SCHEME.match(address)
    scheme = match[0] if match else ""
    location = _QUERY.split(address[len(scheme) :], maxsplit=1)[0]
    query = address[len(scheme) + len(location) :]
    authority, slash, path = location.partition("/")
    user, at, host_and_port = authority.rpartition("@")
    host = _HOST.fullmatch(host_and_port)
    lacks_host = at != "" and host_and_port == ""
    if host is None or lacks_host or "@" in query:
        return f"{scheme}…"
    # `me:12/…@host` has a user and a password
    may_be_user = host["port"] is not None and not at
    if not _is_path(path, is_git=scheme.startswith("git+"), may_follow_user=may_be_user):
        return f"{scheme}…"
    # what is left of user and password
    hidden = "…@" if user == "…" or (at and not scheme) else ""
    return f"{scheme}{hidden}{host_and_port}{slash}{path}"


def _is_path(path: "str", *, is_git: "bool", may_follow_user: "bool") -> "bool":
    """Return whether a path, which may end in a revision of git, is certainly no password."""
    before_revision, at, revision = path.partition("@")
    if _PATH.fullmatch(before_revision) is None:
        return False
    if not at:
        return True
    form = _TAG if may_follow_user else _REVISION
    is_revision = is_git and form.fullmatch(revision) is not None
    return is_revision or _COMMIT_HASH.fullmatch(revision) is not None


def is_certain(address: "str") -> "bool":
    """Return whether it is certain what of an address is host and path, and what a secret."""
    return "…" not in shown_address(address)


def without_secrets(text: "str") -> "str":
    """Return the text with each address in it as `shown_address` shows it.

    An address goes on to the next white space, whatever quotes are in it, since a password may have
    any character. If there is an `@` later in its line that is in no other address, it goes on to
    the last such `@`, since a password may have spaces.

    Of a text of more than `LONGEST` characters, only the beginning is looked at and returned. The
    word that is cut is left out, and the last address of the line is taken to go on behind the cut.
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
    return "\n".join(map(_line_without_secrets, text.split("\n")))


def _line_without_secrets(line: "str", *, is_cut: "bool" = False) -> "str":
    return "".join(_shown_pieces(line, len(line) + 1 if is_cut else _loose_end(line)))


def _loose_end(line: "str") -> "int":
    """Return where the last word ends that may end an address before it, 0 if there is none."""
    end = 0
    for word in _WORD.finditer(line):
        if _LOOSE_MARK.search(word[0]) and not _KNOWN_SCHEME.search(word[0]):
            end = word.end()
    return end


def _shown_pieces(line: "str", loose_end: "int") -> "Iterator[str]":
    """Yield what may be shown of a line.

    An address with a scheme goes on to `loose_end` if it ends before it.
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
    slashes = word.find("//")
    has_location = slashes >= 0 and _WORD_CHARACTER.search(word, slashes) is not None
    return has_location or _ADDRESS_MARK.search(word) is not None


def _shown_word(word: "str") -> "str":
    """Return what may be shown of a word that may have an address in it."""
    opened = word.lstrip(_OPENING)
    inner = opened.rstrip(_CLOSING)
    opening = word[: len(word) - len(opened)]
    closing = opened[len(inner) :]
    before_at = inner.rpartition("@")[0]
    is_file = inner.startswith("/") and not inner.startswith("//") and ":" not in before_at
    # `@` by itself, or before a revision
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
    """Return the text without user and password in its addresses, else unchanged, for a digest."""
    return _USER.sub("://", text)


# --- pip
#
# The environment that pip is started with: only settings that say how an index is reached.
#
# pip's configuration files and PIP_* variables can add indexes, folders of files, requirements, even
# projects to build (`[wheel] editable`). A lock names none of these. So pip runs without
# configuration files, and with no PIP_* variables except for the allowed settings, which pip itself
# is asked for.
#
# It does not run either where one of these addresses, or a proxy of the environment, cannot be read:
# pip's own error would show it, with its password.
#
# verify.py contains this module, so it uses only the standard library.

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

    def __init__(self, setting: "str", shown: "str") -> "None":
        super().__init__(f"{setting} is no address: {shown}")
        # The setting or variable.
        self.setting = setting
        # What may be shown of its value.
        self.shown = shown


def allowed_settings(sections: "Mapping[str, Mapping[str, str]]") -> "dict[str, str]":
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


def by_section(settings: "Mapping[str, str]") -> "dict[str, dict[str, str]]":
    """Return settings by section and name, from settings by `section.name`, as pip writes it."""
    sections: "dict[str, dict[str, str]]" = {}
    for key, value in settings.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = value
    return sections


def without_pip_settings(environ: "Mapping[str, str]") -> "dict[str, str]":
    """Return the variables for a pip that follows no setting at all."""
    others = {name: value for name, value in environ.items() if not name.startswith("PIP_")}
    return {**others, **_NO_FILES}


def pip_variables(python: "str", environ: "Mapping[str, str]") -> "dict[str, str]":
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


def _require_addresses(settings: "Mapping[str, str]", environ: "Mapping[str, str]") -> "None":
    """Raise RefusedAddressError if the index or a proxy is no address that pip can use."""
    index = settings.get("index-url", "")
    if index and not is_index(index):
        raise RefusedAddressError("index-url", shown_address(index))
    for setting, proxy in _proxies(settings, environ):
        if not is_proxy(proxy):
            raise RefusedAddressError(setting, shown_address(_with_scheme(proxy)))


def _proxies(settings: "Mapping[str, str]", environ: "Mapping[str, str]") -> "Iterator[tuple[str, str]]":
    """Yield each setting or variable of a proxy with its value."""
    variables = [*_PROXY_VARIABLES, *map(str.lower, _PROXY_VARIABLES)]
    for setting, value in (
        ("proxy", settings.get("proxy", "")),
        *((name, environ.get(name, "")) for name in variables),
    ):
        if value:
            yield setting, value


def is_index(written: "str") -> "bool":
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


def is_proxy(written: "str") -> "bool":
    """Return whether a text is the address of a proxy, which need not have a scheme."""
    url = _with_scheme(written)
    if not _is_plain(url):
        return False
    address = split(url)
    return address.scheme in _PROXY_SCHEMES and bool(address.host)


def _with_scheme(proxy: "str") -> "str":
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_plain(written: "str") -> "bool":
    """Return whether every library reads the same host and password in a text."""
    if not written.isprintable() or _MISREAD.search(written) or not is_certain(written):
        return False
    try:
        split(written)
    except AddressError:
        return False
    return True


def pip_environment(python: "str", environ: "Mapping[str, str]") -> "dict[str, str]":
    """Return all variables for this interpreter's pip. Raises what `pip_variables` raises."""
    return {**without_pip_settings(environ), **pip_variables(python, environ)}


def print_pip_variables() -> "int":
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


# --- system
#
# Versions that do not follow PEP 440, such as those of a driver, and their order.
#
# The room of a vendor parses them.

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
    """A version of a component by the rules of its vendor. `str` gives it as written.

    Versions with the same key and build are equal, however they are written.
    """

    # The version as written.
    text: "str"
    # All parts of the version except the build, the most important first.
    key: "tuple[Any, ...]"
    # The release line: (8, 5) for 8.5.0.
    line: "tuple[int, ...]"
    # The number of a build; None for a release.
    build: "int | None" = None

    def same_release(self, other: "SystemVersion") -> "bool":
        """Return whether both are the same release, of any build: 8.5.0.B160 and 8.5.0."""
        return self.key == other.key

    def before(self, other: "SystemVersion") -> "bool":
        """Return whether this is an earlier release; builds of one release are not earlier."""
        return self.key < other.key

    def holds(self, sign: "str", other: "SystemVersion") -> "bool":
        """Return whether `self sign other` is true. Builds count only if `other` has one."""
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
    """Return the rank of a build: a release comes before its builds.

    PEP 440 has the same order for local versions.
    """
    return -1 if build is None else build


# --- names
#
# Names that Ascend's software has: components, and projects that run on NPUs with a plugin.

# The components that `checks` finds on a machine, and `activate.sh` activates: the toolkit, the
# driver with its firmware, and the family of the chip.
TOOLKIT = "cann"
DRIVER = "hdk"
CHIP = "soc"
COMPONENTS = (TOOLKIT, DRIVER, CHIP)
# Where this module can be imported, there is CANN and a driver.
DEVICE_MODULE = "torch_npu"
# The plugin of torch, whose facts say which driver each CANN asks for.
TORCH_PLUGIN = "torch-npu"
# Findings of `checks` that are warnings.
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
# Findings about a chip of which nothing is known, as where an image is built.
UNSEEN_CODES = ("soc-unknown", "soc-unnamed")
# The components as people write them.
TITLES = {TOOLKIT: "CANN", DRIVER: "HDK", CHIP: "SoC"}
# Other names under which documents speak of a project or a component.
ALIASES = {
    TORCH_PLUGIN: ("torchnpu",),
    DRIVER: ("driver", "firmware", "software version", "驱动", "固件"),
}
# How documents write the families of chips, as regular expressions. A claim about a document names
# a family after this prefix: `soc:A2`.
CHIP_CLAIM = f"{CHIP}:"
CHIP_SPELLINGS = {
    "A2": r"(?<![A-Za-z0-9])A2(?![A-Za-z0-9])|910B",
    "A3": r"(?<![A-Za-z0-9])A3(?![A-Za-z0-9])|910_93|910C",
    "A5": r"(?<![A-Za-z0-9])A5(?![A-Za-z0-9])|(?<![0-9])950(?![0-9])",
    "310P": r"310P",
}
# Longer titles of components, for an SBOM, whose readers may not know the vendor.
FULL_TITLES = {
    TOOLKIT: "CANN",
    DRIVER: "Ascend HDK",
    CHIP: "Ascend SoC family",
}
SUPPLIER = "Huawei"
# The key for `device` in locks of format 2.
FORMER_DEVICE = "npu"
# The project whose releases the matrix and `pairs` list, and the projects that each is paired with.
VLLM_PLUGIN = "vllm-ascend"
PARTNERS = ("vllm", "torch", TORCH_PLUGIN, "triton-ascend")
# Projects whose metadata says nothing of CANN, nor of what to install with them.
NEEDING_FACTS = (TORCH_PLUGIN, VLLM_PLUGIN)
# Projects that run on NPUs only with a plugin, and the plugin.
PLUGINS = {"torch": TORCH_PLUGIN, "vllm": VLLM_PLUGIN}
# What follows the release in the version of a build of CANN.
_BUILD = re.compile(r"\.B\d+\Z", re.IGNORECASE)


def release_of(version: "str") -> "str":
    """Return the release of CANN that a version is, or is a build of: 8.5.0 for 8.5.0.B160."""
    return _BUILD.sub("", version)


# --- versions
#
# Versions of CANN and HDK, and their order.
#
# They do not follow PEP 440: `8.5.0.B160` is build 160 of 8.5.0, where PEP 440 would read a beta, and
# `8.1.RC1.alpha001` and `25.3.rc1.2` are ordinary versions. Their forms are taken from torch_npu's
# csrc/core/npu/GetCANNInfo.cpp and from version files of drivers. The order of a release line is
#
#     X.Y.Tn < X.Y.RCn < X.Y.RCn.p < X.Y.Z < X.Y.Z.p
#
# and a version with a suffix alpha, beta or rc comes before the same version without it. That T
# (test) builds come before RC is an inference from their names.

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
_STAGES = {"T": 0, "RC": 1}
_FINAL_STAGE = 2
_PRES = {"alpha": 0, "beta": 1, "rc": 2}
_NOT_PRE = (3, 0)


class _Key(NamedTuple):
    """All parts of a version except the build, the most important first."""

    major: "int"
    minor: "int"
    stage: "tuple[int, int]"
    patch: "tuple[int, ...]"
    pre: "tuple[int, int]"


def parse_version(text: "str") -> "SystemVersion":
    """Return the version of CANN or HDK that a text spells.

    Raises ValueError, which quotes the text.
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
# Where Python looks for modules, and which files it runs when it starts, by its own site.py.
#
# verify.py runs without site (`-S`), so that nothing of the environment runs before it is judged.
# Then site does its work here, but what it would run is noted instead.

# Python imports these modules when it starts.
STARTUP_MODULES = ("sitecustomize", "usercustomize")


class PathFile(NamedTuple):
    """A `.pth` file that Python reads when it starts."""

    # Its path, the folder without links.
    path: "str"
    # Whether Python runs a line of it.
    runs: "bool"
    # The folders and archives that it adds to the search path.
    entries: "Sequence[str]"

    @property
    def folder(self) -> "str":
        """Return the folder that it is in."""
        return os.path.dirname(self.path)


@dataclass
class SearchPath:
    """The folders and archives in which Python looks for modules, in its order."""

    # As they are on `sys.path`.
    entries: "Sequence[str]" = ()
    # Those of the interpreter itself, which has its standard library there.
    own: "Sequence[str]" = ()
    # The `.pth` files, in the order in which Python reads them.
    path_files: "list[PathFile]" = field(default_factory=list)

    @classmethod
    def of_this_python(cls) -> "SearchPath":
        """Return the search path after what site does when Python starts; `sys.path` is the same.

        This Python was started without site.
        """
        found = cls(own=tuple(sys.path))
        with found._noting():
            site.main()
        found.entries = tuple(sys.path)
        return found

    @classmethod
    def of_folders(cls, folders: "Sequence[str]") -> "SearchPath":
        """Return the search path that has these folders alone as site-packages."""
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
        """Let site note `.pth` files here and run nothing.

        Its functions look each other up, and `exec`, among the names of the module.
        """
        names = vars(site)
        replaced = {
            name: names[name] for name in ("addpackage", "execsitecustomize", "execusercustomize")
        }
        lines: "list[str]" = []

        def add(folder: "str", name: "str", known: "set[str]") -> "set[str] | None":
            lines.clear()
            first = len(sys.path)
            try:
                result: "set[str] | None" = replaced["addpackage"](folder, name, known)
            except Exception:
                # Python does not start with such a file
                result = known
            path = os.path.join(os.path.realpath(folder), name)
            # site reads those of a virtual environment twice
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
        """Return the entries in which Python reads `.pth` files."""
        listed = {entry for file in self.path_files for entry in file.entries}
        return [entry for entry in self.folders if entry not in self.own and entry not in listed]

    def after(self, entry: "str") -> "Sequence[str]":
        """Return an entry and those after it, all without links."""
        real = [os.path.realpath(path) for path in self.entries]
        return real[real.index(entry) :]


def module_origin(name: "str", entry: "str") -> "str":
    """Return the file or package that an import takes from an entry, empty if there is none.

    A folder without `__init__` is none: an import of it runs nothing.
    """
    spec = PathFinder.find_spec(name, [entry])
    if spec is None or not spec.has_location or spec.origin is None:
        return ""
    if spec.submodule_search_locations is not None:
        return os.path.dirname(spec.origin)
    return spec.origin


def _run_nothing() -> "None":
    """Take the place of a function of site that imports a module."""


# --- findings
#
# What all checks use: their context, their results, and access to files and programs.

# The default limit of a program that is run, and of each module or command that is started.
_PROGRAM_SECONDS = 60
SECONDS_TO_START = 300


class LockedDistribution(NamedTuple):
    """A pin of the lock."""

    # The normalized name.
    name: "str"
    # With its local part.
    version: "str"
    # The stage of the installation that installs it, from 1.
    stage: "int"
    # Whether it is built on this machine, rather than installed from a wheel.
    built: "bool" = False
    # The hashes of its files. A build from git has none.
    sha256: "Sequence[str]" = ()
    # The commit that it is built from, if it is from git.
    commit: "str" = ""
    # Whether it is an editable installation of a checkout.
    editable: "bool" = False
    # The label of its wheel variant (PEP 825), empty for a plain wheel.
    variant: "str" = ""
    # A digest of all that determines how it is built, empty if it is not built.
    key: "str" = ""
    # The variables of its build, as pairs of name and value.
    env: "Sequence[tuple[str, str]]" = ()
    # The pins that build it, such as `setuptools==80.9.0`.
    tools: "Sequence[str]" = ()

    @property
    def note(self) -> "str":
        """Return what install.sh notes beside it: how it was built, or the hashes of its file."""
        return self.key or " ".join(sorted(self.sha256))


class DriverNeed(NamedTuple):
    """A requirement on the driver."""

    # Who requires it, for people.
    by: "str"
    # The name of the component that the driver is.
    component: "str"
    # What is required, for people.
    wanted: "str"
    # Alternatives. Each is a list of comparisons that must all hold, such as `>=` and `25.0.rc1`.
    ranges: "Sequence[Sequence[Sequence[str]]]"
    # Whether it is an error if the driver does not meet it; otherwise it is a warning.
    binding: "bool"
    # Why it is required and who says so, by language.
    reason: "Mapping[str, str]"


class Excuse(NamedTuple):
    """The modules and commands of a distribution that may fail to start."""

    # The normalized name of the distribution.
    project: "str"
    modules: "Sequence[str]"
    # The names of its commands.
    scripts: "Sequence[str]"
    # Whether they may fail only where there is no accelerator.
    device: "bool"
    # Why, by language.
    reason: "Mapping[str, str]"


@dataclass(frozen=True)
class LockedStack:
    """The data of a lock that verify.py contains."""

    # The names of the stack and of its target.
    stack: "str"
    target: "str"
    # The system and the processor, such as `linux-aarch64`.
    platform: "str"
    # Major and minor version of Python, such as `3.11`.
    python: "str"
    # The oldest glibc that the target has.
    glibc: "str"
    # The versions of the target's components, such as `cann`, `hdk` and `soc`.
    system: "Mapping[str, str]" = field(default_factory=dict)
    # By normalized name.
    pins: "Mapping[str, LockedDistribution]" = field(default_factory=dict)
    # Requirements that the stack overrides: a distribution, its version and the required name.
    overrides: "Sequence[Sequence[str]]" = ()
    # Modules that must be importable, and the variables to import them with.
    imports: "Sequence[str]" = ()
    import_env: "Mapping[str, str]" = field(default_factory=dict)
    # The names of distributions whose files the stack's own steps change.
    rewritten: "Sequence[str]" = ()
    # Distributions that must not be installed, with the reason.
    absent: "Mapping[str, str]" = field(default_factory=dict)
    driver: "Sequence[DriverNeed]" = ()
    # The distributions that the stack itself names. Their commands must start.
    requested: "Sequence[str]" = ()
    excuses: "Sequence[Excuse]" = ()
    # The messages of verify.py, by language and code.
    texts: "Mapping[str, Mapping[str, str]]" = field(default_factory=dict)
    # The sha256 of the lock.toml that this was made from.
    digest: "str" = ""

    @classmethod
    def parse(cls, text: "str") -> "LockedStack":
        """Read the JSON at the end of verify.py."""
        fields: "dict[str, Any]" = json.loads(text)
        fields["pins"] = {pin["name"]: LockedDistribution(**pin) for pin in fields["pins"]}
        fields["driver"] = [DriverNeed(**need) for need in fields["driver"]]
        fields["excuses"] = [Excuse(**excuse) for excuse in fields["excuses"]]
        return cls(**fields)


def printable(text: "str") -> "str":
    """Return the text with everything escaped that a terminal would act on."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


def is_shared() -> "bool":
    """Return whether this Python is in no virtual or conda environment, as install.sh sees it."""
    if sys.prefix != sys.base_prefix:
        return False
    return not os.path.isdir(f"{sys.prefix}/conda-meta")


def show_nothing(_: "str") -> "None":
    """Ignore a line of progress."""


@dataclass(frozen=True)
class CheckContext:
    """What every check is given: the lock, the machine's folders, and the options."""

    lock: "LockedStack"
    # The lock's folder, in which this program lies.
    folder: "str"
    environ: "Mapping[str, str]"
    # The folder of CANN and the driver.
    ascend: "str" = "/usr/local/Ascend"
    # The folder of wheels to name in commands that fix something, empty for none.
    wheelhouse: "str" = ""
    # Whether to compare the content of every file rather than of a sample.
    full: "bool" = False
    # The language of messages.
    language: "str" = "en"
    # The file of verify.py.
    program: "str" = ""
    # Whether to skip the check that starts every module and command.
    quick: "bool" = False
    # Whether to check the network between accelerators of several nodes.
    network: "bool" = False
    # Which checks are made: `all`, `quick`, or those of the `files` or the `machine` alone.
    checks: "str" = "all"
    # The limit of each start.
    seconds: "float" = SECONDS_TO_START
    # Called with a line that replaces the one before. An empty line removes it.
    progress: "Callable[[str], None]" = show_nothing
    # Where Python looks for modules, and what it runs at each start.
    search_path: "SearchPath" = field(default_factory=SearchPath)

    @property
    def python(self) -> "str":
        """Return the environment's Python, quoted for a shell."""
        return shlex.quote(sys.executable)

    @property
    def install_command(self) -> "str":
        """Return the command that installs what is missing into this environment."""
        options = ["--python", sys.executable]
        if is_shared():
            options.append("--system")
        return self._install(options)

    @property
    def venv_command(self) -> "str":
        """Return the command that makes a new environment for the lock."""
        return f"python{self.lock.python} -m venv env && . env/bin/activate && {self._install([])}"

    def _install(self, options: "Sequence[str]") -> "str":
        command = ["bash", f"{self.folder}/install.sh", *options]
        if self.wheelhouse:
            command += ["--wheelhouse", self.wheelhouse]
        return shlex.join(command)

    def then_install(self, command: "str") -> "str":
        """Return a command that removes something, followed by `install_command`.

        Nothing is to be removed from a shared Python: there it is `venv_command`.
        """
        if is_shared():
            return self.venv_command
        return f"{command} && {self.install_command}"

    def reinstall_command(self, *names: "str") -> "str":
        """Return the command that uninstalls distributions and installs the lock's again."""
        command = f"{self.python} -m pip uninstall -y {shlex.join(names)}"
        if "pip" in names:
            # install.sh needs a pip: the one that Python brings
            command += f" && {self.python} -m ensurepip"
        return self.then_install(command)


@dataclass(frozen=True)
class Finding:
    """A difference from the lock, or something that could not be checked."""

    # The messages about it have this code with `-what`, `-why` and `-mend` appended.
    code: "str"
    # The values of the placeholders in these messages.
    values: "Mapping[str, str]"
    # A command that fixes it, to be shown in place of the message `-mend`.
    remedy: "str" = ""


@dataclass(frozen=True)
class Group:
    """The result of one check."""

    # The name of the check: a message `group-NAME` is its title.
    name: "str"
    findings: "Sequence[Finding]"
    # The values of the placeholders in the note.
    values: "Mapping[str, str]" = field(default_factory=dict)
    # The code of the message for a check without findings, empty for the name of the check.
    note: "str" = ""
    # Whether the note is shown beside findings, too.
    counted: "bool" = False
    # The values of further lines, one for each thing that is excused.
    remarks: "Sequence[Mapping[str, str]]" = ()
    # A row for each thing that was tried, for the JSON.
    results: "Sequence[Mapping[str, Any]]" = ()
    # What this machine has, by name: nodes of a cluster are compared by it.
    machine: "Mapping[str, str]" = field(default_factory=dict)


def list_and_count(items: "Sequence[str]", most: "int" = 3) -> "dict[str, str]":
    """Return the values `list` and `count` of a message, which names the first few of all items."""
    text = ", ".join(items[:most])
    if len(items) > most:
        text += ", …"
    return {"list": text, "count": str(len(items))}


class UnreadableError(Exception):
    """A file exists, but cannot be read or has invalid content."""

    def __init__(self, path: "str", why: "str") -> "None":
        super().__init__(path, why)
        # The values of a finding about the file.
        self.values = {"path": path, "why": why}


def read_text(path: "str", errors: "str" = "strict") -> "str | None":
    """Return the text of a file, None if there is none. Raises UnreadableError.

    Only regular files are opened: a pipe would block.
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
        # a path with a null in it
        raise UnreadableError(path, str(error)) from None


def assignments(text: "str") -> "dict[str, str]":
    """Return the values in lines like `Version=25.3.rc1` or `Chip Name   : 910B4`.

    Keys are in lower case. Of a repeated key, the first line counts.
    """
    values: "dict[str, str]" = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z][\w .-]*?)\s*[=:]\s*(.*?)\s*$", line)
        if match:
            values.setdefault(match[1].lower(), match[2])
    return values


class ProgramResult(NamedTuple):
    """How a program ended."""

    # The exit status, negative for a signal. None if it did not start or took too long.
    status: "int | None"
    # What it wrote to standard output.
    output: "str"
    # The last line of standard error, or else what the status means.
    ending: "str"


def run_program(
    command: "Sequence[str]", environ: "Mapping[str, str]", seconds: "int" = _PROGRAM_SECONDS
) -> "ProgramResult":
    """Run a program of the machine or of the environment, for at most so many seconds."""
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
        # a null in the command or in a variable
        return ProgramResult(None, "", str(error))
    output = done.stdout.decode("utf-8", "replace")
    return ProgramResult(done.returncode, output, _ending_of(done.returncode, done.stderr))


def _ending_of(status: "int", stderr: "bytes") -> "str":
    """Return the last line of standard error, or what the status means; both for a signal."""
    errors = stderr.decode("utf-8", "replace").strip().splitlines()
    if status >= 0:
        return errors[-1] if errors else f"exit status {status}"
    killed = f"killed by {signal_name(-status)}"
    return f"{killed}: {errors[-1]}" if errors else killed


def signal_name(number: "int") -> "str":
    """Return the name of a signal; the number of a real-time signal, which has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


# --- conda
#
# What conda has installed in this environment, as its own metadata says.

class CondaPackage(NamedTuple):
    """A package that conda has installed."""

    # The name of its file in conda-meta.
    name: "str"
    # The paths of its files, without links in the prefix; None if its metadata cannot be read.
    files: "frozenset[str] | None"


def conda_packages() -> "Sequence[CondaPackage]":
    """Return the packages of this environment, none if it is not conda's.

    A virtual environment never is, whatever lies in it.
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
    """Return the packages that a folder describes, which was changed at a time."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    return [CondaPackage(name, _files(folder, name)) for name in names]


def _files(folder: "str", name: "str") -> "frozenset[str] | None":
    prefix = os.path.dirname(folder)
    try:
        files = json.loads(read_text(f"{folder}/{name}") or "")["files"]
        return frozenset(os.path.normpath(os.path.join(prefix, file)) for file in files)
    except (UnreadableError, ValueError, TypeError, KeyError, RecursionError):
        return None


def is_of_conda(path: "str") -> "bool":
    """Return whether conda lists a file, whose folder has no links in its path, as its own."""
    return any(path in (package.files or ()) for package in conda_packages())


# --- distributions
#
# The installed distributions, as their .dist-info and .egg-info entries describe them.

UNKNOWN_SIZE = -1
# The file beside METADATA in which install.sh notes `LockedDistribution.note`.
_NOTE = "ascend-lock.txt"
# A suffix of a version in any spelling.
_SUFFIX = re.compile(r"[-_.]?(alpha|beta|preview|pre|rc|a|b|c|post|rev|r|dev)[-_.]?(\d*)|-(\d+)")
# How PEP 440 writes the suffixes that have several spellings.
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
    """Return a name as PEP 503 normalizes it: `foo-bar-baz` for `Foo.Bar_baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def same_version(left: "str", right: "str") -> "bool":
    """Return whether two texts spell one version (PEP 440), such as `1.0` and `1.0.0`."""
    return left == right or _canonical_version(left) == _canonical_version(right)


def _canonical_version(text: "str") -> "str":
    """Return the spelling that stands for all spellings of a version."""
    without_zeros = re.sub(r"(?<![0-9a-z])0+(?=\d)", "", text.strip().lower())
    public, _, local = without_zeros.partition("+")
    without_epoch = re.sub("^v?(0!)?", "", public)
    release, _, suffixes = _SUFFIX.sub(_canonical_suffix, without_epoch).partition(" ")
    numbers = release.split(".")
    while len(numbers) > 1 and numbers[-1] == "0":
        numbers.pop()
    return f"{'.'.join(numbers)} {suffixes}+{re.sub('[-_]', '.', local)}"


def _canonical_suffix(suffix: "re.Match[str]") -> "str":
    kind = suffix[1] or "post"
    # as text, as Python refuses to read a number of thousands of digits
    number = (suffix[2] or suffix[3] or "").lstrip("0") or "0"
    return f" {_SPELLINGS.get(kind, kind)}{number}"


class RecordRow(NamedTuple):
    """A file of a distribution, as RECORD lists it."""

    # Absolute and normalized.
    path: "str"
    # Such as `sha256=…`, without padding. Empty if RECORD has none.
    digest: "str"
    # In bytes; UNKNOWN_SIZE if RECORD has none.
    size: "int"


@dataclass(frozen=True)
class InstalledDistribution:
    """A distribution that Python finds."""

    # The normalized name.
    name: "str"
    # Empty if its metadata cannot be read.
    version: "str"
    # The folder that the paths in RECORD are relative to: site-packages.
    root: "str"
    # The path of its .dist-info folder, or of its .egg-info folder or file.
    info: "str"
    # The content of INSTALLER, empty if there is no such file.
    installer: "str"
    # The content of direct_url.json (PEP 610), empty if there is no such file.
    direct_url: "Mapping[str, Any]"

    # not imported by name: on Python 3.7, verify.py must come so far as to say that it is too old
    @functools.cached_property
    def rows(self) -> "Sequence[RecordRow]":
        """Return the rows of RECORD, none if it is missing or broken."""
        try:
            return self.read_record() or ()
        except UnreadableError:
            return ()

    def read_record(self) -> "Sequence[RecordRow] | None":
        """Return the rows of RECORD without compiled files, None if there is no RECORD.

        Raises UnreadableError.
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
                # Python compiles a module again whenever it likes
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

    @property
    def editable_folder(self) -> "str":
        """Return the folder that an editable installation points to, empty for any other."""
        dir_info = self.direct_url.get("dir_info")
        if isinstance(dir_info, dict) and dir_info.get("editable") is True:
            url = str(self.direct_url.get("url", ""))
            return unquote(re.sub("^file://", "", url))
        return self.root if self._is_developed() else ""

    def _is_developed(self) -> "bool":
        """Return whether `setup.py develop` installed it: its .egg-info folder lists no files."""
        if self.info.lower().endswith(".dist-info") or not os.path.isdir(self.info):
            return False
        return not os.path.isfile(f"{self.info}/installed-files.txt")

    @property
    def note(self) -> "str":
        """Return what install.sh noted of the file it is from, empty if it did not install it.

        A note that RECORD does not list is not counted: it may be of an earlier installation.
        """
        path = f"{self.info}/{_NOTE}"
        if not any(row.path == path for row in self.rows):
            return ""
        try:
            return (read_text(path) or "").strip()
        except UnreadableError:
            return ""

    def variant_labels(self) -> "list[str]":
        """Return the labels of its wheel variant (PEP 825); none if variant.json is not usable."""
        try:
            table = json.loads(read_text(f"{self.info}/variant.json") or "{}")
            return [str(label) for label in table["variants"]]
        except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
            return []

    @property
    def is_ours(self) -> "bool":
        """Return whether it lies in this environment, which no other program shares."""
        return is_ours(self.root)

    @property
    def is_of_conda(self) -> "bool":
        """Return whether conda has installed it: the content of INSTALLER alone proves nothing."""
        return self.installer == "conda" and is_of_conda(f"{self.info}/INSTALLER")


def is_ours(folder: "str") -> "bool":
    """Return whether a folder lies in this environment, which no other program shares.

    Its path has no links.
    """
    return not is_shared() and folder.startswith(os.path.realpath(sys.prefix) + "/")


# Distributions by their normalized names.
Installed = Dict[str, InstalledDistribution]


def installed_distributions(
    context: "CheckContext", paths: "Iterable[str]"
) -> "tuple[Installed, list[Finding]]":
    """Return the distributions in a search path by name, and what is wrong with their metadata.

    Of several distributions of one name, the first one counts, as in Python.
    """
    installed: "Installed" = {}
    findings = []
    for root in dict.fromkeys(os.path.realpath(path) for path in paths):
        entries: "dict[str, str]" = {}
        for path in _metadata_paths(root):
            entry = os.path.basename(path)
            if entry.startswith("~"):
                # pip renames a distribution so while it replaces it
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
    """Return the command that uninstalls both distributions of a name and installs the lock's.

    `paths` are their metadata. pip uninstalls one of them each time, but itself only once.
    """
    uninstall = f"{context.python} -m pip uninstall -y {shlex.quote(name)}"
    if name != "pip":
        return context.then_install(f"{uninstall} && {uninstall}")
    # ensurepip installs nothing where there is metadata of a pip, even without its modules
    remove = f"rm -rf {shlex.join(paths)}"
    return context.then_install(f"{uninstall} && {remove} && {context.python} -m ensurepip")


def hidden_distributions(
    context: "CheckContext", installed: "Installed"
) -> "Iterator[InstalledDistribution]":
    """Yield the distributions beside these that Python does not find, as others have their names.

    Their files are there nevertheless.
    """
    found = {distribution.info for distribution in installed.values()}
    for root in sorted({distribution.root for distribution in installed.values()}):
        for path in _metadata_paths(root):
            if path not in found and not os.path.basename(path).startswith("~"):
                yield _read_distribution(context, root, path)[0]


def _metadata_paths(root: "str") -> "list[str]":
    """Return the .dist-info and .egg-info entries of a folder, sorted, as importlib finds them.

    It takes any first character and capitals, and EGG-INFO in a folder that is called `.egg`.
    """
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    is_egg = root.lower().endswith(".egg")
    return [f"{root}/{name}" for name in names if is_metadata(name, in_egg=is_egg)]


def is_metadata(name: "str", *, in_egg: "bool" = False) -> "bool":
    """Return whether an entry of site-packages is the metadata of a distribution, by its name."""
    lower = name.lower()
    return lower.endswith((".dist-info", ".egg-info")) or (in_egg and lower == "egg-info")


def _read_distribution(
    context: "CheckContext", root: "str", path: "str"
) -> "tuple[InstalledDistribution, list[Finding]]":
    """Read the metadata at a path, and return what is wrong with it."""
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
    """Return what METADATA or PKG-INFO has. Raises UnreadableError."""
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
    """Return the object in a JSON file, an empty one without a file. Raises UnreadableError."""
    try:
        value = json.loads(read_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    if not isinstance(value, dict):
        raise UnreadableError(path, "it is not a JSON object")
    return value


# --- environment
#
# The checks of the lock, the machine, Python and the installed distributions.

# Tools that make an environment. They may be there without being locked.
TOOLS = ("pip", "setuptools", "wheel")
# How many distributions a message names.
_LISTED = 8
# If so many are missing, this is likely to be another environment.
_MANY_MISSING = 10
_PIP_SECONDS = 300
# A line of `pip check`, in either of its wordings.
_COMPLAINT = re.compile(
    r"(\S+) (\S+) (?:requires ([A-Za-z0-9._-]+)|has requirement ([A-Za-z0-9._-]+))"
)


def check_lock(context: "CheckContext") -> "Group":
    """Check whether the lock.toml beside this program is the one that it was made from."""
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
    """Check whether the lock's compiled files can run on this machine."""
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
    return [int(part) for part in version.split(".") if part.isdigit()]


def check_python(context: "CheckContext", installed: "Installed") -> "Group":
    """Check whether this Python takes the lock's wheels, and is an environment for the lock."""
    values = _python_values(context)
    finding = _wrong_python(values) or _other_environment(context, installed)
    if finding is None and is_shared():
        finding = Finding("python-shared", values)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def check_interpreter(context: "CheckContext") -> "Group":
    """Check whether this Python can have an environment for the lock."""
    values = _python_values(context)
    finding = _wrong_python(values)
    machine = {"python": values["found"]}
    return Group("python", [finding] if finding else [], values, machine=machine)


def _python_values(context: "CheckContext") -> "dict[str, str]":
    return {
        "found": platform.python_version(),
        "wanted": context.lock.python,
        "python": sys.executable,
    }


def _wrong_python(values: "Mapping[str, str]") -> "Finding | None":
    """Return a finding if this is another version or implementation of Python."""
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
    """Return a finding if most of the lock is missing.

    All other differences would only follow from that.
    """
    pins = context.lock.pins
    found = sum(name in installed for name in pins)
    missing = len(pins) - found
    if missing < max(_MANY_MISSING, found):
        return None
    install = context.install_command
    if is_shared() or extra_distributions(context, installed):
        install = context.venv_command
    values = {"found": str(found), "count": str(len(pins))}
    return Finding("environment-other", {**values, "python": sys.executable, "install": install})


def check_distributions(
    context: "CheckContext",
    installed: "Installed",
    broken: "Iterable[Finding]",
    colliding: "Container[str]" = (),
) -> "Group":
    """Check that each pin is installed in its version from its source, and nothing else is.

    `broken` is what `installed_distributions` found. The distributions `colliding` are left out, as
    another check reports them.
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
    extra = extra_distributions(context, installed)
    if extra:
        remedy = context.venv_command
        if all(installed[name].is_ours for name in extra):
            remedy = f"{context.python} -m pip uninstall {shlex.join(extra)}"
        findings.append(Finding("distribution-extra", list_and_count(extra, _LISTED), remedy))
    unnoted = [name for name in sorted(pins) if name in installed and not installed[name].note]
    values = {"count": str(len(pins)), "unnoted": str(len(unnoted))}
    note = "distributions-but" if unnoted else "distributions"
    return Group("distributions", findings, values, note)


def _unwanted(
    context: "CheckContext", installed: "Installed", colliding: "Container[str]"
) -> "Iterator[Finding]":
    """Yield a finding for each distribution that the lock excludes."""
    for name, reason in sorted(context.lock.absent.items()):
        if name in installed and name not in colliding:
            remedy = context.venv_command
            if installed[name].is_ours:
                remedy = context.reinstall_command(name)
            yield Finding("distribution-unwanted", {"name": name, "reason": reason}, remedy)


def extra_distributions(context: "CheckContext", installed: "Iterable[str]") -> "list[str]":
    """Return the installed distributions that the lock says nothing about, sorted."""
    known = {*context.lock.pins, *context.lock.absent, *TOOLS}
    return sorted(name for name in installed if name not in known)


def _differences_from_pin(
    pin: "LockedDistribution", installed: "InstalledDistribution"
) -> "list[Finding]":
    """Return how a distribution differs from its pin: the first difference is enough."""
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
    return Finding(code, {"name": pin.name, "wanted": pin.version, "found": found})


def _other_source(pin: "LockedDistribution", direct_url: "Mapping[str, Any]") -> "str":
    """Return the commit or archive that was installed in place of the locked one, else nothing.

    `direct_url` is direct_url.json (PEP 610), which only a direct installation has.
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
    """Return the sha256 in `hashes` or in the deprecated `hash`, empty if there is neither."""
    hashes = archive.get("hashes")
    if isinstance(hashes, dict) and hashes.get("sha256"):
        return str(hashes["sha256"])
    return str(archive.get("hash", "")).partition("sha256=")[2]


def checkout_folder(name: "str") -> "str":
    """Return the folder into which install.sh puts the checkout of an editable distribution."""
    return f"{sys.prefix}/src/{name}"


def check_requirements(context: "CheckContext") -> "Group":
    """Check that the requirements of every distribution are met, by `pip check`.

    pip runs without PYTHONPATH: CANN puts distributions there that pip cannot judge.
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
    """Return whether pip complains of a requirement that the lock overrides."""
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
# The top-level modules and the commands of distributions, which can be started.

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
# Groups of entry points that must load: commands, and plugins that vllm loads at each start.
_ENTRY_POINT_GROUPS = (
    "console_scripts",
    "gui_scripts",
    "vllm.general_plugins",
    "vllm.platform_plugins",
)
# `x.py`, or a compiled `x.so`, `x.abi3.so` or `x.cpython-311-aarch64-linux-gnu.so`.
_MODULE_FILE = re.compile(r"(\w+)(?:\.py|(?:\.abi3|\.cpython-\w+-[\w-]+)?\.so)")
# How many folders of namespace packages a module may be in.
_NAMESPACE_DEPTH = 2


class Startable(NamedTuple):
    """A module or command of a distribution."""

    # The normalized name of the distribution.
    project: "str"
    # "module" or "script".
    kind: "str"
    # The dotted name of the module, or the name of the command.
    name: "str"
    # What is imported: the module, with the attribute that a command calls (`vllm.cli:main`).
    reference: "str"


def startables(installed: "Installed", with_commands: "Container[str]") -> "list[Startable]":
    """Return the modules of all distributions, and the commands of the named ones.

    A module that several distributions have belongs to the first one by name.
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

    For a namespace package, these are the packages and modules in it (`google.protobuf`). What is
    not meant to be imported, such as `tests`, is left out, and so are stubs.
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
    """Return the name, in parts, of the top-level module that a file belongs to; empty if none."""
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
    """Return the name of the module in a file, empty if it has none."""
    match = _MODULE_FILE.fullmatch(filename)
    return match[1] if match and match[1].isidentifier() else ""


def _is_meant(name: "Sequence[str]") -> "bool":
    """Return whether a module, named in parts, can and should be imported."""
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in name):
        return False
    return name[0] not in _NOT_IMPORTED and not name[0].startswith("__editable__")


def _has_init(path: "str") -> "bool":
    """Return whether a file can be a module: a mere library (`libx.so`) has no PyInit function."""
    if not path.endswith(".so"):
        return True
    function = f"PyInit_{_stem(os.path.basename(path))}".encode()
    try:
        with open(path, "rb") as file:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(function) >= 0
    except (OSError, ValueError):
        # the check of files tells what is wrong with it
        return False


def _listed_modules(distribution: "InstalledDistribution") -> "list[str]":
    """Return the modules in top_level.txt of an editable installation, whose RECORD has none."""
    if not distribution.editable_folder:
        return []
    names = _metadata_text(distribution, "top_level.txt").split()
    return [name for name in names if _is_meant([name])]


def _commands(distribution: "InstalledDistribution") -> "list[tuple[str, str]]":
    """Return the names of a distribution's commands, each with what it calls."""
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
    """Return the text of a file in .dist-info, empty if it cannot be read."""
    try:
        return read_text(f"{distribution.info}/{name}") or ""
    except UnreadableError:
        return ""


# --- ownership
#
# Who owns the files of site-packages: distributions, by the lists that their installers wrote.
#
# RECORD, conda's own lists and `installed-files.txt` tell who owns a file. Of a distribution that has
# none of these, `top_level.txt` may name the modules. What may belong to it cannot be judged.

# Python imports a `.pyc` without its source, unless it is in __pycache__.
IMPORTABLE = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)
# Installers that write RECORD last: without one, the installation was cut off.
_RECORDING = ("", "pip", "uv")


class Ownership:
    """Knows which files have an owner, and where that cannot be told."""

    def __init__(
        self, context: "CheckContext", installed: "Installed", search_path: "SearchPath"
    ) -> "None":
        """Read the lists of all distributions, and of those that they hide from Python."""
        locked_names = {name for name in context.lock.pins if name in installed}
        self._locked = [installed[name] for name in sorted(locked_names)]
        self._locked_names = locked_names
        self._rewritten = frozenset(context.lock.rewritten)
        self.search_path = search_path
        # The paths of all files that have an owner, and of those that locked distributions have.
        self.files: "set[str]" = set()
        self._locked_files: "set[str]" = set()
        # The folders in which files have an owner, at any depth.
        self.folders: "set[str]" = set()
        # Distributions and conda packages that list no files.
        self.unlisted: "list[str]" = []
        # Paths, without suffix, of modules and packages that may belong to them.
        self._unlisted_modules: "set[str]" = set()
        # The folders in which any module may belong to them.
        self._unlisted_folders: "set[str]" = set()
        # The names of those that have an entry of site-packages or files in it, by its path.
        self._owners: "dict[str, set[str]]" = {}
        # The folders that are site-packages or have distributions, in the order in which Python
        # looks into them, each with whether it is this environment's.
        self.roots: "Mapping[str, bool]" = _roots(installed, search_path)
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
        # The folders that hold this environment's modules: the search path and checkouts.
        self._homes = [os.path.realpath(folder) for folder in folders if folder]
        self._projects = _project_folders(installed.values())
        self._locked_projects = _project_folders(self._locked)

    def _add_without_record(
        self, distribution: "InstalledDistribution", site_packages: "Collection[str]"
    ) -> "None":
        """Add what installed-files.txt or top_level.txt lists."""
        files = lines_of(f"{distribution.info}/installed-files.txt")
        if files:
            self._add_files(distribution.name, _joined(distribution.info, files))
            return
        if distribution.root not in site_packages:
            # `setup.py develop` has a folder of its own
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
        """Add the files that the metadata of conda packages lists."""
        for package in conda_packages():
            if package.files is not None:
                self._add_files(package.name, package.files)
            else:
                self.unlisted.append(package.name)
                ours = [root for root, is_ours_alone in self.roots.items() if is_ours_alone]
                self._unlisted_folders.update(ours)

    def _add_files(self, owner: "str", paths: "Iterable[str]") -> "None":
        for path in paths:
            self.files.add(path)
            self._add_folders(os.path.dirname(path))
            for root in self.roots:
                start = f"{root}/"
                if path.startswith(start):
                    top = path[len(start) :].partition("/")[0]
                    self._owners.setdefault(start + top, set()).add(owner)

    def _add_folders(self, folder: "str") -> "None":
        """Add a folder and all that it is in."""
        while folder not in self.folders:
            self.folders.add(folder)
            folder = os.path.dirname(folder)

    def owners_of(self, path: "str") -> "Collection[str]":
        """Return the names of those that have an entry of site-packages, or files in it."""
        return self._owners.get(path, frozenset())

    def is_of_lock(self, path: "str") -> "bool":
        """Return whether a locked distribution has a file, or any file in a folder."""
        return path in self._locked_files or not self._locked_names.isdisjoint(self.owners_of(path))

    def is_of_locked_project(self, path: "str") -> "bool":
        """Return whether a locked distribution has a path, or it is below an editable one's folder.

        It has no links.
        """
        return self.is_of_lock(path) or _is_in_any(path, self._locked_projects)

    def has_entry(self, path: "str") -> "bool":
        """Return whether a distribution has an entry of the search path that it added.

        It is the folder of an editable one, or has files of others. It has no links.
        """
        return path in self.files or path in self.folders or _is_in_any(path, self._projects)

    def replacing_files(self) -> "list[str]":
        """Return the files of others that are a module of the same name as one of the lock.

        Python takes a package before a module, and a compiled module before a source.
        """
        locked = {module_path(path) for path in self._locked_files if path.endswith(IMPORTABLE)}
        others = [path for path in self.files - self._locked_files if path.endswith(IMPORTABLE)]
        same = [path for path in others if module_path(path) in locked]
        return sorted(path for path in same if os.path.lexists(path))

    def is_rewritten(self, folder: "str") -> "bool":
        """Return whether the stack's own steps change what is in a folder of site-packages."""
        return not self._rewritten.isdisjoint(self.owners_of(folder))

    def is_known(self, path: "str") -> "bool":
        """Return whether it is certain who owns a module or package of site-packages, if anyone."""
        if f"{path}/__init__.py" in self.files:
            return True
        folder, name = os.path.split(path)
        if folder in self._unlisted_folders:
            return False
        return f"{folder}/{module_of(name)}" not in self._unlisted_modules

    def locked_modules(self, entry: "str") -> "set[str]":
        """Return the names of the locked modules that are in an entry of the path or in later ones.

        A module of such a name in this entry hides them. The path of the entry has no links.
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
        """Return the first path from which a module must not be, with the code of what is wrong.

        Both are empty if there is none.
        """
        for path in paths:
            fault = self.fault_of_import(module, path or "")
            if path and fault:
                return path, fault
        return "", ""

    def fault_of_import(self, module: "str", path: "str") -> "str":
        """Return the code of what is wrong with where a module is from, empty if nothing is.

        `path` is its file, empty if it has none.
        """
        if not path:
            return ""
        real = os.path.realpath(path)
        if not any(real.startswith(home.rstrip("/") + "/") for home in self._homes):
            return "import-elsewhere"
        return "import-replaced" if self._is_replaced(module, path) else ""

    def _is_replaced(self, module: "str", path: "str") -> "bool":
        """Return whether a file of site-packages, not the lock's, was imported as a locked module.

        Modules in a folder that the stack rewrites are not judged.
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
    """Return the path of a module without suffix, of a package that of its folder."""
    folder, name = os.path.split(path)
    module = module_of(name)
    return folder if module == "__init__" else os.path.join(folder, module)


def _project_folders(distributions: "Iterable[InstalledDistribution]") -> "list[str]":
    """Return the folders of editable installations, without links."""
    folders = [distribution.editable_folder for distribution in distributions]
    return [os.path.realpath(folder) for folder in folders if folder]


def _is_in_any(path: "str", folders: "Iterable[str]") -> "bool":
    return any(f"{path}/".startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _roots(installed: "Installed", search_path: "SearchPath") -> "dict[str, bool]":
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
    """Yield the names of the modules and packages that a distribution has in site-packages."""
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
    """Return the name of the module that a file or folder with this name has."""
    return name.partition(".")[0]


def _joined(folder: "str", names: "Iterable[str]") -> "list[str]":
    return [os.path.normpath(os.path.join(folder, name)) for name in names]


def lines_of(path: "str") -> "list[str]":
    """Return the lines of a file that are not empty, none if it cannot be read."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]


# --- libraries
#
# Libraries of CANN and of the driver that a module needs when it is imported.

# The finding about a module that needs CANN, where CANN is installed and not active.
INACTIVE_TOOLKIT = "import-without-cann"

# How their names go on after `lib`. A test has all that systems.toml names.
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
# Of names that others might begin with, too, the whole.
_LIBRARY_NAMES = ("c_sec", "platform", "register")
_MISSING_LIBRARY = re.compile(
    rf"(lib(?:(?:{'|'.join(_LIBRARY_PREFIXES)})\w*|{'|'.join(_LIBRARY_NAMES)})\.so[\w.]*)"
    r": cannot open shared object"
)


def missing_library(error: "str") -> "str":
    """Return the library of CANN or its driver that an error says is missing, empty for others."""
    match = _MISSING_LIBRARY.search(error)
    return match[1] if match else ""


def is_on_disk(context: "CheckContext", library: "str") -> "bool":
    """Return whether CANN or the driver has a library in a folder that programs load it from.

    The folder `devlib` has only stand-ins for compilers.
    """
    driver = f"{glob.escape(context.ascend)}/driver/lib64"
    folders = [driver, f"{driver}/*"]
    cann = glob.escape(context.environ.get("ASCEND_HOME_PATH", ""))
    if cann:
        folders += [f"{cann}/lib64", f"{cann}/*/lib64"]
    return any(glob.glob(f"{folder}/{library}") for folder in folders)


# --- imports
#
# The check that the modules that the lock lists can be imported, as a user's program would.
#
# Unlike the other checks, it does not run Python isolated: CANN's set_env.sh puts modules that
# torch_npu needs on PYTHONPATH. Since that variable or the user's own site-packages can come before
# the lock's, the check also looks at where each module is from.
#
# After a module that fails, another Python imports the remaining ones: modules that are half loaded
# can make further imports fail.

_IMPORT_SECONDS = 1800
# What the loader says of a library of CANN (ascendcl, hccl, ge, graph, op compiler) or of its
# driver (ascend_hal) that it does not find.
# Standard output has the rows alone: what a module prints goes to standard error.
_WRITE_ROW = """
import json, os, sys
rows = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
sys.path[:] = [path for path in sys.path if path]
def write_row(row):
    rows.write(json.dumps(row) + "\\n")
    rows.flush()
"""
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

# Where each module is from is asked before any of them runs: it could say anything of itself.
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
    """Return the variables of a Python that imports modules: the user's and the lock's."""
    return {**context.environ, **context.lock.import_env, "PYTHONDONTWRITEBYTECODE": "1"}


def run_python(
    context: "CheckContext", code: "str", *arguments: "str"
) -> "tuple[list[dict[str, Any]], str]":
    """Run code in the environment with the lock's variables.

    Return the rows that it passes to `write_row`, and how it ended.
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
    """Return the file or folder from which each module would be imported; nothing is imported.

    It is empty for a module that is not found.
    """
    if not names:
        return {}
    rows, _ = run_python(context, _FIND, json.dumps(list(names)))
    return {str(row["name"]): str(row["path"]) for row in rows}


def check_imports(context: "CheckContext", ownership: "Ownership", *, has_device: "bool") -> "Group":
    """Check that the modules that the lock lists can be imported, and are the lock's.

    `has_device` is whether the machine has an accelerator. Without one, as where an image is built,
    libraries of the toolkit or of its driver can be missing: a module that needs them cannot be
    tried there.
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
    return {"name": name, "command": shown_command(context, f"import {name}")}


def _import_failure(
    context: "CheckContext", values: "dict[str, str]", error: "str", *, has_device: "bool"
) -> "Finding":
    """Return the finding about an import that raised an exception."""
    first_line = error.partition("\n")[0]
    library = missing_library(first_line)
    if not library:
        return Finding("import-failed", {**values, "error": first_line})
    code = "import-untried"
    if has_device or is_on_disk(context, library):
        code = INACTIVE_TOOLKIT
    return Finding(code, {**values, "library": library})


def shown_command(context: "CheckContext", code: "str") -> "str":
    """Return the shell command that runs code as `run_python` does, for people to try."""
    command = f"{context.python} -c {shlex.quote(code)}"
    variables = [
        f"{name}={shlex.quote(value)}" for name, value in sorted(context.lock.import_env.items())
    ]
    if variables:
        return f"env {' '.join(variables)} {command}"
    return command


# --- checks
#
# The checks of CANN, the driver, the chip and a tensor on the NPU.
#
# They read the files of CANN and of the driver, and ask npu-smi.
#
# CANN's `version.info` has an internal number as `Version=8.2.0.0.201` and the release as
# `version_dir`. Its `version.cfg` has `[internal:release]` of the running version and a history of
# installations. So only ascend_toolkit_install.info, `*_running_version` and `version_dir` are read.
#
# npu-smi prints the driver as Software Version, and the chip in parts: an A2 has a Chip Type and a
# Chip Name (`Ascend`, `910B4`), an A3 a Chip Name and an NPU Name (`Ascend910`, `9392`). The numbers
# of cards need not be consecutive.

# set_env.sh sets both. torch_npu reads the first one.
_HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
_PARTS = ("toolkit", "runtime", "compiler", "opp", "opp_kernel", "hccl")
# ATB_HOME_PATH is such as nnal/atb/latest/atb/cxx_abi_1, and the version file lies in `latest`.
_NNAL_LEVELS = 4
# Parts of the names of chips by family, from vllm_ascend/device/hardware.py: ascend910b1 to b4-1;
# ascend910_9391 and so on; ascend310p1 and so on; ascend950.
_FAMILIES = (("A2", r"910b"), ("A3", r"910_9[0-9]{3}"), ("310P", r"310p"), ("A5", r"950"))

_TENSOR = """
import torch, torch_npu
ones = torch.ones(2, 2).npu()
total = float((ones + ones).sum().cpu())
name = torch.npu.get_device_name(0)
write_row({"sum": total, "count": torch.npu.device_count(), "name": name})
"""


class _Release(NamedTuple):
    """The release of a part of CANN."""

    part: "str"
    # The file that tells the release.
    path: "str"
    version: "SystemVersion"


def check_components(context: "CheckContext", tool: "NpuTool") -> "Iterator[Group]":
    """Check CANN, driver and SoC, as far as the lock has them; tell what cannot be checked."""
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
    """Return the result of a check of a component, with what it found to compare machines by."""
    return replace(group, machine={group.name: group.values[key], **further})


def _asks_for_hdk(context: "CheckContext") -> "bool":
    return any(need.component == DRIVER for need in context.lock.driver)


def check_computation(context: "CheckContext", tool: "NpuTool") -> "Iterator[Group]":
    """Check that the accelerator computes, if the lock has torch's plugin for it."""
    if TORCH_PLUGIN in context.lock.pins:
        yield check_npu(context, tool)


def check_cann(context: "CheckContext") -> "Group":
    """Check that the active CANN is the lock's, and all parts of it are of one release."""
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
    """Return the finding about a value that only a lock which was edited has: it is no version."""
    return Finding("component-invalid", {"component": component, "wanted": wanted})


def _releases(path: "str") -> "Iterator[_Release]":
    """Yield the releases of the parts of CANN that a file names, the toolkit first.

    Raises UnreadableError.
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
    """Return the version that a key of a file has. Raises UnreadableError if it has none."""
    if not text:
        raise UnreadableError(path, f"it states nothing for `{key}`")
    try:
        return parse_version(text)
    except ValueError as error:
        raise UnreadableError(path, str(error)) from None


def _nnal_findings(context: "CheckContext", release: "SystemVersion") -> "list[Finding]":
    """Return a finding if NNAL is of another release than the toolkit.

    Its file has lines like `Version : 8.0.0.B100`.
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
    """Return the command that activates CANN, empty if there is none.

    It is the lock's release, or else, with `any_release`, the one that is installed as current.
    """
    release = context.lock.system[TOOLKIT]
    names = [f"cann-{release}", f"ascend-toolkit/{release}"]
    if any_release:
        names += ["cann", "ascend-toolkit"]
    roots = [context.ascend]
    if context.environ.get("HOME"):
        roots.append(f"{context.environ['HOME']}/Ascend")
    return _source_command([f"{root}/{name}" for root in roots for name in names])


def _source_command(folders: "Iterable[str]") -> "str":
    """Return the command that sources set_env.sh of the first folder that has it, else nothing."""
    for folder in folders:
        script = f"{folder}/set_env.sh"
        if os.path.isfile(script):
            return f". {shlex.quote(script)}"
    return ""


class NpuTool(NamedTuple):
    """What npu-smi tells of this machine."""

    # The version of the driver, empty if npu-smi does not tell.
    driver: "str" = ""
    # The distinct names of the chips that npu-smi tells, the one of the first NPU first.
    chips: "tuple[str, ...]" = ()
    # The number of NPUs, 0 without npu-smi.
    npus: "int" = 0

    @property
    def chip(self) -> "str":
        """Return the name of the first chip, empty if npu-smi does not tell."""
        return self.chips[0] if self.chips else ""

    @property
    def has_device(self) -> "bool":
        """Return whether this machine or container has an NPU, by npu-smi or by its devices."""
        return self.npus > 0 or bool(glob.glob("/dev/davinci[0-9]*"))


def ask_tool(context: "CheckContext") -> "NpuTool":
    """Return what npu-smi tells, if there is one."""
    folders = context.environ.get("PATH", "").split(os.pathsep)
    folders += ["/usr/local/bin", "/usr/local/sbin"]
    # a relative folder would depend on the current one
    absolute = [folder for folder in folders if os.path.isabs(folder)]
    tool = shutil.which("npu-smi", path=os.pathsep.join(absolute))
    if tool is None:
        return NpuTool()

    def output(*arguments: "str") -> "str":
        result = run_program([tool, "info", *arguments], context.environ)
        return result.output if result.status == 0 else ""

    rows = re.findall(r"^\s*(\d+)\s+(\d+)\s+\d+\s+(\S.*?)\s*$", output("-m"), re.MULTILINE)
    if not rows:
        return NpuTool()
    driver = assignments(output("-t", "board", "-i", rows[0][0])).get("software version", "")
    names = []
    seen = set()
    for card, chip, short_name in rows:
        # each question takes a second, and machines have 16 of one chip
        if short_name not in seen:
            seen.add(short_name)
            values = assignments(output("-t", "board", "-i", card, "-c", chip))
            names.append(_chip_name(values))
    return NpuTool(driver, tuple(dict.fromkeys(filter(None, names))), len(rows))


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
    """Check that the chips are of the family that the lock's binaries and CANN's operators need."""
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


def check_npu(context: "CheckContext", tool: "NpuTool") -> "Group":
    """Check that torch_npu computes two and two on the first NPU."""
    values = {"count": "0", "name": "-"}
    if not tool.has_device:
        return Group("npu", [Finding("npu-absent", values)], values)
    rows, error = run_python(context, _TENSOR)
    if not rows:
        command = shown_command(context, "import torch, torch_npu; print(torch.ones(2, 2).npu())")
        return Group("npu", [Finding("npu-failed", {"error": error, "command": command})], values)
    row = rows[0]
    name = str(row["name"])
    findings = []
    if row["sum"] != 8.0:
        findings.append(Finding("npu-wrong", {"found": str(row["sum"])}))
    wanted = context.lock.system.get(CHIP, "")
    family = soc_family(name)
    # if npu-smi names the family, check_soc has compared it
    if wanted and family and not soc_family(tool.chip) and family.upper() != wanted.upper():
        soc_values = {"wanted": wanted, "found": family, "chip": name}
        findings.append(Finding("soc-differs", soc_values))
    return Group("npu", findings, {"count": str(row["count"]), "name": name})


def check_hdk(context: "CheckContext", tool: "NpuTool") -> "Group":
    """Check that the driver is as new as the target's, and meets the lock's other requirements."""
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
    # what must be met first
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
    """Return whether what npu-smi prints is this release, or has a form that only npu-smi uses."""
    try:
        return parse_version(text).same_release(version)
    except ValueError:
        return True


def _is_met(ranges: "Sequence[Sequence[Sequence[str]]]", version: "SystemVersion") -> "bool":
    """Return whether a version is in any of these ranges; see `DriverNeed`.

    A range with a text that is no version, of a lock that was edited, is never met.
    """
    for comparisons in ranges:
        with suppress(ValueError):
            if all(_holds(version, sign, text) for sign, text in comparisons):
                return True
    return False


def _holds(version: "SystemVersion", sign: "str", text: "str") -> "bool":
    """Return whether one comparison holds; `== 25.5.*` is about the release line."""
    if not text.endswith(".*"):
        return version.holds(sign, parse_version(text))
    line = tuple(int(part) for part in text[:-2].split("."))
    is_in_line = version.line[: len(line)] == line
    return is_in_line == (sign == "==")


# --- network
#
# The check of the network between NPUs of several nodes, which `hccn_tool` of the driver tells.
#
# vllm-ascend's guides to several nodes have people type these commands on each node, and say that
# every link must be UP and every health Success. That all NPUs of a job need the same TLS state is in
# the documents of HCCL (error EI0016).

# The options with which hccn_tool prints a property, and the property in what it prints.
_ANSWERS: "Mapping[str, tuple[str, str]]" = {
    "link": ("-link", r"link status:[ \t]*(\S+)"),
    "health": ("-net_health", r"net health status:[ \t]*(\S.*?)\s*$"),
    "address": ("-ip", r"ipaddr:[ \t]*(\S+)"),
    "tls": ("-tls", r"tls switch\[(\d+)\]"),
    "mtu": ("-mtu", r"mtu:[ \t]*(\d+)"),
}
_UP = "UP"
_HEALTHY = "Success"


class _Port(NamedTuple):
    """The network port of an NPU. What hccn_tool does not tell is empty."""

    number: "int"
    link: "str"
    health: "str"
    address: "str"
    # `1` if connections are encrypted, `0` if not.
    tls: "str"
    mtu: "str"


def network_checks(context: "CheckContext", tool: "NpuTool") -> "Iterator[Group]":
    """Check the network between nodes if that is asked for."""
    if context.network:
        yield check_network(context, tool)


def check_network(context: "CheckContext", tool: "NpuTool") -> "Group":
    """Check that each NPU has a link, an address and a healthy network, and all the same TLS state.

    The states of TLS and the sizes of packets are told of the machine, as nodes must share them.
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
    """Return the path of hccn_tool. The driver has it, often beside PATH."""
    path = f"{context.environ.get('PATH', '')}:{context.ascend}/driver/tools"
    return shutil.which("hccn_tool", path=path)


def _read_port(context: "CheckContext", program: "str", number: "int") -> "_Port":
    found = {}
    for name, (option, pattern) in _ANSWERS.items():
        result = run_program([program, "-i", str(number), option, "-g"], context.environ)
        match = re.search(pattern, result.output, re.MULTILINE)
        found[name] = match[1] if match and result.status == 0 else ""
    return _Port(number, **found)


def _values_of(ports: "Sequence[_Port]", name: "str") -> "str":
    """Return the different values of a property, with `/` between them."""
    values: "set[str]" = {getattr(port, name) for port in ports}
    return "/".join(sorted(values - {""}))


def _faulty(code: "str", ports: "Sequence[_Port]", is_faulty: "Callable[[_Port], bool]") -> "list[Finding]":
    """Return a finding about the ports with a fault, if there are any."""
    faulty = [port for port in ports if is_faulty(port)]
    if not faulty:
        return []
    numbers = ", ".join(str(port.number) for port in faulty)
    states = ", ".join(sorted({port.health or "-" for port in faulty}))
    return [Finding(code, {"numbers": numbers, "states": states})]


def _shared_addresses(ports: "Sequence[_Port]") -> "list[Finding]":
    """Return a finding for each address that several NPUs have."""
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
# The checks of installed files against RECORD: sizes, hashes, and files of two distributions.

# All files are hashed of a distribution with at most so many files and bytes.
_SMALL_FILES = 40
_SMALL_BYTES = 1 << 18
# Of a larger one, so many modules of at most so many bytes.
_SAMPLE = 12
_SAMPLE_BYTES = 1 << 18
_CHUNK = 1 << 20


class _SharedFile(NamedTuple):
    """A file that two distributions have with different content."""

    # Its row in the RECORD of the distribution that owns it.
    owner: "RecordRow"
    # Its row in the other RECORD.
    other: "RecordRow"


def check_files(
    context: "CheckContext", installed: "Installed", overwritten: "Set[tuple[str, str]]"
) -> "Group":
    """Check the files of the lock's distributions against RECORD.

    `overwritten` has the names of distributions and the paths of files that belong to another
    distribution now.
    """
    findings = []
    file_count = compared_count = 0
    rewritten = sorted(name for name in context.lock.rewritten if name in installed)
    for name in sorted(context.lock.pins):
        if name not in installed or name in rewritten:
            continue
        distribution = installed[name]
        # conda changes files; broken METADATA is a finding with a remedy for all of it
        if distribution.is_of_conda or not distribution.version:
            continue
        if not distribution.rows:
            findings += _record_findings(context, distribution)
        rows = [row for row in distribution.rows if (name, row.path) not in overwritten]
        hashed = [row for row in rows if row.digest]
        compared = set(hashed if context.full else _sample(hashed))
        file_count += len(rows)
        compared_count += len(compared)
        findings += _file_findings(distribution, rows, compared)
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
    return Group("files", findings, values, "files-kept" if rewritten else "")


def others_here(context: "CheckContext", installed: "Installed") -> "list[InstalledDistribution]":
    """Return the distributions of this environment that the lock does not have, such as pip.

    conda changes files of its own.
    """
    others = [installed[name] for name in sorted(installed) if name not in context.lock.pins]
    return [other for other in others if other.is_ours and not other.is_of_conda]


def _extra_findings(
    context: "CheckContext", distribution: "InstalledDistribution", rows: "Sequence[RecordRow]"
) -> "Iterator[Finding]":
    """Yield what is changed of a distribution that the lock does not have. Files may be gone."""
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
        yield Finding("extra-changed", {**about, **list_and_count(changed)}, remedy)


def _record_findings(context: "CheckContext", distribution: "InstalledDistribution") -> "list[Finding]":
    """Return why a distribution has no rows, nothing for an editable installation."""
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
    """Return a finding for each way in which files differ; the hash of `compared` files counts."""
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


def _unhashed_finding(
    distribution: "InstalledDistribution", rows: "Sequence[RecordRow]"
) -> "Iterator[Finding]":
    """Yield a finding about the files that RECORD has no hash of: they cannot be compared.

    RECORD has none of itself, and of its signatures it need not have any.
    """
    names = [os.path.relpath(row.path, distribution.root) for row in rows if not row.digest]
    record = os.path.relpath(f"{distribution.info}/RECORD", distribution.root)
    unhashed = [name for name in names if name not in (record, f"{record}.jws", f"{record}.p7s")]
    if unhashed:
        about = {"name": distribution.name, "version": distribution.version}
        yield Finding("file-unhashed", {**about, **list_and_count(unhashed)})


def _file_code(row: "RecordRow", *, compare: "bool") -> "str":
    """Return the code of the finding about a file, empty if it is as in RECORD.

    Its hash is computed only to `compare`.
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
    """Return the digest of a file as in its row, empty if it cannot be read or computed."""
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
    """Return the rows to hash: all of a small distribution, else a few modules, always the same."""
    size = sum(row.size for row in rows if row.size > 0)
    if len(rows) <= _SMALL_FILES and size <= _SMALL_BYTES:
        return rows
    modules = [row for row in rows if row.path.endswith(".py") and row.size <= _SAMPLE_BYTES]
    return sorted(modules, key=_sample_key)[:_SAMPLE]


def _sample_key(row: "RecordRow") -> "bytes":
    """Return a random but repeatable sort key, the same in every environment."""
    return hashlib.sha256(row.path.rpartition("site-packages")[2].encode()).digest()


def check_collisions(
    context: "CheckContext", installed: "Installed"
) -> "tuple[Group, set[tuple[str, str]]]":
    """Check for files that two distributions both have with different content.

    Return the group, and the files that a distribution has in RECORD but another one has on disk,
    as names and paths.
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
    """Return the files that two distributions have with different content, by their names.

    The first name is the owner: a locked distribution, and of two locked ones the one that is
    installed later.
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
    """Return the name of the package that a file is in, or of the file outside of site-packages."""
    relative = os.path.relpath(path, owner.root)
    if relative.startswith(".."):
        return os.path.basename(relative)
    return relative.split("/")[0]


# --- bytecode
#
# The check of bytecode: whether what Python runs in place of a source was made of that source.
#
# Python runs a file of `__pycache__` without a look at the source if it has the time and the size of
# the source, or if it is hash-based and unchecked (PEP 552). Neither says what it was made of, and
# RECORD has no hash of it. So each source is compiled, and the code is compared.

# The folder of compiled files beside their sources.
_COMPILED = "__pycache__"
_SOURCE = ".py"
# What a compiled file is called for each level of optimization: Python looks for those of -O and
# -OO only if it was started so.
_ENDINGS = (".pyc", ".opt-1.pyc", ".opt-2.pyc")
# A magic number, flags, and either the time and size of the source or its hash.
_HEADER_BYTES = 16
# A flag: the header has the hash of the source.
_HASHED = 1
_MOST_FLAGS = 3
# The attribute of code with its instructions as Python runs them first, and what these cache.
_INSTRUCTIONS = "_co_code_adaptive" if sys.version_info >= (3, 11) else "co_code"
# Constants that have others in them.
_COMPOUND = (CodeType, tuple, frozenset)
# A command removes at most so many files by name.
_MOST_NAMED = 20


def check_bytecode(context: "CheckContext", installed: "Installed") -> "Group":
    """Check the compiled files of the distributions of this environment, and of checkouts.

    Those of other Pythons, and those that Python would not use, do not count.
    """
    compared = 0
    differing = []
    pins = context.lock.pins
    distributions = [installed[name] for name in sorted(pins) if name in installed]
    distributions += others_here(context, installed)
    sources = {distribution.name: _sources(distribution) for distribution in distributions}
    for name, sources_of_one in sources.items():
        if name in pins and pins[name].editable:
            sources_of_one += _sources_below(checkout_folder(name))
    owned = {source for sources_of_one in sources.values() for source in sources_of_one}
    sources["-"] = [source for source in _sources_of_nobody(context) if source not in owned]
    for number, (name, sources_of_one) in enumerate(sources.items()):
        context.progress(f"{number}/{len(sources)} {name}")
        for source in sources_of_one:
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
    """Return the command that removes compiled files. Python makes them again of their sources."""
    if is_shared():
        return context.venv_command
    if len(paths) <= _MOST_NAMED:
        return shlex.join(["rm", *paths])
    return shlex.join(["find", sys.prefix, "-path", f"*/{_COMPILED}/*.pyc", "-delete"])


def _sources(distribution: "InstalledDistribution") -> "list[str]":
    """Return the sources in the RECORD of a distribution."""
    return [row.path for row in distribution.rows if row.path.endswith(_SOURCE)]


def _sources_of_nobody(context: "CheckContext") -> "list[str]":
    """Return the sources in site-packages itself, as that of virtualenv is in no RECORD."""
    folders = map(os.path.realpath, context.search_path.site_folders)
    ours = [folder for folder in folders if is_ours(folder)]
    return [f"{folder}/{name}" for folder in ours for name in _source_names(folder)]


def _source_names(folder: "str") -> "list[str]":
    return sorted(name for name in os.listdir(folder) if name.endswith(_SOURCE))


def _sources_below(folder: "str") -> "list[str]":
    """Return the sources in a checkout."""
    sources = []
    for parent, folders, names in os.walk(folder):
        if parent == folder and ".git" in folders:
            folders.remove(".git")
        sources += [f"{parent}/{name}" for name in names if name.endswith(_SOURCE)]
    return sorted(sources)


def _compiled_files(source: "str") -> "Iterator[tuple[str, int]]":
    """Yield the paths of what Python may run in place of a source, each with its level."""
    folder, name = os.path.split(source)
    stem = f"{folder}/{_COMPILED}/{name[: -len(_SOURCE)]}.{sys.implementation.cache_tag}"
    for level, ending in enumerate(_ENDINGS):
        if os.path.exists(stem + ending):
            yield stem + ending, level


def _is_of_source(path: "str", source: "str", level: "int") -> "bool":
    """Return whether a compiled file has the code of its source, or Python would not run it."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        with open(source, "rb") as file:
            status = os.fstat(file.fileno())
            text = file.read()
    except OSError:
        # Python cannot read it either, or the check of files tells that
        return True
    if not _is_used(content, status):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # read as Python would when it imports the module; it is not run
            found = marshal.loads(content[_HEADER_BYTES:])  # noqa: S302
            # an environment may have been moved since
            name = getattr(found, "co_filename", source)
            made = compile(text, name, "exec", dont_inherit=True, optimize=level)
        return _is_same_code(found, made)
    except (ValueError, TypeError, EOFError, SyntaxError, RecursionError, MemoryError):
        return False


def _is_used(content: "bytes", status: "os.stat_result") -> "bool":
    """Return whether Python runs a compiled file in place of a source with this status.

    A hash may be checked or not: an option of Python decides.
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
    """Return whether Python does the same with both.

    `==` of Python 3.11 and later takes a specialized instruction for the one that it is made of,
    and ignores what instructions have cached, although Python runs both as it finds them. So the
    raw instructions are compared, and the rest as `marshal` writes it in its second version, which
    has nothing but the content: it knows no references to what was written before.
    """
    if not _is_same_shape(found, made):
        return False
    if _dumped(found) == _dumped(made):
        return True
    # before, `marshal` writes sets in any order, and `==` compares every instruction
    is_old = sys.version_info < (3, 11)
    return is_old and found == made and _stack_sizes(found) == _stack_sizes(made)


def _is_same_shape(found: "object", made: "object") -> "bool":
    """Return whether tuples have the same length, and code the same instructions, at all depths."""
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
    return marshal.dumps(code, 2)


def _stack_sizes(code: "object") -> "list[int]":
    """Return the sizes of the stacks of code and of what is defined in it; `==` leaves them out."""
    if not isinstance(code, CodeType):
        return []
    sizes = [code.co_stacksize]
    for constant in code.co_consts:
        sizes += _stack_sizes(constant)
    return sizes


# --- makers
#
# Files that tools put into site-packages without a list of them, known by their content.

# virtualenv and uv put this module into environments, and the file that imports it at each start.
MAKER_MODULE = "_virtualenv.py"
MAKER_PATH_FILE = "_virtualenv.pth"
# They leave one of these keys in pyvenv.cfg.
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
# To these files, `setup.py develop` and `conda develop` add the folders of projects.
FOLDER_LISTS = ("easy-install.pth", "conda.pth")
# What setuptools runs at each start, in any of its releases.
_SHIM_OF_SETUPTOOLS = re.compile(
    r"import os; (var = 'SETUPTOOLS_USE_DISTUTILS'; )?"
    r"enabled = os\.environ\.get\((var|'SETUPTOOLS_USE_DISTUTILS')(, '(local|stdlib)')?\)"
    r" == 'local'; enabled and __import__\('_distutils_hack'\)\.add_shim\(\);\s*"
)
_SHIM_FILE = "distutils-precedence.pth"


def is_of_virtualenv(path: "str") -> "bool":
    """Return whether virtualenv or uv has put a file into this environment, unchanged."""
    if not _is_made_by_virtualenv():
        return False
    if os.path.basename(path) == MAKER_PATH_FILE:
        return _text(path).strip() == _MAKER_LINE
    return _sha256(path) in _MAKER_MODULES


def is_of_setuptools(path: "str") -> "bool":
    """Return whether a file that runs at each start has the content that setuptools gives it."""
    is_shim = os.path.basename(path) == _SHIM_FILE
    return is_shim and bool(_SHIM_OF_SETUPTOOLS.fullmatch(_text(path)))


def _is_made_by_virtualenv() -> "bool":
    for line in _text(f"{sys.prefix}/pyvenv.cfg").splitlines():
        if line.partition("=")[0].strip() in _MAKER_KEYS:
            return True
    return False


def _text(path: "str") -> "str":
    """Return the text of a file, empty if it cannot be read."""
    try:
        return read_text(path) or ""
    except UnreadableError:
        return ""


def _sha256(path: "str") -> "str":
    return hashlib.sha256(_text(path).encode()).hexdigest()


# --- startup
#
# The check of what Python runs at each start: lines of `.pth` files, and `sitecustomize`.
#
# A file that no distribution has is wrong. One of a distribution beside the lock is worth a warning,
# as the distribution is, and so is one of a known maker with unknown content. In a Python that other
# programs share it may be somebody's.

class StartupCheck:
    """Judges what Python runs at its start in the folders of this environment."""

    def __init__(self, context: "CheckContext", ownership: "Ownership", judged: "Sequence[str]") -> "None":
        """Take the folders of site-packages that are `judged`, without links."""
        self._context = context
        self._ownership = ownership
        self._judged = judged
        # The names of files by the code of the finding, and their folder.
        self._named: "dict[tuple[str, str], list[str]]" = {}
        # The names of distributions beside the lock, with those of their files.
        self._added: "dict[str, list[str]]" = {}

    def findings(self) -> "Iterator[Finding]":
        """Yield what is wrong with files that run at each start, and with what they add."""
        importlib.invalidate_caches()
        path_files = [
            file for file in self._ownership.search_path.path_files if file.folder in self._judged
        ]
        for file in path_files:
            self._judge_path_file(file)
        for entry in self._judged:
            self._judge_startup_modules(entry, is_ours_alone=is_ours(entry))
        listed = {entry: file for file in path_files for entry in file.entries}
        for entry, file in listed.items():
            self._judge_startup_modules(entry, is_ours_alone=is_ours(file.folder))
        for (code, folder), names in sorted(self._named.items()):
            yield Finding(code, {**list_and_count(names), "folder": folder})
        for owner, names in sorted(self._added.items()):
            yield Finding("startup-added", {**list_and_count(names), "name": owner})
        yield from self._entry_findings(list(listed))

    def _judge_path_file(self, file: "PathFile") -> "None":
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
        """Judge the module that the file of virtualenv imports."""
        path = f"{folder}/{MAKER_MODULE}"
        is_owned = path in self._ownership.files
        if os.path.exists(path) and not is_owned and not is_of_virtualenv(path):
            self._named.setdefault(("startup-changed", folder), []).append(MAKER_MODULE)

    def _judge_startup_modules(self, entry: "str", *, is_ours_alone: "bool") -> "None":
        for module in STARTUP_MODULES:
            path = module_origin(module, entry)
            if not path or self._ownership.is_of_lock(path):
                continue
            if path in self._ownership.files or self._ownership.owners_of(path):
                self._note_added(path)
            else:
                self._note_extra(path, is_ours_alone=is_ours_alone)

    def _note_added(self, path: "str") -> "None":
        """Note a file of distributions that the lock does not have."""
        if not is_of_setuptools(path):
            for owner in self._ownership.owners_of(path) or [os.path.dirname(path)]:
                self._added.setdefault(owner, []).append(os.path.basename(path))

    def _note_extra(self, path: "str", *, is_ours_alone: "bool") -> "None":
        """Note a file that nobody owns."""
        code = "startup-extra" if is_ours_alone else "startup-unknown"
        folder, name = os.path.split(path)
        self._named.setdefault((code, folder), []).append(name)

    def _entry_findings(self, listed: "Sequence[str]") -> "Iterator[Finding]":
        """Yield what is wrong with the entries of the search path that `.pth` files add."""
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
        """Return what would be imported from an entry in place of a locked module."""
        replacing = []
        for name in sorted(self._ownership.locked_modules(os.path.realpath(entry))):
            origin = module_origin(name, entry)
            if origin and not self._ownership.is_of_locked_project(os.path.realpath(origin)):
                replacing.append(os.path.relpath(origin, entry))
        return replacing


# --- strays
#
# The check for files that Python imports or runs, although no distribution owns them.
#
# pip removes what RECORD lists. A file that a killed installation left, or that somebody copied, is
# in no RECORD. It stays when its distribution is replaced, and can still be imported, or runs at each
# start of Python.
#
# It is wrong where it changes what the lock has: in a folder in which a locked distribution has
# files, under the name of a locked module, or if it runs at each start. Beside the lock it is only
# worth a warning, as a distribution is that the lock does not have.

# A module that ply writes beside the one whose parser it is for: comments, then the version.
_TABLE_OF_PLY = re.compile(r"\s*(#.*\s+)+_tabversion\s*=")
# The folder of compiled files. They have the name of a Python before the suffix.
_CACHE_FOLDER = "__pycache__"
# What a shared library begins with: others load it by its name, such as `libz.so.1`.
_ELF = b"\x7fELF"
# What another program reads of the metadata of a distribution: names of modules to import.
_ENTRY_POINTS = "entry_points.txt"
# A command removes at most so many files by name.
_MOST_REMOVED = 20
# How many distributions a message names.
_LISTED_UNJUDGED = 8


def check_strays(context: "CheckContext", installed: "Installed", ownership: "Ownership") -> "Group":
    """Check for files without an owner, and name what could not be judged."""
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
    """A folder with distributions."""

    def __init__(
        self, context: "CheckContext", installed: "Installed", ownership: "Ownership", root: "str"
    ) -> "None":
        self._context = context
        self._ownership = ownership
        self._root = root
        # pip runs while install.sh does, and setuptools at each start of Python
        names = {*context.lock.pins, *TOOLS, *_started_distributions(ownership)}
        # conda changes files after it has unpacked them
        self._judged = {
            name for name in names if name in installed and not installed[name].is_of_conda
        }
        self._names = _names_in(root)

    def package_findings(self) -> "Iterator[Finding]":
        """Yield what is wrong with the folders in which distributions have files."""
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
        """Return the file of entry points in the metadata of a distribution, if it is not its."""
        path = f"{info}/{_ENTRY_POINTS}"
        is_added = os.path.lexists(path) and path not in self._ownership.files
        return [path] if is_added else []

    def _findings_in(self, strays: "Sequence[str]", owners: "Sequence[str]") -> "Iterator[Finding]":
        """Yield what is wrong with files that nobody owns in a folder that has owners."""
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
        """Yield a finding about files, none without any."""
        if paths:
            names = [os.path.relpath(path, self._root) for path in paths]
            values = {"owners": ", ".join(owners), "name": owners[0], **list_and_count(names)}
            yield Finding(code, values, self._removal(["rm", *paths]))

    def _removal(self, command: "Sequence[str]") -> "str":
        """Return the command, or one that makes a new environment if too much is to be removed."""
        if is_shared() or len(command) > _MOST_REMOVED + 1:
            return self._context.venv_command
        return shlex.join(command)

    def entry_findings(self, *, beside_lock: "bool") -> "Iterator[Finding]":
        """Yield what is wrong with the entries of site-packages itself.

        Modules that do not concern the lock are only told `beside_lock`.
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
        """Return what an entry does that is not the lock's; empty if it concerns nobody."""
        path, ownership = f"{self._root}/{name}", self._ownership
        if ownership.is_of_lock(path):
            return ""
        is_owned = path in ownership.files or bool(ownership.owners_of(path))
        if not _is_importable(path, ownership, is_owned=is_owned):
            return ""
        if module_of(name) in locked_modules:
            return "replacing"
        is_told = module_of(name) in STARTUP_MODULES
        if is_owned or is_told or (name == MAKER_MODULE and is_of_virtualenv(path)):
            return ""
        return "other" if ownership.is_known(path) else ""

    def _entry_finding(self, code: "str", names: "Sequence[str]", remedy: "str" = "") -> "Finding":
        return Finding(code, {**list_and_count(names), "folder": self._root}, remedy)


def _started_distributions(ownership: "Ownership") -> "set[str]":
    """Return the distributions of which Python runs a line of a `.pth` file at each start."""
    names: "set[str]" = set()
    for file in ownership.search_path.path_files:
        if file.runs:
            names.update(ownership.owners_of(file.path))
    return names


def _unowned_files(package: "str", ownership: "Ownership") -> "Iterator[str]":
    """Yield the files of a package that can be loaded and that nobody owns, folder by folder.

    A link to a folder is followed if somebody owns files behind it by this path. Else it is itself
    among them.
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
    """Return whether a file is a module or a shared library, of any name.

    Python cannot import compiled files in __pycache__, whose names have a dot before the suffix,
    but it imports others from there, as from a namespace package.
    """
    if name.endswith(".pyc") and "." in name[: -len(".pyc")]:
        return os.path.basename(folder) != _CACHE_FOLDER
    return name.endswith(IMPORTABLE) or ".so." in name or _is_elf(f"{folder}/{name}")


def _is_elf(path: "str") -> "bool":
    """Return whether a file is a program or library. Others than plain files are none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(len(_ELF)) == _ELF
    except OSError:
        return False


def _names_in(folder: "str") -> "list[str]":
    """Return the names in a folder, sorted; none if Python cannot look into it either."""
    return [entry.name for entry in entries_in(folder)]


def entries_in(folder: "str") -> "list[os.DirEntry[str]]":
    """Return the entries of a folder by name; none if Python cannot look into it either."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def is_folder(entry: "os.DirEntry[str]") -> "bool":
    """Return whether an entry is a folder or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_importable(path: "str", ownership: "Ownership", *, is_owned: "bool") -> "bool":
    """Return whether an entry of site-packages can be imported.

    A folder that nobody has files in must have a file for that.
    """
    if not os.path.isdir(path):
        return path.endswith(IMPORTABLE)
    if not os.path.basename(path).isidentifier():
        return False
    return is_owned or os.path.islink(path) or any(_unowned_files(path, ownership))


def _is_table_of_ply(path: "str") -> "bool":
    """Return whether a parser wrote a module as its table, which it does when it is first used."""
    try:
        text = read_text(path) or ""
    except UnreadableError:
        return False
    return bool(_TABLE_OF_PLY.match(text))


# --- built
#
# Wheels that install.sh built from source, kept in a folder for machines like this one.
#
# The lock has no hashes of them, as a build may have others each time. So the folder has a file that
# says of each wheel what it was built from, with what and where, and which sha256 it has.

BUILT_FILE = "built.toml"
_BUILT_FORMAT = 1
# A wheel with this ending has nothing that depends on the machine.
_PURE = "-none-any.whl"
# Name, version, build tag and tags of a wheel.
_WHEEL = re.compile(r"([A-Za-z0-9._]+)-([^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl")
# The folder of a wheel, named after its build and its machine, and its name.
_PLACE = re.compile(rf"[0-9a-f]{{16}}/(?P<name>{_WHEEL.pattern})")
_SHA256 = re.compile("[0-9a-f]{64}")
_GLIBC = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
_BLOCK = 1 << 20
# The keys of a row: of texts, lists of texts, and tables of texts.
_TEXTS = ("name", "version", "file", "sha256", "key", "commit")
_LISTS = ("source", "tools")
_TABLES = ("env", "machine")


class UnusableWheelError(Exception):
    """A wheel cannot be taken. `code` and `values` are of the message that says why."""

    def __init__(self, code: "str", **values: "str") -> "None":
        super().__init__(code)
        self.code = code
        self.values = values


class BuildMachine(NamedTuple):
    """What of a machine a build may depend on."""

    processor: "str"
    # The version of glibc. What is built runs with this one or a newer one.
    glibc: "str"
    # Major and minor version.
    python: "str"
    # The target's components, without the driver, which builds do not use.
    system: "Mapping[str, str]"

    @classmethod
    def of(cls, context: "CheckContext", machine: "Mapping[str, str]") -> "BuildMachine":
        """Return this machine; `machine` has what the checks found of it."""
        system = {
            name: value for name, value in sorted(context.lock.system.items()) if name != DRIVER
        }
        python = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return cls(machine["processor"], machine["glibc"], python, system)

    def require_compatible(self, other: "Mapping[str, str]") -> "None":
        """Raise UnusableWheelError if what was built on another machine may not run here."""
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
        """Return it as a row of the file has it."""
        return {
            "processor": self.processor,
            "glibc": self.glibc,
            "python": self.python,
            **self.system,
        }


def _numbers_of(version: "str") -> "list[int]":
    """Return the parts of a version of glibc; of anything else, more than any version has."""
    if not _GLIBC.fullmatch(version):
        return [sys.maxsize]
    return [int(part) for part in version.split(".")]


def print_built_wheels(
    context: "CheckContext", machine: "BuildMachine", folder: "str", names: "Iterable[str]"
) -> "int":
    """Print the paths of the wheels of these pins, one a line; return 1 unless there are all.

    Why one is not taken goes to standard error.
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
    text = context.lock.texts[context.language][code]
    sys.stderr.write(printable(text.format(**values)) + "\n")


def _usable_wheel(context: "CheckContext", machine: "BuildMachine", folder: "str", name: "str") -> "str":
    """Return the path of the wheel of a pin. Raises UnusableWheelError if none is for it."""
    try:
        rows = [row for row in _built_rows(folder) if row["name"] == name]
    except UnreadableError as error:
        raise UnusableWheelError("built-unreadable", **error.values) from None
    pin = context.lock.pins.get(name)
    if pin is None or not rows:
        raise UnusableWheelError("built-none")
    reason = UnusableWheelError("built-otherwise")
    for row in rows:
        if row["key"] != pin.key or not is_wheel_of(pin.name, pin.version, row["file"]):
            continue
        try:
            return _checked_wheel(machine, folder, row)
        except UnusableWheelError as error:
            # there may be one for another machine, too
            reason = error
    raise reason


def _checked_wheel(machine: "BuildMachine", folder: "str", row: "Mapping[str, Any]") -> "str":
    """Return the path of a wheel. Raises UnusableWheelError if it is not for this machine."""
    file = row["file"]
    if not file.endswith(_PURE):
        machine.require_compatible(row.get("machine", {}))
    path = os.path.join(folder, file)
    if not os.path.isfile(path) or _sha256_of(path) != row["sha256"]:
        raise UnusableWheelError("built-changed", file=file)
    return path


def _built_rows(folder: "str") -> "Iterator[dict[str, Any]]":
    """Yield the rows of the folder's file, none without it. Raises UnreadableError."""
    path = os.path.join(folder, BUILT_FILE)
    text = read_text(path)
    if text is not None:
        yield from parse_built(text, path)


def parse_built(text: "str", path: "str") -> "list[dict[str, Any]]":
    """Return the rows in a text of built.toml. Raises UnreadableError, which names the path.

    Each row has a name, a file, a sha256 and a key, and nothing that this program does not write.
    """
    try:
        content = _toml().loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    rows = content.get("wheel", [])
    if content.get("format") != _BUILT_FORMAT or not isinstance(rows, list):
        raise UnreadableError(path, f"it does not have format {_BUILT_FORMAT}")
    for number, row in enumerate(rows, 1):
        fault = _fault_of(row)
        if fault:
            raise UnreadableError(path, f"wheel {number}: {fault}")
    return rows


def _fault_of(row: "object") -> "str":
    """Return what is wrong with a row, empty if nothing is."""
    if not isinstance(row, dict):
        return "it is not a table"
    for key, value in row.items():
        if not _has_type_of(key, value):
            return f"{key!r} is not a key of a wheel, or has another type"
    if not _PLACE.fullmatch(row.get("file", "")):
        return "`file` is not the place of a wheel"
    if not _SHA256.fullmatch(row.get("sha256", "")):
        return "`sha256` is not one"
    if not row.get("name") or not row.get("key"):
        return "it has no name or no key"
    return ""


def _has_type_of(key: "str", value: "object") -> "bool":
    """Return whether a row can have a value: only text that prints."""
    if key in _TEXTS:
        return isinstance(value, str) and value.isprintable()
    if key in _LISTS:
        return isinstance(value, list) and all(_is_text(item) for item in value)
    if key in _TABLES and isinstance(value, dict):
        return all(_is_text(item) for item in (*value, *value.values()))
    return False


def _is_text(value: "object") -> "bool":
    return isinstance(value, str) and value.isprintable()


def _toml() -> "Any":
    """Return the module that reads TOML: Python's from 3.11 on, else the one that pip brings."""
    try:
        return importlib.import_module("tomllib")
    except ModuleNotFoundError:
        return importlib.import_module("pip._vendor.tomli")


def is_wheel_of(name: "str", version: "str", file: "str") -> "bool":
    """Return whether a file is called like a wheel of a version of a project."""
    match = _WHEEL.fullmatch(os.path.basename(file))
    if match is None:
        return False
    return canonical_name(match[1]) == name and same_version(match[2], version)


def keep_wheels(
    context: "CheckContext", machine: "BuildMachine", folder: "str", wheels: "Sequence[str]"
) -> "int":
    """Copy wheels that were just built to a folder, and say in its file how; return the status.

    Other rows stay. A wheel of no pin is left out, as install.sh installs none.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with _locked(folder):
            rows = {row["file"]: row for row in _built_rows(folder)}
            for wheel in wheels:
                for pin in context.lock.pins.values():
                    if pin.key and is_wheel_of(pin.name, pin.version, wheel):
                        row = _keep(pin, machine, folder, wheel)
                        rows[row["file"]] = row
            text = built_text(rows[file] for file in sorted(rows))
            with _replacing(os.path.join(folder, BUILT_FILE)) as path, open(path, "wb") as part:
                part.write(text.encode())
    except UnreadableError as error:
        _complain(context, "built-unreadable", error.values)
        return 1
    except OSError as error:
        sys.stderr.write(printable(f"{error.filename or folder}: {error.strerror}") + "\n")
        return 1
    return 0


@contextlib.contextmanager
def _locked(folder: "str") -> "Iterator[None]":
    """Let no other process add wheels to the folder meanwhile, where the file system has locks."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _replacing(target: "str") -> "Iterator[str]":
    """Yield the path of a new file that takes the place of another one at the end."""
    descriptor, path = tempfile.mkstemp(dir=os.path.dirname(target))
    os.close(descriptor)
    try:
        yield path
        os.chmod(path, 0o644)
        os.replace(path, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
        raise


def _keep(
    pin: "LockedDistribution", machine: "BuildMachine", folder: "str", wheel: "str"
) -> "dict[str, Any]":
    """Copy a wheel to its place in the folder, and return its row."""
    values = machine.values()
    # two builds, or two machines, may give wheels of one name
    place = hashlib.sha256(json.dumps([pin.key, values], sort_keys=True).encode()).hexdigest()[:16]
    file = f"{place}/{os.path.basename(wheel)}"
    os.makedirs(os.path.join(folder, place), exist_ok=True)
    with _replacing(os.path.join(folder, file)) as path:
        shutil.copyfile(wheel, path)
        sha256 = _sha256_of(path)
    row: "dict[str, Any]" = {
        "name": pin.name,
        "version": pin.version,
        "file": file,
        "sha256": sha256,
        "key": pin.key,
    }
    if pin.commit:
        row["commit"] = pin.commit
    else:
        row["source"] = list(pin.sha256)
    row["tools"] = list(pin.tools)
    row["env"] = dict(pin.env)
    row["machine"] = values
    return row


def built_text(rows: "Iterable[Mapping[str, Any]]") -> "str":
    """Return the text of built.toml. Texts, lists and tables are in TOML as they are in JSON."""
    lines = [
        "# Wheels that install.sh built from source; `install.sh --built` takes them on machines",
        "# like the one that each was built on. `key` stands for all that determines a build.",
        f"format = {_BUILT_FORMAT}",
    ]
    for row in rows:
        lines += ["", "[[wheel]]"]
        lines += [f"{name} = {_toml_value(value)}" for name, value in row.items()]
    return "\n".join(lines) + "\n"


def _toml_value(value: "Any") -> "str":
    """Return a text, a list of texts or a table of texts as TOML."""
    if isinstance(value, dict):
        pairs = [f"{_toml_value(key)} = {_toml_value(item)}" for key, item in value.items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _sha256_of(path: "str") -> "str":
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(_BLOCK), b""):
            digest.update(chunk)
    return digest.hexdigest()


# --- checkouts
#
# The check of editable checkouts: whether each is at the lock's commit and has its files.
#
# Somebody works in a checkout, so nothing in it is run. HEAD is read as a file. git reads the objects
# of the checkout from a folder without settings, hooks and filters. The commit, its trees and the
# files are hashed here, as git believes the name of a tree. install.sh notes which files the lock's
# own steps and builds have changed, and which modules they have added.

# In .git of a finished checkout, install.sh writes `LockedDistribution.key` into this file.
_MARK = "ascend-lock"
# And it writes the output of `--changed-files` into this one.
_CHANGED = "ascend-lock-changed"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REFERENCE = re.compile(r"refs(/[A-Za-z0-9_+=@-][A-Za-z0-9_.+=@-]*)+")
_SUBMODULE = "160000"
_TREE = "40000"
# Of a name in a tree.
_HASH_BYTES = 20
_GIT_SECONDS = 300


class _Entry(NamedTuple):
    """A file or submodule of a commit."""

    # The type and permissions, as git writes them.
    mode: "str"
    # The hash of the content as git computes it, or the commit of a submodule.
    digest: "str"
    # Relative to the checkout.
    path: "str"


class _Change(NamedTuple):
    """A file that is not as the commit has it."""

    # `changed`, `added` if the commit does not have it, or `hiding` if it has a module of that name
    # besides.
    kind: "str"
    # The hash of its content as git computes it, `-` if it cannot be read.
    digest: "str"
    # Relative to the checkout.
    path: "str"

    @property
    def note(self) -> "str":
        """Return what install.sh notes of it."""
        return f"{self.digest} {self.path}"


class _UncomparedError(Exception):
    """The files of a checkout cannot be compared with its commit; the text says why."""


def check_checkouts(context: "CheckContext", installed: "Installed") -> "Group":
    """Check whether the checkout of each editable distribution has the files of its commit."""
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
    """Yield the code and the values of each finding about a checkout."""
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
    """Write the changed and added files of a checkout for install.sh, each followed by a zero byte.

    Return the exit status.
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
    """Return the commit that is checked out, empty if there is none. Raises UnreadableError."""
    text = (read_text(f"{git}/HEAD") or "").strip()
    if text.startswith("ref: "):
        text = _commit_of(git, text[len("ref: ") :])
    return text if _COMMIT.fullmatch(text) else ""


def _commit_of(git: "str", reference: "str") -> "str":
    """Return the content of a reference, empty if there is none. Raises UnreadableError."""
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
    """Yield each file that is not the commit's, and each module that was added.

    Submodules that are checked out are compared, too. Paths in them begin with `inside`, the path
    of the submodule. Raises _UncomparedError, and UnreadableError if git lacks an object.
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
    """Yield the changes of a submodule, none if it is not checked out. Raises as `_changes`."""
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
    """Yield what can be loaded in a checkout and is not `known`, such as a file of the commit.

    A link to a folder can be. Submodules are known, and not looked into.
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
    """Return the files and submodules of a commit.

    Raises _UncomparedError, and UnreadableError if git lacks an object or has another.
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
    """Yield the entries of a tree, whose paths begin with `start`."""
    while content:
        description, _, rest = content.partition(b"\0")
        mode, _, name = os.fsdecode(description).partition(" ")
        yield _Entry(mode, rest[:_HASH_BYTES].hex(), f"{start}{name}")
        content = rest[_HASH_BYTES:]


def _read_objects(names: "list[str]", environ: "Mapping[str, str]", folder: "str") -> "dict[str, bytes]":
    """Return the content of objects by their names, which are hashes of it.

    Raises _UncomparedError, and UnreadableError if one is missing or has another hash.
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
    """Return the output of git; it may fail in the middle. Raises _UncomparedError without git."""
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
    """Return git's hash of the content of a file or link; `-` if it cannot be read."""
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
# Start modules and commands, each in a process of its own.
#
# verify.py runs itself for this, not isolated. The process imports torch once and forks for each
# target, so that only what is not yet imported takes time, and no target can harm another one. A
# child gets a session of its own, which is killed with everything that the child started, except for
# what made itself another session. The child reports with one line in a pipe how it went. The line is
# shorter than what a pipe holds unread.
#
# This process runs no Python thread. Libraries that torch loads may have threads: OpenBLAS handles
# forks itself, and OpenMP starts threads only with the first computation. If a child hangs
# nevertheless, it is late like any other.

START_OPTION = "--start"
# The longest text of an error, so that a row fits into a pipe, which holds 64 KiB.
_LONGEST_TEXT = 700
_LONGEST_CHAIN = 20
# Seconds between two looks at the children.
_PAUSE = 0.02
# Seconds beyond the limit in which a child has to end.
_GRACE = 5


class _Child(NamedTuple):
    """A child that runs."""

    # The index of its target in the request.
    number: "int"
    # The end of its pipe that is read.
    pipe: "int"
    # When it was started, by the monotonic clock.
    begun: "float"


def serve_starts(file: "str") -> "int":
    """Start the targets of the request on standard input, and write a row for each of them.

    The request is a JSON object. `preload` has modules to import first, `targets` has what to start
    (`module` or `module:attribute`), `seconds` is the limit of each target, and `workers` is how
    many run at once.

    Each row is a JSON object on a line. The first one says that the preload is `ready`, the last
    one that all is `done`. The row of a target has its `number`, the `seconds` that it took, and
    one of: the `path` of its module; an `error` with `cause`, `missing` and `where`; a `signal`; an
    exit `status`; or `late`.

    `file` is this program. Its folder is taken off the path, as a user would not have it there.
    Return the exit status.
    """
    request = json.loads(sys.stdin.read())
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _silence_streams()
    folder = os.path.dirname(os.path.abspath(file))
    sys.path[:] = [path for path in sys.path if path and os.path.abspath(path) != folder]

    def write(row: "Mapping[str, Any]") -> "None":
        output.write(json.dumps(row) + "\n")
        output.flush()

    seconds = float(request["seconds"])
    # it ends this process if an import of the preload hangs
    signal.alarm(int(seconds) + 1)
    for module in request["preload"]:
        importlib.import_module(module)
    signal.alarm(0)
    write({"ready": True})
    _Children(request["targets"], seconds, int(request["workers"]), write).run()
    write({"done": True})
    return 0


class _Children:
    """Runs a child for each target, a limited number at once."""

    def __init__(
        self,
        targets: "list[str]",
        seconds: "float",
        workers: "int",
        write: "Callable[[Mapping[str, Any]], None]",
    ) -> "None":
        self._waiting = deque(enumerate(targets))
        self._seconds = seconds
        self._workers = workers
        self._write = write
        # By process id.
        self._running: "dict[int, _Child]" = {}
        self._parent = os.getppid()

    def run(self) -> "None":
        """Start everything. Kill all children if this process is terminated or loses its parent."""
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
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reader)
            _start_and_exit(target, writer, int(self._seconds) + _GRACE)
        os.close(writer)
        self._running[process] = _Child(number, reader, time.monotonic())

    def _report_ended(self) -> "bool":
        """Write the rows of children that ended or were killed as late; return if there were any.

        A child that waits for a driver may not end when it is killed: it is reported and left.
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
            # what the child left behind
            _kill_group(process)
            del self._running[process]
            result = {"late": True} if is_late else _result_of(child.pipe, status)
            os.close(child.pipe)
            self._write({"number": child.number, "seconds": round(age, 2), **result})
            any_ended = True
        return any_ended


def _result_of(pipe: "int", status: "int") -> "dict[str, Any]":
    """Return what a child that ended wrote into its pipe, or else its signal or exit status."""
    os.set_blocking(pipe, False)
    try:
        text = os.read(pipe, 1 << 16).decode()
    except BlockingIOError:
        # it wrote nothing, and a process that it left behind has the pipe
        text = ""
    if text.endswith("\n"):
        result: "dict[str, Any]" = json.loads(text)
        return result
    if os.WIFSIGNALED(status):
        return {"signal": signal_name(os.WTERMSIG(status))}
    return {"status": os.WEXITSTATUS(status)}


def _kill_session(process: "int") -> "None":
    """Kill a child that is not reaped yet, and what it started."""
    # it may not have its session yet
    os.kill(process, signal.SIGKILL)
    _kill_group(process)


def _kill_group(process: "int") -> "None":
    """Kill what is in the process group of a child. The child itself may be gone."""
    # there may be no such group
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)


def _start_and_exit(target: "str", pipe: "int", seconds: "int") -> "None":
    """Start the target in this child, write the result, and exit without Python's finalization."""
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # it ends this child if the parent is killed
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
    """Import the module, look up the attribute, and return the path of the module."""
    name, _, attributes = target.partition(":")
    module = importlib.import_module(name)
    if attributes:
        found: "Any" = module
        for attribute in attributes.split("."):
            found = getattr(found, attribute)
    path = getattr(module, "__file__", None)
    if path:
        return str(path)
    # a namespace package has folders only
    for folder in getattr(module, "__path__", []):
        return str(folder)
    return ""


def _failure(error: "BaseException") -> "dict[str, Any]":
    """Return the row of an exception.

    `error` is its text, `cause` the text of the first exception in its chain, `where` the line that
    raised this one. `missing` has the modules and names that the chain says are missing.
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
    """Yield an exception, and then each that it was caused by or raised while handling."""
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
    """Return an exception as the last line of a traceback shows it, on one line."""
    text = type(error).__name__
    # a broken __str__ raises anything
    with suppress(Exception):
        message = " ".join(str(error).split())
        if message:
            text = f"{text}: {message}"
    if len(text) > _LONGEST_TEXT:
        return f"{text[: _LONGEST_TEXT - 1]}…"
    return text


def _raised_at(error: "BaseException") -> "str":
    """Return file and line of an exception, relative to site-packages if it is in there.

    Lines of Python's importer and of this program do not count. Without others, it is empty.
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
# The check that everything starts: each module of the lock's distributions, and their commands.
#
# Only the commands of distributions that the stack itself names must start. Facts in the lock excuse
# what may fail, because it needs a project that nobody asked for, or an NPU.

_MOST_WORKERS = 4
# Seconds beyond the limit of one start after which a process that says nothing is given up.
_SILENCE = 15
# Seconds that a process has to end.
_END_SECONDS = 5
# How many modules and commands a message names.
_LISTED_STARTS = 6


class Started(NamedTuple):
    """A module or command that was started, and the result."""

    target: "Startable"
    # The row that `serve_starts` wrote about it.
    row: "Mapping[str, Any]"

    @property
    def failed(self) -> "bool":
        """Return whether it did not start."""
        return "path" not in self.row

    @property
    def title(self) -> "str":
        """Return its name in a list: `import x`, or the name of a command."""
        return f"import {self.target.name}" if self.target.kind == "module" else self.target.name


class StartRequest(NamedTuple):
    """How to start modules and commands."""

    # The file of verify.py, which runs itself.
    program: "str"
    # The Python of the environment.
    python: "str"
    environ: "Mapping[str, str]"
    # The limit of each start.
    seconds: "float"
    # Called when a start has ended, with how many have ended so far.
    progress: "Callable[[int, Startable], None]"


def start_all(
    request: "StartRequest", targets: "Sequence[Startable]", preload: "Sequence[str]" = ()
) -> "list[Started]":
    """Start modules and commands, and return the results in the same order.

    The modules of `preload` are imported once for all of them, if they can be.
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
    """Return the row of each target by its index; None if the preload failed."""
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
    """Give the process the request, and read rows until it is done, ends, or says nothing any more.

    Return None if it was never ready.
    """
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    # a process that has ended has no rows
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
    """Yield the lines of a pipe until it is closed, or nothing comes for so many seconds.

    A process that waits for a driver may not end when it is killed, and keeps the pipe open.
    """
    incomplete = b""
    while select.select([pipe], [], [], seconds)[0]:
        content = os.read(pipe, 1 << 16)
        if not content:
            return
        *lines, incomplete = (incomplete + content).split(b"\n")
        yield from lines


def _end(process: "subprocess.Popen[bytes]") -> "None":
    """End a process, which ends its children first; leave it if it cannot be ended."""
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
    """The verdict on a start."""

    # "ok"; "elsewhere" if the module is not the lock's; "excused"; "untried" if a library of the
    # toolkit is missing; or "failed".
    outcome: "str"
    # Why it is excused, the missing library, or the code of the finding about where it is from.
    reason: "str" = ""
    # The path that it is from, if that is not the lock's.
    found: "str" = ""


def check_starts(
    context: "CheckContext", installed: "Installed", ownership: "Ownership", *, has_device: "bool"
) -> "Group":
    """Start what the lock's distributions have, except for the imports that the lock lists.

    `has_device` is whether the machine has an accelerator.
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
    return Group(
        "starts",
        list(_start_findings(context, judged)),
        {
            "modules": str(started_kinds.count("module")),
            "scripts": str(started_kinds.count("script")),
            "excused": str(len(remarks)),
        },
        note="starts-but" if remarks else "",
        counted=True,
        remarks=remarks,
        results=[_result(start, verdict) for start, verdict in judged],
    )


def _request(context: "CheckContext", count: "int", *, has_device: "bool") -> "StartRequest":
    environ = import_environ(context)
    if not has_device:
        environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

    def progress(done: "int", target: "Startable") -> "None":
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
    """Return the verdict on a start. Lack of an accelerator is no excuse if it works.

    `origins` are the paths from which modules would be imported, by name.
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
    """Return the excuse for a module or command that fails, None if there is none that holds."""
    for excuse in excuses:
        names = excuse.modules if target.kind == "module" else excuse.scripts
        is_about = excuse.project == target.project and target.name in names
        if is_about and not (excuse.device and device_works):
            return excuse
    return None


def _start_findings(
    context: "CheckContext", judged: "Sequence[tuple[Started, Verdict]]"
) -> "Iterator[Finding]":
    """Yield the findings. Starts that fail for one reason share a finding."""
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
    """Return the code of the finding about a start that failed, and the reason in its message."""
    if row.get("late"):
        return "start-late", ""
    if "signal" in row:
        return "start-died", f"killed by {row['signal']}"
    if "status" in row:
        return "start-died", f"exit status {row['status']}"
    return "start-failed", str(row["cause"] or row["error"])


def _python_code(target: "Startable") -> "str":
    """Return a line of Python that starts a module or command."""
    module, _, attribute = target.reference.partition(":")
    return f"import {module}; {module}.{attribute}" if attribute else f"import {module}"


def _result(start: "Started", verdict: "Verdict") -> "dict[str, Any]":
    """Return the row of a start in the JSON report."""
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
# The report: a line for each check while they run, then all findings; or one JSON object.

# After one of these findings nothing else is checked: other differences would only follow from it.
_FINAL = (
    "lock-differs",
    "system-differs",
    "processor-differs",
    "python-differs",
    "environment-other",
)
# The checks that `--skip-system-checks` is about.
_SYSTEM = ("machine", *COMPONENTS)
# Findings that do not make verify.py fail.
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
    "start-untried",
    "startup-added",
    "startup-changed",
    "startup-unknown",
)


class UnwritableError(Exception):
    """Standard output cannot be written. The message is the system's, empty for a closed pipe."""


class Report:
    """Prints the results of checks."""

    def __init__(self, context: "CheckContext", *, as_json: "bool", lenient: "bool") -> "None":
        """With `lenient`, what is wrong with the machine is only a warning."""
        self._context = context
        self._texts = context.lock.texts[context.language]
        self._as_json = as_json
        self._lenient = lenient
        self._groups: "list[dict[str, Any]]" = []
        self._machine: "dict[str, str]" = {}
        # Whether nothing else is to be checked.
        self.is_hopeless = False

    def begin(self) -> "None":
        """Print the first line."""
        lock = self._context.lock
        self._print(self._fill("label-head", {"stack": lock.stack, "target": lock.target}))

    def add(self, group: "Group") -> "None":
        """Print the line of a check, and keep its findings for the end."""
        row = self._group_row(group)
        self._groups.append(row)
        self._machine.update(group.machine)
        self._print(self._group_line(group, row["state"]))
        for remark in group.remarks:
            self._print(self._fill("label-left-out", remark))
        for finding in row["findings"]:
            if finding["code"] in _FINAL and finding["state"] == "wrong":
                self.is_hopeless = True

    def end(self) -> "int":
        """Print all findings, errors first, and return the exit status."""
        findings = [finding for row in self._groups for finding in row["findings"]]
        findings.sort(key=lambda finding: finding["state"] == "warning")
        wrong = sum(finding["state"] == "wrong" for finding in findings)
        warnings = len(findings) - wrong
        if self._as_json:
            self._write(json.dumps(self._json_object(wrong, warnings), indent=2, ensure_ascii=True))
        for finding in findings:
            self._print("")
            what = self._fill(f"label-{finding['state']}", finding)
            self._print(f"{what}  [{finding['code']}]")
            self._print(self._fill("label-why", finding))
            self._print(self._fill("label-mend", finding))
        self._print("")
        if self.is_hopeless:
            self._print(self._texts["label-ended"])
        counts = {"wrong": str(wrong), "warnings": str(warnings)}
        self._print(self._fill("label-differs" if wrong else "label-as-locked", counts))
        return 1 if wrong else 0

    def install_lines(self, group: "Group") -> "str":
        """Return the lines of a check for install.sh: state, text and remedy, separated by tabs.

        There is a line for each finding, or one if there is none. A chip that nobody sees is no
        problem, as where an image is built.
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
            "ended": self.is_hopeless,
            "checks": self._context.checks,
            "machine": self._machine,
            "groups": self._groups,
        }

    def _group_row(self, group: "Group") -> "dict[str, Any]":
        """Return a group as in the JSON."""
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
        """Return a finding as in the JSON."""
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
        """Return the line of a check: its name, its state, and its note or its findings' codes."""
        notes = []
        if group.counted or not group.findings:
            notes.append(self._note(group))
        codes = Counter(finding.code for finding in group.findings)
        notes += [f"{code} ({count})" if count > 1 else code for code, count in codes.items()]
        title = _padded(self._texts[f"group-{group.name}"], 13)
        state_text = _padded(self._texts[f"state-{state}"], 7)
        return f"  {title}  {state_text}  {', '.join(notes)}".rstrip()

    def _note(self, group: "Group") -> "str":
        """Return the text about a check without findings."""
        return self._fill(f"note-{group.note or group.name}", group.values)

    def _fill(self, code: "str", values: "Mapping[str, Any]") -> "str":
        """Return the text of a code. Remedies that are commands and some notes have none."""
        return self._texts.get(code, "").format(**values)

    def _print(self, line: "str") -> "None":
        if not self._as_json:
            self._write(printable(line))

    def _write(self, text: "str") -> "None":
        try:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            raise UnwritableError from None
        except OSError as error:
            raise UnwritableError(error.strerror or str(error)) from None


def _padded(text: "str", width: "int") -> "str":
    """Return the text filled up with spaces to a width in columns; Chinese characters take two."""
    columns = sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
    return text + " " * max(width - columns, 0)


# --- main
#
# The command line of verify.py: its options, the order of the checks, and how it ends.

_USAGE = 2
_INTERRUPTED = 130
_TERMINATED = 143
# What a program has to print to prove that it is Python.
_PROOF = "python"


def run(text: "str", file: "str", arguments: "Sequence[str]") -> "int":
    """Check this machine and environment against the lock in `text`; return the exit status.

    The program has started itself isolated, as what is on PYTHONPATH or in the user's site-packages
    is not installed here, and without site, as nothing of the environment is to run before it is
    judged.

    0: as locked. 1: something differs. 2: the command is wrong. `file` is this program.
    """
    if sys.stdout is None:
        # it is closed, and no other file may get its number
        _discard_output()
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if list(arguments) == [START_OPTION]:
        return serve_starts(file)
    lock = LockedStack.parse(text)
    options = _options(arguments, sorted(lock.texts))
    if options.python:
        return _restart(options.python, file, arguments)
    search_path = SearchPath.of_this_python()
    if options.pip_settings:
        return print_pip_variables()
    if options.changed_files:
        return print_changed_files(lock.pins[options.changed_files])
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    # exit normally, so that programs that were started end, too
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    context = _context(lock, options, file, search_path)
    report = Report(context, as_json=options.json, lenient=options.skip_system_checks)
    if options.built_wheels or options.keep_wheels:
        return _handle_wheels(context, options)
    if options.machine and not options.json:
        groups = [check_machine(context), *check_components(context, ask_tool(context))]
        sys.stdout.write("".join(report.install_lines(group) for group in groups))
        return 0
    few = {"machine": machine_checks, "files": file_checks}
    return _report_checks(context, report, few.get(context.checks, checks))


def _handle_wheels(context: "CheckContext", options: "argparse.Namespace") -> "int":
    """Do what install.sh asks for with wheels that it builds; return the exit status."""
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
    lock: "LockedStack", options: "argparse.Namespace", file: "str", search_path: "SearchPath"
) -> "CheckContext":
    program = os.path.abspath(file)
    folder = os.path.dirname(program)
    shows_progress = sys.stderr.isatty() and not options.json
    return CheckContext(
        lock,
        folder,
        dict(os.environ),
        ascend=options.ascend,
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
    )


def _checks_of(options: "argparse.Namespace") -> "str":
    """Return which checks are asked for, as the JSON names them."""
    if options.machine:
        return "machine"
    if options.files:
        return "files"
    return "quick" if options.quick else "all"


def _bundle(folder: "str") -> "str":
    """Return the bundle that a lock's folder is in as `locks/STACK/TARGET`, empty if in none.

    `ascend-lock bundle` makes them.
    """
    top = os.path.normpath(f"{folder}/../../..")
    return top if os.path.isfile(f"{top}/bundle.json") else ""


def _report_checks(
    context: "CheckContext", report: "Report", checks_of: "Callable[[CheckContext], Iterator[Group]]"
) -> "int":
    """Make the checks and print the report; return the exit status."""
    try:
        report.begin()
        for group in checks_of(context):
            report.add(group)
            if report.is_hopeless:
                break
        return report.end()
    except UnwritableError as error:
        _discard_output()
        if str(error):
            sys.stderr.write(f"error: the report cannot be written: {error}\n")
            return _USAGE
        # `verify.py | head` has read enough
        return 1
    except MemoryError:
        sys.stderr.write("error: out of memory\n")
        sys.stderr.write("hint: check `ulimit -v`, or a container's limit of memory\n")
        return _USAGE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was changed\n")
        return _INTERRUPTED


def machine_checks(context: "CheckContext") -> "Iterator[Group]":
    """Make the checks that need no environment, as before an installation."""
    yield check_machine(context)
    yield check_interpreter(context)
    tool = ask_tool(context)
    yield from check_components(context, tool)
    yield from network_checks(context, tool)


def file_checks(context: "CheckContext") -> "Iterator[Group]":
    """Make the checks of what is installed that start nothing of it, as before a repair."""
    yield check_lock(context)
    installed, broken = installed_distributions(context, context.search_path.folders)
    _, overwritten = check_collisions(context, installed)
    yield check_distributions(context, installed, broken)
    yield check_files(context, installed, overwritten)


def checks(context: "CheckContext") -> "Iterator[Group]":
    """Make every check that the lock gives a reason for, the cheap ones first."""
    yield check_lock(context)
    yield check_machine(context)
    installed, broken = installed_distributions(context, context.search_path.folders)
    yield check_python(context, installed)
    tool = ask_tool(context)
    yield from check_components(context, tool)
    yield from network_checks(context, tool)
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


def _restart(python: "str", file: "str", arguments: "Sequence[str]") -> "int":
    """Run this program with another Python, isolated and without site, in place of this process.

    Return the exit status if that is no Python: another program might end as if all were well.
    """
    path = os.path.abspath(python)
    result = run_program([path, "-I", "-S", "-c", f"print({_PROOF!r})"], os.environ)
    if result.output.split() == [_PROOF]:
        command = [path, "-I", "-S", os.path.abspath(file), *arguments, "--python="]
        os.execv(path, command)  # noqa: S606
    why = "it does not run as Python" if result.status is not None else result.ending
    sys.stderr.write(f"error: {path} cannot be run: {why}\n")
    sys.stderr.write("hint: pass --python PATH of an environment\n")
    return _USAGE


def _language(option: "str | None", languages: "Collection[str]") -> "str":
    """Return the language of messages: the option, or the locale's, or English."""
    environ = os.environ
    locale = option or environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG")
    language = (locale or "en")[:2].lower()
    return language if language in languages else "en"


def _options(arguments: "Sequence[str]", languages: "Sequence[str]") -> "argparse.Namespace":
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
        help="check only the machine and its components: a line each, or with --json",
    )
    parser.add_argument(
        "--files",
        action="store_true",
        help="check only what is installed and its files, and start nothing of it",
    )
    parser.add_argument(
        "--pip-settings",
        action="store_true",
        help="print the variables that pip gets from install.sh",
    )
    parser.add_argument(
        "--changed-files",
        metavar="NAME",
        help="print what install.sh notes of an editable checkout that it has built",
    )
    parser.add_argument(
        "--built-wheels",
        nargs="+",
        metavar=("DIR", "NAME"),
        help="print the wheels in DIR that were built of these pins for a machine like this one",
    )
    parser.add_argument(
        "--keep-wheels",
        nargs="+",
        metavar=("DIR", "WHEEL"),
        help="copy wheels that install.sh has just built to DIR, and note there how",
    )
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
        "--ascend",
        metavar="DIR",
        default=os.environ.get("ASCEND_LOCK_ROOT") or "/usr/local/Ascend",
        help="where driver and toolkit are installed"
        " (default: $ASCEND_LOCK_ROOT, else /usr/local/Ascend)",
    )
    return parser.parse_args(arguments)


def _positive(text: "str") -> "float":
    """Return the number of an option. Raises ArgumentTypeError if it is none, or not above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"`{text}` is no number of seconds above 0")
    return number


def _show_progress(line: "str") -> "None":
    """Show a line on the terminal in place of the one before; remove it if the line is empty."""
    sys.stderr.write(f"\r{printable(line)[:70]}\x1b[K")
    sys.stderr.flush()


# --- what the lock says

LOCK = r"""
{
"stack": "mindspeed-llm",
"target": "linux-aarch64-py310-cann9.1.0-a2",
"platform": "linux-aarch64",
"python": "3.10",
"glibc": "2.35",
"system": {"cann": "9.1.0", "soc": "A2"},
"overrides": [],
"imports": ["torch", "transformers"],
"import_env": {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
"rewritten": [],
"absent": {},
"driver": [{"by": "CANN 9.1.0", "component": "hdk", "wanted": "hdk >= 25.2.0", "ranges": [[[">=", "25.2.0"]]], "binding": false, "reason": {"en": "CANN 9.1.X needs HDK (driver and firmware) 25.2.X or newer; 25.0.X does not work. Huawei pairs 9.1.0 with 26.0.RC1 and 9.1.1 with 26.1.1. The boards of A5 have driver lines of their own. (vendor: hiascend.com/document/detail/en/CANNCommunityEdition/910/softwareinst/releasenote/9.1.0/release-notes.md (2026-11-28); hiascend.com/document/detail/en/CANNCommunityEdition/910/softwareinst/releasenote/9.1.1/release-notes_en.md (2026-11-28); hiascend.com/document/detail/en/mindcluster/2610/patchnote/mxreleasenote_006.html (2026-11-28))", "zh": "CANN 9.1.X \u9700\u8981 HDK\uff08\u9a71\u52a8\u548c\u56fa\u4ef6\uff0925.2.X \u6216\u66f4\u65b0\u7684\u7248\u672c\uff0c25.0.X \u4e0d\u884c\u3002\u534e\u4e3a\u7ed9 9.1.0 \u7684\u914d\u5957\u7248\u672c\u662f 26.0.RC1\uff0c\u7ed9 9.1.1 \u7684\u662f 26.1.1\u3002A5 \u7684\u5404\u79cd\u677f\u5361\u53e6\u6709\u81ea\u5df1\u7684\u9a71\u52a8\u7248\u672c\u7cfb\u5217\u3002\uff08\u5382\u5546\uff1ahiascend.com/document/detail/en/CANNCommunityEdition/910/softwareinst/releasenote/9.1.0/release-notes.md (2026-11-28); hiascend.com/document/detail/en/CANNCommunityEdition/910/softwareinst/releasenote/9.1.1/release-notes_en.md (2026-11-28); hiascend.com/document/detail/en/mindcluster/2610/patchnote/mxreleasenote_006.html (2026-11-28)\uff09"}}],
"requested": ["megatron-core", "mindspeed", "mindspeed-llm", "torch", "torch-npu"],
"excuses": [{"project": "mistral-common", "modules": [], "scripts": ["mistral_common"], "device": false, "reason": {"en": "The command `mistral_common` is a server, which is the extra `server` of the project.", "zh": "\u547d\u4ee4 `mistral_common` \u662f\u4e00\u4e2a\u670d\u52a1\u7aef\uff0c\u5c5e\u4e8e\u8be5\u9879\u76ee\u7684\u9644\u52a0\u4f9d\u8d56\u7ec4\uff08extra\uff09`server`\u3002"}}, {"project": "ray", "modules": [], "scripts": ["rllib"], "device": false, "reason": {"en": "The command `rllib` belongs to the extra `rllib` (`rllib = ray.rllib.scripts:cli [rllib]`), whose projects ray itself does not require. 2.46.0 and 2.60.0 do not have it any more.", "zh": "\u547d\u4ee4 `rllib` \u5c5e\u4e8e\u9644\u52a0\u4f9d\u8d56\u7ec4\uff08extra\uff09`rllib`\uff08`rllib = ray.rllib.scripts:cli [rllib]`\uff09\uff0c\u5176\u4e2d\u7684\u9879\u76ee ray \u672c\u8eab\u5e76\u4e0d\u8981\u6c42\u30022.46.0 \u548c 2.60.0 \u4e0d\u518d\u6709\u8be5\u547d\u4ee4\u3002"}}, {"project": "ray", "modules": [], "scripts": ["serve"], "device": false, "reason": {"en": "The command `serve` needs projects of the extra `serve`, which ray itself does not require.", "zh": "\u547d\u4ee4 `serve` \u9700\u8981\u9644\u52a0\u4f9d\u8d56\u7ec4\uff08extra\uff09`serve` \u4e2d\u7684\u9879\u76ee\uff0cray \u672c\u8eab\u5e76\u4e0d\u8981\u6c42\u5b83\u4eec\u3002"}}, {"project": "ray", "modules": [], "scripts": ["serve"], "device": false, "reason": {"en": "The command `serve` needs projects of the extra `serve`, in newer releases gRPC's reflection as well, which ray itself does not require.", "zh": "\u547d\u4ee4 `serve` \u9700\u8981\u9644\u52a0\u4f9d\u8d56\u7ec4\uff08extra\uff09`serve` \u4e2d\u7684\u9879\u76ee\uff0c\u8f83\u65b0\u7684\u7248\u672c\u8fd8\u9700\u8981 gRPC reflection\uff0cray \u672c\u8eab\u5e76\u4e0d\u8981\u6c42\u5b83\u4eec\u3002"}}, {"project": "torch", "modules": [], "scripts": ["torchfrtrace"], "device": false, "reason": {"en": "The command `torchfrtrace` of these releases is in the module tools.flight_recorder, which their wheels do not have. From 2.10.0 on it is in torch.distributed.flight_recorder.", "zh": "\u8fd9\u4e9b\u7248\u672c\u7684\u547d\u4ee4 `torchfrtrace` \u4f4d\u4e8e\u6a21\u5757 tools.flight_recorder\uff0c\u800c\u5176 wheel \u4e2d\u6ca1\u6709\u8be5\u6a21\u5757\u3002\u4ece 2.10.0 \u8d77\u4f4d\u4e8e torch.distributed.flight_recorder\u3002"}}, {"project": "transformers", "modules": [], "scripts": ["transformers"], "device": false, "reason": {"en": "The command `transformers` has the server in it, whose annotations name classes of pydantic that are imported only with all of the extra `serving`. Release 5.3.0 no longer evaluates them.", "zh": "\u547d\u4ee4 `transformers` \u5305\u542b\u670d\u52a1\u7aef\u4ee3\u7801\uff0c\u5176\u6ce8\u89e3\u7528\u5230 pydantic \u7684\u7c7b\uff0c\u800c\u8fd9\u4e9b\u7c7b\u53ea\u6709\u5728\u88c5\u9f50\u9644\u52a0\u4f9d\u8d56\u7ec4\uff08extra\uff09`serving` \u65f6\u624d\u4f1a\u5bfc\u5165\u30025.3.0 \u8d77\u4e0d\u518d\u5bf9\u6ce8\u89e3\u6c42\u503c\u3002"}}],
"digest": "791ca0361d362828c9dc35ceb7f9f2b2af5bbf5748d06c4a65d5dd8c0c504fe4",
"pins": [
{"name": "accelerate", "version": "1.14.0", "stage": 5, "sha256": ["e94390c2863b873be18f623f9df48a0d8fe5eff13ea7f1a00092b0a7904888c6"]},
{"name": "aiohappyeyeballs", "version": "2.7.1", "stage": 5, "sha256": ["9243213661e29250eb41368e5daa826fc017156c3b8a11440826b2e3ed376472"]},
{"name": "aiohttp", "version": "3.14.3", "stage": 5, "sha256": ["134ac5ddcf61c6fad984b9a5727d83492ada43d63471db20fb73042c13fca62f"]},
{"name": "aiosignal", "version": "1.4.0", "stage": 5, "sha256": ["053243f8b92b990551949e63930a839ff0cf0b0ebbe0597b0f3fb19e1a0fe82e"]},
{"name": "aniso8601", "version": "10.0.1", "stage": 5, "sha256": ["eb19717fd4e0db6de1aab06f12450ab92144246b257423fe020af5748c0cb89e"]},
{"name": "annotated-doc", "version": "0.0.5", "stage": 5, "sha256": ["117bac03a25ede5df5440e855b32d556049ca169ead221505badf432fed4b101"]},
{"name": "annotated-types", "version": "0.8.0", "stage": 5, "sha256": ["f072f4d804ea359e4eaf198b1af7a8b0943881a87f31bb764f8bf219bb9419e0"]},
{"name": "antlr4-python3-runtime", "version": "4.9.3", "stage": 1, "built": true, "key": "b643723174b79eec004d35ce13390f02", "env": [], "tools": ["cython==3.3.0", "numpy==1.26.0", "packaging==26.3", "py-cpuinfo==9.0.0", "pybind11==3.1.0", "setuptools==84.0.0", "setuptools-scm==10.2.3", "tomli==2.4.1", "typing-extensions==4.16.0", "vcs-versioning==2.3.4", "wheel==0.48.0"], "sha256": ["f224469b4168294902bb1efa80a8bf7855f24c99aef99cbefc1bcd3cce77881b"]},
{"name": "anyio", "version": "4.15.0", "stage": 5, "sha256": ["7ecd9937369ffce8bba0b5ccb9b3a9507b101b0ed50256aecfbab27e6c2acb99"]},
{"name": "asciitree", "version": "0.3.3", "stage": 1, "built": true, "key": "8ee45cdc836d17646be0bf12bbabe71b", "env": [], "tools": ["cython==3.3.0", "numpy==1.26.0", "packaging==26.3", "py-cpuinfo==9.0.0", "pybind11==3.1.0", "setuptools==84.0.0", "setuptools-scm==10.2.3", "tomli==2.4.1", "typing-extensions==4.16.0", "vcs-versioning==2.3.4", "wheel==0.48.0"], "sha256": ["4aa4b9b649f85e3fcb343363d97564aa1fb62e249677f2e18a96765145cc0f6e"]},
{"name": "async-timeout", "version": "5.0.1", "stage": 5, "sha256": ["39e3809566ff85354557ec2398b55e096c8364bacac9405a7a1fa429e77fe76c"]},
{"name": "attrs", "version": "26.1.0", "stage": 5, "sha256": ["c647aa4a12dfbad9333ca4e71fe62ddc36f4e63b2d260a37a8b83d2f043ac309"]},
{"name": "blinker", "version": "1.9.0", "stage": 5, "sha256": ["ba0efaa9080b619ff2f3459d1d500c57bddea4a6b424b60a91141db6fd2f08bc"]},
{"name": "certifi", "version": "2026.7.22", "stage": 5, "sha256": ["62f22742b58a1a33014a2b6b706588a8d7e2a88ae7bd1a6ebe8c992928483775"]},
{"name": "charset-normalizer", "version": "3.5.1", "stage": 5, "sha256": ["e9fbdce1e47394b09bc9f26ab117dfc8d6491977a11d86f592bb42c779db2fda", "cee5dd7c6fb5dd52a0fe2a740f9bc6e3593f5f8b1788bde49de02086f30182b2", "6df0ec430f9a831772c23ca5a224cba36517a58a84bb32c32bb59a9fa67c47f6"]},
{"name": "click", "version": "8.5.0", "stage": 5, "sha256": ["255bc9599cf7748b4b1a446ccc735421bd08a2ae529a8b88597d3de5664ee360"]},
{"name": "cloudpickle", "version": "3.1.2", "stage": 5, "sha256": ["9acb47f6afd73f60dc1df93bb801b472f05ff42fa6c84167d25cb206be1fbf4a"]},
{"name": "codetiming", "version": "1.4.0", "stage": 5, "sha256": ["3b80f409bef00941a9755c5524071ce2f72eaa4520f4bc35b33869cde024ccbd"]},
{"name": "coverage", "version": "7.16.0", "stage": 5, "sha256": ["26e7de0cb87960c6c9b5cad760068dab767b2b49a3b9376e1992c1e2691a015e", "245f7de6d023a5bba375dbec9f2e0869bfa26ac0cc639bbb7b4c814884000b73"]},
{"name": "datasets", "version": "5.0.1", "stage": 5, "sha256": ["9fbf73688f8c18f7529b4fe592abd04015f81d1e58001e4bac73ffb2b39d7cc4"]},
{"name": "decorator", "version": "5.3.1", "stage": 5, "sha256": ["f47fe6fdbd2edd623ecfe36875d37aba411624e2670dd395dddae1358689bb3c"]},
{"name": "defusedxml", "version": "0.7.1", "stage": 5, "sha256": ["a352e7e428770286cc899e2542b6cdaedb2b4953ff269a210103ec58f6198a61"]},
{"name": "dill", "version": "0.4.1", "stage": 5, "sha256": ["1e1ce33e978ae97fcfcff5638477032b801c46c7c65cf717f95fbc2248f79a9d"]},
{"name": "einops", "version": "0.8.2", "stage": 5, "sha256": ["54058201ac7087911181bfec4af6091bb59380360f069276601256a76af08193"]},
{"name": "exceptiongroup", "version": "1.3.1", "stage": 5, "sha256": ["a7a39a3bd276781e98394987d3a5701d0c4edffb633bb7a5144577f82c773598"]},
{"name": "fasteners", "version": "0.20", "stage": 5, "sha256": ["9422c40d1e350e4259f509fb2e608d6bc43c0136f79a00db1b49046029d0b3b7"]},
{"name": "filelock", "version": "3.32.5", "stage": 5, "sha256": ["142cd9fa77a872c5e78c62329a0d15278fadc686eb89e760017968961a4fd6b2"]},
{"name": "flask", "version": "3.1.3", "stage": 5, "sha256": ["f4bcbefc124291925f1a26446da31a5178f9483862233b23c0c96a20701f670c"]},
{"name": "flask-restful", "version": "0.3.10", "stage": 5, "sha256": ["1cf93c535172f112e080b0d4503a8d15f93a48c88bdd36dd87269bdaf405051b"]},
{"name": "frozenlist", "version": "1.8.0", "stage": 5, "sha256": ["799345ab092bee59f01a915620b5d014698547afd011e691a208637312db9186", "0c18a16eab41e82c295618a77502e17b195883241c563b00f0aa5106fc4eaa0d"]},
{"name": "fsspec", "version": "2026.6.0", "stage": 5, "sha256": ["02e0b71817df9b2169dc30a16832045764def1191b43dcff5bb85bdee212d2a1"]},
{"name": "gpytorch", "version": "1.15.2", "stage": 5, "sha256": ["2112fdc7c0c0bf56a7f2444663cfc80fdfc3e19724399d6303a83d8efdd71e9e"]},
{"name": "greenlet", "version": "3.5.5", "stage": 5, "sha256": ["a5433cf291e0ef9114bd14d0d824db6e5e4a43033234bca48181a9597acca07b"]},
{"name": "h11", "version": "0.16.0", "stage": 5, "sha256": ["63cf8bbe7522de3bf65932fda1d9c2772064ffb3dae62d55932da54b31cb6c86"]},
{"name": "hf-xet", "version": "1.6.0", "stage": 5, "sha256": ["0e6e21fa3cdfcdcd76748564bf593870a5e013f47d97cf10aed63aa222cff5b7"]},
{"name": "httpcore", "version": "1.0.9", "stage": 5, "sha256": ["2d400746a40668fc9dec9810239072b40b4484b640a8c38fd654a024c7a1bf55"]},
{"name": "httpx", "version": "0.28.1", "stage": 5, "sha256": ["d909fcccc110f8c7faf814ca82a9a4d816bc5a6dbfea25d6591d6985b8ba59ad"]},
{"name": "huggingface-hub", "version": "1.30.0", "stage": 5, "sha256": ["96ae0a8e99a234374a6fe43e989ebd21c04640b91ab2927e7e5773ba1131ca59"]},
{"name": "idna", "version": "3.19", "stage": 5, "sha256": ["815e7be7a7806d54abb586dc943addc79e8b2ee16915059658cbeff4b1b43bf4"]},
{"name": "iniconfig", "version": "2.3.0", "stage": 5, "sha256": ["f631c04d2c48c52b84d0d0549c99ff3859c98df65b3101406327ecc7d53fbf12"]},
{"name": "itsdangerous", "version": "2.2.0", "stage": 5, "sha256": ["c6242fc49e35958c8b15141343aa660db5fc54d4f13a1db01a3f5891b98700ef"]},
{"name": "jinja2", "version": "3.1.6", "stage": 5, "sha256": ["85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67"]},
{"name": "joblib", "version": "1.6.0", "stage": 5, "sha256": ["3dbbf9f6e4b592a2357b854608e980fe6390d131d7a82f011a377ef2ebef7aba"]},
{"name": "jsonschema", "version": "4.26.0", "stage": 5, "sha256": ["d489f15263b8d200f8387e64b4c3a75f06629559fb73deb8fdfb525f2dab50ce"]},
{"name": "jsonschema-specifications", "version": "2025.9.1", "stage": 5, "sha256": ["98802fee3a11ee76ecaca44429fda8a41bff98b00a0f2838151b113f210cc6fe"]},
{"name": "latex2sympy2", "version": "1.5.4", "stage": 5, "sha256": ["934aa5e87130d0d6f13f505b209f4a5eca9b5264685503fe9176e94c8f378640"]},
{"name": "linear-operator", "version": "0.6.1", "stage": 5, "sha256": ["a5981c1fcda08df3a210dffb6e8019b4751f4afaf3ffc822c24eaaf56b11eed9"]},
{"name": "markdown-it-py", "version": "4.2.0", "stage": 5, "sha256": ["9f7ebbcd14fe59494226453aed97c1070d83f8d24b6fc3a3bcf9a38092641c4a"]},
{"name": "markupsafe", "version": "3.0.3", "stage": 5, "sha256": ["1ba88449deb3de88bd40044603fafffb7bc2b055d626a330323a9ed736661695"]},
{"name": "mdurl", "version": "0.1.2", "stage": 5, "sha256": ["84008a41e51615a49fc9966191ff91509e3c40b939176e643fd50a5c2196b8f8"]},
{"name": "megatron-core", "version": "0.12.1", "stage": 3, "built": true, "key": "417283336db3a0e4b0cecea6b2a2f6b8", "env": [], "tools": ["cython==3.3.0", "numpy==1.26.0", "packaging==26.3", "py-cpuinfo==9.0.0", "pybind11==3.1.0", "setuptools==84.0.0", "setuptools-scm==10.2.3", "tomli==2.4.1", "typing-extensions==4.16.0", "vcs-versioning==2.3.4", "wheel==0.48.0"], "commit": "a845aa7e12b3a117e24c2352b9e3e60bad2e3a17", "editable": false, "sha256": []},
{"name": "mindspeed", "version": "0.12.1", "stage": 6, "built": true, "key": "10527a9b9a7a5feb5ae53fe8caa337c2", "env": [], "tools": ["setuptools==84.0.0", "wheel==0.48.0"], "commit": "57a33053c4eccd5b14aa58e3ca595ab414e65b94", "editable": true, "sha256": []},
{"name": "mindspeed-llm", "version": "26.0.0.dev0", "stage": 7, "built": true, "key": "6394ac383cff81ca6a921a939c1fcacb", "env": [], "tools": ["setuptools==84.0.0", "wheel==0.48.0"], "commit": "ad615b3b343f6305e9a0ce8bcc3ec42052322860", "editable": true, "sha256": []},
{"name": "mistral-common", "version": "1.11.7", "stage": 5, "sha256": ["a9511b88eacacbe7dacddd9d3498c1739f56847b7fdddbd5a22e7844fd9def95"]},
{"name": "ml-dtypes", "version": "0.5.4", "stage": 5, "sha256": ["b4b801ebe0b477be666696bda493a9be8356f1f0057a57f1e35cd26928823e5a"]},
{"name": "mpmath", "version": "1.3.0", "stage": 5, "sha256": ["a0b2b9fe80bbcd81a6647ff13108738cfb482d481d826cc0e02f5b35e5c88d2c"]},
{"name": "msgpack", "version": "1.2.2", "stage": 5, "sha256": ["4710d881d8fb047deed2485707409116722af2b992d3fefd73c7667c4e350839"]},
{"name": "multidict", "version": "6.7.1", "stage": 5, "sha256": ["d4f49cb5661344764e4c7c7973e92a47a59b8fc19b6523649ec9dc4960e58a03", "55d97cc6dae627efa6a6e548885712d4864b81110ac76fa4e534c03819fa4a56"]},
{"name": "multiprocess", "version": "0.70.19", "stage": 5, "sha256": ["97404393419dcb2a8385910864eedf47a3cadf82c66345b44f036420eb0b5d87", "0d4b4397ed669d371c81dcd1ef33fd384a44d6c3de1bd0ca7ac06d837720d3c5"]},
{"name": "networkx", "version": "3.4.2", "stage": 5, "sha256": ["df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f"]},
{"name": "ninja", "version": "1.13.2", "stage": 5, "sha256": ["d775a5e43e9088f507a6250d57fcf5678eb31268c545feb5064ffeee33735622"]},
{"name": "nltk", "version": "3.10.3", "stage": 5, "sha256": ["ff9598a8e20518ee0d557745890cc4435b9578489e2dcbc69c4f81fa060caf7c"]},
{"name": "numcodecs", "version": "0.13.1", "stage": 1, "built": true, "key": "57e89e06bad800b8cf243f1fdfbe0fdd", "env": [], "tools": ["cython==3.3.0", "numpy==1.26.0", "packaging==26.3", "py-cpuinfo==9.0.0", "pybind11==3.1.0", "setuptools==84.0.0", "setuptools-scm==10.2.3", "tomli==2.4.1", "typing-extensions==4.16.0", "vcs-versioning==2.3.4", "wheel==0.48.0"], "sha256": ["a3cf37881df0898f3a9c0d4477df88133fe85185bffe57ba31bcc2fa207709bc"]},
{"name": "numpy", "version": "1.26.0", "stage": 5, "sha256": ["51be5f8c349fdd1a5568e72713a21f518e7d6707bcf8503b528b88d33b57dc68"]},
{"name": "nvidia-ml-py", "version": "13.610.43", "stage": 5, "sha256": ["f13c72698edef492f985cc225f14faafe68ae065a2e407f45bdf6f4b9b43fde8"]},
{"name": "nvidia-modelopt", "version": "0.43.0", "stage": 5, "sha256": ["fe11a49e16230435b3a17153bcdb5717b2859a61544cdbe9dcb3f062ba2c203a"]},
{"name": "omegaconf", "version": "2.3.1", "stage": 5, "sha256": ["3d701d14e9a8828f1edd28bb70b725908b34277cdd72cf7d6a83f94dadc6b6a0"]},
{"name": "opentelemetry-api", "version": "1.44.0", "stage": 5, "sha256": ["94b98c893a91b88657eaac1e3ba89618cdb85be6918196705354f34728b2cdef"]},
{"name": "packaging", "version": "26.3", "stage": 5, "sha256": ["d7193f7c8e4e93f444fde0262bf90af30e16fa0ad0ad44cb553c87339b23cd1c"]},
{"name": "pandas", "version": "2.3.3", "stage": 5, "sha256": ["5caf26f64126b6c7aec964f74266f435afef1c1b13da3b0636c7518a1fa3e2b1"]},
{"name": "peft", "version": "0.20.0", "stage": 5, "sha256": ["0fbba16ffebfad3de96e06f2da6860fd860292324b85b6141909fa1e26ea9233"]},
{"name": "pillow", "version": "12.3.0", "stage": 5, "sha256": ["5594fc43d548a7ed94949d139aa1341b270f1863f11cfd37f5a6c8b778a6b67f"]},
{"name": "platformdirs", "version": "4.11.7", "stage": 5, "sha256": ["8a02cb259042c79d1cd0450facc2fe6dc9d303ae7901afbe33bf8ea0b188cef6"]},
{"name": "pluggy", "version": "1.6.0", "stage": 5, "sha256": ["e920276dd6813095e9377c0bc5566d94c932c33b27a3e3945d8389c374dd4746"]},
{"name": "propcache", "version": "0.5.2", "stage": 5, "sha256": ["2f8ea531c794b9d6274acd4e8d2c2ebcac590a4361d27482edd3010b79f1325e", "be1ddfcbb376e3de5d2e2db1d58d6d67463e6b4f9f040c000de8e300295465fe"]},
{"name": "protobuf", "version": "7.36.1", "stage": 5, "sha256": ["43d3d37b1eb24c113b9b7d02008cac44e423f00b611b7781ae998d7623972969", "7d951e46b3f963d6c264c367c437921de9d5aedd9c3f9612b9077736b4e3ad5c"]},
{"name": "psutil", "version": "7.2.2", "stage": 5, "sha256": ["b0726cecd84f9474419d67252add4ac0cd9811b04d61123054b9fb6f57df6e9e"]},
{"name": "pulp", "version": "3.3.2", "stage": 5, "sha256": ["631b166f72086971a9597f7a0233ababa99bb8d50a01cd543f7758be5a9f86c0"]},
{"name": "pyarrow", "version": "24.0.0", "stage": 5, "sha256": ["3a577bd840ca83f646f0a625dbc571dba7044c43c2d1503afc378b570954345c"]},
{"name": "pybind11", "version": "3.1.0", "stage": 5, "sha256": ["b8488090f8acffbcb6b5d6a85571a6827a0a2981ffb75e5a0b27b87c4a6b7dd0"]},
{"name": "pycountry", "version": "26.2.16", "stage": 5, "sha256": ["115c4baf7cceaa30f59a4694d79483c9167dbce7a9de4d3d571c5f3ea77c305a"]},
{"name": "pydantic", "version": "2.13.5", "stage": 5, "sha256": ["346a034f080da3755d8e9cb5e00e8b07de1d39e4f6e2c87d8ab7cafa0b269a73"]},
{"name": "pydantic-core", "version": "2.46.5", "stage": 5, "sha256": ["4dedce55295becb61921e386b99d4f2706045306e7fa52249a33004c837379fb"]},
{"name": "pydantic-extra-types", "version": "2.11.1", "stage": 5, "sha256": ["1722ea2bddae5628ace25f2aa685b69978ef533123e5638cfbddb999e0100ec1"]},
{"name": "pygments", "version": "2.21.0", "stage": 5, "sha256": ["2363c69b61c4a97c838da3b130dcd6468f4848992b21a82f2a63ec34377137d9"]},
{"name": "pytest", "version": "9.1.1", "stage": 5, "sha256": ["37a86b45efb9a47a61a36449063e8e18d0cab3161329fc099eb21783169c4f0c"]},
{"name": "pytest-cov", "version": "7.1.0", "stage": 5, "sha256": ["a0461110b7865f9a271aa1b51e516c9a95de9d696734a2f71e3e78f46e1d4678"]},
{"name": "pytest-mock", "version": "3.15.1", "stage": 5, "sha256": ["0a25e2eb88fe5168d535041d09a4529a188176ae608a6d249ee65abc0949630d"]},
{"name": "pytest-random-order", "version": "1.2.0", "stage": 5, "sha256": ["78d1d6f346222cdf26a7302c502d2f1cab19454529af960b8b9e1427a99ab277"]},
{"name": "python-dateutil", "version": "2.9.0.post0", "stage": 5, "sha256": ["a8b2bc7bffae282281c8140a97d3aa9c14da0b136dfe83f850eea9a5f7470427"]},
{"name": "pytz", "version": "2026.3.post1", "stage": 5, "sha256": ["dd95840dd199baea12d9cc096a1d452caa6596a1c1e4b5f3dbd1541855d5e815"]},
{"name": "pyyaml", "version": "6.0.3", "stage": 5, "sha256": ["b30236e45cf30d2b8e7b3e85881719e98507abed1011bf463a8fa23e9c3e98a8"]},
{"name": "ray", "version": "2.58.0", "stage": 5, "sha256": ["62dd70c70f32cf0d4c69e752fdf85d421bc567475a8fb8bd2e8a306c360bea4b"]},
{"name": "referencing", "version": "0.37.0", "stage": 5, "sha256": ["381329a9f99628c9069361716891d34ad94af76e461dcb0335825aecc7692231"]},
{"name": "regex", "version": "2026.9.3", "stage": 5, "sha256": ["39d8d5490ba4b8f26ef2aef72b775b1e7fc1a5ebaf28d11e637eb27b0b6a3048"]},
{"name": "requests", "version": "2.34.2", "stage": 5, "sha256": ["2a0d60c172f83ac6ab31e4554906c0f3b3588d37b5cb939b1c061f4907e278e0"]},
{"name": "rich", "version": "15.0.0", "stage": 5, "sha256": ["33bd4ef74232fb73fe9279a257718407f169c09b78a87ad3d296f548e27de0bb"]},
{"name": "rpds-py", "version": "0.30.0", "stage": 5, "sha256": ["389a2d49eded1896c3d48b0136ead37c48e221b391c052fba3f4055c367f60a6"]},
{"name": "safetensors", "version": "0.8.0", "stage": 5, "sha256": ["7a46e5ff292c356d6991e60942ba7f79817682d3a2cef0702136448cb9c4d235"]},
{"name": "scikit-learn", "version": "1.7.2", "stage": 5, "sha256": ["4a847fea807e278f821a0406ca01e387f97653e284ecbd9750e3ee7c90347f18"]},
{"name": "scipy", "version": "1.15.3", "stage": 5, "sha256": ["263961f658ce2165bbd7b99fa5135195c3a12d9bef045345016b8b50c315cb82"]},
{"name": "sentencepiece", "version": "0.2.2", "stage": 5, "sha256": ["c798f0b327bac10dc95cdac77b9a197ab2bd7dd1e60ebd7586a12d918d4be711"]},
{"name": "sentry-sdk", "version": "2.68.1", "stage": 5, "sha256": ["775b78871783a0ffd758276ad01b3bb2b1ebcdad8f9d2f0a7723f76b73c99b65"]},
{"name": "setuptools", "version": "84.0.0", "stage": 5, "sha256": ["51a52592b3b99e102b609654876bd65f19f999935166d1352678931132b0c670"]},
{"name": "shellingham", "version": "1.5.4", "stage": 5, "sha256": ["7ecfff8f2fd72616f7481040475a65b2bf8af90a56c89140852d1120324e8686"]},
{"name": "six", "version": "1.17.0", "stage": 5, "sha256": ["4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274"]},
{"name": "sqlalchemy", "version": "2.0.52", "stage": 5, "sha256": ["6c1b7ed45bf87b214e0a9def9c2313949067efe6269db5ef18d542ee13250af7", "3b81b8363a919ce53453591cdb93702e6bd54ade6c4fa2f468fc053baee5ed89"]},
{"name": "sympy", "version": "1.14.0", "stage": 5, "sha256": ["e091cc3e99d2141a0ba2847328f5479b05d94a6635cb96148ccb3f34671bd8f5"]},
{"name": "tensorstore", "version": "0.1.78", "stage": 5, "sha256": ["1e92195db0c8c3ca749f24b1e930ab93382ac27430ac4ad2e3f53fc8f739323f"]},
{"name": "threadpoolctl", "version": "3.6.0", "stage": 5, "sha256": ["43a0b8fd5a2928500110039e43a5eed8480b918967083ea48dc3ab9f13c4a7fb"]},
{"name": "tiktoken", "version": "0.14.0", "stage": 5, "sha256": ["f3d6cf93fbe2e7117eb7bedca684216fbe328a41f0843ce34245451d8eb2df1c"]},
{"name": "tokenizers", "version": "0.22.2", "stage": 5, "sha256": ["2249487018adec45d6e3554c71d46eb39fa8ea67156c640f7513eb26f318cec7"]},
{"name": "tomli", "version": "2.4.1", "stage": 5, "sha256": ["0d85819802132122da43cb86656f8d1f8c6587d54ae7dcaf30e90533028b49fe"]},
{"name": "torch", "version": "2.7.1", "stage": 2, "sha256": ["a103b5d782af5bd119b81dbcc7ffc6fa09904c423ff8db397a1e6ea8fd71508f"]},
{"name": "torch-npu", "version": "2.7.1.post8", "stage": 4, "sha256": ["3b65991505f215af76ca84ca05da7f64e942eedb0f6fd638f59a0976f6685f68"]},
{"name": "tqdm", "version": "4.70.0", "stage": 5, "sha256": ["7f585706bfddbdebf89daac705b2dfcc16890130727d3197ca62c732b4310953"]},
{"name": "transformers", "version": "5.2.0", "stage": 5, "sha256": ["9ecaf243dc45bee11a7d93f8caf03746accc0cb069181bbf4ad8566c53e854b4"]},
{"name": "transformers-stream-generator", "version": "0.0.5", "stage": 1, "built": true, "key": "db3569d5b9dbb3729f7bfb675c535105", "env": [], "tools": ["cython==3.3.0", "numpy==1.26.0", "packaging==26.3", "py-cpuinfo==9.0.0", "pybind11==3.1.0", "setuptools==84.0.0", "setuptools-scm==10.2.3", "tomli==2.4.1", "typing-extensions==4.16.0", "vcs-versioning==2.3.4", "wheel==0.48.0"], "sha256": ["271deace0abf9c0f83b36db472c8ba61fdc7b04d1bf89d845644acac2795ed57"]},
{"name": "typer", "version": "0.27.2", "stage": 5, "sha256": ["b3a5fc4342d5fc8fda8fc3010b1cf117e9249aab7fae800c2eff62fd3842d97d"]},
{"name": "typer-slim", "version": "0.24.0", "stage": 5, "sha256": ["d5d7ee1ee2834d5020c7c616ed5e0d0f29b9a4b1dd283bdebae198ec09778d0e"]},
{"name": "typing-extensions", "version": "4.16.0", "stage": 5, "sha256": ["481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8"]},
{"name": "typing-inspection", "version": "0.4.4", "stage": 5, "sha256": ["65b8397ba37ccbce054456aaccddfc91e6e3083c92824df348d96ca832f3f147"]},
{"name": "tzdata", "version": "2026.3", "stage": 5, "sha256": ["dc096730c87af6cab1b171c9d532be840741ff5d459015e7f6947bd7d7e54931"]},
{"name": "urllib3", "version": "2.7.0", "stage": 5, "sha256": ["9fb4c81ebbb1ce9531cce37674bbc6f1360472bc18ca9a553ede278ef7276897"]},
{"name": "wandb", "version": "0.29.0", "stage": 5, "sha256": ["095b17df32ead3b459069b460665cea1d1781c63ad649be042894bc8e4c17b0b"]},
{"name": "werkzeug", "version": "3.1.8", "stage": 5, "sha256": ["63a77fb8892bf28ebc3178683445222aa500e48ebad5ec77b0ad80f8726b1f50"]},
{"name": "wheel", "version": "0.48.0", "stage": 5, "sha256": ["3217dcc807155e45db462d7ef2431f5ddda0d7273b700d05a67b271ceb1287ab"]},
{"name": "word2number", "version": "1.1", "stage": 1, "built": true, "key": "fc6445a0bc9a527ce2fa7cc711997df5", "env": [], "tools": ["cython==3.3.0", "numpy==1.26.0", "packaging==26.3", "py-cpuinfo==9.0.0", "pybind11==3.1.0", "setuptools==84.0.0", "setuptools-scm==10.2.3", "tomli==2.4.1", "typing-extensions==4.16.0", "vcs-versioning==2.3.4", "wheel==0.48.0"], "sha256": ["70e27a5d387f67b04c71fbb7621c05930b19bfd26efd6851e6e0f9969dcde7d0"]},
{"name": "wrapt", "version": "2.4.0", "stage": 5, "sha256": ["932a8892265df7b71257c30e5752635bc1f06a8c4e264024ff031bdf9bb10918", "18aabd9301d06026f5900538051773d6f87f65ae02cdc60de482df978513dc0a"]},
{"name": "xxhash", "version": "4.0.1", "stage": 5, "sha256": ["f1b603d0686c99fa0879f104a74e7db58367634c6e50ba827bee9aa095e23205"]},
{"name": "yarl", "version": "1.24.5", "stage": 5, "sha256": ["8ac73abdc7ab75610f95a8fd994c6457e87752b02a63987e188f937a1fc180f0", "a33700d13d9b7d84fd10947b09ff69fb9a792e519c8cb9764a3ca70baa6c23a7"]},
{"name": "zarr", "version": "2.18.3", "stage": 5, "sha256": ["b1f7dfd2496f436745cdd4c7bcf8d3b4bc1dceef5fdd0d589c87130d842496dd"]}
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
"network-unseen-what": "the network between NPUs was not checked: this machine has no NPU or no hccn_tool",
"network-unseen-why": "only hccn_tool of the driver knows the network ports of NPUs",
"network-unseen-mend": "run this on a node with NPUs; in a container, mount /usr/local/Ascend/driver",
"network-unread-what": "hccn_tool reports no link state for {count} NPUs",
"network-unread-why": "it may need root, or this chip may have no network ports of its own",
"network-unread-mend": "run `hccn_tool -i 0 -link -g` and read its message",
"network-down-what": "the network link is not UP on NPU {numbers}",
"network-down-why": "a job on several nodes waits for this NPU until it times out",
"network-down-mend": "check the cable and the optical module, then `hccn_tool -i N -link -g`",
"network-unhealthy-what": "the network health is {states} on NPU {numbers}",
"network-unhealthy-why": "the NPU cannot reach its health-check address, usually its gateway",
"network-unhealthy-mend": "compare `hccn_tool -i N -netdetect -g` and `hccn_tool -i N -gateway -g` with a healthy node",
"network-address-missing-what": "NPU {numbers} has no network address",
"network-address-missing-why": "other nodes cannot connect to it",
"network-address-missing-mend": "set one: hccn_tool -i N -ip -s address ADDRESS netmask MASK",
"network-address-shared-what": "NPUs {numbers} have the same network address {address}",
"network-address-shared-why": "messages for one of them reach the other",
"network-address-shared-mend": "give one of them another address: hccn_tool -i N -ip -s address ADDRESS netmask MASK",
"network-tls-mixed-what": "TLS is on for some NPUs and off for others ({tls})",
"network-tls-mixed-why": "HCCL refuses a job whose NPUs differ in it (EI0016)",
"network-tls-mixed-mend": "use the same state on all NPUs of all nodes: off is `hccn_tool -i N -tls -s enable 0`, on is `enable 1`",
"system-differs-what": "this is {found}, but the lock is for Linux",
"system-differs-why": "its files are built for Linux",
"system-differs-mend": "run this on the machine that the lock is for",
"processor-differs-what": "this machine is {found}, but the lock is for {wanted}",
"processor-differs-why": "the lock's compiled files run only on {wanted}",
"processor-differs-mend": "run this on the machine that the lock is for, or set platform = \"linux-{found}\" in the stack's target and lock again",
"glibc-missing-what": "the C library is not glibc",
"glibc-missing-why": "the lock's wheels need glibc {wanted} or newer",
"glibc-missing-mend": "use a system with glibc",
"glibc-old-what": "glibc is {found}, but the lock needs {wanted} or newer",
"glibc-old-why": "the lock's compiled files may use functions that an older glibc lacks",
"glibc-old-mend": "set glibc = \"{found}\" in the stack's target and lock again",
"python-differs-what": "{python} is Python {found}, but the lock is for {wanted}",
"python-differs-why": "wheels with compiled modules work with only one minor version of CPython",
"python-differs-mend": "{fresh}",
"python-shared-what": "{python} is not in a virtual or conda environment",
"python-shared-why": "other programs share these distributions and may change them",
"python-shared-mend": "{fresh}",
"lock-differs-what": "{program} was not made from the lock beside it, {path}",
"lock-differs-why": "one of the two was changed or belongs to another lock, so these checks would not be the lock's",
"lock-differs-mend": "copy the whole folder again; on the machine where you lock, `ascend-lock check {stack}` tells whether its files match",
"lock-unreadable-what": "the lock could not be read from {path}: {why}",
"lock-unreadable-why": "it is unknown whether this program was made from it",
"lock-unreadable-mend": "make it readable, or copy the whole folder again",
"environment-other-what": "{python} has {found} of the lock's {count} distributions",
"environment-other-why": "this is not the environment that install.sh installed into, or the installation did not finish",
"environment-other-mend": "activate that environment, or pass --python PATH; to install it: {install}",
"cann-inactive-what": "CANN is not active: ASCEND_HOME_PATH is not set",
"cann-inactive-why": "torch_npu finds CANN's libraries through it",
"cann-inactive-mend": "install CANN {wanted}, then source its set_env.sh",
"cann-gone-what": "the active CANN does not exist: {variable} is {home}, which is not a folder",
"cann-gone-why": "it was moved or removed after set_env.sh was sourced",
"cann-gone-mend": "source the set_env.sh of CANN {wanted} in a new shell",
"cann-half-active-what": "ASCEND_TOOLKIT_HOME is {home}, but ASCEND_HOME_PATH is not set",
"cann-half-active-why": "torch_npu finds CANN's libraries through ASCEND_HOME_PATH and cannot be imported without",
"cann-half-active-mend": "source CANN's set_env.sh, which sets both",
"component-invalid-what": "the lock states {component} {wanted}, which is no version of CANN or HDK",
"component-invalid-why": "the machine cannot be compared with it; ascend-lock does not write such a lock",
"component-invalid-mend": "state the version in the stack's target and lock again",
"cann-unreadable-what": "the CANN release in {home} could not be read from {path}: {why}",
"cann-unreadable-why": "it is unknown whether this is {wanted}, and the installation may be incomplete",
"cann-unreadable-mend": "source the set_env.sh of CANN {wanted}, or reinstall it if this is its folder",
"cann-file-unreadable-what": "the CANN version file {path} could not be read: {why}",
"cann-file-unreadable-why": "the installation may be incomplete",
"cann-file-unreadable-mend": "reinstall that part of CANN",
"cann-differs-what": "CANN is {found}, but the lock is for {wanted} (active: {home})",
"cann-differs-why": "torch_npu and the packages that use it are built for specific CANN releases",
"cann-differs-mend": "install and activate CANN {wanted}, or set cann = \"{found}\" in the stack's target and lock again",
"cann-parts-differ-what": "CANN is {found}, but parts of it are from a different release: {list} ({count} in all)",
"cann-parts-differ-why": "operators and libraries of different releases fail at run time when they are mixed",
"cann-parts-differ-mend": "reinstall the toolkit, operators and NNAL of CANN {found}",
"nnal-differs-what": "NNAL is {found}, but CANN is {wanted} ({path})",
"nnal-differs-why": "NNAL must be the same release as the toolkit",
"nnal-differs-mend": "install Ascend-cann-nnal {wanted}",
"hdk-missing-what": "no driver (HDK) was found: {path} does not exist",
"hdk-missing-why": "the lock is for {wanted} or newer",
"hdk-missing-mend": "install HDK {wanted} or newer; in a container, mount /usr/local/Ascend/driver",
"hdk-unreadable-what": "the version of the driver (HDK) could not be read from {path}: {why}",
"hdk-unreadable-why": "it is unknown whether this is {wanted} or newer",
"hdk-unreadable-mend": "reinstall the driver, HDK {wanted} or newer",
"hdk-file-unreadable-what": "the version of the driver (HDK) could not be read from {path}: {why}",
"hdk-file-unreadable-why": "the installation may be incomplete",
"hdk-file-unreadable-mend": "reinstall the driver",
"hdk-old-what": "the driver (HDK) is {found}, but the lock is for {wanted} or newer ({path})",
"hdk-old-why": "an older driver may lack what the stack uses",
"hdk-old-mend": "install HDK {wanted} or newer on the machine (a container uses its host's) and restart it, or set hdk = \"{found}\" in the stack's target and lock again",
"hdk-refused-what": "the driver (HDK) is {found}, and {by} needs {asked} ({path})",
"hdk-refused-why": "{reason}",
"hdk-refused-mend": "install driver and firmware that meet {asked} on the machine (a container uses its host's) and restart it",
"hdk-unmet-what": "the driver (HDK) is {found}, and {by} asks for {asked} ({path})",
"hdk-unmet-why": "{reason}",
"hdk-unmet-mend": "install driver and firmware that meet {asked} on the machine (a container uses its host's) and restart it",
"hdk-not-running-what": "{path} says the driver is {found}, but npu-smi says {running}",
"hdk-not-running-why": "a new driver takes effect only after a restart",
"hdk-not-running-mend": "restart the machine",
"soc-unknown-what": "the SoC is unknown: npu-smi is missing, does not run or shows no NPU",
"soc-unknown-why": "the lock's binaries and CANN's operators are for {wanted}",
"soc-unknown-mend": "run this on a machine with NPUs; in a container, pass the devices and mount npu-smi and /usr/local/Ascend/driver, whose lib64 npu-smi needs in LD_LIBRARY_PATH",
"soc-unnamed-what": "npu-smi reports the chip {chip}, which belongs to no known SoC family",
"soc-unnamed-why": "the lock's binaries and CANN's operators are for {wanted}",
"soc-unnamed-mend": "compare the chip with component.soc in matrices/systems.toml",
"soc-mixed-what": "this machine has chips of several families: beside {found} also {list}",
"soc-mixed-why": "the lock's binaries and CANN's operators are for {wanted}; a program that runs on another chip fails",
"soc-mixed-mend": "let programs see only the NPUs of {wanted}: ASCEND_RT_VISIBLE_DEVICES",
"soc-differs-what": "the SoC is {found} ({chip}), but the lock is for {wanted}",
"soc-differs-why": "binaries and operators for another SoC load but fail when they run",
"soc-differs-mend": "set soc = \"{found}\" in the stack's target and lock again",
"npu-absent-what": "this machine has no NPU, so the NPU test was not run",
"npu-absent-why": "only a test on an NPU shows whether torch_npu works",
"npu-absent-mend": "run this on a machine with NPUs",
"npu-failed-what": "a tensor computation on the NPU failed: {error}",
"npu-failed-why": "nothing that uses torch_npu will work",
"npu-failed-mend": "see the full message: {command}",
"npu-wrong-what": "the sum of a test tensor on the NPU is {found} instead of 8.0",
"npu-wrong-why": "operators for another SoC or release give wrong results",
"npu-wrong-mend": "check that CANN's operator package matches the SoC",
"distribution-missing-what": "missing {count} of the lock's {total} distributions: {list}",
"distribution-missing-why": "programs that need them fail when they use them",
"distribution-missing-mend": "{install}",
"distribution-differs-what": "{name} is {found}, but the lock has {wanted}",
"distribution-differs-why": "the lock's versions were resolved together",
"distribution-differs-mend": "{install}",
"distribution-elsewhere-what": "{name} {wanted} was installed from a different source: {found}",
"distribution-elsewhere-why": "the version matches the lock, but the files may not",
"distribution-elsewhere-mend": "{again}",
"distribution-otherwise-what": "{name} {wanted} was installed from another file than the lock's, or built in another way",
"distribution-otherwise-why": "the version is the same, but install.sh noted other hashes, another commit, other variables or other tools when it installed it",
"distribution-otherwise-mend": "{again}",
"distribution-editable-what": "{name} {wanted} is an editable installation of {found}",
"distribution-editable-why": "its files are whatever that folder contains now",
"distribution-editable-mend": "{again}",
"distribution-conda-what": "{name} {wanted} was installed by conda",
"distribution-conda-why": "it is conda's own build, not the lock's file, so its files were not compared",
"distribution-conda-mend": "{again}",
"distribution-twice-what": "{name} is installed twice: {one} and {other}",
"distribution-twice-why": "an installation was interrupted, and files of both are mixed",
"distribution-leftover-what": "an interrupted installation left {path} behind",
"distribution-leftover-why": "pip warns about it every time; nothing uses it",
"distribution-unwanted-what": "{name} is installed but must not be: {reason}",
"distribution-unwanted-why": "the lock excludes it",
"distribution-extra-what": "not in the lock: {list} ({count} in all)",
"distribution-extra-why": "the lock says nothing about them, and their files were not checked",
"metadata-broken-what": "{path} of {name} cannot be read: {why}",
"metadata-broken-why": "pip and other tools cannot tell what is installed",
"record-missing-what": "{name} {version} has no RECORD in {folder}",
"record-missing-why": "its files cannot be checked, and pip cannot uninstall it",
"record-broken-what": "{path} of {name} {version} cannot be read: {why}",
"record-broken-why": "its files cannot be checked, and pip cannot uninstall it",
"file-missing-what": "files of {name} {version} are missing: {list} ({count} in all)",
"file-missing-why": "something removed or overwrote a part of it",
"file-missing-mend": "{again}",
"file-changed-what": "files of {name} {version} were changed after installation: {list} ({count} in all)",
"file-changed-why": "what runs is not what the lock pins",
"file-changed-mend": "{again}",
"extra-changed-what": "files of {name} {version}, which the lock does not have, were changed after installation: {list} ({count} in all)",
"extra-changed-why": "it is in the same environment and may run code there, even at each start of Python, that its installer did not write",
"extra-changed-mend": "install {name} again",
"file-unreadable-what": "files of {name} {version} cannot be read: {list} ({count} in all)",
"file-unreadable-why": "their content could not be compared with the lock",
"file-unreadable-mend": "{again}",
"file-unhashed-what": "RECORD of {name} {version} has no hash of {list} ({count} in all)",
"file-unhashed-why": "so nothing tells whether they are as they were installed",
"file-unhashed-mend": "install.sh completes it when it installs: {again}",
"bytecode-differs-what": "{count} compiled files that Python runs do not match their sources: {list}",
"bytecode-differs-why": "Python runs files in __pycache__ without comparing them with the source, and RECORD has no hash of them; another patch release of Python compiled them, or somebody put them there",
"bytecode-differs-mend": "remove them: Python compiles the sources again",
"file-stale-what": "files in the packages of {owners} belong to no distribution: {list} ({count} in all)",
"file-stale-why": "they can be imported although the lock does not have them; an interrupted installation left them, or somebody added them",
"file-added-what": "files were added to the packages of {owners}: {list} ({count} in all)",
"file-added-why": "no distribution has them; a program wrote them, an interrupted installation left them, or somebody added them",
"startup-extra-what": "files in {folder} that run at each start of Python belong to no distribution: {list} ({count} in all)",
"startup-extra-why": "the lock says nothing about them, and their code runs in every program of this environment",
"startup-extra-mend": "remove them, or install what you have put there as a distribution: an interrupted installation leaves such files, too",
"startup-unknown-what": "files in {folder} that run at each start of Python may belong to no distribution: {list} ({count} in all)",
"startup-unknown-why": "no list of files has them, but the folder is shared with other programs or has distributions without such a list",
"startup-unknown-mend": "remove them unless somebody needs them: an interrupted installation leaves such files, too",
"startup-changed-what": "{list} in {folder} is not as any known release of virtualenv or uv makes it",
"startup-changed-why": "it runs at each start of Python, and no distribution has it: a newer release made it, or somebody changed it",
"startup-changed-mend": "compare it with that of the tool that made this environment, or remove it with the `.pth` file beside it",
"startup-added-what": "files of {name}, which the lock does not have, run at each start of Python: {list} ({count} in all)",
"startup-added-why": "their code runs in every program of this environment",
"startup-added-mend": "uninstall {name} unless you need it",
"module-replaced-what": "modules in {folder} have the names of locked modules, but belong to no locked distribution: {list} ({count} in all)",
"module-replaced-why": "Python can import them in place of what the lock has",
"module-extra-what": "modules in {folder} belong to no distribution: {list} ({count} in all)",
"module-extra-why": "the lock says nothing about them, and they can be imported",
"module-extra-mend": "remove them unless you have put them there: an interrupted installation leaves such files, too",
"path-extra-what": "folders or archives that no distribution has are on the search path of Python: {list} ({count} in all)",
"path-extra-why": "`.pth` files add them; what is in them can be imported, and was not judged",
"path-extra-mend": "remove their lines from easy-install.pth or conda.pth unless you need them",
"checkout-other-what": "{name} is at commit {found} in {folder}, the lock has {wanted}",
"checkout-other-why": "it is installed as this folder, so Python runs what is in there",
"checkout-unmarked-what": "{folder} does not have the mark that install.sh leaves for {name} at commit {wanted}",
"checkout-unmarked-why": "the mark .git/ascend-lock says that it was built with the steps and variables of this lock",
"checkout-changed-what": "files of {name} in {folder} were changed after installation: {list} ({count} in all)",
"checkout-changed-why": "they match neither commit {wanted} nor the steps of the lock that change it",
"checkout-hidden-what": "files that commit {wanted} does not have hide modules of {name} in {folder}: {list} ({count} in all)",
"checkout-hidden-why": "Python imports them in place of the commit's, and install.sh did not note them",
"checkout-added-what": "modules that commit {wanted} does not have were added to {name} in {folder}: {list} ({count} in all)",
"checkout-added-why": "they can be imported, and install.sh did not note them when it built the checkout",
"checkout-added-mend": "remove them unless you have put them there",
"checkout-unreadable-what": "the checkout of {name} cannot be read: {path}: {why}",
"checkout-unreadable-why": "without it nothing tells which commit is installed",
"checkout-uncompared-what": "files of {name} in {folder} were not compared with commit {wanted}: {why}",
"checkout-uncompared-why": "only git can list the files of a commit; the commit itself is the lock's",
"checkout-uncompared-mend": "install git, then run this again",
"collision-what": "{other}, which is not in the lock, installs the same module `{module}` as {owner}: of {count} files that differ, {theirs} are now from {other} and {ours} from {owner}",
"collision-why": "the one installed last takes effect, and uninstalling either breaks both",
"collision-order-what": "{other} and {owner} both install the module `{module}`, and {owner} must be installed last: of {count} files that differ, {theirs} are now from {other} and {ours} from {owner}",
"collision-order-why": "the one installed last takes effect",
"requirement-broken-what": "pip check reports: {complaint}",
"requirement-broken-why": "the lock's facts do not expect this",
"requirement-broken-mend": "{install}",
"pip-missing-what": "{python} has no pip, so pip check could not be run",
"pip-missing-why": "it is unknown whether all requirements are met",
"pip-missing-mend": "{python} -m ensurepip",
"pip-failed-what": "pip check failed: {error}",
"pip-failed-why": "it is unknown whether all requirements are met",
"pip-failed-mend": "see the full message: {python} -I -m pip check",
"import-failed-what": "import {name} failed: {error}",
"import-failed-why": "the stack needs it",
"import-failed-mend": "see the full message: {command}",
"import-without-cann-what": "import {name} failed: {library} of CANN or its driver was not found",
"import-without-cann-why": "it loads torch_npu, which is linked against CANN's libraries; LD_LIBRARY_PATH must include their folder",
"import-without-cann-mend": "source the activate.sh next to this file and run this again; if it still fails, CANN or its driver lacks files",
"import-untried-what": "import {name} was not tested: this machine has no NPU and no {library} of CANN or its driver",
"import-untried-why": "it loads torch_npu, which is linked against that library",
"import-untried-mend": "run this on a machine with NPUs",
"import-died-what": "Python crashed on import {name}: {error}",
"import-died-why": "the stack needs it",
"import-died-mend": "see the full message: {command}",
"import-elsewhere-what": "import {name} loads {found}, which is not in this environment",
"import-elsewhere-why": "PYTHONPATH or the user's site-packages take precedence over the lock's files",
"import-elsewhere-mend": "unset PYTHONPATH, source CANN's set_env.sh again, and try PYTHONNOUSERSITE=1",
"import-replaced-what": "import {name} loads {found}, which belongs to no locked distribution",
"import-replaced-why": "it has the name of a locked module, and Python imports it instead",
"import-replaced-mend": "remove {found}, and run install.sh again",
"start-failed-what": "{list} cannot be started: {error}",
"start-failed-why": "raised at {where}; modules and commands of the lock that fail like this: {count}",
"start-failed-mend": "see the full message: {command}",
"start-died-what": "Python crashed when it started {list}: {error}",
"start-died-why": "modules and commands of the lock that crash like this: {count}",
"start-died-mend": "see the full message: {command}",
"start-late-what": "not started after {seconds} s: {list}",
"start-late-why": "it hangs, or this machine is slow; modules and commands that take so long: {count}",
"start-late-mend": "try it alone: {command}; for a slow machine: verify.py --seconds 900",
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
"label-ended": "Nothing else was checked, because other differences would only follow from this one.",
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
"network-unseen-what": "没有检查 NPU 之间的网络：本机没有 NPU 或 hccn_tool",
"network-unseen-why": "NPU 网口的信息只能由驱动的 hccn_tool 获得",
"network-unseen-mend": "请在有 NPU 的节点上执行；在容器中请挂载 /usr/local/Ascend/driver",
"network-unread-what": "hccn_tool 没有给出 {count} 个 NPU 的链路状态",
"network-unread-why": "它可能需要 root 权限，或这种芯片没有自己的网口",
"network-unread-mend": "请执行 `hccn_tool -i 0 -link -g` 查看输出",
"network-down-what": "NPU {numbers} 的网络链路不是 UP",
"network-down-why": "多机任务会等待该 NPU，直到超时",
"network-down-mend": "请检查线缆和光模块，然后执行 `hccn_tool -i N -link -g`",
"network-unhealthy-what": "NPU {numbers} 的网络健康状态为 {states}",
"network-unhealthy-why": "该 NPU 无法访问用于健康检测的地址（通常是网关）",
"network-unhealthy-mend": "请与正常节点比较 `hccn_tool -i N -netdetect -g` 和 `hccn_tool -i N -gateway -g`",
"network-address-missing-what": "NPU {numbers} 没有网络地址",
"network-address-missing-why": "其他节点无法连接它",
"network-address-missing-mend": "请设置：hccn_tool -i N -ip -s address 地址 netmask 掩码",
"network-address-shared-what": "NPU {numbers} 的网络地址相同：{address}",
"network-address-shared-why": "发给其中一个 NPU 的消息会到达另一个",
"network-address-shared-mend": "请为其中一个设置其他地址：hccn_tool -i N -ip -s address 地址 netmask 掩码",
"network-tls-mixed-what": "部分 NPU 开启了 TLS，部分未开启（{tls}）",
"network-tls-mixed-why": "NPU 的 TLS 状态不一致时，HCCL 会拒绝该任务（EI0016）",
"network-tls-mixed-mend": "请将所有节点的所有 NPU 设为相同状态：关闭用 `hccn_tool -i N -tls -s enable 0`，开启用 `enable 1`",
"system-differs-what": "本机系统是 {found}，而锁文件用于 Linux",
"system-differs-why": "其中的文件都是为 Linux 构建的",
"system-differs-mend": "请在锁文件对应的机器上运行",
"processor-differs-what": "本机是 {found}，而锁文件用于 {wanted}",
"processor-differs-why": "锁文件中的编译文件只能在 {wanted} 上运行",
"processor-differs-mend": "请在锁文件对应的机器上运行；或在软件栈的目标中设置 platform = \"linux-{found}\" 并重新锁定",
"glibc-missing-what": "C 库不是 glibc",
"glibc-missing-why": "锁文件中的 wheel 需要 glibc {wanted} 或更高版本",
"glibc-missing-mend": "请使用基于 glibc 的系统",
"glibc-old-what": "glibc 是 {found}，而锁文件需要 {wanted} 或更高版本",
"glibc-old-why": "锁文件中的编译文件可能用到旧版 glibc 没有的函数",
"glibc-old-mend": "请在软件栈的目标中设置 glibc = \"{found}\" 并重新锁定",
"python-differs-what": "{python} 是 Python {found}，而锁文件用于 {wanted}",
"python-differs-why": "含有编译模块的 wheel 只适用于一个 CPython 次版本",
"python-differs-mend": "{fresh}",
"python-shared-what": "{python} 不在虚拟环境或 conda 环境中",
"python-shared-why": "其他程序也使用这些软件包，并可能改动它们",
"python-shared-mend": "{fresh}",
"lock-differs-what": "{program} 不是由同目录的锁文件 {path} 生成的",
"lock-differs-why": "其中一个被改动过，或属于另一个锁文件，因此检查的内容会与锁文件不符",
"lock-differs-mend": "请重新复制整个目录；在锁定所用的机器上，`ascend-lock check {stack}` 会说明目录中的文件是否一致",
"lock-unreadable-what": "无法从 {path} 读取锁文件：{why}",
"lock-unreadable-why": "无法确定本程序是否由它生成",
"lock-unreadable-mend": "请使其可读，或重新复制整个目录",
"environment-other-what": "锁文件的 {count} 个软件包中，{python} 只有 {found} 个",
"environment-other-why": "它不是 install.sh 安装到的环境，或安装没有完成",
"environment-other-mend": "请激活该环境，或用 --python PATH 指定；如需安装：{install}",
"cann-inactive-what": "CANN 未激活：ASCEND_HOME_PATH 未设置",
"cann-inactive-why": "torch_npu 通过它找到 CANN 的库",
"cann-inactive-mend": "请安装 CANN {wanted}，然后 source 它的 set_env.sh",
"cann-gone-what": "已激活的 CANN 不存在：{variable} 是 {home}，没有这个目录",
"cann-gone-why": "source set_env.sh 之后，它被移动或删除了",
"cann-gone-mend": "请在新的 shell 中 source CANN {wanted} 的 set_env.sh",
"cann-half-active-what": "ASCEND_TOOLKIT_HOME 是 {home}，但 ASCEND_HOME_PATH 未设置",
"cann-half-active-why": "torch_npu 通过 ASCEND_HOME_PATH 找到 CANN 的库，没有它就无法导入",
"cann-half-active-mend": "请 source CANN 的 set_env.sh，它会设置这两个变量",
"component-invalid-what": "锁文件写的是 {component} {wanted}，这不是 CANN 或 HDK 的版本号",
"component-invalid-why": "无法与机器比较；ascend-lock 不会写出这样的锁文件",
"component-invalid-mend": "请在软件栈的目标中写明版本并重新锁定",
"cann-unreadable-what": "无法从 {path} 读出 {home} 中 CANN 的版本：{why}",
"cann-unreadable-why": "无法确定它是否为 {wanted}，安装也可能不完整",
"cann-unreadable-mend": "请 source CANN {wanted} 的 set_env.sh；如果这就是它的目录，请重新安装",
"cann-file-unreadable-what": "无法读取 CANN 的版本文件 {path}：{why}",
"cann-file-unreadable-why": "安装可能不完整",
"cann-file-unreadable-mend": "请重新安装 CANN 的这一部分",
"cann-differs-what": "CANN 是 {found}，而锁文件用于 {wanted}（已激活：{home}）",
"cann-differs-why": "torch_npu 及使用它的软件包是为特定的 CANN 版本构建的",
"cann-differs-mend": "请安装并激活 CANN {wanted}，或在软件栈的目标中设置 cann = \"{found}\" 并重新锁定",
"cann-parts-differ-what": "CANN 是 {found}，但其中有些部分是其他版本：{list}（共 {count} 个）",
"cann-parts-differ-why": "不同版本的算子和库混用，会在运行时失败",
"cann-parts-differ-mend": "请重新安装 CANN {found} 的 toolkit、算子包和 NNAL",
"nnal-differs-what": "NNAL 是 {found}，而 CANN 是 {wanted}（{path}）",
"nnal-differs-why": "NNAL 必须与 toolkit 版本相同",
"nnal-differs-mend": "请安装 Ascend-cann-nnal {wanted}",
"hdk-missing-what": "未检测到驱动（HDK）：{path} 不存在",
"hdk-missing-why": "锁文件需要 {wanted} 或更高版本",
"hdk-missing-mend": "请安装 HDK {wanted} 或更高版本；在容器中请挂载 /usr/local/Ascend/driver",
"hdk-unreadable-what": "无法从 {path} 读出驱动（HDK）的版本：{why}",
"hdk-unreadable-why": "无法确定它是否为 {wanted} 或更高版本",
"hdk-unreadable-mend": "请重新安装驱动，HDK {wanted} 或更高版本",
"hdk-file-unreadable-what": "无法从 {path} 读出驱动（HDK）的版本：{why}",
"hdk-file-unreadable-why": "安装可能不完整",
"hdk-file-unreadable-mend": "请重新安装驱动",
"hdk-old-what": "驱动（HDK）是 {found}，而锁文件需要 {wanted} 或更高版本（{path}）",
"hdk-old-why": "旧驱动可能缺少软件栈用到的功能",
"hdk-old-mend": "请在机器上安装 HDK {wanted} 或更高版本（容器使用宿主机的驱动）并重启；或在软件栈的目标中设置 hdk = \"{found}\" 并重新锁定",
"hdk-refused-what": "驱动（HDK）是 {found}，而 {by} 需要 {asked}（{path}）",
"hdk-refused-why": "{reason}",
"hdk-refused-mend": "请在机器上安装满足 {asked} 的驱动和固件（容器使用宿主机的驱动）并重启",
"hdk-unmet-what": "驱动（HDK）是 {found}，而 {by} 要求 {asked}（{path}）",
"hdk-unmet-why": "{reason}",
"hdk-unmet-mend": "请在机器上安装满足 {asked} 的驱动和固件（容器使用宿主机的驱动）并重启",
"hdk-not-running-what": "{path} 中的驱动版本是 {found}，而 npu-smi 显示 {running}",
"hdk-not-running-why": "新驱动在重启后才会生效",
"hdk-not-running-mend": "请重启机器",
"soc-unknown-what": "无法确定 SoC：没有 npu-smi，或它无法运行，或没有显示 NPU",
"soc-unknown-why": "锁文件中的二进制文件和 CANN 的算子用于 {wanted}",
"soc-unknown-mend": "请在有 NPU 的机器上运行；在容器中请映射 NPU 设备，并挂载 npu-smi 和 /usr/local/Ascend/driver（npu-smi 需要后者的 lib64 在 LD_LIBRARY_PATH 中）",
"soc-unnamed-what": "npu-smi 显示的芯片 {chip} 不属于任何已知的 SoC 系列",
"soc-unnamed-why": "锁文件中的二进制文件和 CANN 的算子用于 {wanted}",
"soc-unnamed-mend": "请对照 matrices/systems.toml 中的 component.soc",
"soc-mixed-what": "本机有多个系列的芯片：除 {found} 外还有 {list}",
"soc-mixed-why": "锁文件中的二进制文件和 CANN 的算子用于 {wanted}；程序在其他芯片上运行会失败",
"soc-mixed-mend": "请用 ASCEND_RT_VISIBLE_DEVICES 让程序只使用 {wanted} 的 NPU",
"soc-differs-what": "SoC 是 {found}（{chip}），而锁文件用于 {wanted}",
"soc-differs-why": "用于其他 SoC 的二进制文件和算子可以加载，但运行时会失败",
"soc-differs-mend": "请在软件栈的目标中设置 soc = \"{found}\" 并重新锁定",
"npu-absent-what": "本机没有 NPU，因此没有进行 NPU 测试",
"npu-absent-why": "只有在 NPU 上测试才能确定 torch_npu 能否工作",
"npu-absent-mend": "请在有 NPU 的机器上运行",
"npu-failed-what": "NPU 上的张量计算失败：{error}",
"npu-failed-why": "使用 torch_npu 的程序都无法工作",
"npu-failed-mend": "查看完整信息：{command}",
"npu-wrong-what": "NPU 上测试张量的和是 {found}，应为 8.0",
"npu-wrong-why": "用于其他 SoC 或版本的算子会给出错误结果",
"npu-wrong-mend": "请核对 CANN 算子包与 SoC 是否匹配",
"distribution-missing-what": "锁文件的 {total} 个软件包中有 {count} 个未安装：{list}",
"distribution-missing-why": "需要它们的程序会在使用时失败",
"distribution-missing-mend": "{install}",
"distribution-differs-what": "{name} 是 {found}，而锁文件中是 {wanted}",
"distribution-differs-why": "锁文件中的版本是一起求解得到的",
"distribution-differs-mend": "{install}",
"distribution-elsewhere-what": "{name} {wanted} 是从其他来源安装的：{found}",
"distribution-elsewhere-why": "版本与锁文件相同，但文件可能不同",
"distribution-elsewhere-mend": "{again}",
"distribution-otherwise-what": "{name} {wanted} 不是用锁文件中的文件安装的，或构建方式不同",
"distribution-otherwise-why": "版本相同，但 install.sh 安装它时记录的哈希、commit、变量或构建工具不同",
"distribution-otherwise-mend": "{again}",
"distribution-editable-what": "{name} {wanted} 是 {found} 的可编辑安装",
"distribution-editable-why": "它的文件取决于该目录当前的内容",
"distribution-editable-mend": "{again}",
"distribution-conda-what": "{name} {wanted} 是由 conda 安装的",
"distribution-conda-why": "它是 conda 自己的构建，不是锁文件中的文件，因此没有比较其文件",
"distribution-conda-mend": "{again}",
"distribution-twice-what": "{name} 安装了两份：{one} 和 {other}",
"distribution-twice-why": "安装曾被中断，两份的文件混在一起",
"distribution-leftover-what": "一次中断的安装留下了 {path}",
"distribution-leftover-why": "pip 每次运行都会警告；没有程序使用它",
"distribution-unwanted-what": "不应安装 {name}，但已安装：{reason}",
"distribution-unwanted-why": "锁文件排除了它",
"distribution-extra-what": "不在锁文件中：{list}（共 {count} 个）",
"distribution-extra-why": "锁文件没有涉及它们，也没有检查它们的文件",
"metadata-broken-what": "无法读取 {name} 的 {path}：{why}",
"metadata-broken-why": "pip 等工具无法确定安装了什么",
"record-missing-what": "{name} {version} 在 {folder} 中没有 RECORD",
"record-missing-why": "无法检查它的文件，pip 也无法卸载它",
"record-broken-what": "无法读取 {name} {version} 的 {path}：{why}",
"record-broken-why": "无法检查它的文件，pip 也无法卸载它",
"file-missing-what": "{name} {version} 缺少文件：{list}（共 {count} 个）",
"file-missing-why": "它的一部分被删除或覆盖了",
"file-missing-mend": "{again}",
"file-changed-what": "{name} {version} 的文件在安装后被改动：{list}（共 {count} 个）",
"file-changed-why": "运行的不是锁文件固定的内容",
"file-changed-mend": "{again}",
"extra-changed-what": "{name} {version} 不在锁文件中，其文件在安装后被改动：{list}（共 {count} 个）",
"extra-changed-why": "它在同一环境中，其中的代码（甚至在每次启动 Python 时）可能不是安装时写入的代码",
"extra-changed-mend": "请重新安装 {name}",
"file-unreadable-what": "无法读取 {name} {version} 的文件：{list}（共 {count} 个）",
"file-unreadable-why": "无法将其内容与锁文件比较",
"file-unreadable-mend": "{again}",
"file-unhashed-what": "{name} {version} 的 RECORD 没有 {list} 的哈希（共 {count} 个）",
"file-unhashed-why": "因此无从得知它们是否与安装时相同",
"file-unhashed-mend": "install.sh 安装时会补全：{again}",
"bytecode-differs-what": "Python 运行的 {count} 个编译文件与源文件不一致：{list}",
"bytecode-differs-why": "Python 运行 __pycache__ 中的文件时不与源文件比较，RECORD 也没有它们的哈希；可能由另一个 Python 补丁版本编译，也可能被人放入",
"bytecode-differs-mend": "请删除它们：Python 会重新编译源文件",
"file-stale-what": "{owners} 的目录中有不属于任何软件包的文件：{list}（共 {count} 个）",
"file-stale-why": "锁文件中没有它们，但它们可以被导入；可能是中断的安装留下的，也可能是有人添加的",
"file-added-what": "{owners} 的目录中新增了文件：{list}（共 {count} 个）",
"file-added-why": "它们不属于任何软件包；可能是程序写入的，或中断的安装留下的，也可能是有人添加的",
"startup-extra-what": "{folder} 中有每次启动 Python 都会运行的文件，但不属于任何软件包：{list}（共 {count} 个）",
"startup-extra-why": "锁文件没有涉及它们，而它们的代码会在此环境的每个程序中运行",
"startup-extra-mend": "请删除；如果是自己放入的，请作为软件包安装：中断的安装也会留下这样的文件",
"startup-unknown-what": "{folder} 中有每次启动 Python 都会运行的文件，可能不属于任何软件包：{list}（共 {count} 个）",
"startup-unknown-why": "没有文件清单列出它们，但该目录与其他程序共用，或其中有不带清单的软件包",
"startup-unknown-mend": "如果没有人需要，请删除：中断的安装也会留下这样的文件",
"startup-changed-what": "{folder} 中的 {list} 与 virtualenv 或 uv 的任何已知版本写入的内容都不同",
"startup-changed-why": "它在每次启动 Python 时运行，却不属于任何发行包：由更新的版本写入，或被人改动",
"startup-changed-mend": "请与创建此环境的工具所写的内容比较，或将它与旁边的 `.pth` 文件一并删除",
"startup-added-what": "锁文件之外的 {name} 有每次启动 Python 都会运行的文件：{list}（共 {count} 个）",
"startup-added-why": "它们的代码会在此环境的每个程序中运行",
"startup-added-mend": "如不需要 {name}，请将其卸载",
"module-replaced-what": "{folder} 中的模块与锁定的模块同名，但不属于任何锁定的软件包：{list}（共 {count} 个）",
"module-replaced-why": "Python 可能导入它们，而不是锁文件中的模块",
"module-extra-what": "{folder} 中有不属于任何软件包的模块：{list}（共 {count} 个）",
"module-extra-why": "锁文件没有涉及它们，但它们可以被导入",
"module-extra-mend": "如果不是自己放入的，请删除：中断的安装也会留下这样的文件",
"path-extra-what": "Python 的搜索路径中有不属于任何发行包的文件夹或归档：{list}（共 {count} 个）",
"path-extra-why": "它们由 `.pth` 文件加入；其中的内容可以被导入，且没有受到检查",
"path-extra-mend": "如不需要，请从 easy-install.pth 或 conda.pth 中删除相应的行",
"checkout-other-what": "{folder} 中的 {name} 在 commit {found}，而锁文件中是 {wanted}",
"checkout-other-why": "它是以此目录安装的，Python 运行的就是其中的内容",
"checkout-unmarked-what": "{folder} 没有 install.sh 为 {name} 的 commit {wanted} 留下的标记",
"checkout-unmarked-why": "标记 .git/ascend-lock 说明它是按此锁文件的步骤和变量构建的",
"checkout-changed-what": "{folder} 中 {name} 的文件在安装后被改动：{list}（共 {count} 个）",
"checkout-changed-why": "它们与 commit {wanted} 不一致，也不是锁文件的步骤修改的结果",
"checkout-hidden-what": "{folder} 中有提交 {wanted} 之外的文件遮住了 {name} 的模块：{list}（共 {count} 个）",
"checkout-hidden-why": "Python 会导入它们而不是提交中的模块，而 install.sh 没有记录它们",
"checkout-added-what": "{folder} 中的 {name} 多出了提交 {wanted} 之外的模块：{list}（共 {count} 个）",
"checkout-added-why": "它们可以被导入，而 install.sh 构建检出时没有记录它们",
"checkout-added-mend": "如果不是您放置的，请删除",
"checkout-unreadable-what": "无法读取 {name} 的检出：{path}：{why}",
"checkout-unreadable-why": "没有它就无法确定安装的是哪个 commit",
"checkout-uncompared-what": "没有将 {folder} 中 {name} 的文件与 commit {wanted} 比较：{why}",
"checkout-uncompared-why": "commit 中的文件清单只能由 git 给出；commit 本身与锁文件一致",
"checkout-uncompared-mend": "请安装 git，然后重新运行",
"collision-what": "{other} 不在锁文件中，与 {owner} 安装同一模块 `{module}`：在 {count} 个不同的文件中，{theirs} 个现在来自 {other}，{ours} 个来自 {owner}",
"collision-why": "后安装的生效，卸载任何一个都会破坏两者",
"collision-order-what": "{other} 与 {owner} 都安装模块 `{module}`，且 {owner} 必须最后安装：在 {count} 个不同的文件中，{theirs} 个现在来自 {other}，{ours} 个来自 {owner}",
"collision-order-why": "后安装的生效",
"requirement-broken-what": "pip check 报告：{complaint}",
"requirement-broken-why": "不在锁文件的事实预期之内",
"requirement-broken-mend": "{install}",
"pip-missing-what": "{python} 没有 pip，因此没有运行 pip check",
"pip-missing-why": "无法确定依赖是否全部满足",
"pip-missing-mend": "{python} -m ensurepip",
"pip-failed-what": "pip check 运行失败：{error}",
"pip-failed-why": "无法确定依赖是否全部满足",
"pip-failed-mend": "查看完整信息：{python} -I -m pip check",
"import-failed-what": "import {name} 失败：{error}",
"import-failed-why": "软件栈需要它",
"import-failed-mend": "查看完整信息：{command}",
"import-without-cann-what": "import {name} 失败：没有找到 CANN 或其驱动的 {library}",
"import-without-cann-why": "它会加载 torch_npu，后者链接到 CANN 的库；LD_LIBRARY_PATH 必须包含这些库的目录",
"import-without-cann-mend": "请 source 同目录的 activate.sh 后重新运行；如果仍然失败，则 CANN 或其驱动缺少文件",
"import-untried-what": "没有测试 import {name}：本机没有 NPU，也没有 CANN 或其驱动的 {library}",
"import-untried-why": "它会加载 torch_npu，后者链接到该库",
"import-untried-mend": "请在有 NPU 的机器上运行",
"import-died-what": "import {name} 时 Python 崩溃：{error}",
"import-died-why": "软件栈需要它",
"import-died-mend": "查看完整信息：{command}",
"import-elsewhere-what": "import {name} 加载的是 {found}，它不在此环境中",
"import-elsewhere-why": "PYTHONPATH 或用户的 site-packages 优先于锁文件中的文件",
"import-elsewhere-mend": "请 unset PYTHONPATH，重新 source CANN 的 set_env.sh，并尝试 PYTHONNOUSERSITE=1",
"import-replaced-what": "import {name} 加载的是 {found}，它不属于任何锁定的软件包",
"import-replaced-why": "它与锁定的模块同名，Python 会导入它",
"import-replaced-mend": "请删除 {found}，然后重新运行 install.sh",
"start-failed-what": "{list} 执行失败：{error}",
"start-failed-why": "出错位置：{where}；锁文件中同样失败的模块和命令：{count} 个",
"start-failed-mend": "查看完整信息：{command}",
"start-died-what": "执行 {list} 时 Python 崩溃：{error}",
"start-died-why": "锁文件中同样崩溃的模块和命令：{count} 个",
"start-died-mend": "查看完整信息：{command}",
"start-late-what": "{seconds} 秒后仍未完成：{list}",
"start-late-why": "它挂起了，或本机较慢；同样耗时的模块和命令：{count} 个",
"start-late-mend": "请单独尝试：{command}；机器较慢时用 verify.py --seconds 900",
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
"label-ended": "已停止检查：其他差异都会由此引起，请先解决这一项。",
"label-as-locked": "与锁文件一致（错误：0，警告：{warnings}）",
"label-differs": "与锁文件不一致（错误：{wrong}，警告：{warnings}）"
}
}
}
"""

if __name__ == "__main__":
    sys.exit(run(LOCK, __file__, sys.argv[1:]))
