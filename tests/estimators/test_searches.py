"""Which candidates a search chooses from, and structures found by closed-form tables."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

from tanager import TANClassifier
from tanager.model import pair_scores
from tanager.structure import find_cycle, maximum_spanning_tree
from tanager.training import AnnealedSearch, GreedySearch

N_FEATURES = 9
WORDS = {
    "greedy-conditional": GreedySearch("conditional"),
    "greedy-margin": GreedySearch("margin", gamma=2.0),
    "greedy-left-out": GreedySearch("margin", gamma=2.0, leaves_out=True),
    "annealed-margin": AnnealedSearch("margin", gamma=2.0),
}
SCORES = ["information", "explaining-away", "conditional", "margin"]


@pytest.fixture(scope="module")
def numbers():
    return make_classification(400, N_FEATURES, n_informative=6, n_classes=3, random_state=1)


def fit(data, structure, **parameters):
    settings = {"epochs": 3, "random_state": 0, "max_parents": 4, "binning": "quantile", "max_bins": 4}
    return TANClassifier(structure, **settings | parameters).fit(*data)


def candidates_of(classifier):
    probabilities = classifier.parent_probabilities_[:, :-1]
    return [set(np.flatnonzero(row).tolist()) for row in probabilities]


def scores_of(classifier, data, name):
    X, y = data
    codes = classifier._encode(X)
    return pair_scores(name, (codes, y, np.ones(len(y))), classifier.encoder_.cards.astype(np.int64), 3)


@pytest.mark.parametrize("structure", ["free", "pseudo"])
@pytest.mark.parametrize("screening", SCORES)
def test_screened_candidates_are_the_best(numbers, structure, screening):
    classifier = fit(numbers, structure, candidates="screened", screening=screening)
    scores = scores_of(classifier, numbers, screening)
    np.fill_diagonal(scores, -np.inf)
    for i, candidates in enumerate(candidates_of(classifier)):
        assert candidates == set(np.argsort(-scores[i])[:4].tolist())


def test_mixed_candidates_are_half_screened_and_half_random(numbers):
    screened = candidates_of(fit(numbers, "free", candidates="screened", max_parents=2))
    first, second = (candidates_of(fit(numbers, "free", candidates="mixed", random_state=seed)) for seed in (0, 1))
    assert all(len(candidates) == 4 for candidates in first)
    assert all(best <= candidates for best, candidates in zip(screened * 2, first + second, strict=True))
    assert first != second


def test_candidates_of_an_ordered_search_come_before(numbers):
    order = [8, 3, 5, 0, 1, 7, 2, 6, 4]
    for candidates in ("screened", "mixed", "all", "random", None):
        classifier = fit(numbers, "subset", candidates=candidates, ordering=order)
        for position, feature in enumerate(order):
            found = candidates_of(classifier)[feature]
            assert found <= set(order[:position])
            assert len(found) == (position if candidates == "all" else min(position, 4))
    scores = scores_of(classifier, numbers, "information")
    best = candidates_of(fit(numbers, "subset", candidates="screened", ordering=order))[4]
    assert best == set(sorted(order[:-1], key=lambda j: -scores[4, j])[:4])


def test_all_candidates_without_an_order(numbers):
    assert candidates_of(fit(numbers, "free", candidates="all")) == [
        set(range(N_FEATURES)) - {i} for i in range(N_FEATURES)
    ]


@pytest.mark.parametrize("screening", SCORES)
def test_tree_of_a_score(numbers, screening):
    classifier = fit(numbers, "tree", screening=screening, parameters="ml")
    scores = scores_of(classifier, numbers, screening)
    assert classifier.parents_.tolist() == maximum_spanning_tree(scores).tolist()


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("parameters", ["ml", "gradient"])
def test_words_for_searches(numbers, word, parameters):
    classifier = fit(numbers, word, parameters=parameters, gamma=2.0)
    given = fit(numbers, WORDS[word], parameters=parameters, gamma=0.5)
    assert classifier.parents_.tolist() == given.parents_.tolist()
    assert find_cycle(classifier.parents_) is None
    assert (classifier.parents_ >= 0).any()
    if parameters == "ml":
        assert classifier.score(*numbers) > fit(numbers, "none", parameters="ml").score(*numbers)


def test_a_search_among_screened_candidates(numbers):
    allowed = candidates_of(fit(numbers, "free", candidates="screened", max_parents=1))
    found = fit(numbers, "greedy-margin", candidates="screened", max_parents=1, parameters="ml").parents_
    for i, parent in enumerate(found):
        assert parent == -1 or parent in allowed[i]


def test_the_random_state_decides_on_annealing(numbers):
    search = AnnealedSearch(n_moves=40, temperature=(20.0, 10.0))
    runs = [fit(numbers, search, parameters="ml", random_state=seed).parents_.tolist() for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("structure", [GreedySearch("margin", max_moves=3), "greedy-conditional"])
def test_threads_and_clones_change_nothing(numbers, structure):
    classifier = fit(numbers, structure, parameters="ml")
    again = clone(classifier).set_params(n_jobs=2).fit(*numbers)
    assert classifier.parents_.tolist() == again.parents_.tolist()
    np.testing.assert_array_equal(classifier.network_.theta, again.network_.theta)


def test_weights_count_as_repeated_rows(numbers):
    X, y = numbers
    weight = np.where(np.arange(len(y)) % 2, 0.0, 1.0)
    options = {"parameters": "ml", "binning": "quantile", "max_bins": 4}
    for structure in ("greedy-margin", "greedy-conditional"):
        weighted = TANClassifier(structure, **options).fit(X, y, sample_weight=weight)
        half = TANClassifier(structure, **options).fit(X[::2], y[::2])
        assert weighted.parents_.tolist() == half.parents_.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"structure": "greedy-left-out"},
        {"structure": "tree", "screening": "margin"},
        {"structure": "tree", "screening": "conditional"},
    ],
)
def test_whole_weights_are_repeated_rows_where_a_row_is_left_out(options):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (60, 5)), rng.integers(0, 3, 60)
    weight = rng.integers(1, 5, 60)
    fixed = {"parameters": "ml", "binning": "none"} | options
    weighted = TANClassifier(**fixed).fit(X, y, sample_weight=weight)
    repeated = TANClassifier(**fixed).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.parents_.tolist() == repeated.parents_.tolist()
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_progress_is_told(numbers, capsys):
    fit(numbers, GreedySearch("margin", max_moves=2), parameters="ml", verbose=1)
    assert "move 2  score" in capsys.readouterr().err


def test_one_feature_needs_no_search(numbers):
    X, y = numbers
    for structure in ("free", "greedy-margin", "tree"):
        assert fit((X[:, :1], y), structure, candidates="mixed").parents_.tolist() == [-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"candidates": "best"}, "candidates must be one of None, 'random', 'screened', 'mixed', 'all', got 'best'"),
        ({"screening": "luck"}, "screening must be one of 'information'"),
        ({"free": "yes"}, "free must be one of 'project', 'arborescence'"),
        ({"structure": "greedy"}, "structure must be one of .*'greedy-margin'.* got 'greedy'"),
    ],
)
def test_mistakes_are_named(numbers, options, message):
    with pytest.raises(ValueError, match=message):
        fit(numbers, **{"structure": "free"} | options)
