"""Which certificates are trusted: the system's, and those that pip on this machine is told to trust."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path

from resolver.catalog.pipconfig import PipConfig
from resolver.errors import InputError

# What pip, curl and OpenSSL look at; behind a corporate proxy at least one is set.
_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def trust(pip: PipConfig, environ: Mapping[str, str]) -> ssl.SSLContext:
    """A context that verifies against the system's store and every bundle named by pip or the environment."""
    context = _system_store()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    loaded = {os.path.realpath(ssl.get_default_verify_paths().cafile or "")}
    for source, bundle in (("pip's cert", pip.cert), *((name, environ.get(name, "")) for name in _VARIABLES)):
        if not bundle or (real := os.path.realpath(bundle)) in loaded:
            continue
        loaded.add(real)
        try:
            if Path(bundle).is_dir():
                context.load_verify_locations(capath=bundle)
            else:
                context.load_verify_locations(cafile=bundle)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                f"The certificates that {source} names cannot be read.", where=bundle, why=str(error)
            ) from None
    if pip.client_cert:
        try:
            context.load_cert_chain(pip.client_cert)
        except (OSError, ssl.SSLError) as error:
            raise InputError(
                "The client certificate of pip's configuration cannot be read.", where=pip.client_cert, why=str(error)
            ) from None
    return context


def _system_store() -> ssl.SSLContext:
    # On Linux the system's store is what OpenSSL finds by itself, unless it was built for another
    # distribution. truststore would read that store again for each connection, 12 ms each time.
    if sys.platform == "linux" and ssl.get_default_verify_paths().cafile:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_default_verify_paths()
        return context
    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
