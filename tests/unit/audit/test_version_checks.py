"""Version checks in Python code: what is found, and what the code does if a version differs."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest

from resolver.audit.code_scan import FoundBound
from resolver.audit.stated_bounds import find_in_compiled, find_in_cython
from resolver.audit.version_checks import UnreadableCodeError, VersionCheck, find_checks
from resolver.i18n import translate
from resolver.model import text
from resolver.report.code_scan import bound_lines

OWN = text.name("own")


def checks_in(source: str) -> list[VersionCheck]:
    return find_checks(dedent(source).encode(), "own/code.py", OWN)


def told(source: str) -> list[str]:
    """Return what is found as "project specifier effect"."""
    return [f"{check.project} {check.accepts} {check.effect.value}" for check in checks_in(source)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("check_version('vllm>=0.4.3,<=0.11.0')", "vllm <=0.11.0,>=0.4.3 refuses"),
        ("x = require_version('peft>=0.18', 'pip install it')", "peft >=0.18 refuses"),
        ("pkg_resources.require(['lib>=2'])", "lib >=2 refuses"),
        ("assert version.parse(lib.__version__) >= Version('2')", "lib >=2 refuses"),
        ("if Version(metadata.version('lib')) < Version('2'): raise X", "lib >=2 refuses"),
        ("if pkg_resources.get_distribution('lib').version < '2': raise X", "lib >=2 refuses"),
        ("if getattr(lib, '__version__') < '2': sys.exit(1)", "lib >=2 refuses"),
        ("if '2' > lib.__version__: raise X", "lib >=2 refuses"),
        ("if not lib.__version__ >= '2': raise X", "lib >=2 refuses"),
        ("if lib.__version__ >= '2': pass\nelse: raise X", "lib >=2 refuses"),
        ("if int(lib.__version__.split('.')[0]) < 2: raise X", "lib >=2 refuses"),
        (
            "if tuple(int(n) for n in lib.__version__.split('.')) < (2, 1): raise X",
            "lib >=2.1 refuses",
        ),
        ("if extract_version(lib) > (2, 4): raise X", "lib <2.5 refuses"),
        ("if Version(lib.__version__).major == 2: raise X", "lib !=2.* refuses"),
        ("if not is_torch_version('>=', '2.4'): raise X", "torch >=2.4 refuses"),
        ("if not is_accelerate_available('0.26'): raise X", "accelerate >=0.26 refuses"),
        ("if compare_versions('deepspeed', '<', '0.15'): raise X", "deepspeed >=0.15 refuses"),
        ("if compare_versions('lib', '<', 'v2'): raise X", "lib >=v2 refuses"),
        ("if compare_version('torch', operator.lt, '2.4'): raise X", "torch >=2.4 refuses"),
        ("return is_available and Version(lib.__version__) >= Version('2')", "lib >=2 disables"),
        ("if lib.__version__ < '2': _available = False", "lib >=2 disables"),
        ("if lib.__version__ < '2': warnings.warn('old')", "lib >=2 warns"),
        ("if lib.__version__ < '2': x = 1\nelse: x = 2", "lib >=2 decides"),
        ("GRPC_GENERATED_VERSION = '1.76.0'", "grpcio >=1.76.0 refuses"),
        (
            "r.ValidateProtobufRuntimeVersion(r.PUBLIC, 7, 36, 1, '', 'a')",
            "protobuf >=7.36.1 refuses",
        ),
        ("if cv2.__version__ < '4.10': raise X", "opencv-python >=4.10 refuses"),
    ],
)
def test_checks_say_what_code_accepts(source: str, expected: str) -> None:
    imports = "import cv2, lib\nfrom importlib import metadata\n"
    assert told(imports + source.replace("return", "def f():\n    return")) == [expected]


@pytest.mark.parametrize(
    "source",
    [
        "if own.__version__ < '2': raise X",  # the file's own project
        "if sys.version_info < (3, 11): raise X",
        "if platform.python_version() < '3.11': raise X",
        "if lib.__version__ < other.__version__: raise X",
        "if lib.__version__.split('.')[1] < '2': raise X",  # a part that says nothing alone
        "check_version('vllm')",  # no version
        "check_version(requirement)",
        "if lib.versions < 2: raise X",
        "version = 'a comment with lib < 2'",
    ],
)
def test_checks_leave_out_other_comparisons(source: str) -> None:
    assert told(f"import lib, other, own, sys, platform\n{source}") == []


def test_checks_follow_names_through_assignments() -> None:
    source = """
        import importlib.metadata
        MINIMUM = "0.16.0"
        def is_available():
            found, lib_version = _is_package_available("lib", return_version=True)
            installed = importlib.metadata.version("other")
            if Version(lib_version) < Version(MINIMUM):
                raise ImportError("too old")
            if installed >= "2":
                return False
    """
    assert told(source) == ["lib >=0.16.0 refuses", "other <2 disables"]


def test_checks_forget_names_of_other_functions() -> None:
    source = """
        def first():
            version = metadata.version("lib")
        def second():
            if version < "2":
                raise ImportError
    """
    assert told(source) == []


def test_checks_say_how_they_are_reached() -> None:
    source = """
        import lib
        if lib.__version__ < "2":
            raise ImportError
        class Parser:
            def parse(self, backend):
                if backend == "vllm":
                    check_version("vllm<=0.11.0")
                if backend and lib.__version__ < "3":
                    raise ImportError
    """
    reached = {
        check.accepts: (check.scope, check.under, check.at_import) for check in checks_in(source)
    }
    assert reached == {
        ">=2": ("", (), True),
        "<=0.11.0": ("Parser.parse", ("backend == 'vllm'",), False),
        ">=3": ("Parser.parse", ("backend and lib.__version__ < '3'",), False),
    }


@pytest.mark.parametrize(
    "source",
    [
        "if not (lib.__version__ >= '2' or npu()): raise X",
        "if (lib.__version__ < '2' and cuda()) or broken(): raise X",
        "if not not (lib.__version__ < '2' and cuda()): raise X",
        "if not (lib.__version__ < '2' and cuda()): pass\nelse: raise X",
        "assert not (lib.__version__ < '2' and cuda())",
        "assert lib.__version__ >= '2' or npu()",
        "assert ready() and (lib.__version__ >= '2' or npu())",
    ],
)
def test_checks_that_other_conditions_can_lift(source: str) -> None:
    (check,) = checks_in(f"import lib\n{source}")
    assert (check.accepts, check.effect.value) == (">=2", "refuses")
    assert check.under, "it is told as unconditional"


@pytest.mark.parametrize(
    "source",
    [
        "if lib.__version__ < '2' or (cuda() and broken()): raise X",
        "if not (lib.__version__ >= '2' and ready()): raise X",
        "if not (lib.__version__ >= '2' and ready()) or broken(): raise X",
        "assert not (lib.__version__ < '2' or broken())",
        "assert lib.__version__ >= '2' and (ready() or npu())",
        "if ready() and lib.__version__ >= '2': pass\nelse: raise X",
    ],
)
def test_checks_that_no_other_condition_can_lift(source: str) -> None:
    (check,) = checks_in(f"import lib\n{source}")
    assert (check.accepts, check.effect.value) == (">=2", "refuses")
    assert check.at_import


@pytest.mark.parametrize(
    ("statement", "project"),
    [
        ("from google import auth as lib", "google-auth"),
        ("import google.auth as lib", "google-auth"),
        ("from google.cloud import storage as lib", "google-cloud-storage"),
        ("from google import protobuf as lib", "protobuf"),
        ("import google.protobuf as lib", "protobuf"),
        ("from google.protobuf import runtime_version as lib", "protobuf"),
        ("import other.inner as lib", "other"),
    ],
)
def test_checks_of_modules_in_shared_packages(statement: str, project: str) -> None:
    assert told(f"{statement}\nif lib.__version__ < '2': raise X") == [f"{project} >=2 refuses"]


def test_checks_know_raising_branches_from_mixed_ones() -> None:
    source = """
        import lib
        if lib.__version__ >= "2":
            if broken:
                raise ImportError
            use()
        else:
            raise ImportError
    """
    assert told(source) == ["lib >=2 refuses"]


@pytest.mark.parametrize(
    "source",
    [
        b"version(",
        b"version = \0",
        b"version = " + b"(" * 100_000,
        b"version = " + b"-" * 100_000 + b"1",
        b"version = a" + b".b" * 100_000,
        b"version = 1\nif version:\n pass\n" + b"elif version < 2:\n pass\n" * 50_000,
        b"# -*- coding: none -*-\nversion = 1",
    ],
)
def test_checks_refuse_code_that_cannot_be_parsed(source: bytes) -> None:
    with pytest.raises(UnreadableCodeError):
        find_checks(source, "own/code.py", OWN)


def test_checks_of_one_line_cost_in_proportion() -> None:
    source = (
        b"import lib\nif lib.__version__ < '1' "
        + b"and lib.__version__ < '1' " * 20_000
        + b": raise X"
    )
    begin = time.process_time()
    assert len(find_checks(source, "own/code.py", OWN)) == 1
    assert time.process_time() - begin < 10


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b'"own requires NumPy 2.0 or newer, found "', ["numpy>=2.0"]),
        (b'"needs torch>=2.6"', ["torch>=2.6"]),
        (b'"only supports lib version 1.4 or older"', ["lib<=1.4"]),
        (b'"requires own 2.0, Python 3.11 and TLS 1.3"', []),
        (b"# requires NumPy 2.0, says a comment", []),
    ],
)
def test_stated_bounds_are_read_from_messages(message: bytes, expected: list[str]) -> None:
    found = find_in_cython(b"\n" + message, "own/lib.pyx", OWN)
    assert [(f"{check.project}{check.accepts}", check.line) for check in found] == [
        (row, 2) for row in expected
    ]


def test_stated_bounds_find_modules_for_numpy_1_alone() -> None:
    old, new = b"\0numpy.core._multiarray_umath\0", b"\0numpy._core._multiarray_umath\0"
    found = {
        content: [check.accepts for check in find_in_compiled(content, "m.so", OWN)]
        for content in (old, old + new)
    }
    assert found == {old: ["<2"], old + new: []}


def test_check_shows_160_characters_of_a_statement() -> None:
    (check,) = checks_in(f"require_version('lib>=2', '{'x' * 200}')")
    assert check.source == f"require_version('lib>=2', '{'x' * 200}"[:160] + "…"


def test_check_tells_100_characters_of_its_conditions() -> None:
    (check,) = checks_in(f"if {'x' * 120}:\n    require_version('lib>=2')")
    bound = FoundBound(check=check, metadata=(), facts=(), is_project=True, is_required=False)
    lines = [translate(line, "en") for line in bound_lines([bound])]
    (told,) = (line for line in lines if "…" in line)
    assert told.count("x") == 100
