"""Bayesian networks of other programs: their own inference gives the probabilities of the network that was exported."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import Counts, GradientDescent, IndependentSearches, TANClassifier, TANEnsembleClassifier
from tanager.exports import evidence, network_tables, to_bif, to_pgmpy, to_pyagrum, to_xmlbif
from tests.exports.classifiers import (
    cyclic_classifier,
    described_probabilities,
    iris_classifier,
    mixed_classifier,
    pgmpy,
    pgmpy_probabilities,
    posteriors,
    pyagrum,
    pyagrum_probabilities,
    random_classifier,
    with_unknown_cells,
    with_unknown_codes,
)
from tests.fine_bins import fine_classifier
from tests.strategies import models

# Cpts are kept in single precision, so that a line of one sums to one up to 1e-7 or so; the exports are normalised.
CLOSE = 1e-6


@pytest.fixture(scope="module")
def iris():
    return iris_classifier(structure="all")


@pytest.fixture(scope="module")
def mixed():
    return mixed_classifier(structure="all", missing="ignore")


def test_pyagrum_iris(iris):
    clf, X = iris
    bn = to_pyagrum(clf, target="species")
    assert bn.check() == ()
    assert bn.variable("petal_width_cm").description() == "petal width (cm)"
    assert bn.variable("species").labels() == ("setosa", "versicolor", "virginica")
    found = pyagrum_probabilities(bn, evidence(clf, X), "species")
    np.testing.assert_allclose(found, described_probabilities(clf, X), atol=CLOSE, rtol=0)


def test_pgmpy_iris(iris):
    clf, X = iris
    model = to_pgmpy(clf)
    assert model.check_model()
    X = X[::10]
    found = pgmpy_probabilities(model, evidence(clf, X))
    np.testing.assert_allclose(found, described_probabilities(clf, X), atol=CLOSE, rtol=0)


def test_a_counted_network_predicts_the_same_elsewhere():
    clf, X = iris_classifier(structure="chow-liu", parameters=Counts(1.0))
    found = pyagrum_probabilities(to_pyagrum(clf), evidence(clf, X))
    np.testing.assert_allclose(found, clf.predict_proba(X), atol=CLOSE, rtol=0)
    # Parameters that are learned to tell the classes apart do not describe the data, so these are two networks.
    clf, X = iris_classifier(structure="chow-liu")
    assert abs(described_probabilities(clf, X) - clf.predict_proba(X)).max() > 0.01


def test_unknown_values_are_summed_out(mixed):
    clf, frame = mixed
    frame = with_unknown_cells(frame)[:40]
    rows = evidence(clf, frame)
    assert any(len(row) < frame.shape[1] - 2 for row in rows)
    expected = described_probabilities(clf, frame)
    bn = to_pyagrum(clf)
    assert bn.check() == ()
    np.testing.assert_allclose(pyagrum_probabilities(bn, rows), expected, atol=CLOSE, rtol=0)
    np.testing.assert_allclose(pgmpy_probabilities(to_pgmpy(clf), rows[:10]), expected[:10], atol=CLOSE, rtol=0)


def test_grouped_values_have_lines_of_their_own():
    """Other programs know no groups."""
    clf, frame = fine_classifier()
    tables = network_tables(clf)
    for feature, parents in enumerate(tables.parents):
        n_lines = [len(tables.features[parent].states) for parent in parents]
        assert tables.cpts[feature].shape[0] == int(np.prod(n_lines))
    frame = frame[:20].assign(town=["town 1", "elsewhere"] * 10)
    rows, expected = evidence(clf, frame), described_probabilities(clf, frame)
    assert rows[0]["age"].isdigit()
    np.testing.assert_allclose(pyagrum_probabilities(to_pyagrum(clf), rows), expected, atol=CLOSE, rtol=0)
    np.testing.assert_allclose(pgmpy_probabilities(to_pgmpy(clf), rows[:3]), expected[:3], atol=CLOSE, rtol=0)


@pytest.mark.parametrize(("write", "ending"), [(to_bif, "bif"), (to_xmlbif, "bifxml")])
def test_files_are_read_by_both_programs(mixed, tmp_path, write, ending):
    clf, frame = mixed
    frame = with_unknown_cells(frame)[:10]
    rows, expected = evidence(clf, frame), described_probabilities(clf, frame)
    path = tmp_path / f"model.{ending}"
    path.write_text(write(clf), encoding="ascii")
    bn = pyagrum.loadBN(str(path))
    assert bn.check() == ()
    np.testing.assert_allclose(pyagrum_probabilities(bn, rows), expected, atol=CLOSE, rtol=0)
    reader = pgmpy.readwrite.BIFReader if ending == "bif" else pgmpy.readwrite.XMLBIFReader
    model = reader(str(path)).get_model()
    assert model.check_model()
    np.testing.assert_allclose(pgmpy_probabilities(model, rows), expected, atol=CLOSE, rtol=0)


@pytest.mark.parametrize(("write", "reader"), [(to_bif, "BIFReader"), (to_xmlbif, "XMLBIFReader")])
def test_files_keep_every_digit(mixed, write, reader):
    clf, _ = mixed
    model = getattr(pgmpy.readwrite, reader)(string=write(clf)).get_model()
    for own in to_pgmpy(clf).get_cpds():
        read = model.get_cpds(own.variable)
        assert read.variables == own.variables
        assert read.state_names == own.state_names
        np.testing.assert_array_equal(read.values, own.values)


def test_what_pyagrum_writes_is_read_by_pgmpy(mixed, tmp_path):
    """Users save a network with pyAgrum's own writer too, which keeps six digits."""
    clf, _ = mixed
    bn = to_pyagrum(clf)
    for ending, reader in [("bif", "BIFReader"), ("bifxml", "XMLBIFReader")]:
        path = tmp_path / f"saved.{ending}"
        pyagrum.saveBN(bn, str(path))
        model = getattr(pgmpy.readwrite, reader)(str(path)).get_model()
        for own in to_pgmpy(clf).get_cpds():
            read = model.get_cpds(own.variable)
            axes = [read.variables.index(name) for name in own.variables]
            np.testing.assert_allclose(read.values.transpose(axes), own.values, atol=1e-6)


