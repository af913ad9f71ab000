"""Loads a checkpoint of ours into torch.nn.Sequential and tests it.

usage: torch_load.py CHECKPOINT IMAGES LABELS HIDDEN_DIM
Prints the accuracy on the test set. Exit status 77: torch or safetensors is
not installed. CHECKPOINT is a safetensors file of a 784-HIDDEN_DIM-10 model,
IMAGES and LABELS are gzip-compressed IDX files.
"""

import gzip
import sys

try:
    import torch
    from safetensors.torch import load_file
except ImportError:
    sys.exit(77)


def idx(path, header):
    with gzip.open(path, "rb") as f:
        data = bytearray(f.read()[header:])
    return torch.frombuffer(data, dtype=torch.uint8)


def main():
    checkpoint, images, labels, hidden = sys.argv[1:]
    model = torch.nn.Sequential(
        torch.nn.Linear(784, int(hidden)),
        torch.nn.ReLU(),
        torch.nn.Linear(int(hidden), 10),
    )
    model.load_state_dict(load_file(checkpoint), strict=True)
    x = idx(images, 16).reshape(-1, 784).float() / 255
    y = idx(labels, 8).long()
    with torch.no_grad():
        right = (model(x).argmax(1) == y).sum().item()
    print(right / len(y))


main()
