"""`ascend-lock facts import`: facts and images from tables in repositories and archives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.functional.workspace import Workspace, row, tree
from tests.loopback import LoopbackIndex
from tests.repositories import Repository

HEAD = "| App | CANN | Python |\n|---|---|---|\n"
OLD = f"{HEAD}| v1.0 | 9.0.0 | >= 3.10, < 3.12 |\n"
NEW = f"{HEAD}| v2.0rc1 | CANN 9.1.X | >= 3.10, < 3.13 |\n| v1.0 | 9.0.0 | >= 3.10, < 3.12 |\n"
UPSTREAM = """\
[[repository]]
name = "app"
git = "{url}"
branch = "main"

[[table]]
name = "matrix"
repository = "app"
path = "docs/table.md"
parser = "markdown-table"
columns = {{ "App" = "release", "CANN" = "cann", "Python" = "python" }}
read = {{ release = "version", cann = "cann", python = "python" }}

[[table.leave-out]]
column = "release"
values = ["main"]
because = "it is no release"

[[table.fact]]
kind = "requires"
project = "app"
id = "app-{{release}}-table"
versions = "=={{release}}"
needs = ["cann in {{cann}}", "python {{python}}"]
reason = "The table has {{release}} with CANN {{cann}}."
reason-zh = "表中 {{release}} 对应 CANN {{cann}}。"
strength = "vendor"
"""
BUILDS = """
[[table]]
name = "a3"
repository = "app"
tags = 'v(?P<release>.*)'
path = "Dockerfile.a3"
parser = "dockerfile"
columns = { SOC_VERSION = "soc-version" }
read = { release = "version", cann = "cann" }
join = { matrix = "matrix" }

[table.with]
requirements = { path = "requirements.txt", parser = "requirement-lines", cited = true }
build = { path = "pyproject.toml", parser = "build-system" }
setup = { path = "setup.py", parser = "setup-script", columns = { python_requires = "python" } }
submodules = { path = ".gitmodules", parser = "submodules", may-lack = true }

[table.translate]
soc = { of = "chip", is = { a3 = "A3" } }

[table.image]
name = "{image}"
cann = "{cann}"
soc = "{soc}"
python = "{python}"
glibc = "2.35"

[[table.fact]]
kind = "requires"
project = "app"
if-differs = ["cann", "matrix.cann"]
id = "app-{release}-a3-cann"
versions = "=={release}"
when = ["soc in A3"]
needs = ["cann in {cann}"]
reason = "The image for A3 has CANN {cann}, and the table {matrix.cann}."
strength = "documented"

[[table.fact]]
kind = "sources"
project = "app"
cited = ["owner/notes tag {tag}", "{absent}"]
id = "app-{release}-a3"
git = "https://host.test/app.git"
commit = "{commit}"
committed = "{day}"
ref = "{tag}"
version = "{release}"
release = true
when = ["soc in A3"]
requires = "{requirements.lines}"
requires-from = ["requirements.txt"]
requires-python = "{setup.python}"
submodules = { each = "submodules", path = "{path}", git = "{git}", commit = "{commit}" }
env = { SOC_VERSION = "{soc-version}", OTHER = "{absent}" }
reason = "The image of {release} builds it."
strength = "documented"

