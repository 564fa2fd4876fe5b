"""Small random worlds: a few projects, a stack that requires some, and facts about them.

A world is plain data. `catalog` and `problem` pass it to the solver, `bruteforce.py` judges it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import Any, Final, TypeVar

import msgspec
import tomli_w
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from resolver.config import schema
from resolver.config.load import Inputs
from resolver.config.toml_files import read_text
from resolver.model import fact as facts
from resolver.model.problem import Prereleases, Problem
from tests import problems
from tests.components import COMPONENTS, SYSTEMS, systems
from tests.datacatalog import DataCatalog

# Components of the target, and the outcome of needs of them. `hdk` is not stated, so nothing can
# contradict it.
SYSTEM: Final = {"python": "3.11", "glibc": "2.28", "cann": "8.5.0", "soc": "A2"}
COMPONENT_NEEDS: Final[Mapping[str, tuple[str, Callable[[str], bool]]]] = {
    "cann in 8.5.0 | 8.5.1": ("cann", lambda value: value in ("8.5.0", "8.5.1")),
    "cann >= 8.3.RC1": ("cann", lambda value: value in ("8.3.RC1", "8.5.0", "8.5.1")),
    "cann < 8.5.0": ("cann", lambda value: value == "8.3.RC1"),
    "cann in 8.3.*": ("cann", lambda value: value == "8.3.RC1"),
    "soc in A2 | A3": ("soc", lambda value: value in ("A2", "A3")),
    "soc in 310P": ("soc", lambda value: value == "310P"),
    "python >= 3.10, < 3.12": ("python", lambda value: value in ("3.10", "3.11")),
    "glibc >= 2.31": ("glibc", lambda value: value in ("2.31", "2.34")),
    "hdk >= 25.3.rc1": ("hdk", lambda _: True),
}
# Tags, and the Pythons and the glibcs (of 2.28 and newer) with which linux-aarch64 accepts them.
_GLIBCS = ("2.28", "2.31", "2.34")
TAGS: Final = {
    "py3-none-any": (("3.10", "3.11", "3.12"), _GLIBCS),
    "cp311-cp311-manylinux_2_28_aarch64": (("3.11",), _GLIBCS),
    "cp38-abi3-manylinux2014_aarch64": (("3.10", "3.11", "3.12"), _GLIBCS),
    "cp311-cp311-manylinux_2_28_x86_64": ((), ()),
    "cp312-cp312-manylinux_2_28_aarch64": (("3.12",), _GLIBCS),
    "cp311-cp311-manylinux_2_34_aarch64": (("3.11",), ("2.34",)),
}
_NAMES: Final = ("p", "q", "r", "s", "t", "u")
_VERSIONS: Final = ("1", "1.1", "2", "2.post1", "3", "3.1")
_PRERELEASES: Final = ("1.1a1", "2rc1", "3.dev1", "4b2")
_SPECIAL: Final = ("==1.*", "!=1.*", "==2.*", "!=3.*", "~=1.0", "~=2.0", "~=3.1", "===2", "==9")
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


Option = TypeVar("Option")
Number = Callable[[int, int], int]  # one of low to high


@lru_cache(maxsize=1 << 16)
def contains(specifier: SpecifierSet, version: str) -> bool:
    """Whether a version is in a set, pre-releases like others."""
    return specifier.contains(version, prereleases=True)


@dataclass(frozen=True)
class Version:
    """One release: a wheel with the contents of its page and METADATA."""

    requires: tuple[str, ...] = ()
    tags: str = "py3-none-any"
    page_python: str = ""
    own_python: str = ""
    readable: bool = True
    yanked: bool = False


@dataclass(frozen=True)
class World:
    projects: Mapping[str, Mapping[str, Version]]
    asks: tuple[str, ...]
    facts: tuple[facts.Fact, ...] = ()
    prereleases: Prereleases = "if-necessary"
    system: Mapping[str, str] = field(default_factory=lambda: dict(SYSTEM))
    known: Mapping[str, Sequence[str]] = field(
        default_factory=dict
    )  # values of components, as in systems.toml

    def catalog(
        self, *, backwards: bool = False, uploaded: Mapping[tuple[str, str], str] | None = None
    ) -> DataCatalog:
        """Return the index of this world; `backwards` adds everything in the opposite order.

        `uploaded` are upload times, by project and version.
        """
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
                    uploaded=(uploaded or {}).get((name, version), ""),
                )
        return catalog

    def problem(self) -> Problem:
        target = problems.target(**self.system)
        return problems.problem(
            *self.asks, facts=self.facts, target=target, prereleases=self.prereleases
        )

    def facts_about(self, name: str, version: str, *kinds: type[facts.Fact]) -> list[facts.Fact]:
        """Return the facts about a release, of some kinds or of all."""
        return [
            fact
            for fact in self.facts
            if isinstance(fact, kinds or facts.Fact)
            and fact.package == name
            and any(contains(versions, version) for versions in fact.versions)
        ]

    def admits(self, requires_python: str) -> bool:
        return SpecifierSet(requires_python).contains(f"{self.system['python']}.0")

    def fits(self, name: str, version: str) -> bool:
        """Whether page and facts allow the target to use a release."""
        release = self.projects[name][version]
        pythons, glibcs = TAGS[release.tags]
        tags = self.system["python"] in pythons and self.system["glibc"] in glibcs
        return (
            tags
            and self.admits(release.page_python)
            and not self.facts_about(name, version, facts.Excludes)
        )

    def asking(self, *asks: str) -> World:
        return replace(self, asks=asks)

    def inputs(self) -> Inputs:
        """Return the stack's file of this problem with all facts; every third is enforced."""
        inputs = stack_inputs(tomli_w.dumps(self._stack()))
        return msgspec.structs.replace(inputs, systems=systems(self.known))

    def of(self, problem: Problem) -> World:
        """Return the same projects with a problem compiled from a stack file."""
        return replace(
            self,
            asks=tuple(ask.origin.text for ask in problem.stack.requirements),
            facts=problem.facts,
            prereleases=problem.policy.prereleases,
            system={component: str(value) for component, value in problem.target.system.items()},
        )

    def _stack(self) -> dict[str, Any]:
        rows: dict[str, list[dict[str, Any]]] = {}
        for number, fact in enumerate(self.facts):
            rows.setdefault(type(fact).__name__.lower(), []).append(
                _row(fact, _STRENGTHS[number % len(_STRENGTHS)])
            )
        system = {component: self.system[component] for component in ("cann", "soc")}
        return {
            "index": [],
            "stack": {"name": "world", "summary": "a test", "requires": list(self.asks)},
            "target": {
                "python": self.system["python"],
                "platform": "linux-aarch64",
                "glibc": self.system["glibc"],
                "system": system,
            },
            "policy": {
                "prereleases": self.prereleases,
                "own-indexes-only": True,
            },  # so a fact may match no release
            "fact": rows,
        }


