"""Line breaks of Chinese pages: a browser shows one as a space, which Chinese does not have."""

from __future__ import annotations

import re
from typing import Final

_WIDE: Final = "[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef“”…]"
_BREAK: Final = re.compile(rf"(?<={_WIDE})\n {{0,8}}(?={_WIDE})")
_CODE: Final = re.compile(r"(?ms)^ *```.*?^ *```$")


def without_breaks(text: str) -> str:
    """Return a page whose paragraphs have no line break between two Chinese characters."""
    parts = []
    end = 0
    for block in _CODE.finditer(text):
        parts.append(_BREAK.sub("", text[end : block.start()]))
        parts.append(block[0])
        end = block.end()
    parts.append(_BREAK.sub("", text[end:]))
    return "".join(parts)
