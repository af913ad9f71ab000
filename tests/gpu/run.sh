#!/bin/sh
# tests/gpu/run.sh [--simulated] OUT: what there is to check and to measure on
# a machine with a GPU, in under 8 minutes; see BENCHMARKS.md.
#
# TAP on stdout. Each part (parts.sh) has a time limit of its own, none stops
# the others, and the exit status is 1 if one failed. OUT, a new or an empty
# folder, gets results, logs and their hashes, small enough to be committed as
# examples/recorded/GPU/.
#
# --simulated goes through the same on the double of CUDA (tests/cuda), built
# by `make fake`, with short settings: it tests the script and measures nothing.
#
# Variables: B, the build folder; ARCHS, what nvcc builds for (native); PARTS,
# the names of the parts to run (all); PYTHON, one that has torch.
set -u

usage() {
    echo "usage: tests/gpu/run.sh [--simulated] OUT" >&2
    exit 2
}

SIMULATED=0
if [ "${1-}" = --simulated ]; then
    SIMULATED=1
    shift
fi
[ $# -eq 1 ] || usage
case $1 in
-* | '') usage ;;
/*) OUT=$1 ;;
*) OUT=$PWD/$1 ;;
esac
cd "$(dirname "$0")/../.." || exit 2

mkdir -p "$OUT/logs" && rmdir "$OUT/logs" || exit 2
if [ -n "$(ls -A "$OUT")" ]; then
    echo "$OUT is not empty: results of two runs are not mixed" >&2
    exit 2
fi
mkdir "$OUT/logs" || exit 2

T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-gpu.XXXXXX") || exit 2
trap 'rm -rf "$T"' EXIT
trap 'exit 130' INT TERM

B=${B:-build/release}
PIPELINE=$B/bin/pipeline
PIPELINE_CACHE=$T/cache
NO_COLOR=1
LC_ALL=C.UTF-8
export SIMULATED OUT T B PIPELINE PIPELINE_CACHE NO_COLOR LC_ALL
unset PIPELINE_OUT MAKEFLAGS MFLAGS MAKELEVEL

if [ $SIMULATED -eq 1 ]; then
    double=$(realpath "$B/fake")
    if [ ! -x "$PIPELINE" ] || [ ! -e "$double/libpipeline_cuda.so" ]; then
        echo "$B has no double of CUDA: make B=$B all fake" >&2
        exit 2
    fi
    LD_LIBRARY_PATH=$double${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    echo "# SIMULATED: no GPU is here, and no time means anything" |
        tee "$OUT/SIMULATED" "$OUT/summary.tap"
fi

begin=$(date +%s)
end=$((begin + 450))
n=0
failed=0

# part NAME SECONDS: as the time allows that is left to all of them.
part() {
    case " ${PARTS:-$1} results " in
    *" $1 "*) ;;
    *) return ;;
    esac
    n=$((n + 1))
    from=$(date +%s)
    limit=$2
    [ $((end - from)) -ge "$limit" ] || limit=$((end - from))
    if [ "$limit" -le 0 ]; then
        verdict "not ok" "$1" 0 "the time of all parts is over"
        return
    fi
    log=$OUT/logs/$1.log
    timeout -k 5 "$limit" sh tests/gpu/parts.sh "$1" >"$log" 2>&1 </dev/null
    rc=$?
    took=$(($(date +%s) - from))
    case $rc in
    0) verdict ok "$1" $took "" ;;
    77) verdict ok "$1" $took "# SKIP $(tail -n 1 "$log")" ;;
    124 | 137) verdict "not ok" "$1" $took "out of time after $limit s" ;;
    *) verdict "not ok" "$1" $took "status $rc: $(tail -n 1 "$log")" ;;
    esac
}

# verdict OK NAME SECONDS TEXT
verdict() {
    case $4 in
    '' | '#'*) line="$1 $n - $2 ($3 s)${4:+ $4}" ;;
    *)
        failed=1
        line="$1 $n - $2 ($3 s)
# $2: $4"
        ;;
    esac
    echo "$line" | tee -a "$OUT/summary.tap"
}

part build 150
part facts 20
part doctor 20
part strict 40
part recorded 40
part data 40
part q2 60
part steps 90
part torch 100
part ratios 10
part tests 120
part sanitizer 90
part nsys 40
end=$((end + 20)) # whatever happened, what is there is told
part results 20
echo "1..$n"
exit $failed
