load helper

# configs/exam-2.yaml, and that its expectations can fail.

setup_file() {
    bats_require_minimum_version 1.5.0
}

exam() {
    run pipeline run configs/exam-2.yaml --out "$T/out" --device cpu "$@"
}

@test "exam-2 holds, and says what it does" {
    exam
    is_status 0
    says "points: 19 of 19"
    log=$T/out/exam-2/logistic/log.txt
    grep -q "labels 0 and 1 (integers) are taken as 0.0 and 1.0 (float32) by \
bce_with_logits" "$log"
    grep -q 'one step: zero_grad, forward .*, loss .*, backward .*, step' "$log"
    grep -q 'resuming at epoch 4, best_val 0\.[0-9]* (step 30 of 60)' \
        "$T/out/exam-2/resumed/log.txt"
    cmp "$T/out/exam-2/logistic/curve.csv" "$T/out/exam-2/from_csv/curve.csv"
    exam
    is_status 0
    says "points: 19 of 19"
}

@test "exam-2 shows the numbers and their picture" {
    exam
    table=$T/out/exam-2/stability/table.csv
    [ "$(head -n 1 "$table" | cut -d, -f1-5)" = \
        "z,e^-|z|,stable_t0,builtin_t0,naive_t0" ]
    [ "$(wc -l <"$table")" -eq 12 ]
    awk -F, 'NR > 1 && !($2 >= 0 && $2 <= 1) { exit 1 }' "$table"
    grep -q '^40,.*,40,40,inf' "$table"
    grep -q '<svg' "$T/out/exam-2/curves/losses.svg"
}

@test "a momentum that is not resumed would be seen" {
    exam stages.unbroken.with.optimizer=sgd
    is_status 1
    says "checkpoints/last.safetensors is the same as"
    [[ $output != *"points: 19 of 19"* ]]
}

@test "a squeezed column, and a sound checkpoint, do not fail as they should" {
    exam models.column.layers='[{type: linear, out: 1}, squeeze]' \
        '~stages.pickled.with.init_from'
    is_status 1
    says "✘  no_squeeze"
    says "✘  pickled"
}
