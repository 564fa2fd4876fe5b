"""Every attack of an index, with what the user sees of it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.builders import build_wheel, core_metadata
from tests.elf import elf
from tests.hostile.scene import Arrange, Attack, Scene, answer, both, page, rows
from tests.loopback import JSON, Fault, Response, delayed, reset, truncated

EVIL = (
    "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066<script>alert(1)</script>"
    "$(touch pwned)`touch pwned`\x9b31m|\n"
)
LONG = "x" * 100_000
DEMO = "/simple/pypi/demo/"
WHEEL = "/files/*/demo-2.0-py3-none-any.whl"
BESIDE = f"{WHEEL}.metadata"
MIB = 1 << 20


NO_PAGE = (
    "It links to no file and does not declare itself an index page; a proxy may have answered."
)


def unreachable(why: str, tries: int = 4) -> str:
    return f"{why} (through the proxy <server>, {tries} {'try' if tries == 1 else 'tries'})."


def body(content: bytes, kind: str = JSON, **headers: str) -> Response:
    return Response(200, content, {"Content-Type": kind, **headers})


def sends(content: bytes, kind: str = JSON, **headers: str) -> Arrange:
    return answer(DEMO, body(content, kind, **headers))


def bomb(size: int) -> bytes:
    """So many MiB of nothing, packed by gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    piece = packer.compress(bytes(MIB)) + packer.flush(
        zlib.Z_FULL_FLUSH
    )  # it refers to none before
    return gzip.compress(b"")[:10] + piece * size + packer.flush() + bytes(8)


def once(scene: Scene) -> None:
    scene.patience = scene.patience._replace(tries=1)
    scene.variables["PIP_TIMEOUT"] = "1"


def page_body(**more: Any) -> bytes:
    return json.dumps(
        {"meta": {"api-version": "1.1"}, "name": "demo", "files": [], **more}
    ).encode()


def too_long(mib: int) -> str:
    return f"The download was stopped after {mib} MiB."


def nested(levels: int) -> bytes:
    return (
        b'{"meta": {"api-version": "1.1"}, "name": "demo", "files": [], "x": '
        + b"[" * levels
        + b"]" * levels
        + b"}"
    )


def in_charset(charset: str, more: bytes = b"") -> Arrange:
    """Return the pages of the HTML form with this text."""
    sha256 = build_wheel("demo", "2.0").sha256.encode()
    link = (
        b'<!doctype html><a href="/files/pypi/demo-2.0-py3-none-any.whl#sha256='
        + sha256
        + b'">demo</a>'
    )
    return sends(link + more, f"text/html; charset={charset}")


SHOWN = EVIL.encode("unicode_escape").decode()  # what a terminal can take

PAGES = [
    Attack(
        "a page that comes byte by byte",
        both(once, answer(DEMO, replace(body(b"x" * 1000), pause=0.05))),
        unreachable("It sends less than 100 bytes a second", 1),
    ),
    Attack("a page without end", sends(b" " * (32 * MIB + 1)), too_long(32)),
    Attack(
        "a page that unpacks to 1 GiB",
        sends(bomb(1024), **{"Content-Encoding": "gzip"}),
        too_long(32),
    ),
    Attack(
        "a page that is packed 51 times",
        sends(b"x", **{"Content-Encoding": "gzip, " * 50 + "gzip"}),
        "`gzip, gzip, gzip, gzip, gzip, gzip, gzip` was not asked for.",
    ),
    Attack(
        "JSON of 1,000 levels",
        sends(nested(1000)),
        "It is not a JSON page of PEP 691: its values are nested too deeply.",
    ),
    Attack(
        "HTML of 300,000 levels",
        sends(b"<div>" * 300_000 + b"<p>", "text/html"),
        "It is neither JSON nor HTML.",
    ),
    Attack(
        "a page of 100,001 files",
        sends(page_body(files=[{}] * 100_001)),
        "It has more than 100000 files.",
    ),
    Attack(
        "a page whose files are a million numbers",
        sends(page_body(files=[0] * 1_000_000)),
        "It is not a JSON page of PEP 691: Expected `object`, got `int` - at `$.files[0]`.",
    ),
    Attack(
        "a page of 100,001 links",
        sends(b"<a >" * 100_001, "text/html"),
        "It has more than 100000 links.",
    ),
    Attack(
        "a link of 15 million attributes",
        sends(
            gzip.compress(b"<a " + b"a " * 15_000_000), "text/html", **{"Content-Encoding": "gzip"}
        ),
        "A tag of it is longer than 64 KiB.",
    ),
    Attack(
        "200 with a login page that has links",
        sends(
            b"<html><title>Login</title><a href='/'>Sign in</a> <a href='?lang=zh'>zh</a></html>",
            "text/html",
        ),
        NO_PAGE,
    ),
    Attack(
        "200 with an error in JSON",
        sends(b'{"error": "try later"}'),
        "It is not a JSON page of PEP 691: Object missing required field `meta`.",
    ),
    Attack(
        "a page for another project, with an evil name",
        page(lambda content: {**content, "name": EVIL}),
        f"It is a page for another project, `{SHOWN}`.",
    ),
    Attack(
        "an evil version of the API",
        page(lambda content: {**content, "meta": {"api-version": EVIL}}),
        f"Its API version is {SHOWN}; only version 1 is supported (PEP 629).",
    ),
    Attack(
        "a charset that nobody knows",
        sends(b"\xff\xfe", "text/html; charset=" + LONG[:1000]),
        "It is neither JSON nor HTML.",
    ),
    Attack("a charset that breaks its decoder", in_charset("idna")),
    Attack("a charset that makes what no text has", in_charset("unicode_escape", rb"\ud800")),
    Attack(
        "a charset that takes time as the square of the page",
        in_charset("punycode", b"a" * 300_000 + b"-" + b"z" * 300_000),
        seconds=3,
    ),
]

