"""`ascend-lock import`: stacks from files of other tools, and what a stack cannot have."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import tomli
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.components import systems_text
from tests.functional.workspace import REPOSITORY, Workspace

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write(workspace: Workspace, **files: str) -> None:
    """Files of the workspace; `__` in a name is a folder's end, `_` the dot of the ending."""
    for name, text in files.items():
        path = workspace.root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def imported(workspace: Workspace, *arguments: str) -> tuple[dict[str, Any], list[str]]:
    """The stack, and what is not as in the file, without the reasons."""
    document = imported_json(workspace, "--without-plugins", *arguments)
    return tomli.loads(document["text"]), told(document)


def imported_json(workspace: Workspace, *arguments: str) -> dict[str, Any]:
    run = workspace.run("import", "--json", *arguments)
    assert run.status == 0, run
    assert run.stderr == ""
    document: dict[str, Any] = json.loads(run.stdout)
    return document


def told(document: dict[str, Any]) -> list[str]:
    lines = []
    for line in document["lines"]:
        if line["outcome"] == "changed":
            lines.append(f"{line['where']}: taken as `{line['after']}`")
        elif line["outcome"] != "kept":
            lines.append(
                f"{line['where']}: `{line['before']}`" if line["before"] else line["where"]
            )
    return lines


def test_lines_to_decide_are_comments_of_the_stack(workspace: Workspace) -> None:
    workspace.serve("a 1.0")
    text = (
        '[project]\nname = "p"\nversion = "1"\ndependencies = ["a", "ours==1.0"]\n'
        '[tool.uv.sources]\nours = {index = "inner"}\n'
        '[[tool.uv.index]]\nname = "inner"\nurl = "https://index.example/simple"\n'
    )
    write(workspace, pyproject_toml=text)
    run = workspace.run("import", "pyproject.toml", "-o", "mine.toml", "--lock", "--cann", "none")
    written = (workspace.root / "mine.toml").read_text("utf-8")
    assert "# To decide, and not in this stack so far:\n#   ours==1.0\n#     " in written, run
    assert tomli.loads(written)["stack"]["requires"] == ["a"]
    run = workspace.run("import", "pyproject.toml", "--lang", "zh")
    assert "# 有待决定、目前不在此软件栈中的行：\n#   ours==1.0\n" in run.stdout


def reasons(document: dict[str, Any]) -> dict[str, str]:
    """What became of each line that is not kept, and why, by what is shown of it."""
    return {
        line["before"] or line["after"]: f"{line['outcome']}: {line['why']}"
        for line in document["lines"]
        if line["outcome"] != "kept"
    }


# --- requirements files


def test_every_form_of_line(workspace: Workspace) -> None:
    write(
        workspace,
        requirements_txt=f"""\
# a comment
--index-url https://user:secret@example.org/simple
--extra-index-url=https://example.org/whl/cu128
-c constraints.txt
-r base/common.txt      # whose own paths are relative to it
--pre

transformers[torch]>=4.50, \\
    !=4.52.* ; python_version < "3.13"
numpy==1.26.4 \\
    --hash=sha256:{"a" * 64} \\
    --hash=sha256:{"b" * 64}
Jinja2==3.1.6 --config-settings x=y
git+https://github.com/huggingface/trl@v0.28.0#egg=trl[vllm]&subdirectory=python
verl @ git+ssh://git@github.com/volcengine/verl.git@{COMMIT} ; python_version > '3.9'
git+https://github.com/huggingface/peft@main
branchless @ git+https://github.com/huggingface/peft
token @ git+https://secret@github.com/huggingface/peft@{COMMIT}
torch @ https://example.org/torch-2.9.0-cp311-cp311-linux_x86_64.whl
./wheels/mine.whl
-e .
--editable=git+https://github.com/volcengine/recipes.git@{COMMIT}#egg=recipes
hdk >= 25.5.0
odd ; 'x' in extras
not a requirement
""",
        constraints_txt='numpy<2\ndatasets>=2 ; python_version > "3.9"\nurllib3<2\n'
        f"tqdm @ git+https://github.com/tqdm/tqdm@{COMMIT}\n",
        base__common_txt="-r more.txt\n-r more.txt\ndatasets\n",
        base__more_txt="tqdm\n",
    )
    stack, left_out = imported(workspace, "requirements.txt", "--name", "mine")
    assert stack["stack"]["requires"] == [
        "tqdm",
        "datasets",
        "transformers[torch]>=4.50, !=4.52.* ; python_version < '3.13'",
        "numpy==1.26.4",
        "Jinja2==3.1.6",
        "trl[vllm] @ git+https://github.com/huggingface/trl@v0.28.0#subdirectory=python",
        f"verl @ git+ssh://git@github.com/volcengine/verl.git@{COMMIT} ; python_version > '3.9'",
        f"recipes @ git+https://github.com/volcengine/recipes.git@{COMMIT}",
        "hdk >= 25.5.0",
        f"tqdm @ git+https://github.com/tqdm/tqdm@{COMMIT}",
    ]
    assert stack["stack"]["constraints"] == [
        "numpy<2",
        "datasets>=2 ; python_version > '3.9'",
        "urllib3<2",
    ]
    assert sorted(left_out) == [
        ": `--hash`",
        "requirements.txt:13: `--config-settings`",
        "requirements.txt:16: `git+https://github.com/huggingface/peft@main`",
        "requirements.txt:17: `branchless @ git+https://github.com/huggingface/peft`",
        f"requirements.txt:18: `token @ git+https://github.com/huggingface/peft@{COMMIT}`",
        (
            "requirements.txt:19: `torch @ "
            "https://example.org/torch-2.9.0-cp311-cp311-linux_x86_64.whl`"
        ),
        "requirements.txt:20",
        "requirements.txt:21: `-e .`",
        "requirements.txt:24: `odd ; 'x' in extras`",
        "requirements.txt:25",
        "requirements.txt:2: `--index-url https://example.org/simple`",
        "requirements.txt:3: `--extra-index-url https://example.org/whl/cu128`",
        "requirements.txt:6: `--pre`",
    ]


NUMPY = "numpy @ file:///croot/numpy_1708638617955/work/dist/numpy-1.26.4-cp311-cp311-linux_x86_64.whl#sha256=d8ad512c"
FREEZE = f"""\
# Editable install with no version control (mine==0.1)
-e /home/me/mine
accelerate==1.10.0
-e git+https://github.com/volcengine/verl.git@{COMMIT}#egg=verl
flash_attn==2.8.3
{NUMPY}
nvidia-cublas-cu12==12.8.4.1
cupy-cuda12x==13.6.0
peft @ git+https://github.com/huggingface/peft.git@{COMMIT}
torch==2.9.0+cu128
triton==3.5.0
"""

FACTS = """\
[[excludes]]
reason = "It is compiled for CUDA."
"""


def test_a_freeze_of_a_cuda_machine_is_left_without_cuda(workspace: Workspace) -> None:
    workspace.facts("flash-attn", FACTS)
    workspace.facts(
        "triton-ascend",
        '[[absent]]\nwithout = "triton"\nreason = "triton-ascend is in its place."\n',
    )
    workspace.facts(
        "torch", '[[excludes]]\nversions = "==1.0"\nreason = "This release alone is broken."\n'
    )
    write(workspace, freeze_txt=FREEZE)
    document = imported_json(workspace, "freeze.txt", "--without-plugins")
    assert tomli.loads(document["text"])["stack"]["requires"] == [
        "accelerate==1.10.0",
        f"verl @ git+https://github.com/volcengine/verl.git@{COMMIT}",
        "numpy==1.26.4",
        f"peft @ git+https://github.com/huggingface/peft.git@{COMMIT}",
        "torch==2.9.0",
    ]
    assert told(document) == [
        "freeze.txt:2: `mine==0.1`",
        "freeze.txt:5: `flash_attn==2.8.3`",
        "freeze.txt:7: `nvidia-cublas-cu12==12.8.4.1`",
        "freeze.txt:8: `cupy-cuda12x==13.6.0`",
        "freeze.txt:11: `triton==3.5.0`",
        "freeze.txt:6: taken as `numpy==1.26.4`",
        "freeze.txt:10: taken as `torch==2.9.0`",
    ]
    assert reasons(document)["flash_attn==2.8.3"] == "left-out: It is compiled for CUDA."
    assert reasons(document)["triton==3.5.0"] == "left-out: triton-ascend is in its place."
    # the facts that ship say as much
    write(
        workspace,
        freeze_txt="flash-attn==2.8.3\ntorch-memory-saver==0.0.9\ntriton==3.5.0\n"
        "tensordict==0.9.0\n",
    )
    stack, left_out = imported(workspace, "freeze.txt", "--matrices", str(REPOSITORY / "matrices"))
    # verl-sglang, which ships as well, takes torch-memory-saver from a commit.
    assert stack["stack"]["requires"] == ["torch-memory-saver==0.0.9", "tensordict==0.9.0"]
    assert len(left_out) == 2


def test_import_leaves_out_what_components_bring(workspace: Workspace) -> None:
    write(workspace, freeze_txt="te==0.4.0\nauto_tune==0.1.0\nops_tool==1\nsix==1.16\n")
    systems = workspace.matrices / "systems.toml"
    text = systems.read_text(encoding="utf-8")
    # a component that the target does not state
    text += '\n\n[component.board]\nsummary = "s"\npackages = ["ops-tool"]\n'
    systems.write_text(text, encoding="utf-8")
    document = imported_json(workspace, "freeze.txt")
    assert tomli.loads(document["text"])["stack"]["requires"] == ["ops_tool==1", "six==1.16"]
    why = "left-out: it comes with CANN; the project of this name on an index is something else"
    assert reasons(document) == {"te==0.4.0": why, "auto_tune==0.1.0": why}


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("torch_npu @ file:///data/torch_npu-2.7.1-cp311-cp311-linux_aarch64.whl", True),
        ("torch_npu@file:///a%20b@2/torch_npu-2.7.1%2Bcpu-cp311-cp311-any.whl#sha256=aa", True),
        ("/data/torch_npu-2.7.1-cp311-cp311-linux_aarch64.whl ; os_name == 'posix'", True),
        ("torch_npu-2.7.1-cp311-cp311-manylinux_2_28_aarch64.whl", True),
        ("torch_npu-2.7.1+cpu-cp311-cp311-any.whl --hash=sha256:aa", True),
        ("wheels/torch_npu-2.7.1-cp311-cp311-any.whl ; os_name == 'posix'", True),
        ("torch_npu.whl", False),
        ("other @ file:///data/torch_npu-2.7.1-cp311-cp311-linux_aarch64.whl", False),
        ("torch_npu @ file:///data/torch_npu-2.7.1.tar.gz", False),
        ("torch_npu @ https://h.example/torch_npu-2.7.1-cp311-cp311-any.whl", False),
    ],
)
def test_import_takes_version_of_wheel_name(workspace: Workspace, line: str, taken: bool) -> None:
    write(workspace, freeze_txt=f"six\n{line}\n")
    stack, _ = imported(workspace, "freeze.txt")
    plain = [text.split(" ;")[0].replace("_", "-") for text in stack["stack"]["requires"]]
    assert plain == (["six", "torch-npu==2.7.1"] if taken else ["six"])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "https://h.example/a%20b/torch_npu-2.8.0.post2-cp311-cp311-any.whl?x=1",
            (
                "to-decide: a stack cannot name an address; if an index has this release, "
                "write `torch-npu==2.8.0.post2` in the stack"
            ),
        ),
        (
            "torch_npu @ https://h.example/torch_npu-2.7.1%2Bcpu-cp311-cp311-any.whl",
            (
                "to-decide: a stack cannot name an address; if an index has this release, "
                "write `torch_npu==2.7.1` in the stack"
            ),
        ),
        (
            "https://h.example/demo_cu124-1-py3-none-any.whl",
            (
                "to-decide: a stack cannot name an address; if an index has this release, "
                "write `demo-cu124==1` in the stack"
            ),
        ),
        (
            "demo @ https://h.example/demo.tar.gz",
            (
                "to-decide: a stack cannot name a file, a folder or an address, only releases and "
                "git commits"
            ),
        ),
    ],
)
def test_import_offers_release_of_wheel_address(workspace: Workspace, line: str, why: str) -> None:
    write(workspace, freeze_txt=f"six\n{line}\n")
    assert list(reasons(imported_json(workspace, "freeze.txt")).values()) == [why]


