#!/bin/sh
# tests/bench/bench.sh PIPELINE: what a training run costs on this machine. See
# BENCHMARKS.md. The cache of data sets is a fresh one and filled beforehand.
set -eu

pipeline=$1
bench=$(dirname "$1")/bench_command
cores=$(nproc)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
PIPELINE_CACHE=$temp/cache
export PIPELINE_CACHE

# line TEXT TIMES COMMAND...
line() {
    printf '%-34s' "$1"
    shift
    "$bench" "$@" 2>"$temp/log" || {
        cat "$temp/log" >&2
        exit 1
    }
}

q2() {
    "$pipeline" run configs/q2.yaml --out "$temp/out" --threads "$1" -q
}

steps_per_s() {
    sed -n 's/.*"steps_per_s": *\([0-9.]*\).*/\1/p' \
        "$temp/out/q2/train/stage.json"
}

echo "$("$pipeline" version | head -1), $(uname -m), $cores cores:" \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
q2 1 >/dev/null 2>&1
threads=1
while :; do
    line "q2 trained, threads $threads" 3 "$pipeline" run configs/q2.yaml \
        --out "$temp/out" --threads "$threads" --force train -q
    printf '%-34s%8.0f steps/s\n' "  the training loop alone" "$(steps_per_s)"
    [ "$threads" -lt "$cores" ] || break
    threads=$cores
done
line "q2 again, all up to date" 5 "$pipeline" run configs/q2.yaml \
    --out "$temp/out" --threads "$cores" -q
line "pipeline version" 20 "$pipeline" version
