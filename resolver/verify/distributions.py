"""Read the installed distributions from their .dist-info and .egg-info entries."""

from __future__ import annotations

import configparser
import csv
import errno
import functools
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import HeaderParser
from typing import Any, Dict, NamedTuple
from urllib.parse import unquote

from resolver.verify.conda import is_of_conda
from resolver.verify.findings import CheckContext, Finding, UnreadableError, is_shared, read_text

UNKNOWN_SIZE = -1
# The file beside METADATA into which install.sh writes `LockedDistribution.note`.
_NOTE = "ascend-lock.txt"
# A suffix of a version (PEP 440), in any spelling.
_SUFFIX = re.compile(r"[-_.]?(alpha|beta|preview|pre|rc|a|b|c|post|rev|r|dev)[-_.]?(\d*)|-(\d+)")
# The commands that pip names after the Python.
_OF_INSTALLER = re.compile(r"(pip|easy_install)-?[0-9.]*")
# The normal form (PEP 440) of the suffixes that have several spellings.
_SPELLINGS = {
    "alpha": "a",
    "beta": "b",
    "c": "rc",
    "pre": "rc",
    "preview": "rc",
    "rev": "post",
    "r": "post",
}


def canonical_name(name: str) -> str:
    """Return the normalized form of a name (PEP 503): `foo-bar-baz` for `Foo.Bar_baz`."""
    return re.sub(r"[-_.]+", "-", name).lower()


def same_version(left: str, right: str) -> bool:
    """Return whether two texts are the same version by PEP 440, such as `1.0` and `1.0.0`."""
    return left == right or _canonical_version(left) == _canonical_version(right)


def _canonical_version(text: str) -> str:
    """Return a text that is the same for all spellings of a version (PEP 440)."""
    without_zeros = re.sub(r"(?<![0-9a-z])0+(?=\d)", "", text.strip().lower())
    public, _, local = without_zeros.partition("+")
    without_epoch = re.sub("^v?(0!)?", "", public)
    release, _, suffixes = _SUFFIX.sub(_canonical_suffix, without_epoch).partition(" ")
    numbers = release.split(".")
    while len(numbers) > 1 and numbers[-1] == "0":
        numbers.pop()
    return f"{'.'.join(numbers)} {suffixes}+{re.sub('[-_]', '.', local)}"


def _canonical_suffix(suffix: re.Match[str]) -> str:
    """Return a suffix of a version in its normal form, after a space."""
    kind = suffix[1] or "post"
    # kept as a text: Python refuses to convert thousands of digits to a number
    number = (suffix[2] or suffix[3] or "").lstrip("0") or "0"
    return f" {_SPELLINGS.get(kind, kind)}{number}"


@functools.lru_cache(maxsize=None)
def _real_folder(folder: str) -> str:
    """Return the path of a folder without symbolic links."""
    return os.path.realpath(folder)


class RecordRow(NamedTuple):
    """A row of RECORD: a file of a distribution."""

    # The absolute and normalized path.
    path: str
    # The algorithm and the hash, such as `sha256=…`, without padding; empty if RECORD has none.
    digest: str
    # The size in bytes; UNKNOWN_SIZE if RECORD has none.
    size: int


