"""A classifier as a Bayesian network of pgmpy, and BIF and XMLBIF files through pgmpy's writers.

pgmpy's writers keep all digits of a probability; pyAgrum's keep six, and do not escape XML.
"""

from __future__ import annotations

import warnings
from typing import Any

from tanager.estimators import TANClassifier
from tanager.exports.tables import needs_extra, network_tables


def to_pgmpy(clf: TANClassifier, target: str = "class") -> Any:
    """Convert a fitted classifier to a pgmpy `DiscreteBayesianNetwork`.

    Parameters
    ----------
    clf : TANClassifier
        Its parents must not form a cycle.
    target : str, default="class"
        Name of the class variable.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        Names and states consist of letters, digits and underscores (see `network_tables`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = to_pgmpy(TANClassifier("chow-liu", parameters="ml").fit(X, y))
    >>> model.check_model()
    True
    """
    pgmpy = _import_pgmpy()
    tables = network_tables(clf, target)
    model = pgmpy.models.DiscreteBayesianNetwork()
    model.name = "tanager"
    model.add_nodes_from([tables.target.name, *(variable.name for variable in tables.features)])
    tabular = pgmpy.factors.discrete.TabularCPD
    states = {variable.name: list(variable.states) for variable in (tables.target, *tables.features)}
    name = tables.target.name
    cpds = [tabular(name, len(states[name]), tables.prior[:, None], state_names={name: states[name]})]
    for feature, variable in enumerate(tables.features):
        # The last parent varies fastest in the columns: [x, c, x_parent].
        values = tables.cpts[feature].transpose(1, 2, 0).reshape(len(variable.states), -1)
        parents = [parent.name for parent in tables.parent_variables(feature)]
        model.add_edges_from([(parent, variable.name) for parent in parents])
        cpds.append(
            tabular(
                variable.name,
                len(variable.states),
                values,
                evidence=parents,
                evidence_card=[len(states[parent]) for parent in parents],
                state_names={key: states[key] for key in [variable.name, *parents]},
            )
        )
    model.add_cpds(*cpds)
    return model


def to_bif(clf: TANClassifier, target: str = "class") -> str:
    """The text of a BIF file; parameters as in `to_pgmpy`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(to_bif(TANClassifier("none", parameters="ml").fit(X, y))[:37])
    network tanager {
    }
    variable class {
    """
    return str(_import_pgmpy().readwrite.BIFWriter(to_pgmpy(clf, target)))


def to_xmlbif(clf: TANClassifier, target: str = "class") -> str:
    """The text of an XMLBIF file; parameters as in `to_pgmpy`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(to_xmlbif(TANClassifier("none", parameters="ml").fit(X, y))[:60])
    <?xml version='1.0' encoding='utf-8'?>
    <BIF VERSION="0.3">
    """
    return str(_import_pgmpy().readwrite.XMLBIFWriter(to_pgmpy(clf, target)))


def _import_pgmpy() -> Any:
    try:
        with warnings.catch_warnings():
            # On import, pgmpy 1.1 warns about its own deprecated modules.
            warnings.simplefilter("ignore")
            import pgmpy
            import pgmpy.factors.discrete
            import pgmpy.models
            import pgmpy.readwrite
    except ImportError:
        raise needs_extra("pgmpy") from None
    return pgmpy
