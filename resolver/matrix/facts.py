"""From rows to facts: texts parsed, places kept, rules checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName

from resolver.errors import InputError
from resolver.matrix import schema
from resolver.matrix.document import Document
from resolver.matrix.families import require_known_in
from resolver.matrix.needs import parse_env, parse_need, parse_project, parse_requirement
from resolver.matrix.sources import compile_source
from resolver.model import fact as model
from resolver.model import text
from resolver.model.requirement import Requirement

_Facts = Document[schema.FactFile]
# What bash does not allow to be set, and what set_env.sh and activation extend, but a fact would replace.
_READ_ONLY = frozenset(("BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"))
_EXTENDED = frozenset(("LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "VIRTUAL_ENV"))
_KINDS = (
    "requires",
    "excludes",
    "replaces",
    "metadata",
    "builds",
    "collides",
    "after",
    "warns",
    "names",
    "sources",
    "absent",
    "exports",
)

# What each fact must have, with an example.
_EVIDENCE = {"strength": '"observed"', "source": '"our runs on four A2 machines"', "checked": "2026-01-31"}


def compile_facts(documents: Sequence[_Facts], systems: Document[schema.SystemsFile] | None) -> tuple[model.Fact, ...]:
    """All facts, in the order of files and rows. Raises InputError with file:line:key."""
    facts: list[model.Fact] = []
    places: dict[str, str] = {}
    for document in documents:
        for kind in _KINDS:
            for number, row in enumerate(getattr(document.content, kind)):
                fact = _fact(document, kind, number, row, systems)
                if fact.id in places:
                    raise InputError(
                        f"two facts have the id `{fact.id}`",
                        where=document.place(kind, number, "id"),
                        why=f"the other is at {places[fact.id]}",
                    )
                places[fact.id] = fact.where
                facts.append(fact)
    return tuple(facts)


def _fact(
    document: _Facts, kind: str, number: int, row: Any, systems: Document[schema.SystemsFile] | None
) -> model.Fact:
    defaults = document.content.defaults
    stem = PurePosixPath(document.name).stem
    own = bool(document.below)  # a fact in the stack itself, which must name its project
    if own and row.package is None:
        raise InputError(
            "a fact in a stack must name the project it is about",
            where=document.place(kind, number),
            hint='add package = "…"',
        )
    package = parse_project(document, row.package, kind, number, "package") if row.package else text.name(stem)
    if package != text.name(stem) and not own:
        raise InputError(
            f"a fact about `{package}` is in the file of `{stem}`",
            where=document.place(kind, number, "package"),
            hint=f"facts about a project belong in facts/{package}.toml",
        )
    common: dict[str, Any] = {
        "id": row.id or ("stack-" if own else "") + f"{package}-{kind}-{number + 1}",
        "package": package,
        "versions": _versions(document, row.versions, kind, number, "versions")
        if isinstance(row, schema.FactRow)
        else (SpecifierSet(),),
        "reason": _sentence(document, row.reason, kind, number, "reason"),
        "reason_zh": "" if row.reason_zh is None else _sentence(document, row.reason_zh, kind, number, "reason-zh"),
        "where": document.line(kind, number),
    }
    evidence = {key: getattr(row, key) or getattr(defaults, key) for key in _EVIDENCE}
    if missing := [key for key, value in evidence.items() if value is None]:
        table = "[fact.defaults]" if own else "[defaults] of the file"
        lines = ", ".join(f"{key} = {_EVIDENCE[key]}" for key in missing)
        raise InputError(
            f"the fact has no {', no '.join(f'`{key}`' for key in missing)}",
            where=document.place(kind, number),
            hint=f"add to the row, or to {table}, for example: {lines}",
        )
    common |= {**evidence, "strength": model.Strength(evidence["strength"])}

    def needs(lines: list[str], key: str) -> tuple[model.Need, ...]:
        found = tuple(parse_need(document, line, kind, number, key, at) for at, line in enumerate(lines))
        for at, need in enumerate(found):
            require_known_in(need, systems, document.place(kind, number, key, at))
        return found

    def requirements(lines: list[str], key: str) -> tuple[Requirement, ...]:
        return tuple(parse_requirement(document, line, kind, number, key, at) for at, line in enumerate(lines))

    def projects(names: list[str], key: str) -> tuple[NormalizedName, ...]:
        return tuple(parse_project(document, name, kind, number, key, at) for at, name in enumerate(names))

    match row:
        case schema.RequiresRow():
            return model.Requires(**common, needs=needs(row.needs, "needs"), wheels=row.wheels)
        case schema.ExcludesRow():
            return model.Excludes(**common)
        case schema.ReplacesRow():
            return model.Replaces(**common, drop=projects(row.drop, "drop"), add=needs(row.add, "add"))
        case schema.MetadataRow():
            builds = row.build_requires
            return model.Metadata(
                **common,
                requires=requirements(row.requires, "requires"),
                build_requires=None if builds is None else requirements(builds, "build-requires"),
                requires_python=_versions(document, row.requires_python, kind, number, "requires-python")[0]
                if row.requires_python
                else None,
            )
        case schema.BuildsRow():
            _relative(document, row.requires_from, kind, number, "requires-from")
            return model.Builds(
                **common,
                requires_from=row.requires_from,
                label=row.label or "",
                env=parse_env(document, row.env, kind, number, "env"),
                isolation=row.isolation,
                build_drop=projects(row.build_drop, "build-drop"),
                build_add=requirements(row.build_add, "build-add"),
            )
        case schema.CollidesRow():
            return model.Collides(
                **common, other=parse_project(document, row.with_, kind, number, "with"), module=row.module
            )
        case schema.AfterRow():
            return model.After(**common, others=projects(row.others, "others"))
        case schema.WarnsRow():
            unless = needs(row.unless, "unless")
            if row.last and (row.with_ or row.extra or row.wheels or any(isinstance(n, Requirement) for n in unless)):
                raise InputError(
                    "which releases come last cannot hang on what else is in the lock",
                    where=document.place(kind, number, "last"),
                    hint="leave out `with`, `extra` and `wheels`, and name components alone in `unless`",
                )
            return model.Warns(
                **common,
                text=row.text,
                text_zh=row.text_zh or "",
                grave=row.grave,
                wheels=row.wheels,
                extra=text.name(row.extra or ""),
                beside=requirements(row.with_, "with"),
                unless=unless,
                last=row.last,
            )
        case schema.NamesRow():
            return model.Names(**common, index=row.index)
        case schema.ExportsRow():
            _settable(document, row.env, kind, number, "env")
            env = parse_env(document, row.env, kind, number, "env")
            return model.Exports(**common, env=env, optional=row.optional)
        case schema.SourcesRow():
            return compile_source(document, row, common, kind, number)
        case schema.AbsentRow():
            other = parse_project(document, row.without, kind, number, "without")
            if other == package:
                raise InputError(
                    f"`{package}` cannot be absent where it is installed", where=document.place(kind, number, "without")
                )
            return model.Absent(**common, other=other)
        case _:
            raise AssertionError(f"unknown kind of fact: {kind}")


def _versions(document: _Facts, texts: str | list[str], *path: str | int) -> tuple[SpecifierSet, ...]:
    rows = [(texts, path)] if isinstance(texts, str) else [(one, (*path, at)) for at, one in enumerate(texts)]
    found = []
    for one, place in rows:
        try:
            found.append(text.specifier_set(one))
        except InvalidSpecifier as error:
            raise InputError(
                f"`{one}` is not a set of versions",
                where=document.place(*place),
                why=str(error),
                hint=_versions_hint(one),
            ) from None
    return tuple(found)


def _versions_hint(given: str) -> str:
    repaired = re.sub(r"=([<>!~])", r"\1=", given.strip())
    repaired = re.sub(r"^=?\s*v?(?=\d+\.\d)", "==", repaired)
    meant = f"did you mean `{repaired}`? " if text.specifiers(repaired) else ""
    return f"{meant}write for example `==0.13.0` or `>=0.10,<0.14` (PEP 440)"


def _sentence(document: _Facts, words: str, *path: str | int) -> str:
    if not words.strip():
        raise InputError(
            "the fact has an empty reason", where=document.place(*path), hint="give the reason in a sentence"
        )
    return " ".join(words.split())


def _settable(document: _Facts, variables: dict[str, str], *path: str | int) -> None:
    for key in variables:
        why = "bash keeps it read-only" if key in _READ_ONLY else "CANN and the environment extend it, a fact cannot"
        if key in _READ_ONLY or key in _EXTENDED:
            raise InputError(f"`{key}` is not for a fact to set", where=document.place(*path, key), why=why)


def _relative(document: _Facts, path_text: str, *path: str | int) -> None:
    parts = PurePosixPath(path_text).parts
    if path_text.startswith("/") or ".." in parts or not parts:
        raise InputError(
            f"`{path_text}` is not a path inside the archive",
            where=document.place(*path),
            hint="write for example `requirements/common.txt`",
        )
