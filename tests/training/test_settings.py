"""Settings of a run, and of the runs that precede and follow it. Values are checked by `GradientDescent`."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.training import TrainingSettings
from tanager.training.regularisers import ParentDropout, Ridge, Shrinkage, SizePenalty, Smoothness
from tanager.training.settings import geometric

PLAN = TrainingSettings(
    epochs=9,
    batch_size=7,
    learning_rate=0.3,
    optimiser="dense",
    regularisers=(ParentDropout(0.2), Shrinkage(0.1), Smoothness(0.1), Ridge(2.0), SizePenalty(0.5)),
    samples_forests=True,
)


def test_settings_are_values():
    assert TrainingSettings() == TrainingSettings(epochs=60)
    assert TrainingSettings() != TrainingSettings(regularisers=(Ridge(1.0),))


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        TrainingSettings().epochs = 3


def test_a_refit_is_shorter_and_slower_and_draws_no_forests():
    expected = replace(PLAN, epochs=4, learning_rate=0.3 * 0.3, samples_forests=False)
    assert PLAN.for_refit() == expected


def test_a_refit_has_at_least_one_epoch():
    assert TrainingSettings(epochs=1).for_refit().epochs == 1


def test_naive_bayes_keeps_what_it_can_use_and_has_a_ridge_of_its_own():
    expected = replace(PLAN, learning_rate=0.1, regularisers=(Smoothness(0.1), Ridge(0.7)), samples_forests=False)
    assert PLAN.for_naive_bayes(0.7) == expected
    assert PLAN.for_naive_bayes(0.0).regularisers == (Smoothness(0.1),)


def test_naive_bayes_does_not_raise_a_low_rate():
    assert TrainingSettings(learning_rate=0.02).for_naive_bayes(1.0).learning_rate == 0.02


POSITIVE = st.floats(1e-6, 1e6)


@given(POSITIVE, POSITIVE, st.integers(2, 600))
def test_both_ends_and_a_constant_factor(first, last, n_epochs):
    values = geometric(first, last, n_epochs)
    assert len(values) == n_epochs
    assert values[0] == first
    assert values[-1] == last
    np.testing.assert_allclose(values[1:] / values[:-1], (last / first) ** (1 / (n_epochs - 1)), rtol=1e-9)


@given(POSITIVE, POSITIVE)
def test_one_epoch_has_the_first_value(first, last):
    assert geometric(first, last, 1).tolist() == [first]


def test_published_temperature():
    taus = geometric(10.0, 0.1, 500)
    np.testing.assert_allclose(taus, np.logspace(1, -1, 500))
    assert taus[250] == pytest.approx(1.0, rel=0.01)
