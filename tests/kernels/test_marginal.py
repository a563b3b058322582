"""Sums over unknown values against the sum over every completion of the row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.kernels.log_joint import network_log_joint
from tanager.kernels.marginal import marginal_log_joint
from tanager.kernels.messages import Forest
from tanager.structure import topological_order
from tests.oracles import counting_oracle, model_oracle
from tests.strategies import make_model, models

FORESTS = models(max_features=4, max_card=3, max_classes=3, max_rows=4, is_ordered=True, is_fixed=True)


def hide(model, data):
    """Make some codes unknown; return the codes as the oracle wants them, with -1 for unknown."""
    is_hidden = np.array(data.draw(st.lists(st.booleans(), min_size=model.codes.size, max_size=model.codes.size)))
    is_hidden = is_hidden.reshape(model.codes.shape)
    expected = np.where(is_hidden, -1, model.codes)
    model.codes = np.where(is_hidden, model.cards, model.codes).astype(np.int32)
    return expected


def forest_of(model, order):
    start = np.concatenate([[0], np.cumsum(model.cards)])
    return Forest(model.arena(), model.prior.astype(np.float64), model.layout.tables, order, start)


def run(model, order, rows=None):
    log_joint = np.full((len(model.codes), model.n_classes), 7.0)
    rows = np.arange(len(model.codes)) if rows is None else rows
    marginal_log_joint(rows, forest_of(model, order), model.codes, log_joint)
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


@given(FORESTS)
@settings(max_examples=30)
def test_with_nothing_unknown_it_is_the_log_joint(model):
    n_rows = len(model.codes)
    log_joint, is_complete = np.empty((n_rows, model.n_classes)), np.empty(n_rows, np.bool_)
    prior = model.prior.astype(np.float64)
    network_log_joint(0, n_rows, model.arena(), prior, model.layout.tables, model.codes, log_joint, is_complete)
    np.testing.assert_allclose(run(model, topological_order(model.parent)), log_joint, rtol=1e-12, atol=1e-12)


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
    np.testing.assert_allclose(run(model, np.empty(0, np.int64)), expected, rtol=1e-6, atol=2e-6)
