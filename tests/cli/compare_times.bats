load helper

# compare stages of `show: times`, on blobs in a blink.

# times FILE: steps at three batch sizes, eager and recorded, compared.
times() {
    cat >"$1" <<'YAML'
version: 1
name: times
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  step:
    uses: profile
    matrix: {batch_size: [32, 128, 512], execution: [eager, recorded]}
    with:
      {dataset: blobs, model: mlp, lr: 0.01, optimizer: adam, n_step: 2,
       warmup: 1, repeat: 5, data: host_pageable, fusion: none}
  answer:
    uses: compare
    with: {from: step}
    expect:
      - {metric: eager.work_ratio, eq: 16}
      - {metric: recorded.step_ms.32, gt: 0}
      - {metric: eager.last_ms.512, gt: 0}
      - {file: times_compared.csv, column: work_ratio, eq: 16}
      - {metric: eager.step_ratio, lt: 8, requires: cuda, points: 10}
YAML
}

@test "step times stand side by side, with a picture and the reasons" {
    times "$T/times.yaml"
    run pipeline run "$T/times.yaml" --out "$T/out" --device cpu
    is_status 0
    says "eager: batch_size 32 to 512: "
    says "times for 16 times the work"
    says "eager.step_ratio < 8"
    says "not assessed: no cuda"
    dir=$T/out/times/answer
    grep -q '^| eager    |         32 | eager, host, none ' "$dir/times.md"
    grep -q '^| recorded |        512 | recorded, host, none ' "$dir/times.md"
    grep -q 'grows 16.0 times' "$dir/times.md"
    grep -q 'A CPU has no replay' "$dir/times.md"
    # The picture of each last step is where the table says.
    sed -n 's/^!\[.*(<\(.*\)>)$/\1/p' "$dir/times.md" \
        >"$T/pictures"
    [ "$(wc -l <"$T/pictures")" -eq 6 ]
    while read -r picture; do
        [ -f "$dir/$picture" ]
    done <"$T/pictures"
    [ "$(grep -c . "$dir/times_compared.csv")" -eq 7 ]
    grep -q 'in proportion to the work' "$dir/times.svg"
    # What a CPU cannot have is nowhere.
    run ! grep -q 'GPU busy\|launches\|% of peak\|SIMULATED' "$dir/times.md"
    run ! grep -q 'gpu\|busy' "$dir/metrics.json"
}

@test "what no GPU measured is predicted, and headed so" {
    times "$T/times.yaml"
    run pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu
    is_status 0
    dir=$T/out/times/answer
    [ "$(head -n 1 "$dir/predicted.md")" = "# Predicted, not measured" ]
    grep -q '^| T4   | batch_size=32 ' "$dir/predicted.md"
    grep -q 'NVIDIA H200 Tensor Core GPU, data sheet' "$dir/predicted.md"
    [ "$(grep -vc '^"predicted, not measured",' "$dir/predicted.csv")" -eq 1 ]
    # 4 GPUs, 3 steps of 15 operators and their sum.
    [ "$(grep -c '^"predicted' "$dir/predicted.csv")" -eq 192 ]
    grep -q 'PREDICTED' "$dir/predicted.svg"
    # 32 samples of 2 features and a label; the products of 2-16-3.
    grep -q '^"predicted, not measured",T4,"batch_size=32",,batch,,h2d,0,0,384,' \
        "$dir/predicted.csv"
    grep -q ',T4,"batch_size=32",,step,,,13312,' "$dir/predicted.csv"
}

@test "one series has no name before its metrics" {
    times "$T/times.yaml"
    run pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu \
        '~stages.step.matrix.execution' '~stages.answer.expect'
    is_status 0
    grep -q '"work_ratio": 16' "$T/out/times/answer/metrics.json"
    grep -q '"step_ms.128": ' "$T/out/times/answer/metrics.json"
}

@test "any setting may be the axis, and others part the runs" {
    times "$T/times.yaml"
    run pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu \
        'stages.step.matrix={lr: [0.01, 0.1], optimizer: [sgd, adam]}' \
        stages.step.with.batch_size=32 stages.answer.with.x=lr \
        '~stages.answer.expect'
    is_status 0
    dir=$T/out/times/answer
    grep -q '^| sgd  | 0.0100000 | recorded, host, none ' "$dir/times.md"
    grep -q '^| adam |  0.100000 ' "$dir/times.md"
    grep -q '"sgd.step_ms.0.01": ' "$dir/metrics.json"
    grep -q '"adam.step_ratio": ' "$dir/metrics.json"
}

@test "profiles that nothing tells apart are an error at their place" {
    times "$T/times.yaml"
    run pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu \
        '~stages.answer.expect' 'stages.step.matrix={batch_size: [32]}' \
        'stages.step.matrix.n_step=[1, 2]'
    is_status 3
    says "have the same batch_size, 32, and no setting tells them apart"
    run pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu \
        '~stages.answer.expect' 'stages.step.matrix={optimizer: [sgd, adam]}' \
        stages.step.with.batch_size=32
    is_status 3
    says "no two profiles differ in batch_size alone"
}
