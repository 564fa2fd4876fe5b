"""Turns: so many at once, in their order, and at once whom somebody waits for."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from resolver.catalog.net.turns import Turns


async def begin(turns: Turns, keys: str, begun: list[str], gate: asyncio.Event) -> list[asyncio.Task[None]]:
    async def work(key: str) -> None:
        async with turns.turn(key):
            begun.append(key)
            await gate.wait()

    tasks = [asyncio.ensure_future(work(key)) for key in keys]
    await settle()
    return tasks


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_so_many_at_once_in_their_order() -> None:
    async def run() -> None:
        begun: list[str] = []
        gate = asyncio.Event()
        tasks = await begin(Turns(2), "abcde", begun, gate)
        assert begun == ["a", "b"]
        gate.set()
        await asyncio.gather(*tasks)
        assert begun == ["a", "b", "c", "d", "e"]

    asyncio.run(run())


def test_who_is_in_a_hurry_does_not_wait() -> None:
    async def run() -> None:
        begun: list[str] = []
        gate = asyncio.Event()
        turns = Turns(1)
        tasks = await begin(turns, "abc", begun, gate)
        turns.hurry("c")
        turns.hurry("d")
        tasks += await begin(turns, "d", begun, gate)
        assert (begun[0], set(begun[1:])) == ("a", {"c", "d"})
        gate.set()
        await asyncio.gather(*tasks)
        assert begun[3:] == ["b"]
        more = await begin(turns, "ef", begun, asyncio.Event())
        assert begun[4:] == ["e"], "as many at once as before"
        for task in more:
            task.cancel()
        await asyncio.gather(*more, return_exceptions=True)

    asyncio.run(run())


def test_who_is_broken_off_takes_no_turn_along() -> None:
    async def run() -> None:
        begun: list[str] = []
        gate = asyncio.Event()
        turns = Turns(1)
        tasks = await begin(turns, "abc", begun, gate)
        tasks[1].cancel()  # who waits
        await settle()
        tasks[0].cancel()  # who has it: it goes to the next at the very moment that one is broken off, too
        await asyncio.sleep(0)
        tasks[2].cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        assert await begin(turns, "d", begun, gate)
        assert begun[-1] == "d"

    asyncio.run(run())
