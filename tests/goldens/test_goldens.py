"""Every structure, loss, preset and kind of ensemble predicts what it predicted when it was recorded.

Bits differ between processors (fused multiply-add, width of vectors), so the test allows for rounding;
``python -m tests.goldens.record`` compares bits.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.goldens.cases import NAMES, predict_case
from tests.goldens.record import RECORDED


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_those_recorded(name: str) -> None:
    with np.load(RECORDED) as recorded:
        np.testing.assert_allclose(predict_case(name), recorded[name], rtol=1e-3, atol=1e-4)


def test_every_recorded_case_is_tested() -> None:
    with np.load(RECORDED) as recorded:
        assert set(recorded.files) == set(NAMES)