ANSWERS = [
    Attack("401", answer(DEMO, Response(401)), "It answered 401."),
    Attack("403", answer(DEMO, Response(403)), "It answered 403."),
    Attack(
        "404", answer(DEMO, Response(404)), "no index has a project `demo`  looked up on pypi", 1
    ),
    Attack(
        "429 with a Retry-After of a year",
        both(once, answer(DEMO, Response(429, b"", {"Retry-After": "31536000"}))),
        unreachable("It answered 429 Too Many Requests", 1),
    ),
    Attack(
        "500 every time",
        answer(DEMO, Response(500)),
        unreachable("It answered 500 Internal Server Error"),
    ),
    Attack(
        "503 with a Retry-After that is nonsense",
        answer(DEMO, Response(503, b"", {"Retry-After": "$(touch pwned)"})),
        unreachable("It answered 503 Service Unavailable"),
    ),
    Attack("503 three times, then the page", answer(DEMO, Response(503), times=3)),
    Attack(
        "a connection that is reset in the body, each time",
        lambda scene: scene.index.fault(DEMO, reset(50)),
        unreachable("Connection reset by peer"),
    ),
    Attack(
        "a connection that is reset in the body, twice",
        lambda scene: scene.index.fault(DEMO, reset(50), times=2),
    ),
    Attack(
        "a length that is too long",
        lambda scene: scene.index.fault(DEMO, truncated()),
        unreachable("It broke off its answer"),
    ),
    Attack(
        "a length that is too short",
        lambda scene: scene.index.fault(DEMO, lambda one: replace(one, declared=50)),
        "It is not a JSON page of PEP 691: Input data was truncated.",
    ),
    Attack(
        "an answer that never comes",
        both(once, lambda scene: scene.index.fault(DEMO, delayed(60))),
        unreachable("It stopped answering", 1),
    ),
]


def redirect(target: str) -> Arrange:
    return answer(DEMO, Response(302, b"", {"Location": target}), times=1)


LOCAL = (
    "It is an address on this machine or its local link; "
    "only an index on this machine may redirect there."
)
PLAIN = "Only https is allowed, and plain http only to this machine."

