load helper

@test "no command is an error that points to help" {
    run pipeline
    is_status 2
    says "pipeline help"
}

@test "help lists every command and goes to standard output" {
    run --separate-stderr pipeline help
    is_status 0
    for word in run plan check show status version; do says "$word"; done
    [ -z "$stderr" ]
}

@test "help explains a command, a stage kind and a key" {
    for word in run train lr; do
        run pipeline help "$word"
        is_status 0
        says "$word"
    done
    run pipeline help trian
    is_status 2
    says "train"
}

@test "version is one line" {
    run pipeline version
    is_status 0
    [[ $output =~ ^pipeline\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "a mistyped command and a mistyped option get a suggestion" {
    run pipeline rum
    is_status 2
    says "did you mean 'run'?"
    run pipeline run x.yaml --thread 2
    is_status 2
    says "did you mean '--threads'?"
}

@test "a wrong option value is an error" {
    for option in --threads=0 --threads=x --threads= --color=blue; do
        run pipeline run x.yaml $option
        is_status 2
    done
    run pipeline version --threads 2
    is_status 2
}

@test "a file that is not there is named" {
    run pipeline run "$T/none.yaml"
    is_status 2
    says "none.yaml"
    run pipeline run "$T"
    is_status 2
}

@test "a full disk under standard output is a failure" {
    run sh -c '"$0" help >/dev/full' "$PIPELINE"
    [ "$status" -ne 0 ]
}

@test "a closed pipe ends quietly" {
    run sh -c '"$0" help 2>&1 | true; echo end' "$PIPELINE"
    says "end"
    [[ $output != *error* || $output == *"Broken pipe"* ]]
}
