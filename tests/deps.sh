#!/bin/sh
# tests/deps.sh build|test|check
#
# Sees to it that what the make target needs is there: nothing to do, it says
# nothing; as root or with sudo on Debian it installs what is missing; else it
# prints the line to type and fails. Headers are asked of the compiler, so that
# libraries outside /usr count.
set -eu
CC=${CC:-cc}

# "header package", for the compiler; "program package", for PATH.
headers='yaml.h libyaml-dev
curl/curl.h libcurl4-openssl-dev
zlib.h zlib1g-dev
openssl/evp.h libssl-dev
jansson.h libjansson-dev
microhttpd.h libmicrohttpd-dev
stdio.h libc6-dev'
programs=''
test_headers='cmocka.h libcmocka-dev'
test_programs='prove perl
bats bats'
check_programs='clang clang
clang-format clang-format
clang-tidy clang-tidy
ctags universal-ctags
xmllint libxml2-utils
valgrind valgrind'

case ${1-} in
build) ;;
test)
    headers="$headers
$test_headers"
    programs=$test_programs
    ;;
check)
    headers="$headers
$test_headers"
    programs="$test_programs
$check_programs"
    ;;
*)
    echo "usage: tests/deps.sh build|test|check" >&2
    exit 2
    ;;
esac

has() {
    command -v "$1" >/dev/null 2>&1
}

# Packages of the headers that are not there. Without a compiler: all of them.
missing_headers() {
    if ! has "${CC%% *}"; then
        case $CC in
        clang*) echo clang ;;
        *) echo gcc ;;
        esac
        echo "$headers" | cut -d' ' -f2
        return
    fi
    echo "$headers" | while read -r header package; do
        printf '#if !__has_include(<%s>)\n%s\n#endif\n' "$header" "$package"
    done | $CC -E -P -x c - | grep . || true
}

missing_programs() {
    echo "$programs" | while read -r program package; do
        [ -z "$program" ] || has "$program" || echo "$package"
    done
}

# The sanitizers and fuzzers of clang are a package apart, named by version.
missing_runtime() {
    [ "$1" = check ] || return 0
    if has clang; then
        dir=$(clang -print-resource-dir)
        set -- "$dir"/lib/*/libclang_rt.fuzzer-*.a
        [ ! -e "$1" ] || return 0
    fi
    echo libclang-rt-dev
}

by_hand() {
    echo "missing: $missing" >&2
    if has apt-get; then
        root=''
        ! has sudo || root='sudo '
        echo "to install them, type (as root, or with sudo):" >&2
        echo "    ${root}apt-get update && ${root}apt-get install -y" \
            "--no-install-recommends $missing" >&2
    else
        echo "those are Debian's names: install what your system calls" \
            "them, then try again" >&2
    fi
    exit 1
}

# apt ARGUMENTS: apt-get as root, or through sudo.
apt() {
    set -- env DEBIAN_FRONTEND=noninteractive apt-get "$@"
    [ "$(id -u)" -eq 0 ] || set -- sudo "$@"
    "$@"
}

# shellcheck disable=SC2086 # one word a package
install_missing() {
    apt install -y --no-install-recommends $missing
}

# Sets missing, and says whether nothing is.
complete() {
    missing=$({
        missing_headers
        missing_programs
        missing_runtime "$1"
    } | sort -u | tr '\n' ' ')
    missing=${missing% }
    [ -z "$missing" ]
}

complete "$1" && exit

has apt-get || by_hand
if [ "$(id -u)" -ne 0 ]; then
    has sudo || by_hand
    [ -t 0 ] || sudo -n true 2>/dev/null || by_hand
fi

echo "installing: $missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The lists of packages may be absent (a new container) or too old.
install_missing >"$log" 2>&1 ||
    { apt update && install_missing; } >"$log" 2>&1 || {
    tail -5 "$log" >&2
    by_hand
}
complete "$1" || by_hand
