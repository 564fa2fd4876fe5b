"""A stack's direct references resolved: the commit, and the recipe of the project there.

The recipe is from a fact, which is compared with files of the commit; if the repository cannot be
read, the lock says that the fact is not verified. Without a fact the commit must have a static
pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.errors import InputError
from resolver.index.git import RepositoryUnreadable
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import LEGACY_BUILD, read_pyproject
from resolver.index.protocol import UnusableFile
from resolver.index.repositories import NoSuchCommit, Repositories
from resolver.index.source_facts import why_unverified
from resolver.model import text
from resolver.model.fact import Sources
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import Source
from resolver.model.repository import Direct, Recipe, same_repository
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.phrase import Phrase, cause, listed, literal, phrase


class _Reference(NamedTuple):
    """A line of a stack that takes a project from a repository."""

    name: NormalizedName
    direct: Direct
    # The file and line that has it.
    where: str


def with_resolved_sources(
    problems: Sequence[Problem], repositories: Repositories
) -> tuple[Problem, ...]:
    """Return the problems with the source of each direct reference of their stack.

    A direct reference is `NAME @ git+https://…`. Raises InputError if nothing is known about a
    referenced commit, or a fact contradicts the files of its commit.
    """
    sources: dict[str, Source] = {}
    for problem in problems:
        _add_sources(sources, problem, repositories)
    return tuple(replace(problem, sources=sources) for problem in problems)


def with_sources_of_facts(problem: Problem) -> Problem:
    """Return a problem with the sources that facts describe, without reading a repository.

    These are of direct references whose source is not known yet. Raises InputError if no fact
    describes one.
    """
    sources = dict(problem.sources)
    for root in problem.stack.requirements:
        need = root.need
        if not isinstance(need, Requirement) or not need.url or need.url in sources:
            continue
        direct = Direct.parse(need.url)
        reference = _Reference(need.name, direct, root.origin.where)
        facts = _facts_about(reference, problem)
        meant = [fact for fact in facts if direct.means(fact.commit, fact.ref)]
        if not meant:
            what = phrase("no fact describes `{name}` there", name=need.name)
            raise InputError(what, where=root.origin.where)
        sources[need.url] = Source.of_fact(meant[0], None, _ref(direct, meant[0].commit))
    return replace(problem, sources=sources)


def _add_sources(sources: dict[str, Source], problem: Problem, repositories: Repositories) -> None:
    """Add the source of each direct reference of a problem, by the address in its line.

    Raises InputError as `with_resolved_sources` does.
    """
    references: dict[NormalizedName, RootRequirement] = {}
    for root in problem.stack.requirements:
        need = root.need
        if not isinstance(need, Requirement) or not need.url:
            continue
        if need.url not in sources:
            reference = _Reference(need.name, Direct.parse(need.url), root.origin.where)
            facts = _facts_about(reference, problem)
            sources[need.url] = _source(reference, facts, repositories)
        if root not in problem.requirements_on(need.name):
            continue
        first = references.setdefault(need.name, root)
        if isinstance(first.need, Requirement) and first.need.url != need.url:
            raise InputError(
                phrase("the stack takes `{name}` from two places", name=need.name),
                where=root.origin.where,
                why=phrase("the other is at {where}", where=first.origin.where),
                hint=phrase("remove one of the two lines"),
            )


def _facts_about(reference: _Reference, problem: Problem) -> list[Sources]:
    """Return the facts about the project in the repository, at any commit."""
    direct = reference.direct
    facts = []
    for fact in problem.facts:
        if not isinstance(fact, Sources) or fact.package != reference.name:
            continue
        is_there = direct.subdirectory in ("", fact.subdirectory)
        if is_there and same_repository(fact.git, direct.url):
            facts.append(fact)
    return facts


def _source(reference: _Reference, facts: Sequence[Sources], repositories: Repositories) -> Source:
    """Return the source of a reference, from one of these facts or from the repository.

    Raises InputError as `with_resolved_sources` does.
    """
    direct = reference.direct
    commit = direct.revision
    if not direct.is_commit:
        meant = [fact for fact in facts if direct.means(fact.commit, fact.ref)]
        commit = _commit(reference, meant, repositories)
    facts_of_commit = [fact for fact in facts if fact.commit == commit]
    if len(facts_of_commit) > 1:
        raise InputError(
            phrase(
                "{count} facts describe `{name}` there",
                count=len(facts_of_commit),
                name=reference.name,
            ),
            where=reference.where,
            why=literal(", ".join(fact.where for fact in facts_of_commit)),
            hint=phrase("specify the subdirectory: …#subdirectory=PATH"),
        )
    if not facts_of_commit:
        return _static_source(reference, commit, repositories)
    fact = facts_of_commit[0]
    return Source.of_fact(fact, why_unverified(fact, repositories), _ref(direct, commit))


def _ref(direct: Direct, commit: str) -> str:
    """Return the tag in a direct reference, empty if it names the commit."""
    return "" if commit.startswith(direct.revision) else direct.revision


def verified(resolution: Resolution, repositories: Repositories) -> Resolution:
    """Return the resolution with the releases that facts take from commits compared with these.

    What a line of the stack takes from a commit was compared before. Raises InputError as
    `why_unverified` does.
    """
    of_stack = list(resolution.problem.sources.values())
    pins = []
    for pin in resolution.pins:
        source = pin.release.source
        if source is not None and source not in of_stack and source.fact is not None:
            source = Source.of_fact(source.fact, why_unverified(source.fact, repositories))
            pin = replace(pin, release=replace(pin.release, source=source))
        pins.append(pin)
    return replace(resolution, pins=tuple(pins))


def _commit(reference: _Reference, facts: Sequence[Sources], repositories: Repositories) -> str:
    """Return the commit of a tag or abbreviated hash.

    It is from the repository, or else from the `facts` that may be about it. Raises InputError.
    """
    direct = reference.direct
    revision = direct.revision
    commits = {fact.commit for fact in facts}
    if len(commits) > 1:
        raise InputError(
            phrase(
                "`{revision}` can stand for {count} commits", revision=revision, count=len(commits)
            ),
            where=reference.where,
            why=listed(
                phrase("{commit} at {where}", commit=fact.commit[:12], where=fact.where)
                for fact in facts
            ),
            hint=phrase("give the full commit hash"),
        )
    try:
        tag, branch = repositories.resolve_ref(direct.url, revision)
    except RepositoryUnreadable as error:
        if facts:
            return facts[0].commit
        raise InputError(
            phrase("cannot determine which commit `{revision}` is", revision=revision),
            where=reference.where,
            why=phrase(
                "{url} could not be read ({cause}), and no fact describes it",
                url=direct.url,
                cause=cause(error),
            ),
            hint=phrase("give the full commit hash, or describe it in a [[sources]] fact"),
        ) from None
    if tag:
        if facts and facts[0].commit != tag:
            raise InputError(
                phrase(
                    "the tag `{revision}` is another commit than the fact `{fact}` says",
                    revision=revision,
                    fact=facts[0].id,
                ),
                where=reference.where,
                why=phrase(
                    "{url} has {commit}, {fact} has {other}",
                    url=direct.url,
                    commit=tag,
                    fact=facts[0].where,
                    other=facts[0].commit,
                ),
                hint=phrase(
                    "a tag that moved is not a reliable release; find out why, then correct "
                    "the fact or name the commit"
                ),
            )
        return tag
    if facts:
        return facts[0].commit
    if branch:
        raise InputError(
            phrase("`{revision}` is a branch, which moves", revision=revision),
            where=reference.where,
            hint=phrase("name the commit: {url}@{branch}", url=direct.url, branch=branch),
        )
    raise InputError(
        phrase("the repository has no tag `{revision}`", revision=revision),
        where=reference.where,
        why=literal(direct.url),
        hint=phrase("give a full commit hash, or a tag"),
    )


# Without a fact


def _static_source(reference: _Reference, commit: str, repositories: Repositories) -> Source:
    """Return the source of a project with a static pyproject.toml. Raises InputError."""
    direct = reference.direct
    try:
        recipe = _static_recipe(reference, commit, repositories)
        committed = repositories.committed(direct.url, commit)
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, reference.where) from None
    except RepositoryUnreadable as error:
        why = phrase("the repository could not be read: {cause}", cause=cause(error))
        raise _unknown(reference, commit, why) from None
    except UnusableFile as error:
        raise _unknown(reference, commit, cause(error)) from None
    return Source(
        name=reference.name,
        url=direct.url,
        commit=commit,
        ref=_ref(direct, commit),
        subdirectory=direct.subdirectory,
        recipe=recipe,
        committed=committed,
        fact=None,
    )


def _static_recipe(reference: _Reference, commit: str, repositories: Repositories) -> Recipe:
    """Return the recipe in a static pyproject.toml.

    Raises UnusableFile, RepositoryUnreadable and NoSuchCommit.
    """
    direct = reference.direct
    path = f"{direct.subdirectory}/pyproject.toml".lstrip("/")
    content = repositories.read(direct.url, commit, path)
    if content is None:
        raise UnusableFile(phrase("it has no {path}", path=path))
    shown_name = f"{path} of {direct.url}@{commit[:12]}"
    pyproject = read_pyproject(content, FileRelease(shown_name, reference.name, ""))
    metadata = pyproject.metadata
    if metadata is None:
        raise UnusableFile(pyproject.why_dynamic)
    version = text.version(metadata.version)
    if version is None:
        raise UnusableFile(phrase("its {path} has no version", path=path))
    build_requires = pyproject.build_requires
    return Recipe(
        version=version,
        requires=metadata.requires_dist,
        requires_python=metadata.requires_python,
        build_requires=LEGACY_BUILD if build_requires is None else build_requires,
    )


def _unknown(reference: _Reference, commit: str, why: Phrase) -> InputError:
    """Return the failure of a commit about which nothing is known, with a fact to fill in."""
    direct = reference.direct
    lines = [
        f"# matrices/facts/{reference.name}.toml",
        "[[sources]]",
        f'git = "{direct.url}"',
        f'commit = "{commit}"',
    ]
    if direct.subdirectory:
        lines.append(f'subdirectory = "{direct.subdirectory}"')
    lines += [
        'version = "…" # what its build calls itself',
        "requires = [] # from the files that say it, which go to requires-from",
        'build-requires = ["setuptools>=64"]',
        'reason = "…"',
        'strength = "documented"',
        'source = "…"',
        "checked = 2026-01-31",
    ]
    return InputError(
        phrase(
            "nothing is known about `{name}` at {commit}", name=reference.name, commit=commit[:12]
        ),
        where=reference.where,
        why=why,
        hint=phrase("describe it in a fact:\n  {fact}", fact="\n  ".join(lines)),
    )
