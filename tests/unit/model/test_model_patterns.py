"""Patterns: stacks and locks share one for each kind of text, and all match only ASCII."""

from __future__ import annotations

import re
from importlib import resources
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from msgspec import Meta

from resolver.errors import InputError
from resolver.model import lock, patterns
from resolver.model.patterns import Pattern
from resolver.model.requirement import ComponentRequirement
from tests.components import COMPONENTS
from tests.unit.config.folders import STACK, message

PATTERNS = [value for value in vars(patterns).values() if isinstance(value, Pattern)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"3.11"', '"3.１１"', "`3.１１` is not one version of Python"),
        (
            "[target.system]",
            'glibc = "2.２８"\n[target.system]',
            "`2.２８` is not a version of glibc",
        ),
        (
            "[target]",
            '[check]\nimports = ["torch.模块"]\n[target]',
            "`torch.模块` is not the name of a module",
        ),
        (
            "[target]",
            '[check]\nimports = ["torch."]\n[target]',
            "`torch.` is not the name of a module",
        ),
    ],
)
def test_stack_refuses_texts_that_a_lock_cannot_have(
    old: str, new: str, told: str, tmp_path: Any
) -> None:
    assert message(tmp_path, STACK.replace(old, new)).startswith(told)


@pytest.mark.parametrize("expression", [r"3\.\d", r"\w+", r"a\sb", r"\bextra", "[０-９]"])
def test_pattern_refuses_classes_beyond_ascii(expression: str) -> None:
    with pytest.raises(ValueError, match="not ASCII"):
        Pattern(expression, "a text")


def test_no_pattern_ignores_case_beyond_ascii() -> None:
    assert not [
        pattern for pattern in PATTERNS if pattern.matches("\u212a") or pattern.matches("\u017f")
    ]


def test_build_variable_is_none_that_install_clears() -> None:
    """Of pip, Python and bash, install.sh removes or sets these itself."""
    alone = template_text("alone.sh.j2")
    install = template_text("install.sh.j2")
    (removed,) = re.findall(r"^ +(\S.*[|].*)\)\n +unwanted\+=", alone, re.MULTILINE)
    build_in = install.partition("build_in() {")[2].partition("\n}\n")[0]
    nested = re.findall(r"PIP_[A-Z_]+=", install)
    words = [*removed.split(" | "), *re.findall(r"-u ([A-Z_]+)", build_in)]
    words += re.findall(r"\b([A-Z_]+)=", build_in)
    names = {re.sub(r"\[.*?\]", "-", word).replace("*", "X") for word in [*words, *nested]}
    names = {name.replace("-", "").rstrip("=") for name in names}
    assert {"BASH_ENV", "PIP_NO_INDEX", "HOME", "PATH", "PYTHONPATH", "PYTHONNOUSERSITE"} <= names
    assert [name for name in sorted(names) if patterns.BUILD_VARIABLE.matches(name)] == []


@pytest.mark.parametrize(
    "name",
    ["PIP_REQUIREMENT", "PIP_X", "_PIP_X", "GIT_SSH_COMMAND", "HTTPS_PROXY", "https_proxy", "ENV"],
)
def test_variable_is_none_of_an_installer(name: str) -> None:
    assert not patterns.VARIABLE.matches(name)
    assert not patterns.BUILD_VARIABLE.matches(name)


@pytest.mark.parametrize(
    "name",
    [
        *("ASCEND_LOCK_CANN", "al_status", "_al_undo", "_ascend_lock_set"),
        *("LOCALDOMAIN", "RES_OPTIONS", "RESOLV_HOST_CONF", "LOCPATH"),
        *("AWS_CA_BUNDLE", "NODE_OPTIONS", "PERL5LIB", "RUBYOPT"),
    ],
)
def test_variable_is_none_of_our_scripts_or_of_the_connection(name: str) -> None:
    assert not patterns.VARIABLE.matches(name)


@pytest.mark.parametrize(
    "name", ["PYTHONHASHSEED", "LD_PRELOAD", "PIPELINE", "ENVIRONMENT", "PATHS", "TORCH_HOME"]
)
def test_variable_is_what_a_program_reads(name: str) -> None:
    assert patterns.VARIABLE.matches(name)


@pytest.mark.parametrize("name", ["SOC_VERSION", "CC", "CMAKE_PREFIX_PATH", "MAX_JOBS", "PIPELINE"])
def test_build_variable_is_what_a_build_reads(name: str) -> None:
    assert patterns.BUILD_VARIABLE.matches(name)


def template_text(name: str) -> str:
    """Return the text of a template of the scripts."""
    folder = resources.files("resolver.report").joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def test_component_wildcard_has_ascii_digits() -> None:
    with pytest.raises((ValueError, InputError)):
        ComponentRequirement.parse("cann == ８.5.*", COMPONENTS)


def test_lock_has_no_pattern_of_its_own() -> None:
    known = {pattern.whole for pattern in PATTERNS} | {rf"{patterns.LABEL.whole}|\A\Z"}
    assert {found for found in _patterns(lock.Lock) if found not in known} == set()


def _patterns(kind: Any, seen: frozenset[Any] = frozenset()) -> set[str]:
    """Return the patterns in the annotations of a type and of the types that it is made of."""
    if kind in seen:
        return set()
    seen |= {kind}
    found: set[str] = set()
    if get_origin(kind) is Annotated:
        found = {
            note.pattern for note in get_args(kind)[1:] if isinstance(note, Meta) and note.pattern
        }
    inner = get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        inner = tuple(field.type for field in msgspec.structs.fields(kind))
    for part in inner:
        if get_origin(part) is not None or isinstance(part, type):
            found |= _patterns(part, seen)
    return found


def test_patterns_of_a_lock_are_found() -> None:
    assert patterns.SHA256.whole in _patterns(lock.Lock)
    assert re.compile(patterns.SHA256.whole).search("0" * 64)
