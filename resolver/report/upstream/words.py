"""Every word about what has happened to locks and facts upstream, in both languages."""

from __future__ import annotations

from resolver.audit.verdict import Saying, Verdict
from resolver.report.words import Counted, Words

# --- what indexes say about facts

VERDICTS = {
    Verdict.CONTRADICTED: Words("contradicted", "有矛盾"),
    Verdict.GONE: Words("gone", "已消失"),
    Verdict.UNMET: Words("unmet", "无法满足"),
    Verdict.HOLDS: Words("holds", "成立"),
    Verdict.UNCHECKED: Words("not checked", "未核对"),
}
SAYINGS = {
    Saying.CLASHES: Words(
        "{file} asks for {line}, but no release that matches `{need}` satisfies it",
        "{file} 要求 {line}，没有一个符合 `{need}` 的版本满足它",
    ),
    Saying.DIFFERS: Words("{where} has {theirs}, but the fact has {own}", "{where} 中是 {theirs}，而事实中是 {own}"),
    Saying.ASKS: Words("{file} itself asks for {line}", "{file} 本身要求 {line}"),
    Saying.IDLE: Words("{file} does not ask for {names}", "{file} 并不要求 {names}"),
    Saying.NEEDLESS: Words(
        "{file} permits what the practice does ({line}), so it is no longer needed",
        "{file} 已允许该惯例的做法（{line}），不再需要它",
    ),
    Saying.NO_ARCHIVE: Words("{releases}: no source archive", "{releases}：没有源码包"),
    Saying.NO_MEMBER: Words("{file} has no {member}", "{file} 中没有 {member}"),
    Saying.NO_EXTRA: Words("{file} has no extra `{extra}`", "{file} 没有 extra `{extra}`"),
    Saying.GIT_DIFFERS: Words("{address} contradicts it: {why}", "{address} 的内容不同：{why}"),
    Saying.NO_PROJECT: Words("no index has a project {project}", "没有软件源提供项目 {project}"),
    Saying.NO_RELEASE: Words("there is no release {what}", "不存在版本 {what}"),
    Saying.NOTHING_FITS: Words(
        "no index has a release that matches `{need}`, so {project} cannot be locked there",
        "没有软件源提供符合 `{need}` 的版本，因此无法锁定这里的 {project}",
    ),
    Saying.SILENT: Words("{file} does not mention `{need}`", "{file} 没有涉及 `{need}`"),
    Saying.AGREES: Words(
        "{file} asks for {line}, which is compatible with `{need}`", "{file} 要求 {line}，与 `{need}` 相容"
    ),
    Saying.SAYS_SO: Words(
        "{file} says so itself ({line}), so `{need}` repeats it",
        "{file} 本身就写明了（{line}），`{need}` 是重复",
    ),
    Saying.APART: Words("{file} does not ask for {other} itself", "{file} 自身不要求 {other}"),
    Saying.REPLACED: Words("{file} still asks for {line}", "{file} 仍然要求 {line}"),
    Saying.ARCHIVE: Words("there is an archive, {file}, with {member}", "有源码包 {file}，其中有 {member}"),
    Saying.SAME: Words("{where} says the same", "{where} 的内容相同"),
    Saying.THERE: Words("the index has {releases}", "软件源上有 {releases}"),
    Saying.BEYOND: Words("it also has {releases}, which the fact does not cover", "此外还有事实没有涉及的 {releases}"),
    Saying.GIT_AGREES: Words("{address} says the same", "{address} 的内容相同"),
    Saying.FAILED: Words("the index could not be reached: {why}", "无法访问软件源：{why}"),
    Saying.PASSED_OVER: Words(
        "`{index}`, which may have {what}, could not be reached", "无法访问可能提供 {what} 的 `{index}`"
    ),
    Saying.UNREADABLE: Words("{release} cannot be read: {why}", "无法读取 {release}：{why}"),
    Saying.NOT_STATIC: Words("{file} has no static metadata", "{file} 没有静态地写明任何内容"),
    Saying.MACHINE: Words("`{needs}` is about the machine", "`{needs}` 是关于机器的"),
    Saying.ORDER: Words("metadata says nothing about install order", "元数据不说明安装顺序"),
    Saying.MODULE: Words("metadata does not say who owns the module `{module}`", "元数据不说明模块 `{module}` 属于谁"),
    Saying.WARNING: Words("metadata says nothing about what it warns of", "元数据不说明它所警告的内容"),
    Saying.VARIABLES: Words("metadata says nothing about environment variables", "元数据不说明环境变量"),
    Saying.AT_COMMIT: Words(
        "{releases} comes from a commit and is on no index", "{releases} 来自某个 commit，不在软件源上"
    ),
    Saying.GIT: Words("{address}: {why}", "{address}：{why}"),
}
FACT = Words("{verdict}: {id} ({where}): {remarks}", "{verdict}：{id}（{where}）：{remarks}")
TO_COME = Words("{text}; checked {checked}, which is still to come", "{text}；上次核对于 {checked}，该日期尚未到来")
OLD = Words("{text}; checked {checked}, more than {days} days ago", "{text}；上次核对于 {checked}，已超过 {days} 天")
FACTS = Counted(
    "{count} fact for {target}: {outcome}",
    "{count} facts for {target}: {outcome}",
    "{count} 条事实，目标机器 {target}：{outcome}",
)
NO_FACTS = Words("no facts are used", "没有用到任何事实")
OUTCOME = Words(
    "{holds} hold, {contradicted} contradicted, {gone} gone, {unmet} unmet, {unchecked} not checked",
    "{holds} 条成立，{contradicted} 条有矛盾，{gone} 条已消失，{unmet} 条无法满足，{unchecked} 条未核对",
)

