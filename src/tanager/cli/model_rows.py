"""A model from a file, and the rows of a table as it wants them: its columns, in its order, with its types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from numpy.typing import NDArray

from tanager.cli.cells import as_classes, as_fitted
from tanager.cli.errors import InputError, check_names, suggest
from tanager.cli.tables import CHUNK_ROWS, Reading, TableFile, open_table

UNKNOWN_CLASS, NO_CLASS = -1, -2


@dataclass(frozen=True)
class LoadedModel:
    """A classifier, and what its file says about it.

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
        """What was given when the model was saved."""
        return dict(self.header["metadata"])

    @property
    def target(self) -> str | None:
        """Column of the classes, if the file tells."""
        target = self.metadata.get("target")
        return target if isinstance(target, str) else None

    @property
    def missing(self) -> tuple[str, ...]:
        """Words that stood for missing cells when the model was fitted."""
        words = self.metadata.get("missing")
        return tuple(map(str, words)) if isinstance(words, list) else ()


@dataclass(frozen=True)
class Piece:
    """Some rows of a table.

    Attributes
    ----------
    X : pyarrow.Table of shape (N, D)
    classes : ndarray of shape (N,) or None
        Number of the class of each row, if the table has the target: -1 for one that the model does not know, -2 where
        it is missing.
    kept : pyarrow.RecordBatch
        Columns that were asked for besides, as they are in the file.
    """

    X: Any
    classes: NDArray[np.int64] | None
    kept: Any


class ModelRows:
    """Rows of a table for a model.

    Parameters
    ----------
    model : LoadedModel
    path : Path
    reading : Reading
        The model's own words for missing cells are added to it.
    keep : sequence of str
        Columns to pass on.
    """

    def __init__(self, model: LoadedModel, path: Path, reading: Reading, keep: Sequence[str] = ()) -> None:
        self._model = model
        self._file = open_table(path, replace(reading, missing=(*reading.missing, *model.missing)))
        self._columns = _find_columns(model, self._file)
        check_names(list(keep), self._file.names, path)
        self._keep = list(keep)
        self.target = model.target if model.target in self._file.names else None
        used = {*self._columns, *self._keep, self.target}
        self.ignored = [name for name in self._file.names if name not in used]

    def pieces(self, n_rows: int = CHUNK_ROWS) -> Iterator[Piece]:
        """The rows, at most so many at a time."""
        encoder, classes = self._model.classifier.encoder_, self._model.classifier.classes_
        labels = encoder.feature_labels
        wanted = list(dict.fromkeys([*self._columns, *self._keep, *([self.target] if self.target else [])]))
        n_before = 0
        for batch in self._file.pieces(wanted, n_rows):
            cells = [
                as_fitted(batch.column(name), column, name, n_before)
                for name, column in zip(self._columns, encoder.columns, strict=True)
            ]
            truth = None if self.target is None else as_classes(batch.column(self.target), classes)
            yield Piece(pyarrow.table(cells, names=labels), truth, batch.select(self._keep))
            n_before += batch.num_rows


def load_model(path: Path) -> LoadedModel:
    """Read a model file and its header."""
    from tanager.estimators.loading import load
    from tanager.files import read_header

    if path.is_dir():
        raise InputError(f"{path} is a folder; name a model file")
    return LoadedModel(path, load(path), read_header(path))


def _find_columns(model: LoadedModel, file: TableFile) -> list[str]:
    """Columns of the file for the model's features: by name, or by position if the model has no names."""
    labels = model.classifier.encoder_.feature_labels
    absent = [name for name in labels if name not in file.names]
    if not absent:
        return list(labels)
    if model.classifier.encoder_.names is None:
        others = [name for name in file.names if name != model.target]
        if len(others) == len(labels):
            return others
        raise InputError(
            f"{file.path} has {len(others)} columns besides the target, but {model.path} was fitted to {len(labels)} "
            "columns without names"
        )
    shown = ", ".join(map(repr, absent[:10])) + (f" and {len(absent) - 10} more" if len(absent) > 10 else "")
    what = "columns" if len(absent) > 1 else "column"
    raise InputError(
        f"{file.path} lacks the {what} {shown} that {model.path} was fitted to; {suggest(absent[0], file.names)}"
    )
