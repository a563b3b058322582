"""Structures through the classifier: which parents come out, and what is learned for them."""

from functools import partial

import matplotlib
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import NotFittedError

from tanager import (
    AllPredecessors,
    AnnealedSearch,
    ChowLiu,
    Counts,
    Free,
    GradientDescent,
    GreedySearch,
    IndependentSearches,
    KDependence,
    MarginScore,
    Nearest,
    ParentSets,
    Pseudo,
    RandomTree,
    SampledStructures,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
    load,
)
from tanager.structure import centre_outwards, find_cycle, fixed_parents, maximum_spanning_tree

matplotlib.use("Agg")

N_FEATURES = 9
ORDER = [8, 3, 5, 0, 1, 7, 2, 6, 4]
TREE = [-1, 0, 0, 5, 3, 1, -1, 8, 6]
FIXED = ["none", "random", "chow-liu"]
ALONG_AN_ORDERING = [Subset(3), AllPredecessors(), Nearest((3, 3), 3)]
PAIRS = ParentSets.from_lists([[-1], [0], [(0, 1)], [(1, 2)]], order=[0, 1, 2, 3])


@pytest.fixture(scope="module")
def numbers():
    return make_classification(400, N_FEATURES, n_informative=6, n_classes=3, random_state=1)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500], y[:500]


def fit(data, structure, parameters=None, **options):
    parameters = GradientDescent(epochs=4) if parameters is None else parameters
    options = {"random_state": 0, "binning": "quantile"} | options  # so that no feature is constant
    return TANClassifier(structure, parameters, **options).fit(*data)


def candidates_of(classifier):
    """Candidates of each feature as sets, read off the probabilities: none is zero after so few steps."""
    probabilities = classifier.parent_probabilities_
    n_features = len(probabilities)
    return [{-1 if j == n_features else int(j) for j in np.flatnonzero(row)} for row in probabilities]


# All structures.


@pytest.mark.parametrize("structure", [*FIXED, *ALONG_AN_ORDERING, Pseudo(3)], ids=str)
def test_parents_are_the_most_probable_candidates(numbers, structure):
    classifier = fit(numbers, structure)
    probabilities = classifier.parent_probabilities_
    assert probabilities.shape == (N_FEATURES, N_FEATURES + 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities >= 0).all()
    assert (np.diagonal(probabilities) == 0).all()
    best = probabilities.argmax(axis=1)
    np.testing.assert_array_equal(classifier.parents_, np.where(best == N_FEATURES, -1, best))
    np.testing.assert_array_equal(classifier.parents_, classifier.network_.parents)


@pytest.mark.parametrize("structure", [*FIXED, *ALONG_AN_ORDERING], ids=str)
@pytest.mark.parametrize("random_state", [0, 1, 2])
def test_structures_along_an_ordering_have_no_cycle(numbers, structure, random_state):
    classifier = fit(numbers, structure, random_state=random_state)
    assert find_cycle(classifier.parents_) is None
    assert classifier.network_.is_bayesian_network


@pytest.mark.parametrize("structure", [*ALONG_AN_ORDERING, Pseudo(3)], ids=str)
def test_parents_are_among_at_most_max_parents_candidates(numbers, structure):
    classifier = fit(numbers, structure)
    sizes = []
    for parent, candidates in zip(classifier.parents_, candidates_of(classifier), strict=True):
        assert parent in candidates
        assert -1 in candidates
        sizes.append(len(candidates) - 1)
    expected = {AllPredecessors: list(range(9)), Pseudo: [3] * 9}
    assert sorted(sizes) == expected.get(type(structure), [0, 1, 2, 3, 3, 3, 3, 3, 3])


@pytest.mark.parametrize("structure", [Subset(3), Pseudo(3), RandomTree(), AllPredecessors()], ids=str)
def test_the_random_state_draws_the_candidates(numbers, structure):
    drawn = [candidates_of(fit(numbers, structure, random_state=seed)) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("subset", Subset()), ("all", AllPredecessors()), ("random", RandomTree()), ("free", Free())),
        *(("pseudo", Pseudo()), ("k-dependence", KDependence()), ("chow-liu", ChowLiu())),
    ],
)
def test_a_word_fits_as_its_value_does(numbers, word, value):
    by_word, by_value = fit(numbers, word), fit(numbers, value)
    np.testing.assert_array_equal(by_word.network_.theta, by_value.network_.theta)
    np.testing.assert_array_equal(by_word.parent_probabilities_, by_value.parent_probabilities_)
    assert by_word.options_ == by_value.options_
    assert by_word.options_["structure"] == value
    assert by_word.structure == word


