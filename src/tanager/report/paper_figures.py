"""The figures of the paper, drawn from stored results (sections 4.3 to 4.5).

Each point is a configuration: its test error over log10 of lambda. Lines are lower convex hulls of points of one
colour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tanager.datasets import CATALOGUE
from tanager.experiments.methods import TABLE_METHODS, applies
from tanager.experiments.selection import Point, points_on_test
from tanager.experiments.store import Record
from tanager.pictures.drawing import COLOURS, import_matplotlib, save_figure

# This fraction of the points, from badly chosen hyperparameters, lies above the upper limit of the axis.
_CUT_OFF = 0.1


@dataclass(frozen=True)
class Series:
    """Points of one colour, or of one colour and one kind of marker."""

    label: str
    points: Sequence[Point]
    colour: str
    is_hollow: bool = False


@dataclass(frozen=True)
class PaperFigure:
    """One panel of a figure of the paper."""

    name: str
    title: str
    series: Sequence[Series]


def paper_figures(records: Sequence[Record]) -> list[PaperFigure]:
    """All panels that have points.

    The paper compares methods on its four data sets, orderings and K of TAN Heuristic on mnist, orderings of TAN Subset
    on satimage, and its parent subsets on letter. digits has all of these panels.
    """
    drawn = [
        *(_compare(records, dataset) for dataset in CATALOGUE),
        *(_heuristic_by(records, dataset, "ordering") for dataset in ("mnist", "digits")),
        *(_heuristic_by(records, dataset, "max_parents") for dataset in ("mnist", "digits")),
        *(_orderings(records, dataset) for dataset in ("satimage", "digits")),
        *(_parent_subsets(records, dataset) for dataset in ("letter", "digits")),
    ]
    return [figure for figure in drawn if figure.series]


def save_paper_figures(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw all figures as SVG and PNG; requires the extra ``tanager[plots]``."""
    return [path for figure in paper_figures(records) for path in _save(figure, folder)]


def _compare(records: Sequence[Record], dataset: str) -> PaperFigure:
    series = []
    methods = [method for method in TABLE_METHODS if method.has_margin]
    for method, colour in zip(methods, COLOURS, strict=False):
        if applies(method.name, CATALOGUE[dataset]):
            points = points_on_test(records, dataset, method.name)
            series.append(Series(method.title, points, colour))
    return PaperFigure(f"compare-{dataset}", dataset, _with_points(series))


def _heuristic_by(records: Sequence[Record], dataset: str, choice: str) -> PaperFigure:
    points = points_on_test(records, dataset, "heuristic")
    word = {"ordering": "ordering {}", "max_parents": "K = {}"}[choice]
    series = _by(points, lambda point: getattr(point.spec, choice), word.format)
    name = {"ordering": "heuristic-orderings", "max_parents": "heuristic-sizes"}[choice]
    return PaperFigure(f"{name}-{dataset}", f"{dataset}, TAN Heuristic", series)


def _orderings(records: Sequence[Record], dataset: str) -> PaperFigure:
    points = [point for point in points_on_test(records, dataset, "subset") if point.spec.max_parents == 8]
    series = _by(points, lambda point: point.spec.ordering, "ordering {}".format)
    return PaperFigure(f"orderings-{dataset}", f"{dataset}, TAN Subset, K = 8", series)


def _parent_subsets(records: Sequence[Record], dataset: str) -> PaperFigure:
    """Draws as colours and K as markers, for the ordering with the most runs; the paper does not say which it used."""
    points = [point for point in points_on_test(records, dataset, "subset") if point.spec.max_parents in (2, 8)]
    if not points:
        return PaperFigure("", "", [])
    counts = Counter(int(point.spec.ordering or 0) for point in points)
    ordering = min(counts, key=lambda number: (-counts[number], number))
    points = [point for point in points if point.spec.ordering == ordering]
    series = [
        Series(f"{part.label}, K = {size}", part.points, part.colour, is_hollow=size == 2)
        for size in (2, 8)
        for part in _by(
            [point for point in points if point.spec.max_parents == size],
            lambda point: point.spec.draw,
            "subset {}".format,
        )
    ]
    return PaperFigure(f"parent-subsets-{dataset}", f"{dataset}, TAN Subset, ordering {ordering}", series)


def _by(points: Iterable[Point], key: Callable[[Point], Any], label: Callable[[Any], str]) -> list[Series]:
    """Points grouped by a choice in which they differ."""
    groups: dict[Any, list[Point]] = {}
    for point in points:
        groups.setdefault(key(point), []).append(point)
    return [
        Series(label(value), groups[value], _colour(value, number))
        for number, value in enumerate(sorted(groups, key=str))
    ]


def _colour(value: Any, number: int) -> str:
    """A fixed colour for each number, so that it is the same in all series; otherwise one by rank."""
    return COLOURS[(value if isinstance(value, int) else number) % len(COLOURS)]


def _with_points(series: Iterable[Series]) -> list[Series]:
    return [part for part in series if part.points]


def _save(figure: PaperFigure, folder: Path) -> list[Path]:
    canvas = import_matplotlib("figure").Figure(figsize=(5.2, 3.9))
    ax = canvas.subplots()
    for part in figure.series:
        x = np.log10([point.spec.lam or np.nan for point in part.points])
        y = np.array([point.error for point in part.points])
        face = "none" if part.is_hollow else part.colour
        ax.scatter(x, y, s=10, alpha=0.6, facecolors=face, edgecolors=part.colour, linewidths=0.7)
        ax.plot(*lower_hull(x, y), color=part.colour, lw=1.4, ls="--" if part.is_hollow else "-", label=part.label)
    _limit_errors(ax, np.concatenate([[point.error for point in part.points] for part in figure.series]))
    ax.set(title=figure.title, xlabel=r"$\log_{10} \lambda$", ylabel="test error [%]")
    ax.legend(fontsize="x-small", frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return save_figure(canvas, folder, figure.name)


def _limit_errors(ax: Any, errors: np.ndarray) -> None:
    low, high = float(errors.min()), float(np.quantile(errors, 1 - _CUT_OFF))
    margin = 0.05 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + margin)
    n_above = int((errors > high + margin).sum())
    if n_above:
        ax.annotate(f"{n_above} above", (1, 1), xycoords="axes fraction", ha="right", va="bottom", fontsize="x-small")


def lower_hull(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners of the lower convex hull, from left to right.

    Parameters
    ----------
    x, y : array-like of shape (N,)

    Returns
    -------
    x, y : float64 arrays of shape (M,)

    Examples
    --------
    >>> lower_hull([0, 1, 2, 3], [2, 0, 1.5, 2])
    (array([0., 1., 3.]), array([2., 0., 2.]))
    """
    points = np.column_stack([np.asarray(x, np.float64), np.asarray(y, np.float64)])
    order = np.lexsort((points[:, 1], points[:, 0]))
    corners: list[NDArray[np.float64]] = []
    for point in points[order]:
        if corners and corners[-1][0] == point[0]:
            continue  # straight above the corner before it
        while len(corners) > 1 and _turns_down(corners[-2], corners[-1], point):
            corners.pop()
        corners.append(point)
    hull = np.array(corners).reshape(-1, 2)
    return hull[:, 0], hull[:, 1]


def _turns_down(a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64]) -> bool:
    """Whether b lies on or above the line from a to c."""
    return bool((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) <= 0)
