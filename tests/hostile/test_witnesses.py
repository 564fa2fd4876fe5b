"""A lock made from a hostile index's honest files, installed by pip and by uv.

Their own checks of hashes are the witnesses.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.builders import build_wheel, core_metadata
from tests.functional.machine import execute, install, installed, make_environment
from tests.functional.workspace import HERE, Run
from tests.hostile.attacks import EVIL
from tests.hostile.scene import Scene, rows
from tests.loopback import Response, altered

UV = Path(sys.executable).with_name("uv")
WITNESSES = ("pip", "uv")


@pytest.fixture
def here(scene: Scene) -> Scene:
    """Serve demo 2.0, which needs base; serve whatever an attacker could list beside it."""
    index = scene.index
    index.add_wheel("base", "1.0")
    index.add_wheel("demo", "2.0", requires=["base"], files={"demo.py": "honest = True\n"})
    index.add_wheel("base", "9.0", index="vendor")  # nobody bound base to that one
    index.add_wheel("bаse", "1.0")  # its second letter is Cyrillic
    rows(
        {"filename": f"demo-3.0{EVIL}-py3-none-any.whl"},
        {"filename": "../../demo-3.0-py3-none-any.whl"},
        {"filename": "demo-3.0-py2.7.egg"},
        {"filename": "demo-4.0-py3-none-any.whl", "requires-python": EVIL},
        {
            "filename": "demo-5.0-py3-none-any.whl",
            "url": "http://127.0.0.2:1/demo-5.0-py3-none-any.whl",
        },
        {"filename": "demo-6.0-py3-none-any.whl", "yanked": EVIL},
        {"filename": "demo-7.0-py3-none-any.whl"},
        {"filename": "demo-7.0-py3-none-any.whl", "hashes": {"sha256": "0" * 64}},
        {},
    )(scene)
    shutil.rmtree(scene.workspace.locks)
    scene.workspace.stack("demo", target=HERE)
    return scene


def lock(scene: Scene) -> None:
    run = scene.lock()
    assert (run.status, run.stderr) == (0, "")
    assert scene.workspace.pins() == {"base": "1.0", "demo": "2.0"}


def settings(scene: Scene) -> Mapping[str, str]:
    """How pip and uv reach the index."""
    authority = scene.variables["SSL_CERT_FILE"]
    return {
        "HTTPS_PROXY": scene.index.proxy,
        "PIP_CERT": authority,
        "PIP_RETRIES": "0",
        "SSL_CERT_FILE": authority,
        "UV_DEFAULT_INDEX": scene.workspace.index_url,
        "UV_HTTP_RETRIES": "0",
        "UV_NO_CACHE": "1",
    }


def witness(scene: Scene, tool: str) -> Run:
    """Install requirements.txt into an empty folder."""
    requirements = str(scene.workspace.folder() / "requirements.txt")
    command = (
        [sys.executable, "-m", "pip", "install", "--no-cache-dir"]
        if tool == "pip"
        else [str(UV), "pip", "install"]
    )
    target = ["--target", str(scene.workspace.root / tool), "--require-hashes", "-r", requirements]
    return execute(scene.workspace, [*command, *target], **settings(scene))


def modules(scene: Scene, tool: str) -> set[str]:
    return {path.name for path in (scene.workspace.root / tool).glob("*.py")}


def test_witnesses_install_what_was_locked(here: Scene) -> None:
    lock(here)
    for tool in WITNESSES:
        run = witness(here, tool)
        assert run.status == 0, run
        assert modules(here, tool) == {"base.py", "demo.py"}
        assert (here.workspace.root / tool / "demo.py").read_text() == "honest = True\n"


def test_witnesses_refuse_other_bytes(here: Scene) -> None:
    lock(here)
    here.index.add_wheel("demo", "2.0", requires=["base"], files={"demo.py": "honest = False\n"})
    for tool in WITNESSES:
        run = witness(here, tool)
        assert run.status != 0
        assert "hash" in run.stderr.lower()
        assert modules(here, tool) == set()


def test_witnesses_fail_without_a_locked_file(here: Scene) -> None:
    lock(here)
    here.index.fault("/files/*/demo-2.0-py3-none-any.whl", lambda _: Response(404))
    for tool in WITNESSES:
        assert witness(here, tool).status != 0
        assert modules(here, tool) == set()
    run = here.run("bundle", "demo", "bundle")
    assert run.status == 3
    assert run.stderr == (
        "error: demo-2.0-py3-none-any.whl cannot be downloaded.\n"
        "  at https://index.example/files/pypi/demo-2.0-py3-none-any.whl\n"
        "  The server answered 404.\n"
        "hint: the index page lists a file that its server does not provide; "
        "a mirror may be incomplete\n"
    )


def test_bundle_takes_no_other_bytes(here: Scene) -> None:
    lock(here)
    other = build_wheel("demo", "2.0", requires=["base"], files={"demo.py": "honest = None\n"})
    here.index.fault("/files/*/demo-2.0-py3-none-any.whl", lambda _: Response(200, other.content))
    run = here.run("bundle", "demo", "bundle")
    assert run.status == 3
    assert run.stderr.startswith("error: demo-2.0-py3-none-any.whl is ")
    assert not list(here.workspace.root.glob("bundle/**/demo*"))


def test_install_finds_a_metadata_file_that_lies(here: Scene) -> None:
    """A hash does not tell whether `.metadata` is the wheel's: what is missing is found at last."""
    built = here.index.add_wheel("liar", "1.0", requires=["base"])
    lie = core_metadata("liar", "1.0")  # as if it needed nothing
    told, tell = (hashlib.sha256(content).hexdigest().encode() for content in (built.metadata, lie))
    here.index.fault("/simple/*/liar/", altered(lambda body: body.replace(told, tell)))
    here.index.fault("/files/*/liar-*.metadata", lambda _: Response(200, lie))
    here.workspace.stack("liar", target=HERE)
    assert here.lock().status == 0
    assert here.workspace.pins() == {"liar": "1.0"}
    python = make_environment(here.workspace.root / "env")
    run = install(here.workspace, python, "--skip-system-checks", **settings(here))
    assert run.status == 1
    assert "liar 1.0 requires base, which is not installed." in run.stdout + run.stderr
    assert installed(python) == {"liar": "1.0"}
