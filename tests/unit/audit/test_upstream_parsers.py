"""Parsers of upstream's files: what each returns, and which files each refuses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from resolver.audit.upstream.entry import TextFile
from resolver.audit.upstream.parsers import PARSERS
from resolver.audit.upstream.values import READERS
from resolver.errors import InputError

WHERE = "owner/repo FILE @c0ffee"
TABLE = """\
# Title

| A | Needs | Note |
|---|:-----:|------|
| v1.0 | x\\|y | `old` |
| **2.0** |  | |
text

| A | Other |
|---|---|
| 9 | 9 |
"""


def parsed(
    parser: str,
    text: str,
    columns: Mapping[str, str] | None = None,
    path: str = "FILE",
    **more: object,
) -> list[dict[str, object]]:
    file = TextFile(where=WHERE, path=path, text=text, **more)  # type: ignore[arg-type]
    return [dict(entry.values) for entry in PARSERS[parser](file, columns or {})]


def lines(
    parser: str, text: str, columns: Mapping[str, str] | None = None
) -> list[tuple[int, int]]:
    entries = PARSERS[parser](TextFile(where=WHERE, path="FILE", text=text), columns or {})
    return [(entry.first, entry.last) for entry in entries]


def fault(parser: str, text: str, columns: Mapping[str, str] | None = None, **more: object) -> str:
    with pytest.raises(InputError) as caught:
        parsed(parser, text, columns, **more)  # type: ignore[arg-type]
    error = caught.value
    return "; ".join(filter(None, (error.message, error.where, error.why)))


# --- tables


def test_markdown_table_rows() -> None:
    assert parsed("markdown-table", TABLE, {"A": "release", "Needs": "needs"}) == [
        {"release": "v1.0", "needs": "x|y"},
        {"release": "2.0", "needs": ""},
    ]
    assert lines("markdown-table", TABLE, {"A": "release", "Needs": "needs"}) == [(5, 5), (6, 6)]


def test_markdown_table_of_several_with_columns() -> None:
    assert [row["release"] for row in parsed("markdown-table", TABLE, {"A": "release"})] == [
        "v1.0",
        "2.0",
        "9",
    ]


def test_markdown_table_without_outer_borders() -> None:
    assert parsed("markdown-table", "A | B\n--- | ---\n1 | 2\n", {"A": "a", "B": "b"}) == [
        {"a": "1", "b": "2"}
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("no table", f"no table has these columns; {WHERE}; wanted are `A`, `B`"),
        ("| A |\n|---|\n| 1 |\n", f"no table has these columns; {WHERE}; wanted are `A`, `B`"),
        (
            "| A | B |\n|---|---|\n| 1 | 2 | 3 |\n",
            (
                f"a row of the table cannot be read; {WHERE} #L3; "
                "it has 3 cells, and the table has 2 columns"
            ),
        ),
        (
            "| A | B |\n|---|---|\n| 1 |\n",
            (
                f"a row of the table cannot be read; {WHERE} #L3; "
                "it has 1 cells, and the table has 2 columns"
            ),
        ),
        (
            "| A | B | A |\n|---|---|---|\n| 1 | 2 | 3 |\n",
            f"the table has two columns `A`; {WHERE} #L1",
        ),
        (
            "| A | B |\n|---|---|\n| 1 | \x1b[31m |\n",
            (
                f"the cell in `B` cannot be used; {WHERE} #L3; "
                "it has characters that do not print: `\\x1b[31m`"
            ),
        ),
        (
            f"| A | B |\n|---|---|\n| 1 | {'x' * 301} |\n",
            (
                f"the cell in `B` cannot be used; {WHERE} #L3; "
                "it has 301 characters, and a value has at most 300"
            ),
        ),
        (
            f"| A | B |\n|---|---|\n| {'y' * 20_000} | 1 |\n",
            f"a line is too long; {WHERE} #L3; it has 20008 characters",
        ),
    ],
)
def test_markdown_table_that_is_odd(text: str, error: str) -> None:
    assert fault("markdown-table", text, {"A": "a", "B": "b"}) == error


def test_markdown_table_takes_time_in_proportion() -> None:
    text = "| A | B |\n|---|---|\n" + "| 1 | 2 |\n" * 50_000 + "\n" + "|" * 15_000
    assert len(parsed("markdown-table", text, {"A": "a", "B": "b"})) == 50_000


# --- Dockerfiles

DOCKERFILE = """\
# FROM nothing
ARG OS=ubuntu22.04
FROM quay.test/cann:9.1.0-beta.1-310p-${OS}-py3.12 AS base
ARG TAG=v1 \\
    UNUSED
ENV SOC="$PREFIX-p1"
FROM base
RUN true && \\
    # a remark
    export SOC=${OTHER:-p3} && build
