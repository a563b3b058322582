"""Values that several layers share: plain tuples of arrays, so that kernels can take them as they are.

Shapes use the names of ``docs/notation.md``: D features, C classes, E candidates, B rows of a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


class Cpts(NamedTuple):
    """Where each candidate's CPT lies in the arena, and how it is indexed.

    A slot is a place in the sum of the log-joint, filled by one of its candidates; here there is one slot for each
    feature. Candidate ``e`` of slot ``s`` with child ``i`` lies at ``offset[e]:offset[e + 1]`` and is read as
    ``[x_parent, x_i, c]``. Parents are columns: the D features, then P pairs of features, which take part as one
    variable each (mostly there are none), and last a virtual one with the single value 0, for those without a parent.
    """

    child: IntArray  # int64[S]: the feature whose values the slot's CPTs give the probability of
    ptr: IntArray  # int64[S + 1]: candidates of slot s are ptr[s]:ptr[s + 1]
    parent: IntArray  # int64[E]: D + P stands for no parent
    offset: IntArray  # int64[E + 1]
    cards: IntArray  # int64[D + P + 1]: number of values of each column; the last is 1


class Pull(NamedTuple):
    """A term of the loss that pulls CPTs: half of ``weight`` times the squared distance from the goal.

    The goal of child i is ``goals[offset[i]:offset[i + 1]]``, read as ``[x_i, c]``, for every value of its parents.
    Only what differs between the classes counts, since a difference that all classes share changes no prediction.
    """

    goals: FloatArray  # float32
    offset: IntArray  # int64[D + 1]
    weight: float  # 0 is no pull


class Forest(NamedTuple):
    """A network without cycles as kernels read it."""

    theta: FloatArray  # float32: log-probabilities of all CPTs
    prior: FloatArray  # float64[C]
    cpts: Cpts  # one candidate for each feature
    order: IntArray  # int64[D]: parents before their children; empty if nothing can be summed out
    start: IntArray  # int64[D + 1]: place of each feature's first value in a list of all features' values


class OpenForest(NamedTuple):
    """A network without cycles whose CPTs kernels may change; values of parents may be put into groups."""

    theta: FloatArray  # float64: log-CPTs, one after the other
    log_prior: FloatArray  # float64[C]
    cpts: Cpts  # one candidate for each feature
    order: IntArray  # int64[D]: each feature is followed at once by all that are below it
    group: IntArray  # int64: group of each value of each feature, where the feature is a parent
    start: IntArray  # int64[D + 1]: place of each feature's first value


class Adam(NamedTuple):
    """Constants of Adam (Kingma and Ba, 2015); ``epsilon`` is added outside the bias correction."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-7


class Moments(NamedTuple):
    """A parameter with Adam's running means of its gradient and of the gradient's square."""

    value: FloatArray
    mean: FloatArray
    square: FloatArray


class Descent(NamedTuple):
    """What one step of Adam on the CPTs needs."""

    step: int  # number of this step, from 1
    last: IntArray  # int64[E]: the step that last gave the candidate's CPT a gradient
    updates: IntArray  # int64[E]: how many gradients the CPT has had
    rate: float
    adam: Adam
    is_dense: bool  # whether unselected CPTs go on moving on their momentum
    rest_after: int  # steps without a gradient after which momentum no longer moves a CPT
