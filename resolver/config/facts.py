"""From rows to facts: texts parsed, places kept, rules checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.config import schema
from resolver.config.document import Document
from resolver.config.row import Row
from resolver.config.sources import compile_source
from resolver.errors import InputError
from resolver.model import fact as model
from resolver.model import text
from resolver.model.component import COMPONENTS, ComponentRequirement
from resolver.model.requirement import Requirement

# What bash does not allow to be set, and what set_env.sh and activation extend, but a fact would replace.
_READ_ONLY = frozenset(("BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"))
_EXTENDED = frozenset(("LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "VIRTUAL_ENV"))
_KINDS = tuple(name for name in schema.FactFile.__struct_fields__ if name != "defaults")

# What each fact must have, with an example.
_EVIDENCE = {"strength": '"observed"', "source": '"our runs on four A2 machines"', "checked": "2026-01-31"}


def compile_facts(
    documents: Sequence[Document[schema.FactFile]], systems: Document[schema.SystemsFile] | None
) -> tuple[model.Fact, ...]:
    """All facts, in the order of files, of kinds in the schema, and of rows. Raises InputError with file:line:key."""
    facts: list[model.Fact] = []
    places: dict[str, str] = {}
    for document in documents:
        for kind in _KINDS:
            for number, given in enumerate(getattr(document.content, kind)):
                row = Row(document, systems, kind, number)
                fact = _fact(given, row)
                if fact.id in places:
                    raise InputError(
                        f"two facts have the id `{fact.id}`",
                        where=row.place("id"),
                        why=f"the other is at {places[fact.id]}",
                    )
                places[fact.id] = fact.where
                facts.append(fact)
    return tuple(facts)


def _fact(given: Any, row: Row) -> model.Fact:
    common = _common(given, row)
    match given:
        case schema.RequiresRow():
            return model.Requires(
                **common, **_risk(given, row, common), needs=row.needs(given.needs, "needs"), wheels=given.wheels
            )
        case schema.ExcludesRow():
            return model.Excludes(**common)
        case schema.ReplacesRow():
            return model.Replaces(
                **common,
                **_risk(given, row, common),
                drop=row.projects(given.drop, "drop"),
                add=row.needs(given.add, "add"),
            )
        case schema.MetadataRow():
            return _metadata(given, row, common)
        case schema.BuildsRow():
            return _builds(given, row, common)
        case schema.CollidesRow():
            return model.Collides(**common, other=row.project(given.with_, "with"), module=given.module)
        case schema.AfterRow():
            return model.After(**common, others=row.projects(given.others, "others"))
        case schema.WarnsRow():
            return _warns(given, row, common)
        case schema.NamesRow():
            if given.component not in (None, *COMPONENTS):
                raise InputError(
                    f"`{given.component}` is not a component",
                    where=row.place("component"),
                    hint=f"components are {', '.join(COMPONENTS)}",
                )
            return model.Names(
                **common,
                index=given.index,
                component=given.component or "",
                unless_asked=row.requirements(given.unless_asked, "unless-asked"),
            )
        case schema.SourcesRow():
            return compile_source(given, row, common)
        case schema.AbsentRow():
            return _absent(given, row, common)
        case schema.ExternalRow():
            return model.External(**common, needs=tuple(given.needs))
        case schema.ExportsRow():
            _require_settable(given.env, row)
            return model.Exports(**common, env=row.env(given.env, "env"), optional=given.optional)
        case _:
            raise AssertionError(f"unknown kind of fact: {row.kind}")


def _common(given: schema.Evidence, row: Row) -> dict[str, Any]:
    """The fields of every kind of fact."""
    package = _package(given, row)
    common: dict[str, Any] = {
        "id": given.id or ("stack-" if row.document.below else "") + f"{package}-{row.kind}-{row.number + 1}",
        "package": package,
        "versions": row.versions(given.versions, "versions")
        if isinstance(given, schema.FactRow)
        else (SpecifierSet(),),
        "reason": _sentence(given.reason, row, "reason"),
        "reason_zh": "" if given.reason_zh is None else _sentence(given.reason_zh, row, "reason-zh"),
        "where": row.line(),
    }
    evidence = {key: getattr(given, key) or getattr(row.document.content.defaults, key) for key in _EVIDENCE}
    if missing := [key for key, value in evidence.items() if value is None]:
        table = "[fact.defaults]" if row.document.below else "[defaults] of the file"
        lines = ", ".join(f"{key} = {_EVIDENCE[key]}" for key in missing)
        raise InputError(
            f"the fact has no {', no '.join(f'`{key}`' for key in missing)}",
            where=row.place(),
            hint=f"add to the row, or to {table}, for example: {lines}",
        )
    strength = model.Strength(evidence["strength"])
    if strength is model.Strength.PRACTICE and not isinstance(given, schema.RequirementsRow):
        raise InputError(
            "only a `replaces` or `requires` fact can be a practice",
            where=row.place("strength") if given.strength else row.place(),
            hint=f"give this `{row.kind}` fact the strength of its evidence, such as documented",
        )
    return common | {**evidence, "strength": strength}


def _risk(given: schema.RequirementsRow, row: Row, common: dict[str, Any]) -> dict[str, Any]:
    """What may fail; every practice says so, and nothing else does."""
    if (common["strength"] is model.Strength.PRACTICE) != (given.risk is not None):
        raise InputError(
            "a practice does not say what is at risk" if given.risk is None else "only a practice has a `risk`",
            where=row.place() if given.risk is None else row.place("risk"),
            hint='add risk = "…": what may fail because metadata is not followed'
            if given.risk is None
            else 'write strength = "practice", or leave `risk` out',
        )
    texts = {"risk": given.risk, "risk-zh": given.risk_zh}
    return {key.replace("-", "_"): _sentence(words, row, key) for key, words in texts.items() if words is not None}


def _package(given: schema.Evidence, row: Row) -> NormalizedName:
    """The project that the fact is about: that of the file. A fact in the stack itself must name it."""
    if row.document.below:
        if given.package is None:
            raise InputError(
                "a fact in a stack must name the project it is about", where=row.place(), hint='add package = "…"'
            )
        return row.project(given.package, "package")
    stem = PurePosixPath(row.document.name).stem
    package = row.project(given.package, "package") if given.package else text.name(stem)
    if package != text.name(stem):
        raise InputError(
            f"a fact about `{package}` is in the file of `{stem}`",
            where=row.place("package"),
            hint=f"facts about a project belong in facts/{package}.toml",
        )
    return package


def _metadata(given: schema.MetadataRow, row: Row, common: dict[str, Any]) -> model.Metadata:
    builds = given.build_requires
    python = given.requires_python
    return model.Metadata(
        **common,
        requires=row.requirements(given.requires, "requires"),
        build_requires=None if builds is None else row.requirements(builds, "build-requires"),
        requires_python=row.versions(python, "requires-python")[0] if python else None,
    )


def _builds(given: schema.BuildsRow, row: Row, common: dict[str, Any]) -> model.Builds:
    _require_inside(given.requires_from, row, "requires-from")
    when = row.needs(given.when, "when")
    for at, need in enumerate(when):
        if isinstance(need, Requirement):
            raise InputError(
                f"`{need}` is not a component of the target",
                where=row.place("when", at),
                hint='write for example when = ["soc in A3"]',
            )
    return model.Builds(
        **common,
        requires_from=given.requires_from,
        when=tuple(need for need in when if isinstance(need, ComponentRequirement)),
        label=given.label or "",
        env=row.env(given.env, "env"),
        isolation=given.isolation,
        build_drop=row.projects(given.build_drop, "build-drop"),
        build_add=row.requirements(given.build_add, "build-add"),
    )


def _warns(given: schema.WarnsRow, row: Row, common: dict[str, Any]) -> model.Warns:
    unless = row.needs(given.unless, "unless")
    on_others = given.with_ or given.extra or given.wheels or any(isinstance(need, Requirement) for need in unless)
    if given.last and on_others:
        raise InputError(
            "which releases come last cannot hang on what else is in the lock",
            where=row.place("last"),
            hint="leave out `with`, `extra` and `wheels`, and name components alone in `unless`",
        )
    return model.Warns(
        **common,
        text=given.text,
        text_zh=given.text_zh or "",
        grave=given.grave,
        wheels=given.wheels,
        extra=text.name(given.extra or ""),
        beside=row.requirements(given.with_, "with"),
        unless=unless,
        last=given.last,
    )


def _absent(given: schema.AbsentRow, row: Row, common: dict[str, Any]) -> model.Absent:
    other = row.project(given.without, "without")
    if other == common["package"]:
        raise InputError(
            f"`{other}` cannot be absent where it is installed",
            where=row.place("without"),
            hint="`without` names another project, which must not be installed beside this one",
        )
    return model.Absent(**common, other=other)


def _sentence(words: str, row: Row, key: str) -> str:
    if not words.strip():
        raise InputError(
            f"the fact has an empty {(what := key.removesuffix('-zh'))}",
            where=row.place(key),
            hint=f"give the {what} in a sentence",
        )
    return " ".join(words.split())


def _require_settable(variables: dict[str, str], row: Row) -> None:
    for key in variables:
        why = "bash keeps it read-only" if key in _READ_ONLY else "CANN and the environment set and extend it"
        if key in _READ_ONLY or key in _EXTENDED:
            raise InputError(
                f"a fact cannot set `{key}`", where=row.place("env", key), why=why, hint="remove it from `env`"
            )


def _require_inside(path_text: str, row: Row, key: str) -> None:
    parts = PurePosixPath(path_text).parts
    if path_text.startswith("/") or ".." in parts or not parts:
        raise InputError(
            f"`{path_text}` is not a path inside the archive",
            where=row.place(key),
            hint="write for example `requirements/common.txt`",
        )
