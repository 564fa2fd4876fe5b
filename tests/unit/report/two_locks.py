"""Two locks that differ in everything of which a difference tells."""

from __future__ import annotations

from msgspec.structs import replace

from resolver.lock import file
from resolver.model.fact import Strength
from resolver.model.lock import Lock, LockedFact
from resolver.model.message import Message, message, verbatim
from tests.functional.workspace import REPOSITORY

COMMITTED = REPOSITORY / "tests" / "fuzz" / "corpus" / "lock" / "verl-one-step-off.toml"


def _fact(
    name: str, reason: str, where: str = "a.toml:1", strength: Strength = Strength.VENDOR
) -> LockedFact:
    return LockedFact(
        id=name,
        where=where,
        strength=strength,
        reason=reason,
        reason_zh="如此",
        source="it",
        checked="2026-11-20",
    )


def locks() -> tuple[Lock, Lock]:
    lock = file.parse(COMMITTED.read_text(encoding="utf-8"), COMMITTED.parent)
    numpy, _, vllm, plugin = lock.pin
    before = replace(
        lock,
        fact=(_fact("old", "it was seen"), _fact("moved", "it stays")),
        warnings=_warned("is slow"),
    )
    after = replace(
        lock,
        target=replace(lock.target, python="3.11"),
        requires=(*lock.requires[1:], "numpy>=1"),
        pin=(
            replace(numpy, file=(replace(numpy.file[0], sha256="0" * 64),)),
            replace(numpy, name="polars", version="2.3.3"),
            replace(vllm, version="0.11.1+empty"),
            replace(plugin, env={"SOC_VERSION": "ascend910b1"}),
        ),
        build_pin=(lock.build_pin[0], replace(lock.build_pin[1], version="0.48.0")),
        fact=(
            _fact("old", "it was seen twice", strength=Strength.DOCUMENTED),
            _fact("moved", "it stays", where="a.toml:2"),
            _fact("new", "it was measured"),
        ),
        warnings=_warned("is fast", where="a.toml:2"),
        exclude_newer="2026-11-20T00:00:00Z",
    )
    return before, after


def _warned(how: str, where: str = "a.toml:1") -> tuple[Message, ...]:
    """A warning that only moves, and one of how numpy is."""
    return tuple(
        message("lock.fact-warns", package="numpy", text=verbatim(what), where=where)
        for what in ("It stays.", how)
    )
