"""Resolve the direct references of a stack to a commit, and to the recipe of the project there.

A direct reference is a line `NAME @ git+https://…`. A recipe says which version a commit builds,
and what it requires (`model.repository.Recipe`). It is taken from a `[[sources]]` fact, which is
compared with the files of the commit. If the repository cannot be read, the lock says that the fact
was not verified. Without a fact, the commit must have a static pyproject.toml. If it cannot be
read, or has none, the commit cannot be used. That is a conflict if facts are about the project,
as they know other releases or commits of it, and otherwise a mistake in the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver import address
from resolver.errors import InputError
from resolver.index.git import RepositoryUnreadable
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import LEGACY_BUILD, read_pyproject
from resolver.index.protocol import UnusableFile
from resolver.index.repositories import NoSuchCommit, Repositories
from resolver.index.source_facts import why_unverified
from resolver.model import text
from resolver.model.fact import Sources
from resolver.model.message import message
from resolver.model.problem import Problem, RootRequirement
from resolver.model.release import Source
from resolver.model.repository import Direct, Recipe, same_repository
from resolver.model.requirement import Requirement
from resolver.model.resolution import Resolution
from resolver.phrase import Phrase, cause, listed, literal, phrase

# How many digits of a commit's hash a message shows.
_SHORT_COMMIT: Final = 12


class _Reference(NamedTuple):
    """A direct reference: a line of a stack that takes a project from a repository."""

    # The project.
    name: NormalizedName
    # The repository, and the commit, tag or branch in it.
    direct: Direct
    # The file and line that has the reference.
    where: str
    # Whether facts are about the project.
    is_known: bool

    @classmethod
    def of(cls, need: Requirement, root: RootRequirement, problem: Problem) -> _Reference:
        """Return the direct reference in `need`, the requirement of the line `root` of a stack."""
        is_known = any(fact.package == need.name for fact in problem.facts)
        return cls(need.name, Direct.parse(need.url), root.origin.where, is_known)


def with_resolved_sources(
    problems: Sequence[Problem], repositories: Repositories
) -> tuple[Problem, ...]:
    """Return the problems with the source (commit and recipe) of each direct reference added.

    Raises InputError if a commit or its recipe cannot be determined, if a fact contradicts the
    files of its commit, or if a stack takes a project from two places.
    """
    sources: dict[str, Source] = {}
    for problem in problems:
        _add_sources(sources, problem, repositories)
    return tuple(replace(problem, sources=sources) for problem in problems)


def with_sources_of_facts(problem: Problem) -> Problem:
    """Return a problem with the sources of its direct references, taken from facts alone.

    No repository is read. References whose source is known already are left alone. Raises
    InputError if no fact describes one of the others.
    """
    sources = dict(problem.sources)
    for root in problem.stack.requirements:
        need = root.need
        if not isinstance(need, Requirement) or not need.url or need.url in sources:
            continue
        reference = _Reference.of(need, root, problem)
        direct = reference.direct
        facts = _facts_about(reference, problem)
        matching = [fact for fact in facts if direct.means(fact.commit, fact.ref)]
        if not matching:
            error_message = phrase("no fact describes `{name}` there", name=need.name)
            raise InputError(error_message, where=root.origin.where)
        sources[need.url] = Source.of_fact(matching[0], None, _ref(direct, matching[0].commit))
    return replace(problem, sources=sources)


def _add_sources(sources: dict[str, Source], problem: Problem, repositories: Repositories) -> None:
    """Add the source of each direct reference of a problem to `sources`.

    The key is the address in the reference. Raises InputError as `with_resolved_sources` does.
    """
    references: dict[NormalizedName, RootRequirement] = {}
    for root in problem.stack.requirements:
        need = root.need
        if not isinstance(need, Requirement) or not need.url:
            continue
        if need.url not in sources:
            reference = _Reference.of(need, root, problem)
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
    """Return the `[[sources]]` facts about the project of a reference in its repository.

    They may be about any commit. If the reference names a subdirectory, they are about that one. A
    full hash names the same files in every copy of a repository, so a fact about that commit may
    name another address, for example if the reference is to a mirror.
    """
    direct = reference.direct
    facts = []
    for fact in problem.facts:
        if not isinstance(fact, Sources) or fact.package != reference.name:
            continue
        is_there = direct.subdirectory in ("", fact.subdirectory)
        is_named = fact.commit == direct.revision or same_repository(fact.git, direct.url)
        if is_there and is_named:
            facts.append(fact)
    return facts


def _source(reference: _Reference, facts: Sequence[Sources], repositories: Repositories) -> Source:
    """Return the source of a reference, from the fact about its commit or from the repository.

    `facts` are those about the project at any commit. Raises InputError as `with_resolved_sources`
    does.
    """
    direct = reference.direct
    commit = direct.revision
    if not direct.is_commit:
        matching = [fact for fact in facts if direct.means(fact.commit, fact.ref)]
        try:
            commit = _commit(reference, matching, repositories)
        except RepositoryUnreadable:
            return _unread_source(reference)
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
    ref = _ref(direct, commit)
    if same_repository(fact.git, direct.url):
        return Source.of_fact(fact, why_unverified(fact, repositories), ref)
    there = replace(fact, git=direct.url)
    return replace(Source.of_fact(fact, why_unverified(there, repositories), ref), url=there.git)


def _ref(direct: Direct, commit: str) -> str:
    """Return the tag that a direct reference names; empty if it names the commit by its hash."""
    return "" if commit.startswith(direct.revision) else direct.revision


def verified(resolution: Resolution, repositories: Repositories) -> Resolution:
    """Return the resolution after comparing its releases from commits with these commits.

    A release that a fact takes from a commit gets a source that says whether the fact could be
    verified. Direct references of the stack are left alone: `with_resolved_sources` compared them.
    Raises InputError if a fact contradicts its commit.
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
    """Return the full hash of the commit that a reference names by a tag or an abbreviated hash.

    The repository is asked for the tag. If it has no such tag or cannot be read, the commit of
    `facts` is used: the facts that match the reference. Raises InputError if the commit cannot be
    determined, if the reference names a branch, or if fact and tag differ. Raises
    RepositoryUnreadable if it cannot be read, and facts describe other commits of the project.
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
        if reference.is_known:
            raise
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
    """Return the source of a reference, with the recipe in the pyproject.toml of the commit.

    Raises InputError if the repository cannot be read, or its pyproject.toml is not static.
    """
    direct = reference.direct
    try:
        recipe = _static_recipe(reference, commit, repositories)
        committed = repositories.committed(direct.url, commit)
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, reference.where) from None
    except RepositoryUnreadable as error:
        if reference.is_known:
            return _unread_source(reference)
        why = phrase("the repository could not be read: {cause}", cause=cause(error))
        raise _unknown(reference, commit, why) from None
    except UnusableFile as error:
        if reference.is_known:
            return _unknown_source(reference, "conflict.commit-not-static")
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


def _unread_source(reference: _Reference) -> Source:
    """Return the source of a reference to a commit of a repository that could not be read."""
    url = reference.direct.url
    host = address.split(url).host or url
    return _unknown_source(reference, "conflict.commit-not-read", host)


def _unknown_source(reference: _Reference, code: str, unreachable: str = "") -> Source:
    """Return the source of a reference to a commit of which nothing is known.

    It is for projects of which facts describe other commits: these are ways out of the conflict.
    `code` is that of the reason, and `unreachable` the host that could not be reached.
    """
    direct = reference.direct
    commit = direct.revision[:_SHORT_COMMIT] if direct.is_commit else direct.revision
    return Source(
        name=reference.name,
        url=direct.url,
        commit=direct.revision,
        subdirectory=direct.subdirectory,
        recipe=Recipe(version=Version("0"), requires=(), build_requires=()),
        fact=None,
        unknown=message(code, subject=reference.name, commit=commit, url=direct.url),
        unreachable=unreachable,
    )


def _static_recipe(reference: _Reference, commit: str, repositories: Repositories) -> Recipe:
    """Return the recipe in the pyproject.toml of a commit.

    Raises UnusableFile if the file is missing, invalid or not static, RepositoryUnreadable if the
    repository cannot be read, and NoSuchCommit if it does not have the commit.
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
    """Return the error for a commit whose recipe is not known.

    Its hint is the text of a `[[sources]]` fact for the user to complete.
    """
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
        "checked = …",
    ]
    hint = phrase("describe it in a fact:\n  {fact}", fact="\n  ".join(lines))
    return InputError(
        phrase(
            "nothing is known about `{name}` at {commit}", name=reference.name, commit=commit[:12]
        ),
        where=reference.where,
        why=why,
        hint=hint,
    )
