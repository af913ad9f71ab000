load ../cli/helper

# Training on MNIST by a GPU or its double (README.md here): minutes on the
# latter, for make check.

# A data set of MNIST's first SAMPLES digits to train on and 200 to test, in
# the file whole.yaml; a hidden layer of vars.hidden.
digits() {
    local d=examples/data/mnist
    mkdir -p "$T/data"
    first "$d/train-images-idx3-ubyte.gz" "$1" 16 784 >"$T/data/train-images"
    first "$d/train-labels-idx1-ubyte.gz" "$1" 8 1 >"$T/data/train-labels"
    first "$d/t10k-images-idx3-ubyte.gz" 200 16 784 >"$T/data/test-images"
    first "$d/t10k-labels-idx1-ubyte.gz" 200 8 1 >"$T/data/test-labels"
    cat >"$T/digits.yaml" <<YAML
version: 1
name: digits
vars: {hidden: 100, epochs: 1, optimizer: adam}
datasets:
  digits:
    type: idx
    classes: 10
    divide: 255
    mirrors: [$T/data]
    files:
      train_images: {path: train-images}
      train_labels: {path: train-labels}
      test_images: {path: test-images}
      test_labels: {path: test-labels}
models:
  mlp:
    layers: [{type: linear, out: "\${vars.hidden}"}, relu, {type: linear, out: 10}]
stages:
  train:
    uses: train
    with:
      dataset: digits
      model: mlp
      batch_size: 32
      epochs: "\${vars.epochs}"
      lr: 1e-3
      optimizer: "\${vars.optimizer}"
      numerics: strict
      checkpoint: {every_n_epochs: 1}
YAML
}

# first FILE N HEADER SIZE: an IDX file's first N items of SIZE bytes.
first() {
    local n
    printf -v n '\\x%02x\\x%02x\\x%02x\\x%02x' $(($2 >> 24 & 255)) \
        $(($2 >> 16 & 255)) $(($2 >> 8 & 255)) $(($2 & 255))
    gzip -dc "$1" 2>/dev/null | head -c 4
    printf "$n"
    gzip -dc "$1" 2>/dev/null | head -c $(($3 + $2 * $4)) | tail -c +9
}

# train DIR ARGUMENT...
train() {
    local dir=$1
    shift
    pipeline run "$T/digits.yaml" --out "$T/$dir" "$@"
}

# Fails unless all that training left is the same, times apart.
same() {
    [ -s "$T/$1/digits/train/checkpoints/last.safetensors" ] &&
        diff <(left "$1") <(left "$2")
}

left() {
    (cd "$T/$1/digits/train" && find . -type f ! -name stage.json \
        ! -name log.txt -exec sha256sum {} + | sort -k2)
}

@test "200 strict steps of 256 units leave the CPU's checkpoints" {
    digits 6400
    train cpu --device cpu hidden=256
    train gpu --device cuda hidden=256
    same cpu gpu
}

@test "200 strict steps of 100 units leave them too, by every way of the data" {
    local way
    digits 6400
    train cpu --device cpu
    for way in device host_pinned host_pageable; do
        train "$way" --device cuda stages.train.with.data="$way"
        same cpu "$way"
    done
}

@test "a checkpoint of one device is trained on by the other" {
    digits 1610
    train whole --device cpu epochs=2 optimizer=sgd_momentum
    train there --device cpu optimizer=sgd_momentum
    train there --device cuda epochs=2 optimizer=sgd_momentum
    same whole there
    train back --device cuda optimizer=sgd_momentum
    train back --device cpu epochs=2 optimizer=sgd_momentum
    same whole back
}

@test "a short recipe of q2 reads 95 % of the digits" {
    run pipeline run configs/q2.yaml --device cuda --out "$T/out" \
        hidden_dim=128 epochs=2 batch_size=64 \
        stages.train.expect.0.gt=0.95 stages.evaluate.expect.0.gt=0.95
    is_status 0
    says "✔  evaluate  accuracy > 0.95"
}
