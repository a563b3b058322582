"""Errors and warnings of all commands: one line on stderr, and an exit code that fits.

Exit codes: 0 done, 1 error, 2 wrong usage, 130 interrupted. ``--debug`` shows the traceback.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

FAILED, INTERRUPTED = 1, 130

# The extra of the package that installs each optional module.
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
# Problems with the input or the machine; the message calls anything else a bug.
_EXPECTED = (OSError, ValueError, TypeError, ImportError, MemoryError, RuntimeError)


class InputError(ValueError):
    """A file or an option is wrong; the message says how, and what to do."""


@contextmanager
def one_line_errors(is_debug: bool = False) -> Iterator[None]:
    """Turn exceptions into one line on stderr and an exit code, and warnings into notes that are shown once."""
    told: set[str] = set()

    def show(message: Any, *_: Any) -> None:
        note = f"note: {' '.join(str(message).split())}"
        if note not in told:
            told.add(note)
            _tell(note)

    try:
        with warnings.catch_warnings():
            if not is_debug:
                warnings.showwarning = show  # type: ignore[assignment]
            yield
    except KeyboardInterrupt:
        # A terminal may show a progress bar, which keeps its line.
        _tell(("\n" if sys.stderr.isatty() else "") + "interrupted: nothing was written")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # the reader of the output is gone; typer exits quietly
    except Exception as error:
        # Typer's own exceptions carry an exit code, and typer prints them.
        if is_debug or hasattr(error, "exit_code") or isinstance(error, typer.Abort):
            raise
        _tell(f"error: {describe(error)}")
        raise typer.Exit(FAILED) from error


def describe(error: BaseException) -> str:
    """The message of an error in one line.

    >>> describe(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'a.csv: No such file or directory'
    >>> describe(ModuleNotFoundError("No module named 'plotly'", name="plotly"))
    "plotly is not installed: pip install 'tanager[report]'"
    """
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in _EXTRAS:
        module = str(error.name).partition(".")[0]
        return f"{module} is not installed: pip install 'tanager[{_EXTRAS[module]}]'"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return text or "out of memory"
    if isinstance(error, _EXPECTED) and text:
        return text
    return f"{type(error).__name__}: {text} (a bug in tanager; tanager --debug COMMAND ... shows where)"


def visible(text: str) -> str:
    r"""Text in which characters that would act on a terminal are shown as Python writes them.

    >>> visible("a\x1b[2Jb\u202e")
    'a\\x1b[2Jb\\u202e'
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _tell(message: str) -> None:
    print("\n".join(map(visible, message.split("\n"))), file=sys.stderr, flush=True)
