load ../cli/helper

# The plug-in that nvcc built, on a machine without a GPU. PLUGIN is its folder,
# the program beside it.

setup_file() {
    [ -n "${PLUGIN-}" ] || skip "PLUGIN names no folder"
    [ ! -e /dev/nvidiactl ] || skip "there is a driver"
}

program() {
    env -u LD_LIBRARY_PATH "$PLUGIN/pipeline" "$@"
}

# A library of the driver's name that is none: enough for the plug-in to be
# opened, and for NVIDIA's own runtime to look.
no_driver() {
    mkdir "$T/driver"
    echo 'extern int nothing;' | ${CC:-cc} -shared -fPIC -x c - \
        -Wl,-soname,libcuda.so.1 -o "$T/driver/libcuda.so.1"
}

@test "the plug-in is loaded and says that there is no driver" {
    no_driver
    blobs "$T/blobs.yaml"
    run env LD_LIBRARY_PATH="$T/driver" LD_DEBUG=files "$PLUGIN/pipeline" \
        run "$T/blobs.yaml" --out "$T/out" --device cuda
    is_status 7
    says "error: device cuda:0: no NVIDIA driver"
    says "calling init: "
    says "libpipeline_cuda.so"
    [ ! -e "$T/out/blobs" ]
}

@test "auto goes on with the CPU" {
    no_driver
    blobs "$T/blobs.yaml"
    run env LD_LIBRARY_PATH="$T/driver" "$PLUGIN/pipeline" \
        run "$T/blobs.yaml" --out "$T/out"
    is_status 0
    says "Using device: cpu (no NVIDIA driver)"
}

@test "without a driver's library the plug-in is not even opened" {
    blobs "$T/blobs.yaml"
    run env LD_DEBUG=files "$PLUGIN/pipeline" run "$T/blobs.yaml" \
        --out "$T/out" --device cuda
    is_status 7
    says "no NVIDIA driver (libcuda.so.1)"
    [[ $output != *libpipeline_cuda* ]]
}

@test "the doctor knows the plug-in" {
    run program doctor
    says "plug-in  "
    says "libpipeline_cuda.so"
    says "auto     cpu"
}
