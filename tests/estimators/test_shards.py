"""Fits to rows in partitions that are worked on one by one; tests/dask has them on a real cluster."""

from functools import reduce as fold

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import Counts, GradientDescent, TANClassifier
from tanager.data import Piece, SourceError
from tanager.estimators.shards import ShardData, cut_shards, join_blocks
from tanager.learning import Limits
from tests.estimators.test_streams import ADD_ONE, LITTLE, Pieces, assert_same, make_rows


class ShardsHere:
    """Shards in this process."""

    def __init__(self, blocks):
        self.blocks, self.n_shards, self.n_rows = blocks, len(blocks), sum(len(block.y) for block in blocks)

    def reduce(self, prepare, merge, given, argument):
        function = prepare(given)
        return fold(merge, [function(block, argument) for block in self.blocks])


class Here:
    """Partitions in this process."""

    folder = None

    def __init__(self, pieces):
        self.parts = [Piece(*piece, name=f"partition {number}") for number, piece in enumerate(pieces)]
        self.template, self.memory, self.identity = self.parts[0].X[:1], LITTLE, "these rows"
        self.passes = 0

    def reduce(self, function, merge, own=()):
        return fold(merge, self.call(function, own))

    def call(self, function, own):
        self.passes += 1
        return [function(*given) for given in (zip(self.parts, own, strict=True) if len(own) else zip(self.parts))]

    def shards(self, function, own, n_rows):
        blocks = self.call(function, own)
        cut = enumerate(spans for spans in cut_shards(n_rows) if spans)
        return ShardsHere(
            [join_blocks(k, [span[1:] for span in spans], [blocks[block] for block, *_ in spans]) for k, spans in cut]
        )


def fit(clf, source):
    return clf._fit(clf._check(), ShardData(clf, source, 1), Limits())


def partitions(X, y, cuts=(), weight=None):
    return Here(list(Pieces(X, y, cuts, weight).pieces()))


@given(st.lists(st.integers(0, 3000), max_size=5), st.sampled_from(["none", "chow-liu"]), st.booleans())
@settings(max_examples=4, deadline=None)
def test_counts_are_those_of_one_fit_to_the_last_bit(cuts, structure, is_weighted):
    X, y = make_rows()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if is_weighted else None
    source = partitions(X, y, cuts, weight)
    clf = fit(TANClassifier(structure, ADD_ONE), source)
    assert_same(clf, TANClassifier(structure, ADD_ONE).fit(X, y, weight))
    assert source.passes == 3


@given(st.lists(st.integers(0, 3000), max_size=5))
@settings(max_examples=3, deadline=None)
def test_training_does_not_depend_on_how_rows_are_cut(cuts):
    X, y = make_rows()
    weight = np.random.default_rng(0).uniform(0, 3, len(y))
    options = {"structure": "subset", "parameters": GradientDescent(epochs=2), "class_weight": "balanced"}
    clf = fit(TANClassifier(**options, random_state=0), partitions(X, y, cuts, weight))
    assert_same(clf, fit(TANClassifier(**options, random_state=0), partitions(X, y, (), weight)))


def test_training_on_all_rows_in_each_step_is_that_of_one_machine():
    X, y = make_rows()
    parameters = GradientDescent(epochs=20, batch_size=3000)
    clf = fit(TANClassifier("chow-liu", parameters, random_state=0), partitions(X, y, [100, 2000]))
    once = TANClassifier("chow-liu", parameters, random_state=0).fit(X, y)
    np.testing.assert_array_equal(clf.parents_, once.parents_)
    np.testing.assert_allclose(clf.predict_proba(X), once.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(clf.description_.theta, once.description_.theta)


def test_lengths_that_are_left_open_are_those_of_a_cluster():
    X, y = make_rows()
    clf = fit(TANClassifier("none", "gradient", random_state=0), partitions(X, y))
    assert clf.options_["parameters"] == GradientDescent(epochs=10, batch_size=1000)
    assert len(clf.history_["loss"]) == 10
    assert clf.score(X, y) > 0.6


def test_rows_that_fit_into_the_sample_are_learned_from_as_in_memory():
    X, y = make_rows()
    source = partitions(X, y, [5, 5, 1999])
    source.memory = 2**30
    clf = fit(TANClassifier("chow-liu", "ml", random_state=0), source)
    assert_same(clf, TANClassifier("chow-liu", "ml", random_state=0).fit(X, y))
    assert source.passes == 2


def spoilt(number, **changes):
    """Partitions of which one is different."""
    X, y = make_rows()
    parts = list(Pieces(X, y, range(500, 3000, 500)).pieces())
    X, y = parts[number]
    drop = changes.pop("drop", [])
    parts[number] = (X.assign(**changes).drop(columns=drop), y)
    return Here(parts)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (spoilt(3, drop=["twin"]), r"partition 3: .*(feature names|3 features)"),
        (spoilt(4, twin="word"), "partition 4: column 'twin' holds categories, but numbers in partition 0"),
        (spoilt(5, colour=1.5), "partition 5: column 'colour' holds numbers, but categories in partition 0"),
        (spoilt(2, size=np.inf), "partition 2: column 'size' has infinite values"),
        (Here([(np.zeros((2, 1)), [0, 1]), (np.zeros((2, 1)), [0, 1, 1])]), "partition 1: .*inconsistent"),
        (Here([(np.zeros((2, 1)), [0, 1]), (np.zeros((2, 1)), [0, None])]), "partition 1: .*None"),
        (Here([(np.zeros((1, 1)), [1], [0.0])]), "no rows with a positive weight"),
    ],
)
def test_errors_name_the_partition_and_change_nothing(source, message):
    clf = TANClassifier("none", ADD_ONE)
    with pytest.raises(SourceError, match=message):
        fit(clf, source)
    assert not hasattr(clf, "classes_")


def test_rows_that_change_between_the_passes():
    X, y = make_rows()

    class Loses(Here):
        def shards(self, function, own, n_rows):
            self.parts[1] = self.parts[1]._replace(X=self.parts[1].X[:-1], y=self.parts[1].y[:-1])
            return super().shards(function, own, n_rows)

    with pytest.raises(SourceError, match=r"partition 1 has 1,999 rows, but had 2,000 when it was first read"):
        fit(TANClassifier("none", ADD_ONE), Loses(Pieces(X, y, [1000]).pieces()))


def test_an_order_of_values_must_be_the_same_everywhere():
    values = pd.Categorical(["a", "b"] * 5, categories=["a", "b"], ordered=True)
    other = values.reorder_categories(["b", "a"])
    parts = [(pd.DataFrame({"x": each}), [0, 1] * 5) for each in (values, other)]
    with pytest.raises(SourceError, match="column 'x' has another order of its values"):
        fit(TANClassifier("none", ADD_ONE), Here(parts))


def test_a_fit_goes_on_from_its_folder(tmp_path):
    X, y = make_rows()
    parameters = GradientDescent(epochs=4)

    def run(seed=0):
        source = partitions(X, y, [100])
        source.folder = tmp_path
        return source, fit(TANClassifier("subset", parameters, random_state=seed), source)

    first, clf = run()
    again, same = run()
    assert_same(clf, same)
    assert (first.passes, again.passes) == (3, 1)  # rows are encoded anew, but not looked over


def test_smoothing_is_that_of_the_sample():
    X, y = make_rows()
    clf = fit(TANClassifier("chow-liu", Counts()), partitions(X, y, [100]))
    assert_same(clf, TANClassifier("chow-liu", Counts()).fit(Pieces(X, y, [2000], memory=LITTLE)))
