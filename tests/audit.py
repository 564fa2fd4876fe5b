"""Install the pins of a lock on this machine and start them: `make audit STACK=…`.

Only pins with a wheel for this machine are installed.

A lock is made for another machine, mostly aarch64 with an NPU. Most of its pins have a wheel for
this one as well. They are installed into a fresh environment, without dependencies and checked by
hash: where the lock's own file fits, by the lock's; otherwise by that of the same version's file
for this machine, from the index that pip is configured with.

Then the lock's verify.py imports the modules and loads the commands of what is installed. A failure
that is due to what was left out is told and does not count.

    .venv/bin/python -m tests.audit STACK… [--target NAME] [--keep DIR]

The exit status is 1 if something fails that is neither due to what was left out nor explained by a
fact.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from resolver.config.fact_rules import compile_facts
from resolver.config.load import load_components, load_facts
from resolver.index.live import LiveCatalog
from resolver.index.locked_files import prefetch_pins
from resolver.index.pool import CatalogPool
from resolver.index.protocol import Catalog
from resolver.index.store.cache import Cache
from resolver.lock import file as lock_file
from resolver.model.fact import Optional
from resolver.model.lock import Lock, LockedFile, LockedPin
from resolver.model.problem import PYPI, Index, Indexes
from resolver.model.release import File
from resolver.model.requirement import Requirement
from resolver.report.verify import verify
from resolver.verify.distributions import installed_distributions
from resolver.verify.findings import CheckContext, Excuse, LockedStack
from resolver.verify.imports import import_environ
from resolver.verify.modules import Startable, startables
from resolver.verify.starts import Started, StartRequest, excuse_of, start_all

REPOSITORY = Path(__file__).resolve().parents[1]
LOCKS = REPOSITORY / "locks"
MATRICES = REPOSITORY / "matrices"

# What cannot be had here: the index has builds for CUDA of several gigabytes, or nothing for this
# machine.
TORCH_FAMILY = frozenset(
    [
        "torch",
        "torch-npu",
        "torchaudio",
        "torchcodec",
        "torchvision",
        "triton",
        "triton-ascend",
        "vllm",
        "vllm-ascend",
    ]
)

# The modules of projects whose names do not tell them.
MODULES = {
    "antlr4-python3-runtime": ("antlr4",),
    "opencv-python-headless": ("cv2",),
    "scikit-learn": ("sklearn",),
    "torch": ("torch", "functorch", "torchgen", "pytorch"),
    "triton-ascend": ("triton",),
}


class Plan(NamedTuple):
    """What of a lock is installed on this machine, and what is not."""

    # Each pin with the file that is installed for it.
    files: Mapping[str, LockedFile]
    # The reason for each pin that is left out.
    left_out: Mapping[str, str]


class Audit(NamedTuple):
    """How it went with everything of one lock."""

    # Everything that was started.
    started: list[Started]
    # What failed because of what was left out, with the name of that.
    because: list[tuple[Started, str]]
    # What failed and is explained by a fact, with its reason.
    excused: list[tuple[Started, str]]
    # What failed, and nothing explains it.
    failed: list[Started]


def plan(lock: Lock, catalog: Catalog) -> Plan:
    """Choose a wheel for this machine, and the lock's Python, for each pin of the lock."""
    version = tuple(map(int, lock.target.python_line.split(".")))
    tags = (*cpython_tags(version), *compatible_tags(version, f"cp{version[0]}{version[1]}"))
    ranks = {tag: rank for rank, tag in enumerate(tags)}
    files: dict[str, LockedFile] = {}
    left_out: dict[str, str] = {}
    prefetch_pins((pin for pin in lock.pin if not _why_not(pin)), catalog)
    for pin in lock.pin:
        why = _why_not(pin)
        if why:
            left_out[pin.name] = why
            continue
        if _rank(pin.file[0].name, ranks) is not None:
            files[pin.name] = pin.file[0]
            continue
        offered = _offered(pin, catalog, ranks)
        if offered is None:
            left_out[pin.name] = "it has no wheel for this machine"
        else:
            files[pin.name] = offered
    return Plan(files, left_out)


def _why_not(pin: LockedPin) -> str:
    """Return why a pin is not looked for, or nothing."""
    if pin.name in TORCH_FAMILY:
        return "it belongs to torch's family"
    if pin.git is not None:
        return "it is built from git"
    if pin.mode != "wheels":
        return "it is built from a source archive"
    if pin.index != PYPI:
        return f"it is from the index {pin.index}"
    return ""


