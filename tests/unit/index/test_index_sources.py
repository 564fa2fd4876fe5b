"""What direct references stand for, from real repositories on this machine."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.config.compile import compile_problems
from resolver.config.load import load
from resolver.errors import InputError
from resolver.i18n import translate
from resolver.index import repositories as repositories_module
from resolver.index.git import RepositoryUnreadable
from resolver.index.repositories import Repositories
from resolver.index.sources import with_resolved_sources
from resolver.model.message import Message, message
from resolver.model.release import Source
from tests.repositories import PROJECT, Repository

PLACE = "  at matrices/stacks/s.toml:4\n"


class Desk:
    """A stack, facts about verl, and a repository of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repository = Repository(root / "verl")
        for name in ("stacks", "facts"):
            (root / "matrices" / name).mkdir(parents=True)

    def source(self, commit: str, more: str = "", requires: str = '["numpy<2"]') -> str:
        evidence = (
            f'strength = "documented"\nsource = "demo/guide#1"\nchecked = 2026-11-20\n{more}\n'
        )
        return self.repository.fact(
            commit, evidence, version="0.6", requires=requires, build='["tool"]'
        )

    def settle(self, *revisions: str, facts: str = "", more: str = "") -> dict[str, Source]:
        """What verl at these revisions is, by revision."""
        rows = ", ".join(f"'verl @ git+{self.repository.url}@{one}{more}'" for one in revisions)
        (self.root / "matrices" / "stacks" / "s.toml").write_text(
            f'[stack]\nname = "s"\nsummary = "a test"\nrequires = [{rows}]\n\n'
            '[target]\npython = "3.11"\nplatform = "linux-aarch64"\n'
        )
        (self.root / "matrices" / "facts" / "verl.toml").write_text(facts)
        repositories = Repositories(self.root / "cache", warn=pytest.fail)
        (problem,) = with_resolved_sources(
            compile_problems(load("s", self.root / "matrices")), repositories
        )
        return {url.rpartition("@")[2]: source for url, source in problem.sources.items()}

    def error(self, *revisions: str, facts: str = "") -> str:
        with pytest.raises(InputError) as caught:
            self.settle(*revisions, facts=facts)
        return str(caught.value).replace(str(self.root), "<root>")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# --- without a fact


def test_sources_unknown_commit_asks_for_a_fact(desk: Desk) -> None:
    commit = desk.repository.commit({"setup.py": "raise SystemExit\n"}, tag="v1")
    desk.repository.git("branch", "work")
    told = desk.error("v1")
    assert told.startswith(
        f"nothing is known about `verl` at {commit[:12]}\n{PLACE}  it has no pyproject.toml\n"
    )
    fact = (
        "\n  # matrices/facts/verl.toml\n  [[sources]]\n"
        f'  git = "file://<root>/verl"\n  commit = "{commit}"\n'
    )
    assert fact in told
    assert desk.error("work").startswith(
        f"`work` is a branch, which moves\n{PLACE}hint: name the commit: "
    )
    assert desk.error("v2").startswith(
        f"the repository has no tag `v2`\n{PLACE}  file://<root>/verl\n"
    )
    absent = "0" * 40
    assert desk.error(absent).startswith(
        "the repository does not have the commit\n"
        f"{PLACE}  file://<root>/verl does not give {absent}\n"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            PROJECT.replace('version = "0.6"', 'dynamic = ["version"]'),
            "its pyproject.toml has no version",
        ),
        (PROJECT.replace('"verl"', '"other"'), "its pyproject.toml is that of other"),
        ("[build-system]\n", "its pyproject.toml has no [project] table"),
    ],
)
def test_sources_dynamic_pyproject_is_refused(desk: Desk, content: str, why: str) -> None:
    commit = desk.repository.commit({"pyproject.toml": content})
    assert desk.error(commit).startswith(
        f"nothing is known about `verl` at {commit[:12]}\n{PLACE}  {why}\n"
    )


