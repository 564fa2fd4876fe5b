"""Modules and commands of distributions, and what happens when they are started."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from resolver.lock import file as lock_file
from resolver.report.verify import verify
from resolver.verify import starts
from resolver.verify.distributions import installed_distributions
from resolver.verify.findings import CheckContext, Excuse, LockedDistribution, LockedStack
from resolver.verify.imports import check_imports
from resolver.verify.modules import Startable, startables, top_modules
from resolver.verify.ownership import Ownership
from resolver.verify.search_path import SearchPath
from resolver.verify.starts import Started, StartRequest, check_starts, start_all

REPOSITORY = Path(__file__).resolve().parents[3]
HANGS = "import time\ntime.sleep(60)\n"
DIES = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of distributions."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The verify.py of a lock, which starts things with its own text."""
    (folder,) = (REPOSITORY / "locks" / "verl-qwen3.5").glob("linux-aarch64-*")
    lock = lock_file.read(folder)
    assert lock is not None
    path = tmp_path_factory.mktemp("program") / "verify.py"
    path.write_text(verify(lock), encoding="utf-8")
    return str(path)


def install(site: Path, name: str, commands: str = "", **modules: str) -> None:
    """Install a distribution of modules with these texts."""
    files = {f"{module}.py": text for module, text in modules.items()}
    install_files(site, name, files, commands)


def install_files(site: Path, name: str, files: dict[str, str], commands: str = "") -> None:
    info = f"{name.replace('-', '_')}-1.0.dist-info"
    rows = dict(files)
    rows[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    if commands:
        rows[f"{info}/entry_points.txt"] = f"[console_scripts]\n{commands}\n"
    for path, text in rows.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text, encoding="utf-8")
    record = "".join(f"{path},,\n" for path in [*rows, f"{info}/RECORD"])
    (site / info / "RECORD").write_text(record, encoding="utf-8")


def context_of(site: Path, program: str = "", **changes: object) -> CheckContext:
    names = [path.name.partition("-1.0")[0].replace("_", "-") for path in site.glob("*.dist-info")]
    pins = {name: LockedDistribution(name, "1.0", 1) for name in names}
    requested = changes.pop("requested", ())
    excuses = changes.pop("excuses", ())
    lock = LockedStack(
        "demo", "here", "linux-x", "3.11", "2.17", pins=pins, requested=requested, excuses=excuses
    )
    environ = {**os.environ, "PYTHONPATH": str(site)}
    return CheckContext(lock, "/lock", environ, program=program, **changes)  # type: ignore[arg-type]


def path_of(site: Path) -> SearchPath:
    return SearchPath.of_folders([str(site)])


def modules_of(site: Path, name: str) -> list[str]:
    context = context_of(site)
    installed, _ = installed_distributions(context, [str(site)])
    return top_modules(installed[name])


def started(
    site: Path, program: str, *references: str, seconds: float = 30, preload: Sequence[str] = ()
) -> list[Started]:
    startables = [
        Startable("demo", "script" if ":" in reference else "module", reference, reference)
        for reference in references
    ]
    environ = context_of(site).environ
    request = StartRequest(program, sys.executable, environ, seconds, lambda done, target: None)
    return start_all(request, startables, preload)


def only_row(site: Path, program: str, target: str, seconds: float = 30) -> dict[str, object]:
    (one,) = started(site, program, target, seconds=seconds)
    return dict(one.row)


# --- which modules


def test_top_modules_of_packages_and_files(site: Path) -> None:
    files = {
        "one.py": "",
        "two/__init__.py": "",
        "two/inner.py": "",
        "two/sub/__init__.py": "",
        "data/x.bin": "",
    }
    install_files(site, "demo", files)
    assert modules_of(site, "demo") == ["one", "two"]


def test_top_modules_of_namespace_packages(site: Path) -> None:
    files = {
        "google/cloud/storage/__init__.py": "",
        "google/cloud/storage/a.py": "",
        "google/single.py": "",
    }
    install_files(site, "demo", files)
    assert modules_of(site, "demo") == ["google.cloud.storage", "google.single"]


def test_top_modules_of_extensions(site: Path) -> None:
    files = {
        "_fast.cpython-311-aarch64-linux-gnu.so": "…PyInit__fast…",
        "_stable.abi3.so": "…PyInit__stable…",
        "plain.so": "…PyInit_plain…",
        "libother.so": "no module: it has no function of that name",
        "deep/__init__.cpython-311-x86_64-linux-gnu.so": "…PyInit___init__…",
    }
    install_files(site, "demo", files)
    assert modules_of(site, "demo") == ["_fast", "_stable", "deep", "plain"]


