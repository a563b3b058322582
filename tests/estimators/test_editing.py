"""Changes by hand: what they change, their record, and taking them back."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError

import tanager
from tanager import (
    DisjointTrees,
    GradientDescent,
    KDependence,
    SetLine,
    SetParent,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.files import ModelFileError

WHO = {"who": "Ada", "why": "the laboratory says so"}


@pytest.fixture(scope="module")
def fruits():
    """Colour depends on the kind of fruit and on the place; ripeness is the class."""
    rng = np.random.default_rng(0)
    kind, place = rng.integers(0, 3, 500), rng.integers(0, 2, 500)
    y = rng.integers(0, 2, 500)
    colour = (kind + y + (rng.random(500) < 0.2)) % 3
    frame = pd.DataFrame(
        {
            "kind": np.array(["apple", "pear", "plum"])[kind],
            "place": np.array(["field", "house"])[place],
            "colour": np.array(["blue", "green", "red"])[colour],
            "weight": rng.normal(100 + 20 * y, 10),
        }
    )
    return frame, np.array(["raw", "ripe"])[y]


PARENTS = [-1, -1, 0, -1]


def fitted(fruits, parameters="ml", **options):
    return TANClassifier(PARENTS, parameters, random_state=0, **options).fit(*fruits)


def test_a_line_is_set_and_the_rest_of_it_renormalised(fruits):
    clf = fitted(fruits)
    before = clf.network_.cpt(2)
    clf.edit(SetLine("colour", "ripe", {"green": 0.7}, given={"kind": "pear"}), **WHO)
    after = clf.network_.cpt(2)
    np.testing.assert_allclose(after[1, :, 1].sum(), 1, atol=1e-6)
    assert after[1, 1, 1] == pytest.approx(0.7, rel=1e-5)
    assert after[1, 0, 1] / after[1, 2, 1] == pytest.approx(before[1, 0, 1] / before[1, 2, 1], rel=1e-4)
    is_other = np.ones_like(before, bool)
    is_other[1, :, 1] = False
    np.testing.assert_array_equal(after[is_other], before[is_other])


def test_predictions_follow(fruits):
    clf = fitted(fruits, "penalised")
    row = pd.DataFrame({"kind": ["pear"], "place": ["field"], "colour": ["green"], "weight": [110.0]})
    described, before = clf.description_.cpt(2), clf.predict_proba(row)[0, 1]
    clf.edit(SetLine("colour", "ripe", {"green": 1e-4}, {"kind": "pear"}), **WHO)
    assert clf.predict_proba(row)[0, 1] < min(0.05, before)
    np.testing.assert_array_equal(clf.description_.cpt(2), described)
    predicted = clf.predict_proba(fruits[0])
    clf.edit(SetLine("colour", "ripe", {"green": 0.5}, {"kind": "pear"}, network="description"), **WHO)
    assert clf.description_.cpt(2)[1, 1, 1] == pytest.approx(0.5, rel=1e-4)
    np.testing.assert_array_equal(clf.predict_proba(fruits[0]), predicted)


def test_bins_are_named_by_a_number_or_by_their_label(fruits):
    clf = fitted(fruits, binning={"weight": [100, 120]})
    clf.edit(SetLine("weight", "raw", {90: 0.5, "100 to 120": 0.4, ">= 120": 0.1}), **WHO)
    np.testing.assert_allclose(clf.network_.cpt(3)[0, :, 0], [0.5, 0.4, 0.1], rtol=1e-5)


@pytest.mark.parametrize("parameters", ["ml", "penalised", GradientDescent(epochs=5)])
def test_an_edge_that_is_removed_leaves_what_the_network_implies(fruits, parameters):
    clf = fitted(fruits, parameters)
    both = [clf.network_.query([2, "class"]), clf.description_.query([2, "class"])]
    clf.edit(SetParent("colour"), **WHO)
    assert clf.parents_.tolist() == [-1] * 4
    np.testing.assert_allclose(clf.network_.query([2, "class"]), both[0], atol=1e-5)
    np.testing.assert_allclose(clf.description_.query([2, "class"]), both[1], atol=1e-5)
    assert clf.edges_ == []


@pytest.mark.parametrize("parameters", ["ml", "penalised"])
def test_an_edge_that_is_added_changes_nothing_until_its_lines_are_set(fruits, parameters):
    X, _ = fruits
    clf = fitted(fruits, parameters)
    before = clf.predict_proba(X)
    clf.edit(SetParent("weight", "place"), **WHO)
    assert clf.parents_[3] == 1
    np.testing.assert_allclose(clf.predict_proba(X), before, atol=1e-4)
    label = clf.encoder_.value_labels(3)[0]
    clf.edit(SetLine("weight", "ripe", {label: 0.9}, {"place": "house"}), **WHO)
    is_house = (X["place"] == "house").to_numpy()
    after = clf.predict_proba(X)
    np.testing.assert_allclose(after[~is_house], before[~is_house], atol=1e-4)
    assert np.abs(after[is_house] - before[is_house]).max() > 0.05


def test_the_record_says_who_when_what_and_why(fruits):
    clf = fitted(fruits)
    assert clf.edits_ == []
    clf.edit(SetParent("colour"), who="Ada", why="kinds differ")
    clf.edit(SetLine("colour", "raw", {"red": 0.2}), who="Ben", why="seen in the field")
    first, second = clf.edits_
    assert (first["who"], first["why"], first["what"]) == ("Ada", "kinds differ", "extra parent of colour removed")
    assert second["what"] == "probabilities of colour given class = raw set to red: 0.2 in the classifying network"
    assert first["when"] < second["when"]
    assert first["when"].endswith("+00:00")


@pytest.mark.parametrize("parameters", ["ml", "penalised", GradientDescent(epochs=3)])
def test_undo_goes_back_to_the_last_bit_also_after_loading(fruits, parameters, tmp_path):
    X, _ = fruits
    clf = fitted(fruits, parameters)
    changes = [
        SetParent("weight", "kind"),
        SetLine("weight", "ripe", {clf.encoder_.value_labels(3)[0]: 0.5}, {"kind": "plum"}),
        SetParent("colour", "place"),
        SetLine("colour", "raw", {"blue": 0.9}, {"place": "house"}, "description"),
    ]
    states = [(clf.predict_proba(X), clf.description_.cpt(2), clf.parents_.tolist(), len(clf.edges_))]
    for change in changes:
        clf.edit(change, **WHO)
        states.append((clf.predict_proba(X), clf.description_.cpt(2), clf.parents_.tolist(), len(clf.edges_)))
    clf.save(tmp_path / "model.tanager")
    loaded = tanager.load(tmp_path / "model.tanager")
    assert loaded.edits_ == clf.edits_
    for each in (clf, loaded, pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        for k in range(len(changes), -1, -1):
            np.testing.assert_array_equal(each.predict_proba(X), states[k][0])
            np.testing.assert_array_equal(each.description_.cpt(2), states[k][1])
            assert (each.parents_.tolist(), len(each.edges_), len(each.edits_)) == (*states[k][2:], k)
            if k:
                each.undo()
        with pytest.raises(ValueError, match="there is nothing to undo"):
            each.undo()
        each.save(tmp_path / "again.tanager")
        assert tanager.load(tmp_path / "again.tanager").edits_ == []


def test_members_of_an_ensemble_are_edited(fruits, tmp_path):
    X, y = fruits
    ensemble = TANEnsembleClassifier(DisjointTrees(2), "ml", random_state=0).fit(X, y)
    before = ensemble.predict_proba(X)
    child = int(np.flatnonzero(ensemble.estimators_[1].parents_ >= 0)[0])
    ensemble.edit(SetParent(child), member=1, **WHO)
    assert ensemble.estimators_[1].parents_[child] == -1
    after = ensemble.predict_proba(X)
    assert np.abs(after - before).max() > 1e-4
    ensemble.save(tmp_path / "model.tanager")
    loaded = tanager.load(tmp_path / "model.tanager")
    np.testing.assert_array_equal(loaded.predict_proba(X), after)
    assert loaded.edits_ == ensemble.edits_
    assert loaded.edits_[0]["member"] == "1"
    np.testing.assert_array_equal(loaded.undo().predict_proba(X), before)
    with pytest.raises(ValueError, match="member must be a number from 0 to 1, got 2"):
        ensemble.edit(SetParent(child), member=2, **WHO)


def test_another_fit_forgets_edits_and_so_do_clones(fruits):
    clf = fitted(fruits).edit(SetParent("colour"), **WHO)
    assert clone(clf).fit(*fruits).edits_ == []
    assert clf.fit(*fruits).edits_ == []


def test_real_data_with_missing_cells():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.iloc[:, :5].mask(np.random.default_rng(0).random((len(X), 5)) < 0.1)
    clf = TANClassifier("chow-liu", "penalised", random_state=0).fit(X, y)
    child = int(np.flatnonzero(clf.parents_ >= 0)[0])
    clf.edit(SetParent(child), **WHO)
    np.testing.assert_allclose(clf.network_.cpt(child).sum(axis=1), 1, atol=1e-4)
    assert clf.score(X, y) > 0.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: SetLine("colour", "ripe", {}), "probabilities must be a dict from values to probabilities"),
        (lambda: SetLine("colour", "ripe", {"red": 0.0}), "the probability of 'red' must be a finite number above 0"),
        (lambda: SetLine("colour", "ripe", {"red": 1.0}, {"kind": "pear"}), "sum to 1, which leaves nothing"),
        (lambda: SetLine("colour", "ripe", {"pink": 0.1}, {"kind": "pear"}), "column 'colour' has no value 'pink'"),
        (lambda: SetLine("colour", "sour", {"red": 0.1}, {"kind": "pear"}), "'sour' is not a class"),
        (lambda: SetLine("colour", "ripe", {"red": 0.1}), "column 'colour' has kind: given must have a value"),
        (lambda: SetLine("place", "ripe", {"house": 0.1}, {"kind": "pear"}), "'place' has no extra parent: given"),
        (lambda: SetLine("colour", "ripe", {"red": 0.1}, network="both"), "network must be 'network' or 'description'"),
        (lambda: SetLine("colours", "ripe", {"red": 0.1}), "there is no column 'colours'"),
        (lambda: SetParent("kind", "colour"), "the edge would close a cycle: kind -> colour -> kind"),
        (lambda: SetParent("kind", "kind"), "the edge would close a cycle"),
        (lambda: "colour", "change must be a SetLine or a SetParent, got 'colour'"),
    ],
)
def test_wrong_changes_leave_the_classifier_as_it_was(fruits, change, message):
    clf = fitted(fruits)
    before = clf.predict_proba(fruits[0])
    with pytest.raises(ValueError, match=message):
        clf.edit(change(), **WHO)
    np.testing.assert_array_equal(clf.predict_proba(fruits[0]), before)
    assert clf.edits_ == []


def test_changes_against_what_was_given(fruits):
    edges = {"forbid": [("place", "kind"), ("kind", "place")], "require": [("kind", "colour")]}
    clf = TANClassifier(PARENTS, "ml", **edges).fit(*fruits)
    with pytest.raises(ValueError, match="from 'place' to 'kind', which forbid excludes"):
        clf.edit(SetParent("kind", "place"), **WHO)
    with pytest.raises(ValueError, match="require has the edge from 'kind' to 'colour'"):
        clf.edit(SetParent("colour"), **WHO)
    monotone = fitted(fruits, "penalised", monotonic_cst={"weight": 1})
    with pytest.raises(ValueError, match="an edit could break monotonic_cst"):
        monotone.edit(SetParent("colour"), **WHO)


def test_who_and_why_are_required(fruits):
    clf = fitted(fruits)
    with pytest.raises(ValueError, match="why must be a text for the record, got ' '"):
        clf.edit(SetParent("colour"), who="Ada", why=" ")
    with pytest.raises(TypeError):
        clf.edit(SetParent("colour"))
    with pytest.raises(NotFittedError):
        TANClassifier().edit(SetParent("colour"), **WHO)


def test_two_parents_have_lines_but_their_edges_stay(fruits):
    clf = TANClassifier(KDependence(3, ordering="natural"), GradientDescent(epochs=5), random_state=0).fit(*fruits)
    with pytest.raises(ValueError, match="edges cannot be changed where features have two extra parents"):
        clf.edit(SetParent("colour"), **WHO)


def test_edits_end_prediction_sets(fruits):
    X, y = fruits
    clf = TANClassifier("none", "ml").fit(X[:250], y[:250]).conformalize(X[250:], y[250:])
    clf.edit(SetLine("colour", "ripe", {"red": 0.1}), **WHO)
    with pytest.raises(ValueError, match="conformalize"):
        clf.predict_set(X)


def test_a_record_in_a_file_that_is_not_understood(fruits, tmp_path):
    clf = fitted(fruits).edit(SetParent("colour"), **WHO)
    history = clf._history
    clf._history = history._replace(edits=(history.edits[0]._replace(who=7),))
    clf.save(tmp_path / "model.tanager")
    with pytest.raises(ModelFileError, match=r"a change by hand of 'members.0' is not understood"):
        tanager.load(tmp_path / "model.tanager")


def test_the_report_shows_the_record(fruits, tmp_path):
    pytest.importorskip("plotly")
    from tanager.report import write_report

    clf = fitted(fruits).edit(SetParent("colour"), who="Ada <b>", why="kinds differ")
    write_report(clf, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Changed by hand" in page
    assert "Ada &lt;b&gt;: extra parent of colour removed (kinds differ)" in page
