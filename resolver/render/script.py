"""`install.sh`: the lock as a script that a cautious person can read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from resolver.model.lock import Lock, LockedStage
from resolver.render.requirements import build_file, pin_lines
from resolver.render.template import environment
from resolver.render.text import one_line

FILE = "install.sh"


def stage_files(lock: Lock) -> dict[str, str]:
    """A requirements file for each stage, by relative path."""
    files = {}
    for number, stage in enumerate(lock.stage, 1):
        header = f"# Stage {number} of {lock.stack} for {lock.target.name}: {stage.title}"
        files[_stage_path(number)] = "\n".join([header, "", *pin_lines(lock.pins_of(stage), labelled=True), ""])
    return files


def script(lock: Lock) -> str:
    """The text of install.sh."""
    stages = [_stage(lock, number, stage) for number, stage in enumerate(lock.stage, 1)]
    return (
        environment()
        .get_template("install.sh.j2")
        .render(
            lock=lock,
            stages=stages,
            total=len(stages),
            machine=lock.target.platform.partition("-")[2],
            python_line=".".join(lock.target.python.split(".")[:2]),
            cann=lock.target.system.get("cann", ""),
            hdk=lock.target.system.get("hdk", ""),
            by_path=[pin.name for pin in lock.pin if pin.label],
            indexes=[index.url for index in lock.index if index.url],
            only_other_indexes=all(index.url for index in lock.index),
        )
    )


def _stage(lock: Lock, number: int, stage: LockedStage) -> Mapping[str, object]:
    pins = lock.pins_of(stage)
    return {
        "number": number,
        "title": stage.title,
        "mode": stage.mode,
        "build_file": build_file(lock, stage.pins) if stage.mode == "built-apart" else "",
        "file": _stage_path(number),
        "because": [one_line(reason) for reason in stage.because],
        "builds": [
            {
                "name": pin.name,
                "version": pin.version,
                "label": pin.label,
                "archive": pin.file[0].name,
                "sha256": pin.file[0].sha256,
                "env": " ".join(f"{key}={shlex.quote(value)}" for key, value in sorted(pin.env.items())),
            }
            for pin in pins
        ],
    }


def _stage_path(number: int) -> str:
    return f"stages/{number}.txt"
