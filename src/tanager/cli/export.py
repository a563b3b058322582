"""``tanager export``: write a model for another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tanager._options import suggest
from tanager.cli.console import PlainConsole
from tanager.cli.model_rows import load_model
from tanager.cli.options import QuietOption, check_output
from tanager.cli.settings import check_names, parse_settings
from tanager.data.cleaning import AS_IS, LEFT_OUT
from tanager.exports import FORMATS
from tanager.exports import export as write_export

_LIST = "; ".join(f"{name} ({form.description})" for name, form in FORMATS.items())


def export(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    out: Annotated[Path, typer.Option(help="File to write.", show_default=False)],
    to: Annotated[str | None, typer.Option(help=f"{_LIST}. Defaults to the ending of --out.")] = None,
    bits: Annotated[int | None, typer.Option(min=1, help="Bits per parameter in C code.", show_default=False)] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Set any other option of the format. Repeatable."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Write a model for another program or for a microcontroller.

    Examples:

    tanager export adult.tanager --to onnx --out adult.onnx

    tanager export adult.tanager --to c --bits 8 --out adult.h

    tanager export adult.tanager --out adult.bif
    """
    if to is not None and to not in FORMATS:
        raise typer.BadParameter(f"unknown format {to!r}; {suggest(to, FORMATS)}")
    check_output(out, model)
    loaded = load_model(model)
    if to is None:
        from tanager.exports import format_of

        to = format_of(out)
    known = FORMATS[to].options()
    options = parse_settings(setting or [])
    check_names(options, known)
    if bits is not None:
        if "bits" not in known:
            raise typer.BadParameter(f"--bits requires --to c, got {to}")
        options["bits"] = bits
    if loaded.target is not None and "target" in known:
        options.setdefault("target", loaded.target)
    write_export(loaded.classifier, out, to, **options)
    console = PlainConsole(stderr=True, quiet=quiet)
    read = ", ".join(f"{plan.name} ({plan.kind})" for plan in loaded.plans if plan.kind not in (AS_IS, LEFT_OUT))
    if read:
        note = f"note: {to} takes columns as fitting read them, not as they were written in the file: {read}"
        console.say(note)
    console.say(f"saved as {out}")
