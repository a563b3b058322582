"""Option values: what every value can do, and the checks with their messages."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import clone

from tanager._options import (
    NotKept,
    Options,
    ShortNames,
    changed_params,
    check_choice,
    check_count,
    check_number,
    check_pair,
    naming_unknown_options,
    refuse_not_kept,
    suggest,
)


class Leaf(Options):
    """A leaf."""

    size: int = 3
    order: Any = None

    def __post_init__(self) -> None:
        check_count("size", self.size)


class Branch(Options):
    """A branch with a leaf that may be given by a word."""

    short_names: ClassVar = {
        "leaf": ShortNames("leaf", {"small": Leaf, "large": lambda: Leaf(9)}, "get_params", also=("auto",))
    }

    leaf: Any = "small"
    length: float = 1.0


def test_values_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Leaf().size = 4  # type: ignore[misc]


def test_set_params_returns_a_changed_copy() -> None:
    leaf = Leaf(4)
    assert leaf.set_params(size=5) == Leaf(5)
    assert leaf == Leaf(4)


def test_set_params_checks() -> None:
    with pytest.raises(ValueError, match="size must be a whole number of at least 1, got 0"):
        Leaf().set_params(size=0)


def test_nested_names_reach_inner_values() -> None:
    branch = Branch(Leaf(4), 2.0)
    assert branch.get_params()["leaf__size"] == 4
    assert branch.set_params(leaf__size=5, length=3.0) == Branch(Leaf(5), 3.0)


def test_nested_names_apply_to_what_a_word_stands_for() -> None:
    assert Branch("large").set_params(leaf__order="x") == Branch(Leaf(9, "x"))


def test_nested_names_apply_to_what_is_given_in_the_same_call() -> None:
    assert Branch("large").set_params(leaf=Leaf(2), leaf__order="x") == Branch(Leaf(2, "x"))


def test_a_word_without_options_says_what_to_set() -> None:
    with pytest.raises(ValueError, match=r"leaf='auto' has no option 'size': set leaf to a value .* 'small', 'large'"):
        Branch("auto").set_params(leaf__size=2)


def test_shallow_params_are_the_fields() -> None:
    assert Branch(Leaf(4)).get_params(deep=False) == {"leaf": Leaf(4), "length": 1.0}


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        (Leaf(4), Leaf(4), True),
        (Leaf(4), Leaf(5), False),
        (Leaf(), Branch(), False),
        (Leaf(order=np.arange(3)), Leaf(order=np.arange(3)), True),
        (Leaf(order=np.arange(3)), Leaf(order=np.arange(4)), False),
        (Leaf(order=np.arange(3)), Leaf(order=[0, 1, 2]), False),
    ],
)
def test_equality_is_by_type_and_content(first: Options, second: Options, is_equal: bool) -> None:
    assert (first == second) is is_equal
    if is_equal:
        assert hash(first) == hash(second)


def test_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(Branch()) == "Branch()"
    assert repr(Branch(Leaf(4), 2.0)) == "Branch(leaf=Leaf(size=4), length=2.0)"


@pytest.mark.parametrize("copied", [clone, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_equal(copied: Any) -> None:
    branch = Branch(Leaf(order=np.arange(3)), 2.0)
    assert copied(branch) == branch


def test_signature_and_documentation_survive() -> None:
    assert list(inspect.signature(Leaf).parameters) == ["size", "order"]
    assert Leaf.__doc__ == "A leaf."


def test_an_unknown_option_is_answered_by_a_close_one() -> None:
    with pytest.raises(TypeError, match=r"Leaf has no option 'siz'; did you mean 'size'\?"):
        Leaf(siz=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"Branch has no option 'lenght'; did you mean 'length'\?"):
        Branch().set_params(lenght=3)


def test_an_old_option_is_answered_by_its_new_place() -> None:
    class Owner:
        short_names: ClassVar = {}

        @naming_unknown_options("Owner", {"old": "an option of new"})
        def __init__(self, new: int = 0) -> None:
            self.new = new

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {"new": self.new}

    with pytest.raises(TypeError, match="Owner has no option 'old'; it is now an option of new"):
        Owner(old=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="it is now an option of new"):
        changed_params(Owner(), {"old": 3}, {"old": "an option of new"})


def test_words_stand_for_new_values() -> None:
    names = Branch.short_names["leaf"]
    assert names.resolve("large") == Leaf(9)
    assert names.resolve(Leaf(7)) == Leaf(7)
    with pytest.raises(
        ValueError, match=r"leaf must be 'auto', 'small' or 'large', got 'larg'; did you mean 'large'\?"
    ):
        names.resolve("larg")
    with pytest.raises(ValueError, match="leaf='auto' leaves the choice open"):
        names.resolve("auto")


def test_what_was_not_kept_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"parameters\.loss is <my_loss, which the model file does not hold"):
        refuse_not_kept({"structure": "none", "parameters__loss": NotKept("my_loss")})
    refuse_not_kept({"structure": "none"})


@pytest.mark.parametrize("value", ["c", None, 1, True, np.arange(2)])
def test_check_choice_refuses_what_is_not_listed(value: Any) -> None:
    with pytest.raises(ValueError, match="x must be 'a' or False, got"):
        check_choice("x", value, ("a", False))


def test_check_choice_tells_numbers_from_truth_values() -> None:
    check_choice("x", False, ("a", False))
    with pytest.raises(ValueError, match="got 0"):
        check_choice("x", 0, ("a", False))


@pytest.mark.parametrize("value", [0, 1.5, "3", True, None, np.inf])
def test_check_count_refuses(value: Any) -> None:
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, got"):
        check_count("n", value)


@pytest.mark.parametrize("value", [1, np.int32(2)])
def test_check_count_accepts(value: Any) -> None:
    check_count("n", value)


@pytest.mark.parametrize("value", [np.nan, np.inf, "1", True, None, 1j, -0.1, 1.0])
def test_check_number_refuses(value: Any) -> None:
    with pytest.raises(ValueError, match="x must be a finite number of at least 0 and below 1, got"):
        check_number("x", value, least=0, below=1)


@pytest.mark.parametrize("value", [0, 0.5, np.float32(0.25)])
def test_check_number_accepts(value: Any) -> None:
    check_number("x", value, least=0, below=1)


@pytest.mark.parametrize("value", [3, (1.0,), (1.0, 2.0, 3.0), (1.0, 0.0), ("a", 1.0), None])
def test_check_pair_refuses(value: Any) -> None:
    with pytest.raises(ValueError, match="tau must be a pair of finite numbers above 0, got"):
        check_pair("tau", value)


def test_suggest_ignores_case_and_shortens_long_lists() -> None:
    assert suggest("AGE", ["age", "income"]) == "did you mean 'age'?"
    assert suggest("z", [f"column {k}" for k in range(25)]).endswith("and 5 more")
