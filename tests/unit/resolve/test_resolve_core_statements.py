"""How a conflict is told: the whole text for the conflicts that people meet."""

from __future__ import annotations

import datetime as dt

import pytest
from msgspec.structs import replace

from resolver.model.problem import Policy
from resolver.model.release import Reason, Rejection
from tests.datacatalog import DataCatalog
from tests.problems import collides, excludes, problem, requires, target, told


def test_a_project_that_no_index_has() -> None:
    assert told(problem("mindspeed-rl"), DataCatalog()) == [
        "the stack asks for mindspeed-rl @ stack.toml:5",
        "no index has a project `mindspeed-rl` @ looked up on pypi",
    ]


def test_no_version_in_the_range() -> None:
    catalog = DataCatalog({"torch": {"2.8.0": [], "2.9.0": []}})
    assert told(problem("torch==2.8.1"), catalog) == [
        "the stack asks for torch==2.8.1 @ stack.toml:5",
        "no release of torch matches `==2.8.1`; the nearest are 2.8.0 and 2.9.0 @ looked up on pypi",
    ]


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("==2.8.1", "the nearest are 2.8.0.post1 and 2.9.0"),
        (">=2.8.1,<2.9", "the nearest are 2.8.0.post1 and 2.9.0"),
        ("==2.9.0.dev1", "the nearest are 2.8.0.post1 and 2.9.0rc1"),  # a pre-release is wanted
        ("==2.8.0+cpu", "the nearest are 2.8.0 and 2.8.0.post1"),
        ("<2.7", "the nearest is 2.8.0"),
        ("==2.11.*", "the newest is 2.10.0"),
        (">2.10", "the newest is 2.10.0"),
    ],
)
def test_the_releases_nearest_to_a_wish(wanted: str, nearest: str) -> None:
    releases: dict[str, list[str]] = {one: [] for one in ("2.8.0", "2.8.0.post1", "2.9.0rc1", "2.9.0", "2.10.0")}
    (_, lack) = told(problem(f"torch{wanted}"), DataCatalog({"torch": releases}))
    assert lack.endswith(f"; {nearest} @ looked up on pypi")


def test_a_project_without_any_release() -> None:
    catalog = DataCatalog()
    catalog.add_project("torch", rejections=[Rejection("torch-2.8.0.exe", Reason.FORMAT)])
    assert told(problem("torch"), catalog) == [
        "the stack asks for torch @ stack.toml:5",
        (
            "the index page of torch lists no recognisable release: 1 file is not a wheel, .tar.gz or .zip "
            "(torch-2.8.0.exe) @ looked up on pypi"
        ),
    ]


def test_a_page_without_any_file() -> None:
    catalog = DataCatalog()
    catalog.add_project("torch")
    assert told(problem("torch"), catalog) == [
        "the stack asks for torch @ stack.toml:5",
        "the index page of torch lists no release @ looked up on pypi",
    ]


def test_a_page_of_many_files_and_no_release() -> None:
    odd = [Rejection(f"torch-{number}.exe", Reason.FORMAT) for number in range(40)]
    catalog = DataCatalog()
    catalog.add_project("torch", rejections=[Rejection("tensor-1.zip", Reason.FOREIGN), *odd])
    assert told(problem("torch==2.8.0"), catalog) == [
        "the stack asks for torch==2.8.0 @ stack.toml:5",
        (
            "the index page of torch lists no recognisable release: 40 files are not a wheel, .tar.gz or .zip "
            "(such as torch-0.exe), "
            "1 file belongs to another project (tensor-1.zip) @ looked up on pypi"
        ),
    ]


def test_no_file_for_the_target_with_the_reasons() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("torch-npu", "2.8.0", tags="cp312-cp312-manylinux_2_28_aarch64")
    catalog.add_wheel("torch-npu", "2.8.0", tags="cp311-cp311-manylinux_2_28_x86_64")
    catalog.add_archive("torch-npu", "2.8.0", requires_python=">=3.12")
    catalog.add_wheel("torch-npu", "2.7.1")
    assert told(problem("torch-npu==2.8.0"), catalog) == [
        "the stack asks for torch-npu==2.8.0 @ stack.toml:5",
        (
            "torch-npu 2.8.0 has no file for the target: "
            "2 files need Python 3.12 or x86_64 (the target has aarch64 and Python 3.11), "
            "1 file needs a different Python @ looked up on pypi"
        ),
        "  torch_npu-2.8.0-cp312-cp312-manylinux_2_28_aarch64.whl needs Python 3.12 (the target has Python 3.11)",
        "  torch_npu-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl needs x86_64 (the target has aarch64)",
        "  torch_npu-2.8.0.tar.gz needs a different Python (Requires-Python >=3.12)",
    ]