"""


def test_dockerfile_image_and_variables() -> None:
    (values,) = parsed("dockerfile", DOCKERFILE, {"TAG": "tag", "SOC": "soc", "NONE": "none"})
    assert values == {
        "image": "quay.test/cann:9.1.0-beta.1-310p-ubuntu22.04-py3.12",
        "cann": "9.1.0-beta.1",
        "chip": "310p",
        "os": "ubuntu22.04",
        "python": "3.12",
        "tag": "v1",
        "soc": "p3",
        "none": "",
    }
    assert lines("dockerfile", DOCKERFILE, {"TAG": "tag", "SOC": "soc"}) == [(3, 8)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("RUN true\n", f"the Dockerfile begins with no image; {WHERE}"),
        ("FROM\n", f"a FROM cannot be read; {WHERE} #L1; ``"),
        (
            "FROM ubuntu:22.04\n",
            (
                f"the Dockerfile begins with no image of CANN; {WHERE} #L1; "
                "`ubuntu:22.04` has no tag such"
            ),
        ),
        (
            "FROM q/cann:9.0.0-a3-ubuntu22.04-py3.11\nARG T=\x07\n",
            f"`T` cannot be used; {WHERE} #L2; it has characters that do not print: `\\x07`",
        ),
    ],
)
def test_dockerfile_that_is_odd(text: str, error: str) -> None:
    assert fault("dockerfile", text, {"T": "t"}).startswith(error)


def test_dockerfile_variables_do_not_grow() -> None:
    doubling = "".join(f"ARG V{at + 1}=$V{at}$V{at}\n" for at in range(60))
    text = f"ARG V0=xxxxxxxx\n{doubling}FROM q/cann:9.0.0-a3-ubuntu22.04-py3.11\n"
    assert fault("dockerfile", text, {"V60": "v"}).startswith(f"a value is too long; {WHERE} #L13")


# --- lists of requirements


def test_requirement_lines() -> None:
    text = "# why\n--pre\nnumpy<2  # remark\n\nqwen_vl_utils\nray[default]\n"
    assert parsed("requirement-lines", text) == [
        {"lines": ("numpy<2", "qwen_vl_utils", "ray[default]")}
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("# nothing\n", f"the file has no requirements; {WHERE}"),
        ("-r other.txt\n", f"it includes another file, `other.txt`; {WHERE} #L1"),
        ("numpy\n<<<<<<< HEAD\n", f"`<<<<<<< HEAD` is no requirement; {WHERE} #L2; Expected"),
    ],
)
def test_requirement_lines_that_are_odd(text: str, error: str) -> None:
    assert fault("requirement-lines", text).startswith(error)


SETUP = """\
requires = ["numpy", "ray[default]>=2"]
raise SystemExit("it was run")
setup(name="x", python_requires=">=3.10", install_requires=requires, version=read())
"""


def test_setup_script_literals() -> None:
    columns = {"python_requires": "python", "install_requires": "requires", "version": "version"}
    assert parsed("setup-script", SETUP, columns) == [
        {"python": ">=3.10", "requires": ("numpy", "ray[default]>=2")},
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("print('x')\n", f"it calls no `setup`; {WHERE}"),
        ("def (\n", f"it is not Python that can be read; {WHERE}; invalid syntax"),
        ("(" * 5000, f"it is not Python that can be read; {WHERE}; too many nested parentheses"),
        (
            "x = 1\0",
            (
                f"it is not Python that can be read; {WHERE}; "
                "source code string cannot contain null bytes"
            ),
        ),
    ],
)
def test_setup_script_that_is_odd(text: str, error: str) -> None:
    assert fault("setup-script", text).startswith(error)


def test_build_system_requires() -> None:
    assert parsed("build-system", '[build-system]\nrequires = ["cmake>=3", "wheel"]\n') == [
        {"lines": ("cmake>=3", "wheel")}
    ]
    assert (
        fault("build-system", "[tool]\n") == f"it has no list `requires` in [build-system]; {WHERE}"
    )
    assert fault("build-system", "[build-system\n").startswith(
        f"it is not TOML that can be read; {WHERE}"
    )


# --- versions, submodules, names


def test_version_file() -> None:
    assert parsed("version-file", "# made by hand\n\n2.7.1.post4\n") == [{"version": "2.7.1.post4"}]
    assert (
        fault("version-file", "1\n2\n")
        == f"the file has no version; {WHERE}; it has 2 lines of text, not one"
    )
    assert (
        fault("version-file", "")
        == f"the file has no version; {WHERE}; it has 0 lines of text, not one"
    )


def test_submodules() -> None:
    text = '[submodule "x"]\n\tpath = lib/x\n\turl = https://git.test/x.git\n'
    assert parsed("submodules", text, submodules={"lib/x": "c0ffee"}) == [
        {"path": "lib/x", "git": "https://git.test/x.git", "commit": "c0ffee"}
    ]
    told = fault("submodules", text, submodules={"lib/y": "c0ffee"})
    assert told == f"the submodule `lib/y` has no address; {WHERE}"


def test_path_names() -> None:
    pattern = {r"cann/(?P<cann>[0-9.]+)-(?P<chip>a3|950)/Dockerfile": "tag"}
    assert parsed("path-names", "", pattern, path="cann/9.0.0-a3/Dockerfile") == [
        {"cann": "9.0.0", "chip": "a3"}
    ]
    assert parsed("path-names", "", pattern, path="cann/9.0.0-910/Dockerfile") == []


# --- cells


@pytest.mark.parametrize(
    ("reader", "text", "read"),
    [
        ("version", "v2.1.0.rc1", "2.1.0rc1"),
        ("series", "v0.10.1/v0.10.1.1", "0.10.1.*"),
        ("series", "v0.10.1", "0.10.1"),
        ("cann", "CANN 8.3.rc1", "8.3.RC1"),
        ("cann", "9.1.X", "9.1.*"),
        ("cann", "9.1.0-beta.1", "9.1.0-beta.1"),
        ("cann-or-build", "9.2.0_20260930", "9.2.0 (20260930)"),
        ("python", ">= 3.10, <3.13", ">= 3.10, < 3.13"),
        ("after-dash", "v2.9.0-26.0.0", "26.0.0"),
    ],
)
def test_reader_reads_a_cell(reader: str, text: str, read: str) -> None:
    assert READERS[reader](text) == read


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("version", "main"),
        ("version", "{{tag}}"),
        ("series", "1.0/2.0"),
        ("cann", "9"),
        ("cann", "latest"),
        ("python", "3.10 or so"),
        ("after-dash", "main"),
    ],
)
def test_reader_refuses_a_cell(reader: str, text: str) -> None:
    with pytest.raises(ValueError, match="`"):
        READERS[reader](text)
