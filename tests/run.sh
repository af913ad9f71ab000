#!/bin/sh
# tests/run.sh FILE: one test file for prove. Runs a cmocka program, a .bats or
# a .sh file under a time limit, passes its TAP on, and shows what it skipped
# and why it failed. Its exit status is the verdict; 77 with no output means
# skipped, and under REQUIRE_CUDA=1 failed if the name says cuda.
set -u

file=$1
limit=${TEST_TIMEOUT:-240}
out=$(mktemp "${TMPDIR:-/tmp}/pipeline-tap.XXXXXX") || exit 1
trap 'rm -f "$out"' EXIT
trap 'exit 130' INT TERM

# A make that a test starts is a new one.
unset MAKEFLAGS MFLAGS MAKELEVEL

case $file in
*.bats)
    set -- bats --tap "$file"
    BATS_TEST_TIMEOUT=$limit
    export BATS_TEST_TIMEOUT
    ;;
*.sh)
    set -- sh "$file"
    ;;
*/*)
    set -- "$file"
    ;;
*)
    set -- "./$file"
    ;;
esac
CMOCKA_MESSAGE_OUTPUT=TAP timeout --foreground -k 5 "$limit" "$@" \
    >"$out" </dev/null
rc=$?

if [ "$rc" -eq 77 ] && [ ! -s "$out" ]; then
    case ${REQUIRE_CUDA:-0}$file in
    1*cuda*)
        echo "# $file: REQUIRE_CUDA=1, but there is no CUDA device" >&2
        exit 1
        ;;
    esac
    echo "1..0 # SKIP this machine cannot run it"
    exit 0
fi

# cmocka 1.1.5 writes "not ok" for what it skips.
sed 's/^not ok \([0-9]* # SKIP\)/ok \1/' "$out"
grep -i '# skip' "$out" | sed "s|^|# $file: |" >&2
if [ "$rc" -ne 0 ]; then
    echo "# $file: failed" >&2
    [ "$rc" -ne 124 ] || echo "# out of time after $limit s" >&2
    grep -E '^(not ok|#)' "$out" | grep -vi '# skip' >&2
fi
exit "$rc"
