"""Scores of structures with one parent changed, against the log-joint of the oracle summed from nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import core
from tanager.model.moves import Annealing, Score, Terms
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
    """What the core takes, for a model of the strategies."""
    layout = model.layout
    columns = np.zeros((len(model.cards) + 1, len(model.y)), np.int32)
    columns[:-1] = model.codes.T
    weight = model.weight.astype(np.float64)
    return Terms(model.arena(), model.arena(), columns, model.y, weight / weight.sum(), model.n_classes), layout.cpts


def summed(model, terms, cpts, selected):
    log_joint = core.empty_log_joint(model.prior, len(model.y))
    for slot, candidate in enumerate(selected):
        core.add_terms(slot, candidate, 1.0, terms, cpts, log_joint)
    return log_joint


@given(models(), st.sampled_from(SCORES))
@settings(max_examples=60)
def test_scores_of_all_moves_equal_the_oracle(model, score):
    if model.n_classes == 1 and score.gamma > 1.0:
        return  # a single class has no margin but the cut-off
    terms, cpts = prepare(model)
    selected, _ = model.sample()
    log_joint = summed(model, terms, cpts, selected)
    np.testing.assert_allclose(log_joint[:, : model.n_classes], model.log_joint(selected), atol=2e-5)
    scores = np.full(len(model.phi), np.nan)
    core.move_scores(0, len(selected), terms, cpts, selected, log_joint, score, scores)
    for i in range(len(selected)):
        for e in range(cpts.ptr[i], cpts.ptr[i + 1]):
            changed = selected.copy()
            changed[i] = e
            expected = score_by_rows(model.log_joint(changed), model.y, model.weight, score)
            assert scores[e] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("score", SCORES[:2])
@pytest.mark.parametrize("n_classes", [2, 3, 7, 11, 16, 26, 50, 1100])
def test_rows_go_by_blocks_and_classes_by_lanes(n_classes, score):
    model = make_model([[-1], [-1, 0]], [3, 2], n_classes, seed=3, n_rows=600 if n_classes < 1000 else 3)
    terms, cpts = prepare(model)
    selected, scores = np.array([0, 1]), np.empty(3)
    log_joint = summed(model, terms, cpts, selected)
    core.move_scores(0, 2, terms, cpts, selected, log_joint, score, scores)
    expected = score_by_rows(model.log_joint([0, 2]), model.y, model.weight, score)
    assert scores[2] == pytest.approx(expected, abs=1e-5)


def test_one_score_equals_that_of_all():
    model = make_model([[-1], [-1, 0]], [3, 2], 4, seed=3)
    terms, cpts = prepare(model)
    selected, scores = np.array([0, 1]), np.full(3, np.nan)
    log_joint = summed(model, terms, cpts, selected)
    core.move_scores(1, 2, terms, cpts, selected, log_joint, SCORES[0], scores)
    assert np.isnan(scores).tolist() == [True, False, False]
    base = log_joint.copy()
    core.add_terms(1, 1, -1.0, terms, cpts, base)
    assert [core.candidate_score(1, e, terms, cpts, base, SCORES[0]) for e in (1, 2)] == scores[1:].tolist()


def test_the_own_class_reads_cpts_of_its_own():
    model = make_model([[-1], [-1, 0]], [3, 2], 4, seed=5)
    terms, cpts = prepare(model)
    own = terms._replace(own=terms.theta - np.float32(0.5))
    log_joint = summed(model, own, cpts, [0, 2])
    plain = summed(model, terms, cpts, [0, 2])
    lower = np.zeros_like(plain)
    lower[np.arange(len(model.y)), model.y] = 2 * 0.5  # once for each feature
    np.testing.assert_allclose(log_joint, plain - lower, atol=1e-5)
    scores = np.empty(3)
    core.move_scores(0, 2, own, cpts, np.array([0, 2]), log_joint, SCORES[2], scores)
    expected = score_by_rows((plain - lower)[:, :4].astype(float), model.y, model.weight, SCORES[2])
    assert scores[2] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("code", [3, 2**31 - 1, -1, -(2**31)])
def test_unknown_values_add_nothing(code):
    model = make_model([[-1], [-1, 0]], [3, 2], 4, seed=5)
    model.codes[:, 0] = code
    terms, cpts = prepare(model)
    np.testing.assert_allclose(summed(model, terms, cpts, [0, 2])[:, :4], np.tile(model.prior, (9, 1)))


@pytest.mark.parametrize(
    ("feature", "ancestor", "expected"), [(3, 0, True), (0, 3, False), (2, 2, True), (4, 0, False)]
)
def test_descent(feature, ancestor, expected):
    parent = np.array([4, 0, 0, 1])  # 3 under 1 under 0; 2 under 0; 4 is no parent
    assert core.descends_from(feature, ancestor, parent, np.arange(4)) == expected


def test_the_way_up_ends_in_a_circle_too():
    assert not core.descends_from(0, 2, np.array([1, 0, 3]), np.arange(3))
    assert core.descends_from(0, 1, np.array([1, 0, 3]), np.arange(3))


@given(models(), st.sampled_from([0.5, 1.0]), st.sampled_from([0.0, 1.0, 3.0]), SEEDS)
@settings(max_examples=30)
def test_log_frequencies(model, smoothing, deducted, seed):
    cpts, size = model.layout.cpts, model.layout.size
    counts = np.random.default_rng(seed).integers(0, 5, size).astype(float)
    theta = np.full(size + 3, np.float32(7.0))
    core.log_frequencies(0, len(model.cards), counts, cpts, model.n_classes, smoothing, deducted, theta)
    for found, of_counts in zip(model.split(theta), model.split(counts), strict=True):
        card = of_counts.shape[1]
        for (x_parent, x, c), count in np.ndenumerate(of_counts):
            less = min(count, deducted)
            total = of_counts[x_parent, :, c].sum() + smoothing * card - less
            assert found[x_parent, x, c] == pytest.approx(np.log((count - less + smoothing) / total), abs=1e-6)
    assert (theta[size:] == 7.0).all()


def test_log_frequencies_fill_only_their_slots():
    model = make_model([[-1], [-1, 0], [-1]], [3, 2, 2], 4, seed=5)
    cpts, theta = model.layout.cpts, np.full(model.layout.size, np.float32(7.0))
    core.log_frequencies(1, 2, np.ones(model.layout.size), cpts, 4, 1.0, 0.0, theta)
    start, stop = cpts.offset[cpts.ptr[1]], cpts.offset[cpts.ptr[2]]
    np.testing.assert_allclose(theta[start:stop], np.log(0.5), rtol=1e-6)
    assert (theta[:start] == 7.0).all()
    assert (theta[stop:] == 7.0).all()


def annealing_problem(seed):
    lists = [[-1, *(j for j in range(4) if j != i)] for i in range(4)]
    model = make_model(lists, [3, 2, 4, 2], 3, seed=seed % 1000, n_rows=30)
    return model, *prepare(model)


@given(SEEDS)
@settings(max_examples=20)
def test_annealing_keeps_a_forest_its_log_joint_and_the_best(seed):
    rng = np.random.default_rng(seed)
    model, terms, cpts = annealing_problem(seed)
    score = SCORES[1]
    selected = cpts.ptr[:-1].copy()
    log_joint = summed(model, terms, cpts, selected)
    start = score_by_rows(model.log_joint(selected), model.y, model.weight, score)
    best, scores = selected.copy(), np.full(2, start)
    candidate = rng.integers(0, 16, 60)
    moves = Annealing(candidate // 4, candidate, np.log(rng.random(60)) * 0.1)
    core.anneal(moves, terms, cpts, selected, log_joint, score, best, scores)
    for structure, value in ((selected, scores[0]), (best, scores[1])):
        assert find_cycle(model.parent_sets.select(structure)) is None
        assert value == pytest.approx(score_by_rows(model.log_joint(structure), model.y, model.weight, score), abs=1e-4)
    np.testing.assert_allclose(log_joint[:, :3], model.log_joint(selected), atol=1e-4)
    assert scores[1] >= max(start, scores[0]) - 1e-9


def read_only(array):
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def misaligned(array):
    moved = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def strided(array):
    return np.repeat(array, 2, axis=-1)[..., ::2]


def other_type(array):
    return np.zeros(array.shape, np.int16)


NAMES = {
    "log_frequencies": ["lo", "hi", "counts", "cpts", "n_classes", "smoothing", "deducted", "theta"],
    "add_terms": ["slot", "candidate", "sign", "terms", "cpts", "log_joint"],
    "candidate_score": ["slot", "candidate", "terms", "cpts", "base", "score"],
    "move_scores": ["lo", "hi", "terms", "cpts", "selected", "log_joint", "score", "scores"],
    "anneal": ["moves", "terms", "cpts", "selected", "log_joint", "score", "best", "scores"],
}
WITH_TERMS = pytest.mark.parametrize("name", ["add_terms", "candidate_score", "move_scores", "anneal"])


class Call:
    """A right call of a function of the core, whose arguments can be made wrong by name."""

    def __init__(self, name):
        self.name = name
        model, self.terms, self.cpts = annealing_problem(1)
        selected = self.cpts.ptr[:-1].copy()
        log_joint = summed(model, self.terms, self.cpts, selected)
        self.arguments = {
            "lo": 0,
            "hi": 4,
            "slot": 1,
            "candidate": 5,
            "sign": 1.0,
            "terms": self.terms,
            "cpts": self.cpts,
            "moves": Annealing(np.array([1]), np.array([5]), np.array([-1.0])),
            "selected": selected,
            "log_joint": log_joint,
            "base": log_joint.copy(),
            "score": SCORES[0],
            "best": selected.copy(),
            "scores": np.zeros(2 if name == "anneal" else 16),
            "counts": np.ones(model.layout.size),
            "n_classes": 3,
            "smoothing": 1.0,
            "deducted": 0.0,
            "theta": np.zeros(model.layout.size, np.float32),
        }

    def run(self, **wrong):
        arguments = {**self.arguments, **wrong}
        return getattr(core, self.name)(**{key: arguments[key] for key in NAMES[self.name]})


@pytest.mark.parametrize("name", NAMES)
def test_right_calls_are_not_refused(name):
    Call(name).run()


OUTPUTS = [
    ("log_frequencies", "theta"),
    ("add_terms", "log_joint"),
    ("move_scores", "scores"),
    ("anneal", "selected"),
    ("anneal", "log_joint"),
    ("anneal", "best"),
    ("anneal", "scores"),
]


@pytest.mark.parametrize(("name", "output"), OUTPUTS)
@pytest.mark.parametrize(
    "damage",
    [read_only, misaligned, strided, other_type, lambda out: out[:1], lambda out: out[..., None]],
)
def test_outputs_must_fit(name, output, damage):
    call = Call(name)
    with pytest.raises(ValueError, match=f"{output} .*(written to|aligned|contiguous|entries|shape|type|dimension)"):
        call.run(**{output: damage(call.arguments[output])})


@WITH_TERMS
@pytest.mark.parametrize("field", ["theta", "own", "columns", "y", "weight"])
@pytest.mark.parametrize("damage", [misaligned, strided, other_type, lambda array: array[..., None], list])
def test_terms_must_fit(name, field, damage):
    call = Call(name)
    with pytest.raises(ValueError, match=f"{field} (must|has)"):
        call.run(terms=call.terms._replace(**{field: damage(getattr(call.terms, field))}))


@WITH_TERMS
def test_sizes_of_terms_must_fit(name):
    call = Call(name)
    terms = call.terms
    for fields, message in [
        ({"theta": terms.theta[:-1], "own": terms.own[:-1]}, "theta must end in a line of zeros"),
        ({"own": terms.own[:-1]}, "own must have as many entries as theta"),
        ({"columns": terms.columns[:-1]}, "columns has the wrong shape"),
        ({"columns": terms.columns[:, :-1].copy()}, "y must have 29 entries"),
        ({"weight": terms.weight[:-1]}, "weight must have 30 entries"),
        ({"y": terms.y + 1}, "y holds 3, which is outside 0 to 2"),
        ({"y": terms.y - 1}, "y holds -1"),
        ({"n_classes": 0}, "n_classes"),
        ({"n_classes": 2**63 - 1}, "n_classes"),
        ({"n_classes": 2**64}, "n_classes"),
        ({"n_classes": "3"}, "n_classes"),
        ({"n_classes": 4}, "offset"),
    ]:
        with pytest.raises(ValueError, match=message):
            call.run(terms=terms._replace(**fields))
    with pytest.raises(ValueError, match="terms must have 6 fields"):
        call.run(terms=terms[:5])
    with pytest.raises(ValueError, match="terms must be a tuple"):
        call.run(terms=[*terms])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("child", "child"),
        ("ptr", "ptr|candidate"),
        ("parent", "parent"),
        ("offset", "offset|theta must end"),
        ("cards", "cards|offset"),
    ],
)
def test_cpts_must_fit(name, field, message):
    call = Call(name)
    values = getattr(call.cpts, field)
    for wrong in (np.full_like(values, -1), np.full_like(values, 10**9), np.full_like(values, 2**62)):
        with pytest.raises(ValueError, match=message):
            call.run(cpts=call.cpts._replace(**{field: wrong}))
    for wrong in (values.astype(np.int32), values[:, None], misaligned(values), strided(values)):
        with pytest.raises(ValueError, match=f"{field} (has|must)"):
            call.run(cpts=call.cpts._replace(**{field: wrong}))
    with pytest.raises(ValueError, match=r"fit|shape|holds"):
        call.run(cpts=call.cpts._replace(**{field: values[:-1]}))
    with pytest.raises(ValueError, match="cpts must have 5 fields"):
        call.run(cpts=call.cpts[:4])


@pytest.mark.parametrize("name", ["add_terms", "candidate_score"])
@pytest.mark.parametrize(
    ("slot", "candidate"), [(-1, 5), (4, 5), (0, 5), (1, 3), (1, 8), (1, -1), (3, 16), (2**62, 5), (1, -(2**63))]
)
def test_candidates_must_be_of_their_slot(name, slot, candidate):
    with pytest.raises(ValueError, match=r"slot must be one of the slots|candidate -?\d+ is not one of slot"):
        Call(name).run(slot=slot, candidate=candidate)


@pytest.mark.parametrize("name", ["move_scores", "anneal"])
@pytest.mark.parametrize("candidate", [-1, 3, 8, 10**9])
def test_selected_candidates_must_be_of_their_slots(name, candidate):
    with pytest.raises(ValueError, match=f"selected holds {candidate}, which is not a candidate of slot 1"):
        Call(name).run(selected=np.array([0, candidate, 8, 12]))


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        (Annealing(np.array([4]), np.array([5]), np.zeros(1)), "slot must be one of the slots"),
        (Annealing(np.array([0]), np.array([5]), np.zeros(1)), "candidate 5 is not one of slot 0"),
        (Annealing(np.array([1]), np.array([5, 6]), np.zeros(1)), "candidate must have 1 entries"),
        (Annealing(np.array([1]), np.array([5]), np.zeros(2)), "threshold must have 1 entries"),
        ((np.array([1]), np.array([5])), "moves must have 3 fields"),
    ],
)
def test_moves_must_be_of_the_space(moves, message):
    with pytest.raises(ValueError, match=message):
        Call("anneal").run(moves=moves)


@pytest.mark.parametrize("name", ["log_frequencies", "move_scores"])
@pytest.mark.parametrize(("lo", "hi"), [(-1, 3), (0, 5), (3, 2)])
def test_ranges_must_be_within_the_slots(name, lo, hi):
    with pytest.raises(ValueError, match=f"the range {lo} to {hi} is not within 4"):
        Call(name).run(lo=lo, hi=hi)


def test_scores_and_log_joint_must_fit():
    call = Call("candidate_score")
    for wrong in ((1,), ("no", 1.0), (True, "much"), [True, 1.0]):
        with pytest.raises(ValueError, match=r"score|is_margin|gamma"):
            call.run(score=wrong)
    with pytest.raises(ValueError, match="base has the wrong shape"):
        call.run(base=call.arguments["base"][:, :3].copy())


def test_frequencies_must_fit():
    call = Call("log_frequencies")
    with pytest.raises(ValueError, match="counts must have"):
        call.run(counts=np.ones(3))
    for n_classes in (0, -1, 4, 2**62):
        with pytest.raises(ValueError, match=r"n_classes|offset"):
            call.run(n_classes=n_classes)


@pytest.mark.parametrize(
    ("prior", "n_rows", "message"),
    [
        (np.zeros(0, np.float32), 3, "prior must have at least one class"),
        (np.zeros(2), 3, "prior has the wrong type"),
        (np.zeros(2, np.float32), -1, "n_rows must be"),
        (np.zeros(2, np.float32), 2**62, "n_rows must be"),
    ],
)
def test_priors_must_fit(prior, n_rows, message):
    with pytest.raises(ValueError, match=message):
        core.empty_log_joint(prior, n_rows)


@pytest.mark.parametrize(
    ("feature", "parent", "selected", "message"),
    [
        (-1, [4, 0], [0, 1], "feature must not be negative"),
        (0, [4, 0], [0, 2], "selected holds 2"),
        (0, [4, 0], [0, -1], "selected holds -1"),
        (0, [-3, 0], [0, 1], "parent must not be negative"),
    ],
)
def test_ways_up_must_be_within_the_structure(feature, parent, selected, message):
    with pytest.raises(ValueError, match=message):
        core.descends_from(feature, 1, np.array(parent), np.array(selected))
