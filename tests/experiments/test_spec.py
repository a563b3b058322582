"""Specs: one text and one identity for one run, in every process; wrong ones refused."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from tanager.experiments.spec import SPEC_VERSION, RunSpec

SUBSET = {
    "dataset": "letter",
    "method": "subset",
    "ordering": 3,
    "draw": 1,
    "max_parents": 8,
    "lam": 110.42,
    "gamma": 17.97,
    "eta": 10.0,
    "learning_rate": 0.03,
    "epochs": 500,
    "batch_size": 100,
    "structure_learning_rate": 1e-3,
    "optimiser": "dense",
}


def test_identity_is_known():
    # Stored results are found by this, so it must never change for the same version.
    assert SPEC_VERSION == 1
    assert RunSpec(**SUBSET).key == "5d35f11cefd4195ba845aac77eaf788010f1187e961144a33791081648eb0a42"
    text = RunSpec(**SUBSET).to_json()
    assert text.startswith('{"batch_size":100,"dataset":"letter","draw":1,"epochs":500,')
    assert json.loads(text)["recipe"] == 1  # the name that stored specs have for the version


def test_identity_does_not_depend_on_the_type_of_number():
    spec = RunSpec(**SUBSET | {"eta": 10, "seed": 0, "validation_share": -0.0})
    same = RunSpec(**SUBSET | {"eta": np.float64(10), "epochs": np.int32(500), "lam": np.float64(110.42)})
    assert spec == same
    assert spec.key == same.key


@pytest.mark.parametrize(
    "change",
    [{"fold": 2, "dataset": "satimage"}, {"seed": 1}, {"lam": 110.43}, {"validation_share": 0.2}, {"max_parents": 5}],
)
def test_identity_depends_on_every_value(change):
    assert RunSpec(**SUBSET | change).key != RunSpec(**SUBSET).key


def test_configuration_leaves_out_fold_and_validation():
    spec = RunSpec(**SUBSET | {"dataset": "satimage"})
    assert replace(spec, fold=4, validation_share=0.2).configuration == spec.configuration == spec.key
    assert replace(spec, seed=1).configuration != spec.configuration


def test_text_and_pickle_give_the_spec_back():
    spec = RunSpec(**SUBSET)
    assert RunSpec.from_json(spec.to_json()) == spec
    assert pickle.loads(pickle.dumps(spec)).key == spec.key


def test_text_of_another_version_is_refused():
    text = json.dumps(json.loads(RunSpec(**SUBSET).to_json()) | {"recipe": SPEC_VERSION + 1})
    with pytest.raises(ValueError, match="the spec has version 2, but this tanager reads version 1"):
        RunSpec.from_json(text)


def test_text_with_an_unknown_name_is_refused():
    text = json.dumps(json.loads(RunSpec(**SUBSET).to_json()) | {"colour": "red"})
    with pytest.raises(ValueError, match="a spec has no colour"):
        RunSpec.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": "iris"}, "there is no data set 'iris'"),
        ({"method": "magic"}, "there is no method 'magic'; there are nb-ml, chow-liu-ml, nb,"),
        ({"method": "nb"}, "method 'nb' has no ordering"),
        ({"method": "nb-ml"}, "method 'nb-ml' has no"),
        ({"draw": None}, "method 'subset' requires draw"),
        ({"lam": None}, "method 'subset' requires lam"),
        ({"fold": 2}, "letter has 1 fold"),
        ({"fold": 0}, "fold must be a whole number of at least 1, got 0"),
        ({"ordering": 5}, "ordering of 'subset' must be one of"),
        ({"ordering": "A"}, "ordering of 'subset' must be one of"),
        ({"draw": 10}, "draw must be 0 to 9, got 10"),
        ({"max_parents": 16}, "max_parents must be below 16"),
        ({"max_parents": 2.5}, "max_parents must be a whole number"),
        ({"lam": float("nan")}, "lam must be a finite number, got nan"),
        ({"lam": "10"}, "lam must be a finite number, got '10'"),
        ({"lam": -1.0}, "lam must be at least 0, got -1.0"),
        ({"gamma": 0.0}, "gamma must be above 0"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"epochs": True}, "epochs must be a whole number"),
        ({"learning_rate": float("inf")}, "learning_rate must be a finite number"),
        ({"optimiser": "sgd"}, "optimiser must be 'dense' or 'selected', got 'sgd'"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"validation_share": 1.0}, "validation_share must be below 1"),
        (
            {"dataset": "usps", "method": "all", "draw": None, "max_parents": None},
            "method 'all' does not apply to usps",
        ),
        ({"method": "heuristic", "ordering": "A", "draw": None}, "method 'heuristic' does not apply to letter"),
    ],
)
def test_wrong_specs_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        RunSpec(**SUBSET | change)
