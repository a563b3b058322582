"""Fits to rows that come in pieces from files or classes."""

import os
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tanager import (
    Counts,
    FileSource,
    GradientDescent,
    NaiveBayesStart,
    PenalisedLikelihood,
    Piece,
    TANClassifier,
    TANEnsembleClassifier,
)
from tanager.data import SourceError
from tests.strategies import SEEDS

ADD_ONE = Counts(smoothing=1.0)
LITTLE = 100_000  # bytes: a sample of 1,000 rows, and blocks of 1,024


def make_rows(seed=0, n_rows=3000):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    X = pd.DataFrame({"size": rng.normal(y, 1.0).round(1), "colour": rng.choice(["blue", "red", "green"], n_rows)})
    X["step"] = rng.integers(0, 6, n_rows) + y
    X["twin"] = X["step"] // 2 + rng.integers(0, 2, n_rows)
    X.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    return X, np.array(["no", "perhaps", "yes"])[y]


class Pieces:
    """A source of a user's."""

    def __init__(self, X, y, cuts=(), weight=None, **options):
        self.X, self.y, self.weight, self.edges = X, y, weight, [0, *sorted(cuts), len(y)]
        self.passes = 0
        for name, value in options.items():
            setattr(self, name, value)

    def pieces(self):
        self.passes += 1
        for lo, hi in zip(self.edges[:-1], self.edges[1:], strict=True):
            rows = (self.X[lo:hi], self.y[lo:hi])
            yield rows if self.weight is None else (*rows, self.weight[lo:hi])


def write_folder(folder, X, y, n_files=3):
    folder.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(y)), n_files)):
        part = X.iloc[rows].assign(answer=y[rows])
        pa.parquet.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"part-{k}.parquet")
    return folder


def assert_same(clf, other):
    np.testing.assert_array_equal(clf.parents_, other.parents_)
    np.testing.assert_array_equal(clf.network_.theta, other.network_.theta)
    np.testing.assert_array_equal(clf.network_.log_prior, other.network_.log_prior)


@given(SEEDS, st.lists(st.integers(0, 3000), max_size=4), st.sampled_from(["none", "chow-liu"]), st.booleans())
@settings(max_examples=8, deadline=None)
def test_counts_are_those_of_one_fit_to_the_last_bit(seed, cuts, structure, is_weighted):
    X, y = make_rows(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float) if is_weighted else None
    source = Pieces(X, y, cuts, weight, memory=LITTLE)
    clf = TANClassifier(structure, ADD_ONE).fit(source)
    assert_same(clf, TANClassifier(structure, ADD_ONE).fit(X, y, weight))
    assert source.passes == 2
    assert not hasattr(clf, "fingerprint_")


@pytest.mark.parametrize("parameters", [ADD_ONE, GradientDescent(epochs=3), PenalisedLikelihood(main=1.0, pairs=1.0)])
def test_rows_that_fit_into_the_sample_are_learned_from_as_in_memory(parameters):
    X, y = make_rows()
    clf = TANClassifier("chow-liu", parameters, random_state=0).fit(Pieces(X, y, [5, 1999]))
    assert_same(clf, TANClassifier("chow-liu", parameters, random_state=0).fit(X, y))
    assert hasattr(clf, "fingerprint_")


@pytest.mark.parametrize(
    ("structure", "options"),
    [
        ("chow-liu", {}),
        ("subset", {"parent_dropout": 0.1, "smoothness": 0.03}),
        ("free", {"start": NaiveBayesStart(), "ridge": 0.1, "shrinkage": 0.01}),
    ],
)
def test_gradient_descent_on_files_is_as_good_as_in_memory(structure, options):
    X, y = make_rows(n_rows=6000)
    parameters = GradientDescent(epochs=8, **options)
    clf = TANClassifier(structure, parameters, random_state=0).fit(Pieces(X, y, [2500], memory=LITTLE))
    once = TANClassifier(structure, parameters, random_state=0).fit(X, y)
    assert abs(clf.score(X, y) - once.score(X, y)) < 0.02
    np.testing.assert_array_equal(clf.description_.log_prior, once.description_.log_prior)
    again = TANClassifier(structure, parameters, random_state=0, n_jobs=2).fit(Pieces(X, y, [1, 3000], memory=LITTLE))
    assert_same(clf, again)


