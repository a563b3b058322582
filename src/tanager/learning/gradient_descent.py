"""Gradient descent, as an option value: CPTs, and the distribution over parents where a space leaves a choice.

Both are trained together (section 3.2 of the paper). A search without an ordering ends with a projection onto the most
probable forest, which is trained alone for a while.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import field, fields
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tanager._options import NotKept, Options, ShortNames, check_choice, check_count, check_number, check_pair, is_auto
from tanager._types import FloatArray, IntArray
from tanager.learning.context import Context
from tanager.learning.limits import REFIT, SEARCH, Monitor, Validation
from tanager.learning.parameters import Fitted, ParameterOptions
from tanager.learning.rows import Rows, hold_out
from tanager.learning.structures import Forest
from tanager.losses import LOSSES, Loss, check_loss
from tanager.model import Layout, Network, ParentDistribution, average_networks, check_memory, make_layout
from tanager.model.joint import join_layouts, split_distribution, split_networks
from tanager.structure import maximum_arborescence, naive_bayes
from tanager.training import (
    MOST_EPOCH_ROWS,
    Noise,
    ParentPath,
    Problem,
    Start,
    TrainingSettings,
    TrainState,
    initial_state,
    keep_structure,
    recode_state,
    structure_of,
    train,
)
from tanager.training.progress import ProgressBar
from tanager.training.regularisers import (
    FeatureCpts,
    ParentDropout,
    Regulariser,
    Ridge,
    Shrinkage,
    SizePenalty,
    Smoothness,
)

# Lengths of training, chosen on the data sets of docs/defaults.md: about 40 steps an epoch, 300 to 2,000 steps in all.
_SMALLEST_BATCH, _LARGEST_BATCH = 16, 1000
_BATCHES_PER_EPOCH = 40
_FEWEST_EPOCHS, _MOST_EPOCHS = 10, 500
_HELD_OUT = 10  # one in so many rows is held out to tell when to stop
_FEWEST_STEPS, _MOST_STEPS, _STEPS_PER_ROOT = 300, 2000, 50

_WATCHED_SHARE = 0.25  # of the epochs, after which a watch is called
_ROUGH_SHARE = 0.25  # of the epochs, where a network is only looked at: gains of edges on letter correlate by 0.96


class Trained(NamedTuple):
    """Where gradient descent has come to, from which it can go on."""

    layout: Layout
    state: TrainState
    distribution: ParentDistribution
    chosen: NDArray[np.int64]  # candidate of each slot
    start: FeatureCpts | None  # where the CPTs started, if not at random

    def fitted(self) -> list[Fitted]:
        """The network of each layout with the chosen structure."""
        layout, state = self.layout, self.state
        learned = (layout, state.theta.value, state.prior.value)
        if layout.n_members == 1:
            return [Fitted(Network.from_arena(*learned, self.chosen), self.distribution, state.history, state.path)]
        # Snapshots are of all members' candidates together, and are not kept.
        distributions = split_distribution(self.distribution, layout.n_members)
        members = zip(split_networks(*learned, self.chosen), distributions, strict=True)
        return [Fitted(*member, state.history, ParentPath()) for member in members]

    def recoded(self, cards: IntArray, maps: Sequence[IntArray]) -> Trained:
        """The same where values have other codes and there are new ones."""
        layout = make_layout(self.layout.parent_sets, cards, self.layout.n_classes)
        state = recode_state(self.state, self.layout, layout, maps)
        start = None if self.start is None else self.start.recoded(maps, layout)
        return self._replace(layout=layout, state=state, start=start)


class RandomStart(Options):
    """Start from random CPTs, as in the paper."""

    def train(
        self, layout: Layout, problem: Problem, loss: Loss, settings: TrainingSettings, seed: int, n_threads: int
    ) -> Start | None:
        """Nothing is trained."""
        return None


class NaiveBayesStart(Options):
    """Train naive Bayes on the same loss first, and start all CPTs from it; a `ridge` then pulls back to it.

    Parameters
    ----------
    ridge : float, at least 0, default=1.0
        Ridge of that first training, towards no difference between the classes.
    """

    ridge: float = 1.0

    def __post_init__(self) -> None:
        check_number("ridge", self.ridge, least=0)

    def train(
        self, layout: Layout, problem: Problem, loss: Loss, settings: TrainingSettings, seed: int, n_threads: int
    ) -> Start | None:
        """CPTs and prior of the naive Bayes classifier."""
        own, noise = make_layout(naive_bayes(len(layout.cards)), layout.cards, layout.n_classes), Noise(seed)
        plain = settings.for_naive_bayes(float(self.ridge))
        state = train(initial_state(own, noise), own, problem, loss, plain, noise, n_threads=n_threads)
        cpts = FeatureCpts(state.theta.value[: own.size].copy(), own.cpts.offset)
        return Start(cpts, state.prior.value)


STARTS = ShortNames("start", {"random": RandomStart, "naive-bayes": NaiveBayesStart}, "train")
"""Where training starts, by the words that options take for it."""


def strength_of(kind: type[Regulariser]) -> Any:
    """A field that holds the strength of a regulariser; zero is none."""
    return field(default=0.0, metadata={"regulariser": kind})


class GradientDescent(ParameterOptions):
    """Train CPTs, and the structure where there is a choice, by stochastic gradient descent with Adam.

    Parameters
    ----------
    loss : str, value or function, default="hybrid"
        "hybrid", "nll" (negative log-likelihood), "margin", "conditional" (conditional likelihood); a value such as
        ``Hybrid(lam=30, gamma=5)``; or a function ``loss(log_joint, y, sample_weight)`` that returns the mean loss of a
        batch and its gradient with respect to ``log_joint``. `tanager.losses.torch_loss` makes one from PyTorch.
    epochs, batch_size : int or "auto", default="auto"
        Passes over the rows, and rows of a step. "auto" takes about 40 steps an epoch and 300 to 2,000 steps in all,
        depending on the number of rows.
    learning_rate : float, default=0.1
        Learning rate of the CPTs in the first epoch.
    learning_rate_decay : float, default=1e-3
        Learning rate of the last epoch as a share of that of the first; it falls geometrically.
    structure_learning_rate : float, default=0.01
        Learning rate of the parent distribution. It, ``tau`` and ``size_penalty`` matter only where the structure
        leaves a choice.
    tau : (float, float), default=(10.0, 0.1)
        Temperature of the straight-through softmax in the first and in the last epoch.
    optimiser : {"selected", "dense"}, default="selected"
        Let a step of Adam move only the CPTs of the drawn structure, or all of them, as in the paper.
    start : {"random", "naive-bayes"} or NaiveBayesStart, default="random"
        Where CPTs start: at random, as in the paper, or at a naive Bayes classifier that is trained first.
    parent_dropout : float, default=0.0
        Probability with which a feature goes without its extra parent in a step. 0.1 to 0.3 helps where CPTs are large
        for the number of rows.
    shrinkage : float, default=0.0
        Pull of CPTs with a parent towards naive Bayes; 0.01 to 0.1 helps where CPTs are large for the rows.
    smoothness : float, default=0.0
        Pull of neighbouring bins of a number to each other; 0.01 to 0.1 helps much where bins are many.
    ridge : float, default=0.0
        Pull, as part of the loss and with the weight of so many rows, of the CPTs to where a "naive-bayes" start had
        them, or else to no difference between the classes. With no parents and the conditional likelihood this is
        logistic regression with ``C=1/ridge``.
    size_penalty : float, default=0.0
        Weight, in the loss, of the expected size of the model as a share of the largest; higher makes smaller models.
    regularisers : tuple of Regulariser, default=()
        Further regularisers, such as your own.
    early_stopping : int or None, default=None
        End training when the loss of the validation rows has not fallen for so many epochs, and keep the parameters of
        the epoch where it was least. Without ``X_val`` a tenth of the rows is held out for that.

    Examples
    --------
    >>> from tanager.losses import Hybrid
    >>> GradientDescent(loss=Hybrid(lam=30.0), smoothness=0.03).set_params(loss__gamma=5.0)
    GradientDescent(loss=Hybrid(lam=30.0, gamma=5.0), smoothness=0.03)
    """

    short_names: ClassVar = {"loss": LOSSES, "start": STARTS}
    renamed: ClassVar = {
        "base_ridge": "start=NaiveBayesStart(ridge=...)",
        "smoothing": "an option of Counts(smoothing=...)",
        **{name: f"an option of the loss, such as loss=Hybrid({name}=...)" for name in ("lam", "gamma", "eta")},
    }
    needs_fixed: ClassVar[bool] = False

    loss: Any = "hybrid"
    epochs: int | Literal["auto"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    learning_rate: float = 0.1
    learning_rate_decay: float = 1e-3
    structure_learning_rate: float = 0.01
    tau: tuple[float, float] = (10.0, 0.1)
    optimiser: Literal["selected", "dense"] = "selected"
    start: str | RandomStart | NaiveBayesStart = "random"
    parent_dropout: float = strength_of(ParentDropout)
    shrinkage: float = strength_of(Shrinkage)
    smoothness: float = strength_of(Smoothness)
    ridge: float = strength_of(Ridge)
    size_penalty: float = strength_of(SizePenalty)
    regularisers: tuple[Regulariser, ...] = ()
    early_stopping: int | None = None

    def __post_init__(self) -> None:
        check_loss(self.resolved("loss"))
        if self.early_stopping is not None:
            check_count("early_stopping", self.early_stopping)
        for name in ("epochs", "batch_size"):
            if not is_auto(getattr(self, name)):
                check_count(name, getattr(self, name))
        for name in ("learning_rate", "learning_rate_decay", "structure_learning_rate"):
            check_number(name, getattr(self, name), above=0)
        check_pair("tau", self.tau)
        check_choice("optimiser", self.optimiser, ("selected", "dense"))
        self.resolved("start")
        _check_regularisers(self.regularisers)
        kinds = [type(each) for each in self.all_regularisers()]
        for kind in (each.metadata["regulariser"] for each in fields(self) if "regulariser" in each.metadata):
            if kinds.count(kind) > 1:
                raise ValueError(f"{kind.__name__} is given twice: as an option and among regularisers, or twice there")
        pulling = [each for each in self.all_regularisers() if each.pulls_to_start]
        if len(pulling) > 1:
            raise ValueError(f"at most one regulariser can pull CPTs to where they start, got {pulling}")
        for regulariser in self.all_regularisers():
            if self.learning_rate > regulariser.largest_rate * (1 + 1e-12):
                raise ValueError(
                    f"{regulariser!r} allows a learning_rate of at most {regulariser.largest_rate:g}, got "
                    f"{self.learning_rate!r}: lower one of the two"
                )

    def all_regularisers(self) -> tuple[Regulariser, ...]:
        """The regularisers in force, those of strength zero left out."""
        own = [
            each.metadata["regulariser"](strength)
            for each in fields(self)
            if "regulariser" in each.metadata and _is_given(strength := getattr(self, each.name))
        ]
        return (*own, *(each for each in self.regularisers if not isinstance(each, NotKept)))

    def sized(self, n_rows: float) -> Self:
        """The same with numbers for ``epochs`` and ``batch_size``.

        Few rows need many passes for the parent distribution to settle; many rows need large batches to be done in
        time.

        Examples
        --------
        >>> GradientDescent().sized(150)
        GradientDescent(epochs=69, batch_size=16)
        >>> GradientDescent(epochs=5).sized(494_021)
        GradientDescent(epochs=5, batch_size=1000)
        """
        wanted = 2.0 ** round(math.log2(max(n_rows, 1.0) / _BATCHES_PER_EPOCH))
        batch_size = int(min(max(wanted, _SMALLEST_BATCH), _LARGEST_BATCH))
        n_steps = min(max(_STEPS_PER_ROOT * math.sqrt(n_rows), _FEWEST_STEPS), _MOST_STEPS)
        epochs = math.ceil(n_steps / max(1, n_rows // batch_size))
        fewest = max(_FEWEST_EPOCHS, math.ceil(n_rows / MOST_EPOCH_ROWS))  # all rows are seen once
        lengths = {"batch_size": batch_size, "epochs": min(max(epochs, fewest), _MOST_EPOCHS)}
        return self.set_params(**{name: value for name, value in lengths.items() if getattr(self, name) == "auto"})

    def training_bytes(self, layout: Layout) -> int:
        """Memory of the CPTs and Adam's moments, with the CPTs that regularisers add."""
        return self._extend(layout)[0].training_bytes

    def learn(self, layouts: Sequence[Layout], context: Context, seed: int, forest: Forest | None) -> list[Fitted]:
        """Train CPTs and parent distribution, and keep the most probable structure or forest of each layout."""
        return self.trained(layouts, context, seed, forest).fitted()

    def trained(self, layouts: Sequence[Layout], context: Context, seed: int, forest: Forest | None) -> Trained:
        """Train CPTs and parent distribution, and choose the most probable structure or forest."""
        context, held = self._split(context, seed)
        settings = context.sized(self)._settings(forest, _ROUGH_SHARE if context.is_rough else 1.0)
        loss, noise = self.resolved("loss"), Noise(seed)
        layout, phi = self._extend(layouts[0] if len(layouts) == 1 else join_layouts(layouts))
        check_memory(layout)
        problem = context.problem(settings.batch_size, may_merge=getattr(loss, "takes_weights", True))
        start = self.resolved("start").train(layout, problem, loss, settings, seed, context.n_threads)
        options: dict[str, Any] = {"n_threads": context.n_threads, "start": None if start is None else start.cpts}
        bar, validation = ProgressBar(settings.epochs) if context.verbose else None, self._validation(context, held)

        def networks_of(state: TrainState) -> list[Network]:
            best = _best_structure(structure_of(state, layout), forest)
            return split_networks(layout, state.theta.value, state.prior.value, best)

        kept = None if context.population is None else context.population.checkpoints(f"{self!r} {seed} {layout.size}")

        def run(state: TrainState, stage: str, settings: TrainingSettings, bar: ProgressBar | None) -> TrainState:
            monitor = Monitor(context.limits, stage, settings.epochs, networks_of, validation, bar)
            watched = max(1, round(_WATCHED_SHARE * settings.epochs)) if stage == SEARCH else 0

            def on_epoch(state: TrainState) -> bool:
                context.check()
                if kept is not None:
                    kept.save(stage, state)
                if context.watch is not None and state.epoch == watched:
                    context.watch(average_networks(networks_of(state)).log_joint)
                return monitor(state)

            found = (None if kept is None else kept.load(stage)) or state
            train(found, layout, problem, loss, settings, noise, on_epoch=on_epoch, **options)
            monitor.restore(found)
            return found

        state = run(initial_state(layout, noise, phi, start), SEARCH, settings, bar)
        distribution = structure_of(state, layout)
        chosen = _best_structure(distribution, forest)
        if forest == "project":
            keep_structure(state, chosen)
            state = run(state, REFIT, settings.for_refit(), None)
        return Trained(layout, state, distribution, chosen, options["start"])

    def train_further(self, trained: Trained, context: Context, seed: int) -> Trained:
        """One more pass, over other rows, with the structure that was chosen; what is given does not change."""
        settings = context.sized(self)._settings(None).for_more_rows()
        loss, state = self.resolved("loss"), trained.state.copy()
        problem = context.problem(settings.batch_size, may_merge=getattr(loss, "takes_weights", True))
        keep_structure(state, trained.chosen)
        run: dict[str, Any] = {"n_threads": context.n_threads, "start": trained.start, "on_epoch": context.check}
        train(state, trained.layout, problem, loss, settings, Noise(seed), **run)
        return trained._replace(state=state)

    def _split(self, context: Context, seed: int) -> tuple[Context, Rows | None]:
        """The rows to learn from, and the rows that tell when to stop."""
        if self.early_stopping is None or context.validation is not None or context.rows.n_counted < 2 * _HELD_OUT:
            return context, context.validation
        kept, held = hold_out(context.rows, seed, _HELD_OUT, sys.maxsize)[0]
        if context.population is not None:
            return context, context.rows.take_part(held)  # which are few of all rows
        part = context.part(context.rows.take_part(kept)).with_options(
            n_threads=context.n_threads, verbose=context.verbose, watch=context.watch
        )
        return part, context.rows.take_part(held)

    def _validation(self, context: Context, held: Rows | None) -> Validation | None:
        """The held-out rows and how to judge them, if anything asks for that."""
        if held is None or (self.early_stopping is None and context.limits.callback is None):
            return None
        return Validation(held.codes, held.y, held.full_weight(), self.resolved("loss"), self.early_stopping)

    def _settings(self, forest: Forest | None, share: float = 1.0) -> TrainingSettings:
        """Settings of one run, or of a share of its epochs, once epochs and batch size are numbers."""
        return TrainingSettings(
            epochs=math.ceil(share * int(self.epochs)),
            batch_size=int(self.batch_size),
            learning_rate=float(self.learning_rate),
            learning_rate_decay=float(self.learning_rate_decay),
            structure_learning_rate=float(self.structure_learning_rate),
            tau=(float(self.tau[0]), float(self.tau[1])),
            optimiser=self.optimiser,
            regularisers=self.all_regularisers(),
            samples_forests=forest == "sample",
        )

    def _extend(self, layout: Layout) -> tuple[Layout, FloatArray | None]:
        """The layout with what the regularisers need besides, and the phi to start from."""
        phi: FloatArray | None = None
        for regulariser in self.all_regularisers():
            layout, phi = regulariser.extend(layout, phi)
        return layout, phi


def _best_structure(distribution: ParentDistribution, forest: Forest | None) -> NDArray[np.int64]:
    """The most probable candidate of each feature, or those of the most probable forest."""
    if forest is None:
        return distribution.most_probable()
    return maximum_arborescence(distribution.parent_sets, distribution.log_probabilities)


def _check_regularisers(regularisers: Any) -> None:
    """Require a tuple or list of regularisers."""
    is_sequence = isinstance(regularisers, (tuple, list))
    if not is_sequence or not all(isinstance(each, (Regulariser, NotKept)) for each in regularisers):
        raise ValueError(f"regularisers must be a tuple of Regulariser values, got {regularisers!r}")


def _is_given(strength: Any) -> bool:
    """Whether a strength is anything but the number zero; what is not a number is for the regulariser to refuse."""
    return isinstance(strength, bool) or strength != 0
