#!/usr/bin/env bash
# Install verl-qwen3.5 for linux-x86_64-py311-cann8.5.0-a2: verl (FSDP) training with vLLM rollouts on Ascend A2, with the versions of the guide for Qwen3.5 (Qwen3.5 checkpoints cannot be loaded; verl-qwen3.5-latest loads them)
#
# Made from lock.toml by ascend-lock; do not edit. Read it before you run it:
#   1. checks the machine, Python, glibc and components, and what builds need, and reports all that is wrong
#   2. installs in 8 stages, every file checked against its sha256
#   3. checks what was installed (with verify.py, which can be run at any time)
# It can be run again after a failure: a stage whose distributions are all
# installed is skipped.
# Every message is in several languages: the locale (UTF-8) or --lang selects one.
case ${BASH_VERSION-} in '') exec bash "$0" "$@" ;; esac  # called as `sh install.sh`
# The environment can hold functions, which bash would call in place of any command. With -p it takes none, and no option.
# Until then it is in its POSIX mode, in which nothing can stand for `exec`; a file on standard input is refused below.
POSIXLY_CORRECT=1
case ${BASH_SOURCE[0]-}:$- in
    :* | *:*p*) ;;
    *:*x*) exec "$BASH" -px "${BASH_SOURCE[0]}" "$@" ;;
    *) exec "$BASH" -p "${BASH_SOURCE[0]}" "$@" ;;
esac
unset POSIXLY_CORRECT
set +o posix  # also where sh is bash; before 5.1 it would not read what follows
set -euo pipefail

# Remove variables that change every bash, pip or Python which this file starts. Only env can remove them. Two of them,
# PYTHONEXECUTABLE and __PYVENV_LAUNCHER__, name another environment, even for `python -I`.
# pip also reads PIP_INDEX-URL. Such a variable gets a name that a shell can have, unless a variable of that name is set.
unwanted=()
renamed=()
last=
while IFS= read -r -d '' variable; do
    last=$variable
    case ${variable%%=*} in
        BASH_FUNC_* | BASH_ENV | ENV | SHELLOPTS | BASHOPTS | CDPATH | GLOBIGNORE | _PYTHON_* | DIST_EXTRA_CONFIG | PYTHONEXECUTABLE | __PYVENV_LAUNCHER__)
            unwanted+=(-u "${variable%%=*}")
            ;;
        PIP_*[!A-Za-z0-9_]*)
            unwanted+=(-u "${variable%%=*}")
            name=${variable%%=*}
            name=${name//-/_}
            case $name in
                *[!A-Za-z0-9_]*) ;;
                *) [ -n "${!name+set}" ] || renamed+=("$name=${variable#*=}") ;;
            esac
            ;;
    esac
done < <(env -0 && printf '=\0')
if [ "$last" != = ]; then # env did not end
    echo 'error: the command env -0 does not run' >&2
    exit 1
fi
if [ -n "${unwanted[*]-}" ] && [ -n "${BASH_SOURCE[0]-}" ]; then
    case $- in *x*) set -- -x "${BASH_SOURCE[0]}" "$@" ;; *) set -- "${BASH_SOURCE[0]}" "$@" ;; esac
    exec env "${unwanted[@]}" ${renamed[@]+"${renamed[@]}"} "$BASH" -p "$@"
fi

at=0; case ${LC_ALL:-${LC_MESSAGES:-${LANG-}}} in [zZ][hH]*[uU][tT][fF]*8*) at=1 ;; esac
languages=(en zh)
lang=${languages[at]}

# Print the options in the language of the user.
usage() {
    set -- "usage: install.sh [--dry-run] [--wheelhouse DIR] [--build-wheels DIR | --built DIR] [--python PATH] [--system] [--exact] [--skip-system-checks] [--lang LANGUAGE]

  --dry-run             check the machine and print what would be done; change nothing
  --wheelhouse DIR      take all files from DIR, without network access
  --build-wheels DIR    also leave the wheels that are built from source in DIR, for machines like this one
  --built DIR           take wheels that --build-wheels left in DIR instead of building (default: built in the wheelhouse)
  --python PATH         the environment's Python (default: the active environment's)
  --system              install into a Python outside a virtual environment
  --exact               at the end, remove what the lock does not have; pip, setuptools and wheel stay
  --skip-system-checks  only warn if processor, glibc, CANN, driver, SoC or build tools do not match the lock
  --lang LANGUAGE       language of messages, en or zh (default: by locale)" "用法：install.sh [--dry-run] [--wheelhouse 目录] [--build-wheels 目录 | --built 目录] [--python 路径] [--system] [--exact] [--skip-system-checks] [--lang 语言]

  --dry-run             检查机器，说明将要做什么；不改动任何东西
  --wheelhouse 目录     所有文件取自该目录，不使用网络
  --build-wheels 目录   把从源码构建出的 wheel 也留在该目录，供同类机器使用
  --built 目录          不构建，改用 --build-wheels 留在该目录的 wheel（默认为 wheelhouse 中的 built）
  --python 路径         目标环境的 Python（默认为当前激活的环境的 Python）
  --system              安装到不在虚拟环境中的 Python
  --exact               最后删除锁文件中没有的软件包；pip、setuptools 和 wheel 保留
  --skip-system-checks  处理器、glibc、CANN、驱动、SoC 或构建工具与锁文件不符时只警告，不停止
  --lang 语言           消息的语言，en 或 zh（默认取决于系统语言环境）"
    shift "$at"
    printf '%s\n' "$1"
}

# Print a line. If a terminal would act on a character of it, the line is printed with escapes: the name of a file can have any
# character. No escapes are needed for UTF-8 without control characters (C0, C1), line separators and marks that turn the
# direction of text. The line is judged by bytes, since bash knows no other characters in the C locale. This is done in a
# subshell, since bash warns if a locale that the machine lacks is set again.
show() ( # label, text
    { set +x; } 2>/dev/null # bash -x would show the bytes below as they are
    LC_ALL=C
    more=$'[\x80-\xbf]'
    fine='^([ -~]'
    fine+=$'|\xc2[\xa0-\xbf]' # not U+0080 to U+009F
    fine+=$'|[\xc3-\xd7\xd9-\xdf]'$more
    fine+=$'|\xd8[\x80-\x9b\x9d-\xbf]' # not U+061C
    fine+=$'|\xe0[\xa0-\xbf]'$more
    fine+=$'|\xe2\x80[\x80-\x8d\x90-\xa7\xaf-\xbf]' # not U+200E, U+200F, U+2028 to U+202E
    fine+=$'|\xe2\x81[\x80-\xa5\xaa-\xbf]' # not U+2066 to U+2069
    fine+=$'|\xe2[\x82-\xbf]'$more
    fine+=$'|[\xe1\xe3-\xec\xee\xef]'$more$more
    fine+=$'|\xed[\x80-\x9f]'$more
    fine+=$'|\xf0[\x90-\xbf]'$more$more
    fine+=$'|[\xf1-\xf3]'$more$more$more
    fine+=$'|\xf4[\x80-\x8f]'$more$more')*$'
    if [[ $2 =~ $fine ]]; then printf '%s%s\n' "$1" "$2"; else printf '%s%q\n' "$1" "$2"; fi
)
# Print a text. It is given in each language, one after the other.
say() {
    shift "$at"
    show '' "$1"
}
# Print a label with a text, and a hint below it. Each language has a text and a hint, which may be empty.
tell() { # label, texts
    local label=$1
    shift $((2 * at + 1))
    show "$label" "$1" >&2
    if [ -n "$2" ]; then show "$(say "hint: " "提示：")" "$2" >&2; fi
}
error=$(say "error: " "错误：")
# Tell an error, and end.
fail() { # texts
    tell "$error" "$@"
    exit 1
}
warning=$(say "warning: " "警告：")

# End with an error if an option has no value.
require_value() { # option, what follows it
    [ -n "${2-}" ] || fail "${1} needs a value: see --help" "" \
        "${1} 需要一个值：见 --help" ""
}

