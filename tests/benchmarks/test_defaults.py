"""Learning problems out of training rows, and the page of the presets."""

import pytest

from benchmarks.defaults.__main__ import main, make_models, measure_problem
from benchmarks.defaults.problems import Problem, load_problem, problems_of
from benchmarks.rivals.data import load_splits
from tanager import TANEnsembleClassifier
from tanager.learning import ENSEMBLE_PRESETS, PRESETS


def test_problems_take_training_rows_only_and_no_row_twice():
    split, problem = load_splits("breast_cancer")[0], load_problem(Problem("breast_cancer", 100, 0))
    learned, measured = set(problem.X_train.index), set(problem.X_test.index)
    assert len(learned) == 100
    assert not learned & measured
    assert learned | measured == set(split.X_train.index)
    assert not (learned | measured) & set(split.X_test.index)


def test_seeds_draw_other_rows_and_the_same_seed_the_same():
    first, second, again = (load_problem(Problem("digits", 100, seed)).X_train.index.tolist() for seed in (0, 1, 0))
    assert first == again
    assert first != second


def test_sizes_grow_to_three_quarters_of_the_rows():
    assert [problem.n_rows for problem in problems_of("iris")] == [90]
    assert [problem.n_rows for problem in problems_of("digits", n_seeds=2)] == [100, 100, 300, 300, 1077, 1077]


@pytest.mark.filterwarnings("ignore")
def test_every_preset_and_the_choice_are_measured_and_written(tmp_path, monkeypatch):
    results = measure_problem(("iris", 90, 0), "one tree")
    assert list(results) == ["nb", "chow-liu", "logistic", *PRESETS, "choice"]
    assert all(0.0 <= error < 50.0 and seconds >= 0.0 for error, seconds in results.values())
    monkeypatch.setattr("benchmarks.defaults.__main__._memory.cache", lambda function: lambda *_: results)
    main(["iris", "--page", str(tmp_path / "page.md")])
    text = (tmp_path / "page.md").read_text()
    assert "| iris | 90 |" in text
    assert f"{results['choice'][0]:.2f}" in text


def test_presets_of_several_trees_are_measured_alone():
    *alone, choice = make_models("several trees", 3).items()
    assert dict(alone).keys() == ENSEMBLE_PRESETS.keys()
    for name, model in alone:
        assert (model.training, model.calibrate) == ("joint", False)
        assert (model.members, model.parameters) == (ENSEMBLE_PRESETS[name].members, ENSEMBLE_PRESETS[name].parameters)
        assert model.random_state == 3
    assert choice[0] == "choice"
    assert choice[1].get_params() == TANEnsembleClassifier(random_state=3).get_params()


def test_unknown_data_sets_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["irish"])
    assert "no data set irish; there are iris, wine" in capsys.readouterr().err
