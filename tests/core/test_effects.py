"""Sums of effects against loops and other programs: loss, gradient, minimum, gains of pairs; and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tests.core.test_messages import misaligned, read_only
from tests.oracles import effects_oracle
from tests.oracles.effects_oracle import Problem
from tests.strategies import SEEDS

CODE_TYPES = (np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64)
CLASSES = [1, 2, 3, 9]
# Rows are scored in single precision.
CLOSE = 2e-6


def make_problem(cards, tables, n_classes, n_rows, seed, copies=1.0):
    """Random rows, weights and edges; a third of the edges weighs nothing."""
    rng = np.random.default_rng(seed)
    edges = [(rng.uniform(0.2, 2.0, card - 1) * (rng.random(card - 1) < 0.7)).tolist() for card in cards]
    columns = np.stack([rng.integers(0, card, n_rows) for card in cards])
    weight = rng.uniform(0.1, 2.0, n_rows)
    y = rng.integers(0, n_classes, n_rows)
    return Problem(columns, y, weight, n_classes, list(cards), edges, list(tables), copies)


@st.composite
def problems(draw):
    cards = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    column = st.integers(0, len(cards) - 1)
    tables = draw(st.lists(st.tuples(column, st.one_of(st.just(-1), column)), max_size=4))
    n_classes = draw(st.sampled_from([1, 2, 3, 4, 9]))
    copies = 1.0 if n_classes <= 2 else draw(st.sampled_from([1.0, 3.5]))
    return make_problem(cards, tables, n_classes, draw(st.integers(1, 30)), draw(SEEDS), copies)


def arguments_of(problem, n_threads=1):
    return {
        "columns": problem.columns.astype(np.uint16),
        "y": problem.y,
        "weight": problem.weight,
        "n_classes": problem.n_classes,
        "cards": np.array(problem.cards),
        "edges": np.concatenate([*problem.edges, []]),
        "tables": np.array(problem.tables, np.int64).reshape(-1, 2),
        "copies": problem.copies,
        "n_threads": n_threads,
    }


def effects_of(problem, n_threads=1):
    return core.Effects(**arguments_of(problem, n_threads))


def random_penalties(problem, seed=0):
    """Strengths of ridge, along, across and both bends of each table; some are nothing."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 3.0, (len(problem.tables), 5)) * (rng.random((len(problem.tables), 5)) < 0.7)


def random_theta(problem, seed=0, spread=1.0):
    return np.random.default_rng(seed).normal(scale=spread, size=effects_oracle.n_entries(problem))


def loss_of(effects, theta, penalties):
    gradient = np.full(len(theta), np.nan)
    return effects.loss(theta, penalties, gradient), gradient


def scale_of(problem, theta, penalties):
    """What rounding is a share of: the weights, and the penalties of effects of this size."""
    return 1.0 + problem.weight.sum() + 20 * np.sum(penalties) * np.abs(theta).max(initial=1.0) ** 2


# Against loops.


@given(problems(), SEEDS)
@settings(max_examples=80)
def test_loss_and_gradient_equal_the_oracle(problem, seed):
    theta, penalties = random_theta(problem, seed), random_penalties(problem, seed)
    effects = effects_of(problem)
    assert effects.n_entries == len(theta)
    found, gradient = loss_of(effects, theta, penalties)
    atol = CLOSE * scale_of(problem, theta, penalties)
    assert found == pytest.approx(effects_oracle.loss(problem, theta, penalties), rel=1e-6, abs=atol)
    np.testing.assert_allclose(gradient, effects_oracle.gradient(problem, theta, penalties), rtol=1e-5, atol=atol)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("tables", [[(0, -1), (1, -1)], [(0, -1), (1, -1), (0, 1), (1, 0)]], ids=["mains", "pairs"])
@pytest.mark.parametrize("penalty", range(5), ids=["ridge", "along", "across", "bend along", "bend across"])
def test_each_penalty_alone_equals_the_oracle(n_classes, tables, penalty):
    problem = make_problem([5, 4], tables, n_classes, 20, seed=n_classes)
    problem = problem._replace(weight=np.zeros(20))
    theta, penalties = random_theta(problem), np.zeros((len(tables), 5))
    penalties[:, penalty] = 2.5
    found, gradient = loss_of(effects_of(problem), theta, penalties)
    assert found == pytest.approx(effects_oracle.loss(problem, theta, penalties), rel=1e-12)
    np.testing.assert_allclose(gradient, effects_oracle.gradient(problem, theta, penalties), rtol=1e-12, atol=1e-12)
    assert (found > 0) == (penalty not in (2, 4) or len(tables) > 2)


