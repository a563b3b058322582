"""Types of columns: from all cells when fitting, from the model when predicting."""

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.cli.cells import as_classes, as_fitted, class_labels, typed, words_among_numbers
from tanager.cli.errors import InputError
from tanager.data import as_frame
from tanager.data.coders import CategoryColumn, NumericColumn

CELLS = st.one_of(
    st.none(),
    st.integers(-(10**9), 10**9).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["x", "007", "0x10", "nan", "1,5", "1_000", "true", "é"]),
)


@given(st.lists(CELLS, min_size=1, max_size=30), st.data())
def test_type_does_not_depend_on_the_pieces_and_nothing_is_lost(cells, data):
    cut = data.draw(st.integers(0, len(cells)))
    whole = typed(pyarrow.chunked_array([pyarrow.array(cells, pyarrow.string())]))
    split = typed(pyarrow.chunked_array([pyarrow.array(part, pyarrow.string()) for part in (cells[:cut], cells[cut:])]))
    assert str(whole.type) == str(split.type)
    np.testing.assert_equal(whole.to_pylist(), split.to_pylist())
    if pyarrow.types.is_dictionary(whole.type):
        assert whole.to_pylist() == cells
    else:
        np.testing.assert_equal(
            whole.cast(pyarrow.float64()).to_pylist(), [None if cell is None else float(cell) for cell in cells]
        )


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", None], "int64"),
        (["1", "2.5"], "double"),
        (["1", "nan"], "double"),
        (["01", "2"], "dictionary"),
        (["0", "0.5"], "double"),
        (["0x10", "2"], "dictionary"),
        (["true", "false"], "dictionary"),
        ([None, None], "int64"),
    ],
)
def test_types(cells, kind):
    assert str(typed(pyarrow.chunked_array([pyarrow.array(cells, pyarrow.string())])).type).startswith(kind)


def test_categories_stay_text_when_asked():
    assert typed(pyarrow.chunked_array([["1", "2"]]), is_category=True).to_pylist() == ["1", "2"]


def codes(column, cells):
    """What the model makes of cells."""
    table = as_frame(pyarrow.table({"f": as_fitted(cells, column, "f")}))
    return column.coder(table.levels[0], "f")(table.columns[0]).tolist()


TEXT = CategoryColumn(np.array(["1", "2", "x"], dtype=object), has_missing=True)
WHOLE = CategoryColumn(np.array([1, 2, 30]), has_missing=True)
TRUTH = CategoryColumn(np.array([False, True]), has_missing=True)


@pytest.mark.parametrize(
    ("column", "cells", "expected"),
    [
        (TEXT, ["2", "x", "y", None], [1, 2, 4, 3]),
        (TEXT, [2, 1, 7, None], [1, 0, 4, 3]),
        (TEXT, [2.0, 1.0, float("nan"), None], [1, 0, 3, 3]),
        (TEXT, [2.5, 1.0], [4, 0]),
        (CategoryColumn(np.array(["12345678901"], dtype=object)), [12345678901.0, None], [0, 1]),
        (WHOLE, ["2", "30", "x", "31", "1.0", None], [1, 2, 4, 4, 0, 3]),
        (WHOLE, [2, 30, 5, None], [1, 2, 4, 3]),
        (TRUTH, ["True", "false", "maybe", None], [1, 0, 3, 2]),
        (TRUTH, [True, False, None], [1, 0, 2]),
        (TRUTH, [None, None], [2, 2]),
        (CategoryColumn(np.array(["True", "False"], dtype=object)), [True, False], [0, 1]),
        (CategoryColumn(np.array(["true", "false"], dtype=object)), [True, False], [0, 1]),
        (NumericColumn(np.array([2.0]), has_missing=True), ["1", "3", "1e3", None, "nan"], [0, 1, 1, 2, 2]),
        (NumericColumn(np.array([2.0]), has_missing=True), [1, 3], [0, 1]),
    ],
)
def test_cells_match_the_model_however_they_are_spelled(column, cells, expected):
    assert codes(column, pyarrow.array(cells)) == expected


def test_words_in_a_numeric_column_name_column_row_and_word():
    with pytest.raises(
        InputError,
        match="column 'age' is numeric in the model, but row 12 has 'old'; if that means missing, add --missing 'old'",
    ):
        as_fitted(pyarrow.array(["1", "old"]), NumericColumn(np.array([2.0])), "age", first_row=10)


def test_a_mixed_category_is_refused():
    mixed = CategoryColumn(np.array([1, "x"], dtype=object))
    with pytest.raises(InputError, match="column 'f' of the model mixes numbers and words"):
        as_fitted(pyarrow.array(["1"]), mixed, "f")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pyarrow.chunked_array([["a", "b"]]), ["a", "b"]),
        (pyarrow.chunked_array([["a", "b"]]).dictionary_encode(), ["a", "b"]),
        (pyarrow.chunked_array([[1, 2]]), [1, 2]),
        (pyarrow.chunked_array([[1.0, 2.0]]), [1, 2]),
        (pyarrow.chunked_array([[0.5, 2.0]]), ["0.5", "2"]),
        (pyarrow.chunked_array([[True, False]]), [True, False]),
    ],
)
def test_class_labels(cells, expected):
    assert class_labels(cells).tolist() == expected


def test_classes_of_rows():
    assert as_classes(pyarrow.array(["2", "7", None, "1"]), np.array([1, 2])).tolist() == [1, -1, -2, 0]
    assert as_classes(pyarrow.array(["b", None, "?"]), np.array(["a", "b"], dtype=object)).tolist() == [1, -2, -1]
    assert as_classes(pyarrow.array([True, None]), np.array([False, True])).tolist() == [1, -2]


def test_few_words_among_numbers_are_noticed():
    numbers = [str(number) for number in range(20)]
    assert words_among_numbers(pyarrow.chunked_array([[*numbers, "NA", "NA"]])) == (["NA"], 2)
    assert words_among_numbers(pyarrow.chunked_array([numbers])) is None
    assert words_among_numbers(pyarrow.chunked_array([["a", "b", "c", "d", "e", "1"]])) is None
