"""Gradients summed over shards of the rows, against training on all rows at once."""

from functools import partial, reduce
from itertools import chain, pairwise, starmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.losses import Hybrid
from tanager.training import (
    Noise,
    ShardedProblem,
    ShardSums,
    TrainingSettings,
    initial_state,
    make_problem,
    merge_shares,
    train,
)
from tanager.training.regularisers import ParentDropout, Smoothness
from tanager.training.shards import step_rows
from tests.strategies import make_model
from tests.training.test_step import squared_error


def shards_of(model, n_shards, weight):
    """Rows in parts of different length, of which one has no rows."""
    edges = [0, 0, *np.sort(np.random.default_rng(1).choice(len(model.y), n_shards - 2, replace=False)), len(model.y)]
    return [
        (model.codes[lo:hi], model.y[lo:hi], None if weight is None else weight[lo:hi]) for lo, hi in pairwise(edges)
    ]


def trained(model, problem, loss, epochs=8, regularisers=()):
    settings = TrainingSettings(epochs=epochs, batch_size=10**6, regularisers=regularisers)
    state = initial_state(model.layout, Noise(3))
    return train(state, model.layout, problem, loss, settings, Noise(3))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("loss", [Hybrid(lam=3.0), squared_error], ids=["built-in", "function"])
@pytest.mark.parametrize("n_shards", [2, 7])
def test_steps_on_all_rows_are_those_of_one_machine(n_shards, loss, is_weighted):
    model = make_model([[-1], [-1, 0], [0, 1], [-1, 2]], [3, 2, 4, 5], 3, 0, n_rows=300)
    weight = np.random.default_rng(0).uniform(0.2, 2.0, 300) if is_weighted else None
    regularisers = (ParentDropout(0.2), Smoothness(0.01))
    problem = make_problem(model.codes, model.y, weight, 10**6, may_merge=False)
    shards = shards_of(model, n_shards, weight)
    elsewhere = ShardedProblem(
        model.codes[:9],
        model.y[:9],
        None,
        1,
        1,
        problem.n_counted,
        sum_shards=lambda steps, request: reduce(merge_shares, starmap(partial(ShardSums(steps), request), shards)),
    )
    found = trained(model, elsewhere, loss, regularisers=regularisers)
    expected = trained(model, problem, loss, regularisers=regularisers)
    for name in ("theta", "prior", "phi"):
        np.testing.assert_allclose(getattr(found, name).value, getattr(expected, name).value, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.history.loss, expected.history.loss, rtol=1e-4)
    np.testing.assert_allclose(found.history.error, expected.history.error, atol=1e-6)


@given(st.integers(0, 50), st.integers(1, 9), st.integers(0, 5))
def test_an_epoch_has_every_row_once(n_rows, n_steps, epoch):
    rows = [step_rows(n_rows, epoch * n_steps + k, n_steps).tolist() for k in range(n_steps)]
    assert sorted(chain(*rows)) == list(range(n_rows))
    assert max(map(len, rows)) - min(map(len, rows)) <= 1
