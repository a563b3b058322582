"""A small data file of flowers, a model of it, and a way to call the command line."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from tanager.cli.app import app

QUICK = ("--structure=subset", "--epochs=5")
HEADER = ["sepal length", "sepal width", "petal length", "petal width", "colour", "species"]


@pytest.fixture(scope="session")
def flowers(tmp_path_factory):
    """iris as a CSV file with an invented category that has some empty cells."""
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    colours = np.where(rng.random(len(y)) < 0.8, np.array(["blue", "violet", "white"])[y], "")
    rows = [
        [*(f"{value:g}" for value in row), colour, ("setosa", "versicolor", "virginica")[label]]
        for row, colour, label in zip(X, colours, y, strict=True)
    ]
    path = tmp_path_factory.mktemp("flowers") / "flowers.csv"
    path.write_text("\n".join(",".join(row) for row in [HEADER, *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def model(flowers):
    path = flowers.with_name("flowers.tanager")
    result = invoke("fit", flowers, "--target", "species", "--out", path, *QUICK, "--quiet")
    assert result.exit_code == 0, result.output
    assert result.output == ""
    return path


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("TANAGER_DEBUG", raising=False)


def invoke(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def call():
    return invoke


@pytest.fixture
def refused(call):
    """Call a command that must fail with one line of error; returns the line."""

    def run(*arguments):
        result = call(*arguments)
        assert result.exit_code == 1, result.output
        lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")

    return run