def test_top_modules_leave_out_what_nobody_imports(site: Path) -> None:
    files = {
        "tests/__init__.py": "",
        "docs/conf.py": "",
        "examples/run.py": "",
        "setup.py": "",
        "demo-stubs/__init__.pyi": "",
        "not-a-name.py": "",
        "class.py": "",
        "__editable___demo_1_0_finder.py": "",
        "share/doc/deep/x.py": "",
        "demo.pth": "import os\n",
        "demo.py": "",
    }
    install_files(site, "demo", files)
    assert modules_of(site, "demo") == ["demo"]


def test_top_modules_of_a_path_file_alone(site: Path) -> None:
    install_files(site, "only-a-path", {"path.pth": "/nowhere\n"})
    assert modules_of(site, "only-a-path") == []


def test_top_modules_of_an_editable_installation(site: Path) -> None:
    install_files(site, "demo", {"__editable__.demo-1.0.pth": "/src\n"})
    info = site / "demo-1.0.dist-info"
    (info / "direct_url.json").write_text('{"url": "file:///src", "dir_info": {"editable": true}}')
    (info / "top_level.txt").write_text("demo\ntests\n")
    assert modules_of(site, "demo") == ["demo"]


def test_startables_have_commands_of_requested_projects(site: Path) -> None:
    install_files(site, "asked", {"asked.py": ""}, "Run = asked.cli:app.main [extra]")
    install_files(site, "other", {"other.py": ""}, "other = other:main")
    context = context_of(site)
    installed, _ = installed_distributions(context, [str(site)])
    found = startables(installed, ["asked"])
    assert found == [
        Startable("asked", "module", "asked", "asked"),
        Startable("asked", "script", "Run", "asked.cli:app.main"),
        Startable("other", "module", "other", "other"),
    ]


# --- how it goes


def test_start_returns_the_path(site: Path, program: str) -> None:
    install(site, "demo", demo="def main(): pass\n")
    module, command = started(site, program, "demo", "demo:main")
    assert module.row["path"] == str(site / "demo.py")
    assert not module.failed
    assert not command.failed


def test_start_returns_cause_and_place_of_an_exception(site: Path, program: str) -> None:
    text = """
try:
    import nowhere.at_all
except ImportError as error:
    raise RuntimeError('no\\nuse') from error
"""
    install(site, "demo", demo=text)
    row = only_row(site, program, "demo")
    assert row["error"] == "RuntimeError: no use"
    assert row["cause"] == "ModuleNotFoundError: No module named 'nowhere'"
    assert row["missing"] == ["nowhere"]
    assert str(row["where"]).endswith("demo.py:3")


def test_start_command_without_its_attribute(site: Path, program: str) -> None:
    install(site, "demo", demo="")
    row = only_row(site, program, "demo:main")
    assert str(row["error"]).startswith("AttributeError: module 'demo' has no attribute 'main'")
    assert row["where"] == ""


def test_start_command_without_its_module(site: Path, program: str) -> None:
    row = only_row(site, program, "demo.cli:main")
    assert row["missing"] == ["demo"]


def test_start_module_that_exits(site: Path, program: str) -> None:
    install(site, "demo", demo="raise SystemExit(3)\n")
    assert only_row(site, program, "demo")["error"] == "SystemExit: 3"
    install(site, "demo", demo="import os\nos._exit(3)\n")
    assert only_row(site, program, "demo")["status"] == 3


def test_start_after_a_module_that_dies(site: Path, program: str) -> None:
    install(site, "demo", dies=DIES, lives="")
    dies, lives = started(site, program, "dies", "lives")
    assert dies.row["signal"] == "SIGSEGV"
    assert not lives.failed


def test_start_kills_what_hangs_with_its_children(site: Path, program: str, tmp_path: Path) -> None:
    text = f"""
import subprocess
child = subprocess.Popen(["sleep", "60"])
open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
"""
    install(site, "demo", hangs=text + HANGS)
    begun = time.monotonic()
    row = only_row(site, program, "hangs", seconds=2)
    assert row["late"]
    assert time.monotonic() - begun < 20
    assert has_ended(int((tmp_path / "pid").read_text()))


