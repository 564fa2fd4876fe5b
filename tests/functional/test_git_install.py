"""install.sh builds what comes from git: real repositories, real pip, from the network or from a
wheelhouse.
"""

from __future__ import annotations

import ensurepip
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.functional.machine import execute, install, installed, make_environment, site_packages
from tests.functional.sources import add_backend, tree
from tests.functional.workspace import HERE, Run, Workspace
from tests.repositories import Repository

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="install.sh is for Linux")


def stack_of(workspace: Workspace, *sources: str, more: str = "") -> None:
    """A stack that takes these projects from their commits; `name=commit`, or `name[extra]#commit`."""
    lines = []
    for one in sources:
        line, _, commit = one.partition("=")
        name = line.partition("[")[0]
        lines.append(f"{line} @ git+file://{workspace.root}/git/{name}@{commit}")
    workspace.stack(*lines, target=HERE, more=more)


def repository(workspace: Workspace, name: str) -> Repository:
    return Repository(workspace.root / "git" / name)


def plain(
    workspace: Workspace,
    name: str = "plain",
    version: str = "1.0",
    more: str = "",
    text: str = "x = 1\n",
) -> str:
    """A repository, a fact about its commit, and the commit."""
    made = repository(workspace, name)
    commit = made.commit(tree(name, version, {f"{name}_own.py": text}), tag="v1")
    workspace.facts(name, made.fact(commit, more, version=version))
    return commit


