"""Greedy and annealed searches: where they end, and that their scores are those of the structure."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager._threads import Crew
from tanager.learning import AnnealedSearch, ConditionalScore, Context, GreedySearch, MarginScore, Rows, Screened
from tanager.model import class_log_prior, cpt_log_frequencies, make_layout
from tanager.structure import ParentSets, find_cycle, fixed_parents, pseudo_candidates, screened_candidates
from tests.oracles import loss_oracle, model_oracle
from tests.strategies import SEEDS

SEARCHES = [
    GreedySearch("conditional", tolerance=0.0),
    GreedySearch("margin", tolerance=0.0),
    GreedySearch(MarginScore(gamma=3.0), lazy=False),
    GreedySearch("conditional", leave_one_out=True),
    AnnealedSearch(n_moves=400),
    AnnealedSearch("conditional", n_moves=400, leave_one_out=True),
    GreedySearch(smoothing=0.25, tolerance=0.0),
]


def make_rows(seed, n_features=5, n_classes=3, n_rows=80):
    """Rows in which some features depend on others within the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    codes = rng.integers(0, 3, (n_rows, n_features))
    codes[:, 1] = np.where(rng.random(n_rows) < 0.8, (codes[:, 0] + y) % 3, codes[:, 1])
    codes[:, 3] = np.where(rng.random(n_rows) < 0.8, (codes[:, 2] * y) % 3, codes[:, 3])
    return codes, y, np.ones(n_rows)


def score_of(search, parents, rows, n_classes=3):
    """Score of a structure from nothing; a row left out is taken from the counts one by one."""
    y = rows[1]
    if not search.leave_one_out:
        return row_scores(search, parents, rows, rows, n_classes).mean()
    log_joint = ml_log_joint(search, parents, rows, rows, n_classes)
    for n in range(len(y)):
        others = tuple(np.delete(part, n, axis=0) for part in rows)
        row = tuple(part[n : n + 1] for part in rows)
        alone = ml_log_joint(search, parents, others, row, n_classes, prior_rows=rows)
        log_joint[n, y[n]] = alone[0, y[n]]
    return scores_of_log_joint(search, log_joint, y).mean()


def ml_log_joint(search, parents, counted, scored, n_classes, prior_rows=None):
    layout = make_layout(ParentSets.from_lists([[j] for j in parents]), [3] * len(parents), n_classes)
    theta = cpt_log_frequencies(layout, *counted, search.smoothing)
    tables = [layout.cpt(theta, e) for e in range(len(parents))]
    _, y, weight = prior_rows or counted
    prior = class_log_prior(y, weight, n_classes, search.smoothing)
    features = np.arange(len(parents))
    return model_oracle.log_joint(tables, prior, features, parents, features, scored[0])


def row_scores(search, parents, counted, scored, n_classes):
    return scores_of_log_joint(search, ml_log_joint(search, parents, counted, scored, n_classes), scored[1])


def scores_of_log_joint(search, log_joint, y):
    score, out = search.resolved("score"), []
    for line, label in zip(log_joint, y, strict=True):
        if isinstance(score, MarginScore):
            out.append(min(score.gamma, line[label] - max(v for c, v in enumerate(line) if c != label)))
        else:
            out.append(line[label] - loss_oracle.log_sum_exp(line))
    return np.array(out)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@given(seed=SEEDS)
@settings(max_examples=4)
def test_the_result_is_a_forest_with_the_score_that_is_told(search, seed):
    rows = make_rows(seed)
    layout = make_layout(pseudo_candidates(5), [3] * 5, 3)
    found = search.run(layout, rows, np.random.default_rng(0))
    parents = layout.parent_sets.select(found.selected)
    assert find_cycle(parents) is None
    assert found.score == pytest.approx(score_of(search, parents, rows), abs=1e-4)
    assert found.score >= score_of(search, np.full(5, -1), rows) - 1e-5


@pytest.mark.parametrize(
    "search", [s for s in SEARCHES if isinstance(s, GreedySearch) and not s.leave_one_out], ids=repr
)
@given(seed=st.integers(0, 100))
@settings(max_examples=4)
def test_no_single_move_improves_a_greedy_result(search, seed):
    rows = make_rows(seed, n_features=4)
    layout = make_layout(pseudo_candidates(4), [3] * 4, 3)
    found = search.run(layout, rows, np.random.default_rng(0))
    parents = layout.parent_sets.select(found.selected)
    for i, j in product(range(4), range(-1, 4)):
        changed = parents.copy()
        changed[i] = j
        if i != j and find_cycle(changed) is None:
            assert score_of(search, changed, rows) <= found.score + 1e-4


