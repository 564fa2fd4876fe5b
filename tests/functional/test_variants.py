"""Wheel variants (PEP 825): chosen, locked, installed by a pip without them, verified."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.config.load import load_systems
from tests.builders import build_wheel
from tests.functional.machine import execute, install
from tests.functional.workspace import HERE, REPOSITORY, Workspace, row
from tests.loopback import Fault, LoopbackIndex, Response, altered, status
from tests.unit.index.clients import endless, speaking
from tests.variants import for_soc, serve, table, variant

PROPERTIES = ["ascend :: npu_type :: a3"]


def target(soc: str, text: str = HERE) -> str:
    return f'{text}[target.system]\nsoc = "{soc}"\n'


@pytest.fixture(autouse=True)
def shipped(workspace: Workspace) -> None:
    """The rows that ship, of variants and of what components have."""
    for name in ("variants.toml", "systems.toml"):
        shutil.copy(REPOSITORY / "matrices" / name, workspace.matrices)
    assert load_systems(workspace.matrices) is not None
    workspace.facts("vllm-ascend", "")


def files(workspace: Workspace, name: str = "vllm-ascend") -> list[str]:
    """The files of a pin, the one that is installed first."""
    pins = {pin["name"]: pin for pin in workspace.content()["pin"]}
    return [file["name"] for file in pins[name]["file"]]


def requested(index: LoopbackIndex, ending: str) -> int:
    return sum(request.path.endswith(ending) for request in index.requests)


# --- choosing


@pytest.mark.parametrize(
    ("soc", "chosen"),
    [
        ("A2", "vllm_ascend-0.23.0-py3-none-any-910b.whl"),
        ("A3", "vllm_ascend-0.23.0-py3-none-any-a3.whl"),
        ("A5", "vllm_ascend-0.23.0-py3-none-any-950.whl"),
        ("310P", "vllm_ascend-0.23.0-py3-none-any.whl"),
    ],
)
def test_variant_of_the_soc_wins_over_plain_wheel(
    workspace: Workspace, index: LoopbackIndex, soc: str, chosen: str
) -> None:
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3", "950")
    workspace.locked_stack("vllm-ascend", target=target(soc))
    assert files(workspace) == [chosen]  # no other wheel would do as well


def test_variants_of_unknown_soc_are_not_used(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3")
    workspace.locked_stack("vllm-ascend", target=HERE)
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any.whl"]


def test_null_variant_comes_before_plain_wheel(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "a3", "null")
    workspace.locked_stack("vllm-ascend", target=target("A2"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-null.whl"]
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]


def test_lock_names_variant_and_properties(workspace: Workspace, index: LoopbackIndex) -> None:
    made = serve(index, "vllm-ascend", "0.23.0", "910b", "a3")
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    (pin,) = workspace.content()["pin"]
    assert pin["variant"] == {"label": "a3", "properties": PROPERTIES}
    assert pin["file"] == [{"name": made["a3"].filename, "sha256": made["a3"].sha256}]
    assert "wheel variant vllm_ascend-0.23.0-py3-none-any-a3.whl" in workspace.read("report.md")
    assert "wheel variant vllm_ascend-0.23.0-py3-none-any-a3.whl" in workspace.read("report.zh.md")
    assert workspace.run("check").status == 0


@pytest.mark.parametrize("soc", ["A2", "A3"])
def test_fact_about_plain_wheels_spares_variants(
    workspace: Workspace, index: LoopbackIndex, soc: str
) -> None:
    """As the shipped `vllm-ascend-wheels-are-a2`."""
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "a3")
    workspace.facts("vllm-ascend", row("requires", wheels=True, needs=["soc in A2"]))
    workspace.locked_stack("vllm-ascend", target=target(soc))
    assert files(workspace)[0].endswith("-a3.whl") is (soc == "A3")


def test_fact_about_plain_wheels_refuses_null_variant(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """A null variant says nothing of its SoC."""
    serve(index, "vllm-ascend", "0.23.0", "null")
    workspace.facts("vllm-ascend", row("requires", wheels=True, needs=["soc in A2"]))
    workspace.stack("vllm-ascend", target=target("A3"))
    assert workspace.lock().status == 1


def test_fact_about_other_component_holds_for_variants(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    serve(index, "vllm-ascend", "0.23.0", "a3")
    workspace.facts("vllm-ascend", row("requires", wheels=True, needs=["cann in 9.1.0"]))
    workspace.stack("vllm-ascend", target=target("A3") + 'cann = "8.5.0"\n')
    assert workspace.lock().status == 1


def test_build_for_other_socs_is_needless_with_a_variant(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    builds = row("builds", requires_from="requirements.txt", when=["soc in A3 | A5"])
    index.add_archive("vllm-ascend", "0.23.0", members={"requirements.txt": ""})
    workspace.serve("vllm-ascend 0.23.0", "setuptools 80")
    serve(index, "vllm-ascend", "0.23.0", "a3")
    workspace.facts("vllm-ascend", builds)
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]
    workspace.locked_stack("vllm-ascend", target=target("A5"))
    assert files(workspace) == ["vllm_ascend-0.23.0.tar.gz"]


def test_variants_of_another_index_are_taken_as_bound(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """As a stack binds vllm-ascend to Huawei's /variant index before PyPI."""
    workspace.serve("vllm-ascend 0.22.0 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3", served_by="variant")
    workspace.indexes(f"""
        [[index]]
        name = "pypi"
        [[index]]
        name = "huawei-variant"
        url = "{index.url_of("variant")}"
        [[binding]]
        packages = ["vllm-ascend"]
        indexes = ["huawei-variant", "pypi"]
        take = "all"
    """)
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]
    workspace.locked_stack("vllm-ascend", target=target("310P"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any.whl"]
    workspace.locked_stack("vllm-ascend<0.23", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.22.0-py3-none-any.whl"]


@pytest.mark.parametrize(("soc", "label"), [("A3", "a3"), ("A5", "950"), ("310P", "310p")])
def test_shipped_facts_admit_variants_for_other_socs(
    workspace: Workspace, index: LoopbackIndex, soc: str, label: str
) -> None:
    """The plain wheels are for A2, and facts build 0.23.0 for others: a variant needs neither."""
    facts = REPOSITORY / "matrices" / "facts"
    shutil.copy(facts / "vllm-ascend.toml", workspace.matrices / "facts")
    (workspace.matrices / "facts" / "generated").mkdir()
    shutil.copy(
        facts / "generated" / "vllm-ascend.toml", workspace.matrices / "facts" / "generated"
    )
    workspace.serve("vllm-ascend 0.23.0", "vllm 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", label, served_by="variant")
    workspace.indexes(f"""
        [[index]]
        name = "pypi"
        complete = false
        [[index]]
        name = "huawei-variant"
        url = "{index.url_of("variant")}"
        [[binding]]
        packages = ["vllm-ascend"]
        indexes = ["huawei-variant", "pypi"]
        take = "all"
    """)
    workspace.locked_stack("vllm-ascend==0.23.0", target=target(soc) + 'cann = "9.1.0"\n')
    assert files(workspace) == [f"vllm_ascend-0.23.0-py3-none-any-{label}.whl"]


# --- what is asked of the index


def test_page_without_variants_costs_no_request(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.serve("vllm-ascend 0.23.0")
    rows = table([variant(index.add_wheel("other", "1.0"), "a3", for_soc("a3"))])
    index.add_file("vllm-ascend", "vllm_ascend-0.23.0-variants.json", rows.content)
    index.clear()
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert [request.path for request in index.requests] == [
        "/simple/pypi/vllm-ascend/",
        "/files/pypi/vllm_ascend-0.23.0-py3-none-any.whl.metadata",
    ]


def test_list_of_variants_is_read_once_if_it_has_a_hash(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    serve(index, "vllm-ascend", "0.23.0", "a3")
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert requested(index, "-variants.json") == 1
    assert workspace.lock().status == 0
    assert requested(index, "-variants.json") == 1
    assert workspace.lock("--offline").status == 0
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]


def test_list_without_a_hash_may_change(workspace: Workspace, index: LoopbackIndex) -> None:
    """An index adds a variant to a release; the page may stay the same."""
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3", hashed=False)
    index.fault(
        "*-variants.json", altered(lambda body: body.replace(b'"a3": {', b'"b3": {')), times=1
    )
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any.whl"]
    workspace.locked("--upgrade")
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]


@pytest.mark.parametrize("ranges", [True, False])
def test_wheels_say_what_an_index_without_a_list_does_not(
    workspace: Workspace, index: LoopbackIndex, ranges: bool
) -> None:
    index.ranges = ranges
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3", listed=False)
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]


def test_html_pages_have_variants(workspace: Workspace, index: LoopbackIndex) -> None:
    index.pages = "html"
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3")
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]


def test_list_that_a_server_fails_to_send_fails_the_lock(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """Else a passing fault would decide which wheel is locked."""
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "a3")
    index.fault("*-variants.json", status(500))
    workspace.stack("vllm-ascend", target=target("A3"))
    assert workspace.lock().status == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"null",
        b'{"variants": []}',
        b'{"variants": {"a3": []}}',
        b'{"variants": {"a3": {"ascend": {"npu_type": "a3"}}}}',
        b'{"variants": {"a3": {"ascend": {"npu_type": ["A3"]}}}}',
        b'{"variants": {"A3": {"ascend": {"npu_type": ["a3"]}}}}',
        b'{"variants": {"null": {"ascend": {"npu_type": ["a3"]}}}}',
        (
            b'{"variants": {"a3": {"ascend": {"npu_type": ["a3"]}}}, '
            b'"default-priorities": {"namespace": "ascend"}}'
        ),
        (
            b'{"variants": {"a3": {"ascend": {"npu_type": ["a3"]}}}, '
            b'"$schema": "https://x.invalid/v2.0.0.json"}'
        ),
        b'{"variants": {"910b": {"ascend": {"npu_type": ["a3"]}}}}',
        b'{"variants": {"a3": {"ascend": {"npu_type": ["910b"]}}}}',
        b'{"variants": ' + b'{"a":' * 200_000 + b"1" + b"}" * 200_000 + b"}",
        b'{"variants": {' + b",".join(b'"v%d": {}' % n for n in range(2000)) + b"}}",
        b'{"variants": {"a3": {"ascend": {"npu_type": ['
        + b",".join(b'"v%d"' % n for n in range(2000))
        + b"]}}}}",
        b'{"variants": {"a3": {"ascend": {"npu_type": ["' + b"a" * 5000 + b'"]}}}}',
        b" " * (3 << 20) + b'{"variants": {"a3": {"ascend": {"npu_type": ["a3"]}}}}',
        b"\xff\xfe",
    ],
    ids=range(19),
)
def test_list_that_cannot_be_read_leaves_plain_wheels(
    workspace: Workspace, index: LoopbackIndex, content: bytes
) -> None:
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "a3", listed=False)
    index.add_file("vllm-ascend", "vllm_ascend-0.23.0-variants.json", content)
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any.whl"]


