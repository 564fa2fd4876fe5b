"""The conflicts of tests/scenarios/conflicts as problems, and the recording that they are answered
from.

`python -m tests.scenarios.conflicts` records what they ask of the real indexes anew.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli
import tomli_w
from msgspec.structs import replace

from resolver.config import schema
from resolver.config.compile import compile_problems
from resolver.config.load import Inputs, load
from resolver.config.toml_files import read_text
from resolver.explain.contradiction import contradiction_of
from resolver.explain.cores import enumerate_cores
from resolver.index import snapshot as snapshot_file
from resolver.index.live import LiveCatalog
from resolver.index.pool import CatalogPool
from resolver.index.protocol import Catalog
from resolver.index.recording import Recording, RecordingCatalog
from resolver.index.snapshot import Snapshot, SnapshotCatalog
from resolver.index.store.cache import Cache, default_folder
from resolver.model.explanation import Contradiction
from resolver.model.problem import Problem
from resolver.model.resolution import Resolution
from resolver.resolve.solver import decide
from resolver.resolve.universe import Universe

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).with_name("conflicts")
RECORDED = REPOSITORY / "tests" / "recorded"
DAY = dt.date(2026, 11, 20)


@dataclass(frozen=True)
class Scenario:
    """A conflict that somebody met."""

    name: str
    core: list[str]
    fixes: list[dict[str, Any]]

    @cached_property
    def inputs(self) -> Inputs:
        return load(str(FOLDER / self.name / "stack.toml"), REPOSITORY / "matrices")

    @cached_property
    def problem(self) -> Problem:
        (problem,) = compile_problems(self.inputs)
        return problem

    @cached_property
    def recording(self) -> Path:
        """The snapshot that answers it: stacks with indexes of their own alone see other pages."""
        return (
            RECORDED / f"conflicts-{'own' if self.problem.indexes.own_only else 'default'}.snapshot"
        )

    def fixed(self, fix: dict[str, Any]) -> Problem:
        """The problem that a fix makes of it."""
        raw = tomli.loads(self.inputs.stack.text)
        raw["stack"]["requires"] = fix["requires"]
        for component in ("cann", "soc"):
            if component in fix:
                raw["target"]["system"][component] = fix[component]
        if "platform" in fix:
            raw["target"]["platform"] = fix["platform"]
        inputs = self.inputs
        if fix.get("facts") == "all":
            del raw["stack"]["facts"]
            inputs = replace(inputs, facts=load("verl-qwen3.5", REPOSITORY / "matrices").facts)
        document = read_text(
            tomli_w.dumps(raw), schema.StackFile, inputs.stack.name, inputs.components
        )
        (problem,) = compile_problems(replace(inputs, stack=document))
        return problem


def scenarios() -> Iterator[Scenario]:
    """All of them, by name."""
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        raw = tomli.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
        yield Scenario(folder.name, raw["core"], raw["fixes"])


def contradictions(problem: Problem, catalog: Catalog) -> list[Contradiction]:
    """What clashes in a problem."""
    answer = decide(Universe(problem, catalog))
    assert not isinstance(answer, Resolution)
    clauses = answer.clauses
    return [
        contradiction_of(clauses, core)
        for core in list(enumerate_cores(clauses, lambda: False)) or [answer.core]
    ]


def record() -> None:
    """Ask the real indexes all that the tests ask, and write it down."""
    recordings: dict[Path, Recording] = {}
    for scenario in scenarios():
        recording = recordings.setdefault(scenario.recording, Recording([scenario.problem.target]))
        asked = [scenario.problem, *(scenario.fixed(fix) for fix in scenario.fixes)]
        for number, problem in enumerate(asked):
            platform = problem.target.platform
            live = LiveCatalog(
                problem.indexes, platform, CatalogPool(Cache(default_folder(), print), warn=print)
            )
            with closing(live):
                catalog = RecordingCatalog(live, platform, recording)
                if number:
                    assert isinstance(decide(Universe(problem, catalog)), Resolution), (
                        scenario.name,
                        number,
                    )
                else:
                    contradictions(problem, catalog)
        print(scenario.name)
    for path, recording in recordings.items():
        snapshot_file.write(recording.snapshot("conflicts", DAY), path)


def replayed(
    scenario: Scenario, problem: Problem, snapshots: dict[Path, Snapshot]
) -> SnapshotCatalog:
    """The recording as a catalog for a problem."""
    if scenario.recording not in snapshots:
        snapshots[scenario.recording] = snapshot_file.read(scenario.recording)
    return SnapshotCatalog(snapshots[scenario.recording], problem.target.platform)


if __name__ == "__main__":
    record()
