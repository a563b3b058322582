"""Sums over unknown values against the sum over every completion of the row, and forests that the core refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tanager.model import Network
from tanager.structure import topological_order
from tests.oracles import counting_oracle, model_oracle
from tests.strategies import make_model, models

FORESTS = models(max_features=4, max_card=3, max_classes=3, max_rows=4, is_ordered=True, is_fixed=True)
CODE_TYPES = [np.uint8, np.uint16, np.int32, np.int64]
NO_ORDER = np.empty(0, np.int64)


def network_of(model):
    return Network.from_arena(model.layout, model.theta, model.prior, np.arange(len(model.cards)))


def hide(model, data):
    """Make some codes unknown; return the codes as the oracle wants them, with -1 for unknown."""
    is_hidden = np.array(data.draw(st.lists(st.booleans(), min_size=model.codes.size, max_size=model.codes.size)))
    is_hidden = is_hidden.reshape(model.codes.shape)
    expected = np.where(is_hidden, -1, model.codes)
    model.codes = np.where(is_hidden, model.cards, model.codes).astype(data.draw(st.sampled_from(CODE_TYPES)))
    return expected


def run(model, order, rows=None):
    log_joint = np.full((len(model.codes), model.n_classes), 7.0)
    rows = np.arange(len(model.codes)) if rows is None else rows
    core.marginal_log_joint(rows, network_of(model).forest()._replace(order=order), model.codes, log_joint)
    return log_joint


@given(FORESTS, st.data())
@settings(max_examples=60)
def test_unknown_values_are_summed_out(model, data):
    codes = hide(model, data)
    selected = range(len(model.cards))
    structure = (model.child, model.parent, selected)
    expected = counting_oracle.marginal_log_joint(model.tables(), model.prior, *structure, codes)
    np.testing.assert_allclose(run(model, topological_order(model.parent)), expected, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("parents", [[-1, 0, 1, 2], [1, 2, 3, -1], [-1, 0, 0, 1], [-1, 0, -1, 2], [2, 2, -1, 2]])
def test_every_pattern_of_unknown_values(parents):
    model = make_model([[j] for j in parents], [2, 3, 2, 3], 2, seed=7, n_rows=16)
    is_hidden = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=bool)
    codes = np.where(is_hidden, -1, model.codes)
    expected = counting_oracle.marginal_log_joint(
        model.tables(), model.prior, model.child, model.parent, range(4), codes
    )
    model.codes = np.where(is_hidden, model.cards, model.codes).astype(np.int32)
    np.testing.assert_allclose(run(model, topological_order(parents)), expected, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("equal", [[0, 1], [1, 2], [0, 2], [0, 1, 2]])
def test_values_of_a_parent_may_have_equal_lines(equal):
    model = make_model([[-1], [0], [1]], [4, 4, 3], 2, seed=7, n_rows=8)
    for child in (1, 2):
        model.layout.cpt(model.theta, child)[equal] = model.layout.cpt(model.theta, child)[equal[0]]
    is_hidden = np.array(list(np.ndindex(2, 2, 2)), dtype=bool)
    codes = np.where(is_hidden, -1, model.codes)
    expected = counting_oracle.marginal_log_joint(
        model.tables(), model.prior, model.child, model.parent, range(3), codes
    )
    model.codes = np.where(is_hidden, model.cards, model.codes).astype(np.int32)
    np.testing.assert_allclose(run(model, topological_order([-1, 0, 1])), expected, rtol=1e-6, atol=2e-6)
    # A value that is summed out has the probability of the row that is completed with it.
    network = network_of(model)
    for row in model.codes[is_hidden[:, 2]]:
        completed = np.repeat(row[None], 3, axis=0)
        completed[:, 2] = np.arange(3)
        share = np.exp(network.log_joint(completed)).sum(axis=1)
        found = network.marginals(row[None]).features[2][0]
        np.testing.assert_allclose(found, share / share.sum(), rtol=1e-5, atol=1e-6)


@given(FORESTS)
@settings(max_examples=30)
def test_with_nothing_unknown_it_is_the_log_joint(model):
    expected = network_of(model).log_joint(model.codes)
    np.testing.assert_allclose(run(model, topological_order(model.parent)), expected, rtol=1e-12, atol=1e-12)


def test_all_unknown_leaves_the_prior():
    model = make_model([[-1], [0], [1], [1]], [3, 2, 4, 2], 3, seed=1, n_rows=1)
    model.codes[:] = model.cards
    np.testing.assert_allclose(run(model, topological_order(model.parent))[0], model.prior, atol=2e-6)


def test_only_the_given_rows_are_filled():
    model = make_model([[-1], [0]], [3, 2], 2, seed=2, n_rows=4)
    model.codes[[1, 2], 0] = 3
    order = topological_order(model.parent)
    log_joint = run(model, order, rows=np.array([2, 1]))
    assert np.all(log_joint[[0, 3]] == 7.0)
    assert np.array_equal(log_joint[[1, 2]], run(model, order)[[1, 2]])


@given(models(max_rows=4, is_ordered=False, is_fixed=True), st.data())
@settings(max_examples=40)
def test_without_an_order_terms_that_need_an_unknown_value_are_left_out(model, data):
    codes = hide(model, data)
    log_tables = [model_oracle.log_softmax_table(table) for table in model.tables()]
    expected = np.zeros((len(codes), model.n_classes))
    for n, row in enumerate(codes):
        expected[n] = model.prior
        for i, j in enumerate(model.parent):
            if row[i] != -1 and (j == -1 or row[j] != -1):
                a, b = model_oracle.cell(i, model.child, model.parent, row)
                expected[n] += log_tables[i][a, b]
    np.testing.assert_allclose(run(model, NO_ORDER), expected, rtol=1e-6, atol=2e-6)


@pytest.mark.parametrize("dtype", [*CODE_TYPES, np.int8, np.uint64])
def test_codes_out_of_range_are_unknown(dtype):
    model = make_model([[-1], [0], [1]], [3, 2, 4], 2, seed=3, n_rows=2)
    order = topological_order(model.parent)
    model.codes = np.array([[3, 1, 2], [0, 2, 4]], dtype)
    expected = run(model, order)
    model.codes = np.array([[np.iinfo(dtype).max, 1, 2], [0, 100, 5]], dtype)
    np.testing.assert_array_equal(run(model, order), expected)
    if np.iinfo(dtype).min < 0:
        model.codes[:, 0] = [-1, 0]
        np.testing.assert_array_equal(run(model, order), expected)


# What the border refuses.


@pytest.fixture
def question():
    """Arguments that are right: rows, forest, codes and log-joint; features 0 -> 1 -> 2, and 3 alone."""
    model = make_model([[-1], [0], [1], [-1]], [3, 2, 4, 2], 2, seed=1, n_rows=5)
    return np.arange(5), network_of(model).forest(), model.codes, np.empty((5, 2))


def test_the_question_is_right(question):
    core.marginal_log_joint(*question)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (0, np.zeros(5, np.float64), "theta has the wrong type"),
        (0, np.zeros(5, np.float32), "theta must have at least"),
        (1, np.zeros(2, np.float32), "prior has the wrong type"),
        (1, np.empty(0), "prior must have at least one class"),
        (1, np.zeros(3), "offset does not fit"),
        (2, None, "cpts must be a tuple"),
        (2, (1, 2), "cpts must have 5 fields"),
        (3, np.array([0, 1, 2]), "order must have all features or none"),
        (3, np.array([0, 1, 2, 2]), "order must have each feature once"),
        (3, np.array([0, 1, 2, 4]), "order must have each feature once"),
        (3, np.array([0, 1, 2, -1]), "order must have each feature once"),
        (3, np.array([0, 2, 1, 3]), "order must have parents before"),
        (3, np.array([[0, 1, 2, 3]]), "order must have 1 dimension"),
        (3, [0, 1, 2, 3], "order must be an array"),
        (3, np.array([0.0, 1, 2, 3]), "order has the wrong type"),
        (3, np.array([0, 0, 1, 1, 2, 2, 3, 3])[::2], "order must be C-contiguous"),
        (4, np.array([0, 3, 5, 9]), "start must have 5 entries"),
        (4, np.array([1, 3, 5, 9, 11]), "start must have 5 entries from 0"),
        (4, np.array([0, 3, 5, 8, 11]), "start does not fit"),
        (4, np.array([0, 2**62, -(2**62), 9, 11]), "start does not fit"),
    ],
)
def test_wrong_forest(question, field, value, message):
    rows, forest, codes, log_joint = question
    parts = list(forest)
    parts[field] = value
    with pytest.raises(ValueError, match=message):
        core.marginal_log_joint(rows, tuple(parts), codes, log_joint)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (0, [0, 1, 2, 2], r"one candidate for each feature|offset does not fit"),
        (0, [0, 1, 2, 4], "child holds 4"),
        (0, [0, 1, 2], "do not fit together"),
        (1, [0, 1, 2, 2, 4], r"one candidate for each feature|offset does not fit"),
        (1, [0, 1, 2, 3, 5], "ptr must end"),
        (2, [4, 0, 1, 5], "parent holds 5"),
        (2, [4, 0, 1, -1], "parent holds -1"),
        (2, [4, 0, 1, 0], "offset does not fit"),
        (3, [0, 6, 18, 34, 39], "offset does not fit"),
        (3, [0, 6, 18, 34, 20], "offset must not fall"),
        (4, [3, 2, 4, 2, 2], "offset does not fit"),
        (4, [3, 2, 0, 2, 1], "cards must be at least 1"),
        (4, [2**32, 2**32, 4, 2, 1], "offset does not fit"),
    ],
)
def test_wrong_cpts(question, field, value, message):
    rows, forest, codes, log_joint = question
    parts = list(forest)
    cpts = list(parts[2])
    cpts[field] = np.array(value)
    parts[2] = tuple(cpts)
    with pytest.raises(ValueError, match=message):
        core.marginal_log_joint(rows, tuple(parts), codes, log_joint)


def test_sizes_that_overflow_do_not_pass_for_small_ones():
    """A CPT of 2**32 times 2**32 values has 0 entries in 64 bits."""
    cpts = tuple(map(np.array, ([0, 1], [0, 1, 2], [2, 0], [0, 2**32, 2**32], [2**32, 2**32, 1])))
    forest = (np.zeros(8, np.float32), np.zeros(1), cpts, NO_ORDER, np.array([0, 2**32, 2**33]))
    with pytest.raises(ValueError, match="offset does not fit"):
        core.marginal_log_joint(np.arange(1), forest, np.zeros((1, 2), np.int64), np.empty((1, 1)))


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array):
    return np.frombuffer(bytearray(array.nbytes + 1), np.uint8)[1:].view(array.dtype).reshape(array.shape)


@pytest.mark.parametrize(
    ("position", "change", "message"),
    [
        (0, lambda rows: rows + 1, "rows holds 5"),
        (0, lambda rows: rows - 1, "rows holds -1"),
        (0, lambda rows: rows.astype(np.int32), "rows has the wrong type"),
        (0, misaligned, "rows must be aligned"),
        (1, lambda forest: list(forest), "forest must be a tuple"),
        (1, lambda forest: forest[:4], "forest must have 5 fields"),
        (2, lambda codes: codes[:, :3].copy(), "codes must have 4 columns"),
        (2, lambda codes: codes[0], "codes must have 2 dimensions"),
        (2, lambda codes: np.asfortranarray(codes), "codes must be C-contiguous"),
        (2, lambda codes: codes.astype(float), "codes must hold whole numbers"),
        (2, misaligned, "codes must be aligned"),
        (2, lambda codes: codes.tolist(), "codes must be an array"),
        (3, lambda out: out[:4], "log_joint has the wrong shape"),
        (3, lambda out: out.astype(np.float32), "log_joint has the wrong type"),
        (3, read_only, "log_joint must be an array that can be written to"),
        (3, lambda out: np.asfortranarray(out), "log_joint must be C-contiguous"),
        (3, misaligned, "log_joint must be aligned"),
        (3, lambda out: out.tolist(), "log_joint must be an array"),
    ],
)
def test_wrong_arguments(question, position, change, message):
    arguments = list(question)
    arguments[position] = change(arguments[position])
    with pytest.raises(ValueError, match=message):
        core.marginal_log_joint(*arguments)


def test_missing_argument(question):
    for arguments in (question[:3], (*question[:3], None)):
        with pytest.raises(TypeError, match="log_joint"):
            core.marginal_log_joint(*arguments)
