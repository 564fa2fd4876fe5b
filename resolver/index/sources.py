"""A stack's direct references resolved: the commit, and the recipe of the project there.

The recipe is from a fact, which is compared with files of the commit; if the repository cannot be
read, the lock says that the fact is not verified. Without a fact the commit must have a static
pyproject.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName

from resolver.errors import InputError
from resolver.index.git import RepositoryUnreadable
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import LEGACY_BUILD, read_pyproject
from resolver.index.protocol import UnusableFile
from resolver.index.repositories import NoSuchCommit, Repositories
from resolver.model import text
from resolver.model.fact import Fact, Sources
from resolver.model.message import Message, message
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import Source
from resolver.model.repository import Direct, Recipe, container, same_repository
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution

_FILE = "pyproject.toml"


def with_resolved_sources(
    problems: Sequence[Problem], repositories: Repositories
) -> tuple[Problem, ...]:
    """The problems with the source of each direct reference of their stack (`NAME @ git+https://…`).

    Raises InputError if nothing is known about a referenced commit, or a fact contradicts the files
    of its commit.
    """
    sources: dict[str, Source] = {}
    for problem in problems:
        references: dict[NormalizedName, RootRequirement] = {}
        for root in problem.stack.requirements:
            if not isinstance(root.need, Requirement) or not root.need.url:
                continue
            if root.need.url not in sources:
                sources[root.need.url] = _source(root, root.need, problem.facts, repositories)
            if root not in problem.requirements_on(root.need.name):
                continue
            other = references.setdefault(root.need.name, root)
            if isinstance(other.need, Requirement) and other.need.url != root.need.url:
                raise InputError(
                    f"the stack takes `{root.need.name}` from two places",
                    where=root.origin.where,
                    why=f"the other is at {other.origin.where}",
                    hint="remove one of the two lines",
                )
    return tuple(replace(problem, sources=sources) for problem in problems)


def _source(
    root: RootRequirement, need: Requirement, facts: Iterable[Fact], repositories: Repositories
) -> Source:
    direct = Direct.parse(need.url)
    candidates = [
        fact
        for fact in facts
        if isinstance(fact, Sources)
        and fact.package == need.name
        and same_repository(fact.git, direct.url)
        and direct.subdirectory in ("", fact.subdirectory)
    ]
    matching = [fact for fact in candidates if direct.means(fact.commit, fact.ref)]
    commit = direct.revision if direct.is_commit else _commit(root, direct, matching, repositories)
    matching = [fact for fact in candidates if fact.commit == commit]
    if len(matching) > 1:
        raise InputError(
            f"{len(matching)} facts describe `{need.name}` there",
            where=root.origin.where,
            why=" and ".join(fact.where for fact in matching),
            hint="specify the subdirectory: …#subdirectory=PATH",
        )
    if not matching:
        return _static_source(root, need, direct, commit, repositories)
    fact = matching[0]
    ref = "" if direct.is_commit or commit.startswith(direct.revision) else direct.revision
    return Source.of_fact(fact, why_unverified(fact, repositories), ref)


def verified(resolution: Resolution, repositories: Repositories) -> Resolution:
    """Return the resolution with the releases that facts take from commits compared with these.

    What a line of the stack takes from a commit was compared before. Raises InputError as
    `why_unverified` does.
    """
    direct = list(resolution.problem.sources.values())
    pins = []
    for pin in resolution.pins:
        source = pin.release.source
        if source is not None and source not in direct and source.fact is not None:
            source = Source.of_fact(source.fact, why_unverified(source.fact, repositories))
            pin = replace(pin, release=replace(pin.release, source=source))
        pins.append(pin)
    return replace(resolution, pins=tuple(pins))


def _commit(
    root: RootRequirement, direct: Direct, facts: Sequence[Sources], repositories: Repositories
) -> str:
    """The commit of a tag or abbreviated hash, from the repository, or else from the `facts` that may be about it."""
    commits = sorted({fact.commit for fact in facts})
    if len(commits) > 1:
        raise InputError(
            f"`{direct.revision}` can stand for {len(commits)} commits",
            where=root.origin.where,
            why=" and ".join(f"{fact.commit[:12]} at {fact.where}" for fact in facts),
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
                f"the tag `{direct.revision}` is another commit than the fact `{facts[0].id}` says",
                where=root.origin.where,
                why=f"{direct.url} has {tag}, {facts[0].where} has {commits[0]}",
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


def _static_source(
    root: RootRequirement,
    need: Requirement,
    direct: Direct,
    commit: str,
    repositories: Repositories,
) -> Source:
    """The source of a project with a static pyproject.toml. Raises InputError for any other."""
    path = f"{direct.subdirectory}/{_FILE}".lstrip("/")
    name = f"{path} of {direct.url}@{commit[:12]}"
    try:
        content = repositories.read(direct.url, commit, path)
        if content is None:
            raise UnusableFile(f"it has no {path}")
        pyproject = read_pyproject(content, FileRelease(name, need.name, ""))
        if (metadata := pyproject.metadata) is None:
            raise UnusableFile(pyproject.why_dynamic)
        if (version := text.version(metadata.version)) is None:
            raise UnusableFile(f"its {path} has no version")
        committed = repositories.committed(direct.url, commit)
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, root.origin.where) from None
    except RepositoryUnreadable as error:
        raise _unknown(
            root, need, direct, commit, f"the repository could not be read: {error}"
        ) from None
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
            build_requires=LEGACY_BUILD
            if pyproject.build_requires is None
            else pyproject.build_requires,
        ),
        committed=committed,
        fact=None,
    )


def _unknown(
    root: RootRequirement, need: Requirement, direct: Direct, commit: str, why: str
) -> InputError:
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


# Comparison of a fact with the files of its commit


def why_unverified(fact: Sources, repositories: Repositories) -> Message | None:
    """Compare a fact with the files of its commit that it names.

    None if their requirements are the same.

    Otherwise the reason why they could not be compared: it names no file, the files have no static
    requirements, or the repository could not be read. Raises InputError if they differ, or the
    repository lacks the commit.
    """
    lines_by_file: dict[str, set[str]] = {}
    is_partial = not fact.requires_from
    try:
        if not fact.requires_from:
            repositories.fetched(fact.git, fact.commit)
        _require_submodules(fact, repositories)
        for path in fact.requires_from:
            lines = _lines(fact, path, repositories)
            if lines is None:
                is_partial = True
            else:
                lines_by_file[path] = lines
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, fact.where) from None
    except RepositoryUnreadable:
        has_files = bool(fact.requires_from or fact.recipe.submodules)
        return message("trust.not-read" if has_files else "trust.not-compared", fact=fact.id)
    if not lines_by_file:
        return message("trust.not-compared", fact=fact.id)
    of_fact = {_normal(line): line for line in fact.recipe.requires}
    rows = [
        (line, path)
        for path, lines in lines_by_file.items()
        for line in lines
        if not _is_dropped(line, fact)
    ]
    differences = sorted(f"{path} has `{line}`" for line, path in rows if line not in of_fact)
    if not is_partial:
        names_extras = any(
            path.endswith(_FILE) for path in lines_by_file
        )  # requirements files do not
        comparable = {
            line for line, original in of_fact.items() if names_extras or not _extras(original)
        }
        only_in_fact = comparable - {line for line, _ in rows}
        differences += sorted(
            f"the fact has `{line}`" for line in only_in_fact if not _is_dropped(line, fact)
        )
    if differences:
        hint = "correct `requires` or what `steps` change; list in `drop` what the fact leaves out on purpose"
        raise _mismatch(fact, f"{fact.git}@{fact.commit}", "; ".join(differences), hint)
    return None


def _require_submodules(fact: Sources, repositories: Repositories) -> None:
    """Raise InputError unless the repositories have the submodules of the fact at the same commits."""
    places = {
        submodule.path: (submodule.git, submodule.commit) for submodule in fact.recipe.submodules
    }
    for submodule in fact.recipe.submodules:
        parent = container(submodule.path, places)
        url, commit = places.get(parent, (fact.git, fact.commit))
        path = submodule.path[len(parent) :].lstrip("/")
        actual = repositories.submodule(url, commit, path)
        if actual != submodule.commit:
            why = f"its submodule `{path}` is at {actual}, not {submodule.commit}"
            why = why if actual else f"`{path}` is no submodule"
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
            metadata = read_pyproject(
                content.encode(), FileRelease(path, fact.package, "")
            ).metadata
            if metadata is None:
                return None
            extras = set(text.all_extras(fact.recipe.requires))
            lines = [line for line in metadata.requires_dist if _extras(line) <= extras]
        elif path.endswith((".txt", ".in")):
            lines = list(_file_requirements(fact, path, content))
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
    """A file after the fact's steps.

    Raises InputError if it does not exist, or a step finds nothing to change.
    """
    patterns = []
    for step in reversed(fact.recipe.steps):
        if step.move and step.to == path:
            path = step.move
        elif step.comment and step.in_ == path:
            patterns.append(step.comment)
    content = repositories.read(fact.git, fact.commit, path)
    if content is None:
        raise InputError(
            f"the commit has no file `{path}`",
            where=fact.where,
            why=f"{fact.git}@{fact.commit}",
            hint="correct the path in `requires-from` or in `steps`",
        )
    lines = content.decode("utf-8", "replace").splitlines()
    for pattern in reversed(patterns):
        matches = [re.search(pattern, line) is not None for line in lines]
        if not any(matches):
            raise InputError(
                f"no line of `{path}` matches `{pattern}`",
                where=fact.where,
                why=f"{fact.git}@{fact.commit}",
                hint="correct `comment` in `steps`, a regular expression for the lines to comment out",
            )
        lines = [
            f"# {line}" if is_match else line for line, is_match in zip(lines, matches, strict=True)
        ]
    return "\n".join(lines)


def _file_requirements(fact: Sources, path: str, content: str) -> Iterator[str]:
    """The requirements in a requirements file. The fact must name files that it includes, too."""
    for _, line in text.file_lines(content):
        option, name = text.file_option(line)
        if option:
            folder = path.rpartition("/")[0]
            if f"{folder}/{name}".lstrip("/") not in fact.requires_from:
                raise UnusableFile(
                    f"it has the line `{line}`, but `requires-from` does not include that"
                )
        elif not line.startswith("-"):
            yield line


def _normal(line: str) -> str:
    need = text.requirement(line)
    return str(replace(need, extras=tuple(sorted(need.extras))))


def _extras(line: str) -> frozenset[str]:
    """The extras that a line's marker names."""
    return text.extras_in_marker(line) or frozenset()
