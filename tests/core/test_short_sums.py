"""Classes found in sums of 16-bit numbers: where they are settled they are right, and few rows are left."""

import numpy as np
import pytest
from hypothesis import given, settings

from tanager import core
from tests.core.test_prediction import predictor_of
from tests.strategies import make_model, models

STEPS_PER_UNIT, ALL_POINTS = core.STEPS_PER_UNIT, core.ALL_POINTS


def settle(model, codes):
    """Classes, and whether they are settled."""
    classes = predictor_of(model).settled_classes(codes)
    return classes, classes >= 0


def shape(n_features, n_classes, n_rows=70, spread=1.0):
    """A chain of features, with as many rows as make more than one block."""
    candidates = [[i - 1] for i in range(n_features)]
    cards = np.random.default_rng(n_features).integers(1, 6, size=n_features)
    return make_model(candidates, cards, n_classes, seed=n_classes, n_rows=n_rows, spread=spread)


@given(models(is_fixed=True, has_pairs=True, max_classes=20, max_rows=12))
@settings(max_examples=60)
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


@pytest.mark.parametrize("n_rows", [1, 7, 8, 63, 64, 65, 1100])
def test_blocks_of_any_size(n_rows):
    model = shape(20, 12, n_rows=n_rows, spread=3.0)
    log_joint = model.log_joint(range(20))
    classes, is_settled = settle(model, model.codes.astype(np.uint8))
    assert classes[is_settled].tolist() == log_joint.argmax(axis=1)[is_settled].tolist()
    assert np.array_equal(predictor_of(model).classes(model.codes)[0], log_joint.argmax(axis=1))


def test_result_does_not_depend_on_threads():
    model = shape(40, 12, n_rows=3000)
    predictor = predictor_of(model)
    classes = predictor.settled_classes(model.codes)
    for n_threads in (2, 3, 7):
        assert np.array_equal(predictor.settled_classes(model.codes, n_threads), classes)


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


@pytest.mark.parametrize("prior", [[-np.inf] * 3, [np.nan] * 3, [-1e9, -1e9, -1e300], [-np.inf, -np.inf, 0.0]])
def test_any_prior_is_fit_for_sums(prior):
    """Classes without a chance are not the best, however bad the lines of the others are."""
    model = shape(40, 3)
    model.prior = np.array(prior)
    classes, is_settled = settle(model, model.codes)
    expected = predictor_of(model).log_joint(model.codes)[0].argmax(axis=1)
    assert np.array_equal(classes[is_settled], expected[is_settled])


def test_lines_that_are_no_numbers_are_left():
    model = shape(3, 3)
    model.theta[:] = np.nan
    assert not settle(model, model.codes)[1].any()


def shorten(lines):
    """Lines in steps, with the entries beyond the classes."""
    n_lines, n_classes = lines.shape
    theta = np.concatenate([lines.ravel(), np.full(-(-n_classes // 8) * 8, 50.0, np.float32)])
    for width in (8, 16):
        steps = np.full((n_lines, -(-n_classes // width) * width), 7, np.uint16)
        try:
            core.shorten_lines(theta, steps, n_classes)
        except ValueError:
            continue
        assert not steps[:, n_classes:].any()
        return steps[:, :n_classes]
    raise AssertionError("no width is right")


def test_steps_of_a_line():
    step = 1 / STEPS_PER_UNIT
    lines = np.array([[-1, -1 - 4 * step, -1 - 2.6 * step], [-np.inf, -5.0, -1e9]], np.float32)
    assert shorten(lines).tolist() == [[0, 4, 3], [ALL_POINTS, 0, ALL_POINTS]]
    assert shorten(np.full((2, 3), -np.inf, np.float32)).tolist() == [[ALL_POINTS] * 3] * 2


@pytest.mark.parametrize("n_classes", [1, 2, 7, 8, 9, 15, 16, 17, 40])
def test_steps_of_lines_of_any_length(n_classes):
    lines = np.random.default_rng(n_classes).normal(size=(9, n_classes), scale=30.0).astype(np.float32)
    below = (lines.max(axis=1, keepdims=True) - lines.astype(np.float64)) * STEPS_PER_UNIT
    np.testing.assert_allclose(shorten(lines), np.minimum(below, ALL_POINTS), atol=0.51)


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


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("theta", np.zeros(17, np.float32), "theta must have as many lines as steps"),
        ("theta", np.zeros(18), "theta has the wrong type"),
        ("steps", np.zeros((2, 5), np.uint16), "steps must have room for n_classes"),
        ("steps", np.zeros((2, 16), np.int16), "steps has the wrong type"),
        ("n_classes", 0, "steps must have room for n_classes"),
        ("n_classes", 17, "steps must have room for n_classes"),
        ("n_classes", 2**63 - 1, "steps must have room for n_classes"),
    ],
)
def test_wrong_lines(name, value, message):
    arguments = {"theta": np.zeros(26, np.float32), "steps": np.zeros((2, 16), np.uint16), "n_classes": 9}
    with pytest.raises(ValueError, match=message):
        core.shorten_lines(**{**arguments, name: value})
