"""Training runs: what they may and may not depend on, how they stop, and that they learn."""

import io
import math

import numpy as np
import pytest
from hypothesis import given, settings

from tanager.losses import ConditionalLikelihood, Hybrid, NegativeLogLikelihood
from tanager.model import Network, make_layout
from tanager.structure import ParentSets, all_candidates, find_cycle, fixed_parents, pseudo_candidates
from tanager.training import (
    Noise,
    TrainingDivergedError,
    TrainingSettings,
    initial_state,
    loop,
    make_problem,
    structure_of,
    train,
)
from tanager.training.noise import GumbelStream, StepStream
from tanager.training.progress import ProgressBar
from tanager.training.regularisers import ParentDropout
from tests.oracles import counting_oracle
from tests.strategies import SEEDS, models

CARDS = [3, 2, 1, 4]
N_CLASSES = 3
OPTIMISERS = pytest.mark.parametrize("optimiser", ["dense", "selected"])


def rows_of(seed, n_rows, cards=CARDS, n_classes=N_CLASSES):
    rng = np.random.default_rng(seed)
    return rng.integers(0, cards, size=(n_rows, len(cards)), dtype=np.uint8), rng.integers(0, n_classes, size=n_rows)


def run(problem, parent_sets=None, loss=None, *, state=None, seed=0, cards=CARDS, n_classes=N_CLASSES, **options):
    """Train to the end; settings other than those of `train` are given by name."""
    layout = make_layout(parent_sets or all_candidates(range(len(cards))), cards, n_classes)
    of_train = {name: options.pop(name) for name in ("n_threads", "on_epoch") if name in options}
    noise = Noise(seed)
    state = state or initial_state(layout, noise)
    return train(
        state, layout, problem, loss or Hybrid(), TrainingSettings(**{"epochs": 4, **options}), noise, **of_train
    )


def assert_same_bits(state, expected):
    found = state.theta + state.prior + state.phi + (state.last, state.updates)
    wanted = expected.theta + expected.prior + expected.phi + (expected.last, expected.updates)
    for array, array_expected in zip(found, wanted, strict=True):
        assert array.tobytes() == array_expected.tobytes()
    assert (state.step, state.epoch) == (expected.step, expected.epoch)
    assert state.history == expected.history
    assert state.path == expected.path


class TestDoesNotDependOn:
    @OPTIMISERS
    def test_the_number_of_threads(self, optimiser):
        problem = make_problem(*rows_of(0, 200), None, 30, may_merge=False)
        states = [run(problem, optimiser=optimiser, n_threads=n_threads) for n_threads in (1, 2, 3)]
        assert_same_bits(states[1], states[0])
        assert_same_bits(states[2], states[0])

    @OPTIMISERS
    @pytest.mark.parametrize("is_merged", [True, False])
    def test_a_stop_on_the_way(self, optimiser, is_merged):
        codes, y = rows_of(1, 100)
        problem = make_problem(codes, y, None, 100 if is_merged else 20, may_merge=is_merged)
        whole = run(problem, epochs=8, optimiser=optimiser)
        checkpoints = []
        run(problem, epochs=8, optimiser=optimiser, on_epoch=lambda state: checkpoints.append(state.copy()))
        for checkpoint in (checkpoints[0], checkpoints[4], checkpoints[7]):
            assert_same_bits(run(problem, state=checkpoint, epochs=8, optimiser=optimiser), whole)

    def test_whether_a_row_is_repeated_or_has_an_integer_weight(self):
        codes, y = rows_of(2, 60)
        repeats = np.random.default_rng(3).integers(0, 4, size=60)
        order = np.random.default_rng(4).permutation(repeats.sum())
        repeated = (np.repeat(codes, repeats, axis=0)[order], np.repeat(y, repeats)[order])
        weighted = make_problem(codes, y, repeats.astype(np.float64), 100)
        assert_same_bits(run(weighted), run(make_problem(*repeated, None, 100)))

    def test_what_was_trained_before(self):
        problem = make_problem(*rows_of(5, 100), None, 20)
        first = run(problem, seed=1)
        run(problem, seed=2)
        assert_same_bits(run(problem, seed=1), first)


@pytest.mark.parametrize("n_at_once", [1, 3, 100])
def test_an_epoch_is_taken_in_pieces_if_its_noise_is_large(monkeypatch, n_at_once):
    problem = make_problem(*rows_of(5, 200), None, 20, may_merge=False)
    dropout = {"optimiser": "dense", "regularisers": (ParentDropout(0.3),)}
    whole = run(problem, **dropout)
    drawn = []

    def steps(self, first, n_steps):
        drawn.append((first, n_steps))
        return StepStream.steps(self, first, n_steps)

    monkeypatch.setattr(loop, "_MOST_DRAWS", n_at_once * len(whole.phi.value))
    monkeypatch.setattr(GumbelStream, "steps", steps)
    pieces = run(problem, **dropout)
    n_last = 10 % n_at_once or n_at_once
    assert [first for first, _ in drawn] == [10 * k + first for k in range(4) for first in range(0, 10, n_at_once)]
    assert max(n_steps for _, n_steps in drawn) == min(n_at_once, 10)
    assert drawn[-1][1] == min(n_last, 10)
    np.testing.assert_allclose(pieces.history.loss, whole.history.loss, rtol=1e-12)
    np.testing.assert_allclose(pieces.history.error, whole.history.error, rtol=1e-12)
    pieces.history = whole.history
    assert_same_bits(pieces, whole)


