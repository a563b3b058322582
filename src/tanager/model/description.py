"""The network that describes the data: a structure with counted CPTs, smoothed as much as the data say.

A network that is trained to tell the classes apart has other probabilities than the data. This one has theirs:
frequencies that back off to coarser ones (see `tanager.model.backoff`).
"""

from __future__ import annotations

import numpy as np

from tanager._types import FloatArray
from tanager.model.backoff import Counted, backed_off
from tanager.model.cpt_counts import CptCounts
from tanager.model.network import Network


def describe(network: Network, counts: CptCounts) -> Network:
    """The same structure with the probabilities of the data.

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
    return counted.network([np.log(each.values) for each in counted.smoothed()])


def edge_information(network: Network, counts: CptCounts) -> FloatArray:
    """How much more probable its parents make the value of each feature, given the class, in nats a row, float64[D].

    It is the mean of log p(x_i | x_parent, c) - log p(x_i | c), with each row left out of the frequencies in its turn,
    so that a parent that tells nothing gets about zero or less. Features without a parent have zero.

    Parameters
    ----------
    network, counts
        As in `describe`.
    """
    counted = Counted.of(counts)
    information = np.zeros(network.n_features)
    for i, (cpt, with_parent) in enumerate(zip(counted.cpts, counted.smoothed(), strict=True)):
        if network.parents[i] >= 0:
            alone = np.broadcast_to(backed_off(cpt.sum(axis=0, keepdims=True)).left_out, cpt.shape)
            is_seen = cpt > 0
            ratio = np.log(with_parent.left_out[is_seen] / alone[is_seen])
            information[i] = (cpt[is_seen] * ratio).sum() / cpt.sum()
    return information
