load helper

# By hand: PYTHON=... says which; it needs SymPy.
sympy_python() {
    local p
    for p in "${PYTHON-}" python3 /usr/bin/python3; do
        [ -n "$p" ] && "$p" -c 'import sympy' >/dev/null 2>&1 &&
            echo "$p" && return 0
    done
    return 1
}

# judge CONFIG STATUS: what the program says of the claims, then what SymPy does.
judge() {
    py=$(sympy_python) || skip "no Python with sympy (python3-sympy)"
    run --separate-stderr pipeline run "$1" --json --out "$T/out"
    is_status "$2"
    echo "$output" >"$T/result.json"
    run "$py" tests/claims.py "$1" "$T/result.json"
    is_status 0
}

@test "the four claims hold, and algebra says so too" {
    judge configs/claims.yaml 0
    for claim in 1 2 3 4; do
        says "claim $claim: "
    done
    says "by algebra it holds"
    [[ $output != *fails* ]]
}

# fails CLAIM SUBJECT: both say that this expectation does.
fails() {
    grep -q "^claim $1: $2.*: fails, by algebra it fails$" <<<"$output" || {
        echo "claim $1, $2, did not fail:"
        echo "$output"
        return 1
    }
}

@test "wrong claims fail, by algebra too" {
    # Just outside of what the claims allow.
    sed -e 's|close: 2.284782|close: 2.28489|; s|2.610135|2.61022|' \
        -e 's|\[1.740094, 1|[1.74018, 1|' \
        -e 's|0.25, 0.25\]|0.25, 0.251]|' \
        -e 's|(first + second) / 2|(first + 2 * second) / 3|' \
        -e 's|(V1 + V.grad) / 2|(V1 + V.grad) / 3|' \
        -e 's|5.957e-8|5.968e-8|' configs/claims.yaml >"$T/wrong.yaml"
    judge "$T/wrong.yaml" 1
    fails 1 'yhat close to 2.28489'
    fails 1 'L close to 2.61022'
    fails 2 'w.grad close to'
    fails 3 'averaged close to \[0.25'
    fails 3 'averaged close to l.grad'
    fails 3 'averaged_V close to V.grad'
    fails 4 'smallest close to 5.968e-08'
    # What was left alone still holds.
    says "claim 3: averaged_U close to U.grad (atol 1.0e-12, rtol 0): holds, by"
}
