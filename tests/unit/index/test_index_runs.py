"""Runs of the solver through the releases of a project."""

from __future__ import annotations

from packaging.utils import NormalizedName

from resolver.index.parse.distribution import FileRelease
from resolver.index.runs import Runs
from resolver.model.release import File, Page

DEMO = NormalizedName("demo")


def wheel(version: str, tag: str = "py3-none-any") -> File:
    return File(f"demo-{version}-{tag}.whl")


def page(*tags: str) -> Page:
    versions = [str(number) for number in range(100, 0, -1)]
    releases = {}
    for version in versions:
        releases[version] = (
            File(f"demo-{version}.tar.gz"),
            *(wheel(version, tag) for tag in tags),
        )
    return Page(project=DEMO, index="pypi", releases=releases)


def following(runs: Runs, at: Page, *versions: int, tag: str = "py3-none-any") -> list[File]:
    found: list[File] = []
    for version in versions:
        release = FileRelease("", DEMO, str(version))
        found = runs.next_wheels(wheel(str(version), tag), release, [at])
    return found


def test_runs_need_several_releases() -> None:
    at = page("py3-none-any")
    assert following(Runs(), at, 100) == []
    assert following(Runs(), at, 100, 99) == []
    assert following(Runs(), at, 100, 99, 98) == [wheel("97"), wheel("96"), wheel("95")]


def test_runs_that_go_back_begin_anew() -> None:
    assert following(Runs(), page("py3-none-any"), 90, 89, 95) == []
    assert following(Runs(), page("py3-none-any"), 90, 89, 89) == []


def test_runs_look_as_far_ahead_as_they_are_long_up_to_a_limit() -> None:
    at = page("py3-none-any")
    assert len(following(Runs(), at, 100, 95, 90)) == 11
    assert len(following(Runs(), at, 100, 95, 50)) == 32
    assert following(Runs(), at, 3, 2, 1) == []


def test_runs_follow_wheels_of_the_same_tags() -> None:
    at = page("cp310-cp310-linux_aarch64", "cp311-cp311-linux_aarch64")
    tag = "cp311-cp311-linux_aarch64"
    assert following(Runs(), at, 100, 99, 98, tag=tag)[0] == wheel("97", tag)
    assert following(Runs(), at, 100, 99, 98, tag="py3-none-any") == []


def test_runs_without_the_page() -> None:
    release = FileRelease("", DEMO, "1000")
    assert Runs().next_wheels(wheel("1000"), release, [page()]) == []
    archive = File("demo-100.tar.gz")
    assert Runs().next_wheels(archive, FileRelease("", DEMO, "100"), [page()]) == []