def test_repositories_link_is_no_file(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "outside.toml").write_text(PROJECT)
    (desk.repository.folder / "pyproject.toml").symlink_to(tmp_path / "outside.toml")
    desk.repository.git("add", "--all")
    desk.repository.git("commit", "--quiet", "--message", "a link")
    assert "it has no pyproject.toml" in desk.error(desk.repository.git("rev-parse", "HEAD"))


# --- with one


def test_sources_moved_tag_and_unclear_names(desk: Desk) -> None:
    first = desk.repository.commit({"a": ""})
    second = desk.repository.commit({"b": ""}, tag="v1")
    assert desk.error("v1", facts=desk.source(first, "ref = 'v1'")).startswith(
        f"the tag `v1` is another commit than the fact `verl-sources-1` says\n{PLACE}"
        f"  file://<root>/verl has {second}, matrices/facts/verl.toml:1 has {first}\n"
    )
    both = desk.source(first, "ref = 'x'") + desk.source(second, "ref = 'x'")
    assert desk.error("x", facts=both).startswith(
        f"`x` can stand for 2 commits\n{PLACE}  {first[:12]} at matrices/facts/verl.toml:1"
        f"; {second[:12]} at matrices/facts/verl.toml:13\n"
    )
    assert desk.error(first, second, facts=both).startswith(
        f"the stack takes `verl` from two places\n{PLACE}"
    )
    parts = desk.source(first, "subdirectory = 'a'") + desk.source(first, "subdirectory = 'b'")
    assert desk.error(first, facts=parts).startswith(f"2 facts describe `verl` there\n{PLACE}")
    (source,) = desk.settle(first, facts=parts, more="#subdirectory=b").values()
    assert source.subdirectory == "b"


def test_sources_fact_is_about_its_commit_in_every_copy(desk: Desk) -> None:
    """A full hash names the same files, and the copy that the stack names is the one to fetch."""
    commit = desk.repository.commit({"a": ""}, tag="v1")
    fact = desk.source(commit, "ref = 'v1'")
    elsewhere = fact.replace(desk.repository.url, "file:///nowhere/verl")
    source = desk.settle(commit, facts=elsewhere)[commit]
    assert (source.url, str(source.version)) == (desk.repository.url, "0.6")
    # A tag may be another commit in another repository.
    unknown = desk.settle("v1", facts=elsewhere)["v1"].unknown
    assert unknown is not None
    assert unknown.code == "conflict.commit-not-static"


def test_sources_branch_with_a_fact(desk: Desk) -> None:
    commit = desk.repository.commit({"a": ""})
    desk.repository.commit({"b": ""})
    assert desk.settle("main", facts=desk.source(commit, "ref = 'main'"))["main"].commit == commit


STEPS = """\
requires-from = ["python/pyproject.toml", "requirements-npu.txt"]
steps = [
    { move = "python/other.toml", to = "python/pyproject.toml" },
    { comment = "^torch", in = "requirements-npu.txt" },
]
"""


def test_source_fact_is_compared_after_its_steps(desk: Desk) -> None:
    commit = desk.repository.commit(
        {
            "python/pyproject.toml": "not toml",
            "python/other.toml": PROJECT,
            "requirements-npu.txt": "# for NPUs\nNumPy <2\ntorch==2.7.1\n"
            "--extra-index-url https://x.test\n",
        }
    )
    right = '["numpy<2", "torch ; extra == \\"npu\\""]'
    assert desk.settle(commit, facts=desk.source(commit, STEPS, right))[commit].trust is None
    for change, why in (
        (("^torch", "^nosuch"), "no line of `requirements-npu.txt` matches `^nosuch`\n"),
        (("other.toml", "none.toml"), "the commit has no file `python/none.toml`\n"),
    ):
        assert desk.error(
            commit, facts=desk.source(commit, STEPS.replace(*change), right)
        ).startswith(f"{why}  at matrices/facts/verl.toml:1\n  file://<root>/verl@{commit}\n")
    assert desk.error(commit, facts=desk.source(commit, STEPS, '["numpy<3"]')).startswith(
        "the fact `verl-sources-1` does not match the repository\n"
        f"  at matrices/facts/verl.toml:1 and file://<root>/verl@{commit}\n"
        "  python/pyproject.toml has `numpy<2`; requirements-npu.txt has `numpy<2`; "
        "the fact has `numpy<3`\n"
    )
    assert (
        desk.settle(commit, facts=desk.source(commit, STEPS + "drop = ['NumPy']\n", "[]"))[
            commit
        ].trust
        is None
    )


