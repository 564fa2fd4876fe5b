"""`ascend-lock facts check --sources`: do sources say what a fact states?"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from resolver.audit.source_checks import Said
from tests.functional.workspace import Run, Workspace, row
from tests.repositories import Repository

TABLE = """\
# Which releases go together

| App    | Lib            | Python          | Stable CANN |
|--------|----------------|-----------------|-------------|
| v3.0   | v1.2 / v1.2.1  | >= 3.10, < 3.13 | 9.0.0       |
| v2.0   | v1.1           | >= 3.10, < 3.12 | 8.5.1       |
| v1.0   | v1.0           | >= 3.9, < 3.11  | 8.3.RC1     |

## Series

| Series | CANN           |
|--------|----------------|
| 26.0.0 | 8.5.0, 8.3.RC1 |
"""
NOTES = """\
# Release notes

## v2.0

This release is for lib 1.1 and needs the driver 25.3.rc1.

It was tested for a week.

## v1.0

This release is for lib 1.0.
"""
DOCKERFILE = """\
FROM quay.io/ascend/cann:8.5.1-910b-ubuntu22.04-py3.11
ARG APP_TAG=v2.0
RUN pip install lib==1.1
"""
SERIES = "| App | Series |\n|-----|--------|\n| 2.0 | 26.0.0 |\n| 1.0 | 25.0.0 |\n"
LIST = """\
.. list-table::
   :header-rows: 1

   * - App
     - CANN
   * - 2.0
     - 8.5.1
   * - 1.0
     - 8.3.RC1
"""
FILES = {
    "table.md": TABLE,
    "notes.md": NOTES,
    "Dockerfile": DOCKERFILE,
    "series.md": SERIES,
    "guide.rst": LIST,
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a repository that git finds at https://github.com/vendor/app."""
    repository = Repository(tmp_path / "origin")
    (tmp_path / "gitconfig").write_text(
        f'[url "{repository.url}"]\n\tinsteadOf = https://github.com/vendor/app.git\n'
        "[safe]\n\tdirectory = *\n[uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n"
    )
    return repository


@pytest.fixture
def commit(repository: Repository) -> str:
    return repository.commit(FILES, tag="v2.0")


def checked(workspace: Workspace, rows: str, *words: str, tmp_path: Path, **variables: str) -> Run:
    """Return the result for these facts about `app`, with the repository in place of github.com."""
    workspace.index.serve("app 1.0 2.0 3.0", "lib 1.0 1.1")
    workspace.stack("app")
    workspace.facts("app", rows)
    variables["GIT_CONFIG_GLOBAL"] = str(tmp_path / "gitconfig")
    return workspace.run("facts", "check", "--sources", *words, **variables)


def outcome(
    workspace: Workspace, tmp_path: Path, kind: str, source: str | list[str], **said: Any
) -> dict[str, Any]:
    """Return what is found about one fact."""
    run = checked(workspace, row(kind, id="it", source=source, **said), "--json", tmp_path=tmp_path)
    (fact,) = run.json["facts"]
    expected = {"false": 1}.get(fact["outcome"], 0)
    assert run.status == expected or fact["outcome"] == "unread"
    return fact


def row_two(**changes: Any) -> dict[str, Any]:
    """Return what the table says of 2.0, with changes."""
    return {"versions": "==2.0", "needs": ["lib==1.1", "cann in 8.5.1", "python < 3.12"], **changes}


# --- rows of a table


