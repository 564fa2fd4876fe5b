"""A bundle as an index: pip, uv and ascend-lock use it through a plain web server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from resolver.report.index_pages import IndexedFile, index_pages
from tests.functional.machine import execute, installed, make_environment
from tests.functional.sources import add_backend, add_source
from tests.functional.workspace import HERE, Workspace
from tests.loopback import LoopbackIndex


class Served(NamedTuple):
    """A web server for a bundle."""

    # The address of its index.
    address: str
    # The paths that it was asked for.
    requested: list[str]


@pytest.fixture
def bundled(workspace: Workspace, index: LoopbackIndex) -> Workspace:
    """A bundle of two wheels and an archive, with the pages of an index."""
    index.add_wheel("Top.Project", "1.0", requires=["base>=1"], requires_python=">=3.8,!=3.8.1")
    index.add_wheel("base", "1.0+local.1")
    add_backend(index)
    add_source(index, "apart", "1.0")
    workspace.locked_before("top-project", "apart", target=HERE)
    run = workspace.run("bundle", "demo", "out", "--index")
    assert (run.status, run.stderr) == (0, "")
    return workspace


@pytest.fixture
def served(bundled: Workspace) -> Iterator[Served]:
    requested: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            requested.append(self.path)

    handler = partial(Handler, directory=str(bundled.root / "out"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield Served(f"http://127.0.0.1:{server.server_address[1]}/simple/", requested)
        server.shutdown()
        thread.join()


def test_bundle_index_serves_pip(bundled: Workspace, served: Served) -> None:
    python = make_environment(bundled.root / "env")
    command = [
        str(python),
        "-I",
        "-m",
        "pip",
        "install",
        "--index-url",
        served.address,
        "top.project",
    ]
    run = execute(bundled, command)
    assert run.status == 0, run.stderr
    assert installed(python) == {"Top.Project": "1.0", "base": "1.0+local.1"}


def test_bundle_index_serves_uv(bundled: Workspace, served: Served) -> None:
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "pip", "compile", "--no-config", "--no-cache", "--generate-hashes"]
    command += ["--no-header", "--no-annotate", "--index-url", served.address, "-"]
    done = subprocess.run(
        command, input="top-project\nbase\n", text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    pins = [line.split()[0] for line in done.stdout.splitlines() if "==" in line]
    assert pins == ["base==1.0+local.1", "top-project==1.0"]
    assert done.stdout.count("--hash=sha256:") == 2


def test_bundle_index_serves_this_program(bundled: Workspace, served: Served) -> None:
    before = bundled.pins()
    run = bundled.run("lock", "demo", "--anew", PIP_INDEX_URL=served.address)
    assert run.status == 0, run.stderr
    assert bundled.pins() == before
    assert "/Top_Project-1.0-py3-none-any.whl.metadata" in served.requested
    assert "/Top_Project-1.0-py3-none-any.whl" not in served.requested


def test_bundle_index_is_kept_and_checked(bundled: Workspace) -> None:
    out = bundled.root / "out"
    page = out / "simple" / "base" / "index.html"
    before = page.read_text()
    assert bundled.run("bundle", "demo", "out", "--prune").status == 0
    assert page.read_text() == before, "what is an index stays one"
    assert bundled.run("bundle", "--check", "out").status == 0
    page.write_text(before.replace("base", "evil"))
    assert bundled.run("bundle", "--check", "out").status == 4


def test_bundle_index_pages_say_what_the_standards_ask(bundled: Workspace) -> None:
    out = bundled.root / "out"
    page = json.loads((out / "simple" / "top-project" / "index.json").read_text())
    assert (page["meta"], page["name"], page["versions"]) == (
        {"api-version": "1.1"},
        "top-project",
        ["1.0"],
    )
    (file,) = page["files"]
    assert file["requires-python"] == ">=3.8,!=3.8.1"
    assert file["size"] == (out / file["filename"]).stat().st_size
    assert file["url"] == f"../../{file['filename']}"
    metadata = (out / f"{file['filename']}.metadata").read_text()
    assert "Requires-Dist: base>=1\n" in metadata
    projects = json.loads((out / "simple" / "index.json").read_text())["projects"]
    names = [project["name"] for project in projects]
    assert names == ["apart", "base", "tinybuild", "top-project"]
    links = (out / "simple" / "base" / "index.html").read_text()
    assert 'href="../../base-1.0%2Blocal.1-py3-none-any.whl#sha256=' in links


def test_index_pages_escape_what_metadata_says() -> None:
    file = IndexedFile("a-1-py3-none-any.whl", "0" * 64, 1, "", '>=3"><script>')
    page = index_pages([file])["simple/a/index.html"]
    assert "<script>" not in page
    assert index_pages([IndexedFile("notes.txt", "0" * 64, 1, None)]).keys() == {
        "simple/index.html",
        "simple/index.json",
    }
