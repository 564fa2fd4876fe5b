"""The stacks whose guides clone repositories: what of a guide must be in the lock, read in the committed folders."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli

from resolver.report.text import one_line
from tests.functional.workspace import REPOSITORY

COMMITS = {
    "verl-one-step-off": {
        "verl": ("ccd7d934f91be98bb3732c78bd1870fa39c399ad", "0.7.0.dev0"),
        "vllm": ("b8b302cde434df8c9289a2b465406b47ebab1c2d", "0.11.0+empty"),
        "vllm-ascend": ("c5fe179cef7f91096c5090bdd3de846cab92b736", "0.11.0rc1"),
    },
    "mindspeed-rl": {
        "megatron-core": ("a845aa7e12b3a117e24c2352b9e3e60bad2e3a17", "0.12.1"),
        "mindspeed": ("1cdd0abd75e40936ad31721c092f57c695dd72c4", "0.12.1"),
        "transformers": ("8365f70e9259c21058bf18f876006f945d2a99de", "4.56.0.dev0"),
        "verl": ("796871d7d092f7cbc6a64e7f4a3796f7a2217f5e", "0.5.0.dev0"),
        "verl-npu": ("258a679dab8b42ad5fa20766fbfa8edc1c9a9f96", "0.0.1"),
        "vllm": ("38217877aa70041c0115ee367b75197af9cbc5ad", "0.10.1.dev0+g38217877a.empty"),
        "vllm-ascend": ("1de16ead8eecfec8903ec1b330b27a4fa2593c35", "0.10.0rc2.dev53+g1de16ead"),
    },
}
# As the guides install them: in the checkout, where recipes are looked for and patches are applied.
EDITABLE = {
    "verl-one-step-off": {"verl", "vllm-ascend"},
    "mindspeed-rl": {"mindspeed", "transformers", "verl", "verl-npu", "vllm"},
}
PINS = {
    "verl-one-step-off": {
        "torch": "2.7.1",
        "torch-npu": "2.7.1",
        "torchvision": "0.22.1",
        "triton-ascend": "3.2.0rc4",
        "ray": "2.53.0",  # the line numbers of the guide's traceback are this release's
        "transformers": "4.57.3",
    },
    "mindspeed-rl": {
        "torch": "2.7.1",
        "torch-npu": "2.7.1",
        "torchvision": "0.22.1",
        "numpy": "1.26.0",
        "tokenizers": "0.21.4",
    },
}
# (variable, value): whether it is optional
EXPORTS = {
    "verl-one-step-off": {
        ("HCCL_CONNECT_TIMEOUT", "7200"): False,
        ("HCCL_EXEC_TIMEOUT", "60000"): False,
        ("VLLM_ASCEND_ENABLE_NZ", "0"): False,
    },
    "mindspeed-rl": {
        ("EXPANDABLE_SEGMENTS", "True"): True,
        ("LD_PRELOAD", "/usr/local/lib/libjemalloc.so.2"): True,
    },
}
STACKS = sorted(COMMITS)


def folder(stack: str) -> Path:
    (found,) = (REPOSITORY / "locks" / stack).iterdir()
    return found


def content(stack: str) -> Mapping[str, Any]:
    return tomli.loads((folder(stack) / "lock.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("stack", STACKS)
def test_every_clone_of_the_guide_is_a_commit_in_full(stack: str) -> None:
    pins = {pin["name"]: pin for pin in content(stack)["pin"]}
    taken = {name: pin for name, pin in pins.items() if "git" in pin}
    assert {name: (pin["git"]["commit"], pin["version"]) for name, pin in taken.items()} == COMMITS[stack]
    assert {name for name, pin in taken.items() if pin["git"].get("editable")} == EDITABLE[stack]
    assert PINS[stack].items() <= {name: pin["version"] for name, pin in pins.items()}.items()


@pytest.mark.parametrize("stack", STACKS)
def test_the_environment_of_the_guide_is_in_activate_sh(stack: str) -> None:
    rows = content(stack)["export"]
    assert {(row["name"], row["value"]): row.get("optional", False) for row in rows} == EXPORTS[stack]
    text = (folder(stack) / "activate.sh").read_text(encoding="utf-8")
    for (name, value), optional in EXPORTS[stack].items():
        assert f"    {'# ' if optional else ''}export {name}={value}\n" in text
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD" not in text
    assert "VLLM_TARGET_DEVICE" not in text


@pytest.mark.parametrize("stack", STACKS)
def test_the_report_tells_the_departures_and_what_was_taken_on_trust(stack: str) -> None:
    lock, report = content(stack), (folder(stack) / "report.md").read_text(encoding="utf-8")
    assert report.count("| taken on trust |") == len(COMMITS[stack])
    written = tomli.loads((REPOSITORY / "matrices" / "stacks" / f"{stack}.toml").read_text(encoding="utf-8"))["departs"]
    assert lock["departs"] == written
    assert "## Departures from the guide" in report
    chinese = (folder(stack) / "report.zh.md").read_text(encoding="utf-8")
    assert chinese.count("| 未经核实 |") == len(COMMITS[stack])
    told = chinese.partition("## 与指南的不同之处")[2].partition("\n\n## ")[0]
    assert len([line for line in told.splitlines() if line.startswith("| ")]) == 1 + len(written)
    assert all(one_line(row["reason-zh"])[:20] in told.replace("\\", "") for row in written)


def test_the_fault_of_the_recipe_is_told_by_the_name_of_its_function_in_both_languages() -> None:
    rows = tomli.loads((REPOSITORY / "matrices" / "facts" / "verl.toml").read_text(encoding="utf-8"))["warns"]
    (row,) = (row for row in rows if row["id"] == "verl-one-step-off-policy")
    name = "`OneStepOffRayTrainer._create_weight_sync_group`"
    assert name in row["text"]
    assert name in row["text-zh"]
    assert any(name in warning for warning in content("verl-one-step-off")["warnings"])


def test_the_plugin_comes_last_and_its_own_functions_rewrite_verl() -> None:
    lock = content("mindspeed-rl")
    order = [name for stage in lock["stage"] for name in stage["pins"]]
    assert order[-3:] == ["vllm", "vllm-ascend", "verl-npu"]
    assert order.index("megatron-core") < order.index("mindspeed")
    (plugin,) = (pin for pin in lock["pin"] if pin["name"] == "verl-npu")
    assert (plugin["git"]["subdirectory"], plugin["git"]["rewrites"]) == ("verl_npu", ["verl"])
    (step,) = plugin["git"]["steps"]
    assert step["run"][:2] == ["python", "-c"]
    compile(step["run"][2], "the step", "exec")
    assert "inject_verl_plugin() and setup.inject_vllm_plugin()" in step["run"][2]
    assert [row["name"] for row in lock["absent"]] == ["triton-ascend"]


def test_the_lines_that_the_guide_comments_out_are_those_of_torch(tmp_path: Path) -> None:
    """The steps of the lock on files of the shape that vllm-ascend's have."""
    script = (folder("mindspeed-rl") / "install.sh").read_text(encoding="utf-8")
    steps = [line.removeprefix("    run ") for line in script.splitlines() if line.startswith("    run comment_out ")]
    assert len(steps) == 2
    (tmp_path / "requirements.txt").write_text(
        "numba\n\n# torch\ntorch>=2.7.1\ntorchvision\ntorchx\n--pre\ntorch-npu==2.7.1.dev1\n"
    )
    (tmp_path / "pyproject.toml").write_text(
        'requires = [\n    "torch-npu==2.7.1.dev1",\n    "torch>=2.7.1",\n    "scipy",\n]\n'
    )
    start = script.index("comment_out() {")
    function = script[start : script.index("\n}\n", start) + 3]
    code = f"set -euo pipefail\npython=python3\nfail() {{ exit 9; }}\n{function}source={tmp_path}\n" + "\n".join(steps)
    subprocess.run(["bash", "-c", code], check=True)
    assert (tmp_path / "requirements.txt").read_text() == (
        "numba\n\n# torch\n# torch>=2.7.1\n# torchvision\ntorchx\n--pre\n# torch-npu==2.7.1.dev1\n"
    )
    assert tomli.loads((tmp_path / "pyproject.toml").read_text()) == {"requires": ["scipy"]}


@pytest.mark.parametrize(("verl", "vllm", "status"), [(True, True, 0), (False, True, 1), (True, False, 1)])
def test_the_installation_stops_where_the_plugin_could_not_rewrite(
    verl: bool, vllm: bool, status: int, tmp_path: Path
) -> None:
    """The step of the lock in a checkout whose setup.py has the functions that it calls."""
    (plugin,) = (pin for pin in content("mindspeed-rl")["pin"] if pin["name"] == "verl-npu")
    (step,) = plugin["git"]["steps"]
    (tmp_path / "verl_npu").mkdir()
    (tmp_path / "verl_npu" / "setup.py").write_text(
        f"def inject_verl_plugin():\n    return {verl}\n\ndef inject_vllm_plugin():\n    return {vllm}\n"
    )
    done = subprocess.run([sys.executable, *step["run"][1:]], cwd=tmp_path, check=False)
    assert done.returncode == status
