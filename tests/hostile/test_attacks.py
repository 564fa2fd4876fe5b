"""Whatever an index does: the whole message, the status, the old lock as it was, and nothing left behind."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tests.hostile.attacks import ATTACKS, DEMO, THE_NETWORK, once, over_http2
from tests.hostile.scene import INDEX, Attack, Scene, hold
from tests.http2 import Stream
from tests.loopback import Response


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_held(scene: Scene, attack: Attack) -> None:
    hold(scene, attack)


def test_a_name_that_nobody_knows(scene: Scene) -> None:
    del scene.variables["HTTPS_PROXY"]
    scene.workspace.index_url = "https://index.invalid/simple/"  # RFC 6761: never resolved
    run = scene.lock()
    assert run.status == 3
    assert run.stderr.startswith("error: Index `pypi` cannot be reached.\n  at https://index.invalid/simple/demo/\n  ")
    assert "Errno" not in run.stderr
    assert run.stderr.endswith(" (4 tries).\n" + THE_NETWORK)


@pytest.mark.parametrize("where", ["https://vendor.example", "https://files.example"])
def test_another_host_is_told_nothing_of_who_asks(scene: Scene, where: str) -> None:
    """A redirect leads there, and takes user and password of the index along no more than a link does."""
    scene.workspace.index_url = INDEX.replace("://", "://user:secret@")
    scene.index.fault(
        "/simple/*/demo/", lambda _: Response(302, b"", {"Location": f"{where}/simple/pypi/demo/"}), times=1
    )
    assert scene.lock().status == 0
    asked = {request.host: "authorization" in request.sent for request in scene.index.requests}
    assert asked == {"index.example:443": True, f"{where.removeprefix('https://')}:443": False}


def test_a_connection_on_which_nothing_comes_any_more_is_let_go(scene: Scene) -> None:
    """Else what is asked later would be asked there, too, and wait for nothing in its turn."""
    closed = threading.Event()

    def stop(stream: Stream, _: Response) -> None:
        try:
            while True:
                stream.session.take()
        finally:
            closed.set()

    def answer(stream: Stream, response: Response) -> None:
        stream.head(response.status if closed.wait(10) else 500, response.headers)
        stream.data(response.body)

    once(scene)
    scene.patience = scene.patience._replace(tries=2)
    over_http2(scene)
    scene.index.fault(DEMO, lambda one: replace(one, script=answer))
    scene.index.fault(DEMO, lambda one: replace(one, script=stop), times=1)
    assert scene.lock().status == 0
    assert scene.workspace.pins() == {"demo": "2.0"}
