"""Compare a `[[sources]]` fact, which describes a commit, with the files of the commit.

`sources` and the check of facts (`audit.fact_checks`) call this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement

from resolver.errors import InputError
from resolver.index.git import RepositoryUnreadable
from resolver.index.parse.distribution import FileRelease
from resolver.index.parse.metadata import read_pyproject
from resolver.index.protocol import UnusableFile
from resolver.index.repositories import NoSuchCommit, Repositories
from resolver.model import text
from resolver.model.fact import Sources
from resolver.model.message import Message, message
from resolver.model.repository import container
from resolver.phrase import Phrase, cause, listed, literal, phrase

_PYPROJECT = "pyproject.toml"


def why_unverified(fact: Sources, repositories: Repositories) -> Message | None:
    """Return why a fact could not be compared with its commit; None if it was, and they agree.

    The requirements of the fact are compared with the files that its `requires-from` names, and its
    submodules with the repository. The comparison is not possible if the fact names no file, if the
    files have no static requirements, or if the repository cannot be read. Raises InputError if
    fact and commit differ, or if the repository lacks the commit.
    """
    try:
        if not fact.requires_from:
            repositories.fetched(fact.git, fact.commit)
        _require_submodules(fact, repositories)
        lines_by_path: dict[str, set[str]] = {}
        for path in fact.requires_from:
            lines = _lines(fact, path, repositories)
            if lines is not None:
                lines_by_path[path] = lines
    except NoSuchCommit as error:
        raise NoSuchCommit(error.url, error.commit, fact.where) from None
    except RepositoryUnreadable:
        has_files = bool(fact.requires_from or fact.recipe.submodules)
        return message("trust.not-read" if has_files else "trust.not-compared", fact=fact.id)
    if not lines_by_path:
        return message("trust.not-compared", fact=fact.id)
    differences = _differences(fact, lines_by_path)
    if differences:
        raise _mismatch(
            fact,
            f"{fact.git}@{fact.commit}",
            differences,
            phrase(
                "correct `requires` or what `steps` change; list in `drop` what the fact "
                "leaves out on purpose"
            ),
        )
    return None


def _differences(fact: Sources, lines_by_path: Mapping[str, set[str]]) -> Phrase:
    """Return a list of the requirements in which a fact and the files differ; empty without any.

    `lines_by_path` has the requirements in each file that could be read.
    """
    lines_of_fact = {_normal(line): line for line in fact.recipe.requires}
    only_in_files: list[tuple[str, str]] = []
    found: set[str] = set()
    for path, lines in lines_by_path.items():
        for line in lines:
            if _is_dropped(line, fact):
                continue
            found.add(line)
            if line not in lines_of_fact:
                only_in_files.append((path, line))
    only_in_fact: list[str] = []
    is_complete = len(lines_by_path) == len(set(fact.requires_from))
    if is_complete:
        # A requirements file does not name extras, so those of the fact cannot be in it.
        names_extras = any(path.endswith(_PYPROJECT) for path in lines_by_path)
        for line, written_line in lines_of_fact.items():
            if line in found or _is_dropped(line, fact):
                continue
            if names_extras or not _extras(written_line):
                only_in_fact.append(line)
    differences = [
        phrase("{path} has `{line}`", path=path, line=line) for path, line in sorted(only_in_files)
    ]
    differences += [phrase("the fact has `{line}`", line=line) for line in sorted(only_in_fact)]
    return listed(differences)


def _require_submodules(fact: Sources, repositories: Repositories) -> None:
    """Require that the repository has each submodule at the commit that the fact states.

    A submodule may be in another submodule; then it is looked up in the repository of that one.
    Raises InputError if one is at another commit.
    """
    places = {
        submodule.path: (submodule.git, submodule.commit) for submodule in fact.recipe.submodules
    }
    for submodule in fact.recipe.submodules:
        parent = container(submodule.path, places)
        url, commit = places.get(parent, (fact.git, fact.commit))
        path = submodule.path[len(parent) :].lstrip("/")
        actual = repositories.submodule(url, commit, path)
        if actual == submodule.commit:
            continue
        why = phrase("`{path}` is no submodule", path=path)
        if actual:
            why = phrase(
                "its submodule `{path}` is at {actual}, not {commit}",
                path=path,
                actual=actual,
                commit=submodule.commit,
            )
        raise _mismatch(fact, f"{url}@{commit}", why, phrase("correct `submodules`"))


def _mismatch(fact: Sources, place: str, why: Phrase, hint: Phrase) -> InputError:
    """Return the error for a fact that contradicts a repository; `place` is address and commit."""
    return InputError(
        phrase("the fact `{fact}` does not match the repository", fact=fact.id),
        where=phrase("{fact} and {place}", fact=fact.where, place=place),
        why=why,
        hint=hint,
    )


def _is_dropped(line: str, fact: Sources) -> bool:
    """Return whether a fact leaves out a requirement on purpose: its `drop` names the project."""
    return text.requirement(line).name in fact.recipe.drop


def _lines(fact: Sources, path: str, repositories: Repositories) -> set[str] | None:
    """Return the normalized requirements in a file of a fact's commit, after the fact's steps.

    None if they are not static, or the file is of an unknown format. Raises InputError if the file
    is missing or invalid, RepositoryUnreadable, and NoSuchCommit.
    """
    content = _patched(fact, path, repositories)
    try:
        if path.rpartition("/")[2] == _PYPROJECT:
            return _pyproject_lines(fact, path, content)
        if path.endswith((".txt", ".in")):
            return {_normal(line) for line in _file_requirements(fact, path, content)}
        return None
    except (UnusableFile, InvalidRequirement) as error:
        raise InputError(
            phrase(
                "`{path}` at the commit of the fact `{fact}` cannot be read",
                path=path,
                fact=fact.id,
            ),
            where=phrase("{fact} and {place}", fact=fact.where, place=f"{fact.git}@{fact.commit}"),
            why=cause(error),
            hint=phrase(
                "name in `requires-from` the files that list the requirements, with those that "
                "they include"
            ),
        ) from None


def _pyproject_lines(fact: Sources, path: str, content: str) -> set[str] | None:
    """Return the normalized requirements in a pyproject.toml; None if they are not static.

    Requirements of extras that the fact does not mention are left out. Raises UnusableFile if the
    file is invalid.
    """
    pyproject = read_pyproject(content.encode(), FileRelease(path, fact.package, ""))
    if pyproject.metadata is None:
        return None
    extras_of_fact = set(text.all_extras(fact.recipe.requires))
    lines = set()
    for line in pyproject.metadata.requires_dist:
        if _extras(line) <= extras_of_fact:
            lines.add(_normal(line))
    return lines


def _patched(fact: Sources, path: str, repositories: Repositories) -> str:
    """Return the text of a file of the commit, changed as the fact's `steps` change it.

    A step can move the file to `path`, or comment out lines of it. Raises InputError if the file
    does not exist, or if a step comments out no line.
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
            phrase("the commit has no file `{path}`", path=path),
            where=fact.where,
            why=literal(f"{fact.git}@{fact.commit}"),
            hint=phrase("correct the path in `requires-from` or in `steps`"),
        )
    lines = content.decode("utf-8", "replace").splitlines()
    for pattern in reversed(patterns):
        commented = [f"# {line}" if re.search(pattern, line) else line for line in lines]
        if commented == lines:
            raise InputError(
                phrase("no line of `{path}` matches `{pattern}`", path=path, pattern=pattern),
                where=fact.where,
                why=literal(f"{fact.git}@{fact.commit}"),
                hint=phrase(
                    "correct `comment` in `steps`, a regular expression for the lines to comment "
                    "out"
                ),
            )
        lines = commented
    return "\n".join(lines)


def _file_requirements(fact: Sources, path: str, content: str) -> Iterator[str]:
    """Yield the requirements in a requirements file (pip's format).

    Raises UnusableFile if it includes another file that the fact's `requires-from` does not name.
    """
    folder = path.rpartition("/")[0]
    for _, line in text.file_lines(content):
        option, name = text.file_option(line)
        if option:
            if f"{folder}/{name}".lstrip("/") not in fact.requires_from:
                raise UnusableFile(
                    f"it has the line `{line}`, but `requires-from` does not include that"
                )
        elif not line.startswith("-"):
            yield line


def _normal(line: str) -> str:
    """Return a requirement in a normal form, so that equal requirements are equal texts.

    Its extras are sorted.
    """
    need = text.requirement(line)
    return str(replace(need, extras=tuple(sorted(need.extras))))


def _extras(line: str) -> frozenset[str]:
    """Return the extras that the marker of a requirement names; none if they are not clear."""
    return text.extras_in_marker(line) or frozenset()
