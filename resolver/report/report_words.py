"""Every word of `report.md` and `report.zh.md`."""

from __future__ import annotations

from typing import Final

from resolver.report.words import Counted, Words

TITLE: Final = Words("# {stack}: {summary}", "# {stack}：{summary}")
OTHER: Final = Words("[中文](report.zh.md)", "[English](report.md)")
COMPONENT: Final = Words(", {name} {version}", "，{name} {version}")
OLDEST: Final = Words(", {name} {version} or newer", "，{name} {version} 或更新版本")
TARGET: Final = Words(
    "Locked for {platform}, Python {python}, glibc {glibc} or newer{system}.",
    "锁定的目标：{platform}，Python {python}，glibc {glibc} 或更新版本{system}。",
)
INSTEAD: Final = Words("Instead of: {source}.", "所取代的指南：{source}。")
SIZE: Final = Words(
    "{pins} in {stages}, {wheels} and {builds}; every file by sha256{git}.",
    "{pins}，分 {stages}，其中 {wheels}、{builds}；每个文件都固定 sha256{git}。",
)
BY_COMMIT: Final = Words(", what comes from git by its commit", "，来自 git 的固定 commit")
PINS: Final = Counted("{count} distribution", "{count} distributions", "{count} 个软件包")
STAGES: Final = Counted("{count} stage", "{count} stages", "{count} 个阶段")
WHEELS: Final = Counted("{count} wheel", "{count} wheels", "{count} 个 wheel")
BUILDS: Final = Counted("{count} source build", "{count} source builds", "{count} 个从源码构建")


def _packages(deb: str, rpm: str, variable: str = "") -> Words:
    english, chinese = (f"; or set {variable}", f"；也可用变量 {variable} 指定") if variable else ("", "")
    commands = f"apt-get install {deb}", f"dnf install {rpm}"
    return Words(f"{commands[0]}, or {commands[1]}{english}", f"{commands[0]}，或 {commands[1]}{chinese}")


# What a build from source needs of the machine, by its name in facts: what it is, and how it gets there
MACHINE_NEEDS: Final = {
    "c": (Words("a C compiler", "C 编译器"), _packages("gcc", "gcc", "CC")),
    "c++": (Words("a C++ compiler", "C++ 编译器"), _packages("g++", "gcc-c++", "CXX")),
    "python-headers": (
        Words("the header files of Python", "Python 的头文件"),
        _packages("python{python}-dev", "python3-devel"),
    ),
    **{name: (Words(name, name), _packages(name, name)) for name in ("cmake", "make", "git")},
}
EXTERNAL: Final = Words(
    "Building from source needs of the machine: {needs}.", "从源码构建时，目标机器必须有：{needs}。"
)
EXTERNAL_FOR: Final = Words("{what} ({names})", "{what}（{names}）")

WARNINGS: Final = Words("Warnings", "警告")
NOTES: Final = Words("Lines of the stack that do not apply to this target", "软件栈中不适用于此目标的各行")

GIT: Final = Words("Projects from git", "来自 git 的项目")
GIT_SAID: Final = Words(
    "pip's hash mode does not support repositories, so these are in no requirements file: install.sh fetches "
    "the commit, and git checks every file against it.",
    "pip 的哈希模式不支持代码仓库，因此这些项目不在任何 requirements 文件中："
    "由 install.sh 取得 commit，git 据此核对每个文件。",
)
GIT_HEAD: Final = (
    Words("project", "项目"),
    Words("repository, commit", "仓库，commit"),
    Words("what is done in it", "在其中所做的"),
    Words("its requirements were", "它的依赖"),
)
ON_TRUST: Final = Words("taken on trust", "未经核实")
AT_COMMIT: Final = Words("read at the commit", "读自该 commit")
SUBMODULE: Final = Words("submodule {path} ({place})", "子模块 {path}（{place}）")
MOVES: Final = Words("{move} is renamed to {to}", "{move} 改名为 {to}")
COMMENTS: Final = Words("lines of {path} that match {comment} are commented out", "注释掉 {path} 中含 {comment} 的行")
RUNS: Final = Words("{command} is run", "运行 {command}")
MAKES: Final = Words("{command} builds {wheels}", "{command} 构建 {wheels}")
EDITABLE: Final = Words("editable", "可编辑安装（editable）")
REWRITES: Final = Words("rewrites installed files of {names}", "改写 {names} 已安装的文件")
SEMICOLON: Final = Words("; ", "；")
COMMA: Final = Words(", ", "、")