def test_seeds_give_different_runs():
    problem = make_problem(*rows_of(5, 100), None, 20)
    assert not np.array_equal(run(problem, seed=1).theta.value, run(problem, seed=2).theta.value)


def test_order_of_rows_differs_from_epoch_to_epoch():
    codes, y = np.arange(40, dtype=np.uint8)[:, None], np.arange(40)
    batches = []

    def loss(log_joint, y, sample_weight):
        batches.append(tuple(y.tolist()))
        return 0.0, np.zeros_like(log_joint)

    sets = ParentSets.from_lists([[-1]])
    run(make_problem(codes, y, None, 15), sets, loss, epochs=3, cards=[40], n_classes=40)
    epochs = [batches[2 * k] + batches[2 * k + 1] for k in range(3)]
    assert len(batches) == 6
    assert all(len(set(epoch)) == 30 for epoch in epochs)
    assert len(set(epochs)) == 3


@OPTIMISERS
def test_one_candidate_for_each_feature_is_a_fixed_tree(optimiser):
    sets = fixed_parents([-1, 0, 0, 1])
    state = run(make_problem(*rows_of(6, 100), None, 20), sets, optimiser=optimiser)
    assert not any(array.any() for array in state.phi)
    assert state.history.entropy == [0.0] * 4
    assert state.updates.tolist() == [20] * 4
    assert structure_of(state, make_layout(sets, CARDS, N_CLASSES)).most_probable().tolist() == [0, 1, 2, 3]


def test_choice_of_a_constant_feature_does_not_matter():
    """All its CPTs say the same, so its phi has no gradient, not even one of rounding."""
    state = run(make_problem(*rows_of(7, 100), None, 20), structure_learning_rate=1.0)
    ptr = all_candidates(range(4)).ptr
    assert not state.phi.value[ptr[2] : ptr[3]].any()
    assert np.abs(state.phi.value[ptr[3] : ptr[4]]).max() > 0.1


@given(models(is_ordered=True), SEEDS)
@settings(max_examples=10)
def test_ordered_candidates_end_without_a_cycle(model, seed):
    problem = make_problem(model.codes, model.y, None, 5)
    shape = {"cards": model.cards, "n_classes": model.n_classes}
    state = run(problem, model.parent_sets, ConditionalLikelihood(), seed=seed, structure_learning_rate=1.0, **shape)
    chosen = structure_of(state, model.layout).most_probable()
    assert find_cycle(model.parent_sets.select(chosen)) is None
    assert Network.from_arena(model.layout, state.theta.value, state.prior.value, chosen).is_bayesian_network


def test_candidates_without_order_may_end_in_a_cycle():
    rng = np.random.default_rng(8)
    first = rng.integers(0, 3, size=300)
    codes = np.column_stack([first, first]).astype(np.uint8)
    sets = pseudo_candidates(2)
    problem = make_problem(codes, rng.integers(0, 2, size=300), None, 50)
    shape = {"cards": [3, 3], "n_classes": 2}
    state = run(problem, sets, NegativeLogLikelihood(), epochs=20, structure_learning_rate=0.5, **shape)
    chosen = structure_of(state, make_layout(sets, [3, 3], 2)).most_probable()
    assert sets.select(chosen).tolist() == [1, 0]


@OPTIMISERS
def test_likelihood_training_ends_at_the_relative_frequencies(optimiser):
    codes, y = rows_of(9, 400)
    sets = fixed_parents([-1, 0, 0, 1])
    problem = make_problem(codes, y, None, 400)
    state = run(
        problem,
        sets,
        NegativeLogLikelihood(),
        epochs=400,
        learning_rate=0.3,
        learning_rate_decay=0.01,
        optimiser=optimiser,
    )
    layout = make_layout(sets, CARDS, N_CLASSES)
    for i, j in enumerate([-1, 0, 0, 1]):
        columns = (None if j == -1 else codes[:, j], codes[:, i], y)
        sizes = (1 if j == -1 else CARDS[j], CARDS[i], N_CLASSES)
        expected = counting_oracle.maximum_likelihood_table(counting_oracle.pair_counts(*columns, *sizes), 0.0)
        np.testing.assert_allclose(np.exp(layout.cpt(state.theta.value, i)), expected, atol=2e-3)
    frequencies = np.bincount(y) / len(y)
    np.testing.assert_allclose(np.exp(state.prior.value), frequencies, atol=2e-3)


