"""One run: from a spec to its result, with nothing else read or written."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tanager._types import FloatArray
from tanager.datasets import Dataset, load_dataset
from tanager.estimators import TANClassifier
from tanager.experiments.methods import find_method
from tanager.experiments.published import paper_settings
from tanager.experiments.spaces import count_recovered, search_space, tree_information
from tanager.experiments.spec import RunSpec

# The same rows are held back in every run, so that configurations are compared on equal terms.
_VALIDATION_SEED = 0


@dataclass(frozen=True)
class Result:
    """What a run found. Times do not count when results are compared.

    Attributes
    ----------
    test_error : float
        Share of the test rows that are misclassified, after the last epoch.
    validation_error : float or None
        The same of the rows held back, if there are any.
    parents : tuple of int
        Extra parent of each feature, -1 for none.
    recovered : (int, int) or None
        For the recovery experiment: edges of the Chow-Liu tree that were found, and all its edges.
    seconds, cpu_seconds : float
        For fitting: by the clock, and of processor time.
    """

    test_error: float
    validation_error: float | None
    parents: tuple[int, ...]
    recovered: tuple[int, int] | None
    seconds: float = field(compare=False)
    cpu_seconds: float = field(compare=False)

    def to_json(self) -> str:
        """Text of a result, for the store."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the text of a result."""
        content = json.loads(text)
        recovered = content.pop("recovered")
        return cls(
            parents=tuple(content.pop("parents")),
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
        A function of the spec alone, but for its times.

    Examples
    --------
    >>> result = run_spec(RunSpec(dataset="digits", method="nb-ml"))
    >>> 0.05 < result.test_error < 0.15
    True
    """
    data = load_dataset(spec.dataset, spec.fold)
    X, y, held_back = _hold_back(data, spec.validation_share)

    @cache
    def information() -> FloatArray:
        return tree_information(X, y, data.cards)

    classifier = TANClassifier(
        search_space(spec, data, information),
        categorical_features=np.ones(data.n_features, dtype=bool),
        random_state=spec.seed,
        n_jobs=1,
        **_parameters(spec),
    )
    start, cpu_start = time.perf_counter(), time.process_time()
    classifier.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    parents = np.asarray(classifier.parents_)
    return Result(
        test_error=_error(classifier, data.X_test, data.y_test),
        validation_error=None if held_back is None else _error(classifier, *held_back),
        parents=tuple(parents.tolist()),
        recovered=count_recovered(parents, information()) if spec.method == "recover" else None,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
    )


def _hold_back(
    data: Dataset, share: float
) -> tuple[NDArray[Any], NDArray[Any], tuple[NDArray[Any], NDArray[Any]] | None]:
    """Rows to train on and rows held back, the same share of each class."""
    if share == 0:
        return data.X_train, data.y_train, None
    rng = np.random.RandomState(_VALIDATION_SEED)
    is_held = np.zeros(len(data.y_train), dtype=bool)
    for label in range(data.n_classes):
        rows = rng.permutation(np.flatnonzero(data.y_train == label))
        is_held[rows[: round(share * len(rows))]] = True
    held = data.X_train[is_held], data.y_train[is_held]
    return data.X_train[~is_held], data.y_train[~is_held], held


def _parameters(spec: RunSpec) -> dict[str, Any]:
    """Parameters of the classifier: the paper's settings, and what the spec says."""
    method = find_method(spec.method)
    if not method.is_trained:
        return {"parameters": "ml", "smoothing": 1.0}
    names = ["learning_rate", "epochs", "batch_size", "structure_learning_rate", "optimiser"]
    names += ["lam", "gamma", "eta"] if method.has_margin else []
    loss = "hybrid" if method.has_margin else "nll"
    return paper_settings() | {"loss": loss} | {name: getattr(spec, name) for name in names}


def _error(classifier: TANClassifier, X: NDArray[Any], y: NDArray[Any]) -> float:
    # Counted, so that the same errors are the same float whatever the summation.
    n_wrong = int((classifier.predict(X) != y).sum())
    return n_wrong / len(y)
