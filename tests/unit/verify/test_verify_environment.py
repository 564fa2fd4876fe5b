"""Distributions, RECORDs, collisions and imports, as verify.py checks them in site-packages."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from resolver.verify import makers
from resolver.verify.distributions import installed_distributions
from resolver.verify.environment import check_distributions, check_python
from resolver.verify.findings import CheckContext, Group, LockedDistribution, LockedStack
from resolver.verify.imports import run_python, shown_command
from resolver.verify.ownership import Ownership
from resolver.verify.record import check_collisions, check_files
from resolver.verify.search_path import SearchPath
from resolver.verify.strays import check_strays
from tests.builders import build_wheel
from tests.nested import nested_folders


class Site:
    """A site-packages folder and the pins that should be in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pins: dict[str, LockedDistribution] = {}
        self.rewritten: frozenset[str] = frozenset()
        self.absent: dict[str, str] = {}

    def add(
        self, name: str, files: dict[str, str], *, stage: int = 1, locked: bool = True, **more: str
    ) -> Path:
        """Unpack a wheel; `more` are further files of its .dist-info."""
        wheel = build_wheel(name, "1.0", files=files)
        with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
            archive.extractall(self.root)
        info = self.root / f"{name.replace('-', '_')}-1.0.dist-info"
        for key, text in more.items():
            (info / key.replace("_json", ".json")).write_text(text)
        if locked:
            self.pins[name] = LockedDistribution(name, "1.0", stage)
        return info

    def _context(self, *, full: bool) -> CheckContext:
        lock = LockedStack(
            "demo",
            "here",
            "linux-x",
            "3.11",
            "2.17",
            {},
            self.pins,
            rewritten=self.rewritten,
            absent=self.absent,
        )
        return CheckContext(lock, "/lock", {}, full=full)

    def path(self) -> SearchPath:
        """Return the path on which this is the only site-packages."""
        return SearchPath.of_folders([str(self.root)])

    def groups(self, *, full: bool = False) -> dict[str, Group]:
        context = self._context(full=full)
        installed, broken = installed_distributions(context, self.path().folders)
        collisions, overwritten = check_collisions(context, installed)
        files = check_files(context, installed, overwritten)
        groups = (
            check_distributions(context, installed, broken),
            files,
            collisions,
            check_strays(
                context,
                installed,
                Ownership(context, installed, self.path()),
            ),
        )
        return {group.name: group for group in groups}

    def codes(self, *, full: bool = False) -> list[str]:
        """Return all findings, each as `code name list`."""
        codes = []
        for group in self.groups(full=full).values():
            for finding in group.findings:
                values = [finding.values.get(key, "") for key in ("name", "list")]
                codes.append(" ".join(filter(None, [finding.code, *values])))
        return codes


@pytest.fixture
def site(tmp_path: Path) -> Site:
    (tmp_path / "site").mkdir()
    return Site(tmp_path / "site")


# --- RECORD


def test_files_compiled_scripts_and_without_a_hash(site: Site) -> None:
    (site.root / "bin").mkdir()
    info = site.add("one", {"one.py": "1", "bin/one": "#!python\n"})
    with (info / "RECORD").open("a") as record:
        record.write("__pycache__/one.cpython-311.pyc,,\none.cfg,,\n")
    assert site.codes() == ["file-missing one one.cfg"], "a compiled file may go, another may not"
    (site.root / "one.cfg").touch()
    assert site.codes() == []
    (site.root / "bin" / "one").write_text("#!/other/python\n")
    assert site.codes() == ["file-changed one bin/one"]


