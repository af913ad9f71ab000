#!/bin/sh
# tests/cuda/planted_bugs.sh: the checking double of CUDA must see bugs in the
# real sources. A mutant is one source of cuda/ built with one change and linked with
# the other objects of the build folder B (`make fake` has made them); what it
# trains must be reported at the right line, or fail, or give other bits. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release}
CUDA_INCLUDE=${CUDA_INCLUDE:-/usr/local/cuda/include}
T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-cuda-mutants.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
export PIPELINE_CACHE="$T/cache" NO_COLOR=1
n=0
broken=0

verdict() {
    n=$((n + 1))
    if [ "$1" = caught ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2: $1"
        sed 's/^/# /' "$T/log" | head -n 12
        broken=1
    fi
}

# Two batch sizes, each with a graph of its own; evaluation asks for more
# scratch than the step does; the next epoch replays the step.
cat >"$T/steps.yaml" <<'YAML'
version: 1
name: steps
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 210, n_test: 120}
models:
  mlp: {layers: [{type: linear, out: 40}, relu, {type: linear, out: 3}]}
stages:
  train:
    uses: train
    with:
      dataset: blobs
      model: mlp
      batch_size: 100
      eval_batch_size: 120
      epochs: 3
      lr: 0.01
      optimizer: adam
      clip_grad_norm: 0.1
      numerics: strict
YAML

# train PLUGIN-FOLDER OVERRIDES: the digest of the weights is left in $T/bits.
# OVERRIDES test_train runs that unit test instead.
train() {
    if [ "$2" = test_train ]; then
        TEST_DEVICE=cuda LD_LIBRARY_PATH=$1 timeout -k 2 20 "$B/bin/test_train" \
            >"$T/log" 2>&1
        return
    fi
    rm -rf "$T/out"
    # shellcheck disable=SC2086 # a list of words
    PIPELINE_CUDA_ARENAS=0 LD_LIBRARY_PATH=$1 timeout -k 2 20 "$B/bin/pipeline" \
        run "$T/steps.yaml" --device cuda --out "$T/out" $2 >"$T/log" 2>&1
    status=$?
    find "$T/out" -name '*.safetensors' -exec sha256sum {} + |
        sed 's/ .*//' | sort >"$T/bits"
    return "$status"
}

ARCH=$(grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo &&
    echo -march=x86-64-v3)

# build FILE: the plug-in in $T/lib with $T/src/FILE in place of FILE
build() {
    object=$T/mutant.o
    case $1 in
    *.cu)
        instead=$B/fake-check/obj/${1%.cu}.k.o
        ${CXX:-c++} -std=c++17 -g1 -O1 -fPIC -fno-exceptions -fno-rtti \
            -fno-threadsafe-statics -ffp-contract=off -w $ARCH \
            -fsanitize=thread -fsanitize=bounds -fno-inline-functions \
            "-fdebug-prefix-map=$T/src/=" -I. -isystem "$CUDA_INCLUDE" \
            -x c++ -include tests/cuda/cusim.h -c -o "$object" "$T/src/$1"
        ;;
    *)
        instead=$B/obj/${1%.c}.o
        ${CC:-cc} -std=c17 -D_GNU_SOURCE -g -O1 -fPIC -w \
            "-fdebug-prefix-map=$T/src/=" -I. -isystem "$CUDA_INCLUDE" \
            -c -o "$object" "$T/src/$1"
        ;;
    esac || return 1
    for o in "$B"/obj/cuda/*.o "$B"/fake-check/obj/cuda/*.k.o \
        "$B"/fake/obj/tests/cuda/*.o; do
        case $o in
        "$instead" | *.cu.o | *.k.o.o | */test_* | */planted* | \
            */check_none.o | */fake_driver.o | */fake_nvml.o) ;;
        *) echo "$o" ;;
        esac
    done >"$T/objects"
    # shellcheck disable=SC2046 # a list of words
    ${CC:-cc} -shared -pthread -Wl,-Bsymbolic -Wl,-z,nodelete \
        -o "$T/lib/libpipeline_cuda.so" "$object" $(cat "$T/objects") -ldl -lm
}

# mutate FILE CHANGE WHAT SEEN [OVERRIDES]: CHANGE, a perl substitution on the
# whole FILE, must be caught. SEEN is "differs" (an error or other bits) or
# "KIND @ TEXT": a report of that kind, an extended regular expression, at the
# line of FILE where TEXT stands.
mutate() {
    mkdir -p "$T/src/cuda"
    perl -0pe "$2" "$1" >"$T/src/$1"
    if cmp -s "$1" "$T/src/$1"; then
        verdict "the change fits nothing" "$3"
    elif ! build "$1" >"$T/log" 2>&1; then
        verdict "does not build" "$3"
    else
        cp "$T/reference" "$T/bits"
        train "$T/lib" "${5-}"
        judge "$1" "$3" "$4" "$?"
    fi
}

