"""The classifier that is left after training: one table for each feature, given the class and its extra parents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager._threads import Crew
from tanager._types import FloatArray, IntArray
from tanager.kernels.chain_rule import fill_chain_terms
from tanager.kernels.log_joint import network_log_joint
from tanager.kernels.marginal import marginal_log_joint
from tanager.kernels.messages import Forest
from tanager.model import queries
from tanager.model.classifying import pays_to_shorten, settle_classes
from tanager.model.dependence import OpenTables, draw_rows
from tanager.model.evidence import Evidence, read_evidence
from tanager.model.layout import Layout, make_layout
from tanager.model.queries import Marginals, Target
from tanager.model.wide_codes import wide_codes
from tanager.structure import NO_PARENT, ParentSets, dependence_order, depth_first_order, find_cycle, members_of


@dataclass(frozen=True)
class Network:
    """A TAN classifier over codes: class prior, parents and conditional probability tables.

    Attributes
    ----------
    parents : int64 array of shape (D,)
        The extra parent of each feature, -1 for none. The class is a parent of every feature. A number of D or more is
        a pair of parents, of which `members` has the features.
    layout : Layout
    theta : float32 array
        Log-probabilities of all tables, one after the other, each read as ``[x_parent, x_child, c]``, and some zeros.
    log_prior : float64 array of shape (C,)

    Notes
    -----
    The parents that a pseudo-TAN search finds may form a cycle. Such a network still classifies, but it is not a
    Bayesian network: its scores are not a joint distribution and nothing can be summed out of it.

    Where features have two extra parents the network is no forest, and only what needs no summing out is exact: the
    log-joint of complete rows and draws. `tanager.model.dependence` says what becomes of unknown values.
    """

    parents: NDArray[np.int64]
    layout: Layout
    theta: FloatArray
    log_prior: FloatArray

    @classmethod
    def from_arena(cls, layout: Layout, theta: FloatArray, log_prior: FloatArray, chosen: IntArray) -> Network:
        """Keep the chosen candidates' tables of an arena; ``chosen`` is the index of one for each feature, int[D]."""
        columns = [*range(len(layout.cards)), *map(tuple, layout.pairs.tolist()), NO_PARENT]
        sets = ParentSets.from_lists([[columns[j]] for j in layout.tables.parent[chosen]])
        tables = [layout.table(theta, e) for e in chosen]
        own = make_layout(sets, layout.cards, layout.n_classes)
        flat = np.zeros(own.arena_size, np.float32)
        flat[: own.size] = np.concatenate([table.ravel() for table in tables])
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
        """Number of table entries and class probabilities."""
        return self.layout.size + self.n_classes

    @property
    def is_bayesian_network(self) -> bool:
        """Whether the parents form no cycle."""
        return dependence_order(self.members) is not None if self.has_pairs else find_cycle(self.parents) is None

    @property
    def has_pairs(self) -> bool:
        """Whether a feature has two extra parents, so that the network is no forest."""
        return len(self.layout.pairs) > 0

    @property
    def members(self) -> NDArray[np.int64]:
        """Extra parents of each feature, int64[D, 2], -1 where there are fewer than two."""
        return members_of(self.parents, self.layout.pairs, self.n_features)

    def cpt(self, feature: int) -> FloatArray:
        """Conditional probabilities ``[x_parent, x_feature, c]`` of a feature; without a parent the first axis is 1.

        With two parents a and b the first axis has their pairs of values, ``x_a * R_b + x_b``.
        """
        return np.exp(self.layout.table(self.theta, feature).astype(np.float64))

    def log_joint(self, codes: IntArray, n_threads: int = 1) -> FloatArray:
        """Log-probability of each row together with each class, float64[N, C].

        A code equal to the number of values of its feature is unknown; unknown values are summed out exactly. Where
        the parents form a cycle this is not possible, and the terms that need an unknown value are left out. Where
        features have two parents, tables with an unknown parent are averaged (see `tanager.model.dependence`).
        """
        log_joint = np.empty((len(codes), self.n_classes))
        is_complete = np.empty(len(codes), np.bool_)
        model = (self.theta, self.log_prior, self.layout.tables)
        with Crew(n_threads) as crew:
            wide = wide_codes(codes, self.layout.pairs, self.layout.tables.cards, crew)
            crew.run(network_log_joint, crew.split(len(codes)), *model, wide, log_joint, is_complete)
        if not is_complete.all():
            self._sum_out(np.flatnonzero(~is_complete), codes, log_joint, n_threads)
        return log_joint

    def predict(self, codes: IntArray, n_threads: int = 1) -> NDArray[np.int64]:
        """Number of the most probable class of each row, the first of equal ones; unknown values as in `log_joint`."""
        if not pays_to_shorten(self.layout, len(codes)):
            return self.log_joint(codes, n_threads).argmax(axis=1)
        codes = np.ascontiguousarray(codes)
        with Crew(n_threads) as crew:
            wide = wide_codes(codes, self.layout.pairs, self.layout.tables.cards, crew)
            classes, is_settled = settle_classes(self.layout, self.theta, self.log_prior, wide, crew)
        if not is_settled.all():
            left = np.flatnonzero(~is_settled)
            classes[left] = self.log_joint(codes[left], n_threads).argmax(axis=1)
        return classes

    def _sum_out(self, rows: NDArray[np.int64], codes: IntArray, log_joint: FloatArray, n_threads: int) -> None:
        """Fill the given rows, whose unknown values are summed out."""
        if self.has_pairs:
            tables, part = self.open_tables(), codes[rows]
            log_joint[rows] = self.log_prior + sum(tables.terms(i, part) for i in range(self.n_features))
            return
        forest = self.forest()

        def sum_out(lo: int, hi: int) -> None:
            marginal_log_joint(rows[lo:hi], forest, codes, log_joint)

        with Crew(n_threads) as crew:
            crew.run(sum_out, crew.split(len(rows)))

    def open_tables(self) -> OpenTables:
        """Tables with lines for unknown values, as networks in which features have two parents read them."""
        return OpenTables(self.members, [self.cpt(i) for i in range(self.n_features)], self.cards)

    def forest(self) -> Forest:
        """The arrays that kernels pass messages along; without an order if the parents form a cycle."""
        if self.has_pairs:
            raise ValueError("features have two extra parents, so that the network is no forest")
        order = depth_first_order(self.parents) if self.is_bayesian_network else np.empty(0, np.int64)
        start = np.concatenate([[0], np.cumsum(self.cards)])
        return Forest(self.theta, self.log_prior, self.layout.tables, order, start)

    def log_terms(self, codes: ArrayLike, n_threads: int = 1) -> FloatArray:
        """The log-joint without the prior, split over the features, float64[N, D, C].

        The term of a feature is log p(x_i | x_parent, c). Where the parent is unknown, it is the log-probability of x_i
        given all that was observed before it, in an order in which what is below a feature follows it at once. The
        term of an unknown feature is zero, up to the rounding of the tables. Where features have two parents, tables
        with an unknown parent are averaged instead.
        """
        evidence = read_evidence(self.cards, self.n_classes, codes)
        if self.has_pairs:
            tables = self.open_tables()
            return np.stack([tables.terms(i, evidence.codes) for i in range(self.n_features)], axis=1)
        terms = np.empty((evidence.n_rows, self.n_features, self.n_classes))
        with Crew(n_threads) as crew:
            crew.run(fill_chain_terms, crew.split(evidence.n_rows), self.forest(), evidence.codes, terms)
        return terms

    def marginals(
        self, codes: ArrayLike | None = None, classes: ArrayLike | None = None, n_threads: int = 1
    ) -> Marginals:
        """Exact probabilities of the class and of each feature given what was observed.

        Parameters
        ----------
        codes : int array of shape (N, D), optional
            Observed features; a code equal to the number of values of its feature is not observed. None: nothing is.
        classes : int array of shape (N,), optional
            Observed classes, -1 where not observed. None: nothing is. Without codes and classes, N is 1.
        n_threads : int, default=1
            The result does not depend on it.

        Returns
        -------
        Marginals
            ``classes``, float64[N, C], and ``features``, an array float64[N, R_i] for each feature.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> network = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).network_
        >>> network.marginals(classes=[0]).features[3].round(2)
        array([[0.92, 0.04, 0.04]])
        """
        return queries.find_marginals(*self._ask(codes, classes), n_threads)

    def query(
        self,
        targets: Sequence[Target],
        codes: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        """Exact joint probability of up to two features and the class, given what was observed.

        Parameters
        ----------
        targets : list
            One or two numbers of features, "class", or both.
        codes, classes, n_threads
            As in `marginals`.

        Returns
        -------
        float64 array of shape (N, ...)
            One axis for each target, in their order: ``query([3, "class"])`` has shape ``(N, R_3, C)``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> network = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).network_
        >>> network.query([3, "class"]).shape, network.query([2, 3], classes=[0, 1]).shape
        ((1, 3, 3), (2, 3, 3))
        """
        return queries.find_joint(*self._ask(codes, classes), targets, n_threads)

    def log_likelihood(
        self, codes: ArrayLike | None = None, classes: ArrayLike | None = None, n_threads: int = 1
    ) -> FloatArray:
        """Log-probability of what was observed in each row, float64[N]; codes, classes and n_threads as in `marginals`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> network = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).network_
        >>> network.log_likelihood(classes=[0, 1]).round(3)
        array([-1.099, -1.099])
        """
        evidence = read_evidence(self.cards, self.n_classes, codes, classes)
        if not self.has_pairs or (evidence.codes == self.cards).any():
            self._ask()
        log_joint = self.log_joint(evidence.codes, n_threads)
        total = np.logaddexp.reduce(log_joint, axis=1)
        return np.where(evidence.classes < 0, total, log_joint[np.arange(evidence.n_rows), evidence.classes])

    def most_probable(
        self, codes: ArrayLike | None = None, classes: ArrayLike | None = None, n_threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """The most probable values, taken together, of all that was not observed.

        Parameters
        ----------
        codes, classes, n_threads
            As in `marginals`.

        Returns
        -------
        codes : int64 array of shape (N, D)
            Without gaps. Of equally probable values the smallest; of equally probable classes the first.
        classes : int64 array of shape (N,)
        log_probability : float64 array of shape (N,)
            Of the completed row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> network = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).network_
        >>> network.most_probable(classes=[2])[0]
        array([[2, 1, 2, 2]])
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
        """Draw rows from the joint distribution, or what was not observed of rows given what was.

        Parameters
        ----------
        n : int
            Number of rows to draw.
        codes, classes, n_threads
            As in `marginals`. What was observed is one row, of which n completions are drawn, or n rows, of which one
            each is drawn.
        random_state : int, numpy.random.Generator or None
            The same number gives the same rows, whatever the number of threads.

        Returns
        -------
        codes : int64 array of shape (n, D)
        classes : int64 array of shape (n,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> network = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).network_
        >>> codes, classes = network.sample(1000, classes=[2], random_state=0)
        >>> np.bincount(codes[:, 3]) / 1000
        array([0.049, 0.125, 0.826])
        """
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise ValueError(f"the number of rows to draw must be a whole number from 0 on, got {n!r}")
        rng = np.random.default_rng(random_state)
        if self.has_pairs:
            return self._draw_whole_rows(int(n), read_evidence(self.cards, self.n_classes, codes, classes), rng)
        return queries.draw(*self._ask(codes, classes), int(n), rng, n_threads)

    def _draw_whole_rows(
        self, n: int, evidence: Evidence, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draws where features have two parents: parents come first, and nothing but the class may be known."""
        if not self.is_bayesian_network or (evidence.codes < self.cards).any():
            self._ask()
        queries.check_n_draws(evidence, n)
        prior = np.exp(self.log_prior)
        drawn = rng.choice(self.n_classes, size=n, p=prior / prior.sum())
        classes = np.where(evidence.classes < 0, drawn, evidence.classes)
        cpts = [self.cpt(i) for i in range(self.n_features)]
        return draw_rows(self.members, cpts, self.cards, classes, rng), classes

    def entropy(self) -> float:
        """Entropy in nats of class and features together.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> network = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).network_
        >>> round(network.entropy(), 2)
        3.5
        """
        return queries.joint_entropy(self._ask()[0])

    def mutual_information(self) -> FloatArray:
        """Mutual information in nats of each feature with the class, float64[D]: what it tells of the class alone.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tanager import TANClassifier
        >>> network = TANClassifier("chow-liu", parameters="ml").fit(*load_iris(return_X_y=True)).network_
        >>> network.mutual_information().round(1)
        array([0.4, 0.2, 0.7, 0.6])
        """
        return queries.class_information(self._ask()[0])

    def _ask(self, codes: ArrayLike | None = None, classes: ArrayLike | None = None) -> tuple[Forest, Evidence]:
        """What queries go by; refuses a network that is not a joint distribution, or no forest."""
        if self.has_pairs:
            raise ValueError(
                "features have two extra parents, so that values cannot be summed out: such a network has the "
                "log-likelihood of complete rows and draws of whole rows, with or without their class; for other "
                "queries fit with another structure than 'k-dependence', for instance 'subset'"
            )
        cycle = find_cycle(self.parents)
        if cycle is not None:
            path = " -> ".join(map(str, [*cycle, cycle[0]]))
            raise ValueError(
                f"the parents form a cycle (features {path}), so that the network is no joint distribution and has no "
                "marginals, completions or samples; fit with another structure than 'pseudo', for instance 'free'"
            )
        return self.forest(), read_evidence(self.cards, self.n_classes, codes, classes)
