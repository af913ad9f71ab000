load helper

# Under a sanitizer the program is linked elsewhere and by other flags: the
# build folder is that of PIPELINE, and it is not built anew.
built() {
    local b=${PIPELINE%/bin/pipeline}
    make "$@" B="${b#"$PWD/"}" -o all PREFIX=/usr DESTDIR="$T/root"
}

@test "an installed program runs an installed config" {
    run built install
    is_status 0
    cd "$T"
    run "$T/root/usr/bin/pipeline" check "$T"/root/usr/share/pipeline/configs/*.yaml
    is_status 0
    run "$T/root/usr/bin/pipeline" run --only 'fetch-mnist' --out "$T/out" \
        "$T/root/usr/share/pipeline/configs/q2.yaml"
    is_status 0
}

@test "uninstall leaves nothing" {
    built install
    built uninstall
    ! find "$T/root" -type f | grep .
}
