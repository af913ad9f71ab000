load helper

# What runs again, and what each line says about it.

setup_file() {
    bats_require_minimum_version 1.5.0
}

blobs_run() {
    run pipeline run "$T/blobs.yaml" --out "$T/out" "$@"
}

plan() {
    run pipeline plan "$T/blobs.yaml" --out "$T/out" "$@"
}

@test "a comment, a touched file and another folder change nothing" {
    blobs "$T/blobs.yaml"
    blobs_run
    echo "# a comment" >>"$T/blobs.yaml"
    find "$T/out" -type f -exec touch {} +
    plan --check
    is_status 0
    mkdir -p "$T/elsewhere"
    cp "$T/blobs.yaml" "$T/elsewhere/copy.yaml"
    cd "$T/elsewhere"
    run pipeline plan copy.yaml --out ../out --check
    is_status 0
}

@test "two changes are counted" {
    blobs "$T/blobs.yaml"
    blobs_run
    plan epochs=4 lr=0.02
    says "run         train  (with.epochs 3 -> 4, and 1 more)"
    says "may run     evaluate  (train runs first)"
}

@test "a changed data set and a changed model are named" {
    blobs "$T/blobs.yaml"
    blobs_run
    plan datasets.blobs.noise=0.2
    says "train  (datasets.blobs.noise 0.1 -> 0.2)"
    plan 'models.mlp.layers=[{type: linear, out: 16}, tanh, {type: linear, out: 3}]'
    says "train  (models.mlp.layers.1.type relu -> tanh)"
}

@test "a change back runs again, and the last ten runs are kept" {
    blobs "$T/blobs.yaml"
    blobs_run epochs=1
    for _ in 1 2 3 4 5 6; do
        blobs_run epochs=2
        blobs_run epochs=1
    done
    [ ! -e "$T/out/blobs/.runs/2" ]
    [ -d "$T/out/blobs/.runs/3/train" ]
    [ -d "$T/out/blobs/.runs/12/train" ]
    [ -s "$T/out/blobs/.runs/12/resolved.yaml" ]
}

@test "--force runs all or one, and equal outputs end the chain" {
    blobs "$T/blobs.yaml"
    blobs_run
    blobs_run --force
    says "run         train  (--force)"
    says "run         evaluate  (--force)"
    blobs_run --force=train
    says "run         train  (--force)"
    says "up to date  evaluate"
    blobs_run --force=trian
    is_status 2
    says "did you mean 'train'?"
}

@test "--only takes a stage and its needs, --from what builds on it" {
    blobs "$T/blobs.yaml"
    plan --only train
    [ "$output" = "run         train  (first run)" ]
    plan --only 'eval*'
    says "train"
    says "evaluate"
    plan --from train
    says "evaluate"
    plan --only nothing
    is_status 2
}

@test "-n is plan, and neither writes" {
    blobs "$T/blobs.yaml"
    blobs_run -n
    is_status 0
    dry=$output
    plan
    [ "$dry" = "$output" ]
    [ ! -e "$T/out" ]
}

@test "changed expectations judge old results without a run" {
    blobs "$T/blobs.yaml"
    blobs_run
    sed -i 's/gt: 0.9,/gt: 1.5,/' "$T/blobs.yaml"
    blobs_run
    is_status 1
    says "up to date  train"
    says "test.accuracy > 1.5"
    says "points: 0 of 10"
}

@test "an expectation on a metric that is none names the near one" {
    blobs "$T/blobs.yaml"
    sed -i 's/metric: test.accuracy/metric: test.acuracy/' "$T/blobs.yaml"
    blobs_run
    is_status 2
    says "a stage that uses train has no metric 'test.acuracy'"
    says "did you mean 'test.accuracy'?"
}

@test "an expectation for a GPU is not assessed without one" {
    blobs "$T/blobs.yaml"
    sed -i 's/points: 10/points: 10, requires: cuda/' "$T/blobs.yaml"
    blobs_run --device cpu
    is_status 0
    says "not assessed: no cuda"
    says "-/10"
}

@test "-k goes on with what does not need the failed stage" {
    blobs "$T/blobs.yaml"
    cat >>"$T/blobs.yaml" <<'YAML'
  other:
    uses: train
    with: {dataset: blobs, model: mlp, batch_size: 32, epochs: 1, lr: 0.01,
           optimizer: sgd}
YAML
    blobs_run lr=1e38
    is_status 3
    [[ $output != *"other"* ]]
    blobs_run lr=1e38 -k
    is_status 3
    says "error: stage 'train': "
    says "skipped     evaluate  (needs train)"
    says "run         other  (first run)"
}

