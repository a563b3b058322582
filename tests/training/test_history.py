import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from tanager import GradientDescent, TANClassifier
from tanager.model import ParentDistribution
from tanager.structure import ParentSets
from tanager.training import History, ParentPath
from tanager.training.history import snapshot_epochs

COLUMNS = ["loss", "error", "entropy", "learning_rate", "tau"]


def test_one_entry_for_each_epoch():
    history = History()
    assert len(history) == 0
    for k in range(3):
        history.append(**{name: k + position for position, name in enumerate(COLUMNS)})
    assert len(history) == 3
    arrays = history.to_arrays()
    assert list(arrays) == COLUMNS
    assert arrays["entropy"].tolist() == [2.0, 3.0, 4.0]


def test_every_column_must_be_given():
    with pytest.raises(KeyError, match="error"):
        History().append(loss=1.0)


SETS = ParentSets.from_lists([[-1], [-1, 0]])


@given(n_epochs=st.integers(1, 2000), n_candidates=st.integers(1, 5_000_000))
def test_epochs_rise_from_start_to_end_and_take_little_memory(n_epochs, n_candidates):
    epochs = snapshot_epochs(n_epochs, n_candidates)
    assert len(epochs) <= 41
    assert len(epochs) * n_candidates <= 4_000_000
    if epochs:
        assert (epochs[0], epochs[-1]) == (0, n_epochs)
        assert (np.diff(epochs) > 0).all()
        assert np.ptp(np.diff(epochs)) <= 1
    else:
        assert n_candidates > 2_000_000


def test_paths_are_equal_if_their_snapshots_are():
    first, second = ParentPath(), ParentPath()
    first.record(0, 5, ParentDistribution(SETS, np.zeros(3)))
    assert first != second
    second.record(0, 5, ParentDistribution(SETS, np.array([0.0, 0.0, 1.0])))
    assert first != second
    assert first == ParentPath([0], [np.array([1.0, 0.5, 0.5])])


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize("structure", ["all", "free"])
def test_path_is_that_of_the_search(iris, structure):
    parameters = GradientDescent(epochs=6, structure_learning_rate=0.1)
    clf = TANClassifier(structure, parameters, random_state=0).fit(*iris)
    path = clf.parent_path_
    assert path["epoch"].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert path["probability"].dtype == np.float32
    for start, end in ((0, 1), (6, None)):
        sums = np.bincount(path["child"], path["probability"][start:end].sum(axis=0))
        np.testing.assert_allclose(sums, 1.0, atol=1e-6)
    first = path["probability"][0]
    np.testing.assert_allclose(first, 1.0 / np.bincount(path["child"])[path["child"]])
    expected = clf.parent_probabilities_[path["child"], path["parent"]]
    np.testing.assert_allclose(path["probability"][-1], expected, atol=1e-6)
    assert not np.allclose(first, expected)


@pytest.mark.parametrize("structure", ["none", "chow-liu", [-1, 0, 0, 1]], ids=["none", "chow-liu", "given"])
@pytest.mark.parametrize(
    "parameters",
    ["ml", GradientDescent(epochs=2), GradientDescent(epochs=2, parent_dropout=0.5)],
    ids=["counted", "trained", "dropout"],
)
def test_fixed_structures_have_no_path(iris, structure, parameters):
    path = TANClassifier(structure, parameters).fit(*iris).parent_path_
    assert path["epoch"].shape == (0,)
    assert path["probability"].shape == (0, len(path["child"]))


def test_long_training_keeps_few_snapshots(iris):
    clf = TANClassifier("all", GradientDescent(epochs=100), random_state=0).fit(*iris)
    assert len(clf.parent_path_["epoch"]) == 41
    assert len(clf.history_["loss"]) == 100