def test_what_the_files_need_and_the_target_has() -> None:
    catalog = DataCatalog()
    for tags in (
        "cp311-cp311-manylinux_2_31_aarch64",
        "cp39-abi3-manylinux_2_31_aarch64",
        "cp312-cp312-linux_x86_64",
        "cp311-cp311-macosx_11_0_arm64",
    ):
        catalog.add_wheel("a", "1", tags=tags)
    assert told(problem("a"), catalog)[1:] == [
        (
            "a 1 has no file for the target: each needs glibc 2.31 or x86_64 and Python 3.12 or macOS "
            "(the target has Linux with glibc, aarch64, glibc 2.28 and Python 3.11) @ looked up on pypi"
        ),
        (
            "  a 1 has a wheel for glibc 2.31 (the target has 2.28): if the machine has that (`ldd --version` says), "
            'write glibc = "2.31" in [target]'
        ),
        "  a-1-cp311-cp311-manylinux_2_31_aarch64.whl needs glibc 2.31 (the target has glibc 2.28)",
        "  a-1-cp39-abi3-manylinux_2_31_aarch64.whl needs glibc 2.31 (the target has glibc 2.28)",
        "  a-1-cp312-cp312-linux_x86_64.whl needs x86_64 and Python 3.12 (the target has aarch64 and Python 3.11)",
        "  a-1-cp311-cp311-macosx_11_0_arm64.whl needs macOS (the target has Linux with glibc)",
    ]


def test_what_a_newer_glibc_is_enough_for_is_told_before_archives_that_are_newer() -> None:
    """Of several releases each cause is named, those with wheels first."""
    catalog = DataCatalog()
    for version in "12345":
        if version < "4":
            catalog.add_wheel("a", version, tags="cp311-cp311-manylinux_2_34_aarch64")
            catalog.add_wheel("a", version, tags="cp310-cp310-manylinux_2_34_aarch64")
        catalog.add_archive("a", version, requires=None)
    assert told(problem("a"), catalog)[1:] == [
        "a 3, 2, 1, 5 and 1 more release cannot be used @ a-3.tar.gz, a-2.tar.gz, a-1.tar.gz, a-5.tar.gz",
        (
            "  a 3, 2 and 1 have wheels for glibc 2.34 (the target has 2.28): if the machine has that (`ldd --version` "
            'says), write glibc = "2.34" in [target]'
        ),
        "  a-5.tar.gz is a source archive without static metadata",
        (
            "  usable if a fact states what it needs: [[metadata]] in matrices/facts/a.toml "
            '(versions = "==5", requires = […] as in its setup.py; see matrices/README.md)'
        ),
    ]


def test_a_cut_off_names_its_day_and_that_of_the_release() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", uploaded="2026-03-02T08:15:00Z")
    catalog.add_archive("a", "1", uploaded="2026-03-04T08:15:00Z")
    day = Policy(exclude_newer=dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc))
    assert told(replace(problem("a"), policy=day), catalog)[1] == (
        "a 1 (uploaded 2026-03-02) is newer than the cut-off (2026-02-28) @ looked up on pypi"
    )
    moment = Policy(exclude_newer=dt.datetime(2026, 3, 1, 12, tzinfo=dt.timezone.utc))
    assert told(replace(problem("a"), policy=moment), catalog)[1].endswith(
        "is newer than the cut-off (2026-03-01T12:00:00+00:00) @ looked up on pypi"
    )


def test_a_file_without_a_day_is_not_said_to_be_newer_than_the_cut_off() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", uploaded="2026-03-02T08:15:00Z")
    catalog.add_archive("a", "1")
    day = Policy(exclude_newer=dt.datetime(2026, 3, 1, tzinfo=dt.timezone.utc))
    assert told(replace(problem("a"), policy=day), catalog)[1] == (
        "a 1 (uploaded 2026-03-02) was not uploaded before the cut-off "
        "(2026-02-28), according to the index @ looked up on pypi"
    )


