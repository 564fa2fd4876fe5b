"""The targets of a stack, with their properties of wheel variants."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from msgspec.structs import asdict

from resolver.config.decode import ComponentValues, require_known_soc
from resolver.config.load import Document, Inputs
from resolver.config.schema import StackFile, TargetTable, VariantsFile
from resolver.errors import InputError
from resolver.model.requirement import parse_value
from resolver.model.target import Target, default_name
from resolver.model.variant import PropertyRow, TargetFeature


def compile_targets(inputs: Inputs, known: ComponentValues) -> tuple[Target, ...]:
    """Return the targets of a stack, in the order of the file.

    `known` are the values of components in systems.toml. Raises InputError with file:line:key.
    """
    targets = []
    for target in _targets(inputs.stack, known):
        if inputs.variants is not None:
            features = _features(target, inputs.variants, known)
            target = dataclasses.replace(target, features=features)
        targets.append(target)
    return tuple(targets)


def _targets(document: Document[StackFile], known: ComponentValues) -> Sequence[Target]:
    tables = document.content.target
    if not tables:
        raise InputError("the stack has no target", where=document.place("target"))
    if isinstance(tables, TargetTable):
        return [_target(tables, document, ("target",), known)]
    targets: dict[str, Target] = {}
    for number, table in enumerate(tables):
        path = ("target", number)
        target = _target(table, document, path, known)
        if target.name in targets:
            raise InputError(f"two targets are named `{target.name}`", where=document.place(*path))
        targets[target.name] = target
    return list(targets.values())


def target_name(table: TargetTable) -> str:
    """Return the name of a target, which is made of its values if the table has none."""
    texts = asdict(table.system)
    system = {component: parse_value(component, text) for component, text in texts.items() if text}
    return table.name or default_name(table.python, table.platform, system)


def _target(
    table: TargetTable,
    document: Document[StackFile],
    path: tuple[str | int, ...],
    known: ComponentValues,
) -> Target:
    """Return the target of the table at a path of the stack's file."""
    texts = {"python": table.python, "glibc": table.glibc}
    paths = {"python": (*path, "python"), "glibc": (*path, "glibc")}
    for component, text in asdict(table.system).items():
        if text:
            texts[component] = text
            paths[component] = (*path, "system", component)
    # Sorted, since a default name and reports list components in this order.
    components = sorted(texts)
    system = {component: parse_value(component, texts[component]) for component in components}
    if "soc" in system:
        require_known_soc(system["soc"], known, document.place(*paths["soc"]))
    major, minor = table.glibc.split(".")
    return Target(
        name=target_name(table),
        python=table.python,
        platform=table.platform,
        glibc=(int(major), int(minor)),
        system=system,
        places={component: document.line(*paths[component]) for component in components},
    )


def _features(
    target: Target, variants: Document[VariantsFile], known: ComponentValues
) -> tuple[TargetFeature, ...]:
    """Return the properties of wheel variants that a target has.

    Raises InputError for a row of variants.toml that is wrong.
    """
    features: dict[str, TargetFeature] = {}
    for number, row in enumerate(variants.content.property):
        _check_property(row, variants, number, known, features)
        value = target.system.get(row.component)
        features[row.name] = row.for_value("" if value is None else str(value))
    return tuple(features.values())


def _check_property(
    row: PropertyRow,
    variants: Document[VariantsFile],
    number: int,
    known: ComponentValues,
    earlier: Collection[str],
) -> None:
    """Raise InputError if a row is malformed, repeats an earlier one or names an unknown value."""
    path = ("property", number)
    if fault := row.fault():
        raise InputError(fault, where=variants.place(*path))
    if row.name in earlier:
        where = variants.place(*path, "name")
        raise InputError(f"two rows are about `{row.name}`", where=where)
    if row.component not in known:
        raise variants.unknown("there is no component", row.component, known, *path, "component")
    known_texts = [str(value) for value in known[row.component]]
    for value in row.values:
        if value not in known_texts:
            what = f"there is no {row.component}"
            raise variants.unknown(what, value, known_texts, *path, "values", value)
