"""TANClassifier: every structure on odd rows, what a fit leaves, progress, and the memory of a fit."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError

from tanager import Counts, GradientDescent, Nearest, ParentSets, Pseudo, Subset, TANClassifier
from tanager.learning import STRUCTURES
from tanager.model import layout
from tanager.training import TrainingDivergedError

QUICK = {"parameters": GradientDescent(epochs=4, batch_size=100), "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def numbers():
    """Enough distinct rows that training is by mini-batches."""
    return make_classification(600, 10, n_informative=6, n_classes=3, random_state=0)


def assert_probabilities(classifier, X, n_classes):
    probabilities = classifier.predict_proba(X)
    assert probabilities.shape == (len(X), n_classes)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


# Rows and classes that are odd but not wrong.


@pytest.mark.parametrize("structure", STRUCTURES)
def test_constant_column(iris, structure):
    X, y = iris
    X = np.column_stack([X[:, :2], np.full(len(y), 7.0), X[:, 2:]])
    classifier = TANClassifier(structure, GradientDescent(epochs=30), random_state=0).fit(X, y)
    assert classifier.encoder_.cards[2] == 1
    assert_probabilities(classifier, X, 3)
    assert classifier.score(X, y) > 0.9
    # There is one bin, so other values change nothing.
    moved = X.copy()
    moved[:, 2] = -100.0
    np.testing.assert_array_equal(classifier.predict_proba(moved), classifier.predict_proba(X))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_all_columns_constant_leave_the_class_frequencies(structure):
    X, y = np.ones((100, 3)), np.repeat([0, 1], [75, 25])
    classifier = TANClassifier(structure, GradientDescent("nll", epochs=200), random_state=0).fit(X, y)
    np.testing.assert_allclose(classifier.predict_proba(X[:1]), [[0.75, 0.25]], atol=0.02)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["hybrid", "margin", "conditional", "nll"])
def test_one_class(iris, structure, loss):
    X, _ = iris
    parameters = GradientDescent(loss, epochs=4, batch_size=100)
    classifier = TANClassifier(structure, parameters, random_state=0).fit(X, np.full(len(X), "only"))
    assert classifier.classes_.tolist() == ["only"]
    assert set(classifier.predict(X)) == {"only"}
    np.testing.assert_array_equal(classifier.predict_proba(X), np.ones((len(X), 1)))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_class_with_one_row(iris, structure):
    X, y = iris
    y = y.copy()
    y[17] = 9
    classifier = TANClassifier(structure, GradientDescent(epochs=20), random_state=0).fit(X, y)
    assert classifier.classes_.tolist() == [0, 1, 2, 9]
    assert_probabilities(classifier, X, 4)
    assert classifier.score(X, y) > 0.9


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_feature(iris, structure):
    X, y = iris
    classifier = TANClassifier(structure, GradientDescent(epochs=30), random_state=0).fit(X[:, 2:3], y)
    assert classifier.parents_.tolist() == [-1]
    np.testing.assert_array_equal(classifier.parent_probabilities_, [[0.0, 1.0]])
    assert classifier.score(X[:, 2:3], y) > 0.9


def test_one_feature_of_an_image(iris):
    X, y = iris
    assert TANClassifier(Nearest(image_shape=(1, 1)), **QUICK).fit(X[:, :1], y).parents_.tolist() == [-1]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_row(iris, structure):
    X, y = iris
    classifier = TANClassifier(structure, **QUICK).fit(X[:1], y[:1])
    assert classifier.predict(X).tolist() == [y[0]] * len(X)


def test_one_row_without_options(iris):
    """Nothing is left to hold out, so that the first preset is taken."""
    X, y = iris
    classifier = TANClassifier(random_state=0).fit(X[:1], y[:1])
    assert classifier.predict(X).tolist() == [y[0]] * len(X)
    assert classifier.choice_["tried"] == []


def test_batch_larger_than_the_data_set(iris):
    X, y = iris
    parameters = GradientDescent(batch_size=10**6, epochs=200)
    assert TANClassifier("subset", parameters, random_state=0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(("structure", "n_candidates"), [(Subset, 4 + 6), (Pseudo, 16)])
def test_max_parents_larger_than_possible_means_all(iris, structure, n_candidates):
    most, more = (TANClassifier(structure(max_parents=k), **QUICK).fit(*iris) for k in (3, 1000))
    np.testing.assert_array_equal(most.parent_probabilities_, more.parent_probabilities_)
    assert (more.parent_probabilities_ > 0).sum() == n_candidates


def test_max_parents_larger_than_possible_on_an_image(iris):
    nearest = Nearest(image_shape=(2, 2), max_parents=1000, ordering="A")
    classifier = TANClassifier(nearest, **QUICK).fit(*iris)
    assert (classifier.parent_probabilities_ > 0).sum() == 10


# Structures and search spaces that do not go with the rows or the parameters.


def test_parents_of_another_number_of_features(iris):
    with pytest.raises(ValueError, match="structure lists the parents of 2 features, but X has 4"):
        TANClassifier([-1, 0], **QUICK).fit(*iris)


def test_ordering_of_another_number_of_features(iris):
    with pytest.raises(ValueError, match="ordering lists 3 features, but X has 4"):
        TANClassifier(Subset(ordering=[0, 1, 2]), **QUICK).fit(*iris)


def test_search_space_of_another_number_of_features(iris):
    with pytest.raises(ValueError, match="the search space has 2 features, but X has 4"):
        TANClassifier(ParentSets.from_lists([[-1], [-1, 0]]), **QUICK).fit(*iris)


def test_image_of_another_number_of_features(iris):
    with pytest.raises(ValueError, match=r"image_shape=\(2, 3\) does not fit 4 features"):
        TANClassifier(Nearest(image_shape=(2, 3)), **QUICK).fit(*iris)


def test_training_that_diverges(iris):
    with pytest.raises(TrainingDivergedError, match="lower learning_rate, lam or gamma"):
        TANClassifier("subset", GradientDescent(learning_rate=1e30, epochs=5), random_state=0).fit(*iris)


# What a fit leaves.


def test_the_joint_is_that_of_the_network(numbers):
    X, y = numbers
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    network = classifier.network_
    codes = np.column_stack(
        [np.searchsorted(column.cuts, X[:, i], side="right") for i, column in enumerate(classifier.encoder_.columns)]
    )
    expected = np.tile(network.log_prior, (len(X), 1))
    for i, parent in enumerate(classifier.parents_):
        log_cpt = np.log(network.cpt(i))
        expected += log_cpt[codes[:, parent] if parent >= 0 else 0, codes[:, i]]
    np.testing.assert_allclose(classifier.predict_joint_log_proba(X), expected, rtol=1e-6)


def test_the_joint_agrees_with_the_other_predictions(numbers):
    X, y = numbers
    classifier = TANClassifier("subset", **QUICK).fit(X, y)
    joint = classifier.predict_joint_log_proba(X)
    assert joint.shape == (len(X), 3)
    conditional = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_log_proba(X), conditional)
    np.testing.assert_allclose(classifier.predict_proba(X), np.exp(conditional))
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[joint.argmax(axis=1)])


@pytest.mark.parametrize("name", ["parents_", "second_parents_", "parent_pairs_", "parent_probabilities_"])
def test_attributes_before_a_fit(name):
    with pytest.raises(NotFittedError):
        getattr(TANClassifier(), name)


def test_history_has_an_entry_for_each_epoch(numbers):
    classifier = TANClassifier("subset", GradientDescent(epochs=5), random_state=0).fit(*numbers)
    assert set(classifier.history_) == {"loss", "error", "entropy", "learning_rate", "tau"}
    assert all(column.shape == (5,) for column in classifier.history_.values())
    assert classifier.history_["loss"][-1] < classifier.history_["loss"][0]
    closed_form = TANClassifier("none", parameters="ml").fit(*numbers)
    assert all(column.shape == (0,) for column in closed_form.history_.values())


def test_options_that_were_used_are_values(iris):
    classifier = TANClassifier("subset", GradientDescent(epochs=3), random_state=0).fit(*iris)
    assert classifier.options_ == {"structure": Subset(), "parameters": GradientDescent(epochs=3, batch_size=16)}
    assert (classifier.structure, classifier.parameters) == ("subset", GradientDescent(epochs=3))
    assert TANClassifier("none", "ml").fit(*iris).options_["parameters"] == Counts()


@pytest.mark.parametrize(
    ("structure", "parameters"),
    [
        *((structure, GradientDescent(epochs=4, batch_size=100)) for structure in ("subset", "all", "pseudo")),
        ("chow-liu", GradientDescent(epochs=4, batch_size=100)),
        ("chow-liu", "ml"),
    ],
)
def test_the_number_of_threads_changes_no_bit(numbers, structure, parameters):
    X, y = numbers
    one, two, three = (
        TANClassifier(structure, parameters, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2, 3)
    )
    for other in (two, three):
        assert one.network_.theta.tobytes() == other.network_.theta.tobytes()
        assert one.network_.log_prior.tobytes() == other.network_.log_prior.tobytes()
        assert one.parent_probabilities_.tobytes() == other.parent_probabilities_.tobytes()
        assert one.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()
        assert one.history_["loss"].tobytes() == other.history_["loss"].tobytes()


# Progress.


def test_verbose_prints_loss_error_and_entropy(numbers, capsys):
    classifier = TANClassifier("subset", GradientDescent(epochs=3), random_state=0, verbose=1).fit(*numbers)
    printed = capsys.readouterr()
    assert printed.out == ""
    last = printed.err.rstrip("\n").split("\r")[-1]
    match = re.search(r"epoch 3/3 .*loss (\S+)  error (\S+)%  entropy (\S+)", last)
    assert match, printed.err
    loss, error, entropy = map(float, match.groups())
    history = classifier.history_
    assert loss == pytest.approx(history["loss"][-1], rel=1e-3)
    assert error == pytest.approx(100 * history["error"][-1], abs=0.006)
    assert entropy == pytest.approx(history["entropy"][-1], abs=6e-4)
    assert printed.err.endswith("\n")


def test_quiet_unless_asked(numbers, capsys):
    TANClassifier("subset", GradientDescent(epochs=3), random_state=0).fit(*numbers)
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


# Memory is known before a fit starts.


@pytest.mark.parametrize("structure", ["all", Subset(max_parents=40), Pseudo(max_parents=40)], ids=str)
def test_cpts_that_would_not_fit_in_memory(structure):
    n_rows, n_features, n_classes, max_parents = 3000, 60, 30, 40
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(n_rows), (n_features, 1)), axis=1).T
    y = np.arange(n_rows) % n_classes
    classifier = TANClassifier(structure, categorical_features=range(n_features), max_categories=None)
    with pytest.raises(MemoryError) as caught:
        classifier.fit(X, y)
    message = str(caught.value)
    n_pairs = {
        str: n_features * (n_features - 1) // 2,
        Subset: sum(min(max_parents, position) for position in range(n_features)),
        Pseudo: n_features * max_parents,
    }[type(structure)]
    n_entries = (n_pairs * n_rows**2 + n_features * n_rows) * n_classes
    assert f"would take {n_entries * 12 / 2**30:,.1f} GiB" in message
    assert re.search(r"there are [\d,.]+ GiB", message)
    assert "lower max_parents, max_bins or max_categories, or leave out features with many values" in message
    assert f"the largest CPT has {n_rows**2 * n_classes:,} entries" in message


@pytest.fixture
def small_machine(monkeypatch):
    """A machine with 64 MiB of memory."""
    monkeypatch.setattr(layout, "allowed_memory", lambda: 2**26)


@pytest.mark.filterwarnings("ignore:column .* has so many values")
def test_a_fit_that_would_not_fit_in_memory_does_not_start(small_machine):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.integers(0, 500, 4000).astype(str) for j in range(6)})
    y = rng.integers(0, 4, 4000)
    TANClassifier("subset", **QUICK).fit(X, y)
    with pytest.raises(MemoryError) as caught:
        TANClassifier("all", max_categories=None, **QUICK).fit(X, y)
    message = str(caught.value)
    # 15 CPTs of 500 x 500 x 4 entries and 6 of 500 x 4, twelve bytes each: 0.17 GiB.
    assert "the 21 CPTs of this search space would take 0.2 GiB" in message
    assert "there are 0.1 GiB" in message
    assert "lower max_parents, max_bins or max_categories" in message
    assert "the largest CPT has 1,000,000 entries" in message


def test_counting_pairs_that_would_not_fit_in_memory_does_not_start(small_machine):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2000, (4000, 2))
    settings = {"binning": "none", "max_categories": None, "parameters": "ml"}
    with pytest.raises(MemoryError, match=r"the counts of one pair of features would take 0\.2 GiB"):
        TANClassifier("chow-liu", **settings).fit(X, rng.integers(0, 4, 4000))


def test_the_memory_of_a_fit_can_be_asked_for(iris):
    """Three numbers of four bytes for each entry of each CPT."""
    classifier = TANClassifier("none", **QUICK).fit(*iris)
    network = classifier.network_
    assert network.layout.training_bytes == 12 * (network.n_parameters - network.n_classes)


def test_memory_is_known_before_a_fit():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (500, 6))
    y = rng.integers(0, 3, 500)
    options = {"categorical_features": range(6), "random_state": 0}
    classifier = TANClassifier("all", **options)
    before = dict(vars(classifier))
    needed = classifier.memory_needed(X, y)
    n_entries = (15 * 4 * 4 + 6 * 4) * 3  # all pairs, and a CPT without a parent for each feature
    assert needed == 500 * 6 + 2 * 500 * 8 + 12 * n_entries
    assert vars(classifier) == before
    chow_liu = TANClassifier("chow-liu", GradientDescent(parent_dropout=0.1), **options)
    assert chow_liu.memory_needed(X, y) == 500 * 6 + 2 * 500 * 8 + 12 * (5 * 4 * 4 + 6 * 4) * 3
