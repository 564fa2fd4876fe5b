"""What a fact states and its sources must therefore have: releases, and values that go with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from packaging.specifiers import SpecifierSet

from resolver.audit.version_words import Wanted
from resolver.model import fact as model
from resolver.model import text as texts
from resolver.model.fact import Fact, Need
from resolver.model.requirement import Comparison, ComponentRequirement, Requirement

# Other names under which documents speak of a project or a component.
_ALIASES: Final = {
    "torch": ("pytorch",),
    "torch-npu": ("torchnpu",),
    "megatron-core": ("megatron-lm", "megatron", "mcore"),
    "hdk": ("driver", "firmware", "software version", "驱动", "固件"),
    "python": ("py",),
    "glibc": ("manylinux", "libc"),
}
# What keeps a build from asking the machine, and is of no file: the version that it would take from
# git, and the plugins that `import torch` would load.
_OF_NO_FILE: Final = ("SETUPTOOLS_SCM_PRETEND_VERSION", "TORCH_DEVICE_BACKEND_AUTOLOAD")
# The tools that build a wheel when an archive names none (PEP 517).
_DEFAULT_TOOLS: Final = ("setuptools", "wheel")


class Value(msgspec.Struct, frozen=True):
    """A version of something, or without one the mention of it."""

    # The names of which the place must have one; without any, the version alone will do.
    names: tuple[str, ...]
    wanted: Wanted | None = None

    def __str__(self) -> str:
        words = [*self.names[:1], *([] if self.wanted is None else [str(self.wanted)])]
        return " ".join(words).removeprefix("soc:")


class Claim(msgspec.Struct, frozen=True):
    """A need of a fact.

    A source has it if it has one of the values; each value must be in some source.
    """

    values: tuple[Value, ...]

    def __str__(self) -> str:
        return " | ".join(map(str, self.values))


class Release(msgspec.Struct, frozen=True):
    """A release that a fact is about, or any of a set."""

    # The names of its project.
    names: tuple[str, ...]
    wanted: Wanted
    # The set that the fact has.
    specifiers: SpecifierSet

    def __str__(self) -> str:
        return f"{self.names[0]} {self.wanted}"


def releases_of(fact: Fact) -> tuple[Release, ...]:
    """Return the releases that a fact is about, one for each of its sets; none if it is about all."""
    if isinstance(fact, model.Sources):
        return ()
    names = _names(fact.package)
    return tuple(
        Release(names, _wanted_release(specifiers), specifiers)
        for specifiers in fact.versions
        if str(specifiers) not in ("", ">=0")
    )


def _wanted_release(specifiers: SpecifierSet) -> Wanted:
    clauses = list(specifiers)
    if len(clauses) == 1 and texts.is_exact(clauses[0]):
        return Wanted(clauses[0].version)
    bounds = tuple(sorted(clause.version.removesuffix(".*") for clause in clauses))
    return Wanted(str(specifiers), admitted=specifiers, bounds=bounds)


def claims_of(fact: Fact) -> tuple[Claim, ...]:
    """Return what a fact states besides the releases that it is about."""
    return tuple(dict.fromkeys(claim for claim in _claims(fact) if claim.values))


def _claims(fact: Fact) -> Iterator[Claim]:
    match fact:
        case model.Requires():
            yield from _of_needs(fact.needs)
        case model.Constrains():
            yield from _of_needs(fact.bounds)
        case model.Replaces():
            yield from _mentions(fact.drop)
            yield from _of_needs(fact.add, as_ranges=True)  # a range around what is installed
        case model.Metadata():
            yield from _of_needs(fact.requires)
            yield from _of_tools(fact.build_requires or ())
        case model.Builds():
            yield from _of_needs(fact.when)
            yield from _mentions(name for name, _ in fact.env if name not in _OF_NO_FILE)
            yield from _mentions(fact.build_drop)
            yield from _of_tools(fact.build_add)
        case model.Collides() | model.Absent():
            yield from _mentions([fact.other])
        case model.After():
            yield from _mentions(fact.others)
        case model.Warns():
            yield from _of_needs(fact.unless)
            yield from _of_needs(fact.together_with)
            yield from _mentions([fact.extra] if fact.extra else [])
        case model.Exports():
            yield from _mentions(name for name, _ in fact.env)
        case model.Optional():
            needed = [need.name for need in fact.needs]
            yield from _mentions(needed or [*fact.modules, *fact.scripts])
        case model.Links():
            yield from _mentions(fact.provides)
            for name in fact.to:
                yield Claim((Value((f"lib{name}", *_names(name))),))
        case model.Pairs():
            yield from _of_needs(fact.others)
        case model.Sources():
            yield from _of_needs(map(texts.requirement, fact.recipe.requires))
            yield from _mentions(submodule.path for submodule in fact.recipe.submodules)
        case model.Excludes() | model.Names() | model.External():
            return


def _mentions(names: Iterable[str]) -> Iterator[Claim]:
    for name in names:
        yield Claim((Value(_names(name)),))


def _of_tools(needs: Iterable[Requirement]) -> Iterator[Claim]:
    yield from _mentions(need.name for need in needs if need.name not in _DEFAULT_TOOLS)


def _of_needs(needs: Iterable[Need], *, as_ranges: bool = False) -> Iterator[Claim]:
    """Yield what needs state; with `as_ranges` any version that a need admits stands for it."""
    for need in needs:
        if isinstance(need, ComponentRequirement):
            yield from _of_component(need)
        elif as_ranges and str(need.specifier):
            yield Claim(
                (Value(_names(need.name), Wanted(str(need.specifier), admitted=need.specifier)),)
            )
        elif str(need.specifier):
            yield from _of_specifier(need)
        else:
            yield from _mentions([need.name])


def _of_specifier(need: Requirement) -> Iterator[Claim]:
    for clause in sorted(need.specifier, key=str):
        is_line = clause.version.endswith(".*")
        wanted = Wanted(clause.version.removesuffix(".*"), is_line=is_line)
        yield Claim((Value(_names(need.name), wanted),))


def _of_component(need: ComponentRequirement) -> Iterator[Claim]:
    """Yield one claim for values of which one is enough, else one for each comparison."""
    if all(len(comparisons) == 1 for comparisons in need.alternatives):
        yield Claim(
            tuple(_of_comparison(need.component, *comparisons) for comparisons in need.alternatives)
        )
        return
    for comparisons in need.alternatives:
        for comparison in comparisons:
            yield Claim((_of_comparison(need.component, comparison),))


def _of_comparison(component: str, comparison: Comparison) -> Value:
    if component == "soc":
        return Value((f"soc:{comparison.value}",))
    if comparison.line:
        return Value(_names(component), Wanted(".".join(map(str, comparison.line)), is_line=True))
    return Value(_names(component), Wanted(str(comparison.value)))


def _names(name: str) -> tuple[str, ...]:
    return (name, *_ALIASES.get(name, ()))
