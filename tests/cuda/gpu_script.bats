load ../cli/helper

# tests/gpu/run.sh, gone through on the double (README.md here): that the
# script works, so that the time on a GPU is not spent on it.

setup_file() {
    [[ ${LD_LIBRARY_PATH-} == */fake* ]] || skip "for the double"
}

# script ARGUMENT...: as whoever has built in PIPELINE's folder would type it.
script() {
    env -u LD_LIBRARY_PATH B="${PIPELINE%/bin/pipeline}" \
        tests/gpu/run.sh "$@"
}

@test "all parts work on the double, and the results say what it is" {
    run script --simulated "$T/results"
    is_status 0
    [[ ${lines[0]} == "# SIMULATED"* ]]
    [[ $output != *"not ok"* ]]
    says "ok 4 - strict"
    [ "${lines[-1]}" = "1..14" ]
    cd "$T/results"
    sha256sum --quiet -c sha256sums
    for f in SIMULATED README.md summary.tap doctor.txt strict.txt data.txt \
        ratios.md step_times.csv data_times.csv; do
        grep -q SIMULATED "$f"
    done
    grep -q '"simulated": 1,' facts.json
    # A line that names the columns, then the cells: by execution, by numerics.
    [ "$(wc -l <step_times.csv)" -eq 7 ]
    [ "$(wc -l <data_times.csv)" -eq 4 ]
    grep -q '^| 32 | adam | [0-9]' ratios.md
    [ "$(grep -c 'has the bytes' strict.txt)" -eq 2 ]
    [ -s q2/curve.svg ]
    # No place on this machine is named.
    ! grep -rF -e "$T" -e "$BATS_TEST_DIRNAME" .
}

@test "a part that fails is told, and the others go on" {
    export FAKE_CUDA_FAIL=cudaStreamSynchronize@1=700 PARTS="strict facts"
    run script --simulated "$T/results"
    is_status 1
    says "not ok 2 - strict"
    says "# strict: status 1"
    says "ok 3 - results"
    [ "${lines[-1]}" = "1..3" ]
    grep -q "not ok 2 - strict" "$T/results/README.md"
    cd "$T/results"
    sha256sum --quiet -c sha256sums
}

@test "without a GPU the doctor's part fails" {
    [ ! -e /dev/nvidiactl ] || skip "there is a GPU"
    PARTS=doctor run script "$T/results"
    is_status 1
    says "auto does not take the GPU"
}

@test "results of two runs are not mixed" {
    mkdir "$T/results"
    echo mine >"$T/results/notes.txt"
    run script --simulated "$T/results"
    is_status 2
    says "is not empty"
    run script
    is_status 2
    says "usage:"
    run script --simulated --help
    is_status 2
    [ "$(ls "$T/results")" = notes.txt ]
}

@test "the times of PyTorch's steps are rows" {
    for py in "${PYTHON-}" python3 /usr/bin/python3; do
        [ -n "$py" ] && "$py" -c 'import torch' >/dev/null 2>&1 && break
        py=
    done
    [ -n "$py" ] || skip "no Python with torch"
    "$py" tests/gpu/torch_steps.py "$T/torch" --device cpu --repeat 3 \
        --batches 32
    "$py" -m json.tool "$T/torch.json" >/dev/null
    [ "$(wc -l <"$T/torch.csv")" -eq 3 ]
    # And stand beside ours.
    printf '%s\n' n,median_ms,flag,batch_size,optimizer,execution,numerics \
        30,0.02,,32,adam,recorded,fast 30,0.04,drift,32,adam,eager,fast \
        >"$T/ours.csv"
    printf '%s\n' way,batch_size,optimizer,n,median_us,p10_us,p90_us,error \
        eager,32,adam,30,300,290,310, graph,32,adam,0,,,,none >"$T/theirs.csv"
    run awk -F, -v simulated=0 -f tests/gpu/ratios.awk "$T/ours.csv" \
        "$T/theirs.csv"
    is_status 0
    says "| 32 | adam | 20.0 | 40.0* | – | – | 300.0 | – | – | 15.0 | – | – |"
    says "- batch 32, adam: at most 25 µs: 20.0, reached"
    says "- batch 32, adam: 10 times PyTorch eager: 15.0, reached"
    rm "$T/theirs.csv"
}
