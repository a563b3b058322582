"""Log-joint and classes of a network against the oracle, and networks and rows that the core refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tests.core.test_messages import misaligned, read_only
from tests.strategies import make_model, models

# A sum of at most six terms, whose parameters are in single precision.
TOLERANCE = {"rtol": 1e-6, "atol": 1e-6}
CODE_TYPES = (np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64)


def arguments_of(model):
    layout = model.layout
    return [model.arena(), model.prior.astype(np.float64), tuple(layout.cpts), layout.pairs]


def predictor_of(model):
    return core.Predictor(*arguments_of(model))


def chain(n_features, n_classes, n_rows, *, card=5, spread=1.0):
    candidates = [[i - 1] for i in range(n_features)]
    return make_model(candidates, [card] * n_features, n_classes, seed=n_classes, n_rows=n_rows, spread=spread)


@given(models(is_fixed=True, has_pairs=True, max_classes=20, max_rows=80), st.sampled_from(CODE_TYPES))
@settings(max_examples=100)
def test_equals_the_oracle(model, code_type):
    predictor, codes = predictor_of(model), model.codes.astype(code_type)
    expected = model.log_joint(range(len(model.cards)))
    log_joint, left = predictor.log_joint(codes)
    np.testing.assert_allclose(log_joint, expected, **TOLERANCE)
    classes, left_of_classes = predictor.classes(codes)
    assert left is None
    assert left_of_classes is None
    assert log_joint.dtype == np.float64
    assert classes.dtype == np.int64
    assert np.array_equal(classes, log_joint.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 5, 8, 9, 16, 17, 26, 100])
@pytest.mark.parametrize("n_features", [1, 7, 8, 9, 32, 33, 100])
def test_sums_of_many_slots(n_features, n_classes):
    model = chain(n_features, n_classes, n_rows=130)
    log_joint, _ = predictor_of(model).log_joint(model.codes.astype(np.uint8))
    np.testing.assert_allclose(log_joint, model.log_joint(range(n_features)), rtol=1e-6, atol=1e-6)


def test_rows_with_unknown_values_are_left():
    model = make_model([[-1], [0], [1]], [2, 3, 2], 2, seed=0, n_rows=4)
    codes = model.codes.copy()
    codes[1, 2] = 2
    codes[3, 0] = 2
    predictor = predictor_of(model)
    log_joint, left = predictor.log_joint(codes)
    assert left.tolist() == [1, 3]
    assert left.dtype == np.int64
    assert np.isnan(log_joint[[1, 3]]).all()
    assert np.array_equal(log_joint[[0, 2]], predictor.log_joint(model.codes)[0][[0, 2]])
    classes, left = predictor.classes(codes)
    assert left.tolist() == [1, 3]
    assert classes.tolist() == [log_joint[0].argmax(), -1, log_joint[2].argmax(), -1]


@pytest.mark.parametrize("code_type", CODE_TYPES)
def test_codes_that_are_no_values_are_unknown(code_type):
    """They are never read with, whatever is behind the CPTs; a negative code is not its positive twin in 8 bits."""
    model = make_model([[-1], [2], [0]], [3, 250, 3], 11, seed=0, n_rows=300)
    predictor, limits = predictor_of(model), np.iinfo(code_type)
    for column in range(3):
        for code in {limits.max, limits.max // 2 + 1, limits.min, -1, -100}:
            codes = np.minimum(model.codes, 127).astype(code_type)
            if code < limits.min or 0 <= code < model.cards[column]:
                continue
            codes[[0, 17, 299], column] = code
            for find in (predictor.log_joint, predictor.classes):
                found, left = find(codes)
                assert left.tolist() == [0, 17, 299]
                assert len(found) == 300


@pytest.mark.parametrize("n_classes", [2, 6, 12])
def test_a_row_has_the_same_bits_in_every_company_and_on_any_threads(n_classes):
    model = chain(50, n_classes, n_rows=4000)
    codes = model.codes.astype(np.uint8)
    codes[::37, 3] = 5
    predictor = predictor_of(model)
    log_joint, left = predictor.log_joint(codes)
    classes, _ = predictor.classes(codes)
    for n_threads in (2, 3, 8, 10**9):
        found, found_left = predictor.log_joint(codes, n_threads)
        assert np.array_equal(found, log_joint, equal_nan=True)
        assert np.array_equal(found_left, left)
        found, found_left = predictor.classes(codes, n_threads=n_threads)
        assert np.array_equal(found, classes)
        assert np.array_equal(found_left, left)
    for start, stop in [(0, 1), (1, 2), (5, 12), (60, 130), (100, 1000), (3999, 4000), (7, 7)]:
        found, _ = predictor.log_joint(codes[start:stop])
        assert np.array_equal(found, log_joint[start:stop], equal_nan=True)
        assert np.array_equal(predictor.classes(codes[start:stop])[0], classes[start:stop])


@pytest.mark.parametrize("n_classes", [3, 10])
def test_of_equal_classes_the_first_is_taken(n_classes):
    model = chain(20, n_classes, n_rows=900, card=2)
    lines = model.theta.reshape(-1, n_classes)
    lines[:, 2] = lines[:, 1]
    model.prior[2] = model.prior[1]
    classes, _ = predictor_of(model).classes(model.codes)
    assert (classes == 1).any()
    assert not (classes == 2).any()
    assert np.array_equal(classes, predictor_of(model).log_joint(model.codes)[0].argmax(axis=1))


def test_a_feature_may_be_the_child_of_several_slots():
    """As in the mean of several networks."""
    model = make_model([[-1], [0], [(0, 1)]], [3, 2, 4], 5, seed=0, n_rows=40)
    theta, prior, cpts, pairs = arguments_of(model)
    child, _, parent, offset, cards = cpts
    twice = (
        np.tile(child, 2),
        np.arange(7),
        np.tile(parent, 2),
        np.concatenate([offset, offset[-1] + offset[1:]]),
        cards,
    )
    both = np.concatenate([theta[: offset[-1]], theta])
    once = core.Predictor(theta, prior, cpts, pairs).log_joint(model.codes)[0]
    found = core.Predictor(both, prior, twice, pairs).log_joint(model.codes)[0]
    np.testing.assert_allclose(found - prior, 2 * (once - prior), rtol=1e-5)


def test_what_was_checked_cannot_be_changed_afterwards():
    model = make_model([[-1], [0], [(0, 1)]], [3, 2, 4], 5, seed=0, n_rows=40)
    theta, prior, cpts, pairs = arguments_of(model)
    cpts = tuple(np.array(part) for part in cpts)
    predictor = core.Predictor(theta, prior, cpts, pairs)
    before = predictor.log_joint(model.codes)[0]
    prior[:] = 0.0
    for part in (*cpts, pairs):
        part[:] = 10**9
    del theta
    assert np.array_equal(predictor.log_joint(model.codes)[0], before)


def test_impossible_values_have_no_class_but_a_result():
    model = chain(3, 10, n_rows=700)
    model.theta[:] = -np.inf
    predictor = predictor_of(model)
    assert (predictor.log_joint(model.codes)[0] == -np.inf).all()
    assert not predictor.classes(model.codes)[0].any()


@given(models(has_pairs=True), st.sampled_from(CODE_TYPES), st.sampled_from(CODE_TYPES[:4] + CODE_TYPES[5:]))
@settings(max_examples=50)
def test_wide_codes(model, code_type, wide_type):
    layout = model.layout
    n_rows, n_features = model.codes.shape
    wide = np.full((n_rows, n_features + len(layout.pairs)), 77, wide_type)
    core.widen_codes(0, n_rows, model.codes.astype(code_type), layout.pairs, layout.cpts.cards, wide)
    assert wide.tolist() == model.wide_rows.tolist()


def test_pairs_with_an_unknown_value_are_unknown():
    cards, pairs = np.array([3, 2, 4, 6, 1]), np.array([[0, 1]])
    codes = np.array([[0, 0, 9], [3, 0, 1], [2, 2, 1], [-1, 1, 0]])
    wide = np.zeros((4, 4), np.uint8)
    core.widen_codes(1, 4, codes, pairs, cards, wide)
    assert wide.tolist() == [[0, 0, 0, 0], [3, 0, 1, 6], [2, 2, 1, 6], [3, 1, 0, 6]]
    core.widen_codes(0, 1, codes, pairs, cards, wide)
    assert wide[0].tolist() == [0, 0, 4, 0]


# What the border refuses.


def some_model():
    return make_model([[-1], [0], [(0, 1)]], [3, 2, 4], 5, seed=0, n_rows=4)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, "theta", "theta must be an array"),
        (0, np.zeros(500), "theta has the wrong type"),
        (0, np.zeros((2, 250), np.float32), "theta must have 1 dimension"),
        (0, np.zeros(1000, np.float32)[::2], "theta must be C-contiguous"),
        (0, misaligned(np.zeros(500, np.float32)), "theta must be aligned"),
        (0, np.zeros(165, np.float32), "theta must have at least 173 entries, not 165"),
        (1, np.zeros(5, np.float32), "prior has the wrong type"),
        (1, np.zeros(0), "prior must have at least one class"),
        (1, np.zeros(4), "offset does not fit"),
        (2, [1, 2, 3, 4, 5], "cpts must be a tuple"),
        (2, (1, 2), "cpts must have 5 fields"),
        (3, [[0, 1]], "pairs must be an array"),
        (3, np.zeros((0, 3), np.int64), "pairs has the wrong shape"),
        (3, np.array([[0, 3]]), "pairs must be of features"),
        (3, np.array([[-1, 1]]), "pairs must be of features"),
        (3, np.array([[0, 2]]), "cards do not fit the pairs"),
        (3, np.array([[0, 1]] * 9), "pairs must be of features"),
        (3, np.array([[0, 1]], np.int32), "pairs has the wrong type"),
    ],
)
def test_wrong_networks(place, value, message):
    arguments = arguments_of(some_model())
    arguments[place] = value
    with pytest.raises(ValueError, match=message):
        core.Predictor(*arguments)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (0, [0, 1, 4], "child holds 4"),
        (0, [0, 1, -1], "child holds -1"),
        (0, [0, 1], "do not fit together"),
        (1, [0, 1, 2, 2], "ptr must end"),
        (1, [0, 0, 2, 3], "offset does not fit|one candidate for each slot"),
        (1, [0, 2, 1, 3], "ptr must not fall"),
        (1, [1, 1, 2, 3], "ptr must start at 0"),
        (2, [4, 0, 5], "parent holds 5"),
        (2, [4, 0, -1], "parent holds -1"),
        (2, [4, 0, 2], "offset does not fit"),
        (3, [0, 15, 45, 164], "offset does not fit"),
        (3, [0, 45, 15, 165], "offset must not fall"),
        (4, [3, 2, 4, 6, 0], "cards must be at least 1"),
        (4, [3, 2, 4, 6, 2], "offset does not fit|one value of no parent"),
        (4, [3, 2, 4, 2**62, 1], "offset does not fit|cards do not fit"),
    ],
)
def test_wrong_cpts(field, value, message):
    arguments = arguments_of(some_model())
    cpts = list(arguments[2])
    cpts[field] = np.array(value)
    arguments[2] = tuple(cpts)
    with pytest.raises(ValueError, match=message):
        core.Predictor(*arguments)


def test_a_pair_cannot_be_a_child():
    _, prior, (_, ptr, parent, _, cards), pairs = arguments_of(some_model())
    cpts = (np.array([0, 1, 3]), ptr, parent, np.array([0, 15, 45, 225]), cards)
    with pytest.raises(ValueError, match="child holds 3, which is not a feature"):
        core.Predictor(np.zeros(500, np.float32), prior, cpts, pairs)


def test_a_network_must_have_a_slot():
    cpts = tuple(np.array(part, np.int64) for part in ([], [0], [], [0], [1]))
    with pytest.raises(ValueError, match="cpts must have at least one slot"):
        core.Predictor(np.zeros(8, np.float32), np.zeros(1), cpts, np.zeros((0, 2), np.int64))


def test_a_network_must_not_be_larger_than_its_numbers():
    size = 2**16 * 2**16
    cpts = tuple(map(np.array, ([0, 1], [0, 1, 2], [2, 0], [0, 2**16, 2**16 + size], [2**16, 2**16, 1])))
    with pytest.raises(ValueError, match="more entries than 32 bits can number"):
        core.Predictor(np.zeros(8, np.float32), np.zeros(1), cpts, np.zeros((0, 2), np.int64))


@pytest.mark.parametrize("name", ["log_joint", "classes", "settled_classes"])
@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (7, "codes must be an array"),
        ([[0, 0, 0]], "codes must be an array"),
        (np.zeros((4, 3)), "codes must hold whole numbers"),
        (np.zeros((4, 3), bool), "codes must hold whole numbers"),
        (np.zeros((4, 3), np.dtype(">i4")), "codes must"),
        (np.zeros(3, np.uint8), "codes must have 2 dimensions"),
        (np.zeros((4, 4), np.uint8), "codes must have 3 columns, not 4"),
        (np.zeros((4, 2), np.uint8), "codes must have 3 columns, not 2"),
        (np.zeros((3, 4), np.uint8).T, "codes must be C-contiguous"),
        (np.zeros((8, 3), np.uint8)[::2], "codes must be C-contiguous"),
        (np.broadcast_to(np.zeros(3, np.uint8), (10**12, 3)), "codes must be C-contiguous"),
        (misaligned(np.zeros((4, 3), np.int32)), "codes must be aligned"),
    ],
)
def test_wrong_codes(name, codes, message):
    with pytest.raises(ValueError, match=message):
        getattr(predictor_of(some_model()), name)(codes)


@pytest.mark.parametrize("name", ["log_joint", "classes", "settled_classes"])
def test_wrong_numbers_of_threads(name):
    predictor, codes = predictor_of(some_model()), np.zeros((4, 3), np.uint8)
    for n_threads in (0, -1, -(2**63)):
        with pytest.raises(ValueError, match="n_threads must be at least 1"):
            getattr(predictor, name)(codes, n_threads)
    for n_threads in ("two", 1.5, None, 2**64):
        with pytest.raises(TypeError):
            getattr(predictor, name)(codes, n_threads)


def test_codes_need_not_be_writable():
    predictor, codes = predictor_of(some_model()), np.zeros((4, 3), np.uint8)
    assert np.array_equal(predictor.log_joint(read_only(codes))[0], predictor.log_joint(codes)[0])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("lo", -1, "the range -1 to 2 is not within 2"),
        ("hi", 3, "the range 0 to 3 is not within 2"),
        ("codes", np.zeros((2, 4), np.uint8), "codes must have 3 columns"),
        ("pairs", np.array([[0, 3]]), "pairs must be of features"),
        ("pairs", np.array([[1, 2]]), "cards do not fit the pairs"),
        ("cards", np.zeros(0, np.int64), "cards must end"),
        ("cards", np.array([3, 2, 4, 0, 1]), "cards must be at least 1"),
        ("cards", np.array([3, 2, 4, 6, 1], np.int32), "cards has the wrong type"),
        ("cards", np.array([2**32, 2**32, 4, 0, 1]), "cards must be at least 1"),
        ("cards", np.array([2**32, 2**32, 4, 1, 1]), "cards do not fit the pairs"),
        ("wide", np.zeros((2, 3), np.uint8), "wide must have 4 columns"),
        ("wide", np.zeros((3, 4), np.uint8), "wide must have 2 rows"),
        ("wide", np.zeros((2, 4)), "wide must hold whole numbers"),
        ("wide", np.zeros((4, 2), np.uint8).T, "wide must be C-contiguous"),
        ("wide", read_only(np.zeros((2, 4), np.uint8)), "wide must be an array that can be written to"),
    ],
)
def test_wrong_arguments_of_wide_codes(name, value, message):
    arguments = {
        "lo": 0,
        "hi": 2,
        "codes": np.zeros((2, 3), np.uint8),
        "pairs": np.array([[0, 1]]),
        "cards": np.array([3, 2, 4, 6, 1]),
        "wide": np.zeros((2, 4), np.uint8),
    }
    with pytest.raises(ValueError, match=message):
        core.widen_codes(**{**arguments, name: value})


def test_wide_codes_must_have_room_for_all_values():
    cards, codes = np.array([300, 1]), np.zeros((2, 1), np.int64)
    for wide_type, is_large in ((np.uint8, False), (np.int8, False), (np.int16, True), (np.uint16, True)):
        wide = np.zeros((2, 1), wide_type)
        if is_large:
            core.widen_codes(0, 2, codes, np.zeros((0, 2), np.int64), cards, wide)
        else:
            with pytest.raises(ValueError, match="wide must have numbers up to 300"):
                core.widen_codes(0, 2, codes, np.zeros((0, 2), np.int64), cards, wide)
