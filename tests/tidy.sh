#!/bin/sh
# tests/tidy.sh [FILE]: clang-tidy on every source, one process each: the
# analyzer of LLVM 14 takes a va_list for uninitialised in the second file of a
# process. As many at once as there are cores. With FILE: the complaints about
# that one.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh

tidy() {
    case $1 in
    nn/cpu/isa_*) isa=-DISA_SCALAR ;;
    *) isa= ;;
    esac
    clang-tidy --quiet "$1" -- -std=c17 -D_GNU_SOURCE -I. $isa 2>&1 |
        grep -vE '^([0-9]+ warnings? .*|Suppressed .*|Use -header-filter.*)$'
}

if [ $# -gt 0 ]; then
    tidy "$1"
    exit 0
fi

said=$(mktemp -d) || exit 1
trap 'rm -rf "$said"' EXIT
files=$(sources cmd pipeline nn | grep '\.c$')
for file in $files; do
    mkdir -p "$said/${file%/*}"
done
echo "$files" | xargs -P "$(nproc)" -n 1 \
    sh -c 'sh tests/tidy.sh "$1" >"$0/$1"' "$said"
for file in $files; do
    rule "$file" cat "$said/$file"
done
rules_end
