"""Ten conflicts of tests/scenarios/conflicts, told by uv, by pip and by ascend-lock: their words and their times.

    .venv/bin/python benchmarks/conflicts.py FOLDER [--only NAME] [--limit SECONDS]

FOLDER gets one folder for each conflict, with what each tool printed, the wishes that all of them
got, and `results.json` with exit statuses, seconds and load averages. Caches are kept in it, too.
See conflicts.md for what came of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit
from zipfile import ZipFile

import tomli
from bench import load
from sides import BIN, HERE, PROJECT, index_address

from resolver.index.net.pipconfig import read_pip_config

SCENARIOS = PROJECT / "tests" / "scenarios" / "conflicts"
NAMES = (
    "trl-below-0.13",
    "vllm-wheel-torch",
    "opencv-0.18",
    "torch-2.9.1-npu-2.9.0",
    "torchvision-of-verl",
    "numpy-of-mindspeed",
    "x86-torch-cpu",
    "two-tritons",
    "torch-npu-2.7.1-cann-9",
    "a3-wheel",
)


@dataclass(frozen=True)
class Wish:
    """What a stack asks for, in the terms that uv and pip have words for."""

    name: str
    requires: list[str]
    python: str
    machine: str
    glibc: int
    until: str


@dataclass(frozen=True)
class Run:
    """One process. `status` is None where it was stopped at the limit."""

    status: int | None
    seconds: float
    load: str


class Tool(ABC):
    """A program that gets a wish. All that it writes is below `folder`."""

    name = ""
    forgets: tuple[str, ...] = ()
    once = False  # True where a second run would be like the first

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        kept = {
            key: value for key, value in environment.items() if not key.startswith(self.forgets)
        }
        self.environment = {**kept, **self.variables()}

    def variables(self) -> dict[str, str]:
        return {}

    @abstractmethod
    def command(self, wish: Wish, here: Path) -> list[str]: ...

    def applies(self, wish: Wish) -> bool:  # noqa: ARG002
        return True


class Uv(Tool):
    name = "uv"
    settings: tuple[str, ...] = ("--no-config",)

    def variables(self) -> dict[str, str]:
        return {"UV_CACHE_DIR": str(self.folder / "cache/uv"), "UV_DEFAULT_INDEX": index_address()}

    def command(self, wish: Wish, here: Path) -> list[str]:
        return [
            *(
                str(BIN / "uv"),
                "pip",
                "compile",
                "--no-header",
                "--no-annotate",
                "--no-progress",
                "--color",
                "never",
            ),
            *("--python", sys.executable, "--python-version", wish.python),
            *("--python-platform", f"{wish.machine}-manylinux_2_{wish.glibc}"),
            *("--exclude-newer", wish.until, *self.settings, str(here / "requirements.in")),
        ]


class UvTold(Uv):
    """Uv with what the facts say of vllm 0.13.0 built for no device, as benchmark set `flagship` has it."""

    name = "uv-told"
    settings = ("--config-file", str(HERE / "sets/flagship/uv.toml"))

    def applies(self, wish: Wish) -> bool:
        return "vllm==0.13.0" in wish.requires


class Pip(Tool):
    name = "pip"
    forgets = ("PIP_",)
    once = True  # it kept nothing in its cache: the wheels came over the network again

    def variables(self) -> dict[str, str]:
        # The one index that uv gets, too, and no folder of wheels; certificates and the proxy stay.
        config = read_pip_config()
        told = {"CERT": config.cert, "CLIENT_CERT": config.client_cert, "PROXY": config.proxy}
        return {
            **{f"PIP_{key}": value for key, value in told.items() if value},
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_TIMEOUT": str(config.timeout),
            "PIP_INDEX_URL": index_address(),
            "PIP_CACHE_DIR": str(self.folder / "cache/pip"),
            "PYTHONPATH": str(self.folder / "machine"),
        }

    def command(self, wish: Wish, here: Path) -> list[str]:
        stand_ins(self.folder / "wheels")
        # --platform chooses files, but markers are evaluated for the machine that pip runs on.
        (self.folder / "machine").mkdir(exist_ok=True)
        patch = f"import platform\n\nplatform.machine = lambda: {wish.machine!r}\n"
        (self.folder / "machine/sitecustomize.py").write_text(patch, "utf-8")
        # No --uploaded-prior-to: pip ended at once where an index does not tell the times of its
        # files. pip does not know that one glibc can do what an older one can, so each tag is
        # named.
        oldest = 5 if wish.machine == "x86_64" else 17
        tags = [
            f"manylinux_2_{minor}_{wish.machine}" for minor in range(wish.glibc, oldest - 1, -1)
        ]
        tags += [f"manylinux2014_{wish.machine}", f"linux_{wish.machine}"]
        return [
            *(
                sys.executable,
                "-m",
                "pip",
                "install",
                "--dry-run",
                "--ignore-installed",
                "--no-input",
            ),
            *("--progress-bar", "off", "--no-color", "--disable-pip-version-check"),
            *(
                "--find-links",
                str(self.folder / "wheels"),
                "--only-binary",
                ":all:",
                "--target",
                str(self.folder / "nowhere"),
            ),
            *("--implementation", "cp", "--python-version", wish.python),
            *(word for tag in tags for word in ("--platform", tag)),
            *("--requirement", str(here / "requirements.in")),
        ]


class Ours(Tool):
    name = "ascend-lock"
    more: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        return {"ASCEND_LOCK_CACHE": str(self.folder / "cache/ascend-lock")}

    def command(self, wish: Wish, here: Path) -> list[str]:  # noqa: ARG002, the stack itself has the wishes
        stack = (SCENARIOS / wish.name / "stack.toml").relative_to(PROJECT)
        return [
            *(str(BIN / "ascend-lock"), "lock", str(stack)),
            *(
                "--matrices",
                "matrices",
                "--locks",
                str(self.folder / "locks" / self.name),
                "--lang",
                "en",
                *self.more,
            ),
        ]


class OursWithoutWaysOut(Ours):
    """The proof alone, or nearly: a tenth of a second leaves hardly time for a way out."""

    name = "ascend-lock-proof"
    more = ("--explain-seconds", "0.1")
    once = True  # the caches are those of the full run before


def stand_ins(folder: Path) -> None:
    """Empty wheels of what is a source archive alone, as pip builds none for another machine.

    They need nothing, which is what uv is told of the same two by the benchmark's sets.
    """
    folder.mkdir(exist_ok=True)
    for name, version in (("antlr4_python3_runtime", "4.9.3"), ("arctic_inference", "0.1.1")):
        files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            "WHEEL": "Wheel-Version: 1.0\nGenerator: conflicts.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }
        with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for file, text in files.items():
                wheel.writestr(f"{name}-{version}.dist-info/{file}", text)


def read(name: str) -> Wish:
    stack = tomli.loads((SCENARIOS / name / "stack.toml").read_text("utf-8"))
    target = stack["target"]
    return Wish(
        name=name,
        requires=stack["stack"]["requires"],
        python=target["python"],
        machine=target["platform"].partition("-")[2],
        glibc=int(target["glibc"].partition(".")[2]),
        until=f"{stack['policy']['exclude-newer'].isoformat()}T23:59:59Z",
    )


def run(tool: Tool, wish: Wish, here: Path, limit: float) -> tuple[Run, str]:
    """Run a tool to its end or to the limit: how it went, and what it printed."""
    before = load()
    begun = time.perf_counter()
    status: int | None
    try:
        done = subprocess.run(
            tool.command(wish, here),
            env=tool.environment,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit,
        )
        status, said = done.returncode, done.stdout
    except subprocess.TimeoutExpired as stopped:
        status, said = None, stopped.stdout or b""
    return Run(status, round(time.perf_counter() - begun, 2), before), said.decode(
        "utf-8", "replace"
    )


def masked(text: str, folder: Path) -> str:
    """The text without the addresses and the folders of this machine, so that it can be shown."""
    text = text.replace(str(folder), "(out)").replace(str(PROJECT), "(project)")
    hosts = {urlsplit(index_address()).hostname or ""} | set(
        re.findall(r"https?://([^/\s:]+)", text)
    )
    hosts.discard("pip.pypa.io")  # pip's manual, where its errors point to
    text = re.sub(r"(?:https?|file)://(?!pip\.pypa\.io)[^\s,;)\]'\"]+", "(index)", text)
    for host in sorted(hosts - {""}, key=len, reverse=True):
        text = text.replace(host, "(index)")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--only", action="append", choices=NAMES, metavar="NAME", help="default: all ten"
    )
    parser.add_argument(
        "--limit", type=float, default=300.0, help="seconds for one run (default: 300)"
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("UV_", "ASCEND_LOCK_")) and key != "VIRTUAL_ENV"
    }
    tools = [kind(folder, environment) for kind in (Uv, UvTold, Pip, Ours, OursWithoutWaysOut)]
    record = folder / "results.json"  # what it has of other conflicts stays
    results = json.loads(record.read_text("utf-8")) if record.exists() else {}
    for name in options.only or NAMES:
        wish = read(name)
        here = folder / name
        here.mkdir(exist_ok=True)
        (here / "requirements.in").write_text("\n".join(wish.requires) + "\n", "utf-8")
        results[name] = {}
        for tool in tools:
            if not tool.applies(wish):
                continue
            # The first run fills the cache, the second is the one to compare.
            first, said = run(tool, wish, here, options.limit)
            second = None
            if first.status is not None and not tool.once:
                second, said = run(tool, wish, here, options.limit)
            (here / f"{tool.name}.txt").write_text(masked(said, folder), "utf-8")
            results[name][tool.name] = {"first": asdict(first), "second": second and asdict(second)}
            times = f"{first.seconds:7.1f} s{'' if second is None else f'{second.seconds:7.1f} s'}"
            last = second or first
            sys.stdout.write(
                f"{name:24}{tool.name:18} status {last.status!s:5}{times:20} load {last.load}\n"
            )
            sys.stdout.flush()
        record.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