def test_edges_of_weight_zero_hold_nothing_together():
    problem = make_problem([4], [(0, -1)], 2, 10, seed=0)
    problem = problem._replace(weight=np.zeros(10), edges=[[1.0, 0.0, 2.0]])
    only_the_middle = np.array([0.0, 0.0, 5.0, 5.0, 0.0])  # differs across the edge without weight
    found, gradient = loss_of(effects_of(problem), only_the_middle, np.array([[0.0, 1.0, 1.0, 1.0, 1.0]]))
    assert found == 0.0
    assert gradient.tolist() == [0.0] * 5


@pytest.mark.parametrize("n_classes", CLASSES)
def test_gradient_equals_finite_differences(n_classes):
    problem = make_problem([4, 3], [(0, -1), (1, -1), (1, 0)], n_classes, 60, seed=1)
    effects, penalties = effects_of(problem), random_penalties(problem)
    # Whole multiples of the step, which single precision holds.
    step = 2.0**-6
    theta = np.round(random_theta(problem) / step) * step
    _, gradient = loss_of(effects, theta, penalties)
    for k in range(len(theta)):
        there = np.arange(len(theta)) == k
        up, down = (loss_of(effects, theta + sign * step * there, penalties)[0] for sign in (1, -1))
        assert gradient[k] == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=5e-3)


@given(problems(), SEEDS)
@settings(max_examples=40)
def test_probabilities_equal_the_oracle(problem, seed):
    theta, found = random_theta(problem, seed), np.full((len(problem.y), problem.n_classes), np.nan)
    effects_of(problem).probabilities(theta, found)
    np.testing.assert_allclose(found, effects_oracle.probabilities(problem, theta), atol=CLOSE)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=CLOSE)


@given(problems(), SEEDS)
@settings(max_examples=40)
def test_curvature_equals_the_oracle(problem, seed):
    theta, penalties = random_theta(problem, seed), random_penalties(problem, seed)
    found = np.full(len(theta), np.nan)
    effects_of(problem).curvature(theta, penalties, found)
    expected = effects_oracle.curvature(problem, theta, penalties)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=CLOSE * scale_of(problem, 1.0, penalties))


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_many_rows_are_summed_without_losing_any(n_classes):
    """More rows than a block of scores and than a stretch of sums in single precision."""
    n_rows = 9000
    problem = make_problem([3, 2], [(0, -1), (0, 1)], n_classes, n_rows, seed=0)
    theta = random_theta(problem)
    found, gradient = loss_of(effects_of(problem), theta, np.zeros((2, 5)))
    assert found == pytest.approx(effects_oracle.log_likelihood_loss(problem, theta), rel=1e-6)
    expected = effects_oracle.gradient(problem, theta, np.zeros((2, 5)))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * n_rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_far_apart_have_a_finite_loss(n_classes):
    problem = make_problem([2], [(0, -1)], n_classes, 40, seed=0)
    theta = np.zeros(effects_oracle.n_entries(problem))
    theta[:2] = [3e4, -3e4]
    found, gradient = loss_of(effects_of(problem), theta, np.zeros((1, 5)))
    assert np.isfinite(found)
    assert found > 1e4
    assert np.isfinite(gradient).all()
    probabilities = np.empty((40, n_classes))
    effects_of(problem).probabilities(theta, probabilities)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_without_tables_the_bias_learns_the_shares_of_the_classes():
    problem = make_problem([2], [], 3, 50, seed=0)
    theta, probabilities = np.zeros(3), np.empty((50, 3))
    effects = effects_of(problem)
    effects.minimise(theta, np.zeros((0, 5)), 100, 1e-9)
    effects.probabilities(theta, probabilities)
    shares = np.bincount(problem.y, problem.weight, minlength=3) / problem.weight.sum()
    np.testing.assert_allclose(probabilities[0], shares, atol=1e-4)


def test_weights_are_repeated_rows():
    problem = make_problem([4, 3], [(0, -1), (0, 1)], 3, 30, seed=0)
    times = np.random.default_rng(0).integers(0, 4, 30)
    weighted = problem._replace(weight=times.astype(float))
    repeated = problem._replace(
        columns=np.repeat(problem.columns, times, axis=1), y=np.repeat(problem.y, times), weight=np.ones(times.sum())
    )
    theta, penalties = random_theta(problem), random_penalties(problem)
    (first, gradient), (second, other) = (loss_of(effects_of(each), theta, penalties) for each in (weighted, repeated))
    assert first == pytest.approx(second, rel=1e-6)
    np.testing.assert_allclose(gradient, other, atol=1e-4)


@pytest.mark.parametrize("code_type", CODE_TYPES)
def test_columns_of_any_whole_numbers(code_type):
    problem = make_problem([5, 4], [(0, -1), (0, 1)], 3, 20, seed=0)
    theta, penalties = random_theta(problem), random_penalties(problem)
    arguments = {**arguments_of(problem), "columns": problem.columns.astype(code_type)}
    found, gradient = loss_of(core.Effects(**arguments), theta, penalties)
    expected, expected_gradient = loss_of(effects_of(problem), theta, penalties)
    assert found == expected
    assert np.array_equal(gradient, expected_gradient)


