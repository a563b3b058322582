"""The tutorials on adding a loss, a structure and a regulariser: their files run and do what the pages claim."""

import ast
import importlib.util
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV

import tanager
from tanager import ConditionalLikelihood, Counts, GradientDescent, Subset, TANClassifier
from tanager.learning import Context, Rows, Structure
from tanager.learning.gradient_descent import strength_of
from tanager.structure import ParentSets

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "extending-loss.md": "focal_loss",
    "extending-structure.md": "ring_structure",
    "extending-regulariser.md": "entropy_regulariser",
}


def load(name: str) -> ModuleType:
    """A file of the tutorials as a module. It is registered, since dataclasses and pickle look modules up by name."""
    full_name = f"tutorial_{name}"
    if full_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(full_name, DOCS / "extending" / f"{name}.py")
        sys.modules[full_name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full_name])
    return sys.modules[full_name]


focal = load("focal_loss")
ring = load("ring_structure")
entropy = load("entropy_regulariser")


def finite_differences(function, at, eps=1e-6):
    """Central differences of a function of an array, one entry after the other."""
    gradient = np.empty_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = eps
        gradient[index] = (function(at + step) - function(at - step)) / (2 * eps)
    return gradient


def rows_of(X, y) -> Context:
    """Codes and classes as structures see them."""
    return Context(Rows(X, y, None, X.max(axis=0) + 1, int(y.max()) + 1))


