"""The command ``tanager`` and its subcommands; each is imported when it is called, so that help appears at once."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import tanager
from tanager.cli.errors import one_line_errors

# Each subcommand is the function of its name in the module of its name; the text is the first line of its docstring.
COMMANDS = {
    "demo": "Compare naive Bayes, Chow-Liu and learned TANs on scikit-learn's handwritten digits.",
    "fit": "Learn a classifier from a data file, test it, and save it.",
    "predict": "Predict the class of each row of a data file of any length.",
    "inspect": "Show what a model contains.",
    "report": "Write an HTML page about a model: one file that works offline.",
    "export": "Write a model for another program or for a microcontroller.",
    "bench": "Time fitting and predicting on this machine, next to scikit-learn.",
    "reproduce": "Run the paper's experiments, or report on earlier runs.",
}


class CommandGroup(TyperGroup):
    """Subcommands that are imported when they are called, and whose errors take one line."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Find the command that is called, and import it."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else _load(name), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with one_line_errors(is_debug=ctx.params["debug"]):
            return super().invoke(ctx)


def _load(name: str) -> Any:
    """Import the command of this name."""
    single = typer.Typer(add_completion=False)
    single.command(name)(getattr(import_module(f"tanager.cli.{name}"), name))
    return typer.main.get_command(single)


app = typer.Typer(
    cls=CommandGroup,
    name="tanager",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"tanager {tanager.__version__}, compiled core of level {import_module('tanager.core').level}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="TANAGER_DEBUG", help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Bayesian network classifiers whose structure is learned by gradient descent.

    From a data file to predictions in two commands:

    tanager fit data.csv --target class --out model.tanager

    tanager predict model.tanager new.csv --out predicted.csv
    """