def test_wheel_that_contradicts_its_index_is_not_used(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """The hash covers what the wheel says, and nothing covers the index's list."""
    made = serve(index, "vllm-ascend", "0.23.0", "910b", listed=False)
    wheel = made["910b"]
    lie = table([wheel]).content.replace(b'"910b"\n', b'"a3"\n')
    index.add_file("vllm-ascend", "vllm_ascend-0.23.0-variants.json", lie)
    workspace.stack("vllm-ascend", target=target("A3"))
    run = workspace.lock()
    assert run.status == 1
    conflict = json.loads(workspace.read("conflict.json"))
    assert "ascend :: npu_type :: 910b, its index says ascend :: npu_type :: a3" in json.dumps(
        conflict
    )


def test_conflict_says_which_machines_a_variant_is_for(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    serve(index, "vllm-ascend", "0.23.0", "910b")
    workspace.stack("vllm-ascend", target=target("A3"))
    assert workspace.lock().status == 1
    assert "is a variant for other machines (ascend :: npu_type :: 910b)" in workspace.read(
        "conflict.md"
    )
    assert "是用于其他机器的 variant" in workspace.read("conflict.zh.md")


def test_variants_lock_from_a_snapshot(workspace: Workspace, index: LoopbackIndex) -> None:
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3")
    workspace.stack("vllm-ascend", target=target("A3"))
    assert workspace.run("lock", "--record", "demo").status == 0
    workspace.forget()
    workspace.locked("--offline")
    assert files(workspace) == ["vllm_ascend-0.23.0-py3-none-any-a3.whl"]


def test_variants_without_any_hash_on_the_page(workspace: Workspace, index: LoopbackIndex) -> None:
    """A page that a web server makes of a folder: what is locked is downloaded and hashed."""
    made = serve(index, "vllm-ascend", "0.23.0", "910b", "a3", hashed=False)
    for built in made.values():
        index.add_file("vllm-ascend", built.filename, built.content, sha256=False)
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    (pin,) = workspace.content()["pin"]
    assert pin["file"] == [{"name": made["a3"].filename, "sha256": made["a3"].sha256}]


def test_wheel_with_markers_about_variants_is_not_taken(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """`packaging` does not know them, so what the wheel requires is not known."""
    line = 'base ; "ascend :: npu_type :: a3" in variant_properties'
    wheel = variant(build_wheel("vllm-ascend", "0.23.0", requires=[line]), "a3", for_soc("a3"))
    rows = table([wheel])
    for built in (wheel, rows):
        index.add_file("vllm-ascend", built.filename, built.content)
    workspace.stack("vllm-ascend", target=target("A3"))
    assert workspace.lock().status == 1
    assert "variant_properties" in workspace.read("conflict.md")


def test_list_at_an_address_that_must_not_be_asked(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    workspace.serve("vllm-ascend 0.23.0")
    serve(index, "vllm-ascend", "0.23.0", "a3")
    change = altered(
        lambda body: re.sub(
            rb'"[^"]*-variants.json"', b'"http://169.254.169.254/variants.json"', body
        )
    )
    index.fault("/simple/*", change)
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert requested(index, "variants.json") == 0


def test_page_of_many_releases_with_variants_is_bounded(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    workspace.serve("vllm-ascend 1.0")
    content = table([variant(build_wheel("vllm-ascend", "1.0"), "a3", for_soc("a3"))]).content
    for number in range(130):
        index.add_file("vllm-ascend", f"vllm_ascend-0.{number}-py3-none-any-a3.whl", b"")
        index.add_file(
            "vllm-ascend", f"vllm_ascend-0.{number}-variants.json", content + b" " * number
        )
    workspace.locked_stack("vllm-ascend", target=target("A3"))
    assert requested(index, "-variants.json") == 100
    assert workspace.pins() == {"vllm-ascend": "1.0"}


# --- installing


@pytest.fixture
def locked(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """A lock for A3 of a variant and of a plain wheel."""
    workspace.serve("vllm-ascend 0.23.0", "base 1.0")
    serve(index, "vllm-ascend", "0.23.0", "910b", "a3")
    workspace.locked_before("vllm-ascend", "base", target=target("A3"))
    return workspace


def label_of(python: Path) -> str:
    code = "import vllm_ascend; print(getattr(vllm_ascend, 'LABEL', 'plain'))"
    return subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
@pytest.mark.parametrize("pages", ["json", "html"])
def test_install_fetches_a_variant_and_verify_knows_it(
    locked: Workspace, index: LoopbackIndex, python: Path, pages: str
) -> None:
    index.pages = "html" if pages == "html" else "json"
    run = install(locked, python, "--skip-system-checks")
    assert run.status == 0, run.stdout + run.stderr
    assert label_of(python) == "a3"
    again = install(locked, python, "--skip-system-checks")
    assert (again.status, requested(index, "-a3.whl") <= 6) == (0, True)
    assert "vllm_ascend-0.23.0" not in again.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_install_replaces_the_plain_wheel_of_the_same_release(
    locked: Workspace, index: LoopbackIndex, python: Path
) -> None:
    """Installed by the vendor's guide: pip ignores a wheel whose name it cannot read."""
    plain = [
        "-I",
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--index-url",
        index.url,
        "vllm-ascend",
        "base",
    ]
    subprocess.run([python, *plain], check=True, capture_output=True)
    assert label_of(python) == "plain"
    verify = locked.folder() / "verify.py"
    found = execute(locked, [f"{python}", f"{verify}", "--skip-system-checks"])
    assert (
        "vllm-ascend is 0.23.0 [no variant], but the lock has 0.23.0 [variant a3]" in found.stdout
    )
    assert install(locked, python, "--skip-system-checks").status == 0
    assert label_of(python) == "a3"


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_install_takes_a_variant_from_a_bundle(
    locked: Workspace, index: LoopbackIndex, python: Path
) -> None:
    bundle = locked.root / "bundle"
    assert locked.run("bundle", "demo", str(bundle)).status == 0
    assert (bundle / "vllm_ascend-0.23.0-py3-none-any-a3.whl").is_file()
    assert not (bundle / "vllm_ascend-0.23.0-py3-none-any.whl").exists()
    index.clear()
    run = install(locked, python, "--skip-system-checks", "--wheelhouse", str(bundle))
    assert run.status == 0, run.stdout + run.stderr
    assert (label_of(python), index.requests) == ("a3", [])


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_install_refuses_a_variant_with_another_hash(
    locked: Workspace, index: LoopbackIndex, python: Path
) -> None:
    index.fault("*-a3.whl", altered(lambda body: body + b"x"))
    run = install(locked, python, "--skip-system-checks")
    assert run.status == 1
    assert "could not be downloaded" in run.stderr
    assert not list((python.parent.parent / "lib").glob("*/site-packages/vllm_ascend*"))


# --- a hostile index, and what is told of it

_SECRET = "hunter2SECRET"


def page_linking_to(address: str) -> Fault:
    """Return a page with this link to the variant."""
    body = f'<a href="{address}">x</a>'.encode()
    return lambda _: Response(200, body, {"Content-Type": "text/html"})


@pytest.mark.parametrize("what", ["page", "file", "bytes", "connection"])
def test_install_shows_no_password_of_the_address(
    locked: Workspace, index: LoopbackIndex, python: Path, what: str
) -> None:
    address = index.url.replace("://", f"://reader:{_SECRET}@")
    if what == "page":
        index.fault("/simple/*/vllm-ascend/", status(404))
    elif what == "file":
        index.remove("vllm-ascend", "vllm_ascend-0.23.0-py3-none-any-a3.whl")
    elif what == "bytes":
        index.fault("*-a3.whl", altered(lambda body: body[::-1]))
    else:
        index.fault("/simple/*/vllm-ascend/", lambda _: Response(200, b"x", reset_after=0))
    run = install(locked, python, "--skip-system-checks", PIP_INDEX_URL=address)
    assert (run.status, "could not be downloaded" in run.stderr) == (1, True)
    assert _SECRET not in run.stdout + run.stderr


@pytest.mark.parametrize("way", ["link", "redirect"])
def test_install_tells_netrc_default_to_the_index_alone(
    locked: Workspace, index: LoopbackIndex, python: Path, way: str
) -> None:
    name = "vllm_ascend-0.23.0-py3-none-any-a3.whl"
    netrc = locked.root / "home" / ".netrc"
    netrc.write_text(f"default login me password {_SECRET}\n")
    netrc.chmod(0o600)
    with LoopbackIndex() as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost").partition("/simple")[0]
        address = f"{elsewhere}/files/pypi/{name}"
        if way == "link":
            index.fault("/simple/*/vllm-ascend/", page_linking_to(address))
        else:
            index.fault("*-a3.whl", lambda _: Response(302, b"", {"Location": address}))
        index.clear()
        run = install(locked, python, "--skip-system-checks")
        assert run.status == 1
        assert [request.sent.get("authorization") for request in other.requests] == [None]
    pages = [one for one in index.requests if "vllm-ascend" in one.path]
    assert pages[0].sent.get("authorization")


@pytest.mark.parametrize("what", ["link", "name"])
def test_install_shows_no_control_character_of_a_page(
    locked: Workspace, index: LoopbackIndex, python: Path, what: str
) -> None:
    name = "vllm_ascend-0.23.0-py3-none-any-a3.whl"
    link = f"/files/\x1b]0;pwned\x07/{name}?\x1b[31m"
    if what == "name":
        link = f"ht\x1b[31mtp://127.0.0.1\x1b/{name}"
    index.fault("/simple/*/vllm-ascend/", page_linking_to(link))
    run = install(locked, python, "--skip-system-checks")
    assert run.status == 1
    assert "\x1b" not in run.stdout + run.stderr


def test_install_reads_no_page_without_end(
    locked: Workspace, index: LoopbackIndex, python: Path
) -> None:
    body = b" " * (33 << 20)
    index.fault(
        "/simple/*/vllm-ascend/", lambda _: Response(200, body, {"Content-Type": "text/html"})
    )
    run = install(locked, python, "--skip-system-checks")
    assert run.status == 1
    assert "sends more than 33554432 bytes" in run.stderr


@pytest.mark.parametrize(
    "address", ["http://index.example/x/{}", "file:///etc/{}", "ftp://127.0.0.1/{}"]
)
def test_install_follows_no_link_that_is_not_allowed(
    locked: Workspace, index: LoopbackIndex, python: Path, address: str
) -> None:
    name = "vllm_ascend-0.23.0-py3-none-any-a3.whl"
    index.fault("/simple/*/vllm-ascend/", page_linking_to(address.format(name)))
    run = install(locked, python, "--skip-system-checks")
    assert (run.status, "is not asked" in run.stderr) == (1, True)


@pytest.mark.parametrize("host", ["localhost", "localhost.", "127.0.0.1.", "a.localhost."])
def test_install_follows_no_link_to_this_machine(
    locked: Workspace, index: LoopbackIndex, python: Path, host: str
) -> None:
    """From an index that is elsewhere, here behind a proxy."""
    name = "vllm_ascend-0.23.0-py3-none-any-a3.whl"
    index.fault("/simple/*/vllm-ascend/", page_linking_to(f"https://{host}/{name}"))
    elsewhere = {
        "PIP_INDEX_URL": "http://index.example/simple/pypi/",
        "PIP_TRUSTED_HOST": "index.example",
        "PIP_PROXY": index.proxy,
    }
    run = install(locked, python, "--skip-system-checks", **elsewhere)
    assert (run.status, "is not asked" in run.stderr) == (1, True), run


def lessen_pieces(workspace: Workspace) -> None:
    """Let install.sh judge the pace of an answer by small pieces, which come sooner."""
    script = workspace.folder() / "install.sh"
    text = script.read_text("utf-8")
    assert text.count("PIECE = 100, 4 * seconds, 1 << 12") == 1
    script.write_text(text.replace("1 << 12", "1 << 6"), "utf-8")


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


@pytest.mark.parametrize(
    ("head", "line", "why"),
    [
        pytest.param(b"HTTP/1.1 200 ", b"x", "does not answer (TooSlow)", id="status"),
        pytest.param(
            b"", b"HTTP/1.1 100 Continue\r\n\r\n", "does not answer (TooSlow)", id="continue"
        ),
        pytest.param(
            _HEAD + b"Content-Length: 100000\r\n\r\n",
            b"x",
            "sends less than 100 bytes a second",
            id="body",
        ),
        pytest.param(
            _HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
            b"1\r\nx\r\n",
            "sends less than 100 bytes a second",
            id="chunks",
        ),
        pytest.param(
            _HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
            b"x: y\r\n",
            "sends less than 100 bytes a second",
            id="trailers",
        ),
    ],
)
def test_install_ends_a_trickle(
    locked: Workspace, index: LoopbackIndex, python: Path, head: bytes, line: bytes, why: str
) -> None:
    """Each byte comes within the time limit of pip."""
    lessen_pieces(locked)
    with speaking(endless(head, line, 0.02)) as address:
        link = f"http://{address}/vllm_ascend-0.23.0-py3-none-any-a3.whl"
        index.fault("/simple/*/vllm-ascend/", page_linking_to(link))
        run = install(locked, python, "--skip-system-checks", PIP_TIMEOUT="0.5")
    assert (run.status, why in run.stderr) == (1, True), run


def test_install_waits_for_a_slow_page(
    locked: Workspace, index: LoopbackIndex, python: Path
) -> None:
    """It takes longer than four times the limit, at more than 100 bytes a second."""
    index.fault("/simple/*/vllm-ascend/", lambda page: replace(page, pause=0.003))
    begun = time.monotonic()
    run = install(locked, python, "--skip-system-checks", PIP_TIMEOUT="0.3")
    assert run.status == 0, run
    assert time.monotonic() - begun > 4 * 0.3


def test_install_reads_nothing_that_a_redirect_sends(
    locked: Workspace, index: LoopbackIndex, python: Path
) -> None:
    name = "vllm_ascend-0.23.0-py3-none-any-a3.whl"
    redirect = Response(302, b"x" * 100_000, {"Location": f"/files/pypi/{name}"}, pause=0.1)
    index.fault("*-a3.whl", lambda _: redirect, times=1)
    run = install(locked, python, "--skip-system-checks")
    assert run.status == 0, run
    assert label_of(python) == "a3"


def test_requirements_leave_variants_to_the_script(locked: Workspace) -> None:
    text = locked.read("requirements.txt")
    assert "vllm-ascend==" not in text
    assert "a variant of a wheel, vllm_ascend-0.23.0-py3-none-any-a3.whl" in text
    stage = locked.read("stages/1.variant-2.txt")
    assert "# vllm-ascend==0.23.0 is the variant a3: ascend :: npu_type :: a3" in stage
    assert "vllm-ascend==0.23.0 \\\n    --hash=sha256:" in stage


def test_command_of_a_stage_file_installs_by_hand(
    locked: Workspace, index: LoopbackIndex, python: Path
) -> None:
    """The comments of the file are commands for a shell in the lock's folder."""
    folder = locked.folder()
    name = "vllm_ascend-0.23.0-py3-none-any-a3.whl"
    wheel = index._files["pypi", name].content
    assert wheel is not None
    (folder / name).write_bytes(wheel)
    lines = locked.read("stages/1.variant-2.txt").splitlines()
    commands = [line.removeprefix("#   ") for line in lines if line.startswith("#   ")]
    script = " && ".join(commands).replace("pip install", f"{python} -I -m pip install")
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert label_of(python) == "a3"


def test_pylock_says_that_it_leaves_out_a_variant(locked: Workspace) -> None:
    run = locked.run("export", "demo", "--format", "pylock")
    assert run.status == 0
    assert 'left-out = [\n    "vllm-ascend==0.23.0",\n]' in run.stdout
    assert "installers refuse the name of a wheel variant" in run.stdout
    assert 'name = "base"' in run.stdout
    assert "pylock.toml leaves out vllm-ascend 0.23.0" in run.stderr


def test_scripts_with_variants_are_clean(locked: Workspace, python: Path) -> None:
    shellcheck = [str(Path(sys.executable).with_name("shellcheck")), "--exclude=SC2016"]
    assert execute(locked, [*shellcheck, str(locked.folder() / "install.sh")]).stdout == ""
    run = install(locked, python, "--skip-system-checks", "--dry-run")
    assert run.status == 0, run.stderr
    assert "vllm_ascend-0.23.0-py3-none-any-a3.whl" in run.stdout
    assert not list((python.parent.parent / "lib").glob("*/site-packages/vllm_ascend*"))


def test_exports_know_variants(locked: Workspace) -> None:
    name = "vllm_ascend-0.23.0-py3-none-any-a3.whl"
    sbom = locked.run("export", "demo", "--format", "sbom")
    assert (sbom.status, name in sbom.stdout) == (0, True)
    image = ("--base-image", "quay.io/ascend/cann:x")
    container = locked.run("export", "demo", "--format", "containerfile", *image)
    assert (container.status, "install.sh" in container.stdout) == (0, True)


def test_check_finds_a_variant_that_is_gone(locked: Workspace, index: LoopbackIndex) -> None:
    assert locked.run("check", "demo", "--upstream").status == 0
    index.remove("vllm-ascend", "vllm_ascend-0.23.0-py3-none-any-a3.whl")
    run = locked.run("check", "demo", "--upstream")
    assert run.status == 5
    assert "vllm_ascend-0.23.0-py3-none-any-a3.whl" in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('label = "a3"', 'label = "a2"', "is not of the variant"),
        ('label = "a3"', 'label = "../x"', "pin"),
        ("any-a3.whl", "any.whl", "is not of the variant"),
    ],
)
def test_lock_with_an_edited_variant_is_refused(
    locked: Workspace, old: str, new: str, why: str
) -> None:
    path = locked.folder() / "lock.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    run = locked.run("tree", "demo")
    assert run.status == 2
    assert why in run.stderr


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            '"ascend :: npu_type"',
            '"npu_type"',
            "`npu_type` is no feature such as `vendor :: chip`",
        ),
        ('["a3"]', '["A 3"]', "`A 3` cannot be the value of a feature"),
        ('component = "soc"', 'component = "sock"', "there is no component `sock`"),
        ("A3 =", "A33 =", "there is no soc `A33`"),
    ],
)
def test_row_of_variants_that_errs_is_told(
    workspace: Workspace, old: str, new: str, error: str
) -> None:
    workspace.edit("variants.toml", old, new)
    workspace.serve("vllm-ascend 0.23.0")
    workspace.stack("vllm-ascend", target=target("A3"))
    workspace.refused(error, "lock", "demo")
