"""Exact answers of a network against the list of all its states, and against another program's inference."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager.model import Network
from tanager.structure import depth_first_order
from tests.oracles import query_oracle
from tests.strategies import make_model, models

FORESTS = models(max_features=5, max_card=4, max_classes=4, max_rows=4, is_ordered=True, is_fixed=True)
# Cpts are kept in single precision, so they sum to one up to about 1e-7.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def network_of(model):
    return Network.from_arena(model.layout, model.theta, model.prior, np.arange(len(model.cards)))


def states_of(model):
    return query_oracle.all_states(model.tables(), model.prior, model.parent, model.cards)


def random_network(parents, cards, n_classes, seed=0, spread=1.0, n_rows=9):
    model = make_model([[j] for j in parents], cards, n_classes, seed, spread=spread, n_rows=n_rows)
    return network_of(model), model


@st.composite
def questions(draw):
    """A model, observed codes and observed classes."""
    model = draw(FORESTS)
    is_hidden = draw(st.lists(st.booleans(), min_size=model.codes.size, max_size=model.codes.size))
    codes = np.where(np.reshape(is_hidden, model.codes.shape), model.cards, model.codes)
    classes = draw(st.lists(st.integers(-1, model.n_classes - 1), min_size=len(codes), max_size=len(codes)))
    return model, codes, np.array(classes)


@given(questions())
@settings(max_examples=60)
def test_marginals(question):
    model, codes, classes = question
    states = states_of(model)
    found = network_of(model).marginals(codes, classes)
    assert len(found.features) == len(model.cards)
    for n, (row, label) in enumerate(zip(codes, classes, strict=True)):
        of = (row, label, model.cards, model.n_classes)
        np.testing.assert_allclose(found.classes[n], query_oracle.joint(states, ["class"], *of), **CLOSE)
        for i, probabilities in enumerate(found.features):
            np.testing.assert_allclose(probabilities[n], query_oracle.joint(states, [i], *of), **CLOSE)
            np.testing.assert_allclose(probabilities[n].sum(), 1.0, rtol=1e-12)


@given(questions())
@settings(max_examples=40)
def test_joint_of_every_pair(question):
    model, codes, classes = question
    states, network = states_of(model), network_of(model)
    variables = [*range(len(model.cards)), "class"]
    choices = [
        *itertools.permutations(variables, 2),
        *((a, "class", b) for a, b in itertools.combinations(range(len(model.cards)), 2)),
    ]
    for targets in choices:
        found = network.query(list(targets), codes, classes)
        for n, (row, label) in enumerate(zip(codes, classes, strict=True)):
            expected = query_oracle.joint(states, targets, row, label, model.cards, model.n_classes)
            np.testing.assert_allclose(found[n], expected, **CLOSE)


@given(questions())
@settings(max_examples=40)
def test_log_likelihood(question):
    model, codes, classes = question
    states = states_of(model)
    expected = [
        np.log(query_oracle.evidence_probability(states, row, label, model.cards))
        for row, label in zip(codes, classes, strict=True)
    ]
    network = network_of(model)
    np.testing.assert_allclose(network.log_likelihood(codes, classes), expected, **CLOSE)
    np.testing.assert_allclose(network.log_likelihood(codes), np.logaddexp.reduce(network.log_joint(codes), axis=1))


@given(questions())
@settings(max_examples=60)
def test_most_probable_completion(question):
    model, codes, classes = question
    states, network = states_of(model), network_of(model)
    full, labels, log_probability = network.most_probable(codes, classes)
    is_known = codes < model.cards
    assert np.array_equal(full[is_known], codes[is_known])
    assert np.array_equal(labels[classes >= 0], classes[classes >= 0])
    for n in range(len(codes)):
        best = query_oracle.highest_probability(states, codes[n], classes[n], model.cards)
        own = query_oracle.evidence_probability(states, full[n], labels[n], model.cards)
        np.testing.assert_allclose([own, np.exp(log_probability[n])], best, **CLOSE)


@given(questions())
@settings(max_examples=30)
def test_terms_of_the_chain_rule(question):
    model, codes, _ = question
    states, network = states_of(model), network_of(model)
    terms = network.log_terms(codes)
    order = depth_first_order(network.parents)
    for n, row in enumerate(codes):
        expected = query_oracle.chain_terms(states, order, row, model.cards, model.n_classes)
        np.testing.assert_allclose(terms[n], expected, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize(
    "parents", [[-1, 0, 1, 0], [-1, 0, 1, 0, 3], [-1, 0, 1, 2, 1], [4, 3, 0, -1, 3], [-1, 0, 1, -1, 3]]
)
def test_terms_of_every_pattern_of_unknown_values(parents):
    """Branches below an unknown feature are left one by one, which random forests of few features seldom show."""
    cards = [2, 3, 2, 3, 2][: len(parents)]
    network, model = random_network(parents, cards, 2, seed=8, n_rows=2 ** len(parents))
    states, order = states_of(model), depth_first_order(parents)
    codes = np.where(list(np.ndindex(*[2] * len(parents))), cards, model.codes)
    terms = network.log_terms(codes)
    for n, row in enumerate(codes):
        np.testing.assert_allclose(
            terms[n], query_oracle.chain_terms(states, order, row, cards, 2), rtol=1e-5, atol=3e-6
        )
    # The first row is complete, and prediction adds it in single precision.
    total = network.log_prior + terms.sum(axis=1)
    np.testing.assert_allclose(total[1:], network.log_joint(codes)[1:], rtol=1e-12, atol=1e-12)


@given(questions())
@settings(max_examples=40)
def test_terms_sum_to_the_log_joint_in_double_precision(question):
    model, codes, _ = question
    network = network_of(model)
    codes = np.vstack([codes, model.cards])
    total = network.log_prior + network.log_terms(codes).sum(axis=1)
    is_incomplete = (codes == model.cards).any(axis=1)
    # Rows with gaps are summed in double precision; those without in single precision, eight features at a time.
    np.testing.assert_allclose(total[is_incomplete], network.log_joint(codes)[is_incomplete], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(total, network.log_joint(codes), rtol=1e-6, atol=1e-6)


@given(FORESTS)
@settings(max_examples=40)
def test_entropy_and_mutual_information(model):
    states, network = states_of(model), network_of(model)
    assert network.entropy() == pytest.approx(query_oracle.entropy(states), rel=1e-5, abs=1e-6)
    for i, information in enumerate(network.mutual_information()):
        joint = query_oracle.joint(states, [i, "class"], model.cards, -1, model.cards, model.n_classes)
        independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
        assert information == pytest.approx((joint * np.log(joint / independent)).sum(), abs=1e-5)


def test_nothing_observed_is_one_row():
    network, model = random_network([-1, 0, 0], [2, 3, 2], 3)
    assert [p.shape for p in network.marginals().features] == [(1, 2), (1, 3), (1, 2)]
    np.testing.assert_allclose(network.marginals().classes[0], np.exp(model.prior), rtol=1e-6)
    np.testing.assert_allclose(network.log_likelihood(), [0.0], atol=1e-6)
    assert network.query([2, "class", 0]).shape == (1, 2, 3, 2)


def test_observed_features_are_one_hot():
    network, _ = random_network([-1, 0, 1], [2, 3, 2], 2)
    found = network.marginals([[2, 1, 2]], [1])
    assert found.features[1].tolist() == [[0.0, 1.0, 0.0]]
    assert found.classes.tolist() == [[0.0, 1.0]]


def test_equal_values_are_completed_by_the_smallest():
    _, model = random_network([-1, 0, 1, 1], [3, 2, 4, 2], 3)
    model.theta[:] = np.log(0.25)
    model.prior[:] = np.log(1 / 3)
    codes, classes, _ = network_of(model).most_probable([[3, 2, 4, 2], [3, 1, 4, 2]])
    assert codes.tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]
    assert classes.tolist() == [0, 0]


def chain_network(n_features, strength):
    """A chain of coins, each with log-odds of the given strength to be as the one before."""
    parents = [-1, *range(n_features - 1)]
    model = make_model([[j] for j in parents], [2] * n_features, 2, seed=0, n_rows=1)
    agree = -np.log1p(np.exp(-strength))
    table = np.array([[agree, agree - strength], [agree - strength, agree]])
    first = np.log([[0.5, 0.5], [0.5, 0.5]])
    model.theta = np.concatenate([first.ravel(), *[np.repeat(table[:, :, None], 2, axis=2).ravel()] * (n_features - 1)])
    model.theta = model.theta.astype(np.float32)
    model.prior[:] = np.log(0.5)
    return network_of(model)


def test_256_features_with_extreme_tables():
    """Log-probabilities of -80 along a chain of 256: their product is far below the smallest double."""
    network = chain_network(256, strength=80.0)
    codes = np.full((1, 256), 2)
    codes[0, ::2] = np.arange(128) % 2  # neighbours disagree, so every coin between two is a toss-up
    found = network.marginals(codes)
    for i in range(1, 255, 2):
        np.testing.assert_allclose(found.features[i], [[0.5, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(found.features[255], [[0.0, 1.0]], atol=1e-30)
    np.testing.assert_allclose(found.classes, [[0.5, 0.5]])
    np.testing.assert_allclose(network.log_likelihood(codes), [-80.0 * 127 + 127 * np.log(2) + np.log(0.5)], rtol=1e-6)
    np.testing.assert_allclose(network.most_probable(codes)[2], [-80.0 * 127 + 2 * np.log(0.5)], rtol=1e-6)
    assert np.isfinite(network.log_terms(codes)).all()


def test_opposite_evidence_of_many_children_does_not_underflow():
    """Ten children speak for one value with a factor of e^80 each, ten for the other: together they say nothing."""
    n_children = 20
    model = make_model([[-1], *[[0]] * n_children], [2] * (n_children + 1), 2, seed=0, n_rows=1)
    table = np.log([[1.0, np.exp(-80.0)], [np.exp(-80.0), 1.0]])
    model.theta = np.concatenate(
        [np.log([0.3, 0.3, 0.7, 0.7]), *[np.repeat(table[:, :, None], 2, axis=2).ravel()] * 20]
    )
    model.theta = model.theta.astype(np.float32)
    codes = np.array([[2, *[0] * 10, *[1] * 10]])
    np.testing.assert_allclose(network_of(model).marginals(codes).features[0], [[0.3, 0.7]], rtol=1e-5)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_number_of_threads_does_not_change_a_bit(n_threads):
    network, model = random_network([-1, 0, 1, 1, -1], [3, 2, 4, 3, 2], 3, n_rows=40)
    rng = np.random.default_rng(0)
    codes = np.where(rng.random(model.codes.shape) < 0.5, model.cards, model.codes)
    one, many = network.marginals(codes), network.marginals(codes, n_threads=n_threads)
    assert np.array_equal(one.classes, many.classes)
    assert all(np.array_equal(a, b) for a, b in zip(one.features, many.features, strict=True))
    assert np.array_equal(network.query([2, 3], codes), network.query([2, 3], codes, n_threads=n_threads))
    assert np.array_equal(network.log_terms(codes), network.log_terms(codes, n_threads))
    assert np.array_equal(network.most_probable(codes)[0], network.most_probable(codes, n_threads=n_threads)[0])
    assert np.array_equal(network.log_likelihood(codes), network.log_likelihood(codes, n_threads=n_threads))


def test_no_rows():
    network, _ = random_network([-1, 0], [3, 2], 2)
    empty = np.empty((0, 2), np.int64)
    assert network.marginals(empty).features[0].shape == (0, 3)
    assert network.query([0, 1], empty).shape == (0, 3, 2)
    assert network.most_probable(empty)[0].shape == (0, 2)
    assert network.log_likelihood(empty).shape == (0,)


@pytest.mark.parametrize(
    ("codes", "classes", "message"),
    [
        ([[0, 3]], None, r"row 0, feature 1: code 3 is outside 0 to 2; .* 2 means unknown"),
        ([[0, 1], [-1, 0]], None, r"row 1, feature 0: code -1 is outside 0 to 3"),
        ([0, 1], None, r"codes must have shape \(N, 2\), .* got \(2,\)"),
        ([[0, 1, 1]], None, r"codes must have shape \(N, 2\)"),
        ([[0.0, 1.0]], None, "codes must hold integers, got float64"),
        (None, [2], "row 0: class number 2 is outside 0 to 1; -1 means unknown"),
        (None, 1, r"classes must have shape \(N,\)"),
        (None, ["a"], "classes must hold integers"),
        ([[0, 1]], [0, 1], "codes has 1 rows, but classes has 2"),
    ],
)
def test_wrong_evidence(codes, classes, message):
    network, _ = random_network([-1, 0], [3, 2], 2)
    for ask in (network.marginals, network.log_likelihood, network.most_probable):
        with pytest.raises(ValueError, match=message):
            ask(codes, classes)


@pytest.mark.parametrize("targets", [[], [0, 0], "class", [3], [-1], [True], ["klass"], [0.0]])
def test_wrong_targets(targets):
    network, _ = random_network([-1, 0, 1], [3, 2, 2], 2)
    with pytest.raises(ValueError, match="some of the features 0 to 2, 'class', or both"):
        network.query(targets)


def test_cyclic_network_is_refused():
    network, model = random_network([1, 0, -1], [2, 3, 2], 2)
    for ask in (
        network.marginals,
        network.log_likelihood,
        network.most_probable,
        network.entropy,
        network.mutual_information,
        lambda: network.query([0]),
        lambda: network.sample(3),
    ):
        with pytest.raises(ValueError, match=r"cycle \(features 0 -> 1 -> 0\).*not a joint distribution"):
            ask()
    total = network.log_prior + network.log_terms(model.codes).sum(axis=1)
    np.testing.assert_allclose(total, network.log_joint(model.codes), rtol=1e-6, atol=1e-6)


def test_marginals_and_joints_as_pyagrum_finds_them():
    """A forest of 24 features with 3 classes, in a program that knows nothing of this one."""
    gum = pytest.importorskip("pyagrum", reason="SECOND ORACLE SKIPPED: pip install 'tanager[exports]'")
    rng = np.random.default_rng(3)
    parents = [-1 if i in (0, 15) else int(rng.integers(0, i)) for i in range(24)]
    cards = rng.integers(2, 6, size=24).tolist()
    network, _ = random_network(parents, cards, 3, seed=4, spread=2.0)
    other = gum.BayesNet()
    other.add(gum.LabelizedVariable("class", "", 3))
    for i, card in enumerate(cards):
        other.add(gum.LabelizedVariable(f"x{i}", "", card))
    prior = np.exp(network.log_prior)
    other.cpt("class")[:] = prior / prior.sum()
    for i, parent in enumerate(parents):
        other.addArc("class", f"x{i}")
        if parent >= 0:
            other.addArc(f"x{parent}", f"x{i}")
        cpt = network.cpt(i) / network.cpt(i).sum(axis=1, keepdims=True)
        for c, j in itertools.product(range(3), range(len(cpt))):
            other.cpt(f"x{i}")[{"class": c} | ({f"x{parent}": j} if parent >= 0 else {})] = cpt[j, :, c]
    observed = {2: 1, 9: 0, 17: 1, 20: 0}
    codes = np.array([cards])
    codes[0, list(observed)] = list(observed.values())
    pairs = [(0, 23), (3, 4), (8, 16), (11, 12)]
    inference, of_pairs = gum.LazyPropagation(other), gum.LazyPropagation(other)
    for a, b in pairs:
        of_pairs.addJointTarget({f"x{a}", f"x{b}"})
    for asked in (inference, of_pairs):
        asked.setEvidence({f"x{i}": value for i, value in observed.items()})
        asked.makeInference()
    found = network.marginals(codes)
    np.testing.assert_allclose(found.classes[0], inference.posterior("class").toarray(), **CLOSE)
    for i in range(24):
        np.testing.assert_allclose(found.features[i][0], inference.posterior(f"x{i}").toarray(), **CLOSE)
    for a, b in pairs:
        joint = of_pairs.jointPosterior({f"x{a}", f"x{b}"})
        expected = [[joint[{f"x{a}": p, f"x{b}": q}] for q in range(cards[b])] for p in range(cards[a])]
        np.testing.assert_allclose(network.query([a, b], codes)[0], expected, **CLOSE)
    likelihood = np.log(inference.evidenceProbability())
    np.testing.assert_allclose(network.log_likelihood(codes), [likelihood], rtol=1e-5)
