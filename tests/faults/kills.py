"""A lock, a bundle and an install, killed at moments that a seed draws; what is left, and what the next run does."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cached import require_sound_cache
from tests.functional.machine import environment, install, installed, make_environment, site_packages
from tests.functional.workspace import COMMAND, HERE, Tree, Workspace, tree
from tests.loopback import LoopbackIndex

_HOOK = Path(__file__).with_name("hook")
_SECONDS = 120
# pip and mktemp cannot clean up after a kill, and nobody else knows whose these are; their folder is cleaned at boot.
_OF_KILLED = ("pip-", "tmp.", ".ascend-lock-")


@dataclass
class Score:
    """How many runs were killed, how many ended before their moment came, and the moments of a run."""

    killed: int = 0
    ended: int = 0
    moments: int = 0


class Killer:
    """Runs commands and ends them, children and all, at the n-th change to the disk. `counter` is a file of its own."""

    def __init__(self, counter: Path) -> None:
        self._counter = counter

    def count(self, command: list[str], folder: Path, environ: Mapping[str, str]) -> int:
        """Run to the end, and tell how many changes that makes."""
        status = self.run(command, folder, environ, 0)
        assert status == 0, command
        return self._counter.stat().st_size

    def run(self, command: list[str], folder: Path, environ: Mapping[str, str], at: int) -> int:
        """The exit status of a command that is killed at change `at`, if it comes so far."""
        self._counter.unlink(missing_ok=True)
        told = {**environ, "PYTHONPATH": str(_HOOK), "KILL_COUNTER": str(self._counter), "KILL_AT": str(at)}
        done = subprocess.run(
            command,
            cwd=folder,
            env=told,
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


# --- the three


def kill_locks(root: Path, number: int, seed: int) -> Score:
    """Kill locks that replace another one, with an empty cache, so that pages, metadata and an archive come in."""
    score = Score()
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        for version in ("1.0", "2.0"):
            index.add_wheel("demo", version, requires=["source"], metadata_sidecar=version == "1.0")
        index.add_archive("source", "1.0")
        index.add_wheel("setuptools", "80.0")
        steady: dict[str, Tree] = {}
        killer = Killer(root / "counter")
        command = [str(COMMAND), "lock", "demo"]
        for version in ("1.0", "2.0", "1.0"):  # a lock tells what changed: from the second on all are alike
            workspace.stack(f"demo=={version}")
            workspace.forget()
            score.moments = killer.count(command, workspace.root, workspace.environment())
            steady[version] = tree(workspace.locks)
        for at, moment in enumerate(moments(score.moments, number, seed)):
            old, new = ("1.0", "2.0") if at % 2 == 0 else ("2.0", "1.0")
            workspace.stack(f"demo=={new}")
            workspace.forget()
            _score(score, killer.run(command, workspace.root, workspace.environment(), moment))
            where = f"lock, moment {moment} of {score.moments}"
            assert visible(tree(workspace.locks)) in (visible(steady[old]), visible(steady[new])), where
            require_sound_cache(workspace.cache, where)
            workspace.locked()
            assert tree(workspace.locks) == steady[new], where
            _forget_of_killed(workspace.temporary)
            assert tree(workspace.temporary) == {}, (where, tree(workspace.temporary))
            workspace.locked("--offline")
            assert tree(workspace.locks) == steady[new], where
    return score


def kill_bundles(root: Path, number: int, seed: int) -> Score:
    """Kill bundles that replace another one in the same folder, and bundles into a new one."""
    score = Score()
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        for version in ("1.0", "2.0"):
            index.add_wheel("demo", version, requires=["base"], files={"demo.py": f"x = '{version * 2000}'\n"})
        index.add_wheel("base", "1.0", files={"base.txt": random.Random(1).randbytes(200_000).hex()})
        out = workspace.root / "out"
        killer = Killer(root / "counter")
        environ = workspace.environment()
        command = [str(COMMAND), "bundle", "demo", "out", "--prune"]
        steady: dict[str, Tree] = {}
        locks: dict[str, Path] = {}
        for version in ("1.0", "2.0"):
            workspace.stack(f"demo=={version}", target=HERE)
            workspace.locked()
            locks[version] = workspace.root / f"locks-{version}"
            shutil.copytree(workspace.locks, locks[version])
            score.moments = killer.count(command, workspace.root, environ)
            steady[version] = tree(out)

        def ask(version: str) -> None:
            workspace.stack(f"demo=={version}", target=HERE)
            shutil.rmtree(workspace.locks)
            shutil.copytree(locks[version], workspace.locks)

        for at, moment in enumerate(moments(score.moments, number, seed)):
            new = ("1.0", "2.0")[at % 2]
            ask(new)
            if at % 3 == 2:
                shutil.rmtree(out)
            _score(score, killer.run(command, workspace.root, environ, moment))
            where = f"bundle, moment {moment} of {score.moments}"
            require_sound_cache(workspace.cache, where)
            again = workspace.run(*command[1:])
            assert again.status == 0, (where, again)
            assert tree(out) == steady[new], where
            checked = workspace.run("bundle", "--check", "out")
            assert checked.status == 0, (where, checked)
            _forget_of_killed(workspace.temporary)
            assert tree(workspace.temporary) == {}, (where, tree(workspace.temporary))
    return score


def kill_installs(root: Path, number: int, seed: int) -> Score:
    """Kill install.sh while it brings an environment of one lock to another, with pip, which it calls."""
    score = Score()
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        for version in ("1.0", "2.0"):
            files = {f"demo/m{part}.py": f"x = '{version}'\n" for part in range(5)} | {"demo/__init__.py": ""}
            files[f"demo-{version}.dist-info/entry_points.txt"] = "[console_scripts]\ndemo = demo.m0:main\n"
            index.add_wheel("demo", version, requires=["base"], files=files)
            index.add_wheel(
                "base", version, files={"base/__init__.py": f"x = '{version}'\n", "base/data.txt": "x" * 9000}
            )
        workspace.facts("demo", '[[after]]\nothers = ["base"]\nreason = "demo reads what base has set up"\n')
        python = make_environment(workspace.root / "env")
        # install.sh keeps PYTHONPATH from pip, and the environment has a sitecustomize of its own
        hook = f"import sys; exec(open({str(_HOOK / 'sitecustomize.py')!r}).read(), {{}})\n"
        (site_packages(python) / "faults.pth").write_text(hook)
        killer = Killer(root / "counter")
        steady: dict[str, Tree] = {}
        locks: dict[str, Path] = {}
        for version in ("1.0", "2.0"):
            workspace.stack(f"demo=={version}", f"base=={version}", target=HERE)
            workspace.locked()
            locks[version] = workspace.root / f"locks-{version}"
            shutil.copytree(workspace.locks, locks[version])
            words = [str(workspace.folder() / "install.sh"), "--python", str(python)]
            score.moments = killer.count(words, workspace.root, environment(workspace))
            steady[version] = _of_environment(python)

        def command(version: str) -> list[str]:
            shutil.rmtree(workspace.locks)
            shutil.copytree(locks[version], workspace.locks)
            return [str(workspace.folder() / "install.sh"), "--python", str(python)]

        for at, moment in enumerate(moments(score.moments, number, seed)):
            new = ("1.0", "2.0")[at % 2]
            _score(score, killer.run(command(new), workspace.root, environment(workspace), moment))
            where = f"install, moment {moment} of {score.moments}"
            again = install(workspace, python)
            assert (again.status, again.stderr) == (0, ""), (where, again)
            assert installed(python) == {"demo": new, "base": new}, where
            assert _of_environment(python) == steady[new], (where, _difference(_of_environment(python), steady[new]))
            _forget_of_killed(workspace.temporary)
            assert tree(workspace.temporary) == {}, (where, tree(workspace.temporary))
    return score


KINDS: Mapping[str, Callable[[Path, int, int], Score]] = {
    "lock": kill_locks,
    "bundle": kill_bundles,
    "install": kill_installs,
}


# --- what must be so


def _score(score: Score, status: int) -> None:
    score.killed += status == -signal.SIGKILL
    score.ended += status == 0


def visible(whole: Tree) -> Tree:
    """What a reader of locks sees: without the hidden folders of a run that was killed."""
    return {path: content for path, content in whole.items() if not any(part[0] == "." for part in path.split("/"))}


def _of_environment(python: Path) -> Tree:
    """The distributions of an environment and their scripts, without what Python compiles."""
    folder = next((python.parent.parent / "lib").iterdir()) / "site-packages"
    found = {path: content for path, content in tree(folder).items() if not path.startswith("pip")}
    found |= {f"bin/{path.name}": path.read_bytes() for path in python.parent.iterdir() if path.name == "demo"}
    return {path: content for path, content in found.items() if "__pycache__" not in path}


def _difference(one: Tree, other: Tree) -> list[str]:
    return sorted(path for path in {*one, *other} if one.get(path) != other.get(path))


def _forget_of_killed(folder: Path) -> None:
    """Take away what nobody could: folders of killed processes, and Python's trial of TMPDIR."""
    for path in folder.iterdir():
        if path.is_dir() and path.name.startswith(_OF_KILLED):
            shutil.rmtree(path)
        elif path.is_file() and (path.name.startswith(_OF_KILLED) or path.read_bytes() in (b"", b"blat")):
            path.unlink()
