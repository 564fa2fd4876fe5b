"""activate.sh, sourced in a real bash: what it sets, what it leaves as it was, what it says is
missing.
"""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest

from tests.functional.machine import execute
from tests.functional.sources import add_backend, add_source
from tests.functional.test_scripts import SHELLCHECK
from tests.functional.workspace import HERE, Run, Workspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="activate.sh is for Linux")

NASTY = 'it\'s "two words" $(touch pwned) `touch pwned` ${HOME} \\ # ; touch pwned'
TARGET = HERE + '[target.system]\ncann = "8.5.0.B160"\n'
FACTS = f"""
[[builds]]
requires-from = "requirements/run.txt"
env = {{ TINY_DEVICE = "empty" }}
isolation = false
reason = "it is built for no device"

[[exports]]
id = "nasty"
env = {{ NASTY = '''{NASTY}''', SHARED = "1" }}
reason = "{NASTY.replace(chr(92), chr(92) * 2).replace('"', chr(92) + '"')}"

[[exports]]
id = "proposed"
env = {{ LD_PRELOAD = "/usr/local/lib/libjemalloc.so.2", SHARED = "1" }}
optional = true
reason = "less memory is lost to fragments"

[[exports]]
id = "of-another-release"
versions = "==0.9"
env = {{ OTHER = "1" }}
reason = "it is of 0.9"
"""
# What a shell that sourced it is, a line each; nothing of the file itself stays.
TELL = """
printf '%s\\n' "status $status" "$NASTY" "$SHARED" "${LD_PRELOAD-unset}" "${OTHER-unset}" "${TINY_DEVICE-unset}" \
    "${VIRTUAL_ENV-none}" "${CANN_TELLS-no CANN}" "${NNAL_TELLS-no NNAL}"
declare -F | grep ascend_lock && echo "functions are left"
case $- in *[eu]*) echo "options $-" ;; esac
exit 0
"""


@pytest.fixture
def locked(workspace: Workspace) -> Workspace:
    add_backend(workspace.index)
    add_source(workspace.index, "here", "0.9")
    add_source(workspace.index, "here", "1.0")
    workspace.facts("here", FACTS)
    workspace.locked_before("here", target=TARGET)
    return workspace


