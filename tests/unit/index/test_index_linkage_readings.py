"""Shipped readings of wheels' binaries: which wheel has which."""

from __future__ import annotations

from pathlib import Path

from packaging.utils import NormalizedName

from resolver.index.store.linkage_readings import LinkageReading, ShippedLinkage, write_linkages
from resolver.model.linkage import Linkage, SharedObject
from resolver.model.release import File

OBJECTS = (SharedObject(path="demo/_C.so"),)


def test_shipped_linkage_of_a_name_with_an_invalid_version(tmp_path: Path):
    filename = "demo-2023c-cp311-cp311-linux_aarch64.whl"
    write_linkages([LinkageReading(filename, "ab", OBJECTS)], tmp_path, NormalizedName("demo"))
    assert ShippedLinkage(tmp_path).get(File(filename, "", sha256="ab")) == Linkage(OBJECTS)


def test_shipped_linkage_of_a_name_of_no_wheel(tmp_path: Path):
    assert ShippedLinkage(tmp_path).get(File("demo.whl", "", sha256="ab")) is None
