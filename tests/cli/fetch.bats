load helper

# Downloads, from a server that misbehaves on purpose (tests/server): the first
# part of an address says how.

setup_file() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    D=$BATS_FILE_TMPDIR
    export D
    seq 1 20000 | sed '1i y' | gzip -n >"$D/payload"
    mkfifo "$D/stdin"
    "$(dirname "${PIPELINE:-build/release/bin/pipeline}")/faultd" \
        "$D/payload" "$D/log" "$D/cert.pem" \
        <"$D/stdin" >"$D/ports" 3>&- &
    exec 8>"$D/stdin" # it serves until this is closed
    for _ in $(seq 500); do
        [ ! -s "$D/ports" ] || break
        sleep 0.01
    done
    read -r PORT TLS_PORT <"$D/ports"
    URL=http://127.0.0.1:$PORT
    TLS=https://127.0.0.1:$TLS_PORT
    SHA=$(sha256sum <"$D/payload" | cut -d' ' -f1)
    SIZE=$(wc -c <"$D/payload")
    export URL TLS SHA SIZE PORT
}

teardown_file() {
    exec 8>&-
}

# from MIRROR ...: an experiment that fetches one file from these.
from() {
    local list
    list=$(printf ', "%s"' "$@")
    cat >"$T/x.yaml" <<YAML
version: 1
name: x
datasets:
  d:
    type: csv
    target: y
    mirrors: [${list#, }]
    files: {train: {path: x.csv.gz, size: $SIZE, sha256: $SHA}}
stages:
  get:
    uses: fetch
    with: {dataset: d, retries: 0, stall_timeout: 0.3, connect_timeout: 3}
YAML
    unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY NO_PROXY \
        no_proxy CURL_CA_BUNDLE SSL_CERT_FILE PIPELINE_MIRROR
}

fetch() {
    run pipeline run "$T/x.yaml" --out "$T/out" "$@"
}

# Paths are counted: each test asks below one of its own.
base() {
    echo "$URL/$1/$BATS_TEST_NUMBER"
}

# asked PATH: how often.
asked() {
    grep -c "^/$1/$BATS_TEST_NUMBER/" "$D/log" || true
}

# passes_over BEHAVIOUR REASON ...: the mirror behind one like that is asked.
passes_over() {
    while [ $# -gt 0 ]; do
        from "$(base "$1")" "$(base good)"
        fetch
        is_status 0
        says "$(base "$1"): $2"
        says "x.csv.gz from $(base good)"
        rm -rf "$T/out" "$T/cache"
        shift 2
    done
}

# fails BEHAVIOUR REASON ...: alone, it ends with 4 and the reason.
fails() {
    while [ $# -gt 0 ]; do
        from "$(base "$1")"
        fetch
        is_status 4
        says "error: stage 'get': cannot fetch 'd/x.csv.gz': no mirror gave it"
        says "  $(base "$1"): $2"
        [ ! -e "$T/out/x/get/stage.json" ]
        passes_over "$1" "$2"
        shift 2
    done
}

@test "what is not the file: HTML, 403, 404, an empty or a wrong one" {
    fails html "looks like an HTML page, not the file" \
        status-403 "HTTP 403" status-404 "HTTP 404" \
        empty "has 0 bytes, not $SIZE" too_long "has $((SIZE + 10)) bytes, not"
    from "$(base html)"
    sed -i 's/, size: [0-9]*//' "$T/x.yaml"
    fetch
    is_status 4
    says "looks like an HTML page"
}

@test "a server that refuses, says nothing, stalls, drips or cuts" {
    fails cut_always "transfer closed with" cut_no_length "ends after" \
        cut_chunked "transfer closed with" nothing "Empty reply from server"
    passes_over drip "sends less than 100 bytes a second for 0.3 s" \
        stall "sends less than 100 bytes"
    from "$(base silent)"
    fetch
    is_status 4
    says "sends less than 100 bytes a second for 0.3 s"
    from http://127.0.0.1:1/
    fetch
    is_status 4
    says "Failed to connect to 127.0.0.1 port 1"
}

@test "a wrong checksum goes on to the next mirror" {
    from "$(base status-200)" "$(base too_short)" "$(base good)"
    sed -i 's/, size: [0-9]*//' "$T/x.yaml"
    fetch
    is_status 0
    says "$(base too_short): has sha256 "
    says "x.csv.gz from $(base good)"
}

@test "redirects: a loop, to a file, from https to http; a plain one is fine" {
    fails loop "Maximum (5) redirects followed" \
        to_file 'Protocol "file" not supported'
    from "$TLS/to_http/$BATS_TEST_NUMBER"
    fetch --cacert "$D/cert.pem"
    is_status 4
    says 'Protocol "http" not supported'
    from "$(base to_good)"
    fetch
    is_status 0
}

@test "https wants a certificate that it can trust" {
    from "$TLS/good/$BATS_TEST_NUMBER"
    fetch
    is_status 4
    says "SSL certificate problem: self"
    fetch --cacert "$D/cert.pem"
    is_status 0
    rm -rf "$T/out" "$T/cache"
    SSL_CERT_FILE=$D/cert.pem fetch
    is_status 0
    fetch --cacert "$T/none"
    is_status 2
    says "--cacert takes a file of certificates, not '$T/none'"
}

@test "429 with Retry-After and 503 are tried again" {
    from "$(base busy-1)"
    sed -i 's/retries: 0/retries: 1/' "$T/x.yaml"
    fetch
    is_status 0
    says "HTTP 429; again in 1 s"
    rm -rf "$T/out" "$T/cache"
    from "$(base flaky-1)"
    sed -i 's/retries: 0/retries: 1/' "$T/x.yaml"
    fetch
    is_status 0
    says "HTTP 503; again in 1 s"
    rm -rf "$T/out" "$T/cache"
    from "$(base busy-3600)"
    fetch
    is_status 4
    says "HTTP 429 (asks to wait 3600 s)"
}

@test "a lost connection is resumed, whatever the server makes of Range" {
    pids=
    for what in cut no_range no_such_range new_tag_206; do
        from "$(base $what)"
        sed 's/retries: 0/retries: 2/' "$T/x.yaml" >"$T/$what.yaml"
        PIPELINE_CACHE=$T/cache-$what "$PIPELINE" run "$T/$what.yaml" \
            --out "$T/out-$what" >"$T/log-$what" 2>&1 3>&- 8>&- &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || { cat "$T"/log-*; false; }
    done
    for what in cut no_range no_such_range new_tag_206; do
        [ "$(asked $what)" -gt 1 ]
        [ -s "$T/out-$what/x/get/stage.json" ]
    done
    grep -q "^/cut/$BATS_TEST_NUMBER/x.csv.gz $((SIZE / 2))- " "$D/log"
}

@test "Ctrl-C ends with 130; the next run goes on where it stood" {
    from "$(base slow)"
    "$PIPELINE" run "$T/x.yaml" --out "$T/out" >"$T/log" 2>&1 3>&- 8>&- &
    pid=$!
    for _ in $(seq 500); do
        found=$(find "$T/cache" -name '*.part' -size +3k 2>/dev/null) || true
        [ -z "$found" ] || break
        sleep 0.005
    done
    kill -INT $pid
    code=0
    wait $pid || code=$?
    [ "$code" -eq 130 ]
    grep -q "^interrupted: " "$T/log"
    fetch
    is_status 0
    grep "^/slow/$BATS_TEST_NUMBER/" "$D/log" | tail -1 |
        grep -q ' [1-9][0-9]*- '
}

@test "an unknown host costs no time, and every mirror is listed" {
    from http://no-such-host.invalid/a http://127.0.0.1:1/ "$(base html)" \
        "$T/nowhere"
    start=$SECONDS
    fetch
    [ $((SECONDS - start)) -lt 5 ]
    is_status 4
    says "  http://no-such-host.invalid/a: Could not resolve host"
    says "  http://127.0.0.1:1/: Failed to connect"
    says "  $(base html): looks like"
    says "  $T/nowhere: No such file or directory"
}

@test "--mirror and PIPELINE_MIRROR come first, --offline asks nobody" {
    from "$(base status-404)"
    fetch --offline
    is_status 4
    says "$(base status-404): not tried: offline"
    [ "$(asked status-404)" -eq 0 ]
    fetch --mirror "$(base good)"
    is_status 0
    [ "$(asked status-404)" -eq 0 ]
    rm -rf "$T/out"
    fetch --offline # what the cache has
    is_status 0
    rm -rf "$T/out" "$T/cache"
    mkdir "$T/m"
    cp "$D/payload" "$T/m/x.csv.gz"
    PIPELINE_MIRROR=$T/m fetch --offline
    is_status 0
    says "x.csv.gz from $T/m ("
    fetch --mirror ftp://me:s3cret@host/
    is_status 2
    says "--mirror takes a folder or an http(s) address, not 'ftp://***@host/'"
}

@test "proxies are used, and no password is shown or kept" {
    from "http://me:s3cret@locked.invalid/good/$BATS_TEST_NUMBER"
    export http_proxy=http://user:s3cret@127.0.0.1:$PORT
    fetch
    is_status 0
    grep -q "^proxy:locked.invalid " "$D/log"
    export http_proxy=http://user:s3crets@127.0.0.1:$PORT
    rm -rf "$T/cache"
    run -4 pipeline run "$T/x.yaml" --out "$T/out" -v
    says "HTTP 407"
    [[ $output != *s3cret* ]]
    run -1 grep -r s3cret "$T/out"
    run pipeline show "$T/x.yaml"
    says "http://***@locked.invalid/good/"
    [[ $output != *s3cret* ]]
    export no_proxy=locked.invalid
    fetch
    is_status 4
    says "Could not resolve host: locked.invalid"
}

@test "a token in the query of an address is not shown or kept" {
    from "$(base status-404)/?token=s3cret&v=1"
    run -4 pipeline run "$T/x.yaml" --out "$T/out" -v \
        "datasets.d.mirrors=[\"$(base status-500)/?token=s3cret&v=1\"]"
    says "?token=***&v=***: HTTP 500"
    [[ $output != *s3cret* ]]
    run -1 grep -r s3cret "$T/out"
    run pipeline show "$T/x.yaml"
    says "?token=***&v=***"
    [[ $output != *s3cret* ]]
}

@test "eight at once on an empty cache fetch once" {
    from "$(base slow)"
    pids=
    for i in 1 2 3 4 5 6 7 8; do # two share a folder of results
        "$PIPELINE" fetch "$T/x.yaml" --out "$T/out$((i % 7))" --wait \
            >"$T/log$i" 2>&1 3>&- 8>&- &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid" || { cat "$T"/log*; false; }
    done
    [ "$(asked slow)" -eq 1 ]
    [ -z "$(ls "$T/cache/partial")" ]
    for i in 0 2 3 4 5 6; do
        cmp "$T/out1/x/get/files.json" "$T/out$i/x/get/files.json"
    done
}

@test "a cache that cannot be written, and a name that leaves the mirror" {
    from "$(base good)"
    : >"$T/file"
    PIPELINE_CACHE=$T/file fetch
    is_status 3
    says "$T/file"
    sed -i 's/path: x/path: ..\/x/' "$T/x.yaml"
    fetch
    is_status 2
    says "'../x.csv.gz' is no name below a mirror"
}