def value(python: Path, module: str, name: str = "built") -> Any:
    """What a module of an environment says."""
    code = f"import json, {module}; print(json.dumps({module}.{name}))"
    done = subprocess.run(
        [str(python), "-I", "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def note(python: Path, name: str, file: str) -> str:
    """A file of a distribution's .dist-info."""
    (path,) = site_packages(python).glob(f"{name}-*.dist-info/{file}")
    return path.read_text()


def failed(run: Run) -> str:
    """Why a run could not go on."""
    assert run.status == 1, run
    return run.error


TOOL = '[build-system]\nrequires = ["tinybuild"]\nbuild-backend = "tinybuild"\n'
SCRIPT = (
    'test "$1" = "-a b" && cd lib && mkdir ../out && python -c \'import sys; sys.path.insert(0, "../backend"); '
    'import tinybuild; tinybuild.build_wheel("../out")\'\n'
)


def test_install_shows_no_control_character_of_a_git_server(
    workspace: Workspace, python: Path
) -> None:
    """A server says what it wants, which git passes on."""
    add_backend(workspace.index)
    stack_of(workspace, f"plain={plain(workspace)}")
    workspace.locked()
    git = shutil.which("git")
    tool = workspace.root / "tools" / "git"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/bash\n"
        "case \" $* \" in *' fetch '*) printf 'remote: \\e[31m\\u009b32mred\\nremote: 目录' >&2 ;; esac\n"
        f'exec {git} "$@"\n'
    )
    tool.chmod(0o755)
    run = install(workspace, python, PATH=f"{tool.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    assert run.status == 0, run
    assert "remote: 目录\n" in run.stderr
    assert r"\E[31m" in run.stderr
    assert not {"\x1b", "\x9b"} & set(run.stderr)


def test_each_kind_of_source_is_built_as_its_fact_says_and_only_once(
    workspace: Workspace, python: Path
) -> None:
    add_backend(workspace.index)
    made = {name: repository(workspace, name) for name in ("apart", "here", "script", "edited")}
    asks = "Metadata-Version: 2.1\nName: apart\nVersion: 1.0.dev5\nRequires-Dist: nosuch>=2\n\n"
    backend = {
        path: text for path, text in tree("script", "1.0").items() if path.startswith("backend")
    }
    head = "Metadata-Version: 2.1\nName: script\nVersion: 1.0\n\n"
    edited = {
        f"python/{path}": text
        for path, text in tree("edited", "1.0", {"edited_own.py": "x = 1\n"}).items()
    }
    more = {
        "python/pyproject.toml": "this is no TOML",
        "other.toml": TOOL,
        "python/run.txt": "base\ntorch==9\ntorchvision\nbase2\n",
    }
    commits = {
        "apart": made["apart"].commit(
            {**tree("apart", "1.0.dev5", {"PKG-INFO": asks}), "pyproject.toml": TOOL}
        ),
        "here": made["here"].commit({**tree("here", "1.0"), "pyproject.toml": TOOL}),
        "script": made["script"].commit({"lib/PKG-INFO": head, "build.sh": SCRIPT, **backend}),
        "edited": made["edited"].commit({**edited, **more}),
    }
    steps = """
        subdirectory = "python"
        editable = true
        steps = [
            { move = "other.toml", to = "python/pyproject.toml" },
            { comment = "^torch(vision)?\\\\b", in = "python/run.txt" },
        ]
        """
    tool = '["tinybuild"]'
    for name, version, row, build in (
        ("apart", "1.0.dev5", "drop = ['Nosuch']", tool),
        (
            "here",
            "1.0",
            'isolation = false\nenv = { TINY_FLAVOUR = "{version} it\'s `touch pwned`" }',
            tool,
        ),
        (
            "script",
            "1.0",
            "steps = [{ run = ['sh', 'build.sh', '-a b'], wheels = 'out/script*.whl' }]",
            "[]",
        ),
        ("edited", "1.0", steps, tool),
    ):
        requires = "['wheel ; extra == \"x\"']" if name == "edited" else "[]"
        workspace.facts(
            name,
            made[name].fact(commits[name], row, version=version, requires=requires, build=build),
        )
    workspace.serve("wheel 1.0")
    stack_of(
        workspace,
        *(
            f"{name}{'[x]' if name == 'edited' else ''}={commit}"
            for name, commit in commits.items()
        ),
    )
    workspace.locked()
    dry = install(workspace, python, "--dry-run")
    assert (dry.status, dry.stderr, installed(python)) == (0, "", {})
    assert not (python.parents[1] / "src").exists()
    run = install(workspace, python)
    assert run.status == 0, run
    names = ("here", "script", "edited", "wheel", "tinybuild")
    assert installed(python) == {"apart": "1.0.dev5", **dict.fromkeys(names, "1.0")}
    environment = str(python.parents[1])
    assert value(python, "apart") != {"tiny": "1.0", "prefix": environment, "flavour": None}
    assert value(python, "here") == {
        "tiny": "1.0",
        "prefix": environment,
        "flavour": "1.0 it's `touch pwned`",
    }
    source = python.parents[1] / "src" / "edited" / "python"
    assert (source / "run.txt").read_text() == "base\n# torch==9\n# torchvision\nbase2\n"
    (source / "edited_own.py").write_text("x = 2\n")
    assert value(python, "edited_own", "x") == 2
    assert json.loads(note(python, "apart", "direct_url.json")) == {
        "url": made["apart"].url,
        "vcs_info": {"vcs": "git", "commit_id": commits["apart"]},
    }
    assert json.loads(note(python, "edited", "direct_url.json"))["dir_info"] == {"editable": True}
    assert "ascend-lock.txt,sha256=" in note(python, "edited", "RECORD")
    assert not list(workspace.root.rglob("pwned"))
    assert not list(workspace.temporary.iterdir())
    assert install(workspace, python).stdout.count(": already installed") == len(
        workspace.content()["stage"]
    )


# --- the commit


def test_by_hand_the_pip_of_any_python_installs_it_with_the_tools_of_the_environment(
    workspace: Workspace,
) -> None:
    """The commands that requirements-no-deps.txt tells, with the pip that Python brings along and
    no index.
    """
    add_backend(workspace.index)
    kinds = {"plain": "", "below": "editable = true\nsubdirectory = 'lib'"}
    commits = {}
    for name, more in kinds.items():
        made = repository(workspace, name)
        files = {**tree(name, "1.0", {f"{name}_own.py": "x = 1\n"}), "pyproject.toml": TOOL}
        commits[name] = made.commit(
            {f"lib/{path}" if name == "below" else path: text for path, text in files.items()}
        )
        env = 'isolation = false\nenv = { TINY_FLAVOUR = "it\'s" }'
        workspace.facts(name, made.fact(commits[name], f"{env}\n{more}", build='["tinybuild"]'))
    stack_of(workspace, *(f"{name}={commit}" for name, commit in commits.items()))
    workspace.locked()
    venv.create(workspace.root / "own")
    python = workspace.root / "own" / "bin" / "python"
    (wheel,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
    shutil.unpack_archive(wheel, site_packages(python), "zip")
    python.with_name("pip").write_text(
        f"#!{python}\nimport runpy\nrunpy.run_module('pip', run_name='__main__')\n"
    )
    python.with_name("pip").chmod(0o755)
    pip = [str(python), "-m", "pip", "install", "--require-hashes", "--no-deps"]
    done = execute(workspace, [*pip, "-r", str(workspace.folder() / "requirements.txt")])
    assert done.status == 0, done.stderr

    told = [
        line[4:]
        for line in (workspace.folder() / "requirements-no-deps.txt").read_text().splitlines()
    ]
    commands = [line for line in told if "pip install" in line]
    assert len(commands) == 2
    for command in commands:
        path = f"{python.parent}:{os.environ['PATH']}"
        done = execute(
            workspace,
            ["bash", "-c", command],
            PATH=path,
            PIP_NO_INDEX="1",
            VIRTUAL_ENV=str(python.parents[1]),
        )
        assert done.status == 0, done.stderr

    assert value(python, "plain")["flavour"] == "it's"
    assert [value(python, f"{name}_own", "x") for name in kinds] == [1, 1]
    assert value(python, "below_own", "__file__") == str(
        workspace.root / "own" / "src" / "below" / "lib" / "below_own.py"
    )


def test_another_commit_of_the_same_version_is_not_already_there(
    workspace: Workspace, python: Path
) -> None:
    """Of either every byte is there.

    Lines that end otherwise than `.gitattributes` says are a change to git, and no checkout would
    be clean.
    """
    made = repository(workspace, "plain")
    (made.folder / ".git" / "info" / "attributes").write_text(
        "* -text -ident\n"
    )  # committed as they are
    files = {
        ".gitattributes": "*.py eol=lf\n*.txt text eol=crlf\n*.md ident\n*.bin filter=absent\n",
        "plain_own.py": "x = 1\r\n",
        "deep/notes.txt": "one\ntwo\n",
        "id.md": "$Id$\n",
        "data.bin": "x\n",
    }
    first = made.commit(tree("plain", "1.0", files))
    workspace.facts("plain", made.fact(first, "editable = true"))
    stack_of(workspace, f"plain={first}")
    workspace.locked()
    run = install(workspace, python)
    assert (run.status, run.stderr) == (0, "")
    source = python.parents[1] / "src" / "plain"
    assert {path: (source / path).read_bytes().decode() for path in files} == files

    second = made.commit(tree("plain", "1.0", {"plain_own.py": "x = 2\n"}))
    workspace.facts("plain", made.fact(second, "editable = true"))
    stack_of(workspace, f"plain={second}")
    told = workspace.locked().stdout
    assert f"plain 1.0 ({first[:12]}) -> 1.0 ({second[:12]})" in " ".join(told.split())
    (source / "mine.txt").write_text("work of somebody")
    assert (
        install(workspace, python, TINY_FAIL="1").status != 0
    )  # the checkout is new by then, the rest is not
    run = install(workspace, python)
    assert run.status == 0, run
    assert value(python, "plain_own", "x") == 2
    (kept,) = source.parent.glob("plain.before-*/plain/mine.txt")
    assert kept.read_text() == "work of somebody"


@pytest.mark.parametrize(
    ("version", "more", "error"),
    [
        ("1.1", "", "the build produced plain 1.1, but the lock has plain 1.0"),
        (
            "1.0",
            "steps = [{ comment = '^nothing', in = 'plain_own.py' }]",
            "no line of <scratch>/plain/plain_own.py matches",
        ),
    ],
)
def test_what_is_built_must_be_what_the_lock_names(
    workspace: Workspace, python: Path, version: str, more: str, error: str
) -> None:
    """A step that finds nothing stops it, too."""
    made = repository(workspace, "plain")
    commit = made.commit(tree("plain", version, {"plain_own.py": "x = 1\n"}))
    workspace.facts("plain", made.fact(commit, more))
    stack_of(workspace, f"plain={commit}")
    workspace.locked()
    told = failed(install(workspace, python))
    assert re.sub(r"<root>/temporary/tmp\.\w+", "<scratch>", told).startswith(error)
    assert installed(python) == {}


# --- submodules


def with_submodules(workspace: Workspace, *, named: str = "") -> dict[str, str]:
    """A project whose build copies a file of a submodule and one of a submodule in that; the
    commits of all.

    Its .gitmodules names other addresses. The fact names `named` as the commit of the inner one.
    """
    inner, outer = repository(workspace, "inner"), repository(workspace, "outer")
    commits = {"inner": inner.commit({"inner_own.py": "x = 2\n"})}
    commits["outer"] = outer.commit(
        {"outer_own.py": "x = 3\n"}, submodules={"deep/inner": commits["inner"]}
    )
    made = repository(workspace, "plain")
    gitmodules = '[submodule "lib/outer"]\n\tpath = lib/outer\n\turl = https://host.invalid/outer\n'
    commits["plain"] = made.commit(
        {**tree("plain", "1.0"), ".gitmodules": gitmodules},
        submodules={"lib/outer": commits["outer"]},
    )
    more = f"""
        steps = [{{ run = ["cp", "lib/outer/outer_own.py", "lib/outer/deep/inner/inner_own.py", "."] }}]
        submodules = [
            {{ path = "lib/outer/deep/inner", git = "{inner.url}", commit = "{named or commits["inner"]}" }},
            {{ path = "lib/outer", git = "{outer.url}", commit = "{commits["outer"]}" }},
        ]
        """
    workspace.facts("plain", made.fact(commits["plain"], more))
    stack_of(workspace, f"plain={commits['plain']}")
    return commits


def test_submodules_come_from_their_repositories_or_from_a_wheelhouse(
    workspace: Workspace, python: Path
) -> None:
    """The wheelhouse needs no repository, and is held to the commits."""
    commits = with_submodules(workspace)
    workspace.locked()
    (pin,) = workspace.content()["pin"]
    assert pin["git"]["submodules"] == [
        {
            "path": "lib/outer",
            "url": f"file://{workspace.root}/git/outer",
            "commit": commits["outer"],
        },
        {
            "path": "lib/outer/deep/inner",
            "url": f"file://{workspace.root}/git/inner",
            "commit": commits["inner"],
        },
    ]
    house = workspace.root / "house"
    assert workspace.run("bundle", "demo", str(house)).status == 0
    names = sorted(f"plain-{commit[:12]}.bundle" for commit in commits.values())
    assert sorted(path.name for path in (house / "git").iterdir()) == names
    assert workspace.run("bundle", "--check", str(house)).status == 0
    run = install(workspace, python)
    assert run.status == 0, run

    commit = commits["plain"]
    (workspace.root / "git").rename(workspace.root / "gone")
    other = make_environment(workspace.root / "other")
    assert (
        failed(install(workspace, other))
        == f"commit {commit} could not be fetched from file://<root>/git/plain"
    )
    file = house / "git" / f"plain-{commit[:12]}.bundle"
    content = file.read_bytes()
    file.write_bytes(content[:-40] + bytes(40))
    given = ("--wheelhouse", str(house))
    told = (
        f"<root>/house/git/plain-{commit[:12]}.bundle does not contain the complete commit {commit}"
    )
    assert failed(install(workspace, other, *given)) == told
    # a file that calls another commit by this one's name
    liar = Repository(workspace.root / "liar")
    liar.commit({"a": ""})
    liar.git("update-ref", f"refs/ascend-lock/{commit}", "HEAD")
    liar.git("bundle", "create", "--quiet", str(file), f"refs/ascend-lock/{commit}")
    assert (
        failed(install(workspace, other, *given))
        == f"file://<root>/git/plain has no commit {commit}"
    )
    file.write_bytes(content)
    run = install(workspace, other, *given)
    assert run.status == 0, run
    for one in (python, other):
        assert (value(one, "outer_own", "x"), value(one, "inner_own", "x")) == (3, 2)


def test_a_submodule_must_be_the_one_that_the_repository_names(
    workspace: Workspace, python: Path
) -> None:
    """Locking sees it where the repository can be read, and install.sh always."""
    other = "1" * 40
    commits = with_submodules(workspace, named=other)
    run = workspace.lock()
    assert (
        run.status,
        f"its submodule `deep/inner` is at {commits['inner']}, not {other}" in run.stderr,
    ) == (2, True)
    git = workspace.root / "git"
    git.rename(workspace.root / "gone")
    shutil.rmtree(workspace.cache / "git")
    workspace.locked()
    (workspace.root / "gone").rename(git)
    told = failed(install(workspace, python))
    assert told.endswith(f"/plain/lib/outer has no submodule deep/inner at commit {other}")
    assert installed(python) == {}
    made = Repository(git / "plain", new=False)
    commit = made.commit(tree("plain", "1.0", {"lib/file.txt": "x"}))
    row = f'submodules = [{{ path = "lib", git = "{made.url}", commit = "{commit}" }}]'
    workspace.facts("plain", made.fact(commit, row))
    stack_of(workspace, f"plain={commit}")
    run = workspace.lock()
    assert (run.status, "`lib` is no submodule" in run.stderr) == (2, True), (
        "a folder that is none is not replaced"
    )


# --- interrupted


def test_an_install_that_failed_half_way_ends_in_the_same_environment(
    workspace: Workspace, python: Path
) -> None:
    """The plugin rewrites the other while it is built, and then its build fails."""
    target, fail = site_packages(python) / "plain_own.py", workspace.root / "fail"
    build = f"grep '^x = 1$' {target} && echo 'x = 2' > {target} && test ! -e {fail} && python backend/tinybuild.py\n"
    plugin = repository(workspace, "a-plugin")
    files = tree("a-plugin", "1.0", {"build.sh": build})
    files["backend/tinybuild.py"] += "\nif __name__ == '__main__':\n    build_wheel('.')\n"
    commits = {"plain": plain(workspace), "a-plugin": plugin.commit(files)}
    more = (
        "rewrites = ['plain', 'nosuch']\nsteps = [{ run = ['sh', 'build.sh'], wheels = '*.whl' }]"
    )
    workspace.facts("a-plugin", plugin.fact(commits["a-plugin"], more))
    stack_of(workspace, *(f"{name}={commit}" for name, commit in commits.items()))
    workspace.locked()
    assert [stage["pins"] for stage in workspace.content()["stage"]] == [["plain"], ["a-plugin"]]
    fail.touch()
    assert install(workspace, python).status != 0
    assert (installed(python), target.read_text()) == ({"plain": "1.0"}, "x = 2\n")
    fail.unlink()
    run = install(workspace, python)
    assert run.status == 0, run
    assert "a-plugin rewrites files of plain, so all of them are reinstalled" in run.stdout
    assert (installed(python), target.read_text()) == (
        {"a-plugin": "1.0", "plain": "1.0"},
        "x = 2\n",
    )
    # a plugin may remove files, too
    target.unlink()
    assert install(workspace, python).stdout.count(": already installed") == 2


def test_a_plugin_that_patches_an_editable_checkout_does_it_once(
    workspace: Workspace, python: Path
) -> None:
    """Its own command runs in the environment; the distribution that it patches is not built with
    it.
    """
    patch = (
        "import plain_own, sys\nopen(plain_own.__file__, 'a').write(f'by = {sys.argv[1]!r}\\n')\n"
    )
    plugin = repository(workspace, "a-plugin")
    commits = {
        "plain": plain(workspace, more="editable = true"),
        "a-plugin": plugin.commit(tree("a-plugin", "1.0", {"patch.py": patch})),
    }
    more = """
        rewrites = ["plain"]
        editable = true
        isolation = false
        steps = [{ run = ["python", "patch.py", "it's `touch pwned`"] }]
        """
    workspace.facts("a-plugin", plugin.fact(commits["a-plugin"], more))
    stack_of(workspace, *(f"{name}={commit}" for name, commit in commits.items()))
    workspace.locked()
    run = install(workspace, python)
    assert run.status == 0, run
    assert value(python, "plain_own", "by") == "it's `touch pwned`"
    again = install(workspace, python)
    assert (again.status, again.stdout.count(": already installed")) == (0, 2)
    source = python.parents[1] / "src" / "plain" / "plain_own.py"
    assert source.read_text().count("by = ") == 1
    assert not list(workspace.root.rglob("pwned"))


def test_what_must_be_absent_goes_and_takes_no_file_of_others_along(
    workspace: Workspace, python: Path
) -> None:
    workspace.index.add_wheel(
        "triton", "3.0", files={"triton/__init__.py": "name = 'triton'\n", "triton/own.py": ""}
    )
    workspace.index.add_wheel(
        "triton-ascend", "3.2", files={"triton/__init__.py": "name = 'triton-ascend'\n"}
    )
    workspace.serve("xgrammar 1.0: triton", "timm 1.0", "sglang 1.0: timm>=1, xgrammar")
    workspace.facts(
        "triton-ascend",
        "[[absent]]\nwithout = 'triton'\nreason = \"both own `triton` $(touch pwned)\"\n",
    )
    workspace.stack(
        "sglang",
        "triton-ascend",
        target=HERE,
        more='[[absent]]\npackage = "timm"\nreason = "text only"\n[check]\nimports = ["triton"]\n',
    )
    workspace.locked()
    assert workspace.pins() == {"sglang": "1.0", "triton-ascend": "3.2", "xgrammar": "1.0"}
    assert install(workspace, python).status == 0
    right = installed(python)
    # somebody installs them, over what is there
    assert (
        execute(
            workspace, [str(python), "-m", "pip", "install", "--no-deps", "triton", "timm"]
        ).status
        == 0
    )
    assert value(python, "triton", "name") == "triton"
    run = install(workspace, python)
    assert run.status == 0, run
    assert installed(python) == right
    assert value(python, "triton", "name") == "triton-ascend"
    assert not list(workspace.root.rglob("pwned"))
