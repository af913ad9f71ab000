"""Writes operators-extra.json: forms that operators.json does not have.

usage: make_operators_extra.py > operators-extra.json
Needs PyTorch. Inputs are float32 numbers, results and gradients float64.
"""

import json

import torch
import torch.nn.functional as F

torch.manual_seed(1)
ACT = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


def tensor(t):
    return {"shape": list(t.shape), "data": t.detach().flatten().tolist()}


def case(op, attrs, inputs, fn, constant=()):
    x = {k: v.double() if v.is_floating_point() else v
         for k, v in inputs.items()}
    for k, v in x.items():
        v.requires_grad_(v.is_floating_point() and k not in constant)
    out = fn(**x)
    grad = torch.randn(out.shape).double()
    out.backward(grad)
    return {
        "op": op,
        "attrs": attrs,
        "in": {k: tensor(v) for k, v in x.items()},
        "out": tensor(out),
        "grad_out": grad.flatten().tolist(),
        "grad": {k: v.grad.flatten().tolist() for k, v in x.items()
                 if v.requires_grad},
    }


def linear(act):
    return case(
        "linear",
        {"act": act},
        {"x": torch.randn(5, 7), "w": torch.randn(3, 7), "b": torch.randn(3)},
        lambda x, w, b: ACT[act](F.linear(x, w, b)),
    )


def conv(stride, padding, x, w):
    return case(
        "conv2d",
        {"stride": stride, "padding": padding},
        {"x": x, "w": w, "b": torch.randn(w.shape[0])},
        lambda x, w, b: F.conv2d(x, w, b, stride=stride, padding=padding),
    )


def pool(op, fn, kernel, stride, padding):
    return case(
        op,
        {"kernel": kernel, "stride": stride, "padding": padding},
        {"x": torch.randn(2, 3, 7, 6)},
        lambda x: fn(x, kernel, stride, padding),
    )


def batch_norm(x):
    c = x.shape[1]
    return case(
        "batch_norm",
        {"eps": 1e-5},
        {"x": x, "w": torch.randn(c), "b": torch.randn(c)},
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    )


def layer_norm(x, shape):
    return case(
        "layer_norm",
        {"eps": 1e-5},
        {"x": x, "w": torch.randn(shape), "b": torch.randn(shape)},
        lambda x, w, b: F.layer_norm(x, shape, w, b),
    )


cases = [
    case(
        "linear",
        {"bias": False},
        {"x": torch.randn(4, 6), "w": torch.randn(5, 6)},
        lambda x, w: F.linear(x, w),
    ),
    linear("relu"),
    linear("tanh"),
    linear("sigmoid"),
    case("gelu", {}, {"x": 3 * torch.randn(4, 5)}, F.gelu),
    case("sub", {}, {"a": torch.randn(3, 4), "b": torch.randn(4)},
         lambda a, b: a - b),
    case("neg", {}, {"a": torch.randn(5)}, lambda a: -a),
    case("sum_dim", {"dim": 1}, {"a": torch.randn(3, 4)},
         lambda a: a.sum(1)),
    case("mean", {"dim": 0}, {"a": torch.randn(3, 4)},
         lambda a: a.mean(0)),
    case("pow", {"exponent": -1.5}, {"a": 0.5 + torch.rand(6)},
         lambda a: a ** -1.5),
    case("log1p", {}, {"a": torch.tensor([-0.99, -0.5, -1e-3, 0, 1e-6, 3])},
         lambda a: torch.log1p(a)),
    case("sqrt", {}, {"a": 0.1 + torch.rand(3, 4)},
         lambda a: torch.sqrt(a)),
    case("abs", {}, {"a": torch.tensor([-2.5, -1e-3, 0, 0.25, 3])},
         lambda a: torch.abs(a)),
    case("maximum", {}, {"a": torch.tensor([1.0, 2, 3, -1, 0]),
                         "b": torch.tensor([2.0, 2, 1, -1, -4])},
         lambda a, b: torch.maximum(a, b)),
    case("maximum", {}, {"a": torch.randn(3, 1, 4), "b": torch.randn(5, 1)},
         lambda a, b: torch.maximum(a, b)),
    case("max", {}, {"a": torch.randn(3, 4)}, lambda a: a.max()),
    case("max", {"dim": 0}, {"a": torch.randn(5, 3)}, lambda a: a.max(0)[0]),
    case("max", {"dim": 1}, {"a": torch.randn(2, 5, 3)},
         lambda a: a.max(1)[0]),
    case("max", {"dim": 1}, {"a": torch.tensor([[1.0, 3, 3], [2, 2, 0]])},
         lambda a: a.max(1)[0]),
    case("squeeze", {"dim": 1}, {"a": torch.randn(3, 1, 4)},
         lambda a: a.squeeze(1)),
    case("transpose", {"dim0": 0, "dim1": 1}, {"a": torch.randn(3, 5)},
         lambda a: a.transpose(0, 1)),
    case("transpose", {"dim0": 2, "dim1": 0}, {"a": torch.randn(2, 3, 4, 2)},
         lambda a: a.transpose(2, 0)),
    case("slice", {"dim": 1, "start": 1, "stop": 4},
         {"a": torch.randn(3, 5, 2)}, lambda a: a[:, 1:4]),
    case("cat", {"dim": 1}, {"a": torch.randn(2, 3), "b": torch.randn(2, 1)},
         lambda a, b: torch.cat([a, b], 1)),
    case("cat3", {"dim": 0}, {"a": torch.randn(2, 3), "b": torch.randn(1, 3),
                              "c": torch.randn(4, 3)},
         lambda a, b, c: torch.cat([a, b, c], 0)),
    case("embedding", {}, {"table": torch.randn(6, 3),
                           "index": torch.tensor([[4, 0, 4], [5, 4, 1]])},
         lambda table, index: F.embedding(index, table)),
    conv(1, 0, torch.randn(2, 3, 7, 6), torch.randn(4, 3, 3, 2)),
    conv(2, 1, torch.randn(3, 2, 6, 7), torch.randn(5, 2, 3, 3)),
    conv(1, 2, torch.randn(2, 1, 8, 8), torch.randn(6, 1, 5, 5)),
    conv(3, 4, torch.randn(1, 2, 5, 5), torch.randn(35, 2, 4, 4)),
    case("conv2d", {"bias": False}, {"x": torch.randn(2, 2, 4, 4),
                                     "w": torch.randn(3, 2, 2, 2)},
         lambda x, w: F.conv2d(x, w)),
    pool("max_pool2d", F.max_pool2d, 2, 2, 0),
    pool("max_pool2d", F.max_pool2d, 3, 2, 1),
    pool("max_pool2d", F.max_pool2d, 3, 1, 0),
    pool("avg_pool2d", F.avg_pool2d, 2, 2, 0),
    pool("avg_pool2d", F.avg_pool2d, 3, 2, 1),
    batch_norm(torch.randn(6, 3)),
    batch_norm(2 + 3 * torch.randn(4, 3, 2, 5)),
    case("batch_norm_eval", {}, {"x": torch.randn(4, 3, 5),
                                 "w": torch.randn(3), "b": torch.randn(3),
                                 "mean": torch.randn(3), "var": torch.rand(3)},
         lambda x, w, b, mean, var: F.batch_norm(x, mean, var, w, b),
         constant=("mean", "var")),
    layer_norm(torch.randn(5, 7), (7,)),
    layer_norm(1 + 2 * torch.randn(3, 2, 4), (2, 4)),
]
print('{"reference": "PyTorch %s", "device": "cpu", "dtype": "float64",'
      % torch.__version__)
print('"cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