PIP_LIST = """\
Package    Version      Editable project location
---------- ------------ -------------------------
demo       0.1          /home/me/demo
numpy      1.26.4
pip        25.3
torch      2.8.0+cpu

[notice] A new release of pip is available
"""


def test_import_reads_table_of_pip_list(workspace: Workspace) -> None:
    write(workspace, list_txt=PIP_LIST, freeze_txt="numpy==1.26.4\ntorch==2.8.0\n")
    stack, changes = imported(workspace, "list.txt")
    assert stack["stack"]["requires"] == ["numpy==1.26.4", "torch==2.8.0"]
    assert changes == [
        "list.txt:3: `demo==0.1`",
        "list.txt:5: `pip==25.3`",
        "list.txt:8",
        "list.txt:6: taken as `torch==2.8.0`",
    ]
    write(workspace, list_txt="Package Version\n------- -------\nsix     1.16\n")
    stack, changes = imported(workspace, "list.txt")
    assert (stack["stack"]["requires"], changes) == (["six==1.16"], [])
    write(
        workspace,
        list_txt="Package Version Location  Installer\n------- ------- --------- ---------\n"
        "six     1.16    /opt/x    pip\n",
    )
    assert imported(workspace, "list.txt")[0]["stack"]["requires"] == ["six==1.16"]


def test_import_says_how_many_lines_are_to_decide(workspace: Workspace) -> None:
    write(workspace, reqs_txt="six==1.16\n-e .\nhttps://host.example/x.zip\n")
    run = workspace.run("import", "reqs.txt", "-o", "my.toml")
    assert run.stdout.splitlines()[-2:] == [
        "2 lines are to decide, and are not in my.toml: see above",
        "Written to my.toml: 1 line. Next: ascend-lock lock my.toml",
    ]


def test_what_is_written_locks(workspace: Workspace) -> None:
    workspace.serve("torch 2.9.0", "torch-npu 2.9.0: torch==2.9.0", "six 1.16 1.17")
    workspace.facts("torch-npu", "")
    write(workspace, reqs_txt="torch==2.9.0+cu128\nsix<1.17\n")
    run = workspace.run(
        "import", "reqs.txt", "-o", "my.toml", "--soc", "A3", "--platform", "linux-x86_64"
    )
    lines = [" ".join(line.split()) for line in run.stdout.splitlines()]
    assert lines[:2] == ["Result Line Why Where", "kept 1 line unchanged"]
    assert lines[2].startswith("changed torch==2.9.0+cu128 → torch==2.9.0 +cu128 is a CUDA build")
    assert lines[2].endswith(" reqs.txt:1")
    assert lines[4].startswith("added torch-npu torch needs it to run on NPUs")
    assert lines[-1] == "Written to my.toml: 3 lines. Next: ascend-lock lock my.toml"
    written = workspace.root / "my.toml"
    assert written.read_text() == (
        "# What reqs.txt asks for, as `ascend-lock import` took it over.\n"
        "# The target is an assumption where no option named it: check it.\n\n"
        '[stack]\nname = "my"\nsummary = "What reqs.txt asks for"\n'
        'summary-zh = "reqs.txt 所要求的软件包"\n'
        'requires = [\n    "torch==2.9.0",\n    "six<1.17",\n    "torch-npu",\n]\n\n'
        '[target]\npython = "3.11"\nplatform = "linux-x86_64"\nglibc = "2.35"\n\n'
        '[target.system]\ncann = "8.5.1"\nsoc = "A3"\n'
    )
    assert workspace.run("lock", "my.toml").status == 0
    assert workspace.pins("my") == {"torch": "2.9.0", "torch-npu": "2.9.0", "six": "1.16"}
    before = written.read_bytes()
    workspace.refused(
        "`my.toml` already exists; nothing was written", "import", "reqs.txt", "-o", "my.toml"
    )
    assert written.read_bytes() == before


def test_import_locks_what_it_writes(workspace: Workspace) -> None:
    workspace.serve(
        "torch 2.9.0", "torch-npu 2.9.0: torch==2.9.0", "six 1.16 1.17", "a 1: six<1.17"
    )
    workspace.facts("torch-npu", "")
    write(workspace, good_txt="torch==2.9.0\n", bad_txt="six==1.17\na\n")
    run = workspace.run("import", "good.txt", "-o", "good.toml", "--lock")
    assert run.status == 0
    assert "Written to good.toml: 2 lines.\n" in run.stdout
    assert workspace.pins("good") == {"torch": "2.9.0", "torch-npu": "2.9.0"}
    run = workspace.run("import", "bad.txt", "-o", "bad.toml", "--lock")
    assert run.status == 1
    assert "  A  ask for six==1.16 instead of six==1.17" in run.stderr
    assert run.stderr.endswith(
        "\nhint: ascend-lock add bad.toml --apply A also applies way out A, and then locks\n"
    )
    assert workspace.run("add", "bad.toml", "--apply", "A").status == 0
    assert workspace.pins("bad") == {"a": "1", "six": "1.16"}
    run = workspace.run("import", "bad.txt", "-o", "json.toml", "--lock", "--json")
    assert run.status == 1
    assert [target["status"] for target in json.loads(run.stdout)["targets"]] == ["conflict"]
    workspace.refused("only a stack in a file can be locked", "import", "bad.txt", "--lock")


def test_import_locks_nothing_with_unread(workspace: Workspace) -> None:
    workspace.serve("requests 2.31 2.32", "httpx 1")
    write(workspace, s_txt="requests=2.31\nhttpx\n", t_txt="httpx\nrequests=2.31\npass=word\n")
    run = workspace.run("import", "s.txt", "-o", "s.toml", "--lock")
    assert run.status == 2
    assert "requests=2.31" in run.stdout
    assert "did you mean `requests==2.31`?" in " ".join(run.stdout.split())
    assert run.stderr.endswith(
        "error: nothing was locked, since lines could not be read\n  at s.txt:1\n"
        "hint: ascend-lock add s.toml requests==2.31 adds them and locks; without them: "
        "ascend-lock lock s.toml\n"
    )
    assert not workspace.locks.exists()
    assert workspace.run("add", "s.toml", "requests==2.31").status == 0
    assert workspace.pins("s") == {"requests": "2.31", "httpx": "1"}
    run = workspace.run("import", "t.txt", "-o", "t.toml", "--lock", "--json")
    assert run.status == 2
    (result,) = run.json["targets"]
    assert result["status"] == "error"
    assert result["where"] == "t.txt:2, 3"
    assert result["hint"].startswith("write what they mean into t.toml")
    assert "pass" not in run.stdout + run.stderr
    assert not (workspace.locks / "t").exists()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("transformers=4.51.3", "transformers=4.51.3"),
        ("torch = 2.9.0rc1", "torch = 2.9.0rc1"),
        ("token=1234567", ""),
        ("token=1.0+hunter2", ""),
        ("token=hunter2.0", ""),
        ("a=1.0=2", ""),
        ("a=1.0 b", ""),
        (f"{'a' * 65}=1.0", ""),
    ],
)
def test_import_shows_only_mistyped_pins(workspace: Workspace, line: str, shown: str) -> None:
    write(workspace, r_txt=f"six\n{line}\n")
    rows = imported_json(workspace, "r.txt")["lines"]
    (unread,) = [row for row in rows if row["outcome"] == "to-decide"]
    assert unread["before"] == shown


def test_import_adds_plugins(workspace: Workspace) -> None:
    write(workspace, r_txt="torch>=2.7\nvllm\n", paired_txt="torch\ntorch_npu==2.8.0\n")
    write(workspace, extra_txt="trl[vllm]\n")
    requires = tomli.loads(imported_json(workspace, "r.txt")["text"])["stack"]["requires"]
    assert requires == ["torch>=2.7", "vllm", "torch-npu", "vllm-ascend"]
    assert imported(workspace, "r.txt")[0]["stack"]["requires"] == ["torch>=2.7", "vllm"]
    without = workspace.run("import", "r.txt", "-o", "my.toml", "--without-plugins").stdout
    assert "ascend-lock add my.toml torch-npu vllm-ascend\n" in without
    requires = tomli.loads(imported_json(workspace, "paired.txt")["text"])["stack"]["requires"]
    assert requires == ["torch", "torch_npu==2.8.0"]
    requires = tomli.loads(imported_json(workspace, "extra.txt")["text"])["stack"]["requires"]
    assert requires == ["trl[vllm]", "vllm-ascend"]


def test_import_for_machine_without_npu(workspace: Workspace) -> None:
    write(workspace, r_txt="torch>=2.7\nvllm\n")
    without = ("--cann", "none", "--soc", "None", "--hdk", "none")
    stack = tomli.loads(imported_json(workspace, "r.txt", *without)["text"])
    assert stack["stack"]["requires"] == ["torch>=2.7", "vllm"]
    assert "system" not in stack["target"]
    assert "add my.toml" not in workspace.run("import", "r.txt", "-o", "my.toml", *without).stdout
    stack = tomli.loads(
        imported_json(workspace, "r.txt", "--soc", "none", "--hdk", "25.5.0")["text"]
    )
    assert stack["target"]["system"] == {"cann": "8.5.1", "hdk": "25.5.0"}
    assert "torch-npu" in stack["stack"]["requires"]


@pytest.mark.parametrize("option", ["--cann nothing", "--soc a!9", "--hdk b", "--glibc old"])
def test_import_names_the_option_with_a_wrong_value(workspace: Workspace, option: str) -> None:
    write(workspace, r_txt="numpy\n")
    run = workspace.run("import", "r.txt", *option.split())
    assert (run.status, f"\n  at {option}\n" in run.stderr) == (2, True), run


def test_import_takes_glibc_by_the_name_of_a_system(workspace: Workspace) -> None:
    (workspace.matrices / "systems.toml").write_text(
        systems_text(glibc={"names": {"openEuler 22.03": "2.34"}})
    )
    write(workspace, r_txt="six\n")
    system = ("--glibc", "openEuler-22.03", "--soc", "none")
    text = imported_json(workspace, "r.txt", *system)["text"]
    assert tomli.loads(text)["target"]["glibc"] == "2.34"
    # Options are checked before lines are shown.
    run = workspace.run("import", "r.txt", "-o", "s.toml", "--glibc", "Plan 9")
    assert (run.status, run.stdout) == (2, "")
    assert "\n  at --glibc Plan 9\n" in run.stderr
    write(workspace, s_toml=text.replace('"2.34"', '"openEuler 22.03"'))
    run = workspace.run("lock", "s.toml")
    assert run.error == "`openEuler 22.03` is not a version of glibc"
    assert '\nhint: openEuler 22.03 has glibc 2.34: write "2.34"\n' in run.stderr


def test_import_refuses_a_name_before_lines_are_shown(workspace: Workspace) -> None:
    write(workspace, r_txt="six\n")
    run = workspace.run("import", "r.txt", "-o", "我的软件栈.toml", "--lang", "zh")
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr == (
        "错误：`我的软件栈` 不是有效的名称：名称只能用英文字母、数字、`.`、`_`、`-`，"
        "以英文字母或数字开头，最多 80 个字符\n"
        "  位置：--output 我的软件栈.toml\n"
        "提示：请为软件栈命名：--name NAME\n"
    )


