"""Write pages that make a folder of distributions an index, for any server of static files.

They follow the simple repository API in HTML (PEP 503) and in JSON (PEP 691). The metadata of
wheels are beside the wheels (PEP 658). `cli.bundle` calls this.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    NormalizedName,
    parse_sdist_filename,
    parse_wheel_filename,
)

from resolver.files import json_text

FOLDER: Final = "simple"
_API_VERSION: Final = "1.1"
_PAGE = """\
<!DOCTYPE html>
<html>
<head>
<meta name="pypi:repository-version" content="{api}">
<title>{title}</title>
</head>
<body>
{links}
</body>
</html>
"""


class IndexedFile(msgspec.Struct, frozen=True):
    """A distribution in the folder that becomes an index."""

    # Its path in the folder.
    path: str
    # The sha256 of the file.
    sha256: str
    # The size in bytes.
    size: int
    # The METADATA of a wheel; None for an archive, or if it cannot be read as text.
    metadata: str | None = None
    # Requires-Python; empty if the distribution has none.
    requires_python: str = ""

    @property
    def filename(self) -> str:
        """Return the file name without folders."""
        return self.path.rpartition("/")[2]

    @property
    def metadata_sha256(self) -> str:
        """Return the sha256 of the metadata; empty if there are none."""
        if self.metadata is None:
            return ""
        return hashlib.sha256(self.metadata.encode()).hexdigest()


def release_of(filename: str) -> tuple[NormalizedName, str] | None:
    """Return the project and version in a distribution's file name; None for other files."""
    try:
        if filename.endswith(".whl"):
            name, version, _, _ = parse_wheel_filename(filename)
        else:
            name, version = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    return name, str(version)


def index_pages(files: Iterable[IndexedFile]) -> dict[str, str]:
    """Return the pages for these files, and the metadata of wheels, by path in the folder."""
    by_project: dict[NormalizedName, list[IndexedFile]] = {}
    texts: dict[str, str] = {}
    for file in sorted(files, key=lambda file: file.filename):
        release = release_of(file.filename)
        if release is None:
            continue
        by_project.setdefault(release[0], []).append(file)
        if file.metadata is not None:
            texts[f"{file.path}.metadata"] = file.metadata
    projects = sorted(by_project)
    links = [f'<a href="{name}/">{name}</a><br>' for name in projects]
    texts[f"{FOLDER}/index.html"] = _page("Simple index", links)
    listed = [{"name": name} for name in projects]
    texts[f"{FOLDER}/index.json"] = _json({"projects": listed})
    for name in projects:
        links = [_link(file) for file in by_project[name]]
        texts[f"{FOLDER}/{name}/index.html"] = _page(f"Links for {name}", links)
        texts[f"{FOLDER}/{name}/index.json"] = _json(_project(name, by_project[name]))
    return texts


def _page(title: str, links: Iterable[str]) -> str:
    """Return a page of HTML with these links."""
    return _PAGE.format(api=_API_VERSION, title=html.escape(title), links="\n".join(links))


def _link(file: IndexedFile) -> str:
    """Return the link to a file (PEP 503, PEP 658)."""
    attributes = {"href": f"{_url(file)}#sha256={file.sha256}"}
    if file.requires_python:
        attributes["data-requires-python"] = file.requires_python
    if file.metadata is not None:
        attributes["data-core-metadata"] = f"sha256={file.metadata_sha256}"
    written = [f'{name}="{html.escape(value)}"' for name, value in attributes.items()]
    return f"<a {' '.join(written)}>{html.escape(file.filename)}</a><br>"


def _url(file: IndexedFile) -> str:
    """Return the address of a file relative to the page of its project."""
    return "../../" + quote(file.path)


def _project(name: NormalizedName, files: Iterable[IndexedFile]) -> dict[str, Any]:
    """Return the page of a project for JSON (PEP 691, PEP 700)."""
    versions: dict[str, None] = {}
    rows: list[dict[str, Any]] = []
    for file in files:
        release = release_of(file.filename)
        if release is not None:
            versions[release[1]] = None
        entry: dict[str, Any] = {
            "filename": file.filename,
            "url": _url(file),
            "hashes": {"sha256": file.sha256},
            "size": file.size,
        }
        if file.requires_python:
            entry["requires-python"] = file.requires_python
        if file.metadata is not None:
            entry["core-metadata"] = {"sha256": file.metadata_sha256}
        rows.append(entry)
    return {"name": name, "versions": sorted(versions), "files": rows}


def _json(content: Mapping[str, Any]) -> str:
    """Return a page of JSON with this content."""
    return json_text({"meta": {"api-version": _API_VERSION}, **content}) + "\n"
