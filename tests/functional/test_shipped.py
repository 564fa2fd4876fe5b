"""The shipped stacks: from every source the very bytes that are committed, and in them what their
guides lead to.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.index import snapshot as snapshot_file
from resolver.index.snapshot import Snapshot
from resolver.index.store.cache import Cache
from tests.functional.workspace import (
    REPOSITORY,
    UNREACHABLE,
    Run,
    Tree,
    Workspace,
    tree,
    without_links,
)
from tests.loopback import LoopbackIndex
from tests.seeded import seed_cache

LOCKS_OF = {
    path.parent.parent.name: path for path in sorted(REPOSITORY.glob("locks/*/*/lock.toml"))
}
MATRICES = {"ASCEND_LOCK_MATRICES": str(REPOSITORY / "matrices")}
CONFLICTS = ("trl-guide", "trl-vllm-train")
LOCKS = (
    "mindspeed-rl",
    "trl-train",
    "trl-vllm-eval",
    "verl-one-step-off",
    "verl-qwen3.5-source",
    "verl-sglang",
)
PATIENCE = ("--explain-seconds", "600")  # what is found must not depend on how fast a machine is


def offline(workspace: Workspace, stack: str, status: int, *arguments: str) -> None:
    """Lock it from its snapshot, with this exit status."""
    run = workspace.lock("--offline", *arguments, stack=stack, **MATRICES)
    path = REPOSITORY / "snapshots" / f"{stack}.snapshot"
    assert (
        f"offline: using the snapshot of {snapshot_file.read(path).date} ({path})\n" in run.stderr
    )
    assert run.status == status


@pytest.fixture
def plain(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path, UNREACHABLE)


def test_the_report_of_a_conflict(plain: Workspace) -> None:
    """That of the other one is in test_wheel."""
    offline(plain, "trl-guide", 1, *PATIENCE)
    assert without_links(plain.locks / "trl-guide") == without_links(
        REPOSITORY / "locks" / "trl-guide"
    )


def test_check_knows_stacks_that_have_no_lock_but_a_report(plain: Workspace) -> None:
    run = plain.run(
        "check", "--matrices", str(REPOSITORY / "matrices"), "--locks", str(REPOSITORY / "locks")
    )
    assert run.status == 0
    for stack in CONFLICTS:
        assert re.search(
            rf"^{stack} for .*: not locked, and its report is up to date$",
            run.stdout,
            re.MULTILINE,
        )


def test_this_project_itself_is_locked_for_each_of_its_targets(plain: Workspace) -> None:
    stack = REPOSITORY / "tests" / "recorded" / "self.toml"
    run = plain.locked("--offline", stack=str(stack), **MATRICES)
    assert f"({REPOSITORY / 'snapshots' / 'self.snapshot'})" in run.stderr
    asked = map(Requirement, tomli.loads(stack.read_text(encoding="utf-8"))["stack"]["requires"])
    everywhere = {canonicalize_name(one.name) for one in asked if one.marker is None}
    locks = [
        tomli.loads(path.read_text(encoding="utf-8"))
        for path in sorted(plain.locks.glob("self/*/lock.toml"))
    ]
    assert [lock["target"]["python"] for lock in locks] == ["3.14", "3.10"]
    for lock in locks:
        assert everywhere <= {pin["name"] for pin in lock["pin"]}


@pytest.mark.parametrize("stack", LOCKS)
def test_a_committed_lock_is_what_its_snapshot_gives(plain: Workspace, stack: str) -> None:
    offline(plain, stack, 0)
    assert tree(plain.locks / stack) == tree(REPOSITORY / "locks" / stack)


def test_shipped_stack_without_operators_locks_for_a3(plain: Workspace) -> None:
    """COMPILE_CUSTOM_KERNELS alone still builds AclNN's operators, which fails in the archive; 910b
    passes it over.
    """
    for folder in ("matrices", "snapshots"):
        shutil.copytree(REPOSITORY / folder, plain.root / folder, dirs_exist_ok=True)
    stack = "verl-qwen3.5-source"
    for old, new in (("A2", "A3"), ("910b", "910c")):
        plain.edit(f"stacks/{stack}.toml", f'"{old}"', f'"{new}"')
    plain.edit(f"stacks/{stack}.toml", "soc in A2", "soc in A3")
    run = plain.run("lock", stack, "--offline")
    assert run.status == 0, run.stderr
    for folder, soc in ((plain.locks / stack, "910c"), (REPOSITORY / "locks" / stack, "910b")):
        (script,) = folder.glob("*/install.sh")
        assert f"COMPILE_CUSTOM_KERNELS=0 SOC_VERSION={soc}" in script.read_text(encoding="utf-8")


# --- what the guides lead to, in the committed folders


def content(stack: str) -> Mapping[str, Any]:
    return tomli.loads(LOCKS_OF[stack].read_text(encoding="utf-8"))


def test_sglang_lock_lacks_what_the_guide_removes() -> None:
    lock = content("verl-sglang")
    pins = {pin["name"]: pin for pin in lock["pin"]}
    assert [row["name"] for row in lock["absent"]] == ["timm", "torchvision", "triton"]
    assert not pins.keys() & {"timm", "torchvision", "triton"}
    assert "file" not in pins["torch-memory-saver"]
    (step,) = pins["torch-memory-saver"]["git"]["steps"]
    assert step["run"] == ["bash", "build.sh", "-a", "memory-saver"]


def test_plugin_is_installed_last_and_rewrites_verl() -> None:
    lock = content("mindspeed-rl")
    order = [name for stage in lock["stage"] for name in stage["pins"]]
    assert order[-3:] == ["vllm", "vllm-ascend", "verl-npu"]
    assert order.index("megatron-core") < order.index("mindspeed")
    (plugin,) = (pin for pin in lock["pin"] if pin["name"] == "verl-npu")
    assert (plugin["git"]["subdirectory"], plugin["git"]["rewrites"]) == ("verl_npu", ["verl"])
    assert [row["name"] for row in lock["absent"]] == ["triton", "triton-ascend"]


def test_lines_that_the_guide_comments_out_are_of_torch(tmp_path: Path) -> None:
    """The steps of the lock on files of the shape that vllm-ascend's have."""
    script = LOCKS_OF["mindspeed-rl"].with_name("install.sh").read_text(encoding="utf-8")
    steps = [
        line.strip().removeprefix("run ")
        for line in script.splitlines()
        if line.strip().startswith("run comment_out ")
    ]
    assert len(steps) == 2
    (tmp_path / "requirements.txt").write_text(
        "numba\n\n# torch\ntorch>=2.7.1\ntorchvision\ntorchx\n--pre\ntorch-npu==2.7.1.dev1\n"
    )
    (tmp_path / "pyproject.toml").write_text(
        'requires = [\n    "torch-npu==2.7.1.dev1",\n    "torch>=2.7.1",\n    "scipy",\n]\n'
    )
    start = script.index("comment_out() {")
    function = script[start : script.index("\n}\n", start) + 3]
    if "\nunlinked='" in script:
        start = script.index("\nunlinked='")
        function = script[start : script.index("\n'\n", start) + 3] + function
    code = (
        f"set -euo pipefail\npython=python3\nfail() {{ exit 9; }}\n{function}source={tmp_path}\n"
        + "\n".join(steps)
    )
    subprocess.run(["bash", "-c", code], check=True)
    assert (tmp_path / "requirements.txt").read_text() == (
        "numba\n\n# torch\n# torch>=2.7.1\n# torchvision\ntorchx\n--pre\n# torch-npu==2.7.1.dev1\n"
    )
    assert tomli.loads((tmp_path / "pyproject.toml").read_text()) == {"requires": ["scipy"]}


