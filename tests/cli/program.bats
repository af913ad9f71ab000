load helper

# program: a stage with the forms of one loss, where some of them break.
program() {
    cat >"$T/loss.yaml" <<'YAML'
version: 1
name: loss
stages:
  p:
    uses: autograd
    with:
      tensors:
        z: [-inf, -800, 0, 40, inf, nan]
        s: {linspace: [0, 800, 5]}
        W: {ones: [2, 3]}
      program: |
        stable = maximum(z, 0) + log1p(exp(-abs(z))); one = 1
        naive = -log(1 - sigmoid(z))
        wide = log(1 + exp(s)); two = s[1:3]
      table: [z, stable, {name: naive, as: "-log(1 - |p|)"}, one]
      plots:
        losses: {x: s, y: [{name: wide, as: log(1 + exp)}, one], y_label: loss}
YAML
}

@test "a program's table is said and written, with inf and nan as words" {
    program
    run pipeline run "$T/loss.yaml" --out "$T/out"
    is_status 0
    says "   z     stable  -log(1 - |p|)  one
-inf          0              0    1
-800          0              0    1
   0  0.6931472      0.6931472    1
  40         40            inf    1
 inf        inf            inf    1
 nan        nan            nan    1"
    diff - "$T/out/loss/p/table.md" <<'MD'
|    z |    stable | -log(1 - \|p\|) | one |
|-----:|----------:|----------------:|----:|
| -inf |         0 |               0 |   1 |
| -800 |         0 |               0 |   1 |
|    0 | 0.6931472 |       0.6931472 |   1 |
|   40 |        40 |             inf |   1 |
|  inf |       inf |             inf |   1 |
|  nan |       nan |             nan |   1 |
MD
    grep -qx 'nan,nan,nan,1' "$T/out/loss/p/table.csv"
}

@test "values that are not finite are null in values.json" {
    program
    run pipeline run "$T/loss.yaml" --out "$T/out"
    is_status 0
    v=$T/out/loss/p/values.json
    grep -q '"z.0": null' "$v"
    grep -q '"z.5": null' "$v"
    grep -q '"naive.3": null' "$v"
    grep -q '"z.1": -800' "$v"
    ! grep -Eiq ': *[-+"]*(inf|nan)' "$v"
}

@test "a plot crosses out what is not finite" {
    program
    run pipeline run "$T/loss.yaml" --out "$T/out"
    is_status 0
    svg=$T/out/loss/p/losses.svg
    grep -q '>inf or nan<' "$svg"
    grep -q '>log(1 + exp)<' "$svg"
    grep -q '>loss<' "$svg"
    grep -q 'prefers-color-scheme:dark' "$svg"
    # wide is inf at 800 alone; one is finite: two crosses with the legend's.
    [ "$(grep -c 'm-3.5,-3.5' "$svg")" -eq 2 ]
}

@test "columns that do not fit have their place in the message" {
    program
    sed 's/table: .*/table: [one, z, two]/' "$T/loss.yaml" >"$T/a.yaml"
    run pipeline run "$T/a.yaml" --out "$T/out"
    is_status 3
    says "a.yaml:15:23: error: stage 'p': two has 2 numbers, and z beside it 6"
    sed 's/table: .*/table: [one, W]/' "$T/loss.yaml" >"$T/b.yaml"
    run pipeline run "$T/b.yaml" --out "$T/out"
    is_status 3
    says "b.yaml:15:20: error: stage 'p': a column is a vector or a number; W is (2, 3)"
    sed 's/x: s, y: .*/x: s, y: [one, z]}/' "$T/loss.yaml" >"$T/c.yaml"
    run pipeline run "$T/c.yaml" --out "$T/out"
    is_status 3
    says "c.yaml:17:33: error: stage 'p': z has 6 numbers, and s beside it 5"
}

@test "resolved.yaml has the tables and plots, and runs again" {
    program
    run pipeline run "$T/loss.yaml" --out "$T/out"
    is_status 0
    cp "$T/out/loss/resolved.yaml" "$T/again.yaml"
    run pipeline run "$T/again.yaml" --out "$T/out2"
    is_status 0
    cmp "$T/out/loss/p/table.md" "$T/out2/loss/p/table.md"
    cmp "$T/out/loss/p/losses.svg" "$T/out2/loss/p/losses.svg"
}

@test "a program of 10,000 statements runs in no time" {
    {
        printf 'version: 1\nname: long\nstages:\n  p:\n    uses: autograd\n'
        printf '    with:\n      tensors: {x: {value: 1, requires_grad: true}}\n'
        printf '      program: |\n        v0 = x\n'
        for i in $(seq 1 9998); do
            printf '        v%d = v%d + 1\n' "$i" $((i - 1))
        done
        printf '        backward(v9998)\n'
    } >"$T/long.yaml"
    # Well under a second; the rest is for sanitizers and busy machines.
    run timeout 20 "$PIPELINE" run "$T/long.yaml" --out "$T/out"
    is_status 0
    grep -q '"v9998": 9999' "$T/out/long/p/values.json"
}
