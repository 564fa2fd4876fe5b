"""What is installed in this environment, from the folders that pip and conda leave beside the modules."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from resolver.verify.finding import Finding
from resolver.verify.reading import UnreadableError, read_bytes, read_text
from resolver.verify.versions import canonical_name, canonical_version

_HEADER = re.compile(rb"^(Name|Version)[ \t]*:[ \t]*([^\r\n]*?)[ \t]*\r?$", re.MULTILINE)


class Installed(NamedTuple):
    """One distribution. `root` is what the paths of its RECORD start from, `direct` its direct_url.json."""

    name: str
    version: str
    root: str
    info: str
    installer: str = ""
    direct: dict[str, Any] | None = None

    @property
    def source(self) -> str:
        """The folder that an editable installation points to; nothing for any other."""
        about = self.direct or {}
        folder = about.get("dir_info")
        if isinstance(folder, dict) and folder.get("editable") is True:
            return re.sub("^file://", "", str(about.get("url", "")))
        if not self.info.endswith(".dist-info") and not read_names(self.info):
            return self.root  # setup.py develop, without a list of what it installed
        return ""


def installed_distributions(paths: Iterable[str]) -> tuple[dict[str, Installed], list[Finding]]:
    """By name; of several in the search path the first, as Python takes it."""
    found: dict[str, Installed] = {}
    findings: list[Finding] = []
    for root in dict.fromkeys(map(os.path.realpath, paths)):
        here: dict[str, str] = {}
        for entry in _entries(root):
            path = os.path.join(root, entry)
            if entry.startswith("~"):
                findings.append(Finding("distribution-leftover", {"path": path}))
                continue
            one, trouble = _read(root, path)
            if one.name in here:
                values = {"name": one.name, "one": here[one.name], "other": entry}
                findings.append(Finding("distribution-twice", values))
                continue
            here[one.name] = entry
            if one.name not in found:
                found[one.name] = one
                findings += trouble
    return found, findings


def _entries(root: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(root) if name.endswith((".dist-info", ".egg-info")))
    except OSError:  # a search path may name what is not there
        return []


def _read(root: str, path: str) -> tuple[Installed, list[Finding]]:
    name, _, version = os.path.basename(path).rpartition(".")[0].partition("-")
    findings: list[Finding] = []
    metadata = path
    if os.path.isdir(path):
        metadata = os.path.join(path, "METADATA" if path.endswith(".dist-info") else "PKG-INFO")
    try:
        head = re.split(rb"\r?\n\r?\n", read_bytes(metadata))[0]
        fields = {match[1]: match[2].decode("utf-8") for match in _HEADER.finditer(head)}
        if not fields.get(b"Name") or not fields.get(b"Version"):
            raise UnreadableError(metadata, "it has no Name or no Version")
        name, version = fields[b"Name"], fields[b"Version"]
    except (OSError, UnicodeDecodeError, UnreadableError) as error:
        why = error.why if isinstance(error, UnreadableError) else getattr(error, "strerror", None) or str(error)
        findings.append(Finding("metadata-broken", {"name": canonical_name(name), "path": metadata, "why": why}))
        version = ""
    installer, direct = "", None
    try:
        installer = (read_text(os.path.join(path, "INSTALLER")) or "").strip() if os.path.isdir(path) else ""
        text = read_text(os.path.join(path, "direct_url.json")) if os.path.isdir(path) else None
        direct = json.loads(text) if text is not None else None
        if direct is not None and not isinstance(direct, dict):
            raise ValueError("it is not a JSON object")
    except UnreadableError as error:
        findings.append(Finding("metadata-broken", {"name": canonical_name(name), **error.values}))
    except (ValueError, RecursionError) as error:
        direct = None
        values = {"name": canonical_name(name), "path": os.path.join(path, "direct_url.json"), "why": str(error)}
        findings.append(Finding("metadata-broken", values))
    return Installed(canonical_name(name), canonical_version(version), root, path, installer, direct), findings


def read_names(info: str) -> bool:
    """Whether an .egg-info knows its files."""
    return os.path.isfile(os.path.join(info, "installed-files.txt")) or not os.path.isdir(info)
