"""CANN, driver and SoC, as verify.py reads them from files and from npu-smi."""

from __future__ import annotations

import platform
import re
from dataclasses import replace
from pathlib import Path

import pytest
import tomli

from resolver.ascend.checks import (
    NpuTool,
    ask_tool,
    check_cann,
    check_hdk,
    check_soc,
    soc_family,
)
from resolver.ascend.libraries import missing_library
from resolver.ascend.machine import Machine, this_machine
from resolver.report.verify import texts
from resolver.verify.environment import check_machine
from resolver.verify.findings import CheckContext, DriverNeed, Group, LockedStack
from resolver.verify.report import Report
from tests.functional.workspace import REPOSITORY

MACHINE = platform.machine()
NO_VERSION = "is not a CANN or HDK version such as 8.5.0, 8.3.RC1 or 25.3.rc1.2"
RECORD = f"{MACHINE}-linux/ascend_toolkit_install.info"
CANN_FILES = {
    RECORD: (
        "package_name=Ascend-cann-toolkit\nversion=8.5.0\ninnerversion=V100R001C25SPC001B232\n"
        "compatible_version=[V100R001C15],[V100R001C25]\n"
        f"arch={MACHINE}\nos=linux\n"
    ),
    "version.cfg": (
        "# version: 1.0\n"
        "runtime_running_version=[8.5.0.2.220:8.5.0]\n"
        "toolkit_running_version=[8.5.0.2.220:8.5.0]\n"
        "toolkit_upgrade_version=[8.5.0.2.220:8.5.0]\n"
        "toolkit_installed_version=[7.6.0.1.220:8.0.0][8.5.0.2.220:8.5.0]\n"
    ),
    "opp/version.info": (
        "Version=8.5.0.2.220\nversion_dir=8.5.0\nrequired_package_runtime_version=>=8.5.0.0.0\n"
    ),
}
DRIVER = (
    "Version=25.3.rc1\nascendhal_version=7.35.23\nInnerversion=V100R001C23\n"
    "compatible_version=[V100R001C13],[V100R001C23]\ncompatible_version_fw=[7.0.0,8.9.9]\npackage_version=25.3.rc1\n"
)


