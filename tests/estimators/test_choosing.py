"""The choice among presets by rows held out, and the temperature that these rows ask for."""

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss

import tanager
from tanager import ParentSets, TANClassifier, TANEnsembleClassifier
from tanager.estimators.choosing import Wishes, best_temperature, choose_preset, split_rows
from tanager.estimators.defaults import ONE_TREE, Preset
from tanager.estimators.fitting import Rows
from tanager.files import ModelFileError
from tests.files.model_files import put_together, take_apart

QUICK = {"epochs": 3, "random_state": 0}
PRESETS = tuple(Preset(name, {}) for name in ("a", "b", "c"))


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@st.composite
def encoded_rows(draw, max_rows=60):
    """Few values, so that some rows are equal; whole weights, other weights or none."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_features = draw(st.integers(2, max_rows)), draw(st.integers(1, 3))
    codes = rng.integers(0, 3, (n_rows, n_features)).astype(np.uint8)
    weights = {"none": None, "whole": rng.integers(1, 5, n_rows) * 1.0, "other": rng.uniform(0.1, 3.0, n_rows)}
    return Rows(codes, rng.integers(0, 3, n_rows), weights[draw(st.sampled_from(sorted(weights)))])


def counted(rows):
    """Weight of each distinct row with its class."""
    total = Counter()
    for values, label, weight in zip(rows.codes.tolist(), rows.y.tolist(), rows.full_weight().tolist(), strict=True):
        total[(*values, label)] += weight
    return total


def repeat(rows):
    times = rows.weight.astype(int)
    return Rows(np.repeat(rows.codes, times, axis=0), np.repeat(rows.y, times), None)


# Rows to train on and rows to hold out.


@given(encoded_rows(), st.integers(0, 99))
def test_parts_are_disjoint_and_cover_the_rows(rows, seed):
    everything, parts = counted(rows), split_rows(rows, seed)
    assert len(parts) == 3
    for kept, held in parts:
        assert counted(kept) + counted(held) == pytest.approx(everything)
    assert sum((counted(held) for _, held in parts), Counter()) == pytest.approx(everything)


@given(encoded_rows(), st.integers(0, 99))
def test_classes_and_equal_rows_are_in_all_parts_alike(rows, seed):
    if rows.weight is not None and not (rows.weight % 1 == 0).all():
        rows = rows._replace(weight=None)
    held = [counted(part) for _, part in split_rows(rows, seed)]
    for row in counted(rows):
        numbers = [part[row] for part in held]
        assert max(numbers) - min(numbers) <= 1
    for label in set(rows.y.tolist()):
        numbers = [sum(n for row, n in part.items() if row[-1] == label) for part in held]
        assert max(numbers) - min(numbers) <= 1


@given(encoded_rows(), st.integers(0, 99))
def test_a_row_of_weight_two_is_two_rows(rows, seed):
    rows = rows._replace(weight=np.arange(len(rows.y)) % 4 + 1.0)
    for weighted, repeated in zip(split_rows(rows, seed), split_rows(repeat(rows), seed), strict=True):
        assert list(map(counted, weighted)) == list(map(counted, repeated))


@given(encoded_rows(), st.integers(0, 99))
def test_other_weights_stay_with_their_rows(rows, seed):
    weight = np.arange(len(rows.y)) + 0.5
    found = [part.weight for _, part in split_rows(rows._replace(weight=weight), seed)]
    assert sorted(np.concatenate(found)) == weight.tolist()


def test_seeds_hold_out_other_rows():
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 9, (200, 4)).astype(np.uint8), rng.integers(0, 2, 200), None)
    first, again, other = (counted(split_rows(rows, seed)[0][1]) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(("n_rows", "fewest", "most"), [(2_500, 2_500, 2_500), (90_000, 15_000, 20_000)])
def test_of_many_rows_some_take_part_and_a_quarter_is_held_out(n_rows, fewest, most):
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 200, (n_rows, 5)).astype(np.uint8), rng.integers(0, 3, n_rows), None)
    [(kept, held)] = split_rows(rows, seed=0)
    n_kept, n_held = len(kept.y), len(held.y)
    assert fewest <= n_kept + n_held <= most
    assert n_held / (n_kept + n_held) == pytest.approx(0.25, abs=0.01)
    assert not counted(kept).keys() & counted(held).keys()
    np.testing.assert_allclose(np.bincount(held.y) / n_held, np.bincount(rows.y) / n_rows, atol=0.002)


# The best temperature.


def log_loss_in_loops(scores, y, weight):
    total = 0.0
    for row, label, w in zip(scores.tolist(), y.tolist(), weight.tolist(), strict=True):
        highest = max(row)
        total += w * min(20.0, highest + math.log(sum(math.exp(s - highest) for s in row)) - row[label])
    return total / weight.sum()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 1.0, 30.0]), st.integers(2, 4))
@settings(max_examples=30)
def test_the_temperature_is_the_best_of_a_grid(seed, spread, n_classes):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(80, n_classes))
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    scores, weight = scores * spread, rng.uniform(0.1, 2.0, 80)
    found = best_temperature(scores, y, weight)
    assert 0.5 <= found <= 50.0
    loss = log_loss_in_loops(scores / found, y, weight)
    low = 0.5 if np.count_nonzero(scores.argmax(axis=1) != y) >= 10 else 1.0
    best = min(log_loss_in_loops(scores / t, y, weight) for t in np.geomspace(low, 50.0, 40))
    assert loss <= best + 1e-4


def test_a_row_that_was_impossible_does_not_outweigh_the_others():
    scores = np.r_[np.tile([[0.0, -3.0], [-3.0, 0.0]], (50, 1)), [[0.0, -1e6]]]
    y = np.r_[np.tile([0, 1], 50), 1]
    assert best_temperature(scores, y, np.ones(101)) < 2.0


@pytest.mark.parametrize("weight", [np.ones(40), np.full(40, 0.01)], ids=["whole", "small"])
@pytest.mark.parametrize(("n_errors", "is_surer"), [(0, False), (9, False), (10, True)])
def test_few_errors_do_not_make_a_classifier_surer(n_errors, is_surer, weight):
    scores, y = np.tile([[0.0, -0.1]], (40, 1)), (np.arange(40) < n_errors).astype(int)
    found = best_temperature(scores, y, weight)
    assert (found < 0.6) if is_surer else found == pytest.approx(1.0, abs=1e-3)
    # As many rows, as weights.
    merged = best_temperature(scores[:2], np.array([0, 1]), np.array([40.0 - n_errors, n_errors]))
    assert found == pytest.approx(merged, rel=1e-4)


def test_one_class_has_no_temperature():
    assert best_temperature(np.full((9, 1), -3.0), np.zeros(9, int), np.ones(9)) == 1.0


# The choice.


def fit_to_nothing(errors, calls=None):
    """A stand-in for training: a preset that names the wrong class for a share of the codes."""

    def fit(preset, rows):
        if calls is not None:
            calls.append((preset.name, len(rows.y)))

        def log_joint(codes):
            right = codes[:, 0].astype(int)
            is_wrong = codes[:, 1] < 100 * errors[preset.name]
            return np.where(np.arange(2) == np.where(is_wrong, 1 - right, right)[:, None], 0.0, -2.0)

        return log_joint

    return fit


def rows_of_known_class(n_rows=600):
    y = np.arange(n_rows) % 2
    return Rows(np.stack([y, np.arange(n_rows) // 2 % 100], axis=1).astype(np.uint8), y, None)


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_preset_of_the_least_error_is_chosen(best):
    errors = {preset.name: 0.1 if k == best else 0.3 + 0.05 * k for k, preset in enumerate(PRESETS)}
    choice = choose_preset(PRESETS, fit_to_nothing(errors), rows_of_known_class(), Wishes(True, None, 0))
    assert choice.preset == PRESETS[best]
    assert [trial.name for trial in choice.trials] == ["a", "b", "c"]
    assert [trial.error for trial in choice.trials] == pytest.approx(list(errors.values()))
    # With p wrong the log-odds should be log((1 - p) / p), and they are 2.
    expected = [2 / math.log((1 - p) / p) for p in errors.values()]
    assert [trial.temperature for trial in choice.trials] == pytest.approx(expected, rel=1e-3)
    losses = [-(p * math.log(p) + (1 - p) * math.log(1 - p)) for p in errors.values()]
    assert [trial.log_loss for trial in choice.trials] == pytest.approx(losses, rel=1e-4)
    assert choice.temperature == choice.trials[best].temperature
    assert choice.to_dict(2.0) == {
        "preset": "abc"[best],
        "temperature": 2.0,
        "tried": ["a", "b", "c"],
        "errors": [trial.error for trial in choice.trials],
        "log_losses": [trial.log_loss for trial in choice.trials],
    }


def test_presets_that_do_the_same_are_a_tie_for_the_first():
    errors = dict.fromkeys("abc", 0.2)
    choice = choose_preset(PRESETS, fit_to_nothing(errors), rows_of_known_class(), Wishes(True, None, 0))
    assert choice.preset == PRESETS[0]


def test_small_weights_do_not_make_a_tie():
    rows = rows_of_known_class()._replace(weight=np.full(600, 1e-4))
    choice = choose_preset(PRESETS, fit_to_nothing({"a": 0.4, "b": 0.1, "c": 0.2}), rows, Wishes(True, None, 0))
    assert choice.preset == PRESETS[1]


def test_every_preset_sees_the_same_rows():
    calls = []
    choose_preset(
        PRESETS, fit_to_nothing(dict.fromkeys("abc", 0.2), calls), rows_of_known_class(), Wishes(True, None, 0)
    )
    assert calls == [(name, 400) for name in "aaabbbccc"]


@pytest.mark.parametrize(
    ("choose", "calibrate", "n_tried", "has_temperature"),
    [
        *((True, None, 3, True), (True, True, 3, True), (True, False, 3, False)),
        *((False, None, 0, False), (False, True, 1, True), (False, False, 0, False)),
    ],
)
def test_rows_are_held_out_only_where_there_is_a_use_for_it(choose, calibrate, n_tried, has_temperature):
    calls = []
    fit = fit_to_nothing({"a": 0.4, "b": 0.1, "c": 0.2}, calls)
    choice = choose_preset(PRESETS, fit, rows_of_known_class(), Wishes(choose, calibrate, 0))
    assert choice.preset.name == ("b" if choose else "a")
    assert len(choice.trials) == n_tried
    assert len(calls) == 3 * n_tried
    assert (choice.temperature is not None) == has_temperature


# Through the estimators.


def both(**options):
    """A classifier and an ensemble that choose."""
    single = TANClassifier(**{**QUICK, **options})
    return [single, TANEnsembleClassifier(clone(single).set_params(n_jobs=None), random_state=0)]


@pytest.fixture(scope="module")
def noisy():
    return make_classification(240, 5, n_informative=3, n_redundant=0, flip_y=0.2, random_state=0)


@pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])
def test_the_number_of_threads_has_no_influence(noisy, kind):
    X, y = noisy
    first, second = (both()[kind].set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    assert first.choice_ == second.choice_
    assert len(first.choice_["tried"]) > 1
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])
def test_weights_are_repeated_rows(iris, kind):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    # All distinct rows in one batch are merged.
    weighted, repeated = (both(batch_size=1000)[kind] for _ in range(2))
    weighted.fit(X, y, sample_weight=weight)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.choice_ == repeated.choice_
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-6)


@pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])
@pytest.mark.parametrize("calibrate", [True, False, None])
@pytest.mark.parametrize("choose", [True, False])
def test_choose_and_calibrate(noisy, kind, choose, calibrate):
    X, y = noisy
    plain = both(choose=choose, calibrate=False)[kind].fit(X, y)
    clf = both(choose=choose, calibrate=calibrate)[kind].fit(X, y)
    assert clf.choice_["preset"] == plain.choice_["preset"]
    assert (len(clf.choice_["tried"]) > 1) == choose
    temperature = clf.choice_["temperature"]
    is_calibrated = calibrate or (choose and calibrate is None)
    assert plain.choice_["temperature"] == 1.0
    assert (temperature != 1.0) == bool(is_calibrated)
    odds, plain_odds = (np.diff(np.log(model.predict_proba(X)), axis=1) for model in (clf, plain))
    np.testing.assert_allclose(odds, plain_odds / temperature, atol=1e-4)
    np.testing.assert_array_equal(clf.predict(X), plain.predict(X))


def test_without_a_choice_the_first_preset_is_taken(noisy):
    X, y = noisy
    clf = TANClassifier(choose=False, **QUICK).fit(X, y)
    assert clf.choice_["preset"] == ONE_TREE[0].name
    again = TANClassifier(**QUICK, **clf.options_).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), again.predict_proba(X))


def test_calibration_helps_where_a_classifier_is_too_sure():
    """Naive Bayes takes eight copies of a feature for eight witnesses."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    signal = (rng.random(2000) < np.where(y == 1, 0.7, 0.3)).astype(int)
    X = np.repeat(signal[:, None], 8, axis=1)
    options = {"structure": "none", "parameters": "ml", "random_state": 0}
    sure, calm = (TANClassifier(calibrate=calibrate, **options).fit(X[:1000], y[:1000]) for calibrate in (False, True))
    assert calm.choice_["temperature"] == pytest.approx(8.0, rel=0.2)
    losses = [log_loss(y[1000:], clf.predict_proba(X[1000:])) for clf in (sure, calm)]
    assert losses[1] < 0.65 < 1.0 < losses[0]
    # The temperature is in the tables, so that they are still of a Bayesian network.
    for i in range(8):
        np.testing.assert_allclose(calm.network_.cpt(i).sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("structure", [[[1], [2], [0]], [[-1], [-1], [(0, 1)]]], ids=["cycle", "pair"])
@pytest.mark.parametrize("ensemble", [False, True])
def test_what_is_no_forest_is_not_calibrated(structure, ensemble):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (90, 3)), rng.integers(0, 2, 90)
    sets = ParentSets.from_lists(structure)

    def fitted(calibrate):
        clf = TANClassifier(sets, calibrate=calibrate, **QUICK)
        return (TANEnsembleClassifier(clf, n_members=2, random_state=0) if ensemble else clf).fit(X, y)

    assert fitted(None).choice_["temperature"] == fitted(False).choice_["temperature"] == 1.0
    with pytest.raises(ValueError, match=r"calibrate=True.* is for forests"):
        fitted(True)


