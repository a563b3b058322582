"""Queries of the joint distribution: probabilities given observed values, completions, draws, information.

These functions implement methods of `tanager.model.Network`, which documents their arguments and results. All of them
require a network without cycles. CPT entries are positive, so no observation has probability zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, Forest, IntArray
from tanager.core import (
    complete_most_probably,
    draw_completions,
    fill_class_joint,
    fill_marginals,
    fill_pair_joint,
)
from tanager.model.observed import Observed

CLASS = "class"
Target = int | Literal["class"]
"""A variable of a network: the number of a feature, or the class."""

# Uniform numbers are drawn for this many rows at once.
_BLOCK_ROWS = 16384
_MOST_CELLS = 10_000_000  # of a joint distribution, 80 MB


@dataclass(frozen=True)
class Marginals:
    """Probabilities of every variable given the observed values of each row.

    Attributes
    ----------
    classes : float64 array of shape (N, C)
    features : tuple of float64 arrays
        One array of shape (N, R_i) for each feature; one-hot where the feature was observed.
    """

    classes: FloatArray
    features: tuple[FloatArray, ...]


def find_marginals(forest: Forest, observed: Observed, n_threads: int) -> Marginals:
    """Probabilities of all classes and of all values of all features."""
    classes = np.empty((observed.n_rows, len(forest.prior)))
    features = np.empty((observed.n_rows, forest.start[-1]))
    _run(fill_marginals, observed.n_rows, n_threads, forest, *observed, classes, features)
    return Marginals(classes, tuple(np.split(features, forest.start[1:-1], axis=1)))


def find_joint(forest: Forest, observed: Observed, targets: Sequence[Target], n_threads: int) -> FloatArray:
    """Joint probability of some features and the class, with axes in the order of the targets."""
    features = _check_targets(targets, len(forest.order))
    n_cells = math.prod(int(forest.cpts.cards[i]) for i in features) * len(forest.prior) * observed.n_rows
    if n_cells > _MOST_CELLS:
        raise ValueError(
            f"the joint distribution has {n_cells:,} cells, more than {_MOST_CELLS:,}: ask for fewer targets"
        )
    joint = _joint_with_class(forest, observed, features, n_threads)
    if CLASS not in targets:
        return joint.sum(axis=-1)
    return np.moveaxis(joint, -1, 1 + list(targets).index("class"))


def _joint_with_class(forest: Forest, observed: Observed, features: list[int], n_threads: int) -> FloatArray:
    """Joint probability of features and the class, which has the last axis."""
    cards = forest.cpts.cards
    if len(features) > 2:
        # By the chain rule: the first feature, and the others given each of its values.
        first, n_values = features[0], int(cards[features[0]])
        of_first = _joint_with_class(forest, observed, [first], n_threads).sum(axis=-1)
        codes = np.repeat(observed.codes, n_values, axis=0)
        codes[:, first] = np.tile(np.arange(n_values), observed.n_rows)
        given = Observed(codes, np.repeat(observed.classes, n_values))
        of_others = _joint_with_class(forest, given, features[1:], n_threads)
        shape = (observed.n_rows, n_values, *of_others.shape[1:])
        joint: FloatArray = of_others.reshape(shape) * of_first.reshape(shape[:2] + (1,) * (len(shape) - 2))
        return joint
    if not features:
        return find_marginals(forest, observed, n_threads).classes
    joint = np.empty((observed.n_rows, *(int(cards[i]) for i in features), len(forest.prior)))
    if len(features) == 2:
        paths = _paths_to_meeting(forest, features[0], features[1])
        _run(fill_pair_joint, observed.n_rows, n_threads, forest, *observed, *paths, joint)
    else:
        _run(fill_class_joint, observed.n_rows, n_threads, forest, *observed, features[0], joint)
    return joint


def complete(
    forest: Forest, observed: Observed, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """The most probable completion of each row: codes, classes and log-probability."""
    codes, classes = np.empty_like(observed.codes), np.empty_like(observed.classes)
    log_probability = np.empty(observed.n_rows)
    _run(complete_most_probably, observed.n_rows, n_threads, forest, *observed, codes, classes, log_probability)
    return codes, classes, log_probability


def draw(
    forest: Forest, observed: Observed, n: int, rng: np.random.Generator, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Random completions: n of a single row, or one of each of n rows."""
    check_n_draws(observed, n)
    codes, classes = np.empty((n, observed.codes.shape[1]), np.int64), np.empty(n, np.int64)
    for start in range(0, n, _BLOCK_ROWS):
        rows = slice(start, min(start + _BLOCK_ROWS, n))
        part = observed if observed.n_rows == 1 else Observed(observed.codes[rows], observed.classes[rows])
        # Noise is drawn for the whole block, so that it does not depend on the number of threads.
        uniform = rng.random((rows.stop - start, codes.shape[1] + 1))
        _run(draw_completions, len(uniform), n_threads, forest, *part, uniform, codes[rows], classes[rows])
    return codes, classes


