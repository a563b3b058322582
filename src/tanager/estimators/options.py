"""Options of the estimators: checked before anything else is done, and turned into what the layers below take.

An option that must be a number is refused here, so that the error names it; which range it may have is for the layer
below that uses it to say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tanager.data import Binning, MDLPBinning, MixedBinning, QuantileBinning
from tanager.data.binning import check_max_bins
from tanager.estimators.defaults import Preset, is_auto, presets_of, with_preset
from tanager.losses import ConditionalLikelihood, Hybrid, Loss, Margin, NegativeLogLikelihood
from tanager.model import PAIR_SCORES
from tanager.training import TrainingSettings

if TYPE_CHECKING:
    from tanager.estimators.tan import TANClassifier

_CANDIDATES = ("random", "screened", "mixed", "all")

_NO_FORESTS = ("pseudo", "k-dependence")

_QUANTILES = 10  # bins of a numeric column that is cut at quantiles

_NUMBERS = (
    "max_parents",
    "max_table_size",
    "lam",
    "gamma",
    "eta",
    "smoothing",
    "epochs",
    "batch_size",
    "learning_rate",
    "learning_rate_decay",
    "structure_learning_rate",
    "parent_dropout",
    "shrinkage",
    "smoothness",
    "ridge",
    "size_penalty",
)


def check_options(estimator: TANClassifier, presets: Sequence[Preset] | None = None) -> None:
    """Refuse wrong options, whichever preset will be chosen; None is those of one tree."""
    for name, allowed in {"choose": (True, False), "calibrate": (None, True, False)}.items():
        if getattr(estimator, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(estimator, name)!r}")
    if estimator.parameters == "ml" and is_auto(estimator):
        raise ValueError(
            "parameters='ml' needs a fixed structure: give 'none', 'random', 'chow-liu' or a list of parents"
        )
    if estimator.calibrate and isinstance(estimator.structure, str) and estimator.structure in _NO_FORESTS:
        raise ValueError(f"calibrate=True needs a forest, which structure={estimator.structure!r} does not promise")
    for preset in presets_of(estimator) if presets is None else presets:
        plan = with_preset(estimator, preset, n_rows=1.0)
        make_settings(plan), make_loss(plan)
    _check_search(estimator)


def _check_search(estimator: TANClassifier) -> None:
    """Refuse wrong options of a search space, whether or not this structure goes by them."""
    for name, least in {"max_parents": 1, "max_table_size": 0}.items():
        value = getattr(estimator, name)
        if int(value) != value or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    words = {
        "candidates": (None, *_CANDIDATES),
        "screening": tuple(PAIR_SCORES),
        "free": ("project", "arborescence"),
    }
    for name, known in words.items():
        value = getattr(estimator, name)
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")


def make_settings(estimator: TANClassifier) -> TrainingSettings:
    """Check the parameters of training, and put them together; `with_preset` has given all of them a value."""
    if estimator.parameters not in ("gradient", "ml"):
        raise ValueError(f"parameters must be 'gradient' or 'ml', got {estimator.parameters!r}")
    options = estimator.get_params(deep=False)
    limits = [name for name in ("max_bins", "max_categories", "base_ridge") if options[name] is not None]
    check_numbers({name: options[name] for name in (*_NUMBERS, *limits)})
    if estimator.max_bins is not None:
        check_max_bins(estimator.max_bins)
    check_pair("tau", estimator.tau)
    if estimator.smoothing <= 0:
        raise ValueError(f"smoothing must be above 0, got {estimator.smoothing!r}")
    is_forest = is_free(estimator) and estimator.free == "arborescence"
    same = {field.name: options[field.name] for field in fields(TrainingSettings) if field.name in options}
    return TrainingSettings(**same, is_forest=is_forest)


def is_free(estimator: TANClassifier) -> bool:
    """Whether the search goes without an ordering and still ends in a forest."""
    return isinstance(estimator.structure, str) and estimator.structure == "free"


def make_binning(estimator: TANClassifier, labels: NDArray[Any], n_threads: int) -> Binning:
    """How numeric columns are cut, given the classes of the rows."""
    mdlp = MDLPBinning(labels, max_bins=estimator.max_bins, n_threads=n_threads)
    if estimator.binning == "auto":
        return MixedBinning(mdlp)
    if estimator.binning == "mdlp":
        return mdlp
    if estimator.binning in ("quantile", "none"):
        return QuantileBinning(_QUANTILES if estimator.max_bins is None else estimator.max_bins)
    raise ValueError(f"binning must be 'auto', 'mdlp', 'quantile' or 'none', got {estimator.binning!r}")


def make_loss(estimator: TANClassifier) -> Loss:
    """The loss by its name, or the user's own."""
    if callable(estimator.loss):
        return estimator.loss
    options = estimator.get_params(deep=False)
    if estimator.loss == "hybrid":
        return Hybrid(options["lam"], options["gamma"], options["eta"])
    if estimator.loss == "margin":
        return Margin(options["gamma"], options["eta"])
    if estimator.loss == "nll":
        return NegativeLogLikelihood()
    if estimator.loss == "conditional":
        return ConditionalLikelihood()
    raise ValueError(f"loss must be 'hybrid', 'nll', 'margin', 'conditional' or a function, got {estimator.loss!r}")


def check_numbers(options: dict[str, Any]) -> None:
    """Refuse options that are no finite number."""
    for name, value in options.items():
        if not _is_number(value):
            raise ValueError(f"{name} must be a finite number, got {value!r}")


def check_pair(name: str, value: Any) -> None:
    """Refuse an option that is not a pair of finite numbers."""
    pair = _as_pair(value)
    if pair is None or not all(map(_is_number, pair)):
        raise ValueError(f"{name} must be a pair of finite numbers, got {value!r}")


def check_image_shape(image_shape: Any, n_features: int, what: str) -> tuple[int, int]:
    """Rows and columns of images of ``n_features`` pixels; ``what`` says which option needs them."""
    if image_shape is None:
        raise ValueError(f"{what} needs image_shape=(rows, columns)")
    pair = _as_pair(image_shape)
    if pair is not None and all(isinstance(length, Integral) for length in pair):
        rows, columns = map(int, pair)
        if rows > 0 and rows * columns == n_features:
            return rows, columns
    raise ValueError(f"image_shape={image_shape!r} does not fit {n_features} features; give (rows, columns)")


def _as_pair(value: Any) -> tuple[Any, Any] | None:
    try:
        first, second = value
    except (TypeError, ValueError):
        return None
    return first, second


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
