"""Every word about what became of locks upstream, in both languages."""

from __future__ import annotations

from resolver.render.explanation.words import Counted, Words

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
    "another hash: {file} on `{index}` has sha256 {offered}, the lock {locked}",
    "哈希不同：`{index}` 上 {file} 的 sha256 是 {offered}，锁文件中是 {locked}",
)
TWOFOLD = Words(
    "two hashes: `{index}` lists {file} twice, each time with another sha256",
    "两个哈希：`{index}` 两次列出 {file}，sha256 各不相同",
)
PROJECT_GONE = Words("gone: `{index}` has no project {project} any more", "已消失：`{index}` 上不再有项目 {project}")
RELEASE_GONE = Words("gone: `{index}` has no {release} any more", "已消失：`{index}` 上不再有 {release}")
FILE_GONE = Words("gone: `{index}` no longer offers {files}", "已消失：`{index}` 不再提供 {files}")
SPARE_GONE = Words(
    "gone: `{index}` no longer offers {files}, which pip does not take on the target",
    "已消失：`{index}` 不再提供 {files}，pip 在目标机器上不使用它",
)
ARCHIVED = Words(
    "archived: `{index}` says that {project} will not be updated any more", "已归档：`{index}` 表示 {project} 不再更新"
)
DEPRECATED = Words("deprecated: `{index}` calls {project} obsolete", "已弃用：`{index}` 表示 {project} 已过时")
QUARANTINED = Words(
    "quarantined: `{index}` calls {project} unsafe for use", "已隔离：`{index}` 表示使用 {project} 不安全"
)
OTHERWISE_MARKED = Words("{status}: so `{index}` marks {project}", "{status}：`{index}` 对 {project} 的标记")
BECAUSE = Words("{text}, reason: {reason}", "{text}，原因：{reason}")
VULNERABLE = Words("vulnerable: {release}, {id}{names}{summary}", "存在漏洞：{release}，{id}{names}{summary}")
VULNERABILITY_NAMES = Words(" ({names})", "（{names}）")
VULNERABILITY_SUMMARY = Words(": {text}", "：{text}")
FIXED_IN = Words("{text}; fixed in {versions}", "{text}；已修复于 {versions}")
NOT_FIXED = Words("{text}; no fixed release is known", "{text}；尚无已知的修复版本")

# --- what was compared

NO_CHANGE = Words("nothing changed upstream", "上游没有变化")
COMPARED = Counted(
    Words("{count} file was compared with its index page", "已将 {count} 个文件与其软件源页面比对"),
    Words("{count} files were compared with their index pages", "已将 {count} 个文件与其软件源页面比对"),
)
UNHASHED = Counted(
    Words("{count} file has no hash on its page", "其中 {count} 个文件在页面上没有哈希"),
    Words("{count} files have no hash on their pages", "其中 {count} 个文件在页面上没有哈希"),
)
SOURCES = Words("not compared, as they come from git: {projects}", "来自 git，未比对：{projects}")
OUT_OF_REACH = Words("not compared: `{index}` for {projects}: {why}", "未比对：`{index}` 的 {projects}：{why}")
SILENT = Words("`{index}` tells no vulnerabilities: {why}", "`{index}` 不提供漏洞信息：{why}")
UNKNOWN = Words("of these it tells no vulnerabilities: {releases}", "其中未提供漏洞信息的有：{releases}")
OLD_FACTS = Counted(
    Words(
        "{count} fact of it was not checked for more than {days} days: {facts}",
        "其中 {count} 条事实已超过 {days} 天未核对：{facts}",
    ),
    Words(
        "{count} facts of it were not checked for more than {days} days: {facts}",
        "其中 {count} 条事实已超过 {days} 天未核对：{facts}",
    ),
)
AND_MORE = Words("{text} and {count} more", "{text} 等另外 {count} 个")
