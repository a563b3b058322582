"""What each figure of the paper shows here, as a sentence with numbers, and whether the paper's statement holds.

One series is compared with another experiment by experiment: each of its points with the point, or the points, of the
other series that have the nearest lambda and gamma. The share of points that have the lower error answers whether one
method beats the other over a wide range of settings, not only at its best. Shares within two standard errors of one
half decide nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kruskal

from tanager.experiments.grids import best_published
from tanager.experiments.selection import Point
from tanager.report.paper_figures import PaperFigure, Series, lower_hull

_SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Comparison:
    """One series against another.

    Attributes
    ----------
    share : float
        Fraction of the first one's points that have the lower error than the nearest of the other; ties count half.
    n : int
        Number of its points.
    hull : float or None
        Fraction of the common range of log lambda in which the first one's lower hull is the lower one; None if they
        have no range in common.
    """

    share: float
    n: int
    hull: float | None

    @property
    def is_better(self) -> bool | None:
        """Whether the first one is better; None if that is within two standard errors of chance."""
        margin = 2 * 0.5 / self.n**0.5
        return None if abs(self.share - 0.5) <= margin else self.share > 0.5


def compare(first: Series, other: Series) -> Comparison:
    """Compare two series."""
    distances = np.linalg.norm(_margins(first)[:, None, :] - _margins(other)[None, :, :], axis=2)
    is_nearest = distances <= distances.min(axis=1, keepdims=True) + 1e-9
    difference = other.errors[None, :] - first.errors[:, None]
    wins = (difference > 0) + 0.5 * (difference == 0)
    shares = (wins * is_nearest).sum(axis=1) / is_nearest.sum(axis=1)
    return Comparison(float(shares.mean()), len(first.points), _hull_share(first, other))


def describe(figure: PaperFigure) -> str:
    """A sentence or two on what a figure shows, or nothing if it has too few series to compare.

    The authors' best configurations do not count, because they were selected by their errors.
    """
    series = [replace(part, points=_not_selected(part)) for part in figure.series]
    return _DESCRIPTIONS[figure.kind](replace(figure, series=[part for part in series if part.points]))


def _not_selected(series: Series) -> list[Point]:
    cells = {(point.spec.dataset, point.spec.method) for point in series.points}
    best = {spec.experiment for cell in cells for spec in best_published(*cell)}
    return [point for point in series.points if point.spec.experiment not in best]


def _margins(series: Series) -> NDArray[np.float64]:
    return np.log10([(point.spec.lam or 1.0, point.spec.gamma or 1.0) for point in series.points])


def _hull_share(first: Series, other: Series) -> float | None:
    low = max(first.log_lam.min(), other.log_lam.min())
    high = min(first.log_lam.max(), other.log_lam.max())
    if low >= high:
        return None
    at = np.linspace(low, high, 201)
    lines = [np.interp(at, *lower_hull(series.log_lam, series.errors)) for series in (first, other)]
    return float((lines[0] < lines[1]).mean())


def _methods(figure: PaperFigure) -> str:
    series = _labelled(figure)
    if "TAN Subset" not in series:
        return ""
    parts = []
    against: list[str] = [name for name in ("NB", "TAN Random", "Chow-Liu", "TAN All") if name in series]
    comparisons = {name: compare(series["TAN Subset"], series[name]) for name in against}
    if comparisons:
        parts.append(f"TAN Subset has the lower error {_list(comparisons)}.")
    claimed = [comparisons[name] for name in ("TAN Random", "Chow-Liu") if name in comparisons]
    parts.append(
        _verdict("that TAN Subset outperforms TAN Random and Chow-Liu on a wide range of settings", claimed, 2)
    )
    if "TAN Heuristic" in series:
        heuristic = compare(series["TAN Heuristic"], series["TAN Subset"])
        parts.append(f"TAN Heuristic has the lower error {_list({'TAN Subset': heuristic})}.")
        if figure.dataset == "mnist":
            parts.append(_verdict("that the heuristic structures improve on it", [heuristic], 1))
    return " ".join(parts)


def _steps(claim: str, labels: Sequence[str], n_claimed: int) -> Callable[[PaperFigure], str]:
    """Each series, in this order, against the one before it; the paper claims the first steps."""

    def text(figure: PaperFigure) -> str:
        series = _labelled(figure)
        parts, claimed = [], []
        for number, (earlier, later) in enumerate(itertools.pairwise(labels)):
            if earlier in series and later in series:
                result = compare(series[later], series[earlier])
                parts.append(f"{_capitalised(later)} has the lower error {_list({earlier: result})}.")
                claimed += [result] if number < n_claimed else []
        return " ".join([*parts, _verdict(claim, claimed, n_claimed)])

    return text


def _orderings(figure: PaperFigure) -> str:
    if not figure.series:
        return ""
    test = _differ("that some orderings clearly outperform others", figure.series)
    return f"{_capitalised(_spread(figure.series))} {test}"


def _parent_subsets(figure: PaperFigure) -> str:
    sizes = {size: [part for part in figure.series if part.is_hollow == (size == 2)] for size in (2, 8)}
    if not (sizes[2] and sizes[8]):
        return ""
    small, large = (Series("", [point for part in sizes[size] for point in part.points], 0) for size in (2, 8))
    result = compare(large, small)
    parts = [
        f"K = 8 has the lower error {_list({'K = 2': result})}.",
        _verdict("that the larger K clearly outperforms the smaller", [result], 1),
        *(f"With K = {size}: {_spread(sizes[size])}" for size in (2, 8)),
        _differ("that some parent subsets clearly outperform others", sizes[2], " for K = 2"),
    ]
    return " ".join(parts)


_DESCRIPTIONS: dict[str, Callable[[PaperFigure], str]] = {
    "compare": _methods,
    "heuristic-orderings": _steps(
        "that ordering C slightly outperforms B, and B outperforms A", [f"ordering {name}" for name in "ABC"], 2
    ),
    "heuristic-sizes": _steps("that a larger K is better, up to 5", [f"K = {k}" for k in (1, 2, 5, 8)], 2),
    "orderings": _orderings,
    "parent-subsets": _parent_subsets,
}


def _labelled(figure: PaperFigure) -> dict[str, Series]:
    return {part.label: part for part in figure.series}


def _list(comparisons: Mapping[str, Comparison]) -> str:
    """The shares against several others, in words."""
    return ", ".join(f"than {name} {_shares(result)}" for name, result in comparisons.items())


def _shares(result: Comparison) -> str:
    text = f"in {result.share:.0%} of {result.n:,} experiments"
    return text if result.hull is None else f"{text} and the lower hull on {result.hull:.0%} of the range"


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _verdict(claim: str, found: Sequence[Comparison], n_wanted: int) -> str:
    """Whether a statement of the paper holds here."""
    answers = [result.is_better for result in found]
    if len(answers) < n_wanted or (None in answers and False not in answers):
        return f"The paper's statement, {claim}, cannot be decided with these runs."
    return f"The paper's statement, {claim}, {'holds' if all(answers) else 'does not hold'} here."


def _spread(series: Sequence[Series]) -> str:
    medians = {part.label: float(np.median(part.errors)) for part in series}
    low, high = min(medians, key=medians.__getitem__), max(medians, key=medians.__getitem__)
    return f"the median error is lowest for {low} ({medians[low]:.2f}) and highest for {high} ({medians[high]:.2f})."


def _differ(claim: str, series: Sequence[Series], where: str = "") -> str:
    """A test of whether the errors of several series differ at all."""
    groups = [part.errors for part in series if len(part.points) > 1]
    if len(groups) < 2 or np.ptp(np.concatenate(groups)) == 0:
        return _verdict(claim, [], 1)
    p = float(kruskal(*groups).pvalue)
    answer = "holds" if p < _SIGNIFICANT else "cannot be decided with these runs"
    return f"The paper's statement, {claim}, {answer}{where} (p = {p:.2g} in the test of Kruskal and Wallis)."
