load helper

# graph, fetch, clean, JSON, and the options of a run.

# two FILE: two data sets in folders, a network trained on each.
two() {
    mkdir -p "$T/d1" "$T/d2"
    for i in 1 2; do
        awk -v i=$i 'BEGIN {
            print "x,y"
            for (k = 0; k < 60; k++) printf "%d.%d,%d\n", k, i, k % 2 }' \
            >"$T/d$i/p.csv"
    done
    cat >"$T/two.yaml" <<'YAML'
version: 1
name: two
datasets:
  a: {type: csv, target: y, classes: 2, mirrors: [d1],
      files: {train: p.csv, test: p.csv}}
  b: {type: csv, target: y, classes: 2, mirrors: [d2],
      files: {train: p.csv, test: p.csv}}
models:
  line: {layers: [{type: linear, out: 2}]}
defaults: {model: line, batch_size: 20, epochs: 2, lr: 0.01, optimizer: sgd}
stages:
  ta: {uses: train, with: {dataset: a},
       expect: [{metric: test.accuracy, gt: 0.1, points: 3}]}
  tb: {uses: train, with: {dataset: b}}
YAML
}

two_run() {
    run pipeline run "$T/two.yaml" --out "$T/out" "$@"
}

# json EXPRESSION: of what the last `run` put out, as d.
json() {
    command -v python3 >/dev/null || skip "no python3"
    printf '%s' "$output" >"$T/json"
    python3 -c "import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))" "$T/json" "$1"
}

@test "graph says which stage needs which, in three forms" {
    two
    run pipeline graph "$T/two.yaml"
    is_status 0
    says "ta       train  <- fetch-a"
    run pipeline graph "$T/two.yaml" --dot --only ta
    says 'digraph "two" {'
    says '"fetch-a" -> "ta";'
    [[ $output != *tb* ]]
    run pipeline graph "$T/two.yaml" --mermaid
    says "flowchart LR"
    says "s0 --> s1"
    run pipeline graph "$T/two.yaml" --mermaid --dot
    is_status 2
}

@test "fetch fills the cache and trains nothing" {
    two
    run pipeline fetch "$T/two.yaml" --out "$T/out"
    is_status 0
    says "run         fetch-a"
    says "run         fetch-b"
    [[ $output != *"  ta"* ]]
    two_run
    says "up to date  fetch-a"
    says "run         ta"
}

@test "-j runs at once what it can, with the same output and bytes" {
    two
    two_run
    is_status 0
    one=$(bits "$T/out/two")
    said=$(grep -v steps/s <<<"$output")
    rm -rf "$T/out" "$T/cache"
    two_run -j4
    is_status 0
    [ "$one" = "$(bits "$T/out/two")" ]
    [ "$said" = "$(grep -v steps/s <<<"$output")" ]
    rm -rf "$T/out" "$T/cache" "$T/d1"
    two_run -j 4
    is_status 4
    says "error: stage 'fetch-a'"
    two_run -k --jobs=4
    is_status 4
    says "skipped     ta  (needs fetch-a)"
    says "run         tb"
}

@test "an interrupted run of several stages saves and ends with 130" {
    two
    sed -i 's|mirrors: \[d.\]|mirrors: ["http://127.0.0.1:1/"]|' "$T/two.yaml"
    "$PIPELINE" run "$T/two.yaml" --out "$T/out" -j2 >"$T/log" 2>&1 3>&- &
    pid=$!
    for _ in $(seq 300); do
        [ ! -e "$T/out/two/fetch-b/log.txt" ] || break
        sleep 0.01
    done
    kill -INT $pid
    code=0
    wait $pid || code=$?
    [ "$code" -eq 130 ]
    grep -q '^interrupted: ' "$T/log"
    # Neither child lives on: the lock is free at once.
    flock -n "$T/out/two/.lock" true
}

