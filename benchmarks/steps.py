"""One training step, this library and PyTorch, one thread each, on the shapes of the paper's data sets.

"Plain" is the method as one would write it in PyTorch, "tuned" the fastest form that was found. Random data suffice for
speed. Where the real data are available, the test errors of a short training, the same for all, stand beside it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks import peers
from benchmarks.data import error_percent, no_data, paper_fold
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import SHAPES, SMALL_SHAPES, Shape, random_candidates, random_codes, random_labels
from benchmarks.timing import ratio, time_in_turns
from tanager.losses import Hybrid
from tanager.model import Network, make_layout
from tanager.structure import ParentSets
from tanager.training import (
    Noise,
    Schedule,
    Stepper,
    TrainingSettings,
    initial_state,
    make_problem,
    structure_of,
    train,
)
from tanager.training.noise import GumbelStream

_LAM, _GAMMA, _ETA = 100.0, 10.0, 10.0
_RATE, _TAU = 0.03, 1.0
_SEED = 0

# Steps before the clock starts: dense Adam reaches its full cost once most CPTs of a feature have been drawn.
_STEPS_BEFORE = 60
STEPS_AT_ONCE = 10

_TINY = {"tiny": Shape(60, 20, 3, (2, 3, 4, 3))}

_TARGETS = {
    "dense": {"letter": 20.0, "satimage": 12.0, "usps": 30.0, "mnist": 18.0},
    "selected": {"letter": 40.0, "satimage": 30.0, "usps": 40.0, "mnist": 35.0},
}
_TUNED_TARGETS = {
    "dense": {},
    "selected": {"letter": 20.0, "satimage": 20.0, "usps": 14.0, "mnist": 22.0, "breast_cancer": 60.0},
}
_LABELS = {"dense": "dense Adam, as published", "selected": "default optimiser"}

# The training whose errors are recorded; on mnist PyTorch takes 7 s for an epoch.
_TRAINING_RATE, _PHI_RATE = 0.1, 0.003
_EPOCHS = {"letter": 20, "satimage": 20, "usps": 20, "mnist": 4}


def tanager_steps(shape: Shape, optimiser: str) -> Callable[[], object]:
    """A function that takes `STEPS_AT_ONCE` steps of this library in one call, as a fit takes those of an epoch."""
    n_features = len(shape.cards)
    sets = ParentSets.from_lists(random_candidates(shape, _SEED), order=np.arange(n_features))
    layout = make_layout(sets, list(shape.cards), shape.n_classes)
    codes = random_codes(shape, _SEED).astype(np.uint8)
    y = random_labels(shape, _SEED).astype(np.int64)
    noise = Noise(_SEED)
    state = initial_state(layout, noise)
    gumbel = GumbelStream(noise, sets.n_candidates)
    settings = TrainingSettings(optimiser=optimiser, batch_size=shape.batch_size)
    problem = make_problem(codes, y, None, shape.batch_size, may_merge=False)
    stepper = Stepper(state, layout, problem, Hybrid(_LAM, _GAMMA, _ETA), settings)
    n_batches = shape.n_rows // shape.batch_size
    batches = noise.permutation(0, shape.n_rows)[: n_batches * shape.batch_size].reshape(n_batches, -1)

    def take_steps() -> None:
        rows = batches[(state.step + np.arange(STEPS_AT_ONCE)) % n_batches]
        stepper.run(rows.ravel(), gumbel.steps(state.step, STEPS_AT_ONCE), None, Schedule(_RATE, _TAU))

    while state.step < _STEPS_BEFORE:
        take_steps()
    return take_steps


def torch_step(shape: Shape, module_name: str) -> Callable[[], object]:
    """A function that takes one step of a PyTorch implementation."""
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


def _tanager_error(name: str, optimiser: str) -> float:
    """Test error after a short training."""
    shape, fold = SHAPES[name], paper_fold(name)
    sets = ParentSets.from_lists(random_candidates(shape, _SEED), order=np.arange(len(shape.cards)))
    layout = make_layout(sets, fold.cards.astype(np.int64), shape.n_classes)
    settings = TrainingSettings(
        epochs=_EPOCHS[name],
        batch_size=shape.batch_size,
        learning_rate=_TRAINING_RATE,
        structure_learning_rate=_PHI_RATE,
        optimiser=optimiser,
    )
    problem = make_problem(fold.X_train, fold.y_train.astype(np.int64), None, shape.batch_size)
    noise = Noise(_SEED)
    state = train(initial_state(layout, noise), layout, problem, Hybrid(_LAM, _GAMMA, _ETA), settings, noise)
    chosen = structure_of(state, layout).most_probable()
    network = Network.from_arena(layout, state.theta.value, state.prior.value, chosen)
    return error_percent(network.predict(fold.X_test), fold.y_test)


def _torch_error(name: str) -> float:
    """Test error after the same training in PyTorch, the tuned form, which is the same model."""
    from benchmarks import torch_tan

    shape, fold = SHAPES[name], paper_fold(name)
    model = torch_tan.TorchTAN(random_candidates(shape, _SEED), tuple(fold.cards.tolist()), shape.n_classes, _SEED)
    torch_tan.fit(
        model,
        fold.X_train,
        fold.y_train,
        loss_fn=partial(torch_tan.hybrid_loss, lam=_LAM, gamma=_GAMMA, eta=_ETA),
        epochs=_EPOCHS[name],
        batch_size=shape.batch_size,
        learning_rate=_TRAINING_RATE,
        phi_learning_rate=_PHI_RATE,
    )
    return error_percent(model.predict(fold.X_test), fold.y_test)


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    missing: list[str] = []
    has_torch = peers.find("torch", missing) is not None
    rows, lines = [], []
    for name, shape in (_TINY if tiny else SHAPES | SMALL_SHAPES).items():
        rivals = {optimiser: tanager_steps(shape, optimiser) for optimiser in _LABELS}
        if has_torch:
            rivals |= {"plain": torch_step(shape, "torch_plain"), "tuned": torch_step(shape, "torch_tan")}
        times = time_in_turns(rivals, calls={"tuned": 10, "plain": 2}, rounds=2 if tiny else 15)
        times |= {optimiser: times[optimiser].times(1 / STEPS_AT_ONCE) for optimiser in _LABELS}
        if not has_torch:
            lines.append(f"  {name}: " + ", ".join(f"{_LABELS[key]} {time}" for key, time in times.items()))
            continue
        has_data = not tiny and paper_fold(name) is not None
        if name in SHAPES and not has_data:
            missing.append(no_data(name))
        torch_error = _torch_error(name) if has_data else 0.0
        for optimiser, targets in _TARGETS.items():
            accuracy = ""
            if has_data:
                error = _tanager_error(name, optimiser)
                accuracy = f"test error after {_EPOCHS[name]} epochs {error:.2f} %, PyTorch's {torch_error:.2f} %"
            target, tuned_target = (
                Target(each[name]) if name in each else None for each in (targets, _TUNED_TARGETS[optimiser])
            )
            what = f"training step, {name}, {_LABELS[optimiser]}"
            ours = times[optimiser]
            plain, tuned = times["plain"], times["tuned"]
            rows.append(Row(what, ours, "PyTorch, plain", plain, ratio(plain, ours), target, accuracy))
            rows.append(Row(what, ours, "PyTorch, tuned", tuned, ratio(tuned, ours), tuned_target))
    notes = [
        "K = 8 candidate parents, batches of the paper, random data of these shapes, one thread.",
        f"This library takes {STEPS_AT_ONCE} steps in one call, as a fit takes those of an epoch.",
    ]
    return Section("Training step", rows, notes, lines, missing)
