"""A progress line on the terminal, small enough not to need another dependency."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from tanager.training.state import TrainState

_WIDTH = 10


class _Line:
    """A line of a terminal that is written again and again, and never longer than the terminal is wide."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream, self._n_shown = stream or sys.stderr, 0

    def write(self, text: str, *, is_last: bool) -> None:
        """Write over what was there; the last one ends the line."""
        shown = text[: shutil.get_terminal_size().columns - 1]
        self._stream.write(f"\r{shown.ljust(self._n_shown)}" + ("\n" if is_last else ""))
        self._stream.flush()
        self._n_shown = len(shown)


class ProgressBar:
    """Called with the state after each epoch; rewrites one line with loss, error, entropy and time left."""

    def __init__(self, n_epochs: int, stream: TextIO | None = None) -> None:
        self._n_epochs = n_epochs
        self._line = _Line(stream)
        self._start: tuple[float, int] | None = None
        self._last = 0.0

    def __call__(self, state: TrainState) -> None:
        now = time.perf_counter()
        if self._start is None:
            self._start = (now, state.epoch)  # the first epoch, which finds nothing in the caches, tells little
        is_last = state.epoch == self._n_epochs
        if now - self._last < 0.1 and not is_last:
            return
        self._last = now
        since, first = self._start
        n_timed = state.epoch - first
        left = f"{(now - since) / n_timed * (self._n_epochs - state.epoch):.0f}" if n_timed else "?"
        done = _WIDTH * state.epoch // self._n_epochs
        history = state.history
        self._line.write(
            f"epoch {state.epoch}/{self._n_epochs} [{'#' * done}{'.' * (_WIDTH - done)}] "
            f"loss {history.loss[-1]:.4g}  error {history.error[-1]:.2%}  entropy {history.entropy[-1]:.3f}  "
            f"{left} s left",
            is_last=is_last,
        )


class RowProgress:
    """Rewrites one line with the rows that are done, of how many if that is known, and the time left."""

    def __init__(self, what: str, n_rows: int | None, stream: TextIO | None = None) -> None:
        self._what, self._n_rows, self._line = what, n_rows, _Line(stream)
        self._start = self._last = time.perf_counter()
        self._n_done = 0

    def __call__(self, n_rows: int) -> None:
        """So many more rows are done."""
        self._n_done += n_rows
        now = time.perf_counter()
        is_last = self._n_done == self._n_rows
        if now - self._last < 0.1 and not is_last:
            return
        self._last = now
        of_all = "" if self._n_rows is None else f" of {self._n_rows:,}"
        rate = self._n_done / max(now - self._start, 1e-9)
        left = "" if self._n_rows is None else f", {(self._n_rows - self._n_done) / max(rate, 1e-9):.0f} s left"
        self._line.write(f"{self._what}: {self._n_done:,}{of_all} rows{left}", is_last=is_last)
