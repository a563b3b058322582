"""structure="k-dependence": what it learns, what is left of it in files and exports, and what it refuses."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError

from tanager import ParentSets, TANClassifier, TANEnsembleClassifier, load

matplotlib.use("Agg")

FIXED = ParentSets.from_lists([[-1], [0], [(0, 1)], [(1, 2)]], order=[0, 1, 2, 3])


def xor_rows(n_rows=600, seed=0):
    """The class is the parity of three features, up to noise: only two parents at once tell anything."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (n_rows, 4)), rng.integers(0, 2, n_rows)
    X[:, 3] = X[:, 0] ^ X[:, 1] ^ y ^ (rng.random(n_rows) < 0.05)
    return X, y


@pytest.fixture(scope="module")
def learned():
    """A classifier that has found the pair."""
    options = {"binning": "none", "ordering": "natural", "epochs": 20, "random_state": 0}
    return TANClassifier("k-dependence", **options).fit(*xor_rows())


def iris_classifier():
    return TANClassifier(FIXED, parameters="ml", max_bins=3).fit(*load_iris(return_X_y=True))


def with_gaps(X):
    rng = np.random.default_rng(1)
    return np.where(rng.random(X.shape) < 0.3, np.nan, X)


def test_two_parents_are_found_where_one_tells_nothing(learned):
    X, y = xor_rows(seed=1)
    assert learned.score(X, y) > 0.9
    assert TANClassifier(**{**learned.get_params(), "structure": "subset"}).fit(*xor_rows()).score(X, y) < 0.75
    assert (learned.parents_[3], learned.second_parents_[3]) == (0, 1)
    assert learned.parents_[0] == learned.second_parents_[0] == -1
    assert learned.parent_pairs_.shape[1] == 2
    assert learned.parent_probabilities_[3, :2].min() > 0.5
    assert learned.parent_path_["parent"].max() == 3 + len(learned.parent_pairs_)


@pytest.mark.parametrize("candidates", ["random", "mixed", "all"])
def test_without_pairs_it_is_the_same_as_subset(candidates):
    X, y = load_iris(return_X_y=True)
    options = {"epochs": 5, "random_state": 3, "candidates": candidates, "max_parents": 2}
    first = TANClassifier("subset", **options).fit(X, y)
    second = TANClassifier("k-dependence", max_table_size=0, **options).fit(X, y)
    assert second.parent_pairs_.size == 0
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    assert np.array_equal(first.parents_, second.parents_)


def test_no_table_is_larger_than_asked():
    X, y = load_iris(return_X_y=True)
    for limit in (100, 200):
        clf = TANClassifier("k-dependence", max_table_size=limit, epochs=1, random_state=0).fit(X, y)
        sets, cards = clf._distribution.parent_sets, clf.encoder_.cards.astype(int)
        sizes = [cards[a] * cards[b] * cards[i] * 3 for i in range(4) for a, b in _pairs_of(sets, i)]
        assert all(size <= limit for size in sizes)
    assert sizes


def _pairs_of(sets, feature):
    return [candidate for candidate in sets.to_lists()[feature] if isinstance(candidate, tuple)]


@pytest.mark.parametrize("limit", [-1, 2.5, "many", None])
def test_bad_limits_are_refused(limit):
    with pytest.raises(ValueError, match="max_table_size must be"):
        TANClassifier("k-dependence", max_table_size=limit).fit(*xor_rows(50))


def test_one_feature_and_two_features_have_no_pairs():
    X, y = xor_rows(100)
    for n_features in (1, 2):
        clf = TANClassifier("k-dependence", epochs=1, binning="none").fit(X[:, :n_features], y)
        assert clf.parent_pairs_.size == 0
    with pytest.raises(NotFittedError):
        TANClassifier("k-dependence").parents_  # noqa: B018


@pytest.mark.parametrize("options", [{"parent_dropout": 0.3}, {"shrinkage": 0.05, "size_penalty": 0.1}])
def test_regularisers_work_with_pairs(options):
    X, y = xor_rows()
    clf = TANClassifier("k-dependence", binning="none", ordering="natural", epochs=80, random_state=0, **options)
    assert clf.fit(X, y).score(X, y) > 0.9
    assert clf.memory_needed(X, y) > 0


