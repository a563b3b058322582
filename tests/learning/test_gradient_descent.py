"""Gradient descent as a value: checks of every option, lengths of training, and what learning depends on."""

import math
from dataclasses import FrozenInstanceError
from dataclasses import fields as dataclass_fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager import GradientDescent, Hybrid, Margin, NaiveBayesStart
from tanager._options import NotKept
from tanager.learning import RandomStart
from tanager.losses import ConditionalLikelihood, NegativeLogLikelihood
from tanager.structure import ParentSets, all_candidates, find_cycle, fixed_parents, naive_bayes, pseudo_candidates
from tanager.training import TrainingSettings
from tanager.training.regularisers import Hooks, ParentDropout, Regulariser, Ridge, Shrinkage, SizePenalty, Smoothness
from tests.learning.small_rows import a_context, bits, lay_out, learn

NO_RATES = [0.0, -0.1, math.nan, math.inf, -math.inf, True, "0.1", None]
NO_STRENGTHS = [-0.1, math.nan, math.inf, True, "0.1", None]
SHORT = GradientDescent(epochs=6, batch_size=30, structure_learning_rate=0.1)
EVERYTHING = {"parent_dropout": 0.2, "shrinkage": 0.1, "smoothness": 0.1, "ridge": 0.5, "size_penalty": 0.2}