def test_none_has_no_parents(numbers):
    classifier = fit(numbers, "none")
    assert classifier.parents_.tolist() == [-1] * N_FEATURES
    assert (classifier.parent_probabilities_[:, -1] == 1).all()


@pytest.mark.parametrize("parameters", [GradientDescent(epochs=4), "ml"], ids=str)
def test_chow_liu_is_the_tree_of_most_information(numbers, parameters):
    X, y = numbers
    classifier = fit(numbers, "chow-liu", parameters, max_bins=4)
    codes = np.column_stack(
        [np.searchsorted(column.cuts, X[:, i], side="right") for i, column in enumerate(classifier.encoder_.columns)]
    )
    information = np.zeros((N_FEATURES, N_FEATURES))
    for i, j in np.ndindex(N_FEATURES, N_FEATURES):
        counts = np.zeros((3, 4, 4))
        np.add.at(counts, (y, codes[:, i], codes[:, j]), 1 / len(y))
        apart = counts.sum(axis=1, keepdims=True) * counts.sum(axis=2, keepdims=True)
        ratio = counts * counts.sum(axis=(1, 2), keepdims=True) / np.where(apart > 0, apart, 1)
        information[i, j] = (counts * np.log(np.where(counts > 0, ratio, 1))).sum()
    np.testing.assert_array_equal(classifier.parents_, maximum_spanning_tree(information))
    assert classifier.parents_[0] == -1


def test_chow_liu_uses_the_weights(numbers):
    X, y = numbers
    weight = np.where(np.arange(len(y)) % 2, 0.0, 1.0)
    weighted = TANClassifier("chow-liu", "ml").fit(X, y, sample_weight=weight)
    half = TANClassifier("chow-liu", "ml").fit(X[::2], y[::2])
    all_rows = TANClassifier("chow-liu", "ml").fit(X, y)
    np.testing.assert_array_equal(weighted.parents_, half.parents_)
    assert not np.array_equal(weighted.parents_, all_rows.parents_)


def test_closed_form_of_naive_bayes_is_smoothed_frequencies(numbers):
    X, y = numbers
    codes = (X > 0).astype(int)
    classifier = TANClassifier("none", Counts(smoothing=0.5), categorical_features=range(9)).fit(codes, y)
    counts = np.array([[(codes[y == c, 0] == value).sum() for c in range(3)] for value in (0, 1)])
    np.testing.assert_allclose(classifier.network_.cpt(0)[0], (counts + 0.5) / (counts.sum(axis=0) + 1), rtol=1e-6)
    prior = (np.bincount(y) + 0.5) / (len(y) + 1.5)
    np.testing.assert_allclose(np.exp(classifier.network_.log_prior), prior)


@pytest.mark.parametrize("ordering", ["A", "B", "C"])
def test_nearest_pixels_of_digits(digits, ordering):
    classifier = fit(digits, Nearest((8, 8), 4, ordering), GradientDescent(epochs=2))
    assert find_cycle(classifier.parents_) is None
    for feature, candidates in enumerate(candidates_of(classifier)):
        assert classifier.parents_[feature] in candidates
        assert len(candidates) <= 5


def test_orderings_of_images_serve_other_structures(digits):
    classifier = fit(digits, AllPredecessors(centre_outwards((8, 8))), GradientDescent(epochs=1))
    first, second = centre_outwards((8, 8))[:2]
    assert candidates_of(classifier)[first] == {-1}
    assert candidates_of(classifier)[second] == {-1, first}


def test_a_cycle_of_a_pseudo_structure_still_classifies(numbers):
    X, y = numbers
    circle = ParentSets.from_lists([[(i + 1) % N_FEATURES] for i in range(N_FEATURES)])
    classifier = fit(numbers, circle, GradientDescent(epochs=20))
    assert classifier.parents_.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]
    assert not classifier.network_.is_bayesian_network
    assert classifier.score(X, y) > 0.7
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("as_type", [list, tuple, np.array])
@pytest.mark.parametrize("parameters", [GradientDescent(epochs=4), "ml"], ids=str)
def test_given_parents_are_kept(numbers, as_type, parameters):
    classifier = fit(numbers, as_type(TREE), parameters)
    assert classifier.parents_.tolist() == TREE
    assert (classifier.parent_probabilities_.max(axis=1) == 1).all()
    shapes = [classifier.network_.cpt(i).shape[0] for i in range(N_FEATURES)]
    assert shapes == [1 if parent < 0 else 10 for parent in TREE]


