"""Submodules of a repository: their paths and addresses from .gitmodules, their commits from the tree."""

from __future__ import annotations

import re
from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError

_SECTION = re.compile(r'\[submodule "[^"]*"\]')
_SETTING = re.compile(r"(?P<key>[a-z]+)\s*=\s*(?P<value>.*)")


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:  # noqa: ARG001
    """Return an entry for each submodule: `path`, `git`, `commit`.

    Raises InputError if a commit has no address.
    """
    sections: list[dict[str, str]] = []
    lines = file.lines()
    for number, line in enumerate(lines, 1):
        if _SECTION.fullmatch(line.strip()):
            sections.append({})
        elif sections and (match := _SETTING.fullmatch(line.strip())):
            sections[-1][match["key"]] = file.value(match["value"], number, f"`{match['key']}`")
    addresses = {section.get("path", ""): section.get("url", "") for section in sections}
    entries = []
    for path, commit in sorted(file.submodules.items()):
        if not addresses.get(path):
            raise InputError(f"the submodule `{path}` has no address", where=file.where)
        values = {"path": path, "git": addresses[path], "commit": commit}
        entries.append(Entry(values=values, first=1, last=len(lines)))
    return entries
