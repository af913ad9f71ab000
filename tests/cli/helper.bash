# Loaded by every .bats file: a folder of its own in $T, results in $T/out, the
# cache in $T/cache, and small experiments. PIPELINE is the program.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    PIPELINE=$(realpath "${PIPELINE:-build/release/bin/pipeline}")
    T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-cli.XXXXXX")
    export PIPELINE_CACHE=$T/cache NO_COLOR=1 LC_ALL=C.UTF-8
    unset PIPELINE_OUT
}

teardown() {
    [ -z "${T-}" ] || rm -rf "$T"
}

pipeline() {
    "$PIPELINE" "$@"
}

# blobs FILE: trains in a blink, without any file to fetch.
blobs() {
    cat >"$1" <<'YAML'
version: 1
name: blobs
vars: {epochs: 3, lr: 0.01}
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600, n_test: 300}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  train:
    uses: train
    with:
      dataset: blobs
      model: mlp
      batch_size: 32
      epochs: "${vars.epochs}"
      lr: "${vars.lr}"
      optimizer: adam
    expect:
      - {metric: test.accuracy, gt: 0.9, points: 10, why: they lie apart}
  evaluate:
    uses: evaluate
    with: {from: train}
YAML
}

# Fails unless the output of the last `run` has the text.
says() {
    [[ $output == *"$1"* ]] || {
        echo "not said: $1"
        echo "but: $output"
        return 1
    }
}

is_status() {
    [ "$status" -eq "$1" ] || {
        echo "status $status, not $1"
        echo "$output"
        return 1
    }
}

# The numbers of a run that must not depend on anything.
bits() {
    (cd "$1" && find . -type f ! -name stage.json ! -name log.txt \
        ! -name pipeline.lock.json ! -name .lock ! -path './.runs/*' \
        -exec sha256sum {} + | sort -k2)
}
