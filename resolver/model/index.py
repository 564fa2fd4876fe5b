"""Indexes, and which projects may come from which: the guard against dependency confusion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec
from packaging.utils import NormalizedName

PYPI: Final = "pypi"


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """A simple repository (PEP 503). `pypi` has no address: it is what pip is configured with.

    `mirrors` are tried in order where `url` does not answer; they serve the same content. Where it is not `complete`,
    that it lacks a release says nothing of what there is: no fact about such a release is a mistake.
    """

    name: str
    url: str = ""
    mirrors: tuple[str, ...] = ()
    complete: bool = True


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """Where projects are looked up, and nowhere else.

    `packages` are normalised names, or `*` for every project that no other
    binding names. With `take` = "first" the first of `indexes` that has the
    project answers alone; with "all" they answer together, the first named
    winning where two have the same version. `unreachable` says what happens
    when one cannot be reached; "recorded", which no file writes, that the stack
    tells of files of the one index. Empty `platforms` means all.
    """

    packages: tuple[str, ...]
    indexes: tuple[str, ...]
    take: Literal["first", "all"] = "first"
    unreachable: Literal["fail", "next", "recorded"] = "fail"
    platforms: tuple[str, ...] = ()
    reason: str = ""


class Indexes(msgspec.Struct, frozen=True, kw_only=True):
    """All indexes of a problem and their bindings; earlier bindings win.

    `own` tells that the stack brought its own list instead of matrices/indexes.toml, whose bindings are
    `replaced` then: they rule nothing, and a lock warns where they would have led elsewhere.
    """

    indexes: Mapping[str, Index]
    bindings: tuple[Binding, ...]
    own: bool = False
    replaced: tuple[Binding, ...] = ()

    def binding(self, project: NormalizedName, platform: str) -> Binding:
        """The one binding that rules a project on a platform; `pypi` where none names it."""
        for wanted in (project, "*"):
            for binding in self.bindings:
                if wanted in binding.packages and (not binding.platforms or platform in binding.platforms):
                    return binding
        return Binding(packages=("*",), indexes=(PYPI,))