IMPORTS = """\
[defaults]
source = "index pypi demo (2026-11-28)"
checked = 2026-11-28

[[left-out]]
project = "gpu-tool"
reason = "It asks a GPU. Ask the NPU. There is no GPU."
reason-zh = "它查询 GPU。请查询 NPU。没有 GPU。"

[[left-out]]
project = "server"
repository = "https://example.org/server.git"
reason = "Its wheels are for CUDA."

[[left-out]]
project = "video"
platforms = ["linux-aarch64"]
replacement = "video2"
reason = "It has no wheel for aarch64."

[[left-out]]
project = "vision"
extra = "video"
replacement = "video2"
reason = "The extra needs video."
"""


def test_import_reads_what_imports_toml_leaves_out(workspace: Workspace) -> None:
    (workspace.matrices / "imports.toml").write_text(IMPORTS, encoding="utf-8")
    write(
        workspace,
        r_txt="server==2\nGPU_tool==1\nvideo==1 ; python_version > '3'\nvision[fast,video]>=2\nsix\n"
        'wandb ; extra == "log"\n',
        vision_txt="vision[video]\n",
    )
    document = imported_json(workspace, "r.txt")
    assert tomli.loads(document["text"])["stack"]["requires"] == [
        "video2 ; python_version > '3'",
        "vision[fast]>=2",
        "six",
    ]
    assert reasons(document) == {
        "server==2": "to-decide: Its wheels are for CUDA. Write server @ "
        "git+https://example.org/server.git@COMMIT in the stack, with the commit that is meant; "
        "git ls-remote prints it.",
        "GPU_tool==1": "left-out: It asks a GPU. Ask the NPU. There is no GPU.",
        'wandb ; extra == "log"': "left-out: it is for an extra, and only the metadata of a package"
        " has extras; pip ignores such a line",
        "video==1 ; python_version > '3'": "changed: It has no wheel for aarch64.",
        "vision[fast,video]>=2": "changed: The extra needs video.",
    }
    table = workspace.run("import", "r.txt", "--lang", "zh").stderr
    assert "它查询 GPU。请查询 NPU。" in table
    assert "没有 GPU" not in table
    table = " ".join(workspace.run("import", "r.txt").stderr.split())
    assert "It asks a GPU. Ask the NPU." in table
    assert "There is no GPU" not in table
    on_x86 = imported(workspace, "r.txt", "--platform", "linux-x86_64")[0]["stack"]["requires"]
    assert on_x86[0] == "video==1 ; python_version > '3'"
    assert on_x86[-1] == "video2", "what the extra lacks"
    document = imported_json(workspace, "vision.txt")
    assert tomli.loads(document["text"])["stack"]["requires"] == ["vision", "video2"]
    assert reasons(document)["video2"] == "added: The extra needs video."


REPLACED = """\
[defaults]
source = "index pypi demo (2026-11-28)"
checked = 2026-11-28

[[left-out]]
project = "serve"
extra = "gpu"
replacement-extra = "cpu"
reason = "The extra needs a GPU."

[[left-out]]
project = "serve"
extra = "cuda-export"
reason = "The extra exports for a GPU."

[[left-out]]
project = "runtime-gpu"
replacement = "runtime"
reason = "It is for GPUs."
"""


def test_import_replaces_extras_and_excluded_projects(workspace: Workspace) -> None:
    (workspace.matrices / "imports.toml").write_text(REPLACED, encoding="utf-8")
    workspace.facts("runtime-gpu", '[[excludes]]\nreason = "It is not for NPUs."\n')
    write(workspace, r_txt="serve[cuda-export,gpu,log]==1\nserve[gpu]\nruntime-gpu==2\n")
    document = imported_json(workspace, "r.txt")
    assert tomli.loads(document["text"])["stack"]["requires"] == [
        "serve[cpu,log]==1",
        "serve[cpu]",
        "runtime",
    ]
    assert reasons(document)["runtime-gpu==2"] == "changed: It is for GPUs."


# --- pyproject.toml

PROJECT = """\
[project]
name = "My_App"
requires-python = ">=3.12,<3.14"
dependencies = ["torch>=2.7"]

[project.optional-dependencies]
io = ["pyarrow>=15"]
train = [
    "my-app[io]",
    "deepspeed",
    "x @ https://example.org/x.zip",
]

[dependency-groups]
test = ["pytest>=8", { include-group = "Lint" }]
lint = ["ruff", { include-group = "test" }]
"""


def test_a_project_with_its_extras_and_groups(workspace: Workspace) -> None:
    write(workspace, pyproject_toml=PROJECT)
    stack, left_out = imported(workspace, "pyproject.toml")
    assert (stack["stack"]["requires"], stack["target"]["python"], left_out) == (
        ["torch>=2.7"],
        "3.12",
        ["pyproject.toml:6: `io, train`", "pyproject.toml:14: `test, lint`"],
    )
    stack, left_out = imported(
        workspace, "pyproject.toml", "--extra", "Train", "--group", "test", "--python", "3.13.1"
    )
    assert stack["stack"]["requires"] == [
        "torch>=2.7",
        "pyarrow>=15",
        "deepspeed",
        "pytest>=8",
        "ruff",
    ]
    assert stack["target"]["python"] == "3.13.1"
    assert left_out[0] == "pyproject.toml:11: `x @ https://example.org/x.zip`"
    assert left_out[1:] == [], "an extra and a group that others include were taken as well"


def test_dependencies_that_a_build_finds_are_told(workspace: Workspace) -> None:
    write(workspace, pyproject_toml='[project]\nname = "a"\ndynamic = ["dependencies"]\n')
    run = workspace.run("import", "pyproject.toml")
    assert (run.status, "pyproject.toml:3" in run.stderr) == (2, True)
    assert run.error == "`pyproject.toml` has nothing that a stack could ask for"


UV = """\
[project]
name = "demo"
dependencies = ["datasets>=3", "numpy>=2 ; os_name == 'posix'", "six", "tqdm"]

[dependency-groups]
stable = ["transformers==4.57.3"]
dev = ["ruff"]

[tool.uv]
default-groups = ["stable"]
constraint-dependencies = ["torch==2.7.1+cu128", "pip"]
override-dependencies = ["numpy<2", "x @ git+https://github.com/o/x@v1"]
exclude-newer = "2026-01-01T00:00:00Z"

[tool.uv.sources]
datasets = { git = "https://github.com/huggingface/datasets", rev = "COMMIT", subdirectory = "a" }
six = { path = "../hunter2" }
tqdm = { git = "https://github.com/tqdm/tqdm", branch = "hunter2" }
"""


def test_import_takes_over_what_uv_has(workspace: Workspace) -> None:
    write(workspace, pyproject_toml=UV.replace("COMMIT", COMMIT))
    stack, changes = imported(workspace, "pyproject.toml")
    source = f"git+https://github.com/huggingface/datasets@{COMMIT}#subdirectory=a"
    assert stack["stack"]["requires"] == [
        f"datasets @ {source}",
        "numpy<2",
        "transformers==4.57.3",
    ]
    assert stack["stack"]["constraints"] == ["torch==2.7.1"]
    assert stack["stack"]["overrides"] == ["numpy<2"]
    assert changes == [
        "pyproject.toml:5: `dev`",
        "pyproject.toml:13: `tool.uv.exclude-newer`",
        "pyproject.toml:12: `x @ git+https://github.com/o/x@v1`",
        "pyproject.toml:3: `six`",
        "pyproject.toml:3: `tqdm`",
        "pyproject.toml:11: taken as `torch==2.7.1`",
        "pyproject.toml:11: `pip`",
        f"pyproject.toml:3: taken as `datasets @ {source}`",
        "pyproject.toml:3: taken as `numpy<2`",
    ]
    run = workspace.run("import", "pyproject.toml")
    assert "hunter2" not in run.stdout + run.stderr
    assert f"@{COMMIT[:12]}…" in run.stderr
    assert "1 override unchanged" in run.stderr
    write(workspace, pyproject_toml=UV.replace('["stable"]', '"all"'))
    assert "ruff" in imported(workspace, "pyproject.toml")[0]["stack"]["requires"]
    write(workspace, pyproject_toml=UV.replace('["stable"]', '["nothing"]'))
    workspace.refused("there is no such dependency group", "import", "pyproject.toml")
    write(workspace, pyproject_toml="[tool.uv]\ndefault-groups = 1\n")
    workspace.refused("the table `tool.uv` cannot be read", "import", "pyproject.toml")


@pytest.mark.parametrize(
    "source",
    [
        '{ path = "../lib" }',
        "{ workspace = true }",
        '{ url = "https://example.org/my_lib-1-py3-none-any.whl" }',
        '{ index = "private" }',
        '[{ index = "private", marker = "os_name == \'posix\'" }, { git = "https://a.example/b" }]',
        '"../lib"',
    ],
)
def test_import_asks_no_index_for_another_source(workspace: Workspace, source: str) -> None:
    lines = '"my_lib[fast]>=1.0", "my-lib>=1.0+cpu", "numpy", "torch==2.9.0"'
    write(
        workspace,
        matrices__indexes_toml='[[index]]\nname = "pypi"\n\n[[index]]\nname = "wheels"\n'
        'url = "https://example.org/whl"\npackages = ["torch"]\n',
        pyproject_toml=f"""\
[project]
name = "demo"
dependencies = [{lines}]
[tool.uv]
constraint-dependencies = ["My.Lib<2"]
[tool.uv.sources]
My_Lib = {source}
torch = {{ index = "cu128" }}
unasked = {{ path = "../unasked" }}
""",
    )
    stack, changes = imported(workspace, "pyproject.toml")
    assert stack["stack"]["requires"] == ["numpy", "torch==2.9.0"]
    assert "constraints" not in stack["stack"]
    assert changes == [
        "pyproject.toml:3: `my_lib[fast]>=1.0`",
        "pyproject.toml:3",
        "pyproject.toml:5: `My.Lib<2`",
        "pyproject.toml:8: `torch: index cu128`",
        "pyproject.toml:9: `tool.uv.sources`",
    ]
    became = reasons(imported_json(workspace, "pyproject.toml"))["My.Lib<2"]
    assert became.startswith("to-decide: `pyproject.toml:7` takes it from elsewhere")


def test_import_needs_no_index_of_bound_projects(workspace: Workspace) -> None:
    """A pyproject.toml as uv's guide for PyTorch has it, with an index of the company's."""
    write(
        workspace,
        matrices__indexes_toml='[[index]]\nname = "pypi"\n\n[[index]]\nname = "wheels"\n'
        'url = "https://example.org/whl"\npackages = ["torch", "torchvision"]\n',
        pyproject_toml="""\
[project]
name = "demo"
dependencies = ["my-pkg>=1", "torch==2.9.0", "torchvision"]
[tool.uv.sources]
torch = { index = "pytorch-cu128" }
torchvision = [{ index = "pytorch-cu128", marker = "sys_platform == 'linux'" }]
my-pkg = { index = "company" }
[[tool.uv.index]]
name = "pytorch-cu128"
url = "https://example.org/whl/cu128"
explicit = true
[[tool.uv.index]]
name = "company"
url = "https://me:hunter2@example.org/simple"
explicit = true
[[tool.uv.index]]
url = "https://example.org/mirror"
""",
    )
    document = imported_json(workspace, "pyproject.toml")
    became = reasons(document)
    bound = "left-out: the lock takes it from the index that matrices/indexes.toml binds it to"
    for line in (
        "torch: index pytorch-cu128",
        "torchvision: index pytorch-cu128",
        "tool.uv.index pytorch-cu128",
    ):
        assert became[line] == bound
    to_decide = [line for line, why in became.items() if why.startswith("to-decide")]
    assert sorted(to_decide) == ["my-pkg>=1", "tool.uv.index", "tool.uv.index company"]
    run = workspace.run("import", "pyproject.toml")
    assert run.stderr.count("the lock takes it") == 1
    assert "hunter2" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    "source",
    [
        '{ git = "https://me:hunter2@git.example/o/lib" }',
        '{ git = "https://git.example/o/lib?token=hunter2", branch = "hunter2" }',
        '[{ git = "https://git.example/o/lib", branch = "hunter2", marker = "os_name == \'nt\'" }]',
    ],
)
def test_import_tells_what_to_write_for_a_branch(workspace: Workspace, source: str) -> None:
    """On an index, anybody may own the name of what is from a repository."""
    write(
        workspace,
        pyproject_toml=f"""\
[project]
name = "demo"
dependencies = ["lib>=1", "numpy"]
[tool.uv.sources]
lib = {source}
other = {source}
""",
    )
    stack, _ = imported(workspace, "pyproject.toml")
    assert stack["stack"]["requires"] == ["numpy"]
    document = imported_json(workspace, "pyproject.toml")
    assert "hunter2" not in str(document)
    became = reasons(document)
    assert became["lib>=1"].startswith("to-decide: `pyproject.toml:5` takes it from a git repo")
    assert "write lib @ git+https://git.example/o/lib@COMMIT in the stack" in became["lib>=1"]
    assert became["tool.uv.sources"].startswith("to-decide: it is not one commit or tag")


