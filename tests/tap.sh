# Sourced by tests that are shell scripts: a rule holds when its command prints
# nothing; what it prints is the complaint.
rules=0
broken=0

rule() {
    name=$1
    shift
    rules=$((rules + 1))
    found=$("$@" 2>&1)
    if [ -z "$found" ]; then
        echo "ok $rules - $name"
    else
        broken=1
        echo "not ok $rules - $name"
        echo "$found" | sed 's/^/#   /'
    fi
}

rules_end() {
    echo "1..$rules"
    exit $broken
}

# Every source file of ours, or those below the folders given.
sources() {
    [ $# -gt 0 ] || set -- cmd pipeline nn cuda examples tests
    for dir; do
        [ ! -d "$dir" ] || find "$dir" -name '*.[ch]' -o -name '*.cu' \
            -o -name '*.cuh'
    done | sort
}
