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
        clf = TANClassifier(structure, parameters, forbid=forbid, require=require, random_state=seed).fit(X, y)
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
