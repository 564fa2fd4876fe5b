"""Wheel variants (PEP 825, a draft): their properties, and which variant a target prefers.

The name of a variant wheel ends with a label. The label stands for properties of the form
`namespace :: feature :: value`. A machine can use the wheel if it has, for each feature of the
wheel, at least one of the wheel's values. The values of a target are read from
`matrices/variants.toml`, since no program runs on the target while locking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Annotated, Final

import msgspec

from resolver.model.source import References
from resolver.model.text import NOT_EMPTY, Sentence, Text
from resolver.phrase import EMPTY, Phrase, phrase

# The label of the null variant, which has no properties.
NULL: Final = "null"

# The form of a label.
LABEL: Final = re.compile(r"[0-9a-z_.]+")
_FEATURE: Final = re.compile(r"[a-z0-9_]+ :: [a-z0-9_]+")
_VALUE: Final = re.compile(r"[a-z0-9_.]+")

# The values of each feature, by `namespace :: feature`.
Properties = Mapping[str, tuple[str, ...]]


class VariantTable(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The variants of one release on one index, as its variants file lists them."""

    # The namespaces of properties, the most important first.
    namespaces: tuple[str, ...] = ()
    # The properties of each label, as values by `namespace :: feature`.
    variants: dict[str, dict[str, tuple[str, ...]]] = {}
    # Why the variants file cannot be used; empty if it can.
    fault: str = ""


# The table of a release without variants.
NO_VARIANTS: Final = VariantTable()


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """The variant of its release that a wheel is (PEP 825): a label and properties."""

    # The label in the wheel's name.
    label: str
    # The properties, as `namespace :: feature :: value`, sorted.
    properties: tuple[str, ...] = ()
    # The namespaces of all variants of the release, the most important first.
    namespaces: tuple[str, ...] = ()
    # The names of the components of targets, such as `soc`, that the properties are about.
    components: frozenset[str] = frozenset()


class TargetFeature(msgspec.Struct, frozen=True, kw_only=True):
    """A feature of variants, with the values that a target has."""

    # The feature, as `namespace :: feature`.
    name: str
    # The component of the target that the values follow from, such as `soc`.
    component: str
    # The values, the most preferred first. Empty if no value of the feature is known for the
    # target's value of the component.
    values: tuple[str, ...]


class PropertyRow(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    """A table of `matrices/variants.toml`: a feature of variants that is about a component."""

    # The feature, as `namespace :: feature`.
    name: Text
    # The component of a target, such as `soc`.
    component: Text
    # The values of the feature by the value of the component, the most preferred first.
    values: dict[str, Annotated[tuple[Text, ...], NOT_EMPTY]]
    # Why these values belong together, in one sentence.
    reason: Sentence
    # The reason in Chinese; may be empty.
    reason_zh: Sentence = ""
    # Where the names can be looked up.
    source: References
    # The day on which somebody last looked.
    checked: date

    def fault(self) -> Phrase:
        """Return what is wrong with the names in the table; empty if nothing is."""
        if not is_feature(self.name):
            return phrase("`{name}` is no feature such as `vendor :: chip`", name=self.name)
        for values in self.values.values():
            for value in values:
                if not is_value(value):
                    return phrase("`{value}` cannot be the value of a feature", value=value)
        return EMPTY

    def for_value(self, component_value: str) -> TargetFeature:
        """Return the feature with the values of a target that has this value of the component."""
        values = self.values.get(component_value, ())
        return TargetFeature(name=self.name, component=self.component, values=values)


def is_feature(text: str) -> bool:
    """Return whether a text has the form `namespace :: feature`."""
    return _FEATURE.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Return whether a text has the form of a feature's value."""
    return _VALUE.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Return whether a text has the form of a label."""
    return LABEL.fullmatch(text) is not None


def variant_of(label: str, table: VariantTable, features: Iterable[TargetFeature] = ()) -> Variant:
    """Return the variant that a label stands for.

    `features` are the features of the target. They say which components the properties are about.
    """
    properties = table.variants.get(label, {})
    components = frozenset(feature.component for feature in features if feature.name in properties)
    lines = property_lines(properties)
    return Variant(
        label=label,
        properties=lines,
        namespaces=table.namespaces,
        components=components,
    )


def property_lines(properties: Properties) -> tuple[str, ...]:
    """Return properties as texts of the form `namespace :: feature :: value`, sorted."""
    lines: list[str] = []
    for feature, values in properties.items():
        lines.extend(f"{feature} :: {value}" for value in values)
    return tuple(sorted(lines))


# The rank of a property: the ranks of its namespace, of its feature and of its value.
_Rank = tuple[int, int, int]
# A sort key of variants for a target: the ranks of the properties, and the label.
Order = tuple[tuple[_Rank, ...], str]

# The last element of each list of ranks. It sorts after all ranks, so that a longer list comes
# before a shorter one with the same beginning.
_END: Final[_Rank] = (1 << 30, 0, 0)

# The sort key of wheels that are no variants. They come after all variants.
PLAIN: Final[Order] = ((_END, _END), "")


def order_of(label: str, table: VariantTable, features: Iterable[TargetFeature]) -> Order | None:
    """Return the sort key of a variant for a target; None if the target cannot use the variant.

    `features` are the features of the target, the most important first. The order follows
    PEP 825 ("Variant ordering"): variants are compared by the namespaces, features and values of
    their properties. If two variants begin with the same properties, the variant with more
    properties comes first. Otherwise the label decides. The null variant comes last.
    """
    if label not in table.variants and label != NULL:
        return None
    values_of_target = {feature.name: feature.values for feature in features}
    feature_order = list(values_of_target)
    ranks = []
    for name, values in table.variants.get(label, {}).items():
        usable = [value for value in values_of_target.get(name, ()) if value in values]
        if not usable:
            return None
        value_rank = values_of_target[name].index(usable[0])
        namespace_rank = _namespace_rank(name, table.namespaces)
        ranks.append((namespace_rank, feature_order.index(name), value_rank))
    ranks.sort()
    return (*ranks, _END), label


def _namespace_rank(feature: str, namespaces: tuple[str, ...]) -> int:
    """Return the position of a feature's namespace in `namespaces`.

    It is their number if the namespace is not among them, so that such features come last.
    """
    namespace = feature.partition(" :: ")[0]
    if namespace in namespaces:
        return namespaces.index(namespace)
    return len(namespaces)
