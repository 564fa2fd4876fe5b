"""Direct references, `[[sources]]` and `[[absent]]`: what they mean, and every way to write them wrongly."""

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
    """What a row with these keys besides says of building the project."""
    (fact,) = problem(folder, facts=HEAD + SOURCE + "\n".join(keys)).facts
    assert isinstance(fact, facts.Sources)
    return fact.recipe


def test_a_row_is_a_fact_about_one_commit(tmp_path: Path) -> None:
    row = SOURCE.replace(
        "[[sources]]", "[[sources]]\nref = 'v0.5.0-716-gccd7d934'\nsubdirectory = 'python/'"
    ) + (
        "requires-python = '>=3.10'\nrequires-from = ['python/pyproject.toml']\nisolation = false\neditable = true\n"
        "env = { B = '{version}', A = '1' }\nrewrites = ['Verl_X']\n"
        "steps = [{ move = 'a.toml', to = 'python/pyproject.toml' }, { comment = '^torch', in = 'r.txt' }]\n"
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


def test_a_step_with_wheels_builds_the_wheel(tmp_path: Path) -> None:
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
        *((path, "", "", _OUTSIDE) for path in ("../x", "-x", ".git/modules/x")),
        ("a", "ext::sh -c id", "", "only https, ssh, file are supported"),
        ("a", "-upload-pack=id", "", "only https, ssh, file are supported"),
        ("a", "ssh://-oProxyCommand=x/a", "", _CHARACTERS),
        ("a", "", "v1.0", "a commit is 40 hexadecimal digits, in lower case"),
        ("b/", "", "", "two submodules are at `b`"),
    ],
)
def test_a_submodule_that_is_refused(
    path: str, git: str, commit: str, why: str, tmp_path: Path
) -> None:
    rows = ", ".join(
        f"{{ path = '{one}', git = '{two or 'https://example.org/x'}', commit = '{three or COMMIT}' }}"
        for one, two, three in (("b", "", ""), (path, git, commit))
    )
    told = message(tmp_path, facts=f"{HEAD}{SOURCE}submodules = [{rows}]\n")
    assert why in told
    assert "matrices/facts/verl.toml:13: sources[0].submodules" in told


def test_what_must_be_absent_is_a_row_of_the_stack_or_a_fact(tmp_path: Path) -> None:
    fact = '[[absent]]\nversions = "<1"\nwithout = "Timm"\nreason = "text only"\n'
    stack = requiring("verl") + '[[absent]]\npackage = "Torch_Vision"\nreason = "no\\n pictures"\n'
    found = problem(tmp_path, stack, facts=HEAD + fact)
    assert [(row.package, row.reason, row.where) for row in found.stack.absent] == [
        ("torch-vision", "no pictures", "matrices/stacks/s.toml:13")
    ]
    (absent,) = found.facts
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
def test_addresses(text: str, expected: Direct) -> None:
    assert Direct.parse(text) == expected


def test_addresses_of_one_repository() -> None:
    assert same_repository("https://GitHub.com/a/b.git", "https://github.com/a/b/")
    assert not same_repository("https://github.com/a/b", "https://github.com/a/B")
    assert not same_repository("https://github.com/a/b", "ssh://github.com/a/b")


_PLACE = "  at matrices/stacks/s.toml:4: stack.requires[0]\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("https://h/verl-1.whl", "only git repositories are supported"),
        *(
            (line, "it names no commit or tag")
            for line in ("git+https://h/verl.git", "git+ssh://git@h/verl.git")
        ),
        *(
            (f"git+https://{secret}@h/verl.git@v1", _CREDENTIALS)
            for secret in ("me:s3cret", "s3cret")
        ),
        ("git+ssh://git:s3cret@h/verl.git@v1", _CREDENTIALS),
        ("git+http://h/verl.git@v1", "only https, ssh, file are supported, not `http`"),
        ("git+ext::sh@h/x@v1", "only https, ssh, file are supported"),
        *((f"git+https://{odd}@v1", _CHARACTERS) for odd in ("h/$(touch${IFS}x)", "h/a;b", "/a")),
        ("git+ssh://-oProxyCommand=x/a@v1", _CHARACTERS),
        *(
            (f"git+https://h/a@{odd}", "what follows @ is not a commit or tag")
            for odd in ("--upload-pack=x", "$(id)", "v1..v2")
        ),
        ("git+https://h/a@v1#egg=x", "only subdirectory=PATH is allowed after #"),
        *((f"git+https://h/a@v1#subdirectory={path}", _OUTSIDE) for path in ("../x", ".git/hooks")),
    ],
)
def test_an_address_that_is_not_followed(line: str, why: str, tmp_path: Path) -> None:
    told = message(tmp_path, requiring(f"verl @ {line}"))
    assert told == f"`requires` cannot be used\n{_PLACE}  {why}"
    assert "s3cret" not in told


def test_a_line_that_cannot_be_read_shows_no_credentials(tmp_path: Path) -> None:
    told = message(tmp_path, requiring("verl @@ git+https://me:s3cret@h/verl.git@v1"))
    assert told.startswith(f"a line that may contain a password is not a requirement\n{_PLACE}")
    assert "s3cret" not in told


def test_a_stack_does_not_ask_for_what_it_keeps_out(tmp_path: Path) -> None:
    absent = '[[absent]]\npackage = "timm"\nreason = "text only"\n'
    assert message(tmp_path, requiring("numpy", "Timm>=1") + absent) == (
        "the stack both asks for `timm` and lists it as absent\n  at matrices/stacks/s.toml:14: absent[0].package\n"
        "  `Timm>=1` is asked for at matrices/stacks/s.toml:4"
    )


def test_submodules_are_sorted_so_that_one_follows_the_one_it_is_in(tmp_path: Path) -> None:
    rows = ", ".join(
        f"{{ path = '{path}', git = 'https://example.org/x', commit = '{COMMIT}' }}"
        for path in ("a/b/c", "a-b", "a/")
    )
    paths = [one.path for one in recipe(tmp_path, f"submodules = [{rows}]").submodules]
    assert paths == ["a", "a-b", "a/b/c"]
    assert [container(path, paths) for path in paths] == ["", "", "a"]
