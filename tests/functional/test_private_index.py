"""An index with user and password, a company's proxy and authority, as README has it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.functional.workspace import Workspace, tree
from tests.hostile.certificates import server_context
from tests.loopback import LoopbackIndex, Response

HOST = "https://index.example/simple/pypi/"
WITH_PASSWORD = "https://reader:hunter2%21@index.example/simple/pypi/"
Way = Callable[[Workspace, LoopbackIndex, Path], dict[str, str]]
NETRC = "machine index.example login reader password hunter2!\n"


class Private(LoopbackIndex):
    """Answers who knows the password."""

    def answer(self, path: str, headers: Mapping[str, str]) -> Response:
        """See `LoopbackIndex`."""
        given = "Basic " + b64encode(b"reader:hunter2!").decode()
        return (
            super().answer(path, headers)
            if headers.get("authorization") == given
            else Response(401, b"")
        )


@pytest.fixture
def index(authority: Path) -> Iterator[LoopbackIndex]:
    with Private(tls=server_context(authority)) as served:
        served.add_wheel("demo", "1.0")
        yield served


def pip_conf(workspace: Workspace, *lines: str) -> None:
    folder = workspace.root / "home" / ".config" / "pip"
    folder.mkdir(parents=True)
    (folder / "pip.conf").write_text("\n".join(["[global]", *lines, ""]))


def all_of_pip(workspace: Workspace, authority: Path) -> dict[str, str]:
    pip_conf(
        workspace,
        f"index-url = {WITH_PASSWORD}",
        f"cert = {authority}",
        f"proxy = {workspace.index.proxy}",
    )
    return {"PIP_CONFIG_FILE": "", "PIP_INDEX_URL": ""}


def variables_and_netrc(workspace: Workspace, authority: Path) -> dict[str, str]:
    (workspace.root / "home" / ".netrc").write_text(NETRC)
    (workspace.root / "home" / ".netrc").chmod(0o600)
    return {
        "PIP_INDEX_URL": HOST,
        "HTTPS_PROXY": workspace.index.proxy,
        "SSL_CERT_FILE": str(authority),
    }


def netrc_elsewhere(workspace: Workspace, authority: Path) -> dict[str, str]:
    (workspace.root / "home" / "secrets").write_text(NETRC)
    pip_conf(workspace, f"index-url = {HOST}")
    return {
        "PIP_CONFIG_FILE": "",
        "PIP_INDEX_URL": "",
        "NETRC": "~/secrets",
        "https_proxy": workspace.index.proxy,
        "REQUESTS_CA_BUNDLE": str(authority),
    }


@pytest.mark.parametrize("way", [all_of_pip, variables_and_netrc, netrc_elsewhere])
def test_every_way_leads_to_the_same_lock(workspace: Workspace, authority: Path, way: Way) -> None:
    workspace.stack("demo")
    assert workspace.locked(**way(workspace, authority)).stderr == ""
    assert workspace.pins() == {"demo": "1.0"}
    assert workspace.content()["index"] == [{"name": "pypi"}]
    written = b"".join(content or b"" for content in tree(workspace.locks).values())
    assert b"hunter2" not in written
    assert b"index.example" not in written