class TestOptionsOfGradientDescent:
    def test_defaults_are_those_of_training(self):
        own, settings = GradientDescent().get_params(deep=False), TrainingSettings()
        shared = [each.name for each in dataclass_fields(settings) if each.name in own]
        assert {"learning_rate", "structure_learning_rate", "tau", "optimiser", "regularisers"} <= set(shared)
        for name in set(shared) - {"epochs", "batch_size"}:
            assert own[name] == getattr(settings, name), name
        assert own["epochs"] == own["batch_size"] == "auto"
        assert own["loss"] == "hybrid"

    @pytest.mark.parametrize("bad", [0, -1, 2.5, 3.0, math.nan, math.inf, -math.inf, "3", "Auto", None, True])
    @pytest.mark.parametrize("option", ["epochs", "batch_size"])
    def test_counts(self, option, bad):
        with pytest.raises(ValueError, match=rf"^{option} must be a whole number of at least 1, got {bad!r}"):
            GradientDescent(**{option: bad})

    @pytest.mark.parametrize("bad", NO_RATES)
    @pytest.mark.parametrize("option", ["learning_rate", "learning_rate_decay", "structure_learning_rate"])
    def test_rates(self, option, bad):
        with pytest.raises(ValueError, match=rf"^{option} must be a finite number above 0, got {bad!r}"):
            GradientDescent(**{option: bad})

    @pytest.mark.parametrize("bad", NO_RATES)
    @pytest.mark.parametrize("end", [0, 1])
    def test_temperatures(self, end, bad):
        tau = (bad, 0.1) if end == 0 else (10.0, bad)
        with pytest.raises(ValueError, match=r"^tau must be a pair of finite numbers above 0, got \(") as caught:
            GradientDescent(tau=tau)
        assert repr(bad) in str(caught.value)

    @pytest.mark.parametrize("bad", [3.0, (1.0,), (1.0, 2.0, 3.0), "ab", None])
    def test_temperatures_are_a_pair(self, bad):
        with pytest.raises(ValueError, match=r"^tau must be a pair of finite numbers above 0, got "):
            GradientDescent(tau=bad)

    @pytest.mark.parametrize("bad", ["sparse", None, True])
    def test_optimiser(self, bad):
        with pytest.raises(ValueError, match=rf"^optimiser must be 'selected' or 'dense', got {bad!r}"):
            GradientDescent(optimiser=bad)

    @pytest.mark.parametrize("bad", NO_STRENGTHS)
    @pytest.mark.parametrize("option", ["shrinkage", "smoothness", "ridge", "size_penalty"])
    def test_strengths(self, option, bad):
        with pytest.raises(ValueError, match=rf"^{option} must be a finite number of at least 0, got {bad!r}"):
            GradientDescent(**{option: bad})

    @pytest.mark.parametrize("bad", [*NO_STRENGTHS, 1.0])
    def test_parent_dropout(self, bad):
        message = rf"^parent_dropout must be a finite number of at least 0 and below 1, got {bad!r}"
        with pytest.raises(ValueError, match=message):
            GradientDescent(parent_dropout=bad)

    @pytest.mark.parametrize(("option", "most"), [("shrinkage", 10.0), ("smoothness", 2.0)])
    def test_strength_and_learning_rate_limit_each_other(self, option, most):
        assert getattr(GradientDescent(**{option: most}, learning_rate=0.1), option) == most
        kind = option.capitalize()
        with pytest.raises(
            ValueError, match=rf"^{kind}\(strength={2 * most}\) allows a learning_rate of at most 0.05,"
        ):
            GradientDescent(**{option: 2 * most}, learning_rate=0.1)
        with pytest.raises(ValueError, match=r", got 0.2: lower one of the two"):
            GradientDescent(**{option: most}).set_params(learning_rate=0.2)

    @pytest.mark.parametrize("bad", [None, 3, Hybrid, Margin, [Hybrid()]])
    def test_loss(self, bad):
        words = "'hybrid', 'nll', 'margin', 'conditional' or a value such as .* or a function, got "
        message = rf"^loss must be ({words}|a value, got the class itself)"
        with pytest.raises(ValueError, match=message):
            GradientDescent(bad)

    def test_a_loss_of_two_arguments_is_refused_at_once(self):
        with pytest.raises(
            ValueError, match=r"loss\(log_joint, y, sample_weight\), but this one takes \(log_joint, y\);"
        ):
            GradientDescent(loss=lambda log_joint, y: (0.0, log_joint))

    @pytest.mark.parametrize("loss", [Hybrid(lam=3.0), "margin", lambda log_joint, y, weight: None, NotKept("mine")])
    def test_losses_of_any_kind_are_taken(self, loss):
        assert GradientDescent(loss).loss == loss

    @pytest.mark.parametrize(
        ("option", "word", "message"),
        [
            ("loss", "hybird", "loss must be .*, got 'hybird'; did you mean 'hybrid'"),
            ("loss", "auto", "loss must be 'hybrid', 'nll', 'margin' or 'conditional', got 'auto'"),
            ("start", "naive", "start must be 'random' or 'naive-bayes', got 'naive'; did you mean 'naive-bayes'"),
        ],
    )
    def test_mistyped_words(self, option, word, message):
        with pytest.raises(ValueError, match=f"^{message}"):
            GradientDescent(**{option: word})

    def test_an_unknown_option_is_answered_by_a_close_one(self):
        with pytest.raises(TypeError, match=r"^GradientDescent has no option 'learningrate'; did you mean 'learning_"):
            GradientDescent(learningrate=0.2)

    def test_integers_of_numpy_will_do(self):
        assert GradientDescent(epochs=np.int64(3), batch_size=np.uint8(7)) == GradientDescent(epochs=3, batch_size=7)
        assert np.isfinite(learn(GradientDescent(epochs=np.int64(1), batch_size=np.uint8(70))).network.theta).all()

    def test_options_do_not_change(self):
        with pytest.raises(FrozenInstanceError):
            GradientDescent().epochs = 3

    def test_changed_copies_may_name_nested_options(self):
        first = GradientDescent("margin", start="naive-bayes")
        second = first.set_params(loss__gamma=5.0, start__ridge=0.5, epochs=3)
        assert first == GradientDescent("margin", start="naive-bayes")
        assert second == GradientDescent(Margin(gamma=5.0), epochs=3, start=NaiveBayesStart(0.5))
        assert second.get_params()["loss__gamma"] == 5.0
        assert repr(second) == "GradientDescent(loss=Margin(gamma=5.0), epochs=3, start=NaiveBayesStart(ridge=0.5))"
        with pytest.raises(ValueError, match=r"^loss=<function .* has no option 'gamma': set loss to a value that has"):
            GradientDescent(lambda log_joint, y, weight: None).set_params(loss__gamma=2.0)


