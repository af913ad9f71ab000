load helper

# view WORD ...: starts a server on a free port; its address is in $url.
view() {
    "$PIPELINE" view --port=0 "$@" >"$T/said" 2>"$T/complained" 3>&- &
    server=$!
    for _ in $(seq 100); do
        grep -q 'Ctrl-C' "$T/said" && break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.05
    done
    url=$(grep -o 'http://127.0.0.1:[0-9]*' "$T/said" | head -1)
    [ -n "$url" ] || { cat "$T/complained"; return 1; }
}

# Ends the server by a signal and takes its exit status.
end_view() {
    [ -n "${server-}" ] || return 0
    kill "-${1:-INT}" "$server"
    status=0
    wait "$server" || status=$?
    server=
}

teardown() {
    [ -z "${server-}" ] || kill "$server" 2>/dev/null || true
    [ -z "${T-}" ] || rm -rf "$T"
}

# What a run leaves, in small.
results() {
    mkdir -p "$T/out/q3/profile/traces" "$T/out/q3/.runs" "$T/out/q4"
    echo 'name: q3' | tee "$T/out/q3/resolved.yaml" >"$T/out/q4/resolved.yaml"
    echo '<svg xmlns="http://www.w3.org/2000/svg"/>' >"$T/out/q3/profile/a.svg"
    echo 'a,b' >"$T/out/q3/profile/ops.csv"
    echo '<p>memory</p>' >"$T/out/q3/profile/memory.html"
    echo secret >"$T/out/q3/.runs/secret"
    echo secret >"$T/secret"
    ln -s "$T/secret" "$T/out/q3/link.txt"
    ln -s "$T" "$T/out/q3/up"
    cp tests/golden/trace-cpu.json \
        "$T/out/q3/profile/traces/adam_h=256_bs=32_trace.json"
    gzip -nc tests/golden/trace-gpu.json >"$T/out/q3/profile/traces/b_trace.json.gz"
}

# code ARGUMENT ...: the status of curl's request, "000" for none.
code() {
    curl -s -o /dev/null -w '%{http_code}' --path-as-is "$@" || true
}

# gives STATUS ARGUMENT ...
gives() {
    local got want=$1
    shift
    got=$(code "$@")
    [ "$got" = "$want" ] || {
        echo "$got, not $want: $*"
        return 1
    }
}

@test "view serves what is below its folder, with its type" {
    results
    view "$T/out"
    cd "$T/out"
    for file in q3/profile/a.svg q3/profile/ops.csv \
        q3/profile/traces/adam_h=256_bs=32_trace.json \
        q3/profile/traces/b_trace.json.gz; do
        curl -sf "$url/$file" | cmp - "$file"
    done
    curl -sf "$url/q3/profile/traces/adam_h%3D256_bs%3D32_trace.json" |
        cmp - q3/profile/traces/adam_h=256_bs=32_trace.json
    run curl -sI "$url/q3/profile/a.svg"
    says "200 OK"
    says "Content-Type: image/svg+xml"
    says "Cache-Control: no-store"
    run curl -si "$url/q3/profile/ops.csv"
    says "Content-Type: text/csv; charset=utf-8"
}

@test "view lets Perfetto's page fetch traces, and nothing else" {
    results
    view "$T/out"
    origin='Origin: https://ui.perfetto.dev'
    run curl -sI -H "$origin" "$url/q3/profile/traces/b_trace.json.gz"
    says "Access-Control-Allow-Origin: https://ui.perfetto.dev"
    says "Content-Type: application/gzip"
    [[ $output != *Content-Encoding* ]]
    run curl -sI -H "$origin" "$url/q3/profile/memory.html"
    says "200 OK"
    [[ $output != *Access-Control* ]]
    ask='Access-Control-Request-Private-Network: true'
    run curl -si -X OPTIONS -H "$origin" -H "$ask" "$url/q3"
    says "204 No Content"
    says "Access-Control-Allow-Private-Network: true"
    gives 405 -X OPTIONS -H 'Origin: https://evil.example' "$url/q3"
}

@test "view serves nothing outside, hidden, or behind a link" {
    results
    view "$T/out/q3"
    for path in /../secret /%2e%2e/secret /..%2fsecret //etc/passwd \
        /profile/../../../secret /.runs/secret /%2eruns/secret \
        /link.txt /up/secret /up/ /a%00b /profile%00 /% /none; do
        gives 404 "$url$path"
    done
    gives 200 "$url/"
    run curl -s "$url/"
    [[ $output != *secret* && $output != *link.txt* && $output != *runs* ]]
}

