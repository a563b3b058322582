"""Pictures of structures: where things stand, and that nothing lies on top of something else."""

import io

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tanager.pictures import draw_structure, save_structure
from tanager.pictures.drawing import literal
from tanager.pictures.tree_layout import lay_out_tree
from tanager.structure import find_cycle

matplotlib.use("Agg")


def figure_axes():
    return matplotlib.figure.Figure(figsize=(6, 6)).subplots()


@given(
    st.integers(1, 12).flatmap(
        lambda n: st.tuples(*[st.integers(-1, n - 1).filter(lambda j, i=i: j != i) for i in range(n)])
    )
)
def test_features_stand_below_their_parents(parents):
    row, depth = lay_out_tree(np.array(parents))
    assert sorted(row) == list(range(len(parents)))
    n_cut = 0
    for child, parent in enumerate(parents):
        if parent >= 0 and depth[child] > 0:
            assert row[parent] < row[child]
            assert depth[child] == depth[parent] + 1
            between = [i for i in range(len(parents)) if row[parent] < row[i] < row[child]]
            assert all(depth[i] > depth[parent] for i in between)
        elif parent >= 0:
            n_cut += 1
        else:
            assert depth[child] == 0
    assert (n_cut == 0) == (find_cycle(parents) is None)


def test_labels_do_not_overlap():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    ax = draw_structure(np.arange(-1, 39), names=[f"a rather long name of feature {k}" for k in range(40)])
    FigureCanvasAgg(ax.figure).draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) == 40
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
    matplotlib.pyplot.close(ax.figure)


def test_names_are_no_mathematics():
    ax = draw_structure(np.array([-1, 0]), names=["price $a_b", "<$>"], ax=figure_axes())
    assert [text.get_text() for text in ax.texts] == [r"price \$a_b", r"<\$>"]
    ax.figure.savefig(io.BytesIO(), format="svg")
    assert literal("x" * 20, 10) == "x" * 9 + "…"


def test_probable_parents_have_wide_edges():
    ax = draw_structure(np.array([-1, 0, 0]), np.array([1.0, 0.9, 0.1]), ax=figure_axes())
    widths = [line.get_linewidth() for line in ax.lines]
    assert widths[0] > widths[1]


def test_pixels_stand_on_their_grid():
    ax = draw_structure(np.array([-1, 0, 1, 0, 1, 2]), image=np.zeros((2, 3)), ax=figure_axes())
    points = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    assert sorted(map(tuple, points.tolist())) == [(x, y) for x in (0.0, 1.0, 2.0) for y in (0.0, 1.0)]
    assert len(ax.texts) == 5  # arrows


@pytest.mark.parametrize("n_features", [1, 64, 65, 300])
def test_any_number_of_features(n_features):
    parents = np.arange(n_features) // 3 - 1
    ax = draw_structure(parents, ax=figure_axes())
    points = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    assert len(np.unique(points, axis=0)) == n_features


@pytest.mark.parametrize("extra", [[], [-1] * 70])
def test_cycles_can_be_drawn(extra):
    ax = draw_structure(np.array([1, 2, 0, 0, *extra]), ax=figure_axes())
    points = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    assert np.isfinite(points).all()
    assert len(points) == 4 + len(extra)


def test_saved_as_a_whole(tmp_path):
    save_structure(tmp_path / "new" / "a.png", np.array([-1, 0]), None, title="two")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.png"]