_STRENGTHS: Final = ("vendor", "enforced", "observed")


def stack_inputs(text: str) -> Inputs:
    """Return the inputs for compiling a stack's text alone."""
    return Inputs(
        stack=read_text(text, schema.StackFile, "world.toml", COMPONENTS),
        facts=(),
        indexes=None,
        systems=SYSTEMS,
    )


def _row(fact: facts.Fact, strength: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "package": fact.package,
        "versions": [str(versions) or ">=0" for versions in fact.versions],
        "reason": fact.reason,
        "strength": strength,
        "source": str(fact.source),
        "checked": fact.checked,
    }
    match fact:
        case facts.Requires():
            row["needs"] = [str(need) for need in fact.needs]
        case facts.Constrains():
            row["bounds"] = [str(bound) for bound in fact.bounds]
        case facts.Replaces():
            row |= {"drop": list(fact.drop), "add": [str(need) for need in fact.add]}
        case facts.Collides():
            row |= {"with": fact.other, "module": fact.module}
    return row


@st.composite
def worlds(
    draw: st.DrawFn,
    *,
    prereleases: bool = False,
    plain: bool = False,
    easy: bool = False,
    bounds: bool = False,
) -> World:
    """Return a world of two to six projects.

    `plain` leaves facts and unusable files out; `prereleases` adds pre-releases, yanked releases
    and the policies for them; `easy` requires little, so that most worlds have a solution. With
    `bounds`, half of the facts constrain.
    """
    return _Maker(
        _drawn(draw), prereleases=prereleases, plain=plain, easy=easy, bounds=bounds
    ).world()


def random_world(seed: int) -> World:
    """Return the world of a seed: every second one is plain, with cyclic requirements."""
    kind = seed % 4
    return _Maker(Random(seed).randint, plain=kind in (0, 2), prereleases=kind == 3).world()


_POLICY_VERSIONS = ("1", "1.1", "2a1", "3rc1", "2")
_POLICY_BOUNDS = ("", "", ">=1", "<2", "==1", "<1.1", ">=1.1", ">=2a1")