@pytest.mark.parametrize(
    ("reference", "meant"),
    [
        ("-e git+https://git.example/me/foo.git@main#egg=foo", "me/foo.git@COMMIT"),
        ("foo @ git+https://git.example/me/foo@master", "me/foo@COMMIT"),
    ],
)
def test_import_tells_of_a_branch_in_a_reference(
    workspace: Workspace, reference: str, meant: str
) -> None:
    tags = f"bar @ git+https://git.example/b@v1.0\nbaz @ git+https://git.example/c@{COMMIT}\n"
    write(workspace, requirements_txt=f"{reference}\n{tags}")
    stack, changes = imported(workspace, "requirements.txt")
    assert [line[:3] for line in stack["stack"]["requires"]] == ["bar", "baz"]
    assert len(changes) == 1
    (became,) = (
        line["why"]
        for line in imported_json(workspace, "requirements.txt")["lines"]
        if line["outcome"] == "to-decide"
    )
    assert f"write foo @ git+https://git.example/{meant} in the stack" in became


POETRY = """\
[tool.poetry]
name = "my-app"
version = "0.1"

[tool.poetry.dependencies]
python = "^3.10"
torch = "^2.5"
numpy = "~1.26"
tqdm = "*"
six = "1.16.0"
gunicorn = { version = "^20.1", extras = ["gevent"] }
tomli = { version = "^2.0.1", python = "<3.11" }
uvloop = { version = ">=0.19, <1", markers = "platform_machine == 'aarch64'", platform = "linux" }
pyarrow = { version = "^15", optional = true }
lib = { git = "git@github.com:o/lib.git", rev = "COMMIT", subdirectory = "a" }
tag = { git = "https://github.com/o/tag", tag = "v1" }
main = { git = "https://u:hunter2@github.com/o/main", branch = "hunter2" }
local = { path = "../hunter2", develop = true }
file = { url = "https://u:hunter2@h.example/x.whl" }
private = { version = "^1", source = "hunter2" }
usual = { version = "^1", source = "PyPI" }
foo = [
    { version = "<=1.9", python = ">=3.6,<3.8" },
    { version = "^2.0", python = ">=3.8" },
]
either = "^1 || ^3"
odd = { version = "hunter2" }
wrong = 3

[tool.poetry.extras]
IO = ["pyarrow"]

[tool.poetry.group.train.dependencies]
deepspeed = "^0.15"

[tool.poetry.group.All]
include-groups = ["train", "all"]

[tool.poetry.dev-dependencies]
ruff = "*"

[[tool.poetry.source]]
name = "hunter2"
url = "https://u:hunter2@h.example/simple"
"""


def test_import_reads_a_project_of_poetry(workspace: Workspace) -> None:
    write(workspace, pyproject_toml=POETRY.replace("COMMIT", COMMIT))
    stack, left_out = imported(workspace, "pyproject.toml")
    assert stack["stack"]["name"] == "my-app"
    assert stack["target"]["python"] == "3.11"
    assert stack["stack"]["requires"] == [
        "torch>=2.5,<3.0",
        "numpy>=1.26,<1.27",
        "tqdm",
        "six==1.16.0",
        "gunicorn[gevent]>=20.1,<21.0",
        "tomli>=2.0.1,<3.0.0 ; python_version < '3.11'",
        "uvloop>=0.19,<1 ; (platform_machine == 'aarch64') and (sys_platform == 'linux')",
        f"lib @ git+ssh://git@github.com/o/lib.git@{COMMIT}#subdirectory=a",
        "tag @ git+https://github.com/o/tag@v1",
        "usual>=1,<2",
        "foo<=1.9 ; python_version >= '3.6' and python_version < '3.8'",
        "foo>=2.0,<3.0 ; python_version >= '3.8'",
    ]
    assert [line for line in left_out if "taken as" not in line] == [
        "pyproject.toml:26: `either ^1 || ^3`",
        "pyproject.toml:27",
        "pyproject.toml:28",
        "pyproject.toml:42: `tool.poetry.source`",
        "pyproject.toml:17: `main`",
        "pyproject.toml:18: `local`",
        "pyproject.toml:19: `file`",
        "pyproject.toml:20: `private ^1`",
    ]
    document = imported_json(workspace, "pyproject.toml")
    assert "hunter2" not in str(document)
    became = reasons(document)
    assert "main @ git+https://github.com/o/main@COMMIT" in became["main"]
    assert became["local"].startswith("to-decide: `pyproject.toml:18` takes it from elsewhere")
    assert became["torch ^2.5"] == "changed: it is the same in pip's form"
    stack, _ = imported(
        workspace, "pyproject.toml", "--extra", "io", "--group", "all", "--group", "dev"
    )
    added = ["pyarrow>=15,<16", "ruff", "deepspeed>=0.15,<0.16"]
    assert [line for line in stack["stack"]["requires"] if line in added] == added
    workspace.refused("there is no extra `oi`", "import", "pyproject.toml", "--extra", "oi")
    workspace.refused(
        "there is no dependency group `x`", "import", "pyproject.toml", "--group", "x"
    )


def test_import_reads_a_project_of_poetry_2(workspace: Workspace) -> None:
    dependencies = 'dependencies = ["lib>=1", "local", "six>=1"]\n'
    poetry = (
        "[tool.poetry.dependencies]\n"
        f'lib = {{ git = "https://github.com/o/lib", rev = "{COMMIT}" }}\n'
        'local = { path = "../local" }\nsix = { version = "^1.2" }\n'
    )
    write(workspace, pyproject_toml=f'[project]\nname = "a"\n{dependencies}{poetry}')
    stack, left_out = imported(workspace, "pyproject.toml")
    lib = f"lib @ git+https://github.com/o/lib@{COMMIT}"
    assert stack["stack"]["requires"] == [lib, "six>=1"]
    assert left_out == ["pyproject.toml:3: `local`", f"pyproject.toml:3: taken as `{lib}`"]
    dynamic = 'requires-python = ">=3.12"\ndynamic = ["dependencies"]\n'
    write(workspace, pyproject_toml=f'[project]\nname = "a"\n{dynamic}{poetry}')
    stack, left_out = imported(workspace, "pyproject.toml")
    assert stack["stack"]["requires"] == [lib, "six>=1.2,<2.0"]
    assert stack["target"]["python"] == "3.12"
    assert [line for line in left_out if "taken as" not in line] == ["pyproject.toml:7: `local`"]
    write(workspace, pyproject_toml="[tool.poetry]\ndependencies = 1\n")
    workspace.refused("the table `tool.poetry` cannot be read", "import", "pyproject.toml")


@pytest.mark.parametrize(
    "dependency",
    [
        '"hunter2"',
        '"^1 || hunter2"',
        '{ version = "1", markers = "os_name == \'https://u:hunter2@h/\'" }',
        '{ version = "1", markers = "hunter2" }',
        '{ version = "1", python = "hunter2" }',
        '{ version = "1", platform = "hunter2!" }',
        '{ version = "^1", extras = ["hunter2/"] }',
        '"^1"\n"u:hunter2@h.example/" = "^1"',
        '"^1"\n"u:hunter2@h.example/" = "^1 || ^2"',
        '{ git = "https://u:hunter2@h.example/x", rev = "v1" }',
        '{ git = "hunter2@h.example:hunter2@/x", rev = "v1" }',
        '{ git = "hunter2", rev = "v1" }',
        '{ git = "https://h.example/x?hunter2", branch = "a" }',
        "[1, { hunter2 = 1 }]",
    ],
)
def test_import_shows_no_secret_of_poetry(workspace: Workspace, dependency: str) -> None:
    text = f'[tool.poetry.dependencies]\nsix = "*"\ndemo = {dependency}\n'
    write(workspace, pyproject_toml=text)
    for language in ("en", "zh"):
        run = workspace.run("import", "pyproject.toml", "--lang", language)
        assert run.status == 0, run
        assert "hunter2" not in run.stderr


# --- environment.yml


def test_what_pip_installs_into_an_environment_of_conda(workspace: Workspace) -> None:
    write(
        workspace,
        environment_yml="""\
name: rl
channels:
  - conda-forge
dependencies:
  - python=3.10.14=h955ad1f_1
  - numpy=1.26

  # of PyPI
  - pip
  - pip:
    - torch==2.9.0   # the newest
    - "transformers>=4.5"
    - 'six ; python_version < "3.12"'
    - -r more.txt
    -nothing
  - cudatoolkit=12
prefix: /opt/conda
""",
        more_txt="datasets\n",
        flow_yaml="dependencies: [python=3.10, pip]\n",
    )
    stack, left_out = imported(workspace, "environment.yml")
    assert stack["stack"]["requires"] == [
        "torch==2.9.0",
        "transformers>=4.5",
        "six ; python_version < '3.12'",
        "datasets",
    ]
    assert stack["target"]["python"] == "3.10"
    assert left_out == [
        "environment.yml:15",
        "environment.yml:6",
        "environment.yml:16",
    ]
    run = workspace.run("import", "flow.yaml")
    assert (run.status, "flow.yaml:1" in run.stderr) == (2, True)


SHIPPED = ("--matrices", str(REPOSITORY / "matrices"))
CUDA_ENVIRONMENT = """\
name: llm
channels: [pytorch, nvidia]
dependencies:
  - python=3.11
  - pytorch=2.5.1
  - pytorch::torchvision=0.20.1=py310_cu124
  - numpy=1.26
  - transformers>=4.40
  - conda-forge::accelerate
  - pytorch-cuda=12.4
  - cudatoolkit
  - cuda-hunter2=1
  - _libgcc_mutex=0.1=main
  - mkl
  - libcurl=8
  - hunter2=1.0
  - opencv=4.10.0
  - hunter2::vllm=0.6=hunter2
  - setuptools=70
  - seaborn=0.13.2=hunter2
  - xxhash
  - python-xxhash>=3
  - openssl=1.1.1w=h0
  - pandas=hunter2
  - jpeg=9e
  - pip:
    - peft
"""


