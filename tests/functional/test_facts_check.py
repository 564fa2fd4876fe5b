"""`ascend-lock facts check`: each kind of fact, and each thing that an index can say of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain

from resolver.model.fact import KINDS
from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex, status

NEVER_OLD = ("--facts-days", "99999")

# The kind of a fact, its id, its versions, and its other keys as TOML.
Row = tuple[str, str, str, str]


def written(rows: Iterable[Row]) -> str:
    """Return the facts as TOML."""
    text = ""
    for kind, name, versions, others in rows:
        text += f'[[{kind}]]\nid = "{name}"\n'
        if versions:
            # A list is TOML already.
            text += f"versions = {versions if versions[0] == '[' else json.dumps(versions)}\n"
        text += f'{others}\nreason = "r"\n\n'
    return text


# The verdict on each fact, and the codes of its remarks.
APP: dict[Row, str] = {
    (
        "requires",
        "silent",
        "==1.0",
        'needs = ["lib==1.0", "cann in 8.5.0 | 8.5.1", "soc in A2"]',
    ): "holds silent machine",
    (
        "requires",
        "says-so",
        "==2.0",
        'needs = ["lib>=1", "python >= 3.9"]',
    ): "holds says-so says-so",
    ("requires", "agrees", "==3.0", 'needs = ["lib<2", "python < 3.13"]'): "holds agrees agrees",
    ("requires", "clashes", '["==1.0", "==3.0"]', 'needs = ["lib==0.5", "python < 3.9"]'): (
        "contradicted clashes clashes silent silent"
    ),
    ("requires", "unmet", "==1.0", 'needs = ["lib==9"]'): "unmet nothing-fits",
    ("requires", "needs-nowhere", "==1.0", 'needs = ["nowhere"]'): "gone no-project",
    (
        "requires",
        "partly-gone",
        '["==1.0", "==7", ">8"]',
        'needs = ["cann >= 8.5.0"]',
    ): "gone no-release machine",
    ("constrains", "bounds", "==2.0", 'bounds = ["lib==1.0"]'): "holds says-so",
    ("constrains", "bounds-in-vain", "==2.0", 'bounds = ["lib==9"]'): "unmet nothing-fits",
    ("series", "series", "", 'with = "lib"'): "unchecked pairing",
    ("excludes", "excluded", "<3", ""): "holds there",
    ("excludes", "excluded-gone", "==7", ""): "gone no-release",
    ("replaces", "replaced", "==2.0", 'drop = ["lib"]\nadd = ["lib==0.5"]'): "holds replaced",
    ("replaces", "idle", "==1.0", 'drop = ["lib", "other"]'): "contradicted idle",
    ("collides", "collides", "==1.0", 'with = "other"\nmodule = "m"'): "holds apart module",
    ("after", "after", "", 'others = ["lib"]'): "unchecked order",
    ("after", "after-nowhere", "", 'others = ["nowhere"]'): "gone no-project order",
    ("warns", "warns", "==1.0", 'unless = ["lib"]\nextra = "gpu"\ntext = "t"'): "unchecked warning",
    (
        "warns",
        "warns-of-no-extra",
        "==1.0",
        'extra = "tpu"\ntext = "t"',
    ): "contradicted no-extra warning",
    ("absent", "asks", "==2.0", 'without = "lib"'): "contradicted asks",
    ("exports", "exports", "", 'env = { A = "1" }'): "unchecked variables",
    ("external", "external", "", 'needs = ["c++"]'): "unchecked machine",
    ("optional", "optional", "", 'modules = ["m"]\nneeds = ["lib"]'): "unchecked starts",
    (
        "optional",
        "optional-nowhere",
        "",
        'scripts = ["s"]\nneeds = ["nowhere"]',
    ): "gone no-project starts",
    ("links", "links", "", 'to = ["lib"]'): "unchecked links",
    ("links", "links-nowhere", "", 'to = ["nowhere"]'): "gone no-project links",
    ("pairs", "pairs", "==1.0", 'with = ["lib==1.0"]'): "unchecked pairing",
}
COUNTS = (
    "27 facts for linux-aarch64, Python 3.11: "
    "7 hold, 4 contradicted, 6 gone, 2 unmet, 8 not checked"
)
# The whole line of one of them.
CLASHES = (
    "contradicted: clashes (matrices/facts/app.toml:24): "
    "app-3.0-py3-none-any.whl: METADATA asks for lib>=1, "
    "but no release that matches `lib==0.5` satisfies it; "
    "app-3.0-py3-none-any.whl: METADATA asks for Python >=3.10, "
    "but no release that matches `python < 3.9` satisfies it; "
    "app-1.0-py3-none-any.whl: METADATA does not mention `lib==0.5`; "
    "app-1.0-py3-none-any.whl: METADATA does not mention `python < 3.9`"
)


def judged(workspace: Workspace, *words: str) -> dict[str, str]:
    """Return the verdict on each fact and the codes of its remarks."""
    facts = workspace.run("facts", "check", *words, *NEVER_OLD, "--json").json["facts"]
    return {
        fact["id"]: " ".join([fact["verdict"], *(row["code"] for row in fact["remarks"])])
        for fact in facts
    }


def test_facts_check_has_a_row_of_every_kind() -> None:
    rows = [*APP, *chain.from_iterable(OTHERS.values())]
    assert {kind for kind, *_ in rows} == set(KINDS)


def serve_app(workspace: Workspace) -> None:
    """Serve what the facts in `APP` are about."""
    workspace.index.add_wheel("app", "1.0", extras={"gpu": ["other"]})
    workspace.index.add_wheel("app", "2.0", requires=["lib==1.0"], requires_python=">=3.10")
    workspace.index.add_wheel(
        "app", "3.0", requires=["lib>=1", 'lib<0.9 ; extra == "old"'], requires_python=">=3.10"
    )
    workspace.serve("lib 0.5 1.0 2.0", "other 1.0")
    workspace.stack("app")
    workspace.facts("app", written(APP))


def test_facts_check_compares_releases(workspace: Workspace) -> None:
    serve_app(workspace)
    before = tree(workspace.root / "matrices")
    assert judged(workspace) == {name: verdict for (_, name, _, _), verdict in APP.items()}
    run = workspace.run("facts", "check", "--all", *NEVER_OLD)
    *lines, _ = run.stdout.splitlines()
    names = [line.partition(" (")[0].partition(": ")[2] for line in lines]
    assert names == [name for _, name, _, _ in APP]
    assert CLASHES in run.stdout.splitlines()
    assert run.stdout.endswith(f"\n{COUNTS}\n")
    assert (run.status, run.stderr, tree(workspace.root / "matrices")) == (5, "", before)
    assert workspace.run("facts", "check", "app", *NEVER_OLD).stdout == run.stdout
    chinese = workspace.run(
        "facts", "check", "excluded", "--facts-days", "0", "--json", "--lang", "zh"
    )
    assert (chinese.status, chinese.json["status"], chinese.stderr) == (0, "held", "")
    assert chinese.json["facts"][0]["remarks"] == [
        {
            "code": "there",
            "verdict": "holds",
            "values": {"releases": "2.0, 1.0"},
            "text": "软件源上有 2.0, 1.0",
        }
    ]


def test_facts_check_lists_what_needs_a_look(
    workspace: Workspace,
) -> None:
    serve_app(workspace)
    *every, counts = workspace.run("facts", "check", "--all", *NEVER_OLD).stdout.splitlines()
    looked_at = [line for line in every if not line.startswith(("holds: ", "not checked: "))]
    for words in ([], ["demo"]):
        run = workspace.run("facts", "check", *words, *NEVER_OLD)
        assert (run.status, run.stdout.splitlines()) == (5, [*looked_at, counts])
    old = workspace.run("facts", "check", "demo", "--facts-days", "0")
    assert len(old.stdout.splitlines()) == len(APP) + 1


def test_facts_check_of_a_stack_follows_its_lock_or_lines(
    workspace: Workspace,
) -> None:
    workspace.serve("app 1.0: lib", "lib 1.0", "base 1.0", "other 1.0")
    workspace.stack("app")
    needs = 'needs = ["base"]'
    for project, others in (
        ("app", needs),
        ("base", 'needs = ["python >= 3.9"]'),
        ("lib", needs),
        ("other", needs),
    ):
        workspace.facts(project, written([("requires", f"of-{project}", "==1.0", others)]))
    assert judged(workspace, "demo").keys() == {"of-app", "of-base"}
    workspace.locked()
    assert judged(workspace, "demo").keys() == {"of-app", "of-base", "of-lib"}
    assert judged(workspace, "demo", "other").keys() == {"of-app", "of-base", "of-lib", "of-other"}


FROM = 'requires-from = "requirements/{}.txt"'
COMMIT = (
    'git = "file:///nowhere/at/all.git"\n'
    'commit = "0123456789012345678901234567890123456789"\n'
    'version = "1.0"\n'
    'requires = ["lib"]\nrequires-from = ["requirements.txt"]\nbuild-requires = []'
)
OTHERS: dict[str, dict[Row, str]] = {
    "built": {
        (
            "builds",
            "built",
            '["==1.0", "==2.0"]',
            FROM.format("common") + '\nbuild-drop = ["setuptools"]',
        ): "contradicted no-archive archive",
        ("builds", "built-otherwise", "==1.0", FROM.format("gone")): "contradicted no-member",
        (
            "builds",
            "drops-in-vain",
            "==1.0",
            FROM.format("common") + '\nbuild-drop = ["torch"]',
        ): "contradicted idle",
    },
    "gitted": {
        ("after", "of-that-commit", "==1.0", 'others = ["lib"]'): "unchecked at-commit",
        ("sources", "at-commit", "", COMMIT): "unchecked git",
    },
    "lost": {
        ("names", "lost", "==1.0", ""): "gone no-project",
        ("names", "on-no-index", "", ""): "holds no-project",
    },
    "named": {("names", "another", "==1.0", ""): "holds there beyond"},
    "old": {
        (
            "metadata",
            "same",
            "==1.0",
            'requires = ["lib ; python_version < \'3.9\'", "other>=1"]',
        ): "holds same",
        ("metadata", "differs", "==1.0", 'requires = ["lib", "other>=1"]'): "contradicted differs",
        ("metadata", "of-wheel", "==2.0", 'requires = ["lib"]'): "holds same",
        ("metadata", "static", "==3.0", 'requires = ["lib"]'): "contradicted differs",
        ("metadata", "nothing", "==4.0", "requires = []"): "unchecked not-static",
    },
}


def test_facts_check_compares_archives_and_commits(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_archive("built", "1.0", members={"requirements/common.txt": "lib\n"})
    noted = "other>=1\n\n[:python_version < '3.9']\nlib\n\n[gpu]\nmore\n"
    index.add_archive("old", "1.0", static=False, members={"old.egg-info/requires.txt": noted})
    workspace.serve("built 2.0", "old 2.0: lib", "named 1.0 2.0")
    index.add_archive("old", "3.0", requires=["other"])
    index.add_archive("old", "4.0", static=False)
    for project, rows in OTHERS.items():
        workspace.facts(project, written(rows))
    workspace.stack("lib")
    expected = {}
    for rows in OTHERS.values():
        expected |= {name: verdict for (_, name, _, _), verdict in rows.items()}
    assert judged(workspace, "--all") == expected
    run = workspace.run("facts", "check", "--all", *NEVER_OLD)
    assert run.stdout.endswith(": 4 hold, 5 contradicted, 1 gone, 0 unmet, 3 not checked\n")
    assert run.status == 5


BINDINGS = """
    [[index]]
    name = "far"
    url = "http://127.0.0.1:9/simple"

    [[binding]]
    packages = ["app"]
    indexes = ["pypi", "far"]
    take = "all"
    unreachable = "next"
