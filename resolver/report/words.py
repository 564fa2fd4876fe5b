"""Every word that `lock` and `check` print on a terminal, in both languages."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from resolver.model.text import Language

# Chinese has no space after full-width punctuation or between two characters, whatever values begin and end with.
_NO_SPACE = "(?<=[）：，。；、]) +|(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])"  # compiled when needed


class Words(NamedTuple):
    """One text in both languages; call it with a language and the values of its placeholders."""

    en: str
    zh: str

    def __call__(self, language: Language, **values: object) -> str:
        """The text. Raises if a placeholder has no value."""
        if language == "en":
            return self.en.format(**values)
        return re.sub(_NO_SPACE, "", self.zh.format(**values))


class Counted(NamedTuple):
    """A text with a singular and a plural in English, and in Chinese where `zh_many` is given. Has a `count`."""

    one: str
    many: str
    zh: str
    zh_many: str = ""

    def __call__(self, language: Language, count: int, **values: object) -> str:
        """The text for this count."""
        text = Words(self.one, self.zh) if count == 1 else Words(self.many, self.zh_many or self.zh)
        return text(language, count=count, **values)


COMMA: Final = Words(", ", "、")

LOCKED: Final = Words("Locked {stack} for {target}: {size}{sources}", "已锁定 {stack}，目标 {target}：{size}{sources}")
DISTRIBUTIONS: Final = Counted(
    "{count} distribution in {stages}", "{count} distributions in {stages}", "{count} 个软件包，{stages}"
)
STAGES: Final = Counted("{count} stage", "{count} stages", "{count} 个阶段")
BUILT: Final = Words(", {count} of them built from source ({names})", "，其中 {count} 个从源码构建（{names}）")
UNCHANGED: Final = Words("Nothing changed in {folder}.", "没有变化：{folder} 保持原样。")
NO_PIN_CHANGED: Final = Words("Written to {folder}; no pin changed.", "已写入 {folder}；没有版本变化。")
FIRST: Final = Words("Written to {folder}, which had no lock before.", "已写入 {folder}，此前没有锁文件。")
MOVED: Final = Counted(
    "Written to {folder}; {count} pin changed: {moves}",
    "Written to {folder}; {count} pins changed: {moves}",
    "已写入 {folder}；{count} 个版本有变化：{moves}",
)
MORE_MOVES: Final = Words(", and {count} more", "，另有 {count} 个")
MOVE: Final = Words("{name} {old} -> {new}", "{name} {old} -> {new}")
CAME: Final = Words("{name} {version} (new)", "{name} {version}（新增）")
GONE: Final = Words("{name} {version} (removed)", "{name} {version}（移除）")
WARNINGS: Final = Counted("{count} warning", "{count} warnings", "{count} 条警告")
SOME_TOLD: Final = Words(", {count} of them shown above", "，其中 {count} 条见上文")
ALL_TOLD: Final = Words(", all shown above", "，均见上文")
NOTES: Final = Words("Not for this target:", "不适用于此目标：")
COLON: Final = Words(":", "：")
STOP: Final = Words(".", "。")

NEXT: Final = Words("Next:", "下一步：")
READ: Final = Words("  read     {folder}/report.md", "  阅读  {folder}/report.zh.md")
TRY: Final = Words(
    "  try      {folder}/install.sh --dry-run   on the target, in a fresh environment",
    "  试行  {folder}/install.sh --dry-run   在目标机器上，在新的环境中",
)
INSTALL: Final = Words("  install  {folder}/install.sh", "  安装  {folder}/install.sh")
USE: Final = Words(
    "  use      . {folder}/activate.sh   in bash, with the environment active",
    "  使用  . {folder}/activate.sh   在 bash 中，环境已激活",
)

HEADINGS: Final = (
    Words("stack", "软件栈"),
    Words("target", "目标"),
    Words("seconds", "秒"),
    Words("changes", "变化"),
    Words("outcome", "结果"),
)
PINS: Final = Counted("{count} pin", "{count} pins", "{count} 个版本")
NO_CHANGE: Final = Words("none", "无")
FIRST_LOCK: Final = Words("first lock", "首次锁定")
ROW_LOCKED: Final = Words("locked, {pins}", "已锁定，{pins}")
ROW_WARNED: Final = Words(", {warnings}", "，{warnings}")
ROW_CONFLICT: Final = Words("no solution; report written", "无解；已写报告")
ROW_CONFLICT_BEFORE: Final = Words("no solution, as before; report written", "仍然无解；已写报告")
ROW_UNDECIDED: Final = Words(
    "undecided: {names} could not be reached; report written", "尚无定论：无法访问 {names}；已写报告"
)
ROW_FAILED: Final = Words("failed: {message}", "失败：{message}")
KINDS: Final = {
    "locked": Words("{count} locked", "{count} 个已锁定"),
    "without a solution": Words("{count} without a solution", "{count} 个无解"),
    "undecided": Words("{count} undecided", "{count} 个尚无定论"),
    "failed": Words("{count} failed", "{count} 个失败"),
}
STACKS: Final = Counted("{count} stack", "{count} stacks", "{count} 个软件栈")
TARGETS: Final = Counted("{count} target", "{count} targets", "{count} 个目标")
TOTAL: Final = Words("{stacks}, {targets}: {told}", "{stacks}，{targets}：{told}")
FAILURE_OF: Final = Words("{stack} for {target}", "{stack}，目标 {target}")
NOTHING_APPLIES: Final = Words(
    "nothing of {stack} applies to {target}, so there is nothing to lock",
    "{stack} 中没有任何内容适用于目标 {target}，没有什么可以锁定",
)
NOTHING_APPLIES_WHY: Final = Words("its `requires` names no project", "它的 `requires` 没有列出任何项目")
NOTHING_APPLIES_HINT: Final = Words(
    "correct the markers in `requires`, or remove the target from the stack",
    "请更正 `requires` 中的标记（marker），或从软件栈中删去该目标",
)

CHECKED: Final = Words("{stack} for {target}: {state}", "{stack}，目标 {target}：{state}")
CHECKED_ALIKE: Final = Words("{stack} for {count} targets: {state}", "{stack}，{count} 个目标：{state}")
CHECKED_NOT: Final = Words("{stack}: {failed}", "{stack}：{failed}")
HINT: Final = Words("hint: {command}", "提示：{command}")
# What `check` finds; the English is also in its JSON.
STATES: Final = (
    Words("current", "是最新的"),
    Words("no lock, as its report says", "没有锁，与其报告一致"),
    Words("the stack or the facts have changed since the conflict was reported", "自报告冲突以来，软件栈或事实有变化"),
    Words("there is no lock", "没有锁文件"),
    Words("the stack or the facts have changed since the lock was made", "自锁定以来，软件栈或事实有变化"),
    Words("files next to lock.toml do not match it", "lock.toml 旁的文件与其内容不符"),
    Words("the lock has the conflict markers of a merge", "锁文件中有合并冲突的标记"),
)

FILES: Final = Counted("{count} file", "{count} files", "{count} 个文件")
FAULTS: Final = Counted("{count} fault", "{count} faults", "{count} 处问题")
BUNDLED: Final = Words(
    "{folder} holds the {files} ({size}) of {served}; {fetched} downloaded now.",
    "{folder} 中有 {files}（{size}），供 {served} 使用；本次下载了 {fetched}。",
)
SERVED: Final = Words("{stack} for {target}", "{stack}（目标 {target}）")
PRUNED: Final = Words("Removed, no lock needs it: {name}", "已删除，没有锁文件需要它：{name}")
LEFT: Final = Words(
    "No longer needed by any lock (--prune removes it): {name}", "不再被任何锁文件需要（--prune 可删除）：{name}"
)
LOCKS: Final = Counted("{count} lock", "{count} locks", "{count} 个锁文件")
NOT_BUNDLED: Final = Words(
    "{locks} of this run could not be bundled, see the errors; the same command tries again.",
    "本次有 {locks}未能打包，见错误信息；再次执行同一命令会重试。",
)
COPY: Final = Words(
    "Next: copy {folder} to the target and run {name}/install.sh there.",
    "下一步：将 {folder} 复制到目标机器，并在那里运行 {name}/install.sh。",
)
WHOLE: Final = Words(
    "{folder}: {files} ({size}), all match {manifest}", "{folder}：{files}（{size}），均与 {manifest} 一致"
)
DAMAGED: Final = Words("{folder} is damaged: {faults}", "{folder} 已损坏：{faults}")
STRAY: Final = Words("{name} belongs to no lock of the bundle", "{name} 不属于此离线包中的任何锁文件")
BUNDLE_AGAIN: Final = Words("hint: on a machine with network access: {command}", "提示：在有网络的机器上执行 {command}")

CACHE_CLEARED: Final = Words("Removed {size} from {folder}.", "已从 {folder} 清除 {size}。")
WRITTEN_TO: Final = Words("Written to {path}", "已写入 {path}")
WARNING: Final = Words("warning: {message}", "警告：{message}")
EXPORTED_OLD: Final = Words(
    "the stack or the facts have changed since {stack} was locked; the existing lock is exported unchanged",
    "自锁定 {stack} 以来，软件栈或事实有变化；按原样导出其锁文件",
)
AND: Final = Words(" and ", "、")
NOT_FOLLOWED: Final = Words(
    "pip's {options} setting is ignored, so {names} was not looked up there; use [[index]] and [[binding]] rows to "
    "name other sources for a project (docs/indexes.md)",
    "不采用 pip 的 {options} 设置，因此没有在那里查找 {names}；项目来自其他软件源时，请用 [[index]] 和 [[binding]] 写明"
    "（docs/indexes.md）",
)
NOT_A_PYLOCK: Final = Words(
    "pip and uv do not recognise {name} as a pylock.toml: name it `pylock.toml` or `pylock.NAME.toml`",
    "pip 和 uv 不会把 {name} 当作 pylock.toml：文件名应为 `pylock.toml` 或 `pylock.名称.toml`",
)
LEFT_OUT_BUILT: Final = Words(
    "pylock.toml leaves out {names}: built from source in the environment itself, which the format cannot express; "
    "install.sh installs it",
    "pylock.toml 不包含 {names}：它在目标环境中从源码构建，这种格式无法表达；请由 install.sh 安装",
)
LEFT_OUT_GIT: Final = Words(
    "pylock.toml leaves out {names}: from git, which pip does not accept together with hashed files; install.sh "
    "installs it",
    "pylock.toml 不包含 {names}：它来自 git，pip 不接受它与带哈希的文件并用；请由 install.sh 安装",
)
BUILT_UNPINNED: Final = Words(
    "{names}: source archives, which an installer builds with unpinned tools that it downloads; install.sh builds "
    "them with the tools pinned in the lock",
    "{names}：源码包，安装程序会用自行下载、未固定版本的工具构建；install.sh 则使用锁文件中的工具",
)
TAKEN_OUT: Final = Words(
    "facts remove requirements stated in metadata: install with --no-deps, see report.md",
    "事实去掉了元数据中的部分依赖：请用 --no-deps 安装，详见 report.zh.md",
)

FACTS_LEFT_OUT: Final = Counted(
    "hint: {count} fact that holds or was not checked is not shown; to see it: ascend-lock facts check {arguments}",
    (
        "hint: {count} facts that hold or were not checked are not shown; to see them: ascend-lock facts check "
        "{arguments}"
    ),
    "提示：有 {count} 条成立或未核对的事实没有逐条列出，查看请运行：ascend-lock facts check {arguments}",
)

SEMICOLON: Final = Words("; ", "；")
ALSO: Final = Words(", ", "，")
GOING_ON: Final = Words("{label}: {done}", "{label}：{done}")
PACKAGES: Final = Counted("{count} package", "{count} packages", "{count} 个软件包")
STEPS: Final = Counted("{count} step", "{count} steps", "{count} 步")
REQUESTS: Final = Counted("{count} request, {size} MB", "{count} requests, {size} MB", "{count} 次请求，{size} MB")
OF: Final = Words("{part} of {whole}", "{part} / {whole}")
TRANSFER: Final = Words("{size} MB, {rate} MB/s", "{size} MB，{rate} MB/s")
LOCKING: Final = Words("locking {stack} for {target}", "正在锁定 {stack}，目标 {target}")
SOLVING: Final = Words("solving {stack} for {target}", "正在求解 {stack}，目标 {target}")
WAYS_OUT: Final = Words(
    "looking for ways out for {stack}, target {target}", "正在为 {stack} 查找解决办法，目标 {target}"
)
FIRST_WAY_OUT: Final = Words(
    "looking for more ways out for {stack}, target {target}; a first one is: {way}",
    "正在为 {stack} 查找更多解决办法，目标 {target}；第一个是：{way}",
)
ASKING: Final = Words("looking up the file addresses of {stack}", "正在查询 {stack} 各文件的地址")
COMPARING: Final = Words("checking the files already in {folder}", "正在核对 {folder} 中已有的文件")
LOOKING_UP: Final = Words("looking up {files}", "正在查找 {files}")
BUNDLING: Final = Words("bundling into {folder}", "正在下载到 {folder}")
LOOKING_AT: Final = Words("checking {fact}", "正在核对 {fact}")
ASKING_INDEXES: Final = Words(
    "comparing {stack} for {target} with its indexes", "正在将 {stack}（目标 {target}）与软件源核对"
)
OFFLINE: Final = Words("offline: using the snapshot of {day} ({path})", "离线：使用 {day} 的快照（{path}）")
REPLACED: Final = Words(
    "{file} is not the file that was locked before: its sha256 was {was} and is now {now}.\n"
    "hint: an index that replaces a file under the same name may have been compromised; find out why before you "
    "install it",
    "{file} 与之前锁定的不是同一个文件：原 sha256 为 {was}，现在是 {now}。\n"
    "提示：软件源以同名文件替换原有文件，可能已被入侵；安装前请先查明原因",
)
