"""The best forest and samples of forests, against networkx and against all choices that keep a forest."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tanager.structure import ParentSets, find_cycle
from tests.core.trainers import LOSSES, make_case, take_step
from tests.strategies import SEEDS


@st.composite
def free_sets(draw, max_features=7):
    """Search spaces without an order in which every feature may go without a parent."""
    n_features = draw(st.integers(1, max_features))
    lists = []
    for i in range(n_features):
        others = [j for j in range(n_features) if j != i]
        some = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        lists.append(draw(st.permutations([-1, *some])))
    return ParentSets.from_lists(lists)


def for_core(sets):
    """Segments and parents, D for none."""
    parent = sets.parents.astype(np.int64)
    parent[parent < 0] = sets.n_features
    return np.array(sets.ptr), parent


def networkx_total(sets, scores):
    """Summed score of the best forest, as an arborescence from a root without incoming edges."""
    graph = nx.DiGraph()
    ptr, parent = for_core(sets)
    for i, (start, stop) in enumerate(pairwise(ptr)):
        graph.add_weighted_edges_from((int(parent[e]), i, float(scores[e])) for e in range(start, stop))
    return nx.maximum_spanning_arborescence(graph).size("weight")


def forest(sets, scores):
    selected = np.full(sets.n_features, -7)
    assert core.best_forest(np.asarray(scores, float), *for_core(sets), selected) == -1
    return selected


@given(free_sets(), SEEDS)
def test_the_forest_is_that_of_networkx(sets, seed):
    scores = np.random.default_rng(seed).normal(size=sets.n_candidates)
    selected = forest(sets, scores)
    assert find_cycle(sets.select(selected)) is None
    assert scores[selected].sum() == pytest.approx(networkx_total(sets, scores))


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_many_features_that_prefer_cycles(scale):
    """Low scores for no parent make cycles within cycles."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        sets = ParentSets.from_lists([[-1, *rng.permutation([j for j in range(60) if j != i])[:5]] for i in range(60)])
        scores = rng.normal(size=sets.n_candidates) - scale * (sets.parents < 0)
        selected = forest(sets, scores)
        assert find_cycle(sets.select(selected)) is None
        assert scores[selected].sum() == pytest.approx(networkx_total(sets, scores))


def test_candidates_of_no_probability_are_left_alone_where_that_is_possible():
    sets = ParentSets.from_lists([[-1, 1], [-1, 0], [-1, 0, 1]])
    scores = [-np.inf, 2.0, 0.0, 5.0, -np.inf, -np.inf, 1.0]
    assert sets.select(forest(sets, scores)).tolist() == [1, -1, 1]


def test_without_a_root_there_is_no_forest():
    sets = ParentSets.from_lists([[-1], [2], [1, 3], [1]])
    assert core.best_forest(np.zeros(5), *for_core(sets), np.empty(4, np.int64)) in (1, 2, 3)


def test_a_feature_without_candidates_has_no_forest():
    assert core.best_forest(np.zeros(1), np.array([0, 1, 1]), np.array([2]), np.empty(2, np.int64)) == 1


def test_scores_that_are_not_numbers_have_no_forest():
    sets = ParentSets.from_lists([[-1, 1], [-1, 0]])
    assert core.best_forest(np.full(4, np.nan), *for_core(sets), np.empty(2, np.int64)) == 0


def sample(sets, phi, noise, tau, *, is_forest=True):
    """Selected candidates and soft weights of a step of training."""
    case, seen = make_case(sets.to_lists(), [2] * sets.n_features, 2, seed=0), []
    case.phi = phi
    actions = {"forest_parents": for_core(sets)[1]} if is_forest else {}
    trainer = case.trainer(case.state(), LOSSES["nll"][0], actions=actions)
    callbacks = {"change_structure": lambda step, selected, soft: seen.extend([selected.copy(), soft.copy()])}
    take_step(trainer, case, 0, noise=noise, tau=tau, callbacks=callbacks)
    return seen


