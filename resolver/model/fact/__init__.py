"""Facts: statements about releases that their metadata does not make, with their sources.

People write facts in TOML files (matrices/facts). Each fact is a table such as `[[requires]]`,
which the code calls a row. Each kind of fact has a module here with a type. The fields of the type
are the keys of a row. The methods say what a fact adds to a release, which names it contains, what
its sources must contain, and when a lock cites it.

CONTRIBUTING.md has the recipe for a new kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

from resolver.model.fact.absent import Absent
from resolver.model.fact.after import After
from resolver.model.fact.base import (
    Fact,
    Mistake,
    Need,
    Strength,
    component_requirements,
    projects_of,
)
from resolver.model.fact.builds import Builds
from resolver.model.fact.collides import Collides
from resolver.model.fact.constrains import Constrains
from resolver.model.fact.excludes import Excludes
from resolver.model.fact.exports import Exports
from resolver.model.fact.external import External, MachineNeed
from resolver.model.fact.links import Links
from resolver.model.fact.metadata import Metadata
from resolver.model.fact.names import Names
from resolver.model.fact.optional import Optional
from resolver.model.fact.pairs import Pairs
from resolver.model.fact.replaces import Replaces, needs_kept
from resolver.model.fact.requires import Requires
from resolver.model.fact.series import Series
from resolver.model.fact.sources import Sources
from resolver.model.fact.warns import Warns, as_warning, is_put_last

# The types of facts by the names of their tables in a TOML file. Facts of one file are in the order
# of these kinds.
KINDS: Final[Mapping[str, type[Fact]]] = {
    "requires": Requires,
    "constrains": Constrains,
    "series": Series,
    "excludes": Excludes,
    "replaces": Replaces,
    "metadata": Metadata,
    "builds": Builds,
    "collides": Collides,
    "after": After,
    "warns": Warns,
    "names": Names,
    "sources": Sources,
    "absent": Absent,
    "exports": Exports,
    "external": External,
    "optional": Optional,
    "links": Links,
    "pairs": Pairs,
}

FactKind = TypeVar("FactKind", bound=Fact)
# The kinds of facts that can be a practice (see `Strength.PRACTICE`).
Practice = Requires | Replaces

__all__ = [
    "KINDS",
    "Absent",
    "After",
    "Builds",
    "Collides",
    "Constrains",
    "Excludes",
    "Exports",
    "External",
    "Fact",
    "FactKind",
    "Links",
    "MachineNeed",
    "Metadata",
    "Mistake",
    "Names",
    "Need",
    "Optional",
    "Pairs",
    "Practice",
    "Replaces",
    "Requires",
    "Series",
    "Sources",
    "Strength",
    "Warns",
    "as_warning",
    "component_requirements",
    "is_put_last",
    "needs_kept",
    "projects_of",
]