# Print the absolute path of a file or folder, without links. Fail if the path leads nowhere. Every program gets such a path:
# pip would take a relative one that begins with `http:` for an address.
canonical() { # path
    local path
    path=$(readlink -f -- "$1") || return 1
    case $path in /*) printf '%s\n' "$path" ;; *) return 1 ;; esac
}

# Print the rows of a check without the last one, `checked`. Fail if that row is missing: the check did not end, so it says
# nothing.
rows_of() { # command
    local rows
    rows=$("$@") || return 1
    [ "${rows##*$'\n'}" = checked ] || return 1
    rows=${rows%checked}
    printf '%s' "${rows%$'\n'}"
}

given=("$@")
again=no
dry_run=no
wheelhouse=
built=
build_wheels=
python=
system=no
strict=yes
exact=no
while [ $# -gt 0 ]; do
    case $1 in
        --dry-run) dry_run=yes ;;
        --wheelhouse) require_value "$@"; wheelhouse=$2; shift ;;
        --built) require_value "$@"; built=$2; shift ;;
        --build-wheels) require_value "$@"; build_wheels=$2; shift ;;
        --python) require_value "$@"; python=$2; shift ;;
        --system) system=yes ;;
        --skip-system-checks) strict=no ;;
        --exact) exact=yes ;;
        --again) again=yes ;; # from below, where it starts itself once more
        --lang)
            case ${2-} in
                en) lang=$2 at=0 ;;
                zh) lang=$2 at=1 ;;
                *) fail "--lang must be one of: en, zh" "" \
        "--lang 只能是：en, zh" "" ;;
            esac
            error=$(say "error: " "错误：")
            warning=$(say "warning: " "警告：")
            shift
            ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; fail "unknown option: ${1}" "" \
        "未知选项：${1}" "" ;;
    esac
    shift
done

# the folder of this file itself, even if it was called through a link
here=$(canonical "${BASH_SOURCE[0]-}") || here=
here=${here%/*}
if [ -z "$here" ] || [ ! -d "$here/stages" ]; then
    fail "there is no stages/ folder in ${here:-.}, next to install.sh" "copy the lock's whole folder and run the install.sh inside it" \
        "${here:-.} 中没有 stages/ 目录，它应与 install.sh 在一起" "请复制锁文件的整个目录，并运行其中的 install.sh"
fi
# No file of a lock is a link. If this file is one, the user would get another lock. If another file of the folder is one, it
# would not be the lock's.
called=.
case ${BASH_SOURCE[0]} in */*) called=${BASH_SOURCE[0]%/*} ;; esac
if [ -e "$called/stages" ] && [ ! "$called/" -ef "$here" ]; then
    fail "${BASH_SOURCE[0]} is a link to that of another lock, ${here}" "ascend-lock check tells what does not belong to a lock, and ascend-lock lock makes its files anew" \
        "${BASH_SOURCE[0]} 是指向另一份锁 ${here} 的链接" "ascend-lock check 会指出不属于锁的文件，ascend-lock lock 会重新生成锁的文件"
fi
for file in "$here/verify.py" "$here/stages" "$here/stages"/*; do
    [ ! -L "$file" ] || fail "${file} is a link, and no file of a lock is one" "ascend-lock check tells what does not belong to a lock, and ascend-lock lock makes its files anew" \
        "${file} 是一个链接，而锁的文件都不是链接" "ascend-lock check 会指出不属于锁的文件，ascend-lock lock 会重新生成锁的文件"
done

# --- 1. the machine

wrong=0
# Tell what is wrong. The installation stops when everything has been checked.
refuse() { # texts
    tell "$error" "$@"
    wrong=$((wrong + 1))
}
# Tell in what the machine differs from the lock. With --skip-system-checks this is a warning.
mismatch() { # texts
    if [ "$strict" = yes ]; then refuse "$@"; else tell "$warning" "$@"; fi
}

if [ -z "$python" ]; then
    if [ -n "${VIRTUAL_ENV-}" ]; then python=$VIRTUAL_ENV/bin/python
    elif [ -n "${CONDA_PREFIX-}" ]; then python=$CONDA_PREFIX/bin/python
    else python=$(command -v python3 || true); fi
    # Whoever has activated ascend-lock's own environment does not mean to install a stack over what it runs with.
    if [ -n "$python" ] && [ "$system" = no ] && "$python" -I -c '
from importlib import metadata
metadata.distribution("ascend-lock")
' 2>/dev/null; then
        refuse "ascend-lock itself is installed in the environment of ${python}" "leave it and make one for the lock: deactivate; python3.11 -m venv env && . env/bin/activate; or pass --python PATH" \
        "${python} 所在的环境中安装了 ascend-lock 自身" "请退出该环境，为锁文件另建一个：deactivate; python3.11 -m venv env && . env/bin/activate；或用 --python 指定"
    fi
fi
if [ -z "$python" ] || ! "$python" -I -c '' 2>/dev/null; then
    fail "no working Python was found: ${python:-python3}" "activate an environment, or pass --python PATH" \
        "没有找到可用的 Python：${python:-python3}" "请激活一个环境，或用 --python 指定"
fi
# Print the value of a Python expression. It comes by a descriptor of its own, since code of the environment that runs at each
# start (sitecustomize) may print, too.
ask_python() { # expression
    "$python" -I -c 'import os, sys; os.write(3, os.fsencode(eval(sys.argv[1])))' "$1" 3>&1 >/dev/null
}
found=$(ask_python '"%d.%d" % sys.version_info[:2]' 2>/dev/null || true)
[[ $found =~ ^[0-9]+\.[0-9]+$ ]] ||
    fail "${python} is not a Python interpreter" "activate an environment, or pass the path of its Python with --python" \
        "${python} 不是 Python 解释器" "请激活一个环境，或用 --python 指定其 Python 的路径"
python=$(ask_python sys.executable)  # absolute, as builds need it
environment=$(ask_python sys.prefix)  # editable checkouts stay in $environment/src
case $python:$environment in
    /*:/*) ;;
    *) fail "${python} is not a Python interpreter" "activate an environment, or pass the path of its Python with --python" \
        "${python} 不是 Python 解释器" "请激活一个环境，或用 --python 指定其 Python 的路径" ;;
esac
[ "$found" = 3.11 ] ||
    refuse "${python} is Python ${found}, but the lock is for 3.11" "create one: python3.11 -m venv env && . env/bin/activate" \
        "${python} 是 Python ${found}，而锁文件用于 3.11" "请创建环境：python3.11 -m venv env && . env/bin/activate"
if [ "$system" = yes ] && [ "$exact" = yes ]; then
    refuse "--exact would remove what other programs need, with --system" "make an environment for the lock, or leave --exact out" \
        "与 --system 一起使用时，--exact 会删除其他程序需要的软件包" "请为锁文件创建单独的环境，或不使用 --exact"
fi
if [ "$system" = no ] && ! "$python" -I -c '
import os, sys
sys.exit(sys.prefix == sys.base_prefix and not os.path.isdir(os.path.join(sys.prefix, "conda-meta")))
'; then
    refuse "${python} is not in a virtual or conda environment" "create one: ${python} -m venv env && . env/bin/activate; or pass --system" \
        "${python} 不在虚拟环境或 conda 环境中" "请创建环境：${python} -m venv env && . env/bin/activate；或使用 --system"
fi
# No pip reads a configuration file from here on, not even one that a build starts. Of pip's settings, those remain that say
# how an index is reached: address, proxy, certificates, time limits, cache. Each stage names its own index.
settings=()
if ! "$python" -I -c 'import pip' 2>/dev/null; then
    refuse "${python} has no pip" "${python} -m ensurepip" \
        "${python} 没有 pip" "${python} -m ensurepip"
else
    while IFS= read -r -d '' setting; do
        case $setting in
            =) settings_read=yes ;; # the last one
            !*)
                setting=${setting#!}
                refuse "${setting%%=*} is no address with which pip can be started: ${setting#*=}" "the form is https://USER:PASSWORD@HOST:PORT/PATH without a query; in user and password write \`/\` as %2F, \`?\` as %3F, \`#\` as %23, \`@\` as %40, \`%\` as %25" \
        "${setting%%=*} 不是可用于启动 pip 的地址：${setting#*=}" "格式为 https://USER:PASSWORD@HOST:PORT/PATH，不含查询部分；用户名和密码中的 \`/\` 写作 %2F，\`?\` 写作 %3F，\`#\` 写作 %23，\`@\` 写作 %40，\`%\` 写作 %25"
                ;;
            *) settings+=("$setting") ;;
        esac
    done < <("$python" -I -S "$here/verify.py" --pip-settings && printf '=\0')
    [ -n "${settings_read-}" ] || [ "$found" != 3.11 ] ||
        refuse "pip of ${python} does not run" "${python} -m pip config debug says why, or lists its configuration files; it may show passwords" \
        "${python} 的 pip 无法运行" "${python} -m pip config debug 会说明原因或列出配置文件；输出中可能有密码"
fi
unset "${!PIP_@}"
export PIP_CONFIG_FILE=/dev/null ${settings[@]+"${settings[@]}"}

# pip and builds get this path, too, and they change the current folder. So it must be absolute.
if [ -n "${TMPDIR-}" ]; then
    folder=$(canonical "$TMPDIR") || fail "there is no folder for temporary files" "set TMPDIR to a folder with free space that you can write to" \
        "没有可以存放临时文件的目录" "请将 TMPDIR 设为有可用空间且可写的目录"
    export TMPDIR=$folder
fi
# PATH cannot have a folder with one of these characters, and pip takes what follows `;` for a marker.
case $(canonical "${TMPDIR:-/tmp}" || true) in
    *[:\;[:cntrl:]]*)
        tell "$warning" "temporary files are put into /tmp instead of ${TMPDIR}: neither PATH nor pip allows \`:\` or \`;\` in the name of a folder" "set TMPDIR to a folder without these characters in its path" \
        "临时文件放在 /tmp，而不是 ${TMPDIR}：PATH 和 pip 不允许目录名中有 \`:\` 或 \`;\`" "请将 TMPDIR 设为路径中不含这些字符的目录"
        export TMPDIR=/tmp
        ;;
esac

# Check the machine, CANN, driver and SoC. verify.py prints a line for each thing that is wrong or fine.
machine=()
if told=$("$python" -I -S "$here/verify.py" --machine-rows --lang "$lang"); then
    while IFS=$'\t' read -r state what mend; do
        case $state in
            ok) machine+=("$what") ;;
            wrong) mismatch "$what" "$mend" "$what" "$mend" ;;
            warning) tell "$warning" "$what" "$mend" "$what" "$mend" ;;
        esac
    done <<<"$told"
elif [ "$found" = 3.11 ]; then
    refuse "verify.py next to install.sh does not run" "copy the lock's whole folder" \
        "install.sh 同目录的 verify.py 无法运行" "请复制锁文件的整个目录"
fi

# The beginning of each program that writes or removes files in an environment. Others may write there, too. So these
# functions follow no link below the folder that they are given, and what they write is a new file.
unlinked='
import contextlib, os, re, stat, sys

# the locale may lack the letters of a name
if sys.stdout:
    sys.stdout.reconfigure(errors="backslashreplace")


def printable(text):
    """Return the text with escapes for what a terminal would act on."""
    return "".join(ch if ch.isprintable() else ascii(ch)[1:-1] for ch in text)


def is_name(text):
    """Return whether a text is the normalized name of a project. pip could take any other text for an option."""
    return re.fullmatch("[a-z0-9]([a-z0-9-]*[a-z0-9])?", text) is not None


@contextlib.contextmanager
def within(folder):
    """Yield within a folder, whose path must have no link. Raise OSError if it has one, or is none."""
    before = os.open(".", os.O_PATH | os.O_DIRECTORY)
    at = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        for part in filter(None, os.path.normpath(folder).split("/")):
            deeper = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = deeper
        os.fchdir(at)
        try:
            yield
        finally:
            os.fchdir(before)
    finally:
        os.close(at)
        os.close(before)


def inside(path):
    """Return the path of a folder without links. Raise OSError if a link leads out of the environment it is in.

    What install.sh has found at its start may be a link by now.
    """
    found = os.path.realpath(path)
    if path.startswith(os.path.join(sys.prefix, "")):
        prefix = os.path.join(os.path.realpath(sys.prefix), "")
        if not found.startswith(prefix):
            raise OSError("%s leads out of %s" % (printable(path), printable(prefix)))
    return found


def inner(folder, path):
    """Return the path, without links, of what is in a folder. End if a link leads out of the folder."""
    folder = inside(folder)
    found = os.path.realpath(os.path.join(folder, path))
    if os.path.commonpath([folder, found]) != folder:
        sys.exit("%r leads to %r, which is outside of %r" % (path, found, folder))
    return found


def read_plain(path, how=os.O_NOFOLLOW):
    """Return the content of a regular file, and its state. Raise OSError for a link, a pipe or a device.

    If `how` is 0, a link is followed.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | how), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise OSError("%r is no regular file" % path)
        return file.read(), state


def create(name, content, mode=None):
    """Write a file in the current folder, a new one in place of whatever is there."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(name)
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666), "wb") as file:
        file.write(content)
        if mode is not None:
            os.fchmod(file.fileno(), mode)


def replace_here(name, content, mode=None):
    """Write a file in the current folder, so that the one before or the new one is there."""
    create(name + ".new", content, mode)
    os.replace(name + ".new", name)


def replace(path, content):
    """Write a file as replace_here does, in a folder below the prefix of this Python."""
    folder, name = os.path.split(path)
    with within(folder):
        replace_here(name, content)
'

# Write standard input to a new file. Its path must have no link below the environment.
put() { # file below the environment
    "$python" -I -c "$unlinked"'
replace(os.path.join(os.path.realpath(sys.prefix), sys.argv[1]), sys.stdin.buffer.read())
' "$1"
}

# What pip removes of a distribution that was installed before there were wheels, as its UninstallPathSet has it. It needs
# the functions of links.sh.j2.
legacy='
import configparser, importlib.machinery, os, re, sysconfig, zipfile

# The file to which old installers add the folders of eggs and of checkouts.
PATH_FILE = "easy-install.pth"
# Of a module in top_level.txt, pip removes a folder of its name, and the files with these suffixes.
MODULE_SUFFIXES = (".py", ".pyc", ".pyo")


def canonical(name):
    """Return a name as PEP 503 normalizes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


class Legacy:
    """The metadata of a distribution in a folder or a file, or in a zipped egg.

    `root` is what its modules are in; `info` is the path of its .egg-info, or EGG-INFO of an egg.
    """

    def __init__(self, root, info):
        self.root, self.info = root, info
        found = re.search(r"(?m)^Name:[ \t]*([A-Za-z0-9._-]+)", self.read("PKG-INFO") or "")
        self.project = canonical(found[1]) if found else ""

    def read(self, name):
        """Return the text of a file of the metadata, None without one."""
        container = os.path.dirname(self.info)
        try:
            if os.path.isfile(container):
                with zipfile.ZipFile(container) as archive:
                    return archive.read(os.path.basename(self.info) + "/" + name).decode("utf-8", "surrogateescape")
            path = self.info if os.path.isfile(self.info) and name == "PKG-INFO" else os.path.join(self.info, name)
            return read_plain(path, 0)[0].decode("utf-8", "surrogateescape")
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            return None

    def lines(self, name):
        """Return the lines of a file of the metadata that are not empty, None without the file."""
        text = self.read(name)
        return None if text is None else [line.strip() for line in text.splitlines() if line.strip()]

    def modules(self):
        """Return the names of its modules that pip would remove in whole: not those of namespaces."""
        names = self.lines("top_level.txt") or []
        shared = self.lines("namespace_packages.txt") or []
        return [name for name in names if name not in shared and "/" not in name and name not in (".", "..")]

    def is_listed(self):
        """Return whether something says which files are its, and pip goes by that for each of its modules."""
        if self.read("installed-files.txt"):
            return True
        names = self.lines("top_level.txt")
        return bool(names) and sorted(self.modules()) == sorted(names) and not self.modules_left()

    def modules_left(self):
        """Return the paths of its modules that Python would import when pip has removed it: compiled ones."""
        suffixes = set(importlib.machinery.all_suffixes()).difference(MODULE_SUFFIXES)
        paths = [os.path.join(self.root, name + suffix) for name in self.modules() for suffix in suffixes]
        return sorted(path for path in paths if os.path.lexists(path))

    def files(self):
        """Return the paths of the files that pip removes with it, None if it knows of none."""
        listed = self.lines("installed-files.txt")
        if listed:
            found = [os.path.join(self.info, name) for name in listed]
        elif self.modules():
            found = [path for name in self.modules() for path in files_of_module(os.path.join(self.root, name))]
        else:
            return None
        return [os.path.normpath(path) for path in (*found, *self.scripts())]

    def scripts(self):
        """Return the paths of its commands."""
        parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        parser.optionxform = str
        names = []
        try:
            parser.read_string(self.read("entry_points.txt") or "")
            for section in ("console_scripts", "gui_scripts"):
                names += parser.options(section) if parser.has_section(section) else []
        except configparser.Error:
            pass
        folder = os.path.join(self.info, "scripts")
        names += os.listdir(folder) if os.path.isdir(folder) else []
        scripts = os.path.realpath(sysconfig.get_path("scripts"))
        return [os.path.join(scripts, name) for name in names if os.path.basename(name) == name]


def files_of_module(path):
    """Return the files of a package or module, without its suffix; a link itself."""
    found = [path + suffix for suffix in MODULE_SUFFIXES]
    if os.path.islink(path) or not os.path.isdir(path):
        return [*found, path]
    for folder, folders, names in os.walk(path):
        found += [os.path.join(folder, name) for name in names]
        found += [os.path.join(folder, name) for name in folders if os.path.islink(os.path.join(folder, name))]
    return found


class Linked(Legacy):
    """A distribution that a line of easy-install.pth adds to the search path: an egg, or a checkout."""

    def __init__(self, folder, entry):
        # what is removed of it, beside the line
        self.path = os.path.join(folder, entry)
        self.path_file = os.path.join(folder, PATH_FILE)
        self.is_egg = entry.endswith(".egg")
        name = entry.partition("-")[0] if self.is_egg else entry[: -len(".egg-link")]
        if self.is_egg:
            root, self.line = self.path, "./" + entry
            info = os.path.join(root, "EGG-INFO")
        else:
            try:
                text = read_plain(self.path, 0)[0].decode("utf-8", "surrogateescape")
                root = self.line = text.partition("\n")[0].strip()
            except OSError:
                root = self.line = ""
            info = os.path.join(root, name.replace("-", "_") + ".egg-info")
        super().__init__(root, info)
        self.project = self.project or canonical(name)


def linked_in(folder):
    """Return the distributions that easy-install.pth of a folder may have lines of."""
    entries = sorted(entry for entry in os.listdir(folder) if entry.endswith((".egg", ".egg-link")))
    return [Linked(folder, entry) for entry in entries if not entry.startswith("~")]
'

# The beginning of each program that reads or writes notes. A note says from which file a distribution was installed, or how
# it was built; its version does not tell that. The note is the sha256 of the file, or a digest of everything that determines
# the build. It lies in the .dist-info. RECORD lists it, so pip removes it with the distribution. A note that RECORD does not
# list is ignored.
notes=$unlinked'
import base64, csv, hashlib, io, json, os, re, sys
from importlib import metadata
from pip._vendor.packaging.version import Version

NOTE = "ascend-lock.txt"


class Pin:
    """A pin of a requirements file."""

    def __init__(self, name, version):
        self.name, self.version = name, version
        # what is noted of it: these hashes, or the key of how it is built
        self.hashes, self.key = [], ""
        self.is_editable, self.variant = False, ""
        # whether what is installed from a repository changes its files
        self.is_rewritten = False
        self.lines = []

    def note(self):
        return self.key or " ".join(sorted(self.hashes))

    def is_as_locked(self):
        """Return whether it is installed in its version, from its file or by its build, and as its variant.

        None of its files may be missing: pip removes one with the distribution that had it before.
        What cannot be read is not: nothing is there, or what an interrupted installation has left half-written.
        """
        try:
            found = metadata.distribution(self.name)
            if Version(found.version) != Version(self.version) or read_note(found) != self.note():
                return False
            if not self.is_rewritten and not has_files(found):
                return False
            if self.is_editable:
                with open(os.path.join(sys.prefix, "src", self.name, ".git", "ascend-lock")) as file:
                    if file.read().strip() != self.note():
                        return False
            return not self.variant or self.variant in json.loads(found.read_text("variant.json"))["variants"]
        except Exception:
            return False


def has_files(found):
    """Return whether all files of a distribution are there that RECORD has, with its commands, besides compiled ones."""
    rows = csv.reader(io.StringIO(found.read_text("RECORD"), newline=""))
    paths = [row[0] for row in rows if row and not row[0].endswith(".pyc")]
    root = str(found.locate_file(""))
    commands = {point.name for point in found.entry_points if point.group in ("console_scripts", "gui_scripts")}
    # pip names its own after this Python
    commands = {name for name in commands if not re.fullmatch(r"(pip|easy_install)-?[0-9.]*", name)}
    # a RECORD without them is still that of the wheel
    if not commands.issubset(map(os.path.basename, paths)):
        return False
    return all(os.path.lexists(os.path.join(root, path)) for path in paths)


def read_pins(path):
    """Return the pins of a requirements file, by name."""
    pins, variants, keys, rewritten, pin = {}, {}, {}, {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            said = re.match(r"# ([a-z0-9][a-z0-9-]*)==\S+ is (the variant|built as|rewritten by) ([0-9a-z_.-]+)", line)
            if said:
                {"built as": keys, "rewritten by": rewritten, "the variant": variants}[said[2]][said[1]] = said[3]
            found = re.match(r"([a-z0-9][a-z0-9-]*)==(\S+)(?:  # source (\S+)( editable)?)?", line)
            if found:
                pin = pins[found[1]] = Pin(found[1], found[2])
                pin.key = found[3] or keys.get(pin.name, "")
                pin.is_editable, pin.variant = bool(found[4]), variants.get(pin.name, "")
                pin.is_rewritten = pin.name in rewritten
            if pin and not line.lstrip().startswith("#"):
                pin.lines.append(line)
                pin.hashes += re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
    return pins


def entry(found, name):
    """Return the path that RECORD has of a file beside the metadata of a distribution, None without one."""
    row = re.search(r"(?m)^([^/\n\"]+\.dist-info/%s)," % re.escape(name), found.read_text("RECORD") or "")
    return row and row[1]


def read_note(found):
    """Return the note of a distribution, empty if it has none that RECORD lists."""
    return (found.read_text(NOTE) or "").strip() if entry(found, NOTE) else ""


def hash_and_size(path):
    """Return the hash and the size of a file as RECORD has them."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            digest.update(chunk)
            size += len(chunk)
    return "sha256=" + base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode(), str(size)


def complete(found, info, rows):
    """Write hash and size into the rows of RECORD that have no hash: a wheel may bring none of a file, or no row.

    RECORD itself has none, nor have its signatures, and Python compiles a module again whenever it likes.
    """
    without = [f"{info}/{name}" for name in ("RECORD", "RECORD.jws", "RECORD.p7s")]
    for row in rows:
        path = found.locate_file(row[0])
        is_compiled = row[0].endswith(".pyc") and "__pycache__/" in row[0]
        if not row[1] and not is_compiled and row[0] not in without and os.path.isfile(path):
            row[1:] = hash_and_size(path)


def write_beside(found, texts):
    """Write files beside the metadata of a distribution, and list them in RECORD; texts has them by name.

    RECORD is the first, so that pip removes whatever is there if this is killed, and the note is the last.
    """
    info = os.path.dirname(entry(found, "RECORD"))
    folder = os.path.join(inside(str(found.locate_file(""))), info)
    paths = {name: f"{info}/{name}" for name in texts}
    with open(os.path.join(folder, "RECORD"), encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row and row[0] not in paths.values()]
    complete(found, info, rows)
    for name, text in texts.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append([paths[name], f"sha256={digest}", str(len(text.encode()))])
    whole = io.StringIO(newline="")
    csv.writer(whole, lineterminator="\n").writerows(rows)
    replace(os.path.join(folder, "RECORD"), whole.getvalue().encode())
    with within(folder):
        for name in sorted(texts, key=lambda name: name == NOTE):
            create(name, texts[name].encode())
'

# Print the names of the distributions in requirements files that are not installed as locked.
missing() { # requirements files
    # -I: modules in the current folder or on PYTHONPATH do not count as installed
    "$python" -I - "$notes" "$@" 3>&1 >/dev/null <<'EOF'
import sys

exec(sys.argv.pop(1))
sys.stdout = open(3, "w", encoding="utf-8", errors="backslashreplace")  # code that runs at each start may have printed
for path in sys.argv[1:]:
    for pin in read_pins(path).values():
        if not pin.is_as_locked():
            print(pin.name)
EOF
}

# Print the distributions that are installed, but not as locked: name, version, version of the lock.
replaced() { # requirements files
    "$python" -I - "$notes" "$@" 3>&1 >/dev/null <<'EOF'
import sys

exec(sys.argv.pop(1))
sys.stdout = open(3, "w", encoding="utf-8", errors="backslashreplace")
for path in sys.argv[1:]:
    for pin in read_pins(path).values():
        try:
            version = str(Version(metadata.version(pin.name)))
        except Exception:  # it is not there, or half-written
            continue
        if not pin.is_as_locked():
            print(pin.name, version, str(Version(pin.version)), sep="\t")
print("checked")
EOF
}

# Print the lines of a requirements file about distributions that are not installed as locked.
left_of() { # Python, requirements file
    "$1" -I - "$notes" "$here/$2" 3>&1 >/dev/null <<'EOF'
import sys

exec(sys.argv.pop(1))
sys.stdout = open(3, "w", encoding="utf-8", errors="backslashreplace")
for pin in read_pins(sys.argv[1]).values():
    if not pin.is_as_locked():
        print("".join(pin.lines), end="")
EOF
}

if [ -n "$wheelhouse" ]; then
    if [ ! -d "$wheelhouse" ]; then
        refuse "the --wheelhouse folder ${wheelhouse} does not exist" "" \
        "--wheelhouse 指定的目录 ${wheelhouse} 不存在" ""
    else
        wheelhouse=$(canonical "$wheelhouse") ||
            fail "the --wheelhouse folder cannot be entered" "" \
        "无法进入 --wheelhouse 指定的目录" ""
    fi
fi

# A wheel that was built before on a machine like this one is installed in place of a new build.
if [ -n "$build_wheels" ]; then
    build_wheels=$(canonical "$build_wheels") || fail "the built wheels cannot be kept in the --build-wheels folder: see above" "" \
        "无法将构建出的 wheel 保存到 --build-wheels 指定的目录：见上文" ""
    [ "$dry_run" = yes ] || "$python" -I -S "$here/verify.py" --lang "$lang" --keep-wheels "$build_wheels" ||
        refuse "the built wheels cannot be kept in the --build-wheels folder: see above" "" \
        "无法将构建出的 wheel 保存到 --build-wheels 指定的目录：见上文" ""
    built=$build_wheels
elif [ -n "$built" ]; then
    if [ -d "$built" ]; then built=$(canonical "$built"); else refuse "the --built folder ${built} does not exist" "" \
        "--built 指定的目录 ${built} 不存在" ""; fi
elif [ -n "$wheelhouse" ] && [ -d "$wheelhouse/built" ]; then
    built=$wheelhouse/built
fi
# Print the path of the wheel that was built of each distribution. Fail, and say why, unless there are all.
built_wheels() { # distributions
    [ -n "$built" ] && "$python" -I -S "$here/verify.py" --lang "$lang" --built-wheels "$built" "$@"
}

# Tell whether a compiler works. What a build needs of the machine is checked before anything is downloaded.
compiles() { # language, header, compilers
    local compiler
    for compiler in "${@:3}"; do
        if printf '#include %s\n' "$2" | "$compiler" -x "$1" -fsyntax-only - 2>/dev/null; then return 0; fi
    done
    return 1
}
# Tell whether the machine has what a build needs.
on_machine() { # what is needed
    # shellcheck disable=SC2086  # several words: either the variable's command, or the usual names
    case $1 in
        c) compiles c '<stdlib.h>' ${CC:-cc gcc clang} ;;
        c++) compiles c++ '<string>' ${CXX:-c++ g++ clang++} ;;
        python-headers) "$python" -I -c 'import os, sys, sysconfig
sys.exit(not os.path.isfile(os.path.join(sysconfig.get_path("include"), "Python.h")))' ;;
        *) command -v "$1" >/dev/null ;;
    esac
}
on_machine c++ || [ -z "$(missing "$here/stages/2.txt" 2>/dev/null || echo unknown)" ] ||
    built_wheels arctic-inference >/dev/null 2>&1 || mismatch 'building arctic-inference needs a C++ compiler, which this machine lacks or cannot run' 'apt-get install g++, or dnf install gcc-c++; or set CXX' '构建 arctic-inference 需要 C++ 编译器，而本机没有，或者无法运行' 'apt-get install g++，或 dnf install gcc-c++；也可用变量 CXX 指定'
on_machine python-headers || [ -z "$(missing "$here/stages/2.txt" 2>/dev/null || echo unknown)" ] ||
    built_wheels arctic-inference >/dev/null 2>&1 || mismatch 'building arctic-inference needs the header files of Python, which this machine lacks or cannot run' 'apt-get install python3.11-dev, or dnf install python3-devel' '构建 arctic-inference 需要 Python 的头文件，而本机没有，或者无法运行' 'apt-get install python3.11-dev，或 dnf install python3-devel'
# Print what pip must not replace: a line with the fault, the project and a path.
#   unlisted    distutils or an old setuptools installed it without a list of its files: pip would refuse, or leave modules
#   unrecorded  its RECORD is missing
#   linked      its metadata is a link, through which pip would write
#   unowned     conda added modules to it that its RECORD lacks: pip would leave them
#   special     it is a pipe or a device, at which pip would wait
#   outside     a folder of the environment leads out of it: what a killed pip leaves there would not be removed
irreplaceable() { # names of what must not be installed, requirements files
    "$python" -I - "$unlinked" "$legacy" "$@" 3>&1 >/dev/null <<'EOF'
import csv, json, sys

exec(sys.argv.pop(1))
exec(sys.argv.pop(1))
sys.stdout = open(3, "w", encoding="utf-8", errors="backslashreplace")
absent, *paths = sys.argv[1:]
ours = set(absent.split())
for path in paths:
    with open(path, encoding="utf-8") as file:
        ours.update(re.findall(r"(?m)^([a-z0-9][a-z0-9-]*)==", file.read()))
prefix = os.path.realpath(sys.prefix) + os.sep


def tell(fault, project, path):
    """Write a row. The path may have any character, such as a line break."""
    print(fault, project, printable(path), sep="\t")


def rows_of(info):
    """Return the paths in a RECORD; none if it cannot be read."""
    try:
        text = read_plain(os.path.join(info, "RECORD"))[0].decode("utf-8", "surrogateescape")
        rows = [row[0] for row in csv.reader(text.splitlines()) if row]
    except (OSError, csv.Error):
        return set()
    return {os.path.normpath(os.path.join(os.path.dirname(info), row)) for row in rows}


def files_of_conda():
    """Return the files of each package of conda, as sets of paths."""
    folder = os.path.join(prefix, "conda-meta")
    found = []
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else ()):
        try:
            files = json.loads(read_plain(os.path.join(folder, name))[0])["files"]
            found.append({os.path.normpath(os.path.join(prefix, file)) for file in files})
        except (OSError, ValueError, KeyError, TypeError):
            pass
    return found


def unowned(info, root):
    """Return the modules in site-packages that conda lists with a distribution, and RECORD does not."""
    suffixes = tuple(importlib.machinery.all_suffixes())
    found = set()
    for files in packages:
        if os.path.join(info, "RECORD") in files:
            found |= {path for path in files if path.startswith(root + os.sep) and path.endswith(suffixes)}
    found = {path for path in found - rows_of(info) if "/__pycache__/" not in path and os.path.lexists(path)}
    return sorted(found)


def special_in(path):
    """Return the pipes and devices in metadata that is a folder, or the metadata itself."""
    names = sorted(os.listdir(path)) if os.path.isdir(path) else [""]
    paths = [os.path.join(path, name) if name else path for name in names]
    return [one for one in paths if os.path.exists(one) and not os.path.isdir(one) and not os.path.isfile(one)]


packages = files_of_conda()
for path in sorted({sysconfig.get_path(name) for name in ("purelib", "platlib", "scripts")}):
    if path.startswith(os.path.join(sys.prefix, "")) and not os.path.realpath(path).startswith(prefix):
        tell("outside", "-", path)
for root in sorted({os.path.realpath(sysconfig.get_path(name)) for name in ("purelib", "platlib")}):
    # pip leaves what is in the folders of others
    for entry in sorted(os.listdir(root) if root.startswith(prefix) else ()):
        path = os.path.join(root, entry)
        if entry.startswith("~") or not entry.endswith((".dist-info", ".egg-info")):
            continue
        project = canonical(entry.partition("-")[0])
        for special in special_in(path):
            tell("special", project, special)
        if entry.endswith(".dist-info"):
            record = os.path.join(path, "RECORD")
            if project not in ours:
                continue
            if os.path.islink(path):
                tell("linked", project, path)
                continue
            if os.path.islink(record):
                tell("linked", project, record)
                continue
            try:
                installer = read_plain(os.path.join(path, "INSTALLER"), 0)[0].decode("utf-8", "replace").strip()
            except OSError:
                continue  # an installation that was cut off, which is removed
            # that of pip and uv is removed
            if installer not in ("pip", "uv") and not os.path.lexists(record):
                tell("unrecorded", project, path)
            if installer == "conda":
                for module in unowned(path, root)[:1]:
                    tell("unowned", project, module)
        elif entry.endswith(".egg-info"):
            found = Legacy(root, path)
            called = entry[: -len(".egg-info")]
            project = found.project or project
            # pip takes one without a version for that of a checkout
            if project in ours and (not found.is_listed() or canonical(called) == project):
                tell("unlisted", project, path)
print("checked")
EOF
}
rows=
if [ "$found" = 3.11 ]; then # any other Python is refused
    rows=$(rows_of irreplaceable triton "$here/stages/1.txt" "$here/stages/2.txt" "$here/stages/3.txt" "$here/stages/4.txt" "$here/stages/5.txt" "$here/stages/6.txt" "$here/stages/6.pytorch-cpu.txt" "$here/stages/7.txt" "$here/stages/8.txt") ||
        fail "cannot determine what is already installed" "see the message above" \
        "无法确定已经安装了哪些软件包" "见上文的消息"
fi
while IFS=$'\t' read -r state project path; do
    case $state in
        unlisted) refuse "pip cannot replace ${project}, which distutils or an old setuptools installed: nothing says which files are its (${path})" "begin with an empty environment: ${python} -m venv new-env, and --python new-env/bin/python; or remove its files and ${path} yourself" \
        "pip 无法替换 ${project}：它由 distutils 或旧版 setuptools 安装，没有记录哪些文件属于它（${path}）" "请从空环境开始：${python} -m venv new-env，再传入 --python new-env/bin/python；或自行删除它的文件和 ${path}" ;;
        unrecorded) refuse "pip cannot replace ${project}: the list of its files is missing, ${path}/RECORD" "begin with an empty environment: ${python} -m venv new-env, and --python new-env/bin/python; or remove its files and ${path} yourself" \
        "pip 无法替换 ${project}：缺少它的文件列表 ${path}/RECORD" "请从空环境开始：${python} -m venv new-env，再传入 --python new-env/bin/python；或自行删除它的文件和 ${path}" ;;
        outside) refuse "${path} is behind a link out of the environment, where a pip that is interrupted would leave files that nothing finds again" "make the folder itself a part of the environment; or begin with an empty environment: ${python} -m venv new-env, and --python new-env/bin/python" \
        "${path} 经由链接位于环境之外：pip 若在那里被中断，留下的文件无法再找到" "请让该目录本身位于环境之内；或从空环境开始：${python} -m venv new-env，再传入 --python new-env/bin/python" ;;
        linked) refuse "the metadata of ${project} is a link, through which pip would write elsewhere: ${path}" "remove the link; or begin with an empty environment: ${python} -m venv new-env, and --python new-env/bin/python" \
        "${project} 的元数据是链接，pip 会经由它写到别处：${path}" "请删除该链接；或从空环境开始：${python} -m venv new-env，再传入 --python new-env/bin/python" ;;
        special) refuse "${path} is no plain file, so pip would wait for what somebody writes into it" "remove it" \
        "${path} 不是普通文件，pip 会一直等待有人写入" "请删除它" ;;
        unowned) refuse "pip cannot replace ${project}, which conda installed: it would leave a module that its RECORD lacks, ${path}" "remove the package with conda; or begin with an empty environment: ${python} -m venv new-env, and --python new-env/bin/python" \
        "pip 无法替换由 conda 安装的 ${project}：它会留下 RECORD 中没有的模块 ${path}" "用 conda 删除该软件包；或者从空环境开始：${python} -m venv new-env，再用 --python new-env/bin/python" ;;
    esac
done <<<"$rows"
if [ "$wrong" -gt 0 ] && [ "$dry_run" = no ]; then exit 1; fi
for line in ${machine[@]+"${machine[@]}"} "Python: $found ($python)"; do show '' "$line"; done

# --- 2. the stages

# Set `sources` to the options of pip that say where the files of a requirements file are: in the wheelhouse, otherwise on the one index that they are locked from
sources_of() { # requirements file
    sources=()
    nested=() # for a pip that a build starts, which inherits no option: it finds no index, or that of pip's settings
    if [ -n "$wheelhouse" ]; then
        sources=(--no-index --find-links "$scratch/files")
        nested=(PIP_NO_INDEX=1)
        return
    fi
    case $1 in
        # pytorch-cpu
        stages/3.txt | stages/6.pytorch-cpu.txt | stages/build-requirements.pytorch-cpu.txt) sources=(--index-url https://download.pytorch.org/whl/cpu/) nested=(PIP_INDEX_URL=file:///dev/null) ;;
    esac
}

# End after Ctrl-C.
interrupted() {
    say "interrupted; run install.sh again to continue" "已中断；重新运行 install.sh 即可继续" >&2
    exit 130
}

# A pip that notes each file of the environment before it writes the file. pip writes RECORD last. If it is killed before,
# nothing else says which files are of the release. An audit hook of Python tells which files it opens.
noting='
import os, runpy, stat, sys

prefix = os.path.realpath(sys.prefix) + os.sep
folders = {}


def open_journal():
    """Return a descriptor of the file for the notes, which is no link and has no other name: a new one if it has."""
    path = prefix + ".ascend-lock-files"
    how = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        found = os.open(path, how)
        state = os.fstat(found)
        if stat.S_ISREG(state.st_mode) and state.st_nlink == 1 and state.st_uid == os.geteuid():
            return found
        os.close(found)
    except OSError:
        pass
    if os.path.lexists(path):
        os.remove(path)
    return os.open(path, how | os.O_CREAT | os.O_EXCL, 0o666)


journal = open_journal()


last = []


def note(event, values):
    is_folder = event == "os.mkdir"
    is_file = event == "open" and str(values[1])[:1] in ("w", "x")
    if not (is_folder or is_file or event == "os.rename") or not isinstance(values[0], str):
        return
    # the inode of the file before, which is there by now, tells it from what somebody puts in its place later
    if last:
        try:
            os.write(journal, b"%d" % os.lstat(last.pop()).st_ino + bytes(1))
        except OSError:
            pass
    if event == "os.rename":
        return
    folder, name = os.path.split(values[0].rstrip(os.sep))
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    if (folders[folder] + os.sep).startswith(prefix):
        path = os.path.join(folders[folder], name)
        os.write(journal, os.fsencode(path) + b"/" * is_folder + bytes(1))
        if not is_folder:
            last[:] = [path]


sys.addaudithook(note)
runpy.run_module("pip", run_name="__main__", alter_sys=True)
'

# Run a command. A dry run shows it, so that it can be pasted; of a function of this file it shows the name.
shown=no
watching=
run() {
    local word line='' at_word words=("$@")
    if [ "$dry_run" = no ]; then
        for ((at_word = 2; at_word < $#; at_word++)); do
            if [ "${words[*]:at_word - 2:3}" = '-m pip install' ]; then
                words[at_word - 2]=-c words[at_word - 1]=$noting
            fi
        done
        if [ -n "$watching" ]; then watch "${words[@]}"; else "${words[@]}"; fi
        return
    fi
    # Nobody can run the commands on a machine that is unfit: the stages tell enough.
    if [ "$wrong" -gt 0 ]; then return; fi
    case "$*" in *'$scratch'*)
        if [ "$shown" = no ]; then say "would run: scratch=\$(mktemp -d)" "将会执行：scratch=\$(mktemp -d)"; fi
        shown=yes
    esac
    for word in "$@"; do
        printf -v word %q "$word"
        case $word in *'\$scratch'*) word=${word//'\$scratch'/'"$scratch"'} word=${word//'\*'/'*'} ;; esac
        line+=" $word"
    done
    if [ "$(type -t "$1")" = function ]; then say "would do: ${line# }" "将会：${line# }"; else say "would run: ${line# }" "将会执行：${line# }"; fi
}

# Install with pip, and say how far it is, since pip itself says nothing while it unpacks. Each distribution gets its note when
# pip has finished it. So the next run installs none of these again if pip is killed.
watched() { # requirements files, Python of the environment that they are installed into, a command that calls `run`
    watching=$1 watcher=$2
    "${@:3}"
    watching=
}
# Run a pip that installs, with notes and progress.
watch() { # command
    "$watcher" -I - "$notes" "$here" "$watching" \
        "$(say "pip downloads and installs %d distributions: a few minutes, or half an hour on a slow network or disk" "pip 正在下载并安装 %d 个软件包：需要几分钟，网络或磁盘较慢时可能需要半小时")" \
        "$(say "%d of %d installed after %d s" "已安装 %d / %d，用时 %d 秒")" "$@" <<'EOF'
import importlib, signal, subprocess, sys, time

exec(sys.argv.pop(1))
here, files, at_first, then, *command = sys.argv[1:]
pins = {}
for path in files.split():
    pins.update(read_pins(os.path.join(here, path)))


def state_of(distribution):
    """Return what tells the RECORD of a distribution from any other that was in its place: time and inode."""
    state = os.stat(distribution.locate_file(entry(distribution, "RECORD")))
    return state.st_mtime_ns, state.st_ino


def installed():
    """Return the distributions of these pins that are there in whole, by name, each with its state."""
    found = {}
    importlib.invalidate_caches()
    for distribution in metadata.distributions():
        try:
            name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
            # pip writes both last, but a wheel may have them, too
            if name in pins and name not in found and distribution.read_text("INSTALLER"):
                found[name] = (distribution, state_of(distribution))
        except Exception:  # half written
            pass
    return found


def note_new():
    """Note from which file each distribution is that pip has installed since the last call.

    While pip runs, it may still be about the one with the newest RECORD, which can be that of the wheel itself.
    """
    new = {name: found for name, found in installed().items() if found[1] != before.get(name)}
    newest = max((state[0] for _, state in new.values()), default=0)
    for name, (distribution, state) in new.items():
        pin = pins[name]
        try:
            if pip.returncode is None and state[0] == newest:
                continue
            if Version(distribution.version) == Version(pin.version):
                write_beside(distribution, {NOTE: pin.note() + "\n"})
                before[name] = state_of(distribution)
                noted.add(name)
        except Exception:
            if pip.returncode is not None:
                raise
            # pip is about to replace it; it is noted when that is done


before = {name: state for name, (_, state) in installed().items()}
# Only what is not as locked counts. If a stage is built again, pip is also asked for the rest of it.
wanted = {name for name, pin in pins.items() if not pin.is_as_locked()}
total, noted = len(wanted), set()
begun = time.monotonic()
if total > 20:
    print(at_first % total, flush=True)
signal.signal(signal.SIGINT, lambda *_: None)  # pip gets it, too, and ends in its own way
pip = subprocess.Popen(command, close_fds=False)
while True:
    try:
        status = pip.wait(timeout=30)
        note_new()
        sys.exit(abs(status))
    except subprocess.TimeoutExpired:
        note_new()
        print(then % (len(noted & wanted), total, time.monotonic() - begun), flush=True)
EOF
}

# Install what is not as locked, with a pip for each file. pip alone would skip every distribution of the right version, from
# whatever file it is.
install_wheels() { # Python, requirements files
    local file wanted
    for file in "${@:2}"; do
        sources_of "$file"
        wanted=$here/$file
        if [ "$dry_run" = no ]; then
            wanted=$scratch/wanted.txt
            left_of "$1" "$file" >"$wanted"
            [ -s "$wanted" ] || continue
        fi
        watched "$file" "$1" run "$1" -I -m pip install --no-deps --only-binary :all: --force-reinstall --require-hashes \
            ${sources[@]+"${sources[@]}"} -r "$wanted"
    done
}

# Run a command in a folder.
run_at() { # folder, command
    if [ "$dry_run" = yes ]; then run cd "$1"; "${@:2}"; else (cd "$1" && "${@:2}"); fi
}

if [ "$dry_run" = yes ]; then
    scratch='$scratch' # no such folder is made, and no files are found in it
else
    if ! scratch=$(mktemp -d) || ! scratch=$(canonical "$scratch"); then
        fail "there is no folder for temporary files" "set TMPDIR to a folder with free space that you can write to" \
        "没有可以存放临时文件的目录" "请将 TMPDIR 设为有可用空间且可写的目录"
    fi
    trap finish EXIT
fi
# pip would read a page (.html) in the wheelhouse as one of an index, and ask the hosts that it links to. So pip gets a folder
# that has nothing but links to wheels and archives.
if [ -n "$wheelhouse" ]; then
    run mkdir "$scratch/files"
    run find "$wheelhouse/" -mindepth 1 -maxdepth 1 -xtype f -regextype posix-extended \
        -regex '.*\.(whl|zip|tar|tgz|tbz|txz|tlz|tar\.(gz|bz2|xz|lz|lzma))' -exec ln -s -t "$scratch/files" -- '{}' +
fi

# Make a home for builds. It has what the user's home has, except for two files: in these, distutils (a part of setuptools) and
# numpy look for options of every build, which can add files to what is built.
make_home() { # folder
    local theirs
    mkdir "$1"
    theirs=$(readlink -f -- "${HOME:-~}") || return 0
    [ ! -d "$theirs" ] || find "$theirs/" -mindepth 1 -maxdepth 1 ! -name .pydistutils.cfg ! -name .numpy-site.cfg \
        -exec ln -s -t "$1" -- {} + || true
}
run make_home "$scratch/home"

# Run a command of a build. It gets no modules of the user's (PYTHONPATH, ~/.local) and, if pip may ask no index, no
# address or password of one. CMake and other build tools find Python by VIRTUAL_ENV before they look on PATH.
build_in() { # environment, variables and command
    local environment=$1 name hidden=(-u CONDA_PREFIX -u PYTHONPATH)
    shift
    for name in "${!PYTHON@}"; do
        if [ "$name" != PYTHONPATH ]; then hidden+=(-u "$name"); fi
    done
    case " $* " in *' PIP_NO_INDEX=1 '*)
        for name in "${!PIP_@}"; do
            case $name in PIP_CONFIG_FILE | PIP_DISABLE_PIP_VERSION_CHECK | PIP_NO_INPUT) ;; *) hidden+=(-u "$name") ;; esac
        done
    esac
    # the date that files in a wheel get: with that of the day, no wheel would be built twice alike
    run env "${hidden[@]}" HOME="$scratch/home" PYTHONNOUSERSITE=1 SOURCE_DATE_EPOCH=315532800 \
        VIRTUAL_ENV="$environment" PATH="$environment/bin:$PATH" "$@"
}

# What the next stage builds as wheels, which --build-wheels keeps
kept=()

# Link the wheels of a stage that were built before. Fail unless there are all.
take_built() { # number of the stage, distributions
    local path paths
    if [ -n "$build_wheels" ]; then
        paths=$(built_wheels "${@:2}" 2>/dev/null) || return 1
    else
        paths=$(built_wheels "${@:2}") || return 1
    fi
    run mkdir "$scratch/wheels-$1"
    while IFS= read -r path; do
        run ln -s -t "$scratch/wheels-$1" -- "$path"
    done <<<"$paths"
    say "not built, because ${built} has wheels of them: ${*:2}" "没有构建，直接使用 ${built} 中的 wheel：${*:2}"
}

# Keep wheels that have just been built, for other machines (--build-wheels).
keep_built() { # folder, pattern of wheels in there
    local IFS='' wheels
    [ -n "$build_wheels" ] || return 0
    # shellcheck disable=SC2206  # it is a pattern
    wheels=("$1"/$2)
    "$python" -I -S "$here/verify.py" --lang "$lang" --keep-wheels "$build_wheels" "${wheels[@]}" ||
        fail "the built wheels cannot be kept in the --build-wheels folder: see above" "" \
        "无法将构建出的 wheel 保存到 --build-wheels 指定的目录：见上文" ""
}

# What the backend of a source archive requires beyond its pyproject.toml (PEP 517, get_requires_for_build_wheel)
# and is not installed. Without isolation pip does not ask for it; with isolation pip would download it unpinned.
asks_beyond='
import json, os, shutil, subprocess, sys, tempfile

# in a process of its own, because setuptools cannot be imported after pip
hook = """
import contextlib, importlib, json, sys
backend, path = json.loads(sys.argv[1])
sys.path[:0] = path
module, _, names = backend.partition(":")
with contextlib.redirect_stdout(sys.stderr):
    backend = importlib.import_module(module)
    for name in filter(None, names.split(".")):
        backend = getattr(backend, name)
    asked = getattr(backend, "get_requires_for_build_wheel", lambda settings: [])(None)
print(json.dumps(asked))
"""
with tempfile.TemporaryDirectory() as folder:
    shutil.unpack_archive(sys.argv[1], folder)
    top = os.path.join(folder, *os.listdir(folder))
    from importlib import metadata
    from pip._vendor.packaging.requirements import Requirement
    try:
        import tomllib
    except ModuleNotFoundError:
        from pip._vendor import tomli as tomllib
    system = {}
    if os.path.exists(os.path.join(top, "pyproject.toml")):
        with open(os.path.join(top, "pyproject.toml"), "rb") as file:
            system = tomllib.load(file).get("build-system", {})
    path = [os.path.join(top, part) for part in system.get("backend-path", [])]
    told = json.dumps([system.get("build-backend", "setuptools.build_meta:__legacy__"), path])
    asked = subprocess.run([sys.executable, "-I", "-c", hook, told], cwd=top, stdout=subprocess.PIPE)
    if asked.returncode:
        sys.exit(1)
    missing = []
    for need in map(Requirement, json.loads(asked.stdout)):
        if need.marker is None or need.marker.evaluate():
            try:
                there = need.specifier.contains(metadata.version(need.name), prereleases=True)
            except metadata.PackageNotFoundError:
                there = False
            missing += [] if there else [str(need)]
sys.stdout.reconfigure(errors="backslashreplace")
print(", ".join(missing), end="")
'

# Make an environment with the tools of a build, which are installed by hash. Then the build downloads nothing: pip would not
# check hashes of what an isolated build downloads.
prepare_builder() { # requirements files of the tools; empty where the lock has none: those of this environment are used
    if [ -z "$1" ]; then
        builder=$(dirname "$(dirname "$python")")
        with=$python
        return
    fi
    builder=$scratch/${1%.txt}
    with=$builder/bin/python
    if [ -e "$builder/complete" ]; then return; fi
    run "$python" -I -m venv --clear "$builder"
    install_wheels "$with" "$@"
    run touch "$builder/complete"
}

# Tell whether a distribution is installed.
is_there() { "$python" -I -c 'import sys; from importlib import metadata; metadata.version(sys.argv[1])' "$1" 2>/dev/null; }

# Print the other distributions that share files with one, as pip names them.
sharing() { # distribution
    "$python" -I - "$unlinked" "$1" 3>&1 >/dev/null <<'EOF'
import sys
from importlib import metadata

exec(sys.argv.pop(1))
sys.stdout = open(3, "w", encoding="utf-8", errors="backslashreplace")


def name_of(found):
    """Return the normalized name of a distribution; empty if its metadata cannot be read."""
    try:
        return re.sub(r"[-_.]+", "-", found.metadata["Name"] or "").lower()
    except Exception:
        return ""


def files_of(found):
    """Return the paths in RECORD; none if it cannot be read."""
    try:
        return set(map(str, found.files or ()))
    except Exception:
        return set()


gone = files_of(metadata.distribution(sys.argv[1]))
for other in metadata.distributions():
    name = name_of(other)
    # pip can remove none of another name
    if is_name(name) and name != sys.argv[1] and gone & files_of(other):
        print(name)
print("checked")
EOF
}

# Remove a distribution that must not be installed. Others that share files with it are removed first, since removing one
# deletes files of the other. The stages install them again.
remove() { # distribution
    local rows shared=()
    is_there "$1" || return 0
    rows=$(rows_of sharing "$1") ||
        fail "cannot determine what is already installed" "see the message above" \
        "无法确定已经安装了哪些软件包" "见上文的消息"
    [ -z "$rows" ] || mapfile -t shared <<<"$rows"
    if [ -n "${shared[*]-}" ]; then run "$python" -I -m pip uninstall -y -- "${shared[@]}"; fi
    run "$python" -I -m pip uninstall -y -- "$1"
}

# Remove what a killed pip left. pip puts what it removes aside under a name such as `~ame`: first the metadata, then the
# files. Of what it installs, it writes RECORD last. If it is killed, files are left that no RECORD lists, and old modules could
# be imported beside the new release.
#
# These files are removed, as pip would have removed them, and then the metadata itself:
#   - files in a RECORD that was put aside, or in one that is unfinished
#   - folders `~...` whose name pip makes of a name in such a RECORD, or of a noted one
#   - files that were noted before pip wrote them (.ascend-lock-files)
#   - files and lines of easy-install.pth that were noted before pip removed them (.ascend-lock-folders): pip may have removed
#     their RECORD first
#   - metadata of pip or uv that has lost its RECORD, since pip replaces nothing without one
# Nothing is removed that RECORD of something installed lists, that is behind a link other than one of the environment itself
# (lib64), or that is another file than the noted one.
# Old installers made `.egg-info` with installed-files.txt or top_level.txt, an `.egg`, or an `.egg-link` to a checkout. Of
# these, what pip would remove is removed.
sweep() { # names of what must not be installed, requirements files
    local told unlisted
    told=$(say "removing %s, left behind by an interrupted pip" "正在删除 %s，它是被中断的 pip 留下的")
    unlisted=$(say "removing %s, which lacks the list of its files, so that pip could not replace it" "正在删除 %s：它缺少文件列表，pip 无法替换它")
    "$python" -I - "$unlinked" "$legacy" "$told" "$unlisted" "$@" <<'PYTHON'
import csv, glob, io, json, os, re, shutil, sys, sysconfig

exec(sys.argv.pop(1))
exec(sys.argv.pop(1))
told, told_unlisted, absent, *paths = sys.argv[1:]
ours = set(absent.split())
for path in paths:
    with open(path, encoding="utf-8") as file:
        ours.update(re.findall(r"(?m)^([a-z0-9][a-z0-9-]*)==", file.read()))
prefix = os.path.realpath(sys.prefix) + os.sep
LEADING = frozenset("-~.=%0123456789")
real_folders = {}


def real(folder):
    """Return the path of a folder without links."""
    if folder not in real_folders:
        real_folders[folder] = os.path.realpath(folder)
    return real_folders[folder]


def is_real(folder):
    """Return whether no part of a folder's path is a link."""
    return real(folder) == folder


def without_own_links(path):
    """Return a path below the environment without the links that the environment itself has, such as lib64 to lib.

    Such a link leads to a folder that site-packages or bin is in. The path is the same if any other link is in it.
    """
    parts = path[len(prefix) :].split(os.sep) if path.startswith(prefix) else []
    for count in range(1, len(parts)):
        folder = prefix + os.sep.join(parts[:count])
        if real(folder) != folder:
            is_own = any((root + os.sep).startswith(real(folder) + os.sep) for root in lasting)
            return os.path.join(real(folder), *parts[count:]) if is_own and real(folder).startswith(prefix) else path
    return path


def in_reach(paths):
    """Return the paths that pip would remove: below the environment and, here, behind no link but its own."""
    found = map(without_own_links, paths)
    return {path for path in found if path.startswith(prefix) and is_real(os.path.dirname(path))}


def is_aside_of(entry, name):
    """Return whether pip makes `entry` of the name of a folder that it puts aside (AdjacentTempDirectory)."""
    if len(name) == 1:
        return entry == "~" + name
    if len(entry) != len(name) or not entry.startswith("~"):
        return False
    differing = [at for at in range(len(name)) if entry[at] != name[at]]
    # it replaces characters from the first one on, but not the last one
    return bool(differing) and differing[-1] < len(name) - 1 and set(entry[: differing[-1] + 1]) <= LEADING


class Record:
    """The record of a distribution, or what is left of it, in a folder whose name may begin with `~`."""

    def __init__(self, root, entry):
        self.root, self.path, self.name = root, os.path.join(root, entry), entry
        self.is_aside = entry.startswith("~")
        rows = self.read()
        self.paths = {without_own_links(os.path.normpath(os.path.join(root, row))) for row in rows or ()}
        self.project = canonical(self.project_name())
        self.is_ours = self.project in ours
        self.may_be = set()
        if self.is_aside and not self.is_named(rows):  # pip had done with it, and was removing it
            project = re.sub(r"[_.]", "-", self.project_name()).lower()
            self.may_be = {name for name in ours if is_aside_of(project, name)}
            self.is_ours = bool(self.may_be)
        # the RECORD of a wheel that pip was unpacking when it was killed
        self.is_begun = os.path.join(self.path, "RECORD") in written
        # pip reads a RECORD that is a link, so it is not lost
        is_lost = rows is None and not os.path.lexists(os.path.join(self.path, "RECORD"))
        self.is_unlisted = is_lost and not self.is_aside and self.installer() in ("pip", "uv")
        self.is_whole = not self.is_aside and not self.is_begun and self.has_ended(rows)

    def read(self):
        """Return the paths of its files, relative to the folder of all, None if there is no list."""
        rows = None
        try:
            text = read_plain(os.path.join(self.path, "RECORD"))[0].decode("utf-8", "replace")
            rows = [row[0] for row in csv.reader(io.StringIO(text, newline="")) if row]
        except (OSError, csv.Error):
            pass
        for row in rows or ():
            if row.endswith(".dist-info/RECORD") and row.count("/") == 1:
                self.name = row.partition("/")[0]  # from before it was put aside
        return rows

    def project_name(self):
        """Return the name of the project, from before the record was put aside if that is known."""
        return self.name[: -len(".dist-info")].rpartition("-")[0]

    def is_named(self, rows):
        """Return whether it is known of which project it is."""
        return rows is not None

    def installer(self):
        """Return the name of what installed the distribution, empty if that is not noted."""
        try:
            return read_plain(os.path.join(self.path, "INSTALLER"), 0)[0].decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def has_ended(self, rows):
        """Return whether all of the distribution was installed: RECORD comes last."""
        if rows is None:  # another installer's way
            return not self.is_unlisted and os.path.exists(os.path.join(self.path, "INSTALLER"))
        # a tool that unpacks wheels of others adds no row, nor does pip before it has ended
        return not self.is_ours or any(row.endswith(".dist-info/INSTALLER") for row in rows)

    def folders(self):
        """Return the folders that it has files in, and its own; those called like it if it is not known."""
        found = {os.path.join(self.root, self.name)}
        found.update(os.path.join(self.root, name.replace("-", "_")) for name in self.may_be)
        for path in self.paths:
            folder = os.path.dirname(path)
            while folder.startswith(prefix) and folder not in lasting and folder not in found:
                found.add(folder)
                folder = os.path.dirname(folder)
        return found


class LegacyRecord(Record):
    """The record of a distribution that was installed before there were wheels: `.egg-info`, a folder or a file."""

    def read(self):
        self.said = Legacy(self.root, self.path)
        return self.said.files()

    def project_name(self):
        # what pip has put in place of its first letters may have a hyphen
        return self.said.project or re.match(r"[-~.=%0-9]*[^-]*", self.name)[0]

    def is_named(self, rows):
        return bool(self.said.project)

    def has_ended(self, rows):
        return True  # it was the first to be written, and nobody writes one now


def record_of(root, entry):
    """Return the record in an entry of a folder of distributions."""
    return (LegacyRecord if entry.endswith(".egg-info") else Record)(root, entry)


def remove(path, why=told):
    """Remove an entry of a folder, and all that is in it; a link itself."""
    print(why % printable(path))
    with within(os.path.dirname(path)):
        name = os.path.basename(path)
        if os.path.islink(name) or not os.path.isdir(name):
            os.remove(name)
        else:
            shutil.rmtree(name)


def tell_removed(path):
    """Note what was removed: of files below a folder of all, once what they are in there."""
    for root in roots:
        if path.startswith(root + os.sep):
            path = os.path.join(root, os.path.relpath(path, root).split(os.sep)[0])
    if path not in told_removed:
        told_removed.add(path)
        print(told % printable(path))


def remove_file(path):
    """Remove a file with what Python compiled of it, and the folders that are empty then."""
    folder, name = os.path.split(path)
    compiled = []
    cache = os.path.join(folder, "__pycache__")
    if name.endswith(".py"):
        compiled = glob.glob(os.path.join(glob.escape(cache), glob.escape(name[: -len(".py")]) + ".*.pyc"))
    if remove_quietly(path):
        tell_removed(path)
    for one in compiled:
        remove_quietly(one)
    for folder in (cache, folder):
        remove_empty(folder)


def remove_empty(folder):
    """Remove a folder and those that it is in, as long as they are empty."""
    while folder.startswith(prefix) and folder not in lasting:
        try:
            with within(os.path.dirname(folder)):
                os.rmdir(os.path.basename(folder))
            tell_removed(folder)
        except FileNotFoundError:
            pass
        except OSError:  # something else is in it, or it is behind a link
            break
        folder = os.path.dirname(folder)


def remove_quietly(path):
    """Remove a file, unless a folder is in its place or it is behind a link. Return whether it was there."""
    try:
        with within(os.path.dirname(path)):
            os.remove(os.path.basename(path))
    except OSError:
        return False
    return True


def identity(path):
    """Return what tells a file from another one in its place, inode and time; None without one."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return [state.st_ino, state.st_mtime_ns]


def put_aside(folders, others):
    """Yield the folders that pip put aside, beside those of ours that they were, unless they may be of others."""
    names = {}
    for folder in folders:
        names.setdefault(os.path.dirname(folder), set()).add(os.path.basename(folder))
    for parent in sorted(names):
        if not is_real(parent) or not os.path.isdir(parent):
            continue
        theirs = {os.path.basename(folder) for folder in others if os.path.dirname(folder) == parent}
        for entry in sorted(os.listdir(parent)):
            path = os.path.join(parent, entry)
            if not entry.startswith("~") or entry.endswith(RECORDS) or os.path.islink(path):
                continue
            is_of_ours = any(is_aside_of(entry, name) for name in names[parent])
            is_of_others = any(is_aside_of(entry, name) for name in theirs)
            if is_of_ours and not is_of_others and os.path.isdir(path):
                yield path


class Note:
    """What pip would remove of what is installed, as it was before pip began. A run that has ended leaves none."""

    PATH = os.path.join(prefix, ".ascend-lock-folders")

    def __init__(self):
        # folders that pip may put aside, and files, each with its identity
        self.folders, self.files = set(), {}
        # of each easy-install.pth its text, and its lines that go: [what they are of, the file, the line]
        self.texts, self.lines = {}, []

    @classmethod
    def read(cls):
        """Return the note of a run that was cut off, an empty one without one that can be read."""
        note = cls()
        try:
            read = json.loads(read_plain(cls.PATH)[0])
            read = {"folders": read} if isinstance(read, list) else read  # as it was at first
            note.folders = {folder for folder in read["folders"] if folder.startswith(prefix)}
            note.files = {path: state for path, state in read.get("files", {}).items() if path.startswith(prefix)}
            note.texts = {path: text for path, text in read.get("texts", {}).items() if os.path.dirname(path) in roots}
            note.lines = [(of, path, line) for of, path, line in read.get("lines", ()) if path in note.texts]
        except (OSError, ValueError, AttributeError, TypeError, KeyError):
            return cls()
        return note

    def add(self, record):
        self.folders |= record.folders()
        self.add_files(record.paths)

    def add_files(self, paths):
        self.files.update((path, state) for path in in_reach(paths) for state in [identity(path)] if state)

    def left(self):
        """Return the paths of the files that are still those which were noted."""
        return in_reach(path for path, state in self.files.items() if identity(path) == state)

    def add_linked(self, linked):
        """Note a distribution that is on the search path by a line of easy-install.pth."""
        self.folders.add(linked.path)
        self.add_files(linked.scripts() if linked.is_egg else {linked.path, *linked.scripts()})
        try:
            self.texts[linked.path_file] = read_plain(linked.path_file)[0].decode("utf-8", "surrogateescape")
        except OSError:
            return
        self.lines.append((linked.path, linked.path_file, linked.line))

    def write(self):
        """Write it. Where that cannot be done, pip can remove nothing either."""
        told = {"folders": sorted(self.folders), "files": self.files, "texts": self.texts, "lines": self.lines}
        with contextlib.suppress(OSError):
            replace(self.PATH, json.dumps(told).encode())

    def finish_lines(self):
        """Remove the lines of what pip has removed, and write again what it was writing when it was killed."""
        for path, text in sorted(self.texts.items()):
            gone = {line for of, file, line in self.lines if file == path and not os.path.lexists(of)}
            try:
                now = read_plain(path)[0].decode("utf-8", "surrogateescape")
            except OSError:
                continue
            wanted = without_lines(text, gone)
            if not wanted.startswith(now):  # it is not cut off: whoever has written it since, the rest is theirs
                wanted = without_lines(now, gone)
            if wanted != now:
                with contextlib.suppress(OSError):
                    replace(path, wanted.encode(errors="surrogateescape"))


def without_lines(text, gone):
    """Return a text without the lines that are these."""
    return "".join(line for line in text.splitlines(keepends=True) if line.strip() not in gone)


def read_files():
    """Return what a pip that was cut off has noted before it wrote it, as far as it is still that: paths, folders' with `/`.

    After the path of a file comes its inode, noted before the next one. The last file may have none.
    """
    try:
        content, journal = read_plain(JOURNAL)
    except OSError:
        return set()
    inodes, last = {}, None
    for entry in content.split(b"\0")[:-1]:
        if entry[:1] == b"/":
            last = os.fsdecode(entry)
            inodes[last] = None
        elif last and entry.isdigit():
            inodes[last] = int(entry)
    found = set()
    for path, inode in inodes.items():
        folder = path.endswith("/")
        normal = os.path.normpath(path)
        # pip changes the lines of easy-install.pth, which is of many
        if not in_reach([normal]) or os.path.basename(normal) == PATH_FILE:
            continue
        state = identity(normal)
        if folder:
            found.add(normal + "/")
        elif state and inode is None and path == last:
            found.add(normal)
        # what somebody has put there since has another inode, or a later time
        elif state and state[0] == inode and state[1] <= journal.st_mtime_ns:
            found.add(normal)
    return found


RECORDS = (".dist-info", ".egg-info")
JOURNAL = os.path.join(prefix, ".ascend-lock-files")
try:
    roots = sorted({inside(sysconfig.get_path(name)) for name in ("purelib", "platlib")})
    lasting = {*roots, inside(sysconfig.get_path("scripts"))}
except OSError as error:
    sys.exit(str(error))
written = read_files()
told_removed = set()
all_kept = set()
noted = Note.read()
to_note = Note()
for root in roots:
    entries = sorted(entry for entry in os.listdir(root) if entry.endswith(RECORDS))
    records = [record_of(root, entry) for entry in entries]
    whole = [record for record in records if record.is_whole]
    kept = {path for record in whole for path in record.paths}
    kept |= {os.path.join(real(os.path.dirname(path)), os.path.basename(path)) for path in kept}
    linked = linked_in(root)
    kept |= {path for one in linked for path in (one.path, *one.scripts())}
    all_kept |= kept
    # the folders called `~…` that something installed has files in
    occupied = {path[: at.end()] for path in kept for at in re.finditer(r"/~[^/]*(?=/)", path)}
    left = [record for record in records if record not in whole and record.path not in occupied]
    left = [record for record in left if not record.is_aside or not os.path.islink(record.path)]
    unfinished = [record for record in left if record.is_ours]
    # a new release that is there in whole was installed after all of the old one had been put aside
    names = {record.project for record in whole}
    gone = [record for record in unfinished if names.isdisjoint({record.project, *record.may_be})]
    for record in gone:
        for path in sorted(in_reach(record.paths) - kept):
            if os.path.dirname(path) != record.path:
                remove_file(path)
    # without a run that was cut off, or its records, what is called `~…` is somebody's
    folders = noted.folders.union(*(record.folders() for record in unfinished))
    others = {folder for record in left if record.is_aside and not record.is_ours for folder in record.folders()}
    for path in put_aside(folders, others):
        if path not in occupied:
            remove(path)
    # what Python was compiling when it was killed
    for folder in sorted(folders | {os.path.dirname(path.rstrip("/")) for path in written}):
        cache = os.path.join(folder, "__pycache__")
        if is_real(cache) and os.path.isdir(cache):
            for name in os.listdir(cache):
                path = os.path.join(cache, name)
                if re.search(r"\.pyc\.[0-9]+$", name) and path not in kept:
                    remove_quietly(path)
    # of a note that was being written
    for record in records:
        path = os.path.join(record.path, "RECORD.new")
        if record.is_ours and is_real(record.path) and os.path.isfile(path) and path not in kept:
            remove_quietly(path)
    for record in whole:
        if record.is_ours:
            to_note.add(record)
    for one in linked:
        if one.project in ours:
            to_note.add_linked(one)
    # the records last: with them, this can be done again
    begun = [record for record in left if record.is_begun and not record.is_ours]
    for record in [*unfinished, *begun]:
        if os.path.lexists(record.path):
            remove(record.path, told_unlisted if record.is_unlisted else told)
for path in sorted((noted.left() | {path for path in written if path[-1] != "/"}) - all_kept):
    remove_file(path)
# pip makes a folder before the first file in it, and Python imports an empty one
for path in sorted((path for path in written if path[-1] == "/"), reverse=True):
    remove_empty(path[:-1])
noted.finish_lines()
if os.path.lexists(JOURNAL):
    os.remove(JOURNAL)
to_note.write()
PYTHON
}

# Remove distributions for good. Their names are noted first, so that the next run finishes a removal that was killed.
remove_all() { # names
    local status=0
    printf '%s\n' "$@" | put .ascend-lock-removed
    sweep "$*"
    "$python" -I -m pip uninstall --quiet --yes -- "$@" || status=$?
    # However pip ended, nothing is left half removed, and no note of files that others may put there later
    sweep "$*"
    rm -f "$environment/.ascend-lock-folders"
    [ "$status" = 0 ] || return "$status"
    rm -f "$environment/.ascend-lock-removed"
}

# Print what --exact removes: what the lock does not have, and what a removal that was killed has left. Tools of an
# environment stay, and what conda has installed. A row is `remove` and a name, or `odd` and the path of metadata whose name
# pip could take for something else.
beyond_lock() { # requirements files
    "$python" -I - "$unlinked" "$environment/.ascend-lock-removed" 'distribute pip pkg-resources setuptools wheel' "$@" 3>&1 >/dev/null <<'EOF'
import os, re, sys, sysconfig
from importlib import metadata

exec(sys.argv.pop(1))
sys.stdout = open(3, "w", encoding="utf-8", errors="backslashreplace")
journal, kept, *paths = sys.argv[1:]
known = set(kept.split())
for path in paths:
    with open(path, encoding="utf-8") as file:
        known.update(re.findall(r"(?m)^([a-z0-9][a-z0-9-]*)==", file.read()))
names = set()
for found in metadata.distributions(path=sorted({sysconfig.get_path(name) for name in ("purelib", "platlib")})):
    try:
        name = re.sub(r"[-_.]+", "-", found.metadata["Name"] or "").lower()
        installer = (found.read_text("INSTALLER") or "").strip()
    except Exception:  # it cannot be read
        name, installer = "", ""
    if installer == "conda":
        continue
    if is_name(name):
        names.add(name)
    else:
        print("odd", printable(str(found._path)), sep="\t")
try:
    text = read_plain(journal)[0].decode("utf-8", "replace")
except OSError:
    text = ""
names.update(name for name in text.split() if is_name(name))
for name in sorted(names - known):
    print("remove", name, sep="\t")
print("checked")
EOF
}

# Announce a stage, and say what it replaces. Fail if nothing is to be done.
stage() { # number, title in each language, requirements files
    local left rows project before after title=${*:at+2:1}
    left=$(missing "${@:4}") ||
        fail "cannot determine what is already installed of stage ${1}" "see the message above" \
        "无法确定第 ${1} 阶段已经安装了哪些软件包" "见上文的消息"
    # with --build-wheels, what is installed already is built again if its wheel was not kept
    if [ -z "$left" ] && [ -n "$build_wheels" ] && [ -n "${kept[*]-}" ] &&
        ! built_wheels "${kept[@]}" >/dev/null 2>&1; then
        left=${kept[*]}
    fi
    kept=()
    if [ -z "$left" ]; then
        say "stage ${1} of 8: ${title}: already installed" "阶段 ${1}/8：${title}：已安装"
        return 1
    fi
    say "stage ${1} of 8: ${title}" "阶段 ${1}/8：${title}"
    rows=$(rows_of replaced "${@:4}") ||
        fail "cannot determine what is already installed of stage ${1}" "see the message above" \
        "无法确定第 ${1} 阶段已经安装了哪些软件包" "见上文的消息"
    while IFS=$'\t' read -r project before after; do
        if [ -z "$project" ]; then
            continue # there are no rows
        elif [ "$before" = "$after" ]; then
            say "installs again ${project} ${after}: its source, its build or its files differ from the lock" "重新安装 ${project} ${after}：它的来源、构建或文件与锁文件不同"
        else
            say "replaces ${project} ${before} by ${after}" "将 ${project} ${before} 替换为 ${after}"
        fi
    done <<<"$rows"
}

# Lock the environment, so that only one install.sh changes it. Every program that this one starts holds the lock, too. So a
# pip that goes on after its install.sh was killed is not disturbed. The kernel releases the lock when the last of them has
# ended. No file is left.
reserve() {
    local others
    exec 9<"$environment"
    # a file system may have no locks
    "$python" -I -c 'import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit(1)
except OSError:
    pass' && return
    others=$(holders)
    fail "another install.sh, or a process that it left behind, is running in ${environment}: process ${others:-?}" "wait until it has ended, then run this again" \
        "另一个 install.sh 或它留下的进程正在 ${environment} 中运行：进程 ${others:-?}" "请等它结束后重新运行"
}
# Print the other processes that hold the lock.
holders() {
    "$python" -I - $$ 3>&1 >/dev/null <<'EOF'
import glob, os, sys

sys.stdout = open(3, "w", encoding="utf-8", errors="backslashreplace")
found = []
for path in glob.glob("/proc/[0-9]*/fd/9"):
    process = path.split("/")[2]
    try:
        if os.path.samefile(path, "/dev/fd/9") and int(process) not in (os.getpid(), os.getppid(), int(sys.argv[1])):
            with open("/proc/%s/comm" % process) as file:
                found.append("%s (%s)" % (process, file.read().strip()))
    except OSError:  # it has ended, or is somebody else's
        pass
print(", ".join(found))
EOF
}