def policy_world(seed: int) -> World:
    """Return the world of a seed in which the policy matters.

    It has pre-releases, yanked releases and needs of components.
    """
    random = Random(seed)
    names = ("p", "q", "r", "s", "t", "u", "w")[: random.choice((5, 7))]

    def needs(name: str, most: int) -> tuple[str, ...]:
        others = [other for other in names if other != name]
        return tuple(
            random.choice(others) + random.choice(_POLICY_BOUNDS)
            for _ in range(random.randint(0, most))
        )

    projects = {
        name: {
            version: Version(requires=needs(name, 3), yanked=random.random() < 0.2)
            for version in random.sample(_POLICY_VERSIONS, random.randint(1, 4))
        }
        for name in names
    }
    stated = [
        problems.requires(
            name, f"=={random.choice(list(projects[name]))}", random.choice(list(COMPONENT_NEEDS))
        )
        for name in random.sample(names, random.randint(1, 3))
    ]
    return World(projects=projects, asks=needs("", 3) or (names[0],), facts=tuple(stated))


_REQUIRED_EXTRAS = ("", "", "", "[x]", "[y]", "[x,y]")


def extras_world(seed: int) -> World:
    """Return the policy world of a seed with extras, and with facts that pin projects.

    Extras may permit pre-releases, and require their own project.
    """
    random = Random(seed)
    plain = policy_world(seed)
    names = list(plain.projects)

    def need(bounds: Sequence[str]) -> str:
        return random.choice(names) + random.choice(_REQUIRED_EXTRAS) + random.choice(bounds)

    def with_extras(lines: Sequence[str]) -> tuple[str, ...]:
        """Let lines, which begin with a name of one letter, require extras."""
        return tuple(line[0] + random.choice(_REQUIRED_EXTRAS) + line[1:] for line in lines)

    def of_extras(name: str, version: str) -> Iterator[str]:
        for extra in ("x", "y"):
            for _ in range(random.choice((0, 0, 0, 1, 2))):
                yield f"{need(_POLICY_BOUNDS)} ; extra == '{extra}'"
        if random.random() < 0.3:
            yield f"{name}[x]{random.choice(('', f'=={version}', '>=2a1'))} ; extra == 'y'"

    def release(name: str, version: str, before: Version) -> Version:
        requires = (*with_extras(before.requires), *of_extras(name, version))
        return replace(before, requires=requires)

    projects = {
        name: {
            version: release(name, version, before)
            for version, before in plain.projects[name].items()
        }
        for name in names
    }
    pins = [f"=={version}" for version in _POLICY_VERSIONS]
    stated = [
        problems.requires(random.choice(names), "", need(pins)) for _ in range(random.randint(0, 1))
    ]
    return replace(
        plain,
        projects=projects,
        asks=with_extras(plain.asks),
        facts=(*plain.facts, *stated),
    )


KNOWN: Final[Mapping[str, Sequence[str]]] = {
    "cann": ("8.3.RC1", "8.5.0", "8.5.1"),
    "soc": ("310P", "A2", "A3"),
    "python": ("3.10", "3.11", "3.12"),
    "glibc": ("2.28", "2.31", "2.34"),
}
_MACHINE_TAGS = ("py3-none-any", "py3-none-any", *TAGS)
_MACHINE_MARKERS = ("", "", "", "", "", " ; python_version < '3.12'", " ; python_version >= '3.12'")
_MACHINE_PYTHONS = ("", "", "", "", ">=3.12", "<3.12")


def machine_world(seed: int) -> World:
    """Return the world of a seed in which much depends on the machine, and most lines pin."""
    random = Random(seed)
    names = _NAMES[: random.randint(2, 4)]
    versions = {name: random.sample(("1", "1.1", "2", "3"), random.randint(1, 3)) for name in names}

    def need(own: str) -> str:
        name = random.choice([name for name in names if name != own])
        sign = random.choice(("", "==", "==", "<=", ">=", "!="))
        return (
            name
            + (sign + random.choice(versions[name]) if sign else "")
            + random.choice(_MACHINE_MARKERS)
        )

    def release(own: str) -> Version:
        needs = tuple(need(own) for _ in range(random.choice((0, 1, 1, 2))))
        python = random.choice(_MACHINE_PYTHONS)
        return Version(needs, random.choice(_MACHINE_TAGS), page_python=python, own_python=python)

    projects = {name: {version: release(name) for version in versions[name]} for name in names}
    asked = random.sample(names, random.randint(1, min(3, len(names))))
    asks = tuple(
        name + (f"=={random.choice(versions[name])}" if random.random() < 0.8 else "")
        for name in asked
    )
    subjects = [random.choice(names) for _ in range(random.randint(1, 4))]
    stated = [
        problems.requires(
            name,
            f"=={random.choice(versions[name])}" if random.random() < 0.7 else "",
            random.choice([need for need in COMPONENT_NEEDS if not need.startswith("hdk")]),
        )
        for name in subjects
    ]
    return World(projects=projects, asks=asks, facts=tuple(stated), known=KNOWN)


