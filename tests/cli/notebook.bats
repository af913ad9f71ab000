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
    [ "$(wc -l <"$T/commands")" -eq 5 ]
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

@test "the notebook shows the picture and the tables of question 5" {
    pipeline run -q configs/q5.yaml hidden_dim=8 --device cpu --out "$T/out" \
        'stages.step.matrix.batch_size=[32, 128]' stages.step.with.repeat=3 \
        '~stages.answer.expect'
    run notebook show "$T"
    is_status 0
    says "<svg"
    says "# Step time over batch_size"
    says "| run      | batch_size |"
    says "| recorded |        128 |"
    [[ $output != *'!['* ]]
}