# --- changes

YANKED = Words(
    "yanked since: {release} on `{index}`, reason: {reason}",
    "此后被撤回（yank）：`{index}` 上的 {release}，原因：{reason}",
)
YANKED_SILENTLY = Words(
    "yanked since: {release} on `{index}`, without a reason", "此后被撤回（yank）：`{index}` 上的 {release}，未说明原因"
)
RESTORED = Words("no longer yanked: {release} on `{index}`", "不再处于撤回状态：`{index}` 上的 {release}")
REHASHED = Words(
    "different hash: {file} on `{index}` has sha256 {offered}, the lock has {locked}",
    "哈希不同：`{index}` 上 {file} 的 sha256 是 {offered}，锁文件中是 {locked}",
)
TWOFOLD = Words(
    "two hashes: `{index}` lists {file} twice, with different sha256",
    "两个哈希：`{index}` 两次列出 {file}，sha256 各不相同",
)
PROJECT_GONE = Words("gone: `{index}` no longer has the project {project}", "已消失：`{index}` 上不再有项目 {project}")
RELEASE_GONE = Words("gone: `{index}` no longer has {release}", "已消失：`{index}` 上不再有 {release}")
FILE_GONE = Words("gone: `{index}` no longer offers {files}", "已消失：`{index}` 不再提供 {files}")
SPARE_GONE = Words(
    "gone: `{index}` no longer offers {files}, which pip does not use on the target",
    "已消失：`{index}` 不再提供 {files}，pip 在目标机器上不使用它",
)
ARCHIVED = Words(
    "archived: `{index}` says that {project} will no longer be updated", "已归档：`{index}` 表示 {project} 不再更新"
)
DEPRECATED = Words("deprecated: `{index}` marks {project} as obsolete", "已弃用：`{index}` 表示 {project} 已过时")
QUARANTINED = Words(
    "quarantined: `{index}` marks {project} as unsafe to use", "已隔离：`{index}` 表示使用 {project} 不安全"
)
OTHERWISE_MARKED = Words("{status}: `{index}` marks {project} as such", "{status}：`{index}` 对 {project} 的标记")
BECAUSE = Words("{text}, reason: {reason}", "{text}，原因：{reason}")

# --- what was compared

NO_CHANGE = Words("nothing changed upstream", "上游没有变化")
COMPARED = Counted(
    "{count} file was compared with its index page",
    "{count} files were compared with their index pages",
    "已将 {count} 个文件与其软件源页面比对",
)
UNHASHED = Counted(
    "{count} file has no hash on its page",
    "{count} files have no hash on their pages",
    "其中 {count} 个文件在页面上没有哈希",
)
SOURCES = Words("not compared because they come from git: {projects}", "来自 git，未比对：{projects}")
OUT_OF_REACH = Words("not compared: `{index}` for {projects}: {why}", "未比对：`{index}` 的 {projects}：{why}")
OLD_FACTS = Counted(
    "{count} of its facts was last checked more than {days} days ago: {facts}",
    "{count} of its facts were last checked more than {days} days ago: {facts}",
    "其中 {count} 条事实已超过 {days} 天未核对：{facts}",
)
AND_MORE = Words("{text} and {count} more", "{text} 等另外 {count} 个")
