#!/bin/sh
# tests/fuzz/fuzz.sh DIR SECONDS: lets each libFuzzer program of DIR search for
# that long. Finds are kept below build/fuzz/; a new one fails.
set -eu

for program in "$1"/fuzz_*; do
    name=${program##*/fuzz_}
    found=build/fuzz/corpus/$name
    mkdir -p "$found"
    echo "fuzz $name: $2 s"
    "$program" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" \
        "$found" "tests/fuzz/corpus/$name" 2>"build/fuzz/$name.log" || {
        tail -40 "build/fuzz/$name.log" >&2
        echo "fuzz $name: FAILED, see build/fuzz/$name.log" >&2
        exit 1
    }
    grep -E 'stat::(number_of_executed_units|new_units_added)' \
        "build/fuzz/$name.log"
done
