"""Data, methods, measures, ranks and sentences of the comparison over tables, each by itself."""

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import log_loss

from benchmarks.csv_files import Split, as_categories
from benchmarks.rivals import data
from benchmarks.rivals.checks import (
    check_explainable,
    check_in_pairs,
    check_logistic,
    check_naive_bayes,
    check_networks,
)
from benchmarks.rivals.measures import calibration_error, count_parameters, score
from benchmarks.rivals.methods import METHODS
from benchmarks.rivals.outcomes import NOT_FINISHED, Result, Stopped
from benchmarks.rivals.page import PICTURE, write_page
from benchmarks.rivals.pyagrum_tan import PyAgrumTAN
from benchmarks.rivals.ranks import alike, critical_difference, rank_methods
from benchmarks.rivals.trials import measure, warm_up

WINE_TEST_ROWS = [4, 5, 10, 11, 17]  # the first of those of the first fold
SHAPES = {"car": (1382, 346, 6), "satimage": (5151, 1284, 36), "adult": (32561, 16281, 14)}


def result(n_wrong=100, fit_seconds=1.0, **changes):
    """1000 test rows: an error of 10 % has a standard error of 0.95."""
    values = {
        "n_train": 2000,
        "n_test": 1000,
        "n_columns": 5,
        "n_classes": 3,
        "log_loss": 0.5,
        "calibration_error": 2.0,
        "predict_seconds": 0.1,
        "n_bytes": 5000,
        "n_parameters": None,
        "machine": "a machine",
    }
    return Result(n_wrong=n_wrong, fit_seconds=fit_seconds, **values | changes)


