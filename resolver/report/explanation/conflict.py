"""Make documents of explanations: why there is no solution, the ways out, and what was tried.

`document` defines the blocks of a document. `terminal` and `markup` write them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from resolver.files import json_text
from resolver.i18n import LANGUAGES
from resolver.model.constraint import SUPPOSED, Excluded, StackLine
from resolver.model.explanation import (
    Awaited,
    Branch,
    Contradiction,
    Expected,
    Explanation,
    Fix,
    Why,
)
from resolver.model.fact import Fact, Warns, component_requirements
from resolver.model.message import Message, first_of, joined, message, verbatim
from resolver.model.problem import Problem
from resolver.model.reason import Reason, requirement_of
from resolver.model.source import brief_text
from resolver.report.document import (
    Block,
    Code,
    Details,
    Heading,
    Item,
    Items,
    Line,
    Paragraph,
    Span,
    line,
)
from resolver.report.explanation import fixes, sentences
from resolver.report.explanation.json import explanation_json
from resolver.report.explanation.reasons import (
    alike,
    cited,
    needed_name,
    origin_span,
    sort_of,
    source_line,
    with_strength,
)
from resolver.report.links import linked
from resolver.report.markup import html_text, markdown_text
from resolver.report.summary import pin_change

# How many further missing projects a terminal names.
_MISSING = 20
# How many newer releases are named.
_NEWER = 8


def report_files(explanation: Explanation) -> dict[str, str]:
    """Return the files of the report on a conflict, by name: conflict.md, .html and .json.

    The same answers of the indexes give the same files. They are committed with the lock. So they
    do not mention an index that did not answer, unless the conflict itself depends on it. Links are
    relative to the folder locks/<stack>/<target>/.
    """
    if not explanation.awaited:
        explanation = replace(explanation, unreachable_projects=())
    document = [linked(block, explanation.way_to_matrices) for block in _blocks(explanation)]
    files = {}
    for language in LANGUAGES:
        name = "conflict" if language == "en" else f"conflict.{language}"
        files[f"{name}.md"] = markdown_text(document, language)
        files[f"{name}.html"] = html_text(document, language)
    files["conflict.json"] = json_text(explanation_json(explanation, "en")) + "\n"
    return files


def _blocks(explanation: Explanation) -> Iterator[Block]:
    """Yield the blocks of the whole report."""
    problem = explanation.problem
    code = "conflict.title-undecided" if explanation.awaited else "conflict.title"
    yield Heading(message(code, stack=problem.stack.name), level=1)
    yield from conflict_blocks(
        problem, explanation.contradictions, explanation.awaited, explanation.expected
    )
    yield from ways_out_blocks(explanation, whole=True)
    yield _paragraph(message("conflict.inputs", digest=problem.digest))


def conflict_blocks(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    awaited: Sequence[Awaited],
    expected: Expected | None = None,
) -> Iterator[Block]:
    """Yield the verdict, then the contradictions."""
    yield from _verdict_blocks(problem, contradictions, awaited, expected)
    yield from _contradictions(contradictions)


def conflict_pages(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    awaited: Sequence[Awaited],
    expected: Expected | None = None,
) -> Iterator[Iterator[Block]]:
    """Yield the blocks of `conflict_blocks` for a terminal, first in full, then ever shorter.

    Shorter pages leave out the warnings about releases, then the origins of reasons, and at last
    some of the contradictions. The caller shows the first that fits.
    """
    yield conflict_blocks(problem, contradictions, awaited, expected)
    bare = [replace(contradiction, notes=()) for contradiction in contradictions]
    yield conflict_blocks(problem, bare, awaited, expected)
    for items in (_brief_items(bare), _brief_items(bare, shortest=True)):
        yield _brief_page(problem, contradictions, awaited, expected, items, len(items))
    for count in range(len(items) - 1, 0, -1):
        yield _brief_page(problem, contradictions, awaited, expected, items, count)


def _brief_page(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    awaited: Sequence[Awaited],
    expected: Expected | None,
    items: tuple[Item, ...],
    count: int,
) -> Iterator[Block]:
    """Yield a page with the verdict and the first `count` brief items.

    It ends with the remark that the report has the rest.
    """
    more = message("conflict.more-in-report", count=len(items) - count)
    yield from _verdict_blocks(problem, contradictions, awaited, expected)
    yield Items(items, count, more)
    yield _paragraph(message("conflict.whole-in-report"))


def _verdict_blocks(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    awaited: Sequence[Awaited],
    expected: Expected | None,
) -> Iterator[Block]:
    """Yield the verdict, what lock is expected, and the heading of the contradictions."""
    yield _paragraph(*sentences.verdict(problem, awaited))
    if awaited and expected is not None:
        yield _paragraph(*sentences.expectation(expected))
    yield Heading(message("conflict.why", claim=sentences.overall_claim(contradictions)))


def _brief_items(
    contradictions: Sequence[Contradiction], *, shortest: bool = False
) -> tuple[Item, ...]:
    """Return the contradictions as items of one sentence each, without the origins of reasons.

    With `shortest`, an item has two or three lines: what the user chose, and for which package that
    leaves no candidate.
    """
    items = []
    for number, group in enumerate(alike(sentences.condensed(contradictions)), 1):
        first, *others = group
        ends = [message("conflict.result", text=end) for end in sentences.brief_ends(first)]
        if others:
            ends += sentences.likewise(first, others)
        if shortest:
            ends = ends[:1]
        lines = (line(sentences.brief(first, shortest=shortest)),)
        items.append(Item(label=str(number), lines=lines, details=tuple(map(line, ends))))
    return tuple(items)


def further_blocks(contradictions: Sequence[Contradiction]) -> Iterator[Block]:
    """Yield the contradictions that were found during the search for ways out."""
    for contradiction in contradictions:
        yield Heading(message("conflict.further", claim=sentences.claim(contradiction)))
        yield from _contradiction(contradiction)


def further_pages(contradictions: Sequence[Contradiction]) -> Iterator[Iterator[Block]]:
    """Yield the blocks of `further_blocks`, then ever shorter ones.

    The last page only says that the report has these contradictions.
    """
    bare = [replace(contradiction, notes=()) for contradiction in contradictions]
    remark = _paragraph(message("conflict.further-in-report", count=len(contradictions)))
    yield further_blocks(contradictions)
    yield further_blocks(bare)
    for shortest in (False, True):
        yield iter([remark, Items(_brief_items(bare, shortest=shortest))])
    yield iter([remark])


def _contradictions(contradictions: Sequence[Contradiction]) -> Iterator[Block]:
    """Yield the contradictions, with a heading for each if there are several.

    The heading of a single one is written by the caller.
    """
    groups = alike(sentences.condensed(contradictions))
    total = len(groups)
    for number, (first, *others) in enumerate(groups, 1):
        if total > 1:
            claim = sentences.claim(first)
            yield Heading(
                message("conflict.conflict-of", number=number, total=total, claim=claim), level=3
            )
        yield from _contradiction(first)
        if others:
            yield _paragraph(*sentences.likewise(first, others))
            for other in others:
                (said,) = sentences.likewise(first, [other])
                reasons = map(sentences.sentence, other.reasons)
                yield Details(said, (_paragraph(*reasons),))


def _contradiction(contradiction: Contradiction) -> Iterator[Block]:
    """Yield the reasons with their origins, the conclusion or the cases, and the warnings."""
    yield _items(reason_items(contradiction.reasons))
    if contradiction.closing is not None and len(contradiction.reasons) > 1:
        yield _result(sentences.closing_sentence(contradiction.closing))
    if contradiction.branches:
        yield _result(message("conflict.cases", subject=contradiction.branches[0].subject))
        yield _items(_branches(contradiction.branches))
    if contradiction.notes:
        yield _paragraph(message("conflict.known-faults"))
        yield _items([_warning(note) for note in contradiction.notes])


def reason_items(reasons: Sequence[Reason]) -> list[Item]:
    """Return reasons as numbered items, with their origins and the sources of their facts."""
    return [_reason(number, reason) for number, reason in enumerate(reasons, 1)]


def _reason(number: int, reason: Reason) -> Item:
    """Return one reason as an item, with its origin and the source of its fact."""
    origin: Line = () if reason.where in ("", SUPPOSED) else (origin_span(reason),)
    details = list(sentences.reason_details(reason))
    evidence: list[Line] = []
    fact, requirement = reason.fact, requirement_of(reason)
    if fact is not None:
        origin = (*origin, Span(with_strength(fact)))
        why = sentences.reason_of(fact)
        if requirement is not None and _is_about_machines(requirement, fact):
            # The reason of the fact says what can be done on such a machine.
            details.append(why)
        elif not isinstance(reason.constraint, Excluded):
            # The sentence of an exclusion has the reason already.
            evidence.append(line(message("conflict.reason", text=why)))
        evidence.append(_evidence(fact))
    return Item(
        label=str(number),
        lines=(line(sentences.sentence(reason)),),
        origin=origin,
        sort=sort_of(reason),
        source=_first_source(fact),
        details=tuple(map(line, details)),
        evidence=tuple(evidence),
    )


def _is_about_machines(requirement: str, fact: Fact) -> bool:
    """Return whether a fact's requirement is on a component whose values are machines."""
    name = needed_name(requirement)
    needs = component_requirements(fact.added_needs)
    return any(need.component == name and need.names_machines for need in needs)


