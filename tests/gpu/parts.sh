#!/bin/sh
# tests/gpu/parts.sh NAME: one part of run.sh, which sets the variables. Status
# 77: it cannot run here, and the last line says why.
set -u

skip() {
    echo "$*"
    exit 77
}

die() {
    echo "$*"
    exit 1
}

simulated() {
    [ "$SIMULATED" -eq 1 ]
}

has() {
    command -v "$1" >/dev/null 2>&1
}

build_with() {
    make B="$B" CUDA=1 ARCHS="${ARCHS:-native}" "$@"
}

part_build() {
    ! simulated || skip "simulated: the double is built already"
    tests/deps.sh build || return
    from=$(date +%s)
    build_with all || return
    [ -e "$B/bin/libpipeline_cuda.so" ] || die "no plug-in was built"
    echo "built in $(($(date +%s) - from)) s"
}

# "key": "text", one line a fact.
fact() {
    key=$1
    shift
    value=$("$@" 2>/dev/null | head -n 1 | tr -d '\\"')
    printf '  "%s": "%s",\n' "$key" "${value:-unknown}"
}

smi() {
    nvidia-smi -i 0 --query-gpu="$1" --format=csv,noheader
}

cpu_model() {
    sed -n 's/^model name[^:]*: //p' /proc/cpuinfo
}

commit() {
    echo "$(git rev-parse HEAD)$(git diff --quiet HEAD || echo ' and changes')"
}

nvcc_release() {
    "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)" --version |
        sed -n 's/.*release //p'
}

part_facts() {
    {
        echo "{"
        echo "  \"simulated\": $SIMULATED,"
        simulated || for key in name driver_version memory.total compute_cap \
            clocks.sm clocks.max.sm clocks.mem power.limit temperature.gpu \
            persistence_mode mig.mode.current; do
            fact "gpu.$key" smi "$key"
        done
        fact date date -u +%Y-%m-%dT%H:%M:%SZ
        fact commit commit
        fact program "$PIPELINE" version
        fact nvcc nvcc_release
        fact compiler "${CC:-cc}" --version
        fact system uname -srm
        fact cpu cpu_model
        printf '  "cores": %d\n}\n' "$(nproc)"
    } >"$OUT/facts.json"
    cat "$OUT/facts.json"
    simulated || has nvidia-smi ||
        skip "no nvidia-smi: the GPU's facts are in doctor.json only"
}

part_doctor() {
    "$PIPELINE" doctor | tee "$OUT/doctor.txt"
    "$PIPELINE" doctor --json >"$OUT/doctor.json" || return
    if simulated; then
        grep -q '"simulated": true' "$OUT/doctor.json" ||
            die "the simulated GPU is not there"
    else
        grep -q '"device": "cuda"' "$OUT/doctor.json" ||
            die "auto does not take the GPU"
    fi
}

# train DIR HIDDEN ARGUMENT...: 200 steps of an MLP on MNIST with strict
# numerics. On the double, some on points of the plane.
train() {
    dir=$T/$1 hidden=$2
    shift 2
    if simulated; then
        set -- configs/blobs.yaml optim_method=adam epochs=1 "$@"
    else
        set -- configs/q2.yaml hidden_dim="$hidden" batch_size=300 epochs=1 \
            "$@"
    fi
    "$PIPELINE" run "$@" --numerics strict --only train --out "$dir" -q \
        '~stages.train.expect'
}

# What tells a rehearsal, on top of a text that does not name the device.
on_which() {
    ! simulated || echo "SIMULATED: not a GPU's"
}

