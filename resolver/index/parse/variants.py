"""Read the JSON that describes wheel variants (PEP 825, a draft).

An index has the file `NAME-VERSION-variants.json`, which describes the variants of a release. A
wheel has the member `variant.json`, which describes itself. Both have the same structure. Two parts
are read: the properties of each label, and the order of namespaces.

The draft reserves the versions 0.x of the format. Tools write several of them (0.0.3, 0.1.1,
0.2.0), in which these two parts are the same. So every version 0.x and 1.x is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from resolver.index.protocol import UnusableFile
from resolver.model.variant import NULL, VariantTable, is_feature, is_label, is_value

VARIANTS_ENDING: Final = "-variants.json"
# The name of the file in the .dist-info folder of a wheel.
MEMBER: Final = "variant.json"
# Bytes of a file; those of real releases have fewer than a thousand.
TABLE_LIMIT: Final = 64 << 10

# Limits of one file.
_MOST_LABELS: Final = 1_000
_MOST_FEATURES: Final = 100
_MOST_VALUES: Final = 1_000
_LONGEST: Final = 100  # characters of a label, namespace, feature or value
_VERSION: Final = re.compile(r"v?(\d{1,4})(?:\.\d{1,4})*\.json\Z", re.ASCII)

# The values of each feature of a namespace.
_Values = dict[str, list[str]]


class _Priorities(msgspec.Struct, frozen=True):
    """The object `default-priorities`."""

    # Namespaces, the most important first.
    namespace: tuple[str, ...] = ()


class _Table(msgspec.Struct, rename={"schema": "$schema", "priorities": "default-priorities"}):
    """The file as JSON. `variants` has label, namespace, feature and values, one in another."""

    variants: dict[str, dict[str, _Values]]
    schema: str = ""
    priorities: _Priorities = _Priorities()


_decode: Final = msgspec.json.Decoder(_Table).decode


def read_table(content: bytes, filename: str) -> VariantTable:
    """Return the variants that a file describes. Raises UnusableFile if it is invalid."""
    if len(content) > TABLE_LIMIT:
        raise UnusableFile(f"{filename} has more than {TABLE_LIMIT} bytes")
    try:
        table = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _refusal(filename, why) from None
    version = _VERSION.search(table.schema.rpartition("/")[2])
    if version is not None and int(version[1]) > 1:
        raise UnusableFile(
            f"{filename} has version {version[1]} of the format, and 0 and 1 are read"
        )
    if len(table.variants) > _MOST_LABELS:
        raise _refusal(filename, f"it has more than {_MOST_LABELS} variants")
    namespaces = tuple(dict.fromkeys(table.priorities.namespace))
    if len(namespaces) > _MOST_FEATURES:
        raise _refusal(filename, f"it has more than {_MOST_FEATURES} namespaces")
    for namespace in namespaces:
        if not is_feature(f"{namespace} :: x"):
            raise _refusal(filename, f"`{namespace[:_LONGEST]}` is no namespace")
    variants = {}
    for label, features in table.variants.items():
        variants[label] = _properties(label, features, filename)
    return VariantTable(namespaces, variants)


def _properties(
    label: str, namespaces: Mapping[str, _Values], filename: str
) -> dict[str, tuple[str, ...]]:
    """Return the properties of one variant: the sorted values of each feature.

    A feature is written `NAMESPACE :: NAME`. Raises UnusableFile if a name or value is invalid.
    """
    if len(label) > _LONGEST or not is_label(label):
        raise _refusal(filename, f"`{label[:_LONGEST]}` is no label of a variant")
    properties = {}
    for namespace, features in namespaces.items():
        for name, values in features.items():
            feature = f"{namespace} :: {name}"
            if len(feature) > 2 * _LONGEST or not is_feature(feature):
                raise _refusal(filename, f"`{feature[:_LONGEST]}` is no feature")
            _check_values(values, feature, filename)
            properties[feature] = tuple(sorted(set(values)))
    if len(properties) > _MOST_FEATURES:
        raise _refusal(filename, f"{label} has more than {_MOST_FEATURES} features")
    if label == NULL and properties:
        raise _refusal(filename, f"`{NULL}` stands for no properties, and here it has some")
    return properties


def _check_values(values: Sequence[str], feature: str, filename: str) -> None:
    """Raise UnusableFile for an invalid value of a feature, or too many values."""
    if len(values) > _MOST_VALUES:
        raise _refusal(filename, f"{feature} has more than {_MOST_VALUES} values")
    for value in values:
        if len(value) > _LONGEST or not is_value(value):
            raise _refusal(filename, f"`{value[:_LONGEST]}` is no value of {feature}")


def _refusal(filename: str, why: str) -> UnusableFile:
    """Return the error for an invalid file; `why` is an English clause."""
    return UnusableFile(f"{filename} is no list of variants: {why}")


def own_properties(content: bytes, label: str, filename: str) -> dict[str, tuple[str, ...]]:
    """Return the properties of a variant wheel from its `variant.json`: the values of each feature.

    `label` is the label in the name of the wheel. Raises UnusableFile if the content is invalid, or
    describes any other label.
    """
    table = read_table(content, f"{MEMBER} of {filename}")
    if list(table.variants) != [label]:
        raise UnusableFile(f"{MEMBER} of {filename} is not about the variant `{label}` alone")
    return table.variants[label]
