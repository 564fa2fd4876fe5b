"""activate.sh, sourced in a real bash: what it sets, what it leaves as it was, what it says is missing."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.functional.machine import execute
from tests.functional.sources import add_backend, add_source
from tests.functional.test_scripts import SHELLCHECK
from tests.functional.workspace import HERE, REPOSITORY, Run, Workspace
from tests.loopback import LoopbackIndex

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


def with_exports(workspace: Workspace, index: LoopbackIndex) -> None:
    add_backend(index)
    add_source(index, "here", "0.9")
    add_source(index, "here", "1.0")
    workspace.facts("here", FACTS)
    workspace.stack("here", target=TARGET)


@pytest.fixture
def locked(workspace: Workspace, begin_with: Callable[[Callable[..., None]], None]) -> Workspace:
    begin_with(with_exports)
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
def test_it_brings_in_cann_the_environment_nnal_and_what_facts_name(locked: Workspace, options: str) -> None:
    venv.create(locked.folder() / "env", with_pip=False)
    run = source(locked, options, ASCEND_LOCK_ROOT=str(ascend(locked)))
    assert (run.status, run.stderr) == (0, "")
    expected = [
        "status 0",
        NASTY,
        "1",
        "unset",
        "unset",
        "unset",
        "<root>/locks/demo/here/env",
        "compiler, 0",
        "0 in env",
    ]
    letters = options.removeprefix("set -").split("o ")[0]
    assert run.stdout.splitlines()[:9] == expected
    assert [line for line in run.stdout.splitlines()[9:] if not line.startswith("options")] == []
    kept = "".join(sorted({char for line in run.stdout.splitlines()[9:] for char in line[8:] if char in "eu"}))
    assert kept == letters.strip()
    assert not list(locked.root.rglob("pwned"))


@pytest.mark.parametrize("beside", ["link", "file"])
def test_an_environment_beside_a_link_to_it_or_beside_itself_is_found(locked: Workspace, beside: str) -> None:
    links = locked.root / "links"
    links.mkdir()
    link = links / "activate.sh"
    link.symlink_to(locked.folder() / "activate.sh")
    venv.create((links if beside == "link" else locked.folder()) / "env", with_pip=False)
    told = execute(locked, ["bash", "-c", f'. "{link}"; echo "$VIRTUAL_ENV"'], ASCEND_LOCK_ROOT=str(ascend(locked)))
    assert told.stderr == ""
    assert told.stdout == {"link": "<root>/links/env\n", "file": "<root>/locks/demo/here/env\n"}[beside]


def test_the_cann_of_a_user_is_in_the_home_folder(locked: Workspace) -> None:
    root = ascend(locked)
    home = root.parent / "own"
    home.mkdir()
    root.rename(home / "Ascend")
    run = source(locked, "set -u", HOME=str(home), VIRTUAL_ENV="/x")
    assert (run.stdout.splitlines()[0], run.stderr) == ("status 0", "")
    assert run.stdout.splitlines()[7:9] == ["compiler, 0", "0 in x"]


def test_what_is_missing_is_told_and_the_rest_is_done(locked: Workspace) -> None:
    run = source(locked, "set -u", ASCEND_LOCK_ROOT="/nowhere")
    assert run.stdout.splitlines()[:2] == ["status 1", NASTY]
    assert run.stderr == (
        "activate.sh: CANN 8.5.0 was not found: there is no /nowhere/ascend-toolkit/set_env.sh, "
        "/nowhere/cann*/set_env.sh\n"
        "hint: set ASCEND_LOCK_CANN=/path/to/set_env.sh\n"
        "activate.sh: no environment is active, and neither <root>/locks/demo/here/env nor "
        "<root>/locks/demo/here/.venv contains one\n"
        "hint: activate the one that install.sh installed into, or set ASCEND_LOCK_ENV=DIR\n"
        "activate.sh: NNAL was not found: there is no /nowhere/nnal/atb/set_env.sh; programs that call its "
        "operators, such as vllm-ascend, will fail\n"
        "hint: install the NNAL of CANN 8.5.0, or set ASCEND_LOCK_NNAL to its set_env.sh (empty to do without)\n"
    )


def test_each_part_can_be_named_or_left_out(locked: Workspace) -> None:
    root = ascend(locked)
    named = {"ASCEND_LOCK_CANN": str(root / "cann-8.3.RC1" / "set_env.sh"), "ASCEND_LOCK_NNAL": "", "VIRTUAL_ENV": "/x"}
    run = source(locked, "set -u", **named)
    assert run.stderr == ""
    assert run.stdout.splitlines()[0] == "status 0"
    assert run.stdout.splitlines()[6:9] == ["/x", "another", "no NNAL"]
    run = source(locked, "set -u", ASCEND_LOCK_CANN="", ASCEND_LOCK_NNAL="", ASCEND_LOCK_ENV="")
    assert (run.stderr, run.stdout.splitlines()[0], run.stdout.splitlines()[6]) == ("", "status 0", "none")
    run = source(locked, "set -u", ASCEND_LOCK_CANN="/no/file", ASCEND_LOCK_NNAL="", ASCEND_LOCK_ENV="/no/env")
    assert run.stderr.splitlines()[::2] == [
        "activate.sh: CANN 8.5.0 was not found: there is no /no/file",
        "activate.sh: /no/env is not a virtual environment: it has no bin/activate",
    ]


def test_a_cann_that_is_active_stays(locked: Workspace) -> None:
    run = source(locked, ASCEND_HOME_PATH=str(locked.root), ASCEND_LOCK_NNAL="", VIRTUAL_ENV="/x")
    assert (run.stderr, run.stdout.splitlines()[0], run.stdout.splitlines()[7]) == ("", "status 0", "no CANN")


def test_it_is_clean_and_refuses_to_be_run(locked: Workspace) -> None:
    scripts = [str(path) for path in (*REPOSITORY.glob("locks/*/*/activate.sh"), locked.folder() / "activate.sh")]
    assert len(scripts) > 1
    found = subprocess.run([*SHELLCHECK, *scripts], capture_output=True, text=True, check=False)
    assert found.stdout == ""
    run = execute(locked, [scripts[-1]])
    shown = locked.plain(scripts[-1])
    assert (run.status, run.stderr) == (1, f"activate.sh: source this file instead of running it: . {shown}\n")
    run = execute(locked, ["sh", "-c", f". '{scripts[-1]}'"])
    assert (run.status, run.stderr) in [(1, "activate.sh: this shell is not bash; source the file in bash\n"), (0, "")]


def test_lock_and_report_tell_them(locked: Workspace) -> None:
    assert locked.content()["export"] == [
        {"name": "LD_PRELOAD", "value": "/usr/local/lib/libjemalloc.so.2", "optional": True, "facts": ["proposed"]},
        {"name": "NASTY", "value": NASTY, "facts": ["nasty"]},
        {"name": "SHARED", "value": "1", "facts": ["nasty", "proposed"]},
    ]
    report = locked.read("report.md")
    assert "| LD_PRELOAD | /usr/local/lib/libjemalloc.so.2 | optional | less memory is lost to fragments |" in report
    text = locked.read("activate.sh")
    assert (
        "    # optional: less memory is lost to fragments (proposed: a test)\n"
        "    # export LD_PRELOAD=/usr/local/lib/libjemalloc.so.2\n"
    ) in text
    assert "TINY_DEVICE" not in text


def test_two_facts_that_disagree_are_an_error(workspace: Workspace, index: LoopbackIndex) -> None:
    for name, value in (("base", "0"), ("top", "1")):
        index.add_wheel(name, "1.0")
        workspace.facts(name, f'[[exports]]\nenv = {{ NZ = "{value}" }}\nreason = "so it is"\n')
    workspace.stack("base", "top", target=HERE)
    run = workspace.lock()
    assert (run.status, run.stderr) == (
        2,
        (
            "error: the facts `base-exports-1` and `top-exports-1` give NZ different values\n"
            "  at matrices/facts/base.toml:6, matrices/facts/top.toml:6\n"
            "  NZ is `0` in the first and `1` in the second\n"
            'hint: set one of them aside in the stack: [[relax]] fact = "base-exports-1" or "top-exports-1", '
            "with a reason\n"
        ),
    )
    assert not workspace.locks.exists()


@pytest.mark.parametrize(
    ("variable", "why"),
    [("UID", "bash keeps it read-only"), ("PATH", "CANN and the environment set and extend it")],
)
def test_some_variables_are_not_for_facts(workspace: Workspace, index: LoopbackIndex, variable: str, why: str) -> None:
    workspace.facts("base", f'[[exports]]\nenv = {{ {variable} = "1" }}\nreason = "so it is"\n')
    workspace.stack("base", target=HERE)
    run = workspace.lock()
    assert run.status == 2
    assert run.stderr == (
        f"error: a fact cannot set `{variable}`\n"
        f"  at matrices/facts/base.toml:7: exports[0].env.{variable}\n  {why}\n"
        "hint: remove it from `env`\n"
    )
