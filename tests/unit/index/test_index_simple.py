"""Pages of the simple API, from bytes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure
from resolver.index.parse import html_page, simple
from resolver.index.parse.address import NOWHERE
from resolver.index.parse.distribution import Compatibility
from resolver.model.release import ACTIVE, File, Page, ProjectStatus, Rejection, RejectionReason
from resolver.model.target import Target

RECORDED = Path(__file__).parents[2] / "recorded" / "pages"
URL = "https://mirror.example/simple/demo/"
A, B = "a" * 64, "b" * 64
JSON = "application/vnd.pypi.simple.v1+json"


def parse(
    body: str | bytes, content_type: str = "text/html", project: str = "demo", url: str = URL
) -> Page:
    content = body if isinstance(body, bytes) else body.encode()
    return simple.parse(
        content, content_type, project=NormalizedName(project), index="mirror", url=url
    )


def html(*anchors: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{''.join(anchors)}</body></html>"


def page(*files: dict[str, Any], **changes: Any) -> str:
    return json.dumps(
        {"meta": {"api-version": "1.1"}, "name": "Demo", "files": list(files), **changes}
    )


def only(parsed: Page) -> File:
    assert parsed.rejections == ()
    ((file,),) = parsed.releases.values()
    return file


def refused(parsed: Page, version: str) -> tuple[str, RejectionReason]:
    """The only file of a release, and why no target can use it."""
    ((file,),) = [parsed.releases[version]]
    (aside,) = Compatibility(
        Target(name="here", python="3.11", platform="linux-aarch64", glibc=(2, 28)), None
    )((file,)).rejections
    assert file.url == NOWHERE
    return aside.filename, aside.reason


# --- recorded shapes


def test_page_of_pytorch() -> None:
    """Root-relative links, `%2B`, a hash of METADATA alone, another host, a comment at the end."""
    body = (RECORDED / "pytorch-cpu-torch.html").read_bytes()
    root = "https://download.pytorch.org/whl/cpu"
    parsed = parse(body, project="torch", url=f"{root}/torch/")
    assert set(parsed.releases) == {"2.8.0+cpu", "2.10.0+cpu"}
    assert parsed.rejections == ()
    assert parsed.releases["2.8.0+cpu"] == (
        File(
            "torch-2.8.0+cpu-cp313-cp313-manylinux_2_28_x86_64.whl",
            f"{root}/torch-2.8.0%2Bcpu-cp313-cp313-manylinux_2_28_x86_64.whl",
            metadata="ac59d7d8f73f4f515c949c9583ead0cce1f230a649f6c63fea0e949f93f02ae6",
        ),
        File(
            "torch-2.8.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl",
            f"{root}/torch-2.8.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl",
            sha256="cb06175284673a581dd91fb1965662ae4ecaba6e5c357aa0ea7bb8b84b6b7eeb",
            metadata="",
        ),
        File(
            "torch-2.8.0+cpu-cp311-cp311-win_amd64.whl",
            "https://download.pytorch.org/whl/cpu/torch-2.8.0%2Bcpu-cp311-cp311-win_amd64.whl",
            sha256="7631ef49fbd38d382909525b83696dc12a55d68492ade4ace3883c62b9fc140f",
        ),
    )
    newest = parsed.releases["2.10.0+cpu"]
    assert [file.yanked for file in newest] == [None, "superseded by the manylinux wheel"]
    assert {file.url.partition("/whl/")[0] for file in newest} == {
        "https://download-r2.pytorch.org"
    }


def test_page_of_huawei() -> None:
    """A folder listing: links up and for sorting, relative links, and no hash or an md5."""
    root = "https://mirrors.huaweicloud.com/ascend/repos/pypi/torch-npu/"
    parsed = parse((RECORDED / "huawei-torch-npu.html").read_bytes(), project="torch-npu", url=root)
    names = [
        f"torch_npu-2.7.1.post1-cp311-cp311-manylinux_2_28_{machine}.whl"
        for machine in ("aarch64", "x86_64")
    ]
    assert parsed.releases == {"2.7.1.post1": tuple(File(name, root + name) for name in names)}
    signature, nightly = map(str, parsed.rejections)
    assert signature == f"{names[1]}.asc is not a wheel, .tar.gz or .zip"
    assert nightly == (
        "torch_npu-2.7.1.nightly-cp311-cp311-linux_aarch64.whl has a version "
        "that violates PEP 440 (2.7.1.nightly)"
    )


# --- JSON (PEP 691, 700, 714)


def test_json_page_has_every_key() -> None:
    name, hashes = "demo-1.0-py3-none-any.whl", {"sha256": A, "md5": "0"}
    said: dict[str, Any] = {
        "filename": name,
        "url": f"../../files/{name}#sha256={B}",
        "hashes": hashes,
        "size": 7,
    }
    said |= {
        "requires-python": ">=3.10",
        "upload-time": "2025-01-02T03:04:05.678Z",
        "yanked": "broken",
    }
    said |= {
        "core-metadata": {"sha256": B},
        "dist-info-metadata": {"sha256": A},
        "provenance": None,
    }
    file = only(parse(page(said), JSON))
    rest = (A, 7, ">=3.10", "broken", "2025-01-02T03:04:05.678Z", B)
    assert file == File(
        "demo-1.0-py3-none-any.whl", "https://mirror.example/files/demo-1.0-py3-none-any.whl", *rest
    )


def row(**keys: Any) -> dict[str, Any]:
    return {"filename": "demo-1.zip", "url": "demo-1.zip", "hashes": {}, **keys}


@pytest.mark.parametrize(
    ("keys", "metadata"),
    [
        ({}, None),
        ({"core-metadata": False, "dist-info-metadata": {"sha256": A}}, None),
        ({"core-metadata": True}, ""),
        ({"core-metadata": {"sha512": "1"}}, ""),
        ({"dist-info-metadata": {"sha256": A}}, A),
        ({"core-metadata": None, "dist-info-metadata": True}, ""),
    ],
)
def test_json_page_metadata_files(keys: dict[str, Any], metadata: str | None) -> None:
    assert only(parse(page(row(**keys)), JSON)).metadata == metadata


@pytest.mark.parametrize(
    ("yanked", "expected"), [(False, None), (True, ""), ("", None), ("why", "why")]
)
def test_json_page_yanked(yanked: bool | str, expected: str | None) -> None:
    assert only(parse(page(row(yanked=yanked)), JSON)).yanked == expected


@pytest.mark.parametrize(
    "odd",
    [
        *({"size": odd} for odd in ("12", 12.5, True, -1, 1 << 61, ["x"] * 70_000)),
        *({"hashes": odd} for odd in (None, {"sha256": None})),
        *({"requires-python": odd} for odd in (False, 3.9)),
        *(
            {"yanked": None},
            {"core-metadata": {"sha256": None}},
            {"core-metadata": "true", "upload-time": 1},
        ),
        {"size": "x", "y": [{}] * 600_000},
    ],
)
def test_json_page_value_of_another_type(odd: dict[str, Any]) -> None:
    """pip reads such rows, and the page has others."""
    good = {
        **row(size=7, **{"requires-python": ">=3.9"}),
        "filename": "demo-2.zip",
        "hashes": {"sha256": A},
    }
    assert parse(page(good, row(**odd)), JSON) == parse(page(good, row()), JSON)


@pytest.mark.parametrize(
    ("body", "content_type", "why"),
    [
        ("", JSON, "The page is empty."),
        ('{"meta": {', JSON, "It is not a JSON page of PEP 691: Input data was truncated."),
        (page()[:-1], "", "It is not a JSON page of PEP 691: Input data was truncated."),
        (
            page(),
            "application/vnd.pypi.simple.v2+json",
            (
                "Its type is `application/vnd.pypi.simple.v2+json`; "
                "only version 1 is supported (PEP 629)."
            ),
        ),
        (html()[:-8], "text/html", "It ends before `</html>`."),
        ("<HTML ><a href=demo-1.zip>", "text/html", "It ends before `</html>`."),
        (
            html(head='<base href="https://127.0.0.1/">'),
            "text/html",
            "Its `<base href>` is no address to go by.",
        ),
        (
            html(head='<meta name="pypi:repository-version" content="2.0">'),
            "text/html",
            "Its API version is '2.0'; only version 1 is supported (PEP 629).",
        ),
        (
            html(
                "<a href=other-1.zip>x</a>",
                "<a href='x/other-2-py3-none-any.whl'>x</a>",
                "<a href=other.egg>",
            ),
            "text/html",
            "Every file on it belongs to another project, for example other-1.zip.",
        ),
    ],
)
def test_page_that_cannot_be_used(body: str, content_type: str, why: str) -> None:
    with pytest.raises(IndexFailure) as caught:
        parse(body, content_type)
    assert (caught.value.where, caught.value.why) == ("https://mirror.example/simple/demo/", why)


# --- HTML (PEP 503, 592, 658, 714)


def test_html_page_has_every_attribute() -> None:
    file = only(
        parse(
            html(
                f'<a href="../../f/demo-1-py3-none-any.whl?sig=1#egg=x&amp;sha256={A.upper()}" '
                'data-requires-python="&gt;=3.8,&lt;4" data-yanked '
                'data-upload-time="2025-08-07T06:56:07.773876Z" '
                f'data-core-metadata="sha256={B}" data-dist-info-metadata="true">any text</a>'
            )
        )
    )
    assert file == File(
        "demo-1-py3-none-any.whl",
        "https://mirror.example/f/demo-1-py3-none-any.whl?sig=1",
        sha256=A,
        requires_python=">=3.8,<4",
        yanked="",
        uploaded="2025-08-07T06:56:07.773876Z",
        metadata=B,
    )


@pytest.mark.parametrize(
    ("attributes", "metadata"),
    [
        ("", None),
        ('data-dist-info-metadata="true"', ""),
        (f'data-dist-info-metadata="sha256={A}"', A),
        (f'data-core-metadata="true" data-dist-info-metadata="sha256={A}"', ""),
        ('data-core-metadata="false"', None),
        *((f"data-core-metadata{value}", "") for value in ('="sha512=12"', '="sha256=12"', "")),
    ],
)
def test_html_page_metadata_files(attributes: str, metadata: str | None) -> None:
    assert (
        only(parse(html(f"<a href='demo-1-py3-none-any.whl' {attributes}>x</a>"))).metadata
        == metadata
    )


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("demo-1.zip", "https://mirror.example/simple/demo/demo-1.zip"),
        ("/f/demo-1.zip", "https://mirror.example/f/demo-1.zip"),
        ("/f/../demo-1.zip", "https://mirror.example/demo-1.zip"),
        *(
            (f"{begin}files.example/demo-1.zip{end}", "https://files.example/demo-1.zip")
            for begin, end in (
                ("//", ""),
                ("HTTPS://", ""),
                ("https://me:secret@", ""),
                ("  https://", "\n"),
            )
        ),
        ("https://files.example/a@b/demo-1.zip", "https://files.example/a@b/demo-1.zip"),
    ],
)
def test_page_link_is_made_absolute(href: str, url: str) -> None:
    assert only(parse(html(f'<a href="{href}">x</a>'))).url == url


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "me@localhost", "[::1]", "0x7f.1", "169.254.169.254"]
)
def test_page_link_to_this_machine(host: str) -> None:
    body = html(f'<a href="http://{host}/demo-1.zip">x</a><a href="//{host}/demo-2.zip">x</a>')
    assert [refused(parse(body), str(n)) for n in (1, 2)] == [
        (f"demo-{n}.zip", RejectionReason.ADDRESS) for n in (1, 2)
    ]
    assert NOWHERE not in [
        file.url
        for files in parse(body, url="http://127.0.0.1:1/").releases.values()
        for file in files
    ]
    assert refused(parse(page(row(url=f"https://{host}/demo-1.zip")), JSON), "1") == (
        "demo-1.zip",
        RejectionReason.ADDRESS,
    )


@pytest.mark.parametrize("odd", ["\\u0007", "\\n", "\\u007f", "\x7f", "\u202e", "\\u202E", "\x85"])
def test_page_sets_aside_what_does_not_print(odd: str) -> None:
    rows = [
        {"filename": f"demo-{n}.zip", "url": f"https://f.example/demo-{n}.zip", "hashes": {}}
        for n in (1, 2, 3, 4)
    ]
    for one, field in ((rows[1], "filename"), (rows[2], "url")):
        one[field] = f"{one[field][:-4]}HERE.zip"
    parsed = parse(page(*rows).replace("HERE", odd), JSON)
    assert list(parsed.releases) == ["4", "3", "1"]
    assert [one.reason for one in parsed.rejections] == [RejectionReason.NAME]
    assert refused(parsed, "3") == ("demo-3.zip", RejectionReason.ADDRESS)


@pytest.mark.parametrize(
    "keys", [{}, {"url": None}, {"url": 7}, {"url": ["x"] * 70_000}, {"url": "http://[/demo"}]
)
def test_json_page_file_without_an_address(keys: dict[str, Any]) -> None:
    assert refused(parse(page({"filename": "demo-1.zip", **keys}), JSON), "1") == (
        "demo-1.zip",
        RejectionReason.ADDRESS,
    )


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://cdn.example/d/", "https://cdn.example/d/demo-1.zip"),
        ("/d/", "https://mirror.example/d/demo-1.zip"),
        ("//me:secret@cdn.example/", "https://cdn.example/demo-1.zip"),
    ],
)
def test_html_page_base_address(base: str, url: str) -> None:
    assert (
        only(
            parse(
                html("<a href=demo-1.zip>x</a>", head=f'<base target="_top"><base href="{base}">')
            )
        ).url
        == url
    )


LINK = "https://me:hunter2@files.example/demo-1.zip"


@pytest.mark.parametrize(
    "body",
    [
        page({"filename": "demo-1.zip", "url": LINK, "provenance": LINK, "size": 7}),
        page({"filename": "demo-1.zip", "url": LINK, "size": 7}).replace("@", "\\u0040"),
        page({"filename": "demo-1.zip", "url": LINK.replace("https:", ""), "size": 7}).replace(
            "/", "\\/"
        ),
        html(f"<a href={LINK}>x</a>"),
        html(f"<a href={LINK.replace('@', '&#64;')}>x</a>"),
        html(f"<a href={LINK.replace('@', '&commat;')} data-yanked='me@here'>x</a>"),
    ],
)
def test_page_link_keeps_no_credentials(body: str) -> None:
    """Some indexes write those that they were asked with into the addresses of files."""
    assert only(parse(body, "")).url == "https://files.example/demo-1.zip"


@pytest.mark.parametrize(
    "around",
    [
        "<script>let x = '<a href=demo-2.zip>';</script>",
        "<title><a href=demo-2.zip></title >",
        "<!--><a>--><!-- <a href=demo-2.zip> --!>",
        "<abbr href=demo-2.zip><article>",
        '<p title="<a href=demo-2.zip>">',
    ],
)
def test_html_page_what_looks_like_an_anchor(around: str) -> None:
    assert only(
        parse(html(around, "<A\nHREF=demo-1.zip data-requires-python='>=3'>x</A>"))
    ).url.endswith("demo-1.zip")


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 400_000,  # each <p> looks through all that are open
        b"<div>" * 100_000 + b"<p>" * 100_000,
        b"".join(b"<b id=%d>" % n for n in range(100_000))
        + b"<p>x" * 100_000,  # all are opened again in each <p>
        (b"<a " + b"''" * 30_000 + b">") * 20,
        (b"<a " + b"a " * 30_000 + b">") * 20,
        b"<!--" * 200_000,
        b"<script>" * 200_000,
    ],
)
def test_html_page_takes_linear_time(body: bytes) -> None:
    begin = time.process_time()
    parsed = parse(b"<a href=demo-1.zip>x</a>" + body)
    assert time.process_time() - begin < 2
    assert list(parsed.releases) == ["1"]


def test_html_page_tags_parsed_apart() -> None:
    """A page is parsed some tags at a time: it is one page nevertheless."""
    links = [
        f"<a href=demo-{number}.zip data-requires-python='{'>' * 400}'>x</a>"
        for number in range(2000)
    ]
    parsed = parse(html(*links, '<base href="https://files.example/">'))
    assert {file.url for files in parsed.releases.values() for file in files} == {
        f"https://files.example/demo-{number}.zip" for number in range(2000)
    }


def test_json_page_half_of_a_surrogate_pair() -> None:
    alone = row(yanked="LONE")
    assert only(parse(page(alone).replace("LONE", r"\ud83d\ude00"), JSON)).yanked == "\U0001f600"
    with pytest.raises(IndexFailure, match="It is not a JSON page of PEP 691"):
        parse(page(alone).replace("LONE", r"\ud800"), JSON)


def test_page_reason_for_yanking_is_cut_off() -> None:
    assert only(parse(page(row(yanked="x" * 501)), JSON)).yanked == "x" * 500
    assert (
        only(parse(html(f'<a href="demo-1.zip" data-yanked="{"x" * 501}">x</a>'))).yanked
        == "x" * 500
    )


@pytest.mark.parametrize(
    ("names", "releases"),
    [(["other-1.zip", "demo-1.zip"], ["1"]), (["other-1.zip", "demo-x-y.whl"], [])],
)
def test_page_with_a_foreign_file(names: list[str], releases: list[str]) -> None:
    """Only a page on which every file is another project's is that of another project."""
    found = parse(page(*({"filename": name, "url": name, "hashes": {}} for name in names)), JSON)
    assert list(found.releases) == releases
    assert found.rejections[0] == Rejection("other-1.zip", RejectionReason.FOREIGN)