def test_an_average_of_probabilities_has_no_temperature(noisy):
    X, y = noisy
    ensemble = TANEnsembleClassifier(TANClassifier(**QUICK), combine="probability", random_state=0).fit(X, y)
    assert ensemble.choice_["temperature"] == 1.0
    assert len(ensemble.choice_["tried"]) > 1
    members = [member.predict_proba(X) for member in ensemble.estimators_]
    np.testing.assert_allclose(ensemble.predict_proba(X), np.mean(members, axis=0), rtol=1e-6)


@pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1.0, 2.0]], [1]),
        ([[1.0, 2.0]] * 5, [1] * 5),
        ([[1.0, 2.0]] * 5, [0, 1, 0, 1, 0]),
        ([[1.0, 2.0], [2.0, 1.0]], [0, 1]),
        (np.arange(60.0).reshape(30, 2), [1] * 30),
        (np.arange(30.0)[:, None], [0, 1] * 15),
    ],
    ids=["one row", "one row often", "equal rows", "two rows", "one class", "one feature"],
)
def test_small_tables(kind, X, y):
    clf = both()[kind].fit(X, y)
    probabilities = clf.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
    assert clf.classes_.tolist() == sorted(set(y))
    if len(set(y)) == 1:
        assert clf.choice_["temperature"] == 1.0


@pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])
def test_verbose_tells_of_every_preset(noisy, capsys, kind):
    X, y = noisy
    clf = both(verbose=1)[kind].fit(X, y)
    told = capsys.readouterr()
    assert told.out == ""
    for name, error in zip(clf.choice_["tried"], clf.choice_["errors"], strict=True):
        assert f"{name}: {error:.2%} wrong on rows held out, log-loss" in told.err


# In files.


@pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])
def test_files_keep_what_was_chosen(noisy, tmp_path, kind):
    X, y = noisy
    clf, path = both()[kind].fit(X, y), tmp_path / "m.tanager"
    clf.save(path)
    back = tanager.load(path)
    assert back.choice_ == clf.choice_
    assert back.options_ == clf.options_
    assert len(back.choice_["tried"]) > 1
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    # Files of older versions say nothing of a choice.
    header, data = take_apart(path.read_bytes())
    del header["chosen"]
    path.write_bytes(put_together(header, data))
    old = tanager.load(path)
    np.testing.assert_array_equal(old.predict_proba(X), clf.predict_proba(X))
    assert old.choice_["tried"] == []
    assert old.options_ == {}


@pytest.mark.parametrize(
    "changes",
    [
        *({"preset": 5}, {"temperature": "hot"}, {"tried": "abc"}, {"errors": {"list": [0.1, 0.2]}}),
        *({"log_losses": {"list": ["x"]}}, {"tried": {"list": [[]]}}, {"more": 1}, {"preset": None}),
    ],
    ids=str,
)
def test_a_choice_that_no_fit_has_made_is_refused(noisy, tmp_path, changes):
    path = tmp_path / "m.tanager"
    TANClassifier("none", parameters="ml", calibrate=True).fit(*noisy).save(path)
    header, data = take_apart(path.read_bytes())
    path.write_bytes(put_together(header, data))
    tanager.load(path)
    header["chosen"]["choice"] |= changes
    path.write_bytes(put_together(header, data))
    with pytest.raises(ModelFileError, match=r"choice|chosen"):
        tanager.load(path)


def test_parts_of_a_choice_that_are_not_known_are_refused(noisy, tmp_path):
    path = tmp_path / "m.tanager"
    TANClassifier("none", parameters="ml").fit(*noisy).save(path)
    header, data = take_apart(path.read_bytes())
    header["chosen"]["mood"] = {}
    path.write_bytes(put_together(header, data))
    with pytest.raises(ModelFileError, match="chosen 'mood', which this tanager does not know: upgrade tanager"):
        tanager.load(path)


@pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])
def test_copies_keep_what_was_chosen_and_clones_do_not(noisy, kind):
    X, y = noisy
    clf = both(choose=False)[kind].fit(X, y)
    copied = pickle.loads(pickle.dumps(clf))
    assert (copied.choice_, copied.options_) == (clf.choice_, clf.options_)
    np.testing.assert_array_equal(copied.predict_proba(X), clf.predict_proba(X))
    assert not hasattr(clone(clf), "choice_")
