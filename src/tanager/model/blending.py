"""One network between two of the same structure: from the one that describes the data to the one that classifies.

The log-joint is linear in the logarithms of the CPTs, so the geometric mean of two networks of one structure is a sum
of their CPTs, normalised as in `tanager.model.tempering`: a Bayesian network whose class posteriors are the geometric
means of those of the two.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tanager.model.network import Network
from tanager.model.tempering import temper


def blend(first: Network, second: Network, dial: float) -> Network:
    """The network whose log-odds between classes are (1 - dial) times those of the first plus dial times the second's.

    Parameters
    ----------
    first, second : Network
        Forests with the same structure, such as ``description_`` and ``network_`` of a classifier whose structure
        was given.
    dial : float from 0 to 1

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> clf = TANClassifier("chow-liu", "penalised", random_state=0).fit(*load_iris(return_X_y=True))
    >>> codes = np.zeros((1, 4), np.int64)
    >>> half = blend(clf.description_, clf.network_, 0.5)
    >>> odds = [np.ptp(net.log_joint(codes)[:, :2]) for net in (clf.description_, half, clf.network_)]
    >>> bool(np.isclose(odds[1], (odds[0] + odds[2]) / 2, atol=1e-4))
    True
    """
    if not 0 <= dial <= 1:
        raise ValueError(f"dial must be from 0 to 1, got {dial!r}")
    if not np.array_equal(first.parents, second.parents):
        raise ValueError(
            "only networks of one structure can be blended; a default fit may describe the data with another tree, but "
            "not a fit with a given structure, such as 'chow-liu'"
        )
    theta = (1 - dial) * first.theta + dial * second.theta
    log_prior = (1 - dial) * first.log_prior + dial * second.log_prior
    return temper(replace(second, theta=theta.astype(second.theta.dtype), log_prior=log_prior), 1.0)
