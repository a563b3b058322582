import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.structure import screened_candidates
from tests.strategies import SEEDS


@given(st.integers(2, 7), st.data(), SEEDS, st.booleans())
def test_screened_candidates_are_the_best_and_the_rest_is_random(n_features, data, seed, has_order):
    k = data.draw(st.integers(1, n_features - 1))
    n_random = data.draw(st.integers(0, k))
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_features, n_features))
    order = rng.permutation(n_features) if has_order else None
    sets = screened_candidates(scores, k, n_random=n_random, rng=rng, order=order)
    assert sets.is_ordered == has_order
    for i in range(n_features):
        others = [j for j in range(n_features) if j != i]
        if has_order:
            others = order[: order.tolist().index(i)].tolist()
        best = sorted(others, key=lambda j: -scores[i, j])[: k - n_random]
        none, *parents = sets.candidates_of(i).tolist()
        assert none == -1
        assert parents[: len(best)] == best
        assert len(parents) == min(k, len(others))
        assert set(parents) <= set(others)


def test_random_candidates_differ_from_seed_to_seed():
    scores = np.zeros((30, 30))
    spaces = [screened_candidates(scores, 6, n_random=3, rng=np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert spaces[0] == spaces[1] != spaces[2]
    assert [entry[:4] for entry in spaces[0].to_lists()] == [entry[:4] for entry in spaces[2].to_lists()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": np.zeros((2, 3))}, "square"),
        ({"scores": [[0, np.nan], [0, 0]]}, r"scores\[0, 1\] is nan"),
        ({"n_random": 2}, "n_random must be from 0 to max_parents=1"),
        ({"n_random": 1}, "random candidates require rng"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        screened_candidates(**{"scores": np.zeros((2, 2)), "k": 1} | arguments)
