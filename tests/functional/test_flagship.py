"""verl-qwen3.5, the stack that the project exists for: from every source the very bytes that are committed.

But for what they tell of the lock before: the committed one has one, a lock in a new folder has none.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli

from resolver.index import snapshot as snapshot_file
from resolver.index.snapshot import Snapshot
from resolver.index.store.cache import Cache
from tests.functional.workspace import REPOSITORY, Run, Tree, Workspace, tree
from tests.loopback import LoopbackIndex
from tests.seeded import seed_cache

STACK = "verl-qwen3.5"
COMMITTED = REPOSITORY / "locks" / STACK / "linux-aarch64-py311-cann8.5.0-a2"
X86_64 = COMMITTED.with_name("linux-x86_64-py311-cann8.5.0-a2")

# Huawei's and PyTorch's indexes are out of reach wherever these tests run: nothing listens behind this proxy.
# What is asked on 127.0.0.1 passes it by.
NO_WAY_OUT = {"HTTPS_PROXY": "http://127.0.0.1:9"}
HUAWEI = (
    "warning: Index `huawei` cannot be reached. "
    "Connection refused (through the proxy <server>, 2 tries). "
    "Its projects are looked up on the next index bound to them.\n"
)
PYTORCH = (
    "warning: Index `pytorch-cpu` cannot be reached. "
    "Connection refused (through the proxy <server>, 2 tries). "
    "The stack's own records of its files are used instead.\n"
)
OF_THE_DAY = f"offline: using the snapshot of 2026-11-22 ({REPOSITORY}/snapshots/{STACK}.snapshot)\n"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return snapshot_file.read(REPOSITORY / "snapshots" / f"{STACK}.snapshot")


@pytest.fixture(scope="module")
def archives(snapshot: Snapshot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with what was read from source archives, which a snapshot does not hold as files."""
    folder = tmp_path_factory.mktemp("archives") / "cache"
    seed_cache(snapshot, Cache(folder, pytest.fail))
    return folder


@pytest.fixture
def served(snapshot: Snapshot, archives: Path, tmp_path: Path) -> Iterator[tuple[LoopbackIndex, Workspace]]:
    with LoopbackIndex(snapshot) as index:
        workspace = Workspace(tmp_path / "served", index.url)
        shutil.copytree(archives, workspace.cache)
        yield index, workspace


def lock(workspace: Workspace, *arguments: str, **environment: str) -> Run:
    matrices = str(REPOSITORY / "matrices")
    return workspace.locked("--matrices", matrices, *arguments, stack=STACK, **NO_WAY_OUT, **environment)


def without_history(folder: Path) -> Tree:
    """The files of a lock without what they say of the lock before."""
    files = dict(tree(folder))
    lock = files["lock.toml"]
    assert lock is not None
    files["lock.toml"] = re.sub(rb"(?m)^first = true\n|^change = \[\n(?:    .*\n)*\]\n", b"", lock)
    for name, heading in (("report.md", "Changes since the previous lock"), ("report.zh.md", "与上一版锁文件的差异")):
        report = files[name]
        assert report is not None
        files[name], sections = re.subn(rb"(?ms)^## " + heading.encode() + rb"\n.*?(?=^## )", b"", report)
        assert sections == 1
    return files


def same_as_committed(workspace: Workspace) -> None:
    """Both targets have the lock that is committed."""
    assert sorted(path.name for path in (workspace.locks / STACK).iterdir()) == [COMMITTED.name, X86_64.name]
    for folder in (COMMITTED, X86_64):
        assert without_history(workspace.locks / STACK / folder.name) == without_history(folder)


def test_over_http_and_then_from_the_cache_alone_it_is_the_committed_lock(
    served: tuple[LoopbackIndex, Workspace],
) -> None:
    index, workspace = served
    assert lock(workspace).stderr == HUAWEI + PYTORCH
    same_as_committed(workspace)
    shutil.rmtree(workspace.locks)
    index.clear()
    assert lock(workspace, "--offline").stderr == OF_THE_DAY  # the cache has nothing of an index that never answered
    assert index.requests == []
    same_as_committed(workspace)


