"""The text of a requirements file in any encoding that pip reads without asking the locale.

PowerShell's `pip freeze > requirements.txt` writes UTF-16 with a byte order mark. Unlike pip, the
locale does not count: the same file must give the same stack everywhere.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from resolver.config.toml_files import as_text, wrong_byte
from resolver.errors import InputError
from resolver.phrase import phrase

# The encodings by their byte order marks. That of UTF-16-LE begins that of UTF-32-LE.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32-LE"),
    (codecs.BOM_UTF32_BE, "UTF-32-BE"),
    (codecs.BOM_UTF16_LE, "UTF-16-LE"),
    (codecs.BOM_UTF16_BE, "UTF-16-BE"),
)
# A comment that names the encoding, in the form of PEP 263. Only the first lines may have it.
_COMMENT: Final = re.compile(rb"#.*?coding[:=]\s*([-\w.]{1,40})")
_COMMENT_LINES: Final = 2
# The encodings that a comment may name. Python has others, such as `unicode_escape` and `punycode`,
# that no editor writes and whose decoders were not made for hostile input.
_NAMED: Final = frozenset(
    (
        "ascii",
        "big5",
        "big5hkscs",
        "cp1250",
        "cp1251",
        "cp1252",
        "cp932",
        "cp949",
        "cp950",
        "euc_jp",
        "euc_kr",
        "gb18030",
        "gb2312",
        "gbk",
        "iso8859-1",
        "iso8859-15",
        "koi8-r",
        "shift_jis",
        "utf-8",
    )
)


def with_any_mark(content: bytes, name: str) -> str:
    r"""Return the text of a file in UTF-8, or in UTF-16 or UTF-32 with a byte order mark.

    Line ends become `\n`. `name` is the name of the file in errors. Raises InputError if the bytes
    are not in that encoding.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _decoded(content[len(mark) :], encoding, name)
    return as_text(content, name)


def as_pip_reads(content: bytes, name: str) -> str:
    """Return the text of a requirements file, as `with_any_mark` does.

    Without a byte order mark, a comment in the first two lines may name the encoding. Raises
    InputError.
    """
    if not content.startswith((codecs.BOM_UTF8, *(mark for mark, _ in _MARKS))):
        for number, line in enumerate(content.split(b"\n", _COMMENT_LINES)[:_COMMENT_LINES], 1):
            comment = _COMMENT.match(line)
            if comment is None:
                continue
            encoding = _known_encoding(comment[1], f"{name}:{number}")
            return (
                as_text(content, name) if encoding == "utf-8" else _decoded(content, encoding, name)
            )
    return with_any_mark(content, name)


def _known_encoding(named: bytes, where: str) -> str:
    """Return the encoding that a comment names. Raises InputError for one that is not read.

    The error does not quote the name, since the line may contain a secret.
    """
    try:
        encoding = codecs.lookup(named.decode("ascii")).name
    except (LookupError, ValueError):
        encoding = ""
    if encoding not in _NAMED:
        raise InputError(
            phrase("the encoding that a comment names is not read"),
            where=where,
            hint=phrase("save it as UTF-8"),
        )
    return encoding


def _decoded(content: bytes, encoding: str, name: str) -> str:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            phrase(
                "`{name}` is not {encoding}, as its beginning says", name=name, encoding=encoding
            ),
            where=name,
            why=wrong_byte(content, error.start, encoding),
            hint=phrase("save it as UTF-8"),
        ) from None
    return text.replace("\r\n", "\n")
