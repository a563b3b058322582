"""The scikit-learn face: a TAN classifier whose structure is learned by gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state

from tanager._types import FloatArray, IntArray
from tanager.estimators.choosing import Wishes, calibrated, choose_preset
from tanager.estimators.defaults import AUTO, Preset, missing_options, presets_of, with_preset
from tanager.estimators.drawing import DrawingMixin
from tanager.estimators.explaining import ExplainingMixin
from tanager.estimators.fitting import Fitted, Rows, fit_closed_form, fit_gradient
from tanager.estimators.learned_structure import StructureMixin
from tanager.estimators.options import check_options, is_free, make_loss, make_settings
from tanager.estimators.predicting import PredictingMixin
from tanager.estimators.preparing import encode_training, lay_out, memory_needed
from tanager.estimators.sampling import SamplingMixin
from tanager.estimators.saving import SavingMixin
from tanager.estimators.structures import check_fixed
from tanager.losses import Loss
from tanager.model import Network, check_memory
from tanager.structure import ParentSets
from tanager.training import Noise, StructureSearch, TrainingSettings

_DEFAULTS = TrainingSettings()


class TANClassifier(
    PredictingMixin,
    StructureMixin,
    DrawingMixin,
    ExplainingMixin,
    SamplingMixin,
    SavingMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """Tree-augmented naive Bayes classifier with a structure learned by gradient descent.

    The class is a parent of every feature, and each feature may have one more feature as parent. Which one is learned
    together with the probabilities, by the method of Roth and Pernkopf (2020): the parent of each feature is drawn from
    a distribution that gradient descent sharpens, and after training the most probable structure stays.

    Without options, a fit tries a few presets on rows held out, trains the best one on all rows and calibrates its
    probabilities (docs/defaults.md). Options that are None come from the preset, or if a structure is given from what
    holds for any structure; ``options_`` has their values after a fit.

    Parameters
    ----------
    structure : str, array-like of int, ParentSets or search, default="auto"
        Which structures are considered.

        - "auto": what the presets say, a "free" search or none.
        - "none": naive Bayes, no extra parents.
        - "random": one random tree along the ordering.
        - "chow-liu": the tree of largest conditional mutual information (Friedman et al., 1997).
        - "tree": the tree of largest summed ``screening`` score.
        - "subset": up to ``max_parents`` random predecessors in the ordering, and no parent.
        - "all": all predecessors in the ordering, and no parent.
        - "k-dependence": "subset" with pairs of the candidates as further ones, so that a feature may have two extra
          parents. Up to ``max_parents`` pairs of a feature, those whose tables are no larger than ``max_table_size``.
        - "nearest": the ``max_parents`` nearest preceding pixels of an image, and no parent.
        - "free": up to ``max_parents`` other features, without an ordering; the result is always a forest.
        - "pseudo": the same, but the result may contain cycles: it classifies, but it is then not a Bayesian network.
        - "greedy-conditional", "greedy-margin", "greedy-left-out", "annealed-margin": the forest that hill climbing or
          simulated annealing finds by that score with maximum likelihood parameters; then it is fixed. The margin is
          cut off at ``gamma``; "greedy-left-out" scores each row by tables that were counted without it.
          `tanager.training.GreedySearch` and ``AnnealedSearch`` have more options, and can be given instead.
        - array-like of int: the extra parent of each feature, -1 for none.
        - ParentSets: a search space of your own.
    choose : bool, default=True
        Whether to choose among the presets; False takes the first. Only with ``structure="auto"``.
    calibrate : bool or None, default=None
        Whether to divide the log-odds of the classes by a temperature that was found on rows held out. The tables are
        changed to that end, so that it holds for queries and exports, too. None: if rows are held out for a choice
        anyway. With True an error if the structure is no forest.
    max_parents : int, default=8
        Number of candidate parents K of "subset", "nearest", "k-dependence", "free" and "pseudo"; all of them where
        there are fewer.
    max_table_size : int, default=50000
        Largest number of entries of a table with two extra parents, ``R_a * R_b * R_i * C``; for "k-dependence".
    candidates : {None, "random", "screened", "mixed", "all"}, default=None
        Which parents "subset", "k-dependence", "free", "pseudo", greedy and annealed searches choose from: random ones,
        those of high ``screening`` score, half of each, or all. None is "all" for greedy and annealed searches, else
        "random".
    screening : {"information", "explaining-away", "conditional", "margin"}, default="information"
        Score of a pair of features: conditional mutual information given the class, the same less that without the
        class, or what the pair adds to the conditional likelihood or to the margin of naive Bayes.
    free : {"project", "arborescence"}, default="project"
        How "free" keeps to forests: parents are drawn feature by feature, and the most probable forest is kept and
        trained alone for half as many epochs; or each step draws the best forest of its perturbed scores.
    ordering : None, str or array-like of int, default=None
        Order of the features for "random", "subset", "all", "k-dependence" and "nearest": "random", "natural" (as
        numbered), for images "A" (row-wise), "B" (along the diagonal), "C" (centre outwards), or a permutation. None is
        "C" for "nearest" and "random" for the others.
    image_shape : (int, int), default=None
        Rows and columns of the images whose pixels are the features, numbered row by row.
    loss : str, callable or None, default=None
        "hybrid", "nll" (negative log-likelihood), "margin", "conditional" (conditional likelihood), or a function
        ``loss(log_joint, y, sample_weight)`` that returns the mean loss of a batch and its gradient with respect to
        ``log_joint``. `tanager.losses.torch_loss` makes one from a PyTorch function.
    lam : float or None, default=None
        Weight of the margin loss in the hybrid one (lambda in the paper); 10 if a structure is given.
    gamma : float or None, default=None
        Log-margin that the margin loss asks for; 1 if a structure is given.
    eta : float or None, default=None
        Sharpness of the softened maximum over the other classes; 10 if a structure is given.
    parameters : {None, "gradient", "ml"}, default=None
        Train by gradient descent, or set maximum likelihood parameters in closed form, which needs a structure that is
        fixed: "none", "random", "chow-liu" or given parents.
    smoothing : float, default=1.0
        Added to each cell of the counts, with ``parameters="ml"`` and where a search scores moves by counted tables.
    categorical_features : None, "from_dtype" or array-like, default="from_dtype"
        Columns to take as categories: a boolean mask, positions or names, as in scikit-learn's histogram gradient
        boosting. "from_dtype" takes the columns of category, text and boolean type. Other columns are numbers.
    binning : {"auto", "mdlp", "quantile", "none"}, default="auto"
        How numbers are cut into bins: where the classes change ("mdlp", see `MDLPDiscretizer`), at quantiles, or not at
        all: then each number is a category. "auto" is "mdlp", but columns of at most 10 distinct values keep them all,
        and columns that it leaves whole are cut at quartiles.
    max_bins : int or None, default=None
        Largest number of bins of a numeric column; None is no limit for "auto" and "mdlp" and 10 for
        "quantile".
    max_categories : int or None, default=64
        Largest number of values of a category. Where there are more, the rarest are taken as one value. None is no
        limit; tables grow with the product of the numbers of values of a feature and its parent.
    missing : {"value", "ignore"}, default="value"
        What missing cells (NaN, None) of the training rows are: a value like others of the columns that have some, or
        unknown, so that they are left out of the counts and of the gradient. In prediction, missing cells of columns
        that have no value for them are summed out exactly; approximately if features have two extra parents.
    epochs, batch_size : int or None, default=None
        Passes over the rows, and rows of a step. None goes by the number of rows: about 40 steps of an epoch, and 300
        to 2000 steps in all.
    learning_rate : float or None, default=None
        Learning rate of the tables in the first epoch; 0.1 if a structure is given.
    learning_rate_decay : float
        Learning rate of the last epoch as a share of that of the first.
    structure_learning_rate : float or None, default=None
        Learning rate of the parent distribution; 0.01 if a structure is given.
    tau : (float, float)
        Temperature of the straight-through softmax in the first and in the last epoch.
    optimiser : {"selected", "dense"}, default="selected"
        Whether a step of Adam moves only the tables of the drawn structure, or all, as in the paper.
    parent_dropout : float or None, default=None
        Probability with which a feature goes without its extra parent in a step of training. Helps where tables are
        large for the number of rows. 0 if a structure is given.
    shrinkage : float, default=0.0
        Pull of tables with a parent towards naive Bayes; 0.01 to 0.1 helps where tables are large for the rows.
    smoothness : float or None, default=None
        Pull of neighbouring bins of a number to each other in the tables; 0.01 to 0.1 helps much where bins are many.
        0 if a structure is given.
    ridge : float or None, default=None
        Pull, as part of the loss and of the weight of so many rows, of the tables to where they start if there is a
        ``base_ridge``, else to no difference between the classes: higher means fewer surprises. 0 if a structure is
        given. With ``structure="none"`` and ``loss="conditional"`` this is logistic regression with ``C=1/ridge``.
    base_ridge : float or None, default=None
        A number: naive Bayes is trained first, with this ridge, and tables with parents start there. None: they start
        at random, as in the paper; without a structure of yours, as the preset that is chosen says.
    size_penalty : float, default=0.0
        Weight, in the loss, of the expected size of the model as a share of the largest: higher makes smaller models.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Number of threads; None is 1 and -1 is all. It has no influence on the result.
    verbose : int, default=0
        1 shows a progress line.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
    parents_ : ndarray of shape (D,)
        Extra parent of each feature, -1 for none.
    second_parents_ : ndarray of shape (D,)
        The other extra parent of features that have two, -1 for the rest; only "k-dependence" finds any.
    parent_probabilities_ : ndarray of shape (D, D + 1)
        Learned probability of each parent of each feature; the last column is for no parent. A pair of parents counts
        for both.
    network_ : tanager.model.Network
        Structure and probabilities, over codes.
    encoder_ : tanager.data.TableEncoder
        Bins and categories of the columns.
    choice_ : dict
        Name of the "preset", "temperature", and for the presets "tried" their "errors" and "log_losses" on rows held
        out.
    options_ : dict
        Values of the options that were not given.
    pooled_categories_ : dict
        For each column with rare values that were taken as one, by name or number, the list of them.
    history_ : dict of ndarray
        Loss, error, mean entropy of the parent distribution, learning rate and tau of each epoch.
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

    References
    ----------
    W. Roth and F. Pernkopf (2020). Differentiable TAN Structure Learning for Bayesian Network Classifiers. PGM.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier(random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        structure: str | ArrayLike | ParentSets | StructureSearch = AUTO,
        *,
        choose: bool = True,
        calibrate: bool | None = None,
        max_parents: int = 8,
        max_table_size: int = 50_000,
        candidates: Literal["random", "screened", "mixed", "all"] | None = None,
        screening: Literal["information", "explaining-away", "conditional", "margin"] = "information",
        free: Literal["project", "arborescence"] = "project",
        ordering: str | ArrayLike | None = None,
        image_shape: tuple[int, int] | None = None,
        loss: str | Loss | None = None,
        lam: float | None = None,
        gamma: float | None = None,
        eta: float | None = None,
        parameters: Literal["gradient", "ml"] | None = None,
        smoothing: float = 1.0,
        categorical_features: Any = "from_dtype",
        binning: Literal["auto", "mdlp", "quantile", "none"] = "auto",
        max_bins: int | None = None,
        max_categories: int | None = 64,
        missing: Literal["value", "ignore"] = "value",
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float = _DEFAULTS.learning_rate_decay,
        structure_learning_rate: float | None = None,
        tau: tuple[float, float] = _DEFAULTS.tau,
        optimiser: Literal["dense", "selected"] = _DEFAULTS.optimiser,
        parent_dropout: float | None = None,
        shrinkage: float = _DEFAULTS.shrinkage,
        smoothness: float | None = None,
        ridge: float | None = None,
        base_ridge: float | None = None,
        size_penalty: float = _DEFAULTS.size_penalty,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.choose = choose
        self.calibrate = calibrate
        self.max_parents = max_parents
        self.max_table_size = max_table_size
        self.candidates = candidates
        self.screening = screening
        self.free = free
        self.ordering = ordering
        self.image_shape = image_shape
        self.loss = loss
        self.lam = lam
        self.gamma = gamma
        self.eta = eta
        self.parameters = parameters
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.binning = binning
        self.max_bins = max_bins
        self.max_categories = max_categories
        self.missing = missing
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_decay = learning_rate_decay
        self.structure_learning_rate = structure_learning_rate
        self.tau = tau
        self.optimiser = optimiser
        self.parent_dropout = parent_dropout
        self.shrinkage = shrinkage
        self.smoothness = smoothness
        self.ridge = ridge
        self.base_ridge = base_ridge
        self.size_penalty = size_penalty
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn structure and probabilities.

        Parameters
        ----------
        X : array-like or pandas, polars or Arrow table of shape (N, D)
        y : array-like of shape (N,)
            Classes, of any type.
        sample_weight : array-like of shape (N,), optional
            Rows of weight zero count as absent.

        Returns
        -------
        self
        """
        check_options(self)  # before any work is done
        return self.fit_encoded(self.encode_training(X, y, sample_weight))

    def fit_encoded(self, rows: Rows) -> Self:
        """Learn from rows that `encode_training` has encoded."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        wishes = Wishes(self.choose, self.calibrate, seed, self.verbose > 0)
        choice = choose_preset(presets_of(self), partial(self._fit_part, seed=seed), rows, wishes)
        fitted = self._fit_preset(choice.preset, rows, seed, self.verbose)
        (network,), temperature = calibrated([fitted.network], choice, self.calibrate)
        self.choice_ = choice.to_dict(temperature)
        self.options_ = missing_options(self, choice.preset, rows.n_counted)
        return self.take_fitted(fitted._replace(network=network))

    def _fit_part(self, preset: Preset, rows: Rows, *, seed: int) -> Callable[[IntArray], FloatArray]:
        return self._fit_preset(preset, rows, seed, verbose=0).network.log_joint

    def _fit_preset(self, preset: Preset, rows: Rows, seed: int, verbose: int) -> Fitted:
        """Train with the options of a preset where they are not given."""
        plan = with_preset(self, preset, rows.n_counted)
        plan.verbose = verbose
        layout = lay_out(plan, rows, seed)
        check_memory(layout)
        if plan.parameters == "ml":
            check_fixed(layout.parent_sets, plan.structure)
            return fit_closed_form(layout, rows, plan.smoothing, self._n_threads())
        loss, settings = make_loss(plan), make_settings(plan)
        threads = {"n_threads": self._n_threads(), "verbose": verbose}
        return fit_gradient(layout, rows, loss, settings, Noise(seed), is_free=is_free(plan), **threads)

    def take_fitted(self, fitted: Fitted) -> Self:
        """Keep what training has left, after `encode_training`."""
        self.network_, self._distribution = fitted.network, fitted.distribution
        self.history_ = fitted.history.to_arrays()
        self.parent_path_ = fitted.path.to_arrays(fitted.distribution.parent_sets)
        return self

    def encode_training(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Rows:
        """Learn bins, categories and classes; return the codes, the class numbers and the weights of the rows.

        With `fit_encoded` this is `fit` in two steps, for ensembles, whose members share the first.
        """
        return encode_training(self, X, y, sample_weight)

    def memory_needed(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> int:
        """Bytes that a fit to these rows would take beyond the table itself: codes, classes, order and tables.

        The table is binned and encoded to find out, but nothing is trained and the classifier stays as it is. What
        binning takes in passing is not counted (see docs/tables.md).

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> TANClassifier().memory_needed(*load_iris(return_X_y=True)) < 100_000
        True
        """
        probe = clone(self)
        return memory_needed(probe, probe.encode_training(X, y, sample_weight))

    def _networks(self) -> list[Network]:
        return [self.network_]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
