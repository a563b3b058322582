"""Scores of structures with one parent changed, against the log-joint of the oracle summed from nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.kernels.moves import (
    Annealing,
    Score,
    Terms,
    add_terms,
    anneal,
    descends_from,
    empty_log_joint,
    move_scores,
)
from tanager.structure import find_cycle
from tests.oracles import loss_oracle
from tests.strategies import SEEDS, make_model, models

SCORES = [Score(False, 0.0), Score(True, 1.0), Score(True, 1e9)]


def score_by_rows(log_joint, y, weight, score):
    """Weighted mean over rows of the log-probability of the own class, or of the margin."""
    total = 0.0
    for line, label, share in zip(log_joint, y, weight, strict=True):
        rivals = [value for c, value in enumerate(line) if c != label]
        if not score.is_margin:
            total += share * (line[label] - loss_oracle.log_sum_exp(line))
        elif rivals:
            total += share * min(score.gamma, line[label] - max(rivals))
        else:
            total += share * score.gamma
    return total / weight.sum()


def prepare(model):
    """What the kernels take, for a model of the strategies."""
    layout = model.layout
    theta = np.zeros(layout.arena_size, np.float32)
    theta[: layout.size] = model.theta
    columns = np.zeros((len(model.cards) + 1, len(model.y)), np.int32)
    columns[:-1] = model.codes.T
    weight = model.weight.astype(np.float64)
    return Terms(theta, theta, columns, model.y, weight / weight.sum(), model.n_classes), layout.tables


def summed(model, terms, tables, selected):
    log_joint = empty_log_joint(model.prior, len(model.y))
    for slot, candidate in enumerate(selected):
        add_terms(slot, candidate, 1.0, terms, tables, log_joint)
    return log_joint


@given(models(), st.sampled_from(SCORES))
@settings(max_examples=60)
def test_scores_of_all_moves_equal_the_oracle(model, score):
    if model.n_classes == 1 and score.gamma > 1.0:
        return  # a single class has no margin but the cut-off
    terms, tables = prepare(model)
    selected, _ = model.sample()
    log_joint = summed(model, terms, tables, selected)
    np.testing.assert_allclose(log_joint[:, : model.n_classes], model.log_joint(selected), atol=2e-5)
    scores = np.full(len(model.phi), np.nan)
    move_scores(0, len(selected), terms, tables, selected, log_joint, score, scores)
    for i in range(len(selected)):
        for e in range(tables.ptr[i], tables.ptr[i + 1]):
            changed = selected.copy()
            changed[i] = e
            expected = score_by_rows(model.log_joint(changed), model.y, model.weight, score)
            assert scores[e] == pytest.approx(expected, abs=1e-4)


def test_many_rows_go_by_blocks():
    model = make_model([[-1], [-1, 0]], [3, 2], 11, seed=3, n_rows=200)
    terms, tables = prepare(model)
    selected, scores = np.array([0, 1]), np.empty(3)
    log_joint = summed(model, terms, tables, selected)
    move_scores(0, 2, terms, tables, selected, log_joint, SCORES[0], scores)
    expected = score_by_rows(model.log_joint([0, 2]), model.y, model.weight, SCORES[0])
    assert scores[2] == pytest.approx(expected, abs=1e-5)


def test_the_own_class_reads_cpts_of_its_own():
    model = make_model([[-1], [-1, 0]], [3, 2], 4, seed=5)
    terms, tables = prepare(model)
    own = terms._replace(own=terms.theta - np.float32(0.5))
    log_joint = summed(model, own, tables, [0, 2])
    plain = summed(model, terms, tables, [0, 2])
    lower = np.zeros_like(plain)
    lower[np.arange(len(model.y)), model.y] = 2 * 0.5  # once for each feature
    np.testing.assert_allclose(log_joint, plain - lower, atol=1e-5)
    scores = np.empty(3)
    move_scores(0, 2, own, tables, np.array([0, 2]), log_joint, SCORES[2], scores)
    expected = score_by_rows((plain - lower)[:, :4].astype(float), model.y, model.weight, SCORES[2])
    assert scores[2] == pytest.approx(expected, abs=1e-4)


def test_unknown_values_add_nothing():
    model = make_model([[-1], [-1, 0]], [3, 2], 4, seed=5)
    model.codes[:, 0] = 3
    terms, tables = prepare(model)
    np.testing.assert_allclose(summed(model, terms, tables, [0, 2])[:, :4], np.tile(model.prior, (9, 1)))


@pytest.mark.parametrize(
    ("feature", "ancestor", "expected"), [(3, 0, True), (0, 3, False), (2, 2, True), (4, 0, False)]
)
def test_descent(feature, ancestor, expected):
    parent = np.array([4, 0, 0, 1])  # 3 under 1 under 0; 2 under 0; 4 is no parent
    assert descends_from(feature, ancestor, parent, np.arange(4)) == expected


@given(SEEDS)
@settings(max_examples=20)
def test_annealing_keeps_a_forest_its_log_joint_and_the_best(seed):
    rng = np.random.default_rng(seed)
    lists = [[-1, *(j for j in range(4) if j != i)] for i in range(4)]
    model = make_model(lists, [3, 2, 4, 2], 3, seed=seed % 1000, n_rows=30)
    terms, tables = prepare(model)
    score = SCORES[1]
    selected = tables.ptr[:-1].copy()
    log_joint = summed(model, terms, tables, selected)
    start = score_by_rows(model.log_joint(selected), model.y, model.weight, score)
    best, scores = selected.copy(), np.full(2, start)
    candidate = rng.integers(0, 16, 60)
    anneal(
        Annealing(candidate // 4, candidate, np.log(rng.random(60)) * 0.1),
        terms,
        tables,
        selected,
        log_joint,
        score,
        best,
        scores,
    )
    for structure, value in ((selected, scores[0]), (best, scores[1])):
        assert find_cycle(model.parent_sets.select(structure)) is None
        assert value == pytest.approx(score_by_rows(model.log_joint(structure), model.y, model.weight, score), abs=1e-4)
    np.testing.assert_allclose(log_joint[:, :3], model.log_joint(selected), atol=1e-4)
    assert scores[1] >= max(start, scores[0]) - 1e-9