def _first_source(fact: Fact | None) -> str:
    """Return the first reference of a fact for a terminal; empty without a fact."""
    if fact is None:
        return ""
    first, *others = fact.source.references
    return f"{brief_text(first)}; …" if others else brief_text(first)


def _evidence(fact: Fact) -> Line:
    """Return the line with the references of a fact and the day on which they were checked."""
    checked = message("conflict.checked-on", text="", date=fact.checked.isoformat())
    return (Span(message("conflict.evidence", text="")), *cited(fact.source), Span(checked))


def _branches(branches: Sequence[Branch]) -> list[Item]:
    """Return the cases as nested items."""
    return [
        Item(
            lines=(line(sentences.branch_sentence(branch)),),
            items=tuple(_branches(branch.branches)),
        )
        for branch in branches
    ]


def _warning(warning: Warns, label: str = "") -> Item:
    """Return a warning as an item, with the place and the source of its fact."""
    place = Span(warning.where, source_line(warning.where))
    evidence = (place, Span(message("semicolon")), *_evidence(warning))
    return Item(label=label, lines=(line(sentences.warning_text(warning)),), evidence=(evidence,))


def ways_out_blocks(
    explanation: Explanation, *, whole: bool = False, in_checkout: bool = True, undone: bool = False
) -> Iterator[Block]:
    """Yield the ways out, or what was tried if there are none.

    With `whole`, the files of each way out are included, as in a report. `in_checkout` says whether
    there is a Makefile. `undone` says that the stack's file was restored after an edit. No command
    can then write a way out, so the hint with that command is left out.
    """
    if explanation.missing:
        most = None if whole else _MISSING
        yield _paragraph(sentences.missing_sentence(explanation.missing, most))
    if explanation.awaited:
        yield Heading(message("conflict.way-zero-heading"))
        lines = tuple(map(line, sentences.way_zero(explanation)))
        yield Items((Item(label="0", lines=lines),))
    yield from _awaiting_blocks(explanation, in_checkout=in_checkout)
    heading = "conflict.ways-out" if explanation.fixes else "conflict.no-way-out"
    yield Heading(message(heading), anchor="ways-out")
    yield from _fixes(explanation, whole=whole, in_checkout=in_checkout)
    if whole or not explanation.fixes:
        yield from _attempts(explanation)
    remarks: list[Message] = []
    if explanation.unreachable_projects and not explanation.awaited:
        remarks.append(sentences.further_ways(explanation.unreachable_projects))
    if explanation.fixes and not undone:
        remarks.append(fixes.apply_hint(explanation, in_checkout=in_checkout))
    if explanation.limited:
        remarks += [message("conflict.limited"), message("conflict.more-time")]
    yield _paragraph(*remarks, message("conflict.old-lock"))


