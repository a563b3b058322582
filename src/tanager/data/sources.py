"""Rows that can be read again and again in pieces: Parquet and CSV files, Arrow data sets, and classes of the user's.

A source has a method ``pieces``, which yields `Piece` values or tuples ``(X, y)`` or ``(X, y, sample_weight)``, the
same ones each time it is called. Everything else about it is optional:

``memory``
    Bytes that learning from it may take, 1 GiB by default.
``folder``
    Where to keep encoded rows and checkpoints, so that an interrupted fit can go on; a temporary one by default.
``n_rows``
    Number of rows, if known, to tell the time left.
``identity``
    Anything that JSON can hold and that changes with the rows. A folder is used again only for the same identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

DEFAULT_MEMORY = 1 << 30
_BATCH_ROWS = 65536
_TEXT_ENDINGS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


class SourceError(ValueError):
    """Rows that cannot be read, or that are not those that were read before; the message names the piece."""


class Piece(NamedTuple):
    """Some rows of a source.

    ``name`` is how messages call them; pieces without one are numbered.
    """

    X: Any
    y: Any
    sample_weight: Any = None
    name: str = ""


@runtime_checkable
class Source(Protocol):
    """Rows that can be read again in pieces."""

    def pieces(self) -> Iterator[Any]:
        """Yield all rows, always the same ones in the same order, a piece at a time."""


class FileSource:
    """Rows in Parquet or CSV files, or in an Arrow data set, that need not fit into memory.

    Parameters
    ----------
    data : path, list of paths or pyarrow.dataset.Dataset
        A Parquet, CSV or TSV file (also compressed), a folder of Parquet files, several files of a kind, or a data set.
    target : str
        Column that holds the classes.
    sample_weight : str, optional
        Column that holds the weights of the rows.
    columns : list of str, optional
        Columns to learn from; all others by default.
    memory : int, default=2**30
        Bytes that learning may take beyond what Python and the libraries take anyway (docs/large-data.md).
    folder : path, optional
        Where to keep encoded rows and checkpoints. A fit that was interrupted then goes on from there. Without it, a
        temporary folder is used, which takes a byte for each cell and is removed at the end.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow, pyarrow.parquet
    >>> from tanager import FileSource, TANClassifier
    >>> rows = pyarrow.table({"size": [1.0, 2.0, 3.0, 4.0] * 5, "kind": ["a", "a", "b", "b"] * 5})
    >>> path = Path(tempfile.mkdtemp()) / "rows.parquet"
    >>> pyarrow.parquet.write_table(rows, path)
    >>> clf = TANClassifier("none", "ml").fit(FileSource(path, target="kind"))
    >>> clf.predict(pyarrow.table({"size": [1.5, 3.5]})).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        data: Any,
        target: str,
        *,
        sample_weight: str | None = None,
        columns: Sequence[str] | None = None,
        memory: int = DEFAULT_MEMORY,
        folder: Path | str | None = None,
    ) -> None:
        self.memory, self.folder = memory, folder
        self._dataset = _open(data)
        self._target, self._weight = target, sample_weight
        extra = [target] if sample_weight is None else [target, sample_weight]
        names = self._dataset.schema.names
        self._columns = [name for name in names if name not in extra] if columns is None else list(columns)
        for name in [*self._columns, *extra]:
            if name not in names:
                raise SourceError(f"there is no column {name!r} in {_title(data)}; its columns are {', '.join(names)}")
        if not self._columns:
            raise SourceError(f"{_title(data)} has no columns besides {', '.join(map(repr, extra))}")
        self._wanted = [*self._columns, *extra]
        self._states = {path: _state(path) for path in self._paths()}

    @property
    def n_rows(self) -> int | None:
        """Number of rows, which only Parquet files tell without being read, and not if one of them is damaged."""
        if not _is_parquet(self._dataset):
            return None
        try:
            return int(self._dataset.count_rows())
        except (import_module("pyarrow").ArrowException, OSError):
            return None

    @property
    def identity(self) -> list[Any]:
        """Columns, and paths, sizes and times of the files."""
        return [self._wanted, sorted((path, *state) for path, state in self._states.items())]

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows, file by file."""
        for fragment in self._dataset.get_fragments():
            path = str(getattr(fragment, "path", "") or "rows in memory")
            self._check(fragment, path)
            first = 0
            with _named(path):
                for batch in self._batches(fragment):
                    name = f"{path}, rows {first + 1:,} to {first + batch.num_rows:,}"
                    first += batch.num_rows
                    X = import_module("pyarrow").Table.from_batches([batch.select(self._columns)])
                    weight = None if self._weight is None else batch.column(self._weight).to_numpy(zero_copy_only=False)
                    yield Piece(X, batch.column(self._target).to_numpy(zero_copy_only=False), weight, name)
            self._check(fragment, path)

    def _batches(self, fragment: Any) -> Iterator[Any]:
        """Batches of a file, with little read ahead, which takes memory."""
        dataset = import_module("pyarrow.dataset")
        size = max(1024, min(_BATCH_ROWS, self.memory // (256 * len(self._wanted))))
        options: dict[str, Any] = {"columns": self._wanted, "batch_size": size, "batch_readahead": 1}
        if _is_parquet(self._dataset):
            scan = dataset.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
            options["fragment_scan_options"] = scan
        yield from fragment.to_batches(schema=self._dataset.schema, fragment_readahead=1, use_threads=False, **options)

    def _check(self, fragment: Any, path: str) -> None:
        """Refuse a file that has changed since it was opened, and one that lacks a column."""
        if path in self._states and _state(path) != self._states[path]:
            raise SourceError(f"{path} has changed while it was being read; start again")
        with _named(path):
            names = fragment.physical_schema.names
        lacking = [name for name in self._wanted if name not in names]
        if lacking:
            raise SourceError(f"{path} has no column {lacking[0]!r}, which other files have")

    def _paths(self) -> list[str]:
        return [path for path in getattr(self._dataset, "files", []) if Path(path).exists()]


def _open(data: Any) -> Any:
    try:
        dataset = import_module("pyarrow.dataset")
    except ImportError as error:
        raise ImportError("reading files needs pyarrow: pip install 'tanager[frames]'") from error
    if not isinstance(data, (str, Path, list, tuple)):
        if not isinstance(data, dataset.Dataset):
            raise TypeError(f"data must be a path, a list of paths or a pyarrow data set, got {type(data).__name__}")
        return data
    paths = [Path(each) for each in (data if isinstance(data, (list, tuple)) else [data])]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"there is no file or folder {path}")
    found = [delimiter for ending, delimiter in _TEXT_ENDINGS.items() if ending in paths[0].suffixes]
    kind: Any = "parquet"
    if found:
        csv = import_module("pyarrow.csv")
        kind = dataset.CsvFileFormat(parse_options=csv.ParseOptions(delimiter=found[0], newlines_in_values=True))
    with _named(_title(data)):
        opened = dataset.dataset(str(paths[0]) if len(paths) == 1 else list(map(str, paths)), format=kind)
    if not opened.schema.names:
        raise SourceError(f"{_title(data)} has no Parquet files in it")
    return opened


def _is_parquet(dataset: Any) -> bool:
    return getattr(getattr(dataset, "format", None), "default_extname", "") == "parquet"


def _title(data: Any) -> str:
    if isinstance(data, (list, tuple)):
        return f"{data[0]}, ..."
    return str(data) if isinstance(data, (str, Path)) else "the data set"


def _state(path: str) -> tuple[int, int]:
    """Size and time of a file, by which a change is told."""
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in errors of Arrow."""
    pyarrow = import_module("pyarrow")
    try:
        yield
    except SourceError:
        raise
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot read {path}: {' '.join(str(error).split())}") from error