def _rank(filename: str, ranks: Mapping[Tag, int]) -> int | None:
    """Return how well this Python takes a wheel, 0 for best.

    It is None for another machine's wheel, and for a file that is no wheel.
    """
    try:
        tags = parse_wheel_filename(filename)[3]
    except InvalidWheelFilename:
        return None
    fitting = [ranks[tag] for tag in tags if tag in ranks]
    return min(fitting, default=None)


def _offered(pin: LockedPin, catalog: Catalog, ranks: Mapping[Tag, int]) -> LockedFile | None:
    """Return the wheel of a pin's version that fits this machine best, with its hash.

    It is None if no wheel fits.
    """
    best: tuple[int, File] | None = None
    for page in catalog.lookup(canonicalize_name(pin.name)).pages:
        for version, offers in page.releases.items():
            if Version(version) != Version(pin.version):
                continue
            for file in offers:
                rank = _rank(file.filename, ranks)
                if rank is not None and (best is None or rank < best[0]):
                    best = rank, file
    if best is None:
        return None
    file = catalog.sha256(best[1])
    return LockedFile(name=file.filename, sha256=file.sha256)


def interpreter_of(line: str) -> str:
    """Return the Python of a minor version such as `3.11`; nothing if there is none here."""
    if line == ".".join(platform.python_version_tuple()[:2]):
        return sys.executable
    path = shutil.which(f"python{line}") or ""
    works = path and subprocess.run([path, "-c", ""], check=False, capture_output=True)
    return path if works and works.returncode == 0 else ""


def make_environment(folder: Path, lock: Lock, chosen: Plan) -> Path:
    """Install the chosen files into a fresh environment in this folder, and return its Python."""
    interpreter = interpreter_of(lock.target.python_line)
    assert interpreter
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    lines = [
        f"{pin.name}=={pin.version} --hash=sha256:{chosen.files[pin.name].sha256}"
        for pin in lock.pin
        if pin.name in chosen.files
    ]
    requirements = folder / "requirements.txt"
    requirements.write_text("\n".join([*lines, ""]), encoding="utf-8")
    command: list[str | Path] = [python, "-m", "pip", "install", "-q", "--no-deps"]
    command += ["--only-binary", ":all:", "--require-hashes"]
    subprocess.run([*command, "-r", requirements], check=True)
    return python


