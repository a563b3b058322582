import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from tanager import IndependentSearches, TANClassifier, TANEnsembleClassifier, load
from tanager.data import CategoryColumn, Fingerprint, FrameEncoder, as_frame, hash_cells, hash_rows
from tanager.report.rows import ReportRows


def rows(n, card=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, card, (n, 8), dtype=np.uint8), rng.integers(0, 2, n)


def hashed(codes, y):
    """Hashes of rows of categories."""
    encoder = FrameEncoder((CategoryColumn(np.arange(9)),) * codes.shape[1], None)
    return hash_rows(hash_cells(encoder, as_frame(codes), codes), y)


@pytest.mark.parametrize("n", [40, 600, 20_000])
def test_training_rows_are_told_from_others(n):
    codes, y = rows(n)
    fingerprint = Fingerprint.take(hashed(codes, y))
    assert fingerprint.n_rows == n
    assert len(fingerprint.marks) <= 512
    assert fingerprint.share_of(hashed(codes, y)) == pytest.approx(1.0, abs=0.02)
    assert fingerprint.share_of(hashed(*rows(n, seed=1))) <= 0.02
    part = slice(0, max(30, n // 4))
    assert fingerprint.share_of(hashed(codes[part], y[part])) == pytest.approx(1.0, abs=0.02)


def test_half_of_the_rows():
    codes, y = rows(4000)
    others, other_y = rows(4000, seed=1)
    mixed = np.concatenate([codes, others]), np.concatenate([y, other_y])
    assert Fingerprint.take(hashed(codes, y)).share_of(hashed(*mixed)) == pytest.approx(0.5, abs=0.1)


def test_rows_of_another_class_are_others():
    codes, y = rows(1000)
    assert Fingerprint.take(hashed(codes, y)).share_of(hashed(codes, 1 - y)) <= 0.02


def test_repeated_rows_are_not_taken_for_training_rows():
    """A third of the rows is one and the same; fresh rows have it, too."""
    (codes, y), (others, other_y) = rows(3000), rows(3000, seed=1)
    codes[:1000], y[:1000] = 1, 1
    others[:1000], other_y[:1000] = 1, 1
    fingerprint = Fingerprint.take(hashed(codes, y))
    share = fingerprint.share_of(hashed(others, other_y))
    assert share is None or share <= 0.1


def test_cannot_be_told():
    codes, y = rows(2000, card=2)
    assert Fingerprint.take(hashed(codes, y)).share_of(hashed(*rows(2000, card=2, seed=1))) is None
    codes, y = rows(20_000)
    assert Fingerprint.take(hashed(codes, y)).share_of(hashed(codes[:20], y[:20])) is None


def test_order_and_type_do_not_matter():
    codes, y = rows(1000)
    order = np.random.default_rng(3).permutation(1000)
    again = hashed(codes[order].astype(np.int64), y[order].astype(np.int32))
    one, other = Fingerprint.take(hashed(codes, y)), Fingerprint.take(again)
    assert (one.limit, one.repeated) == (other.limit, other.repeated)
    np.testing.assert_array_equal(one.marks, other.marks)


def test_numbers_count_and_not_their_bins():
    X = np.random.default_rng(0).normal(size=(500, 2))
    y = np.arange(500) % 2
    clf = TANClassifier("none", "ml", binning="quantile", max_bins=2).fit(X[:250], y[:250])

    def share(part):
        frame = as_frame(X[part])
        return clf.fingerprint_.share_of(hash_rows(hash_cells(clf.encoder_, frame, clf._encode(X[part])), y[part]))

    assert (share(slice(0, 250)), share(slice(250, 500))) == (1.0, 0.0)


@pytest.mark.parametrize("kind", ["single", "ensemble"])
def test_classifiers_keep_it(tmp_path, kind):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    ensemble = TANEnsembleClassifier(IndependentSearches("none", 2), "ml")
    clf = TANClassifier("chow-liu", "ml") if kind == "single" else ensemble
    weight = np.r_[np.ones(300), np.zeros(269)]
    clf.fit(X, y, weight).save(tmp_path / "m.tanager")
    found = load(tmp_path / "m.tanager")
    assert (found.fingerprint_.n_rows, found.fingerprint_.limit) == (300, clf.fingerprint_.limit)
    assert ReportRows.read(found, X[:300], y[:300]).share_trained_on(found) == 1.0
    assert ReportRows.read(found, X[300:], y[300:]).share_trained_on(found) == 0.0
