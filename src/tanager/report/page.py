"""The report: one HTML page about a classifier that works anywhere, without a network connection.

This module fills in the escaped text. The data of the charts are embedded as JSON, and the scripts in ``assets`` draw
them with plotly.js, which is part of the page.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from tanager.estimators import TANClassifier, TANEnsembleClassifier
from tanager.files import written_whole
from tanager.javascript import bundle, classifier_modules
from tanager.report.card import model_card
from tanager.report.comparison import Other
from tanager.report.contents import Contents, make_contents
from tanager.report.payload import find_image_shape
from tanager.report.rows import Classifier, ReportRows
from tanager.report.summary import describe_model

_SCRIPTS = (
    *("theme", "bars", "whatif", "tables", "network", "path", "features", "examples", "charts", "threshold"),
    *("printing", "main"),
)


def write_report(
    clf: Classifier,
    path: Path | str,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    training: tuple[Any, Any] | None = None,
    against: Classifier | None = None,
    against_name: str = "the other model",
    image_shape: tuple[int, int] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """Write a page about a fitted classifier: how good it is, its network, what its features say, single rows.

    Requires the extra ``tanager[report]``. The page is self-contained and includes plotly.js (about 4.8 MB).

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
        Fitted.
    path : str or Path
        HTML file to write; it appears only when it is complete.
    X : array-like or frame of shape (N, D), optional
        Rows to evaluate on; they should be held-out rows, and the page warns if they are training rows.
    y : array-like of shape (N,), optional
        Their classes; they add errors, baselines, the confusion matrix and calibration to the report.
    title : str, optional
    training : (X, y), optional
        The training rows. The baselines are then fitted to them; otherwise to parts of X and y.
    against : TANClassifier or TANEnsembleClassifier, optional
        A second classifier for the same columns, to be compared on the same rows.
    against_name : str
        What the page calls it.
    image_shape : (int, int), optional
        Rows and columns of the images whose pixels are the features; the network is then drawn on the pixel grid.
        Defaults to the shape that the structure has, as `tanager.learning.Nearest` does.
    metadata : mapping, optional
        What the model card says besides: "target", "source", "date" and "version" of the fit, as texts. The command
        line takes them from the model file.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from tanager import GradientDescent
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("subset", GradientDescent(epochs=5), random_state=0).fit(X[::2], y[::2])
    >>> write_report(clf, Path(tempfile.mkdtemp()) / "iris.html", X[1::2], y[1::2], title="Iris").name
    'iris.html'
    """
    for each in (clf, *([] if against is None else [against])):
        _check_classifier(each)
    if y is not None and X is None:
        raise ValueError("y was given without X: give the rows too, or neither")
    if against is not None and X is None:
        raise ValueError("a second classifier was given without rows to compare on: give X, and y if you have it")
    image = find_image_shape(clf, image_shape)
    plotly = _plotly_script()
    rows = None if X is None else ReportRows.read(clf, X, y)
    trained = None if training is None else ReportRows.read(clf, *training)
    other = None if against is None else Other(against, against_name, ReportRows.read(against, X, y))
    contents = make_contents(clf, rows, trained, other, image)
    evaluation, today = None if rows is None else rows.evaluation, datetime.now(UTC).date()
    contents.texts["card"] = model_card(clf, describe_model(clf), evaluation, metadata or {}, today)
    text = _render(clf, contents, title, plotly)
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="replace")
    return Path(path)


def _check_classifier(clf: Any) -> None:
    if not isinstance(clf, TANClassifier | TANEnsembleClassifier):
        raise TypeError(f"a report requires a TANClassifier or a TANEnsembleClassifier, got {type(clf).__name__}")
    check_is_fitted(clf)


def _render(clf: Classifier, contents: Contents, title: str | None, plotly: str) -> str:
    from tanager import __version__

    modules = [*classifier_modules(), *(_asset(f"{name}.js") for name in _SCRIPTS)]
    return _fill(
        "page.html",
        title=html.escape(title or "Tanager report"),
        subtitle=html.escape(describe_model(clf)),
        sections="\n".join(_fill(f"{name}.html", **contents.texts) for name in contents.sections),
        links="\n".join(f'<a href="#{name}">{_LINKS[name]}</a>' for name in contents.sections),
        footer=f"Written by Tanager {html.escape(__version__)}.",
        style=_asset("report.css"),
        data=_as_script_data(contents.data),
        plotly=plotly,
        script=bundle(modules),
    )


_LINKS = {
    "summary": "Summary",
    "whatif": "What if?",
    "network": "Network",
    "members": "Network",
    "features": "Features",
    "examples": "Rows",
    "evaluation": "Predictions",
    "threshold": "Threshold",
    "comparison": "Comparison",
    "quality": "Columns",
    "path": "Search",
    "history": "Training",
    "card": "Model card",
}


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
