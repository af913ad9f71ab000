load ../cli/helper
load ../cli/crash

# Kills without end: every call to the file system of a run of three stages,
# KILLS random moments of it.

@test "killed at every call to the file system, a run goes on" {
    three
    unbroken_run
    build_die_at
    n=1
    while killed_at "$n"; do
        n=$((n + 1))
    done
    # A run more or less waits for a lock or reads a clock: calls may differ.
    [ "$status" -eq 0 ]
    [ "$n" -gt $((calls - 20)) ]
    echo "# killed at each of $((n - 1)) calls" >&3
}

@test "killed at random moments, a run goes on" {
    three
    begin=$(date +%s%N)
    unbroken_run
    us=$((($(date +%s%N) - begin) / 1000))
    killed=0
    while [ "$killed" -lt "${KILLS:-250}" ]; do
        forget
        delay=$(printf '0.%06d' $(((RANDOM * 32768 + RANDOM) % us)))
        status=0
        timeout -s KILL "$delay" "$PIPELINE" run "$T/three.yaml" \
            --threads 1 --out "$T/out" >/dev/null 2>&1 || status=$?
        [ "$status" -ne 137 ] || killed=$((killed + 1))
        goes_on "after $delay s"
    done
    echo "# killed $killed times within $us us" >&3
}

@test "killed over and over, a run gets to its end" {
    three
    unbroken_run
    for _ in $(seq 50); do
        timeout -s KILL "0.0$((RANDOM % 5))$((RANDOM % 10))" "$PIPELINE" run \
            "$T/three.yaml" --threads 1 --out "$T/out" >/dev/null 2>&1 || true
    done
    goes_on "50 times"
}
