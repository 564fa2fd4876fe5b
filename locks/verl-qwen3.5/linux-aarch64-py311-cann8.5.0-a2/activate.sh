#!/usr/bin/env bash
# The environment of verl-qwen3.5 for linux-aarch64-py311-cann8.5.0-a2. Source it in bash:
#
#     . activate.sh
#
# Made from lock.toml by ascend-lock; do not edit. It activates, in this order:
#   1. CANN, with its own set_env.sh
#   2. the environment that install.sh installed into, unless one is active
#   3. NNAL, with its own set_env.sh, which asks that environment's torch for its C++ ABI
#   4. the variables that facts about this stack call for, each with its reason; an optional one is a
#      comment: put the line where you start the program that needs it
# If your software is installed elsewhere, set these first; an empty value skips that part:
#   ASCEND_LOCK_ROOT=DIR    where Ascend's software is (default: /usr/local/Ascend, then ~/Ascend)
#   ASCEND_LOCK_CANN=FILE   CANN's set_env.sh
#   ASCEND_LOCK_NNAL=FILE   NNAL's set_env.sh
#   ASCEND_LOCK_ENV=DIR     the virtual environment (default: env, then .venv, beside this file)
# If CANN or the environment is missing, it says so, does the rest and returns status 1. It never exits the shell.

_ascend_lock_say() { # a text in each language; the locale (UTF-8) chooses one
    local at
    at=0; case ${LC_ALL:-${LC_MESSAGES:-${LANG-}}} in [zZ][hH]*[uU][tT][fF]*8*) at=1 ;; esac
    shift "$at"
    printf '%s' "$1"
}

_ascend_lock_tell() { # what is wrong and a hint, in each language
    local at
    at=0; case ${LC_ALL:-${LC_MESSAGES:-${LANG-}}} in [zZ][hH]*[uU][tT][fF]*8*) at=1 ;; esac
    shift $((2 * at))
    _ascend_lock_show "$(_ascend_lock_say "activate.sh: " "activate.sh：")" "$1" >&2
    if [ -n "$2" ]; then _ascend_lock_show "$(_ascend_lock_say "hint: " "提示：")" "$2" >&2; fi
}