def test_html_page_is_in_utf_8() -> None:
    body = html('<a href="demo-1.zip" data-yanked="zurückgezogen">x</a>')
    for charset in ("utf-8", "nonsense", "idna", "punycode", "ISO-8859-1"):
        assert (
            only(parse(body.encode("utf-8-sig"), f"text/html; charset={charset}")).yanked
            == "zurückgezogen"
        )
    assert only(parse(body.encode("latin-1"))).yanked == "zur\ufffdckgezogen"


def test_html_page_plain_link_is_what_the_parser_finds() -> None:
    hrefs = ["demo-1.zip", "../../a/demo-1.zip#sha256=" + A, "https://files.example/demo-1.zip"]
    hrefs += ["demo-1.zip?x", "demo-1%2B2.zip", "a:demo-1.zip", "..", "a/", "demo-1.zip&amp;", ""]
    others = ["", ' rel="x"', ' href="demo-2.zip"', " data-yanked", ' data-yanked="a>b"', " 'x'"]
    plain = 0
    for href in hrefs:
        for other in others:
            tag = f'<a href="{href}"{other}>'.encode()
            match = html_page._PLAIN_LINK.fullmatch(tag)
            if match is not None and match[1] not in (b".", b".."):
                (node,) = html_page._parsed([tag])
                row = html_page._entry(node.attributes)
                assert row is not None
                assert row.filename == match[1].decode()
                plain += 1
    assert plain == 3 * 5, "a quote outside of a value is not plain"


