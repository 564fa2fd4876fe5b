"""Write report.md and its translations: what a reviewer reads before a lock is merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from resolver.i18n import LANGUAGES, translate
from resolver.model.lock import (
    Lock,
    LockedExport,
    LockedFact,
    LockedGit,
    LockedPin,
)
from resolver.model.message import Message, joined, message, verbatim
from resolver.model.problem import Departure
from resolver.model.repository import Step
from resolver.model.text import Language
from resolver.report.as_of import as_of_sentences
from resolver.report.document import Block, Heading, Item, Items, Paragraph, Span, Table, Text, line
from resolver.report.explanation.sentences import reason_of
from resolver.report.markup import markdown_text
from resolver.report.requirements import stage_title
from resolver.report.summary import before_and_now

# How many reasons of a pin are listed.
_WHY = 3


def reports(lock: Lock) -> dict[str, str]:
    """Return the report in each language: file name -> text."""
    return {_name(language): report(lock, language) for language in LANGUAGES}


def _name(language: Language) -> str:
    """Return the file name of the report in a language."""
    return "report.md" if language == "en" else f"report.{language}.md"


def report(lock: Lock, language: Language = "en") -> str:
    """Return the text of the report in a language. Texts without a translation stay English."""
    title = verbatim(lock.stack)
    if lock.summary:
        summary = verbatim(lock.summary, lock.summary_zh)
        title = message("report.title", stack=lock.stack, summary=summary)
    others = [other for other in LANGUAGES if other != language]
    links = [(Span(translate("language", other), _name(other)),) for other in others]
    document: list[Block] = [Heading(title, level=1), Paragraph(tuple(links))]
    document += [Paragraph((line(sentence),)) for sentence in _head(lock)]
    document += _sections(lock)
    document.append(Paragraph((line(message("report.inputs", digest=lock.inputs)),)))
    return markdown_text(document, language)


def _section(
    title: Message,
    paragraphs: Sequence[Message] = (),
    items: Sequence[Message] = (),
    columns: Sequence[str] = (),
    rows: Sequence[Sequence[Text]] = (),
) -> Iterator[Block]:
    """Yield a heading with paragraphs, a list and a table below it.

    `columns` are the codes of the columns' names, without `report.column-`. Nothing is yielded if
    there is no content, or if there are columns and no row.
    """
    has_content = items or rows or (paragraphs and not columns)
    if not has_content:
        return
    yield Heading(title)
    yield from (Paragraph((line(sentence),)) for sentence in paragraphs)
    if items:
        yield Items(tuple(Item(lines=(line(item),)) for item in items))
    if rows:
        head = tuple(message(f"report.column-{name}") for name in columns)
        yield Table(head, tuple(map(tuple, rows)))


def _head(lock: Lock) -> Iterator[Message]:
    """Yield the first sentences of the report: the target, the day and the size of the lock."""
    target = lock.target
    components: list[Text] = [message("report.oldest", name="glibc", version=target.glibc)]
    for component in target.components:
        title = verbatim(component.title, component.title_zh)
        code = "report.oldest" if component.minimum else "report.component"
        components.append(message(code, name=title, version=target.system[component.name]))
    yield message(
        "report.target",
        platform=target.platform,
        python=target.python,
        system=joined("conflict.clause", components),
    )
    if lock.source:
        yield message("report.instead", source=lock.source)
    yield from as_of_sentences(lock)
    built = sum(pin.mode != "wheels" for pin in lock.pin)
    has_sources = any(pin.git is not None for pin in lock.pin)
    yield message(
        "report.size",
        pins=message("stage.distributions", count=len(lock.pin)),
        stages=message("cli.stages", count=len(lock.stage)),
        wheels=message("report.wheels", count=len(lock.pin) - built),
        builds=message("report.builds", count=built),
        git=message("report.by-commit") if has_sources else "",
    )
    needs = []
    for need, names in lock.external().items():
        what = message(f"machine.{need}")
        needs.append(message("report.external-for", what=what, names=joined("comma", names)))
    if needs:
        yield message("report.external", needs=joined("semicolon", needs))


def _sections(lock: Lock) -> Iterator[Block]:
    """Yield the sections of the report that have content."""
    yield from _section(message("report.warnings"), items=lock.all_warnings)
    yield from _section(message("report.notes"), items=lock.notes)
    yield from _section(
        message("report.git"),
        [message("report.git-said")],
        columns=("project", "repository-commit", "what-is-done-in-it", "its-requirements-were"),
        rows=[_source(pin, pin.git) for pin in lock.pin if pin.git is not None],
    )
    yield from _section(
        message("report.absent"),
        [message("report.absent-said")],
        columns=("project", "why", "according-to"),
        rows=[(row.name, reason_of(row), row.because) for row in lock.absent],
    )
    yield from _changes(lock)
    yield from _section(
        message("report.departs"),
        columns=("guide", "here", "why"),
        rows=[_departure(row) for row in lock.departs],
    )
    yield from _section(
        message("report.overrides"),
        columns=("project", "requirement-removed", "by"),
        rows=[(f"{row.package} {row.version}", row.dropped, row.fact) for row in lock.override],
    )
    reasons = lock.reasons()
    for number, stage in enumerate(lock.stage, 1):
        title = message("report.stage", number=number, title=stage_title(lock, stage))
        yield from _pins(lock, title, lock.pins_of(stage), reasons, items=stage.because)
    for tools in lock.build_environments():
        names = tools[0].builds
        title = message("report.apart-for", names=names) if names else message("report.apart")
        said = [message("report.apart-said")]
        yield from _pins(lock, title, tools, lock.reasons(tools), paragraphs=said)
    yield from _section(
        message("report.exports"),
        [message("report.exports-said")],
        columns=("variable", "value", "how", "why"),
        rows=[_export(lock, row) for row in lock.export],
    )
    yield from _section(
        message("report.facts"),
        columns=("fact", "strength", "reason", "source"),
        rows=[_fact(row) for row in lock.fact],
    )


def _changes(lock: Lock) -> Iterator[Block]:
    """Yield the section with the changes since the previous lock."""
    title = message("report.changes")
    if lock.first:
        return _section(title, [message("report.first")])
    if not lock.change:
        return _section(title, [message("report.no-change")])
    rows = [(row.name, *before_and_now(row)) for row in lock.change]
    return _section(title, columns=("project", "before", "now"), rows=rows)


def _departure(departure: Departure) -> Sequence[Text]:
    """Return the departure about a place where the stack departs from a guide."""
    guide = verbatim(departure.guide, departure.guide_zh)
    here = verbatim(departure.here, departure.here_zh)
    return guide, here, verbatim(departure.reason, departure.reason_zh)


def _export(lock: Lock, export: LockedExport) -> Sequence[Text]:
    """Return the export about an environment variable."""
    how = message("report.optional" if export.optional else "report.set")
    reasons = [reason_of(fact) for fact in lock.facts_of(export)]
    return export.name, export.value, how, joined("report.space", reasons)


def _fact(fact: LockedFact) -> Sequence[Text]:
    """Return the row about a fact."""
    name = message("report.cited", what=fact.id, where=fact.where)
    strength = message(f"strength.{fact.strength}")
    source = message("report.checked", what=fact.source, date=fact.checked)
    return name, strength, reason_of(fact), source


def _source(pin: LockedPin, git: LockedGit) -> Sequence[Text]:
    """Return the row about a pin from git."""
    address = f"{git.url}, {git.commit}"
    if git.ref:
        address += f" ({git.ref})"
    trust = message("report.on-trust" if git.trust else "report.at-commit")
    return f"{pin.name} {pin.version}", address, joined("semicolon", treatment(git)), trust


def treatment(git: LockedGit) -> list[Message]:
    """Return what is done to a checkout before it is built, and with the result, as phrases."""
    phrases = []
    for submodule in git.submodules:
        place = f"{submodule.url}, {submodule.commit}"
        phrases.append(message("report.submodule", path=submodule.path, place=place))
    phrases += map(_step, git.steps)
    if git.editable:
        phrases.append(message("report.editable"))
    if git.rewrites:
        phrases.append(message("report.rewrites", names=joined("comma", git.rewrites)))
    return phrases


def _step(step: Step) -> Message:
    """Return what one step of a build does."""
    if step.move:
        return message("report.moves", move=step.move, to=step.to)
    if step.comment:
        return message("report.comments", path=step.in_, comment=step.comment)
    code = "report.makes" if step.wheels else "report.runs"
    return message(code, command=" ".join(step.run), wheels=step.wheels)


def _pins(
    lock: Lock,
    title: Message,
    pins: Sequence[LockedPin],
    reasons: Mapping[str, Sequence[Message]],
    paragraphs: Sequence[Message] = (),
    items: Sequence[Message] = (),
) -> Iterator[Block]:
    """Yield a section about pins: how each is installed, and the first reasons for it."""
    columns = ["project", "version", "how", "why"]
    has_several_indexes = len(lock.index) > 1
    if has_several_indexes:
        columns.insert(3, "index")
    rows: list[Sequence[Text]] = []
    for pin in pins:
        name = f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else pin.name
        mode = f"git-mode-{pin.mode}" if pin.git is not None else f"mode-{pin.mode}"
        row: list[Text] = [name, pin.version, message(f"report.{mode}")]
        if has_several_indexes:
            row.append(pin.index)
        why = reasons.get(pin.name, ())
        text = joined("semicolon", why[:_WHY])
        if len(why) > _WHY:
            text = message("report.why-more", why=text, count=len(why) - _WHY)
        rows.append([*row, text])
    return _section(title, paragraphs, items, columns, rows)