class TestData:
    def test_a_third_of_each_class_is_for_the_test(self):
        y = pd.Series([0] * 60 + [1] * 30 + [2] * 9)
        split = data.split_rows(pd.DataFrame({"row": np.arange(99)}), y)
        assert split.y_test.value_counts().to_dict() == {0: 20, 1: 10, 2: 3}
        rows = pd.concat([split.X_train["row"], split.X_test["row"]])
        assert sorted(rows) == list(range(99))
        assert (y[split.X_test["row"]].to_numpy() == split.y_test.to_numpy()).all()

    def test_of_few_rows_each_is_a_test_row_of_one_fold(self):
        y = pd.Series([0] * 60 + [1] * 30 + [2] * 10)
        folds = data.fold_rows(pd.DataFrame({"row": np.arange(100)}), y)
        assert len(folds) == 5
        assert sorted(pd.concat([fold.X_test["row"] for fold in folds])) == list(range(100))
        for fold in folds:
            assert fold.y_test.value_counts().to_dict() == {0: 12, 1: 6, 2: 2}
            assert sorted(pd.concat([fold.X_train["row"], fold.X_test["row"]])) == list(range(100))
            assert (y[fold.X_test["row"]].to_numpy() == fold.y_test.to_numpy()).all()

    def test_the_rows_are_the_same_every_time(self):
        splits = data.load_splits.__wrapped__("wine")
        again = data.load_splits.__wrapped__("wine")
        assert len(splits) == len(again) == 5
        for split, same in zip(splits, again, strict=True):
            for part, other in zip(split, same, strict=True):
                assert part.equals(other)
        # Defaults were chosen on the training rows: other rows would make test rows of them.
        assert splits[0].X_test.index[:5].tolist() == WINE_TEST_ROWS

    def test_words_are_categories_of_all_rows(self):
        train, test = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), pd.DataFrame({"a": ["z", None], "b": [3, 4]})
        y = pd.Series([0, 1])
        split = as_categories(Split(train, y, test, y))
        assert split.X_train["a"].cat.categories.tolist() == ["x", "y", "z"]
        assert split.X_test["a"].isna().tolist() == [False, True]
        assert split.X_train["b"].dtype == np.int64

    def test_files_that_are_not_there(self, monkeypatch, tmp_path):
        monkeypatch.setenv("TANAGER_DATA", str(tmp_path))
        assert [name for name in data.TABLES if data.is_there(name)] == ["iris", "wine", "breast_cancer", "digits"]
        with pytest.raises(FileNotFoundError, match=r"extra/car\.csv\.gz of data set 'car' is missing"):
            data.load_splits.__wrapped__("car")
        with pytest.raises(FileNotFoundError, match=r"tables/sonar\.csv\.gz of data set 'sonar' is missing"):
            data.load_splits.__wrapped__("sonar")
        with pytest.raises(ValueError, match="no data set 'irish'"):
            data.load_splits("irish")

    def test_a_question_mark_is_missing(self, monkeypatch, tmp_path):
        (tmp_path / "extra").mkdir()
        lines = ["a,b,class"] + [f"{'?' if row % 4 == 0 else 'w'},{row},{'pq'[row % 2]}" for row in range(30)]
        (tmp_path / "extra" / "car.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
        monkeypatch.setenv("TANAGER_DATA", str(tmp_path))
        for split in data.load_splits.__wrapped__("car"):
            assert len(split.y_test) == 6
            assert split.X_train["a"].isna().sum() + split.X_test["a"].isna().sum() == 8
            assert set(split.y_train) == {"p", "q"}

    @pytest.mark.data
    @pytest.mark.parametrize("name", ["car", "satimage", "adult"])
    def test_real_files(self, name):
        if not data.is_there(name):
            pytest.skip(f"DID NOT RUN: set TANAGER_DATA to the folder that holds {data.needed_file(name)}")
        split, *others = data.load_splits(name)
        assert len(others) == (4 if name == "car" else 0)
        assert (len(split.y_train), len(split.y_test), split.X_train.shape[1]) == SHAPES[name]


class TestMeasures:
    def test_against_scikit_learn(self):
        rng = np.random.default_rng(0)
        probabilities = rng.dirichlet(np.ones(3), 200)
        y = rng.integers(0, 3, 200)
        scores = score(probabilities, np.arange(3), y)
        assert scores.log_loss == pytest.approx(log_loss(y, probabilities))
        assert scores.n_wrong == np.sum(probabilities.argmax(axis=1) != y)

    def test_calibration_error_by_hand(self):
        top = np.array([0.95, 0.95, 0.95, 0.95, 0.5, 0.5])
        is_right = np.array([True, True, True, False, True, True])
        assert calibration_error(top, is_right) == pytest.approx(100 * (4 / 6 * 0.2 + 2 / 6 * 0.5))
        assert calibration_error(np.ones(3), np.ones(3, bool)) == 0.0

    def test_classes_that_training_lacks(self):
        probabilities = np.array([[0.8, 0.2], [0.3, 0.7], [0.9, 0.1]])
        scores = score(probabilities, np.array(["a", "b"]), np.array(["a", "b", "c"]))
        assert scores.n_wrong == 1
        assert scores.log_loss == pytest.approx(-(np.log(0.8) + np.log(0.7)) / 2)
        assert scores.calibration_error == pytest.approx(25.0)

    def test_impossible_classes_have_a_finite_loss(self):
        scores = score(np.array([[1.0, 0.0]]), np.array([0, 1]), np.array([1]))
        assert scores.log_loss == pytest.approx(15 * np.log(10))


class TestMethods:
    @pytest.mark.filterwarnings("ignore")
    def test_pyagrum_takes_what_training_did_not_show(self):
        pytest.importorskip("pyagrum")
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, 300)
        X = pd.DataFrame({"word": np.array(["u", "v", "w"])[y], "number": y + rng.normal(0, 0.3, 300), "same": 1.0})
        X = X.astype({"word": "category"})
        model = PyAgrumTAN().fit(X, y * 10)
        new = pd.DataFrame({"word": ["never", "v"], "number": [0.0, 1.0], "same": [1.0, 2.0]})
        probabilities = model.predict_proba(new)
        assert model.classes_.tolist() == [0, 10, 20]
        assert probabilities.sum(axis=1) == pytest.approx([1.0, 1.0])
        assert probabilities[1].argmax() == 1
        assert count_parameters(model) > 9

    @pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].needs is None])
    def test_every_method_takes_words_and_missing_cells(self, name):
        rng = np.random.default_rng(1)
        y = pd.Series(np.array(["no", "yes"])[rng.integers(0, 2, 120)])
        word = pd.Series(np.where(rng.random(120) < 0.1, None, "w" + y)).astype("category")
        X = pd.DataFrame({"word": word, "number": rng.normal(size=120)})
        splits = [Split(X[:80], y[:80], X[80:], y[80:]), Split(X[40:], y[40:], X[:40], y[:40])]
        warm_up(splits[0], METHODS[name].make())
        found = measure(splits, METHODS[name].make, seconds=100.0)
        assert found.error < 30 or name == "frequent"
        assert (found.n_train, found.n_test, found.n_columns, found.n_classes) == (80, 80, 2, 2)

    def test_folds_are_put_together(self):
        y = pd.Series(["a", "b"] * 30)
        X = pd.DataFrame({"word": (y.where(np.arange(60) < 50, "b")).astype("category")})
        splits = data.fold_rows(X, y)
        alone = [measure([split], METHODS["nb"].make, seconds=100.0) for split in splits]
        together = measure(splits, METHODS["nb"].make, seconds=100.0)
        assert together.n_wrong == sum(each.n_wrong for each in alone) == 5
        assert together.n_test == 60
        assert together.log_loss == pytest.approx(np.mean([each.log_loss for each in alone]))


