"""A right call of every public method of the estimators and of the networks that they learn, to be damaged."""

import copy
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tanager
from tanager import (
    DisjointTrees,
    GradientDescent,
    MDLPDiscretizer,
    SetParent,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.model import Network


class Call(NamedTuple):
    """A right call."""

    function: Callable[..., Any]
    arguments: dict[str, Any]


CLASSIFIERS = {
    "TANClassifier": lambda: TANClassifier("chow-liu", "ml", random_state=0),
    "TANEnsembleClassifier": lambda: TANEnsembleClassifier(DisjointTrees(2), "ml", random_state=0),
}
KINDS = {
    **{name: getattr(tanager, name) for name in CLASSIFIERS},
    "MDLPDiscretizer": MDLPDiscretizer,
    "Network": Network,
}

# scikit-learn's own, or without arguments that could be wrong.
LEFT_OUT = {
    *(
        "get_metadata_routing",
        "get_params",
        "set_fit_request",
        "set_score_request",
        "set_partial_fit_request",
        "set_output",
        "summary",
        "undo",
    ),
    *(
        "get_feature_names_out",
        "entropy",
        "forest",
        "mutual_information",
        "open_cpts",
        "from_arena",
        "predict_log_proba",
    ),
    *(
        "fit_transform",
        "TANEnsembleClassifier.plot_structure",
    ),
}


def rows(rng):
    """Numbers, a category among them, and classes."""
    n = int(rng.integers(8, 30))
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 4)) + y[:, None]
    X[:, 3] = rng.integers(0, 3, n)
    return X, np.array(["a", "b", "c"])[y]


@functools.cache
def fitted(kind):
    X, y = rows(np.random.default_rng(100))
    return CLASSIFIERS[kind]().fit(X, y)


@functools.cache
def conformal(kind):
    return copy.deepcopy(fitted(kind)).conformalize(*rows(np.random.default_rng(0)))


def edit_of(kind):
    """Arguments of a change by hand."""
    member = {} if kind == "TANClassifier" else {"member": 0}
    return {"change": SetParent(0), "who": "Ada", "why": "a test", **member}


@functools.cache
def trained():
    X, y = rows(np.random.default_rng(0))
    return TANClassifier("subset", GradientDescent(epochs=3), random_state=0).fit(X, y)


@functools.cache
def discretizer():
    X, y = rows(np.random.default_rng(0))
    return MDLPDiscretizer().fit(np.vstack([X] * 5), np.hstack([y] * 5))


def saved(path, metadata, key):
    """Save into a folder that is removed."""
    with tempfile.TemporaryDirectory() as folder:
        fitted("TANClassifier").save(Path(folder) / path if isinstance(path, str) else path, metadata, key=key)


def loaded(content, sha256, key):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tanager"
        path.write_bytes(content if isinstance(content, bytes) else b"")
        tanager.load(path, sha256=sha256, key=key)


@functools.cache
def content():
    with tempfile.TemporaryDirectory() as folder:
        fitted("TANClassifier").save(Path(folder) / "a", key=b"0" * 16)
        return (Path(folder) / "a").read_bytes()


def made_and_fitted(kind, options):
    """An estimator with options, and a fit with them."""
    X, y = rows(np.random.default_rng(1))
    return kind(**options).fit(X, y)


OPTIONS = {
    "categorical_features": np.array([3]),
    "binning": "mdlp",
    "max_bins": 5,
    "max_categories": 4,
    "missing": "value",
    "calibrate": False,
    "random_state": 0,
    "n_jobs": 1,
    "verbose": 0,
}
TRAINING = {
    "epochs": 1,
    "batch_size": 10,
    "learning_rate": 0.01,
    "tau": (10.0, 0.1),
    "parent_dropout": 0.1,
    "ridge": 0.1,
}


