import numpy as np
import pytest
from hypothesis import given, settings

from tanager.kernels.batch import gather_batch, table_lines
from tests.oracles import model_oracle
from tests.strategies import models


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_gather_takes_rows_and_leaves_the_virtual_feature(dtype):
    codes = np.arange(12, dtype=dtype).reshape(4, 3)
    batch = np.full((4, 5), -7, np.int32)
    gather_batch(codes, np.array([3, 0, 0, 2, 1]), batch)
    assert batch[:3].T.tolist() == codes[[3, 0, 0, 2, 1]].tolist()
    assert batch[3].tolist() == [-7] * 5


@given(models())
@settings(max_examples=30)
def test_lines_are_the_cells_of_the_oracle(model):
    n_rows, n_features = model.codes.shape
    batch = np.zeros((n_features + 1, n_rows), np.int32)
    gather_batch(model.codes, np.arange(n_rows), batch)
    lines = np.empty(n_rows, np.int64)
    for e, i in enumerate(model.child):
        table_lines(batch, model.layout.tables, i, e, lines)
        cells = [model_oracle.cell(e, model.child, model.parent, row) for row in model.codes]
        assert lines.tolist() == [a * model.cards[i] + b for a, b in cells]
