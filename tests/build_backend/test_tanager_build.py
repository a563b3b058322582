"""Which compiler a build uses, on machines that have one, have none, or name one."""

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def backend(monkeypatch):
    """The backend over a scikit-build-core that records the compiler and builds nothing."""
    build = types.SimpleNamespace(
        get_requires_for_build_wheel=lambda settings: ["ninja"],
        get_requires_for_build_editable=lambda settings: ["ninja"],
        get_requires_for_build_sdist=lambda settings: [],
        prepare_metadata_for_build_wheel=None,
        prepare_metadata_for_build_editable=None,
        build_sdist=None,
        build_wheel=lambda *_: compiler_in_use(),
        build_editable=lambda *_: compiler_in_use(),
    )
    monkeypatch.setitem(sys.modules, "scikit_build_core", types.SimpleNamespace(build=build))
    for name in ("CXX", "CC", "TANAGER_ZIG", "CMAKE_GENERATOR_TOOLSET"):
        monkeypatch.delenv(name, raising=False)
    spec = importlib.util.spec_from_file_location("tanager_build", ROOT / "build_backend" / "tanager_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiler_in_use():
    return [os.environ.get(name) for name in ("CXX", "CC", "CMAKE_GENERATOR_TOOLSET")]


def with_programs(monkeypatch, folder, *names):
    """A path on which only these programs are."""
    for name in names:
        (folder / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(folder))


def with_zig(monkeypatch, folder):
    """The package ziglang, as far as the backend looks at it."""
    package = folder / "with spaces" / "ziglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    return f"'{package / 'zig'}'"


@pytest.mark.parametrize("name", ["c++", "g++", "clang++"])
def test_a_compiler_on_the_path_is_left_to_cmake(backend, monkeypatch, tmp_path, name):
    with_programs(monkeypatch, tmp_path, name)
    assert backend.get_requires_for_build_wheel() == ["ninja"]
    assert backend.build_wheel("") == "[None, None, None]"


def test_a_compiler_that_is_named_is_used(backend, monkeypatch, tmp_path):
    with_programs(monkeypatch, tmp_path)
    monkeypatch.setenv("CXX", "mine")
    assert backend.get_requires_for_build_editable() == ["ninja"]
    assert backend.build_editable("") == "['mine', None, None]"


@pytest.mark.parametrize("programs", [(), ("gcc", "cc")])
def test_without_a_compiler_one_comes_from_the_package_index(backend, monkeypatch, tmp_path, programs):
    with_programs(monkeypatch, tmp_path, *programs)
    zig = with_zig(monkeypatch, tmp_path)
    for requires in (backend.get_requires_for_build_wheel, backend.get_requires_for_build_editable):
        assert requires() == ["ninja", "ziglang>=0.13"]
    assert backend.build_wheel("") == str([f"{zig} c++", f"{zig} cc", None])
    assert compiler_in_use() == [None, None, None], "the environment is as before"


def test_zig_can_be_asked_for(backend, monkeypatch, tmp_path):
    with_programs(monkeypatch, tmp_path, "c++")
    zig = with_zig(monkeypatch, tmp_path)
    monkeypatch.setenv("TANAGER_ZIG", "1")
    assert backend.get_requires_for_build_wheel() == ["ninja", "ziglang>=0.13"]
    assert backend.build_wheel("") == str([f"{zig} c++", f"{zig} cc", None])


def test_neither_a_compiler_nor_zig_is_said_in_one_sentence(backend, monkeypatch, tmp_path):
    with_programs(monkeypatch, tmp_path)
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"there is no C\+\+ compiler .* or pip install ziglang\.$"):
        backend.build_wheel("")


def test_on_windows_clang_of_visual_studio_is_the_default(backend, monkeypatch, tmp_path):
    with_programs(monkeypatch, tmp_path)
    monkeypatch.setattr(backend.platform, "system", lambda: "Windows")
    assert backend.get_requires_for_build_wheel() == ["ninja"]
    assert backend.build_wheel("") == "[None, None, 'ClangCL']"
    monkeypatch.setenv("CMAKE_GENERATOR_TOOLSET", "other")
    assert backend.build_wheel("") == "[None, None, 'other']"


def run_install(*arguments, **environment):
    """tools/install.py without any package index."""
    variables = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull, **environment}
    command = [sys.executable, ROOT / "tools" / "install.py", *arguments]
    return subprocess.run(command, env=variables, capture_output=True, text=True)


def test_a_package_that_cannot_be_had_is_said_in_one_sentence():
    done = run_install("a-package-that-nobody-has>=1")
    assert done.returncode == 1
    assert done.stderr.startswith("error: pip cannot get a-package-that-nobody-has>=1, which tanager needs here")
    assert len(done.stderr.splitlines()) == 1


def test_other_failures_show_what_pip_says(tmp_path):
    (tmp_path / "pyproject.toml").write_text("not toml")
    done = run_install("--no-build-isolation", str(tmp_path))
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) > 2
    assert done.stderr.splitlines()[-1].startswith("error: pip could not install --no-build-isolation")
