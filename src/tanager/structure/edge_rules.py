"""Edges between features that a structure must not have, and edges that it must have.

An edge goes from a parent to its child, and the rules are about that direction. A tree says the same about the data
whichever of its features is the root, so to keep two features apart, forbid both directions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.structure.forest import find_cycle, maximum_arborescence
from tanager.structure.orderings import Rng
from tanager.structure.pairs import Candidate
from tanager.structure.parent_sets import NO_PARENT, ParentSets

Edge = tuple[Any, Any]


def check_edges(forbid: Sequence[Edge], require: Sequence[Edge]) -> None:
    """Refuse edges (parent, child) that contradict each other, by whatever names features have.

    >>> check_edges([("age", "sex")], [("age", "sex")])
    Traceback (most recent call last):
        ...
    ValueError: the edge from 'age' to 'sex' is both forbidden and required
    """
    for option, edges in (("forbid", forbid), ("require", require)):
        for parent, child in edges:
            if parent == child:
                raise ValueError(f"{option} has an edge from {parent!r} to itself")
    parent_of: dict[Hashable, Hashable] = {}
    for parent, child in require:
        if (parent, child) in forbid:
            raise ValueError(f"the edge from {parent!r} to {child!r} is both forbidden and required")
        if parent_of.setdefault(child, parent) != parent:
            raise ValueError(
                f"require gives {child!r} two parents, {parent_of[child]!r} and {parent!r}: it can have one"
            )
    features = list(dict.fromkeys(feature for edge in require for feature in edge))
    parents = [features.index(parent_of[each]) if each in parent_of else NO_PARENT for each in features]
    cycle = find_cycle(parents) if parents else None
    if cycle is not None:
        path = " -> ".join(repr(features[k]) for k in [*cycle, cycle[0]])
        raise ValueError(f"the required edges form a cycle: {path}")


@final
@dataclass(frozen=True, eq=False)
class EdgeRules:
    """Which edges are forbidden and which are required, by numbers of features.

    Attributes
    ----------
    is_forbidden : bool array of shape (D, D)
        ``is_forbidden[child, parent]``.
    required : int64 array of shape (D,)
        The parent that each feature must have, -1 for any or none.
    labels : tuple of str
        Names of the features for messages.

    Examples
    --------
    >>> rules = EdgeRules.from_edges(3, forbid=[(0, 1)], require=[(2, 0)])
    >>> rules.keep(ParentSets.from_lists([[-1, 1, 2], [-1, 0, 2], [-1, 1]])).to_lists()
    [[2], [-1, 2], [-1, 1]]
    """

    is_forbidden: NDArray[np.bool_]
    required: NDArray[np.int64]
    labels: tuple[str, ...]

    @classmethod
    def from_edges(
        cls, n_features: int, forbid: Iterable[Edge], require: Iterable[Edge], labels: Sequence[str] | None = None
    ) -> EdgeRules:
        """Rules from edges (parent, child), which must not contradict each other."""
        forbidden, wanted = list(forbid), list(require)
        check_edges(forbidden, wanted)
        is_forbidden, required = np.zeros((n_features, n_features), np.bool_), np.full(n_features, NO_PARENT)
        for parent, child in forbidden:
            is_forbidden[child, parent] = True
        for parent, child in wanted:
            required[child] = parent
        names = [f"feature {i}" for i in range(n_features)] if labels is None else labels
        return cls(is_forbidden, required.astype(np.int64), tuple(names))

    @property
    def has_required(self) -> bool:
        """Whether an edge is required."""
        return bool((self.required >= 0).any())

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which features may be the only extra parent of each, bool[D, D], ``[child, parent]``."""
        is_open = ~self.is_forbidden & ~np.eye(len(self.required), dtype=np.bool_)
        children = np.flatnonzero(self.required >= 0)
        is_open[children] = False
        is_open[children, self.required[children]] = True
        return is_open

    def keep(self, space: ParentSets) -> ParentSets:
        """The candidates that the rules leave; a required parent is added where it is not one of them.

        A feature whose candidates are all forbidden has no parent.
        """
        return ParentSets.from_lists([self._kept(i, each) for i, each in enumerate(space.to_lists())], space.order)

    def _kept(self, child: int, candidates: list[Candidate]) -> list[Candidate]:
        wanted = int(self.required[child])
        kept = [each for each in candidates if not any(self.is_forbidden[child, j] for j in _features(each))]
        if wanted == NO_PARENT:
            return kept or [NO_PARENT]
        return [wanted, *(each for each in kept if each != wanted and wanted in _features(each))]

    def thin(self, space: ParentSets, most: int) -> ParentSets:
        """The first ``most`` candidate parents of each feature that are not forbidden; a required one comes first."""
        lists = []
        for i, candidates in enumerate(space.to_lists()):
            wanted = int(self.required[i])
            parents = [j for j in candidates if j not in (NO_PARENT, wanted) and not self.is_forbidden[i, j]]
            first = [] if wanted == NO_PARENT else [wanted]
            lists.append([NO_PARENT, *[*first, *parents][:most]])
        return ParentSets.from_lists(lists, space.order)

    def arrange(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The order with required parents moved before their children."""
        placed: dict[int, None] = {}
        for feature in order.tolist():
            chain = [feature]
            while self.required[chain[-1]] >= 0:
                chain.append(int(self.required[chain[-1]]))
            placed |= dict.fromkeys(reversed(chain))
        return np.array(list(placed), np.int64)

    def check_order(self, order: NDArray[np.int64]) -> None:
        """Refuse an order in which a required parent comes after its child."""
        position = np.argsort(order)
        for child in np.flatnonzero(self.required >= 0).tolist():
            parent = int(self.required[child])
            if position[parent] > position[child]:
                raise ValueError(
                    f"require has the edge {self._edge(parent, child)}, but the ordering puts {self.labels[child]!r} "
                    f"before {self.labels[parent]!r}: use ordering='random', or another permutation"
                )

    def random_tree(self, order: NDArray[np.int64], rng: Rng) -> NDArray[np.int64]:
        """Parents of a tree in which every feature has a random allowed predecessor, int64[D]."""
        is_open, parents = self.is_open, np.full(len(order), NO_PARENT, np.int64)
        for place, child in enumerate(order.tolist()):
            allowed = order[:place][is_open[child, order[:place]]]
            if allowed.size:
                parents[child] = rng.permutation(allowed)[0]
        return parents

    def best_tree(self, scores: FloatArray, is_left: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Parents of the allowed forest of largest summed score with as many edges as can be, int64[D].

        Parameters
        ----------
        scores : float array of shape (D, D)
        is_left : bool array of shape (D, D), optional
            Which pairs may be used; required ones may in any case.
        """
        is_open = self.is_open
        if is_left is not None:
            is_open &= is_left | (self.required >= 0)[:, None]
        low = -2.0 * len(scores) * (1.0 + float(np.abs(scores).max()))  # so that one edge more outweighs all scores
        lists = [np.flatnonzero(each).tolist() for each in is_open]
        lists = [each if self.required[i] >= 0 else [NO_PARENT, *each] for i, each in enumerate(lists)]
        weights = [low if j == NO_PARENT else scores[i, j] for i, each in enumerate(lists) for j in each]
        space = ParentSets.from_lists(lists)
        return space.select(maximum_arborescence(space, weights))

    def disjoint_trees(self, scores: FloatArray, n_trees: int) -> list[NDArray[np.int64]]:
        """Parents of the best allowed forest, of the best one of the pairs that are left, and so on.

        All of them have the required edges; they share no other pair.
        """
        is_left = ~np.eye(len(scores), dtype=np.bool_)
        trees: list[NDArray[np.int64]] = []
        while len(trees) < n_trees:
            tree = self.best_tree(scores, is_left)
            children = np.flatnonzero((tree >= 0) & (self.required < 0))
            if trees and not children.size:
                break
            is_left[children, tree[children]] = is_left[tree[children], children] = False
            trees.append(tree)
        return trees

    def check(self, extra_parents: NDArray[np.int64], what: str = "the structure") -> None:
        """Raise a ValueError if parents, int64[D] or int64[D, 2], -1 for none, break a rule."""
        for child, parents in enumerate(extra_parents.reshape(len(self.required), -1).tolist()):
            wanted = int(self.required[child])
            if wanted >= 0 and wanted not in parents:
                raise ValueError(f"require has the edge {self._edge(wanted, child)}, which {what} does not have")
            for parent in parents:
                if parent >= 0 and self.is_forbidden[child, parent]:
                    raise ValueError(f"{what} has the edge {self._edge(parent, child)}, which forbid excludes")

    def check_space(self, space: ParentSets) -> None:
        """Raise a ValueError if a feature has no candidate that the rules allow."""
        for child, candidates in enumerate(space.to_lists()):
            wanted = int(self.required[child])
            if wanted >= 0 and not any(wanted in _features(each) for each in candidates):
                edge = self._edge(wanted, child)
                raise ValueError(f"require has the edge {edge}, which is not among the candidates of the structure")
            if all(any(self.is_forbidden[child, j] for j in _features(each)) for each in candidates):
                raise ValueError(f"forbid excludes all candidates that the structure has for {self.labels[child]!r}")

    def _edge(self, parent: int, child: int) -> str:
        return f"from {self.labels[parent]!r} to {self.labels[child]!r}"


def _features(candidate: Candidate) -> tuple[int, ...]:
    """The features of a candidate: none, one or two."""
    if isinstance(candidate, tuple):
        return candidate
    return () if candidate == NO_PARENT else (candidate,)
