load ../cli/helper

# What the profiler costs, by the time that the process itself takes
# (tests/bench/bench_profile.c).
setup_file() {
    bench=$(dirname "$PIPELINE")/bench_profile
    [ -x "$bench" ] || skip "no bench_profile: make soak builds it"
    export bench
}

# below NUMBER LIMIT
below() {
    awk -v x="$1" -v y="$2" 'BEGIN { exit !(x < y) }' || {
        echo "$1 is not below $2"
        return 1
    }
}

@test "a profiled step takes less than 3 % more (the median of five tries)" {
    for _ in 1 2 3 4 5; do
        "$bench" step 200 | tee -a "$T/steps"
    done
    below "$(sed 's/.*ratio //' "$T/steps" | sort -n | sed -n 3p)" 1.03
}

@test "without a recorder there is next to nothing of it in a step" {
    command -v valgrind >/dev/null || skip "no valgrind"
    valgrind --tool=callgrind --callgrind-out-file="$T/calls" "$bench" off 20 \
        >"$T/log" 2>&1
    callgrind_annotate --threshold=100 --auto=no --tree=none "$T/calls" |
        tr -d , >"$T/table"
    ! grep -E ':prof_' "$T/table"
    # nn_step_run has the branch that asks for a recorder, and much else.
    awk '/PROGRAM TOTALS/ { all = $1 }
         /:nn_traced_/ || /:nn_step_run / { of_it += $1 }
         END { print of_it, "of", all, "instructions"
               exit !(all > 0 && of_it > 0 && of_it < all * 0.002) }' "$T/table"
}

@test "a million events are written in 2 s and 64 MiB beyond the records" {
    "$bench" write 1000000 "$T/trace.json" | tee "$T/written"
    grep -q " 0 lost" "$T/written"
    below "$(sed 's/.* in \([0-9.]*\) s.*/\1/' "$T/written")" 2
    below "$(sed 's/.*, \([0-9]*\) KiB.*/\1/' "$T/written")" 65536
}
