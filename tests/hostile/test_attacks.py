"""Whatever an index does: the whole message, the status, the old lock as it was, and nothing left behind."""

from __future__ import annotations

import pytest

from tests.hostile.attacks import ATTACKS
from tests.hostile.scene import Attack, Scene, hold


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_held(scene: Scene, attack: Attack) -> None:
    hold(scene, attack)
