"""The scikit-learn face: a TAN classifier whose structure is learned by gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tanager._options import ShortNames, is_auto, naming_unknown_options
from tanager._types import FloatArray, IntArray
from tanager.data import FrameEncoder
from tanager.estimators.base import RENAMED, TANBase
from tanager.estimators.editing import EditingMixin
from tanager.estimators.findings import find
from tanager.estimators.increments import IncrementsMixin
from tanager.estimators.inputs import Encoded, GivenRows, TrainingData
from tanager.estimators.plotting import PlottingMixin
from tanager.estimators.streams import StreamData
from tanager.learning import (
    PARAMETERS,
    STRUCTURES,
    Context,
    Edges,
    Fitted,
    GivenSpace,
    Limits,
    NoParents,
    Parameters,
    Recipe,
    Structure,
    Trials,
    able_to_be_monotone,
    able_to_have_edges,
    as_structure,
    bins_of,
    calibrated,
    held_out_gains,
    recipes_for,
    worth_trying,
)
from tanager.learning.edges import is_counted
from tanager.learning.limits import Callback
from tanager.model import Network, ParentDistribution, can_temper, settle
from tanager.structure import ParentSets


class TANClassifier(IncrementsMixin, EditingMixin, PlottingMixin, TANBase):
    """Tree-augmented naive Bayes classifier with a structure learned by gradient descent.

    The class is a parent of every feature, and each feature may have one more feature as parent. Which one is learned
    together with the probabilities, by the method of Roth and Pernkopf (2020): the parent of each feature is drawn from
    a distribution that gradient descent sharpens, and after training the most probable structure stays.

    Without options, a fit tries a few presets on held-out rows, learns the best one from all rows and calibrates its
    probabilities (docs/defaults.md). ``repr`` shows what was given, ``options_`` what was used.

    Parameters
    ----------
    structure : "auto", structure, list of parents or ParentSets, default="auto"
        Which structures are considered. Words stand for the values of `tanager.learning` with their defaults.

        - "auto": chosen among presets on held-out rows, a free search or none.
        - "none": naive Bayes, no extra parents.
        - "random", `RandomTree`: one random tree.
        - "chow-liu", `ChowLiu`: the tree of largest conditional mutual information, or of another score.
        - "subset", `Subset`; "all", `AllPredecessors`; `Nearest`: the searches of the paper along an ordering.
        - "free", `Free`: a search without an ordering that ends in a forest.
        - "pseudo", `Pseudo`: the same with cycles: it classifies, but may not be a Bayesian network.
        - "k-dependence", `KDependence`: up to two extra parents.
        - "greedy", `GreedySearch`; "annealed", `AnnealedSearch`: hill climbing or simulated annealing by a score.
        - a list with the extra parent of each feature, -1 for none.
        - `ParentSets`: a search space of your own.
    parameters : "auto" or parameters, default="auto"
        How the probabilities are learned.

        - "auto": as the chosen preset says, or ``GradientDescent()`` where a structure is given.
        - "ml", `Counts`: maximum likelihood in closed form, for structures that are fixed.
        - "penalised", `PenalisedLikelihood`: the optimum of the conditional likelihood with a penalty that keeps
          neighbouring bins alike, for structures that are fixed.
        - "gradient", `GradientDescent`: gradient descent on a loss, with the structure where that leaves a choice.
    categorical_features : None, "from_dtype" or array-like, default="from_dtype"
        Columns to take as categories: a boolean mask, positions or names, as in scikit-learn's histogram gradient
        boosting. "from_dtype" takes the columns of category, text and boolean type. Other columns are numbers.
    ordinal_features : dict, default=None
        Columns of categories that have an order, with all their values in that order: ``{"size": ["S", "M", "L"]}``.
        Penalties on differences of neighbouring values then hold for them as for numbers. Ordered categories of pandas
        count as ordinal by themselves.
    binning : {"auto", "mdlp", "quantile", "fine", "none"}, dict or FrameEncoder, default="auto"
        How numbers are cut into bins: where the classes change ("mdlp", see `MDLPDiscretizer`), at quantiles, finely,
        or not at all, so that each number is a category. "auto" is "fine" for `PenalisedLikelihood`; for other
        parameters it is "mdlp", but columns of at most 10 distinct values keep them all, and columns that it leaves
        whole are cut at quartiles. A dict has cut points of your own, ``{"age": [18, 65]}``; a number on a cut belongs
        to the bin above. Columns that it does not name are cut as with "auto". An encoder, such as the ``encoder_`` of
        another classifier, gives bins and categories as they are.
    max_bins : int or None, default=None
        Largest number of bins of a numeric column; None is no limit for "mdlp", 10 for "quantile"
        and 64 for "fine", where bins of single heavy values may come on top, and columns of up to 256 distinct numbers
        keep them all if rows are many.
    max_categories : int, None or "auto", default="auto"
        Largest number of values of a category; the rarest beyond it are pooled into one value. None is no limit; CPTs
        grow with the product of the numbers of values of a feature and its parent. "auto" is 64, or 1,000 where values
        of parents are grouped (`PenalisedLikelihood`).
    missing : {"value", "ignore"}, default="value"
        How missing cells (NaN, None) of the training rows are taken: as a value of their own in the columns that have
        some, or as unknown, so that they are left out of the counts and of the gradient. In prediction, missing cells
        of columns that have no value for them are summed out exactly; approximately if features have two extra parents.
    class_weight : None, "balanced" or dict, default=None
        Weights of the classes, by class; only their ratios count, and a class that is not named has the weight 1.
        "balanced" gives all classes the same weight. The probabilities are then those of rows with classes in these
        ratios, not of the data: where errors have different costs, prefer `decide`, which leaves probabilities as
        they are. ``description_`` describes the data without these weights.
    forbid, require : list of (parent, child), default=None
        Edges between features that the structure must not have, and edges that it must have, by names or positions of
        columns. Every search keeps to them. To keep two features apart, forbid both directions; a feature can have one
        required parent. The class is a parent of every feature in any case.
    monotonic_cst : dict or list, default=None
        For two classes, columns with which the probability of ``classes_[1]`` must never fall (1) or never rise (-1),
        whatever the known values of the others are: ``{"income": 1}``, or a list with 1, 0 or -1 for each column. It
        holds exactly, for numbers and ordinal categories; where the value of another column is unknown and summed out,
        there is no promise. Requires `PenalisedLikelihood`, to which it limits the presets.
    calibrate : {"auto", True, False}, default="auto"
        Divide the log-odds of the classes by a temperature that was found on held-out rows. The CPTs are changed to
        that end, so it holds for queries and exports, too. "auto" does so if rows are held out for a choice anyway.
        True requires a structure that ends in a forest.
    time_limit : float or None, default=None
        Seconds after which a fit ends with the best that it has found: half of them for choosing, then what is begun
        ends at the next epoch or step of a search, and the notes of ``choice_`` say what was left out. Reading the data
        and a single fit of penalised effects or counts are not interrupted. The result depends on the machine.
    random_state : int, RandomState or None, default=None
        Seed of everything random; the same seed gives the same classifier for any number of threads.
    n_jobs : int or None, default=None
        Number of threads; None is 1 and -1 is all. It does not change the result.
    verbose : int, default=0
        1 shows progress on stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    parents_ : ndarray of shape (D,)
        Extra parent of each feature, -1 for none.
    second_parents_ : ndarray of shape (D,)
        The other extra parent of features that have two, -1 for the rest; only `KDependence` finds any.
    parent_probabilities_ : ndarray of shape (D, D + 1)
        Learned probability of each parent of each feature; the last column is for no parent. A pair of parents counts
        for both.
    network_ : tanager.model.Network
        The network that classifies, over codes: its class posteriors are the predictions.
    description_ : tanager.model.Network
        The network that describes the data, with counted probabilities. Ask it about the data (docs/queries.md);
        `sample`, `plot_cpt`, the report and exports as a Bayesian network use it. It has the structure of ``network_``,
        except where ``structure="auto"``, and another tree describes the data better by more than 1 %. With counted
        parameters it is ``network_``.
    encoder_ : tanager.data.FrameEncoder
        Bins and categories of the columns.
    target_name_ : str
        What the class is called in queries: the name of y if it has one, else "class".
    choice_ : dict
        "why" says in words what was chosen; name of the chosen "preset", the "temperature", and for the presets "tried"
        their "errors" and "log_losses" on held-out rows. "notes" say what ``time_limit`` or a call-back have cut short.
    edges_ : list of Edge
        What each edge between features adds on held-out rows and to the description of the data.
    description_edges_ : list of Edge
        The edges of ``description_``.
    feature_importances_ : ndarray of shape (D,)
        Share of each feature in what all say about the class.
    options_ : dict
        The "structure" and the "parameters" that were used, as values.
    fingerprint_ : tanager.data.Fingerprint
        By which the report tells rows that were trained on.
    pooled_categories_ : dict
        For each column with pooled values, by name or number, the list of them.
    history_ : dict of ndarray
        Loss, error, mean entropy of the parent distribution, learning rate and tau of each epoch, and the loss of
        validation rows if it was asked for by early stopping or a call-back.
    parent_path_ : dict of ndarray
        How the parent distribution sharpened: "epoch" (S,), "probability" (S, E) of the candidates, and the "child" and
        "parent" (E,) of each, -1 for none; D + p is the pair ``parent_pairs_[p]``. S is 0 if there was no search.
    parent_pairs_ : ndarray of shape (P, 2)
        Pairs of parents that were candidates.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (D,)
        Only if X has column names that are all text.

    Notes
    -----
    Values that were not seen in training are summed out in prediction. If all distinct rows fit into one batch, equal
    rows are merged; weights and repeated rows are then the same thing, to the last bit.

    A fit that fails or is interrupted leaves the classifier as it was before.

    References
    ----------
    W. Roth and F. Pernkopf (2020). Differentiable TAN Structure Learning for Bayesian Network Classifiers. PGM.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import GradientDescent, Hybrid, Subset, TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    >>> clf = TANClassifier(Subset(max_parents=4), GradientDescent(loss=Hybrid(gamma=5.0)))
    >>> clf.set_params(structure__max_parents=2)
    TANClassifier(parameters=GradientDescent(loss=Hybrid(gamma=5.0)),
                  structure=Subset(max_parents=2))
    """

    short_names: ClassVar[Mapping[str, ShortNames]] = {"structure": STRUCTURES, "parameters": PARAMETERS}
    _scorer = "network_"

    network_: Network
    _distribution: ParentDistribution

    @naming_unknown_options("TANClassifier", RENAMED)
    def __init__(
        self,
        structure: str | Structure | ArrayLike | ParentSets = "auto",
        parameters: str | Parameters = "auto",
        *,
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
        self.structure = structure
        self.parameters = parameters
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
        """Learn structure and probabilities.

        Parameters
        ----------
        X : array-like or pandas, polars or Arrow frame of shape (N, D), or a source
            A source, such as `tanager.FileSource`, yields rows and classes in pieces, which need not fit into memory
            (docs/large-data.md).
        y : array-like of shape (N,)
            Classes, of any type; none with a source.
        sample_weight : array-like of shape (N,), optional
            Rows of weight zero count as absent.
        X_val, y_val, sample_weight_val : optional
            Validation rows, with the columns and among the classes of X and y. Whatever is otherwise decided on rows
            held out from X is decided on these: penalties, the preset, the temperature, and when to stop
            (``GradientDescent(early_stopping=...)``). All of X is then learned from.
        callback : callable, optional
            Called with a `tanager.learning.Epoch` after each epoch of gradient descent on all rows; True ends training
            with what there is.

        Returns
        -------
        self
        """
        recipes, limits = self._check(), Limits.begin(self.time_limit, callback)
        given = GivenRows.check(X_val, y_val, sample_weight_val)
        with self._training_data(X, y, sample_weight, given, limits) as data:
            return self._fit(recipes, data, limits)

    def _fit(self, recipes: dict[str, Recipe], data: TrainingData | StreamData, limits: Limits) -> Self:
        """Choose a recipe, learn it from all rows, and keep what comes out."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

        trials = Trials(data, seed, seed + 1, lambda fitted: fitted.network.log_joint)
        ways: dict[str, Any] = {"calibrate": self.calibrate, "verbose": self.verbose}
        best = trials.best(recipes, may_keep_trial=limits.callback is None, **ways)
        recipe, encoded, context, choice = best.recipe, best.encoded, best.context, best.choice
        self._warn_of_pooled(encoded)
        (network,), temperature = calibrated([best.learned.network], choice, self.calibrate)
        parents = None
        if (network.parents >= 0).any():
            parents = trials.gain_of_parents(choice, Recipe(NoParents(), recipe.parameters))
        fixed = Recipe(GivenSpace(network.layout.parent_sets), recipe.parameters)

        def gains(edges: Edges) -> Edges:
            return held_out_gains(edges, fixed, encoded.rows, seed, temperature)

        used = recipe.used(context)
        is_measured = best.may_measure_edges(limits)
        fitted, said = best.learned._replace(network=network), choice.to_dict(temperature, parents, limits.notes)
        return self._keep_fitted(encoded, context, fitted, said, used, gains if is_measured else None)

    def memory_needed(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> int:
        """Bytes that a fit to these rows would take at most beyond X itself: codes, classes, order and CPTs.

        X is binned and encoded to find out, but nothing is searched or trained, and the classifier stays as it is. What
        binning takes in passing is not counted (see docs/tables.md).

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> TANClassifier().memory_needed(*load_iris(return_X_y=True)) < 1_000_000
        True
        """
        recipes = self._check()
        data = TrainingData(self, X, y, sample_weight, self._n_threads())
        tried = worth_trying(recipes, data.encoded(bins_of(next(iter(recipes.values())))).rows).values()
        contexts = [data.context(bins_of(each)) for each in tried]
        needed = [each.memory_needed(context) for each, context in zip(tried, contexts, strict=True)]
        return max(context.rows.n_bytes for context in contexts) + max(needed)

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Log-probability of each row together with each class, shape (N, C)."""
        return self._scores(self._encode(X))

    @property
    def parents_(self) -> NDArray[np.int64]:
        """Extra parent of each feature, (D,), -1 for none; the first where there are two."""
        check_is_fitted(self)
        return self.network_.extra_parents[:, 0]

    @property
    def second_parents_(self) -> NDArray[np.int64]:
        """The other extra parent of features that have two, (D,), -1 for the rest."""
        check_is_fitted(self)
        return self.network_.extra_parents[:, 1]

    @property
    def parent_pairs_(self) -> NDArray[np.int64]:
        """Pairs of parents that were candidates, (P, 2)."""
        check_is_fitted(self)
        return self._distribution.parent_sets.pairs

    @property
    def parent_probabilities_(self) -> FloatArray:
        """Learned probability of each parent of each feature, (D, D + 1); the last column is for no parent.

        A pair of parents counts for both, so that a row with pairs may sum to more than one.
        """
        check_is_fitted(self)
        return self._distribution.matrix()

    def _check(self) -> dict[str, Recipe]:
        """Check all options and return the recipes they leave to choose among, by name."""
        self._check_options()
        recipes = recipes_for(self.structure, self.parameters)
        if self.require:
            recipes = able_to_have_edges(recipes)
        if self.monotonic_cst is not None:
            recipes = able_to_be_monotone(recipes)
        if self.calibrate is True and any(as_structure(each.structure).may_have_cycles for each in recipes.values()):
            raise ValueError(f"calibrate=True requires a forest, which structure={self.structure!r} does not promise")
        return recipes

    def _keep_fitted(
        self,
        encoded: Encoded,
        context: Context,
        fitted: Fitted,
        choice: dict[str, Any],
        used: Recipe,
        gains: Callable[[Edges], Edges] | None = None,
        **more: Any,
    ) -> Self:
        """Take over what was learned, how it was chosen, the recipe as it was used, and what edges add if measured."""
        network, counts = fitted.network, context.counts(fitted.network.layout)
        are_frequencies = is_counted(used.parameters)
        if not are_frequencies and can_temper(network):
            network = settle(network, counts)
        is_open = is_auto(self.structure) and "_kept" not in more
        may_differ = is_open and not (self.forbid or self.require)
        description, findings = find(network, encoded, context, counts, may_differ=may_differ)
        if are_frequencies and self.class_weight is None:
            description = network
        if gains is not None:
            findings = findings._replace(edges=gains(findings.edges))
        self._keep(
            encoded,
            {
                "_findings": findings,
                "pooled_categories_": encoded.encoder.pooled(),
                "network_": network,
                "description_": description,
                "_distribution": fitted.distribution,
                "history_": fitted.history.to_arrays(),
                "parent_path_": fitted.path.to_arrays(fitted.distribution.parent_sets),
                "choice_": choice,
                "options_": used.get_params(deep=False),
                **more,
            },
        )
        return self

    def _best(self, codes: IntArray) -> IntArray:
        return self.network_.predict(codes, self._n_threads())

    def _networks(self) -> list[Network]:
        return [self.network_]