# same A B: the checkpoints of two trainings, and their curves, are the same.
same() {
    a=$(echo "$T/$1"/*/train) b=$(echo "$T/$2"/*/train)
    [ -s "$a/checkpoints/last.safetensors" ] || die "$1: no checkpoint"
    for f in "$a"/checkpoints/* "$a/curve.csv"; do
        cmp "$f" "$b/${f#"$a/"}" || die "$2 differs from $1"
    done
    echo "$2 has the bytes of $1: $(sha256sum <"$a/curve.csv" | cut -c1-16)" \
        "(curve) $(sha256sum <"$a/checkpoints/last.safetensors" |
            cut -c1-16) (checkpoint)"
}

part_strict() {
    on_which >"$OUT/strict.txt"
    for hidden in 256 100; do
        train "cpu-$hidden" "$hidden" --device cpu || return
        train "gpu-$hidden" "$hidden" --device cuda || return
        same "cpu-$hidden" "gpu-$hidden" || return
    done | tee -a "$OUT/strict.txt"
    [ "$(grep -c 'has the bytes' "$OUT/strict.txt")" -eq 2 ]
}

part_data() {
    on_which >"$OUT/data.txt"
    for data in device host_pinned host_pageable; do
        train $data 100 --device cuda stages.train.with.data=$data || return
        same device $data || return
    done | tee -a "$OUT/data.txt"
    [ "$(grep -c 'has the bytes' "$OUT/data.txt")" -eq 3 ]
}

# The test trains operator by operator and by the recorded step.
part_recorded() {
    simulated || build_with "$B/bin/test_device" || return
    [ -x "$B/bin/test_device" ] || skip "$B/bin/test_device is not built"
    TEST_DEVICE=cuda CMOCKA_MESSAGE_OUTPUT=TAP "$B/bin/test_device"
}

part_q2() {
    if simulated; then
        set -- configs/blobs.yaml
    else
        set -- configs/q2.yaml
    fi
    "$PIPELINE" run "$@" --device cuda --out "$T/q2" || return
    mkdir "$OUT/q2"
    for f in curve.csv curve.svg metrics.json log.txt; do # the log says where
        cp "$T"/q2/*/train/$f "$OUT/q2" || return
    done
}

# step_times NAME ARGUMENT...: a run of configs/step-times.yaml; the last row of
# each cell, the one that sums up, goes to NAME.csv.
step_times() {
    name=$1
    shift
    if simulated; then
        set -- hidden_dim=16 'stages.step.matrix.batch_size=[32]' \
            stages.step.with.n_step=1 stages.step.with.warmup=1 \
            'stages.step.matrix.optimizer=[adam]' stages.step.with.repeat=4 \
            stages.step.expect.2.eq=4 "$@"
    else
        set -- stages.step.with.warmup=100 stages.step.with.repeat=500 \
            stages.step.expect.2.eq=500 "$@"
    fi
    "$PIPELINE" run configs/step-times.yaml --device cuda --out "$T/$name" \
        "$@" || return
    find "$T/$name" -name step_times.csv | sort >"$T/cells"
    head -n 1 "$(head -n 1 "$T/cells")" | cut -d, -f3- >"$OUT/$name.csv"
    while read -r cell; do
        tail -n 1 "$cell" | sed 's/^,all timed,//'
    done <"$T/cells" >>"$OUT/$name.csv"
}

part_steps() {
    step_times step_times 'stages.step.matrix.execution=[recorded, eager]' \
        'stages.step.matrix.numerics=[fast, strict, tf32]' || return
    step_times data_times \
        'stages.step.matrix.data=[device, host_pinned, host_pageable]'
}

torch_python() {
    for p in "${PYTHON-}" python3 /usr/bin/python3; do
        if [ -n "$p" ] && "$p" -c 'import torch' 2>/dev/null; then
            echo "$p"
            return
        fi
    done
    return 1
}

part_torch() {
    ! simulated || skip "simulated: there is no GPU for PyTorch"
    py=$(torch_python) || skip "no Python with torch"
    "$py" tests/gpu/torch_steps.py "$OUT/torch"
}

# A step in microseconds, ours beside PyTorch's. The columns of step_times.csv
# are told by its first line.
part_ratios() {
    [ -s "$OUT/step_times.csv" ] || skip "no step times"
    set -- "$OUT/step_times.csv"
    [ ! -s "$OUT/torch.csv" ] || set -- "$@" "$OUT/torch.csv"
    awk -F, -v simulated="$SIMULATED" -f tests/gpu/ratios.awk "$@" \
        >"$OUT/ratios.md" || return
    cat "$OUT/ratios.md"
}

