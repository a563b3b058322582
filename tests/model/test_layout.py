import numpy as np
import pytest
from hypothesis import given, settings

from tanager.model import check_memory, layout, make_groups, make_layout
from tanager.structure import ParentSets, all_candidates, naive_bayes
from tests.strategies import models


@given(models(max_rows=1))
@settings(max_examples=40)
def test_tables_lie_one_after_the_other(model):
    tables = model.layout.cpts
    sizes = [np.prod(shape) for shape in model.shapes]
    assert tables.offset.tolist() == [0, *np.cumsum(sizes)]
    assert model.layout.size == sum(sizes)
    assert tables.ptr.tolist() == model.ptr
    assert tables.child.tolist() == list(range(len(model.cards)))
    assert tables.parent.tolist() == [len(model.cards) if j == -1 else j for j in model.parent]
    assert tables.cards.tolist() == [*model.cards, 1]
    assert model.layout.cards.tolist() == model.cards
    assert all(array.dtype == np.int64 for array in tables)


@given(models(max_rows=1))
@settings(max_examples=40)
def test_table_is_a_view_of_its_part_of_the_arena(model):
    arena = np.arange(model.layout.size)
    for e, expected in enumerate(model.split(arena)):
        table = model.layout.cpt(arena, e)
        assert table.shape == model.shapes[e]
        assert np.array_equal(table, expected)
        assert np.shares_memory(table, arena)


def test_views_write_to_the_arena():
    small = make_layout(ParentSets.from_lists([[-1], [0]]), [2, 3], n_classes=2)
    arena = np.zeros(small.size)
    small.cpt(arena, 1)[1, 2, 0] = 5.0
    # The CPT [x_parent, x_child, c] of candidate 1 comes after the 2 * 2 entries of candidate 0.
    assert np.flatnonzero(arena).tolist() == [4 + (1 * 3 + 2) * 2 + 0]


def test_number_of_features_must_be_that_of_the_search_space():
    with pytest.raises(ValueError, match="search space has 2 features, but X has 3"):
        make_layout(naive_bayes(2), [2, 2, 2], n_classes=2)


def test_training_takes_three_floats_for_each_entry():
    assert make_layout(naive_bayes(2), [3, 4], n_classes=5).training_bytes == (3 + 4) * 5 * 3 * 4


class TestMemory:
    wide = make_layout(all_candidates(range(100)), [200] * 100, n_classes=50)

    def test_error_says_how_large_and_what_to_lower(self):
        with pytest.raises(MemoryError) as caught:
            check_memory(self.wide, available=2**33)
        message = str(caught.value)
        # 4,950 pairs of 200 * 200 * 50 entries and 100 CPTs without a parent, 12 bytes each
        n_entries = 4_950 * 200 * 200 * 50 + 100 * 200 * 50
        assert f"{n_entries * 12 / 2**30:,.1f} GiB" in message
        assert "there are 8.0 GiB" in message
        assert "5050 CPTs" in message
        assert "lower max_parents, max_bins or max_categories" in message
        assert "largest CPT has 2,000,000 entries" in message

    def test_what_fits_passes(self):
        check_memory(self.wide, available=self.wide.training_bytes)
        with pytest.raises(MemoryError):
            check_memory(self.wide, available=self.wide.training_bytes - 1)

    def test_memory_of_the_machine_is_the_default(self, monkeypatch):
        monkeypatch.setattr(layout, "allowed_memory", lambda: 2**30)
        with pytest.raises(MemoryError, match=r"there are 1\.0 GiB"):
            check_memory(self.wide)

    def test_machine_that_does_not_tell_is_not_in_the_way(self, monkeypatch):
        monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
        check_memory(self.wide)


def test_totals_are_sums_over_groups():
    groups = make_groups([np.array([0, 1, 0]), np.array([1, 0])])
    table = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(groups.totals(0, table), [table[0] + table[2], table[1]])
    np.testing.assert_array_equal(groups.totals(1, np.array([3.0, 4.0])), [4.0, 3.0])