def test_many_releases_without_a_file_are_told_in_short() -> None:
    catalog = DataCatalog()
    for number in range(7):
        catalog.add_wheel("a", str(number), tags="cp27-none-any")
    assert told(problem("a"), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "a 6, 5, 4, 3 and 3 more releases have no file for the target @ looked up on pypi",
        "  a-6-cp27-none-any.whl needs Python 2.7 (the target has Python 3.11)",
        "  a-5-cp27-none-any.whl needs Python 2.7 (the target has Python 3.11)",
        "  a-4-cp27-none-any.whl needs Python 2.7 (the target has Python 3.11)",
        "  a-3-cp27-none-any.whl needs Python 2.7 (the target has Python 3.11)",
    ]


def test_two_requirements_of_metadata() -> None:
    catalog = DataCatalog({"trl": {"0.28.0": ["vllm<0.13.0,>=0.10.2"]}, "vllm-ascend": {"0.13.0": ["vllm==0.13.0"]}})
    for version in ("0.12.0", "0.13.0"):
        catalog.add_wheel("vllm", version)
    assert told(problem("trl==0.28.0", "vllm-ascend==0.13.0"), catalog) == [
        "the stack asks for trl==0.28.0 @ stack.toml:5",
        "the stack asks for vllm-ascend==0.13.0 @ stack.toml:6",
        "trl 0.28.0 needs vllm<0.13.0,>=0.10.2 @ metadata of trl-0.28.0-py3-none-any.whl",
        "vllm-ascend 0.13.0 needs vllm==0.13.0 @ metadata of vllm_ascend-0.13.0-py3-none-any.whl",
    ]


def test_an_extra() -> None:
    catalog = DataCatalog({"trl": {"1": ["vllm<2 ; extra == 'vllm'"]}, "vllm": {"1": [], "2": []}})
    assert told(problem("trl[vllm]", "vllm==2"), catalog) == [
        "the stack asks for trl[vllm] @ stack.toml:5",
        "the stack asks for vllm==2 @ stack.toml:6",
        "trl[vllm] 1 needs vllm<2 @ metadata of trl-1-py3-none-any.whl",
    ]


def test_releases_that_behave_alike_are_told_together() -> None:
    catalog = DataCatalog({"a": {str(number): ["b<2"] for number in range(1, 4)}, "b": {"1": [], "2": []}})
    assert told(problem("a", "b==2"), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "the stack asks for b==2 @ stack.toml:6",
        "a 1 to 3 (3 releases) need b<2 @ metadata of a-3-py3-none-any.whl",
    ]


def test_many_that_behave_alike() -> None:
    catalog = DataCatalog({"a": {str(number): ["b<2"] for number in range(1, 8)}, "b": {"1": [], "2": []}})
    assert told(problem("a", "b==2"), catalog)[2] == (
        "a 1 to 7 (7 releases) need b<2 @ metadata of a-7-py3-none-any.whl"
    )


def test_a_fact_against_a_line_of_the_stack() -> None:
    catalog = DataCatalog({"vllm-ascend": {"0.13.0": []}, "vllm": {"0.13.0": [], "0.14.0": []}})
    fact = requires("vllm-ascend", "==0.13.0", "vllm==0.13.0")
    assert told(problem("vllm-ascend", "vllm>=0.14", facts=[fact]), catalog) == [
        "the stack asks for vllm-ascend @ stack.toml:5",
        "the stack asks for vllm>=0.14 @ stack.toml:6",
        "vllm-ascend 0.13.0 needs vllm==0.13.0 @ facts/vllm-ascend.toml:7 (a table of the vendor, vendor)",
    ]


def test_a_component_that_does_not_match() -> None:
    catalog = DataCatalog({"vllm-ascend": {"0.13.0": []}})
    fact = requires("vllm-ascend", "==0.13.0", "cann in 8.5.0 | 8.5.1")
    assert told(problem("vllm-ascend", facts=[fact], target=target(cann="8.3.RC1")), catalog) == [
        "the stack asks for vllm-ascend @ stack.toml:5",
        "the target has CANN 8.3.RC1 @ stack.toml",
        "vllm-ascend 0.13.0 needs cann in 8.5.0 | 8.5.1 @ facts/vllm-ascend.toml:7 (a table of the vendor, vendor)",
    ]


def test_a_component_that_the_stack_asks_for() -> None:
    assert told(problem("hdk >= 25.5.0", target=target(hdk="25.3.rc1.2")), DataCatalog()) == [
        "the stack asks for hdk >= 25.5.0 @ stack.toml:5",
        "the target has HDK 25.3.rc1.2 @ stack.toml",
    ]


