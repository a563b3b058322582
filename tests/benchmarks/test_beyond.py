import importlib
import inspect
import sys
from dataclasses import replace

import numpy as np
import pytest
from joblib import Memory

import benchmarks.beyond
import tanager
from benchmarks.beyond import comparison, methods, sizes, trials
from benchmarks.beyond.__main__ import DATASETS, main
from benchmarks.beyond.methods import METHODS, make_model
from benchmarks.beyond.page import write_page
from tanager import TANClassifier, TANEnsembleClassifier
from tanager._options import Options


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "_memory", Memory(tmp_path / "cache", verbose=0))
    return tmp_path


def test_page_has_what_was_compared(cache, capsys):
    page = cache / "page.md"
    main(["digits", "--method", "nb", "--method", "chow-liu-ml", "--seeds", "2", "--page", str(page)])
    text = page.read_text()
    assert "| naive Bayes | lam " in text
    assert "| Chow-Liu, maximum likelihood |" in text
    assert "digits, nb, seed 1: tested" in capsys.readouterr().out


def test_options_are_selected_on_validation_rows(cache, monkeypatch):
    errors = {(10.0, 5.0): 4.0, (10.0, 50.0): 2.0, (100.0, 5.0): 3.0, (100.0, 50.0): 5.0}
    tested = []

    def invent(dataset, fold, method, options, seed, part):
        if part == "test":
            tested.append((dict(options), seed))
            return trials.Outcome(float(seed), 1.0, 7)
        return trials.Outcome(errors[options["parameters__loss__lam"], options["parameters__loss__gamma"]], 1.0, 7)

    monkeypatch.setattr(comparison, "run_trial", invent)
    *_, line = comparison.compare("digits", "nb", n_seeds=3)
    assert line.options == [{"parameters__loss__lam": 10.0, "parameters__loss__gamma": 50.0}]
    assert line.validation_error == 2.0
    assert [seed for _, seed in tested] == [0, 1, 2]
    assert line.mean == 1.0
    assert line.standard_error == pytest.approx(1 / np.sqrt(3))


def test_a_trial_is_made_once(cache, monkeypatch):
    first = trials.run_trial("digits", 1, "chow-liu-ml", {}, 0, "validation")
    monkeypatch.setattr(trials, "make_model", None)
    assert trials.run_trial("digits", 1, "chow-liu-ml", {}, 0, "validation") == first


def test_validation_rows_are_not_trained_on():
    data = trials.load_dataset("digits", 1)
    numbers = np.arange(len(data.y_train))
    X, y, X_other, y_other = trials._parts(replace(data, X_train=numbers[:, None], y_train=numbers), "validation")
    assert sorted([*y, *y_other]) == numbers.tolist()
    assert len(y_other) == round(0.2 * len(numbers))
    assert (X[:, 0] == y).all()
    assert (X_other[:, 0] == y_other).all()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_made(method):
    options = METHODS[method].grid("letter")[0]
    assert hasattr(make_model("letter", method, options, 0), "fit")


def test_only_what_was_finished(cache, capsys):
    finished, other = ["digits", "--method", "chow-liu-ml", "--seeds", "2"], ["--method", "nb"]
    main([*finished, "--no-page"])
    page = cache / "page.md"
    main([*finished, *other, "--finished", "--page", str(page)])
    assert "digits, nb: not finished" in capsys.readouterr().out
    assert "naive Bayes" not in page.read_text()
    assert "Chow-Liu" in page.read_text()


def test_data_sets_may_have_values_and_seeds_of_their_own():
    method = METHODS["greedy-left-out"]
    assert len(method.grid("letter")) == 4
    assert {options["structure__max_parents"] for options in method.grid("mnist")} == {64}
    assert METHODS["annealed-margin"].n_seeds("mnist", 5) == 3
    assert METHODS["annealed-margin"].n_seeds("mnist", 1) == 1
    assert METHODS["annealed-margin"].n_seeds("usps", 5) == 5


def test_fewer_seeds_are_selected_with_the_same_one(monkeypatch):
    asked = []

    def invent(dataset, fold, method, options, seed, part):
        asked.append((seed, part))
        return trials.Outcome(1.0, 1.0, 7)

    monkeypatch.setattr(comparison, "run_trial", invent)
    *_, line = comparison.compare("mnist", "trees-joint")
    assert asked == [(5, "validation"), (0, "test"), (1, "test"), (2, "test")]
    assert len(line.errors) == 3


