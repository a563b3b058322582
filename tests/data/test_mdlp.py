import itertools
import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.data import FrameEncoder, MDLPBinning, as_frame, mdlp_column_cuts, mdlp_cuts
from tests.oracles import mdlp_oracle

RULES = ("textbook", "best-passing")


@st.composite
def columns(draw, max_rows=40):
    """Values and classes that go together more or less, with ties in the values."""
    n_rows = draw(st.integers(1, max_rows))
    n_classes = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.sort(rng.integers(0, n_classes, n_rows)) if draw(st.booleans()) else rng.integers(0, n_classes, n_rows)
    noise = draw(st.sampled_from([0.0, 0.5, 2.0]))
    values = np.arange(n_rows) * draw(st.sampled_from([0.1, 0.5, 1.0])) + rng.normal(size=n_rows) * noise
    return np.round(values, draw(st.integers(0, 2))), y


@given(columns(30), st.sampled_from(RULES), st.sampled_from([None, 1, 2, 3, 5]))
def test_cuts_equal_the_oracle(data, rule, max_bins):
    values, y = data
    cuts = mdlp_cuts(values, y, rule=rule, max_bins=max_bins)
    assert cuts.tolist() == pytest.approx(mdlp_oracle.mdlp_cuts(values.tolist(), y.tolist(), None, rule, max_bins))


@given(columns(25), st.sampled_from(RULES), st.sampled_from([0.3, 1.0, 4.0]), st.integers(0, 2**32 - 1))
def test_cuts_with_fractional_weights_equal_the_oracle(data, rule, scale, seed):
    values, y = data
    weight = np.random.default_rng(seed).gamma(2.0, scale, size=y.size)
    cuts = mdlp_cuts(values, y, weight, rule)
    assert cuts.tolist() == pytest.approx(mdlp_oracle.mdlp_cuts(values.tolist(), y.tolist(), weight.tolist(), rule))


@given(columns(), st.sampled_from(RULES), st.integers(0, 2**32 - 1))
def test_integer_weights_equal_repeated_rows(data, rule, seed):
    values, y = data
    weight = np.random.default_rng(seed).integers(0, 5, y.size)
    weight[0] = 1
    expected = mdlp_cuts(np.repeat(values, weight), np.repeat(y, weight), None, rule)
    assert mdlp_cuts(values, y, weight.astype(float), rule).tolist() == expected.tolist()


@given(columns(), st.sampled_from(RULES), st.integers(0, 2**32 - 1))
def test_row_order_does_not_matter(data, rule, seed):
    values, y = data
    rng = np.random.default_rng(seed)
    weight, order = rng.gamma(0.5, 4.0, size=y.size), rng.permutation(y.size)
    expected = mdlp_cuts(values, y, weight, rule)
    assert mdlp_cuts(values[order], y[order], weight[order], rule).tolist() == expected.tolist()


def test_the_rules_differ_where_only_a_lesser_cut_passes():
    rng = np.random.default_rng(3)
    found = 0
    for _ in range(200):
        y = rng.integers(0, 4, 40)
        values = np.round(y + rng.normal(size=40) * 2, 1)
        textbook, passing = (mdlp_cuts(values, y, rule=rule).tolist() for rule in RULES)
        found += textbook != passing
        assert passing == pytest.approx(mdlp_oracle.mdlp_cuts(values.tolist(), y.tolist(), rule="best-passing"))
    assert found > 0


@pytest.mark.parametrize("unit", [1.0, 0.7])
def test_two_values_are_cut_exactly_when_the_test_passes(unit):
    """Every table of up to five rows of two classes below and above the only gap."""
    for counts in itertools.product(range(6), repeat=4):
        if sum(counts) > 0:
            values, y, weight = [0.0, 0.0, 1.0, 1.0], [0, 1, 0, 1], [unit * count for count in counts]
            cuts = mdlp_cuts(np.array(values), np.array(y), np.array(weight))
            assert cuts.tolist() == mdlp_oracle.mdlp_cuts(values, y, weight), counts