def test_a_release_that_a_fact_excludes() -> None:
    catalog = DataCatalog({"tensordict": {"0.9.0": [], "0.8.0": []}})
    assert told(
        problem("tensordict==0.9.0", facts=[excludes("tensordict", "==0.9.0", "verl excludes it")]), catalog
    ) == [
        "the stack asks for tensordict==0.9.0 @ stack.toml:5",
        "tensordict 0.9.0 must not be used: verl excludes it @ facts/tensordict.toml:7 (a table of the vendor, vendor)",
    ]


def test_two_owners_of_a_module() -> None:
    catalog = DataCatalog({"triton": {"3.2.0": []}, "triton-ascend": {"3.2.0": []}})
    facts = [collides("triton-ascend", "", "triton", "triton")]
    assert told(problem("triton", "triton-ascend", facts=facts), catalog) == [
        "the stack asks for triton @ stack.toml:5",
        "the stack asks for triton-ascend @ stack.toml:6",
        (
            "triton-ascend and triton both install the module `triton`, so only one of them can be installed "
            "@ facts/triton-ascend.toml:7 (a table of the vendor, vendor)"
        ),
    ]


def test_metadata_that_cannot_be_read() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", readable=False)
    assert told(problem("a"), catalog) == [
        "the stack asks for a @ stack.toml:5",
        "a 1 cannot be used: its METADATA cannot be read @ a-1-py3-none-any.whl",
    ]


def test_an_address_in_metadata() -> None:
    catalog = DataCatalog({"a": {"1": ["b @ https://b.test/b.zip"]}})
    assert told(problem("a"), catalog) == [
        "the stack asks for a @ stack.toml:5",
        (
            "a 1 cannot be used: it needs `b @ https://b.test/b.zip`, and addresses are not supported"
            " @ a-1-py3-none-any.whl"
        ),
    ]


# --- what the policy and two requirements together keep out


def test_only_prereleases_are_left() -> None:
    assert any(
        "pre-release" in line for line in told(problem("a", prereleases="never"), DataCatalog({"a": {"2rc1": []}}))
    )


def test_only_yanked_releases_are_left() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("a", "1", yanked="broken")
    assert any("yanked" in line for line in told(problem("a"), catalog))


def test_the_only_release_that_two_requirements_admit_has_no_file() -> None:
    catalog = DataCatalog({"a": {"1": [], "3": []}})
    catalog.add_wheel("a", "2", tags="cp312-none-any")
    assert any("a 2 has no file for the target" in line for line in told(problem("a<3", "a>1"), catalog))


def test_beside_an_archive_that_cannot_be_used_are_the_wheels_that_are_for_others() -> None:
    catalog = DataCatalog()
    for version in ("1", "2"):
        catalog.add_wheel("demo", version, tags="cp312-cp312-manylinux2014_aarch64")
        catalog.add_archive("demo", version, requires=None)
    archive, wheel = "demo-2.tar.gz", "demo-2-cp312-cp312-manylinux2014_aarch64.whl"
    assert told(problem("demo==2"), catalog)[1:-1] == [
        (
            "demo 2 cannot be used: 1 file is a source archive without static metadata, "
            f"1 file needs Python 3.12 (the target has Python 3.11) @ {archive}"
        ),
        f"  {archive} is a source archive without static metadata",
        f"  {wheel} needs Python 3.12 (the target has Python 3.11)",
    ]
    assert told(problem("demo"), catalog)[1:3] == [
        "demo 2 and 1 cannot be used @ demo-2.tar.gz, demo-1.tar.gz",
        (
            "  2: 1 file is a source archive without static metadata, "
            f"1 file needs Python 3.12 (the target has Python 3.11) ({archive}, {wheel})"
        ),
    ]


def test_why_releases_were_yanked() -> None:
    catalog = DataCatalog()
    catalog.add_wheel("demo", "1.0", yanked="")
    catalog.add_wheel("demo", "1.1", yanked="broken on CANN 8")
    assert told(problem("demo"), catalog)[1:] == [
        "demo 1.1 and 1.0 were yanked, and neither the stack nor a fact pins any of them @ looked up on pypi",
        "  demo-1.1-py3-none-any.whl was yanked (broken on CANN 8)",
    ]
