"""Readers of foreign bytes, and what must hold for any bytes.

A judge reads an input as the program does. It returns if all is well and raises one of the target's
`refusals` if the input is refused; anything else is a defect: a traceback, or (as AssertionError) a
wrong result.
"""

from __future__ import annotations

import configparser
import contextlib
import gzip
import io
import lzma
import os
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from msgspec.structs import replace
from packaging.markers import Marker
from packaging.requirements import InvalidRequirement
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import Version

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs
from resolver.config.toml_files import Document, read_text
from resolver.errors import IndexFailure, InputError, WrongRelease
from resolver.index import snapshot as snapshot_file
from resolver.index.live import LiveCatalog
from resolver.index.net.client import RetryPolicy
from resolver.index.net.pipconfig import PipConfig, read_pip_config
from resolver.index.parse import metadata, simple
from resolver.index.parse.address import NOWHERE, origin_of, read_root
from resolver.index.parse.archive import read_archive, read_member
from resolver.index.parse.distribution import (
    Compatibility,
    FileRelease,
    is_readable,
    release_of,
    wheel_parts,
)
from resolver.index.parse.elf import read_elf
from resolver.index.parse.guarded import MissingSpanError, RangeFile
from resolver.index.parse.informal import informal_requirements
from resolver.index.parse.metadata import check_texts, read_pyproject
from resolver.index.parse.wheel import wheel_metadata
from resolver.index.pool import CatalogPool
from resolver.index.protocol import UnusableFile
from resolver.index.snapshot import SnapshotCatalog
from resolver.index.store.cache import Cache
from resolver.index.store.file_cache import FileCache
from resolver.index.store.page_cache import StoredPage, cache_key
from resolver.linkage.judgement import missing_libraries, newer_glibc
from resolver.lock import bundle, folder
from resolver.lock import file as lock_file
from resolver.model import text
from resolver.model.linkage import Linkage
from resolver.model.problem import PYPI, Binding, Index, Indexes
from resolver.model.release import Archive, CoreMetadata, File
from resolver.model.repository import Direct
from resolver.model.target import Target as Machine
from resolver.owned_folder import OwnedFolder
from resolver.phrase import literal
from resolver.report import render
from resolver.resolve.needs import requirements_file
from tests.components import COMPONENTS, SYSTEMS
from tests.datacatalog import DataCatalog
from tests.fuzz import tokens