[table.fact.build-requires]
lines = "{build.lines}"
loosened-by = "{requirements.lines}"
drop = ["unwanted"]
"""
TREE = {
    "docs/table.md": NEW,
    "Dockerfile.a3": "ARG SOC_VERSION=p9\nFROM quay.test/cann:9.0.1-a3-ubuntu22.04-py3.12\n",
    "requirements.txt": "numpy<2\nlib==1\n",
    "pyproject.toml": '[build-system]\nrequires = ["numpy>=2", "wheel", "unwanted"]\n',
    "setup.py": "from setuptools import setup\nsetup(python_requires='>=3.10')\n",
}
MADE = """\
[[requires]]
id = "app-1.0-table"
versions = "==1.0"
needs = ["cann in 9.0.0", "python >= 3.10, < 3.12"]
reason = "The table has 1.0 with CANN 9.0.0."
reason-zh = "表中 1.0 对应 CANN 9.0.0。"
strength = "vendor"
source = ["{repository} docs/table.md @{commit} #L3"]
checked = 2026-01-01
"""


A3 = """\
[target]
python = "3.11"
platform = "linux-aarch64"
glibc = "2.35"
[target.system]
soc = "A3"
cann = "9.1.0"
"""


@pytest.fixture
def upstream(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "owner" / "app")


@pytest.fixture
def workspace(workspace: Workspace, upstream: Repository) -> Workspace:
    tables(workspace, UPSTREAM.format(url=upstream.url))
    return workspace


def tables(workspace: Workspace, text: str) -> None:
    (workspace.matrices / "upstream.toml").write_text(text, "utf-8")


def generated(workspace: Workspace, project: str = "app") -> str:
    return (workspace.matrices / "facts" / "generated" / f"{project}.toml").read_text("utf-8")


def imported(workspace: Workspace, *arguments: str) -> list[str]:
    """Return the lines that an import prints."""
    run = workspace.run("facts", "import", *arguments)
    assert run.status == 0, run.stderr
    return run.stdout.splitlines()


# --- rows


def test_import_writes_rows_with_source_and_line(
    workspace: Workspace, upstream: Repository
) -> None:
    commit = upstream.commit({"docs/table.md": OLD})
    assert imported(workspace) == [
        "new: app-1.0-table (facts/generated/app.toml)",
        "1 generated facts and 0 images; changes: 1",
    ]
    assert generated(workspace).endswith(
        "\n\n" + MADE.format(repository="owner/app", commit=commit)
    )
    before = generated(workspace)
    assert imported(workspace) == ["1 generated facts and 0 images; changes: 0"]
    assert generated(workspace) == before


def test_import_of_later_state_adds_only_new_rows(
    workspace: Workspace, upstream: Repository
) -> None:
    first = upstream.commit({"docs/table.md": OLD})
    imported(workspace)
    second = upstream.commit({"docs/table.md": NEW})
    run = workspace.run("facts", "import", "--diff")
    assert run.status == 5
    assert run.stdout.splitlines() == [
        "new: app-2.0rc1-table (facts/generated/app.toml)",
        "2 generated facts and 0 images; changes: 1",
    ]
    assert "2.0rc1" not in generated(workspace)
    imported(workspace)
    assert f"@{first} #L3" in generated(workspace)  # where the row was seen first
    assert f"@{second} #L3" in generated(workspace)
    assert 'needs = ["cann in 9.1.*", "python >= 3.10, < 3.13"]' in generated(workspace)
    assert workspace.run("facts", "import", "--diff").status == 0
    imported(workspace, "--anew")
    assert first not in generated(workspace)


def test_import_tells_changed_and_gone_rows(workspace: Workspace, upstream: Repository) -> None:
    upstream.commit({"docs/table.md": NEW})
    imported(workspace)
    upstream.commit({"docs/table.md": OLD.replace("9.0.0", "9.0.1")})
    run = workspace.run("facts", "import", "--diff", "--json")
    assert run.status == 5
    assert run.json["status"] == "changed"
    changed, gone = run.json["changes"]
    assert gone == {
        "how": "gone",
        "file": "facts/generated/app.toml",
        "name": "app-2.0rc1-table",
        "keys": {},
    }
    assert (changed["how"], changed["name"], sorted(changed["keys"])) == (
        "changed",
        "app-1.0-table",
        ["needs", "reason", "reason-zh"],
    )
    assert changed["keys"]["needs"] == {
        "before": ["cann in 9.0.0", "python >= 3.10, < 3.12"],
        "now": ["cann in 9.0.1", "python >= 3.10, < 3.12"],
    }
    assert (
        '  reason: "The table has 1.0 with CANN 9.0.0." → "The table has 1.0 with CANN 9.0.1."'
        in imported(workspace)
    )


def test_import_at_an_earlier_commit(workspace: Workspace, upstream: Repository) -> None:
    first = upstream.commit({"docs/table.md": OLD})
    upstream.commit({"docs/table.md": NEW})
    line, *_ = imported(workspace, "--at", f"app={first}")
    assert line == "new: app-1.0-table (facts/generated/app.toml)"
    workspace.refused(
        "upstream.toml has no repository `ap`", "facts", "import", "--at", f"ap={first}"
    )
    workspace.refused(
        "`app=main` is no repository with a commit", "facts", "import", "--at", "app=main"
    )
    missing = workspace.run("facts", "import", "--at", f"app={'0' * 40}")
    # Git's own reason, which follows, may contain "error: " as well.
    assert missing.status == 3
    assert "error: the repository `app` cannot be read\n" in missing.stderr


def test_import_through_a_mirror(
    workspace: Workspace, upstream: Repository, tmp_path: Path
) -> None:
    upstream.commit({"docs/table.md": OLD})
    tables(workspace, UPSTREAM.format(url="https://git.nowhere.test/owner/app.git"))
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f'[url "{upstream.url}"]\n\tinsteadOf = https://git.nowhere.test/owner/app.git\n'
    )
    run = workspace.run("facts", "import", GIT_CONFIG_GLOBAL=str(settings))
    assert run.status == 0, run.stderr
    assert 'source = ["git.nowhere.test/owner/app docs/table.md @' in generated(workspace)
    unreachable = workspace.run(
        "facts", "import", GIT_CONFIG_GLOBAL="/dev/null", GIT_ALLOW_PROTOCOL="file"
    )
    assert unreachable.status == 3
    assert "hint: a mirror will do" in unreachable.stderr


# --- tags, other files, images


def test_import_of_tags_makes_builds_and_images(workspace: Workspace, upstream: Repository) -> None:
    tables(workspace, UPSTREAM.format(url=upstream.url) + BUILDS)
    module = '[submodule "x"]\n\tpath = lib/x\n\turl = https://host.test/x.git\n'
    upstream.commit({"docs/table.md": OLD}, tag="v1.0")  # without an image for A3
    commit = upstream.commit(
        {**TREE, ".gitmodules": module}, tag="v2.0rc1", submodules={"lib/x": "0123" * 10}
    )
    assert imported(workspace)[-1] == "4 generated facts and 1 images; changes: 5"
    text = generated(workspace)
    assert 'id = "app-2.0rc1-a3-cann"' in text
    assert 'reason = "The image for A3 has CANN 9.0.1, and the table 9.1.*."' in text
    assert (
        text.rpartition("[[sources]]\n")[2]
        == f"""\
