"""Values and options through arrays and JSON and back, with their types."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tanager
from tanager import ParentSets
from tanager.files import NotKept
from tanager.files.container import Arrays
from tanager.files.header import Fields, dump_header, parse_header
from tanager.files.options import pack_options, unpack_options
from tanager.files.values import array_of, check_distinct, pack_values, unpack_values
from tanager.learning import VALUES
from tanager.training.regularisers import Regulariser
from tests.files.model_files import ODD_VALUES

SCALARS = st.one_of(
    st.text(st.characters(exclude_categories=[])),  # half surrogates too
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.binary(),
)


@given(st.lists(SCALARS))
def test_values_come_back_with_their_types(values):
    back = unpack_values(Arrays(pack_values("a", values, "the values")), "a")
    assert back == values
    assert list(map(type, back)) == list(map(type, values))
    assert list(map(str, back)) == list(map(str, values))  # -0.0 and 1.10 as well


def test_numbers_of_numpy_become_plain():
    values = [np.int64(3), np.float32(0.1), np.bool_(True), np.str_("a")]
    back = unpack_values(Arrays(pack_values("a", values, "the values")), "a")
    assert back == values
    assert list(map(type, back)) == [int, float, bool, str]


@pytest.mark.parametrize("value", [None, (1, 2), 1j, np.nan, float("inf"), Decimal("NaN"), object()])
def test_what_cannot_be_held_is_named(value):
    with pytest.raises(ValueError, match=r"values of column 'size' hold .*cannot hold"):
        pack_values("a", ["x", value], "values of column 'size'")


@pytest.mark.parametrize(
    ("number", "data"),
    [
        *((1, data) for data in (b"", b"1_0", b" 1", b"+1", b"01", b"1.5", b"x", b"9" * 5000)),
        *((2, data) for data in (b"", bytes(7), np.float64(np.nan).tobytes(), np.float64(np.inf).tobytes())),
        *((3, data) for data in (b"", b"\2", b"\0\0")),
        *((4, data) for data in (b"", b"NaN", b"sNaN", b"Infinity", b"1,5", b"9" * 5000, "१".encode())),
        *((0, data) for data in (b"\xff", b"\xc3")),
        (6, b""),
    ],
)
def test_values_that_are_damaged_are_refused(number, data):
    arrays = {
        "a.type": np.array([number], np.uint8),
        "a.end": np.array([len(data)]),
        "a.data": np.frombuffer(data, np.uint8),
    }
    with pytest.raises(ValueError, match="'a' holds a value"):
        unpack_values(Arrays(arrays), "a")


@pytest.mark.parametrize("ends", [[1, 3], [3, 1, 2], [-1, 3, 2], [2, 2, 3], [0, 0, 2**62], [1, 1]])
def test_ends_must_rise_to_the_length(ends):
    arrays = {"a.type": np.zeros(3, np.uint8), "a.end": np.array(ends), "a.data": np.frombuffer(b"xy", np.uint8)}
    with pytest.raises(ValueError, match=r"'a\.end' must"):
        unpack_values(Arrays(arrays), "a")


@pytest.mark.parametrize(
    ("values", "element"),
    [
        *(([300], "uint8"), ([-1], "uint8"), ([2**63], "int64"), ([1.5], "int8"), ([1], "bool"), ([1], "float64")),
        *(([1e300], "float32"), ([1e-300], "float16"), (["a"], "int8"), ([True], "int8")),
    ],
)
def test_values_must_fit_their_element(values, element):
    with pytest.raises(ValueError, match="the values"):
        array_of(values, element, "the values")


def test_values_of_one_hash_are_refused():
    check_distinct([2.0 ** (61 * k) for k in range(-16, 17)], "values")  # one hash, by chance of their form
    with pytest.raises(ValueError, match="not all distinct"):
        check_distinct([k * (2**61 - 1) for k in range(100)], "values")
    with pytest.raises(ValueError, match="not all distinct"):
        check_distinct([1, True], "values")


def round_trip(options):
    entry, arrays = pack_options("o", options)
    return unpack_options("o", Fields(parse_header(dump_header(entry)), "the options"), Arrays(arrays))


def test_options_come_back():
    options = {
        "a": None,
        "b": True,
        "c": 3,
        "d": 2.5,
        "e": "text",
        "f": (10.0, 0.1),
        "g": ["x", 1, None],
        "h": ParentSets.from_lists([[-1], [-1, 0]], order=[0, 1]),
        "i": ParentSets.from_lists([[-1, 1], [-1, 0]]),
        "j": NotKept("f"),
        "k": {"yes": 2.5, 3: [("a", "b")], True: {"c": None}},
    }
    back = round_trip(options)
    assert back == options
    assert list(map(type, back.values())) == list(map(type, options.values()))


@pytest.mark.parametrize(
    "array", [np.array([True, False]), np.arange(3, dtype=np.int8), np.array(["a", "b"], object), np.array([0.5])]
)
def test_arrays_among_the_options_come_back(array):
    back = round_trip({"a": array})["a"]
    assert back.dtype == array.dtype
    assert back.tolist() == array.tolist()


def test_options_that_are_not_plain_leave_their_name():
    def my_loss():
        pass

    options = {"a": my_loss, "b": np.random.RandomState(0), "c": set(), "d": np.zeros((2, 2)), "e": np.inf}
    kept = {key: value.name for key, value in round_trip(options).items()}
    assert kept == {"a": "my_loss", "b": "RandomState", "c": "set", "d": "ndarray", "e": "float"}
    assert round_trip({"a": [1, (my_loss, [2])]}) == {"a": [1, (NotKept("my_loss"), [2])]}


REQUIRED = {
    "Nearest": {"image_shape": (2, 3)},
    "FixedParents": {"parents": [-1, 0, 0]},
    "SetLine": {"feature": "age", "label": 1, "probabilities": {"old": 0.5}},
    "SetParent": {"feature": 0},
    "GivenSpace": {"parent_sets": ParentSets.from_lists([[-1], [-1, 0]], order=[0, 1])},
}
CHANGED = [
    tanager.Subset(3, tanager.Screened("margin", 0.5), np.array([1, 0, 2])),
    tanager.Nearest((2, 3), 4, "A"),
    tanager.Free(None, forest="sample"),
    tanager.KDependence(2, "mixed", max_table_size=0, ordering=(1, 0)),
    tanager.GreedySearch(tanager.MarginScore(2.0), leave_one_out=True, max_moves=3, tolerance=0.5),
    tanager.AnnealedSearch(temperature=(2.0, 0.5), n_moves=np.int64(7)),
    tanager.Counts(np.float32(0.5)),
    tanager.GradientDescent(
        tanager.Hybrid(2.0), 5, start=tanager.NaiveBayesStart(3.0), regularisers=(VALUES["Smoothness"](0.1),)
    ),
    tanager.IndependentSearches(tanager.Subset(2), n_members=3),
    tanager.SampledStructures([-1, 0]),
    tanager.DisjointTrees(4, "conditional"),
]


@pytest.mark.parametrize(
    "value", [*(kind(**REQUIRED.get(name, {})) for name, kind in VALUES.items()), *CHANGED], ids=repr
)
def test_option_values_come_back(value):
    back = round_trip({"a": value})["a"]
    assert type(back) is type(value)
    assert back == value


def test_values_of_the_users_own_leave_their_name():
    class Mine(tanager.Subset):
        pass

    class Subset(tanager.Subset):  # of the same name as one of ours
        pass

    assert round_trip({"a": Mine(), "b": Subset()}) == {"a": NotKept("Mine"), "b": NotKept("Subset")}


def test_values_with_a_part_of_the_users_own():
    """What can do without the part keeps the rest; what cannot leaves its own name."""

    class Mine:
        space = search = forest = None  # as a structure has
        is_fixed = may_have_cycles = False
        choose = None  # as a way to choose candidates has

    class MyRegulariser(Regulariser):
        pass

    def my_loss(log_joint, y, sample_weight):
        pass

    descent, searches = tanager.GradientDescent, tanager.IndependentSearches
    assert round_trip({"a": descent(my_loss, epochs=3)}) == {"a": descent(NotKept("my_loss"), epochs=3)}
    assert round_trip({"a": tanager.Subset(candidates=Mine())}) == {"a": tanager.Subset(candidates=NotKept("Mine"))}
    assert round_trip({"a": tanager.Subset(ordering=range(3))}) == {"a": NotKept("Subset")}
    for value in (descent(regularisers=(MyRegulariser(),)), searches(Mine())):
        assert "which the model file does not hold" in repr(round_trip({"a": value}))


@pytest.mark.parametrize("name", VALUES)
def test_odd_options_of_a_value_are_refused_or_taken(name):
    kind = VALUES[name]
    complete = pack_options("o", kind(**REQUIRED.get(name, {})).get_params(deep=False))[0]
    n_refused = 0
    for key in complete:
        for odd in [*ODD_VALUES, {"list": [2, 0]}, {"list": ["a", 1]}, {"tuple": [1.5, {"value": ["Counts", {}]}]}]:
            entry = {"a": {"value": [name, complete | {key: odd}]}}
            try:
                value = unpack_options("o", Fields(entry, "the options"), Arrays({}))["a"]
            except ValueError:
                n_refused += 1
                continue
            assert isinstance(value, kind | NotKept)
            assert repr(value)
    assert n_refused >= 10 * len(complete)


@pytest.mark.parametrize(
    "entry",
    [
        *({"a": []}, {"a": {}}, {"a": {"list": 1}}, {"a": {"list": [[1]]}}, {"a": {"what": 1}}, {"a": {"array": "x"}}),
        *({"a": {"value": []}}, {"a": {"value": {}}}, {"a": {"value": ["Nope", {}]}}, {"a": {"value": ["Counts", []]}}),
        {"a": {"value": ["Counts", {"smoothing": 0}]}},
    ],
)
def test_odd_options_are_refused(entry):
    with pytest.raises(ValueError, match="'a' of the options"):
        unpack_options("o", Fields(entry, "the options"), Arrays({}))
