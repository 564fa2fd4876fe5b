"""Addresses of indexes and files: whether they may be requested, and what of them may be shown."""

from __future__ import annotations

import ipaddress
import re
import socket
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from resolver import address
from resolver.errors import InputError
from resolver.phrase import EMPTY, Phrase, cause, phrase
from resolver.redaction import shown_address

_PORTS = {"https": 443, "http": 80}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# A segment of a path that no joining of addresses would change.
_SEGMENT = r"[A-Za-z0-9_+%~-][A-Za-z0-9_+%~.-]*"
# An address, in its parts: scheme, host, port, and a path that may end in a slash.
_PLAIN = re.compile(rf"(https?)://([a-z0-9.-]+)(?::([1-9][0-9]{{0,4}}))?((?:/{_SEGMENT})+/?)")
# A link without host: steps up or a slash, and a path.
_RELATIVE = re.compile(rf"(/|(?:\.\./)*)({_SEGMENT}(?:/{_SEGMENT})*)")
_CREDENTIALS = re.compile(r"\A(.*?://|//|)[^/?#]*@", re.DOTALL)  # after what begins an address
_UNREADABLE: Final = phrase("cannot be read")
_AUTHORITY_ENDS = re.compile(r"[/?#]")
_QUERY_BEGINS = re.compile(r"[?#]")

NOWHERE: Final = "\0"  # in place of an invalid address; never requested, as it does not print


class Origin(NamedTuple):
    """Scheme, host and port of an address."""

    scheme: str
    host: str
    # The port of the scheme if the address has none; 0 for another scheme.
    port: int


class Root(NamedTuple):
    """The address of an index, and its credentials."""

    # Ends in a slash, and has no credentials.
    url: str
    user: str = ""
    password: str = ""

    def page(self, project: str) -> str:
        """Return the address of a project's page (PEP 503)."""
        return f"{self.url}{project}/"


def origin_of(url: str) -> Origin:
    """Return the origin of an absolute address. Raises ValueError if it has none."""
    parts = address.split(url)
    if not parts.host:
        raise ValueError(phrase("`{url}` has no host", url=shown_address(url)))
    return Origin(parts.scheme, parts.host, parts.port or _PORTS.get(parts.scheme, 0))


def is_loopback(host: str) -> bool:
    """Return whether a host is 127.0.0.0/8, ::1 or localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


@lru_cache(1024)
def is_local(host: str) -> bool:
    """Return whether a host is this machine or link-local, in any spelling.

    No other index may redirect or link to it. Examples: 0.0.0.0, 127.1, 0x7f000001,
    ::ffff:127.0.0.1, and 169.254.169.254, which serves secrets of the machine.
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        number = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        try:
            number = ipaddress.IPv4Address(socket.inet_aton(name))
        except (OSError, ValueError):
            return False
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is not None:
        number = number.ipv4_mapped
    return number.is_loopback or number.is_link_local or number.is_unspecified


def is_allowed(where: Origin) -> bool:
    """Return whether an address may be requested at all: https, or http to this machine."""
    return where.scheme == "https" or (where.scheme == "http" and is_loopback(where.host))


def without_credentials(url: str) -> str:
    """Return the address without user and password, to be requested or stored.

    `shown_address` is for people.
    """
    return _CREDENTIALS.sub(r"\1", url, count=1)


class WrittenError(ValueError):
    """An address in a setting is invalid."""

    def __init__(self, why: Phrase, shown: str, hint: Phrase) -> None:
        super().__init__(why)
        # The part of the address that has no password.
        self.shown = shown
        # How to write it.
        self.hint = hint


def has_scheme(written: str) -> bool:
    """Return whether a text begins with a scheme and `://`."""
    return _SCHEME.match(written) is not None


def split_written(written: str) -> tuple[str, str]:
    """Return the user and password of an address in a setting, and the rest of it.

    A password in it may be unescaped, and part of it look like the host. So everything before the
    last `@` is taken for secret. Raises WrittenError without it.
    """
    before, mark, after_credentials = written.rpartition("@")
    scheme_match = _SCHEME.match(before)
    scheme = "" if scheme_match is None else scheme_match[0]
    secret = before[len(scheme) :]
    shown = shown_address(after_credentials)
    if mark and not scheme:
        why = phrase("It does not begin with a scheme and `://`.")
        raise WrittenError(why, f"…@{shown}", phrase("the form is https://USER:PASSWORD@HOST/PATH"))
    if _AUTHORITY_ENDS.search(secret):
        # The `@` may as well be in a query.
        has_query = _QUERY_BEGINS.search(secret) is not None
        raise WrittenError(
            phrase(
                "There is an `@` after the first `/`, `?` or `#`, so what comes before it may "
                "be a password."
            ),
            f"{scheme}…" if has_query else f"{scheme}…@{shown}",
            phrase(
                "in a user or password write `/` as %2F, `?` as %3F, `#` as %23, `@` as %40, "
                "`%` as %25; an `@` in a path as %40"
            ),
        )
    try:
        written.encode()
    except UnicodeEncodeError:
        hint = phrase("percent-encode the UTF-8 bytes of non-ASCII characters: %C3%BC")
        raise WrittenError(phrase("It is not UTF-8."), f"{scheme}{shown}", hint) from None
    return secret, scheme + after_credentials


