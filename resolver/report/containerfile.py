"""Write a Containerfile that installs a lock on an image with the target's components."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from packaging.version import Version

from resolver.ascend import names
from resolver.errors import InputError
from resolver.i18n import translate
from resolver.model.component import Components
from resolver.model.lock import Lock
from resolver.model.message import message, verbatim
from resolver.model.requirement import ComponentRequirement
from resolver.model.target import Image
from resolver.model.text import Language
from resolver.phrase import Phrase, literal, phrase
from resolver.report.template import render

_PLAIN = re.compile(r"[A-Za-z0-9._/:@+-]+\Z")
_PLATFORMS = {"linux-aarch64": "linux/arm64", "linux-x86_64": "linux/amd64"}


def containerfile(
    lock: Lock,
    *,
    folder: str,
    base: str,
    wheelhouse: str | None,
    file: str,
    language: Language,
) -> str:
    """Return the text of the Containerfile, with comments in a language.

    `folder` and `wheelhouse` are paths in the build context, and `base` is the name of the image.
    `file` is the path to which the text is written, for the commands in it.
    Raise InputError if one of them cannot be written in the file, or if the lock needs a wheelhouse
    and there is none.
    """
    _plain(literal("--base-image"), base)
    _plain(phrase("the lock's folder"), folder)
    if wheelhouse is not None:
        _plain(literal("--wheelhouse"), wheelhouse)
        if wheelhouse.startswith("/") or ".." in PurePosixPath(wheelhouse).parts:
            raise InputError(
                phrase("`{wheelhouse}` is not inside the build's context", wheelhouse=wheelhouse),
                where="--wheelhouse",
                why=phrase("an image is built only from files inside the build context"),
                hint=phrase(
                    "name a folder relative to where the build runs: --wheelhouse wheelhouse"
                ),
            )
    by_path = ", ".join(pin.name for pin in lock.pin if pin.label)
    if by_path and wheelhouse is None:
        bundle = f"ascend-lock bundle {lock.stack} wheelhouse"
        raise InputError(
            phrase(
                "{names} must be installed from a local file, so the image needs a wheelhouse",
                names=by_path,
            ),
            hint=phrase("{command}, then export with --wheelhouse wheelhouse", command=bundle),
        )

    def say(code: str, **values: object) -> str:
        """Return the comment with this code."""
        return translate(message(f"containerfile.{code}", **values), language)

    folders = [folder] if wheelhouse is None else [folder, wheelhouse]
    title = say("title", stack=lock.stack, target=lock.target.name)
    summary = translate(verbatim(lock.summary, lock.summary_zh), language)
    return render(
        "Containerfile.j2",
        say=say,
        title=say("summed-up", title=title, summary=summary) if summary else title,
        folders=tuple(folders),
        file=shlex.quote(file),
        lock=lock,
        folder=folder,
        base=base,
        wheelhouse=wheelhouse or "",
        python_line=lock.target.python_line,
        platform=_PLATFORMS.get(lock.target.platform, ""),
        driver=lock.target.system.get(names.DRIVER, ""),
    )


def base_image(lock: Lock, images: Iterable[Image], components: Components) -> str:
    """Return the name of the first image that fits the lock's target.

    Raise InputError if no known image fits.
    """
    system = lock.target.system
    stated: set[str] = set()
    for image in images:
        stated.update(image.system)
    missing = [components[name].title for name in components if name in stated - set(system)]
    if missing or not system:
        raise InputError(
            phrase("no base image can be chosen for {target}", target=lock.target.name),
            why=phrase(
                "the target must specify its {components}",
                components=", ".join(missing) or phrase("components"),
            ),
            hint=phrase("specify one: --base-image NAME"),
        )
    matching = []
    usable = []
    for image in images:
        versions = {name for name in image.system if components[name].grammar.is_ordered}
        if not all(_has(image, name, system, components) for name in versions):
            continue
        matching.append(image)
        has_names = all(_has(image, name, system, components) for name in image.system)
        if has_names and Version(image.glibc) >= Version(lock.target.glibc):
            usable.append(image)
    for image in usable:
        if image.python == lock.target.python_line:
            return image.name
    if usable:
        raise _other_python_error(lock, usable[0])
    ordered = sorted(name for name in stated if components[name].grammar.is_ordered)
    wanted = ", ".join(f"{components[name].title} {system[name]}" for name in ordered)
    raise _no_image_error(lock, wanted, matching)


def _other_python_error(lock: Lock, nearest: Image) -> InputError:
    """Return the error that the `nearest` image has another Python than a lock's target."""
    return InputError(
        phrase("no base image is known for {target}", target=lock.target.name),
        where="matrices/images.toml",
        why=phrase(
            "the nearest is {image}, which matches the lock except that it has Python {python}",
            image=nearest.name,
            python=nearest.python,
        ),
        hint=phrase(
            "build an image on it that has python{version} with venv and headers, and specify it: "
            "--base-image NAME",
            version=lock.target.python_line,
        ),
    )


def _no_image_error(lock: Lock, wanted: str, matching: Sequence[Image]) -> InputError:
    """Return the error that no image fits a lock's target.

    `wanted` are the versions of the target's components, as text, and `matching` the images that
    have these versions.
    """
    names = ", ".join(image.name for image in matching)
    why = phrase("with {versions} it has none", versions=wanted)
    if names:
        why = phrase("with {versions} it has {names}", versions=wanted, names=names)
    return InputError(
        phrase("no base image is known for {target}", target=lock.target.name),
        where="matrices/images.toml",
        why=why,
        hint=phrase(
            "specify one that has {versions} and the target's Python: --base-image NAME",
            versions=wanted,
        ),
    )


def _has(image: Image, name: str, system: Mapping[str, str], components: Components) -> bool:
    """Return whether a target meets the value that an image has of a component.

    The value of the target may also be a build of that release.
    """
    requirement = ComponentRequirement.parse(f"{name} in {image.system[name]}", components)
    return requirement is not None and requirement.allows(components[name].parse(system[name]))


def _plain(what: Phrase, text: str) -> None:
    """Raise InputError if a text has characters that could act in a Containerfile.

    `what` names the text in the message.
    """
    if not _PLAIN.match(text):
        raise InputError(
            phrase("`{text}` cannot be used in a Containerfile", text=text),
            where=what,
            hint=phrase("use letters, digits and ._/:@+-"),
        )
