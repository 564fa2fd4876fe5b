"""pip's configuration, held against what pip itself says of it."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest
from pip._internal.commands import create_command

from resolver.errors import InputError
from resolver.index.net.pipconfig import PipConfig, read_pip_config

A, B, C, D = (f"https://{one}.example/simple" for one in "abcd")


def read_in(environ: dict[str, str]) -> PipConfig:
    with mock.patch.dict(os.environ, environ, clear=True):
        return read_pip_config()


def test_pip_config_names_ignored_options() -> None:
    """Their values may hold passwords."""
    variables = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_EXTRA_INDEX_URL": A,
        "PIP_FIND_LINKS": "/wheels",
    }
    assert read_in(variables).ignored_options == ("extra-index-url", "find-links")
    assert read_in({"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}).ignored_options == ()


@pytest.mark.parametrize(
    ("variables", "files"),
    [
        ({}, {}),
        ({}, {"user": f"[global]\nindex-url = {A}\n"}),
        (
            {},
            {
                "user": f"[global]\nindex_url = {A}\nproxy=p.example:1\n",
                "legacy": f"[global]\nindex-url = {B}\n",
            },
        ),
        ({}, {"legacy": f"[install]\nindex-url = {B}\n", "user": f"[global]\nindex-url = {A}\n"}),
        (
            {},
            {
                "all": f"[global]\nindex-url = {C}\ncert = /all.pem\n",
                "user": f"[global]\nindex-url = {A}\n",
            },
        ),
        (
            {},
            {
                "user": f"[global]\nindex-url = {A}\n[install]\n--Index-URL = {B}\n"
                f"[download]\nindex-url = {C}\n"
            },
        ),
        ({"PIP_INDEX_URL": D}, {"user": f"[install]\nindex-url = {A}\n"}),
        ({"PIP_INDEX_URL": ""}, {"user": f"[install]\nindex-url = {A}\n"}),
        ({}, {"user": f"[install]\nindex-url =\n[global]\nindex-url = {A}\n"}),
        (
            {"PIP_CONFIG_FILE": "{home}/own.conf"},
            {"own": f"[global]\nindex-url = {D}\n", "user": "[global]\ncert=/u\n"},
        ),
        ({"PIP_CONFIG_FILE": "{home}/absent.conf"}, {"user": f"[global]\nindex-url = {A}\n"}),
        (
            {"PIP_CONFIG_FILE": os.devnull},
            {"user": f"[global]\nindex-url = {A}\n", "all": "[global]\ncert=/x\n"},
        ),
        (
            {
                "PIP_TIMEOUT": "40",
                "PIP_CERT": "/c.pem",
                "PIP_CLIENT_CERT": "/k.pem",
                "PIP_PROXY": "http://p:1",
            },
            {},
        ),
        ({"PIP_DEFAULT_TIMEOUT": "40"}, {}),
        (
            {},
            {
                "user": "[global]\ntimeout = 33\nextra-index-url = https://x.example\n"
                "find-links = /wheels\n"
            },
        ),
        ({}, {"user": f"[global]\nindex-url = {A}%%2F%(x)s\n"}),
    ],
)
def test_pip_config_is_what_pip_sees(
    tmp_path: Path, variables: dict[str, str], files: dict[str, str]
) -> None:
    places = {
        "user": tmp_path / ".config" / "pip" / "pip.conf",
        "legacy": tmp_path / ".pip" / "pip.conf",
        "all": tmp_path / "xdg" / "pip" / "pip.conf",
        "own": tmp_path / "own.conf",
    }
    for name, text in files.items():
        places[name].parent.mkdir(parents=True, exist_ok=True)
        places[name].write_text(text)
    environ = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "XDG_CONFIG_DIRS": f"{tmp_path}/xdg",
        **{key: value.format(home=tmp_path) for key, value in variables.items()},
    }
    with mock.patch.dict(os.environ, environ, clear=True):
        options, _ = create_command("install").parse_args([])
        mine = read_pip_config()
    for key in ("index_url", "cert", "client_cert", "proxy", "timeout"):
        assert getattr(mine, key) == (getattr(options, key) or "")


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon", "100000", ""])
def test_pip_config_ignores_an_absurd_timeout(text: str) -> None:
    assert (
        read_in({"PIP_TIMEOUT": text, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": A}).timeout
        == 15.0
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"index-url = https://u:hunter2@x\n", "Line 1 cannot stand there."),
        (b"[global]\n\nhunter2\nproxy = x\n", "Line 3 cannot stand there."),
        (b"[global]\nhunter2 = 1\nhunter2 = hunter2\n", "Line 3 cannot stand there."),
        (b"[hunter2]\n[hunter2]\n", "Line 2 cannot stand there."),
        (b"[global]\nproxy = hunter2\xff\n", "It is not UTF-8, the encoding of the locale."),
    ],
)
def test_pip_config_quotes_no_broken_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, why: str
) -> None:
    monkeypatch.setattr("locale.getpreferredencoding", lambda _: "UTF-8")
    own = tmp_path / "pip.conf"
    own.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_in({"PIP_CONFIG_FILE": str(own), "HOME": str(tmp_path)})
    assert (caught.value.where, caught.value.why) == (str(own), why)
    assert "hunter2" not in str(caught.value)


def test_pip_config_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    own = tmp_path / "pip.conf"
    os.mkfifo(own)
    with pytest.raises(InputError, match="It is not a regular file"):
        read_in({"PIP_CONFIG_FILE": str(own), "HOME": str(tmp_path)})
    own.unlink()
    own.symlink_to(os.devnull)  # as good as an empty one
    assert (
        read_in({"PIP_CONFIG_FILE": str(own), "HOME": str(tmp_path), "PIP_INDEX_URL": A}).index_url
        == A
    )
