"""Which files an import may read."""

from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path, PurePath

from resolver.config.load import LARGEST, read_as_text
from resolver.errors import InputError
from resolver.owned_folder import OwnedFolder


class FolderBounds:
    """The folder that the files of an import must be in: the first file's own, unless another one is given.

    A requirements file of somebody else may include any file of this machine, by its path or
    through a link. What is read is judged by where it really is, and is then opened from the
    folder's descriptor without following any link, so that nobody can put another file in its place
    meanwhile.
    """

    def __init__(self, file: Path, root: Path | None) -> None:
        self._is_given = root is not None
        self._root = Path(os.path.realpath(file.parent if root is None else root))
        self._file = self._root / file.name  # which was named by the user

    def text(self, inside: PurePath, name: str) -> str:
        """Return the text of a file in the folder.

        Raises InputError, which calls it by this name.
        """
        return read_as_text(partial(self._read, inside), name)

    def _read(self, inside: PurePath) -> bytes:
        if not inside.parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with OwnedFolder.open(self._root) as folder:
            return folder.read(inside.as_posix(), LARGEST)

    def inside(self, path: Path, where: str) -> PurePath:
        """Return where a file really is in the folder.

        Raises InputError, which does not name the file but where it is named, if it is elsewhere or
        hidden.
        """
        real = Path(os.path.realpath(path))
        if self._is_given and real.is_relative_to(self._root):
            return real.relative_to(self._root)
        hint = "look at what that line names; if it is meant, allow a folder: --root DIR"
        # without a folder of its own, as in a container, only what lies beside the file
        is_inside = (
            real.parent == self._root
            if self._root == self._root.parent
            else real.is_relative_to(self._root)
        )
        if not is_inside:
            why = f"It is not in {self._root}."
            raise InputError(
                "a file outside of the folder is not read", where=where, why=why, hint=hint
            )
        is_hidden = any(part.startswith(".") for part in real.relative_to(self._root).parts)
        if is_hidden and real != self._file:
            why = "It or its folder has a name that begins with a dot, like many files with passwords."
            raise InputError("a hidden file is not read", where=where, why=why, hint=hint)
        return real.relative_to(self._root)