def test_words_among_the_options_are_written(tmp_path):
    options = {"structure__candidates": "random", "parameters__loss__lam": 10.0}
    line = comparison.Line("nb", [options], 1.0, [2.0, 4.0], 1.0, 7)
    write_page({"letter": [line]}, {}, tmp_path / "page.md")
    assert "| naive Bayes | candidates random, lam 10 | 1.00 | 3.00 ± 1.00 | 2 |" in (tmp_path / "page.md").read_text()


def _requiring_all_options(kind, free=()):
    """A constructor that refuses to leave an option to its default."""
    names = [name for name in inspect.signature(kind).parameters if name not in free]

    def make(*given, **named):
        assert {*names[: len(given)], *named} >= set(names), f"{kind.__name__} without all of {names}"
        return kind(*given, **named)

    return make


def test_options_do_not_follow_the_defaults(monkeypatch):
    for name in tanager.__all__:
        kind = getattr(tanager, name)
        if isinstance(kind, type) and issubclass(kind, Options):
            monkeypatch.setattr(tanager, name, _requiring_all_options(kind))
    for kind in (TANClassifier, TANEnsembleClassifier):
        monkeypatch.setattr(tanager, kind.__name__, _requiring_all_options(kind, free=("n_jobs", "verbose")))
    for name in ("models", "methods"):
        monkeypatch.delitem(sys.modules, f"benchmarks.beyond.{name}")
        monkeypatch.delattr(benchmarks.beyond, name)
    fresh = importlib.import_module("benchmarks.beyond.methods")
    assert fresh is not methods
    for method in fresh.METHODS.values():
        method.make("letter", method.grid("letter")[0], 0)


@pytest.mark.parametrize("dataset", [*DATASETS, "digits"])
@pytest.mark.parametrize("method", METHODS)
def test_tuned_options_are_set(dataset, method):
    for options in METHODS[method].grid(dataset):
        model = make_model(dataset, method, options, 3)
        if METHODS[method].group == "baseline":
            continue
        model = getattr(model, "ensemble", getattr(model, "estimator", model))
        assert model.get_params().items() >= options.items()
        assert model.random_state == 3


@pytest.mark.parametrize("method", ["greedy-margin", "greedy-left-out", "annealed-margin"])
def test_searches_cut_the_margin_off_where_the_loss_does(method):
    gammas = [options["parameters__loss__gamma"] for options in METHODS[method].grid("letter")]
    models = [make_model("letter", method, options, 0) for options in METHODS[method].grid("letter")]
    assert [model.structure.score.gamma for model in models] == gammas
    assert len(set(gammas)) > 1


def test_the_curve_of_sizes_has_its_table_and_its_picture(tmp_path, monkeypatch):
    def invent(dataset, fold, method, options, seed, part):
        assert part == "test"
        price = options["parameters__size_penalty"]
        return trials.Outcome(5.0 + seed + price / 10, 1.0, int(1000 - 9 * price))

    monkeypatch.setattr(sizes, "run_trial", invent)
    points = sizes.size_curve("letter")
    assert [point.size_penalty for point in points] == list(sizes.PRICES)
    assert points[-1] == (100.0, 100.0, pytest.approx(16.0), pytest.approx(1 / np.sqrt(3)))
    line = comparison.Line("nb", [{"parameters__loss__lam": 10.0}], 1.0, [2.0, 4.0], 1.0, 7)
    write_page({"letter": [line]}, {"letter": points}, tmp_path / "page.md")
    assert "| 100 | 100 | 16.00 ± 0.58 |" in (tmp_path / "page.md").read_text()
    assert "letter" in (tmp_path / "figures" / f"{sizes.FIGURE}.svg").read_text()


def test_methods_of_the_curve_have_no_line_in_the_tables():
    assert "free-sized" in METHODS
    assert "free-sized" not in methods.COMPARED


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].group != "baseline"])
def test_no_method_leaves_its_options_to_the_defaults(method):
    model = make_model("letter", method, METHODS[method].grid("letter")[0], 0)
    model = getattr(model, "ensemble", getattr(model, "estimator", model))
    assert isinstance(model, (TANClassifier, TANEnsembleClassifier))
    assert "auto" not in model.get_params(deep=True).values()


def test_a_page_of_nothing_is_not_written(cache, capsys):
    page = cache / "page.md"
    main(["digits", "--method", "nb", "--finished", "--page", str(page)])
    assert not page.exists()
    assert "nothing is finished" in capsys.readouterr().out
