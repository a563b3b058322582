"""Files on disk: written whole or not at all, and model files."""

from typing import TYPE_CHECKING

from tanager._lazy import lazy_names
from tanager.files.writing import written_whole

if TYPE_CHECKING:
    from tanager.files.model_file import CHOSEN, Model, ModelFileError, read_header, read_model, write_model
    from tanager.files.networks import RECORDS, Member
    from tanager.files.options import NotKept

__all__ = [
    "CHOSEN",
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
    "CHOSEN": "model_file",
    "RECORDS": "networks",
    "Member": "networks",
    "Model": "model_file",
    "ModelFileError": "model_file",
    "NotKept": "options",
    "read_header": "model_file",
    "read_model": "model_file",
    "write_model": "model_file",
}

__getattr__ = lazy_names("tanager.files", _HOMES)
