"""What a fit found out about its own structure: what each edge adds, how important each feature is, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.data import FrameEncoder
from tanager.estimators.inputs import Encoded, read_known_classes
from tanager.learning import Context, Findings, Rows
from tanager.learning.edges import Edges, describe_edges, gains_on, is_counted, mean_contributions
from tanager.model import CptCounts, Description, Network, clearer_description, describe
from tanager.pictures import draw_importance

_LEAST_GAIN = 5e-5
_SHOWN = 5  # edges in a summary


class Edge(NamedTuple):
    """An edge of a structure, by the names of its ends, and what it adds in nats a row.

    Attributes
    ----------
    child, parent : str
    gain : float
        Log-loss of held-out rows without the edge less that with it: what it adds to the prediction of the class. NaN
        if no rows were held out.
    standard_error : float
        Of the gain.
    information : float
        How much more probable the parent makes the value of the child given the class: the mean difference of the
        log-probabilities, with each row left out in its turn. It is what the edge adds to the description of the data.
    """

    child: str
    parent: str
    gain: float
    standard_error: float
    information: float

    @property
    def adds(self) -> bool:
        """Whether the gain is above zero by two standard errors, and large enough to be seen in four decimals."""
        return self.gain >= max(2 * self.standard_error, _LEAST_GAIN)


class FindingsMixin:
    """Adds `edges_`, `edge_gains`, `feature_importances_` and `summary` to a classifier."""

    classes_: NDArray[Any]
    encoder_: FrameEncoder
    choice_: Mapping[str, Any]
    options_: Mapping[str, Any]
    _findings: Findings

    def _networks(self) -> Sequence[Network]:
        raise NotImplementedError

    def _encode(self, X: Any) -> IntArray:
        raise NotImplementedError

    @property
    def edges_(self) -> list[Edge]:
        """What each edge between features adds, a list of `Edge`; that from the class to every feature is not listed.

        The gain is found on rows that were held out once, with the structure of the fit and parameters that were
        learned from the others. The structure is that of all rows, so a gain that is small for its standard error may
        be by chance. It is not known after a fit by gradient descent in which nothing was chosen on held-out rows;
        `edge_gains` finds it on rows of your own. Edges of an ensemble are those of all its members. Where a feature
        has two parents, both have the numbers of the two together.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import Counts, TANClassifier
        >>> clf = TANClassifier("chow-liu", Counts(1.0)).fit(*load_iris(return_X_y=True, as_frame=True))
        >>> edge = clf.edges_[0]
        >>> edge.child, edge.parent, round(edge.information, 2)
        ('sepal width (cm)', 'sepal length (cm)', 0.01)
        """
        check_is_fitted(self)
        return self._named(self._findings.edges)

    @property
    def description_edges_(self) -> list[Edge]:
        """The edges of ``description_``, the network that describes the data, a list of `Edge`.

        They are those of ``edges_``, unless a default fit found that another tree describes the data clearly better.
        Nothing is known of the gain of an edge then, since it takes no part in predictions.
        """
        check_is_fitted(self)
        described = self._findings.described
        return self._named(self._findings.edges if described is None else described)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in what all say about the class, float64[D], which sums to one.

        It is the mean size of a feature's contributions to the log-odds in the training rows (see `explain_rows`), from
        its own mean on, so that a feature that says the same of every row has none.
        """
        check_is_fitted(self)
        sizes = self._findings.importances
        total = float(sizes.sum())
        return sizes / total if total > 0 else sizes.copy()

    def edge_gains(self, X: Any, y: Any) -> list[Edge]:
        """What each edge adds to the prediction of the class on given rows, as `edges_` has it.

        Parameters
        ----------
        X, y
            Rows that were not trained on, with their classes; the gain is too high on those that were.

        Returns
        -------
        list of Edge
        """
        codes = self._encode(X)
        rows = Rows(
            codes,
            read_known_classes(y, len(codes), self.classes_),
            None,
            self.encoder_.cards.astype(np.int64),
            len(self.classes_),
        )
        are_frequencies = is_counted(self.options_["parameters"])
        return self._named(gains_on(self._findings.edges, self._networks(), rows, 1.0, is_counted=are_frequencies))

    def summary(self) -> str:
        """In words: what was chosen and why, and which edges add most.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import Counts, TANClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> print(TANClassifier([-1, 0, 0, 2], "ml").fit(X, y).summary())  # doctest: +ELLIPSIS
        Structure and parameters were given, so nothing was tried on held-out rows.
        3 edges between 4 features. ...
        """
        check_is_fitted(self)
        said = f"{self.choice_['why']}\n{_said_of_edges(self.edges_, len(self.encoder_.columns))}"
        own = self.description_edges_
        if {edge[:2] for edge in own} <= {edge[:2] for edge in self.edges_}:
            return said
        return f"{said}\n{_said_of_description(own)}"

    def plot_importance(self, *, max_bars: int = 20, ax: Any = None) -> Any:
        """Draw ``feature_importances_`` as bars; needs the extra ``tanager[plots]``.

        Parameters
        ----------
        max_bars : int, default=20
            If there are more features, the last bar is the sum of the smallest.
        ax : matplotlib axes, optional

        Returns
        -------
        ax : matplotlib axes
        """
        importances = self.feature_importances_
        return draw_importance(self.encoder_.feature_labels, importances, max_bars=max_bars, ax=ax)

    def _named(self, edges: Edges) -> list[Edge]:
        labels = self.encoder_.feature_labels
        return [
            Edge(labels[child], labels[parent], gain, error, information)
            for child, parent, gain, error, information in zip(*(each.tolist() for each in edges), strict=True)
        ]


