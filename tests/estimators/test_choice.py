"""Through the estimators: the choice among presets on held-out rows, calibration, and what files keep of both."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss

import tanager
from tanager import (
    Counts,
    GradientDescent,
    IndependentSearches,
    ParentSets,
    PenalisedLikelihood,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.files import ModelFileError
from tanager.learning import ENSEMBLE_PRESETS, NO_CHOICE, PRESETS, TREE_PARAMETERS, ensembles, recipes
from tests.files.model_files import put_together, take_apart

VERSION = 2
QUICK = GradientDescent(epochs=3)


def make_quick(monkeypatch, **lengths):
    """Let the presets train for so long only."""

    def shorter(parameters):
        return parameters.set_params(**lengths) if isinstance(parameters, GradientDescent) else parameters

    def with_shorter(presets):
        return {name: each.set_params(parameters=shorter(each.parameters)) for name, each in presets.items()}

    monkeypatch.setattr(recipes, "PRESETS", with_shorter(PRESETS))
    monkeypatch.setattr(ensembles, "ENSEMBLE_PRESETS", with_shorter(ENSEMBLE_PRESETS))
    monkeypatch.setattr(ensembles, "TREE_PARAMETERS", {name: shorter(each) for name, each in TREE_PARAMETERS.items()})


@pytest.fixture(autouse=True)
def quick_presets(monkeypatch):
    make_quick(monkeypatch, epochs=3)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def noisy():
    return make_classification(240, 5, n_informative=3, n_redundant=0, flip_y=0.2, random_state=0)


def both(is_chosen=True, **options):
    """A classifier and an ensemble that choose among their presets, or have one of them."""
    options = {"random_state": 0, **options}
    if is_chosen:
        return [TANClassifier(**options), TANEnsembleClassifier(**options)]
    return [
        TANClassifier(**recipes.PRESETS["tree"].get_params(deep=False), **options),
        TANEnsembleClassifier("trees", ensembles.TREE_PARAMETERS["penalised"], **options),
    ]


one_and_several = pytest.mark.parametrize("kind", [0, 1], ids=["one", "several"])


def many_rows():
    return make_classification(2600, 5, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.2, random_state=0)


@pytest.mark.usefixtures("margins_for_three_classes")
@pytest.mark.parametrize("has_many_rows", [False, True])
def test_all_presets_that_suit_the_rows_are_tried(noisy, has_many_rows):
    single, several = (clf.fit(*(many_rows() if has_many_rows else noisy)) for clf in both())
    assert single.choice_["tried"] == (list(PRESETS) if has_many_rows else ["tree"])
    presets = ["trees", "margin", "wide margin"] if has_many_rows else ["trees"]
    assert several.choice_["tried"][: len(presets)] == presets
    assert set(several.choice_["tried"][len(presets) :]) <= {"trees and margin", "trees and wide margin"}
    for clf in (single, several):
        names = ("tried", "errors", "log_losses")
        assert len({len(clf.choice_[name]) for name in names}) == 1
        best = np.argmin(np.array(clf.choice_["errors"]) + 0.3 * np.array(clf.choice_["log_losses"]))
        assert clf.choice_["preset"] == clf.choice_["tried"][best]


@pytest.mark.parametrize(
    ("parameters", "tried"),
    [
        *((QUICK, ["free", "none"]), (QUICK.set_params(loss="nll"), ["free", "none"]), ("ml", ["none", "chow-liu"])),
        *(("penalised", ["tree"]), (PenalisedLikelihood(3.0, 3.0), ["tree"])),
    ],
    ids=str,
)
def test_parameters_that_are_given_leave_the_structure_to_choose(noisy, parameters, tried):
    X, y = noisy
    clf = TANClassifier(parameters=parameters, random_state=0).fit(X, y)
    assert clf.choice_["tried"] == tried
    assert clf.choice_["preset"] in tried
    assert type(clf.options_["parameters"]) is type(recipes.as_parameters(parameters))
    if not isinstance(parameters, str):
        assert clf.options_["parameters"] == parameters.sized(len(y))
    again = TANClassifier(**clf.options_, calibrate=False, random_state=0).fit(X, y)
    odds, plain_odds = (np.diff(model.predict_log_proba(X), axis=1) for model in (clf, again))
    np.testing.assert_allclose(odds, plain_odds / clf.choice_["temperature"], atol=1e-4)


def test_a_structure_that_is_given_leaves_nothing_to_choose(noisy):
    clf = TANClassifier("chow-liu", QUICK).fit(*noisy)
    assert clf.choice_ == NO_CHOICE.to_dict()
    several = TANEnsembleClassifier(IndependentSearches("chow-liu", 2), QUICK).fit(*noisy)
    assert several.choice_ == NO_CHOICE.to_dict()


@one_and_several
def test_the_number_of_threads_has_no_influence(noisy, kind):
    X, y = noisy
    first, second = (both(n_jobs=n_jobs)[kind].fit(X, y) for n_jobs in (1, 2))
    assert first.choice_ == second.choice_
    assert first.choice_["tried"]
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))


@one_and_several
@pytest.mark.usefixtures("margins_for_three_classes")
@pytest.mark.parametrize("data", ["iris", "many values", "all presets"])
def test_weights_are_repeated_rows(iris, monkeypatch, kind, data):
    make_quick(monkeypatch, epochs=3, batch_size=3000)  # all distinct rows in one batch are merged
    rng = np.random.default_rng(0)
    if data == "iris":
        X, y = iris
    elif data == "many values":  # of which several share a bin
        X, y = make_classification(900, 4, n_informative=3, n_redundant=0, random_state=0)
    else:
        X, y = rng.integers(0, 4, (2000, 5)), rng.integers(0, 3, 2000)
        X[:, 1] = (X[:, 0] + y) % 4
        y[::10] = (y[::10] + 1) % 3  # without errors nothing is tried beside the first preset
    weight = rng.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = both()[kind].fit(X, y, sample_weight=weight)
    others = [both()[kind].fit(X[rows], y[rows])]
    if data == "all presets":  # each value has a bin, so that rows of equal codes are equal, in whatever order they are
        rows = rng.permutation(rows)
        others.append(both()[kind].fit(X[rows], y[rows]))
    presets = (["tree", "margin"], ["trees", "margin", "wide margin"])[kind]
    assert weighted.choice_["tried"][:3] == (presets if data == "all presets" else presets[:1])
    for other in others:
        assert other.options_ == weighted.options_
        for name, value in weighted.choice_.items():
            is_text = name in ("preset", "tried", "notes") or isinstance(value, str)
            assert other.choice_[name] == (value if is_text else pytest.approx(value, rel=1e-6))
        np.testing.assert_allclose(other.predict_proba(X), weighted.predict_proba(X), rtol=1e-6)


@one_and_several
@pytest.mark.parametrize("calibrate", [True, False, "auto"])
@pytest.mark.parametrize("is_chosen", [True, False])
def test_choose_and_calibrate(noisy, kind, is_chosen, calibrate):
    X, y = noisy
    plain = both(is_chosen, calibrate=False)[kind].fit(X, y)
    clf = both(is_chosen, calibrate=calibrate)[kind].fit(X, y)
    assert clf.choice_["preset"] == plain.choice_["preset"]
    assert (clf.choice_["preset"] == "given") == (not is_chosen)
    assert (clf.choice_["tried"] not in ([], ["given"])) == is_chosen
    temperature = clf.choice_["temperature"]
    is_calibrated = calibrate is True or (is_chosen and calibrate == "auto")
    assert plain.choice_["temperature"] == 1.0
    assert (temperature != 1.0) == is_calibrated
    odds, plain_odds = (np.diff(np.log(model.predict_proba(X)), axis=1) for model in (clf, plain))
    np.testing.assert_allclose(odds, plain_odds / temperature, atol=1e-4)
    np.testing.assert_array_equal(clf.predict(X), plain.predict(X))


@pytest.mark.parametrize("is_chosen", [True, False])
def test_who_gives_the_options_that_were_used_gets_the_same(noisy, is_chosen):
    X, y = noisy
    single, several = (clf.fit(X, y) for clf in both(is_chosen, calibrate=False))
    again = TANClassifier(**single.options_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), single.predict_proba(X))
    used = dict(several.options_)
    training = "joint" if used.pop("is_joint") else "separate"
    again = TANEnsembleClassifier(**used, training=training, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), several.predict_proba(X))


def test_calibration_helps_where_a_classifier_is_too_sure():
    """Naive Bayes takes eight copies of a feature for eight witnesses."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    signal = (rng.random(2000) < np.where(y == 1, 0.7, 0.3)).astype(int)
    X = np.repeat(signal[:, None], 8, axis=1)
    sure, calm = (
        TANClassifier("none", Counts(1.0), calibrate=calibrate, random_state=0).fit(X[:1000], y[:1000])
        for calibrate in (False, True)
    )
    assert calm.choice_["temperature"] == pytest.approx(8.0, rel=0.2)
    losses = [log_loss(y[1000:], clf.predict_proba(X[1000:])) for clf in (sure, calm)]
    assert losses[1] < 0.65 < 1.0 < losses[0]
    # The temperature is in the CPTs, so that they are still those of a Bayesian network.
    for i in range(8):
        np.testing.assert_allclose(calm.network_.cpt(i).sum(axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("structure", [[[1], [2], [0]], [[-1], [-1], [(0, 1)]]], ids=["cycle", "pair"])
@pytest.mark.parametrize("is_ensemble", [False, True])
def test_what_is_not_a_forest_is_not_calibrated(structure, is_ensemble):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (90, 3)), rng.integers(0, 2, 90)
    sets = ParentSets.from_lists(structure)

    def fitted(calibrate):
        options = {"calibrate": calibrate, "random_state": 0}
        if is_ensemble:
            return TANEnsembleClassifier(IndependentSearches(sets, 2), QUICK, **options).fit(X, y)
        return TANClassifier(sets, QUICK, **options).fit(X, y)

    assert fitted("auto").choice_["temperature"] == fitted(False).choice_["temperature"] == 1.0
    with pytest.raises(ValueError, match=r"calibrate=True.* requires a forest"):
        fitted(True)


@pytest.mark.parametrize("structure", ["pseudo", "k-dependence"])
def test_a_structure_that_may_have_cycles_is_not_calibrated(structure):
    with pytest.raises(ValueError, match=f"calibrate=True requires a forest, which structure='{structure}' does not"):
        TANClassifier(structure, calibrate=True).fit(None, None)  # refused before anything is read


def test_an_average_of_probabilities_has_no_temperature(noisy):
    X, y = noisy
    ensemble = TANEnsembleClassifier(combine="probability", random_state=0).fit(X, y)
    assert ensemble.choice_["temperature"] == 1.0
    assert ensemble.choice_["tried"]
    of_members = [member.predict_proba(X) for member in ensemble.estimators_]
    np.testing.assert_allclose(ensemble.predict_proba(X), np.mean(of_members, axis=0), rtol=1e-6)


@one_and_several
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
def test_small_data_sets(kind, X, y):
    clf = both()[kind].fit(X, y)
    probabilities = clf.predict_proba(X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
    assert clf.classes_.tolist() == sorted(set(y))
    if len(set(y)) == 1:
        assert clf.choice_["temperature"] == 1.0


@one_and_several
def test_verbose_tells_of_every_preset(noisy, capsys, kind):
    X, y = noisy
    clf = both(verbose=1)[kind].fit(X, y)
    told = capsys.readouterr()
    assert told.out == ""
    for name, error in zip(clf.choice_["tried"], clf.choice_["errors"], strict=True):
        assert f"{name}: {error:.2%} wrong on held-out rows, log-loss" in told.err


# In files.


@one_and_several
def test_files_keep_what_was_chosen(noisy, tmp_path, kind):
    X, y = noisy
    clf, path = both()[kind].fit(X, y), tmp_path / "m.tanager"
    clf.save(path)
    back = tanager.load(path)
    assert back.choice_ == clf.choice_
    assert back.options_ == clf.options_
    assert back.choice_["tried"]
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    # A file may say nothing of a choice.
    header, data = take_apart(path.read_bytes())
    del header["chosen"]
    path.write_bytes(put_together(header, data, version=VERSION))
    silent = tanager.load(path)
    np.testing.assert_array_equal(silent.predict_proba(X), clf.predict_proba(X))
    assert silent.choice_["tried"] == []
    assert silent.options_ == {}


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
    TANClassifier("none", "ml", calibrate=True).fit(*noisy).save(path)
    header, data = take_apart(path.read_bytes())
    path.write_bytes(put_together(header, data, version=VERSION))
    tanager.load(path)
    header["chosen"]["choice"] |= changes
    path.write_bytes(put_together(header, data, version=VERSION))
    with pytest.raises(ModelFileError, match=r"choice|chosen"):
        tanager.load(path)


def test_parts_of_a_choice_that_are_not_known_are_refused(noisy, tmp_path):
    path = tmp_path / "m.tanager"
    TANClassifier("none", "ml").fit(*noisy).save(path)
    header, data = take_apart(path.read_bytes())
    header["chosen"]["mood"] = {}
    path.write_bytes(put_together(header, data, version=VERSION))
    with pytest.raises(ModelFileError, match="chosen 'mood', which this tanager does not know: upgrade tanager"):
        tanager.load(path)


@one_and_several
def test_copies_keep_what_was_chosen_and_clones_do_not(noisy, kind):
    X, y = noisy
    clf = both()[kind].fit(X, y)
    copied = pickle.loads(pickle.dumps(clf))
    assert (copied.choice_, copied.options_) == (clf.choice_, clf.options_)
    np.testing.assert_array_equal(copied.predict_proba(X), clf.predict_proba(X))
    assert not hasattr(clone(clf), "choice_")