def _fixes(explanation: Explanation, *, whole: bool, in_checkout: bool) -> Iterator[Block]:
    """Yield the ways out, and then each of their warnings once."""
    warnings: dict[Message, Warns | None] = {}
    for fix in explanation.fixes:
        for environment in fix.environments:
            for warning in environment.warnings:
                warnings[sentences.warning_text(warning)] = warning
            warnings.update(dict.fromkeys(environment.unmet))
    labels = {text: f"W{number}" for number, text in enumerate(warnings, 1)}
    if explanation.fixes:
        items = [
            _fix(
                fix,
                labels,
                fixes.apply_command(explanation, fix.name, in_checkout=in_checkout),
            )
            for fix in explanation.fixes
        ]
        yield _items(items)
    if warnings:
        yield Heading(message("report.warnings"), level=3)
        yield _items(
            [
                Item(label=labels[text], lines=(line(text),))
                if warning is None
                else _warning(warning, labels[text])
                for text, warning in warnings.items()
            ]
        )
    if whole:
        for fix in explanation.fixes:
            yield _details(fix, explanation.text)


def _awaiting_blocks(explanation: Explanation, *, in_checkout: bool) -> Iterator[Block]:
    """Yield the ways out that need something of an index that could not be reached."""
    if not explanation.awaiting:
        return
    yield Heading(message("conflict.awaiting-heading"))
    items = []
    for fix in explanation.awaiting:
        names = sentences.indexes_of(fix.awaited)
        wanted = list(chain.from_iterable(awaited.needs for awaited in fix.awaited))
        details = [
            message("conflict.result", text=fixes.environment_sentence(environment))
            for environment in fix.environments
        ]
        details.append(message("conflict.awaiting", count=len(names), names=names))
        details.append(message("conflict.mirror-serves", count=len(wanted), files=wanted))
        items.append(
            Item(
                label=fix.name,
                lines=tuple(map(line, fixes.change_sentences(fix.changes))),
                details=tuple(map(line, details)),
                command=fixes.apply_command(explanation, fix.name, in_checkout=in_checkout),
            )
        )
    yield _items(items)


