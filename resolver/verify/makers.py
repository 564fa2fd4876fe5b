"""Recognize files that virtualenv, uv and setuptools put into site-packages, by their content.

No RECORD lists these files, so they would otherwise count as files without an owner.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys

from resolver.verify.findings import UnreadableError, read_text

# The module that virtualenv and uv put into environments.
MAKER_MODULE = "_virtualenv.py"
# The file that imports this module each time Python starts.
MAKER_PATH_FILE = "_virtualenv.pth"
# pyvenv.cfg has one of these keys if virtualenv or uv made the environment.
_MAKER_KEYS = ("virtualenv", "uv")
_MAKER_LINE = "import _virtualenv"
# The sha256 of the module in all releases of virtualenv from 20.0 to 21.15, and of uv up to 0.13.
_MAKER_MODULES = frozenset(
    [
        "02943e192823d75212f206e1f2991ac572119882683a95dfbb7a1b913d7b14b5",
        "0278334cdcfab4c746b4416fbd5c2b6e7da937c81e132397d62c361d404ebe0e",
        "095a1099733d28c837bca584f5fb3eb3724e357f8846c015083dc6e9a7b985f3",
        "0aeb86546345c1d0fada097536e35525714d5cdbcc2d8eb3f9912a955044fcff",
        "0f20351ea7e90039c46d3fabdef991f28b1e3ff33eb13ee6f0d5cd21ea0e8b14",
        "119e4eb9c1a39e6ffd220840844bd326fa1bd3acf2f1c9fa0612949aedc228a5",
        "460589e83387d4dfe5fd84d41c5f6979599f5cd080983d73c832549161c80435",
        "684b8c07932ba4a84ac2e5ae9afe49ef04e92bac3d8d4191d455cf09d093e5fc",
        "6cf30c56faf2a55228914dbbd17f8088ed371ebb08f5e7fa6fd931f913fcaf1d",
        "82944bb74841efbcfdc3539e7d60df63f43cc023041eb183abbd56f44e071b45",
        "96245d9e9c0b16fdcd99b470abe101863858120c9bf57752278ec4d7f9b09a94",
        "bd9633de3d8122488d66fcfa0c7f0c9cd0b58e9147938ddf1f8fa76ca12b6ad5",
        "bec6155ff7bfc88f8e79e481f27fd7ee0a3b40eeca9bfeb41f4c4b997b2f8100",
        "c9199315871b11b12df226f890a38e66e63191e1adbfb11a66e6861151b33fca",
        "ce57d5e0d9b5d7356cb42da7450ba8f9359bdf693e335f4c921626943c77e64d",
        "cfb3db86aaa53bb62b5ff764970bec2d71c9228590a0ebec57f6ec926cc0bf1a",
        "e3db5fe06ab41ca9b95dd6463b83836787028a1b55562cc383803bb83001a45c",
        "e3e10c8a19a62a49928c139b8e6824eac92dcdda7639953bcd10921011cbbdff",
        "e8c426ce260f866254ff35cefedc8b3efbd6d1446d99d7a4cdeb0095f98a8b8f",
        "ee52b2e2e720a40885a6b4b90c40e28e5c70e550af74d5efd169eaa5db2a6f6f",
        "f4dfaeb9efc1614890cfa94ed15bbe9b2ee15fbe76d569ef5e435e93e4987dc7",
    ]
)
# The files to which `setup.py develop` and `conda develop` add the folders of projects.
FOLDER_LISTS = ("easy-install.pth", "conda.pth")
# The line that setuptools makes Python run each time it starts, in any release of setuptools.
_SHIM_OF_SETUPTOOLS = re.compile(
    r"import os; (var = 'SETUPTOOLS_USE_DISTUTILS'; )?"
    r"enabled = os\.environ\.get\((var|'SETUPTOOLS_USE_DISTUTILS')(, '(local|stdlib)')?\)"
    r" == 'local'; enabled and __import__\('_distutils_hack'\)\.add_shim\(\);\s*"
)
_SHIM_FILE = "distutils-precedence.pth"


def is_of_virtualenv(path: str) -> bool:
    """Return whether a file was put into this environment by virtualenv or uv, and not changed."""
    if not _is_made_by_virtualenv():
        return False
    if os.path.basename(path) == MAKER_PATH_FILE:
        return _text(path).strip() == _MAKER_LINE
    return _sha256(path) in _MAKER_MODULES


def is_of_setuptools(path: str) -> bool:
    """Return whether a file is distutils-precedence.pth as setuptools writes it."""
    is_shim = os.path.basename(path) == _SHIM_FILE
    return is_shim and bool(_SHIM_OF_SETUPTOOLS.fullmatch(_text(path)))


def _is_made_by_virtualenv() -> bool:
    """Return whether virtualenv or uv made this environment, as its pyvenv.cfg says."""
    for line in _text(f"{sys.prefix}/pyvenv.cfg").splitlines():
        if line.partition("=")[0].strip() in _MAKER_KEYS:
            return True
    return False


def _text(path: str) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return read_text(path) or ""
    except UnreadableError:
        return ""


def _sha256(path: str) -> str:
    """Return the sha256 of the text of a file."""
    return hashlib.sha256(_text(path).encode()).hexdigest()
