"""The compiler of the targets of a stack, and of their features of wheel variants."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from resolver.config.load import Inputs
from resolver.config.schema import StackFile, TargetTable, VariantsFile
from resolver.config.toml_files import Document
from resolver.errors import InputError
from resolver.model.component import BUILT_IN, Components
from resolver.model.target import Target, default_name
from resolver.model.variant import PropertyRow, TargetFeature
from resolver.phrase import phrase


def compile_targets(inputs: Inputs) -> tuple[Target, ...]:
    """Return the targets of a stack, in the order of the file.

    Raises InputError with file:line:key.
    """
    targets = []
    for target in _targets(inputs.stack, inputs.components):
        if inputs.variants is not None:
            features = _features(target, inputs.variants, inputs.components)
            target = dataclasses.replace(target, features=features)
        targets.append(target)
    return tuple(targets)


def _targets(document: Document[StackFile], components: Components) -> Sequence[Target]:
    """Return the targets of a stack without features. Raises InputError."""
    tables = document.content.target
    if not tables:
        raise InputError(phrase("the stack has no target"), where=document.place("target"))
    if isinstance(tables, TargetTable):
        return [_target(tables, document, ("target",), components)]
    targets: dict[str, Target] = {}
    for number, table in enumerate(tables):
        path = ("target", number)
        target = _target(table, document, path, components)
        if target.name in targets:
            raise InputError(
                phrase("two targets are named `{name}`", name=target.name),
                where=document.place(*path),
            )
        targets[target.name] = target
    return list(targets.values())


def target_name(table: TargetTable, components: Components) -> str:
    """Return the name of a target. Without the key `name`, it is made of the values."""
    if table.name is not None:
        return table.name
    system = {name: components[name].parse_stated(text) for name, text in table.system.items()}
    return default_name(table.python, table.platform, system, components)


def _target(
    table: TargetTable,
    document: Document[StackFile],
    path: tuple[str | int, ...],
    components: Components,
) -> Target:
    """Return the target in a table of the stack's file. Raises InputError with file:line:key.

    `path` are the keys that lead to the table.
    """
    texts = {"python": table.python, "glibc": table.glibc}
    paths = {"python": (*path, "python"), "glibc": (*path, "glibc")}
    for name, text in table.system.items():
        paths[name] = (*path, "system", name)
        if name not in components or name in texts:
            others = [other for other in components if other not in BUILT_IN]
            raise document.unknown(phrase("there is no component"), name, others, *paths[name])
        texts[name] = text
    # The components are sorted by name, since reports list them in this order.
    system = {}
    for name in sorted(texts):
        read = components[name].parse_stated
        system[name] = document.parse(read, texts[name], *paths[name])
        where = document.place(*paths[name])
        components[name].require_known(system[name], where, takes_names=True)
    major, minor = table.glibc.split(".")
    return Target(
        name=target_name(table, components),
        python=table.python,
        platform=table.platform,
        glibc=(int(major), int(minor)),
        system=system,
        places={name: document.line(*paths[name]) for name in system},
        components=components,
    )


def _features(
    target: Target, variants: Document[VariantsFile], components: Components
) -> tuple[TargetFeature, ...]:
    """Return the features of wheel variants with the values that a target has (PEP 825).

    Raises InputError for a mistake in variants.toml.
    """
    features: dict[str, TargetFeature] = {}
    for number, feature in enumerate(variants.content.property):
        _check_property(feature, variants, number, components, features)
        value = target.system.get(feature.component)
        features[feature.name] = feature.for_value("" if value is None else str(value))
    return tuple(features.values())


def _check_property(
    feature: PropertyRow,
    variants: Document[VariantsFile],
    number: int,
    components: Components,
    earlier: Collection[str],
) -> None:
    """Raise InputError for a mistake in a table of variants.toml.

    It must be well-formed, must not repeat a feature of the `earlier` tables, and must name a known
    component and known values. `number` is its position in the file.
    """
    path = ("property", number)
    if fault := feature.fault():
        raise InputError(fault, where=variants.place(*path))
    if feature.name in earlier:
        where = variants.place(*path, "name")
        raise InputError(phrase("two rows are about `{name}`", name=feature.name), where=where)
    if feature.component not in components:
        complaint = phrase("there is no component")
        raise variants.unknown(complaint, feature.component, components, *path, "component")
    known_texts = [str(value) for value in components[feature.component].known]
    for value in feature.values:
        if value not in known_texts:
            complaint = phrase("there is no {name}", name=feature.component)
            raise variants.unknown(complaint, value, known_texts, *path, "values", value)