def test_what_was_given_may_change_afterwards():
    problem = make_problem([5, 4], [(0, -1), (0, 1)], 3, 20, seed=0)
    arguments, theta, penalties = arguments_of(problem), random_theta(problem), random_penalties(problem)
    effects = core.Effects(**arguments)
    before, gradient = loss_of(effects, theta, penalties)
    for array in arguments.values():
        if isinstance(array, np.ndarray):
            array[...] = 10_000
    after, same = loss_of(effects, theta, penalties)
    assert after == before
    assert np.array_equal(gradient, same)


# The minimum.


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("tables", [[(0, -1), (1, -1)], [(0, -1), (1, -1), (0, 1)]], ids=["mains", "pairs"])
def test_the_minimum_is_that_of_scipy(n_classes, tables):
    from scipy.optimize import minimize  # not above: with its own BLAS, the thread sanitizer would not start

    problem = make_problem([5, 4], tables, n_classes, 40, seed=n_classes)
    penalties = random_penalties(problem)
    penalties[:, 0] += 0.1
    theta = np.zeros(effects_oracle.n_entries(problem))
    value, n_steps, is_reached = effects_of(problem).minimise(theta, penalties, 500, 1e-9)
    peer = minimize(
        lambda x: effects_oracle.loss(problem, x, penalties),
        np.zeros(len(theta)),
        jac=lambda x: effects_oracle.gradient(problem, x, penalties),
        method="L-BFGS-B",
        options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-8},
    )
    assert is_reached
    assert n_steps <= 500
    assert value == pytest.approx(effects_oracle.loss(problem, theta, penalties), rel=1e-5, abs=1e-5)
    assert value == pytest.approx(peer.fun, rel=1e-5, abs=1e-5)
    found, expected = (effects_oracle.probabilities(problem, each) for each in (theta, peer.x))
    np.testing.assert_allclose(found, expected, atol=3e-3)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("spread", [0.0, 5.0])
def test_no_step_raises_the_loss(n_classes, spread):
    problem = make_problem([6, 4], [(0, -1), (0, 1)], n_classes, 200, seed=3)
    effects, penalties = effects_of(problem), random_penalties(problem)
    start = random_theta(problem, spread=spread)
    values = [loss_of(effects, start, penalties)[0]]
    for most_steps in range(12):
        theta = start.copy()
        value, n_steps, _ = effects.minimise(theta, penalties, most_steps, 0.0)
        assert n_steps <= most_steps
        assert value == loss_of(effects, theta, penalties)[0]
        values.append(value)
    assert values[0] == values[1]
    assert (np.diff(values) <= 0).all()
    assert values[-1] < values[0]


def test_no_steps_leave_theta_as_it_is():
    problem = make_problem([3], [(0, -1)], 3, 10, seed=0)
    theta = random_theta(problem)
    before = theta.copy()
    _, n_steps, is_reached = effects_of(problem).minimise(theta, random_penalties(problem), 0, 1e-5)
    assert (n_steps, is_reached) == (0, False)
    assert np.array_equal(theta, before)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_start_that_is_no_number_ends_the_search(bad):
    problem = make_problem([3], [(0, -1)], 3, 10, seed=0)
    theta = np.full(effects_oracle.n_entries(problem), bad)
    _, n_steps, _ = effects_of(problem).minimise(theta, np.ones((1, 5)), 50, 1e-5)
    assert n_steps <= 50


@pytest.mark.parametrize("ridge", [0.3, 3.0])
@pytest.mark.parametrize(("cards", "n_classes"), [([6], 2), ([6, 3], 2), ([4, 3], 4)])
def test_a_ridge_alone_is_logistic_regression(ridge, cards, n_classes):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder

    problem = make_problem(cards, [(k, -1) for k in range(len(cards))], n_classes, 150, seed=4)
    penalties = np.zeros((len(cards), 5))
    penalties[:, 0] = ridge
    theta, found = np.zeros(effects_oracle.n_entries(problem)), np.empty((150, n_classes))
    effects = effects_of(problem)
    effects.minimise(theta, penalties, 1000, 1e-10)
    effects.probabilities(theta, found)
    hot = OneHotEncoder(sparse_output=False).fit_transform(problem.columns.T)
    peer = LogisticRegression(C=1 / ridge, max_iter=5000, tol=1e-10).fit(hot, problem.y, problem.weight)
    np.testing.assert_allclose(found, peer.predict_proba(hot), atol=1e-3)
    if n_classes == 2:
        np.testing.assert_allclose(theta[:-1], peer.coef_[0], atol=5e-3)
        assert theta[-1] == pytest.approx(peer.intercept_[0], abs=5e-3)


