#!/bin/sh
# tests/mutation.sh: every backward rule with a sign flipped, a term dropped or
# operands swapped must make test_gradcheck fail. A mutant is one source built
# with one change and linked before libnn.a of the build folder B. TAP.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${B:-build/release}
T=$(mktemp -d "${TMPDIR:-/tmp}/pipeline-mutants.XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
n=0
broken=0

verdict() {
    n=$((n + 1))
    if [ "$1" = caught ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2: $1"
        broken=1
    fi
}

# build FILE: what test_gradcheck is with this source in place of its own.
build() {
    ${CC:-cc} -std=c17 -D_GNU_SOURCE -I. -pthread -O0 -ffp-contract=off -w \
        -o "$T/mutant" "$B/obj/tests/unit/test_gradcheck.o" "$1" \
        "$B/libnn.a" -lcmocka -lz -ljansson -lm
}

# mutate FILE RULE CHANGE [KIND]: CHANGE, a perl substitution, done to the part
# of FILE between "RULE" at the start of a function and its end.
mutate() {
    perl -0pe '
        BEGIN { $rule = quotemeta shift; $change = shift; }
        s{(?<=\n)([^\n]*\b$rule(?!\w)[^;]*?\n\{.*?\n\}\n)}{
            my $f = $1; local $_ = $f; eval $change; die $@ if $@; $_ }se;
        ' "$2" "$3" "$1" >"$T/mutant.c"
    if cmp -s "$1" "$T/mutant.c"; then
        verdict "the change fits nothing" "$2: $3"
    elif ! build "$T/mutant.c" >"$T/log" 2>&1; then
        verdict "does not build: $(head -n 3 "$T/log")" "$2: $3"
    elif timeout 60 "$T/mutant" >/dev/null 2>&1; then
        verdict survived "$2: $3"
    else
        verdict caught "$2: $3"
    fi
}

rule() {
    mutate nn/op_grad.c "NN_GRAD_RULE($1)" "$2"
}
move() {
    mutate nn/op_grad_move.c "NN_GRAD_RULE($1)" "$2"
}
image() {
    mutate nn/op_grad_image.c "NN_GRAD_RULE($1)" "$2"
}
kernel() {
    mutate nn/cpu/cpu_f64_elem.c "$1" "$2"
}
rows() {
    mutate nn/cpu/cpu_f64_rows.c "$1" "$2"
}
norm() {
    mutate nn/cpu/cpu_norm.c "$1" "$2"
}
layer() {
    mutate nn/cpu/cpu_layer_norm.c "$1" "$2"
}
conv() {
    mutate nn/cpu/cpu_conv.c "$1" "$2"
}

# Unchanged, it passes.
cp nn/op_grad.c "$T/mutant.c"
if build "$T/mutant.c" >"$T/log" 2>&1 && "$T/mutant" >/dev/null 2>&1; then
    verdict caught "no change, no failure"
else
    verdict "the test fails without a change: $(cat "$T/log")" "no change"
fi

# What a rule hands to whom.
rule linear 's/f->attrs\.linear\.act/NN_ACT_NONE/'
rule linear 's/LINEAR_GRAD_INPUT, dz/LINEAR_GRAD_INPUT, grad_out/'
rule linear 's/LINEAR_GRAD_WEIGHT, dz/LINEAR_GRAD_WEIGHT, grad_out/'
rule linear 's/LINEAR_GRAD_BIAS, dz/LINEAR_GRAD_BIAS, grad_out/'
rule linear 's/return nn_grad_emit\(tape, &c, f->in\[2\], err\)/return 0/'
rule matmul 's/: !tb;/: tb;/'
rule matmul 's/return nn_grad_emit\(tape, &c, b, err\)/return 0/'
rule from_output 's/SIGMOID_GRAD/TANH_GRAD/'
rule from_output 's/RELU_GRAD/MUL/'
rule from_output 's/SQRT_GRAD/DIV/'
rule from_output 's/(SOFTMAX\] = NN_OP_)SOFTMAX_GRAD/$1MUL/'
rule from_output 's/LOG_SOFTMAX_GRAD/SOFTMAX_GRAD/'
rule from_input 's/GELU_GRAD/MUL/'
rule from_input 's/LOG1P_GRAD/DIV/'
rule from_input 's/ABS_GRAD/MUL/'
rule dropout 's/c\.attrs = node->call\.attrs;//'
rule loss 's/CROSS_ENTROPY_GRAD/BCE_WITH_LOGITS_GRAD/'
rule loss 's/c\.attrs = node->call\.attrs;//'
rule loss 's/c\.in\[1\] = y;//'
rule loss 's/return nn_grad_emit\(tape, &c, y, err\)/return 0/'
rule add 's/rc != 0 \? rc : give_broadcast.*?;/rc;/s'
rule sub 's/NN_OP_NEG/NN_OP_COPY/'
rule sub 's/NN_OP_NEG/NN_OP_EXP/'
rule mul 's/in\[1\] = a;//'
rule mul 's/in\[2\] = \{grad_out, b\}/in[2] = {grad_out, a}/'
rule mul 's/NN_OP_MUL, in, 2, b/NN_OP_DIV, in, 2, b/'
rule div 's/NN_OP_NEG, in, 1/NN_OP_SCALE, in, 1/'
rule div 's/in\[1\] = node->call\.out\[0\];//'
rule div 's/NN_OP_DIV, in, 2, b/NN_OP_MUL, in, 2, b/'
rule maximum 's/of_b\[2\] = \{b, a\}/of_b[2] = {a, b}/'
rule maximum 's/of_a\[2\] = \{a, b\}/of_a[2] = {b, a}/'
rule neg 's/NN_OP_NEG/NN_OP_COPY/'
rule exp 's/NN_OP_MUL/NN_OP_DIV/'
rule exp 's/out\[0\]/in[0]/'
rule log 's/NN_OP_DIV/NN_OP_MUL/'
rule pow 's/ - 1\.0//'
rule pow 's/attrs\.scalar = node->call\.attrs\.scalar;//'
rule pow 's/NN_OP_MUL, grad_out/NN_OP_DIV, grad_out/'
rule reduce 's/1\.0 \/ \(double\)n/1.0/'
rule reduce 's/i == axis/i != axis/'
move max 's/c\.attrs = node->call\.attrs;/c.attrs.reduce.axis = 0;/'
move transpose 's/c\.attrs = node->call\.attrs;//'
move slice 's/c\.attrs = node->call\.attrs;/$&c.attrs.slice.start = 0;/'
move cat 's/at \+= x/x/'
move cat 's/slice\.start = at/slice.start = 0/'
move cast 's/NN_OP_CAST/NN_OP_NEG/'
move embedding 's/return nn_grad_emit.*?;/return 0;/'
image conv2d 's/rc = nn_grad_emit\(tape, &c, f->in\[0\], err\);/rc = 0;/'
image conv2d 's/rc = nn_grad_emit\(tape, &c, f->in\[1\], err\);/rc = 0;/'
image conv2d 's/return nn_grad_emit\(tape, &c, f->in\[2\], err\)/return 0/'
image max_pool2d 's/c\.attrs = node->call\.attrs;/$&c.attrs.pool.stride++;/'
image avg_pool2d 's/return nn_grad_emit.*?;/return 0;/'
image batch_norm 's/\.attrs = f->attrs,//'
image batch_norm 's/rc = nn_grad_emit\(tape, &c, w, err\)/rc = 0/'
image batch_norm 's/return nn_grad_emit\(tape, &c, b, err\)/return 0/'
image layer_norm 's/\.attrs = f->attrs,//'
image layer_norm 's/rc = nn_grad_emit\(tape, &c, w, err\)/rc = 0/'
image layer_norm 's/return nn_grad_emit\(tape, &c, b, err\)/return 0/'

# What a gradient's kernel computes.
kernel relu_grad 's/y <= 0\.0/y < -1.0/'
kernel tanh_grad 's/1\.0 - y/1.0 + y/'
kernel sigmoid_grad 's/1\.0 - y/1.0 + y/'
kernel gelu_grad 's/x \* pdf \+ cdf/cdf/'
kernel gelu_grad 's/x \* pdf \+ cdf/x * pdf - cdf/'
kernel log1p_grad 's/1\.0 \+ x/1.0 - x/'
kernel sqrt_grad 's/2\.0 \* y/y/'
kernel abs_grad 's/-dy/dy/'
kernel maximum_share 's/a < b/a > b/'
kernel bce_grad 's/\(1\.0 - b\) - /(1.0 - b) + /'
kernel bce_grad 's/1\.0 \+ w \* b/1.0/'
kernel mse_grad 's/ \* 2\.0//'
kernel mse_grad 's/\[i\] - \(\(const double \*\)y\)/[i] + ((const double *)y)/'
rows softmax_grad 's/dy\[i\] - d/dy[i] + d/'
rows softmax_grad 's/ - d\b//'
rows log_softmax_grad 's/dy\[i\] - exp/dy[i] + exp/'
rows log_softmax_grad 's/ \* t;/;/'
rows cpu_f64_cross_entropy_grad 's/ s - q/ s + q/'
rows cpu_f64_cross_entropy_grad 's/loss->share \+ //'
norm centred_strips 's/CPU_SUB, i, b->out, b->terms/CPU_ADD, i, b->out, b->terms/'
norm centred_strips 's/against\(b, CPU_SUB, i, b->terms, b->dy, b->sum\)/memcpy(cpu_at(b->terms, i * b->strip, b->dtype), cpu_at(b->dy, i * b->strip, b->dtype), (size_t)b->strip * 8)/'
norm through_statistics 's/with_number\(b->k, b->dtype, CPU_DIV, b->other.*?;//s'
norm product_strips 's/normalise\(b, i, b->terms\);/against(b, CPU_SUB, i, b->terms, b->x, b->mean);/'
layer grad_input_rows 's/row_op\(l, CPU_SUB, g, g, &s, 0\);//'
layer grad_input_rows 's/CPU_SUB, dx, g, dx/CPU_ADD, dx, g, dx/'
layer grad_input_rows 's/row_op\(l, CPU_MUL, dx, dx, &r, 0\);//'
layer product_rows 's/CPU_MUL, product/CPU_ADD, product/'
conv col2im 's/add_grid/take_grid/'
conv grad_weight_part 's/dy, s > 0/dy, false/g'
echo "1..$n"
exit $broken
