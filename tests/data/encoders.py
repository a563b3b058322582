"""Encoders of small tables, and what they have learned as plain values."""

import numpy as np

from tanager.data import FrameEncoder, NumericColumn, QuantileBinning, as_frame

BINNING = QuantileBinning(max_bins=4)


def fit(X, is_categorical=None, sample_weight=None, binning=BINNING, **options):
    table = as_frame(X)
    if is_categorical is None:
        is_categorical = table.is_categorical
    return FrameEncoder.fit(table, np.asarray(is_categorical), sample_weight, binning, **options)


def cells(*values):
    """A table of one column that keeps the type of every cell."""
    X = np.empty((len(values), 1), dtype=object)
    X[:, 0] = values
    return X


def encode(encoder, X):
    """Codes of a table of one column."""
    return encoder.encode(as_frame(X)).ravel().tolist()


def describe(encoder):
    """Everything that was learned, as plain values."""
    return [
        column.cuts.tolist() if isinstance(column, NumericColumn) else column.categories.tolist()
        for column in encoder.columns
    ]


def describe_all(encoder):
    """The same, and which codes are shared or stand for missing cells."""
    return describe(encoder), encoder.pooled(), [column.has_missing for column in encoder.columns]