def test_defaults_and_ensembles_learn_from_a_sample_or_all_rows():
    X, y = make_rows(n_rows=4000)
    source = Pieces(X, y, [1000], memory=LITTLE)
    clf = TANClassifier(random_state=0).fit(source)
    assert clf.score(X, y) > 0.6
    assert clf.choice_["tried"]
    ensemble = TANEnsembleClassifier("trees", ADD_ONE, random_state=0).fit(source)
    once = TANEnsembleClassifier("trees", ADD_ONE, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ensemble.predict_proba(X), once.predict_proba(X))


def test_smoothing_that_rows_decide_on_is_judged_by_the_sample():
    X, y = make_rows()
    clf = TANClassifier("chow-liu", "ml").fit(Pieces(X, y, [100], memory=LITTLE))
    once = TANClassifier("chow-liu", "ml").fit(X, y)
    np.testing.assert_array_equal(clf.parents_, once.parents_)
    np.testing.assert_array_equal(clf.description_.theta, once.description_.theta)
    np.testing.assert_allclose(clf.predict_proba(X), once.predict_proba(X), atol=0.1)


def test_class_weights():
    X, y = make_rows()
    options = {"structure": "chow-liu", "parameters": ADD_ONE, "class_weight": "balanced"}
    clf = TANClassifier(**options).fit(Pieces(X, y, [100], memory=LITTLE))
    once = TANClassifier(**options).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), once.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(clf.description_.theta, once.description_.theta, rtol=1e-5)


@pytest.mark.parametrize("kind", ["folder", "file", "list", "data set", "csv"])
def test_files_of_all_kinds(tmp_path, kind):
    X, y = make_rows()
    folder = write_folder(tmp_path / "rows", X, y, 1 if kind == "file" else 3)
    data = {"folder": folder, "file": folder / "part-0.parquet", "list": sorted(folder.iterdir())}.get(kind)
    if kind == "data set":
        data = pa.dataset.dataset(folder)
    elif kind == "csv":
        data = tmp_path / "rows.csv.gz"
        X.assign(answer=y).to_csv(data, index=False)
    source = FileSource(data, "answer", memory=LITTLE)
    clf = TANClassifier("chow-liu", ADD_ONE).fit(source)
    assert_same(clf, TANClassifier("chow-liu", ADD_ONE).fit(X, y))
    assert clf.feature_names_in_.tolist() == list(X.columns)
    predicted = np.concatenate([clf.predict(piece.X) for piece in source.pieces()])
    np.testing.assert_array_equal(predicted, clf.predict(X))


def test_columns_and_weights_of_files(tmp_path):
    X, y = make_rows()
    weight = np.arange(len(y)) % 3
    folder = write_folder(tmp_path / "rows", X.assign(heavy=weight), y)
    source = FileSource(folder, "answer", sample_weight="heavy", columns=["step", "size"], memory=LITTLE)
    clf = TANClassifier("chow-liu", ADD_ONE).fit(source)
    assert_same(clf, TANClassifier("chow-liu", ADD_ONE).fit(X[["step", "size"]], y, weight))


def test_interrupted_fit_goes_on(tmp_path):
    X, y = make_rows(n_rows=5000)
    parameters = GradientDescent(epochs=6)

    class Stops(Pieces):
        stop_after = 99

        def pieces(self):
            for number, piece in enumerate(super().pieces()):
                if number >= self.stop_after:
                    raise KeyboardInterrupt
                yield piece

    source = Stops(X, y, range(500, 5000, 500), memory=LITTLE, folder=tmp_path / "work", identity="these rows")
    clf = TANClassifier("chow-liu", parameters, random_state=0)
    source.stop_after = 4
    with pytest.raises(KeyboardInterrupt):
        clf.fit(source)
    assert not hasattr(clf, "classes_")
    source.stop_after = 99
    clf.fit(source)
    fresh = TANClassifier("chow-liu", parameters, random_state=0)
    assert_same(clf, fresh.fit(Pieces(X, y, [7], memory=LITTLE)))
    source.stop_after, passes = 0, source.passes
    again = TANClassifier("chow-liu", parameters, random_state=0).fit(source)
    assert_same(clf, again)  # from what the folder has
    assert source.passes == passes


