#!/usr/bin/env bash
# Install self for linux-x86_64-py311: ascend-lock itself: what it needs to run and to be installed from its repository
#
# Made from lock.toml by ascend-lock; do not edit. Read it before you run it:
#   1. checks the machine, Python, glibc, and says what is wrong
#   2. installs in 1 stage, every file checked against its sha256
#   3. checks what was installed (verify.py beside it, which can be run at any time)
# It can be run again after a failure: a stage whose distributions are all
# there is passed over.
[ -n "${BASH_VERSION-}" ] || exec bash "$0" "$@"  # called as `sh install.sh`
set -euo pipefail

usage() {
    cat <<'EOF'
usage: install.sh [--dry-run] [--wheelhouse DIR] [--python PATH] [--system] [--skip-system-checks]

  --dry-run             check the machine and say what would be done; change nothing
  --wheelhouse DIR      take all files from DIR, use no network
  --python PATH         the environment's Python (default: the active environment's)
  --system              install into a Python that is not in a virtual environment
  --skip-system-checks  warn instead of stopping where the machine is not the lock's
EOF
}

say() { printf '%s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
fail() {
    printf 'error: %s\n' "$1" >&2
    if [ -n "${2-}" ]; then printf 'hint: %s\n' "$2" >&2; fi
    exit 1
}

dry_run=no
wheelhouse=
python=
system=no
strict=yes
while [ $# -gt 0 ]; do
    case $1 in
        --dry-run) dry_run=yes ;;
        --wheelhouse) wheelhouse=${2:?--wheelhouse needs a folder}; shift ;;
        --python) python=${2:?--python needs a path}; shift ;;
        --system) system=yes ;;
        --skip-system-checks) strict=no ;;
        -h | --help) usage; exit 0 ;;
        *) usage >&2; fail "unknown option: $1" ;;
    esac
    shift
done

# the folder of this file itself, where a link leads to it
here=$(readlink -f -- "${BASH_SOURCE[0]-}") || here=
here=${here%/*}
if [ -z "$here" ] || [ ! -d "$here/stages" ]; then
    fail "there is no stages/ beside install.sh${here:+ in $here}" "copy the lock's whole folder, and run the file in it"
fi

# --- 1. the machine

mismatches=0
mismatch() {
    if [ "$strict" = yes ] && [ "$dry_run" = no ]; then fail "$1" "${2-}"; fi
    warn "$1"
    if [ -n "${2-}" ]; then printf 'hint: %s\n' "$2" >&2; fi
    mismatches=$((mismatches + 1))
}

[ "$(uname -s)" = Linux ] || mismatch "this is $(uname -s), the lock is for Linux"
[ "$(uname -m)" = x86_64 ] ||
    mismatch "this machine is $(uname -m), the lock is for x86_64" "lock the stack for this machine's platform"

if [ -z "$python" ]; then
    if [ -n "${VIRTUAL_ENV-}" ]; then python=$VIRTUAL_ENV/bin/python
    elif [ -n "${CONDA_PREFIX-}" ]; then python=$CONDA_PREFIX/bin/python
    else python=$(command -v python3 || true); fi
fi
if [ -z "$python" ] || ! "$python" -c '' 2>/dev/null; then
    fail "no working Python was found${python:+ at $python}" "activate an environment, or pass --python PATH"
fi
found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true)
[[ $found =~ ^[0-9]+\.[0-9]+$ ]] || fail "$python is no Python" "activate an environment, or pass --python PATH of its Python"
python=$("$python" -c 'import sys; print(sys.executable)')  # absolute, as builds need it
[ "$found" = 3.11 ] ||
    fail "$python is Python $found, the lock is for 3.11" \
        "make one: python3.11 -m venv env && . env/bin/activate"
if [ "$system" = no ] && ! "$python" -c '
import os, sys
sys.exit(sys.prefix == sys.base_prefix and not os.path.isdir(os.path.join(sys.prefix, "conda-meta")))
'; then
    fail "$python is not in a virtual or conda environment" \
        "make one: $python -m venv env && . env/bin/activate; or pass --system"
fi
# settings of pip that would change what is installed
unset PIP_PYTHON PIP_GROUP PIP_BUILD_CONSTRAINT PIP_UPLOADED_PRIOR_TO PIP_PLATFORM PIP_PYTHON_VERSION PIP_ABI \
    PIP_IMPLEMENTATION PIP_CONSTRAINT PIP_REQUIREMENT PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_NO_BINARY \
    PIP_ONLY_BINARY PIP_PRE PIP_REQUIRE_HASHES PIP_DRY_RUN PIP_REPORT PIP_IGNORE_INSTALLED
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
"$python" -I -c 'import pip' 2>/dev/null || fail "$python has no pip" "$python -m ensurepip"
settings=$("$python" -I -m pip config list) || fail "pip of $python does not run" "see above; $python -m pip config debug names its files"
elsewhere=$(sed -n "s/^\(\(global\|install\)\.\(target\|prefix\|root\|python\)\)=.*/\1/p; \
s/^\(\(global\|install\)\.\(user\|dry-run\)\)='\(1\|y\|yes\|t\|true\|on\)'$/\1/Ip" <<<"$settings")
if [ -n "$elsewhere" ]; then
    fail "pip's own configuration has a setting by which nothing would be installed here: ${elsewhere//$'\n'/, }" \
        "take it away: $python -m pip config unset ${elsewhere%%$'\n'*}; $python -m pip config debug names the files"
fi

glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2 || true)
if [ -z "$glibc" ]; then
    mismatch "the C library is not glibc, and the lock's wheels need glibc 2.28"
