"""verify.py as a file: what it is made of, and that it stays in agreement with the rest."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from docs.site import messages
from resolver.lock import file as lock_file
from resolver.report.verify import MODULES, texts, verify, with_quoted_annotations
from resolver.verify.distributions import canonical_name, same_version
from resolver.verify.report import WARNINGS

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def program() -> str:
    (folder,) = (REPOSITORY / "locks" / "verl-qwen3.5").glob("linux-aarch64-*")
    lock = lock_file.read(folder)
    assert lock is not None
    return verify(lock)


def test_program_says_that_a_python_is_too_old(program: str) -> None:
    """3.8 is the oldest for which there are locks, and does not know slots of a dataclass."""
    assert "slots=" not in program
    _, imported, check, restart, *rest = ast.parse(program, feature_version=(3, 7)).body
    # what stands before the check must be known to that Python
    assert ast.unparse(imported) == "import sys"
    assert ast.unparse(check).startswith("if sys.version_info < (3, 8):")
    # and before it has started itself again, no file is imported
    names = [
        name.name
        for node in ast.walk(restart)
        if isinstance(node, ast.Import)
        for name in node.names
    ]
    assert set(names) <= set(sys.builtin_module_names)
    nodes = iter(rest)
    for node in nodes:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            break
    assert not [
        ast.unparse(rest) for rest in nodes if isinstance(rest, (ast.Import, ast.ImportFrom))
    ]


@pytest.mark.parametrize("module", MODULES)
def test_quoted_annotations_are_those_of_the_module(module: str) -> None:
    source = (REPOSITORY / "resolver" / f"{module}.py").read_text(encoding="utf-8")
    quoted = ast.parse(with_quoted_annotations(source))
    for node in ast.walk(quoted):
        for field in ("annotation", "returns"):
            annotation = getattr(node, field, None)
            if annotation is not None:
                setattr(node, field, ast.parse(ast.literal_eval(annotation), mode="eval").body)
    assert ast.unparse(quoted) == ast.unparse(ast.parse(source))


# What programs like to import and Python 3.7 does not have.
NEWER = {
    "contextlib.aclosing",
    "contextlib.chdir",
    "functools.cache",
    "functools.cached_property",
    "graphlib",
    "importlib.metadata",
    "itertools.pairwise",
    "math.prod",
    "shlex.join",
    "tomllib",
    "typing.Final",
    "typing.Literal",
    "typing.Protocol",
    "typing.TypedDict",
    "types.NoneType",
    "zoneinfo",
}


def test_program_imports_nothing_newer_than_python_3_7(program: str) -> None:
    names = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    assert names & NEWER == set()


def test_program_imports_the_standard_library_alone(program: str) -> None:
    for node in ast.walk(ast.parse(program)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert all(
            name.partition(".")[0] in {*sys.stdlib_module_names, "__future__"} for name in names
        )


def test_program_modules_share_no_name() -> None:
    """In one file these would be the same."""
    owners: dict[str, str] = {}
    for module in MODULES:
        for node in ast.parse(
            (REPOSITORY / "resolver" / f"{module}.py").read_text(encoding="utf-8")
        ).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            targets += [node.target] if isinstance(node, ast.AnnAssign) else []
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            names += [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
            for name in names:
                assert owners.setdefault(name, module) == module, name


def test_documentation_has_every_code() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (wrong|warning) \|", messages.page("en"), re.MULTILINE)
    codes = {code.removesuffix("-what") for code in texts()["en"] if code.endswith("-what")}
    assert len(rows) == len(codes)
    assert dict(rows) == {code: "warning" if code in WARNINGS else "wrong" for code in codes}


@settings(max_examples=200)
@given(
    *[
        st.from_regex(
            r"(1!)?[01](\.0){0,2}(\.10?)?(\.0){0,2}(a0|\.post0|\.dev10)?(\+0(\.0)?)?",
            fullmatch=True,
        )
        for _ in "ab"
    ]
)
def test_same_version_agrees_with_packaging(one: str, other: str) -> None:
    assert same_version(one, other) == (Version(one) == Version(other))


def test_same_version_of_texts_that_are_none() -> None:
    assert same_version("0.1-final!", "0.1-final!")
    assert not same_version("final", "final.0")


def test_same_version_of_very_long_texts() -> None:
    digits = "1" * 10_000
    assert same_version(f"1.post{digits}", f"1.0-{digits}")
    assert not same_version("1" + ".0" * 200_000 + ".x", "1")
    assert canonical_name("Foo.Bar_-baz") == "foo-bar-baz"
