"""install.sh of every kind of lock is clean bash, in which text from elsewhere is only text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from resolver.lock import file as lock_file
from resolver.lock.bundle import BundledLock
from resolver.report.script import activation, bundle_script, script, stage_texts
from tests.functional.machine import execute, install, installed, lines, make_environment
from tests.functional.sources import add_backend, add_source
from tests.functional.workspace import HERE, PYTHON_LINE, REPOSITORY, Workspace
from tests.loopback import LoopbackIndex

# SC2016 is the remark that nothing expands between single quotes, which is what they are there for.
SHELLCHECK = [str(Path(sys.executable).with_name("shellcheck")), "--exclude=SC2016"]
COMMANDS = (
    'it\'s \\"quoted\\" $(touch pwned) `touch pwned` ${HOME} \\\\ ; touch pwned # \\n touch pwned'
)
# No source goes over several lines.
SOURCE = f'source = "tried on linux-x86_64 (2026-11-20): {COMMANDS.replace(chr(92) + "n", "")}"'
BUILDS = f"""
[[builds]]
requires-from = "requirements/run.txt"
env = {{ TINY_FLAVOUR = "{COMMANDS.replace(chr(92) + "n", "")}", OTHER = "" }}
isolation = false
reason = "{COMMANDS}"
"""


def built_apart_with_tools_that_no_index_has(workspace: Workspace) -> None:
    add_source(workspace.index, "apart", "1.0")
    workspace.stack("apart", target=HERE)


def another_index(workspace: Workspace) -> None:
    name = "it's;$(touch${IFS}pwned)&`touch${IFS}pwned`"
    workspace.index.add_wheel("base", "1.0", index=name)
    workspace.indexes(f"""
        [[index]]
        name = "other"
        url = "{workspace.index.url_of(name)}"
        packages = ["base"]
    """)
    workspace.stack("base", target=HERE)


def everything(workspace: Workspace) -> None:
    """Make a lock with both kinds of builds, hostile texts, a machine, a driver, an override."""
    add_backend(workspace.index)
    for name in ("apart", "here"):
        add_source(workspace.index, name, "1.0")
    workspace.serve("base 1.0: absent[x]>=1 ; python_version > '3'", "top 1.0")
    workspace.facts("here", BUILDS)
    workspace.facts(
        "top", f'[[after]]\nothers = ["base"]\nid = "{COMMANDS}"\nreason = "{COMMANDS}"\n'
    )
    workspace.facts(
        "base",
        f'[[warns]]\nunless = ["hdk >= 26.0.rc1"]\n'
        f'text = "{COMMANDS}"\nreason = "{COMMANDS}"\n{SOURCE}\n'
        '[[replaces]]\ndrop = ["absent"]\nreason = "it is never imported"\n',
    )
    words = f"""
        [[departs]]
        guide = "{COMMANDS}"
        here = "{COMMANDS}"
        here-zh = "{COMMANDS}"
        reason = "{COMMANDS}"
        reason-zh = "{COMMANDS}"
        [check]
        imports = ["base"]
        env = {{ A = "$(touch pwned) it's", B = "`touch pwned`" }}
    """
    machine = HERE + '[target.system]\ncann = "8.5.0.B160"\nhdk = "25.3.rc1.2"\nsoc = "A2"\n'
    workspace.stack("apart", "base", "here", "top", target=machine, more=words)
    workspace.edit("stacks/demo.toml", "a stack of tests", COMMANDS)


def from_git(workspace: Workspace) -> None:
    add_backend(workspace.index)
    words = "it's $(touch pwned) `touch pwned` ; touch pwned"
    for name, more in {
        "edited": f"""
            editable = true
            rewrites = ["base", "scripted"]
            subdirectory = "{words}"
            steps = [
                {{ move = "{words}", to = "x {words}" }},
                {{ comment = "{words}", in = "{words}" }},
                {{ run = ["{words}", "{words}"] }},
            ]
            submodules = [
                {{ path = "x {words}", git = "file:///nowhere/x.git", commit = "{"b" * 40}" }},
                {{ path = "x {words}/y {words}", git = "file:///nowhere/y.git", \
commit = "{"c" * 40}" }},
            ]
            """,
        "scripted": (
            f'isolation = false\nsteps = [{{ run = ["echo", "{words}"], wheels = "{words}*.whl" }}]'
        ),
        "plain": f"""env = {{ A = "{words}" }}""",
    }.items():
        row = f"""
            [[sources]]
            git = "file:///nowhere/{name}.git"
            commit = "{"a" * 40}"
            ref = "{words}"
            version = "1.0"
            requires = ["base"]
            build-requires = ["tinybuild"]
            reason = "{COMMANDS}"
            {more}
            """
        workspace.facts(name, row)
    workspace.serve("base 1.0")
    rows = f'[[absent]]\npackage = "gone"\nreason = "{COMMANDS}"\n'
    asks = [
        f"{name} @ git+file:///nowhere/{name}@{'a' * 8}" for name in ("edited", "plain", "scripted")
    ]
    workspace.stack(*asks, target=HERE, more=rows)


KINDS = [built_apart_with_tools_that_no_index_has, another_index, everything, from_git]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__.replace("_", " "))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A lock of this kind; its index is gone."""
    with LoopbackIndex() as index:
        workspace = Workspace(tmp_path_factory.mktemp("made") / "work", index)
        request.param(workspace)
        workspace.locked()
    return workspace


