"""Parameters as option values: what learning asks of all of them, and those that are counted in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from tanager._options import Options, check_number, is_auto
from tanager.learning.context import Context
from tanager.learning.rows import Rows
from tanager.learning.structures import Forest
from tanager.model import Groups, Layout, Network, ParentDistribution, back_off, log_frequencies, log_prior
from tanager.training import History, ParentPath


class Fitted(NamedTuple):
    """What learning leaves."""

    network: Network
    distribution: ParentDistribution
    history: History
    path: ParentPath

    @classmethod
    def untrained(cls, layout: Layout, network: Network) -> Fitted:
        """A network of the one structure that a layout has."""
        sets = layout.parent_sets
        return cls(network, ParentDistribution(sets, np.zeros(sets.n_candidates)), History(), ParentPath())


@runtime_checkable
class Parameters(Protocol):
    """How the parameters of a structure are learned. Any object of this form can be given to the estimators.

    Attributes
    ----------
    needs_fixed : bool
        Whether the space must hold one structure only.
    can_join : bool
        Whether several layouts can be learned together.
    is_fine : bool
        Whether numbers are best cut into many bins.
    """

    @property
    def needs_fixed(self) -> bool: ...

    @property
    def can_join(self) -> bool: ...

    @property
    def is_fine(self) -> bool: ...

    def sized(self, n_rows: float) -> Any:
        """The parameters with a value for everything that depends on the number of rows."""

    def training_bytes(self, layout: Layout) -> int:
        """Memory of the CPTs while they are learned."""

    def row_bytes(self, rows: Rows) -> int:
        """Memory that rows take while parameters are learned, beyond their codes."""

    def groups(self, context: Context) -> Groups | None:
        """Groups of values for where features are parents, if the CPTs are to have them."""

    def tuned(self, lay_out: LayOut, context: Context, seed: int) -> Any:
        """The parameters with a value for everything that is chosen on held-out rows."""

    def learn(self, layouts: Sequence[Layout], context: Context, seed: int, forest: Forest | None) -> list[Fitted]:
        """Learn the parameters of one layout, or of several together on the loss of their mean log-joint."""


LayOut = Callable[[Context], list[Layout]]
"""Finds the structures of all members on the rows of a context, and lays out their CPTs."""


class ParameterOptions(Options):
    """Base of the parameters: nothing is grouped, tuned, or made to the number of rows."""

    needs_fixed: ClassVar[bool] = True
    can_join: ClassVar[bool] = True
    is_fine: ClassVar[bool] = False
    can_be_monotone: ClassVar[bool] = False

    def sized(self, n_rows: float) -> Self:
        """Nothing depends on the number of rows."""
        return self

    def row_bytes(self, rows: Rows) -> int:
        """Rows are learned from as they are."""
        return 0

    def groups(self, context: Context) -> Groups | None:
        """Values of parents stay apart."""
        return None

    def tuned(self, lay_out: LayOut, context: Context, seed: int) -> Self:
        """Nothing is chosen on held-out rows."""
        return self


class Counts(ParameterOptions):
    """Parameters in closed form: smoothed relative frequencies.

    Parameters
    ----------
    smoothing : float, above 0, or "auto", default="auto"
        A number is added to each cell of the counts, as in the paper, which adds 1. With "auto" the frequencies of a
        feature's values given parent and class back off to those given the class, and these to those without it. The
        rows, each left out in turn, say how much (see `tanager.model.backoff`), and how far evidence is discounted that
        features share; the network of a tree then has calibrated probabilities of the classes, while ``description_``
        has those of the data.
    """

    can_join: ClassVar[bool] = False

    smoothing: float | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        if not self.backs_off:
            check_number("smoothing", self.smoothing, above=0)

    @property
    def backs_off(self) -> bool:
        """Whether the rows decide on the smoothing."""
        return is_auto(self.smoothing)

    def training_bytes(self, layout: Layout) -> int:
        """Memory of the CPTs while they are counted."""
        return layout.training_bytes

    def learn(self, layouts: Sequence[Layout], context: Context, seed: int, forest: Forest | None) -> list[Fitted]:
        """Count the CPTs of each layout."""
        return [Fitted.untrained(layout, self._count(layout, context)) for layout in layouts]

    def _count(self, layout: Layout, context: Context) -> Network:
        counts = context.counts(layout)
        if self.backs_off:
            rows = context.merged_rows()
            return back_off(counts, rows.codes, rows.y, rows.full_weight())
        theta = log_frequencies(layout, counts.cells, float(self.smoothing))
        prior = log_prior(counts.of_class, float(self.smoothing))
        return Network.from_arena(layout, theta, prior, layout.parent_sets.ptr[:-1])