class TestRegularisers:
    def test_none_are_in_force_by_default(self):
        assert GradientDescent().all_regularisers() == ()
        assert GradientDescent(ridge=0, parent_dropout=0.0).all_regularisers() == ()

    def test_each_option_stands_for_one(self):
        expected = (ParentDropout(0.2), Shrinkage(0.1), Smoothness(0.1), Ridge(0.5), SizePenalty(0.2))
        assert GradientDescent(**EVERYTHING).all_regularisers() == expected

    def test_those_given_follow_those_of_options(self):
        parameters = GradientDescent(ridge=2.0, smoothness=0.5, regularisers=(Shrinkage(0.1), SizePenalty(1.0)))
        assert parameters.all_regularisers() == (Smoothness(0.5), Ridge(2.0), Shrinkage(0.1), SizePenalty(1.0))

    def test_one_that_is_given_does_what_the_option_does(self):
        for option, strength in EVERYTHING.items():
            (regulariser,) = GradientDescent(**{option: strength}).all_regularisers()
            named, given_ = SHORT.set_params(**{option: strength}), SHORT.set_params(regularisers=(regulariser,))
            assert bits(learn(named)) == bits(learn(given_)) != bits(learn(SHORT)), option

    def test_those_given_are_limited_by_the_learning_rate_too(self):
        with pytest.raises(ValueError, match=r"^Shrinkage\(strength=20.0\) allows a learning_rate of at most 0.05"):
            GradientDescent(regularisers=(Shrinkage(20.0),))

    def test_cpts_that_dropout_needs_are_counted(self):
        (layout,) = lay_out(fixed_parents([-1, 0, 1, 2]))
        wider, _ = ParentDropout(0.2).extend(layout, None)
        assert SHORT.training_bytes(layout) == layout.training_bytes
        assert SHORT.set_params(parent_dropout=0.2).training_bytes(layout) == wider.training_bytes
        assert wider.training_bytes > layout.training_bytes


