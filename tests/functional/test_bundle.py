"""A bundle is whole or says what it lacks, is resumed, and installs without a network."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.builders import Built
from tests.functional.machine import execute, installed, make_environment
from tests.functional.sources import add_backend, add_source
from tests.functional.workspace import HERE, PLATFORM, Run, Workspace, tree, wait_until
from tests.loopback import LoopbackIndex, delayed, status

BIG = {"base.py": "", "base_data.txt": random.Random(0).randbytes(300_000).hex()}


@pytest.fixture
def base(workspace: Workspace, index: LoopbackIndex) -> Built:
    """A lock of one wheel of some size, and of a source archive with its build tool."""
    built = index.add_wheel("base", "1.0", files=BIG)
    add_backend(index)
    add_source(index, "apart", "1.0")
    workspace.locked_before("base", "apart", target=HERE)
    return built


BUNDLED = ("bundle.json", "SHA256SUMS", "install.sh")
FILES = {"apart-1.0.tar.gz", "base-1.0-py3-none-any.whl", "tinybuild-1.0-py3-none-any.whl"}


def bundle(workspace: Workspace, *arguments: str) -> Run:
    return workspace.run("bundle", "demo", "out", *arguments)


def distributions(workspace: Workspace) -> set[str]:
    return {
        path.name
        for path in (workspace.root / "out").iterdir()
        if path.suffix in (".whl", ".gz", ".part")
    }


def test_bundle_quotes_its_folder_in_chinese(workspace: Workspace, base: Built) -> None:
    run = workspace.run("bundle", "demo", "离线包", "--lang", "zh")
    assert "将 `离线包` 复制到目标机器，在目标机器上运行 `离线包/install.sh`。\n" in run.stdout


def test_bundle_warns_of_outdated_lock(workspace: Workspace, base: Built) -> None:
    assert "warning" not in bundle(workspace).stderr
    workspace.stack("base<2", "apart", target=HERE)
    run = bundle(workspace)
    assert run.status == 0
    assert run.stderr.count("the stack or the facts have changed since demo was locked") == 1
    assert "to lock it again: ascend-lock lock demo\n" in run.stderr


def test_bundle_offline_downloads_nothing(
    workspace: Workspace, index: LoopbackIndex, base: Built
) -> None:
    before = len(index.requests)
    run = bundle(workspace, "--offline")
    assert (run.status, run.error) == (3, "--offline downloads nothing, and files are missing: 3")
    assert "hint: ascend-lock bundle demo out\n" in run.stderr
    assert len(index.requests) == before
    assert not distributions(workspace)
    assert bundle(workspace).status == 0
    before = len(index.requests)
    (workspace.root / "out/bundle.json").unlink()
    assert bundle(workspace, "--offline").status == 0
    assert len(index.requests) == before


def test_its_script_follows_links_and_says_where_it_is_alone(
    workspace: Workspace, base: Built
) -> None:
    """It runs from a file system without executable files, too."""
    out = workspace.root / "out"
    out.mkdir()
    other = workspace.root / "other"
    other.write_text("of somebody else")
    for name in (f"{base.filename}.{base.sha256[:16]}.part", ".bundle.json.partial"):
        (out / name).symlink_to(other)
    assert bundle(workspace).status == 0
    assert (other.read_text(), distributions(workspace)) == ("of somebody else", FILES), (
        "nothing is written through"
    )
    assert not any(path.is_symlink() for path in out.rglob("*"))
    link = workspace.root / "link.sh"
    link.symlink_to(out / "install.sh")
    last = "dry run: nothing was changed"
    dry = ["--python", sys.executable, "--dry-run"]
    run = execute(workspace, [str(link), *dry])
    assert (run.status, run.stderr, run.stdout.splitlines()[-1]) == (0, "", last)
    run = execute(workspace, ["bash", "-c", "bash -s -- --dry-run < out/install.sh"])
    assert (run.status, run.stdout, run.error) == (
        1,
        "",
        "there is no locks/ folder in ., next to install.sh",
    )
    for path in out.rglob("*.sh"):
        path.chmod(0o644)
    lock = "out/locks/demo/here/install.sh"
    for words in (
        ["bash", "out/install.sh"],
        ["sh", "out/install.sh"],
        ["sh", lock, "--wheelhouse", "out"],
    ):
        run = execute(workspace, [*words, *dry])
        assert (run.status, run.stderr, run.stdout.splitlines()[-1]) == (0, "", last)


def test_a_bundle_is_whole_and_says_so(
    workspace: Workspace, index: LoopbackIndex, base: Built
) -> None:
    run = bundle(workspace)
    assert (run.status, run.stderr) == (0, "")
    assert "of demo for here; 3 files downloaded now.\n" in run.stdout
    assert distributions(workspace) == FILES
    out = workspace.root / "out"
    manifest = json.loads((out / "bundle.json").read_text())
    assert manifest["locks"][0]["folder"] == "locks/demo/here"
    rows = {row["path"]: row for row in manifest["files"]}
    assert rows[base.filename].items() >= {
        ("sha256", base.sha256),
        ("size", len(base.content)),
        ("index", "pypi"),
    }
    assert tree(out / "locks") == tree(workspace.locks)
    sums = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=out, capture_output=True)
    assert sums.returncode == 0, sums.stdout
    before = tree(out)
    index.clear()
    assert "0 files downloaded now" in bundle(workspace).stdout
    assert index.requests == [], "what is there is not asked for"
    assert tree(out) == before

    assert workspace.run("bundle", "--check", "out").status == 0
    (out / base.filename).write_bytes(bytes([base.content[0] ^ 1]) + base.content[1:])
    (out / "locks/demo/here/install.sh").unlink()
    run = workspace.run("bundle", "--check", "out")
    assert run.status == 4
    assert run.stdout.splitlines() == [
        f"{base.filename} has different content: its sha256 is not {base.sha256}",
        "locks/demo/here/install.sh is missing",
        "out is damaged: 2 faults",
    ]
    assert "1 file downloaded now" in bundle(workspace).stdout
    assert tree(out) == before

    lost = manifest["files"].pop()["path"]
    (out / "bundle.json").write_text(json.dumps(manifest))
    (out / lost).unlink()
    told = "bundle.json and SHA256SUMS do not list the same files: one of them was changed\n"
    run = workspace.run("bundle", "--check", "out")
    assert (run.status, run.stdout.startswith(told)) == (4, True)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("stack", "x\nEND\n}\ntouch pwned\nlocks() {\ncat <<'END'\n", "at `$.locks[0].stack`"),
        ("stack", "\x1b[2J", "at `$.locks[0].stack`"),
        ("target", "$(touch pwned)", "at `$.locks[0].target`"),
        ("platform", "linux-x86_64\nEND\ntouch pwned", "at `$.locks[0].platform`"),
        ("python", "3.11\nEND\ntouch pwned", "at `$.locks[0].python`"),
        ("folder", "locks/other/here", "locks/other/here"),
    ],
)
def test_bundle_refuses_a_forged_manifest_before_writing_scripts(
    workspace: Workspace, base: Built, field: str, value: str, why: str
) -> None:
    bundle(workspace)
    workspace.locked_stack("base", name="another", target=HERE)
    path = workspace.root / "out" / "bundle.json"
    manifest = json.loads(path.read_text())
    manifest["locks"][0][field] = value
    path.write_text(json.dumps(manifest))
    before = tree(workspace.root / "out")
    for code, arguments in ((2, ["another", "out"]), (4, ["--check", "out"])):
        run = workspace.run("bundle", *arguments)
        assert (run.status, run.stdout) == (code, "")
        assert run.error == "the bundle's manifest cannot be read"
        assert why in run.stderr
        assert "\x1b" not in run.stderr
    assert tree(workspace.root / "out") == before


@pytest.mark.parametrize("kind", ["files", "texts"])
@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("path", "a.whl\n" + "0" * 64 + "  /etc/passwd", "do not print"),
        ("path", "a\x9b31m\u202e.whl", "do not print"),
        ("sha256", "0" * 64 + "  a\n", "at `$.{kind}[0].sha256`"),
        ("size", -1, "at `$.{kind}[0].size`"),
    ],
)
@pytest.mark.usefixtures("base")
def test_bundle_refuses_rows_that_no_run_has_written(
    workspace: Workspace, kind: str, field: str, value: object, why: str
) -> None:
    """Each path is a line of SHA256SUMS, which is written anew with what other locks need."""
    bundle(workspace)
    workspace.locked_stack("base", name="another", target=HERE)
    path = workspace.root / "out" / "bundle.json"
    manifest = json.loads(path.read_text())
    manifest[kind][0][field] = value
    path.write_text(json.dumps(manifest))
    before = tree(workspace.root / "out")
    for code, arguments in ((2, ["another", "out"]), (4, ["--check", "out"])):
        run = workspace.run("bundle", *arguments)
        assert (run.status, run.stdout) == (code, "")
        assert run.error == "the bundle's manifest cannot be read"
        assert why.format(kind=kind) in run.stderr
        assert not {"\x9b", "\u202e"} & set(run.stderr)
        assert "\n0000" not in run.stderr
    assert tree(workspace.root / "out") == before


# --- what goes wrong on the way (how a file is gone on with: tests/unit/index/test_transfer.py)


@pytest.mark.usefixtures("base")
def test_files_that_are_gone_are_all_named(workspace: Workspace) -> None:
    workspace.index.fault("/files/*", status(404))
    run = bundle(workspace)
    assert run.status == 3
    assert run.stderr.startswith("error: 3 of 3 files could not be downloaded.")
    assert [name for name in FILES if f"{name} cannot be downloaded." not in run.stderr] == []
    assert distributions(workspace) == set()


# --- several locks, later locks


def test_bundle_shares_files_of_locks_and_names_leftovers(
    workspace: Workspace, base: Built
) -> None:
    workspace.locked_stack("base", name="other", target=HERE)
    run = workspace.run("bundle", "demo", "other", "out")
    assert "of demo for here, other for here; 3 files downloaded now." in run.stdout
    rows = {
        row["path"]: row
        for row in json.loads((workspace.root / "out" / "bundle.json").read_text())["files"]
    }
    assert rows[base.filename]["locks"] == ["locks/demo/here", "locks/other/here"]

    new = workspace.index.add_wheel("base", "2.0")
    workspace.locked("--upgrade")
    run = bundle(workspace)
    assert "1 file downloaded now" in run.stdout
    assert "--prune" not in run.stdout, (
        "the other stack, which was bundled before, needs the old file"
    )
    workspace.locked("--upgrade", stack="other")
    run = workspace.run("bundle", "other", "out")
    assert f"No lock needs {base.filename} any longer; --prune removes it\n" in run.stdout
    assert (
        f"{base.filename} belongs to no lock of the bundle\n"
        in workspace.run("bundle", "--check", "out").stdout
    )
    (workspace.root / "out" / "mine.whl").write_bytes(b"")
    assert f"Removed {base.filename}, which no lock needs\n" in bundle(workspace, "--prune").stdout
    assert distributions(workspace) == {
        new.filename,
        "apart-1.0.tar.gz",
        "tinybuild-1.0-py3-none-any.whl",
        "mine.whl",
    }
    assert not (workspace.root / "out" / "locks" / "other").exists()
    assert workspace.run("bundle", "--check", "out").status == 0


def test_bundle_leaves_out_only_the_lock_whose_files_are_gone(
    workspace: Workspace, base: Built
) -> None:
    workspace.serve("lost 1.0")
    workspace.locked_stack("base", "lost", name="other", target=HERE)
    workspace.index.remove("lost")
    both = ("bundle", "other", "demo", "out")
    assert workspace.run(*both, "--prune").status == 3
    assert not distributions(workspace), "what the lock that failed needs might be removed"
    run = workspace.run(*both)
    assert run.status == 3
    assert run.stderr.startswith(
        "other for here: error: index `pypi` no longer offers lost-1.0-py3-none-any.whl"
    )
    assert "of demo for here; 3 files downloaded now.\n" in run.stdout
    assert (
        "1 lock could not be bundled (see the errors); run the same command to try again.\n"
        in run.stdout
    )
    assert distributions(workspace) == FILES
    assert workspace.run("bundle", "--check", "out").status == 0
    workspace.serve("lost 1.0")
    run = workspace.run(*both)
    assert (run.status, run.stderr) == (0, "")
    assert "of demo for here, other for here; 1 file downloaded now.\n" in run.stdout


def test_what_cannot_be_bundled_is_said(workspace: Workspace, base: Built) -> None:
    assert bundle(workspace, "--target", "moon").error == "no stack named here has a target `moon`"
    assert workspace.run("bundle", "out").stderr.endswith("hint: ascend-lock bundle STACK out\n")
    assert workspace.run("bundle", "demo").stderr.endswith("hint: ascend-lock bundle demo DIR\n")
    assert "error: there is no bundle\n" in workspace.run("bundle", "--check", "out").stderr
    shutil.rmtree(workspace.locks)
    run = bundle(workspace)
    assert (run.status, run.stderr.splitlines()[0]) == (4, "error: demo has no lock for here")
    assert not (workspace.root / "out").exists()


# --- the network cut


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_it_installs_with_the_network_cut(
    workspace: Workspace, index: LoopbackIndex, base: Built
) -> None:
    """Run in a network namespace without routes, else with every address a closed port."""
    assert bundle(workspace).status == 0
    moved = workspace.root / "a usb stick"
    (workspace.root / "out").rename(moved)
    python = make_environment(workspace.root / "env", ensurepip=True)
    index.clear()
    command = [str(moved / "install.sh"), "--python", str(python)]
    cut = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*cut, "true"], capture_output=True, check=False).returncode == 0:
        reach = (
            f"import socket; socket.create_connection(('127.0.0.1', {urlsplit(index.url).port}), 2)"
        )
        assert execute(workspace, [*cut, sys.executable, "-c", reach]).status != 0, (
            "the index is out of reach"
        )
        command = [*cut, *command]
    closed = "http://127.0.0.1:9"
    proxies = {"HTTP_PROXY": closed, "HTTPS_PROXY": closed, "ALL_PROXY": closed, "NO_PROXY": ""}
    run = execute(workspace, command, PIP_INDEX_URL=f"{closed}/simple/", **proxies)
    assert (run.status, run.stderr) == (0, "")
    assert installed(python) == {"apart": "1.0", "base": "1.0"}

    assert index.requests == []

    next((workspace.root / "env").rglob("site-packages/base.py")).unlink()
    run = execute(workspace, [str(python), str(moved / "locks/demo/here/verify.py")])
    assert (run.status, "files of base 1.0 are missing" in run.stdout) == (1, True)
    mend = run.stdout.partition("   fix: ")[2].partition("\n")[0]
    again = "bash '<root>/a usb stick/locks/demo/here/install.sh' --python <root>/env/bin/python"
    assert (
        mend == f"<root>/env/bin/python -m pip uninstall -y base && {again} --wheelhouse '<root>/a "
        "usb stick'"
    )


def test_the_lock_for_this_machine_is_chosen(workspace: Workspace, base: Built) -> None:
    other = "linux-x86_64" if PLATFORM == "linux-aarch64" else "linux-aarch64"
    workspace.stack(
        "base", target=HERE.replace(PLATFORM, other).replace('"here"', '"there"'), name="other"
    )
    workspace.stack("base", target=HERE.replace('"here"', '"too"'), name="second")
    for stack in ("other", "second"):
        workspace.locked(stack=stack)
    assert workspace.run("bundle", "demo", "other", "out").status == 0
    script = str(workspace.root / "out" / "install.sh")
    python = sys.executable
    run = execute(workspace, [script, "--python", python, "--dry-run"])
    assert run.status == 0, run.stderr
    assert "would run: find <root>/out/ " in run.stdout
    assert '--find-links "$scratch"/files' in run.stdout
    run = execute(workspace, [script, "other/there", "--python", python])
    assert (run.status, run.error.startswith("this machine is ")) == (1, True)
    assert workspace.run("bundle", "second", "out").status == 0
    run = execute(workspace, [script, "--dry-run"])
    assert run.status == 1
    assert run.error.startswith(
        "name the lock to install: ./install.sh LOCK; this bundle has these "
    )
    assert "demo/here" in run.stderr
    assert execute(workspace, [script, "nothing"]).error == "this bundle has no lock nothing"
    run = execute(workspace, [script, "nothing"], LANG="zh_CN.UTF-8")
    assert run.stderr.startswith("错误：此离线包中没有锁文件 nothing\n")
    shellcheck = Path(sys.executable).with_name("shellcheck")
    assert execute(workspace, [str(shellcheck), script]).stdout == ""


@pytest.mark.parametrize("folder", [".", "", "locks", "locks/demo/there", "locks/new"])
def test_a_bundle_is_not_put_among_the_locks(workspace: Workspace, folder: str) -> None:
    workspace.serve("a 1.0")
    workspace.locked_stack("a")
    before = tree(workspace.root)
    run = workspace.run("bundle", "demo", folder, "--prune")
    assert (run.status, run.stderr.splitlines()[0]) == (2, "error: a bundle needs its own folder")
    assert {
        path: body for path, body in tree(workspace.root).items() if not path.startswith("cache")
    } == {path: body for path, body in before.items() if not path.startswith("cache")}


# --- folders in it that lead elsewhere


def test_prune_deletes_nothing_through_a_linked_folder(workspace: Workspace, base: Built) -> None:
    workspace.locked_stack("base", name="other", target=HERE)
    out = workspace.root / "out"
    out.mkdir()
    (out / "locks").symlink_to(workspace.locks)
    before = tree(workspace.locks)
    run = bundle(workspace, "--prune")
    assert tree(workspace.locks) == before
    assert (run.status, run.error) == (2, "the bundle could not be written")
    assert "\n  at out/locks\n" in run.stderr
    assert (out / "locks").is_symlink()


@pytest.mark.parametrize(
    "name", ["locks", "locks/demo", "locks/demo/here", "locks/demo/here/stages"]
)
def test_a_bundle_writes_nothing_through_a_linked_folder(
    workspace: Workspace, base: Built, name: str
) -> None:
    elsewhere = workspace.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "theirs.txt").write_text("of somebody else")
    link = workspace.root / "out" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    run = bundle(workspace)
    assert tree(elsewhere).keys() == {"theirs.txt"}
    assert (run.status, run.error) == (2, "the bundle could not be written")
    assert f"\n  at out/{name}\n" in run.stderr


def test_bundle_writes_through_no_hard_link(workspace: Workspace, base: Built) -> None:
    names = [f"{base.filename}.{base.sha256[:16]}.part", *(f".{name}.partial" for name in BUNDLED)]
    theirs = [workspace.root / f"theirs{number}" for number in range(len(names))]
    (workspace.root / "out").mkdir()
    for name, other in zip(names, theirs, strict=True):
        other.write_text("of somebody else")
        other.chmod(0o640)
        (workspace.root / "out" / name).hardlink_to(other)
    assert bundle(workspace).status == 0
    assert {(other.read_text(), other.stat().st_mode & 0o777) for other in theirs} == {
        ("of somebody else", 0o640)
    }
    assert not {path.name for path in (workspace.root / "out").iterdir()} & {*names}


def test_prune_removes_links_and_not_what_they_lead_to(workspace: Workspace, base: Built) -> None:
    workspace.locked_stack("base", name="other", target=HERE)
    assert workspace.run("bundle", "demo", "other", "out").status == 0
    elsewhere = workspace.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "theirs.txt").write_text("of somebody else")
    of_other = workspace.root / "out" / "locks" / "other" / "here"
    (of_other / "lock.toml").unlink()
    (of_other / "lock.toml").symlink_to(elsewhere / "theirs.txt")
    shutil.rmtree(of_other / "stages")
    (of_other / "stages").symlink_to(elsewhere)
    run = bundle(workspace, "--prune")
    assert (run.status, run.stderr) == (0, "")
    assert [path.name for path in of_other.iterdir()] == ["stages"], "no manifest names the link"
    assert tree(elsewhere).keys() == {"theirs.txt"}


@pytest.mark.parametrize("is_bundle", [False, True])
def test_prune_removes_only_what_a_manifest_named(
    workspace: Workspace, base: Built, is_bundle: bool
) -> None:
    """Whether the folder was a bundle before or somebody's own."""
    if is_bundle:
        bundle(workspace)
    theirs = {
        "locks/theirs/there/lock.toml",
        "locks/demo/here/notes.txt",
        "locks/notes.txt",
        "mine.partial",
        ".mine.whl.partial",
        f"mine.whl.{'0' * 16}.part",
    }
    for name in theirs:
        path = workspace.root / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of somebody else")
    run = bundle(workspace, "--prune")
    assert (run.status, "Removed" in run.stdout) == (0, False)
    assert [name for name in theirs if not (workspace.root / "out" / name).exists()] == []