@test "an interrupted stage resumes, --fresh begins anew" {
    blobs "$T/blobs.yaml"
    sed -i 's/uses: train/uses: train\n    timeout: 0.3/' "$T/blobs.yaml"
    blobs_run epochs=50000
    is_status 3
    says "error: stage 'train': timed out after 0.3 s"
    plan epochs=50000
    says "run         train  (interrupted: resumes)"
    plan epochs=50000 --fresh
    says "run         train  (interrupted: begins anew (--fresh))"
    run pipeline status "$T/blobs.yaml" --out "$T/out" epochs=50000
    says "interrupted  train"
    says "missing      evaluate"
}

@test "status says done and stale" {
    blobs "$T/blobs.yaml"
    blobs_run
    run pipeline status "$T/blobs.yaml" --out "$T/out"
    [ "${lines[0]}" = "done         train" ]
    run pipeline status "$T/blobs.yaml" --out "$T/out" lr=0.5
    [ "${lines[0]}" = "stale        train  (with.lr 0.01 -> 0.5)" ]
}

@test "a file that left the cache is fetched again, and nothing else" {
    printf 'x,y\n0,0\n1,1\n2,0\n3,1\n' >"$T/points.csv"
    cat >"$T/points.yaml" <<'YAML'
version: 1
name: points
datasets:
  points:
    type: csv
    target: y
    classes: 2
    mirrors: [.]
    files: {train: points.csv, test: points.csv}
models:
  line: {layers: [{type: linear, out: 2}]}
stages:
  train:
    uses: train
    with: {dataset: points, model: line, batch_size: 2, epochs: 1, lr: 0.1,
           optimizer: sgd}
YAML
    run pipeline run "$T/points.yaml" --out "$T/out"
    is_status 0
    says "run         fetch-points  (first run)"
    rm -rf "$T/cache"
    run pipeline run "$T/points.yaml" --out "$T/out"
    is_status 0
    says "is no longer in the cache"
    says "up to date  train"
    printf '4,1\n' >>"$T/points.csv"
    run pipeline run "$T/points.yaml" --out "$T/out" --force=fetch-points
    is_status 0
    says "run         train  (input from fetch-points changed)"
}

@test "more epochs of the same recipe go on, to the bits of one long run" {
    blobs "$T/blobs.yaml"
    run pipeline run "$T/blobs.yaml" epochs=2 --out "$T/short"
    is_status 0
    run pipeline run "$T/blobs.yaml" epochs=5 --out "$T/short"
    is_status 0
    says "with.epochs 2 -> 5: goes on from there"
    says "resuming at epoch 3"
    run pipeline run "$T/blobs.yaml" epochs=5 --out "$T/long"
    is_status 0
    [ "$(bits "$T/short/blobs/train")" = "$(bits "$T/long/blobs/train")" ]
    run pipeline run "$T/blobs.yaml" epochs=3 --out "$T/short"
    says "with.epochs 5 -> 3)"
    [[ $output != *resuming* ]]
}

@test "an edited data file without a hash is noticed, a damaged cache too" {
    mkdir "$T/data"
    printf 'a,b,label\n1,2,0\n2,1,1\n0,2,0\n2,0,1\n' >"$T/data/t.csv"
    cat >"$T/own.yaml" <<'YAML'
version: 1
name: own
datasets:
  d: {type: csv, target: label, classes: 2, mirrors: data, files: {train: {path: t.csv}}}
models:
  m: {layers: [{type: linear, out: 1}, squeeze]}
stages:
  t:
    uses: train
    with: {dataset: d, model: m, loss: bce_with_logits, batch_size: 2, epochs: 1, lr: 0.1, optimizer: sgd}
YAML
    run pipeline run "$T/own.yaml" --out "$T/out"
    is_status 0
    echo 3,0,1 >>"$T/data/t.csv"
    run pipeline run "$T/own.yaml" --out "$T/out"
    is_status 0
    says "run         fetch-d  (datasets.d.files.train.content"
    blob=$(find "$PIPELINE_CACHE/sha256" -type f -size +10c | while read -r f; do
        grep -q 3,0,1 "$f" && echo "$f"; done | head -n 1)
    sed -i 's/3,0,1/4,0,1/' "$blob"
    run pipeline run "$T/own.yaml" --out "$T/out" --force=t
    is_status 3
    says "'t.csv' was changed in the cache and is thrown away"
    run pipeline run "$T/own.yaml" --out "$T/out"
    is_status 0
}
