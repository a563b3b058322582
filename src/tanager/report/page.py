"""The report: one HTML page about a classifier that works anywhere, without a network connection.

This module fills in the escaped text. The data of the charts are embedded as JSON, and the scripts in ``assets`` draw
them with plotly.js, which is part of the page.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tanager._types import IntArray
from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.estimators.inputs import read_rows
from tanager.files import written_whole
from tanager.report import payload
from tanager.report.evaluation import Evaluation, evaluate
from tanager.report.feature_weights import class_information, mean_contributions
from tanager.report.summary import summarise

_SCRIPTS = ("theme", "tables", "network", "path", "charts", "main")

Classifier = TANClassifier | TANEnsembleClassifier


@dataclass(frozen=True)
class _Rows:
    """Rows that the report describes."""

    codes: IntArray  # unsigned int[N, D]
    probabilities: Any  # float64[N, C]
    evaluation: Evaluation | None


def write_report(
    clf: Classifier,
    path: Path | str,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    image_shape: tuple[int, int] | None = None,
) -> Path:
    """Write a page about a fitted classifier: its options, network, training and performance.

    Requires the extra ``tanager[report]``. The page is self-contained and includes plotly.js (about 4.8 MB).

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
        Fitted.
    path : str or Path
        HTML file to write; it appears only when it is complete.
    X : array-like or frame of shape (N, D), optional
        Rows to evaluate on, for instance held-out rows.
    y : array-like of shape (N,), optional
        Their classes; they add errors, the confusion matrix and calibration to the report.
    title : str, optional
    image_shape : (int, int), optional
        Rows and columns of the images whose pixels are the features; the network is then drawn on the pixel grid.
        Defaults to the shape that the structure has, as `tanager.learning.Nearest` does.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from tanager import GradientDescent
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("subset", GradientDescent(epochs=5), random_state=0).fit(X, y)
    >>> write_report(clf, Path(tempfile.mkdtemp()) / "iris.html", X, y, title="Iris").name
    'iris.html'
    """
    if not isinstance(clf, TANClassifier | TANEnsembleClassifier):
        raise TypeError(f"a report requires a TANClassifier or a TANEnsembleClassifier, got {type(clf).__name__}")
    check_is_fitted(clf)
    if y is not None and X is None:
        raise ValueError("y was given without X: give the rows too, or neither")
    image = payload.find_image_shape(clf, image_shape)
    plotly = _plotly_script()
    text = _render(clf, None if X is None else _read_rows(clf, X, y), title, image, plotly)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
    return Path(path)


def _read_rows(clf: Classifier, X: Any, y: Any) -> _Rows:
    probabilities = clf.predict_proba(X)
    codes = clf.encoder_.encode(read_rows(clf, X, reset=False))
    return _Rows(codes, probabilities, None if y is None else evaluate(probabilities, y, clf.classes_))


def _render(clf: Classifier, rows: _Rows | None, title: str | None, image: tuple[int, int] | None, plotly: str) -> str:
    data, sections = _contents(clf, rows, image)
    evaluation = None if rows is None else rows.evaluation
    words = summarise(clf, evaluation, data.get("weights"))
    heading = title or "Tanager report"
    return _fill(
        "page.html",
        title=html.escape(heading),
        subtitle=words.subtitle,
        cards=words.cards,
        details=words.details,
        sections="\n".join(_fill(f"{name}.html", **words.texts) for name in sections),
        links="\n".join(f'<a href="#{name}">{_LINKS[name]}</a>' for name in sections),
        footer=words.footer,
        style=_asset("report.css"),
        data=_as_script_data(data),
        plotly=plotly,
        script="\n".join(_asset(f"{name}.js") for name in _SCRIPTS),
    )


_LINKS = {
    "network": "Network",
    "members": "Network",
    "path": "Search",
    "history": "Training",
    "evaluation": "Predictions",
    "weights": "Features",
}


def _contents(clf: Classifier, rows: _Rows | None, image: tuple[int, int] | None) -> tuple[dict[str, Any], list[str]]:
    """The data of the charts, and the names of the sections that have content."""
    data: dict[str, Any] = {**payload.describe_features(clf), "image": None if image is None else list(image)}
    if isinstance(clf, TANEnsembleClassifier):
        data["path"] = payload.describe_members(clf)
        sections = ["members"]
    else:
        data["network"] = payload.describe_network(clf)
        data["path"] = payload.describe_path(clf)
        data["history"] = {name: column.tolist() for name, column in clf.history_.items()}
        sections = ["network", *(["path"] if data["path"] else []), *(["history"] if data["history"]["loss"] else [])]
    if rows is not None and image is not None:
        data["mean_image"] = payload.mean_image(rows.codes, clf.encoder_.cards)
    if rows is not None and rows.evaluation is not None:
        data["evaluation"] = payload.describe_evaluation(rows.evaluation)
        sections.append("evaluation")
    data["weights"] = _weigh(clf, rows)
    if data["weights"]:
        sections.append("weights")
    return data, sections


def _weigh(clf: Classifier, rows: _Rows | None) -> dict[str, Any] | None:
    """Weights of the features and their kind; None if they cannot be computed."""
    is_ensemble = isinstance(clf, TANEnsembleClassifier)
    networks = [member.network_ for member in clf.estimators_] if is_ensemble else [clf.network_]
    if len(clf.classes_) < 2:
        return None
    if rows is not None and not (is_ensemble and clf.combine == "probability"):
        is_complete = (rows.codes < clf.encoder_.cards).all(axis=1)
        if is_complete.any():
            weights = mean_contributions(networks, rows.codes[is_complete], rows.probabilities[is_complete])
            return {"kind": "contribution", "value": weights.round(5).tolist(), "n_rows": int(is_complete.sum())}
    if all(network.is_bayesian_network and not network.has_pairs for network in networks):
        mean = np.mean([class_information(network) for network in networks], axis=0)
        return {"kind": "information", "value": mean.round(5).tolist(), "n_rows": 0}
    return None


def _plotly_script() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError("the report needs plotly: pip install 'tanager[report]'") from error
    return str(get_plotlyjs())


def _as_script_data(data: dict[str, Any]) -> str:
    """JSON that is safe inside a script element: no text in it can close the element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _fill(name: str, **parts: str) -> str:
    """Fill a template in a single pass, so that braces in the parts are not replaced again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset(name))


def _asset(name: str) -> str:
    return (resources.files("tanager.report") / "assets" / name).read_text(encoding="utf-8")