@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_any_number_of_threads_gives_the_same_bits(n_classes):
    problem = make_problem([30, 7, 5], [(0, -1), (1, -1), (2, -1), (1, 2), (0, 1)], n_classes, 5003, seed=0)
    penalties, results = random_penalties(problem), []
    for n_threads in (1, 2, 3):
        effects, theta = effects_of(problem, n_threads), random_theta(problem)
        value, gradient = loss_of(effects, theta, penalties)
        probabilities, curvature = np.empty((5003, n_classes)), np.empty(len(theta))
        effects.probabilities(theta, probabilities)
        effects.curvature(theta, penalties, curvature)
        outcome = effects.minimise(theta, penalties, 10, 0.0)
        arrays = (gradient, probabilities, curvature, theta)
        results.append((value, outcome, *(array.tobytes() for array in arrays)))
    assert results[0] == results[1] == results[2]


# Gains of pairs.


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(1, 9), st.integers(0, 40), SEEDS,
    st.sampled_from(CODE_TYPES),
)  # fmt: skip
@settings(max_examples=50)
def test_gains_of_pairs_equal_the_oracle(cards, width, n_rows, seed, code_type):
    rng = np.random.default_rng(seed)
    columns = np.stack([rng.integers(0, card, n_rows) for card in cards])
    residual = rng.normal(size=(n_rows, width)).astype(np.float32)
    curvature = rng.uniform(0, 0.25, size=(n_rows, width)).astype(np.float32)
    expected = effects_oracle.pair_gains(columns, cards, residual, curvature, 3.0)
    gains = np.zeros((len(cards), len(cards)))
    core.pair_gains(0, len(cards), columns.astype(code_type), np.array(cards), residual, curvature, 3.0, gains)
    np.testing.assert_allclose(gains, expected, rtol=1e-4, atol=1e-4)


def test_ranges_of_gains_make_up_the_whole():
    rng = np.random.default_rng(0)
    columns, cards = rng.integers(0, 3, (6, 50)), np.full(6, 3)
    residual, curvature = rng.normal(size=(2, 50, 2)).astype(np.float32)
    arguments = (columns, cards, residual, np.abs(curvature), 1.0)
    whole, parts = np.zeros((6, 6)), np.zeros((6, 6))
    core.pair_gains(0, 6, *arguments, whole)
    for lo, hi in [(4, 6), (0, 1), (1, 4), (3, 3)]:
        core.pair_gains(lo, hi, *arguments, parts)
    assert np.array_equal(whole, parts)
    assert np.array_equal(whole, whole.T)


# Codes of groups.


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=5), min_size=1, max_size=4), SEEDS)
@settings(max_examples=50)
def test_codes_of_groups_equal_the_oracle(drawn, seed):
    maps = [np.unique(each, return_inverse=True)[1] for each in drawn]
    codes = np.random.default_rng(seed).integers(-2, 8, (9, len(maps)))
    of_value, cards = np.concatenate(maps), np.array([each.max() + 1 for each in maps])
    start = np.cumsum([0, *map(len, maps)])
    expected = effects_oracle.group_codes(codes, [each.tolist() for each in maps])
    for code_type in (np.int8, np.int16, np.int32, np.int64):
        for wide_type in CODE_TYPES:
            wide = np.zeros((9, 2 * len(maps)), wide_type)
            core.group_codes(0, 9, codes.astype(code_type), of_value, start, cards, wide)
            assert wide.tolist() == expected


@pytest.mark.parametrize("code_type", CODE_TYPES)
def test_codes_that_are_no_values_have_no_group(code_type):
    """A negative code is not its positive twin in 8 or in 16 bits."""
    n_values, limits = 300, np.iinfo(code_type)
    for code in {limits.max, limits.min, -1, -100, n_values}:
        if not limits.min <= code <= limits.max or 0 <= code < n_values:
            continue
        wide = np.zeros((1, 2), np.uint16)
        of_value, start = np.arange(n_values) // 2, np.array([0, n_values])
        core.group_codes(0, 1, np.array([[code]], code_type), of_value, start, np.array([150]), wide)
        assert wide.tolist() == [[n_values, 150]]


def test_ranges_of_groups_leave_other_rows():
    wide = np.full((3, 2), 9, np.uint8)
    core.group_codes(1, 2, np.array([[1], [1], [1]]), np.array([0, 0]), np.array([0, 2]), np.array([1]), wide)
    assert wide.tolist() == [[9, 9], [1, 0], [9, 9]]


# What the border refuses.


def some_problem():
    return make_problem([3, 4], [(0, -1), (0, 1)], 3, 6, seed=0)


