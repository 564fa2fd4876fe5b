"""The languages that reports are written in."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]
