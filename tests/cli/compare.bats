load helper

# compared FILE: a step of blobs in two cells, compared.
compared() {
    cat >"$1" <<'YAML'
version: 1
name: q
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  step:
    uses: profile
    matrix: {batch_size: [32, 128]}
    with: {dataset: blobs, model: mlp, lr: 0.01, optimizer: adam, warmup: 2,
           repeat: 4, execution: eager, fusion: none}
  answer:
    uses: compare
    with: {from: step, show: kernels}
    expect:
      - {metric: work.ratio, eq: 4}
      - {metric: linear.forward.ratio, gt: 0}
      - {metric: linear.grad_weight.ratio, gt: 0}
      - {metric: adam.update.ratio, gt: 0}
      - {metric: total.ratio, gt: 0}
      - {metric: linear.forward.kernels, ge: 2, requires: cuda, points: 5}
YAML
}

@test "operators of two batches stand side by side on a CPU" {
    compared "$T/q.yaml"
    set -- "$T/q.yaml" --out "$T/out" --device cpu
    run pipeline run "$@"
    is_status 0
    says "operators of a step: "
    says "times as long for 4 times the samples"
    says "not assessed: no cuda"
    dir=$T/out/q/answer
    grep -q '^# Operators (CPU) compared: q, step$' "$dir/kernels.md"
    grep -q 'this ran on cpu (' "$dir/kernels.md"
    grep -q '^Layer 0 has no grad_input: the input of the first layer needs' \
        "$dir/kernels.md"
    grep -q '^- The operators of a step take ' "$dir/kernels.md"
    grep -qF '(<../step/batch_size=128/cpu_track.svg>)' "$dir/kernels.md"
    [ -f "$dir/../step/batch_size=128/cpu_track.svg" ]
    [ "$(grep -c '^2,linear_grad_input,grad_input,backward,batch_size=' \
        "$dir/kernels_compared.csv")" -eq 2 ]
    grep -q 'Operators (CPU) of a step' "$dir/kernels.svg"
    grep -q 'CPU track of the last steps' "$dir/tracks.svg"
    run pipeline run "$@"
    says "up to date  answer"
    ! grep -rq "$T" "$dir/kernels.md" "$dir/kernels_compared.csv"
}

@test "a result that changed is compared anew" {
    compared "$T/q.yaml"
    set -- "$T/q.yaml" --out "$T/out" --device cpu
    pipeline run -q "$@"
    run pipeline run "$@" '--force=step@batch_size=32'
    is_status 0
    says "run         answer  (input from step@batch_size=32 changed)"
    says "up to date  step@batch_size=128"
}

@test "a profile without a traced step cannot be compared" {
    compared "$T/q.yaml"
    run pipeline run "$T/q.yaml" --out "$T/out" --device cpu \
        'stages.step.with.schedule={wait: 9}'
    is_status 3
    says "$T/q.yaml:15:18: "
    says "no step of 'step@batch_size=32' was traced"
}

@test "curves of runs that differ in the seed alone are one with a band" {
    blobs "$T/b.yaml"
    cat >"$T/c.yaml" <<'YAML'
version: 1
name: c
extends: b.yaml
stages:
  train:
    matrix: {lr: [0.001, 0.01], seed: [0, 1, 2]}
    expect: []
  evaluate: {with: {from: "train@lr=0.01,seed=0"}}
  answer:
    uses: compare
    with: {from: train, show: curves}
    expect:
      - {metric: runs, eq: 6}
      - {metric: series, eq: 2}
      - {metric: test.accuracy.least, gt: 0.3}
  pair:
    uses: compare
    with: {from: ["train@lr=0.01,seed=0", "train@lr=0.001,seed=0"],
           show: curves}
    expect: [{metric: series, eq: 2}]
YAML
    run pipeline run "$T/c.yaml" --out "$T/out" --device cpu
    is_status 0
    says "curves of 6 runs in 2 series"
    dir=$T/out/c/answer
    grep -q '^| lr=0.001, 3 seeds | 3 |      3 | .* ± ' "$dir/curves.md"
    grep -q 'bands: ± standard deviation over seeds' "$dir/curves_loss.svg"
    grep -q 'Test accuracy' "$dir/curves_accuracy.svg"
    ! grep -q 'bands' "$T/out/c/pair/curves_loss.svg"
    cp -r "$dir" "$T/before"
    pipeline run -q "$T/c.yaml" --out "$T/out" --device cpu --force=answer
    for file in curves.md curves_loss.svg curves_accuracy.svg metrics.json; do
        cmp "$T/before/$file" "$dir/$file"
    done
}

@test "question 3 runs on a CPU and leaves kernels unassessed" {
    run pipeline run configs/q3.yaml --out "$T/out" --device cpu \
        stages.step.with.repeat=2 stages.step.with.warmup=0
    is_status 0
    says "not assessed: no cuda"
    says "work.ratio = 32"
    for file in kernels.md kernels.svg kernels_compared.csv tracks.svg; do
        [ -s "$T/out/q3/answer/$file" ]
    done
}
