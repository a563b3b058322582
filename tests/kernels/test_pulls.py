"""CPTs moved towards goals, and lines of CPTs towards their neighbours."""

import numpy as np
import pytest

from tanager.kernels.pulls import shrink_tables, smooth_tables
from tanager.model import make_layout
from tanager.structure import ParentSets

CARDS = [3, 2, 4]


def test_selected_cpts_with_a_parent_move():
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0], [-1, 1]]), CARDS, 2)
    rng = np.random.default_rng(0)
    theta = rng.normal(size=layout.arena_size).astype(np.float32)
    goals, before = rng.normal(size=18).astype(np.float32), theta.copy()
    offset = np.array([0, 6, 10, 18])
    shrink_tables(0, 3, theta, layout.tables, np.array([0, 2, 3]), goals, offset, 0.25)
    expected = before.copy()
    cpt = layout.table(expected, 2)
    cpt += 0.25 * (goals[6:10].reshape(1, 2, 2) - cpt)
    np.testing.assert_allclose(theta, expected, atol=1e-6)


def neighbours_in_loops(cpt, n_child, n_parent, share):
    """One step of diffusion over the first values of parent and child."""
    result = cpt.copy()
    n_parents, n_children, _ = cpt.shape
    for j in range(n_parents):
        for i in range(n_children):
            for other_j, other_i in ((j - 1, i), (j + 1, i), (j, i - 1), (j, i + 1)):
                along_child = other_j == j and 0 <= other_i < n_child and i < n_child
                along_parent = other_i == i and 0 <= other_j < n_parent and j < n_parent
                if along_child or along_parent:
                    result[j, i] += share * (cpt[other_j, other_i] - cpt[j, i])
    return result


@pytest.mark.parametrize("n_ordered", [[3, 2, 4, 0], [3, 0, 2, 0], [0, 0, 0, 0], [1, 2, 3, 0]])
def test_neighbouring_lines_of_ordered_values_exchange(n_ordered):
    layout = make_layout(ParentSets.from_lists([[2], [-1, 0], [-1, 1]]), CARDS, 2)
    theta = np.random.default_rng(0).normal(size=layout.arena_size).astype(np.float32)
    before, selected = theta.copy(), np.array([0, 2, 3])
    smooth_tables(0, 3, theta, layout.tables, selected, np.array(n_ordered), 0.15)
    expected = before.copy()
    for child, (e, parent) in enumerate(zip(selected, (2, 0, 3), strict=True)):
        cpt = layout.table(expected, e)
        cpt[:] = neighbours_in_loops(cpt, n_ordered[child], n_ordered[parent], 0.15)
    np.testing.assert_allclose(theta, expected, atol=1e-6)
