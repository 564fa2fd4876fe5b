"""Messages between a process and its helper process: MessagePack, each preceded by its length."""

from __future__ import annotations

from asyncio import StreamReader
from collections.abc import Iterator
from typing import Final

import msgspec

from resolver.catalog.net.jobs import Answer, Job
from resolver.catalog.net.pipconfig import PipConfig
from resolver.catalog.protocol import UnusableFile
from resolver.errors import IndexFailure, InputError, ResolverError, Unreachable, WrongRelease

_LENGTH: Final = 4  # bytes
_KINDS: Final[dict[str, type[ResolverError]]] = {
    kind.__name__: kind for kind in (IndexFailure, InputError, Unreachable, WrongRelease)
}


class Hello(msgspec.Struct, array_like=True):
    """What the helper process needs: pip's settings, and the cache folder, if any, in the system's encoding."""

    pip: PipConfig
    cache: bytes


class Raised(msgspec.Struct, tag="failure", array_like=True):
    """An error with its parts for people; without a `kind`, one about a file alone."""

    kind: str
    message: str
    where: str = ""
    why: str = ""
    hint: str = ""

    @classmethod
    def of(cls, error: Exception) -> Raised | None:
        """The message for an error; None for an unexpected one."""
        if isinstance(error, UnusableFile):
            return cls("", str(error))
        if isinstance(error, ResolverError) and type(error).__name__ in _KINDS:
            return cls(type(error).__name__, error.message, error.where, error.why, error.hint)
        return None

    def error(self) -> Exception:
        """The error."""
        if not self.kind:
            return UnusableFile(self.message)
        return _KINDS[self.kind](self.message, where=self.where, why=self.why, hint=self.hint)


class Reply(msgspec.Struct, array_like=True):
    """The result of the job of that number (0: none); requests sent and bytes received since the previous reply."""

    number: int
    requests: int = 0
    received: int = 0
    answer: Answer | Raised | None = None


_encode = msgspec.msgpack.Encoder().encode
read_hello = msgspec.msgpack.Decoder(Hello).decode
read_job = msgspec.msgpack.Decoder(tuple[int, Job]).decode
read_reply = msgspec.msgpack.Decoder(Reply).decode


def frame(content: object) -> bytes:
    """The content, preceded by its length."""
    packed = _encode(content)
    return len(packed).to_bytes(_LENGTH, "little") + packed


async def receive(source: StreamReader) -> bytes:
    """The next message. Raises IncompleteReadError at the end."""
    return await source.readexactly(int.from_bytes(await source.readexactly(_LENGTH), "little"))


def unframed(buffer: bytearray) -> Iterator[bytes]:
    """Take complete messages out of a buffer, one by one."""
    while len(buffer) >= _LENGTH:
        end = _LENGTH + int.from_bytes(buffer[:_LENGTH], "little")
        if len(buffer) < end:
            return
        piece = bytes(buffer[_LENGTH:end])
        del buffer[:end]
        yield piece
