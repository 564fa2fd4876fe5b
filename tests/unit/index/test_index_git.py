"""Repositories that cannot be read, and others on their host: real git, over ssh."""

from __future__ import annotations

import ast
import inspect
import shlex
import time
from pathlib import Path

import pytest

import resolver
from resolver.errors import InputError
from resolver.index.git import (
    NO_REPOSITORY,
    GitError,
    RepositoryUnreadable,
    files_at,
    parse_references,
    run_git,
)
from resolver.index.references import References
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


# Modules that start git by themselves, each with a repository that it names in its variables.
STARTS_GIT = {"index/git.py", "verify/checkouts.py"}


def test_every_call_of_git_names_its_repository() -> None:
    """Git would search for one, and take a folder of a proposed change for it."""
    first, *_ = inspect.signature(run_git).parameters.values()
    assert (first.name, first.default) == ("repository", inspect.Parameter.empty)
    root = Path(resolver.__file__).parent
    called, starting = 0, set()
    for path in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("run_git"):
                if path != root / "verify" / "checkouts.py":
                    # Neither `*arguments` nor a text, which would be the first argument of git.
                    assert isinstance(node.args[0], ast.Name | ast.Attribute), ast.unparse(node)
                    called += 1
            elif isinstance(node, ast.List) and ast.unparse(node).startswith("['git'"):
                starting.add(path.relative_to(root).as_posix())
    assert called > 5
    assert starting == STARTS_GIT


def bare_config(folder: Path, config: str) -> None:
    """Make a folder a bare repository, by plain files that a proposed change can add."""
    for name in ("objects", "refs/heads"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "refs/heads/main").write_text(f"{'1' * 40}\n")
    (folder / "config").write_text(config)


def test_git_reads_no_config_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `insteadOf` or `credential.helper` it would decide what is fetched, and run programs."""
    asked, other = Repository(tmp_path / "asked"), Repository(tmp_path / "other")
    commit = asked.commit({"a": "asked"}, tag="v1")
    other.commit({"a": "other"}, tag="v1")
    current = Repository(tmp_path / "project").folder / "stacks"
    bare_config(current, f'[core]\nbare = true\n[url "{other.url}"]\ninsteadOf = {asked.url}\n')
    monkeypatch.chdir(current)
    repositories = Repositories(tmp_path / "cache", warn=lambda _: None)
    assert repositories.resolve_ref(asked.url, "v1") == (commit, "")
    assert repositories.read(asked.url, commit, "a") == b"asked"
    references = References(asked.url, tmp_path / "references")
    assert references.listed()["refs/tags/v1"] == commit
    references.fetch([commit])
    shown = run_git(NO_REPOSITORY, "ls-remote", "--get-url", "--", asked.url)
    assert shown.decode() == f"{asked.url}\n"


def test_git_knows_a_bare_mirror_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, so `safe.bareRepository` lets git read it."""
    asked = Repository(tmp_path / "asked")
    commit = asked.commit({"a": "x"}, tag="v1")
    asked.git("clone", "--quiet", "--bare", ".", str(tmp_path / "mirror" / "o" / "n.git"))
    config = tmp_path / "gitconfig"
    config.write_text(f'[url "file://{tmp_path}/mirror/"]\ninsteadOf = https://git.example/\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    url = "https://git.example/o/n.git"
    for blobless in (False, True):
        repositories = Repositories(tmp_path / "cache", blobless=blobless, warn=lambda _: None)
        assert repositories.resolve_ref(url, "v1") == (commit, "")
        assert repositories.read(url, commit, "a") == b"x"


def test_files_at_runs_no_config_among_the_locks(tmp_path: Path) -> None:
    """Plain files make locks/STACK a bare repository that names a program to fetch with."""
    repository = Repository(tmp_path / "project")
    repository.commit({"locks/s/t/lock.toml": "x"})
    stack = repository.folder / "locks" / "s"
    ran = tmp_path / "ran"
    command = shlex.quote(f"touch {ran}; false")
    bare_config(
        stack,
        "[core]\nrepositoryformatversion = 1\nbare = true\n[extensions]\npartialClone = origin\n"
        '[remote "origin"]\nurl = file:///nowhere\npromisor = true\n'
        f'uploadpack = "{command}"\n',
    )
    for folder in (stack, stack / "t", stack / "gone"):
        texts = files_at("HEAD", folder, "lock.toml")
        assert texts == ({} if folder.name == "gone" else {stack / "t" / "lock.toml": "x"})
    with pytest.raises(InputError, match="there is no `1111"):
        files_at("1" * 40, stack, "lock.toml")
    assert not ran.exists()
    (repository.folder / ".git").rename(tmp_path / "git")
    with pytest.raises(InputError, match="is in no git repository"):
        files_at("HEAD", stack, "lock.toml")
    assert not ran.exists()


def test_files_at_of_any_folder_of_a_work_tree(tmp_path: Path) -> None:
    """Also of a linked one, of the whole tree, and of a linked work tree (`git worktree`)."""
    repository = Repository(tmp_path / "project")
    repository.commit({"a/b/lock.toml": "1", "ab/lock.toml": "2"})
    root = repository.folder
    repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    (tmp_path / "link").symlink_to(root / "a")
    assert files_at("HEAD", root / "a", "lock.toml") == {root / "a/b/lock.toml": "1"}
    for top in (root, tmp_path / "tree"):
        expected = {top / "a/b/lock.toml": "1", top / "ab/lock.toml": "2"}
        assert files_at("HEAD", top, "lock.toml") == expected
    link = tmp_path / "link"
    assert files_at("HEAD", link, "lock.toml") == {link / "b/lock.toml": "1"}
    assert files_at("HEAD", link / "b", "lock.toml") == {link / "b" / "lock.toml": "1"}