REDIRECTS = [
    Attack(
        "a redirect without end",
        answer(DEMO, Response(302, b"", {"Location": DEMO})),
        "There were more than 10 redirects.",
    ),
    Attack("a redirect to plain http", redirect("http://index.example/simple/pypi/demo/"), PLAIN),
    Attack(
        "a redirect to a file here",
        redirect("file:///etc/passwd"),
        "`file:///etc/passwd` has no host",
    ),
    Attack("a redirect to this machine", redirect("http://127.0.0.2:1/x"), LOCAL),
    Attack("a redirect to this machine, in hexadecimal", redirect("https://0x7f000001/"), LOCAL),
    Attack(
        "a redirect to the metadata address of a cloud",
        redirect("https://169.254.169.254/latest/"),
        LOCAL,
    ),
    Attack(
        "a redirect to a private address, with TLS",
        redirect("https://10.0.0.1/x"),
        unreachable(
            "Its certificate is not trusted: IP address mismatch, "
            "certificate is not valid for '10.0.0.1'",
            1,
        ),
    ),
    Attack("a redirect to an invalid address", redirect("https://[/"), "It cannot be read."),
    Attack("a redirect to a script", redirect("javascript:alert(1)"), "`…` has no host"),
    Attack(
        "a redirect to a port that is none",
        redirect("https://index.example:99999/"),
        "It cannot be read.",
    ),
    Attack("a redirect to a host in brackets", redirect("//[v1.x]/"), "It cannot be read."),
    Attack("a redirect to another host", redirect("https://vendor.example/simple/pypi/demo/")),
]


def proxy_alone(scene: Scene) -> None:
    scene.index.tls = None


PROXIES = [
    Attack(
        "a proxy that answers for all, with a certificate of its own",
        lambda scene: scene.variables.pop("SSL_CERT_FILE") and None,
        unreachable("Its certificate is not trusted: unable to get local issuer certificate", 1),
    ),
    Attack(
        "a proxy that answers for all, with a page",
        answer("*", body(b"<html><form>Log in</form></html>", "text/html")),
        NO_PAGE,
    ),
    Attack(
        "a proxy that lets nobody through",
        proxy_alone,
        unreachable("The proxy answered 405 Method Not Allowed"),
    ),
]


def hyphened(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in changes.items()}


def file(**changes: Any) -> Arrange:
    """List the newest file with other fields."""
    return rows(hyphened(changes))


def beside(**changes: Any) -> Arrange:
    """List the newest file, and another one that is odd."""
    return rows({}, {"filename": "demo-3.0-py3-none-any.whl", **hyphened(changes)})


def stack(requirement: str, more: str = "") -> Arrange:
    return lambda scene: scene.workspace.stack(requirement, more=more) and None


CUTOFF = stack("demo>1", "[policy]\nexclude-newer = 2026-11-20\n")
BEFORE = {"upload-time": "2026-01-01T00:00:00Z"}
NEVER = "9999-12-31T23:59:59-23:59"

LISTED = [
    Attack(
        "one name with two hashes",
        rows({}, {"hashes": {"sha256": "0" * 64}}),
        "demo 2.0 has no file for the target: demo-2.0-py3-none-any.whl is",
        1,
    ),
    Attack(
        "a host that is no IDNA",
        file(url="https://xn--a.example/x.whl"),
        "The address is not allowed.",
    ),
    Attack("a negative size", file(size=-1, core_metadata=False)),
    Attack(
        "a size that is too small",
        both(
            without_ranges := lambda scene: setattr(scene.index, "ranges", False),
            file(size=9, core_metadata=False),
        ),
        "The download was stopped after 9 bytes.",
    ),
    Attack("a size of 10^18 bytes", file(size=10**18, core_metadata=False)),
    Attack(
        "an address on this machine",
        file(url="http://127.0.0.2:1/demo-2.0-py3-none-any.whl"),
        "an address that an index must not point to",
        1,
    ),
    Attack("a file without TLS", file(url="http://files.example/a.whl"), PLAIN),
    Attack(
        "a file:// address",
        file(url="file:///etc/passwd"),
        "`file:///etc/passwd.metadata` has no host",
    ),
    Attack(
        "a file name of control characters", beside(filename=f"demo-3.0{EVIL}-py3-none-any.whl")
    ),
    Attack("a file name with a path", beside(filename="../demo-3.0-py3-none-any.whl")),
    Attack(
        "a file name of 100,000 characters", beside(filename=f"demo-3.0-{LONG}-py3-none-any.whl")
    ),
    Attack(
        "a file name of shell syntax", beside(filename="demo-3.0+$(touch pwned)-py3-none-any.whl")
    ),
    Attack("an archive with a space before its version", beside(filename="demo- 3.0.tar.gz")),
    Attack("a file name of HTML", beside(filename="demo-3.0+<script>-py3-none-any.whl")),
    Attack("an address of control characters", beside(url=f"/files/pypi/{EVIL}")),
    Attack("a version of 200 digits", beside(filename=f"demo-{'9' * 200}-py3-none-any.whl")),
    Attack(
        "yanked for a reason with control characters and shell syntax",
        both(stack("demo==2.0"), file(yanked=EVIL)),
    ),
    Attack(
        "yanked for a reason of 100,000 characters", both(stack("demo==2.0"), file(yanked=LONG))
    ),
    Attack("an invalid Requires-Python", beside(requires_python=EVIL)),
    Attack("Requires-Python of 5,000 digits", beside(requires_python=f">=3.{'9' * 5000}")),
    Attack("an upload in the future", file(upload_time=NEVER)),
    Attack(
        "an upload in the future, and a cut-off",
        both(CUTOFF, rows(BEFORE, {"filename": "demo-3.0-py3-none-any.whl", "upload-time": NEVER})),
    ),
    Attack(
        "upload times beyond the years of UTC, and a cut-off",
        both(CUTOFF, file(upload_time=NEVER)),
        "demo-2.0-py3-none-any.whl has no upload time to compare with the cut-off",
        1,
    ),
    Attack("a file of another project", beside(filename="torch-9.0-py3-none-any.whl")),
    Attack(
        "nothing but files of 2012",
        rows(
            {"filename": "demo-3.0-py2.7.egg"},
            {"filename": "demo-2004d.zip"},
            {"filename": "demo-2.0-py3-none-any.whl", "requires-python": ">=3.x"},
        ),
        "needs a different Python (Requires-Python `>=3.x` cannot be read)",
        1,
    ),
]


