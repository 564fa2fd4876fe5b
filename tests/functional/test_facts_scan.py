"""`ascend-lock facts scan`: what a project's code says of others, beside metadata and facts."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
import tomli

from tests.builders import build_wheel
from tests.functional.workspace import Workspace, row, tree

PARSER = """
from .extras import check_version
def check(arguments):
    if arguments.backend == "vllm":
        check_version("engine>=0.4.3,<=0.11.0")
"""
LIMITS = "import lib\nif lib.__version__ < '2':\n    raise ImportError('lib is too old')\n"


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    files = {"app/parser.py": PARSER, "app/limits.py": LIMITS, "app/tests/test_app.py": LIMITS}
    workspace.index.add_wheel("app", "1.0", requires=["lib>=1"], files=files)
    workspace.serve("lib 1.0 2.0", "engine 0.11.0 0.13.0")
    workspace.stack("app")
    return workspace


REPORT = """\
app-1.0-py3-none-any.whl: 2 version checks
engine<=0.11.0,>=0.4.3: otherwise refused (app/parser.py:5)
    check_version('engine>=0.4.3,<=0.11.0')
    reached in check, if arguments.backend == 'vllm'
    the metadata does not mention it
lib>=2: otherwise refused (app/limits.py:2)
    if lib.__version__ < '2'
    the metadata has lib>=1, which admits more

# Drafts: read the code around each, \
give its releases and its reasons in both languages, or drop it.
"""


def test_scan_lists_checks_with_drafts(workspace: Workspace) -> None:
    before = tree(workspace.root / "matrices")
    run = workspace.run("facts", "scan", "app==1.0")
    report, drafts = run.stdout[: len(REPORT)], run.stdout[len(REPORT) :]
    assert (run.status, run.stderr, report) == (0, "", REPORT)
    assert [(draft["bounds"], draft["source"]) for draft in tomli.loads(drafts)["constrains"]] == [
        (["lib>=2"], ["app-1.0-py3-none-any.whl app/limits.py #L2"]),
        (["engine<=0.11.0,>=0.4.3"], ["app-1.0-py3-none-any.whl app/parser.py #L5"]),
    ]
    assert tree(workspace.root / "matrices") == before


def test_scan_drafts_are_facts(workspace: Workspace) -> None:
    drafts = workspace.run("facts", "scan", "app").stdout[len(REPORT) :]
    workspace.facts("app", drafts)
    workspace.locked()
    assert workspace.pins() == {"app": "1.0", "lib": "2.0"}


def test_scan_says_what_facts_and_metadata_have(workspace: Workspace) -> None:
    workspace.facts(
        "app", row("constrains", id="known", versions="==1.0", bounds=["engine<=0.11.0"])
    )
    workspace.index.add_wheel("app", "1.1", requires=["lib>=2"], files={"app/limits.py": LIMITS})
    old, new = (workspace.run("facts", "scan", name, "--json").json for name in ("app==1.0", "app"))
    assert [(check["project"], check["facts"], check["is_news"]) for check in old["checks"]] == [
        ("engine", ["known"], False),
        ("lib", [], True),
    ]
    assert [(check["is_required"], check["is_news"]) for check in new["checks"]] == [(True, False)]


def test_scan_ignores_a_marker_that_cannot_be_evaluated(workspace: Workspace) -> None:
    needs = ["lib>=2 ; os_name ~= 'posix'"]
    workspace.index.add_wheel("app", "1.1", requires=needs, files={"app/limits.py": LIMITS})
    (check,) = workspace.run("facts", "scan", "app", "--json").json["checks"]
    assert (check["metadata"], check["is_required"]) == (needs, False)


def test_scan_reads_archives_and_compiled_messages(workspace: Workspace) -> None:
    workspace.index.add_archive("old", "1.0", members={"old/limits.py": LIMITS})
    assert [
        check["path"] for check in workspace.run("facts", "scan", "old", "--json").json["checks"]
    ] == ["old/limits.py"]
    source = {"built/lib.pyx": 'raise ImportError("built requires lib 2.0 or newer")\n'}
    workspace.index.add_wheel("built", "1.0", files=source)
    found = workspace.run("facts", "scan", "built", "--json").json["checks"]
    assert [(check["accepts"], check["effect"], check["line"]) for check in found] == [
        (">=2.0", "states", 1)
    ]


def test_scan_tells_files_that_it_could_not_read(workspace: Workspace) -> None:
    deep = f"version = {'-' * 50_000}1"
    large = f"# version{' ' * (5 << 20)}"
    workspace.index.add_wheel(
        "odd", "1.0", files={"odd/deep.py": deep, "odd/large.py": large, "odd/l.py": LIMITS}
    )
    run = workspace.run("facts", "scan", "odd")
    assert run.status == 0
    assert [line for line in run.stdout.splitlines() if line.startswith("not read: ")] == [
        "not read: odd/deep.py: it is nested too deeply",
        "not read: odd/large.py: it is larger than an honest one",
    ]


def test_scan_refuses_a_damaged_wheel(workspace: Workspace) -> None:
    workspace.index.add_file("bad", "bad-1.0-py3-none-any.whl", b"no zip")
    run = workspace.run("facts", "scan", "bad")
    assert (run.status, run.error) == (
        2,
        "bad-1.0-py3-none-any.whl is not a readable wheel: File is not a zip file",
    )


def test_scan_refuses_a_member_that_unpacks_to_more(workspace: Workspace) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_BZIP2) as wheel:
        wheel.writestr("bad/code.py", LIMITS)
    workspace.index.add_file("bad", "bad-1.0-py3-none-any.whl", packed.getvalue())
    run = workspace.run("facts", "scan", "bad")
    assert run.status == 2
    assert "uses an unsupported compression method" in run.error


@pytest.mark.parametrize(
    "name", ["app==9", "nowhere", "app @ https://host.example/app.whl", "not a name"]
)
def test_scan_refuses_what_no_index_has(workspace: Workspace, name: str) -> None:
    run = workspace.run("facts", "scan", name)
    assert (run.status, run.stdout) == (2, "")
    assert name in run.error


def test_scan_reads_libraries_that_are_not_compressed(workspace: Workspace) -> None:
    library = b"\x7fELF" + bytes(20 << 20) + b"stored requires lib 2.0 or newer\0"
    built = build_wheel("stored", "1.0")
    packed = BytesIO(built.content)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_STORED) as wheel:
        wheel.writestr("stored/lib.so", library)
    workspace.index.add_file("stored", built.filename, packed.getvalue())
    found = workspace.run("facts", "scan", "stored", "--json").json["checks"]
    assert [(check["accepts"], check["path"]) for check in found] == [(">=2.0", "stored/lib.so")]