@pytest.mark.parametrize("lines", ["", " #L6", " #L3-L7"])
@pytest.mark.parametrize(
    ("changes", "said", "why"),
    [
        ({}, "stated", ""),
        ({"needs": ["lib==1.1"]}, "stated", ""),
        ({"needs": ["cann in 8.5.1 | 8.5.0"]}, "false", "lacks"),
        ({"needs": ["lib==1.0"]}, "false", "instead-of"),
        ({"needs": ["cann in 8.3.RC1"]}, "false", "instead-of"),
        ({"needs": ["cann in 8.5.*"]}, "stated", ""),
        ({"needs": ["cann in 8.4.*"]}, "false", "instead-of"),
        ({"needs": ["cann in 8.5.10"]}, "false", "instead-of"),
        ({"needs": ["python < 3.13"]}, "false", "instead-of"),
        ({"needs": ["cann in 3.12.0"]}, "false", "instead-of"),
        ({"needs": ["lib==8.5.1"]}, "false", "instead-of"),
        ({"needs": ["other==1.1"]}, "false", "lacks-of"),
        ({"versions": "==2.0.post1"}, "false", "no-release"),
        ({"versions": "==1.1"}, "false", "no-release"),
    ],
)
def test_row_must_have_the_release_and_its_values(
    workspace: Workspace,
    tmp_path: Path,
    commit: str,
    lines: str,
    changes: dict[str, Any],
    said: str,
    why: str,
) -> None:
    fact = outcome(
        workspace,
        tmp_path,
        "requires",
        f"vendor/app table.md @{commit}{lines}",
        **row_two(**changes),
    )
    assert fact["outcome"] == said, fact
    codes = {one["code"] for one in fact["missing"]}
    assert why in codes if why else not codes


def test_each_release_must_have_the_values(
    workspace: Workspace, tmp_path: Path, commit: str
) -> None:
    said = row_two(versions=["==2.0", "==1.0"])
    fact = outcome(workspace, tmp_path, "requires", f"vendor/app table.md @{commit}", **said)
    assert [fact["outcome"], {one["values"]["about"] for one in fact["missing"]}] == [
        "false",
        {"app 1.0"},
    ]


def test_two_releases_share_alternatives(workspace: Workspace, tmp_path: Path, commit: str) -> None:
    said = {"versions": ["==2.0", "==1.0"], "needs": ["cann in 8.5.1 | 8.3.RC1"]}
    fact = outcome(workspace, tmp_path, "requires", f"vendor/app table.md @{commit}", **said)
    assert fact["outcome"] == "stated"


def test_row_of_another_line_is_not_enough(
    workspace: Workspace, tmp_path: Path, commit: str
) -> None:
    fact = outcome(
        workspace, tmp_path, "requires", f"vendor/app table.md @{commit} #L5", **row_two()
    )
    assert fact["outcome"] == "false"


@pytest.mark.parametrize(("cann", "said"), [("8.5.1", "stated"), ("8.3.RC1", "false")])
def test_row_of_a_list_table_ends_with_the_next(
    workspace: Workspace, tmp_path: Path, commit: str, cann: str, said: str
) -> None:
    said_of_it = {"versions": "==2.0", "needs": [f"cann in {cann}"]}
    fact = outcome(workspace, tmp_path, "requires", f"vendor/app guide.rst @{commit}", **said_of_it)
    assert fact["outcome"] == said


# --- texts


@pytest.mark.parametrize(
    ("version", "needs", "said"),
    [
        ("2.0", ["lib==1.1", "hdk >= 25.3.rc1"], "stated"),
        ("2.0", ["lib==1.0"], "false"),
        ("1.0", ["lib==1.0"], "stated"),
        ("1.0", ["hdk >= 25.3.rc1"], "false"),
    ],
)
def test_section_is_about_the_release_in_its_heading(
    workspace: Workspace, tmp_path: Path, commit: str, version: str, needs: list[str], said: str
) -> None:
    source = f"vendor/app notes.md @{commit}"
    fact = outcome(workspace, tmp_path, "requires", source, versions=f"=={version}", needs=needs)
    assert fact["outcome"] == said


@pytest.mark.parametrize(
    ("versions", "tag", "needs", "said"),
    [
        ("==2.0", "", ["lib==1.1", "cann in 8.5.1", "soc in A2"], "stated"),
        (">=2.0,<3", " (v2.0)", ["lib==1.1"], "stated"),
        (">=3.0", " (v2.0)", ["lib==1.1"], "false"),
        ("==2.0", " (v2.0)", ["lib==1.2"], "false"),
        ("==2.0", " (v2.0)", ["soc in A3"], "false"),
    ],
)
def test_tag_says_of_which_release_a_file_is(
    workspace: Workspace,
    tmp_path: Path,
    commit: str,
    versions: str,
    tag: str,
    needs: list[str],
    said: str,
) -> None:
    source = f"vendor/app Dockerfile @{commit}{tag}"
    fact = outcome(workspace, tmp_path, "requires", source, versions=versions, needs=needs)
    assert fact["outcome"] == said


