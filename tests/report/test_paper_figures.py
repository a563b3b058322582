"""The paper's figures from records: which panels, which colours, files that can be read."""

from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.experiments.grids import paper_grid, sample_grid
from tanager.experiments.selection import Results
from tanager.report.paper_figures import lower_hull, paper_figures, save_paper_figures
from tests.experiments.inventing import invent

pytest.importorskip("matplotlib")


def invented(dataset, method, n, n_folds=1):
    rng = np.random.default_rng(len(method))
    specs = sample_grid(paper_grid(dataset, method), n)
    return [invent(spec, rng.uniform(0.05, 0.2), fold=fold) for spec in specs for fold in range(1, n_folds + 1)]


@pytest.fixture(scope="module")
def results():
    return Results(
        [
            *invented("letter", "subset", 400),
            *invented("letter", "chow-liu", 10),
            *invented("satimage", "subset", 60, n_folds=5),
            *invented("usps", "random", 10),
            *invented("mnist", "heuristic", 100),
        ]
    )


def test_panels_of_the_paper(results):
    figures = {figure.name: figure for figure in paper_figures(results)}
    assert list(figures) == [
        "compare-letter",
        "compare-satimage",
        "compare-usps",
        "compare-mnist",
        "heuristic-orderings-mnist",
        "heuristic-sizes-mnist",
        "orderings-satimage",
        "parent-subsets-letter",
    ]
    assert [part.label for part in figures["compare-letter"].series] == ["Chow-Liu", "TAN Subset"]
    assert [part.label for part in figures["heuristic-orderings-mnist"].series] == [f"ordering {o}" for o in "ABC"]
    assert [part.label for part in figures["heuristic-sizes-mnist"].series] == [f"K = {k}" for k in (1, 2, 5, 8)]
    assert [part.label for part in figures["orderings-satimage"].series] == [f"ordering {o}" for o in range(5)]


def test_methods_keep_their_colours(results):
    colours = {}
    for figure in paper_figures(results)[:4]:
        for part in figure.series:
            colours.setdefault(part.label, set()).add(part.style)
    assert len(colours) == 4
    assert all(len(found) == 1 for found in colours.values())


def test_parent_subsets_are_of_one_ordering_and_keep_their_colours(results):
    (figure,) = [figure for figure in paper_figures(results) if figure.name == "parent-subsets-letter"]
    assert len({point.spec.ordering for part in figure.series for point in part.points}) == 1
    assert {part.is_hollow for part in figure.series if "K = 2" in part.label} == {True}
    by_draw = {}
    for part in figure.series:
        by_draw.setdefault(part.label.split(",")[0], set()).add(part.style)
    assert all(len(colours) == 1 for colours in by_draw.values())


def test_runs_that_hold_rows_back_are_not_drawn():
    results = Results(invent(spec, 0.1, 0.1, validation_share=0.2) for spec in paper_grid("letter", "nb")[:5])
    assert paper_figures(results) == []


def test_files_are_complete(results, tmp_path):
    folder = tmp_path / "new" / "folder"
    paths = save_paper_figures(results, folder)
    assert len(paths) == 16
    assert sorted(paths) == sorted(folder.iterdir())
    for path in paths:
        if path.suffix == ".svg":
            ElementTree.parse(path)
        else:
            assert path.read_bytes().startswith(b"\x89PNG")


def test_the_same_results_give_the_same_files(tmp_path):
    results = Results(invented("letter", "nb", 20))
    first, second = (save_paper_figures(results, tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_one_point_can_be_drawn(tmp_path):
    assert len(save_paper_figures(Results([invent(paper_grid("letter", "nb")[0], 0.1)]), tmp_path)) == 2


def test_nothing_to_draw(tmp_path):
    assert save_paper_figures(Results([]), tmp_path) == []


coordinates = st.integers(-20, 20).map(float)


@given(points=st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=30))
def test_no_point_lies_below(points):
    x, y = map(np.array, zip(*points, strict=True))
    hull_x, hull_y = lower_hull(x, y)
    assert set(zip(hull_x, hull_y, strict=True)) <= set(points)
    assert (hull_x[0], hull_x[-1]) == (x.min(), x.max())
    assert (y >= np.interp(x, hull_x, hull_y) - 1e-9).all()
    slopes = np.diff(hull_y) / np.diff(hull_x)
    assert (np.diff(slopes) > 0).all()