DEMO = NormalizedName("demo")
WHEEL = FileRelease("demo-1.0-py3-none-any.whl", DEMO, "1.0")
SHA = "a" * 64
ARCHIVE = File("demo-1.0.tar.gz", "https://files.example/demo-1.0.tar.gz", "a" * 64, 1000)
FILE = File(WHEEL.filename, f"https://files.example/{WHEEL.filename}", SHA, 1000)
HERE = Machine(name="here", python="3.11", platform="linux-aarch64", glibc=(2, 28))
_CUTOFF = datetime(2026, 11, 20, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Target:
    """A reader.

    `tokens` are strings with a meaning in its format; the corpus is the folder of this name.
    """

    name: str
    judge: Callable[[bytes], None]
    refusals: tuple[type[Exception], ...]
    tokens: tuple[bytes, ...] = ()


# --- from indexes


def page(content: bytes) -> None:
    """Read an index page. The first line is the content type."""
    kind, _, body = content.partition(b"\n")
    url = "https://index.example/simple/demo/"
    read = simple.parse(body, kind.decode("latin-1"), project=DEMO, index="pypi", url=url)
    assert sorted(map(_key, read.releases)) == sorted({_key(one) for one in read.releases}), (
        "a version twice"
    )
    for version, files in read.releases.items():
        assert files, "a release without files"
        for file in files:
            assert is_readable(file.filename)
            assert file.url.isprintable() or file.url == NOWHERE
            assert _is_sha256(file.sha256)
            assert file.metadata is None or _is_sha256(file.metadata)
            assert text.version(release_of(file, {DEMO}.__contains__).version) == text.version(
                version
            )
            assert "@" not in file.url.partition("://")[2].partition("/")[0], (
                "credentials in an address"
            )
            with contextlib.suppress(ValueError):
                origin_of(file.url)
        for cutoff in (None, _CUTOFF):
            screened = Compatibility(HERE, cutoff)(files)
            names = {
                file.filename for file in files
            }  # one that is listed with several hashes is set aside once
            assert len(screened.wheels) + len(screened.archives) + len(screened.rejections) == len(
                names
            )
    written = simple.read(body, kind.decode("latin-1"), project=DEMO, index="pypi", url=url)
    stored = msgspec.msgpack.decode(
        msgspec.msgpack.encode(StoredPage("").with_page("key", written)), type=StoredPage
    )
    assert stored.page(DEMO, "pypi") == read, "a page that comes back otherwise from the cache"
    assert list(map(_key, read.releases)) == sorted(map(_key, read.releases), reverse=True), (
        "not the newest first"
    )


def _key(spelling: str) -> Version:
    version = text.version(spelling)
    assert version is not None
    return version


def _is_sha256(digest: str) -> bool:
    return digest == "" or (len(digest) == 64 and set(digest) <= set("0123456789abcdef"))


def core_metadata(content: bytes) -> None:
    """METADATA, and what a solver does with it."""
    found = metadata.read(content, WHEEL, FILE.url).metadata
    assert (canonicalize_name(found.name), Version(found.version)) == (DEMO, Version("1.0"))
    for line in found.requires_dist:
        need = text.requirement(line)
        need.specifier.contains(Version("1.0"), prereleases=True)
        str(need)
        for extra in ("", *found.provides_extra[:3]):
            with contextlib.suppress(InvalidRequirement):  # told by the solver
                need.applies({**HERE.markers, "extra": extra})
    Compatibility(HERE, None).python_refusal(found.requires_python)


def wheel(content: bytes) -> None:
    """Read a wheel as a file and in pieces.

    Both must find the METADATA that `zipfile` finds, or refuse.
    """
    whole = _metadata_or_refusal(lambda: wheel_metadata(io.BytesIO(content), WHEEL))
    pieces = _metadata_or_refusal(lambda: _in_pieces(content))
    assert type(whole) is type(pieces), f"whole: {whole!r:.200}, in pieces: {pieces!r:.200}"
    if isinstance(whole, UnusableFile):
        raise whole
    assert whole == pieces
    assert whole in _of_zipfile(content), "zipfile reads something else"


_ZIPFILE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


def _of_zipfile(content: bytes) -> list[bytes]:
    """Every METADATA that zipfile gives, whichever folder it is in."""
    found: list[bytes] = []
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError):
        return found
    with archive:
        for name in archive.namelist():
            if name.endswith(".dist-info/METADATA"):
                with contextlib.suppress(*_ZIPFILE):
                    found.append(archive.read(name))
    return found


def _in_pieces(content: bytes) -> bytes:
    sparse = RangeFile(len(content))
    for _ in range(64):
        try:
            return wheel_metadata(sparse, WHEEL)
        except MissingSpanError as missing:
            start, end = missing.args[0], min(missing.args[1], len(content))
            assert 0 <= start < end
            sparse.add(start, content[start:end])
    raise AssertionError("it asks for ever more pieces")


def binary(content: bytes) -> None:
    """Read an ELF object of a wheel: the result is short, prints, and can be judged."""
    found = read_elf(content, "a.so")
    if found is None:
        return
    shared_object = found.shared_object
    assert all(
        name.isprintable() and len(name) <= 1024
        for name in (*shared_object.names, *shared_object.needs)
    )
    linkage = Linkage((shared_object,))
    newer_glibc(linkage, (2, 28))
    missing_libraries(linkage, frozenset())


