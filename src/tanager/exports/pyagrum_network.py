"""A classifier as a Bayesian network of pyAgrum."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tanager.estimators import TANClassifier
from tanager.exports.tables import needs_extra, network_tables


def to_pyagrum(clf: TANClassifier, target: str = "class") -> Any:
    """Convert a fitted classifier to a `pyagrum.BayesNet`.

    Parameters
    ----------
    clf : TANClassifier
        Its parents must not form a cycle.
    target : str, default="class"
        Name of the class variable.

    Returns
    -------
    pyagrum.BayesNet
        Names and states consist of letters, digits and underscores (see `network_tables`); the original column name is
        the description of a variable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bn = to_pyagrum(TANClassifier("chow-liu", parameters="ml").fit(X, y))
    >>> sorted(bn.names())
    ['class', 'x0', 'x1', 'x2', 'x3']
    """
    pyagrum = _import_pyagrum()
    tables = network_tables(clf, target)
    bn = pyagrum.BayesNet("tanager")
    for variable in (tables.target, *tables.features):
        bn.add(pyagrum.LabelizedVariable(variable.name, variable.label, list(variable.states)))
    bn.cpt(tables.target.name)[:] = tables.prior
    for feature, variable in enumerate(tables.features):
        for parent in tables.parent_variables(feature):
            bn.addArc(parent.name, variable.name)
        # Arcs were added class first, and in pyAgrum the last arc's parent is the first axis: [x_parent, c, x].
        n_values = [len(tables.features[parent].states) for parent in tables.parents[feature]]
        cpt = tables.cpts[feature].transpose(0, 2, 1)
        cpt = cpt.reshape(*n_values, *cpt.shape[1:])
        bn.cpt(variable.name)[:] = np.ascontiguousarray(cpt.swapaxes(0, 1) if len(n_values) == 2 else cpt)
    return bn


def _import_pyagrum() -> Any:
    try:
        with warnings.catch_warnings():
            # Its compiled part warns when it is loaded, and crashes if warnings are errors.
            warnings.simplefilter("ignore")
            import pyagrum
    except ImportError:
        raise needs_extra("pyagrum") from None
    return pyagrum
