import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.kernels.normalise import normalise_tables
from tests.oracles import model_oracle
from tests.strategies import SEEDS, make_model, models


def normalise(model, values):
    """Normalise an arena, which like that of training ends in some slack; return its CPTs."""
    arena = np.append(values, np.full(16, 9.0)).astype(np.float32)
    normalise_tables(arena, model.layout.tables, model.n_classes)
    assert np.all(arena[len(values) :] == 9.0)
    return model.split(arena)


@given(models(max_rows=1, max_classes=10), SEEDS, st.sampled_from([0.1, 3.0, 15.0]))
@settings(max_examples=40)
def test_every_cpt_becomes_its_log_softmax(model, seed, spread):
    values = np.random.default_rng(seed).uniform(-spread, spread, size=model.layout.size).astype(np.float32)
    for table, unnormalised in zip(normalise(model, values), model.split(values), strict=True):
        expected = model_oracle.log_softmax_table(unnormalised)
        np.testing.assert_allclose(table, expected, rtol=1e-6, atol=2e-6)
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0, atol=2e-6)


def test_constant_feature_has_exactly_probability_one():
    model = make_model([[-1]], [1], 2, seed=0)
    (table,) = normalise(model, np.array([3.0, -5.0], np.float32))
    assert not table.any()