def named(content: bytes) -> Arrange:
    """Serve a `.metadata` file, with the sha256 that the page names."""
    hashes = {"sha256": hashlib.sha256(content).hexdigest()}
    return both(file(core_metadata=hashes), answer(BESIDE, Response(200, content)))


def metadata(*lines: str) -> Arrange:
    """One with further lines in it."""
    return named(
        core_metadata("demo", "2.0")[:-1] + "".join(f"{line}\n" for line in lines).encode()
    )


def wheel(members: Mapping[str, bytes]) -> Arrange:
    """Give the wheel these members, and no `.metadata` file beside it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return lambda scene: scene.index.add_file("demo", "demo-2.0-py3-none-any.whl", made.getvalue())


def archive(content: bytes) -> Arrange:
    return both(
        stack("demo==2.1"), lambda scene: scene.index.add_file("demo", "demo-2.1.tar.gz", content)
    )


def tar(**members: bytes | str) -> bytes:
    """List an archive of a PKG-INFO and these members: bytes, or the target of a link."""
    made = io.BytesIO()
    info = core_metadata("demo", "2.1", metadata_version="2.2")
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as archive:
        for name, content in {"demo-2.1/PKG-INFO": info, **members}.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                archive.addfile(member)
            else:
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def other_bytes(response: Response) -> Response:
    return replace(response, body=b"x" * len(response.body)) if response.status == 206 else response


def of_no_file(response: Response) -> Response:
    """Announce a range of more than there is."""
    return replace(
        response, headers={**response.headers, "Content-Range": "bytes 5-999999999999999999/9"}
    )


def fault(pattern: str, change: Fault) -> Arrange:
    return lambda scene: scene.index.fault(pattern, change)


def cannot_be_used(why: str) -> str:
    return f"demo 2.0 cannot be used: {why}"


def notes(requires: bytes) -> Arrange:
    """List a source archive of 2.1 without static metadata, with this requires.txt."""
    dynamic = core_metadata("demo", "2.1", metadata_version="2.2", dynamic=["Requires-Dist"])
    return archive(
        tar(**{"demo-2.1/PKG-INFO": dynamic, "demo-2.1/demo.egg-info/requires.txt": requires})
    )


WITHOUT = cannot_be_used("demo-2.1.tar.gz is a source archive").replace("2.0", "2.1")
MEMBERS = gzip.compress(tarfile.TarInfo("demo-2.1/x").tobuf(tarfile.GNU_FORMAT) * 1000) * 1000

FILES = [
    Attack(
        "a .metadata file with another hash",
        both(answer(BESIDE, Response(200, b"x"))),
        f"Its sha256 is {hashlib.sha256(b'x').hexdigest()}; the page says "
        f"{hashlib.sha256(core_metadata('demo', '2.0')).hexdigest()}.",
    ),
    Attack("a .metadata file of 17 MiB", answer(BESIDE, body(bytes(17 * MIB))), too_long(16)),
    Attack(
        "a .metadata file of an evil project",
        named(core_metadata(EVIL[:-1], "2.0")),
        f"It says {SHOWN[:-2]} 2.0; expected was demo 2.0.",
    ),
    Attack(
        "a .metadata file whose name has 15 million characters",
        named(core_metadata("//a" * 5_000_000, "2.0")),
        "It says … 2.0; expected was demo 2.0.",
    ),
    Attack(
        "an archive whose pyproject.toml has a name of 200,000 characters",
        archive(
            tar(
                **{
                    "demo-2.1/PKG-INFO": b"Metadata-Version: 2.1\nName: demo\nVersion: 2.1\n",
                    "demo-2.1/pyproject.toml": b'[project]\nname = "' + b"/" * 200_000 + b'"\n',
                }
            )
        ),
        WITHOUT,
        1,
    ),
    Attack("a missing .metadata file", answer(BESIDE, Response(404))),
    Attack(
        "an invalid requirement",
        metadata(f"Requires-Dist: {EVIL[:-1]}"),
        cannot_be_used("demo-2.0"),
        1,
    ),
    Attack(
        "a marker with a comparison that is not defined",
        metadata("Requires-Dist: x; os_name ~= 'posix'"),
        cannot_be_used("`x; os_name ~= 'posix'` in its metadata"),
        1,
    ),
    Attack(
        "a marker with a variable of lockfiles",
        metadata("Requires-Dist: x; 'gpu' in extras"),
        cannot_be_used("`x; 'gpu' in extras` in its metadata"),
        1,
    ),
    Attack(
        "an archive whose build requirement has a marker that is not defined",
        archive(
            tar(
                **{
                    "demo-2.1/pyproject.toml": b"[build-system]\n"
                    b"requires = [\"x; os_name ~= 'posix'\"]\n"
                }
            )
        ),
        "Undefined <Op('~=')> on 'posix' and 'posix'.",
        2,
    ),
    Attack(
        "an archive that is built with a requirement of 100,000 characters",
        archive(
            tar(
                **{
                    "demo-2.1/pyproject.toml": b'[build-system]\nrequires = ["'
                    + LONG.encode()
                    + b'"]'
                }
            )
        ),
        "it has 100000 characters",
        2,
    ),
    Attack(
        "a requirement of 100,000 characters",
        metadata(f"Requires-Dist: {LONG}"),
        "it has 100000 characters",
        1,
    ),
    Attack(
        "a requirement of a version of 5,000 digits",
        metadata(f"Requires-Dist: x>={'9' * 5000}"),
        "it has a number of more than 100",
        1,
    ),
    Attack(
        "100,000 requirements",
        metadata(*(f"Requires-Dist: x{n}" for n in range(100_000))),
        "has a header of more than 50000 lines",
        1,
    ),
    Attack(
        "an extra that needs itself",
        both(
            stack("demo[a]>1"),
            metadata("Provides-Extra: a", "Requires-Dist: demo[a]; extra == 'a'"),
        ),
    ),
    Attack("a requirement of itself", metadata("Requires-Dist: demo==2.0")),
    Attack(
        "a requirement of another release of itself",
        metadata("Requires-Dist: demo==1.0"),
        cannot_be_used("it needs `demo==1.0` of itself"),
        1,
    ),
    Attack(
        "a requirement with an address",
        metadata("Requires-Dist: x @ https://files.example/x.whl"),
        cannot_be_used("it needs `x @"),
        1,
    ),
    Attack(
        "ranges with the bytes of another file",
        both(file(core_metadata=False), fault(WHEEL, other_bytes)),
    ),
    Attack("ranges of no file", both(file(core_metadata=False), fault(WHEEL, of_no_file))),
    Attack("range requests that are ignored", both(without_ranges, file(core_metadata=False))),
    Attack(
        "a wheel with other bytes",
        both(without_ranges, file(core_metadata=False), answer(WHEEL, Response(200, b"x"))),
        f"Its sha256 is {hashlib.sha256(b'x').hexdigest()}; "
        f"the page says {build_wheel('demo', '2.0').sha256}.",
    ),
    Attack(
        "a wheel whose METADATA unpacks to 64 MiB",
        wheel({"demo-2.0.dist-info/METADATA": bytes(64 * MIB)}),
        cannot_be_used("the metadata of demo-2.0-py3-none-any.whl"),
        1,
    ),
    Attack(
        "a wheel without METADATA", wheel({"demo.py": b""}), "demo-2.0-py3-none-any.whl has no", 1
    ),
    Attack(
        "a wheel with the .dist-info folder of another project, too",
        wheel(
            {
                f"{name}-2.0.dist-info/METADATA": core_metadata(name, "2.0")
                for name in ("demo", "other")
            }
        ),
        "demo-2.0-py3-none-any.whl has",
        1,
    ),
    Attack(
        "an archive that unpacks to 9 GiB",
        archive(bomb(9 * 1024)),
        "it has data after its end of unreasonable size",
        1,
    ),
    Attack(
        "an archive whose PKG-INFO has 9 MiB",
        archive(tar(**{"demo-2.1/PKG-INFO": b"x" * (9 * MIB)})),
        "its PKG-INFO is larger than 8 MiB",
        1,
    ),
    Attack(
        "an archive of 1,000,000 members",
        archive(MEMBERS),
        "it has more than 100000 members",
        1,
        seconds=20,
    ),
    Attack(
        "an archive of 10 folders, in each a PKG-INFO of 8 MiB",
        archive(tar(**{f"{number}/PKG-INFO": bytes(8 * MIB) for number in range(10)})),
        "what is read of it is larger than 32 MiB",
        1,
    ),
    Attack(
        "an archive whose metadata has 20 GB of markers",
        notes(b"[:os_name != '%s']\n" % (b"x" * 10_000) + b"x\n" * 2_000_000),
        WITHOUT,
        1,
    ),
    Attack(
        "an archive of links and of paths that lead out of it",
        archive(
            tar(
                **{
                    "demo-2.1/pyproject.toml": "/etc/passwd",
                    "demo-2.1/../../pwned": b"",
                    "../pwned": b"",
                    "/tmp/pwned": b"",
                    "demo-2.1/link": "../..",
                    "demo-2.1/link/pwned": b"",
                }
            )
        ),
        pins={"demo": "2.1"},
    ),
    Attack(
        "an archive whose PKG-INFO is a link",
        archive(tar(**{"demo-2.1/PKG-INFO": "/etc/passwd"})),
        "2  demo 2.1 cannot be used: demo-2.1.tar.gz is a source archive",
        1,
    ),
    Attack(
        "an archive whose pyproject.toml has a number of 5,000 digits",
        archive(tar(**{"demo-2.1/pyproject.toml": b"x = " + b"9" * 5000})),
        "demo 2.1 cannot be used: pyproject.toml in demo-2.1.tar.gz is",
        1,
    ),
]


TAGS = "cp311-cp311-manylinux_2_17_aarch64"
LINKS = """
[[fact.links]]
package = "demo"
to = ["torch"]
reason = "Its binaries are judged."
strength = "vendor"
source = "demo/tests#1"
checked = 2026-11-20
"""


def binaries(members: Mapping[str, bytes], change: tuple[bytes, bytes] = (b"", b"")) -> Arrange:
    """List a wheel of demo 2.1 with these members, which a fact has judged.

    `change` is made in its bytes.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("demo-2.1.dist-info/METADATA", core_metadata("demo", "2.1"))
        for name, content in members.items():
            packed.writestr(name, content)
    content = made.getvalue().replace(*change) if change[0] else made.getvalue()
    filename = f"demo-2.1-{TAGS}.whl"
    return both(
        stack("demo==2.1", LINKS), lambda scene: scene.index.add_file("demo", filename, content)
    )


