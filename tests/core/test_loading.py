"""Loading of the core: processors and builds that it refuses, and sources that are newer than it."""

import os
import subprocess
import sys

import pytest

from tanager import core


def load(folder, **environment):
    """Import the core from a folder with a program in place of the compiled question which level there is."""
    variables = {name: value for name, value in os.environ.items() if name != "TANAGER_LEVEL"}
    variables |= {"TANAGER_CORE_PATH": str(folder), **environment}
    return subprocess.run([sys.executable, "-c", "import tanager.core"], env=variables, capture_output=True, text=True)


def with_level(folder, level):
    (folder / "_cpu.py").write_text(f"def best_level():\n    return {level!r}\n")
    return folder


@pytest.mark.parametrize("environment", [{}, {"TANAGER_LEVEL": "v2"}])
def test_a_processor_below_all_levels_is_refused_in_one_sentence(tmp_path, environment):
    done = load(with_level(tmp_path, "v1"), **environment)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: tanager needs a processor with level v2 of x86-64")


@pytest.mark.parametrize(("level", "names"), [("v3", "v3, v2"), ("base", "base")])
def test_a_core_that_was_not_built_for_the_processor(tmp_path, level, names):
    done = load(with_level(tmp_path, level))
    assert f"ImportError: tanager was not built for this processor, which has the levels {names}" in done.stderr


def test_a_core_that_is_missing(tmp_path):
    assert "ImportError: tanager's compiled core is missing" in load(tmp_path).stderr


def test_a_source_that_is_newer_than_the_core_is_named(tmp_path, monkeypatch):
    package, sources, built = tmp_path / "src/tanager/core", tmp_path / "src/core", tmp_path / "site/_core_v2.so"
    for folder in (package, sources, built.parent):
        folder.mkdir(parents=True)
    for path, time in ((sources / "views.h", 100), (built, 200)):
        path.touch()
        os.utime(path, (time, time))
    monkeypatch.setattr(core, "__file__", str(package / "__init__.py"))
    assert core._newer_source(str(built)) is None
    os.utime(sources / "views.h", (300, 300))
    assert core._newer_source(str(built)) == str(sources / "views.h")
    installed = package / "_core_v2.so"
    installed.touch()
    os.utime(installed, (200, 200))
    assert core._newer_source(str(installed)) is None, "a wheel has the core beside the Python files"