@test "--offline takes folders and the cache, and no address" {
    two
    two_run --offline
    is_status 0
    sed -i 's|mirrors: \[d1\]|mirrors: ["http://127.0.0.1:1/"]|' "$T/two.yaml"
    rm -rf "$T/out" "$T/cache"
    two_run --offline
    is_status 4
    says "offline"
}

@test "--locked holds a run to the lock file" {
    two
    two_run --locked
    is_status 3
    says "there is no '$T/out/two/pipeline.lock.json'"
    two_run
    cp "$T/out/two/pipeline.lock.json" "$T/lock.json"
    two_run --locked
    is_status 0
    two_run --locked --force
    is_status 0
    two_run --locked stages.ta.with.lr=0.5
    is_status 3
    says "--locked: stage 'ta': with.lr is '0.5', and the lock file says '0.01'"
    cmp "$T/lock.json" "$T/out/two/pipeline.lock.json"
    sed 's/gt: 0.1/gt: 0.2/' "$T/two.yaml" >"$T/other.yaml"
    run pipeline run "$T/other.yaml" --out "$T/out" "--locked=$T/lock.json"
    is_status 3
    says "an expectation is 'test.accuracy > 0.2"
    # In another place, with the data of another day.
    mkdir "$T/elsewhere"
    cp -r "$T/two.yaml" "$T/d1" "$T/d2" "$T/elsewhere"
    run pipeline run "$T/elsewhere/two.yaml" --out "$T/new" \
        "--locked=$T/lock.json"
    is_status 0
    echo 99.5,1 >>"$T/elsewhere/d2/p.csv"
    run pipeline run "$T/elsewhere/two.yaml" --out "$T/new" \
        "--locked=$T/lock.json" --force
    is_status 3
    says "--locked: stage 'fetch-b': datasets.b.files.train.content is"
}

@test "--wait waits for the run that holds the results" {
    two
    mkdir -p "$T/out/two"
    flock "$T/out/two/.lock" sleep 0.6 3>&- &
    pid=$!
    sleep 0.2
    two_run --wait
    is_status 0
    says "waiting: '$T/out/two' is in use by"
    wait $pid
}

@test "-S is an override too" {
    two
    run pipeline plan "$T/two.yaml" --out "$T/out" \
        -S stages.ta.with.epochs=7 -Sstages.tb.with.epochs=8
    is_status 0
    run pipeline show "$T/two.yaml" -S stages.ta.with.epochs=7 \
        --set=stages.tb.with.epochs=8
    says "epochs: 7"
    says "epochs: 8"
    run pipeline plan "$T/two.yaml" -S nonsense
    is_status 2
}

@test "--json puts one JSON text out, and all else on standard error" {
    two
    run --separate-stderr pipeline run "$T/two.yaml" --out "$T/out" --json
    is_status 0
    [ "$(json 'd["status"], d["run"], d["points"], d["of"]')" = "(0, 4, 3, 3)" ]
    [ "$(json '[s["stage"] for s in d["stages"]]')" = \
        "['fetch-a', 'ta', 'fetch-b', 'tb']" ]
    [ "$(json 'd["expectations"][0]["outcome"]')" = passed ]
    [[ $stderr == *"run         ta  (first run)"* ]]
    run --separate-stderr pipeline plan "$T/two.yaml" --out "$T/out" --json \
        stages.tb.with.epochs=3
    [ "$(json 'd["work"], d["stages"][3]["reason"]')" = \
        "(1, 'with.epochs 2 -> 3: goes on from there')" ]
    run --separate-stderr pipeline status "$T/two.yaml" --out "$T/out" --json
    [ "$(json '[a["name"] for a in d["stages"][0]["artifacts"]]')" = \
        "['files.json', 'metrics.json']" ]
    run --separate-stderr pipeline run "$T/two.yaml" --out "$T/out" --json \
        stages.tb.with.epochs=x
    is_status 2
    [ "$(json 'd["status"], len(d["mistakes"])')" = "(2, 1)" ]
    run --separate-stderr pipeline run "$T/two.yaml" --out "$T/out" --json \
        stages.tb.with.lr=1e38
    is_status 3
    [ "$(json 'd["failed"], d["stages"][-1]["error"] is not None')" = \
        "(1, True)" ]
}

