"""One entry point for all file formats, with their file name extensions and options.

Functions are imported on first use, so listing the formats is fast.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tanager.files import written_whole


class Format(NamedTuple):
    """A file format.

    Attributes
    ----------
    description : str
    endings : tuple of str
        File name extensions, with the dot.
    module, function : str
        Location of its function, which takes the classifier and options and returns text or an ONNX model; or takes
        the classifier, a path and options and writes the file itself.
    """

    description: str
    endings: tuple[str, ...]
    module: str
    function: str

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        function: Callable[..., Any] = getattr(import_module(f"tanager.exports.{self.module}"), self.function)
        return function

    def options(self) -> list[str]:
        """Names of the options."""
        return [name for name in inspect.signature(self.load()).parameters if name not in ("clf", "path")]


FORMATS = {
    "bif": Format("Bayesian network, BIF", (".bif",), "pgmpy_network", "to_bif"),
    "xmlbif": Format("Bayesian network, XMLBIF", (".xmlbif", ".bifxml", ".xml"), "pgmpy_network", "to_xmlbif"),
    "onnx": Format("ONNX model, from raw columns to class and probabilities", (".onnx",), "onnx_model", "to_onnx"),
    "c": Format("C header with integer parameters", (".h", ".c"), "c_code", "to_c"),
    "js": Format("JavaScript module without dependencies", (".js", ".mjs"), "javascript", "to_javascript"),
    "sql": Format("one SQL statement, from columns to class and probabilities", (".sql",), "sql_query", "to_sql"),
    "graphml": Format("structure alone, GraphML", (".graphml",), "networkx_graph", "to_graphml"),
    "dot": Format("structure alone, for Graphviz", (".dot", ".gv"), "networkx_graph", "to_dot"),
}
"""File formats by name."""


def export(clf: Any, path: str | Path, to: str | None = None, **options: Any) -> Path:
    """Write a fitted classifier to a file for another program.

    Parameters
    ----------
    clf : TANClassifier or TANEnsembleClassifier
    path : str or Path
        The file appears only when it is complete.
    to : str, optional
        Name of the format: "bif", "xmlbif", "onnx", "c", "js", "sql", "graphml" or "dot". Defaults to the format of the
        file name extension.
    **options
        Options of the format's function, for instance ``target="species"`` for "bif".

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from tanager import TANClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = TANClassifier("none", parameters="ml").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(clf, f"{folder}/iris.dot", target="species").read_text()[:18]
    'digraph "tanager" '
    """
    path = Path(path)
    name = format_of(path) if to is None else to
    if name not in FORMATS:
        raise ValueError(f"there is no format {name!r}; the formats are {', '.join(FORMATS)}")
    known = FORMATS[name].options()
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ValueError(f"the format {name} has no option {unknown[0]!r}; its options are: {', '.join(known)}")
    make = FORMATS[name].load()
    if "path" in inspect.signature(make).parameters:
        make(clf, path, **options)
        return path
    with written_whole(path) as temporary:
        content = make(clf, **options)
        temporary.write_bytes(content.encode() if isinstance(content, str) else content.SerializeToString())
    return path


def format_of(path: str | Path) -> str:
    """Name of the format that belongs to the extension of a path.

    >>> format_of("model.BIF")
    'bif'
    """
    ending = Path(path).suffix.lower()
    for name, file_format in FORMATS.items():
        if ending in file_format.endings:
            return name
    endings = ", ".join(f"{name} ({', '.join(entry.endings)})" for name, entry in FORMATS.items())
    raise ValueError(f"the ending of {str(path)!r} stands for no format; name one of {endings}")
