"""Make the TLS settings: the certificates that are trusted, and the client's own certificate.

Trusted are the system's store, and the bundles that pip's settings and the environment name. A
bundle is a file with certificates, or a folder of such files.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from resolver.errors import InputError
from resolver.index.net.pipconfig import PipConfig
from resolver.phrase import Phrase, cause, phrase

# A variable of OpenSSL, which may name several folders.
_FOLDERS: Final = "SSL_CERT_DIR"
# Variables of pip, curl and OpenSSL that name a bundle. Behind the proxy of a company, at least one
# of them is usually set.
_VARIABLES: Final = ("SSL_CERT_FILE", _FOLDERS, "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
# The stores of Linux distributions. They are tried if OpenSSL knows no store that exists, since it
# was built for another distribution.
_STORES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/tls/certs/ca-bundle.crt",  # openEuler, Kylin, Fedora
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # Alpine
)


def ssl_context(pip: PipConfig) -> ssl.SSLContext:
    """Return the TLS settings for connections to servers, with the client's certificate of pip.

    Raises InputError if a bundle or the client's certificate cannot be read.
    """
    # Each bundle is read only once, which takes 20 ms: several settings often name the same one.
    bundles: dict[str, tuple[str, str]] = {}
    for setting, bundle in _bundles(pip):
        bundles.setdefault(os.path.realpath(bundle), (setting, bundle))
    context = _system_context(bundles)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    for setting, bundle in bundles.values():
        hint = phrase("name a file with certificates in PEM form, or a folder of such files")
        with _readable(
            phrase("The certificates named by {setting} cannot be read.", setting=setting),
            bundle,
            hint,
        ):
            if Path(bundle).is_dir():
                context.load_verify_locations(capath=bundle)
            else:
                context.load_verify_locations(cafile=bundle)
    if pip.client_cert:
        hint = phrase(
            "name a PEM file with certificate and key: `pip config set global.client-cert FILE`"
        )
        with _readable(
            phrase("The client certificate of pip's configuration cannot be read."),
            pip.client_cert,
            hint,
        ):
            context.load_cert_chain(pip.client_cert, password="")  # without a prompt
    return context


def _system_context(bundles: Collection[str]) -> ssl.SSLContext:
    """Return TLS settings that trust the system's store.

    `bundles` has the real paths of the bundles that the caller reads. If the store is one of them,
    it is not read here.
    """
    # On other systems truststore would read the store for each connection.
    if sys.platform in ("darwin", "win32"):
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    paths = ssl.get_default_verify_paths()
    if paths.cafile and os.path.realpath(paths.cafile) in bundles:
        if paths.capath:
            context.load_verify_locations(capath=paths.capath)
        return context
    context.set_default_verify_paths()  # SSL_CERT_FILE replaces the system's store, as in OpenSSL
    if not paths.cafile:
        for store in _STORES:
            if Path(store).is_file():
                if os.path.realpath(store) not in bundles:
                    context.load_verify_locations(cafile=store)
                break
    return context


def _bundles(pip: PipConfig) -> Iterator[tuple[str, str]]:
    """Yield the name of the setting and the path of each bundle that is configured."""
    if pip.cert:
        yield "pip's cert", pip.cert
    for name in _VARIABLES:
        value = os.environ.get(name, "")
        paths = value.split(os.pathsep) if name == _FOLDERS else [value]
        for path in paths:
            if path:
                yield name, path


@contextmanager
def _readable(message: Phrase, where: str, hint: Phrase) -> Iterator[None]:
    """Raise InputError if the body of `with` fails to load certificates.

    The message of OpenSSL is left out: it names a line of OpenSSL's source.
    """
    try:
        yield
    except ssl.SSLError:
        why = phrase("It has no usable certificate in PEM form.")
        raise InputError(message, where=where, why=why, hint=hint) from None
    except OSError as error:
        why = phrase("{cause}.", cause=cause(error))
        raise InputError(message, where=where, why=why, hint=hint) from None
