"""The compiled trainer against loops, for every option; and what it does with threads, errors and interrupts."""

import gc
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.trainers import ADAM, CALLBACK, LOSSES, PAIRS, assert_same_bits, make_case, take_step
from tests.oracles import model_oracle
from tests.oracles.training_oracle import Options
from tests.strategies import SEEDS

RAGGED = [[-1], [-1, 0], [1, -1, 0], [2, 0, -1]], [3, 2, 1, 4]
FREE = [[-1, 1, 2], [-1, 0, 3], [-1, 0, 1], [-1, 1, 2]], [3, 2, 2, 4]
BY_OPTIMISER = pytest.mark.parametrize("is_dense", [False, True], ids=["selected", "dense"])


def goals_of(case, rng):
    cards, n_classes = case.layout.cards, case.layout.n_classes
    return [rng.normal(size=(card, n_classes)).astype(np.float32) for card in cards]


def options_of(case, names, loss="conditional", is_dense=False):
    """The oracle's options with some regularisers."""
    rng = np.random.default_rng(1)
    n_columns = len(case.layout.cpts.cards) - 1
    strengths = {
        "dropout": 0.4,
        "shrinkage": (goals_of(case, rng), 2.0),
        "smoothness": ([max(int(card) - 1, 0) for card in case.layout.cpts.cards[:n_columns]], 1.5),
        "pull": (goals_of(case, rng), 0.3),
        "size_cost": rng.random(case.n_candidates),
        "samples_forests": True,
    }
    chosen = {name: strengths[name] for name in names}
    return Options(LOSSES[loss][1], adam=ADAM, is_dense=is_dense, phi_rate=0.2, **chosen)


def check_run(case, options, loss="conditional", *, n_steps=6, batch_size=None, n_threads=1, rate=0.05):
    """Compare structure, loss, error and all parameters with the oracle, step by step."""
    state, oracle, rng = case.state(), case.oracle(options), np.random.default_rng(5)
    trainer = case.trainer(
        state,
        LOSSES[loss][0],
        batch_size=batch_size,
        is_dense=options.is_dense,
        actions=case.actions(options),
        n_threads=n_threads,
    )
    structures = set()
    for step in range(n_steps):
        rows = rng.integers(0, len(case.y), size=batch_size) if batch_size else np.arange(len(case.y))
        noise, tau = model_oracle.gumbel(rng.random(case.n_candidates)), 2.0 / (1 + step)
        uniform = rng.random(case.n_slots)
        found = take_step(
            trainer, case, step, rows=rows, noise=noise, uniform=uniform, rate=rate, tau=tau, phi_rate=0.2
        )
        expected = oracle.step(rows, noise, uniform, rate, tau)
        assert trainer.selected.tolist() == list(oracle.selected)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert_same_parameters(case, state, oracle)
        structures.add(tuple(oracle.selected))
    return structures


def assert_same_parameters(case, state, oracle, atol=2e-5):
    for found, expected in zip(case.split(state.theta.value), oracle.tables, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=atol)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, atol=2e-6)
    np.testing.assert_allclose(state.prior.value, oracle.prior, rtol=1e-5, atol=atol)
    np.testing.assert_allclose(state.phi.value, oracle.phi, rtol=1e-5, atol=1e-4)
    assert state.updates.tolist() == oracle.updates


@BY_OPTIMISER
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [*range(1, 19), 26, 33])
def test_every_number_of_classes(n_classes, loss, is_dense):
    """All widths of lanes, with a line that ends in the middle of one and a line that fills it."""
    case = make_case(*RAGGED, n_classes, seed=n_classes)
    structures = check_run(case, options_of(case, (), loss, is_dense), loss)
    assert len(structures) > 2


REGULARISERS = ["dropout", "shrinkage", "smoothness", "pull", "size_cost", "samples_forests"]


@BY_OPTIMISER
@pytest.mark.parametrize("names", [*([name] for name in REGULARISERS), REGULARISERS], ids="-".join)
@pytest.mark.parametrize("n_classes", [2, 5])
def test_every_regulariser(n_classes, names, is_dense):
    case = make_case(*FREE, n_classes, seed=3, n_rows=12)
    options = options_of(case, names, is_dense=is_dense)
    structures = check_run(case, options)
    assert len(structures) > 2
    plain, regularised = case.state(), case.state()
    for state, actions in ((plain, {}), (regularised, case.actions(options))):
        trainer = case.trainer(state, LOSSES["conditional"][0], is_dense=is_dense, actions=actions)
        uniform, noise = np.zeros(4), np.array([0.0, 9.0, 0.0, 0.0, 9.0, 0.0, 9.0, 0.0, 0.0, 0.0, 9.0, 0.0])
        take_step(trainer, case, 0, uniform=uniform, noise=noise)
    is_equal = [
        np.array_equal(a, b) for a, b in zip(plain.theta + plain.phi, regularised.theta + regularised.phi, strict=True)
    ]
    assert not all(is_equal)


