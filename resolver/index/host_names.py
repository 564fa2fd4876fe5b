"""Texts without the names of hosts, for snapshots, which have no addresses."""

from __future__ import annotations

import re
from typing import Final

# Hosts of source code, which stay, as none is an index.
_FORGES: Final = frozenset(
    {"bitbucket.org", "gitcode.com", "gitee.com", "github.com", "gitlab.com", "huggingface.co"}
)
_NO_HOST: Final = "address.invalid"  # RFC 2606
_ADDRESS: Final = re.compile(
    r"://(?P<authority>(?:\[[^\s\]]*\])?[^\s/?#'\"<>()\[\]]*)(?P<rest>[^\s'\"<>]*)"
)
_HOST: Final = re.compile(
    r"(?<![\w.-])(?:[a-z0-9-]+\.)+(?:cn|com|dev|io|net|org)(?![\w.-]*\w)", re.IGNORECASE
)


def without_addresses(text: str) -> str:
    """Return prose with host names replaced, except for hosts of source code."""
    return _without_hosts(without_urls(text))


def without_urls(text: str) -> str:
    """Return any text with the host of each URL replaced.

    Other words stay, as names of projects may look like hosts: `zope.org`.
    """
    return _ADDRESS.sub(_without_authority, text)


def _without_authority(url: re.Match[str]) -> str:
    return f"://{_shown_host(url['authority'])}{_without_hosts(url['rest'])}"


def _without_hosts(text: str) -> str:
    return _HOST.sub(lambda match: _shown_host(match[0]), text)


def _shown_host(authority: str) -> str:
    host = authority.rpartition("@")[2].lower()  # without credentials
    return host if host in _FORGES else _NO_HOST
