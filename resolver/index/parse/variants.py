"""The JSON of wheel variants (PEP 825, a draft): `NAME-VERSION-variants.json` of an index, `variant.json` of a wheel.

Both have the same structure, of which the labels with their properties and the order of namespaces
are read. The draft reserves versions of the format that begin with 0; today's tools write several
of them (0.0.3, 0.1.1, 0.2.0), in all of which these two parts are the same, so any version of 0 or
1 is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from resolver.index.protocol import UnusableFile
from resolver.model.variant import NULL, VariantTable, is_feature, is_label, is_value

VARIANTS_ENDING: Final = "-variants.json"
MEMBER: Final = "variant.json"
"""The name of the file in the .dist-info folder of a wheel."""

TABLE_LIMIT: Final = 64 << 10
"""Bytes of a list; those of real releases have less than a thousand."""

_MOST_LABELS: Final = 1_000
_MOST_FEATURES: Final = 100
_MOST_VALUES: Final = 1_000
_LONGEST: Final = 100  # characters of a label, namespace, feature or value
_VERSION: Final = re.compile(r"v?(\d{1,4})(?:\.\d{1,4})*\.json\Z", re.ASCII)

_Values = dict[str, list[str]]


class _Priorities(msgspec.Struct, frozen=True):
    namespace: tuple[str, ...] = ()


class _Table(msgspec.Struct, rename={"schema": "$schema", "priorities": "default-priorities"}):
    variants: dict[str, dict[str, _Values]]
    schema: str = ""
    priorities: _Priorities = _Priorities()


_decode: Final = msgspec.json.Decoder(_Table).decode


def read_table(content: bytes, filename: str) -> VariantTable:
    """Return the variants in a file. Raises UnusableFile."""
    if len(content) > TABLE_LIMIT:
        raise UnusableFile(f"{filename} has more than {TABLE_LIMIT} bytes")
    try:
        table = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UnusableFile(f"{filename} is no list of variants: {why}") from None
    version = _VERSION.search(table.schema.rpartition("/")[2])
    if version is not None and int(version[1]) > 1:
        raise UnusableFile(
            f"{filename} has version {version[1]} of the format, and 0 and 1 are read"
        )
    _require(
        len(table.variants) <= _MOST_LABELS, filename, f"it has more than {_MOST_LABELS} variants"
    )
    namespaces = tuple(dict.fromkeys(table.priorities.namespace))
    _require(
        len(namespaces) <= _MOST_FEATURES, filename, f"it has more than {_MOST_FEATURES} namespaces"
    )
    for namespace in namespaces:
        _require(
            is_feature(f"{namespace} :: x"), filename, f"`{namespace[:_LONGEST]}` is no namespace"
        )
    variants = {label: _properties(label, row, filename) for label, row in table.variants.items()}
    return VariantTable(namespaces, variants)


def _properties(
    label: str, namespaces: Mapping[str, _Values], filename: str
) -> dict[str, tuple[str, ...]]:
    """Return the properties of one variant. Raises UnusableFile."""
    _require(
        len(label) <= _LONGEST and is_label(label),
        filename,
        f"`{label[:_LONGEST]}` is no label of a variant",
    )
    properties = {}
    for namespace, features in namespaces.items():
        for name, values in features.items():
            feature = f"{namespace} :: {name}"
            is_short = len(feature) <= 2 * _LONGEST
            _require(
                is_short and is_feature(feature), filename, f"`{feature[:_LONGEST]}` is no feature"
            )
            _require(
                len(values) <= _MOST_VALUES,
                filename,
                f"{feature} has more than {_MOST_VALUES} values",
            )
            for value in values:
                is_short = len(value) <= _LONGEST
                _require(
                    is_short and is_value(value),
                    filename,
                    f"`{value[:_LONGEST]}` is no value of {feature}",
                )
            properties[feature] = tuple(sorted(set(values)))
    _require(
        len(properties) <= _MOST_FEATURES,
        filename,
        f"{label} has more than {_MOST_FEATURES} features",
    )
    _require(
        label != NULL or not properties,
        filename,
        f"`{NULL}` stands for no properties, and here it has some",
    )
    return properties


def _require(condition: bool, filename: str, why: str) -> None:
    if not condition:
        raise UnusableFile(f"{filename} is no list of variants: {why}")


def own_properties(content: bytes, label: str, filename: str) -> dict[str, tuple[str, ...]]:
    """Return what the `variant.json` of a wheel says of it.

    Raises UnusableFile if it is of another label.
    """
    table = read_table(content, f"{MEMBER} of {filename}")
    if list(table.variants) != [label]:
        raise UnusableFile(f"{MEMBER} of {filename} is not about the variant `{label}` alone")
    return table.variants[label]
