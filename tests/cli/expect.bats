load helper

# Expectations that are more than a number beside a bound, and configs that are
# no files.

# small FILE: two trainings, and what else is appended.
small() {
    cat >"$1" <<'YAML'
version: 1
name: small
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 60, n_test: 30,
          split: {validation: 10}}
  whole: {type: synthetic, kind: blobs, classes: 3, n_train: 60, n_test: 30}
models:
  line: {layers: [{type: linear, out: 3}]}
defaults:
  {dataset: blobs, model: line, batch_size: 10, epochs: 2, lr: 0.1, optimizer: sgd}
stages:
  one: {uses: train}
YAML
    cat >>"$1"
}

small_run() {
    run pipeline run "$T/small.yaml" --out "$T/out" "$@"
}

# diverges TEXT: `fast` is to fail with it, `after` needs it.
diverges() {
    small "$T/small.yaml" <<YAML
  fast:
    uses: train
    with: {lr: 1e38}
    expect: [{error: "$1", points: 3, why: the rate is far too high}]
  after: {uses: evaluate, with: {from: fast}}
YAML
}

@test "an error that was to come is a success, and stays one" {
    diverges "training diverged"
    for _ in 1 2; do
        small_run
        is_status 0
        says "✔  fast  fails with 'training diverged'  the loss is nan at step"
        says "skipped     after  (needs fast, which failed as expected)"
        says "points: 3 of 3"
    done
    says "up to date  fast  (failed as expected)"
    grep -q '"error": "the loss is nan' "$T/out/small/fast/stage.json"
    grep -q "failed as expected: the loss is nan" "$T/out/small/fast/log.txt"
    for command in plan status run; do
        run pipeline $command "$T/small.yaml" --out "$T/out" --check
        is_status 0
    done
    run pipeline status "$T/small.yaml" --out "$T/out"
    says "done         fast  (failed as expected)"
}

@test "another error than was to come fails the stage" {
    diverges "out of bounds"
    small_run
    is_status 3
    says "error: stage 'fast': the loss is nan at step"
    says "; a message with 'out of bounds' was to come"
    says "✘  fast  fails with 'out of bounds'  failed: the loss is nan at step"
}

@test "no error where one was to come fails the expectation" {
    diverges "training diverged"
    small_run stages.fast.with.lr=0.1
    is_status 1
    says "ran without an error; one that says 'training diverged' was to come"
    says "why: the rate is far too high"
    says "run         after  (first run)"
}

@test "a file can be expected to equal another stage's" {
    small "$T/small.yaml" <<'YAML'
  two:
    uses: train
    expect:
      - {file: checkpoints/last.safetensors, points: 2,
         same_as: "${stages.one.dir}/checkpoints/last.safetensors"}
      - {file: curve.csv, same_as: kept.csv, points: 1}
YAML
    small_run
    is_status 1
    says "✔  two  checkpoints/last.safetensors is the same as"
    says "kept.csv is missing"
    says "points: 2 of 3"
    run pipeline graph "$T/small.yaml"
    says "two  train  <- one"
    cp "$T/out/small/two/curve.csv" "$T/kept.csv"
    small_run
    is_status 0
    size=$(wc -c <"$T/kept.csv")
    says "the same $size bytes"
    echo >>"$T/kept.csv"
    small_run
    is_status 1
    says "$size bytes beside $((size + 1)); the first difference is at offset $size"
    small_run --only two stages.one.with.seed=5
    is_status 1
    says "; the first difference is at offset "
    # from the record too, wherever it is run
    cd / && run pipeline run "$T/out/small/resolved.yaml" --out "$T/out"
    says "is the same as $T/kept.csv"
    says "  $size bytes beside $((size + 1)); the first difference"
}

# metrics STAGE: the names that it wrote.
metrics() {
    sed -n 's/^ *"\([^"]*\)": .*/\1/p' "$T/out/small/$1/metrics.json"
}