def test_a_given_search_space_is_used_as_it_is(numbers):
    sets = ParentSets.from_lists(
        [[-1], [0], [-1, 0], [2, 1], [-1, 3], [4], [-1, 5, 0], [6], [7, 0]], order=list(range(9))
    )
    classifier = fit(numbers, sets)
    assert candidates_of(classifier) == [set(candidates) for candidates in sets.to_lists()]


def test_a_search_space_with_one_candidate_each_is_the_fixed_structure(numbers):
    given, space = fit(numbers, TREE), fit(numbers, fixed_parents(TREE))
    np.testing.assert_array_equal(given.network_.theta, space.network_.theta)
    counted = fit(numbers, fixed_parents(TREE), "ml")
    np.testing.assert_array_equal(counted.network_.theta, fit(numbers, TREE, "ml").network_.theta)


def test_a_search_space_of_other_features_is_refused(numbers):
    with pytest.raises(ValueError, match="the search space has 2 features"):
        fit(numbers, ParentSets.from_lists([[-1], [-1, 0]]))


@pytest.mark.parametrize("structure", ["subset", Free(), Pseudo(), KDependence(), Nearest((3, 3))], ids=str)
@pytest.mark.parametrize("parameters", ["ml", Counts(0.5)], ids=str)
def test_counts_require_a_fixed_structure(structure, parameters):
    with pytest.raises(ValueError, match=r"requires a fixed structure, but structure=.* is a search"):
        TANClassifier(structure, parameters).fit(None, None)  # refused before anything is read


