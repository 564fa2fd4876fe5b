"""What the scripts write and remove, and why no link of somebody else is followed there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import resolver

# Commands and redirections of bash that change the disk, and calls of Python that do.
_BASH = re.compile(
    r"(?:^|[;&|('\"]|\brun|\bthen|\bdo|-exec) *"
    r"(?:cp|dd|ln|mkdir|mktemp|mv|put|rm|rmdir|tee|touch|truncate) "
    r'|\$\(mktemp|(?<![->=])>>?\|?(?!/dev/null)["$/\w]'
)
_PYTHON = re.compile(
    r"\b(?:os\.(?:open|remove|unlink|rename|replace|mkdir|makedirs|rmdir|symlink|link|chmod)"
    r"|shutil\.(?:rmtree|move|copy\w*|unpack_archive))\(|(?<![.\w])(?:create|replace)\("
    r'|\bopen\(.*"(?:w|x|a|r\+)b?"'
)

# What the scripts change, line by line: `== template`, `# why no link is followed`, and the lines.
_WRITES = Path(__file__).with_name("template_writes.txt")


def reasons() -> Mapping[str, Mapping[str, str]]:
    """Return the reason of each line of a template that changes the disk, by template."""
    found: dict[str, dict[str, str]] = {}
    name = reason = ""
    for line in _WRITES.read_text().splitlines():
        if line.startswith("== "):
            name = line[3:]
            found[name] = {}
        elif line.startswith("# "):
            reason = line[2:]
        elif line:
            found[name][line.strip()] = reason
    return found


def changes(template: Path) -> set[str]:
    """Return the lines of a template that change the disk."""
    lines = {line.strip() for line in template.read_text(encoding="utf-8").splitlines()}
    code = {line for line in lines if not line.startswith(("#", '"""'))}
    return {line for line in code if _BASH.search(line) or _PYTHON.search(line)}


def test_template_says_why_no_link_is_followed() -> None:
    """Whoever adds a line that writes or removes adds it below the reason that holds."""
    package = Path(resolver.__file__).parent
    found = {path.name: changes(path) for path in package.rglob("templates/*.sh.j2")}
    told = {name: {*lines} for name, lines in reasons().items()}
    assert {name: lines for name, lines in found.items() if lines} == told
    assert all(reason for lines in reasons().values() for reason in lines.values())


def python_of_links(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that begins as those of the scripts do."""
    template = Path(resolver.__file__).parent / "report" / "templates" / "links.sh.j2"
    helpers = template.read_text(encoding="utf-8").partition("unlinked='")[2].partition("\n'\n")[0]
    program = [sys.executable, "-I", "-c", f"{helpers}\n{code}"]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", ["file", "link", "dangling link", "hard link", "pipe"])
def test_links_replace_writes_a_new_file(tmp_path: Path, kind: str) -> None:
    victim, names = tmp_path / "victim", ("note", "note.new")
    victim.write_text("theirs")
    inside = tmp_path / "inside"
    inside.mkdir()
    for name in names:
        if kind == "file":
            (inside / name).write_text("before")
        elif kind == "hard link":
            (inside / name).hardlink_to(victim)
        elif kind == "pipe":
            os.mkfifo(inside / name)
        else:
            (inside / name).symlink_to(victim if kind == "link" else tmp_path / "nothing")
    run = python_of_links(f"replace({str(inside / 'note')!r}, b'ours')", tmp_path)
    assert run.returncode == 0, run.stderr
    assert victim.read_text() == "theirs"
    assert [path.name for path in tmp_path.iterdir() if path.name == "nothing"] == []
    assert [(path.name, path.read_text()) for path in inside.iterdir()] == [("note", "ours")]
    assert not (inside / "note").is_symlink()


@pytest.mark.parametrize("linked", ["a", "a/b", "a/b/c"])
def test_links_within_enters_no_link(tmp_path: Path, linked: str) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / linked).rename(tmp_path / "real")
    (tmp_path / linked).symlink_to(tmp_path / "real")
    run = python_of_links(f"replace({str(tmp_path / 'a/b/c/note')!r}, b'')", tmp_path)
    assert run.returncode == 1
    assert "NotADirectoryError" in run.stderr
    assert not list(tmp_path.rglob("note*"))


@pytest.mark.parametrize(("target", "status"), [("../outside", 1), ("other", 0)])
def test_links_inner_leaves_no_folder(tmp_path: Path, target: str, status: int) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").symlink_to(target)
    code = f"print(os.path.basename(inner({str(folder)!r}, 'file')))"
    run = python_of_links(code, tmp_path)
    assert (run.returncode, run.stdout) == (status, "" if status else "other\n")


@pytest.mark.parametrize("kind", ["file", "hard link", "pipe"])
def test_links_comment_out_replaces_the_file(tmp_path: Path, kind: str) -> None:
    """A step finds what whoever may write into the checkout has put there meanwhile."""
    template = Path(resolver.__file__).parent / "report" / "templates" / "git.sh.j2"
    text = template.read_text(encoding="utf-8").partition("\ncomment_out() {")[2]
    program = text.partition("<<'EOF' ||\n")[2].partition("\nEOF\n")[0]
    victim, checkout = tmp_path / "victim", tmp_path / "checkout"
    victim.write_text("old = 1\r\nmore\n")
    victim.chmod(0o755)
    checkout.mkdir()
    file = checkout / "file.py"
    if kind == "file":
        file.write_bytes(victim.read_bytes())
        file.chmod(0o755)
    elif kind == "hard link":
        file.hardlink_to(victim)
    else:
        os.mkfifo(file)
    arguments = ["", "^old", str(checkout), "file.py"]
    code = f"import sys\nsys.argv[1:] = {arguments!r}\n{program}"
    run = python_of_links(code, tmp_path)
    assert victim.read_text() == "old = 1\nmore\n"
    if kind == "pipe":
        assert (run.returncode, "no regular file" in run.stderr) == (1, True)
        return
    assert (run.returncode, run.stderr) == (0, "")
    assert file.read_bytes() == b"# old = 1\r\nmore\n"
    assert (file.stat().st_nlink, file.stat().st_mode & 0o777) == (1, 0o755)


# How a folder that pip gets is named before it is known, and what is none or made of one.
_UNKNOWN = {"", "$2", "$build_wheels", "$wheelhouse/built", "'$scratch' # no such folder is made"}


def test_template_hands_on_absolute_paths() -> None:
    """pip takes `http://…` for an address, so a path from outside goes through `canonical`."""
    template = Path(resolver.__file__).parent / "report" / "templates" / "install.sh.j2"
    text = template.read_text(encoding="utf-8")
    names = "here|scratch|wheelhouse|built|build_wheels|TMPDIR"
    values = re.findall(rf"(?m)(?:^ *|[;&)] |export )(?:{names})=([^;,\n]*)", text)
    others = {value for value in values if value not in _UNKNOWN and "$(canonical " not in value}
    assert others == {"${here%/*}", "$folder", "/tmp", "."}
