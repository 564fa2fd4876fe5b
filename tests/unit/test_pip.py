"""Asking pip for its settings, with a real pip and real files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from resolver.pip import RefusedAddressError, is_index, is_proxy, pip_variables

_ADDRESS = "https://reader:hunter2@index.example/simple"
# Options of pip that change what `pip config list` prints, or whether it prints anything.
_SWITCHES = {
    "isolated": "true",
    "python": "/nowhere",
    "quiet": "3",
    "require-virtualenv": "true",
    "user": "true",
    "verbose": "3",
    "version": "true",
}


def variables_with(folder: Path, config: str, **environ: str) -> Mapping[str, str]:
    """Return the variables that pip gets with a configuration file and these variables."""
    file = folder / "given.conf"
    file.write_text(config)
    given = {"PIP_CONFIG_FILE": str(file), "HOME": str(folder), **environ}
    return pip_variables(sys.executable, given)


@pytest.mark.parametrize("section", ["global", "config", "install", "variable"])
def test_pip_variables_leave_no_log_of_settings(tmp_path: Path, section: str) -> None:
    log = tmp_path / "pip.log"
    config = f"[global]\nindex-url = {_ADDRESS}\n"
    environ = {}
    if section == "variable":
        environ["PIP_LOG"] = str(log)
    elif section == "global":
        config += f"log = {log}\n"
    else:
        config += f"[{section}]\nlog = {log}\n"
    variables = variables_with(tmp_path, config, **environ)
    assert variables["PIP_INDEX_URL"] == _ADDRESS
    assert "PIP_LOG" not in variables
    assert not log.exists()


@pytest.mark.parametrize("switch", _SWITCHES)
@pytest.mark.parametrize("section", ["global", "config", "list", "install"])
def test_pip_variables_with_a_switch_in_a_file(tmp_path: Path, switch: str, section: str) -> None:
    config = f"[global]\nindex-url = {_ADDRESS}\n"
    if section != "global":
        config += f"[{section}]\n"
    variables = variables_with(tmp_path, f"{config}{switch} = {_SWITCHES[switch]}\n")
    assert variables["PIP_INDEX_URL"] == _ADDRESS
    assert f"PIP_{switch.upper().replace('-', '_')}" not in variables


@pytest.mark.parametrize("switch", _SWITCHES)
def test_pip_variables_with_a_switch_in_a_variable(tmp_path: Path, switch: str) -> None:
    """Pip reads the name of a variable in any case, with a dash as well as with an underscore."""
    name = f"PIP_{switch}"
    for spelling in (name, name.upper(), name.replace("-", "_").upper()):
        given = {spelling: _SWITCHES[switch], "PIP_INDEX_URL": _ADDRESS}
        variables = variables_with(tmp_path, "[global]\ntimeout = 40\n", **given)
        assert (variables["PIP_INDEX_URL"], variables["PIP_TIMEOUT"]) == (_ADDRESS, "40")
        assert spelling not in variables


def test_pip_variables_with_a_dash(tmp_path: Path) -> None:
    given = {"PIP_INDEX-URL": _ADDRESS, "PIP_EXTRA-INDEX-URL": "https://extra.example/simple"}
    variables = variables_with(tmp_path, "", **given)
    assert variables["PIP_INDEX_URL"] == _ADDRESS
    assert not [name for name in variables if "EXTRA" in name]


def test_pip_variables_by_precedence_of_files(tmp_path: Path) -> None:
    """The file that a variable names comes after that of the machine, whatever they are called."""
    machine = tmp_path / "z" / "pip" / "pip.conf"
    machine.parent.mkdir(parents=True)
    machine.write_text("[global]\nindex-url = https://machine.example/simple\ntimeout = 40\n")
    config = f"[global]\nindex-url = {_ADDRESS}\n"
    variables = variables_with(tmp_path, config, XDG_CONFIG_DIRS=str(tmp_path / "z"))
    assert (variables["PIP_INDEX_URL"], variables["PIP_TIMEOUT"]) == (_ADDRESS, "40")


@pytest.mark.parametrize(
    "config",
    [
        f"index-url = {_ADDRESS}\n",
        f"[global]\nindex-url = {_ADDRESS}\nnonsense hunter2\n",
        f"[global]\nindex-url = {_ADDRESS}\nindex-url = {_ADDRESS}\n",
        f"[global]\nindex-url = {_ADDRESS}\udcff\n",
    ],
)
def test_pip_variables_show_no_line_of_a_broken_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], config: str
) -> None:
    file = tmp_path / "given.conf"
    file.write_text(config, errors="surrogateescape")
    given = {"PIP_CONFIG_FILE": str(file), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"}
    with pytest.raises(subprocess.CalledProcessError) as failure:
        pip_variables(sys.executable, given)
    assert "hunter2" not in "".join([*capfd.readouterr(), str(failure.value)])


# Each has the password hunter2. pip shows several of them, in an error or a line of its output.
_REFUSED = [
    "https://me:hunter2@127.0.0.1:99999/simple",
    "https://me:hunter2@127.0.0.1:port/simple",
    "https://me:hunter2@/simple",
    "https://me:hunter2@[::1/simple",
    "https://me:hunter2@127.0.0.1\\@other/simple",
    "https://me:hunter2\\@127.0.0.1/simple",
    "https://me:hun/ter2@127.0.0.1/simple",
    "https://me:hun#ter2@127.0.0.1/simple",
    "https://me:hun?ter2@127.0.0.1/simple",
    "https://me:hunter2@127.0.0.1/sim ple",
    "https:/me:hunter2@127.0.0.1/simple",
    "https://127.0.0.1/simple?token=hunter2",
    "ftp://me:hunter2@127.0.0.1/simple",
    "//me:hunter2@127.0.0.1/simple",
    "me:hunter2@127.0.0.1/simple",
    "hunter2",
]


@pytest.mark.parametrize("address", _REFUSED)
def test_pip_variables_refuse_what_is_no_index(tmp_path: Path, address: str) -> None:
    with pytest.raises(RefusedAddressError) as caught:
        variables_with(tmp_path, f"[global]\nindex-url = {address}\n")
    assert caught.value.setting == "index-url"
    # a path, as far as anybody can tell
    assert address == "hunter2" or "ter2" not in str(caught.value)


@pytest.mark.parametrize("variable", ["PIP_PROXY", "HTTPS_PROXY", "all_proxy"])
def test_pip_variables_refuse_what_is_no_proxy(tmp_path: Path, variable: str) -> None:
    with pytest.raises(RefusedAddressError) as caught:
        variables_with(tmp_path, "", **{variable: "http://me:hunter2@127.0.0.1:99999"})
    assert caught.value.setting == {"PIP_PROXY": "proxy"}.get(variable, variable)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        _ADDRESS,
        "http://127.0.0.1:8080/simple",
        "https://me:p%40ss@[::1]:8443/simple/",
        "https://mirror.example",
        "file:///srv/simple",
        "/srv/simple",
    ],
)
def test_is_index_admits(address: str) -> None:
    assert is_index(address)


@pytest.mark.parametrize("address", ["proxy:8080", "me:pw@proxy:8080", "socks5h://[::1]:1080"])
def test_is_proxy_admits(address: str) -> None:
    assert is_proxy(address)