@pytest.mark.parametrize(
    ("verl", "vllm", "status"), [(True, True, 0), (False, True, 1), (True, False, 1)]
)
def test_it_stops_where_the_plugin_could_not_rewrite(
    verl: bool, vllm: bool, status: int, tmp_path: Path
) -> None:
    """The step of the lock in a checkout whose setup.py has the functions that it calls."""
    (plugin,) = (pin for pin in content("mindspeed-rl")["pin"] if pin["name"] == "verl-npu")
    (step,) = plugin["git"]["steps"]
    (tmp_path / "verl_npu").mkdir()
    (tmp_path / "verl_npu" / "setup.py").write_text(
        f"def inject_verl_plugin():\n    return {verl}\n\ndef inject_vllm_plugin():\n    return {vllm}\n"
    )
    assert (
        subprocess.run([sys.executable, *step["run"][1:]], cwd=tmp_path, check=False).returncode
        == status
    )


# --- verl-qwen3.5, the stack that the project exists for

STACK = "verl-qwen3.5"
COMMITTED = REPOSITORY / "locks" / STACK / "linux-aarch64-py311-cann8.5.0-a2"
X86_64 = COMMITTED.with_name("linux-x86_64-py311-cann8.5.0-a2")

# Huawei's and PyTorch's indexes are out of reach wherever these tests run: nothing listens behind
# this proxy. What is asked on 127.0.0.1 passes it by.
NO_WAY_OUT = {"HTTPS_PROXY": "http://127.0.0.1:9"}
HUAWEI = (
    "warning: Index `huawei` cannot be reached. "
    "Connection refused (through the proxy <server>, 2 tries). "
    "Its projects are looked up on the next index bound to them.\n"
)
PYTORCH = (
    "warning: Index `pytorch-cpu` cannot be reached. "
    "Connection refused (through the proxy <server>, 2 tries). "
    "Hashes and requirements of its files are taken from public files instead.\n"
)
OF_THE_DAY = (
    f"offline: using the snapshot of 2026-11-28 ({REPOSITORY}/snapshots/{STACK}.snapshot)\n"
)


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
def served(
    snapshot: Snapshot, archives: Path, tmp_path: Path
) -> Iterator[tuple[LoopbackIndex, Workspace]]:
    with LoopbackIndex(snapshot) as index:
        workspace = Workspace(tmp_path / "served", index)
        shutil.copytree(archives, workspace.cache)
        yield index, workspace


