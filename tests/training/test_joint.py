"""Training several TANs on the loss of their mean log-joint."""

import numpy as np
from hypothesis import given, settings
from scipy.special import log_softmax, logsumexp

from tanager.losses import ConditionalLikelihood, Hybrid
from tanager.model import make_layout
from tanager.model.joint import join_layouts, split_networks
from tanager.structure import fixed_parents, subset_candidates
from tanager.training import Noise, Schedule, Stepper, TrainingSettings, initial_state, make_problem, train
from tanager.training.regularisers import ParentDropout, Shrinkage, SizePenalty
from tests.strategies import SEEDS

CARDS = [2, 3, 2]
STRUCTURES = [[-1, 0, 1], [2, -1, 1], [-1, -1, -1]]


def rows(seed, n_rows=12, n_classes=3):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(card, size=n_rows) for card in CARDS], axis=1).astype(np.uint8)
    return codes, rng.integers(n_classes, size=n_rows)


def layouts():
    return [make_layout(fixed_parents(parents), CARDS, 3) for parents in STRUCTURES]


def mean_loss(theta, prior, layout, codes, y):
    """Conditional log-loss of the mean log-joint, in loops."""
    total = 0.0
    for x, c in zip(codes, y, strict=True):
        log_joint = log_softmax(prior).copy()
        for slot in range(len(layout.cpts.child)):
            child, parent = layout.cpts.child[slot], layout.cpts.parent[slot]
            table = log_softmax(layout.cpt(theta, slot), axis=1)
            log_joint += table[0 if parent == len(CARDS) else x[parent], x[child]] / layout.n_members
        total += logsumexp(log_joint) - log_joint[c]
    return total / len(y)


@given(SEEDS)
@settings(max_examples=10)
def test_gradient_is_that_of_the_mean_log_joint(seed):
    codes, y = rows(seed)
    joint = join_layouts(layouts())
    state = initial_state(joint, Noise(seed))
    theta, prior = state.theta.value.astype(float), state.prior.value.astype(float)
    problem = make_problem(codes, y, None, len(y), may_merge=False)
    stepper = Stepper(state, joint, problem, ConditionalLikelihood(), TrainingSettings())
    info = stepper.run(np.arange(len(y)), np.zeros((1, 9)), None, Schedule(0.1, 1.0))
    np.testing.assert_allclose(info.loss, mean_loss(theta, prior, joint, codes, y), rtol=1e-5)
    for entry in range(0, joint.size, 5):
        step = np.zeros(len(theta))
        step[entry] = 1e-4
        ends = [mean_loss(theta + sign * step, prior, joint, codes, y) for sign in (1, -1)]
        # Adam's first moment after one step is a tenth of the gradient.
        np.testing.assert_allclose(state.theta.mean[entry], 0.1 * (ends[0] - ends[1]) / 2e-4, rtol=1e-3, atol=1e-6)


def test_equal_members_train_like_one():
    codes, y = rows(0)
    one = make_layout(fixed_parents(STRUCTURES[0]), CARDS, 3)
    joint = join_layouts([one] * 3)
    single, triple = initial_state(one, Noise(0)), initial_state(joint, Noise(0))
    triple.theta.value[: joint.size] = np.tile(single.theta.value[: one.size], 3)
    triple.prior.value[:] = single.prior.value
    problem = make_problem(codes, y, None, len(y), may_merge=False)
    for state, layout in ((single, one), (triple, joint)):
        stepper = Stepper(state, layout, problem, Hybrid(10.0, 1.0), TrainingSettings())
        noise = np.zeros((20, len(state.phi.value)))
        stepper.run(np.tile(np.arange(len(y)), 20), noise, None, Schedule(0.05, 1.0))
    for network in split_networks(joint, triple.theta.value, triple.prior.value, np.arange(9)):
        np.testing.assert_allclose(network.theta[: one.size], single.theta.value[: one.size], atol=2e-3)
        np.testing.assert_allclose(network.log_prior, single.prior.value, atol=2e-3)


def test_search_does_not_depend_on_the_number_of_threads():
    codes, y = rows(1, n_rows=400)
    rng = np.random.default_rng(0)
    searches = [make_layout(subset_candidates(rng.permutation(3), 2, rng), CARDS, 3) for _ in range(3)]
    joint = join_layouts(searches)
    plan = TrainingSettings(
        epochs=3, batch_size=50, regularisers=(ParentDropout(0.2), Shrinkage(0.1), SizePenalty(0.1))
    )
    states = []
    for n_threads in (1, 3):
        state = initial_state(joint, Noise(0))
        train(state, joint, make_problem(codes, y, None, 10), Hybrid(), plan, Noise(0), n_threads=n_threads)
        states.append(state)
    np.testing.assert_array_equal(states[0].theta.value, states[1].theta.value)
    np.testing.assert_array_equal(states[0].phi.value, states[1].phi.value)
    assert np.ptp(states[0].phi.value) > 0