"""


def test_facts_check_with_an_index_passed_over(workspace: Workspace) -> None:
    # What such an index may have is not called gone.
    workspace.serve("app 1.0")
    workspace.stack("app")
    workspace.indexes(BINDINGS)
    workspace.facts(
        "app",
        '[[excludes]]\nid = "a"\nversions = ["==1.0", "==7"]\nreason = "r"\nchecked = 2020-01-31\n',
    )
    run = workspace.run("facts", "check", "demo", "--facts-days", "30")
    assert run.stdout.splitlines()[0] == (
        "holds: a (matrices/facts/app.toml:6): the index has 1.0; "
        "`far`, which may have app ==7, could not be reached; "
        "checked 2020-01-31, more than 30 days ago"
    )
    assert run.status == 0


def test_facts_check_takes_any_spelling_and_an_id(
    workspace: Workspace,
) -> None:
    workspace.serve("big-app 1.0")
    workspace.stack("big-app")
    workspace.facts(
        "big-app", '[[excludes]]\nid = "Big_App-1.0"\nversions = "==1.0"\nreason = "r"\n'
    )
    for name in ("Big_App", "big-app", "Big_App-1.0"):
        run = workspace.run("facts", "check", name, "--all", *NEVER_OLD)
        assert run.stdout.startswith("holds: Big_App-1.0 (matrices/facts/big-app.toml:6): "), run
        assert run.status == 0


def test_facts_check_with_a_failing_index(workspace: Workspace, index: LoopbackIndex) -> None:
    serve_app(workspace)
    unknown = workspace.run("facts", "check", "exclude")
    assert unknown.error == "there is no stack, no project with facts and no fact `exclude`"
    assert unknown.stderr.endswith("hint: did you mean `excluded`?\n")
    assert (unknown.status, index.requests) == (2, [])
    assert workspace.run("facts", "check", "dem").stderr.endswith("hint: did you mean `demo`?\n"), (
        "a stack"
    )
    index.fault("*/lib/", status(403))
    run = workspace.run("facts", "check", "silent", "excluded", *NEVER_OLD)
    assert run.stdout.startswith(
        "not checked: silent (matrices/facts/app.toml:6): the index could not be reached: It "
    )
    assert "\nholds: excluded (" in run.stdout
    assert run.status == 3
    index.fault("*", status(403))
    run = workspace.run("facts", "check", "demo", *NEVER_OLD)
    first, counts = run.stdout.splitlines()
    assert first.endswith("the index could not be reached: It answered 403.")
    assert counts.endswith("0 hold, 0 contradicted, 0 gone, 0 unmet, 27 not checked")
    assert run.status == 3
