"""``python tools/try_wheel.py WHEEL``: install a wheel into a fresh environment without a compiler, and use it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

_SMOKE = """
import os, sys
from sklearn.datasets import load_breast_cancer
import tanager
from tanager import TANClassifier, TANEnsembleClassifier, core
X, y = load_breast_cancer(return_X_y=True)
for make in (TANClassifier, TANEnsembleClassifier):
    clf = make(random_state=0).fit(X[::2], y[::2])
    score = clf.score(X[1::2], y[1::2])
    assert score > 0.9, score
    clf.save(sys.argv[1])
    assert (tanager.load(sys.argv[1]).predict_proba(X) == clf.predict_proba(X)).all()
    print(f"{make.__name__}: {score:.3f} of the other rows right, core level {core.level}")
"""


def main(wheel: str) -> None:
    """Install and try a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
        # A path without any compiler, and a home that cannot be written to.
        environment = {"PATH": str(python.parent), "HOME": "/nonexistent", "LANG": os.environ.get("LANG", "C.UTF-8")}
        model = Path(folder) / "model.tanager"
        subprocess.run([python, "-c", _SMOKE, model], check=True, env=environment, cwd=folder)
    print(f"{wheel}: {Path(wheel).stat().st_size / 1e6:.1f} MB, works")


if __name__ == "__main__":
    main(sys.argv[1])
