"""Work that several tasks want and that is done once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class HasTasks(Protocol):
    """An object with methods that `once` decorates."""

    # The tasks of these methods, by name and arguments.
    tasks: dict[Hashable, asyncio.Task[Any]]


S = TypeVar("S", bound=HasTasks)


def once(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a method run once for the same positional arguments, however many tasks await it.

    Its result, or the exception that it raises, is for all of them. A task that waits may be
    cancelled; the work goes on.
    """

    @wraps(method)
    async def wait(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (method.__name__, *args)
        task: asyncio.Task[T] | None = self.tasks.get(key)
        if task is None:
            task = asyncio.ensure_future(method(self, *args, **kwargs))
            # asyncio complains about an exception that nobody retrieves.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self.tasks[key] = task
        return await asyncio.shield(task)

    return wait
