"""Every sentence of verify.py, in both languages: what differs, why it matters, how to fix it.

`what`, `why` and `mend` are pairs of English and Chinese with the same
placeholders. A fix that is a command says it once.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One thing that can be wrong. A warning does not fail."""

    what: tuple[str, str]
    why: tuple[str, str]
    mend: tuple[str, str]
    warning: bool = False


def _both(text: str) -> tuple[str, str]:
    return (text, text)


_FRESH = _both("{fresh}")
_WHOSE = (
    "of {count} files that differ, {theirs} are now from {other} and {ours} from {owner}",
    "在 {count} 个不同的文件中，{theirs} 个现在来自 {other}，{ours} 个来自 {owner}",
)
_DRIVER = (
    "install driver and firmware that meet {asked} on the machine (a container uses its host's) and restart it",
    "在机器上安装满足 {asked} 的驱动和固件（容器使用宿主机的驱动）并重启",
)

CASES: dict[str, Case] = {
    # --- the machine
    "system-differs": Case(
        ("this is {found}, but the lock is for Linux", "本机系统是 {found}，而锁文件面向 Linux"),
        ("its files are built for Linux", "其中的文件都是为 Linux 构建的"),
        ("run this on the machine that the lock is for", "请在锁文件面向的机器上运行"),
    ),
    "processor-differs": Case(
        ("this machine is {found}, but the lock is for {wanted}", "本机处理器架构是 {found}，而锁文件面向 {wanted}"),
        ("the lock's compiled files run only on {wanted}", "锁文件中编译好的文件只能在 {wanted} 上运行"),
        (
            (
                'run this on the machine that the lock is for, or set platform = "linux-{found}" in the stack\'s '
                "target and lock again"
            ),
            '请在锁文件面向的机器上运行；或为本机锁定：在软件栈的目标中设置 platform = "linux-{found}"',
        ),
    ),
    "glibc-missing": Case(
        ("the C library is not glibc", "C 库不是 glibc"),
        ("the lock's wheels need glibc {wanted} or newer", "锁文件中的 wheel 需要 glibc {wanted} 或更新版本"),
        ("use a system with glibc", "请使用带 glibc 的系统"),
    ),
    "glibc-old": Case(
        (
            "glibc is {found}, but the lock needs {wanted} or newer",
            "glibc 是 {found}，而锁文件需要 {wanted} 或更新版本",
        ),
        (
            "the lock's compiled files may use functions that an older glibc lacks",
            "锁文件中编译好的文件可能用到旧版 glibc 没有的函数",
        ),
        (
            'set glibc = "{found}" in the stack\'s target and lock again',
            '在软件栈的目标中设置 glibc = "{found}" 并重新锁定',
        ),
    ),
    # --- Python
    "python-differs": Case(
        (
            "{python} is Python {found}, but the lock is for {wanted}",
            "{python} 是 Python {found}，而锁文件面向 {wanted}",
        ),
        (
            "wheels with compiled modules work with only one minor version of CPython",
            "含编译模块的 wheel 只适用于一个 CPython 版本",
        ),
        _FRESH,
    ),
    "python-shared": Case(
        ("{python} is not in a virtual or conda environment", "{python} 不在虚拟环境或 conda 环境中"),
        ("other programs share these distributions and may change them", "其他程序共用并可能改动这些软件包"),
        _FRESH,
        warning=True,
    ),
    "environment-other": Case(
        (
            "{python} has {found} of the lock's {count} distributions",
            "{python} 中只有锁文件 {count} 个软件包中的 {found} 个",
        ),
        (
            "this is not the environment that install.sh installed into, or the installation did not finish",
            "它不是 install.sh 建立的环境，或者安装没有完成",
        ),
        (
            "activate that environment, or pass --python PATH; to install it: {install}",
            "激活该环境，或用 --python PATH 指明；若要安装：{install}",
        ),
    ),
    # --- CANN
    "cann-inactive": Case(
        ("CANN is not active: ASCEND_HOME_PATH is not set", "CANN 未激活：ASCEND_HOME_PATH 未设置"),
        ("torch_npu finds CANN's libraries through it", "torch_npu 靠它找到 CANN 的库"),
        ("install CANN {wanted}, then source its set_env.sh", "安装 CANN {wanted}，然后 source 它的 set_env.sh"),
    ),
    "cann-gone": Case(
        (
            "the active CANN is not there: {variable} is {home}, which is no folder",
            "已激活的 CANN 不存在：{variable} 是 {home}，没有这个目录",
        ),
        ("it was moved or removed after set_env.sh was sourced", "source set_env.sh 之后，它被移动或删除了"),
        ("source the set_env.sh of CANN {wanted} in a new shell", "在新的 shell 中 source CANN {wanted} 的 set_env.sh"),
    ),
    "cann-half-active": Case(
        (
            "ASCEND_TOOLKIT_HOME is {home}, but ASCEND_HOME_PATH is not set",
            "ASCEND_TOOLKIT_HOME 是 {home}，但 ASCEND_HOME_PATH 未设置",
        ),
        (
            "torch_npu finds CANN's libraries through ASCEND_HOME_PATH and cannot be imported without",
            "torch_npu 靠 ASCEND_HOME_PATH 找到 CANN 的库，缺少它就无法导入",
        ),
        ("source CANN's set_env.sh, which sets both", "source CANN 的 set_env.sh，它会设置这两个变量"),
        warning=True,
    ),
    "cann-unreadable": Case(
        (
            "the CANN release in {home} could not be read from {path}: {why}",
            "无法从 {path} 读出 {home} 中 CANN 的版本：{why}",
        ),
        (
            "it is unknown whether this is {wanted}, and the installation may be incomplete",
            "无法判断它是否为 {wanted}，安装也可能不完整",
        ),
        (
            "source the set_env.sh of CANN {wanted}, or reinstall it if this is its folder",
            "source CANN {wanted} 的 set_env.sh；若这正是它的目录，则重新安装",
        ),
    ),
    "cann-file-unreadable": Case(
        ("the CANN version file {path} could not be read: {why}", "无法读取 CANN 的版本文件 {path}：{why}"),
        ("the installation may be incomplete", "安装可能不完整"),
        ("reinstall that part of CANN", "重新安装 CANN 的这一部分"),
        warning=True,
    ),
    "cann-differs": Case(
        (
            "CANN is {found}, but the lock is for {wanted} (active: {home})",
            "CANN 是 {found}，而锁文件面向 {wanted}（已激活：{home}）",
        ),
        (
            "torch_npu and the packages that use it are built for specific CANN releases",
            "torch_npu 及其上层的包只针对特定的 CANN 版本构建",
        ),
        (
            'install and activate CANN {wanted}, or set cann = "{found}" in the stack\'s target and lock again',
            '安装并激活 CANN {wanted}，或在软件栈的目标中设置 cann = "{found}" 并重新锁定',
        ),
    ),
    "cann-parts-differ": Case(
        (
            "CANN is {found}, but parts of it are from a different release: {list} ({count} in all)",
            "CANN 是 {found}，但有些部分是另一个版本：{list}（共 {count} 个）",
        ),
        (
            "operators and libraries of different releases fail at run time when they are mixed",
            "不同版本的算子与库混用会在运行时失败",
        ),
        (
            "reinstall the toolkit, operators and NNAL of CANN {found}",
            "重新安装 CANN {found} 的 toolkit、算子包和 NNAL",
        ),
    ),
    "nnal-differs": Case(
        ("NNAL is {found}, but CANN is {wanted} ({path})", "NNAL 是 {found}，而 CANN 是 {wanted}（{path}）"),
        ("NNAL must be the same release as the toolkit", "NNAL 必须与 toolkit 版本相同"),
        ("install Ascend-cann-nnal {wanted}", "安装 Ascend-cann-nnal {wanted}"),
    ),
    # --- HDK
    "hdk-missing": Case(
        ("no driver (HDK) was found: {path} does not exist", "未找到驱动（HDK）：{path} 不存在"),
        ("the lock is for {wanted} or newer", "锁文件面向 {wanted} 或更新版本"),
        (
            "install HDK {wanted} or newer; in a container, mount /usr/local/Ascend/driver",
            "安装 HDK {wanted} 或更新版本；在容器中请挂载 /usr/local/Ascend/driver",
        ),
    ),
    "hdk-unreadable": Case(
        (
            "the version of the driver (HDK) could not be read from {path}: {why}",
            "无法从 {path} 读出驱动（HDK）版本：{why}",
        ),
        ("it is unknown whether this is {wanted} or newer", "无法判断它是否为 {wanted} 或更新版本"),
        ("reinstall the driver, HDK {wanted} or newer", "重新安装驱动，HDK {wanted} 或更新版本"),
    ),
    "hdk-file-unreadable": Case(
        (
            "the version of the driver (HDK) could not be read from {path}: {why}",
            "无法从 {path} 读出驱动（HDK）版本：{why}",
        ),
        ("the installation may be incomplete", "安装可能不完整"),
        ("reinstall the driver", "重新安装驱动"),
        warning=True,
    ),
    "hdk-old": Case(
        (
            "the driver (HDK) is {found}, but the lock is for {wanted} or newer ({path})",
            "驱动（HDK）是 {found}，而锁文件面向 {wanted} 或更新版本（{path}）",
        ),
        ("an older driver may lack what the stack uses", "旧驱动可能缺少软件栈用到的功能"),
        (
            (
                "install HDK {wanted} or newer on the machine (a container uses its host's) and restart it, or set "
                'hdk = "{found}" in the stack\'s target and lock again'
            ),
            (
                "在机器上安装 HDK {wanted} 或更新版本（容器使用宿主机的驱动）并重启；"
                '或在软件栈的目标中设置 hdk = "{found}" 并重新锁定'
            ),
        ),
    ),
    "hdk-refused": Case(
        (
            "the driver (HDK) is {found}, and {by} needs {asked} ({path})",
            "驱动（HDK）是 {found}，而 {by} 需要 {asked}（{path}）",
        ),
        _both("{reason}"),
        _DRIVER,
    ),
    "hdk-unmet": Case(
        (
            "the driver (HDK) is {found}, and {by} asks for {asked} ({path})",
            "驱动（HDK）是 {found}，而 {by} 要求 {asked}（{path}）",
        ),
        _both("{reason}"),
        _DRIVER,
        warning=True,
    ),
    "hdk-not-running": Case(
        (
            "{path} says the driver is {found}, but npu-smi says {running}",
            "{path} 中的驱动是 {found}，而 npu-smi 显示 {running}",
        ),
        ("a new driver takes effect only after a restart", "新驱动在重启后才会运行"),
        ("restart the machine", "重启机器"),
        warning=True,
    ),
    # --- SoC and NPU
    "soc-unknown": Case(
        (
            "the SoC is unknown: npu-smi is missing, does not run or shows no NPU",
            "无法得知 SoC：没有 npu-smi，或它无法运行，或未显示 NPU",
        ),
        (
            "the lock's binaries and CANN's operators are for {wanted}",
            "锁文件中的二进制文件和 CANN 的算子面向 {wanted}",
        ),
        (
            (
                "run this on a machine with NPUs; in a container, pass the devices and mount npu-smi and "
                "/usr/local/Ascend/driver, whose lib64 npu-smi needs in LD_LIBRARY_PATH"
            ),
            (
                "请在有 NPU 的机器上运行；在容器中请映射 NPU 设备，并挂载 npu-smi 和 /usr/local/Ascend/driver"
                "（npu-smi 需要后者的 lib64 在 LD_LIBRARY_PATH 中）"
            ),
        ),
        warning=True,
    ),
    "soc-unnamed": Case(
        (
            "npu-smi reports the chip {chip}, which belongs to no known SoC family",
            "npu-smi 显示的芯片是 {chip}，不属于任何已知系列",
        ),
        (
            "the lock's binaries and CANN's operators are for {wanted}",
            "锁文件中的二进制文件和 CANN 的算子面向 {wanted}",
        ),
        (
            "compare the chip with component.soc in matrices/systems.toml",
            "请与 matrices/systems.toml 中的 component.soc 比较",
        ),
        warning=True,
    ),
    "soc-differs": Case(
        (
            "the SoC is {found} ({chip}), but the lock is for {wanted}",
            "SoC 是 {found}（{chip}），而锁文件面向 {wanted}",
        ),
        (
            "binaries and operators for another SoC load but fail when they run",
            "面向其他 SoC 的二进制文件和算子可以加载，但运行时会失败",
        ),
        (
            'set soc = "{found}" in the stack\'s target and lock again',
            '在软件栈的目标中设置 soc = "{found}" 并重新锁定',
        ),
    ),
    "npu-absent": Case(
        ("this machine has no NPU, so none was tested", "本机没有 NPU，因此未做测试"),
        ("only a test on an NPU shows whether torch_npu works", "只有在 NPU 上才能判断 torch_npu 能否工作"),
        ("run this on a machine with NPUs", "请在有 NPU 的机器上运行"),
        warning=True,
    ),
    "npu-failed": Case(
        ("a tensor computation on the NPU failed: {error}", "无法在 NPU 上计算张量：{error}"),
        ("nothing that uses torch_npu will work", "使用 torch_npu 的一切都无法工作"),
        ("see the full message: {command}", "查看完整信息：{command}"),
    ),
    "npu-wrong": Case(
        ("the sum of a test tensor on the NPU is {found} instead of 8.0", "NPU 上的求和结果是 {found}，应为 8.0"),
        ("operators for another SoC or release give wrong results", "其他 SoC 或版本的算子会算错"),
        ("check that CANN's operator package matches the SoC", "请核对 CANN 算子包与 SoC 是否匹配"),
    ),
    # --- distributions
    "distribution-missing": Case(
        (
            "missing {count} of the lock's {total} distributions: {list}",
            "锁文件的 {total} 个软件包中有 {count} 个未安装：{list}",
        ),
        ("programs that need them fail when they use them", "需要它们的程序会在使用时失败"),
        _both("{install}"),
    ),
    "distribution-differs": Case(
        ("{name} is {found}, but the lock has {wanted}", "{name} 是 {found}，而锁文件中是 {wanted}"),
        ("the lock's versions were resolved together", "锁文件中的版本是一起求解的"),
        _both("{install}"),
    ),
    "distribution-elsewhere": Case(
        ("{name} {wanted} was installed from a different source: {found}", "{name} {wanted} 的安装来源不同：{found}"),
        ("the version matches the lock, but the files may not", "版本与锁文件相同，文件却未必"),
        _both("{again}"),
    ),
    "distribution-editable": Case(
        ("{name} {wanted} is an editable installation of {found}", "{name} {wanted} 是 {found} 的可编辑安装"),
        ("its files are whatever that folder contains now", "它的文件取决于该目录当前的内容"),
        _both("{again}"),
    ),
    "distribution-conda": Case(
        ("{name} {wanted} was installed by conda", "{name} {wanted} 是由 conda 安装的"),
        (
            "it is conda's own build, not the lock's file, so its files were not compared",
            "它是 conda 构建的，不是锁文件中的文件，因此未做比较",
        ),
        _both("{again}"),
        warning=True,
    ),
    "distribution-twice": Case(
        ("{name} is installed twice: {one} and {other}", "{name} 存在两份：{one} 和 {other}"),
        ("an installation was interrupted, and files of both are mixed", "安装曾被中断，文件来自两份"),
        _both("{again} && {install}"),
    ),
    "distribution-leftover": Case(
        ("an interrupted installation left {path} behind", "一次中断的安装留下了 {path}"),
        ("pip warns about it every time; nothing uses it", "pip 每次都会警告；没有程序使用它"),
        _both("rm -r {path}"),
        warning=True,
    ),
    "distribution-unwanted": Case(
        ("{name} is installed but must not be: {reason}", "{name} 不应安装：{reason}"),
        ("the lock excludes it", "锁文件将其排除在外"),
        _both("{again}"),
    ),
    "distribution-extra": Case(
        ("not in the lock: {list} ({count} in all)", "不属于锁文件：{list}（共 {count} 个）"),
        (
            "the lock says nothing about them, and their files were not checked",
            "锁文件没有说明它们，它们带来的内容也未检查",
        ),
        ("", ""),
        warning=True,
    ),
    "metadata-broken": Case(
        ("{path} of {name} cannot be read: {why}", "无法读取 {name} 的 {path}：{why}"),
        ("pip and other tools cannot tell what is installed", "pip 等程序无法得知安装了什么"),
        _both("{remove}"),
    ),
    # --- files
    "record-missing": Case(
        ("{name} {version} has no RECORD in {folder}", "{name} {version} 在 {folder} 中没有 RECORD"),
        (
            "its files cannot be checked, and pip cannot uninstall it",
            "无法判断文件是否与安装时一致，pip 也无法卸载它",
        ),
        _both("rm -r {folder} && {install}"),
    ),
    "record-broken": Case(
        ("{path} of {name} {version} cannot be read: {why}", "无法读取 {name} {version} 的 {path}：{why}"),
        (
            "its files cannot be checked, and pip cannot uninstall it",
            "无法判断文件是否与安装时一致，pip 也无法卸载它",
        ),
        _both("rm -r {folder} && {install}"),
    ),
    "file-missing": Case(
        (
            "files of {name} {version} are missing: {list} ({count} in all)",
            "{name} {version} 缺少文件：{list}（共 {count} 个）",
        ),
        ("something removed or overwrote a part of it", "有程序删除或覆盖了它的一部分"),
        _both("{again}"),
    ),
    "file-changed": Case(
        (
            "files of {name} {version} were changed after installation: {list} ({count} in all)",
            "{name} {version} 的文件与安装时不同：{list}（共 {count} 个）",
        ),
        ("what runs is not what the lock pins", "实际运行的不是锁文件固定的内容"),
        _both("{again}"),
    ),
    "file-unreadable": Case(
        (
            "files of {name} {version} cannot be read: {list} ({count} in all)",
            "无法读取 {name} {version} 的文件：{list}（共 {count} 个）",
        ),
        ("they could not be compared", "无法比较它们"),
        _both("{again}"),
    ),
    # --- collisions
    "collision": Case(
        (
            "{other}, which is not in the lock, installs the same module `{module}` as {owner}: " + _WHOSE[0],
            "锁文件之外的 {other} 与 {owner} 都提供模块 `{module}`：" + _WHOSE[1],
        ),
        (
            "the one installed last takes effect, and uninstalling either breaks both",
            "后安装的一方生效，卸载任何一方都会破坏双方",
        ),
        ("", ""),
    ),
    "collision-order": Case(
        (
            "{other} and {owner} both install the module `{module}`, and {owner} must be installed last: " + _WHOSE[0],
            "{other} 与 {owner} 都提供模块 `{module}`，且 {owner} 必须最后安装：" + _WHOSE[1],
        ),
        ("the one installed last takes effect", "后安装的一方生效"),
        ("", ""),
    ),
    # --- requirements
    "requirement-broken": Case(
        ("pip check reports: {complaint}", "pip check 报告：{complaint}"),
        ("the lock's facts do not expect this", "锁文件中的事实没有预期这一点"),
        _both("{install}"),
    ),
    "pip-missing": Case(
        ("{python} has no pip, so pip check could not be run", "{python} 没有 pip，因此未运行 pip check"),
        ("it is unknown whether all requirements are met", "无法判断依赖是否都满足"),
        _both("{python} -m ensurepip"),
        warning=True,
    ),
    "pip-failed": Case(
        ("pip check failed: {error}", "pip check 运行失败：{error}"),
        ("it is unknown whether all requirements are met", "无法判断依赖是否都满足"),
        ("see the full message: {python} -I -m pip check", "查看完整信息：{python} -I -m pip check"),
    ),
    # --- imports
    "import-failed": Case(
        ("import {name} failed: {error}", "import {name} 失败：{error}"),
        ("the stack needs it", "软件栈需要它"),
        ("see the full message: {command}", "查看完整信息：{command}"),
    ),
    "import-without-cann": Case(
        (
            "import {name} failed: {library} of CANN or its driver was not found",
            "import {name} 失败：找不到 CANN 或其驱动的 {library}",
        ),
        (
            "it loads torch_npu, which is linked against CANN's libraries; LD_LIBRARY_PATH must include their folder",
            "该模块会加载 torch_npu，后者链接 CANN 的库，须由 LD_LIBRARY_PATH 指明其位置",
        ),
        (
            (
                "source the activate.sh next to this file and run this again; if it still fails, CANN or its driver "
                "lacks files"
            ),
            "source 与本文件同目录的 activate.sh 后重新运行；若仍失败，则 CANN 或其驱动缺少文件",
        ),
    ),
    "import-untried": Case(
        (
            "import {name} was not tested: this machine has no NPU and no {library} of CANN or its driver",
            "未能尝试 import {name}：本机没有 NPU，也没有 CANN 或其驱动的 {library}",
        ),
        ("it loads torch_npu, which is linked against that library", "该模块会加载 torch_npu，后者链接该库"),
        ("run this on a machine with NPUs", "请在有 NPU 的机器上运行"),
        warning=True,
    ),
    "import-died": Case(
        ("Python crashed on import {name}: {error}", "import {name} 时 Python 崩溃：{error}"),
        ("the stack needs it", "软件栈需要它"),
        ("see the full message: {command}", "查看完整信息：{command}"),
    ),
    "import-elsewhere": Case(
        (
            "import {name} loads {found}, which is not in this environment",
            "import {name} 得到的是 {found}，它不在此环境中",
        ),
        (
            "PYTHONPATH or the user's site-packages take precedence over the lock's files",
            "PYTHONPATH 或用户的 site-packages 优先于锁文件中的文件",
        ),
        (
            "unset PYTHONPATH, source CANN's set_env.sh again, and try PYTHONNOUSERSITE=1",
            "unset PYTHONPATH 后重新 source CANN 的 set_env.sh，并尝试 PYTHONNOUSERSITE=1",
        ),
    ),
}