def with_entry(array, value, place=0):
    changed = array.copy()
    changed.flat[place] = value
    return changed


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("columns", lambda a: a.tolist(), "columns must be an array"),
        ("columns", lambda a: a.astype(float), "columns must hold whole numbers"),
        ("columns", lambda a: a.astype(bool), "columns must hold whole numbers"),
        ("columns", lambda a: a[0], "columns must have 2 dimensions"),
        ("columns", lambda a: a[:1], "columns must have 2 rows, one for each card, not 1"),
        ("columns", lambda a: np.concatenate([a, a]), "columns must have 2 rows, one for each card, not 4"),
        ("columns", lambda a: a[:, ::2], "columns must be C-contiguous"),
        ("columns", np.asfortranarray, "columns must be C-contiguous"),
        ("columns", misaligned, "columns must be aligned"),
        ("columns", lambda a: with_entry(a, 3), "column 0 holds codes that are not below its card, 3"),
        ("columns", lambda a: with_entry(a, 65535, -1), "column 1 holds codes that are not below its card, 4"),
        ("columns", lambda a: with_entry(a.astype(np.int8), -1), "column 0 holds codes that are not below its card"),
        ("columns", lambda a: with_entry(a.astype(np.int64), 2**40), "column 0 holds codes"),
        ("columns", lambda a: a[:, :5].copy(), "y must have 5 entries, not 6"),
        ("y", lambda a: a[:5], "y must have 6 entries, not 5"),
        ("y", lambda a: a.astype(np.int32), "y has the wrong type of numbers"),
        ("y", lambda a: with_entry(a, 3), "y holds 3, which is outside 0 to 2"),
        ("y", lambda a: with_entry(a, -1), "y holds -1, which is outside 0 to 2"),
        ("y", lambda a: np.repeat(a, 2)[::2], "y must be C-contiguous"),
        ("y", misaligned, "y must be aligned"),
        ("weight", lambda a: a.astype(np.float32), "weight has the wrong type of numbers"),
        ("weight", lambda a: a[:, None], "weight must have 1 dimension"),
        ("weight", lambda a: a[:-1], "weight must have 6 entries, not 5"),
        ("weight", lambda a: 7, "weight must be an array"),
        ("n_classes", lambda n: 0, "n_classes must be at least 1"),
        ("n_classes", lambda n: -3, "n_classes must be at least 1"),
        ("n_classes", lambda n: 2**62, "n_classes"),
        ("n_classes", lambda n: 2, "y holds 2"),
        ("cards", lambda a: a[:1], "columns must have 1 rows, one for each card, not 2"),
        ("cards", lambda a: with_entry(a, 0), "cards must be 1 to 65535"),
        ("cards", lambda a: with_entry(a, -3), "cards must be 1 to 65535"),
        ("cards", lambda a: with_entry(a, 65536), "cards must be 1 to 65535"),
        ("cards", lambda a: with_entry(a, 2**62), "cards must be 1 to 65535"),
        ("cards", lambda a: with_entry(a, 5), "edges must have one entry less than values for each column"),
        ("cards", lambda a: a.astype(np.uint64), "cards has the wrong type of numbers"),
        ("edges", lambda a: a[:-1], "edges must have one entry less than values for each column"),
        ("edges", lambda a: np.append(a, 1.0), "edges must have one entry less than values for each column"),
        ("edges", lambda a: with_entry(a, np.nan), "edges must not be negative"),
        ("edges", lambda a: with_entry(a, np.inf), "edges must not be negative"),
        ("edges", lambda a: with_entry(a, -1e-9), "edges must not be negative"),
        ("edges", lambda a: a.astype(np.float32), "edges has the wrong type of numbers"),
        ("tables", lambda a: a[:, :1].copy(), "tables has the wrong shape"),
        ("tables", lambda a: a.ravel(), "tables must have 2 dimension"),
        ("tables", lambda a: with_entry(a, -1), "table 0 is not of columns"),
        ("tables", lambda a: with_entry(a, 2), "table 0 is not of columns"),
        ("tables", lambda a: with_entry(a, -2, 3), "table 1 is not of columns"),
        ("tables", lambda a: with_entry(a, 2, 3), "table 1 is not of columns"),
        ("tables", lambda a: with_entry(a, 2**62, 3), "table 1 is not of columns"),
        ("tables", lambda a: a.astype(np.int32), "tables has the wrong type of numbers"),
        ("tables", np.asfortranarray, "tables must be C-contiguous"),
        ("copies", lambda copies: 0.5, "copies must be at least 1"),
        ("copies", lambda copies: np.nan, "copies must be at least 1"),
        ("copies", lambda copies: np.inf, "copies must be at least 1"),
        ("n_threads", lambda n: 0, "n_threads must be 1 to 1024"),
        ("n_threads", lambda n: -1, "n_threads must be 1 to 1024"),
        ("n_threads", lambda n: 1025, "n_threads must be 1 to 1024"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_effects(name, change, message):
    arguments = arguments_of(some_problem())
    core.Effects(**arguments)
    with pytest.raises(ValueError, match=message):
        core.Effects(**{**arguments, name: change(arguments[name])})


def test_a_negative_code_is_not_its_positive_twin():
    arguments = {
        **arguments_of(make_problem([300], [(0, -1)], 2, 1, seed=0)),
        "columns": np.array([[-1]], np.int8),
    }
    with pytest.raises(ValueError, match="column 0 holds codes that are not below its card, 300"):
        core.Effects(**arguments)


@pytest.mark.parametrize(
    ("name", "value"), [("n_classes", 2**64), ("n_classes", 2.5), ("n_threads", "two"), ("weight", None)]
)
def test_wrong_types_of_numbers_of_effects(name, value):
    with pytest.raises(TypeError):
        core.Effects(**{**arguments_of(some_problem()), name: value})


@pytest.mark.parametrize(("n_tables", "n_classes"), [(1, 2), (5, 1), (2, 10_000)])
def test_tables_must_not_have_more_entries_than_can_be_numbered(n_tables, n_classes):
    card = 40_000
    arguments = {
        "columns": np.zeros((1, 2), np.uint8),
        "y": np.zeros(2, np.int64),
        "weight": np.ones(2),
        "n_classes": n_classes,
        "cards": np.array([card]),
        "edges": np.zeros(card - 1),
        "tables": np.array([[0, 0 if n_classes < 10 else -1]] * n_tables),
        "copies": 1.0,
        "n_threads": 1,
    }
    with pytest.raises(ValueError, match="more entries than 32 bits can number"):
        core.Effects(**arguments)


def method_arguments(problem):
    """Right arguments of every method."""
    theta, penalties = random_theta(problem), random_penalties(problem)
    of_tables = np.zeros(len(penalties))
    return {
        "loss": {"theta": theta, "penalties": penalties, "gradient": np.zeros_like(theta)},
        "minimise": {"theta": theta.copy(), "penalties": penalties, "most_steps": 3, "tolerance": 1e-5},
        "probabilities": {"theta": theta, "out": np.zeros((len(problem.y), problem.n_classes))},
        "curvature": {"theta": theta, "penalties": penalties, "out": np.zeros_like(theta)},
        "freedom": {"theta": theta, "penalties": penalties, "degrees": of_tables, "pulls": of_tables.copy()},
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.tolist(), "must be an array"),
        (lambda a: a.astype(np.float32), "has the wrong type of numbers"),
        (lambda a: a.astype(np.int64), "has the wrong type of numbers"),
        (lambda a: a.astype(">f8"), "must be an array|has the wrong type"),
        (lambda a: a[None], "must have [12] dimension"),
        (lambda a: a[:-1], r"must have \d+ entries, not|has the wrong shape"),
        (lambda a: np.concatenate([a, a]), r"must have \d+ entries, not|has the wrong shape"),
        (lambda a: a[..., :0], r"must have \d+ entries, not|has the wrong shape"),
        (lambda a: np.repeat(a, 2, axis=-1)[..., ::2], "must be C-contiguous"),
        (lambda a: a[::-1], "must be C-contiguous"),
        (misaligned, "must be aligned"),
    ],
)  # fmt: skip
def test_wrong_arrays_of_methods(change, message):
    problem = some_problem()
    effects = effects_of(problem)
    for method, right in method_arguments(problem).items():
        for name, value in right.items():
            if isinstance(value, np.ndarray):
                with pytest.raises(ValueError, match=f"{name} ({message})"):
                    getattr(effects, method)(**{**right, name: change(value)})


