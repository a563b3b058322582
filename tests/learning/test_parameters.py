"""Parameters as values: the protocol that all keep, and counts."""

import math

import numpy as np
import pytest

from tanager import Counts, GradientDescent
from tanager.learning import PARAMETERS, Context, Parameters, PenalisedLikelihood
from tanager.model import back_off, class_log_prior, cpt_log_frequencies
from tanager.structure import fixed_parents, naive_bayes
from tests.learning.small_rows import N_CLASSES, a_context, bits, lay_out, learn

NO_RATES = [0.0, -0.1, math.nan, math.inf, -math.inf, True, "0.1", None]


class TestCounts:
    @pytest.mark.parametrize("smoothing", [1.0, 0.1])
    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_cpts_are_smoothed_frequencies(self, smoothing, is_weighted):
        weight = np.random.default_rng(1).uniform(0.5, 2.0, 200) if is_weighted else None
        context = a_context(weight=weight)
        space = fixed_parents([-1, 0, 0, 1])
        fitted = learn(Counts(smoothing), space, context=context)
        (layout,) = lay_out(space)
        full = np.ones(200) if weight is None else weight
        expected = cpt_log_frequencies(layout, context.rows.codes, context.rows.y, full, smoothing)
        for i in range(4):
            np.testing.assert_allclose(np.log(fitted.network.cpt(i)), layout.cpt(expected, i), atol=1e-5)
        prior = class_log_prior(context.rows.y, full, N_CLASSES, smoothing)
        np.testing.assert_allclose(fitted.network.log_prior, prior, atol=1e-6)
        assert fitted.network.parents.tolist() == [-1, 0, 0, 1]
        assert (len(fitted.history), fitted.path.epochs) == (0, [])

    def test_neither_seed_nor_threads_matter(self):
        space = fixed_parents([-1, 0, 0, 1])
        first = bits(learn(Counts(), space))
        assert bits(learn(Counts(), space, seed=4, context=a_context(n_threads=3))) == first
        assert bits(learn(Counts(0.5), space)) != first

    def test_by_default_the_rows_decide_on_the_smoothing(self):
        context, space = a_context(), fixed_parents([-1, 0, 0, 1])
        rows = context.rows.merged()
        expected = back_off(context.counts(lay_out(space)[0]), rows.codes, rows.y, rows.full_weight())
        assert np.array_equal(learn(Counts(), space, context=context).network.theta, expected.theta)
        assert Counts() == Counts("auto")

    def test_row_of_weight_two_is_two_rows(self):
        rows, space = a_context().rows, fixed_parents([-1, 0, 0, 1])
        weight = np.random.default_rng(2).integers(1, 4, len(rows.y))
        repeated = rows.take(np.repeat(np.arange(len(rows.y)), weight))
        of_weights, of_rows = (
            learn(Counts(), space, context=Context(each))
            for each in (rows._replace(weight=weight.astype(float)), repeated)
        )
        assert bits(of_weights) == bits(of_rows)

    def test_layouts_are_counted_each_by_itself(self):
        spaces = [fixed_parents([-1, 0, 0, 1]), naive_bayes(4)]
        together = Counts().learn(lay_out(*spaces), a_context(), 3, None)
        assert [bits(fitted) for fitted in together] == [bits(learn(Counts(), space)) for space in spaces]

    def test_nothing_depends_on_the_number_of_rows(self):
        (layout,) = lay_out(naive_bayes(4))
        assert Counts(0.5).sized(1e6) == Counts(0.5)
        assert Counts().training_bytes(layout) == layout.training_bytes

    @pytest.mark.parametrize("bad", NO_RATES)
    def test_smoothing(self, bad):
        with pytest.raises(ValueError, match=rf"^smoothing must be a finite number above 0, got {bad!r}"):
            Counts(bad)


def test_what_parameters_need_and_can_do():
    kinds = [Counts(), GradientDescent(), PenalisedLikelihood()]
    assert [each.needs_fixed for each in kinds] == [True, False, True]
    assert [each.can_join for each in kinds] == [False, True, True]
    assert [each.is_fine for each in kinds] == [False, False, True]


@pytest.mark.parametrize("parameters", [Counts(), GradientDescent(), PenalisedLikelihood()], ids=repr)
def test_all_keep_the_protocol(parameters):
    assert isinstance(parameters, Parameters)


@pytest.mark.parametrize("parameters", [Counts(), GradientDescent()], ids=repr)
def test_counts_and_descent_group_and_tune_nothing(parameters):
    context = a_context()
    assert parameters.groups(context) is None
    assert parameters.tuned(lambda part: lay_out(naive_bayes(4)), context, 0) is parameters


def test_words_stand_for_parameters():
    assert PARAMETERS.resolve("ml") == Counts()
    assert PARAMETERS.resolve("gradient") == GradientDescent()
    assert PARAMETERS.resolve("penalised") == PenalisedLikelihood()
    with pytest.raises(ValueError, match=r"^parameters='auto' leaves the choice open"):
        PARAMETERS.resolve("auto")
    message = r"^parameters must be 'auto', 'ml', 'gradient' or 'penalised', got 'gradent'; did you mean 'gradient'"
    with pytest.raises(ValueError, match=message):
        PARAMETERS.resolve("gradent")
