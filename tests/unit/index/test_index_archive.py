"""Source archives and wheels: what is static in them, and that nothing in them can do harm."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import NormalizedName

from resolver.index.parse import guarded
from resolver.index.parse.archive import read_archive, read_member
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.guarded import MissingSpanError, RangeFile
from resolver.index.parse.wheel import wheel_metadata
from resolver.index.protocol import UnusableFile
from resolver.model.release import Archive, CoreMetadata

TAR = FileRelease("demo-1.0.tar.gz", NormalizedName("demo"), "1.0")
ZIP = FileRelease("demo-1.0.zip", NormalizedName("demo"), "1.0")
URL = "https://mirror.example/demo-1.0.tar.gz"
OLD = "Metadata-Version: 1.0\nName: demo\nVersion: 1.0\n"
NEW = "Metadata-Version: 2.2\nName: demo\nVersion: 1.0\nRequires-Dist: numpy\n"


def tar(path: Path, members: Mapping[str, str | bytes | tarfile.TarInfo]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
            else:
                content = content.encode() if isinstance(content, str) else content
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


def zipped(path: Path, members: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def read(path: Path, members: dict[str, str]) -> Archive:
    """The same archive as .tar.gz and as .zip gives the same."""
    placed = {f"demo-1.0/{name}": content for name, content in members.items()}
    first = read_archive(tar(path, placed), TAR, URL)
    assert first == read_archive(zipped(path, placed), ZIP, URL)
    return first


# --- what is static


def test_archive_with_static_pkg_info(path: Path) -> None:
    found = read(
        path, {"PKG-INFO": NEW, "pyproject.toml": '[build-system]\nrequires = ["setuptools>=77"]\n'}
    )
    assert found == Archive(CoreMetadata("demo", "1.0", ("numpy",)), ("setuptools>=77",))


@pytest.mark.parametrize(
    ("members", "build_requires", "why"),
    [
        ({}, None, "it has no PKG-INFO, and it has no pyproject.toml"),
        (
            {"PKG-INFO": OLD},
            None,
            "its PKG-INFO is of version 1.0, and only 2.2 or later says what is static",
        ),
        *(
            (
                {"PKG-INFO": f"{NEW}Dynamic: {field}\n"},
                None,
                f"calls {field.title()} dynamic, and it has no pyproject",
            )
            for field in ("Requires-Dist", "requires-python", "Provides-Extra")
        ),
        ({"PKG-INFO": "Name: demo\n"}, None, "the metadata of demo-1.0.tar.gz has no Version"),
        (
            {"PKG-INFO": OLD, "pyproject.toml": "[build-system]\nrequires = []\n"},
            (),
            "its pyproject.toml has no [project] table",
        ),
        (
            {"pyproject.toml": '[project]\nname = "demo"\ndynamic = ["dependencies", "version"]\n'},
            None,
            "it has no PKG-INFO, and its pyproject.toml calls dependencies dynamic",
        ),
        (
            {"pyproject.toml": '[project]\nname = "other"\n'},
            None,
            "its pyproject.toml is that of other",
        ),
    ],
)
def test_archive_without_static_metadata(
    path: Path, members: dict[str, str], build_requires: tuple[str, ...] | None, why: str
) -> None:
    placed = {f"demo-1.0/{name}": content for name, content in {"setup.py": "", **members}.items()}
    found = read_archive(tar(path, placed), TAR, URL)
    assert (found.metadata, found.build_requires) == (None, build_requires)
    assert why in found.why_dynamic


def test_pyproject_with_static_project_table(path: Path) -> None:
    found = read(
        path,
        {
            "PKG-INFO": OLD,
            "pyproject.toml": """
