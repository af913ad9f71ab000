load helper

@test "doctor says what there is, and always ends well" {
    run --separate-stderr pipeline doctor
    is_status 0
    for word in program CPU memory cache plug-in driver GPU auto; do
        [[ $'\n'$output == *$'\n'"$word "* ]] || {
            echo "no line for $word"
            echo "$output"
            return 1
        }
    done
    says "pipeline $(pipeline version | cut -d' ' -f2)"
    says "$T/cache (not there yet)"
    [ -z "$stderr" ]
}

@test "doctor names the device that auto takes" {
    blobs "$T/blobs.yaml"
    auto=$(pipeline doctor | sed -n 's/^auto *//p')
    run pipeline run "$T/blobs.yaml" --out "$T/out"
    says "Using device: $auto"
}

@test "doctor tells why the plug-in does not load" {
    mkdir "$T/lib"
    echo "no library" >"$T/lib/libpipeline_cuda.so"
    LD_LIBRARY_PATH=$T/lib run pipeline doctor
    is_status 0
    says "plug-in  does not load: $T/lib/libpipeline_cuda.so"
}

@test "doctor tells a cache that cannot be written" {
    [ "$(id -u)" -ne 0 ] || skip "root may write anywhere"
    PIPELINE_CACHE=/proc/none run pipeline doctor
    is_status 0
    says "/proc/none (not writable)"
}

@test "doctor works without any home" {
    run env -u HOME -u XDG_CACHE_HOME -u PIPELINE_CACHE "$PIPELINE" doctor
    is_status 0
    says "cache    none: no folder for downloads"
    run env -u HOME -u XDG_CACHE_HOME -u PIPELINE_CACHE "$PIPELINE" doctor \
        --json
    is_status 0
    says '"cache": {"path": null'
}

@test "doctor --json is one JSON object with the same answer" {
    pipeline doctor --json >"$T/doctor.json"
    python3 - "$T/doctor.json" <<'PY' || command -v python3 >/dev/null ||
import json, sys
d = json.load(open(sys.argv[1]))
assert d["cpu"]["cores"] >= 1 and d["cpu"]["isa"]
assert d["auto"]["device"] in ("cpu", "cuda")
assert d["auto"]["why"].startswith(d["auto"]["device"])
assert isinstance(d["gpus"], list)
assert set(d["plugin"]) == {"found", "loads", "path", "error"}
PY
        skip "no Python"
}

@test "doctor takes no word and no option of others" {
    run pipeline doctor mine.yaml
    is_status 2
    says "takes no word"
    run pipeline doctor --device cpu
    is_status 2
}
