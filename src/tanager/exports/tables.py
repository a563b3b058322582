"""A fitted classifier in the form that other programs expect: names, states, parents and CPTs.

Names and states consist of letters, digits and underscores, which all readers of BIF files accept. The original labels
are kept with them. CPTs are normalised again in double precision.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tanager.data import as_frame
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.model import Network
from tanager.structure import find_cycle

UNUSED_STATE = "unused"

_KEYWORDS = frozenset({"default", "discrete", "network", "probability", "property", "table", "type", "variable"})
# Even inside a word, pgmpy's BIF reader mistakes these letters for the keyword, and what follows for a number.
_KEYWORD_AND_NUMBER = re.compile(r"(table|default)(?=[0-9eE])")


@dataclass(frozen=True)
class Variable:
    """A variable of an exported network.

    Attributes
    ----------
    name, label : str
        The name that other programs accept, and the original column name.
    states, state_labels : tuple of str
        The same for its values. A variable with one value has a second state, "unused", with probability zero, because
        other programs require two.
    """

    name: str
    label: str
    states: tuple[str, ...]
    state_labels: tuple[str, ...]


@dataclass(frozen=True)
class NetworkTables:
    """A Bayesian network classifier in plain arrays, independent of Tanager; made by `network_tables`.

    Attributes
    ----------
    target : Variable
    features : tuple of Variable, length D
    parents : tuple of tuples of int, length D
        The extra parents of each feature: none, one or two.
    prior : float64 array of shape (C,)
    cpts : tuple of float64 arrays
        Each ``[x_parent, x_feature, c]``, summing to one over ``x_feature``; without a parent the first axis has
        length 1; with two it has all pairs of values, the second parent varying fastest.
    """

    target: Variable
    features: tuple[Variable, ...]
    parents: tuple[tuple[int, ...], ...]
    prior: NDArray[np.float64]
    cpts: tuple[NDArray[np.float64], ...]

    def parent_variables(self, feature: int) -> list[Variable]:
        """The class and the extra parents of a feature, in this order."""
        return [self.target, *(self.features[parent] for parent in self.parents[feature])]


def network_tables(clf: TANClassifier, target: str = "class") -> NetworkTables:
    """Describe a fitted classifier.

    Parameters
    ----------
    clf : TANClassifier
        Its parents must not form a cycle.
    target : str
        Name of the class variable.

    Returns
    -------
    NetworkTables

    Examples
    --------
    >>> import numpy as np
    >>> from tanager import Counts, TANClassifier
    >>> X = np.array([["red", 1], ["blue", 1], ["red", 2], ["blue", 2]], dtype=object)
    >>> clf = TANClassifier("none", Counts(smoothing=1.0), categorical_features=[0, 1])
    >>> clf = clf.fit(X, ["no", "no", "yes", "yes"])
    >>> tables = network_tables(clf)
    >>> [(variable.name, variable.states) for variable in (tables.target, *tables.features)]
    [('class', ('no', 'yes')), ('x0', ('blue', 'red')), ('x1', ('1', '2'))]
    >>> tables.cpts[1][0]
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    network = bayesian_network(clf)
    labels = [target, *clf.encoder_.feature_labels]
    names = safe_names(labels)
    values = [class_labels(clf), *(clf.encoder_.value_labels(feature) for feature in range(network.n_features))]
    variables = [_make_variable(name, label, states) for name, label, states in zip(names, labels, values, strict=True)]
    prior = np.exp(network.log_prior)
    return NetworkTables(
        target=variables[0],
        features=tuple(variables[1:]),
        parents=tuple(tuple(j for j in parents if j >= 0) for parents in network.extra_parents.tolist()),
        prior=_padded(prior / prior.sum(), is_distribution=True, axis=0),
        cpts=tuple(_normalised_cpt(network, feature) for feature in range(network.n_features)),
    )


def evidence(clf: TANClassifier, X: Any, target: str = "class") -> list[dict[str, str]]:
    """The observed values of each row, as names and states of the exported network.

    Parameters
    ----------
    clf : TANClassifier
    X : array-like of shape (N, D) or a frame
    target : str
        As in the export; matters only if a feature has the same name.

    Returns
    -------
    list of dict
        For each row, a mapping from variable names to state names, without unknown values.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = TANClassifier("none", parameters="ml").fit(X, y)
    >>> evidence(clf, X[:1])[0]["petal_width_cm"]
    'below_0_8'
    """
    tables = network_tables(clf, target)
    codes = clf.encoder_.encode(as_frame(X)).tolist()
    cards = clf.encoder_.cards.tolist()
    return [
        {
            variable.name: variable.states[code]
            for variable, code, card in zip(tables.features, row, cards, strict=True)
            if code < card
        }
        for row in codes
    ]


