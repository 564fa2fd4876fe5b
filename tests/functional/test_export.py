"""Exports, read by the tools that they are for: pip, uv, CycloneDX's schema, bash."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli

from tests.functional.conftest import Setup
from tests.functional.machine import execute, installed, make_environment
from tests.functional.sources import add_backend, add_source
from tests.functional.sources import tree as tree_of
from tests.functional.workspace import HERE, PLATFORM, PYTHON_LINE, REPOSITORY, Run, Workspace, tree
from tests.loopback import LoopbackIndex
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
    index.add_wheel("base", "1.0")
    index.add_wheel("top", "1.0", requires=["base", "absent"])


def everything(workspace: Workspace, index: LoopbackIndex) -> None:
    serve(index)
    workspace.facts("here", FACTS)
    workspace.facts("top", '[[replaces]]\nid = "no-absent"\ndrop = ["absent"]\nreason = "it is never imported"\n')
    workspace.stack("apart", "here", "top", target=HERE + CANN, more='[check]\nimports = ["top"]\n')


def wheels_alone(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("base", "1.0")
    workspace.facts("base", FACTS.partition("\n\n")[2])
    workspace.stack("base", target=HERE + CANN)


@pytest.fixture
def locked(workspace: Workspace, index: LoopbackIndex, begin_with: Callable[[Setup], None]) -> Workspace:
    begin_with(everything)
    shutil.copy(REPOSITORY / "matrices" / "images.toml", workspace.matrices)
    return workspace


def export(workspace: Workspace, form: str, *arguments: str, **environment: str) -> Run:
    return workspace.run("export", "demo", "--format", form, *arguments, **environment)


# --- pylock.toml

NOTES = (
    "warning: pylock.toml leaves out here 1.0: built from source in the environment itself, which the format cannot "
    "express; install.sh installs it\n"
    "warning: apart 1.0: source archives, which an installer builds with unpinned tools that it downloads; install.sh "
    "builds them with the tools pinned in the lock\n"
    "warning: facts remove requirements stated in metadata: install with --no-deps, see report.md\n"
)


def test_a_name_that_installers_do_not_know_is_told(locked: Workspace) -> None:
    """PEP 751: they read anything else as a list of requirements."""
    for name in ("pylock.toml", "pylock.node.toml"):
        assert "do not recognise" not in export(locked, "pylock", "--output", name).stderr
    run = export(locked, "pylock", "--output", "my-lock.toml")
    assert (run.status, run.stdout) == (0, "Written to my-lock.toml\n")
    assert run.stderr == NOTES + (
        "warning: pip and uv do not recognise my-lock.toml as a pylock.toml: "
        "name it `pylock.toml` or `pylock.NAME.toml`\n"
    )
    assert "do not recognise" not in export(locked, "pylock", "--output", "/dev/null").stderr


def test_pip_and_uv_install_a_pylock_and_no_other_bytes(locked: Workspace, index: LoopbackIndex) -> None:
    before = tree(locked.locks)
    run = export(locked, "pylock", "--output", "pylock.toml")
    assert (run.status, run.stdout, run.stderr) == (0, "Written to pylock.toml\n", NOTES)
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


def test_a_pylock_is_for_its_target_alone_and_holds_no_credentials(locked: Workspace, index: LoopbackIndex) -> None:
    run = export(locked, "pylock", PIP_INDEX_URL=index.url.replace("://", "://user:secret@"))
    assert (run.status, run.stderr) == (0, NOTES)
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
        "ascend-lock": {"stack": "demo", "target": "here", "inputs": inputs, "left-out": ["here==1.0"]}
    }
    packages = {package["name"]: package for package in content["packages"]}
    assert packages["top"]["dependencies"] == [{"name": "base"}]
    assert packages["apart"]["sdist"]["name"] == "apart-1.0.tar.gz"
    text = run.stdout.replace(f'python_version == \\"{PYTHON_LINE}\\"', 'python_version == \\"3.5\\"')
    (locked.root / "pylock.toml").write_text(text.replace("<server>", index.url.partition("/simple")[0]))
    done = execute(locked, [sys.executable, "-m", "pip", "install", "--dry-run", "-r", "pylock.toml"])
    assert done.status != 0
    assert "environment does not satisfy any of the environments specified in the lock file" in done.stderr


@pytest.fixture
def from_git(workspace: Workspace, index: LoopbackIndex) -> tuple[Workspace, str]:
    """A lock with a project from a commit, which is named, and one that must be absent."""
    serve(index)
    own = Repository(workspace.root / "own")
    commit = own.commit({f"lib/{path}": text for path, text in tree_of("own", "1.0").items()})
    workspace.facts(
        "own",
        f"""
        [[sources]]
        git = "{own.url}"
        commit = "{commit}"
        subdirectory = "lib"
        version = "1.0"
        requires = ["base"]
        build-requires = []
        editable = true
        reason = "a guide names it"
        """,
    )
    more = '[[absent]]\npackage = "gone"\nreason = "the guide removes it"\n'
    workspace.stack(f"own @ git+{own.url}@{commit}#subdirectory=lib", target=HERE, more=more)
    workspace.locked()
    return workspace, commit


def test_what_comes_from_git_is_left_out_and_told_so_that_pip_takes_the_rest(from_git: tuple[Workspace, str]) -> None:
    workspace, _ = from_git
    run = export(workspace, "pylock", "--output", "pylock.toml")
    assert (run.status, run.stderr) == (
        0,
        (
            "warning: pylock.toml leaves out own 1.0: from git, which pip does not accept together with hashed "
            "files; install.sh installs it\n"
        ),
    )
    text = (workspace.root / "pylock.toml").read_text()
    assert "# Not included, because the format cannot say how they are built (install.sh builds them): own\n" in text
    assert tomli.loads(text)["tool"]["ascend-lock"]["left-out"] == ["own==1.0"]
    pip = make_environment(workspace.root / "env")
    done = execute(workspace, [str(pip), "-m", "pip", "install", "--no-deps", "-r", "pylock.toml"])
    assert done.status == 0, done.stderr
    assert installed(pip) == {"base": "1.0"}


def test_a_file_that_is_gone_is_an_error(locked: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("base", "1.0", files={"base.py": "other = True\n"})
    run = export(locked, "pylock", "--output", "pylock.toml")
    assert (run.status, run.stdout, run.stderr) == (
        3,
        "",
        (
            "error: index `pypi` no longer offers base-1.0-py3-none-any.whl with the hash in the lock\n"
            "hint: lock again, or ask the maintainers why the file changed\n"
        ),
    )
    assert not (locked.root / "pylock.toml").exists()


def test_what_cannot_be_exported_is_told(locked: Workspace, index: LoopbackIndex) -> None:
    run = export(locked, "sbom", "--output", "nowhere/sbom.json")
    assert run.stderr == (
        "error: the export could not be written\n"
        "  at nowhere/sbom.json\n"
        "  No such file or directory\n"
        "hint: name another file with --output\n"
    )
    assert run.status == 2
    run = export(locked, "sbom", "--target", "there")
    assert (run.status, run.stderr) == (2, "error: demo has no target `there`\nhint: its targets are here\n")
    locked.stack("base", name="other", target=HERE.replace("[target]", "[[target]]") * 2)
    path = locked.matrices / "stacks" / "other.toml"
    path.write_text(path.read_text()[::-1].replace('"ereh"', '"too"', 1)[::-1])
    run = locked.run("export", "other", "--format", "sbom")
    assert (run.status, run.stderr) == (
        2,
        "error: other has several targets\nhint: choose one with --target: here, oot\n",
    )
    run = locked.run("export", "other", "--format", "sbom", "--target", "oot")
    assert (run.status, run.stderr) == (4, "error: other has no lock for oot\nhint: ascend-lock lock other\n")


# --- SBOM


def test_the_sbom_is_valid_complete_and_always_the_same(locked: Workspace) -> None:
    runs = [export(locked, "sbom", PYTHONHASHSEED=seed, PIP_INDEX_URL="http://127.0.0.1:9/") for seed in "12"]
    assert {(run.status, run.stderr, run.stdout) for run in runs} == {(0, "", runs[0].stdout)}
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator  # two seconds of grammars, which every worker would pay

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(runs[0].stdout) is None
    told = runs[0].json
    assert "timestamp" not in told["metadata"]
    components = {component["bom-ref"]: component for component in told["components"]}
    assert set(components) == {
        *(f"pkg:pypi/{name}@1.0" for name in ("apart", "base", "here", "tinybuild", "top")),
        "build:pkg:pypi/tinybuild@1.0",
        *(f"system:{name}" for name in ("cann", "soc", "python", "glibc")),
    }
    assert components["build:pkg:pypi/tinybuild@1.0"]["scope"] == "excluded"
    assert (components["system:cann"]["type"], components["system:cann"]["version"]) == ("platform", "8.5.0.B160")
    (pin,) = [pin for pin in locked.content()["pin"] if pin["name"] == "top"]
    assert components["pkg:pypi/top@1.0"]["hashes"] == [{"alg": "SHA-256", "content": pin["file"][0]["sha256"]}]
    graph = {row["ref"]: row.get("dependsOn", []) for row in told["dependencies"]}
    assert graph["pkg:pypi/top@1.0"] == ["pkg:pypi/base@1.0"]
    assert set(graph["stack:demo"]) == {
        *(f"pkg:pypi/{name}@1.0" for name in ("apart", "here", "top")),
        *(f"system:{name}" for name in ("cann", "soc", "python", "glibc")),
    }
    root = {row["name"]: row["value"] for row in told["metadata"]["component"]["properties"]}
    assert root["ascend-lock:fact:quiet"] == (
        "it talks too much (vendor; a test; checked 2026-11-20; matrices/facts/here.toml:13)"
    )
    assert root["ascend-lock:override:top"] == "absent taken out of top 1.0 by no-absent"
    assert root["ascend-lock:environment:QUIET"] == "it's $HOME"


def test_in_an_sbom_what_comes_from_git_is_its_commit_and_no_project_of_an_index(
    from_git: tuple[Workspace, str],
) -> None:
    workspace, commit = from_git
    run = export(workspace, "sbom")
    assert (run.status, run.stderr) == (0, "")
    (own,) = [component for component in run.json["components"] if component["name"] == "own"]
    assert own["purl"] == f"pkg:generic/own@1.0?vcs_url=git%2Bfile://<root>/own%40{commit}#lib"
    assert [(one["type"], one["url"]) for one in own["externalReferences"]] == [("vcs", "file://<root>/own")]
    told = [(row["name"].removeprefix("ascend-lock:"), row["value"]) for row in own["properties"]]
    assert told[:3] == [("git-commit", commit), ("git-treatment", "editable"), ("mode", "built-apart")]
    assert "index" not in dict(told)
    root = {row["name"]: row["value"] for row in run.json["metadata"]["component"]["properties"]}
    assert root["ascend-lock:absent:gone"] == "the guide removes it (matrices/stacks/demo.toml:12)"
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    assert (
        JsonStrictValidator(SchemaVersion.V1_6).validate_str(run.stdout.replace("<root>", str(workspace.root))) is None
    )


def test_without_the_library_of_sboms_it_is_told(locked: Workspace) -> None:
    code = "import sys; sys.modules['cyclonedx'] = None; from resolver.cli import main; main()"
    run = execute(locked, [sys.executable, "-c", code, "export", "demo", "--format", "sbom"])
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr.startswith("error: an SBOM needs cyclonedx-python-lib\n")
    assert run.stderr.endswith("hint: pip install 'ascend-lock[sbom]'\n")


def test_another_lock_has_another_serial_number(locked: Workspace) -> None:
    first = export(locked, "sbom").json["serialNumber"]
    path = locked.folder() / "lock.toml"
    path.write_text(path.read_text().replace("it talks too much", "it talks a lot"))
    assert export(locked, "sbom").json["serialNumber"] != first


# --- Containerfile


def steps(text: str, name: str) -> list[str]:
    """What follows an instruction, each time that it occurs, continued lines joined."""
    joined = text.replace("\\\n", " ")
    return [line.removeprefix(f"{name} ") for line in joined.splitlines() if line.startswith(f"{name} ")]


@pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")
def test_the_steps_of_the_containerfile_install_the_lock_without_network(
    workspace: Workspace, index: LoopbackIndex, begin_with: Callable[[Setup], None]
) -> None:
    """No container engine: its steps are done here, below another root."""
    begin_with(wheels_alone)
    shutil.copy(REPOSITORY / "matrices" / "images.toml", workspace.matrices)
    path = workspace.root / "Containerfile"
    image = "quay.io/ascend/cann:8.5.0-910b-ubuntu22.04-py3.11"
    base = [] if PYTHON_LINE == "3.11" else ["--base-image", image]
    run = export(workspace, "containerfile", "--wheelhouse", "wheelhouse", "--output", str(path), *base)
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
    record = inside / "cann" / f"{PLATFORM.removeprefix('linux-')}-linux" / "ascend_toolkit_install.info"
    record.parent.mkdir()
    record.write_text("version=8.5.0\n")
    venv, command = steps(text, "RUN")
    assert venv == f"python{PYTHON_LINE} -m venv /opt/ascend-lock/env"
    make_environment(inside / "opt" / "ascend-lock" / "env")

    def moved(words: str) -> list[str]:
        found: list[str] = json.loads(words)
        there = [word.replace("/wheelhouse", str(workspace.root / "wheelhouse")) for word in found]
        return [word.replace("/opt/ascend-lock", str(inside / "opt" / "ascend-lock")) for word in there]

    told = {"ASCEND_LOCK_ROOT": str(inside), "ASCEND_LOCK_NNAL": "", "PIP_INDEX_URL": "http://127.0.0.1:9/simple/"}
    done = execute(workspace, moved(command), **told)
    assert (done.status, done.stderr) == (0, "")
    assert index.requests == []
    (entry,) = steps(text, "ENTRYPOINT")
    program = ["python", "-c", "import os, sys, base; print(sys.prefix, os.environ['QUIET'], sys.argv[1])", "a b"]
    done = execute(workspace, [*moved(entry), *program], **told)
    assert (done.status, done.stdout) == (0, "<root>/inside/opt/ascend-lock/env it's $HOME a b\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--wheelhouse", "../elsewhere"],
            "error: `../elsewhere` is not inside the build's context\n  at --wheelhouse\n",
        ),
        (
            ["--base-image", "x\nRUN evil"],
            "error: `x\\nRUN evil` cannot be used in a Containerfile\n  at --base-image\n",
        ),
    ],
)
def test_what_would_break_the_containerfile_is_refused(locked: Workspace, arguments: list[str], message: str) -> None:
    base = ["--base-image", "quay.io/ascend/cann:tag"] if "--base-image" not in arguments else []
    run = export(locked, "containerfile", *base, *arguments)
    assert (run.status, run.stdout) == (2, "")
    assert run.stderr.startswith(message)


def test_a_target_without_a_known_image_needs_one_by_name(workspace: Workspace, index: LoopbackIndex) -> None:
    shutil.copy(REPOSITORY / "matrices" / "images.toml", workspace.matrices)
    index.add_wheel("base", "1.0")
    workspace.stack("base", target=HERE + '[target.system]\ncann = "8.3.RC2"\nhdk = "25.5.0"\nsoc = "310P"\n')
    workspace.locked()
    run = export(workspace, "containerfile")
    known = ", ".join(f"quay.io/ascend/cann:8.3.rc2-{one}-ubuntu22.04-py3.11" for one in ("910b", "a3"))
    told = (
        f"error: no base image is known for here\n  at matrices/images.toml\n  with CANN 8.3.RC2 it has {known}\nhint: "
    )
    assert (run.status, run.stderr.partition("hint: ")[0] + "hint: ") == (2, told)
    run = export(workspace, "containerfile", "--base-image", "registry.test/own@sha256:" + "0" * 64)
    assert run.status == 0
    assert "install.sh --skip-system-checks" in run.stdout
    assert steps(run.stdout, "ARG") == [
        f"BASE=registry.test/own@sha256:{'0' * 64}",
        "LOCK=locks/demo/here",
        "PIP_INDEX_URL",
    ]


def test_a_target_whose_image_has_another_python_is_told_it(workspace: Workspace, index: LoopbackIndex) -> None:
    shutil.copy(REPOSITORY / "matrices" / "images.toml", workspace.matrices)
    index.add_wheel("base", "1.0", tags="py3-none-any")
    target = '[target]\npython = "3.10"\nplatform = "linux-aarch64"\nglibc = "2.35"\n'
    workspace.stack("base", target=f'{target}[target.system]\ncann = "8.3.RC1"\nsoc = "A2"\n')
    workspace.locked()
    run = export(workspace, "containerfile")
    assert run.status == 2
    nearest = "quay.io/ascend/cann:8.3.rc1-910b-ubuntu22.04-py3.11"
    assert f"  the nearest is {nearest}, which matches the lock except that it has Python 3.11\nhint: " in run.stderr


def test_a_pipe_gets_the_text_and_stays_a_pipe(locked: Workspace) -> None:
    pipe = locked.root / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert export(locked, "pylock", "--output", "pipe").status == 0
        assert os.read(reader, 1 << 16).startswith(b"# demo for here")
    finally:
        os.close(reader)
    assert pipe.is_fifo()
