#!/bin/sh
# tests/fuzz/fuzz.sh DIR SECONDS: lets each libFuzzer program of DIR search for
# that long, with the words of tests/fuzz/dict where there are some. Finds are
# kept below build/fuzz/; a new one fails.
set -eu

programs=$1
seconds=$2
for program in "$programs"/fuzz_*; do
    name=${program##*/fuzz_}
    mkdir -p "build/fuzz/corpus/$name"
    echo "fuzz $name: $seconds s"
    set -- "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name"
    dict=tests/fuzz/dict/$name
    [ ! -f "$dict" ] || set -- -dict="$dict" "$@"
    "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" "$@" \
        2>"build/fuzz/$name.log" || {
        tail -40 "build/fuzz/$name.log" >&2
        echo "fuzz $name: FAILED, see build/fuzz/$name.log" >&2
        exit 1
    }
    grep -E 'stat::(number_of_executed_units|new_units_added)' \
        "build/fuzz/$name.log"
done
