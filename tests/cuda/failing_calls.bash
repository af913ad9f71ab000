# Loaded by failing_calls.bats: calls of CUDA that the double lets fail.

# Two graphs, one for the last batch of an epoch, and evaluation between.
steps() {
    cat >"$1" <<'YAML'
version: 1
name: steps
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 150, n_test: 70}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  train:
    uses: train
    with:
      dataset: blobs
      model: mlp
      batch_size: 32
      eval_batch_size: 32
      epochs: 3
      lr: 0.01
      optimizer: adam
  evaluate:
    uses: evaluate
    with: {from: train}
YAML
}

# Steps one by one, which only the timer of steps still does.
eager() {
    cat >"$1" <<'YAML'
version: 1
name: eager
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 150, n_test: 70}
models:
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
stages:
  step:
    uses: profile
    with:
      dataset: blobs
      model: mlp
      batch_size: 32
      lr: 0.01
      optimizer: adam
      execution: eager
      data: host_pinned
      n_step: 2
      warmup: 2
      repeat: 4
YAML
}

# on_double CONFIG OUT ...: a run on the double that must not hang or leak.
on_double() {
    FAKE_CUDA_LEAKS=1 timeout -k 2 30 "$PIPELINE" run "$1" --device cuda \
        --out "$2" "${@:3}"
}

# kept OUT: what must be the same again; of what is timed, only the files' names.
kept() {
    if [ -d "$1/eager" ]; then
        bits "$1" | sed 's/^[^ ]* *//'
    else
        bits "$1"
    fi
}

# reference CONFIG ...: what the run gives undisturbed, in $T/reference, and how
# often it calls what, in $T/calls.
reference() {
    rm -rf "$T/calls" "$T/reference"
    FAKE_CUDA_COUNT=$T/counts on_double "$1" "$T/reference" "${@:2}" \
        >"$T/log" 2>&1 || { cat "$T/log"; return 1; }
    awk '/^cu(da|blas)/ {n[$1] += $2} END {for (f in n) print f, n[f]}' \
        "$T/counts" | sort >"$T/calls"
    rm "$T/counts"
    kept "$T/reference" >"$T/bits"
}

# What gives back cannot stop a run that needs it no more.
may_go_on() {
    case $1 in
    *Free | *FreeHost | *Destroy | cudaDeviceSynchronize) true ;;
    cudaStreamSynchronize | cudaMalloc) true ;; # for a graph; then once more
    *) false ;;
    esac
}

# A launch is named by the function that launches, of ours or of a library.
named() {
    case $1 in
    cudaLaunchKernel) [[ $output =~ " failed: "(k_[a-z_0-9]+|cublas[A-Za-z]+): ]] ;;
    *) [[ $output == *"$1"* ]] ;;
    esac
}

# fails FUNCTION N CODE CONFIG ...: with the N-th call of FUNCTION failing, the
# run ends with an error that names it and leaves nothing behind that the next
# one would stumble over, and that one gives the reference's bits.
fails() {
    local what="$1@$2=$3"
    rm -rf "$T/faulty"
    FAKE_CUDA_FAIL=$what run on_double "$4" "$T/faulty" "${@:5}"
    if [ "$status" -ne 0 ]; then
        [[ $status == 3 || $status == 7 ]] || { echo "$what: $status"; false; }
        named "$1" || { echo "$what is not named: $output"; false; }
        if [ -d "$T/faulty" ]; then
            [ -z "$(find "$T/faulty" -name '*.tmp*')" ]
        fi
    else
        may_go_on "$1" || { echo "$what: no error"; false; }
    fi
    [[ $output != *leak* ]] || { echo "$what: $output"; false; }
    run on_double "$4" "$T/faulty" "${@:5}"
    is_status 0
    kept "$T/faulty" | cmp - "$T/bits" ||
        { echo "$what: other bits afterwards"; false; }
}

# cudaErrorUnknown, or CUBLAS_STATUS_EXECUTION_FAILED
code_of() {
    case $1 in
    cublas*) echo 13 ;;
    *) echo 999 ;;
    esac
}

# each_use N: the first, the second, the middle one and the last
each_use() {
    printf '%s\n' 1 2 "$((($1 + 1) / 2))" "$1" | sort -nu |
        awk -v n="$1" '$1 <= n'
}

# all_fail CONFIG ...: every function that the run calls
all_fail() {
    local name n i
    reference "$@"
    while read -r name n; do
        for i in $(each_use "$n"); do
            fails "$name" "$i" "$(code_of "$name")" "$@"
        done
    done <"$T/calls"
}

# out_of_memory CONFIG ...: at each allocation; the error says how much.
out_of_memory() {
    local name n i
    reference "$@"
    while read -r name n; do
        for i in $(seq "$n"); do
            fails "$name" "$i" 2 "$@" # cudaErrorMemoryAllocation
            FAKE_CUDA_FAIL=$name@$i=2 run on_double "$1" "$T/again" "${@:2}"
            rm -rf "$T/again"
            [ "$status" -eq 0 ] && continue
            [[ $output =~ "was asked for "[0-9]+" bytes" ]]
            [ "$name" = cudaMallocHost ] ||
                [[ $output =~ "holds "[0-9]+", and "[0-9]+" of "[0-9]+" are free" ]]
        done
    done < <(grep -E '^cudaMalloc(Host)? ' "$T/calls")
}

# The double, or a skip where there is none.
need_double() {
    export LD_LIBRARY_PATH="${PIPELINE%/bin/pipeline}/fake"
    [ -e "$LD_LIBRARY_PATH/libpipeline_cuda.so" ] ||
        skip "no double of CUDA in this build"
}
