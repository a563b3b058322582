"""Commands of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import tanager
from tanager.cli.demo import run_demo
from tanager.cli.reproduce import reproduce

app = typer.Typer(
    name="tanager",
    help="Bayesian network classifiers whose structure is learned by gradient descent.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"tanager {tanager.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Bayesian network classifiers whose structure is learned by gradient descent."""


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Where the learned structure is drawn.")] = Path("tanager-demo.png"),
    n_jobs: Annotated[int, typer.Option(help="Number of threads; -1 for all.")] = 1,
) -> None:
    """Compare naive Bayes, Chow-Liu and the learned TAN on scikit-learn's handwritten digits.

    Example: tanager demo --picture structure.png
    """
    run_demo(picture, Console(), n_jobs)


app.command()(reproduce)
