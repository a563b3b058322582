"""Training rows that come from a source in pieces, and need not fit into memory.

The first pass summarises columns, finds the classes and draws a sample of the rows. Recipes are chosen and structures
are searched on the sample. The second pass writes all rows as codes to files; counts and gradient descent read these.
If the sample has all rows, there is no second pass, and a fit is the one to rows in memory.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tanager.data import (
    Block,
    Fingerprint,
    Frame,
    FrameEncoder,
    FrameSummary,
    GivenValues,
    Piece,
    RowSample,
    RowStore,
    SourceError,
    hash_cells,
    hash_rows,
)
from tanager.data.coders import code_dtype
from tanager.data.sources import DEFAULT_MEMORY
from tanager.data.summaries import SAMPLE_ROWS
from tanager.estimators.inputs import (
    GIVEN,
    Encoded,
    GivenRows,
    TrainingData,
    binning_of,
    known_beforehand,
    most_categories,
    name_target,
    read_classes,
    read_rows,
)
from tanager.estimators.knowledge import given_values, which_are_numbers
from tanager.estimators.weights import class_factors, class_weighted, read_weights
from tanager.learning import Context, Limits, Rows, hold_out
from tanager.learning.context import Population
from tanager.learning.populations import StoredRows, Watch
from tanager.training.progress import RowProgress

_SAVE_SECONDS = 20.0  # between checkpoints of the first pass
_SUMMARY = "summary"
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
        self.sample.n_rows = _sample_rows(self.memory, read.frame.n_columns)
        weight = np.ones(len(read.numbers)) if read.weight is None else read.weight
        self.sample.add(read.frame, self._number(read.labels)[read.numbers], weight, position)

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


class StreamData:
    """The rows of a source, with the same answers as `TrainingData`."""

    has_validation = False

    def __init__(self, estimator: Any, source: Any, n_threads: int, limits: Limits | None = None) -> None:
        self._estimator, self._source, self._n_threads = estimator, source, n_threads
        self._limits = Limits() if limits is None else limits
        self._trials = self._limits.for_trials()
        self._scratch = clone(estimator)
        self._memory = int(getattr(source, "memory", DEFAULT_MEMORY))
        self._temporary: TemporaryDirectory[str] | None = None
        folder = getattr(source, "folder", None)
        self._folder = None if folder is None else Path(folder)
        self._overview = self._look_over()
        self._classes = self._overview.finish()
        self._frame, self._numbers, weight = self._overview.sample.rows()
        self._weight = weight if self._overview.has_weight else None
        n_classes = np.arange(len(self._classes))
        self._factors = class_factors(estimator.class_weight, self._classes, n_classes, self._overview.totals)
        self._given = cast(GivenValues, self._overview.given)
        self._known = known_beforehand(estimator, self._frame, self._given, len(self._classes))
        self._contexts: dict[str, Context] = {}
        self._encoders: dict[str, FrameEncoder] = {}

    def close(self) -> None:
        """Remove a temporary folder."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def encoded(self, *, is_fine: bool) -> Encoded:
        """The sample as codes, and what was learned from all rows to encode it."""
        binning = binning_of(self._estimator, is_fine=is_fine)
        rows = self._context(binning).rows
        names = getattr(self._scratch, "feature_names_in_", None)
        target = name_target(None, self._frame.names)
        encoder = self._encoder(binning)

        def take_fingerprint() -> Fingerprint:
            return Fingerprint.take(hash_rows(hash_cells(encoder, self._frame, rows.codes), rows.y))

        take = take_fingerprint if self._has_all_rows else None
        return Encoded(rows, self._weight, self._factors, self._classes, encoder, names, target, take)

    def context(self, *, is_fine: bool) -> Context:
        """The sample, with all rows behind it; always the same for the same bins."""
        return self._context(binning_of(self._estimator, is_fine=is_fine))

    def trial_context(self, *, is_fine: bool) -> Context:
        """The same for what is tried before the last fit, which has half of the time and no call-back."""
        return self.context(is_fine=is_fine).with_options(limits=self._trials)

    def is_over(self, what: str) -> bool:
        """Whether the time for trials is over; a note then says what was left out."""
        return self._trials.is_over(what)

    def parts(self, seed: int, *, is_fine: bool) -> list[tuple[Context, Rows]]:
        """Rows of the sample to learn from and to judge by; bins and categories are those of all rows."""
        rows = self.context(is_fine=is_fine).rows
        if rows.n_counted < 2:
            return []
        splits = hold_out(rows, seed)
        return [
            (Context(rows.take_part(kept), self._n_threads, limits=self._trials, **self._known), rows.take_part(held))
            for kept, held in splits
        ]

    @property
    def _has_all_rows(self) -> bool:
        return len(self._numbers) == self._overview.n_used

    @property
    def _n_counted(self) -> float:
        """Number of all rows, counted with their weights if these are whole numbers."""
        is_whole = self._overview.is_whole and self._factors is None
        return float(self._overview.totals.sum()) if is_whole else float(self._overview.n_used)

    def _context(self, binning: str) -> Context:
        if binning not in self._contexts:
            encoder, overview = self._encoder(binning), self._overview
            is_number = cast(FrameSummary, overview.summary).is_number
            codes = encoder.encode(self._frame, n_threads=self._n_threads)
            weight = class_weighted(self._weight, self._factors, self._numbers)
            cards, n_ordered = encoder.cards.astype(np.int64), encoder.n_ordered(is_number)
            rows = Rows(codes, self._numbers, weight, cards, len(self._classes), n_ordered)
            self._contexts[binning] = Context(
                rows,
                self._n_threads,
                self._estimator.verbose,
                limits=self._limits,
                population=None if self._has_all_rows else self._population(binning),
                **self._known,
            )
        return self._contexts[binning]

    def _population(self, binning: str) -> Population:
        """All rows, which are encoded when they are first asked for."""
        return StoredRows(lambda: self._store(binning), self._memory, self._n_counted, self._watch)

    def _encoder(self, binning: str) -> FrameEncoder:
        estimator = self._estimator
        if binning == GIVEN:
            return cast(FrameEncoder, estimator.binning)
        if binning not in self._encoders:
            self._encoders[binning] = cast(FrameSummary, self._overview.summary).encoder(
                self._frame,
                (self._numbers, self._weight),
                binning,
                estimator.max_bins,
                missing=estimator.missing,
                max_categories=most_categories(estimator, is_fine=binning == "fine"),
                n_rows=self._n_counted,
                factors=self._factors,
                given=self._given,
            )
        return self._encoders[binning]

    def _pieces(self) -> Iterator[tuple[Read | None, int]]:
        """Pieces with their sizes; those without rows are None."""
        for number, item in enumerate(self._source.pieces()):
            piece = item if isinstance(item, Piece) else Piece(*item)
            yield read_piece(self._scratch, piece._replace(name=piece.name or f"piece {number}"))

    def _look_over(self) -> Overview:
        """The first pass, or what is left of it."""
        overview = self._begin()
        if overview.is_complete:
            self._scratch_features(overview)
            return overview
        done, saved = self._watch("reading", getattr(self._source, "n_rows", None)), time.monotonic()
        for number, (read, n_rows) in enumerate(self._pieces()):
            if number >= len(overview.sizes):
                with named("" if read is None else read.name):
                    overview.add(self._estimator, read, n_rows)
                if read is not None:
                    overview.draw(read, sum(overview.sizes) - n_rows)
            else:
                check_size(read, n_rows, overview.sizes[number])
            done(n_rows)
            if self._folder is not None and time.monotonic() - saved > _SAVE_SECONDS:
                self._save(overview)
                saved = time.monotonic()
        overview.is_complete = True
        if self._folder is not None:
            self._save(overview)
        return overview

    def _scratch_features(self, overview: Overview) -> None:
        """What reading a piece would have noted about the features."""
        names = cast(FrameSummary, overview.summary).names
        self._scratch.n_features_in_ = len(cast(FrameSummary, overview.summary).columns)
        if names is not None:
            self._scratch.feature_names_in_ = np.array(names, object)

    def _begin(self) -> Overview:
        """The overview that a folder has, if it is of these rows, or an empty one."""
        options = [repr(getattr(self._estimator, name)) for name in ("categorical_features", "ordinal_features")]
        identity = [getattr(self._source, "identity", None), *options, self._memory]
        if self._folder is not None:
            try:
                with (self._folder / _SUMMARY).open("rb") as stream:
                    found = pickle.load(stream)
            except FileNotFoundError:
                found = None
            if isinstance(found, Overview) and found.identity == identity:
                return found
        return Overview(identity, self._memory)

    def _save(self, overview: Overview) -> None:
        folder = cast(Path, self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{_SUMMARY}.new").open("wb") as stream:
            pickle.dump(overview, stream)
        os.replace(folder / f"{_SUMMARY}.new", folder / _SUMMARY)

    def _store(self, binning: str) -> RowStore:
        """The second pass, or what is left of it: all rows as codes in files."""
        encoder, overview = self._encoder(binning), self._overview
        has_weight = overview.has_weight or self._factors is not None
        options = [
            getattr(self._estimator, name)
            for name in ("binning", "max_bins", "max_categories", "missing", "class_weight")
        ]
        identity = [*overview.identity, binning, list(map(repr, options)), encoder.cards.tolist()]
        store = RowStore(
            self._work_folder() / f"rows-{binning}",
            len(encoder.columns),
            code_dtype(int(encoder.cards.max())),
            len(self._classes),
            has_weight,
            identity,
        )
        if store.is_complete:
            return store
        done = self._watch("encoding", sum(overview.sizes))
        n_pieces = 0
        for number, (read, n_rows) in enumerate(self._pieces()):
            check_size(read, n_rows, overview.sizes[number] if number < len(overview.sizes) else 0)
            if number >= store.n_pieces:
                if read is None:
                    store.append(np.empty((0, store.n_features)), np.empty(0, np.int64), np.empty(0))
                else:
                    store.append(*encode_piece(read, encoder, self._classes, self._factors, self._n_threads))
            done(n_rows)
            n_pieces += 1
        if n_pieces < len(overview.sizes):
            raise SourceError(f"the source had {len(overview.sizes)} pieces when it was first read, and now {n_pieces}")
        store.complete()
        return store

    def _work_folder(self) -> Path:
        if self._folder is not None:
            return self._folder
        if self._temporary is None:
            self._temporary = TemporaryDirectory(prefix="tanager-")
        return Path(self._temporary.name)

    @property
    def _watch(self) -> Watch:
        return RowProgress if self._estimator.verbose else lambda what, n_rows: lambda n: None


@contextmanager
def training_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    n_threads: int,
    given: GivenRows | None = None,
    limits: Limits | None = None,
) -> Iterator[TrainingData | StreamData]:
    """The rows of a fit, in memory or from a source."""
    if not is_source(X):
        yield TrainingData(estimator, X, y, sample_weight, n_threads, given, limits)
        return
    if y is not None or sample_weight is not None:
        raise ValueError("a source yields classes and weights with its rows: fit(source) takes neither")
    if given is not None:
        raise ValueError("validation rows require training rows in memory: a source holds out rows of its own")
    data = StreamData(estimator, X, n_threads, limits)
    try:
        yield data
    finally:
        data.close()


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


def _sample_rows(memory: int, n_columns: int) -> int:
    """Rows of a sample that, with what is computed from them, takes an eighth of the memory."""
    return max(_FEWEST_SAMPLED, min(SAMPLE_ROWS, memory // (8 * _BYTES_OF_CELL * n_columns)))


def is_source(X: Any) -> bool:
    """Whether X is a source of pieces rather than rows; a frame may have a column of that name."""
    return callable(getattr(type(X), "pieces", None))


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
