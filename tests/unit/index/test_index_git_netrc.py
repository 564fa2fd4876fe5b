"""To whom git tells what netrc has: real git, over TLS, with hosts that ask for a password."""

from __future__ import annotations

import shlex
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.index.git import NO_REPOSITORY, GitError, run_git
from resolver.index.git_netrc import named_entries, without_default_entry
from tests.hostile.certificates import server_context
from tests.loopback import LoopbackIndex, Response

OWN = "machine files.example login me password OWN\n"
DEFAULT = "default login anybody password SECRET\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def hosts(authority: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackIndex]:
    """Every host asks for a password. `vendor.example` redirects to two others first."""
    asking = Response(401, b"", {"WWW-Authenticate": "Basic realm=x"})
    with LoopbackIndex(tls=server_context(authority)) as index:
        index.fault("/*", lambda _: asking)
        for name in ("files", "index"):
            to = f"https://{name}.example/asking/info/refs?service=git-upload-pack"
            redirect = Response(302, b"", {"Location": to})
            index.fault(f"/to-{name}/*", lambda _, redirect=redirect: redirect)
        monkeypatch.setenv("HTTPS_PROXY", index.proxy)
        monkeypatch.setenv("GIT_SSL_CAINFO", str(authority))
        yield index


def told(hosts: LoopbackIndex, address: str) -> dict[str, list[str]]:
    """Return the hosts that git asks for a repository, each with the logins that it is told."""
    hosts.requests.clear()
    with pytest.raises(GitError):
        run_git(NO_REPOSITORY, "ls-remote", "--", f"https://{address}")
    logins: dict[str, list[str]] = {}
    for request in hosts.requests:
        of_host = logins.setdefault(request.host.partition(":")[0], [])
        if sent := request.sent.get("authorization", ""):
            of_host.append(b64decode(sent.removeprefix("Basic ")).decode())
    return logins


@pytest.mark.parametrize("netrc", [OWN + DEFAULT, DEFAULT + OWN, OWN])
def test_git_tells_no_host_the_default_entry(hosts: LoopbackIndex, home: Path, netrc: str) -> None:
    """The entry of a host is told to that host, also where another one redirects to it."""
    (home / ".netrc").write_text(netrc)
    assert told(hosts, "vendor.example/asking") == {"vendor.example": []}
    assert told(hosts, "vendor.example/to-index") == {"vendor.example": [], "index.example": []}
    to_files = told(hosts, "vendor.example/to-files")
    assert to_files == {"vendor.example": [], "files.example": ["me:OWN"]}
    assert told(hosts, "files.example/asking") == {"files.example": ["me:OWN"]}


def test_git_keeps_credential_helpers_and_settings(hosts: LoopbackIndex, home: Path) -> None:
    """All else of the home is where it was for git and for the helpers that it starts."""
    (home / ".netrc").write_text(DEFAULT)
    (home / ".gitconfig").write_text("[credential]\nhelper = store\nhelper = !~/bin/helper\n")
    (home / ".git-credentials").write_text("https://stored:one@vendor.example\n")
    (home / "bin").mkdir()
    helper = home / "bin" / "helper"
    helper.write_text('#!/bin/sh\nread x; cat "$HOME/kept/login"; echo "$1" >> "$HOME/kept/log"\n')
    helper.chmod(0o755)
    (home / "kept").mkdir()
    (home / "kept" / "login").write_text("username=kept\npassword=two\n")
    assert told(hosts, "vendor.example/asking") == {"vendor.example": ["stored:one"]}
    assert told(hosts, "index.example/asking") == {"index.example": ["kept:two"]}
    assert (home / "kept" / "log").read_text().split()[-2:] == ["get", "erase"]


def test_git_keeps_its_home_without_a_default_entry(home: Path) -> None:
    for netrc in (None, OWN):
        if netrc is not None:
            (home / ".netrc").write_text(netrc)
        with without_default_entry() as variables:
            assert variables == {}
    (home / ".netrc").write_text(f"{OWN}Default login a password b\n")
    (home / "data").mkdir()
    with without_default_entry() as variables:
        assert list(variables) == ["HOME"]
        made = Path(variables["HOME"])
        assert (made / ".netrc").read_text() == OWN
        assert (made / ".netrc").stat().st_mode & 0o777 == 0o600
        assert (made / "data").resolve() == home / "data"
    assert not made.exists()
    assert (home / "data").is_dir()


@pytest.mark.parametrize(
    ("netrc", "kept"),
    [
        ("machine a login u password p default login d password q", "a"),
        ("DEFAULT login d password q machine a login u password p", "a"),
        ('"default" login d password q\nmachine a\n  login u\n  password p\n', "a"),
        ("macdef init\ndefault\n\nmachine a login u password p\n", "a"),
        ("# default\nmachine a login u password p\n#machine b login u password p\n", "a"),
        ('machine a login u password "p \\" default x"\n', "a"),
        # curl takes these words for a default entry where it looks for another machine.
        ("machine b login default password p\nmachine a login u password p", "a"),
        ("machine b login u password default machine a login u password p", "a"),
        ("machine b port 1 default\nmachine a password p", "a"),
        ("default", ""),
        ("", ""),
    ],
)
def test_named_entries_are_those_of_machines(netrc: str, kept: str) -> None:
    entries = named_entries(netrc).splitlines()
    assert [shlex.split(entry)[1] for entry in entries] == [*kept]
    assert all(entry.startswith("machine ") for entry in entries)