def _fix(fix: Fix, labels: Mapping[Message, str], command: str) -> Item:
    """Return a way out as an item: its changes, its risk, its locks and the labels of warnings."""
    lines = fixes.change_sentences(fix.changes)
    for remark in (fixes.twin_sentence(fix), fixes.risk_sentence(fix)):
        if remark is not None:
            lines.append(remark)
    details: list[Message] = []
    for environment in fix.environments:
        if len(fix.environments) > 1:
            details.append(fixes.requires_sentence(fix, environment))
        details.append(message("conflict.result", text=fixes.environment_sentence(environment)))
        texts = [*map(sentences.warning_text, environment.warnings), *environment.unmet]
        warned = dict.fromkeys(labels[text] for text in texts)
        if warned:
            listed = joined("comma", warned)
            details.append(message("conflict.warned", count=len(warned), labels=listed))
    return Item(
        label=fix.name,
        lines=tuple(map(line, lines)),
        details=tuple(map(line, details)),
        command=command,
    )


def _details(fix: Fix, original: str) -> Details:
    """Return the changes of a way out as diffs of the `original` file, and the whole new files."""
    label, changes = message("conflict.fix", name=fix.name), fixes.changes_sentence(fix.changes)
    blocks: list[Paragraph | Code] = [
        Code(tuple(fixes.stack_diff(original, text)), "diff") for text in fix.texts
    ]
    for name, text in fix.files:
        blocks.append(_paragraph(message("conflict.file", name=name)))
        blocks.append(Code(tuple(fixes.safe_lines(text)), "toml"))
    return Details(message("conflict.labelled", label=label, text=changes), tuple(blocks))


def _attempts(explanation: Explanation) -> Iterator[Block]:
    """Yield what was tried without success."""
    if not explanation.attempts:
        if not explanation.fixes:
            yield _paragraph(message("conflict.nothing-tried"))
        return
    yield Heading(message("conflict.heading-tried"), level=3)
    items = [
        Item(
            lines=(line(fixes.changes_sentence(attempt.changes)),),
            details=(line(fixes.outcome_sentence(attempt)),),
        )
        for attempt in explanation.attempts
    ]
    yield Items(tuple(items))


