"""Train a ConvNet on a distilled release with JAX and Optax: python train_jax.py distilled/training.npz test.npz

`training.npz` is in the release; `test.npz` holds `images` and `labels` (or `x_test` and `y_test`).
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.ndimage import map_coordinates

given, real = np.load(sys.argv[1]), np.load(sys.argv[2])
steps, width, (mean, deviation) = int(given["steps"]), int(given["width"]), given["pixels"]
memory = max(1.0, min(100.0, steps / 10))  # steps that the running mean of the weights reaches back
turn, scale, shear, shift, floor, ceiling = given["deformation"]
mixed = "mixed" in given and bool(given["mixed"])


def pixels(images):
    return (images[..., None] if images.ndim == 3 else images).astype(np.float32) / 255


def deformed(key, image):  # turned, scaled, sheared, shifted; then the contrast stretched
    height, across = image.shape[:2]
    a, s, tall, wide, down, right = jax.random.uniform(key, (6,), minval=-1, maxval=1)
    a, s, tall, wide = turn * a, shear * s, jnp.exp(scale * tall), jnp.exp(scale * wide)
    turned = jnp.array([[tall * jnp.cos(a), -tall * jnp.sin(a)], [wide * jnp.sin(a), wide * jnp.cos(a)]])
    middle = jnp.array([(height - 1) / 2, (across - 1) / 2])
    grid = jnp.stack(jnp.meshgrid(jnp.arange(height), jnp.arange(across), indexing="ij"), -1) - middle
    at = grid @ (turned @ jnp.array([[1, 0], [s, 1]])).T + middle + shift * jnp.array([down, right])
    image = jax.vmap(lambda plane: map_coordinates(plane, jnp.moveaxis(at, -1, 0), order=1), -1, -1)(image)
    low, high = jax.random.uniform(jax.random.fold_in(key, 1), (2,)) * jnp.array([floor, ceiling])
    return jnp.clip((image - low) / (1 - low - high), 0, 1)


def start(key, shape, classes):  # three blocks; 28 pixels are padded to 32
    left = 32 if shape[0] == 28 else shape[0]
    into = (shape[2], width, width)
    keys = jax.random.split(key, 4)
    blocks = [
        (
            (2 / (9 * n)) ** 0.5 * jax.random.normal(k, (3, 3, n, width)),
            jnp.zeros(width),
            jnp.ones(width),
            jnp.zeros(width),
        )
        for n, k in zip(into, keys[:3], strict=True)
    ]
    size = width * (left // 8) ** 2
    return blocks, jax.random.normal(keys[3], (size, classes)) / (3 * size) ** 0.5, jnp.zeros(classes)


def scores(network, images):
    blocks, head, bias = network
    x = (images - mean) / deviation
    for number, (kernel, add, gain, offset) in enumerate(blocks):
        pad = 3 if number == 0 and x.shape[1] == 28 else 1
        x = (
            jax.lax.conv_general_dilated(
                x, kernel, (1, 1), [(pad, pad)] * 2, dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            + add
        )
        x = (x - x.mean((1, 2), keepdims=True)) / jnp.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
        x = jax.nn.relu(gain * x + offset)
        x = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    return x.reshape(len(x), -1) @ head + bias


images, targets = jnp.asarray(pixels(given["images"])), jnp.asarray(given["targets"])
adam = optax.adamw(optax.cosine_decay_schedule(1e-3, steps), weight_decay=1e-4)
network = averaged = start(jax.random.key(0), images.shape[1:], targets.shape[1])
state = adam.init(network)


@jax.jit
def step(key, network, averaged, state):
    choosing, moving = jax.random.split(key)
    chosen = jax.random.randint(choosing, (min(256, len(images)),), 0, len(images))
    x, y = jax.vmap(deformed)(jax.random.split(moving, len(chosen)), images[chosen]), targets[chosen]
    if mixed:  # a weighted mean of two pictures, and of their targets
        share = jax.random.uniform(jax.random.fold_in(moving, 1), (len(x), 1))
        x = share[..., None, None] * x + (1 - share[..., None, None]) * x[::-1]
        y = share * y + (1 - share) * y[::-1]
    slope = jax.grad(lambda n: optax.softmax_cross_entropy(scores(n, x), y).mean())(network)
    updates, state = adam.update(slope, state, network)
    network = optax.apply_updates(network, updates)
    return network, jax.tree.map(lambda m, w: m + (w - m) / memory, averaged, network), state


for number in range(steps):
    network, averaged, state = step(jax.random.key(number), network, averaged, state)

names = ("images", "labels") if "images" in real else ("x_test", "y_test")
tested, labels = pixels(real[names[0]]), real[names[1]]
told = np.concatenate(
    [np.asarray(scores(averaged, tested[i : i + 1000])).argmax(1) for i in range(0, len(tested), 1000)]
)
print(f"accuracy {(told == labels).mean():.4f}")
