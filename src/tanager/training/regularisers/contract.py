"""What a regulariser may do to a step of training.

A step draws a structure, reads its log-joint, asks the loss for a gradient and descends. A regulariser can act at four
points of it: change the drawn structure, move the drawn CPTs directly, add a quadratic term to the loss of the CPTs,
and add to the gradient of phi. It is prepared once for a run and may keep what it counted or drew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tanager._options import Options
from tanager._types import Cpts, FloatArray, IntArray, Pull
from tanager.model import Layout
from tanager.training.noise import Noise
from tanager.training.problem import Problem


class FeatureCpts(NamedTuple):
    """Log-probabilities ``[x_i, c]`` of every feature, one CPT after the other."""

    value: FloatArray  # float32
    offset: IntArray  # int64[D + 1]

    @classmethod
    def zeros(cls, layout: Layout) -> FeatureCpts:
        """CPTs that make no difference between the classes."""
        offset = np.concatenate([[0], np.cumsum(layout.cards * layout.n_classes)]).astype(np.int64)
        return cls(np.zeros(offset[-1], np.float32), offset)

    def recoded(self, maps: Sequence[IntArray], layout: Layout) -> FeatureCpts:
        """The same where values have other codes; new values are as rare as the rarest."""
        wider = FeatureCpts.zeros(layout)
        for i, of_value in enumerate(maps):
            old = self.value[self.offset[i] : self.offset[i + 1]].reshape(-1, layout.n_classes)
            new = wider.value[wider.offset[i] : wider.offset[i + 1]].reshape(-1, layout.n_classes)
            new[...] = old.min(axis=0)
            new[of_value] = old
        return wider


class Run(NamedTuple):
    """What a regulariser is prepared for."""

    problem: Problem
    layout: Layout
    noise: Noise
    start: FeatureCpts | None = None  # where the CPTs started, if not at random


class Hooks:
    """What a prepared regulariser does in each step; a subclass overrides what it needs.

    The built-in regularisers are part of the compiled step and only tell it their ``actions``. Methods that a subclass
    overrides are called back from it in every step, which costs some microseconds each.
    """

    actions: Mapping[str, Any] = {}
    """Actions of the compiled step, by name (see ``src/core/bind_training.cpp``)."""

    pull: Pull | None = None
    """A quadratic term of the loss of the CPTs. At most one regulariser of a run can have one."""

    def change_structure(self, step: int, cpts: Cpts, selected: IntArray, soft: FloatArray) -> None:
        """Change the drawn structure in place, after sampling: the candidate of each slot, and the soft weights."""

    def move_cpts(self, theta: FloatArray, cpts: Cpts, selected: IntArray, rate: float) -> None:
        """Move the drawn CPTs in place, before the step of Adam; ``rate`` is the learning rate."""

    def add_phi_gradient(self, phi: FloatArray, gradient: FloatArray) -> None:
        """Add the gradient of a term of the loss that depends on phi."""


class Regulariser(Options):
    """A regulariser as an option value, whose first field is its strength; zero strength means none.

    To add one, subclass this and `Hooks`; ``docs/extending-regulariser.md`` walks through an example.
    """

    needs_parents: ClassVar[bool] = True
    """Whether it has no effect on naive Bayes."""

    pulls_to_start: ClassVar[bool] = False
    """Whether it pulls towards the start of the CPTs; training a naive Bayes start then leaves it out."""

    @property
    def largest_rate(self) -> float:
        """The learning rate above which the regulariser would make training swing."""
        return np.inf

    def extend(self, layout: Layout, phi: FloatArray | None) -> tuple[Layout, FloatArray | None]:
        """The layout with the CPTs that the regulariser adds, and the phi to start from (None means zeros)."""
        return layout, phi

    def prepare(self, run: Run) -> Hooks:
        """Hooks for one training run."""
        raise NotImplementedError
