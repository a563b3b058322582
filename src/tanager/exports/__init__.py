"""Exports of fitted classifiers to other programs and formats."""

from typing import TYPE_CHECKING

from tanager._lazy import lazy_names
from tanager.exports.export import FORMATS, export, format_of

if TYPE_CHECKING:
    from tanager.exports.c_code import to_c
    from tanager.exports.integers import BitWidthCurve, IntegerClassifier, bit_width_curve, quantise
    from tanager.exports.javascript import to_javascript
    from tanager.exports.networkx_graph import to_dot, to_graphml, to_networkx
    from tanager.exports.onnx_model import to_onnx
    from tanager.exports.pgmpy_network import to_bif, to_pgmpy, to_xmlbif
    from tanager.exports.pyagrum_network import to_pyagrum
    from tanager.exports.skops_types import trusted_types
    from tanager.exports.sql_query import to_sql
    from tanager.exports.tables import NetworkTables, Variable, evidence, network_tables

__all__ = [
    "FORMATS",
    "BitWidthCurve",
    "IntegerClassifier",
    "NetworkTables",
    "Variable",
    "bit_width_curve",
    "evidence",
    "export",
    "format_of",
    "network_tables",
    "quantise",
    "to_bif",
    "to_c",
    "to_dot",
    "to_graphml",
    "to_javascript",
    "to_networkx",
    "to_onnx",
    "to_pgmpy",
    "to_pyagrum",
    "to_sql",
    "to_xmlbif",
    "trusted_types",
]

# Imported on first use, so that the command line can list the formats without waiting for scikit-learn.
_HOMES = {
    "BitWidthCurve": "integers",
    "IntegerClassifier": "integers",
    "NetworkTables": "tables",
    "Variable": "tables",
    "bit_width_curve": "integers",
    "evidence": "tables",
    "network_tables": "tables",
    "quantise": "integers",
    "to_bif": "pgmpy_network",
    "to_c": "c_code",
    "to_dot": "networkx_graph",
    "to_graphml": "networkx_graph",
    "to_javascript": "javascript",
    "to_networkx": "networkx_graph",
    "to_onnx": "onnx_model",
    "to_pgmpy": "pgmpy_network",
    "to_pyagrum": "pyagrum_network",
    "to_sql": "sql_query",
    "to_xmlbif": "pgmpy_network",
    "trusted_types": "skops_types",
}

__getattr__ = lazy_names("tanager.exports", _HOMES)
