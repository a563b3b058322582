"""Describing the data and telling the classes apart, on one scale: the frontier between the two networks of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._types import FloatArray, IntArray
from tanager.estimators.inputs import read_known_classes
from tanager.model import Network, blend, can_temper, log_losses
from tanager.pictures import draw_frontier

BOTH = "both networks"
"""Name of the point at which the one network says how probable a row is, and the other which class it has."""

_DIALS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class FrontierPoint(NamedTuple):
    """How well a joint distribution of rows and classes describes some rows, and how well it classifies them.

    Attributes
    ----------
    name : str
        "blend", or "both networks".
    dial : float
        0 describes: it is ``description_``. 1 classifies: it is ``network_``. NaN for both networks together.
    error : float
        Share of wrong classes.
    log_loss : float
        Mean of -log p(c | x), in nats a row.
    surprise : float
        Mean of -log p(x, c) in nats, divided by the number of features: the lower, the better described.
    """

    name: str
    dial: float
    error: float
    log_loss: float
    surprise: float


class FrontierMixin:
    """Adds `frontier` and `plot_frontier` to a classifier with a `description_`."""

    classes_: NDArray[Any]
    description_: Network

    def _networks(self) -> Sequence[Network]:
        raise NotImplementedError

    def _encode(self, X: Any) -> IntArray:
        raise NotImplementedError

    def _scores(self, codes: IntArray) -> FloatArray:
        raise NotImplementedError

    def frontier(self, X: Any, y: Any, *, dials: Sequence[float] = _DIALS) -> list[FrontierPoint]:
        """Error and surprise of the networks between the one that describes the data and the one that classifies.

        A dial from 0, "describes", to 1, "classifies", takes the geometric mean of ``description_`` and ``network_``,
        normalised to a Bayesian network. A fit keeps the two ends: prediction uses 1, questions about the data use 0.
        The last point is the two together, p(x) of the one times p(c | x) of the other. That is a joint distribution,
        too, but not a Bayesian network: it classifies as ``network_`` does and describes rows as ``description_`` does.

        Parameters
        ----------
        X, y
            Rows that were not trained on, with their classes. Cells that the bins do not know are summed out.
        dials : sequence of float, default=(0, 0.1, ..., 1)
            Not used for ensembles, which have the last point only: their mean is not a network.

        Returns
        -------
        list of FrontierPoint

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TANClassifier("chow-liu", "penalised", random_state=0).fit(X[::2], y[::2])
        >>> points = clf.frontier(X[1::2], y[1::2], dials=(0, 1))
        >>> [(point.name, point.dial) for point in points]
        [('blend', 0.0), ('blend', 1.0), ('both networks', nan)]
        >>> points[0].surprise < points[1].surprise
        True
        """
        check_is_fitted(self)
        codes = self._encode(X)
        numbers = read_known_classes(y, len(codes), self.classes_)
        if not can_temper(self.description_):
            raise ValueError(
                "the frontier requires a forest, but parents form a cycle or a feature has two of them; fit with "
                "another structure, for instance 'chow-liu'"
            )
        networks, row = self._networks(), np.arange(len(codes))
        points = []
        if len(networks) == 1:
            for dial in map(float, dials):
                joint = blend(self.description_, networks[0], dial).log_joint(codes)
                points.append(_point("blend", dial, joint, numbers, -joint[row, numbers], codes.shape[1]))
        scores = self._scores(codes)
        log_rows = np.logaddexp.reduce(self.description_.log_joint(codes), axis=1)
        surprise = log_losses(scores, numbers) - log_rows
        return [*points, _point(BOTH, float("nan"), scores, numbers, surprise, codes.shape[1])]

    def plot_frontier(self, X: Any, y: Any, *, dials: Sequence[float] = _DIALS, ax: Any = None) -> Any:
        """Draw the frontier; needs the extra ``tanager[plots]``.

        Parameters
        ----------
        X, y, dials
            As in `frontier`.
        ax : matplotlib axes, optional

        Returns
        -------
        ax : matplotlib axes
        """
        points = self.frontier(X, y, dials=dials)
        blends = [(each.dial, each.surprise, each.error) for each in points[:-1]]
        return draw_frontier(blends, (points[-1].surprise, points[-1].error), ax=ax)


def _point(
    name: str, dial: float, scores: FloatArray, y: IntArray, surprise: FloatArray, n_features: int
) -> FrontierPoint:
    error, log_loss = float(np.mean(scores.argmax(axis=1) != y)), float(log_losses(scores, y).mean())
    return FrontierPoint(name, dial, error, log_loss, float(surprise.mean()) / n_features)
