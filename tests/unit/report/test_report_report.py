"""report.md and report.zh.md of the shipped locks, and what their scripts print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from resolver.lock import file as lock_file
from resolver.lock.bundle import BundledLock
from resolver.model.lock import Lock
from resolver.report.markup import markdown
from resolver.report.report import report
from resolver.report.script import activation, bundle_script, script

CHINESE = re.compile("[\u4e00-\u9fff]")
CELL = re.compile(r"(?<!\\)\|")


def locks() -> dict[str, Lock]:
    found = {}
    for path in sorted(Path("locks").glob("*/*/lock.toml")):
        lock = lock_file.read(path.parent)
        assert lock is not None
        found["/".join(path.parts[1:3])] = lock
    return found


LOCKS = locks()


@pytest.mark.parametrize("name", LOCKS)
def test_report_has_one_shape_in_both_languages(name: str) -> None:
    english, chinese = report(LOCKS[name]).splitlines(), report(LOCKS[name], "zh").splitlines()
    assert [shape(line) for line in chinese] == [shape(line) for line in english]


def shape(line: str) -> tuple[str, int]:
    """What a line is (heading, item, row), and how many cells it has."""
    mark = re.match(r"#+ |- |\|", line)
    return mark[0] if mark is not None else "", len(CELL.findall(line))


@pytest.mark.parametrize("name", LOCKS)
def test_report_has_chinese_warnings_and_reasons(name: str) -> None:
    lock, head, reasons = LOCKS[name], None, 0
    for line in report(lock, "zh").splitlines():
        cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
        if line.startswith("- "):
            assert CHINESE.search(line), line
        elif not cells:
            head = None
        elif head is None:
            head = cells
            assert all(map(CHINESE.search, head)), line
        elif cells[0] != "---":
            for title, cell in zip(head, cells, strict=True):
                if title in ("原因", "理由"):
                    assert CHINESE.search(cell), line
                    reasons += 1
    rows = (lock.pin, lock.build_pin, lock.departs, lock.absent, lock.export, lock.fact)
    assert reasons == sum(map(len, rows))


@pytest.mark.parametrize("name", LOCKS)
def test_report_title_has_the_summary_in_its_language(name: str) -> None:
    lock = LOCKS[name]
    assert lock.summary_zh
    english, chinese = markdown(lock.summary), markdown(lock.summary_zh)
    without = report(replace(lock, summary_zh=""), "zh")
    for text, expected in (
        (report(lock), (True, False)),
        (report(lock, "zh"), (False, True)),
        (without, (True, False)),
    ):
        title = text.splitlines()[0]
        assert (english in title, chinese in title) == expected


def test_script_variable_is_not_followed_by_chinese() -> None:
    """A bash in a locale of single bytes would take the Chinese for a part of the name."""
    bundled = BundledLock(
        stack="demo",
        target="here",
        platform="linux-aarch64",
        python="3.11",
        folder="locks/demo/here",
    )
    texts = [script(lock) for lock in LOCKS.values()]
    texts += [activation(lock) for lock in LOCKS.values()]
    texts += bundle_script([bundled, replace(bundled, platform="linux-x86_64")]).values()
    for text in texts:
        assert re.findall(r"\$[A-Za-z_]\w*(?=[^\x00-\x7f])", text, re.ASCII) == []