@pytest.mark.parametrize("length", [0, 40])
def test_files_that_lost_their_end_are_made_again(tmp_path, length):
    """After a power cut a summary or a state may be shorter than it was."""
    X, y = make_rows(3)
    source = Pieces(X, y, memory=LITTLE, folder=tmp_path, identity=1)
    options = ("chow-liu", GradientDescent(epochs=2, batch_size=500))
    whole = TANClassifier(*options, random_state=0).fit(source)
    states = list(tmp_path.glob("rows-*/*-*"))
    assert states
    for path in (tmp_path / "summary", *states):
        os.truncate(path, length)
    assert_same(TANClassifier(*options, random_state=0).fit(source), whole)


def test_training_goes_on_from_the_last_epoch(tmp_path):
    X, y = make_rows(n_rows=5000)
    parameters = GradientDescent(epochs=6)
    source = Pieces(X, y, memory=LITTLE, folder=tmp_path, identity=1)
    clf = TANClassifier("free", parameters, random_state=0).fit(source)
    states = sorted(tmp_path.glob("rows-auto/*-*"))
    assert [path.name.split("-")[1] for path in states] == ["refit", "search"]
    states[0].unlink()
    assert_same(clf, TANClassifier("free", parameters, random_state=0).fit(source))


def test_progress_in_rows(capsys):
    X, y = make_rows()
    TANClassifier("chow-liu", ADD_ONE, verbose=1).fit(Pieces(X, y, [1000], memory=LITTLE, n_rows=3000))
    shown = capsys.readouterr().err
    for what in ("reading", "encoding", "counting"):
        assert f"{what}: 3,000 of 3,000 rows, 0 s left" in shown


def test_class_and_values_that_come_late_are_there_from_the_start():
    X, y = make_rows()
    order = np.argsort(y, kind="stable")
    clf = TANClassifier("none", ADD_ONE).fit(Pieces(X.iloc[order], y[order], [1, 900, 2000], memory=LITTLE))
    assert clf.classes_.tolist() == ["no", "perhaps", "yes"]
    assert_same(clf, TANClassifier("none", ADD_ONE).fit(X, y))


def test_empty_pieces_are_left_out(tmp_path):
    X, y = make_rows()
    clf = TANClassifier("none", ADD_ONE).fit(Pieces(X, y, [0, 0, 1000, 1000, 3000], memory=LITTLE))
    assert_same(clf, TANClassifier("none", ADD_ONE).fit(X, y))
    with pytest.raises(SourceError, match="no rows with a positive weight"):
        TANClassifier("none", ADD_ONE).fit(Pieces(X[:0], y[:0]))
    with pytest.raises(SourceError, match="no rows with a positive weight"):
        TANClassifier("none", ADD_ONE).fit(Pieces(X, y, weight=np.zeros(len(y))))


def test_temporary_files_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X, y = make_rows()
    TANClassifier("none", ADD_ONE).fit(Pieces(X, y, memory=LITTLE))
    with pytest.raises(ValueError, match="infinite"):
        TANClassifier("none", ADD_ONE).fit(Pieces(X.assign(step=np.inf), y, memory=LITTLE))
    assert list(tmp_path.iterdir()) == []


def second(**changes):
    """Rows whose second piece is different."""
    X, y = make_rows()
    after = {name: value for name, value in changes.items() if name != "drop"}
    later = X[1000:].assign(**after).drop(columns=changes.get("drop", []))
    return [Piece(X[:1000], y[:1000]), Piece(later, y[1000:], name="rows of May")]


class Given:
    def __init__(self, *passes):
        self.passes = list(passes)
        self.memory = LITTLE

    def pieces(self):
        yield from self.passes.pop(0)


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ([second(drop=["twin"])], r"rows of May: .*(feature names|3 features)"),
        ([second(twin="word")], "rows of May: column 'twin' holds categories, but numbers in the pieces before"),
        ([second(colour=1.5)], "rows of May: column 'colour' holds numbers, but categories in the pieces before"),
        ([second(size=np.inf)], "rows of May: column 'size' has infinite values"),
        ([second(size=pd.Timestamp("2020-01-01"))], "rows of May: column 'size' holds dates"),
        ([second(), second()[:1]], "had 2 pieces when it was first read, and now 1"),
        ([second(), [second()[0], Piece(*make_rows(n_rows=9), name="rows of May")]], "rows of May has 9 rows, but had"),
        ([second(), [second()[0], second()[1]._replace(y=np.full(2000, "new"))]], "rows of May|class 'new'"),
        ([[(np.zeros((2, 1)), [0, 1, 1])]], "piece 0: .*inconsistent"),
        ([[(np.zeros((2, 1)), [0, None])]], "piece 0: .*None"),
        ([[(np.zeros((2, 1)), [0, 1], [1, -1])]], "piece 0: sample_weight must not be negative"),
    ],
)
def test_errors_name_the_piece_and_change_nothing(passes, message):
    clf = TANClassifier("none", ADD_ONE)
    with pytest.raises(SourceError, match=message):
        clf.fit(Given(*passes))
    assert not hasattr(clf, "classes_")


