"""What a user knows beforehand holds in the fitted model: forbidden and required edges."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

import tanager
from tanager import (
    AllPredecessors,
    AnnealedSearch,
    ChowLiu,
    CoveringPaths,
    DisjointTrees,
    Free,
    GradientDescent,
    GreedySearch,
    IndependentSearches,
    KDependence,
    Nearest,
    ParentSets,
    PenalisedLikelihood,
    Pseudo,
    RandomTree,
    SampledStructures,
    Screened,
    Subset,
    TANClassifier,
    TANEnsembleClassifier,
)

QUICK = GradientDescent(epochs=3)
SEARCHES = [
    (RandomTree(), "ml"),
    ("chow-liu", "ml"),
    (ChowLiu("residual"), "penalised"),
    (ChowLiu("explaining-away"), "ml"),
    (Subset(3), QUICK),
    (Subset(3, Screened("margin", 0.5)), QUICK),
    (AllPredecessors(), QUICK),
    (Nearest((2, 4), ordering="random"), QUICK),
    (Free(3), QUICK),
    (Free(3, "mixed", "sample"), QUICK),
    (Free(None), QUICK),
    (Free(3), GradientDescent(epochs=3, parent_dropout=0.2, shrinkage=0.05, size_penalty=0.1)),
    (Pseudo(3, "screened"), QUICK),
    (KDependence(3), QUICK),
    (KDependence(3, "screened"), QUICK),
    (GreedySearch("margin", max_moves=5), "ml"),
    (AnnealedSearch(n_moves=200), "ml"),
    ("auto", "auto"),
    ("auto", "ml"),
    ("auto", QUICK),
]
MEMBERS = [
    ("auto", "auto"),
    (DisjointTrees(4), "ml"),
    (DisjointTrees(3, "residual"), "penalised"),
    (IndependentSearches(Subset(3), 3), QUICK),
    (SampledStructures(Free(3), 3), QUICK),
    (SampledStructures(KDependence(3), 3), QUICK),
]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], y


def random_rules(names, seed):
    """Forbidden and required edges that do not contradict each other."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(names).tolist()
    require = [(order[rng.integers(place)], order[place]) for place in rng.choice(np.arange(1, 8), 2, replace=False)]
    edges = [(a, b) for a in names for b in names if a != b and (a, b) not in require]
    return [edges[k] for k in rng.choice(len(edges), 35, replace=False)], require


def edges_of(clf, names):
    both = [clf.parents_, clf.second_parents_]
    return {(names[j], names[i]) for parents in both for i, j in enumerate(parents.tolist()) if j >= 0}


def assert_honoured(clf, names, forbid, require):
    edges = edges_of(clf, names)
    assert not edges & set(forbid)
    assert set(require) <= edges


@pytest.mark.parametrize(("structure", "parameters"), SEARCHES, ids=map(str, range(len(SEARCHES))))
def test_every_search_keeps_to_the_rules(structure, parameters, wine):
    X, y = wine
    names = list(X.columns)
    for seed in range(3):
        forbid, require = random_rules(names, seed)
        clf = TANClassifier(structure, parameters, forbid=forbid, require=require, random_state=seed)
        rows = np.random.default_rng(seed).choice(len(X), 120, replace=False)
        clf.fit(X.iloc[rows], y.iloc[rows])
        assert_honoured(clf, names, forbid, require)


@pytest.mark.parametrize(("members", "parameters"), MEMBERS, ids=map(str, range(len(MEMBERS))))
def test_every_member_keeps_to_the_rules(members, parameters, wine):
    X, y = wine
    names = list(X.columns)
    forbid, require = random_rules(names, 1)
    ensemble = TANEnsembleClassifier(members, parameters, forbid=forbid, require=require, random_state=0).fit(X, y)
    for member in ensemble.estimators_:
        assert_honoured(member, names, forbid, require)


def test_a_cover_leaves_forbidden_edges_out(wine):
    X, y = wine
    names = list(X.columns)
    forbid, _ = random_rules(names, 0)
    ensemble = TANEnsembleClassifier(CoveringPaths(), "ml", forbid=forbid, random_state=0).fit(X, y)
    for member in ensemble.estimators_:
        assert_honoured(member, names, forbid, [])
    with pytest.raises(ValueError, match="require contradicts CoveringPaths"):
        TANEnsembleClassifier(CoveringPaths(), "ml", require=[(0, 1)]).fit(X, y)


def test_two_features_kept_apart_leave_the_rest_of_the_tree_as_it_was(wine):
    X, y = wine
    free = TANClassifier("chow-liu", "ml").fit(X, y)
    child = int(np.flatnonzero(free.parents_ >= 0)[0])
    parent = int(free.parents_[child])
    apart = TANClassifier("chow-liu", "ml", forbid=[(parent, child), (child, parent)]).fit(X, y)
    pairs = [{frozenset(edge) for edge in enumerate(clf.parents_.tolist()) if edge[1] >= 0} for clf in (free, apart)]
    assert pairs[0] - pairs[1] == {frozenset((child, parent))}


