load helper

# Own operators, and blobs trained with them and with the built-in ones.
own() {
    cat >"$1" <<'YAML'
version: 1
name: own
operators:
  my_linear:
    forward: "y = x @ transpose(W) + b"
    backward: "dx = g @ W; dW = transpose(g) @ x; db = sum(g, 0)"
    same_as: linear
  my_relu:
    forward: y = relu(x)
    backward: |
      dx = g * step(x)
    same_as: relu
  my_cross_entropy:
    forward: "y = -sum(one_hot(t, x) * log_softmax(x), 1)"
    backward: "dx = unsqueeze(g, 1) * (softmax(x) - one_hot(t, x))"
    same_as: cross_entropy
  unused: {forward: y = tanh(x), backward: dx = g * (1 - y**2)}
datasets:
  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 600, n_test: 300}
models:
  own: {layers: [{type: my_linear, out: 16}, my_relu, {type: my_linear, out: 3}]}
  mlp: {layers: [{type: linear, out: 16}, relu, {type: linear, out: 3}]}
defaults: {dataset: blobs, batch_size: 32, epochs: 3, lr: 0.01, optimizer: adam}
stages:
  check: {uses: autograd, with: {operators: own}}
  train: {uses: train, with: {model: own, loss: my_cross_entropy}}
  evaluate: {uses: evaluate, with: {from: train}}
  reference: {uses: train, with: {model: mlp}}
YAML
}

metric() {
    sed -n "s/.*\"$2\": *\([-0-9.e]*\).*/\1/p" "$T/out/own/$1/metrics.json"
}

@test "own operators are checked, train and are evaluated" {
    own "$T/own.yaml"
    run pipeline run "$T/own.yaml" --out "$T/out"
    is_status 0
    says "my_linear            ✔ dx "
    says "✔ same_as  cross_entropy"
    says "4 of 4 operators hold"
    [[ $output != *✘* ]]
    grep -q '| my_linear .*| dW .*| ✔' "$T/out/own/check/operators.md"
    [ "$(metric check operators.failed)" = 0 ]
    [ "$(metric check operators.passed)" = 4 ]
    [ -n "$(metric check operators.my_relu.gradcheck)" ]
    [ -n "$(metric check operators.my_relu.allclose)" ]
    awk -v a="$(metric train test.accuracy)" -v b="$(metric reference \
        test.accuracy)" -v c="$(metric evaluate accuracy)" 'BEGIN {
        print a, b, c
        exit !(a > 0.9 && a == c && a - b < 0.01 && b - a < 0.01) }'
}

@test "the same bits with one thread and with two" {
    own "$T/own.yaml"
    pipeline run -q "$T/own.yaml" --only train --threads 1 --out "$T/one"
    pipeline run -q "$T/own.yaml" --only train --threads 2 --out "$T/two"
    diff <(bits "$T/one/own/train") <(bits "$T/two/own/train")
}

@test "a wrong backward does not train, unless it says so" {
    own "$T/own.yaml"
    sed -i 's/dx = g \* step(x)/dx = -g * step(x)/' "$T/own.yaml"
    run pipeline run "$T/own.yaml" --only train --out "$T/out"
    is_status 3
    says "own.yaml:9:5: error: stage 'train': operator my_relu does"
    says "not hold: dx["
    says "by differences"
    [ ! -e "$T/out/own/train/checkpoints" ]
    run pipeline run "$T/own.yaml" operators.my_relu.check=false --only train \
        --out "$T/out"
    is_status 0
    says "warning: operator my_relu does not hold: dx["
    run pipeline run "$T/own.yaml" --only check --out "$T/out"
    is_status 0
    says "my_relu              ✘ dx "
    says "3 of 4 operators hold"
    [ "$(metric check operators.failed)" = 1 ]
}

@test "a changed operator runs again what uses it, and nothing else" {
    own "$T/own.yaml"
    pipeline run -q "$T/own.yaml" --out "$T/out"
    run pipeline run "$T/own.yaml" --out "$T/out" \
        "operators.my_relu.forward=y = maximum(x, 0)"
    is_status 0
    says "run         check  (operators.my_relu.forward y = relu(x) -> y = max"
    says "run         train  (operators.my_relu.forward y = relu(x) -> y = max"
    says "up to date  reference"
    pipeline run -q "$T/own.yaml" --out "$T/out"
    run pipeline plan "$T/own.yaml" --out "$T/out" \
        "operators.unused.backward=dx = g - g * y * y"
    is_status 0
    says "run         check  (operators.unused.backward"
    says "up to date  train"
    says "up to date  evaluate"
    run pipeline run "$T/out/own/resolved.yaml" --out "$T/out"
    is_status 0
    says "0 run, 4 up to date"
}

@test "a checkpoint of own layers fills a model of built-in ones" {
    own "$T/own.yaml"
    pipeline run -q "$T/own.yaml" --only train --out "$T/out"
    from=$T/out/own/train/checkpoints/last.safetensors
    grep -aq '"0.weight"' "$from"
    grep -aq '"2.bias"' "$from"
    sed -i 's/^name: own/name: next/' "$T/own.yaml"
    run pipeline run "$T/own.yaml" --only reference --out "$T/out" \
        "stages.reference.with.init_from=$from" defaults.epochs=1 \
        defaults.lr=1e-9
    is_status 0
    a=$(metric train test.accuracy)
    grep -q "\"test.accuracy\": *$a" "$T/out/next/reference/metrics.json"
}

@test "a run that is stopped goes on to the same bits" {
    own "$T/own.yaml"
    pipeline run -q "$T/own.yaml" --only train --out "$T/whole" \
        defaults.epochs=4
    pipeline run -q "$T/own.yaml" --only train --out "$T/parts" \
        defaults.epochs=2
    run pipeline run "$T/own.yaml" --only train --out "$T/parts" \
        defaults.epochs=4
    is_status 0
    says "resuming at epoch 3"
    cmp "$T/whole/own/train/checkpoints/last.safetensors" \
        "$T/parts/own/train/checkpoints/last.safetensors"
}

@test "an error while it runs has its place in the program" {
    own "$T/own.yaml"
    sed -i 's/y = relu(x)/y = x @ x/' "$T/own.yaml"
    run pipeline run "$T/own.yaml" --only train --out "$T/out"
    is_status 3
    says "own.yaml:9:20: error: stage 'train': @ cannot multiply"
}

@test "configs/own-operators.yaml finds what is wrong on purpose" {
    run pipeline run configs/own-operators.yaml --only check --only wrong \
        --out "$T/out"
    is_status 0
    says "3 of 3 operators hold"
    says "0 of 3 operators hold"
    says "dW is (4, 2); W is (2, 4)"
    says "points: 30 of 30"
}
