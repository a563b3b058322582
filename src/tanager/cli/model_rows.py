"""A model from a file, and the rows of a data file in the form it requires: its columns, in its order and types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

from tanager._options import suggest
from tanager.cli.cells import as_classes, as_fitted
from tanager.cli.data_files import CHUNK_ROWS, DataFile, Reading, check_columns, open_data
from tanager.cli.errors import InputError
from tanager.data.cleaning import ColumnPlan
from tanager.data.tidying import tidy_frame

UNKNOWN_CLASS, NO_CLASS = -1, -2


@dataclass(frozen=True)
class LoadedModel:
    """A classifier and the header of its file.

    Attributes
    ----------
    path : Path
    classifier : TANClassifier or TANEnsembleClassifier
    header : dict
        From `tanager.files.read_header`.
    """

    path: Path
    classifier: Any
    header: dict[str, Any]

    @property
    def metadata(self) -> dict[str, Any]:
        """What was stored with the model."""
        return dict(self.header["metadata"])

    @property
    def target(self) -> str | None:
        """Name of the target column, if the file has it."""
        target = self.metadata.get("target")
        return target if isinstance(target, str) else None

    @property
    def missing(self) -> tuple[str, ...]:
        """Words that marked missing cells when the model was fitted."""
        words = self.metadata.get("missing")
        return tuple(map(str, words)) if isinstance(words, list) else ()

    @property
    def plans(self) -> list[ColumnPlan]:
        """What fitting did with the columns of its file; none if the model was not fitted to a file."""
        plans = self.metadata.get("cleaning")
        try:
            return [ColumnPlan.from_dict(plan) for plan in plans] if isinstance(plans, list) else []
        except ValueError as error:
            raise InputError(f"{self.path} is damaged: {error}") from None


@dataclass(frozen=True)
class Piece:
    """Some rows of a data file.

    Attributes
    ----------
    X : pyarrow.Table of shape (N, D)
    classes : ndarray of shape (N,) or None
        Index of the class of each row, if the file has the target: -1 for a class that the model does not know, -2 for
        a missing one.
    kept : pyarrow.RecordBatch
        The columns to pass on, unchanged.
    """

    X: Any
    classes: NDArray[np.int64] | None
    kept: Any


class ModelRows:
    """Rows of a data file for a model.

    Parameters
    ----------
    model : LoadedModel
    path : Path
    reading : Reading
        The model's own words for missing cells are added.
    keep : sequence of str
        Columns to pass on.
    """

    def __init__(self, model: LoadedModel, path: Path, reading: Reading, keep: Sequence[str] = ()) -> None:
        self._model = model
        self._file = open_data(path, replace(reading, missing=(*reading.missing, *model.missing)))
        self._plans = [plan for plan in model.plans if plan.made]
        self._columns = _find_columns(model, self._file)
        check_columns(keep, self._file)
        self._keep = list(keep)
        self.target = model.target if model.target in self._file.names else None
        used = {*self._columns, *self._keep, self.target}
        self.ignored = [name for name in self._file.names if name not in used]

    def pieces(self, n_rows: int = CHUNK_ROWS) -> Iterator[Piece]:
        """Yield the rows, up to ``n_rows`` at a time."""
        encoder, classes = self._model.classifier.encoder_, self._model.classifier.classes_
        labels = encoder.feature_labels
        wanted = list(dict.fromkeys([*self._columns, *self._keep, *([self.target] if self.target else [])]))
        n_before = 0
        for batch in self._file.pieces(wanted, n_rows):
            rows = self._tidy(batch)
            cells = [
                as_fitted(rows[name], column, name, n_before)
                for name, column in zip(labels if self._plans else self._columns, encoder.columns, strict=True)
            ]
            truth = None if self.target is None else as_classes(batch.column(self.target), classes)
            yield Piece(pyarrow.table(cells, names=labels), truth, batch.select(self._keep))
            n_before += batch.num_rows

    def _tidy(self, batch: Any) -> dict[str, Any]:
        """The columns that the model was fitted to, made of those of the file, by name."""
        frame = pyarrow.Table.from_batches([batch])
        try:
            frame = tidy_frame(frame, self._plans) if self._plans else frame
        except ValueError as error:
            raise InputError(f"{self._file.path}: {error}") from None
        return {name: frame.column(name).combine_chunks() for name in frame.column_names}


def load_model(path: Path) -> LoadedModel:
    """Read a model file and its header."""
    from tanager.estimators.loading import load
    from tanager.files import read_header

    if path.is_dir():
        raise InputError(f"{path} is a folder; give a model file")
    return LoadedModel(path, load(path), read_header(path))


def _find_columns(model: LoadedModel, file: DataFile) -> list[str]:
    """The columns of the file that hold the model's features: by name, or by position if the model has no names."""
    labels = [plan.name for plan in model.plans if plan.made] or model.classifier.encoder_.feature_labels
    absent = [name for name in labels if name not in file.names]
    if not absent:
        return list(labels)
    if model.classifier.encoder_.names is None:
        others = [name for name in file.names if name != model.target]
        if len(others) == len(labels):
            return others
        raise InputError(
            f"{file.path} has {len(others)} columns besides the target, but {model.path} requires {len(labels)}, "
            "which have no names"
        )
    shown = ", ".join(map(repr, absent[:10])) + (f" and {len(absent) - 10} more" if len(absent) > 10 else "")
    what = "columns" if len(absent) > 1 else "column"
    raise InputError(
        f"{file.path} lacks the {what} {shown}, which {model.path} requires; {suggest(absent[0], file.names)}"
    )
