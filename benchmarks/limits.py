"""How far this library is from what the machine allows.

The limit of a task is ``max(bytes / bandwidth, operations / rate)``:

* *bytes* are those that must be moved beyond the first cache at least once, however clever the code: the parameters
  that change, with their moments, read and written; each line of a CPT that a batch reads, once; the codes; the result.
  What is read again within one call is assumed to be in the first cache, and so free.
* *bandwidth* is that of a copy (`numpy.copyto`) whose two arrays together take as much memory as the task, so that a
  task that fits into a cache is compared with that cache, and one that does not with main memory.
* *operations* are the additions, multiplications, roots and so on of the method, each counted as one, and a
  multiplication with the addition that follows it as one too. `exp` counts 16 and `log` 14, as in
  ``src/core/lanes.h``. Division and root count one, though the processor takes several cycles for them.
* *rate* is that of a compiled loop that makes nothing but independent multiply-adds in single precision, in the vector
  instructions that the compiler picks.

Copies, multiply-adds and tasks are timed in turns within one run, in processor time on one thread. The model assumes
that moving and calculating overlap perfectly, and that addresses, branches and shuffling of lanes cost nothing, so a
ratio of 1 is out of reach and 2 to 3 is close.

Training step, for a batch of B rows, D features, C classes and CPTs of ``n_e = R_parent R_child C`` entries: in
expectation ``l_e = L (1 - (1 - 1 / L)^B)`` of the ``L = R_parent R_child`` lines of a CPT are read. One CPT of each
feature is selected, each with the same probability.

====================================  ======================================  =====================================
part                                  bytes                                   operations
====================================  ======================================  =====================================
codes of the batch                    B D                                     -
log-joint of the selected CPTs        (below)                                 B D C
loss                                  (stays in cache)                        20 B C
weight gradient of each candidate     4 l_e C, unless the CPT is moved        B C
gradient of a selected CPT            (below)                                 B C + n_e
Adam on a selected CPT                24 n_e                                  10 n_e
Adam on momentum (dense only)         24 n_e                                  7 n_e
normalisation of a moved CPT          (with Adam)                             18 n_e + 14 n_e / R_child
====================================  ======================================  =====================================

Chow-Liu: the codes once and the matrix of information; one operation for each row and pair of features, and
``18 R_i R_j C`` for the information of a pair. This is the arithmetic of counting row by row; other ways of counting
have other limits.

Prediction: the codes, the CPTs once and the classes; for each row ``D C`` additions and C comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.chow_liu import chow_liu
from benchmarks.data import Fold, paper_fold, random_fold
from benchmarks.letter import short_classifier
from benchmarks.machine import copy_call, multiply_add_call
from benchmarks.predict import draw_rows
from benchmarks.records import Row, Section, Target
from benchmarks.shapes import SHAPES, Shape, random_candidates
from benchmarks.steps import STEPS_AT_ONCE, tanager_steps
from benchmarks.timing import Timing, time_in_turns

_LARGE, _SMALL = 1 << 28, 1 << 19

_EXP, _LOG = 16, 14

_TARGETS = {
    "training step, letter, default optimiser": 4.5,
    "training step, satimage, default optimiser": 4.5,
    "training step, usps, default optimiser": 7.0,
    "training step, mnist, default optimiser": 3.0,
    "training step, mnist, dense Adam": 3.0,
}


class Work(NamedTuple):
    """The least that a task must do."""

    bytes: float
    operations: float
    working_set: int  # bytes that the task keeps in use


def step_work(shape: Shape, candidates: list[list[int]], optimiser: str) -> Work:
    """Work of one training step; see the table above."""
    B, D, C = shape.batch_size, len(shape.cards), shape.n_classes
    n_bytes, operations, n_entries = float(B * D), float(B * D * C + 20 * B * C), 0
    for i, parents in enumerate(candidates):
        card = shape.cards[i]
        lines = np.array([card * (1 if j < 0 else shape.cards[j]) for j in parents], dtype=float)
        entries = lines * C
        share = np.full(len(parents), 1.0 / len(parents))  # probability of being selected
        is_moved = np.ones(len(parents)) if optimiser == "dense" else share
        lines_read = lines * (1.0 - (1.0 - 1.0 / lines) ** B)
        n_bytes += float((24.0 * entries * is_moved + 4.0 * C * lines_read * (1.0 - is_moved)).sum())
        normalise = (_EXP + 2) * entries + _LOG * entries / card
        operations += float((share * (B * C + 11.0 * entries) + (is_moved - share) * 7.0 * entries).sum())
        operations += float((is_moved * normalise).sum())
        if len(parents) > 1:
            operations += float(len(parents) * B * C)
        n_entries += int(entries.sum())
    return Work(n_bytes, operations, 12 * n_entries)


def chow_liu_work(fold: Fold, n_classes: int) -> Work:
    """Work of the information of all pairs."""
    n_rows, n_features = fold.X_train.shape
    cards = fold.cards.astype(float)
    n_cells = (cards.sum() ** 2 - (cards**2).sum()) / 2 * n_classes
    n_pairs = n_features * (n_features - 1) / 2
    moved = fold.X_train.nbytes + fold.y_train.nbytes + 8 * n_features**2
    return Work(moved, n_pairs * n_rows + (_LOG + 4) * n_cells, moved)


def predict_work(codes: np.ndarray, n_parameters: int, n_classes: int) -> Work:
    """Work of predicting classes."""
    moved = codes.nbytes + 4 * n_parameters + 8 * len(codes)
    return Work(moved, codes.size * n_classes + len(codes) * n_classes, moved)


def _measure(what: str, call: Callable[[], object], work: Work, n_times: int, rounds: int) -> Row:
    """Time a task in turns with a copy of its size and with multiply-adds."""
    copy, n_copied = copy_call(work.working_set)
    multiply_add, n_added = multiply_add_call()
    rivals = {"task": call, "copy": copy, "multiply-add": multiply_add}
    times = time_in_turns(rivals, rounds=rounds, warm_up=2)
    taken = times["task"].times(1 / n_times)
    bandwidth, rate = n_copied / times["copy"].median, n_added / times["multiply-add"].median  # in a millisecond
    moving, calculating = work.bytes / bandwidth, work.operations / rate
    limit = max(moving, calculating)
    detail = (
        f"{work.bytes / 1e6:.3g} MB at {bandwidth / 1e6:.3g} GB/s: {Timing(moving, moving, moving)}; "
        f"{work.operations / 1e6:.3g} M operations at {rate / 1e6:.3g} G/s: "
        f"{Timing(calculating, calculating, calculating)}"
    )
    target = Target(_TARGETS[what], at_most=True) if what in _TARGETS else None
    ratio = taken.median / limit
    return Row(what, taken, "limit model", Timing(limit, limit, limit), ratio, target, detail)


def _tasks(tiny: bool) -> list[tuple[str, Callable[[], object], Work, int]]:
    """Name, call, work and how often a call does that work, of each task."""
    tasks: list[tuple[str, Callable[[], object], Work, int]] = []
    shapes = {"tiny": Shape(60, 20, 3, (2, 3, 4, 3))} if tiny else SHAPES
    for name, shape in shapes.items():
        for optimiser, label in (("dense", "dense Adam"), ("selected", "default optimiser")):
            work = step_work(shape, random_candidates(shape, 0), optimiser)
            tasks.append((f"training step, {name}, {label}", tanager_steps(shape, optimiser), work, STEPS_AT_ONCE))
    small = Shape(300, 100, 10, (3, 2, 4, 3))
    usps = random_fold(small) if tiny else paper_fold("usps") or random_fold(SHAPES["usps"])
    tree = chow_liu()
    tasks.append(
        ("Chow-Liu fit, usps", lambda: tree.fit(usps.X_train, usps.y_train), chow_liu_work(usps, 10), 1),
    )
    few = Shape(300, 100, 26, SHAPES["letter"].cards)
    letter = random_fold(few) if tiny else paper_fold("letter") or random_fold(SHAPES["letter"])
    model = short_classifier("learned", 0, epochs=1).fit(letter.X_train, letter.y_train)
    codes = draw_rows(letter, 1000 if tiny else 100_000)
    work = predict_work(codes, model.network_.n_parameters, 26)
    tasks.append(("predict, letter, 100,000 rows", lambda: model.predict(codes), work, 1))
    return tasks


def run(*, tiny: bool = False) -> Section:
    """Measure every task against its limit."""
    rounds = 2 if tiny else 11
    rows = [_measure(*task, rounds) for task in _tasks(tiny)]
    copies = {name: copy_call(size) for name, size in (("large", _LARGE), ("small", _SMALL))}
    multiply_add, n_added = multiply_add_call()
    rivals = {name: call for name, (call, _) in copies.items()} | {"multiply-add": multiply_add}
    times = time_in_turns(rivals, rounds=rounds, warm_up=2)
    large, small = (n_bytes / times[name].median / 1e6 for name, (_, n_bytes) in copies.items())
    notes = [
        f"Copy bandwidth {large:.3g} GB/s in main memory and {small:.3g} GB/s in cache, reads and writes counted; "
        f"{n_added / times['multiply-add'].median / 1e6:.3g} billion multiply-adds a second.",
        "One thread, processor time.",
        "The model is in the docstring of benchmarks/limits.py.",
    ]
    return Section("Against the limit of the machine", rows, notes)
