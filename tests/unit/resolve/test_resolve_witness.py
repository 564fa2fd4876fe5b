"""The answer before, as long as it is one."""

from __future__ import annotations

from random import Random

import pytest
from pysat.solvers import Cadical153

from resolver.resolve.grounded import Grounded, Witness


def test_it_is_an_answer_until_a_clause_says_otherwise() -> None:
    witness = Witness()
    assert not witness.meets([], [])
    witness.take([1, -2, 3])
    assert witness.meets([1, 3], [2])
    assert not witness.meets([2], [])
    assert not witness.meets([], [1])
    witness.add([-1, -2])
    assert list(witness.true()) == [1, 3]
    witness.add([-1, 2])
    assert not witness.meets([1], [])
    assert not list(witness.true())


def test_what_is_new_is_false_unless_it_is_said_to_hold() -> None:
    witness = Witness()
    witness.hold(9)
    witness.take([1])
    witness.add([-2, 3])
    assert witness.meets([1], [2, 3])
    witness.hold(4)
    witness.add([-1, 4])
    assert witness.meets([4], [2])
    witness.add([-4, 2])
    assert not witness.meets([1], [])


@pytest.mark.parametrize("seed", range(40))
def test_what_holds_is_what_the_solver_alone_says(seed: int) -> None:
    """Clauses come between questions; the answer that is told meets all of them, and what was assumed."""
    random = Random(seed)
    told, known = Grounded(), []
    asked = saved = 0
    for _ in range(120):
        clause = [one * random.choice((1, -1)) for one in random.sample(range(2, 22), 3)]
        told.imply(clause)
        known.append(clause)
        assumed = random.sample(range(2, 22), random.randint(0, 3))
        with Cadical153(bootstrap_with=known) as alone:
            expected = alone.solve(assumptions=assumed)
        saved += told._witness.meets(assumed, ())
        assert told.holds(assumed) == expected
        if expected:
            true = set(told._witness.true())
            assert true.issuperset(assumed)
            assert all(any((literal > 0) == (abs(literal) in true) for literal in one) for one in known)
        asked += 1
    told.close()
    assert 0 < saved < asked