def has_password(written: str) -> bool:
    """Return whether an address in a setting has a password."""
    try:
        secret, _ = split_written(written.strip())
    except WrittenError:
        return False  # reported when it is used
    password = secret.partition(":")[2]
    return bool(password)


def read_root(url: str, index: str) -> Root:
    """Return the root of an index as configured. Raises InputError if it must not be requested."""

    def refused(
        shown: str, why: Phrase, hint: Phrase = EMPTY, fault: Phrase = _UNREADABLE
    ) -> InputError:
        return InputError(
            phrase("The address of index `{index}` {fault}.", index=index, fault=fault),
            where=phrase("index `{index}`: {address}", index=index, address=shown),
            why=why,
            hint=hint,
        )

    try:
        secret, clean = split_written(url.strip())
    except WrittenError as error:
        raise refused(error.shown, cause(error), error.hint) from None
    shown = shown_address(clean)
    if " " in clean or not clean.isprintable():
        hint = phrase("percent-encode what belongs to it (a space is %20) and leave out the rest")
        raise refused(shown, phrase("It has a space or a character that does not print."), hint)
    try:
        parts = address.split(clean)
        origin = origin_of(clean) if parts.scheme in _PORTS else None
    except ValueError as error:
        raise refused(shown, cause(error)) from None
    if origin is None:
        hint = phrase(
            "serve a folder with `python -m http.server --bind 127.0.0.1` and use that address"
        )
        why = phrase("Only https is allowed, and plain http only to this machine.")
        raise refused(shown, why, hint, phrase("has the scheme `{scheme}`", scheme=parts.scheme))
    if not is_allowed(origin):
        why = phrase("Anyone on the network path could change pages and hashes alike.")
        raise refused(
            shown,
            why,
            phrase("use https; pip's trusted-host setting is ignored"),
            phrase("is plain http"),
        )
    user, _, password = secret.partition(":")
    return Root(parts.without_query().rstrip("/") + "/", unquote(user), unquote(password))


class _Base(NamedTuple):
    """A plain address that links are relative to, split once."""

    # Scheme, host and port.
    root: str
    # The folders of its path: the address up to each of them with a slash.
    folders: tuple[str, ...]
    # Whether it is this machine.
    is_local: bool


# Characters of an address of which each folder is kept.
_LONGEST_BASE = 1000


@lru_cache(64)
def _split_base(base: str) -> _Base | None:
    """Return the parts of a base of links; None if joining it takes more than `_Base` has."""
    plain = _PLAIN.fullmatch(base)
    if plain is None or not _is_port(plain[3]) or len(base) > _LONGEST_BASE:
        return None
    root = base.removesuffix(plain[4])
    folders = [f"{root}/"]
    for folder in plain[4].split("/")[1:-1]:
        folders.append(f"{folders[-1]}{folder}/")
    return _Base(root, tuple(folders), is_local(plain[2]))


def _is_port(written: str | None) -> bool:
    return written is None or int(written) < 1 << 16


def resolve(base: str, href: str) -> str:
    """Return the absolute address of a link on a page, without credentials.

    Raises ValueError if it must not be followed.
    """
    # Fast for thousands of links, with the result of `_resolved`.
    split_base = _split_base(base)
    if split_base is not None:
        relative = _RELATIVE.fullmatch(href)
        if relative is not None:
            begin, path = relative.groups()
            if begin == "/":
                return f"{split_base.root}/{path}"
            step = len(begin) // len("../")
            folders = split_base.folders
            return folders[max(len(folders) - 1 - step, 0)] + path
        plain = _PLAIN.fullmatch(href)
        if plain is not None and _is_port(plain[3]):
            if not is_local(plain[2]) or split_base.is_local:
                return href
            raise ValueError(phrase("it points to this machine"))
    return _resolved(base, href)


def _resolved(base: str, href: str) -> str:
    """Return what `resolve` does."""
    if not href.isprintable():
        raise ValueError(phrase("it does not print"))  # such as a line break, which urllib removes
    url = address.join(base, href)
    leads_to_this_machine = is_local(address.split(url).host)
    if leads_to_this_machine and not is_local(address.split(base).host):
        raise ValueError(phrase("it points to this machine"))
    return without_credentials(url)
