"""Learning in increments: `partial_fit`, from rows that come in pieces and are not kept.

Counts add up, so counted parameters, and a Chow-Liu tree, are those of one fit to all rows with the same bins. Gradient
descent goes on from where it was.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from tanager._options import check_number, is_auto
from tanager._threads import Crew
from tanager._types import IntArray
from tanager.data import FrameEncoder, grow
from tanager.estimators.inputs import (
    Encoded,
    TrainingData,
    known_beforehand,
    most_categories,
    name_target,
    read_classes,
    read_rows,
)
from tanager.estimators.knowledge import given_values, which_are_numbers
from tanager.estimators.weights import class_factors, read_weights
from tanager.learning import (
    NO_CHOICE,
    ChowLiu,
    Context,
    Counts,
    GradientDescent,
    Recipe,
    Rows,
    as_parameters,
    as_structure,
    recipes_for,
)
from tanager.learning.gradient_descent import Trained
from tanager.learning.populations import KeptCounts, KeptRows, check_countable, layout_to_count
from tanager.model import CptCounts


class Kept(NamedTuple):
    """What stays between the pieces, besides bins and classes."""

    recipe: Recipe
    seed: int
    n_pieces: int
    counts: CptCounts  # without class weights
    sample: KeptRows
    trained: Trained | None  # only of gradient descent
    is_number: NDArray[np.bool_]  # bool[D]


class Piece(NamedTuple):
    """Rows of one call, as codes."""

    rows: Rows
    encoder: FrameEncoder
    maps: list[IntArray] | None  # new codes of the values of the pieces before, if they have changed
    feature_names: NDArray[Any] | None
    known: dict[str, Any]  # what the user knows, as a context takes it
    target_name: str


class IncrementsMixin:
    """Adds `partial_fit` to an estimator."""

    _kept: Kept

    def partial_fit(
        self: Any, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None, *, forget: float = 0.0
    ) -> Any:
        """Learn from some more rows, which are not kept.

        With counted parameters the result is that of one `fit` to all rows with the same bins: to the last bit if
        weights are whole numbers, else to rounding. Only the smoothing that `Counts` chooses by itself is judged by a
        sample of 4,096 rows. A Chow-Liu tree is found again from the counts of all rows, which are kept for all pairs
        of features. Gradient descent trains on the first rows as `fit` does, and takes one pass
        over the rows of each further call, at 0.3 times the first learning rate; the structure stays.

        Bins come from the first rows, or from an encoder that is given as ``binning``. Categories that come later get a
        value of their own, and so do missing cells unless ``missing="ignore"``; once a column has ``max_categories``
        values, further ones share one.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like of shape (C,), optional
            All classes that there will be. Required in the first call, unless it comes after `fit`.
        forget : float from 0 to below 1, default=0.0
            By how much the weight of all earlier rows is reduced before these count; only for counted parameters.

        Returns
        -------
        self

        Notes
        -----
        "auto" is ``ChowLiu()`` for the structure and ``Counts()`` for the parameters. `fit` starts anew, and so does
        the first call after `fit`, with the classes and bins of the fit and a warning. A model file does not hold the
        counts; a pickle does.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = TANClassifier(binning="quantile").partial_fit(X[::2], y[::2], classes=[0, 1, 2])
        >>> clf = clf.partial_fit(X[1::2], y[1::2])
        >>> same = TANClassifier("chow-liu", "ml", binning=clf.encoder_).fit(X, y)
        >>> bool((clf.predict_proba(X) == same.predict_proba(X)).all())
        True
        """
        recipe = self._recipe_for_pieces(forget)
        before: Kept | None = getattr(self, "_kept", None)
        if before is None and hasattr(self, "classes_"):
            warnings.warn(
                "partial_fit after fit begins anew, with the classes and bins of the fit, which keeps no counts",
                UserWarning,
                stacklevel=2,
            )
        if before is not None and before.recipe != recipe:
            raise ValueError(f"partial_fit began with {before.recipe!r}, which must not change, but now has {recipe!r}")
        known = _all_classes(classes, getattr(self, "classes_", None))
        piece = self._read_piece(X, y, sample_weight, known, before)
        kept = self._learn_piece(recipe, piece, before, forget, known)
        factors = class_factors(self.class_weight, known, np.arange(len(known)), kept.counts.of_class)
        counts = kept.counts if factors is None else kept.counts.scaled_by_class(factors)
        sample = _with_class_weights(kept.sample.rows, self.class_weight, known)
        context = Context(sample, self._n_threads(), population=KeptCounts(counts), **piece.known)
        fitted = recipe.learn(context, kept.seed) if kept.trained is None else kept.trained.fitted()[0]
        own = kept.sample.rows.weight
        encoded = Encoded(sample, own, factors, known, piece.encoder, piece.feature_names, piece.target_name)
        used = recipe.used(context)
        return self._keep_fitted(encoded, context, fitted, NO_CHOICE.to_dict(), used, _kept=kept)

    def _recipe_for_pieces(self: Any, forget: float) -> Recipe:
        """Check all options before X is read."""
        self._check_options()
        check_number("forget", forget, least=0, below=1)
        if self.monotonic_cst is not None:
            raise ValueError("monotonic_cst requires all rows at once, and partial_fit has pieces of them")
        if self.calibrate is True:
            raise ValueError("calibrate=True requires held-out rows, which partial_fit does not have: use 'auto'")
        parameters = Counts() if self.parameters == "auto" else as_parameters(self.parameters)
        is_gradient = isinstance(parameters, GradientDescent)
        is_open = is_auto(self.structure)
        structure = ChowLiu() if is_open and not is_gradient else self.structure
        recipe = next(iter(recipes_for(structure, parameters).values()))
        if not is_gradient:
            check_countable(recipe)
        elif forget:
            raise ValueError(f"forget={forget!r} requires counted parameters; gradient descent forgets by itself")
        return recipe

    def _read_piece(self: Any, X: Any, y: Any, sample_weight: Any, classes: Any, before: Kept | None) -> Piece:
        """Read the rows, with bins of their own if there are none yet; otherwise the encoder learns new values."""
        n_threads, scratch = self._n_threads(), self if before is not None else clone(self)
        own = self.binning if isinstance(self.binning, FrameEncoder) else None
        encoder: FrameEncoder | None = getattr(self, "encoder_", own)
        if encoder is None:
            unweighted = scratch.set_params(class_weight=None)
            data = TrainingData(unweighted, X, y, sample_weight, n_threads)
            first = data.encoded("auto")
            y_codes = _renumber(first.classes, classes)[first.rows.y]
            rows = first.rows._replace(y=y_codes, n_classes=len(classes))
            return Piece(
                rows,
                first.encoder,
                None,
                first.feature_names,
                known_beforehand(self, data.frame, data.given, len(classes)),
                first.target_name,
            )
        frame = read_rows(scratch, X, y, reset=before is None)
        if not frame.n_rows:
            raise ValueError(f"Found array with 0 sample(s) (shape=(0, {frame.n_columns})); leave out empty pieces")
        labels, numbers = read_classes(y, frame.n_rows)
        weight, is_used = read_weights(sample_weight, frame.n_rows)
        used = np.arange(frame.n_rows)[is_used]
        encoder, maps = grow(encoder, frame, self.missing, most_categories(self, "auto"), used)
        given = given_values(self, frame)
        is_number = which_are_numbers(self, frame, given) if before is None else before.is_number
        rows = Rows(
            encoder.encode(frame, n_threads=n_threads)[is_used],
            _renumber(labels, classes)[numbers][is_used],
            None if weight is None else weight[is_used],
            encoder.cards.astype(np.int64),
            len(classes),
            encoder.n_ordered(is_number),
        )
        return Piece(
            rows,
            encoder,
            maps,
            getattr(scratch, "feature_names_in_", None),
            known_beforehand(self, frame, given, len(classes)),
            name_target(y, frame.names),
        )

    def _learn_piece(
        self: Any, recipe: Recipe, piece: Piece, before: Kept | None, forget: float, classes: NDArray[Any]
    ) -> Kept:
        """Count the rows and, with gradient descent, train on them."""
        rows, parameters = piece.rows, as_parameters(recipe.parameters)
        context = Context(
            _with_class_weights(rows, self.class_weight, classes), self._n_threads(), self.verbose, **piece.known
        )
        trained: Trained | None = None
        if before is None:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            layout = layout_to_count(recipe, context, seed)
            if isinstance(parameters, GradientDescent):
                trained = parameters.trained([layout], context, seed, as_structure(recipe.structure).forest)
                network = trained.fitted()[0].network
                if context.rules is not None:
                    context.rules.check(network.extra_parents)
                layout = network.layout
            counts, sample = CptCounts.empty(layout), KeptRows.none(rows)
            before = Kept(recipe, seed, 0, counts, sample, trained, cast(NDArray[Any], rows.n_ordered) > 0)
        else:
            counts, sample, trained = before.counts.copy(), before.sample, before.trained
            counts.scale(1.0 - forget)
            if piece.maps is not None:
                counts, sample = counts.recoded(rows.cards, piece.maps), sample.recoded(rows, piece.maps)
                trained = None if trained is None else trained.recoded(rows.cards, piece.maps)
            if trained is not None:
                seed = before.seed + before.n_pieces
                trained = cast(GradientDescent, parameters).train_further(trained, context, seed)
        sample = sample.added(rows, counts.n_rows)
        with Crew(self._n_threads()) as crew:
            counts.add(rows.codes, rows.y, rows.weight, crew)
        return before._replace(n_pieces=before.n_pieces + 1, counts=counts, sample=sample, trained=trained)


def _all_classes(given: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """The classes of the first call; those of a later one must be the same."""
    if known is None and given is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    if given is None:
        return cast(NDArray[Any], known)
    classes = np.unique(np.asarray(given))
    if known is not None and not np.array_equal(classes, known):
        raise ValueError(f"`classes={given!r}` is not the same as on last call to partial_fit, was: {known.tolist()!r}")
    return classes


def _renumber(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Place of each label among the classes."""
    place = {label: number for number, label in enumerate(classes.tolist())}
    strangers = [label for label in labels.tolist() if label not in place]
    if strangers:
        raise ValueError(
            f"y has the class {strangers[0]!r}, which is not among the classes of the first call: {classes.tolist()!r}"
        )
    return np.array([place[label] for label in labels.tolist()], np.int64)


def _with_class_weights(rows: Rows, class_weight: Any, classes: NDArray[Any]) -> Rows:
    factors = class_factors(class_weight, classes, rows.y, cast(Any, rows.weight))
    return rows if factors is None else rows._replace(weight=rows.full_weight() * factors[rows.y])
