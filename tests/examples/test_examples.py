"""Every script of the gallery runs, and prints or plots something."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))

# Optional packages that a script requires.
NEEDS = {"own_loss": "torch", "dask_fit": "dask.dataframe", "dask_sweep": "distributed", "deploy": "onnxruntime"}


def test_the_gallery_is_complete():
    assert {path.stem for path in EXAMPLES} == {
        "costs_and_sets",
        "dask_fit",
        "dask_sweep",
        "deploy",
        "first_model",
        "images",
        "missing_values",
        "monotone",
        "own_loss",
        "own_search_space",
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs(path, capsys, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is missing: the gallery is NOT checked")
    if path.stem in NEEDS:
        pytest.importorskip(NEEDS[path.stem], reason=f"{NEEDS[path.stem]} is missing: {path.name} is NOT checked")
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("agg")
    try:
        runpy.run_path(str(path), run_name="__main__")
        n_figures = len(pyplot.get_fignums())
    finally:
        pyplot.close("all")
    assert capsys.readouterr().out.strip() or n_figures
