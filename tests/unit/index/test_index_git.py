"""Repositories that cannot be read, and others on their host: real git, over ssh."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from resolver.index.git import GitError, RepositoryUnreadable, parse_references
from resolver.index.repositories import Repositories
from resolver.model.message import Message
from tests.repositories import Repository

# In place of ssh: runs the program of git on this machine, as the host `git.example` would; others
# are not there.
SSH = """\
#!/bin/sh
host="$1"; command="$2"
echo "$host $command" >> "$SSH_LOG"
case "$host" in
*down*) echo "ssh: connect to host $host port 22: Connection timed out" >&2; exit 255 ;;
esac
case "$command" in
*private*) echo "ERROR: Repository not found." >&2; exit 1 ;;
*liar*) printf '0020ERR cannot connect: SSL down'; exit 1 ;;
esac
eval "$command"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of which each line is a call of ssh."""
    script = tmp_path / "ssh"
    script.write_text(SSH)
    script.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(script))
    monkeypatch.setenv("GIT_SSH_VARIANT", "simple")
    monkeypatch.setenv("SSH_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_parse_references_reads_names_in_any_encoding() -> None:
    """An annotated tag is an object; its commit has a line of its own."""
    listed = b"a1\trefs/heads/main\nb2\trefs/tags/v1\nc3\trefs/tags/v1^{}\nd4\trefs/tags/\xff\n"
    assert parse_references(listed) == {
        "refs/heads/main": "a1",
        "refs/tags/v1": "c3",
        "refs/tags/\ufffd": "d4",
    }


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "open")


@pytest.mark.parametrize("refused", ["private", "liar"])
@pytest.mark.parametrize("refused_first", [True, False])
def test_repositories_refused_one_leaves_its_host(
    tmp_path: Path, log: Path, repository: Repository, refused: str, refused_first: bool
) -> None:
    """It may be asked first or last, and its server may say that there is no connection."""
    commit = repository.commit({"a": "x"}, tag="v1")
    warned: list[Message] = []
    repositories = Repositories(tmp_path / "cache", warn=warned.append)
    bad, good = f"ssh://git.example{tmp_path}/{refused}", f"ssh://git.example{repository.folder}"
    found: dict[str, object] = {}
    for url in (bad, good) if refused_first else (good, bad):
        try:
            found[url] = repositories.resolve_ref(url, "v1")
        except RepositoryUnreadable as error:
            found[url] = str(error)
    assert found[good] == (commit, "")
    assert isinstance(found[bad], str)
    assert repositories.read(good, commit, "a") == b"x"
    assert [row.values["url"] for row in warned] == [bad]
    assert warned[0].code == "index.repository-unread"


def test_repositories_refused_one_is_asked_once(tmp_path: Path, log: Path) -> None:
    repositories = Repositories(tmp_path / "cache", warn=lambda _: None)
    for _ in range(3):
        with pytest.raises(RepositoryUnreadable, match="ERROR: Repository not found"):
            repositories.resolve_ref(f"ssh://git.example{tmp_path}/private", "v1")
    assert len(log.read_text().splitlines()) == 1


def test_repositories_dead_host_is_asked_once(tmp_path: Path, log: Path) -> None:
    """For whichever of its repositories, but on another port it may be another server."""
    warned: list[Message] = []
    repositories = Repositories(tmp_path / "cache", warn=warned.append)
    for name in ("a", "b"):
        with pytest.raises(RepositoryUnreadable, match="Connection timed out"):
            repositories.resolve_ref(f"ssh://down.example/{name}", "v1")
    assert [row.code for row in warned] == ["index.repository-unread-mirror"]
    assert len(log.read_text().splitlines()) == 1


def test_repositories_refused_commit_leaves_the_others(
    tmp_path: Path, log: Path, repository: Repository
) -> None:
    commit = repository.commit({"a": "x"})
    repositories = Repositories(tmp_path / "cache", warn=lambda _: None)
    url = f"ssh://git.example{repository.folder}"
    with pytest.raises(RepositoryUnreadable, match="unadvertised object"):
        repositories.read(url, "0" * 40, "a")
    assert repositories.read(url, commit, "a") == b"x"


@pytest.mark.parametrize(
    "password",
    [
        "Hunter2",
        "it'sHunter2",
        "'Hunter2",
        'x"Hunter2<',
        "a b Hunter2 c",
        "x@Hunter2",
        "1'/Hunter2",
        "'?Hunter2#",
    ],
)
@pytest.mark.parametrize("scheme", ["https", "nosuch"])
def test_git_message_shows_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str, scheme: str
) -> None:
    """Git puts the password of `insteadOf` into an address, and the address into its messages."""
    config = tmp_path / "config"
    base = f"{scheme}://u:{password}@127.0.0.1:9/".replace("\\", "\\\\").replace('"', '\\"')
    config.write_text(f'[url "{base}"]\n\tinsteadOf = https://git.example/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    warned: list[Message] = []
    repositories = Repositories(tmp_path / "cache", warn=warned.append)
    with pytest.raises(RepositoryUnreadable) as caught:
        repositories.resolve_ref("https://git.example/o/n", "v1")
    assert str(caught.value)
    assert "Hunter2" not in f"{caught.value} {warned}"


def test_message_of_git_may_have_any_length() -> None:
    """A server sends the messages that git prints."""
    begin = time.process_time()
    for piece in ("'//", "/", " ", "'@", "@", "'"):
        error = GitError("fatal: 'https://u:Hunter2 " + piece * 1_000_000)
        assert "Hunter2" not in str(error)
    assert time.process_time() - begin < 1
