"""What was tried and did not earn a place in the library; here so that its lines can be made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from tanager import TANClassifier, TANEnsembleClassifier
from tanager._types import FloatArray
from tanager.estimators.defaults import GIVEN, with_preset
from tanager.estimators.fitting import Fitted, with_tables_to_fall_back_on
from tanager.estimators.options import make_loss, make_settings
from tanager.estimators.preparing import lay_out
from tanager.kernels.normalise import normalise_tables
from tanager.model import Network
from tanager.training import Noise, TrainState, initial_state, make_problem, structure_of, train

_HELD_OUT = 0.2


class AveragedTables:
    """A given structure whose tables are averaged over the last half of the epochs, and normalised again.

    Parameters
    ----------
    estimator : TANClassifier
        With a structure that is not searched, and a number as ``random_state``.
    """

    def __init__(self, estimator: TANClassifier) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Train, adding up tables after each epoch of the second half."""
        plan, seed = clone(self.estimator), self.estimator.random_state
        rows = plan.encode_training(X, y, None)
        plan = with_preset(plan, GIVEN, rows.n_counted)
        settings = make_settings(plan)
        layout, phi = with_tables_to_fall_back_on(lay_out(plan, rows, seed))
        problem = replace(make_problem(rows.codes, rows.y, None, settings.batch_size), n_ordered=rows.n_ordered)
        state = initial_state(layout, Noise(seed), phi)
        theta, prior = np.zeros(len(state.theta.value)), np.zeros(layout.n_classes)

        def add(now: TrainState) -> None:
            if 2 * now.epoch > settings.epochs:
                theta[:] += now.theta.value
                prior[:] += now.prior.value

        train(state, layout, problem, make_loss(plan), settings, Noise(seed), on_epoch=add)
        n_added = settings.epochs - settings.epochs // 2
        tables = (theta / n_added).astype(np.float32)
        normalise_tables(tables, layout.tables, layout.n_classes)
        log_prior = prior / n_added - logsumexp(prior / n_added)
        distribution = structure_of(state, layout)
        self.network_ = Network.from_arena(layout, tables, log_prior, distribution.most_probable())
        plan.take_fitted(Fitted(self.network_, distribution, state.history, state.path))
        self._fitted = plan
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row."""
        return self._fitted.predict(X)


class WeightedEnsemble:
    """An ensemble whose members have weights that minimise the conditional log-loss of rows held out.

    Members are trained on four fifths of the rows, weights are fitted on the others, and then members with the same
    seeds are trained on all rows.

    Parameters
    ----------
    ensemble : TANEnsembleClassifier
    """

    def __init__(self, ensemble: TANEnsembleClassifier) -> None:
        self.ensemble = ensemble

    def fit(self, X: Any, y: Any) -> Self:
        """Train twice, and fit the weights in between."""
        X_kept, X_held, y_kept, y_held = train_test_split(X, y, test_size=_HELD_OUT, random_state=0, stratify=y)
        first = clone(self.ensemble).fit(X_kept, y_kept)
        log_joints = np.array([member.predict_log_proba(X_held) for member in first.estimators_])
        self.weights_ = fit_weights(log_joints, np.searchsorted(first.classes_, y_held))
        self.ensemble_ = clone(self.ensemble).fit(X, y)
        self.average_ = self.ensemble_.average_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of largest weighted mean log-probability of each row."""
        log_joints = np.array([member.predict_log_proba(X) for member in self.ensemble_.estimators_])
        return self.ensemble_.classes_[np.tensordot(self.weights_, log_joints, 1).argmax(axis=1)]


def fit_weights(log_joints: FloatArray, y: NDArray[np.int64]) -> FloatArray:
    """Weights of at least 0 that minimise the mean conditional log-loss of a weighted sum of log-joints.

    Parameters
    ----------
    log_joints : float64[M, N, C]
    y : int64[N]
    """
    n_members, n_rows, _ = log_joints.shape
    of_class = log_joints[:, np.arange(n_rows), y]

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        summed = np.tensordot(weights, log_joints, 1)
        normaliser = logsumexp(summed, axis=1)
        probabilities = np.exp(summed - normaliser[:, None])
        gradient = (np.einsum("mnc,nc->mn", log_joints, probabilities) - of_class).mean(axis=1)
        return float((normaliser - weights @ of_class).mean()), gradient

    start = np.full(n_members, 1.0 / n_members)
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n_members).x