@pytest.mark.parametrize(("cann", "said"), [("8.5.0", "stated"), ("8.5.1", "false")])
def test_series_leads_from_one_table_to_another(
    workspace: Workspace, tmp_path: Path, commit: str, cann: str, said: str
) -> None:
    sources = [f"vendor/app series.md @{commit} #L3", f"vendor/app table.md @{commit} #L11-L13"]
    said_of_it = {"versions": "==2.0", "needs": [f"cann in {cann}"]}
    assert outcome(workspace, tmp_path, "requires", sources, **said_of_it)["outcome"] == said


def test_one_reference_leads_nowhere_else(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    both = SERIES + "\n" + TABLE.partition("## Series")[2]
    commit = repository.commit({"both.md": both})
    said = {"versions": "==2.0", "needs": ["cann in 8.5.0"]}
    fact = outcome(workspace, tmp_path, "requires", f"vendor/app both.md @{commit}", **said)
    assert fact["outcome"] == "false"
    sources = [f"vendor/app both.md @{commit} #L3", f"vendor/app both.md @{commit} #L10"]
    assert outcome(workspace, tmp_path, "requires", sources, **said)["outcome"] == "stated"


def test_files_of_one_commit_belong_together(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    files = {"Dockerfile": DOCKERFILE, "requirements.txt": "other==7.1\n"}
    first, second = repository.commit(files), repository.commit({**files, "more": ""})
    said = {"versions": "==2.0", "needs": ["other==7.1"]}
    together = [f"vendor/app Dockerfile @{first}", f"vendor/app requirements.txt @{first}"]
    apart = [f"vendor/app Dockerfile @{first}", f"vendor/app requirements.txt @{second}"]
    assert outcome(workspace, tmp_path, "requires", together, **said)["outcome"] == "stated"
    assert outcome(workspace, tmp_path, "requires", apart, **said)["outcome"] == "false"


# --- quotes


@pytest.mark.parametrize(
    ("quotes", "said"),
    [
        ("`tested for a week`", "quoted"),
        ("`tested for a month`", "false"),
        ("#L7 `tested for a week`", "quoted"),
        ("#L11 `tested for a week`", "false"),
        ("without `tested for a month`", "quoted"),
        ("without `tested for a week`", "false"),
        ("#L11 without `tested for a week`", "quoted"),
    ],
)
def test_quote_must_be_there_and_is_told_apart(
    workspace: Workspace, tmp_path: Path, commit: str, quotes: str, said: str
) -> None:
    fact = outcome(
        workspace, tmp_path, "external", f"vendor/app notes.md @{commit} {quotes}", needs=["c++"]
    )
    assert fact["outcome"] == said


def test_source_of_what_cannot_be_looked_for_must_quote(
    workspace: Workspace, tmp_path: Path, commit: str
) -> None:
    fact = outcome(workspace, tmp_path, "external", f"vendor/app notes.md @{commit}", needs=["c++"])
    assert [fact["outcome"], fact["references"][0]["why"]["code"]] == ["false", "nothing-to-find"]


# --- what is not there


MISSING = "c0ffee" * 6 + "cafe"


def reach_host_by_ssh(tmp_path: Path, repository: Repository, host: str) -> dict[str, str]:
    """Let git reach the cited host itself by ssh, and return the variables that it needs."""
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\nexec git upload-pack {repository.folder}\n")
    program.chmod(0o755)
    config = tmp_path / "gitconfig"
    _, _, settings = config.read_text().partition("[safe]")
    over_ssh = f'[url "{host}"]\n\tinsteadOf = https://github.com/\n'
    config.write_text(f"{over_ssh}[safe]{settings}")
    return {"GIT_SSH_COMMAND": str(program), "GIT_SSH_VARIANT": "ssh"}


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("vendor/app nowhere.md @{commit}", "no-file"),
        ("vendor/app table.md @{commit} #L99", "no-line"),
        ("app-2.0-py3-none-any.whl nowhere.py", "no-file"),
        ("app-9.0-py3-none-any.whl app.py", "not-offered"),
        ("app-2.0-py3-none-any.whl sha256:{zeros} app.py", "other-hash"),
        ("index pypi nowhere (2026-11-20)", "no-listing"),
    ],
)
def test_reference_to_what_is_not_there_is_false(
    workspace: Workspace, tmp_path: Path, commit: str, source: str, code: str
) -> None:
    text = source.format(commit=commit, zeros="0" * 64)
    fact = outcome(workspace, tmp_path, "excludes", text, versions="==2.0")
    assert [fact["outcome"], fact["references"][0]["why"]["code"]] == ["false", code]


