"""Classes found in sums of 16-bit integers: where they are settled they are right, and few rows are left."""

import numpy as np
import pytest
from hypothesis import given, settings

from tanager._threads import Crew
from tanager.kernels.classes import BOTTOM, STEPS_PER_UNIT, short_width, shorten_lines
from tanager.model.classifying import pays_to_shorten, settle_classes
from tests.strategies import make_model, models


def settle(model, codes):
    with Crew() as crew:
        return settle_classes(model.layout, model.arena(), model.prior.astype(np.float64), codes, crew)


def shape(n_features, n_classes, n_rows=70, spread=1.0):
    """A chain of features, with as many rows as make more than one block."""
    candidates = [[i - 1] for i in range(n_features)]
    cards = np.random.default_rng(n_features).integers(1, 6, size=n_features)
    return make_model(candidates, cards, n_classes, seed=n_classes, n_rows=n_rows, spread=spread)


@given(models(is_fixed=True, max_classes=9, max_rows=12))
@settings(max_examples=40)
def test_settled_classes_are_those_of_the_oracle(model):
    log_joint = model.log_joint(range(len(model.cards)))
    classes, is_settled = settle(model, model.codes)
    assert classes[is_settled].tolist() == log_joint.argmax(axis=1)[is_settled].tolist()


@pytest.mark.parametrize("n_classes", [2, 8, 9, 16, 17, 32, 33, 70])
@pytest.mark.parametrize("n_features", [1, 7, 8, 13, 40])
def test_rows_that_are_left_are_close(n_features, n_classes):
    model = shape(n_features, n_classes, n_rows=150, spread=3.0)
    log_joint = model.log_joint(range(n_features))
    ranked = np.sort(log_joint, axis=1)
    for dtype in (np.uint8, np.uint16, np.int32):
        classes, is_settled = settle(model, model.codes.astype(dtype))
        assert classes[is_settled].tolist() == log_joint.argmax(axis=1)[is_settled].tolist()
        behind = (ranked[:, -1] - ranked[:, -2]) * STEPS_PER_UNIT
        assert (behind[~is_settled] < 2 * n_features + 8).all()
        assert is_settled.mean() > 0.9


def test_equal_classes_are_left():
    model = shape(9, 20)
    model.theta[:] = model.theta.reshape(-1, 20)[:, [0] * 20].ravel()
    model.prior[:] = np.log(1 / 20)
    assert not settle(model, model.codes)[1].any()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_rows_with_unknown_values_are_left(dtype):
    model = shape(11, 4, n_rows=200, spread=3.0)
    _, before = settle(model, model.codes.astype(dtype))
    codes = model.codes.astype(dtype)
    rows, columns = [0, 63, 64, 130, 199], [0, 10, 5, 8, 3]
    codes[rows, columns] = np.array(model.cards)[columns]
    classes, is_settled = settle(model, codes)
    expected = before.copy()
    expected[rows] = False
    assert np.array_equal(is_settled, expected)
    assert np.array_equal(classes[expected], settle(model, model.codes)[0][expected])


def test_classes_that_fall_below_all_steps_stay_there():
    """Far below the bottom, sums of 16 bits would come out at the top again."""
    model = shape(30, 3, spread=0.1)
    tables = model.theta.reshape(-1, 3)
    tables[:, 1] = -1e3
    tables[:, 2] = -np.inf
    classes, is_settled = settle(model, model.codes)
    assert is_settled.all()
    assert not classes.any()


def test_row_that_no_class_can_have_is_left():
    model = shape(2, 3, spread=3.0)
    model.theta.reshape(-1, 3)[: model.cards[0]] = -np.inf
    assert not settle(model, model.codes)[1].any()


def test_steps_of_a_line():
    step = 1 / STEPS_PER_UNIT
    lines = np.array([[-1, -1 - 4 * step, -1 - 2.6 * step], [-np.inf, -5.0, -1e9]], np.float32)
    shortened = np.zeros((2, 8), np.int16)
    shorten_lines(lines, shortened)
    assert shortened.tolist() == [[0, -4, -3, 0, 0, 0, 0, 0], [BOTTOM, 0, BOTTOM, 0, 0, 0, 0, 0]]


def test_best_class_that_reached_the_bottom_is_left():
    """Class 0 is behind by 120 in one feature, where 96 is the bottom, and ahead by 100 in another: it is not best."""
    model = make_model([[-1]] * 20, [1] * 20, 2, seed=0, n_rows=3)
    model.prior[:] = np.log(0.5)
    model.theta[:] = 0.0
    tables = model.theta.reshape(20, 2)
    tables[0, 0], tables[18, 1] = -120.0, -100.0
    classes, is_settled = settle(model, model.codes)
    assert not is_settled.any()
    tables[18, 1] = -90.0
    classes, is_settled = settle(model, model.codes)
    assert is_settled.all()
    assert (classes == 1).all()


def test_few_rows_do_not_pay():
    model = shape(5, 3)
    n_lines = model.layout.size // 3
    assert not pays_to_shorten(model.layout, (n_lines - 1) // 5)
    assert pays_to_shorten(model.layout, n_lines // 5 + 1)
    assert short_width(3) == 8
