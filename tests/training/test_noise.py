"""Every draw is found from the seed and its place, whatever was drawn before."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.training.noise import DropoutStream, GumbelStream, Noise
from tests.oracles import model_oracle
from tests.strategies import SEEDS


@given(SEEDS, st.integers(0, 1000))
@settings(max_examples=20)
def test_same_place_gives_the_same_draws(seed, place):
    noise = Noise(seed)
    noise.permutation(place + 1, 7)
    assert np.array_equal(noise.permutation(place, 20), Noise(seed).permutation(place, 20))
    assert np.array_equal(noise.gumbel_block(place, 5), Noise(seed).gumbel_block(place, 5))
    assert np.array_equal(noise.initial(9, 0.1), Noise(seed).initial(9, 0.1))


@given(SEEDS)
@settings(max_examples=20)
def test_other_places_streams_and_seeds_give_other_draws(seed):
    places = itertools.product((seed, seed + 1), range(3), (0, 1, 2, 1000))
    draws = {tuple(Noise(s)._generator(stream, position).random(3)) for s, stream, position in places}
    assert len(draws) == 2 * 3 * 4


def test_epochs_have_different_orders():
    noise = Noise(0)
    assert len({tuple(noise.permutation(epoch, 30)) for epoch in range(50)}) == 50


@given(SEEDS, st.integers(1, 50))
def test_permutation_has_every_row_once(seed, n_rows):
    assert sorted(Noise(seed).permutation(3, n_rows)) == list(range(n_rows))


@given(SEEDS, st.sampled_from([0.1, 2.0]))
def test_initial_values_fill_the_interval(seed, spread):
    values = Noise(seed).initial(2000, spread)
    assert values.dtype == np.float32
    assert np.abs(values).max() <= np.float32(spread)
    assert values.min() < -0.95 * spread
    assert values.max() > 0.95 * spread


def test_gumbel_formula(monkeypatch):
    uniform = np.random.default_rng(0).random((64, 3))
    uniform[0] = [0.0, 0.5, np.nextafter(1.0, 0.0)]

    class Fixed:
        def random(self, shape):
            assert shape == uniform.shape
            return uniform.copy()

    monkeypatch.setattr(Noise, "_generator", lambda self, stream, position: Fixed())
    block = Noise(0).gumbel_block(0, 3)
    np.testing.assert_allclose(block, model_oracle.gumbel(uniform), rtol=1e-12)
    assert np.all(np.isfinite(block))


def test_gumbel_distribution():
    draws = np.concatenate([Noise(1).gumbel_block(block, 50) for block in range(20)]).ravel()
    n_draws = len(draws)
    assert draws.mean() == pytest.approx(np.euler_gamma, abs=5 * draws.std() / np.sqrt(n_draws))
    assert draws.var() == pytest.approx(np.pi**2 / 6, rel=0.05)
    for level in (0.1, 0.5, 0.9):
        share = (draws < -np.log(-np.log(level))).mean()
        assert share == pytest.approx(level, abs=5 * np.sqrt(level * (1 - level) / n_draws))


def test_stream_gives_the_noise_of_any_step_in_any_order():
    noise, n_candidates = Noise(5), 4
    steps = np.concatenate([noise.gumbel_block(block, n_candidates) for block in range(3)])
    in_order, backwards = GumbelStream(noise, n_candidates), GumbelStream(noise, n_candidates)
    for step in range(len(steps)):
        assert np.array_equal(in_order.steps(step, 1), steps[step : step + 1])
    for step in (150, 64, 63, 0):
        assert np.array_equal(backwards.steps(step, 1), steps[step : step + 1])


@pytest.mark.parametrize("stream", [GumbelStream, DropoutStream])
@pytest.mark.parametrize(("first", "n_steps"), [(0, 64), (0, 65), (63, 2), (64, 128), (100, 3), (7, 180)])
def test_stream_gives_the_noise_of_many_steps_at_once(stream, first, n_steps):
    one_by_one = stream(Noise(5), 4)
    expected = [one_by_one.steps(step, 1)[0] for step in range(first, first + n_steps)]
    draws = stream(Noise(5), 4).steps(first, n_steps)
    assert draws.shape == (n_steps, 4)
    assert draws.flags.c_contiguous
    assert draws.tolist() == [line.tolist() for line in expected]