judge() {
    kind=${3%% @ *}
    line=$(grep -nF "${3#* @ }" "$T/src/$1" | head -n 1 | cut -d: -f1)
    if [ "$3" = differs ]; then
        if [ "$4" -ne 0 ] || ! cmp -s "$T/bits" "$T/reference"; then
            verdict caught "$2"
        else
            verdict survived "$2"
        fi
    elif grep -E "cusim: ($kind)" "$T/log" | grep -q "$1:${line:-none}\b"; then
        verdict caught "$2 ($kind at $1:$line)"
    else
        verdict "no $kind at $1:${line:-?}" "$2"
    fi
}

# Of a file, the n-th barrier away.
no_barrier() {
    mutate "$1" "my \$k = 0; s/__syncthreads\\(\\);/++\$k == $2 ? '' : \$&/ge" \
        "$1 without barrier $2" "race|uninitialised read @ $3"
}

# Unchanged there is nothing to report, and the data path changes no bit.
mkdir -p "$T/lib"
for f in libcuda.so.1 libnvidia-ml.so.1; do
    ln -s "$(realpath "$B/fake-check/$f")" "$T/lib/$f"
done
for data in device host_pinned; do
    if train "$B/fake-check" "stages.train.with.data=$data" &&
        ! grep -q cusim: "$T/log" &&
        { [ "$data" = device ] && mv "$T/bits" "$T/reference" ||
            cmp -s "$T/bits" "$T/reference"; }; then
        verdict caught "no change, no report, data: $data"
    else
        verdict "reported or failed without a change" "data: $data"
    fi
done

no_barrier cuda/k_gemm.cu 1 'sum[i][j] = v_fma(ta'
no_barrier cuda/k_gemm.cu 2 'to[p][i] = there ?'
no_barrier cuda/k_gemm.cu 3 'BIAS_GRAD(bias_grad_f32'
no_barrier cuda/k_gemm.cu 4 'BIAS_GRAD(bias_grad_f32'
no_barrier cuda/k_loss.cu 1 'T term = i < n'
no_barrier cuda/k_optim.cu 1 'sums[i] = s;'
no_barrier cuda/k_optim.cu 2 's = 2 * i + 1 < n'
mutate cuda/k_gemm.cu 's/j0 \+ col \+ j < g->n\)/j0 + col + j <= g->n)/' \
    'a store one column too far' differs
mutate cuda/k_gemm.cu 's/\(g->m \+ TILE - 1\) \/ TILE/g->m \/ TILE/' \
    'a grid that is a block short' differs
mutate cuda/k_gemm.cu 's/db\[j\] = sum;/atomicAdd(&db[j], sum);/' \
    'a float atomic' 'float atomic @ BIAS_GRAD(bias_grad_f32'
mutate cuda/k_optim.cu 's/EACH\(i, b\.n\)/EACH(i, b.n + 1)/' \
    'a missing bounds check' 'out of bounds @ float p = b.p[i]'
mutate cuda/k_loss.cu 's/0xffffffffu, term/0x7fffffffu, term/' \
    'a shuffle whose mask lacks a lane' 'warp mask @ s += __shfl_sync(0x7fffffffu'
mutate cuda/k_loss.cu 's/i < n \? x\[i\] \* scale/i <= n ? x[i] * scale/' \
    'scratch read that nothing wrote' 'uninitialised @ T term = i <= n'
mutate cuda/cuda_input_host.c \
    's/(int rc = )CU\(cudaStreamWaitEvent\(cu->stream, s->copied, 0\), err\)/${1}0/' \
    'no wait for the copy of a batch' differs stages.train.with.data=host_pinned
mutate cuda/cuda_input_host.c \
    's/rc = CU\(cudaEventSynchronize\(s->copied\), err\);/rc = 0;/' \
    'pinned memory written while it is copied' \
    'pinned memory reused @ rc = CU(cudaMemcpyAsync(s->device' \
    stages.train.with.data=host_pinned
mutate cuda/cuda_upload.c \
    's/rc = CU\(cudaEventSynchronize\(s->copied\), err\);/rc = 0;/' \
    'pinned indices written while they are copied' \
    'pinned memory reused @ int rc = CU(cudaMemcpyAsync(to, s->pinned' \
    'stages.train.with.batch_size=10 stages.train.with.epochs=1'
mutate cuda/cuda_upload.c 's/u->next = \(u->next/u->next = (0 * u->next/; s/rc = CU\(cudaEventSynchronize\(s->copied\), err\);/rc = 0;/' \
    'one piece of pinned memory for all steps' differs
mutate cuda/cuda_input_device.c \
    's/cudaMemcpyAsync\((\*out, from, size, cudaMemcpyHostToDevice),\s+cu->stream\)/cudaMemcpy($1)/' \
    'a data set uploaded on the default stream' differs
mutate cuda/cuda_memory.c 's/if \(cu->graphs == 0\)/if (true)/' \
    'scratch freed that a graph uses' differs test_train
mutate cuda/cuda_mem.c 's/if \(s->used > 0\)/if (s->used > 400)/' \
    'tensors freed that are in use' differs
mutate cuda/cuda_graph.c 's/int rc = cuda_input_begin.*?;/int rc = 0;/' \
    'a replay without its batch' differs
mutate cuda/cuda_backend.c 's/s->adam_step,/s->adam_step \/ 2,/' \
    'the wrong scalars' differs
echo "1..$n"
exit $broken
