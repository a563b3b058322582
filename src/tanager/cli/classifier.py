"""From the options of ``tanager fit`` to a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer

from tanager._options import suggest
from tanager.cli.settings import apply_settings, parse_settings
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.learning import (
    AUTO,
    PARAMETERS,
    STRUCTURES,
    DisjointTrees,
    Free,
    IndependentSearches,
    Nearest,
    as_parameters,
    as_structure,
)

NEAREST, LEARNED = "nearest", "learned"
STRUCTURE_WORDS = (AUTO, LEARNED, *STRUCTURES, NEAREST)
PARAMETER_WORDS = (AUTO, *PARAMETERS)

# Words that earlier versions took for a structure.
_RENAMED_STRUCTURES = {
    "tree": "chow-liu --set structure.score=SCORE",
    "greedy-conditional": "greedy",
    "greedy-margin": "greedy --set structure.score=margin",
    "greedy-left-out": "greedy --set structure.score=margin --set structure.leave_one_out=true",
    "annealed-margin": "annealed",
}


@dataclass(frozen=True)
class ClassifierOptions:
    """What to learn.

    Attributes
    ----------
    structure, parameters : str
        One of `STRUCTURE_WORDS` and of `PARAMETER_WORDS`.
    epochs : int or None
        Short for the setting ``parameters.epochs``, and implies "gradient".
    n_members : int or None
        Number of members of an ensemble; None is a single classifier.
    settings : tuple of str
        Further options as NAME=VALUE.
    seed, n_jobs : int
    """

    structure: str = AUTO
    parameters: str = AUTO
    epochs: int | None = None
    n_members: int | None = None
    settings: tuple[str, ...] = ()
    seed: int = 0
    n_jobs: int = 1


def make_classifier(options: ClassifierOptions) -> TANClassifier | TANEnsembleClassifier:
    """Make a classifier with these options, all of them checked.

    Raises
    ------
    typer.BadParameter
        If an option is wrong, with a suggestion.
    """
    _check_words(options)
    settings = parse_settings(options.settings)
    parameters = _add_epochs(options, settings)
    structure = _make_structure(options, settings)
    rest: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.n_jobs}
    classifier: TANClassifier | TANEnsembleClassifier
    if options.n_members is None:
        classifier = TANClassifier(structure, parameters, **rest)
    elif options.structure == AUTO:
        classifier = TANEnsembleClassifier(DisjointTrees(options.n_members), parameters, **rest)
    else:
        classifier = TANEnsembleClassifier(IndependentSearches(structure, options.n_members), parameters, **rest)
    apply_settings(classifier, settings)
    _check_together(structure, classifier)
    return classifier


def is_counted(classifier: Any) -> bool:
    """Whether the parameters are counted in closed form, so that there is no training to watch."""
    parameters = classifier.parameters
    return parameters != AUTO and as_parameters(parameters).needs_fixed


def _check_words(options: ClassifierOptions) -> None:
    structure, parameters = options.structure, options.parameters
    if structure in _RENAMED_STRUCTURES:
        raise typer.BadParameter(f"--structure {structure} is now --structure {_RENAMED_STRUCTURES[structure]}")
    if structure not in STRUCTURE_WORDS:
        raise typer.BadParameter(f"unknown structure {structure!r}; {suggest(structure, STRUCTURE_WORDS)}")
    if parameters not in PARAMETER_WORDS:
        raise typer.BadParameter(f"unknown parameters {parameters!r}; {suggest(parameters, PARAMETER_WORDS)}")


def _add_epochs(options: ClassifierOptions, settings: dict[str, Any]) -> str:
    """Add ``--epochs`` to the settings; returns the parameters, which it makes "gradient" if they are open."""
    if options.epochs is None:
        return options.parameters
    if options.parameters not in (AUTO, "gradient"):
        raise typer.BadParameter(f"--epochs requires --parameters gradient, got --parameters {options.parameters}")
    if "parameters.epochs" in settings:
        raise typer.BadParameter("--epochs and --set parameters.epochs are the same option; give one of them")
    settings["parameters.epochs"] = options.epochs
    return "gradient"


def _make_structure(options: ClassifierOptions, settings: dict[str, Any]) -> Any:
    """The structure as a word, or as a value where the word alone does not say enough."""
    if options.structure == LEARNED:
        return Free(candidates="mixed")
    if options.structure != NEAREST:
        return options.structure
    name = "structure.image_shape" if options.n_members is None else "members.structure.image_shape"
    if name not in settings:
        raise typer.BadParameter(f"--structure nearest requires the image shape: --set {name}=[ROWS,COLUMNS]")
    try:
        return Nearest(settings[name])
    except ValueError as error:
        raise typer.BadParameter(f"--set {name}: {error}") from error


def _check_together(structure: Any, classifier: Any) -> None:
    """Refuse values that are wrong, or that do not go together, before any file is read."""
    if structure != AUTO and is_counted(classifier) and not as_structure(structure).is_fixed:
        fixed = [word for word, make in STRUCTURES.items() if make().is_fixed]
        raise typer.BadParameter(
            f"--parameters ml requires a structure that is fixed before the parameters are learned: "
            f"--structure {', '.join(fixed[:-1])} or {fixed[-1]}"
        )
    try:
        classifier._check()
    except (TypeError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