@pytest.mark.parametrize(("page", "name"), PAGES.items())
def test_the_page_shows_the_file_and_what_it_prints(page, name, capsys):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert f"{{literalinclude}} extending/{name}.py" in text
    runpy.run_path(str(DOCS / "extending" / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    number = re.compile(r"\d+\.\d+")
    assert number.sub("#", shown).split() == number.sub("#", printed).split()
    # Another processor may round differently, and then a few test rows change their class.
    np.testing.assert_allclose(*([float(each) for each in number.findall(text)] for text in (shown, printed)), rtol=0.2)


@pytest.mark.parametrize("page", PAGES)
def test_every_piece_of_source_on_the_page_is_in_its_file(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    pieces = re.findall(r"\{literalinclude\} (\S+)\n(?:\s*:\w+:.*\n)*?\s*:pyobject: (\S+)", text)
    assert len(pieces) == text.count("{literalinclude}")
    for path, name in pieces:
        source = ast.parse((DOCS / path).resolve().read_text(encoding="utf-8"))
        for part in name.split("."):
            (source,) = [each for each in source.body if getattr(each, "name", None) == part]


class TestFocalLoss:
    @pytest.mark.parametrize("focus", [0.0, 0.5, 1.0, 2.0, 5.0])
    @pytest.mark.parametrize("is_weighted", [False, True])
    def test_gradient_is_that_of_finite_differences(self, focus, is_weighted):
        rng = np.random.default_rng(0)
        log_joint, y = rng.normal(scale=2.0, size=(7, 4)), rng.integers(0, 4, 7)
        weight = rng.random(7) if is_weighted else None
        _, gradient = focal.focal_loss(log_joint, y, weight, focus)
        wanted = finite_differences(lambda at: focal.focal_loss(at, y, weight, focus)[0], log_joint)
        np.testing.assert_allclose(gradient, wanted, atol=1e-8)

    def test_equals_torch(self):
        torch = pytest.importorskip("torch")
        rng = np.random.default_rng(1)
        log_joint, y = rng.normal(scale=2.0, size=(9, 3)), rng.integers(0, 3, 9)
        inputs = torch.from_numpy(log_joint).requires_grad_(True)
        log_p = torch.log_softmax(inputs, dim=1).gather(1, torch.from_numpy(y)[:, None])[:, 0]
        wanted = -((1 - log_p.exp()) ** 2 * log_p).mean()
        wanted.backward()
        value, gradient = focal.focal_loss(log_joint, y, None)
        assert value == pytest.approx(wanted.item(), rel=1e-12)
        np.testing.assert_allclose(gradient, inputs.grad.numpy(), atol=1e-12)

    def test_focus_zero_is_the_conditional_likelihood(self):
        rng = np.random.default_rng(2)
        log_joint, y = rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 3, 20)
        value, gradient = focal.Focal(focus=0.0)(log_joint, y)
        wanted, wanted_gradient = ConditionalLikelihood()(log_joint, y, None)
        assert value == pytest.approx(wanted, rel=1e-5)
        np.testing.assert_allclose(gradient, wanted_gradient, atol=1e-6)

    @given(st.lists(st.integers(1, 4), min_size=2, max_size=6), st.integers(0, 2**32 - 1))
    def test_whole_weights_are_repeated_rows(self, times, seed):
        rng = np.random.default_rng(seed)
        log_joint, y = rng.normal(size=(len(times), 3)), rng.integers(0, 3, len(times))
        value, gradient = focal.focal_loss(log_joint, y, np.array(times, float))
        repeated = np.repeat(np.arange(len(times)), times)
        wanted, wanted_gradient = focal.focal_loss(log_joint[repeated], y[repeated], None)
        assert value == pytest.approx(wanted)
        np.testing.assert_allclose(gradient, np.add.reduceat(wanted_gradient, np.cumsum([0, *times[:-1]])), atol=1e-12)

    @pytest.mark.parametrize("focus", [0.0, 0.5, 2.0])
    def test_certain_rows_have_a_finite_gradient(self, focus):
        log_joint = np.array([[0.0, -200.0], [0.0, -1e-3]], np.float32)
        value, gradient = focal.focal_loss(log_joint, np.array([0, 1]), None, focus)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert gradient.dtype == np.float32

    def test_function_and_value_train_the_same_classifier(self):
        X, y = load_iris(return_X_y=True)
        of_function, of_value = (
            TANClassifier("subset", GradientDescent(loss=loss, epochs=5), random_state=0).fit(X, y).predict_proba(X)
            for loss in (focal.focal_loss, focal.Focal())
        )
        np.testing.assert_array_equal(of_function, of_value)

    def test_value_nests_and_is_searched_over(self):
        X, y = load_iris(return_X_y=True)
        clf = TANClassifier("subset", GradientDescent(loss=focal.Focal(), epochs=5), random_state=0)
        assert clone(clf).set_params(parameters__loss__focus=1.0).parameters.loss == focal.Focal(1.0)
        assert repr(focal.Focal(1.0)) == "Focal(focus=1.0)"
        search = GridSearchCV(clf, {"parameters__loss__focus": [0.0, 2.0]}, cv=2).fit(X, y)
        assert search.best_estimator_.parameters.loss.focus in (0.0, 2.0)

    def test_wrong_option_is_refused(self):
        with pytest.raises(ValueError, match="focus must be a number of at least 0, got -1"):
            focal.Focal(focus=-1)
        with pytest.raises(TypeError, match="Focal has no option 'fokus'; did you mean 'focus'"):
            focal.Focal(fokus=1.0)

    def test_loaded_classifier_predicts_and_wants_the_loss_back(self, tmp_path):
        X, y = load_iris(return_X_y=True)
        clf = TANClassifier("subset", GradientDescent(loss=focal.Focal(3.0), epochs=5), random_state=0).fit(X, y)
        clf.save(tmp_path / "iris.tanager")
        loaded = tanager.load(tmp_path / "iris.tanager")
        np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
        with pytest.raises(ValueError, match=r"parameters\.loss is <Focal"):
            loaded.fit(X, y)
        loaded.set_params(parameters__loss=focal.Focal(3.0)).fit(X, y)
        np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))