# Undo what pip left, and remove the notes, however this run ends: later, others may put files where the noted ones were. If
# this run is killed, or pip goes on without it, the next run does it.
tidy=no
finish() {
    local others
    if [ "$tidy" = yes ] && others=$(holders) && [ -z "$others" ]; then
        tidy=no
        if sweep_all; then forget; fi
    fi
    rm -rf "$scratch"
}
# Remove what a killed pip left of the lock's distributions.
sweep_all() { sweep triton "$here/stages/1.txt" "$here/stages/2.txt" "$here/stages/3.txt" "$here/stages/4.txt" "$here/stages/5.txt" "$here/stages/6.txt" "$here/stages/6.pytorch-cpu.txt" "$here/stages/7.txt" "$here/stages/8.txt"; }
# Remove the notes about files.
forget() {
    rm -f "$environment/.ascend-lock-folders" "$environment/.ascend-lock-files"
}

if [ "$dry_run" = no ]; then
    trap interrupted INT
    reserve
    sweep_all
    tidy=yes
fi

# triton must not be installed: triton and triton-ascend both install a package named `triton`. Files such as triton/__init__.py and triton/_C/libtriton.so are in both: the one installed last overwrites those of the other, and uninstalling either one deletes files of both. Up to triton-ascend 3.2.0 they must therefore not be in the same environment. On x86_64, torch from PyPI and xgrammar require triton; the guides uninstall it by hand. (triton-ascend-owns-triton)
remove triton

