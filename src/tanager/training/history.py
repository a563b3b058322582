"""What each epoch of training looked like."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from tanager._types import FloatArray


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
    """

    loss: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    entropy: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    tau: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.loss)

    def append(self, **values: float) -> None:
        """Add one epoch; every column must be given."""
        for column in fields(self):
            getattr(self, column.name).append(float(values[column.name]))

    def to_arrays(self) -> dict[str, FloatArray]:
        """Columns as arrays, for instance for ``pandas.DataFrame``."""
        return {column.name: np.array(getattr(self, column.name)) for column in fields(self)}