def bayesian_network(clf: Any) -> Network:
    """The network of a fitted classifier; refuses ensembles and cycles."""
    check_fitted(clf)
    if isinstance(clf, TANEnsembleClassifier):
        raise TypeError(
            "an ensemble is not one network; export each of its estimators_ instead, or the whole as ONNX, SQL, "
            "JavaScript or C"
        )
    network: Network = clf.description_
    if network.has_pairs and not network.is_bayesian_network:
        raise ValueError("the parents form a cycle, so this is not a Bayesian network; export it as ONNX")
    cycle = None if network.has_pairs else find_cycle(network.parents)
    if cycle is not None:
        labels = clf.encoder_.feature_labels
        names = " -> ".join(repr(labels[feature]) for feature in [*cycle, cycle[0]])
        raise ValueError(
            f"the parents form a cycle ({names}), so this is not a Bayesian network; export it as ONNX or C, or fit "
            "with another structure than 'pseudo'"
        )
    return network


def needs_extra(package: str) -> ImportError:
    """The error for a missing package.

    >>> needs_extra("onnx")
    ImportError("this export needs onnx; pip install 'tanager[exports]'")
    """
    return ImportError(f"this export needs {package}; pip install 'tanager[exports]'")


def check_fitted(clf: Any) -> None:
    """Require a fitted classifier of this package."""
    if not isinstance(clf, TANClassifier | TANEnsembleClassifier):
        raise TypeError(
            f"only a TANClassifier or a TANEnsembleClassifier can be exported, not a {type(clf).__name__}; of a "
            "pipeline or a search, export the classifier inside"
        )
    if not hasattr(clf, "encoder_"):
        raise ValueError(f"this {type(clf).__name__} is not fitted yet; call fit before the export")


def class_labels(clf: TANClassifier | TANEnsembleClassifier) -> list[str]:
    """The classes as text."""
    return [str(label) for label in clf.classes_.tolist()]


def safe_names(labels: Sequence[str], *, may_be_numbers: bool = False) -> list[str]:
    """Unique names of letters, digits and underscores, even if case is ignored.

    Parameters
    ----------
    labels : sequence of str
    may_be_numbers : bool
        Whether whole numbers are allowed; states may be numbers, variables may not.

    Examples
    --------
    >>> safe_names(["petal width (cm)", "Größe", "größe", "3"])
    ['petal_width_cm', 'Grosse', 'grosse_2', 'v_3']
    >>> safe_names(["< -2.5", "-2.5 to 10", ">= 10", "3"], may_be_numbers=True)
    ['below_minus_2_5', 'minus_2_5_to_10', 'from_10', '3']
    """
    taken: set[str] = set()
    names = []
    for label in labels:
        name = candidate = _safe_name(label, may_be_numbers)
        number = 1
        while candidate.lower() in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate.lower())
        names.append(candidate)
    return names


def _safe_name(label: str, may_be_number: bool) -> str:
    text = re.sub(r"^< ", "below ", re.sub(r"^>= ", "from ", label))
    text = re.sub(r"(?<!\w)-(?=\d)", "minus ", text).replace("ß", "ss")
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    text = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "v"
    if may_be_number and text.isdigit():
        return text
    if text[0].isdigit():
        text = f"v_{text}"
    if text.lower() in _KEYWORDS:
        text += "_"
    return _KEYWORD_AND_NUMBER.sub(r"\1_", text)


def _make_variable(name: str, label: str, values: list[str]) -> Variable:
    if len(values) == 1:
        values = [*values, UNUSED_STATE]
    return Variable(name, label, tuple(safe_names(values, may_be_numbers=True)), tuple(values))


def _normalised_cpt(network: Network, feature: int) -> NDArray[np.float64]:
    cpt = network.cpt(feature)
    cpt = cpt / cpt.sum(axis=1, keepdims=True)
    cpt = _padded(_padded(cpt, is_distribution=True, axis=1), is_distribution=False, axis=2)
    cards = [int(network.cards[parent]) for parent in network.extra_parents[feature] if parent >= 0]
    table = cpt.reshape(*cards, *cpt.shape[1:])
    for axis in range(len(cards)):
        table = _padded(table, is_distribution=False, axis=axis)
    return table.reshape(-1, *cpt.shape[1:])


def _padded(table: NDArray[np.float64], *, is_distribution: bool, axis: int) -> NDArray[np.float64]:
    """Add a second entry to an axis of length one: zero in a distribution, a copy in a condition."""
    if table.shape[axis] > 1:
        return table
    return np.concatenate([table, np.zeros_like(table) if is_distribution else table], axis=axis)