@given(free_sets(), SEEDS, st.sampled_from([10.0, 1.0, 0.2]))
@settings(max_examples=60)
def test_soft_weights_are_shared_by_the_parents_that_keep_a_forest(sets, seed, tau):
    rng = np.random.default_rng(seed)
    phi, noise = rng.normal(size=sets.n_candidates), rng.gumbel(size=sets.n_candidates)
    selected, soft = sample(sets, phi, noise, tau)
    np.testing.assert_array_equal(selected, forest(sets, phi + noise))
    parents = sets.select(selected)
    for i, (start, stop) in enumerate(pairwise(sets.ptr)):
        expected = np.zeros(stop - start)
        for e in range(start, stop):
            changed = parents.copy()
            changed[i] = sets.parents[e]
            if find_cycle(changed) is None:
                expected[e - start] = np.exp((phi[e] + noise[e] - (phi + noise)[selected[i]]) / tau)
        assert expected.max() == 1.0  # of those that keep a forest, the selected one is the best
        np.testing.assert_allclose(soft[start:stop], expected / expected.sum(), rtol=1e-12)


@given(SEEDS)
@settings(max_examples=20)
def test_with_an_order_a_forest_is_each_feature_on_its_own(seed):
    rng = np.random.default_rng(seed)
    sets = ParentSets.from_lists([[-1, *range(i)] for i in range(6)])
    arguments = rng.normal(size=sets.n_candidates), rng.gumbel(size=sets.n_candidates), 0.7
    draws = [sample(sets, *arguments, is_forest=is_forest) for is_forest in (True, False)]
    np.testing.assert_array_equal(draws[0][0], draws[1][0])
    # A feature that descends from another can come later only, so the order alone rules it out.
    np.testing.assert_allclose(draws[0][1], draws[1][1])


# What the border refuses.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": np.zeros(4, np.float32)}, "scores has the wrong type of numbers"),
        ({"scores": np.zeros(5)}, "ptr must end at the number of candidates"),
        ({"scores": np.zeros(8)[::2]}, "scores must be C-contiguous"),
        ({"scores": np.zeros((2, 2))}, "scores must have 1 dimension"),
        ({"scores": [0.0] * 4}, "scores must be an array"),
        ({"ptr": np.array([0, 4])}, "parent holds 2, which is outside 0 to 1"),
        ({"ptr": np.array([0, 3, 2, 4])}, "ptr must not fall"),
        ({"ptr": np.array([-1, 2, 4])}, "ptr must start at 0"),
        ({"ptr": np.empty(0, np.int64)}, "ptr must start at 0"),
        ({"ptr": np.array([0, 2, 4], np.int32)}, "ptr has the wrong type of numbers"),
        ({"parent": np.array([2, 1, 2])}, "parent must have 4 entries, not 3"),
        ({"parent": np.array([2, 1, 2, -1])}, "parent holds -1, which is outside 0 to 2"),
        ({"parent": np.array([2, 1, 2, 3])}, "parent holds 3, which is outside 0 to 2"),
        ({"selected": np.zeros(3, np.int64)}, "selected must have 2 entries, not 3"),
        ({"selected": np.zeros(2, np.int32)}, "selected has the wrong type of numbers"),
        ({"selected": np.frombuffer(bytes(16), np.int64)}, "selected must be an array that can be written to"),
        ({"selected": np.zeros(17, np.uint8)[1:].view(np.int64)}, "selected must be aligned"),
    ],
)
def test_wrong_arguments(changes, message):
    right = {"scores": np.arange(4.0), "ptr": np.array([0, 2, 4]), "parent": np.array([2, 1, 2, 0])}
    right["selected"] = np.zeros(2, np.int64)
    assert core.best_forest(**right) == -1
    with pytest.raises(ValueError, match=message):
        core.best_forest(**{**right, **changes})
    with pytest.raises(TypeError, match=f"{next(iter(changes))}: NoneType"):
        core.best_forest(**{**right, **dict.fromkeys(changes)})


@pytest.mark.parametrize("parent", [-1, 8, 2**40])
def test_a_parent_that_is_not_a_slot_is_refused(parent):
    sets = ParentSets.from_lists([[-1, 1], [-1, 0]])
    case = make_case(sets.to_lists(), [2, 2], 2, seed=0)
    parents = for_core(sets)[1]
    parents[1] = parent
    with pytest.raises(ValueError, match=f"forest_parents holds {parent}, which is outside 0 to 2"):
        case.trainer(case.state(), LOSSES["nll"][0], actions={"forest_parents": parents})