@test "every metric that a stage writes can be expected of it" {
    small "$T/small.yaml" <<'YAML'
  whole: {uses: train, with: {dataset: whole, optimizer: adam}}
  measure: {uses: evaluate, with: {from: one}}
  count: {uses: summary, with: {optimizers: [sgd, sgd_momentum, adam, adamw]}}
YAML
    mkdir "$T/d"
    printf 'x,y\n1,0\n2,1\n' >"$T/d/p.csv"
    sed -i 's|^models:|  files: {type: csv, target: y, classes: 2, mirrors: [d], files: {train: p.csv}}\nmodels:|' \
        "$T/small.yaml"
    echo "  get: {uses: fetch, with: {dataset: files}}" >>"$T/small.yaml"
    small_run
    is_status 0
    for stage in one whole measure count get; do
        [ "$(metrics $stage | wc -l)" -ge 2 ]
        for name in $(metrics $stage); do
            run pipeline check "$T/small.yaml" \
                "stages.$stage.expect=[{metric: $name, ge: 0}]"
            is_status 0
            run pipeline check "$T/small.yaml" \
                "stages.$stage.expect=[{metric: ${name}z, ge: 0}]"
            [ $stage = count ] || is_status 2
        done
    done
    run pipeline check "$T/small.yaml" \
        'stages.one.expect=[{metric: test.los, ge: 0}]'
    is_status 2
    says "a stage that uses train has no metric 'test.los'"
    says "did you mean 'test.loss'?"
}

@test "-v shows all that makes a stage run again" {
    small "$T/small.yaml" </dev/null
    small_run
    run pipeline plan "$T/small.yaml" --out "$T/out" defaults.lr=0.2 \
        defaults.epochs=3
    says "(with.epochs 2 -> 3, and 1 more)"
    [[ $output != *with.lr* ]]
    for command in plan run; do
        run pipeline $command "$T/small.yaml" --out "$T/out" -v \
            defaults.lr=0.2 defaults.epochs=3
        says "(with.epochs 2 -> 3, and 1 more)
              with.epochs 2 -> 3
              with.lr 0.1 -> 0.2"
    done
    echo >>"$T/out/small/one/curve.csv"
    rm "$T/out/small/one/curve.svg"
    run pipeline plan "$T/small.yaml" --out "$T/out" -v defaults.lr=0.2 \
        defaults.epochs=3
    says "run         one  (curve.csv was changed)
              curve.csv was changed
              curve.svg is missing"
}

@test "a config that is no file is one clear error, at once" {
    small "$T/small.yaml" </dev/null
    mkfifo "$T/pipe"
    for command in check plan run; do
        run timeout 5 "$PIPELINE" $command "$T/pipe"
        is_status 2
        [ "$output" = "error: '$T/pipe' is a pipe, not a file" ]
        run timeout 5 "$PIPELINE" $command "$T"
        [ "$output" = "error: '$T' is a folder, not a file" ]
    done
    run pipeline check /dev/null
    is_status 2
    says "'/dev/null' is a device, not a file"
    for name in - /dev/stdin /dev/fd/0; do
        run pipeline check $name <"$T/small.yaml"
        is_status 2
        says "'$name': a config is not read from standard input"
    done
    printf 'version: 1\nname: x\nextends: pipe\n' >"$T/x.yaml"
    run timeout 5 "$PIPELINE" check "$T/x.yaml"
    is_status 2
    says "x.yaml:3:10: error: '$T/pipe' is a pipe, not a file"
}

@test "the lock file has the hash of the config that was read" {
    small "$T/small.yaml" </dev/null
    small_run
    grep -q "\"config_sha256\": \"$(sha256sum "$T/small.yaml" | cut -d' ' -f1)\"" \
        "$T/out/small/pipeline.lock.json"
}

@test "a stage does not begin from its own folder" {
    small "$T/small.yaml" </dev/null
    small_run \
        'stages.one.with.init_from=${stages.one.dir}/checkpoints/last.safetensors'
    is_status 2
    says "stage 'one' would read from its own folder, which is emptied before"
    sed -i 's|^  one: .*|  one: {uses: train, with: {init_from: out/small/one/a}}|' \
        "$T/small.yaml"
    small_run
    is_status 2
    says "small.yaml:12:40: error: stage 'one' would read '$T/out/small/one/a'"
    small_run stages.one.with.init_from=elsewhere
    is_status 3
}

@test "check --json lists mistakes in the order of the file" {
    small "$T/small.yaml" <<'YAML'
  two: {uses: nothing}
  one.b: {uses: train}
YAML
    sed -i 's/classes: 3, n_train/clases: 3, n_train/; s/out: 3/out: 3, x: 1/' \
        "$T/small.yaml"
    run pipeline check --json "$T/small.yaml"
    is_status 2
    lines=$(sed -n 's/.*"line": \([0-9]*\),.*/\1/p' <<<"$output")
    [ "$(wc -l <<<"$lines")" -ge 4 ]
    [ "$lines" = "$(sort -n <<<"$lines")" ]
}
