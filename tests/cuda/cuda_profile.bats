load ../cli/helper

# A profile stage on a GPU or its double (README.md here): what the device
# records of itself, and what becomes of it.
setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-cuda-profile.XXXXXX")
    cat >"$T/p.yaml" <<'YAML'
version: 1
name: p
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  eager:
    uses: profile
    with: &with
      dataset: blobs
      model: mlp
      batch_size: 32
      lr: 0.01
      optimizer: adam
      warmup: 0
      repeat: 2
      execution: eager
      fusion: none
      data: host_pageable
  recorded:
    uses: profile
    with: {<<: *with, execution: recorded}
YAML
    pipeline run "$T/p.yaml" --device cuda --out "$T/probe" --only eager \
        stages.eager.with.trace=false stages.eager.with.n_step=1 \
        >"$T/log" 2>&1 || {
        [ "${REQUIRE_CUDA:-0}" = 1 ] || skip "no CUDA device"
    }
    grep -q SIMULATED "$T/log" && SIMULATED=1 || SIMULATED=0
}

profile() {
    run pipeline run "$T/p.yaml" --device cuda --out "$T/out" "$@"
    is_status 0
}

only_double() {
    [ $SIMULATED = 1 ] || skip "a GPU cannot be told to fail"
}

# holds STAGE: its trace breaks no rule; what was checked is $output.
holds() {
    run pipeline trace --validate "$T/out/p/$1/traces/"*
    is_status 0
    says "no rule is broken"
}

# metric STAGE NAME
metric() {
    python3 -c 'import json, sys
print(json.load(open(sys.argv[1])).get(sys.argv[2]))' \
        "$T/out/p/$1/metrics.json" "$2"
}

# events STAGE: cat and name of each event, one a line.
events() {
    python3 -c 'import json, sys
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    print(e.get("cat"), e["name"], e.get("args", {}).get("phase"), sep="|")' \
        "$T/out/p/$1/traces/"*
}

@test "eager and recorded steps are traced with what the GPU did" {
    profile
    for stage in eager recorded; do
        holds "$stage"
        says "ok      launch"
        says "ok      gpu-op"
        says "ok      flow"
        says "ok      causality"
        says "ok      phase-of"
        says "ok      kernels"
        events $stage >"$T/events"
        for phase in h2d forward backward optimizer; do
            [ "$(grep -c "^gpu_user_annotation|$phase|" "$T/events")" -ge 5 ]
        done
        grep -q '^gpu_memcpy|Memcpy HtoD (Pageable -> Device)|h2d' "$T/events"
        grep -q '^kernel|.*|optimizer' "$T/events"
        [ "$(metric $stage trace.dropped)" = 0 ]
        [ "$(metric $stage trace.invalid)" = 0 ]
        [ "$(metric $stage trace.unmatched)" = 0 ]
        [ "$(metric $stage trace.refused)" = 0 ]
        [ "$(metric $stage gpu.kernels)" -ge 10 ]
        python3 -c "assert 0 < $(metric $stage gpu.busy) <= 1"
        # 32 samples of 2 numbers, their labels, and the step's own numbers
        [ "$(metric $stage gpu.h2d_bytes)" -ge 384 ]
        head -n 1 "$T/out/p/$stage/kernels.csv" | grep -q ',kernel,count,'
        grep -q '^stream [1-9]' "$T/out/p/$stage/last_step.csv"
        grep -q '>GPU phases<' "$T/out/p/$stage/gpu_track.svg"
    done
    events recorded | grep -q '^user_annotation|replay|'
    [ "$(events recorded | grep -c '|cudaGraphLaunch|')" -eq 4 ]
    [ "$(events eager | grep -c '|cudaGraphLaunch|')" -eq 0 ]
}

@test "batches that are copied ahead have a stream of their own" {
    profile --only eager stages.eager.with.data=host_pinned
    holds eager
    events eager | grep -q 'Memcpy HtoD (Pinned -> Device)'
    [ "$(grep -o '^stream [0-9]*' "$T/out/p/eager/last_step.csv" |
        sort -u | wc -l)" -eq 2 ]
    profile --only recorded stages.recorded.with.data=device \
        stages.recorded.with.fusion=all
    holds recorded
}

