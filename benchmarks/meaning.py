"""What a default fit shows of the data, held against rows that it was not trained on, over all data sets.

    python -m benchmarks.meaning [data set ...] [--page FILE] [--no-page]

For each data set of docs/comparison.md: how probable test rows are in the network that describes the data, beside a
Chow-Liu tree that is counted on the same bins with 1 added to each cell; whether the probabilities that it shows are
those of the test rows, by chi-square; and how far the classes of a row of unknowns are from those of the data. Writes
docs/description.md. Set TANAGER_DATA to the folder of the data sets.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2
from sklearn.base import clone

from benchmarks.page import DOCS
from benchmarks.rivals.data import TABLES, is_there, load_splits
from tanager import Counts, TANClassifier
from tanager.data import as_frame
from tanager.files.writing import written_whole
from tanager.learning import PRESETS

FEWEST_EXPECTED = 8.0  # rows in a cell; rarer ones are put together
DRAWN, N_DRAWN = ("letter", "adult"), 10_000
CHAINED = ("letter",)  # few values in each column, so that a classifier can predict them
SLOW = ("mnist", "kddcup99")  # minutes each; they are measured if they are named

_HEADS = (
    *("data set", "rows", "surprise, description", "surprise, Chow-Liu", "ratio", "tree"),
    *("tables shown", "chi-square, p", "classes of unknowns, standard errors"),
)
_HEADS_OF_DRAWN = ("data set", "classifier", "trained on drawn rows", "on the data", "ratio")


class Shown(NamedTuple):
    """Probabilities that a description shows, and how many rows have each value."""

    probabilities: np.ndarray
    counts: np.ndarray


class Outcome(NamedTuple):
    """What was measured on a data set."""

    name: str
    n_rows: int
    surprise: float
    counted: float
    has_own_tree: bool
    n_shown: int
    p_value: float
    unknown_errors: float

    def cells(self) -> list[str]:
        """The line of the page."""
        tree = "its own" if self.has_own_tree else "learned"
        return [
            self.name,
            f"{self.n_rows:,}",
            *(f"{each:.3f}" for each in (self.surprise, self.counted, self.surprise / self.counted)),
            *(tree, f"{self.n_shown:,}", f"{self.p_value:.2g}", f"{self.unknown_errors:.1f}"),
        ]


def p_value(shown: np.ndarray, n_counted: float, seen: np.ndarray) -> float:
    """That rows have the probabilities that are shown, which are known from so many rows; rare cells are joined.

    Cells are joined by what is shown alone: joined by what was seen, those that had bad luck would come together.
    """
    n_seen = seen.sum()
    if not n_seen or not n_counted:
        return 1.0
    groups, total, group = np.empty(len(shown), int), 0.0, 0
    for cell in np.argsort(shown):
        groups[cell] = group
        total += shown[cell] * min(n_seen, n_counted)
        if total >= FEWEST_EXPECTED:
            total, group = 0.0, group + 1
    if total > 0 and group > 0:
        groups[groups == group] = group - 1
    probability, counts = np.bincount(groups, shown), np.bincount(groups, seen)
    if len(probability) < 2:
        return 1.0
    # Both what is shown and what is seen are uncertain.
    variance = probability * n_seen * (1 + n_seen / n_counted)
    return float(chi2.sf(((counts - probability * n_seen) ** 2 / variance).sum(), len(counts) - 1))


def shown_tables(clf: Any, codes: np.ndarray, y: np.ndarray) -> Iterator[Shown]:
    """Class prior, each feature given the class, and each line of the CPTs, with the rows that have each value."""
    network, n_classes = clf.description_, len(clf.classes_)
    yield Shown(np.exp(network.log_prior), np.bincount(y, minlength=n_classes))
    given_class = network.marginals(classes=np.arange(n_classes))
    for i in range(network.n_features):
        card, known = int(network.cards[i]), codes[:, i] < network.cards[i]
        alone = np.bincount(y[known] * card + codes[known, i], minlength=n_classes * card).reshape(n_classes, card)
        yield from (Shown(given_class.features[i][c], alone[c]) for c in range(n_classes))
        parent = int(network.parents[i])
        if parent < 0:
            continue
        cpt, groups = network.cpt(i, grouped=True), network.groups_of(parent)
        known &= codes[:, parent] < network.cards[parent]
        above = codes[known, parent].astype(np.int64)
        line = above if groups is None else groups[above]
        cell = (line * n_classes + y[known]) * card + codes[known, i]
        counts = np.bincount(cell, minlength=len(cpt) * n_classes * card).reshape(len(cpt), n_classes, card)
        yield from (Shown(cpt[g, :, c], counts[g, c]) for g in range(len(cpt)) for c in range(n_classes))


def chi_square(clf: Any, trained: tuple[Any, Any], tested: tuple[Any, Any]) -> tuple[float, int]:
    """That all that is shown are the probabilities of rows not trained on, by Bonferroni's rule, and how much is."""
    parts = [
        (clf.encoder_.encode(as_frame(X)).astype(np.int64), np.searchsorted(clf.classes_, y))
        for X, y in (trained, tested)
    ]
    pairs = zip(*(shown_tables(clf, *part) for part in parts), strict=True)
    found = [p_value(shown.probabilities, shown.counts.sum(), new.counts) for shown, new in pairs]
    return min(1.0, min(found) * len(found)), len(found)


