"""What a lock from an empty cache cannot leave out, each part alone: the floor under `empty` of `bench.py`.

    .venv/bin/python benchmarks/floor.py [--rounds 5] [--set flagship]

One run notes each request that it sends, each module that it imports, and each text that it hands to a library to be
read. Then, in turn, each in a process of its own: a whole run of ours and of uv; the same requests by curl,
all of them at once and what comes thrown away; the modules of others imported;
the JSON of the pages decoded into their files, which is C alone; the source archives gone through by tarfile; METADATA
read, requirements and versions parsed by packaging, each different text once. Imports and input count in the row of
the modules only. Medians with their spread, and the sum of the parts beside the target.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench import EMPTY, SETS, load, show
from sides import HERE, Ours, Run, Uv, environment, index_address, measure

REPLAYED = str(HERE / "replayed.py")

NOTE = """
import json, os, sys
import packaging.requirements, packaging.version
from resolver.catalog.net import wire
from resolver.catalog.parse import metadata
os.sched_getaffinity = lambda _: {0}  # on one processor all is asked here, where it is noted
read = {"metadata": {}, "requirements": {}, "versions": {}}
def reader(kind, call, at):
    def noting(*of, **more):
        read[kind][of[at]] = None
        return call(*of, **more)
    return noting
plainly = metadata._plainly
def needed(header):
    found = plainly(header)
    if found is not None:
        lines = "".join(f"Requires-Dist: {line}\\n" for line in found["requires_dist"])
        read["metadata"]["Name: {name}\\nVersion: {version}\\n".format(**found) + lines] = None
    return found
metadata._plainly = needed
for kind, its in (("requirements", packaging.requirements.Requirement), ("versions", packaging.version.Version)):
    its.__init__ = reader(kind, its.__init__, 1)
notes = open(sys.argv.pop(1), "w", encoding="utf-8")
send = wire.Wire.send
asked = []
async def noted(self, url, headers, *more, **named):
    asked.append(row := [url, dict(headers)])
    try:
        return await send(self, url, headers, *more, **named)
    except BaseException:
        asked.remove(row)  # an index that is not there
        raise
wire.Wire.send = noted
leave = os._exit
def left(status):
    notes.writelines(json.dumps(row) + "\\n" for row in asked)
    notes.write(json.dumps({kind: list(texts) for kind, texts in read.items()}) + "\\n")
    notes.write(json.dumps(sorted(sys.modules)) + "\\n")
    notes.close()
    leave(status)
os._exit = left
from resolver.cli import main
main()
"""

ASK = """
import asyncio, json, sys
from pathlib import Path
from resolver.catalog.net.pipconfig import read_pip_config
from resolver.catalog.net.wire import Wire
notes, keep = sys.argv[1], sys.argv[2:]
rows = [json.loads(row) for row in Path(notes).read_text("utf-8").splitlines()[:-2]]
async def main():
    wire = Wire(read_pip_config())
    async def ask(number, url, headers):
        answer = await wire.send(url, headers, 10.0)
        body = await answer.read(1 << 30)
        await answer.aclose()
        if keep:
            kind = "json" if "json" in answer.headers.get("content-type", "") else url.rpartition(".")[2]
            Path(keep[0], f"{number}.{kind}").write_bytes(body)
    await asyncio.gather(*(ask(number, *row) for number, row in enumerate(rows)))
    await wire.close()
asyncio.run(main())
"""

# Before each of the rest: `begin()` says that all is imported and read, what follows is the part.
TIMED = """
import atexit, json, sys, time
from pathlib import Path
def begin():
    wall, cpu = time.perf_counter(), time.process_time()
    atexit.register(lambda: print(time.perf_counter() - wall, time.process_time() - cpu))
def texts(kind):
    return json.loads(Path(sys.argv[1], "notes").read_text("utf-8").splitlines()[-2])[kind]
"""

DECODE = f"""
sys.path.append({str(HERE)!r})
from replayed import decode
pages = [path.read_bytes() for path in Path(sys.argv[1], "bodies").glob("*.json")]
begin()
for page in pages:
    decode(page)
"""

ARCHIVES = """
import tarfile
begin()
for path in Path(sys.argv[1], "bodies").glob("*.gz"):
    with tarfile.open(path) as archive:
        for member in archive:
            pass
