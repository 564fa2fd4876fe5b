"""Read addresses of indexes and files, and tell which may be requested and shown.

An address here is a URL. Its origin is its scheme, host and port. The rules: only https is
requested, or http to this machine; no index may send the program to addresses of this machine
unless it is on this machine itself; and no password is shown.
"""

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
# A segment of a path that stays as it is when addresses are joined: not `..`, for example.
_SEGMENT = r"[A-Za-z0-9_+%~-][A-Za-z0-9_+%~.-]*"
# An absolute address. The groups are scheme, host, port, and a path that may end in a slash.
_PLAIN = re.compile(rf"(https?)://([a-z0-9.-]+)(?::([1-9][0-9]{{0,4}}))?((?:/{_SEGMENT})+/?)")
# A link without host. Group 1 is a slash or any number of `../`, group 2 is the path after it.
_RELATIVE = re.compile(rf"(/|(?:\.\./)*)({_SEGMENT}(?:/{_SEGMENT})*)")
# The beginning of an address up to the `@` after its credentials. Group 1 is what precedes these.
_CREDENTIALS = re.compile(r"\A(.*?://|//|)[^/?#]*@", re.DOTALL)
_UNREADABLE: Final = phrase("cannot be read")
# These end the part of an address that has the credentials and the host.
_AUTHORITY_ENDS = re.compile(r"[/?#]")
_QUERY_BEGINS = re.compile(r"[?#]")

# Stands for an address that is missing or must not be requested. It is not a valid address itself.
NOWHERE: Final = "\0"


class Origin(NamedTuple):
    """The scheme, host and port of an address."""

    scheme: str
    host: str
    # The usual port of http or https if the address states none; 0 for other schemes.
    port: int


class Root(NamedTuple):
    """The address of an index, and the credentials for it."""

    # Ends in a slash, and has no credentials.
    url: str
    # Both are empty without credentials, and not percent-encoded.
    user: str = ""
    password: str = ""

    def page(self, project: str) -> str:
        """Return the address of a project's page (PEP 503)."""
        return f"{self.url}{project}/"


def origin_of(url: str) -> Origin:
    """Return the origin of an absolute address. Raises ValueError if it has no host."""
    parts = address.split(url)
    if not parts.host:
        raise ValueError(phrase("`{url}` has no host", url=shown_address(url)))
    return Origin(parts.scheme, parts.host, parts.port or _PORTS.get(parts.scheme, 0))


def is_loopback(host: str) -> bool:
    """Return whether a host is in 127.0.0.0/8, or is ::1 or `localhost`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


@lru_cache(1024)
def is_local(host: str) -> bool:
    """Return whether a host is this machine or a link-local address, in any spelling.

    Only an index on such a host may link or redirect to such a host. Examples are 0.0.0.0, 127.1,
    0x7f000001, ::ffff:127.0.0.1, and 169.254.169.254, where cloud machines offer their secrets.
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
    """Return whether addresses of this origin may be requested: https, or http to loopback."""
    return where.scheme == "https" or (where.scheme == "http" and is_loopback(where.host))


def without_credentials(url: str) -> str:
    """Return an address without user and password, to be requested or stored.

    Messages to users contain `redaction.shown_address` instead.
    """
    return _CREDENTIALS.sub(r"\1", url, count=1)


class WrittenError(ValueError):
    """An address that a user wrote in a setting is invalid."""

    def __init__(self, why: Phrase, shown: str, hint: Phrase) -> None:
        """Give the reason as a sentence, without any part of a password."""
        super().__init__(why)
        # The address without anything that may be a password.
        self.shown = shown
        # How the user should write the address.
        self.hint = hint


def has_scheme(written: str) -> bool:
    """Return whether a text begins with a scheme and `://`."""
    return _SCHEME.match(written) is not None


def split_written(written: str) -> tuple[str, str]:
    """Return the credentials of an address in a setting, and the address without them.

    The credentials are `user:password`, still percent-encoded, or empty. A password may contain
    characters that should be escaped, so that a part of it looks like the host. Therefore all that
    is between the scheme and the last `@` is taken for secret. Raises WrittenError if the address
    is invalid; the error contains no part of the secret.
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
    """Return whether an address in a setting has a password; False if it is invalid."""
    try:
        secret, _ = split_written(written.strip())
    except WrittenError:
        return False  # reported when it is used
    password = secret.partition(":")[2]
    return bool(password)


def read_root(url: str, index: str) -> Root:
    """Return the address and credentials of an index from its address in a setting.

    `index` is the name of the index, for messages. Raises InputError if the address is invalid or
    must not be requested.
    """

    def refused(
        shown: str, why: Phrase, hint: Phrase = EMPTY, fault: Phrase = _UNREADABLE
    ) -> InputError:
        """Return the error for an address; `shown` is the part of it that may be shown."""
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
    """The base of the links on a page, split once for all links."""

    # Scheme, host and port, without a slash at the end.
    root: str
    # The address of each folder of its path, from the top one, each with a slash at the end.
    folders: tuple[str, ...]
    # Whether its host is local (`is_local`).
    is_local: bool


# Characters. A longer base is not split, since the address of each of its folders is kept.
_LONGEST_BASE = 1000


@lru_cache(64)
def _split_base(base: str) -> _Base | None:
    """Return the parts of the base of links; None if it is too complicated or too long for them."""
    plain = _PLAIN.fullmatch(base)
    if plain is None or not _is_port(plain[3]) or len(base) > _LONGEST_BASE:
        return None
    root = base.removesuffix(plain[4])
    folders = [f"{root}/"]
    for folder in plain[4].split("/")[1:-1]:
        folders.append(f"{folders[-1]}{folder}/")
    return _Base(root, tuple(folders), is_local(plain[2]))


def _is_port(written: str | None) -> bool:
    """Return whether a number is a valid port; True for an address without a port."""
    return written is None or int(written) < 1 << 16


def resolve(base: str, href: str) -> str:
    """Return the absolute address of a link on a page, without credentials.

    `base` is the address that links are relative to, `href` is the link as written. Raises
    ValueError if the link must not be followed.
    """
    # A fast path for pages with thousands of links. Its result is the same as that of `_resolved`.
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
    """Return the same as `resolve`, for every kind of link and base."""
    if not href.isprintable():
        raise ValueError(phrase("it does not print"))  # such as a line break, which urllib removes
    url = address.join(base, href)
    leads_to_this_machine = is_local(address.split(url).host)
    if leads_to_this_machine and not is_local(address.split(base).host):
        raise ValueError(phrase("it points to this machine"))
    return without_credentials(url)
