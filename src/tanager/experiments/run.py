"""One run: from a spec to its result. Nothing else is read or written."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import tanager
from tanager._types import FloatArray
from tanager.datasets import Dataset, load_dataset
from tanager.estimators import TANClassifier
from tanager.experiments.methods import find_method
from tanager.experiments.published import paper_settings
from tanager.experiments.spaces import count_recovered, search_space, tree_information
from tanager.experiments.spec import RunSpec
from tanager.learning import Counts, GradientDescent
from tanager.losses import Hybrid, NegativeLogLikelihood

# Every run holds out the same rows, so that configurations are compared on equal terms.
_VALIDATION_SEED = 0


@dataclass(frozen=True)
class Result:
    """The result of a run. Comparisons ignore the times and the version.

    Attributes
    ----------
    test_error : float
        Fraction of the test rows that are misclassified, after the last epoch.
    validation_error : float or None
        The same for the held-out rows, if there are any.
    parents : tuple of int or None
        Extra parent of each feature, -1 for none. None for results that were published without structures.
    recovered : (int, int) or None
        In the recovery experiment: the number of edges of the Chow-Liu tree that were found, and of all its edges.
    seconds, cpu_seconds : float
        Wall-clock time and processor time of the fit.
    version : str
        Version of tanager that made the run; empty if it was not recorded.
    """

    test_error: float
    validation_error: float | None
    parents: tuple[int, ...] | None
    recovered: tuple[int, int] | None
    seconds: float = field(compare=False)
    cpu_seconds: float = field(compare=False)
    version: str = field(compare=False, default="")

    def to_json(self) -> str:
        """Text of a result, for the store."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of a result."""
        content = json.loads(text)
        parents, recovered = content.pop("parents"), content.pop("recovered")
        return cls(
            parents=None if parents is None else tuple(parents),
            recovered=None if recovered is None else (recovered[0], recovered[1]),
            **content,
        )


def run_spec(spec: RunSpec) -> Result:
    """Run a spec on one thread.

    Parameters
    ----------
    spec : RunSpec

    Returns
    -------
    Result
        Determined by the spec alone, except for its times.

    Examples
    --------
    >>> result = run_spec(RunSpec(dataset="digits", method="nb-ml"))
    >>> 0.05 < result.test_error < 0.15
    True
    """
    data = load_dataset(spec.dataset, spec.fold)
    X, y, held_out = _hold_out(data, spec.validation_share)

    @cache
    def information() -> FloatArray:
        return tree_information(X, y, data.cards)

    classifier = TANClassifier(
        search_space(spec, data, information),
        _parameters(spec),
        categorical_features=np.ones(data.n_features, dtype=bool),
        random_state=spec.seed,
        n_jobs=1,
    )
    start, cpu_start = time.perf_counter(), time.process_time()
    classifier.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    parents = np.asarray(classifier.parents_)
    return Result(
        test_error=_error(classifier, data.X_test, data.y_test),
        validation_error=None if held_out is None else _error(classifier, *held_out),
        parents=tuple(parents.tolist()),
        recovered=count_recovered(parents, information()) if spec.method == "recover" else None,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        version=tanager.__version__,
    )


def _hold_out(
    data: Dataset, share: float
) -> tuple[NDArray[Any], NDArray[Any], tuple[NDArray[Any], NDArray[Any]] | None]:
    """Training rows and held-out rows, the same fraction of each class."""
    if share == 0:
        return data.X_train, data.y_train, None
    rng = np.random.RandomState(_VALIDATION_SEED)
    is_held = np.zeros(len(data.y_train), dtype=bool)
    for label in range(data.n_classes):
        rows = rng.permutation(np.flatnonzero(data.y_train == label))
        is_held[rows[: round(share * len(rows))]] = True
    held = data.X_train[is_held], data.y_train[is_held]
    return data.X_train[~is_held], data.y_train[~is_held], held


def _parameters(spec: RunSpec) -> Counts | GradientDescent:
    """How the parameters of a run are learned: the paper's settings with those of the spec."""
    method = find_method(spec.method)
    if not method.is_trained:
        return Counts(smoothing=1.0)
    names = ("learning_rate", "epochs", "batch_size", "structure_learning_rate", "optimiser")
    options = {name: getattr(spec, name) for name in names}
    loss = Hybrid(spec.lam, spec.gamma, spec.eta) if method.has_margin else NegativeLogLikelihood()  # type: ignore[arg-type]
    parameters: GradientDescent = paper_settings()["parameters"]
    return parameters.set_params(loss=loss, **options)


def _error(classifier: TANClassifier, X: NDArray[Any], y: NDArray[Any]) -> float:
    # Counted as integers, so that the result does not depend on the order of summation.
    n_wrong = int((classifier.predict(X) != y).sum())
    return n_wrong / len(y)
