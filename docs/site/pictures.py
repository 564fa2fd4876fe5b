"""The pictures of the pages as SVG: boxes in columns and rows, and arrows between them.

`python -m docs.site.pictures` writes docs/pictures/, in both languages.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from docs.site.navigation import LANGUAGES, REPOSITORY, SiteLanguage

FOLDER: Final = REPOSITORY / "docs" / "pictures"
# Pixels: a box, the space between boxes, the margin, a line of text.
_WIDTH, _HEIGHT, _GAP, _DOWN, _MARGIN, _LINE = 172, 64, 46, 34, 14, 17
_COLOURS: Final = {
    "input": ("#e8f0fe", "#3b6fc4"),
    "step": ("#fff4d6", "#b8860b"),
    "result": ("#e3f4e3", "#3a8a3a"),
    "refused": ("#fde4e1", "#c0392b"),
}
# The tip of an arrow.
_TIP: Final = """<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"
 markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>"""


class Box(NamedTuple):
    """A box at a place of the grid."""

    column: int
    row: int
    kind: str
    # Up to three lines, in each of the languages.
    en: str
    zh: str


class Picture(NamedTuple):
    """Boxes by their names, and arrows between two of them with a text in each language."""

    boxes: dict[str, Box]
    arrows: tuple[tuple[str, str, str, str], ...]


PICTURES: Final = {
    "day": Picture(
        {
            "import": Box(
                0,
                0,
                "input",
                "1 import\nrequirements.txt\n→ job.toml",
                "1 导入\nrequirements.txt\n→ job.toml",
            ),
            "lock": Box(1, 0, "step", "2 lock", "2 锁定"),
            "conflict": Box(
                1, 1, "refused", "no solution:\nreason, ways out", "无解：\n原因和解决办法"
            ),
            "apply": Box(2, 1, "step", "3 take a way out", "3 采用一个解决办法"),
            "review": Box(2, 0, "result", "4 review\nlocks/job/…", "4 审阅\nlocks/job/…"),
            "bundle": Box(3, 0, "step", "5 bundle\nevery file", "5 离线包\n全部文件"),
            "nodes": Box(4, 0, "result", "6 install\non all nodes", "6 在所有节点\n上安装"),
            "fleet": Box(
                4, 1, "step", "7 fleet: which\nnode differs?", "7 fleet：\n哪个节点不同？"
            ),
        },
        (
            ("import", "lock", "", ""),
            ("lock", "review", "", ""),
            ("lock", "conflict", "", ""),
            ("conflict", "apply", "", ""),
            ("apply", "review", "", ""),
            ("review", "bundle", "", ""),
            ("bundle", "nodes", "", ""),
            ("nodes", "fleet", "", ""),
        ),
    ),
    "lock": Picture(
        {
            "stack": Box(
                0,
                0,
                "input",
                "stack\nwhat you want,\nfor which machine",
                "软件栈\n要什么，\n用在什么机器上",
            ),
            "facts": Box(
                0, 1, "input", "facts\nwhat metadata\ndoes not say", "事实\n元数据没有\n说明的"
            ),
            "indexes": Box(
                0, 2, "input", "indexes\nreleases and\ntheir metadata", "软件源\n各版本及其\n元数据"
            ),
            "solve": Box(1, 1, "step", "lock", "锁定"),
            "lock": Box(
                2,
                0,
                "result",
                "lock.toml\nevery file\nby sha256",
                "lock.toml\n每个文件及其\nsha256",
            ),
            "report": Box(
                2, 2, "refused", "conflict\nreason and\nways out", "冲突\n原因和\n解决办法"
            ),
            "install": Box(3, 0, "result", "install.sh\non the target", "install.sh\n在目标机器上"),
            "verify": Box(4, 0, "result", "verify.py\nis it as locked?", "verify.py\n是否与锁一致"),
        },
        (
            ("stack", "solve", "", ""),
            ("facts", "solve", "", ""),
            ("indexes", "solve", "", ""),
            ("solve", "lock", "", ""),
            ("solve", "report", "", ""),
            ("lock", "install", "", ""),
            ("install", "verify", "", ""),
        ),
    ),
    "facts": Picture(
        {
            "vllm": Box(0, 0, "input", "vllm\n0.13.0", "vllm\n0.13.0"),
            "ascend": Box(2, 0, "input", "vllm-ascend\n0.13.0", "vllm-ascend\n0.13.0"),
            "npu": Box(2, 2, "input", "torch-npu\n2.8.0.post2", "torch-npu\n2.8.0.post2"),
            "torch": Box(0, 2, "input", "torch\n2.8.0", "torch\n2.8.0"),
            "cann": Box(4, 1, "result", "CANN 8.5.0\n(the machine)", "CANN 8.5.0\n（机器）"),
        },
        (
            ("ascend", "vllm", "fact", "事实"),
            ("ascend", "npu", "metadata", "元数据"),
            ("npu", "torch", "metadata", "元数据"),
            ("ascend", "cann", "fact", "事实"),
            ("npu", "cann", "fact", "事实"),
        ),
    ),
    "targets": Picture(
        {
            "stack": Box(
                0, 1, "input", "one stack,\ntwo [[target]]", "一个软件栈，\n两个 [[target]]"
            ),
            "arm": Box(
                1,
                0,
                "result",
                "lock for\naarch64, Python 3.11\nCANN 8.5.0, A2",
                "锁文件\naarch64、Python 3.11\nCANN 8.5.0、A2",
            ),
            "x86": Box(
                1,
                2,
                "result",
                "lock for\nx86_64, Python 3.11\nCANN 8.5.0, A2",
                "锁文件\nx86_64、Python 3.11\nCANN 8.5.0、A2",
            ),
            "nodes": Box(2, 0, "step", "64 Kunpeng nodes", "64 个鲲鹏节点"),
            "host": Box(2, 2, "step", "a host with Xeon", "一台 x86 主机"),
        },
        (
            ("stack", "arm", "", ""),
            ("stack", "x86", "", ""),
            ("arm", "nodes", "", ""),
            ("x86", "host", "", ""),
        ),
    ),
    "practices": Picture(
        {
            "metadata": Box(
                0,
                0,
                "refused",
                "metadata of vllm 0.18\nopencv >= 4.13",
                "vllm 0.18 的元数据\nopencv >= 4.13",
            ),
            "image": Box(
                0, 2, "input", "the vendor's image\nopencv 4.11", "厂商的镜像\nopencv 4.11"
            ),
            "off": Box(1, 0, "refused", "practice off\nno solution", "未启用惯例\n无解"),
            "on": Box(1, 2, "step", "practice on\nthe stack names it", "启用惯例\n由软件栈写明"),
            "lock": Box(
                2,
                2,
                "result",
                "lock, first warning:\nsource and risk",
                "锁文件，首条警告：\n出处和风险",
            ),
        },
        (
            ("metadata", "off", "", ""),
            ("image", "on", "", ""),
            ("off", "on", "", ""),
            ("on", "lock", "", ""),
        ),
    ),
    "proofs": Picture(
        {
            "search": Box(0, 1, "step", "search", "搜索"),
            "found": Box(1, 0, "step", "versions\nfor everything", "一组完整\n的版本"),
            "check": Box(
                2, 0, "step", "independent check\nof every requirement", "独立检查\n每一条要求"
            ),
            "lock": Box(3, 0, "result", "lock", "锁文件"),
            "none": Box(
                1, 2, "refused", "refutation by the\ncomplete engine", "完备引擎\n给出反驳"
            ),
            "proof": Box(2, 2, "step", "independent check\nof the proof", "独立检查\n证明"),
            "ways": Box(
                3,
                2,
                "result",
                "ways out: each one\nsolved and checked",
                "解决办法：逐一\n求解并检查",
            ),
        },
        (
            ("search", "found", "", ""),
            ("search", "none", "", ""),
            ("found", "check", "", ""),
            ("check", "lock", "", ""),
            ("none", "proof", "", ""),
            ("proof", "ways", "", ""),
        ),
    ),
}


def svg(picture: Picture, language: SiteLanguage) -> str:
    """Return a picture in a language."""
    columns = max(box.column for box in picture.boxes.values()) + 1
    rows = max(box.row for box in picture.boxes.values()) + 1
    width = columns * (_WIDTH + _GAP) - _GAP + 2 * _MARGIN
    height = rows * (_HEIGHT + _DOWN) - _DOWN + 2 * _MARGIN
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">',
        _TIP,
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for begin, end, en, zh in picture.arrows:
        label = en if language == "en" else zh
        lines.extend(_arrow(picture.boxes[begin], picture.boxes[end], label))
    for box in picture.boxes.values():
        lines.extend(_box(box, language))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _corner(box: Box) -> tuple[float, float]:
    """Return the upper left corner of a box."""
    return _MARGIN + box.column * (_WIDTH + _GAP), _MARGIN + box.row * (_HEIGHT + _DOWN)


def _box(box: Box, language: SiteLanguage) -> Iterator[str]:
    x, y = _corner(box)
    fill, stroke = _COLOURS[box.kind]
    yield (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="8" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )
    texts = (box.en if language == "en" else box.zh).split("\n")
    top = y + _HEIGHT / 2 - (len(texts) - 1) * _LINE / 2 + 5
    for number, text in enumerate(texts):
        weight = ' font-weight="bold"' if number == 0 else ""
        yield (
            f'<text x="{x + _WIDTH / 2:g}" y="{top + number * _LINE:g}" '
            f'text-anchor="middle"{weight}>{escape(text)}</text>'
        )


def _arrow(begin: Box, end: Box, label: str) -> Iterator[str]:
    """Yield an arrow from the side of a box to the side of another that is nearest."""
    (x1, y1), (x2, y2) = _corner(begin), _corner(end)
    if begin.column == end.column:
        down = y2 > y1
        ax, bx = x1 + _WIDTH / 2, x2 + _WIDTH / 2
        ay, by = (y1 + _HEIGHT, y2) if down else (y1, y2 + _HEIGHT)
    else:
        right = x2 > x1
        ax, bx = (x1 + _WIDTH, x2) if right else (x1, x2 + _WIDTH)
        ay, by = y1 + _HEIGHT / 2, y2 + _HEIGHT / 2
    yield (
        f'<path d="M{ax:g} {ay:g}L{bx:g} {by:g}" stroke="#555" stroke-width="1.4" fill="none" '
        'marker-end="url(#tip)"/>'
    )
    if label:
        x, y = (ax + bx) / 2, (ay + by) / 2
        yield f'<rect x="{x - 32:g}" y="{y - 10:g}" width="64" height="19" fill="#fff"/>'
        place = f'x="{x:g}" y="{y + 4:g}"'
        yield f'<text {place} text-anchor="middle" fill="#555">{escape(label)}</text>'


def file_of(name: str, language: SiteLanguage) -> Path:
    """Return the file of a picture in a language."""
    suffix = "" if language == "en" else ".zh-CN"
    return FOLDER / f"{name}{suffix}.svg"


def write_pictures() -> None:
    """Write every picture in every language."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        for language in LANGUAGES:
            file_of(name, language).write_text(svg(picture, language), encoding="utf-8")


if __name__ == "__main__":
    write_pictures()
