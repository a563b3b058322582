"""The arena: where the CPT of every candidate lies, the columns that can be parents, and the memory that CPTs take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tanager import core
from tanager._threads import Crew
from tanager._types import Cpts, FloatArray, IntArray
from tanager.model.memory import allowed_memory
from tanager.structure import ParentSets

_BYTES_PER_ENTRY = 3 * np.dtype(np.float32).itemsize  # the parameter and Adam's two moments


_LANES = 8  # floats that the core reads at a time, at most


def padded(n_classes: int) -> int:
    """Entries that lines of so many classes may be read by.

    >>> padded(3), padded(26)
    (8, 32)
    """
    return -(-n_classes // _LANES) * _LANES


class Groups(NamedTuple):
    """Groups of the values of each feature, which stand for the values where the feature is a parent.

    A feature can so be fine as a child and coarse as a parent: its CPT has a line for each of its values, those of its
    children one for each of its groups.
    """

    of_value: IntArray  # int64[R_1 + ... + R_D]: group of every value, feature after feature
    start: IntArray  # int64[D + 1]: place of each feature's first value
    cards: IntArray  # int64[D]: number of groups of each feature

    def of(self, feature: int) -> IntArray:
        """Group of each value of a feature."""
        return self.of_value[self.start[feature] : self.start[feature + 1]]

    def totals(self, feature: int, table: FloatArray) -> FloatArray:
        """Sums of a table ``[x, ...]`` over the groups of a feature's values, ``[group, ...]``."""
        totals = np.zeros((int(self.cards[feature]), *table.shape[1:]))
        np.add.at(totals, self.of(feature), table)
        return totals


def make_groups(maps: list[IntArray]) -> Groups:
    """Groups from the group numbers of the values of each feature.

    >>> make_groups([np.array([0, 0, 1]), np.array([0, 1])])
    Groups(of_value=array([0, 0, 1, 0, 1]), start=array([0, 3, 5]), cards=array([2, 2]))
    """
    start = np.concatenate([[0], np.cumsum([len(each) for each in maps])])
    cards = np.array([each.max() + 1 for each in maps], np.int64)
    return Groups(np.concatenate(maps).astype(np.int64), start, cards)


@dataclass(frozen=True)
class Layout:
    """CPTs of a search space in one flat arena; made by `make_layout`.

    Attributes
    ----------
    parent_sets : ParentSets
    cpts : Cpts
        Child, parent and offset of every CPT, as arrays for the kernels.
    n_classes : int
    n_members : int
        Number of classifiers in the arena, whose mean log-joint is trained (see `tanager.model.joint`); usually 1.
    groups : Groups or None
        What values of parents are put together, if any.
    """

    parent_sets: ParentSets
    cpts: Cpts
    n_classes: int
    n_members: int = 1
    groups: Groups | None = None

    @property
    def cards(self) -> IntArray:
        """Number of values of each feature, int64[D]."""
        return self.cpts.cards[: self.parent_sets.n_features // self.n_members]

    @property
    def pairs(self) -> IntArray:
        """Features of the pairs that are parents in CPTs, int64[P, 2]."""
        return self.parent_sets.pairs % len(self.cards)

    @property
    def size(self) -> int:
        """Number of entries of all CPTs."""
        return int(self.cpts.offset[-1])

    @property
    def arena_size(self) -> int:
        """Number of entries of an arena: those of the CPTs, and a row of zeros that is read for unknown values."""
        return self.size + padded(self.n_classes)

    @property
    def training_bytes(self) -> int:
        """Memory of parameters and moments in training."""
        return self.size * _BYTES_PER_ENTRY

    def cpt(self, arena: FloatArray, candidate: int) -> FloatArray:
        """View of one candidate's CPT in the arena, ``[x_parent, x_child, c]``, with groups of the parent's values.

        Examples
        --------
        >>> from tanager.structure import naive_bayes
        >>> layout = make_layout(naive_bayes(2), [3, 4], n_classes=5)
        >>> layout.cpt(np.zeros(layout.size), 1).shape
        (1, 4, 5)
        """
        cpts = self.cpts
        slot = int(np.searchsorted(cpts.ptr, candidate, side="right")) - 1
        shape = (cpts.cards[cpts.parent[candidate]], cpts.cards[cpts.child[slot]], self.n_classes)
        return arena[cpts.offset[candidate] : cpts.offset[candidate + 1]].reshape(shape)


def make_layout(
    parent_sets: ParentSets,
    cards: IntArray | list[int],
    n_classes: int,
    n_members: int = 1,
    groups: Groups | None = None,
) -> Layout:
    """Lay out one CPT for every candidate of the search space.

    Parameters
    ----------
    parent_sets : ParentSets
        Over ``n_members * D`` features; member m has the features ``m * D`` to ``m * D + D - 1``, and pairs of them.
    cards : int array of shape (D,)
        Number of values of each feature.
    n_classes : int
    n_members : int, default=1
    groups : Groups, optional
        Of the values of parents; there cannot be pairs of parents then.
    """
    n_slots, n_features = parent_sets.n_features, len(cards)
    if n_slots != n_members * n_features:
        raise ValueError(f"the search space has {n_slots // n_members} features, but X has {n_features}")
    number = parent_sets.parents.astype(np.int64)
    parent = np.where(number < n_slots, number % n_features, number - n_slots + n_features)
    columns = wide_cards(np.asarray(cards, np.int64), parent_sets.pairs % n_features)
    if groups is not None:
        if len(parent_sets.pairs):
            raise ValueError("values cannot be grouped where features have two extra parents")
        columns = np.concatenate([columns[:-1], groups.cards, [1]])
        parent += n_features
    parent[number < 0] = len(columns) - 1
    slots = np.arange(n_slots) % n_features
    child = np.repeat(slots, np.diff(parent_sets.ptr))
    offset = np.concatenate([[0], np.cumsum(columns[parent] * columns[child] * n_classes)])
    cpts = Cpts(slots, parent_sets.ptr.astype(np.int64), parent, offset, columns)
    return Layout(parent_sets, cpts, n_classes, n_members, groups)


_WORTH_ASKING = 1 << 24  # bytes; asking for limits reads files, which takes longer than a small fit


def check_memory(layout: Layout, available: int | None = None) -> None:
    """Raise a MemoryError if training the CPTs would take more memory than this process may have.

    Parameters
    ----------
    layout : Layout
    available : int, optional
        Bytes that may be used. Defaults to the machine's physical memory, if known.
    """
    largest = int(np.diff(layout.cpts.offset).max())
    check_bytes(
        layout.training_bytes,
        f"the {layout.parent_sets.n_candidates} CPTs of this search space would take",
        "lower max_parents, max_bins or max_categories, or leave out features with many values (the largest CPT has "
        f"{largest:,} entries)",
        available,
    )


def check_bytes(n_bytes: int, what: str, advice: str, available: int | None = None) -> None:
    """Raise a MemoryError that says how much, if something would take more memory than this process may have."""
    if available is None:
        available = allowed_memory() if n_bytes >= _WORTH_ASKING else None
    if available is not None and n_bytes > available:
        raise MemoryError(f"{what} {_gib(n_bytes)} and there are {_gib(available)}: {advice}")


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:,.1f} GiB"


