"""Heat maps of CPTs: labels that can be read, however many values there are."""

from itertools import pairwise

import numpy as np
import pytest

from tanager.pictures import Axis, draw_log_ratio, draw_probabilities

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


LABELS = {
    "ranges": lambda n: ["< 0.1234", *(f"0.{1234 + k} to 0.{1235 + k}" for k in range(n - 2)), ">= 0.9876"],
    "numbers": lambda n: [str(k) for k in range(n)],
    "words": lambda n: [f"a long value {k}" for k in range(n)],
}


def shown(labels):
    return [label for label in labels if label.get_text()]


def overlap(first, second):
    """Whether two labels of the same slant overlap: in the direction of the text and across it."""
    angle = np.deg2rad(first.get_rotation())
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    boxes = []
    for label in (first, second):
        # Without its slant, a label has a box of its own size; the anchor is the same.
        anchor = label.get_transform().transform(label.get_position())
        slant, label_rotation = label.get_rotation(), label.set_rotation
        label_rotation(0)
        box = label.get_window_extent()
        label_rotation(slant)
        moved = turn @ anchor
        boxes.append((moved, box.width, box.height))
    (a, width, height), (b, _, _) = boxes
    return bool(abs(a[0] - b[0]) < width and abs(a[1] - b[1]) < 0.9 * height)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("n_values", [2, 12, 30, 64, 300])
@pytest.mark.parametrize("n_panels", [1, 2, 3, 7])
def test_labels_do_not_overlap(kind, n_values, n_panels):
    columns, rows = Axis("child", LABELS[kind](n_values)), Axis("parent", LABELS[kind](12))
    table = np.full((12, n_values), 1 / n_values)
    axes = np.atleast_1d(draw_probabilities([(f"class {c}", table) for c in range(n_panels)], rows, columns))
    axes[0].figure.canvas.draw()
    for axis in (axes[-1].xaxis, axes[0].yaxis):
        labels = shown(axis.get_ticklabels())
        assert len(labels) >= min(4, n_values if axis.axis_name == "x" else 12)
        assert not any(overlap(*pair) for pair in pairwise(labels))


def test_few_labels_are_all_shown():
    columns, rows = Axis("child", LABELS["ranges"](12)), Axis("parent", LABELS["words"](12))
    ax = draw_log_ratio(np.zeros((12, 12)), "a against b", rows, columns)
    assert [label.get_text() for label in ax.get_yticklabels()] == rows.labels
    assert [label.get_text() for label in ax.get_xticklabels()] == columns.labels
