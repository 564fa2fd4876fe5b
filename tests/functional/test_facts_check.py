"""`ascend-lock facts check`: each kind of fact, and each thing that an index can say of it."""

from __future__ import annotations

import datetime as dt
import re

from resolver.audit.compare import is_to_come
from tests.functional.workspace import Workspace, tree
from tests.loopback import LoopbackIndex, status

NEVER_OLD = ("--facts-days", "99999")

APP = """
    [[requires]]
    id = "silent"
    versions = "==1.0"
    needs = ["lib==1.0", "cann in 8.5.0 | 8.5.1", "soc in A2"]
    reason = "r"

    [[requires]]
    id = "says-so"
    versions = "==2.0"
    needs = ["lib>=1", "python >= 3.9"]
    reason = "r"

    [[requires]]
    id = "agrees"
    versions = "==3.0"
    needs = ["lib<2", "python < 3.13"]
    reason = "r"

    [[requires]]
    id = "clashes"
    versions = ["==1.0", "==3.0"]
    needs = ["lib==0.5", "python < 3.9"]
    reason = "r"

    [[requires]]
    id = "unmet"
    versions = "==1.0"
    needs = ["lib==9"]
    reason = "r"

    [[requires]]
    id = "needs-nowhere"
    versions = "==1.0"
    needs = ["nowhere"]
    reason = "r"

    [[requires]]
    id = "partly-gone"
    versions = ["==1.0", "==7", ">8"]
    needs = ["cann >= 8.5.0"]
    reason = "r"

    [[excludes]]
    id = "excluded"
    versions = "<3"
    reason = "r"

    [[excludes]]
    id = "excluded-gone"
    versions = "==7"
    reason = "r"

    [[replaces]]
    id = "replaced"
    versions = "==2.0"
    drop = ["lib"]
    add = ["lib==0.5"]
    reason = "r"

    [[replaces]]
    id = "idle"
    versions = "==1.0"
    drop = ["lib", "other"]
    reason = "r"

    [[collides]]
    id = "collides"
    versions = "==1.0"
    with = "other"
    module = "m"
    reason = "r"

    [[after]]
    id = "after"
    others = ["lib"]
    reason = "r"

    [[after]]
    id = "after-nowhere"
    others = ["nowhere"]
    reason = "r"

    [[warns]]
    id = "warns"
    versions = "==1.0"
    unless = ["lib"]
    extra = "gpu"
    text = "t"
    reason = "r"

    [[warns]]
    id = "warns-of-no-extra"
    versions = "==1.0"
    extra = "tpu"
    text = "t"
    reason = "r"

    [[absent]]
    id = "asks"
    versions = "==2.0"
    without = "lib"
    reason = "r"

    [[exports]]
    id = "exports"
    env = { A = "1" }
    reason = "r"
"""

