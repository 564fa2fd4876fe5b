"""What a release needs: from its wheel, its archive, or the fact that speaks for it."""

from __future__ import annotations

import msgspec
import pytest
from packaging.requirements import Requirement

from resolver.errors import InputError
from resolver.index.protocol import UnusableFile
from resolver.lock.build import build
from resolver.model.message import message
from resolver.resolve.builds import solve_builds
from resolver.resolve.independent_check import check
from resolver.resolve.needs import requirements_file
from tests.datacatalog import DataCatalog
from tests.problems import builds, pins, problem, solved, told


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("", ()),
        ("numpy<2\ntorch==2.8.0\n", ("numpy<2", "torch==2.8.0")),
        ("# a comment\n\n  numpy  # and another\n", ("numpy",)),
        ("numpy\t# after a tab", ("numpy",)),
        ("numpy#1", ("numpy#1",)),  # no comment without a space before it, as pip has it
        (
            "opencv-python-headless >= 4.11.0    # required for video IO",
            ("opencv-python-headless >= 4.11.0",),
        ),
        (
            "ray[cgraph] >= 2.43.0, \\\n  != 2.44.* ; python_version < '3.13'",
            ("ray[cgraph] >= 2.43.0,    != 2.44.* ; python_version < '3.13'",),
        ),
        ("numpy\r\ntorch\r\n", ("numpy", "torch")),
        (
            "six>=1.16.0; python_version > '3.11' # transitive dependency",
            ("six>=1.16.0; python_version > '3.11'",),
        ),
    ],
)
def test_requirements_file(content: str, lines: tuple[str, ...]) -> None:
    assert requirements_file(content) == lines


@pytest.mark.parametrize(
    "option", ["-r common.txt", "--extra-index-url https://a.test", "-e .", "--hash=sha256:00"]
)
def test_requirements_file_refuses_options(option: str) -> None:
    with pytest.raises(UnusableFile) as caught:
        requirements_file(f"numpy\n{option}\n")
    assert (
        str(caught.value)
        == f"the requirements file has the option `{option}`, which is not supported"
    )


def vllm() -> DataCatalog:
    catalog = DataCatalog(
        {"numpy": {"1": [], "2": []}, "cmake": {"3": []}, "torch": {"2.8.0": [], "2.9.0": []}}
    )
    catalog.add_wheel("vllm", "0.13.0", ["torch==2.9.0"])
    members = {"requirements/common.txt": "numpy<2 # not yet\n"}
    catalog.add_archive(
        "vllm",
        "0.13.0",
        ["torch==2.9.0"],
        build_requires=["cmake", "torch==2.9.0"],
        members=members,
    )
    return catalog


@pytest.mark.parametrize(
    "marker", ["extra == 'x'", "'x' == extra", "extra != 'y' and extra == 'x'"]
)
def test_builds_fact_keeps_extras_of_the_archive(marker: str) -> None:
    catalog = vllm()
    catalog.add_wheel("more", "1")
    catalog.add_archive(
        "vllm",
        "0.14.0",
        ["torch", f"more ; {marker}"],
        members={"requirements/common.txt": "numpy\n"},
    )
    fact = builds("vllm", ">=0.10", "requirements/common.txt")
    assert pins(problem("vllm[x]", facts=[fact]), catalog) == {
        "more": "1",
        "numpy": "2",
        "vllm": "0.14.0",
    }


def test_requirement_that_depends_on_the_kernel_is_told() -> None:
    catalog = DataCatalog({"a": {"1": ["numpy ; platform_release != ''"]}, "numpy": {"1": []}})
    (warning,) = build(solved(problem("a"), catalog), [], catalog).warnings
    assert warning == message("lock.kernel", package="a 1", line="numpy ; platform_release != ''")


def test_builds_fact_without_isolation_requires_its_tools() -> None:
    fact = builds(
        "vllm", ">=0.10", "requirements/common.txt", isolation=False, drop=["torch"], add=["torch"]
    )
    catalog = vllm()
    assert pins(problem("vllm", "torch<2.9", facts=[fact]), catalog) == {
        "cmake": "3",
        "numpy": "1",
        "torch": "2.8.0",
        "vllm": "0.13.0",
    }
    stubborn = builds("vllm", ">=0.10", "requirements/common.txt", isolation=False)
    assert told(problem("vllm", "torch<2.9", facts=[stubborn]), catalog) == [
        "the stack asks for vllm @ stack.toml:5",
        "the stack asks for torch<2.9 @ stack.toml:6",
        "building vllm 0.13.0 needs torch==2.9.0 @ facts/vllm.toml:7 (vendor/table#1, vendor)",
    ]


