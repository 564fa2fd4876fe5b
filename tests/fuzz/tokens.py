"""Strings that mutations insert: some break any reader, some have a meaning in a format."""

# fmt: off
ANY = (
    *(bytes([number]) for number in (0, 9, 10, 13, 27, 34, 39, 92, 0x7F, 0x80, 0xC0, 0xFF)),
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\xc2\x9b",
    b"\xf3\xa0\x80\x81", b"\x1b[2J", b"\r\n\r\n", b"../", b"/", b"//", b"\\", b"%00", b"%2e%2e%2f",
    b"..", b"@", b"#", b"?", b"[", b"]", b"{", b"}", b"(", b")", b"<", b">", b"&#0;", b"<!--",
    b"$(x)", b"`x`", b";", b"|", b"=", b"==", b"===", b"~=", b",", b"*", b"0", b"-1", b"1e999",
    b"NaN", b"9" * 30, b"1" * 5000, b"18446744073709551616", b"2147483648", b"0x10", b"\xff\xff",
    b"\xff\xff\xff\xff", b"\x00\x00\x00\x80", b"\xff" * 8, b"\x00" * 8, b"\x01\x00", b"\xc1",
    b"true", b"null", b"None", b"inf", b"1.0", b"1!1.0.post1+x", b"2026-02-30", b"0000-00-00",
    b"9999-12-31T23:59:60Z",
)

METADATA = (
    b"Metadata-Version: 2.1\n", b"Name: demo\n", b"Version: 1.0\n", b"Requires-Dist: ",
    b"Requires-Python: ", b"Provides-Extra: ", b"Dynamic: Requires-Dist\n", b"; extra == 'x'",
    b"; python_version < '3.8'", b"a[b,c]>=1,<2", b" @ https://a.example/b.whl", b"===1.0", b"~=1",
    b"!=1.*", b" and ", b" or ", b" in ", b" not in ", b"\n  ",
)

NOTES = (
    *METADATA, b"[", b"]", b"[x:", b"[:python_version < '3']\n", b"[a]\n", b"\xe2\x80\xae",
    b"\x1b[2J",
)

JSON = (
    b'"files":[', b'"hashes":{"sha256":"', b'"yanked":', b'"size":', b'"url":',
    b'"meta":{"api-version":"1.1"}',
)

HTML = (
    b"<a href=", b"</a>", b"<html>", b"</html>", b"<base href='", b"data-yanked", b"#sha256=",
    b"data-core-metadata=",
)

PAGE = (
    *JSON, *HTML, b"demo-2.0-py3-none-any.whl", b".tar.gz", b"text/html\n", b"; charset=utf-7",
    b"; charset=idna",
)

TOML = (
    b"[[requires]]\n", b"[stack]\n", b"[target]\n", b"[[target]]\n", b"[[excludes]]\n",
    b"[[sources]]\n", b"[[binding]]\n", b'needs = ["', b'versions = "', b'reason = "',
    b"cann in 8.5.0 | 8.5.1", b"glibc >= 2.28", b"python >= 3.10, < 3.12", b"9999-12-31",
    b"0001-01-01T00:00:00Z", b"{version}", b'"""', b"'''", b"[[[", b"a.b.c = 1\n", b"== 8.5.*",
    b"{}", b"[]",
)

PROJECT = (*TOML, b"[project]\n", b"[build-system]\n", b"dynamic = ", b"dependencies = [")

LOCK = (*TOML, b"[[pin]]\n", b"[[stage]]\n", b"mode = ", b'"wheels"', b"[pin.git]\n")

ELF = (
    b"\x7fELF", b"\x02\x01\x01", b"libc.so.6\0", b"GLIBC_2.34\0", b"_ZN2at1aEv\0",
    b"\xfe\xff\xff\x6f", b"\x06\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0\0\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x01\0", b"\0",
)

ZIP = (
    b"PK\5\6", b"PK\1\2", b"PK\3\4", b"PK\6\6", b"PK\6\7", b".dist-info/METADATA",
    b"demo-1.0.dist-info/", b"demo-1.0/", b"PKG-INFO", b"pyproject.toml",
)

TAR = (b"ustar\x0000", b"PKG-INFO", b"././@LongLink", b"0000644\0")

NAMES = (b"-", b".whl", b".tar.gz", b"py3-none-any", b"cp311", b"manylinux_2_28_aarch64", b".zip")

HEADERS = (b"Wed, 21 Oct 2026 07:28:00 GMT", b"nan", b"inf", b"+9999", b"-")

ADDRESSES = (b"https://", b"git+https://", b"file:///", b"#subdirectory=", b"[::1]", b":65536")

MANIFEST = (*JSON, b'"path":', b"../", b'"format":1', b'"texts":[', b'"left":[')

CONFIG = (b"[global]\n", b"[install]\n", b"index-url = ", b"timeout = ", b"%(x)s")

PACK = (
    b"\xdc\xff\xff", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc0", b"\xa0", b"\x90",
    b"\x80", b"\xca\x7f\x80\0\0", b"\xd9\xff", b"\xc4\x01x",
)
