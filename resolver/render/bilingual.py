"""Texts in both languages, with the same placeholders."""

from __future__ import annotations

import re
from typing import NamedTuple

from resolver.model.language import Language

# Chinese has no space after a full-width mark or between two characters, whatever the values begin and end with.
_NO_SPACE = "(?<=[）：，。；、]) +|(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])"  # compiled where it is needed


class Words(NamedTuple):
    """One text in both languages. Called with a language and the values of its placeholders, it is that text."""

    en: str
    zh: str

    def __call__(self, language: Language, **values: object) -> str:
        """The text; a placeholder without a value is an error."""
        if language == "en":
            return self.en.format(**values)
        return re.sub(_NO_SPACE, "", self.zh.format(**values))


class Counted(NamedTuple):
    """A text whose English differs for one and for several. `count` is a placeholder of it."""

    one: Words
    many: Words

    def __call__(self, language: Language, count: int, **values: object) -> str:
        """The text for so many."""
        return (self.one if count == 1 else self.many)(language, count=count, **values)
