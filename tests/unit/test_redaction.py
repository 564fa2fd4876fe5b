"""What people may see of addresses."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver import redaction
from resolver.errors import ResolverError, closest
from resolver.phrase import literal, phrase
from resolver.redaction import LONGEST, is_certain, shown_address, without_secrets, without_users

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
        ("https://me:'hunter2@host.example/a", "https://host.example/a"),
        ("https://me:12?hunter2@host.example/a", "https://…"),
        ("https://me:12;hunter2@host.example/a", "https://…"),
        ("https://host.example/a;sig=hunter2", "https://host.example/a"),
        ("https://host.example/<hunter2>/a", "https://…"),
        ("https://'hunter2", "https://…"),
        ("git+https://host.example/hunter2@host.example/a", "git+https://…"),
        ("https:/me:hunter2@host.example/a", "…"),
        ("https:me:hunter2@host.example/a", "…@host.example/a"),
        ("//me:hunter2@host.example/a", "…"),
        ("me:hunter2@host.example/a", "…@host.example/a"),
        ("git+git:hunter2@host.example:o/n", "…"),
        ("git+https://me:@/hunter2@host.example", "git+https://…"),
        ("https://host.example/cut-hunter2…", "https://…"),
        ("git+ssh://git@host.example:2222/a@v1.0", "git+ssh://host.example:2222/a@v1.0"),
        ("git+https://me:12/hunter2@host.example", "git+https://…"),
        ("git+https://me/hunter2@host.example", "git+https://…"),
        ("git+https://me/hunter2@host", "git+https://…"),
        ("git+https://me:x@y/hunter2@host", "git+https://…"),
        ("git+https://me/hunt/er2@host.example", "git+https://…"),
        ("git+ssh://me/hunter2@host", "git+ssh://…"),
        ("git+https://host.example/a@v1.0", "git+https://host.example/a@v1.0"),
        ("git+https://host.example/a/b@1.0.post1", "git+https://host.example/a/b@1.0.post1"),
        ("git+https://host.example/a/b@main", "git+https://host.example/a/b@main"),
        ("git+ssh://git@host.example/a/b@main", "git+ssh://host.example/a/b@main"),
        ("git+file:///a@main", "git+file:///a@main"),
    ],
)
def test_address_is_shown_without_secrets(address: str, shown: str) -> None:
    assert shown_address(address) == shown
    assert shown_address(shown) == shown


def test_text_is_shown_without_secrets() -> None:
    text = "through http://me:hunter2@p.example:1, 4 tries); see `https://h.example/?t=hunter2`."
    shown = "through http://p.example:1, 4 tries); see `https://h.example/`."
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see `https://me:it'shunter2@h.example/a`.", "see `https://h.example/a`."),
        ("(https://h.example/a?x=`hunter2`)", "(https://h.example/a`)"),
        ("https://me:1 hunter2 x@h.example/a failed", "https://… failed"),
        ("https://me:1/a hunter2 @h.example/a failed", "https://… failed"),
        ("https://me:1\xa0hunter2@h.example/a failed", "https://h.example/a failed"),
        ("x@https://me:hunter2@h.example/a", "…"),
        ("git+git:hunter2@h.example/a is none", "…@h.example/a is none"),
        (
            "url.https://MIRROR/.insteadOf https://h.example/",
            "url.https://MIRROR/.insteadOf https://h.example/",
        ),
        ("what follows @ is none; write `@` as %40", "what follows @ is none; write `@` as %40"),
        ("/home/me@work/stack.toml:3", "/home/me@work/stack.toml:3"),
        ("/home/me/a:/b", "/home/me/a:/b"),
    ],
)
def test_text_shows_only_parsed_addresses(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


# What passwords have, and what ends an address or a quotation.
HOSTILE = st.text("'\"`<>()[]{};:,.?#@/\\%&=+-_$!~^|* \t\xa0\u2028aZ9é密", max_size=6)
SECRET = "Hunter2"


@given(
    before=HOSTILE,
    after=HOSTILE,
    scheme=st.sampled_from(
        ["https://", "git+https://", "git+ssh://", "http:/", "https:", "//", "", "x @ https://"]
    ),
    quote=st.sampled_from(["", "'", '"', "`", "<", "("]),
)
def test_text_holds_no_password(before: str, after: str, scheme: str, quote: str) -> None:
    """Whatever a password has. Without `://`, one with spaces is no address."""
    if "://" not in scheme:
        before, after = ("".join(text.split()) for text in (before, after))
    text = f"fatal: {quote}{scheme}u:{before}{SECRET}{after}@h.example/a{quote}: it failed"
    assert SECRET not in without_secrets(text)
    error = ResolverError(literal(text), where=text, why=literal(text))
    assert SECRET not in str(error) + repr(error.args) + str(error.parts())


@given(
    before=HOSTILE.map(lambda text: "".join(text.split())),
    after=HOSTILE,
    mark=st.sampled_from("?#"),
)
def test_text_holds_no_query(before: str, after: str, mark: str) -> None:
    assert SECRET not in without_secrets(
        f"see 'https://h.example/a{mark}{before}{SECRET}{after}': it failed"
    )


def test_error_holds_no_secret_of_an_address() -> None:
    secret = "https://me:hunter2@h.example/a?token=hunter2"
    error = ResolverError(
        phrase("`{name}` failed", name=secret),
        where=secret,
        why=phrase("It redirects to {address}.", address=secret),
        hint=literal("use https://U:P@H/"),
    )
    assert "hunter2" not in str(error) + repr(error.args) + str(error.parts())
    assert error.where == "https://h.example/a"
    assert error.hint == "use https://U:P@H/"


def test_digest_text_keeps_all_but_users() -> None:
    """What is made of it is in every lock."""
    assert (
        without_users('url = "https://me:hunter2@h.example/a?b#c"')
        == 'url = "https://h.example/a?b#c"'
    )


def test_certain_address_is_shown_with_host_and_path() -> None:
    assert is_certain(f"git+https://host.example:8443/a@{COMMIT}#subdirectory=b")
    assert is_certain("git+ssh://git@host.example:2222/a@main")
    assert not is_certain("git+https://hunter2/a@host.example/b")


# What a regular expression could try again and again.
PIECES = [
    *("/", "//", "//a", ":/", "a:/", "://", "a://", "https://", "a", "a+", "@", "a@", "@a", "…@"),
    *(
        "(",
        "([{<",
        ")",
        ")a",
        "'",
        "`",
        "=(",
        ".",
        "-.",
        "?",
        "#",
        ";",
        ":",
        ":1",
        "[",
        "[::",
        " a",
    ),
    *(" @", "\t", "\n", "\\", "é", "git+https://u:p@", "0123456789abcdef"),
]
PATTERNS = {name: value for name, value in vars(redaction).items() if isinstance(value, re.Pattern)}


def seconds(action: Callable[[str], object], text: str) -> float:
    """Return the time that an action takes, the least of three."""
    durations = []
    for _ in range(3):
        begin = time.process_time()
        action(text)
        durations.append(time.process_time() - begin)
    return min(durations)


def superlinear(action: Callable[[str], object]) -> list[str]:
    """Return the pieces of which a text of twice the length takes more than three times as long."""
    slow = []
    for piece in PIECES:
        text = piece * (20_000 // len(piece))
        for end in ("", "!", "\n", "a"):
            limit = 3 * seconds(action, text + end) + 0.02
            if seconds(action, text + text + end) > limit:
                slow.append(piece + end)
    return slow


@pytest.mark.parametrize("name", PATTERNS)
def test_redaction_pattern_takes_linear_time(name: str) -> None:
    pattern = PATTERNS[name]
    assert superlinear(lambda text: (pattern.search(text), pattern.fullmatch(text))) == []


def test_redaction_of_whole_text_takes_linear_time() -> None:
    """Also of a text that nothing has cut."""
    for show in (shown_address, without_users, redaction._redacted):
        assert superlinear(show) == []


def test_error_of_a_huge_text_is_made_at_once() -> None:
    for piece in PIECES:
        text = piece * (4_000_000 // len(piece))
        assert (
            seconds(
                lambda text: str(ResolverError(literal(text), where=text, why=literal(text))), text
            )
            < 0.1
        )
        assert closest(text, [text[1:]]) == ""


@given(
    length=st.integers(LONGEST - 60, LONGEST + 10),
    before=HOSTILE,
    after=HOSTILE,
    scheme=st.sampled_from(["https://", "git+https://u:", "//u:", "u:"]),
)
def test_cut_text_holds_no_password(length: int, before: str, after: str, scheme: str) -> None:
    """Wherever the cut is, it hides no `@` by which a password would be known."""
    if "://" not in scheme:
        before, after = ("".join(text.split()) for text in (before, after))
    text = "x " * (length // 2) + f"{scheme}{before}{SECRET}{after}@h.example/a " + "y " * 100
    shown = without_secrets(text)
    assert SECRET not in shown
    assert len(shown) <= LONGEST
    assert without_secrets(shown) == shown
