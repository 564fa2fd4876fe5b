#!/usr/bin/env bash
# Lock stacks anew, and commit what changed on a branch of its own.
#
#   update-locks.sh [STACK...]      all stacks without a name
#
# With $MATRIX, the path of a committed matrix.json, the grid is solved anew as well, which takes
# minutes, and what changed is in the text. Its page is beside it, as matrix.html.
#
# Run it at the top of a clean checkout. It writes a Markdown text for the change to the file in
# $REPORT (update-locks.md in the folder for temporary files, unless set), commits the folder
# locks/ (and the grid) on the branch in $BRANCH (ascend-lock/update), and leaves the checkout there. Nothing is
# pushed. The last line on stdout is `changed=true` or `changed=false`, as GitHub reads it.
#
# Exit status: 0 if locks changed, even if another stack has no solution any more or an index did
# not answer, which the text says; otherwise as `lock`, but 0 for a stack without a solution.
set -euo pipefail

branch=${BRANCH:-ascend-lock/update}
report=${REPORT:-${TMPDIR:-/tmp}/update-locks.md}
matrix=${MATRIX:-}
[ $# -gt 0 ] || set -- all

if [ -n "$(git status --porcelain)" ]; then
    echo "update-locks.sh: the checkout has changes that are not committed" >&2
    exit 2
fi

fenced() {
    printf '\n## %s\n\n```text\n' "$1"
    shift
    "$@" 2>&1 || true
    printf '```\n'
}

status=0
outcome=$(ascend-lock lock "$@" --upgrade 2>&1) || status=$?
case $status in
    0 | 1 | 3) ;;
    *)
        printf '%s\n' "$outcome" >&2
        exit "$status"
        ;;
esac

paths=(locks)
if [ -n "$matrix" ]; then
    before=$(mktemp)
    trap 'rm -f "$before"' EXIT
    cp -- "$matrix" "$before"
    page=${matrix%.json}.html
    paths+=("$matrix" "$page")
    # Status 5: a cell that locked does not any more.
    difference=$(ascend-lock matrix build --data "$matrix" --page "$page" --diff "$before" 2>&1) ||
        [ $? -eq 5 ]
fi

if [ -z "$(git status --porcelain -- "${paths[@]}")" ]; then
    printf '%s\n' "$outcome" >&2
    echo changed=false
    [ "$status" -ne 3 ] || exit 3
    exit 0
fi

# The stacks with a lock that changed and was there before.
stacks=$(git diff --name-only HEAD -- 'locks/*/*/lock.toml' | cut -d/ -f2 | sort -u)
{
    printf 'What locking gives today, with the newest releases that go together.\n'
    for stack in $stacks; do
        printf '\n'
        ascend-lock diff "$stack" --format markdown
    done
    if [ -d matrices/facts ]; then
        fenced 'Sources of the facts' ascend-lock facts check --sources
    fi
    if [ -n "$matrix" ]; then
        fenced 'The matrix' printf '%s\n' "$difference"
    fi
    fenced 'What lock said' printf '%s\n' "$outcome"
} > "$report"

git checkout --quiet -B "$branch"
git add --all -- "${paths[@]}"
git commit --quiet --message "locks: update to today's releases"
cat "$report"
echo changed=true
