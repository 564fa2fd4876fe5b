"""The job of docs/day.md, and the snapshot that its commands are run from.

`python -m tests.day` records what they ask of the real indexes anew.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner

from resolver.cli import commands
from resolver.cli.catalogs import Catalogs
from resolver.cli.console import ConflictPage, Progress
from resolver.cli.options import Settings, today
from resolver.cli.record import record_target
from resolver.cli.session import Session
from resolver.index import snapshot
from resolver.index.recording import Recording

REPOSITORY = Path(__file__).resolve().parents[1]
RECORDED = REPOSITORY / "tests" / "recorded" / "day.snapshot"
REQUIREMENTS = """\
flash-attn==2.8.3
trl[vllm]==0.28.0
vllm-ascend==0.13.0
transformers==4.57.6
datasets
"""
IMPORT = "import requirements.txt -o job.toml --cann 8.5.0 --soc A2 --python 3.11 --glibc 2.35"
# What way out A changes.
ASKED, INSTEAD = "trl[vllm]==0.28.0", "trl[vllm]==1.0.0"


def record() -> None:
    """Ask the real indexes all that the page asks, and write it down."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("requirements.txt").write_text(REQUIREMENTS, encoding="utf-8")
        CliRunner().invoke(commands._commands, IMPORT.split(), catch_exceptions=False)
        run = Settings(progress=Progress("en"), language="en")
        with closing(Catalogs(run)) as catalogs:
            session = Session(run, catalogs, ConflictPage(None, run.progress))
            before = session.jobs("job.toml")
            text = Path("job.toml").read_text(encoding="utf-8").replace(ASKED, INSTEAD)
            Path("job.toml").write_text(text, encoding="utf-8")
            jobs = [*before, *session.jobs("job.toml")]
            recording = Recording(job.problem.target for job in before)
            for job in jobs:
                record_target(job, session, recording)
        snapshot.write(recording.snapshot("job", today()), RECORDED)


if __name__ == "__main__":
    record()
