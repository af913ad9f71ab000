load ../cli/helper

# Question 3 on a GPU, or on its double: kernels, not operators.
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

# question: q3 with a narrow network, so that the double is quick.
question() {
    pipeline run configs/q3.yaml --out "$T/out" --device cuda hidden_dim=16 \
        stages.step.with.warmup=0 stages.step.with.repeat=2 "$@"
}

@test "question 3 names the kernels of both batches" {
    run question
    is_status 0
    says "kernels of a step: "
    dir=$T/out/q3/answer
    grep -q '^# Kernels compared: q3, step$' "$dir/kernels.md"
    for pair in 0,linear,forward,forward 2,linear,forward,forward \
        0,linear_grad_weight,grad_weight,backward \
        2,linear_grad_input,grad_input,backward; do
        for cell in 32 1024; do
            grep -q "^$pair,batch_size=$cell,[^,][^,]*,.*,[0-9.]*,[0-9.]*,[0-9.]*$" \
                "$dir/kernels_compared.csv"
        done
    done
    grep -q 'Memcpy HtoD (Pageable -> Device)' "$dir/kernels.md"
    grep -q '^- The batch is copied to the device with batch_size=32: 100,480 ' \
        "$dir/kernels.md"
    grep -q '^- The device works in ' "$dir/kernels.md"
    grep -q 'gpu_track.svg' "$dir/kernels.md"
    grep -q 'GPU track of the last steps' "$dir/tracks.svg"
    [ ! -e "$dir/predicted.md" ]
    grep -q '"linear.backward.kernels": [3-9]' "$dir/metrics.json"
}

@test "what the double made is marked, and has no points" {
    [[ ${LD_LIBRARY_PATH-} == */fake* ]] || skip "for the double"
    run question
    is_status 0
    says "SIMULATED: kernels of a step"
    says "not assessed: the device is simulated"
    dir=$T/out/q3/answer
    grep -q '^\*\*SIMULATED\*\*' "$dir/kernels.md"
    grep -q SIMULATED "$dir/tracks.svg"
    grep -q SIMULATED "$dir/kernels.svg"
}
