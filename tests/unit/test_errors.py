"""What errors show of addresses."""

from __future__ import annotations

import pytest

from resolver.errors import ResolverError, shown_address, without_secrets, without_users

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://host.example/simple/", "https://host.example/simple/"),
        ("https://me:hunter2@host.example:8443/a?b=hunter2#hunter2", "https://host.example:8443/a"),
        ("https://hunter2@[::1]:80/a", "https://[::1]:80/a"),
        ("https://me:hunter2?x@host.example/", "https://…"),
        ("https://me:hun/ter2@host.example/", "https://…"),
        ("https://me:12/hunter2@host.example/", "https://…"),
        ("https://me/hunter2@host.example/", "https://…"),
        ("git+https://me:12/hunter2@host.example/a@v1", "git+https://…"),
        ("git+ssh://git@host.example/a@v1.0", "git+ssh://host.example/a@v1.0"),
        (f"https://host.example/a@{COMMIT}", f"https://host.example/a@{COMMIT}"),
        ("file:///home/me/a.whl", "file:///home/me/a.whl"),
        ("proxy.example:3128?token=hunter2", "proxy.example:3128"),
    ],
)
def test_address_is_shown_without_secrets(address: str, shown: str) -> None:
    assert shown_address(address) == shown
    assert shown_address(shown) == shown


def test_text_is_shown_without_secrets() -> None:
    text = "It failed (through the proxy http://me:hunter2@p.example:1, 4 tries); see `https://h.example/?t=hunter2`."
    assert (
        without_secrets(text) == "It failed (through the proxy http://p.example:1, 4 tries); see `https://h.example/`."
    )


def test_error_holds_no_secret_of_an_address() -> None:
    secret = "https://me:hunter2@h.example/a?token=hunter2"
    error = ResolverError(
        f"`{secret}` failed", where=secret, why=f"It redirects to {secret}.", hint="use https://U:P@H/"
    )
    assert "hunter2" not in str(error) + repr(error.args) + str(error.parts())
    assert error.where == "https://h.example/a"
    assert error.hint == "use https://U:P@H/"


def test_digest_text_keeps_all_but_users() -> None:
    """What is made of it is in every lock."""
    assert without_users('url = "https://me:hunter2@h.example/a?b#c"') == 'url = "https://h.example/a?b#c"'
