load ../cli/helper

# Ranges by NVTX, as nsys shows them, heard by a tool of ours (fake_nvtx.c).
setup() {
    T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-nvtx.XXXXXX")
    B=${PIPELINE%/bin/pipeline}
    TOOL=$B/fake/libfake_nvtx.so
    export LD_LIBRARY_PATH=$B/fake
    [ -e "$TOOL" ] || skip "no double of CUDA in this build"
    nm -D "$TOOL" | grep -q InitializeInjectionNvtx2 ||
        skip "no NVTX in this CUDA toolkit"
    blobs "$T/blobs.yaml"
}

train() {
    FAKE_NVTX_LOG=$T/heard pipeline run "$T/blobs.yaml" --out "$T/out" \
        --device cuda epochs=1
}

@test "a tool that listens hears phases and operators by our labels" {
    export NVTX_INJECTION64_PATH=$TOOL
    run train
    is_status 0
    run cat "$T/heard"
    says "domain pipeline"
    says "start forward"
    says "push linear 0 forward"
    says "push linear_grad_weight 2 grad_weight"
    says "start optimizer"
    says "start replay"
    says "push graph_launch"
}

@test "what begins ends" {
    export NVTX_INJECTION64_PATH=$TOOL
    run train
    is_status 0
    [ "$(grep -c ^start "$T/heard")" -eq "$(grep -c ^end "$T/heard")" ]
    [ "$(grep -c ^push "$T/heard")" -eq "$(grep -c ^pop "$T/heard")" ]
    [ "$(grep -c 'end of nothing' "$T/heard")" -eq 0 ]
}

@test "without a tool nothing is said" {
    run train
    is_status 0
    [ ! -e "$T/heard" ]
}
