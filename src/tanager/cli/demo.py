"""``tanager demo``: naive Bayes, Chow-Liu and learned TANs side by side on scikit-learn's handwritten digits."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tanager.cli.console import PlainConsole
from tanager.cli.options import JobsOption
from tanager.estimators import TANClassifier
from tanager.learning import GradientDescent, Nearest
from tanager.losses import Hybrid
from tanager.pictures import save_structure

_SHAPE = (8, 8)
# Chosen on a third of the training rows. There are few rows, which takes more epochs than the default.
_PARAMETERS = GradientDescent(loss=Hybrid(gamma=10.0), epochs=200, learning_rate=0.03)


@dataclass(frozen=True)
class Outcome:
    """One line of the result."""

    name: str
    classifier: TANClassifier
    error: float
    seconds: float


def demo(
    picture: Annotated[Path, typer.Option(help="Image file for the learned structure.")] = Path("tanager-demo.png"),
    jobs: JobsOption = 1,
) -> None:
    """Compare naive Bayes, Chow-Liu and learned TANs on scikit-learn's handwritten digits.

    Example: tanager demo --picture structure.png
    """
    run_demo(picture, PlainConsole(), jobs)


def run_demo(picture: Path, console: Console, n_jobs: int = 1) -> list[Outcome]:
    """Fit the classifiers, print their errors, and draw the learned structure to ``picture``."""
    X, y = load_digits(return_X_y=True)
    parts = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    console.print(f"Handwritten digits: {len(parts[0])} training rows, {len(parts[1])} test rows, {X.shape[1]} pixels.")
    contenders = {
        "naive Bayes, maximum likelihood": TANClassifier("none", "ml"),
        "Chow-Liu tree, maximum likelihood": TANClassifier("chow-liu", "ml"),
        "learned TAN, defaults": TANClassifier(n_jobs=n_jobs, random_state=0),
        "learned TAN (8 nearest pixels, hybrid loss)": TANClassifier(
            Nearest(_SHAPE), _PARAMETERS, n_jobs=n_jobs, random_state=0, verbose=int(console.is_terminal)
        ),
    }
    outcomes = [_try(name, classifier, *parts) for name, classifier in contenders.items()]
    console.print(_table(outcomes))
    learned = outcomes[-1].classifier
    strength = learned.parent_probabilities_[np.arange(len(learned.parents_)), learned.parents_]
    title = "Learned parents of the pixels (arrows from parent to child)"
    mean_image = np.asarray(parts[0]).mean(axis=0).reshape(_SHAPE)
    save_structure(picture, learned.parents_, strength, title=title, image=mean_image)
    console.print(f"picture of the learned structure saved as {picture.resolve()}", soft_wrap=True)
    return outcomes


def _try(name: str, classifier: TANClassifier, X: Any, X_test: Any, y: Any, y_test: Any) -> Outcome:
    start = time.perf_counter()
    classifier.fit(X, y)
    seconds = time.perf_counter() - start
    return Outcome(name, classifier, 1.0 - classifier.score(X_test, y_test), seconds)


def _table(outcomes: list[Outcome]) -> Table:
    table = Table("classifier", title="Error on the test rows")
    for column in ("error", "extra parents", "fit, seconds"):
        table.add_column(column, justify="right")
    for outcome in outcomes:
        n_parents = int((outcome.classifier.parents_ >= 0).sum())
        table.add_row(outcome.name, f"{outcome.error:.2%}", str(n_parents), f"{outcome.seconds:.2f}")
    return table
