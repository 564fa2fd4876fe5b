"""`excludes`: releases that must not be used."""

from __future__ import annotations

from resolver.model.fact.base import ExclusionFact


class Excludes(ExclusionFact, frozen=True, kw_only=True):
    """Releases of `package` that must not be used, on any index."""
