"""``--set NAME=VALUE``: options by dotted names, such as ``parameters.loss.gamma=2``.

Names are looked up level by level before anything is set. An error lists the options of the level at which a name goes
wrong, or says which other choice has that option.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import typer

from tanager._options import Options, suggest
from tanager.estimators import TANEnsembleClassifier
from tanager.learning import AUTO, PARAMETERS, STRUCTURES, Nearest
from tanager.losses import LOSSES

# Options of the estimators that have a place of their own on the command line.
_OWN_OPTIONS = {
    "structure": "--structure WORD",
    "parameters": "--parameters WORD",
    "members": "--ensemble N, with or without --structure WORD",
    "members.n_members": "--ensemble N",
    "members.structure": "--structure WORD",
    "n_members": "--ensemble N",
    "categorical_features": "--categorical COLUMN",
    "random_state": "--seed N",
    "n_jobs": "--jobs N",
    "verbose": "--quiet",
    "choose": "--structure WORD and --parameters WORD, which leave nothing to choose",
}
# Options that earlier versions had under another name.
_RENAMED = {
    "base_ridge": "parameters.start.ridge",
    "screening": "structure.candidates.score",
    "free": "structure.forest",
}
_ENSEMBLE_ONLY = ("members", "training", "companion", "combine")


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE, where VALUE is JSON or a word.

    >>> parse_settings(["parameters.loss.gamma=2.5", "binning=quantile", "structure.image_shape=[8, 8]"])
    {'parameters.loss.gamma': 2.5, 'binning': 'quantile', 'structure.image_shape': (8, 8)}
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise _refusal(text, "must have the form NAME=VALUE")
        try:
            parsed = json.loads(value)
        except json.JSONDecodeError:
            parsed = value
        settings[name.strip()] = tuple(parsed) if isinstance(parsed, list) else parsed
    return settings


def check_names(settings: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse settings whose names are not in a flat list of options."""
    names = list(known)
    for name in settings:
        if name not in names:
            raise _refusal(name, f"unknown option; {suggest(name, names)}" if names else "there are no options to set")


def apply_settings(classifier: Any, settings: Mapping[str, Any]) -> None:
    """Set options of a classifier by their dotted names; wrong names and values are refused."""
    for name in settings:
        _check_outer(classifier, name)
        _check_inner(classifier, name, settings)
    try:
        classifier.set_params(**{name.replace(".", "__"): value for name, value in settings.items()})
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(f"--set: {error}") from error


def _check_outer(classifier: Any, name: str) -> None:
    """Refuse names whose first part is not an option of the classifier to be set here."""
    outer, known = name.partition(".")[0], list(classifier.get_params(deep=False))
    is_ensemble = isinstance(classifier, TANEnsembleClassifier)
    if name in _OWN_OPTIONS:
        raise _refusal(name, f"use {_OWN_OPTIONS[name]} instead")
    if outer in _ENSEMBLE_ONLY and not is_ensemble:
        raise _refusal(name, "requires --ensemble N")
    if outer == "structure" and is_ensemble:
        raise _refusal(name, f"use members.{name} with --ensemble")
    if outer in known:
        return
    homes = _homes("members.structure" if is_ensemble else "structure")
    if name in homes:
        raise _refusal(name, f"the name is now {homes[name]}{_choice_for(classifier, homes[name])}")
    plain = [option for option in known if option not in _OWN_OPTIONS]
    names = {option: option for option in plain} | homes
    close = [names[option] for option in get_close_matches(name, names)]
    levels = [f"{option}.*" for option in known if option in ("members", "structure", "parameters")]
    hint = f"did you mean {_listed([repr(each) for each in close])}?" if close else suggest(name, [*levels, *plain])
    raise _refusal(name, f"unknown option; {hint}")


def _check_inner(classifier: Any, name: str, settings: Mapping[str, Any]) -> None:
    """Follow a dotted name down from the classifier; refuse a part that its level does not have."""
    parts, path = name.split("."), ""
    owner: Any = classifier
    words: Mapping[str, Any] = {}
    for part in parts:
        known = owner.get_params(deep=False) if isinstance(owner, Options) or owner is classifier else {}
        if part not in known:
            raise _refusal(name, _missing(part, path, owner, list(known), words))
        path = f"{path}.{part}".lstrip(".")
        words = owner.short_names.get(part, {})
        owner = settings.get(path, known[part])
        if isinstance(owner, str) and owner in words:
            owner = words[owner]()


def _missing(part: str, path: str, owner: Any, known: list[str], words: Mapping[str, Any]) -> str:
    """What to say where the value at ``path`` has no option ``part``; ``words`` are the other choices for it."""
    is_value = isinstance(owner, Options)
    message = f"{path} is {type(owner).__name__ if is_value else owner}, which has no option {part!r}"
    if get_close_matches(part, known):
        return f"{message}; {suggest(part, known)}"
    if (path, part) == ("members", "structure"):
        return f"{message}; use --structure WORD too"
    choices = _structure_options() if path == "structure" else _options_of(words)
    having = _having(choices, part) or ([] if is_value else list(choices))
    if having:
        prefix = f"--{path} " if path in ("structure", "parameters") else f"--set {path}="
        return f"{message}; {'use' if is_value else 'add'} {prefix}{_listed(having)}"
    return f"{message}; {suggest(part, known)}" if known else message


def _homes(structure: str) -> dict[str, str]:
    """The dotted name of each option of a structure, of parameters or of a loss, and of those that were renamed."""
    places = (
        (structure, _structure_options()),
        ("parameters", _options_of(PARAMETERS)),
        ("parameters.loss", _options_of(LOSSES)),
    )
    found = {
        option: f"{place}.{option}" for place, choices in places for options in choices.values() for option in options
    }
    renamed = {old: new.replace("structure", structure) if "structure" in new else new for old, new in _RENAMED.items()}
    return found | renamed


def _choice_for(classifier: Any, home: str) -> str:
    """How to make the choice that an option of this dotted name belongs to, if it is open."""
    level, option = home.removeprefix("members.").split(".")[:2]
    owner = classifier.members if home.startswith("members.") else classifier
    if getattr(owner, level, AUTO) != AUTO:
        return ""
    choices = _structure_options() if level == "structure" else _options_of(PARAMETERS)
    return f", which requires --{level} {_listed(_having(choices, option))}"


def _having(choices: Mapping[str, Sequence[str]], option: str) -> list[str]:
    """The words for values that have an option."""
    return [word for word, options in choices.items() if option in options]


def _options_of(words: Mapping[str, Any]) -> dict[str, list[str]]:
    """The options of the value that each word stands for."""
    return {word: list(make().get_params(deep=False)) for word, make in words.items()}


def _structure_options() -> dict[str, list[str]]:
    """The options of each structure, with `Nearest`, for which only the command line has a word."""
    return {**_options_of(STRUCTURES), "nearest": list(Nearest((1, 1)).get_params(deep=False))}


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _refusal(name: str, reason: str) -> typer.BadParameter:
    """The error for a setting; it ends the command with exit code 2."""
    return typer.BadParameter(f"--set {name}: {reason}")