def why_blocks(why: Why) -> Iterator[Block]:
    """Yield the blocks that say why a project has its version."""
    values = {"stack": why.problem.stack.name, "target": sentences.target_line(why.problem)}
    yield _paragraph(message("conflict.why-heading", name=why.name, version=why.version, **values))
    yield Heading(message("conflict.asked-by" if why.requirements else "conflict.asked-by-none"))
    yield _items(reason_items(why.requirements))
    binding = [number for number, reason in enumerate(why.requirements, 1) if reason in why.bound]
    if binding:
        numbers = sentences.numbers(binding)
        yield _result(message("conflict.bound", count=len(binding), numbers=numbers))
    if why.facts:
        yield Heading(message("conflict.why-facts"))
        yield _items(reason_items(why.facts))
    yield _paragraph(*_newer(why))
    if why.gave_way:
        gave_way = joined("comma", [f"`{line}`" for line in why.gave_way])
        yield _paragraph(message("conflict.gave-way", count=len(why.gave_way), lines=gave_way))
    own_lines = _own_lines(why)
    if own_lines:
        arguments = (why.problem.stack.argument, f"{why.name}=={why.tried}")
        values = {"lines": own_lines, "version": why.tried, "count": len(own_lines)}
        command = shlex.join(("ascend-lock", "why", *arguments))
        yield _paragraph(message("conflict.own-line", **values), verbatim(command))
    elif why.contradictions:
        claim = sentences.overall_claim(why.contradictions)
        code = "conflict.cannot-take"
        yield Heading(message(code, name=why.name, version=why.tried, claim=claim))
        yield from _contradictions(why.contradictions)
        names = [f"`{practice.id}`" for practice in why.practices]
        if names:
            listed = joined("comma", names)
            yield _paragraph(message("conflict.practices-help", count=len(names), names=listed))
    elif why.tried:
        others = [move for move in why.moves if move[0] != why.name]
        code = "conflict.can-take" if others else "conflict.can-take-alone"
        yield Heading(message(code, count=len(others), name=why.name, version=why.tried))
        yield _items([Item(lines=(line(pin_change(*move)),)) for move in others])


def _own_lines(why: Why) -> list[str]:
    """Return the lines of the stack that rule out the release that was tried, without any other.

    Empty if other requirements are needed for that.
    """
    for contradiction in why.contradictions:
        own = []
        for reason in contradiction.reasons:
            stack_line = reason.constraint
            # Only lines of `requires` give way if the user names a release.
            if not isinstance(stack_line, StackLine) or stack_line.key != "requires":
                break
            if stack_line.where != SUPPOSED:
                own.append(f"`{stack_line.text}`")
        else:
            return list(dict.fromkeys(own))
    return []


def _newer(why: Why) -> Iterator[Message]:
    """Yield sentences about newer releases, and about what could not be decided."""
    if not why.newer:
        yield message("conflict.nothing-newer")
    else:
        versions = first_of(why.newer, _NEWER)
        yield message("conflict.newer-releases", count=len(why.newer), versions=versions)
    # If the requirements allow no newer release, the day has no influence.
    if why.after_day and not why.bound:
        yield message("conflict.after-day", count=why.after_day, day=why.day, name=why.name)
    for version, facts in why.later:
        places = joined("comma", [with_strength(fact, fact.where) for fact in facts])
        yield message("conflict.taken-later", version=version, pin=why.version, facts=places)
        yield from map(sentences.reason_of, facts)
    if why.unreachable:
        indexes = joined("comma", [f"`{index}`" for index in why.unreachable])
        yield message("conflict.may-have-newer", indexes=indexes, name=why.name)
    if why.untried:
        yield message("conflict.untried", why=why.untried)
    elif why.limited:
        yield message("conflict.not-decided")


def _items(items: Sequence[Item]) -> Items:
    """Return a list of items. If a terminal cannot show all, it says how many more there are."""
    most = Items(()).most
    more = message("conflict.more-in-report", count=len(items) - most) if len(items) > most else ""
    return Items(tuple(items), most, more)


def _paragraph(*texts: Message) -> Paragraph:
    """Return a paragraph with one line for each text."""
    return Paragraph(tuple(map(line, texts)))


def _result(text: Message) -> Paragraph:
    """Return a paragraph with the conclusion from the block above it."""
    return Paragraph((line(text),), result=True)
