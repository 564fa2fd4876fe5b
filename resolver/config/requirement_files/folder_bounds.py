"""The folder that `ascend-lock import` may read, and safe reading of files in it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Final

from resolver import files
from resolver.config.toml_files import LARGEST, as_text
from resolver.errors import InputError
from resolver.owned_folder import OwnedFolder
from resolver.phrase import Phrase, phrase

# The path of a requirements file. It cannot be confused with an address or a password.
_PLAIN_PATH: Final = re.compile(r"[\w./-]+\.(txt|in)")


def _unreadable(name: str, *, is_given: bool = False) -> Phrase:
    """Return a message that a file cannot be read.

    It names the file only if the user gave the name, or if the name is certainly a path.
    """
    if is_given or _PLAIN_PATH.fullmatch(name):
        return phrase("`{name}` cannot be read", name=name)
    return phrase("a file cannot be read")


class FolderBounds:
    """The folder that contains all files that an import may read.

    A requirements file of somebody else may include any file of this machine, by its path or
    through a link. So the real path of each file is checked. The file is then opened from the
    descriptor of the folder without following links, so that nobody can replace it after the check.
    The folder is opened only once, so that nobody can replace it either.

    It is a context manager that closes the folder.
    """

    def __init__(self, file: Path, root: Path | None) -> None:
        """Take the folder `root` that the user gave; without it, the folder of `file`.

        `file` is the file that the user imports.
        """
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

    def text(
        self,
        inside: PurePath,
        name: str,
        where: str,
        decode: Callable[[bytes, str], str] = as_text,
    ) -> str:
        """Return the text of a file.

        `inside` is its path in the folder, `name` the path as it was written, and `where` the place
        that names it. `decode` makes text of the bytes, given the path for its errors. Raises
        InputError. The error contains `name` only if the user gave it, or if it is certainly a
        path.
        """
        try:
            content = self._read(inside)
        except OSError as error:
            is_given = name == where
            raise files.input_error(error, _unreadable(name, is_given=is_given), where) from None
        return decode(content, name)

    def _read(self, inside: PurePath) -> bytes:
        """Return the content of a file, given by its path in the folder. Raises OSError."""
        if not inside.parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if self._folder is None:
            self._folder = OwnedFolder.open(self._root)
        return self._folder.read(inside.as_posix(), LARGEST)

    def inside(self, path: Path, where: str) -> PurePath:
        """Return the path of a file relative to the folder. Links are resolved.

        Raises InputError if the file is not in the folder. Unless the user gave the folder, a
        hidden file is refused as well. The error contains `where`, the place that names the file,
        and not the path of the file.
        """
        # `realpath` drops a folder that does not exist before `..`. No program can open such a
        # path, and its text may contain a password.
        if ".." in path.parts and not path.exists():
            missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            raise files.input_error(missing, _unreadable(str(path)), where)
        real = Path(os.path.realpath(path))
        is_below = real.is_relative_to(self._root)
        if self._is_given and is_below:
            return real.relative_to(self._root)
        hint = phrase("look at what that line names; if it is meant, allow a folder: --root DIR")
        # In a container the file may be in /, which contains all other files, too.
        is_top = self._root == self._root.parent
        is_inside = real.parent == self._root if is_top else is_below
        if not is_inside:
            raise InputError(
                phrase("a file outside of the folder is not read"),
                where=where,
                why=phrase("It is not in {root}.", root=self._root),
                hint=hint,
            )
        relative = real.relative_to(self._root)
        is_hidden = any(part.startswith(".") for part in relative.parts)
        # The user named the first file, so it may be hidden.
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