def shifted_rows():
    """Feature 1 is feature 0 shifted by the class: the two tell it together, and neither alone."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = rng.integers(0, 3, (600, 4))
    X[:, 1] = (X[:, 0] + y) % 3
    return X, y


def test_learning_finds_the_parent_that_matters():
    X, y = shifted_rows()
    options = {"categorical_features": range(4), "random_state": 0}
    classifier = TANClassifier(AllPredecessors("natural"), GradientDescent(epochs=30), **options).fit(X, y)
    assert classifier.parents_[1] == 0
    assert classifier.parent_probabilities_[1, 0] > 0.9
    assert classifier.score(X, y) == 1.0
    assert TANClassifier("none", GradientDescent(epochs=30), **options).fit(X, y).score(X, y) < 0.8


# The free search, which ends in a forest.


@pytest.fixture(scope="module")
def eight():
    return make_classification(600, 8, n_informative=6, n_classes=3, random_state=2)


@pytest.mark.parametrize("seed", range(5))
def test_the_result_is_a_forest_of_candidates(eight, seed):
    free, pseudo = (fit(eight, make(4), GradientDescent(epochs=8), random_state=seed) for make in (Free, Pseudo))
    assert find_cycle(free.parents_) is None
    assert free.network_.is_bayesian_network
    np.testing.assert_array_equal(free.parent_probabilities_, pseudo.parent_probabilities_)
    assert (free.parent_probabilities_[np.arange(8), free.parents_] > 0).all()


def test_the_forest_is_the_most_probable_one(eight):
    free = fit(eight, "free", GradientDescent(epochs=30, structure_learning_rate=0.05))
    own = np.log(free.parent_probabilities_[np.arange(8), free.parents_]).sum()
    assert own == pytest.approx(_best_forest(free.parent_probabilities_), abs=1e-6)


def _best_forest(probabilities):
    """Log-probability of the best forest, by networkx: a root above all stands for no parent."""
    graph = nx.DiGraph()
    for child, row in enumerate(probabilities):
        for parent in np.flatnonzero(row > 0):
            graph.add_edge("root" if parent == len(row) - 1 else int(parent), child, weight=np.log(row[parent]))
    return nx.maximum_spanning_arborescence(graph).size(weight="weight")


def test_the_forest_is_trained_for_half_as_many_epochs(eight):
    free = fit(eight, "free", GradientDescent(epochs=9))
    assert len(free.history_["loss"]) == 9 + 4
    assert free.history_["entropy"][8] > 0
    assert (free.history_["entropy"][9:] == 0).all()


def test_missing_cells_of_a_forest_can_be_summed_out(eight):
    X, _ = eight
    free = fit(eight, "free", GradientDescent(epochs=5))
    holed = X.copy()
    holed[:, 0] = np.nan
    np.testing.assert_allclose(free.predict_proba(holed).sum(axis=1), 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_forests_drawn_at_every_step_need_no_second_training(eight, seed):
    fit_forests = partial(fit, eight, Free(4, forest="sample"), GradientDescent(epochs=8), random_state=seed)
    free = fit_forests()
    assert find_cycle(free.parents_) is None
    assert len(free.history_["loss"]) == 8
    assert free.history_["entropy"][-1] > 0
    np.testing.assert_array_equal(free.network_.theta, fit_forests(n_jobs=2).network_.theta)
    assert free.score(*eight) > 0.7


def test_forests_drawn_at_every_step_find_the_parent_that_matters():
    X, y = shifted_rows()
    free = TANClassifier(
        Free(forest="sample"), GradientDescent(epochs=30), categorical_features=range(4), random_state=0
    ).fit(X, y)
    assert free.parents_[1] == 0 or free.parents_[0] == 1
    assert free.score(X, y) == 1.0


# Searches by a score.

SEARCHES = [
    "greedy",
    GreedySearch(MarginScore(2.0), max_parents=4),
    GreedySearch(MarginScore(2.0), leave_one_out=True, max_parents=4),
    AnnealedSearch(MarginScore(2.0), max_parents=4),
]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
@pytest.mark.parametrize("parameters", ["ml", GradientDescent(epochs=3)], ids=str)
def test_searches_by_a_score(numbers, search, parameters):
    classifier = fit(numbers, search, parameters, max_bins=4)
    assert find_cycle(classifier.parents_) is None
    assert (classifier.parents_ >= 0).any()
    assert (classifier.parent_probabilities_.max(axis=1) == 1).all()
    if parameters == "ml":
        assert classifier.score(*numbers) > fit(numbers, "none", "ml", max_bins=4).score(*numbers)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_the_loss_does_not_change_what_a_search_finds(numbers, search):
    gradient = GradientDescent(epochs=1, loss="margin")
    first, second = (fit(numbers, search, gradient.set_params(loss__gamma=g), max_bins=4) for g in (0.5, 9.0))
    counted = fit(numbers, search, Counts(0.1), max_bins=4)
    assert first.parents_.tolist() == second.parents_.tolist() == counted.parents_.tolist()


def test_the_smoothing_of_a_search_is_its_own(numbers):
    found = [fit(numbers, GreedySearch(smoothing=s), "ml", max_bins=4).parents_.tolist() for s in (1.0, 50.0)]
    assert found[0] != found[1]


@pytest.mark.parametrize("structure", [GreedySearch("margin", max_moves=3), "greedy"], ids=str)
def test_threads_and_clones_change_nothing(numbers, structure):
    classifier = fit(numbers, structure, "ml", max_bins=4)
    again = clone(classifier).set_params(n_jobs=2).fit(*numbers)
    assert classifier.parents_.tolist() == again.parents_.tolist()
    np.testing.assert_array_equal(classifier.network_.theta, again.network_.theta)


@pytest.mark.parametrize("structure", [GreedySearch("margin"), "greedy"], ids=str)
def test_rows_of_weight_zero_are_absent_from_a_search(numbers, structure):
    X, y = numbers
    weight = np.where(np.arange(len(y)) % 2, 0.0, 1.0)
    clf = TANClassifier(structure, "ml", binning="quantile", max_bins=4)
    weighted = clone(clf).fit(X, y, sample_weight=weight)
    assert weighted.parents_.tolist() == clf.fit(X[::2], y[::2]).parents_.tolist()


@pytest.mark.parametrize(
    "structure", [GreedySearch("margin", leave_one_out=True), ChowLiu("margin"), ChowLiu("conditional")], ids=str
)
def test_whole_weights_are_repeated_rows_where_a_row_is_left_out(structure):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (60, 5)), rng.integers(0, 3, 60)
    weight = rng.integers(1, 5, 60)
    clf = TANClassifier(structure, "ml", binning="none")
    weighted = clone(clf).fit(X, y, sample_weight=weight)
    repeated = clone(clf).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.parents_.tolist() == repeated.parents_.tolist()
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_progress_is_told(numbers, capsys):
    fit(numbers, GreedySearch("margin", max_moves=2), "ml", verbose=1)
    assert "move 2  score" in capsys.readouterr().err


@pytest.mark.parametrize("structure", [Free(candidates="mixed"), GreedySearch("margin"), ChowLiu("margin")], ids=str)
def test_one_feature_needs_no_search(numbers, structure):
    X, y = numbers
    assert fit((X[:, :1], y), structure).parents_.tolist() == [-1]


def test_memory_is_that_of_the_space_without_a_search(numbers, monkeypatch):
    monkeypatch.setattr(GreedySearch, "run", None)
    X, y = numbers
    wide, narrow = (TANClassifier(GreedySearch(max_parents=k)).memory_needed(X, y) for k in (8, 1))
    assert wide > 2 * narrow


# Two extra parents.


def parity_rows(n_rows=600, seed=0):
    """The class is the parity of three features, up to noise: only two parents at once tell anything."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (n_rows, 4)), rng.integers(0, 2, n_rows)
    X[:, 3] = X[:, 0] ^ X[:, 1] ^ y ^ (rng.random(n_rows) < 0.05)
    return X, y