def test_source_fact_must_name_included_files(desk: Desk) -> None:
    commit = desk.repository.commit({"r/npu.txt": "-r common.txt\n", "r/common.txt": "numpy<2\n"})
    assert "`-r common.txt`, but `requires-from` does not include that" in desk.error(
        commit, facts=desk.source(commit, "requires-from = ['r/npu.txt']")
    )
    both = desk.source(commit, "requires-from = ['r/npu.txt', 'r/common.txt']")
    assert desk.settle(commit, facts=both)[commit].trust is None


@pytest.mark.parametrize(
    "path", [":(glob)**", ":(glob)r.txt", ":/r.txt", "r*", ":(exclude)x", ":(attr:x)**"]
)
def test_source_fact_path_is_no_pattern(desk: Desk, path: str) -> None:
    """A pattern would match a file that is not read, and turn the comparison off."""
    commit = desk.repository.commit({"r.txt": "numpy<3\n", "a.txt": "numpy<2\n"})
    told = desk.error(commit, facts=desk.source(commit, f"requires-from = ['{path}']"))
    assert told.startswith(f"the commit has no file `{path}`\n")


def test_source_fact_file_named_like_a_pattern(desk: Desk) -> None:
    commit = desk.repository.commit({":(glob)x.txt": "numpy<2\n"})
    source = desk.source(commit, "requires-from = [':(glob)x.txt']")
    assert desk.settle(commit, facts=source)[commit].trust is None


@pytest.mark.parametrize("more", ["", "requires-from = ['setup.py']"])
def test_source_fact_without_static_files(desk: Desk, more: str) -> None:
    commit = desk.repository.commit({"setup.py": "raise SystemExit\n"})
    assert desk.settle(commit, facts=desk.source(commit, more))[commit].trust == message(
        "trust.not-compared", fact="verl-sources-1"
    )


@pytest.mark.parametrize("more", ["", "requires-from = ['setup.py']"])
def test_source_fact_about_an_absent_commit(desk: Desk, more: str) -> None:
    desk.repository.commit({"setup.py": "raise SystemExit\n"})
    lacking = "the repository does not have the commit\n  at matrices/facts/verl.toml:1\n"
    assert desk.error("0" * 40, facts=desk.source("0" * 40, more)).startswith(lacking)


# --- repositories


def test_repositories_offline_use_the_cache(desk: Desk, tmp_path: Path) -> None:
    commit = desk.repository.commit({"a": "x"})
    offline = Repositories(tmp_path / "cache", offline=True, warn=pytest.fail)
    with pytest.raises(RepositoryUnreadable, match="the network is not used"):
        offline.read(desk.repository.url, commit, "a")
    assert (
        Repositories(tmp_path / "cache", warn=pytest.fail).read(desk.repository.url, commit, "a")
        == b"x"
    )
    assert offline.read(desk.repository.url, commit, "a") == b"x"
    with pytest.raises(RepositoryUnreadable, match="the network is not used"):
        offline.resolve_ref(desk.repository.url, "v1")


