"""What the answers of the indexes bound to a project make together, without any index."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from packaging.utils import NormalizedName

from resolver.errors import IndexFailure, InputError, Unreachable
from resolver.index.bindings import Answers, BoundIndexes
from resolver.index.protocol import Lookup
from resolver.index.store.page_cache import IndexAnswer
from resolver.model.problem import Binding, Index, Indexes
from resolver.model.release import File, Page
from resolver.phrase import literal

DEMO = NormalizedName("demo")
ABSENT = IndexAnswer("", None)
FAILURE = Unreachable(literal("a cannot be reached"))


def bound(**binding: Any) -> Answers:
    indexes = Indexes(
        indexes={name: Index(name=name) for name in ("a", "b")},
        bindings=(Binding(packages=("*",), indexes=("a", "b"), **binding),),
    )
    return BoundIndexes(indexes, "linux-aarch64", lambda: "https://index.example/").answers(DEMO)


def page(index: str) -> IndexAnswer:
    files = (File("demo-1.0-py3-none-any.whl", f"https://{index}.example/demo.whl"),)
    return IndexAnswer(f"key-{index}", Page(project=DEMO, index=index, releases={"1.0": files}))


def asked(answers: Answers, results: Iterable[IndexAnswer | IndexFailure]) -> tuple[str, Lookup]:
    """Add a result for each index that is asked; the names of these, and the look-up."""
    names = ""
    given = iter(results)
    for name in answers.indexes_to_ask():
        names += name
        result = next(given)
        if isinstance(result, IndexFailure):
            answers.add_failure(name, result)
        else:
            answers.add(name, result)
    return names, answers.lookup()


def test_answers_end_with_the_first_index_that_has_the_project() -> None:
    names, lookup = asked(bound(), [page("a")])
    assert names == "a"
    assert [found.index for found in lookup.pages] == ["a"]
    assert lookup.fingerprint == "a key-a"


def test_answers_go_on_after_an_index_without_the_project() -> None:
    names, lookup = asked(bound(), [ABSENT, page("b")])
    assert names == "ab"
    assert [found.index for found in lookup.pages] == ["b"]
    assert lookup.fingerprint == "a \nb key-b"


def test_answers_of_all_indexes_are_combined() -> None:
    names, lookup = asked(bound(take="all"), [page("a"), page("b")])
    assert names == "ab"
    assert [found.index for found in lookup.pages] == ["a", "b"]


def test_answers_of_no_index_with_the_project() -> None:
    _, lookup = asked(bound(), [ABSENT, ABSENT])
    assert lookup.pages == ()


def test_answers_raise_the_failure_of_a_required_index() -> None:
    with pytest.raises(Unreachable, match="a cannot be reached"):
        asked(bound(), [FAILURE])


def test_answers_skip_an_unreachable_index() -> None:
    names, lookup = asked(bound(unreachable="next"), [FAILURE, page("b")])
    assert names == "ab"
    assert lookup.unreachable == ("a",)
    assert lookup.fingerprint == "b key-b\na -"


def test_answers_raise_the_first_failure_if_none_answers() -> None:
    with pytest.raises(Unreachable, match="a cannot be reached"):
        asked(bound(unreachable="next"), [FAILURE, Unreachable(literal("b cannot be reached"))])


def test_roots_of_an_index_that_is_not_defined() -> None:
    indexes = BoundIndexes(Indexes(indexes={}, bindings=()), "linux-aarch64", str)
    with pytest.raises(InputError, match="names the index `a`, which is not defined"):
        indexes.roots("a")
