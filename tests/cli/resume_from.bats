load helper

# A train stage that goes on from another, to the bits of an unbroken run.

setup_file() {
    bats_require_minimum_version 1.5.0
}

# Stages `unbroken`, `first` and `second` for all the epochs, the first 2 and
# the rest, with what else `with` says.
halves() {
    cat >"$T/halves.yaml" <<YAML
version: 1
name: halves
datasets:
  points: {type: synthetic, kind: moons, n_train: 300, n_test: 100, noise: 0.2,
           ${split-"split: {validation: 60}"}}
models:
  mlp: {layers: [{type: linear, out: 8}, tanh, {type: dropout, p: 0.1},
                 {type: linear, out: 2}]}
defaults:
  train: {dataset: points, model: mlp, batch_size: 32, epochs: 5, lr: 0.01,
          optimizer: adam, $1}
stages:
  unbroken: {uses: train}
  first: {uses: train, with: {epochs: 2}}
  second: {uses: train, with: {resume_from: first}}
YAML
}

halves_run() {
    run pipeline run "$T/halves.yaml" --out "$T/out" "$@"
}

# All but the picture, whose title names the stage, and the calls of a step,
# which fusion changes.
numbers() {
    bits "$T/out/halves/$1" | grep -v -e curve.svg -e step.md
}

same_numbers() {
    [ "$(numbers "$1")" = "$(numbers "$2")" ] || {
        diff <(numbers "$1") <(numbers "$2")
        return 1
    }
}

@test "a resumed stage ends with the bytes of an unbroken one" {
    halves 'checkpoint: {every_n_epochs: 1}'
    halves_run
    is_status 0
    same_numbers unbroken second
    numbers second | grep -q epoch-1
    numbers second | grep -q best
    grep -q 'resuming at epoch 3, best_val 0\.[0-9]* (step 16 of 40)' \
        "$T/out/halves/second/log.txt"
    run ! grep -q resuming "$T/out/halves/first/log.txt"
    run ! grep -q 'epoch [12]/5' "$T/out/halves/second/log.txt"
}

@test "so it does with every optimizer, and with old checkpoints dropped" {
    for optimizer in sgd sgd_momentum adamw; do
        halves "optimizer: $optimizer,
                checkpoint: {every_n_epochs: 2, keep_last_n: 1}"
        sed -i 's/optimizer: adam, optimizer/optimizer/' "$T/halves.yaml"
        halves_run
        is_status 0
        same_numbers unbroken second
        numbers second | grep -q epoch-4
        run ! grep -q epoch-2 <(numbers second)
        rm -rf "$T/out"
    done
}

@test "without a validation split there is no best value" {
    split='' halves 'schedule: {type: step, step_epochs: 2}'
    halves_run
    is_status 0
    same_numbers unbroken second
    says "resuming at epoch 3, best_val none"
}

@test "a chain of three runs, and what leaves the numbers alone" {
    halves 'monitor: {metric: validation.accuracy}'
    cat >>"$T/halves.yaml" <<'YAML'
  third: {uses: train, with: {resume_from: half@epochs=4, fusion: none,
                              eval_batch_size: 7}}
  half:
    uses: train
    matrix: {epochs: [3, 4]}
    with: {resume_from: first, checkpoint: {every_n_steps: 3}}
YAML
    halves_run
    is_status 0
    same_numbers unbroken third
    same_numbers unbroken second
}

@test "a stage whose source was stopped, and that was stopped itself" {
    halves 'checkpoint: {every_n_epochs: 40}'
    set -- stages.first.with.epochs=40 defaults.train.epochs=80
    halves_run "$@"
    is_status 0
    want=$(numbers unbroken)
    [ "$want" = "$(numbers second)" ]
    rm -rf "$T/out/halves/first" "$T/out/halves/second"
    for _ in 1 2 3 4 5 6 7 8; do
        timeout -s "$([ $((++i % 2)) = 0 ] && echo INT || echo KILL)" 0.04 \
            "$PIPELINE" run "$T/halves.yaml" --out "$T/out" "$@" \
            >/dev/null 2>&1 || true
    done
    halves_run "$@"
    is_status 0
    [ "$want" = "$(numbers second)" ]
}

@test "more epochs go on from the stage's own last results" {
    halves ''
    halves_run
    halves_run defaults.train.epochs=7
    is_status 0
    says "run         second  (with.epochs 5 -> 7: goes on from there)"
    same_numbers unbroken second
    grep -q 'resuming at epoch 6' "$T/out/halves/second/log.txt"
}

@test "it runs again when its source has changed, and only then" {
    halves ''
    halves_run
    halves_run --force=first
    is_status 0
    says "run         first  (--force)"
    says "up to date  second"
    halves_run --force=second
    says "up to date  first"
    says "resuming at epoch 3"
    same_numbers unbroken second
    halves_run defaults.train.seed=1
    is_status 0
    says "resuming at epoch 3"
    same_numbers unbroken second
    run pipeline plan "$T/halves.yaml" --out "$T/out" --only second \
        defaults.train.seed=1
    says "up to date  first"
    says "up to date  second"
}

@test "a source whose checkpoint was damaged is made again" {
    halves ''
    halves_run
    rm -rf "$T/out/halves/second"
    truncate -s -1 "$T/out/halves/first/checkpoints/resume.safetensors"
    halves_run
    is_status 0
    says "run         first  (checkpoints/resume.safetensors was changed)"
    same_numbers unbroken second
}

@test "integer labels that a loss takes for numbers are told" {
    blobs "$T/blobs.yaml"
    run pipeline run "$T/blobs.yaml" --out "$T/out" \
        stages.train.with.loss=mse epochs=1 '~stages.evaluate' \
        '~stages.train.expect' \
        models.mlp.layers='[{type: linear, out: 1}]'
    is_status 0
    says "labels 0 to 2 (integers) are taken as 0.0 to 2.0 (float32) by mse"
    run pipeline run "$T/blobs.yaml" --out "$T/other"
    is_status 0
    [[ $output != *"are taken as"* ]]
}