[project]
name = "Demo"
dynamic = ["version"]
requires-python = ">=3.9"
dependencies = ["numpy>=1", "torch==2.8.0 ; platform_machine == 'aarch64'"]
[project.optional-dependencies]
Test_all = ["pytest", "x @ https://a.example/x.whl", "y ; os_name == 'a' or os_name == 'b'"]
""",
        },
    )
    assert found.metadata == CoreMetadata(
        "Demo",
        "1.0",
        (
            "numpy>=1",
            "torch==2.8.0 ; platform_machine == 'aarch64'",
            'pytest; extra == "test-all"',
            'x @ https://a.example/x.whl ; extra == "test-all"',
            'y; (os_name == "a" or os_name == "b") and extra == "test-all"',
        ),
        ">=3.9",
        ("Test_all",),
    )


INVALID = "pyproject.toml in demo-1.0.tar.gz is invalid: "
EXTRA = '[project]\nname = "demo"\n[project.optional-dependencies]\na = '


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[project", INVALID),
        (f"x = {'9' * 5000}", f"{INVALID}it has a number or key of more than 1000 characters"),
        ("[project]\n", f"[project] of {INVALID}Object missing required field `name`"),
        (
            '[project]\nname = "demo"\ndependencies = "x"\n',
            f"[project] of {INVALID}Expected `array`, got `str`",
        ),
        (
            "[build-system]\nrequires = [1]\n",
            f"[build-system] of {INVALID}Expected `str`, got `int`",
        ),
        (
            '[project]\nname = "demo"\ndependencies = ["-x"]\n',
            "demo-1.0.tar.gz has the invalid requirement `-x`: ",
        ),
        (f'{EXTRA}["x=="]\n', "demo-1.0.tar.gz has the invalid requirement `x==`"),
    ],
)
def test_pyproject_that_is_invalid(path: Path, content: str, why: str) -> None:
    with pytest.raises(UnusableFile) as caught:
        read_archive(tar(path, {"demo-1.0/pyproject.toml": content}), TAR, URL)
    assert str(caught.value).startswith(why)


# --- members


def test_member_of_an_archive(path: Path) -> None:
    tar(
        path,
        {
            "./demo-1.0/requirements/common.txt": "numpy\n",
            "demo-1.0/x/requirements/common.txt": "no\n",
        },
    )
    assert read_member(path, TAR, "requirements/common.txt") == "numpy\n"
    zipped(path, {"demo-1.0/setup.py": "\ufeffé"})
    assert read_member(path, ZIP, "setup.py") == "é"


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_tar_links_and_devices_are_no_members(path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("demo-1.0/PKG-INFO")
    info.type = kind
    info.linkname = "/etc/passwd"
    tar(path, {"demo-1.0/setup.py": "", "link": info})
    with pytest.raises(UnusableFile, match=r"demo-1\.0\.tar\.gz has no file PKG-INFO"):
        read_member(path, TAR, "PKG-INFO")


def test_zip_links_are_no_members(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("demo-1.0/PKG-INFO")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(UnusableFile, match="has no file PKG-INFO"):
        read_member(path, ZIP, "PKG-INFO")


@pytest.mark.parametrize(
    "name", ["../PKG-INFO", "/PKG-INFO", "PKG-INFO", "demo-1.0/../PKG-INFO", "./PKG-INFO"]
)
def test_archive_paths_that_lead_elsewhere(path: Path, name: str) -> None:
    with pytest.raises(UnusableFile, match="has no file PKG-INFO"):
        read_member(tar(path, {name: NEW}), TAR, "PKG-INFO")


def test_archive_with_several_top_folders(path: Path) -> None:
    assert read_member(tar(path, {"x/a": "no", "Demo-1/a": "yes"}), TAR, "a") == "yes"
    with pytest.raises(UnusableFile, match=r"demo-1\.0\.tar\.gz has several top folders: x, y"):
        read_member(tar(path, {"x/a": "", "y/a": ""}), TAR, "a")


def test_archive_names_of_top_folders_are_limited(path: Path) -> None:
    with pytest.raises(UnusableFile, match=r"has several top folders: x{100}0, ") as told:
        read_member(tar(path, {f"{'x' * 100}{number}/a": "" for number in range(100)}), TAR, "a")
    assert str(told.value).endswith("…")
    assert len(str(told.value)) == 1001


def test_archive_total_of_top_folders_is_limited(path: Path) -> None:
    content = "x" * (8 << 20)
    for make, release in ((tar, TAR), (zipped, ZIP)):
        made = make(path, {f"{number}/a": content for number in range(3)})
        with pytest.raises(UnusableFile, match="several top folders: 0, 1, 2"):
            read_member(made, release, "a")
        made = make(path, {f"{number}/a": content for number in range(5)})
        with pytest.raises(UnusableFile, match="what is read of it is larger than 32 MiB"):
            read_member(made, release, "a")


def test_member_that_is_not_utf8(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("demo-1.0/a", b"\xff\xfe")
    with pytest.raises(UnusableFile, match=r"a in demo-1\.0\.zip is not UTF-8"):
        read_member(path, ZIP, "a")


# --- damage and malice


def test_member_larger_than_it_says(path: Path) -> None:
    content = zipped(path, {"demo-1.0/PKG-INFO": "x" * (9 << 20)}).read_bytes()
    size = (9 << 20).to_bytes(4, "little")
    assert content.count(size) == 2
    path.write_bytes(content.replace(size, (100).to_bytes(4, "little")))
    with pytest.raises(UnusableFile, match="is not a readable archive"):
        read_archive(path, ZIP, URL)


def test_archive_with_too_many_members(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarded, "_MOST_MEMBERS", 3)
    members = {f"demo-1.0/{n}": "" for n in range(4)}
    for release, made in (
        (TAR, tar(path, members)),
        (ZIP, zipped(path.with_suffix(".z"), members)),
    ):
        with pytest.raises(UnusableFile, match="it has more than 3 members"):
            read_archive(made, release, URL)


def header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar's header with any size, below nothing and beyond all measure, too."""
    block = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    block[124:136] = (
        b"%011o\0" % size
        if 0 <= size < 1 << 33
        else (size % (1 << 96) | 1 << 95).to_bytes(12, "big")
    )
    block[156:157] = kind
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def record(keyword: str, value: str) -> bytes:
    """A line of an extended header of less than 100 bytes."""
    return f"{len(keyword) + len(value) + 5} {keyword}={value}\n".encode()


