"""Exports, read by the tools that they are for: pip, uv, CycloneDX's schema, bash."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import tomli

from resolver.index.store.cache import FILE
from tests.cached import unpacked
from tests.faults.room import limited
from tests.functional.machine import execute, installed, make_environment
from tests.functional.sources import add_backend, add_source
from tests.functional.sources import tree as tree_of
from tests.functional.workspace import (
    COMMAND,
    HERE,
    PLATFORM,
    PYTHON_LINE,
    REPOSITORY,
    Run,
    Workspace,
    targets,
    tree,
)
from tests.loopback import LoopbackIndex, altered
from tests.repositories import Repository

TOOLS = Path(sys.executable).parent
FACTS = """
[[builds]]
requires-from = "requirements/run.txt"
env = { TINY_DEVICE = "empty" }
isolation = false
reason = "it is built for no device"

[[exports]]
id = "quiet"
env = { QUIET = "it's $HOME" }
reason = "it talks too much"
"""
CANN = '[target.system]\ncann = "8.5.0.B160"\nsoc = "A2"\n'


def serve(index: LoopbackIndex) -> None:
    add_backend(index)
    add_source(index, "apart", "1.0")
    add_source(index, "here", "1.0")
    index.serve("base 1.0", "top 1.0: base, absent")


@pytest.fixture
def locked(workspace: Workspace) -> Workspace:
    serve(workspace.index)
    workspace.facts("here", FACTS)
    workspace.facts(
        "top",
        '[[replaces]]\nid = "no-absent"\ndrop = ["absent"]\nreason = "it is never imported"\n',
    )
    workspace.locked_before(
        "apart", "here", "top", target=HERE + CANN, more='[check]\nimports = ["top"]\n'
    )
    shutil.copy(REPOSITORY / "matrices" / "images.toml", workspace.matrices)
    return workspace


def export(workspace: Workspace, form: str, *arguments: str, **environment: str) -> Run:
    return workspace.run("export", "demo", "--format", form, *arguments, **environment)


# --- pylock.toml

# What it tells: `here` is left out, `apart` is built by the installer, and facts remove
# requirements.
NOTES = (
    "warning: pylock.toml leaves out here 1.0, ",
    "warning: apart 1.0: ",
    "warning: facts remove requirements ",
)


def noted(run: Run) -> None:
    """A pylock that was made, with all that there is to tell."""
    assert run.status == 0
    rows = run.stderr.splitlines()
    assert [row.startswith(note) for row, note in zip(rows, NOTES, strict=True)] == [True] * 3


def test_a_name_that_installers_do_not_know_is_told(locked: Workspace) -> None:
    """PEP 751: they read anything else as a list of requirements."""
    for name, told in (
        ("pylock.toml", False),
        ("pylock.node.toml", False),
        ("/dev/null", False),
        ("my-lock.toml", True),
    ):
        run = export(locked, "pylock", "--output", name)
        assert (run.status, run.stdout) == (0, f"Written to {name}\n")
        assert ("do not recognise my-lock.toml as a pylock.toml" in run.stderr) is told


@pytest.mark.parametrize("options", [(), ("--exclude-newer", "2026-06-01")])
def test_export_warns_of_an_old_lock(workspace: Workspace, options: tuple[str, ...]) -> None:
    """The options of the command that locked are no change of the stack."""
    workspace.index.add_wheel("base", "1.0", uploaded="2026-05-01T00:00:00Z")
    workspace.stack("base")
    assert workspace.lock(*options).status == 0
    assert export(workspace, "sbom").stderr == ""
    workspace.stack("base<2")
    warned = "the stack or the facts have changed since demo was locked"
    stderr = export(workspace, "sbom").stderr
    assert warned in stderr
    assert stderr.endswith("; to lock it again: ascend-lock lock demo\n")


def test_pip_and_uv_install_a_pylock_and_no_other_bytes(
    locked: Workspace, index: LoopbackIndex
) -> None:
    before = tree(locked.locks)
    noted(export(locked, "pylock", "--output", "pylock.toml"))
    assert tree(locked.locks) == before

    pip = make_environment(locked.root / "env")
    command = [str(pip), "-m", "pip", "install", "--no-deps", "-r", "pylock.toml"]
    done = execute(locked, command)
    assert done.status == 0, done.stderr
    expected = {"apart": "1.0", "base": "1.0", "tinybuild": "1.0", "top": "1.0"}
    assert installed(pip) == expected

    told = {"UV_DEFAULT_INDEX": index.url, "UV_NO_CACHE": "1"}
    uv = [str(TOOLS / "uv"), "pip", "install", "--target", "target", "-r", "pylock.toml"]
    done = execute(locked, uv, **told)
    assert done.status == 0, done.stderr
    assert {path.stem for path in (locked.root / "target").glob("*.py")} == set(expected)

    path = locked.root / "pylock.toml"
    hashes = {file["sha256"] for pin in locked.content()["pin"] for file in pin["file"]}
    assert set(re.findall("[0-9a-f]{64}", path.read_text())) < hashes | {locked.content()["inputs"]}
    (base,) = [pin["file"][0]["sha256"] for pin in locked.content()["pin"] if pin["name"] == "base"]
    path.write_text(path.read_text().replace(base, "0" * 64))
    for refused in ([*command, "--force-reinstall", "--no-cache-dir"], [*uv, "--reinstall"]):
        done = execute(locked, refused, **told)
        assert done.status != 0
        assert "hash" in done.stderr.lower()


def test_pylock_is_for_one_target_and_has_no_credentials(
    locked: Workspace, index: LoopbackIndex
) -> None:
    run = export(locked, "pylock", PIP_INDEX_URL=index.url.replace("://", "://user:secret@"))
    noted(run)
    assert "secret" not in run.stdout
    content: dict[str, Any] = tomli.loads(run.stdout)
    machine = PLATFORM.removeprefix("linux-")
    (marker,) = content["environments"]
    assert marker == (
        f'sys_platform == "linux" and platform_machine == "{machine}" '
        f'and implementation_name == "cpython" and python_version == "{PYTHON_LINE}"'
    )
    assert content["requires-python"] == f"=={PYTHON_LINE}.*"
    inputs = locked.content()["inputs"]
    assert content["tool"] == {
        "ascend-lock": {
            "stack": "demo",
            "target": "here",
            "inputs": inputs,
            "left-out": ["here==1.0"],
        }
    }
    packages = {package["name"]: package for package in content["packages"]}
    assert packages["top"]["dependencies"] == [{"name": "base"}]
    assert packages["apart"]["sdist"]["name"] == "apart-1.0.tar.gz"
    text = run.stdout.replace(
        f'python_version == \\"{PYTHON_LINE}\\"', 'python_version == \\"3.5\\"'
    )
    (locked.root / "pylock.toml").write_text(
        text.replace("<server>", index.url.partition("/simple")[0])
    )
    done = execute(
        locked, [sys.executable, "-m", "pip", "install", "--dry-run", "-r", "pylock.toml"]
    )
    assert done.status != 0
    assert (
        "environment does not satisfy any of the environments specified in the lock file"
        in done.stderr
    )


def test_pylock_has_no_query_of_an_address(locked: Workspace, index: LoopbackIndex) -> None:
    """Where an index signs the address of a file, the query is as good as a password."""
    signed = altered(
        lambda page: re.sub(rb'("url": ?"[^"]*)"', rb'\1?token=hunter2#hunter2"', page)
    )
    index.fault("/simple/*/base/", signed)
    run = export(locked, "pylock", "--output", "pylock.toml")
    assert (run.status, "hunter2" in run.stdout + run.stderr) == (0, False)
    assert "of these files without their query, which may be a secret" in run.stderr
    assert "base-1.0-py3-none-any.whl. If the server" in run.stderr
    text = (locked.root / "pylock.toml").read_text()
    assert ('/base-1.0-py3-none-any.whl"' in text, "hunter2" in text) == (True, False)
    # it is needed to download the file
    stored = b"".join(unpacked(locked.cache))
    assert b"base-1.0-py3-none-any.whl?token=hunter2" in stored
    assert (locked.cache / FILE).stat().st_mode & 0o777 == 0o600


@pytest.fixture
def from_git(workspace: Workspace, index: LoopbackIndex) -> tuple[Workspace, str]:
    """A lock with a project from a commit, which is named, and one that must be absent."""
    serve(index)
    own = Repository(workspace.root / "own")
    commit = own.commit({f"lib/{path}": text for path, text in tree_of("own", "1.0").items()})
    workspace.facts(
        "own", own.fact(commit, 'subdirectory = "lib"\neditable = true', requires='["base"]')
    )
    more = '[[absent]]\npackage = "gone"\nreason = "the guide removes it"\n'
    workspace.locked_stack(f"own @ git+{own.url}@{commit}#subdirectory=lib", target=HERE, more=more)
    return workspace, commit


def test_pylock_leaves_out_pins_from_git_with_a_warning(
    from_git: tuple[Workspace, str],
) -> None:
    workspace, _ = from_git
    run = export(workspace, "pylock", "--output", "pylock.toml")
    assert (
        run.status,
        run.stderr.startswith(
            "warning: pylock.toml leaves out own 1.0, because pip accepts no git "
        ),
    ) == (0, True)
    text = (workspace.root / "pylock.toml").read_text()
    assert text.count("# Not included, because the format cannot say how they are built") == 1
    assert tomli.loads(text)["tool"]["ascend-lock"]["left-out"] == ["own==1.0"]
    pip = make_environment(workspace.root / "env")
    done = execute(workspace, [str(pip), "-m", "pip", "install", "--no-deps", "-r", "pylock.toml"])
    assert done.status == 0, done.stderr
    assert installed(pip) == {"base": "1.0"}


def test_what_cannot_be_exported_is_told(locked: Workspace) -> None:
    for words, error in (
        ("sbom --output nowhere/sbom.json", "the export could not be written"),
        ("sbom --target there", "demo has no target `there`"),
        (
            "containerfile --base-image i --wheelhouse ../else",
            "`../else` is not inside the build's context",
        ),
        ("sbom --wheelhouse w", "sbom has no use for this option"),
    ):
        locked.refused(error, "export", "demo", "--format", *words.split())
    evil = ("--format", "containerfile", "--base-image", "x\nRUN evil")
    locked.refused("`x\\nRUN evil` cannot be used in a Containerfile", "export", "demo", *evil)
    locked.stack("base", name="other", target=targets("here", "there"))
    run = locked.run("export", "other", "--format", "sbom")
    assert (run.status, run.error, run.stderr[-12:]) == (
        2,
        "other has several targets",
        "here, there\n",
    )
    run = locked.run("export", "other", "--format", "sbom", "--target", "there")
    assert (run.status, run.error) == (4, "other has no lock for there")


# --- SBOM


def valid(sbom: str) -> None:
    """By the schema of CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import (
        JsonStrictValidator,
    )  # two seconds of grammars, which every worker would pay

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(sbom) is None


