load helper
load crash

# Nothing left to work with: files, disk, cache; and many at once.

@test "eight processes fill one empty cache" {
    three
    for i in 1 2 3 4 5 6 7 8; do
        "$PIPELINE" fetch "$T/three.yaml" --out "$T/out$i" >"$T/log$i" 2>&1 \
            3>&- &
        pids="${pids-} $!"
    done
    for pid in $pids; do
        wait "$pid"
    done
    [ "$(find "$T/cache" -type f | wc -l)" -eq 1 ]
    [ "$(cat "$T"/out*/three/fetch-points/files.json | sort -u | wc -l)" -eq \
        "$(sort -u "$T/out1/three/fetch-points/files.json" | wc -l)" ]
}

@test "a process that may open few files fails with a sentence" {
    three
    unbroken_run
    for n in 6 7 8 9 10; do
        run bash -c 'ulimit -n "$1"; exec "$0" run "$2/three.yaml" \
            --out "$2/out" --threads 1' "$PIPELINE" "$n" "$T"
        [[ $status == 0 || $status == 2 || $status == 3 || $status == 4 ]]
        [ "$status" -eq 0 ] || says "error"
        [ "$status" -eq 0 ] || says "Too many open files"
        goes_on "with $n files"
        forget
    done
}

@test "a cache that cannot be written fails the download" {
    three
    : >"$T/file"
    for cache in /proc/cache "$T/file/cache"; do
        PIPELINE_CACHE=$cache run pipeline run "$T/three.yaml" --out "$T/out"
        is_status 3
        says "error: "
        says "$cache"
    done
    three_run
}

# on_small_disk SIZE: $T/disk is a file system of that size; skips where that
# cannot be had.
on_small_disk() {
    mkdir -p "$T/disk"
    mount -t tmpfs -o size="$1" tmpfs "$T/disk" 2>/dev/null ||
        skip "only root may mount a small file system"
}

teardown() {
    ! mountpoint -q "$T/disk" || umount "$T/disk"
    [ -z "${T-}" ] || rm -rf "$T"
}

@test "a full disk fails the run, and what was good stays good" {
    three
    unbroken_run
    for size in 8k 16k 32k 64k; do
        on_small_disk $size
        run pipeline run "$T/three.yaml" --out "$T/disk/out"
        [[ $status == 0 || $status == 3 ]]
        [ "$status" -eq 0 ] || says "No space left on device"
        mount -o remount,size=4m "$T/disk"
        run pipeline run "$T/three.yaml" --out "$T/disk/out"
        is_status 0
        [ "$unbroken" = "$(bits "$T/disk/out/three")" ]
        # The next run finds the disk full: the last one's results stand.
        kept=$(bits "$T/disk/out/three")
        head -c 4m /dev/zero >"$T/disk/fill" 2>/dev/null || true
        run pipeline run "$T/three.yaml" --out "$T/disk/out" \
            stages.train.with.epochs=4
        is_status 3
        says "No space left on device"
        rm "$T/disk/fill"
        run pipeline run "$T/three.yaml" --out "$T/disk/out"
        is_status 0
        [ "$kept" = "$(bits "$T/disk/out/three")" ]
        umount "$T/disk"
    done
}

@test "the folder of the file stays as it is, and may be read-only" {
    three
    mkdir "$T/source" "$T/work"
    cp "$T/three.yaml" "$T/points.csv" "$T/source"
    chmod -R a-w "$T/source"
    before=$(find "$T/source" -printf '%p %T@ %C@\n' | sort)
    cd "$T/work"
    run pipeline run ../source/three.yaml
    is_status 0
    run pipeline plan "$T/source/three.yaml" --check
    is_status 0
    [ "$before" = "$(find "$T/source" -printf '%p %T@ %C@\n' | sort)" ]
    chmod -R u+w "$T/source"
}
