"""What a regulariser may do: a sixth one, written here, takes each of the hooks; the five others keep the contract."""

import gc
from typing import Any

import numpy as np
import pytest

from tanager import GradientDescent, NaiveBayesStart
from tanager._types import Pull
from tanager.learning import Context, Rows
from tanager.learning.gradient_descent import strength_of
from tanager.model import make_layout
from tanager.structure import ParentSets
from tanager.training.regularisers import (
    FeatureCpts,
    Hooks,
    ParentDropout,
    Regulariser,
    Ridge,
    Run,
    Shrinkage,
    SizePenalty,
    Smoothness,
)

CARDS, N_CLASSES, N_ROWS = np.array([3, 2, 4]), 2, 120
SETS = ParentSets.from_lists([[-1], [-1, 0], [-1, 0, 1]], order=[0, 1, 2])
BUILT_IN = [ParentDropout, Shrinkage, Smoothness, Ridge, SizePenalty]
N_STEPS = 5 * (N_ROWS // 20)  # epochs times steps of an epoch


def a_context(**options):
    """Rows whose features depend on each other and on the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=N_ROWS)
    codes = rng.integers(0, CARDS, size=(N_ROWS, 3), dtype=np.uint8)
    codes[:, 1] = (codes[:, 0] + y) % 2
    codes[:, 2] = np.where(rng.random(N_ROWS) < 0.7, codes[:, 1] + 2 * y, codes[:, 2])
    return Context(Rows(codes, y, None, CARDS, N_CLASSES, n_ordered=CARDS), **options)


def learn(*regularisers, sets=SETS, forest=None, context=None, **options):
    """Train with these regularisers. There are more kinds of rows than a batch holds, so none are merged."""
    short = {"epochs": 5, "batch_size": 20, "structure_learning_rate": 0.1}
    parameters = GradientDescent(**{**short, **options}, regularisers=regularisers)
    layout = make_layout(sets, CARDS, N_CLASSES)
    (fitted,) = parameters.learn([layout], context or a_context(), 3, forest)
    return fitted


def log_cpts(fitted):
    return [np.log(fitted.network.cpt(i)) for i in range(3)]


def assert_same(fitted, expected):
    np.testing.assert_array_equal(fitted.distribution.phi, expected.distribution.phi)
    np.testing.assert_array_equal(fitted.network.theta, expected.network.theta)
    np.testing.assert_array_equal(fitted.network.log_prior, expected.network.log_prior)


class Sixth(Regulariser):
    """A regulariser of the user's: calls ``prepared`` for its hooks."""

    strength: float = 0.0
    prepared: Any = lambda run: Hooks()

    def prepare(self, run):
        return self.prepared(run)


class TestHooks:
    def test_those_that_are_not_taken_change_nothing(self):
        assert_same(learn(Sixth(1.0)), learn())

    def test_the_drawn_structure_can_be_changed(self):
        steps = []

        class Orphan(Hooks):
            """The last feature never has a parent, and its phi has no say."""

            def change_structure(self, step, tables, selected, soft):
                steps.append(step)
                selected[2] = tables.ptr[2]
                soft[tables.ptr[2] : tables.ptr[3]] = [1.0, 0.0, 0.0]

        plain, orphaned = learn(), learn(Sixth(1.0, lambda run: Orphan()))
        assert steps == list(range(N_STEPS))
        assert (plain.distribution.phi[3:] != 0).all()
        assert (orphaned.distribution.phi[3:] == 0).all()
        assert (orphaned.distribution.phi[1:3] != 0).all()
        assert plain.network.parents[2] >= 0
        assert orphaned.network.parents[2] == -1

    def test_drawn_cpts_can_be_moved(self):
        rates, drawn = [], []

        class Flatten(Hooks):
            """Takes drawn CPTs half of the way to no preference among values."""

            def move_cpts(self, theta, tables, selected, rate):
                rates.append(rate)
                drawn.append(selected)
                for e in selected:
                    theta[tables.offset[e] : tables.offset[e + 1]] *= 0.5

        flat = Sixth(1.0, lambda run: Flatten())
        plain, flattened = learn(), learn(flat)
        np.testing.assert_allclose(rates, np.repeat(np.geomspace(0.1, 1e-4, 5), N_STEPS // 5))
        assert len({tuple(selected) for selected in drawn}) > 2
        assert all((SETS.ptr[:-1] <= selected).all() and (selected < SETS.ptr[1:]).all() for selected in drawn)
        spread = [np.mean([np.ptp(cpt, axis=1).mean() for cpt in log_cpts(fitted)]) for fitted in (plain, flattened)]
        assert spread[1] < 0.5 * spread[0]
        assert_same(learn(flat, context=a_context(n_threads=3)), flattened)
        assert len(drawn) == 2 * N_STEPS
        np.testing.assert_array_equal(drawn[:N_STEPS], drawn[N_STEPS:])

    def test_cpts_can_be_pulled_by_a_term_of_the_loss(self):
        goal = np.log(np.array([[0.7, 0.1], [0.1, 0.2], [0.2, 0.7]], np.float32))

        class Goal(Hooks):
            def __init__(self, layout):
                goals = FeatureCpts.zeros(layout)
                goals.value[: goals.offset[1]] = goal.ravel()
                self.pull = Pull(*goals, 100.0)

        options = {"loss": "conditional", "epochs": 40}  # a loss whose gradient is small beside the pull
        plain, pulled = learn(**options), learn(Sixth(1.0, lambda run: Goal(run.layout)), **options)
        wanted = np.diff(goal, axis=1)  # only differences between the classes count
        distance = [np.abs(np.diff(log_cpts(fitted)[0][0], axis=1) - wanted).max() for fitted in (plain, pulled)]
        assert distance[0] > 0.5
        assert distance[1] < 0.1

    @pytest.mark.parametrize(("price", "has_parents"), [(-10.0, True), (10.0, False)])
    def test_the_gradient_of_phi_can_be_added_to(self, price, has_parents):
        seen = []

        class Price(Hooks):
            """The sum of phi of all candidates with a parent, times a price."""

            def __init__(self, layout):
                self.has_parent = layout.parent_sets.parents >= 0

            def add_phi_gradient(self, phi, gradient):
                seen.append(phi.copy())
                gradient[self.has_parent] += price

        fitted = learn(Sixth(price, lambda run: Price(run.layout)))
        assert len(seen) == N_STEPS
        assert not seen[0].any()
        assert (fitted.network.parents[1:] >= 0).tolist() == [has_parents] * 2
        # Adam moves phi by at most its learning rate in a step, and by all of it where the price is all that counts.
        np.testing.assert_allclose(np.abs(fitted.distribution.phi[[2, 4, 5]]), 0.1 * N_STEPS, rtol=0.05)


class Recording(Hooks):
    """Keeps the very arrays that it is given, also beyond the end of training."""

    def __init__(self):
        self.arrays = []

    def change_structure(self, step, tables, selected, soft):
        self.arrays += [selected, soft]

    def move_cpts(self, theta, tables, selected, rate):
        self.arrays += [theta, selected]

    def add_phi_gradient(self, phi, gradient):
        self.arrays += [phi, gradient]


def test_arrays_that_a_hook_keeps_outlive_training():
    recording = Recording()
    assert_same(learn(Sixth(1.0, lambda run: recording)), learn())
    gc.collect()
    assert len(recording.arrays) == 6 * N_STEPS
    for array in recording.arrays:
        assert np.isfinite(array).all()


def test_a_structure_changed_to_candidates_of_other_features_is_refused():
    class Wild(Hooks):
        def change_structure(self, step, tables, selected, soft):
            selected[0] = self.candidate

    for candidate in (-1, 1, 5, 6, 2**40):
        Wild.candidate = candidate
        with pytest.raises(ValueError, match="a regulariser has selected a candidate of another feature"):
            learn(Sixth(1.0, lambda run: Wild()))


@pytest.mark.parametrize("name", ["change_structure", "move_cpts", "add_phi_gradient"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_hook_is_raised(name, n_threads):
    class Tired(Hooks):
        n_calls = 0

    def fail(self, *arguments):
        self.n_calls += 1
        if self.n_calls == 5:
            raise KeyError("tired")

    setattr(Tired, name, fail)
    with pytest.raises(KeyError, match="tired"):
        learn(Sixth(1.0, lambda run: Tired()), context=a_context(n_threads=n_threads))
    assert_same(learn(context=a_context(n_threads=n_threads)), learn())


def pulling(run):
    hooks = Hooks()
    hooks.pull = Pull(*FeatureCpts.zeros(run.layout), 1.0)
    return hooks


class Seventh(Sixth):
    pass


@pytest.mark.parametrize("second", [Seventh(2.0, pulling), Ridge(1.0)], ids=["own", "built-in"])
def test_two_pulls_are_refused(second):
    learn(Sixth(1.0, pulling))
    with pytest.raises(ValueError, match="at most one regulariser of a run can pull the CPTs to a goal"):
        learn(Sixth(1.0, pulling), second)


@pytest.mark.parametrize(
    ("kind", "name", "option"),
    [
        (ParentDropout, "dropout", "parent_dropout"),
        (Shrinkage, "shrinkage", "shrinkage"),
        (Smoothness, "smoothness", "smoothness"),
        (SizePenalty, "size_cost", "size_penalty"),
    ],
)
def test_two_of_a_built_in_kind_are_refused(kind, name, option):
    message = f"{kind.__name__} is given twice"
    with pytest.raises(ValueError, match=message):
        GradientDescent(regularisers=(kind(0.1), kind(0.2)))
    with pytest.raises(ValueError, match=message):
        GradientDescent(regularisers=(kind(0.1),), **{option: 0.2})

    class Derived(kind):
        pass

    with pytest.raises(ValueError, match=f"at most one regulariser of a run can have the action '{name}'"):
        learn(kind(0.1), Derived(0.2))


class TestPreparing:
    def test_hooks_are_prepared_for_the_run(self):
        runs = []
        learn(Sixth(1.0, lambda run: runs.append(run) or Hooks()))
        (run,) = runs
        assert isinstance(run, Run)
        assert run.layout.parent_sets.to_lists() == SETS.to_lists()
        assert (run.problem.batch_size, run.noise.seed, run.start) == (20, 3, None)

    @pytest.mark.parametrize("forest", [None, "sample", "project"])
    def test_a_forest_that_is_trained_alone_is_a_second_run(self, forest):
        runs = []
        learn(Sixth(1.0, lambda run: runs.append(run) or Hooks()), forest=forest)
        assert len(runs) == (2 if forest == "project" else 1)

    @pytest.mark.parametrize(
        ("needs_parents", "pulls_to_start", "n_runs"), [(True, False, 1), (False, False, 2), (False, True, 1)]
    )
    def test_naive_bayes_to_start_from_keeps_what_it_can_use(self, needs_parents, pulls_to_start, n_runs):
        class Choosy(Sixth):
            pass

        Choosy.needs_parents, Choosy.pulls_to_start = needs_parents, pulls_to_start
        runs = []
        learn(Choosy(1.0, lambda run: runs.append(run) or Hooks()), start=NaiveBayesStart(0.0))
        assert len(runs) == n_runs
        assert runs[-1].layout.parent_sets.to_lists() == SETS.to_lists()
        assert runs[-1].start.value.shape == (CARDS.sum() * N_CLASSES,)
        np.testing.assert_array_equal(runs[-1].start.offset, [0, 6, 10, 18])
        if n_runs == 2:
            assert runs[0].start is None
            assert runs[0].layout.parent_sets.to_lists() == [[-1], [-1], [-1]]

    def test_the_layout_can_be_extended(self):
        class Wider(Sixth):
            def extend(self, layout, phi):
                wider, _ = ParentDropout().extend(layout, phi)
                return wider, np.where(wider.parent_sets.parents < 0, 1.0, 0.0)

        fixed = ParentSets.from_lists([[-1], [0], [1]])
        layouts = []
        wider = Wider(1.0, lambda run: layouts.append(run.layout) or Hooks())
        fitted = learn(wider, sets=fixed)
        assert layouts[0].parent_sets.to_lists() == [[-1], [-1, 0], [-1, 1]]
        assert fitted.distribution.parent_sets.to_lists() == layouts[0].parent_sets.to_lists()
        layout = make_layout(fixed, CARDS, N_CLASSES)
        with_wider, without = GradientDescent(regularisers=(wider,)), GradientDescent()
        assert with_wider.training_bytes(layout) > without.training_bytes(layout)

    def test_one_without_hooks_must_say_so(self):
        with pytest.raises(NotImplementedError):
            learn(Regulariser())


def test_the_learning_rate_may_be_limited():
    class Slow(Sixth):
        @property
        def largest_rate(self):
            return 0.05 * self.strength

    assert GradientDescent(learning_rate=0.1, regularisers=(Slow(2.0),)).learning_rate == 0.1
    with pytest.raises(ValueError, match=r"^Slow\(strength=1.5\) allows a learning_rate of at most 0.075, got 0.1"):
        GradientDescent(learning_rate=0.1, regularisers=(Slow(1.5),))


def test_one_line_makes_it_an_option():
    class WithSixth(GradientDescent):
        sixth: float = strength_of(Sixth)

    assert WithSixth().all_regularisers() == ()
    assert WithSixth(sixth=0.5, ridge=2.0).all_regularisers() == (Ridge(2.0), Sixth(0.5))
    assert repr(WithSixth(sixth=0.5)) == "WithSixth(sixth=0.5)"


class TestBuiltIn:
    @pytest.mark.parametrize("kind", BUILT_IN)
    def test_zero_strength_does_nothing(self, kind):
        assert_same(learn(kind(0.0)), learn())

    @pytest.mark.parametrize("kind", BUILT_IN)
    def test_strength_does_something(self, kind):
        found, expected = learn(kind(0.5)), learn()
        assert not np.array_equal(found.distribution.phi, expected.distribution.phi)

    @pytest.mark.parametrize("kind", BUILT_IN)
    def test_the_number_of_threads_does_not_matter(self, kind):
        assert_same(learn(kind(0.5), context=a_context(n_threads=3)), learn(kind(0.5)))

    @pytest.mark.parametrize("bad", [True, "0.1", None, -0.1, np.nan])
    @pytest.mark.parametrize("kind", BUILT_IN)
    def test_strength_is_a_number(self, kind, bad):
        with pytest.raises(ValueError, match=f"must be a finite number of at least 0.*got {bad!r}"):
            kind(bad)

    @pytest.mark.parametrize("kind", BUILT_IN)
    def test_they_are_values(self, kind):
        assert kind(0.5) == kind(0.5) != kind(0.25)
        assert hash(kind(0.5)) == hash(kind(0.5))
        assert repr(kind()) == f"{kind.__name__}()"
