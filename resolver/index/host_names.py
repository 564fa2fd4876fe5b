"""Remove host names from texts, for `recording`: a snapshot must not contain addresses."""

from __future__ import annotations

import re
from typing import Final

# Hosts of source code, whose names are kept, since none of them is an index.
_FORGES: Final = frozenset(
    {"bitbucket.org", "gitcode.com", "gitee.com", "github.com", "gitlab.com", "huggingface.co"}
)
_NO_HOST: Final = "address.invalid"  # replaces a host name; RFC 2606
_ADDRESS: Final = re.compile(
    r"://(?P<authority>(?:\[[^\s\]]*\])?[^\s/?#'\"<>()\[\]]*)(?P<rest>[^\s'\"<>]*)"
)
_HOST: Final = re.compile(
    r"(?<![\w.-])(?:[a-z0-9-]+\.)+(?:cn|com|dev|io|net|org)(?![\w.-]*\w)", re.IGNORECASE
)


def without_addresses(text: str) -> str:
    """Return prose with every host name replaced, in URLs or not, except hosts of source code."""
    return _without_hosts(without_urls(text))


def without_urls(text: str) -> str:
    """Return a text with the host of each URL replaced, except hosts of source code.

    Outside of URLs nothing is replaced, since the name of a project may look like a host:
    `zope.org`.
    """
    return _ADDRESS.sub(_without_authority, text)


def _without_authority(url: re.Match[str]) -> str:
    """Return a URL from its `://` on, with its host and the host names after it replaced."""
    return f"://{_shown_host(url['authority'])}{_without_hosts(url['rest'])}"


def _without_hosts(text: str) -> str:
    """Return a text with everything replaced that looks like a host name."""
    return _HOST.sub(lambda match: _shown_host(match[0]), text)


def _shown_host(authority: str) -> str:
    """Return the host in the authority of a URL if it is a host of source code, else _NO_HOST.

    The authority may have credentials, which are left out.
    """
    host = authority.rpartition("@")[2].lower()  # without credentials
    return host if host in _FORGES else _NO_HOST