def test_of_equal_gains_the_lower_cut_is_taken():
    assert mdlp_cuts(np.arange(90), np.repeat([0, 1, 0], 30), max_bins=2).tolist() == [29.5]
    four = np.repeat([0, 1, 2, 3], 30)
    assert mdlp_cuts(np.arange(120), four, max_bins=3).tolist() == [29.5, 59.5]
    assert mdlp_cuts(np.arange(120), four).tolist() == [29.5, 59.5, 89.5]


def test_sorting_covers_the_whole_range_of_floats():
    ends = np.array([-1.7e308, -1.0, -1e-300, -5e-324, 0.0, 5e-324, 1e-300, 1.0, 1.7e308])
    values = np.repeat(ends, 50)
    y = np.repeat(np.arange(9) % 2, 50)
    order = np.random.default_rng(0).permutation(values.size)
    cuts = mdlp_cuts(values[order], y[order])
    assert np.searchsorted(cuts, ends, side="right").tolist() == list(range(9))


def test_minus_zero_equals_zero():
    assert mdlp_cuts(np.repeat([-0.0, 0.0], 20), np.repeat([0, 1], 20)).size == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.bool_])
def test_columns_may_have_any_numeric_type(dtype):
    values = np.repeat([0, 1], 20).astype(dtype)
    assert mdlp_cuts(values, np.repeat(["yes", "no"], 20)).tolist() == [0.5]


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [-3, 7], [200, 100_000], [0.5, 1.5], ["b", "a"]])
def test_classes_may_have_any_labels(labels):
    assert mdlp_cuts(np.arange(40), np.repeat(labels, 20)).tolist() == [19.5]


@pytest.mark.parametrize(
    ("values", "y"),
    [
        (np.zeros(20), np.arange(20) % 2),
        (np.arange(20), np.zeros(20)),
        (np.full(20, np.nan), np.arange(20) % 2),
        (np.array([1.0]), np.array([1])),
        (np.arange(100), np.arange(100) % 2),
    ],
)
def test_columns_that_tell_nothing_have_no_cut(values, y):
    for rule in RULES:
        assert mdlp_cuts(values, y, rule=rule).size == 0


def test_nan_cells_are_left_out():
    values, y = np.arange(40.0), np.repeat([0, 1], 20)
    with_holes = np.insert(values, [3, 30], np.nan)
    assert mdlp_cuts(with_holes, np.insert(y, [3, 30], [1, 0])).tolist() == mdlp_cuts(values, y).tolist() == [19.5]


def test_many_classes_do_not_overflow():
    y = np.repeat(np.arange(2000), 3)
    cuts = mdlp_cuts(np.arange(6000.0), y)
    assert cuts.size > 0
    assert set(cuts) <= set(np.arange(2.5, 6000, 3))


def test_large_weights_go_beyond_the_table_of_logarithms():
    values, y = np.arange(30), np.repeat([0, 1, 0], 10)
    weight = np.full(30, 2.0**22)
    weight[5] = 2.0**54
    assert mdlp_cuts(values, y, weight).tolist() == [9.5, 19.5]
    assert mdlp_cuts(values, y, np.full(30, 2.0**22)).tolist() == [9.5, 19.5]


def test_little_weight_is_little_evidence():
    values, y = np.arange(30), np.repeat([0, 1], 15)
    assert mdlp_cuts(values, y, np.full(30, 0.5)).tolist() == [14.5]
    assert mdlp_cuts(values, y, np.full(30, 0.05)).size == 0


@pytest.mark.parametrize("rule", RULES)
def test_threads_do_not_change_the_cuts(rule):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    table = [rng.normal(size=500) + y * shift for shift in (0.0, 0.3, 1.0, 3.0)]
    alone = mdlp_column_cuts(table, y, None, rule)
    together = mdlp_column_cuts(table, y, None, rule, n_threads=3)
    assert [cuts.tolist() for cuts in together] == [cuts.tolist() for cuts in alone]
    assert [cuts.tolist() for cuts in alone] == [mdlp_cuts(values, y, None, rule).tolist() for values in table]