def wide_cards(cards: IntArray, pairs: IntArray) -> IntArray:
    """Number of values of every column that can be a parent, int64[D + P + 1]; the last is for no parent.

    >>> wide_cards(np.array([3, 2]), np.array([[0, 1]]))
    array([3, 2, 6, 1])
    """
    return np.concatenate([cards, cards[pairs[:, 0]] * cards[pairs[:, 1]], [1]])


def wide_codes(codes: IntArray, pairs: IntArray, cards: IntArray, crew: Crew | None = None) -> IntArray:
    """The codes with an additional column for each pair, [N, D + P]; without pairs, the codes themselves.

    Parameters
    ----------
    codes : int array of shape (N, D)
    pairs : int64 array of shape (P, 2)
    cards : int64 array of shape (D + P + 1,)
        From `wide_cards`. A code equal to the number of values is unknown; so is a pair with an unknown value.
    crew : Crew, optional

    Examples
    --------
    >>> pairs = np.array([[0, 1]])
    >>> wide_codes(np.array([[2, 1], [0, 2]]), pairs, wide_cards(np.array([3, 2]), pairs))
    array([[2, 1, 5],
           [0, 2, 6]], dtype=uint8)
    """
    if not len(pairs):
        return codes
    crew = crew or Crew()
    wide = np.empty((len(codes), codes.shape[1] + len(pairs)), np.min_scalar_type(int(cards.max())))
    crew.run(core.widen_codes, crew.split(len(codes)), codes, pairs, cards, wide)
    return wide


def grouped_codes(codes: IntArray, groups: Groups, n_threads: int = 1) -> IntArray:
    """The codes with an additional column for the groups of each feature's values, [N, 2 D].

    Examples
    --------
    >>> grouped_codes(np.array([[2, 1], [3, 0]]), make_groups([np.array([0, 0, 1]), np.array([0, 1])]))
    array([[2, 1, 1, 1],
           [3, 0, 2, 0]], dtype=uint8)
    """
    most = int(max(np.diff(groups.start).max(), groups.cards.max()))
    wide = np.empty((len(codes), 2 * codes.shape[1]), np.min_scalar_type(most))
    with Crew(n_threads) as crew:
        crew.run(core.group_codes, crew.split(len(codes)), codes, *groups, wide)
    return wide
