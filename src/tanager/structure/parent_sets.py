"""The search space of structures, as a value.

In a TAN, the parents of a feature are the class and at most one other feature (section 2.2 of the paper). A search
space lists the candidates for that extra parent of every feature; "no parent" is a candidate like any other
(section 4.2). Naive Bayes, one fixed tree and every search of the paper are values of this one type. Beyond the paper,
a candidate may be a pair of features: two extra parents at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.structure.orderings import check_count, check_int_vector, check_order
from tanager.structure.pairs import Candidate, check_pairs, extra_parents_of, no_pairs, number_pairs

NO_PARENT = -1
"""The candidate for no parent besides the class."""


@final
@dataclass(frozen=True, eq=False, repr=False, slots=True)
class ParentSets:
    """Candidates for the one extra parent of each feature.

    The candidates of all D features are stored in one flat array of E entries. A structure selects one candidate of
    each feature by its index in that array.

    The value is immutable: arrays are copied and read-only. Two values are equal if their arrays are.

    Parameters
    ----------
    ptr : int64 array of shape (D + 1,)
        The candidates of feature ``i`` are ``parents[ptr[i]:ptr[i + 1]]``.
    parents : int32 array of shape (E,)
        Candidates; ``NO_PARENT`` (-1) means no parent, and ``D + p`` is pair p.
    order : int64 array of shape (D,), optional
        ``order[p]`` is the feature at position ``p``. Every candidate precedes its child, so structures are acyclic.
        Without an order, structures may have cycles and are then not Bayesian networks.
    pairs : int64 array of shape (P, 2), optional
        Pairs of features that are candidates together, the smaller number first.

    Raises
    ------
    ValueError
        If a feature has no candidates, or a candidate does not exist, is the feature itself, is listed twice or does
        not precede its child; if ``order`` is not a permutation, or the arrays are inconsistent.

    Examples
    --------
    >>> sets = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1]], order=[0, 1, 2])
    >>> sets
    ParentSets(n_features=3, n_candidates=6, is_ordered=True)
    >>> sets.candidates_of(2)
    array([-1,  0,  1], dtype=int32)
    >>> sets.select([0, 2, 5])
    array([-1,  0,  1])
    >>> ParentSets.from_lists([[-1], [-1, 0], [-1, (0, 1)]]).pairs
    array([[0, 1]])
    """

    ptr: NDArray[np.int64]
    parents: NDArray[np.int32]
    order: NDArray[np.int64] | None = None
    pairs: NDArray[np.int64] = field(default_factory=no_pairs)

    def __post_init__(self) -> None:
        ptr = check_int_vector(self.ptr, "ptr")
        parents = check_int_vector(self.parents, "parents")
        _check_segments(ptr, parents.size)
        n_features = ptr.size - 1
        child = np.repeat(np.arange(n_features), np.diff(ptr))
        pairs = check_pairs(self.pairs, n_features)
        _check_candidates(child, parents, n_features, len(pairs))
        members = extra_parents_of(parents, pairs, n_features)
        own = np.flatnonzero((members == child[:, None]).any(axis=1))
        if own.size:
            raise ValueError(f"feature {child[own[0]]} is a candidate for its own parent")
        order = None
        if self.order is not None:
            order = _frozen(check_order(self.order))
            _check_precedence(child, members, order, n_features)
        object.__setattr__(self, "ptr", _frozen(ptr))
        object.__setattr__(self, "parents", _frozen(parents.astype(np.int32)))
        object.__setattr__(self, "order", order)
        object.__setattr__(self, "pairs", _frozen(pairs))

    @classmethod
    def from_lists(cls, candidates: Sequence[Any], order: ArrayLike | None = None) -> ParentSets:
        """Build the value from one list of candidates for each feature.

        Parameters
        ----------
        candidates : sequence of D int sequences
            ``candidates[i]`` lists the candidates of feature ``i``. A tuple of two features is a pair of parents.
        order : int array of shape (D,), optional
            As in the constructor.

        Returns
        -------
        ParentSets

        Examples
        --------
        >>> ParentSets.from_lists([[-1, 1], [-1, 0]])
        ParentSets(n_features=2, n_candidates=4, is_ordered=False)
        """
        check_count(len(candidates), "the number of features")
        vectors, pairs = number_pairs(candidates)
        ptr = np.cumsum([0, *(vector.size for vector in vectors)])
        # The constructor converts and checks every array it is given.
        arrays: tuple[Any, ...] = (ptr, np.concatenate(vectors), order, pairs)
        return cls(*arrays)

    def to_lists(self) -> list[list[Candidate]]:
        """Return the candidates of each feature as lists of plain integers, and tuples of two for pairs.

        Examples
        --------
        >>> ParentSets.from_lists([[-1], [-1, 0]]).to_lists()
        [[-1], [-1, 0]]
        """
        pairs = dict(enumerate(map(tuple, self.pairs.tolist()), self.n_features))
        return [[pairs.get(j, j) for j in self.candidates_of(i).tolist()] for i in range(self.n_features)]

    @property
    def n_features(self) -> int:
        """Number of features, D."""
        return self.ptr.size - 1

    @property
    def n_candidates(self) -> int:
        """Total number of candidates of all features, E."""
        return self.parents.size

    @property
    def is_fixed(self) -> bool:
        """Whether each feature has one candidate, so that there is nothing to search."""
        return self.n_candidates == self.n_features

    @property
    def is_ordered(self) -> bool:
        """Whether there is an order, so that every structure is acyclic."""
        return self.order is not None

    def candidates_of(self, feature: int) -> NDArray[np.int32]:
        """Return the candidates of one feature, as a read-only view.

        Parameters
        ----------
        feature : int
            Number of the feature, counted from 0.

        Returns
        -------
        int32 array of shape (n_candidates_of_feature,)

        Examples
        --------
        >>> ParentSets.from_lists([[-1], [-1, 0]]).candidates_of(1)
        array([-1,  0], dtype=int32)
        """
        if not 0 <= feature < self.n_features:
            raise IndexError(f"there is no feature {feature}: features are numbered 0 to {self.n_features - 1}")
        return self.parents[self.ptr[feature] : self.ptr[feature + 1]]

    def select(self, indices: ArrayLike) -> NDArray[np.int64]:
        """Return the parent of each feature, given the index of its candidate.

        Parameters
        ----------
        indices : int array of shape (D,)
            For each feature the index of its candidate in the flat array: ``ptr[i] <= indices[i] < ptr[i + 1]``.

        Returns
        -------
        int64 array of shape (D,)
            The parent of each feature, -1 for none; the number of a pair is D or more.

        Examples
        --------
        >>> ParentSets.from_lists([[-1], [-1, 0], [-1, 0]]).select([0, 1, 4])
        array([-1, -1,  0])
        """
        chosen = check_int_vector(indices, "indices")
        if chosen.size != self.n_features:
            raise ValueError(f"indices must hold one entry for each of {self.n_features} features, got {chosen.size}")
        strays = np.flatnonzero((chosen < self.ptr[:-1]) | (chosen >= self.ptr[1:]))
        if strays.size:
            i = strays[0]
            own = f"{self.ptr[i]} to {self.ptr[i + 1] - 1}"
            raise ValueError(f"feature {i}: index {chosen[i]} is not one of its own candidates, which are {own}")
        return self.parents[chosen].astype(np.int64)

    def keep(self, indices: ArrayLike) -> ParentSets:
        """The search space that contains only the structure that `select` returns, pairs included.

        Examples
        --------
        >>> ParentSets.from_lists([[-1], [-1, 0], [-1, (0, 1)]]).keep([0, 2, 4]).to_lists()
        [[-1], [0], [(0, 1)]]
        """
        pairs = dict(enumerate(map(tuple, self.pairs.tolist()), self.n_features))
        return ParentSets.from_lists([[pairs.get(j, j)] for j in self.select(indices).tolist()], self.order)

    def with_no_parent(self) -> ParentSets:
        """The same space with "no parent" added as the first candidate of every feature that lacks it.

        Examples
        --------
        >>> ParentSets.from_lists([[-1], [0]], order=[0, 1]).with_no_parent().to_lists()
        [[-1], [-1, 0]]
        """
        lists = [parents if NO_PARENT in parents else [NO_PARENT, *parents] for parents in self.to_lists()]
        return ParentSets.from_lists(lists, self.order)

    def _content(self) -> tuple[bytes, bytes, bytes | None, bytes]:
        """The content that equality compares."""
        order = None if self.order is None else self.order.tobytes()
        return self.ptr.tobytes(), self.parents.tobytes(), order, self.pairs.tobytes()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParentSets):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        counts = f"n_features={self.n_features}, n_candidates={self.n_candidates}"
        return f"ParentSets({counts}, is_ordered={self.is_ordered})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles use the constructor, because copied arrays would be writeable.
        return ParentSets, (self.ptr, self.parents, self.order, self.pairs)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make ``array``, to which no caller has a reference, read-only, and return it."""
    array.flags.writeable = False
    return array