"""

METADATA = """
from packaging.metadata import parse_email
found = [text.encode("latin-1") for text in texts("metadata")]
begin()
for content in found:
    parse_email(content)
"""

PARSED = """
from packaging.requirements import Requirement
from packaging.version import Version
requirements, versions = texts("requirements"), texts("versions")
begin()
for kind, found in ((Requirement, requirements), (Version, versions)):
    for text in found:
        try:
            kind(text)
        except ValueError:
            pass
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--set", choices=[one.name for one in SETS], default=SETS[0].name)
    given = parser.parse_args()
    which = next(one for one in SETS if one.name == given.set)
    with tempfile.TemporaryDirectory(prefix="floor-") as work:
        folder = Path(work)
        ours, uv = (kind(which, folder / kind.name, environment()) for kind in (Ours, Uv))
        notes, bodies = folder / "notes", folder / "bodies"
        bodies.mkdir()
        variables = {**environment(), **ours.variables()}

        def python(code: str, *arguments: str) -> Run:
            found, told = measure([sys.executable, "-c", code, *arguments], variables, folder)
            if found.status:
                raise SystemExit(f"exit status {found.status}: {told[-1500:]}")
            return found

        def timed(arguments: list[str]) -> Run:
            found, told = measure([sys.executable, *arguments], variables, folder)
            if found.status:
                raise SystemExit(f"exit status {found.status}: {told[-1500:]}")
            wall, cpu = map(float, told.split()[-2:])
            return replace(found, wall=wall, cpu=cpu)

        def part(code: str) -> Run:
            return timed(["-c", TIMED + code, str(folder)])

        index_address()
        python(NOTE, str(notes), *ours.command(EMPTY)[1:])
        *requests, read, last = notes.read_text("utf-8").splitlines()
        python(ASK, str(notes), str(bodies))
        theirs = [name for name in json.loads(last) if name.partition(".")[0] not in ("resolver", "__main__")]
        counts = {kind: len(texts) for kind, texts in json.loads(read).items()}
        imports = f"import importlib\nfor name in {theirs!r}:\n    importlib.import_module(name)"
        parts: dict[str, Callable[[], Run]] = {
            "ascend-lock": lambda: ours.run(EMPTY),
            "uv": lambda: uv.run(EMPTY),
            f"{len(requests)} requests, thrown away": lambda: python(ASK, str(notes)),
            f"{len(theirs)} modules of others imported": lambda: python(imports),
            "pages decoded by msgspec": lambda: part(DECODE),
            "source archives, by tarfile": lambda: part(ARCHIVES),
            f"{counts['metadata']} METADATA, by packaging": lambda: part(METADATA),
            f"{counts['requirements']} requirements, {counts['versions']} versions": lambda: part(PARSED),
        }
        together: dict[str, Callable[[], Run]] = {
            "requests as they are named, read": lambda: timed([REPLAYED, str(notes)]),
            "requests as they are named, unread": lambda: timed([REPLAYED, str(notes), "--unread"]),
        }
        before = load()
        runs: dict[str, list[Run]] = {name: [] for name in (*parts, *together)}
        for _ in range(given.rounds):
            for name, run in (*parts.items(), *together.items()):
                runs[name].append(run())
        show(f"{which.name}, empty cache, {given.rounds} rounds; load average {before} before, {load()} after")
        show(f"{'':38}{'wall s':>8}  {'min..max':14}{'CPU s':>8}  min..max")
        for name, found in runs.items():
            wall, cpu = [run.wall for run in found], [run.cpu for run in found]
            show(f"{name:38}{_told(wall)}{_told(cpu)}")
        middle = {name: statistics.median(run.cpu for run in runs[name]) for name in parts}
        own = EMPTY.cpu * middle.pop("uv")
        del middle["ascend-lock"]
        show(f"the parts together {sum(middle.values()):.2f} s of CPU, the target {own:.2f} s")


def _told(values: list[float]) -> str:
    spread = f"{min(values):.2f}..{max(values):.2f}"
    return f"{statistics.median(values):8.2f}  {spread:14}"


if __name__ == "__main__":
    main()
