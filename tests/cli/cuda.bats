load helper

@test "a CUDA device trains" {
    blobs "$T/blobs.yaml"
    run pipeline run "$T/blobs.yaml" --out "$T/out" --device cuda
    if [ "$status" -eq 7 ] && [ "${REQUIRE_CUDA:-0}" != 1 ]; then
        skip "no CUDA device"
    fi
    is_status 0
    says "Using device: cuda"
}