@test "what a double measured is marked as that" {
    only_double
    profile --only eager
    grep -q '"simulated": 1' "$T/out/p/eager/traces/"*
    for picture in gpu_track cpu_track step_span; do
        grep -q 'SIMULATED: no GPU, no time means anything' \
            "$T/out/p/eager/$picture.svg"
    done
    run pipeline trace "$T/out/p/eager/traces/"*
    is_status 0
    says "SIMULATED"
}

@test "a schedule may leave steps out, all of them too" {
    for active in '{wait: 1, warmup: 1, active: 2}' '{skip_first: 4}' \
        '{wait: 2, active: 100}' '{active: 1, wait: 1}' '{wait: 5}' \
        '{wait: 99999, warmup: 99999, active: 99999}'; do
        profile --only recorded "stages.recorded.with.schedule=$active"
        holds recorded
        [ "$(metric recorded trace.unmatched)" = 0 ]
    done
    [ "$(metric recorded traced.steps)" = 0 ]
    [ "$(metric recorded gpu.kernels)" = None ]
}

@test "a refusal is one sentence, and the rest of the profile is there" {
    only_double
    export FAKE_CUDA_FAIL=cuptiActivityEnable@1=35
    profile --only eager
    says "warning: the driver shows the GPU's records to administrators only"
    [ "$(metric eager trace.refused)" = 1 ]
    [ "$(metric eager gpu.kernels)" = None ]
    [ "$(metric eager traced.steps)" = 5 ]
    grep -q '"refused": "the driver shows' "$T/out/p/eager/traces/"*
    [ ! -e "$T/out/p/eager/kernels.csv" ]
    [ -e "$T/out/p/eager/cpu_track.svg" ]
    [ -e "$T/out/p/eager/adam_h=16_bs=32_memory.html" ]
    holds eager
    export FAKE_CUDA_FAIL=cuptiSubscribe@1=39
    profile --only eager stages.eager.with.seed=1
    says "warning: another tool holds the GPU's records (nsys"
    holds eager
}

@test "lost records are counted and told" {
    only_double
    FAKE_CUPTI_DROP=3 profile --only eager
    says "warning: 3 records of the device found no room"
    [ "$(metric eager trace.dropped)" = 3 ]
    [ "$(metric eager trace.unmatched)" -le 3 ]
    holds eager
    FAKE_CUPTI_TIMELESS=2 profile --only eager stages.eager.with.seed=1
    says "warning: 2 records of the device have no times"
    [ "$(metric eager trace.invalid)" = 2 ]
    holds eager
}

@test "a stop while profiling leaves what there is" {
    "$PIPELINE" run "$T/p.yaml" --device cuda --out "$T/out" --only eager \
        stages.eager.with.n_step=1000 >"$T/log" 2>&1 3>&- &
    local pid=$! rc=0
    for _ in $(seq 2000); do
        grep -q "tracing 1000 steps" "$T/log" && break
        sleep 0.02
    done
    kill -INT $pid
    wait $pid || rc=$?
    cat "$T/log"
    [ $rc -eq 130 ]
    grep -q "stopped before all steps were traced" "$T/log"
    [ ! -e "$T/out/p/eager/stage.json" ]
    holds eager
}

# HTA is HolisticTraceAnalysis on PyPI; HTA_PYTHON names a python that has it.
@test "HTA reads the GPU's rows of both" {
    profile
    for stage in eager recorded; do
        run "${HTA_PYTHON:-python3}" tests/trace_hta.py \
            "$T/out/p/$stage/traces" gpu
        [ "$status" -ne 77 ] || skip "no HolisticTraceAnalysis"
        is_status 0
        says "iterations [0, 1, 2, 3]" # it leaves the last one out
        says "kernel types 2"
    done
}
