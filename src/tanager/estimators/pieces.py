"""Pieces of training rows: read and checked, summarised, sampled, and encoded.

What is found in pieces adds up, in memory, in files or on the machines of a cluster (`tanager.estimators.streams` and
`tanager.estimators.shards`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tanager.data import Block, Frame, FrameEncoder, FrameSummary, GivenValues, Piece, RowSample, SourceError
from tanager.data.row_sample import SAMPLE_ROWS
from tanager.estimators.inputs import read_classes, read_rows
from tanager.estimators.knowledge import given_values, which_are_numbers
from tanager.estimators.weights import class_weighted, read_weights

_BYTES_OF_CELL = 20  # of the sample: the cell itself, and what effects of features keep of it
_FEWEST_SAMPLED = 1000


class Read(NamedTuple):
    """A piece of a source, checked; rows without weight are still in it."""

    name: str
    frame: Frame
    labels: NDArray[Any]
    numbers: NDArray[np.int64]  # of the labels
    weight: NDArray[np.float64] | None

    @property
    def is_used(self) -> Any:
        """Which rows have a positive weight."""
        return slice(None) if self.weight is None else self.weight > 0


@dataclass
class Overview:
    """What the first pass finds."""

    identity: Any
    memory: int
    sample: RowSample = field(default_factory=RowSample)
    summary: FrameSummary | None = None
    labels: NDArray[Any] | None = None
    totals: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # weight of each label
    sizes: list[int] = field(default_factory=list)  # rows of each piece
    used: list[int] = field(default_factory=list)  # those with a positive weight
    has_weight: bool = False
    is_whole: bool = True
    is_complete: bool = False
    given: GivenValues | None = None

    @property
    def n_used(self) -> int:
        """Number of all rows with a positive weight."""
        return sum(self.used)

    def add(self, estimator: Any, read: Read | None, n_rows: int) -> None:
        """Take a piece into account, but for the sample; None is one without rows."""
        self.sizes.append(n_rows)
        self.used.append(0)
        if read is None:
            return
        given = given_values(estimator, read.frame)
        self._take_orders(given, read.frame.names)
        numbers = self._number(read.labels)[read.numbers]
        weight = np.ones(len(numbers)) if read.weight is None else read.weight
        self.totals = self.totals + np.bincount(numbers, weight, len(self.totals))
        if self.summary is None:
            self.summary = FrameSummary.of(read.frame)
        used = read.frame
        if read.weight is not None and not read.weight.all():
            rows = np.flatnonzero(read.weight)
            used = used._replace(columns=[column[rows] for column in used.columns], array=None)
            numbers, weight = numbers[rows], weight[rows]
        if len(numbers):
            self.summary.add(used, ~which_are_numbers(estimator, read.frame, given), numbers, weight, read.name)
        self.used[-1] = len(numbers)
        self.has_weight |= read.weight is not None
        self.is_whole &= bool((weight == np.floor(weight)).all())

    def merge(self, other: Overview) -> None:
        """Take the pieces of another overview into account, which come after; that is used up."""
        self.sizes += other.sizes
        self.used += other.used
        if other.summary is None or other.labels is None or other.given is None:
            return
        self._take_orders(other.given, other.summary.names)
        numbers = self._number(other.labels)
        np.add.at(self.totals, numbers, other.totals)
        other.summary.renumber(numbers)
        if self.summary is None:
            self.summary = other.summary
        else:
            self.summary.merge(other.summary)
        self.has_weight |= other.has_weight
        self.is_whole &= other.is_whole

    def draw(self, read: Read, position: int) -> None:
        """Take a piece into account for the sample; its classes must be known, and the place of its first row."""
        self.sample.n_rows = self.sample_rows(read.frame.n_columns)
        weight = np.ones(len(read.numbers)) if read.weight is None else read.weight
        self.sample.add(read.frame, self._number(read.labels)[read.numbers], weight, position)

    def sample_rows(self, n_columns: int) -> int:
        """Rows of a sample that, with what is computed from them, takes an eighth of the memory."""
        return max(_FEWEST_SAMPLED, min(SAMPLE_ROWS, self.memory // (8 * _BYTES_OF_CELL * n_columns)))

    def _number(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Numbers of classes, among which those that are new come last."""
        known = [] if self.labels is None else self.labels.tolist()
        new = labels[[label not in known for label in labels.tolist()]]
        self.labels = labels if self.labels is None else np.concatenate([self.labels, new])
        self.totals = np.append(self.totals, np.zeros(len(new)))
        place = {label: number for number, label in enumerate(self.labels.tolist())}
        return np.array([place[label] for label in labels.tolist()], np.int64)

    def _take_orders(self, given: GivenValues, names: list[str] | None) -> None:
        """Keep what columns have for an order of their values, which must be the same in all pieces."""
        if self.given is None:
            self.given = given
        for index, order in given.orders.items():
            if order != self.given.orders.get(index):
                name = index if names is None else repr(names[index])
                raise ValueError(f"column {name} has another order of its values than in the pieces before")

    def finish(self) -> NDArray[Any]:
        """Number the classes in sorted order, and return those that have rows."""
        if self.summary is None or self.labels is None or not self.n_used:
            raise SourceError("the source has no rows with a positive weight")
        labels = self.labels[self.totals > 0]
        classes = np.unique(labels)
        place = {label: number for number, label in enumerate(classes.tolist())}
        numbers = np.array([place.get(label, 0) for label in self.labels.tolist()], np.int64)
        self.summary.renumber(numbers)
        self.sample.parts = [(hashes, frame, numbers[y], weight) for hashes, frame, y, weight in self.sample.parts]
        self.totals = np.bincount(numbers, self.totals, len(classes)).astype(np.float64)
        return classes