def counted_tree(clf: Any, X: Any, y: Any) -> TANClassifier:
    """A Chow-Liu tree by counts, with 1 added to each cell, on the bins of a classifier."""
    return TANClassifier("chow-liu", Counts(1.0), binning=clf.encoder_).fit(X, y)


def surprises(clf: Any, X: Any, y: Any, tested: tuple[Any, Any]) -> tuple[float, float]:
    """Mean of -log p(x, c) of test rows in nats a feature: in the description, and in a counted Chow-Liu tree."""
    X_test, y_test = tested
    codes, classes = clf.encoder_.encode(as_frame(X_test)), np.searchsorted(clf.classes_, y_test)
    networks = (clf.description_, counted_tree(clf, X, y).network_)
    own, counted = (-network.log_likelihood(codes, classes).mean() / codes.shape[1] for network in networks)
    return float(own), float(counted)


def unknown_errors(clf: Any, y: Any) -> float:
    """How far the probability of a class, where everything is unknown, is from its frequency, in standard errors."""
    shares = np.bincount(np.searchsorted(clf.classes_, y), minlength=len(clf.classes_)) / len(y)
    found = clf.network_.marginals().classes[0]
    return float((np.abs(found - shares) / np.sqrt(shares * (1 - shares) / len(y))).max())


def measure(name: str) -> Outcome:
    """A default fit to the first split of a data set."""
    X, y, X_test, y_test = load_splits(name)[0]
    clf = TANClassifier(random_state=0).fit(X, y)
    has_own_tree = not np.array_equal(clf.description_.parents, clf.network_.parents)
    p, n_shown = chi_square(clf, (X, y), (X_test, y_test))
    own, counted = surprises(clf, X, y, (X_test, y_test))
    return Outcome(name, len(y), own, counted, has_own_tree, n_shown, p, unknown_errors(clf, y))


class Drawn(NamedTuple):
    """Test errors of a classifier that is trained on rows that were drawn, and on as many of the data."""

    name: str
    method: str
    drawn: float
    real: float

    def cells(self) -> list[str]:
        """The line of the page."""
        errors = [f"{100 * each:.2f}" for each in (self.drawn, self.real)]
        return [self.name, self.method, *errors, f"{self.drawn / self.real:.2f}"]


def draw_rows(name: str) -> Iterator[Drawn]:
    """Train on 10,000 rows that a classifier has drawn, and on 10,000 rows of the data."""
    X, y, X_test, y_test = load_splits(name)[0]
    rows = np.random.default_rng(0).permutation(len(y))[:N_DRAWN]
    real = X.iloc[rows], y.iloc[rows]
    default, counted = TANClassifier(random_state=0), TANClassifier("chow-liu", "ml")
    drawn = {
        "`TANClassifier()`": (default, default.fit(X, y).sample(N_DRAWN, random_state=0)),
        "counted tree": (counted, counted.fit(X, y).sample(N_DRAWN, random_state=0)),
    }
    if name in CHAINED:
        drawn["`TANClassifier()`, rows of a chain"] = (default, chain_rows(X, y))
    for method, (clf, (X_drawn, y_drawn)) in drawn.items():
        trained = clf.fit(X_drawn.astype(X.dtypes.to_dict()), y_drawn), clone(clf).fit(*real)
        yield Drawn(name, method, *(1 - each.score(X_test, y_test) for each in trained))