@BY_OPTIMISER
@pytest.mark.parametrize(
    "names", [[], ["dropout", "shrinkage", "smoothness", "pull", "size_cost"]], ids=["plain", "all"]
)
def test_pairs_of_parents(names, is_dense):
    case = make_case(*PAIRS, 3, seed=4, n_rows=12)
    check_run(case, options_of(case, names, is_dense=is_dense))


@BY_OPTIMISER
@pytest.mark.parametrize("names", [[], REGULARISERS], ids=["plain", "all"])
@pytest.mark.parametrize("n_members", [2, 3])
def test_members_of_a_mean(n_members, names, is_dense):
    candidates = [[-1], [-1, 0], [1, -1]]
    joined = [[j if j < 0 else j + 3 * m for j in parents] for m in range(n_members) for parents in candidates]
    case = make_case(joined, [3, 2, 4], 3, seed=5, n_members=n_members)
    check_run(case, options_of(case, names, is_dense=is_dense))


def test_members_of_a_mean_with_pairs():
    case = make_case([[-1], [0], [-1, (0, 1)], [(4, 5), -1], [5, -1], [-1]], [2, 3, 2], 2, seed=6, n_members=2)
    check_run(case, options_of(case, ()))


CODE_TYPES = [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64]


@pytest.mark.parametrize("dtype", CODE_TYPES)
def test_codes_of_every_type_with_unknown_values(dtype):
    """Whatever is not a value of its feature is unknown: terms that need it are left out."""
    case = make_case(*PAIRS, 3, seed=7, n_rows=14, dtype=dtype)
    unknown = [2, 3, 2, 2]
    case.codes[[0, 1, 2, 3], [0, 1, 2, 3]] = unknown
    case.codes[4] = np.iinfo(dtype).max
    case.codes[5, 1] = -1 if np.iinfo(dtype).min < 0 else np.iinfo(dtype).max - 1
    case.codes[6, 3] = np.iinfo(dtype).min if np.iinfo(dtype).min < 0 else 100
    check_run(case, options_of(case, ()))


def test_rows_of_unknown_values_only():
    case = make_case(*RAGGED, 3, seed=8)
    case.codes[:] = 100
    check_run(case, options_of(case, ()))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("is_weighted", [True, False])
def test_rows_of_a_batch_are_taken_from_all_rows(loss, is_weighted):
    case = make_case(*RAGGED, 3, seed=9, n_rows=30, is_weighted=is_weighted)
    for batch_size in (1, 7, 30):
        check_run(case, options_of(case, (), loss), loss, batch_size=batch_size)


@BY_OPTIMISER
def test_constant_features_and_single_candidates(is_dense):
    case = make_case([[-1], [-1, 0], [0, 1], [2]], [1, 3, 1, 1], 2, seed=10)
    check_run(case, options_of(case, (), is_dense=is_dense))
    fixed = make_case([[-1], [0], [1]], [3, 2, 4], 3, seed=11)
    before = fixed.phi.copy()
    check_run(fixed, options_of(fixed, ("shrinkage", "size_cost"), is_dense=is_dense))
    assert np.array_equal(fixed.phi, before)


def test_one_feature_and_one_row():
    case = make_case([[-1]], [4], 3, seed=12, n_rows=1)
    check_run(case, options_of(case, ()))


@given(seed=SEEDS, data=st.data())
@settings(max_examples=40)
def test_any_search_space(seed, data):
    n_features = data.draw(st.integers(1, 5))
    cards = data.draw(st.lists(st.integers(1, 4), min_size=n_features, max_size=n_features))
    choices = [[-1, *(j for j in range(n_features) if j != i)] for i in range(n_features)]
    candidates = [data.draw(st.lists(st.sampled_from(each), min_size=1, unique=True)) for each in choices]
    names = data.draw(
        st.lists(st.sampled_from([name for name in REGULARISERS if name != "samples_forests"]), unique=True)
    )
    n_rows = data.draw(st.integers(1, 9))
    case = make_case(candidates, cards, data.draw(st.integers(1, 10)), seed, n_rows=n_rows)
    case.codes[np.random.default_rng(seed).random(case.codes.shape) < 0.2] = 4
    options = options_of(case, names, is_dense=data.draw(st.booleans()))
    check_run(case, options, n_steps=3, n_threads=data.draw(st.integers(1, 3)))


