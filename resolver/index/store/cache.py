"""The cache: a sqlite file with values by kind and key, which several processes can share.

Each value is stored with a digest of the value, its kind and its key. A value that is damaged or
in the wrong place counts as missing. A cache that cannot be used is not an error: a warning is
given, and the run continues without a cache, or with a new file if the old one is damaged.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from resolver.model.message import Message, message
from resolver.openat import Kind
from resolver.owned_folder import OwnedFolder

VARIABLE: Final = "ASCEND_LOCK_CACHE"
FILE: Final = "cache-3.sqlite3"  # another schema needs another number
# The name under which a damaged file is kept.
DAMAGED: Final = f"{FILE}.damaged"
# Bytes of all values. If there are more, the values that were not used for the longest time are
# removed.
LIMIT: Final = 1 << 30

# The files that sqlite has beside its file. It opens them by their names, and would wait forever
# for a pipe in place of one.
_COMPANIONS: Final = (f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal")
# Occurs in messages of sqlite errors that do not mean that the file is damaged.
_NOT_OF_CONTENT: Final = ("full", "I/O", "readonly", "unable to open", "locking protocol")
_DAY: Final = 24 * 60 * 60
# Seconds to wait for other processes that write; one usually writes for a few milliseconds.
_PATIENCE: Final = 30.0
# Values are in a table of their own, `contents`. So they are not written again when the day of
# their last use, `used` (in days since 1970), is updated.
_SCHEMA: Final = (
    (
        "CREATE TABLE IF NOT EXISTS entries "
        "(id INTEGER PRIMARY KEY, kind TEXT, used INTEGER, size INTEGER, digest BLOB)"
    ),
    "CREATE TABLE IF NOT EXISTS contents (id INTEGER PRIMARY KEY, content BLOB)",
    (
        "CREATE TRIGGER IF NOT EXISTS gone AFTER DELETE ON entries "
        "BEGIN DELETE FROM contents WHERE id = OLD.id; END"
    ),
)
_SELECT: Final = "SELECT content, digest, used FROM entries JOIN contents USING (id) WHERE id = ?"
_EVICT: Final = """
DELETE FROM entries WHERE id IN (
    SELECT id FROM (
        SELECT id, sum(size) OVER (ORDER BY used DESC, id) AS total FROM entries
    ) WHERE total > ?
)
"""

# The exceptions that msgspec's decoders raise for invalid values.
ODD: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder().encode


def default_folder() -> Path:
    """Return the folder of the cache: that in ASCEND_LOCK_CACHE, or the usual one of the system."""
    folder = os.environ.get(VARIABLE)
    if folder:
        return Path(folder)
    from platformdirs import user_cache_path

    try:
        return user_cache_path("ascend-lock", appauthor=False)
    except RuntimeError:  # a user without an entry in passwd, as in containers, has no home
        return Path("/.cache/ascend-lock")


class Cache:
    """Values by kind and key. It may be used from any thread, and its methods never raise."""

    def __init__(self, folder: Path | None, warn: Callable[[Message], None]) -> None:
        """Use the cache's file in `folder`; None means that nothing is cached.

        `warn` is called if the file cannot be used.
        """
        # Set to None if the file cannot be opened.
        self._folder = folder
        self._warn = warn
        # False after a failure to write.
        self._writes = True
        # Whether a damaged file was renamed in this run.
        self._has_set_aside = False
        # Opened when it is first needed.
        self._connection: sqlite3.Connection | None = None
        # The ids of entries that this run read, and whose day of use must be updated.
        self._used: set[int] = set()
        self._lock = threading.RLock()

    def load(self, kind: str, key: str, decoder: msgspec.msgpack.Decoder[T]) -> T | None:
        """Return a saved value; None if there is none, if it is damaged, or of another version."""
        name, number = _named(kind, key)
        entry = self._do(lambda connection: connection.execute(_SELECT, (number,)).fetchone())
        if entry is None:
            return None
        content, digest, day_of_use = entry
        if not isinstance(content, bytes) or _digest(name, content) != digest:
            return None
        if day_of_use != _today():
            self._used.add(number)
        try:
            return decoder.decode(content)
        except ODD:
            return None

    def save(self, kind: str, key: str, value: object) -> None:
        """Store a value as MessagePack. A value with the same kind and key is replaced."""
        name, number = _named(kind, key)
        content = _encode(value)
        entry = number, kind, _today(), len(content), _digest(name, content)

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", entry)
                connection.execute("REPLACE INTO contents VALUES (?, ?)", (number, content))

        if self._writes:
            self._do(write)

    def clear(self) -> None:
        """Remove all values and damaged files. Other processes may use the cache meanwhile."""
        self._do(lambda connection: connection.executescript("DELETE FROM entries; VACUUM"))
        if self._folder is not None:
            with suppress(OSError), OwnedFolder.open(self._folder) as folder:
                for name in (FILE, *_COMPANIONS):
                    folder.remove(f"{name}.damaged")

    def close(self) -> None:
        """Update the days of use, remove values beyond the limit, and close the file.

        The next use opens it again.
        """
        with self._lock:
            if self._connection is not None and self._writes:
                self._do(self._tidy)
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _tidy(self, connection: sqlite3.Connection) -> None:
        """Update the days of use, and remove the oldest values if all together exceed the limit."""
        with connection:
            used = [(_today(), number) for number in self._used]
            connection.executemany("UPDATE entries SET used = ? WHERE id = ?", used)
            self._used.clear()
            (size,) = connection.execute("SELECT sum(size) FROM entries").fetchone()
            if (size or 0) > LIMIT:
                connection.execute(_EVICT, (LIMIT // 4 * 3,))

    def _do(self, act: Callable[[sqlite3.Connection], T]) -> T | None:
        """Call `act` with the connection to the file, which is opened if necessary.

        Returns the result of `act`; None if the file cannot be used. A damaged file is replaced by
        a new one.
        """
        with self._lock:
            if self._folder is None:
                return None
            try:
                if self._connection is None:
                    self._connection = _connected(self._folder, self._warn)
                return act(self._connection)
            except OSError as error:
                self._give_up(error)
                return None
            # UnicodeDecodeError: the message of an sqlite error quotes a damaged file.
            except (sqlite3.Error, UnicodeDecodeError) as error:
                why = str(error) if isinstance(error, sqlite3.OperationalError) else ""
                if "locked" in why:  # another process has written for longer than _PATIENCE
                    return None
                if any(word in why for word in _NOT_OF_CONTENT):
                    self._give_up(error)
                    return None
                if not self._begin_anew(error):
                    return None
            return self._do(act)

    def _give_up(self, error: Exception) -> None:
        """Stop writing, with a warning. If the file could not be opened, stop reading as well."""
        if self._writes:
            why = getattr(error, "strerror", None) or error
            self._warn(message("cache.readonly", folder=self._folder, why=why, variable=VARIABLE))
        self._writes = False
        if self._connection is None:
            self._folder = None

    def _begin_anew(self, error: Exception) -> bool:
        """Rename a damaged file, so that a new one can be made, and return whether that was done.

        False if a file was renamed in this run before, or if it cannot be renamed.
        """
        assert self._folder is not None  # noqa: S101
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        try:
            if self._has_set_aside:
                raise OSError(str(error))
            with OwnedFolder.open(self._folder) as folder:
                folder.replace(FILE, DAMAGED)
                for name in _COMPANIONS:
                    folder.remove(name)
        except OSError as failure:
            self._give_up(failure)
            return False
        self._has_set_aside = True
        self._warn(message("cache.damaged", folder=self._folder, why=error, name=DAMAGED))
        return True


def set_aside(
    folder: OwnedFolder, name: str, expected: Kind, warn: Callable[[Message], None]
) -> None:
    """Rename a file or folder of the cache that is not of the expected kind, and warn about it.

    sqlite would wait for a pipe, and would write to the target of a symbolic link. A file with
    several hard links is renamed, too, since it also belongs to somebody else. Raises OSError.
    """
    aside = folder.set_aside(name, expected)
    if aside:
        warn(message("cache.set-aside", name=name, folder=folder.path, aside=aside))


def _connected(folder: Path, warn: Callable[[Message], None]) -> sqlite3.Connection:
    """Open the cache's file in a folder, or create it. Raises sqlite3.Error and OSError.

    If the user may not write to it, it is opened for reading only.
    """
    path = folder / FILE
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    with OwnedFolder.open(folder) as owned:
        for name in (FILE, *_COMPANIONS):
            set_aside(owned, name, Kind.FILE, warn)
        with suppress(FileExistsError):
            owned.create(FILE, b"", 0o600)
    is_writable = os.access(path, os.W_OK) and os.access(folder, os.W_OK)
    mode = "mode=rw" if is_writable else "immutable=1"
    address = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE, check_same_thread=False)
    try:
        connection.text_factory = bytes  # texts in a damaged file may not be UTF-8
        if is_writable:
            connection.execute("PRAGMA journal_mode = WAL")
            # Not synced to the disk: a value that a power failure damages counts as missing.
            connection.execute("PRAGMA synchronous = OFF")
            for statement in _SCHEMA:
                connection.execute(statement)
        statements = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        schema = b";".join(sql for (sql,) in statements)
        if schema.decode() != ";".join(_SCHEMA).replace("IF NOT EXISTS ", ""):
            raise sqlite3.DatabaseError("it has other tables")
    except BaseException:
        connection.close()
        raise
    return connection


def _named(kind: str, key: str) -> tuple[bytes, int]:
    """Return kind and key of a value as bytes, and the id of its entry.

    The id is a hash of them, since a key may contain a secret address.
    """
    name = f"{kind}\0{key}\0".encode("utf-8", "surrogatepass")
    return name, int.from_bytes(sha256(name).digest()[:8], "big", signed=True)


def _digest(name: bytes, content: bytes) -> bytes:
    """Return a digest of a value, `content`, and its kind and key, `name`.

    It detects accidents. It is no protection against somebody who can write to the file.
    """
    digest = sha256(name)
    digest.update(content)
    return digest.digest()[:16]


def _today() -> int:
    """Return the number of days since 1970."""
    return int(time.time()) // _DAY
