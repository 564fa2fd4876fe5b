"""`report.md` and `report.zh.md`: what a reviewer reads before a lock is merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from resolver.lock import phrases
from resolver.model.language import Language
from resolver.model.lock import Lock, LockedAbsent, LockedFact, LockedGit, LockedPin, LockedStep
from resolver.render import report_words as words
from resolver.render.bilingual import Words
from resolver.render.quoted import caution
from resolver.render.text import markdown, one_line

FILE = "report.md"
CHINESE_FILE = "report.zh.md"
_SYSTEM = {"cann": "CANN", "hdk": "HDK", "soc": "SoC"}


def report(lock: Lock, language: Language = "en") -> str:
    """The text of the report in a language; texts without Chinese stay English."""
    return "\n".join(_lines(lock, language)) + "\n"


def _lines(lock: Lock, language: Language) -> Iterator[str]:
    yield from _head(lock, language)
    yield from _list(words.WARNINGS, lock.cautions, lock, language)
    yield from _list(words.NOTES, lock.notes, lock, language)
    yield from _sources(lock, language)
    yield from _absent(lock, language)
    yield from _changes(lock, language)
    yield from _departures(lock, language)
    yield from _overrides(lock, language)
    for number, stage in enumerate(lock.stage, 1):
        title = phrases.title(stage.title) if language == "zh" else stage.title
        yield f"## {words.STAGE(language, number=number, title=markdown(title))}"
        yield ""
        for reason in stage.because:
            yield f"- {markdown(_order(reason, lock, language))}"
        if stage.because:
            yield ""
        yield from _pins(lock, lock.pins_of(stage), language)
    for pins in lock.environments():
        names = [markdown(name) for name in pins[0].builds]
        apart = words.APART_FOR(language, names=_and(names, language)) if names else words.APART(language)
        yield f"## {apart}"
        yield ""
        yield words.APART_SAID(language)
        yield ""
        yield from _pins(lock, pins, language)
    yield from _exports(lock, language)
    yield from _facts(lock, language)
    yield words.INPUTS(language, digest=lock.inputs)


def _head(lock: Lock, language: Language) -> Iterator[str]:
    target = lock.target
    system = "".join(
        (words.OLDEST if key == "hdk" else words.COMPONENT)(language, name=_SYSTEM.get(key, key), version=value)
        for key, value in target.system.items()
    )
    summary = (lock.summary_zh if language == "zh" else "") or lock.summary
    yield words.TITLE(language, stack=markdown(lock.stack), summary=markdown(summary))
    yield ""
    yield words.OTHER(language)
    yield ""
    yield words.TARGET(language, platform=target.platform, python=target.python, glibc=target.glibc, system=system)
    if lock.source:
        yield words.INSTEAD(language, source=markdown(lock.source))
    built = sum(pin.mode != "wheels" for pin in lock.pin)
    yield words.SIZE(
        language,
        pins=words.PINS(language, len(lock.pin)),
        stages=words.STAGES(language, len(lock.stage)),
        wheels=words.WHEELS(language, len(lock.pin) - built),
        builds=words.BUILDS(language, built),
        git=words.BY_COMMIT(language) if any(pin.git for pin in lock.pin) else "",
    )
    yield ""


def _list(heading: Words, sentences: Sequence[str], lock: Lock, language: Language) -> Iterator[str]:
    if sentences:
        yield f"## {heading(language)}"
        yield ""
        for sentence in sentences:
            yield f"- {markdown(caution(sentence, lock.fact) if language == 'zh' else sentence)}"
        yield ""


def _table(head: Sequence[Words], rows: Iterable[Sequence[str]], language: Language) -> Iterator[str]:
    """Cells are Markdown already."""
    yield _row([heading(language) for heading in head])
    yield "|" + "---|" * len(head)
    for row in rows:
        yield _row(row)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _sources(lock: Lock, language: Language) -> Iterator[str]:
    pins = [(pin, pin.git) for pin in lock.pin if pin.git is not None]
    if pins:
        yield f"## {words.GIT(language)}"
        yield ""
        yield words.GIT_SAID(language)
        yield ""
        rows = []
        for pin, git in pins:
            place = f"{git.url}, {git.commit}" + (f" ({git.ref})" if git.ref else "")
            done = words.SEMICOLON(language).join(treatment(git, language))
            trust = words.ON_TRUST if git.trust else words.AT_COMMIT
            rows.append((f"{pin.name} {pin.version}", markdown(place), markdown(done), trust(language)))
        yield from _table(words.GIT_HEAD, rows, language)


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


def _absent(lock: Lock, language: Language) -> Iterator[str]:
    if lock.absent:
        yield f"## {words.ABSENT(language)}"
        yield ""
        yield words.ABSENT_SAID(language)
        yield ""
        rows = ((row.name, markdown(_reason(row, language)), markdown(row.because)) for row in lock.absent)
        yield from _table(words.ABSENT_HEAD, rows, language)


def _changes(lock: Lock, language: Language) -> Iterator[str]:
    yield f"## {words.CHANGES(language)}"
    yield ""
    if lock.first or not lock.change:
        yield words.FIRST(language) if lock.first else words.NO_CHANGE(language)
        yield ""
        return
    rows = (
        (markdown(row.name), markdown(row.old) or words.CAME(language), markdown(row.new) or words.GONE(language))
        for row in lock.change
    )
    yield from _table(words.CHANGES_HEAD, rows, language)


def _departures(lock: Lock, language: Language) -> Iterator[str]:
    if lock.departs:
        yield f"## {words.DEPARTS(language)}"
        yield ""
        cells = [
            (row.guide_zh or row.guide, row.here_zh or row.here, row.reason_zh or row.reason)
            if language == "zh"
            else (row.guide, row.here, row.reason)
            for row in lock.departs
        ]
        yield from _table(words.DEPARTS_HEAD, (tuple(map(markdown, row)) for row in cells), language)


def _overrides(lock: Lock, language: Language) -> Iterator[str]:
    if lock.override:
        yield f"## {words.OVERRIDES(language)}"
        yield ""
        rows = ((f"{row.package} {row.version}", markdown(row.dropped), markdown(row.fact)) for row in lock.override)
        yield from _table(words.OVERRIDES_HEAD, rows, language)


def _pins(lock: Lock, pins: Sequence[LockedPin], language: Language) -> Iterator[str]:
    several = len(lock.index) > 1
    rows = []
    for pin in pins:
        name = f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else pin.name
        index = (markdown(pin.index),) if several else ()
        rows.append((markdown(name), pin.version, _how(pin, language), *index, _why(pin, language)))
    head = (*words.PIN_HEAD, words.INDEX_HEAD, words.WHY_HEAD) if several else (*words.PIN_HEAD, words.WHY_HEAD)
    yield from _table(head, rows, language)


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


def _exports(lock: Lock, language: Language) -> Iterator[str]:
    if lock.export:
        yield f"## {words.EXPORTS(language)}"
        yield ""
        yield words.EXPORTS_SAID(language)
        yield ""
        rows = []
        for row in lock.export:
            why = ("" if language == "zh" else " ").join(_reason(fact, language) for fact in lock.facts_of(row))
            kind = words.OPTIONAL if row.optional else words.SET
            rows.append((markdown(row.name), markdown(row.value), kind(language), markdown(why)))
        yield from _table(words.EXPORTS_HEAD, rows, language)


def _facts(lock: Lock, language: Language) -> Iterator[str]:
    if lock.fact:
        yield f"## {words.FACTS(language)}"
        yield ""
        rows = (
            (
                words.CITED(language, what=markdown(row.id), where=one_line(row.where)),
                _strength(row, language),
                markdown(_reason(row, language)),
                words.CHECKED(language, what=markdown(row.source), date=one_line(row.checked)),
            )
            for row in lock.fact
        )
        yield from _table(words.FACTS_HEAD, rows, language)


def _strength(fact: LockedFact, language: Language) -> str:
    known = words.STRENGTHS.get(fact.strength)
    return known(language) if known is not None else markdown(fact.strength)


def _reason(row: LockedFact | LockedAbsent, language: Language) -> str:
    return (row.reason_zh if language == "zh" else "") or row.reason
