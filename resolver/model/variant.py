"""Wheel variants (PEP 825, a draft): what their labels stand for, and in which order a target takes them.

A variant wheel has a label in its name. The label stands for properties, `namespace :: feature ::
value`. A wheel is compatible with a machine that has at least one of the values of each feature.
Which values a target has is data (`matrices/variants.toml`), since no program runs on the target
while locking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Annotated, Final

import msgspec

from resolver.model.source import References
from resolver.model.text import NOT_EMPTY, Sentence, Text

NULL: Final = "null"
"""The label that always stands for no properties."""

LABEL: Final = re.compile(r"[0-9a-z_.]+")
_FEATURE: Final = re.compile(r"[a-z0-9_]+ :: [a-z0-9_]+")
_VALUE: Final = re.compile(r"[a-z0-9_.]+")

Properties = Mapping[str, tuple[str, ...]]
"""The values of each feature, by `namespace :: feature`."""


class VariantTable(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The variants of one release on one index."""

    # The namespaces of properties, the most important first.
    namespaces: tuple[str, ...] = ()
    # The properties of each label.
    variants: dict[str, dict[str, tuple[str, ...]]] = {}
    # Why the table cannot be used; empty if it can.
    fault: str = ""


NO_VARIANTS: Final = VariantTable()


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """The variant that a wheel is, as a resolution or a lock has it."""

    # The label in the wheel's name.
    label: str
    # The properties, as `namespace :: feature :: value`, sorted.
    properties: tuple[str, ...] = ()
    # The namespaces of the release's properties, the most important first.
    namespaces: tuple[str, ...] = ()
    # The components of targets, such as `soc`, for whose values the wheel itself says that it was
    # built.
    components: frozenset[str] = frozenset()


class TargetFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a feature that a target has."""

    # `namespace :: feature`.
    name: str
    # The component of the target whose value decides, such as `soc`.
    component: str
    # What the target has, the best first; empty if no value is known for its component.
    values: tuple[str, ...]


class PropertyRow(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    """A row of `matrices/variants.toml`: what the values of a component are called in properties."""

    # `namespace :: feature`.
    name: Text
    # The component of a target, such as `soc`.
    component: Text
    # The values of the feature that wheels for a value of the component have, the best first.
    values: dict[str, Annotated[tuple[Text, ...], NOT_EMPTY]]
    reason: Sentence
    reason_zh: Sentence = ""
    source: References
    checked: date

    def fault(self) -> str:
        """Return what is wrong with the row; empty if nothing is."""
        if not is_feature(self.name):
            return f"`{self.name}` is no feature such as `ascend :: npu_type`"
        for value in (value for values in self.values.values() for value in values):
            if not is_value(value):
                return f"`{value}` cannot be the value of a feature"
        return ""

    def for_value(self, component_value: str) -> TargetFeature:
        """Return what a target with this value of the component has."""
        values = self.values.get(component_value, ())
        return TargetFeature(name=self.name, component=self.component, values=values)


def is_feature(text: str) -> bool:
    """Return whether a text has the form `namespace :: feature`."""
    return _FEATURE.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Return whether a text can be the value of a feature."""
    return _VALUE.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Return whether a text can be a label."""
    return LABEL.fullmatch(text) is not None


def variant_of(label: str, table: VariantTable, features: Iterable[TargetFeature] = ()) -> Variant:
    """Return the variant that a label stands for, given what a target has."""
    properties = table.variants.get(label, {})
    components = frozenset(feature.component for feature in features if feature.name in properties)
    lines = property_lines(properties)
    return Variant(
        label=label, properties=lines, namespaces=table.namespaces, components=components
    )


def property_lines(properties: Properties) -> tuple[str, ...]:
    """Return properties as `namespace :: feature :: value`, sorted."""
    return tuple(
        sorted(
            f"{feature} :: {value}" for feature, values in properties.items() for value in values
        )
    )


# The sort key of a variant among those that a target can use; see `order_of`.
Order = tuple[tuple[tuple[int, int, int], ...], str]

_AFTER_ALL: Final = (1 << 30, 0, 0)

PLAIN: Final[Order] = ((_AFTER_ALL, _AFTER_ALL), "")
"""The sort key of wheels that are no variants."""


def order_of(label: str, table: VariantTable, features: Iterable[TargetFeature]) -> Order | None:
    """Return the sort key of a variant for a target, None if the target lacks a property of it.

    The order is that of the draft ("Variant ordering"): by namespace, feature and value. A variant
    that has more properties comes before one whose properties are the first of them. Of equals the
    label decides. The null variant comes last.
    """
    if label not in table.variants and label != NULL:
        return None
    offered = {feature.name: feature for feature in features}
    order = list(offered)
    keys = []
    for name, values in table.variants.get(label, {}).items():
        has = offered[name].values if name in offered else ()
        best = next((rank for rank, value in enumerate(has) if value in values), None)
        if best is None:
            return None
        namespace = name.partition(" :: ")[0]
        known = (
            table.namespaces.index(namespace)
            if namespace in table.namespaces
            else len(table.namespaces)
        )
        keys.append((known, order.index(name), best))
    return (*sorted(keys), _AFTER_ALL), label
