"""`report.md`, and `report.zh.md` and the like: what a reviewer reads before a lock is merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from resolver.i18n import LANGUAGES, translate
from resolver.model.lock import Lock, LockedAbsent, LockedFact, LockedGit, LockedPin
from resolver.model.message import Message, joined, message, text
from resolver.model.repository import Step
from resolver.model.text import Language
from resolver.report.document import Block, Heading, Item, Items, Paragraph, Span, Table, Text, line
from resolver.report.markdown import markdown_text
from resolver.report.requirements import stage_title

_SYSTEM = {"cann": "CANN", "hdk": "HDK", "soc": "SoC"}
_WHY = 3  # reasons of a pin that are told


class _Section(NamedTuple):
    """A heading; below it sentences, then a list or a table whose columns are named by the ends of codes."""

    title: Message
    said: Sequence[Message] = ()
    items: Sequence[Message] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Text]] = ()


def reports(lock: Lock) -> dict[str, str]:
    """File name -> text, in each language."""
    return {_name(language): report(lock, language) for language in LANGUAGES}


def _name(language: Language) -> str:
    return "report.md" if language == "en" else f"report.{language}.md"


def report(lock: Lock, language: Language = "en") -> str:
    """The text of the report in a language; texts without Chinese stay English."""
    title = message("report.title", stack=lock.stack, summary=text(lock.summary, lock.summary_zh))
    others = tuple((Span(translate("language", one), _name(one)),) for one in LANGUAGES if one != language)
    head = [Paragraph(others), *(Paragraph((line(one),)) for one in _head(lock))]
    sections = [block for section in _sections(lock) for block in _blocks(section)]
    inputs = Paragraph((line(message("report.inputs", digest=lock.inputs)),))
    return markdown_text([Heading(title, level=1), *head, *sections, inputs], language)


def _blocks(section: _Section) -> Iterator[Block]:
    """The section; nothing if it has nothing below its heading."""
    if not section.items and not section.rows and (section.columns or not section.said):
        return
    yield Heading(section.title)
    yield from (Paragraph((line(sentence),)) for sentence in section.said)
    if section.items:
        yield Items(tuple(Item(lines=(line(item),)) for item in section.items))
    if section.rows:
        head = tuple(message(f"report.column-{name}") for name in section.columns)
        yield Table(head, tuple(map(tuple, section.rows)))


def _head(lock: Lock) -> Iterator[Message]:
    target = lock.target
    system: list[Text] = [message("report.oldest", name="glibc", version=target.glibc)]
    for key, value in target.system.items():
        name = _SYSTEM.get(key, key)
        system.append(message("report.oldest", name=name, version=value) if key == "hdk" else f"{name} {value}")
    told = joined("conflict.clause", system)
    yield message("report.target", platform=target.platform, python=target.python, system=told)
    if lock.source:
        yield message("report.instead", source=lock.source)
    built = sum(pin.mode != "wheels" for pin in lock.pin)
    yield message(
        "report.size",
        pins=message("report.pins", count=len(lock.pin)),
        stages=message("cli.stages", count=len(lock.stage)),
        wheels=message("report.wheels", count=len(lock.pin) - built),
        builds=message("report.builds", count=built),
        git=message("report.by-commit") if any(pin.git for pin in lock.pin) else "",
    )
    needs = [
        message("report.external-for", what=message(f"machine.{need}"), names=joined("comma", names))
        for need, names in lock.external().items()
    ]
    if needs:
        yield message("report.external", needs=joined("semicolon", needs))


def _sections(lock: Lock) -> Iterator[_Section]:
    yield _Section(message("report.warnings"), items=lock.all_warnings)
    yield _Section(message("report.notes"), items=lock.notes)
    yield _Section(
        message("report.git"),
        [message("report.git-said")],
        columns=("project", "repository-commit", "what-is-done-in-it", "its-requirements-were"),
        rows=[_source(pin, pin.git) for pin in lock.pin if pin.git is not None],
    )
    yield _Section(
        message("report.absent"),
        [message("report.absent-said")],
        columns=("project", "why", "according-to"),
        rows=[(row.name, _reason(row), row.because) for row in lock.absent],
    )
    changes, came, gone = map(message, ("report.changes", "report.came", "report.gone"))
    if lock.first or not lock.change:
        yield _Section(changes, [message("report.first" if lock.first else "report.no-change")])
    else:
        rows = [(row.name, row.old or came, row.new or gone) for row in lock.change]
        yield _Section(changes, columns=("project", "before", "now"), rows=rows)
    yield _Section(
        message("report.departs"),
        columns=("guide", "here", "why"),
        rows=[
            (text(row.guide, row.guide_zh), text(row.here, row.here_zh), text(row.reason, row.reason_zh))
            for row in lock.departs
        ],
    )
    yield _Section(
        message("report.overrides"),
        columns=("project", "requirement-removed", "by"),
        rows=[(f"{row.package} {row.version}", row.dropped, row.fact) for row in lock.override],
    )
    for number, stage in enumerate(lock.stage, 1):
        title = message("report.stage", number=number, title=stage_title(lock, stage))
        yield _pins(lock, lock.pins_of(stage), lock.reasons(), _Section(title, items=stage.because))
    for pins in lock.environments():
        names = pins[0].builds
        title = message("report.apart-for", names=names) if names else message("report.apart")
        yield _pins(lock, pins, lock.reasons(pins), _Section(title, [message("report.apart-said")]))
    yield _Section(
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
    yield _Section(
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
    done = [message("report.submodule", path=one.path, place=f"{one.url}, {one.commit}") for one in git.submodules]
    done += map(_step, git.steps)
    done += [message("report.editable")] if git.editable else []
    return [*done, message("report.rewrites", names=joined("comma", git.rewrites))] if git.rewrites else done


def _step(step: Step) -> Message:
    if step.move:
        return message("report.moves", move=step.move, to=step.to)
    if step.comment:
        return message("report.comments", path=step.in_, comment=step.comment)
    code = "report.makes" if step.wheels else "report.runs"
    return message(code, command=" ".join(step.run), wheels=step.wheels)


def _pins(
    lock: Lock, pins: Sequence[LockedPin], reasons: Mapping[str, Sequence[Message]], section: _Section
) -> _Section:
    """The section with a table of pins; their indexes are named if the lock has several."""
    several = len(lock.index) > 1
    rows: list[Sequence[Text]] = []
    for pin in pins:
        name = f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else pin.name
        how = message(f"report.{'git-' if pin.git is not None else ''}mode-{pin.mode}")
        why = reasons.get(pin.name, ())
        told = joined("semicolon", why[:_WHY])
        told = message("report.why-more", why=told, count=len(why) - _WHY) if len(why) > _WHY else told
        rows.append((name, pin.version, how, *([pin.index] if several else []), told))
    return section._replace(columns=("project", "version", "how", *(["index"] if several else []), "why"), rows=rows)


def _reason(row: LockedFact | LockedAbsent) -> Message:
    return text(row.reason, row.reason_zh)
