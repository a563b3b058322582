"""``python tools/try_wheel.py WHEEL``: install a wheel into a fresh environment without a compiler, and use it.

Without a wheel it uses what is installed for this Python, as cibuildwheel asks it to for every wheel of a release.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

# What tanager may add to an environment with scikit-learn.
MOST_BYTES = 5_000_000


def use_tanager() -> None:
    """Fit, save, load and predict, and check the size of the installation."""
    from sklearn.datasets import load_breast_cancer

    import tanager
    from tanager import TANClassifier, TANEnsembleClassifier, core

    X, y = load_breast_cancer(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.tanager"
        for make in (TANClassifier, TANEnsembleClassifier):
            clf = make(random_state=0).fit(X[::2], y[::2])
            score = clf.score(X[1::2], y[1::2])
            assert score > 0.9, score
            clf.save(model)
            assert (tanager.load(model).predict_proba(X) == clf.predict_proba(X)).all()
            print(f"{make.__name__}: {score:.3f} of the other rows right, core level {core.level}")
    files = [path for path in Path(tanager.__file__).parent.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files)} files of tanager: {size / 1e6:.1f} MB")
    assert size <= MOST_BYTES, f"tanager is larger than {MOST_BYTES / 1e6} MB"


def try_wheel(wheel: str) -> None:
    """Install a wheel into a fresh environment and use it there."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = next(path for path in Path(folder).glob("*/python*") if path.stem == "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
        # A path without any compiler, and a home that cannot be written to.
        environment = {"PATH": str(python.parent), "HOME": "/nonexistent", "LANG": os.environ.get("LANG", "C.UTF-8")}
        subprocess.run([python, Path(__file__).resolve()], check=True, env=environment, cwd=folder)
    print(f"{wheel}: {Path(wheel).stat().st_size / 1e6:.1f} MB, works")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        try_wheel(sys.argv[1])
    else:
        use_tanager()
