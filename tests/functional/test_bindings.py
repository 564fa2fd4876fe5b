"""Which index is asked for what, and what happens where one does not answer."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex, status

CLOSED = "http://127.0.0.1:9/simple/"  # the port of `discard`, where nothing listens


def asked(index: LoopbackIndex) -> set[str]:
    """The pages that were asked for: index/project."""
    return {
        request.path.removeprefix("/simple/").rstrip("/")
        for request in index.requests
        if request.path.startswith("/simple/")
    }


def bind(
    workspace: Workspace, index: LoopbackIndex, *, take: str = "first", unreachable: str = "fail", vendor: str = ""
) -> None:
    """Bind torch-npu to the indexes `vendor` and `pypi`; everything else stays on `pypi`."""
    workspace.indexes(f"""
        [[index]]
        name = "pypi"
        [[index]]
        name = "vendor"
        url = "{vendor or index.url_of("vendor")}"
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


# --- who is asked


def test_an_index_is_never_asked_for_what_is_not_bound_to_it(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("torch-npu", "2.8.0", requires=["numpy"], index="vendor")
    index.add_wheel("numpy", "1.26.4")
    index.add_wheel("numpy", "999", index="vendor")  # dependency confusion
    bind(workspace, index)
    workspace.stack("torch-npu")
    workspace.locked()
    assert workspace.pins() == {"numpy": "1.26.4", "torch-npu": "2.8.0"}
    assert asked(index) == {"vendor/torch-npu", "pypi/numpy"}


def test_a_project_that_only_an_unbound_index_has_is_not_found(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("secret-sauce", "1.0", index="vendor")
    bind(workspace, index)
    workspace.stack("secret-sauce")
    run = workspace.lock()
    assert run.status == 1
    assert "no index has a project `secret-sauce`" in run.stderr
    assert asked(index) == {"pypi/secret-sauce"}


def test_take_first_lets_the_first_that_has_the_project_answer_alone(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.add_wheel("torch-npu", "2.9.0")
    bind(workspace, index, take="first")
    workspace.stack("torch-npu")
    workspace.locked()
    assert workspace.pins() == {"torch-npu": "2.8.0"}
    assert asked(index) == {"vendor/torch-npu"}


def test_take_first_goes_on_where_the_first_does_not_have_the_project(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("torch-npu", "2.9.0")
    bind(workspace, index, take="first")
    workspace.stack("torch-npu")
    workspace.locked()
    assert workspace.content()["pin"][0]["index"] == "pypi"
    assert "warnings" not in workspace.content()


def test_take_all_looks_at_both(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.add_wheel("torch-npu", "2.9.0")
    bind(workspace, index, take="all")
    workspace.stack("torch-npu")
    workspace.locked()
    assert workspace.pins() == {"torch-npu": "2.9.0"}
    assert asked(index) == {"vendor/torch-npu", "pypi/torch-npu"}


def test_take_all_prefers_the_first_named_where_both_have_the_version(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    theirs = index.add_wheel("torch-npu", "2.8.0", index="vendor", files={"a.py": "vendor\n"})
    index.add_wheel("torch-npu", "2.8.0", files={"a.py": "pypi\n"})
    bind(workspace, index, take="all")
    workspace.stack("torch-npu")
    workspace.locked()
    (pin,) = workspace.content()["pin"]
    assert (pin["index"], [file["sha256"] for file in pin["file"]]) == ("vendor", [theirs.sha256])


def test_a_binding_for_another_platform_does_not_count(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("torch", "2.8.0")
    index.add_wheel("torch", "2.8.0+cpu", index="cpu")
    workspace.indexes(f"""
        [[index]]
        name = "cpu"
        url = "{index.url_of("cpu")}"
        [[binding]]
        packages = ["torch"]
        indexes = ["cpu"]
        platforms = ["linux-x86_64"]
    """)
    workspace.stack("torch")
    workspace.locked()
    assert workspace.pins() == {"torch": "2.8.0"}
    assert asked(index) == {"pypi/torch"}


# --- where an index does not answer

PASSED_OVER = "index `vendor` could not be reached; locked without it: torch-npu (from pypi)"


@pytest.mark.parametrize("take", ["first", "all"])
def test_next_goes_on_and_leaves_a_warning_everywhere(workspace: Workspace, index: LoopbackIndex, take: str) -> None:
    index.add_wheel("torch-npu", "2.9.0")
    bind(workspace, index, take=take, unreachable="next", vendor=CLOSED)
    workspace.stack("torch-npu")
    run = workspace.locked()
    assert run.stderr == (
        "warning: Index `vendor` cannot be reached. Connection refused (2 tries). "
        "Its projects are looked up on the next index bound to them.\n"
    )
    assert f"1 warning: - {PASSED_OVER} Next:" in " ".join(run.stdout.split())
    told = workspace.locked("--anew", "--lang", "zh").stderr
    next_one = "其中的项目改从为其绑定的下一个软件源查找。"
    assert re.fullmatch(f"警告：无法访问软件源 `vendor`：.*（尝试 2 次）。{next_one}\n", told)
    assert workspace.content()["warnings"] == [PASSED_OVER]
    assert "## Warnings\n\n- index \\`vendor\\` could not be reached" in workspace.read("report.md")


@pytest.mark.parametrize("take", ["first", "all"])
def test_fail_is_status_3(workspace: Workspace, index: LoopbackIndex, take: str) -> None:
    index.add_wheel("torch-npu", "2.9.0")
    bind(workspace, index, take=take, unreachable="fail", vendor=CLOSED)
    workspace.stack("torch-npu")
    run = workspace.lock()
    assert run.stderr == (
        "error: Index `vendor` cannot be reached.\n"
        "  at <server>/simple/torch-npu/\n"
        "  Connection refused (4 tries).\n"
        "hint: check the network and proxy (HTTPS_PROXY, NO_PROXY), or lock from the cache with --offline; an "
        "address that serves the same files can be added to `mirrors` of [[index]] `vendor`\n"
    )
    assert (run.status, run.stdout) == (3, "")
    assert not workspace.locks.exists()


def test_next_does_not_go_on_where_an_index_answers_nonsense(workspace: Workspace, index: LoopbackIndex) -> None:
    """An index that is there and broken is no index that is not there: going on would hide what it has."""
    index.add_wheel("torch-npu", "2.9.0")
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    index.fault("/simple/vendor/*", status(403))
    bind(workspace, index, unreachable="next")
    workspace.stack("torch-npu")
    run = workspace.lock()
    assert run.stderr == (
        "error: Index `vendor` did not answer for torch-npu.\n"
        "  at <server>/simple/vendor/torch-npu/\n"
        "  It answered 403.\n"
        "hint: put `machine HOST login USER password PASSWORD` in ~/.netrc\n"
    )
    assert run.status == 3


def test_a_mirror_answers_for_an_index_that_is_down(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    workspace.indexes(f"""
        [[index]]
        name = "vendor"
        url = "{CLOSED}"
        mirrors = ["{index.url_of("vendor")}"]
        packages = ["torch-npu"]
    """)
    workspace.stack("torch-npu")
    assert workspace.locked().stderr == ""
    assert workspace.content()["index"] == [{"name": "vendor", "url": CLOSED}]


# --- credentials


@pytest.mark.parametrize("works", [True, False], ids=["where it works", "where it fails"])
@pytest.mark.parametrize("place", ["pypi", "vendor"])
def test_credentials_of_an_index_are_never_shown_or_kept(
    workspace: Workspace, index: LoopbackIndex, place: str, works: bool
) -> None:
    index.add_wheel("torch-npu", "2.8.0", index=place)
    if not works:
        index.fault("/simple/*", status(401))
    address = index.url_of(place).replace("http://", "http://reader:hunter2%21@")
    if place == "pypi":
        workspace.index_url = address
    else:
        bind(workspace, index, vendor=address)
    workspace.stack("torch-npu")
    run = workspace.lock(ASCEND_LOCK_DEBUG="1")
    assert run.status == (0 if works else 3)
    assert "authorization" in index.requests[0].sent, "the credentials were used at all"
    kept = {**tree(workspace.cache), **(tree(workspace.locks) if works else {})}
    whole = [run.stdout, run.stderr, *kept, *(str(content) for content in kept.values())]
    for secret in ("hunter2", "reader:", "cmVhZGVyOmh1bnRlcjIh"):  # the last is both in base64
        assert not [text for text in whole if secret in text], secret


@pytest.mark.parametrize("own", [False, True], ids=["indexes.toml", "stack"])
def test_a_password_in_a_file_is_warned_of(workspace: Workspace, index: LoopbackIndex, own: bool) -> None:
    index.add_wheel("demo", "1.0", index="vendor")
    address = index.url_of("vendor").replace("http://", "http://reader:hunter2%21@")
    rows = f'[[index]]\nname = "vendor"\nurl = "{address}"\n[[binding]]\npackages = ["demo"]\nindexes = ["vendor"]\n'
    workspace.stack("demo", more=rows if own else "")
    if not own:
        workspace.indexes(rows)
    told = "matrices/stacks/demo.toml" if own else "indexes.toml"
    assert workspace.locked().stderr == (
        f"warning: The address of index `vendor` has a password, which everybody has who has {told}.\n"
        "hint: leave it out there and write it into ~/.netrc: machine HOST login USER password PASSWORD\n"
    )
    chinese = f"警告：软件源 `vendor` 的地址中有密码，任何拥有 {told} 的人"
    assert workspace.locked("--lang", "zh").stderr.startswith(chinese)
    file = workspace.root / "matrices" / told.removeprefix("matrices/")
    file.write_text(file.read_text().replace("reader:hunter2%21@", ""))
    assert workspace.locked().stderr == ""


def test_the_script_asks_another_index_without_its_credentials(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("torch-npu", "2.8.0", index="vendor")
    bind(workspace, index, vendor=index.url_of("vendor").replace("http://", "http://reader:hunter2@"))
    workspace.stack("torch-npu")
    workspace.locked()
    assert workspace.plain(workspace.read("install.sh")).count("--index-url <server>/simple/vendor/") == 1


def test_a_change_of_mirror_changes_no_byte(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("demo", "1.0")
    workspace.stack("demo")
    workspace.locked()
    before = tree(workspace.locks)
    with LoopbackIndex(pages="html") as mirror:
        mirror.add_wheel("demo", "1.0")
        workspace.index_url = mirror.url
        assert "Nothing changed" in workspace.locked().stdout
    assert tree(workspace.locks) == before


# --- where the stack itself tells of an index that does not answer


def tell(workspace: Workspace, index: LoopbackIndex, cpu: str, sha256: str, *, platform: str = "linux-x86_64") -> None:
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
    index.add_wheel("sympy", "1.14")
    index.add_wheel("torch", "2.8.0")
    workspace.stack(
        "torch",
        target=f"[target]\npython = '3.11'\nplatform = '{platform}'\nglibc = '2.28'",
        more=f"""
        [[recorded]]
        index = "cpu"
        file = "torch-2.8.0+cpu-py3-none-any.whl"
        sha256 = "{sha256}"
        requires = ["sympy>=1.13.3"]
        source = "a public file"
        checked = 2026-11-22
        """,
    )


ON_TRUST = (
    "torch 2.8.0+cpu was taken on trust: index `cpu` could not be reached, so its sha256 and requirements are those "
    "recorded in the stack (matrices/stacks/demo.toml:11), and the file was not seen. Source: a public file (checked "
    "2026-11-22). pip refuses a file with another sha256; to compare this with the index, lock again where the index "
    "can be reached"
)


def test_what_is_recorded_stands_in_for_an_index_that_does_not_answer(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    tell(workspace, index, CLOSED, "a" * 64)
    run = workspace.locked()
    assert run.stderr == (
        "warning: Index `cpu` cannot be reached. Connection refused (2 tries). "
        "The stack's own records of its files are used instead.\n"
    )
    told = workspace.locked("--anew", "--lang", "zh").stderr
    assert re.fullmatch("警告：无法访问软件源 `cpu`：.*（尝试 2 次）。改为采用软件栈对其文件的说明。\n", told)
    assert workspace.pins() == {"sympy": "1.14", "torch": "2.8.0+cpu"}
    (torch,) = (pin for pin in workspace.content()["pin"] if pin["name"] == "torch")
    assert (torch["index"], torch["file"]) == (
        "cpu",
        [{"name": "torch-2.8.0+cpu-py3-none-any.whl", "sha256": "a" * 64}],
    )
    assert workspace.content()["warnings"] == [ON_TRUST]
    assert "- torch 2.8.0+cpu was taken on trust" in workspace.read("report.md")
    assert f"torch==2.8.0+cpu \\\n    --hash=sha256:{'a' * 64}\n" in workspace.read("requirements.txt")


def test_what_is_recorded_counts_for_nothing_where_the_index_answers(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    tell(workspace, index, CLOSED, "a" * 64)
    workspace.locked()
    real = index.add_wheel("torch", "2.8.0+cpu", index="cpu")  # which asks for nothing
    tell(workspace, index, index.url_of("cpu"), "a" * 64)
    run = workspace.locked()
    assert run.stderr == (
        f"warning: torch-2.8.0+cpu-py3-none-any.whl is not the file that was locked before: its sha256 was "
        f"{'a' * 64} and is now {real.sha256}.\n"
        "hint: an index that replaces a file under the same name may have been compromised; find out why before "
        "you install it\n"
    )
    assert workspace.pins() == {"torch": "2.8.0+cpu"}
    assert workspace.content()["pin"][0]["file"][0]["sha256"] == real.sha256
    assert "warnings" not in workspace.content()


def test_what_is_recorded_counts_for_nothing_on_another_platform(workspace: Workspace, index: LoopbackIndex) -> None:
    tell(workspace, index, CLOSED, "a" * 64, platform="linux-aarch64")
    assert workspace.locked().stderr == ""
    assert workspace.pins() == {"torch": "2.8.0"}


def test_an_explanation_sees_what_is_recorded(workspace: Workspace, index: LoopbackIndex) -> None:
    """The look-ahead reads the page first, and what it sees stays in the universe."""
    index.add_wheel("torch-npu", "2.7.1")
    index.add_wheel("numpy", "2.1.0")
    index.add_wheel("numpy", "1.26.4")
    bind(workspace, index, take="all", unreachable="next", vendor=CLOSED)
    row = f'[[recorded]]\nindex = "vendor"\nfile = "torch_npu-2.8.0-py3-none-any.whl"\nsha256 = "{"a" * 64}"\n'
    row += 'requires = ["numpy<2"]\nsource = "a public file"\nchecked = 2026-11-22\n'
    workspace.stack("torch-npu==2.8.0", "numpy>=2", more=row)
    run = workspace.run("explain", "demo", "--json")
    assert run.status == 1
    (only,) = run.json["contradictions"]
    assert [row["text"] for row in only["statements"]] == [
        "the stack asks for torch-npu==2.8.0",
        "the stack asks for numpy>=2",
        "torch-npu 2.8.0 needs numpy<2",
    ]


def test_an_answer_that_is_an_error_is_not_papered_over(workspace: Workspace, index: LoopbackIndex) -> None:
    index.fault("/simple/cpu/*", status(403))
    tell(workspace, index, index.url_of("cpu"), "a" * 64)
    run = workspace.lock()
    assert run.status == 3
    assert "error: Index `cpu` did not answer for torch.\n" in run.stderr


def test_a_snapshot_holds_what_was_taken_on_trust(workspace: Workspace, index: LoopbackIndex) -> None:
    tell(workspace, index, CLOSED, "a" * 64)
    workspace.locked()
    before = tree(workspace.locks)
    assert workspace.run("snapshot", "demo").status == 0
    shutil.rmtree(workspace.locks)
    workspace.forget()
    workspace.locked("--offline", PIP_INDEX_URL=CLOSED)
    assert tree(workspace.locks) == before


@pytest.mark.parametrize(
    ("change", "message", "why"),
    [
        (
            ('index = "cpu"\nfile', 'index = "pypi"\nfile'),
            "error: the record of `torch` could never be used\n  at matrices/stacks/demo.toml:12:",
            "no binding takes the project from `pypi` alone, or from other indexes without it",
        ),
        (
            ("torch-2.8.0+cpu-py3", "numpy-2.8.0-py3"),
            "error: the record of `numpy` could never be used\n  at matrices/stacks/demo.toml:12:",
            "no binding takes the project from `cpu` alone, or from other indexes without it",
        ),
        (
            ("-py3-none-any.whl", ".tar.gz"),
            "error: `file` cannot be used\n  at matrices/stacks/demo.toml:13:",
            "extension must be '.whl'",
        ),
    ],
    ids=["several", "unbound", "archive"],
)
def test_a_row_that_could_never_be_taken_is_refused(
    workspace: Workspace, index: LoopbackIndex, change: tuple[str, str], message: str, why: str
) -> None:
    tell(workspace, index, CLOSED, "a" * 64)
    path = workspace.matrices / "stacks" / "demo.toml"
    text = path.read_text(encoding="utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change), encoding="utf-8")
    if change[0].startswith("index"):
        rows = (workspace.matrices / "indexes.toml").read_text(encoding="utf-8")
        workspace.indexes(rows.replace('indexes = ["cpu"]', 'indexes = ["cpu", "pypi"]'))
    run = workspace.lock()
    assert run.status == 2
    assert run.stderr.startswith(message)
    assert why in run.stderr


def test_an_own_index_list_is_told_where_it_leads_elsewhere(workspace: Workspace, index: LoopbackIndex) -> None:
    """A stack's own list takes the place of indexes.toml, and with it of the bindings that keep torch right."""
    for name in ("torch", "ours"):
        index.add_wheel(name, "2.8.0")
    workspace.indexes(
        f"""
        [[index]]
        name = "cpu"
        url = "{index.url_of("cpu")}"
        packages = ["torch"]
        """
    )
    workspace.stack("torch==2.8.0", "ours", more='[[index]]\nname = "pypi"\n')
    workspace.locked()
    told = (
        "the stack's own index list replaces matrices/indexes.toml, which would have looked up torch on cpu (it "
        "is from pypi now)"
    )
    assert workspace.content()["warnings"] == [told]


def test_who_relies_on_extra_indexes_of_pip_is_told_that_they_are_not_asked(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """Install guides configure them, and pip finds there what is found nowhere here."""
    index.add_wheel("demo", "1.0")
    workspace.stack("demo", "our-own")
    elsewhere = {"PIP_EXTRA_INDEX_URL": "https://user:secret@index.example/simple"}
    run = workspace.run("explain", "demo", **elsewhere)
    told = (
        "warning: pip's extra-index-url setting is ignored, so `our-own` was not looked up there; "
        "use [[index]] and [[binding]] rows to name other sources for a project (docs/indexes.md)\n"
    )
    assert told in run.stderr
    assert "secret" not in run.stdout + run.stderr
    assert "不采用 pip 的 extra-index-url 设置" in workspace.run("explain", "demo", "--lang", "zh", **elsewhere).stderr
    assert "not followed" not in workspace.run("explain", "demo").stderr
    workspace.stack("demo>1")
    assert "not followed" not in workspace.run("explain", "demo", **elsewhere).stderr
