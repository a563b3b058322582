"""Files on disk: written whole or not at all, and model files."""

from tanager.files.model_file import Model, ModelFileError, read_header, read_model, write_model
from tanager.files.networks import RECORDS, Member
from tanager.files.options import NotKept
from tanager.files.writing import written_whole

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
