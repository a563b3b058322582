"""The file of published runs: written and read again, the same bytes for the same runs, bad files refused."""

import csv
import gzip
import io
from dataclasses import replace

import pytest

from tanager.datasets import CATALOGUE
from tanager.experiments.grids import expand, paper_grid
from tanager.experiments.methods import METHODS, applies
from tanager.experiments.published_runs import PUBLISHED_RUNS, read_runs, write_runs
from tanager.experiments.spec import SPEC_VERSION
from tests.experiments.inventing import invent


def some_records():
    for dataset, entry in CATALOGUE.items():
        for method in METHODS:
            if applies(method, entry):
                for number, spec in enumerate(expand(paper_grid(dataset, method)[-1])):
                    held = None if spec.is_full else 0.25
                    edges = (13, 14) if method == "recover" else None
                    yield invent(spec, number / 7, held, cpu_seconds=1.25, recovered=edges, seed=3 if number else 0)


def test_written_runs_are_read_again(tmp_path):
    records = list(some_records())
    assert write_runs(records, tmp_path / "runs.csv.gz") == len(records)
    again = {record.spec: record.result for record in read_runs(tmp_path / "runs.csv.gz")}
    for record in records:
        found = again[record.spec]
        assert found == replace(record.result, parents=None)
        assert (found.seconds, found.cpu_seconds, found.version) == (2.5, 1.25, record.result.version)
    assert len(again) == len(records)


def test_same_runs_give_the_same_bytes(tmp_path):
    records = list(some_records())
    first, second = tmp_path / "first.csv.gz", tmp_path / "second.csv.gz"
    write_runs(records, first)
    write_runs(records[::-1], second)
    assert first.read_bytes() == second.read_bytes()


def test_columns_are_those_of_the_documentation(tmp_path):
    write_runs(some_records(), tmp_path / "runs.csv.gz")
    head, line, *_ = csv.reader(io.StringIO(gzip.decompress((tmp_path / "runs.csv.gz").read_bytes()).decode()))
    assert head[:3] == ["dataset", "method", "fold"]
    assert head[-8:] == [
        "recipe",
        "test_error",
        "validation_error",
        "edges_found",
        "edges",
        "seconds",
        "cpu_seconds",
        "version",
    ]
    assert len(line) == len(head)


def test_runs_of_another_spec_version_are_left_out(tmp_path):
    path = tmp_path / "runs.csv.gz"
    write_runs(some_records(), path)
    text = gzip.decompress(path.read_bytes()).decode()
    position = text.splitlines()[0].split(",").index("recipe")
    lines = [line.split(",") for line in text.splitlines()]
    for line in lines[2:]:
        line[position] = str(SPEC_VERSION + 1)
    path.write_bytes(gzip.compress("\n".join(map(",".join, lines)).encode()))
    assert len(read_runs(path)) == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"\xff\xfe"), gzip.compress(b"recipe,dataset\n1,letter\n"), None],
    ids=["empty", "not compressed", "not text", "columns missing", "no file"],
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "runs.csv.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a file of published runs"):
        read_runs(path)


def test_published_file_is_small_and_whole():
    assert PUBLISHED_RUNS.stat().st_size < 1_000_000
    records = read_runs()
    assert len({record.spec for record in records}) == len(records)
    assert {record.spec.dataset for record in records} == {"letter", "satimage", "usps", "mnist"}
    assert all(record.result.version for record in records)
    assert all((record.result.validation_error is None) == record.spec.is_full for record in records)
