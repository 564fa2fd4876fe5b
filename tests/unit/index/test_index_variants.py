"""Lists of wheel variants (PEP 825): what is read, and what of pages and names is a variant."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from resolver.index.parse.distribution import Compatibility, label_of, one_of_each_label, plain_name
from resolver.index.parse.simple import parse
from resolver.index.parse.variants import own_properties, read_table
from resolver.index.protocol import UnusableFile
from resolver.model.release import File, Page, RejectionReason
from resolver.model.target import Target
from resolver.model.variant import TargetFeature, VariantTable
from resolver.resolve.independent_wheels import split_label
from tests.builders import build_wheel
from tests.variants import for_soc, table, variant

SOC = TargetFeature(name="ascend :: npu_type", component="soc", values=("910b", "a2"))
A2 = Target(name="", python="3.11", platform="linux-aarch64", glibc=(2, 28), features=(SOC,))


def made(*labels: str) -> list[File]:
    return [File(f"demo-1.0-py3-none-any{'-' + label if label else ''}.whl") for label in labels]


@pytest.mark.parametrize(
    ("filename", "plain", "label"),
    [
        ("demo-1.0-py3-none-any.whl", "demo-1.0-py3-none-any.whl", ""),
        ("demo-1.0-1-py3-none-any.whl", "demo-1.0-1-py3-none-any.whl", ""),
        ("demo-1.0-py3-none-any-a3.whl", "demo-1.0-py3-none-any.whl", "a3"),
        ("demo-1.0-1-py3-none-any-a.3.whl", "demo-1.0-1-py3-none-any.whl", "a.3"),
        ("demo-1.0-py3-none-any-1.whl", "demo-1.0-py3-none-any.whl", "1"),
        ("demo-1.0.tar.gz", "demo-1.0.tar.gz", ""),
        ("de-mo-1.0-py3-none-any-x-y.whl", "de-mo-1.0-py3-none-any-x-y.whl", ""),
    ],
)
def test_variant_label_and_plain_name(filename: str, plain: str, label: str) -> None:
    assert (plain_name(filename), label_of(filename)) == (plain, label)
    if filename.endswith(".whl") and "de-mo" not in filename:
        assert split_label(filename) == (
            plain,
            label,
        )  # which the independent check finds out by itself


def test_one_of_each_label() -> None:
    assert one_of_each_label(made("a3", "", "910b")) == made("910b", "a3")
    assert len(one_of_each_label(made(*(f"v{n}" for n in range(50))))) == 20


# --- lists


def test_read_table_of_variantlib() -> None:
    plain = build_wheel("demo", "1.0")
    wheels = [variant(plain, label, for_soc(label)) for label in ("910b", "a3")] + [
        variant(plain, "null")
    ]
    listed = table(wheels)
    assert listed.filename == "demo-1.0-variants.json"
    assert read_table(listed.content, listed.filename) == VariantTable(
        ("ascend",),
        {
            "910b": {"ascend :: npu_type": ("910b",)},
            "a3": {"ascend :: npu_type": ("a3",)},
            "null": {},
        },
    )


@pytest.mark.parametrize("version", ["v0.0.3", "peps/825/v0.1.1", "v1.0.0", "v1.7.0"])
def test_read_table_of_several_versions(version: str) -> None:
    """Wheels of vllm-ascend have 0.0.3, with a table of providers; the draft has 0.1.1."""
    content = {
        "$schema": f"https://variants-schema.wheelnext.dev/{version}.json",
        "default-priorities": {"namespace": ["ascend"]},
        "providers": {"ascend": {"enable-if": "platform_system == 'Linux'", "requires": ["demo"]}},
        "variants": {"a2": {"ascend": {"npu_type": ["910b"]}}},
        "more": [1, {"x": None}],
    }
    read = read_table(json.dumps(content).encode(), "demo-1.0-variants.json")
    assert read == VariantTable(("ascend",), {"a2": {"ascend :: npu_type": ("910b",)}})


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{}", "is no list of variants: Object missing required field `variants`"),
        (b'{"variants": {"A": {}}}', "`A` is no label of a variant"),
        (b'{"variants": {"a": {"B": {"c": ["d"]}}}}', "`B :: c` is no feature"),
        (b'{"variants": {"a": {"b": {"c": ["D"]}}}}', "`D` is no value of b :: c"),
        (b'{"variants": {"null": {"b": {"c": ["d"]}}}}', "`null` stands for no properties"),
        (
            b'{"variants": {}, "default-priorities": {"namespace": ["x y"]}}',
            "`x y` is no namespace",
        ),
        (
            b'{"variants": {}, "$schema": "https://x.invalid/v2.0.json"}',
            "has version 2 of the format",
        ),
        (b" " * (64 << 10) + b"{}", "has more than 65536 bytes"),
        (b"[" * 60_000, "is no list of variants"),
    ],
    ids=range(9),
)
def test_read_table_refuses(content: bytes, why: str) -> None:
    with pytest.raises(UnusableFile, match=f".*{re.escape(why)}"):
        read_table(content, "demo-1.0-variants.json")


def test_own_properties(tmp_path: Path) -> None:
    content = b'{"variants": {"a3": {"ascend": {"npu_type": ["a3"]}}}}'
    assert own_properties(content, "a3", "demo.whl") == {"ascend :: npu_type": ("a3",)}
    with pytest.raises(UnusableFile, match="is not about the variant `a2` alone"):
        own_properties(content, "a2", "demo.whl")


# --- pages


def page(*names: str) -> Page:
    files = [{"filename": name, "url": f"https://x.invalid/{name}", "hashes": {}} for name in names]
    body = json.dumps({"meta": {"api-version": "1.1"}, "name": "demo", "files": files}).encode()
    return parse(
        body, "application/json", project="demo", index="pypi", url="https://x.invalid/demo/"
    )


def test_page_links_a_release_to_its_variants() -> None:
    read = page(
        "demo-1.0-py3-none-any-a3.whl", "demo-1.0.0-variants.json", "demo-2.0-py3-none-any.whl"
    )
    assert {version: file and file.filename for version, file in read.variant_files.items()} == {
        "1.0": "demo-1.0.0-variants.json"
    }
    assert read.rejections == ()


def test_page_without_a_list_of_variants() -> None:
    assert page("demo-1.0-py3-none-any-a3.whl", "demo-2.0-variants.json").variant_files == {
        "1.0": None
    }


def test_page_with_a_list_and_no_variants() -> None:
    read = page("demo-1.0-py3-none-any.whl", "demo-1.0-variants.json", "other-1.0-variants.json")
    assert read.variant_files == {}
    assert [(row.filename, row.reason) for row in read.rejections] == [
        ("demo-1.0-variants.json", RejectionReason.FORMAT),
        ("other-1.0-variants.json", RejectionReason.FORMAT),
    ]


# --- which a target takes

TABLE = VariantTable(
    ("ascend",),
    {
        "a2": {"ascend :: npu_type": ("a2",)},
        "both": {"ascend :: npu_type": ("910b", "a2")},
        "a3": {"ascend :: npu_type": ("a3",)},
        "more": {"ascend :: npu_type": ("910b",), "ascend :: cann_version": ("9.1.0",)},
        "empty": {"ascend :: npu_type": ()},
    },
)


def test_compatibility_orders_variants() -> None:
    files = (*made("", "null", "a2", "both", "a3", "more", "empty", "unlisted"),)
    compatible = Compatibility(A2, None)(files, TABLE)
    assert list(compatible.wheels) == made("both", "a2", "null", "")
    reasons = {
        row.filename.split("-")[-1]: (row.reason, row.detail) for row in compatible.rejections
    }
    assert reasons == {
        "a3.whl": (RejectionReason.VARIANT, "ascend :: npu_type :: a3"),
        "more.whl": (
            RejectionReason.VARIANT,
            "ascend :: cann_version :: 9.1.0, ascend :: npu_type :: 910b",
        ),
        "empty.whl": (RejectionReason.VARIANT, ""),
        "unlisted.whl": (
            RejectionReason.VARIANT,
            "its index does not say what `unlisted` stands for",
        ),
    }


def test_compatibility_orders_tags_within_a_variant() -> None:
    """A variant with a worse tag comes before a plain wheel with a better one (PEP 825)."""
    names = (
        "cp311-cp311-manylinux_2_28_aarch64",
        "cp311-cp311-manylinux_2_17_aarch64-a2",
        "py3-none-any-a2",
    )
    files = tuple(File(f"demo-1.0-{name}.whl") for name in names)
    assert list(Compatibility(A2, None)(files, TABLE).wheels) == [files[1], files[2], files[0]]


def test_compatibility_refuses_a_variant_by_tags() -> None:
    (file,) = [File("demo-1.0-cp310-cp310-linux_aarch64-a2.whl")]
    (row,) = Compatibility(A2, None)((file,), TABLE).rejections
    assert (row.reason, row.detail) == (RejectionReason.TAGS, "cp310-cp310-linux_aarch64")
