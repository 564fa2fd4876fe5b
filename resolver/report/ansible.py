"""Write a playbook and a role for ansible-core that install a lock on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from resolver.files import json_text
from resolver.model.lock import Lock
from resolver.report.script import build_key, wheels_built

_TEMPLATES: Final = "templates/ansible"
_ROLE: Final = "roles/ascend_lock"
# The paths of the files that are the same for every lock, by the name of their template.
_COPIES: Final[Mapping[str, str]] = {
    "site.yml": "site.yml",
    "check.yml": f"{_ROLE}/tasks/check.yml",
    "stop.yml": f"{_ROLE}/tasks/stop.yml",
    "look.yml": f"{_ROLE}/tasks/look.yml",
    "build.yml": f"{_ROLE}/tasks/build.yml",
    "install.yml": f"{_ROLE}/tasks/install.yml",
    "send.yml": f"{_ROLE}/tasks/send.yml",
    "verify.yml": f"{_ROLE}/tasks/verify.yml",
    "compare.yml": f"{_ROLE}/tasks/compare.yml",
}


def ansible(lock: Lock, lock_texts: Mapping[str, str]) -> dict[str, str]:
    """Return the files by path: the playbook, and the role with the files of the lock's folder."""
    texts = {}
    for name, path in _COPIES.items():
        source = files("resolver.report").joinpath(f"{_TEMPLATES}/{name}")
        texts[path] = source.read_text(encoding="utf-8")
    texts[f"{_ROLE}/defaults/main.yml"] = _defaults(lock)
    texts[f"{_ROLE}/vars/main.yml"] = _variables(lock)
    for name, text in lock_texts.items():
        texts[f"{_ROLE}/files/lock/{name}"] = text
    return texts


def _defaults(lock: Lock) -> str:
    """Return the text with the role's variables. JSON is YAML, so each value is written as JSON."""
    return _render(
        "defaults",
        stack=lock.stack,
        folder=json_text(f"/opt/ascend-lock/{lock.stack}", indent=None),
        python_line=lock.target.python_line,
        python=json_text(f"python{lock.target.python_line}", indent=None),
    )


def _variables(lock: Lock) -> str:
    """Return the text with what the role must know of the lock. Each value is written as JSON."""
    files_of_pins: dict[str, str] = {}
    for pin in lock.pin:
        if pin.mode == "wheels" and pin.git is None:
            files_of_pins |= {file.sha256: f"{pin.name}=={pin.version}" for file in pin.file}
    built: set[str] = set()
    for stage in lock.stage:
        built.update(wheels_built(lock, stage))
    keys = {build_key(lock, pin): pin.name for pin in lock.pin if pin.name in built}
    return _render(
        "vars",
        stack=json_text(lock.stack, indent=None),
        builds=json_text(bool(built)),
        pins=json_text(files_of_pins, indent=None),
        keys=json_text(keys, indent=None),
    )


def _render(name: str, **values: str) -> str:
    """Return the text of a template with these values."""
    environment = Environment(
        loader=PackageLoader("resolver.report"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  the output is YAML
        keep_trailing_newline=True,
    )
    return environment.get_template(f"ansible/{name}.yml.j2").render(**values)