@dataclass(frozen=True)
class InstalledDistribution:
    """An installed distribution, with the content of its metadata."""

    # The normalized name.
    name: str
    # The version; empty if the metadata cannot be read.
    version: str
    # The folder to which the paths in RECORD are relative: site-packages.
    root: str
    # The path of its .dist-info folder, or of its .egg-info folder or file.
    info: str
    # The content of INSTALLER; empty if there is no such file.
    installer: str
    # The content of direct_url.json (PEP 610); empty if there is no such file.
    direct_url: Mapping[str, Any]

    # `functools.cached_property` is not imported by name: that would fail on Python 3.7, before
    # verify.py can say that this Python is too old.
    @functools.cached_property
    def rows(self) -> Sequence[RecordRow]:
        """Return the rows of RECORD, without compiled files; none if it is missing or invalid."""
        try:
            return self.read_record() or ()
        except UnreadableError:
            return ()

    def read_record(self) -> Sequence[RecordRow] | None:
        """Return the rows of RECORD, without compiled files; None if there is no RECORD.

        Raises UnreadableError if RECORD is invalid.
        """
        path = f"{self.info}/RECORD"
        text = read_text(path)
        if text is None:
            return None
        rows = []
        table = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            for name, digest, size in table:
                file = os.path.normpath(os.path.join(self.root, name))
                if not file.startswith(f"{self.root}/"):
                    # lib64 of an environment is a link to lib
                    file = os.path.join(_real_folder(os.path.dirname(file)), os.path.basename(file))
                # Python may compile a module again at any time
                is_compiled = file.endswith(".pyc") and "/__pycache__/" in file
                if not is_compiled:
                    rows.append(RecordRow(file, digest.rstrip("="), int(size or UNKNOWN_SIZE)))
        except csv.Error as error:
            raise UnreadableError(path, str(error)) from None
        except ValueError:
            why = f"line {table.line_num} is not path, hash and size"
            raise UnreadableError(path, why) from None
        if not any(row.path == path for row in rows):
            raise UnreadableError(path, "it has no row for itself, so it is truncated")
        return rows

    def commands(self) -> list[str]:
        """Return the names of the commands that an installer makes for it, sorted.

        Those of pip and easy_install are left out, since pip names them after the Python. There are
        none if entry_points.txt is missing or invalid.
        """
        parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        # names of commands are as written
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        try:
            parser.read_string(read_text(f"{self.info}/entry_points.txt") or "")
        except (UnreadableError, configparser.Error):
            return []
        sections = [name for name in ("console_scripts", "gui_scripts") if parser.has_section(name)]
        names = {name for section in sections for name in parser.options(section)}
        return sorted(name for name in names if not _OF_INSTALLER.fullmatch(name))

    @property
    def editable_folder(self) -> str:
        """Return the folder of the project if this is an editable installation; otherwise empty."""
        dir_info = self.direct_url.get("dir_info")
        if isinstance(dir_info, dict) and dir_info.get("editable") is True:
            url = str(self.direct_url.get("url", ""))
            return unquote(re.sub("^file://", "", url))
        return self.root if self._is_developed() else ""

    def _is_developed(self) -> bool:
        """Return whether `setup.py develop` installed it: its .egg-info is a folder without files.

        More precisely, a folder without installed-files.txt.
        """
        if self.info.lower().endswith(".dist-info") or not os.path.isdir(self.info):
            return False
        return not os.path.isfile(f"{self.info}/installed-files.txt")

    @property
    def note(self) -> str:
        """Return the note that install.sh wrote (`LockedDistribution.note`).

        Empty if install.sh did not install the distribution.

        A file that RECORD does not list is ignored, since it may be of an earlier installation.
        """
        path = f"{self.info}/{_NOTE}"
        if not any(row.path == path for row in self.rows):
            return ""
        try:
            return (read_text(path) or "").strip()
        except UnreadableError:
            return ""

    def variant_labels(self) -> list[str]:
        """Return the labels in its variant.json (PEP 825); none if that is missing or invalid."""
        try:
            table = json.loads(read_text(f"{self.info}/variant.json") or "{}")
            return [str(label) for label in table["variants"]]
        except (UnreadableError, ValueError, KeyError, TypeError, RecursionError):
            return []

    @property
    def is_ours(self) -> bool:
        """Return whether it is installed in this environment, and that is not shared."""
        return is_ours(self.root)

    @property
    def is_of_conda(self) -> bool:
        """Return whether conda has installed it.

        INSTALLER must say so, and conda's metadata must list INSTALLER.
        """
        return self.installer == "conda" and is_of_conda(f"{self.info}/INSTALLER")


def is_ours(folder: str) -> bool:
    """Return whether a folder is in this environment, and that is not shared with other programs.

    Symbolic links in its path must be resolved. For a shared Python it is always False.
    """
    return not is_shared() and folder.startswith(os.path.realpath(sys.prefix) + "/")


# Distributions by their normalized names.
Installed = Dict[str, InstalledDistribution]


def installed_distributions(
    context: CheckContext, paths: Iterable[str]
) -> tuple[Installed, list[Finding]]:
    """Return the distributions in the folders of a search path by name, and findings about them.

    If several distributions have the same name, the first one counts, as in Python. The findings
    are about invalid metadata, duplicate names and leftovers of pip.
    """
    installed: Installed = {}
    findings = []
    for root in dict.fromkeys(os.path.realpath(path) for path in paths):
        entries: dict[str, str] = {}
        for path in _metadata_paths(root):
            entry = os.path.basename(path)
            if entry.startswith("~"):
                # pip gives a distribution such a name while it replaces it
                removal = f"rm -r {shlex.quote(path)}"
                findings.append(Finding("distribution-leftover", {"path": path}, removal))
                continue
            distribution, broken = _read_distribution(context, root, path)
            name = distribution.name
            if name in entries:
                values = {"name": name, "one": entries[name], "other": entry}
                remedy = _remedy_for_twins(context, name, [f"{root}/{entries[name]}", path])
                findings.append(Finding("distribution-twice", values, remedy))
                continue
            entries[name] = entry
            if name not in installed:
                installed[name] = distribution
                findings += broken
    return installed, findings


