"""Source archives that can be built, with a backend of forty lines from the loopback index."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.builders import Built
from tests.loopback import PYPI, LoopbackIndex

# A PEP 517 backend that records the tools and variables of the build for tests.
_BACKEND = '''
"""Packs the modules of a source tree into a wheel."""
import base64, hashlib, json, os, pathlib, subprocess, sys, time, zipfile

def get_requires_for_build_wheel(config_settings=None):
    asks = pathlib.Path("asks.txt")
    return asks.read_text().splitlines() if asks.exists() else []

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _pack(wheel_directory)

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _pack(wheel_directory, editable=True)

def _pack(wheel_directory, editable=False):
    if os.environ.get("TINY_FAIL"):
        raise SystemExit("the compiler was not found")
    head = pathlib.Path("PKG-INFO").read_text().split("\\n\\n")[0]
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    name, version = fields["Name"].replace("-", "_"), fields["Version"]
    if label := os.environ.get("TINY_LABEL"):
        head = head.replace(f"\\nVersion: {version}", f"\\nVersion: {version}+{label}")
        version += f"+{label}"
    fetches = pathlib.Path("fetches.txt")
    if fetches.exists():  # as some builds do on their own
        for project in fetches.read_text().split():
            download = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", "fetched"]
            command = [*download, project]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    note = {"tiny": TINY, "prefix": sys.prefix, "flavour": os.environ.get("TINY_FLAVOUR")}
    members = {f"{name}.py": f"built = {json.dumps(note)}\\n".replace("null", "None")}
    if editable:
        members = {f"{name}.pth": str(pathlib.Path.cwd()) + "\\n"}
    else:
        for path in pathlib.Path.cwd().glob("*.py"):
            if path.name != "setup.py":
                members[path.name] = path.read_text()
    info = f"{name}-{version}.dist-info"
    members[f"{info}/METADATA"] = head + "\\n\\n"
    tag = os.environ.get("TINY_TAG", "py3-none-any")
    wheel = f"Wheel-Version: 1.0\\nGenerator: tiny\\nRoot-Is-Purelib: true\\nTag: {tag}\\n"
    members[f"{info}/WHEEL"] = wheel
    rows = [f"{path},," for path in members]
    members[f"{info}/RECORD"] = "\\n".join([*rows, f"{info}/RECORD,,", ""])
    filename = f"{name}-{version}-{tag}.whl"
    date = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    with zipfile.ZipFile(pathlib.Path(wheel_directory, filename), "w") as wheel:
        for path, text in members.items():
            wheel.writestr(zipfile.ZipInfo(path, date), text)
    return filename
'''
_PYPROJECT = '[build-system]\nrequires = ["tinybuild"]\nbuild-backend = "tinybuild"\n'


def add_backend(index: LoopbackIndex, version: str = "1.0") -> Built:
    """The backend as a wheel."""
    return index.add_wheel(
        "tinybuild", version, files={"tinybuild.py": f'TINY = "{version}"\n{_BACKEND}'}
    )


def tree(name: str, version: str, files: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a source tree with the backend, for a repository. Its modules are its `.py` files."""
    pyproject = (
        '[build-system]\nrequires = []\nbuild-backend = "tinybuild"\nbackend-path = ["backend"]\n'
    )
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n"
    return {
        "pyproject.toml": pyproject,
        "PKG-INFO": head,
        "backend/tinybuild.py": f'TINY = "1.0"\n{_BACKEND}',
        **(files or {}),
    }


def add_source(
    index: LoopbackIndex,
    name: str,
    version: str,
    *,
    tool: str = "tinybuild",
    more: str = "",
    asks: str = "",
    fetches: str = "",
    served_by: str = PYPI,
) -> Built:
    """Return an archive that needs the backend, and perhaps one more tool.

    `asks` is what its build requests only through the hook of PEP 517, `fetches` what its build
    downloads with pip.
    """
    members = {
        "pyproject.toml": _PYPROJECT.replace(
            '["tinybuild"]', json.dumps([tool, more] if more else [tool])
        ),
        "requirements/run.txt": "# nothing\n",
    }
    members |= {"asks.txt": asks} if asks else {}
    members |= {"fetches.txt": fetches} if fetches else {}
    return index.add_archive(name, version, members=members, index=served_by)


def built_here(*, isolation: bool = False, **variables: str) -> str:
    """Return the fact of a source that is built in the environment or apart, with variables."""
    env = ", ".join(f'{name} = "{value}"' for name, value in variables.items())
    return f"""
[[builds]]
requires-from = "requirements/run.txt"
env = {{ {env} }}
isolation = {str(isolation).lower()}
reason = "it is built for this machine"
"""
