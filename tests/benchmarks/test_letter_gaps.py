"""The variants of letter's open details: each changes what it says and nothing else."""

import pytest

from benchmarks.letter_gaps import _ALL, _CHOW_LIU

CANDIDATES = [[-1], [-1, 0], [-1, 0, 1], [-1, 2, 1]]


def changed(variants, title):
    (variant,) = [variant for variant in variants if variant.title == title]
    return variant.change(CANDIDATES)


def test_the_first_variant_changes_nothing():
    for variants in (_ALL, _CHOW_LIU):
        assert variants[0].change(CANDIDATES) == CANDIDATES
        assert not variants[0].options


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("no parent as the last candidate", [[-1], [0, -1], [0, 1, -1], [2, 1, -1]]),
        ("candidates in the opposite order", [[-1], [0, -1], [1, 0, -1], [1, 2, -1]]),
        ("the constant feature is no candidate", [[-1], [-1], [-1, 0], [-1, 2]]),
    ],
)
def test_candidates_of_tan_all(title, expected):
    assert changed(_ALL, title) == expected


def test_edges_of_chow_liu_become_optional():
    (variant,) = [variant for variant in _CHOW_LIU if "may be dropped" in variant.title]
    assert variant.change([[-1], [0], [1]]) == [[-1], [-1, 0], [-1, 1]]
