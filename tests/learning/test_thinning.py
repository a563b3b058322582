"""Which pairs of a structure are kept."""

import numpy as np

from tanager.learning import Context, Rows
from tanager.learning.thinning import clearness, thin
from tanager.model import make_layout
from tanager.structure import EdgeRules, fixed_parents

CHAIN = [-1, 0, 1, 2]


def make_context(n_rows=4000, n_classes=2, rules=None, seed=0):
    """Four features of which only the first two, together, tell the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (n_rows, 4)).astype(np.uint8)
    y = np.where(rng.random(n_rows) < 0.7, (codes[:, 0] + codes[:, 1]) % n_classes, rng.integers(0, n_classes, n_rows))
    return Context(Rows(codes, y, None, np.full(4, 6), n_classes, np.full(4, 6)), rules=rules)


def parents_of(layouts):
    return [each.parent_sets.parents.tolist() for each in layouts]


def thinned(context, least, structures=(CHAIN,)):
    rows = context.rows
    layouts = [
        make_layout(fixed_parents(each), rows.cards, rows.n_classes, groups=context.groups()) for each in structures
    ]
    return parents_of(thin(layouts, context, least))


def test_noise_is_within_a_few_deviations_of_chance_and_a_signal_is_not():
    for n_classes in (2, 3):
        for seed in range(5):
            found = clearness(make_context(n_classes=n_classes, seed=seed))
            others = found[np.triu_indices(4, 1)][1:]
            assert found[0, 1] > 20
            assert -6 < others.min() < others.max() < 3  # main effects have taken some of the noise


def test_pairs_below_the_least_gain_are_left_out_of_all_structures():
    context = make_context()
    assert thinned(context, 5.0, (CHAIN, [2, 3, -1, 0])) == [[-1, 0, -1, -1], [-1, -1, -1, -1]]
    assert thinned(context, -100.0) == [CHAIN]


def test_the_clearest_pair_stays():
    assert thinned(make_context(), 1e9) == [[-1, 0, -1, -1]]
    assert thinned(make_context(), 1e9, ([-1, -1, -1, -1],)) == [[-1, -1, -1, -1]]


def test_required_edges_stay():
    rules = EdgeRules.from_edges(4, [], [(2, 3)])
    assert thinned(make_context(rules=rules), 5.0) == [[-1, 0, -1, 2]]


def test_pairs_without_values_in_common_are_no_error():
    rows = Rows(np.zeros((5, 1), np.uint8), np.array([0, 1, 0, 1, 1]), None, np.array([1]), 2)
    assert thinned(Context(rows), 0.0, ([-1],)) == [[-1]]
