load helper

blobs_run() {
    run pipeline run "$T/blobs.yaml" --out "$T/out" "$@"
}

@test "a run says device and recipe, and leaves its artifacts" {
    blobs "$T/blobs.yaml"
    blobs_run
    is_status 0
    [[ ${lines[0]} == "Using device: cpu"* ]]
    says "epochs=3 lr=0.01"
    cd "$T/out/blobs"
    for file in resolved.yaml pipeline.lock.json evaluate/metrics.json \
        train/stage.json train/metrics.json train/log.txt train/curve.csv \
        train/curve.svg train/checkpoints/last.safetensors \
        train/checkpoints/resume.safetensors; do
        [ -s "$file" ] || { echo "no $file"; find . ; false; }
    done
    grep -q '"test.accuracy"' train/metrics.json
    head -1 train/log.txt | grep -q "Using device: cpu"
    ! find . -name '*.tmp-*' | grep .
}

@test "a second run is up to date and touches nothing" {
    blobs "$T/blobs.yaml"
    blobs_run
    before=$(find "$T/out/blobs" -name .lock -o -type f -printf '%p %T@\n' |
        grep -v -e lock -e resolved | sort)
    blobs_run
    is_status 0
    says "up to date"
    says "0 run, 2 up to date"
    after=$(find "$T/out/blobs" -name .lock -o -type f -printf '%p %T@\n' |
        grep -v -e lock -e resolved | sort)
    [ "$before" = "$after" ]
}

@test "a change of the recipe runs what depends on it, and says why" {
    blobs "$T/blobs.yaml"
    blobs_run
    run pipeline plan "$T/blobs.yaml" --out "$T/out" epochs=4
    is_status 0
    says "with.epochs 3 -> 4"
    blobs_run epochs=4
    is_status 0
    says "2 run"
    [ -d "$T/out/blobs/.runs/1/train" ]
}

@test "plan and status write nothing, --check tells by its status" {
    blobs "$T/blobs.yaml"
    for command in plan status; do
        run pipeline $command "$T/blobs.yaml" --out "$T/out" --check
        is_status 6
        [ ! -e "$T/out" ]
    done
    blobs_run
    for command in plan status run; do
        run pipeline $command "$T/blobs.yaml" --out "$T/out" --check
        is_status 0
    done
}

@test "a damaged or missing artifact is made again" {
    blobs "$T/blobs.yaml"
    blobs_run
    before=$(bits "$T/out/blobs")
    echo >>"$T/out/blobs/train/curve.csv"
    rm "$T/out/blobs/evaluate/metrics.json"
    run pipeline plan "$T/blobs.yaml" --out "$T/out"
    says "curve.csv"
    blobs_run
    is_status 0
    [ "$before" = "$(bits "$T/out/blobs")" ]
}

@test "threads do not change a bit" {
    blobs "$T/blobs.yaml"
    blobs_run --threads 1
    one=$(bits "$T/out/blobs")
    for n in 2 3; do
        blobs_run --threads $n --force
        is_status 0
        [ "$one" = "$(bits "$T/out/blobs")" ]
    done
}

@test "an expectation that fails gives status 1 and all results" {
    blobs "$T/blobs.yaml"
    blobs_run lr=1e-9 epochs=1
    is_status 1
    says "test.accuracy"
    [ -s "$T/out/blobs/train/stage.json" ]
}

@test "a second run says who holds the results" {
    blobs "$T/blobs.yaml"
    mkdir -p "$T/out/blobs"
    flock "$T/out/blobs/.lock" sh -c \
        '"$0" run "$1/blobs.yaml" --out "$1/out"; echo status $?' \
        "$PIPELINE" "$T" >"$T/log" 2>&1
    grep -q "status 5" "$T/log"
}

