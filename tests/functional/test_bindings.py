"""Which index is asked for what, and what happens where one does not answer."""

from __future__ import annotations

import shutil

import pytest

from tests.functional.workspace import NOBODY_THERE, UNREACHABLE, Workspace, row, tree
from tests.loopback import LoopbackIndex, status


def asked(index: LoopbackIndex) -> set[str]:
    """The pages that were asked for: index/project."""
    return {
        request.path.removeprefix("/simple/").rstrip("/")
        for request in index.requests
        if request.path.startswith("/simple/")
    }


def bind(
    workspace: Workspace, *, take: str = "first", unreachable: str = "fail", vendor: str = ""
) -> None:
    """Bind torch-npu to the indexes `vendor` and `pypi`; everything else stays on `pypi`."""
    workspace.indexes(f"""
        [[index]]
        name = "pypi"
        [[index]]
        name = "vendor"
        url = "{vendor or workspace.index.url_of("vendor")}"
        [[binding]]
        packages = ["torch-npu"]
        indexes = ["vendor", "pypi"]
        take = "{take}"
        unreachable = "{unreachable}"
    """)


@pytest.fixture(autouse=True)
def facts_about_it(workspace: Workspace) -> None:
    """A file of facts about torch-npu, without which locking warns; it has none."""
    workspace.facts("torch-npu", "")