def lock(workspace: Workspace, *arguments: str, **environment: str) -> Run:
    matrices = str(REPOSITORY / "matrices")
    return workspace.locked(
        "--matrices", matrices, *arguments, stack=STACK, **NO_WAY_OUT, **environment
    )


def without_history(folder: Path) -> Tree:
    """The files of a lock without what they say of the lock before."""
    files = dict(tree(folder))
    lock = files["lock.toml"]
    assert lock is not None
    files["lock.toml"] = re.sub(rb"(?m)^first = true\n|^change = \[\n(?:    .*\n)*\]\n", b"", lock)
    for name, heading in (
        ("report.md", "Changes since the previous lock"),
        ("report.zh.md", "与上一版锁文件的差异"),
    ):
        report = files[name]
        assert report is not None
        files[name], sections = re.subn(
            rb"(?ms)^## " + heading.encode() + rb"\n.*?(?=^## )", b"", report
        )
        assert sections == 1
    return files


def same_as_committed(workspace: Workspace) -> None:
    """Both targets have the lock that is committed."""
    assert sorted(path.name for path in (workspace.locks / STACK).iterdir()) == [
        COMMITTED.name,
        X86_64.name,
    ]
    for folder in (COMMITTED, X86_64):
        assert without_history(workspace.locks / STACK / folder.name) == without_history(folder)


def test_over_http_it_is_the_committed_lock(served: tuple[LoopbackIndex, Workspace]) -> None:
    _, workspace = served
    assert lock(workspace).stderr == HUAWEI + PYTORCH
    same_as_committed(workspace)


