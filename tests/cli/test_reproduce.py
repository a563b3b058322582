"""``tanager reproduce``: runs and reports, options, and wrong input, each with its message and exit code."""

import sqlite3
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tanager.cli import plan, reproduce
from tanager.cli.app import app
from tanager.datasets import load_dataset
from tanager.experiments import SerialPool, Store, expand, paper_grid, sample_grid
from tanager.experiments.campaign import Goal
from tanager.experiments.engine import Failed
from tanager.experiments.published_runs import read_runs, write_runs
from tests.experiments.inventing import invent


@pytest.fixture
def store(tmp_path):
    return tmp_path / "results.sqlite"


@pytest.fixture(autouse=True)
def serial(monkeypatch):
    """Runs in this process: the pools have tests of their own."""
    monkeypatch.setattr(reproduce, "LocalPool", lambda n_workers: SerialPool())
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def call(store):
    def run(*arguments):
        return CliRunner().invoke(app, ["reproduce", *arguments, "--store", str(store)])

    return run


def records_in(store):
    with Store(store, must_exist=True) as opened:
        return opened.records()


def test_runs_are_stored_and_shown_and_not_repeated(call, store):
    first = call("digits", "--method", "nb", "--runs", "2", "--epochs", "2")
    assert first.exit_code == 0, first.output
    assert "4 to do, 0 already stored" in first.stderr
    records = records_in(store)
    expected = [run for spec in sample_grid(paper_grid("digits", "nb"), 2) for run in expand(replace(spec, epochs=2))]
    assert {record.spec for record in records} == set(expected)
    assert "digits" in first.stdout
    assert "2 / 2" in first.stdout
    second = call("digits", "--method", "nb", "--runs", "3", "--epochs", "2")
    assert "2 to do, 4 already stored" in second.stderr
    assert len(records_in(store)) == 6


def test_default_is_every_column_on_digits(call, store):
    assert call("--runs", "1", "--epochs", "1", "--protocol", "test").exit_code == 0
    assert [record.spec.dataset for record in records_in(store)] == ["digits"] * 8
    assert len({record.spec.method for record in records_in(store)}) == 8


def test_choices_narrow_the_grid(call, store):
    choice = ["--max-parents", "5", "--ordering", "2", "--draw", "3", "--learning-rate", "0.03", "--seed", "7"]
    assert call("digits", "--method", "subset", "--runs", "3", "--epochs", "1", *choice).exit_code == 0
    specs = [record.spec for record in records_in(store)]
    assert len(specs) == 6
    chosen = {(spec.max_parents, spec.ordering, spec.draw, spec.learning_rate, spec.seed) for spec in specs}
    assert chosen == {(5, 2, 3, 0.03, 7)}


def test_validation_alone_ends_with_the_best_on_all_rows(call, store):
    result = call("digits", "--method", "nb", "--runs", "3", "--epochs", "2", "--protocol", "validation")
    assert result.exit_code == 0
    records = records_in(store)
    (full,) = [record for record in records if record.spec.is_full]
    held = {record.spec.configuration: record.result.validation_error for record in records if not record.spec.is_full}
    assert len(held) == 3
    assert held[full.spec.configuration] == min(held.values())


def test_search(call, store):
    result = call("digits", "--method", "nb", "--method", "nb-ml", "--search", "--runs", "9", "--epochs", "9")
    assert result.exit_code == 0, result.output
    specs = [record.spec for record in records_in(store)]
    epochs = sorted(spec.epochs for spec in specs if not spec.is_full)
    assert epochs == [1] * 9 + [3] * 3 + [9]
    assert [(spec.method, spec.epochs) for spec in specs if spec.is_full].count(("nb", 9)) == 1
    assert "rung 3 of 3, 9 epochs" in result.stderr
    again = call("digits", "--method", "nb", "--method", "nb-ml", "--search", "--runs", "9", "--epochs", "9")
    assert again.stderr.count("0 to do") == 4


