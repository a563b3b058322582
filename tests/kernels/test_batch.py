import numpy as np
import pytest
from hypothesis import given, settings

from tanager.kernels.batch import gather_batch, table_places
from tanager.model import make_layout
from tanager.structure import ParentSets
from tests.oracles import model_oracle
from tests.strategies import models


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_gather_takes_rows_and_leaves_the_virtual_feature(dtype):
    codes = np.arange(12, dtype=dtype).reshape(4, 3)
    rows = np.random.default_rng(0).integers(0, 4, size=40)
    batch = np.full((4, 44), -7, np.int32)
    gather_batch(0, 19, codes, rows, batch)
    gather_batch(19, 40, codes, rows, batch)
    assert batch[:3, :40].T.tolist() == codes[rows].tolist()
    assert np.all(batch[3] == -7)
    assert np.all(batch[:, 40:] == -7)


@given(models())
@settings(max_examples=30)
def test_places_are_the_cells_of_the_oracle(model):
    n_rows, n_features = model.codes.shape
    batch = np.zeros((n_features + 1, n_rows), np.int32)
    gather_batch(0, n_rows, model.codes, np.arange(n_rows), batch)
    places = np.empty(n_rows, np.int64)
    entries = np.arange(model.layout.size)
    for e, i in enumerate(model.child):
        table_places(batch, model.layout.tables, i, e, model.layout.n_classes, places)
        cells = [model_oracle.cell(e, model.child, model.parent, row) for row in model.codes]
        table = model.layout.table(entries, e)
        assert places.tolist() == [table[a, b, 0] for a, b in cells]


def test_unknown_values_read_the_zeros_behind_the_cpts():
    layout = make_layout(ParentSets.from_lists([[-1], [-1, 0]]), [2, 3], n_classes=5)
    batch = np.array([[2, 0, 1], [1, 3, 1], [0, 0, 0]], np.int32)  # feature 0 unknown, feature 1 unknown, all known
    places = np.empty(3, np.int64)
    table_places(batch, layout.tables, 1, 1, 5, places)
    assert places.tolist()[1:] == [layout.size, layout.tables.offset[1] + 5]
    assert places[0] == layout.tables.offset[1] + 5  # the unknown feature 0 is not its parent
    table_places(batch, layout.tables, 1, 2, 5, places)
    assert places.tolist() == [layout.size, layout.size, layout.tables.offset[2] + (1 * 3 + 1) * 5]
