# Loaded by the tests that kill runs: a run of three stages, and what must be
# true after it was killed and begun again.

# three: $T/three.yaml fetches from a folder, trains and evaluates.
three() {
    awk 'BEGIN {
        print "x,y"
        for (i = 0; i < 300; i++) printf "%d.5,%d\n", i % 17, (i % 17 > 8) }' \
        >"$T/points.csv"
    cat >"$T/three.yaml" <<'YAML'
version: 1
name: three
datasets:
  points:
    type: csv
    target: y
    classes: 2
    mirrors: [.]
    files: {train: points.csv, test: points.csv}
models:
  mlp: {layers: [{type: linear, out: 8}, relu, {type: linear, out: 2}]}
stages:
  train:
    uses: train
    with: {dataset: points, model: mlp, batch_size: 20, epochs: 3, lr: 0.01,
           optimizer: adam, checkpoint: {every_n_epochs: 1}}
  evaluate: {uses: evaluate, with: {from: train}}
YAML
}

# three_run [WORD ...]: in $T/out. What stands before pipeline is in $before.
three_run() {
    $before "$PIPELINE" run "$T/three.yaml" --out "$T/out" --threads 1 "$@"
}

forget() {
    rm -rf "$T/out" "$T/cache"
}

# An unbroken run, its files in $unbroken.
unbroken_run() {
    before=''
    three_run >"$T/log" 2>&1
    unbroken=$(bits "$T/out/three")
    forget
}

# goes_on WHEN: the same command completes, with the same files and no others.
goes_on() {
    before=''
    three_run >"$T/log" 2>&1 || {
        echo "killed $1: then status $?"
        cat "$T/log"
        return 1
    }
    [ "$unbroken" = "$(bits "$T/out/three")" ] || {
        echo "killed $1: other files than those of an unbroken run"
        diff <(echo "$unbroken") <(bits "$T/out/three")
        return 1
    }
    ! find "$T/out" "$T/cache" -name '*.tmp-*' -o -name '*.part' | grep . ||
        return 1
}

# killed_at N: a run that is killed at its N-th call to the file system.
killed_at() {
    forget
    status=0
    before="env LD_PRELOAD=$T/die_at.so DIE_AT=$1"
    three_run >"$T/log" 2>&1 || status=$?
    [ "$status" -eq 137 ] || { echo "not killed at $1: $status"; return 1; }
    goes_on "at call $1"
}

# build_die_at: the library that does it; calls gets how many calls a run has.
build_die_at() {
    ${CC:-cc} -shared -fPIC -O1 -D_GNU_SOURCE -o "$T/die_at.so" \
        tests/soak/die_at.c -ldl
    export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
    before="env LD_PRELOAD=$T/die_at.so COUNT_TO=$T/calls"
    three_run >"$T/log" 2>&1
    calls=$(cat "$T/calls")
    forget
}
