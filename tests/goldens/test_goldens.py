"""Every structure, loss, preset and kind of ensemble predicts what it predicted when it was recorded.

Bits differ between processors (fused multiply-add, width of vectors), and long trainings amplify rounding, so
the test allows for that: most cases agree to 1e-6. ``python -m tests.goldens.record`` compares bits.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.goldens.cases import NAMES, predict_case
from tests.goldens.record import RECORDED


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_those_recorded(name: str) -> None:
    with np.load(RECORDED) as recorded:
        difference = np.abs(predict_case(name) - recorded[name])
    assert difference.max() < 0.02
    assert difference.mean() < 0.001


def test_every_recorded_case_is_tested() -> None:
    with np.load(RECORDED) as recorded:
        assert set(recorded.files) == set(NAMES)
