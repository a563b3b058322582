"""Files on disk: atomic writes, and model files."""

from typing import TYPE_CHECKING

from tanager._lazy import lazy_names
from tanager._options import NotKept
from tanager.files.writing import written_whole

if TYPE_CHECKING:
    from tanager.files.model_file import CHOSEN, Model, ModelFileError, read_header, read_model, write_model
    from tanager.files.networks import RECORDS, Member

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

# Imported on first use, so that writing a file does not wait for what reading a model requires.
_HOMES = {
    "CHOSEN": "model_file",
    "RECORDS": "networks",
    "Member": "networks",
    "Model": "model_file",
    "ModelFileError": "model_file",
    "read_header": "model_file",
    "read_model": "model_file",
    "write_model": "model_file",
}

__getattr__ = lazy_names("tanager.files", _HOMES)