def find(
    network: Network, encoded: Encoded, context: Context, counts: CptCounts, *, may_differ: bool
) -> tuple[Network, Findings]:
    """The network that describes the rows, and what can be found out without held-out rows.

    Parameters
    ----------
    network : Network
        That classifies.
    encoded, context
        The rows.
    counts : CptCounts
        Of them in the layout of the network.
    may_differ : bool
        Whether the description may have a tree of its own.
    """
    described = describe(encoded.unweighted(counts))
    rows = encoded.rows._replace(weight=encoded.sample_weight)
    importances = mean_contributions([network], rows.codes, rows.full_weight())
    findings = Findings(importances, describe_edges(network, described.information))
    own = clearer_tree(described, encoded, context) if may_differ else None
    if own is None:
        return described.network, findings
    return own.network, findings._replace(described=describe_edges(own.network, own.information))


def clearer_tree(described: Description, encoded: Encoded, context: Context) -> Description | None:
    """The description by the best tree, if that is clearly better than the one by a structure that was learned."""
    rows = encoded.rows._replace(weight=encoded.sample_weight)
    with Crew(context.n_threads) as crew:
        return clearer_description(
            described,
            (rows.codes, rows.y, rows.full_weight()),
            lambda layout: encoded.unweighted(context.counts(layout)),
            crew,
        )


def edge_widths(edges: Edges) -> FloatArray:
    """What edges add, from 0 to 1, for pictures: gains, or the information where these are not known, float64[E]."""
    sizes = np.maximum(edges.information if np.isnan(edges.gain).any() else edges.gain, 0.0)
    return sizes / max(float(sizes.max(initial=0.0)), np.finfo(np.float64).tiny)


def _said_of_description(edges: Sequence[Edge]) -> str:
    """That the data are described by another tree, and its strongest edges, in words."""
    return (
        "Predictions use these edges. Another tree describes the data clearly better; queries, samples and CPTs "
        f"use it. Its strongest edges, by what the parent tells about the feature in nats: {_most_telling(edges)}."
    )


def _most_telling(edges: Sequence[Edge]) -> str:
    """The edges that tell most about the data; those that tell nothing are left out if there are others."""
    best = sorted(edges, key=lambda edge: -edge.information)[:_SHOWN]
    telling = [edge for edge in best if edge.information >= 0.0005] or best[:1]
    return ", ".join(f"{each.parent} -> {each.child} ({each.information:z.3f})" for each in telling)


def _said_of_edges(edges: Sequence[Edge], n_features: int) -> str:
    """Which edges add most, in words."""
    if not edges:
        alone = "the only feature depends" if n_features == 1 else f"each of {n_features} features depends"
        return f"There are no edges: {alone} on the class alone."
    counted = f"{len(edges)} edge{'s' if len(edges) > 1 else ''} between {n_features} features."
    if np.isnan(edges[0].gain):
        return (
            f"{counted} What edges add to predictions was not measured; these tell most about the data, in nats: "
            f"{_most_telling(edges)}."
        )
    clear = sorted((edge for edge in edges if edge.adds), key=lambda edge: -edge.gain)
    if not clear:
        return f"{counted} No edge alone lowers the log-loss of held-out rows by more than two standard errors."
    shown = ", ".join(f"{each.parent} -> {each.child} ({each.gain:.4f})" for each in clear[:_SHOWN])
    more = f" and {len(clear) - _SHOWN} more" if len(clear) > _SHOWN else ""
    these = "These lower" if len(edges) > 1 else "It lowers"
    return f"{counted} {these} the log-loss of held-out rows most: {shown}{more}."