SAID_OF_APP = """\
holds: silent (matrices/facts/app.toml:7): app-1.0-py3-none-any.whl: METADATA does not mention `lib==1.0`; \
`cann in 8.5.0 | 8.5.1, soc in A2` is about the machine
holds: says-so (matrices/facts/app.toml:13): app-2.0-py3-none-any.whl: METADATA says so itself (lib==1.0), \
so `lib>=1` repeats it; app-2.0-py3-none-any.whl: METADATA says so itself (Python >=3.10), so `python >= 3.9` repeats it
holds: agrees (matrices/facts/app.toml:19): app-3.0-py3-none-any.whl: METADATA asks for lib>=1, \
which is compatible with `lib<2`; app-3.0-py3-none-any.whl: METADATA asks for Python >=3.10, \
which is compatible with `python < 3.13`
contradicted: clashes (matrices/facts/app.toml:25): app-3.0-py3-none-any.whl: METADATA asks for lib>=1, \
but no release that matches `lib==0.5` satisfies it; app-3.0-py3-none-any.whl: METADATA asks for Python >=3.10, \
but no release that matches `python < 3.9` satisfies it; \
app-1.0-py3-none-any.whl: METADATA does not mention `lib==0.5`; \
app-1.0-py3-none-any.whl: METADATA does not mention `python < 3.9`
unmet: unmet (matrices/facts/app.toml:31): no index has a release that matches `lib==9`, so app cannot be locked there
gone: needs-nowhere (matrices/facts/app.toml:37): no index has a project nowhere
gone: partly-gone (matrices/facts/app.toml:43): there is no release app ==7, >8; `cann >= 8.5.0` is about the machine
holds: excluded (matrices/facts/app.toml:49): the index has 2.0, 1.0
gone: excluded-gone (matrices/facts/app.toml:54): there is no release app ==7
holds: replaced (matrices/facts/app.toml:59): app-2.0-py3-none-any.whl: METADATA still asks for lib==1.0
contradicted: idle (matrices/facts/app.toml:66): app-1.0-py3-none-any.whl: METADATA does not ask for lib, other
holds: collides (matrices/facts/app.toml:72): app-1.0-py3-none-any.whl: METADATA does not ask for other itself; \
metadata does not say who owns the module `m`
not checked: after (matrices/facts/app.toml:79): metadata says nothing about install order
gone: after-nowhere (matrices/facts/app.toml:84): no index has a project nowhere; \
metadata says nothing about install order
not checked: warns (matrices/facts/app.toml:89): metadata says nothing about what it warns of
contradicted: warns-of-no-extra (matrices/facts/app.toml:97): app-1.0-py3-none-any.whl: METADATA has no extra `tpu`; \
metadata says nothing about what it warns of
contradicted: asks (matrices/facts/app.toml:104): app-2.0-py3-none-any.whl: METADATA itself asks for lib==1.0
not checked: exports (matrices/facts/app.toml:110): metadata says nothing about environment variables
18 facts for linux-aarch64, Python 3.11: 6 hold, 4 contradicted, 4 gone, 1 unmet, 3 not checked
"""


