"""It runs anywhere: nothing can be written, there is no home, somebody else, a fork of a server, little memory."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import tanager
from tests.restricted import run_without_privileges

WORK = """
import numpy as np
from tanager import DisjointTrees, GradientDescent, TANClassifier, TANEnsembleClassifier
rng = np.random.default_rng(0)
y = rng.integers(0, 3, 90)
X = rng.normal(size=(90, 4)) + y[:, None]
for classifier in (
    TANClassifier("subset", GradientDescent(epochs=1), random_state=0, n_jobs=2),
    TANEnsembleClassifier(DisjointTrees(2), "penalised", random_state=0),
):
    assert classifier.fit(X, y).score(X, y) > 0.5
"""


def assert_works(done):
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("works\n")


def read_only(folder):
    folder.mkdir()
    folder.chmod(0o555)
    return folder


@pytest.mark.parametrize("homeless", [False, True], ids=["home", "no home"])
def test_nothing_can_be_written(tmp_path, homeless):
    """Home, current folder and folder for temporary files are read-only, and nothing in the package changes."""
    folder = read_only(tmp_path / "nothing")
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    if not homeless:
        env |= {"HOME": str(folder), "XDG_CACHE_HOME": str(folder), "MPLCONFIGDIR": str(folder)}
    package = Path(tanager.__file__).parent
    before = {path: path.stat().st_mtime_ns for path in package.rglob("*") if "__pycache__" not in path.parts}
    done = run_without_privileges(WORK + "print('works')", env=env, folder=folder)
    assert_works(done)
    assert {path: path.stat().st_mtime_ns for path in package.rglob("*") if "__pycache__" not in path.parts} == before


def test_no_temporary_folder_but_memory(tmp_path):
    """A model is written to a pipe where not a single folder can be written to."""
    code = f"""
import tempfile
tempfile.gettempdir = lambda: (_ for _ in ()).throw(FileNotFoundError("No usable temporary directory found"))
{WORK}
classifier.save("/dev/stderr")
print("works")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, check=False)
    assert done.stdout == b"works\n", done.stderr
    path = tmp_path / "a.tanager"
    path.write_bytes(done.stderr)
    assert tanager.load(path).classes_.tolist() == [0, 1, 2]


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root can become somebody else")
def test_as_nobody():
    """A user without a name or a home, after the modules were imported by another."""
    code = f"""
import os
import tanager.estimators, tanager.learning, tanager.files.model_file, sklearn.ensemble
{WORK}
os.setgid(65534)
os.setuid(65534)
for name in ("HOME", "USER", "LOGNAME"):
    os.environ.pop(name, None)
{WORK}
print("works")
"""
    assert_works(run_without_privileges(code))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_in_a_fork_of_a_server_with_threads():
    """Threads that do not exist in the fork have been at work in the core, and some are while it forks."""
    code = f"""
import os, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)
{WORK}
expected = classifier.predict_proba(X)
is_over = threading.Event()

def serve():
    while not is_over.is_set():
        TANClassifier("subset", GradientDescent(epochs=1), random_state=0, n_jobs=2).fit(X, y)
        classifier.predict_proba(X)

servers = [threading.Thread(target=serve) for _ in range(2)]
for server in servers:
    server.start()
codes = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        again = TANEnsembleClassifier(DisjointTrees(2), "penalised", random_state=0, n_jobs=2).fit(X, y)
        is_same = (again.predict_proba(X) == expected).all() and (classifier.predict_proba(X) == expected).all()
        TANClassifier("subset", GradientDescent(epochs=1), random_state=0, n_jobs=2).fit(X, y)
        os._exit(0 if is_same else 1)
    codes.append(os.waitpid(child, 0)[1])
is_over.set()
for server in servers:
    server.join()
print(codes)
print("works" if codes == [0] * 3 else "does not work")
"""
    assert_works(run_without_privileges(code))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
@pytest.mark.parametrize("gibibytes", [1.5, 3.0])
def test_little_memory_is_an_error_and_not_a_kill(gibibytes):
    """A fit that may take more than there is says so; what does not fit in the middle is a MemoryError as well."""
    code = """
import numpy as np
from tanager import GradientDescent, TANClassifier
rng = np.random.default_rng(0)
X = rng.integers(0, 200, (400, 150))
y = rng.integers(0, 60, 400)
options = {"categorical_features": np.ones(150, bool), "max_categories": None}
classifier = TANClassifier("all", GradientDescent(epochs=1), **options)
try:
    classifier.fit(X, y)
except MemoryError as error:
    print(error)
small = TANClassifier("none", "ml").fit(X[:, :3], y % 2)
assert small.predict(X[:, :3]).shape == (400,)
print("works")
"""
    limit = int(gibibytes * 2**30)
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = run_without_privileges(code, env=env, limit=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert_works(done)
    assert "GiB and there are" in done.stdout