def _metadata_or_refusal(read: Callable[[], bytes]) -> bytes | UnusableFile:
    try:
        return read()
    except UnusableFile as refusal:
        return refusal


def archive(ending: str, content: bytes) -> None:
    """Read a source archive, given unpacked if it is a tar."""
    path = _folder() / f"archive{ending}"
    path.write_bytes(gzip.compress(content, 1, mtime=0) if ending == ".tar.gz" else content)
    release = FileRelease(f"demo-1.0{ending}", DEMO, "1.0")
    found = read_archive(path, release, FILE.url)
    if found.metadata is not None:
        assert canonicalize_name(found.metadata.name) == DEMO
        for line in found.metadata.requires_dist:
            text.requirement(line)
    with contextlib.suppress(UnusableFile):
        requirements_file(read_member(path, release, "requirements.txt"))


def notes(content: bytes) -> None:
    """Read the requires.txt of an archive without static metadata.

    A fact can say what is read of it.
    """
    catalog = DataCatalog()
    members = {"demo.egg-info/requires.txt": content.decode("utf-8", "replace")}
    catalog.add_archive("demo", "1.0", None, members=members)
    found = informal_requirements(ARCHIVE, catalog)
    if found is not None:
        check_texts(CoreMetadata("demo", "1.0", found.lines), ARCHIVE.filename)
        for line in found.lines:
            assert line.isprintable()
            with contextlib.suppress(InvalidRequirement):
                text.requirement(line)


def project(content: bytes) -> None:
    found = read_pyproject(content, FileRelease("demo-1.0.tar.gz", DEMO, "1.0"))
    for line in found.metadata.requires_dist if found.metadata else ():
        marker = text.requirement(line).marker
        assert marker is None or isinstance(marker, Marker)


def names(content: bytes) -> None:
    """File names, a line each: what `packaging` reads is read alike, or not at all."""
    for line in content.decode("utf-8", "replace").split("\n"):
        if not is_readable(line):
            continue
        parts = wheel_parts(line)
        try:
            name, version, _, tags = parse_wheel_filename(line)
        except (InvalidWheelFilename, ValueError):
            continue
        if (
            parts is not None
            and "-" not in parts.platform
            and text.version(parts.version) is not None
        ):
            assert (text.name(parts.distribution), text.version(parts.version)) == (name, version)
            ours = product(parts.python.split("."), parts.abi.split("."), parts.platform.split("."))
            assert {"-".join(one).lower() for one in ours} == set(map(str, tags))
        with contextlib.suppress(UnusableFile):
            found = release_of(File(line), {name}.__contains__)
            assert (found.project, text.version(found.version)) in ((name, version), (name, None))


def headers(content: bytes) -> None:
    """Header fields of which a number or a moment is read, a line each."""
    for line in content.decode("latin-1").splitlines():
        assert 0.0 <= RetryPolicy(pause=0.0).wait(1, line) <= 20.0


def addresses(content: bytes) -> None:
    """Addresses of indexes, and direct references, a line each."""
    for line in content.decode("utf-8", "replace").splitlines():
        with contextlib.suppress(InputError):
            root = read_root(line, "own")
            assert "@" not in root.url.partition("://")[2].partition("/")[0]
            assert root.url.startswith(("https://", "http://"))
        with contextlib.suppress(ValueError):
            direct = Direct.parse(line)
            assert direct.url.isprintable()
            assert ".." not in direct.subdirectory.split("/")
            assert not direct.revision.startswith("-")


# --- from files on this machine


_SHAPES: dict[str, type[Any]] = {
    "stack": schema.StackFile,
    "facts": schema.FactFile,
    "indexes": schema.IndexesFile,
    "systems": schema.SystemsFile,
}


