"""Data files: endings, delimiters, encodings, compression, headers, pieces, and files that are not data."""

import bz2
import gzip

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from tanager.cli import data_files
from tanager.cli.data_files import Reading, open_data
from tanager.cli.errors import InputError


def read(path, n_rows=1000, **options):
    file = open_data(path, Reading(**options))
    pieces = list(file.pieces(file.names, n_rows))
    return pyarrow.Table.from_batches(pieces).to_pydict()


def written(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


ROWS = {"a": ["1", "3"], "b": ["x", None]}


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("t.csv", "a,b\n1,x\n3,\n", {}),
        ("t.csv", "\ufeffa,b\r\n1,x\r\n3,\r\n", {}),
        ("t.csv", " a , b\n\n 1 , x\n3,  \n", {}),
        ("t.csv", 'a,"b"\n"1","x"\n3,""\n', {}),
        ("t.tsv", "a\tb\n1\tx\n3\t\n", {}),
        ("t.TAB", "a\tb\n1\tx\n3\t\n", {}),
        ("t.csv", "a;b\n1;x\n3;\n", {"delimiter": ";"}),
        ("t.csv", "a\tb\n1\tx\n3\t\n", {"delimiter": "tab"}),
        ("t.csv", "a,b\n1,x\n3,?\n", {"missing": ("?",)}),
        ("t.csv.gz", gzip.compress(b"a,b\n1,x\n3,\n", mtime=0), {}),
        ("t.csv", gzip.compress(b"a,b\n1,x\n3,\n", mtime=0), {}),
        ("t.tsv.gz", gzip.compress(b"a\tb\n1\tx\n3\t\n", mtime=0), {}),
        ("t.csv.bz2", bz2.compress(b"a,b\n1,x\n3,\n"), {}),
        ("t.csv", "a,b\n1,x\n3,\n".encode("utf-16"), {"encoding": "utf-16"}),
    ],
)
def test_same_cells_from_many_spellings(tmp_path, name, text, options):
    assert read(written(tmp_path, name, text), **options) == ROWS


def test_no_header(tmp_path):
    path = written(tmp_path, "t.csv", "1,x\n3,\n")
    assert read(path, has_header=False) == {"x0": ["1", "3"], "x1": ["x", None]}


def test_quoted_newlines_and_delimiters_stay_in_their_cell(tmp_path):
    path = written(tmp_path, "t.csv", 'a,b\n"one\ntwo","x,y"\n"say ""hi""",z\n')
    assert read(path) == {"a": ["one\ntwo", 'say "hi"'], "b": ["x,y", "z"]}


def test_other_encodings(tmp_path):
    path = written(tmp_path, "t.csv", "a,b\ncafé,1\n".encode("latin-1"))
    assert read(path, encoding="latin-1") == {"a": ["café"], "b": ["1"]}


def test_columns_without_a_name_are_ignored_with_a_note(tmp_path):
    path = written(tmp_path, "t.csv", ",a\n0,x\n1,y\n")
    assert read(path) == {"a": ["x", "y"]}
    assert open_data(path, Reading()).notes == ["column 1 has no name and is ignored"]
    several = written(tmp_path, "several.csv", ",a,\n0,x,1\n1,y,2\n")
    assert open_data(several, Reading()).notes == ["columns 1, 3 have no name and are ignored"]


def test_pieces_have_few_rows_and_only_the_wanted_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(data_files, "_BLOCK_BYTES", 4096)
    lines = [f"{number},{number % 7},word{number}" for number in range(5000)]
    path = written(tmp_path, "t.csv", "a,b,c\n" + "\n".join(lines) + "\n")
    pieces = list(open_data(path, Reading()).pieces(["c", "a"], 50))
    assert max(piece.num_rows for piece in pieces) == 50
    assert {tuple(piece.schema.names) for piece in pieces} == {("c", "a")}
    cells = pyarrow.Table.from_batches(pieces)
    assert cells.column("a").to_pylist() == [str(number) for number in range(5000)]
    assert cells.column("c").to_pylist() == [f"word{number}" for number in range(5000)]


def test_parquet_keeps_types(tmp_path):
    path = tmp_path / "t.parquet"
    text = pyarrow.array(["x", "?", None]).dictionary_encode()
    frame = pyarrow.table({"n": [1, 2, None], "t": text, "f": [0.5, np.nan, 1.0], "b": [True, False, None]})
    parquet.write_table(frame, path)
    assert read(path, missing=("?",))["t"] == ["x", None, None]
    [piece] = open_data(path, Reading()).pieces(["b", "n"])
    assert [str(field.type) for field in piece.schema] == ["bool", "int64"]


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\n\n"])
def test_header_without_rows_is_an_empty_piece(tmp_path, text):
    assert read(written(tmp_path, "t.csv", text)) == {"a": [], "b": []}


