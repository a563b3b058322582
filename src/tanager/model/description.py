"""The network that describes the data: a structure with counted CPTs, smoothed as much as the data say.

A network that is trained to tell the classes apart has other probabilities than the data. This one has theirs:
frequencies that back off to coarser ones (see `tanager.model.backoff`).
"""

from __future__ import annotations

import numpy as np

from tanager._types import FloatArray, IntArray
from tanager.model.backoff import count_rows_of_cpts
from tanager.model.network import Network


def describe(network: Network, codes: IntArray, y: IntArray, weight: FloatArray, n_threads: int = 1) -> Network:
    """The same structure with the probabilities of the data.

    Parameters
    ----------
    network : Network
    codes : int array of shape (N, D)
    y : int array of shape (N,)
    weight : float array of shape (N,)
    n_threads : int
        Does not change the result.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y).description_
    >>> network.marginals().classes.round(2)
    array([[0.33, 0.33, 0.33]])
    """
    counted = count_rows_of_cpts(network.layout, codes, y, weight, n_threads)
    return counted.network([np.log(each.values) for each in counted.smoothed()])