@pytest.mark.parametrize("form", [JSON, "text/html"])
def test_page_reads_no_file_before_its_release_is_looked_at(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = page(row()) if form == JSON else html('<a href="demo-1.zip">x</a>')
    expected = only(parse(body, form))
    monkeypatch.setattr(simple, "_file", None)
    written = simple.read(
        body.encode(), form, project=NormalizedName("demo"), index="mirror", url=URL
    )
    monkeypatch.undo()
    rows = [simple.stored(sent, written.base) for sent in written.releases["1"]]
    assert simple.files_of(rows, written.base) == (expected,)


def test_page_keeps_a_row_without_what_is_not_needed() -> None:
    rows = [row(url="https://user:secret@files.example/demo-1.zip"), row(provenance="x" * 5000)]
    for one in (*rows, row(url="https://user\u0040files.example/demo-1.zip")):
        written = simple.read(
            page(one).encode(), JSON, project=NormalizedName("demo"), index="mirror", url=URL
        )
        ((sent,),) = written.releases.values()
        kept = simple.stored(sent, URL)
        assert len(kept) < 1000
        assert b"@" not in kept
        assert simple.files_of([kept], URL) == parse(page(one), JSON).releases["1"]


# --- grouping


def test_page_sets_aside_legacy_files() -> None:
    names = [
        "demo-1.0.tar.gz",
        "demo-1.0.linux-x86_64.tar.gz",
        "demo-1.0-py2.6.egg",
        "demo-1.0.win32.exe",
    ]
    names += [
        "demo-2004d.zip",
        "other-1.0.tar.gz",
        "other-1.0-py3-none-any.whl",
        "demo-1.0-py3.whl",
    ]
    parsed = parse(
        html(*(f"<a href='{name}'>" for name in (*names, "demo%0a-1.0.zip", "x%2fdemo-1.0.zip")))
    )
    assert [file.filename for file in parsed.releases["1.0"]] == ["demo-1.0.tar.gz"]
    assert [(one.filename, one.reason.name, one.detail) for one in parsed.rejections] == [
        *((name, "FORMAT", "") for name in ("demo-1.0-py2.6.egg", "demo-1.0.win32.exe")),
        ("other-1.0.tar.gz", "FOREIGN", ""),
        ("other-1.0-py3-none-any.whl", "FOREIGN", "other"),
        *((name, "NAME", "") for name in ("demo-1.0-py3.whl", "demo\\n-1.0.zip", "x/demo-1.0.zip")),
        ("demo-1.0.linux-x86_64.tar.gz", "VERSION", "1.0.linux-x86_64"),
        ("demo-2004d.zip", "VERSION", "2004d"),
    ]


def test_page_spellings_of_one_version() -> None:
    anchors = [
        "<a href=demo-1.0.zip>",
        "<a href=demo-1.0.0-py3-none-any.whl>",
        "<a href=demo-1-py2-none-any.whl>",
    ]
    for order in (anchors, anchors[::-1]):
        parsed = parse(html(*order))
        assert {
            key: [file.filename for file in files] for key, files in parsed.releases.items()
        } == {"1": ["demo-1-py2-none-any.whl", "demo-1.0.zip", "demo-1.0.0-py3-none-any.whl"]}


def test_page_lists_a_file_twice() -> None:
    link = f"<a href='demo-1.zip#sha256={A}'>"
    assert only(parse(html(link, link))).sha256 == A
    parsed = parse(html(link, f"<a href='demo-1.zip#sha256={B}'>"))
    assert [file.sha256 for file in parsed.releases["1"]] == [A, B], "who chooses one sees both"
    assert parsed.rejections == ()


STATUS = (
    '<meta name="pypi:repository-version" content="1.4">'
    '<meta name="pypi:project-status" content="archived">'
)
REASON = '<meta name="pypi:project-status-reason" content="see demo2">'


@pytest.mark.parametrize(
    ("body", "project_status"),
    [
        (page(), ACTIVE),
        (page(**{"project-status": {"status": "active"}}), ACTIVE),
        (page(**{"project-status": {"status": "quarantined"}}), ProjectStatus("quarantined")),
        (
            page(**{"project-status": {"status": "archived", "reason": "see demo2"}}),
            ProjectStatus("archived", "see demo2"),
        ),
        (page(**{"project-status": {"status": 7}}), ACTIVE),
        (page(**{"project-status": "archived"}), ACTIVE),
        (page(**{"project-status": [{}] * 600_000}), ACTIVE),
        (page(**{"project-status": {"status": "archived", "x": "x" * (1 << 16)}}), ACTIVE),
        (html(), ACTIVE),
        (html(head=STATUS), ProjectStatus("archived")),
        (html(head=STATUS + REASON), ProjectStatus("archived", "see demo2")),
        (html(head=REASON), ACTIVE),
    ],
)
def test_page_project_status(body: str, project_status: ProjectStatus) -> None:
    """PEP 792, in both forms; what is of another shape says nothing."""
    parsed = parse(body, "application/json" if body.startswith("{") else "text/html")
    assert parsed.project_status == project_status