class TestRing:
    def test_has_the_form_that_learning_asks_for(self):
        assert isinstance(ring.Ring(), Structure)
        assert isinstance(ring.CutRing(), Structure)

    @pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7])
    @pytest.mark.parametrize("reach", [1, 2, 9])
    def test_candidates_are_neighbours_and_no_parent(self, n_features, reach):
        X = np.zeros((4, n_features), int)
        space = ring.Ring(reach).space(rows_of(X, np.array([0, 1, 0, 1])), np.random.default_rng(0))
        assert space.n_features == n_features
        for feature, candidates in enumerate(space.to_lists()):
            assert candidates[0] == -1
            distance = [min((feature - j) % n_features, (j - feature) % n_features) for j in candidates[1:]]
            assert all(1 <= d <= reach for d in distance)
            assert len(distance) == min(2 * reach, n_features - 1)

    def test_result_is_a_forest_of_neighbours(self):
        X, y = ring.make_ring(600)
        clf = TANClassifier(ring.Ring(), GradientDescent(epochs=10), random_state=0).fit(X, y)
        ParentSets.from_lists([[parent] for parent in clf.parents_])
        clf.network_.marginals()  # would refuse a cycle
        has_parent = clf.parents_ >= 0
        assert has_parent.any()
        assert set((clf.parents_ - np.arange(12))[has_parent] % 12) <= {1, 11}

    def test_cut_ring_is_cut_where_neighbours_tell_least(self):
        X, y = ring.make_ring(4000)
        clf = TANClassifier(ring.CutRing(), Counts()).fit(X, y)
        assert clf.parents_.tolist() == [11, 0, 1, 2, 3, -1, 5, 6, 7, 8, 9, 10]

    @pytest.mark.parametrize("parameters", [Counts(), GradientDescent(epochs=5)])
    def test_fixed_structure_equals_the_list_of_its_parents(self, parameters):
        X, y = ring.make_ring(300)
        clf = TANClassifier(ring.CutRing(), parameters, random_state=0).fit(X, y)
        listed = TANClassifier(clf.parents_.tolist(), parameters, random_state=0).fit(X, y)
        np.testing.assert_array_equal(clf.predict_proba(X), listed.predict_proba(X))

    def test_counts_require_the_fixed_one(self):
        with pytest.raises(ValueError, match="requires a fixed structure"):
            TANClassifier(ring.Ring(), Counts()).fit(*ring.make_ring(50))

    def test_is_calibrated_searched_over_and_memory_is_known(self):
        X, y = ring.make_ring(300)
        clf = TANClassifier(ring.Ring(), GradientDescent(epochs=5), calibrate=True, random_state=0)
        assert clf.memory_needed(X, y) > X.size
        search = GridSearchCV(clf, {"structure__reach": [1, 2]}, cv=2).fit(X, y)
        assert search.best_estimator_.options_["structure"] == ring.Ring(search.best_params_["structure__reach"])
        assert search.best_estimator_.choice_["temperature"] != 1.0

    def test_wrong_option_is_refused(self):
        with pytest.raises(ValueError, match="reach must be at least 1, got 0"):
            ring.Ring(reach=0)

    def test_ring_is_ahead_of_structures_that_do_not_know_it(self):
        error = ring.compare()
        best_of_others = min(error[name] for name in error if "ring" not in name)
        assert error["ring, trained"] < best_of_others - 3
        assert error["cut ring, counted"] < best_of_others - 3
        assert error["ring, trained"] < error["ring, reach 3, trained"]


