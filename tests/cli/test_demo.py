"""``tanager demo``: the classifiers side by side, and a picture."""

import re

import pytest
from sklearn.datasets import load_digits

from tanager.cli import demo


@pytest.fixture
def few_digits(monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr(demo, "load_digits", lambda return_X_y: (X[:300], y[:300]))
    monkeypatch.setattr(demo, "_PARAMETERS", demo._PARAMETERS.set_params(epochs=2))


def test_errors_and_picture(call, few_digits, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing: the demo is NOT checked")
    picture = tmp_path / "structure.png"
    result = call("demo", "--picture", picture)
    assert result.exit_code == 0, result.output
    assert "200 training rows, 100 test rows, 64 pixels" in result.stdout
    for name in ("naive Bayes", "Chow-Liu tree", "learned TAN, defaults", r"learned TAN \(8 nearest pixels"):
        assert re.search(rf"{name}[^│]*│ +\d+\.\d\d% │", result.stdout)
    assert result.stderr == ""  # progress is for terminals
    assert str(picture) in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
