"""adult and mushroom from their CSV files through all commands, and memory that does not grow with the file."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import csv

from tanager.files import read_header

SETTINGS = {
    # target, largest learned error allowed, and options
    "adult": ("income", 0.14, ["--drop", "split", "--missing", "?", "--structure", "subset", "--epochs", 5]),
    "mushroom": ("class", 0.01, ["--missing", "?", "--structure", "subset", "--epochs", 10]),
}


def path_of(name):
    folder = os.environ.get("TANAGER_DATA")
    if not folder:
        pytest.skip(f"the test with {name} DID NOT RUN: set TANAGER_DATA to the folder that holds extra/{name}.csv.gz")
    return Path(folder) / "extra" / f"{name}.csv.gz"


@pytest.mark.data
@pytest.mark.parametrize("name", SETTINGS)
def test_all_commands(call, tmp_path, name):
    data, (target, limit, options) = path_of(name), SETTINGS[name]
    model, predicted = tmp_path / "m.tanager", tmp_path / "p.csv"
    result = call("fit", data, "--target", target, "--out", model, *options)
    assert result.exit_code == 0, result.output
    scores = {score["name"]: score["error"] for score in read_header(model)["metadata"]["errors"]}
    assert scores["learned"] < limit
    assert scores["learned"] < scores["naive Bayes"] < scores["most frequent class"]
    result = call("predict", model, data, "--out", predicted, "--proba")
    assert result.exit_code == 0, result.output
    error = float(re.search(r"error (\d+\.\d+)%", result.stderr)[1]) / 100
    assert error < limit
    assert csv.read_csv(predicted).num_rows == read_header(model)["metadata"]["n_rows"]
    assert "missing" in call("inspect", model).stdout
    page = tmp_path / "r.html"
    assert call("report", model, data, "--out", page).exit_code == 0
    assert target in page.read_text()
    for to in ("dot", "c"):
        assert call("export", model, "--to", to, "--out", tmp_path / f"m.{to}").exit_code == 0


def peak_memory(*arguments):
    """Peak resident memory, in MB, of a command in a process of its own."""
    # getrusage would include the memory of the process that started it.
    code = (
        "import re, sys\n"
        "from tanager.cli import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)\n"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(result.stderr.split()[-1]) / 1024


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc to look at memory")
def test_memory_does_not_grow_with_the_file(call, tmp_path):
    data, (target, _, options) = path_of("adult"), SETTINGS["adult"]
    model = tmp_path / "m.tanager"
    assert call("fit", data, "--target", target, "--out", model, "--no-test", *options).exit_code == 0
    with gzip.open(data, "rt") as stream:
        header, rows = stream.read().split("\n", 1)
    peaks = {}
    for n_copies in (4, 20):
        path = tmp_path / f"{n_copies}.csv"
        path.write_text(f"{header}\n{rows * n_copies}")
        peaks[n_copies] = peak_memory("predict", model, path, "--proba", "--out", tmp_path / "p.csv")
    # The longer file has 90 MB more text and 35 MB more output; reading it whole would take all of that. The pools of
    # the allocators vary by up to 30 MB.
    assert peaks[20] - peaks[4] < 60, peaks
