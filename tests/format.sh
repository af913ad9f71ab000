#!/bin/sh
# tests/format.sh: every source is as clang-format leaves it (make format).
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/tap.sh

unformatted() {
    for file in $(sources "$1"); do
        clang-format "$file" | cmp -s - "$file" || echo "$file"
    done
}

for dir in cmd pipeline nn cuda examples tests; do
    [ ! -d "$dir" ] || rule "$dir/ is formatted" unformatted "$dir"
done
rules_end
