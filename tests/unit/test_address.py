"""Addresses: whatever a text holds, there is a result or an AddressError."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from resolver import address
from resolver.address import AddressError
from resolver.index.net.sendable import sendable

PIECES = [
    "https",
    ":",
    "//",
    "@",
    "[",
    "]",
    "%",
    "xn--",
    "99999",
    "..",
    "?",
    "#",
    "\\",
    "é",
    "１",
    "\x00",
    "\ud800",
    " ",
]
ADDRESSES = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=9).map("".join)


@given(ADDRESSES, ADDRESSES)
@example("https://index.example/", "javascript:alert(1)")
@example("https://xn--a.example/", "//[")
@example("https://[v1.x]/", "https://\ud800/")
@example("https://h:１２/", "https://℀.example/")
def test_address_of_any_text_is_read_or_refused(base: str, reference: str) -> None:
    for call in (address.split, sendable, lambda text: address.join(base, text)):
        with suppress(AddressError):
            call(reference)


@pytest.mark.parametrize("url", ["https://h:99999/", "https://h:x/", "https://[/"])
def test_address_that_is_invalid_has_no_parts(url: str) -> None:
    for call in (address.split, sendable):
        with pytest.raises(AddressError):
            call(url)


def test_address_parts() -> None:
    parts = address.split("HTTPS://me:pw@Index.Example:8443/simple/?token=1#end")
    assert (parts.scheme, parts.host, parts.port) == ("https", "index.example", 8443)
    assert (parts.user, parts.password, parts.query, parts.fragment) == (
        "me",
        "pw",
        "token=1",
        "end",
    )
    assert parts.without_query() == "https://me:pw@Index.Example:8443/simple/"