class _Maker:
    """Draws a world.

    Every choice is one small number with the simplest first, which is fast and shrinks well.
    """

    def __init__(
        self,
        number: Number,
        *,
        prereleases: bool = False,
        plain: bool = False,
        easy: bool = False,
        bounds: bool = False,
    ) -> None:
        self._number = number
        self._bounds = bounds
        self._comparisons, self._most_facts = ((0, 0, 0, 0, 1), 1) if easy else ((0, 1, 0, 1, 2), 3)
        self._prereleases, self._plain = prereleases, plain
        self._pool = _VERSIONS + (_PRERELEASES if prereleases else ())
        self._versions: dict[str, list[str]] = {}

    def world(self) -> World:
        names = _NAMES[: self._number(2, len(_NAMES))]
        for name in names:
            self._versions[name] = sorted(
                {self._one(self._pool) for _ in range(self._number(1, 4))}
            )
        projects = {
            name: {one: self._release(name, one) for one in versions}
            for name, versions in self._versions.items()
        }
        asks = [self._line(names, markers=False) for _ in range(self._number(1, 3))]
        stated: list[facts.Fact] = []
        if not self._plain:
            asks += [self._one(tuple(COMPONENT_NEEDS))] if self._once_in(8) else []
            stated = [self._fact(names) for _ in range(self._number(0, self._most_facts))]
        policy: Prereleases = "if-necessary"
        if self._prereleases and self._once_in(6):
            policy = self._one(("allow", "never"))
        return World(projects=projects, asks=tuple(asks), facts=tuple(stated), prereleases=policy)

    def specifier(self, versions: Sequence[str]) -> str:
        return ",".join(self._comparison(versions) for _ in range(self._one(self._comparisons)))

    def _comparison(self, versions: Sequence[str]) -> str:
        sign = self._one((">=", "<=", "!=", "==", "<", ">", ">=", "!=", ""))
        return sign + self._one(versions) if sign else self._one(_SPECIAL)

    def _line(self, names: Sequence[str], *, markers: bool = True) -> str:
        name = self._one(names)
        extras = self._one(("x", "y", "x,y")) if self._once_in(6) else ""
        marker = self._one(_MARKERS) if markers and self._once_in(3) else ""
        versions = self._pool if self._once_in(4) else self._versions[name]
        specifier = self.specifier(versions)
        return (
            name
            + (f"[{extras}]" if extras else "")
            + specifier
            + (f" ; {marker}" if marker else "")
        )

    def _release(self, name: str, version: str) -> Version:
        requires = [self._line(tuple(self._versions)) for _ in range(self._one((0, 1, 1, 2, 3)))]
        if self._once_in(8):  # an extra that includes another
            pin = f"=={version}" if self._prereleases and self._once_in(2) else ""
            requires.append(f"{name}[x]{pin} ; extra == 'y'")
        if self._plain or not self._once_in(4):
            return Version(tuple(requires), yanked=self._prereleases and self._once_in(6))
        if self._once_in(6):
            requires.append(
                self._one(("p @ https://p.test/p.zip ; extra == 'y'", "not a requirement!"))
            )
        return Version(
            requires=tuple(requires),
            tags=self._one(tuple(TAGS)),
            page_python=self._one(("", "", "", "", ">=3.8", ">=3.12")),
            own_python=self._one(("", "", "", "", ">=3.8", "<3.11")),
            readable=not self._once_in(8),
        )

    def _fact(self, names: Sequence[str]) -> facts.Fact:
        name = self._one(names)
        versions = self.specifier(self._versions[name])
        if self._bounds and self._once_in(2):
            other = self._one([other for other in names if other != name])
            bound = self._comparison(self._versions[other])
            return problems.constrains(name, versions, f"{other}{bound}")
        match self._one(("excludes", "component", "requires", "collides", "replaces")):
            case "requires":
                return problems.requires(name, versions, self._line(names, markers=False))
            case "component":
                return problems.requires(name, versions, self._one(tuple(COMPONENT_NEEDS)))
            case "excludes":
                return problems.excludes(name, versions)
            case "collides":
                other = self._one([other for other in names if other != name])
                return problems.collides(name, versions, other, self._one(("m", "n")))
            case _:
                added = [self._line(names, markers=False)] if self._once_in(2) else []
                return problems.replaces(name, versions, [self._one(names)], *added)

    def _one(self, options: Sequence[Option]) -> Option:
        return options[self._number(0, len(options) - 1)]

    def _once_in(self, times: int) -> bool:
        return self._number(0, times - 1) == times - 1


# As many bytes as a large world has choices; further choices are the simplest.
_CHOICES = st.binary(min_size=512, max_size=512)


def _drawn(draw: st.DrawFn) -> Number:
    """Return what draws numbers, all from a single draw, of one byte each, 0 the lowest.

    A draw costs as much as twenty choices.
    """
    numbers = iter(draw(_CHOICES))
    return lambda low, high: low + next(numbers, 0) * (high - low + 1) // 256