TITLES: dict[str, tuple[str, str]] = {
    "machine": ("machine", "机器"),
    "python": _both("Python"),
    "cann": _both("CANN"),
    "hdk": ("driver (HDK)", "驱动 (HDK)"),
    "soc": _both("SoC"),
    "distributions": ("distributions", "软件包"),
    "files": ("files", "文件"),
    "collisions": ("collisions", "冲突"),
    "requirements": ("requirements", "依赖"),
    "imports": ("imports", "导入"),
    "npu": _both("NPU"),
}

NOTES: dict[str, tuple[str, str]] = {
    "": _both(""),
    "machine": _both("{system}, {machine}, glibc {glibc}"),
    "python": _both("{found} ({python})"),
    "cann": _both("{found} ({home})"),
    "hdk-any": ("{found}; the lock requires no particular version", "{found}；锁文件未指定版本"),
    "hdk-met": ("{found}; required: {asked}", "{found}；要求：{asked}"),
    "hdk-unseen": ("none found; required: {asked}", "未找到；要求：{asked}"),
    "hdk-none": ("none found; the lock requires none", "未找到；锁文件也未要求"),
    "soc": _both("{found} ({chip})"),
    "distributions": ("{count}, as locked", "{count} 个，与锁文件一致"),
    "files": (
        "{files} present with the right size, {compared} compared by hash",
        "{files} 个文件大小一致，其中 {compared} 个比较了哈希",
    ),
    "files-kept": (
        (
            "{files} present with the right size, {compared} compared by hash; not checked: {kept}, which the stack "
            "rewrites"
        ),
        "{files} 个文件大小一致，其中 {compared} 个比较了哈希；未检查 {kept}（软件栈会改写它们）",
    ),
    "collisions": ("none", "无"),
    "requirements": ("pip check reports no problem", "pip check 没有报告问题"),
    "requirements-but": (
        "pip check reports only problems that the lock expects ({count})",
        "pip check 只报告了锁文件预期之内的问题（{count} 个）",
    ),
    "imports": _both("{list}"),
    "npu": ("{count}, the first is {name}; tensor computation works", "{count} 个，第一个是 {name}；张量计算正常"),
}

STATES: dict[str, tuple[str, str]] = {
    "ok": ("ok", "正常"),
    "warning": ("warning", "警告"),
    "wrong": ("ERROR", "错误"),
}

LABELS: dict[str, tuple[str, str]] = {
    "head": ("{stack} for {target}", "{stack}，目标 {target}"),
    "wrong": ("error: {what}", "错误：{what}"),
    "warning": ("warning: {what}", "警告：{what}"),
    "why": ("   why: {why}", "  原因：{why}"),
    "mend": ("   fix: {mend}", "  修复：{mend}"),
    "because": ("{what}: {why}", "{what}：{why}"),
    "ended": (
        "Nothing else was checked: any other difference would only follow from this one.",
        "其余未检查：它们只会是由此引起的后果。",
    ),
    "as-locked": ("matches the lock (errors: 0, warnings: {warnings})", "与锁文件一致（错误：0，警告：{warnings}）"),
    "differs": (
        "differs from the lock (errors: {wrong}, warnings: {warnings})",
        "与锁文件不一致（错误：{wrong}，警告：{warnings}）",
    ),
}
