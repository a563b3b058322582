"""Rows that are not in memory: what learning can still ask of them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tanager._threads import Crew
from tanager._types import IntArray
from tanager.data import Block, RowStore
from tanager.data.row_sample import hash_positions
from tanager.learning.context import COUNTED_SCORES, Checkpoints, Context
from tanager.learning.parameters import Counts
from tanager.learning.recipes import Recipe, as_parameters, as_structure
from tanager.learning.rows import Rows
from tanager.learning.structures import ChowLiu, FixedParents, GivenSpace, NoParents, RandomTree
from tanager.model import CptCounts, Layout, all_pairs
from tanager.training import (
    MOST_EPOCH_ROWS,
    Problem,
    Request,
    ShardedProblem,
    ShardSums,
    Share,
    Steps,
    StoredProblem,
    TrainState,
    merge_shares,
)

Watch = Callable[[str, int | None], Callable[[int], object]]

_Made = TypeVar("_Made")

_MOST_KEPT = 1 << 12  # rows that smoothing can be judged by
_EPOCHS, _STEPS_OF_EPOCH = 10, 100  # on a cluster, where 2,000 steps take longer and lower the error by 0.1 points
_SMALLEST_BATCH = 1000
_WITHOUT_ROWS = (NoParents, RandomTree, FixedParents, GivenSpace)


class KeptRows(NamedTuple):
    """A random sample of rows that are gone, in which a row is or is not by its position alone."""

    hashes: NDArray[np.uint64]  # of the positions
    rows: Rows

    @classmethod
    def none(cls, rows: Rows) -> KeptRows:
        """No rows yet, of the features that these have."""
        return cls(np.empty(0, np.uint64), rows.take(np.empty(0, np.int64)))

    def added(self, rows: Rows, position: int) -> KeptRows:
        """The sample with more rows, of which the first has this position among all rows."""
        weight = np.concatenate([self.rows.full_weight(), rows.full_weight()])
        hashes = np.concatenate([self.hashes, hash_positions(position, len(rows.y))])
        both = rows._replace(
            codes=np.concatenate([self.rows.codes, rows.codes]), y=np.concatenate([self.rows.y, rows.y]), weight=weight
        )
        index = np.sort(np.argsort(hashes, kind="stable")[:_MOST_KEPT])
        return KeptRows(hashes[index], both.take(index))

    def recoded(self, rows: Rows, maps: Sequence[IntArray]) -> KeptRows:
        """The sample where values have other codes, those of ``rows``."""
        wider = [np.append(of_value, card) for of_value, card in zip(maps, rows.cards, strict=True)]
        columns = [new[column] for new, column in zip(wider, self.rows.codes.T, strict=True)]
        codes = np.stack(columns, axis=1).astype(rows.codes.dtype)
        return KeptRows(self.hashes, rows._replace(codes=codes, y=self.rows.y, weight=self.rows.weight))


class KeptCounts:
    """Rows that are gone, of which the counts are kept.

    Parameters
    ----------
    counts : CptCounts
    """

    def __init__(self, counts: CptCounts) -> None:
        self._counts = counts

    @property
    def n_counted(self) -> float:
        """Number of rows, counted with their weights if these are whole numbers."""
        return self._counts.n_counted

    def sized(self, parameters: Any) -> Any:
        """Parameters with a value for everything that depends on the number of rows."""
        return parameters.sized(self.n_counted)

    def counts(self, layout: Layout, n_threads: int) -> CptCounts:
        """Counts of all rows in the CPTs of a layout."""
        return self._counts.select(layout)

    def problem(self, batch_size: int, rows: Rows) -> NoReturn:
        """Counts cannot be trained on."""
        raise ValueError("gradient descent requires rows, and only counts were kept")

    def checkpoints(self, key: str) -> None:
        """Nothing is trained."""


class _Once(Generic[_Made]):
    """Something that is made when it is first asked for, once, also when several threads ask at the same time."""

    def __init__(self, make: Callable[[], _Made]) -> None:
        self._make, self._lock = make, Lock()
        self._made: _Made | None = None

    def __call__(self) -> _Made:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


class StoredRows:
    """Rows that are in files, as codes.

    Parameters
    ----------
    open_store : callable
        Gives the complete store; called once, when rows are first asked for, since encoding them takes a pass.
    memory : int
        Bytes that rows may take while they are worked on.
    n_counted : float
    watch : callable
        Called with what is being done and the number of rows that it takes; gives a function to be called with numbers
        of rows done.
    """

    def __init__(self, open_store: Callable[[], RowStore], memory: int, n_counted: float, watch: Watch) -> None:
        self._store, self._memory, self._watch = _Once(open_store), memory, watch
        self.n_counted = n_counted

    @property
    def store(self) -> RowStore:
        """The rows, encoded."""
        return self._store()

    def sized(self, parameters: Any) -> Any:
        """Parameters with a value for everything that depends on the number of rows."""
        return parameters.sized(self.n_counted)

    def counts(self, layout: Layout, n_threads: int) -> CptCounts:
        """Counts of all rows in the CPTs of a layout."""
        counts, store = CptCounts.empty(layout), self.store
        done = self._watch("counting", store.n_rows)
        with Crew(n_threads) as crew:
            for block in store.blocks(self._block_rows()):
                counts.add(*block, crew)
                done(len(block.y))
        return counts

    def problem(self, batch_size: int, rows: Rows) -> Problem:
        """All rows prepared for gradient training; ``rows`` are some of them."""
        store, weight = self.store, None if rows.weight is None else rows.weight.astype(np.float32)
        size = min(batch_size, store.n_rows)
        n_steps = min(store.n_rows, MOST_EPOCH_ROWS) // size
        sample = (rows.codes, rows.y, weight, n_steps, size, self.n_counted, rows.n_ordered)
        return StoredProblem(*sample, store, max(size, self._block_rows()))

    def checkpoints(self, key: str) -> Checkpoints:
        """Files beside the rows."""
        return StateFiles(self.store.folder, f"{self.store.identity} {key}")

    def _block_rows(self) -> int:
        """Rows at a time: two blocks, of which one is read ahead, take half of the memory."""
        of_row = self.store.row_bytes + 40  # classes, weights and places in the order are wider than in the files
        return max(1024, min(1 << 20, self._memory // (4 * of_row)))


class Shards(Protocol):
    """All rows as codes, in a fixed number of parts that are worked on where they are.

    Attributes
    ----------
    n_shards : int
    n_rows : int
        Rows of all shards.
    """

    @property
    def n_shards(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    def reduce(self, prepare: Callable[..., Any], merge: Callable[[Any, Any], Any], given: Any, argument: Any) -> Any:
        """What a function of a block of rows and the argument gives for each shard, merged in pairs in one way.

        The function is what ``prepare`` makes of ``given``. It is kept, wherever there are shards, for the next call.
        """


class ShardedRows:
    """Rows that lie elsewhere, in shards.

    Parameters
    ----------
    open_shards : callable
        Gives the shards; called once, when rows are first asked for.
    n_counted : float
    folder : Path, optional
        Where states of training runs are kept.
    identity : str
        Tells these rows from others in the folder.
    """

    def __init__(
        self, open_shards: Callable[[], Shards], n_counted: float, folder: Path | None = None, identity: str = ""
    ) -> None:
        self._shards, self.n_counted, self._folder, self._identity = _Once(open_shards), n_counted, folder, identity

    @property
    def shards(self) -> Shards:
        """The rows, encoded."""
        return self._shards()

    def sized(self, parameters: Any) -> Any:
        """Parameters with a value for everything that depends on the number of rows.

        A step takes messages to all shards and back, so that steps are few and batches large.
        """
        lengths = {"batch_size": max(_SMALLEST_BATCH, round(self.n_counted / _STEPS_OF_EPOCH)), "epochs": _EPOCHS}
        auto = {name: value for name, value in lengths.items() if getattr(parameters, name, None) == "auto"}
        return (parameters.set_params(**auto) if auto else parameters).sized(self.n_counted)

    def counts(self, layout: Layout, n_threads: int) -> CptCounts:
        """Counts of all rows in the CPTs of a layout."""
        counts: CptCounts = self.shards.reduce(make_counter, merge_counts, layout, None)
        return counts

    def problem(self, batch_size: int, rows: Rows) -> Problem:
        """All rows prepared for gradient training; ``rows`` are some of them."""
        weight = None if rows.weight is None else rows.weight.astype(np.float32)
        # At least a row of each shard, or some steps would have none at all.
        n_steps = max(1, self.shards.n_rows // max(batch_size, self.shards.n_shards))
        sample = (rows.codes, rows.y, weight, n_steps, 1, self.n_counted, rows.n_ordered)
        sum_shards = partial(self.shards.reduce, make_summer, merge_shares)
        return ShardedProblem(*sample, sum_shards=sum_shards)

    def checkpoints(self, key: str) -> Checkpoints | None:
        """Files on this machine."""
        return None if self._folder is None else StateFiles(self._folder, f"{self._identity} {key}")


def make_counter(layout: Layout) -> Callable[[Block, None], CptCounts]:
    """What gives the counts of a block of rows."""

    def count(block: Block, _: None) -> CptCounts:
        counts = CptCounts.empty(layout)
        counts.add(block.codes, block.y.astype(np.int64), block.weight)
        return counts

    return count


def merge_counts(one: CptCounts, other: CptCounts) -> CptCounts:
    """Counts of the rows of both."""
    counts = one.copy()
    counts.merge(other)
    return counts


def make_summer(steps: Steps) -> Callable[[Block, Request], Share | None]:
    """What gives the share of a block of shuffled rows in a step of gradient descent."""
    sums = ShardSums(steps)
    return lambda block, request: sums(request, *block)


class StateFiles:
    """States of a training run in files of a folder."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, sha256(key.encode()).hexdigest()[:16]

    def load(self, stage: str) -> TrainState | None:
        """The last state of a stage, if there is one."""
        try:
            with self._path(stage).open("rb") as stream:
                state: TrainState = pickle.load(stream)
        except (FileNotFoundError, EOFError, pickle.UnpicklingError):  # the latter of a disk that lost its end
            return None
        return state

    def save(self, stage: str, state: TrainState) -> None:
        """Keep a state in place of the one before."""
        new = self._path(f"{stage}.new")
        with new.open("wb") as stream:
            pickle.dump(state, stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, self._path(stage))

    def _path(self, stage: str) -> Path:
        return self._folder / f"{self._key}-{stage}"


def check_countable(recipe: Recipe) -> None:
    """Require a recipe that can be learned from counts alone."""
    structure, parameters = as_structure(recipe.structure), as_parameters(recipe.parameters)
    if not isinstance(parameters, Counts):
        raise ValueError(f"parameters={parameters!r} requires rows, not counts: use 'ml' or 'gradient'")
    if isinstance(structure, ChowLiu):
        if structure.score not in COUNTED_SCORES:
            raise ValueError(
                f"the score {structure.score!r} requires all rows at once: use {' or '.join(map(repr, COUNTED_SCORES))}"
            )
    elif not isinstance(structure, _WITHOUT_ROWS):
        raise ValueError(
            f"structure={structure!r} requires all rows at once: use 'none', 'random', 'chow-liu' or a list of parents"
        )


def layout_to_count(recipe: Recipe, context: Context, seed: int) -> Layout:
    """The CPTs whose counts are all that a recipe asks for; ``context`` needs no rows."""
    structure: Any = as_structure(recipe.structure)
    if isinstance(structure, ChowLiu):
        return all_pairs(context.rows.cards, context.rows.n_classes)
    return recipe.lay_out(context, seed)