def check_n_draws(observed: Observed, n: int) -> None:
    """Require observed values of one row for all draws, or of one row per draw."""
    if observed.n_rows not in (1, n):
        raise ValueError(f"to draw {n} rows, give observed values of 1 row or of {n} rows, got {observed.n_rows}")


def class_joints(forest: Forest) -> list[FloatArray]:
    """Joint p(x_i, c) of each feature with the class, [R_i, C], with nothing observed."""
    prior = _softmax(forest.prior, axis=0)
    joints: dict[int, FloatArray] = {len(forest.order): prior[None, :]}  # the virtual feature "no parent"
    for i in forest.order.tolist():
        joints[i] = np.einsum("jc,jxc->xc", joints[int(forest.cpts.parent[i])], np.exp(_table(forest, i)))
    return [joints[i] for i in range(len(forest.order))]


def joint_entropy(forest: Forest) -> float:
    """Joint entropy: that of the class, and of each feature given its parents."""
    joints = [*class_joints(forest), _softmax(forest.prior, axis=0)[None, :]]
    total = _entropy(joints[-1])
    for i in forest.order.tolist():
        # With the logarithm from the CPT itself, a probability that underflows adds zero.
        cpt = _table(forest, i)
        total -= float(np.einsum("jc,jxc->", joints[int(forest.cpts.parent[i])], np.exp(cpt) * cpt))
    return total


def class_information(forest: Forest) -> FloatArray:
    """Mutual information between each feature and the class, float64[D]."""
    joints = class_joints(forest)
    class_entropy = _entropy(_softmax(forest.prior, axis=0))
    information = [_entropy(joint.sum(axis=1)) + class_entropy - _entropy(joint) for joint in joints]
    return np.maximum(information, 0.0)  # rounding may give an uninformative feature a negative value


def _run(kernel: Any, n_rows: int, n_threads: int, *arguments: Any) -> None:
    with Crew(n_threads) as crew:
        crew.run(kernel, crew.split(n_rows), *arguments)


def _check_targets(targets: Sequence[Target], n_features: int) -> list[int]:
    """The features among the targets, in their order."""
    names = list(targets)
    rule = f"targets must be some of the features 0 to {n_features - 1}, 'class', or both"
    if isinstance(targets, str) or len(set(names)) != len(names):
        raise ValueError(f"{rule}, each at most once and in a list; got {targets!r}")
    features = []
    for name in names:
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and 0 <= name < n_features:
            features.append(int(name))
        elif name != CLASS:
            raise ValueError(f"{name!r} is not a variable of the network; {rule}")
    if not names:
        raise ValueError(f"{rule}; got {targets!r}")
    return features


def _paths_to_meeting(forest: Forest, a: int, b: int) -> tuple[IntArray, IntArray]:
    """Paths from two features up to the first that both have in common, else to their roots."""
    paths = [_path_to_root(forest, a), _path_to_root(forest, b)]
    common = [i for i in paths[0] if i in paths[1]]
    if common:
        paths = [path[: path.index(common[0]) + 1] for path in paths]
    return np.array(paths[0]), np.array(paths[1])


def _path_to_root(forest: Forest, feature: int) -> list[int]:
    path = [feature]
    while forest.cpts.parent[path[-1]] < len(forest.order):
        path.append(int(forest.cpts.parent[path[-1]]))
    return path


def _table(forest: Forest, i: int) -> FloatArray:
    """CPT of a feature, log-probabilities ``[x_parent, x_i, c]`` normalised in double precision."""
    cpts = forest.cpts
    shape = (cpts.cards[cpts.parent[i]], cpts.cards[i], len(forest.prior))
    cpt = forest.theta[cpts.offset[i] : cpts.offset[i + 1]].reshape(shape).astype(np.float64)
    return cpt - np.logaddexp.reduce(cpt, axis=1, keepdims=True)


def _softmax(values: FloatArray, axis: int) -> FloatArray:
    weights: FloatArray = np.exp(values - values.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def _entropy(probabilities: FloatArray) -> float:
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum()) + 0.0
