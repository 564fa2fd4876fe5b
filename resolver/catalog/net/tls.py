"""Which certificates are trusted: the system's, and those that pip on this machine is configured to trust."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from resolver.catalog.net.pipconfig import PipConfig
from resolver.errors import InputError

# Variables that pip, curl and OpenSSL read; behind a corporate proxy at least one is set.
_PEM: Final = "name a file with certificates in PEM form, or a folder of such files"
_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# Where distributions keep their store, for a Python whose OpenSSL was built for another distribution.
_STORES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/tls/certs/ca-bundle.crt",  # openEuler, Kylin, Fedora
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine
)


class Trust(NamedTuple):
    """Certificates in the forms that curl accepts; empty if there are none of a kind.

    `file` and `folders` (joined by the system's path separator) are paths, `content` is PEM instead of a file.
    `native`: the system's store is not in files.
    """

    file: str
    folders: str
    content: bytes
    client: str
    native: bool


def trust(pip: PipConfig, environ: Mapping[str, str]) -> Trust:
    """The system's store and every bundle named by pip or the environment. Raises InputError for an invalid one."""
    store, folder = _system_store()
    files, folders = [store] if store else [], [folder] if folder else []
    known = {os.path.realpath(one) for one in (store, folder) if one}
    for source, bundle in (("pip's cert", pip.cert), *_named(environ)):
        if not bundle or (real := os.path.realpath(bundle)) in known:
            continue
        known.add(real)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if Path(bundle).is_dir():
                folders.append(bundle)
            else:
                context.load_verify_locations(cafile=bundle)
                files.append(bundle)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"The certificates named by {source} cannot be read.", where=bundle, why=_why(error), hint=_PEM
            ) from None
    if pip.client_cert:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(pip.client_cert)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                "The client certificate of pip's configuration cannot be read.",
                where=pip.client_cert,
                why=_why(error),
                hint="name a PEM file with certificate and key: `pip config set global.client-cert FILE`",
            ) from None
    single = files[0] if len(files) == 1 else ""
    content = b"" if single else b"\n".join(Path(one).read_bytes() for one in files)
    return Trust(single, os.pathsep.join(folders), content, pip.client_cert, sys.platform in ("darwin", "win32"))


def _why(error: OSError) -> str:
    """What is wrong with a file of certificates; OpenSSL's own words name the line of its source."""
    if isinstance(error, ssl.SSLError):
        return "It has no usable certificate in PEM form."
    return f"{error.strerror or error}."


def _named(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The paths in the environment; SSL_CERT_DIR may name several folders, as in OpenSSL."""
    for name in _VARIABLES:
        bundle = environ.get(name, "")
        for one in bundle.split(os.pathsep) if name == "SSL_CERT_DIR" else (bundle,):
            yield name, one


def _system_store() -> tuple[str, str]:
    """The file of the system's certificates, otherwise their folder, if there is either.

    A folder is searched anew for each connection, while a file is read once.
    """
    found = ssl.get_default_verify_paths()  # SSL_CERT_FILE replaces the system's store, as in OpenSSL
    file = found.cafile or next((one for one in _STORES if Path(one).is_file()), "")
    return file, "" if file else found.capath or ""