def test_rules_are_kept_by_clones_and_model_files(wine, tmp_path):
    X, y = wine
    forbid, require = random_rules(list(X.columns), 2)
    clf = TANClassifier("chow-liu", "ml", forbid=forbid, require=require).fit(X, y)
    clf.save(tmp_path / "model.tanager")
    loaded = tanager.load(tmp_path / "model.tanager")
    assert (loaded.forbid, loaded.require) == (forbid, require)
    np.testing.assert_array_equal(clone(loaded).fit(X, y).parents_, clf.parents_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forbid": "age"}, "forbid must be a list of pairs"),
        ({"forbid": [("a", "b", "c")]}, r"forbid must hold pairs \(parent, child\) of columns, got \('a', 'b', 'c'\)"),
        ({"require": ["ab"]}, "require must hold pairs"),
        ({"require": [(-1, 0)]}, "require must name columns, or give positions from 0 on, got -1"),
        ({"require": [("a", 1.5)]}, "require must name columns"),
        ({"require": [("a", "b")], "forbid": [("a", "b")]}, "both forbidden and required"),
        ({"require": [("a", "c"), ("b", "c")]}, "require gives 'c' two parents"),
        ({"require": [(0, 1), (1, 0)]}, "the required edges form a cycle: 0 -> 1 -> 0"),
        ({"require": [(0, 1)], "structure": "none"}, "require contradicts the structure 'none'"),
        ({"require": [(0, 1)], "structure": [-1, -1]}, "from 'column 0' to 'column 1', which the structure does not"),
        ({"forbid": [(0, 1)], "structure": [-1, 0]}, "from 'column 0' to 'column 1', which forbid excludes"),
    ],
)
def test_contradictions_are_refused_before_X_is_read(options, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier(**options).fit(None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"forbid": [("alcohol", "ashh")]},
            r"forbid names the column 'ashh', which X does not have; did you mean 'ash'",
        ),
        ({"require": [(0, 8)]}, "require has column 8, but X has 8 columns"),
        ({"require": [(0, 1), ("malic_acid", "alcohol")]}, "the required edges form a cycle"),
        ({"forbid": [("alcohol", "ash")], "structure": [-1, -1, 0, -1, -1, -1, -1, -1]}, "which forbid excludes"),
        (
            {"require": [("ash", "alcohol")], "structure": Subset(ordering="natural")},
            "the ordering puts 'alcohol' before",
        ),
        (
            {"require": [("ash", "alcohol")], "structure": ParentSets.from_lists([[-1, 1], *[[-1]] * 7])},
            "not among the candidates",
        ),
    ],
)
def test_contradictions_with_the_columns(options, message, wine):
    with pytest.raises(ValueError, match=message):
        TANClassifier(**options).fit(*wine)


def test_names_need_a_frame(wine):
    X, y = wine
    with pytest.raises(ValueError, match="forbid names the column 'ash', but X has no column names"):
        TANClassifier(forbid=[("ash", "alcohol")]).fit(X.to_numpy(), y)
    assert TANClassifier("chow-liu", "ml", require=[(2, 0)]).fit(pd.DataFrame(X.to_numpy()), y).parents_[0] == 2


SIZES = ["S", "M", "L", "XL"]


@pytest.fixture(scope="module")
def shirts():
    """Sizes whose order, which is not that of the alphabet, tells the class; few rows have the third."""
    rng = np.random.default_rng(0)
    size = rng.choice(4, 400, p=[0.4, 0.33, 0.02, 0.25])
    y = rng.random(400) < np.array([0.1, 0.4, 0.6, 0.9])[size]
    frame = pd.DataFrame(
        {"size": np.array(SIZES)[size], "age": rng.integers(5, 95, 400), "noise": rng.normal(size=400)}
    )
    return frame, np.where(y, "yes", "no")


@pytest.mark.parametrize("parameters", ["ml", "penalised", QUICK])
def test_cut_points_of_the_user(shirts, parameters):
    X, y = shirts
    clf = TANClassifier("chow-liu", parameters, binning={"age": [18, 65]}, random_state=0).fit(X, y)
    assert clf.encoder_.columns[1].cuts.tolist() == [18, 65]
    assert clf.encoder_.value_labels(1) == ["< 18", "18 to 65", ">= 65"]
    plain = TANClassifier("chow-liu", parameters, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.encoder_.columns[2].cuts, plain.encoder_.columns[2].cuts)
    bins = pd.DataFrame({"size": "S", "age": [17.9, 18, 64, 65], "noise": 0.0})
    assert clf.encoder_.encode(tanager.data.as_frame(bins))[:, 1].tolist() == [0, 1, 1, 2]


