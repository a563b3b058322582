"""Several TANs of different structure, averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from tanager._options import ShortNames, check_choice, naming_unknown_options
from tanager._types import FloatArray, IntArray
from tanager.estimators.base import RENAMED, TANBase, log_softmax, softmax
from tanager.estimators.inputs import Encoded, TrainingData
from tanager.estimators.tan import TANClassifier
from tanager.learning import (
    MEMBERS,
    NO_CHOICE,
    PARAMETERS,
    Context,
    EnsembleRecipe,
    Members,
    NoParents,
    Parameters,
    Rows,
    able_to_be_monotone,
    able_to_have_edges,
    as_parameters,
    as_structure,
    calibrated,
    choose,
    ensemble_recipes_for,
    worth_trying,
)
from tanager.learning.members import Learned
from tanager.model import LogAverage, Network, average_networks

_SHARED = (
    "categorical_features",
    "ordinal_features",
    "binning",
    "max_bins",
    "max_categories",
    "missing",
    "class_weight",
    "forbid",
    "require",
    "monotonic_cst",
)


class TANEnsembleClassifier(TANBase):
    """Average of TAN classifiers that differ in their structures.

    Without options, a fit tries a few presets for trees that share no pair of features on held-out rows, learns the
    best one from all rows and calibrates its probabilities (docs/defaults.md).

    Parameters
    ----------
    members : "auto" or members, default="auto"
        Where the structures of the members come from. Words stand for the values of `tanager.learning` with their
        defaults.

        - "auto": as "trees", with pairs of features that add most to the features alone, or a single classifier
          without parents, whichever is better on held-out rows.
        - "trees", `DisjointTrees`: the best tree of pairs of features, the best one of the pairs left, and so on.
        - "cover", `CoveringPaths`: paths through all features that share no pair of them; nothing is searched.
        - "searches", `IndependentSearches`: each member searches for itself, with a seed of its own.
        - "sampled", `SampledStructures`: one search; structures are drawn from the distribution it learned.
    parameters : "auto" or parameters, default="auto"
        As in `TANClassifier`. "auto" chooses among presets on held-out rows.
    training : {"auto", "joint", "separate"}, default="auto"
        Train all members together on the loss of their mean log-joint, or each on its own loss. "auto" is joint for
        "trees" and "cover" unless they are counted, and separate for the others. Jointly trained members of a cover are
        a model of all pairs of features, for which a larger ``gamma`` is good.
    combine : {"log", "probability"}, default="log"
        Average log-probabilities, which makes the prediction one sum of lines of CPTs (those of the same pair of
        features add up to one), or average probabilities.
    categorical_features, ordinal_features, binning, max_bins, max_categories, missing, class_weight, forbid, require,
    monotonic_cst, calibrate, random_state, n_jobs, verbose
        As in `TANClassifier`. With separate training, ``n_jobs`` members are trained at the same time.

    Attributes
    ----------
    estimators_ : list of TANClassifier
        The members. They share bins and categories.
    average_ : tanager.model.LogAverage
        The members as one sum of CPTs.
    classes_, encoder_, choice_ : as of `TANClassifier`
    options_ : dict
        The "members" and the "parameters" that were used, as values, and whether training "is_joint".
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import GradientDescent, IndependentSearches, TANEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = IndependentSearches("subset", n_members=3)
    >>> ensemble = TANEnsembleClassifier(members, GradientDescent(epochs=20), random_state=0).fit(X, y)
    >>> ensemble.predict_proba(X).shape
    (150, 3)
    """

    short_names: ClassVar[Mapping[str, ShortNames]] = {"members": MEMBERS, "parameters": PARAMETERS}
    _scorer = "average_"

    estimators_: list[TANClassifier]
    average_: LogAverage

    @naming_unknown_options("TANEnsembleClassifier", RENAMED)
    def __init__(
        self,
        members: str | Members = "auto",
        parameters: str | Parameters = "auto",
        *,
        training: Literal["auto", "joint", "separate"] = "auto",
        combine: Literal["log", "probability"] = "log",
        categorical_features: Any = "from_dtype",
        ordinal_features: Mapping[str | int, Sequence[Any]] | None = None,
        binning: Literal["auto", "mdlp", "quantile", "fine", "none"] | Mapping[str | int, Sequence[float]] = "auto",
        max_bins: int | None = None,
        max_categories: int | Literal["auto"] | None = "auto",
        missing: Literal["value", "ignore"] = "value",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        forbid: Sequence[tuple[str | int, str | int]] | None = None,
        require: Sequence[tuple[str | int, str | int]] | None = None,
        monotonic_cst: Mapping[str | int, int] | Sequence[int] | None = None,
        calibrate: Literal["auto"] | bool = "auto",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.parameters = parameters
        self.training = training
        self.combine = combine
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.binning = binning
        self.max_bins = max_bins
        self.max_categories = max_categories
        self.missing = missing
        self.class_weight = class_weight
        self.forbid = forbid
        self.require = require
        self.monotonic_cst = monotonic_cst
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Encode the rows once and learn the members from them.

        Parameters
        ----------
        X, y, sample_weight
            As in `TANClassifier.fit`.

        Returns
        -------
        self
        """
        recipes = self._check()
        data = TrainingData(self, X, y, sample_weight, self._n_threads())
        split_seed, seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=2).tolist()
        calibrate = self.calibrate if self.combine == "log" else False

        def is_fine(recipe: EnsembleRecipe) -> bool:
            return as_parameters(recipe.parameters).is_fine

        def parts_of(recipe: EnsembleRecipe) -> list[tuple[Context, Rows]]:
            return data.parts(split_seed, is_fine=is_fine(recipe))

        def learn(recipe: EnsembleRecipe, part: Context) -> Any:
            return average_networks([member.fitted.network for member in recipe.learn(part, seed)]).log_joint

        recipes = worth_trying(recipes, data.encoded(is_fine=is_fine(next(iter(recipes.values())))).rows)
        recipes = {name: each.tuned(data.context(is_fine=is_fine(each)), seed) for name, each in recipes.items()}
        choice = choose(recipes, learn, parts_of, calibrate=calibrate, verbose=self.verbose)
        recipe = recipes[choice.name]
        encoded = data.encoded(is_fine=is_fine(recipe))
        learned = recipe.learn(data.context(is_fine=is_fine(recipe)), seed)
        networks, temperature = calibrated([member.fitted.network for member in learned], choice, calibrate)
        members = [self._member(encoded, *each) for each in zip(learned, networks, strict=True)]
        self._keep(
            encoded,
            {
                "estimators_": members,
                "average_": average_networks(networks),
                "choice_": choice.to_dict(temperature),
                "options_": recipe.used(encoded.rows.n_counted).get_params(deep=False),
            },
        )
        return self

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Log-probability of each class given each row, shape (N, C)."""
        if self.combine == "log":
            return super().predict_log_proba(X)
        codes = self._encode(X)
        of_members = [log_softmax(member._scores(codes)) for member in self.estimators_]
        return np.logaddexp.reduce(of_members) - np.log(len(of_members))

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class given each row, shape (N, C)."""
        if self.combine == "log":
            return super().predict_proba(X)
        return self._mean_probability(self._encode(X))

    def _check(self) -> dict[str, EnsembleRecipe]:
        """Check all options and return the recipes they leave to choose among, by name."""
        self._check_options()
        check_choice("training", self.training, ("auto", "joint", "separate"))
        check_choice("combine", self.combine, ("log", "probability"))
        if self.calibrate is True and self.combine != "log":
            raise ValueError(f"calibrate=True requires combine='log', got combine={self.combine!r}")
        if self.monotonic_cst is not None and self.combine != "log":
            raise ValueError(f"monotonic_cst requires combine='log', got combine={self.combine!r}")
        recipes = ensemble_recipes_for(self.members, self.parameters, self.training)
        if self.require:
            recipes = able_to_have_edges(recipes)
        if self.monotonic_cst is not None:
            recipes = able_to_be_monotone(recipes)
        searched = [getattr(each.members, "structure", NoParents()) for each in recipes.values()]
        if self.calibrate is True and any(as_structure(each).may_have_cycles for each in searched):
            raise ValueError(f"calibrate=True requires a forest, which members={self.members!r} does not promise")
        return recipes

    def _member(self, encoded: Encoded, learned: Learned, network: Network) -> TANClassifier:
        """A fitted member of its own; fitted again, it would learn the same unless members were trained jointly."""
        recipe = learned.recipe.get_params(deep=False)
        shared = {name: getattr(self, name) for name in _SHARED}
        member = TANClassifier(**recipe, **shared, random_state=learned.seed)
        used = learned.recipe.used(encoded.rows.n_counted)
        return member._keep_fitted(encoded, learned.fitted._replace(network=network), NO_CHOICE.to_dict(), used)

    def _best(self, codes: IntArray) -> IntArray:
        scores = softmax(self._scores(codes)) if self.combine == "log" else self._mean_probability(codes)
        return scores.argmax(axis=1)

    def _mean_probability(self, codes: IntArray) -> FloatArray:
        mean: FloatArray = np.mean([softmax(member._scores(codes)) for member in self.estimators_], axis=0)
        return mean

    def _networks(self) -> list[Network]:
        if self.combine != "log":
            raise ValueError(
                f"combine={self.combine!r} averages probabilities, which is not a sum over the features; "
                "an ensemble with combine='log' can be explained"
            )
        return [member.network_ for member in self.estimators_]