def test_parquet_without_rows_is_an_empty_piece(tmp_path):
    parquet.write_table(pyarrow.table({"a": pyarrow.array([], pyarrow.int32())}), tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet") == {"a": []}


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("t.csv", "", {}, "t.csv is empty"),
        ("t.csv", "\n\n", {}, "t.csv is empty"),
        ("t.csv.gz", gzip.compress(b"", mtime=0), {}, "t.csv.gz is empty"),
        ("t.csv", "a;b;c\n1;2;3\n", {}, "one column, 'a;b;c', with the delimiter ','; try --delimiter ';'"),
        ("t.csv", "a\tb\n1\t2\n", {}, "try --delimiter tab"),
        ("t.tsv", "a,b\n1,2\n", {}, "with the delimiter tab; try --delimiter ','"),
        ("t.csv", "a|b\n1|2\n", {}, "try --delimiter '|'"),
        ("t.csv", "sep=;\na;b\n1;2\n", {}, "begins with a line for spreadsheets, 'sep=;', in place of"),
        ("t.csv", "sep=;\na;b\n1;2\n", {"delimiter": ";"}, "remove it, and give the delimiter"),
        ("t.csv", "a,b\n1,2\n", {"delimiter": "::"}, "--delimiter must be one character or the word tab, got '::'"),
        ("t.csv", "a,b,a\n1,2,3\n", {}, "more than one column named 'a'"),
        ("t.csv", "a,b\n1,2\n3,4,5\n", {}, "a row with 3 cells where the first line has 2: 3,4,5"),
        ("t.csv", "a,b\ncafé,2\n".encode("latin-1"), {}, "is not utf-8 text; give its encoding"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), {}, "is UTF-16 text; add --encoding utf-16"),
        ("t.csv", "a,b\n1,2\n", {"encoding": "klingon"}, "unknown text encoding 'klingon'"),
        ("t.csv", bytes(range(256)) * 40, {}, "is not a data file: it contains binary data"),
        ("t.csv", b"a,b\n1,\x00\n", {}, "is not a data file: it contains binary data"),
        ("t.xlsx", b"PK\x03\x04" + bytes(200), {}, "is a zip archive or a spreadsheet; save the sheet as CSV first"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 4000, mtime=0)[:40], {}, "cannot read PATH: "),
        ("t.parquet", b"PAR1" + bytes(40), {}, "cannot read PATH: "),
        ("t.csv", b"a,b\n" + b"1,2\n" * 300_000 + b"\xe9,2\n", {}, "is not utf-8 text"),
        (
            "t.csv",
            "a,b\n" + "1,2\n" * 300_000 + '"1,' + "2\n" * 1_500_000,
            {},
            "has a row longer than 1 MB; is a quote not closed?",
        ),
    ],
)
def test_files_that_are_refused(tmp_path, name, text, options, message):
    path = written(tmp_path, name, text)
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert message.replace("PATH", str(path)) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folder(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        open_data(tmp_path, Reading())


@pytest.mark.parametrize("n_columns", [1, 30_000])
@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_header_of_more_than_a_megabyte(tmp_path, n_columns, ending):
    names = [f"{number:06d}-{'é' * 15}" for number in range(n_columns)]
    text = ",".join(names) + "\n" + ",".join(["7"] * n_columns) + ending
    file = open_data(written(tmp_path, "wide.csv", text), Reading())
    assert file.names == names
    (piece,) = file.pieces(names)
    assert piece.num_rows == 1
    assert set(map(str, piece.slice(0, 1).to_pylist()[0].values())) == {"7"}
    alone = open_data(written(tmp_path, "alone.csv", ",".join(names) + ending), Reading())
    assert alone.names == names
    assert [each.num_rows for each in alone.pieces(names[:2])] == [0]


def test_a_quote_that_is_not_closed_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("tanager.cli.data_files._LONGEST_HEAD", 1 << 20)
    path = written(tmp_path, "quote.csv", 'a,"b\n' + "1,2\n" * 400_000)
    with pytest.raises(InputError, match=r"quote\.csv.*(longer than 1 MB; is a quote not closed|field larger)"):
        open_data(path, Reading())
