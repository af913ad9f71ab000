load helper

# sweep FILE: two cells, and what needs them.
sweep() {
    blobs "$1"
    sed -i 's/^name: blobs/name: sweep/' "$1"
    cat >>"$1" <<'YAML'
  step:
    uses: train
    matrix: {batch_size: [64, 128], lr: [0.1]}
    with:
      {dataset: blobs, model: mlp, epochs: 1, optimizer: sgd,
       init_from: "${stages.train.dir}/checkpoints/last.safetensors"}
    expect:
      - {file: curve.csv, column: lr, eq: "${matrix.lr}", points: 1}
      - {file: curve.csv, column: step, order: increasing, points: 1}
YAML
}

@test "cells run in order, each in a folder of its own" {
    sweep "$T/sweep.yaml"
    run pipeline run "$T/sweep.yaml" --out "$T/out"
    is_status 0
    says "step@batch_size=64,lr=0.1"
    [ -f "$T/out/sweep/step/batch_size=128,lr=0.1/metrics.json" ]
    run pipeline plan --check "$T/sweep.yaml" --out "$T/out"
    is_status 0
}

@test "a value more is a cell more, and the others stay" {
    sweep "$T/sweep.yaml"
    pipeline run -q "$T/sweep.yaml" --out "$T/out"
    run pipeline plan "$T/sweep.yaml" --out "$T/out" \
        'stages.step.matrix.batch_size=[64, 128, 256]'
    is_status 0
    [ "$(grep -c '^up to date' <<<"$output")" -eq 4 ]
    [ "$(grep -c '^run' <<<"$output")" -eq 1 ]
    run pipeline plan "$T/sweep.yaml" --out "$T/out" --only 'step@*' lr=0.5
    says "step@batch_size=128,lr=0.1"
}

@test "the folder of a stage is not a part of what its results hang on" {
    sweep "$T/sweep.yaml"
    (cd "$T" && "$PIPELINE" run -q sweep.yaml)
    mv "$T/out" "$T/elsewhere"
    run pipeline plan --check "$T/sweep.yaml" --out "$T/elsewhere"
    is_status 0
    rm "$T/elsewhere/sweep/train/checkpoints/last.safetensors"
    run pipeline plan --check "$T/sweep.yaml" --out "$T/elsewhere"
    is_status 6
}

@test "results are shared with the file that is imported" {
    sweep "$T/sweep.yaml"
    cat >"$T/exam.yaml" <<'YAML'
version: 1
name: exam
imports: {s: sweep.yaml}
stages:
  again: {uses: evaluate, with: {from: "s/step@batch_size=64,lr=0.1"}, needs: s/step}
YAML
    run pipeline run "$T/exam.yaml" --out "$T/out"
    is_status 0
    says "s/step@batch_size=64,lr=0.1"
    run pipeline plan --check "$T/sweep.yaml" --out "$T/out"
    is_status 0
    pipeline run -q "$T/sweep.yaml" --out "$T/out" --force
    run pipeline plan --check "$T/exam.yaml" --out "$T/out"
    is_status 0
    run pipeline run "$T/out/exam/resolved.yaml" --out "$T/out" --check
    is_status 0
}

@test "a run locks the folders of the files that it imports" {
    sweep "$T/sweep.yaml"
    printf 'version: 1\nname: exam\nimports: {s: sweep.yaml}\n' >"$T/exam.yaml"
    mkdir -p "$T/out/sweep"
    exec 7>>"$T/out/sweep/.lock"
    flock -n 7
    run pipeline run "$T/exam.yaml" --out "$T/out"
    is_status 5
    exec 7>&-
}

@test "an untrusted file is refused what a trusted one may do" {
    blobs "$T/a.yaml"
    run pipeline check "$T/a.yaml" 'lr=${env.HOME}'
    is_status 2
    printf 'vars: {note: "${env.HOME}"}\n' >"$T/b.yaml"
    sed -i 's/^name: blobs/&\nextends: b.yaml/' "$T/a.yaml"
    run pipeline check "$T/a.yaml"
    is_status 0
    run pipeline check --untrusted "$T/a.yaml"
    is_status 2
    says "a mistake, or what an untrusted file may not ask for"
}