def damage(folder, path):
    path.write_bytes(path.read_bytes()[:-200] + b"x" * 200)


def change(folder, path):
    rows = pa.parquet.read_table(path)
    pa.parquet.write_table(rows.slice(0, 10), path)


def lose_column(folder, path):
    pa.parquet.write_table(pa.parquet.read_table(path).drop_columns(["twin"]), path)


def retype(folder, path):
    rows = pa.parquet.read_table(path).to_pandas().assign(twin="word")
    pa.parquet.write_table(pa.Table.from_pandas(rows, preserve_index=False), path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damage, r"part-1.parquet"),
        (change, r"part-1.parquet has changed while it was being read"),
        (lose_column, r"part-1.parquet has no column 'twin', which other files have"),
        (retype, r"part-1.parquet"),
    ],
)
@pytest.mark.parametrize("is_opened_before", [True, False])
def test_errors_name_the_file_and_keep_the_work(tmp_path, spoil, message, is_opened_before):
    X, y = make_rows()
    folder = write_folder(tmp_path / "rows", X, y)
    if is_opened_before:
        source = FileSource(folder, "answer", memory=LITTLE, folder=tmp_path / "work")
        message = "part-1.parquet"
    spoil(folder, folder / "part-1.parquet")
    if not is_opened_before:
        if spoil is change:
            pytest.skip("a file that was changed before is as good as any")
        source = FileSource(folder, "answer", memory=LITTLE, folder=tmp_path / "work")
    clf = TANClassifier("none", ADD_ONE)
    with pytest.raises(SourceError, match=message):
        clf.fit(source)
    assert not hasattr(clf, "classes_")


def test_file_that_changes_between_the_passes(tmp_path):
    X, y = make_rows()
    folder = write_folder(tmp_path / "rows", X, y)

    class Touches(FileSource):
        def pieces(self):
            yield from super().pieces()
            os.utime(folder / "part-2.parquet", (1, 1))

    with pytest.raises(SourceError, match=r"part-2.parquet has changed while it was being read"):
        TANClassifier("none", ADD_ONE).fit(Touches(folder, "answer", memory=LITTLE))


def test_file_that_vanishes(tmp_path):
    X, y = make_rows()
    folder = write_folder(tmp_path / "rows", X, y)
    source = FileSource(folder, "answer")
    shutil.rmtree(folder)
    with pytest.raises(SourceError, match=r"part-0.parquet"):
        TANClassifier("none", ADD_ONE).fit(source)


def test_wrong_arguments(tmp_path):
    X, y = make_rows()
    folder = write_folder(tmp_path / "rows", X, y)
    with pytest.raises(SourceError, match="no column 'answers'"):
        FileSource(folder, "answers")
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        FileSource(tmp_path / "none", "answer")
    with pytest.raises(TypeError, match="path, a list of paths or a pyarrow data set"):
        FileSource(X, "answer")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="has no Parquet files"):
        FileSource(tmp_path / "empty", "answer")
    (tmp_path / "text.parquet").write_text("no rows")
    with pytest.raises(SourceError, match=r"text.parquet"):
        FileSource(tmp_path / "text.parquet", "answer")
    with pytest.raises(ValueError, match=r"fit\(source\) takes neither"):
        TANClassifier().fit(FileSource(folder, "answer"), y)


def test_frame_with_a_column_of_that_name_is_no_source():
    X, y = make_rows(n_rows=100)
    TANClassifier("none", ADD_ONE).fit(X.rename(columns={"step": "pieces"}), y)
