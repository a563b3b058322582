"""The error for an export whose package is not installed."""

from __future__ import annotations


def needs_extra(package: str) -> ImportError:
    """The error for a missing package.

    >>> needs_extra("onnx")
    ImportError("this export needs onnx; pip install 'tanager[exports]'")
    """
    return ImportError(f"this export needs {package}; pip install 'tanager[exports]'")
