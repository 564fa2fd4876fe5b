"""Direct references, `[[sources]]` and `[[absent]]`: their meaning and their mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from resolver.model import fact as facts
from resolver.model.repository import Direct, Recipe, Step, container, same_repository
from tests.unit.config.folders import HEAD, message, problem, requiring

_CREDENTIALS = (
    "the address contains credentials, which do not belong in a file; use a git credential helper"
)
_CHARACTERS = "the address has characters that a repository address must not contain"
_OUTSIDE = "it is not a path inside the repository or archive"
COMMIT = "ccd7d934" + "0" * 32
SOURCE = f"""\
[[sources]]
git = "https://example.org/verl.git"
commit = "{COMMIT}"
version = "0.6.0.dev0"
requires = ["numpy<2"]
build-requires = ["setuptools>=64"]
reason = "the guide names it"
"""


def recipe(folder: Path, *keys: str) -> Recipe:
    """Return the recipe of `SOURCE` with further keys."""
    (fact,) = problem(folder, facts=HEAD + SOURCE + "\n".join(keys)).facts
    assert isinstance(fact, facts.Sources)
    return fact.recipe


def test_sources_row_is_a_fact_about_one_commit(tmp_path: Path) -> None:
    row = SOURCE.replace(
        "[[sources]]", "[[sources]]\nref = 'v0.5.0-716-gccd7d934'\nsubdirectory = 'python/'"
    ) + (
        "requires-python = '>=3.10'\n"
        "requires-from = ['python/pyproject.toml']\n"
        "isolation = false\n"
        "editable = true\n"
        "env = { B = '{version}', A = '1' }\n"
        "rewrites = ['Verl_X']\n"
        "steps = [\n"
        "    { move = 'a.toml', to = 'python/pyproject.toml' },\n"
        "    { comment = '^torch', in = 'r.txt' },\n"
        "]\n"
    )
    (fact,) = problem(tmp_path, facts=HEAD + row).facts
    assert isinstance(fact, facts.Sources)
    assert (fact.git, fact.commit, fact.ref) == (
        "https://example.org/verl.git",
        COMMIT,
        "v0.5.0-716-gccd7d934",
    )
    assert (fact.id, fact.where, fact.subdirectory) == (
        "verl-sources-1",
        "matrices/facts/verl.toml:6",
        "python",
    )
    assert fact.requires_from == ("python/pyproject.toml",)
    assert fact.recipe == Recipe(
        version=Version("0.6.0.dev0"),
        requires=("numpy<2",),
        requires_python=">=3.10",
        build_requires=("setuptools>=64",),
        isolation=False,
        editable=True,
        env=(("A", "1"), ("B", "{version}")),
        steps=(
            Step(move="a.toml", to="python/pyproject.toml"),
            Step(comment="^torch", in_="r.txt"),
        ),
        rewrites=("verl-x",),
    )


def test_sources_step_with_wheels_builds_the_wheel(tmp_path: Path) -> None:
    built = recipe(
        tmp_path, "steps = [{ run = ['bash', 'build.sh'], wheels = 'output/verl*.whl' }]"
    )
    assert built.steps == (Step(run=("bash", "build.sh"), wheels="output/verl*.whl"),)
    changed = recipe(
        tmp_path,
        "editable = true",
        "steps = [{ run = ['python', 'a.py'] }, { move = 'a', to = 'b' }]",
    )
    assert changed.steps == (Step(run=("python", "a.py")), Step(move="a", to="b"))


@pytest.mark.parametrize(
    ("path", "git", "commit", "why"),
    [
        ("../x", "", "", _OUTSIDE),
        ("-x", "", "", _OUTSIDE),
        (".git/modules/x", "", "", _OUTSIDE),
        ("a", "ext::sh -c id", "", "only https, ssh, file are supported"),
        ("a", "-upload-pack=id", "", "only https, ssh, file are supported"),
        ("a", "ssh://-oProxyCommand=x/a", "", _CHARACTERS),
        ("a", "", "v1.0", "a commit is 40 hexadecimal digits, in lower case"),
        ("b/", "", "", "two submodules are at `b`"),
    ],
)
def test_sources_submodule_is_refused(
    path: str, git: str, commit: str, why: str, tmp_path: Path
) -> None:
    git = git or "https://example.org/x"
    commit = commit or COMMIT
    right = f"{{ path = 'b', git = 'https://example.org/x', commit = '{COMMIT}' }}"
    wrong = f"{{ path = '{path}', git = '{git}', commit = '{commit}' }}"
    error = message(tmp_path, facts=f"{HEAD}{SOURCE}submodules = [{right}, {wrong}]\n")
    assert why in error
    assert "matrices/facts/verl.toml:13: sources[0].submodules" in error


def test_absence_is_a_row_of_the_stack_or_a_fact(tmp_path: Path) -> None:
    fact = '[[absent]]\nversions = "<1"\nwithout = "Timm"\nreason = "text only"\n'
    stack = requiring("verl") + '[[absent]]\npackage = "Torch_Vision"\nreason = "no\\n pictures"\n'
    compiled = problem(tmp_path, stack, facts=HEAD + fact)
    assert [(row.package, row.reason, row.where) for row in compiled.stack.absent] == [
        ("torch-vision", "no pictures", "matrices/stacks/s.toml:13")
    ]
    (absent,) = compiled.facts
    assert isinstance(absent, facts.Absent)
    assert (absent.package, absent.other, absent.applies_to(Version("0.9"))) == (
        "verl",
        "timm",
        True,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git+https://h/a/b.git@v1", Direct("https://h/a/b.git", "v1")),
        (
            "git+ssh://git@h/a.git@v0.5.0-716-gccd7d934",
            Direct("ssh://git@h/a.git", "v0.5.0-716-gccd7d934"),
        ),
        (
            "git+file:///srv/a@refs/x#subdirectory=python/a",
            Direct("file:///srv/a", "refs/x", "python/a"),
        ),
        ("git+https://h:8443/~u/a@ccd7d93", Direct("https://h:8443/~u/a", "ccd7d93")),
    ],
)
def test_direct_reference_is_parsed(text: str, expected: Direct) -> None:
    assert Direct.parse(text) == expected


def test_same_repository_compares_addresses() -> None:
    assert same_repository("https://GitHub.com/a/b.git", "https://github.com/a/b/")
    assert not same_repository("https://github.com/a/b", "https://github.com/a/B")
    assert not same_repository("https://github.com/a/b", "ssh://github.com/a/b")


_PLACE = "  at matrices/stacks/s.toml:4: stack.requires[0]\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("https://h/verl-1.whl", "only git repositories are supported"),
        ("git+https://h/verl.git", "it names no commit or tag"),
        ("git+ssh://git@h/verl.git", "it names no commit or tag"),
        ("git+https://me:s3cret@h/verl.git@v1", _CREDENTIALS),
        ("git+https://s3cret@h/verl.git@v1", _CREDENTIALS),
        ("git+ssh://git:s3cret@h/verl.git@v1", _CREDENTIALS),
        ("git+http://h/verl.git@v1", "only https, ssh, file are supported, not `http`"),
        ("git+ext::sh@h/x@v1", "only https, ssh, file are supported"),
        ("git+https://h/$(touch${IFS}x)@v1", _CHARACTERS),
        ("git+https://h/a;b@v1", _CHARACTERS),
        ("git+https:///a@v1", _CHARACTERS),
        ("git+ssh://-oProxyCommand=x/a@v1", _CHARACTERS),
        ("git+https://h/a@--upload-pack=x", "what follows @ is not a commit or tag"),
        ("git+https://h/a@$(id)", "what follows @ is not a commit or tag"),
        ("git+https://h/a@v1..v2", "what follows @ is not a commit or tag"),
        ("git+https://h/a@v1#egg=x", "only subdirectory=PATH is allowed after #"),
        ("git+https://h/a@v1#subdirectory=../x", _OUTSIDE),
        ("git+https://h/a@v1#subdirectory=.git/hooks", _OUTSIDE),
    ],
)
def test_direct_reference_is_refused(line: str, why: str, tmp_path: Path) -> None:
    error = message(tmp_path, requiring(f"verl @ {line}"))
    assert error == f"`requires` cannot be used\n{_PLACE}  {why}"
    assert "s3cret" not in error


def test_direct_reference_error_shows_no_credentials(tmp_path: Path) -> None:
    error = message(tmp_path, requiring("verl @@ git+https://me:s3cret@h/verl.git@v1"))
    assert error.startswith(f"a line that may contain a password is not a requirement\n{_PLACE}")
    assert "s3cret" not in error


def test_absence_of_a_required_project_is_refused(tmp_path: Path) -> None:
    absent = '[[absent]]\npackage = "timm"\nreason = "text only"\n'
    assert message(tmp_path, requiring("numpy", "Timm>=1") + absent) == (
        "the stack both asks for `timm` and lists it as absent\n"
        "  at matrices/stacks/s.toml:14: absent[0].package\n"
        "  `Timm>=1` is asked for at matrices/stacks/s.toml:4"
    )


def test_submodules_follow_the_one_that_they_are_in(tmp_path: Path) -> None:
    rows = ", ".join(
        f"{{ path = '{path}', git = 'https://example.org/x', commit = '{COMMIT}' }}"
        for path in ("a/b/c", "a-b", "a/")
    )
    submodules = recipe(tmp_path, f"submodules = [{rows}]").submodules
    paths = [submodule.path for submodule in submodules]
    assert paths == ["a", "a-b", "a/b/c"]
    assert [container(path, paths) for path in paths] == ["", "", "a"]
