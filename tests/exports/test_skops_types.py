"""Round trips through skops and MLflow, which load only what is trusted by name."""

import warnings

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris

from tanager import GradientDescent, TANClassifier, TANEnsembleClassifier
from tanager.exports import trusted_types
from tests.exports.classifiers import mixed_classifier

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import mlflow.sklearn


def classifiers():
    iris = load_iris(return_X_y=True, as_frame=True)
    yield TANClassifier(random_state=0).fit(*iris), iris[0]
    yield TANEnsembleClassifier(random_state=0).fit(*iris), iris[0]
    yield mixed_classifier()


@pytest.mark.parametrize("number", range(3))
def test_skops(number, tmp_path):
    clf, X = list(classifiers())[number]
    skops.io.dump(clf, tmp_path / "model.skops")
    loaded = skops.io.load(tmp_path / "model.skops", trusted=trusted_types(clf))
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    assert repr(loaded) == repr(clf)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", [0, 1])
def test_mlflow(number, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    clf, X = list(classifiers())[number]
    mlflow.sklearn.save_model(clf, str(tmp_path / "model"), skops_trusted_types=trusted_types(clf))
    loaded = mlflow.sklearn.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))


class Mine:
    """A loss that is not of this library."""

    def __call__(self, log_joint, y, sample_weight):
        shifted = log_joint - log_joint.max(axis=1, keepdims=True)
        log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        gradient = np.exp(log_p)
        gradient[np.arange(len(y)), y] -= 1
        return float(-log_p[np.arange(len(y)), y].mean()), gradient / len(y)


def test_types_from_elsewhere_are_left_to_the_user():
    clf = TANClassifier("none", GradientDescent(loss=Mine(), epochs=2)).fit(*load_iris(return_X_y=True))
    found = trusted_types(clf)
    assert found
    assert all(name.startswith("tanager.") for name in found)


def test_only_fitted_classifiers():
    with pytest.raises(ValueError, match="not fitted yet"):
        trusted_types(TANClassifier())
