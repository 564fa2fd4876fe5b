"""Where a statement comes from: its place, and the evidence of its fact."""

from __future__ import annotations

import re

import msgspec

from resolver.model.fact import Fact
from resolver.model.language import Language
from resolver.model.statement import Asks, Forbids, Has, Lack, Lacks, Needs, Shares, Source, Statement, fact_of
from resolver.report.explanation import words

_FILE = re.compile(r".+(?::\d+|\.whl|\.zip|\.tar\.gz)")  # anything else is the name of an index
# As an origin of the search spells it.
_METADATA = "metadata of "
_BUILD = "build-system.requires of "


class Place(msgspec.Struct, frozen=True):
    """An origin. `told` is its description; `where` is its file:line, empty if it is not in our files."""

    told: str
    where: str
    fact: Fact | None


def place_of(statement: Statement, language: Language) -> Place:
    """The origin of a statement, without the fact's strength."""
    fact = fact_of(statement)
    where = statement.where
    match statement:
        case Needs(source=Source.METADATA):
            return Place(words.METADATA_OF(language, filename=where.removeprefix(_METADATA)), "", fact)
        case Needs(source=Source.BUILD, fact=None):
            return Place(words.BUILD_OF(language, filename=where.removeprefix(_BUILD)), "", fact)
        case Lacks(lack=Lack.UNUSABLE, refusals=refusals) if refusals:
            names = [refusal.files[0].filename for refusal in refusals]
            return Place(words.COMMA(language).join(names) or where, "", fact)
        case Lacks() if where and not _FILE.fullmatch(where):
            return Place(_looked_up(statement, language), "", fact)
        case Asks() | Has() | Needs() | Forbids() | Shares() | Lacks():
            return Place(where, where, fact)


def _looked_up(statement: Lacks, language: Language) -> str:
    """The indexes that answered, and those that did not."""
    asked = [name for name in statement.where.split(", ") if name not in statement.unreachable]
    told = words.LOOKED_UP(language, indexes=", ".join(asked)) if asked else ""
    if not statement.unreachable:
        return told
    failed = words.NOT_REACHED(language, indexes=", ".join(statement.unreachable))
    return words.SEMICOLON(language).join(part for part in (told, failed) if part)


def with_strength(place: Place, language: Language) -> str:
    """The description of the origin, with the strength of the fact."""
    if place.fact is None:
        return place.told
    strength = words.STRENGTHS[place.fact.strength.value](language)
    return words.WITH_STRENGTH(language, where=place.told, strength=strength)