def _remedy_for_twins(context: CheckContext, name: str, paths: Sequence[str]) -> str:
    """Return the shell command that uninstalls both distributions with a name and installs again.

    `paths` are the paths of their metadata. pip is called twice, since each call uninstalls one of
    them. pip can uninstall itself only once, so its other metadata is removed as a file.
    """
    uninstall = context.uninstall_command(name)
    if not uninstall:
        return context.venv_command
    if name != "pip":
        return context.then_install(f"{uninstall} && {uninstall}")
    # ensurepip installs nothing if there is metadata of pip, even if its modules are missing
    remove = f"rm -rf {shlex.join(paths)}"
    return context.then_install(f"{uninstall} && {remove} && {context.python} -m ensurepip")


def hidden_distributions(
    context: CheckContext, installed: Installed
) -> Iterator[InstalledDistribution]:
    """Yield the distributions that Python does not find because another has the same name.

    Only the folders of `installed` are searched. Such a distribution still owns its files.
    """
    found = {distribution.info for distribution in installed.values()}
    for root in sorted({distribution.root for distribution in installed.values()}):
        for path in _metadata_paths(root):
            if path not in found and not os.path.basename(path).startswith("~"):
                yield _read_distribution(context, root, path)[0]


def _metadata_paths(root: str) -> list[str]:
    """Return the paths of the .dist-info and .egg-info entries of a folder, sorted.

    As in importlib.metadata, upper and lower case are equal, and in a folder whose name ends in
    `.egg`, an entry EGG-INFO is metadata, too. The list is empty if the folder cannot be read.
    """
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    is_egg = root.lower().endswith(".egg")
    return [f"{root}/{name}" for name in names if is_metadata(name, in_egg=is_egg)]


def is_metadata(name: str, *, in_egg: bool = False) -> bool:
    """Return whether an entry of site-packages is metadata of a distribution, by its name.

    `in_egg` says that the folder is an egg, in which EGG-INFO is the name.
    """
    lower = name.lower()
    return lower.endswith((".dist-info", ".egg-info")) or (in_egg and lower == "egg-info")


def _read_distribution(
    context: CheckContext, root: str, path: str
) -> tuple[InstalledDistribution, list[Finding]]:
    """Return the distribution whose metadata is at a path, and findings about the metadata."""
    name = os.path.basename(path).rpartition(".")[0].partition("-")[0]
    version = installer = ""
    direct_url = {}
    findings = []
    try:
        name, version = _name_and_version(path)
        installer = (read_text(f"{path}/INSTALLER") or "").strip()
        direct_url = _read_object(f"{path}/direct_url.json")
    except UnreadableError as error:
        values = {"name": canonical_name(name), **error.values}
        remedy = context.then_install(f"rm -r {shlex.quote(path)}")
        findings.append(Finding("metadata-broken", values, remedy))
    distribution = InstalledDistribution(
        canonical_name(name), version, root, path, installer, direct_url
    )
    return distribution, findings


def _name_and_version(path: str) -> tuple[str, str]:
    """Return the Name and Version in METADATA or PKG-INFO, as written.

    Raises UnreadableError if the file is missing or invalid.
    """
    file = path
    if os.path.isdir(path):
        file = f"{path}/METADATA" if path.lower().endswith(".dist-info") else f"{path}/PKG-INFO"
    # the description may be in any encoding
    text = read_text(file, errors="surrogateescape")
    if text is None:
        raise UnreadableError(file, os.strerror(errno.ENOENT))
    fields = HeaderParser().parsestr(text.partition("\n\n")[0])
    if not fields["Name"] or not fields["Version"]:
        raise UnreadableError(file, "it has no Name or no Version")
    return str(fields["Name"]), str(fields["Version"])


def _read_object(path: str) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one if there is no file.

    Raises UnreadableError if the file is invalid.
    """
    try:
        value = json.loads(read_text(path) or "{}")
    except (ValueError, RecursionError) as error:
        raise UnreadableError(path, str(error)) from None
    if not isinstance(value, dict):
        raise UnreadableError(path, "it is not a JSON object")
    return value
