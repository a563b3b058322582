"""Build backend: scikit-build-core, with a C++ compiler from the package index where the machine has none.

Where neither ``CXX`` is set nor a compiler is on the path, ``ziglang`` joins the build requirements and its ``zig c++``
compiles the core; ``TANAGER_ZIG=1`` asks for that on any machine, such as one with an old compiler. On Windows the core
is compiled by the Clang of Visual Studio.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scikit_build_core import build as _build

_ZIG = "ziglang>=0.13"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What a build needs besides, a compiler included if there is none."""
    return _with_compiler(_build.get_requires_for_build_wheel(config_settings))


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """What an editable build needs besides."""
    return _with_compiler(_build.get_requires_for_build_editable(config_settings))


# Metadata need no compiler, so that dependencies are found, or missed, before anything is compiled.
prepare_metadata_for_build_wheel = _build.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = _build.prepare_metadata_for_build_editable
get_requires_for_build_sdist = _build.get_requires_for_build_sdist
build_sdist = _build.build_sdist


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Compile the core and make a wheel."""
    with _compiler():
        return str(_build.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Compile the core and make an editable wheel."""
    with _compiler():
        return str(_build.build_editable(wheel_directory, config_settings, metadata_directory))


def _with_compiler(requirements: list[str]) -> list[str]:
    return [*requirements, _ZIG] if _needs_zig() else list(requirements)


def _needs_zig() -> bool:
    """Whether zig is asked for, or there is no C++ compiler that CMake would find."""
    if os.environ.get("TANAGER_ZIG") == "1":
        return True
    if os.environ.get("CXX") or platform.system() == "Windows":
        return False
    return not any(map(shutil.which, ("c++", "g++", "clang++")))


@contextmanager
def _compiler() -> Iterator[None]:
    """Point CMake to the compiler, where it would not find the right one by itself."""
    before = dict(os.environ)
    if _needs_zig():
        zig = shlex.quote(str(_find_zig()))
        os.environ["CXX"], os.environ["CC"] = f"{zig} c++", f"{zig} cc"
    elif platform.system() == "Windows" and not os.environ.get("CXX"):
        os.environ.setdefault("CMAKE_GENERATOR_TOOLSET", "ClangCL")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _find_zig() -> Path:
    """The program of the package ziglang."""
    found = importlib.util.find_spec("ziglang")
    if found is None or found.origin is None:
        sys.exit(
            "tanager: there is no C++ compiler (c++, g++ or clang++) on the path, and the package ziglang, which has "
            "one, is not installed: install a compiler of your system, or pip install ziglang."
        )
    print("tanager: zig compiles the core, which takes some minutes", file=sys.stderr)
    return Path(found.origin).with_name("zig")
