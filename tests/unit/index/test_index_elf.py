"""ELF objects of wheels: what is read, and what is refused."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import time
import zipfile

import pytest

from resolver.index.parse.binaries import (
    Limits,
    binary_members,
    linkage_of_wheel,
    read_linkage,
    within,
)
from resolver.index.parse.elf import read_elf
from resolver.index.parse.guarded import MissingSpanError, RangeFile
from resolver.index.protocol import UnusableFile
from resolver.model.linkage import hashed, packed
from tests.elf import elf

ADD = "_ZN2at3addERKNS_6TensorE"
OPERATOR = "_ZNK3c1010TensorImpllsEv"
STABLE = "aoti_torch_empty_strided"
LARGE = Limits(packed=1 << 30, unpacked=1 << 30)


def wheel(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for path, content in members.items():
            archive.writestr(path, content)
    made.seek(0)
    return made


def read(members: dict[str, bytes], limits: Limits = LARGE):
    return read_linkage(wheel(members), "demo-1-cp311-cp311-linux_aarch64.whl", limits)


def test_elf_names_and_versions():
    content = elf(
        needs=["libtorch.so", "libc.so.6"],
        soname="libdemo.so.1",
        run_path="$ORIGIN:$ORIGIN/lib",
        versions={
            "libc.so.6": ["GLIBC_2.17", "GLIBC_2.9"],
            "libstdc++.so.6": ["GLIBCXX_3.4.29", "CXXABI_1.3.9"],
        },
    )
    found = read_elf(content, "demo/_C.so")
    assert found is not None
    shared_object = found.shared_object
    assert shared_object.needs == ("libtorch.so", "libc.so.6")
    assert shared_object.soname == "libdemo.so.1"
    assert shared_object.run_path == ("$ORIGIN", "$ORIGIN/lib")
    assert (shared_object.glibc, shared_object.glibcxx, shared_object.cxxabi) == (
        "2.17",
        "3.4.29",
        "1.3.9",
    )
    assert shared_object.names == {"_C.so", "libdemo.so.1"}


def test_elf_symbols_of_torch():
    undefined = [
        ADD,
        OPERATOR,
        STABLE,
        "memcpy",
        "_ZNSt6vectorIN2at6TensorESaIS1_EE4sizeEv",
        "_ZN6at_npu3fooEv",
    ]
    found = read_elf(elf(undefined=undefined, weak=["_ZN5torch4weakEv"]), "demo/_C.so")
    assert found is not None
    assert found.requires == {ADD.encode(), OPERATOR.encode(), STABLE.encode()}


def test_elf_of_another_machine():
    for identity in (b"\x01\x01", b"\x02\x02"):
        assert read_elf(elf(changes={4: identity}), "demo/_C.so") is None


@pytest.mark.parametrize(
    "content",
    [
        b"\x7fELF\x02\x01",
        elf()[:100],
        elf(changes={60: b"\xff\xff"}),
        elf(changes={40: struct.pack("<Q", 1 << 62)}),
        elf(needs=["x" * 5000]),
        elf(needs=[b"\xff\xfe"]),
        elf(needs=["lib\x1b[2J.so"]),
        elf(needs=[f"lib{number}.so" for number in range(2000)]),
        elf(versions={"libc.so.6": [f"GLIBC_2.{number}" for number in range(20_000)]}),
        elf(undefined=["_ZN2at" + "x" * 20_000]),
    ],
)
def test_elf_refused(content: bytes):
    with pytest.raises(UnusableFile):
        read_elf(content, "demo/_C.so")


def test_elf_versions_in_a_circle():
    made = elf(versions={"libc.so.6": ["GLIBC_2.17"]})
    altered = bytearray(made)
    # sh_info says that there are four billion libraries, and the version of the first one is
    # followed by itself
    section = made.rindex(struct.pack("<I", 0x6FFFFFFE))
    altered[section + 40 : section + 44] = b"\xff" * 4
    version = made.rindex(struct.pack("<HHIII", 1, 1, 1, 16, 0))
    altered[version + 2 : version + 4] = b"\xff\xff"
    altered[version + 28 : version + 32] = struct.pack("<I", (1 << 32) - 16)
    begin = time.process_time()
    with pytest.raises(UnusableFile):
        read_elf(bytes(altered), "demo/_C.so")
    assert time.process_time() - begin < 1


def test_elf_damaged_at_random():
    made = elf(
        needs=["libc.so.6"],
        versions={"libc.so.6": ["GLIBC_2.17"]},
        undefined=[ADD],
        defined=[OPERATOR],
    )
    generator = random.Random(0)
    begin = time.process_time()
    for _ in range(1500):
        altered = bytearray(made)
        for _ in range(generator.randint(1, 6)):
            altered[generator.randrange(4, len(made))] = generator.choice(
                [0, 1, 0x7F, 0xFF, generator.randrange(256)]
            )
        with contextlib.suppress(UnusableFile):
            read_elf(bytes(altered), "demo/_C.so")
    assert time.process_time() - begin < 30


def test_linkage_of_a_wheel():
    linkage = read(
        {
            "demo/_C.so": elf(needs=["libdemo.so"], undefined=[ADD, "_ZN2at3ownEv"]),
            "demo/lib/libdemo.so": elf(soname="libdemo.so", defined=["_ZN2at3ownEv"]),
            "demo/linker-script.so": b"INPUT(libdemo.so)",
            "demo/bin/program": elf(needs=["libc.so.6"]),
            "demo/bin/script": b"#!/bin/sh",
            "demo/code.py": b"",
        }
    )
    assert [shared_object.path for shared_object in linkage.objects] == [
        "demo/_C.so",
        "demo/bin/program",
        "demo/lib/libdemo.so",
    ]
    assert [shared_object.takes for shared_object in linkage.objects] == [
        hashed(ADD.encode()),
        b"",
        b"",
    ]
    assert not any(shared_object.offers for shared_object in linkage.objects)
    assert linkage.is_complete


def test_elf_unique_symbols_are_defined():
    read_object = read_elf(elf(unique=["_ZN2at7registrEv"]), "demo/_C.so")
    assert read_object is not None
    assert read_object.defines == {b"_ZN2at7registrEv"}


def test_linkage_of_torch():
    linkage = read(
        {
            "torch/lib/libtorch_cpu.so": elf(
                soname="libtorch_cpu.so", defined=[ADD, "memcpy", STABLE]
            )
        }
    )
    (library,) = linkage.objects
    assert library.offers == packed({hashed(ADD.encode()), hashed(STABLE.encode())})


def test_linkage_beyond_a_limit():
    members = {"a.so": elf(soname="a.so"), "b.so": elf(soname="b.so", needs=["x" * 900])}
    size = max(member.packed for member in binary_members(wheel(members), "demo.whl"))
    linkage = read(members, Limits(packed=size, unpacked=1 << 20))
    assert [(shared_object.path, shared_object.read) for shared_object in linkage.objects] == [
        ("a.so", True),
        ("b.so", False),
    ]
    assert not linkage.is_complete


@pytest.mark.parametrize("name", ["libssl-f4f30056.so.1.1.1k", "lib.so", "lib.so.1", "bin/demo"])
def test_linkage_members(name: str) -> None:
    paths = [
        member.path for member in binary_members(wheel({name: b"z", "demo/a.py": b"a"}), "demo.whl")
    ]
    assert paths == [name]


def test_linkage_takes_the_smallest_first():
    members = binary_members(
        wheel({"z.so": b"z", "a.so": random.Random(0).randbytes(999)}), "demo.whl"
    )
    assert [member.path for member in within(members, Limits(packed=100, unpacked=2000))] == [
        "z.so"
    ]


def test_linkage_of_a_bomb():
    bomb = wheel({"bomb.so": bytes(64 << 20)})
    begin = time.process_time()
    linkage = read_linkage(bomb, "demo.whl", Limits(packed=1 << 20, unpacked=16 << 20))
    assert not linkage.is_complete
    assert time.process_time() - begin < 1


def test_linkage_with_a_size_that_lies():
    content = wheel({"a.so": bytes(1 << 20)}).getvalue()
    lied = content.replace(struct.pack("<I", 1 << 20), struct.pack("<I", 10))
    with pytest.raises(UnusableFile):
        read_linkage(io.BytesIO(lied), "demo.whl", LARGE)


@pytest.mark.parametrize(
    "members",
    [
        {"bad\x1b.so": b""},
        {"x" * 600 + ".so": b""},
        {f"{number}.so": b"" for number in range(2001)},
    ],
)
def test_linkage_refused(members: dict[str, bytes]):
    with pytest.raises(UnusableFile):
        read(members)


def test_linkage_of_an_unbounded_compression():
    with pytest.raises(UnusableFile, match="unsupported compression"):
        read_linkage(wheel({"a.so": elf()}, zipfile.ZIP_BZIP2), "demo.whl", LARGE)


def test_linkage_of_a_file_that_is_no_zip(tmp_path):
    path = tmp_path / "demo.whl"
    path.write_bytes(b"no zip")
    with pytest.raises(UnusableFile):
        linkage_of_wheel(path, "demo.whl", LARGE)


def test_linkage_needs_only_the_binaries():
    content = wheel({"big.bin": random.Random(0).randbytes(1 << 20), "a.so": elf()}).getvalue()
    part = RangeFile(len(content))
    part.add(len(content) - 4096, content[-4096:])
    assert [
        shared_object.path for shared_object in read_linkage(part, "demo.whl", LARGE).objects
    ] == ["a.so"]
    nothing = RangeFile(len(content))
    with pytest.raises(MissingSpanError):
        read_linkage(nothing, "demo.whl", LARGE)
