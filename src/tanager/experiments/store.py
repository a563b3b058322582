"""Results on disk: an SQLite database that many processes may write to and that survives a kill at any moment.

Each result is one transaction, keyed by the identity of its run, so it is stored completely or not at all, and only
once. The file also lists the runs that were requested, so an interrupted command can resume without repeating its
arguments. Write-ahead logging allows reading while others write; it requires a local disk, not a network drive. On a
cluster, only the process that hands out the runs writes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tanager.experiments.run import Result
from tanager.experiments.spec import RunSpec

SCHEMA_VERSION = 1

# Marks the file as ours among SQLite databases: the letters TANR.
_APPLICATION = 0x54414E52
_BUSY_SECONDS, _PAUSE_SECONDS = 60.0, 0.01
_SCHEMA = (
    """CREATE TABLE results (
        key TEXT PRIMARY KEY,
        spec TEXT NOT NULL,
        result TEXT NOT NULL,
        finished TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
    )""",
    "CREATE TABLE requests (key TEXT PRIMARY KEY, spec TEXT NOT NULL)",
)


class StoreError(RuntimeError):
    """The store cannot be opened, read or written."""


@dataclass(frozen=True)
class Record:
    """A run and what it found."""

    spec: RunSpec
    result: Result


class Store:
    """Results by the identity of their runs.

    Use as a context manager, in the process and the thread that opened it.

    Parameters
    ----------
    path : path-like
        Created if it does not exist.
    must_exist : bool
        Raise an error instead of creating the file.

    Examples
    --------
    >>> import tempfile
    >>> from tanager.experiments.run import run_spec
    >>> spec = RunSpec(dataset="digits", method="nb-ml")
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
    ...     is_new = store.add(spec, run_spec(spec))
    ...     print(is_new, store.add(spec, run_spec(spec)), len(store))
    True False 1
    """

    def __init__(self, path: str | Path, *, must_exist: bool = False) -> None:
        self.path = Path(path)
        if must_exist and not self.path.is_file():
            raise StoreError(f"there is no store {self.path}")
        with self._explained("open"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_writable = os.access(self.path if self.path.exists() else self.path.parent, os.W_OK)
            if is_writable and os.access(self.path.parent, os.W_OK):
                self._open(self.path.absolute().as_uri(), self._prepare)
            else:
                self._open(self._address_to_read(), self._check_version)

    def _open(self, address: str, check: Callable[[], Any]) -> None:
        self._connection = sqlite3.connect(address, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)
        try:
            check()
        except BaseException:
            self._connection.close()
            raise

    def _address_to_read(self) -> str:
        """Address of a file that may not be written: SQLite then cannot make its usual files beside it."""
        log = Path(f"{self.path}-wal")
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"cannot open the store {self.path}: it is write-protected, and its last results are still in {log}; "
                "copy both to a folder that can be written"
            )
        return f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"

    def _prepare(self) -> None:
        """Check whose file it is, and create the tables if it is new."""
        run = self._connection.execute
        # Before anything is written, so that a foreign file stays unchanged.
        is_new = self._check_version() == 0
        self._keep_log()
        # A result that was reported as stored survives a power cut, too.
        run("PRAGMA synchronous = FULL")
        if is_new:
            self._make_tables()

    def _keep_log(self) -> None:
        """Write results to a log first. SQLite does not wait for others with this, so we do."""
        end = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(_PAUSE_SECONDS)

    def _make_tables(self) -> None:
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        try:
            # Another process may have been faster.
            if self._check_version() == 0:
                for statement in _SCHEMA:
                    run(statement)
                run(f"PRAGMA application_id = {_APPLICATION}")
                run(f"PRAGMA user_version = {SCHEMA_VERSION}")
            run("COMMIT")
        except BaseException:
            self._connection.rollback()
            raise

    def _check_version(self) -> int:
        # One statement, and so one moment: another process may be making the tables.
        application, version, n_tables = self._connection.execute(
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),"
            " (SELECT count(*) FROM sqlite_master)"
        ).fetchone()
        if application != _APPLICATION and (application, version, n_tables) != (0, 0, 0):
            raise StoreError(f"{self.path} is a database of another program, not a tanager store")
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.path} was written by a newer version of tanager (format {version}; this one knows format "
                f"{SCHEMA_VERSION}): upgrade tanager, or name another store"
            )
        return int(version)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __len__(self) -> int:
        return int(self._fetch("SELECT count(*) FROM results")[0][0])

    def __contains__(self, spec: RunSpec) -> bool:
        return bool(self._fetch("SELECT 1 FROM results WHERE key = ?", spec.key))

    def add(self, spec: RunSpec, result: Result) -> bool:
        """Store a result in one transaction. If the run already has one, keep that and return False."""
        with self._explained("write"):
            cursor = self._connection.execute(
                "INSERT OR IGNORE INTO results (key, spec, result) VALUES (?, ?, ?)",
                (spec.key, spec.to_json(), result.to_json()),
            )
            return cursor.rowcount == 1

    def add_all(self, records: Iterable[Record]) -> int:
        """Store many results in one transaction, and return how many are new; runs that have a result keep it."""
        rows = [(record.spec.key, record.spec.to_json(), record.result.to_json()) for record in records]
        n_before = len(self)
        with self._transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO results (key, spec, result) VALUES (?, ?, ?)", rows)
        return len(self) - n_before

    def get(self, spec: RunSpec) -> Result | None:
        """Result of a run, if it is stored."""
        rows = self._fetch("SELECT result FROM results WHERE key = ?", spec.key)
        return self._result(spec.key, rows[0][0]) if rows else None

    def missing(self, specs: Iterable[RunSpec]) -> list[RunSpec]:
        """Runs without a result, each once, in the order given."""
        done = {key for (key,) in self._fetch("SELECT key FROM results")}
        return list({spec.key: spec for spec in specs if spec.key not in done}.values())

    def records(self) -> list[Record]:
        """All runs of this spec version with their results, ordered by identity."""
        rows = self._fetch("SELECT key, spec, result FROM results ORDER BY key")
        return [
            Record(spec, self._result(key, result)) for key, text, result in rows for spec in self._specs(key, text)
        ]

    def request(self, specs: Iterable[RunSpec]) -> None:
        """Record requested runs, in one transaction."""
        rows = [(spec.key, spec.to_json()) for spec in specs]
        with self._transaction() as connection:
            connection.executemany("INSERT OR IGNORE INTO requests (key, spec) VALUES (?, ?)", rows)

    def outstanding(self) -> list[RunSpec]:
        """Requested runs that have no result yet, in the order in which they were requested."""
        rows = self._fetch(
            "SELECT key, spec FROM requests WHERE key NOT IN (SELECT key FROM results) ORDER BY requests.rowid"
        )
        return [spec for key, text in rows for spec in self._specs(key, text)]

    def _result(self, key: str, text: str) -> Result:
        """Read a stored result."""
        try:
            return Result.from_json(text)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise self._damaged(key, error) from error

    def _specs(self, key: str, text: str) -> list[RunSpec]:
        """The spec of a text, or nothing if it has another version and so cannot be compared with ours."""
        try:
            return [RunSpec.from_json(text)]
        except (json.JSONDecodeError, TypeError, AttributeError) as error:
            raise self._damaged(key, error) from error
        except ValueError:
            return []

    def _damaged(self, key: str, error: Exception) -> StoreError:
        return StoreError(
            f"the store {self.path} is damaged in the row with the key {key!r} ({type(error).__name__}: {error}); "
            "delete this row with sqlite3, and run again"
        )

    def _fetch(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._explained("read"):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Write everything or nothing."""
        with self._explained("write"):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.rollback()
                raise

    @contextmanager
    def _explained(self, verb: str) -> Iterator[None]:
        """Turn errors of the database and the disk into readable messages."""
        try:
            yield
        except sqlite3.Error as error:
            reason = _REASONS.get(getattr(error, "sqlite_errorname", ""), str(error))
            raise StoreError(f"cannot {verb} the store {self.path}: {reason}") from error
        except OSError as error:
            raise StoreError(f"cannot {verb} the store {self.path}: {error.strerror or error}") from error


_REASONS = {
    "SQLITE_FULL": "the disk is full; what was stored before is safe",
    "SQLITE_IOERR_WRITE": "the disk is full or failing; what was stored before is safe",
    "SQLITE_NOTADB": "it is not a database",
    "SQLITE_BUSY": "another process has kept it locked for a minute",
    "SQLITE_READONLY": "it is write-protected",
    "SQLITE_CANTOPEN": "there is no such folder, or access is denied",
}