class Installation:
    """/usr/local/Ascend in a folder of the test."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.home = root / "cann-8.5.0"
        self.environ = {
            "ASCEND_HOME_PATH": str(self.home),
            "HOME": str(root / "home"),
            "PATH": str(root),
        }
        self._capsys = capsys
        self.system = {"cann": "8.5.0", "hdk": "25.3.rc1", "soc": "A2"}
        self.driver: tuple[DriverNeed, ...] = ()
        # What the last findings say.
        self.messages: list[str] = []
        self.remedies: list[str] = []
        for name, text in CANN_FILES.items():
            self.write(f"cann-8.5.0/{name}", text)
        self.write("driver/version.info", DRIVER)

    def write(self, name: str, text: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    @property
    def context(self) -> CheckContext:
        place = ("demo", "here", f"linux-{MACHINE}", "3.11", "2.17")
        lock = LockedStack(*place, self.system, driver=self.driver, texts=texts())
        return CheckContext(lock, "/lock", self.environ, ascend=str(self.root))

    def codes_of(self, group: Group) -> list[str]:
        """Return the codes of a group's findings, or else its note.

        What the findings say is then in `messages` and `remedies`.
        """
        report = Report(self.context, as_json=False, lenient=False)
        report.add(group)
        report.end()
        text = self._capsys.readouterr().out.replace(str(self.root), "<root>")
        self.remedies = re.findall("(?m)^   fix: (.*)", text)
        self.messages = re.findall("(?m)^(?:error|warning): (.*)  \\[.*\\]$", text)
        codes = re.findall("(?m)^(?:error|warning): .*  \\[(.*)\\]$", text)
        return codes or [text.partition(" ok ")[2].splitlines()[0].strip()]

    def cann(self) -> list[str]:
        return self.codes_of(check_cann(self.context))

    def hdk(self, running: str = "") -> list[str]:
        return self.codes_of(
            check_hdk(self.context, NpuTool(running, (), 1) if running else NpuTool())
        )


@pytest.fixture
def installation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Installation:
    return Installation(tmp_path, capsys)


def test_machine_with_an_older_glibc(installation: Installation) -> None:
    lock = replace(installation.context.lock, glibc="2.99")
    ours = platform.libc_ver()[1]
    assert installation.codes_of(check_machine(replace(installation.context, lock=lock))) == [
        "glibc-old"
    ]
    assert installation.remedies == [f'set glibc = "{ours}" in the stack\'s target and lock again']


# --- CANN


@pytest.mark.parametrize("installed", ["", "toolkit_installed_version=[8.5.0.2.220:8.5.0]\n"])
def test_cann_release_is_not_the_internal_number(
    installation: Installation, installed: str
) -> None:
    """8.2.0.0.201 is what version.info of CANN 8.2.RC1 says as its Version."""
    (installation.home / RECORD).unlink()
    installation.system["cann"] = "8.2.RC1"
    installation.write("cann-8.5.0/opp/version.info", "Version=8.2.0.0.201\nversion_dir=8.2.RC1\n")
    installation.write(
        "cann-8.5.0/version.cfg", f"{installed}toolkit_running_version=[8.2.0.0.201:8.2.RC1]\n"
    )
    assert installation.cann() == ["8.2.RC1 (<root>/cann-8.5.0)"]


@pytest.mark.parametrize(
    ("found", "name"), [("8.3.RC1", "cann-8.3.RC1"), ("8.5.0.alpha001", "x"), ("18.5.0", "y")]
)
def test_cann_of_another_release(installation: Installation, found: str, name: str) -> None:
    installation.write(f"{name}/{RECORD}", f"version={found}\n")
    installation.write("cann-8.5.0/set_env.sh", "")
    installation.environ["ASCEND_HOME_PATH"] = str(installation.root / name)
    assert installation.cann() == ["cann-differs"]
    assert installation.messages == [
        f"CANN is {found}, but the lock is for 8.5.0 (active: <root>/{name})"
    ]
    assert installation.remedies == [". <root>/cann-8.5.0/set_env.sh"]


@pytest.mark.parametrize(
    "script",
    [
        "cann-8.5.0/set_env.sh",
        "cann/set_env.sh",
        "ascend-toolkit/set_env.sh",
        "home/Ascend/ascend-toolkit/set_env.sh",
    ],
)
def test_cann_not_active(installation: Installation, script: str) -> None:
    installation.write("elsewhere/set_env.sh", "")
    del installation.environ["ASCEND_HOME_PATH"]
    assert installation.cann() == ["cann-inactive"]
    assert installation.remedies == ["install CANN 8.5.0, then source its set_env.sh"]
    installation.write(script, "")
    assert installation.cann()
    assert installation.remedies == [f". <root>/{script}"]


def test_cann_gone_or_half_active(installation: Installation) -> None:
    """torch_npu looks at the one variable that is not set."""
    installation.environ["ASCEND_TOOLKIT_HOME"] = installation.environ.pop("ASCEND_HOME_PATH")
    assert installation.cann() == ["cann-half-active"]
    assert installation.remedies == ["source CANN's set_env.sh, which sets both"]
    installation.environ["ASCEND_HOME_PATH"] = "/gone/cann-8.5.0"
    assert installation.cann() == ["cann-gone"]
    assert installation.remedies == ["source the set_env.sh of CANN 8.5.0 in a new shell"]
    installation.write("cann-8.5.0/set_env.sh", "")
    assert installation.cann()
    assert installation.remedies == [". <root>/cann-8.5.0/set_env.sh"]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (b"package_name=Ascend\nversion=8.5", f"`8.5` {NO_VERSION}"),
        (b"package_name=Ascend-ca", "it states nothing for `version`"),
        (b"", "it states nothing for `version`"),
        (b"version=\xff\xfe8.5.0\n", "byte 8 is not UTF-8"),
        (None, "no such file"),
    ],
)
def test_cann_unreadable(installation: Installation, record: bytes | None, why: str) -> None:
    for name in CANN_FILES:
        (installation.home / name).unlink()
    if record is not None:
        installation.write(f"cann-8.5.0/{RECORD}", record)
    assert installation.cann() == ["cann-unreadable"]
    assert installation.messages[0].endswith(f" <root>/cann-8.5.0/{RECORD}: {why}")


def test_cann_with_a_broken_file(installation: Installation) -> None:
    installation.write("cann-8.5.0/version.cfg", "toolkit_running_version=[8.5.0.2")
    assert installation.cann() == ["cann-file-unreadable"]
    assert installation.messages[0].endswith(
        ": `toolkit_running_version` is not [internal:release]"
    )


def test_cann_part_without_a_release(installation: Installation) -> None:
    installation.write("cann-8.5.0/opp/version.info", "Version=8.5.0.2.220\nversion_dir=\n")
    assert installation.cann() == ["cann-file-unreadable"]
    assert installation.messages[0].endswith(
        "opp/version.info could not be read: it states nothing for `version_dir`"
    )


def test_component_of_an_edited_lock_that_is_no_version(installation: Installation) -> None:
    installation.system |= {"cann": "banana", "hdk": "26"}
    assert installation.cann() == ["component-invalid"]
    assert installation.messages == [
        "the lock states cann banana, which is no version of CANN or HDK"
    ]
    assert installation.hdk() == ["component-invalid"]


def test_cann_with_a_part_of_another_release(installation: Installation) -> None:
    installation.write(
        "cann-8.5.0/opp/version.info", "Version=7.8.T5.0.B028\nversion_dir=8.3.RC2\n"
    )
    assert installation.cann() == ["cann-parts-differ"]
    assert installation.messages[0].endswith(
        ": opp 8.3.RC2 (<root>/cann-8.5.0/opp/version.info) (1 in all)"
    )


def test_nnal_of_another_release(installation: Installation) -> None:
    installation.write(
        "nnal/atb/latest/version.info", "    Ascend-cann-atb : 8.0.0\n    Version : 8.0.0.B100\n"
    )
    installation.environ["ATB_HOME_PATH"] = str(installation.root / "nnal/atb/latest/atb/cxx_abi_1")
    assert installation.cann() == ["nnal-differs"]
    installation.write(
        "nnal/atb/latest/version.info", "    Ascend-cann-atb : 8.5.0\n    Version : 8.5.0.B232\n"
    )
    assert installation.cann() == ["8.5.0 (<root>/cann-8.5.0)"]


# --- the driver


def driver(installation: Installation, found: str) -> None:
    """Write the version of the driver; without one, remove the driver."""
    if found:
        installation.write("driver/version.info", DRIVER.replace("25.3.rc1", found))
    else:
        (installation.root / "driver" / "version.info").unlink()


REQUIRED = "required: hdk >= 25.3.rc1"


@pytest.mark.parametrize(
    ("found", "running", "expected"),
    [
        *((one, "", f"{one}; {REQUIRED}") for one in ("25.3.rc1", "25.3.RC1", "25.3.rc1.b083")),
        *(
            (one, "", f"{one}; {REQUIRED}") for one in ("25.3.rc1.2", "25.5.0", "26.1.0.b083")
        ),  # newer ones
        ("25.2.1", "25.2.1", "hdk-old"),
        ("25.3.rc1", "25.2.1", "hdk-not-running"),  # it waits for a restart
        ("", "", "hdk-missing"),
        ("", "25.3.rc1", f"25.3.rc1; {REQUIRED}"),  # a container sees npu-smi alone
    ],
)
def test_hdk_as_locked_or_newer(
    installation: Installation, found: str, running: str, expected: str
) -> None:
    driver(installation, found)
    assert installation.hdk(running) == [expected]
    if expected == "hdk-old":
        assert installation.remedies[0].endswith(
            'or set hdk = "25.2.1" in the stack\'s target and lock again'
        )


def test_hdk_unreadable(installation: Installation) -> None:
    installation.write("driver/version.info", "Version=25.")
    assert installation.hdk() == ["hdk-unreadable"]
    assert installation.messages[0].endswith(f" <root>/driver/version.info: `25.` {NO_VERSION}")
    assert machine(installation).driver == ""
    del installation.system["hdk"]
    assert installation.hdk() == ["hdk-file-unreadable"]


def test_hdk_neither_there_nor_required(installation: Installation) -> None:
    del installation.system["hdk"]
    driver(installation, "")
    assert installation.hdk() == ["none found; the lock requires none"]


NEED = DriverNeed(
    "CANN 8.5.0",
    "hdk",
    "hdk >= 25.2.0",
    (((">=", "25.2.0"),),),
    binding=False,
    reason={
        "en": "the notes say so (vendor: notes of 8.5.0)",
        "zh": "版本说明如此（厂商：notes of 8.5.0）",
    },
)
ASKED = "CANN 8.5.0: hdk >= 25.2.0"


@pytest.fixture
def asking(installation: Installation) -> Installation:
    """A lock that states no driver, whose CANN asks for one."""
    del installation.system["hdk"]
    installation.driver = (NEED,)
    return installation


@pytest.mark.parametrize(
    ("found", "running", "expected"),
    [
        *(
            (one, "", f"{one}; required: {ASKED}")
            for one in ("25.2.0", "25.2.0.b083", "25.2.1", "25.3.RC1", "26.0.rc1")
        ),
        *((one, "", "hdk-unmet") for one in ("25.2.rc1", "25.0.rc1.1", "24.1.0")),
        ("", "24.1.0", "hdk-unmet"),
        ("", "", f"none found; required: {ASKED}"),  # nothing is judged
    ],
)
def test_hdk_that_cann_requires(
    asking: Installation, found: str, running: str, expected: str
) -> None:
    driver(asking, found)
    assert asking.hdk(running) == [expected]
    if expected == "hdk-unmet":
        where = "<root>/driver/version.info" if found else "npu-smi"
        assert asking.messages[0].endswith(f"CANN 8.5.0 asks for hdk >= 25.2.0 ({where})")


@pytest.mark.parametrize(
    ("ranges", "met"),
    [
        *(
            (text, True)
            for text in ("== 25.3.*", "== 25.*", "== 25.0.rc1 | == 25.3.rc1", "> 25.3.rc1.b001")
        ),
        *(
            (text, False)
            for text in (
                "!= 25.3.*",
                "== 25.0.rc1 | == 25.2.1",
                "< 25.3.rc1",
                ">= 25.2.0, != 25.3.rc1",
            )
        ),
    ],
)
def test_hdk_requirement_forms(asking: Installation, ranges: str, *, met: bool) -> None:
    driver(asking, "25.3.rc1.b083")
    clauses = [
        [clause.partition(" ")[::2] for clause in one.split(", ")] for one in ranges.split(" | ")
    ]
    asking.driver = (NEED._replace(ranges=tuple(map(tuple, clauses))),)
    assert (asking.hdk() == ["hdk-unmet"]) != met


# --- the SoC


def npu_smi(installation: Installation, script: str) -> NpuTool:
    installation.write("npu-smi", script)
    (installation.root / "npu-smi").chmod(0o755)
    return ask_tool(installation.context)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("#!/bin/bash\nexit 1\n", NpuTool()),
        ("#!/bin/bash\nprintf '\\xff\\xfe'\n", NpuTool()),
        ("no program", NpuTool()),
        (
            "#!/bin/bash\n[ \"$*\" = 'info -m' ] && echo '  0  0  0  Ascend 910B4'\n",
            NpuTool("", (), 1),
        ),
    ],
)
def test_npu_smi_that_tells_little(
    installation: Installation, script: str, expected: NpuTool | None
) -> None:
    tool = npu_smi(installation, script)
    assert tool == expected
    assert [finding.code for finding in check_soc(installation.context, tool).findings] == [
        "soc-unknown"
    ]


@pytest.mark.parametrize(
    ("names", "family"),
    [
        ("Ascend910B1 Ascend910B2 Ascend910B2C Ascend910B3 Ascend910B4 Ascend910B4-1", "A2"),
        ("Ascend910_9391 Ascend910_9381 Ascend910_9372", "A3"),
        ("Ascend910_9392 Ascend910_9382 Ascend910_9362", "A3"),
        ("Ascend310P1 Ascend310P3 Ascend310P5 Ascend310P7 Ascend310Pvir01", "310P"),
        ("Ascend950PR_9579 ascend950dt", "A5"),
        ("Ascend910 Ascend310 910ProB", ""),
    ],
)
def test_soc_families(installation: Installation, names: str, family: str) -> None:
    assert {soc_family(name) for name in names.split()} == {family}
    expected = installation.codes_of(
        check_soc(installation.context, NpuTool("", (names.split()[0],), 1))
    )
    assert (expected == ["soc-unnamed"]) is (family == "")


@pytest.mark.parametrize(
    ("chips", "code"),
    [
        (("Ascend910B4", "Ascend910B3"), "A2 (Ascend910B4)"),
        (("Ascend910B4", "Ascend310P3"), "soc-mixed"),
        (("Ascend310P3", "Ascend910B4"), "soc-mixed"),
        (("Ascend310P3", "Ascend910_9392"), "soc-differs"),
    ],
)
def test_soc_of_several_chips(
    installation: Installation, chips: tuple[str, ...], code: str
) -> None:
    (found,) = installation.codes_of(check_soc(installation.context, NpuTool("", chips, 2)))
    assert found == code


def test_npu_smi_is_asked_once_for_each_kind_of_chip(installation: Installation) -> None:
    log = installation.root / "log"
    tool = npu_smi(
        installation,
        f"""#!/bin/bash
