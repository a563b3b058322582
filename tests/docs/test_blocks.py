"""The README and the tutorials, run word for word, with the packages of exactly the extras that they name.

Blocks of a page run one after the other, Python in one process and commands of a shell in the same folder. What else is
installed is hidden, so that a block which needs an extra that the page does not name fails.
"""

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/practice.md",
    "docs/queries.md",
    "docs/report.md",
    "docs/tutorial-practitioner.md",
    "docs/tutorial-researcher.md",
    "docs/tutorial-deployer.md",
]
_BLOCK = re.compile(r"^```(python|sh|)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXTRAS = re.compile(r"pip install '(?:tanager|\.)\[([a-z,]+)\]'")
_ALWAYS = {"tanager", "numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "pip", "setuptools"}


def distributions(extras):
    """Names of the distributions that tanager with some extras brings, in lower case."""
    found, todo = set(), [("tanager", frozenset(extras))]
    while todo:
        name, wanted = todo.pop()
        if (name, wanted) in found:
            continue
        found.add((name, wanted))
        try:
            needed = requires(name) or []
        except PackageNotFoundError:
            continue
        for text in needed:
            requirement = Requirement(text)
            environments = [{"extra": extra} for extra in (*wanted, "")]
            if requirement.marker is None or any(requirement.marker.evaluate(each) for each in environments):
                todo.append((requirement.name.lower(), frozenset(requirement.extras)))
    return {name.lower().replace("_", "-") for name, _ in found} | _ALWAYS


def hidden_modules(extras):
    """Modules that are installed here, but not with these extras."""
    allowed = distributions(extras)
    owners = {
        module: {owner.lower().replace("_", "-") for owner in names}
        for module, names in packages_distributions().items()
    }
    return sorted(
        module
        for module, names in owners.items()
        if not names & allowed and not module.startswith("_") and module not in sys.stdlib_module_names
    )


def blocks(page):
    text = (ROOT / page).read_text()
    return [(kind or "sh", body) for kind, body in _BLOCK.findall(text)]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_as_written(page, tmp_path):
    extras = {extra for names in _EXTRAS.findall((ROOT / page).read_text()) for extra in names.split(",")}
    environment = {
        **os.environ,
        "TANAGER_HIDDEN_MODULES": ",".join(hidden_modules(extras)),
        "PYTHONPATH": str(Path(__file__).parent / "only_named"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "MPLBACKEND": "agg",
        "PYTHONWARNINGS": "ignore",
    }
    program = []
    for kind, body in blocks(page):
        if kind == "python":
            program.append(body)
            continue
        lines = [line for line in body.splitlines() if re.match(r"(tanager|python|cc|node) ", line)]
        if lines:
            shell = "\n".join(["set -e", *lines])
            program.append(f"import subprocess\nsubprocess.run(['bash', '-c', {shell!r}], check=True)")
    (tmp_path / "page.py").write_text("\n".join(program))
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_packages_that_a_page_does_not_name_are_hidden():
    hidden = hidden_modules(["plots"])
    assert {"torch", "pandas", "plotly"} <= set(hidden)
    assert not {"numpy", "sklearn", "tanager", "matplotlib"} & set(hidden)
    environment = {
        **os.environ,
        "TANAGER_HIDDEN_MODULES": ",".join(hidden),
        "PYTHONPATH": str(Path(__file__).parent / "only_named"),
    }
    for module, code in (("pandas", 1), ("matplotlib", 0)):
        done = subprocess.run([sys.executable, "-c", f"import {module}"], env=environment, capture_output=True)
        assert done.returncode == code
