"""install.sh, killed while pip replaces what an installer of any age has installed.

Each form of an old release is replaced by a new one with other modules, by the pip that Python
brings and by the one that runs the tests. Afterwards nothing of the old one may be importable.
"""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.kills import (
    HOOK,
    Killer,
    Score,
    difference,
    forget_of_killed,
    moments,
)
from tests.functional.machine import (
    environment,
    install,
    make_environment,
    put,
    site_packages,
)
from tests.functional.workspace import HERE, Tree, Workspace, tree
from tests.legacy import REPLACED, pips, put_old, use_pip
from tests.loopback import LoopbackIndex

# The files of release 2.0, which release 1.0 does not have but for the first.
_NEW_FILES = {
    "demo/__init__.py": "of = '2.0'\n",
    "demo/new.py": "main = print\n",
    "demo/new_sub/__init__.py": "",
    "alone_new.py": "",
    "only_new/__init__.py": "",
    "demo-2.0.dist-info/entry_points.txt": "[console_scripts]\ndemo-new = demo.new:main\n",
}
# Whatever happens, these stay: nobody owns them, or others do.
_OF_OTHERS = {
    "mine.py": "",
    "~mine/file.txt": "",
    "easy-install.pth": "/nowhere/before\n",
}
# What was in `easy-install.pth` behind the entry of demo.
_LAST_ENTRY = "/nowhere/after\n"


class Upgrade:
    """An environment with demo 1.0 in one form, which a lock of demo 2.0 replaces with one pip."""

    def __init__(self, workspace: Workspace, form: str, pip: Path, name: str) -> None:
        self.workspace = workspace
        self._form = form
        self._checkout = workspace.root / f"checkout-{name}"
        self.python = make_environment(workspace.root / f"env-{name}")
        use_pip(self.python, pip)
        self._site = site_packages(self.python)
        for path, text in _OF_OTHERS.items():
            (self._site / path).parent.mkdir(exist_ok=True)
            (self._site / path).write_text(text)
        # install.sh keeps PYTHONPATH from pip, and the environment has a sitecustomize of its own
        hook = f"import sys; exec(open({str(HOOK / 'sitecustomize.py')!r}).read(), {{}})\n"
        (self._site / "faults.pth").write_text(hook)
        put(self.python, {"setuptools": "0"}, "faults.pth")
        put_old(self.python, form, self._checkout)
        with (self._site / "easy-install.pth").open("a") as file:
            file.write(_LAST_ENTRY)
        self._kept = workspace.root / f"kept-{name}"
        shutil.copytree(self._root, self._kept, symlinks=True)

    @property
    def _root(self) -> Path:
        return self.python.parents[1]

    def reset(self) -> None:
        """Have demo 1.0 again, and nothing else."""
        shutil.rmtree(self._root)
        shutil.copytree(self._kept, self._root, symlinks=True)

    def command(self) -> list[str]:
        """Return the command that installs demo 2.0."""
        return [str(self.workspace.folder() / "install.sh"), "--python", str(self.python)]

    def state(self) -> Tree:
        """Return the files of the environment but those of pip, without bytecode."""
        return {
            path: content
            for path, content in tree(self._root).items()
            if "__pycache__" not in path and "site-packages/pip" not in path
        }


@contextmanager
def upgrading(root: Path) -> Iterator[Workspace]:
    """Yield a workspace with a lock of demo 2.0."""
    with LoopbackIndex() as index:
        workspace = Workspace(root, index)
        index.add_wheel("demo", "2.0", files=_NEW_FILES)
        workspace.locked_stack("demo==2.0", target=HERE)
        yield workspace


def kill_upgrade(upgrade: Upgrade, number: int, seed: int) -> Iterator[tuple[int, str]]:
    """Kill so many runs; yield each moment with what is wrong after the next run, if anything.

    A moment of 0 stands for a run that came to its end before.
    """
    workspace = upgrade.workspace
    killer = Killer(workspace.root, environment(workspace))
    total = killer.count(upgrade.command())
    steady = upgrade.state()
    for moment in moments(total, number, seed):
        upgrade.reset()
        status = killer.run(upgrade.command(), moment)
        run = install(workspace, upgrade.python)
        wrong = ", ".join(difference(upgrade.state(), steady))
        if run.status != 0:
            wrong = f"{wrong} {run}"
        yield (moment if status == -signal.SIGKILL else 0), wrong
        forget_of_killed(workspace.temporary)


def kill_upgrades(root: Path, number: int, seed: int) -> Score:
    """Kill upgrades from each form with each pip, so many in all."""
    score = Score()
    with upgrading(root) as workspace:
        ways = [(form, pip) for pip in sorted(pips(root)) for form in REPLACED]
        random.Random(seed).shuffle(ways)
        for at, (form, pip) in enumerate(ways):
            share = number * (at + 1) // len(ways) - number * at // len(ways)
            if not share:
                continue
            upgrade = Upgrade(workspace, form, pips(root)[pip], f"{at}")
            for moment, wrong in kill_upgrade(upgrade, share, seed):
                assert not wrong, f"{form}, pip {pip}, moment {moment}: {wrong}"
                score.killed += moment > 0
                score.ended += moment == 0
                score.moments += 1
    return score
