"""Random programs of the autograd stage against PyTorch, in float64.

    torch_programs.py PIPELINE FOLDER [COUNT [SEED]]

A program's statements are valid Python too: PyTorch runs the very same text.
Values and gradients must agree within 1e-10 (relative above 1)."""
import csv
import os
import random
import subprocess
import sys

import torch
import torch.nn.functional as F

SHAPES = [(), (3,), (2, 3), (2, 1), (3, 3), (1, 3), (4, 2, 3)]
DEPTH = 12

FUNCTIONS = {
    "exp": torch.exp, "log": torch.log, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "relu": torch.relu, "gelu": F.gelu,
    "abs": torch.abs, "sqrt": torch.sqrt, "log1p": torch.log1p,
    "maximum": torch.maximum,
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "sum": lambda x, d=None, keepdim=False:
        x.sum() if d is None else x.sum(d, keepdim=keepdim),
    "mean": lambda x, d=None, keepdim=False:
        x.mean() if d is None else x.mean(d, keepdim=keepdim),
    "reshape": lambda x, *s: x.reshape(*s),
    "detach": lambda x: x.detach(),
    "mse": F.mse_loss,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
    "transpose": lambda x, a, b: x.transpose(a, b),
    "max": lambda x, d=None: x.max() if d is None else x.max(d)[0],
    "linear": F.linear,
    "conv2d": F.conv2d,
    "max_pool2d": F.max_pool2d,
    "avg_pool2d": F.avg_pool2d,
    "batch_norm": lambda x, w, b, eps=1e-5:
        F.batch_norm(x, None, None, w, b, training=True, eps=eps),
    "layer_norm": lambda x, w, b, eps=1e-5:
        F.layer_norm(x, w.shape, w, b, eps),
    "embedding": lambda table, rows: F.embedding(rows.long(), table),
    "cross_entropy": lambda z, t, label_smoothing=0.0:
        F.cross_entropy(z, t.long(), label_smoothing=label_smoothing),
    "cat": lambda a, b, dim=0: torch.cat((a, b), dim),
    "true": True,
}