def test_the_sbom_is_valid_complete_and_always_the_same(locked: Workspace) -> None:
    runs = [
        export(locked, "sbom", PYTHONHASHSEED=seed, PIP_INDEX_URL="http://127.0.0.1:9/")
        for seed in "12"
    ]
    assert {(run.status, run.stderr, run.stdout) for run in runs} == {(0, "", runs[0].stdout)}
    valid(runs[0].stdout)
    told = runs[0].json
    assert "timestamp" not in told["metadata"]
    components = {component["bom-ref"]: component for component in told["components"]}
    assert set(components) == {
        *(f"pkg:pypi/{name}@1.0" for name in ("apart", "base", "here", "tinybuild", "top")),
        "build:pkg:pypi/tinybuild@1.0",
        *(f"system:{name}" for name in ("cann", "soc", "python", "glibc")),
    }
    assert components["build:pkg:pypi/tinybuild@1.0"]["scope"] == "excluded"
    assert (components["system:cann"]["type"], components["system:cann"]["version"]) == (
        "platform",
        "8.5.0.B160",
    )
    (pin,) = [pin for pin in locked.content()["pin"] if pin["name"] == "top"]
    assert components["pkg:pypi/top@1.0"]["hashes"] == [
        {"alg": "SHA-256", "content": pin["file"][0]["sha256"]}
    ]
    graph = {row["ref"]: row.get("dependsOn", []) for row in told["dependencies"]}
    assert graph["pkg:pypi/top@1.0"] == ["pkg:pypi/base@1.0"]
    assert set(graph["stack:demo"]) == {
        *(f"pkg:pypi/{name}@1.0" for name in ("apart", "here", "top")),
        *(f"system:{name}" for name in ("cann", "soc", "python", "glibc")),
    }
    root = {row["name"]: row["value"] for row in told["metadata"]["component"]["properties"]}
    assert root["ascend-lock:fact:quiet"] == (
        "it talks too much (vendor; demo/tests#1; checked 2026-11-20; matrices/facts/here.toml:13)"
    )
    assert root["ascend-lock:override:top"] == "absent taken out of top 1.0 by no-absent"
    assert root["ascend-lock:environment:QUIET"] == "it's $HOME"