def test_binning_of_a_table():
    X, y = np.column_stack([np.arange(20.0), np.arange(20) % 2]), np.repeat([0, 1], 10)
    table = as_frame(X)
    encoder = FrameEncoder.fit(table, np.array([False, False]), None, MDLPBinning(y))
    assert encoder.cards.tolist() == [2, 1]
    assert encoder.encode(table)[:, 0].tolist() == y.tolist()
    limited = MDLPBinning(np.arange(20) // 5, max_bins=2, n_threads=2)
    assert [cuts.size for cuts in limited(table.columns, None)] == [1, 0]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_binning_of_a_table_without_numbers(n_threads):
    table = as_frame(np.array([["a", None], ["b", None]], dtype=object))
    encoder = FrameEncoder.fit(table, np.array([True, False]), None, MDLPBinning(np.array([0, 1]), n_threads=n_threads))
    assert encoder.cards.tolist() == [2, 1]


def test_missing_cells_of_a_table_are_in_no_bin():
    y = np.repeat([0, 1], 10)
    X = np.column_stack([np.arange(20.0)])
    X[[3, 15]] = np.nan
    encoder = FrameEncoder.fit(as_frame(X), np.array([False]), None, MDLPBinning(y))
    expected = np.where(np.isnan(X.ravel()), 2, y)
    assert encoder.columns[0].cuts.tolist() == [9.5]
    assert encoder.encode(as_frame(X)).ravel().tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "best"}, "rule must be one of 'textbook', 'best-passing', got 'best'"),
        ({"max_bins": 0}, "max_bins must be an integer from 1 on"),
        ({"values": np.array([1.0, np.inf])}, "some are infinite"),
        ({"values": np.zeros(3)}, r"column 0 has shape \(3,\), but y has 2 rows"),
        ({"sample_weight": np.array([1.0, -1.0])}, "sample_weight must be finite and not negative"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        mdlp_cuts(**{"values": np.zeros(2), "y": np.array([0, 1]), **arguments})


def test_time_grows_about_linearly_with_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 400_000)
    values = rng.normal(size=y.size) + 0.3 * y
    seconds = []
    for n_rows in (40_000, 400_000):
        times = []
        for _ in range(3):
            start = time.thread_time()
            mdlp_cuts(values[:n_rows], y[:n_rows])
            times.append(time.thread_time() - start)
        seconds.append(min(times))
    # Ten times the rows; a quadratic step would show as a factor of a hundred.
    assert seconds[1] < 30 * seconds[0]


def load(name):
    """Raw and discretised arrays of one of the paper's data sets."""
    folder = os.environ.get("TANAGER_DATA")
    if not folder:
        pytest.skip("TANAGER_DATA is not set: the published discretisation is NOT checked")
    files = [Path(folder) / f"{name}_{kind}.npz" for kind in ("raw", "paper")]
    for file in files:
        if not file.exists():
            pytest.skip(f"{file.name} is not under TANAGER_DATA: the published discretisation is NOT checked")
    return tuple(np.load(file, allow_pickle=False) for file in files)


def published_cuts(paper, fold=1):
    return np.split(paper[f"cut_values_{fold}"], paper[f"cut_offsets_{fold}"][1:-1])


def n_equal(cuts, expected):
    return sum(np.array_equal(got, wanted) for got, wanted in zip(cuts, expected, strict=True))


