import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tanager import IndependentSearches, TANClassifier, TANEnsembleClassifier, load
from tanager.data import Fingerprint


def rows(n, card=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, card, (n, 8), dtype=np.uint8), rng.integers(0, 2, n)


@pytest.mark.parametrize("n", [40, 600, 20_000])
def test_training_rows_are_told_from_others(n):
    codes, y = rows(n)
    fingerprint = Fingerprint.take(codes, y)
    assert fingerprint.n_rows == n
    assert len(fingerprint.marks) <= 512
    assert fingerprint.share_of(codes, y) == pytest.approx(1.0, abs=0.02)
    assert fingerprint.share_of(*rows(n, seed=1)) <= 0.02
    part = slice(0, max(30, n // 4))
    assert fingerprint.share_of(codes[part], y[part]) == pytest.approx(1.0, abs=0.02)


def test_half_of_the_rows():
    codes, y = rows(4000)
    others, other_y = rows(4000, seed=1)
    mixed = np.concatenate([codes, others]), np.concatenate([y, other_y])
    assert Fingerprint.take(codes, y).share_of(*mixed) == pytest.approx(0.5, abs=0.1)


def test_rows_of_another_class_are_others():
    codes, y = rows(1000)
    assert Fingerprint.take(codes, y).share_of(codes, 1 - y) <= 0.02


def test_repeated_rows_are_not_taken_for_training_rows():
    """A third of the rows is one and the same; fresh rows have it, too."""
    (codes, y), (others, other_y) = rows(3000), rows(3000, seed=1)
    codes[:1000], y[:1000] = 1, 1
    others[:1000], other_y[:1000] = 1, 1
    fingerprint = Fingerprint.take(codes, y)
    share = fingerprint.share_of(others, other_y)
    assert share is None or share <= 0.1


def test_cannot_be_told():
    codes, y = rows(2000, card=2)
    assert Fingerprint.take(codes, y).share_of(*rows(2000, card=2, seed=1)) is None
    codes, y = rows(20_000)
    assert Fingerprint.take(codes, y).share_of(codes[:20], y[:20]) is None


def test_order_and_type_do_not_matter():
    codes, y = rows(1000)
    order = np.random.default_rng(3).permutation(1000)
    one, other = Fingerprint.take(codes, y), Fingerprint.take(codes[order].astype(np.int64), y[order].astype(np.int32))
    assert (one.limit, one.repeated) == (other.limit, other.repeated)
    np.testing.assert_array_equal(one.marks, other.marks)


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_classifiers_keep_it(tmp_path, kind):
    X, y = load_breast_cancer(return_X_y=True)
    clf = (
        TANClassifier("chow-liu", "ml")
        if kind == "single"
        else TANEnsembleClassifier(IndependentSearches("none", 2), "ml")
    )
    clf.fit(X[:300], y[:300]).save(tmp_path / "m.tanager")
    found = load(tmp_path / "m.tanager")
    assert (found.fingerprint_.n_rows, found.fingerprint_.limit) == (300, clf.fingerprint_.limit)
    assert found.fingerprint_.share_of(found._encode(X[:300]), y[:300]) == 1.0
    assert found.fingerprint_.share_of(found._encode(X[300:]), y[300:]) == 0.0