def unreadable(why: str) -> str:
    return f"demo 2.1 cannot be used: {why}"


BINARIES = [
    Attack(
        "a binary that is cut off",
        binaries({"a.so": elf()[:100]}),
        unreadable("a.so is not a readable"),
        1,
    ),
    Attack(
        "a binary of 65,535 sections",
        binaries({"a.so": elf(changes={60: b"\xff\xff"})}),
        unreadable("a.so is not"),
        1,
    ),
    Attack(
        "a binary whose sections are beyond its end",
        binaries({"a.so": elf(changes={40: b"\xff" * 7})}),
        unreadable("a.so is not"),
        1,
    ),
    Attack(
        "a binary that needs a library with an evil name",
        binaries({"a.so": elf(needs=[EVIL])}),
        unreadable("a.so is not"),
        1,
    ),
    Attack(
        "a binary that needs 2,000 libraries",
        binaries({"a.so": elf(needs=[f"lib{number}.so" for number in range(2000)])}),
        unreadable("a.so is not"),
        1,
    ),
    Attack(
        "a binary that needs a library with a name of 100,000 characters",
        binaries({"a.so": elf(needs=[LONG])}),
        unreadable("a.so is not"),
        1,
    ),
    Attack(
        "a binary that asks for 20,000 versions of a library",
        binaries(
            {"a.so": elf(versions={"libc.so.6": [f"GLIBC_2.{number}" for number in range(20_000)]})}
        ),
        unreadable("a.so is not"),
        1,
    ),
    Attack(
        "3,000 binaries",
        binaries({f"{number}.so": b"" for number in range(3000)}),
        "a readable wheel: it has more than 2000 binaries",
        1,
    ),
    Attack(
        "a binary that is larger than the list of members says",
        binaries({"a.so": bytes(MIB)}, (struct.pack("<I", MIB), struct.pack("<I", 10))),
        "a readable wheel: Bad CRC-32 for file 'a.so'",
        1,
    ),
    Attack(
        "a binary that unpacks to 512 MiB",
        binaries({"a.so": bytes(512 * MIB)}),
        pins={"demo": "2.1"},
    ),
    Attack(
        "a binary for another processor",
        binaries({"a.so": elf(changes={5: b"\x02"})}),
        pins={"demo": "2.1"},
    ),
]


