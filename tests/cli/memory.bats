load helper

profile() {
    cat >"$T/m.yaml" <<'YAML'
version: 1
name: m
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  step:
    uses: profile
    with: {dataset: blobs, model: mlp, lr: 0.01, optimizer: adam, repeat: 2,
           batch_size: 32, trace: true}
    expect:
      - {metric: memory.parameters, eq: 396, why: 4 * (16 * 2 + 16 + 51)}
      - {metric: memory.gradients, eq: 396}
      - {metric: memory.optimizer_state, eq: 792}
YAML
    pipeline run "$T/m.yaml" --out "$1" --device cpu "${@:2}"
}

@test "a profile leaves its memory timeline as page, picture and torch's files" {
    run profile "$T/a"
    is_status 0
    dir=$T/a/m/step
    grep -q '"timed":true' "$dir/adam_h=16_bs=32_memory.html"
    grep -q '</svg>' "$dir/adam_h=16_bs=32_memory.svg"
    grep -q '^\[\[' "$dir/memory.json"
    gzip -dc "$dir/memory.raw.json.gz" | grep -q '^\[\[-1, 1, 128, 0\]'
}

@test "a memory timeline without times is the same each time" {
    profile "$T/a" stages.step.with.trace=false
    profile "$T/b" stages.step.with.trace=false
    cd "$T/a/m/step"
    grep -q '"timed":false' adam_h=16_bs=32_memory.html
    for file in adam_h=16_bs=32_memory.* memory.*; do
        cmp "$file" "$T/b/m/step/$file"
    done
}

compared() {
    cat >"$T/c.yaml" <<'YAML'
version: 1
name: c
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  step:
    uses: profile
    matrix: {optimizer: [sgd, sgd_momentum, adam]}
    with: {dataset: blobs, model: mlp, lr: 0.01, repeat: 2, batch_size: 32}
  differ:
    uses: compare
    with: {from: step, show: memory}
    expect:
      - {metric: optimizer=sgd.optimizer_state, eq: 0}
      - {metric: optimizer=sgd_momentum.optimizer_state.difference, eq: 396}
      - {metric: optimizer=adam.optimizer_state.difference, eq: 792}
      - {metric: optimizer=adam.others.difference, eq: 0}
      - {metric: optimizer=adam.state_per_parameter, eq: 2}
YAML
    pipeline run "$T/c.yaml" --out "$T/c" --device cpu "$@"
}

@test "the memory of a matrix of profiles is compared" {
    run compared
    is_status 0
    says "396 bytes of optimizer state with optimizer=sgd_momentum"
    cd "$T/c/c/differ"
    grep -q '</svg>' memory.svg
    grep -q '"label":"optimizer=adam"' memory.html
    grep -q 'P : P : 2 P | yes, to the byte' memory.md
    grep -q 'every other category differs by 0 bytes' memory.md
    [ "$(grep -c . memory_compared.csv)" -eq 22 ]
}
