load ../cli/helper

# What a file system without room does to a run: an error, never a result.
@test "a disk that fills up at any point fails the run and harms nothing" {
    blobs "$T/blobs.yaml"
    for blocks in 1 2 4 8 16 32 64; do # of 512 bytes
        run sh -c 'ulimit -f "$1"; trap "" XFSZ; exec "$0" run \
            "$2/blobs.yaml" --out "$2/$1"' "$PIPELINE" "$blocks" "$T"
        [[ $status == 0 || $status == 3 ]]
        run pipeline run "$T/blobs.yaml" --out "$T/$blocks"
        is_status 0
    done
}

@test "a process that may have little memory fails with a sentence" {
    blobs "$T/blobs.yaml"
    for mib in 16 24 32 48 64 128 256; do
        run sh -c 'ulimit -v "$(($1 * 1024))"; exec "$0" run \
            "$2/blobs.yaml" --out "$2/$1"' "$PIPELINE" "$mib" "$T"
        [ "$status" -lt 128 ] || { echo "$mib MiB: $status"; false; }
    done
}
