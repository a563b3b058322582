"""What training leaves behind: each epoch's loss and error, and how the parent distribution sharpened.

The paper's Figure 1 shows three moments of the latter. At most 41 are kept here, the start and the end among them, and
fewer where there are so many candidates that they would take more than 16 MB.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.model import ParentDistribution
from tanager.structure import ParentSets


@dataclass
class History:
    """One entry for each epoch.

    Attributes
    ----------
    loss : list of float
        Mean loss of the batches, each under the structure drawn for it.
    error : list of float
        Share of rows misclassified in those batches.
    entropy : list of float
        Mean entropy of the parent distribution in nats, at the end of the epoch.
    learning_rate, tau : list of float
    validation_loss : list of float
        Loss of the validation rows, if there are some.
    """

    loss: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    entropy: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    tau: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.loss)

    def append(self, **values: float) -> None:
        """Add one epoch; every column but that of validation rows must be given."""
        for column in fields(self)[:-1]:
            getattr(self, column.name).append(float(values[column.name]))

    def to_arrays(self) -> dict[str, FloatArray]:
        """Columns as arrays, for instance for ``pandas.DataFrame``."""
        columns = fields(self) if self.validation_loss else fields(self)[:-1]
        return {column.name: np.array(getattr(self, column.name)) for column in columns}


_MOST_SNAPSHOTS = 41
_MOST_NUMBERS = 4_000_000


@dataclass(eq=False)
class ParentPath:
    """Snapshots of the probabilities of all candidates.

    Attributes
    ----------
    epochs : list of int
        Epochs that had been done; 0 is the start.
    snapshots : list of float32 array of shape (E,)
    is_closed : bool
        Whether the search is over, so that what is trained from here on adds nothing.
    """

    epochs: list[int] = field(default_factory=list)
    snapshots: list[NDArray[np.float32]] = field(default_factory=list)
    is_closed: bool = False

    def record(self, epoch: int, n_epochs: int, distribution: ParentDistribution) -> None:
        """Keep the distribution if the epoch, of so many in all, is one to keep, and if there is a choice."""
        if self.is_closed or epoch not in snapshot_epochs(n_epochs, len(distribution.phi)):
            return
        if epoch == 0 and distribution.mean_entropy() == 0:
            self.is_closed = True
            return
        self.epochs.append(epoch)
        self.snapshots.append(distribution.probabilities.astype(np.float32))

    def to_arrays(self, parent_sets: ParentSets) -> dict[str, NDArray[Any]]:
        """Snapshots with the child and the parent of each candidate, as `tanager.TANClassifier.parent_path_`."""
        return {
            "epoch": np.array(self.epochs, np.int64),
            "probability": np.array(self.snapshots, np.float32).reshape(-1, parent_sets.n_candidates),
            "child": np.repeat(np.arange(parent_sets.n_features), np.diff(parent_sets.ptr)),
            "parent": parent_sets.parents.astype(np.int64),
        }

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ParentPath)
            and (self.epochs, self.is_closed) == (other.epochs, other.is_closed)
            and all(map(np.array_equal, self.snapshots, other.snapshots))
        )


def snapshot_epochs(n_epochs: int, n_candidates: int) -> list[int]:
    """Epochs at which the distribution is kept: the start, the end, and some in between at equal distance.

    Examples
    --------
    >>> snapshot_epochs(3, 10)
    [0, 1, 2, 3]
    >>> len(snapshot_epochs(500, 10)), snapshot_epochs(500, 1_500_000), snapshot_epochs(500, 10_000_000)
    (41, [0, 500], [])
    """
    n_kept = min(_MOST_SNAPSHOTS, n_epochs + 1, _MOST_NUMBERS // n_candidates)
    if n_kept < 2:
        return []
    return [round(k * n_epochs / (n_kept - 1)) for k in range(n_kept)]
