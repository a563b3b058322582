"""Fits on a real Dask cluster: processes on this machine."""

import gc
import inspect
import os
import pickle
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

import tanager
import tanager.dask
from tanager import Counts, GradientDescent
from tanager.dask import ClusterError
from tanager.dask.cluster import Cluster
from tanager.dask.shards import DaskShards
from tanager.data import SourceError

ADD_ONE = Counts(smoothing=1.0)
LITTLE = 100_000  # bytes: a sample of 1,000 rows
CUTS = [0, 100, 100, 1700, 2400, 3000]  # of partitions, of which one is empty


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0") as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as made:
        yield made


def make_rows(n_rows=3000, seed=0):
    """Rows with a category, of which one value occurs only in the last partition, and missing cells in some."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, 3, n_rows))  # the last class comes late
    X = pd.DataFrame({"size": rng.normal(y, 1.0).round(1), "colour": rng.choice(["blue", "red"], n_rows)})
    X["step"] = rng.integers(0, 6, n_rows) + y
    X["twin"] = X["step"] // 2 + rng.integers(0, 2, n_rows)
    X.loc[2900:, "colour"] = "green"
    X.loc[200:900, "size"] = np.nan
    return X, pd.Series(np.array(["no", "perhaps", "yes"])[y], name="answer")


def on_cluster(X, y, cuts=CUTS):
    """Frame and series with the given partitions."""
    parts = [X.assign(answer=y).iloc[lo:hi] for lo, hi in pairwise(cuts)]
    frame = dd.from_map(lambda number: parts[number], range(len(parts)), meta=parts[0].iloc[:0])
    return frame[list(X.columns)], frame["answer"]


def fit(client, *options, X=None, **more):
    frame, classes = on_cluster(*make_rows()) if X is None else X
    fitting = {name: more.pop(name) for name in ("folder", "callback") if name in more}
    clf = tanager.dask.TANClassifier(*options, random_state=0, client=client, **more)
    return clf.fit(frame, classes, memory=LITTLE, **fitting)


def assert_same(clf, other):
    np.testing.assert_array_equal(clf.parents_, other.parents_)
    np.testing.assert_array_equal(clf.network_.theta, other.network_.theta)
    np.testing.assert_array_equal(clf.description_.theta, other.description_.theta)
    assert clf.classes_.tolist() == other.classes_.tolist()


def test_constructors_have_the_options_of_the_local_ones_and_a_client():
    for name in ("TANClassifier", "TANEnsembleClassifier"):
        local, other = getattr(tanager, name), getattr(tanager.dask, name)
        options = inspect.signature(other).parameters
        assert options == inspect.signature(local).parameters | {"client": options["client"]}
        assert other().get_params() == local().get_params() | {"client": None}
    with pytest.raises(TypeError, match="did you mean 'structure'"):
        tanager.dask.TANClassifier(structur="none")


def test_counts_are_those_of_one_machine_to_the_last_bit(client):
    X, y = make_rows()
    clf = fit(client, "chow-liu", ADD_ONE)
    local = tanager.TANClassifier("chow-liu", ADD_ONE).fit(X, y)
    assert_same(clf, local)
    assert clf.feature_names_in_.tolist() == list(X.columns)
    frame, _ = on_cluster(X, y)
    for rows in (frame, X):
        np.testing.assert_array_equal(clf.predict(rows), local.predict(X))
        np.testing.assert_array_equal(clf.predict_proba(rows), local.predict_proba(X))
    assert clf.predict(frame).dtype == local.classes_.dtype


def test_arrays_and_weights(client):
    X, y = make_rows()
    numbers = X[["size", "step", "twin"]].to_numpy()
    weight = np.arange(len(y)) % 3.0
    chunks = (100, 0, 1600, 700, 600)
    given = [da.from_array(each, chunks=(chunks,)) for each in (y.to_numpy().astype(str), weight)]
    rows = da.from_array(numbers, chunks=(chunks, (1, 2)))
    clf = tanager.dask.TANClassifier("chow-liu", ADD_ONE, client=client).fit(rows, *given, memory=LITTLE)
    local = tanager.TANClassifier("chow-liu", ADD_ONE).fit(numbers, y, weight)
    assert_same(clf, local)
    np.testing.assert_array_equal(clf.predict(rows), local.predict(numbers))
    np.testing.assert_array_equal(clf.predict_log_proba(rows), local.predict_log_proba(numbers))
    assert clf.predict_joint_log_proba(rows).shape == (3000, 3)


def test_files_of_which_rows_and_classes_are_columns(client, tmp_path):
    X, y = make_rows()
    for number, (lo, hi) in enumerate(pairwise(CUTS)):
        X.assign(answer=y).iloc[lo:hi].to_parquet(tmp_path / f"part-{number}.parquet")
    rows = dd.read_parquet(tmp_path)
    clf = fit(client, "chow-liu", ADD_ONE, X=(rows.drop(columns="answer"), rows["answer"]))
    assert_same(clf, tanager.TANClassifier("chow-liu", ADD_ONE).fit(X, y))


def half_squared_error():
    """A loss that workers cannot import."""

    def loss(log_joint, y, sample_weight):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        probability = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        error = probability - np.eye(log_joint.shape[1])[y]
        share = (weight / weight.sum())[:, None]
        slope = probability * (error - (probability * error).sum(axis=1, keepdims=True))
        return float((share * error**2).sum() / 2), share * slope

    return loss


@pytest.mark.parametrize("loss", ["hybrid", half_squared_error()], ids=["built-in", "function"])
def test_gradient_descent_on_all_rows_is_that_of_one_machine(client, loss):
    X, y = make_rows()
    parameters = GradientDescent(loss, epochs=8, batch_size=3000)
    clf = fit(client, "chow-liu", parameters)
    local = tanager.TANClassifier("chow-liu", parameters, random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.to_local().predict_proba(X), local.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(clf.description_.theta, local.description_.theta)


def test_several_fits_at_once(client):
    parameters = GradientDescent(epochs=3)
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(fit, client, "subset", parameters) for _ in range(2)]
        assert_same(*[run.result() for run in runs])


def test_ensembles(client):
    X, y = make_rows()
    frame, classes = on_cluster(X, y)
    options = {"members": "trees", "parameters": ADD_ONE, "random_state": 0}
    clf = tanager.dask.TANEnsembleClassifier(client=client, **options).fit(frame, classes, memory=LITTLE)
    local = tanager.TANEnsembleClassifier(**options).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(frame), local.predict_proba(X))
    assert type(clf.to_local()) is tanager.TANEnsembleClassifier


def test_copies_files_and_pickles_come_without_the_client(client, tmp_path):
    X, _ = make_rows()
    clf = fit(client, "none", ADD_ONE)
    assert clone(clf).client is client
    back = pickle.loads(pickle.dumps(clf))
    assert back.client is None
    local = clf.to_local()
    assert type(local) is tanager.TANClassifier
    assert "client" not in vars(local)
    assert type(tanager.dask.TANClassifier().to_local()) is tanager.TANClassifier
    clf.save(tmp_path / "model.tanager")
    for other in (back, local, pickle.loads(pickle.dumps(local)), tanager.load(tmp_path / "model.tanager")):
        np.testing.assert_array_equal(other.predict_proba(X), clf.predict_proba(X))


def other_type(X):
    return X.assign(twin="word")


def other_columns(X):
    return X.drop(columns="twin")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (other_type, "partition 4: column 'twin' holds categories, but numbers in partition 0"),
        (other_columns, "partition 4: .*feature names"),
    ],
)
def test_partitions_that_do_not_fit_together(client, change, message):
    X, y = make_rows()
    parts = [X.iloc[lo:hi] for lo, hi in pairwise(CUTS)]
    parts[4] = change(parts[4])
    frame = dd.from_map(lambda number: parts[number], range(5), meta=X.iloc[:0])
    clf = tanager.dask.TANClassifier("none", ADD_ONE, client=client)
    with pytest.raises(SourceError, match=message):
        clf.fit(frame, on_cluster(X, y)[1])
    assert not hasattr(clf, "classes_")


def test_wrong_arguments(client):
    X, y = make_rows()
    frame, classes = on_cluster(X, y)
    clf = tanager.dask.TANClassifier("none", ADD_ONE, client=client)
    with pytest.raises(TypeError, match="X must be a Dask frame, series or array, got DataFrame"):
        clf.fit(X, y)
    with pytest.raises(ValueError, match="X has 5 partitions and y has 1: cut both in the same places"):
        clf.fit(frame, classes.repartition(npartitions=1))
    with pytest.raises(ValueError, match="an array with 1 dimensions"):
        clf.fit(da.zeros(10), da.zeros(10))
    with pytest.raises(TypeError, match=r"X is a Dask frame or series; use tanager.dask, or call X.compute\(\) first"):
        tanager.TANClassifier().fit(frame, classes)


class Killer:
    """Frames of partitions whose reader kills its process at some of its calls."""

    def __init__(self, parts, folder, fatal):
        self.parts, self.folder, self.fatal = parts, folder, fatal

    def __call__(self, number):
        if number == 3:
            calls = len(os.listdir(self.folder))
            (self.folder / str(time.monotonic_ns())).touch()
            if calls in self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.parts[number]


def pid_of_worker(client):
    """Process of the worker that the cluster names first."""
    while True:
        client.wait_for_workers(1, timeout=60)
        try:
            return next(iter(client.run(os.getpid).values()))
        except (OSError, StopIteration):  # one that was killed a moment ago has not been missed yet
            time.sleep(0.05)


@pytest.mark.slow
def test_workers_that_are_killed_in_every_phase(client, tmp_path, monkeypatch):
    X, y = make_rows()
    parameters = GradientDescent(epochs=4)
    expected = fit(client, "subset", parameters)
    parts = [X.assign(answer=y).iloc[lo:hi] for lo, hi in pairwise(CUTS)]
    # The reader is called by the first pass, which is fatal, once more by it, then by the second, and so on.
    frame = dd.from_map(Killer(parts, tmp_path, {0, 2, 4}), range(5), meta=parts[0].iloc[:0])
    killed = []

    def kill_before(method, *fatal):
        calls = count(1)

        def run(self, *args):
            if next(calls) in fatal:
                os.kill(pid_of_worker(client), signal.SIGKILL)
                killed.append(method)
            return method(self, *args)

        return run

    # Before and after workers are asked for the sums of a step, of which there are 12, and before counts, which follow.
    monkeypatch.setattr(Cluster, "_answers", kill_before(Cluster._answers, 3))
    monkeypatch.setattr(DaskShards, "reduce", kill_before(DaskShards.reduce, 6, 13))
    rows = (frame[list(X.columns)], frame["answer"])
    assert_same(fit(client, "subset", parameters, X=rows), expected)
    assert len(os.listdir(tmp_path)) >= 6
    assert len(killed) == 3


class OddError(Exception):
    """An error that cannot be read again from its pickle."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def odd_loss(log_joint, y, weight=None):
    raise OddError("this", "that")


