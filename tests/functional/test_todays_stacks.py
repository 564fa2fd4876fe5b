"""The stacks of today, which wait for what only Huawei's index has: locked where an index serves placeholders of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli

from resolver.index import snapshot as snapshot_file
from resolver.index.store.cache import Cache
from tests.functional.workspace import REPOSITORY, Workspace, tree
from tests.loopback import LoopbackIndex
from tests.seeded import seed_cache

# What an index answered whose triton-ascend was a placeholder: wheels of its name that hold the METADATA that setup.py
# of triton-ascend's release/3.2.1 would write, and nothing else.
RECORDED = REPOSITORY / "tests" / "recorded" / "todays-stacks.snapshot"
HUAWEI = (
    'url = "https://mirrors.huaweicloud.com/ascend/repos/pypi"\n'
    'mirrors = ["https://repo.huaweicloud.com/ascend/repos/pypi"] # serves the same content\n'
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    snapshot = snapshot_file.read(RECORDED)
    with LoopbackIndex(snapshot) as index:
        workspace = Workspace(tmp_path_factory.mktemp("today"), index.url)
        seed_cache(snapshot, Cache(workspace.cache, pytest.fail))
        shutil.rmtree(workspace.matrices)
        shutil.copytree(REPOSITORY / "matrices", workspace.matrices)
        path = workspace.matrices / "indexes.toml"
        text = path.read_text(encoding="utf-8")
        assert HUAWEI in text
        path.write_text(text.replace(HUAWEI, f'url = "{index.url_of("huawei")}"\ncomplete = false\n'), encoding="utf-8")
        yield workspace


@pytest.mark.parametrize(
    ("stack", "target", "expected"),
    [
        (
            "verl-qwen3.5-latest",
            "linux-aarch64-py312-cann9.1.0-a2",
            {"verl": "0.9.1", "vllm": "0.23.0", "vllm-ascend": "0.23.0", "transformers": "5.5.4", "numpy": "1.26.4"},
        ),
        (
            "vllm-serve-a3",
            "linux-aarch64-py312-cann9.1.0-a3",
            {"vllm": "0.23.0", "vllm-ascend": "0.23.0.post1", "torch": "2.10.0", "torch-npu": "2.10.0.post4"},
        ),
    ],
)
def test_with_the_missing_release_a_stack_locks(
    served: Workspace, stack: str, target: str, expected: dict[str, str]
) -> None:
    served.locked("--target", target, stack=stack)
    lock = tomli.loads((served.locks / stack / target / "lock.toml").read_text(encoding="utf-8"))
    pins = {pin["name"]: pin for pin in lock["pin"]}
    assert {name: pins[name]["version"] for name in expected} == expected
    assert pins["triton-ascend"]["index"] == "huawei"
    assert not [name for name in pins if name.startswith("nvidia-")]


def test_on_a3_vllm_ascend_is_compiled_for_it(served: Workspace) -> None:
    target = "linux-aarch64-py312-cann9.1.0-a3"
    served.locked("--target", target, stack="vllm-serve-a3")
    lock = tomli.loads((served.locks / "vllm-serve-a3" / target / "lock.toml").read_text(encoding="utf-8"))
    (pin,) = (pin for pin in lock["pin"] if pin["name"] == "vllm-ascend")
    assert (pin["mode"], pin["env"]["SOC_VERSION"]) == ("built-here", "ascend910_9391")


def test_what_is_locked_today_is_what_its_snapshot_gives(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "http://127.0.0.1:9/simple/")  # nothing listens there, and nobody asks
    target = "linux-aarch64-py311-cann8.5.1-a2"
    matrices = str(REPOSITORY / "matrices")
    made, committed = (folder / "verl-qwen3.5-latest" / target for folder in (workspace.locks, REPOSITORY / "locks"))
    shutil.copytree(committed, made)
    workspace.locked("--offline", "--target", target, stack="verl-qwen3.5-latest", ASCEND_LOCK_MATRICES=matrices)
    assert tree(made) == tree(committed)


@pytest.mark.parametrize(
    "path", sorted(REPOSITORY.glob("locks/*/*/lock.toml")), ids=lambda path: path.parent.parent.name
)
def test_each_file_of_a_shipped_lock_has_its_hash(path: Path) -> None:
    lock = tomli.loads(path.read_text(encoding="utf-8"))
    for pin in [*lock["pin"], *lock.get("build-pin", [])]:
        files = pin.get("file", [])
        assert files or "git" in pin, pin["name"]
        assert all(len(file["sha256"]) == 64 for file in files), pin["name"]
