"""Files on disk: written whole or not at all, and model files."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tanager.files.writing import written_whole

if TYPE_CHECKING:
    from tanager.files.model_file import Model, ModelFileError, read_header, read_model, write_model
    from tanager.files.networks import RECORDS, Member
    from tanager.files.options import NotKept

__all__ = [
    "RECORDS",
    "Member",
    "Model",
    "ModelFileError",
    "NotKept",
    "read_header",
    "read_model",
    "write_model",
    "written_whole",
]

# Imported when asked for, so that writing a file does not wait for numba, which models are read with.
_HOMES = {
    "RECORDS": "networks",
    "Member": "networks",
    "Model": "model_file",
    "ModelFileError": "model_file",
    "NotKept": "options",
    "read_header": "model_file",
    "read_model": "model_file",
    "write_model": "model_file",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tanager.files' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"tanager.files.{_HOMES[name]}"), name)
    return value
