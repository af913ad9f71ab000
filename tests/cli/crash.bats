load helper
load crash

# A sample of tests/soak/kill.bats.

@test "a run killed at a call to the file system goes on to the same files" {
    three
    unbroken_run
    build_die_at
    [ "$calls" -gt 100 ]
    for k in 1 2 3 4 5 6 7 8; do
        killed_at $((calls * k / 9 + RANDOM % 20))
    done
}

@test "a run killed at any moment goes on to the same files" {
    three
    unbroken_run
    for delay in 0.01 0.03 0.05 0.08; do
        forget
        timeout -s KILL $delay "$PIPELINE" run "$T/three.yaml" --threads 1 \
            --out "$T/out" >/dev/null 2>&1 || true
        goes_on "after $delay s"
    done
}