def ascend(workspace: Workspace) -> Path:
    """A root like that of an installation. Its set_env.sh are as careless as the real ones."""
    root = workspace.root / "As cend"
    for path, text in {
        "cann-8.5.0/set_env.sh": 'export ASCEND_HOME_PATH="$1$(dirname "${BASH_SOURCE[0]}")"\n[ -n "$ZSH_VERSION" ]\n',
        "cann-8.3.RC1/set_env.sh": "export CANN_TELLS=another\n",
        "cann-8.5.0/share/info/ascendnpu-ir/bin/set_env.sh": 'export CANN_TELLS="compiler, $#"\n',
        "nnal/atb/set_env.sh": 'false\nexport NNAL_TELLS="$# in ${VIRTUAL_ENV##*/}"\n[ -n "$ZSH_VERSION" ]\n',
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def source(workspace: Workspace, before: str = "", arguments: str = "", **variables: str) -> Run:
    """Source it in a bash of its own from the workspace's folder, and tell what came of it."""
    script = workspace.folder() / "activate.sh"
    lines = f"{before}\nstatus=0\n. '{script}' {arguments} || status=$?\n{TELL}"
    return execute(workspace, ["bash", "-c", lines, "bash", "of", "the", "caller"], **variables)


@pytest.mark.parametrize("options", ["", "set -u", "set -eu", "set -euo pipefail"])
def test_it_brings_in_cann_the_environment_nnal_and_what_facts_name(
    locked: Workspace, options: str
) -> None:
    venv.create(locked.folder() / "env", with_pip=False)
    run = source(locked, options, ASCEND_LOCK_ROOT=str(ascend(locked)))
    assert (run.status, run.stderr) == (0, "")
    told, kept = run.stdout.splitlines()[:9], run.stdout.splitlines()[9:]
    unset = ["unset"] * 3
    assert told == [
        "status 0",
        NASTY,
        "1",
        *unset,
        "<root>/locks/demo/here/env",
        "compiler, 0",
        "0 in env",
    ]
    letters = options.removeprefix("set -").split("o ")[0].strip()
    assert (
        "".join(
            sorted(
                {char for line in kept for char in line.removeprefix("options ") if char in "eu"}
            )
        )
        == letters
    )
    assert all(line.startswith("options ") for line in kept), "no functions are left"
    assert not list(locked.root.rglob("pwned"))


def test_an_environment_beside_a_link_to_it_or_beside_itself_is_found(locked: Workspace) -> None:
    link = locked.root / "links" / "activate.sh"
    link.parent.mkdir()
    link.symlink_to(locked.folder() / "activate.sh")
    root = str(ascend(locked))
    for folder in (locked.folder(), link.parent):  # which goes first
        venv.create(folder / "env", with_pip=False)
        told = execute(
            locked, ["bash", "-c", f'. "{link}"; echo "$VIRTUAL_ENV"'], ASCEND_LOCK_ROOT=root
        )
        assert (told.stderr, told.stdout) == ("", f"{locked.plain(str(folder))}/env\n")


NO_NNAL = {"ASCEND_LOCK_NNAL": ""}


@pytest.mark.parametrize(
    ("variables", "found", "told"),
    [
        # each part can be named, or left out
        (
            {
                "ASCEND_LOCK_CANN": "<root>/own/Ascend/cann-8.3.RC1/set_env.sh",
                "VIRTUAL_ENV": "/x",
                **NO_NNAL,
            },
            "0 /x another",
            [],
        ),
        ({"ASCEND_LOCK_CANN": "", "ASCEND_LOCK_ENV": "", **NO_NNAL}, "0 none no CANN", []),
        # the CANN of a user is in the home folder; one that is active stays
        ({"HOME": "<root>/own", "VIRTUAL_ENV": "/x"}, "0 /x compiler, 0", []),
        ({"ASCEND_HOME_PATH": "<root>", "VIRTUAL_ENV": "/x", **NO_NNAL}, "0 /x no CANN", []),
        # what is missing is told, and the rest is done
        (
            {"ASCEND_LOCK_CANN": "/no/file", "ASCEND_LOCK_ENV": "/no/env", **NO_NNAL},
            "1 none no CANN",
            [
                "CANN 8.5.0 was not found: there is no /no/file",
                "/no/env is not a virtual environment: it has no bin/activate",
            ],
        ),
        (
            {"ASCEND_LOCK_ROOT": "/nowhere"},
            "1 none no CANN",
            [
                "CANN 8.5.0 was not found: there is no /nowhere/ascend-toolkit/set_env.sh, ",
                "no environment is active, and neither <root>/locks/demo/here/env nor ",
                "NNAL was not found: there is no /nowhere/nnal/atb/set_env.sh; ",
            ],
        ),
    ],
)
def test_each_part_is_found_or_told(
    locked: Workspace, variables: dict[str, str], found: str, told: list[str]
) -> None:
    (locked.root / "own").mkdir()
    ascend(locked).rename(locked.root / "own" / "Ascend")
    here = {name: value.replace("<root>", str(locked.root)) for name, value in variables.items()}
    run = source(locked, "set -u", **here)
    lines = run.stdout.splitlines()
    assert (f"{lines[0].removeprefix('status ')} {lines[6]} {lines[7]}", lines[1]) == (found, NASTY)
    assert lines[8] == ("0 in x" if variables.get("HOME") else "no NNAL")
    errors = run.stderr.splitlines()[::2]
    assert all(
        row.startswith(f"activate.sh: {start}") for row, start in zip(errors, told, strict=True)
    )
    assert all(row.startswith("hint: ") for row in run.stderr.splitlines()[1::2])


def test_it_is_clean_and_refuses_to_be_run(locked: Workspace) -> None:
    script = str(locked.folder() / "activate.sh")
    assert execute(locked, [*SHELLCHECK, script]).stdout == ""
    run = execute(locked, [script])
    shown = locked.plain(script)
    assert (run.status, run.stderr) == (
        1,
        f"activate.sh: source this file instead of running it: . {shown}\n",
    )
    run = execute(locked, ["sh", "-c", f". '{script}'"])
    assert (run.status, run.stderr) in [
        (1, "activate.sh: this shell is not bash; source the file in bash\n"),
        (0, ""),
    ]


def test_what_facts_cannot_set(workspace: Workspace) -> None:
    workspace.serve("base 1.0", "top 1.0")
    workspace.stack("base", "top", target=HERE)
    exports = '[[exports]]\nenv = {{ {} = "{}" }}\nreason = "so it is"\n'
    workspace.facts("base", exports.format("NZ", 0))
    workspace.facts("top", exports.format("NZ", 1))
    workspace.refused(
        "the facts `base-exports-1` and `top-exports-1` give NZ different values", "lock", "demo"
    )
    why = "it decides which programs, modules or settings count, or which hosts are asked"
    for variable in ("UID", "PATH", "PIP_INDEX_URL", "LD_AUDIT", "PYTHONPATH"):
        workspace.facts("base", exports.format(variable, 1))
        run = workspace.refused(f"`{variable}` cannot be set here", "lock", "demo")
        assert f"\n  {why}\n" in run.stderr
    assert not workspace.locks.exists()
