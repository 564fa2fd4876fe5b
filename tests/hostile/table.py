"""docs/attacks.md: what was tried, with the results. `python -m tests.hostile.table` writes it."""

from __future__ import annotations

from pathlib import Path

from resolver.report.markup import markdown
from tests.hostile import attacks
from tests.hostile.scene import Attack

PATH = Path(__file__).resolve().parents[2] / "docs" / "attacks.md"
_LONGEST = 150

_GROUPS = {
    "Pages": attacks.PAGES,
    "Answers": attacks.ANSWERS,
    "Redirects": attacks.REDIRECTS,
    "Proxies": attacks.PROXIES,
    "What a page lists": attacks.LISTED,
    "Lists of wheel variants": attacks.VARIANTS,
    "Wheels, source archives and their metadata": attacks.FILES,
    "Binaries in wheels, where a fact has them judged": attacks.BINARIES,
}

_HEAD = """\
# Attacks

What a hostile index can do, and what then happens. `python -m tests.hostile.table` writes this \
page from
`tests/hostile/attacks.py`; do not edit it. Each row is the test \
`tests/hostile/test_attacks.py::test_attack_is_held`
with the row's name in brackets. At first there is a lock of demo 1.0. Each test compares the exit \
status and the
reason that is told, and checks that

- the old lock is still there byte for byte, unless demo was locked anew;
- no temporary file is left;
- nothing that a terminal would act on was printed or written;
- nothing that the index sent was run.

What does not fit into a row has a test of its own, named in [SECURITY.md](../SECURITY.md).
"""


def render() -> str:
    """Return the page."""
    parts = [_HEAD]
    for title, group in _GROUPS.items():
        parts.append(
            f"\n## {title}\n\n| what the index does | exit | what the user sees |\n|---|---|---|\n"
        )
        parts += [f"| {attack.name} | {attack.status} | {_seen(attack)} |\n" for attack in group]
    return "".join(parts)


def _seen(attack: Attack) -> str:
    """Return what the user sees: the pins, or the reason, shortened."""
    if attack.status == 0:
        return "locked: " + ", ".join(f"{name} {version}" for name, version in attack.pins.items())
    reason = attack.told
    if len(reason) > _LONGEST:
        reason = reason[: _LONGEST - 1] + "…"
    return markdown(reason)


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
