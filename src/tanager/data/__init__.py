"""From frames to integer codes: reading columns, cutting numbers into bins, encoding."""

from tanager.data.assignments import encode_assignment, find_column
from tanager.data.binning import Binning, QuantileBinning, quantile_cuts
from tanager.data.coders import CategoryColumn, NumericColumn
from tanager.data.columns import Frame, as_frame, check_categorical, resolve_categorical
from tanager.data.encoding import FrameEncoder, GivenValues
from tanager.data.fingerprint import Fingerprint, hash_cells, hash_rows
from tanager.data.frames import refuse_unread
from tanager.data.growing import grow
from tanager.data.labels import group_labels, unique_labels, value_labels
from tanager.data.mdlp import BINNINGS, MDLPBinning, MixedBinning, make_binning, mdlp_column_cuts, mdlp_cuts
from tanager.data.row_sample import RowSample
from tanager.data.row_store import Block, RowStore
from tanager.data.sources import FileSource, Piece, Source, SourceError
from tanager.data.summaries import FrameSummary

__all__ = [
    "BINNINGS",
    "Binning",
    "Block",
    "CategoryColumn",
    "FileSource",
    "Fingerprint",
    "Frame",
    "FrameEncoder",
    "FrameSummary",
    "GivenValues",
    "MDLPBinning",
    "MixedBinning",
    "NumericColumn",
    "Piece",
    "QuantileBinning",
    "RowSample",
    "RowStore",
    "Source",
    "SourceError",
    "as_frame",
    "check_categorical",
    "encode_assignment",
    "find_column",
    "group_labels",
    "grow",
    "hash_cells",
    "hash_rows",
    "make_binning",
    "mdlp_column_cuts",
    "mdlp_cuts",
    "quantile_cuts",
    "refuse_unread",
    "resolve_categorical",
    "unique_labels",
    "value_labels",
]