def test_start_leaves_a_child_that_cannot_be_killed(site: Path, program: str) -> None:
    # the kernel does not report the end of a process in uninterruptible sleep, killed or not
    text = """
import os
def waitpid(process, options):
    if options != os.WNOHANG:
        raise AssertionError("it waits without a limit")
    return 0, 0
os.waitpid = waitpid
"""
    install(site, "demo", sitecustomize=text, hangs=HANGS)
    assert only_row(site, program, "hangs", seconds=0.2).get("late")


def test_start_kills_what_a_module_leaves_behind(site: Path, program: str, tmp_path: Path) -> None:
    text = f"""
import os, time
noted = {str(tmp_path / "pid")!r}
if os.fork() == 0:
    open(noted, "w").write(str(os.getpid()))
    time.sleep(60)
while not os.path.exists(noted):
    time.sleep(0.01)
time.sleep(0.1)
"""
    install(site, "demo", demo=text)
    begun = time.monotonic()
    row = only_row(site, program, "demo")
    assert "path" in row
    assert time.monotonic() - begun < 20
    assert has_ended(int((tmp_path / "pid").read_text()))


def has_ended(process: int) -> bool:
    """Whether a process is gone, or nobody has taken note of its end."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_start_without_standard_streams(site: Path, program: str) -> None:
    text = """
import sys
print('x' * 100000)
sys.stdin.read()
print(sys.argv, file=sys.stderr)
"""
    install(site, "demo", demo=text)
    assert "path" in only_row(site, program, "demo")


def test_start_keeps_processes_apart(site: Path, program: str) -> None:
    install(site, "demo", first="import sys\nsys.modules['second'] = None\n", second="")
    assert [one.failed for one in started(site, program, "first", "second")] == [False, False]


def test_start_shares_the_preload(site: Path, program: str, tmp_path: Path) -> None:
    text = f"open({str(tmp_path / 'log')!r}, 'a').write('once ')\n"
    install(site, "demo", heavy=text, one="import heavy\n", two="import heavy\n")
    rows = started(site, program, "one", "two", "heavy", preload=["heavy"])
    assert not any(row.failed for row in rows)
    assert (tmp_path / "log").read_text() == "once "


@pytest.mark.parametrize("text", ["raise ImportError('broken')\n", DIES, HANGS])
def test_start_without_a_preload_that_fails(site: Path, program: str, text: str) -> None:
    install(site, "demo", heavy=text, one="")
    one, heavy = started(site, program, "one", "heavy", preload=["heavy"], seconds=2)
    assert not one.failed
    assert heavy.failed


def test_start_leaves_a_preload_that_cannot_be_killed(
    site: Path, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # like a process in uninterruptible sleep, its child keeps the pipe open whatever its parent is
    # sent
    text = """
import os, signal, time
if os.fork() == 0:
    time.sleep(30)
    os._exit(0)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGTERM])
