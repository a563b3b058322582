"""Groups of values, effects of features and pairs as tables, and what pairs would add to the effects of features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager._threads import Crew
from tanager.model import Effects, group_values, make_groups, residual_gains
from tests.strategies import SEEDS


def group_one(codes, card, n_ordered, most, weight=None):
    """Groups of the values of a single feature."""
    codes = np.asarray(codes)
    weight = np.ones(len(codes)) if weight is None else np.asarray(weight, np.float64)
    groups = group_values(codes[:, None], np.array([card]), np.array([n_ordered]), weight, most)
    return groups.of(0)


# Groups of values.


@given(st.integers(1, 40), st.data(), st.integers(2, 12), SEEDS)
@settings(max_examples=80)
def test_groups_are_numbered_from_zero_on_and_are_no_more_than_wanted(card, data, most, seed):
    n_ordered = data.draw(st.sampled_from([0, card, card - 1]))
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, card + 1, 50)  # the number of values is unknown
    groups = group_one(codes, card, n_ordered, most, rng.gamma(1.0, size=50))
    assert len(groups) == card
    assert np.unique(groups).tolist() == list(range(groups.max() + 1))
    # Missing cells, which come after numbers, have a group of their own beyond the others.
    assert groups.max() + 1 <= most + (0 < n_ordered < card)


@given(st.integers(13, 60), st.integers(2, 12), SEEDS)
@settings(max_examples=40)
def test_groups_of_numbers_are_neighbours_and_missing_cells_stay_alone(n_ordered, most, seed):
    codes = np.random.default_rng(seed).integers(0, n_ordered + 1, 100)
    groups = group_one(codes, n_ordered + 1, n_ordered, most)
    assert (np.diff(groups) >= 0).all()
    assert np.sum(groups == groups[-1]) == 1


def test_groups_of_numbers_have_about_the_same_weight():
    rng = np.random.default_rng(0)
    codes, weight = rng.integers(0, 64, 5000), rng.uniform(0.5, 1.5, 5000)
    of_groups = np.bincount(group_one(codes, 64, 64, 8, weight)[codes], weight)
    assert len(of_groups) == 8
    np.testing.assert_allclose(of_groups / weight.sum(), 1 / 8, atol=0.02)


def test_a_heavy_number_leaves_fewer_groups_but_none_is_empty():
    codes = np.concatenate([np.full(900, 10), np.arange(20)])
    groups = group_one(codes, 20, 20, 5)
    assert (np.bincount(groups) > 0).all()
    assert groups[9] < groups[10] < groups[11] or groups[9] == groups[0]


def test_the_heaviest_categories_keep_a_group_and_the_others_share_one():
    codes = np.repeat(np.arange(6), [1, 50, 2, 40, 3, 30])
    groups = group_one(codes, 6, 0, 4)
    assert groups[[1, 3, 5]].tolist() == [0, 1, 2]
    assert groups[[0, 2, 4]].tolist() == [3, 3, 3]


def test_weights_decide_which_categories_are_heavy():
    codes, weight = np.array([0, 0, 0, 1, 2]), np.array([0.1, 0.1, 0.1, 5.0, 4.0])
    assert group_one(codes, 3, 0, 2, weight).tolist() == [1, 0, 1]


@pytest.mark.parametrize(("card", "n_ordered"), [(3, 0), (3, 3), (4, 3), (1, 0), (1, 1)])
def test_few_values_stay_apart(card, n_ordered):
    assert group_one(np.zeros(5, int), card, n_ordered, 3).tolist() == list(range(card))


def test_values_that_no_row_has_are_grouped_too():
    assert len(group_one(np.full(4, 30), 30, 30, 5)) == 30


# Effects.


def make_rows(n_rows=400, n_classes=3, seed=0):
    """Two numbers of 20 bins, the second with missing cells, and a category; the class depends on all of them."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, 20, n_rows), rng.integers(0, 21, n_rows), rng.integers(0, 5, n_rows)], axis=1)
    score = (codes[:, 0] > 9) * 1.0 + (codes[:, 1] > 12) * (codes[:, 2] > 1) + rng.normal(scale=0.5, size=n_rows)
    edges = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return codes.astype(np.uint8), np.searchsorted(edges, score)


CARDS, N_ORDERED = np.array([20, 21, 5]), np.array([20, 20, 0])


