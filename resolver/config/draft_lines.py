"""Single lines of files of other tools: what they ask for, as a line of a stack would say it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from msgspec.structs import replace
from packaging.requirements import InvalidRequirement
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)

from resolver.config.decode import parse_need
from resolver.config.requirement_files.file_requirements import (
    is_readable,
)
from resolver.errors import InputError
from resolver.model import text as texts
from resolver.model.component import Components
from resolver.model.fact import Need
from resolver.model.message import Message, message
from resolver.model.repository import Direct
from resolver.model.requirement import Requirement
from resolver.model.slips import likely_requirement
from resolver.model.target import Target
from resolver.redaction import is_certain, without_secrets

# A local version label: `+cpu` in `torch==2.9.0+cpu`.
_LABEL: Final = re.compile(r"(?<=[0-9a-z])\+[a-z0-9]+([._-][a-z0-9]+)*", re.IGNORECASE)
# A path or an address that is not a git repository.
_ADDRESS: Final = re.compile(r"[./~]|[^;]*(?<!\bgit\+https)(?<!\bgit\+ssh)(?<!\bgit\+file)://")
# The path of a file, or an address that stands for one. As for pip, a name of a wheel is a path.
_PATH: Final = re.compile(r"[./~]|file:|[^:@?#]+\.whl\Z")
_HTTP: Final = re.compile(r"https?://.*", re.IGNORECASE)
# The folder that conda makes for one build. Its name ends with a time.
_CONDA_BUILD: Final = re.compile(r"[\w.+-]+_[0-9]{9,16}")
_PROJECT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^]]*\])?")
# The marker environment of an arbitrary target, to test whether a marker can be evaluated.
_MARKERS: Final = Target(name="", python="3.11", platform="linux-aarch64", glibc=(2, 28)).markers


def of_wheel(line: str) -> str:
    """Return the requirement `NAME==VERSION` for a line with the path of a wheel.

    `pip freeze` writes such lines, as `NAME @ file:///PATH`. Any other line is returned unchanged,
    as is one with a wheel at an address of a host.
    """
    return _of_wheel(line, _PATH) or line


def of_wheel_address(line: str) -> str:
    """Return the requirement `NAME==VERSION` for a line with a wheel at an address of a host.

    Local version labels are left out. Empty for any other line, and if the line may have a secret
    where its file name seems to be.
    """
    address = _HTTP.search(line.partition(";")[0])
    if address is None or not is_certain(address[0].rstrip()):
        return ""
    return without_labels(_of_wheel(line, _HTTP))


def is_path(line: str) -> bool:
    """Return whether a line has the path of a file or a folder, and no more than a marker."""
    return _PATH.match(line.partition(";")[0].strip()) is not None


def _of_wheel(line: str, paths: re.Pattern[str]) -> str:
    """Return the requirement `NAME==VERSION` for a line with a wheel at one of these paths.

    Empty for any other line.
    """
    reference, semicolon, marker = line.partition(";")
    project, at, address = reference.partition("@")
    project = project.strip()
    if not at or not _PROJECT.fullmatch(project):
        project, address = "", reference
    address = address.strip()
    if not paths.match(address):
        return ""
    filename = unquote(re.split("[?#]", address, maxsplit=1)[0].rpartition("/")[2])
    try:
        name, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return ""
    if project and canonicalize_name(project.partition("[")[0].rstrip()) != name:
        return ""
    condition = f" {semicolon}{marker}" if semicolon else ""
    return f"{project or name}=={version}{condition}"


def without_labels(line: str) -> str:
    """Return a line without local version labels. Addresses and markers are not changed."""
    head, semicolon, marker = line.partition(";")
    return line if "://" in head else _LABEL.sub("", head) + semicolon + marker


def why_without_labels(line: str) -> Message:
    """Return why the local version label of a line was removed."""
    label = _LABEL.search(line)
    assert label is not None  # noqa: S101  the line has one
    code = "import.label-cuda" if label[0].lower().startswith("+cu") else "import.label"
    return message(code, label=label[0])


def in_single_quotes(line: str) -> str:
    """Return a line with single instead of double quotes, which TOML need not escape.

    A line that already has single quotes is returned unchanged.
    """
    return line if "'" in line else line.replace('"', "'")


def read_need(line: str, plain_line: str, components: Components) -> Need | Message:
    """Return the requirement in a line, or why a stack cannot have the line.

    `plain_line` is the line without local version labels, which is parsed.
    """
    if line.startswith("git+"):
        return message("import.unnamed")
    if _ADDRESS.match(line) or is_path(line):
        return _why_not_taken(line)
    try:
        need = parse_need(plain_line, components, direct=True)
        if isinstance(need, Requirement):
            need.applies(_MARKERS)
    except InputError:
        # The error quotes the line, which may contain a secret.
        return _why_unread(line)
    except ValueError as error:
        return _error_text(error, line)
    return need


def _why_not_taken(line: str) -> Message:
    """Return why a stack cannot have a line with a path or an address.

    For the address of a wheel, the message offers `NAME==VERSION`, from the name of the file.
    """
    if _is_conda_build(line):
        return message("import.conda-build")
    release = of_wheel_address(line)
    return message("import.wheel-address", line=release) if release else message("import.folder")


def _why_unread(line: str) -> Message:
    """Return why a line could not be read.

    For a line such as `NAME=VERSION`, the message asks whether `NAME==VERSION` was meant.
    """
    meant = likely_requirement(line)
    return message("import.likely", line=meant) if meant else message("import.unread")


def named_project(line: str) -> NormalizedName:
    """Return the project in a line `NAME @ ADDRESS`; empty if it has another form."""
    project, at, _ = line.partition("@")
    is_named = at != "" and _PROJECT.fullmatch(project.strip()) is not None
    return texts.name(project.partition("[")[0].strip() if is_named else "")


def _is_conda_build(line: str) -> bool:
    """Return whether a line has a project at the folder in which conda built it.

    `pip freeze` writes such lines in an environment of conda, without the version of the project.
    """
    project, _, address = line.partition("@")
    folders = address.strip().partition("#")[0].split("/")
    if not _PROJECT.fullmatch(project.strip()) or folders[0] != "file:" or "work" not in folders:
        return False
    return any(_CONDA_BUILD.fullmatch(folder) for folder in folders)


def _error_text(error: Exception, line: str) -> Message:
    """Return why a line cannot be used, from an error whose message may quote the line."""
    try:
        requirement = texts.requirement(line)
    except InvalidRequirement:
        return message("import.unread")
    if not is_readable(requirement):
        return message("import.secret")
    return message("import.unusable", why=without_secrets(str(error)))


def why_moving(need: Requirement) -> Message | None:
    """Return why a stack cannot have a direct reference to what is most likely a branch; or None.

    No repository is read. A commit has its hash, and a tag is taken for one if it has a digit, as
    the tags of releases have.
    """
    revision = Direct.parse(need.url).revision
    if any(map(str.isdigit, revision)):
        return None
    address, _, fragment = need.url.partition("#")
    fixed = f"{address.rpartition('@')[0]}@COMMIT"
    url = f"{fixed}#{fragment}" if fragment else fixed
    line = without_secrets(str(replace(need, url=url)))
    return message("import.branch", revision=revision, line=line)