elif [ "$(printf '%s\n' 2.28 "$glibc" | sort -V | head -n 1)" != 2.28 ]; then
    mismatch "glibc is $glibc, the lock needs 2.28 or newer" "lock again with glibc = \"$glibc\" in the stack's target"
fi
if [ -n "$wheelhouse" ]; then
    [ -d "$wheelhouse" ] || fail "there is no folder $wheelhouse, which --wheelhouse names"
    wheelhouse=$(CDPATH='' builtin cd -- "$wheelhouse" >/dev/null && pwd) || fail "the folder that --wheelhouse names cannot be entered"
fi
say "machine: $(uname -m), Python $found ($python), glibc ${glibc:-none}"

# --- 2. the stages

# Where pip finds the files of a requirements file: in the wheelhouse alone, else on its own index
sources_of() { # requirements file
    sources=()
    if [ -n "$wheelhouse" ]; then
        sources=(--no-index --find-links "$wheelhouse")
    fi
}

# Which of a requirements file's distributions are not there in the pinned version
missing() {
    # -I: what stands in the current folder or on PYTHONPATH is not installed
    "$python" -I - "$@" <<'EOF'
import os, re, sys
from importlib import metadata
from pip._vendor.packaging.version import Version

for path in sys.argv[1:]:
    for line in open(path, encoding="utf-8"):
        pin = re.match(r"([a-z0-9][a-z0-9-]*)==(\S+)(?:  # source (\S+)( editable)?)?", line)
        if pin:
            try:
                version = Version(metadata.version(pin[1]))
                found = pin[2] if version == Version(pin[2]) else str(version)
                # a version says nothing of the commit; `record` leaves a note of the source when it is done
                notes = [metadata.distribution(pin[1]).read_text("ascend-lock.txt")] if pin[3] else []
                if pin[4]:
                    notes.append(open(os.path.join(sys.prefix, "src", pin[1], ".git", "ascend-lock")).read())
                if any((note or "").strip() != pin[3] for note in notes):
                    found += ", and not as the lock builds it"
            except Exception:  # not there, or left half-written by an interrupted install
                found = None
            if found != pin[2]:
                print("%s %s (is %s)" % (pin[1], pin[2], found or "not there"))
EOF
}

run() {
    if [ "$dry_run" = no ]; then "$@"; return; fi
    printf 'would run:'
    printf ' %q' "$@"
    printf '\n'
}

install_wheels() { # Python, requirements files: a pip for each
    local file
    for file in "${@:2}"; do
        sources_of "$file"
        run "$1" -I -m pip install --no-deps --only-binary :all: --require-hashes \
            ${sources[@]+"${sources[@]}"} -r "$here/$file"
    done
}

# CMake and other build tools look for Python by these variables before PATH
build_in() { # environment, variables and command
    local environment=$1
    shift
    run env -u CONDA_PREFIX -u PYTHONPATH VIRTUAL_ENV="$environment" PATH="$environment/bin:$PATH" "$@"
}

# What a pip that was killed left: `~ame` of what it was taking away, which it warns of ever after, and the records of
# what it had not written to the end. RECORD is what it writes last, and INSTALLER is then in it. With a record there
# it would take such a distribution for installed, though its scripts may be missing.
sweep() { # requirements files
    "$python" -I - "$@" <<'EOF'
import glob, os, re, shutil, sys, sysconfig

ours = set()
for path in sys.argv[1:]:
    ours.update(re.findall(r"(?m)^([a-z0-9][a-z0-9-]*)==", open(path, encoding="utf-8").read()))
for folder in sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}):
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*"))):
        name = os.path.basename(path)
        left = name.startswith("~")
        if name.endswith(".dist-info") and re.sub(r"[-_.]+", "-", name[:-10].rpartition("-")[0]).lower() in ours:
            try:
                with open(os.path.join(path, "RECORD"), encoding="utf-8", errors="replace") as file:
                    left = ".dist-info/INSTALLER," not in file.read()
            except FileNotFoundError:
                left = not os.path.exists(os.path.join(path, "INSTALLER"))  # else another installer's way
        if left:
            print("removing %s, which an interrupted pip left" % path)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.remove(path)
EOF
}

stage() { # number, title, requirements files: true where something is to be done
    local left
    left=$(missing "${@:3}") || fail "it could not be told what of stage $1 is installed" "its message is above"
    if [ -z "$left" ]; then
        say "stage $1 of 1: $2: already there"
        return 1
    fi
    say "stage $1 of 1: $2"
}

if [ "$dry_run" = no ]; then sweep "$here/stages/1.txt"; fi

if stage 1 '21 distributions' "$here/stages/1.txt"; then
    install_wheels "$python" stages/1.txt
fi

# --- 3. what was installed

if [ "$dry_run" = yes ]; then
    say "dry run: nothing was changed"
    if [ "$mismatches" -gt 0 ] && [ "$strict" = yes ]; then
        fail "install.sh would stop: $mismatches of the checks above failed, this machine is not the lock's"
    fi
    exit 0
fi

checks=()
if [ "$strict" = no ]; then checks+=(--skip-system-checks); fi
if [ -n "$wheelhouse" ]; then checks+=(--wheelhouse "$wheelhouse"); fi
"$python" -I "$here/verify.py" ${checks[@]+"${checks[@]}"} ||
    fail "this machine and environment are not what the lock says" "what is wrong, and what mends it, is told above"
say 'self is installed: 21 distributions, as locked'
