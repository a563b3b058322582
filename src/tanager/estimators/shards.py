"""Training rows that lie on other machines in partitions, and are worked on where they are.

The steps are those of `StreamData`. Partitions are summarised and encoded where they are; summaries are merged in
pairs. Their codes are regrouped into a fixed number of shards by the order of the rows, so that nothing depends on how
rows are cut into partitions, or on the number of machines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from tanager.data import Block, FrameEncoder, Piece, RowSample
from tanager.estimators.inputs import read_rows
from tanager.estimators.pieces import Overview, check_size, encode_piece, named, read_piece
from tanager.estimators.streams import StreamData
from tanager.learning.context import Population
from tanager.learning.populations import ShardedRows, Shards

N_SHARDS = 32
"""Parts that rows are cut into by their order, and that gradients are summed over."""


class Partitions(Protocol):
    """Rows in partitions on other machines.

    Attributes
    ----------
    template : frame or array
        A frame with the columns of all partitions, or an array of the same width.
    memory : int
        Bytes that rows may take on this machine.
    folder : path or None
    identity : str
        Changes with the rows.
    """

    template: Any
    memory: int
    folder: Path | None
    identity: str

    def reduce(self, function: Callable[..., Any], merge: Callable[[Any, Any], Any], own: Sequence[Any] = ()) -> Any:
        """What a function of a piece, and of what it has of its own, gives for each partition, merged in pairs."""

    def shards(self, function: Callable[..., Block], own: Sequence[Any], n_rows: Sequence[int]) -> Shards:
        """The blocks of so many rows that a function gives for each partition, regrouped into shards."""


class ShardData(StreamData):
    """The rows of partitions, with the same answers as `TrainingData`."""

    _source: Partitions

    def _look_over(self) -> Overview:
        source, overview = self._source, self._begin()
        read_rows(self._scratch, source.template, reset=True)
        if overview.is_complete:
            return overview
        found: Overview = source.reduce(partial(_look_at, self._scratch, self._memory), _merge_overviews)
        found.identity = overview.identity
        starts = [0, *accumulate(found.sizes)][:-1]
        if found.n_used:
            known = replace(found, summary=None)
            found.sample = source.reduce(partial(_draw_from, self._scratch, known), _merge_samples, starts)
        found.is_complete = True
        if self._folder is not None:
            self._save(found)
        return found

    def _population(self, binning: str) -> Population:
        identity = f"{self._overview.identity} {binning} {self._encoder(binning).cards.tolist()}"
        return ShardedRows(lambda: self._shards(binning), self._n_counted, self._folder, identity)

    def _shards(self, binning: str) -> Shards:
        """The second pass: all rows as codes, where they are."""
        encode = partial(_encode, self._scratch, self._encoder(binning), self._classes, self._factors)
        return self._source.shards(encode, self._overview.sizes, self._overview.used)


def _look_at(estimator: Any, memory: int, piece: Piece) -> Overview:
    overview = Overview(None, memory)
    with named(piece.name):
        overview.add(estimator, *read_piece(estimator, piece))
    return overview


def _merge_overviews(one: Overview, other: Overview) -> Overview:
    # What is merged may be asked for again, by whoever takes over the work of a machine that was lost.
    one, other = deepcopy(one), deepcopy(other)
    with named("partitions"):
        one.merge(other)
    return one


def _draw_from(estimator: Any, overview: Overview, piece: Piece, position: int) -> RowSample:
    sample = RowSample()
    read, _ = read_piece(estimator, piece)
    if read is not None:
        # So few rows are over all partitions a little more than the sample takes, and no more need to be sent anywhere.
        most = 1.1 * overview.sample_rows(read.frame.n_columns) + 1000
        sample.limit = min(int(most / overview.n_used * 2**64), sample.limit)
        replace(overview, sample=sample).draw(read, position)
    return sample


def _merge_samples(one: RowSample, other: RowSample) -> RowSample:
    # That of a partition without rows has not been given a size.
    both = RowSample(min(one.n_rows, other.n_rows), [*one.parts], min(one.limit, other.limit))
    both.merge(other)
    return both


def _encode(estimator: Any, encoder: FrameEncoder, classes: Any, factors: Any, piece: Piece, n_rows: int) -> Block:
    read, n_found = read_piece(estimator, piece)
    check_size(read, n_found, n_rows)
    if read is None:
        return Block(np.empty((0, len(encoder.columns)), np.uint8), np.empty(0, np.int64), None)
    block = encode_piece(read, encoder, classes, factors, 1)
    return block._replace(y=block.y.astype(np.min_scalar_type(len(classes))))


def cut_shards(n_rows: Sequence[int], n_shards: int = N_SHARDS) -> list[list[tuple[int, int, int]]]:
    """For each shard the blocks that it is made of, with its first row and the row after its last one in each.

    >>> cut_shards([5, 0, 3], 2)
    [[(0, 0, 4)], [(0, 4, 5), (2, 0, 3)]]
    """
    starts = [0, *accumulate(n_rows)]
    edges = [starts[-1] * shard // n_shards for shard in range(n_shards + 1)]
    return [
        [
            (block, max(lo, start) - start, min(hi, start + size) - start)
            for block, (start, size) in enumerate(zip(starts, n_rows, strict=False))
            if max(lo, start) < min(hi, start + size)
        ]
        for lo, hi in pairwise(edges)
    ]


def join_blocks(number: int, spans: Sequence[tuple[int, int]], blocks: Sequence[Block]) -> Block:
    """The rows of a shard, shuffled: rows of some blocks."""
    pairs = list(zip(spans, blocks, strict=True))
    order = np.random.default_rng(number).permutation(sum(hi - lo for lo, hi in spans))
    codes = np.concatenate([block.codes[lo:hi] for (lo, hi), block in pairs])[order]
    y = np.concatenate([block.y[lo:hi] for (lo, hi), block in pairs])[order]
    if blocks[0].weight is None:
        return Block(codes, y, None)
    return Block(codes, y, np.concatenate([cast(Any, block.weight)[lo:hi] for (lo, hi), block in pairs])[order])
