load helper

@test "q2 trains MNIST past 97 % and is up to date at once" {
    begin=$(date +%s%N)
    run pipeline run configs/q2.yaml --out "$T/out"
    echo "trained in $((($(date +%s%N) - begin) / 1000000)) ms"
    is_status 0
    grep -q '"test.accuracy": *0\.9[789]' "$T/out/q2/train/metrics.json"
    begin=$(date +%s%N)
    run pipeline run configs/q2.yaml --out "$T/out"
    ms=$((($(date +%s%N) - begin) / 1000000))
    is_status 0
    says "0 run"
    [ "$ms" -lt 1000 ] || { echo "up to date took $ms ms"; false; }
}

@test "q1 counts 50,890 parameters" {
    run pipeline run configs/q1.yaml --out "$T/out"
    is_status 0
    says "50,890"
    says "203,560"
    says "198.79 KiB"
}

@test "every operator agrees with differences and with PyTorch" {
    run pipeline run configs/operators.yaml --out "$T/out"
    is_status 0
    says "gradcheck"
    says "float64"
    [[ $output != *✘* ]]
}

@test "own operators train MNIST past 97 %, as the built-in ones do" {
    run pipeline run -q configs/own-operators.yaml --out "$T/out"
    is_status 0
    says "points: 50 of 50"
}

@test "every shipped config is without mistakes" {
    run pipeline check configs/*.yaml
    is_status 0
}
