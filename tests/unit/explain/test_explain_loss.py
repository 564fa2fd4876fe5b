"""The order in which ways out are listed: each field of a loss decides where the others do not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from resolver.config.compile import compile_problems
from resolver.explain.loss import Loss, loss_of
from resolver.model import text
from resolver.model.change import (
    ArchiveStated,
    Change,
    ComponentChanged,
    FactSetAside,
    LinesDivided,
    PracticesOn,
    PrereleasesAdmitted,
    VersionChanged,
)
from resolver.model.constraint import ReleaseRequires, RequirementSource
from resolver.model.explanation import Environment, Fix
from resolver.model.fact import Warns
from resolver.model.package import Package
from resolver.model.reason import Reason
from tests import changes
from tests.components import COMPONENTS
from tests.unit.explain.inputs import inputs_of, target, warning


def warned(text: str) -> Warns:
    """Return a warning of this TOML."""
    more = target() + warning("kernels", "==1", "It may fail.", text)
    (problem,) = compile_problems(inputs_of("kernels", more=more))
    (fact,) = problem.facts
    assert isinstance(fact, Warns)
    return fact


def version(name: str = "base", **more: int) -> VersionChanged:
    return changes.version(f"{name}==2", f"{name}==1", **more)


def because(change: Change, requirer: str, needed: str) -> Change:
    """The same change, made as this release needs that one."""
    constraint = ReleaseRequires(Package(requirer), needed, RequirementSource.METADATA)
    return replace(change, cause=Reason(constraint=constraint))


def component(name: str, target: str = "") -> Change:
    before, after = ("8.3.RC1", "8.5.0") if name == "cann" else ("old", "new")
    return ComponentChanged(component=COMPONENTS[name], before=before, after=after, target=target)


BASE, KERNELS = text.name("base"), text.name("kernels")
EXTRA = changes.extras_removed("base[gpu]==1", "base==1")
BACK = ComponentChanged(component=COMPONENTS["cann"], before="8.5.0", after="8.3.RC1")
OTHER_RELEASE = changes.version("base[gpu]==2", "base==1")
RELAX = FactSetAside(fact="table", need="kernels==1", removed=KERNELS)
PRACTICE = PracticesOn(names=("torch",))
TWO_PRACTICES = PracticesOn(names=("torch", "vision"))
TO_PRERELEASE = changes.version("base==2", "base==2rc1")
POLICY = PrereleasesAdmitted(project="tool")
RENAMED = changes.version("bose==1", "base==1")
SPLIT = LinesDivided(environment="demo", lines=("base==1",))
DROP = changes.dropped("base==1")
OTHER_DROP = changes.dropped("tool==1")
STATE = ArchiveStated(project=BASE, archive="base-1.tar.gz", rows="")
THREE = version("a"), version("b"), version("c")


def loss(
    *changes: Change,
    risky: bool = False,
    gone: tuple[str, ...] = (),
    warnings: tuple[Warns, ...] = (),
    off: tuple[str, ...] = (),
    twin: str = "",
    **numbers: int,
) -> Loss:
    environment = Environment(
        name="demo", requires=(), pins=(), count=1, warnings=warnings, gone=gone, off=off
    )
    is_split = SPLIT in changes
    fix = Fix(
        name="",
        changes=changes,
        environments=(environment, environment) if is_split else (environment,),
        files=(),
        risky=risky,
        twin=twin,
    )
    return loss_of(fix, **numbers)


NEEDS_A2 = warned('unless = ["soc in A2"]')
NEEDS_CANN = warned('unless = ["cann in 8.3.RC1"]')
NOTE = warned("")
BROKEN = warned('unless = ["plugin"]\ngrave = true')
BEHIND = replace(version(years=-1), left_behind=True)
ASSUMED_GLIBC = replace(component("glibc"), before="2.28")
SAME_LINE = replace(component("cann"), before="8.5.0", after="8.5.1")
INSTEAD = replace(version(steps=-1), is_older_requirer=True)
AS_SHIPPED = replace(DROP, shipped="training")


@pytest.mark.parametrize(
    ("field", "better", "worse"),
    [
        ("broken", loss(RELAX, risky=True), loss(version(), warnings=(BROKEN,))),
        ("doubled", loss(RELAX, risky=True), loss(component("cann"), twin="two")),
        ("left_behind", loss(DROP, OTHER_DROP), loss(BEHIND)),
        ("lost", loss(AS_SHIPPED, *THREE), loss(DROP)),
        ("lost", loss(*THREE), loss(component("cann"), off=("base==1",))),
        ("against_facts", loss(component("soc")), loss(RELAX, risky=True)),
        ("other_hardware", loss(DROP, OTHER_DROP), loss(component("soc"))),
        ("lost", loss(DROP, *THREE), loss(DROP, OTHER_DROP)),
        ("lost", loss(RELAX, *THREE), loss(RELAX, gone=("kernels",))),
        ("lost", loss(version(years=-1)), loss(DROP, OTHER_DROP)),
        ("lost", loss(*THREE), loss(replace(EXTRA, no_longer_installed=("kernels",)))),
        ("lost", loss(*THREE), loss(replace(OTHER_RELEASE, no_longer_installed=("kernels",)))),
        ("years_older", loss(DROP, version()), loss(version(years=-1))),
        ("years_older", loss(DROP, version()), loss(component("cann"), years_older=1)),
        ("lost", loss(version(), unproven=1), loss(DROP)),
        ("lost", loss(version(), others_older=1), loss(DROP)),
        ("unproven", loss(*THREE, others_older=1), loss(version(), unproven=1)),
        ("years_older", loss(DROP, version()), loss(version(), others_older=2)),
        ("other_kernels", loss(*THREE), loss(version(), warnings=(NEEDS_A2,))),
        ("divided", loss(*THREE), loss(SPLIT, SPLIT)),
        ("other_glibc", loss(*THREE), loss(component("glibc"))),
        ("other_glibc", loss(ASSUMED_GLIBC, *THREE), loss(component("glibc"))),
        ("beyond_lines", loss(ASSUMED_GLIBC), loss(component("cann"))),
        ("days_older", loss(SAME_LINE), loss(version(days=-30))),
        ("prereleases", loss(*THREE), loss(TO_PRERELEASE)),
        ("prereleases", loss(*THREE), loss(POLICY)),
        ("changes", loss(component("cann")), loss(version(), version("tool"))),
        ("changes", loss(component("cann")), loss(version(), warnings=(NEEDS_CANN,))),
        ("changes", loss(component("cann")), loss(BACK)),
        ("beyond_lines", loss(version(steps=-5)), loss(component("cann"))),
        ("extras", loss(version(steps=-5)), loss(EXTRA)),
        ("extras", loss(version(steps=-5)), loss(OTHER_RELEASE)),
        ("extras", loss(version(steps=-5)), loss(version(), gone=("base[gpu]",))),
        ("older_requirers", loss(version(days=-30)), loss(INSTEAD)),
        ("days_older", loss(version(steps=-8, days=-27)), loss(version(steps=-4, days=-332))),
        ("releases_older", loss(version(steps=-1), price=110), loss(version(steps=-2))),
        ("practices", loss(PRACTICE, price=110), loss(TWO_PRACTICES, price=101)),
        ("price", loss(component("cann"), price=140), loss(component("python"), price=160)),
        ("releases_away", loss(version(steps=3)), loss(version(steps=21))),
    ],
)
def test_loss_field_decides(field: str, better: Loss, worse: Loss) -> None:
    def without_field(row: Loss) -> list[Any]:
        values = msgspec.structs.asdict(row)
        return [value for name, value in values.items() if name != field]

    assert better < worse
    assert not without_field(better) < without_field(worse)


def test_loss_an_old_release_beside_counts_half_a_line() -> None:
    """As with an ancient release that limits nothing: it is not told, and a dropped line is."""
    assert loss(others_older=1) < loss(DROP) < loss(others_older=2)


def test_loss_lines_of_one_family_are_one_change() -> None:
    """As with torchvision and torchaudio, which pin torch."""
    vision = because(version("vision", years=-1, days=-400), "vision", "torch==2")
    audio = because(version("audio", years=-1, days=-390), "audio", "torch==2")
    family = loss(
        because(version("torch", years=-1, days=-410), "audio", "torch==1"), vision, audio
    )
    assert (family.changes, family.years_older, family.days_older) == (1, 1, 410)
    assert loss(version("torch"), vision, audio).changes == 1
    assert loss(version("tool"), vision).changes == 2


def test_loss_a_machine_is_in_no_family() -> None:
    cann = because(component("cann"), "plugin", "cann in 8.5.0")
    assert loss(version("plugin"), cann).changes == 2


def test_loss_two_dropped_lines_come_after_a_year() -> None:
    assert loss(DROP) < loss(version(years=-1)) < loss(DROP, OTHER_DROP)


def test_loss_other_hardware_counts_once() -> None:
    """Or a line without which nothing works would be dropped rather, with two targets."""
    one, both = loss(component("soc")), loss(component("soc"), component("soc", "two"))
    assert one.other_hardware is both.other_hardware is True


@pytest.mark.parametrize("change", [RENAMED, STATE])
def test_loss_what_keeps_the_intent_is_no_change(change: Change) -> None:
    assert loss(change) == loss()


def test_loss_a_practice_is_no_change_and_not_free() -> None:
    assert loss(PRACTICE).changes == loss(PRACTICE).lost == 0
    assert loss(version(steps=3), price=110) < loss(PRACTICE, version(steps=1), price=101)
    assert loss(PRACTICE, version(steps=-1)) < loss(version(steps=-2)), "nearer to what was asked"


def test_loss_another_glibc_comes_before_years_and_after_days() -> None:
    """It is part of the operating system, and a release of years ago may not do."""
    glibc = loss(component("glibc"), price=90)
    assert loss(version(days=-200)) < glibc < loss(version(years=-1, days=-400))


def test_loss_a_note_is_no_warning() -> None:
    assert loss(version(), warnings=(NOTE,)) == loss(version())
