"""A lock.toml that was edited is refused before a script is made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli
import tomli_w

from resolver.errors import InputError
from resolver.i18n import translate
from resolver.lock import file
from tests.functional.workspace import REPOSITORY

COMMITTED = REPOSITORY / "tests" / "fuzz" / "corpus" / "lock" / "verl-one-step-off.toml"

FORMAT_1 = REPOSITORY / "tests" / "fuzz" / "corpus" / "lock" / "verl-qwen3.5.toml"
TRUSTED = 'ref = "v0.5.0-716-gccd7d934"\neditable = true\n'
GIT = '[pin.git]\nurl = "https://github.com/volcengine/verl.git"\n'
NUMPY = """\
[[pin.file]]
name = "numpy-1.26.4-cp310-cp310-manylinux_2_17_aarch64.manylinux2014_aarch64.whl"
sha256 = "d209d8969599b27ad20994c8e41936ee0964e6da07478d6c35016bc386b66ad4"
"""
SETUPTOOLS = """\
[[build-pin]]
name = "setuptools"
version = "80.9.0"
index = "pypi"
mode = "wheels"

[[build-pin.file]]
name = "setuptools-80.9.0-py3-none-any.whl"
sha256 = "062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922"

[[build-pin]]
"""


def table(name: str, before: str = "[[pin]]\n", **values: object) -> str:
    """Return a table of an array, in front of another line."""
    rows = "".join(
        f"{key.replace('_', '-')} = {json.dumps(value)}\n" for key, value in values.items()
    )
    return f"[[{name}]]\n{rows}\n{before}"


def driver(need: str, fact: str) -> str:
    return table("driver", by="CANN 8.3.RC1", needs=[need], text="it wants a driver", fact=fact)


def stage(*pins: str) -> str:
    return table("stage", mode="wheels", pins=pins)


def step(comment: str, run: str, move: str) -> str:
    return TRUSTED + table("pin.git.steps", "", comment=comment, run=[run], move=move, to="b")


def submodule(path: str, url: str) -> str:
    commit = "0123456789" * 4
    row = f'{{ path = "{path}", url = "{url}", commit = "{commit}" }}'
    return f"{TRUSTED}submodules = [{row}]\n"


OVER = {
    "project": "numpy",
    "archive": "numpy-2.tar.gz",
    "archive_of": "numpy",
    "archive_version": "2",
    "index": "pypi",
}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            'platform = "linux-aarch64"',
            'platform = "linux-$(touch pwned)"',
            "- at `$.target.platform`",
        ),
        ('python = "3.10"', 'python = "3.10 $(x)"', "- at `$.target.python`"),
        ('cann = "8.3.RC1"', 'cann = "8`x`"', "$.target.system"),
        ('stack = "verl-one-step-off"', 'stack = "x\\ny"', "- at `$.stack`"),
        (
            '"2026-01-01T00:00:00+00:00"',
            '"9999-12-31T23:59:59-23:59"',
            "is in no year from 1 to 9999 of UTC",
        ),
        ('"2026-01-01T00:00:00+00:00"', '"2026-01-01T00:00:00"', "names no time zone"),
        ('name = "numpy"', 'name = "num py"', "].name`"),
        ('    "numpy",\n', "", "`numpy` is in no stage"),
        ('commit = "', 'commit = "x', "a commit is 40 hexadecimal digits, in lower case"),
        ('url = "https://', 'url = "https://u:p@', "the address contains credentials"),
        ('sha256 = "', 'sha256 = "$(x)', "].sha256`"),
        (TRUSTED, submodule("../x", "https://h/x"), "it is not a path inside the repository"),
        (TRUSTED, submodule("x", "ext::sh -c id"), "only https, ssh, file are supported"),
        (
            '{ name = "pypi" }',
            '{ name = "huawei" }',
            "`numpy` is from `pypi`, which is not an index of the lock",
        ),
        ('{ name = "pypi" }', '{ name = "pypi" }, { name = "pypi" }', "`pypi` is an index 2 times"),
        (
            '[[stage]]\nmode = "wheels"',
            '[[stage]]\nmode = "built-here"',
            "`numpy` is wheels, and in a stage that is built-here",
        ),
        ('name = "numpy-', 'name = "numba-', " is not a file of numpy "),
        ("[[pin]]\n", table("passed-over", version="1 x", **OVER), "].version`"),
        ("[[pin]]\n", driver("hdk >= 25", "numpy-abi"), "`numpy-abi`, which is no fact here"),
        (
            "[[pin]]\n",
            driver("cann in 8.5.0", "antlr4-runtime-archives"),
            "states nothing about the driver",
        ),
        ("[[pin]]\n", stage(), "has no pins"),
        ("[[pin]]\n", stage("other"), "a stage names `other`, which is not a pin"),
        ("[[pin]]\n", stage("numpy"), "`numpy` is in a stage 2 times"),
        ("requires = [\n", 'requires = [\n    "a==",\n', "Expected"),
        ('code = "text"', 'code = "no.such"', "there is no message `no.such` with these values"),
        (
            'code = "text"',
            'code = "lock.yanked"',
            "there is no message `lock.yanked` with these values",
        ),
        ('name = "verl"', 'name = "numpy"', "`numpy` is a pin 2 times"),
        ("[[build-pin]]\n", SETUPTOOLS, "`setuptools` is a build-pin 2 times"),
        ('name = "numpy-1.26.4', 'name = "-1.26.4', "is not the name of a file"),
        ('name = "numpy-1.26.4', 'name = ".numpy-1.26.4', "is not the name of a file"),
        (NUMPY, "", "`numpy` has no file"),
        ('index = ""', 'index = "pypi"', "`verl` is from git, and from an index as well"),
        (GIT, NUMPY + GIT, "`verl` is from git, and from an index as well"),
        ('version = "0.11.0+empty"', 'version = "0.11.0"\nlabel = "$(x)"', "].label`"),
        ("SETUPTOOLS_SCM_PRETEND_VERSION =", "SETUPTOOLS-SCM =", "].env`"),
        ("[import-env]\nTORCH_", "[import-env]\nTORCH-", "- at `key` in `$.import-env`"),
        ('name = "HCCL_CONNECT_TIMEOUT"', 'name = "HCCL;x"', "].name`"),
        ('value = "7200"', 'value = "7200\\nx"', "`7200\nx` has characters that do not print"),
        ('    "torch",\n    "vllm",\n', '    "torch; x",\n    "vllm",\n', "]`"),
        (TRUSTED, step("a\nb", "true", "a"), "has characters that do not print"),
        (TRUSTED, step("a", "true\nx", "a"), "has characters that do not print"),
        (TRUSTED, step("a", "true", "../a"), "it is not a path inside the repository"),
    ],
)
def test_read_refuses_an_edited_lock(tmp_path: Path, old: str, new: str, why: str) -> None:
    text = COMMITTED.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / file.NAME).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        file.read(tmp_path)
    assert refused.value.message == "the lock cannot be read"
    assert why in refused.value.why


def test_read_refuses_a_second_pin_beside_one_from_git(tmp_path: Path) -> None:
    stage = '[[stage]]\nmode = "built-here"\npins = [\n    "vllm-ascend",\n'
    before, own, after = COMMITTED.read_text(encoding="utf-8").partition(stage)
    assert own
    before = before.replace('    "vllm",\n]\n', '    "vllm",\n    "vllm-ascend",\n]\n', 1)
    (tmp_path / file.NAME).write_text(before + after[after.index("[[pin]]") :], encoding="utf-8")
    with pytest.raises(InputError) as refused:
        file.read(tmp_path)
    assert refused.value.why == "stage 3 has more than the one pin that comes from git"


def test_read_converts_format_2(tmp_path: Path) -> None:
    """It knew the components of Ascend alone, and called an accelerator by its own name."""
    raw = tomli.loads(COMMITTED.read_text(encoding="utf-8"))
    former = {
        **raw,
        "format": 2,
        "target": {key: value for key, value in raw["target"].items() if key != "component"},
        "optional": [
            {"package": "torch", "modules": ["torch.x"], "fact": raw["fact"][0]["id"], "npu": True}
        ],
        "warnings": [
            {"code": "lock.driver", "values": {"asked": "hdk >= 25.0", "told": "so it says"}},
            {"code": "lock.unknown", "values": {"value": "8.5.9", "near": "8.5.1"}},
        ],
    }
    (tmp_path / file.NAME).write_text(tomli_w.dumps(former), encoding="utf-8")
    lock = file.read(tmp_path)
    assert lock is not None
    assert [component.title for component in lock.target.components] == ["CANN", "SoC"]
    assert lock.optional[0].device is True
    told = [translate(warning, "en") for warning in lock.warnings]
    assert "hdk >= 25.0. `hdk` is not set in [target.system]" in told[0]
    assert "the target has CANN 8.5.9" in told[1]


def test_read_converts_format_1(tmp_path: Path) -> None:
    """It had English sentences where there are messages and requirements now."""
    text = FORMAT_1.read_text(encoding="utf-8")
    (tmp_path / file.NAME).write_text(text, encoding="utf-8")
    lock = file.read(tmp_path)
    assert lock is not None
    assert translate(lock.warnings[0], "zh") in text
    stage = next(stage for stage in lock.stage if stage.because)
    assert translate(stage.because[0], "en") in text
    assert {"torch-npu", "vllm"} <= lock.requested_projects
    assert lock.needed_by()
    (tmp_path / file.NAME).write_text(file.dump(lock), encoding="utf-8")
    assert file.read(tmp_path) == lock
