#!/bin/sh
# tests/tidy.sh [FILE]: clang-tidy on every source, one process each: the
# analyzer of LLVM 14 takes a va_list for uninitialised in the second file of a
# process. As many at once as there are cores, large files first. With FILE: the
# complaints about that one. The analyzer gives up a function after 75,000
# states, a third of its own limit, in less than half the time; with SOAK=1 it
# has the whole.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh
CUDA_INCLUDE=${CUDA_INCLUDE:-/usr/local/cuda/include}

tidy() {
    limit='-Xclang -analyzer-config -Xclang max-nodes=75000'
    [ "${SOAK:-0}" != 1 ] || limit=
    case $1 in
    nn/cpu/isa_*) isa=-DISA_SCALAR ;;
    cuda/*)
        isa="-isystem $CUDA_INCLUDE
            -isystem ${CUDA_INCLUDE%/include}/extras/CUPTI/include"
        ;;
    *) isa= ;;
    esac
    # shellcheck disable=SC2086 # options, or none
    clang-tidy --quiet "$1" -- -std=c17 -D_GNU_SOURCE -I. $isa $limit 2>&1 |
        grep -vE '^([0-9]+ warnings? .*|Suppressed .*|Use -header-filter.*)$'
}

if [ $# -gt 0 ]; then
    tidy "$1"
    exit 0
fi

said=$(mktemp -d) || exit 1
trap 'rm -rf "$said"' EXIT
folders='cmd pipeline nn'
if [ -f "$CUDA_INCLUDE/cublasLt.h" ]; then
    folders="$folders cuda"
else
    echo "# SKIPPED: cuda/, as $CUDA_INCLUDE has no headers of CUDA"
fi
# shellcheck disable=SC2086 # a list of words
files=$(sources $folders | grep '\.c$')
for file in $files; do
    mkdir -p "$said/${file%/*}"
done
# shellcheck disable=SC2086 # a list of words
ls -S $files | xargs -P "$(nproc)" -n 1 \
    sh -c 'sh tests/tidy.sh "$1" >"$0/$1"' "$said"
for file in $files; do
    rule "$file" cat "$said/$file"
done
rules_end
