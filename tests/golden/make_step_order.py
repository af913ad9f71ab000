"""Writes step-order.json: losses of training loops whose calls stand in every
order, the wrong ones too.

usage: make_step_order.py > step-order.json
Needs PyTorch. float32; the data are small fractions, see data().
"""

import itertools
import json

import torch

STEPS = 20
LR = {"sgd": 0.05, "sgd_momentum": 0.01, "adam": 0.02, "adamw": 0.02}
PARTS = ("zero_grad", "forward", "loss", "backward", "step")


def data():
    x = [[((7 * i + 3 * k) % 11 - 5) / 8 for k in range(3)] for i in range(8)]
    y = [[((5 * i) % 7 - 3) / 4] for i in range(8)]
    return torch.tensor(x), torch.tensor(y)


def model(name):
    torch.manual_seed(1)
    if name == "linear":
        return torch.nn.Sequential(torch.nn.Linear(3, 1))
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    )


def optimizer(name, parameters):
    if name == "adam":
        return torch.optim.Adam(parameters, lr=LR[name])
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=LR[name], weight_decay=0.1)
    return torch.optim.SGD(
        parameters, lr=LR[name], momentum=0.9 if "momentum" in name else 0
    )


def orders():
    for n in range(3, 6):
        for o in itertools.permutations(PARTS, n):
            if not {"forward", "backward", "step"} <= set(o):
                continue
            at = {p: i for i, p in enumerate(o)}
            if at["forward"] > at["backward"]:
                continue
            if "loss" in at and not (
                at["forward"] < at["loss"] < at["backward"]
            ):
                continue
            yield o


def train(order, model_name, optimizer_name):
    x, y = data()
    net = model(model_name)
    opt = optimizer(optimizer_name, net.parameters())
    losses = []
    for _ in range(STEPS):
        for part in order:
            if part == "zero_grad":
                opt.zero_grad(set_to_none=True)
            elif part == "forward":
                out = net(x)
                if "loss" not in order:
                    loss = torch.nn.functional.mse_loss(out, y)
            elif part == "loss":
                loss = torch.nn.functional.mse_loss(out, y)
            elif part == "backward":
                loss.backward()
            else:
                opt.step()
        losses.append(float("%.8g" % loss.item()))
    return losses


def run(order, model_name, optimizer_name):
    r = {"model": model_name, "optimizer": optimizer_name,
         "lr": LR[optimizer_name], "order": order}
    try:
        r["losses"] = train(order, model_name, optimizer_name)
    except RuntimeError as e:  # a parameter changed under backward
        assert "modified by an inplace operation" in str(e)
        r["raises"] = True
    return r


def main():
    runs = [run(o, m, opt) for m in ("linear", "mlp") for opt in LR
            for o in orders()]
    lines = ",\n".join("  " + json.dumps(r) for r in runs)
    print('{"reference": "PyTorch %s", "steps": %d, "runs": [\n%s\n]}'
          % (torch.__version__.split("+")[0], STEPS, lines))


main()
