"""Credentials of an index, of a proxy, of ~/.netrc: used where they belong, and nowhere else."""

from __future__ import annotations

import base64
from urllib.parse import quote

from tests.cached import unpacked
from tests.functional.workspace import Run
from tests.hostile.scene import Scene
from tests.loopback import Response, status

USER, PASSWORD = "the-user", "pa/ss:w@rd"
VENDOR, TOKEN = "the-vendor", "t0k3n-of-it"
PROXY, SECRET = "the-proxy", "s3cret-of-it"
NETRC, ENTRY = "the-netrc", "entry-of-it"

INDEX = f"https://{USER}:{quote(PASSWORD, safe='')}@index.example/simple/pypi/"
ELSEWHERE = "https://files.example/files/pypi/demo-2.0-py3-none-any.whl.metadata"


def basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


FORMS = (
    *(USER, PASSWORD, quote(PASSWORD, safe=""), basic(USER, PASSWORD)),
    *(
        VENDOR,
        TOKEN,
        basic(VENDOR, TOKEN),
        PROXY,
        SECRET,
        basic(PROXY, SECRET),
        NETRC,
        ENTRY,
        basic(NETRC, ENTRY),
    ),
)


def found(content: bytes) -> list[str]:
    """Return the forms of the credentials that are in some bytes."""
    return [form for form in FORMS if form.encode() in content]


def test_credentials_are_found_nowhere_else(scene: Scene) -> None:
    index, workspace = scene.index, scene.workspace
    scene.workspace.index_url = INDEX
    scene.variables["HTTPS_PROXY"] = index.proxy.replace("://", f"://{PROXY}:{SECRET}@")
    scene.variables["NETRC"] = str(workspace.root / "netrc")
    (workspace.root / "netrc").write_text(f"machine files.example login {NETRC} password {ENTRY}\n")
    workspace.indexes(f"""
        [[index]]
        name = "vendor"
        url = "https://{VENDOR}:{TOKEN}@vendor.example/simple/vendor/"
        [[binding]]
        packages = ["chip"]
        indexes = ["vendor"]
    """)
    index.add_wheel("chip", "1.0", index="vendor", sha256=False)
    index.add_archive("source", "1.0", build_requires=["demo"])
    workspace.stack("demo>1", "chip", "source")
    runs = [
        ("lock", scene.lock(ASCEND_LOCK_DEBUG="1")),
        ("lock --json", scene.lock("--upgrade", "--json")),
    ]
    assert [run.status for _, run in runs] == [0, 0]
    sent = {(request.host, request.sent.get("authorization", "")) for request in index.requests}
    assert sent == {
        ("index.example:443", f"Basic {basic(USER, PASSWORD)}"),
        ("vendor.example:443", f"Basic {basic(VENDOR, TOKEN)}"),
    }

    def run(*arguments: str, code: int) -> Run:
        done = scene.run(*arguments)
        runs.append((" ".join(arguments), done))
        assert done.status == code, done
        return done

    # Another password does not change the digest of the inputs, which the lock has.
    indexes = workspace.matrices / "indexes.toml"
    indexes_text = indexes.read_text()
    indexes.write_text(indexes_text.replace(TOKEN, "another"))
    run("check", "demo", code=0)
    indexes.write_text(indexes_text)
    run("bundle", "demo", "bundle", code=0)
    run("export", "demo", "--format", "pylock", "--output", "pylock.toml", code=0)
    run("export", "demo", "--format", "sbom", "--output", "sbom.json", code=0)
    run("lock", "--record", "demo", code=0)
    # Another host of a file gets what ~/.netrc has for it, and nothing of the index.
    index.clear()
    index.fault(
        "/files/*/demo-2.0*.metadata",
        lambda _: Response(302, b"", {"Location": ELSEWHERE}),
        times=1,
    )
    workspace.forget()
    run("lock", "demo", code=0)
    sent_elsewhere = {
        (request.host, request.sent.get("authorization", ""))
        for request in index.requests
        if "files" in request.host
    }
    assert sent_elsewhere == {("files.example:443", f"Basic {basic(NETRC, ENTRY)}")}
    # Errors of the index. A 503 is requested again, three times.
    unreadable = Response(200, b"<html>no")
    for fault, times in ((status(401), 1), (status(503), 4), (lambda _: unreadable, 1)):
        workspace.forget()
        index.fault("/simple/*/demo/", fault, times=times)
        run("lock", "demo", code=3)
    workspace.stack("demo>2", "chip")
    run("explain", "demo", code=1)
    workspace.index_url = INDEX.replace("https:", "ftp:")
    run("lock", "demo", code=2)
    workspace.index_url = INDEX.replace("index.example", "index.example:port")
    run("lock", "demo", code=2)
    workspace.index_url = INDEX
    scene.variables["HTTPS_PROXY"] = f"http://{PROXY}:{SECRET}@127.0.0.1:9"
    run("lock", "demo", code=3)

    for name, done in runs:
        assert found(f"{done.stdout}{done.stderr}".encode()) == [], name
    _require_no_credentials_in_files(scene)


def _require_no_credentials_in_files(scene: Scene) -> None:
    """Assert that only the files that the user wrote have credentials in them."""
    root = scene.workspace.root
    given = {root / "netrc", scene.workspace.matrices / "indexes.toml"}
    folders = set()
    for path in root.rglob("*"):
        if path.is_file() and path not in given:
            folders.add(path.relative_to(root).parts[0])
            assert found(path.read_bytes()) == [], path
    assert {"cache", "locks", "bundle", "snapshots"} <= folders
    # Pages are compressed in the cache.
    pages = b"".join(unpacked(scene.workspace.cache))
    assert b"demo-2.0" in pages
    assert found(pages) == []
    # The search can find something.
    assert all(found(path.read_bytes()) for path in given)
