load ../cli/helper

# Question 5 on a GPU, or on its double: what a device tells of its step times.
setup_file() {
    local f
    f=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-cuda.XXXXXX")
    blobs "$f/blobs.yaml"
    "${PIPELINE:-build/release/bin/pipeline}" run "$f/blobs.yaml" \
        --out "$f/out" --device cuda epochs=1 >"$f/log" 2>&1
    local rc=$?
    rm -rf "$f"
    [ "${REQUIRE_CUDA:-0}" = 1 ] || [ "$rc" -ne 7 ] || skip "no CUDA device"
}

# question: q5 with a narrow network and small batches, so that the double is
# quick.
question() {
    pipeline run configs/q5.yaml --out "$T/out" --device cuda hidden_dim=16 \
        'stages.step.matrix.batch_size=[16, 64]' stages.step.with.n_step=3 \
        stages.step.with.warmup=1 stages.step.with.repeat=3 \
        '~stages.step.expect' '~stages.answer.expect' "$@"
}

@test "question 5 tells what the device did in a step" {
    run question
    is_status 0
    dir=$T/out/q5/answer
    grep -q 'eager, data host_pageable, fusion none, numerics fast, timed by events' \
        "$dir/times.md"
    grep -q '^| run .*| GPU busy (%) | blocks per SM | kernels | launches ' \
        "$dir/times.md"
    grep -q '^- At batch_size 16 the device works [0-9.]* % of the last' \
        "$dir/times.md"
    grep -q '^- Copies from the host move 0[.]050[0-9] MB in ' "$dir/times.md"
    grep -q '^- The host waits for the device for ' "$dir/times.md"
    grep -q " of the device's time at 16 and 64" "$dir/times.md"
    for name in eager.busy.16 recorded.busy.64 eager.step_ratio; do
        grep -q "\"$name\": [0-9]" "$dir/metrics.json"
    done
    run ! grep -q 'A CPU has no replay' "$dir/times.md"
}

@test "step times of the double are marked, and beside them is a prediction" {
    [[ ${LD_LIBRARY_PATH-} == */fake* ]] || skip "for the double"
    run question
    is_status 0
    says "SIMULATED: no GPU took part, the times mean nothing"
    dir=$T/out/q5/answer
    grep -q '^\*\*SIMULATED: ' "$dir/times.md"
    grep -q '>SIMULATED<' "$dir/times.svg"
    [ "$(head -n 1 "$dir/predicted.md")" = "# Predicted, not measured" ]
    run ! grep -q '% of peak' "$dir/times.md"
    run ! grep -q peak_gflops "$T/out/q5/step/batch_size=16,execution=eager/metrics.json"
}