echo "$*" >>{log}
case "$*" in
"info -m")
    echo "  0  0  0  Ascend 910B4"
    echo "  1  0  1  Ascend 910B4"
    echo "  1  1  -  Mcu"
    echo "  5  0  2  Ascend 310P3"
    ;;
"info -t board -i 0") echo "Software Version : 25.5.1" ;;
"info -t board -i 0 -c 0") printf "Chip Type : Ascend\nChip Name : 910B4\n" ;;
"info -t board -i 5 -c 0") printf "Chip Type : Ascend\nChip Name : 310P3\n" ;;
esac
""",
    )
    assert tool == NpuTool("25.5.1", ("Ascend910B4", "Ascend310P3"), 3)
    assert len(log.read_text().splitlines()) == 4


# --- missing libraries


def test_every_library_of_systems_is_known() -> None:
    """Other tools have libgomp.so.1 as well."""
    rows = tomli.loads((REPOSITORY / "matrices" / "systems.toml").read_text("utf-8"))["component"]
    libraries = {*rows["cann"]["libraries"], *rows["hdk"]["libraries"]} - {"libgomp.so.1"}
    error = "{}: cannot open shared object file: No such file or directory"
    assert {missing_library(error.format(name)) for name in libraries} == libraries


@pytest.mark.parametrize(
    "name", ["libgomp.so.1", "libtorch.so", "libplatform_x.so", "libcudart.so.12", "libgetopt.so"]
)
def test_library_of_others_is_not_the_vendors(name: str) -> None:
    assert missing_library(f"{name}: cannot open shared object file") == ""


# --- the target that a machine would be

A3 = """#!/bin/bash
case "$*" in
"info -m") echo "  4  1  0  Ascend910" ;;
"info -t board -i 4") echo "	Software Version : 25.5.1" ;;
"info -t board -i 4 -c 1") printf "	Chip Name : Ascend910\n	NPU Name : 9392\n" ;;
esac
"""


def machine(installation: Installation) -> Machine:
    return this_machine(installation.environ, str(installation.root))


def test_init_reads_this_machine(installation: Installation) -> None:
    """Without a file of the driver, npu-smi tells its version. What is unknown is empty."""
    npu_smi(installation, A3)
    here = (
        ".".join(platform.python_version_tuple()[:2]),
        f"linux-{MACHINE}",
        platform.libc_ver()[1],
    )
    assert machine(installation) == Machine(*here, "8.5.0", "25.3.rc1", "A3")
    (installation.root / "driver" / "version.info").unlink()
    assert machine(installation).driver == "25.5.1"
    nowhere = str(installation.root / "nowhere")
    assert this_machine({"PATH": nowhere, "HOME": nowhere}, nowhere) == Machine(*here, "", "", "")


@pytest.mark.parametrize("name", ["cann", "ascend-toolkit/latest", "home/Ascend/cann"])
def test_init_takes_the_current_cann_without_an_active_one(
    installation: Installation, name: str
) -> None:
    del installation.environ["ASCEND_HOME_PATH"]
    assert machine(installation).toolkit == ""
    (installation.root / name).parent.mkdir(parents=True, exist_ok=True)
    (installation.root / name).symlink_to(installation.home)
    assert machine(installation).toolkit == "8.5.0"


def test_init_takes_the_active_cann_first(
    installation: Installation,
) -> None:
    (installation.root / "cann").symlink_to(installation.home)
    installation.write(f"other/{RECORD}", "version=9.1.0\n")
    installation.environ["ASCEND_HOME_PATH"] = str(installation.root / "other")
    assert machine(installation).toolkit == "9.1.0"
    installation.write(f"other/{RECORD}", "version=nine\n")
    assert machine(installation).toolkit == ""
