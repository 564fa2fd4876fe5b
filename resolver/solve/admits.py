"""What a requirement admits, one candidate at a time."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from resolver.model import text
from resolver.model.candidate import Candidate, Release
from resolver.model.component import ComponentRequirement
from resolver.model.edge import Allows, Among, Exactly, Nothing, Owner


def satisfies(candidate: Candidate, allows: Allows) -> bool:
    """Whether a requirement admits a candidate, regardless of the pre-release policy."""
    match allows:
        case SpecifierSet():
            return allows.contains(candidate.version, prereleases=True)
        case Exactly():
            return candidate.version == allows.version
        case Among():
            return isinstance(candidate.chosen, Release) and bool(allows.positions >> candidate.chosen.position & 1)
        case ComponentRequirement():
            return not isinstance(candidate.chosen, Release) and allows.allows(candidate.chosen)
        case Owner():
            return candidate.chosen == allows.name
        case Nothing():
            return False


def names_prerelease(allows: Allows) -> bool:
    """Whether a requirement names a pre-release and so allows them (PEP 440)."""
    match allows:
        case SpecifierSet():
            return any(_is_prerelease(one.version) for one in allows if one.operator != "!=")
        case _:  # the link between an extra and its project's release permits nothing
            return False


def _is_prerelease(version_text: str) -> bool:
    version = text.version(version_text.removesuffix(".*"))
    return version is not None and version.is_prerelease


def pins(allows: Allows) -> bool:
    """Whether a requirement names one release and no other (PEP 440 `==` without a wildcard, `===`)."""
    match allows:
        case SpecifierSet():
            return any(
                one.operator == "===" or (one.operator == "==" and not one.version.endswith(".*")) for one in allows
            )
        case Exactly():
            return True
        case _:
            return False
