"""Attacks of an index: the reason, the status, the old lock, and nothing left behind."""

from __future__ import annotations

import pytest

from tests.hostile.attacks import ATTACKS
from tests.hostile.scene import INDEX, Attack, Scene, hold
from tests.loopback import Response


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_is_held(scene: Scene, attack: Attack) -> None:
    hold(scene, attack)


def test_attack_by_an_unknown_name_is_held(scene: Scene) -> None:
    del scene.variables["HTTPS_PROXY"]
    scene.workspace.index_url = "https://index.invalid/simple/"  # RFC 6761: never resolved
    run = scene.lock()
    assert run.status == 3
    assert run.stderr.startswith(
        "error: Index `pypi` cannot be reached.\n  at https://index.invalid/simple/demo/\n  "
    )
    assert "Errno" not in run.stderr
    assert " (4 tries).\nhint: " in run.stderr


@pytest.mark.parametrize("where", ["https://vendor.example", "https://files.example"])
def test_redirect_takes_no_credentials_to_another_host(scene: Scene, where: str) -> None:
    """A redirect leads there without user and password of the index, like a link."""
    scene.workspace.index_url = INDEX.replace("://", "://user:secret@")
    scene.index.fault(
        "/simple/*/demo/",
        lambda _: Response(302, b"", {"Location": f"{where}/simple/pypi/demo/"}),
        times=1,
    )
    assert scene.lock().status == 0
    asked = {request.host: "authorization" in request.sent for request in scene.index.requests}
    assert asked == {"index.example:443": True, f"{where.removeprefix('https://')}:443": False}
