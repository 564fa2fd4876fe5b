"""Asking pip for its settings, with a real pip and real files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from resolver.pip import pip_variables

_ADDRESS = "https://reader:hunter2@index.example/simple"


@pytest.mark.parametrize("section", ["global", "config", "install", "variable"])
def test_pip_variables_leave_no_log_of_settings(tmp_path: Path, section: str) -> None:
    log = tmp_path / "pip.log"
    lines = ["[global]", f"index-url = {_ADDRESS}"]
    if section != "variable":
        lines += [f"[{section}]" * (section != "global"), f"log = {log}"]
    config = tmp_path / "pip.conf"
    config.write_text("\n".join([*lines, ""]))
    environ = {"PIP_CONFIG_FILE": str(config), "HOME": str(tmp_path)}
    if section == "variable":
        environ["PIP_LOG"] = str(log)
    variables = pip_variables(sys.executable, environ)
    assert variables["PIP_INDEX_URL"] == _ADDRESS
    assert "PIP_LOG" not in variables
    assert not log.exists()
