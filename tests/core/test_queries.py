"""Exact answers of the core against the list of all states of a small network, and questions that it refuses."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tanager.structure import depth_first_order
from tests.core.test_messages import CODE_TYPES, NO_ORDER, misaligned, network_of, read_only
from tests.oracles import query_oracle
from tests.strategies import make_model, models

FORESTS = models(max_features=5, max_card=4, max_classes=4, max_rows=4, is_ordered=True, is_fixed=True)
# CPTs are kept in single precision, so they sum to one up to about 1e-7.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def states_of(model):
    return query_oracle.all_states(model.tables(), model.prior, model.parent, model.cards)


@st.composite
def questions(draw):
    """A model, observed codes and observed classes."""
    model = draw(FORESTS)
    is_hidden = draw(st.lists(st.booleans(), min_size=model.codes.size, max_size=model.codes.size))
    codes = np.where(np.reshape(is_hidden, model.codes.shape), model.cards, model.codes)
    classes = draw(st.lists(st.integers(-1, model.n_classes - 1), min_size=len(codes), max_size=len(codes)))
    return model, codes.astype(draw(st.sampled_from(CODE_TYPES))), np.array(classes)


def path_up(parents, feature):
    path = [feature]
    while parents[path[-1]] != -1:
        path.append(parents[path[-1]])
    return path


def paths_to_meeting(parents, a, b):
    first, second = path_up(parents, a), path_up(parents, b)
    common = [i for i in first if i in second]
    if common:
        first, second = (path[: path.index(common[0]) + 1] for path in (first, second))
    return np.array(first), np.array(second)


@given(questions())
@settings(max_examples=60)
def test_marginals(question):
    model, codes, classes = question
    states, forest = states_of(model), network_of(model).forest()
    of_classes, of_features = np.empty((len(codes), model.n_classes)), np.empty((len(codes), sum(model.cards)))
    core.fill_marginals(0, len(codes), forest, codes, classes, of_classes, of_features)
    for n, (row, label) in enumerate(zip(codes, classes, strict=True)):
        of = (row, label, model.cards, model.n_classes)
        np.testing.assert_allclose(of_classes[n], query_oracle.joint(states, ["class"], *of), **CLOSE)
        for i, probabilities in enumerate(np.split(of_features[n], np.cumsum(model.cards)[:-1])):
            np.testing.assert_allclose(probabilities, query_oracle.joint(states, [i], *of), **CLOSE)
            np.testing.assert_allclose(probabilities.sum(), 1.0, rtol=1e-12)


@given(questions())
@settings(max_examples=40)
def test_joint_of_every_feature_and_every_pair_with_the_class(question):
    model, codes, classes = question
    states, forest = states_of(model), network_of(model).forest()
    given_rows = (0, len(codes), forest, codes, classes)
    features = range(len(model.cards))
    for targets in [*itertools.product(features, repeat=1), *itertools.permutations(features, 2)]:
        found = np.empty((len(codes), *(model.cards[i] for i in targets), model.n_classes))
        if len(targets) == 1:
            core.fill_class_joint(*given_rows, *targets, found)
        else:
            core.fill_pair_joint(*given_rows, *paths_to_meeting(model.parent, *targets), found)
        for n, (row, label) in enumerate(zip(codes, classes, strict=True)):
            expected = query_oracle.joint(states, [*targets, "class"], row, label, model.cards, model.n_classes)
            np.testing.assert_allclose(found[n], expected, **CLOSE)


@given(questions())
@settings(max_examples=60)
def test_most_probable_completion(question):
    model, codes, classes = question
    states, forest = states_of(model), network_of(model).forest()
    full, labels = np.empty(codes.shape, np.int64), np.empty_like(classes)
    log_probability = np.empty(len(codes))
    core.complete_most_probably(0, len(codes), forest, codes, classes, full, labels, log_probability)
    is_known = codes < model.cards
    assert np.array_equal(full[is_known], codes[is_known])
    assert np.array_equal(labels[classes >= 0], classes[classes >= 0])
    for n in range(len(codes)):
        best = query_oracle.highest_probability(states, codes[n], classes[n], model.cards)
        own = query_oracle.evidence_probability(states, full[n], labels[n], model.cards)
        np.testing.assert_allclose([own, np.exp(log_probability[n])], best, **CLOSE)


def test_equal_values_are_completed_by_the_smallest():
    model = make_model([[-1], [0], [1], [1]], [3, 2, 4, 2], 3, seed=0)
    model.theta[:] = np.log(0.25)
    model.prior[:] = np.log(1 / 3)
    codes, classes = np.array([[3, 2, 4, 2], [3, 1, 4, 2]]), np.array([-1, -1])
    full, labels, log_probability = np.empty_like(codes), np.empty_like(classes), np.empty(2)
    core.complete_most_probably(0, 2, network_of(model).forest(), codes, classes, full, labels, log_probability)
    assert full.tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]
    assert labels.tolist() == [0, 0]


@given(questions(), st.booleans())
@settings(max_examples=40)
def test_a_draw_goes_by_the_running_sums_of_exact_probabilities(question, is_shared):
    """The class first, then each feature given all that was drawn or observed before it."""
    model, codes, classes = question
    if is_shared:
        codes, classes = codes[:1], classes[:1]
    states, forest = states_of(model), network_of(model).forest()
    n_draws = 3 if is_shared else len(codes)
    uniform = np.random.default_rng(0).random((n_draws, len(model.cards) + 1))
    drawn, labels = np.empty((n_draws, len(model.cards)), np.int64), np.empty(n_draws, np.int64)
    core.draw_completions(0, n_draws, forest, codes, classes, uniform, drawn, labels)
    for n in range(n_draws):
        row, label = codes[0 if is_shared else n].astype(np.int64), classes[0 if is_shared else n]
        check_draw(
            query_oracle.joint(states, ["class"], row, label, model.cards, model.n_classes), uniform[n, -1], labels[n]
        )
        for i in depth_first_order(model.parent):
            probabilities = query_oracle.joint(states, [i], row, labels[n], model.cards, model.n_classes)
            check_draw(probabilities, uniform[n, i], drawn[n, i])
            row[i] = drawn[n, i]


def check_draw(probabilities, uniform, drawn):
    running = np.concatenate([[0.0], np.cumsum(probabilities)])
    assert probabilities[drawn] > 0
    assert running[drawn] - 1e-5 <= uniform <= running[drawn + 1] + 1e-5


@pytest.mark.parametrize("uniform", [0.0, 1.0, -1.0, 2.0, np.nan, np.inf])
def test_no_value_of_probability_zero_is_drawn_whatever_the_uniform_number(uniform):
    model = make_model([[-1], [0]], [3, 3], 3, seed=0)
    model.theta[:] = np.log(1 / 3)
    model.theta[[0, 1, 2, 6, 7, 8]] = -np.inf  # values 0 and 2 of feature 0
    drawn, labels = np.empty((1, 2), np.int64), np.empty(1, np.int64)
    question = (np.array([[3, 3]]), np.array([2]), np.full((1, 3), uniform))
    core.draw_completions(0, 1, network_of(model).forest(), *question, drawn, labels)
    assert (drawn[0, 0], labels[0]) == (1, 2)
    assert 0 <= drawn[0, 1] < 3


@given(questions())
@settings(max_examples=30)
def test_terms_of_the_chain_rule(question):
    model, codes, _ = question
    states, forest = states_of(model), network_of(model).forest()
    terms = np.full((len(codes), len(model.cards), model.n_classes), 7.0)
    core.fill_chain_terms(0, len(codes), forest, codes, terms)
    log_joint = np.empty((len(codes), model.n_classes))
    core.marginal_log_joint(np.arange(len(codes)), forest, codes, log_joint)
    np.testing.assert_allclose(forest.prior + terms.sum(axis=1), log_joint, rtol=1e-12, atol=1e-12)
    for n, row in enumerate(codes):
        expected = query_oracle.chain_terms(states, forest.order, row, model.cards, model.n_classes)
        np.testing.assert_allclose(terms[n], expected, rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize(
    "parents", [[-1, 0, 1, 0], [-1, 0, 1, 0, 3], [-1, 0, 1, 2, 1], [4, 3, 0, -1, 3], [-1, 0, 1, -1, 3]]
)
def test_terms_of_every_pattern_of_unknown_values(parents):
    """Branches below an unknown feature are left one by one, which random forests of few features seldom show."""
    cards = [2, 3, 2, 3, 2][: len(parents)]
    model = make_model([[j] for j in parents], cards, 2, seed=8, n_rows=2 ** len(parents))
    states, forest = states_of(model), network_of(model).forest()
    codes = np.where(list(np.ndindex(*[2] * len(parents))), cards, model.codes)
    terms = np.empty((*codes.shape, 2))
    core.fill_chain_terms(0, len(codes), forest, codes, terms)
    for n, row in enumerate(codes):
        expected = query_oracle.chain_terms(states, forest.order, row, cards, 2)
        np.testing.assert_allclose(terms[n], expected, rtol=1e-5, atol=3e-6)


def test_without_an_order_terms_that_need_an_unknown_value_are_zero():
    model = make_model([[1], [0], [-1]], [2, 3, 2], 2, seed=0, n_rows=1)
    forest = network_of(model).forest()
    assert len(forest.order) == 0
    terms = np.full((1, 3, 2), 7.0)
    core.fill_chain_terms(0, 1, forest, np.array([[2, 1, 0]]), terms)
    assert np.all(terms[0, :2] == 0.0)
    np.testing.assert_allclose(terms[0, 2], model.tables()[2][0, 0], rtol=1e-6)


# Every query: ranges, and what the border refuses.


def questions_about_a_forest(n_rows=6, parents=(-1, 0, 1, 1, -1), n_classes=2):
    """Name, inputs and outputs of every query about the same rows, of which some values are unknown."""
    cards = [3, 2, 4, 3, 2][: len(parents)]
    model = make_model([[j] for j in parents], cards, n_classes, seed=1, n_rows=n_rows)
    rng = np.random.default_rng(0)
    codes = np.where(rng.random((n_rows, len(cards))) < 0.5, cards, model.codes)
    forest, classes = network_of(model).forest(), rng.integers(-1, n_classes, n_rows)
    uniform = rng.random((n_rows, len(cards) + 1))
    numbers, whole = (lambda *shape: np.full(shape, 7.0)), (lambda *shape: np.full(shape, 7))
    asked = [forest, codes, classes]
    return [
        ("fill_chain_terms", asked[:2], [numbers(*codes.shape, n_classes)]),
        ("fill_marginals", asked, [numbers(n_rows, n_classes), numbers(n_rows, sum(cards))]),
        ("fill_class_joint", [*asked, 2], [numbers(n_rows, 4, n_classes)]),
        ("fill_pair_joint", [*asked, np.array([2, 1]), np.array([3, 1])], [numbers(n_rows, 4, 3, n_classes)]),
        ("fill_pair_joint", [*asked, np.array([1, 0]), np.array([4])], [numbers(n_rows, 2, 2, n_classes)]),
        ("complete_most_probably", asked, [whole(*codes.shape), whole(n_rows), numbers(n_rows)]),
        ("draw_completions", [*asked, uniform], [whole(*codes.shape), whole(n_rows)]),
    ]


QUESTIONS = questions_about_a_forest()
EVERY_QUERY = pytest.mark.parametrize("k", range(len(QUESTIONS)), ids=[name for name, _, _ in QUESTIONS])


@EVERY_QUERY
def test_rows_do_not_depend_on_the_range_and_others_are_left(k):
    name, inputs, whole = questions_about_a_forest()[k]
    getattr(core, name)(0, 6, *inputs, *whole)
    _, _, part = questions_about_a_forest()[k]
    getattr(core, name)(2, 4, *inputs, *part)
    for a, b in zip(whole, part, strict=True):
        assert np.array_equal(a[2:4], b[2:4])
        assert np.all(b[:2] == 7)
        assert np.all(b[4:] == 7)


@EVERY_QUERY
@pytest.mark.parametrize(("lo", "hi"), [(-1, 3), (0, 7), (4, 3)])
def test_ranges_must_be_within_the_rows(k, lo, hi):
    name, inputs, outputs = questions_about_a_forest()[k]
    with pytest.raises(ValueError, match=f"the range {lo} to {hi} is not within 6"):
        getattr(core, name)(lo, hi, *inputs, *outputs)
    with pytest.raises(TypeError):
        getattr(core, name)(0.5, hi, *inputs, *outputs)


@EVERY_QUERY
@pytest.mark.parametrize("damage", [read_only, misaligned, lambda out: out[:5], lambda out: out.astype(np.float32)])
def test_outputs_must_fit(k, damage):
    name, inputs, outputs = questions_about_a_forest()[k]
    for position, output in enumerate(outputs):
        wrong = [*outputs]
        wrong[position] = damage(output)
        with pytest.raises(ValueError, match=r"written to|aligned|entries|shape|type"):
            getattr(core, name)(0, 6, *inputs, *wrong)
        wrong[position] = output[..., None]
        with pytest.raises(ValueError, match="dimension"):
            getattr(core, name)(0, 6, *inputs, *wrong)
    wrong[-1] = np.repeat(outputs[-1], 2, axis=-1)[..., ::2]
    with pytest.raises(ValueError, match="C-contiguous"):
        getattr(core, name)(0, 6, *inputs, *wrong)


@EVERY_QUERY
def test_codes_and_forest_must_fit(k):
    name, (forest, codes, *others), outputs = questions_about_a_forest()[k]
    ask = getattr(core, name)
    with pytest.raises(ValueError, match="codes must have 5 columns"):
        ask(0, 6, forest, codes[:, :4].copy(), *others, *outputs)
    with pytest.raises(ValueError, match=r"codes|classes|shape"):
        ask(0, 5, forest, codes[:5], *others, *outputs)
    with pytest.raises(ValueError, match="parents before"):
        ask(0, 6, forest._replace(order=np.array([1, 0, 2, 3, 4])), codes, *others, *outputs)
    if name == "fill_chain_terms":
        with pytest.raises(ValueError, match="order must be depth first"):
            ask(0, 6, forest._replace(order=np.array([0, 4, 1, 2, 3])), codes, *outputs)
    else:
        with pytest.raises(ValueError, match="order must have all features"):
            ask(0, 6, forest._replace(order=NO_ORDER), codes, *others, *outputs)


@pytest.mark.parametrize("k", range(1, len(QUESTIONS)), ids=[name for name, _, _ in QUESTIONS[1:]])
@pytest.mark.parametrize("label", [-2, 2])
def test_classes_must_be_in_range(k, label):
    name, (forest, codes, classes, *others), outputs = questions_about_a_forest()[k]
    classes[3] = label
    with pytest.raises(ValueError, match=f"classes holds {label}, which is outside -1 to 1"):
        getattr(core, name)(0, 6, forest, codes, classes, *others, *outputs)
    with pytest.raises(ValueError, match="classes has the wrong type"):
        getattr(core, name)(0, 6, forest, codes, classes.astype(np.int32), *others, *outputs)


@pytest.mark.parametrize("feature", [-1, 5])
def test_feature_must_be_one_of_the_forest(feature):
    name, inputs, outputs = QUESTIONS[2]
    with pytest.raises(ValueError, match="feature must be one of the features"):
        getattr(core, name)(0, 6, *inputs[:3], feature, *outputs)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([], [3, 1], "first_path must have at least one"),
        ([2, 0], [3, 1, 0], "first_path must lead from each feature to its parent"),
        ([2, 1, 0, 5], [3, 1, 0], "first_path holds 5"),
        ([2, 1], [3, -1], "second_path holds -1"),
        ([2, 1], [3, 1, 0], "must meet or end in roots"),
        ([1, 0], [3, 1, 0], "out has the wrong shape"),
    ],
)
def test_paths_must_follow_the_parents(first, second, message):
    name, inputs, outputs = QUESTIONS[3]
    with pytest.raises(ValueError, match=message):
        getattr(core, name)(0, 6, *inputs[:3], np.array(first, np.int64), np.array(second, np.int64), *outputs)


def test_draws_share_one_row_or_have_one_each():
    name, (forest, codes, classes, uniform), outputs = QUESTIONS[-1]
    for rows in (0, 2):
        with pytest.raises(ValueError, match="codes must have one row or as many as uniform"):
            getattr(core, name)(0, 6, forest, codes[:rows], classes[:rows], uniform, *outputs)
    with pytest.raises(ValueError, match="uniform has the wrong shape"):
        getattr(core, name)(0, 6, forest, codes, classes, uniform[:, :5].copy(), *outputs)


@EVERY_QUERY
def test_no_rows(k):
    name, inputs, outputs = questions_about_a_forest(n_rows=0)[k]
    getattr(core, name)(0, 0, *inputs, *outputs)
