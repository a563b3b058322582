"""A ridge as part of the loss."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from tanager import GradientDescent, NaiveBayesStart, TANClassifier
from tanager.losses import ConditionalLikelihood, Hybrid
from tanager.model import make_layout
from tanager.structure import ParentSets, fixed_parents, naive_bayes
from tanager.training import Noise, Schedule, Stepper, TrainingSettings, initial_state, make_problem, train
from tanager.training.regularisers import FeatureCpts, Ridge, Run

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
    plan = TrainingSettings(epochs=3000, batch_size=400, learning_rate=0.05, regularisers=(Ridge(ridge),))
    problem = make_problem(codes, y, None, 400)
    state = train(initial_state(layout, Noise(0)), layout, problem, ConditionalLikelihood(), plan, Noise(0))
    hot = OneHotEncoder(sparse_output=False)
    peer = LogisticRegression(C=1 / ridge, max_iter=5000, tol=1e-10).fit(hot.fit_transform(codes), y)
    network_codes = np.array(list(np.ndindex(*CARDS)))
    log_joint = state.prior.value + sum(layout.cpt(state.theta.value, i)[0, network_codes[:, i]] for i in range(3))
    ours = np.exp(log_joint) / np.exp(log_joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ours, peer.predict_proba(hot.transform(network_codes)), atol=2e-3)


def ridge_in_loops(cpt, goal, weight):
    """Half the squared distance of what differs between the classes."""
    value = 0.0
    for line in (cpt - goal).reshape(-1, N_CLASSES):
        value += 0.5 * weight * ((line - line.mean()) ** 2).sum()
    return value


def test_the_gradient_of_the_ridge_is_added_to_selected_cpts():
    codes, y = rows(8)
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0], [-1, 1]]), CARDS, N_CLASSES)
    rng = np.random.default_rng(1)
    start = FeatureCpts.zeros(layout)
    start.value[:] = rng.normal(size=len(start.value))
    problem = make_problem(codes, y, None, 8, may_merge=False)
    chosen = np.array([0, 2, 3])
    moved = {}
    for ridge in (0.0, 4.0):
        plan = TrainingSettings(batch_size=8, learning_rate=1e-3)
        state = initial_state(layout, Noise(0))
        state.phi.value[:] = -50.0
        state.phi.value[chosen] = 50.0
        before = state.theta.value.copy()
        hooks = [Ridge(ridge).prepare(Run(problem, layout, Noise(0), start))]
        stepper = Stepper(state, layout, problem, Hybrid(), plan, hooks)
        stepper.run(np.arange(8), np.zeros((1, 5)), None, Schedule(1e-3, 1.0))
        moved[ridge] = state.theta.mean / 0.1  # after one step the first moment is a tenth of the gradient
    difference = moved[4.0] - moved[0.0]
    for feature, candidate in enumerate(chosen):
        cpt = layout.cpt(before, candidate).astype(np.float64)
        goal = start.value[start.offset[feature] : start.offset[feature + 1]].reshape(1, CARDS[feature], N_CLASSES)
        for place in np.ndindex(cpt.shape):
            high, low = cpt.copy(), cpt.copy()
            high[place] += 1e-4
            low[place] -= 1e-4
            slope = (ridge_in_loops(high, goal, 4.0 / 8) - ridge_in_loops(low, goal, 4.0 / 8)) / 2e-4
            assert layout.cpt(difference, candidate)[place] == pytest.approx(slope, abs=1e-4)
    assert not layout.cpt(difference, 1).any()


def test_a_strong_ridge_leaves_the_naive_bayes_that_was_trained_first():
    codes, y = rows()

    def probabilities(structure, **options):
        parameters = GradientDescent("conditional", epochs=100, batch_size=400, **options)
        return TANClassifier(structure, parameters, binning="none", random_state=0).fit(codes, y).predict_proba(codes)

    expected = probabilities("none", ridge=1.0)
    pulled, free = (probabilities([-1, 0, 1], start=NaiveBayesStart(1.0), ridge=ridge) for ridge in (1e3, 1e-3))
    assert np.abs(pulled - expected).max() < 0.01
    assert np.abs(free - expected).max() > 0.05


def test_members_of_a_mean_are_pulled_as_what_they_add_to_it():
    """A ridge on the mean of three equal trees is a ridge on one."""
    codes, y = rows()
    problem = make_problem(codes, y, None, 400)
    plan = TrainingSettings(epochs=800, batch_size=400, learning_rate=0.05, regularisers=(Ridge(20.0),))
    lost = []
    for n_members in (1, 3):
        parents = np.concatenate(
            [np.where(np.array([-1, 0, 1]) < 0, -1, np.array([-1, 0, 1]) + 3 * m) for m in range(n_members)]
        )
        layout = make_layout(fixed_parents(parents), CARDS, N_CLASSES, n_members)
        state = train(initial_state(layout, Noise(0)), layout, problem, ConditionalLikelihood(), plan, Noise(0))
        lost.append(state.history.to_arrays()["loss"][-1])
    # Three share the work: the mean is pulled by a third of what one tree would be pulled by.
    weak = TrainingSettings(epochs=800, batch_size=400, learning_rate=0.05, regularisers=(Ridge(20.0 / 3),))
    layout = make_layout(fixed_parents([-1, 0, 1]), CARDS, N_CLASSES)
    state = train(initial_state(layout, Noise(0)), layout, problem, ConditionalLikelihood(), weak, Noise(0))
    assert lost[1] == pytest.approx(state.history.to_arrays()["loss"][-1], abs=2e-3)
    assert lost[0] > lost[1] + 0.005


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    "make", [Ridge, lambda value: GradientDescent(ridge=value), lambda value: NaiveBayesStart(value)]
)
def test_wrong_values_are_named(make, value):
    with pytest.raises(ValueError, match=r"^ridge must be a finite number of at least 0, got"):
        make(value)


def test_the_scale_of_weights_that_are_not_counts_does_not_matter():
    codes, y = rows()
    clf = TANClassifier("none", GradientDescent("conditional", ridge=3.0), binning="none", random_state=0)
    plain, light = (
        clf.fit(codes, y, sample_weight=weight).predict_proba(codes) for weight in (None, np.full(len(y), 1e-3))
    )
    np.testing.assert_allclose(light, plain, atol=1e-3)
