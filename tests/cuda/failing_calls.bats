load ../cli/helper
load failing_calls

# A sample; tests/soak/cuda_faults.bats has all of them.
@test "a failed call of CUDA ends a run with its name and harms nothing" {
    need_double
    steps "$T/steps.yaml"
    reference "$T/steps.yaml"
    fails cudaSetDevice 1 999 "$T/steps.yaml"
    fails cudaMemcpyAsync 40 999 "$T/steps.yaml"
    fails cublasSgemm 9 13 "$T/steps.yaml"
    fails cudaLaunchKernel 30 999 "$T/steps.yaml"
    fails cudaStreamEndCapture 1 999 "$T/steps.yaml"
    fails cudaGraphLaunch 2 999 "$T/steps.yaml"
    fails cudaGraphDestroy 1 719 "$T/steps.yaml"
    fails cudaMalloc 9 2 "$T/steps.yaml"
}

@test "an allocation that works at the second try is no error" {
    need_double
    steps "$T/steps.yaml"
    reference "$T/steps.yaml"
    n=$(awk '$1 == "cudaMalloc" {print $2}' "$T/calls")
    FAKE_CUDA_FAIL=cudaMalloc@$n=2 run on_double "$T/steps.yaml" "$T/out"
    is_status 0
    bits "$T/out" | cmp - "$T/bits"
}