def test_the_script_is_clean_and_runs_nothing_that_it_was_told(made: Workspace) -> None:
    script = str(made.folder() / "install.sh")
    subprocess.run(["bash", "-n", script], check=True)
    assert (
        subprocess.run([*SHELLCHECK, script], capture_output=True, text=True, check=False).stdout
        == ""
    )
    run = install(made, sys.executable, "--dry-run", "--skip-system-checks")
    assert run.status == 0, run.stderr
    assert run.stdout.endswith("dry run: nothing was changed\n")
    told = execute(
        made, [sys.executable, "-I", "-W", "error", str(made.folder() / "verify.py"), "--json"]
    )
    assert (told.status, told.stderr) == (1, "")
    assert told.json["wrong"] >= 1, "nothing of it is installed here"
    assert not list(made.root.rglob("pwned"))


# What decides which way a script goes, and what can be read as nothing else.
CLOSED = (
    "mode",
    "python",
    "external",
    "strength",
    "code",
    "requires",
    "build-requires",
    "fact-requires",
)


def full_of_commands(value: Any, key: str = "") -> Any:
    """A lock's data with commands in each text of it that is not closed."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        return type(value)(
            **{name: full_of_commands(getattr(value, name), key) for name, key in names}
        )
    if isinstance(value, dict):
        return {name: full_of_commands(one, name) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(full_of_commands(one, key) for one in value)
    given = isinstance(value, str) and key not in CLOSED
    return (
        f"{value}'\"; touch pwned; \"'\ntouch pwned\nEND\n$(touch pwned)`touch pwned`"
        if given
        else value
    )


@pytest.mark.parametrize("stack", ["mindspeed-rl", "verl-qwen3.5"])
def test_scripts_run_no_text_of_a_lock(stack: str, tmp_path: Path) -> None:
    """No template has a value between single quotes, or lacks the mark of a value of commands."""
    source = max((REPOSITORY / "locks" / stack).iterdir())
    lock = full_of_commands(lock_file.read(source))
    labels = (
        "x'; touch pwned; '" * (pin.mode == "built-here" and pin.git is None) for pin in lock.pin
    )
    pins = tuple(replace(pin, label=label) for pin, label in zip(lock.pin, labels, strict=True))
    target = replace(lock.target, python=PYTHON_LINE + ".0")
    lock = replace(lock, target=target, pin=pins)
    locks = [
        BundledLock(
            stack="s", target=target.name, platform=target.platform, python=target.python, folder=""
        )
    ]
    texts = {
        "install.sh": script(lock),
        "activate.sh": activation(lock),
        "bundle.sh": bundle_script(locks)["install.sh"],
    }
    for path in ("verify.py", "locks/x", *stage_texts(lock)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(
            "a==1" if path.endswith(".txt") else "print('word=1\\0', end='')"
        )
    for name in ("install.sh", "activate.sh", "bundle.sh"):
        (tmp_path / name).write_text(texts[name])
        subprocess.run(["bash", "-n", name], cwd=tmp_path, check=True)
    before = sorted(tmp_path.rglob("*"))
    for command, status, ending in (
        (
            [
                "install.sh",
                "--dry-run",
                "--skip-system-checks",
                "--wheelhouse",
                ".",
                "--python",
                sys.executable,
            ],
            0,
            "nothing was changed\n",
        ),
        (["bundle.sh", "none"], 1, "this bundle has no lock none"),
        (["-c", "ASCEND_LOCK_ENV= . ./activate.sh"], 1, "was not found"),
    ):
        run = subprocess.run(
            ["bash", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (run.returncode, ending in run.stdout + run.stderr) == (status, True), run
    assert sorted(tmp_path.rglob("*")) == before


def test_no_module_beside_who_starts_the_script_is_run(made: Workspace) -> None:
    """Without -I, `python -m venv` imports a `logging.py` of the current folder."""
    assert re.findall(r'"\$(?:python|with|1)" -m .*', made.read("install.sh")) == []


def test_requirements_files_hold_comments_and_hashed_pins_alone(made: Workspace) -> None:
    files = list(made.folder().rglob("*.txt"))
    assert files
    for path in files:
        text = path.read_text().replace(" \\\n", " ")
        for line in text.splitlines():
            # what comes from git has no hash of a file, but what stands for its commit and steps
            hashes = r"( +--hash=sha256:[0-9a-f]{64})+"
            pin = rf"[a-z0-9-]+==\S+({hashes}|  # source [0-9a-f]{{32}}( editable)?)"
            assert not line or line.lstrip()[0] == "#" or re.fullmatch(pin, line)


def test_a_variable_that_would_end_its_line_is_refused(workspace: Workspace) -> None:
    """It would add a line to requirements-no-deps.txt, where the command is told in a comment."""
    workspace.facts("here", BUILDS.replace('OTHER = ""', 'OTHER = "x\\nevil==1.0"'))
    workspace.stack("here", target=HERE)
    workspace.refused("a text has characters that do not print", "lock", "demo")


def test_what_a_dry_run_shows_installs_all_of_it_if_pasted(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    python = make_environment(workspace.root / "an env")
    everything(workspace)
    workspace.locked()
    run = install(workspace, python, "--dry-run", "--skip-system-checks")
    commands = [line.removeprefix("would run: ") for line in lines(run.stdout, "would run: ")]
    script = (
        "\n".join(commands).replace("<root>", str(workspace.root)).replace("<server>", index.url)
    )
    pasted = execute(workspace, ["bash", "-euc", script])
    assert (pasted.status, pasted.stderr) == (0, "")
    assert installed(python) == dict.fromkeys(("apart", "base", "here", "tinybuild", "top"), "1.0")
    told = execute(
        workspace, [str(python), "-c", "import here; print(here.built['flavour'])"]
    ).stdout
    assert told.startswith('it\'s "quoted" $(touch pwned) `touch pwned` ${HOME} \\ ; touch pwned #')
    assert not list(workspace.root.rglob("pwned"))
