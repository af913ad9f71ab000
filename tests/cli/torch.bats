load helper

# A Python that has torch and safetensors: $PYTHON, python3 or Debian's own.
torch_python() {
    local p
    for p in "${PYTHON-}" python3 /usr/bin/python3; do
        [ -n "$p" ] && "$p" -c 'import torch, safetensors.torch' \
            >/dev/null 2>&1 && echo "$p" && return 0
    done
    return 1
}

@test "PyTorch loads last.safetensors and gets the same test accuracy" {
    py=$(torch_python) || skip "no Python with torch and safetensors"
    run pipeline run configs/q2.yaml epochs=1 hidden_dim=64 --out "$T/out"
    data=examples/data/mnist
    run "$py" tests/torch_load.py \
        "$T/out/q2/train/checkpoints/last.safetensors" \
        $data/t10k-images-idx3-ubyte.gz $data/t10k-labels-idx1-ubyte.gz 64
    is_status 0
    theirs=$output
    ours=$(sed -n 's/.*"test.accuracy": *\([0-9.]*\).*/\1/p' \
        "$T/out/q2/train/metrics.json")
    echo "ours $ours, PyTorch's $theirs"
    [ -n "$ours" ] && [ "$ours" = "$theirs" ]
}

@test "PyTorch loads what own operators trained and gets the same accuracy" {
    py=$(torch_python) || skip "no Python with torch and safetensors"
    pipeline run -q configs/own-operators.yaml --only train epochs=1 \
        hidden_dim=32 ~stages.train.expect --out "$T/out"
    data=examples/data/mnist
    run "$py" tests/torch_load.py \
        "$T/out/own-operators/train/checkpoints/last.safetensors" \
        $data/t10k-images-idx3-ubyte.gz $data/t10k-labels-idx1-ubyte.gz 32
    is_status 0
    ours=$(sed -n 's/.*"test.accuracy": *\([0-9.]*\).*/\1/p' \
        "$T/out/own-operators/train/metrics.json")
    echo "ours $ours, PyTorch's $output"
    [ -n "$ours" ] && [ "$ours" = "$output" ]
}
