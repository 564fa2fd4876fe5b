"""Turn errors of click about a command line into errors of this program.

click puts a sentence together before it raises it, in a language from the environment. Here the
sentence is taken apart again by its template, so that it can be translated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import click

from resolver.cli.words import ANSWERS, argument_answer, option_answer
from resolver.errors import InputError
from resolver.phrase import EMPTY, Phrase, literal, phrase

# The sentences of click, the more specific first. Some differ between releases of click.
SENTENCES: Final = (
    phrase("Invalid value for {name}: {message}"),
    phrase("Invalid value: {message}"),
    phrase("Missing argument {name}. Choose from: {choices}"),
    phrase("Missing argument {name}."),
    phrase("Missing option {name}. Choose from: {choices}"),
    phrase("Missing option {name}."),
    phrase("No such option {name}. Did you mean {others}?"),
    phrase("No such option {name}. (Did you mean one of: {others}?)"),
    phrase("No such option {name}."),
    phrase("No such option: {name} Did you mean {others}?"),
    phrase("No such option: {name} (Possible options: {others})"),
    phrase("No such option: {name}"),
    phrase("No such command {name}. Did you mean {others}?"),
    phrase("No such command {name}. (Did you mean one of: {others}?)"),
    phrase("No such command {name}."),
    phrase("Missing command."),
    phrase("Option {name} requires an argument."),
    phrase("Option {name} requires {count} arguments."),
    phrase("Option {name} does not take a value."),
    phrase("Argument {name} takes {count} values."),
    phrase("Got unexpected extra argument ({arguments})"),
    phrase("Got unexpected extra arguments ({arguments})"),
    phrase("{value} is not one of {choices}."),
    phrase("{value} does not match the format {formats}."),
    phrase("{value} does not match the formats {formats}."),
    phrase("{value} is not in the range {range}."),
    phrase("{value} is not a valid integer."),
    phrase("{value} is not a valid integer range."),
    phrase("{value} is not a valid float."),
    phrase("{value} is not a valid float range."),
    phrase("File {value} does not exist."),
    phrase("File {value} is a directory."),
    phrase("File {value} is not readable."),
    phrase("Path {value} does not exist."),
    phrase("Path {value} is not readable."),
    phrase("Directory {value} does not exist."),
    phrase("Directory {value} is a file."),
    phrase("Directory {value} is not readable."),
)
# The beginning of the sentences about arguments that a command does not have.
_TOO_MANY: Final = "Got unexpected extra argument"
# The beginning of the sentence about a command that a group does not have.
_UNKNOWN_COMMAND: Final = re.compile(r"No such command '([^']+)'")
# The placeholder whose value is another sentence.
_NESTED: Final = "message"
_PLACEHOLDER: Final = re.compile(r"\{([a-z]+)\}")


def usage_error(error: click.ClickException) -> InputError:
    """Return an error of click as an error on one line. Its hint is the help to read."""
    command = "ascend-lock"
    if isinstance(error, click.UsageError) and error.ctx:
        command = error.ctx.command_path
    if isinstance(error, click.NoSuchOption) and error.ctx:
        answer = option_answer(" ".join(command.split()[1:]), error.option_name)
        # The option that click suggests as similar is left out.
        if answer:
            name = f"'{error.option_name}'"
            return InputError(phrase("No such option {name}.", name=name), hint=answer)
    # click writes each choice of an option on a line of its own.
    message = " ".join(error.format_message().split())
    answer = EMPTY
    if message.startswith(_TOO_MANY):
        answer = argument_answer(" ".join(command.split()[1:]))
    unknown = _UNKNOWN_COMMAND.match(message)
    if unknown:
        answer = ANSWERS.get(unknown[1], EMPTY)
    return InputError(sentence(message), hint=answer or _see_help(command))


def bad_value(context: click.Context, parameter: click.Parameter, why: Phrase) -> InputError:
    """Return the error that the value of an option cannot be used."""
    name = parameter.get_error_hint(context)
    return InputError(
        phrase("Invalid value for {name}: {message}", name=name, message=why),
        hint=_see_help(context.command_path),
    )


def sentence(text: str) -> Phrase:
    """Return a sentence of click as a phrase that can be translated.

    An unknown sentence is returned as it is.
    """
    for template, pattern in _patterns().items():
        match = pattern.fullmatch(text)
        if match is None:
            continue
        values: dict[str, object] = dict(match.groupdict())
        if _NESTED in values:
            values[_NESTED] = sentence(match[_NESTED])
        return Phrase(template, values)
    return literal(text)


@lru_cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    """Return, for each template, the regular expression that matches its sentences."""
    patterns = {}
    for each in SENTENCES:
        # Every second part is the name of a placeholder.
        parts = _PLACEHOLDER.split(each.template)
        parts[::2] = map(re.escape, parts[::2])
        parts[1::2] = [f"(?P<{name}>.+)" for name in parts[1::2]]
        patterns[each.template] = re.compile("".join(parts))
    return patterns


def _see_help(command: str) -> Phrase:
    """Return the hint to read the help of a command."""
    return phrase("see `{command}`", command=f"{command} --help")
