"""Variants of wheels, made by variantlib, the reference implementation of PEP 825."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from variantlib.commands.generate_index_json import generate_index_json
from variantlib.commands.make_variant import make_variant

from tests.builders import Built, build_wheel
from tests.loopback import PYPI, LoopbackIndex

# As in vllm-ascend's release workflow, without `enable-if`, which variantlib 0.2 no longer takes.
_PYPROJECT = """
[variant.default-priorities]
namespace = ["ascend"]
[variant.providers.ascend]
plugin-api = "huawei_ascend_variant_provider.plugin:AscendVariantPlugin"
requires = ["huawei-ascend-variant-provider>=0.0.2,<0.0.3"]
"""

SOC_OF_LABEL = {"910b": "910b", "a3": "a3", "310p": "310p", "950": "950"}


def variant(built: Built, label: str, *properties: str) -> Built:
    """Return a variant of a wheel; without properties it is the null variant."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / built.filename).write_bytes(built.content)
        (folder / "pyproject.toml").write_text(_PYPROJECT)
        (folder / "made").mkdir()
        arguments = ["-f", f"{folder / built.filename}", "-o", f"{folder / 'made'}"]
        arguments += ["--pyproject-toml", f"{folder / 'pyproject.toml'}"]
        arguments.append("--skip-plugin-validation")
        for line in properties:
            arguments += ["--property", line]
        arguments += ["--variant-label", label] if properties else ["--null-variant"]
        make_variant(arguments)
        (made,) = (folder / "made").iterdir()
        return Built(made.name, made.read_bytes(), built.metadata)


def table(wheels: Iterable[Built]) -> Built:
    """Return the list of the variants of one release, as an index has it."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for wheel in wheels:
            (folder / wheel.filename).write_bytes(wheel.content)
        generate_index_json(["-d", name])
        (made,) = folder.glob("*-variants.json")
        return Built(made.name, made.read_bytes(), b"")


def for_soc(label: str) -> str:
    """Return the property that vllm-ascend's workflow gives a wheel with this label."""
    return f"ascend :: npu_type :: {SOC_OF_LABEL[label]}"


def serve(
    index: LoopbackIndex,
    name: str,
    version: str,
    *labels: str,
    served_by: str = PYPI,
    listed: bool = True,
    hashed: bool = True,
    tags: str = "py3-none-any",
) -> dict[str, Built]:
    """List variants of a wheel for these SoCs; return them by label.

    Each has a module that says its label.

    Without `listed`, the index has no list of them; without `hashed`, that has no hash on the page.
    """
    made = {}
    for label in labels:
        module = {f"{name.replace('-', '_')}.py": f"LABEL = {label!r}\n"}
        plain = build_wheel(name, version, tags=tags, files=module)
        properties = [] if label == "null" else [for_soc(label)]
        made[label] = variant(plain, label, *properties)
        index.add_file(name, made[label].filename, made[label].content, index=served_by)
    if listed:
        rows = table(made.values())
        index.add_file(name, rows.filename, rows.content, index=served_by, sha256=hashed)
    return made
