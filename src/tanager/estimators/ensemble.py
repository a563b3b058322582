"""Several TANs of different structure, averaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._types import FloatArray, IntArray
from tanager.estimators.choosing import Wishes, calibrated, choose_preset
from tanager.estimators.defaults import (
    GIVEN,
    SEVERAL_TREES,
    Preset,
    default_members,
    fitting_presets,
    is_auto,
    missing_options,
    presets_of,
    with_preset,
)
from tanager.estimators.explaining import ExplainingMixin
from tanager.estimators.fitting import Rows
from tanager.estimators.inputs import read_table
from tanager.estimators.members import MEMBERS, TRAININGS, make_members, train_jointly, train_separately
from tanager.estimators.options import check_options
from tanager.estimators.probabilities import log_softmax_rows, softmax_rows
from tanager.estimators.saving import SavingMixin
from tanager.estimators.tan import TANClassifier
from tanager.model import Network, average_networks


class TANEnsembleClassifier(ExplainingMixin, SavingMixin, ClassifierMixin, BaseEstimator):
    """Average of TAN classifiers that differ in their structures.

    Parameters
    ----------
    estimator : TANClassifier or None, default=None
        What the members are; None is ``TANClassifier()``. Without a structure of yours, presets are chosen on rows held
        out and probabilities are calibrated (docs/defaults.md); its ``choose``, ``calibrate`` and other options hold.
    n_members : int or None, default=None
        None is 10, or with "trees" and "cover" (D + 1) // 2, which hold all pairs or nearly all, but at most 30 and no
        more than 700 tables (at least 4 members).
    members : {None, "search", "distribution", "trees", "cover"}, default=None
        Where the structures of the members come from; None is "trees", or "search" if a structure is given.

        - "search": each member searches for itself, with a random state of its own, so that ``structure="subset"``
          gives each another ordering and other candidates.
        - "distribution": one search, and each member has a structure drawn from the distribution that it learned.
        - "trees": the tree of largest summed ``screening`` score, the best tree of the other pairs of features, and so
          on: where features are many, so that a cover of all pairs would be large.
        - "cover": nothing is searched; the members are paths through all features that share no pair of them. (D + 1)
          // 2 members, and no more are made, hold every pair of features once.
    training : {None, "separate", "joint"}, default=None
        Train each member on its own loss, or all together on the loss of their mean log-joint: for D / 2 members that
        are a "cover" this trains a model of all pairs of features, for which a larger ``gamma`` is good. None is
        "joint", or "separate" if a structure is given or searched.
    combine : {"log", "probability"}, default="log"
        Average log-probabilities, which makes the prediction one sum of table lines (tables of the same pair of
        features add up to one), or average probabilities.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Number of threads: members that are trained at the same time, or with ``training="joint"`` threads of a step.
        None is 1 and -1 is one for each core. It has no influence on the result.

    Attributes
    ----------
    estimators_ : list of TANClassifier
        The members. They share bins and categories.
    average_ : tanager.model.LogAverage
        The members as one sum of tables.
    classes_ : ndarray of shape (C,)
    choice_, options_ : dict
        As of `TANClassifier`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier, TANEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = TANEnsembleClassifier(TANClassifier(epochs=20), n_members=3, random_state=0).fit(X, y)
    >>> ensemble.predict_proba(X).shape
    (150, 3)
    """

    def __init__(
        self,
        estimator: TANClassifier | None = None,
        *,
        n_members: int | None = None,
        members: Literal["search", "distribution", "trees", "cover"] | None = None,
        training: Literal["separate", "joint"] | None = None,
        combine: Literal["log", "probability"] = "log",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_members = n_members
        self.members = members
        self.training = training
        self.combine = combine
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Encode the table once and train the members on it.

        Parameters
        ----------
        X, y, sample_weight
            As in `TANClassifier.fit`.

        Returns
        -------
        self
        """
        self._check_options()
        template = TANClassifier() if self.estimator is None else clone(self.estimator)
        presets = self._presets(template)
        check_options(template, presets)
        if template.calibrate and self.combine != "log":
            raise ValueError(f"calibrate=True needs combine='log', got combine={self.combine!r}")
        read_table(self, X, y, reset=True)
        rows = template.encode_training(X, y, sample_weight)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=2).tolist()
        calibrate = template.calibrate if self.combine == "log" else False
        wishes = Wishes(template.choose, calibrate, seeds[0], template.verbose > 0)

        def fit_part(preset: Preset, part: Rows) -> Callable[[IntArray], FloatArray]:
            members = self._fit_members(template, preset, part, seeds[1])
            return average_networks([member.network_ for member in members]).log_joint

        choice = choose_preset(presets, fit_part, rows, wishes)
        self.estimators_ = self._fit_members(template, choice.preset, rows, seeds[1])
        networks, temperature = calibrated([member.network_ for member in self.estimators_], choice, calibrate)
        for member, network in zip(self.estimators_, networks, strict=True):
            member.network_ = network
        self.choice_ = choice.to_dict(temperature)
        self.options_ = missing_options(template, choice.preset, rows.n_counted)
        self.classes_ = template.classes_
        self.encoder_ = template.encoder_
        self.average_ = average_networks(networks)
        return self

    def _ways(self, template: TANClassifier) -> tuple[str, str]:
        """How structures come about and how members are trained."""
        how = self.members or ("trees" if is_auto(template) else "search")
        is_joint = is_auto(template) and how in ("trees", "cover")
        return how, self.training or ("joint" if is_joint else "separate")

    def _presets(self, template: TANClassifier) -> tuple[Preset, ...]:
        if not is_auto(template):
            return (GIVEN,)
        if self._ways(template)[0] not in ("trees", "cover"):
            return presets_of(template)
        is_sized = self.n_members is not None or self.members is not None
        presets = [preset for preset in SEVERAL_TREES if not (is_sized and preset.is_single)]
        if self.training == "joint":
            presets = [preset for preset in presets if not preset.is_closed_form]
        return fitting_presets(template, presets)

    def _fit_members(self, template: TANClassifier, preset: Preset, rows: Rows, seed: int) -> list[TANClassifier]:
        """Train members with the options of a preset where they are not given."""
        plan = with_preset(template, preset, rows.n_counted)
        plan.choose, plan.calibrate = False, False
        how, training = ("search", "separate") if preset.is_single else self._ways(template)
        n_members = 1 if preset.is_single else self.n_members or default_members(rows.codes.shape[1], how)
        seeds = np.random.default_rng(seed).integers(np.iinfo(np.int32).max, size=n_members).tolist()
        members = make_members(plan, how, rows, seeds, self.n_jobs)
        is_joint = training == "joint" and not preset.is_closed_form
        return (train_jointly if is_joint else train_separately)(members, rows, self.n_jobs)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Log-probability of each class given each row, shape (N, C)."""
        codes = self._encode(X)
        if self.combine == "log":
            return log_softmax_rows(self.average_.log_joint(codes))
        of_members = [log_softmax_rows(member.network_.log_joint(codes)) for member in self.estimators_]
        return np.logaddexp.reduce(of_members) - np.log(len(of_members))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class given each row, shape (N, C)."""
        codes = self._encode(X)
        if self.combine == "log":
            return softmax_rows(self.average_.log_joint(codes))
        return np.mean([softmax_rows(member.network_.log_joint(codes)) for member in self.estimators_], axis=0)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each row, shape (N,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _networks(self) -> list[Network]:
        if self.combine != "log":
            raise ValueError(
                f"combine={self.combine!r} averages probabilities, which are no sum over the features; "
                "an ensemble with combine='log' can be explained"
            )
        return [member.network_ for member in self.estimators_]

    def _encode(self, X: Any) -> IntArray:
        check_is_fitted(self)
        return self.encoder_.encode(read_table(self, X, reset=False))

    def _check_options(self) -> None:
        if not (self.estimator is None or isinstance(self.estimator, TANClassifier)):
            raise TypeError(f"estimator must be a TANClassifier or None, got {self.estimator!r}")
        is_count = isinstance(self.n_members, (int, np.integer)) and not isinstance(self.n_members, bool)
        if self.n_members is not None and (not is_count or self.n_members < 1):
            raise ValueError(f"n_members must be a whole number of at least 1, or None, got {self.n_members!r}")
        choices = {"members": (None, *MEMBERS), "training": (None, *TRAININGS), "combine": ("log", "probability")}
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {getattr(self, name)!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
