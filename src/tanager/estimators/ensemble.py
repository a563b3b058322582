"""Several TANs of different structure, averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._options import ShortNames, check_choice, is_auto, naming_unknown_options
from tanager._types import FloatArray, IntArray
from tanager.data import FrameEncoder
from tanager.estimators.base import RENAMED, TANBase, log_softmax, softmax
from tanager.estimators.editing import MemberEditingMixin
from tanager.estimators.findings import Edge, clearer_tree, edge_widths
from tanager.estimators.inputs import Encoded, GivenRows, TrainingData
from tanager.estimators.streams import StreamData
from tanager.estimators.tan import TANClassifier
from tanager.learning import (
    MEMBERS,
    NO_CHOICE,
    PARAMETERS,
    Companion,
    Context,
    EnsembleRecipe,
    GivenSpace,
    Limits,
    Members,
    NoParents,
    Parameters,
    Recipe,
    Rows,
    Trials,
    able_to_be_monotone,
    able_to_have_edges,
    as_structure,
    calibrated,
    ensemble_recipes_for,
    held_out_gains,
)
from tanager.learning.edges import Findings, describe_edges, mean_contributions, of_member, union_of
from tanager.learning.ensembles import Learned
from tanager.learning.limits import Callback
from tanager.model import LogAverage, Network, average_networks, describe
from tanager.pictures import draw_circle

_MOST_DESCRIBED = 5_000  # rows that members' descriptions are compared on
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


class TANEnsembleClassifier(MemberEditingMixin, TANBase):
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
    companion : "auto", Companion or None, default="auto"
        Trees of another kind, whose log-odds are added to those of the members. "auto" tries them on held-out rows if
        ``members``, ``parameters``, ``binning`` and ``max_categories`` are "auto", too, ``max_bins`` is None, members
        are trained together and ``combine`` is "log", and takes them where they help clearly. It needs 16 columns and
        10 rows for each class, or 10 classes, 2,500 rows and 25 for each class; no more than two million cells, all in
        memory, and CPTs that take no more than about 1.5 GB; and 15 errors of the members alone. Weights of both are
        found on held-out rows, whatever ``calibrate`` says. None leaves them out, which saves time. A `Companion` is
        taken in any case.
    combine : {"log", "probability"}, default="log"
        Average log-probabilities, which makes the prediction one sum of lines of CPTs (those of the same pair of
        features add up to one), or average probabilities.
    categorical_features, ordinal_features, binning, max_bins, max_categories, missing
        How columns are read, as in `TANClassifier`.
    class_weight, forbid, require, monotonic_cst
        What is known beforehand, as in `TANClassifier`.
    calibrate, time_limit, random_state, n_jobs, verbose
        As in `TANClassifier`. With separate training, ``n_jobs`` members are trained at the same time.

    Attributes
    ----------
    estimators_ : list of TANClassifier
        The members. They share bins and categories.
    average_ : tanager.model.LogAverage
        The members as one sum of CPTs.
    description_ : tanager.model.Network
        The network that describes the data, for `query`, `complete` and `sample`. An average is not a joint
        distribution, so it is the description of one member: the one under which the training rows are most probable,
        or a tree of its own with ``members="auto"`` where that describes the data clearly better.
    classes_, encoder_, target_name_, choice_, edges_, description_edges_, feature_importances_ : as of `TANClassifier`
    options_ : dict
        The "members", the "parameters" and the "companion" that were used, as values, and whether training "is_joint".
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
    _describing: int

    @naming_unknown_options("TANEnsembleClassifier", RENAMED)
    def __init__(
        self,
        members: str | Members = "auto",
        parameters: str | Parameters = "auto",
        *,
        training: Literal["auto", "joint", "separate"] = "auto",
        companion: Companion | Literal["auto"] | None = "auto",
        combine: Literal["log", "probability"] = "log",
        categorical_features: Any = "from_dtype",
        ordinal_features: Mapping[str | int, Sequence[Any]] | None = None,
        binning: str | Mapping[str | int, Sequence[float]] | FrameEncoder = "auto",
        max_bins: int | None = None,
        max_categories: int | Literal["auto"] | None = "auto",
        missing: Literal["value", "ignore"] = "value",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        forbid: Sequence[tuple[str | int, str | int]] | None = None,
        require: Sequence[tuple[str | int, str | int]] | None = None,
        monotonic_cst: Mapping[str | int, int] | Sequence[int] | None = None,
        calibrate: Literal["auto"] | bool = "auto",
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.members = members
        self.parameters = parameters
        self.training = training
        self.companion = companion
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
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
        callback: Callback | None = None,
    ) -> Self:
        """Encode the rows once and learn the members from them.

        Parameters
        ----------
        X, y, sample_weight, X_val, y_val, sample_weight_val, callback
            As in `TANClassifier.fit`.

        Returns
        -------
        self
        """
        recipes, limits = self._check(), Limits.begin(self.time_limit, callback)
        given = GivenRows.check(X_val, y_val, sample_weight_val)
        with self._training_data(X, y, sample_weight, given, limits) as data:
            return self._fit(recipes, data, limits)

    def _fit(self, recipes: dict[str, EnsembleRecipe], data: TrainingData | StreamData, limits: Limits) -> Self:
        """Choose a recipe, learn it from all rows, and keep what comes out."""
        split_seed, seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=2).tolist()
        calibrate = self.calibrate if self.combine == "log" else False

        def log_joint_of(learned: list[Learned]) -> Any:
            return average_networks([member.fitted.network for member in learned]).log_joint

        trials = Trials(data, seed, split_seed, log_joint_of)
        ways: dict[str, Any] = {"calibrate": calibrate, "verbose": self.verbose}
        best = trials.best(recipes, may_combine=self._may_combine(), **ways)
        recipe, learned, choice, encoded, context = best
        self._warn_of_pooled(encoded)
        networks, temperature = calibrated([member.fitted.network for member in learned], choice, calibrate)
        members = [self._member(encoded, context, *each) for each in zip(learned, networks, strict=True)]
        networks = [member.network_ for member in members]
        importances = mean_contributions(networks, encoded.rows.codes, encoded.rows.full_weight())
        findings = Findings(importances, union_of([member._findings.edges for member in members]))
        parents = None
        if len(findings.edges.child):
            of_first = recipe if choice.made_of is None else recipe.set_params(companion=None)
            parents = trials.gain_of_parents(choice, of_first.without_parents(len(encoded.encoder.columns)))
        if best.may_measure_edges(limits) and self.combine == "log":
            fixed, rows = _with_structures_of(learned, recipe), encoded.rows
            findings = findings._replace(edges=held_out_gains(findings.edges, fixed, rows, split_seed, temperature))
        for member in members:
            member._findings = member._findings._replace(edges=of_member(member._findings.edges, findings.edges))
        describing = best_description([member.description_ for member in members], encoded.rows)
        if is_auto(self.members) and not (self.forbid or self.require):
            _describe_by_own_tree(members[describing], encoded, context)
        self._keep(
            encoded,
            {
                "_findings": findings,
                "estimators_": members,
                "_describing": describing,
                "average_": average_networks(networks),
                "choice_": choice.to_dict(temperature, parents, limits.notes),
                "options_": recipe.used(context).get_params(deep=False),
            },
        )
        return self

    @property
    def description_(self) -> Network:  # type: ignore[override]
        """The network that describes the data: the description of the member with the highest likelihood."""
        check_is_fitted(self)
        return self.estimators_[self._describing].description_

    @property
    def description_edges_(self) -> list[Edge]:
        """The edges of ``description_``, as in `TANClassifier`."""
        check_is_fitted(self)
        return self.estimators_[self._describing].description_edges_

    def plot_structure(self, ax: Any = None) -> Any:
        """Draw the edges of all members on a circle around the class; needs the extra ``tanager[plots]``.

        Wide edges are those that add most (see `edges_`). ``estimators_[k].plot_structure()`` draws a single member.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        ax : matplotlib axes
        """
        check_is_fitted(self)
        edges, names = self._findings.edges, self.encoder_.feature_labels
        pairs = list(zip(edges.child.tolist(), edges.parent.tolist(), strict=True))
        return draw_circle(pairs, edge_widths(edges), names, self.target_name_, ax=ax)

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
        if isinstance(self.companion, Companion):
            recipes = self._with_companion(recipes, self.companion)
        elif self.companion is not None and not is_auto(self.companion):
            raise ValueError(f"companion must be 'auto', None or a value such as Companion(), got {self.companion!r}")
        if self.require:
            recipes = able_to_have_edges(recipes)
        if self.monotonic_cst is not None:
            recipes = able_to_be_monotone(recipes)
        searched = [getattr(each.members, "structure", NoParents()) for each in recipes.values()]
        if self.calibrate is True and any(as_structure(each).may_have_cycles for each in searched):
            raise ValueError(f"calibrate=True requires a forest, which members={self.members!r} does not promise")
        return recipes

    def _with_companion(self, recipes: dict[str, EnsembleRecipe], companion: Companion) -> dict[str, EnsembleRecipe]:
        if self.combine != "log":
            raise ValueError(f"companion requires combine='log', got combine={self.combine!r}")
        if self.monotonic_cst is not None:
            raise ValueError("monotonic_cst and companion exclude each other: a companion is not kept in order")
        return {name: each.set_params(companion=companion) for name, each in recipes.items()}

    def _may_combine(self) -> bool:
        """Whether trees of two kinds may be chosen."""
        options = (self.members, self.parameters, self.companion, self.binning, self.max_categories)
        is_open = self.max_bins is None and all(map(is_auto, options))
        return is_open and self.combine == "log" and self.training != "separate"

    def _member(self, encoded: Encoded, context: Context, learned: Learned, network: Network) -> TANClassifier:
        """A fitted member of its own; fitted again, it would learn the same unless members were trained jointly."""
        recipe = learned.recipe.get_params(deep=False)
        shared = {name: getattr(self, name) for name in _SHARED}
        member = TANClassifier(**recipe, **shared, random_state=learned.seed)
        rows_of = replace(context, population=None) if learned.is_companion else context  # it learns from a sample
        used, fitted = learned.recipe.used(rows_of), learned.fitted._replace(network=network)
        return member._keep_fitted(encoded, context, fitted, NO_CHOICE.to_dict(), used)

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


def _with_structures_of(learned: Sequence[Learned], recipe: EnsembleRecipe) -> EnsembleRecipe | list[Recipe]:
    """The recipe of an ensemble, or those of its members, with the structures that were found."""
    if recipe.is_joint:
        return recipe.with_structures_of(learned)
    spaces = [GivenSpace(each.fitted.network.layout.parent_sets) for each in learned]
    return [Recipe(space, each.recipe.parameters) for space, each in zip(spaces, learned, strict=True)]


def _describe_by_own_tree(member: TANClassifier, encoded: Encoded, context: Context) -> None:
    """Let a member that is not in use yet describe the rows by the best tree, if that is clearly better."""
    network = member.network_
    own = clearer_tree(describe(encoded.unweighted(context.counts(network.layout))), encoded, context)
    if own is not None:
        member.description_ = own.network
        member._findings = member._findings._replace(described=describe_edges(own.network, own.information))


def best_description(descriptions: Sequence[Network], rows: Rows) -> int:
    """Number of the network under which rows are most probable, among those that are forests if there are some."""
    forests = [k for k, each in enumerate(descriptions) if each.is_bayesian_network and not each.has_pairs]
    if len(forests) < 2:
        return forests[0] if forests else 0
    step = -(-len(rows.y) // _MOST_DESCRIBED)
    codes, y, weight = rows.codes[::step], rows.y[::step], rows.full_weight()[::step]
    row = np.arange(len(y))
    return max(forests, key=lambda k: float(weight @ descriptions[k].log_joint(codes)[row, y]))
