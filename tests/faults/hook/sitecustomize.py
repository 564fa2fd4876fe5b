"""Kills its own process group just before the n-th change that its Pythons make to the disk.

So every moment at which files are left half done has a number and can be come back to. Python
imports this by itself where the folder is on PYTHONPATH. KILL_COUNTER names a file that grows by a
byte with each change; KILL_AT is n.
"""

import os
import signal
import sys

_CHANGES = frozenset(
    f"os.{name}"
    for name in (
        "chmod",
        "link",
        "mkdir",
        "remove",
        "rename",
        "rmdir",
        "symlink",
        "truncate",
        "utime",
    )
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_counter = os.environ.get("KILL_COUNTER", "")
_at = int(os.environ.get("KILL_AT", "0"))
_busy = False


def _watch(event: str, arguments: tuple[object, ...]) -> None:
    global _busy
    if _busy:
        return
    if event == "open":
        path, flags = arguments[0], arguments[2]
        changes = isinstance(flags, int) and bool(flags & _WRITES) and "/dev/" not in str(path)
    else:
        # renameat2 is called by ctypes, which tells of its being looked up
        changes = event in _CHANGES or (event == "ctypes.dlsym" and arguments[1] == "renameat2")
    if not changes:
        return
    _busy = True
    try:
        handle = os.open(_counter, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, b".")
        count = os.fstat(handle).st_size
        os.close(handle)
    finally:
        _busy = False
    if count == _at:
        os.killpg(0, signal.SIGKILL)


if _counter:
    sys.addaudithook(_watch)