@test "check --json lists the mistakes of all files" {
    two
    run --separate-stderr pipeline check "$T/two.yaml" --json
    is_status 0
    [ "$(json 'd')" = "[]" ]
    sed 's/batch_size/bach_size/' "$T/two.yaml" >"$T/bad.yaml"
    run --separate-stderr pipeline check "$T/two.yaml" "$T/bad.yaml" \
        "$T/none.yaml" --json
    is_status 2
    [ "$(json 'd[0]["line"], d[0]["help"][0]')" = \
        "(10, \"did you mean 'batch_size'?\")" ]
    [ "$(json '"none.yaml" in d[-1]["message"]')" = True ]
}

@test "status -v lists the files of each stage" {
    two
    two_run
    run pipeline status "$T/two.yaml" --out "$T/out" -v
    says "checkpoints/last.safetensors"
}

@test "clean removes what runs made and nothing else" {
    two
    two_run
    two_run --force
    echo mine >"$T/out/two/notes.txt"
    echo mine >"$T/out/two/ta/notes.txt"
    mkdir "$T/precious"
    echo mine >"$T/precious/file"
    ln -s "$T/precious" "$T/out/two/link"
    ln -s "$T/precious/file" "$T/out/two/tb/link"
    before=$(find "$T/out" | sort)
    run pipeline clean -n "$T/two.yaml" --out "$T/out"
    is_status 0
    says "remove $T/out/two/ta ("
    says "keep $T/out/two/notes.txt: not made by a run"
    [ "$before" = "$(find "$T/out" | sort)" ]
    run pipeline clean "$T/two.yaml" --out "$T/out" --history
    is_status 0
    [ ! -e "$T/out/two/.runs" ]
    [ -s "$T/out/two/ta/stage.json" ]
    run pipeline clean "$T/two.yaml" --out "$T/out"
    is_status 0
    [ "$(cd "$T/out" && find . ! -type d | sort | tr '\n' ' ')" = \
        "./two/link ./two/notes.txt ./two/ta/notes.txt ./two/tb/link " ]
    [ "$(cat "$T/precious/file")" = mine ]
    rm -rf "$T/out/two"
    two_run
    run pipeline clean "$T/two.yaml" --out "$T/out"
    [ ! -e "$T/out/two" ]
    run pipeline clean "$T/two.yaml" --out "$T/out"
    is_status 0
}

@test "clean takes an unfinished stage too, and keeps out of a run" {
    blobs "$T/blobs.yaml"
    "$PIPELINE" run "$T/blobs.yaml" --out "$T/out" epochs=100000 \
        >"$T/log" 2>&1 3>&- &
    pid=$!
    for _ in $(seq 1000); do
        [ ! -s "$T/out/blobs/train/checkpoints/resume.safetensors" ] || break
        sleep 0.01
    done
    run pipeline clean "$T/blobs.yaml" --out "$T/out"
    is_status 5
    says "is in use by pid $pid"
    run pipeline clean -n "$T/blobs.yaml" --out "$T/out"
    is_status 5
    kill -KILL $pid
    wait $pid || true
    run pipeline clean "$T/blobs.yaml" --out "$T/out"
    is_status 0
    [ ! -e "$T/out/blobs" ]
}

@test "clean --cache empties the cache, but for what is not a download" {
    two
    two_run
    mkdir -p "$T/precious" "$T/cache/sha256/zz"
    echo mine >"$T/cache/sha256/zz/file"
    ln -s "$T/precious" "$T/cache/sha256/ab-link"
    run pipeline clean --cache -n
    is_status 0
    [ "$(find "$T/cache" -type f | wc -l)" -gt 1 ]
    run pipeline clean --cache
    is_status 0
    [ "$(find "$T/cache" -type f)" = "$T/cache/sha256/zz/file" ]
    [ -d "$T/precious" ]
    run pipeline clean --cache "$T/two.yaml"
    is_status 2
}