# pip comes first: it installs everything else, and must not replace itself halfway
if stage 1 'pip and setuptools' 'pip 和 setuptools' "$here/stages/1.txt"; then
    install_wheels "$python" stages/1.txt
fi

# built before the rest is downloaded: it needs nothing of this environment, and a build that fails should fail early
kept=(antlr4-python3-runtime arctic-inference pylatexenc)
if stage 2 'antlr4-python3-runtime, arctic-inference and pylatexenc, built from source in a separate environment' 'antlr4-python3-runtime、arctic-inference 和 pylatexenc，在独立的环境中从源码构建' "$here/stages/2.txt"; then
    if ! take_built 2 antlr4-python3-runtime arctic-inference pylatexenc; then
        prepare_builder build-requirements.txt stages/build-requirements.pytorch-cpu.txt
        # with PIP_REQUIRE_HASHES or PIP_NO_INDEX set, a pip that a build calls downloads nothing either
        sources_of stages/2.txt
        build_in "$builder" PIP_REQUIRE_HASHES=1 \
            ${nested[@]+"${nested[@]}"} "$with" -I -m pip download --no-deps \
            --no-build-isolation --use-pep517 --no-binary :all: --no-cache-dir --require-hashes --dest "$scratch/archives-2" \
            ${sources[@]+"${sources[@]}"} -r "$here/stages/2.txt" ||
            fail "the source archives of stage 2 could not be downloaded, or their metadata could not be read" "see above; nothing is downloaded that is not in the lock: add the tool to build-requires of a metadata fact" \
        "第 2 阶段的源码包无法下载，或无法读取其元数据" "见上文；不会下载锁文件以外的内容：请将该工具加入某条 metadata 事实的 build-requires"
        if [ "$dry_run" = no ]; then
            for archive in "$scratch/archives-2"/*; do
                tools=$(build_in "$builder" PIP_NO_INDEX=1 "$with" -I -c "$asks_beyond" "$archive") ||
                    fail "cannot determine what the build of ${archive##*/} requires" "see above; nothing is downloaded that is not in the lock: add the tool to build-requires of a metadata fact" \
        "无法确定构建 ${archive##*/} 需要什么" "见上文；不会下载锁文件以外的内容：请将该工具加入某条 metadata 事实的 build-requires"
                [ -z "$tools" ] ||
                    fail "the build of ${archive##*/} requires tools that are not in the lock: ${tools}" "see above; nothing is downloaded that is not in the lock: add the tool to build-requires of a metadata fact" \
        "构建 ${archive##*/} 需要锁文件中没有的工具：${tools}" "见上文；不会下载锁文件以外的内容：请将该工具加入某条 metadata 事实的 build-requires"
            done
        fi
        build_in "$builder" PIP_NO_INDEX=1 "$with" -I -m pip wheel --no-deps \
            --no-build-isolation --use-pep517 --no-binary :all: --no-cache-dir --wheel-dir "$scratch/wheels-2" "$scratch/archives-2"/*
        run keep_built "$scratch/wheels-2" '*.whl'
    fi
    watched stages/2.txt "$python" \
        run "$python" -I -m pip install --no-deps --no-index --force-reinstall "$scratch/wheels-2"/*.whl
fi

if stage 3 torch torch "$here/stages/3.txt"; then
    install_wheels "$python" stages/3.txt
fi

# torch-npu after torch: From torch 2.5 on, `import torch` also loads torch_npu. If torch_npu is installed before the torch it needs (or CANN is not active), every `import torch` fails until then. (matrices/facts/torch-npu.toml:552)
if stage 4 torch-npu torch-npu "$here/stages/4.txt"; then
    install_wheels "$python" stages/4.txt
fi

# triton-ascend after torch-npu: vllm-ascend's image installs triton-ascend 3.2.2 after all else. That this order does for the releases up to 3.2.0 is an inference: nothing that is installed before it uses the module. (matrices/facts/triton-ascend.toml:118)
if stage 5 triton-ascend triton-ascend "$here/stages/5.txt"; then
    install_wheels "$python" stages/5.txt
fi

if stage 6 '198 distributions' '198 个软件包' "$here/stages/6.txt" "$here/stages/6.pytorch-cpu.txt"; then
    install_wheels "$python" stages/6.txt stages/6.pytorch-cpu.txt
fi

# vllm after torch: vllm's setup.py imports torch at the top, so torch must be installed before vllm is built, which happens in this environment (without isolation). (matrices/facts/vllm.toml:173)
kept=(vllm)
if stage 7 'vllm, built from source in this environment' 'vllm，在此环境中从源码构建' "$here/stages/7.txt"; then
    if ! take_built 7 vllm; then
        sources_of stages/7.txt
        build_in "$(dirname "$(dirname "$python")")" TORCH_DEVICE_BACKEND_AUTOLOAD=0 VLLM_TARGET_DEVICE=empty VLLM_VERSION_OVERRIDE=0.13.0 PIP_REQUIRE_HASHES=1 \
            ${nested[@]+"${nested[@]}"} "$python" -I -m pip wheel --no-deps --no-build-isolation --use-pep517 --no-cache-dir \
            --no-binary vllm --require-hashes --wheel-dir "$scratch/wheels-7" \
            ${sources[@]+"${sources[@]}"} -r "$here/stages/7.txt"
        run keep_built "$scratch/wheels-7" '*.whl'
    fi
    watched stages/7.txt "$python" \
        run "$python" -I -m pip install --no-deps --no-index --force-reinstall "$scratch/wheels-7"/*.whl
fi

# vllm-ascend after torch, torch-npu and vllm: vllm-ascend's images install vllm (built for no device) first and then vllm-ascend, so that the versions pinned by vllm-ascend are the ones that stay. It patches vllm and torch-npu at run time and needs both. (matrices/facts/vllm-ascend.toml:383)
if stage 8 vllm-ascend vllm-ascend "$here/stages/8.txt"; then
    install_wheels "$python" stages/8.txt
fi

if [ "$dry_run" = no ]; then
    tidy=no
    forget
    # A file may have moved from one distribution to another. pip removes it with the old release of the first, even if it
    # has installed the other one before. None of them is an old release now, so installing them again suffices
    left=$(missing "$here/stages/1.txt" "$here/stages/2.txt" "$here/stages/3.txt" "$here/stages/4.txt" "$here/stages/5.txt" "$here/stages/6.txt" "$here/stages/6.pytorch-cpu.txt" "$here/stages/7.txt" "$here/stages/8.txt") ||
        fail "cannot determine what is already installed" "see the message above" \
        "无法确定已经安装了哪些软件包" "见上文的消息"
    if [ -n "$left" ] && [ "$again" = no ]; then
        say "pip has removed files of ${left//$'\n'/, } together with another distribution that had them before, so this begins again" "pip 在删除另一个软件包时一并删除了 ${left//$'\n'/, } 的文件（这些文件以前属于该软件包），因此重新开始"
        rm -rf "$scratch"
        exec "$BASH" -p "${BASH_SOURCE[0]}" --again ${given[@]+"${given[@]}"}
    fi
fi

# Only when all is there, so that what fails leaves what was there before
if [ "$exact" = yes ]; then
    beyond=()
    rows=$(rows_of beyond_lock "$here/stages/1.txt" "$here/stages/2.txt" "$here/stages/3.txt" "$here/stages/4.txt" "$here/stages/5.txt" "$here/stages/6.txt" "$here/stages/6.pytorch-cpu.txt" "$here/stages/7.txt" "$here/stages/8.txt") ||
        fail "cannot determine what is already installed" "see the message above" \
        "无法确定已经安装了哪些软件包" "见上文的消息"
    while IFS=$'\t' read -r state project; do
        case $state in
            odd) tell "$warning" "${project} stays: the name in it is none of a project, and pip could take it for an option" "remove its files yourself" \
        "保留 ${project}：其中的名称不是项目名称，pip 可能把它当作选项" "请自行删除其文件" ;;
            remove)
                say "removes ${project}, which the lock does not have" "删除 ${project}：锁文件中没有它"
                beyond+=("$project")
                ;;
        esac
    done <<<"$rows"
    if [ -n "${beyond[*]-}" ] && [ "$dry_run" = no ]; then remove_all "${beyond[@]}"; fi
fi

# --- 3. what was installed

if [ "$dry_run" = yes ]; then
    say "dry run: nothing was changed" "试运行：没有任何改动"
    [ "$wrong" = 0 ] ||
        fail "install.sh would stop: ${wrong} of the checks above failed" "" \
        "install.sh 会停止：以上检查有 ${wrong} 项失败" ""
    exit 0
fi

unset "${!PIP_@}" # what is imported needs no index
checks=(--lang "$lang")
if [ "$strict" = no ]; then checks+=(--skip-system-checks); fi
if [ -n "$wheelhouse" ]; then checks+=(--wheelhouse "$wheelhouse"); fi
"$python" -I -S "$here/verify.py" "${checks[@]}" ||
    fail "this machine and environment do not match the lock" "see above for what differs and how to fix it" \
        "本机和环境与锁文件不一致" "差异和修复方法见上文"
say "verl-qwen3.5 is installed: 208 distributions, as locked" "verl-qwen3.5 已安装：208 个软件包，与锁文件一致"
