"""Milliseconds of one training step, this library and PyTorch, one thread each, on the shapes of the paper's data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.shapes import SHAPES, Shape, random_candidates, random_codes, random_labels
from benchmarks.timing import ratio, time_in_turns
from tanager.losses import Hybrid
from tanager.model import make_layout
from tanager.structure import ParentSets
from tanager.training import Batch, Noise, Stepper, TrainingSettings, initial_state
from tanager.training.noise import GumbelStream

_LAM, _GAMMA, _ETA = 100.0, 10.0, 10.0
_RATE, _TAU = 0.03, 1.0
_SEED = 0


def tanager_step(shape: Shape, optimiser: str) -> Callable[[], object]:
    """A function that takes one step of this library, batch and noise drawn as in a fit."""
    n_features = len(shape.cards)
    sets = ParentSets.from_lists(random_candidates(shape, _SEED), order=np.arange(n_features))
    layout = make_layout(sets, list(shape.cards), shape.n_classes)
    codes = random_codes(shape, _SEED).astype(np.uint8)
    y = random_labels(shape, _SEED).astype(np.int64)
    noise = Noise(_SEED)
    state = initial_state(layout, noise)
    gumbel = GumbelStream(noise, sets.n_candidates)
    settings = TrainingSettings(optimiser=optimiser, batch_size=shape.batch_size)
    stepper = Stepper(layout, Hybrid(_LAM, _GAMMA, _ETA), settings, shape.batch_size)
    order = noise.permutation(0, shape.n_rows)
    n_batches = shape.n_rows // shape.batch_size

    def step() -> None:
        start = state.step % n_batches * shape.batch_size
        rows = order[start : start + shape.batch_size]
        stepper.step(state, Batch(codes, rows, y[rows], None), gumbel.at(state.step), _RATE, _TAU)

    return step


def torch_step(shape: Shape, module_name: str) -> Callable[[], object]:
    """A function that takes one step of a PyTorch implementation."""
    import importlib

    import torch

    module = importlib.import_module(f"benchmarks.{module_name}")
    torch.set_num_threads(1)
    model = module.TorchTAN(random_candidates(shape, _SEED), shape.cards, shape.n_classes, seed=_SEED)
    optimisers = module.make_optimisers(model, _RATE)
    codes = torch.as_tensor(random_codes(shape, _SEED)).long()
    y = torch.as_tensor(random_labels(shape, _SEED)).long()
    loss = partial(module.hybrid_loss, lam=_LAM, gamma=_GAMMA, eta=_ETA)
    order = torch.randperm(shape.n_rows, generator=torch.Generator().manual_seed(_SEED))
    batches = order.split(shape.batch_size)[:-1]
    n_done = 0

    def step() -> None:
        nonlocal n_done
        rows = batches[n_done % len(batches)]
        n_done += 1
        module.train_step(model, optimisers, codes[rows], y[rows], _TAU, loss)

    return step


def run() -> list[str]:
    """Measure and return the lines of the table."""
    lines = [
        "Training step, milliseconds of processor time: median (quartiles), one thread, K = 8",
        f"{'shape':10} {'dense Adam':>24} {'selected only':>24} {'PyTorch, plain':>24} {'PyTorch, tuned':>24}"
        f" {'dense/plain':>12} {'sel./plain':>12} {'dense/tuned':>12}",
    ]
    for name, shape in SHAPES.items():
        times = time_in_turns(
            {
                "dense": tanager_step(shape, "dense"),
                "selected": tanager_step(shape, "selected"),
                "plain": torch_step(shape, "torch_plain"),
                "tuned": torch_step(shape, "torch_tan"),
            },
            calls={"dense": 10, "selected": 10, "tuned": 10, "plain": 2},
        )
        ratios = [
            ratio(times["plain"], times["dense"]),
            ratio(times["plain"], times["selected"]),
            ratio(times["tuned"], times["dense"]),
        ]
        cells = "".join(f" {times[key]!s:>24}" for key in ("dense", "selected", "plain", "tuned"))
        lines.append(f"{name:10}{cells}" + "".join(f" {value:12.1f}" for value in ratios))
    return lines
