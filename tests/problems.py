"""Problems, facts and targets in one line each, and helpers that insist on a result.

resolution = solved(problem("a", "cann >= 8.5.0"), catalog)
conflict = refused(problem("a", facts=[requires("a", "==1", "b<2")]), catalog)
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.i18n import translate
from resolver.index.protocol import Catalog
from resolver.model import fact as facts
from resolver.model import text
from resolver.model.constraint import StackKey, StackLine
from resolver.model.problem import (
    PYPI,
    Absence,
    Index,
    Indexes,
    Policy,
    Problem,
    RootRequirement,
    Stack,
)
from resolver.model.release import Source
from resolver.model.repository import Recipe
from resolver.model.requirement import ComponentRequirement
from resolver.model.resolution import Resolution
from resolver.model.target import Target
from resolver.report import document
from resolver.report.explanation.grouping import origin_span
from resolver.report.explanation.sentences import sentence
from resolver.report.explanation.unavailable import reason_details
from resolver.resolve.independent_check import check
from resolver.resolve.refutation import Refutation
from resolver.resolve.solver import solve
from tests.components import COMPONENTS, value
from tests.references import read_source

CHECKED = dt.date(2026, 11, 20)
# As the stack's own indexes, so that a fact may match no release.
PYPI_ONLY = Indexes(indexes={PYPI: Index(name=PYPI)}, bindings=(), own_only=True)


def target(
    python: str = "3.11", platform: str = "linux-aarch64", glibc: str = "2.28", **system: str
) -> Target:
    """Return a target named `here`; `system` states further components (cann="8.5.0")."""
    major, minor = map(int, glibc.split("."))
    stated = {"python": python, "glibc": glibc, **system}
    return Target(
        name="here",
        python=python,
        platform=platform,
        glibc=(major, minor),
        system={name: value(name, text) for name, text in sorted(stated.items())},
        components=COMPONENTS,
    )


def problem(
    *asks: str,
    facts: Iterable[facts.Fact] = (),
    target: Target = target(cann="8.5.0"),  # noqa: B008  frozen
    indexes: Indexes = PYPI_ONLY,
    constraints: Iterable[str] = (),
    overrides: Iterable[str] = (),
    **policy: Any,
) -> Problem:
    """Return a problem of these lines, the first on line 5 of stack.toml.

    The first constraint is on line 50, the first override on line 60. `policy` are the fields of
    Policy.
    """
    lines = tuple(
        RootRequirement(need=need(line), origin=StackLine(line, f"stack.toml:{at}"))
        for at, line in enumerate(asks, 5)
    )
    stack = Stack(
        name="test",
        summary="a test",
        source="",
        where="stack.toml",
        requirements=lines,
        constraints=_roots(constraints, "constraints", 50),
        overrides=_roots(overrides, "overrides", 60),
    )
    return Problem(
        stack=stack,
        target=target,
        facts=tuple(facts),
        policy=Policy(**policy),
        indexes=indexes,
        digest="0" * 64,
    )


def _roots(lines: Iterable[str], key: StackKey, first: int) -> tuple[RootRequirement, ...]:
    return tuple(
        RootRequirement(need=need(line), origin=StackLine(line, f"stack.toml:{at}", key=key))
        for at, line in enumerate(lines, first)
    )


def solved(
    problem: Problem, catalog: Catalog, preferred: Mapping[str, str] | None = None
) -> Resolution:
    """Return the resolution of a solvable problem, which has passed the independent check."""
    wanted = {
        canonicalize_name(name): Version(version) for name, version in (preferred or {}).items()
    }
    answer = solve(problem, catalog, preferred=wanted)
    assert isinstance(answer, Resolution), [
        translate(sentence(one), "en") for one in answer.reasons
    ]
    assert check(problem, answer, catalog) == []
    return answer


def pins(
    problem: Problem, catalog: Catalog, preferred: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the pins of a solvable problem."""
    return {pin.name: str(pin.version) for pin in solved(problem, catalog, preferred).pins}


def refused(problem: Problem, catalog: Catalog) -> Refutation:
    """Return the conflict of a problem that has no solution."""
    answer = solve(problem, catalog)
    assert isinstance(answer, Refutation), {pin.name: str(pin.version) for pin in answer.pins}
    return answer


def told(problem: Problem, catalog: Catalog) -> list[str]:
    """Return a conflict as lines: `sentence @ place (source, strength)`, details below it."""
    lines = []
    for reason in refused(problem, catalog).reasons:
        place, fact = document.translated(origin_span(reason).text, "en"), reason.fact
        evidence = f" ({fact.source}, {fact.strength})" if fact is not None else ""
        lines.append(f"{translate(sentence(reason), 'en')} @ {place}{evidence}")
        lines += [f"  {translate(detail, 'en')}" for detail in reason_details(reason)]
    return lines


# --- facts


