"""Read the submodules of a repository: addresses from .gitmodules, commits from the tree."""

from __future__ import annotations

import re
from collections.abc import Mapping

from resolver.audit.upstream.entry import Entry, TextFile
from resolver.errors import InputError
from resolver.phrase import literal, phrase

_SECTION = re.compile(r'\[submodule "[^"]*"\]')
_SETTING = re.compile(r"(?P<key>[a-z]+)\s*=\s*(?P<value>.*)")


def parse(file: TextFile, columns: Mapping[str, str]) -> list[Entry]:  # noqa: ARG001
    """Return an entry for each submodule, with the columns `path`, `git` and `commit`.

    Raises InputError if a submodule has no address in .gitmodules.
    """
    addresses = {section.get("path", ""): section.get("url", "") for section in _sections(file)}
    last = len(file.lines())
    entries = []
    for path, commit in sorted(file.submodules.items()):
        address = addresses.get(path)
        if not address:
            raise InputError(
                phrase("the submodule `{path}` has no address", path=path), where=file.where
            )
        values = {"path": path, "git": address, "commit": commit}
        entries.append(Entry(values=values, first=1, last=last))
    return entries


def _sections(file: TextFile) -> list[dict[str, str]]:
    """Return the settings of each submodule in .gitmodules."""
    sections: list[dict[str, str]] = []
    for number, line in enumerate(file.lines(), 1):
        if _SECTION.fullmatch(line.strip()):
            sections.append({})
        setting = _SETTING.fullmatch(line.strip())
        if setting is not None and sections:
            key = setting["key"]
            sections[-1][key] = file.value(setting["value"], number, literal(f"`{key}`"))
    return sections