def test_sbom_names_the_commit_of_a_pin_from_git(
    from_git: tuple[Workspace, str],
) -> None:
    workspace, commit = from_git
    run = export(workspace, "sbom")
    assert (run.status, run.stderr) == (0, "")
    valid(run.stdout.replace("<root>", str(workspace.root)))
    (own,) = [component for component in run.json["components"] if component["name"] == "own"]
    assert own["purl"] == f"pkg:generic/own@1.0?vcs_url=git%2Bfile://<root>/own%40{commit}#lib"
    assert [(one["type"], one["url"]) for one in own["externalReferences"]] == [
        ("vcs", "file://<root>/own")
    ]
    told = {row["name"].removeprefix("ascend-lock:"): row["value"] for row in own["properties"]}
    assert told.items() >= {
        ("git-commit", commit),
        ("git-treatment", "editable"),
        ("mode", "built-apart"),
    }
    assert "index" not in told
    root = {row["name"]: row["value"] for row in run.json["metadata"]["component"]["properties"]}
    assert root["ascend-lock:absent:gone"] == "the guide removes it (matrices/stacks/demo.toml:12)"
    path = workspace.folder() / "lock.toml"
    path.write_text(path.read_text().replace("the guide removes it", "the guide drops it"))
    assert export(workspace, "sbom").json["serialNumber"] != run.json["serialNumber"]


