load ../cli/helper
load ../cuda/failing_calls

@test "each call of CUDA may fail: recorded steps with evaluation" {
    need_double
    steps "$T/steps.yaml"
    all_fail "$T/steps.yaml"
}

@test "each call of CUDA may fail: batches through pinned memory" {
    need_double
    steps "$T/steps.yaml"
    all_fail "$T/steps.yaml" -S stages.train.with.data=host_pinned
}

@test "each call of CUDA may fail: steps one by one" {
    need_double
    eager "$T/eager.yaml"
    all_fail "$T/eager.yaml"
}

@test "the GPU's memory may run out at each allocation" {
    need_double
    steps "$T/steps.yaml"
    out_of_memory "$T/steps.yaml"
    out_of_memory "$T/steps.yaml" -S stages.train.with.data=host_pinned
}
