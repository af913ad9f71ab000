load ../cli/helper

accuracy() {
    sed -n 's/.*"test.accuracy": *\([0-9.]*\).*/\1/p' "$1"
}

# short PROGRAM OUT: one epoch of q2, the checkpoint's sum.
short() {
    "$1" run configs/q2.yaml epochs=1 --out "$2" -q >"$T/log" 2>&1 ||
        [ $? -eq 1 ]
    sha256sum <"$2/q2/train/checkpoints/resume.safetensors"
}

@test "ten seeds of q2 pass 97 %" {
    for seed in $(seq 0 9); do
        run pipeline run configs/q2.yaml "stages.train.with.seed=$seed" \
            --out "$T/$seed" -q
        is_status 0
        echo "# seed $seed: $(accuracy "$T/$seed/q2/train/metrics.json")" >&3
    done
}

@test "q2 killed thirty times ends with the bytes of an unbroken run" {
    run pipeline run configs/q2.yaml epochs=3 --out "$T/whole" -q
    unbroken=$(bits "$T/whole/q2")
    for i in $(seq 30); do
        timeout -s KILL "0.$((RANDOM % 8))$((RANDOM % 10))1" "$PIPELINE" \
            run configs/q2.yaml epochs=3 --out "$T/out" -q \
            >/dev/null 2>&1 || true
    done
    run pipeline run configs/q2.yaml epochs=3 --out "$T/out" -q
    [ "$unbroken" = "$(bits "$T/out/q2")" ]
}

@test "compilers and flags do not change a bit" {
    want=$(short "$PIPELINE" "$T/release")
    build() {
        make "$@" >"$T/log" 2>&1 || { tail "$T/log"; return 1; }
    }
    build B=build/soak-fast CFLAGS='-Ofast -march=native'
    [ "$want" = "$(short build/soak-fast/bin/pipeline "$T/fast")" ]
    build B=build/soak-plain CFLAGS=-O0
    [ "$want" = "$(short build/soak-plain/bin/pipeline "$T/plain")" ]
    build B=build/soak-clang CC=clang CFLAGS='-O3 -ffast-math'
    [ "$want" = "$(short build/soak-clang/bin/pipeline "$T/clang")" ]
}

@test "valgrind finds nothing in a run" {
    blobs "$T/blobs.yaml"
    for pass in 1 2; do
        run valgrind -q --error-exitcode=99 --leak-check=full \
            "$PIPELINE" run "$T/blobs.yaml" --out "$T/out" --threads 2
        is_status 0
    done
}