def toml(kind: str, content: bytes) -> None:
    """One of the files of `matrices/`, the others as they ship."""
    name = (
        f"matrices/{kind}.toml" if kind in ("indexes", "systems") else f"matrices/{kind}s/demo.toml"
    )
    try:
        text = content.decode().replace("\r\n", "\n")
        read = read_text(text, _SHAPES[kind], name, COMPONENTS)
    except UnicodeDecodeError:
        raise InputError(literal(f"`{name}` is not UTF-8")) from None  # as `load` has it
    problems = compile_problems(_inputs(kind, read))
    assert problems
    for problem in problems:
        for fact in problem.facts:
            assert fact.where.startswith(name)
        for one in ("torch", "demo"):
            problem.indexes.binding(NormalizedName(one), problem.target.platform)
        assert problem.target.tags
        assert "/" not in problem.target.name
        assert problem.target.name not in ("", ".", "..")


@cache
def _plain_stack() -> Document[schema.StackFile]:
    content = (CORPUS / "stack" / "plain.toml").read_text()
    return read_text(content, schema.StackFile, "matrices/stacks/plain.toml", COMPONENTS)


def _inputs(kind: str, read: Document[Any]) -> Inputs:
    if kind == "stack":
        return Inputs(stack=read, facts=(), indexes=None, systems=SYSTEMS)
    made = Inputs(stack=_plain_stack(), facts=(), indexes=None, systems=SYSTEMS)
    return replace(made, **{"facts": (read,)} if kind == "facts" else {kind: read})


def lock(content: bytes) -> None:
    """Read a lock: it can be written again, and all that is made of it is harmless to print."""
    place = _folder() / "lock"
    place.mkdir(exist_ok=True)
    (place / lock_file.NAME).write_bytes(content)
    found = lock_file.read(place)
    assert found is not None
    written = lock_file.dump(found)
    (place / lock_file.NAME).write_text(written, encoding="utf-8")
    assert lock_file.read(place) == found
    assert lock_file.dump(found) == written
    for name, rendered in render(found).items():
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        odd = {
            char for char in rendered if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")
        } - {"\n", "\t"}
        assert not odd, f"{name} has {odd!r}"


def manifest(content: bytes) -> None:
    place = _folder() / "bundle"
    place.mkdir(exist_ok=True)
    (place / "conflict.json").write_bytes(content)
    assert all(isinstance(one, str) for one in folder.report_inputs(place))
    (place / bundle.MANIFEST).write_bytes(content)
    with OwnedFolder.open(place) as owned:
        found = bundle.read(owned)
        assert found is not None
        for row in bundle.rows_of(found):
            assert (place / row.path).resolve().is_relative_to(place.resolve())
        bundle.mismatches(owned, found)
        bundle.left_over(owned, found, ())


def pip_config(content: bytes) -> None:
    """pip.conf: the options that pip itself reads there."""
    from pip._internal.exceptions import ConfigurationError

    path = _folder() / "pip.conf"
    path.write_bytes(content)
    environ = {"PIP_CONFIG_FILE": str(path), "HOME": str(_folder()), "XDG_CONFIG_DIRS": "/nowhere"}
    with mock.patch.dict(os.environ, environ, clear=True):
        found = read_pip_config()
    parser = configparser.RawConfigParser()
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError, ConfigurationError) as error:
        raise AssertionError("pip cannot read it") from error
    assert 1.0 <= found.timeout <= 600.0
    assert isinstance(found.index_url, str)


# --- written by the program itself, or another version of it