def read_piece(estimator: Any, piece: Piece) -> tuple[Read | None, int]:
    """Check a piece, and count its rows; one without rows is None. The first sets the features of the estimator."""
    with named(piece.name):
        n_rows = len(piece.X)
        if not n_rows:
            return None, 0
        frame = read_rows(estimator, piece.X, piece.y, reset=not hasattr(estimator, "n_features_in_"))
        labels, numbers = read_classes(piece.y, n_rows)
        weight = None
        if piece.sample_weight is not None:
            is_nothing = not np.any(piece.sample_weight)
            weight = np.zeros(n_rows) if is_nothing else read_weights(piece.sample_weight, n_rows)[0]
    return Read(piece.name, frame, labels, numbers.astype(np.int64), weight), n_rows


def encode_piece(
    read: Read, encoder: FrameEncoder, classes: NDArray[Any], factors: NDArray[np.float64] | None, n_threads: int
) -> Block:
    """The rows of a piece as codes, those without weight left out."""
    place = {label: number for number, label in enumerate(classes.tolist())}
    with named(read.name):
        codes = encoder.encode(read.frame, n_threads=n_threads)[read.is_used]
        used = read.numbers[read.is_used]
        present = np.unique(used)
        strangers = [label for label in read.labels[present].tolist() if label not in place]
        if strangers:
            raise SourceError(f"there is a class {strangers[0]!r} that was not there when rows were first read")
        numbers = np.zeros(len(read.labels), np.int64)
        numbers[present] = [place[label] for label in read.labels[present].tolist()]
    y = numbers[used]
    own = None if read.weight is None else read.weight[read.is_used]
    return Block(codes, y, class_weighted(own, factors, y))


def check_size(read: Read | None, n_rows: int, before: int) -> None:
    """Refuse a piece that is not what it was."""
    if n_rows != before:
        name = "a piece" if read is None else read.name
        raise SourceError(f"{name} has {n_rows:,} rows, but had {before:,} when it was first read")


@contextmanager
def named(name: str) -> Iterator[None]:
    """Name the piece in errors."""
    try:
        yield
    except SourceError:
        raise
    except (TypeError, ValueError) as error:
        raise SourceError(f"{name}: {error}") from error