def test_import_takes_projects_of_conda(workspace: Workspace) -> None:
    write(workspace, environment_yml=CUDA_ENVIRONMENT)
    stack, left_out = imported(workspace, "environment.yml", *SHIPPED)
    assert stack["stack"]["requires"] == [
        "torch==2.5.1",
        "torchvision==0.20.1",
        "numpy==1.26.*",
        "transformers>=4.40",
        "accelerate",
        "opencv-python-headless==4.10.0.*",
        "seaborn==0.13.2",
        "xxhash>=3",
        "peft",
    ]
    assert [line for line in left_out if "taken as" not in line] == [
        "environment.yml:10: `pytorch-cuda`",
        "environment.yml:11: `cudatoolkit`",
        "environment.yml:12: `cuda-*`",
        "environment.yml:13: `_libgcc_mutex`",
        "environment.yml:14: `mkl`",
        "environment.yml:15",
        "environment.yml:16",
        "environment.yml:18: `vllm=0.6`",
        "environment.yml:19: `setuptools=70`",
        "environment.yml:21: `xxhash`",
        "environment.yml:23: `openssl`",
        "environment.yml:24: `pandas`",
        "environment.yml:25",
    ]
    run = workspace.run("import", "environment.yml", *SHIPPED)
    assert "hunter2" not in run.stdout + run.stderr
    rows = [" ".join(line.split()) for line in run.stderr.splitlines()]
    assert [row.split(" names of")[0] for row in rows if "(not shown)" in row] == [
        "to decide 3 lines (not shown)"
    ]
    became = reasons(imported_json(workspace, "environment.yml", *SHIPPED))
    assert became["pytorch=2.5.1"].startswith("changed: PyTorch is `pytorch` in conda")
    assert became["numpy=1.26"].startswith("changed: it is the same in pip's form")
    assert became["cudatoolkit"].startswith("left-out: It is a part of CUDA")
    assert became["vllm=0.6"].startswith("to-decide: it is from a channel of its own")


def test_import_reads_prereleases_of_conda(workspace: Workspace) -> None:
    lines = ("numpy=1.26b1", "opencv=4.10rc1", "opencv>=4,<5", "_six=1=pypi_0")
    items = "".join(f"- {line}\n" for line in lines)
    write(workspace, environment_yml=f"dependencies:\n{items}")
    stack, left_out = imported(workspace, "environment.yml", *SHIPPED)
    assert stack["stack"]["requires"] == ["numpy==1.26b1", "opencv-python-headless>=4,<5"]
    assert left_out[:2] == ["environment.yml:3: `opencv=4.10rc1`", "environment.yml:5"]
    became = reasons(imported_json(workspace, "environment.yml", *SHIPPED))
    assert "no form for it" in became["opencv=4.10rc1"]
    assert "it is not shown" in became[""]


def test_import_knows_names_by_facts_and_stacks(workspace: Workspace) -> None:
    workspace.facts("demo", '[[excludes]]\nversions = "==1"\nreason = "It is broken."\n')
    workspace.stack("Six-Seven>=1", name="mine")
    (workspace.matrices / "matrix.json").write_text('{"pins": ["tqdm==1", "a"], "format": 99}')
    write(
        workspace,
        environment_yml="dependencies:\n- demo\n- six_seven=1.2\n- tqdm\n- sqlite\n",
    )
    stack, left_out = imported(workspace, "environment.yml")
    assert stack["stack"]["requires"] == ["demo", "six_seven==1.2.*", "tqdm"]
    assert left_out[0] == "environment.yml:5"
    (workspace.matrices / "matrix.json").write_text("{")
    assert (
        imported(workspace, "environment.yml")[0]["stack"]["requires"]
        == stack["stack"]["requires"][:2]
    )


CONDA_LIST = """\
# This file may be used to create an environment using:
# $ conda create --name <env> --file <this file>
# platform: linux-64
"""


def test_import_reads_what_conda_list_prints(workspace: Workspace) -> None:
    address = "https://u:hunter2@conda.example/t/hunter2"
    write(
        workspace,
        export_txt=f"{CONDA_LIST}_libgcc_mutex=0.1=main\nnumpy=1.26=py310_0\n"
        "python=3.10.14=h0\nmine=0.1=pypi_0\nhunter2=1=h0\nx y z: hunter2\n",
        explicit_txt=f"{CONDA_LIST}@EXPLICIT\n"
        f"{address}/conda-forge/linux-64/numpy-1.26.4-py310_0.conda#hunter2\n"
        f"{address}/pkgs/hunter2/linux-64/pandas-2.1-py310_0.tar.bz2\n{address}\n",
    )
    write(
        workspace,
        list_txt="# packages in environment at /opt/conda/envs/hunter2:\n#\n"
        "# Name                    Version                   Build  Channel\n"
        "_libgcc_mutex             0.1                        main    defaults\n"
        "numpy                     1.26.4          py310hb13e2d6_0    conda-forge\n"
        "pandas                    2.1.4           py310h1128e8f_0\n"
        "pytorch                   2.5.1  py3.10_cuda12.4_cudnn9.1.0_0  pytorch\n"
        "mine                      0.1                      pypi_0    pypi\n"
        "hunter2                   1.0                        h0_0    conda-forge\n"
        "scipy                     1.0                        h0_0    hunter2\n"
        "hunter2 hunter2\n",
    )
    stack, left_out = imported(workspace, "list.txt", *SHIPPED)
    assert stack["stack"]["requires"] == [
        "numpy==1.26.4",
        "pandas==2.1.4",
        "torch==2.5.1",
        "mine==0.1",
    ]
    assert "list.txt:10: `scipy==1.0`" in left_out
    stack, _ = imported(workspace, "export.txt", *SHIPPED)
    assert stack["stack"]["requires"] == ["numpy==1.26", "mine==0.1"]
    assert stack["target"]["python"] == "3.10"
    stack, left_out = imported(workspace, "explicit.txt", *SHIPPED)
    assert stack["stack"]["requires"] == ["numpy==1.26.4"]
    assert left_out == ["explicit.txt:7", "explicit.txt:6: `pandas==2.1`"]
    for name in ("export.txt", "explicit.txt", "list.txt"):
        run = workspace.run("import", name, *SHIPPED)
        assert "hunter2" not in run.stdout + run.stderr


def test_import_quotes_no_unknown_package_of_conda(workspace: Workspace) -> None:
    items = [line for text in SECRETS.values() for line in text.splitlines() if "\0" not in line]
    text = "dependencies:\n" + "".join(f"  - {item.strip()}\n" for item in items)
    write(workspace, environment_yml=f"{text}  - pip:\n    - six\n")
    run = workspace.run("import", "environment.yml", *SHIPPED)
    assert (run.status, "environment.yml:2," in run.stderr) == (0, True), run
    assert "hunter2" not in run.stdout + run.stderr


# --- what pip prints


def test_import_leaves_out_tools_of_a_list(workspace: Workspace) -> None:
    """`pip list --format=freeze`, unlike `pip freeze`, prints pip."""
    tools = "pip==24.0\nsetuptools==65.5.0\n"
    write(
        workspace,
        list_txt=f"six==1.16\ntorch==2.5.1+cu124\n{tools}",
        own_txt=f"six>=1\n{tools}",
    )
    stack, left_out = imported(workspace, "list.txt")
    assert stack["stack"]["requires"] == ["six==1.16", "torch==2.5.1"]
    assert left_out[:2] == ["list.txt:3: `pip==24.0`", "list.txt:4: `setuptools==65.5.0`"]
    stack, left_out = imported(workspace, "own.txt")
    assert (len(stack["stack"]["requires"]), left_out) == (3, [])


EDITABLES = """\
# Editable install with no version control (mine==0.1.dev0+g12)
-e /home/me/hunter2
# Editable Git install with no remote (other_one==2)
-e /data/hunter2
# Editable Git install with no remote (https://u:hunter2@h)
-e /data/hunter2
-e ./a
six
"""


def test_import_names_what_a_freeze_has_editable(workspace: Workspace) -> None:
    write(workspace, freeze_txt=EDITABLES)
    stack, left_out = imported(workspace, "freeze.txt")
    assert stack["stack"]["requires"] == ["six"]
    assert left_out == [
        "freeze.txt:2: `mine==0.1.dev0+g12`",
        "freeze.txt:4: `other_one==2`",
        "freeze.txt:6: `-e`",
        "freeze.txt:7: `-e ./a`",
    ]
    assert "hunter2" not in workspace.run("import", "freeze.txt").stderr


def test_import_leaves_out_cuda_wherever_it_is_from(workspace: Workspace) -> None:
    wheel = "flash_attn-2.7.0+cu12torch2.5-cp311-cp311-linux_x86_64.whl"
    write(
        workspace,
        r_txt=f"flash_attn @ https://h.example/{wheel}\nnvidia-x[a] @ file:///x\n"
        "triton @ file:///croot/triton_1708638617955/work\n"
        "other @ https://h.example/other.whl\njax[cuda12,k8s]==0.4\ndemo[cu124-torch250]\n",
    )
    stack, _ = imported(workspace, "r.txt", *SHIPPED)
    assert stack["stack"]["requires"] == ["jax[k8s]==0.4", "demo"]
    became = reasons(imported_json(workspace, "r.txt", *SHIPPED))
    assert [why.partition(":")[0] for why in became.values()] == [
        *("left-out", "left-out", "left-out", "to-decide", "changed", "changed")
    ]
    assert became["demo[cu124-torch250]"].endswith(
        "the names of cu124-torch250 say that they are for CUDA"
    )


# --- what conda built, in a freeze


CONDA_FREEZE = """\
absl-py @ file:///home/conda/feedstock_root/build_artifacts/absl-py_1733821234567/work
aiohttp @ file:///croot/aiohttp_1707342283163/work
certifi @ file:///C:/b/abs_55g_tm_6ff/croot/certifi_1700501720658/work/certifi
attrs @ file:///opt/conda/conda-bld/attrs_1642510447205/work#subdirectory=a
mine @ file:///home/me/work/mine
numpy @ file:///croot/numpy_and_numpy_base_1708638617955/work/dist/numpy-1.26.4-cp311-cp311-linux_x86_64.whl#sha256=d8ad512c
torch==2.5.1
"""


def test_import_tells_builds_of_conda_in_one_row(workspace: Workspace) -> None:
    write(workspace, freeze_txt=CONDA_FREEZE)
    stack, left_out = imported(workspace, "freeze.txt")
    assert stack["stack"]["requires"] == ["numpy==1.26.4", "torch==2.5.1"]
    assert len(left_out) == 6, "--json has each line"
    text = " ".join(workspace.run("import", "freeze.txt").stderr.split())
    assert text.count("to decide") == 2
    assert "freeze.txt:1, 2, 3, 4" in text
    assert "absl-py, aiohttp, certifi, attrs " in text
    assert "pip list --format=freeze" in text
    numbers = range(1, 61)
    folders = (f"p{n} @ file:///croot/p{n}_17073422831{n:02}/work" for n in numbers)
    write(workspace, many_txt="\n".join(["six", *folders]))
    text = " ".join(workspace.run("import", "many.txt").stderr.split())
    assert (text.count("to decide"), "60 lines: p1, p2, p3," in text) == (1, True)


# --- encodings


@pytest.mark.parametrize(
    "content",
    [
        *(
            "\ufeffsix==1.16\r\n# 测试\r\ntqdm\r\n".encode(encoding)
            for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
        ),
        "# -*- coding: gbk -*-\nsix==1.16\n# 测试\ntqdm".encode("gbk"),
        "#!/usr/bin/x\n# vim: set fileencoding=latin-1 :\nsix==1.16\ntqdm # é".encode("latin-1"),
        "# coding=UTF8\nsix==1.16\ntqdm # é".encode(),
    ],
)
def test_import_reads_encodings_as_pip_does(workspace: Workspace, content: bytes) -> None:
    (workspace.root / "r.txt").write_bytes(content)
    stack, left_out = imported(workspace, "r.txt")
    assert (stack["stack"]["requires"], left_out) == (["six==1.16", "tqdm"], [])


def test_import_reads_environment_of_powershell(workspace: Workspace) -> None:
    (workspace.root / "environment.yml").write_bytes(CONDA.format("six").encode("utf-16"))
    assert imported(workspace, "environment.yml")[0]["stack"]["requires"] == ["six"]


