load ../cli/helper

# Where a run measures on a GPU, each stage that uses it has a process of its
# own. On a GPU or its double (README.md here).
setup() {
    T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-apart.XXXXXX")
    blobs "$T/blobs.yaml"
    cat >>"$T/blobs.yaml" <<'YAML'
  steps:
    uses: profile
    with: &steps
      dataset: blobs
      model: mlp
      batch_size: 32
      lr: 0.01
      optimizer: sgd
      n_step: 2
      warmup: 0
      repeat: 2
  more:
    uses: profile
    with: *steps
YAML
    pipeline run "$T/blobs.yaml" --only steps --out "$T/probe" --device cuda \
        stages.steps.with.repeat=2 >"$T/log" 2>&1 || {
        [ "${REQUIRE_CUDA:-0}" = 1 ] || skip "no CUDA device"
    }
}

# Begins a profile of minutes: $pid, and $child, the process that does it.
begin_long() {
    "$PIPELINE" run "$T/blobs.yaml" --out "$T/out" --device cuda --only steps \
        stages.steps.with.repeat=100000 >"$T/log" 2>&1 3>&- &
    pid=$!
    for _ in $(seq 200); do
        [ ! -e "$T/out/blobs/steps/log.txt" ] || break
        sleep 0.05
    done
    child=$(pgrep -P $pid)
}

@test "training and two profiles in one run, the training's bits as alone" {
    run pipeline run "$T/blobs.yaml" --out "$T/out" --device cuda \
        stages.train.with.numerics=strict
    is_status 0
    says "Using device: cuda (cuda:0 ("
    says "a step takes"
    [[ $(grep -c "a step takes" <<<"$output") -eq 2 ]]
    says "4 run"
    grep -q '"backend": "cuda:0' "$T/out/blobs/steps/stage.json"
    head -n 1 "$T/out/blobs/more/log.txt" | grep -q "Using device: cuda"
    run pipeline run "$T/blobs.yaml" --only train --out "$T/alone" \
        --device cuda stages.train.with.numerics=strict
    is_status 0
    cmp "$T/out/blobs/train/checkpoints/last.safetensors" \
        "$T/alone/blobs/train/checkpoints/last.safetensors"
    run pipeline run "$T/blobs.yaml" --out "$T/out" --device cuda \
        stages.train.with.numerics=strict
    is_status 0
    says "4 up to date"
}

@test "an error of such a stage has its place in the file" {
    run pipeline run "$T/blobs.yaml" --out "$T/out" --device cuda --only steps \
        stages.steps.with.batch_size=6000
    is_status 3
    says "batch_size 6000 is more than the 600 training samples of 'blobs'"
    says "command line:1:30: error: "
}

@test "a stage whose process is killed has failed, and says how" {
    begin_long
    kill -KILL "$child"
    ! wait $pid
    grep -q "its process was ended by signal 9" "$T/log"
    [ ! -e "$T/out/blobs/steps/stage.json" ]
}

@test "a stop reaches it: exit 130, and the same command goes on" {
    local rc=0
    begin_long
    kill -INT $pid
    wait $pid || rc=$?
    [ $rc -eq 130 ]
    grep -q "stopped before all steps were timed" "$T/log"
    run pipeline run "$T/blobs.yaml" --out "$T/out" --device cuda --only steps
    is_status 0
}

@test "a run that ends at once takes the stage's process with it" {
    begin_long
    kill -KILL $pid
    wait $pid || true
    for _ in $(seq 100); do
        kill -0 "$child" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}

@test "a device that is not there is status 7, before anything runs" {
    run pipeline run "$T/blobs.yaml" --out "$T/none" --device cuda:9
    is_status 7
    [ ! -e "$T/none/blobs/train" ]
}
