"""Train a ConvNet on a distilled release with PyTorch: python train_torch.py distilled/training.npz test.npz

`training.npz` is in the release; `test.npz` holds `images` and `labels` (or `x_test` and `y_test`).
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
given, real = np.load(sys.argv[1]), np.load(sys.argv[2])
steps, width, (mean, deviation) = int(given["steps"]), int(given["width"]), given["pixels"]
memory = max(1.0, min(100.0, steps / 10))  # steps that the running mean of the weights reaches back
turn, scale, shear, shift, floor, ceiling = given["deformation"]
mixed = "mixed" in given and bool(given["mixed"])


def pixels(images):
    planes = images[..., None] if images.ndim == 3 else images
    return torch.tensor(np.moveaxis(planes, 3, 1) / 255, dtype=torch.float32)


def even(limit, count):
    return limit * (2 * torch.rand(count, device=device) - 1)


def deformed(x):  # turned, scaled, sheared, shifted; then the contrast stretched
    n, side = len(x), x.shape[-1]
    a, s, tall, wide = even(turn, n), even(shear, n), even(scale, n).exp(), even(scale, n).exp()
    turned = torch.stack(
        [torch.stack([wide * a.cos(), wide * a.sin()], 1), torch.stack([-tall * a.sin(), tall * a.cos()], 1)], 1
    )
    sheared = torch.stack(
        [torch.stack([torch.ones_like(s), s], 1), torch.stack([torch.zeros_like(s), torch.ones_like(s)], 1)], 1
    )
    moved = torch.stack([even(shift, n), even(shift, n)], 1) * 2 / (side - 1)
    grid = F.affine_grid(torch.cat([turned @ sheared, moved[:, :, None]], 2), x.shape, align_corners=True)
    x = F.grid_sample(x, grid, align_corners=True)
    low, high = (end * torch.rand(n, 1, 1, 1, device=device) for end in (floor, ceiling))
    return ((x - low) / (1 - low - high)).clip(0, 1)


def convnet(colours, side, classes):  # three blocks; 28 pixels are padded to 32
    layers, into, left = [], colours, 32 if side == 28 else side
    for block in range(3):
        pad = 3 if block == 0 and side == 28 else 1
        layers += [nn.Conv2d(into, width, 3, padding=pad), nn.GroupNorm(width, width), nn.ReLU(), nn.AvgPool2d(2)]
        nn.init.kaiming_normal_(layers[-4].weight)
        into, left = width, left // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width * left * left, classes))


images, targets = pixels(given["images"]).to(device), torch.tensor(given["targets"], device=device)
network = convnet(images.shape[1], images.shape[2], targets.shape[1]).to(device)
averaged = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(1 - 1 / memory))
adam = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
falling = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
for _ in range(steps):
    chosen = torch.randint(len(images), (min(256, len(images)),), device=device)
    x, y = deformed(images[chosen]), targets[chosen]
    if mixed:  # a weighted mean of two pictures, and of their targets
        share = torch.rand(len(x), 1, 1, 1, device=device)
        x, y = share * x + (1 - share) * x.flip(0), share[:, :, 0, 0] * y + (1 - share[:, :, 0, 0]) * y.flip(0)
    adam.zero_grad()
    F.cross_entropy(network((x - mean) / deviation), y).backward()
    adam.step()
    falling.step()
    averaged.update_parameters(network)

names = ("images", "labels") if "images" in real else ("x_test", "y_test")
tested, labels = pixels(real[names[0]]), torch.tensor(real[names[1]].astype(np.int64))
with torch.no_grad():
    told = torch.cat([averaged((part.to(device) - mean) / deviation).argmax(1).cpu() for part in tested.split(1000)])
print(f"accuracy {float((told == labels).float().mean()):.4f}")
