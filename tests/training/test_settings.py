import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from tanager.training import TrainingSettings

NO_RATES = [0.0, -0.1, math.nan, math.inf, -math.inf]


def test_defaults_are_valid():
    assert TrainingSettings() == TrainingSettings(epochs=60)


@pytest.mark.parametrize("bad", [0, -1, 2.5, 3.0, math.nan, math.inf, -math.inf, "3", None])
@pytest.mark.parametrize("option", ["epochs", "batch_size"])
def test_counts(option, bad):
    with pytest.raises(ValueError, match=rf"^{option} must be a whole number of at least 1, got {bad!r}"):
        TrainingSettings(**{option: bad})


@pytest.mark.parametrize("bad", NO_RATES)
@pytest.mark.parametrize("option", ["learning_rate", "learning_rate_decay", "structure_learning_rate"])
def test_rates(option, bad):
    with pytest.raises(ValueError, match=rf"^{option} must be a finite number above 0, got {bad!r}"):
        TrainingSettings(**{option: bad})


@pytest.mark.parametrize("bad", NO_RATES)
@pytest.mark.parametrize("end", [0, 1])
def test_temperatures(end, bad):
    tau = (bad, 0.1) if end == 0 else (10.0, bad)
    with pytest.raises(ValueError, match=rf"^tau\[{end}\] must be a finite number above 0, got {bad!r}"):
        TrainingSettings(tau=tau)


@pytest.mark.parametrize("bad", ["sparse", None, True])
def test_optimiser(bad):
    with pytest.raises(ValueError, match=rf"^optimiser must be 'dense' or 'selected', got {bad!r}"):
        TrainingSettings(optimiser=bad)


def test_integers_of_numpy_will_do():
    assert TrainingSettings(epochs=np.int64(3), batch_size=np.uint8(7)) == TrainingSettings(epochs=3, batch_size=7)


def test_settings_do_not_change():
    with pytest.raises(FrozenInstanceError):
        TrainingSettings().epochs = 3
