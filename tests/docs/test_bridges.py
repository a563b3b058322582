"""The model for AutoGluon that docs/bridges.md shows, with a stand-in for what AutoGluon does with it."""

import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from tanager import TANEnsembleClassifier

PAGE = Path(__file__).parents[2] / "docs" / "bridges.md"


class AbstractModel:
    """Parameters, checks and calls as AutoGluon makes them; it drops columns that say nothing before a fit."""

    def __init__(self, hyperparameters):
        self._params = dict(hyperparameters)
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self._params.setdefault(name, value)

    def _get_model_params(self):
        return dict(self._params)

    def preprocess(self, X):
        return X.loc[:, self._kept]

    def fit(self, X, y, **options):
        assert "binary" in self.supported_problem_types()
        self._kept = [name for name in X.columns if X[name].nunique() > 1]
        self._fit(X=X, y=y, num_gpus=0, verbosity=2, sample_weight=None, **options)
        return self

    def predict_proba(self, X):
        return self.model.predict_proba(self.preprocess(X))


@pytest.fixture
def model_class(monkeypatch):
    for name in ("autogluon", "autogluon.core", "autogluon.core.models"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["autogluon.core.models"].AbstractModel = AbstractModel
    names = {}
    exec(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0], names)
    return names["TanagerModel"]


def test_a_model_for_autogluon(model_class):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5].assign(same=1, word=pd.Categorical(np.where(X["mean radius"] > 14, "big", "small")))
    model = model_class({"members": "trees", "parameters": "ml"})
    model.fit(X[:300], y[:300], X_val=X[300:400], y_val=y[300:400], time_limit=60.0, num_cpus=1)
    assert isinstance(model.model, TANEnsembleClassifier)
    assert (model.model.time_limit, model.model.n_jobs, model.model.random_state) == (60.0, 1, 0)
    assert model.model.n_features_in_ == 6
    assert ((model.predict_proba(X[400:])[:, 1] > 0.5) == y[400:]).mean() > 0.85
    assert model_class({}).fit(X[:90], y[:90]).predict_proba(X[90:]).shape == (479, 2)