def test_it_pins_what_its_guide_and_its_facts_lead_to() -> None:
    locks = [
        tomli.loads((folder / "lock.toml").read_text(encoding="utf-8"))
        for folder in (COMMITTED, X86_64)
    ]
    aarch64, x86_64 = ({pin["name"]: pin["version"] for pin in lock["pin"]} for lock in locks)
    assert {name for name in x86_64 if x86_64[name] != aarch64.get(name)} == {
        "torch",
        "torchvision",
    }
    assert (x86_64["torch"], x86_64["torchvision"]) == ("2.8.0+cpu", "0.23.0+cpu")
    expected = {
        "torch": "2.8.0",
        "torch-npu": "2.8.0.post2",
        "vllm": "0.13.0",
        "vllm-ascend": "0.13.0",
    }
    assert expected.items() <= aarch64.items()
    assert aarch64["transformers"].startswith("4.57.")
    assert not [name for name in x86_64 | aarch64 if name == "triton" or name.startswith("nvidia-")]
    for lock in locks:
        modes = {pin["name"]: pin["mode"] for pin in lock["pin"] if pin["mode"] != "wheels"}
        apart = dict.fromkeys(
            ("antlr4-python3-runtime", "arctic-inference", "pylatexenc"), "built-apart"
        )
        assert modes == {**apart, "vllm": "built-here"}


def test_lock_from_snapshot_is_the_committed_one_for_any_seed(
    workspace: Workspace,
) -> None:
    assert lock(workspace, "--offline", PYTHONHASHSEED="1").stderr == OF_THE_DAY
    same_as_committed(workspace)


# --- a stack of today, which waits for what only Huawei's index has: an index serves placeholders of it

# What an index answered whose triton-ascend was a placeholder: wheels of its name that hold the
# METADATA that setup.py of triton-ascend's release/3.2.1 would write, and nothing else.
RECORDED = REPOSITORY / "tests" / "recorded" / "todays-stacks.snapshot"
HUAWEI_INDEX = (
    'url = "https://mirrors.huaweicloud.com/ascend/repos/pypi"\n'
    'mirrors = ["https://repo.huaweicloud.com/ascend/repos/pypi"] # serves the same content\n'
)


def test_with_the_missing_release_it_locks(tmp_path: Path) -> None:
    snapshot = snapshot_file.read(RECORDED)
    with LoopbackIndex(snapshot) as index:
        workspace = Workspace(tmp_path, index)
        seed_cache(snapshot, Cache(workspace.cache, pytest.fail))
        shutil.copytree(REPOSITORY / "matrices", workspace.matrices, dirs_exist_ok=True)
        workspace.edit(
            "indexes.toml", HUAWEI_INDEX, f'url = "{index.url_of("huawei")}"\ncomplete = false\n'
        )
        target = "linux-aarch64-py312-cann9.1.0-a3"
        workspace.locked(
            "--target", target, "--as-of", "newest", stack="vllm-serve-a3"
        )  # as when it was recorded
    pins = {pin["name"]: pin for pin in workspace.content("vllm-serve-a3")["pin"]}
    expected = {
        "vllm": "0.23.0",
        "vllm-ascend": "0.23.0.post1",
        "torch": "2.10.0",
        "torch-npu": "2.10.0.post4",
    }
    assert {name: pins[name]["version"] for name in expected} == expected
    assert pins["triton-ascend"]["index"] == "huawei"
    assert not [name for name in pins if name.startswith("nvidia-")]
    built = pins["vllm-ascend"]  # compiled for the A3
    assert (built["mode"], built["env"]["SOC_VERSION"]) == ("built-here", "ascend910_9391")


def test_what_is_locked_today_is_what_its_snapshot_gives(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, UNREACHABLE)
    target = "linux-aarch64-py311-cann8.5.1-a2"
    matrices = str(REPOSITORY / "matrices")
    made, committed = (
        folder / "verl-qwen3.5-latest" / target
        for folder in (workspace.locks, REPOSITORY / "locks")
    )
    shutil.copytree(committed, made)
    workspace.locked(
        "--offline", "--target", target, stack="verl-qwen3.5-latest", ASCEND_LOCK_MATRICES=matrices
    )
    assert tree(made) == tree(committed)
