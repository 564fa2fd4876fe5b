"""`report.md`, and `report.zh.md` and the like: what a reviewer reads before a lock is merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from resolver.i18n import LANGUAGES, translate
from resolver.model.lock import Lock, LockedAbsent, LockedFact, LockedGit, LockedPin
from resolver.model.message import Message, joined, message, verbatim
from resolver.model.repository import Step
from resolver.model.target import component_name
from resolver.model.text import Language
from resolver.report.as_of import as_of_sentences
from resolver.report.document import Block, Heading, Item, Items, Paragraph, Span, Table, Text, line
from resolver.report.markup import markdown_text
from resolver.report.requirements import stage_title

_WHY = 3  # reasons of a pin that are listed


def reports(lock: Lock) -> dict[str, str]:
    """File name -> text, in each language."""
    return {_name(language): report(lock, language) for language in LANGUAGES}


def _name(language: Language) -> str:
    return "report.md" if language == "en" else f"report.{language}.md"


def report(lock: Lock, language: Language = "en") -> str:
    """The text of the report in a language; texts without Chinese stay English."""
    summary = verbatim(lock.summary, lock.summary_zh)
    title = (
        message("report.title", stack=lock.stack, summary=summary)
        if lock.summary
        else verbatim(lock.stack)
    )
    languages = tuple(
        (Span(translate("language", other), _name(other)),)
        for other in LANGUAGES
        if other != language
    )
    head = [Paragraph(languages), *(Paragraph((line(sentence),)) for sentence in _head(lock))]
    inputs = Paragraph((line(message("report.inputs", digest=lock.inputs)),))
    return markdown_text([Heading(title, level=1), *head, *_sections(lock), inputs], language)


def _section(
    title: Message,
    paragraphs: Sequence[Message] = (),
    items: Sequence[Message] = (),
    columns: Sequence[str] = (),
    rows: Sequence[Sequence[Text]] = (),
) -> Iterator[Block]:
    """A heading, paragraphs, and a list or a table, whose columns are named by the ends of codes; nothing if empty."""
    if not items and not rows and (columns or not paragraphs):
        return
    yield Heading(title)
    yield from (Paragraph((line(sentence),)) for sentence in paragraphs)
    if items:
        yield Items(tuple(Item(lines=(line(item),)) for item in items))
    if rows:
        yield Table(
            tuple(message(f"report.column-{name}") for name in columns), tuple(map(tuple, rows))
        )


def _head(lock: Lock) -> Iterator[Message]:
    target = lock.target
    system: list[Text] = [message("report.oldest", name="glibc", version=target.glibc)]
    for key, value in target.system.items():
        name = component_name(key)
        system.append(
            message("report.oldest", name=name, version=value)
            if key == "hdk"
            else f"{name} {value}"
        )
    components = joined("conflict.clause", system)
    yield message(
        "report.target", platform=target.platform, python=target.python, system=components
    )
    if lock.source:
        yield message("report.instead", source=lock.source)
    yield from as_of_sentences(lock)
    built = sum(pin.mode != "wheels" for pin in lock.pin)
    yield message(
        "report.size",
        pins=message("stage.distributions", count=len(lock.pin)),
        stages=message("cli.stages", count=len(lock.stage)),
        wheels=message("report.wheels", count=len(lock.pin) - built),
        builds=message("report.builds", count=built),
        git=message("report.by-commit") if any(pin.git for pin in lock.pin) else "",
    )
    needs = [
        message(
            "report.external-for", what=message(f"machine.{need}"), names=joined("comma", names)
        )
        for need, names in lock.external().items()
    ]
    if needs:
        yield message("report.external", needs=joined("semicolon", needs))


def _sections(lock: Lock) -> Iterator[Block]:
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
        rows=[(row.name, _reason(row), row.because) for row in lock.absent],
    )
    changes, added, removed = map(message, ("report.changes", "report.came", "report.gone"))
    if lock.first or not lock.change:
        yield from _section(
            changes, [message("report.first" if lock.first else "report.no-change")]
        )
    else:
        rows = [(row.name, row.old or added, row.new or removed) for row in lock.change]
        yield from _section(changes, columns=("project", "before", "now"), rows=rows)
    yield from _section(
        message("report.departs"),
        columns=("guide", "here", "why"),
        rows=[
            (
                verbatim(row.guide, row.guide_zh),
                verbatim(row.here, row.here_zh),
                verbatim(row.reason, row.reason_zh),
            )
            for row in lock.departs
        ],
    )
    yield from _section(
        message("report.overrides"),
        columns=("project", "requirement-removed", "by"),
        rows=[(f"{row.package} {row.version}", row.dropped, row.fact) for row in lock.override],
    )
    for number, stage in enumerate(lock.stage, 1):
        title = message("report.stage", number=number, title=stage_title(lock, stage))
        yield from _pins(lock, title, lock.pins_of(stage), lock.reasons(), items=stage.because)
    for pins in lock.build_environments():
        names = pins[0].builds
        title = message("report.apart-for", names=names) if names else message("report.apart")
        yield from _pins(
            lock, title, pins, lock.reasons(pins), paragraphs=[message("report.apart-said")]
        )
    yield from _section(
        message("report.exports"),
        [message("report.exports-said")],
        columns=("variable", "value", "how", "why"),
        rows=[
            (
                row.name,
                row.value,
                message("report.optional" if row.optional else "report.set"),
                joined("report.space", [_reason(fact) for fact in lock.facts_of(row)]),
            )
            for row in lock.export
        ],
    )
    yield from _section(
        message("report.facts"),
        columns=("fact", "strength", "reason", "source"),
        rows=[
            (
                message("report.cited", what=row.id, where=row.where),
                message(f"strength.{row.strength}"),
                _reason(row),
                message("report.checked", what=row.source, date=row.checked),
            )
            for row in lock.fact
        ],
    )


def _source(pin: LockedPin, git: LockedGit) -> Sequence[Text]:
    place = f"{git.url}, {git.commit}" + (f" ({git.ref})" if git.ref else "")
    trust = message("report.on-trust" if git.trust else "report.at-commit")
    return f"{pin.name} {pin.version}", place, joined("semicolon", treatment(git)), trust


def treatment(git: LockedGit) -> list[Message]:
    """What is done to and with a checkout, a phrase each."""
    phrases = [
        message("report.submodule", path=sub.path, place=f"{sub.url}, {sub.commit}")
        for sub in git.submodules
    ]
    phrases += map(_step, git.steps)
    phrases += [message("report.editable")] if git.editable else []
    return (
        [*phrases, message("report.rewrites", names=joined("comma", git.rewrites))]
        if git.rewrites
        else phrases
    )


def _step(step: Step) -> Message:
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
    several = len(lock.index) > 1
    rows: list[Sequence[Text]] = []
    for pin in pins:
        name = f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else pin.name
        how = message(f"report.{'git-' if pin.git is not None else ''}mode-{pin.mode}")
        why = reasons.get(pin.name, ())
        text = joined("semicolon", why[:_WHY])
        if len(why) > _WHY:
            text = message("report.why-more", why=text, count=len(why) - _WHY)
        rows.append((name, pin.version, how, *([pin.index] if several else []), text))
    columns = ("project", "version", "how", *(["index"] if several else []), "why")
    return _section(title, paragraphs, items, columns, rows)


def _reason(row: LockedFact | LockedAbsent) -> Message:
    return verbatim(row.reason, row.reason_zh)