ABSENT: Final = Words("Must not be installed", "不得安装的软件包")
ABSENT_SAID: Final = Words("install.sh removes it.", "install.sh 会将其删除。")
ABSENT_HEAD: Final = (Words("project", "项目"), Words("why", "原因"), Words("according to", "依据"))

CHANGES: Final = Words("Changes since the previous lock", "与上一版锁文件的差异")
FIRST: Final = Words("There is no previous lock; this is the first.", "此前没有锁文件，这是第一版。")
NO_CHANGE: Final = Words("No pin changed.", "没有版本变化。")
CHANGES_HEAD: Final = (Words("project", "项目"), Words("before", "原版本"), Words("now", "现版本"))
CAME: Final = Words("(new)", "（原先没有）")
GONE: Final = Words("(removed)", "（已移除）")

DEPARTS: Final = Words("Departures from the guide", "与指南的不同之处")
DEPARTS_HEAD: Final = (Words("guide", "指南"), Words("here", "此处"), Words("why", "原因"))

OVERRIDES: Final = Words("Overridden upstream metadata", "被覆盖的上游元数据")
OVERRIDES_HEAD: Final = (
    Words("project", "项目"),
    Words("requirement removed", "去掉的依赖"),
    Words("by", "依据"),
)

STAGE: Final = Words("Stage {number}: {title}", "第 {number} 阶段：{title}")
APART: Final = Words("Separate build environment", "独立的构建环境")
APART_FOR: Final = Words("Separate build environment for {names}", "构建 {names} 的独立环境")
AND: Final = Words(" and ", "、")
APART_SAID: Final = Words(
    "Installed by hash to build source archives, then deleted.", "按哈希安装，用于构建源码包，用后即删除。"
)
PIN_HEAD: Final = (Words("project", "项目"), Words("version", "版本"), Words("how", "方式"))
INDEX_HEAD: Final = Words("index", "软件源")
WHY_HEAD: Final = Words("why", "理由")
MODES: Final = {
    "wheels": Words("wheel", "wheel"),
    "built-apart": Words("source, built in a separate environment", "源码，在独立的环境中构建"),
    "built-here": Words("source, built in the environment", "源码，在此环境中构建"),
}
GIT_MODES: Final = {
    "built-apart": Words("git, built in a separate environment", "git，在独立的环境中构建"),
    "built-here": Words("git, built in the environment", "git，在此环境中构建"),
}
MORE: Final = Words("; and {count} more", "；另有 {count} 条")

EXPORTS: Final = Words("Environment variables", "环境变量")
EXPORTS_SAID: Final = Words(
    "activate.sh sets them after activating CANN and the environment; optional ones are in it as comments.",
    "activate.sh 在引入 CANN 和虚拟环境之后设置它们；可选的以注释形式写在其中。",
)
EXPORTS_HEAD: Final = (Words("variable", "变量"), Words("value", "值"), Words("how", "方式"), Words("why", "原因"))
OPTIONAL: Final = Words("optional", "可选")
SET: Final = Words("set", "设置")

FACTS: Final = Words("Facts this lock rests on", "此锁文件所依据的事实")
FACTS_HEAD: Final = (
    Words("fact", "事实"),
    Words("strength", "强度"),
    Words("reason", "理由"),
    Words("source", "出处"),
)
STRENGTHS: Final = {
    "enforced": Words("enforced", "强制"),
    "vendor": Words("vendor", "厂商"),
    "documented": Words("documented", "文档"),
    "observed": Words("observed", "实测"),
    "practice": Words("practice", "惯例"),
}
CITED: Final = Words("{what}, {where}", "{what}，{where}")
CHECKED: Final = Words("{what} (checked {date})", "{what}（核对于 {date}）")
INPUTS: Final = Words("Inputs: sha256 {digest}", "输入的摘要：sha256 {digest}")