def test_repositories_refetch_a_damaged_one(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = desk.repository.commit({"a": "x"})
    Repositories(tmp_path / "cache", warn=pytest.fail).read(desk.repository.url, commit, "a")
    for pack in (tmp_path / "cache" / "git").rglob("objects/*/*"):
        pack.chmod(0o644)
        pack.write_bytes(b"")
    warned: list[Message] = []
    with pytest.raises(RepositoryUnreadable):
        Repositories(tmp_path / "cache", offline=True, warn=warned.append).read(
            desk.repository.url, commit, "a"
        )
    assert (
        Repositories(tmp_path / "cache", warn=pytest.fail).read(desk.repository.url, commit, "a")
        == b"x"
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryUnreadable, match="git is not installed"):
        Repositories(tmp_path, warn=warned.append).resolve_ref(desk.repository.url, "v1")


@pytest.mark.parametrize("which", ["the folder of all", "the repository"])
@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to("../../elsewhere")], ids=["pipe", "link"]
)
def test_repositories_set_aside_what_is_none(
    desk: Desk, tmp_path: Path, which: str, make: Callable[[Path], object]
) -> None:
    commit = desk.repository.commit({"a": "x"})
    place = tmp_path / "cache" / "git"
    (tmp_path / "elsewhere" / "git").mkdir(parents=True)
    if which == "the repository":
        place = Repositories(tmp_path / "cache", warn=pytest.fail).fetched(
            desk.repository.url, commit
        )
        shutil.rmtree(place)
    place.parent.mkdir(exist_ok=True)
    make(place)
    warned: list[Message] = []
    assert (
        Repositories(tmp_path / "cache", warn=warned.append).read(desk.repository.url, commit, "a")
        == b"x"
    )
    told = {"name": place.name, "folder": str(place.parent), "aside": f"{place.name}.damaged"}
    assert [(warning.code, warning.values) for warning in warned] == [("cache.set-aside", told)]
    assert [path.name for path in (tmp_path / "elsewhere").rglob("*")] == ["git"]


def test_repositories_clear_follows_no_link(desk: Desk, tmp_path: Path) -> None:
    commit = desk.repository.commit({"a": "x"})
    Repositories(tmp_path / "other", warn=pytest.fail).read(desk.repository.url, commit, "a")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "git").symlink_to(tmp_path / "other" / "git")
    Repositories(tmp_path / "cache", warn=pytest.fail).clear()
    assert len([*(tmp_path / "other" / "git").iterdir()]) == 1


def test_repositories_absent_one(tmp_path: Path) -> None:
    """Git's last line says only that it could not read from the repository."""
    warned: list[Message] = []
    url = f"file://{tmp_path}/none"
    why = f"'{tmp_path}/none' does not appear to be a git repository"
    with pytest.raises(RepositoryUnreadable, match=f"^{why}$"):
        Repositories(tmp_path, warn=warned.append).resolve_ref(url, "v1")
    expected = message("index.repository-unread", url=url, why=why, command="")
    assert [translate(each, "en") for each in warned] == [translate(expected, "en")]


@pytest.mark.skipif(sys.platform != "linux", reason="processes are told by /proc")
def test_repositories_give_a_silent_host_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part of git that reaches the network is a process of its own."""
    monkeypatch.setattr(repositories_module, "_ASK_SECONDS", 1)
    warned: list[Message] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/demo.git"
        with pytest.raises(RepositoryUnreadable, match="no answer within 1 seconds"):
            Repositories(tmp_path, warn=warned.append).resolve_ref(url, "v1")
        server.settimeout(5)
        server.accept()[0].close()
        end = time.monotonic() + 5  # killed is not gone yet; git itself would wait for ever
        while left := [one for one in Path("/proc").glob("[0-9]*/cmdline") if url in _text(one)]:
            assert time.monotonic() < end, left
    command = f"git config --global url.https://MIRROR/.insteadOf {url.removesuffix('demo.git')}"
    told = {"url": url, "why": "no answer within 1 seconds", "command": command}
    expected = translate(message("index.repository-unread-mirror", **told), "en")
    assert [translate(each, "en") for each in warned] == [expected]
    assert "1 秒内没有应答" in translate(warned[0], "zh")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:  # it has ended
        return ""