SPARSE = record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0")


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        # leads back to itself, and the whole is unpacked anew in each round
        pytest.param(
            header("demo-1.0/a", 1 << 20) + bytes(1 << 20) + header("demo-1.0/b", -512),
            "it points back to data that was already read",
            id="a size below nothing",
        ),
        pytest.param(
            header("x", len(SPARSE), tarfile.XHDTYPE)
            + SPARSE.ljust(512, b"\0")
            + header("demo-1.0/a", 1 << 30)
            + b"999999999\n"
            + b"0\n" * (2 << 20),
            "it has headers of unreasonable size",
            id="a map of holes without end",
        ),
        pytest.param(
            header("x", 1 << 40, tarfile.XHDTYPE),
            "it makes a reader take 1099511627776 bytes at once",
            id="an extended header, which tarfile reads whole",
        ),
        pytest.param(
            header("demo-1.0/a", 1 << 40),
            "it continues beyond 2147483648 bytes",
            id="a member without end",
        ),
        pytest.param(
            header("demo-1.0/a", 0) + bytes(2 << 20),
            "it has data after its end of unreasonable size",
            id="nothing but zeros",
        ),
        pytest.param(
            (header("x", 512, tarfile.GNUTYPE_LONGNAME) + b"a" * 512) * 5000,
            "",
            id="a name in place of a member, again and again",
        ),
    ],
)
def test_tar_made_to_fill_time_or_memory(path: Path, blocks: bytes, why: str) -> None:
    path.write_bytes(gzip.compress(blocks + bytes(1024), 1))
    with pytest.raises(UnusableFile, match=f"demo-1.0.tar.gz is not a readable archive: {why}"):
        read_archive(path, TAR, URL)


# --- METADATA inside wheels, whole and in pieces