@pytest.mark.parametrize(
    ("method", "name"),
    [
        *[("loss", "gradient"), ("minimise", "theta"), ("probabilities", "out"), ("curvature", "out")],
        *[("freedom", "degrees"), ("freedom", "pulls")],
    ],
)
def test_what_is_filled_must_be_writable(method, name):
    right = method_arguments(some_problem())[method]
    with pytest.raises(ValueError, match=f"{name} must be an array that can be written to"):
        getattr(effects_of(some_problem()), method)(**{**right, name: read_only(right[name])})


@pytest.mark.parametrize("method", ["loss", "probabilities", "curvature", "freedom"])
def test_what_is_read_need_not_be_writable(method):
    right = method_arguments(some_problem())[method]
    getattr(effects_of(some_problem()), method)(**{**right, "theta": read_only(right["theta"])})


def test_steps_must_be_a_number():
    effects, right = effects_of(some_problem()), method_arguments(some_problem())["minimise"]
    with pytest.raises(ValueError, match="most_steps must not be negative"):
        effects.minimise(**{**right, "most_steps": -1})
    with pytest.raises(TypeError):
        effects.minimise(**{**right, "most_steps": 1.5})
    with pytest.raises(TypeError):
        effects.minimise(**{**right, "tolerance": "small"})


