"""Files of every format by one function."""

import sys

import onnx
import pytest

from tanager.exports import FORMATS, export, format_of, to_networkx, to_onnx, to_pgmpy, to_pyagrum
from tests.exports.classifiers import iris_classifier, pgmpy, pyagrum


@pytest.fixture(scope="module")
def clf():
    return iris_classifier(structure="chow-liu", parameters="ml")[0]


def test_the_ending_names_the_format(clf, tmp_path):
    bif = export(clf, tmp_path / "iris.bif", target="species")
    assert "species" in pyagrum.loadBN(str(bif)).names()
    xml = export(clf, str(tmp_path / "iris.XML"))
    assert pgmpy.readwrite.XMLBIFReader(str(xml)).get_model().check_model()
    model = onnx.load(export(clf, tmp_path / "iris.onnx", inputs="codes"))
    assert model.graph.input[0].name == "codes"
    assert "flower_predict" in export(clf, tmp_path / "iris.h", bits=4, name="flower").read_text()
    assert export(clf, tmp_path / "iris.gv").read_text().startswith("digraph")
    assert export(clf, tmp_path / "iris.txt", to="graphml").read_text().startswith("<graphml")


def test_every_ending_has_one_format():
    endings = [ending for entry in FORMATS.values() for ending in entry.endings]
    assert len(endings) == len(set(endings))
    assert {format_of(f"a{ending}") for ending in endings} == set(FORMATS)


def test_bad_requests_leave_no_file(clf, tmp_path):
    with pytest.raises(ValueError, match=r"'model.pmml' stands for no format; name one of bif"):
        export(clf, "model.pmml")
    with pytest.raises(ValueError, match="no format 'pmml'; the formats are bif, xmlbif"):
        export(clf, tmp_path / "a.bif", to="pmml")
    with pytest.raises(ValueError, match="bif has no option 'bits'; its options are: target"):
        export(clf, tmp_path / "a.bif", bits=8)
    with pytest.raises(FileNotFoundError, match="no folder"):
        export(clf, tmp_path / "no" / "a.bif")
    with pytest.raises(TypeError, match="can be exported, not a str"):
        export("clf", tmp_path / "a.bif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("package", "make"),
    [("pyagrum", to_pyagrum), ("pgmpy", to_pgmpy), ("onnx", to_onnx), ("networkx", to_networkx)],
)
def test_a_missing_package_names_the_extra(clf, monkeypatch, package, make):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}; pip install 'tanager\[exports\]'"):
        make(clf)