@test "an interrupted run goes on and ends with the same bytes" {
    blobs "$T/blobs.yaml"
    blobs_run epochs=60
    unbroken=$(bits "$T/out/blobs")
    rm -rf "$T/out"
    for signal in INT TERM; do
        "$PIPELINE" run "$T/blobs.yaml" --out "$T/out" epochs=60 \
            >"$T/log" 2>&1 3>&- &
        pid=$!
        for _ in $(seq 500); do
            [ ! -s "$T/out/blobs/train/checkpoints/resume.safetensors" ] ||
                break
            sleep 0.01
        done
        kill -$signal $pid 2>/dev/null || true
        code=0
        wait $pid || code=$?
        [[ $code == 0 || $code == 130 || $code == 143 ]]
    done
    blobs_run epochs=60
    is_status 0
    [ "$unbroken" = "$(bits "$T/out/blobs")" ]
}

@test "a killed run goes on and ends with the same bytes" {
    blobs "$T/blobs.yaml"
    blobs_run epochs=60
    unbroken=$(bits "$T/out/blobs")
    rm -rf "$T/out"
    for delay in 0.02 0.05 0.1 0.2; do
        timeout -s KILL $delay "$PIPELINE" run "$T/blobs.yaml" \
            --out "$T/out" epochs=60 >/dev/null 2>&1 || true
    done
    blobs_run epochs=60
    is_status 0
    [ "$unbroken" = "$(bits "$T/out/blobs")" ]
    ! find "$T/out" -name '*.tmp-*' | grep .
}

@test "--quiet leaves results and errors" {
    blobs "$T/blobs.yaml"
    run --separate-stderr pipeline run "$T/blobs.yaml" --out "$T/out" -q
    is_status 0
    [ -z "$stderr" ]
    [[ $output != *"Using device"* ]]
}

@test "resolved.yaml runs again as it is" {
    blobs "$T/blobs.yaml"
    blobs_run
    cp "$T/out/blobs/resolved.yaml" "$T/again.yaml"
    run pipeline plan "$T/again.yaml" --out "$T/out" --check
    is_status 0
}

@test "a data set that is nowhere gives status 4 and every reason" {
    cat >"$T/fetch.yaml" <<YAML
version: 1
name: fetch
datasets:
  points:
    type: csv
    target: y
    mirrors: [$T/nowhere, "http://127.0.0.1:9/"]
    files: {train: points.csv}
stages:
  get: {uses: fetch, with: {dataset: points, connect_timeout: 1}}
YAML
    run pipeline run "$T/fetch.yaml" --out "$T/out"
    is_status 4
    says "nowhere"
    says "127.0.0.1"
}

@test "a loss that becomes inf ends the stage with status 3" {
    blobs "$T/blobs.yaml"
    blobs_run lr=1e38
    is_status 3
    says "train"
}

@test "a device that is none and one that is not there" {
    blobs "$T/blobs.yaml"
    blobs_run --device gpu
    is_status 2
    blobs_run --device cuda:99
    is_status 7
}

@test "init_from begins from a checkpoint, and refuses one that does not fit" {
    blobs "$T/blobs.yaml"
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    is_status 0
    from=$T/out/blobs/train/checkpoints/last.safetensors
    run pipeline run "$T/blobs.yaml" stages.train.with.init_from="$from" \
        epochs=1 --out "$T/more"
    is_status 0
    [ "$(cut -d, -f4 "$T/out/blobs/train/curve.csv" | sed -n 2p)" != \
        "$(cut -d, -f4 "$T/more/blobs/train/curve.csv" | sed -n 2p)" ]
    run pipeline run "$T/blobs.yaml" stages.train.with.init_from="$from" \
        models.mlp.layers='[{type: linear, out: 3}]' --out "$T/other"
    is_status 3
    says "'0.weight' has the shape (16, 2) where (3, 2) is due"
    run pipeline run "$T/blobs.yaml" --out "$T/other" \
        stages.train.with.init_from="${from%last*}resume.safetensors"
    is_status 3
    says "which the model does not have"
}