@pytest.mark.data
def test_satimage_cuts_are_the_published_ones():
    raw, paper = load("satimage")
    X, y = raw["X"], raw["y"]
    n_same_codes = n_same_cuts = 0
    for fold in range(1, 6):
        train = paper[f"idx_train_{fold}"]
        expected = published_cuts(paper, fold)
        cuts = mdlp_column_cuts(list(X[train].T), y[train], rule="best-passing")
        n_same_cuts += n_equal(cuts, expected)
        for got, wanted, column in zip(cuts, expected, X.T, strict=True):
            codes, published = (np.searchsorted(c, column, side="right") for c in (got, wanted))
            n_same_codes += np.array_equal(codes, published)
    assert n_same_codes == 180
    # In fold 1 no training row has the value 110 of feature 15. The published codes leave the cut between 109 and 110
    # open, the file says 109.5, and the midpoint of the training values 109 and 111 is 110.
    assert n_same_cuts == 179


@pytest.mark.data
def test_usps_cuts_are_the_published_ones():
    raw, paper = load("usps")
    rows = np.concatenate([np.flatnonzero(raw["y"] == digit)[:800] for digit in range(10)])
    cuts = mdlp_column_cuts(list(raw["X"][rows].T), raw["y"][rows], rule="textbook")
    assert n_equal(cuts, published_cuts(paper)) == 256
    assert np.mean([c.size + 1 for c in cuts]) == 3.375


@pytest.mark.data
def test_letter_cuts_are_the_published_ones_for_some_choice_of_rows_that_cannot_be_told_apart():
    """Rows of one class with equal codes may be swapped between training and test and nothing published changes."""
    raw, paper = load("letter")
    X, y, expected = raw["X"], raw["y"], published_cuts(paper)
    codes = np.column_stack([np.searchsorted(c, column, side="right") for c, column in zip(expected, X.T, strict=True)])
    twins = np.unique(np.column_stack([codes, y]), axis=0, return_inverse=True)[1].ravel()
    n_train = np.bincount(twins[paper["idx_train_1"]], minlength=twins.max() + 1)
    cuts = mdlp_column_cuts(list(X[paper["idx_train_1"]].T), y[paper["idx_train_1"]], rule="best-passing")
    assert n_equal(cuts, expected) == 14
    rng = np.random.default_rng(0)
    for _ in range(40):
        order = np.lexsort((rng.random(y.size), twins))
        rank = np.arange(y.size) - np.searchsorted(twins[order], twins[order])
        train = order[rank < n_train[twins[order]]]
        cuts = mdlp_column_cuts(list(X[train].T), y[train], rule="best-passing")
        if n_equal(cuts, expected) == 16:
            break
    assert n_equal(cuts, expected) == 16
    assert np.mean([c.size + 1 for c in cuts]) == 9.125


def halving_matrix(n_pixels):
    """Bicubic halving with antialiasing, as MATLAB's imresize does it: Keys' kernel (a = -0.5) stretched by two."""
    centre = 2 * np.arange(n_pixels // 2)[:, None] + 0.5
    pixel = np.arange(-4, n_pixels + 4)
    x = np.abs(centre - pixel) / 2
    inner, outer = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    kernel = np.where(x <= 1, inner, np.where(x <= 2, outer, 0.0))
    kernel /= kernel.sum(axis=1, keepdims=True)
    inside = np.arange(n_pixels) == pixel.clip(0, n_pixels - 1)[:, None]
    return kernel @ inside


@pytest.mark.data
def test_mnist_cuts_are_the_published_ones():
    raw, paper = load("mnist")
    halve = halving_matrix(28)
    images = raw["X"][:60_000].reshape(-1, 28, 28).astype(np.float64)
    small = (halve @ images @ halve.T).transpose(0, 2, 1).reshape(-1, 196)
    cuts = mdlp_column_cuts(list(small.T), raw["y"][:60_000], rule="best-passing", n_threads=2)
    expected = published_cuts(paper)
    assert [c.size for c in cuts] == [c.size for c in expected]
    # The cuts are midpoints of floats, which depend on the order of summation in the last bits.
    assert max(np.abs(got - wanted).max(initial=0.0) for got, wanted in zip(cuts, expected, strict=True)) < 1e-9
    assert np.mean([c.size + 1 for c in cuts]) == pytest.approx(13.158, abs=5e-4)