@pytest.fixture(scope="module")
def learned():
    """A classifier that has found the pair."""
    structure, parameters = KDependence(ordering="natural"), GradientDescent(epochs=20)
    return TANClassifier(structure, parameters, binning="none", random_state=0).fit(*parity_rows())


def with_gaps(X):
    rng = np.random.default_rng(1)
    return np.where(rng.random(X.shape) < 0.3, np.nan, X)


def test_two_parents_are_found_where_one_tells_nothing(learned):
    X, y = parity_rows(seed=1)
    assert learned.score(X, y) > 0.9
    subset = clone(learned).set_params(structure=Subset(ordering="natural"))
    assert subset.fit(*parity_rows()).score(X, y) < 0.75
    assert (learned.parents_[3], learned.second_parents_[3]) == (0, 1)
    assert learned.parents_[0] == learned.second_parents_[0] == -1
    assert learned.parent_pairs_.shape[1] == 2
    assert learned.parent_probabilities_[3, :2].min() > 0.5
    assert learned.parent_path_["parent"].max() == 3 + len(learned.parent_pairs_)


@pytest.mark.parametrize("candidates", ["random", "mixed", "screened"])
def test_without_pairs_it_is_the_same_as_subset(candidates):
    X, y = load_iris(return_X_y=True)
    options = {"parameters": GradientDescent(epochs=5), "random_state": 3}
    first = TANClassifier(Subset(2, candidates), **options).fit(X, y)
    second = TANClassifier(KDependence(2, candidates, max_table_size=0), **options).fit(X, y)
    assert second.parent_pairs_.size == 0
    assert np.array_equal(first.predict_proba(X), second.predict_proba(X))
    assert np.array_equal(first.parents_, second.parents_)


def test_no_cpt_is_larger_than_asked():
    X, y = load_iris(return_X_y=True)
    for limit in (100, 200):
        structure = KDependence(max_table_size=limit)
        clf = TANClassifier(structure, GradientDescent(epochs=1), random_state=0).fit(X, y)
        lists, cards = clf._distribution.parent_sets.to_lists(), clf.encoder_.cards.astype(int)
        pairs = [(i, *each) for i in range(4) for each in lists[i] if isinstance(each, tuple)]
        sizes = [cards[a] * cards[b] * cards[i] * 3 for i, a, b in pairs]
        assert all(size <= limit for size in sizes)
    assert sizes


def test_one_feature_and_two_features_have_no_pairs():
    X, y = parity_rows(100)
    for n_features in (1, 2):
        clf = TANClassifier("k-dependence", GradientDescent(epochs=1), binning="none").fit(X[:, :n_features], y)
        assert clf.parent_pairs_.size == 0
    with pytest.raises(NotFittedError):
        TANClassifier("k-dependence").parents_  # noqa: B018


@pytest.mark.parametrize("options", [{"parent_dropout": 0.3}, {"shrinkage": 0.05, "size_penalty": 0.1}], ids=str)
def test_regularisers_work_with_pairs(options):
    X, y = parity_rows()
    parameters = GradientDescent(epochs=80, **options)
    clf = TANClassifier(KDependence(ordering="natural"), parameters, binning="none", random_state=0)
    assert clf.fit(X, y).score(X, y) > 0.9
    assert clf.memory_needed(X, y) > 0