def gain_arguments():
    rng = np.random.default_rng(0)
    return {
        "lo": 0,
        "hi": 2,
        "columns": rng.integers(0, 3, (2, 7)).astype(np.uint8),
        "cards": np.array([3, 4]),
        "residual": rng.normal(size=(7, 2)).astype(np.float32),
        "curvature": rng.random((7, 2)).astype(np.float32),
        "ridge": 1.0,
        "gains": np.zeros((2, 2)),
    }


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("lo", lambda n: -1, "the range -1 to 2 is not within 2"),
        ("hi", lambda n: 3, "the range 0 to 3 is not within 2"),
        ("columns", lambda a: a[:1], "columns must have 2 rows"),
        ("columns", lambda a: with_entry(a, 3), "column 0 holds codes that are not below its card"),
        ("columns", lambda a: with_entry(a.astype(np.int8), -1), "column 0 holds codes that are not below its card"),
        ("columns", lambda a: a.astype(float), "columns must hold whole numbers"),
        ("columns", lambda a: a[:, :6].copy(), "residual has the wrong shape"),
        ("cards", lambda a: a[:0], "cards must not be empty"),
        ("cards", lambda a: with_entry(a, 0), "cards must be 1 to 65535"),
        ("cards", lambda a: with_entry(a, 65535), "more entries than 32 bits can number"),
        ("residual", lambda a: a.astype(float), "residual has the wrong type"),
        ("residual", lambda a: a[:, :1].copy(), "curvature has the wrong shape"),
        ("residual", lambda a: a[:6], "residual has the wrong shape"),
        ("residual", np.asfortranarray, "residual must be C-contiguous"),
        ("residual", misaligned, "residual must be aligned"),
        ("curvature", lambda a: a[:6], "curvature has the wrong shape"),
        ("curvature", lambda a: a[0], "curvature must have 2 dimension"),
        ("ridge", lambda ridge: 0.0, "ridge must be above 0"),
        ("ridge", lambda ridge: -1.0, "ridge must be above 0"),
        ("ridge", lambda ridge: np.nan, "ridge must be above 0"),
        ("gains", lambda a: a[:1], "gains has the wrong shape"),
        ("gains", lambda a: np.zeros((3, 3)), "gains has the wrong shape"),
        ("gains", lambda a: a.astype(np.float32), "gains has the wrong type"),
        ("gains", read_only, "gains must be an array that can be written to"),
    ],
)
def test_wrong_arguments_of_gains(name, change, message):
    arguments = gain_arguments()
    core.pair_gains(**arguments)
    with pytest.raises(ValueError, match=message):
        core.pair_gains(**{**arguments, name: change(arguments[name])})


@pytest.mark.parametrize("width", [2**20, 2**40, 2**56])
def test_gains_of_more_entries_than_can_be_numbered(width):
    """An array without rows may have any number of columns."""
    none = np.zeros((0, width), np.float32)
    with pytest.raises(ValueError, match="more entries than 32 bits can number"):
        core.pair_gains(0, 2, np.zeros((2, 0), np.uint8), np.array([16, 17]), none, none, 1.0, np.zeros((2, 2)))


def group_arguments():
    return {
        "lo": 0,
        "hi": 2,
        "codes": np.array([[0, 1], [2, 0]]),
        "of_value": np.array([0, 0, 1, 0, 1]),
        "start": np.array([0, 3, 5]),
        "cards": np.array([2, 2]),
        "wide": np.zeros((2, 4), np.uint8),
    }


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("lo", lambda n: -1, "the range -1 to 2 is not within 2"),
        ("hi", lambda n: 3, "the range 0 to 3 is not within 2"),
        ("codes", lambda a: a[:, :1].copy(), "codes must have 2 columns, not 1"),
        ("codes", lambda a: a.astype(float), "codes must hold whole numbers"),
        ("codes", lambda a: a[:1], "wide must have 1 rows, not 2"),
        ("codes", np.asfortranarray, "codes must be C-contiguous"),
        ("codes", misaligned, "codes must be aligned"),
        ("of_value", lambda a: a[:4], "start does not fit cards and of_value"),
        ("of_value", lambda a: with_entry(a, 2), "of_value holds 2, which is outside 0 to 1"),
        ("of_value", lambda a: with_entry(a, -1), "of_value holds -1, which is outside 0 to 1"),
        ("of_value", lambda a: a.astype(np.int32), "of_value has the wrong type"),
        ("start", lambda a: a[:2], "start does not fit cards and of_value"),
        ("start", lambda a: a + 1, "start must start at 0"),
        ("start", lambda a: np.array([0, 6, 5]), "start must not fall"),
        ("start", lambda a: a[:0], "start must start at 0"),
        ("cards", lambda a: a[:1], "start does not fit cards and of_value"),
        ("cards", lambda a: with_entry(a, 1), "of_value holds 1, which is outside 0 to 0"),
        ("cards", lambda a: with_entry(a, 0), "cards must be at least 1"),
        ("cards", lambda a: with_entry(a, -(2**63)), "cards must be at least 1"),
        ("cards", lambda a: with_entry(a, 300), "wide must have numbers up to 300"),
        ("cards", lambda a: with_entry(a, 2**62), "wide must have numbers up to"),
        ("wide", lambda a: np.zeros((2, 3), np.uint8), "wide must have 4 columns"),
        ("wide", lambda a: np.zeros((3, 4), np.uint8), "wide must have 2 rows"),
        ("wide", lambda a: np.zeros((2, 4)), "wide must hold whole numbers"),
        ("wide", lambda a: np.zeros((4, 2), np.uint8).T, "wide must be C-contiguous"),
        ("wide", read_only, "wide must be an array that can be written to"),
    ],
)
def test_wrong_arguments_of_groups(name, change, message):
    arguments = group_arguments()
    core.group_codes(**arguments)
    with pytest.raises(ValueError, match=message):
        core.group_codes(**{**arguments, name: change(arguments[name])})