def cache_entry(content: bytes) -> None:
    """Read an entry of any kind that has another content than it was given.

    It counts as absent, or has the right form.
    """
    store = Cache(_folder() / "cache", _no_warning)
    stored = FileCache(store)
    store.save("metadata", f"{SHA}\0{FILE.url}", msgspec.Raw(content))
    store.save("archive", SHA, msgspec.Raw(content))
    store.save("text", f"{SHA}/requirements.txt", msgspec.Raw(content))
    store.save("hash", FILE.url, msgspec.Raw(content))
    with contextlib.suppress(UnusableFile, WrongRelease):
        found = stored.metadata(FILE, WHEEL)
        assert found is None or (canonicalize_name(found.name), Version(found.version)) == (
            DEMO,
            Version("1.0"),
        )
    with contextlib.suppress(UnusableFile):
        assert isinstance(stored.archive(FILE), Archive | None)
    with contextlib.suppress(UnusableFile):
        assert isinstance(stored.member(FILE, "requirements.txt"), str | None)
    stored.hashed(FILE)
    root = read_root("https://index.example/simple/", "pypi")
    pip = PipConfig(index_url=root.url)
    place = cache_key(root, DEMO)
    for form in (
        content,
        msgspec.msgpack.encode((root.page(DEMO), "", "", "key", msgspec.Raw(content or b"\xc0"))),
    ):
        store.save("page", place, msgspec.Raw(form))
        catalog = LiveCatalog(_INDEXES, "linux-aarch64", CatalogPool(store, offline=True, pip=pip))
        with contextlib.suppress(IndexFailure):
            for found_page in catalog.lookup(DEMO).pages:
                for files in found_page.releases.values():
                    assert all(isinstance(file, File) for file in files)
    store.close()


_INDEXES = Indexes(
    indexes={PYPI: Index(name=PYPI)}, bindings=(Binding(packages=("*",), indexes=("pypi",)),)
)


def snapshot(content: bytes) -> None:
    """Read a whole snapshot with a wrong content, to the last file."""
    path = _folder() / "demo.snapshot"
    path.write_bytes(b"ascend-lock snapshot 2\n" + lzma.compress(content, preset=0))
    found = snapshot_file.read(path)
    catalog = SnapshotCatalog(found, "linux-aarch64")
    for name in [*found.projects][:20]:
        with contextlib.suppress(IndexFailure):
            for one in catalog.lookup(name).pages:
                for files in one.releases.values():
                    for file in files:
                        assert isinstance(file.filename, str)
                        assert _is_sha256(file.sha256)
                        with contextlib.suppress(IndexFailure, UnusableFile):
                            catalog.metadata(file)
                        with contextlib.suppress(IndexFailure, UnusableFile):
                            catalog.sha256(file)
    for answers in (found.metadata, found.archives):
        for key in [*answers][:20]:  # type: ignore[attr-defined]
            answers[key]  # type: ignore[index]


def _no_warning(message: str) -> None:
    raise AssertionError(message)


@cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="ascend-lock-fuzz-")
    _KEPT.append(folder)
    return Path(folder.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # goes with the process
CORPUS = Path(__file__).with_name("corpus")

_FILE = (UnusableFile, IndexFailure)
TARGETS = (
    Target("page", page, (IndexFailure,), tokens.PAGE),
    Target("metadata", core_metadata, _FILE, tokens.METADATA),
    Target("wheel", wheel, _FILE, tokens.ZIP),
    Target("binary", binary, _FILE, tokens.ELF),
    Target("tar", partial(archive, ".tar.gz"), _FILE, tokens.TAR),
    Target("zip", partial(archive, ".zip"), _FILE, tokens.ZIP),
    Target("notes", notes, (), tokens.NOTES),
    Target("pyproject", project, _FILE, tokens.PROJECT),
    Target("names", names, (), tokens.NAMES),
    Target("headers", headers, (), tokens.HEADERS),
    Target("addresses", addresses, (), tokens.ADDRESSES),
    *(Target(kind, partial(toml, kind), (InputError,), tokens.TOML) for kind in _SHAPES),
    Target("lock", lock, (InputError,), tokens.LOCK),
    Target("manifest", manifest, (InputError,), tokens.MANIFEST),
    Target("pip-config", pip_config, (InputError,), tokens.CONFIG),
    Target("cache", cache_entry, (), tokens.PACK),
    Target("snapshot", snapshot, (InputError,), tokens.PACK),
)


def by_name(name: str) -> Target:
    return next(target for target in TARGETS if target.name == name)