def test_cut_points_hold_in_the_parts_that_presets_are_chosen_on(shirts):
    X, y = shirts
    clf = TANEnsembleClassifier(binning={"age": [50]}, random_state=0).fit(X, y)
    assert all(member.encoder_.columns[1].cuts.tolist() == [50] for member in clf.estimators_)
    assert clf.choice_["tried"]


def test_ordinal_categories_are_in_their_order(shirts):
    X, y = shirts
    smooth = PenalisedLikelihood(main=100.0, pairs=100.0)  # all but a straight line in the order of the sizes
    clf = TANClassifier("none", smooth, ordinal_features={"size": SIZES}, random_state=0).fit(X, y)
    assert clf.encoder_.value_labels(0) == SIZES
    probabilities = clf.predict_proba(pd.DataFrame({"size": SIZES, "age": 40, "noise": 0.0}))[:, 1]
    assert (np.diff(probabilities) > 0).all()


def test_a_value_that_no_row_has_lies_between_its_neighbours(shirts):
    X, y = shirts
    is_known = X["size"].ne("L").to_numpy()
    clf = TANClassifier("none", "penalised", ordinal_features={"size": SIZES}, random_state=0)
    clf.fit(X[is_known], y[is_known])
    few, middle, many = clf.predict_proba(pd.DataFrame({"size": ["M", "L", "XL"], "age": 40, "noise": 0.0}))[:, 1]
    assert few + 0.05 < middle < many - 0.05


@pytest.mark.parametrize("kind", [TANClassifier, TANEnsembleClassifier])
def test_ordered_categories_of_pandas_are_ordinal(shirts, kind, tmp_path):
    X, y = shirts
    ordered = X.assign(size=pd.Categorical(X["size"], SIZES, ordered=True))
    by_dtype = kind(random_state=0).fit(ordered, y)
    by_option = kind(random_state=0, ordinal_features={"size": SIZES}).fit(X, y)
    np.testing.assert_array_equal(by_dtype.predict_proba(X), by_option.predict_proba(X))
    by_option.save(tmp_path / "model.tanager")
    loaded = tanager.load(tmp_path / "model.tanager")
    assert loaded.encoder_.columns[0].is_ordinal
    assert loaded.ordinal_features == {"size": SIZES}
    np.testing.assert_array_equal(loaded.predict_proba(ordered), by_option.predict_proba(X))


def test_ordinal_numbers_in_an_order_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (200, 2))
    clf = TANClassifier("none", "ml", ordinal_features={1: [3, 0, 2, 1]}).fit(X, X[:, 1] > 1)
    assert clf.encoder_.columns[1].categories.tolist() == [3, 0, 2, 1]
    assert clf.score(X, X[:, 1] > 1) == 1.0
    assert clf.score(X.astype(float), X[:, 1] > 1) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"binning": {"age": [65, 18]}},
            r"binning of column 'age' must be a list of numbers that rise, got \[65, 18\]",
        ),
        ({"binning": {"age": "few"}}, "binning of column 'age' must be a list of numbers that rise, got 'few'"),
        ({"binning": {"age": [1, np.inf]}}, "binning of column 'age' must be a list"),
        ({"ordinal_features": ["size"]}, "ordinal_features must be a dict from columns to lists"),
        ({"ordinal_features": {"size": "SML"}}, "ordinal_features of column 'size' must be a list of its values"),
        ({"ordinal_features": {"size": ["S", "M", "S"]}}, "ordinal_features of column 'size' has the value 'S' twice"),
        ({"ordinal_features": {"size": ["S", None]}}, "ordinal_features of column 'size' must be a list"),
        ({"ordinal_features": {1.5: ["S", "M"]}}, "ordinal_features must name columns"),
    ],
)
def test_wrong_cut_points_and_orders_are_refused_before_X_is_read(options, message):
    with pytest.raises(ValueError, match=message):
        TANClassifier(**options).fit(None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"binning": {"agee": [18]}}, "binning names the column 'agee', which X does not have; did you mean 'age'"),
        ({"binning": {"size": [18]}}, "binning has cut points for column 'size', which holds categories"),
        ({"binning": {"age": [18]}, "ordinal_features": {"age": [1, 2]}}, "'age', which is ordinal"),
        ({"ordinal_features": {"size": ["S", "M", "L"]}}, r"column 'size' has the value 'XL', which its order \['S'"),
        ({"ordinal_features": {"colour": ["S", "M"]}}, "ordinal_features names the column 'colour'"),
    ],
)
def test_cut_points_and_orders_that_do_not_fit_the_columns(options, message, shirts):
    with pytest.raises(ValueError, match=message):
        TANClassifier(**options).fit(*shirts)
