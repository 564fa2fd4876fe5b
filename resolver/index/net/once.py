"""Share the result of an asynchronous method among all tasks that call it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _HasTasks(Protocol):
    """An object with methods that are decorated with `once`."""

    # The task of each call of such a method, by the method's name and positional arguments.
    tasks: dict[Hashable, asyncio.Task[Any]]


S = TypeVar("S", bound=_HasTasks)


def once(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Decorate a method so that it runs only once for the same positional arguments.

    Further calls, at the same time or later, get the result or the exception of the first call. If
    a task that waits is cancelled, the method runs on for the others.
    """

    @wraps(method)
    async def wait(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (method.__name__, *args)
        task: asyncio.Task[T] | None = self.tasks.get(key)
        if task is None:
            task = asyncio.ensure_future(method(self, *args, **kwargs))
            # Retrieves an exception, since asyncio logs exceptions that are never retrieved.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self.tasks[key] = task
        return await asyncio.shield(task)

    return wait
