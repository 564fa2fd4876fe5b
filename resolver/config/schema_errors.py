"""What msgspec refused in a TOML file, told with the key and, for an unknown one, the nearest that is known.

A pattern is described by `description` and `examples` of the type's `msgspec.Meta`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from resolver.config.lines import Path
from resolver.errors import without_secrets
from resolver.suggestions import did_you_mean

# The end of msgspec's messages, which have `[...]` for a key of a dict.
_PLACE: Final = re.compile(r" - at `\$((?:\.[\w-]+|\[(?:\d+|\.\.\.)\])+)`\Z")
_STEP: Final = re.compile(r"\.([\w-]+)|\[(\d+)\]|\[\.\.\.\]")
_UNKNOWN: Final = "Object contains unknown field `"
_MISSING: Final = "Object missing required field `"
_TYPES: Final = {
    "str": "a string in quotes",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table",
    "array": "a list ([…], or [[…]] for tables)",
    "date": "a date without quotes",
    "datetime": "a date with a time",
    "time": "a time",
}


class SchemaError(msgspec.Struct, frozen=True):
    """What is wrong at a path, why, and what helps. All of it without secrets."""

    path: Path
    what: str
    why: str = ""
    hint: str = ""


def schema_error(error: msgspec.ValidationError, content: Any, shape: type[msgspec.Struct]) -> SchemaError:
    """The error of `msgspec.convert(content, shape)`, in words for whoever wrote the content."""
    whole = any(str(error) == f"{_UNKNOWN}{key}`" for key in content)  # whatever the key looks like
    message, place, *_ = (str(error), "") if whole else (*_PLACE.split(str(error)), "")
    path, value, kinds = _located(place, content, shape)
    fields = [field for kind in kinds if _is_struct(kind) for field in msgspec.structs.fields(kind)]
    if message.startswith(_UNKNOWN):
        key = message[len(_UNKNOWN) : -1]
        hint = _hint(key, [field.encode_name for field in fields], "known keys are")
        return SchemaError((*path, key), without_secrets(f"unknown key `{key}`"), hint=hint)
    if message.startswith(_MISSING):
        must = ", ".join(field.encode_name for field in fields if field.required)
        return SchemaError(path, f"the key {message[len(_MISSING) - 1 :]} is missing", hint=f"it must have {must}")
    named = next((f"`{step}`" for step in reversed(path) if isinstance(step, str)), "the file")
    literals = [str(one) for kind in kinds if get_origin(kind) is Literal for one in get_args(kind)]
    if literals:
        hint = _hint(value if isinstance(value, str) else "", sorted(literals), "it may be")
    else:
        examples = next((kind.examples for kind in kinds if isinstance(kind, msgspec.Meta) and kind.examples), ())
        hint = f"write for example {' or '.join(map(str, examples))}" if examples else ""
    described = next((kind.description for kind in kinds if isinstance(kind, msgspec.Meta) and kind.description), "")
    if isinstance(value, str) and (literals or described):
        what = f"`{value}` is not {described or f'a value of {named}'}"
        return SchemaError(path, without_secrets(what), hint=hint)
    return SchemaError(path, f"{named} cannot be used", _reworded(message), hint)


def _located(place: str, content: Any, shape: Any) -> tuple[Path, Any, list[Any]]:
    """The path that msgspec names, and the value and types there."""
    path: Path = ()
    kinds = list(_parts(shape))
    for name, number in _STEP.findall(place):
        step: str | int = int(number) if number else name
        if step == "":
            inner = next(get_args(kind)[1] for kind in kinds if get_origin(kind) is dict)
            step = next(key for key, item in content.items() if not _fits(item, inner))
        elif number:
            inner = next(get_args(kind)[0] for kind in kinds if get_origin(kind) is list)
        else:
            fields = [field for kind in kinds if _is_struct(kind) for field in msgspec.structs.fields(kind)]
            inner = next(field.type for field in fields if field.encode_name == name)
        path, content, kinds = (*path, step), content[step], list(_parts(inner))
    return path, content, kinds


def _parts(kind: Any) -> Iterator[Any]:
    """The members of a union, and what is annotated with its annotations."""
    if get_origin(kind) in (Annotated, Union, UnionType):
        for one in get_args(kind):
            yield from _parts(one)
    else:
        yield kind


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError:
        return False
    return True


def _hint(word: str, known: Sequence[str], what: str) -> str:
    return f"{did_you_mean(word.lower(), known, '')} {what} {', '.join(known)}".lstrip()


def _reworded(message: str) -> str:
    """`Expected `str | null`, got `int`` in TOML's words."""
    told = re.sub(r"`([a-z |]+)`", lambda match: _types(match[1]), message)
    return told[:1].lower() + told[1:]


def _types(names: str) -> str:
    return " or ".join(dict.fromkeys(_TYPES.get(name, name) for name in names.split(" | ") if name != "null"))
