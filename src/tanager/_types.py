"""Values that several layers share: plain tuples of arrays, so that kernels can take them as they are.

Shapes use the names of ``docs/notation.md``: D features, C classes, E candidates, B rows of a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]


class Tables(NamedTuple):
    """Where each candidate's CPT lies in the arena, and how it is indexed.

    Candidate ``e`` of feature ``i`` lies at ``offset[e]:offset[e + 1]`` and is read as ``[x_parent, x_i, c]``.
    Feature number D is a virtual one with the single value 0: the parent of those that have none.
    """

    ptr: IntArray  # int64[D + 1]: candidates of feature i are ptr[i]:ptr[i + 1]
    parent: IntArray  # int64[E]: D stands for no parent
    offset: IntArray  # int64[E + 1]
    cards: IntArray  # int64[D + 1]: number of values of each feature; cards[D] is 1


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
