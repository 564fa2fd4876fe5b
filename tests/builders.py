"""Real wheels and source archives, built in memory. The same arguments give the same bytes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

Extras = Mapping[str, Iterable[str]]

# Locking never runs code of a package: a test in which it runs must fail.
_SETUP = 'raise SystemExit("setup.py was run")\n'


@dataclass(frozen=True)
class Built:
    """A file as served by an index. `metadata` is its METADATA or PKG-INFO."""

    filename: str
    content: bytes
    metadata: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def releases(rows: Iterable[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, version and requirements.

    A row is `name version …` or `name version …: requirement, …`.
    """
    for row in rows:
        head, _, requires = row.partition(": ")
        name, *versions = head.split()
        for version in versions:
            yield name, version, requires.split(", ") if requires else []


def core_metadata(
    name: str,
    version: str,
    *,
    requires: Iterable[str] = (),
    requires_python: str = "",
    extras: Extras | None = None,
    metadata_version: str = "2.1",
    dynamic: Iterable[str] = (),
) -> bytes:
    """Return a METADATA file (PEP 566, PEP 643)."""
    lines = [f"Metadata-Version: {metadata_version}", f"Name: {name}", f"Version: {version}"]
    lines += [f"Dynamic: {field}" for field in dynamic]
    if requires_python:
        lines.append(f"Requires-Python: {requires_python}")
    lines += [f"Requires-Dist: {line}" for line in requires]
    for extra, needs in (extras or {}).items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {_for_extra(line, extra)}" for line in needs]
    return ("\n".join(lines) + "\n\n").encode()


def build_wheel(
    name: str,
    version: str,
    *,
    tags: str = "py3-none-any",
    stated_version: str = "",
    files: Mapping[str, str] | None = None,
    **stated: Any,
) -> Built:
    """Build a wheel with one module; `stated` is in METADATA, as `core_metadata` takes it.

    `stated_version` is the version there if it differs from that of the file's name.
    """
    distribution = re.sub(r"[-_.]+", "_", name)
    filename = f"{distribution}-{version}-{tags}.whl"
    metadata = core_metadata(name, stated_version or version, **stated)
    info = f"{distribution}-{version}.dist-info"
    pure = str(tags.endswith("-any")).lower()
    expanded = product(*(part.split(".") for part in tags.split("-")))
    each_tag = "".join(f"Tag: {'-'.join(tag)}\n" for tag in expanded)
    members = {path: text.encode() for path, text in (files or {f"{distribution}.py": ""}).items()}
    members[f"{info}/METADATA"] = metadata
    members[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: {pure}\n{each_tag}".encode()
    )
    rows = [
        f"{path},sha256={_urlsafe(content)},{len(content)}\n" for path, content in members.items()
    ]
    members[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    return Built(filename, _zip(members), metadata)


def build_archive(
    name: str,
    version: str,
    *,
    static: bool = True,
    build_requires: Iterable[str] | None = ("setuptools",),
    members: Mapping[str, str] | None = None,
    ending: str = ".tar.gz",
    **stated: Any,
) -> Built:
    """Build a source archive; `stated` is in its PKG-INFO.

    Without `static`, the PKG-INFO calls the requirements dynamic (PEP 643).

    With `build_requires` of None there is no pyproject.toml; `members` add or replace files below
    the top folder.
    """
    distribution = re.sub(r"[-_.]+", "_", name)
    dynamic = () if static else ("Requires-Dist", "Provides-Extra")
    metadata = core_metadata(name, version, metadata_version="2.2", dynamic=dynamic, **stated)
    files = {"PKG-INFO": metadata.decode(), "setup.py": _SETUP}
    if build_requires is not None:
        listed = ", ".join(f'"{line}"' for line in build_requires)
        files["pyproject.toml"] = f"[build-system]\nrequires = [{listed}]\n"
    files |= members or {}
    top = f"{distribution}-{version}"
    contents = {f"{top}/{path}": text.encode() for path, text in files.items()}
    return Built(
        top + ending,
        _zip(contents) if ending == ".zip" else _tar(contents),
        files["PKG-INFO"].encode(),
    )


def _for_extra(line: str, extra: str) -> str:
    requirement, _, marker = line.partition(";")
    condition = (
        f"({marker.strip()}) and extra == '{extra}'" if marker.strip() else f"extra == '{extra}'"
    )
    return f"{requirement.strip()} ; {condition}"


def _urlsafe(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _zip(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path, content in members.items():
            info = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o100644 << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _tar(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in members.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return gzip.compress(file.getvalue(), mtime=0)
