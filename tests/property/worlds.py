"""Random small worlds: a few projects that need each other, a stack that asks for some, facts about them.

A world is plain data. `catalog` and `problem` hand it to the solver, `bruteforce.py` judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from hypothesis import strategies as st

from resolver.model import fact as facts
from resolver.model.problem import Prereleases, Problem
from tests import problems
from tests.datacatalog import DataCatalog

# Components of the target, and what a need of them comes to there. `hdk` is not stated: nothing is held against it.
SYSTEM: Final = {"cann": "8.5.0", "soc": "A2"}
COMPONENT_NEEDS: Final = {
    "cann in 8.5.0 | 8.5.1": True,
    "cann >= 8.3.RC1": True,
    "cann < 8.5.0": False,
    "cann in 8.3.*": False,
    "soc in A2 | A3": True,
    "soc in 310P": False,
    "python >= 3.10, < 3.12": True,
    "glibc >= 2.31": False,
    "hdk >= 25.3.rc1": True,
}
# Tags, and whether linux-aarch64 with Python 3.11 and glibc 2.28 accepts them.
TAGS: Final = {
    "py3-none-any": True,
    "cp311-cp311-manylinux_2_28_aarch64": True,
    "cp38-abi3-manylinux2014_aarch64": True,
    "cp311-cp311-manylinux_2_28_x86_64": False,
    "cp312-cp312-manylinux_2_28_aarch64": False,
    "cp311-cp311-manylinux_2_34_aarch64": False,
}
_NAMES: Final = ("p", "q", "r", "s", "t", "u")
_EXTRAS: Final = ("x", "y")
_VERSIONS: Final = ("1", "1.1", "2", "2.post1", "3", "3.1")
_PRERELEASES: Final = ("1.1a1", "2rc1", "3.dev1", "4b2")
_MARKERS: Final = (
    "platform_machine == 'aarch64'",
    "platform_machine == 'x86_64'",
    "python_version < '3.10'",
    "python_full_version >= '3.11.0' and sys_platform == 'linux'",
    "extra == 'x'",
    "extra == 'y'",
    "extra == 'X' and platform_machine == 'aarch64'",
    "extra == 'x' and platform_machine == 'x86_64'",
    "extra == 'y' or python_version >= '3.12'",
    "extra == 'x' or extra == 'y'",
)


@dataclass(frozen=True)
class Version:
    """One release: a wheel, what its page and its METADATA say."""

    requires: tuple[str, ...] = ()
    tags: str = "py3-none-any"
    page_python: str = ""
    own_python: str = ""
    readable: bool = True
    yanked: bool = False


@dataclass(frozen=True)
class World:
    """Everything that an answer depends on."""

    projects: Mapping[str, Mapping[str, Version]]
    asks: tuple[str, ...]
    facts: tuple[facts.Fact, ...] = ()
    prereleases: Prereleases = "if-necessary"

    def catalog(self, *, backwards: bool = False) -> DataCatalog:
        """The index of this world; `backwards` adds everything in the opposite order."""
        catalog = DataCatalog()
        step = -1 if backwards else 1
        for name in list(self.projects)[::step]:
            catalog.add_project(name)
            for version, release in list(self.projects[name].items())[::step]:
                catalog.add_wheel(
                    name,
                    version,
                    release.requires,
                    tags=release.tags,
                    requires_python=release.page_python,
                    metadata_python=release.own_python,
                    readable=release.readable,
                    yanked="" if release.yanked else None,
                )
        return catalog

    def problem(self) -> Problem:
        """The problem that this world poses."""
        return problems.problem(
            *self.asks, facts=self.facts, target=problems.target(**SYSTEM), prereleases=self.prereleases
        )

    def asking(self, *asks: str) -> World:
        """The same world with another stack."""
        return replace(self, asks=asks)


@st.composite
def worlds(draw: st.DrawFn, *, acyclic: bool = False, prereleases: bool = False, plain: bool = False) -> World:
    """A world of two to six projects.

    `acyclic` lets projects need later ones only; `plain` leaves facts and unusable files out;
    `prereleases` brings in pre-releases, yanked releases and the policies for them.
    """
    names = _NAMES[: draw(st.integers(2, len(_NAMES)))]
    pool = _VERSIONS + (_PRERELEASES if prereleases else ())
    projects: dict[str, dict[str, Version]] = {}
    for at, name in enumerate(names):
        needed = names[at + 1 :] if acyclic else names
        versions = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4, unique=True))
        projects[name] = {
            version: draw(_releases(name, needed, pool, prereleases=prereleases, plain=plain)) for version in versions
        }
    asks = draw(st.lists(_lines(names, pool, markers=False), min_size=1, max_size=3))
    stated: list[facts.Fact] = []
    if not plain:
        asks += draw(_rarely(st.sampled_from(list(COMPONENT_NEEDS)).map(lambda need: [need]), []))
        stated = draw(_facts(names, pool, acyclic=acyclic))
    policy: Prereleases = "if-necessary"
    if prereleases:
        policy = draw(_rarely(st.sampled_from(("allow", "never")), "if-necessary"))
    return World(projects=projects, asks=tuple(asks), facts=tuple(stated), prereleases=policy)


def specifiers(pool: tuple[str, ...] = _VERSIONS) -> st.SearchStrategy[str]:
    """Specifier sets over these versions: comparisons, wildcards, compatible releases, two of them at times."""
    comparison = st.builds("{}{}".format, st.sampled_from(("==", "!=", ">=", "<=", "<", ">")), st.sampled_from(pool))
    other = st.sampled_from(("==1.*", "==2.*", "!=1.*", "!=3.*", "~=1.0", "~=2.0", "~=3.1", "===2", "==9"))
    one = st.one_of(comparison, comparison, other)
    return st.one_of(st.just(""), one, one, st.builds("{},{}".format, one, one))


def _lines(names: tuple[str, ...], pool: tuple[str, ...], *, markers: bool = True) -> st.SearchStrategy[str]:
    extras = _rarely(st.lists(st.sampled_from(_EXTRAS), min_size=1, unique=True), [])
    marker = st.one_of(st.just(""), st.just(""), st.sampled_from(_MARKERS)) if markers else st.just("")
    return st.builds(_line, st.sampled_from(names), extras, specifiers(pool), marker)


def _line(name: str, extras: list[str], specifier: str, marker: str) -> str:
    return name + (f"[{','.join(extras)}]" if extras else "") + specifier + (f" ; {marker}" if marker else "")


@st.composite
def _releases(
    draw: st.DrawFn, name: str, needed: tuple[str, ...], pool: tuple[str, ...], *, prereleases: bool, plain: bool
) -> Version:
    requires = draw(st.lists(_lines(needed, pool), max_size=3)) if needed else []
    requires += draw(_rarely(st.just([f"{name}[x] ; extra == 'y'"]), []))  # an extra that stands for another
    if plain:
        return Version(tuple(requires))
    requires += draw(_seldom(st.sampled_from((["p @ https://p.test/p.zip ; extra == 'y'"], ["not a requirement!"])), []))
    return Version(
        requires=tuple(requires),
        tags=draw(_rarely(st.sampled_from(list(TAGS)), "py3-none-any")),
        page_python=draw(_seldom(st.sampled_from((">=3.8", ">=3.12")), "")),
        own_python=draw(_seldom(st.sampled_from((">=3.8", "<3.11")), "")),
        readable=draw(_seldom(st.just(False), True)),
        yanked=prereleases and draw(_rarely(st.just(True), False)),
    )


@st.composite
def _facts(draw: st.DrawFn, names: tuple[str, ...], pool: tuple[str, ...], *, acyclic: bool) -> list[facts.Fact]:
    found: list[facts.Fact] = []
    kinds = st.sampled_from(("requires", "component", "excludes", "collides", "replaces"))
    for kind in draw(st.lists(kinds, max_size=3)):
        at = draw(st.integers(0, len(names) - 1))
        name, later = names[at], names[at + 1 :] if acyclic else names
        versions = draw(specifiers(pool))
        match kind:
            case "requires" if later:
                found.append(problems.requires(name, versions, draw(_lines(later, pool, markers=False))))
            case "component":
                found.append(problems.requires(name, versions, draw(st.sampled_from(list(COMPONENT_NEEDS)))))
            case "excludes":
                found.append(problems.excludes(name, versions))
            case "collides":
                other = draw(st.sampled_from([other for other in names if other != name]))
                found.append(problems.collides(name, versions, other, draw(st.sampled_from(("m", "n")))))
            case "replaces" if later:
                added = draw(st.lists(_lines(later, pool, markers=False), max_size=1))
                found.append(problems.replaces(name, versions, [draw(st.sampled_from(later))], *added))
            case _:
                pass
    return found


def _rarely(strange: st.SearchStrategy, ordinary: object) -> st.SearchStrategy:
    """One time in six the strange."""
    return st.integers(0, 5).flatmap(lambda dice: strange if dice == 5 else st.just(ordinary))


def _seldom(strange: st.SearchStrategy, ordinary: object) -> st.SearchStrategy:
    """One time in fifteen the strange."""
    return st.integers(0, 14).flatmap(lambda dice: strange if dice == 14 else st.just(ordinary))
