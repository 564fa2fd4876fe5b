"""Make documents of explanations: why there is no solution, the ways out, and what was tried.

`document` defines the blocks of a document. `terminal` and `markup` write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from resolver.files import json_text
from resolver.i18n import LANGUAGES
from resolver.model.explanation import (
    Awaited,
    Contradiction,
    Expected,
    Explanation,
    Fix,
)
from resolver.model.fact import Warns
from resolver.model.message import Message, joined, message
from resolver.model.problem import Problem
from resolver.report.document import (
    Block,
    Code,
    Details,
    Heading,
    Item,
    Items,
    Paragraph,
    line,
    paragraph_of,
)
from resolver.report.explanation import fixes, sentences
from resolver.report.explanation.contradictions import (
    contradiction_blocks,
    contradictions_blocks,
    shortened_items,
    warning_item,
)
from resolver.report.explanation.grouping import (
    alike,
)
from resolver.report.explanation.json import explanation_json
from resolver.report.links import linked
from resolver.report.markup import html_text, markdown_text

# How many further missing projects a terminal names.
_MISSING = 20


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
    yield paragraph_of(message("conflict.inputs", digest=problem.digest))


def conflict_blocks(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    awaited: Sequence[Awaited],
    expected: Expected | None = None,
) -> Iterator[Block]:
    """Yield the verdict, then the contradictions."""
    yield from _verdict_blocks(problem, contradictions, awaited, expected)
    yield from contradictions_blocks(contradictions)


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
    yield paragraph_of(message("conflict.whole-in-report"))


def _verdict_blocks(
    problem: Problem,
    contradictions: Sequence[Contradiction],
    awaited: Sequence[Awaited],
    expected: Expected | None,
) -> Iterator[Block]:
    """Yield the verdict, what lock is expected, and the heading of the contradictions."""
    yield paragraph_of(*sentences.verdict(problem, awaited))
    if awaited and expected is not None:
        yield paragraph_of(*sentences.expectation(expected))
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
        yield from contradiction_blocks(contradiction)


def further_pages(contradictions: Sequence[Contradiction]) -> Iterator[Iterator[Block]]:
    """Yield the blocks of `further_blocks`, then ever shorter ones.

    The last page only says that the report has these contradictions.
    """
    bare = [replace(contradiction, notes=()) for contradiction in contradictions]
    remark = paragraph_of(message("conflict.further-in-report", count=len(contradictions)))
    yield further_blocks(contradictions)
    yield further_blocks(bare)
    for shortest in (False, True):
        yield iter([remark, Items(_brief_items(bare, shortest=shortest))])
    yield iter([remark])


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
        yield paragraph_of(sentences.missing_sentence(explanation.missing, most))
    if explanation.awaited:
        yield Heading(message("conflict.way-zero-heading"))
        lines = tuple(map(line, sentences.way_zero(explanation)))
        yield Items((Item(label="0", lines=lines),))
    yield from _awaiting_blocks(explanation, in_checkout=in_checkout)
    heading = "conflict.no-other-way-out" if explanation.awaiting else "conflict.no-way-out"
    if explanation.fixes:
        heading = "conflict.ways-out"
    yield Heading(message(heading), anchor="ways-out")
    yield from _fixes(explanation, whole=whole, in_checkout=in_checkout)
    if whole or not explanation.fixes:
        yield from _attempts(explanation)
    remarks: list[Message] = []
    if explanation.unreachable_projects and not explanation.awaited:
        remarks.append(sentences.further_ways(explanation.unreachable_projects))
    if explanation.fixes and not undone:
        remarks += fixes.apply_hints(explanation, in_checkout=in_checkout)
    if explanation.limited:
        remarks += [message("conflict.limited"), message("conflict.more-time")]
    yield paragraph_of(*remarks, message("conflict.old-lock"))


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
        yield shortened_items(items)
    if warnings:
        yield Heading(message("report.warnings"), level=3)
        items = []
        for text, warns in warnings.items():
            if warns is None:
                items.append(Item(label=labels[text], lines=(line(text),)))
            else:
                items.append(warning_item(warns, labels[text]))
        yield shortened_items(items)
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
    yield shortened_items(items)


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
        blocks.append(paragraph_of(message("conflict.file", name=name)))
        blocks.append(Code(tuple(fixes.safe_lines(text)), "toml"))
    return Details(message("conflict.labelled", label=label, text=changes), tuple(blocks))


def _attempts(explanation: Explanation) -> Iterator[Block]:
    """Yield what was tried without success."""
    if not explanation.attempts:
        if not explanation.fixes:
            yield paragraph_of(message("conflict.nothing-tried"))
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
