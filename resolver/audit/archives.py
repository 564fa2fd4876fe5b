"""Facts about source archives compared with the archives, which are read for `index.store.readings`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.audit.offers import Offers, some
from resolver.audit.verdict import Remark, Saying
from resolver.index.parse.noted import noted_in
from resolver.index.protocol import UnusableFile
from resolver.index.store.readings import Reading, reading
from resolver.model import text
from resolver.model.fact import Builds, Fact, Metadata, Sources
from resolver.model.release import File
from resolver.model.requirement import Requirement


def built_from(fact: Builds, offers: Offers) -> Iterator[Remark]:
    """Check that every release that a fact builds has an archive, and open the newest of each set."""
    without: list[Version] = []
    newest: dict[File, None] = {}
    for versions in fact.versions:
        found = offers.matching(fact.package, versions)
        archives = [[file for file in offers.files(fact.package, one) if not file.is_wheel] for one in found]
        without += [version for version, files in zip(found, archives, strict=True) if not files]
        newest |= dict.fromkeys([files[0] for files in archives if files][:1])
    if without:
        yield Remark(Saying.NO_ARCHIVE, {"releases": f"{fact.package} {some(without)}"})
    for file in newest:
        yield from _opened(fact, file, offers)


def _opened(fact: Builds, file: File, offers: Offers) -> Iterator[Remark]:
    told = {"file": file.filename, "member": fact.requires_from}
    try:
        archive = offers.catalog.archive(file)
    except UnusableFile as error:
        yield Remark(Saying.UNREADABLE, {"release": file.filename, "why": str(error)})
        return
    try:
        offers.catalog.member(file, fact.requires_from)
    except UnusableFile:
        yield Remark(Saying.NO_MEMBER, told)
        return
    own = {need.name for need in _readable(archive.build_requires or ())}
    if idle := [name for name in fact.build_drop if name not in own]:
        yield Remark(Saying.IDLE, {"file": file.filename, "names": ", ".join(idle), "line": ""})
    else:
        yield Remark(Saying.ARCHIVE, told)


def stated(fact: Metadata, version: Version, offers: Offers) -> Iterator[Remark]:
    """What a fact says an archive requires, compared with whatever the archive says statically."""
    release = f"{fact.package} {version}"
    wheels = [file for file in offers.files(fact.package, version) if file.is_wheel]
    file = offers.file(fact.package, version) if not wheels else wheels[0]
    try:
        where, lines = _wheel(file, offers) if wheels else _archive(file, offers)
    except UnusableFile as error:
        yield Remark(Saying.UNREADABLE, {"release": release, "why": str(error)})
        return
    if lines is None:
        yield Remark(Saying.NOT_STATIC, {"file": file.filename})
        return
    own, theirs = _always(map(str, fact.requires)), _always(lines)
    if own == theirs:
        yield Remark(Saying.SAME, {"where": where})
        return
    more = sorted(own - theirs)
    less = sorted(theirs - own)
    yield Remark(Saying.DIFFERS, {"where": where, "theirs": ", ".join(less) or "-", "own": ", ".join(more) or "-"})


def _wheel(file: File, offers: Offers) -> tuple[str, tuple[str, ...]]:
    return file.filename, offers.catalog.metadata(file).requires_dist


def _archive(file: File, offers: Offers) -> tuple[str, tuple[str, ...] | None]:
    """The requirements of an archive: static ones, otherwise those that it notes (see `noted`)."""
    archive = offers.catalog.archive(file)
    if archive.metadata is not None:
        return file.filename, archive.metadata.requires_dist
    noted = noted_in(file, offers.catalog)
    return (file.filename, None) if noted is None else (noted.where, noted.lines)


def _always(lines: Iterable[str]) -> frozenset[str]:
    """The requirements without those of extras, normalized."""
    return frozenset(str(need) for need in _readable(lines) if "extra" not in text.marker_text(need.marker))


def _readable(lines: Iterable[str]) -> Iterator[Requirement]:
    for line in lines:
        with suppress(InvalidRequirement):
            yield text.requirement(line)


def archives_of(project: NormalizedName, facts: Sequence[Fact], offers: Offers) -> Iterator[tuple[File, list[str]]]:
    """The archives that locking reads because of these facts, newest first, each with the members that it reads.

    These are the archives of releases that a `builds` or `metadata` fact is about; for any other fact only if all
    its releases are archives. Raises IndexFailure.
    """
    paths: dict[Version, list[str]] = {}
    for fact in facts:
        if fact.package != project or isinstance(fact, Sources):
            continue
        found = {version for versions in fact.versions for version in offers.matching(project, versions)}
        wheels = any(file.is_wheel for version in found for file in offers.files(project, version))
        if isinstance(fact, Builds | Metadata) or not wheels:
            for version in found:
                paths.setdefault(version, []).extend([fact.requires_from] if isinstance(fact, Builds) else [])
    for version in sorted(paths, reverse=True):
        for file in offers.files(project, version):
            if not file.is_wheel and file.sha256:
                yield file, paths[version]


def read_all(
    found: Sequence[tuple[File, list[str]]], known: Iterable[Reading], offers: Offers, tell: Callable[[str], None]
) -> Iterator[Reading]:
    """The contents of each archive. Those `known` are not read again; unreadable ones are left out.

    `tell` is called for each one that is read. Raises IndexFailure.
    """
    rows = {row.sha256: row for row in known}
    for file, paths in found:
        row = rows.get(file.sha256)
        if row is not None and row.file == file.filename and set(paths) <= row.texts.keys():
            yield row
            continue
        tell(file.filename)
        try:
            archive = offers.catalog.archive(file)
            texts = {path: offers.catalog.member(file, path) for path in paths}
        except UnusableFile:
            continue  # reported when locking
        yield reading(file, archive, texts)
