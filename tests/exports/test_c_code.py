"""The C header, compiled and run: the same classes as its twin in Python, and as the classifier but for rounding."""

import re
import shutil
import subprocess
from copy import copy
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tanager import CoveringPaths, GradientDescent, IndependentSearches, TANClassifier, TANEnsembleClassifier
from tanager.data import as_frame
from tanager.exports.c_code import to_c
from tanager.exports.integers import bit_width_curve, quantise
from tests.fine_bins import PARENTS, fine_classifier, people, with_companion
from tests.strategies import models

GCC = shutil.which("gcc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
needs_gcc = pytest.mark.skipif(GCC is None, reason="NO C COMPILER: gcc is absent, so the C export was NOT tested")

# Reads rows of codes and prints class and scores of each.
MAIN = """
#include <stdio.h>
#include "model.h"

int main(void)
{
    m_code codes[M_N_FEATURES];
    int32_t scores[M_N_CLASSES];
    unsigned long code;
    for (;;) {
        for (size_t i = 0; i < M_N_FEATURES; ++i) {
            if (scanf("%lu", &code) != 1) {
                return 0;
            }
            codes[i] = (m_code)code;
        }
        m_scores(codes, scores);
        printf("%d", m_predict(codes));
        for (size_t c = 0; c < M_N_CLASSES; ++c) {
            printf(" %ld", (long)scores[c]);
        }
        printf("\\n");
    }
}
"""

# Reads lines "feature kind cell", kind n for numbers, t for texts and x for missing texts, and prints the code of each.
ENCODE = """
#include <stdio.h>
#include <stdlib.h>
#include "model.h"

int main(void)
{
    static char line[10000];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *rest;
        const size_t feature = strtoul(line, &rest, 10);
        char *cell = rest + 3;
        cell[strlen(cell) - 1] = 0;
        if (rest[1] == 'n') {
            printf("%u\\n", (unsigned)m_encode_number(feature, strtod(cell, NULL)));
        } else {
            printf("%u\\n", (unsigned)m_encode_text(feature, rest[1] == 't' ? cell : NULL));
        }
    }
    printf("%s|%s\\n", m_feature_name(0), m_class_name(0));
    return 0;
}
"""


def compile_and_run(folder, clf, program, text, **options):
    to_c(clf, folder / "model.h", name="m", **options)
    (folder / "main.c").write_text(program)
    subprocess.run([GCC, *FLAGS, "-o", folder / "main", folder / "main.c"], check=True, cwd=folder)
    done = subprocess.run([folder / "main"], input=text.encode(), capture_output=True, check=True)
    return done.stdout.decode()


def run_codes(folder, clf, codes, **options):
    text = "\n".join(" ".join(map(str, row)) for row in codes.tolist())
    lines = compile_and_run(folder, clf, MAIN, text, **options).splitlines()
    numbers = np.array([line.split() for line in lines], np.int64)
    return numbers[:, 0], numbers[:, 1:]


def codes_with_holes(clf, n_rows, seed=0, share=0.1):
    """Random codes, some of them unknown."""
    rng = np.random.default_rng(seed)
    cards = clf.encoder_.cards.astype(np.int64)
    codes = rng.integers(0, cards, size=(n_rows, len(cards)))
    return np.where(rng.random(codes.shape) < share, cards, codes)


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def digits_classifier(digits):
    X, y = digits
    return TANClassifier("chow-liu", parameters="ml").fit(X[::2], y[::2])


def mixed():
    """A table of numbers, words and both, with holes, and rows with values that training does not show."""
    rng = np.random.default_rng(5)
    n_rows = 400
    y = rng.integers(0, 3, n_rows)
    either = np.array([7, "sieben", 2.5, 'a\\b"c?', Decimal("1.5"), True, "??/"], dtype=object)
    frame = pd.DataFrame(
        {
            "length": np.where(rng.random(n_rows) < 0.1, np.nan, y + rng.normal(size=n_rows) / 2),
            "weight": y - rng.normal(size=n_rows),
            "colour": [["rot", "grün", None, "blau", "gelb"][k] for k in y + rng.integers(0, 3, n_rows)],
            "either": pd.Series(either[(y * 2 + rng.integers(0, 3, n_rows)) % 7], dtype=object),
            "many": pd.Series([f"v{k}" for k in rng.geometric(0.2, n_rows) + y], dtype=object),
            "flag": y == rng.integers(0, 3, n_rows),
        }
    )
    classes = np.array(["no", 'per"haps', "yes"], dtype=object)[y]
    clf = TANClassifier("chow-liu", parameters="ml", max_categories=6).fit(frame[:300], classes[:300])
    test = frame[300:].reset_index(drop=True)
    test.loc[:9, "colour"] = "never seen"
    test.loc[5:20, "weight"] = np.nan
    return clf, test, classes[300:]


@needs_gcc
@pytest.mark.parametrize("bits", [1, 4, 8, 16])
def test_digits_same_as_the_twin(digits, digits_classifier, tmp_path, bits):
    X, _ = digits
    clf = digits_classifier
    codes = np.concatenate([clf.encoder_.encode(as_frame(X)), codes_with_holes(clf, 2000)])
    integer = quantise(clf, bits)
    classes, scores = run_codes(tmp_path, clf, codes, bits=bits)
    np.testing.assert_array_equal(scores, integer.scores(codes))
    np.testing.assert_array_equal(classes, integer.predict(codes))
    assert len(classes) == len(codes)


@needs_gcc
def test_mixed_table_same_as_the_twin(tmp_path):
    clf, test, _ = mixed()
    codes = np.concatenate([clf.encoder_.encode(as_frame(test)), codes_with_holes(clf, 2000, share=0.3)])
    classes, scores = run_codes(tmp_path, clf, codes, bits=6)
    np.testing.assert_array_equal(scores, quantise(clf, 6).scores(codes))
    np.testing.assert_array_equal(classes, quantise(clf, 6).predict(codes))


@needs_gcc
@pytest.mark.parametrize("kind", ["ensemble", "pseudo", "one class", "many values"])
def test_other_classifiers_same_as_the_twin(tmp_path, kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (80, 5)), rng.integers(0, 3, 80)
    parameters, options = GradientDescent(epochs=2), {"binning": "none", "random_state": 0}
    clf = TANClassifier("pseudo", parameters, **options)
    if kind == "ensemble":
        clf = TANEnsembleClassifier(IndependentSearches("subset", n_members=3), parameters, **options)
    if kind == "one class":
        y = np.zeros(80, int)
    if kind == "many values":
        X = np.column_stack([np.tile(np.arange(400), 2), np.arange(800) % 3])
        y = rng.integers(0, 3, 800)
        clf.set_params(max_categories=None)
    clf.fit(X, y)
    codes = codes_with_holes(clf, 500, share=0.2)
    classes, scores = run_codes(tmp_path, clf, codes)
    np.testing.assert_array_equal(scores, quantise(clf).scores(codes))
    np.testing.assert_array_equal(classes, quantise(clf).predict(codes))


@pytest.fixture(scope="module")
def fine():
    """Many values as children and groups of them as parents; one of these has a category."""
    return fine_classifier()


@needs_gcc
@pytest.mark.parametrize("kind", ["tree", "no parents", "ensemble", "companion"])
@pytest.mark.parametrize("bits", [4, 8, 16])
def test_grouped_values_same_as_the_twin(tmp_path, fine, kind, bits):
    clf, frame = fine
    if kind == "no parents":
        clf, frame = fine_classifier([-1] * len(PARENTS))
    if kind == "ensemble":
        clf = TANEnsembleClassifier(CoveringPaths(2), "penalised", random_state=0).fit(*people())
        assert len(clf.estimators_) == 2
    if kind == "companion":
        clf = with_companion()
    codes = np.concatenate([clf.encoder_.encode(as_frame(frame)), codes_with_holes(clf, 2000, share=0.3)])
    classes, scores = run_codes(tmp_path, clf, codes, bits=bits)
    integer = quantise(clf, bits)
    np.testing.assert_array_equal(scores, integer.scores(codes))
    np.testing.assert_array_equal(classes, integer.predict(codes))
    assert ("m_groups" in (tmp_path / "model.h").read_text()) == (kind != "no parents")


def test_scores_of_grouped_values_are_log_probabilities_rounded(fine):
    clf, _ = fine
    codes = codes_with_holes(clf, 300, share=0.3)
    integer = quantise(clf, 16)
    difference = integer.scores(codes) * integer.step - exact_scores(clf, codes)
    difference -= difference.mean(axis=1, keepdims=True)
    assert np.abs(difference).max() <= 6 * integer.step + 1e-4


def test_grouped_values_take_little_room(tmp_path, fine):
    clf, _ = fine
    expanded = copy(clf)
    expanded.network_ = clf.network_.expanded
    to_c(clf, tmp_path / "grouped.h")
    to_c(expanded, tmp_path / "expanded.h")
    assert quantise(clf).penalties.size < quantise(expanded).penalties.size / 3
    assert (tmp_path / "grouped.h").stat().st_size < (tmp_path / "expanded.h").stat().st_size / 2


def test_constants_have_small_types(tmp_path, fine):
    clf, _ = fine
    to_c(clf, tmp_path / "m.h", name="m")
    found = re.findall(r"static const (\w+) m_(\w+)\[", (tmp_path / "m.h").read_text())
    kinds = {name: kind for kind, name in found}
    assert kinds["groups"] == "uint8_t"
    assert kinds["group_ptr"] == kinds["child"] == kinds["text_ptr"] == "uint8_t"
    assert kinds["offset"] == "uint16_t"
    assert kinds["tables"] == "m_penalty"


@needs_gcc
def test_cells_get_the_codes_of_the_encoder(tmp_path):
    clf, test, _ = mixed()
    test = pd.concat([test, test[:9].copy()], ignore_index=True)
    extra = len(test) - 9
    cuts = clf.encoder_.columns[0].cuts
    test.loc[extra : extra + len(cuts) - 1, "length"] = cuts  # a value on a cut goes up
    test.loc[extra + 3 :, "weight"] = [1e300, -1e300, -0.0, 5e-324, 0.1, 3.0]
    test.loc[extra:, "either"] = pd.Series([1, 1.0, False, "7", 7.0, "True", 2.5, None, 8], dtype=object).to_numpy()
    expected = clf.encoder_.encode(as_frame(test))
    lines = []
    for row in test.itertuples(index=False):
        for feature, cell in enumerate(row):
            if cell is None or (cell != cell and feature >= 2):
                lines.append(f"{feature} x ")
            else:
                kind = "t" if isinstance(cell, str) else "n"
                lines.append(f"{feature} {kind} {cell if kind == 't' else repr(float(cell))}")
    output = compile_and_run(tmp_path, clf, ENCODE, "\n".join(lines) + "\n").splitlines()
    np.testing.assert_array_equal(np.array(output[:-1], int).reshape(expected.shape), expected)
    assert output[-1] == "length|no"


def exact_scores(clf, codes):
    """Log-joint by the rule of the C code: unknown children left out, unknown parents averaged over."""
    network = clf.network_
    tables = [network.cpt(i) for i in range(network.n_features)]
    marginal = {}

    def given_class(i):
        j = network.parents[i]
        if i not in marginal:
            marginal[i] = tables[i][0] if j < 0 else (tables[i] * given_class(j)[:, None, :]).sum(axis=0)
        return marginal[i]

    out = np.tile(network.log_prior, (len(codes), 1))
    for n, row in enumerate(codes):
        for i, j in enumerate(network.parents):
            if row[i] < network.cards[i]:
                is_lost = j >= 0 and row[j] == network.cards[j]
                line = given_class(i)[row[i]] if is_lost else tables[i][0 if j < 0 else row[j], row[i]]
                out[n] += np.log(line)
    return out


def test_scores_are_log_probabilities_rounded(digits_classifier):
    clf = digits_classifier
    codes = codes_with_holes(clf, 100)
    integer = quantise(clf, 16)
    difference = integer.scores(codes) * integer.step - exact_scores(clf, codes)
    difference -= difference.mean(axis=1, keepdims=True)
    # At most half a step for each of 64 features and the prior, twice because of the mean; and single precision.
    assert np.abs(difference).max() <= 65 * integer.step + 1e-4


def test_16_bits_give_the_classes_of_the_classifier(digits, digits_classifier):
    X, _ = digits
    clf = digits_classifier
    codes = clf.encoder_.encode(as_frame(X))
    integer = quantise(clf, 16)
    classes, full = integer.predict(codes), clf.network_.predict(codes)
    log_joint = clf.network_.log_joint(codes)
    rows = np.flatnonzero(classes != full)
    assert len(rows) <= 2
    # Where they differ, the two classes are as good as tied.
    assert (log_joint[rows, full[rows]] - log_joint[rows, classes[rows]] <= 65 * integer.step).all()


def test_an_unknown_leaf_is_summed_out_exactly(digits_classifier):
    clf = digits_classifier
    leaves = [i for i in range(64) if i not in clf.parents_]
    codes = codes_with_holes(clf, 300, share=0.0)
    codes[:, leaves] = clf.encoder_.cards[leaves]
    assert (quantise(clf, 16).predict(codes) == clf.network_.predict(codes)).mean() > 0.99


def test_unknown_parents_averaged_over_beat_terms_left_out(digits):
    """The table of docs/exports-c.md, with two splits of digits."""
    errors = []
    for seed in range(2):
        X, X_test, y, y_test = train_test_split(*digits, test_size=0.5, random_state=seed)
        clf = TANClassifier("chow-liu", parameters="ml").fit(X, y)
        X_test[np.random.default_rng(seed).random(X_test.shape) < 0.1] = np.nan
        integer = quantise(clf, 8)
        without = replace(integer, penalties=integer.penalties.copy())
        for term in np.flatnonzero(integer.parent < 64):
            without.table(term)[-1] = 0
        codes = clf._encode(X_test)
        classes = [clf.network_.predict(codes), integer.predict(codes), without.predict(codes)]
        errors.append([np.mean(numbers != y_test) for numbers in classes])
    exact, averaged, left_out = np.mean(errors, axis=0)
    assert averaged < left_out - 0.005
    assert averaged < exact + 0.01


@settings(max_examples=40, deadline=None)
@given(models(is_fixed=True))
def test_random_networks(model):
    """Any network: penalties in range, lines with a zero, and rounding within half a step where nothing is cut off."""
    from tanager.exports.integers import _below_best, _network_terms
    from tanager.model import Network

    chosen = np.arange(len(model.cards))
    network = Network.from_arena(model.layout, model.arena(), model.prior, chosen)
    for term in _network_terms(network):
        size = _below_best(term.log_table)
        assert (size >= 0).all()
        assert (size.min(axis=-1) == 0).all()
        assert len(size) == (1 if term.parent < 0 else model.cards[term.parent] + 1)


def test_penalties_use_the_bits_and_every_line_has_a_best_class(digits_classifier):
    for bits in range(1, 17):
        integer = quantise(digits_classifier, bits)
        assert integer.penalties.max() == 2**bits - 1
        assert integer.penalties.dtype == (np.uint8 if bits <= 8 else np.uint16)
        assert all((integer.table(term).min(axis=-1) == 0).all() for term in range(64))
        assert integer.largest_sum() <= 65 * (2**bits - 1) < 2**31


def test_error_over_bit_width(digits, digits_classifier):
    X, y = digits
    curve = bit_width_curve(digits_classifier, X[1::2], y[1::2])
    assert curve.bits.tolist() == list(range(1, 17))
    assert curve.full_error == pytest.approx(1 - digits_classifier.score(X[1::2], y[1::2]))
    # A bit is much better than chance already, six are nearly as good as all, and seven are.
    assert curve.error[0] < 0.2
    assert abs(curve.error[5] - curve.full_error) < 0.01
    assert (np.abs(curve.error[6:] - curve.full_error) < 0.006).all()


def test_bits_that_cannot_be(digits_classifier):
    for bits in (0, 17, 2.5, True, "8"):
        with pytest.raises(ValueError, match="bits must be a whole number from 1 to 16"):
            quantise(digits_classifier, bits)


def test_sums_that_would_overflow_are_refused(monkeypatch, digits_classifier):
    monkeypatch.setattr("tanager.exports.integers._LARGEST_SUM", 1000)
    with pytest.raises(ValueError, match="use fewer bits"):
        quantise(digits_classifier, 8)


def test_averaged_probabilities_are_refused():
    X, y = np.arange(40).reshape(20, 2), np.arange(20) % 2
    members = IndependentSearches("none", n_members=2)
    clf = TANEnsembleClassifier(members, "ml", combine="probability").fit(X, y)
    with pytest.raises(ValueError, match="combine='log'"):
        quantise(clf)


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "ä", "a;b"])
def test_names_that_c_does_not_have(digits_classifier, tmp_path, name):
    with pytest.raises(ValueError, match="must be a C name"):
        to_c(digits_classifier, tmp_path / "a.h", name=name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["a\0b", "x" * 5000])
def test_texts_that_c_does_not_have(tmp_path, value):
    X = np.array([["a"], [value]] * 5, dtype=object)
    clf = TANClassifier("none", parameters="ml").fit(X, [0, 1] * 5)
    with pytest.raises(ValueError, match="column 'x0' has a category with a zero character or of more than 4095 bytes"):
        to_c(clf, tmp_path / "a.h")


@needs_gcc
def test_odd_names_stay_inside_their_texts(tmp_path):
    odd = '*/ #error "x" /* ??/ \\ % \n'
    clf = TANClassifier("none", parameters="ml").fit(pd.DataFrame({odd: ["??/", "b\\"] * 5}), [odd, "zz"] * 5)
    output = compile_and_run(tmp_path, clf, ENCODE, "0 t ??/\n0 t b\\\n0 t c\n")
    assert output == f"0\n1\n2\n{odd}|{odd}\n"
    assert "??" not in (tmp_path / "model.h").read_text()


def test_a_header_of_which_little_is_used_gives_no_warning(tmp_path, digits_classifier):
    program = '#include "model.h"\nint main(void) { return 0; }\n'
    assert compile_and_run(tmp_path, digits_classifier, program, "") == ""