def test_without_the_library_of_sboms_it_is_told(locked: Workspace) -> None:
    code = "import sys; sys.modules['cyclonedx'] = None; from resolver.cli import main; main()"
    run = execute(locked, [sys.executable, "-c", code, "export", "demo", "--format", "sbom"])
    assert (run.status, run.stdout) == (2, "")
    assert run.error == "an SBOM needs cyclonedx-python-lib"


# --- Containerfile


def steps(text: str, name: str) -> list[str]:
    """What follows an instruction, each time that it occurs, continued lines joined."""
    joined = text.replace("\\\n", " ")
    return [
        line.removeprefix(f"{name} ") for line in joined.splitlines() if line.startswith(f"{name} ")
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_the_steps_of_the_containerfile_install_without_network(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    """No container engine: its steps are done here, below another root."""
    workspace.serve("base 1.0")
    workspace.facts("base", FACTS.partition("\n\n")[2])
    workspace.locked_before("base", target=HERE + CANN)
    shutil.copy(REPOSITORY / "matrices" / "images.toml", workspace.matrices)
    path = workspace.root / "Containerfile"
    image = "quay.io/ascend/cann:8.5.0-910b-ubuntu22.04-py3.11"
    base = [] if PYTHON_LINE == "3.11" else ["--base-image", image]
    run = export(
        workspace, "containerfile", "--wheelhouse", "wheelhouse", "--output", str(path), *base
    )
    assert (run.status, run.stderr) == (0, "")
    text = path.read_text()
    assert steps(text, "ARG") == [f"BASE={image}", "LOCK=locks/demo/here"]
    assert steps(text, "COPY") == [
        "${LOCK}/ /opt/ascend-lock/",
        "wheelhouse/ /wheelhouse/",
        "--from=install /opt/ascend-lock /opt/ascend-lock",
    ]
    built = index.add_wheel("base", "1.0")
    (workspace.root / "wheelhouse").mkdir()
    (workspace.root / "wheelhouse" / built.filename).write_bytes(built.content)
    index.clear()
    inside = workspace.root / "inside"
    shutil.copytree(workspace.root / "locks" / "demo" / "here", inside / "opt" / "ascend-lock")
    (inside / "cann").mkdir()
    (inside / "cann" / "set_env.sh").write_text(f"export ASCEND_HOME_PATH={inside}/cann\n")
    record = (
        inside / "cann" / f"{PLATFORM.removeprefix('linux-')}-linux" / "ascend_toolkit_install.info"
    )
    record.parent.mkdir()
    record.write_text("version=8.5.0\n")
    venv, command = steps(text, "RUN")
    assert venv == f"python{PYTHON_LINE} -I -m venv /opt/ascend-lock/env"
    make_environment(inside / "opt" / "ascend-lock" / "env")

    def moved(words: str) -> list[str]:
        found: list[str] = json.loads(words)
        there = [word.replace("/wheelhouse", str(workspace.root / "wheelhouse")) for word in found]
        return [
            word.replace("/opt/ascend-lock", str(inside / "opt" / "ascend-lock")) for word in there
        ]

    told = {
        "ASCEND_LOCK_ROOT": str(inside),
        "ASCEND_LOCK_NNAL": "",
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple/",
    }
    done = execute(workspace, moved(command), **told)
    assert (done.status, done.stderr) == (0, "")
    assert index.requests == []
    (entry,) = steps(text, "ENTRYPOINT")
    program = [
        "python",
        "-c",
        "import os, sys, base; print(sys.prefix, os.environ['QUIET'], sys.argv[1])",
        "a b",
    ]
    done = execute(workspace, [*moved(entry), *program], **told)
    assert (done.status, done.stdout) == (0, "<root>/inside/opt/ascend-lock/env it's $HOME a b\n")


def test_a_target_without_a_known_image_needs_one_by_name(workspace: Workspace) -> None:
    shutil.copy(REPOSITORY / "matrices" / "images.toml", workspace.matrices)
    workspace.serve("base 1.0")
    workspace.locked_stack(
        "base", target=HERE + '[target.system]\ncann = "8.3.RC2"\nhdk = "25.5.0"\nsoc = "A5"\n'
    )
    run = export(workspace, "containerfile")
    tags = (
        f"{chip}-{system}"
        for chip in ("310p", "910b", "a3")
        for system in ("ubuntu22.04", "openeuler24.03")
    )
    known = ", ".join(f"quay.io/ascend/cann:8.3.rc2-{tag}-py3.11" for tag in tags)
    assert (run.status, run.error) == (2, "no base image is known for here")
    assert f"\n  with CANN 8.3.RC2 it has {known}\n" in run.stderr
    image = f"registry.test/own@sha256:{'0' * 64}"
    run = export(workspace, "containerfile", "--base-image", image)
    assert run.status == 0
    assert "install.sh --skip-system-checks" in run.stdout
    for name in ("dockerfile", "docker", "Dockerfile"):
        assert export(workspace, name, "--base-image", image).stdout == run.stdout
    output = ("--base-image", image, "-o", "Dockerfile")
    assert export(workspace, "dockerfile", *output).status == 0
    text = (workspace.root / "Dockerfile").read_text()
    for tool in ("podman", "docker"):
        assert f"#   {tool} build --platform linux/" in text
    assert text.count(" -f Dockerfile -t demo .\n") == 2
    chinese = export(workspace, "dockerfile", "--base-image", image, "--lang", "zh").stdout
    own = [line for line in chinese.splitlines() if line.startswith("# ")]
    assert own[0] == "# demo，目标 here：a stack of tests"
    assert all(re.search("[\u4e00-\u9fff]", line) for line in own if "build" not in line)
    assert steps(run.stdout, "ARG") == [f"BASE={image}", "LOCK=locks/demo/here", "PIP_INDEX_URL"]
    target = '[target]\npython = "3.10"\nplatform = "linux-aarch64"\nglibc = "2.35"\n'
    workspace.locked_stack(
        "base", name="old", target=f'{target}[target.system]\ncann = "8.3.RC1"\nsoc = "A2"\n'
    )
    run = workspace.run("export", "old", "--format", "containerfile")
    nearest = "quay.io/ascend/cann:8.3.rc1-910b-ubuntu22.04-py3.11"
    assert (
        f"  the nearest is {nearest}, which matches the lock except that it has Python 3.11\n"
        in run.stderr
    )


# --- where it goes


def test_an_export_that_cannot_be_written_leaves_the_file_before(locked: Workspace) -> None:
    path = locked.root / "Containerfile"
    path.write_text("FROM what/was:before\n")
    before = tree(locked.root)
    run = limited(locked, 100, "export", "demo", "--format", "containerfile", "--output", path.name)
    assert (run.status, run.error) == (2, "the export could not be written")
    assert "\n  at Containerfile\n  File too large\n" in run.stderr
    assert tree(locked.root) == before


def test_an_export_keeps_a_link_and_the_permissions(locked: Workspace) -> None:
    path, link = locked.root / "shared", locked.root / "Containerfile"
    path.write_text("FROM what/was:before\n")
    path.chmod(0o640)
    link.symlink_to("shared")
    assert (
        locked.run("export", "demo", "--format", "containerfile", "--output", link.name).status == 0
    )
    assert link.is_symlink()
    assert path.read_text().startswith("#")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_export_goes_into_a_pipe(locked: Workspace) -> None:
    command = f"{COMMAND} export demo --format containerfile"
    to_pipe = execute(locked, ["bash", "-c", f"{command} --output >(cat >&2) >/dev/null; wait $!"])
    assert to_pipe.stderr == locked.run(*command.split()[1:]).stdout


def test_export_overwrites_only_what_exports_wrote(workspace: Workspace) -> None:
    """A playbook of somebody stays, and so do defaults that were edited."""
    workspace.serve("base 1.0", "base 2.0")
    workspace.locked_stack("base==1.0", target=HERE)
    folder = workspace.root / "book"
    folder.mkdir()
    site = folder / "site.yml"
    site.write_text("- hosts: mine\n")
    export = ("export", "demo", "--format", "ansible", "-o", "book")
    run = workspace.run(*export)
    assert (run.status, run.error) == (
        2,
        "no export wrote these files, or they were edited since",
    )
    assert "site.yml" in run.stderr
    assert [path.name for path in folder.iterdir()] == ["site.yml"]
    assert site.read_text() == "- hosts: mine\n"

    run = workspace.run(*export, "--force")
    assert run.status == 0
    command = "ansible-playbook -i INVENTORY --become book/site.yml"
    assert f"Next: {command} -e ascend_lock_bundle=$PWD/bundle --check;" in run.stdout
    assert command in (REPOSITORY / "docs/cluster.md").read_text().replace("FOLDER", "book")
    assert workspace.run(*export).status == 0
    before = tree(folder)
    workspace.locked_stack("base==2.0", target=HERE)
    assert workspace.run(*export).status == 0
    assert tree(folder) != before

    defaults = folder / "roles/ascend_lock/defaults/main.yml"
    defaults.write_text(defaults.read_text() + "ascend_lock_dir: /mine\n")
    run = workspace.run(*export)
    assert run.status == 2
    assert "roles/ascend_lock/defaults/main.yml" in run.stderr
    assert defaults.read_text().endswith("/mine\n")


def test_export_removes_what_the_next_lock_has_not(workspace: Workspace) -> None:
    """Or the nodes would get a stage of the lock before."""
    workspace.serve("base 1.0")
    workspace.locked_stack("base==1.0", target=HERE)
    export = ("export", "demo", "--format", "ansible", "-o", "book")
    assert workspace.run(*export).status == 0
    note = workspace.root / "book/.ascend-lock-export.json"
    old = "roles/ascend_lock/files/lock/stages/99-old.txt"
    (workspace.root / "book" / old).write_text("old")
    written = json.loads(note.read_text())
    written["files"][old] = [hashlib.sha256(b"old").hexdigest()]
    note.write_text(json.dumps(written))
    assert workspace.run(*export).status == 0
    assert not (workspace.root / "book" / old).exists()