"""
    monkeypatch.setattr(starts, "_SILENCE", 1)
    monkeypatch.setattr(starts, "_END_SECONDS", 0.5)
    install(site, "demo", heavy=text + HANGS, one="")
    begun = time.monotonic()
    one, heavy = started(site, program, "one", "heavy", preload=["heavy"], seconds=2)
    assert time.monotonic() - begun < 20
    assert not one.failed
    assert heavy.row["late"]


def test_start_without_the_folder_of_the_program(site: Path, program: str) -> None:
    assert only_row(site, program, "verify")["missing"] == ["verify"]


# --- what is said of it


def check(site: Path, program: str, *, has_device: bool = False, **changes: object):  # type: ignore[no-untyped-def]
    context = context_of(site, program, **changes)
    installed, _ = installed_distributions(context, [str(site)])
    return check_starts(
        context,
        installed,
        Ownership(context, installed, path_of(site)),
        has_device=has_device,
    )


def test_starts_with_one_reason_are_one_finding(site: Path, program: str) -> None:
    install(site, "root", root="raise ImportError('wants NumPy 2')\n")
    install(site, "user", user="import root\n", commands="use = user:main")
    install(site, "fine", fine="")
    group = check(site, program, requested=["user"])
    (finding,) = group.findings
    assert finding.code == "start-failed"
    assert finding.values["list"] == "import root, import user, use"
    assert finding.values["error"] == "ImportError: wants NumPy 2"
    assert group.values == {"modules": "1", "scripts": "0", "excused": "0"}
    outcomes = {row["name"]: row["outcome"] for row in group.results}
    assert outcomes == {"root": "failed", "user": "failed", "use": "failed", "fine": "ok"}


def test_starts_that_crash_or_hang(site: Path, program: str) -> None:
    install(site, "demo", dies=DIES, hangs=HANGS)
    codes = {finding.code: finding.values for finding in check(site, program, seconds=2.0).findings}
    assert codes.keys() == {"start-died", "start-late"}
    assert codes["start-died"]["error"] == "killed by SIGSEGV"
    assert codes["start-late"]["seconds"] == "2"


def excuse(*, device: bool = False) -> Excuse:
    return Excuse("demo", ["demo"], ["run"], device, {"en": "it is for others", "zh": "供他人使用"})


def test_starts_that_are_excused_are_remarks(site: Path, program: str) -> None:
    install(site, "demo", demo="import flask\n", commands="run = demo:main")
    group = check(site, program, requested=["demo"], excuses=[excuse()])
    assert group.findings == []
    assert group.remarks[0] == {"what": "import demo", "why": "it is for others"}
    assert group.values["excused"] == "2"
    assert group.note == "starts-but"


def test_starts_that_need_no_excuse(site: Path, program: str) -> None:
    install(site, "demo", demo="")
    group = check(site, program, excuses=[excuse()])
    assert (group.findings, group.remarks) == ([], [])


@pytest.mark.parametrize(
    "torch_npu", ["", "raise ImportError('libhccl.so: cannot open shared object file')\n"]
)
def test_starts_on_an_npu_have_no_excuse_for_want_of_one(
    site: Path, program: str, torch_npu: str
) -> None:
    install(site, "demo", demo="raise OSError('no device')\n")
    install(site, "torch-npu", torch_npu=torch_npu)
    excused = check(site, program, excuses=[excuse(device=True)])
    codes = [finding.code for finding in excused.findings]
    assert codes == (["start-untried"] if torch_npu else ["start-failed"])
    has_device = check(site, program, excuses=[excuse(device=True)], has_device=True)
    assert "start-failed" in [finding.code for finding in has_device.findings]


@pytest.mark.parametrize("is_honest", [True, False])
def test_starts_from_elsewhere(
    site: Path, program: str, tmp_path: Path, *, is_honest: bool
) -> None:
    """What a module says of itself does not count."""
    install(site, "demo", demo="")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    text = "" if is_honest else f"__file__ = {str(site / 'demo.py')!r}\n"
    (elsewhere / "demo.py").write_text(text)
    context = context_of(site, program)
    environ = {**os.environ, "PYTHONPATH": f"{elsewhere}{os.pathsep}{site}"}
    context = CheckContext(context.lock, "/lock", environ, program=program)
    installed, _ = installed_distributions(context, [str(site)])
    (finding,) = check_starts(
        context,
        installed,
        Ownership(context, installed, path_of(site)),
        has_device=False,
    ).findings
    assert finding.code == "import-elsewhere"
    assert finding.values["found"] == str(elsewhere / "demo.py")


@pytest.mark.parametrize("is_owned", [False, True])
def test_starts_in_place_of_a_locked_module(site: Path, program: str, is_owned: bool) -> None:
    """Python takes a package before a module, whoever put it there."""
    install(site, "demo", demo="")
    context = context_of(site, program)
    (site / "demo").mkdir()
    (site / "demo" / "__init__.py").write_text("")
    if is_owned:
        install_files(site, "other", {"demo/__init__.py": ""})
    for imports in ([], ["demo"]):
        lock = LockedStack(
            "demo", "here", "linux-x", "3.11", "2.17", pins=context.lock.pins, imports=imports
        )
        context = CheckContext(lock, "/lock", context.environ, program=program)
        installed, _ = installed_distributions(context, [str(site)])
        ownership = Ownership(context, installed, path_of(site))
        groups = [
            check_imports(context, ownership, has_device=False),
            check_starts(context, installed, ownership, has_device=False),
        ]
        (finding,) = [finding for group in groups for finding in group.findings]
        assert finding.code == "import-replaced"
        assert finding.values["found"] == str(site / "demo" / "__init__.py")


def test_starts_leave_out_the_imports(site: Path, program: str) -> None:
    install(site, "demo", demo="")
    context = context_of(site, program)
    lock = LockedStack(
        "demo", "here", "linux-x", "3.11", "2.17", pins=context.lock.pins, imports=["demo"]
    )
    context = CheckContext(lock, "/lock", context.environ, program=program)
    installed, _ = installed_distributions(context, [str(site)])
    assert (
        check_starts(
            context,
            installed,
            Ownership(context, installed, path_of(site)),
            has_device=False,
        ).results
        == []
    )
