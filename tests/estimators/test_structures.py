"""Every word for a structure: which parents come out, and which could have."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification

from tanager import ParentSets, TANClassifier
from tanager.structure import (
    along_diagonal,
    centre_outwards,
    find_cycle,
    fixed_parents,
    maximum_spanning_tree,
    row_wise,
)

N_FEATURES = 9
SEARCHES = ["subset", "all", "nearest", "pseudo"]
FIXED = ["none", "random", "chow-liu"]
ORDERED = [*FIXED, "subset", "all", "nearest"]


@pytest.fixture(scope="module")
def numbers():
    return make_classification(400, N_FEATURES, n_informative=6, n_classes=3, random_state=1)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:500], y[:500]


def fit(data, structure, **parameters):
    settings = {"epochs": 4, "random_state": 0, "max_parents": 3, "image_shape": (3, 3)}
    settings |= {"binning": "quantile"} | parameters  # so that no feature is constant
    return TANClassifier(structure, **settings).fit(*data)


def candidates_of(classifier):
    """Candidates of each feature as sets, read off the probabilities: none is zero after so few steps."""
    probabilities = classifier.parent_probabilities_
    n_features = len(probabilities)
    return [{-1 if j == n_features else int(j) for j in np.flatnonzero(row)} for row in probabilities]


@pytest.mark.parametrize("structure", FIXED + SEARCHES)
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


@pytest.mark.parametrize("structure", ORDERED)
@pytest.mark.parametrize("random_state", [0, 1, 2])
def test_ordered_structures_have_no_cycle(numbers, structure, random_state):
    classifier = fit(numbers, structure, random_state=random_state)
    assert find_cycle(classifier.parents_) is None
    assert classifier.network_.is_bayesian_network


@pytest.mark.parametrize("structure", SEARCHES)
def test_parents_are_among_at_most_max_parents_candidates(numbers, structure):
    classifier = fit(numbers, structure, max_parents=3)
    sizes = []
    for parent, candidates in zip(classifier.parents_, candidates_of(classifier), strict=True):
        assert parent in candidates
        assert -1 in candidates
        sizes.append(len(candidates) - 1)
    expected = {"all": list(range(9)), "pseudo": [3] * 9}.get(structure, [0, 1, 2, 3, 3, 3, 3, 3, 3])
    assert sorted(sizes) == expected


@pytest.mark.parametrize("structure", ["subset", "nearest", "pseudo"])
def test_candidates_nest_across_max_parents(numbers, structure):
    few, some, many = (candidates_of(fit(numbers, structure, max_parents=k)) for k in (1, 3, 6))
    assert all(a <= b <= c for a, b, c in zip(few, some, many, strict=True))
    assert few != some != many


@pytest.mark.parametrize("structure", ["subset", "pseudo", "random", "all"])
def test_the_random_state_draws_the_candidates(numbers, structure):
    drawn = [candidates_of(fit(numbers, structure, random_state=seed)) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_none_has_no_parents(numbers):
    classifier = fit(numbers, "none")
    assert classifier.parents_.tolist() == [-1] * N_FEATURES
    assert (classifier.parent_probabilities_[:, -1] == 1).all()


def test_random_gives_all_but_the_first_a_parent_before_them(numbers):
    order = [4, 2, 0, 1, 3, 8, 6, 7, 5]
    parents = fit(numbers, "random", ordering=order).parents_
    position = np.argsort(order)
    assert parents[4] == -1
    assert all(position[parents[feature]] < position[feature] for feature in order[1:])


def information_by_counting(codes, y):
    """Conditional mutual information of all pairs given the class, one cell at a time."""
    n_rows, n_features = codes.shape
    information = np.zeros((n_features, n_features))
    for i in range(n_features):
        for j in range(i):
            for c in np.unique(y):
                of_class = codes[y == c]
                for a in np.unique(of_class[:, i]):
                    for b in np.unique(of_class[:, j]):
                        both = ((of_class[:, i] == a) & (of_class[:, j] == b)).sum()
                        if both:
                            apart = (of_class[:, i] == a).sum() * (of_class[:, j] == b).sum()
                            information[i, j] += both / n_rows * np.log(both * len(of_class) / apart)
            information[j, i] = information[i, j]
    return information


@pytest.mark.parametrize("parameters", ["gradient", "ml"])
def test_chow_liu_is_the_tree_of_most_information(numbers, parameters):
    X, y = numbers
    classifier = fit(numbers, "chow-liu", parameters=parameters, max_bins=4)
    codes = np.column_stack(
        [np.searchsorted(column.cuts, X[:, i], side="right") for i, column in enumerate(classifier.encoder_.columns)]
    )
    information = information_by_counting(codes, y)
    np.testing.assert_array_equal(classifier.parents_, maximum_spanning_tree(information))
    assert classifier.parents_[0] == -1


def test_chow_liu_uses_the_weights(numbers):
    X, y = numbers
    weight = np.where(np.arange(len(y)) % 2, 0.0, 1.0)
    weighted = TANClassifier("chow-liu", parameters="ml").fit(X, y, sample_weight=weight)
    half = TANClassifier("chow-liu", parameters="ml").fit(X[::2], y[::2])
    all_rows = TANClassifier("chow-liu", parameters="ml").fit(X, y)
    np.testing.assert_array_equal(weighted.parents_, half.parents_)
    assert not np.array_equal(weighted.parents_, all_rows.parents_)


def test_closed_form_of_naive_bayes_is_smoothed_frequencies(numbers):
    X, y = numbers
    codes = (X > 0).astype(int)
    classifier = TANClassifier("none", parameters="ml", smoothing=0.5, categorical_features=range(9)).fit(codes, y)
    counts = np.array([[(codes[y == c, 0] == value).sum() for c in range(3)] for value in (0, 1)])
    np.testing.assert_allclose(classifier.network_.cpt(0)[0], (counts + 0.5) / (counts.sum(axis=0) + 1), rtol=1e-6)
    prior = (np.bincount(y) + 0.5) / (len(y) + 1.5)
    np.testing.assert_allclose(np.exp(classifier.network_.log_prior), prior)


@pytest.mark.parametrize("structure", ["random", "subset", "all"])
def test_ordering_as_permutation(numbers, structure):
    order = [8, 3, 5, 0, 1, 7, 2, 6, 4]
    classifier = fit(numbers, structure, ordering=order, max_parents=8)
    for position, feature in enumerate(order):
        before = set(order[:position])
        candidates = candidates_of(classifier)[feature]
        if structure == "random":
            assert candidates <= (before or {-1})
        else:
            assert candidates == before | {-1}


def test_ordering_natural_and_random(numbers):
    natural = fit(numbers, "all", ordering="natural")
    assert candidates_of(natural) == [set(range(-1, i)) for i in range(N_FEATURES)]
    by_name, by_default = fit(numbers, "all", ordering="random"), fit(numbers, "all")
    assert candidates_of(by_name) == candidates_of(by_default) != candidates_of(natural)


@pytest.mark.parametrize(
    ("ordering", "make_order"),
    [("A", row_wise), ("B", along_diagonal), ("C", centre_outwards), (None, centre_outwards)],
)
def test_nearest_on_digits(digits, ordering, make_order):
    """Candidates are the K preceding pixels of least distance, earlier in the order where distances tie."""
    n_candidates = 4
    classifier = fit(digits, "nearest", ordering=ordering, image_shape=(8, 8), max_parents=n_candidates, epochs=2)
    order = make_order((8, 8)).tolist()
    candidates = candidates_of(classifier)
    for position, feature in enumerate(order):
        row, column = divmod(feature, 8)

        def distance(other, row=row, column=column):
            return (other // 8 - row) ** 2 + (other % 8 - column) ** 2

        nearest = sorted(order[:position], key=distance)[:n_candidates]
        assert candidates[feature] == {-1, *nearest}
        assert classifier.parents_[feature] in {-1, *nearest}
    assert find_cycle(classifier.parents_) is None


def test_orderings_of_images_also_serve_other_structures(digits):
    classifier = fit(digits, "all", ordering="C", image_shape=(8, 8), epochs=1)
    first, second = centre_outwards((8, 8))[:2]
    assert candidates_of(classifier)[first] == {-1}
    assert candidates_of(classifier)[second] == {-1, first}


def test_image_with_more_columns_than_rows(numbers):
    X, y = numbers
    classifier = fit((X[:, :8], y), "nearest", ordering="A", image_shape=(2, 4), max_parents=1)
    # The pixel above comes first in the order, so it wins the tie with the one to the left.
    assert candidates_of(classifier)[5] == {-1, 1}
    assert candidates_of(classifier)[3] == {-1, 2}


def test_pseudo_has_no_order(numbers):
    classifier = fit(numbers, "pseudo", max_parents=8)
    assert candidates_of(classifier) == [{-1, *range(N_FEATURES)} - {i} for i in range(N_FEATURES)]


def test_a_cycle_of_a_pseudo_structure_still_classifies(numbers):
    X, y = numbers
    circle = ParentSets.from_lists([[(i + 1) % N_FEATURES] for i in range(N_FEATURES)])
    classifier = fit(numbers, circle, epochs=20)
    assert classifier.parents_.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]
    assert not classifier.network_.is_bayesian_network
    assert classifier.score(X, y) > 0.7
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("as_type", [list, tuple, np.array])
@pytest.mark.parametrize("parameters", ["gradient", "ml"])
def test_given_parents_are_kept(numbers, as_type, parameters):
    parents = [-1, 0, 0, 5, 3, 1, -1, 8, 6]
    classifier = fit(numbers, as_type(parents), parameters=parameters)
    assert classifier.parents_.tolist() == parents
    assert (classifier.parent_probabilities_.max(axis=1) == 1).all()
    shapes = [classifier.network_.cpt(i).shape[0] for i in range(N_FEATURES)]
    assert shapes == [1 if parent < 0 else 10 for parent in parents]


def test_given_search_space_is_used_as_it_is(numbers):
    sets = ParentSets.from_lists(
        [[-1], [0], [-1, 0], [2, 1], [-1, 3], [4], [-1, 5, 0], [6], [7, 0]], order=list(range(9))
    )
    classifier = fit(numbers, sets, max_parents=1, ordering=[8, 7, 6, 5, 4, 3, 2, 1, 0])
    assert candidates_of(classifier) == [set(candidates) for candidates in sets.to_lists()]


def test_a_search_space_with_one_candidate_each_is_the_fixed_structure(numbers):
    parents = [-1, 0, 0, 5, 3, 1, -1, 8, 6]
    given, space = fit(numbers, parents), fit(numbers, fixed_parents(parents))
    np.testing.assert_array_equal(given.network_.theta, space.network_.theta)


def test_learning_finds_the_parent_that_matters():
    """Feature 1 is feature 0 shifted by the class: the two tell it together, and neither alone."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    X = rng.integers(0, 3, (600, 4))
    X[:, 1] = (X[:, 0] + y) % 3
    settings = {"ordering": "natural", "categorical_features": range(4), "random_state": 0}
    classifier = TANClassifier("all", epochs=30, **settings).fit(X, y)
    assert classifier.parents_[1] == 0
    assert classifier.parent_probabilities_[1, 0] > 0.9
    assert classifier.score(X, y) == 1.0
    assert TANClassifier("none", epochs=30, **settings).fit(X, y).score(X, y) < 0.8


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"image_shape": None}, r"structure='nearest' needs image_shape=\(rows, columns\)"),
        ({"image_shape": (3, 4)}, r"image_shape=\(3, 4\) does not fit 9 features"),
        ({"image_shape": (9,)}, r"image_shape=\(9,\) does not fit 9 features"),
        ({"image_shape": (3, 3, 1)}, r"image_shape=\(3, 3, 1\) does not fit 9 features"),
        ({"image_shape": (-3, -3)}, r"image_shape=\(-3, -3\) does not fit 9 features"),
        ({"image_shape": 9}, "image_shape=9 does not fit 9 features"),
        ({"image_shape": (3.5, 3)}, r"image_shape=\(3.5, 3\) does not fit 9 features"),
        ({"structure": "all", "ordering": "B", "image_shape": None}, "ordering='B' needs image_shape"),
        ({"ordering": "B", "image_shape": (1, 9)}, "square"),
        ({"ordering": "C", "image_shape": (9, 1)}, "square"),
    ],
)
def test_image_shapes_that_do_not_fit(numbers, parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(numbers, **{"structure": "nearest"} | parameters)
