"""One run: a function of its spec, with the errors that an independent count gives."""

import os
from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from tanager.datasets import CATALOGUE, load_dataset
from tanager.experiments.grids import paper_grid
from tanager.experiments.methods import METHODS
from tanager.experiments.run import Result, _hold_out, run_spec
from tanager.experiments.spec import RunSpec
from tanager.structure import find_cycle, maximum_spanning_tree

needs_data = pytest.mark.skipif("TANAGER_DATA" not in os.environ, reason="TANAGER_DATA is not set")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_repeats(method):
    spec = paper_grid("digits", method)[-1]
    if spec.epochs:
        spec = replace(spec, epochs=2)
    result = run_spec(spec)
    assert result == run_spec(spec)
    assert 0 < result.test_error < 0.9
    assert result.validation_error is None
    assert len(result.parents) == 64
    assert (result.recovered is not None) == (method == "recover")
    assert result.seconds > 0
    if method != "pseudo":
        assert find_cycle(result.parents) is None


def test_naive_bayes_errors_are_those_of_scikit_learn():
    data = load_dataset("digits")
    reference = CategoricalNB(alpha=1.0, min_categories=data.cards).fit(data.X_train, data.y_train)
    # scikit-learn does not smooth the prior, which moves at most a row or two.
    expected = 1 - reference.score(data.X_test, data.y_test)
    result = run_spec(RunSpec(dataset="digits", method="nb-ml"))
    assert result.test_error == pytest.approx(expected, abs=2 / len(data.y_test))


def test_seed_and_validation_change_the_run():
    spec = replace(paper_grid("digits", "nb")[0], epochs=2)
    base = run_spec(spec)
    assert run_spec(replace(spec, seed=1)) != base
    held = run_spec(replace(spec, validation_share=0.2))
    assert held.validation_error is not None
    assert held.test_error != base.test_error


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_the_same_share_of_each_class_is_held_out(share):
    data = load_dataset("digits")
    X, y, (X_held, y_held) = _hold_out(data, share)
    assert len(X) == len(y)
    assert len(X_held) == len(y_held)
    np.testing.assert_array_equal(np.bincount(y) + np.bincount(y_held), np.bincount(data.y_train))
    assert (np.abs(np.bincount(y_held) - share * np.bincount(data.y_train)) <= 0.5).all()
    together = np.concatenate([X, X_held])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(data.X_train, axis=0))
    assert _hold_out(data, share)[1].tolist() == y.tolist()


def test_result_text_gives_the_result_back():
    result = Result(0.25, None, (-1, 0), (3, 4), seconds=1.5, cpu_seconds=1.0)
    again = Result.from_json(result.to_json())
    assert again == result
    assert (again.seconds, again.cpu_seconds) == (1.5, 1.0)
    assert Result.from_json(replace(result, recovered=None, validation_error=0.5).to_json()).validation_error == 0.5


def test_times_do_not_count():
    result = Result(0.25, None, (-1, 0), None, seconds=1.5, cpu_seconds=1.0)
    assert replace(result, seconds=2.0, cpu_seconds=2.0) == result
    assert replace(result, test_error=0.3) != result


def test_spanning_tree_is_what_recovery_counts():
    from tanager.experiments.spaces import count_recovered

    information = np.array([[0, 3, 1.0, 0], [3, 0, 2, 0], [1, 2, 0, 0], [0, 0, 0, 0]])
    tree = maximum_spanning_tree(information)
    assert tree.tolist() == [-1, 0, 1, 0]
    # The last feature shares no information, so its edge does not count.
    assert count_recovered(tree, information) == (2, 2)
    assert count_recovered(np.array([-1, 0, 0, 2]), information) == (1, 2)


@needs_data
@pytest.mark.data
@pytest.mark.parametrize(
    ("dataset", "naive_bayes", "chow_liu"),
    [("letter", 25.89, 15.23), ("satimage", 17.95, 11.90), ("usps", 13.11, 8.74), ("mnist", 17.37, 7.20)],
)
def test_closed_form_columns_are_those_of_the_paper(dataset, naive_bayes, chow_liu):
    for method, expected in [("nb-ml", naive_bayes), ("chow-liu-ml", chow_liu)]:
        folds = range(1, CATALOGUE[dataset].n_folds + 1)
        errors = [run_spec(RunSpec(dataset=dataset, method=method, fold=fold)).test_error for fold in folds]
        assert round(100 * np.mean(errors), 2) == expected


@needs_data
@pytest.mark.data
def test_short_run_on_letter_learns():
    spec = replace(paper_grid("letter", "chow-liu")[1], epochs=8, lam=30.0, gamma=1.0, learning_rate=0.1)
    assert run_spec(spec).test_error < 0.14
