"""A ridge as part of the loss, and tables that start from naive Bayes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from tanager import TANClassifier
from tanager.losses import ConditionalLikelihood, Hybrid
from tanager.model import make_layout
from tanager.structure import ParentSets, fixed_parents, naive_bayes
from tanager.training import (
    Batch,
    FeatureTables,
    Noise,
    Start,
    Stepper,
    TrainingSettings,
    initial_state,
    make_problem,
    train,
)
from tanager.training.pulls import make_pulls

CARDS, N_CLASSES = [3, 2, 4], 3


def rows(n_rows=400):
    """Rows whose classes depend on the features."""
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(card, size=n_rows) for card in CARDS], axis=1).astype(np.uint8)
    score = np.stack([codes[:, 0] == 1, codes[:, 2] > 1, codes[:, 1] == 0], axis=1) * 1.5
    return codes, (score + rng.gumbel(size=score.shape)).argmax(axis=1)


@pytest.mark.parametrize("ridge", [0.3, 3.0])
def test_without_parents_the_conditional_likelihood_is_logistic_regression(ridge):
    codes, y = rows()
    layout = make_layout(naive_bayes(3), CARDS, N_CLASSES)
    plan = TrainingSettings(epochs=3000, batch_size=400, learning_rate=0.05, ridge=ridge)
    problem = make_problem(codes, y, None, 400)
    state = train(initial_state(layout, Noise(0)), layout, problem, ConditionalLikelihood(), plan, Noise(0))
    hot = OneHotEncoder(sparse_output=False)
    peer = LogisticRegression(C=1 / ridge, max_iter=5000, tol=1e-10).fit(hot.fit_transform(codes), y)
    network_codes = np.array(list(np.ndindex(*CARDS)))
    log_joint = state.prior.value + sum(layout.table(state.theta.value, i)[0, network_codes[:, i]] for i in range(3))
    ours = np.exp(log_joint) / np.exp(log_joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours, peer.predict_proba(hot.transform(network_codes)), atol=2e-3)


def ridge_in_loops(table, goal, weight):
    """Half the squared distance of what differs between the classes."""
    value = 0.0
    for line in (table - goal).reshape(-1, N_CLASSES):
        value += 0.5 * weight * ((line - line.mean()) ** 2).sum()
    return value


def test_the_gradient_of_the_ridge_is_added_to_selected_tables():
    codes, y = rows(8)
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0], [-1, 1]]), CARDS, N_CLASSES)
    rng = np.random.default_rng(1)
    base = FeatureTables.zeros(layout)
    base.value[:] = rng.normal(size=len(base.value))
    problem = make_problem(codes, y, None, 8)
    chosen = np.array([0, 2, 3])
    moved = {}
    for ridge in (0.0, 4.0):
        plan = TrainingSettings(ridge=ridge, batch_size=8, learning_rate=1e-3)
        state = initial_state(layout, Noise(0))
        state.phi.value[:] = -50.0
        state.phi.value[chosen] = 50.0
        before = state.theta.value.copy()
        stepper = Stepper(layout, Hybrid(), plan, 8, pulls=make_pulls(problem, layout, plan, base))
        stepper.step(state, Batch(codes, np.arange(8), y, None), np.zeros(5), rate=1e-3, tau=1.0)
        moved[ridge] = state.theta.mean / 0.1  # after one step the first moment is a tenth of the gradient
    difference = moved[4.0] - moved[0.0]
    for feature, candidate in enumerate(chosen):
        table = layout.table(before, candidate).astype(np.float64)
        goal = base.value[base.offset[feature] : base.offset[feature + 1]].reshape(1, CARDS[feature], N_CLASSES)
        for place in np.ndindex(table.shape):
            high, low = table.copy(), table.copy()
            high[place] += 1e-4
            low[place] -= 1e-4
            slope = (ridge_in_loops(high, goal, 4.0 / 8) - ridge_in_loops(low, goal, 4.0 / 8)) / 2e-4
            assert layout.table(difference, candidate)[place] == pytest.approx(slope, abs=1e-4)
    assert not layout.table(difference, 1).any()


def test_tables_start_from_those_given():
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0], [1]]), CARDS, N_CLASSES)
    table = np.log(np.random.default_rng(0).dirichlet(np.ones(4), size=N_CLASSES).T).astype(np.float32)
    tables = FeatureTables.zeros(layout)
    tables.value[:] = -np.log(np.repeat(CARDS, np.multiply(CARDS, N_CLASSES)))
    tables.value[tables.offset[2] :] = table.ravel()
    prior = np.log(np.array([0.5, 0.3, 0.2], np.float32))
    state = initial_state(layout, Noise(0), start=Start(tables, prior))
    np.testing.assert_allclose(layout.table(state.theta.value, 3), np.stack([table, table]), atol=1e-6)
    np.testing.assert_allclose(layout.table(state.theta.value, 2), np.log(0.5), atol=1e-6)
    np.testing.assert_allclose(state.prior.value, prior, atol=1e-6)


def test_a_strong_ridge_leaves_the_naive_bayes_that_was_trained_first():
    codes, y = rows()
    common = {"loss": "conditional", "binning": "none", "epochs": 100, "batch_size": 400, "random_state": 0}
    bayes = TANClassifier("none", ridge=1.0, **common).fit(codes, y)
    pulled, free = (
        TANClassifier([-1, 0, 1], base_ridge=1.0, ridge=ridge, **common).fit(codes, y) for ridge in (1e3, 1e-3)
    )
    expected = bayes.predict_proba(codes)
    assert np.abs(pulled.predict_proba(codes) - expected).max() < 0.01
    assert np.abs(free.predict_proba(codes) - expected).max() > 0.05


def test_members_of_a_mean_are_pulled_as_what_they_add_to_it():
    """A ridge on the mean of three equal trees is a ridge on one."""
    codes, y = rows()
    problem = make_problem(codes, y, None, 400)
    plan = TrainingSettings(epochs=800, batch_size=400, learning_rate=0.05, ridge=20.0)
    lost = []
    for n_members in (1, 3):
        parents = np.concatenate(
            [np.where(np.array([-1, 0, 1]) < 0, -1, np.array([-1, 0, 1]) + 3 * m) for m in range(n_members)]
        )
        layout = make_layout(fixed_parents(parents), CARDS, N_CLASSES, n_members)
        state = train(initial_state(layout, Noise(0)), layout, problem, ConditionalLikelihood(), plan, Noise(0))
        lost.append(state.history.to_arrays()["loss"][-1])
    # Three share the work: the mean is pulled by a third of what one tree would be pulled by.
    weak = TrainingSettings(epochs=800, batch_size=400, learning_rate=0.05, ridge=20.0 / 3)
    layout = make_layout(fixed_parents([-1, 0, 1]), CARDS, N_CLASSES)
    state = train(initial_state(layout, Noise(0)), layout, problem, ConditionalLikelihood(), weak, Noise(0))
    assert lost[1] == pytest.approx(state.history.to_arrays()["loss"][-1], abs=2e-3)
    assert lost[0] > lost[1] + 0.005


@pytest.mark.parametrize("options", [{"ridge": -1.0}, {"base_ridge": -0.5}, {"ridge": float("nan")}])
def test_negative_weights_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        TrainingSettings(**options)


def test_the_scale_of_weights_that_are_no_counts_does_not_matter():
    codes, y = rows()
    common = {"loss": "conditional", "ridge": 3.0, "binning": "none", "random_state": 0}
    plain, light = (
        TANClassifier("none", **common).fit(codes, y, sample_weight=weight).predict_proba(codes)
        for weight in (None, np.full(len(y), 1e-3))
    )
    np.testing.assert_allclose(light, plain, atol=1e-3)