def classifier_calls(kind):
    """Makers of calls of a classifier, by method."""

    def on(method, names=(), **more):
        def make(rng):
            X, y = rows(rng)
            given = {"X": X, "x": X[0], "y": y, "sample_weight": rng.random(len(y)) + 0.1}
            return Call(getattr(fitted(kind), method), {**{name: given[name] for name in names}, **more})

        return make

    calls = {
        "complete": on("complete", names=("X", "y")),
        "decide": on("decide", names=("X",), costs=np.ones((3, 3)) - np.eye(3)),
        "edge_gains": on("edge_gains", names=("X", "y")),
        "explain": on("explain", names=("x",), classes=["a", "b"]),
        "explain_rows": on("explain_rows", names=("X",), classes=["a", "b"]),
        "plot_explanation": on("plot_explanation", names=("x",), classes=["a", "b"], max_bars=3),
        "predict": on("predict", names=("X",)),
        "predict_proba": on("predict_proba", names=("X",)),
        "conformalize": lambda rng: Call(
            copy.deepcopy(fitted(kind)).conformalize,
            dict(zip(("X", "y"), rows(rng), strict=True)) | {"by_class": False},
        ),
        "evaluate_sets": lambda rng: Call(
            conformal(kind).evaluate_sets, dict(zip(("X", "y"), rows(rng), strict=True)) | {"coverage": 0.8}
        ),
        "predict_set": lambda rng: Call(conformal(kind).predict_set, {"X": rows(rng)[0], "coverage": 0.8}),
        "edit": lambda rng: Call(copy.deepcopy(fitted(kind)).edit, edit_of(kind)),
        "frontier": on("frontier", names=("X", "y"), dials=[0.0, 0.5, 1.0]),
        "plot_frontier": on("plot_frontier", names=("X", "y"), dials=[0.0, 1.0]),
        "plot_importance": on("plot_importance", max_bars=3),
        "query": on("query", target=[0, 1], given={2: 0.5}),
        "sample": on("sample", n_samples=3, given={2: 0.5}, random_state=0),
        "score": on("score", names=("X", "y", "sample_weight")),
        "fit": lambda rng: Call(CLASSIFIERS[kind]().fit, dict(zip(("X", "y"), rows(rng), strict=True))),
        "set_params": lambda rng: Call(CLASSIFIERS[kind]().set_params, dict(OPTIONS)),
        "save": lambda rng: Call(saved, {"path": "a.tanager", "metadata": {"a": 1}, "key": b"0" * 16}),
    }
    if kind == "TANClassifier":
        calls |= {
            "partial_fit": lambda rng: Call(
                CLASSIFIERS[kind]().partial_fit,
                dict(zip(("X", "y"), rows(rng), strict=True)) | {"classes": np.array(["a", "b", "c"]), "forget": 0.1},
            ),
            "memory_needed": on("memory_needed", names=("X", "y", "sample_weight")),
            "predict_joint_log_proba": on("predict_joint_log_proba", names=("X",)),
            "plot_cpt": on("plot_cpt", feature=1, label="a", against="b"),
            "plot_history": lambda rng: Call(trained().plot_history, {"column": "loss"}),
            "plot_structure": on("plot_structure", image_shape=(2, 2), background=np.zeros((2, 2))),
        }
    return {f"{kind}.{method}": make for method, make in calls.items()}


def network_calls():
    """Makers of calls of a network, by method."""

    def on(method, **more):
        def make(rng):
            network = fitted("TANClassifier").network_
            n = int(rng.integers(1, 9))
            codes = rng.integers(0, network.cards[:4] + 1, (n, 4)).astype(rng.choice([np.uint8, np.int32, np.int64]))
            classes = rng.integers(-1, 3, n)
            return Call(getattr(network, method), {**more, "codes": codes, "classes": classes, "n_threads": 1})

        return make

    def without_classes(make):
        def less(rng):
            function, arguments = make(rng)
            return Call(function, {name: value for name, value in arguments.items() if name != "classes"})

        return less

    return {
        "Network.log_joint": without_classes(on("log_joint")),
        "Network.predict": without_classes(on("predict")),
        "Network.log_terms": without_classes(on("log_terms")),
        "Network.log_likelihood": on("log_likelihood"),
        "Network.marginals": on("marginals"),
        "Network.most_probable": on("most_probable"),
        "Network.query": on("query", targets=[0, 1]),
        "Network.sample": lambda rng: Call(
            fitted("TANClassifier").network_.sample,
            {"n": 3, "codes": np.zeros((1, 4), np.int64), "classes": np.array([1]), "random_state": 0, "n_threads": 1},
        ),
        "Network.cpt": lambda rng: Call(fitted("TANClassifier").network_.cpt, {"feature": 1, "grouped": False}),
        "Network.groups_of": lambda rng: Call(fitted("TANClassifier").network_.groups_of, {"feature": 1}),
    }


def other_calls():
    return {
        "load": lambda rng: Call(loaded, {"content": content(), "sha256": None, "key": b"0" * 16}),
        "options": lambda rng: Call(
            lambda **options: made_and_fitted(TANClassifier, {"structure": "chow-liu", "parameters": "ml", **options}),
            dict(OPTIONS),
        ),
        "training": lambda rng: Call(
            lambda **options: made_and_fitted(
                TANClassifier, {"structure": "subset", "parameters": GradientDescent(**options)}
            ),
            dict(TRAINING),
        ),
        "MDLPDiscretizer.fit": lambda rng: Call(MDLPDiscretizer().fit, dict(zip(("X", "y"), rows(rng), strict=True))),
        "MDLPDiscretizer.transform": lambda rng: Call(discretizer().transform, {"X": rows(rng)[0]}),
        "MDLPDiscretizer.inverse_transform": lambda rng: Call(
            discretizer().inverse_transform, {"X": np.zeros((3, 4), np.int64)}
        ),
        "MDLPDiscretizer.set_params": lambda rng: Call(
            lambda **options: MDLPDiscretizer().set_params(**options).fit(*rows(rng)),
            {"rule": "textbook", "max_bins": 3, "n_jobs": 1},
        ),
    }


MAKERS = {
    **classifier_calls("TANClassifier"),
    **classifier_calls("TANEnsembleClassifier"),
    **network_calls(),
    **other_calls(),
}


def public_methods():
    """All public methods, as `MAKERS` names them."""
    for name, kind in KINDS.items():
        for method in dir(kind):
            if (
                not method.startswith("_")
                and callable(getattr(kind, method))
                and not {method, f"{name}.{method}"} & LEFT_OUT
            ):
                yield f"{name}.{method}"
