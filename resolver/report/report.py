"""`report.md` and `report.zh.md`: what a reviewer reads before a lock is merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from resolver.i18n import listed, translate
from resolver.model.lock import Lock, LockedAbsent, LockedFact, LockedGit, LockedPin
from resolver.model.message import Message
from resolver.model.repository import Step
from resolver.model.text import Language
from resolver.report.requirements import stage_title
from resolver.report.text import markdown, one_line

FILE = "report.md"
CHINESE_FILE = "report.zh.md"
_SYSTEM = {"cann": "CANN", "hdk": "HDK", "soc": "SoC"}


def report(lock: Lock, language: Language = "en") -> str:
    """The text of the report in a language; texts without Chinese stay English."""
    return "\n\n".join(_blocks(lock, language)) + "\n"


def _blocks(lock: Lock, language: Language) -> Iterator[str]:
    yield from _head(lock, language)
    yield from _list("report.warnings", lock.all_warnings, language)
    yield from _list("report.notes", lock.notes, language)
    yield from _section(
        "report.git",
        "report.git-said",
        ("project", "repository-commit", "what-is-done-in-it", "its-requirements-were"),
        _sources(lock, language),
        language,
    )
    yield from _section(
        "report.absent", "report.absent-said", ("project", "why", "according-to"), _absent(lock, language), language
    )
    yield from _changes(lock, language)
    yield from _section("report.departs", None, ("guide", "here", "why"), _departures(lock, language), language)
    yield from _section("report.overrides", None, ("project", "requirement-removed", "by"), _overrides(lock), language)
    reasons = lock.reasons()
    for number, stage in enumerate(lock.stage, 1):
        title = stage_title(lock, stage, language)
        yield f"## {translate('report.stage', language, number=number, title=markdown(title))}"
        if stage.because:
            yield "\n".join(f"- {markdown(translate(reason, language))}" for reason in stage.because)
        yield _pins(lock, lock.pins_of(stage), reasons, language)
    for pins in lock.environments():
        names = [markdown(name) for name in pins[0].builds]
        apart = (
            translate("report.apart-for", language, names=listed(names, language))
            if names
            else translate("report.apart", language)
        )
        yield f"## {apart}"
        yield translate("report.apart-said", language)
        yield _pins(lock, pins, lock.reasons(pins), language)
    yield from _section(
        "report.exports", "report.exports-said", ("variable", "value", "how", "why"), _exports(lock, language), language
    )
    yield from _section(
        "report.facts", None, ("fact", "strength", "reason", "source"), _facts(lock, language), language
    )
    yield translate("report.inputs", language, digest=lock.inputs)


def _head(lock: Lock, language: Language) -> Iterator[str]:
    target = lock.target
    system = "".join(
        translate(
            "report.oldest" if key == "hdk" else "report.component", language, name=_SYSTEM.get(key, key), version=value
        )
        for key, value in target.system.items()
    )
    summary = (lock.summary_zh if language == "zh" else "") or lock.summary
    yield translate("report.title", language, stack=markdown(lock.stack), summary=markdown(summary))
    yield translate("report.other", language)
    where = translate(
        "report.target", language, platform=target.platform, python=target.python, glibc=target.glibc, system=system
    )
    instead = translate("report.instead", language, source=markdown(lock.source)) if lock.source else ""
    built = sum(pin.mode != "wheels" for pin in lock.pin)
    size = translate(
        "report.size",
        language,
        pins=translate("report.pins", language, len(lock.pin)),
        stages=translate("cli.stages", language, len(lock.stage)),
        wheels=translate("report.wheels", language, len(lock.pin) - built),
        builds=translate("report.builds", language, built),
        git=translate("report.by-commit", language) if any(pin.git for pin in lock.pin) else "",
    )
    yield "\n".join(filter(None, (where, instead, size, _external(lock, language))))


def _external(lock: Lock, language: Language) -> str:
    needs = [
        translate(
            "report.external-for",
            language,
            what=translate(f"machine.{need}", language),
            names=translate("comma", language).join(map(markdown, names)),
        )
        for need, names in lock.external().items()
    ]
    return translate("report.external", language, needs=translate("semicolon", language).join(needs)) if needs else ""


def _list(heading: str, messages: Sequence[Message], language: Language) -> Iterator[str]:
    if messages:
        yield f"## {translate(heading, language)}"
        yield "\n".join(f"- {markdown(translate(one, language))}" for one in messages)


def _section(
    heading: str, said: str | None, head: Sequence[str], rows: Iterable[Sequence[str]], language: Language
) -> Iterator[str]:
    """A heading, perhaps a sentence, and a table; nothing if there are no rows."""
    if cells := list(rows):
        yield f"## {translate(heading, language)}"
        if said is not None:
            yield translate(said, language)
        yield _table(head, cells, language)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], language: Language) -> str:
    """Cells are Markdown already."""
    titles = _row([translate(f"report.column-{name}", language) for name in head])
    return "\n".join([titles, "|" + "---|" * len(head), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _sources(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for pin in lock.pin:
        if (git := pin.git) is not None:
            place = f"{git.url}, {git.commit}" + (f" ({git.ref})" if git.ref else "")
            done = translate("semicolon", language).join(treatment(git, language))
            trust = "report.on-trust" if git.trust else "report.at-commit"
            yield f"{pin.name} {pin.version}", markdown(place), markdown(done), translate(trust, language)


def treatment(git: LockedGit, language: Language = "en") -> list[str]:
    """What is done to and with a checkout, a phrase each."""
    done = [
        translate("report.submodule", language, path=one.path, place=f"{one.url}, {one.commit}")
        for one in git.submodules
    ]
    done += [_step(step, language) for step in git.steps]
    done += [translate("report.editable", language)] if git.editable else []
    names = translate("comma", language).join(git.rewrites)
    return [*done, translate("report.rewrites", language, names=names)] if names else done


def _step(step: Step, language: Language) -> str:
    if step.move:
        return translate("report.moves", language, move=step.move, to=step.to)
    if step.comment:
        return translate("report.comments", language, path=step.in_, comment=step.comment)
    command = " ".join(step.run)
    if step.wheels:
        return translate("report.makes", language, command=command, wheels=step.wheels)
    return translate("report.runs", language, command=command)


def _absent(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    return ((row.name, markdown(_reason(row, language)), markdown(row.because)) for row in lock.absent)


def _changes(lock: Lock, language: Language) -> Iterator[str]:
    if lock.first or not lock.change:
        yield f"## {translate('report.changes', language)}"
        yield translate("report.first", language) if lock.first else translate("report.no-change", language)
        return
    rows = (
        (
            markdown(row.name),
            markdown(row.old) or translate("report.came", language),
            markdown(row.new) or translate("report.gone", language),
        )
        for row in lock.change
    )
    yield from _section("report.changes", None, ("project", "before", "now"), rows, language)


def _departures(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for row in lock.departs:
        told = [row.guide, row.here, row.reason]
        if language == "zh":
            told = [row.guide_zh or row.guide, row.here_zh or row.here, row.reason_zh or row.reason]
        yield [markdown(cell) for cell in told]


def _overrides(lock: Lock) -> Iterator[Sequence[str]]:
    return ((f"{row.package} {row.version}", markdown(row.dropped), markdown(row.fact)) for row in lock.override)


def _pins(lock: Lock, pins: Sequence[LockedPin], reasons: Mapping[str, Sequence[Message]], language: Language) -> str:
    several = len(lock.index) > 1
    rows = []
    for pin in pins:
        name = f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else pin.name
        index = (markdown(pin.index),) if several else ()
        rows.append(
            (markdown(name), pin.version, _how(pin, language), *index, _why(reasons.get(pin.name, ()), language))
        )
    head = ("project", "version", "how", *(["index"] if several else []), "why")
    return _table(head, rows, language)


def _how(pin: LockedPin, language: Language) -> str:
    return translate(f"report.{'git-' if pin.git is not None else ''}mode-{pin.mode}", language)


def _why(reasons: Sequence[Message], language: Language) -> str:
    told = [translate(one, language) for one in reasons[:3]]
    more = translate("report.more", language, count=len(reasons) - 3) if len(reasons) > 3 else ""
    return translate("semicolon", language).join(map(markdown, told)) + more


def _exports(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for row in lock.export:
        why = ("" if language == "zh" else " ").join(_reason(fact, language) for fact in lock.facts_of(row))
        kind = "report.optional" if row.optional else "report.set"
        yield markdown(row.name), markdown(row.value), translate(kind, language), markdown(why)


def _facts(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for row in lock.fact:
        yield (
            translate("report.cited", language, what=markdown(row.id), where=one_line(row.where)),
            _strength(row, language),
            markdown(_reason(row, language)),
            translate("report.checked", language, what=markdown(row.source), date=one_line(row.checked)),
        )


def _strength(fact: LockedFact, language: Language) -> str:
    return translate(f"strength.{fact.strength}", language)


def _reason(row: LockedFact | LockedAbsent, language: Language) -> str:
    return (row.reason_zh if language == "zh" else "") or row.reason