LACKING_SOURCES = [
    ("vendor/app table.md @{missing}", "commit"),
    ("vendor/app @{missing}", "commit"),
    ("vendor/app table.md @{commit} (v1.0)", "tag"),
    ("vendor/app tag v9", "tag"),
]


@pytest.mark.parametrize(("source", "kind"), LACKING_SOURCES)
@pytest.mark.parametrize("host", ["ssh://git@github.com/", "git@github.com:"])
def test_source_that_the_cited_host_lacks_is_false(
    workspace: Workspace,
    tmp_path: Path,
    repository: Repository,
    commit: str,
    host: str,
    source: str,
    kind: str,
) -> None:
    variables = reach_host_by_ssh(tmp_path, repository, host)
    rows = row(
        "excludes",
        id="it",
        source=source.format(commit=commit, missing=MISSING),
        versions="==2.0",
    )
    run = checked(workspace, rows, "--json", tmp_path=tmp_path, **variables)
    (fact,) = run.json["facts"]
    assert [run.status, fact["outcome"]] == [1, "false"]
    assert fact["references"][0]["why"]["code"] == f"no-{kind}"


@pytest.mark.parametrize(("source", "kind"), LACKING_SOURCES)
def test_source_that_only_a_mirror_lacks_is_not_opened(
    workspace: Workspace, tmp_path: Path, commit: str, source: str, kind: str
) -> None:
    rows = row(
        "excludes",
        id="it",
        source=source.format(commit=commit, missing=MISSING),
        versions="==2.0",
    )
    run = checked(workspace, rows, "--json", tmp_path=tmp_path)
    (fact,) = run.json["facts"]
    (reference,) = fact["references"]
    assert [run.status, fact["outcome"], reference["unread"]] == [3, "unread", "repository"]
    assert reference["why"]["code"] == f"mirror-lacks-{kind}"


def test_command_says_that_a_mirror_lacks_the_commit(
    workspace: Workspace, tmp_path: Path, commit: str
) -> None:
    rows = row("excludes", id="it", source=f"vendor/app @{MISSING}", versions="==2.0")
    run = checked(workspace, rows, "--all", tmp_path=tmp_path)
    line, *_ = run.stdout.splitlines()
    assert line == (
        f"not opened: it (matrices/facts/app.toml:6): vendor/app @{MISSING[:12]}: "
        "could not be fetched: git's `url.<base>.insteadOf` leads from "
        f"https://github.com/vendor/app to a mirror that does not have the commit {MISSING}"
    )


