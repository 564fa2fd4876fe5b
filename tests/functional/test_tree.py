"""`ascend-lock tree`: who requires what in a lock, down and up, as a flowchart and JSON."""

from __future__ import annotations

import pytest

from tests.functional.workspace import Workspace, targets


@pytest.fixture
def locked(workspace: Workspace) -> Workspace:
    """A stack named like a project of it.

    A fact, too, requires `low`; `loop` and `back` require each other.
    """
    workspace.index.add_wheel("demo", "1.0", requires=["mid[fast]>=1", "loop"], extras={"x": []})
    workspace.index.add_wheel("mid", "2.0", requires=["low<3"], extras={"fast": ["quick"]})
    workspace.serve("low 1.0: base", "base 1.0", "quick 1.0", "loop 1.0: back", "back 1.0: loop")
    workspace.facts("quick", '[[requires]]\nid = "quick-low"\nneeds = ["low==1.0"]\nreason = "r"\n')
    workspace.locked_stack("demo", "low", "absent; sys_platform == 'win32'")
    return workspace


def tree(workspace: Workspace, *arguments: str, stack: str = "demo") -> str:
    run = workspace.run("tree", stack, *arguments)
    assert (run.status, run.stderr) == (0, "")
    return run.stdout


def test_downwards(locked: Workspace) -> None:
    assert (
        tree(locked)
        == """\
demo/there
├── demo 1.0
│   ├── loop 1.0
│   │   └── back 1.0
│   │       └── loop 1.0 (*)
│   └── mid[fast] 2.0 [required: [fast]>=1]
│       ├── low 1.0 [required: <3]
│       │   └── base 1.0
│       └── quick 1.0
│           └── low 1.0 [required: ==1.0 (fact quick-low)] (*)
└── low 1.0 (*)
(*) Its requirements are shown above.
"""
    )
    assert tree(locked, "--depth", "1") == "demo/there\n├── demo 1.0\n└── low 1.0\n"
    deep = tree(locked, "--depth", "3")
    assert deep.count("low 1.0 [required: <3]\n") == 1
    assert deep.endswith("└── low 1.0\n    └── base 1.0\n"), (
        "above, the depth cut off what is below it"
    )
    assert tree(locked, "--depth", "1", "--package", "Mid", "--package", "base") == (
        "mid[fast] 2.0\n├── low 1.0 [required: <3]\n└── quick 1.0\nbase 1.0\n"
    )


def test_an_outdated_lock_is_shown_with_a_warning(workspace: Workspace) -> None:
    """`verify` warns, too, before it looks for an environment."""
    workspace.serve("a 1.0 2.0")
    workspace.locked_stack("a<2")
    workspace.stack("a>=2")
    run = workspace.run("tree", "demo")
    assert (run.status, run.stdout) == (0, "demo/there\n└── a 1.0 [required: <2]\n")
    changed = "warning: the stack or the facts have changed since demo was locked"
    assert run.stderr.startswith(changed)
    assert workspace.run("verify", "demo", "--python", "/nowhere").stderr.startswith(changed)
    folder = workspace.locks / "demo"
    assert workspace.run("tree", str(folder)).stderr == ""


def test_upwards(locked: Workspace) -> None:
    assert (
        tree(locked, "--invert", "--package", "base", "--lang", "zh")
        == """\
base 1.0
└── low 1.0 [要求 base]
    ├── demo/there [要求 low]
    ├── mid[fast] 2.0 [要求 low <3]
    │   └── demo 1.0 [要求 mid [fast]>=1]
    │       └── demo/there [要求 demo]
    └── quick 1.0 [要求 low ==1.0（事实 quick-low）]
        └── mid[fast] 2.0 [要求 quick] (*)
(*) 它的依赖见上文。
"""
    )
    assert tree(locked, "--invert", "--depth", "1").splitlines() == [
        "base 1.0",
        "└── low 1.0 [requires: base]",
    ]


def test_as_a_flowchart(locked: Workspace) -> None:
    assert (
        tree(locked, "--format", "mermaid", "--package", "mid")
        == """\
flowchart LR
    n0["base 1.0"]
    n1["low 1.0"]
    n2["mid[fast] 2.0"]
    n3["quick 1.0"]
    n1 --> n0
    n2 -->|"#lt;3"| n1
    n2 --> n3
    n3 -->|"==1.0 (fact quick-low)"| n1
"""
    )
    upwards = tree(locked, "--format", "mermaid", "--package", "low", "--invert", "--depth", "1")
    assert upwards.splitlines()[-3:] == [
        "    n0 --> n1",
        '    n2 -->|"#lt;3"| n1',
        '    n3 -->|"==1.0 (fact quick-low)"| n1',
    ]


def test_as_json(locked: Workspace) -> None:
    (told,) = locked.run("tree", "demo", "--json", "--depth", "2").json["targets"]
    assert (told["stack"], told["target"], told["roots"]) == ("demo", "there", [""])
    packages = {one["name"]: (one["version"], one["requires"]) for one in told["packages"]}
    assert packages == {
        "": ("", {"demo": [], "low": []}),
        "base": ("1.0", {}),
        "demo": ("1.0", {"loop": [], "mid": ["[fast]>=1"]}),
        "loop": ("1.0", {}),
        "low": ("1.0", {"base": []}),
        "mid": ("2.0", {}),
    }, "what is two levels below the stack is there without what it requires"


def test_several_targets_one_of_which_has_the_project(locked: Workspace) -> None:
    lines = ("low", *(f"{name}; platform_machine == 'x86_64'" for name in ("base", "loop")))
    locked.stack(*lines, name="two", target=targets("aarch64", "x86_64"))
    locked.locked(stack="two")
    assert tree(locked, "--depth", "0", stack="two") == "two/aarch64\n\ntwo/x86_64\n"
    assert tree(locked, "--package", "loop", "--depth", "0", stack="two") == "loop 1.0\n"
    assert tree(locked, "--package", "low", "--depth", "0", stack="two") == (
        "two/aarch64:\nlow 1.0\n\ntwo/x86_64:\nlow 1.0\n"
    )
    assert (
        tree(
            locked, "--target", "aarch64", "--format", "mermaid", "--depth", "0", stack="two"
        ).count("\n")
        == 2
    )
    run = locked.run("tree", "two", "--format", "mermaid")
    assert (run.status, run.stderr.splitlines()[-1]) == (
        2,
        "hint: choose one: two/aarch64, two/x86_64",
    )
    run = locked.run("tree", "two", "--package", "lowe")
    assert (run.status, run.error, run.stderr.splitlines()[-1]) == (
        2,
        "the lock has no project `lowe`",
        "hint: did you mean `low`?",
    )


def test_tree_names_a_fact_in_the_language_of_the_run(workspace: Workspace) -> None:
    workspace.serve("a 1.0", "low 1.0")
    workspace.facts("a", '[[requires]]\nid = "a-low"\nneeds = ["low"]\nreason = "r"\n')
    workspace.locked_stack("a")
    assert "low 1.0 [required: (fact a-low)]" in tree(workspace)
    assert "low 1.0 [要求 （事实 a-low）]" in tree(workspace, "--lang", "zh")


def test_what_a_lock_says_reaches_no_terminal_as_a_command(locked: Workspace) -> None:
    path = locked.folder() / "lock.toml"
    text = (
        path.read_text()
        .replace('"quick-low"', '"quick\\u001B[31m"')
        .replace("quick-low =", '"quick\\u001B[31m" =')
    )
    path.write_text(text)
    assert "fact quick\\x1b[31m)" in tree(locked)
    assert "fact quick\\x1b[31m)" in tree(locked, "--format", "mermaid")
