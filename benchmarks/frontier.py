"""The frontier of docs/frontier.md: error over surprise from the network that describes to the one that classifies.

    python -m benchmarks.frontier [--data FOLDER] [--figures FOLDER]

Prints, for each data set, the test error and the surprise (-log p(x, c) of test rows, in nats a feature) of a default
fit by its dial, and of the network that classifies alone, beside a Chow-Liu tree that is counted on the same bins; and
draws them. The rows that are tested were not trained on.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from benchmarks.meaning import counted_tree
from tanager import TANClassifier
from tanager.pictures.drawing import import_matplotlib, save_figure


def data_sets(folder: Path | None) -> dict[str, tuple[Any, ...]]:
    """Training and test rows by name; letter only where its file is."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    rows, tested, of_rows, of_tested = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=0)
    found: dict[str, tuple[Any, ...]] = {"breast_cancer": (rows, of_rows, tested, of_tested)}
    if folder is not None:
        with np.load(folder / "letter_paper.npz") as file:
            found["letter"] = tuple(file[f"{part}_1"] for part in ("X_train", "y_train", "X_test", "y_test"))
    return found


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TANAGER_DATA"))
    parser.add_argument("--figures", type=Path, default=Path("docs/figures"))
    options = parser.parse_args()
    sets = data_sets(None if options.data is None else Path(options.data))
    figure, axes = import_matplotlib("pyplot").subplots(
        1, len(sets), figsize=(5.2 * len(sets), 4.0), layout="constrained", squeeze=False
    )
    for ax, (name, (X, y, X_test, y_test)) in zip(axes[0], sets.items(), strict=True):
        clf = TANClassifier(random_state=0).fit(X, y)
        tree = counted_tree(clf, X, y).frontier(X_test, y_test, dials=(0,))[0]
        print(f"\n{name}: preset {clf.choice_['preset']!r}\n\n| | error, % | log-loss | surprise |\n|---|---|---|---|")
        for point in clf.frontier(X_test, y_test):
            label = point.name if np.isnan(point.dial) else f"dial {point.dial:g}"
            print(f"| {label} | {100 * point.error:.2f} | {point.log_loss:.3f} | {point.surprise:.3f} |")
        print(f"| Chow-Liu, counted | {100 * tree.error:.2f} | {tree.log_loss:.3f} | {tree.surprise:.3f} |")
        clf.plot_frontier(X_test, y_test, ax=ax)
        ax.scatter([tree.surprise], [100 * tree.error], marker="s", color="0.3", label="Chow-Liu tree, counted")
        ax.set_title(name)
        ax.legend(frameon=False, fontsize="small")
    save_figure(figure, options.figures, "frontier")


if __name__ == "__main__":
    main()