@pytest.mark.parametrize("search", SEARCHES[:2] + SEARCHES[4:5], ids=repr)
def test_the_edges_that_tell_the_class_are_found(search):
    rows = make_rows(1, n_rows=600)
    layout = make_layout(pseudo_candidates(5), [3] * 5, 3)
    found = search.run(layout, rows, np.random.default_rng(0))
    parents = layout.parent_sets.select(found.selected)
    edges = {frozenset((i, int(j))) for i, j in enumerate(parents)}
    assert frozenset((0, 1)) in edges
    assert frozenset((2, 3)) in edges


def test_annealing_goes_by_its_generator_alone():
    rows = make_rows(2)
    layout = make_layout(pseudo_candidates(5), [3] * 5, 3)
    search = AnnealedSearch(n_moves=60, temperature=(5.0, 1.0))
    runs = [search.run(layout, rows, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert runs[0].score == runs[1].score != runs[2].score
    np.testing.assert_array_equal(runs[0].selected, runs[1].selected)


def test_threads_do_not_change_the_result():
    rows = make_rows(4)
    layout = make_layout(pseudo_candidates(5), [3] * 5, 3)
    with Crew(3) as crew:
        many = GreedySearch().run(layout, rows, np.random.default_rng(0), crew=crew)
    alone = GreedySearch().run(layout, rows, np.random.default_rng(0))
    np.testing.assert_array_equal(many.selected, alone.selected)
    assert many.score == alone.score


def test_limits_and_reports():
    rows = make_rows(3)
    layout = make_layout(pseudo_candidates(5), [3] * 5, 3)
    seen = []
    search = GreedySearch(max_moves=2, max_rows=40)
    found = search.run(layout, rows, np.random.default_rng(0), report=lambda *news: seen.append(news))
    assert found.n_moves == 2
    assert [n for n, _ in seen] == [1, 2]
    assert seen[0][1] < seen[1][1] == found.score


def test_a_lazy_search_ends_when_little_is_gained():
    rows = make_rows(3, n_rows=300)
    layout = make_layout(pseudo_candidates(5), [3] * 5, 3)
    patient, hasty = (
        GreedySearch("conditional", tolerance=share).run(layout, rows, np.random.default_rng(0))
        for share in (0.0, 0.99)
    )
    assert 0 < hasty.n_moves <= patient.n_moves
    assert hasty.score <= patient.score


def test_only_candidates_are_taken():
    rows = make_rows(3)
    sets = screened_candidates(np.random.default_rng(0).random((5, 5)), 1)
    for search in SEARCHES:
        found = search.run(make_layout(sets, [3] * 5, 3), rows, np.random.default_rng(0))
        for i, j in enumerate(sets.select(found.selected)):
            assert j in sets.candidates_of(i)


def a_context(seed=1, n_features=5, **options):
    codes, y, _ = make_rows(seed, n_features, n_rows=300)
    return Context(Rows(codes, y, None, np.full(n_features, 3), 3), **options)


@pytest.mark.parametrize("search", [GreedySearch(), AnnealedSearch(n_moves=300)], ids=repr)
def test_what_is_found_is_the_one_structure_left(search):
    context = a_context()
    space = search.space(context, np.random.default_rng(0))
    assert space.to_lists() == pseudo_candidates(5).to_lists()
    left = search.search(space, context, np.random.default_rng(0))
    layout = make_layout(space, [3] * 5, 3)
    found = search.run(layout, (context.rows.codes, context.rows.y, np.ones(300)), np.random.default_rng(0))
    assert search.is_fixed
    assert left.is_fixed
    assert left.parents.tolist() == space.select(found.selected).tolist()
    assert (left.parents >= 0).any()


def test_a_space_without_a_choice_is_not_searched():
    space = fixed_parents([-1, 0, 0, 1, 1])
    assert GreedySearch().search(space, a_context(), np.random.default_rng(0)) is space


def test_one_feature_has_no_candidates():
    rows = a_context().rows
    one = Context(rows._replace(codes=rows.codes[:, :1], cards=np.array([3])))
    assert GreedySearch().space(one, np.random.default_rng(0)).to_lists() == [[-1]]


def test_candidates_may_be_few():
    context = a_context()
    screened = GreedySearch(max_parents=2, candidates=Screened("margin")).space(context, np.random.default_rng(0))
    expected = screened_candidates(context.scores("margin"), 2)
    assert screened.to_lists() == expected.to_lists()
    drawn = AnnealedSearch(max_parents=2).space(context, np.random.default_rng(3))
    assert drawn.to_lists() == pseudo_candidates(5, 2, np.random.default_rng(3)).to_lists()
    assert all(len(candidates) == 3 for candidates in drawn.to_lists())


@pytest.mark.parametrize("search", [GreedySearch(), AnnealedSearch(n_moves=300)], ids=repr)
def test_verbose_searches_show_moves_and_score(search, capsys):
    space = pseudo_candidates(5)
    search.search(space, a_context(), np.random.default_rng(0))
    assert capsys.readouterr().err == ""
    search.search(space, a_context(verbose=1), np.random.default_rng(0))
    assert re.fullmatch(r"(\rmove \d+  score -?\d+(\.\d+)? )+\n", capsys.readouterr().err)


def test_words_stand_for_scores():
    rows = make_rows(2)
    layout = make_layout(pseudo_candidates(5), [3] * 5, 3)
    for word, value in (("conditional", ConditionalScore()), ("margin", MarginScore(1.0))):
        scores = {GreedySearch(score).run(layout, rows, np.random.default_rng(0)).score for score in (word, value)}
        assert len(scores) == 1
    assert GreedySearch().score == "conditional"
    assert AnnealedSearch().score == "margin"
    assert GreedySearch("margin").set_params(score__gamma=4.0) == GreedySearch(MarginScore(4.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GreedySearch("likelihood"), "score must be 'conditional' or 'margin', got 'likelihood'"),
        (lambda: GreedySearch("margins"), "score must be .*did you mean 'margin'"),
        (lambda: MarginScore(gamma=0.0), "gamma must be a finite number above 0, got 0.0"),
        (lambda: GreedySearch("margin").set_params(score__gamma=0.0), "gamma must be a finite number above 0"),
        (lambda: GreedySearch(max_moves=0), "max_moves must be a whole number of at least 1, got 0"),
        (lambda: GreedySearch(tolerance=-1.0), "tolerance must be a finite number of at least 0 and below 1, got -1.0"),
        (lambda: GreedySearch(tolerance=1.0), "tolerance must be a finite number of at least 0 and below 1, got 1.0"),
        (lambda: GreedySearch(lazy=1), "lazy must be True or False, got 1"),
        (lambda: GreedySearch(leave_one_out=None), "leave_one_out must be True or False, got None"),
        (lambda: GreedySearch(smoothing=0.0), "smoothing must be a finite number above 0, got 0.0"),
        (lambda: AnnealedSearch(smoothing=np.nan), "smoothing must be a finite number above 0, got nan"),
        (lambda: GreedySearch(max_parents=0), "max_parents must be a whole number of at least 1, got 0"),
        (lambda: GreedySearch(max_parents=3, candidates="best"), "candidates must be 'random', 'screened' or 'mixed'"),
        (lambda: AnnealedSearch(candidates="mixed"), "candidates='mixed' has no effect with max_parents=None"),
        (lambda: AnnealedSearch(n_moves=2.5), "n_moves must be a whole number of at least 1, got 2.5"),
        (lambda: AnnealedSearch(max_rows=-1), "max_rows must be a whole number of at least 1, got -1"),
        (lambda: AnnealedSearch(temperature=(1.0, 0.0)), "temperature must be a pair of finite numbers above 0, got"),
        (lambda: AnnealedSearch(temperature=1.0), "temperature must be a pair of finite numbers above 0, got 1.0"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_an_option_of_the_other_search_is_refused():
    with pytest.raises(TypeError, match=r"^GreedySearch has no option 'n_moves'; did you mean 'max_moves'"):
        GreedySearch(n_moves=5)
    with pytest.raises(TypeError, match=r"^AnnealedSearch has no option 'lazy'"):
        AnnealedSearch(lazy=True)
