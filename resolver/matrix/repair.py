"""What an invalid requirement was probably meant to be, and a hint if nothing is close."""

from __future__ import annotations

import difflib
import re
from typing import Final

from packaging.requirements import InvalidRequirement

from resolver.model import text
from resolver.model.component import COMPONENTS, ComponentRequirement

_FORM: Final = "a requirement looks like `numpy<2` or `ray[default]==2.41.0` (PEP 508)"
_VARIABLES: Final = (
    "python_version",
    "python_full_version",
    "os_name",
    "sys_platform",
    "platform_release",
    "platform_system",
    "platform_version",
    "platform_machine",
    "platform_python_implementation",
    "implementation_name",
    "implementation_version",
    "extra",
)
# Full-width characters of Chinese input methods that look like the intended ones.
_WIDE: Final = str.maketrans("，；＝＜＞（）‘’“”！～", ",;=<>()''\"\"!~")
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[^\]]*\])?"


def requirement_hint(line: str) -> str:
    """The hint for a line that is not a valid requirement."""
    stripped = line.strip()
    if len(stripped) > text.LONG:  # not written by hand, and the patterns below are slow on runs of blanks
        return _FORM
    if stripped.startswith("-"):
        return f"pip options are not allowed here; matrices/indexes.toml says where projects come from; {_FORM}"
    if re.match(r"(git\+)?(https?|ssh|file)://|git@", stripped):
        return "write the name first: `verl @ git+https://host/path@COMMIT`"
    if stripped.startswith((".", "/", "~")):
        return "folders are not supported; give a release or a commit: `verl @ git+https://host/path@COMMIT`"
    if component := re.match(r"(\w+) in ", stripped):
        near = difflib.get_close_matches(component[1].lower(), COMPONENTS, n=1)
        meant = f"did you mean `{near[0]}{stripped[component.end(1) :]}`? " if near else ""
        return f"{meant}components are {', '.join(sorted(COMPONENTS))}"
    if (name := re.split(r"\W", stripped)[0].lower()) in COMPONENTS:
        meant = component_meant(_compared(stripped)) or component_meant(_repaired(stripped))
        return f"did you mean `{meant}`?" if meant else f"write `{name} in A | B` or `{name} >= A`"
    meant = _repaired(stripped)
    return f"did you mean `{meant}`?" if meant else _FORM


def component_meant(line: str) -> str:
    """The line as a requirement on a component, if it names one in capitals, for example; otherwise empty."""
    name = re.match(r"[A-Za-z]*", line.strip())
    told = name[0].lower() + line.strip()[name.end() :] if name else ""
    try:
        return told if ComponentRequirement.parse(told) is not None else ""
    except ValueError:
        return ""


def _compared(head: str) -> str:
    """The text with comparisons spelled correctly: `==` for `=`, `>=` for `=>`."""
    head = re.sub(r"\s*=([<>!~])\s*", r"\1=", head.translate(_WIDE))
    return re.sub(r"(?<![=<>!~])=(?!=)", "==", head)


def _repaired(line: str) -> str:
    """The line with common mistakes corrected; empty if that is not a requirement either."""
    head, semicolon, marker = line.partition(";")
    head = _compared(head)
    head = re.sub(rf"^({_NAME})\s+v?(\d[\w.*+]*)$", r"\1==\2", head.strip())
    head = re.sub(r"(?<=\d\.)[xX]$", "*", head)
    head = re.sub(r"~=\s*(\d+)(?![\w.])", r"~=\1.0", head)  # `~=` needs at least two numbers
    head = re.sub(r"([<>]=?\s*\d+(?:\.\d+)*)\.\*", r"\1", head)  # only == and != allow `.*`
    marker = re.sub(r"(?<![=<>!~])=(?!=)", "==", marker.translate(_WIDE))
    marker = re.sub(r"([=<>!~]=?)\s*(\d[\w.]*)", r"\1 '\2'", marker)
    marker = re.sub(r"\b[a-z]+(?:_[a-z]+)+\b", _variable, marker)
    told = head + semicolon + marker
    try:
        text.requirement(told)
    except InvalidRequirement:
        return ""
    return told


def _variable(match: re.Match[str]) -> str:
    near = difflib.get_close_matches(match[0], _VARIABLES, n=1)
    return near[0] if near else match[0]