@pytest.mark.parametrize(
    ("content", "error", "told"),
    [
        (b"\xff\xfes\0i\0x", "`r.txt` is not UTF-16-LE, as its beginning says", "save it as"),
        (b"\xfe\xff\xd8\0\0s", "`r.txt` is not UTF-16-BE, as its beginning says", "save it as"),
        (b"# coding: ascii\nsix # \xe9", "`r.txt` is not ascii, as its beginning says", "save it"),
        (b"# coding: punycode\n", "the encoding that a comment names is not read", "r.txt:1"),
        (b"#\n# coding: hunter2\n", "the encoding that a comment names is not read", "r.txt:2"),
        (b"# coding: zlib\n", "the encoding that a comment names is not read", "r.txt:1"),
        (b"# coding: ..os\n", "the encoding that a comment names is not read", "r.txt:1"),
        ("six # 测试".encode("gbk"), "`r.txt` is not UTF-8", "iconv -f GB18030"),
        (b"six # \xff\n", "`r.txt` is not UTF-8", "hint: save it as UTF-8\n"),
        (b"# coding: utf-8\nsix # \xff", "`r.txt` is not UTF-8", "r.txt:2"),
    ],
)
def test_import_refuses_other_encodings(
    workspace: Workspace, content: bytes, error: str, told: str
) -> None:
    (workspace.root / "r.txt").write_bytes(content)
    run = workspace.run("import", "r.txt")
    assert (run.status, run.error, told in run.stderr) == (2, error, True), run
    assert "hunter2" not in run.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_import_shows_no_secret_in_any_encoding(workspace: Workspace, encoding: str) -> None:
    lines = "six\nx @ https://u:hunter2\u2028@h/\nTOKEN\0hunter2\n" + "hunter2 " * 200_000
    (workspace.root / "r.txt").write_bytes(lines.encode(encoding))
    run = workspace.run("import", "r.txt")
    assert (run.status, "hunter2" in run.stdout + run.stderr) == (0, False), run
    (workspace.root / "r.txt").write_bytes(("six\n" * 2_100_000).encode(encoding))
    assert workspace.run("import", "r.txt").status == 2, "a limit of the file, not of its text"


# --- pylock.toml


def package(name: str, marker: str = "") -> str:
    marked = f'marker = "{marker}"\n' if marker else ""
    wheel = f"{name}-1.0-py3-none-any.whl"
    hashes = '{ sha256 = "aa" }'
    files = (
        f'wheels = [{{ name = "{wheel}", url = "https://example.org/{wheel}", hashes = {hashes} '
        "}]\n"
    )
    return f'\n[[packages]]\nname = "{name}"\nversion = "1.0"\n{marked}{files}'


LOCK = (
    'lock-version = "1.0"\nrequires-python = ">=3.12"\nextras = ["gpu"]\ncreated-by = "a test"\n'
    'dependency-groups = ["default", "dev"]\ndefault-groups = ["default"]\n'
    + package("plain")
    + package("marked", "python_version < '3.13'")
    + package("usual", "'default' in dependency_groups and python_version >= '3.12'")
    + package("developed", "'dev' in dependency_groups")
    + package("extra", "'gpu' in extras")
    + '\n[[packages]]\nname = "verl"\n[packages.vcs]\ntype = "git"\n'
    'url = "https://github.com/volcengine/verl"\n'
    + f'commit-id = "{COMMIT}"\nsubdirectory = "python"\n'
    + '\n[[packages]]\nname = "mine"\n[packages.directory]\npath = "."\n'
)


def test_a_pylock(workspace: Workspace) -> None:
    write(workspace, pylock_toml=LOCK)
    always = ["plain==1.0", "marked==1.0 ; python_version < '3.13'", "usual==1.0"]
    verl = f"verl @ git+https://github.com/volcengine/verl@{COMMIT}#subdirectory=python"
    stack, left_out = imported(workspace, "pylock.toml")
    assert (stack["stack"]["requires"], stack["target"]["python"]) == ([*always, verl], "3.12")
    texts = {"developed": "developed==1.0", "extra": "extra==1.0", "mine": "mine"}
    lines = [LOCK.partition(f'name = "{name}"')[0].count("\n") for name in texts]
    assert left_out == [
        f"pylock.toml:{line}: `{text}`" for line, text in zip(lines, texts.values(), strict=True)
    ]
    stack, left_out = imported(workspace, "pylock.toml", "--extra", "gpu", "--group", "dev")
    assert stack["stack"]["requires"] == [*always, "developed==1.0", "extra==1.0", verl]
    assert len(left_out) == 1


def test_options_of_pip_are_left_out_with_what_to_do(workspace: Workspace) -> None:
    write(
        workspace,
        requirements_txt="six\n-e ./a\n-e ../b[x,y]\n-e ./u:word@h\n--no-build-isolation\n"
        "--upgrade\nsix2 --no-build-isolation\n",
    )
    document = imported_json(workspace, "requirements.txt")
    assert told(document) == [
        "requirements.txt:2: `-e ./a`",
        "requirements.txt:3: `-e ../b[x,y]`",
        "requirements.txt:4: `-e`",
        "requirements.txt:5: `--no-build-isolation`",
        "requirements.txt:6: `--upgrade`",
        "requirements.txt:7: `--no-build-isolation`",
    ]
    why = reasons(document)
    assert why["--no-build-isolation"].startswith("left-out: install.sh chooses how")
    assert "[[fact.builds]]" in why["--no-build-isolation"]
    assert why["--upgrade"].startswith("left-out: it says how pip runs")


@pytest.mark.parametrize(
    ("name", "text", "stack"),
    [
        ("mine/pyproject.toml", '[project]\nname = "My-Project"\n', "My-Project"),
        ("mine/pyproject.toml", "[project]\n", "mine"),
        ("mine/requirements.txt", "", "requirements"),
        ("mine/environment.yml", "name: 'research'\n", "research"),
        ("mine/environment.yml", "name: a b\n", "environment"),
    ],
)
def test_stack_is_named_after_the_project(
    workspace: Workspace, name: str, text: str, stack: str
) -> None:
    lines = {"toml": 'dependencies = ["six"]\n', "txt": "six\n", "yml": CONDA_SIX}[
        name.split(".")[1]
    ]
    (workspace.root / "mine").mkdir()
    (workspace.root / name).write_text(text + lines)
    document = imported_json(workspace, name)
    assert document["stack"] == tomli.loads(document["text"])["stack"]["name"] == stack
    assert imported_json(workspace, name, "-o", "own.toml")["stack"] == "own"


CONDA_SIX = "dependencies:\n  - pip:\n    - six\n"


def test_stack_has_comments_and_a_summary_in_chinese(workspace: Workspace) -> None:
    write(workspace, reqs_txt="six\n")
    text = workspace.run("import", "reqs.txt", "-o", "my.toml", "--lang", "zh")
    assert text.status == 0
    written = (workspace.root / "my.toml").read_text()
    assert written.startswith("# 由 `ascend-lock import` 从 reqs.txt 转换而来。\n# 没有用选项指明")
    assert "What" in written.splitlines()[5]
    listed = workspace.run("lock", "--lang", "zh")
    assert listed.stdout == "  my  reqs.txt 所要求的软件包\n"


def test_platform_is_named_by_its_processor(workspace: Workspace) -> None:
    write(workspace, reqs_txt="six\n")
    for spelt, platform in {
        "aarch64": "linux-aarch64",
        "ARM64": "linux-aarch64",
        "linux-arm64": "linux-aarch64",
        "x86-64": "linux-x86_64",
        "amd64": "linux-x86_64",
        "linux_x86_64": "linux-x86_64",
    }.items():
        document = imported_json(workspace, "reqs.txt", "--platform", spelt)
        assert tomli.loads(document["text"])["target"]["platform"] == platform
    run = workspace.run("import", "reqs.txt", "--platform", "riscv64")
    assert "'riscv64' is not one of 'linux-aarch64', 'linux-x86_64'." in run.stderr


# --- what is no such file


@pytest.mark.parametrize(
    ("name", "content", "error", "where"),
    [
        ("gone.txt", None, "`gone.txt` cannot be read", "gone.txt"),
        ("binary.txt", b"\x7fELF\x02\x01\xff\xfe", "`binary.txt` is not UTF-8", "binary.txt:1"),
        ("part.txt", b"six\n-r gone.txt\n", "`gone.txt` cannot be read", "part.txt:2"),
        ("part.txt", b"-r u:word@h/../part.txt\n", "a file cannot be read", "part.txt:1"),
        (
            "long.txt",
            b"x" * 100_000,
            "`long.txt` has nothing that a stack could ask for",
            "long.txt",
        ),
        ("empty.txt", b"", "`empty.txt` has nothing that a stack could ask for", "empty.txt"),
        ("pyproject.toml", b"[project\n", "the file is not valid TOML", "pyproject.toml:1"),
        (
            "pyproject.toml",
            b"[project]\ndependencies = 1\n",
            "the file is no pyproject.toml",
            "pyproject.toml",
        ),
        ("pylock.toml", b'lock-version = "1.0"\n', "the file is no pylock.toml", "pylock.toml"),
        (
            "pylock.toml",
            b'lock-version = "2.0"\ncreated-by = "a test"\npackages = []\n',
            "the lock has a format that is not read",
            "pylock.toml:1",
        ),
        ("uv.lock", b"version = 1\n", "a file such as `uv.lock` cannot be imported", "uv.lock"),
    ],
)
def test_a_file_that_cannot_be_imported(
    workspace: Workspace, name: str, content: bytes | None, error: str, where: str
) -> None:
    if content is not None:
        (workspace.root / name).write_bytes(content)
    run = workspace.run("import", name, "-o", "my.toml")
    assert (run.status, run.error, f"\n  at {where}\n" in run.stderr) == (2, error, True), run
    assert not (workspace.root / "my.toml").exists()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("Pipfile", "pipenv requirements > requirements.txt"),
        ("Pipfile.lock", "pipenv requirements > requirements.txt"),
        ("poetry.lock", "poetry export -f requirements.txt --output requirements.txt"),
        ("uv.lock", "uv export -o requirements.txt"),
        ("pdm.lock", "pdm export -o requirements.txt"),
        ("conda-lock.yml", "conda-lock render --kind env"),
        ("gpu.conda-lock.yaml", "conda-lock render --kind env"),
        ("pixi.lock", "pixi workspace export conda-environment environment.yml"),
        ("setup.py", "pip-compile setup.py"),
        ("setup.cfg", "pip-compile setup.cfg"),
        ("conda-linux-64.lock", "pip freeze > requirements.txt"),
        ("notebook.ipynb", "pip freeze > requirements.txt"),
    ],
)
def test_import_says_what_exports_requirements(
    workspace: Workspace, name: str, command: str
) -> None:
    (workspace.root / name).write_text("six\n")
    run = workspace.run("import", name)
    assert (run.status, run.error) == (2, f"a file such as `{name}` cannot be imported"), run
    assert f"import the file that is written: {command}\n" in run.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("pyproject.toml", "in a pyproject.toml, [project]"),
        ("environment.yaml", "in an environment.yml of conda"),
        ("requirements.txt", "in a requirements file"),
    ],
)
def test_import_says_what_of_a_file_is_read(workspace: Workspace, name: str, hint: str) -> None:
    (workspace.root / name).write_text("")
    assert f"\nhint: {hint}" in workspace.run("import", name).stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--extra", "tain"), "there is no extra `tain`"),
        (("--group", "docs"), "there is no dependency group `docs`"),
        (("--python", "3"), "`3` is not one version of Python"),
        (("--cann", "new"), "`new` is not a version of CANN such as 8.5.0"),
        (
            ("--name", "a b"),
            (
                "`a b` is not a name of at most 80 letters, digits, `.`, `_` and `-`, "
                "beginning with a letter or digit"
            ),
        ),
    ],
)
def test_a_wrong_option(workspace: Workspace, arguments: tuple[str, ...], error: str) -> None:
    write(workspace, pyproject_toml=PROJECT)
    workspace.refused(error, "import", "pyproject.toml", *arguments)