def test_files_of_a_distribution_beside_the_lock(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may run at each start of Python, by a `.pth` file, as setuptools does."""
    monkeypatch.setattr(sys, "prefix", str(site.root.parent))
    site.add("ours", {"ours.py": ""})
    site.add("tool", {"tool.pth": "import hack\n", "hack.py": "", "gone.py": ""}, locked=False)
    (site.root / "gone.py").unlink()
    assert site.codes(full=True) == ["distribution-extra tool", "startup-added tool tool.pth"]
    (site.root / "hack.py").write_text("print()\n")
    assert "extra-changed tool hack.py" in site.codes(full=True)
    assert not any("changed" in code for code in site.codes())


def test_files_sample_and_full(site: Site) -> None:
    site.add(
        "big",
        {f"big/m{number:03}.py": f"x = {number:3}\n" for number in range(100)}
        | {"big/w.so": "w" * 9},
    )
    group = site.groups()["files"]
    assert (group.findings, dict(group.values)) == (
        [],
        {"files": "104", "compared": "12", "kept": ""},
    )
    (site.root / "big" / "w.so").write_text("W" * 9)
    assert site.codes() == [], "a shared library is not in the sample"
    assert site.codes(full=True) == ["file-changed big big/w.so"]
    (site.root / "big" / "w.so").write_text("W" * 10)
    assert site.codes() == ["file-changed big big/w.so"]
    for number in range(100):
        (site.root / "big" / f"m{number:03}.py").write_text(f"y = {number:3}\n")
    first, again = site.codes(), site.codes()
    assert first == again
    assert first[0].count(",") == 3
    assert site.groups()["files"].findings[0].values["count"] == "13"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it has no row for itself, so it is truncated"),
        (b"one.py,sha256=x,1\n", "it has no row for itself, so it is truncated"),
        (b"one.py,sha256=x\n", "line 1 is not path, hash and size"),
        (b"one.py,sha256=x,many\n", "line 1 is not path, hash and size"),
        (b'"one.py,sha256=x,1\n', "unexpected end of data"),
        (b"one\0.py,,\n", None),
    ],
)
def test_files_broken_record(site: Site, content: bytes, why: str | None) -> None:
    (site.add("one", {"one.py": "1"}) / "RECORD").write_bytes(content)
    (finding,) = site.groups()["files"].findings
    assert finding.code == "record-broken"
    if why is not None:  # Python 3.10 and 3.11 say different things of a null
        assert finding.values["why"] == why


# shake_128 has digests of any length
@pytest.mark.parametrize("algorithm", ["md99", "shake_128"])
def test_files_unknown_hash_or_a_folder(site: Site, algorithm: str) -> None:
    info = site.add("one", {"one.py": "1", "two.py": "2"})
    (info / "RECORD").write_text(
        (info / "RECORD").read_text().replace("one.py,sha256", f"one.py,{algorithm}")
    )
    (site.root / "two.py").unlink()
    (site.root / "two.py").mkdir()
    (site.root / "two.py" / "x").touch()
    codes = site.codes()
    assert codes[-1] == "file-unreadable one one.py"
    assert len(codes) == 2


def test_files_rewritten_are_not_compared(site: Site) -> None:
    site.add("verl", {"verl/__init__.py": "1"})
    (site.root / "verl" / "__init__.py").write_text("rewritten")
    assert site.codes() == ["file-changed verl verl/__init__.py"]
    site.rewritten = frozenset(["verl"])
    group = site.groups()["files"]
    assert (group.findings, group.note, group.values["kept"]) == ([], "files-kept", "verl")


# --- where a distribution is from


EDITABLE = json.dumps({"url": "file:///src/one", "dir_info": {"editable": True}})
COMMIT = "0123456789abcdef0123456789abcdef01234567"
GIT = json.dumps(
    {"url": "https://example.org/one", "vcs_info": {"vcs": "git", "commit_id": COMMIT}}
)


def test_distributions_editable_or_from_git(site: Site) -> None:
    info = site.add("one", {"one.pth": "/src/one\n"}, direct_url_json=EDITABLE)
    assert site.codes() == ["distribution-editable one"]
    site.pins["one"] = LockedDistribution("one", "1.0", 1, built=True, editable=True)
    assert site.codes() == ["distribution-elsewhere one"]
    for part, code in (("", []), ("/python", []), ("-2", ["distribution-elsewhere one"])):
        url = Path(f"{sys.prefix}/src/one{part}").as_uri()
        (info / "direct_url.json").write_text(EDITABLE.replace("file:///src/one", url))
        assert site.codes() == code
    (info / "direct_url.json").write_text(GIT)
    site.pins["one"] = LockedDistribution("one", "1.0", 1, built=True, commit=COMMIT)
    assert site.codes() == []
    site.pins["one"] = LockedDistribution("one", "1.0", 1, built=True, commit=COMMIT[::-1])
    assert site.codes() == ["distribution-elsewhere one"]


def test_distributions_from_another_file(site: Site) -> None:
    about = {
        "url": "file:///tmp/one-1.0-py3-none-any.whl",
        "archive_info": {"hashes": {"sha256": "0" * 64}},
    }
    site.add("one", {"one.py": "1"}, direct_url_json=json.dumps(about))
    site.pins["one"] = LockedDistribution("one", "1.0", 1, sha256=("1" * 64,))
    assert site.codes() == ["distribution-elsewhere one"]
    site.pins["one"] = LockedDistribution("one", "1.0", 1, sha256=("1" * 64, "0" * 64))
    assert site.codes() == []
    site.pins["one"] = LockedDistribution("one", "1.0", 1, sha256=("1" * 64,), built=True)
    assert site.codes() == [], "what is built here has a hash of its own"


@pytest.mark.parametrize("text", ["{", "[]", '"', "[" * 100_000])
def test_distributions_broken_direct_url(site: Site, text: str) -> None:
    site.add("one", {"one.py": "1"}, direct_url_json=text)
    assert site.codes() == ["metadata-broken one"]


@pytest.mark.parametrize("name", ["METADATA", "RECORD", "INSTALLER", "direct_url.json"])
def test_distributions_pipe_is_not_waited_for(site: Site, name: str) -> None:
    site.add("one", {"one.py": "1"})
    path = site.root / "one-1.0.dist-info" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert {code.split()[0] for code in site.codes()} & {"metadata-broken", "record-broken"}


def made_by_conda(site: Site, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a site's parent an environment of conda, and return its folder of metadata."""
    for name in ("prefix", "base_prefix"):
        monkeypatch.setattr(sys, name, str(site.root.parent))
    meta = site.root.parent / "conda-meta"
    meta.mkdir()
    return meta


def test_distributions_from_conda_or_setup_py_develop(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files from conda are not compared; `setup.py develop` leaves an .egg-info in the source."""
    meta = made_by_conda(site, monkeypatch)
    info = site.add("one", {"one.py": "1"}, INSTALLER="conda\n")
    (site.root / "one.py").write_text("with a prefix of conda")
    assert site.codes(full=True) == ["file-changed one one.py"], "no package of conda has it"
    files = [f"{site.root.name}/{info.name}/INSTALLER"]
    (meta / "one-1.0-0.json").write_text(json.dumps({"files": files}))
    (site.root / "two.egg-info").mkdir()
    (site.root / "two.egg-info" / "PKG-INFO").write_text("Name: two\nVersion: 1.0\n")
    site.pins["two"] = LockedDistribution("two", "1.0", 1)
    assert site.codes(full=True) == ["distribution-conda one", "distribution-editable two"]
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert "file-changed one one.py" in site.codes(), "no virtual environment is conda's"


def test_distributions_after_an_interrupted_installation(site: Site) -> None:
    site.add("one", {"one.py": "1"})
    shutil.copytree(site.root / "one-1.0.dist-info", site.root / "one-0.9.dist-info")
    (site.root / "~wo-1.0.dist-info").mkdir()
    (site.root / "three-1.0.dist-info").mkdir()
    site.pins["three"] = LockedDistribution("three", "1.0", 1)
    assert site.codes() == [
        "distribution-twice one",
        "metadata-broken three",
        "distribution-leftover",
        "record-broken one",
    ]


def remedy_for_twins(site: Site, name: str) -> list[str]:
    """Return the commands for a distribution of which there is a second one, 0.9."""
    site.add(name, {f"{name}.py": "1"})
    shutil.copytree(site.root / f"{name}-1.0.dist-info", site.root / f"{name}-0.9.dist-info")
    findings = site.groups()["distributions"].findings
    (remedy,) = [finding.remedy for finding in findings if finding.code == "distribution-twice"]
    return remedy.split(" && ")


def test_twins_are_uninstalled_one_by_one(site: Site) -> None:
    """What is left of one of them would count as installed, without its files."""
    first, second, install = remedy_for_twins(site, "one")
    assert first == second
    assert first.endswith("-m pip uninstall -y one")
    assert install.startswith("bash /lock/install.sh ")


def test_twins_of_pip_leave_no_metadata_to_ensurepip(site: Site) -> None:
    """It installs none where it finds metadata of one."""
    uninstall, remove, bring, install = remedy_for_twins(site, "pip")
    assert uninstall.endswith("-m pip uninstall -y pip")
    infos = [f"{site.root}/pip-{version}.dist-info" for version in ("0.9", "1.0")]
    assert remove == f"rm -rf {shlex.join(infos)}"
    assert bring.endswith("-m ensurepip")
    assert install.startswith("bash /lock/install.sh ")


def test_distributions_extra_or_unwanted(site: Site) -> None:
    site.add("timm", {"timm.py": "1"}, locked=False)
    site.add("pip", {"pip.py": "1"}, locked=False)
    assert site.codes() == ["distribution-extra timm"]
    site.absent = {"timm": "it drags torchvision in"}
    assert site.codes() == ["distribution-unwanted timm"]


# --- collisions


def collision(site: Site) -> list[str]:
    group = site.groups()["collisions"]
    keys = ("owner", "other", "module", "count", "ours", "theirs")
    return [
        " ".join([finding.code, *(finding.values[key] for key in keys)])
        for finding in group.findings
    ]


def test_collisions_with_an_unlocked_distribution(site: Site) -> None:
    """Not where both have the same content."""
    site.add("one", {"tests/__init__.py": ""})
    site.add("two", {"tests/__init__.py": ""}, locked=False)
    site.add("triton", {"triton/__init__.py": "cuda"}, locked=False)
    site.add("triton-ascend", {"triton/__init__.py": "ascend"})
    assert collision(site) == ["collision triton-ascend triton triton 1 1 0"]
    (site.root / "triton/__init__.py").write_text("cuda")
    assert collision(site) == ["collision triton-ascend triton triton 1 0 1"]
    assert site.groups()["files"].findings == [], "told once"
    (site.root / "triton/__init__.py").write_text("neither")
    assert collision(site) == ["collision triton-ascend triton triton 1 0 0"]
    assert [finding.code for finding in site.groups()["files"].findings] == ["file-changed"]


def test_collisions_of_two_stages(site: Site) -> None:
    site.add("triton", {"triton/__init__.py": "cuda"}, stage=1)
    site.add("triton-ascend", {"triton/__init__.py": "ascend"}, stage=2)
    assert site.codes() == []
    (site.root / "triton/__init__.py").write_text("cuda")
    assert collision(site) == ["collision-order triton-ascend triton triton 1 0 1"]
    assert site.codes() == ["collision-order"]


def test_reinstall_command_for_pip_brings_a_pip() -> None:
    """A command that uninstalls pip brings one back before install.sh needs it."""
    lock = LockedStack("demo", "here", "linux-x", "3.11", "2.17", {}, {})
    context = CheckContext(lock, "/lock", {})
    steps = context.reinstall_command("pip").split(" && ")
    assert steps[0].endswith("-m pip uninstall -y pip")
    assert steps[1].endswith("-m ensurepip")
    assert steps[2] == context.install_command
    assert "ensurepip" not in context.reinstall_command("numpy")


# --- code in another Python: what it tells, how it ends, and the command to try it


def context_with(**variables: str) -> CheckContext:
    line = ".".join(map(str, sys.version_info[:2]))
    return CheckContext(
        LockedStack("demo", "here", "linux-x", line, "2.17", {}, {}, import_env=variables),
        "/lock",
        {},
    )


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("write_row({'seen': 1})", "exit status 0"),
        ("write_row({'seen': 1}); sys.exit(3)", "exit status 3"),
        ("write_row({'seen': 1}); sys.exit('it is\\nbroken')", "broken"),
        ("write_row({'seen': 1}); os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("write_row({'seen': 1}); os.kill(os.getpid(), 42)", "killed by 42"),
        (
            "write_row({'seen': 1}); os.write(2, b'no memory'); os.abort()",
            "killed by SIGABRT: no memory",
        ),
    ],
)
def test_run_python_rows_and_ending(code: str, error: str) -> None:
    assert run_python(context_with(), code) == ([{"seen": 1}], error)


@pytest.mark.parametrize("path", [None, "", ":", "/nowhere:", ".", "here:/nowhere"])
def test_run_python_imports_nothing_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str | None
) -> None:
    """Not even what the program itself imports. CANN's set_env.sh ends PYTHONPATH with a colon."""
    for folder in (tmp_path, tmp_path / "here"):
        folder.mkdir(exist_ok=True)
        for name in ("json", "os", "re", "readline", "planted"):
            (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    environ = {"PYTHONINSPECT": "1"} if path is None else {"PYTHONPATH": path}
    context = replace(context_with(), environ=environ)
    code = "from importlib import util; write_row({'is_found': bool(util.find_spec('planted'))})"
    rows, ending = run_python(context, code)
    assert not (tmp_path / "ran").exists()
    assert (rows, ending) == ([{"is_found": False}], "exit status 0")


@pytest.mark.parametrize("name", ["-rhttp://127.0.0.1:9/list", "--log=x", "-e", "", "a b"])
def test_shown_command_hands_pip_no_option(name: str) -> None:
    context = context_with()
    assert context.uninstall_command("base", name) == ""
    assert context.reinstall_command(name) == context.venv_command
    assert context.uninstall_command("base", "x-2", asks=True).endswith("pip uninstall base x-2")


def test_shown_command_runs_the_code() -> None:
    assert shown_command(context_with(), "import a").split(" -c ") == [sys.executable, "'import a'"]
    command = shown_command(
        context_with(B="it's 2", A="1"), "import os; print(os.environ['A'], os.environ['B'])"
    )
    assert command.startswith("env A=1 B=")
    assert (
        subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
        == "1 it's 2\n"
    )


@pytest.mark.parametrize(
    ("implementation", "no_gil", "kind"), [("PyPy", 0, "PyPy"), ("CPython", 1, "free-threaded")]
)
def test_python_of_another_implementation(
    implementation: str, no_gil: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = sysconfig.get_config_var
    monkeypatch.setattr(platform, "python_implementation", lambda: implementation)
    monkeypatch.setattr(
        sysconfig,
        "get_config_var",
        lambda name: no_gil if name == "Py_GIL_DISABLED" else config(name),
    )
    (finding,) = check_python(context_with(), {}).findings
    assert finding.code == "python-differs"
    assert f"({kind}" in finding.values["found"]


# --- files of nobody


def dated(path: Path, seconds: int) -> None:
    """Make a file, or change its time, so that it is so many seconds newer than the records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (2_000_000_000 + seconds,) * 2)


@pytest.fixture
def stray(site: Site) -> Site:
    """A site with two locked distributions, one of which has a part of a shared namespace."""
    for name, files in {
        "one": {"one/__init__.py": "", "one/a.py": ""},
        "two": {"shared/two/b.py": ""},
    }.items():
        dated(site.add(name, files) / "RECORD", 0)
    return site


@pytest.mark.parametrize("seconds", [-60, 60])
def test_strays_in_packages_of_the_lock_are_wrong(stray: Site, seconds: int) -> None:
    """The time of a file says nothing: whatever an interrupted pip leaves is new."""
    dated(stray.root / "one" / "inner" / "old.py", seconds)
    dated(stray.root / "shared" / "old.so", seconds)
    assert stray.codes() == ["file-stale one one/inner/old.py", "file-stale two shared/old.so"]
    finding, _ = stray.groups()["strays"].findings
    assert finding.remedy == f"rm {stray.root}/one/inner/old.py"


def test_strays_in_folders_of_data_are_wrong(stray: Site) -> None:
    stray.add("three", {"cfg/defaults.json": "{}", "three.py": ""})
    for name in ("cfg/__init__.py", "cfg/old.py"):
        dated(stray.root / name, 0)
    assert stray.codes() == ["file-stale three cfg/__init__.py, cfg/old.py"]


def test_strays_that_a_parser_wrote_are_a_warning(stray: Site) -> None:
    tables = {
        "one/lextab.py": "# lextab.py. This file automatically created by PLY\n_tabversion   = '3'",
        "one/yacctab.py": "\n# yacctab.py\n# Do not edit.\n_tabversion = '3'\n",
        "one/old.py": "_tabversion = '3'\n",
    }
    for name, text in tables.items():
        (stray.root / name).write_text(text)
    assert stray.codes() == [
        "file-added one one/lextab.py, one/yacctab.py",
        "file-stale one one/old.py",
    ]


@pytest.mark.parametrize(
    "name", ["mod/__init__.py", "mod/inner/a.py", "mod.pyc", "mod.abi3.so", "one.py", "shared.py"]
)
@pytest.mark.parametrize("is_owned", [False, True])
def test_strays_that_hide_a_locked_module_are_wrong(stray: Site, name: str, is_owned: bool) -> None:
    """Whether nobody owns them, or a distribution that the lock does not have."""
    stray.add("three", {"mod.py": ""})
    extra = ["distribution-extra other"] if is_owned else []
    if is_owned:
        stray.add("other", {name: ""}, locked=False)
    else:
        dated(stray.root / name, -60)
    top = name.partition("/")[0]
    assert stray.codes() == [*extra, f"module-replaced {top}"]
    (finding,) = stray.groups()["strays"].findings
    assert finding.remedy == f"rm -r {stray.root}/{top}"


def test_strays_that_hide_an_editable_are_wrong(stray: Site) -> None:
    direct_url = json.dumps({"url": f"file://{sys.prefix}/src/x", "dir_info": {"editable": True}})
    info = stray.add("x", {"__editable__.x.pth": ""}, locked=False, direct_url_json=direct_url)
    (info / "top_level.txt").write_text("x\n")
    stray.pins["x"] = LockedDistribution("x", "1.0", 1, built=True, editable=True)
    dated(stray.root / "x" / "__init__.py", 0)
    assert stray.codes() == ["module-replaced x"]


def test_strays_in_a_folder_that_python_asks_later(stray: Site, tmp_path: Path) -> None:
    """A base Python may have what the environment has in another release; that hides nothing."""
    later = Site(tmp_path / "later")
    later.root.mkdir()
    later.add("one", {"one/__init__.py": "other", "one/b.py": "", "start.pth": ""})
    later.add("base", {"base.py": ""})
    dated(later.root / "two.py", 0)
    paths = [str(stray.root), str(later.root)]
    pins = {**stray.pins, **later.pins}
    lock = LockedStack("demo", "here", "linux-x", "3.11", "2.17", {}, pins)

    def findings(paths: list[str]) -> list[str]:
        context = CheckContext(lock, "/lock", {})
        installed, _ = installed_distributions(context, paths)
        group = check_strays(
            context, installed, Ownership(context, installed, SearchPath.of_folders(paths))
        )
        return [f"{finding.code} {finding.values['list']}" for finding in group.findings]

    assert findings(paths) == []
    dated(later.root / "shared" / "a.py", 0)
    assert findings(paths[::-1]) == ["module-replaced shared"]


def test_strays_in_folders_nested_very_deep(stray: Site) -> None:
    with nested_folders(stray.root / "one", 1200) as innermost:
        os.close(os.open("old.py", os.O_CREAT, dir_fd=innermost))
        assert stray.codes() == [f"file-stale one one/{'d/' * 1200}old.py"]


def test_strays_can_be_imported(stray: Site) -> None:
    for name in (
        "one/data.json",
        "one/__pycache__/a.cpython-311.pyc",
        "__pycache__/a.cpython-311.pyc",
        "two-1.0.dist-info/x.py",
    ):
        dated(stray.root / name, -60)
    assert stray.codes() == []


def test_strays_in_site_packages_itself(stray: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    for name in ("alone.py", "package/inner/a.py", "_virtualenv.py", "data/a.txt", "not-one/a.py"):
        dated(stray.root / name, -60)
    assert stray.codes() == ["module-extra _virtualenv.py, alone.py, package"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("one/__pycache__/old.py", "file-stale one one/__pycache__/old.py"),
        ("one/__pycache__/old.pyc", "file-stale one one/__pycache__/old.pyc"),
        ("one/~x/old.so", "file-stale one one/~x/old.so"),
        ("one-1.0.dist-info/entry_points.txt", "file-stale one one-1.0.dist-info/entry_points.txt"),
        ("__pycache__/old.py", "module-extra __pycache__"),
        ("one/libz.so.1", "file-stale one one/libz.so.1"),
    ],
)
def test_strays_in_folders_of_other_things(
    stray: Site, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    """`__pycache__` is a namespace package like any other; entry points name what is imported."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    dated(stray.root / name, 0)
    assert stray.codes() == [code]


def test_strays_that_are_libraries(stray: Site) -> None:
    """An extension of the lock loads them by their names, which can be anything."""
    (stray.root / "one" / "kernel.bin").write_bytes(b"\x7fELF and more")
    (stray.root / "one" / "data.bin").write_bytes(b"data")
    assert stray.codes() == ["file-stale one one/kernel.bin"]


def test_strays_in_what_runs_at_each_start(stray: Site) -> None:
    """A module in a package of pip or setuptools is run by install.sh, or by every Python."""
    stray.add("pip", {"pip/__init__.py": ""}, locked=False)
    stray.add("other", {"other/__init__.py": "", "other.pth": "import other\n"}, locked=False)
    for name in ("pip/__init__.abi3.so", "other/old.py"):
        dated(stray.root / name, 0)
    codes = stray.codes()
    assert "file-stale pip pip/__init__.abi3.so" in codes
    assert "file-stale other other/old.py" in codes


@pytest.mark.parametrize("name", ["one/a/__init__.py", "one/a.abi3.so", "one/__init__.abi3.so"])
def test_strays_of_others_that_hide_locked_modules(stray: Site, name: str) -> None:
    """A distribution beside the lock has them."""
    stray.add("pip", {name: "evil", "one/other.py": ""}, locked=False)
    assert stray.codes() == [f"module-replaced {name}"]


def test_startup_of_virtualenv(
    stray: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What virtualenv and uv put into an environment is known by its content."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    path_file, module = stray.root / "_virtualenv.pth", stray.root / "_virtualenv.py"
    path_file.write_text("import _virtualenv")
    module.write_text("import sys\n")
    digest = hashlib.sha256(module.read_bytes()).hexdigest()
    monkeypatch.setattr(makers, "_MAKER_MODULES", {digest})
    assert stray.codes() == ["startup-extra _virtualenv.pth", "module-extra _virtualenv.py"]
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.9.1\n")
    assert stray.codes() == []
    module.write_text("import evil\n")
    assert stray.codes()[0] == "startup-changed _virtualenv.py"
    path_file.write_text("import evil")
    assert stray.codes()[0] == "startup-extra _virtualenv.pth"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("one/old.pyc", "file-stale one one/old.pyc"),
        ("one/old.abi3.so", "file-stale one one/old.abi3.so"),
        ("old.pyc", "module-extra old.pyc"),
        ("old.pth", "startup-extra old.pth"),
        ("~old.pth", "startup-extra ~old.pth"),
        (".old.pth", "startup-extra .old.pth"),
        ("easy-install.pth", "startup-extra easy-install.pth"),
        ("sitecustomize.py", "startup-extra sitecustomize.py"),
        ("sitecustomize.pyc", "startup-extra sitecustomize.pyc"),
        ("usercustomize/__init__.py", "startup-extra usercustomize"),
        ("other/old.py", "file-added other other/old.py"),
    ],
)
def test_strays_are_of_every_kind(
    stray: Site, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    """Packages of distributions that are not locked are checked; all files of a wheel are owned."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    owned = {"other/__init__.py": "", "other/own.pyc": "", "own.pth": "", "own.pyc": ""}
    stray.add("other", owned, locked=False)
    dated(stray.root / name, -60)
    (stray.root / name).write_text("import old\n")
    assert stray.codes() == ["distribution-extra other", code]
    (stray.root / name).unlink()
    assert stray.codes() == ["distribution-extra other"]


def test_strays_behind_a_link_are_told(stray: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    (stray.root / "linked").symlink_to(stray.root / "one")
    (stray.root / "sitecustomize").symlink_to(stray.root / "one")
    assert stray.codes() == ["startup-extra sitecustomize", "module-extra linked"]
    (stray.root / "one" / "inner").symlink_to(stray.root / "shared")
    assert stray.codes()[0] == "file-stale one one/inner"


@pytest.mark.parametrize("linked", ["one", "one/inner"])
def test_strays_in_linked_folders_of_the_lock(stray: Site, linked: str) -> None:
    """The files of the lock are behind the link, and so is what hides them."""
    stray.add("one", {"one/__init__.py": "", "one/a.py": "", "one/inner/a.py": ""})
    (stray.root / linked).rename(stray.root / "~ne")
    (stray.root / linked).symlink_to(stray.root / "~ne")
    assert stray.codes() == []
    dated(stray.root / "one" / "inner" / "a" / "__init__.py", 0)
    assert stray.codes() == ["file-stale one one/inner/a/__init__.py"]


@pytest.mark.parametrize(
    ("left", "is_told"),
    [
        ("old/inner/", True),
        ("old/__pycache__/m.cpython-311.pyc.140245", True),
        ("old/inner/data.txt", False),
        ("old-1/inner/", False),
        ("__pycache__/m.cpython-311.pyc", False),
        ("one/inner/", False),
    ],
)
def test_strays_that_are_empty_folders(
    stray: Site, monkeypatch: pytest.MonkeyPatch, left: str, *, is_told: bool
) -> None:
    """Python imports one as a namespace. pip leaves it."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    path = stray.root / left
    path.parent.mkdir(parents=True, exist_ok=True)
    if left.endswith("/"):
        path.mkdir(exist_ok=True)
    else:
        path.touch()
    assert stray.codes() == (["module-extra old"] if is_told else [])


def test_strays_of_a_package_that_pip_replaced(
    stray: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """conda lists files that no RECORD had, and pip has left them."""
    meta = made_by_conda(stray, monkeypatch)
    listed = ["one-0.9.dist-info/INSTALLER", "one/patched.py", "alone.py"]
    paths = [f"{stray.root.name}/{name}" for name in listed]
    (meta / "one-0.9-0.json").write_text(json.dumps({"files": paths}))
    for name in listed:
        (stray.root / name).parent.mkdir(exist_ok=True)
        (stray.root / name).write_text("conda\n")
    assert [code for code in stray.codes() if "patched" in code] == []
    shutil.rmtree(stray.root / "one-0.9.dist-info")
    os.utime(meta, (1, 1))
    assert stray.codes() == ["file-stale one one/patched.py", "module-extra alone.py"]


def test_strays_that_only_list_folders_are_no_finding(
    stray: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `setup.py develop` and `conda develop` do. A folder that is not there adds nothing."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    for name in ("easy-install.pth", "conda.pth"):
        (stray.root / name).write_text("/src/one\n")
    assert stray.codes() == []


@pytest.mark.parametrize("kind", ["folder", "archive"])
@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("sitecustomize", "startup-extra sitecustomize.py"),
        ("alone", ""),
        ("later", "module-replaced later.py"),
    ],
)
def test_startup_in_what_a_path_file_adds(
    stray: Site,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
    module: str,
    code: str,
) -> None:
    """Nobody has it, so at least it is named; what comes later on the path may be hidden."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    added, later = tmp_path / "added", Site(tmp_path / "later")
    (added / f"{module}.py").parent.mkdir()
    (added / f"{module}.py").touch()
    if kind == "archive":
        shutil.make_archive(str(added), "zip", added)
        added = added.with_suffix(".zip")
    later.root.mkdir()
    later.add("later", {"later.py": ""})
    stray.pins.update(later.pins)
    (stray.root / "conda.pth").write_text(f"{added}\n{later.root}\n")
    expected = [code] if code else []
    if module != "later":
        expected.append(f"path-extra {added}")
    assert stray.codes() == expected


def test_startup_of_distributions_beside_the_lock(
    stray: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is no excuse, but what setuptools runs at each start is known."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    shim = (
        "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') =="
        " 'local'; enabled and __import__('_distutils_hack').add_shim(); \n"
    )
    stray.add("setuptools", {"distutils-precedence.pth": shim}, locked=False)
    stray.add("pip", {"folders.pth": "/nowhere\n"}, locked=False)
    assert stray.codes() == []
    stray.add("wheel", {"wheel.pth": "import evil\n"}, locked=False)
    assert stray.codes() == ["startup-added wheel wheel.pth"]
    (stray.root / "distutils-precedence.pth").write_text(shim.replace("add_shim", "evil"))
    assert "startup-added setuptools distutils-precedence.pth" in stray.codes()


def test_startup_beside_a_distribution_without_a_list(
    stray: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It excuses modules, but nothing that runs at each start."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    info = stray.root / "bare.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: wheel\nVersion: 1\n")
    (stray.root / "old.pth").write_text("import old\n")
    assert stray.codes() == ["startup-extra old.pth"]


@pytest.mark.parametrize("name", [".old-1.0.dist-info", "old-1.0.DIST-INFO", "Old-1.0.Egg-Info"])
def test_distributions_of_any_spelling(site: Site, name: str) -> None:
    """importlib finds them, so that their entry points are loaded."""
    info = site.root / name
    info.mkdir()
    for file in ("METADATA", "PKG-INFO"):
        (info / file).write_text("Name: old\nVersion: 1.0\n")
    assert site.codes() == ["distribution-extra old"]
    found = importlib.metadata.distributions(path=[str(site.root)])
    assert [distribution.metadata["Name"] for distribution in found] == ["old"]


def test_files_without_a_hash_are_told(site: Site) -> None:
    """RECORD has none of itself and compiled files. Nothing tells whether others have changed."""
    info = site.add("one", {"one.py": "1", "two.py": "2"})
    record = (info / "RECORD").read_text()
    lines = ["one.py,," if line.startswith("one.py,") else line for line in record.splitlines()]
    (info / "RECORD").write_text("\n".join([*lines, "__pycache__/one.cpython-311.pyc,,"]) + "\n")
    assert site.codes() == []
    assert site.codes(full=True) == ["file-unhashed one one.py"]


def test_strays_at_the_start_of_a_shared_python(stray: Site) -> None:
    """Whoever cares for it may have put them there."""
    dated(stray.root / "certificates.pth", 0)
    assert stray.codes() == ["startup-unknown certificates.pth"]


def test_strays_of_an_unfinished_distribution(stray: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without RECORD it owns nothing, whether or not it has come to INSTALLER."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    info = stray.add("gone", {"gone.pth": "import gone"}, locked=False)
    (info / "RECORD").unlink()
    for installer in ("", "pip\n"):
        (info / "INSTALLER").write_text(installer)
        assert stray.codes() == ["distribution-extra gone", "startup-extra gone.pth"]


def test_strays_beside_conda_are_judged(stray: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    meta = made_by_conda(stray, monkeypatch)
    owned = [f"{stray.root.name}/{name}" for name in ("of_conda.py", "own/__init__.py", "own.pth")]
    (meta / "own-1.0-0.json").write_text(json.dumps({"files": owned}))
    for name in ("of_conda.py", "own/__init__.py", "own.pth", "old.py", "old.pth"):
        dated(stray.root / name, -60)
    assert stray.codes() == ["startup-extra old.pth", "module-extra old.py"]
    (meta / "broken-1.0-0.json").write_text("{")
    group = stray.groups()["strays"]
    assert [finding.code for finding in group.findings] == ["startup-extra"]
    assert (group.note, group.counted, group.values["list"]) == (
        "strays-but",
        True,
        "broken-1.0-0.json",
    )


@pytest.mark.parametrize(
    ("name", "text", "codes", "unjudged"),
    [
        ("installed-files.txt", "../bare/a.py\n../bare.py\n", ["module-extra: old.py"], ""),
        ("top_level.txt", "bare\n", ["module-extra: old.py"], "bare"),
        ("PKG-INFO", "", [], "bare"),
    ],
)
def test_strays_beside_a_legacy_distribution(
    stray: Site,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str,
    codes: list[str],
    unjudged: str,
) -> None:
    """As pip before 25 and `setup.py install` made them."""
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    info = stray.root / "bare-1.0-py3.11.egg-info"
    info.mkdir()
    (info / name).write_text(text)
    (info / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: bare\nVersion: 1.0\n")
    for path in ("bare.py", "bare/a.py", "old.py"):
        dated(stray.root / path, -60)
    group = stray.groups()["strays"]
    assert [f"{finding.code}: {finding.values['list']}" for finding in group.findings] == codes
    assert (group.note, group.values.get("list", "")) == (
        "strays-but" if unjudged else "",
        unjudged,
    )


def test_strays_beside_a_distribution_without_a_record(
    stray: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(stray.root.parent))
    info = stray.add("bare", {"bare/a.py": ""}, locked=False, INSTALLER="debian\n")
    (info / "RECORD").unlink()
    for name in ("bare.py", "shared/bare/a.py", "one/old.py"):
        dated(stray.root / name, -60)
    group = stray.groups()["strays"]
    assert [finding.values["list"] for finding in group.findings] == ["one/old.py"]
    assert group.values["list"] == "bare"


def test_strays_in_rewritten_packages_are_not_judged(stray: Site) -> None:
    stray.rewritten = frozenset({"one"})
    dated(stray.root / "one" / "patched.py", -60)
    assert stray.codes() == []
    assert stray.groups()["strays"].values["list"] == "one"