def test_it_pins_what_its_guide_and_its_facts_lead_to(workspace: Workspace) -> None:
    aarch64, x86_64 = (target["pins"] for target in lock(workspace, "--offline", "--json").json["targets"])
    assert {name for name in x86_64 if x86_64[name] != aarch64.get(name)} == {"torch", "torchvision"}
    assert (x86_64["torch"], x86_64["torchvision"]) == ("2.8.0+cpu", "0.23.0+cpu")
    for pins in (aarch64, x86_64):
        assert len(pins) == 216
        assert not [name for name in pins if name == "triton" or name.startswith("nvidia-")]
    pins = aarch64
    expected = {
        "torch": "2.8.0",
        "torch-npu": "2.8.0.post2",
        "vllm": "0.13.0",
        "vllm-ascend": "0.13.0",
        "tensordict": "0.10.0",
        "numpy": "1.26.4",
        "triton-ascend": "3.2.0",
    }
    assert {name: pins[name] for name in expected} == expected
    assert pins["transformers"].startswith("4.57.")
    for folder in (COMMITTED, X86_64):
        content = tomli.loads((workspace.locks / STACK / folder.name / "lock.toml").read_text(encoding="utf-8"))
        modes = {pin["name"]: pin["mode"] for pin in content["pin"] if pin["mode"] != "wheels"}
        assert modes == {
            "antlr4-python3-runtime": "built-apart",
            "arctic-inference": "built-apart",
            "vllm": "built-here",
        }


def test_what_x86_64_takes_on_trust_is_told_and_nothing_else_is(workspace: Workspace) -> None:
    told = [target["warnings"] for target in lock(workspace, "--offline", "--json").json["targets"]]
    trusted = [
        [line.partition(" was taken on trust: index ")[0] for line in lines if "on trust" in line] for lines in told
    ]
    assert trusted == [[], ["torch 2.8.0+cpu", "torchvision 0.23.0+cpu", "torch 2.7.0+cpu"]]


def test_from_the_snapshot_it_is_the_committed_lock_under_another_hash_seed(workspace: Workspace) -> None:
    run = lock(workspace, "--offline", PYTHONHASHSEED="1")
    assert run.stderr == OF_THE_DAY
    same_as_committed(workspace)


def test_locking_again_changes_no_byte_and_says_so(workspace: Workspace) -> None:
    shutil.copytree(COMMITTED.parent, workspace.locks / STACK)
    run = lock(workspace, "--offline")
    for folder in (COMMITTED, X86_64):
        assert f"Nothing changed in locks/{STACK}/{folder.name}.\n" in run.stdout
    assert tree(workspace.locks / STACK) == tree(COMMITTED.parent)


# --- check


@pytest.fixture
def copied(workspace: Workspace) -> Workspace:
    """The committed inputs and lock, where a test may change them."""
    shutil.rmtree(workspace.matrices)
    shutil.copytree(REPOSITORY / "matrices", workspace.matrices)
    shutil.copytree(COMMITTED.parent, workspace.locks / STACK)
    return workspace


def check(workspace: Workspace) -> tuple[int, str, str]:
    run = workspace.run("check", STACK)
    return run.status, run.stdout, run.stderr


def told(aarch64: str, x86_64: str) -> str:
    """What is said of both targets."""
    return f"{STACK} for {COMMITTED.name}: {aarch64}\n{STACK} for {X86_64.name}: {x86_64}\n"


def test_check_passes_the_committed_lock(copied: Workspace) -> None:
    before = tree(copied.matrices), tree(copied.locks)
    assert check(copied) == (0, told("current", "current"), "")
    assert (tree(copied.matrices), tree(copied.locks)) == before, "all that it writes is its cache"
