"""Say what the sources of a fact must have: its releases, and the values that it claims for them.

`source_checks` looks for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet

from resolver.ascend.names import ALIASES, CHIP, CHIP_CLAIM
from resolver.audit.version_words import Wanted
from resolver.model import fact as model
from resolver.model import text as texts
from resolver.model.fact import Fact, Need
from resolver.model.requirement import Comparison, ComponentRequirement, Requirement

# Other names that documents use for a project or a component.
_ALIASES: Final = {
    "torch": ("pytorch",),
    "megatron-core": ("megatron-lm", "megatron", "mcore"),
    "python": ("py",),
    "glibc": ("manylinux", "libc"),
    **ALIASES,
}
# The tools that build a wheel if an archive names none (PEP 517). Sources need not mention them.
_DEFAULT_TOOLS: Final = ("setuptools", "wheel")


class Value(msgspec.Struct, frozen=True):
    """A version of a project or component that a source must have, or the mention of its name."""

    # The names of the project or component. One of them is enough.
    names: tuple[str, ...]
    # The version; None if the name alone is enough.
    wanted: Wanted | None = None

    def __str__(self) -> str:
        name = self.names[0].removeprefix(CHIP_CLAIM)
        return name if self.wanted is None else f"{name} {self.wanted}"


class Claim(msgspec.Struct, frozen=True):
    """Something that a fact states about its releases, such as a requirement."""

    # The values, at least one. For each release one of them must be found, and each of them for
    # some release.
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.values))


class Release(msgspec.Struct, frozen=True):
    """A release that a fact is about, or a set of releases of which any one is enough."""

    # The names of its project; the first is the one that the fact uses.
    names: tuple[str, ...]
    # What a document must have.
    wanted: Wanted
    # The set of versions in the fact.
    specifiers: SpecifierSet

    def __str__(self) -> str:
        return f"{self.names[0]} {self.wanted}"


def releases_of(fact: Fact) -> tuple[Release, ...]:
    """Return the releases that a fact is about, one for each of its sets of versions.

    A set of all versions is left out.
    """
    if isinstance(fact, model.Sources):
        return ()
    names = _names(fact.package)
    return tuple(
        Release(names, _wanted_release(specifiers), specifiers)
        for specifiers in fact.versions
        if str(specifiers) not in ("", ">=0")
    )


def _wanted_release(specifiers: SpecifierSet) -> Wanted:
    """Return what a document must have for a set of versions."""
    clauses = list(specifiers)
    if len(clauses) == 1 and texts.is_exact(clauses[0]):
        return Wanted(clauses[0].version)
    bounds = sorted(clause.version.removesuffix(".*") for clause in clauses)
    return Wanted(str(specifiers), admitted=specifiers, bounds=tuple(bounds))


def claims_of(fact: Fact) -> tuple[Claim, ...]:
    """Return what a fact claims about its releases, each claim once."""
    return tuple(dict.fromkeys(_claims(fact)))


def _claims(fact: Fact) -> Iterator[Claim]:
    """Yield what a fact claims about its releases."""
    for need in fact.cited_needs:
        yield from _claims_of_need(need)
    for name in fact.mentions:
        yield _mention(name)
    for tool in fact.build_tools:
        if tool.name not in _DEFAULT_TOOLS:
            yield _mention(tool.name)
    if isinstance(fact, model.Replaces):
        for need in fact.add:
            yield from _claims_of_replacement(need)
    if isinstance(fact, model.Links):
        for name in fact.to:
            library = f"lib{name}"
            yield Claim((Value((library, *_names(name))),))


def _mention(name: str) -> Claim:
    """Return the claim that a source mentions a name."""
    return Claim((Value(_names(name)),))


def _claims_of_need(need: Need) -> Iterator[Claim]:
    """Yield what a requirement claims: versions, or the name if it admits all versions."""
    if isinstance(need, ComponentRequirement):
        yield from _claims_of_component(need)
    elif str(need.specifier):
        yield from _claims_of_specifier(need)
    else:
        yield _mention(need.name)


def _claims_of_replacement(need: Need) -> Iterator[Claim]:
    """Yield what a requirement that a `replaces` fact adds claims.

    Any version that it admits is enough: such ranges are written around the version in an image.
    """
    if isinstance(need, Requirement) and str(need.specifier):
        wanted = Wanted(str(need.specifier), admitted=need.specifier)
        yield Claim((Value(_names(need.name), wanted),))
    else:
        yield from _claims_of_need(need)


def _claims_of_specifier(need: Requirement) -> Iterator[Claim]:
    """Yield a claim for each comparison of a requirement."""
    for clause in sorted(need.specifier, key=str):
        is_line = clause.version.endswith(".*")
        wanted = Wanted(clause.version.removesuffix(".*"), is_line=is_line)
        yield Claim((Value(_names(need.name), wanted),))


def _claims_of_component(need: ComponentRequirement) -> Iterator[Claim]:
    """Yield what a requirement on a component claims.

    It is one claim if the requirement lists values of which any is enough. Otherwise each
    comparison is a claim.
    """
    if all(len(comparisons) == 1 for comparisons in need.alternatives):
        values = [_value(need.component, comparison) for (comparison,) in need.alternatives]
        yield Claim(tuple(values))
        return
    for comparisons in need.alternatives:
        for comparison in comparisons:
            yield Claim((_value(need.component, comparison),))


def _value(component: str, comparison: Comparison) -> Value:
    """Return the value that a comparison with a component names."""
    if component == CHIP:
        return Value((f"{CHIP_CLAIM}{comparison.value}",))
    if comparison.line:
        line = ".".join(map(str, comparison.line))
        return Value(_names(component), Wanted(line, is_line=True))
    return Value(_names(component), Wanted(str(comparison.value)))


def _names(name: str) -> tuple[str, ...]:
    """Return a name and the other names that documents use for the same."""
    return (name, *_ALIASES.get(name, ()))
