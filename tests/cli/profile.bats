load helper

# profile FILE: a step of blobs, timed in two cells.
profile() {
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
    matrix: {batch_size: [32, 128]}
    with: {dataset: blobs, model: mlp, lr: 0.01, optimizer: adam, repeat: 8}
    expect:
      - {metric: step_ms.median, gt: 0}
      - {file: step_times.csv, column: n, eq: 8}
YAML
}

@test "a profile leaves step times, metrics and what they hang on" {
    profile "$T/times.yaml"
    run pipeline run "$T/times.yaml" --out "$T/out" --device cpu
    is_status 0
    says "batch 32, adam: a step takes"
    says "numerics strict"
    dir=$T/out/times/step/batch_size=128
    [ "$(wc -l <"$dir/step_times.csv")" -eq 25 ] # head, 5, 8, 5, 5, sum
    grep -q '^4,ProfilerStep#4,1,' "$dir/step_times.csv"
    tail -n 1 "$dir/step_times.csv" | grep -q ',clock,128,adam,recorded,host,'
    for name in step_ms.median step_ms.p10 step_ms.p90 samples_per_s \
        flag.drift flag.noise traced.last_ms traced.ratio \
        traced.share.clear_grad; do
        grep -q "\"$name\": [0-9]" "$dir/metrics.json"
    done
}

@test "a profile leaves a trace, its operators and pictures" {
    profile "$T/times.yaml"
    set -- "$T/times.yaml" --out "$T/out" --device cpu
    run pipeline run "$@" stages.step.with.execution=eager
    is_status 0
    says "traces/adam_h=16_bs=32_trace.json: "
    dir=$T/out/times/step/batch_size=32
    [ "$(ls "$dir/traces")" = adam_h=16_bs=32_trace.json ]
    for name in '"ProfilerStep#0"' '"ProfilerStep#4"' '"optimizer"' \
        '"Input Dims": \[\[32,2\],\[16,2\],\[16\]\]' '"execution": "eager"'; do
        grep -q "$name" "$dir/traces/adam_h=16_bs=32_trace.json"
    done
    grep -q '^2,linear_grad_weight,grad_weight,backward,5,' "$dir/ops.csv"
    grep -q 'CPU track of ProfilerStep#4: adam, h=16, bs=32; eager' \
        "$dir/cpu_track.svg"
    grep -q 'with the profiler on' "$dir/step_span.svg"
    grep -q '^operator,linear,2,linear,forward,forward,' "$dir/last_step.csv"
    [ ! -e "$dir/kernels.csv" ] && [ ! -e "$dir/gpu_track.svg" ]
    run pipeline run "$@" 'stages.step.with.schedule={wait: 9}' \
        stages.step.with.file=none.json.gz
    is_status 0
    says "warning: no step was traced"
    gzip -t "$dir/traces/none.json.gz"
    run pipeline check "$T/times.yaml" stages.step.with.file=../t.json
    is_status 2
    says "file must be a name that ends in .json or .json.gz"
}

@test "memory in a trace adds up, category by category" {
    profile "$T/times.yaml"
    pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu
    run python3 - "$T/out/times/step/batch_size=32/traces/"* <<'PY'
import json, sys
trace = json.load(open(sys.argv[1]))
assert trace["profile_memory"] == 1
live = counters = 0
for e in trace["traceEvents"]:
    if e["name"] == "[memory]":
        live += e["args"]["Bytes"]
        assert e["args"]["Total Allocated"] == live, e
    elif e["ph"] == "C":
        counters += 1
        assert sum(e["args"].values()) == live, e
print("counters", counters > 5 * 7)
PY
    is_status 0
    says "counters True"
}

# HTA is HolisticTraceAnalysis on PyPI; HTA_PYTHON names a python that has it.
@test "HTA reads a trace of ours" {
    profile "$T/times.yaml"
    pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu
    run "${HTA_PYTHON:-python3}" tests/trace_hta.py \
        "$T/out/times/step/batch_size=32/traces"
    [ "$status" -ne 77 ] || skip "no HolisticTraceAnalysis"
    is_status 0
    says "iterations [0, 1, 2, 3]" # it leaves the last one out
}

@test "times are taken again on another machine, not for a GPU's settings" {
    profile "$T/times.yaml"
    pipeline run -q "$T/times.yaml" --out "$T/out" --device cpu --threads 1
    set -- "$T/times.yaml" --out "$T/out" --device cpu
    pipeline plan --check "$@" --threads 1
    pipeline plan --check "$@" --threads 1 --numerics strict
    pipeline plan --check "$@" --threads 1 stages.step.with.data=host_pinned
    run pipeline plan --check "$@" --threads 2
    is_status 6
    says "machine.threads 1 of"
    run pipeline plan --check "$@" --threads 1 stages.step.with.execution=eager
    is_status 6
    says "with.execution recorded -> eager"
}

@test "--numerics is of every stage, and stands in what is resolved" {
    profile "$T/times.yaml"
    run pipeline show "$T/times.yaml" --numerics tf32
    is_status 0
    says "numerics: tf32"
    run pipeline run "$T/times.yaml" --numerics exact
    is_status 2
    says "--numerics takes fast, strict or tf32, not 'exact'"
}

@test "results of a GPU hang on its settings, those of the CPU do not" {
    blobs "$T/blobs.yaml"
    pipeline run -q "$T/blobs.yaml" --out "$T/out"
    set -- "$T/blobs.yaml" --out "$T/out" --only train
    pipeline plan --check "$@" --numerics strict
    sed -i 's/"state": "done"/&, "gpu": {"with.numerics": "fast", "with.data": "device"}/' \
        "$T/out/blobs/train/stage.json"
    pipeline plan --check "$@"
    run pipeline plan --check "$@" --numerics strict
    is_status 6
    says "run         train  (with.numerics fast -> strict)"
}

@test "settings of a profile that make no sense are told with their place" {
    profile "$T/times.yaml"
    for bad in repeat=1 n_step=0 execution=lazy data=disk numerics=exact; do
        run pipeline check "$T/times.yaml" "stages.step.with.$bad"
        is_status 2
        says "${bad%%=*}"
    done
    run pipeline run "$T/times.yaml" --out "$T/out" \
        'stages.step.matrix.batch_size=[601]'
    is_status 3
    says "batch_size 601 is more than the 600 training samples"
    sed -i 's/step_ms.median/step_ms.mean/' "$T/times.yaml"
    run pipeline check "$T/times.yaml"
    is_status 2
    says "step_ms.median"
}