def test_an_index_is_never_asked_for_what_is_not_bound_to_it(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.8.0", requires=["numpy"], index="vendor")
    workspace.serve("numpy 1.26.4")
    index.add_wheel("numpy", "999", index="vendor")  # dependency confusion
    index.add_wheel("secret-sauce", "1.0", index="vendor")
    bind(workspace)
    workspace.locked_stack("torch-npu")
    assert workspace.pins() == {"numpy": "1.26.4", "torch-npu": "2.8.0"}
    assert asked(index) == {"vendor/torch-npu", "pypi/numpy"}
    workspace.stack("secret-sauce")
    assert workspace.lock().status != 0
    assert asked(index) == {"vendor/torch-npu", "pypi/numpy", "pypi/secret-sauce"}


@pytest.mark.parametrize(
    ("take", "on_vendor", "pin", "pages"),
    [
        ("first", "2.8.0", "2.8.0", {"vendor/torch-npu"}),
        ("first", "", "2.9.0", {"vendor/torch-npu", "pypi/torch-npu"}),
        ("all", "2.8.0", "2.9.0", {"vendor/torch-npu", "pypi/torch-npu"}),
    ],
)
def test_of_several_indexes_the_first_or_all_answer(
    workspace: Workspace, index: LoopbackIndex, take: str, on_vendor: str, pin: str, pages: set[str]
) -> None:
    if on_vendor:
        index.add_wheel("torch-npu", on_vendor, index="vendor")
    workspace.serve("torch-npu 2.9.0")
    bind(workspace, take=take)
    workspace.locked_stack("torch-npu")
    assert (workspace.pins(), asked(index)) == ({"torch-npu": pin}, pages)
    assert workspace.warnings() == []


@pytest.mark.parametrize("take", ["first", "all"])
def test_next_goes_on_and_leaves_a_warning_everywhere(workspace: Workspace, take: str) -> None:
    workspace.serve("torch-npu 2.9.0")
    bind(workspace, take=take, unreachable="next", vendor=UNREACHABLE)
    run = workspace.locked_stack("torch-npu")
    assert run.stderr.startswith(
        "warning: Index `vendor` cannot be reached. Connection refused (2 tries). "
    )
    told = (
        "index `vendor` could not be reached; it may have other releases of torch-npu (from pypi). "
        "To include them, lock with --upgrade where it can be reached"
    )
    assert f"1 warning: - {told} Next:" in " ".join(run.stdout.split())
    assert workspace.warnings() == [told]


def test_an_unreachable_index_is_told_once_a_day_and_where_pins_rest_on_it(
    workspace: Workspace,
) -> None:
    workspace.serve("torch-npu 2.9.0", "demo 1.0")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    workspace.locked_stack("torch-npu")
    run = workspace.locked()
    assert run.stderr == ""
    assert "vendor` could not be reached; it may have other releases" in run.stdout
    workspace.forget()
    assert "`vendor` cannot be reached" in workspace.locked().stderr


@pytest.mark.parametrize(("vendor_first", "is_told"), [(False, False), (True, True)])
def test_an_unreachable_index_is_no_matter_to_a_pin_by_version(
    workspace: Workspace, vendor_first: bool, is_told: bool
) -> None:
    """Unless it comes first, so that its file of this version would be taken."""
    workspace.serve("torch-npu 2.9.0")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    if not vendor_first:
        path = workspace.matrices / "indexes.toml"
        path.write_text(path.read_text().replace('["vendor", "pypi"]', '["pypi", "vendor"]'))
    workspace.locked_stack("torch-npu==2.9.0")
    assert len(workspace.warnings()) == is_told


def test_fail_is_status_3(workspace: Workspace) -> None:
    workspace.serve("torch-npu 2.9.0")
    bind(workspace, take="all", unreachable="fail", vendor=UNREACHABLE)
    workspace.stack("torch-npu")
    run = workspace.lock()
    assert (run.status, run.stdout, run.error) == (3, "", "Index `vendor` cannot be reached.")
    assert "can be added to `mirrors` of [[index]] `vendor`\n" in run.stderr
    assert not workspace.locks.exists()


def test_next_does_not_go_on_where_an_index_answers_nonsense(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """A broken index is not an absent one: to go on would hide what it has."""
    workspace.serve("torch-npu 2.9.0")
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.fault("/simple/vendor/*", status(403))
    bind(workspace, unreachable="next")
    workspace.stack("torch-npu")
    run = workspace.lock()
    assert run.error == "Index `vendor` did not answer for torch-npu."
    assert run.status == 3


def test_a_mirror_answers_for_an_index_that_is_down(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    workspace.indexes(f"""
        [[index]]
        name = "vendor"
        url = "{UNREACHABLE}"
        mirrors = ["{index.url_of("vendor")}"]
        packages = ["torch-npu"]
    """)
    assert workspace.locked_stack("torch-npu").stderr == ""
    assert workspace.content()["index"] == [{"name": "vendor", "url": UNREACHABLE}]


@pytest.mark.parametrize("own", [False, True], ids=["indexes.toml", "stack"])
def test_a_password_in_a_file_is_warned_of(
    workspace: Workspace, index: LoopbackIndex, own: bool
) -> None:
    index.add_wheel("demo", "1.0", index="vendor")
    address = index.url_of("vendor").replace("http://", "http://reader:hunter2%21@")
    rows = (
        f'[[index]]\nname = "vendor"\nurl = "{address}"\n[[binding]]\npackages = ["demo"]\n'
        'indexes = ["vendor"]\n'
    )
    workspace.stack("demo", more=rows if own else "")
    if not own:
        workspace.indexes(rows)
    told = "matrices/stacks/demo.toml" if own else "indexes.toml"
    warning = (
        "warning: The address of index `vendor` has a password, which everybody can read who can "
        f"read {told}.\nhint: "
    )
    assert workspace.locked().stderr.startswith(warning)
    assert (
        workspace.plain(workspace.read("install.sh")).count("--index-url <server>/simple/vendor/")
        == 1
    )
    workspace.edit(told.removeprefix("matrices/"), "reader:hunter2%21@", "")
    assert workspace.locked().stderr == ""


# --- indexes of a stack


def of_company(workspace: Workspace, *, more: str = "") -> str:
    """Return the rows of a stack that binds `ours` to an index of its own."""
    url = workspace.index.url_of("company")
    return f'[[index]]\nname = "company"\nurl = "{url}"\npackages = ["ours"]\n{more}'


OWN_ALONE = "[policy]\nown-indexes-only = true\n"


def test_an_index_of_a_stack_is_added_to_those_that_ship(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.add_wheel("ours", "1.0", index="company")
    workspace.serve("torch-npu 2.9.0", "ours 9.0")
    bind(workspace)
    workspace.stack("torch-npu", "ours", more=of_company(workspace))
    workspace.locked()
    assert workspace.pins() == {"torch-npu": "2.8.0", "ours": "1.0"}
    assert asked(index) == {"vendor/torch-npu", "company/ours"}
    assert workspace.warnings() == []


def test_an_index_of_a_stack_replaces_that_of_its_name(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """The bindings to it stay: a mirror of Huawei's index is meant for what comes from there."""
    index.add_wheel("torch-npu", "2.8.0", index="mirror")
    bind(workspace, vendor=UNREACHABLE)
    workspace.stack(
        "torch-npu", more=f'[[index]]\nname = "vendor"\nurl = "{index.url_of("mirror")}"\n'
    )
    workspace.locked()
    assert (workspace.pins(), asked(index)) == ({"torch-npu": "2.8.0"}, {"mirror/torch-npu"})


def test_a_binding_of_a_stack_goes_before_one_that_ships(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.add_wheel("torch-npu", "2.9.0", index="company")
    index.add_wheel("ours", "1.0", index="company")
    bind(workspace)
    binding = '[[binding]]\npackages = ["torch-npu"]\nindexes = ["company"]\n'
    workspace.stack("torch-npu", "ours", more=of_company(workspace, more=binding))
    workspace.locked()
    assert asked(index) == {"company/torch-npu", "company/ours"}
    told = (
        "the stack's own indexes replace the ones that matrices/indexes.toml names for "
        "torch-npu (from company instead of vendor and pypi)"
    )
    assert workspace.warnings() == [told]
    workspace.edit(
        "stacks/demo.toml", '["torch-npu"]\nindexes = ["company"]', '["*"]\nindexes = ["company"]'
    )
    workspace.locked("--upgrade")
    assert workspace.pins()["torch-npu"] == "2.8.0", (
        "`*` is what no other binding names, and one that ships does"
    )


def test_a_stack_binds_to_an_index_that_ships(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0", index="vendor")
    bind(workspace)
    workspace.stack("demo", more='[[binding]]\npackages = ["demo"]\nindexes = ["vendor"]\n')
    workspace.locked()
    assert asked(index) == {"vendor/demo"}


def test_own_indexes_only_leaves_out_those_that_ship(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.add_wheel("ours", "1.0", index="company")
    workspace.serve("torch-npu 2.9.0")
    bind(workspace)
    workspace.stack("torch-npu", "ours", more=of_company(workspace, more=OWN_ALONE))
    workspace.locked()
    assert asked(index) == {"pypi/torch-npu", "company/ours"}
    workspace.stack("torch-npu", more=OWN_ALONE)
    workspace.locked()
    assert workspace.pins() == {"torch-npu": "2.9.0"}
    workspace.edit("stacks/demo.toml", "own-indexes-only", "own-index-only")
    assert (
        "hint: did you mean `own-indexes-only`?"
        in workspace.refused("unknown key `own-index-only`", "lock", "demo").stderr
    )


@pytest.mark.parametrize("line", ["torch-npu==2.8.0", "torch-npu"], ids=["release", "project"])
def test_a_conflict_names_the_index_that_was_left_out(
    workspace: Workspace, index: LoopbackIndex, line: str
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    if "==" in line:
        workspace.serve("torch-npu 2.9.0")
    bind(workspace)
    workspace.stack(line, more=OWN_ALONE)
    assert workspace.lock().status == 1
    told = "`vendor` was not asked for `torch-npu`, although matrices/indexes.toml names it: "
    told += "the stack's own indexes replace it"
    assert told in " ".join(workspace.lock().stderr.split())
    assert told in workspace.read("conflict.md").replace("\\", "")
    assert "没有在 `vendor` 查询" in workspace.run(
        "explain", "demo", "--lang", "zh"
    ).stdout.replace("\n", "")
    (contradiction,) = workspace.run("explain", "demo", "--json").json["contradictions"]
    (lacks,) = [row for row in contradiction["statements"] if row["kind"] == "lacks"]
    assert lacks["data"]["left_out"] == ["vendor"]
    assert lacks["details"][-1].startswith(told)


def test_a_conflict_tells_of_a_binding_that_a_stack_replaces(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.add_wheel("ours", "1.0", index="company")
    bind(workspace)
    binding = '[[binding]]\npackages = ["torch-npu"]\nindexes = ["company", "pypi"]\n'
    workspace.stack("torch-npu", more=of_company(workspace, more=binding))
    assert workspace.lock().status == 1
    assert "`vendor` was not asked for `torch-npu`, although" in workspace.read(
        "conflict.md"
    ).replace("\\", "")
    bind(workspace, take="all")
    workspace.stack("torch-npu==3", more=of_company(workspace))
    assert workspace.lock().status == 1
    assert "was not asked" not in workspace.read("conflict.md").replace("\\", "")


def test_a_fact_may_match_nothing_on_an_index_of_a_stack(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """It is about the shipped indexes, and still checked for those that the stack leaves as is."""
    index.add_wheel("torch-npu", "2.8.0", index="company")
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    bind(workspace)
    workspace.facts("torch-npu", row("excludes", versions="==2.7.0"))
    binding = '[[binding]]\npackages = ["torch-npu"]\nindexes = ["company"]\n'
    workspace.stack("torch-npu", more=of_company(workspace, more=binding))
    workspace.locked()
    workspace.stack("torch-npu", more=of_company(workspace))
    assert "there is no such release" in workspace.lock().stderr


def test_a_fact_may_be_about_the_version_of_a_commit(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """A stack that takes the project from an index is not told that there is no such release."""
    index.add_wheel("demo", "1.0")
    commit = (
        f'commit = "{"c0ffee" * 6}cafe"\nversion = "1.1.dev19+g0123"\nrequires = []\n'
        "build-requires = []\n"
    )
    known = (
        f'[[sources]]\ngit = "https://git.test/demo"\n{commit}reason = "The branch for CANN '
        '9.0.0."\n'
    )
    about = row("requires", versions="==1.1.dev19+g0123", needs=["cann in 9.0.0"])
    workspace.facts("demo", known + about)
    workspace.stack("demo")
    workspace.locked()
    workspace.facts("demo", about)
    assert "there is no such release" in workspace.lock().stderr


# --- where the stack itself tells of an index that does not answer


def tell(workspace: Workspace, cpu: str, sha256: str, *, platform: str = "linux-x86_64") -> None:
    """torch comes from the index `cpu` on x86_64, and the stack has a row for it."""
    workspace.indexes(f"""
        [[index]]
        name = "cpu"
        url = "{cpu}"
        [[binding]]
        packages = ["torch"]
        indexes = ["cpu"]
        platforms = ["linux-x86_64"]
    """)
    workspace.serve("sympy 1.14", "torch 2.8.0")
    workspace.stack(
        "torch",
        target=f"[target]\npython = '3.11'\nplatform = '{platform}'\nglibc = '2.28'",
        more=f"""
        [[recorded]]
        index = "cpu"
        file = "torch-2.8.0+cpu-py3-none-any.whl"
        sha256 = "{sha256}"
        requires = ["sympy>=1.13.3"]
        source = "vendor/public#1"
        checked = 2026-11-22
        """,
    )


def test_recorded_rows_stand_in_for_an_unreachable_index(workspace: Workspace) -> None:
    tell(workspace, UNREACHABLE, "a" * 64)
    run = workspace.locked()
    assert run.stderr.startswith(
        "warning: Index `cpu` cannot be reached. Connection refused (2 tries). "
    )
    assert workspace.pins() == {"sympy": "1.14", "torch": "2.8.0+cpu"}
    (torch,) = (pin for pin in workspace.content()["pin"] if pin["name"] == "torch")
    file = {"name": "torch-2.8.0+cpu-py3-none-any.whl", "sha256": "a" * 64}
    assert (torch["index"], torch["file"]) == ("cpu", [file])
    (warning,) = workspace.warnings()
    assert warning.startswith("torch 2.8.0+cpu was not seen: index `cpu` could not be reached")
    assert "Source: vendor/public#1 (checked 2026-11-22)" in warning
    assert f"torch==2.8.0+cpu \\\n    --hash=sha256:{'a' * 64}\n" in workspace.read(
        "requirements.txt"
    )
    before = tree(workspace.locks)
    assert workspace.run("lock", "--record", "demo").status == 0
    shutil.rmtree(workspace.locks)
    workspace.forget()
    workspace.locked("--offline", **NOBODY_THERE)
    assert tree(workspace.locks) == before


@pytest.mark.parametrize("unreachable", ["next", "fail"])
def test_bundle_does_not_say_that_an_index_out_of_reach_lacks_a_file(
    workspace: Workspace, index: LoopbackIndex, unreachable: str
) -> None:
    index.add_wheel("torch-npu", "2.9.0", index="vendor")
    bind(workspace, take="all", unreachable=unreachable)
    workspace.locked_stack("torch-npu")
    bind(workspace, take="all", unreachable=unreachable, vendor=UNREACHABLE)
    workspace.forget()
    run = workspace.run("bundle", "demo", "bundle")
    told = {
        "next": "index `vendor`, which offers torch_npu-2.9.0-py3-none-any.whl, cannot be reached",
        "fail": "Index `vendor` cannot be reached.",
    }
    assert (run.status, run.error) == (3, told[unreachable])


def test_recorded_rows_do_not_count_if_the_index_answers(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    tell(workspace, UNREACHABLE, "a" * 64)
    workspace.locked()
    real = index.add_wheel("torch", "2.8.0+cpu", index="cpu")  # which asks for nothing
    tell(workspace, index.url_of("cpu"), "a" * 64)
    run = workspace.locked()
    assert run.stderr.startswith(
        "warning: torch-2.8.0+cpu-py3-none-any.whl is not the file that was locked before"
    )
    assert workspace.pins() == {"torch": "2.8.0+cpu"}
    assert workspace.content()["pin"][0]["file"][0]["sha256"] == real.sha256
    assert workspace.warnings() == []
    index.fault("/simple/cpu/*", status(403))
    assert workspace.lock("--upgrade").error == "Index `cpu` did not answer for torch."
    index.clear()
    shutil.rmtree(workspace.locks)
    tell(workspace, UNREACHABLE, "a" * 64, platform="linux-aarch64")
    assert workspace.locked().stderr == ""
    assert (workspace.pins(), asked(index)) == ({"torch": "2.8.0"}, {"pypi/torch"})


def test_an_explanation_sees_what_is_recorded(workspace: Workspace) -> None:
    """The look-ahead reads the page first, and what it sees stays in the universe."""
    workspace.serve("torch-npu 2.7.1", "numpy 2.1.0 1.26.4")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    row = (
        '[[recorded]]\nindex = "vendor"\nfile = "torch_npu-2.8.0-py3-none-any.whl"\n'
        f'sha256 = "{"a" * 64}"\n'
    )
    row += 'requires = ["numpy<2"]\nsource = "vendor/public#1"\nchecked = 2026-11-22\n'
    workspace.stack("torch-npu==2.8.0", "numpy>=2", more=row)
    run = workspace.run("explain", "demo", "--json")
    assert run.status == 1
    (only,) = run.json["contradictions"]
    assert [row["text"] for row in only["statements"]] == [
        "the stack asks for torch-npu==2.8.0",
        "the stack asks for numpy>=2",
        "torch-npu 2.8.0 needs numpy<2",
    ]


def recorded_row(version: str, sha256: str, requires: str) -> str:
    hashed = f'sha256 = "{sha256}"\n' if sha256 else ""
    return (
        f'[[recorded]]\nfile = "torch_npu-{version}-py3-none-any.whl"\n'
        f"{hashed}requires = [{requires}]\n"
        'source = "vendor/public#1"\nchecked = 2026-11-22\n'
    )


def test_shared_rows_stand_in_for_an_index_in_all_stacks(workspace: Workspace) -> None:
    workspace.serve("torch-npu 2.7.1", "numpy 2.1.0 1.26.4")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    workspace.recorded("vendor", recorded_row("2.8.0", "b" * 64, '"numpy<2"'))
    workspace.stack("torch-npu")
    workspace.locked()
    assert workspace.pins() == {"numpy": "1.26.4", "torch-npu": "2.8.0"}
    (warning,) = (text for text in workspace.warnings() if "was not seen" in text)
    assert "(matrices/recorded/vendor.toml:1)" in warning


def test_a_row_of_the_stack_counts_before_a_shared_one(workspace: Workspace) -> None:
    workspace.serve("numpy 2.1.0 1.26.4")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    workspace.recorded("vendor", recorded_row("2.8.0", "b" * 64, '"numpy<2"'))
    own = recorded_row("2.8.0", "c" * 64, '"numpy>2"').replace("file =", 'index = "vendor"\nfile =')
    workspace.stack("torch-npu", more=own)
    workspace.locked()
    assert workspace.pins() == {"numpy": "2.1.0", "torch-npu": "2.8.0"}


def test_a_row_without_a_hash_makes_no_lock_but_an_expectation(workspace: Workspace) -> None:
    workspace.serve("torch-npu 2.7.1", "numpy 2.1.0 1.26.4")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    workspace.recorded("vendor", recorded_row("2.8.0", "", '"numpy<2"'))
    workspace.stack("torch-npu==2.8.0")
    run = workspace.lock("--json")
    assert run.status == 3
    assert run.json["status"] == "undecided"
    assert run.json["expected"] == {
        "pins": {"numpy": "1.26.4", "torch-npu": "2.8.0"},
        "unhashed": [
            {
                "file": "torch_npu-2.8.0-py3-none-any.whl",
                "index": "vendor",
                "source": "vendor/public#1",
            }
        ],
    }
    assert "It should lock where index `vendor` can be reached." in workspace.lock().stderr
    assert list(workspace.locks.rglob("lock.toml")) == []


def test_a_release_with_a_hash_is_preferred_to_one_without(workspace: Workspace) -> None:
    workspace.serve("torch-npu 2.7.1")
    bind(workspace, take="all", unreachable="next", vendor=UNREACHABLE)
    workspace.recorded("vendor", recorded_row("2.8.0", "", '"numpy<2"'))
    workspace.stack("torch-npu")
    workspace.locked()
    assert workspace.pins() == {"torch-npu": "2.7.1"}


def test_unhashed_rows_do_not_count_if_the_index_answers(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    workspace.serve("torch-npu 2.7.1")
    index.add_wheel("torch-npu", "2.7.5", index="vendor")
    bind(workspace, take="all", unreachable="next", vendor=index.url_of("vendor"))
    workspace.recorded("vendor", recorded_row("2.8.0", "", ""))
    workspace.stack("torch-npu==2.8.0")
    run = workspace.lock("--json")
    assert (run.status, run.json["expected"]) == (1, None)


def test_an_archive_cannot_be_recorded(workspace: Workspace) -> None:
    tell(workspace, UNREACHABLE, "a" * 64)
    workspace.edit("stacks/demo.toml", "-py3-none-any.whl", ".tar.gz")
    run = workspace.refused("`file` cannot be used", "lock", "demo")
    assert "\n  at matrices/stacks/demo.toml:1" in run.stderr


def test_lock_warns_that_extra_indexes_of_pip_are_not_asked(
    workspace: Workspace,
) -> None:
    """Install guides configure them, and pip finds there what is found nowhere here."""
    workspace.serve("demo 1.0")
    workspace.stack("demo", "our-own")
    elsewhere = {"PIP_EXTRA_INDEX_URL": "https://user:secret@index.example/simple"}
    told = (
        "warning: pip's extra-index-url setting is ignored, so nothing was looked up there for "
        "`our-own`; "
    )
    run = workspace.run("explain", "demo", **elsewhere)
    assert (told in run.stderr, "secret" in run.stdout + run.stderr) == (True, False)
    assert "extra-index-url" not in workspace.run("explain", "demo").stderr
    workspace.stack("demo>1")
    assert "extra-index-url" not in workspace.run("explain", "demo", **elsewhere).stderr
