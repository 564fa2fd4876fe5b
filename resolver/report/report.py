"""`report.md` and `report.zh.md`: what a reviewer reads before a lock is merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from resolver.lock import phrases
from resolver.model.lock import Lock, LockedAbsent, LockedFact, LockedGit, LockedPin, LockedStep
from resolver.model.text import Language
from resolver.report import report_words as words
from resolver.report.quoted import caution
from resolver.report.text import markdown, one_line
from resolver.report.words import Words

FILE = "report.md"
CHINESE_FILE = "report.zh.md"
_SYSTEM = {"cann": "CANN", "hdk": "HDK", "soc": "SoC"}


def report(lock: Lock, language: Language = "en") -> str:
    """The text of the report in a language; texts without Chinese stay English."""
    return "\n\n".join(_blocks(lock, language)) + "\n"


def _blocks(lock: Lock, language: Language) -> Iterator[str]:
    yield from _head(lock, language)
    yield from _list(words.WARNINGS, lock.all_warnings, lock, language)
    yield from _list(words.NOTES, lock.notes, lock, language)
    yield from _section(words.GIT, words.GIT_SAID, words.GIT_HEAD, _sources(lock, language), language)
    yield from _section(words.ABSENT, words.ABSENT_SAID, words.ABSENT_HEAD, _absent(lock, language), language)
    yield from _changes(lock, language)
    yield from _section(words.DEPARTS, None, words.DEPARTS_HEAD, _departures(lock, language), language)
    yield from _section(words.OVERRIDES, None, words.OVERRIDES_HEAD, _overrides(lock), language)
    for number, stage in enumerate(lock.stage, 1):
        title = phrases.title(stage.title) if language == "zh" else stage.title
        yield f"## {words.STAGE(language, number=number, title=markdown(title))}"
        if stage.because:
            yield "\n".join(f"- {markdown(_order(reason, lock, language))}" for reason in stage.because)
        yield _pins(lock, lock.pins_of(stage), language)
    for pins in lock.environments():
        names = [markdown(name) for name in pins[0].builds]
        apart = words.APART_FOR(language, names=_and(names, language)) if names else words.APART(language)
        yield f"## {apart}"
        yield words.APART_SAID(language)
        yield _pins(lock, pins, language)
    yield from _section(words.EXPORTS, words.EXPORTS_SAID, words.EXPORTS_HEAD, _exports(lock, language), language)
    yield from _section(words.FACTS, None, words.FACTS_HEAD, _facts(lock, language), language)
    yield words.INPUTS(language, digest=lock.inputs)


def _head(lock: Lock, language: Language) -> Iterator[str]:
    target = lock.target
    system = "".join(
        (words.OLDEST if key == "hdk" else words.COMPONENT)(language, name=_SYSTEM.get(key, key), version=value)
        for key, value in target.system.items()
    )
    summary = (lock.summary_zh if language == "zh" else "") or lock.summary
    yield words.TITLE(language, stack=markdown(lock.stack), summary=markdown(summary))
    yield words.OTHER(language)
    where = words.TARGET(language, platform=target.platform, python=target.python, glibc=target.glibc, system=system)
    instead = words.INSTEAD(language, source=markdown(lock.source)) if lock.source else ""
    built = sum(pin.mode != "wheels" for pin in lock.pin)
    size = words.SIZE(
        language,
        pins=words.PINS(language, len(lock.pin)),
        stages=words.STAGES(language, len(lock.stage)),
        wheels=words.WHEELS(language, len(lock.pin) - built),
        builds=words.BUILDS(language, built),
        git=words.BY_COMMIT(language) if any(pin.git for pin in lock.pin) else "",
    )
    yield "\n".join(filter(None, (where, instead, size, _external(lock, language))))


def _external(lock: Lock, language: Language) -> str:
    needs = [
        words.EXTERNAL_FOR(
            language,
            what=words.MACHINE_NEEDS[need][0](language) if need in words.MACHINE_NEEDS else markdown(need),
            names=words.COMMA(language).join(map(markdown, names)),
        )
        for need, names in lock.external().items()
    ]
    return words.EXTERNAL(language, needs=words.SEMICOLON(language).join(needs)) if needs else ""


def _list(heading: Words, sentences: Sequence[str], lock: Lock, language: Language) -> Iterator[str]:
    if sentences:
        yield f"## {heading(language)}"
        told = [caution(sentence, lock.fact) if language == "zh" else sentence for sentence in sentences]
        yield "\n".join(f"- {markdown(sentence)}" for sentence in told)


def _section(
    heading: Words, said: Words | None, head: Sequence[Words], rows: Iterable[Sequence[str]], language: Language
) -> Iterator[str]:
    """A heading, perhaps a sentence, and a table; nothing if there are no rows."""
    if cells := list(rows):
        yield f"## {heading(language)}"
        if said is not None:
            yield said(language)
        yield _table(head, cells, language)


def _table(head: Sequence[Words], rows: Iterable[Sequence[str]], language: Language) -> str:
    """Cells are Markdown already."""
    titles = _row([heading(language) for heading in head])
    return "\n".join([titles, "|" + "---|" * len(head), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _sources(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for pin in lock.pin:
        if (git := pin.git) is not None:
            place = f"{git.url}, {git.commit}" + (f" ({git.ref})" if git.ref else "")
            done = words.SEMICOLON(language).join(treatment(git, language))
            trust = words.ON_TRUST if git.trust else words.AT_COMMIT
            yield f"{pin.name} {pin.version}", markdown(place), markdown(done), trust(language)


def treatment(git: LockedGit, language: Language = "en") -> list[str]:
    """What is done to and with a checkout, a phrase each."""
    done = [words.SUBMODULE(language, path=one.path, place=f"{one.url}, {one.commit}") for one in git.submodules]
    done += [_step(step, language) for step in git.steps]
    done += [words.EDITABLE(language)] if git.editable else []
    names = words.COMMA(language).join(git.rewrites)
    return [*done, words.REWRITES(language, names=names)] if names else done


def _step(step: LockedStep, language: Language) -> str:
    if step.move:
        return words.MOVES(language, move=step.move, to=step.to)
    if step.comment:
        return words.COMMENTS(language, path=step.in_, comment=step.comment)
    command = " ".join(step.run)
    if step.wheels:
        return words.MAKES(language, command=command, wheels=step.wheels)
    return words.RUNS(language, command=command)


def _absent(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    return ((row.name, markdown(_reason(row, language)), markdown(row.because)) for row in lock.absent)


def _changes(lock: Lock, language: Language) -> Iterator[str]:
    if lock.first or not lock.change:
        yield f"## {words.CHANGES(language)}"
        yield words.FIRST(language) if lock.first else words.NO_CHANGE(language)
        return
    rows = (
        (markdown(row.name), markdown(row.old) or words.CAME(language), markdown(row.new) or words.GONE(language))
        for row in lock.change
    )
    yield from _section(words.CHANGES, None, words.CHANGES_HEAD, rows, language)


def _departures(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for row in lock.departs:
        told = [row.guide, row.here, row.reason]
        if language == "zh":
            told = [row.guide_zh or row.guide, row.here_zh or row.here, row.reason_zh or row.reason]
        yield [markdown(cell) for cell in told]


def _overrides(lock: Lock) -> Iterator[Sequence[str]]:
    return ((f"{row.package} {row.version}", markdown(row.dropped), markdown(row.fact)) for row in lock.override)


def _pins(lock: Lock, pins: Sequence[LockedPin], language: Language) -> str:
    several = len(lock.index) > 1
    rows = []
    for pin in pins:
        name = f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else pin.name
        index = (markdown(pin.index),) if several else ()
        rows.append((markdown(name), pin.version, _how(pin, language), *index, _why(pin, language)))
    head = (*words.PIN_HEAD, words.INDEX_HEAD, words.WHY_HEAD) if several else (*words.PIN_HEAD, words.WHY_HEAD)
    return _table(head, rows, language)


def _and(names: Sequence[str], language: Language) -> str:
    front = words.COMMA(language).join(names[:-1])
    return words.AND(language).join(filter(None, [front, names[-1]]))


def _how(pin: LockedPin, language: Language) -> str:
    return (words.GIT_MODES if pin.git is not None else words.MODES)[pin.mode](language)


def _why(pin: LockedPin, language: Language) -> str:
    first = sorted(pin.why, key=lambda text: (not text.startswith("the stack"), "(fact " not in text, text))
    told = [phrases.why(text) if language == "zh" else text for text in first[:3]]
    more = words.MORE(language, count=len(first) - 3) if len(first) > 3 else ""
    return words.SEMICOLON(language).join(map(markdown, told)) + more


def _order(reason: str, lock: Lock, language: Language) -> str:
    if language == "en":
        return reason
    return phrases.order(reason, {fact.where: fact.reason_zh for fact in lock.fact})


def _exports(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for row in lock.export:
        why = ("" if language == "zh" else " ").join(_reason(fact, language) for fact in lock.facts_of(row))
        kind = words.OPTIONAL if row.optional else words.SET
        yield markdown(row.name), markdown(row.value), kind(language), markdown(why)


def _facts(lock: Lock, language: Language) -> Iterator[Sequence[str]]:
    for row in lock.fact:
        yield (
            words.CITED(language, what=markdown(row.id), where=one_line(row.where)),
            _strength(row, language),
            markdown(_reason(row, language)),
            words.CHECKED(language, what=markdown(row.source), date=one_line(row.checked)),
        )


def _strength(fact: LockedFact, language: Language) -> str:
    known = words.STRENGTHS.get(fact.strength)
    return known(language) if known is not None else markdown(fact.strength)


def _reason(row: LockedFact | LockedAbsent, language: Language) -> str:
    return (row.reason_zh if language == "zh" else "") or row.reason