def start(lock: Lock, python: Path, folder: Path) -> list[Started]:
    """Start what is installed, with the code of the lock's verify.py, and return how it went."""
    program = folder / "verify.py"
    program.write_text(verify(lock), encoding="utf-8")
    (site,) = folder.glob("lib/python*/site-packages")
    locked = LockedStack.parse(_data_of(lock))
    context = CheckContext(locked, str(folder), dict(os.environ), program=str(program))
    installed, _ = installed_distributions(context, [str(site)])
    pinned = {name: row for name, row in installed.items() if name in locked.pins}
    targets = startables(pinned, locked.requested)
    environ = {**import_environ(context), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    environ.pop("PYTHONPATH", None)
    request = StartRequest(str(program), str(python), environ, context.seconds, _show(len(targets)))
    return start_all(request, targets)


def _data_of(lock: Lock) -> str:
    """Return what verify.py has of its lock."""
    return verify(lock).partition('LOCK = r"""')[2].partition('"""')[0]


def _show(count: int) -> Callable[[int, Startable], None]:
    """Return what shows progress on a terminal."""

    def show(done: int, what: Startable) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done}/{count} {what.name[:50]}\x1b[K")

    return show


def judge(started: Iterable[Started], chosen: Plan, excuses: Sequence[Excuse], site: Path) -> Audit:
    """Tell apart why something does not start."""
    audit = Audit([], [], [], [])
    for start_result in started:
        audit.started.append(start_result)
        if not start_result.failed:
            continue
        excuse = excuse_of(start_result.target, excuses, device_works=False)
        missing = _missing(start_result, chosen.left_out, site)
        if excuse is not None:
            audit.excused.append((start_result, excuse.reason["en"]))
        elif missing:
            audit.because.append((start_result, missing))
        else:
            audit.failed.append(start_result)
    return audit


def _missing(started: Started, left_out: Iterable[str], site: Path) -> str:
    """Return what was left out that a failure is due to, by what is missing or by its text.

    A name that is not defined counts if its file speaks of what was left out: modules define some
    names only `if is_torch_available()`.
    """
    said = f"{started.row.get('error', '')} {started.row.get('cause', '')}"
    tops = {name.partition(".")[0] for name in started.row.get("missing", ())}
    for name in left_out:
        modules = MODULES.get(name, (name.replace("-", "_"),))
        if tops & {name, *modules}:
            return name
    if str(started.row.get("cause", "")).startswith("NameError"):
        path = site / str(started.row["where"]).rpartition(":")[0]
        said += path.read_text(encoding="utf-8") if path.is_file() else ""
    for name in left_out:
        modules = MODULES.get(name, (name.replace("-", "_"),))
        words = "|".join(map(re.escape, sorted({name, *modules})))
        if re.search(rf"(?<![\w.-])({words})(?![\w-])", said, re.IGNORECASE):
            return name
    return ""


def excuses_of(lock: Lock) -> list[Excuse]:
    """Return the excuses that facts of today give the lock."""
    facts = compile_facts(load_facts(MATRICES), components=load_components(MATRICES))
    pins = {pin.name: Version(pin.version) for pin in lock.pin}
    rows = []
    for fact in facts:
        if not isinstance(fact, Optional) or fact.package not in pins:
            continue
        if not fact.applies_to(pins[fact.package]):
            continue
        if fact.needs and all(_is_met(need, pins) for need in fact.needs):
            continue
        reason = {"en": fact.reason}
        rows.append(Excuse(fact.package, fact.modules, fact.scripts, fact.device, reason))
    return rows


def _is_met(need: Requirement, pins: Mapping[str, Version]) -> bool:
    version = pins.get(need.name)
    return version is not None and need.specifier.contains(version, prereleases=True)


def audit(lock: Lock, catalog: Catalog, folder: Path) -> tuple[Plan, Audit]:
    """Install a lock's pins into the folder, unless a run before has, and start them."""
    chosen = plan(lock, catalog)
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        make_environment(folder, lock, chosen)
        (folder / "done").touch()
    (site,) = folder.glob("lib/python*/site-packages")
    return chosen, judge(start(lock, python, folder), chosen, excuses_of(lock), site)


def lines(lock: Lock, chosen: Plan, found: Audit, seconds: float) -> Iterator[str]:
    """Yield the report on a lock."""
    kinds = [started.target.kind for started in found.started]
    yield (
        f"{lock.stack} {lock.target.name}: installed {len(chosen.files)} of {len(lock.pin)}, "
        f"imported {kinds.count('module')} modules, loaded {kinds.count('script')} commands "
        f"in {seconds:.0f} s; failed {len(found.failed)}, excused {len(found.excused)}, "
        f"due to what was left out {len(found.because)}"
    )
    for name, why in sorted(chosen.left_out.items()):
        yield f"  left out  {name}: {why}"
    for started, name in found.because:
        yield f"  needs {name}  {_title(started)}"
    for started, reason in found.excused:
        yield f"  excused  {_title(started)}: {reason}"
    for started in found.failed:
        yield f"  FAILED  {_title(started)}: {_ending(started)}"


def _title(started: Started) -> str:
    return f"{started.title} ({started.target.project})"


def _ending(started: Started) -> str:
    """Return how something that failed ended."""
    row = started.row
    if "error" not in row:
        return ", ".join(f"{key} {value}" for key, value in row.items() if key != "number")
    cause = "" if row["cause"] in ("", row["error"]) else f" (because: {row['cause']})"
    return f"{row['error']}{cause} at {row['where']}"


def folders(stacks: Iterable[str], target: str) -> Iterator[Path]:
    """Yield the folders of the locks of these stacks, or of all."""
    for stack in stacks or sorted(path.name for path in LOCKS.iterdir()):
        for path in sorted((LOCKS / stack).glob(f"*{target}*")):
            if (path / lock_file.NAME).exists():
                yield path


def main() -> int:
    """Audit the locks that the command line names; return 1 if something fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("stacks", nargs="*", metavar="STACK", help="which stacks (default: all)")
    parser.add_argument("--target", default="", help="only targets with this in their name")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the environments here")
    options = parser.parse_args()
    status = 0
    indexes = Indexes(indexes={PYPI: Index(name=PYPI)}, bindings=())
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        # It has a cache of its own: otherwise locks that are rendered offline would get pages of
        # today.
        cache = Cache(options.keep or Path(scratch), lambda warning: None)
        pool = stack.enter_context(closing(CatalogPool(cache)))
        catalog = LiveCatalog(indexes, f"linux-{platform.machine()}", pool)
        for path in folders(options.stacks, options.target):
            lock = lock_file.read(path)
            assert lock is not None
            line = lock.target.python_line
            if not interpreter_of(line):
                print(f"{lock.stack} {lock.target.name}: skipped, as there is no Python {line}")
                continue
            begun = time.monotonic()
            folder = (options.keep or Path(scratch)) / f"{lock.stack}+{lock.target.name}"
            folder.mkdir(parents=True, exist_ok=True)
            chosen, found = audit(lock, catalog, folder.resolve())
            print("\n".join(lines(lock, chosen, found, time.monotonic() - begun)), flush=True)
            status = max(status, int(bool(found.failed)))
    return status


if __name__ == "__main__":
    sys.exit(main())