class Program:
    def __init__(self, rng):
        self.rng, self.lines, self.names = rng, [], []
        self.inputs = {}
        for _ in range(rng.randint(2, 5)):
            shape = rng.choice(SHAPES)
            self.names.append((self.given(shape), shape, 0))
        self.inputs["x0"] = (self.inputs["x0"][0], True)
        for _ in range(rng.randint(4, 30)):
            self.step()
        self.lines.append("L = " + " + ".join(
            f"mean({n})" for n in ["x0"] + [n[0] for n in self.names[-4:]]))
        self.lines.append("backward(L)")

    def given(self, shape, classes=None):
        """A new input: uniform, or the numbers of rows or classes."""
        name, n = f"x{len(self.inputs)}", torch.Size(shape).numel()
        x = torch.tensor([self.rng.uniform(-2, 2) if classes is None else
                          self.rng.randrange(classes) for _ in range(n)],
                         dtype=torch.float64)
        self.inputs[name] = (x.reshape(shape),
                             classes is None and self.rng.random() < 0.8)
        return name

    def pick(self, test=lambda s: True):
        few = [n for n in self.names if test(n[1]) and n[2] < DEPTH]
        if few and self.rng.random() < 0.5: # deep, not only wide
            few = few[-2:]
        return self.rng.choice(few) if few else None

    def unary(self):
        a = self.pick()
        safe = f"(abs({a[0]}) + 0.5)"
        form = self.rng.choice([
            "tanh({0})", "sigmoid({0})", "relu({0})", "gelu({0})",
            "exp(tanh({0}))", "log({1})", "sqrt({1})", "log1p(abs({0}))",
            "-{0}", "{0}**2", "{0}**3", "{1}**-1.5", "{1}**0.5", "2 * {0}",
            "1 - {0} / 3", "{0} - detach({0}) / 2", "abs({0})"])
        return form.format(a[0], safe), a[1], a[2] + 1

    def binary(self):
        a, b = self.pick(), self.pick()
        try:
            shape = tuple(torch.broadcast_shapes(a[1], b[1]))
        except RuntimeError:
            return None
        form = self.rng.choice([
            "{0} + {1}", "{0} - {1}", "{0} * {1}", "tanh({0} * {1})",
            "{0} / (1 + abs({1}))", "maximum({0}, {1})"])
        return form.format(a[0], b[0]), shape, max(a[2], b[2]) + 1

    def product(self):
        a = self.pick(lambda s: 1 <= len(s) <= 2)
        if not a:
            return None
        b = self.pick(lambda s: 1 <= len(s) <= 2 and s[0] == a[1][-1])
        if not b:
            return None
        return (f"tanh({a[0]} @ {b[0]})", a[1][:-1] + b[1][1:],
                max(a[2], b[2]) + 1)

    def shaped(self):
        a = self.pick(lambda s: len(s) >= 1)
        if not a:
            return None
        n, shape, d = a
        axis = self.rng.randrange(len(shape))
        less = shape[:axis] + shape[axis + 1:]
        kept = shape[:axis] + (1,) + shape[axis + 1:]
        forms = [(f"sum({n}, {axis})", less),
                 (f"mean({n}, {axis - len(shape)})", less),
                 (f"sum({n}, {axis}, keepdim=true)", kept),
                 (f"softmax({n})", shape), (f"log_softmax({n})", shape),
                 (f"reshape({n}, -1)", (torch.Size(shape).numel(),)),
                 (f"{n}[0]", shape[1:]), (f"{n}[-1]", shape[1:]),
                 (f"{n}[0:2]", (min(2, shape[0]),) + shape[1:]),
                 (f"cat({n}, {n} * 2)", (2 * shape[0],) + shape[1:]),
                 (f"mse({n}, tanh({n}))", ()),
                 (f"bce_with_logits({n}, detach(sigmoid({n})))", ())]
        if len(shape) == 2:
            forms.append((f"{n}.T", shape[::-1]))
        if len(shape) > 2:
            forms.append((f"transpose({n}, 0, {axis})", shape[axis:axis + 1]
                          + shape[1:axis] + shape[:1] * (axis > 0)
                          + shape[axis + 1:]))
        forms.append((f"max({n}, {axis})", less))
        text, out = self.rng.choice(forms)
        return text, out, d + 1

    def layer(self):
        """A layer with parameters of its own, on a value or on new input."""
        return self.rng.choice([self.linear, self.embedding, self.losses,
                                self.norms, self.image, self.image])()

    def linear(self):
        a = self.pick(lambda s: len(s) == 2)
        if not a:
            return None
        n, shape, d = a
        out = self.rng.randint(1, 4)
        w, b = self.given((out, shape[1])), self.given((out,))
        return f"tanh(linear({n}, {w}, {b}))", (shape[0], out), d + 1

    def embedding(self):
        a = self.pick(lambda s: len(s) == 2)
        n, shape, d = a or (self.given((5, 2)), (5, 2), 0)
        rows = self.rng.choice([(4,), (2, 3)])
        index = self.given(rows, shape[0])
        return f"embedding({n}, {index})", rows + shape[1:], d + 1

    def losses(self):
        a = self.pick(lambda s: len(s) == 2 and s[1] > 1)
        if not a:
            return None
        n, shape, d = a
        t = self.given(shape[:1], shape[1])
        more = self.rng.choice(["", ", label_smoothing=0.1"])
        return f"cross_entropy({n}, {t}{more})", (), d + 1

    def norms(self):
        a = self.pick(lambda s: len(s) >= 2 and s[-1] > 1)
        if not a:
            return None
        n, shape, d = a
        eps = self.rng.choice(["", ", eps=0.1"])
        last = shape[-self.rng.randint(1, 2):]
        if self.rng.random() < 0.5 and len(last) < len(shape):
            w, b = self.given(last), self.given(last)
            return f"layer_norm({n}, {w}, {b}{eps})", shape, d + 1
        if torch.Size(shape).numel() < 2 * shape[1]:
            return None
        w, b = self.given(shape[1:2]), self.given(shape[1:2])
        return f"batch_norm({n}, {w}, {b}{eps})", shape, d + 1

    def image(self):
        a = self.pick(lambda s: len(s) == 4 and min(s[2:]) >= 3)
        n, shape, d = a or (self.given((2, 2, 5, 4)), (2, 2, 5, 4), 0)
        stride, padding = self.rng.randint(1, 2), self.rng.randint(0, 1)
        kernel = self.rng.randint(2, 3)
        size = tuple((s + 2 * padding - kernel) // stride + 1
                     for s in shape[2:])
        if self.rng.random() < 0.5:
            pool = self.rng.choice(["max_pool2d", "avg_pool2d"])
            return (f"{pool}({n}, {kernel}, {stride}, {padding})",
                    shape[:2] + size, d + 1)
        out = self.rng.randint(1, 3)
        w = self.given((out, shape[1], kernel, kernel))
        more = self.rng.choice(["", f", {self.given((out,))}"])
        return (f"tanh(conv2d({n}, {w}{more}, stride={stride}, "
                f"padding={padding}))", (shape[0], out) + size, d + 1)

    def step(self):
        made = self.rng.choice([self.unary, self.binary, self.binary,
                                self.product, self.shaped, self.layer])()
        if made is None or torch.Size(made[1]).numel() > 400:
            return
        text, shape, depth = made
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.names.append((name, shape, depth))

    def yaml(self, i):
        out = [f"  p{i}:", "    uses: autograd", "    with:", "      tensors:"]
        for n, (x, grad) in self.inputs.items():
            out.append(f"        {n}: {{value: {x.tolist()}, "
                       f"requires_grad: {str(grad).lower()}}}")
        out.append("      program: |")
        out += ["        " + line for line in self.lines]
        return "\n".join(out)

    def run(self):
        scope = dict(FUNCTIONS)
        for n, (x, grad) in self.inputs.items():
            scope[n] = x.clone().requires_grad_(grad)
        scope["backward"] = lambda loss: loss.backward()
        exec("\n".join(self.lines), scope)
        return scope


