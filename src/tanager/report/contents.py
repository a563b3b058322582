"""What goes into a report: the data of its charts, its texts, and which sections it has."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tanager.estimators import TANEnsembleClassifier
from tanager.estimators.findings import Edge
from tanager.report import payload, summary
from tanager.report.baselines import evaluate_baselines
from tanager.report.comparison import Other, compare
from tanager.report.evaluation import Evaluation, trace_threshold
from tanager.report.markup import MISSING, details, measured_table, number, percent
from tanager.report.measures import are_trained_on, measure_table, measures_text, warning
from tanager.report.quality import inspect_columns
from tanager.report.rows import Classifier, ReportRows

_MOST_CONFUSIONS = 50


@dataclass
class Contents:
    """What goes into the page: data of the charts, texts by name, and names of sections, which are templates."""

    data: dict[str, Any]
    texts: dict[str, str] = field(default_factory=dict)
    sections: list[str] = field(default_factory=list)


def make_contents(
    clf: Classifier,
    rows: ReportRows | None,
    trained: ReportRows | None,
    other: Other | None,
    image: tuple[int, int] | None,
) -> Contents:
    """Fill in everything that is known."""
    contents = Contents({**payload.describe_features(clf), "image": None if image is None else list(image)})
    _add_summary(contents, clf, rows, trained, other)
    _add_prediction(contents, clf, rows)
    search = _add_structure(contents, clf, rows)
    _add_features(contents, clf)
    if rows is not None:
        _add_rows(contents, clf, rows, image)
    if rows is not None and other is not None:
        text, tables = compare(clf, rows, other)
        contents.texts |= {"comparison_text": html.escape(text), "comparison": tables}
        contents.sections.append("comparison")
    if rows is not None:
        _add_quality(contents, clf, rows)
    contents.sections += [*search, "card"]
    contents.texts["details"] = "\n".join(
        f"<tr><th scope='row'>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in summary.list_options(clf)
    )
    return contents


def _add_summary(
    contents: Contents, clf: Classifier, rows: ReportRows | None, trained: ReportRows | None, other: Other | None
) -> None:
    evaluation = None if rows is None else rows.evaluation
    share = None if rows is None else rows.share_trained_on(clf)
    if are_trained_on(share):
        trained = None  # baselines must not be judged by rows that they were fitted to
    baselines = None if rows is None else evaluate_baselines(clf, rows, trained)
    contents.texts |= {
        "warning": warning(share, 0 if evaluation is None else evaluation.n_unknown),
        "measures_text": measures_text(clf, evaluation, baselines),
        "measures": measure_table(clf, evaluation, baselines, other),
        "cards": summary.size_cards(clf),
    }
    contents.sections.append("summary")


def _add_prediction(contents: Contents, clf: Classifier, rows: ReportRows | None) -> None:
    """What predicting in the page takes, unless it would make the page too large."""
    contents.data["classifier"] = payload.describe_prediction(clf)
    contents.texts["size_text"] = ""
    if contents.data["classifier"] is None:
        contents.texts["size_text"] = (
            "The model is too large for the what-if panel and for explanations of single rows."
        )
    else:
        contents.texts["start_text"] = "" if rows is None else "The panel starts with one of the rows, taken at random."
        contents.sections.append("whatif")


def _add_structure(contents: Contents, clf: Classifier, rows: ReportRows | None) -> list[str]:
    """The network or the networks of the members; returns the sections about how they were found."""
    edges = _edges(clf, rows)
    contents.texts |= {"edges": _edge_table(clf, edges), "edges_text": summary.edges_text(edges)}
    contents.texts |= {"network_text": summary.network_text(clf), "members_text": summary.members_text(clf)}
    data = contents.data
    if isinstance(clf, TANEnsembleClassifier):
        data["path"] = payload.describe_members(clf)
        contents.sections.append("members")
        return []
    data["network"] = payload.describe_network(clf, edges)
    data["path"] = payload.describe_path(clf)
    data["history"] = {name: column.tolist() for name, column in clf.history_.items()}
    contents.sections.append("network")
    return [*(["path"] if data["path"] else []), *(["history"] if data["history"]["loss"] else [])]


def _edges(clf: Classifier, rows: ReportRows | None) -> list[Edge]:
    """What the edges add on rows that the fit held out, or if it held out none, on the rows of the report."""
    edges = clf.edges_
    is_averaged = isinstance(clf, TANEnsembleClassifier) and clf.combine == "probability"
    if not edges or not np.isnan(edges[0].gain) or rows is None or rows.truth is None or is_averaged:
        return edges
    if (rows.truth < 0).any() or are_trained_on(rows.share_trained_on(clf)):
        return edges
    return clf.edge_gains(rows.X, clf.classes_[rows.truth])


def _add_features(contents: Contents, clf: Classifier) -> None:
    """Importance of the features, and the frequencies of their values."""
    contents.data["frequencies"] = payload.describe_frequencies(clf.description_)
    contents.data["importance"] = clf.feature_importances_.round(6).tolist()
    contents.sections.append("features")


def _add_rows(contents: Contents, clf: Classifier, rows: ReportRows, image: tuple[int, int] | None) -> None:
    """Single rows, and the charts of how well all of them were predicted."""
    data = contents.data
    if image is not None:
        data["mean_image"] = payload.mean_image(rows.codes, clf.encoder_.cards)
    if data["classifier"] is not None:
        data["examples"] = payload.describe_examples(clf, rows)
        contents.texts["examples_text"] = summary.examples_text(rows.n_rows, data["classifier"]["combine"])
        contents.sections.append("examples")
    if rows.evaluation is None:
        return
    data["evaluation"] = payload.describe_evaluation(rows.evaluation)
    contents.texts |= {"evaluation_text": summary.evaluation_text(rows.evaluation), "classes": "", "confusions": ""}
    contents.sections.append("evaluation")
    n_classes = len(clf.classes_)
    if n_classes == 2 and rows.truth is not None and len(set(rows.truth.tolist()) - {-1}) == 2:
        curves = [trace_threshold(rows.probabilities[:, c], rows.truth == c) for c in range(2)]
        data["threshold"] = payload.describe_threshold(curves)
        contents.sections.append("threshold")
    elif n_classes > 2:
        contents.texts["classes"] = _class_table(data["classes"], rows.evaluation)
        contents.texts["confusions"] = _confusion_table(data["classes"], rows.evaluation)


def _edge_table(clf: Classifier, edges: Sequence[Edge]) -> str:
    """All edges, those that add most first; of an ensemble with the share of the members that have them."""
    if not edges:
        return ""
    members = getattr(clf, "estimators_", [clf])
    counts = Counter((edge.child, edge.parent) for member in members for edge in member.edges_)
    ordered = sorted(edges, key=lambda edge: (-edge.gain if edge.gain == edge.gain else 0.0, -edge.information))
    lines = [
        [
            f"{edge.parent} → {edge.child}",
            *([percent(counts[edge.child, edge.parent] / len(members), 0)] if len(members) > 1 else []),
            _gain_text(edge),
            "yes" if edge.adds else MISSING,
            number(edge.information, 4),
        ]
        for edge in ordered
    ]
    share = ["Members"] if len(members) > 1 else []
    heads = ["Edge", *share, "Lowers the log-loss by", "Beyond chance", "Tells about the data"]
    return details("Table of all edges", measured_table(heads, lines))


def _gain_text(edge: Edge) -> str:
    if edge.gain != edge.gain:
        return MISSING
    return f"{number(edge.gain, 4)}\n± {number(edge.standard_error, 4)}"


def _class_table(names: list[str], evaluation: Evaluation) -> str:
    found = evaluation.of_classes()
    lines = [
        [
            name,
            f"{int(found['rows'][c]):,}",
            *(percent(float(found[key][c])) for key in ("precision", "recall")),
            number(float(found["f1"][c])),
            number(float(evaluation.areas[c])),
        ]
        for c, name in enumerate(names)
    ]
    return measured_table(["Class", "Rows", "Precision", "Recall", "F1", "Area under ROC"], lines)


def _confusion_table(names: list[str], evaluation: Evaluation) -> str:
    """Pairs of classes that were taken for each other, the most frequent first."""
    wrong = evaluation.confusion - np.diag(np.diag(evaluation.confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_CONFUSIONS]
    pairs = [divmod(place, len(names)) for place in order.tolist()]
    lines = [[f"{names[t]} taken for {names[p]}", f"{wrong[t, p]:,}"] for t, p in pairs if wrong[t, p]]
    return details("Most frequent confusions", measured_table(["Classes", "Rows"], lines)) if lines else ""


def _add_quality(contents: Contents, clf: Classifier, rows: ReportRows) -> None:
    """What is worth a look in the columns, and a table of all of them."""
    columns = inspect_columns(clf, rows)
    lines = [
        [
            contents.data["features"][i],
            f"{column.n_values:,}",
            percent(column.missing),
            percent(column.unknown),
            percent(float("nan") if column.told is None else column.told),
            "; ".join(column.findings),
        ]
        for i, column in enumerate(columns)
    ]
    heads = ["Column", "Distinct values", "Missing", "Unseen in training", "Tells of the class", "Worth a look"]
    found = [line for line in lines if line[-1]]
    looks = "none is" if not found else f"{len(found):,} {'is' if len(found) == 1 else 'are'}"
    every = details("Table of all columns", measured_table(heads[:-1], (line[:-1] for line in lines)))
    contents.texts |= {
        "quality_text": (
            f"Of {len(columns):,} columns, {looks} worth a look. What a column tells of the class is the share of the "
            "uncertainty about the class that it takes away on its own, on these rows."
        ),
        "quality": (measured_table(heads, found, ends_in_text=True) if found else "") + every,
    }
    contents.sections.append("quality")
