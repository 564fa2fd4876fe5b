"""What a stack's direct references stand for: which commit, and what is known of the project there.

Facts say what a project needs at a commit. Where the repository can be read, the files that a fact names are
compared with it; where it cannot, the fact is taken on trust and the lock says so. Without a fact only
a static pyproject.toml will do. Nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.errors import InputError
from resolver.index.git import NoSuchCommit, Repositories, RepositoryUnreadable
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import LEGACY_BUILD, read_pyproject
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.fact import Fact, Sources
from resolver.model.message import Message, message
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import Source
from resolver.model.repository import Direct, Recipe, container, same_repository
from resolver.model.requirement import Requirement

_FILE = "pyproject.toml"


def with_resolved_sources(problems: Sequence[Problem], repositories: Repositories) -> tuple[Problem, ...]:
    """The problems with the source of each direct reference of their stack (`NAME @ git+https://…`).

    Raises InputError if nothing is known about a referenced commit, or a fact contradicts the files of its commit.
    """
    sources: dict[str, Source] = {}
    for problem in problems:
        named: dict[NormalizedName, RootRequirement] = {}
        for root in problem.stack.requirements:
            if not isinstance(root.need, Requirement) or not root.need.url:
                continue
            if root.need.url not in sources:
                sources[root.need.url] = _source(root, root.need, problem.facts, repositories)
            if root not in problem.requirements_on(root.need.name):
                continue
            other = named.setdefault(root.need.name, root)
            if isinstance(other.need, Requirement) and other.need.url != root.need.url:
                raise InputError(
                    f"the stack takes `{root.need.name}` from two places",
                    where=root.origin.where,
                    why=f"the other is at {other.origin.where}",
                    hint="remove one of the two lines",
                )
    return tuple(replace(problem, sources=sources) for problem in problems)


def _source(root: RootRequirement, need: Requirement, facts: Iterable[Fact], repositories: Repositories) -> Source:
    direct = Direct.parse(need.url)
    about = [
        fact
        for fact in facts
        if isinstance(fact, Sources)
        and fact.package == need.name
        and same_repository(fact.git, direct.url)
        and direct.subdirectory in ("", fact.subdirectory)
    ]
    known = [fact for fact in about if direct.means(fact.commit, fact.ref)]
    commit = direct.revision if direct.is_commit else _commit(root, direct, known, repositories)
    known = [fact for fact in about if fact.commit == commit]
    if len(known) > 1:
        raise InputError(
            f"{len(known)} facts describe `{need.name}` there",
            where=root.origin.where,
            why=" and ".join(fact.where for fact in known),
            hint="specify the subdirectory: …#subdirectory=PATH",
        )
    if not known:
        return _static(root, need, direct, commit, repositories)
    fact = known[0]
    return Source(
        name=need.name,
        url=fact.git,
        commit=commit,
        ref=fact.ref or ("" if direct.is_commit or commit.startswith(direct.revision) else direct.revision),
        subdirectory=fact.subdirectory,
        recipe=fact.recipe,
        fact=fact,
        trust=why_unverified(fact, repositories),
    )


def _commit(root: RootRequirement, direct: Direct, known: Sequence[Sources], repositories: Repositories) -> str:
    """The commit of a tag or abbreviated commit, according to the repository, otherwise to the only fact about it.

    `known` are the facts that may mean it.
    """
    commits = sorted({fact.commit for fact in known})
    if len(commits) > 1:
        raise InputError(
            f"`{direct.revision}` can stand for {len(commits)} commits",
            where=root.origin.where,
            why=" and ".join(f"{fact.commit[:12]} at {fact.where}" for fact in known),
            hint="give the full commit hash",
        )
    try:
        tag, branch = repositories.resolve_ref(direct.url, direct.revision)
    except RepositoryUnreadable as error:
        if commits:
            return commits[0]
        raise InputError(
            f"cannot determine which commit `{direct.revision}` is",
            where=root.origin.where,
            why=f"{direct.url} could not be read ({error}), and no fact describes it",
            hint="give the full commit hash, or describe it in a [[sources]] fact",
        ) from None
    if tag:
        if commits and commits[0] != tag:
            raise InputError(
                f"the tag `{direct.revision}` is another commit than the fact `{known[0].id}` says",
                where=root.origin.where,
                why=f"{direct.url} has {tag}, {known[0].where} has {commits[0]}",
                hint="a tag that moved is not a reliable release; find out why, then correct the fact or name the "
                "commit",
            )
        return tag
    if commits:
        return commits[0]
    if branch:
        raise InputError(
            f"`{direct.revision}` is a branch, which moves",
            where=root.origin.where,
            hint=f"name the commit: {direct.url}@{branch}",
        )
    raise InputError(
        f"the repository has no tag `{direct.revision}`",
        where=root.origin.where,
        why=direct.url,
        hint="give a full commit hash, or a tag",
    )


# Without a fact


def _static(
    root: RootRequirement, need: Requirement, direct: Direct, commit: str, repositories: Repositories
) -> Source:
    """A project that its own pyproject.toml tells enough of."""
    path = f"{direct.subdirectory}/{_FILE}".lstrip("/")
    name = f"{path} of {direct.url}@{commit[:12]}"
    try:
        content = repositories.read(direct.url, commit, path)
        if content is None:
            raise UnusableFile(f"it has no {path}")
        found = read_pyproject(content, FileRelease(name, need.name, ""))
        if (metadata := found.metadata) is None:
            raise UnusableFile(found.why_dynamic)
        if (version := text.version(metadata.version)) is None:
            raise UnusableFile(f"its {path} has no version")
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, root.origin.where) from None
    except RepositoryUnreadable as error:
        raise _unknown(root, need, direct, commit, f"the repository could not be read: {error}") from None
    except UnusableFile as error:
        raise _unknown(root, need, direct, commit, str(error)) from None
    return Source(
        name=need.name,
        url=direct.url,
        commit=commit,
        ref="" if commit.startswith(direct.revision) else direct.revision,
        subdirectory=direct.subdirectory,
        recipe=Recipe(
            version=version,
            requires=metadata.requires_dist,
            requires_python=metadata.requires_python,
            build_requires=LEGACY_BUILD if found.build_requires is None else found.build_requires,
        ),
        fact=None,
    )


def _unknown(root: RootRequirement, need: Requirement, direct: Direct, commit: str, why: str) -> InputError:
    subdirectory = f'  subdirectory = "{direct.subdirectory}"\n' if direct.subdirectory else ""
    return InputError(
        f"nothing is known about `{need.name}` at {commit[:12]}",
        where=root.origin.where,
        why=why,
        hint=f"describe it in a fact:\n  # matrices/facts/{need.name}.toml\n  [[sources]]\n"
        f'  git = "{direct.url}"\n  commit = "{commit}"\n{subdirectory}'
        '  version = "…" # what its build calls itself\n'
        "  requires = [] # from the files that say it, which go to requires-from\n"
        '  build-requires = ["setuptools>=64"]\n  reason = "…"\n'
        '  strength = "documented"\n  source = "…"\n  checked = 2026-01-31',
    )


# What a fact says of a commit, compared with the commit's own files


def why_unverified(fact: Sources, repositories: Repositories) -> Message | None:
    """Compare a fact with the files of its commit that it names. None if they say the same.

    Otherwise the reason why the fact is taken on trust: it names no file, the files state nothing statically, or the
    repository could not be read. Raises InputError if the files contradict it, or the repository lacks the commit.
    """
    stated: dict[str, set[str]] = {}
    silent = not fact.requires_from
    try:
        if not fact.requires_from:
            repositories.fetched(fact.git, fact.commit)
        _require_submodules(fact, repositories)
        for path in fact.requires_from:
            lines = _lines(fact, path, repositories)
            if lines is None:
                silent = True
            else:
                stated[path] = lines
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, fact.where) from None
    except RepositoryUnreadable:
        read = bool(fact.requires_from or fact.recipe.submodules)
        return message("trust.not-read" if read else "trust.not-compared", fact=fact.id)
    if not stated:
        return message("trust.not-compared", fact=fact.id)
    own = {_normal(line): line for line in fact.recipe.requires}
    wanted = {(line, path) for path, lines in stated.items() for line in lines if not _is_dropped(line, fact)}
    missing = sorted(f"{path} has `{line}`" for line, path in wanted if line not in own)
    extra: list[str] = []
    if not silent:
        has_extras = any(path.endswith(_FILE) for path in stated)  # requirements files have none
        said = {line for line in own if not _is_dropped(line, fact) and (has_extras or not _extras(own[line]))}
        extra = sorted(f"the fact has `{line}`" for line in said - {line for line, _ in wanted})
    if missing or extra:
        hint = "correct `requires` or what `steps` change; list in `drop` what the fact leaves out on purpose"
        raise _mismatch(fact, f"{fact.git}@{fact.commit}", "; ".join([*missing, *extra]), hint)
    return None


def _require_submodules(fact: Sources, repositories: Repositories) -> None:
    """Raise InputError unless each submodule is one, at its commit, of the repository that it is in."""
    places = {one.path: (one.git, one.commit) for one in fact.recipe.submodules}
    for one in fact.recipe.submodules:
        around = container(one.path, places)
        url, commit = places.get(around, (fact.git, fact.commit))
        path = one.path[len(around) :].lstrip("/")
        found = repositories.submodule(url, commit, path)
        if found != one.commit:
            why = f"its submodule `{path}` is at {found}, not {one.commit}" if found else f"`{path}` is no submodule"
            raise _mismatch(fact, f"{url}@{commit}", why, "correct `submodules`")


def _mismatch(fact: Sources, place: str, why: str, hint: str) -> InputError:
    message = f"the fact `{fact.id}` does not match the repository"
    return InputError(message, where=f"{fact.where} and {place}", why=why, hint=hint)


def _is_dropped(line: str, fact: Sources) -> bool:
    return text.requirement(line).name in fact.recipe.drop


def _lines(fact: Sources, path: str, repositories: Repositories) -> set[str] | None:
    """The requirements in a file, for the extras that the fact is about; None if they are not static."""
    content = _patched(fact, path, repositories)
    try:
        if path.rpartition("/")[2] == _FILE:
            found = read_pyproject(content.encode(), FileRelease(path, fact.package, ""))
            if found.metadata is None:
                return None
            extras = {extra for line in fact.recipe.requires for extra in _extras(line)}
            lines = [line for line in found.metadata.requires_dist if _extras(line) <= extras]
        elif path.endswith((".txt", ".in")):
            lines = list(_listed(fact, path, content))
        else:
            return None
        return {_normal(line) for line in lines}
    except (UnusableFile, InvalidRequirement) as error:
        raise InputError(
            f"`{path}` at the commit of the fact `{fact.id}` cannot be read",
            where=f"{fact.where} and {fact.git}@{fact.commit}",
            why=str(error).partition("\n")[0],
            hint="name in `requires-from` the files that list the requirements, with those that they include",
        ) from None


def _patched(fact: Sources, path: str, repositories: Repositories) -> str:
    """A file after the fact's steps. Raises InputError if it does not exist, or a step finds nothing to change."""
    at = path
    patterns = []
    for step in reversed(fact.recipe.steps):
        if step.move and step.to == at:
            at = step.move
        elif step.comment and step.in_ == at:
            patterns.append(step.comment)
    content = repositories.read(fact.git, fact.commit, at)
    if content is None:
        raise InputError(
            f"the commit has no file `{at}`",
            where=fact.where,
            why=f"{fact.git}@{fact.commit}",
            hint="correct the path in `requires-from` or in `steps`",
        )
    lines = content.decode("utf-8", "replace").splitlines()
    for pattern in reversed(patterns):
        found = [re.search(pattern, line) is not None for line in lines]
        if not any(found):
            raise InputError(
                f"no line of `{at}` matches `{pattern}`",
                where=fact.where,
                why=f"{fact.git}@{fact.commit}",
                hint="correct `comment` in `steps`, a regular expression for the lines to comment out",
            )
        lines = [f"# {line}" if hit else line for line, hit in zip(lines, found, strict=True)]
    return "\n".join(lines)


def _listed(fact: Sources, path: str, content: str) -> Iterator[str]:
    """The lines of a requirements file. Files that it includes must be named as well; their origin does not matter."""
    for _, line in text.file_lines(content):
        option, name = text.file_option(line)
        if option:
            folder = path.rpartition("/")[0]
            if f"{folder}/{name}".lstrip("/") not in fact.requires_from:
                raise UnusableFile(f"it has the line `{line}`, but `requires-from` does not include that")
        elif not line.startswith("-"):
            yield line


def _normal(line: str) -> str:
    need = text.requirement(line)
    return str(replace(need, extras=tuple(sorted(need.extras))))


def _extras(line: str) -> frozenset[str]:
    """The extras that a line's marker names."""
    return text.extras_in_marker(line) or frozenset()
