"""Rules about edges: what they leave of a search space, and the best trees within them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.structure import EdgeRules, ParentSets, all_candidates, check_edges, find_cycle, pseudo_candidates


@st.composite
def rules_of_few_features(draw, most=5):
    """Rules that do not contradict each other."""
    n = draw(st.integers(2, most))
    order = draw(st.permutations(range(n)))
    is_child = [draw(st.booleans()) and draw(st.booleans()) for _ in range(1, n)]
    places = [place for place, is_one in enumerate(is_child, 1) if is_one]
    require = [(order[draw(st.integers(0, place - 1))], order[place]) for place in places]
    edges = [(j, i) for j, i in product(range(n), range(n)) if i != j and (j, i) not in require]
    forbid = draw(st.lists(st.sampled_from(edges), unique=True)) if edges else []
    return n, forbid, require


def forests(n):
    """Parents of all forests."""
    for parents in product(range(-1, n), repeat=n):
        if all(j != i for i, j in enumerate(parents)) and find_cycle(parents) is None:
            yield np.array(parents)


def is_allowed(parents, forbid, require):
    edges = {(j, i) for i, j in enumerate(parents.tolist()) if j >= 0}
    return not edges & set(forbid) and set(require) <= edges


@given(rules_of_few_features(most=4), st.integers(0, 2**32 - 1))
def test_the_best_tree_is_the_best_of_all_allowed_forests(case, seed):
    n, forbid, require = case
    scores = np.random.default_rng(seed).normal(size=(n, n))
    scores += scores.T
    found = EdgeRules.from_edges(n, forbid, require).best_tree(scores)
    assert is_allowed(found, forbid, require)
    assert find_cycle(found) is None

    def value(parents):
        children = np.flatnonzero(parents >= 0)
        return len(children), scores[children, parents[children]].sum()

    best = max(value(parents) for parents in forests(n) if is_allowed(parents, forbid, require))
    assert value(found)[0] == best[0]
    assert value(found)[1] == pytest.approx(best[1])


@given(rules_of_few_features(), st.integers(0, 2**32 - 1))
def test_check_agrees_with_the_edges(case, seed):
    n, forbid, require = case
    rules = EdgeRules.from_edges(n, forbid, require)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        parents = np.array([rng.choice([j for j in range(-1, n) if j != i]) for i in range(n)])
        try:
            rules.check(parents)
            is_right = True
        except ValueError:
            is_right = False
        assert is_right == is_allowed(parents, forbid, require)


@given(rules_of_few_features(), st.integers(0, 2**32 - 1))
def test_what_rules_keep_of_a_space_is_allowed(case, seed):
    n, forbid, require = case
    rules, rng = EdgeRules.from_edges(n, forbid, require), np.random.default_rng(seed)
    for space in (pseudo_candidates(n), all_candidates(rules.arrange(rng.permutation(n)))):
        kept = rules.keep(space)
        for _ in range(5):
            chosen = np.array([rng.integers(lo, hi) for lo, hi in zip(kept.ptr[:-1], kept.ptr[1:], strict=True)])
            assert is_allowed(kept.select(chosen), forbid, require)
        lost = set().union(*({(j, i) for j in each} for i, each in enumerate(space.to_lists())))
        lost -= set().union(*({(j, i) for j in each} for i, each in enumerate(kept.to_lists())))
        children = {i for _, i in require}
        assert all((j, i) in forbid or i in children for j, i in lost)


@given(rules_of_few_features(), st.integers(0, 2**32 - 1))
def test_random_trees_and_disjoint_trees_are_allowed(case, seed):
    n, forbid, require = case
    rules, rng = EdgeRules.from_edges(n, forbid, require), np.random.default_rng(seed)
    tree = rules.random_tree(rules.arrange(rng.permutation(n)), rng)
    assert is_allowed(tree, forbid, require)
    trees = rules.disjoint_trees(np.abs(rng.normal(size=(n, n))), 4)
    assert all(is_allowed(each, forbid, require) and find_cycle(each) is None for each in trees)
    pairs = [frozenset((i, j)) for each in trees for i, j in enumerate(each.tolist()) if j >= 0]
    needed = {frozenset(edge) for edge in require}
    assert all(pairs.count(pair) == 1 or pair in needed for pair in pairs)


def test_an_order_is_changed_as_little_as_required():
    rules = EdgeRules.from_edges(5, [], [(4, 1), (2, 4)])
    assert rules.arrange(np.arange(5)).tolist() == [0, 2, 4, 1, 3]
    rules.check_order(np.array([0, 2, 4, 1, 3]))
    with pytest.raises(ValueError, match="the ordering puts 'feature 1' before 'feature 4'"):
        rules.check_order(np.arange(5))


def test_a_pair_of_parents_may_hold_the_required_one():
    rules = EdgeRules.from_edges(3, [(0, 1)], [(1, 2)])
    space = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1, (0, 1)]], order=[0, 1, 2])
    assert rules.keep(space).to_lists() == [[-1], [-1], [1, (0, 1)]]


def test_a_required_parent_comes_first_when_candidates_are_thinned():
    rules = EdgeRules.from_edges(4, [(1, 0)], [(3, 0)])
    assert rules.thin(pseudo_candidates(4), 1).to_lists() == [[-1, 3], [-1, 0], [-1, 0], [-1, 0]]


@pytest.mark.parametrize(
    ("forbid", "require", "message"),
    [
        ([("a", "a")], [], "forbid has an edge from 'a' to itself"),
        ([], [(1, 1)], "require has an edge from 1 to itself"),
        ([("a", "b")], [("a", "b")], "the edge from 'a' to 'b' is both forbidden and required"),
        ([], [("a", "c"), ("b", "c")], "require gives 'c' two parents, 'a' and 'b': it can have one"),
        ([], [("a", "b"), ("b", "c"), ("c", "a")], "the required edges form a cycle: 'a' -> 'b' -> 'c' -> 'a'"),
    ],
)
def test_contradictions(forbid, require, message):
    with pytest.raises(ValueError, match=message):
        check_edges(forbid, require)


def test_a_space_without_an_allowed_candidate():
    space = ParentSets.from_lists([[-1], [0], [-1, 0]])
    with pytest.raises(ValueError, match="forbid excludes all candidates that the structure has for 'feature 1'"):
        EdgeRules.from_edges(3, [(0, 1)], []).check_space(space)
    with pytest.raises(ValueError, match="from 'feature 1' to 'feature 2', which is not among the candidates"):
        EdgeRules.from_edges(3, [], [(1, 2)]).check_space(space)
