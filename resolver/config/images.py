"""`images.toml`: known base images. They do not affect locks."""

from __future__ import annotations

from pathlib import Path

from resolver.config import schema
from resolver.config.document import read
from resolver.errors import InputError
from resolver.model.component import parse_value
from resolver.model.target import Image


def load_images(matrices: Path) -> tuple[Image, ...]:
    """The images of `matrices`, in the order of the file; none if there is no such file."""
    path = matrices / "images.toml"
    if not path.exists():
        return ()
    document = read(path, schema.ImagesFile, "matrices/images.toml")
    defaults = document.content.defaults
    images = []
    for number, row in enumerate(document.content.image):
        for key in ("cann", "soc", "python", "glibc"):
            document.parse(lambda text, key=key: parse_value(key, text), getattr(row, key), "image", number, key)  # type: ignore[misc]
        source = row.source or defaults.source
        if source is None:
            raise InputError(
                "the image has no `source`", where=document.place("image", number), hint="say where it comes from"
            )
        images.append(
            Image(name=row.name, cann=row.cann, soc=row.soc, python=row.python, glibc=row.glibc, source=source)
        )
    return tuple(images)
