"""`report.md`: what a reviewer reads before a lock is merged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.model.lock import Lock, LockedGit, LockedPin, LockedStep
from resolver.render.text import count, markdown, one_line

FILE = "report.md"
_MODES = {
    "wheels": "wheel",
    "built-apart": "source, built in an environment apart",
    "built-here": "source, built in the environment",
}


def report(lock: Lock) -> str:
    """The text of report.md."""
    return "\n".join(_lines(lock)) + "\n"


def _lines(lock: Lock) -> Iterator[str]:
    target = lock.target
    names = {"cann": "CANN", "hdk": "HDK", "soc": "SoC"}
    system = "".join(f", {names.get(key, key)} {value}" for key, value in target.system.items())
    yield f"# {markdown(lock.stack)}: {markdown(lock.summary)}"
    yield ""
    yield f"Locked for {target.platform}, Python {target.python}, glibc {target.glibc} or newer{system}."
    if lock.source:
        yield f"Instead of: {markdown(lock.source)}."
    built = [pin for pin in lock.pin if pin.mode != "wheels"]
    yield (
        f"{count(len(lock.pin), 'distribution')} in {count(len(lock.stage), 'stage')}, "
        f"{count(len(lock.pin) - len(built), 'wheel')} and {count(len(built), 'source build')}; every file by sha256"
        + (", what comes from git by its commit." if any(pin.git for pin in lock.pin) else ".")
    )
    yield ""
    yield from _warnings(lock)
    yield from _notes(lock)
    yield from _sources(lock)
    yield from _absent(lock)
    yield from _changes(lock)
    yield from _departures(lock)
    yield from _overrides(lock)
    for number, stage in enumerate(lock.stage, 1):
        yield f"## Stage {number}: {markdown(stage.title)}"
        yield ""
        for reason in stage.because:
            yield f"- {markdown(reason)}"
        if stage.because:
            yield ""
        yield from _table(lock, lock.pins_of(stage))
    for pins in lock.environments():
        built_there = [markdown(name) for name in pins[0].builds]
        yield f"## The environment apart{f' for {_and(built_there)}' if built_there else ''}"
        yield ""
        yield "Installed by hash to build source archives, then thrown away."
        yield ""
        yield from _table(lock, pins)
    yield from _exports(lock)
    yield from _facts(lock)
    yield f"Inputs: sha256 {lock.inputs}"


def _warnings(lock: Lock) -> Iterator[str]:
    if lock.cautions:
        yield "## Warnings"
        yield ""
        for warning in lock.cautions:
            yield f"- {markdown(warning)}"
        yield ""


def _notes(lock: Lock) -> Iterator[str]:
    if lock.notes:
        yield "## Lines of the stack that are not for this target"
        yield ""
        for note in lock.notes:
            yield f"- {markdown(note)}"
        yield ""


def _sources(lock: Lock) -> Iterator[str]:
    pins = [(pin, pin.git) for pin in lock.pin if pin.git is not None]
    if pins:
        yield "## What comes from git"
        yield ""
        yield (
            "pip's hash mode knows no repositories, so these are in no requirements file: install.sh fetches "
            "the commit, and git checks every file against it."
        )
        yield ""
        yield "| project | repository, commit | what is done there | what it needs was |"
        yield "|---|---|---|---|"
        for pin, git in pins:
            place = f"{git.url}, {git.commit}" + (f" ({git.ref})" if git.ref else "")
            trust = "taken on trust" if git.trust else "read at the commit"
            yield f"| {pin.name} {pin.version} | {markdown(place)} | {markdown('; '.join(treatment(git)))} | {trust} |"
        yield ""


def treatment(git: LockedGit) -> list[str]:
    """What is done to a checkout and with it, a phrase each."""
    done = [*map(_step, git.steps), "editable" if git.editable else ""]
    done += [f"rewrites installed files of {', '.join(git.rewrites)}" if git.rewrites else ""]
    return [phrase for phrase in done if phrase]


def _step(step: LockedStep) -> str:
    if step.move:
        return f"{step.move} becomes {step.to}"
    if step.comment:
        return f"lines of {step.in_} that have {step.comment} are commented out"
    command = " ".join(step.run)
    return f"{command} builds {step.wheels}" if step.wheels else f"{command} is run"


def _absent(lock: Lock) -> Iterator[str]:
    if lock.absent:
        yield "## What must not be there"
        yield ""
        yield "install.sh removes it."
        yield ""
        yield "| project | why | who says so |"
        yield "|---|---|---|"
        for row in lock.absent:
            yield f"| {row.name} | {markdown(row.reason)} | {markdown(row.because)} |"
        yield ""


def _changes(lock: Lock) -> Iterator[str]:
    yield "## Changes since the lock before"
    yield ""
    if lock.first:
        yield "There was none: this is the first."
    elif not lock.change:
        yield "No pin changed."
    else:
        yield "| project | before | now |"
        yield "|---|---|---|"
        for row in lock.change:
            old, new = markdown(row.old) or "(was not there)", markdown(row.new) or "(gone)"
            yield f"| {markdown(row.name)} | {old} | {new} |"
    yield ""


def _departures(lock: Lock) -> Iterator[str]:
    if lock.departs:
        yield "## Where this departs from the guide"
        yield ""
        yield "| guide | here | why |"
        yield "|---|---|---|"
        for row in lock.departs:
            yield f"| {markdown(row.guide)} | {markdown(row.here)} | {markdown(row.reason)} |"
        yield ""
    translated = [row for row in lock.departs if row.reason_zh]
    if translated:
        yield "### 与指南的不同之处"
        yield ""
        yield "| 指南 | 此处 | 原因 |"
        yield "|---|---|---|"
        for row in translated:
            yield f"| {markdown(row.guide)} | {markdown(row.here_zh or row.here)} | {markdown(row.reason_zh)} |"
        yield ""


def _overrides(lock: Lock) -> Iterator[str]:
    if lock.override:
        yield "## Upstream metadata that is overridden"
        yield ""
        yield "| project | requirement taken out | by |"
        yield "|---|---|---|"
        for row in lock.override:
            yield f"| {row.package} {row.version} | {markdown(row.dropped)} | {markdown(row.fact)} |"
        yield ""


def _table(lock: Lock, pins: tuple[LockedPin, ...]) -> Iterator[str]:
    several = len(lock.index) > 1
    yield "| project | version | how |" + (" index |" if several else "") + " why |"
    yield "|---|---|---|" + ("---|" if several else "") + "---|"
    for pin in pins:
        name = f"{pin.name}[{','.join(pin.extras)}]" if pin.extras else pin.name
        index = f" {markdown(pin.index)} |" if several else ""
        yield f"| {markdown(name)} | {pin.version} | {_how(pin)} |{index} {_why(pin)} |"
    yield ""


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _how(pin: LockedPin) -> str:
    return f"git, {_MODES[pin.mode].partition(', ')[2]}" if pin.git is not None else _MODES[pin.mode]


def _why(pin: LockedPin) -> str:
    first = sorted(pin.why, key=lambda text: (not text.startswith("the stack"), "(fact " not in text, text))
    shown = "; ".join(markdown(text) for text in first[:3])
    return shown + (f"; and {len(first) - 3} more" if len(first) > 3 else "")


def _exports(lock: Lock) -> Iterator[str]:
    if lock.export:
        yield "## Environment variables"
        yield ""
        yield "activate.sh sets them after CANN and the environment; an optional one stands there as a comment."
        yield ""
        yield "| variable | value | | why |"
        yield "|---|---|---|---|"
        for row in lock.export:
            why = " ".join(fact.reason for fact in lock.facts_of(row))
            kind = "optional" if row.optional else "set"
            yield f"| {markdown(row.name)} | {markdown(row.value)} | {kind} | {markdown(why)} |"
        yield ""


def _facts(lock: Lock) -> Iterator[str]:
    if lock.fact:
        yield "## Facts that this lock rests on"
        yield ""
        yield "| fact | strength | reason | source, checked |"
        yield "|---|---|---|---|"
        for row in lock.fact:
            yield (
                f"| {markdown(row.id)}, {one_line(row.where)} | {markdown(row.strength)} | {markdown(row.reason)} "
                f"| {markdown(row.source)}, {one_line(row.checked)} |"
            )
        yield ""
