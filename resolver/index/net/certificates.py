"""Which certificates are trusted: the system's, and those that pip on this machine is configured to trust."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from resolver.errors import InputError
from resolver.index.net.pipconfig import PipConfig

_PEM: Final = "name a file with certificates in PEM form, or a folder of such files"
# Variables that pip, curl and OpenSSL read; behind a corporate proxy at least one is set.
_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# Where distributions keep their store, for a Python whose OpenSSL was built for another distribution.
_STORES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/tls/certs/ca-bundle.crt",  # openEuler, Kylin, Fedora
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine
)


def ssl_context(pip: PipConfig, environ: Mapping[str, str]) -> ssl.SSLContext:
    """The system's store and every bundle named by pip or the environment. Raises InputError for an invalid one."""
    context, known = _system()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for source, bundle in (("pip's cert", pip.cert), *_named(environ)):
        if not bundle or (real := os.path.realpath(bundle)) in known:
            continue
        known.add(real)
        with _readable(f"The certificates named by {source} cannot be read.", bundle, _PEM):
            folder, file = (bundle, None) if Path(bundle).is_dir() else (None, bundle)
            context.load_verify_locations(file, folder)
    if pip.client_cert:
        hint = "name a PEM file with certificate and key: `pip config set global.client-cert FILE`"
        with _readable("The client certificate of pip's configuration cannot be read.", pip.client_cert, hint):
            context.load_cert_chain(pip.client_cert, password="")  # nobody is asked for one
    return context


def _system() -> tuple[ssl.SSLContext, set[str]]:
    """A context that trusts the system's store, and the files and folders of that."""
    if sys.platform in ("darwin", "win32"):  # elsewhere truststore would read the store for each connection
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT), set()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_default_verify_paths()  # SSL_CERT_FILE replaces the system's store, as in OpenSSL
    found = ssl.get_default_verify_paths()
    if not found.cafile and (store := next((one for one in _STORES if Path(one).is_file()), "")):
        context.load_verify_locations(cafile=store)
        return context, {os.path.realpath(store)}
    return context, {os.path.realpath(one) for one in (found.cafile, found.capath) if one}


@contextmanager
def _readable(message: str, where: str, hint: str) -> Iterator[None]:
    """Turns a failure to load certificates into InputError; OpenSSL's own words name the line of its source."""
    try:
        yield
    except ssl.SSLError:
        why = "It has no usable certificate in PEM form."
        raise InputError(message, where=where, why=why, hint=hint) from None
    except OSError as error:
        raise InputError(message, where=where, why=f"{error.strerror or error}.", hint=hint) from None


def _named(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The paths in the environment; SSL_CERT_DIR may name several folders, as in OpenSSL."""
    for name in _VARIABLES:
        bundle = environ.get(name, "")
        for one in bundle.split(os.pathsep) if name == "SSL_CERT_DIR" else (bundle,):
            yield name, one