@test "view refuses other hosts and other methods" {
    results
    view "$T/out"
    port=${url##*:}
    gives 200 -H "Host: localhost:$port" "$url/"
    gives 403 -H 'Host: evil.example' "$url/"
    gives 403 -H "Host: evil.example:$port" "$url/"
    gives 403 -H 'Host: localhost' "$url/"
    gives 403 -0 -H 'Host:' "$url/"
    for method in POST PUT DELETE PATCH BREW; do
        gives 405 -X "$method" "$url/"
    done
    run curl -si -X DELETE "$url/q3/profile/a.svg"
    says "Allow: GET, HEAD"
    [ -e "$T/out/q3/profile/a.svg" ]
}

@test "view listens on the loopback address alone" {
    results
    view "$T/out"
    port=${url##*:}
    other=$(hostname -I 2>/dev/null | cut -d' ' -f1)
    [ -n "$other" ] || skip "this machine has no other address"
    gives 000 --max-time 5 -H "Host: 127.0.0.1:$port" "http://$other:$port/"
}

@test "view shows a page of a folder" {
    results
    view "$T/out"
    run curl -s "$url/"
    says '<a href="q3/">q3</a>'
    says '<a href="q4/">q4</a>'
    run curl -si "$url/q3"
    says "301 Moved Permanently"
    says "Location: /q3/"
    run curl -s "$url/q3/"
    says '<h2>profile/traces</h2>'
    says 'src="profile/a.svg" alt="a.svg"'
    says '<a href="profile/memory.html">memory.html</a>'
    says '<a href="profile/traces/adam_h=256_bs=32_trace.json">'
    says "fetches from port 9001 only"
    printf '' >"$T/out/q3/profile/<b>&\"x'.csv"
    run curl -s "$url/q3/"
    says '%3Cb%3E%26%22x%27.csv">&lt;b&gt;&amp;'
}

@test "view serves one file alone" {
    results
    view tests/golden/trace-gpu.json
    curl -sf "$url/trace-gpu.json" | cmp - tests/golden/trace-gpu.json
    gives 404 "$url/trace-cpu.json"
    run curl -s "$url/"
    says '<a href="trace-gpu.json">'
    [[ $output != *trace-cpu* ]]
}

@test "view shows a file that was replaced as it is now" {
    results
    view "$T/out"
    at=$url/q3/profile/ops.csv
    [ "$(curl -s "$at")" = a,b ]
    echo 'a,b,c' >"$T/new" && mv "$T/new" "$T/out/q3/profile/ops.csv"
    [ "$(curl -s "$at")" = a,b,c ]
    rm -r "$T/out/q3/profile"
    gives 404 "$at"
}

@test "view answers a hundred requests at once" {
    results
    head -c 2000000 /dev/urandom >"$T/out/q3/big.bin"
    view "$T/out"
    seq 100 | xargs -P 100 -I{} curl -sf -o "$T/got.{}" "$url/q3/big.bin"
    for i in $(seq 100); do
        cmp "$T/got.$i" "$T/out/q3/big.bin"
    done
    gives 200 "$url/"
}

@test "view tells who may have its port" {
    results
    view "$T/out"
    run pipeline view "$T/out" --port="${url##*:}"
    is_status 5
    says "port ${url##*:} of 127.0.0.1 is taken: choose another with --port"
    run pipeline view "$T/out" --port=70000
    is_status 2
    says "--port must be a number from 0 to 65535, not '70000'"
    run pipeline view "$T/none"
    is_status 2
    says "cannot open '$T/none': No such file or directory"
    run pipeline view a b
    is_status 2
    says "one path too many: 'b'"
}

@test "view prints the link to Perfetto, and the line for SSH" {
    cp tests/golden/trace-cpu.json "$T/h=1_trace.json"
    (
        export SSH_CONNECTION='10.0.0.1 50000 10.0.0.2 2222'
        exec "$PIPELINE" view "$T/h=1_trace.json" >"$T/said" 2>&1 3>&-
    ) &
    server=$!
    for _ in $(seq 100); do
        [ -s "$T/said" ] && break
        sleep 0.05
    done
    grep -q 'port 9001 of 127.0.0.1 is taken' "$T/said" &&
        skip "port 9001 is taken"
    run cat "$T/said"
    says "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/h%3D1_trace.json"
    says "ssh -L 9001:127.0.0.1:9001 -p 2222 "
    says "@10.0.0.2"
    run pipeline view "$T"
    is_status 5
    says "perhaps by another \`pipeline view\`"
}

@test "view ends at a signal, with its status" {
    results
    view "$T/out"
    end_view INT
    [ "$status" -eq 130 ]
    [ ! -s "$T/complained" ]
    view "$T/out"
    end_view TERM
    [ "$status" -eq 143 ]
    gives 000 "$url/"
}
