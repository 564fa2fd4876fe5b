"""Which files an import may read."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path, PurePath
from typing import Final

from resolver import files
from resolver.config.load import LARGEST, as_text
from resolver.errors import InputError
from resolver.owned_folder import OwnedFolder
from resolver.phrase import Phrase, phrase

# The path of a requirements file, which no address or password is taken for.
_PLAIN_PATH: Final = re.compile(r"[\w./-]+\.(txt|in)")


def _unreadable(name: str, *, is_given: bool = False) -> Phrase:
    """Return that a file cannot be read, by its name if that may be shown."""
    if is_given or _PLAIN_PATH.fullmatch(name):
        return phrase("`{name}` cannot be read", name=name)
    return phrase("a file cannot be read")


class FolderBounds:
    """The folder that all files of an import must be in.

    A requirements file of somebody else may include any file of this machine, by its path or
    through a link. What is read is judged by where it really is, and is then opened from the
    folder's descriptor without following any link, so that nobody can put another file in its place
    meanwhile. The folder is opened once, so that nobody can put another folder in its place either.

    It is a context manager, which closes the folder.
    """

    def __init__(self, file: Path, root: Path | None) -> None:
        """Take the folder `root` that the user gave, or else the folder of the first file."""
        self._is_given = root is not None
        self._root = Path(os.path.realpath(file.parent if root is None else root))
        self._file = self._root / file.name
        # None until the first file is read.
        self._folder: OwnedFolder | None = None

    def __enter__(self) -> FolderBounds:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.close()

    def text(self, inside: PurePath, name: str, where: str) -> str:
        """Return the text of a file in the folder, which is named at `where`.

        Raises InputError, which calls the file by `name` if the user gave it, or if it is surely
        the name of a file.
        """
        try:
            content = self._read(inside)
        except OSError as error:
            is_given = name == where
            raise files.input_error(error, _unreadable(name, is_given=is_given), where) from None
        return as_text(content, name)

    def _read(self, inside: PurePath) -> bytes:
        if not inside.parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if self._folder is None:
            self._folder = OwnedFolder.open(self._root)
        return self._folder.read(inside.as_posix(), LARGEST)

    def inside(self, path: Path, where: str) -> PurePath:
        """Return the path of a file relative to the folder, links resolved.

        Raises InputError if it is elsewhere or hidden. The error tells `where` the file is named,
        not the file.
        """
        # `realpath` leaves out a folder that is not there before `..`. No program can open such a
        # path, and its text may have a password.
        if ".." in path.parts and not path.exists():
            missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise files.input_error(missing, _unreadable(str(path)), where)
        real = Path(os.path.realpath(path))
        is_below = real.is_relative_to(self._root)
        if self._is_given and is_below:
            return real.relative_to(self._root)
        hint = phrase("look at what that line names; if it is meant, allow a folder: --root DIR")
        # In a container the file may be in /, below which everything is.
        is_top = self._root == self._root.parent
        is_inside = real.parent == self._root if is_top else is_below
        if not is_inside:
            what = phrase("a file outside of the folder is not read")
            why = phrase("It is not in {root}.", root=self._root)
            raise InputError(what, where=where, why=why, hint=hint)
        relative = real.relative_to(self._root)
        is_hidden = any(part.startswith(".") for part in relative.parts)
        # The user named the first file.
        if is_hidden and real != self._file:
            raise InputError(
                phrase("a hidden file is not read"),
                where=where,
                why=phrase(
                    "It or its folder has a name that begins with a dot, like many files with "
                    "passwords."
                ),
                hint=hint,
            )
        return relative