def test_builds_fact_whose_archive_has_an_invalid_tool() -> None:
    catalog = DataCatalog()
    catalog.add_archive("a", "1", build_requires=["cmake >> 3"], members={"needs.txt": ""})
    fact = builds("a", "", "needs.txt", isolation=False)
    assert told(problem("a", facts=[fact]), catalog) == [
        "the stack asks for a @ stack.toml:5",
        (
            "a 1 cannot be used: `cmake >> 3` in its build-system.requires "
            "is not a requirement @ a-1.tar.gz"
        ),
    ]


def test_builds_fact_whose_file_is_not_in_the_archive() -> None:
    assert told(problem("vllm", facts=[builds("vllm", "", "requirements/npu.txt")]), vllm()) == [
        "the stack asks for vllm @ stack.toml:5",
        "vllm 0.13.0 cannot be used: it has no `requirements/npu.txt` @ vllm-0.13.0.tar.gz",
    ]


@pytest.mark.parametrize("marker", ["os_name ~= 'posix'", "'x' in extras"])
def test_release_with_a_marker_that_cannot_be_evaluated(marker: str) -> None:
    catalog = DataCatalog({"app": {"1": [], "2": [f"dep ; {marker}"]}})
    assert pins(problem("app"), catalog) == {"app": "1"}
    assert told(problem("app>1"), catalog)[1] == (
        f"app 2 cannot be used: `dep ; {marker}` in its metadata is not a requirement "
        "@ app-2-py3-none-any.whl"
    )


@pytest.mark.parametrize("marker", ["os_name ~= 'posix'", "'x' in extras"])
def test_build_with_a_marker_that_cannot_be_evaluated(marker: str) -> None:
    catalog = DataCatalog()
    catalog.add_archive("app", "1", build_requires=[f"dep ; {marker}"], members={"needs.txt": ""})
    here = builds("app", "", "needs.txt", isolation=False)
    assert told(problem("app", facts=[here]), catalog)[1] == (
        f"app 1 cannot be used: `dep ; {marker}` in its build-system.requires is not a requirement "
        "@ app-1.tar.gz"
    )
    with pytest.raises(InputError) as refused:
        solve_builds(solved(problem("app"), catalog), catalog)
    assert refused.value.message == f"app 1 cannot be built: it needs `dep ; {marker}`"


@pytest.mark.parametrize("asked", ["app", "app[a]", "app[b]"])
@pytest.mark.parametrize(
    "marker",
    [
        'extra == "a"',
        "python_version >= '3' and extra == 'a'",
        "(python_version >= '3') and (os_name == 'posix') and extra == 'a'",
        "(python_version >= '3' and os_name == 'posix') and extra == 'a'",
        "python_version >= '3' or platform_version != 'x;' and extra == 'a'",
        "platform_version != \"; extra == 'a'\"",
        'platform_version != "x and extra == \'a" and extra != "a"',
        "extra == 'b' or (python_version >= '3' and extra == 'a')",
        "platform_version not in 'x or y' and extra == 'a'",
        "platform_version != 'or' and extra == 'A'",
    ],
)
def test_marker_evaluator_agrees_with_packaging(marker: str, asked: str) -> None:
    """Search and check each sort most lines by extra at a glance.

    Neither may see an extra that a marker does not name.
    """
    line = f"dep ; {marker}"
    world = problem(asked)
    extras = ["", *([asked[4:-1]] if "[" in asked else [])]
    environment = world.target.markers
    judged = Requirement(line).marker
    assert judged is not None
    wanted = any(judged.evaluate({**environment, "extra": extra}) for extra in extras)
    lines = [line, "other ; extra == 'b'", "other ; extra == 'a'"]
    catalog = DataCatalog({"app": {"1": lines}, "dep": {"1": []}, "other": {"1": []}})
    answer = solved(world, catalog)
    assert ("dep" in {pin.name for pin in answer.pins}) == wanted
    if wanted:
        without = msgspec.structs.replace(
            answer, pins=tuple(pin for pin in answer.pins if pin.name != "dep")
        )
        assert check(world, without, catalog) != []