class TestRanks:
    def test_friedman_and_ranks_against_scipy(self):
        table = np.random.default_rng(0).normal(size=(12, 5))
        ranking = rank_methods(table)
        assert ranking.p_value == pytest.approx(stats.friedmanchisquare(*table.T).pvalue)
        assert ranking.mean_ranks.sum() == pytest.approx(15)
        assert ranking.n_tables == 12

    def test_equal_errors_share_ranks(self):
        assert rank_methods([[3, 1, 1, 1]]).mean_ranks.tolist() == [4, 2, 2, 2]
        assert rank_methods([[1, 1, 1], [2, 2, 2]]).p_value == 1.0
        assert np.isnan(rank_methods([[1, 2], [2, 1]]).p_value)

    @pytest.mark.parametrize(("n_methods", "published"), [(2, 1.960), (5, 2.728), (8, 3.031), (10, 3.164)])
    def test_critical_difference_against_the_published_table(self, n_methods, published):
        # Demsar (2006), table 5 (a).
        expected = published * np.sqrt(n_methods * (n_methods + 1) / (6 * 15))
        assert critical_difference(n_methods, 15) == pytest.approx(expected, rel=1e-3)

    def test_groups_that_are_not_told_apart(self):
        assert alike([4.0, 1.0, 1.5, 2.2], 1.0) == [[1, 2], [2, 3]]
        assert alike([1.0, 1.5, 2.0], 1.0) == [[0, 1, 2]]
        assert alike([1.0, 2.5, 4.0], 1.0) == []


