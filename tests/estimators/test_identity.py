"""Values keep their identity: those that compare unequal have codes of their own, whichever library holds them.

Every type is read from every library that has it, with and without missing cells; a classifier that was fitted on one
of them gives the same codes to all others, after a pickle and from a model file.
"""

import os
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tanager
from tanager import TANClassifier
from tanager.data import as_frame

few = settings(max_examples=int(os.environ.get("TANAGER_FUZZ_ROUNDS", "60")) // 15)
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def integers(dtype):
    """Whole numbers of a type, often at its ends or where floats begin to skip some."""
    info = np.iinfo(dtype)
    edges = [info.min, info.max, 0, 2**24, 2**53, -(2**53), 2**62, 2**63, 2**63 - 1]
    near = [edge + step for edge in edges for step in (-2, -1, 0, 1, 2) if info.min <= edge + step <= info.max]
    return st.sampled_from(near) | st.integers(int(info.min), int(info.max))


def floats(width):
    return st.floats(width=width, allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)


# Texts that differ in a byte, in a byte that some programs end texts with, or in how a letter is composed.
TEXTS = st.sampled_from(["a", "b", "A", "a ", " a", "a\0", "a\0b", "a\0c", "é", "e\u0301", "", "0", "00", "nan"])
TYPES = {
    **{dtype: integers(dtype) for dtype in INTEGERS},
    "float32": floats(32),
    "float64": floats(64),
    "bool": st.booleans(),
    "str": TEXTS | st.text(max_size=4).filter(lambda text: text.isprintable()),
}
ARROW = {"str": pa.string(), "bool": pa.bool_()}
POLARS = {"str": pl.String, "bool": pl.Boolean}
OWN_NAMES = {"str": "string", "bool": "boolean"}


def library_name(dtype):
    """How pandas and polars spell a type: uint8 is UInt8."""
    return f"UI{dtype[2:]}" if dtype.startswith("u") else dtype.capitalize()


def numpy_array(cells, dtype):
    if None in cells or dtype == "str":  # NumPy's own texts end at the last byte that is not zero
        return objects(cells, dtype)
    return np.array(cells, dtype)[:, None]


def masked_array(cells, dtype):
    filler = next(cell for cell in cells if cell is not None)
    filled = [filler if cell is None else cell for cell in cells]
    kind = object if dtype == "str" else dtype
    return np.ma.array(np.array(filled, kind)[:, None], mask=[[cell is None] for cell in cells])


def objects(cells, dtype):
    column = np.empty((len(cells), 1), object)
    column[:, 0] = cells
    return column


def pandas_nullable(cells, dtype):
    if dtype in INTEGERS:  # from a list, pandas makes floats of some large numbers
        masked = masked_array(cells, dtype)[:, 0]
        return pd.DataFrame({"a": pd.arrays.IntegerArray(masked.data, np.ma.getmaskarray(masked))})
    return pd.DataFrame({"a": pd.array(cells, dtype=OWN_NAMES.get(dtype) or library_name(dtype))})


def pandas_arrow(cells, dtype):
    return pd.DataFrame({"a": pd.Series(pa.array(cells, arrow_type(dtype)), dtype=pd.ArrowDtype(arrow_type(dtype)))})


def arrow_type(dtype):
    return ARROW.get(dtype) or pa.from_numpy_dtype(np.dtype(dtype))


def arrow_table(cells, dtype):
    return pa.table({"a": pa.array(cells, arrow_type(dtype))})


def polars_frame(cells, dtype):
    kind = POLARS.get(dtype) or getattr(pl, library_name(dtype))
    return pl.DataFrame({"a": pl.Series(cells, dtype=kind)})


LIBRARIES = {
    "NumPy": numpy_array,
    "NumPy mask": masked_array,
    "NumPy objects": objects,
    "list": lambda cells, dtype: [[cell] for cell in cells],
    "pandas": lambda cells, dtype: pd.DataFrame({"a": pd.Series(cells, dtype=object if None in cells else dtype)}),
    "pandas nullable": pandas_nullable,
    "pandas Arrow": pandas_arrow,
    "pandas category": lambda cells, dtype: pandas_nullable(cells, dtype).astype("category"),
    "polars": polars_frame,
    "Arrow": arrow_table,
    "Arrow chunks": lambda cells, dtype: pa.concat_tables([arrow_table([cell], dtype) for cell in cells]),
    "Arrow dictionary": lambda cells, dtype: pa.table({"a": arrow_table(cells, dtype)["a"].dictionary_encode()}),
}
PAIRS = [(library, dtype) for library in LIBRARIES for dtype in TYPES]


def make_cells(values, has_missing):
    """Every value twice, apart from each other, and two missing cells."""
    cells = [*values, *values]
    return [*cells[:1], None, *cells[1:], None] if has_missing else cells


def fitted(X, cells):
    classes = ["none" if cell is None else "some" for cell in cells]
    options = {"categorical_features": [0], "max_categories": None}
    return TANClassifier("none", "ml", **options).fit(X, classes)


def codes_of(classifier, X):
    return classifier.encoder_.encode(as_frame(X))[:, 0].tolist()


def assert_codes_are_identities(codes, cells):
    """Equal codes for equal cells, and for no others."""
    by_cell = {}
    for code, cell in zip(codes, cells, strict=True):
        by_cell.setdefault(cell, set()).add(code)
    assert all(len(own) == 1 for own in by_cell.values())
    assert len(set(codes)) == len(by_cell)


@pytest.mark.parametrize(("library", "dtype"), PAIRS)
@few
@given(data=st.data())
def test_every_library_and_type(library, dtype, data):
    values = data.draw(st.lists(TYPES[dtype], min_size=2, max_size=8, unique=True))
    cells = make_cells(values, data.draw(st.booleans()))
    X = LIBRARIES[library](cells, dtype)
    classifier = fitted(X, cells)
    codes = codes_of(classifier, X)
    assert_codes_are_identities(codes, cells)
    # Any other library, one missing cell more or less: the same codes.
    other = data.draw(st.sampled_from(sorted(LIBRARIES)))
    assert codes_of(classifier, LIBRARIES[other](cells, dtype)) == codes
    present = [cell for cell in cells if cell is not None]
    expected = [code for code, cell in zip(codes, cells, strict=True) if cell is not None]
    assert codes_of(classifier, LIBRARIES[other](present, dtype)) == expected
    assert codes_of(classifier, LIBRARIES[other]([None, *present], dtype))[1:] == expected
    # What has not been seen is unknown and nobody's neighbour.
    unseen = data.draw(TYPES[dtype].filter(lambda value: value not in values) if dtype != "bool" else st.just(None))
    if unseen is not None:
        card = classifier.encoder_.columns[0].card
        assert codes_of(classifier, LIBRARIES[other]([unseen, *present], dtype)) == [card, *expected]


@pytest.mark.parametrize("dtype", TYPES)
@few
@given(data=st.data())
def test_pickles_and_model_files(dtype, data, tmp_path_factory):
    values = data.draw(st.lists(TYPES[dtype], min_size=2, max_size=8, unique=True))
    cells = make_cells(values, data.draw(st.booleans()))
    X = LIBRARIES[data.draw(st.sampled_from(sorted(LIBRARIES)))](cells, dtype)
    classifier = fitted(X, cells)
    path = tmp_path_factory.mktemp("identity") / "a.tanager"
    classifier.save(path)
    for copy in (pickle.loads(pickle.dumps(classifier)), tanager.load(path)):
        for library in ("NumPy", "pandas nullable", "polars", "Arrow"):
            assert codes_of(copy, LIBRARIES[library](cells, dtype)) == codes_of(classifier, X)


@pytest.mark.parametrize("dtypes", list(pairwise([*INTEGERS, "float64", "float32", "int8"])), ids="-".join)
@few
@given(data=st.data())
def test_numbers_of_another_type_are_the_same_if_they_are_equal(dtypes, data):
    """Whole numbers meet floats and types with and without a sign: Python's equality, which is exact, decides."""
    one, other = dtypes
    values = data.draw(st.lists(TYPES[one], min_size=2, max_size=8, unique=True))
    asked = data.draw(st.lists(TYPES[other], min_size=1, max_size=8, unique=True))
    number = float if other.startswith("f") else int
    asked += [number(each) for each in values if dtype_holds(other, each)]
    classifier = fitted(LIBRARIES["NumPy"](values, one), values)
    position = {value: code for code, value in enumerate(sorted(values))}
    expected = [position.get(np.array([value], other).tolist()[0], len(values)) for value in asked]
    for library in ("NumPy", "NumPy objects", "polars", "Arrow", "pandas nullable"):
        assert codes_of(classifier, LIBRARIES[library](asked, other)) == expected
        assert codes_of(classifier, LIBRARIES[library]([*asked, None], other))[:-1] == expected


def dtype_holds(dtype, value):
    """Whether a type has this very number."""
    if np.dtype(dtype).kind == "f":
        with np.errstate(over="ignore"):
            return float(np.dtype(dtype).type(value)) == value
    return float(value).is_integer() and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


@few
@given(st.lists(integers("int64") | integers("uint64") | floats(64) | TEXTS | st.integers(), min_size=2, unique=True))
def test_numbers_and_texts_mixed(values):
    cells = make_cells(values, has_missing=True)
    X = objects(cells, object)
    classifier = fitted(X, cells)
    assert_codes_are_identities(codes_of(classifier, X), cells)
    wide = [value for value in values if isinstance(value, int) and 0 <= value < 2**64]
    if wide:
        codes = [code for code, cell in zip(codes_of(classifier, X), cells, strict=True) if cell in wide]
        assert codes_of(classifier, np.array([*wide, *wide], np.uint64)[:, None]) == codes


@pytest.mark.parametrize("dtype", [*INTEGERS, "str"])
@few
@given(data=st.data())
def test_classes_keep_their_identity(dtype, data, tmp_path_factory):
    values = data.draw(st.lists(TYPES[dtype], min_size=2, max_size=6, unique=True))
    y = [*values, *values, *values]
    X = np.array([values.index(value) for value in y])[:, None]
    path = tmp_path_factory.mktemp("classes") / "a.tanager"
    for labels in (y, LIBRARIES["pandas"](y, dtype)["a"], LIBRARIES["polars"](y, dtype)["a"]):
        classifier = TANClassifier("none", "ml", categorical_features=[0]).fit(X, labels)
        assert classifier.predict(X).tolist() == y
        classifier.save(path)
        assert tanager.load(path).predict(X).tolist() == y


@pytest.mark.parametrize(
    "dates",
    [
        np.array(["2020-01-01", "2020-01-02"], "M8[D]")[:, None],
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        pl.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        pa.table({"a": pa.array([1, 2], pa.date32())}),
    ],
    ids=["NumPy", "pandas", "polars", "Arrow"],
)
def test_dates_are_refused_and_not_merged(dates):
    with pytest.raises(TypeError, match="dates or durations"):
        TANClassifier("none", "ml", categorical_features=[0]).fit(dates, ["a", "b"])
