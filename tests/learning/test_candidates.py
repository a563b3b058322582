"""Candidates: the best by a score, drawn ones, a mixture of both, predecessors, and all other features."""

import numpy as np
import pytest

from tanager.learning import Context, Free, GreedySearch, Pseudo, RandomCandidates, Screened, Subset
from tests.learning.spaces import N_FEATURES, ORDER, SCORES, candidates_of, rows_of, scores_of, space_of


@pytest.fixture(scope="module")
def context():
    return Context(rows_of())


@pytest.mark.parametrize("make", [Free, Pseudo])
@pytest.mark.parametrize("score", SCORES)
def test_screened_candidates_are_the_best(context, make, score):
    scores = scores_of(context, score)
    np.fill_diagonal(scores, -np.inf)
    for i, candidates in enumerate(candidates_of(make(4, Screened(score)), context)):
        assert candidates == {-1, *np.argsort(-scores[i])[:4].tolist()}


def test_mixed_candidates_are_half_screened_and_half_random(context):
    screened = candidates_of(Free(2, "screened"), context)
    first, second = (candidates_of(Free(4, "mixed"), context, seed) for seed in (0, 1))
    assert all(len(candidates) == 5 for candidates in first)
    assert all(best <= candidates for best, candidates in zip(screened * 2, first + second, strict=True))
    assert first != second


@pytest.mark.parametrize(("word", "value"), [("screened", Screened()), ("mixed", Screened(random_share=0.5))])
def test_words_for_candidates(context, word, value):
    for make in (Free, Subset, Pseudo):
        assert space_of(make(4, word), context) == space_of(make(4, value), context)
    assert space_of(Free(4, "random"), context) == space_of(Free(4, RandomCandidates()), context)
    assert space_of(Free(4, Screened(random_share=1.0)), context, 0) != space_of(Free(4, word), context, 0)


def test_a_random_share_draws_that_many_candidates(context):
    best = candidates_of(Free(4, "screened"), context)
    for share, n_best in [(0.0, 4), (0.25, 3), (0.75, 1)]:
        some = candidates_of(Free(4, Screened(random_share=share)), context)
        ranked = candidates_of(Free(n_best, "screened"), context)
        assert all(first <= candidates for first, candidates in zip(ranked, some, strict=True))
        assert (some == best) == (share == 0.0)


def test_candidates_along_an_ordering_come_before(context):
    for candidates in ("screened", "mixed", "random"):
        found = candidates_of(Subset(4, candidates, ORDER), context)
        for position, feature in enumerate(ORDER):
            assert found[feature] - {-1} <= set(ORDER[:position])
            assert len(found[feature]) - 1 == min(position, 4)
    scores = scores_of(context, "information")
    best = candidates_of(Subset(4, "screened", ORDER), context)[4]
    assert best == {-1, *sorted(ORDER[:-1], key=lambda j: -scores[4, j])[:4]}


@pytest.mark.parametrize("structure", [Free(max_parents=None), Pseudo(max_parents=None), GreedySearch()], ids=repr)
def test_all_other_features_as_candidates(context, structure):
    expected = [{-1, *range(N_FEATURES)} - {i} for i in range(N_FEATURES)]
    assert candidates_of(structure, context) == expected