def make_effects(codes, y, n_classes, pairs=(), weight=None, **options):
    weight = np.ones(len(y)) if weight is None else weight
    groups = group_values(codes, CARDS, N_ORDERED, weight, 6)
    return Effects(codes, y, weight, n_classes, N_ORDERED, groups, pairs, **options)


def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def summed(effects, theta, codes):
    """Scores of rows without unknown values: the bias, main effects, and effects of pairs of groups."""
    scores = np.tile(effects.bias(theta), (len(codes), 1))
    for i in range(codes.shape[1]):
        scores += effects.main(theta, i)[codes[:, i]]
    for p, (a, b) in enumerate(effects.pairs):
        of = effects.groups.of
        scores += effects.pair(theta, p)[of(a)[codes[:, a]], of(b)[codes[:, b]]]
    return scores


@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
@pytest.mark.parametrize("pairs", [(), [(0, 1), (1, 2)]], ids=["mains", "pairs"])
def test_probabilities_are_the_softmax_of_the_summed_effects(n_classes, pairs):
    codes, y = make_rows(n_classes=n_classes)
    effects = make_effects(codes, y, n_classes, pairs)
    theta = effects.fit(0.3, 0.3)
    found = effects.probabilities(theta)
    np.testing.assert_allclose(found, softmax(summed(effects, theta, codes)), atol=1e-5)
    assert [effects.main(theta, i).shape for i in range(3)] == [(20, n_classes), (21, n_classes), (5, n_classes)]
    of_classes = -np.log(found[np.arange(len(y)), y])
    np.testing.assert_allclose(effects.log_losses(theta), of_classes, rtol=1e-6)


