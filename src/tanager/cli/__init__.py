"""The command line, ``tanager``; requires the extra ``tanager[cli]``."""

from __future__ import annotations

import signal
import sys
from typing import Any


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _terminate)
    # A terminal that closes hangs up; a command started with nohup goes on.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _terminate)
    try:
        from tanager.cli.app import app

        app()
    except ModuleNotFoundError as error:
        if error.name not in ("rich", "typer"):
            raise
        print(f"error: {error.name} is not installed: pip install 'tanager[cli]'", file=sys.stderr)
        raise SystemExit(1) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _terminate(signum: int, frame: Any) -> None:
    """Exit the way Ctrl-C does, so that partly written files are removed."""
    raise SystemExit(128 + signum)