def test_prune_removes_what_a_killed_run_announced(workspace: Workspace, base: Built) -> None:
    """Killed before anything was whole; then another lock is bundled there."""
    out = workspace.root / "out"
    theirs = out / "locks" / "demo" / "here" / "report.md"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("of somebody else")
    workspace.index.fault("/files/*/apart*", delayed(60))
    process = workspace.start("bundle", "demo", "out")
    wait_until(lambda: any("/apart-" in one.path for one in workspace.index.requests), process)
    process.kill()
    process.communicate()
    assert workspace.run("bundle", "--check", "out").error == "there is no bundle"
    left = json.loads((out / "bundle.json").read_text())["left"]
    assert {*FILES, "install.sh", "locks/demo/here/lock.toml"} < {*left}
    assert "locks/demo/here/report.md" not in left
    for name in ("apart-1.0.tar.gz", f"apart-1.0.tar.gz.{'0' * 16}.part", ".install.sh.partial"):
        (out / name).write_bytes(b"as the killed run left it")
    workspace.serve("other 1.0")
    workspace.locked_stack("other", name="another", target=HERE)
    assert workspace.run("bundle", "another", "out", "--prune").status == 0
    names = {*BUNDLED, "locks", "other-1.0-py3-none-any.whl"}
    assert {path.name for path in out.iterdir()} == names
    assert [*theirs.parent.iterdir()] == [theirs]


def test_check_tells_of_files_behind_a_link(workspace: Workspace, base: Built) -> None:
    assert bundle(workspace).status == 0
    wheel = workspace.root / "out" / base.filename
    wheel.rename(workspace.root / base.filename)
    wheel.symlink_to(workspace.root / base.filename)
    run = workspace.run("bundle", "--check", "out")
    told = [f"{base.filename} is a link, or in a linked folder: its content is not in the bundle"]
    assert (run.status, run.stdout.splitlines()[:-1]) == (4, told)
    assert "1 file downloaded now" in bundle(workspace).stdout
    assert not wheel.is_symlink()
    assert (workspace.root / base.filename).read_bytes() == base.content
