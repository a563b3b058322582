"""What was tried and did not earn a place in the library; it stays here so that its results can be reproduced."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from tanager import GradientDescent, TANClassifier, TANEnsembleClassifier, core
from tanager._types import FloatArray
from tanager.data import as_frame
from tanager.estimators.inputs import TrainingData
from tanager.learning import Context, Recipe
from tanager.model import Network
from tanager.training import Noise, TrainingSettings, TrainState, initial_state, structure_of, train

_HELD_OUT = 0.2


class AveragedCPTs:
    """A fixed structure whose CPTs are averaged over the second half of the epochs, and normalised again.

    Parameters
    ----------
    estimator : TANClassifier
        With a fixed structure, `GradientDescent` that starts at random, and a number as ``random_state``.
    """

    def __init__(self, estimator: TANClassifier) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Train, and add up the CPTs after each epoch of the second half."""
        seed = self.estimator.random_state
        self._encoded = TrainingData(self.estimator, X, y, None, n_threads=1).encoded("auto")
        context = Context(self._encoded.rows)
        recipe = Recipe(self.estimator.structure, self.estimator.parameters).used(context)
        layout, phi = recipe.lay_out(context, seed), None
        for regulariser in recipe.parameters.all_regularisers():
            layout, phi = regulariser.extend(layout, phi)
        settings = _settings(recipe.parameters)
        problem = context.problem(settings.batch_size, may_merge=True)
        state = initial_state(layout, Noise(seed), phi)
        theta, prior = np.zeros(len(state.theta.value)), np.zeros(layout.n_classes)

        def add(now: TrainState) -> None:
            if 2 * now.epoch > settings.epochs:
                theta[:] += now.theta.value
                prior[:] += now.prior.value

        train(state, layout, problem, recipe.parameters.resolved("loss"), settings, Noise(seed), on_epoch=add)
        n_added = settings.epochs - settings.epochs // 2
        cpts = (theta / n_added).astype(np.float32)
        core.normalise_cpts(cpts, layout.cpts, layout.n_classes)
        log_prior = prior / n_added - logsumexp(prior / n_added)
        chosen = structure_of(state, layout).most_probable()
        self.network_ = Network.from_arena(layout, cpts, log_prior, chosen)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row."""
        codes = self._encoded.encoder.encode(as_frame(X))
        return self._encoded.classes[self.network_.predict(codes)]


def _settings(descent: GradientDescent) -> TrainingSettings:
    """Settings of one training run."""
    options = descent.get_params(deep=False) | {"regularisers": descent.all_regularisers()}
    return TrainingSettings(
        **{each.name: options[each.name] for each in fields(TrainingSettings) if each.name in options}
    )


class WeightedEnsemble:
    """An ensemble whose members have weights that minimise the conditional log-loss of held-out rows.

    Members are trained on four fifths of the rows, the weights are fitted to the rest, and members with the same seeds
    are then trained on all rows.

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
    """Non-negative weights that minimise the mean conditional log-loss of a weighted sum of log-joints.

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
