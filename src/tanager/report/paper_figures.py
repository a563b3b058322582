"""The figures of the paper, drawn from stored results (sections 4.3 to 4.5).

Each point is an experiment, with the better of its learning rates: its test error over log10 of lambda. Lines are
lower convex hulls of points of one colour. Series differ in colour, marker and line, so that they are told apart in
black and white, too.
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
from tanager.experiments.selection import PAPER_ERRORS, Point, Results
from tanager.pictures.drawing import COLOURS, import_matplotlib, save_figure

# This fraction of the points, from badly chosen hyperparameters, lies above the upper limit of the axis.
_CUT_OFF = 0.1
# The hull of fewer points says where they happen to lie, not what is possible.
_FEWEST_FOR_HULL = 4
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_LINES: tuple[Any, ...] = ("-", (0, (6, 1.5)), (0, (4, 1, 1, 1)), "-", (0, (2, 1)), (0, (6, 1, 1, 1, 1, 1)))


@dataclass(frozen=True)
class Series:
    """Points of one colour, or of one colour and one kind of marker.

    Attributes
    ----------
    label : str
    points : sequence of Point
    style : int
        Number of the colour, the marker and the line.
    is_hollow : bool
        Whether markers are outlines.
    paper : float or None
        The paper's lowest error, for an arrow at the right edge.
    """

    label: str
    points: Sequence[Point]
    style: int
    is_hollow: bool = False
    paper: float | None = None

    @property
    def log_lam(self) -> NDArray[np.float64]:
        """log10 of lambda of each point."""
        return np.log10([point.spec.lam or np.nan for point in self.points])

    @property
    def errors(self) -> NDArray[np.float64]:
        """Test error in per cent of each point."""
        return np.array([point.error for point in self.points])


@dataclass(frozen=True)
class PaperFigure:
    """One panel of a figure of the paper.

    Attributes
    ----------
    kind : str
        What is compared: "compare", "heuristic-orderings", "heuristic-sizes", "orderings" or "parent-subsets".
    dataset, title : str
    series : sequence of Series
    """

    kind: str
    dataset: str
    title: str
    series: Sequence[Series]

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.kind}-{self.dataset}"


def paper_figures(results: Results) -> list[PaperFigure]:
    """All panels that have points.

    The paper compares methods on its four data sets, orderings and K of TAN Heuristic on mnist, orderings of TAN Subset
    on satimage, and its parent subsets on letter. digits has all of these panels.
    """
    drawn = [
        *(_compare(results, dataset) for dataset in CATALOGUE),
        *(_heuristic_by(results, dataset, "ordering") for dataset in ("mnist", "digits")),
        *(_heuristic_by(results, dataset, "max_parents") for dataset in ("mnist", "digits")),
        *(_orderings(results, dataset) for dataset in ("satimage", "digits")),
        *(_parent_subsets(results, dataset) for dataset in ("letter", "digits")),
    ]
    return [figure for figure in drawn if figure.series]


def save_paper_figures(results: Results, folder: Path) -> list[Path]:
    """Draw all figures as SVG and PNG; requires the extra ``tanager[plots]``."""
    return [path for figure in paper_figures(results) for path in _save(figure, folder)]


def _compare(results: Results, dataset: str) -> PaperFigure:
    series = []
    methods = [method for method in TABLE_METHODS if method.has_margin]
    for style, method in enumerate(methods):
        if applies(method.name, CATALOGUE[dataset]):
            points = results.points(dataset, method.name)
            series.append(Series(method.title, points, style, paper=PAPER_ERRORS.get((dataset, method.name))))
    return PaperFigure("compare", dataset, dataset, [part for part in series if part.points])


def _heuristic_by(results: Results, dataset: str, choice: str) -> PaperFigure:
    points = results.points(dataset, "heuristic")
    kind, word = {
        "ordering": ("heuristic-orderings", "ordering {}"),
        "max_parents": ("heuristic-sizes", "K = {}"),
    }[choice]
    series = _by(points, lambda point: getattr(point.spec, choice), word.format)
    return PaperFigure(kind, dataset, f"{dataset}, TAN Heuristic", series)


def _orderings(results: Results, dataset: str) -> PaperFigure:
    points = [point for point in results.points(dataset, "subset") if point.spec.max_parents == 8]
    series = _by(points, lambda point: point.spec.ordering, "ordering {}".format)
    return PaperFigure("orderings", dataset, f"{dataset}, TAN Subset, K = 8", series)


def _parent_subsets(results: Results, dataset: str) -> PaperFigure:
    """Draws as colours and K as markers, for the ordering with the most runs; the paper does not say which it used."""
    points = [point for point in results.points(dataset, "subset") if point.spec.max_parents in (2, 8)]
    if not points:
        return PaperFigure("parent-subsets", dataset, "", [])
    counts = Counter(int(point.spec.ordering or 0) for point in points)
    ordering = min(counts, key=lambda number: (-counts[number], number))
    points = [point for point in points if point.spec.ordering == ordering]
    series = [
        Series(f"{part.label}, K = {size}", part.points, part.style, is_hollow=size == 2)
        for size in (2, 8)
        for part in _by(
            [point for point in points if point.spec.max_parents == size],
            lambda point: point.spec.draw,
            "subset {}".format,
        )
    ]
    return PaperFigure("parent-subsets", dataset, f"{dataset}, TAN Subset, ordering {ordering}", series)


def _by(points: Iterable[Point], key: Callable[[Point], Any], label: Callable[[Any], str]) -> list[Series]:
    """Points grouped by a choice in which they differ."""
    groups: dict[Any, list[Point]] = {}
    for point in points:
        groups.setdefault(key(point), []).append(point)
    # A fixed style for each number, so that it is the same in all series; otherwise one by rank.
    is_small = all(isinstance(value, int) and value < len(COLOURS) for value in groups)
    return [
        Series(label(value), groups[value], value if is_small else number)
        for number, value in enumerate(sorted(groups, key=str))
    ]


def _save(figure: PaperFigure, folder: Path) -> list[Path]:
    canvas = import_matplotlib("figure").Figure(figsize=(5.2, 4.0))
    ax = canvas.subplots()
    for part in figure.series:
        _draw(ax, part)
    _limit_errors(ax, np.concatenate([part.errors for part in figure.series]))
    _mark_paper(ax, figure.series)
    # The ranges that lambda was drawn from in settings (I) and (II).
    ax.set_xlim(-0.05 if figure.kind == "compare" else 0.95, 3.05)
    ax.set(title=figure.title, xlabel=r"$\log_{10} \lambda$", ylabel="test error [%]")
    # Below the axes, where it hides no points.
    n_columns = 2 if len(figure.series) in (2, 4) or figure.kind == "parent-subsets" else 3
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15)}
    ax.legend(**place, ncols=n_columns, fontsize="x-small", frameon=False, handlelength=3)
    ax.grid(axis="y", color="0.9", lw=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return save_figure(canvas, folder, figure.name)


def _draw(ax: Any, part: Series) -> None:
    colour, marker = COLOURS[part.style % len(COLOURS)], _MARKERS[part.style % len(_MARKERS)]
    line = (0, (1, 1)) if part.is_hollow else _LINES[part.style % len(_LINES)]
    face = "none" if part.is_hollow else colour
    many = len(part.points) > 100
    ax.scatter(
        part.log_lam,
        part.errors,
        s=7 if many else 14,
        alpha=0.45 if many else 0.7,
        marker=marker,
        facecolors=face,
        edgecolors=colour,
        linewidths=0.6,
    )
    x, y = lower_hull(part.log_lam, part.errors)
    lowest = int(y.argmin())
    label = f"{part.label}: {y[lowest]:.2f} ({len(part.points):,})"
    style = {"color": colour, "marker": marker, "ms": 5, "mfc": face, "label": label, "lw": 1.6}
    if len(part.points) < _FEWEST_FOR_HULL:
        ax.plot(x[lowest], y[lowest], ls="none", **style)
    else:
        # The marker in the legend is that of the points; on the line it stands at the lowest error only.
        ax.plot(x, y, ls=line, markevery=[lowest], **style)


def _limit_errors(ax: Any, errors: NDArray[np.float64]) -> None:
    low, high = float(errors.min()), float(np.quantile(errors, 1 - _CUT_OFF))
    margin = 0.05 * (high - low) or 1.0
    ax.set_ylim(low - margin, high + margin)
    n_above = int((errors > high + margin).sum())
    if n_above:
        ax.annotate(f"{n_above} above", (1, 1), xycoords="axes fraction", ha="right", va="bottom", fontsize="x-small")


def _mark_paper(ax: Any, series: Sequence[Series]) -> None:
    """Arrows at the right edge, at the paper's lowest errors."""
    marked = [part for part in series if part.paper is not None]
    if not marked:
        return
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, min(part.paper or high for part in marked) - 0.03 * (high - low)), high)
    for part in marked:
        ax.plot(
            [1.0],
            [part.paper],
            transform=ax.get_yaxis_transform(),
            marker="<",
            ms=6,
            color=COLOURS[part.style % len(COLOURS)],
            clip_on=False,
            ls="none",
        )
    ax.annotate("◂ paper", (1, 0), xycoords="axes fraction", ha="right", va="bottom", fontsize="x-small")


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