class TestSentences:
    def test_within_one_standard_error_counts(self):
        outcomes = {
            "a": {"tan": result(90), "nb": result(100), "chow-liu": result(110)},
            "b": {"tan": result(108), "nb": result(120), "chow-liu": result(100)},
            "c": {
                "tan": result(111),
                "nb": result(120),
                "pyagrum": result(100),
                "chow-liu": Stopped(NOT_FINISHED, 1.0),
            },
            "d": {"tan": Stopped(NOT_FINISHED, 1.0), "nb": result(100)},
            "e": {"tan": result(90), "nb": Stopped(NOT_FINISHED, 1.0)},
        }
        text = check_networks(outcomes)
        assert "lowest, alone or with others, on 1 of 4 data sets" in text
        assert "lowest on 1 more (b): 50 %. Target: 90 %, **missed**" in text
        assert "Not on c (11.10 against 10.00 ± 0.95), d (not finished)." in text
        best = {"tan": result(100), "nb": result(100)}
        assert "100 %. Target: 90 %, **met**." in check_networks({"a": best})

    def test_an_error_of_zero_has_no_room(self):
        assert "**met**" in check_naive_bayes({"a": {"tan": result(0), "nb": result(0)}})
        assert "worse by more than one standard error on a" in check_naive_bayes(
            {"a": {"tan": result(1), "nb": result(0)}}
        )

    def test_naive_bayes(self):
        near = {"tan": result(109), "nb": result(100)}
        far = {"tan": result(110), "nb": result(100)}
        assert "on none of 1 data sets. Target: never, **met**" in check_naive_bayes({"a": near})
        assert "on b (11.00 against 10.00 ± 0.95). Target: never, **missed**" in check_naive_bayes(
            {"a": near, "b": far}
        )

    def test_logistic(self):
        lower, higher = {"tan": result(9), "logistic": result(9)}, {"tan": result(9), "logistic": result(8)}
        text = check_logistic({"a": lower, "b": lower, "c": lower, "d": higher, "e": {"tan": result(9)}})
        assert "lower or equal on 3 of 4 data sets: 75 %. Target: 75 %, **met**. Not on d" in text
        assert "**missed**" in check_logistic({"a": lower, "b": lower, "d": higher})
        assert "no data set was finished by both" in check_logistic({"a": {"tan": result(9)}})

    def test_explainable(self):
        outcomes = {
            "a": {"ensemble": result(10, 1.0), "explainable": result(20, 100.0), "nb": result(30)},
            "b": {"ensemble": result(30, 1.0), "explainable": result(30, 4.0), "nb": result(20)},
            "c": {"ensemble": result(10, 1.0), "explainable": Stopped(NOT_FINISHED, 600.0)},
        }
        text = check_explainable(outcomes)
        assert "mean rank on error 1.75 against 2.25 on the 2 data sets that both have finished" in text
        assert "20 times faster in the geometric mean (4 to 100), ten times or more on 1 of 2" in text
        assert text.count("**met**") == 2
        assert "did not finish on c." in text

    def test_pairs_are_counted(self):
        outcomes = {
            "a": {"ensemble": result(10, 1.0), "catboost": result(20, 100.0)},
            "b": {"ensemble": result(30, 1.0), "catboost": result(30, 4.0)},
            "c": {"ensemble": result(30, 1.0), "catboost": Stopped(NOT_FINISHED, 600.0)},
        }
        text = check_in_pairs(outcomes, "ensemble", "catboost")
        assert "of 2 data sets that both have finished, the error is lower on 1, equal on 1 and higher on 0;" in text
        assert "CatBoost takes 20 times as long to fit" in text
        assert "no data set was finished by both" in check_in_pairs(outcomes, "tan", "catboost")


class TestPage:
    @pytest.fixture
    def outcomes(self):
        full = {method: result(100 + 5 * number) for number, method in enumerate(METHODS)}
        return {"iris": full, "wine": full | {"explainable": Stopped(NOT_FINISHED, 600.0)}}

    def test_errors_are_marked(self, outcomes, tmp_path):
        write_page(outcomes, tmp_path / "page.md")
        text = (tmp_path / "page.md").read_text()
        row = "**10.00 ± 0.95** | *10.50 ± 0.97* | 11.00 ± 0.99 |"
        assert f"| iris | {row}" in text
        assert "| 16.00 ± 1.16 | not finished (600 s) |" in text
        assert "these 16 methods" not in text  # one finished a single data set of two, and is not ranked
        assert "Over the 2 data sets that these 15 methods have finished. " in text
        assert f"| TAN |  | {'2 / 0 / 0 | ' * 12}1 / 0 / 0 |" in text
        assert f"]({PICTURE})" in text
        assert (tmp_path / PICTURE).read_text().count("naive Bayes") == 1
        assert "* Machine: a machine" in text

    def test_what_is_missing_is_named(self, outcomes, tmp_path):
        outcomes = {"iris": outcomes["iris"], "wine": {"tan": result(), "nb": Stopped("failed: KeyError: 'a'", 1.0)}}
        write_page(outcomes, tmp_path / "page.md")
        text = (tmp_path / "page.md").read_text()
        assert "**This page is incomplete: there are no results for 34 of 36 data sets: breast_cancer (" in text
        others = [METHODS[name].title for name in METHODS if name not in ("tan", "nb")]
        assert f"* Not run: {'; '.join(f'{title} on wine' for title in others)}." in text
        assert "**Failed: naive Bayes on wine: KeyError: 'a'.**" in text

    def test_the_picture_is_the_same_for_the_same_ranks(self, outcomes, tmp_path):
        pictures = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            write_page(outcomes, tmp_path / name / "page.md")
            pictures.append((tmp_path / name / PICTURE).read_bytes())
        assert pictures[0] == pictures[1]

    def test_nothing_in_common(self, tmp_path):
        write_page({"iris": {"tan": result()}, "wine": {"nb": result()}}, tmp_path / "page.md")
        assert "No data set was finished by all methods." in (tmp_path / "page.md").read_text()
        assert not (tmp_path / PICTURE).exists()
