"""The network that describes the data: a structure with counted CPTs, smoothed as much as the data say.

A network that is trained to tell the classes apart has other probabilities than the data. This one has theirs:
frequencies that back off to coarser ones (see `tanager.model.backoff`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tanager._types import FloatArray
from tanager.model.backoff import Counted
from tanager.model.cpt_counts import CptCounts
from tanager.model.network import Network


class Description(NamedTuple):
    """What counts say about the data, in the structure of a network."""

    network: Network  # the same structure with the probabilities of the data
    information: FloatArray  # float64[D]: how much more probable parents make the value of a feature, in nats a row


def describe(network: Network, counts: CptCounts) -> Description:
    """The same structure with the probabilities of the data, and what its edges tell about them.

    The information is the mean of log p(x_i | x_parent, c) - log p(x_i | c), with each row left out of the frequencies
    in its turn, so that a parent that tells nothing gets about zero or less. Features without a parent have zero.

    Parameters
    ----------
    network : Network
    counts : CptCounts
        Of the rows, in the layout of the network.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y).description_
    >>> network.marginals().classes.round(2)
    array([[0.33, 0.33, 0.33]])
    """
    counted = Counted.of(counts)
    smoothed = counted.smoothed()
    return Description(counted.network(np.log(smoothed.values)), smoothed.gains)
