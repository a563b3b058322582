"""What is compared: each method with its defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from benchmarks import peers
from benchmarks.rivals.codes import CODING, Codes
from benchmarks.rivals.pyagrum_tan import PyAgrumTAN
from benchmarks.rivals.wrapped import OnCodes, OnNumbers, OnText
from tanager import Counts, TANClassifier, TANEnsembleClassifier


@dataclass(frozen=True)
class Method:
    """A method of the comparison.

    Attributes
    ----------
    title : str
        Heading of its column.
    about : str
        What it is, in a sentence.
    make : callable
        Makes an estimator that takes pandas frames.
    needs : str or None
        Module that must be installed for it.
    is_warmed_up : bool
        Whether a fit to few rows comes first, which loads and compiles what is needed.
    """

    title: str
    about: str
    make: Callable[[], Any]
    needs: str | None = None
    is_warmed_up: bool = True


def _closed_form(structure: str) -> TANClassifier:
    return TANClassifier(structure, Counts(smoothing=1.0), **CODING)


def _logistic() -> Any:
    return make_pipeline(Codes(), OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1000))


def _explainable(**options: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return OnNumbers(ExplainableBoostingClassifier(n_jobs=1, **options))


def _catboost() -> Any:
    from catboost import CatBoostClassifier

    return OnText(CatBoostClassifier(verbose=0, thread_count=1, random_seed=0, allow_writing_files=False))


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def _of_scikit_bayes(name: str, **options: Any) -> Any:
    import skbn

    return OnCodes(getattr(skbn, name)(**options))


METHODS = {
    "tan": Method("TAN", "`TANClassifier()`", lambda: TANClassifier(random_state=0)),
    "ensemble": Method("TAN ensemble", "`TANEnsembleClassifier()`", lambda: TANEnsembleClassifier(random_state=0)),
    "counted": Method(
        "counted tree",
        "`TANClassifier('chow-liu', 'ml')`: the Chow-Liu tree, counts with back-off",
        lambda: TANClassifier("chow-liu", "ml", random_state=0),
    ),
    "frequent": Method("most frequent", "the frequencies of the classes", lambda: DummyClassifier(strategy="prior")),
    "nb": Method("naive Bayes", "counts plus one, on MDLP bins", lambda: _closed_form("none")),
    "chow-liu": Method("Chow-Liu", "Chow-Liu TAN, counts plus one, on the same bins", lambda: _closed_form("chow-liu")),
    "pyagrum": Method(
        "pyAgrum",
        "pyAgrum's TAN with its default prior, on the same bins; a value that was not in training is replaced by the "
        "most frequent one, and of two classes the more probable one is predicted",
        PyAgrumTAN,
        needs="pyagrum",
    ),
    "logistic": Method(
        "logistic", "logistic regression on the same bins, one-hot; C = 1, up to 1000 iterations", _logistic
    ),
    "boosting": Method(
        "boosting",
        "scikit-learn's histogram gradient boosting, its defaults, words as categories",
        lambda: HistGradientBoostingClassifier(random_state=0),
    ),
    "lightgbm": Method("LightGBM", "LightGBM, its defaults, words as categories", _lightgbm, needs="lightgbm"),
    "catboost": Method(
        "CatBoost", "CatBoost, its defaults, words as categories", _catboost, needs="catboost", is_warmed_up=False
    ),
    "a2de": Method(
        "A2DE",
        "averaged two-dependence estimators of scikit-bayes, on MDLP bins",
        lambda: _of_scikit_bayes("AnDE", n_dependence=2),
        needs="skbn",
    ),
    "alr": Method(
        "ALR",
        "accelerated logistic regression of scikit-bayes, on MDLP bins",
        lambda: _of_scikit_bayes("ALR"),
        needs="skbn",
    ),
    # Explainable boosting compiles nothing, and takes as long for a few rows as for a thousand.
    "explainable": Method(
        "explainable",
        "explainable boosting of interpret, its defaults (14 bags), one process",
        _explainable,
        needs="interpret",
        is_warmed_up=False,
    ),
    "explainable-2": Method(
        "explainable (2 bags)",
        "the same with `outer_bags=2`",
        lambda: _explainable(outer_bags=2),
        needs="interpret",
        is_warmed_up=False,
    ),
    "additive": Method(
        "additive",
        "the same with `outer_bags=2, interactions=0`: main effects alone",
        lambda: _explainable(outer_bags=2, interactions=0),
        needs="interpret",
        is_warmed_up=False,
    ),
}

NETWORKS = ("nb", "chow-liu", "pyagrum")
"""The other Bayesian network classifiers."""


def installed_methods(names: list[str]) -> tuple[list[str], list[str]]:
    """The methods that can be run, and messages about packages that the others lack."""
    missing: list[str] = []
    needs = {name: METHODS[name].needs for name in names}
    found = [name for name, module in needs.items() if module is None or peers.is_installed(module, missing)]
    return found, missing
