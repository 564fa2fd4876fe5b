"""What a target needed last is asked for at once the next time, and changes no answer."""

from __future__ import annotations

import time

from tests.cached import damage
from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex, Response


def pages(index: LoopbackIndex) -> list[str]:
    """The projects whose pages were asked for, in this order."""
    return [request.path.split("/")[3] for request in index.requests if request.path.startswith("/simple/")]


def a_chain(workspace: Workspace, index: LoopbackIndex) -> None:
    """Each release of a chain needs the next; the last lacks what it needs."""
    for at in range(6):
        index.add_wheel(f"link{at}", "1.0", requires=[f"link{at + 1}"] if at < 5 else ["gone"])
    index.add_wheel("late", "1.0")
    workspace.stack("link0")
    assert workspace.lock().status == 1


def test_pages_of_a_stack_without_a_lock_are_asked_for_at_once(workspace: Workspace, index: LoopbackIndex) -> None:
    """The page of link1 comes once that of link5 was asked for, which only the run before can have told."""
    a_chain(workspace, index)
    index.clear()
    seen: list[bool] = []

    def held(response: Response) -> Response:
        end = time.monotonic() + 5
        while "link5" not in pages(index) and time.monotonic() < end:
            time.sleep(0.01)
        seen.append("link5" in pages(index))
        return response

    index.fault("/simple/pypi/link1/", held)
    workspace.stack("link0", "late")
    assert workspace.lock().status == 1
    assert seen == [True]


def test_the_answer_is_that_of_an_empty_cache(workspace: Workspace, index: LoopbackIndex) -> None:
    a_chain(workspace, index)
    workspace.stack("link3<1", "late")
    workspace.lock()
    found = tree(workspace.locks)
    workspace.forget()
    workspace.lock()
    assert tree(workspace.locks) == found


def test_damaged_names_are_none(workspace: Workspace, index: LoopbackIndex) -> None:
    a_chain(workspace, index)
    assert damage(workspace.cache, lambda content: bytes(len(content)), "needed")
    workspace.stack("late")
    workspace.locked()
    assert workspace.pins() == {"late": "1.0"}