def test_files_that_include_each_other(workspace: Workspace) -> None:
    write(workspace, a_txt="-r b.txt\n", b_txt="six\n-c a.txt\n")
    assert imported(workspace, "a.txt")[0]["stack"]["requires"] == ["six"]


def test_lists_that_include_each_other_in_a_long_chain(workspace: Workspace) -> None:
    chain = [
        f'g{number} = [{{ include-group = "g{number + 1}" }}, "p{number}"]'
        for number in range(5000)
    ]
    text = "\n".join(["[dependency-groups]", *chain, 'g5000 = ["last"]', ""])
    write(workspace, pyproject_toml=text)
    requires = imported(workspace, "pyproject.toml", "--group", "g0")[0]["stack"]["requires"]
    assert (len(requires), requires[:2], requires[-1]) == (5001, ["last", "p4999"], "p0")


def test_files_that_include_each_other_in_a_long_chain(workspace: Workspace) -> None:
    for number in range(3001):
        (workspace.root / f"f{number}.txt").write_text(f"-r f{number + 1}.txt\np{number}\n")
    (workspace.root / "f3001.txt").write_text("last\n")
    requires = imported(workspace, "f0.txt")[0]["stack"]["requires"]
    assert (len(requires), requires[:2], requires[-1]) == (3002, ["last", "p3000"], "p0")


# --- what may be a secret

SECRETS = {
    "netrc": "machine host.example login bob password hunter2\n",
    "netrc in lines": "machine\n  host.example\nlogin\n  bob\npassword\n  hunter2!\n",
    "environ": "PATH=/bin\0TOKEN=hunter2\0",
    "passwd": "root:hunter2:0:0:root:/root:/bin/bash\n",
    "key": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbm/hunter2=\n"
    "-----END-----\n",
    "pypirc": "[index]\nusername = __token__\npassword = hunter2\n",
    "env": "export TOKEN=hunter2\n/hunter2\n~hunter2\n.hunter2\n-hunter2\n--hunter2=hunter2\n",
    "version": "password===hunter2/\n",
    "users": "hunter2@host.example/path\nx @ hunter2@host.example/path\n",
    "options": "--index-url hunter2 hunter2\n--config-settings hunter2\nsix --hash hunter2\n",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_import_quotes_no_line_it_cannot_read(workspace: Workspace, text: str) -> None:
    write(workspace, requirements_txt="six\n-r part\n", part=text)
    run = workspace.run("import", "requirements.txt", "-o", "my.toml")
    assert (
        (run.status, "part:1" in run.stdout) == (0, True) if "machine\n" not in text else (0, False)
    ), run
    assert "hunter2" not in run.stdout + run.stderr
    assert "hunter2" not in (workspace.root / "my.toml").read_text()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "--extra-index-url https://host.example/simple?token=hunter2",
            "--extra-index-url https://host.example/simple",
        ),
        (
            "--find-links=https://u:hunter2@host.example/x#hunter2",
            "--find-links https://host.example/x",
        ),
        ("--index-url https://u:1/hunter2@host.example/simple", "--index-url https://…"),
        (
            "x @ https://host.example/x-1.0.tar.gz?sig=hunter2",
            "x @ https://host.example/x-1.0.tar.gz",
        ),
        ("https://host.example/x-1.0.tar.gz?sig=hunter2", "https://host.example/x-1.0.tar.gz"),
        ("git+https://hunter2@host.example/x", "git+https://host.example/x"),
        ("x @ git+https://u:hunter2@host.example/x@v1", "x @ git+https://host.example/x@v1"),
        ("-r https://host.example/more.txt?token=hunter2", "-r"),
        ("x @ git+https://hunter2/x@host.example/o/r", "x @ git+https://…"),
        ("x @ git+https://u:p@hunter2#x@host.example/o/r@v1#egg=x", "x @ git+https://…"),
        ("-e git+https://hunter2#x@host.example/o/r@v1#egg=x", "git+https://…"),
        ("x ; os_name == 'u:hunter2 @host.example/'", "x …"),
        ("x===host.example/a?t=hunter2", "x …"),
        (
            "x @ https://host.example/x ; os_name == 'u:hunter2 @h.example/'",
            "x @ https://host.example/x ; …",
        ),
    ],
)
def test_import_shows_addresses_without_secrets(
    workspace: Workspace, line: str, shown: str
) -> None:
    write(
        workspace, requirements_txt=f"six\n{line}\n", constraints_txt="six\n-c c\n", c=f"{line}\n"
    )
    for file in ("requirements.txt", "constraints.txt"):
        run = workspace.run("import", file)
        assert run.status == 0, run
        document = imported_json(workspace, file)
        assert shown in [row["before"] for row in document["lines"]]
        assert "hunter2" not in json.dumps(document)
        assert "hunter2" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    "requirement",
    [
        f"x @ git+ssh://git@host.example:2222/o/r@{COMMIT}",
        "x @ git+ssh://git@host.example:2222/o/r@v2",
        "x @ git+https://host.example:8443/o/r@v1.0",
        f"x @ git+https://host.example:8443/o/r@{COMMIT}#subdirectory=a/b",
        "x @ git+file:///srv/r@v1.0",
        "x===1.0 ; platform_machine != 'x86_64'",
        "x==1!2.0.post1",
    ],
)
def test_import_takes_over_what_holds_no_password(workspace: Workspace, requirement: str) -> None:
    write(workspace, requirements_txt=f"{requirement}\n")
    stack, left_out = imported(workspace, "requirements.txt")
    assert (stack["stack"]["requires"], left_out) == ([requirement], [])


@pytest.mark.parametrize(
    "text",
    [
        "[tool.hunter2]\n[tool.hunter2]\n",
        "hunter2 = {a = 1}\nhunter2.b = 1\n",
        "x = {hunter2 = 1, hunter2 = 2}\n",
        '"hunter2 \' it" = 1\n"hunter2 \' it" = 1\n',
        "[a]\nb.hunter2 = 1\n[a.b.hunter2]\n",
        "x = hunter2\n",
    ],
)
def test_import_shows_no_key_of_toml(workspace: Workspace, text: str) -> None:
    write(workspace, pyproject_toml=text)
    run = workspace.run("import", "pyproject.toml")
    assert (run.status, run.error) == (2, "the file is not valid TOML"), run
    assert f"  at pyproject.toml:{text.count(chr(10))}\n" in run.stderr
    assert "hunter2" not in run.stderr


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        ('[dependency-groups]\na = [{ include-group = "hunter2" }]', "dependency group"),
        ('[project.optional-dependencies]\na = ["mine[hunter2]"]', "extra"),
    ],
)
def test_import_shows_no_name_of_a_list(workspace: Workspace, table: str, kind: str) -> None:
    option = "--group" if kind == "dependency group" else "--extra"
    write(workspace, pyproject_toml=f'[project]\nname = "mine"\n{table}\n')
    run = workspace.run("import", "pyproject.toml", option, "a")
    assert (run.status, run.error) == (2, f"there is no such {kind}"), run
    assert "  at pyproject.toml:4\nhint: known are a\n" in run.stderr
    assert "hunter2" not in run.stderr


@pytest.mark.parametrize("key", ["me:hunter2 x", "hunter2@host", "a/hunter2", "x" * 31 + "hunter2"])
@pytest.mark.parametrize("table", ["dependency-groups", "project.optional-dependencies"])
def test_import_suggests_no_key_that_is_no_name(workspace: Workspace, table: str, key: str) -> None:
    """A group or extra that the user asks for may be misspelt, and the file may be any file."""
    lists = f'"{key}" = ["six"]\nTest_All = ["six", "mine[nope]", {{ include-group = "nope" }}]\n'
    other_kind = ', { include-group = "nope" }' if "optional" in table else ', "mine[nope]"'
    lists = lists.replace(other_kind, "")
    write(workspace, pyproject_toml=f'[project]\nname = "mine"\n[{table}]\n{lists}')
    option = "--extra" if "optional" in table else "--group"
    for name in ("nope", key.replace("hunter2", "hunter"), "test-al", "test-all"):
        run = workspace.run("import", "pyproject.toml", option, name)
        assert (run.status, "hunter2" in run.stdout + run.stderr) == (2, False), run
        assert "known are test-all\n" in run.stderr or "did you mean `test-all`?" in run.stderr


@pytest.mark.parametrize("name", ["hunter2@host.example/r.txt", "host.example/r.txt?t=hunter2"])
def test_import_shows_no_path_of_a_line(workspace: Workspace, name: str) -> None:
    write(
        workspace, requirements_txt=f"six\n-r {name}\n", environment_yml=CONDA.format(f"-r {name}")
    )
    for folder in ("", f"{workspace.root}/"):
        for file, line in (("requirements.txt", 2), ("environment.yml", 4)):
            run = workspace.run("import", f"{folder}{file}")
            assert (run.status, run.error) == (2, "a file cannot be read"), run
            assert f"{file}:{line}\n  No such file or directory\n" in run.stderr
            assert "hunter2" not in run.stderr


CONDA = "name: x\ndependencies:\n  - pip:\n    - {}\n"


@pytest.mark.parametrize(
    ("item", "requires"),
    [
        ("'six >= 1'  # of old", ["six >= 1"]),
        ('"six"', ["six"]),
        ("'six ; os_name == ''posix'''", ["six ; os_name == 'posix'"]),
        ("'--index-url https://hunter2''x@host.example/'", []),
        ('"--index-url https://hunter2"x@host.example/', []),
        ('"--index-url https://hunter2\\"x@host.example/"', []),
        ("'x @ git+https://hunter2'/o/r@v1", []),
    ],
)
def test_import_reads_quoted_items_whole(
    workspace: Workspace, item: str, requires: list[str]
) -> None:
    write(workspace, environment_yml=CONDA.format(item) + "    - tqdm\n")
    run = workspace.run("import", "environment.yml")
    assert run.status == 0, run
    assert tomli.loads(run.stdout)["stack"]["requires"] == [*requires, "tqdm"]
    assert ("environment.yml:4\n" in run.stderr) == (not requires)
    assert "hunter2" not in run.stdout + run.stderr


@pytest.mark.parametrize("mark", ["\r", "\x0b", "\x0c", "\x1e", "\x85", "\u2028"])
def test_import_breaks_no_line_within_a_password(workspace: Workspace, mark: str) -> None:
    lines = (f"--index-url https://hunter2{mark}x@host.example/", f"x @ https:{mark}hunter2@h/o")
    for line in lines:
        items = CONDA.format(line) + "    - six\n"
        write(workspace, requirements_txt=f"six\n{line}\n", environment_yml=items)
        for name in ("requirements.txt", "environment.yml"):
            run = workspace.run("import", name)
            assert (run.status, tomli.loads(run.stdout)["stack"]["requires"]) == (0, ["six"]), run
            assert "hunter2" not in run.stderr


def test_import_reads_lines_with_any_number_of_returns(workspace: Workspace) -> None:
    """Only a carriage return within a line may be a part of a password."""
    (workspace.root / "requirements.txt").write_bytes(b"six\r\r\ntqdm\r\nnumpy\r")
    stack, left_out = imported(workspace, "requirements.txt")
    assert (stack["stack"]["requires"], left_out) == (["six", "tqdm", "numpy"], [])