def test_an_effect_of_two_classes_is_split_between_them():
    codes, y = make_rows(n_classes=2)
    effects = make_effects(codes, y, 2, [(0, 2)])
    theta = effects.fit(1.0, 1.0)
    for table in (effects.main(theta, 0), effects.pair(theta, 0), effects.bias(theta)):
        np.testing.assert_array_equal(table[..., 0], -table[..., 1])
    assert effects.pair(theta, 0).shape == (6, 5, 2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_fit_does_not_depend_on_where_it_starts(n_classes):
    codes, y = make_rows(150, n_classes)
    effects = make_effects(codes, y, n_classes, [(0, 2)])
    first = effects.fit(1.0, 1.0, most_steps=1000, tolerance=1e-9)
    start = np.random.default_rng(0).normal(size=len(first))
    second = effects.fit(1.0, 1.0, start, most_steps=1000, tolerance=1e-9)
    np.testing.assert_allclose(effects.probabilities(first), effects.probabilities(second), atol=3e-3)


def test_a_fit_lowers_the_loss():
    codes, y = make_rows()
    effects = make_effects(codes, y, 3, [(1, 2)])
    losses = [effects.log_losses(effects.fit(0.1, 0.1, most_steps=n)).mean() for n in (0, 1, 3, 30)]
    assert losses[0] == pytest.approx(np.log(3), rel=1e-6)
    assert (np.diff(losses) < 0).all()


def many_classes(seed=0):
    """Five rows of each of 150 classes with two features: bins that tell something of the class, and categories."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(150), 5)
    codes = np.stack([np.clip(y // 8 + rng.integers(-1, 2, 750), 0, 19), (y + rng.integers(0, 2, 750)) % 6], axis=1)
    return codes, y


def test_with_many_classes_a_fit_starts_near_its_end():
    codes, y = many_classes()
    groups = make_groups([np.arange(20) // 5, np.arange(6)])
    effects = Effects(codes, y, np.ones(750), 150, np.array([20, 0]), groups, [(0, 1)])
    start, near = (effects.log_losses(effects.fit(1.0, 3.0, most_steps=n)).mean() for n in (0, 100))
    n_entries = 21 * 150 + 7 * 150 + 5 * 7 * 150 + 150
    far, end = (effects.log_losses(effects.fit(1.0, 3.0, np.zeros(n_entries), most_steps=n)).mean() for n in (0, 100))
    assert far == pytest.approx(np.log(150), abs=1e-5)
    assert start < 0.7 * far
    assert near == pytest.approx(end, abs=0.02)


def test_a_fit_may_start_from_one_without_pairs():
    codes, y = make_rows()
    alone, both = make_effects(codes, y, 3), make_effects(codes, y, 3, [(0, 1)])
    mains = alone.fit(1.0, 1.0)
    started = both.fit(1.0, 1.0, mains, most_steps=0)
    np.testing.assert_array_equal(both.main(started, 2), alone.main(mains, 2))
    np.testing.assert_array_equal(both.bias(started), alone.bias(mains))
    assert not both.pair(started, 0).any()
    ends = [both.fit(1.0, 1.0, start, most_steps=500, tolerance=1e-8) for start in (mains, None)]
    np.testing.assert_allclose(both.probabilities(ends[0]), both.probabilities(ends[1]), atol=5e-3)


def test_a_stronger_penalty_makes_effects_smoother():
    codes, y = make_rows()
    effects = make_effects(codes, y, 3, [(1, 2)])

    def roughness(main, pair):
        theta = effects.fit(main, pair, most_steps=300, tolerance=1e-8)
        return np.abs(np.diff(effects.main(theta, 0), axis=0)).sum(), np.abs(effects.pair(theta, 0)).sum()

    weak, strong, strongest = roughness(0.1, 0.1), roughness(10.0, 10.0), roughness(1e6, 1e6)
    assert all(a > b > c for a, b, c in zip(weak, strong, strongest, strict=True))
    assert max(strongest) < 0.01


def test_values_in_order_are_pulled_together_and_others_are_not():
    """The same codes as numbers and as categories: a value between two others is as they are only if in order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    x = np.where(y == 1, rng.choice([3, 5], 600), rng.choice([0, 8], 600))
    codes, groups, weight = x[:, None].astype(np.uint8), make_groups([np.zeros(9, int)]), np.ones(600)

    def effect_of_four(n_ordered):
        effects = Effects(codes, y, weight, 2, np.array([n_ordered]), groups)
        return effects.main(effects.fit(0.1, 1.0), 0)[4, 1]

    assert effect_of_four(9) > 0.5
    assert effect_of_four(0) == pytest.approx(0.0, abs=0.05)


def test_unknown_values_have_effects_of_their_own():
    """They do not move those of other values."""
    codes, y = make_rows(n_classes=2)
    codes = codes.copy()
    codes[:100, 2] = 5
    y[:100] = 1
    effects = make_effects(codes, y, 2, [(0, 2)])
    theta = effects.fit(0.1, 0.1)
    probabilities = effects.probabilities(theta)
    assert probabilities[:100, 1].min() > probabilities[100:, 1].mean()
    assert effects.main(theta, 2).shape == (5, 2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_repeated_rows(n_classes):
    codes, y = make_rows(200, n_classes)
    times = np.random.default_rng(1).integers(0, 4, 200)
    weighted = make_effects(codes, y, n_classes, [(0, 1)], times.astype(float))
    repeated = make_effects(np.repeat(codes, times, axis=0), np.repeat(y, times), n_classes, [(0, 1)])
    np.testing.assert_array_equal(weighted.groups.of_value, repeated.groups.of_value)
    first, second = (each.fit(1.0, 1.0, most_steps=500, tolerance=1e-8) for each in (weighted, repeated))
    np.testing.assert_allclose(
        softmax(summed(weighted, first, codes)), softmax(summed(repeated, second, codes)), atol=5e-3
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_number_of_threads_does_not_change_a_bit(n_classes):
    codes, y = make_rows(3000, n_classes)
    found = [make_effects(codes, y, n_classes, [(0, 1)], n_threads=n).fit(1.0, 1.0).tobytes() for n in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


# Strengths of single features.


def penalty_matrix(effects, feature, penalty):
    """The quadratic form of a main effect's penalty, float64[R + 1, R + 1]."""
    n_values, first = int(effects._cards[feature]), int((effects._cards[:feature] - 1).sum())
    edges = effects._edge_weights[first : first + n_values - 1]
    steps, bends = np.diff(np.eye(n_values), axis=0), np.diff(np.eye(n_values), n=2, axis=0)
    matrix = penalty[0] * np.eye(n_values) + steps.T @ (penalty[1] * edges[:, None] * steps)
    return matrix + bends.T @ (penalty[3] * (edges[:-1] * edges[1:])[:, None] * bends)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_matrix_of_a_penalty_is_the_form_that_the_core_minimises(n_classes):
    codes, y = make_rows(n_classes=n_classes)
    effects = make_effects(codes, y, n_classes)
    theta = np.random.default_rng(1).normal(size=effects._core.n_entries)
    penalties = effects._penalties(np.array([0.7, 2.0, 5.0]), 1.0)
    gradient = np.empty_like(theta)
    total = effects._core.loss(theta, penalties, gradient) - effects._core.loss(theta, 0 * penalties, gradient)
    expected = 0.0
    for i in range(3):
        table = theta[effects._offset[i] : effects._offset[i + 1]].reshape(-1, effects._width)
        expected += (table * (penalty_matrix(effects, i, penalties[i]) @ table)).sum() / 2
    assert total == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("pairs", [[], [(0, 1)]])
def test_own_strengths_are_degrees_of_freedom_over_penalties(n_classes, pairs):
    codes, y = make_rows(n_classes=n_classes)
    effects, strengths = make_effects(codes, y, n_classes, pairs), np.array([3.0, 1.0, 2.0])
    theta = effects.fit(strengths, 1.0)
    found = effects.own_strengths(theta, strengths)
    p = effects.probabilities(theta)[:, 1 if n_classes == 2 else 0 :]
    of_row = (p * (1 - p)).mean(axis=1)
    for i, card in enumerate((np.diff(effects.groups.start) + 1).tolist()):
        h = np.bincount(np.minimum(codes[:, i], card - 1), of_row, minlength=card)
        penalty = penalty_matrix(effects, i, effects._penalties(1.0, 1.0)[i])
        n_free = np.trace(np.linalg.solve(np.diag(h) + strengths[i] * penalty, np.diag(h))) - 1
        effect = theta[effects._offset[i] : effects._offset[i + 1]].reshape(card, -1)
        wanted = effect.shape[1] * n_free / (effect * (penalty @ effect)).sum()
        assert found[i] == pytest.approx(np.clip(wanted, strengths[i] / 10, strengths[i] * 10), rel=1e-3)


def test_a_rough_effect_has_a_weaker_penalty_than_a_smooth_one():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 32, (4000, 3))
    jagged = np.where(np.isin(codes[:, 0], [3, 8, 9, 20, 27]), 3.0, -1.0)
    y = (jagged + (codes[:, 1] - 16) / 8 + rng.logistic(size=4000) > 0).astype(np.int64)
    cards = np.full(3, 32)
    groups = group_values(codes, cards, cards, np.ones(4000), 12)
    effects = Effects(codes.astype(np.uint8), y, np.ones(4000), 2, cards, groups)
    rough, smooth, none = effects.own_strengths(effects.fit(1.0, 1.0), np.ones(3))
    assert rough < 0.3
    assert smooth > 1.0
    assert none > 1.0


# What pairs would add.


def exclusive_or(n_rows, seed=0):
    """Five features of four values; the class is told by the first two together, and by neither alone."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n_rows, 5)).astype(np.uint8)
    y = ((codes[:, 0] > 1) ^ (codes[:, 1] > 1)).astype(np.int64)
    return codes, np.where(rng.random(n_rows) < 0.1, 1 - y, y)


def gains_of(codes, y, weight=None, n_threads=1, n_classes=2):
    n_features, weight = codes.shape[1], np.ones(len(y)) if weight is None else weight
    groups = make_groups([np.arange(4)] * n_features)
    with Crew(n_threads) as crew:
        return residual_gains(codes, y, weight, n_classes, np.zeros(n_features, int), groups, crew)


def test_a_pair_that_tells_the_class_only_together_gains_most():
    gains = gains_of(*exclusive_or(500))
    np.testing.assert_array_equal(gains, gains.T)
    assert not np.diag(gains).any()
    assert gains[0, 1] > 50
    assert np.delete(gains[np.triu_indices(5, 1)], 0).max() < 15


def test_features_that_tell_the_class_alone_gain_nothing_together():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (2000, 3)).astype(np.uint8)
    y = (codes.sum(axis=1) + rng.normal(size=2000) > 4.5).astype(np.int64)
    assert gains_of(codes, y).max() < 15


def test_gains_do_not_depend_on_threads():
    codes, y = exclusive_or(2000)
    found = [gains_of(codes, y, n_threads=n).tobytes() for n in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("n_rows", [10_000, 12_000, 20_000])
def test_an_order_of_rows_with_a_rhythm_does_not_hide_a_pair(n_rows):
    """Of many rows some are looked at, and these must not be of one class."""
    codes, y = exclusive_or(n_rows)
    n_pairs = min(np.bincount(y))
    order = np.stack([np.flatnonzero(y == c)[:n_pairs] for c in (0, 1)], axis=1).ravel()
    gains = gains_of(codes[order], y[order])
    assert gains[0, 1] > 100
    assert gains.argmax() == 1


def test_gains_of_one_class_are_none():
    codes, _ = exclusive_or(100)
    assert not gains_of(codes, np.zeros(100, np.int64), n_classes=1).any()
