#!/bin/sh
# tests/cuda/headers.sh: the host objects of cuda/ compile against the headers
# of the oldest toolkit that is supported, 12.4. They come from the index of
# Python packages, cut out of the wheels (wheel_headers.py). From an index that
# gives no parts of files the wheels of the runtime and of CUPTI are fetched
# whole, 15 MB. That of cuBLAS is 360 MB, so its headers are then those of the
# toolkit here; types that 12.4 has not yet, of calls that we do not use, are
# ints to them. NVTX is not among them: it need not be there. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
CUDA_INCLUDE=${CUDA_INCLUDE:-/usr/local/cuda/include}
T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-cuda-headers.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT

part() {
    timeout 60 python3 tests/cuda/wheel_headers.py "$T" "$1" >"$T/log" 2>&1
}

fetch() {
    part "$1" && return
    timeout 60 python3 -m pip download -q --no-deps --only-binary :all: \
        --platform manylinux2014_x86_64 -d "$T" "$1" >"$T/log" 2>&1 &&
        python3 - "$T" <<'PY'
import glob, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/*.whl"):
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            if "/include/" in name:
                z.extract(name, sys.argv[1])
PY
}

if ! fetch nvidia-cuda-runtime-cu12==12.4.127 ||
    ! fetch nvidia-cuda-cupti-cu12==12.4.127; then
    echo "1..1"
    echo "ok 1 # SKIP the headers of CUDA 12.4 could not be fetched: $(
        tail -n 1 "$T/log")"
    exit 0
fi
mkdir "$T/include"
cp -r "$T"/nvidia/cuda_runtime/include/. "$T/include"
cp -r "$T"/nvidia/cuda_cupti/include/. "$T/include"
UNKNOWN=
if part nvidia-cublas-cu12==12.4.5.8; then
    cp -r "$T"/nvidia/cublas/include/. "$T/include"
else
    echo "# cuBLAS: the headers of the toolkit here: $(tail -n 1 "$T/log")"
    for h in "$CUDA_INCLUDE"/cublas*.h; do
        cp "$h" "$T/include"
    done
    UNKNOWN=$(grep -ohE '\bcudaEmulation[A-Za-z]+' "$T"/include/cublas*.h |
        sort -u | sed 's/.*/-D&=int/')
fi
n=0
broken=0
for f in cuda/*.c; do
    n=$((n + 1))
    # shellcheck disable=SC2086 # a list of words
    if ${CC:-cc} $UNKNOWN -std=c17 -D_GNU_SOURCE -I. -isystem "$T/include" -Wall \
        -Wextra -Werror -fsyntax-only "$f" >"$T/log" 2>&1; then
        echo "ok $n - $f"
    else
        echo "not ok $n - $f"
        sed 's/^/# /' "$T/log" | head -n 8
        broken=1
    fi
done
echo "1..$n"
exit $broken
