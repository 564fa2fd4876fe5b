"""Ask for a value on a terminal, until the answer is one that can be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from resolver.cli.console import print_error, print_to_stderr
from resolver.errors import InputError, harmless
from resolver.i18n import translate
from resolver.model.message import joined, message
from resolver.model.text import Language
from resolver.phrase import phrase


def ask(
    question: str,
    choices: Sequence[str],
    default: str,
    read: Callable[[str], str],
    language: Language,
) -> str:
    """Return the value that a user answers a question with, on stderr.

    The choices are listed above the question. `read` returns the value of an answer. If it raises
    InputError, the error is printed and the question is asked again. Raises KeyboardInterrupt with
    a phrase if the user gives no answer: the input ends, or is interrupted.
    """
    values = joined("comma", choices)
    listed = message("init.choices", question=question, values=values)
    print_to_stderr(translate(listed, language))
    while True:
        try:
            # The texts that are shown are escaped.
            answer = click.prompt(  # noqa: TID251
                question, default=harmless(default), err=True
            )
        except click.Abort:
            raise KeyboardInterrupt(phrase("interrupted; nothing was written")) from None
        try:
            return read(str(answer).strip())
        except InputError as error:
            print_error(error, language)