def test_pseudo_and_recovery(call, store):
    result = call("digits", "--pseudo", "--recover", "--runs", "2", "--epochs", "1", "--protocol", "test")
    assert result.exit_code == 0
    assert sorted(record.spec.method for record in records_in(store)) == ["pseudo"] * 2 + ["recover"] * 2
    assert "pseudo-TAN" in result.stdout
    assert result.stdout.count("edges of the Chow-Liu tree recovered") == 2


def test_published_is_run_as_the_paper_did(call, store, monkeypatch):
    monkeypatch.setattr(reproduce, "load_dataset", lambda name, fold: None)

    class Pool:
        def run(self, specs):
            yield from (Failed(spec, "not today") for spec in specs)

    monkeypatch.setattr(reproduce, "LocalPool", lambda n_workers: Pool())
    result = call("letter", "--method", "subset", "--method", "all", "--published")
    assert result.exit_code == 1
    assert "4 runs failed; the same command tries them again" in result.stderr
    with Store(store) as opened:
        wanted = opened.outstanding()
    assert [(spec.method, spec.learning_rate, spec.is_full) for spec in wanted] == [
        (method, rate, True) for method in ("subset", "all") for rate in (0.003, 0.03)
    ]


def test_campaign_of_some_cells(call, store, monkeypatch):
    monkeypatch.setattr(plan, "GOALS", (Goal("digits", "nb-ml", 1, 1.0), Goal("digits", "nb", 1, 1.0)))
    assert call("digits", "--method", "nb-ml", "--campaign").exit_code == 0
    assert [record.spec.method for record in records_in(store)] == ["nb-ml"]


def test_published_runs_are_added_once_and_reported(call, store, tmp_path, monkeypatch):
    path = tmp_path / "runs.csv.gz"
    write_runs([invent(spec, 0.123) for spec in paper_grid("letter", "nb")[:4]], path)
    monkeypatch.setattr(reproduce, "read_runs", lambda: read_runs(path))
    first = call("--from-published")
    assert first.exit_code == 0, first.output
    assert "4 published runs, 4 of them new" in first.stderr
    assert "12.30" in first.stdout
    again = call("--from-published", "--publish", str(tmp_path / "again.csv.gz"))
    assert "4 published runs, 0 of them new" in again.stderr
    assert (tmp_path / "again.csv.gz").read_bytes() == path.read_bytes()


def test_runs_are_added_to_the_published_ones(call, store, tmp_path, monkeypatch):
    path = tmp_path / "runs.csv.gz"
    configurations = [replace(spec, epochs=1) for spec in sample_grid(paper_grid("digits", "nb"), 2)]
    write_runs([invent(run, 0.1) for run in expand(configurations[0], "test")], path)
    monkeypatch.setattr(reproduce, "read_runs", lambda: read_runs(path))
    options = ("--method", "nb", "--runs", "2", "--epochs", "1", "--protocol", "test")
    result = call("digits", *options, "--from-published")
    assert "1 to do, 1 already stored" in result.stderr
    assert len(records_in(store)) == 2


def test_resume_makes_what_is_left_over(call, store):
    specs = [replace(spec, epochs=1) for spec in paper_grid("digits", "nb")[:3]]
    with Store(store) as opened:
        opened.request(specs)
        record = invent(specs[1], 0.5)
        opened.add(record.spec, record.result)
    result = call("--resume")
    assert result.exit_code == 0, result.output
    assert "unfinished runs: 2 to do" in result.stderr
    assert {record.spec for record in records_in(store)} == set(specs)


def test_reports_run_nothing(call, store, tmp_path):
    with Store(store) as opened:
        for k, spec in enumerate(paper_grid("digits", "subset")[:40]):
            record = invent(spec, 0.1 + k / 1000)
            opened.add(record.spec, record.result)
    folder, page = tmp_path / "figures", tmp_path / "docs" / "results.md"
    result = call("--table", "--figures", str(folder), "--page", str(page))
    assert result.exit_code == 0, result.output
    assert "TAN Subset" in result.stdout
    assert "10.00" in result.stdout
    names = {path.name for path in folder.iterdir()}
    assert names == {f"{name}-digits.{end}" for name in ("compare", "parent-subsets") for end in ("svg", "png")}
    assert "../figures/compare-digits.svg" in page.read_text()
    assert len(records_in(store)) == 40


