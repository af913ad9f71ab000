load helper

# Odd places, full disks, locks and signals.

setup_file() {
    bats_require_minimum_version 1.5.0
}

# Waits until FILE has something in it.
await() {
    for _ in $(seq 1000); do
        [ ! -s "$1" ] || return 0
        sleep 0.01
    done
    return 1
}

# Starts a run that ends only when it is told to; sets pid.
start_long_run() {
    "$PIPELINE" run "$T/blobs.yaml" --out "$T/out" epochs=100000 \
        >"$T/log" 2>&1 3>&- &
    pid=$!
    await "$T/out/blobs/train/checkpoints/resume.safetensors"
}

@test "spaces, quotes and other letters in every path" {
    odd="$T/a b ü 'q' \"d\" \$x"
    mkdir -p "$odd"
    cd "$odd"
    blobs "-ö fig.yaml"
    run pipeline run --out "ö ut/" -- "-ö fig.yaml"
    is_status 0
    [ -s "ö ut/blobs/train/stage.json" ]
    run pipeline run --out "ö ut" -- "-ö fig.yaml"
    says "2 up to date"
}

@test "results go where we stand, whatever the file's folder is" {
    mkdir -p "$T/configs" "$T/here"
    blobs "$T/configs/blobs.yaml"
    cd "$T/here"
    run pipeline run ../configs/blobs.yaml
    is_status 0
    [ -s "$T/here/out/blobs/train/stage.json" ]
    [ ! -e "$T/configs/out" ]
}

@test "a results folder that is a file is a clear error" {
    blobs "$T/blobs.yaml"
    : >"$T/file"
    run pipeline run "$T/blobs.yaml" --out "$T/file"
    is_status 3
    says "error: "
    says "$T/file"
    run pipeline plan "$T/blobs.yaml" --out "$T/file"
    is_status 0
}

@test "a results folder that cannot be made is a clear error" {
    blobs "$T/blobs.yaml"
    run pipeline run "$T/blobs.yaml" --out /proc/out
    is_status 3
    says "error: cannot make the folder '/proc/out'"
}

@test "a file size limit fails the stage and keeps what was good" {
    blobs "$T/blobs.yaml"
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    before=$(bits "$T/out/blobs/train")
    run bash -c 'trap "" XFSZ; ulimit -f 4; exec "$0" "$@"' "$PIPELINE" \
        run "$T/blobs.yaml" --out "$T/out" epochs=9
    is_status 3
    says "File too large"
    [ "$before" = "$(bits "$T/out/blobs/.runs/1/train")" ]
    run pipeline run "$T/blobs.yaml" --out "$T/out" epochs=9
    is_status 0
}

@test "results that cannot be shown are no success" {
    blobs "$T/blobs.yaml"
    run bash -c '"$0" run "$1/blobs.yaml" --out "$1/out" >/dev/full' \
        "$PIPELINE" "$T"
    is_status 3
    says "cannot write to standard output"
    run pipeline plan "$T/blobs.yaml" --out "$T/out" --check
    is_status 0
}

@test "a reader that goes away does not stop the work" {
    blobs "$T/blobs.yaml"
    "$PIPELINE" run "$T/blobs.yaml" --out "$T/out" 2>"$T/log" | :
    run pipeline plan "$T/blobs.yaml" --out "$T/out" --check
    is_status 0
}

@test "the second of two runs ends with 5 and names the first" {
    blobs "$T/blobs.yaml"
    start_long_run
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    is_status 5
    says "is in use by pid $pid on "
    run pipeline status "$T/blobs.yaml" --out "$T/out" epochs=100000
    says "running      train"
    kill -KILL $pid
    wait $pid || true
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    is_status 0
}

@test "SIGINT saves and ends with 130, SIGTERM with 143" {
    blobs "$T/blobs.yaml"
    for signal in INT:130 TERM:143; do
        start_long_run
        kill -"${signal%:*}" $pid
        code=0
        wait $pid || code=$?
        [ "$code" -eq "${signal#*:}" ]
        grep -q "^interrupted: stopped after step" "$T/log"
        [ ! -e "$T/out/blobs/train/stage.json" ]
        rm -rf "$T/out"
    done
}

@test "temporaries of a killed run are cleared" {
    blobs "$T/blobs.yaml"
    mkdir -p "$T/out/blobs/train/checkpoints"
    echo x >"$T/out/blobs/train/checkpoints/last.safetensors.tmp-aB3dE6"
    echo x >"$T/out/blobs/resolved.yaml.tmp-aB3dE6"
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    is_status 0
    ! find "$T/out" -name '*.tmp-*' | grep .
}

@test "damaged records are no results" {
    blobs "$T/blobs.yaml"
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    for damage in '' '{' '{"state": "done"}' '[]'; do
        printf '%s' "$damage" >"$T/out/blobs/train/stage.json"
        run pipeline plan "$T/blobs.yaml" --out "$T/out"
        says "run         train"
    done
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    is_status 0
}

@test "progress is a rewritten line on a terminal and plain lines elsewhere" {
    command -v script >/dev/null || skip "no script(1)"
    blobs "$T/blobs.yaml"
    sed -i 's/uses: train/uses: train\n    timeout: 0.6/' "$T/blobs.yaml"
    unset CI
    for set in 'TERM=xterm' 'TERM=dumb' 'TERM=xterm CI=1'; do
        env $set script -qec \
            "'$PIPELINE' run '$T/blobs.yaml' --out '$T/out' epochs=100000" \
            /dev/null >"$T/log" || [ $? -eq 3 ]
        if [ "$set" = TERM=xterm ]; then
            grep -q 'loss.*%  .*steps/s  ETA' "$T/log"
            grep -q $'\033\[K' "$T/log"
        else
            ! grep -q $'\033\[K' "$T/log"
        fi
    done
}

@test "colours follow --color, NO_COLOR and FORCE_COLOR" {
    blobs "$T/blobs.yaml"
    unset NO_COLOR
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    [[ $output != *$'\033['* ]]
    run pipeline run "$T/blobs.yaml" --out "$T/out" --color=always
    [[ $output == *$'\033[32m'* ]]
    FORCE_COLOR=1 run pipeline run "$T/blobs.yaml" --out "$T/out"
    [[ $output == *$'\033[32m'* ]]
    NO_COLOR=1 FORCE_COLOR=1 run pipeline run "$T/blobs.yaml" --out "$T/out"
    [[ $output != *$'\033['* ]]
}

@test "a second signal ends the run at once" {
    blobs "$T/blobs.yaml"
    start_long_run
    kill -STOP $pid
    kill -INT $pid
    kill -TERM $pid
    kill -CONT $pid
    code=0
    wait $pid || code=$?
    [ "$code" -eq 130 ] || [ "$code" -eq 143 ]
    ! grep -q "^interrupted" "$T/log"
    run pipeline plan "$T/blobs.yaml" --out "$T/out" epochs=100000
    says "run         train  (interrupted: resumes)"
}

@test "closed standard streams harm no file" {
    blobs "$T/blobs.yaml"
    run bash -c '"$0" run "$1/blobs.yaml" --out "$1/out" >&- 2>&- <&-' \
        "$PIPELINE" "$T"
    is_status 3
    ! grep -r "Using device" "$T/out/blobs/.lock" "$T/out/blobs/resolved.yaml"
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    is_status 0
    says "2 up to date"
}