@pytest.mark.parametrize(
    "line",
    [
        "https://hunter2 -x@host.example/a",
        "https://hunter2 --hash=x@host.example/a",
        "x @ git+https://hunter2/x -rest@host.example/o/r@v2",
        "x @ git+https://me:12/hunter2@v1 -rest@host.example/o/r@v2",
        "x @ git+https://me:12/hunter2@v1 --pre @host.example/o/r@v2",
        "x @ git+https://hunter2/x -i https://u@host.example/o/r",
        "hunter2 --pre x@host.example/a",
        "x @ git+https://me/hunter2@host.example",
        "x @ git+https://me/hunter2@host",
        "git+https://me/hunt/hunter2@host.example#egg=x",
        "hunter2 -rest",
        "hunter2 -ri https://host.example/a",
    ],
)
def test_import_ends_no_address_within_a_password(workspace: Workspace, line: str) -> None:
    """A dash after a space begins an option only if pip knows it, and no `@` follows an address."""
    items = CONDA.format(line) + "    - six\n"
    write(workspace, requirements_txt=f"six\n{line}\n", environment_yml=items)
    for name, where in (("requirements.txt", 2), ("environment.yml", 4)):
        run = workspace.run("import", name)
        assert (run.status, tomli.loads(run.stdout)["stack"]["requires"]) == (0, ["six"]), run
        assert f"{name}:{where}" in run.stderr
        assert "hunter2" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    "options",
    [
        "--hash=sha256:aa --hash sha256:bb",
        "--config-settings a=b",
        "-C a=b",
        "--pre",
        "--no-binary :all:",
        "--index-url https://u:hunter2@host.example/simple",
        "-i https://u:hunter2@host.example/simple --pre",
        "--global-option=--a",
    ],
)
def test_import_reads_options_after_a_requirement(workspace: Workspace, options: str) -> None:
    write(workspace, requirements_txt=f"six>=1 {options}\n")
    run = workspace.run("import", "requirements.txt")
    assert tomli.loads(run.stdout)["stack"]["requires"] == ["six>=1"], run
    assert "hunter2" not in run.stdout + run.stderr


LONG_LINES = {
    "path of slashes": "-r " + "/" * 3_000_000,
    "path of folders": "-r x/" + "a/" * 1_500_000,
    "path": "-r " + "a" * 30_000,
    "option": "--index-url " + "a" * 3_000_000,
    "address": "x @ https://" + "a" * 3_000_000,
    "markers": "\n".join(["six; os_name == '" + "a" * 15_000 + "'"] * 200),
    "slashes in markers": "\n".join(["six; os_name == '" + "/" * 15_000 + "'"] * 200),
    "continuations": "\\\n" * 30_000,
    "hashes": "six " + "--hash=sha256:a " * 200_000,
}


@pytest.mark.parametrize("line", LONG_LINES.values(), ids=LONG_LINES)
def test_import_of_long_lines_takes_little_time(workspace: Workspace, line: str) -> None:
    items = json.dumps(line.splitlines())
    write(
        workspace,
        requirements_txt=f"tqdm\n{line}\n",
        environment_yml=CONDA.format("tqdm") + f"    - {line}\n",
        pyproject_toml=f'[project]\nname = "mine"\ndependencies = {items}\n',
    )
    for name in ("requirements.txt", "environment.yml", "pyproject.toml"):
        begin = time.process_time()
        run = workspace.run("import", name)
        assert time.process_time() - begin < 4, name
        assert run.status in (0, 2), run
        assert not re.search(".{1000}", run.stderr)


def test_import_opens_its_folder_once(workspace: Workspace) -> None:
    """Whoever puts another folder in its place between two files changes nothing."""
    write(workspace, project__requirements_txt="six\n-r keep\n-r more\n", project__keep="tqdm\n")
    write(workspace, project__more="datasets\n")
    opened: list[str] = []

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            opened.append(str(arguments[0]))

    sys.addaudithook(hook)  # which cannot be removed
    assert len(imported(workspace, "project/requirements.txt")[0]["stack"]["requires"]) == 3
    assert opened.count(str(workspace.root / "project")) == 1


# What ends an address or a quotation, or makes a line another one.
HOSTILE = st.text("'\"`<>()[]{};:,.?#@/\\%&=+-_$!~^|* \tà aZ9", max_size=5)
USERS = [
    *(
        "demo @ https://u:{}@h.example/x.whl",
        "https://u:{}@h.example/x.whl",
        "demo===https://u:{}@h.example/x",
    ),
    *(
        "demo @ https:/u:{}@h.example/x.whl",
        "demo @ https:u:{}@h.example/x",
        "demo @ //u:{}@h.example/x.whl",
    ),
    *(
        "demo @ u:{}@h.example/x.whl",
        "demo @ git+https://u:{}@h.example/x.git@v1",
        "git+https://{}@h.example/x#egg=x",
    ),
    *(
        "git+git:{}@h.example:o/n.git@v1#egg=x",
        "demo @ svn+https://u:{}@h.example/x",
        "x ; os_name == 'https://u:{}@h/'",
    ),
]
QUERIES = [
    "demo @ https://h.example/x.whl?x={}",
    "demo @ https://h.example/x.whl#{}",
    "https://h.example/x.whl?{}",
]
OPTIONS = [
    "-i https://u:{}@h.example/",
    "--extra-index-url=https://h.example/?{}",
    "-e git+https://u:{}@h.example/x.git#egg=x",
]


def files_with(secret: str) -> dict[str, str]:
    """Return a file of each kind with a secret at each place of an address."""
    lines = [line.format(secret) for line in (*USERS, *QUERIES)]
    options = [line.format(secret) for line in OPTIONS]
    quoted = [json.dumps(line, ensure_ascii=False) for line in lines]
    items = "".join(f"  - {line}\n" for line in [*lines, *options, *quoted])
    vcs = json.dumps(f"https://u:{secret}@h.example/x.git", ensure_ascii=False)
    archive = json.dumps(f"https://h.example/x.tar.gz?{secret}", ensure_ascii=False)
    return {
        "requirements.txt": "\n".join(["six", *lines, *options]),
        "environment.yml": f"dependencies:\n  - pip:\n    - six\n{items.replace('  - ', '    - ')}",
        "pyproject.toml": f"[project]\nname = 'x'\ndependencies = ['six', {', '.join(quoted)}]\n",
        "conda.yml": f"dependencies:\n  - six=1\n{items}",
        "list.txt": f"{CONDA_LIST}six=1=pypi_0\n" + "\n".join(lines),
        "poetry.toml": "[tool.poetry.dependencies]\nsix = '*'\n"
        + "".join(f"a{n} = {{ git = {text}, tag = '1' }}\n" for n, text in enumerate(quoted))
        + "".join(f"b{n} = {text}\n" for n, text in enumerate(quoted))
        + "".join(f"{text} = '^1'\n" for text in quoted),
        "pylock.toml": "lock-version = '1.0'\ncreated-by = 'x'\n[[packages]]\nname = 'six'\n"
        "version = '1'\n"
        f"[[packages]]\nname = 'a'\nvcs = {{ type = 'git', url = {vcs}, commit-id = '{COMMIT}' }}\n"
        f"[[packages]]\nname = 'b'\narchive = {{ url = {archive}, hashes = {{ sha256 = 'aa' }} "
        "}\n",
    }


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=HOSTILE, after=HOSTILE)
@example(before="'", after="")
@example(before='x"', after="<")
def test_import_shows_no_secret_of_an_address(
    workspace: Workspace, before: str, after: str
) -> None:
    for name, text in files_with(f"{before}Hunter2{after}").items():
        (workspace.root / name).write_text(text, encoding="utf-8")
        for language in ("en", "zh"):
            run = workspace.run("import", name, "--lang", language)
            assert "Hunter2" not in run.stdout + run.stderr, name
            assert run.status in (0, 2), run


def outside(workspace: Workspace) -> None:
    """Write a file outside of a project, and files of the project that lead to it."""
    write(
        workspace,
        home__secret="bob\nhunter2\n",
        project__requirements_txt="six\n",
        project__keep="six\n",
    )
    (workspace.root / "project" / "link").symlink_to("../home/secret")
    (workspace.root / "project" / ".hidden").write_text("bob\nhunter2\n")
    (workspace.root / "project" / "folder").symlink_to("../home")


@pytest.mark.parametrize(
    "line",
    [
        *(
            "-r ../home/secret",
            "-c ../home/secret",
            "-r link",
            "-r folder/secret",
            "-r keep/../../home/secret",
        ),
        *(
            "-r {root}/home/secret",
            "-r .hidden",
            "-r /proc/self/environ",
            "--requirement=link",
            "-r ../home/absent",
        ),
    ],
)
def test_import_reads_no_file_outside_of_its_folder(workspace: Workspace, line: str) -> None:
    outside(workspace)
    requirements = workspace.root / "project" / "requirements.txt"
    requirements.write_text(f"six\n{line.format(root=workspace.root)}\n")
    run = workspace.run("import", "project/requirements.txt", "-o", "my.toml")
    where = "\n  at project/requirements.txt:2\n"
    assert (run.status, where in run.stderr, "secret" in run.stderr) == (2, True, False), run
    assert not (workspace.root / "my.toml").exists()
    environment = (
        "name: x\ndependencies:\n  - pip:\n    - " + line.format(root=workspace.root) + "\n"
    )
    (workspace.root / "project" / "environment.yml").write_text(environment)
    run = workspace.run("import", "project/environment.yml")
    assert (run.status, "environment.yml:4\n" in run.stderr) == (2, True), run


@pytest.mark.parametrize(
    ("line", "swapped"),
    [("-r keep", "keep"), ("-r sub/keep", "sub"), ("-r sub/keep", "keep"), ("-c link", "keep")],
)
def test_import_reads_what_it_judged(workspace: Workspace, line: str, swapped: str) -> None:
    """A link takes the place of a file or of its folder at the moment when it is opened."""
    write(
        workspace,
        home__keep="hunter2\n",
        project__keep="six\n",
        project__requirements_txt=f"six\n{line}\n",
    )
    project = workspace.root / "project"
    (project / "sub").mkdir()
    (project / "sub" / "keep").write_text("six\n")
    (project / "link").symlink_to("keep")

    def swap() -> None:
        for path in (project / swapped, project / "sub" / swapped):
            if path.exists():
                path.rename(workspace.root / f"{path.parent.name} {swapped}")
                path.symlink_to(workspace.root / "home" / ("keep" if swapped == "keep" else ""))

    with at_opening(swapped, swap):
        run = workspace.run("import", "project/requirements.txt")
    assert "hunter2" not in run.stdout + run.stderr
    assert (run.status, "is a link, which is not followed" in run.stderr) == (2, True), run


@contextmanager
def at_opening(name: str, action: Callable[[], None]) -> Iterator[None]:
    """Do something once, right before this process opens a path with a part of this name."""
    pending = [action]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and pending and name in str(arguments[0]).split("/"):
            pending.pop()()

    sys.addaudithook(hook)  # which cannot be removed
    yield
    assert not pending
    pending.clear()


def test_import_follows_no_link_of_a_project_that_leads_out(workspace: Workspace) -> None:
    outside(workspace)
    for name in ("requirements.txt", "pyproject.toml", "pylock.toml", "environment.yml"):
        path = workspace.root / "project" / name
        path.unlink(missing_ok=True)
        path.symlink_to("../home/secret")
        workspace.refused("a file outside of the folder is not read", "import", f"project/{name}")


def test_import_reads_within_the_folder_that_an_option_names(workspace: Workspace) -> None:
    outside(workspace)
    write(
        workspace,
        common_txt="datasets\n",
        project__requirements_txt="six\n-r ../common.txt\n-r .hidden\n",
    )
    stack, left_out = imported(workspace, "project/requirements.txt", "--root", ".")
    assert (stack["stack"]["requires"], left_out) == (["six", "datasets", "bob", "hunter2"], [])
    workspace.refused(
        "a file outside of the folder is not read",
        "import",
        "project/requirements.txt",
        "--root",
        "project",
    )


def test_import_reads_a_hidden_file_that_is_named(workspace: Workspace) -> None:
    (workspace.root / ".requirements").write_text("six\n")
    assert imported(workspace, ".requirements", "--name", "mine")[0]["stack"]["requires"] == ["six"]