def test_table_of_one_data_set(call, store):
    Store(store).close()
    result = call("usps", "--table")
    assert "2.27" in result.stdout
    assert "letter" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["iris"], "unknown data set 'iris'; choose from letter, satimage, usps, mnist, digits"),
        (["--method", "magic"], "unknown method 'magic'; choose from nb-ml, chow-liu-ml, nb,"),
        (["--runs", "0"], "--runs"),
        (["--runs", "3", "--published"], "give only one of --runs and --published"),
        (["--search", "--published"], "give only one of --search and --published"),
        (["--campaign", "--published"], "give only one of --campaign and --published"),
        (["--runs", "3", "--campaign"], "give only one of --runs and --campaign"),
        (["--around", "published", "--published"], "give only one of --around and --published"),
        (["--around", "110"], "--around must be 'published' or LAMBDA,GAMMA"),
        (["--around", "0,5"], "above 0"),
        (["--workers", "2", "--scheduler", "tcp://x:1"], "give only one of --workers and --scheduler"),
        (["--epochs", "many"], "--epochs"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_made(call, store, arguments, message):
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert not store.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["letter", "--method", "heuristic"], "method 'heuristic' does not apply to letter"),
        (
            ["digits", "--method", "subset", "--published"],
            "the authors published no configuration of method 'subset' for digits",
        ),
        (
            ["digits", "--method", "subset", "--max-parents", "3"],
            "matches --max-parents, --ordering, --draw and --learning-rate",
        ),
        (["digits", "--campaign"], "the campaign has no runs of these methods for these data sets"),
    ],
)
def test_runs_that_do_not_exist(call, arguments, message):
    result = call(*arguments)
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize("arguments", [["--table"], ["--resume"], ["--figures", "somewhere"]])
def test_a_store_to_read_must_exist(call, store, arguments):
    result = call(*arguments)
    assert result.exit_code == 1
    assert f"error: there is no store {store}" in result.stderr
    assert not store.exists()


def test_store_of_a_newer_version(call, store):
    Store(store).close()
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    result = call("digits", "--runs", "1")
    assert result.exit_code == 1
    assert "was written by a newer version of tanager" in result.stderr


def test_data_that_cannot_be_had(call, tmp_path, monkeypatch):
    monkeypatch.setenv("TANAGER_DATA", str(tmp_path))
    monkeypatch.setenv("TANAGER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TANAGER_DATA_URL", raising=False)
    load_dataset.cache_clear()
    result = call("letter", "--runs", "1", "--epochs", "1")
    assert result.exit_code == 1
    assert "error: letter_paper.npz is not on this machine" in result.stderr


def test_folder_for_figures_that_cannot_be_made(call, store, tmp_path):
    with Store(store) as opened:
        record = invent(paper_grid("digits", "nb")[0], 0.1)
        opened.add(record.spec, record.result)
    (tmp_path / "file").write_text("")
    result = call("--figures", str(tmp_path / "file" / "figures"))
    assert result.exit_code == 1
    assert "error: " in result.stderr
    assert "Not a directory" in result.stderr


def test_full_disk(call, store, monkeypatch):
    from tanager.experiments.store import StoreError

    def add(self, spec, result):
        raise StoreError("cannot write the store: the disk is full; what was stored before is safe")

    monkeypatch.setattr(Store, "add", add)
    result = call("digits", "--method", "nb", "--runs", "1", "--epochs", "1")
    assert result.exit_code == 1
    assert "error: cannot write the store: the disk is full" in result.stderr


def test_interrupt_keeps_what_is_done(call, store, monkeypatch):
    class Pool:
        def run(self, specs):
            yield from SerialPool().run(specs[:2])
            raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "LocalPool", lambda n_workers: Pool())
    result = call("digits", "--method", "nb", "--runs", "3", "--epochs", "1")
    assert result.exit_code == 130
    assert "tanager reproduce --resume continues from there" in result.stderr
    assert len(records_in(store)) == 2
