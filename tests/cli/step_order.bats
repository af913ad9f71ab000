load helper

# The order of the calls of a training step.

setup_file() {
    bats_require_minimum_version 1.5.0
}

# carry ORDER [STAGES]: $T/carry.yaml trains with that step_order.
carry() {
    cat >"$T/carry.yaml" <<YAML
version: 1
name: carry
datasets:
  points: {type: synthetic, kind: moons, n_train: 100, n_test: 50, noise: 0.2}
models:
  mlp: {layers: [{type: linear, out: 8}, tanh, {type: linear, out: 2}]}
defaults:
  train: {dataset: points, model: mlp, batch_size: 30, epochs: 6, lr: 0.003,
          optimizer: {type: adamw, weight_decay: 0.1}, step_order: $1}
stages:
  ${2-"train: {uses: train}"}
YAML
}

carry_run() {
    run pipeline run "$T/carry.yaml" --out "$T/out" "$@"
}

@test "configs/step-order.yaml holds and says the order of each loop" {
    run pipeline run configs/step-order.yaml --out "$T/out"
    is_status 0
    says "one step: zero_grad, forward (0 linear, 1 tanh, 2 linear), loss (cross_entropy), backward (loss, 2, 1, 0), step (sgd)"
    says "backward (loss, 2, 1, 0), step (sgd), zero_grad"
    says "backward (loss, 2, 1, 0), zero_grad; step finds no gradients and changes nothing"
    says "one step: step (sgd), zero_grad, forward ("
    cd "$T/out/step-order"
    for s in zero_grad_first zero_grad_after_step never_zero_grad \
        zero_grad_after_backward step_before_backward step_first; do
        [ -s "$s/curve.svg" ]
        grep -q '^|    1 | h2d .* | batch ' "$s/step.md"
    done
    [ "$(grep -c add_into never_zero_grad/step.md)" -eq 4 ]
    run ! grep -q add_into zero_grad_first/step.md step_first/step.md
    run ! grep -q ' sgd ' zero_grad_after_backward/step.md
    # What the optimizer needs of an earlier step is saved, and nothing else.
    grep -q gradient.0.weight never_zero_grad/checkpoints/resume.safetensors
    grep -q gradient.2.bias step_first/checkpoints/resume.safetensors
    run ! grep -q gradient zero_grad_first/checkpoints/resume.safetensors
    run ! grep -q gradient step_before_backward/checkpoints/resume.safetensors
}

@test "files are the same from run to run and with other threads" {
    carry '[step, forward, loss, backward]'
    carry_run --threads 1
    is_status 0
    first=$(bits "$T/out/carry")
    rm -rf "$T/out"
    carry_run --threads 2
    is_status 0
    [ "$first" = "$(bits "$T/out/carry")" ]
    grep -q '| adam .* update .* parameters (42,), state (42,)' \
        "$T/out/carry/train/step.md"
}

@test "a stage that goes on from another has its gradients too" {
    for o in '[forward, backward, step]' '[step, zero_grad, forward, backward]'; do
        rm -rf "$T/out"
        carry "$o" 'whole: {uses: train}
  first: {uses: train, with: {epochs: 2}}
  second: {uses: train, with: {resume_from: first}}'
        carry_run
        is_status 0
        for f in curve.csv step.md metrics.json checkpoints/last.safetensors \
            checkpoints/resume.safetensors; do
            cmp "$T/out/carry/whole/$f" "$T/out/carry/second/$f"
        done
    done
}

@test "an interrupted run goes on to the same files" {
    carry '[step, forward, backward]'
    carry_run stages.train.with.checkpoint.every_n_steps=1 \
        stages.train.with.epochs=200
    is_status 0
    whole=$(bits "$T/out/carry")
    rm -rf "$T/out"
    "$PIPELINE" run "$T/carry.yaml" --out "$T/out" \
        stages.train.with.checkpoint.every_n_steps=1 \
        stages.train.with.epochs=200 >"$T/log" 2>&1 3>&- &
    pid=$!
    for _ in $(seq 500); do
        [ ! -e "$T/out/carry/train/checkpoints/resume.safetensors" ] || break
        sleep 0.01
    done
    kill -INT $pid
    wait $pid || true
    grep -q '^interrupted: stopped after step' "$T/log"
    carry_run stages.train.with.checkpoint.every_n_steps=1 \
        stages.train.with.epochs=200
    is_status 0
    [ "$whole" = "$(bits "$T/out/carry")" ]
}

@test "a run that ended before its stage was whole tells its step all the same" {
    for o in '[forward, backward, step]' '[step, forward, backward]' \
        '[zero_grad, forward, step, backward]'; do
        rm -rf "$T/out"
        carry "$o"
        carry_run
        is_status 0
        whole=$(bits "$T/out/carry")
        # as if it had been killed after the last epoch
        rm "$T"/out/carry/train/{metrics.json,step.md}
        mv "$T"/out/carry/train/{stage,unfinished}.json
        carry_run
        is_status 0
        says "resuming"
        [ "$whole" = "$(bits "$T/out/carry")" ]
    done
}

@test "step between forward and backward is refused where backward needs it" {
    carry '[zero_grad, forward, step, backward]'
    carry_run
    is_status 0
    carry '[forward, step, zero_grad, backward]'
    carry_run
    [ "$status" -ne 0 ]
    says "step stands between forward and backward in step_order"
    # A single layer needs its input alone: PyTorch takes that too.
    sed -i 's/{type: linear, out: 8}, tanh, //' "$T/carry.yaml"
    carry_run
    is_status 0
    says "one step: forward (0 linear), loss (cross_entropy), step (adamw), zero_grad, backward (loss, 0)"
}
