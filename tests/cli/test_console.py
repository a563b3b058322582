"""Names in files reach the terminal as text: no control character of theirs does."""

import io

import numpy as np
import pytest
from rich.table import Table
from rich.text import Text

from tanager import TANClassifier
from tanager.cli.console import PlainConsole
from tanager.cli.errors import visible

BAD = "a\x1b[2Jb\x07\x9bc\u202ed"


def shown(*objects, **options):
    stream = io.StringIO()
    PlainConsole(file=stream, force_terminal=True, width=120, **options).print(*objects)
    return stream.getvalue()


def test_control_characters_are_shown():
    assert visible(BAD) == "a\\x1b[2Jb\\x07\\x9bc\\u202ed"
    assert visible("naïve Bayes, 平仮名") == "naïve Bayes, 平仮名"


@pytest.mark.parametrize("make", [str, Text, lambda text: Text(text, style="bold red")])
def test_text_of_any_kind(make):
    output = shown(make(BAD), make("x\n\ty"))
    assert "\\x1b" in output
    assert not any(each in output for each in ("\x1b[2J", "\x07", "\x9b", "\u202e"))


def test_tables_and_styles_stay():
    table = Table(BAD)
    table.add_row(Text(BAD, style="bold"))
    output = shown(table)
    assert "\x1b[1m" in output
    assert "\x1b[2J" not in output
    assert output.count("\\x1b") == 2


@pytest.fixture
def hostile(tmp_path):
    """A table and a model whose names and values would clear the screen."""
    path = tmp_path / "hostile.csv"
    rows = [f'"{BAD}{number % 3}",{number},{BAD}{number % 2}' for number in range(40)]
    path.write_text("\n".join([f'"{BAD}",n{BAD},y{BAD}', *rows]) + "\n")
    X = np.array([[f"{BAD}{number % 3}"] for number in range(40)], dtype=object)
    model = tmp_path / "hostile.tanager"
    TANClassifier("none", "ml").fit(X, [f"{BAD}{number % 2}" for number in range(40)]).save(model, {"target": BAD})
    return path, model


def assert_harmless(result):
    text = result.output + result.stderr
    assert "\\x1b" in text
    for each in ("\x1b[2J", "\x07", "\x9b", "\u202e"):
        assert each not in text


def test_commands(hostile, call, tmp_path):
    path, model = hostile
    assert_harmless(call("fit", path, "--target", f"y{BAD}", "--out", tmp_path / "m.tanager", "--structure", "none"))
    assert_harmless(call("inspect", model))
    assert_harmless(call("inspect", model, "--feature", BAD))
    assert_harmless(call("fit", path, "--target", f"z{BAD}", "--out", tmp_path / "m.tanager"))
