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
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from tanager.data import (
    Fingerprint,
    FrameEncoder,
    FrameSummary,
    GivenValues,
    Piece,
    RowStore,
    SourceError,
    hash_cells,
    hash_rows,
)
from tanager.data.coders import code_dtype
from tanager.data.sources import DEFAULT_MEMORY
from tanager.estimators.inputs import (
    GIVEN,
    Encoded,
    binning_of,
    known_beforehand,
    most_categories,
    name_target,
)
from tanager.estimators.pieces import Overview, Read, check_size, encode_piece, named, read_piece
from tanager.estimators.weights import class_factors, class_weighted
from tanager.learning import Context, Limits, Part, Rows, hold_out
from tanager.learning.context import Population
from tanager.learning.populations import StoredRows, Watch
from tanager.training.progress import RowProgress

_SAVE_SECONDS = 20.0  # between checkpoints of the first pass
_SUMMARY = "summary"


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
        self._splits: list[tuple[Part, Part]] | None = None

    def close(self) -> None:
        """Remove a temporary folder."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def encoded(self, bins: str) -> Encoded:
        """The sample as codes, and what was learned from all rows to encode it."""
        binning = binning_of(self._estimator, bins)
        rows = self._context(binning).rows
        names = getattr(self._scratch, "feature_names_in_", None)
        target = name_target(None, self._frame.names)
        encoder = self._encoder(binning)

        def take_fingerprint() -> Fingerprint:
            return Fingerprint.take(hash_rows(hash_cells(encoder, self._frame, rows.codes), rows.y))

        take = take_fingerprint if self._has_all_rows else None
        return Encoded(rows, self._weight, self._factors, self._classes, encoder, names, target, take)

    def context(self, bins: str) -> Context:
        """The sample, with all rows behind it; always the same for the same bins."""
        return self._context(binning_of(self._estimator, bins))

    def trial_context(self, bins: str) -> Context:
        """The same for what is tried before the last fit, which has half of the time and no call-back."""
        return self.context(bins).with_options(limits=self._trials)

    def is_over(self, what: str) -> bool:
        """Whether the time for trials is over; a note then says what was left out."""
        return self._trials.is_over(what)

    def parts(self, seed: int, bins: str) -> list[tuple[Context, Rows]]:
        """Rows of the sample to learn from and to judge by; bins and categories are those of all rows."""
        rows = self.context(bins).rows
        if rows.n_counted < 2:
            return []
        if self._splits is None:
            self._splits = hold_out(rows, seed)
        return [
            (Context(rows.take_part(kept), self._n_threads, limits=self._trials, **self._known), rows.take_part(held))
            for kept, held in self._splits
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
                max_categories=most_categories(estimator, binning),
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
            except (FileNotFoundError, EOFError, pickle.UnpicklingError):  # the latter of a disk that lost its end
                found = None
            if isinstance(found, Overview) and found.identity == identity:
                return found
        return Overview(identity, self._memory)

    def _save(self, overview: Overview) -> None:
        folder = cast(Path, self._folder)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{_SUMMARY}.new").open("wb") as stream:
            pickle.dump(overview, stream)
            stream.flush()
            os.fsync(stream.fileno())
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