class TestEntropyPenalty:
    PTR = np.array([0, 1, 4, 6, 10])

    @pytest.mark.parametrize("strength", [0.3, 2.0])
    def test_gradient_is_that_of_finite_differences(self, strength):
        phi = np.random.default_rng(0).normal(size=10)
        term = entropy.EntropyTerm(self.PTR, strength)
        gradient = np.zeros(10)
        term.add_phi_gradient(phi, gradient)
        np.testing.assert_allclose(gradient, finite_differences(term.value, phi), atol=1e-8)
        assert gradient[0] == 0  # a feature with one candidate has no choice

    def test_gradient_is_added_to_what_is_there(self):
        term, phi = entropy.EntropyTerm(self.PTR, 1.0), np.linspace(-1, 1, 10)
        alone, added = np.zeros(10), np.ones(10)
        term.add_phi_gradient(phi, alone)
        term.add_phi_gradient(phi, added)
        np.testing.assert_allclose(added, 1 + alone)

    def test_uniform_distributions_have_the_logarithm_of_their_sizes(self):
        term = entropy.EntropyTerm(self.PTR, 1.0)
        assert term.value(np.zeros(10)) == pytest.approx(np.log([3, 2, 4]).mean())

    def test_candidates_that_are_never_drawn_count_as_absent(self):
        phi = np.random.default_rng(1).normal(size=10)
        phi[3] = -np.inf
        gradient = np.zeros(10)
        entropy.EntropyTerm(self.PTR, 1.0).add_phi_gradient(phi, gradient)
        without, wanted = np.delete(phi, 3), np.zeros(9)
        entropy.EntropyTerm(np.array([0, 1, 3, 5, 9]), 1.0).add_phi_gradient(without, wanted)
        assert gradient[3] == 0
        np.testing.assert_allclose(np.delete(gradient, 3), wanted)

    def test_value_is_the_entropy_of_the_history(self):
        X, y = load_iris(return_X_y=True)
        clf = TANClassifier("subset", GradientDescent(epochs=5), random_state=0).fit(X, y)
        sets = clf._distribution.parent_sets
        value = entropy.EntropyTerm(sets.ptr, 1.0).value(clf._distribution.phi)
        assert value == pytest.approx(clf.history_["entropy"][-1])

    def test_more_strength_leaves_less_entropy(self):
        found = entropy.compare((0.0, 1.0, 10.0))
        left = [entropy for entropy, _ in found.values()]
        assert left[0] > 1.2 * left[1] > 1.2**2 * left[2]

    def test_strength_zero_changes_nothing(self):
        X, y = load_digits(return_X_y=True)
        X, y = X[:300] // 4, y[:300]
        plain = GradientDescent(epochs=3, batch_size=50)
        of = [
            TANClassifier(Subset(4), parameters, random_state=0).fit(X, y).predict_proba(X)
            for parameters in (plain, plain.set_params(regularisers=(entropy.EntropyPenalty(0.0),)))
        ]
        np.testing.assert_array_equal(*of)

    def test_stands_beside_built_in_ones(self):
        X, y = load_iris(return_X_y=True)
        parameters = GradientDescent(epochs=5, parent_dropout=0.2, regularisers=(entropy.EntropyPenalty(0.1),))
        assert [type(each).__name__ for each in parameters.all_regularisers()] == ["ParentDropout", "EntropyPenalty"]
        clf = TANClassifier([-1, 0, 0, 2], parameters, random_state=0).fit(X, y)
        assert np.isfinite(clf.predict_proba(X)).all()
        assert TANClassifier("subset", parameters, random_state=0).fit(X, y).score(X, y) > 0.9

    def test_one_field_line_makes_it_an_option(self):
        class Extended(GradientDescent):
            entropy: float = strength_of(entropy.EntropyPenalty)

        assert Extended().all_regularisers() == ()
        extended = Extended(epochs=5).set_params(entropy=0.1)
        assert extended.all_regularisers() == (entropy.EntropyPenalty(0.1),)
        with pytest.raises(ValueError, match="strength must be a number of at least 0, got -1"):
            Extended(entropy=-1)
        X, y = load_iris(return_X_y=True)
        passed = GradientDescent(epochs=5, regularisers=(entropy.EntropyPenalty(0.1),))
        of = [TANClassifier("subset", each, random_state=0).fit(X, y).predict_proba(X) for each in (extended, passed)]
        np.testing.assert_array_equal(*of)

    def test_wrong_strength_is_refused(self):
        with pytest.raises(ValueError, match="strength must be a number of at least 0, got -1"):
            entropy.EntropyPenalty(-1)
