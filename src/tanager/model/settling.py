"""How often rows occur in a network that was trained to tell the classes apart.

The class posteriors of complete rows leave that open: numbers h_i(x_j, x_i) that are the same for all classes can be
added to the log-CPT of each feature i with the parent j. Unknown values, however, are summed out in proportion to how
often they occur. So h is chosen for which a feature and its parent occur together as often as in the data, which makes
the features of the rows most probable, and, as far as that takes exceptions, for which the classes do as well.
Iterative proportional fitting finds h in a forest (see ``settling.h``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tanager import core
from tanager._types import FloatArray
from tanager.model.cpt_counts import CptCounts
from tanager.model.network import Network
from tanager.model.tempering import normalised, open_forest

_PRIOR_ROWS = 10.0  # that a feature's frequencies alone count for beside those given its parent
_MOST_SWEEPS, _MOST_CELLS = 30, 1e8  # over all edges, and of their CPTs: 10 ns each
_CLASS_TOLERANCE = 0.3  # of class frequencies, in standard errors


class Frequencies(NamedTuple):
    """Smoothed frequencies of values, whatever the class, ``[x_parent, x_child]`` for one CPT after the other."""

    given: FloatArray  # of the child's values given the parent's
    joint: FloatArray  # of both together


def frequencies(counts: CptCounts) -> Frequencies:
    """Frequencies of the values of each feature with its parent's.

    >>> from tanager.model.layout import make_layout
    >>> from tanager.structure import fixed_parents
    >>> counts = CptCounts.empty(make_layout(fixed_parents([-1]), [2], n_classes=1))
    >>> counts.add(np.array([[0], [0]]), np.zeros(2, np.int64))
    >>> frequencies(counts).given
    array([0.79166667, 0.20833333])
    """
    layout = counts.layout
    found = Frequencies(*(np.empty(layout.size // layout.n_classes) for _ in Frequencies._fields))
    core.fill_frequencies(tuple(layout.cpts), counts.cells, layout.n_classes, _PRIOR_ROWS, *found)
    return found


def settle(network: Network, counts: CptCounts) -> Network:
    """The network with the same class posteriors of complete rows, in which values and classes occur as in the data.

    Parameters
    ----------
    network : Network
        A forest.
    counts : CptCounts
        Of the rows, in the layout of the network.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> network = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y).network_
    >>> network.marginals().classes.round(1)
    array([[0.3, 0.3, 0.3]])
    """
    in_rows = counts.copy()
    in_rows.scale(counts.n_counted / counts.of_class.sum())
    of_class = in_rows.of_class + 1.0
    classes = of_class / of_class.sum()
    tolerance = _CLASS_TOLERANCE * np.sqrt(classes / of_class.sum())
    most_sweeps = int(np.clip(_MOST_CELLS // network.layout.size, 2, _MOST_SWEEPS))
    forest = open_forest(network)
    core.settle(forest, frequencies(in_rows).joint, classes, tolerance, most_sweeps)
    # To single precision, as networks are kept: weights that were summed in another order make no difference then.
    forest.theta[:] = forest.theta.astype(np.float32)
    return normalised(network, forest)
