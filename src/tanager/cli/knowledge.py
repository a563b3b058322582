"""What the user knows beforehand, on the command line: weights, edges, directions, cut points, orders, time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from tanager._options import suggest
from tanager.cli.errors import InputError

_DIRECTIONS = {"up": 1, "down": -1}


@dataclass(frozen=True)
class Knowledge:
    """Options as they were typed.

    Attributes
    ----------
    class_weight : tuple of str
        "balanced", or CLASS=NUMBER.
    forbid, require : tuple of str
        PARENT:CHILD.
    monotone : tuple of str
        COLUMN:up or COLUMN:down.
    cuts : tuple of str
        COLUMN:NUMBER,NUMBER,...
    order : tuple of str
        COLUMN:VALUE,VALUE,...
    time_limit : float or None
    """

    class_weight: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    monotone: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    time_limit: float | None = None

    def set_options(self, classifier: Any) -> None:
        """Set what needs no data, and check it.

        >>> from tanager import TANClassifier
        >>> clf = TANClassifier()
        >>> Knowledge(forbid=("age:sex",), monotone=("income:up",), cuts=("age:18,65",)).set_options(clf)
        >>> clf.forbid, clf.monotonic_cst, clf.binning
        ([('age', 'sex')], {'income': 1}, {'age': [18, 65]})
        """
        options: dict[str, Any] = {}
        for name in ("forbid", "require"):
            edges = [_split(f"--{name}", text, "PARENT:CHILD") for text in getattr(self, name)]
            options |= {name: edges} if edges else {}
        if self.monotone:
            options["monotonic_cst"] = dict(map(_direction, self.monotone))
        if self.cuts:
            if classifier.binning != "auto":
                raise typer.BadParameter("--cuts and --set binning do not go together: give one of them")
            options["binning"] = dict(map(_cut_points, self.cuts))
        if self.time_limit is not None:
            options["time_limit"] = self.time_limit
        for text in self.order:
            _split("--order", text, "COLUMN:VALUE,VALUE,...")
        if not (self.class_weight in ((), ("balanced",)) or all("=" in text for text in self.class_weight)):
            raise typer.BadParameter("--class-weight must be balanced, or CLASS=NUMBER and repeated")
        try:
            classifier.set_params(**options)._check()
        except (TypeError, ValueError) as error:
            raise typer.BadParameter(str(error)) from error

    def set_values(self, classifier: Any, classes: Sequence[Any], numbers: Sequence[str]) -> None:
        """Set what depends on the data: its classes, and which columns hold numbers."""
        if self.class_weight == ("balanced",):
            classifier.set_params(class_weight="balanced")
        elif self.class_weight:
            classifier.set_params(class_weight=dict(_weight(text, classes) for text in self.class_weight))
        orders: dict[str, list[Any]] = {}
        for text in self.order:
            column, values = _split("--order", text, "COLUMN:VALUE,VALUE,...")
            words = [word.strip() for word in values.split(",")]
            try:
                orders[column] = [float(word) for word in words] if column in numbers else words
            except ValueError:
                raise InputError(f"--order: {column!r} holds numbers, got {text!r}") from None
        if orders:
            classifier.set_params(ordinal_features=orders)


def _split(option: str, text: str, form: str) -> tuple[str, str]:
    """Two parts around one colon."""
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != 2 or not all(parts):
        raise typer.BadParameter(f"{option} must have the form {form}, got {text!r}; a name with a colon needs --set")
    return parts[0], parts[1]


def _direction(text: str) -> tuple[str, int]:
    column, word = _split("--monotone", text, "COLUMN:up or COLUMN:down")
    if word not in _DIRECTIONS:
        raise typer.BadParameter(f"--monotone must end with :up or :down, got {text!r}")
    return column, _DIRECTIONS[word]


def _cut_points(text: str) -> tuple[str, list[float]]:
    column, numbers = _split("--cuts", text, "COLUMN:NUMBER,NUMBER,...")
    try:
        return column, json.loads(f"[{numbers}]")
    except json.JSONDecodeError:
        raise typer.BadParameter(f"--cuts must be numbers after the colon, got {text!r}") from None


def _weight(text: str, classes: Sequence[Any]) -> tuple[Any, float]:
    name, _, number = text.rpartition("=")
    labels = {str(label): label for label in classes}
    if name not in labels:
        raise InputError(f"--class-weight: the target has no class {name!r}; {suggest(name, labels)}")
    try:
        return labels[name], float(number)
    except ValueError:
        raise InputError(f"--class-weight must be CLASS=NUMBER, got {text!r}") from None
