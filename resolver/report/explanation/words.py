"""Every word of an explanation, in both languages.

Each entry is a `Words`: a sentence in both languages, with the same placeholders. The other modules have no words
of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from resolver.model.release import Reason
from resolver.model.statement import Asks, Forbids, Has, Lack, Lacks, Needs, Shares, Source, Statement
from resolver.model.text import Language
from resolver.report.report_words import STRENGTHS as STRENGTHS
from resolver.report.words import Counted, Words


def listed(items: Sequence[str], language: Language) -> str:
    """`a, b and c`."""
    if len(items) < 2:
        return "".join(items)
    return COMMA(language).join(items[:-1]) + AND(language) + items[-1]


_MANY = 12  # numbers that are listed one by one


def numbers(items: Sequence[int], language: Language) -> str:
    """`1, 3 and 4`, to refer to statements; among many, consecutive ones are written as `1-40`."""
    if len(items) > _MANY:
        runs: list[list[int]] = []
        for number in items:
            if runs and number == runs[-1][-1] + 1:
                runs[-1] = [runs[-1][0], number]
            else:
                runs.append([number])
        told = ["-".join(map(str, run)) for run in runs]
        return COMMA(language).join(told) if language == "zh" else listed(told, language)
    if language == "zh":
        return COMMA(language).join(map(str, items))
    return listed([str(number) for number in items], language)


# --- punctuation

COMMA = Words(", ", "、")
CLAUSE = Words(", ", "，")
SEMICOLON = Words("; ", "；")
AND = Words(" and ", " 和 ")
IN_BRACKETS = Words("{text} ({extra})", "{text}（{extra}）")
LABELLED = Words("{label}: {text}", "{label}：{text}")

# --- what statements say

TO_BE_TAKEN = Words("suppose {text} is used", "假设采用 {text}")
ASKS = Words("the stack asks for {text}", "软件栈要求 {text}")
HAS = Words("the target has {component} {value}", "目标机器的 {component} 为 {value}")
NEEDS = Counted("{releases} needs {needs}", "{releases} need {needs}", "{releases} 要求 {needs}")
BUILDING = Words("building {releases} needs {needs}", "构建 {releases} 需要 {needs}")
EXCLUDED = Counted(
    "{releases} must not be used: {reason}", "{releases} must not be used: {reason}", "不能使用 {releases}：{reason}"
)
MISNAMED = Counted(
    "{releases} on `{index}` is not what its name suggests: {reason}",
    "{releases} on `{index}` are not what their name suggests: {reason}",
    "软件源 `{index}` 上的 {releases} 名不副实：{reason}",
)
MUST_NOT_MEET = Words(
    "{other} must not be installed together with {package}: {reason}",
    "有 {package} 的环境中不能有 {other}：{reason}",
)
SHARES = Words(
    "{package} and {other} both install the module `{module}`, so only one of them can be installed",
    "{package} 与 {other} 都提供模块 `{module}`，最多只能安装其中一个",
)

# --- releases

RELEASE = Words("{subject} {versions}", "{subject} {versions}")
EVERY = Words("every release of {subject}", "{subject} 的任一版本")
RANGE = Words("{oldest} to {newest} ({count} releases)", "{oldest} 至 {newest}（共 {count} 个版本）")
SCATTERED = Words(
    "{count} of the releases of {subject} from {oldest} to {newest}",
    "{subject} 自 {oldest} 至 {newest} 之间的 {count} 个版本",
)
WITHIN = Words("{subject} matching `{wanted}`", "{subject}（`{wanted}`）")

# --- what does not exist

NO_PROJECT = Words("no index has a project `{subject}`", "软件源中没有名为 `{subject}` 的项目")
NO_PROJECT_MEANT = Words(
    "no index has a project `{subject}`: did you mean `{meant}`?",
    "软件源中没有名为 `{subject}` 的项目，是否想写 `{meant}`？",
)
NO_RELEASE = Words(
    "no release of {subject} matches `{wanted}`; the newest is {newest}",
    "{subject} 没有符合 `{wanted}` 的版本，最新版本是 {newest}",
)
NO_RELEASE_BETWEEN = Words(
    "no release of {subject} matches `{wanted}`; the nearest are {older} and {newer}",
    "{subject} 没有符合 `{wanted}` 的版本，最接近的是 {older} 和 {newer}",
)
NO_RELEASE_BEFORE = Words(
    "no release of {subject} matches `{wanted}`; the nearest is {nearest}",
    "{subject} 没有符合 `{wanted}` 的版本，最接近的是 {nearest}",
)
NO_RELEASE_AT_COMMIT = Words(
    "the stack takes {subject} from a commit with version {newest}, which does not match `{wanted}`",
    "软件栈从指定的 commit 安装 {subject}，其版本是 {newest}，不符合 `{wanted}`",
)
NO_RELEASE_OR_NEWEST = Words(
    "no release of {subject} matches `{wanted}`",
    "{subject} 没有符合 `{wanted}` 的版本",
)
NO_RELEASE_AT_ALL = Words("the index page of {subject} lists no release", "软件源的 {subject} 页面没有列出任何版本")
NO_RELEASE_READ = Words(
    "the index page of {subject} lists no recognisable release: {files}",
    "软件源的 {subject} 页面没有列出任何可识别的版本：{files}",
)
SUCH_AS = Counted("{filename}", "such as {filename}", "{filename}", "例如 {filename}")
NO_FILE = Counted(
    "{releases} has no file for the target",
    "{releases} have no file for the target",
    "{releases} 没有目标机器可用的文件",
    "{releases} 都没有目标机器可用的文件",
)
UNUSABLE = Counted(
    "{releases} cannot be used", "{releases} cannot be used", "{releases} 无法使用", "{releases} 都无法使用"
)
TELLABLE = Words(
    "usable if a fact states what it needs: [[metadata]] in matrices/facts/{subject}.toml "
    '(versions = "=={version}", requires = […] as in its setup.py; see matrices/README.md)',
    "若有事实写明它的依赖即可使用：在 matrices/facts/{subject}.toml 中写 [[metadata]]"
    '（versions = "=={version}"，requires = […] 照其 setup.py 填写；见 matrices/README.md）',
)
NEWER_GLIBC = Counted(
    "{releases} has a wheel for glibc {glibc} (the target has {has}): if the machine has that (`ldd --version` says), "
    'write glibc = "{glibc}" in [target]',
    "{releases} have wheels for glibc {glibc} (the target has {has}): if the machine has that (`ldd --version` says), "
    'write glibc = "{glibc}" in [target]',
    "{releases} 有面向 glibc {glibc} 的 wheel（目标机器是 {has}）：如果机器的 glibc 不低于它"
    '（用 `ldd --version` 查看），请在 [target] 中写 glibc = "{glibc}"',
)
PRERELEASE = Counted(
    "{releases} is a pre-release, which the policy does not allow",
    "{releases} are pre-releases, which the policy does not allow",
    "{releases} 是预发布版本，而策略不允许使用预发布版本",
    "{releases} 都是预发布版本，而策略不允许使用预发布版本",
)
NEEDLESS = Counted(
    "{releases} is a pre-release, which the policy allows only if no final release fits the requirements",
    "{releases} are pre-releases, which the policy allows only if no final release fits the requirements",
    "{releases} 是预发布版本，只有没有正式版本满足要求时，策略才允许使用",
    "{releases} 都是预发布版本，只有没有正式版本满足要求时，策略才允许使用",
)
YANKED = Counted(
    "{releases} was yanked, and neither the stack nor a fact pins it",
    "{releases} were yanked, and neither the stack nor a fact pins any of them",
    "{releases} 已被撤回（yanked），软件栈和事实都没有指定使用它",
    "{releases} 都已被撤回（yanked），软件栈和事实都没有指定使用其中任何一个",
)
CUTOFF_OF = Counted(
    "{releases} was not uploaded before the cut-off ({cutoff}), according to the index",
    "{releases} were not uploaded before the cut-off ({cutoff}), according to the index",
    "根据软件源的记录，{releases} 不是在截止时间（{cutoff}）之前上传的",
    "根据软件源的记录，{releases} 都不是在截止时间（{cutoff}）之前上传的",
)
LATER_THAN = Counted(  # if each of their files has an upload time
    "{releases} is newer than the cut-off ({cutoff})",
    "{releases} are newer than the cut-off ({cutoff})",
    "{releases} 晚于截止时间（{cutoff}）",
    "{releases} 都晚于截止时间（{cutoff}）",
)
UPLOADED = Words("{version} (uploaded {day})", "{version}（{day} 上传）")
CUTOFF = Counted(
    "{releases} was not uploaded before the cut-off, according to the index",
    "{releases} were not uploaded before the cut-off, according to the index",
    "根据软件源的记录，{releases} 不是在截止时间之前上传的",
    "根据软件源的记录，{releases} 都不是在截止时间之前上传的",
)
FILE_SET_ASIDE = Words("{filename} {predicate}", "{filename} {predicate}")
MORE_FILES = Counted(
    "{files} and {count} more file", "{files} and {count} more files", "{files} 以及另外 {count} 个文件"
)
MORE_RELEASES = Counted("{count} more release", "{count} more releases", "另外 {count} 个版本")
UNREACHABLE = Words(
    "index {names} could not be reached; it may have suitable releases of {subject}",
    "无法访问软件源 {names}，其中可能有满足要求的 {subject} 版本",
)
EACH_FILE = Words("each {predicate}", "每个文件都{predicate}")
SOME_FILES = Counted("{count} file {predicate}", "{count} files {predicate}", "{count} 个文件{predicate}")

# The predicates of `Reason`, for one file and for several.
PREDICATES = {
    Reason.FORMAT: Counted(
        "is not a wheel, .tar.gz or .zip", "are not a wheel, .tar.gz or .zip", "不是 wheel、.tar.gz 或 .zip 格式"
    ),
    Reason.NAME: Counted("has an unreadable file name", "have unreadable file names", "无法解析文件名"),
    Reason.TWICE: Counted(
        "is listed with more than one sha256", "are listed with more than one sha256", "在页面上对应多个不同的 sha256"
    ),
    Reason.ADDRESS: Counted(
        "has an address that an index must not point to",
        "have an address that an index must not point to",
        "索引不得指向其下载地址",
    ),
    Reason.FOREIGN: Counted("belongs to another project", "belong to another project", "属于其他项目"),
    Reason.VERSION: Counted(
        "has a version that violates PEP 440", "have versions that violate PEP 440", "不符合 PEP 440 的版本号规则"
    ),
    Reason.TAGS: Counted(
        "is built for another platform or Python",
        "are built for another platform or Python",
        "是为其他平台或其他 Python 版本构建的",
    ),
    Reason.PYTHON: Counted("needs a different Python", "need a different Python", "要求其他 Python 版本"),
    Reason.PATCH: Counted(
        "needs certain patch releases of Python, and the target states none",
        "need certain patch releases of Python, and the target states none",
        "只支持 Python 的某些补丁版本，而目标没有写明补丁版本",
    ),
    Reason.YANKED: Counted("was yanked", "were yanked", "已被撤回（yanked）"),
    Reason.NEWER: Counted("was uploaded after the cut-off", "were uploaded after the cut-off", "在截止时间之后上传"),
    Reason.NO_DATE: Counted(
        "has no upload time to compare with the cut-off",
        "have no upload time to compare with the cut-off",
        "没有上传时间，无法与截止时间比较",
    ),
    Reason.METADATA: Counted("has unreadable metadata", "have unreadable metadata", "无法读取元数据"),
    Reason.DYNAMIC: Counted(
        "is a source archive without static metadata",
        "are source archives without static metadata",
        "是没有静态元数据的源码包",
    ),
    Reason.FACT: Counted("is excluded by a fact", "are excluded by a fact", "被一条事实排除"),
    Reason.SOURCE: Counted(
        "is a source archive, and build tools are not built from source themselves",
        "are source archives, and build tools are not built from source themselves",
        "是源码包，而构建工具本身不再从源码构建",
    ),
    Reason.DIRECT: Counted(
        "requires a direct URL, which is not supported",
        "require a direct URL, which is not supported",
        "依赖直接地址（URL），而直接地址不予采用",
    ),
    Reason.UNOPENED: Counted(
        "was not opened, because other archives of its project have no static metadata",
        "were not opened, because other archives of the project have no static metadata",
        "未被打开，因为该项目的其他源码包没有静态元数据",
    ),
    Reason.UNREAD: Counted(
        "was not read, because other files of its project have the metadata of different releases",
        "were not read, because other files of the project have the metadata of different releases",
        "未被读取，因为该项目的其他文件带有别的版本的元数据",
    ),
}
NEEDS_OF_MACHINE = Counted(
    "needs {needs} (the target has {has})", "need {needs} (the target has {has})", "需要 {needs}（目标机器是 {has}）"
)
LINUX = Words("Linux with glibc", "带 glibc 的 Linux")
OR = Words(" or ", " 或 ")

# --- where statements come from

METADATA_OF = Words("metadata of {filename}", "{filename} 的元数据")
BUILD_OF = Words("build-system.requires of {filename}", "{filename} 的 build-system.requires")
LOOKED_UP = Words("looked up on {indexes}", "查询的软件源：{indexes}")
NOT_REACHED = Words("{indexes} could not be reached", "{indexes} 无法访问")
WITH_STRENGTH = Words("{where} ({strength})", "{where}（{strength}）")

Sort = Literal["stack", "target", "metadata", "fact", "build", "index"]
SORTS: dict[Sort, Words] = {
    "stack": Words("stack", "软件栈"),
    "target": Words("target", "目标机器"),
    "metadata": Words("metadata", "元数据"),
    "fact": Words("fact", "事实"),
    "build": Words("build", "构建"),
    "index": Words("index", "软件源"),
}


def sort_of(statement: Statement) -> Sort:
    """The kind of origin, in one word that is the same in every language."""
    match statement:
        case Asks():
            return "stack"
        case Has():
            return "target"
        case Needs(source=Source.METADATA):
            return "metadata"
        case Needs(source=Source.BUILD):
            return "build"
        case Needs() | Forbids() | Shares() | Lacks(lack=Lack.SOURCE):
            return "fact"
        case Lacks():
            return "index"


# --- a contradiction

NO_ENVIRONMENT = Words("No environment satisfies {stack} for {target}.", "找不到满足 {stack} 的环境（{target}）。")
DEPENDS = Counted(
    "{stack} for {target} is undecided: it depends on index {names}, which could not be reached.",
    "{stack} for {target} is undecided: it depends on indexes {names}, which could not be reached.",
    "{stack}（{target}）尚无定论：取决于无法访问的软件源 {names}。",
)
WANTED = Words(
    "Wanted from there: {wanted}. Without that, no environment satisfies it.",
    "需要从中得到：{wanted}。若没有，则找不到满足要求的环境。",
)
WANTED_BY = Words("{needs} (for {by})", "{needs}（{by} 的要求）")
UNKNOWN = Words(
    "Note: {component} {value} is in no list of releases (systems.toml); the nearest known are {near}.",
    "注意：{component} {value} 不在任何版本列表中（systems.toml），最接近的已知版本是 {near}。",
)
WHY = Words("Why: {claim}", "原因：{claim}")
SEVERAL = Words("there are {count} conflicts, and each must be solved", "共有 {count} 处冲突，须逐一解决")
CONFLICT_OF = Words("Conflict {number} of {total}: {claim}", "冲突 {number}/{total}：{claim}")
FURTHER = Words("Another conflict, hidden by those above: {claim}", "另有一处被上面的冲突掩盖：{claim}")
CLAIM_ONE = Words("this cannot hold", "这一条无法成立")
CLAIM_TWO = Words("these 2 cannot both hold, but either one can alone", "这 2 条不能同时成立，去掉任意一条即可")
CLAIM_MANY = Words(
    "these {count} cannot all hold together, but any {fewer} of them can",
    "这 {count} 条不能同时成立，去掉其中任意一条，其余 {fewer} 条可以同时成立",
)
NO_CONTRADICTION = Words(
    "Why: not found within the time limit; it is proved that there is no solution",
    "原因：在时限内未能给出；无解这一结论已经过证明",
)
CLOSING = Counted(
    "{numbers} leaves no choice for {subject}",
    "{numbers} leave no choice for {subject}",
    "根据第 {numbers} 条，{subject} 没有可选的版本",
)
CASES = Words("No version of {subject} works:", "无论 {subject} 选哪个版本，都无解：")
CASE_CASES = Words("{case}: no version of {subject} works:", "{case}，无论 {subject} 选哪个版本：")
KNOWN_FAULTS = Words("Known problems of these releases:", "这些版本的已知问题：")

# --- changes

ASK_INSTEAD = Words("ask for {after} instead of {before}", "将 {before} 改为 {after}")
MACHINE_INSTEAD = Words(
    "use another machine, with SoC {after} instead of {before}", "换用其他机器：SoC 由 {before} 改为 {after}"
)
WITHOUT_EXTRA = Words("{after} without the extra, instead of {before}", "去掉 extra：将 {before} 改为 {after}")
WITHOUT_EXTRAS = Counted("without the extra {extras}", "without the extras {extras}", "去掉 extra {extras}")
INSTEAD_WITHOUT = Words("{after} {without}, instead of {before}", "{without}：将 {before} 改为 {after}")
COMPONENT_INSTEAD = Words("{component} {after} instead of {before}", "{component} 由 {before} 改为 {after}")
ON_TARGET = Words("{change}, for the target {target}", "{change}（目标 {target}）")
ON_TARGETS = Words("{change}, for {targets}", "{change}（{targets}）")
THIS_TARGET = Words("this target", "本目标")
COMPONENT_ADDED = Words("specify {component} {after}", "声明 {component} 为 {after}")
POLICY_INSTEAD = Words("policy {after} instead of {before}", "策略由 {before} 改为 {after}")
POLICY_ADDED = Words("add the policy {after}", "增加策略 {after}")
POLICY_DROPPED = Words("without {before}", "去掉 {before}")
LINE_DROPPED = Words("drop {before}", "删除 {before}")
LINE_ADDED = Words("add {after}", "增加 {after}")
FACTS_USED = Words("use the facts about {subject} as well ({file})", "同时采用关于 {subject} 的事实（{file}）")
FACT_BUILT = Words("add a fact that builds {subject} from source", "增加一条事实，从源码构建 {subject}")
FACT_ADDED_AGAINST = Words(
    "add a fact that removes {before} from the requirements of {subject}",
    "增加一条事实，去掉 {subject} 对 {before} 的要求",
)
PRACTICES_ON = Counted("turn on the practice {names}", "turn on the practices {names}", "启用惯例 {names}")
FACTS_STATED = Counted(
    "add a fact with the requirements recorded in {archives} itself; compare it with its setup.py",
    (
        "add {count} facts with the requirements recorded in these archives themselves: {archives}; compare each with "
        "its setup.py"
    ),
    "增加一条事实，写明 {archives} 自身记录的依赖；请与其 setup.py 核对",
    "增加 {count} 条事实，写明以下源码包自身记录的依赖：{archives}；请分别与其 setup.py 核对",
)
FACT_RELAXED = Words("set aside the fact `{subject}`", "不采用事实 `{subject}`")
FACT_RELAXED_WITH = Words("set aside the fact `{subject}` ({before})", "不采用事实 `{subject}`（{before}）")
SPLIT = Words("split into {count} environments", "拆分为 {count} 个环境")
NEWER = Counted("{count} release newer", "{count} releases newer", "比原来新 {count} 个版本")
OLDER = Counted("{count} release older", "{count} releases older", "比原来旧 {count} 个版本")
YEARS_LATER = Counted(
    "uploaded a year later", "uploaded {count} years later", "上传时间晚 1 年", "上传时间晚 {count} 年"
)
YEARS_EARLIER = Counted(
    "uploaded a year earlier", "uploaded {count} years earlier", "上传时间早 1 年", "上传时间早 {count} 年"
)
A_PRERELEASE = Words("a pre-release", "预发布版本")

# --- ways out

WAY_ZERO_HEADING = Words("Without changing the stack", "不改动软件栈")
WAY_ZERO = Counted(
    "lock where {names} can be reached, or add a mirror that serves the same files to `mirrors` of that [[index]]",
    "lock where {names} can be reached, or add mirrors that serve the same files to `mirrors` of each [[index]]",
    "在能访问 {names} 的地方锁定，或在相应 [[index]] 的 `mirrors` 中加入提供相同文件的镜像",
)
WAYS_OUT = Words("Ways out, each one solved and checked", "解决办法（每一项都已实际求解并通过校验）")
NO_WAY_OUT = Words("No way out was found.", "没有找到解决办法。")
NOTHING_TRIED = Words("No change was tried.", "没有尝试任何改动。")
TRIED_MORE = Counted(
    "and {count} more change was tried", "and {count} more changes were tried", "另外还尝试过 {count} 项改动"
)
STILL = Words("still: {statements}", "仍有冲突：{statements}")
NO_SOLUTION = Words("no solution", "无解")
UNDECIDED = Words("not decided within the time limit", "在限制内未能得出结论")
OTHER_TARGET = Words(
    "it has a solution here, but not for the stack's target {target}", "此处可以锁定，但该栈的目标 {target} 不行"
)
FAILED = Words("it could not be locked: {why}", "无法锁定：{why}")
FAILED_ON_TARGET = Words(
    "it has a solution here, but could not be locked for the stack's target {target}: {why}",
    "此处可以锁定，但无法为该栈的目标 {target} 锁定：{why}",
)
PROJECTS = Counted("{count} project: {pins}", "{count} projects: {pins}", "共 {count} 个项目：{pins}")
PROJECT_COUNT = Counted("{count} project", "{count} projects", "共 {count} 个项目")
NOT_IN_IT = Words("without {names}", "不含 {names}")
ENVIRONMENT = Words("environment {name} ({requires})", "环境 {name}（{requires}）")
AND_SHARED = Words("{own} and {count} lines that both have", "{own}，以及两个环境共有的 {count} 行")
RISK_PRACTICE = Words("goes against metadata, as the vendor's image does", "与元数据相违，厂商的镜像也是如此")
RISK_FACT = Words("risk: this goes against a fact", "风险：违背已记录的事实")
RISK_METADATA = Words("risk: this goes against upstream's own metadata", "风险：违背上游对软件包的声明")
WARNED = Counted("warning below: {labels}", "warnings below: {labels}", "见下方警告 {labels}")
APPLY_PATH = Words(
    "hint: ascend-lock explain {stack} --apply {name} writes the changed stack next to the old one",
    "提示：执行 ascend-lock explain {stack} --apply {name}，修改后的软件栈会写到原文件旁边",
)
APPLY = Words(
    "hint: make explain STACK={stack} APPLY={name} writes the changed stack next to the old one",
    "提示：执行 make explain STACK={stack} APPLY={name}，修改后的软件栈会写到原文件旁边",
)
ALSO_MISSING = Counted(
    "The stack also asks for this project, which no index has: {names}.",
    "The stack also asks for these {count} projects, which no index has: {names}.",
    "软件栈还要求以下项目，而没有任何软件源提供：{names}。",
    "软件栈还要求以下 {count} 个项目，而没有任何软件源提供：{names}。",
)
MORE_IN_REPORT = Words("and {count} more, see the report", "以及另外 {count} 条，见报告")
NAMED_AND_MORE = Words("{names} and {count} more", "{names} 以及另外 {count} 个")
LIMITED = Words(
    "Not everything was decided in the time given: there may be more conflicts and more ways out.",
    "在给定时间内未能得出全部结论：可能还有其他冲突和解决办法。",
)
MORE_TIME = Words("hint: --explain-seconds N gives it more time", "提示：可用 --explain-seconds N 延长时间")
MAY_HAVE_NEWER = Words(
    "Index {indexes} could not be reached; it may have other releases of {name}.",
    "软件源 {indexes} 无法访问，其中可能有 {name} 的其他版本。",
)
UNTRIED = Words("Another release could not be tried: {why}", "无法尝试其他版本：{why}")
SOLVABLE = Words("{stack} has a solution for {target}: there is no conflict.", "{stack} 在 {target} 上有解，没有冲突。")
SEE_PACKAGE = Words(
    "hint: --package NAME explains why a project is pinned to its version",
    "提示：用 --package NAME 查看某个固定版本的原因",
)
LOCK_SOLVABLE = Counted(
    "hint: ascend-lock lock {stack} locks the target that has a solution",
    "hint: ascend-lock lock {stack} locks the targets that have a solution",
    "提示：执行 ascend-lock lock {stack}，可锁定有解的目标",
)
WRITTEN = Words("Written: {path}. Next: ascend-lock lock {stack}", "已写入 {path}。下一步：ascend-lock lock {stack}")
WRITTEN_ONLINE = Words(
    "Written: {path}. Next, with network access (the snapshot lacks some data): ascend-lock lock {stack}",
    "已写入 {path}。下一步，在有网络的地方（快照中的数据不足以锁定它）：ascend-lock lock {stack}",
)
REPORT_IN = Words(
    "The report is in {folder}: conflict.html, .md and .json.",
    "报告位于 {folder}：conflict.zh.html、conflict.zh.md 与 conflict.json。",
)
OLD_LOCK = Words("No lock was changed.", "没有改动任何锁文件。")

# --- headings and labels of Markdown and HTML

TITLE = Words("{stack}: no solution", "{stack}：无解")
TITLE_UNDECIDED = Words("{stack}: undecided", "{stack}：尚无定论")
HEADING_WAYS_OUT = Words("Ways out", "解决办法")
HEADING_TRIED = Words("Tried without success", "尝试过但未成功的改动")
WAYS_CHECKED = Words("Each one was solved and checked.", "每一项都已实际求解并通过校验。")
COLUMN_FIX = Words("fix", "办法")
COLUMN_CHANGE = Words("change", "改动")
COLUMN_RESULT = Words("result", "结果")
COLUMN_NOTES = Words("notes", "注意")
COLUMN_WHY_NOT = Words("why not", "原因")
FIX = Words("Fix {name}", "办法 {name}")
REASON = Words("reason: {text}", "理由：{text}")
EVIDENCE = Words("source: {text}", "出处：{text}")
CHECKED_ON = Words("{text}, checked {date}", "{text}，核对于 {date}")
PINS = Words("Relevant pins", "相关的固定版本")
COLUMN_PROJECT = Words("project", "项目")
COLUMN_VERSION = Words("version", "版本")
COLUMN_WISHED = Words("asked for", "软件栈所要求")
YES = Words("yes", "是")
NO = Words("no", "否")
FILE = Words("The changed stack `{name}`", "修改后的软件栈 `{name}`")
WARNINGS = Counted("{count} warning", "{count} warnings", "{count} 条警告")
HEADING_WARNINGS = Words("Warnings", "警告")
INPUTS = Words("Inputs: sha256 {digest}", "输入：sha256 {digest}")
SKIP = Words("To the ways out", "跳到解决办法")

# --- why a project has its version

WHY_HEADING = Words(
    "{name} is locked at {version} in {stack} for {target}.", "{stack}（{target}）中 {name} 锁定为 {version}。"
)
ASKED_BY = Words("Asked for by", "对它的要求")
ASKED_BY_NONE = Words("Nothing asks for it.", "没有任何一方要求它。")
BOUND = Counted("{numbers} allows nothing newer", "{numbers} allow nothing newer", "第 {numbers} 条不允许更新的版本")
WHY_FACTS = Words("Facts about it", "与它有关的事实")
NEWER_RELEASES = Counted(
    "Newer: {versions} ({count} release)",
    "Newer: {versions} ({count} releases)",
    "更新的版本：{versions}（共 {count} 个）",
)
TAKEN_LATER = Words(
    "{version} ranks after {pin} on this target, according to {facts}",
    "在此目标上 {version} 排在 {pin} 之后，依据 {facts}",
)
NOT_DECIDED = Words(
    "Whether another release is possible was not decided within the time limit.",
    "在时限内未能判定能否采用其他版本。",
)
NOTHING_NEWER = Words(
    "The indexes have no newer release that the target can use.", "软件源中没有目标机器可用的更新版本。"
)
AND_MORE = Words("{items} and more", "{items} 等")
CANNOT_TAKE = Words("With {name} {version} there is no solution: {claim}", "若采用 {name} {version} 则无解：{claim}")
CAN_TAKE = Counted(
    "{name} {version} is possible; {count} other pin changes:",
    "{name} {version} is possible; {count} other pins change:",
    "可以采用 {name} {version}，另有 {count} 个固定版本随之变化：",
)
CAN_TAKE_ALONE = Words(
    "{name} {version} is possible; no other pin changes.", "可以采用 {name} {version}，其他固定版本不变。"
)
MOVE = Words("{name} {old} -> {new}", "{name} {old} -> {new}")
MOVE_NEW = Words("{name} {new} is added", "新增 {name} {new}")
MOVE_GONE = Words("{name} {old} is removed", "移除 {name} {old}")
