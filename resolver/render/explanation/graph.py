"""A contradiction as a graph: what requires what, statement by statement.

Boxes are projects, components, the stack and the target. Each statement is a label between them with a place of
its own, so that labels never overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from packaging.utils import canonicalize_name

from resolver.model.component import COMPONENTS
from resolver.model.explanation import Branch, Contradiction
from resolver.model.fact import Collides, Excludes
from resolver.model.language import Language
from resolver.model.statement import Asks, Forbids, Has, Lack, Lacks, Needs, Shares, Source, Span, Statement
from resolver.render.explanation import words
from resolver.render.explanation.sentences import component_name, releases
from resolver.render.explanation.words import Sort, sort_of
from resolver.render.text import one_line

_NAMED = re.compile(r"\s*(?P<name>[A-Za-z0-9._-]+)\s*(?P<extras>\[[^\]]*\])?\s*(?P<bound>.*)", re.DOTALL)
_LONGEST = 36  # characters per line in a box or a label

Role = Literal["root", "project", "component", "module"]


class Node(msgspec.Struct):
    """A box. `detail` is its second line: the releases concerned. `clash` is the last line, where statements meet."""

    key: str
    label: str
    role: Role
    detail: str = ""
    clash: str = ""


class Label(msgspec.Struct):
    """A statement from `sources` to `target`; without a source it is about the target alone."""

    number: int
    text: str
    sort: Sort
    sources: tuple[str, ...]
    target: str


class Graph(msgspec.Struct):
    """Nodes by key, in the order in which statements mention them, and the statements."""

    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    labels: list[Label] = msgspec.field(default_factory=list)


def conflict_graph(contradiction: Contradiction, stack: str, language: Language) -> Graph:
    """The graph of a contradiction in the stack of this name."""
    graph = Graph()
    for number, statement in enumerate(contradiction.statements, 1):
        _add(graph, number, statement, stack, language)
    _name_releases(graph, contradiction.statements, language)
    for subject in _closings(contradiction):
        for key in (f"module {subject}", _key(subject)):
            if key in graph.nodes:
                graph.nodes[key].clash = words.GRAPH_CLASH(language)
                break
    return graph


def _add(graph: Graph, number: int, statement: Statement, stack: str, language: Language) -> None:
    sort = sort_of(statement)
    match statement:
        case Asks():
            root = _node(graph, "stack", words.GRAPH_ROOT(language), "root", stack)
            target, bound = _wanted(graph, statement.text, components=True)
            graph.labels.append(Label(number, bound, sort, (root,), target))
        case Has():
            root = _node(graph, "target", words.GRAPH_TARGET(language), "root")
            target = _component(graph, statement.component)
            graph.labels.append(Label(number, _short(statement.value), sort, (root,), target))
        case Needs():
            parent, _ = _wanted(graph, statement.subject)
            target, bound = _wanted(graph, statement.needs, components=statement.source is not Source.METADATA)
            graph.labels.append(Label(number, bound, sort, (parent,), target))
        case Forbids(fact=fact):
            target, _ = _wanted(graph, statement.subject)
            text = words.GRAPH_EXCLUDED if isinstance(fact, Excludes) else words.GRAPH_MISNAMED
            graph.labels.append(Label(number, text(language), sort, (), target))
        case Shares(fact=fact):
            owners = tuple(_wanted(graph, name)[0] for name in (fact.package, fact.other))
            label = words.GRAPH_MODULE(language, name=fact.module) if isinstance(fact, Collides) else fact.module
            target = _node(graph, f"module {fact.module}", label, "module")
            graph.labels.append(Label(number, "", sort, owners, target))
        case Lacks():
            target, _ = _wanted(graph, statement.subject)
            graph.labels.append(Label(number, _lack(statement, language), sort, (), target))


def _wanted(graph: Graph, text: str, *, components: bool = False) -> tuple[str, str]:
    """The node of the project or component of a requirement, and the rest of the requirement."""
    match = _NAMED.fullmatch(one_line(text))
    if match is None:
        return _node(graph, _key(text), _short(text), "project"), ""
    if components and match["name"] in COMPONENTS:
        return _component(graph, match["name"]), _short(match["bound"])
    key = _node(graph, _key(match["name"]), match["name"], "project")
    if match["extras"]:
        graph.nodes[key].label = _short(match["name"] + match["extras"])
    return key, _short(match["bound"])


def _component(graph: Graph, name: str) -> str:
    return _node(graph, f"component {name}", component_name(name), "component")


def _node(graph: Graph, key: str, label: str, role: Role, detail: str = "") -> str:
    graph.nodes.setdefault(key, Node(key, _short(label), role, _short(detail)))
    return key


def _key(text: str) -> str:
    match = _NAMED.fullmatch(one_line(text))
    return f"project {canonicalize_name(match['name'])}" if match else f"project {one_line(text)}"


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _lack(statement: Lacks, language: Language) -> str:
    match statement.lack:
        case Lack.PROJECT:
            return words.GRAPH_LACK_PROJECT(language)
        case Lack.RELEASE:
            return words.GRAPH_LACK_RELEASE(language)
        case Lack.FILE:
            return words.GRAPH_LACK_FILE(language)
        case Lack.UNUSABLE:
            return words.GRAPH_LACK_UNUSABLE(language)
        case Lack.PRERELEASE | Lack.NEEDLESS:
            return words.GRAPH_LACK_PRERELEASE(language)
        case Lack.YANKED:
            return words.GRAPH_LACK_YANKED(language)
        case Lack.CUTOFF:
            return words.GRAPH_LACK_CUTOFF(language)
        case Lack.SOURCE:
            return words.GRAPH_LACK_SOURCE(language)
        case Lack.UNREACHABLE:
            return words.GRAPH_LACK_UNREACHABLE(language)


def _name_releases(graph: Graph, statements: Sequence[Statement], language: Language) -> None:
    """Write the releases into a box if all its requirements are of the same ones, otherwise into the labels."""
    spoken: dict[str, list[tuple[Span, ...]]] = {}
    for statement in statements:
        if isinstance(statement, Needs):
            spoken.setdefault(_key(statement.subject), []).append(statement.versions)
    for label, statement in zip(graph.labels, statements, strict=True):
        if not isinstance(statement, (Needs, Forbids)) or not statement.versions:
            continue
        key = _key(statement.subject)
        if isinstance(statement, Needs) and all(versions == statement.versions for versions in spoken[key]):
            graph.nodes[key].detail = _short(releases("", statement.versions, language).strip())
        else:
            told = words.COMMA(language).join(map(_brief, statement.versions))
            label.text = _short(words.LABELLED(language, label=told, text=label.text) if label.text else told)


def _brief(span: Span) -> str:
    return span.oldest if span.count == 1 else f"{span.oldest}–{span.newest}"


def _closings(contradiction: Contradiction) -> Iterator[str]:
    if contradiction.closing is not None:
        yield contradiction.closing.subject
    yield from _of_branches(contradiction.branches)


def _of_branches(branches: Sequence[Branch]) -> Iterator[str]:
    for branch in branches:
        if branch.closing is not None:
            yield branch.closing.subject
        yield from _of_branches(branch.branches)
