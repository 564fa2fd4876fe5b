"""The compiler of components: the ones in systems.toml, and `python` and `glibc`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from resolver.ascend.versions import parse_version
from resolver.config.lines import TomlText
from resolver.config.schema import ComponentRow, SystemsFile
from resolver.errors import InputError
from resolver.model import patterns
from resolver.model.component import BUILT_IN, NAMES, PEP_440, Component, Components, Grammar
from resolver.phrase import phrase

# The grammars by the value of the key `versions`. docs/vendors.md says how to add a grammar.
GRAMMARS: Final[Mapping[str, Grammar]] = {
    "pep440": PEP_440,
    "names": NAMES,
    # A release line has at most two numbers: 8.5.* is one, and 8.5.1.* is not.
    "cann": Grammar(parse=parse_version, line_numbers=2),
}


# An example of a value for each grammar, for messages about a component without known values.
_EXAMPLES: Final = {"pep440": "12.4", "names": "A2", "cann": "8.5.0"}


def compile_components(systems: SystemsFile, text: TomlText) -> Components:
    """Return the components that targets can have, by name.

    First come the components of systems.toml, sorted by name, and then `python` and `glibc`,
    unless the file has them. Errors list them in this order. Raises InputError with
    file:line:key.
    """
    tables = sorted(systems.component.items())
    components = {name: _component(name, table, text) for name, table in tables}
    return {**components, **{name: BUILT_IN[name] for name in BUILT_IN if name not in components}}


def _component(name: str, table: ComponentRow, text: TomlText) -> Component:
    """Return the component of a table of systems.toml. Raises InputError.

    For `python` and `glibc`, only the known values and names are taken from the table.
    """
    path = ("component", name)
    if not patterns.COMPONENT.matches(name):
        complaint = phrase(
            "`{name}` is not {description}", name=name, description=patterns.COMPONENT.description
        )
        raise InputError(complaint, where=text.place(*path))
    component = BUILT_IN.get(name)
    if component is not None:
        _require_plain(name, table, text)
    else:
        if table.versions not in GRAMMARS:
            raise text.unknown(
                phrase("there is no grammar"), table.versions, GRAMMARS, *path, "versions"
            )
        component = Component(
            name=name,
            title=table.title or name,
            title_zh=table.title_zh,
            grammar=GRAMMARS[table.versions],
            example=table.known[-1] if table.known else _EXAMPLES[table.versions],
            closed=table.closed,
            minimum=table.minimum,
            by_line=table.by_line,
            aliases=table.aliases,
            packages=table.packages,
        )
    known = [
        text.parse(component.parse, value, *path, "known", number)
        for number, value in enumerate(table.known)
    ]
    for machine, spelled in table.names.items():
        value = text.parse(component.parse, spelled, *path, "names", machine)
        if table.closed and known and value not in known:
            names = map(str, known)
            raise text.unknown(
                phrase("there is no {name}", name=name), spelled, names, *path, "names", machine
            )
    return replace(component, known=tuple(known), names=table.names)


def require_no_component(project: str, components: Components, where: str) -> None:
    """Raise InputError if a project has the name of a component.

    A line such as `torch >= 2` would be about the component, and nothing would require the project.
    `where` is the place in the error.
    """
    if project in components:
        raise InputError(
            phrase(
                "`{project}` is a project here, and a component in systems.toml", project=project
            ),
            where=where,
            why=phrase(
                "a line such as `{project} >= 2` would ask nothing of the project", project=project
            ),
            hint=phrase(
                "give the component of systems.toml another name than `{project}`; `title` is "
                "what people read",
                project=project,
            ),
        )


def _require_plain(name: str, table: ComponentRow, text: TomlText) -> None:
    """Raise InputError if the table of `python` or `glibc` has a key that must not be changed."""
    plain = ComponentRow(summary=table.summary)
    for key in ("title", "title_zh", "versions", "closed", "minimum", "by_line", "aliases"):
        if getattr(table, key) != getattr(plain, key):
            written = key.replace("_", "-")
            raise InputError(
                phrase("`{key}` of `{name}` cannot be changed", key=written, name=name),
                where=text.place("component", name, written),
                hint=phrase(
                    "a row of a component that every target has may have `known`, `names`, "
                    "`packages` and `libraries`"
                ),
            )