def test_files_bring_pairs_back_to_the_last_bit(learned, tmp_path):
    X, _ = parity_rows(seed=2)
    learned.save(tmp_path / "pairs.tanager")
    loaded = load(tmp_path / "pairs.tanager")
    for rows in (X, with_gaps(X)):
        assert np.array_equal(loaded.predict_proba(rows), learned.predict_proba(rows))
    for name in ("parents_", "second_parents_", "parent_pairs_", "parent_probabilities_"):
        assert np.array_equal(getattr(loaded, name), getattr(learned, name))
    assert loaded._distribution.parent_sets == learned._distribution.parent_sets
    clf = TANClassifier(PAIRS, "ml", max_bins=3).fit(*load_iris(return_X_y=True))
    clf.save(tmp_path / "given.tanager")
    assert load(tmp_path / "given.tanager").structure == PAIRS


@pytest.mark.parametrize(
    ("members", "options"),
    [
        (IndependentSearches, {}),
        (IndependentSearches, {"training": "joint"}),
        (SampledStructures, {}),
        (IndependentSearches, {"combine": "probability"}),
    ],
    ids=["searches", "joint", "sampled", "probability"],
)
def test_ensembles_of_pairs(members, options, tmp_path):
    X, y = parity_rows()
    parameters = GradientDescent(epochs=80, parent_dropout=0.1)
    members = members(KDependence(ordering="natural"), n_members=3)
    ensemble = TANEnsembleClassifier(members, parameters, binning="none", random_state=0, **options).fit(X, y)
    assert ensemble.score(X, y) > 0.75
    assert any((each.second_parents_ >= 0).any() for each in ensemble.estimators_)
    ensemble.save(tmp_path / "ensemble.tanager")
    rows = with_gaps(X)
    assert np.array_equal(load(tmp_path / "ensemble.tanager").predict_proba(rows), ensemble.predict_proba(rows))


def test_explanations_add_up_and_name_both_parents(learned):
    X, _ = parity_rows(seed=4)
    table = learned.explain(X[0])
    log_proba = np.sort(learned.predict_log_proba(X[:1])[0])
    assert table["contribution"].sum() == pytest.approx(log_proba[-1] - log_proba[-2], abs=1e-4)
    assert table["parent"].iloc[4] == "x0, x1"


def test_plots_of_two_parents(learned):
    plain = TANClassifier([-1, 0, 0, 0], GradientDescent(epochs=1), binning="none").fit(*parity_rows())
    n_pairs = int((learned.second_parents_ >= 0).sum())
    dotted = [text for text in learned.plot_structure().texts if getattr(text, "arrow_patch", None) is not None]
    assert len(dotted) == n_pairs
    assert not [text for text in plain.plot_structure().texts if getattr(text, "arrow_patch", None) is not None]
    axes = learned.plot_cpt(3)
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["0, 0", "0, 1", "1, 0", "1, 1"]
    matplotlib.pyplot.close("all")


def test_sampled_rows_have_the_parity_of_the_training_rows():
    X, y = parity_rows(2000)
    clf = TANClassifier(ParentSets.from_lists([[-1], [-1], [-1], [(0, 1)]]), "ml", binning="none").fit(X, y)
    drawn, classes = clf.sample(2000, random_state=0)
    parity = drawn[:, 0].astype(int) ^ drawn[:, 1].astype(int) ^ drawn[:, 3].astype(int) ^ classes
    assert 0.02 < parity.mean() < 0.09
    with pytest.raises(ValueError, match="two extra parents"):
        clf.sample(2, given={0: 1})


def test_missing_cells_while_training_pairs():
    X, y = parity_rows()
    X = np.where(np.random.default_rng(5).random(X.shape) < 0.05, np.nan, X)
    options = {"binning": "none", "random_state": 0, "missing": "ignore"}
    clf = TANClassifier(KDependence(ordering="natural"), GradientDescent(epochs=80), **options).fit(X, y)
    assert clf.score(X, y) > 0.8


def test_threads_do_not_change_a_bit_of_pairs():
    X, y = load_digits(return_X_y=True)
    clf = TANClassifier("k-dependence", GradientDescent(epochs=2, batch_size=200), max_bins=4, random_state=0)
    one, two = (clone(clf).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert np.array_equal(one.network_.theta, two.network_.theta)
    assert np.array_equal(one.parent_probabilities_, two.parent_probabilities_)
    assert (one.second_parents_ >= 0).any()
