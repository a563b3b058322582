"""What goes wrong is told in one line, for all commands in one place, with the exit code that fits.

Exit codes: 0 done, 1 error, 2 wrong usage, 130 interrupted. A traceback is shown only when it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer

FAILED, INTERRUPTED = 1, 130

# Extra of the package that brings an optional module.
_EXTRAS = {
    "matplotlib": "plots",
    "networkx": "exports",
    "onnx": "exports",
    "pgmpy": "exports",
    "plotly": "report",
    "pyagrum": "exports",
    "pyarrow": "cli",
    "rich": "cli",
    "typer": "cli",
}
# Faults of the input and of the machine; anything else is a fault of the program, and is said to be one.
_EXPECTED = (OSError, ValueError, TypeError, ImportError, MemoryError, RuntimeError)


class InputError(ValueError):
    """Something is wrong with a file or an option; the message says what, and what to do."""


@contextmanager
def told_in_one_line(is_debug: bool = False) -> Iterator[None]:
    """Turn exceptions into a line on stderr and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        # On a line of its own where a terminal shows progress.
        tell(("\n" if sys.stderr.isatty() else "") + "interrupted: nothing was written")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # whoever read the output has left; typer ends quietly then
    except Exception as error:
        # Typer's own exceptions carry an exit code, and it shows them itself.
        if is_debug or hasattr(error, "exit_code") or isinstance(error, typer.Abort):
            raise
        tell(f"error: {describe(error)}")
        raise typer.Exit(FAILED) from error


def tell(message: str) -> None:
    """Print one line to stderr."""
    print(message, file=sys.stderr, flush=True)


def describe(error: BaseException) -> str:
    """The message of an error in one line.

    >>> describe(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'a.csv: No such file or directory'
    >>> describe(ModuleNotFoundError("No module named 'plotly'", name="plotly"))
    "plotly is missing: pip install 'tanager[report]'"
    """
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _EXTRAS:
        module = str(error.name).partition(".")[0]
        return f"{module} is missing: pip install 'tanager[{_EXTRAS[module]}]'"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return text or "there is not enough memory"
    if isinstance(error, _EXPECTED) and text:
        return text
    return f"{type(error).__name__}: {text} (a fault of tanager; tanager --debug shows where)"


def suggest(name: str, known: list[str]) -> str:
    """Close names to try instead of a wrong one, and otherwise the known ones.

    >>> suggest("incom", ["age", "income"])
    "did you mean 'income'?"
    >>> suggest("z", ["age", "income"])
    "there are 'age', 'income'"
    """
    close = get_close_matches(name, known, n=3, cutoff=0.6)
    if not close:
        lower = {other.lower(): other for other in known}
        close = [lower[name.lower()]] if name.lower() in lower else []
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    shown = ", ".join(map(repr, known[:20]))
    return f"there are {shown}" + (f" and {len(known) - 20} more" if len(known) > 20 else "")


def check_names(wanted: list[str], known: list[str], where: Any) -> None:
    """Refuse names of columns that a table does not have."""
    for name in wanted:
        if name not in known:
            raise InputError(f"{where} has no column {name!r}; {suggest(name, known)}")