def numbers(text):
    return [float(v) for v in text.split()]


def worst(mine, theirs):
    """The largest error; inf where the counts differ."""
    theirs = theirs.detach().reshape(-1).tolist()
    if len(mine) != len(theirs):
        return float("inf")
    error = 0.0
    for a, b in zip(mine, theirs):
        e = abs(a - b) / max(1.0, abs(b))
        error = e if not e <= error else error
    return error


def compare(program, rows):
    scope, error, checked = program.run(), 0.0, 0
    for row in rows:
        t = scope[row["name"]]
        error = max(error, worst(numbers(row["values"]), t))
        checked += 1
        if row["name"] in program.inputs and t.requires_grad:
            grad = t.grad if t.grad is not None else torch.zeros(0)
            error = max(error, worst(numbers(row["grad"]), grad))
    assert checked == len(program.inputs) + len(program.lines) - 1
    return error


def main():
    pipeline, folder = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 120
    rng = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    programs = [Program(rng) for _ in range(count)]
    config = os.path.join(folder, "torch.yaml")
    with open(config, "w") as f:
        f.write("version: 1\nname: torch\nstages:\n")
        f.write("\n".join(p.yaml(i) for i, p in enumerate(programs)) + "\n")
    run = subprocess.run([pipeline, "run", config, "--out",
                          os.path.join(folder, "out")],
                         stdout=subprocess.DEVNULL)
    if run.returncode != 0:
        return 1
    error = 0.0
    for i, p in enumerate(programs):
        path = os.path.join(folder, "out", "torch", f"p{i}", "values.csv")
        with open(path) as f:
            e = compare(p, list(csv.DictReader(f)))
        if not e <= 1e-10:
            print(f"p{i}: {e}\n" + "\n".join(p.lines))
        error = e if not e <= error else error
    deepest = max(n[2] for p in programs for n in p.names)
    print(f"{count} programs, depth up to {deepest}, largest error {error:.1e}")
    return 0 if error <= 1e-10 else 1


sys.exit(main())
