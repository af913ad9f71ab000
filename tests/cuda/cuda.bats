load ../cli/helper

# On a GPU, or on the double of one where LD_LIBRARY_PATH names it (README.md
# here). What only the double can play is skipped on a GPU.
setup_file() {
    if [ "${REQUIRE_CUDA:-0}" != 1 ] && ! has_device; then
        skip "no CUDA device"
    fi
}

has_device() {
    local f
    f=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-cuda.XXXXXX")
    blobs "$f/blobs.yaml"
    "${PIPELINE:-build/release/bin/pipeline}" run "$f/blobs.yaml" \
        --out "$f/out" --device cuda epochs=1 >"$f/log" 2>&1
    local rc=$?
    rm -rf "$f"
    [ "$rc" -ne 7 ]
}

double_only() {
    [[ ${LD_LIBRARY_PATH-} == */fake* ]] || skip "for the double"
}

# train DIR ARGUMENT...: three epochs on three blobs, the last batch a small
# one; strict unless an argument says otherwise. Results in $T/DIR.
train() {
    local dir=$1
    shift
    [ -e "$T/blobs.yaml" ] || {
        blobs "$T/blobs.yaml"
        sed -i 's/batch_size: 32/batch_size: 28/' "$T/blobs.yaml"
    }
    pipeline run "$T/blobs.yaml" --out "$T/$dir" \
        stages.train.with.numerics=strict "$@"
}

# Fails unless both have trained to the same bits.
same() {
    [ -s "$T/$1/blobs/train/curve.csv" ] &&
        diff <(weights "$1") <(weights "$2")
}

weights() {
    (cd "$T/$1/blobs/train" && sha256sum checkpoints/* curve.csv metrics.json)
}

@test "a CUDA device trains to the CPU's bits, and the log names it" {
    run train gpu --device cuda
    is_status 0
    says "Using device: cuda (cuda:0 ("
    train cpu --device cpu
    same cpu gpu
    head -n1 "$T/gpu/blobs/train/log.txt" |
        grep -q "^Using device: cuda (cuda:0 ("
}

@test "fast numerics follow closely" {
    train fast --device cuda stages.train.with.numerics=fast
    train cpu --device cpu
    paste -d, <(tail -n +2 "$T/cpu/blobs/train/curve.csv") \
        <(tail -n +2 "$T/fast/blobs/train/curve.csv") | awk -F, '{
            for (i = 1; i <= NF / 2; i++) {
                d = $i - $(i + NF / 2)
                if (d > 1e-4 || d < -1e-4) { print; bad = 1 } } }
        END { exit bad || NR == 0 }'
}

@test "every way of the data gives the same bits" {
    train device --device cuda
    for way in host_pinned host_pageable; do
        train "$way" --device cuda stages.train.with.data="$way"
        same device "$way"
    done
}

@test "a run goes on on the other device" {
    train whole --device cpu epochs=4
    train there --device cpu epochs=2
    run train there --device cuda epochs=4
    is_status 0
    says "2 -> 4"
    same whole there
    train back --device cuda epochs=2
    train back --device cpu epochs=4
    same whole back
}

@test "a device that is not there is an error" {
    run train none --device cuda:77
    is_status 7
    says "device cuda:77: there is no device 77, only 0 to "
}

@test "whenever work runs, the bits are the same" {
    double_only
    local i
    FAKE_CUDA_ORDER=lazy train lazy --device cuda
    FAKE_CUDA_ORDER=eager train eager --device cuda
    same lazy eager
    for i in $(seq "${ORDERS:-4}"); do
        FAKE_CUDA_ORDER=random:$i train "random$i" --device cuda \
            stages.train.with.data=host_pinned
        same lazy "random$i"
    done
}

@test "without a driver, with an old one, without a GPU: why, and status 7" {
    double_only
    FAKE_CUDA_DRIVER=none run train none --device cuda
    is_status 7
    says "device cuda:0: no NVIDIA driver"
    FAKE_CUDA_DRIVER=old run train none --device cuda
    is_status 7
    says "device cuda:0: the NVIDIA driver is too old: it does CUDA 11.4"
    FAKE_CUDA_DRIVER=nodevice run train none --device cuda
    is_status 7
    says "device cuda:0: no NVIDIA GPU"
    [ ! -e "$T/none/blobs" ]
}

@test "auto never takes the simulated device" {
    double_only
    run train auto --device auto
    is_status 0
    says "Using device: cpu (the GPU is a simulated one)"
}

@test "what the simulated device made says so, and wins no points" {
    double_only
    run train simulated --device cuda
    is_status 0
    says "SIMULATED"
    says "not assessed: the device is simulated"
    [[ $output != *"points: "* ]]
    head -n1 "$T/simulated/blobs/train/log.txt" | grep -q SIMULATED
    grep -q '"backend": ".*SIMULATED' "$T/simulated/blobs/train/stage.json"
    # Judged anew by what it left.
    run train simulated --device cuda stages.train.expect.0.gt=0.8
    is_status 0
    says "not assessed: the device is simulated"
    # Trained again on the CPU they count.
    run pipeline plan "$T/blobs.yaml" --out "$T/simulated" --device cuda \
        stages.train.with.numerics=strict
    says "up to date"
    [[ $output != *"simulated device"* ]]
    run pipeline plan "$T/blobs.yaml" --out "$T/simulated" --device cpu \
        stages.train.with.numerics=strict
    says "it was made on a simulated device"
    run train simulated --device cpu
    says "points: 10 of 10"
    run train simulated --device cpu
    says "up to date"
}

@test "device memory that does not suffice is an error with its numbers" {
    double_only
    FAKE_CUDA_MEM=40 run train small --device cuda
    [ "$status" -ne 0 ]
    says "out of GPU memory"
}

@test "the program itself needs no CUDA library" {
    objdump -p "$PIPELINE" | grep NEEDED >"$T/needed"
    grep -q libyaml "$T/needed"
    ! grep -qiE 'cuda|cublas|nvidia|nvrtc|cupti' "$T/needed"
    # And its help opens none.
    LD_DEBUG=files run pipeline --help
    is_status 0
    says libyaml
    [[ $output != *libcuda* && $output != *libpipeline_cuda* ]]
}

# calls FUNCTION ARGUMENT...: how often a training calls it.
calls() {
    local function=$1
    shift
    rm -f "$T/counts"
    FAKE_CUDA_COUNT=$T/counts train counted --device cuda --force "$@" >"$T/log"
    awk -v f="$function" '$1 == f { n += $2 } END { print n + 0 }' "$T/counts"
}

@test "a recorded step is one upload and one launch" {
    double_only
    local more='datasets.blobs.n_train=880'
    local copies launches kernels
    copies=$(calls cudaMemcpyAsync epochs=1)
    launches=$(calls cudaGraphLaunch epochs=1)
    kernels=$(calls cudaLaunchKernel epochs=1)
    # 280 samples more are 10 batches of 28.
    [ "$(calls cudaMemcpyAsync epochs=1 $more)" -eq $((copies + 10)) ]
    [ "$(calls cudaGraphLaunch epochs=1 $more)" -eq $((launches + 10)) ]
    [ "$(calls cudaLaunchKernel epochs=1 $more)" -eq "$kernels" ]
}

@test "evaluation keeps its graphs from epoch to epoch" {
    double_only
    local graphs
    graphs=$(calls cudaGraphInstantiate epochs=2)
    [ "$graphs" -gt 2 ]
    [ "$(calls cudaGraphInstantiate epochs=4)" -eq "$graphs" ]
}
