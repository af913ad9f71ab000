load helper

@test "nothing is said when nothing is missing" {
    run tests/deps.sh build
    is_status 0
    [ -z "$output" ]
}

@test "without the rights the line to type is printed" {
    mkdir "$T/bin"
    for tool in sh cut sort tr env mktemp tail rm cat grep; do
        ln -s "$(command -v $tool)" "$T/bin/$tool"
    done
    printf '#!/bin/sh\necho 1000\n' >"$T/bin/id"
    printf '#!/bin/sh\nexit 1\n' >"$T/bin/apt-get"
    chmod +x "$T/bin/id" "$T/bin/apt-get"
    run env PATH="$T/bin" CC=cc tests/deps.sh build
    is_status 1
    says "apt-get install -y --no-install-recommends gcc"
    says "libyaml-dev"
    rm "$T/bin/apt-get"
    run env PATH="$T/bin" CC=cc tests/deps.sh build
    is_status 1
    says "Debian's names"
}
