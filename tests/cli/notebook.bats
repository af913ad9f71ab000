load helper

# examples/colab.ipynb, as far as a machine without a GPU can go.

setup_file() {
    command -v python3 >/dev/null || skip "no Python"
}

notebook() {
    python3 tests/notebook.py "$@"
}

@test "the notebook is one, without outputs" {
    run notebook check
    is_status 0
}

@test "what the notebook types is there" {
    notebook commands >"$T/commands"
    [ "$(wc -l <"$T/commands")" -eq 6 ]
    while read -r -a word; do
        case ${word[0]} in
        git | make) ;;
        build/release/bin/pipeline)
            case ${word[1]} in
            doctor) pipeline doctor ;;
            run) pipeline check "${word[2]}" ;;
            *) false ;;
            esac
            ;;
        *) [ -x "${word[0]}" ] ;;
        esac || {
            echo "cannot be typed: ${word[*]}"
            return 1
        }
    done <"$T/commands"
}

@test "the notebook shows the curve and the table of the times" {
    pipeline run -q configs/q2.yaml --only train epochs=1 hidden_dim=8 \
        '~stages.train.expect' --device cpu --out "$T/out"
    pipeline run -q configs/step-times.yaml hidden_dim=8 --device cpu \
        'stages.step.matrix.batch_size=[32, 128]' --out "$T/out"
    run notebook show "$T"
    is_status 0
    says "<svg"
    says "| batch_size | optimizer | median_ms |"
    [[ ${lines[-4]} == "| 32 | adam | "* ]]
    [[ ${lines[-1]} == "| 128 | sgd | "* ]]
}
