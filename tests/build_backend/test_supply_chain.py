"""The bill of materials and the lock file."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import tanager
from tools.audit import verdict

ROOT = Path(__file__).parents[2]


def bill(*extras):
    command = [sys.executable, ROOT / "tools" / "sbom.py", *extras]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_the_bill_lists_what_is_required_and_nothing_twice():
    document = bill()
    names = [entry["name"] for entry in document["components"]]
    assert {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"} <= set(names)
    assert len(names) == len(set(names))
    assert "torch" not in names
    assert document["metadata"]["component"]["version"] == tanager.__version__
    assert document == bill()


def test_extras_add_to_it():
    names = {entry["name"] for entry in bill("cli")["components"]}
    assert {"typer", "rich", "pyarrow", "click"} <= names | {"click"}
    references = {entry["bom-ref"] for entry in bill("cli")["components"]}
    for entry in bill("cli")["dependencies"]:
        assert set(entry["dependsOn"]) <= references | {entry["ref"]}


def test_every_line_of_the_lock_file_is_pinned_and_hashed():
    text = (ROOT / "requirements" / "ci.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) > 50
    for line in lines:
        assert re.match(r"\S+==\S+( ;.*?)?\s+--hash=sha256:[0-9a-f]{64}", line), line
    names = {Requirement(line.split(" --hash")[0].split(";")[0].strip()).name for line in lines}
    assert {"numpy", "scipy", "scikit-learn", "pytest", "hypothesis", "ruff", "mypy", "torch"} <= names


def test_an_audit_that_looked_nothing_up_is_no_clean_one():
    clean = {"name": "numpy", "version": "2.0", "vulns": []}
    assert verdict([clean]) == "1 packages looked up, no known vulnerability"
    with pytest.raises(SystemExit, match="1 of 2 packages could not be looked up, among them pip"):
        verdict([clean, {"name": "pip", "skip_reason": "not found"}])
    fault = {"id": "PYSEC-1", "fix_versions": ["2.1"]}
    with pytest.raises(SystemExit, match=r"numpy 2\.0: PYSEC-1, fixed in 2\.1"):
        verdict([{**clean, "vulns": [fault]}])


def test_an_audit_without_an_answer_says_so(tmp_path):
    requirements = tmp_path / "none.txt"
    command = [sys.executable, ROOT / "tools" / "audit.py", requirements]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "could not be audited" in done.stderr or "pip-audit is not installed" in done.stderr
