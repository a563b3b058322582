"""The trained classifier: one CPT for each feature, given the class and its extra parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager import core
from tanager._options import check_count
from tanager._threads import Crew
from tanager._types import FloatArray, Forest, IntArray
from tanager.model import queries
from tanager.model.dependence import OpenCpts, draw_rows
from tanager.model.layout import Layout, grouped_codes, make_layout
from tanager.model.observed import Observed, read_observed
from tanager.model.queries import Marginals, Target
from tanager.structure import NO_PARENT, ParentSets, dependence_order, depth_first_order, extra_parents_of, find_cycle


@dataclass(frozen=True, repr=False)
class Network:
    """A TAN classifier over codes: class prior, parents and CPTs.

    Attributes
    ----------
    parents : int64 array of shape (D,)
        The extra parent of each feature, -1 for none. The class is a parent of every feature. Numbers from D on are
        pairs of parents; `members` has their features.
    layout : Layout
    theta : float32 array
        Log-probabilities of all CPTs in sequence, each ``[x_parent, x_child, c]``, followed by zeros.
    log_prior : float64 array of shape (C,)

    Notes
    -----
    Where the layout has groups of values, a CPT has a line for each group of its parent's values only; `expanded` is
    the same network with one for each value.

    The parents found by a pseudo-TAN search may form a cycle. Such a network still classifies, but it is not a Bayesian
    network: its scores are not a joint distribution, and values cannot be summed out.

    If features have two extra parents, the network is not a forest, and only the log-joint of complete rows and draws
    are exact. `tanager.model.dependence` describes how unknown values are handled.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import Counts, TANClassifier
    >>> network = TANClassifier("chow-liu", Counts(1.0)).fit(*load_iris(return_X_y=True)).network_
    >>> network
    Network(4 features, 3 classes, 3 edges, 93 parameters)
    >>> network.marginals(classes=[0]).features[3].round(2)
    array([[0.92, 0.04, 0.04]])
    >>> network.query([3, "class"]).shape, network.query([2, 3], classes=[0, 1]).shape
    ((1, 3, 3), (2, 3, 3))
    >>> network.log_likelihood(classes=[0, 1]).round(3)
    array([-1.099, -1.099])
    >>> network.most_probable(classes=[2])[0]
    array([[2, 1, 2, 2]])
    >>> codes, classes = network.sample(1000, classes=[2], random_state=0)
    >>> np.bincount(codes[:, 3]) / 1000
    array([0.049, 0.125, 0.826])
    >>> round(network.entropy(), 2)
    3.5
    >>> network.mutual_information().round(1)
    array([0.4, 0.2, 0.7, 0.6])
    """

    parents: NDArray[np.int64]
    layout: Layout
    theta: FloatArray
    log_prior: FloatArray

    def __repr__(self) -> str:
        """One line: its size."""
        n_edges = int((self.extra_parents >= 0).sum())
        sizes = f"{self.n_features} features, {self.n_classes} classes, {n_edges} edges, {self.n_parameters} parameters"
        return f"Network({sizes})"

    def __str__(self) -> str:
        """The size, and a line for each feature, indented below its parent.

        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> print(TANClassifier([-1, 0, 0, 2], "ml").fit(*load_iris(return_X_y=True)).network_)
        Network(4 features, 3 classes, 3 edges, 93 parameters)
        0
          1
          2
            3
        """
        if not self.is_bayesian_network or self.has_pairs:
            lines = [f"{i} <- {', '.join(str(j) for j in own if j >= 0)}" for i, own in enumerate(self.extra_parents)]
            return "\n".join([repr(self), *lines])
        depth = np.zeros(self.n_features, np.int64)
        lines = []
        for i in depth_first_order(self.parents).tolist():
            depth[i] = depth[self.parents[i]] + 1 if self.parents[i] >= 0 else 0
            lines.append(f"{'  ' * int(depth[i])}{i}")
        return "\n".join([repr(self), *lines])

    def _repr_html_(self) -> str:
        """The lines of `str` for notebooks."""
        return f"<pre>{self}</pre>"

    @classmethod
    def from_arena(cls, layout: Layout, theta: FloatArray, log_prior: FloatArray, chosen: IntArray) -> Network:
        """Keep the CPTs of the chosen candidates; ``chosen``, int[D], is the index of one for each feature."""
        n_features, column, offset = len(layout.cards), layout.cpts.parent[chosen], layout.cpts.offset
        if len(layout.pairs):
            columns = [*range(n_features), *map(tuple, layout.pairs.tolist()), NO_PARENT]
            sets = ParentSets.from_lists([[columns[j]] for j in column])
        else:  # features, once more where they are in groups, and no parent
            parents = np.where(column == len(layout.cpts.cards) - 1, NO_PARENT, column % n_features)
            sets = ParentSets(np.arange(n_features + 1), parents.astype(np.int32))
        own = make_layout(sets, layout.cards, layout.n_classes, groups=layout.groups)
        flat = np.zeros(own.arena_size, np.float32)
        np.concatenate([theta[offset[e] : offset[e + 1]] for e in chosen], out=flat[: own.size], casting="same_kind")
        return cls(sets.parents.astype(np.int64), own, flat, np.asarray(log_prior, np.float64))

    @property
    def n_features(self) -> int:
        return len(self.parents)

    @property
    def n_classes(self) -> int:
        return len(self.log_prior)

    @property
    def cards(self) -> IntArray:
        """Number of values of each feature."""
        return self.layout.cards

    @property
    def n_parameters(self) -> int:
        """Number of CPT entries and class probabilities."""
        return self.layout.size + self.n_classes

    @property
    def is_bayesian_network(self) -> bool:
        """Whether the structure is free of cycles."""
        return dependence_order(self.extra_parents) is not None if self.has_pairs else find_cycle(self.parents) is None

    @property
    def has_pairs(self) -> bool:
        """Whether a feature has two extra parents, so that the network is not a forest."""
        return len(self.layout.parent_sets.pairs) > 0

    @property
    def extra_parents(self) -> NDArray[np.int64]:
        """Extra parents of each feature, int64[D, 2], -1 where there are fewer than two."""
        return extra_parents_of(self.parents, self.layout.pairs, self.n_features)

    def cpt(self, feature: int, *, grouped: bool = False) -> FloatArray:
        """The CPT ``[x_parent, x_feature, c]`` of a feature; without a parent the first axis has length 1.

        With two parents a and b, the first axis has their pairs of values, ``x_a * R_b + x_b``. ``grouped`` leaves the
        values of a parent together that are grouped (see `groups_of`): the first axis then has the groups.
        """
        self._check_feature(feature)
        network = self if grouped else self.expanded
        return np.exp(network.layout.cpt(network.theta, feature).astype(np.float64))

    def groups_of(self, feature: int) -> IntArray | None:
        """Group of each value of a feature where it is a parent, int64[R_i]; None if values are not grouped."""
        self._check_feature(feature)
        return None if self.layout.groups is None else self.layout.groups.of(feature)

    def _check_feature(self, feature: int) -> None:
        check_count("feature", feature, 0)
        if feature >= self.n_features:
            raise ValueError(f"there is no feature {feature}; features are numbered 0 to {self.n_features - 1}")

    @cached_property
    def expanded(self) -> Network:
        """The same network with a line for each value of a parent in every CPT, also where values are grouped."""
        groups = self.layout.groups
        if groups is None:
            return self
        own = make_layout(self.layout.parent_sets, self.cards, self.n_classes)
        theta = np.zeros(own.arena_size, np.float32)
        for i, parent in enumerate(self.parents.tolist()):
            cpt = self.layout.cpt(self.theta, i)
            own.cpt(theta, i)[...] = cpt if parent < 0 else cpt[groups.of(parent)]
        return replace(self, layout=own, theta=theta)

    def log_joint(self, codes: IntArray, n_threads: int = 1) -> FloatArray:
        """Log-probability of each row together with each class, float64[N, C].

        A code equal to the number of values of its feature is unknown; unknown values are summed out exactly. If the
        parents form a cycle this is not possible, and terms that depend on an unknown value are left out. If features
        have two parents, CPTs with an unknown parent are averaged (see `tanager.model.dependence`).
        """
        array = as_codes(codes, self.n_features)
        log_joint, incomplete = self._predictor.log_joint(self._wide(array, n_threads), n_threads)
        if incomplete is not None:
            check_codes(array, self.cards)
            self._sum_out(incomplete, array, log_joint, n_threads)
        return log_joint

    def predict(self, codes: IntArray, n_threads: int = 1) -> NDArray[np.int64]:
        """Number of the most probable class of each row, the first if tied; unknown values as in `log_joint`."""
        array = as_codes(codes, self.n_features)
        classes, incomplete = self._predictor.classes(self._wide(array, n_threads), n_threads)
        if incomplete is not None:
            check_codes(array, self.cards)
            classes[incomplete] = self.log_joint(array[incomplete], n_threads).argmax(axis=1)
        return classes

    @cached_property
    def _predictor(self) -> core.Predictor:
        """The compiled form, which is checked once; rows with a code that is unknown or out of range are left to us."""
        return core.Predictor(self.theta, self.log_prior, tuple(self.layout.cpts), self.layout.parent_sets.pairs)

    def _wide(self, codes: IntArray, n_threads: int) -> IntArray:
        """The codes with those of groups, where there are some."""
        groups = self.layout.groups
        return codes if groups is None else grouped_codes(codes, groups, n_threads)

    # The compiled form belongs to the level of instructions of one machine.
    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_predictor", "expanded")}

    def _sum_out(self, rows: NDArray[np.int64], codes: IntArray, log_joint: FloatArray, n_threads: int) -> None:
        """Fill in the given rows and sum out their unknown values."""
        if self.has_pairs:
            cpts, part = self.open_cpts(), codes[rows]
            log_joint[rows] = self.log_prior + sum(cpts.terms(i, part) for i in range(self.n_features))
            return
        forest = self.forest()

        def sum_out(lo: int, hi: int) -> None:
            core.marginal_log_joint(rows[lo:hi], forest, codes, log_joint)

        with Crew(n_threads) as crew:
            crew.run(sum_out, crew.split(len(rows)))

    def open_cpts(self) -> OpenCpts:
        """CPTs with entries for unknown values, for networks in which features have two parents."""
        return OpenCpts(self.extra_parents, [self.cpt(i) for i in range(self.n_features)], self.cards)

    def forest(self) -> Forest:
        """The arrays for message passing; the order is empty if the parents form a cycle."""
        if self.has_pairs:
            raise ValueError("the network is not a forest: a feature has two extra parents")
        order = depth_first_order(self.parents) if self.is_bayesian_network else np.empty(0, np.int64)
        start = np.concatenate([[0], np.cumsum(self.cards)])
        return Forest(self.expanded.theta, self.log_prior, self.expanded.layout.cpts, order, start)

    def log_terms(self, codes: ArrayLike, n_threads: int = 1) -> FloatArray:
        """The log-joint without the prior, split over the features, float64[N, D, C].

        The term of a feature is log p(x_i | x_parent, c). If the parent is unknown, it is the log-probability of x_i
        given all values observed before it, in depth-first order. The term of an unknown feature is zero, up to
        rounding. If features have two parents, CPTs with an unknown parent are averaged instead.
        """
        observed = read_observed(self.cards, self.n_classes, codes)
        if self.has_pairs:
            cpts = self.open_cpts()
            return np.stack([cpts.terms(i, observed.codes) for i in range(self.n_features)], axis=1)
        terms = np.empty((observed.n_rows, self.n_features, self.n_classes))
        with Crew(n_threads) as crew:
            crew.run(core.fill_chain_terms, crew.split(observed.n_rows), self.forest(), observed.codes, terms)
        return terms

    def marginals(
        self, codes: ArrayLike | None = None, classes: ArrayLike | None = None, n_threads: int = 1
    ) -> Marginals:
        """Exact probabilities of the class and of each feature given the observed values.

        Parameters
        ----------
        codes : int array of shape (N, D), optional
            Observed values; a code equal to the number of values of its feature is unknown. None: all are.
        classes : int array of shape (N,), optional
            Observed classes, -1 if unknown. None: all are. Without codes and classes, N is 1.
        n_threads : int, default=1
            Does not change the result.

        Returns
        -------
        Marginals
            ``classes``, float64[N, C], and ``features``, an array float64[N, R_i] for each feature.
        """
        return queries.find_marginals(*self._ask(codes, classes), n_threads)

    def query(
        self,
        targets: Sequence[Target],
        codes: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        """Exact joint probability of features and the class, given the observed values.

        Parameters
        ----------
        targets : list
            Numbers of features, "class", or both. The result has a cell for each combination of their values.
        codes, classes, n_threads
            As in `marginals`.

        Returns
        -------
        float64 array of shape (N, ...)
            One axis for each target, in their order: ``query([3, "class"])`` has shape ``(N, R_3, C)``.
        """
        return queries.find_joint(*self._ask(codes, classes), targets, n_threads)

    def log_likelihood(
        self, codes: ArrayLike | None = None, classes: ArrayLike | None = None, n_threads: int = 1
    ) -> FloatArray:
        """Log-probability of the observed values of each row, float64[N]; arguments as in `marginals`."""
        observed = read_observed(self.cards, self.n_classes, codes, classes)
        if not self.has_pairs or (observed.codes == self.cards).any():
            self._ask()
        log_joint = self.log_joint(observed.codes, n_threads)
        total = np.logaddexp.reduce(log_joint, axis=1)
        return np.where(observed.classes < 0, total, log_joint[np.arange(observed.n_rows), observed.classes])

    def most_probable(
        self, codes: ArrayLike | None = None, classes: ArrayLike | None = None, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """The jointly most probable values of everything that was not observed.

        Parameters
        ----------
        codes, classes, n_threads
            As in `marginals`.

        Returns
        -------
        codes : int64 array of shape (N, D)
            Complete rows. Ties go to the smallest value and to the first class.
        classes : int64 array of shape (N,)
        log_probability : float64 array of shape (N,)
            Log-probability of the completed row.
        """
        return queries.complete(*self._ask(codes, classes), n_threads)

    def sample(
        self,
        n: int,
        codes: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = None,
        n_threads: int = 1,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw rows from the joint distribution, or the unknown values of rows given the observed ones.

        Parameters
        ----------
        n : int
            Number of rows to draw.
        codes, classes, n_threads
            As in `marginals`. Either one row, of which n completions are drawn, or n rows, each completed once.
        random_state : int, numpy.random.Generator or None
            The same number gives the same rows for any number of threads.

        Returns
        -------
        codes : int64 array of shape (n, D)
        classes : int64 array of shape (n,)
        """
        check_count("the number of rows to draw", n, 0)
        rng = np.random.default_rng(random_state)
        if self.has_pairs:
            return self._draw_whole_rows(int(n), read_observed(self.cards, self.n_classes, codes, classes), rng)
        return queries.draw(*self._ask(codes, classes), int(n), rng, n_threads)

    def _draw_whole_rows(
        self, n: int, observed: Observed, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draws for features with two parents: parents come first, and only the class may be known."""
        if not self.is_bayesian_network or (observed.codes < self.cards).any():
            self._ask()
        queries.check_n_draws(observed, n)
        prior = np.exp(self.log_prior)
        drawn = rng.choice(self.n_classes, size=n, p=prior / prior.sum())
        classes = np.where(observed.classes < 0, drawn, observed.classes)
        cpts = [self.cpt(i) for i in range(self.n_features)]
        return draw_rows(self.extra_parents, cpts, self.cards, classes, rng), classes

    def entropy(self) -> float:
        """Joint entropy of the class and the features, in nats."""
        return queries.joint_entropy(self._ask()[0])

    def mutual_information(self) -> FloatArray:
        """Mutual information between each feature alone and the class in nats, float64[D]."""
        return queries.class_information(self._ask()[0])

    def _ask(self, codes: ArrayLike | None = None, classes: ArrayLike | None = None) -> tuple[Forest, Observed]:
        """The inputs of a query; refuses networks that are not a forest."""
        if self.has_pairs:
            raise ValueError(
                "values cannot be summed out, because a feature has two extra parents: the network supports only the "
                "log-likelihood of complete rows and draws of whole rows, with or without their class; for other "
                "queries fit with another structure than 'k-dependence', for instance 'subset'"
            )
        cycle = find_cycle(self.parents)
        if cycle is not None:
            path = " -> ".join(map(str, [*cycle, cycle[0]]))
            raise ValueError(
                f"the parents form a cycle (features {path}), so the network is not a joint distribution and has no "
                "marginals, completions or samples; fit with another structure than 'pseudo', for instance 'free'"
            )
        return self.forest(), read_observed(self.cards, self.n_classes, codes, classes)


def as_codes(codes: ArrayLike, n_features: int) -> IntArray:
    """Codes as a C-contiguous array of whole numbers with one column for each feature."""
    array = np.ascontiguousarray(codes)
    if array.ndim != 2 or array.shape[1] != n_features or array.dtype.kind not in "iu":
        raise ValueError(
            f"codes must be whole numbers of shape (N, {n_features}), got {array.dtype} of shape {array.shape}"
        )
    return array


def check_codes(codes: IntArray, cards: IntArray) -> None:
    """Refuse codes that are neither a value of their feature nor unknown.

    Examples
    --------
    >>> check_codes(np.array([[0, 4]]), np.array([2, 3]))
    Traceback (most recent call last):
        ...
    ValueError: row 0, feature 1: code 4 is outside 0 to 3, where 3 is unknown
    """
    outside = np.argwhere((codes < 0) | (codes > cards))
    if outside.size:
        n, i = outside[0].tolist()
        raise ValueError(
            f"row {n}, feature {i}: code {codes[n, i]} is outside 0 to {cards[i]}, where {cards[i]} is unknown"
        )