# On the double, a few: all of them are for `make check`.
part_tests() {
    if ! simulated; then
        build_with test-gpu
        return
    fi
    set --
    for t in cpu_ops cpu_step; do
        [ ! -x "$B/bin/test_$t" ] || set -- "$@" "$B/bin/test_$t"
    done
    [ $# -gt 0 ] || skip "no tests are built in $B"
    TEST_DEVICE=cuda prove -e tests/run.sh "$@"
}

# ten_steps NAME [COMMAND...]: ten steps by each kind of execution and of
# matrix product, run by the command.
ten_steps() {
    name=$1
    shift
    hidden=100 repeat=6
    ! simulated || hidden=6 repeat=2
    "$@" "$PIPELINE" run configs/step-times.yaml --device cuda \
        --out "$T/$name" 'stages.step.matrix.batch_size=[33]' \
        'stages.step.matrix.optimizer=[adam]' \
        'stages.step.matrix.execution=[eager, recorded]' \
        'stages.step.matrix.numerics=[fast, strict]' \
        hidden_dim=$hidden stages.step.with.n_step=2 \
        stages.step.with.warmup=2 stages.step.with.repeat=$repeat \
        '~stages.step.expect'
}

part_sanitizer() {
    if simulated; then
        [ -e "$B/fake-check/libpipeline_cuda.so" ] ||
            skip "the checking double is not built"
        LD_LIBRARY_PATH=$(realpath "$B/fake-check") ten_steps checked
        return
    fi
    sanitizer=$(command -v compute-sanitizer ||
        ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
        skip "no compute-sanitizer"
    rc=0
    for tool in memcheck racecheck; do
        echo "== $tool"
        ten_steps $tool "$sanitizer" --tool $tool --error-exitcode 86 \
            --target-processes all || rc=1
    done
    return $rc
}

part_nsys() {
    ! simulated || skip "simulated: there is no GPU for nsys"
    has nsys || skip "no nsys"
    ten_steps nsys nsys profile --trace=cuda --sample=none --cpuctxsw=none \
        --cuda-graph-trace=node --output="$T/steps" || return
    nsys stats --report cuda_gpu_kern_sum --format csv "$T/steps.nsys-rep" \
        >"$OUT/nsys_kernels.csv"
}

# The folder tells itself, with no name of a place on this machine, and fits
# into a repository.
part_results() {
    simulated || smi clocks.sm,power.draw,temperature.gpu >"$OUT/after.txt" \
        2>/dev/null
    {
        if simulated; then
            echo "# SIMULATED: a rehearsal of tests/gpu/run.sh, not a GPU"
        else
            echo "# $(sed -n 's/^GPU *//p' "$OUT/doctor.txt" | head -n 1)"
        fi
        printf '\nWhat tests/gpu/run.sh left. The machine:\n\n'
        sed -n 's/^  "\(.*\)": "\{0,1\}\([^"]*[^",]\)"\{0,1\},*$/- \1: \2/p' \
            "$OUT/facts.json"
        printf '\nIts parts:\n\n'
        sed 's/^/    /' "$OUT/summary.tap"
        [ ! -e "$OUT/ratios.md" ] || { echo && cat "$OUT/ratios.md"; }
    } >"$OUT/README.md"
    find "$OUT" -type f ! -name results.log -exec sed -i \
        -e "s|$OUT|OUT|g" -e "s|$T|TMP|g" -e "s|$PWD|.|g" {} +
    [ "$(du -sk "$OUT" | cut -f1)" -lt 20480 ] ||
        die "more than 20 MB: too much to be committed"
    (cd "$OUT" && find . -type f ! -name results.log ! -name summary.tap |
        sort | xargs sha256sum) >"$T/sums" && cp "$T/sums" "$OUT/sha256sums"
}

"part_$1"