# Damaged at random.

DAMAGES = [
    lambda rng, a: a.astype(rng.choice([np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64])),
    lambda rng, a: a.astype(rng.choice([np.float32, np.float64, np.complex128, np.bool_, np.object_, ">f8", ">i8"])),
    lambda rng, a: a[..., ::-1],
    lambda rng, a: a[tuple(slice(rng.integers(0, n + 1)) for n in a.shape)],
    lambda rng, a: np.concatenate([a, a], axis=rng.integers(a.ndim)),
    lambda rng, a: a.T.copy(),
    lambda rng, a: a.T,
    lambda rng, a: a.ravel(),
    lambda rng, a: a[None],
    lambda rng, a: np.broadcast_to(a[..., :1], a.shape),
    lambda rng, a: np.broadcast_to(a, (2**40, *a.shape)),
    lambda rng, a: read_only(a),
    lambda rng, a: misaligned(a),
    lambda rng, a: np.zeros((0,) * a.ndim, a.dtype),
    lambda rng, a: rng.choice(np.array([None, 7, "array", [1, 2]], dtype=object)),
]  # fmt: skip
ODD = [-1, 0, 1, 2, 3, 7, 100, 65_535, 2**31, 2**62, -(2**63), np.nan, np.inf, -np.inf, 1e300, 1e-300]
ODD_NUMBERS = [-1, 0, 1, 3, 9, 2**31 - 1, 2**40, 2**62, 2**64, 1.5, np.nan, None, "one", -0.0, 1e300]
SOME_STEPS = [-1, 0, 50, -(2**63), 2**64, 1.5, None, "one"]


def damaged(rng, arguments):
    """The arguments with one or two of them damaged, most of them in one entry only."""
    changed = dict(arguments)
    for name in rng.choice(list(arguments), rng.integers(1, 3), replace=False).tolist():
        value = changed[name]
        if name == "most_steps":  # as many as asked for may take hours
            changed[name] = SOME_STEPS[rng.integers(len(SOME_STEPS))]
        elif not isinstance(value, np.ndarray):
            changed[name] = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]
        elif rng.random() < 0.5 and value.size:
            odd = [each for each in ODD if value.dtype.kind == "f" or math.isfinite(each)]
            with np.errstate(all="ignore"):
                new = np.array(odd, dtype=object)[rng.integers(len(odd))]
                changed[name] = value.copy()
                changed[name].flat[rng.integers(value.size)] = np.array(float(new)).astype(value.dtype)
        else:
            with np.errstate(all="ignore"):
                changed[name] = DAMAGES[rng.integers(len(DAMAGES))](rng, value)
    return changed


def result_of(function, arguments):
    """What a call returns, or None if it refuses its arguments, which is all that it may do besides."""
    try:
        found = function(**arguments)
    except (ValueError, TypeError, MemoryError):
        return None
    return "nothing" if found is None else found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_damaged_arguments_are_refused_or_work(seed):
    rng, found = np.random.default_rng(seed), []
    for _ in range(100):
        problem = make_problem([3, 4], [(0, -1), (0, 1)], int(rng.choice(CLASSES)), int(rng.integers(1, 80)), seed)
        effects = effects_of(problem)
        found += [
            result_of(core.pair_gains, damaged(rng, gain_arguments())),
            result_of(core.group_codes, damaged(rng, group_arguments())),
            *(
                result_of(getattr(effects, method), damaged(rng, right))
                for method, right in method_arguments(problem).items()
            ),
        ]
        # What is taken in the place of rows and tables must work.
        taken = result_of(core.Effects, damaged(rng, arguments_of(problem, n_threads=int(rng.integers(1, 3)))))
        found.append(taken)
        if taken is not None and taken.n_entries == effects.n_entries:
            theta = random_theta(problem)
            taken.loss(theta, random_penalties(problem), np.empty_like(theta))
            taken.minimise(theta, random_penalties(problem), 5, 1e-5)
    n_refused = sum(each is None for each in found)
    assert 0.3 * len(found) < n_refused < 0.95 * len(found)