def app(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_wheel("app", "1.0", extras={"gpu": ["other"]})
    index.add_wheel("app", "2.0", requires=["lib==1.0"], requires_python=">=3.10")
    index.add_wheel("app", "3.0", requires=["lib>=1", 'lib<0.9 ; extra == "old"'], requires_python=">=3.10")
    for version in ("0.5", "1.0", "2.0"):
        index.add_wheel("lib", version)
    index.add_wheel("other", "1.0")
    workspace.stack("app")
    workspace.facts("app", APP)


def test_what_releases_say(workspace: Workspace, index: LoopbackIndex) -> None:
    app(workspace, index)
    before = tree(workspace.root / "matrices")
    run = workspace.run("facts", "check", "--all", *NEVER_OLD)
    assert run.stdout == SAID_OF_APP
    assert (run.status, run.stderr, tree(workspace.root / "matrices")) == (5, "", before)
    assert not workspace.locks.exists()
    told = workspace.run("facts", "check", "excluded", "exports", "--facts-days", "0", "--json", "--lang", "zh")
    assert (told.status, told.json["status"], told.stderr) == (0, "held", "")
    excluded, exports = told.json["facts"]
    assert (excluded["kind"], excluded["verdict"], exports["verdict"]) == ("excludes", "holds", "unchecked")
    assert excluded["remarks"] == [
        {"code": "there", "verdict": "holds", "values": {"releases": "2.0, 1.0"}, "text": "软件源上有 2.0, 1.0"}
    ]


def test_all_facts_and_those_of_a_stack_are_told_where_somebody_should_look(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    app(workspace, index)
    *said, counts = SAID_OF_APP.splitlines()
    looked_at = [line for line in said if not line.startswith(("holds: ", "not checked: "))]
    hint = "hint: 9 facts that hold or were not checked are not shown; to see them: ascend-lock facts check --all"
    run = workspace.run("facts", "check", *NEVER_OLD)
    assert (run.status, run.stdout.splitlines()) == (5, [*looked_at, counts, hint])
    run = workspace.run("facts", "check", "demo", *NEVER_OLD)
    assert (run.status, run.stdout.splitlines()) == (5, [*looked_at, counts, f"{hint} demo"])
    run = workspace.run("facts", "check", "demo", *NEVER_OLD, "--lang", "zh", "--matrices", "matrices")
    command = "ascend-lock facts check --all demo --matrices matrices"
    assert run.stdout.splitlines()[-1] == f"提示：有 9 条成立或未核对的事实没有逐条列出，查看请运行：{command}"
    assert workspace.run("facts", "check", "app", *NEVER_OLD).stdout == SAID_OF_APP
    assert len(workspace.run("facts", "check", "demo", "--json").json["facts"]) == len(said)
    assert len(workspace.run("facts", "check", "demo", "--facts-days", "0").stdout.splitlines()) == len(said) + 1


ARCHIVES = """
    [[builds]]
    id = "built"
    versions = ["==1.0", "==2.0"]
    requires-from = "requirements/common.txt"
    build-drop = ["setuptools"]
    reason = "r"

    [[builds]]
    id = "built-otherwise"
    versions = "==1.0"
    requires-from = "requirements/gone.txt"
    reason = "r"

    [[builds]]
    id = "drops-what-is-not-asked-for"
    versions = "==1.0"
    requires-from = "requirements/common.txt"
    build-drop = ["torch"]
    reason = "r"
"""
OLD = """
    [[metadata]]
    id = "same"
    versions = "==1.0"
    requires = ["lib ; python_version < '3.9'", "other>=1"]
    reason = "r"

    [[metadata]]
    id = "differs"
    versions = "==1.0"
    requires = ["lib", "other>=1"]
    reason = "r"

    [[metadata]]
    id = "of-wheel"
    versions = "==2.0"
    requires = ["lib"]
    reason = "r"

    [[metadata]]
    id = "static"
    versions = "==3.0"
    requires = ["lib"]
    reason = "r"

    [[metadata]]
    id = "nothing"
    versions = "==4.0"
    requires = []
    reason = "r"
"""
NAMED = """
    [[names]]
    id = "another"
    versions = "==1.0"
    reason = "r"
"""
AT_COMMIT = """
    [[sources]]
    id = "at-commit"
    git = "file:///nowhere/at/all.git"
    commit = "0123456789012345678901234567890123456789"
    version = "1.0"
    requires = ["lib"]
    requires-from = ["requirements.txt"]
    build-requires = []
    reason = "r"

    [[after]]
    id = "of-that-commit"
    versions = "==1.0"
    others = ["lib"]
    reason = "r"
"""


def test_what_archives_and_others_say(workspace: Workspace, index: LoopbackIndex) -> None:
    index.add_archive("built", "1.0", members={"requirements/common.txt": "lib\n"})
    index.add_wheel("built", "2.0")
    noted = "other>=1\n\n[:python_version < '3.9']\nlib\n\n[gpu]\nmore\n"
    index.add_archive("old", "1.0", static=False, members={"old.egg-info/requires.txt": noted})
    index.add_wheel("old", "2.0", requires=["lib"])
    index.add_archive("old", "3.0", requires=["other"])
    index.add_archive("old", "4.0", static=False)
    for version in ("1.0", "2.0"):
        index.add_wheel("named", version)
    workspace.facts("built", ARCHIVES)
    workspace.facts("old", OLD)
    workspace.facts("named", NAMED)
    workspace.facts("lost", NAMED.replace("another", "lost"))
    workspace.facts("gitted", AT_COMMIT)
    workspace.stack("lib")
    run = workspace.run("facts", "check", "--all", *NEVER_OLD)
    lines = re.sub(r" \(matrices/facts/\w+\.toml:\d+\)", "", run.stdout).splitlines()
    assert lines == [
        (
            "contradicted: built: built 2.0: no source archive; "
            "there is an archive, built-1.0.tar.gz, with requirements/common.txt"
        ),
        "contradicted: built-otherwise: built-1.0.tar.gz has no requirements/gone.txt",
        "contradicted: drops-what-is-not-asked-for: built-1.0.tar.gz does not ask for torch",
        "not checked: of-that-commit: gitted 1.0 comes from a commit and is on no index",
        (
            "not checked: at-commit: file:///nowhere/at/all.git@012345678901: the repository was not read, so "
            "its requirements rest on the fact `at-commit` only"
        ),
        "gone: lost: no index has a project lost",
        "holds: another: the index has 1.0; it also has 2.0, which the fact does not cover",
        "holds: same: old-1.0.tar.gz: old.egg-info/requires.txt says the same",
        (
            'contradicted: differs: old-1.0.tar.gz: old.egg-info/requires.txt has lib ; python_version < "3.9", '
            "but the fact has lib"
        ),
        "holds: of-wheel: old-2.0-py3-none-any.whl says the same",
        "contradicted: static: old-3.0.tar.gz has other, but the fact has lib",
        "not checked: nothing: old-4.0.tar.gz has no static metadata",
        "12 facts for linux-aarch64, Python 3.11: 3 hold, 5 contradicted, 1 gone, 0 unmet, 3 not checked",
    ]
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


def test_an_index_that_may_be_passed_over(workspace: Workspace, index: LoopbackIndex) -> None:
    """What it may have is not called gone."""
    index.add_wheel("app", "1.0")
    workspace.stack("app")
    workspace.indexes(BINDINGS)
    row = '[[excludes]]\nid = "a"\nversions = ["==1.0", "==7"]\nreason = "r"\nchecked = 2020-01-31\n'
    workspace.facts("app", row)
    run = workspace.run("facts", "check", "demo", "--facts-days", "30")
    assert run.stdout.splitlines()[0] == (
        "holds: a (matrices/facts/app.toml:6): the index has 1.0; `far`, which may have app ==7, could not be reached; "
        "checked 2020-01-31, more than 30 days ago"
    )
    assert run.status == 0


def test_a_day_that_is_still_to_come(workspace: Workspace, index: LoopbackIndex) -> None:
    """A slip of the pen: the fact would never grow old."""
    index.add_wheel("app", "1.0")
    workspace.stack("app")
    workspace.facts("app", '[[excludes]]\nid = "a"\nversions = "==1.0"\nreason = "r"\nchecked = 9999-12-31\n')
    said = "holds: a (matrices/facts/app.toml:6): the index has 1.0"
    run = workspace.run("facts", "check")
    assert run.stdout.splitlines()[0] == f"{said}; checked 9999-12-31, which is still to come"
    (row,) = workspace.run("facts", "check", "--json").json["facts"]
    assert (row["old"], row["to_come"], run.status) == (False, True, 0)
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    assert not is_to_come(today + dt.timedelta(1), today)  # it is tomorrow already in China


def test_a_project_in_any_spelling_and_a_fact_by_an_id_that_is_no_name_of_a_project(
    workspace: Workspace, index: LoopbackIndex
) -> None:
    index.add_wheel("big-app", "1.0")
    workspace.stack("big-app")
    workspace.facts("big-app", '[[excludes]]\nid = "Big_App-1.0"\nversions = "==1.0"\nreason = "r"\n')
    for name in ("Big_App", "big-app", "Big_App-1.0"):
        run = workspace.run("facts", "check", name, "--all", *NEVER_OLD)
        assert run.stdout.startswith("holds: Big_App-1.0 (matrices/facts/big-app.toml:6): "), run
        assert run.status == 0


def test_an_index_that_fails(workspace: Workspace, index: LoopbackIndex) -> None:
    app(workspace, index)
    index.fault("*/lib/", status(403))
    run = workspace.run("facts", "check", "silent", "excluded", *NEVER_OLD)
    assert run.stdout.splitlines()[:2] == [
        "not checked: silent (matrices/facts/app.toml:7): the index could not be reached: It answered 403.",
        "holds: excluded (matrices/facts/app.toml:49): the index has 2.0, 1.0",
    ]
    assert run.status == 3
    index.fault("*", status(403))
    run = workspace.run("facts", "check", "demo", *NEVER_OLD)
    first, counts, hint = run.stdout.splitlines()
    assert first.endswith("the index could not be reached: It answered 403.")
    assert counts.endswith("0 hold, 0 contradicted, 0 gone, 0 unmet, 18 not checked")
    assert hint.startswith("hint: 17 facts that hold or were not checked are not shown; to see them: ")
    assert run.status == 3
    index.clear()
    unknown = workspace.run("facts", "check", "exclude")
    assert unknown.stderr == (
        "error: there is no stack, no project with facts and no fact `exclude`\nhint: did you mean `excluded`?\n"
    )
    assert (unknown.status, index.requests) == (2, [])
    assert workspace.run("facts", "check", "dem").stderr.endswith("hint: did you mean `demo`?\n"), "a stack"


def test_without_a_command_the_commands_are_listed(workspace: Workspace) -> None:
    for words, known in (((), "  lock "), (("facts",), "  check ")):
        run = workspace.run(*words)
        assert (run.status, run.stdout) == (2, "")
        assert f"\n{known}" in run.stderr
