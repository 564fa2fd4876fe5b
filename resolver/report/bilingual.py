"""Texts in both languages, with the same placeholders."""

from __future__ import annotations

import re
from typing import NamedTuple

from resolver.model.language import Language

# Chinese has no space after full-width punctuation or between two characters, whatever values begin and end with.
_NO_SPACE = "(?<=[）：，。；、]) +|(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])"  # compiled when needed


class Words(NamedTuple):
    """One text in both languages; call it with a language and the values of its placeholders."""

    en: str
    zh: str

    def __call__(self, language: Language, **values: object) -> str:
        """The text. Raises if a placeholder has no value."""
        if language == "en":
            return self.en.format(**values)
        return re.sub(_NO_SPACE, "", self.zh.format(**values))


class Counted(NamedTuple):
    """A text with a singular and a plural in English, and in Chinese where `zh_many` is given. Has a `count`."""

    one: str
    many: str
    zh: str
    zh_many: str = ""

    def __call__(self, language: Language, count: int, **values: object) -> str:
        """The text for this count."""
        text = Words(self.one, self.zh) if count == 1 else Words(self.many, self.zh_many or self.zh)
        return text(language, count=count, **values)
