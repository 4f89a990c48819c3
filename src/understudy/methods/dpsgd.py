"""DP-SGD (Abadi et al. 2016): a convolutional network that learns from private images themselves, through clipped and noisy gradients.

Nothing is synthesised: what is released is the network. In DP-KIP's Table 2 it is the ceiling of what trains on stand-ins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from understudy.images import ImageDataset
from understudy.images.dataset import check_images
from understudy.learn.convnet_training import TrainedNetwork
from understudy.learn.convnets import ConvNet, coloured
from understudy.methods.convnet_gradients import PrivateImages
from understudy.methods.distillation.dpkip import check_batch
from understudy.methods.image_classifier import ImageClassifier
from understudy.methods.image_moments.generator import PUBLIC
from understudy.privacy import Budget, PrepaidSteps
from understudy.privacy.prepaid import pay_for_steps
from understudy.release.driver import Draw, Progress, Run, Trainer, closed_after, train
from understudy.release.settings import Settings, or_none, positive, setting, share, whole

_ADAM: Any = optax.scale_by_adam()


@dataclass
class NoisyTraining(Settings):
    """Adam on noisy gradients, its rate falling to zero along a cosine; a ConvNet of three blocks of `width` kernels.

    What is released are not the last weights but their running mean over the last `memory` of the steps, a share: noise of steps
    cancels there, for free.
    """

    learning_rate: float = setting(5e-3, positive())
    width: int = setting(32, whole())
    memory: float = setting(0.1, share("the steps", ends="()"))


@dataclass(eq=False, repr=False)
class DPSGD(ImageClassifier):
    """A ConvNet that tells the classes of images, by DP-SGD.

    - `epsilon`, `delta`: the budget; all of it is used. A thousandth of delta covers batches that overflow their slots.
    - `epochs`, `batch`: expected looks at each image, and the expected Poisson batch. `clip`: the norm of one image's gradient.
    - `training`: what never meets the accountant.

    Fitted: `network_`, `certificate_`, `shape_` and `classes_`, all public.
    """

    method: ClassVar[str] = "dpsgd"
    resumable: ClassVar[bool] = True

    epsilon: float = setting(1.0, positive())
    delta: float = setting(1e-5, share("probability", ends="()"))
    _: KW_ONLY
    epochs: int = setting(20, whole())
    batch: int = setting(1024, whole())
    clip: float = setting(1.0, positive())
    training: NoisyTraining = field(default_factory=NoisyTraining)
    random_state: int | None = setting(None, or_none(whole(0)))
    unsafe_noise_seed: int | None = None

    def fit(
        self,
        data: ImageDataset,
        *,
        budget: Budget | None = None,
        workspace: str | Path | None = None,
        resume: bool = False,
        progress: Callable[[Progress], None] | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Self:
        """Touches private data (`data`). `budget` may hold earlier charges for the same images.

        Checkpoints are kept in `workspace`, a folder named `*.private`; with `resume` the run in it goes on. Ctrl-C ends a run after
        the current step and leaves a network that may be released: all of it is paid for.
        """
        self._check_settings()
        check_images(data)
        check_batch("batch", self.batch, len(data))
        self._shapes(data.shape, len(data.classes))
        paying = self._budget(budget, len(data))
        said = {"images": len(data), "classes": list(data.classes)}
        files = None if workspace is None else self._kept_in(workspace, resume, data.digest(), said)
        run = Run(files, progress, checkpoint_seconds)
        with closed_after(files):
            steps = max(1, round(self.epochs * len(data) / self.batch))
            paid = pay_for_steps(steps, self.batch, self.clip, len(data), paying)
            trainer = NoisyDescent(self, data, paid)
            state, history = train(trainer, run)
        self.interrupted_ = run.stopped
        self._ready(state.average, data.shape, data.classes, data.value_range)
        facts = {"mechanism": "dp-sgd", "noise": paid.mechanism.noise_multiplier, "clip": self.clip, "steps": steps}
        facts |= {"steps_done": len(history), "images": len(data)}
        self._certify(paying, "classifier", facts, [PUBLIC], unit="image")
        return self

    def network(self, shape: tuple[int, ...], classes: int, seed: int) -> ConvNet:
        return ConvNet(coloured(shape), classes, key=jax.random.key(seed), width=self.training.width)

    def _ready(
        self, network: Any, shape: tuple[int, ...], classes: tuple[str, ...], value_range: tuple[int, int]
    ) -> None:
        super()._ready(network, shape, classes, value_range)
        self.network_ = TrainedNetwork(network, coloured(shape))

    def _released(self) -> ConvNet:
        return self.network_.network

    def _scored(self, data: ImageDataset) -> np.ndarray:
        return self.network_.scores(data.flat())


class DescentState(NamedTuple):
    """Public as a whole: made of noisy sums alone."""

    network: ConvNet
    opt_state: Any
    average: ConvNet
    used: np.ndarray


class NoisyDescent(Trainer):
    """DP-SGD under the one driver: a private gradient and a step."""

    def __init__(self, settings: DPSGD, data: ImageDataset, paid: PrepaidSteps) -> None:
        """Touches private data."""
        self.how, self.paid, self.iterations = settings.training, paid, paid.steps
        self.images = PrivateImages.of(data)
        self.nominal = paid.rows * paid.mechanism.sampling_rate
        self.first = settings.network(data.shape, len(data.classes), settings._seed())  # pyright: ignore[reportPrivateUsage]
        self.kept = 1 - 1 / max(1.0, self.how.memory * paid.steps)

    def start(self) -> DescentState:
        return DescentState(self.first, _ADAM.init(self.first), self.first, np.zeros(1, dtype=np.int64))

    def restore(self, state: DescentState) -> None:
        self.paid.used = int(state.used[0])

    def step(self, iteration: int, state: DescentState, draw: Draw) -> tuple[DescentState, dict[str, float]]:
        """Touches private data: the gradients of a Poisson batch. What goes on from them is their noisy sum."""
        noisy = draw(
            "gradient", partial(self.images.noisy_gradient, state.network, self.paid), lambda _: self.paid.skip()
        )
        rate = self.how.learning_rate * (1 + np.cos(np.pi * iteration / self.iterations)) / 2
        # The mean of the first steps, as long as there are few: the random start must not count.
        kept = min(self.kept, iteration / (iteration + 1))
        moved = (state.network, state.opt_state, state.average)
        network, opt_state, average = _moved(moved, noisy / self.nominal, rate, kept)
        return DescentState(network, opt_state, average, np.array([self.paid.used])), {}

    def finished(self, state: DescentState) -> bool:
        del state
        return False


@jax.jit
def _moved(state: Any, gradient: Array, rate: float, kept: float) -> tuple[ConvNet, Any, ConvNet]:
    network, opt_state, average = state
    updates, opt_state = _ADAM.update(ravel_pytree(network)[1](gradient), opt_state)
    network = jax.tree.map(lambda weight, update: weight - rate * update, network, updates)
    return network, opt_state, jax.tree.map(lambda old, new: kept * old + (1 - kept) * new, average, network)
