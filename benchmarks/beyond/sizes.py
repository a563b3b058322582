"""Error over model size: one free tree with a growing price on parameters (``size_penalty``), and its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.beyond.comparison import N_FOLDS, Line
from benchmarks.beyond.methods import METHODS
from benchmarks.beyond.trials import Outcome, finished_trial, run_trial
from tanager.pictures.drawing import COLOURS, import_matplotlib, save_figure

PRICES = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0)
N_SEEDS = 3
FIGURE = "beyond-sizes"

_METHOD = "free-sized"
_COLOURS = dict(zip(("one network", "several networks"), COLOURS, strict=False))


class Point(NamedTuple):
    """One point of the curve: means over seeds and folds, and the standard error over seeds."""

    size_penalty: float
    n_parameters: float
    error: float
    standard_error: float


def size_curve(dataset: str, *, only_finished: bool = False) -> list[Point]:
    """Parameters and test error for each price. Nothing is selected, so that test rows may be used."""
    (options,) = METHODS[_METHOD].grid(dataset)
    run = finished_trial if only_finished else run_trial
    points = []
    for price in PRICES:
        priced = options | {"parameters__size_penalty": price}
        outcomes: list[list[Outcome]] = [
            [run(dataset, fold, _METHOD, priced, seed, "test") for fold in range(1, N_FOLDS.get(dataset, 1) + 1)]
            for seed in range(N_SEEDS)
        ]
        errors = [np.mean([outcome.error for outcome in of_seed]) for of_seed in outcomes]
        sizes = [outcome.n_parameters for of_seed in outcomes for outcome in of_seed]
        spread = float(np.std(errors, ddof=1) / np.sqrt(N_SEEDS))
        points.append(Point(price, float(np.mean(sizes)), float(np.mean(errors)), spread))
    return points


def curve_table(curves: Mapping[str, Sequence[Point]]) -> str:
    """The curves as one printed table."""
    names = list(curves)
    cells = " | ".join(f"{name}: parameters | error" for name in names)
    rows = [f"| `size_penalty` | {cells} |", f"|---:|{'---:|---:|' * len(names)}"]
    for k, price in enumerate(PRICES):
        points = [curves[name][k] for name in names]
        cells = " | ".join(f"{at.n_parameters:,.0f} | {at.error:.2f} ± {at.standard_error:.2f}" for at in points)
        rows.append(f"| {price:g} | {cells} |")
    return "\n".join(rows)


def draw_sizes(curves: Mapping[str, Sequence[Point]], lines: Mapping[str, Sequence[Line]], folder: Path) -> list[Path]:
    """Draw the curves, and the methods of the printed tables as points beside them."""
    plt = import_matplotlib("pyplot")
    figure, axes = plt.subplots(1, len(curves), figsize=(3.2 * len(curves), 3.2), layout="constrained", squeeze=False)
    for axis, (dataset, points) in zip(axes[0], curves.items(), strict=True):
        for group, colour in _COLOURS.items():
            of_group = [line for line in lines.get(dataset, ()) if METHODS[line.method].group == group]
            sizes, errors = [line.n_parameters for line in of_group], [line.mean for line in of_group]
            axis.plot(sizes, errors, "o", markersize=4, color=colour, label=f"methods of the tables: {group}")
        sizes, errors = [at.n_parameters for at in points], [at.error for at in points]
        axis.plot(sizes, errors, "k.-", linewidth=1, label="one free tree, growing size_penalty")
        axis.set(xscale="log", yscale="log", title=dataset, xlabel="parameters")
        axis.yaxis.set_major_formatter(import_matplotlib("ticker").FormatStrFormatter("%g"))
        axis.yaxis.set_minor_formatter(import_matplotlib("ticker").FormatStrFormatter("%g"))
        axis.tick_params(axis="y", which="both", labelsize=7)
    axes[0, 0].set_ylabel("test error, %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    paths = save_figure(figure, folder, FIGURE, formats=("svg",))
    plt.close(figure)
    return paths
