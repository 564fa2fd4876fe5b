"""What a fact says of a commit, held against the commit's own files; or why it has to be trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement

from resolver.errors import InputError
from resolver.index.git import NoSuchCommit, Repositories, UnreadRepository
from resolver.index.parse import pyproject
from resolver.index.parse.metadata import Release
from resolver.index.protocol import UnusableFile
from resolver.model import text
from resolver.model.fact import Sources
from resolver.model.message import Message, message
from resolver.model.recipe import Comment, Move, container

_FILE = "pyproject.toml"
_COMMENT = re.compile(r"(^|\s)#.*$")


def trust_in(fact: Sources, repositories: Repositories) -> Message | None:
    """Compare a fact with the files of its commit that it names. None if they say the same.

    Otherwise the reason why the fact is taken on trust: it names no file, the files state nothing statically, or the
    repository could not be read. Raises InputError if the files contradict it, or the repository lacks the commit.
    """
    stated: dict[str, set[str]] = {}
    silent = not fact.requires_from
    try:
        if not fact.requires_from:
            repositories.require(fact.git, fact.commit)
        _require_submodules(fact, repositories)
        for path in fact.requires_from:
            lines = _lines(fact, path, repositories)
            if lines is None:
                silent = True
            else:
                stated[path] = lines
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, fact.where) from None
    except UnreadRepository:
        read = bool(fact.requires_from or fact.recipe.submodules)
        return message("trust.not-read" if read else "trust.not-compared", fact=fact.id)
    if not stated:
        return message("trust.not-compared", fact=fact.id)
    own = {_normal(line) for line in fact.recipe.requires}
    said = own  # as far as the files could say it: requirements files have no extras
    if not any(path.endswith(_FILE) for path in stated):
        said = {_normal(line) for line in fact.recipe.requires if not _extras(line)}
    wanted = {(line, path) for path, lines in stated.items() for line in lines}
    wanted = {(line, path) for line, path in wanted if text.requirement(line).name not in fact.recipe.drop}
    missing = sorted(f"{path} has `{line}`" for line, path in wanted if line not in own)
    said = {line for line in said if text.requirement(line).name not in fact.recipe.drop}
    extra = [] if silent else sorted(f"the fact has `{line}`" for line in said - {line for line, _ in wanted})
    if missing or extra:
        raise InputError(
            f"the fact `{fact.id}` does not match the repository",
            where=f"{fact.where} and {fact.git}@{fact.commit}",
            why="; ".join([*missing, *extra]),
            hint="correct `requires` or what `steps` change; list in `drop` what the fact leaves out on purpose",
        )
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
            raise InputError(
                f"the fact `{fact.id}` does not match the repository",
                where=f"{fact.where} and {url}@{commit}",
                why=f"its submodule `{path}` is at {found}, not {one.commit}" if found else f"`{path}` is no submodule",
                hint="correct `submodules`",
            )


def _lines(fact: Sources, path: str, repositories: Repositories) -> set[str] | None:
    """The requirements in a file, for the extras that the fact is about; None if they are not static."""
    content = _patched(fact, path, repositories)
    try:
        if path.rpartition("/")[2] == _FILE:
            found = pyproject.read(content.encode(), Release(path, fact.package, ""))
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
        match step:
            case Move() if step.after == at:
                at = step.before
            case Comment() if step.file == at:
                patterns.append(step.pattern)
            case _:
                pass
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
    for raw in content.replace("\\\n", " ").splitlines():
        line = _COMMENT.sub("", raw).strip()
        option = re.match(r"(-r|--requirement|-c|--constraint|-e|--editable)[ =]*(.*)", line)
        if option is not None:
            folder = path.rpartition("/")[0]
            if f"{folder}/{option[2]}".lstrip("/") not in fact.requires_from:
                raise UnusableFile(f"it has the line `{line}`, but `requires-from` does not include that")
        elif line and not line.startswith("-"):
            yield line


def _normal(line: str) -> str:
    need = text.requirement(line)
    return str(replace(need, extras=tuple(sorted(need.extras))))


def _extras(line: str) -> frozenset[str]:
    """The extras that a line's marker names."""
    return text.extras_named(line) or frozenset()