WHEEL = FileRelease("demo_x-1.0-py3-none-any.whl", NormalizedName("demo-x"), "1.0")


def make(*names: str, content: bytes = b"Name: demo\n", comment: bytes = b"") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
        archive.comment = comment
    return file.getvalue()


@pytest.mark.parametrize(
    "folder",
    ["demo_x-1.0.dist-info", "Demo.X-1.0.dist-info", "demo-x-1.dist-info", "demo_x-2.dist-info"],
)
def test_wheel_folder_in_any_spelling(folder: str) -> None:
    wheel = make(
        "demo_x.py",
        "demo_x/other-1.0.dist-info/METADATA",
        f"{folder}/METADATA",
        f"{folder}/sub/METADATA",
    )
    assert wheel_metadata(io.BytesIO(wheel), WHEEL) == b"Name: demo\n"


@pytest.mark.parametrize(
    ("wheel", "why"),
    [
        (make("demo_x.py"), "has no .dist-info folder of demo-x"),
        (make("other-1.0.dist-info/METADATA"), "has no .dist-info folder of demo-x"),
        (
            make("demo_x-0.9.dist-info/METADATA", "demo_x-1.0.dist-info/METADATA"),
            (
                "has 2 .dist-info folders (`demo_x-0.9.dist-info`, `demo_x-1.0.dist-info`), "
                "which pip refuses"
            ),
        ),
        (
            make(*(f"{name}-1.0.dist-info/METADATA" for name in ("a", "b", "c", "demo_x"))),
            "has 4 .dist-info folders",
        ),
        (b"", "is not a readable wheel: File is not a zip file"),
        (
            make("demo_x-1.0.dist-info/METADATA", content=b"\0" * (1 + (16 << 20))),
            "is larger than 16 MiB",
        ),
    ],
)
def test_wheel_that_cannot_be_used(wheel: bytes, why: str) -> None:
    with pytest.raises(UnusableFile) as caught:
        wheel_metadata(io.BytesIO(wheel), WHEEL)
    assert why in str(caught.value)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_range_file_has_only_added_spans(
    spans: list[tuple[int, int]], start: int, length: int
) -> None:
    content = bytes(range(40))
    wheel_file = RangeFile(len(content))
    for begin, size in spans:
        wheel_file.add(begin, content[begin : begin + size])
    wheel_file.seek(start)
    end = min(start + length, 40)
    if start >= end or any(begin <= start and end <= begin + size for begin, size in spans):
        assert wheel_file.read(length) == content[start : start + length]
    else:
        with pytest.raises(MissingSpanError):
            wheel_file.read(length)


def test_unpacked_refuses_unbounded_compression() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("demo_x-1.0.dist-info/METADATA", b"Name: demo\n")
    with pytest.raises(UnusableFile, match="uses an unsupported compression method"):
        wheel_metadata(file, WHEEL)


def test_wheel_with_two_lists_of_members_is_read_like_pip() -> None:
    """ZIP64's end is in the comment of the last member; its list begins in its content."""
    name = "demo_x-1.0.dist-info/METADATA"
    other = make(name, content=b"Name: other\n")
    hidden = bytearray(other[other.index(b"PK\1\2") : other.index(b"PK\5\6")])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        file.write(other[: other.index(b"PK\1\2")])
        archive.start_dir = file.tell()
        archive.writestr(name, b"Name: demo\n")
        listed = 46 + len(name) + 46 + len("x")
        struct.pack_into(
            "<H", hidden, 32, listed
        )  # the list in plain sight is a comment in the hidden one
        archive.writestr("x", hidden)
        begin, length = archive.start_dir - len(hidden), len(hidden) + listed
        end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, length, begin)
        archive.getinfo("x").comment = end + struct.pack("<4sLQL", b"PK\6\7", 0, begin + length, 1)
    with zipfile.ZipFile(file) as archive:
        assert archive.read(name) == b"Name: other\n"
    assert wheel_metadata(file, WHEEL) == b"Name: other\n"
