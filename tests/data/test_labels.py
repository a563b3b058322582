import numpy as np
import pytest

from tanager.data import CategoryColumn, FrameEncoder, NumericColumn, QuantileBinning, as_frame, value_labels


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (NumericColumn(np.empty(0)), ["any"]),
        (NumericColumn(np.array([0.5])), ["< 0.5", ">= 0.5"]),
        (NumericColumn(np.array([1.00001, 1.00002])), ["< 1.00001", "1.00001 to 1.00002", ">= 1.00002"]),
        (CategoryColumn(np.array([1.0, 2.0])), ["1", "2"]),
        (
            CategoryColumn(np.array([1, "1", "missing"], dtype=object), has_missing=True),
            ["1", "1 (2)", "missing", "missing (2)"],
        ),
        (CategoryColumn(np.array(["a"], dtype=object), np.array(["b", "c"], dtype=object)), ["a", "other"]),
    ],
)
def test_each_code_has_a_label_of_its_own(column, labels):
    assert value_labels(column) == labels
    assert len(labels) == column.card


def test_neighbouring_floats_have_different_labels():
    low = 0.1
    cuts = np.array([low, np.nextafter(low, 1)])
    assert len(set(value_labels(NumericColumn(cuts)))) == 3


def test_features_without_a_name_are_numbered():
    table = as_frame(np.zeros((3, 2)))
    encoder = FrameEncoder.fit(table, table.is_categorical, None, QuantileBinning(2))
    assert encoder.feature_labels == ["x0", "x1"]