class TestLengths:
    @given(st.floats(1, 1e8), st.floats(1, 1e8))
    def test_batches_grow_with_the_rows(self, first, second):
        fewer, more = (GradientDescent().sized(n).batch_size for n in sorted([first, second]))
        assert 16 <= fewer <= more <= 1000

    @given(st.floats(1, 1e8))
    def test_steps_are_neither_few_nor_many(self, n_rows):
        sized = GradientDescent().sized(n_rows)
        n_batches = max(1, n_rows // sized.batch_size)
        wanted = min(max(50 * math.sqrt(n_rows), 300), 2000)
        assert 10 <= sized.epochs <= 500
        assert sized.epochs * n_batches >= wanted
        if sized.epochs > 10:  # else there are many steps even in the fewest epochs
            assert (sized.epochs - 1) * n_batches < wanted

    def test_numbers_that_are_given_are_kept(self):
        assert SHORT.sized(150) == SHORT
        assert GradientDescent(epochs=7).sized(150) == GradientDescent(epochs=7, batch_size=16)
        assert GradientDescent(batch_size=7).sized(150) == GradientDescent(epochs=69, batch_size=7)
        assert GradientDescent("nll", ridge=2.0).sized(150) == GradientDescent("nll", 69, 16, ridge=2.0)

    @pytest.mark.parametrize("weight", [None, np.full(200, 3.0), np.full(200, 0.3)], ids=["none", "whole", "broken"])
    def test_rows_are_counted_with_whole_weights(self, weight):
        n_counted = 600 if weight is not None and weight[0] == 3.0 else 200
        fitted = learn(GradientDescent(), naive_bayes(4), context=a_context(weight=weight))
        assert len(fitted.history) == GradientDescent().sized(n_counted).epochs
        assert GradientDescent().sized(200).epochs != GradientDescent().sized(600).epochs


KINDS = {
    "ordered": (all_candidates(range(4)), None, {}),
    "fixed": (fixed_parents([-1, 0, 0, 1]), None, {}),
    "projected": (pseudo_candidates(4), "project", {}),
    "forests": (pseudo_candidates(4), "sample", {}),
    "everything": (pseudo_candidates(4), "project", {"start": "naive-bayes", **EVERYTHING}),
    "dense": (all_candidates(range(4)), None, {"optimiser": "dense", "loss": "conditional"}),
}


class TestLearning:
    @pytest.mark.parametrize("kind", KINDS)
    def test_depends_on_the_seed_alone(self, kind):
        space, forest, options = KINDS[kind]
        parameters = SHORT.set_params(**options)
        first = bits(learn(parameters, space, forest=forest))
        assert bits(learn(parameters, space, forest=forest)) == first
        assert bits(learn(parameters, space, forest=forest, context=a_context(n_threads=3))) == first
        assert bits(learn(parameters, space, forest=forest, seed=4)) != first

    @pytest.mark.parametrize("n_threads", [1, 3])
    def test_depends_on_nothing_learned_before_from_the_same_context(self, n_threads):
        context = a_context(n_threads=n_threads)
        first = bits(learn(SHORT, context=context))
        learn(SHORT.set_params(loss="nll", **EVERYTHING), context=context)
        assert bits(learn(SHORT, context=context)) == first

    def test_the_most_probable_structure_is_kept(self):
        fitted = learn(SHORT)
        space = all_candidates(range(4))
        assert fitted.network.parents.tolist() == space.select(fitted.distribution.most_probable()).tolist()
        assert len(fitted.history) == 6
        assert fitted.path.epochs == [0, 1, 2, 3, 4, 5, 6]

    @pytest.mark.parametrize(("forest", "n_epochs"), [("project", 6 + 3), ("sample", 6)])
    def test_a_search_without_an_ordering_ends_in_a_forest(self, forest, n_epochs):
        for seed in range(5):
            fitted = learn(SHORT, pseudo_candidates(4), forest=forest, seed=seed)
            assert find_cycle(fitted.network.parents) is None
            assert len(fitted.history) == n_epochs

    @pytest.mark.parametrize(("forest", "has_cycles"), [("sample", False), ("project", True), (None, True)])
    def test_only_sampled_forests_are_forests_in_every_step(self, forest, has_cycles):
        space, drawn = pseudo_candidates(4), []

        class Watching(Hooks):
            def change_structure(self, step, tables, selected, soft):
                drawn.append(space.select(selected))

        class Watch(Regulariser):
            def prepare(self, run):
                return Watching()

        learn(SHORT.set_params(regularisers=(Watch(),)), space, forest=forest)
        assert any(find_cycle(parents) is not None for parents in drawn) is has_cycles

    def test_several_layouts_are_trained_together(self):
        spaces = [fixed_parents([-1, 0, 0, 1]), fixed_parents([1, -1, 1, 0])]
        first, second = SHORT.learn(lay_out(*spaces), a_context(), 3, None)
        for fitted, space in zip((first, second), spaces, strict=True):
            assert fitted.network.parents.tolist() == space.parents.tolist()
            assert fitted.distribution.parent_sets.to_lists() == space.to_lists()
            assert fitted.path.epochs == []
        assert first.history is second.history
        alone = learn(SHORT, spaces[0])
        assert not np.array_equal(first.network.theta, alone.network.theta)

    def test_several_layouts_do_not_depend_on_the_number_of_threads(self):
        layouts = lay_out(all_candidates(range(4)), all_candidates([2, 3, 0, 1]))
        parameters = SHORT.set_params(start="naive-bayes", **EVERYTHING)
        runs = [parameters.learn(layouts, a_context(n_threads=n), 3, None) for n in (1, 3)]
        assert [bits(fitted) for fitted in runs[0]] == [bits(fitted) for fitted in runs[1]]

    def test_equal_rows_are_merged_unless_the_loss_cannot_use_weights(self):
        class Recorded:
            takes_weights = True

            def __init__(self):
                self.seen = []

            def __call__(self, log_joint, y, sample_weight):
                self.seen.append((len(y), sample_weight))
                return NegativeLogLikelihood()(log_joint, y, sample_weight)

        with_weights, without = Recorded(), Recorded()
        without.takes_weights = False
        n_kinds = len(np.unique(np.column_stack([a_context().rows.codes, a_context().rows.y]), axis=0))
        for loss in (with_weights, without):
            learn(GradientDescent(loss, epochs=1, batch_size=190), naive_bayes(4))
        assert n_kinds < 190
        assert with_weights.seen[0][0] == n_kinds
        assert with_weights.seen[0][1].sum() == 200
        assert without.seen == [(190, None)]

    def test_verbose_shows_progress(self, capsys):
        learn(SHORT)
        assert capsys.readouterr().err == ""
        learn(SHORT, context=a_context(verbose=1))
        assert "epoch 6/6" in capsys.readouterr().err

    def test_progress_does_not_change_the_result(self):
        assert bits(learn(SHORT, context=a_context(verbose=1))) == bits(learn(SHORT))


class TestStarts:
    def test_the_word_stands_for_the_value(self):
        plain = bits(learn(SHORT))
        assert bits(learn(SHORT.set_params(start=RandomStart()))) == plain
        word, value = (learn(SHORT.set_params(start=start)) for start in ("naive-bayes", NaiveBayesStart()))
        assert bits(word) == bits(value) != plain

    @pytest.mark.parametrize("ridge", [0.0, 2.0])
    def test_cpts_start_at_the_naive_bayes_that_is_trained_on_the_same_loss(self, ridge):
        """Batches hold all rows, so each call of the loss sees the same rows."""
        seen = []

        def loss(log_joint, y, sample_weight):
            seen.append(log_joint.copy())
            return ConditionalLikelihood()(log_joint, y, sample_weight)

        parameters = GradientDescent(loss, epochs=4, batch_size=200)
        bayes = learn(parameters.set_params(ridge=ridge), naive_bayes(4))
        alone, seen = seen, []
        learn(parameters.set_params(start=NaiveBayesStart(ridge)))
        assert len(seen) == 2 * len(alone)
        assert all(map(np.array_equal, seen[: len(alone)], alone))
        codes = a_context().problem(200, may_merge=True).codes
        np.testing.assert_allclose(seen[len(alone)], bayes.network.log_joint(codes), atol=1e-5)
        assert not np.allclose(seen[0], seen[len(alone)], atol=0.01)

    def test_a_high_rate_is_lowered_for_it(self):
        fast = SHORT.set_params(learning_rate=0.5, epochs=20)
        rates = learn(fast.set_params(start="naive-bayes")).history.to_arrays()["learning_rate"]
        assert rates[0] == 0.5
        (layout,) = lay_out(naive_bayes(4))
        problem = a_context().problem(30, may_merge=True)
        settings = [TrainingSettings(epochs=20, batch_size=30, learning_rate=rate) for rate in (0.5, 0.1)]
        starts = [NaiveBayesStart().train(layout, problem, Hybrid(), each, 3, 1) for each in settings]
        np.testing.assert_array_equal(starts[0].cpts.value, starts[1].cpts.value)

    def test_nothing_is_trained_for_a_random_start(self):
        (layout,) = lay_out(naive_bayes(4))
        assert RandomStart().train(layout, None, None, None, 0, 1) is None

    @pytest.mark.parametrize("bad", NO_STRENGTHS)
    def test_ridge(self, bad):
        with pytest.raises(ValueError, match=rf"^ridge must be a finite number of at least 0, got {bad!r}"):
            NaiveBayesStart(bad)


def test_one_candidate_for_each_feature_is_a_fixed_tree():
    sets = ParentSets.from_lists([[-1], [0], [0], [1]], order=[0, 1, 2, 3])
    assert bits(learn(SHORT, sets)) == bits(learn(SHORT, fixed_parents([-1, 0, 0, 1])))
