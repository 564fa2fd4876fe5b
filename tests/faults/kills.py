"""A lock, an edit, a bundle and an install, killed at moments that a seed draws.

Checked are what is left, and the next run.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cached import require_sound_cache
from tests.functional.machine import environment, install, make_environment, put, site_packages
from tests.functional.workspace import COMMAND, HERE, TWO_PYTHONS, Content, Tree, Workspace, tree
from tests.loopback import LoopbackIndex

HOOK = Path(__file__).with_name("hook")
_SECONDS = 120
# pip and mktemp cannot clean up after a kill, and nobody else knows whose these are; their folder
# is cleaned at boot.
_OF_KILLED = ("pip-", "tmp.", ".ascend-lock-")


@dataclass
class Score:
    """The outcomes of the runs, and the moments of a run."""

    killed: int = 0
    ended: int = 0
    moments: int = 0


class Killer:
    """Runs commands in a folder and ends them, children and all, at the n-th change to the disk."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._counter = folder / "counter"
        self._environ = {**environ, "PYTHONPATH": str(HOOK), "KILL_COUNTER": str(self._counter)}

    def count(self, command: list[str]) -> int:
        """Run to the end, and tell how many changes that makes."""
        assert self.run(command, 0) == 0, command
        return self._counter.stat().st_size

    def run(self, command: list[str], at: int) -> int:
        """Return the exit status of a command that is killed at change `at`, if it has so many."""
        self._counter.unlink(missing_ok=True)
        done = subprocess.run(
            command,
            cwd=self._folder,
            env={**self._environ, "KILL_AT": str(at)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            start_new_session=True,
            check=False,
        )
        assert done.returncode in (0, -signal.SIGKILL), (at, done)
        return done.returncode


def moments(total: int, number: int, seed: int) -> Iterator[int]:
    """So many of the moments 1 to `total`, spread over all of them."""
    draw = random.Random(seed)
    step = total / number
    for at in range(number):
        yield min(total, 1 + int(at * step + draw.random() * step))


Begin = Callable[[str, int], list[str]]
State = Callable[[], Tree]
Again = Callable[[Tree, Tree], None]


def _kill(
    workspace: Workspace,
    environ: Mapping[str, str],
    number: int,
    seed: int,
    begin: Begin,
    state: State,
    again: Again,
) -> Score:
    """Kill so many runs, each of which brings what there is of one release to the other.

    `begin` makes ready for a release and returns the command, and `state` is what that makes.
    `again` gets the states of the old and the new release; it runs the command once more, and
    checks what must hold besides.
    """
    killer, score, steady = Killer(workspace.root, environ), Score(), dict[str, Tree]()
    for version in ("2.0", "1.0"):
        score.moments = killer.count(begin(version, 0))
        steady[version] = state()
    for at, moment in enumerate(moments(score.moments, number, seed)):
        old, new = ("1.0", "2.0") if at % 2 == 0 else ("2.0", "1.0")
        status = killer.run(begin(new, at), moment)
        score.killed += status == -signal.SIGKILL
        score.ended += status == 0
        where = f"moment {moment} of {score.moments}"
        require_sound_cache(workspace.cache, where)
        try:
            again(steady[old], steady[new])
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from error
        found = state()
        assert found == steady[new], (where, difference(found, steady[new]))
        forget_of_killed(workspace.temporary)
        assert tree(workspace.temporary) == {}, (where, tree(workspace.temporary))
    return score


# --- the three


def kill_locks(root: Path, number: int, seed: int) -> Score:
    """Kill locks that replace another one, with an empty cache.

    So pages, metadata and an archive are downloaded.
    """
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        for version in ("1.0", "2.0"):
            index.add_wheel("demo", version, requires=["source"], metadata_sidecar=version == "1.0")
        index.add_archive("source", "1.0")
        index.add_wheel("setuptools", "80.0")
        workspace.locked_stack(
            "demo==1.0"
        )  # a lock tells what changed: from the second on all are alike

        def begin(version: str, _: int) -> list[str]:
            workspace.stack(f"demo=={version}")
            workspace.forget()
            return [str(COMMAND), "lock", "demo"]

        def again(old: Tree, new: Tree) -> None:
            assert visible(tree(workspace.locks)) in (visible(old), visible(new))
            workspace.locked()
            assert tree(workspace.locks) == new
            workspace.locked("--offline")

        return _kill(
            workspace,
            workspace.environment(),
            number,
            seed,
            begin,
            lambda: tree(workspace.locks),
            again,
        )


def kill_edits(root: Path, number: int, seed: int) -> Score:
    """Kill `add`, which changes a stack together with its locks for two targets."""
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        index.serve("demo 1.0 2.0")
        stacks = workspace.matrices / "stacks"
        kept: dict[str, Path] = {}
        for version in ("1.0", "2.0", "1.0"):
            shutil.rmtree(workspace.locks, ignore_errors=True)
            workspace.locked_stack(f"demo=={version}", target=TWO_PYTHONS)
            kept[version] = workspace.root / f"kept-{version}"
            shutil.rmtree(kept[version], ignore_errors=True)
            shutil.copytree(workspace.locks, kept[version] / "locks")
            shutil.copytree(stacks, kept[version] / "stacks")

        def begin(version: str, _: int) -> list[str]:
            other = kept["1.0" if version == "2.0" else "2.0"]
            _replace(workspace.locks, other / "locks")
            _replace(stacks, other / "stacks")
            return [str(COMMAND), "add", "demo", f"demo=={version}", "--offline"]

        def state() -> Tree:
            paths = [
                stacks / "demo.toml",
                *sorted((workspace.locks / "demo").glob("[!.]*/lock.toml")),
            ]
            return {str(path): Content(_asked_or_pinned(path)) for path in paths}

        def again(old: Tree, new: Tree) -> None:
            workspace.locked("--offline")
            assert state() in (old, new), "the stack and its locks go together"
            assert workspace.run("check").status == 0
            assert [
                path.name
                for path in (workspace.locks / "demo").iterdir()
                if path.name.startswith(".")
            ] == []
            version = "2.0" if b"2.0" in (new[str(stacks / "demo.toml")] or b"") else "1.0"
            run = workspace.run("add", "demo", f"demo=={version}")
            assert run.status == 0, run

        return _kill(workspace, workspace.environment(), number, seed, begin, state, again)


def kill_bundles(root: Path, number: int, seed: int) -> Score:
    """Kill bundles that replace another one in the same folder, and bundles into a new one."""
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        for version in ("1.0", "2.0"):
            index.add_wheel(
                "demo", version, requires=["base"], files={"demo.py": f"x = '{version * 2000}'\n"}
            )
        index.add_wheel(
            "base", "1.0", files={"base.txt": random.Random(1).randbytes(200_000).hex()}
        )
        locks = _locks_of(workspace, "demo=={0}")
        out = workspace.root / "out"
        command = ["bundle", "demo", "out", "--prune"]

        def begin(version: str, at: int) -> list[str]:
            _replace(workspace.locks, locks[version])
            if at % 3 == 2:
                shutil.rmtree(out)
            return [str(COMMAND), *command]

        def again(_old: Tree, _new: Tree) -> None:
            for words in (command, ["bundle", "--check", "out"]):
                run = workspace.run(*words)
                assert run.status == 0, run

        return _kill(
            workspace, workspace.environment(), number, seed, begin, lambda: tree(out), again
        )


def kill_installs(root: Path, number: int, seed: int) -> Score:
    """Kill install.sh, and pip with it, while it changes an environment to another lock."""
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        for version in ("1.0", "2.0"):
            files = {f"demo/m{part}.py": f"main = '{version}'\n" for part in range(5)} | {
                "demo/__init__.py": ""
            }
            # modules that the other version does not have: they must not stay importable
            name = version.replace(".", "_")
            files |= {
                f"demo/of_{name}/__init__.py": "",
                f"demo/of_{name}.py": "",
                f"alone_{name}.py": "",
                # a folder that pip puts aside, and of which the other version's record says nothing
                f"only_{name}/__init__.py": "",
                f"only_{name}/inner/__init__.py": "",
            }
            files[f"demo-{version}.dist-info/entry_points.txt"] = (
                "[console_scripts]\ndemo = demo.m0:main\n"
            )
            index.add_wheel("demo", version, requires=["base"], files=files)
            index.add_wheel(
                "base",
                version,
                files={"base/__init__.py": f"x = '{version}'\n", "base/data.txt": "x" * 9000},
            )
        workspace.facts(
            "demo", '[[after]]\nothers = ["base"]\nreason = "demo reads what base has set up"\n'
        )
        locks = _locks_of(workspace, "demo=={0}", "base=={0}")
        python = make_environment(workspace.root / "env")
        # install.sh keeps PYTHONPATH from pip, and the environment has a sitecustomize of its own
        hook = f"import sys; exec(open({str(HOOK / 'sitecustomize.py')!r}).read(), {{}})\n"
        (site_packages(python) / "faults.pth").write_text(hook)
        put(python, {"setuptools": "0"}, "faults.pth")

        def begin(version: str, _: int) -> list[str]:
            _replace(workspace.locks, locks[version])
            return [str(workspace.folder() / "install.sh"), "--python", str(python)]

        def again(_old: Tree, _new: Tree) -> None:
            run = install(workspace, python)
            assert (run.status, run.stderr) == (0, ""), run

        return _kill(
            workspace,
            environment(workspace),
            number,
            seed,
            begin,
            lambda: _of_environment(python),
            again,
        )


def _asked_or_pinned(path: Path) -> bytes:
    """Return what a stack asks for, or what a lock pins, without the lock's list of changes."""
    lines = path.read_bytes().splitlines()
    return b"\n".join(line for line in lines if line.startswith((b"requires = ", b"version = ")))


def _locks_of(workspace: Workspace, *lines: str) -> Mapping[str, Path]:
    """Copy the locks of each release, which these lines of the stack ask for."""
    kept = {version: workspace.root / f"locks-{version}" for version in ("1.0", "2.0")}
    for version, folder in kept.items():
        workspace.locked_stack(*(line.format(version) for line in lines), target=HERE)
        shutil.copytree(workspace.locks, folder)
    return kept


def _replace(folder: Path, other: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(other, folder)


KINDS: Mapping[str, Callable[[Path, int, int], Score]] = {
    "lock": kill_locks,
    "edit": kill_edits,
    "bundle": kill_bundles,
    "install": kill_installs,
}


# --- what must be so


def visible(whole: Tree) -> Tree:
    """Return what a reader of locks sees: no hidden folders of a run that was killed."""
    return {
        path: content
        for path, content in whole.items()
        if not any(part[0] == "." for part in path.split("/"))
    }


def _of_environment(python: Path) -> Tree:
    """Return the distributions of an environment and their scripts, without bytecode."""
    folder = next((python.parent.parent / "lib").iterdir()) / "site-packages"
    found = {path: content for path, content in tree(folder).items() if not path.startswith("pip")}
    found |= {
        f"bin/{path.name}": path.read_bytes()
        for path in python.parent.iterdir()
        if path.name == "demo"
    }
    found |= {path.name: path.read_bytes() for path in python.parents[1].glob(".ascend-lock*")}
    return {path: content for path, content in found.items() if "__pycache__" not in path}


def difference(one: Tree, other: Tree) -> list[str]:
    """Return the paths that differ; a folder is None, and another value stands for nothing."""
    return sorted(
        path for path in {*one, *other} if one.get(path, "nothing") != other.get(path, "nothing")
    )


def forget_of_killed(folder: Path) -> None:
    """Take away what nobody could: folders of killed processes, and Python's trial of TMPDIR."""
    for path in folder.iterdir():
        if path.is_dir() and path.name.startswith(_OF_KILLED):
            shutil.rmtree(path)
        elif path.is_file() and (
            path.name.startswith(_OF_KILLED) or path.read_bytes() in (b"", b"blat")
        ):
            path.unlink()