TABLE = "/files/pypi/demo-2.0-variants.json"


def variants(answered: Response, sha256: str = "") -> Arrange:
    """List a variant of the newest wheel (PEP 825), and a list of variants.

    The server answers the list with this content.
    """
    wheel = {"filename": "demo-2.0-py3-none-any-a3.whl"}
    hashes = {"sha256": sha256} if sha256 else {}
    table = {
        "filename": "demo-2.0-variants.json",
        "url": f"https://index.example{TABLE}",
        "hashes": hashes,
    }
    return both(rows({}, wheel, table), answer(TABLE, answered))


def variant(label: str, namespace: str = "ascend", value: str = "a3") -> bytes:
    return json.dumps({"variants": {label: {namespace: {"npu_type": [value]}}}}).encode()


VARIANTS = [
    Attack("a list of variants of 65 KiB", variants(body(bytes(65 << 10)))),
    Attack(
        "a list of variants that unpacks to 1 GiB",
        variants(body(bomb(1024), **{"Content-Encoding": "gzip"})),
    ),
    Attack(
        "a list of variants of 300,000 levels", variants(body(b'{"variants":' + b'{"a":' * 300_000))
    ),
    Attack(
        "a list of 50,000 variants",
        variants(
            body(
                b'{"variants": {'
                + b",".join(b'"v%d": {}' % number for number in range(50_000))
                + b"}}"
            )
        ),
    ),
    Attack("a list of variants with an evil label", variants(body(variant(EVIL)))),
    Attack("a list of variants with an evil namespace", variants(body(variant("a3", EVIL)))),
    Attack("a list of variants with an evil value", variants(body(variant("a3", "ascend", EVIL)))),
    Attack(
        "a list of variants that is a page for people",
        variants(body(b"<html>Log in</html>", "text/html")),
    ),
    Attack("a list of variants that is gone", variants(Response(404))),
    Attack(
        "a list of variants with another hash",
        variants(body(b"{}"), "0" * 64),
        f"Its sha256 is {hashlib.sha256(b'{}').hexdigest()}; the page says {'0' * 64}.",
    ),
    Attack(
        "a list of variants that leads to this machine",
        variants(Response(302, b"", {"Location": "https://127.0.0.2/x"})),
        LOCAL,
    ),
    Attack(
        "a list of variants that is refused", variants(Response(403)), "The server answered 403."
    ),
]

ATTACKS = [*PAGES, *ANSWERS, *REDIRECTS, *PROXIES, *LISTED, *VARIANTS, *FILES, *BINARIES]
