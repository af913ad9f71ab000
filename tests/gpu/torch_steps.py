"""Times PyTorch's training step on the recipes of configs/step-times.yaml.

usage: torch_steps.py OUT [--device cpu] [--repeat N] [--batches 32,128]

Writes OUT.json (versions, settings, rows) and OUT.csv (the rows) anew after
each row, so that what was measured stays if time runs out. The model is
784-256-10 with a ReLU, in float32; the images, random bytes, lie on the device
and a step gathers its batch from them, as `data: device` does. Ways:

    eager    as a notebook writes it, without reading the loss back
    graph    the whole step captured once as a CUDA graph, then replayed
    compile  torch.compile of model and loss; the optimizer is eager

A row has the median, p10 and p90 of `--repeat` steps, back to back, between
CUDA events. On the CPU, eager only, by the clock: to try this script. Exit
status 77: no torch, or no GPU.
"""

import argparse
import csv
import json
import sys
import time

try:
    import torch
except ImportError:
    print("no torch")
    sys.exit(77)

N_IMAGES = 60000
N_CLASSES = 10
HIDDEN = 256
WARMUP = 100
FIELDS = (
    "way",
    "batch_size",
    "optimizer",
    "n",
    "median_us",
    "p10_us",
    "p90_us",
    "error",
)


class Step:
    """One training step: gather a batch, forward, backward, update."""

    def __init__(self, batch_size, optimizer, device, capturable=False):
        gen = torch.Generator().manual_seed(0)
        self.images = torch.randint(
            0, 256, (N_IMAGES, 784), dtype=torch.uint8, generator=gen
        ).to(device)
        self.labels = torch.randint(
            0, N_CLASSES, (N_IMAGES,), generator=gen
        ).to(device)
        self.order = torch.randperm(N_IMAGES, generator=gen).to(device)
        self.batch_size = batch_size
        self.index = self.order[:batch_size].clone()
        self.count = 0
        self.model = torch.nn.Sequential(
            torch.nn.Linear(784, HIDDEN),
            torch.nn.ReLU(),
            torch.nn.Linear(HIDDEN, N_CLASSES),
        ).to(device)
        self.optimizer = make_optimizer(
            self.model.parameters(), optimizer, capturable
        )
        self.loss_of = self.forward

    def forward(self, x, y):
        return torch.nn.functional.cross_entropy(self.model(x), y)

    def next_batch(self):
        n_batch = N_IMAGES // self.batch_size
        first = self.count % n_batch * self.batch_size
        self.count += 1
        return self.order[first : first + self.batch_size]

    def run(self, index):
        x = self.images[index].float() / 255
        y = self.labels[index]
        self.optimizer.zero_grad()
        loss = self.loss_of(x, y)
        loss.backward()
        self.optimizer.step()
        return loss

    def eager(self):
        self.run(self.next_batch())


def make_optimizer(parameters, name, capturable):
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=1e-3)
    if capturable:
        return torch.optim.Adam(parameters, lr=1e-3, capturable=True)
    return torch.optim.Adam(parameters, lr=1e-3)


def eager_step(batch_size, optimizer, device):
    return Step(batch_size, optimizer, device).eager


def compiled_step(batch_size, optimizer, device):
    import torch._dynamo

    # After a few recompilations of one function it would go on uncompiled.
    torch._dynamo.reset()
    step = Step(batch_size, optimizer, device)
    step.loss_of = torch.compile(step.forward, dynamic=False)
    return step.eager


def graph_step(batch_size, optimizer, device):
    """The index of the batch is copied in, then the graph is replayed."""
    step = Step(batch_size, optimizer, device, capturable=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step.run(step.index)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step.run(step.index)

    def replay():
        step.index.copy_(step.next_batch())
        graph.replay()

    return replay


WAYS = {"eager": eager_step, "graph": graph_step, "compile": compiled_step}


def time_on_gpu(step, repeat):
    for _ in range(WARMUP):
        step()
    torch.cuda.synchronize()
    mark = [torch.cuda.Event(enable_timing=True) for _ in range(repeat + 1)]
    step()  # so that the device has work when the first mark comes
    mark[0].record()
    for i in range(repeat):
        step()
        mark[i + 1].record()
    torch.cuda.synchronize()
    return [1e3 * mark[i].elapsed_time(mark[i + 1]) for i in range(repeat)]


def time_on_cpu(step, repeat):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        step()
        times.append(1e6 * (time.perf_counter() - begin))
    return times


def quantile(sorted_times, q):
    """Linear between the two nearest, as numpy's default."""
    at = q * (len(sorted_times) - 1)
    low = int(at)
    high = min(low + 1, len(sorted_times) - 1)
    share = at - low
    return sorted_times[low] * (1 - share) + sorted_times[high] * share


def measure(way, batch_size, optimizer, args):
    row = dict.fromkeys(FIELDS, "")
    row.update(way=way, batch_size=batch_size, optimizer=optimizer, n=0)
    try:
        step = WAYS[way](batch_size, optimizer, args.device)
        if args.device == "cpu":
            times = sorted(time_on_cpu(step, args.repeat))
        else:
            times = sorted(time_on_gpu(step, args.repeat))
    except Exception as e:  # a way that this torch lacks is a row, no end
        row["error"] = " ".join(str(e).split())[:200] or type(e).__name__
        return row
    row["n"] = len(times)
    for name, q in (("median_us", 0.5), ("p10_us", 0.1), ("p90_us", 0.9)):
        row[name] = round(quantile(times, q), 3)
    return row


def facts(args):
    on_gpu = args.device != "cpu"
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "method": "events" if on_gpu else "clock",
        "hidden": HIDDEN,
        "warmup": WARMUP if on_gpu else 0,
        "allow_tf32": False,
    }


def write(out, about, rows):
    with open(out + ".json", "w") as f:
        json.dump({**about, "rows": rows}, f, indent=1)
        f.write("\n")
    with open(out + ".csv", "w", newline="") as f:
        table = csv.DictWriter(f, FIELDS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--repeat", type=int, default=500)
    parser.add_argument("--batches", default="32,128,512,2048")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        print("torch sees no GPU")
        return 77
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for way in WAYS if args.device == "cuda" else ["eager"]:
        for batch_size in map(int, args.batches.split(",")):
            for optimizer in "sgd", "adam":
                row = measure(way, batch_size, optimizer, args)
                print(*row.values(), sep=" ", flush=True)
                rows.append(row)
                write(args.out, facts(args), rows)
    return 0 if any(row["n"] for row in rows) else 1


sys.exit(main())
