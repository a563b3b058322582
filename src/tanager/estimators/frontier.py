"""Describing the data and telling the classes apart, on one scale: the frontier between the two faces of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tanager._types import FloatArray, IntArray
from tanager.estimators.inputs import read_known_classes
from tanager.model import Network, can_temper, log_losses
from tanager.pictures import draw_frontier

ALONE = "network_ alone"
"""Name of the point at which the network that classifies also says how probable a row is."""

_DIALS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class FrontierPoint(NamedTuple):
    """How well a joint distribution of rows and classes describes some rows, and how well it classifies them.

    Attributes
    ----------
    name : str
        ``"both networks"``, or ``"network_ alone"``.
    dial : float
        0 describes: it is ``description_`` alone. 1 classifies as ``network_`` does. NaN for ``network_`` alone.
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

    def _encode(self, X: Any) -> IntArray:
        raise NotImplementedError

    def _scores(self, codes: IntArray) -> FloatArray:
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> FloatArray:
        raise NotImplementedError

    def frontier(self, X: Any, y: Any, *, dials: Sequence[float] = _DIALS) -> list[FrontierPoint]:
        """Error and surprise between the network that describes the data and the predictions of the classifier.

        How probable a row is, p(x), comes from ``description_``. Its class comes from both: with a dial t from 0,
        "describes", to 1, "classifies", p(c | x) is the geometric mean of that of ``description_`` and that of
        `predict_proba`, which has the weight t. Each point is a joint distribution of rows and classes. A fit stands at
        both ends: questions about the data are answered with 0, classes are predicted with 1.

        The last point is ``network_`` alone, with its own p(x); an ensemble does not have it, since a mean of networks
        is not a joint distribution.

        Parameters
        ----------
        X, y
            Rows that were not trained on, with their classes. Cells that the bins do not know are summed out.
        dials : sequence of float from 0 to 1, default=(0, 0.1, ..., 1)

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
        [('both networks', 0.0), ('both networks', 1.0), ('network_ alone', nan)]
        >>> points[0].surprise < points[2].surprise
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
        described, log_odds = self.description_.log_joint(codes), self.predict_log_proba(X)
        log_rows = np.logaddexp.reduce(described, axis=1)
        points = []
        for dial in map(float, dials):
            if not 0 <= dial <= 1:
                raise ValueError(f"dials must be from 0 to 1, got {dial!r}")
            scores = (1 - dial) * (described - log_rows[:, None]) + dial * log_odds
            joint = scores - np.logaddexp.reduce(scores, axis=1)[:, None] + log_rows[:, None]
            points.append(_point("both networks", dial, joint, numbers))
        if isinstance(getattr(self, "network_", None), Network):
            points.append(_point(ALONE, float("nan"), self._scores(codes), numbers))
        return [point._replace(surprise=point.surprise / codes.shape[1]) for point in points]

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
        alone = [(each.surprise, each.error) for each in points if each.name == ALONE]
        both = [(each.dial, each.surprise, each.error) for each in points if each.name != ALONE]
        return draw_frontier(both, alone[0] if alone else None, ax=ax)


def _point(name: str, dial: float, joint: FloatArray, y: IntArray) -> FrontierPoint:
    """A point with the surprise of whole rows."""
    error, log_loss = float(np.mean(joint.argmax(axis=1) != y)), float(log_losses(joint, y).mean())
    return FrontierPoint(name, dial, error, log_loss, -float(joint[np.arange(len(y)), y].mean()))