def test_files_bring_it_back_to_the_last_bit(learned, tmp_path):
    X, _ = xor_rows(seed=2)
    learned.save(tmp_path / "pairs.tanager")
    loaded = load(tmp_path / "pairs.tanager")
    for rows in (X, with_gaps(X)):
        assert np.array_equal(loaded.predict_proba(rows), learned.predict_proba(rows))
    for name in ("parents_", "second_parents_", "parent_pairs_", "parent_probabilities_"):
        assert np.array_equal(getattr(loaded, name), getattr(learned, name))
    assert loaded._distribution.parent_sets == learned._distribution.parent_sets
    clf = iris_classifier()
    clf.save(tmp_path / "given.tanager")
    assert load(tmp_path / "given.tanager").structure == FIXED


@pytest.mark.parametrize(
    "options",
    [{}, {"training": "joint"}, {"members": "distribution"}, {"combine": "probability"}],
    ids=["search", "joint", "distribution", "probability"],
)
def test_ensembles(options, tmp_path):
    X, y = xor_rows()
    member = TANClassifier("k-dependence", binning="none", ordering="natural", epochs=80, parent_dropout=0.1)
    ensemble = TANEnsembleClassifier(member, n_members=3, random_state=0, **options).fit(X, y)
    assert ensemble.score(X, y) > 0.75
    assert any((each.second_parents_ >= 0).any() for each in ensemble.estimators_)
    ensemble.save(tmp_path / "ensemble.tanager")
    rows = with_gaps(X)
    assert np.array_equal(load(tmp_path / "ensemble.tanager").predict_proba(rows), ensemble.predict_proba(rows))


def test_explanations_add_up_and_name_both_parents(learned):
    X, _ = xor_rows(seed=4)
    table = learned.explain(X[0])
    log_proba = np.sort(learned.predict_log_proba(X[:1])[0])
    assert table["contribution"].sum() == pytest.approx(log_proba[-1] - log_proba[-2], abs=1e-4)
    assert table["parent"].iloc[4] == "x0, x1"


def test_pictures(learned):
    plain = TANClassifier([-1, 0, 0, 0], binning="none", epochs=1).fit(*xor_rows())
    n_pairs = int((learned.second_parents_ >= 0).sum())
    dotted = [text for text in learned.plot_structure().texts if getattr(text, "arrow_patch", None) is not None]
    assert len(dotted) == n_pairs
    assert not [text for text in plain.plot_structure().texts if getattr(text, "arrow_patch", None) is not None]
    axes = learned.plot_cpt(3)
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["0, 0", "0, 1", "1, 0", "1, 1"]
    matplotlib.pyplot.close("all")


def test_drawn_rows_have_the_parity_of_the_training_rows():
    X, y = xor_rows(2000)
    clf = TANClassifier(ParentSets.from_lists([[-1], [-1], [-1], [(0, 1)]]), parameters="ml", binning="none").fit(X, y)
    drawn, classes = clf.sample(2000, random_state=0)
    parity = drawn[:, 0].astype(int) ^ drawn[:, 1].astype(int) ^ drawn[:, 3].astype(int) ^ classes
    assert 0.02 < parity.mean() < 0.09
    with pytest.raises(ValueError, match="two extra parents"):
        clf.sample(2, given={0: 1})


def test_missing_cells_while_training():
    X, y = xor_rows()
    X = np.where(np.random.default_rng(5).random(X.shape) < 0.05, np.nan, X)
    options = {"binning": "none", "ordering": "natural", "epochs": 80, "random_state": 0, "missing": "ignore"}
    clf = TANClassifier("k-dependence", **options).fit(X, y)
    assert clf.score(X, y) > 0.8


def test_threads_do_not_change_a_bit():
    X, y = load_digits(return_X_y=True)
    options = {"max_bins": 4, "epochs": 2, "batch_size": 200, "random_state": 0}
    one, two = (TANClassifier("k-dependence", n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    assert np.array_equal(one.network_.theta, two.network_.theta)
    assert np.array_equal(one.parent_probabilities_, two.parent_probabilities_)
    assert (one.second_parents_ >= 0).any()