id = "app-2.0rc1-a3"
git = "https://host.test/app.git"
commit = "{commit}"
when = ["soc in A3"]
build-requires = ["numpy", "wheel"]
committed = 2026-01-01
env = {{ SOC_VERSION = "p9" }}
ref = "v2.0rc1"
release = true
requires = ["numpy<2", "lib==1"]
requires-from = ["requirements.txt"]
requires-python = ">=3.10"
submodules = [
    {{ path = "lib/x", git = "https://host.test/x.git", commit = "{"0123" * 10}" }},
]
version = "2.0rc1"
reason = "The image of 2.0rc1 builds it."
strength = "documented"
source = [
    "owner/app Dockerfile.a3 @{commit} (v2.0rc1) #L1-L2",
    "owner/app requirements.txt @{commit} (v2.0rc1) #L1-L2",
    "owner/notes tag v2.0rc1",
]
checked = 2026-01-01
"""
    )
    images = (workspace.matrices / "images.toml").read_text("utf-8")
    assert (
        images.rpartition("[[image]]\n")[2]
        == f"""\
name = "quay.test/cann:9.0.1-a3-ubuntu22.04-py3.12"
cann = "9.0.1"
glibc = "2.35"
python = "3.12"
soc = "A3"
source = [
    "owner/app Dockerfile.a3 @{commit} (v2.0rc1) #L1-L2",
    "owner/app requirements.txt @{commit} (v2.0rc1) #L1-L2",
]
"""
    )


def test_import_of_archives(
    workspace: Workspace, upstream: Repository, index: LoopbackIndex
) -> None:
    upstream.commit({"docs/table.md": OLD})
    page = index.add_archive(
        "app", "3.0", members={"docs/table.md": f"{HEAD}| v3.0 | 9.2.0 | >= 3.11 |\n"}
    )
    workspace.stack("app")
    archive = (
        f'[[archive]]\nproject = "app"\nfile = "{page.filename}"\n'
        'sha256 = "{}"\nchecked = 2026-02-02\n\n'
    )
    both = UPSTREAM.format(url=upstream.url).replace(
        'repository = "app"\n', 'repository = "app"\narchives = "app"\n'
    )
    tables(workspace, archive.format(page.sha256) + both)
    assert imported(workspace)[-1] == "2 generated facts and 0 images; changes: 2"
    reference = f"{page.filename} sha256:{page.sha256} docs/table.md #L3"
    text = generated(workspace)
    assert f'source = [\n    "{reference}",\n]\nchecked = 2026-02-02' in text
    tables(workspace, archive.format("0" * 64) + both)
    workspace.refused(f"no index has {page.filename} with the stated sha256", "facts", "import")


# --- what upstream may do to a table


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (HEAD + "| v1.0 | 9.0.0 |\n", "a row of the table cannot be read"),
        (HEAD + "| v1.0 | soon | 3 |\n", "the column `cann` cannot be read"),
        (HEAD + "| v1.0 | 9.0.0 | any |\n", "the column `python` cannot be read"),
        (
            HEAD + "| v1.0 | N/A | >= 3.10 |\n",
            "a template of the table `matrix` needs a value that a row does not have",
        ),
        (HEAD + "| v1.0 | 9.0.0\x1b]0;x\x07 | >= 3.10 |\n", "the cell in `CANN` cannot be used"),
        (HEAD + f"| v1.0 | 9.0.0 | {'9' * 400} |\n", "the cell in `Python` cannot be used"),
        (HEAD + "| v1.0 | 9.0.0 | >= 3.10 |\n" * 2, "two rows make the fact `app-1.0-table`"),
        (HEAD.replace("CANN", "Toolkit"), "no table has these columns"),
        (HEAD, "the table `matrix` has no rows"),
        ("x" * 30_000, "a line is too long"),
    ],
)
def test_import_of_odd_table_is_refused(
    workspace: Workspace, upstream: Repository, table: str, error: str
) -> None:
    upstream.commit({"docs/table.md": OLD})
    imported(workspace)
    before = generated(workspace)
    commit = upstream.commit({"docs/table.md": table})
    run = workspace.refused(error, "facts", "import")
    assert f"owner/app docs/table.md @{commit}" in run.stderr
    assert "\x1b" not in run.stderr
    assert generated(workspace) == before


def test_import_leaves_no_value_to_be_read_as_toml(
    workspace: Workspace, upstream: Repository
) -> None:
    tables(workspace, UPSTREAM.format(url=upstream.url).replace('cann = "cann", ', ""))
    upstream.commit({"docs/table.md": HEAD + '| v1.0 | 9.0.0"]; x = ["\\\\ | >= 3.10 |\n'})
    run = workspace.run("facts", "import")
    assert run.status == 2  # it is no CANN
    assert "is not a version of CANN" in run.stderr


def test_import_of_a_file_that_is_gone(workspace: Workspace, upstream: Repository) -> None:
    upstream.commit({"README": "moved"})
    run = workspace.run("facts", "import")
    assert (run.status, run.error) == (3, "the repository `app` cannot be read")
    assert "it has no file `docs/table.md`" in run.stderr


def test_import_of_a_large_file(workspace: Workspace, upstream: Repository) -> None:
    upstream.commit({"docs/table.md": OLD + "\n" * (1 << 20)})
    assert "`docs/table.md` is larger than 1 MiB" in workspace.run("facts", "import").stderr


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('parser = "markdown-table"', 'parser = "html"', "`parser` cannot be used"),
        ('kind = "requires"', 'kind = "require"', "there is no kind of fact `require`"),
        ('repository = "app"', 'repository = "apps"', "there is no repository `apps`"),
        ('values = ["main"]', 'values = ["("]', "`values` cannot be used"),
        ('strength = "vendor"', 'strength = "sure"', "`strength` cannot be `sure`"),
        ('reason = "The table', 'reasons = "The table', "unknown key `reasons`"),
        (
            'needs = ["cann in',
            'needs = ["{nothing}", "canns in',
            "`canns in 9.0.0` is not a requirement",
        ),
    ],
)
def test_import_of_wrong_tables_is_refused(
    workspace: Workspace, upstream: Repository, old: str, new: str, error: str
) -> None:
    upstream.commit({"docs/table.md": OLD})
    text = UPSTREAM.format(url=upstream.url)
    assert old in text
    tables(workspace, text.replace(old, new, 1))
    run = workspace.run("facts", "import")
    assert run.status == 2
    assert error in run.stderr


@pytest.mark.parametrize("project", ["../../../theirs", "../app", "App", "{release}/x"])
def test_import_writes_for_no_other_than_a_project(
    workspace: Workspace, upstream: Repository, project: str
) -> None:
    """The file is named after it, and a proposed change, or a table, says what it is."""
    upstream.commit({"docs/table.md": OLD})
    tables(
        workspace, UPSTREAM.format(url=upstream.url).replace('= "app"\nid', f'= "{project}"\nid')
    )
    before = tree(workspace.root)
    run = workspace.run("facts", "import")
    assert run.status == 2
    assert "is not the name of a project in its normal form" in run.stderr
    assert tree(workspace.root) == before


# --- what generated facts do


def test_generated_facts_are_in_force(workspace: Workspace, upstream: Repository) -> None:
    upstream.commit({"docs/table.md": OLD})
    imported(workspace)
    workspace.serve("app 1.0")
    workspace.stack("app", target=A3.replace("9.1.0", "9.0.0"))
    workspace.locked()
    assert [fact["id"] for fact in workspace.content()["fact"]] == ["app-1.0-table"]
    path = workspace.matrices / "stacks" / "demo.toml"
    path.write_text(path.read_text("utf-8").replace("9.0.0", "9.1.0"))
    assert workspace.lock().status == 1


def test_fact_by_hand_takes_the_place_of_a_generated_one(
    workspace: Workspace, upstream: Repository
) -> None:
    upstream.commit({"docs/table.md": OLD})
    imported(workspace)
    workspace.serve("app 1.0")
    workspace.stack("app", target=A3)
    said = {"versions": "==1.0", "needs": ["cann in 9.1.0"]}
    workspace.facts("app", row("requires", id="by-hand", over="app-1.0-table", **said))
    workspace.locked()
    assert [fact["id"] for fact in workspace.content()["fact"]] == ["by-hand"]
    workspace.facts("app", row("requires", id="by-hand", over="app-2.0-table", **said))
    workspace.refused("there is no generated fact `app-2.0-table`", "lock", "demo")
    workspace.facts("app", row("requires", id="app-1.0-table", **said))
    workspace.refused("two facts have the id `app-1.0-table`", "lock", "demo")
    path = workspace.matrices / "facts" / "generated" / "app.toml"
    path.write_text(path.read_text("utf-8") + 'over = "x"\n')
    workspace.refused("a generated fact has the key `over`", "lock", "demo")


def test_release_is_built_from_the_commit_of_its_tag(
    workspace: Workspace, upstream: Repository
) -> None:
    text = UPSTREAM.format(url=upstream.url) + BUILDS.replace(
        "https://host.test/app.git", upstream.url
    )
    tables(workspace, text)
    upstream.commit(
        {**TREE, "Dockerfile.a3": TREE["Dockerfile.a3"].replace("9.0.1", "9.1.0")}, tag="v2.0rc1"
    )
    imported(workspace)
    workspace.serve("app 1.0 2.0rc1: old", "old 1", "numpy 1.26", "lib 1 2", "wheel 1")
    workspace.stack("app==2.0rc1", target=A3)
    workspace.locked()
    (app,) = [pin for pin in workspace.content()["pin"] if pin["name"] == "app"]
    assert app["git"]["url"] == upstream.url
    assert "trust" not in app["git"]  # it was compared with the commit
    assert workspace.pins() == {"app": "2.0rc1", "lib": "1", "numpy": "1.26"}
    workspace.stack("app==2.0rc1", target=A3.replace("A3", "A2"), name="other")
    workspace.locked(stack="other")
    assert workspace.pins(stack="other") == {"app": "2.0rc1", "old": "1"}
    facts = json.loads(workspace.run("facts", "check", "app-2.0rc1-a3", "--json").stdout)["facts"]
    assert [fact["verdict"] for fact in facts] == ["holds"]