def need(line: str) -> facts.Need:
    """Return the requirement on a component or a project in a line."""
    return ComponentRequirement.parse(line, COMPONENTS) or text.requirement(line)


def requires(package: str, versions: str, *needs: str) -> facts.Requires:
    return facts.Requires(**common(package, versions, "requires"), needs=tuple(map(need, needs)))


def constrains(package: str, versions: str, *bounds: str) -> facts.Constrains:
    return facts.Constrains(
        **common(package, versions, "constrains"), bounds=tuple(map(text.requirement, bounds))
    )


def excludes(package: str, versions: str, reason: str = "it is broken") -> facts.Excludes:
    return facts.Excludes(**common(package, versions, "excludes") | {"reason": reason})


def replaces(package: str, versions: str, drop: Iterable[str], *add: str) -> facts.Replaces:
    dropped = tuple(canonicalize_name(name) for name in drop)
    return facts.Replaces(
        **common(package, versions, "replaces"), drop=dropped, add=tuple(map(need, add))
    )


def collides(package: str, versions: str, other: str, module: str) -> facts.Collides:
    return facts.Collides(
        **common(package, versions, "collides"), other=canonicalize_name(other), module=module
    )


def metadata(
    package: str, versions: str, *lines: str, build_requires: Iterable[str] | None = None
) -> facts.Metadata:
    return facts.Metadata(
        **common(package, versions, "metadata"),
        requires=tuple(map(text.requirement, lines)),
        build_requires=None
        if build_requires is None
        else tuple(map(text.requirement, build_requires)),
        requires_python=None,
    )


def builds(
    package: str,
    versions: str,
    requires_from: str = "requirements.txt",
    *,
    isolation: bool = True,
    drop: Iterable[str] = (),
    add: Iterable[str] = (),
) -> facts.Builds:
    return facts.Builds(
        **common(package, versions, "builds"),
        requires_from=requires_from,
        label="",
        env=(),
        isolation=isolation,
        build_drop=tuple(map(canonicalize_name, drop)),
        build_add=tuple(map(text.requirement, add)),
    )


def names(package: str, versions: str, index: str) -> facts.Names:
    return facts.Names(**common(package, versions, "names"), index=index)


def after(package: str, *others: str) -> facts.After:
    return facts.After(**common(package, "", "after"), others=tuple(map(canonicalize_name, others)))


def put_last(package: str, version: str, level: int, *unless: str) -> facts.Warns:
    stated = common(package, f"=={version}", "warns")
    return facts.Warns(
        **stated, text="another target's", extra="", unless=tuple(map(need, unless)), last=level
    )


def common(package: str, versions: str, kind: str) -> dict[str, Any]:
    """Return what a fact of any kind has; it is at line 7 of the project's file."""
    return {
        "id": f"{package}-{kind}",
        "package": canonicalize_name(package),
        "versions": (SpecifierSet(versions),),
        "reason": "somebody read it",
        "strength": facts.Strength.VENDOR,
        "source": read_source("vendor/table#1"),
        "checked": CHECKED,
        "where": f"facts/{package}.toml:7",
    }


# --- what is not from an index

COMMIT = "c0ffee" * 6 + "cafe"


def absent(package: str, versions: str, other: str) -> facts.Absent:
    return facts.Absent(**common(package, versions, "absent"), other=canonicalize_name(other))


def taken(project: str, version: str, *lines: str, **recipe: Any) -> tuple[str, Source]:
    """Return a stack's line that takes a project from a commit, and the source it means."""
    name = canonicalize_name(project)
    url = f"https://git.test/{name}"
    made = Recipe(version=Version(version), requires=lines, **{"build_requires": (), **recipe})
    fact = facts.Sources(
        **common(project, "", "sources"),
        git=url,
        commit=COMMIT,
        ref="",
        subdirectory="",
        recipe=made,
        requires_from=(),
    )
    return f"{project} @ git+{url}@{COMMIT}", Source(
        name=name, url=url, commit=COMMIT, recipe=made, fact=fact
    )


def made(project: str, version: str, *lines: str, **recipe: Any) -> facts.Sources:
    """Return a fact that takes a release from a commit."""
    _, source = taken(project, version, *lines, **recipe)
    assert source.fact is not None
    return replace(source.fact, release=True)


def with_sources(problem: Problem, *sources: Source) -> Problem:
    """Return the problem with these sources for its direct references."""
    stated = tuple(one.fact for one in sources if one.fact is not None)
    known = {f"git+{one.url}@{one.commit}": one for one in sources}
    return replace(problem, facts=(*problem.facts, *stated), sources=known)


def without(problem: Problem, *names: str) -> Problem:
    """Return the problem with a stack that excludes these projects."""
    rows = tuple(
        Absence(package=canonicalize_name(name), reason="it does harm", where=f"stack.toml:{at}")
        for at, name in enumerate(names, 20)
    )
    return replace(problem, stack=replace(problem.stack, absent=rows))
