load helper

# Downloads from a server as it is met outside: nginx on a port of loopback,
# everything it writes below $T.

setup() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    PATH=$PATH:/usr/sbin:/sbin
    command -v nginx >/dev/null ||
        skip "no nginx (Debian: nginx-light): downloads not tried against it"
    PIPELINE=$(realpath "${PIPELINE:-build/release/bin/pipeline}")
    T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-cli.XXXXXX")
    export PIPELINE_CACHE=$T/cache NO_COLOR=1 LC_ALL=C.UTF-8
    unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY \
        CURL_CA_BUNDLE SSL_CERT_FILE PIPELINE_MIRROR
    export no_proxy=127.0.0.1
    mkdir "$T/www" "$T/tmp"
    chmod 755 "$T" "$T/www"
    seq 1 100000 | sed '1i y' >"$T/www/train.csv"
    gzip -n <"$T/www/train.csv" >"$T/www/x.csv.gz"
    cp "$T/www/x.csv.gz" "$T/www/plain.csv.gz"
    start_nginx
}

teardown() {
    [ ! -s "${T-}/nginx.pid" ] || kill "$(cat "$T/nginx.pid")"
    [ -z "${T-}" ] || rm -rf "$T"
}

# A port may be taken: another try, another port.
start_nginx() {
    for _ in 1 2 3 4 5 6 7 8; do
        PORT=$((20000 + RANDOM % 20000))
        config >"$T/nginx.conf"
        if nginx -p "$T" -c "$T/nginx.conf" 2>"$T/error.log" 3>&-; then
            URL=http://127.0.0.1:$PORT
            return
        fi
    done
    cat "$T/error.log"
    return 1
}

config() {
    [ "$(id -u)" -ne 0 ] || echo "user root;"
    cat <<CONF
worker_processes 1;
pid $T/nginx.pid;
error_log $T/error.log;
events {}
http {
    log_format short '\$uri \$status \$http_range \$body_bytes_sent';
    access_log $T/access.log short;
    client_body_temp_path $T/tmp/body;
    proxy_temp_path $T/tmp/proxy;
    fastcgi_temp_path $T/tmp/fastcgi;
    uwsgi_temp_path $T/tmp/uwsgi;
    scgi_temp_path $T/tmp/scgi;
    server {
        listen 127.0.0.1:$PORT;
        root $T/www;
        gzip on;
        gzip_types *;
        gzip_min_length 1;
        location /slow/ { alias $T/www/; limit_rate 60k; }
        location /coded/ { alias $T/www/; add_header Content-Encoding gzip; }
        location /moved/ { return 302 /; }
        location /away/ { rewrite ^/away/(.*) /\$1 permanent; }
    }
}
CONF
}

# from MIRROR [FILE]: an experiment that fetches the file, known by its hash.
from() {
    file=${2:-x.csv.gz}
    cat >"$T/x.yaml" <<YAML
version: 1
name: x
datasets:
  d:
    type: csv
    target: y
    mirrors: ["$1"]
    files:
      train:
        path: $file
        sha256: $(sha256sum <"$T/www/$file" | cut -d' ' -f1)
        sha256_unpacked: $(sha256sum <"$T/www/train.csv" | cut -d' ' -f1)
stages:
  get: {uses: fetch, with: {dataset: d, retries: 0}}
YAML
}

fetch() {
    run pipeline run "$T/x.yaml" --out "$T/out" "$@"
}

# The contents lie in the cache under their name.
arrived() {
    is_status 0
    cmp "$T"/cache/sha256/*/"$(sha256sum <"$T/www/train.csv" | cut -d' ' -f1)" \
        "$T/www/train.csv"
}

@test "a plain download" {
    from "$URL"
    fetch
    arrived
    [ "$(cat "$T/access.log")" = \
        "/x.csv.gz 200 - $(wc -c <"$T/www/x.csv.gz")" ]
}

@test "a killed transfer goes on with a real Range" {
    from "$URL/slow"
    "$PIPELINE" run "$T/x.yaml" --out "$T/out" >"$T/log" 2>&1 3>&- &
    pid=$!
    for _ in $(seq 500); do
        found=$(find "$T/cache" -name '*.part' -size +8k 2>/dev/null) || true
        [ -z "$found" ] || break
        sleep 0.01
    done
    kill -KILL $pid
    wait $pid || true
    had=$(stat -c %s "$T"/cache/partial/*.part)
    [ "$had" -gt 8000 ]
    [ "$had" -lt "$(wc -c <"$T/www/x.csv.gz")" ]
    from "$URL" # another mirror: the hash says that it is the same file
    fetch
    arrived
    tail -1 "$T/access.log" | grep -qx "/x.csv.gz 206 bytes=$had- \
$(($(wc -c <"$T/www/x.csv.gz") - had))"
}

@test "a .gz that is called an encoding is unpacked once" {
    from "$URL/coded"
    fetch
    arrived
}

@test "a text that the server could compress arrives as it is" {
    from "$URL" train.csv
    fetch
    arrived
    says "train.csv from $URL ($(wc -c <"$T/www/train.csv") bytes)"
}

@test "404, a redirect, and a redirect to a page" {
    from "$URL/none"
    fetch
    is_status 4
    says "  $URL/none: HTTP 404"
    from "$URL/moved"
    fetch
    is_status 4
    says "  $URL/moved: HTTP 403"
    from "$URL/away"
    fetch
    arrived
}