def many_features(n_classes=3, n_rows=64, **options):
    rng = np.random.default_rng(0)
    candidates = [[-1, *rng.permutation([j for j in range(23) if j != i])[:3].tolist()] for i in range(23)]
    return make_case(candidates, rng.integers(1, 6, size=23), n_classes, 1, n_rows=n_rows, **options)


def run_epoch(case, loss="hybrid", *, n_steps=20, batch_size=30, state=None, callbacks=None, **changes):
    """Several steps in one call, with all rows and draws from a fixed generator."""
    rng, state = np.random.default_rng(2), state or case.state()
    trainer = case.trainer(state, LOSSES[loss][0] if loss in LOSSES else loss, batch_size=batch_size, **changes)
    info = trainer.run(
        step=0,
        rows=rng.integers(0, len(case.y), size=n_steps * batch_size),
        gumbel=rng.gumbel(size=(n_steps, case.n_candidates)),
        uniform=rng.random((n_steps, case.n_slots)),
        rate=0.05,
        tau=1.0,
        phi_rate=0.1,
        callbacks=callbacks or {},
    )
    return state, info


@BY_OPTIMISER
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("names", [[], REGULARISERS], ids=["plain", "all"])
def test_number_of_threads_does_not_change_a_bit(names, n_classes, loss, is_dense):
    case = many_features(n_classes)
    actions = case.actions(options_of(case, names))
    runs = [run_epoch(case, loss, is_dense=is_dense, actions=actions, n_threads=n) for n in (1, 2, 3, 64)]
    for state, info in runs[1:]:
        assert info == runs[0][1]
        assert_same_bits(state, runs[0][0])
    assert not np.array_equal(runs[0][0].theta.value, case.state().theta.value)


@BY_OPTIMISER
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("n_classes", "n_members"), [(2, 1), (3, 2), (10, 1)])
def test_sums_of_another_trainer_give_the_same_bits(loss, n_classes, n_members, is_dense):
    candidates, cards = RAGGED
    moved = [[parent if parent < 0 else parent + 4 for parent in each] for each in candidates]
    case = make_case([*candidates, *moved][: 4 * n_members], cards, n_classes, 3, n_members=n_members)
    options = {"is_dense": is_dense, "actions": case.actions(options_of(case, ["dropout", "pull", "size_cost"]))}
    expected, info = run_epoch(case, loss, batch_size=9, n_steps=6, **options)
    state = case.state()
    rows = np.random.default_rng(2).integers(0, 9, size=(6, 9))
    other = case.trainer(state, LOSSES[loss][0], n_threads=2)  # of the same parameters, which it does not change

    def sums(step, selected, cells, weight, prior):
        arrays = {"cells": cells, "weight": weight, "prior": prior}
        return other.sum(rows=rows[step], selected=selected, **arrays, callbacks={})

    found, same = run_epoch(case, loss, batch_size=9, n_steps=6, state=state, callbacks={"sums": sums}, **options)
    assert same == info
    assert_same_bits(found, expected)


@pytest.mark.parametrize("n_threads", [0, -3])
def test_there_is_always_one_thread(n_threads):
    case = many_features()
    assert_same_bits(run_epoch(case, n_threads=n_threads)[0], run_epoch(case)[0])


@BY_OPTIMISER
def test_a_run_that_is_resumed_goes_on_as_if_it_had_not_stopped(is_dense):
    """Whatever a trainer remembers beside the state must not show: a new one continues with the same bits."""
    case = many_features()
    rng = np.random.default_rng(3)
    rows, noise = rng.integers(0, 64, size=(3, 5 * 30)), rng.gumbel(size=(3, 5, case.n_candidates))
    resumed, whole = case.state(), case.state()
    trainer = case.trainer(whole, LOSSES["hybrid"][0], batch_size=30, is_dense=is_dense)
    for k in range(3):
        schedule = {"uniform": None, "rate": 0.05, "tau": 1.0, "phi_rate": 0.1, "callbacks": {}}
        arguments = {"step": 5 * k, "rows": rows[k], "gumbel": noise[k], **schedule}
        fresh = case.trainer(resumed, LOSSES["hybrid"][0], batch_size=30, is_dense=is_dense)
        assert fresh.run(**arguments) == trainer.run(**arguments)
        assert_same_bits(resumed, whole)