def test_tag_of_another_commit_is_false(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    first = repository.commit(FILES, tag="v2.0")
    repository.commit({}, tag="v3.0")
    source = f"vendor/app table.md @{first} (v3.0)"
    fact = outcome(workspace, tmp_path, "requires", source, **row_two())
    assert [fact["outcome"], fact["references"][0]["why"]["code"]] == ["false", "other-commit"]


def test_link_in_a_repository_is_no_file(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    (tmp_path / "secret").write_text("app 2.0 needs lib 1.1")
    repository.commit(FILES)
    (repository.folder / "link.md").symlink_to(tmp_path / "secret")
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "a link")
    source = f"vendor/app link.md @{repository.git('rev-parse', 'HEAD')}"
    fact = outcome(workspace, tmp_path, "requires", source, versions="==2.0", needs=["lib==1.1"])
    assert [fact["outcome"], fact["references"][0]["why"]["code"]] == ["false", "no-file"]


# --- archives


CHECK = (
    '# of app\nif lib_version < Version("1.1"):\n    raise ImportError("app requires lib 1.1")\n'
)


@pytest.mark.parametrize(
    ("versions", "bounds", "said"),
    [
        (">=2.0", ["lib>=1.1"], "stated"),
        (">=2.0", ["lib>=1.2"], "false"),
        (">=3.0", ["lib>=1.1"], "false"),
        (">=2.0", ["other>=1.1"], "false"),
    ],
)
@pytest.mark.parametrize("kind", ["wheel", "archive"])
def test_member_of_a_release_needs_only_the_value(
    workspace: Workspace,
    tmp_path: Path,
    repository: Repository,
    versions: str,
    bounds: list[str],
    said: str,
    kind: str,
) -> None:
    if kind == "wheel":
        workspace.index.add_wheel("app", "2.5", files={"app/check.py": CHECK})
        source = "app-2.5-py3-none-any.whl app/check.py #L2-L3"
    else:
        workspace.index.add_archive("app", "2.5", members={"app/check.py": CHECK})
        source = "app-2.5.tar.gz app/check.py #L2-L3"
    fact = outcome(workspace, tmp_path, "constrains", source, versions=versions, bounds=bounds)
    assert fact["outcome"] == said


def test_archive_of_another_project_is_no_release(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    workspace.index.add_archive("lib", "2.5", members={"check.py": CHECK})
    said = {"versions": ">=2.0", "bounds": ["lib>=1.1"]}
    fact = outcome(workspace, tmp_path, "constrains", "lib-2.5.tar.gz check.py #L2", **said)
    assert [fact["outcome"], fact["missing"][0]["code"]] == ["false", "no-release"]


def test_list_of_a_wheels_files_is_its_record(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    built = workspace.index.add_wheel("app", "2.5", files={"app/lib.so": "x"})
    digest = hashlib.sha256(built.content).hexdigest()
    source = f"app-2.5-py3-none-any.whl sha256:{digest} RECORD `app/lib.so` without `app/other.so`"
    assert outcome(workspace, tmp_path, "excludes", source, versions="==2.5")["outcome"] == "quoted"


BUILD = """
[[builds]]
versions = "==2.5"
requires-from = "requirements.txt"
reason = "r"
source = ["app-2.5.tar.gz Dockerfile"]
[builds.env]
{variable} = "p9"
SETUPTOOLS_SCM_PRETEND_VERSION = "2.5"
TORCH_DEVICE_BACKEND_AUTOLOAD = "0"
"""
COMMIT_BUILD = """
[[sources]]
git = "https://github.com/vendor/app.git"
commit = "{commit}"
committed = 2026-01-01
version = "2.5"
requires = ["lib>=1"]
build-requires = ["setuptools"]
requires-from = ["requirements.txt"]
submodules = [{{ path = "{folder}", git = "https://github.com/vendor/x.git", commit = "{digits}" }}]
reason = "r"
source = ["vendor/app requirements.txt @{commit}", "vendor/app .gitmodules @{commit}"]
"""


@pytest.mark.parametrize(("variable", "said"), [("SOC_VERSION", "stated"), ("OTHER", "false")])
def test_build_has_the_variables_of_its_files(
    workspace: Workspace, tmp_path: Path, repository: Repository, variable: str, said: str
) -> None:
    workspace.index.add_archive("app", "2.5", members={"Dockerfile": "ARG SOC_VERSION=p9\n"})
    run = checked(workspace, BUILD.format(variable=variable), "--json", tmp_path=tmp_path)
    assert [fact["outcome"] for fact in run.json["facts"]] == [said]


@pytest.mark.parametrize(("folder", "said"), [("lib/x", "stated"), ("lib/y", "false")])
def test_build_has_the_submodules_of_its_files(
    workspace: Workspace, tmp_path: Path, repository: Repository, folder: str, said: str
) -> None:
    commit = repository.commit(
        {"requirements.txt": "lib>=1\n", ".gitmodules": "[submodule]\n\tpath = lib/x\n"}
    )
    rows = COMMIT_BUILD.format(commit=commit, folder=folder, digits="0123" * 10)
    run = checked(workspace, rows, "--json", tmp_path=tmp_path)
    assert [fact["outcome"] for fact in run.json["facts"]] == [said]


def test_binary_file_shows_names_but_no_versions(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    workspace.index.add_wheel("app", "2.5", files={"app/lib.so": "\0ELF lib==1.1 \0"})
    source = "app-2.5-py3-none-any.whl app/lib.so"
    said = {"versions": ">=2.0", "bounds": ["lib>=1.1"]}
    assert outcome(workspace, tmp_path, "constrains", source, **said)["outcome"] == "false"
    fact = outcome(workspace, tmp_path, "constrains", f"{source} `lib==`", **said)
    assert fact["outcome"] == "quoted"
    fact = outcome(workspace, tmp_path, "after", source, versions=">=2.0", others=["lib"])
    assert fact["outcome"] == "stated"


def test_listing_has_the_releases(
    workspace: Workspace, tmp_path: Path, repository: Repository
) -> None:
    source = "index pypi app (2026-11-20)"
    assert outcome(workspace, tmp_path, "excludes", source, versions="==2.0")["outcome"] == "stated"
    assert outcome(workspace, tmp_path, "excludes", source, versions="==2.1")["outcome"] == "false"


# --- what is not opened


UNREAD = {
    "hiascend.com/a.html (2026-11-20)": "page",
    "vendor/app#12": "issue",
    "tried on linux-aarch64 (2026-11-20): it ran": "trial",
    '"a guide" (2026-11-20)': "document",
    "nobody/there table.md @" + "c0ffee" * 6 + "cafe": "repository",
}


def test_what_is_not_opened_is_told_apart(
    workspace: Workspace, tmp_path: Path, commit: str
) -> None:
    fact = outcome(workspace, tmp_path, "requires", list(UNREAD)[:4], **row_two())
    assert [fact["outcome"], [one["unread"] for one in fact["references"]]] == [
        "unread",
        list(UNREAD.values())[:4],
    ]


def test_unread_page_may_say_what_no_file_says(
    workspace: Workspace, tmp_path: Path, commit: str
) -> None:
    table, page = f"vendor/app table.md @{commit} #L6", "hiascend.com/a.html (2026-11-20)"
    more = row_two(needs=["lib==1.1", "hdk >= 25.3.rc1"])
    assert outcome(workspace, tmp_path, "requires", [table, page], **more)["outcome"] == "unread"
    wrong = row_two(needs=["lib==1.2", "hdk >= 25.3.rc1"])
    assert outcome(workspace, tmp_path, "requires", [table, page], **wrong)["outcome"] == "false"


# --- what the command prints


LACKING = (
    "expected lib 1.0 of app 2.0, not 1.1; there is: | v2.0 | v1.1 | >= 3.10, < 3.12 | 8.5.1 |"
)


def test_command_lists_what_is_false_and_counts(
    workspace: Workspace, tmp_path: Path, commit: str
) -> None:
    table = f"vendor/app table.md @{commit} #L6"
    rows = row("requires", id="right", source=table, **row_two())
    rows += row("requires", id="wrong", source=table, **row_two(needs=["lib==1.0"]))
    rows += row("excludes", id="page", source="hiascend.com/a.html (2026-11-20)", versions="==1.0")
    run = checked(workspace, rows, tmp_path=tmp_path)
    assert (run.status, run.stdout.splitlines()) == (
        1,
        [
            f"false: wrong (matrices/facts/app.toml:13): {LACKING}",
            "3 facts: 1 stated, 0 quoted, 1 not opened, 1 false",
            "3 references: 2 stated, 0 quoted, 1 not opened, 0 false",
            "not opened: 1 page",
        ],
    )
    every = checked(workspace, rows, "--all", "--lang", "zh", tmp_path=tmp_path).stdout
    assert "写明：right（matrices/facts/app.toml:6）\n" in every
    assert (
        "未打开：page（matrices/facts/app.toml:20）：hiascend.com/a.html (2026-11-20)：不打开网页\n"
        in every
    )


def test_repository_out_of_reach_is_status_3(workspace: Workspace, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    (tmp_path / "gitconfig").write_text(
        f'[url "file://{gone}"]\n\tinsteadOf = https://github.com/vendor/app.git\n'
    )
    rows = row(
        "excludes", id="it", source=f"vendor/app table.md @{'c0ffee' * 6}cafe", versions="==1.0"
    )
    run = checked(workspace, rows, "--json", tmp_path=tmp_path)
    assert [run.status, run.json["status"], run.json["facts"][0]["outcome"]] == [
        3,
        "out-of-reach",
        "unread",
    ]


def test_each_outcome_has_its_name() -> None:
    assert [said.value for said in Said] == ["false", "unread", "quoted", "stated"]
