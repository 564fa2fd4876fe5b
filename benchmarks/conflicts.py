"""Ten conflicts of tests/scenarios/conflicts: what uv, pip and ascend-lock say, and how fast.

    .venv/bin/python benchmarks/conflicts.py FOLDER [--only NAME] [--limit SECONDS]

FOLDER gets a folder for each conflict with the output of each tool and the requirements that all of
them got, and `results.json` with exit statuses, seconds and load averages. Caches are kept in it,
too. See conflicts.md for the results.
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
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
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
class Request:
    """What a stack asks for, as far as uv and pip have options for it."""

    # The name of the conflict.
    name: str
    requires: list[str]
    python: str
    # `aarch64` or `x86_64`.
    machine: str
    # The minor version of glibc 2.
    glibc: int
    # The moment after which no release counts, in ISO 8601.
    until: str


@dataclass(frozen=True)
class Run:
    """A process."""

    # The exit status; None if it was stopped at the limit.
    status: int | None
    # Wall time.
    seconds: float
    # The load averages before it.
    load: str


class Tool(ABC):
    """A program that is given a request. All that it writes is below `folder`."""

    name = ""
    # The prefixes of environment variables that it must not have.
    forgets: tuple[str, ...] = ()
    # Whether a second run would be like the first one.
    once = False

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = {
            key: value for key, value in environment.items() if not key.startswith(self.forgets)
        }
        self.environment.update(self.variables())

    def variables(self) -> dict[str, str]:
        """Return environment variables of the program."""
        return {}

    @abstractmethod
    def command(self, request: Request, folder: Path) -> list[str]:
        """Return the command; `folder` has requirements.in."""

    def applies(self, request: Request) -> bool:  # noqa: ARG002
        """Return whether the program is run with this request."""
        return True


class Uv(Tool):
    """`uv pip compile`."""

    name = "uv"
    settings: tuple[str, ...] = ("--no-config",)

    def variables(self) -> dict[str, str]:
        return {"UV_CACHE_DIR": str(self.folder / "cache/uv"), "UV_DEFAULT_INDEX": index_address()}

    def command(self, request: Request, folder: Path) -> list[str]:
        command = [str(BIN / "uv"), "pip", "compile", "--no-header", "--no-annotate"]
        command += ["--no-progress", "--color", "never", "--python", sys.executable]
        command += ["--python-version", request.python]
        command += ["--python-platform", f"{request.machine}-manylinux_2_{request.glibc}"]
        command += ["--exclude-newer", request.until]
        return [*command, *self.settings, str(folder / "requirements.in")]


class UvTold(Uv):
    """Uv, told what the facts say of vllm 0.13.0 built for no device, as in the set `flagship`."""

    name = "uv-told"
    settings = ("--config-file", str(HERE / "sets/flagship/uv.toml"))

    def applies(self, request: Request) -> bool:
        return "vllm==0.13.0" in request.requires


class Pip(Tool):
    """`pip install --dry-run`."""

    name = "pip"
    forgets = ("PIP_",)
    # It keeps nothing in its cache: the wheels come over the network again.
    once = True

    def variables(self) -> dict[str, str]:
        # The one index that uv gets, too, and no folder of wheels; certificates and the proxy stay.
        config = read_pip_config()
        variables = {
            "PIP_CERT": config.cert,
            "PIP_CLIENT_CERT": config.client_cert,
            "PIP_PROXY": config.proxy,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_TIMEOUT": str(config.timeout),
            "PIP_INDEX_URL": index_address(),
            "PIP_CACHE_DIR": str(self.folder / "cache/pip"),
            "PYTHONPATH": str(self.folder / "machine"),
        }
        return {name: value for name, value in variables.items() if value}

    def command(self, request: Request, folder: Path) -> list[str]:
        write_empty_wheels(self.folder / "wheels")
        # --platform chooses files, but markers are evaluated for the machine that pip runs on.
        (self.folder / "machine").mkdir(exist_ok=True)
        patch = f"import platform\n\nplatform.machine = lambda: {request.machine!r}\n"
        (self.folder / "machine/sitecustomize.py").write_text(patch, "utf-8")
        # There is no --uploaded-prior-to: with it pip ends at once if an index does not tell the
        # times of its files.
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--no-input", "--progress-bar", "off", "--no-color"]
        command += ["--disable-pip-version-check", "--find-links", str(self.folder / "wheels")]
        command += ["--only-binary", ":all:", "--target", str(self.folder / "nowhere")]
        command += ["--implementation", "cp", "--python-version", request.python]
        for tag in platform_tags(request):
            command += ["--platform", tag]
        return [*command, "--requirement", str(folder / "requirements.in")]


def platform_tags(request: Request) -> list[str]:
    """Return each tag that the target accepts: pip does not know that glibc is compatible."""
    machine = request.machine
    oldest = 5 if machine == "x86_64" else 17
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(request.glibc, oldest - 1, -1)]
    return [*tags, f"manylinux2014_{machine}", f"linux_{machine}"]


class Ours(Tool):
    """`ascend-lock lock` of the stack itself."""

    name = "ascend-lock"
    # Options of the command.
    more: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        return {"ASCEND_LOCK_CACHE": str(self.folder / "cache/ascend-lock")}

    def command(self, request: Request, folder: Path) -> list[str]:  # noqa: ARG002
        stack = (SCENARIOS / request.name / "stack.toml").relative_to(PROJECT)
        command = [str(BIN / "ascend-lock"), "lock", str(stack), "--matrices", "matrices"]
        command += ["--locks", str(self.folder / "locks" / self.name), "--lang", "en"]
        return [*command, *self.more]


class OursWithoutWaysOut(Ours):
    """`ascend-lock lock` with so little time that it finds hardly more than the proof."""

    name = "ascend-lock-proof"
    more = ("--explain-seconds", "0.1")
    # The full run before it filled the caches.
    once = True


def write_empty_wheels(folder: Path) -> None:
    """Write wheels of projects that have only a source archive: pip builds none for other machines.

    They require nothing, as uv is told of the same projects in the benchmark's sets.
    """
    folder.mkdir(exist_ok=True)
    for name, version in (("antlr4_python3_runtime", "4.9.3"), ("arctic_inference", "0.1.1")):
        files = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            "WHEEL": (
                "Wheel-Version: 1.0\nGenerator: conflicts.py\n"
                "Root-Is-Purelib: true\nTag: py3-none-any\n"
            ),
            "RECORD": "",
        }
        with ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            for file, text in files.items():
                wheel.writestr(f"{name}-{version}.dist-info/{file}", text)


def read(name: str) -> Request:
    """Return the request of a conflict."""
    stack = tomli.loads((SCENARIOS / name / "stack.toml").read_text("utf-8"))
    target = stack["target"]
    return Request(
        name=name,
        requires=stack["stack"]["requires"],
        python=target["python"],
        machine=target["platform"].partition("-")[2],
        glibc=int(target["glibc"].partition(".")[2]),
        until=f"{stack['policy']['exclude-newer'].isoformat()}T23:59:59Z",
    )


def run(tool: Tool, request: Request, folder: Path, limit: float) -> tuple[Run, str]:
    """Run a tool to its end or to the limit; return how it went and what it printed."""
    before = load()
    begun = time.perf_counter()
    status: int | None
    try:
        done = subprocess.run(
            tool.command(request, folder),
            env=tool.environment,
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit,
        )
        status = done.returncode
        output = done.stdout
    except subprocess.TimeoutExpired as stopped:
        status = None
        output = stopped.stdout or b""
    seconds = round(time.perf_counter() - begun, 2)
    return Run(status, seconds, before), output.decode("utf-8", "replace")


def masked(text: str, folder: Path) -> str:
    """Return a text without addresses and folders of this machine, so that it can be shown."""
    text = text.replace(str(folder), "(out)").replace(str(PROJECT), "(project)")
    hosts = set(re.findall(r"https?://([^/\s:]+)", text))
    hosts.add(urlsplit(index_address()).hostname or "")
    # pip's errors point to its manual.
    hosts.discard("pip.pypa.io")
    text = re.sub(r"(?:https?|file)://(?!pip\.pypa\.io)[^\s,;)\]'\"]+", "(index)", text)
    for host in sorted(hosts - {""}, key=len, reverse=True):
        text = text.replace(host, "(index)")
    return text


def run_tools(tools: Sequence[Tool], name: str, folder: Path, limit: float) -> dict[str, Any]:
    """Give a conflict to each tool; return what results.json has of it."""
    request = read(name)
    conflict_folder = folder / name
    conflict_folder.mkdir(exist_ok=True)
    requirements = "".join(f"{line}\n" for line in request.requires)
    (conflict_folder / "requirements.in").write_text(requirements, "utf-8")
    results = {}
    for tool in tools:
        if not tool.applies(request):
            continue
        # The first run fills the cache; the second one is compared.
        first, output = run(tool, request, conflict_folder, limit)
        second = None
        if first.status is not None and not tool.once:
            second, output = run(tool, request, conflict_folder, limit)
        (conflict_folder / f"{tool.name}.txt").write_text(masked(output, folder), "utf-8")
        results[tool.name] = {"first": asdict(first), "second": second and asdict(second)}
        times = f"{first.seconds:7.1f} s"
        if second is not None:
            times += f"{second.seconds:7.1f} s"
        last = second or first
        sys.stdout.write(
            f"{name:24}{tool.name:18} status {last.status!s:5}{times:20} load {last.load}\n"
        )
        sys.stdout.flush()
    return results


def main() -> None:
    """Give the chosen conflicts to all tools."""
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
    settings = ("UV_", "ASCEND_LOCK_", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(settings)}
    tools = [kind(folder, environment) for kind in (Uv, UvTold, Pip, Ours, OursWithoutWaysOut)]
    # The results of other conflicts stay.
    record = folder / "results.json"
    results = json.loads(record.read_text("utf-8")) if record.exists() else {}
    for name in options.only or NAMES:
        results[name] = run_tools(tools, name, folder, options.limit)
        record.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
