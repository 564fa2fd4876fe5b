"""Distributions as installers made them before wheels, put into an environment by hand.

No current pip or setuptools makes them any more, but every pip replaces or refuses them.
"""

from __future__ import annotations

import compileall
import ensurepip
import os
import shutil
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.functional.machine import put, site_packages
from tests.functional.workspace import PYTHON_LINE

# The files of release 1.0 that a release 2.0 does not have, in site-packages.
OLD_FILES: Mapping[str, str] = {
    "demo/__init__.py": "of = '1.0'\n",
    "demo/old.py": "",
    "demo/old_sub/__init__.py": "",
    "demo/data.txt": "old\n",
    "alone_old.py": "",
    "only_old/__init__.py": "",
    "only_old/inner/__init__.py": "",
}
OLD_SCRIPT = "demo-old"
_ENTRY_POINTS = f"[console_scripts]\n{OLD_SCRIPT} = demo.old:main\n"
_METADATA = "Metadata-Version: 1.2\nName: demo\nVersion: 1.0\n"
_INFO = {"PKG-INFO": _METADATA, "entry_points.txt": _ENTRY_POINTS}
_TOPS = {"top_level.txt": "alone_old\ndemo\nonly_old\n"}

# The forms that pip can replace, and those of which it would leave modules, or which it refuses.
REPLACED = ("dist-info", "installed-files", "top-level", "egg", "zipped egg", "develop")
UNLISTED = ("distutils", "bare egg-info", "namespace", "unversioned")


def pips(folder: Path) -> Mapping[str, Path]:
    """Return the folders of the pip that Python brings and of the one that runs the tests."""
    (wheel,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
    bundled = folder / "bundled-pip"
    if not bundled.exists():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(bundled)
        # or the first run would compile it, and have other moments than the next ones
        compileall.compile_dir(bundled, quiet=2)
    return {"bundled": bundled, "current": Path(sysconfig.get_path("purelib"))}


def use_pip(python: Path, folder: Path) -> None:
    """Let an environment have the pip of a folder, by links."""
    site = site_packages(python)
    for path in (*site.glob("pip"), *site.glob("pip-*.dist-info")):
        path.unlink()
    for path in (folder / "pip", *folder.glob("pip-*.dist-info")):
        (site / path.name).symlink_to(path)


def put_old(python: Path, form: str, folder: Path) -> None:
    """Install demo 1.0 in one of the forms. `folder` is for a checkout."""
    site = site_packages(python)
    _write(python.parent, {OLD_SCRIPT: "#!/bin/sh\n"})
    (python.parent / OLD_SCRIPT).chmod(0o755)
    script = os.path.relpath(python.parent / OLD_SCRIPT, site)
    if form == "dist-info":
        _write(site, OLD_FILES)
        put(python, {"demo": "1.0"}, *OLD_FILES, script)
    elif form in ("egg", "zipped egg"):
        _put_egg(site, is_zipped=form == "zipped egg")
    elif form == "develop":
        shutil.rmtree(folder, ignore_errors=True)
        _write(folder, OLD_FILES)
        _write(folder / "demo.egg-info", {**_INFO, **_TOPS})
        _write(site, {"demo.egg-link": f"{folder}\n."})
        _add_path(site, str(folder))
    else:
        _put_egg_info(site, form, script)


def _put_egg(site: Path, *, is_zipped: bool) -> None:
    """Install demo as easy_install did."""
    files = {**OLD_FILES, **{f"EGG-INFO/{name}": text for name, text in {**_INFO, **_TOPS}.items()}}
    egg = site / f"demo-1.0-py{PYTHON_LINE}.egg"
    if is_zipped:
        with zipfile.ZipFile(egg, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        _write(egg, files)
    _add_path(site, f"./{egg.name}")


def _put_egg_info(site: Path, form: str, script: str) -> None:
    """Install demo as pip did with setuptools or distutils, with what that said of its files."""
    info = f"demo-1.0-py{PYTHON_LINE}.egg-info"
    rows = [f"../{name}" for name in (*OLD_FILES, script)]
    rows += [*_INFO, *_TOPS, "installed-files.txt"]
    listed = {"installed-files.txt": "".join(f"{row}\n" for row in rows)}
    namespace = {"top_level.txt": "space\n", "namespace_packages.txt": "space\n"}
    metadata: Mapping[str, Mapping[str, str]] = {
        "installed-files": {**_INFO, **_TOPS, **listed},
        "top-level": {**_INFO, **_TOPS},
        "namespace": {**_INFO, **namespace},
        "bare egg-info": _INFO,
        "unversioned": {**_INFO, **_TOPS},
    }
    _write(site / ("space" if form == "namespace" else ""), OLD_FILES)
    if form == "distutils":
        _write(site, {info: _METADATA})
    else:
        _write(site / ("demo.egg-info" if form == "unversioned" else info), metadata[form])


def _add_path(site: Path, entry: str) -> None:
    """Add a folder to the search path as setuptools did."""
    path = site / "easy-install.pth"
    lines = path.read_text().splitlines() if path.exists() else []
    path.write_text("".join(f"{line}\n" for line in [*lines, entry]))


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
