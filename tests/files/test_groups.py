"""Model files of networks whose parents' values are grouped: the same classifier, or an error that names the array."""

import numpy as np
import pytest

import tanager
from tanager import DisjointTrees, PenalisedLikelihood, TANClassifier, TANEnsembleClassifier
from tanager.files import ModelFileError
from tests.files.model_files import content_of, find_array, put_together, small_classifier, take_apart
from tests.files.test_hostile import mutate, peak_bytes, refused

GIVEN = PenalisedLikelihood(main=1.0, pairs=1.0, max_groups=3)


def grouped_rows(n_rows=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4)).round(2)
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


MAKERS = {
    "classifier": lambda: TANClassifier("chow-liu", GIVEN, random_state=0),
    "ensemble": lambda: TANEnsembleClassifier(DisjointTrees(2), GIVEN, random_state=0),
}


@pytest.fixture(scope="module", params=MAKERS)
def fitted(request):
    clf = MAKERS[request.param]().fit(*grouped_rows())
    layout = every_network(clf)[0].layout
    assert layout.groups.cards.max() < layout.cards.max()
    return clf


@pytest.fixture(scope="module")
def content(fitted, tmp_path_factory):
    return content_of(fitted, tmp_path_factory.mktemp("groups"))


def every_network(clf):
    """Those that classify, and those that describe the data."""
    members = getattr(clf, "estimators_", [clf])
    return [network for member in members for network in (member.network_, member.description_)]


def groups_name(header):
    return next(entry["name"] for entry in header["arrays"] if entry["name"].endswith(".groups"))


def with_array(content, name, array):
    """The file with another array in the place of one, of any length and type."""
    header, data = take_apart(content)
    new_data = b""
    for entry in header["arrays"]:
        lo, hi, _ = find_array(header, entry["name"])
        part = data[lo:hi]
        if entry["name"] == name:
            part = array.tobytes()
            entry.update(dtype=array.dtype.name, shape=list(array.shape))
        entry["new"] = len(new_data)
        new_data += part + bytes(-len(part) % 64)
    for entry in header["arrays"]:
        entry["offset"] = entry.pop("new")
    return put_together(header, new_data)


def groups_in(content):
    """Name and entries of the first array of groups."""
    header, data = take_apart(content)
    lo, hi, letter = find_array(header, groups_name(header))
    return groups_name(header), np.frombuffer(data[lo:hi], letter)


def test_a_loaded_classifier_is_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "m.tanager")
    back = tanager.load(tmp_path / "m.tanager")
    X, _ = grouped_rows()
    for rows in (X, np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)):
        assert back.predict_proba(rows).tobytes() == fitted.predict_proba(rows).tobytes()
        np.testing.assert_array_equal(back.predict(rows), fitted.predict(rows))
    assert back.options_ == fitted.options_
    assert back.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    for network, other in zip(every_network(back), every_network(fitted), strict=True):
        for array, expected in zip(network.layout.groups, other.layout.groups, strict=True):
            np.testing.assert_array_equal(array, expected)
        np.testing.assert_array_equal(network.theta, other.theta)
        np.testing.assert_array_equal(network.log_prior, other.log_prior)


def test_a_classifier_that_was_loaded_is_saved_as_it_was(fitted, tmp_path):
    first = content_of(fitted, tmp_path)
    assert content_of(tanager.load(tmp_path / "saved.tanager"), tmp_path) == first


def test_a_network_without_groups_has_no_array_of_them(tmp_path):
    header, _ = take_apart(content_of(small_classifier(), tmp_path))
    assert not [entry["name"] for entry in header["arrays"] if entry["name"].endswith(".groups")]


def test_the_array_itself_is_not_refused(content, tmp_path):
    name, groups = groups_in(content)
    assert not refused(tmp_path / "m.tanager", with_array(content, name, groups))


def with_entry(groups, value, place=0):
    changed = groups.copy()
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda groups: groups[:-1], r"groups' must have \d+ entries, got \d+"),
        (lambda groups: np.append(groups, 0), r"groups' must have \d+ entries, got \d+"),
        (lambda groups: groups[:0], r"groups' must have \d+ entries, got 0"),
        (lambda groups: groups.astype(np.int32), "groups' must be one-dimensional of int64"),
        (lambda groups: groups.astype(np.float64), "groups' must be one-dimensional of int64"),
        (lambda groups: groups[None], "groups' must be one-dimensional of int64"),
        (lambda groups: with_entry(groups, -1), "must number the groups of feature 0 from 0 on"),
        (lambda groups: with_entry(groups, 99), "must number the groups of feature 0 from 0 on"),
        (lambda groups: with_entry(groups, 2**40), "must number the groups of feature 0 from 0 on"),
        (lambda groups: with_entry(groups, 2**62, -1), "must number the groups of feature 3 from 0 on"),
        (lambda groups: with_entry(groups, 2**63 - 1), "must number the groups of feature 0 from 0 on"),
        (lambda groups: with_entry(groups, -(2**63)), "must number the groups of feature 0 from 0 on"),
        (lambda groups: np.where(groups == 0, 1, groups), "must number the groups of feature 0 from 0 on"),
        (lambda groups: np.where(groups == 1, 3, groups), "must number the groups of feature 0 from 0 on"),
        (lambda groups: np.zeros_like(groups), r"theta' must have \d+ entries, got \d+"),
    ],
)
def test_damaged_groups_are_refused(content, tmp_path, damage, complaint):
    path = tmp_path / "damaged.tanager"
    name, groups = groups_in(content)
    damaged = with_array(content, name, damage(groups))
    peak, is_refused = peak_bytes(path, damaged)
    assert is_refused
    assert peak < 30 * len(damaged) + 500_000
    with pytest.raises(ModelFileError, match=complaint):
        tanager.load(path)
    assert issubclass(ModelFileError, ValueError)


def test_mutated_files_are_refused_or_predict(content, tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "mutated.tanager"
    n_refused = sum(refused(path, mutate(rng, content)) for _ in range(300))
    assert 150 < n_refused < 300
