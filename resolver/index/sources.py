"""What a stack's direct references stand for: which commit, and what is known of the project there.

Facts say what a project needs at a commit. Where the repository can be read, the files that a fact names are
compared with it; where it cannot, the fact is taken on trust and the lock says so. Without a fact only
a static pyproject.toml will do. Nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace
from packaging.utils import NormalizedName

from resolver.errors import InputError
from resolver.index.git import NoSuchCommit, Repositories, UnreadRepository
from resolver.index.parse import pyproject
from resolver.index.parse.metadata import Release
from resolver.index.protocol import UnusableFile
from resolver.index.trust import trust_in
from resolver.model import text
from resolver.model.direct import Direct, same_repository
from resolver.model.fact import Fact, Sources
from resolver.model.problem import Ask, Problem
from resolver.model.recipe import Recipe
from resolver.model.requirement import Requirement
from resolver.model.source import Source

_FILE = "pyproject.toml"
_FEW = 3  # commits named in a hint


def settled(problems: Sequence[Problem], repositories: Repositories) -> tuple[Problem, ...]:
    """The problems with the source of each direct reference of their stack (`NAME @ git+https://…`).

    Raises InputError if nothing is known about a referenced commit, or a fact contradicts the files of its commit.
    """
    sources: dict[str, Source] = {}
    for problem in problems:
        named: dict[NormalizedName, Ask] = {}
        for ask in problem.stack.asks:
            if not isinstance(ask.need, Requirement) or not ask.need.url:
                continue
            if ask.need.url not in sources:
                sources[ask.need.url] = _source(ask, ask.need, problem.facts, repositories)
            if ask not in problem.asked(ask.need.name):
                continue
            other = named.setdefault(ask.need.name, ask)
            if isinstance(other.need, Requirement) and other.need.url != ask.need.url:
                raise InputError(
                    f"the stack takes `{ask.need.name}` from two places",
                    where=ask.origin.where,
                    why=f"the other is at {other.origin.where}",
                    hint="remove one of the two lines",
                )
    return tuple(replace(problem, sources=sources) for problem in problems)


def _source(ask: Ask, need: Requirement, facts: Iterable[Fact], repositories: Repositories) -> Source:
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
    commit = direct.revision if direct.is_commit else _commit(ask, direct, known, about, repositories)
    known = [fact for fact in about if fact.commit == commit]
    if len(known) > 1:
        raise InputError(
            f"{len(known)} facts describe `{need.name}` there",
            where=ask.origin.where,
            why=" and ".join(fact.where for fact in known),
            hint="specify the subdirectory: …#subdirectory=PATH",
        )
    if not known:
        return _static(ask, need, direct, commit, repositories)
    fact = known[0]
    return Source(
        name=need.name,
        url=fact.git,
        commit=commit,
        ref=fact.ref or ("" if direct.is_commit or commit.startswith(direct.revision) else direct.revision),
        subdirectory=fact.subdirectory,
        recipe=fact.recipe,
        fact=fact,
        trust=trust_in(fact, repositories),
    )


def _commit(
    ask: Ask, direct: Direct, known: Sequence[Sources], about: Sequence[Sources], repositories: Repositories
) -> str:
    """The commit of a tag or abbreviated commit, according to the repository, otherwise to the only fact about it.

    `known` are the facts that may mean it, among those `about` the repository.
    """
    commits = sorted({fact.commit for fact in known})
    if len(commits) > 1:
        raise InputError(
            f"`{direct.revision}` can stand for {len(commits)} commits",
            where=ask.origin.where,
            why=" and ".join(f"{fact.commit[:12]} at {fact.where}" for fact in known),
            hint="give the full commit hash",
        )
    try:
        named = repositories.named(direct.url, direct.revision)
    except UnreadRepository as error:
        if commits:
            return commits[0]
        raise InputError(
            f"cannot determine which commit `{direct.revision}` is",
            where=ask.origin.where,
            why=f"{direct.url} could not be read ({error}), and no fact describes it",
            hint=f"give the full commit hash, or describe it in a [[sources]] fact{_others(about)}",
        ) from None
    if named is not None and named.sort == "tag":
        if commits and commits[0] != named.commit:
            raise InputError(
                f"the tag `{direct.revision}` is another commit than the fact `{known[0].id}` says",
                where=ask.origin.where,
                why=f"{direct.url} has {named.commit}, {known[0].where} has {commits[0]}",
                hint="a tag that moved is not a reliable release; find out why, then correct the fact or name the "
                "commit",
            )
        return named.commit
    if commits:
        return commits[0]
    if named is not None:
        raise InputError(
            f"`{direct.revision}` is a branch, which moves",
            where=ask.origin.where,
            hint=f"name the commit: {direct.url}@{named.commit}",
        )
    raise InputError(
        f"the repository has no tag `{direct.revision}`",
        where=ask.origin.where,
        why=direct.url,
        hint=f"give a full commit hash, or a tag{_others(about)}",
    )


def _others(about: Sequence[Sources]) -> str:
    """The commits of a repository that facts know, for somebody who named another one; only a few if there are many."""
    told = [fact.commit[:12] + (f" ({fact.ref})" if fact.ref else "") for fact in about]
    few = ", ".join(told[:_FEW]) + (", …" if len(told) > _FEW else "")
    return f"; facts know {few}" if told else ""


# --- no fact


def _static(ask: Ask, need: Requirement, direct: Direct, commit: str, repositories: Repositories) -> Source:
    """A project that its own pyproject.toml tells enough of."""
    path = f"{direct.subdirectory}/{_FILE}".lstrip("/")
    name = f"{path} of {direct.url}@{commit[:12]}"
    try:
        content = repositories.read(direct.url, commit, path)
        found = pyproject.read(content, Release(name, need.name, "")) if content is not None else None
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, ask.origin.where) from None
    except UnreadRepository as error:
        raise _unknown(ask, need, direct, commit, f"the repository could not be read: {error}") from None
    except UnusableFile as error:
        raise _unknown(ask, need, direct, commit, str(error)) from None
    if found is None:
        raise _unknown(ask, need, direct, commit, f"it has no {path}")
    metadata = found.metadata
    version = text.version(metadata.version) if metadata is not None else None
    if metadata is None or version is None:
        why = found.why_dynamic or f"its {path} has no version"
        raise _unknown(ask, need, direct, commit, why)
    build = found.build_requires if found.build_requires is not None else pyproject.LEGACY_BUILD
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
            build_requires=build,
        ),
        fact=None,
    )


def _unknown(ask: Ask, need: Requirement, direct: Direct, commit: str, why: str) -> InputError:
    rows: Mapping[str, str] = {
        "git": f'"{direct.url}"',
        "commit": f'"{commit}"',
        **({"subdirectory": f'"{direct.subdirectory}"'} if direct.subdirectory else {}),
        "version": '"…" # what its build calls itself',
        "requires": "[] # from the files that say it, which go to requires-from",
        "build-requires": '["setuptools>=64"]',
        "reason": '"…"',
    }
    told = "".join(f"\n  {key} = {value}" for key, value in rows.items())
    return InputError(
        f"nothing is known about `{need.name}` at {commit[:12]}",
        where=ask.origin.where,
        why=why,
        hint=f"describe it in a fact:\n  # matrices/facts/{need.name}.toml\n  [[sources]]{told}\n"
        '  strength = "documented"\n  source = "…"\n  checked = 2026-01-31',
    )
