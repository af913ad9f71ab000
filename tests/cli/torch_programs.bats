load helper

torch_python() {
    local p
    for p in "${PYTHON-}" python3 /usr/bin/python3; do
        [ -n "$p" ] && "$p" -c 'import torch' >/dev/null 2>&1 &&
            echo "$p" && return 0
    done
    return 1
}

@test "120 random programs have PyTorch's values and gradients" {
    py=$(torch_python) || skip "no Python with torch"
    run "$py" tests/torch_programs.py "$PIPELINE" "$T" 120
    is_status 0
    says "120 programs"
}

@test "exam-1 holds" {
    run pipeline run configs/exam-1.yaml --out "$T/out"
    is_status 0
    says "points: 20 of 20"
    # Up to date, the values are judged from what lies there.
    run pipeline run configs/exam-1.yaml --out "$T/out"
    is_status 0
    says "points: 20 of 20"
    grep -q 'dL/dz.*dL/dh ⊙ (1 - h²)' "$T/out/exam-1/tanh_network/derivation.md"
    [ -s "$T/out/exam-1/tanh_network/graph.svg" ]
}

@test "a program that fails shows its line and exits 3" {
    cat >"$T/bad.yaml" <<'YAML'
version: 1
name: bad
stages:
  p:
    uses: autograd
    with:
      tensors: {A: {ones: [2, 3]}, x: [1, 2]}
      program: |
        y = A * 2

        z = y @ x
YAML
    run pipeline run "$T/bad.yaml" --out "$T/out"
    is_status 3
    says "bad.yaml:11:15: error: stage 'p': @ cannot multiply (2, 3) by (2,)"
    says '   11 |         z = y @ x'
}