def chain_rows(X: Any, y: Any) -> tuple[Any, Any]:
    """Rows by the chain rule: the class, then each column by a classifier that knows the class and all columns before.

    A feature has many parents there, so these rows show how far the tree is what limits rows that are drawn.
    """
    generator = np.random.default_rng(0)
    known = y.astype(str).to_frame("class")
    drawn = known.sample(N_DRAWN, replace=True, random_state=0, ignore_index=True)
    for column in X.columns:
        clf = TANClassifier(**PRESETS["tree"].get_params(deep=False), random_state=0).fit(known, X[column])
        up_to = clf.predict_proba(drawn).cumsum(axis=1)
        values = (up_to < generator.random((N_DRAWN, 1)) * up_to[:, -1:]).sum(axis=1)
        known, drawn = known.assign(**{column: X[column]}), drawn.assign(**{column: clf.classes_[values]})
    return drawn.drop(columns="class"), drawn["class"].astype(y.dtype)


def main() -> None:
    """Measure, print and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", help="data sets; all but the slowest by default")
    parser.add_argument("--page", type=Path, default=DOCS / "description.md")
    parser.add_argument("--no-page", action="store_true", help="print only")
    options = parser.parse_args()
    asked = options.tables or [name for name in TABLES if name not in SLOW]
    for name in asked:
        if not is_there(name):
            print(f"MISSING {name}", flush=True)
    there = [name for name in asked if is_there(name)]
    shown = _print_table(_HEADS, map(measure, there))
    drawn = _print_table(_HEADS_OF_DRAWN, (each for name in there if name in DRAWN for each in draw_rows(name)))
    if not options.no_page:
        with written_whole(options.page) as path:
            path.write_text(_PAGE.format(shown=shown, drawn=drawn))
        print(f"written to {options.page}")


def _print_table(heads: Sequence[str], lines: Iterable[Outcome | Drawn]) -> str:
    """A table in Markdown, which is printed line by line."""
    cells: Iterable[Sequence[str]] = chain(
        [heads, ["---", *["---:"] * (len(heads) - 1)]], (each.cells() for each in lines)
    )
    text = []
    for each in cells:
        text.append(f"| {' | '.join(each)} |")
        print(text[-1], flush=True)
    return "\n".join(text)


_PAGE = """# What a default fit shows of the data

`python -m benchmarks.meaning` measures this on the data sets of [comparison.md](comparison.md), with the first of their
splits, and writes this page. Nothing was trained on test rows.

* **surprise**: the mean of −log *p*(*x*, *c*) of test rows in nats, divided by the number of features, in
  `description_`, the network that describes the data, and in a Chow-Liu tree with counted CPTs, 1 added to each cell,
  on the same bins. Below a **ratio** of 1 the description is the better one.
* **tree**: the description has the tree that was learned for the class, or one of its own where that is better by more
  than 1 %.
* **chi-square**: whether the probabilities that are shown (the class prior, each feature given the class, each line of
  each CPT) are those of the test rows. It is the smallest of the p-values times their number. Below 0.001, say, they
  would not be.
* **classes of unknowns**: how far `predict_proba` of a row of unknowns is from the frequencies of the classes in the
  training rows, in standard errors, for the class that is farthest off.

{shown}

In krkopt, car and nursery, rows fill a grid of all combinations of values. No tree of features has such rows and tells
the classes apart as well, so a row of unknowns has class probabilities that are some standard errors off.

## Rows that are drawn

Test errors in % of a classifier that is trained on 10,000 rows of its own `sample`, and of the same classifier that is
trained on 10,000 rows of the data:

{drawn}

*Rows of a chain* come from a far larger network: each column is drawn by a classifier, trained on the same rows, that
knows the class and all columns before.

Rows that a tree has drawn tell no more about the class than the tree does. On letter a counted tree has an error of
15 %, and a classifier that is much better on the data cannot become so from rows that the tree has drawn. The chain is
nearer to the data, and still far from them.
"""


if __name__ == "__main__":
    main()
