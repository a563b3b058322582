"""The command line, ``tanager``; needs the extra ``tanager[cli]``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from tanager.cli.app import app
    except ImportError as error:
        print(f"tanager: {error.name} is missing: pip install 'tanager[cli,plots]'", file=sys.stderr)
        raise SystemExit(1) from error
    app()