def _check_segments(ptr: NDArray[np.int64], n_candidates: int) -> None:
    """Check that ``ptr`` divides the flat array into one non-empty part for each feature."""
    check_count(ptr.size - 1, "the number of features")
    if ptr[0] != 0 or ptr[-1] != n_candidates or np.any(np.diff(ptr) < 0):
        raise ValueError(f"ptr must rise from 0 to the number of candidates, {n_candidates}, got {ptr}")
    empty = np.flatnonzero(np.diff(ptr) == 0)
    if empty.size:
        raise ValueError(f"feature {empty[0]} has no candidates; list {NO_PARENT} for no parent")


def _check_candidates(child: NDArray[np.int64], parents: NDArray[np.int64], n_features: int, n_pairs: int) -> None:
    """Check that candidates are features, pairs or no parent, each listed once."""
    n_numbers = n_features + n_pairs
    outside = np.flatnonzero((parents < NO_PARENT) | (parents >= n_numbers))
    if outside.size:
        e, rule = outside[0], f"features are numbered 0 to {n_features - 1}, and {NO_PARENT} is no parent"
        raise ValueError(f"feature {child[e]}: candidate {parents[e]} does not exist; {rule}")
    edges, counts = np.unique(child * (n_numbers + 1) + (parents - NO_PARENT), return_counts=True)
    if edges.size < parents.size:
        i, entry = divmod(edges[counts > 1][0], n_numbers + 1)
        raise ValueError(f"feature {i}: candidate {entry + NO_PARENT} is listed more than once")


def _check_precedence(
    child: NDArray[np.int64], members: NDArray[np.int64], order: NDArray[np.int64], n_features: int
) -> None:
    """Check that every candidate, and both features of a pair, precede their child."""
    if order.size != n_features:
        raise ValueError(f"order has {order.size} features, but there are candidates for {n_features}")
    position = np.append(np.argsort(order), -1)  # no parent comes before everything
    late = np.argwhere(position[members] > position[child][:, None])
    if late.size:
        e, side = late[0]
        raise ValueError(f"feature {child[e]}: candidate {members[e, side]} does not come before it in the order")