def test_tables_sum_to_one(mixed):
    tables = network_tables(mixed[0])
    assert tables.prior.sum() == pytest.approx(1.0, abs=1e-15)
    for cpt in tables.cpts:
        np.testing.assert_allclose(cpt.sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_names_keep_what_they_stand_for(mixed):
    tables = network_tables(mixed[0])
    assert [variable.name for variable in (tables.target, *tables.features)] == [
        "class",
        "colour_or_so",
        "size_cm",
        "v_1st_guess",
        "table_1",
        "class_2",
        "constant",
        "weight",
    ]
    colour, guess, constant = tables.features[0], tables.features[2], tables.features[5]
    assert colour.states == ("Red", "blue_dark", "grosser", "red_2", "table_")
    assert colour.state_labels == ("Red", "blue {dark}", "größer", "red", "table")
    assert guess.states == ("minus_1", "1", "v_1_5", "2")
    assert constant.states == ("1", "unused")


@settings(max_examples=40, deadline=None)
@given(models(is_ordered=True, is_fixed=True, max_features=4, max_card=3, max_rows=6))
def test_pyagrum_on_random_networks(model):
    clf = random_classifier(model)
    for codes in (model.codes, with_unknown_codes(model)):
        found = pyagrum_probabilities(to_pyagrum(clf), evidence(clf, codes))
        np.testing.assert_allclose(found[:, : model.n_classes], posteriors(clf.description_, codes), atol=2e-6, rtol=0)
        assert not found[:, model.n_classes :].any()


@settings(max_examples=20, deadline=None)
@given(models(is_ordered=True, is_fixed=True, max_features=4, max_card=3, max_rows=6, has_pairs=True))
def test_two_parents_on_random_networks(model):
    clf = random_classifier(model)
    expected = posteriors(clf.description_, model.codes)
    found = pyagrum_probabilities(to_pyagrum(clf), evidence(clf, model.codes))
    np.testing.assert_allclose(found[:, : model.n_classes], expected, atol=2e-6, rtol=0)
    cpds = {cpd.variable: cpd for cpd in to_pgmpy(clf).get_cpds()}
    tables = network_tables(clf)
    for feature, variable in enumerate(tables.features):
        axes = [tables.target.name, *(tables.features[j].name for j in tables.parents[feature])]
        assert cpds[variable.name].variables == [variable.name, *axes]
        values = np.moveaxis(cpds[variable.name].values, 1, -1)  # [x, x_a, x_b, c]
        flat = np.moveaxis(values.reshape(len(values), -1, values.shape[-1]), 0, 1)
        np.testing.assert_allclose(flat, tables.cpts[feature])


AWKWARD = [
    "table",
    "Default3",
    "stablee1",
    "variable",
    "007",
    "7",
    "-7",
    "1.5",
    "true",
    "class",
    "unused",
    "|",
    "",
    "µ",
]
AWKWARD += ["A", "a", "default", "type", "network", "property x", "probability(", "{", "}", "a, b", "//", "/*", "<b>"]
WORDS = st.one_of(st.text(max_size=6), st.sampled_from(AWKWARD))


def named_classifier(names, labels):
    cells = np.resize(np.array(labels, dtype=object), (3 * len(labels) + 1, len(names)))
    parents = [-1, 0, *[-1] * (len(names) - 2)]
    classes = np.where(np.arange(len(cells)) % 2, labels[0], labels[-1])
    return TANClassifier(parents, parameters="ml").fit(pd.DataFrame(cells, columns=names), classes)


def expected_states(clf, target):
    tables = network_tables(clf, target)
    return {variable.name: list(variable.states) for variable in (tables.target, *tables.features)}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(WORDS, min_size=2, max_size=4, unique=True), st.lists(WORDS, min_size=2, max_size=4, unique=True), WORDS
)
def test_pyagrum_reads_any_name_and_label(tmp_path_factory, names, labels, target):
    clf = named_classifier(names, labels)
    folder = tmp_path_factory.mktemp("names")
    for write, ending in [(to_bif, "bif"), (to_xmlbif, "bifxml")]:
        path = folder / f"model.{ending}"
        path.write_text(write(clf, target), encoding="ascii")
        bn = pyagrum.loadBN(str(path))
        assert {name: list(bn.variable(name).labels()) for name in bn.names()} == expected_states(clf, target)


