"""Which variants a target takes, and their order, beside variantlib's (PEP 825)."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from variantlib.models.variant import VariantDescription, VariantProperty
from variantlib.resolver.lib import sort_and_filter_supported_variants

from resolver.index.parse.distribution import Compatibility
from resolver.model.release import File
from resolver.model.target import Target
from resolver.model.variant import TargetFeature, VariantTable
from resolver.resolve.independent_wheels import IndependentWheels

NAMESPACES = ("n1", "n2")
FEATURES = tuple(
    f"{namespace} :: {feature}" for namespace in NAMESPACES for feature in ("f1", "f2")
)
VALUES = ("v1", "v2", "v3")

_properties = st.dictionaries(
    st.sampled_from(FEATURES), st.sets(st.sampled_from(VALUES), min_size=1).map(sorted), min_size=1
)
_variants = st.lists(
    _properties, min_size=2, max_size=12, unique_by=lambda row: str(sorted(row.items()))
)
# Most values are had, so that many variants fit, and some are the beginning of others.
_has = st.permutations(FEATURES).flatmap(
    lambda names: st.fixed_dictionaries(
        {name: st.lists(st.sampled_from(VALUES), unique=True, min_size=2) for name in names[1:]}
    )
)


@given(_variants, _has, st.permutations(NAMESPACES))
def test_variant_order_is_that_of_variantlib(
    rows: list[dict[str, list[str]]], has: dict[str, list[str]], namespaces: list[str]
) -> None:
    labels = [f"l{number}" for number in range(len(rows))]
    table = VariantTable(
        tuple(namespaces),
        {
            label: {feature: tuple(values) for feature, values in row.items()}
            for label, row in zip(labels, rows, strict=True)
        },
    )
    features = tuple(
        TargetFeature(name=name, component="soc", values=tuple(values))
        for name, values in has.items()
    )
    target = Target(
        name="", python="3.11", platform="linux-aarch64", glibc=(2, 28), features=features
    )
    files = tuple(File(f"demo-1.0-py3-none-any-{label}.whl") for label in labels)
    taken = [file.filename for file in Compatibility(target, None)(files, table).wheels]
    assert taken == [
        f"demo-1.0-py3-none-any-{label}.whl"
        for label in by_variantlib(labels, rows, has, namespaces)
    ]
    wheels = IndependentWheels(target)
    ranks = {file.filename: wheels.rank(file, table) for file in files}
    fit = [file.filename for file in files if wheels.is_fit(file, table)]
    assert sorted(fit, key=ranks.__getitem__) == taken  # the independent check agrees


def by_variantlib(
    labels: list[str],
    rows: list[dict[str, list[str]]],
    has: dict[str, list[str]],
    namespaces: list[str],
) -> list[str]:
    descriptions = []
    for label, row in zip(labels, rows, strict=True):
        properties = [
            VariantProperty(*feature.split(" :: "), value)
            for feature, values in row.items()
            for value in values
        ]
        descriptions.append(VariantDescription(properties=properties, label=label))
    feature_order: defaultdict[str, list[str]] = defaultdict(list)
    value_order: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    supported = []
    for name, values in has.items():
        namespace, feature = name.split(" :: ")
        feature_order[namespace].append(feature)
        value_order[namespace][feature] = values
        supported += [VariantProperty(namespace, feature, value) for value in values]
    if not descriptions or not supported:
        return []
    found = sort_and_filter_supported_variants(
        descriptions,
        supported,
        namespace_priorities=namespaces,
        feature_priorities=dict(feature_order),
        property_priorities=dict(value_order),
    )
    return [description.label for description in found if description.label != "null"]