def test_training_finds_the_parent_that_tells_the_classes_apart():
    rng = np.random.default_rng(10)
    codes = rng.integers(0, 2, size=(400, 4), dtype=np.uint8)
    y = (codes[:, 1] ^ codes[:, 3]).astype(np.int64)
    sets, shape = all_candidates(range(4)), {"cards": [2] * 4, "n_classes": 2}
    state = run(make_problem(codes, y, None, 50), sets, epochs=30, structure_learning_rate=0.05, **shape)
    layout = make_layout(sets, **shape)
    chosen = structure_of(state, layout).most_probable()
    network = Network.from_arena(layout, state.theta.value, state.prior.value, chosen)
    assert network.parents[3] == 1
    assert np.array_equal(network.log_joint(codes).argmax(axis=1), y)
    assert state.history.loss[-1] < 0.5 * state.history.loss[0]
    assert state.history.entropy[-1] < 0.5 * state.history.entropy[0]


def test_history_has_an_entry_for_each_epoch():
    state = run(make_problem(*rows_of(11, 100), None, 20), epochs=5, learning_rate=0.5, tau=(4.0, 0.25))
    columns = state.history.to_arrays()
    assert all(len(column) == 5 for column in columns.values())
    np.testing.assert_allclose(columns["learning_rate"], np.geomspace(0.5, 0.5e-3, 5))
    np.testing.assert_allclose(columns["tau"], [4.0, 2.0, 1.0, 0.5, 0.25])
    assert np.all((columns["error"] > 0) & (columns["error"] < 1))
    # Mean of log(2), log(3) and log(4) before any step
    assert 0.9 < columns["entropy"][0] < (math.log(2) + math.log(3) + math.log(4)) / 3


def test_loss_of_the_history_is_the_mean_over_the_steps():
    values = iter(range(1, 100))
    problem = make_problem(*rows_of(12, 60), None, 20)
    state = run(problem, loss=lambda log_joint, y, w: (next(values), np.zeros_like(log_joint)), epochs=2)
    assert state.history.loss == [2.0, 5.0]


def test_called_after_each_epoch():
    seen = []
    state = run(
        make_problem(*rows_of(13, 60), None, 20),
        epochs=3,
        on_epoch=lambda state: seen.append((state.epoch, len(state.history), state.step)),
    )
    assert seen == [(1, 1, 3), (2, 2, 6), (3, 3, 9)]
    run(make_problem(*rows_of(13, 60), None, 20), state=state, epochs=3, on_epoch=seen.append)
    assert len(seen) == 3


def test_progress_bar():
    stream = io.StringIO()
    state = run(make_problem(*rows_of(14, 60), None, 20), epochs=3, on_epoch=ProgressBar(3, stream))
    last = stream.getvalue().split("\r")[-1]
    assert last.startswith("epoch 3/3")
    assert f"loss {state.history.loss[-1]:.4g} " in last
    assert f"error {state.history.error[-1]:.2%} " in last
    assert f"entropy {state.history.entropy[-1]:.3f} " in last


ADVICE = "lower learning_rate, lam or gamma, or check the gradient of a loss of your own"


@OPTIMISERS
def test_rate_that_is_far_too_high(optimiser):
    problem = make_problem(*rows_of(15, 60), None, 20)
    with pytest.raises(TrainingDivergedError, match=rf"the loss is (nan|inf) in epoch \d+: {ADVICE}"):
        run(problem, learning_rate=1e30, optimiser=optimiser)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_loss_that_is_no_number(bad):
    values = iter([1.0] * 4 + [bad])
    problem = make_problem(*rows_of(15, 60), None, 20)
    with pytest.raises(TrainingDivergedError, match=rf"the loss is {bad} in epoch 2: {ADVICE}"):
        run(problem, loss=lambda log_joint, y, w: (next(values, 1.0), np.zeros_like(log_joint)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("sets", [all_candidates(range(4)), fixed_parents([-1, 0, 0, 1])], ids=["search", "fixed"])
def test_gradient_that_is_no_number(bad, sets):
    def loss(log_joint, y, sample_weight):
        grad = np.zeros_like(log_joint)
        grad[3, 1] = bad
        return 1.0, grad

    problem = make_problem(*rows_of(15, 60), None, 20)
    with pytest.raises(TrainingDivergedError, match=ADVICE):
        run(problem, sets, loss, epochs=1)


def test_diverged_is_an_arithmetic_error():
    assert issubclass(TrainingDivergedError, ArithmeticError)


def test_rows_of_weight_zero_count_as_absent():
    codes, y = rows_of(16, 90)
    weight = np.where(np.arange(90) % 3 == 0, 0.0, 1.5)
    kept = weight > 0
    with_zeros = make_problem(codes, y, weight, 20, may_merge=False)
    assert_same_bits(run(with_zeros), run(make_problem(codes[kept], y[kept], weight[kept], 20, may_merge=False)))