def test_an_error_that_cannot_be_sent(client):
    with pytest.raises(RuntimeError, match="OddError: this and that"):
        fit(client, "none", GradientDescent(odd_loss, epochs=1))


def test_batches_smaller_than_the_number_of_shards(client):
    parameters = GradientDescent(epochs=1, batch_size=16)
    assert np.isfinite(fit(client, "none", parameters).network_.theta).all()


def test_steps_that_end_when_they_are_looked_at(client, monkeypatch):
    expected = fit(client, "none", GradientDescent(epochs=2))
    monkeypatch.setattr("tanager.dask.cluster._LOOK_SECONDS", 0.003)  # about as long as a step
    assert_same(fit(client, "none", GradientDescent(epochs=2)), expected)


@pytest.mark.slow
def test_a_partition_that_kills_every_worker(client, cluster, tmp_path, monkeypatch):
    X, y = make_rows()
    parts = [X.assign(answer=y)] * 4
    frame = dd.from_map(Killer(parts, tmp_path, range(99)), range(4), meta=parts[0].iloc[:0])
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(ClusterError, match="workers die at the same task again and again"):
        fit(client, "none", ADD_ONE, X=(frame[list(X.columns)], frame["answer"]))


def test_nothing_is_left_on_the_cluster(client, cluster):
    gc.collect()
    before = set(cluster.scheduler.tasks)  # what errors of other tests still hold
    clf = fit(client, "chow-liu", GradientDescent(epochs=1))
    for _ in range(300):
        if before.issuperset(cluster.scheduler.tasks):
            break
        time.sleep(0.1)
    assert clf.classes_.tolist() == ["no", "perhaps", "yes"]
    left = set(cluster.scheduler.tasks) - before
    assert not left, left


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_bits(client, cluster):
    parameters = GradientDescent(epochs=3, parent_dropout=0.1)
    cluster.scale(4)  # if one of those that were killed was not replaced
    client.wait_for_workers(4, timeout=60)
    runs = {}
    for n_workers in (4, 2, 1):
        client.retire_workers(list(client.nthreads())[n_workers:])
        runs[n_workers] = fit(client, "subset", parameters)
    assert_same(runs[4], runs[2])
    assert_same(runs[4], runs[1])
