"""From tables to integer codes: reading columns, cutting numbers into bins, encoding."""

from tanager.data.assignments import encode_assignment, find_column
from tanager.data.binning import Binning, QuantileBinning, quantile_cuts
from tanager.data.coders import CategoryColumn, NumericColumn
from tanager.data.columns import Table, as_table, resolve_categorical
from tanager.data.encoding import TableEncoder
from tanager.data.labels import unique_labels, value_labels
from tanager.data.mdlp import MDLPBinning, mdlp_column_cuts, mdlp_cuts
from tanager.data.mixed_binning import MixedBinning

__all__ = [
    "Binning",
    "CategoryColumn",
    "MDLPBinning",
    "MixedBinning",
    "NumericColumn",
    "QuantileBinning",
    "Table",
    "TableEncoder",
    "as_table",
    "encode_assignment",
    "find_column",
    "mdlp_column_cuts",
    "mdlp_cuts",
    "quantile_cuts",
    "resolve_categorical",
    "unique_labels",
    "value_labels",
]
