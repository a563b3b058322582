"""What the paper reports, measured again on its data. Errors are shares of test rows in percent."""

import numpy as np
import pytest

from tanager import Counts, GradientDescent, Hybrid, TANClassifier, paper_settings
from tanager.model import conditional_mutual_information
from tanager.structure import all_candidates, maximum_spanning_tree, topological_order
from tests.paper_data import Fold, load_folds, need_long_runs

pytestmark = pytest.mark.data


def fit(fold: Fold, structure, parameters, **options) -> TANClassifier:
    classifier = TANClassifier(structure, parameters, categorical_features=range(fold.X_train.shape[1]), **options)
    return classifier.fit(fold.X_train, fold.y_train)


def error_of(classifier: TANClassifier, fold: Fold) -> float:
    return 100 * (1 - classifier.score(fold.X_test, fold.y_test))


def closed_form_error(name: str, structure: str) -> float:
    """Mean over the folds."""
    errors = []
    for fold in load_folds(name):
        classifier = fit(fold, structure, Counts(1.0))
        np.testing.assert_array_equal(classifier.encoder_.cards, fold.n_values)
        errors.append(error_of(classifier, fold))
    return float(np.mean(errors))


@pytest.mark.parametrize(
    ("name", "structure", "expected"),
    [
        ("letter", "none", 25.89),
        ("letter", "chow-liu", 15.23),
        ("satimage", "none", 17.95),
        ("satimage", "chow-liu", 11.90),
        ("usps", "none", 13.11),
        ("usps", "chow-liu", 8.74),
    ],
)
def test_closed_form_columns_of_table_1(name, structure, expected):
    assert round(closed_form_error(name, structure), 2) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("structure", "expected"), [("none", 17.37), ("chow-liu", 7.20)])
def test_closed_form_columns_of_table_1_on_mnist(structure, expected):
    """The split of mnist is not that of the paper, which is unknown: 17.34 and 7.03 there."""
    assert closed_form_error("mnist", structure) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_short_search_beats_the_closed_forms_on_letter(seed):
    """The error measured is 10.4 to 11.3 over seeds; naive Bayes has 25.89 and Chow-Liu 15.23."""
    (fold,) = load_folds("letter")
    parameters = GradientDescent(Hybrid(lam=100.0), epochs=40)
    classifier = fit(fold, "subset", parameters, random_state=seed)
    assert error_of(classifier, fold) < 12.5


# CPTs learn fast and the parent distribution slowly: all candidates are well fitted before it takes sides. At the
# default rates the first CPT that happens to be good is drawn more often, so it gets better still, and it stays.
RECOVERY = GradientDescent(
    "nll", epochs=200, batch_size=100, learning_rate=0.5, learning_rate_decay=0.01, structure_learning_rate=5e-4
)


def edges_with_information(parents, information):
    """Edges without direction. Those of no information, as to letter's constant feature, could as well be absent."""
    pairs = [(i, j) for i, j in enumerate(parents) if j >= 0 and information[i, j] > 1e-9]
    return {frozenset(map(int, pair)) for pair in pairs}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "n_edges"), [("letter", 14), ("satimage", 35)])
def test_likelihood_recovers_the_chow_liu_tree(name, n_edges, seed):
    """Section 4.5: the search space is all predecessors in an order of the Chow-Liu tree.

    Trees are compared by their edges, without direction, and by the information summed over them, which is what the
    likelihood of a tree differs by: one that ties with Chow-Liu's would differ in the first and agree in the second.
    """
    fold = load_folds(name)[0]
    weight, cards = np.ones(len(fold.y_train)), fold.n_values.astype(np.int64)
    information = conditional_mutual_information(fold.X_train, fold.y_train.astype(np.int64), weight, cards)
    tree = maximum_spanning_tree(information)
    assert len(edges_with_information(tree, information)) == n_edges

    search_space = all_candidates(topological_order(tree))
    learned = fit(fold, search_space, RECOVERY, random_state=seed).parents_

    assert edges_with_information(learned, information) == edges_with_information(tree, information)
    with_parent, all_features = learned >= 0, np.arange(len(tree))
    learned_total = information[all_features[with_parent], learned[with_parent]].sum()
    assert learned_total == pytest.approx(information[all_features[1:], tree[1:]].sum(), rel=1e-12)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_tan_subset_on_letter_as_published(record_property):
    """TAN Subset, K = 8, best published configuration. The paper's 8.73 is the least of thousands of runs."""
    need_long_runs("five runs of 500 epochs on letter, one or two minutes in all")
    (fold,) = load_folds("letter")
    errors = []
    for seed in range(5):
        classifier = fit(fold, random_state=seed, **paper_settings("letter", "subset"))
        errors.append(error_of(classifier, fold))
    record_property("errors", errors)
    print("test errors of five seeds:", np.round(errors, 2))
    assert np.mean(errors) <= 9.1
