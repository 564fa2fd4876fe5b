"""Trusted certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from resolver.errors import InputError
from resolver.index.net.certificates import ssl_context
from resolver.index.net.pipconfig import PipConfig

VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@pytest.fixture
def bundle() -> str:
    found = ssl.get_default_verify_paths().cafile
    if found is None:
        pytest.skip("this machine has no bundle")
    return found


def test_certificates_of_one_bundle_are_read_once(
    bundle: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    link = tmp_path / "link.pem"
    link.symlink_to(bundle)
    for name in VARIABLES:
        monkeypatch.setenv(name, bundle)
    read: list[str] = []
    load = ssl.SSLContext.load_verify_locations

    def loaded(context: ssl.SSLContext, *, cafile: str = "", capath: str = "") -> None:
        read.append(cafile)
        load(context, cafile=cafile or None, capath=capath or None)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", loaded)
    monkeypatch.setattr(ssl.SSLContext, "set_default_verify_paths", None)
    context = ssl_context(PipConfig(index_url="", cert=str(link)))
    assert [file for file in read if file] == [str(link)]
    assert context.cert_store_stats()["x509_ca"] > 0


@pytest.mark.parametrize("name", VARIABLES)
def test_certificates_that_are_none(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also of a bundle that OpenSSL would read by itself, without a word."""
    file = tmp_path / "none.pem"
    file.write_text("none")
    monkeypatch.setenv(name, str(file))
    with pytest.raises(InputError, match=f"The certificates named by {name} cannot be read"):
        ssl_context(PipConfig(index_url=""))