@pytest.mark.parametrize(("write", "reader"), [(to_bif, "BIFReader"), (to_xmlbif, "XMLBIFReader")])
def test_pgmpy_reads_awkward_names_and_labels(write, reader):
    """Its reader of BIF files takes a second for each, so that there is one file with all of them."""
    clf = named_classifier(AWKWARD, AWKWARD[::2])
    model = getattr(pgmpy.readwrite, reader)(string=write(clf, "table9")).get_model()
    read = {name: model.get_cpds(name).state_names[name] for name in model.nodes}
    assert read == expected_states(clf, "table9")
    for own in to_pgmpy(clf, "table9").get_cpds():
        np.testing.assert_array_equal(model.get_cpds(own.variable).values, own.values)


@pytest.mark.parametrize("make", [to_pyagrum, to_pgmpy, to_bif, to_xmlbif])
def test_refusals(make):
    X, y = np.random.default_rng(0).integers(0, 2, (30, 3)), np.arange(30) % 2
    with pytest.raises(ValueError, match="not fitted yet"):
        make(TANClassifier())
    with pytest.raises(TypeError, match="not a dict"):
        make({})
    members, parameters = IndependentSearches("none", n_members=2), GradientDescent(epochs=1)
    ensemble = TANEnsembleClassifier(members, parameters, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="estimators_"):
        make(ensemble)
    make(ensemble.estimators_[0])
    with pytest.raises(ValueError, match=r"cycle \('x0' -> "):
        make(cyclic_classifier()[0])
