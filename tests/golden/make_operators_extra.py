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


def case(op, attrs, inputs, fn):
    x = {k: v.double() for k, v in inputs.items()}
    for v in x.values():
        v.requires_grad_()
    out = fn(**x)
    grad = torch.randn(out.shape).double()
    out.backward(grad)
    return {
        "op": op,
        "attrs": attrs,
        "in": {k: tensor(v) for k, v in x.items()},
        "out": tensor(out),
        "grad_out": grad.flatten().tolist(),
        "grad": {k: v.grad.flatten().tolist() for k, v in x.items()},
    }


def linear(act):
    return case(
        "linear",
        {"act": act},
        {"x": torch.randn(5, 7), "w": torch.randn(3, 7), "b": torch.randn(3)},
        lambda x, w, b: ACT[act](F.linear(x, w, b)),
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
]
print(
    json.dumps(
        {
            "reference": "PyTorch " + torch.__version__,
            "device": "cpu",
            "dtype": "float64",
            "cases": cases,
        },
        indent=1,
    )
)