# Print a line. If a terminal would act on a character of it, the line is printed with escapes: the name of a file can have any
# character. No escapes are needed for UTF-8 without control characters (C0, C1), line separators and marks that turn the
# direction of text. The line is judged by bytes, since bash knows no other characters in the C locale. This is done in a
# subshell, since bash warns if a locale that the machine lacks is set again.
_ascend_lock_show() ( # label, text
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

_ascend_lock_source() { # file; with no arguments of its own, as ATB's set_env.sh reads them
    local al_file=$1
    set --
    # shellcheck source=/dev/null
    . "$al_file"
}

_ascend_lock_first() { # the first of the files that is there
    local al_file
    for al_file in "$@"; do
        if [ -f "$al_file" ]; then printf '%s\n' "$al_file"; return; fi
    done
}

_ascend_lock_env() { # the folder of this file, and the one where it is if that is a link
    local al_found
    if [ -n "${ASCEND_LOCK_ENV+set}" ]; then
        if [ -z "$ASCEND_LOCK_ENV" ]; then return 0; fi
        al_found=$(_ascend_lock_first "$ASCEND_LOCK_ENV/bin/activate")
        if [ -z "$al_found" ]; then
            _ascend_lock_tell "${ASCEND_LOCK_ENV} is not a virtual environment: it has no bin/activate" "activate a conda environment first: conda activate ${ASCEND_LOCK_ENV}" \
        "${ASCEND_LOCK_ENV} 不是虚拟环境：其中没有 bin/activate" "请先激活 conda 环境：conda activate ${ASCEND_LOCK_ENV}"
            return 1
        fi
    else
        if [ -n "${VIRTUAL_ENV-}" ]; then return 0; fi
        if [ -n "${CONDA_PREFIX-}" ] && [ "${CONDA_DEFAULT_ENV-}" != base ]; then return 0; fi
        al_found=$(_ascend_lock_first "$1/env/bin/activate" "$1/.venv/bin/activate" \
            "$2/env/bin/activate" "$2/.venv/bin/activate")
        if [ -z "$al_found" ]; then
            _ascend_lock_tell "no environment is active, and neither ${1}/env nor ${1}/.venv contains one" "activate the one that install.sh installed into, or set ASCEND_LOCK_ENV=DIR" \
        "没有已激活的环境，${1}/env 和 ${1}/.venv 中也没有环境" "请激活 install.sh 安装到的环境，或设置 ASCEND_LOCK_ENV=目录"
            return 1
        fi
    fi
    _ascend_lock_source "$al_found"
    return 0
}

_ascend_lock_cann() {
    local al_root=${ASCEND_LOCK_ROOT:-/usr/local/Ascend} al_own=${ASCEND_LOCK_ROOT:-${HOME-}/Ascend} al_found
    if [ -n "${ASCEND_LOCK_CANN+set}" ]; then
        if [ -z "$ASCEND_LOCK_CANN" ]; then return 0; fi
        al_found=$(_ascend_lock_first "$ASCEND_LOCK_CANN")
    elif [ -z "${ASCEND_LOCK_ROOT-}" ] && [ -d "${ASCEND_HOME_PATH-}" ]; then
        return 0 # it is active
    else
        al_found=$(_ascend_lock_first \
            "$al_root"/cann-8.5.0/set_env.sh "$al_own"/cann-8.5.0/set_env.sh \
            "$al_root"/ascend-toolkit/set_env.sh "$al_root"/cann*/set_env.sh \
            "$al_own"/ascend-toolkit/set_env.sh "$al_own"/cann*/set_env.sh)
    fi
    if [ -z "$al_found" ]; then
        _ascend_lock_tell "CANN 8.5.0 was not found: there is no ${ASCEND_LOCK_CANN:-$al_root/ascend-toolkit/set_env.sh, $al_root/cann*/set_env.sh}" "set ASCEND_LOCK_CANN=/path/to/set_env.sh" \
        "没有找到 CANN 8.5.0：${ASCEND_LOCK_CANN:-$al_root/ascend-toolkit/set_env.sh, $al_root/cann*/set_env.sh} 不存在" "请设置 ASCEND_LOCK_CANN=/path/to/set_env.sh"
        return 1
    fi
    _ascend_lock_source "$al_found"
    # the compiler that triton-ascend calls, if CANN includes it; Ascend's own images source it, too
    al_found=$(_ascend_lock_first "${ASCEND_HOME_PATH-}/share/info/ascendnpu-ir/bin/set_env.sh")
    if [ -n "$al_found" ]; then _ascend_lock_source "$al_found"; fi
    return 0
}

_ascend_lock_nnal() {
    local al_root=${ASCEND_LOCK_ROOT:-/usr/local/Ascend} al_own=${ASCEND_LOCK_ROOT:-${HOME-}/Ascend} al_wanted
    al_wanted=${ASCEND_LOCK_NNAL-$(_ascend_lock_first "$al_root/nnal/atb/set_env.sh" "$al_own/nnal/atb/set_env.sh")}
    if [ -z "${ASCEND_LOCK_NNAL+set}$al_wanted" ]; then al_wanted=$al_root/nnal/atb/set_env.sh; fi
    if [ -z "$al_wanted" ]; then return 0; fi
    if [ -f "$al_wanted" ]; then
        _ascend_lock_source "$al_wanted"
    elif [ ! -d "${ATB_HOME_PATH-}" ]; then
        _ascend_lock_tell "NNAL was not found: there is no ${al_wanted}; programs that call its operators, such as vllm-ascend, will fail" "install the NNAL of CANN 8.5.0, or set ASCEND_LOCK_NNAL to its set_env.sh (empty to do without)" \
        "没有找到 NNAL：${al_wanted} 不存在；调用其算子的程序（例如 vllm-ascend）会失败" "请安装 CANN 8.5.0 的 NNAL，或将 ASCEND_LOCK_NNAL 设为其 set_env.sh（设为空则不使用 NNAL）"
    fi
    return 0
}

_ascend_lock_exports() {
    # optional: Reinforcement learning needs this if it lets the rollout engine sleep: Worker.wake_up
    #   stops with an error unless the variable is 0 (the default is 1), because weights that were cast to
    #   FRACTAL_NZ may lose precision when they are updated. verl 0.7.1 sets the variable itself if it is
    #   unset. Inference does not need it. (vllm-ascend-nz-off-in-training:
    #   vllm_ascend-0.11.0rc1-cp311-cp311-manylinux_2_24_aarch64.whl vllm_ascend/envs.py #L173-L174;
    #   vllm_ascend-0.13.0-cp311-cp311-manylinux_2_24_aarch64.whl vllm_ascend/envs.py #L122-L123;
    #   vllm_ascend-0.18.0-cp311-cp311-manylinux_2_24_aarch64.whl vllm_ascend/envs.py #L91;
    #   vllm_ascend-0.11.0rc1-cp311-cp311-manylinux_2_24_aarch64.whl vllm_ascend/worker/worker_v1.py #L186
    #   `Please set VLLM_ASCEND_ENABLE_NZ=0`; vllm_ascend-0.13.0-cp311-cp311-manylinux_2_24_aarch64.whl
    #   vllm_ascend/worker/worker.py #L181-L184 `Please set VLLM_ASCEND_ENABLE_NZ=0`;
    #   vllm_ascend-0.18.0-cp311-cp311-manylinux_2_24_aarch64.whl vllm_ascend/worker/worker.py #L209-L212
    #   `Please set VLLM_ASCEND_ENABLE_NZ=0`; verl-0.7.1-py3-none-any.whl
    #   verl/workers/rollout/vllm_rollout/utils.py #L39 `"VLLM_ASCEND_ENABLE_NZ": "0"`)
    # export VLLM_ASCEND_ENABLE_NZ=0
    return 0
}

_ascend_lock_activate() {
    local al_options=$- al_status=0 al_here al_real
    set +eu # set_env.sh reads variables that may not be set
    al_here=$(CDPATH='' builtin cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)
    al_real=$(readlink -f -- "${BASH_SOURCE[0]}") || al_real=$al_here/
    _ascend_lock_cann || al_status=1
    _ascend_lock_env "$al_here" "${al_real%/*}" || al_status=1
    _ascend_lock_nnal
    _ascend_lock_exports
    set +eu
    case $al_options in *u*) set -u ;; esac
    case $al_options in *e*) set -e ;; esac
    return "$al_status"
}

if [ -z "${BASH_VERSION-}" ]; then
    echo "activate.sh: this shell is not bash; source the file in bash" >&2
    false
elif [ "${BASH_SOURCE[0]}" = "$0" ]; then
    _ascend_lock_tell "source this file instead of running it: . ${0}" "" \
        "请用 source 执行此文件，不要直接运行：. ${0}" ""
    false
elif _ascend_lock_activate; then
    unset -f _ascend_lock_say _ascend_lock_tell _ascend_lock_show _ascend_lock_source _ascend_lock_first _ascend_lock_env \
_ascend_lock_cann _ascend_lock_nnal _ascend_lock_exports _ascend_lock_activate
else
    unset -f _ascend_lock_say _ascend_lock_tell _ascend_lock_show _ascend_lock_source _ascend_lock_first _ascend_lock_env \
_ascend_lock_cann _ascend_lock_nnal _ascend_lock_exports _ascend_lock_activate
    false
fi
