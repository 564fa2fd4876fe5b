"""A certificate authority for tests, and a certificate from it for the hosts in tests."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

HOSTS = ("index.example", "vendor.example", "files.example", "localhost")
_NAMES = ",".join(f"DNS:{host}" for host in HOSTS)
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")


def make_authority(folder: Path) -> Path:
    """Create `ca.pem`, which is returned, and `server.pem` and `server.key` beside it."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    (folder / "names").write_text(
        f"subjectAltName={_NAMES},IP:127.0.0.1\nbasicConstraints=CA:FALSE\n"
    )
    openssl("req", "-x509", *_KEY, "-subj", "/CN=tests", "-keyout", "ca.key", "-out", "ca.pem")
    openssl("req", *_KEY[:-2], "-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr")
    signed = (
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "names",
    )
    openssl("x509", "-req", "-in", "server.csr", *signed, "-out", "server.pem")
    return folder / "ca.pem"


def server_context(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.with_name("server.pem"), authority.with_name("server.key"))
    return context
