"""Categories of a column: which keep a code of their own, which share one, and in what order."""

from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tanager.data import QuantileBinning
from tests.data.encoders import cells, describe, describe_all, encode, fit


@pytest.mark.parametrize(("max_categories", "kept"), [(2, "c"), (3, "bc"), (4, "abc"), (5, "abcde"), (None, "abcde")])
def test_the_heaviest_categories_keep_a_code_and_the_others_share_one(max_categories, kept):
    # c 4, b 3, then a, d and e with 2 each, of which the smallest comes first.
    X = cells(*"ecdcabcbedcba")
    column = fit(X, max_categories=max_categories).columns[0]
    assert column.categories.tolist() == list(kept)
    assert column.pooled.tolist() == [value for value in "abcde" if value not in kept]
    assert column.card == len(kept) + (len(kept) < 5)


def test_codes_of_pooled_missing_and_unseen_values():
    X = cells("a", "a", "b", None, "c", "b", "d")
    encoder = fit(X, max_categories=3)
    assert encoder.cards.tolist() == [4]
    assert encode(encoder, X) == [0, 0, 1, 3, 2, 1, 2]
    assert encode(encoder, cells("d", None, "z", 5, "b")) == [2, 3, 4, 4, 1]
    ignoring = fit(X, max_categories=3, missing="ignore")
    assert ignoring.cards.tolist() == [3]
    assert encode(ignoring, cells("d", None, "z", 5, "b")) == [2, 3, 3, 3, 1]


def test_missing_cells_do_not_count_as_a_category():
    X = cells("a", None, None, "b", None)
    assert describe_all(fit(X, max_categories=2)) == ([["a", "b"]], {}, [True])
    X = cells("a", None, None, "b", None, "c", "c")
    assert describe_all(fit(X, max_categories=2)) == ([["c"]], {0: ["a", "b"]}, [True])


def test_weights_decide_which_categories_are_rare():
    X = cells("a", "a", "a", "b", "c")
    assert fit(X, max_categories=2).pooled() == {0: ["b", "c"]}
    assert fit(X, sample_weight=[1, 1, 1, 4, 1], max_categories=2).pooled() == {0: ["a", "c"]}
    assert fit(X, sample_weight=[1, 1, 1, 4, 0], max_categories=2).pooled() == {}


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [2, 0, 1, 6, 5, 3, 4]])
def test_rounding_of_weights_does_not_break_ties(order):
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last bit when they are summed as they come.
    X, weight = cells("a", "a", "a", "b", "b", "b", "c"), np.array([0.3, 0.2, 0.1, 0.1, 0.2, 0.3, 0.1])
    assert fit(X[order], sample_weight=weight[order], max_categories=2).pooled() == {0: ["b", "c"]}


def test_pooling_does_not_count_levels_that_no_row_has():
    levels = [*"zyxwvu", "b", "a", "c"]
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", "b", None], categories=levels)})
    assert describe_all(fit(frame, max_categories=2)) == ([["a", "b"]], {}, [True])
    frame = pd.DataFrame({"x": pd.Categorical(["b", "a", "b", "c", None], categories=levels)})
    encoder = fit(frame, max_categories=2)
    assert encoder.pooled() == {"x": ["a", "c"]}
    later = pd.DataFrame({"x": pd.Categorical(["z", "c", "b", None, "new"], categories=["new", *levels])})
    assert encode(encoder, later) == [3, 1, 0, 2, 3]


def test_equal_levels_of_a_dictionary_are_weighed_together():
    column = pa.DictionaryArray.from_arrays([0, 1, 2, 2, 3, 3, 1], pa.array([7, 5, 5, 9]))
    assert fit(pa.table({"x": column}), max_categories=2).columns[0].categories.tolist() == [5]
    assert describe(fit(pa.table({"x": column}))) == [[5, 7, 9]]


def test_integers_and_booleans_are_pooled_or_not_by_their_values():
    X = np.array([[3], [1], [3], [2], [1], [3], [4]], dtype=np.int16)
    encoder = fit(X, [True], max_categories=3)
    assert encoder.columns[0].categories.dtype == np.int16
    assert describe_all(encoder) == ([[1, 3]], {0: [2, 4]}, [False])
    assert encode(encoder, np.array([[4.0], [3.0], [np.nan], [2.5], [2.0]])) == [2, 1, 3, 3, 2]
    assert encode(encoder, cells(4, 3, None, "3", True)) == [2, 1, 3, 3, 0]
    flags = fit(np.array([[True], [False], [True]]), max_categories=2)
    assert describe_all(flags) == ([[False, True]], {}, [False])
    assert encode(flags, np.array([[1.0], [0.0], [2.0]])) == [1, 0, 2]


def test_numeric_columns_are_never_pooled():
    encoder = fit(np.arange(9.0).reshape(-1, 1), binning=QuantileBinning(9), max_categories=2)
    assert encoder.cards.tolist() == [9]
    assert encoder.pooled() == {}


def test_pooled_values_are_listed_by_name_or_position():
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0, 4.0], "x": list("abca"), "y": list("aabb"), "z": [9, 9, 8, 7]})
    encoder = fit(frame, [False, True, True, True], max_categories=2)
    assert encoder.pooled() == {"x": ["b", "c"], "z": [7, 8]}
    assert fit(frame.to_numpy(), [False, True, True, True], max_categories=2).pooled() == {1: ["b", "c"], 3: [7, 8]}


ANY_CELL = st.one_of(
    st.none(),
    st.just(np.nan),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from([0.5, 2.0]),
    st.text("ab", max_size=2),
)


def slow_category(values, max_categories):
    """Codes of the values of a category: the heaviest first, the smaller first among equals, numbers before text."""
    counts = Counter(value for value in values if value is not None and value == value)
    ordered = sorted(counts, key=lambda value: (isinstance(value, str), value))
    if max_categories is None or len(ordered) <= max_categories:
        return {value: code for code, value in enumerate(ordered)}
    kept = sorted(ordered, key=lambda value: -counts[value])[: max_categories - 1]
    own = [value for value in ordered if value in kept]
    return {value: own.index(value) if value in kept else len(own) for value in ordered}


@given(
    st.lists(st.tuples(ANY_CELL, st.integers(0, 3)), min_size=1, max_size=25).filter(
        lambda rows: any(w for _, w in rows)
    ),
    st.lists(ANY_CELL, min_size=1, max_size=10),
    st.sampled_from([None, 2, 3, 4]),
    st.sampled_from(["value", "ignore"]),
)
def test_categories_follow_a_slow_encoder(rows, later, max_categories, missing):
    values, weight = zip(*rows, strict=True)
    repeated = [value for value, count in rows for _ in range(count)]
    known = slow_category(repeated, max_categories)
    assume(known or missing == "value")
    encoder = fit(cells(*values), [True], list(weight), missing=missing, max_categories=max_categories)
    n_codes = len(set(known.values()))
    is_coded = missing == "value" and any(value is None or value != value for value in repeated)
    assert encoder.cards.tolist() == [n_codes + is_coded]
    expected = [n_codes if value is None or value != value else known.get(value, n_codes + is_coded) for value in later]
    assert encode(encoder, cells(*later)) == expected
    numbers = np.array([value if isinstance(value, (int, float)) else np.nan for value in later]).reshape(-1, 1)
    assert encode(encoder, numbers) == [
        n_codes if isinstance(value, str) else code for value, code in zip(later, expected, strict=True)
    ]
    again = fit(cells(*repeated), [True], missing=missing, max_categories=max_categories)
    assert describe_all(again) == describe_all(encoder)
