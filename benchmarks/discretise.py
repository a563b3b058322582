"""MDL discretisation against scikit-learn's KBinsDiscretizer, and how its time grows with the rows.

With TANAGER_DATA the numbers are the pixels of mnist, downscaled to 14 x 14 as in the paper; otherwise random images of
the same shape. KBinsDiscretizer cuts at quantiles, into five bins by default, and does not look at the classes.
"""

from __future__ import annotations

import os
import warnings

import numpy as np
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import KBinsDiscretizer

from benchmarks.records import Row, Section, Target
from benchmarks.timing import ratio, time_in_turns
from tanager import MDLPDiscretizer

_RULES = ("textbook", "best-passing")
_SIDE, _N_CLASSES = 14, 10
_N_BINS = 13  # mean number of bins that MDL finds on mnist


def run(*, tiny: bool = False) -> Section:
    """Measure."""
    name, X, y = _load(700 if tiny else 70_000)
    # KBinsDiscretizer warns about every pixel that is nearly always zero.
    with warnings.catch_warnings(action="ignore"):
        rows = [*_against_quantiles(X, y, rounds=1 if tiny else 5), *_growth(X, y, rounds=1 if tiny else 5)]
    title = f"Discretising {len(X):,} x {X.shape[1]} floats of {name}, fit, one thread"
    return Section(title, rows, missing=[] if name == "mnist" else ["mnist_raw.npz (set TANAGER_DATA to its folder)"])


def _against_quantiles(X: np.ndarray, y: np.ndarray, rounds: int) -> list[Row]:
    """Both rules against quantiles, with the default number of bins and with as many as MDL finds."""
    ours = {rule: MDLPDiscretizer(rule) for rule in _RULES}
    peers = {"KBinsDiscretizer()": _kbins(5), f"KBinsDiscretizer({_N_BINS})": _kbins(_N_BINS)}
    rivals = {label: (lambda it=it: it.fit(X, y)) for label, it in (ours | peers).items()}
    times = time_in_turns(rivals, rounds=rounds, warm_up=1)
    errors = {label: f"{label} {_error(it, X, y):.2f} %" for label, it in (ours | peers).items()}
    return [
        Row(
            f"MDLP, {rule}",
            times[rule],
            peer,
            times[peer],
            ratio(times[rule], times[peer]),
            Target(3.0, at_most=True),
            f"error of naive Bayes on the bins of every second row, on the others: {errors[rule]}, {errors[peer]}",
        )
        for rule in ours
        for peer in peers
    ]


def _growth(X: np.ndarray, y: np.ndarray, rounds: int) -> list[Row]:
    """Time for ten times the rows."""
    some = np.random.default_rng(0).permutation(len(X))[: len(X) // 10]
    few, many = (X[some], y[some]), (X, y)
    rows = []
    for rule in _RULES:
        discretizer = MDLPDiscretizer(rule)
        rivals = {"few": lambda it=discretizer: it.fit(*few), "many": lambda it=discretizer: it.fit(*many)}
        times = time_in_turns(rivals, rounds=rounds, calls={"few": 5}, warm_up=1)
        growth = ratio(times["many"], times["few"])
        what, peer = f"growth with ten times the rows, {rule}", f"{len(some):,} rows"
        rows.append(Row(what, times["many"], peer, times["few"], growth, Target(12.0, at_most=True)))
    return rows


def _kbins(n_bins: int) -> KBinsDiscretizer:
    return KBinsDiscretizer(n_bins, encode="ordinal")


def _error(discretizer: MDLPDiscretizer | KBinsDiscretizer, X: np.ndarray, y: np.ndarray) -> float:
    """Error in % of naive Bayes on the bins, so that useless bins do not pass for speed."""
    codes = discretizer.fit(X[::2], y[::2]).transform(X).astype(np.int64)
    model = CategoricalNB(min_categories=codes.max(axis=0) + 1).fit(codes[::2], y[::2])
    return 100.0 * float(1.0 - model.score(codes[1::2], y[1::2]))


def _load(n_rows: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Name, numbers and classes."""
    if os.environ.get("TANAGER_DATA"):
        from tanager.datasets import load_raw
        from tanager.datasets.downscale import downscale_images

        raw = load_raw("mnist")
        images = downscale_images(raw.X[:n_rows].reshape(-1, 28, 28), _SIDE)
        return "mnist", images.reshape(len(images), -1), raw.y[:n_rows]
    return "random images", *_random_images(n_rows)


def _random_images(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Blurred blobs, one position for each class: zeros at the edge and a long tail of grey values."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, _N_CLASSES, n_rows)
    place = np.stack(np.meshgrid(*[np.linspace(-1, 1, _SIDE)] * 2), axis=-1).reshape(-1, 2)
    centres = rng.uniform(-0.6, 0.6, (_N_CLASSES, 1, 2))
    shapes = np.exp(-8 * ((place[None] - centres) ** 2).sum(axis=2))
    noise = rng.normal(scale=20.0, size=(n_rows, _SIDE**2)) * shapes.mean(axis=0)
    X = shapes[y] * rng.gamma(4.0, 40.0, (n_rows, 1)) + noise
    return np.where(X < 10.0, 0.0, X).clip(max=255.0), y
