"""The types of this library that a stored classifier has, for programs that load only what is trusted by name."""

from __future__ import annotations

from typing import Any

from tanager.exports.tables import check_fitted, needs_extra


def trusted_types(clf: Any) -> list[str]:
    """Names of this library's types in a fitted classifier, as skops and MLflow ask for them.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier

    Returns
    -------
    list of str
        For ``trusted=`` of `skops.io.load` and ``skops_trusted_types=`` of `mlflow.sklearn.log_model`. Types from
        elsewhere, such as a loss of your own, are not among them: whether these are safe is for you to say.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> clf = TANClassifier("none", parameters="ml").fit(*load_iris(return_X_y=True))
    >>> "tanager.estimators.tan.TANClassifier" in trusted_types(clf)
    True
    """
    check_fitted(clf)
    try:
        import skops.io
    except ImportError:
        raise needs_extra("skops") from None
    found = skops.io.get_untrusted_types(data=skops.io.dumps(clf))
    return [name for name in found if name.startswith("tanager.")]