def test_the_state_is_that_of_the_arrays_and_nothing_is_copied():
    case = make_case(*RAGGED, 3, seed=1)
    state = case.state()
    arrays = [*state.theta, *state.prior, *state.phi, state.last, state.updates]
    before = [array.copy() for array in arrays]
    take_step(case.trainer(state, LOSSES["hybrid"][0]), case, 0)
    for array, old in zip(arrays, before, strict=True):
        assert not np.array_equal(array, old)
    # Behind the CPTs are zeros, which rows with an unknown value read.
    assert not state.theta.value[case.layout.size :].any()


# Functions that the trainer calls.


@pytest.mark.parametrize("n_classes", [1, 2, 3, 9])
@pytest.mark.parametrize("is_weighted", [True, False])
def test_a_loss_that_is_called_sees_rows_and_classes(n_classes, is_weighted):
    case = make_case(*RAGGED, n_classes, seed=2, n_rows=11, is_weighted=is_weighted)
    seen = []

    def loss(log_joint, y, weight):
        seen.append((log_joint, y, weight))
        return 2.5, np.zeros_like(log_joint)

    trainer = case.trainer(case.state(), batch_size=4)
    rows = np.array([7, 2, 2, 10])
    value, error = take_step(trainer, case, 0, rows=rows, callbacks={"loss": loss})
    ((log_joint, y, weight),) = seen
    oracle = case.oracle(options_of(case, ()))
    oracle.draw(np.zeros(case.n_candidates), None, 1.0)
    assert log_joint.shape == (4, n_classes)
    assert log_joint.dtype == np.float32
    np.testing.assert_allclose(log_joint, oracle.log_joint(rows), rtol=1e-6, atol=1e-6)
    assert y.tolist() == case.y[rows].tolist()
    assert weight is None if not is_weighted else weight.tolist() == case.weight[rows].tolist()
    assert value == 2.5
    shares = case.weight[rows] if is_weighted else np.ones(4)
    assert error == pytest.approx(shares[log_joint.argmax(axis=1) != y].sum() / shares.sum(), rel=1e-6)


def test_what_a_loss_does_to_its_arguments_changes_nothing():
    case = make_case(*RAGGED, 3, seed=3)
    gradient = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    states = []
    for spoils in (False, True):

        def loss(log_joint, y, weight, spoils=spoils):
            if spoils:
                log_joint[:], y[:], weight[:] = np.nan, 10**6, -1.0
            return 1.0, gradient

        states.append(case.state())
        take_step(case.trainer(states[-1]), case, 0, callbacks={"loss": loss})
    assert_same_bits(*states)


