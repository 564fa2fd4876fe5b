"""User and password of an index, of a proxy, of ~/.netrc: used where they belong, and found nowhere."""

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
    """What of all that is in some bytes."""
    return [form for form in FORMS if form.encode() in content]


def test_credentials_go_where_they_belong_and_are_found_nowhere(scene: Scene) -> None:
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

    told = (workspace.matrices / "indexes.toml").read_text()
    (workspace.matrices / "indexes.toml").write_text(told.replace(TOKEN, "another"))
    run(
        "check", "demo", code=0
    )  # so the digest of the inputs, which is in the lock, tells nothing of a password
    (workspace.matrices / "indexes.toml").write_text(told)
    run("bundle", "demo", "bundle", code=0)
    run("export", "demo", "--format", "pylock", "--output", "pylock.toml", code=0)
    run("export", "demo", "--format", "sbom", "--output", "sbom.json", code=0)
    run("snapshot", "demo", code=0)
    # elsewhere, the file's own host is told what ~/.netrc has for it, and nothing of the index
    index.clear()
    index.fault(
        "/files/*/demo-2.0*.metadata",
        lambda _: Response(302, b"", {"Location": ELSEWHERE}),
        times=1,
    )
    workspace.forget()
    run("lock", "demo", code=0)
    others = {
        (one.host, one.sent.get("authorization", ""))
        for one in index.requests
        if "files" in one.host
    }
    assert others == {("files.example:443", f"Basic {basic(NETRC, ENTRY)}")}
    # and where it fails
    for number, fault in enumerate(
        (status(401), status(503), lambda _: Response(200, b"<html>no"))
    ):
        workspace.forget()
        index.fault("/simple/*/demo/", fault, times=4 if number == 1 else 1)
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
    given = {workspace.root / "netrc", workspace.matrices / "indexes.toml"}
    files = [
        path for path in scene.workspace.root.rglob("*") if path.is_file() and path not in given
    ]
    assert {"cache", "locks", "bundle", "snapshots"} <= {
        path.relative_to(workspace.root).parts[0] for path in files
    }
    assert {str(path): found(path.read_bytes()) for path in files if found(path.read_bytes())} == {}
    pages = b"".join(unpacked(workspace.cache))
    assert (b"demo-2.0" in pages, found(pages)) == (True, [])
    assert all(found(path.read_bytes()) for path in given)  # what is looked for can be found
