load helper

@test "trace sums up a trace" {
    run pipeline trace tests/golden/trace-gpu.json
    is_status 0
    says "tests/golden/trace-gpu.json: pipeline, 119 events, 17,823 bytes of JSON"
    says "3 steps, mean 150.000 us"
    says "GPU 0 NVIDIA H200: busy 63.000 us (11.5%), idle 487.000 us"
    says "memory of GPU 0: peak 3,391,012 bytes allocated"
}

@test "trace --json is one JSON text, for one trace, two, and a check" {
    for words in "" "tests/golden/trace-cpu.json" "--validate"; do
        run --separate-stderr pipeline trace --json tests/golden/trace-gpu.json $words
        is_status 0
        python3 -c 'import json, sys; json.load(sys.stdin)' <<<"$output"
        [ -z "$stderr" ]
    done
}

@test "trace compares two traces" {
    run pipeline trace tests/golden/trace-gpu.json tests/golden/trace-cpu.json
    is_status 0
    says "optimizer      10.000     12.500  1.25"
}

@test "trace --validate exits with 1 where a rule is broken" {
    run pipeline trace --validate tests/golden/trace-gpu.json
    is_status 0
    says "119 events, no rule is broken"
    sed 's/ProfilerStep#4/ProfilerStep#9/' tests/golden/trace-cpu.json |
        sed 's/"dur": 12.500/"dur": -12.5/' >"$T/bad.json"
    run pipeline trace --validate "$T/bad.json"
    is_status 1
    says "$T/bad.json: 31 events, 1 rule broken, 3 faults in all"
    head -c 200 tests/golden/trace-cpu.json >"$T/cut.json"
    run pipeline trace --validate "$T/cut.json"
    is_status 1
    says "'$T/cut.json' is cut short: it ends at offset 200"
}

@test "trace tells what is no trace with its offset" {
    echo '{"traceEvents": [{"ts": NaN}]}' >"$T/nan.json"
    run --separate-stderr pipeline trace "$T/nan.json"
    is_status 2
    [ -z "$output" ]
    [ "$stderr" = "error: '$T/nan.json' is not JSON at offset 24: 'NaN' is no value" ]
    run pipeline trace "$T/none.json"
    is_status 2
    says "cannot open '$T/none.json': No such file or directory"
    run pipeline trace
    is_status 2
    says "no trace to read"
    run pipeline trace a b c
    is_status 2
    says "one trace too many: 'c'"
}

@test "trace reads a gzipped trace" {
    gzip -c tests/golden/trace-gpu.json >"$T/t.json.gz"
    run pipeline trace "$T/t.json.gz"
    is_status 0
    says "119 events, 17,823 bytes of JSON"
}

# A Python that has torch: $PYTHON, python3 or Debian's own.
torch_python() {
    local p
    for p in "${PYTHON-}" python3 /usr/bin/python3; do
        [ -n "$p" ] && "$p" -c 'import torch' 2>/dev/null && echo "$p" && return
    done
    return 1
}

@test "trace reads what PyTorch writes" {
    py=$(torch_python) || skip "no Python with torch"
    "$py" - "$T/torch.json" <<'PYTHON'
import sys

import torch
from torch.profiler import (ProfilerActivity, profile, record_function,
                            schedule)

net = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.ReLU(),
                          torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with profile(activities=[ProfilerActivity.CPU], profile_memory=True,
             record_shapes=True,
             schedule=schedule(wait=1, warmup=1, active=3, repeat=1),
             on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as p:
    for _ in range(5):
        with record_function("forward"):
            loss = net(torch.randn(8, 20)).sum()
        with record_function("backward"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        p.step()
PYTHON
    run pipeline trace "$T/torch.json"
    is_status 0
    says ": torch.profiler"
    says $'\n3 steps, mean '
    says $'\nforward '
    says $'\nbackward '
    says $'\naten::addmm '
    run pipeline trace --validate "$T/torch.json"
    [ "$status" -le 1 ]
    says "ok      json"
    says "ok      steps"
}

@test "the traces of a profile stage break no rule" {
    cat >"$T/p.yaml" <<'YAML'
version: 1
name: p
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  step:
    uses: profile
    with: {dataset: blobs, model: mlp, batch_size: 32, lr: 0.01,
      optimizer: adam, execution: eager, repeat: 8}
YAML
    for schedule in '{}' '{wait: 1, warmup: 1, active: 1}' '{wait: 9}' \
        '{wait: 1, active: 1, repeat: 2}'; do
        run pipeline run "$T/p.yaml" --out "$T/out" --device cpu \
            "stages.step.with.schedule=$schedule" stages.step.with.file=t.json.gz
        is_status 0
        run pipeline trace --validate "$T/out/p/step/traces/t.json.gz"
        is_status 0
    done
}