@pytest.mark.parametrize("name", ["hybrid", "conditional"])
@pytest.mark.parametrize("n_classes", [1, 4, 10])
def test_a_loss_that_is_called_trains_like_the_built_in_one(name, n_classes):
    """Rows that meet the margin are summed apart inside the core, so the two agree to rounding."""
    case, oracle = many_features(n_classes), LOSSES[name][1]

    def loss(log_joint, y, weight):
        value, grad = oracle(log_joint, y, weight)
        return value, grad.astype(np.float32)

    state, info = run_epoch(case, CALLBACK, n_steps=4, callbacks={"loss": loss})
    expected, expected_info = run_epoch(case, name, n_steps=4)
    assert info == pytest.approx(expected_info, rel=1e-5)
    np.testing.assert_allclose(state.theta.value, expected.theta.value, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(state.phi.value, expected.phi.value, rtol=1e-5, atol=1e-4)


class CustomError(BaseException):
    """Neither a ValueError nor an Exception."""


@pytest.mark.parametrize("error", [KeyError, CustomError, SystemExit])
@pytest.mark.parametrize("name", ["loss", "change_structure", "move_cpts", "add_phi_gradient"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_what_is_called_is_raised_and_training_can_go_on(n_threads, name, error):
    case = many_features()
    n_calls = 0

    def loss(log_joint, y, weight):
        return 1.0, np.full_like(log_joint, 0.01)

    def fail(*arguments):
        nonlocal n_calls
        n_calls += 1
        if n_calls == 4:
            raise error("no more")
        return loss(*arguments) if name == "loss" else None

    with pytest.raises(error, match="no more") as caught:
        run_epoch(case, CALLBACK, callbacks={"loss": loss, name: fail}, n_threads=n_threads)
    assert "in fail" in "".join(str(entry) for entry in caught.traceback)
    assert n_calls == 4
    found, expected = (run_epoch(case, CALLBACK, callbacks={"loss": loss}, n_threads=n) for n in (n_threads, 1))
    assert_same_bits(found[0], expected[0])


def test_a_trainer_goes_on_after_an_error():
    case = make_case(*RAGGED, 3, seed=4)
    state = case.state()
    trainer = case.trainer(state)
    with pytest.raises(ZeroDivisionError):
        take_step(trainer, case, 0, callbacks={"loss": lambda *arguments: 1 / 0})
    untouched = case.state()
    assert_same_bits(state, untouched)
    good = {"loss": lambda log_joint, y, weight: (1.0, np.ones_like(log_joint))}
    take_step(trainer, case, 0, callbacks=good)
    take_step(case.trainer(untouched), case, 0, callbacks=good)
    assert_same_bits(state, untouched)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_trainer_is_not_run_from_within_a_run(n_threads):
    case = many_features()
    trainer = case.trainer(case.state(), n_threads=n_threads)

    def loss(log_joint, y, weight):
        with pytest.raises(ValueError, match="run must not be called by what it calls"):
            take_step(trainer, case, 0, callbacks={"loss": loss})
        return 1.0, np.zeros_like(log_joint)

    assert take_step(trainer, case, 0, callbacks={"loss": loss})[0] == 1.0
    assert take_step(trainer, case, 1, callbacks={"loss": loss})[0] == 1.0


def test_callbacks_see_what_the_step_has_drawn():
    case = make_case(*RAGGED, 3, seed=5)
    state, seen = case.state(), []
    trainer = case.trainer(state, LOSSES["nll"][0])
    noise = np.random.default_rng(0).gumbel(size=case.n_candidates)
    selected, soft = model_oracle.sample(case.phi, noise, case.layout.cpts.ptr, 0.7)

    def change_structure(step, drawn, weights):
        seen.append(step)
        assert drawn.tolist() == selected.tolist()
        np.testing.assert_allclose(weights, soft)
        drawn[1] = 1
        weights[1:3] = [1.0, 0.0]

    def move_cpts(drawn, rate):
        seen.append(rate)
        assert drawn.tolist() == [selected[0], 1, *selected[2:]]

    def add_phi_gradient(gradient):
        seen.append(len(gradient))
        assert not gradient[1:3].any()
        assert gradient[6:].any()
        gradient[:] = 0.5

    callbacks = {"change_structure": change_structure, "move_cpts": move_cpts, "add_phi_gradient": add_phi_gradient}
    take_step(trainer, case, 41, noise=noise, rate=0.05, tau=0.7, callbacks=callbacks)
    assert seen == [41, 0.05, case.n_candidates]
    assert trainer.selected.tolist() == [selected[0], 1, *selected[2:]]
    np.testing.assert_allclose(state.phi.mean, 0.5 * (1 - ADAM[0]))


def test_a_callback_that_moves_nothing_changes_no_bit():
    case = many_features()
    quiet = dict.fromkeys(["change_structure", "move_cpts", "add_phi_gradient"], lambda *arguments: None)
    assert_same_bits(run_epoch(case, callbacks=quiet)[0], run_epoch(case)[0])


@BY_OPTIMISER
def test_a_callback_moves_cpts_as_shrinkage_does(is_dense):
    case = many_features()
    actions, state = case.actions(options_of(case, ("shrinkage",))), case.state()
    goals, offset, strength = actions["shrinkage"]
    child, parent = np.repeat(case.layout.cpts.child, np.diff(case.layout.cpts.ptr)), case.parent

    def shrink(selected, rate):
        for e in selected[[parent[e] >= 0 for e in selected]]:
            cpt, i = case.layout.cpt(state.theta.value, e), child[e]
            cpt += np.float32(rate * strength) * (goals[offset[i] : offset[i + 1]].reshape(cpt.shape[1:]) - cpt)

    found, info = run_epoch(case, state=state, is_dense=is_dense, callbacks={"move_cpts": shrink})
    expected, expected_info = run_epoch(case, is_dense=is_dense, actions=actions)
    assert info == pytest.approx(expected_info, rel=1e-5)
    np.testing.assert_allclose(found.theta.value, expected.theta.value, rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(found.theta.mean, expected.theta.mean, rtol=1e-4, atol=1e-6)


def test_arrays_that_a_callback_keeps_outlive_the_trainer():
    case, kept = many_features(), []
    callbacks = {"change_structure": lambda step, selected, soft: kept.extend([selected, soft])}
    run_epoch(case, callbacks={**callbacks, "add_phi_gradient": kept.append})
    gc.collect()
    assert len(kept) == 60
    for array in kept:
        assert np.isfinite(array).all()
        array[:] = 0


# Threads and interrupts.


def slow_case():
    """A case of which a step takes some tenths of a millisecond at least."""
    rng = np.random.default_rng(0)
    candidates = [[-1, *rng.permutation([j for j in range(100) if j != i])[:5].tolist()] for i in range(100)]
    return make_case(candidates, [5] * 100, 26, 1, n_rows=300)


@pytest.fixture
def interrupts():
    """SIGINT raises KeyboardInterrupt, also where the tests run in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_is_honoured_within_a_second(n_threads):
    case = slow_case()
    state, n_steps = case.state(), 12_000
    trainer = case.trainer(state, LOSSES["conditional"][0], n_threads=n_threads)
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    arguments = {
        "gumbel": np.zeros((n_steps, case.n_candidates)),
        "rows": np.tile(np.arange(300), n_steps),
        "uniform": None,
        "rate": 1e-4,
        "tau": 1.0,
        "phi_rate": 0.0,
        "callbacks": {},
    }
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        trainer.run(step=0, **arguments)
    assert time.perf_counter() - sent[0] < 1.0
    timer.join()
    assert 0 < state.updates.max() < n_steps
    take_step(trainer, case, int(state.updates.max()))
    assert np.isfinite(state.theta.value).all()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts threads in /proc")
def test_threads_end_with_the_trainer():
    case = many_features()
    case.trainer(case.state(), n_threads=2)  # a sanitizer may start a thread of its own with the first one
    before = n_threads_left()
    trainer = case.trainer(case.state(), n_threads=4)
    assert len(os.listdir("/proc/self/task")) == before + 3
    del trainer
    assert n_threads_left() == before


def n_threads_left():
    """Threads of the process when no more of them end; the system may list one for a moment after it has ended."""
    gc.collect()  # errors of other tests may hold trainers
    time.sleep(0.1)
    return len(os.listdir("/proc/self/task"))


def test_other_threads_of_python_run_meanwhile():
    """The interpreter lock is released: another thread counts on while the core works."""
    case = slow_case()
    trainer = case.trainer(case.state(), LOSSES["conditional"][0])
    n_counted, is_over = 0, threading.Event()

    def count():
        nonlocal n_counted
        while not is_over.is_set():
            n_counted += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    before, start = n_counted, time.perf_counter()
    n_steps = 200
    trainer.run(
        step=0,
        rows=np.tile(np.arange(300), n_steps),
        gumbel=np.zeros((n_steps, case.n_candidates)),
        uniform=None,
        rate=1e-3,
        tau=1.0,
        phi_rate=0.0,
        callbacks={},
    )
    seconds, counted = time.perf_counter() - start, n_counted - before
    is_over.set()
    counter.join()
    assert counted > 20 * seconds


def test_several_trainers_at_once():
    case = many_features()
    expected, _ = run_epoch(case)
    states = [case.state() for _ in range(4)]
    threads = [
        threading.Thread(target=run_epoch, args=(case,), kwargs={"state": state, "n_threads": 2}) for state in states
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for state in states:
        assert_same_bits(state, expected)


def test_a_forest_that_is_not_possible_keeps_candidates_of_the_features_themselves():
    """Noise that is not a number stands for scores that have no best forest."""
    case = make_case(*FREE, 3, seed=6)
    options = options_of(case, ("samples_forests",))
    trainer = case.trainer(case.state(), LOSSES["nll"][0], actions=case.actions(options))
    take_step(trainer, case, 0, noise=np.full(case.n_candidates, np.nan))
    ptr = case.layout.cpts.ptr
    assert (trainer.selected >= ptr[:-1]).all()
    assert (trainer.selected < ptr[1:]).all()
